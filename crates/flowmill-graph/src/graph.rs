//! The graph: nodes by id and by name.

use crate::arena::Arena;
use crate::check::{complete_attrs, is_valid_internal_name};
use crate::edge::EdgeRecord;
use crate::name_hash::{NameHash, NameHasher};
use crate::node::{EdgeList, NodeRest};
use crate::signature::{Signature, TensorType, TypeList, resolve_types};
use crate::{Attrs, EdgeId, FunctionLibrary, Node, NodeId, OpDef, OpRegistry, OutputId, builtin, versions};
use flowmill_proto::{AttrValue, GraphDef, NodeDef, VersionDef};
use flowmill_tensor::{Result, bail};
use hashbrown::{HashSet, HashTable};
use std::borrow::Borrow;
use std::ops::Index;
use std::sync::{Arc, LazyLock};

static NO_OP: LazyLock<Arc<OpDef>> = LazyLock::new(|| Arc::new(builtin::no_op()));

/// A dataflow graph.
///
/// Nodes and edges are kept in chunked slabs and named by ids that are never given out again within the graph. Every graph starts
/// with `_SOURCE` and `_SINK`, joined by a control edge.
///
/// `graph[id]` gives a node and panics for an id that is not in the graph, as an index out of range does; [`Graph::node`] answers
/// with an error.
#[derive(Clone)]
pub struct Graph {
    pub(crate) registry: Arc<OpRegistry>,
    pub(crate) nodes: Arena<NodeId, Node>,
    pub(crate) edges: Arena<EdgeId, EdgeRecord>,
    /// Node ids by their names, each with the name's hash, so that growing the table looks at no node.
    names: HashTable<(NameHash, NodeId)>,
    pub(crate) hasher: NameHasher,
    /// Nodes with smaller ids are in `names` before they are inserted.
    names_known: usize,
    signatures: HashSet<Arc<Signature>>,
    devices: HashSet<Device>,
    /// As they came; `None` where a message had none.
    pub(crate) versions: Option<VersionDef>,
    library: Arc<FunctionLibrary>,
    /// Whether the message that was imported had a library, maybe an empty one.
    pub(crate) has_library_field: bool,
    /// The other fields of the message that was imported into the empty graph.
    pub(crate) rest: GraphDef,
    pub(crate) change_count: u64,
    /// Changes that are not additions.
    pub(crate) rewrite_count: u64,
    name_counter: u64,
}

impl Graph {
    /// An empty graph whose ops are those of `registry`.
    pub fn new(registry: Arc<OpRegistry>) -> Graph {
        let mut graph = Graph {
            registry,
            nodes: Arena::new(),
            edges: Arena::new(),
            names: HashTable::new(),
            hasher: NameHasher::default(),
            names_known: 0,
            signatures: HashSet::new(),
            devices: HashSet::new(),
            versions: Some(versions::current()),
            library: Arc::default(),
            has_library_field: false,
            rest: GraphDef::default(),
            change_count: 0,
            rewrite_count: 0,
            name_counter: 0,
        };
        for name in ["_SOURCE", "_SINK"] {
            // A fresh arena has room for two nodes.
            let _ = graph.insert((name.into(), graph.hasher.hash(name)), NO_OP.clone(), None, Attrs::default(), None, Arc::default());
        }
        let _ = graph.add_control_edge(NodeId::SOURCE, NodeId::SINK);
        graph
    }

    /// A copy that has only the nodes that `keep` says by their ids, and the edges between them. `_SOURCE` and `_SINK` stay; so do all ids.
    /// A data input whose producer is left out is not connected.
    pub(crate) fn part(&self, keep: &[bool]) -> Graph {
        let is_kept = |id: NodeId| id <= NodeId::SINK || keep.get(id.index()).copied().unwrap_or(false);
        let mut nodes = self.nodes.part(|id, _| is_kept(id));
        let edges = self.part_of_edges(is_kept, &mut nodes);
        let mut names = HashTable::with_capacity(nodes.len());
        for &(hash, id) in self.names.iter().filter(|&&(_, id)| is_kept(id)) {
            names.insert_unique(hash.spread(), (hash, id), |&(hash, _)| hash.spread());
        }
        Graph {
            registry: self.registry.clone(),
            nodes,
            edges,
            names,
            hasher: self.hasher.clone(),
            names_known: self.names_known,
            signatures: self.signatures.clone(),
            devices: self.devices.clone(),
            versions: self.versions.clone(),
            library: self.library.clone(),
            has_library_field: self.has_library_field,
            rest: self.rest.clone(),
            change_count: self.change_count,
            rewrite_count: self.rewrite_count,
            name_counter: self.name_counter,
        }
    }

