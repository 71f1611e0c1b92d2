//! Names on import: checks, prefix, and names made unique.

use super::ImportOptions;
use crate::check::{is_valid_internal_name, is_valid_node_name};
use crate::name_hash::{NameHash, NameHasher};
use crate::{Graph, NodeId};
use flowmill_proto::NodeDef;
use flowmill_proto::attr_value::Value;
use flowmill_tensor::{Bytes, Result, bail};
use hashbrown::{HashMap, HashSet, HashTable};
use std::borrow::Cow;
use std::sync::Arc;

/// The prefix of colocation groups in the attribute `_class`.
const COLOCATION_PREFIX: &[u8] = b"loc:@";

/// The names of a message's nodes and what they become in the graph.
pub(super) struct Names {
    /// The message's nodes by their names, each with the id it has if all nodes are added: the graph takes this table over if it can.
    ids: HashTable<(NameHash, NodeId)>,
    /// The id of the first.
    first: NodeId,
    /// The graph's.
    hasher: NameHasher,
    /// Hashes of the message's names, by place.
    hashes: Vec<NameHash>,
    /// Empty, or ending in a slash.
    prefix: String,
    /// Full names of nodes whose own would be taken, by place.
    renamed: HashMap<u32, String>,
}

impl Names {
    pub(super) fn new(graph: &Graph, nodes: &[NodeDef], options: &ImportOptions) -> Result<Names> {
        let mut names = Names {
            ids: HashTable::with_capacity(nodes.len()),
            first: graph.nodes.next_key()?,
            hasher: graph.hasher.clone(),
            hashes: Vec::with_capacity(nodes.len()),
            prefix: String::new(),
            renamed: HashMap::new(),
        };
        for (place, node) in nodes.iter().enumerate() {
            if !(is_valid_node_name(&node.name) || options.allow_internal_names && is_valid_internal_name(&node.name)) {
                bail!(InvalidArgument, "Node '{}': Node name contains invalid characters", node.name);
            }
            if node.op.is_empty() {
                bail!(InvalidArgument, "Node '{}' does not specify an operation", node.name);
            }
            let hash = names.hasher.hash(&node.name);
            let first = names.first.0;
            let same = |&(other, id): &(NameHash, NodeId)| other == hash && nodes[(id.0 - first) as usize].name == node.name;
            let entry = names.ids.entry(hash.spread(), same, |(hash, _)| hash.spread());
            if let hashbrown::hash_table::Entry::Occupied(_) = entry {
                bail!(InvalidArgument, "Node '{}' is not unique", node.name);
            }
            entry.insert((hash, NodeId(first + place as u32)));
            names.hashes.push(hash);
        }
        names.resolve_collisions(graph, nodes, options)?;
        Ok(names)
    }

    fn resolve_collisions(&mut self, graph: &Graph, nodes: &[NodeDef], options: &ImportOptions) -> Result<()> {
        let prefix = options.prefix.strip_suffix('/').unwrap_or(&options.prefix);
        if !prefix.is_empty() && !is_valid_node_name(prefix) {
            bail!(InvalidArgument, "Imported node name prefix '{prefix}/' would lead to invalid node names");
        }
        let is_empty_graph = graph.num_nodes() == 2;
        let scopes = if is_empty_graph || (!options.uniquify_names && !options.uniquify_prefix) {
            HashSet::new()
        } else {
            scopes(graph.op_nodes().map(|n| n.name()))
        };
        let taken = |name: &str| graph.find_node(name).is_some() || scopes.contains(name);
        if !prefix.is_empty() {
            let mut unique = Cow::Borrowed(prefix);
            if options.uniquify_prefix {
                let mut count = 0;
                while taken(&unique) {
                    count += 1;
                    unique = format!("{prefix}_{count}").into();
                }
            }
            self.prefix = format!("{unique}/");
        }
        if is_empty_graph {
            return Ok(());
        }
        let inner_scopes = if options.uniquify_names { scopes_of(nodes) } else { HashSet::new() };
        let mut given = HashSet::new();
        for (place, node) in nodes.iter().enumerate() {
            let name = format!("{}{}", self.prefix, node.name);
            if !options.uniquify_names {
                if graph.find_node(&name).is_some() {
                    bail!(InvalidArgument, "Node name '{name}' already exists in the Graph");
                }
                continue;
            }
            if !taken(&name) {
                continue;
            }
            let mut count = 0;
            let unique = loop {
                count += 1;
                let inner = format!("{}_{count}", node.name);
                let unique = format!("{}{inner}", self.prefix);
                let free = !taken(&unique) && self.find(nodes, &inner).is_none() && !inner_scopes.contains(&*inner);
                if free && given.insert(unique.clone()) {
                    break unique;
                }
            };
            self.renamed.insert(place as u32, unique);
        }
        Ok(())
    }

