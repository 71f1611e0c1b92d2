//! The edges between the children of each scope.

use crate::flat::{EdgeKind, FlatEdge, FlatGraph};
use crate::scope_tree::{ScopeId, ScopeTree};

/// The end of an edge that comes from outside of the scope.
pub(crate) const INPUTS: i32 = -1;
/// The end of an edge that leads out of the scope.
pub(crate) const OUTPUTS: i32 = -2;

/// All edges of one kind from one child of a scope to another.
#[derive(Clone, Debug)]
pub(crate) struct MetaEdge {
    /// The place of a child, or [`INPUTS`].
    pub(crate) src: i32,
    /// The place of a child, or [`OUTPUTS`].
    pub(crate) dst: i32,
    pub(crate) kind: EdgeKind,
    /// The number of edges.
    pub(crate) count: u32,
    /// The number of different tensors that they carry.
    pub(crate) num_tensors: u32,
    /// The first tensor: a node and its output.
    pub(crate) tensor: (u32, u32),
    /// True if all of them close loops.
    pub(crate) is_back: bool,
}

/// The edges of all scopes.
pub(crate) struct MetaEdges {
    edges: Vec<MetaEdge>,
    starts: Vec<u32>,
}

/// An edge at one scope. The order of the fields is that of the meta-edges; edges of one tensor are neighbours.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Piece {
    scope: ScopeId,
    src: i32,
    dst: i32,
    kind: EdgeKind,
    tensor: (u32, u32),
    is_forward: bool,
}

impl MetaEdges {
    /// Sums the edges of a graph by the children of the scopes that they connect. An edge belongs to the innermost scope around both ends, where it
    /// connects two children, and crosses the border of each scope around one end only.
    pub(crate) fn new(flat: &FlatGraph<'_>, tree: &ScopeTree) -> MetaEdges {
        let mut pieces = Vec::with_capacity(flat.edges.len());
        for edge in &flat.edges {
            add_pieces(edge, tree, &mut pieces);
        }
        pieces.sort_unstable();
        let (mut edges, mut starts): (Vec<MetaEdge>, Vec<u32>) = (Vec::new(), vec![0; tree.scopes.len() + 1]);
        let mut before: Option<Piece> = None;
        for piece in pieces {
            let key = |p: &Piece| (p.scope, p.src, p.dst, p.kind);
            let is_new = before.is_none_or(|before| key(&before) != key(&piece));
            if is_new {
                let Piece { src, dst, kind, tensor, .. } = piece;
                edges.push(MetaEdge { src, dst, kind, count: 0, num_tensors: 0, tensor, is_back: true });
                starts[piece.scope as usize + 1] += 1;
            }
            if let Some(edge) = edges.last_mut() {
                edge.count += 1;
                edge.is_back &= !piece.is_forward;
                edge.num_tensors += u32::from(is_new || before.is_some_and(|before| before.tensor != piece.tensor));
            }
            before = Some(piece);
        }
        for i in 1..starts.len() {
            starts[i] += starts[i - 1];
        }
        MetaEdges { edges, starts }
    }

    /// Returns the edges of a scope.
    pub(crate) fn of(&self, scope: ScopeId) -> &[MetaEdge] {
        &self.edges[self.starts[scope as usize] as usize..self.starts[scope as usize + 1] as usize]
    }
}

fn add_pieces(edge: &FlatEdge, tree: &ScopeTree, pieces: &mut Vec<Piece>) {
    let piece =
        |scope, src: i32, dst: i32| Piece { scope, src, dst, kind: edge.kind, tensor: (edge.src, edge.slot), is_forward: !edge.is_back };
    let (mut src, mut dst) = (tree.places[edge.src as usize], tree.places[edge.dst as usize]);
    let up = |scope: ScopeId| (tree.scopes[scope as usize].parent, tree.places_of_scopes[scope as usize]);
    while src.0 != dst.0 {
        // The deeper end goes up. Scopes of one depth are siblings of different parents, or of one.
        if tree.depths[src.0 as usize] >= tree.depths[dst.0 as usize] {
            pieces.push(piece(src.0, src.1 as i32, OUTPUTS));
            src = up(src.0);
        } else {
            pieces.push(piece(dst.0, INPUTS, dst.1 as i32));
            dst = up(dst.0);
        }
    }
    if src.1 != dst.1 {
        pieces.push(piece(src.0, src.1 as i32, dst.1 as i32));
    }
}