    /// The ops that do not come from the graph's own library.
    pub fn registry(&self) -> &Arc<OpRegistry> {
        &self.registry
    }

    /// The functions.
    pub fn library(&self) -> &Arc<FunctionLibrary> {
        &self.library
    }

    /// The functions, for adding and removing. A library shared with another graph is copied first.
    pub fn library_mut(&mut self) -> &mut FunctionLibrary {
        self.change_count += 1;
        Arc::make_mut(&mut self.library)
    }

    /// Replaces the functions.
    pub fn set_library(&mut self, library: Arc<FunctionLibrary>) {
        self.change_count += 1;
        self.library = library;
    }

    /// The versions the graph was made with.
    pub fn versions(&self) -> VersionDef {
        self.versions.clone().unwrap_or_default()
    }

    /// Replaces the versions.
    pub fn set_versions(&mut self, versions: VersionDef) {
        self.versions = Some(versions);
    }

    /// The definition of an op of the registry or a function of the library.
    ///
    /// # Errors
    /// `NotFound` where there is neither.
    pub fn op_def(&self, op: &str) -> Result<&Arc<OpDef>> {
        match self.library.op_def(op) {
            Some(def) => Ok(def),
            None => self.registry.lookup(op),
        }
    }

    /// Grows with each change: equal counts mean that nothing changed in between.
    pub fn change_count(&self) -> u64 {
        self.change_count
    }

    /// Grows with each change of what was there: equal counts mean that the graph only gained nodes and edges in between.
    pub fn rewrite_count(&self) -> u64 {
        self.rewrite_count
    }

    /// Counts a change of what was there.
    pub(crate) fn count_rewrite(&mut self) {
        self.change_count += 1;
        self.rewrite_count += 1;
    }

    /// Ids given out so far: every node's id is less.
    pub fn num_node_ids(&self) -> usize {
        self.nodes.num_keys()
    }

    /// Nodes, `_SOURCE` and `_SINK` included.
    pub fn num_nodes(&self) -> usize {
        self.nodes.len()
    }

    /// Ids given out so far: every edge's id is less.
    pub fn num_edge_ids(&self) -> usize {
        self.edges.num_keys()
    }

    /// Edges, the one between `_SOURCE` and `_SINK` included.
    pub fn num_edges(&self) -> usize {
        self.edges.len()
    }

    /// The node `id`, or `None` where it was removed or never was.
    pub fn get(&self, id: NodeId) -> Option<&Node> {
        self.nodes.get(id)
    }

    /// The node `id`.
    ///
    /// # Errors
    /// `NotFound` where it was removed or never was.
    pub fn node(&self, id: NodeId) -> Result<&Node> {
        match self.nodes.get(id) {
            Some(node) => Ok(node),
            None => bail!(NotFound, "Node id {} is not in the graph", id.0),
        }
    }

    pub(crate) fn node_mut(&mut self, id: NodeId) -> Result<&mut Node> {
        match self.nodes.get_mut(id) {
            Some(node) => Ok(node),
            None => bail!(NotFound, "Node id {} is not in the graph", id.0),
        }
    }

    /// All nodes in the order of their ids, `_SOURCE` and `_SINK` first.
    pub fn nodes(&self) -> impl DoubleEndedIterator<Item = &Node> {
        self.nodes.iter().map(|(_, node)| node)
    }

    /// The nodes but `_SOURCE` and `_SINK`, in the order of their ids.
    pub fn op_nodes(&self) -> impl DoubleEndedIterator<Item = &Node> {
        self.nodes().filter(|n| !n.is_source_or_sink())
    }

    /// The ids of [`Graph::op_nodes`], for loops that change the graph.
    pub fn op_node_ids(&self) -> Vec<NodeId> {
        self.op_nodes().map(Node::id).collect()
    }