    /// Returns the place of the message's node called `name`.
    pub(super) fn find(&self, nodes: &[NodeDef], name: &str) -> Option<u32> {
        let hash = self.hasher.hash(name);
        let place = |id: NodeId| id.0 - self.first.0;
        let same = |&(other, id): &(NameHash, NodeId)| other == hash && nodes[place(id) as usize].name == name;
        self.ids.find(hash.spread(), same).map(|&(_, id)| place(id))
    }

    /// Returns true if every node keeps its name.
    pub(super) fn are_kept(&self) -> bool {
        self.prefix.is_empty() && self.renamed.is_empty()
    }

    /// The table of names and the ids that nodes have if all are added.
    pub(super) fn take_ids(&mut self) -> HashTable<(NameHash, NodeId)> {
        std::mem::take(&mut self.ids)
    }

    /// The name the node at `place`, called `name` in the message, has in the graph.
    pub(super) fn imported<'a>(&'a self, place: usize, name: &'a str) -> Cow<'a, str> {
        match self.renamed.get(&(place as u32)) {
            Some(renamed) => renamed.into(),
            None if self.prefix.is_empty() => name.into(),
            None => format!("{}{name}", self.prefix).into(),
        }
    }

    /// The name of [`Names::imported`] as the graph keeps it, with its hash.
    pub(super) fn hashed(&self, place: usize, name: &str) -> (Arc<str>, NameHash) {
        let imported = self.imported(place, name);
        let hash = if *imported == *name { self.hashes[place] } else { self.hasher.hash(&imported) };
        (imported.as_ref().into(), hash)
    }

    /// Rewrites attributes that hold names of nodes: colocation groups, and frames, which get the prefix.
    pub(super) fn rewrite_attrs(&self, nodes: &mut [NodeDef], place: usize, options: &ImportOptions) -> Result<()> {
        if !self.prefix.is_empty()
            && matches!(&*nodes[place].op, "Enter" | "RefEnter")
            && let Some(Value::S(frame)) = nodes[place].attr.get_mut("frame_name").and_then(|v| v.value.as_mut())
        {
            *frame = [self.prefix.as_bytes(), frame].concat().into();
        }
        if (self.are_kept() && !options.validate_colocation) || !nodes[place].attr.contains_key("_class") {
            return Ok(());
        }
        let Some(mut class) = nodes[place].attr.get_mut("_class").map(std::mem::take) else { return Ok(()) };
        let rewritten = match &mut class.value {
            Some(Value::List(list)) => list.s.iter_mut().try_for_each(|group| self.rewrite_group(group, nodes, place, options)),
            Some(Value::S(group)) => self.rewrite_group(group, nodes, place, options),
            _ => Ok(()),
        };
        nodes[place].attr.insert("_class".into(), class);
        rewritten
    }

    fn rewrite_group(&self, group: &mut Bytes, nodes: &[NodeDef], place: usize, options: &ImportOptions) -> Result<()> {
        let Some(name) = group.strip_prefix(COLOCATION_PREFIX) else { return Ok(()) };
        let name = String::from_utf8_lossy(name);
        let imported = match self.find(nodes, &name) {
            Some(other) => self.imported(other as usize, &name).into_owned(),
            None if options.validate_colocation => {
                bail!(InvalidArgument, "Node '{}' expects to be colocated with unknown node '{name}'", nodes[place].name)
            }
            None => format!("{}{name}", self.prefix),
        };
        if *imported != *name {
            *group = [COLOCATION_PREFIX, imported.as_bytes()].concat().into();
        }
        Ok(())
    }
}

fn scopes_of(nodes: &[NodeDef]) -> HashSet<&str> {
    scopes(nodes.iter().map(|n| &*n.name))
}

/// Returns all name scopes: the parts of names before a slash.
fn scopes<'a>(names: impl Iterator<Item = &'a str>) -> HashSet<&'a str> {
    let mut scopes = HashSet::new();
    for mut name in names {
        while let Some((scope, _)) = name.rsplit_once('/') {
            if !scopes.insert(scope) {
                break;
            }
            name = scope;
        }
    }
    scopes
}
