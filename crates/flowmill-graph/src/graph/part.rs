//! Parts of graphs.

use super::Graph;
use crate::NodeId;
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
}