    /// The node called `name`.
    pub fn find_node(&self, name: &str) -> Option<&Node> {
        let hash = self.hasher.hash(name);
        let same = |&(other, id): &(NameHash, NodeId)| other == hash && self.nodes.get(id).is_some_and(|n| *n.name == *name);
        self.names.find(hash.spread(), same).and_then(|&(_, id)| self.get(id))
    }

    /// Adds a node.
    ///
    /// Its `input` names nodes of this graph: data inputs in order (`x`, `x:1`), then control inputs (`^x`). Data inputs may be left
    /// out at the end, to be connected with [`Graph::add_edge`]. Attributes it leaves out take their defaults.
    ///
    /// # Errors
    /// `NotFound` for an op that does not exist; `InvalidArgument` for a bad name, attribute, input or type. The graph is unchanged then.
    pub fn add_node(&mut self, mut def: NodeDef) -> Result<NodeId> {
        let inputs = std::mem::take(&mut def.input);
        let (mut data, mut control) = (Vec::with_capacity(inputs.len()), Vec::new());
        for input in &inputs {
            match crate::TensorName::parse(input) {
                Some(name) if name.is_control() => control.push(self.named_input(name.node, &def.name)?),
                Some(_) if !control.is_empty() => {
                    bail!(InvalidArgument, "Node '{}': Control dependencies must come after regular dependencies", def.name)
                }
                Some(name) => data.push(self.named_input(name.node, &def.name)?.output(name.slot as u32)),
                None => bail!(InvalidArgument, "Node '{}': Malformed input '{input}'", def.name),
            }
        }
        self.add_node_with_inputs(def, &data, &control)
    }

    fn named_input(&self, name: &str, of: &str) -> Result<NodeId> {
        match self.find_node(name) {
            Some(node) => Ok(node.id),
            None => bail!(InvalidArgument, "Node '{of}': Unknown input node '{name}'"),
        }
    }

    /// Adds a node with inputs given by id; `def.input` is not looked at. Otherwise as [`Graph::add_node`].
    ///
    /// # Errors
    /// As [`Graph::add_node`].
    pub fn add_node_with_inputs(&mut self, def: NodeDef, inputs: &[OutputId], control: &[NodeId]) -> Result<NodeId> {
        let id = self.nodes.next_key()?;
        let node = self.check_node(def)?;
        let types = node.2.inputs();
        if inputs.len() > types.len() {
            bail!(
                InvalidArgument,
                "NodeDef expected inputs '{}' do not match {} inputs specified; {}; NodeDef: {{{{node {}}}}}",
                crate::signature::type_names(types),
                inputs.len(),
                node.1,
                node.0.name
            );
        }
        for (i, (&input, &expected)) in inputs.iter().zip(types).enumerate() {
            self.check_edge_types(input, i, &node.0.name, expected)?;
        }
        for &c in control {
            self.node(c)?;
        }
        self.edges.check_room(inputs.len() + control.len())?;
        let (mut def, op_def, signature) = node;
        let rest = NodeRest::take(&mut def);
        let device = self.intern_device(&def.device);
        let hash = self.hasher.hash(&def.name);
        self.insert((def.name.into(), hash), op_def, device, Attrs(def.attr), rest, signature)?;
        for (i, &input) in inputs.iter().enumerate() {
            self.connect(input, id, i)?;
        }
        for &c in control {
            self.add_control_edge(c, id)?;
        }
        Ok(id)
    }

    /// Checks everything of a node that does not depend on its inputs, and completes its attributes.
    fn check_node(&mut self, mut def: NodeDef) -> Result<(NodeDef, Arc<OpDef>, Arc<Signature>)> {
        if !is_valid_internal_name(&def.name) {
            bail!(InvalidArgument, "Node '{}': Node name contains invalid characters", def.name);
        }
        if self.find_node(&def.name).is_some() {
            bail!(InvalidArgument, "Node name '{}' already exists in the Graph", def.name);
        }
        let op_def = self.op_def(&def.op)?.clone();
        let mut attrs = Attrs(std::mem::take(&mut def.attr));
        complete_attrs(&def.name, &op_def, &mut attrs)?;
        let signature = self.resolve_signature(&op_def, &attrs).map_err(|e| e.at_node(&def.name, &def.op))?;
        def.attr = attrs.0;
        Ok((def, op_def, signature))
    }

