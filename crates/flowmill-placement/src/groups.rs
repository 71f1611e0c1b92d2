//! Disjoint sets of nodes that share a device, each with its requests and device types.

use crate::intern::Interner;
use crate::requests::RequestTable;
use crate::types::{TypeList, intersection};
use flowmill_graph::NodeId;
use flowmill_tensor::Error;

/// A node, as a member of the forest of union-find. The last three fields are those of the group if the node is its root.
#[derive(Clone, Copy, Default)]
struct Member {
    parent: u32,
    rank: u32,
    requests: u32,
    types: u32,
}

/// The groups of a graph's nodes.
pub(crate) struct Groups {
    members: Vec<Member>,
    pub(crate) requests: RequestTable,
    types: Interner<TypeList>,
}

/// The reason that two groups cannot be one.
pub(crate) enum Conflict {
    /// Their requests contradict each other.
    Requests(Error),
    /// No device type has kernels for all nodes.
    Types,
}

impl Groups {
    /// Makes a group for each of `num_nodes` nodes. They have neither requests nor types.
    pub(crate) fn new(num_nodes: usize, requests: RequestTable) -> Groups {
        let members = (0..num_nodes as u32).map(|parent| Member { parent, ..Member::default() }).collect();
        Groups { members, requests, types: Interner::new(TypeList::new()) }
    }

    /// Sets the requests and types of a node that is alone in its group.
    pub(crate) fn set(&mut self, node: NodeId, requests: u32, types: TypeList) {
        let types = self.types.intern(types);
        let member = &mut self.members[node.index()];
        (member.requests, member.types) = (requests, types);
    }

    /// Returns the root of a node's group. Paths are halved on the way.
    pub(crate) fn root(&mut self, node: NodeId) -> NodeId {
        let mut at = node.0;
        loop {
            let parent = self.members[at as usize].parent;
            if parent == at {
                return NodeId(at);
            }
            let grandparent = self.members[parent as usize].parent;
            self.members[at as usize].parent = grandparent;
            at = grandparent;
        }
    }

    /// Returns the numbers of the requests and of the types of the group with this root.
    pub(crate) fn key(&self, root: NodeId) -> (u32, u32) {
        let member = &self.members[root.index()];
        (member.requests, member.types)
    }

    /// Returns the types that all nodes of the group with this root have kernels for.
    pub(crate) fn types(&self, root: NodeId) -> &TypeList {
        self.types.get(self.members[root.index()].types)
    }

    pub(crate) fn set_types(&mut self, root: NodeId, types: TypeList) {
        self.members[root.index()].types = self.types.intern(types);
    }

    pub(crate) fn set_requests(&mut self, root: NodeId, requests: u32) {
        self.members[root.index()].requests = requests;
    }

    /// Makes the groups with these roots one.
    ///
    /// # Errors
    /// Returns the conflict between the groups, which stay as they are.
    pub(crate) fn union(&mut self, x: NodeId, y: NodeId) -> Result<(), Conflict> {
        if x == y {
            return Ok(());
        }
        let (a, b) = (self.members[x.index()], self.members[y.index()]);
        let (root, a, child, b) = if a.rank < b.rank { (y, b, x, a) } else { (x, a, y, b) };
        let requests = self.requests.merge(a.requests, b.requests).map_err(Conflict::Requests)?;
        let types = if a.types == b.types {
            a.types
        } else {
            let types = intersection(self.types.get(a.types), self.types.get(b.types)).ok_or(Conflict::Types)?;
            self.types.intern(types)
        };
        self.members[root.index()] = Member { parent: root.0, rank: a.rank.max(b.rank + 1), requests, types };
        self.members[child.index()].parent = root.0;
        Ok(())
    }
}
