//! Parts of graphs.

use super::Graph;
use crate::arena::Arena;
use crate::edge::{self, EdgeRecord};
use crate::name_hash::NameHash;
use crate::{EdgeId, Node, NodeId};
use hashbrown::HashTable;

impl Graph {
    /// Returns a copy that has only the nodes that `keep` is true for, by their ids, and the edges between them. `_SOURCE` and `_SINK` stay; so do all ids.
    /// A data input whose producer is left out is not connected.
    pub fn part(&self, keep: &[bool]) -> Graph {
        let is_kept = |id: NodeId| id <= NodeId::SINK || keep.get(id.index()).copied().unwrap_or(false);
        let mut nodes = self.nodes.part(|id, _| is_kept(id));
        let edges = self.part_of_edges(is_kept, &mut nodes);
        let mut names = HashTable::with_capacity(nodes.len());
        for &(hash, id) in self.names.iter().filter(|&&(_, id)| is_kept(id)) {
            insert(&mut names, hash, id);
        }
        self.with(nodes, edges, names)
    }

    /// Splits the graph into `num_parts` graphs, of which each has the nodes that `part_of` returns its number for, and the edges between them. `_SOURCE`
    /// and `_SINK` are in each part. All ids stay. A data input whose producer is in another part is not connected. Nodes of other numbers are dropped.
    pub fn into_parts(mut self, num_parts: usize, part_of: impl Fn(NodeId) -> usize) -> Vec<Graph> {
        let part_of = |id: NodeId| if id <= NodeId::SINK { None } else { Some(part_of(id)) };
        let (mut nodes, others) = std::mem::replace(&mut self.nodes, Arena::new()).into_parts(num_parts, |id, _| part_of(id));
        for (id, node) in others.into_iter().filter(|&(id, _)| id <= NodeId::SINK) {
            nodes.iter_mut().for_each(|part| part.restore(id, node.clone()));
        }
        let edges = edge::into_parts(std::mem::replace(&mut self.edges, Arena::new()), &mut nodes, part_of);
        let mut names: Vec<_> = nodes.iter().map(|nodes| HashTable::with_capacity(nodes.len())).collect();
        for &(hash, id) in &self.names {
            match part_of(id) {
                Some(part) => names.get_mut(part).into_iter().for_each(|names| insert(names, hash, id)),
                None => names.iter_mut().for_each(|names| insert(names, hash, id)),
            }
        }
        let parts = nodes.into_iter().zip(edges).zip(names);
        parts.map(|((nodes, edges), names)| self.with(nodes, edges, names)).collect()
    }

    /// Returns a graph with these nodes and edges, and everything else of this one.
    fn with(&self, nodes: Arena<NodeId, Node>, edges: Arena<EdgeId, EdgeRecord>, names: HashTable<(NameHash, NodeId)>) -> Graph {
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
}

fn insert(names: &mut HashTable<(NameHash, NodeId)>, hash: NameHash, id: NodeId) {
    names.insert_unique(hash.spread(), (hash, id), |&(hash, _)| hash.spread());
}
