//! Children of a scope that are drawn beside the layered part, so that their edges do not cover it.

use crate::flat::FlatGraph;
use crate::meta_edges::MetaEdge;
use crate::scope_tree::Child;
use flowmill_graph::Role;

/// A node that only passes on, holds or awaits something, and has at least this many different neighbours, is a hub.
pub const MIN_NEIGHBOURS: usize = 6;

/// The role of a child in the layout of its scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spot {
    /// A box of the layered part.
    Layered,
    /// A constant that is drawn at its only consumer, a sibling by its place.
    AttachedTo(u32),
    /// A node with many consumers, which is drawn in a column of its own.
    Hub,
    /// A child without edges to siblings or to the outside.
    Loose,
}

/// Returns the spot of each child.
pub(crate) fn spots(flat: &FlatGraph<'_>, children: &[Child], edges: &[MetaEdge]) -> Vec<Spot> {
    let mut neighbours: Vec<Vec<i32>> = vec![Vec::new(); children.len()];
    for edge in edges {
        for (end, other) in [(edge.src, edge.dst), (edge.dst, edge.src)] {
            if let Some(list) = usize::try_from(end).ok().and_then(|end| neighbours.get_mut(end)) {
                list.push(other);
            }
        }
    }
    let spot = |(child, mut neighbours): (&Child, Vec<i32>)| {
        neighbours.sort_unstable();
        neighbours.dedup();
        let &Child::Node(node) = child else {
            return if neighbours.is_empty() { Spot::Loose } else { Spot::Layered };
        };
        let of_graph = flat.node(node).1;
        let is_const = of_graph.role() == Role::Const;
        let may_be_hub = is_const || of_graph.traits().passes_on || matches!(of_graph.role(), Role::NoOp | Role::ControlTrigger);
        match neighbours[..] {
            [] => Spot::Loose,
            [only] if is_const && only >= 0 => Spot::AttachedTo(only as u32),
            _ if may_be_hub && neighbours.len() >= MIN_NEIGHBOURS => Spot::Hub,
            _ => Spot::Layered,
        }
    };
    let mut spots: Vec<Spot> = children.iter().zip(neighbours).map(spot).collect();
    // A constant is drawn at a box, and at no other constant, hub or loose child.
    for place in 0..spots.len() {
        if let Spot::AttachedTo(owner) = spots[place]
            && spots[owner as usize] != Spot::Layered
        {
            spots[place] = Spot::Layered;
        }
    }
    spots
}