    pub(crate) fn resolve_signature(&mut self, op_def: &OpDef, attrs: &Attrs) -> Result<Arc<Signature>> {
        let mut types = TypeList::new();
        let num_inputs = resolve_types(op_def, attrs, &mut types)?;
        Ok(self.intern_signature(&types, num_inputs))
    }

    fn intern_signature(&mut self, types: &[TensorType], num_inputs: usize) -> Arc<Signature> {
        struct Key<'a>(&'a [TensorType], usize);
        impl std::hash::Hash for Key<'_> {
            fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
                self.0.hash(state);
                self.1.hash(state);
            }
        }
        impl hashbrown::Equivalent<Arc<Signature>> for Key<'_> {
            fn equivalent(&self, key: &Arc<Signature>) -> bool {
                key.is(self.0, self.1)
            }
        }
        if let Some(signature) = self.signatures.get(&Key(types, num_inputs)) {
            return signature.clone();
        }
        let signature = Arc::new(Signature::new(types, num_inputs));
        self.signatures.insert(signature.clone());
        signature
    }

    pub(crate) fn intern_device(&mut self, device: &str) -> Option<Arc<String>> {
        if device.is_empty() {
            return None;
        }
        Some(self.devices.get_or_insert_with(device, |d| Device(Arc::new(d.to_owned()))).0.clone())
    }

    /// Makes room for that many more nodes and edges, so that importing does not grow tables step by step.
    pub(crate) fn reserve(&mut self, nodes: usize, edges: usize) {
        self.nodes.reserve(nodes);
        self.edges.reserve(edges);
    }

    /// Takes over a table of names, with the ids that the next insertions will give. The graph has no nodes yet but its first two.
    pub(crate) fn adopt_names(&mut self, mut names: HashTable<(NameHash, NodeId)>) {
        for &(hash, id) in &self.names {
            names.insert_unique(hash.spread(), (hash, id), |(hash, _)| hash.spread());
        }
        self.names = names;
        self.names_known = self.nodes.num_keys() + self.names.len() - 2;
    }

    /// Adds a node whose parts are checked; its inputs are not connected. The hash is that of the name by `self.hasher`.
    pub(crate) fn insert(
        &mut self,
        (name, hash): (Arc<str>, NameHash),
        op_def: Arc<OpDef>,
        device: Option<Arc<String>>,
        attrs: Attrs,
        rest: Option<Box<NodeRest>>,
        signature: Arc<Signature>,
    ) -> Result<NodeId> {
        let id = self.nodes.next_key()?;
        let in_edges = EdgeList::from_elem(EdgeId::NONE, signature.inputs().len());
        self.nodes.insert(Node { id, name, op_def, signature, device, attrs, in_edges, out_edges: EdgeList::new(), rest })?;
        if id.index() >= self.names_known {
            self.names.insert_unique(hash.spread(), (hash, id), |(hash, _)| hash.spread());
        }
        self.change_count += 1;
        Ok(id)
    }

    fn forget_name(&mut self, id: NodeId, name: &str) {
        let hash = self.hasher.hash(name);
        if let Ok(entry) = self.names.find_entry(hash.spread(), |&(_, other)| other == id) {
            entry.remove();
        }
    }

    /// Removes a node and all its edges.
    ///
    /// # Errors
    /// `NotFound` where it is not in the graph, `InvalidArgument` for `_SOURCE` and `_SINK`.
    pub fn remove_node(&mut self, id: NodeId) -> Result<()> {
        let node = self.node(id)?;
        if node.is_source_or_sink() {
            bail!(InvalidArgument, "Node '{}' cannot be removed", node.name);
        }
        let edges: Vec<EdgeId> = node.in_edges.iter().rev().chain(&node.out_edges).copied().filter(|&e| e != EdgeId::NONE).collect();
        for edge in edges {
            // An edge from the node to itself stands in both lists.
            if self.edge(edge).is_some() {
                self.remove_edge(edge)?;
            }
        }
        if let Some(node) = self.nodes.remove(id) {
            self.forget_name(id, &node.name);
        }
        self.count_rewrite();
        Ok(())
    }

    /// Gives a node another name.
    ///
    /// # Errors
    /// `InvalidArgument` for a name that is taken or malformed.
    pub fn rename_node(&mut self, id: NodeId, name: &str) -> Result<()> {
        let old = self.node(id)?.name.clone();
        if *old == *name {
            return Ok(());
        }
        if !is_valid_internal_name(name) {
            bail!(InvalidArgument, "Node '{name}': Node name contains invalid characters");
        }
        if self.find_node(name).is_some() {
            bail!(InvalidArgument, "Node name '{name}' already exists in the Graph");
        }
        self.forget_name(id, &old);
        self.node_mut(id)?.name = name.into();
        let hash = self.hasher.hash(name);
        self.names.insert_unique(hash.spread(), (hash, id), |(hash, _)| hash.spread());
        self.count_rewrite();
        Ok(())
    }

    /// Sets the device a node asks for; empty for none.
    ///
    /// # Errors
    /// `NotFound` for an id that is not in the graph.
    pub fn set_device(&mut self, id: NodeId, device: &str) -> Result<()> {
        self.node(id)?;
        let device = self.intern_device(device);
        self.node_mut(id)?.device = device;
        self.count_rewrite();
        Ok(())
    }

    /// Sets an attribute, which may change the node's types and its number of inputs and outputs.
    ///
    /// # Errors
    /// `InvalidArgument` for a value the op does not allow, or where an input or output that would no longer exist is connected. The
    /// types of edges that stay are not checked again: [`Graph::validate`] does.
    pub fn set_attr(&mut self, id: NodeId, name: &str, value: impl Into<AttrValue>) -> Result<()> {
        let mut attrs = self.node(id)?.attrs.clone();
        attrs.set(name, value);
        self.set_attrs(id, attrs)
    }

    /// Removes an attribute; a declared one goes back to its default. Errors as [`Graph::set_attr`].
    pub fn remove_attr(&mut self, id: NodeId, name: &str) -> Result<()> {
        let mut attrs = self.node(id)?.attrs.clone();
        attrs.0.remove(name);
        self.set_attrs(id, attrs)
    }

    /// Replaces all attributes. Errors as [`Graph::set_attr`].
    pub fn set_attrs(&mut self, id: NodeId, mut attrs: Attrs) -> Result<()> {
        let node = self.node(id)?;
        let op_def = node.op_def.clone();
        complete_attrs(&node.name, &op_def, &mut attrs)?;
        let signature = self.resolve_signature(&op_def, &attrs)?;
        self.change_signature(id, signature)?;
        self.node_mut(id)?.attrs = attrs;
        self.count_rewrite();
        Ok(())
    }

    /// Makes a node one of another op that takes the inputs it has and gives the outputs that are used. Errors as [`Graph::set_attr`].
    pub fn change_op(&mut self, id: NodeId, op_def: Arc<OpDef>, mut attrs: Attrs) -> Result<()> {
        complete_attrs(&self.node(id)?.name, &op_def, &mut attrs)?;
        let signature = self.resolve_signature(&op_def, &attrs)?;
        self.change_signature(id, signature)?;
        let node = self.node_mut(id)?;
        (node.op_def, node.attrs) = (op_def, attrs);
        self.count_rewrite();
        Ok(())
    }

    /// A name that no node has: `prefix/_N`.
    pub fn new_name(&mut self, prefix: &str) -> String {
        loop {
            let name = format!("{prefix}/_{}", self.name_counter);
            self.name_counter += 1;
            if self.find_node(&name).is_none() {
                return name;
            }
        }
    }
}

/// A device's name in the set of those that nodes share, found by `&str`.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Device(Arc<String>);

impl Borrow<str> for Device {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl Index<NodeId> for Graph {
    type Output = Node;
    fn index(&self, id: NodeId) -> &Node {
        match self.nodes.get(id) {
            Some(node) => node,
            None => missing_node(id),
        }
    }
}

#[cold]
#[allow(clippy::panic)]
fn missing_node(id: NodeId) -> ! {
    panic!("{id:?} is not in the graph")
}
