//! The picture of one scope: its children with their sizes and places.

use crate::flat::{EdgeKind, FlatGraph};
use crate::hubs::{Spot, spots};
use crate::layout::{self, Boxes, GAP, Item, Layout, Style};
use crate::meta_edges::{INPUTS, MetaEdge, OUTPUTS};
use crate::scope_tree::{Child, ScopeId, ScopeTree};
use crate::totals::Totals;
use flowmill_graph::Role;

/// The pixels of a letter, of a usual font of the page.
const LETTER: f32 = 6.6;
const SMALL_LETTER: f32 = 5.8;
/// The least and the greatest width of a box.
const NODE_WIDTHS: (f32, f32) = (64.0, 210.0);
const SCOPE_WIDTHS: (f32, f32) = (110.0, 260.0);
/// The width that the attached constants of a node add.
const ATTACHED_WIDTH: f32 = 16.0;
/// The width of the point at which edges come in or go out.
const PORT_WIDTH: f32 = 8.0;
/// Loose children are in rows of at least this width.
const LOOSE_WIDTH: f32 = 720.0;

/// Bends have numbers below this one, ports are [`INPUTS`] and [`OUTPUTS`].
const FIRST_BEND: i64 = -3;

/// The places of the children of a scope.
#[derive(Debug)]
pub(crate) struct Arrangement {
    pub(crate) style: Style,
    /// The width of each child.
    pub(crate) widths: Vec<f32>,
    /// The rows: children by their places, [`INPUTS`], [`OUTPUTS`], and bends as `-3 - bend`.
    pub(crate) rows: Vec<Vec<i64>>,
    pub(crate) centres: Vec<Vec<f32>>,
    /// The children in the column beside.
    pub(crate) hubs: Vec<u32>,
    /// Constants with the children that they are drawn at.
    pub(crate) attached: Vec<(u32, u32)>,
    /// For each edge of the scope, the number of its bends, and whether it points up.
    pub(crate) routes: Vec<(u32, bool)>,
}

/// Arranges a scope.
pub(crate) fn arrange(flat: &FlatGraph<'_>, tree: &ScopeTree, totals: &[Totals], scope: ScopeId, edges: &[MetaEdge]) -> Arrangement {
    let children = &tree.scopes[scope as usize].children;
    let spots = spots(flat, children, edges);
    let mut widths: Vec<f32> = children.iter().map(|child| width(flat, tree, totals, *child)).collect();
    let mut attached = Vec::new();
    for (place, spot) in spots.iter().enumerate() {
        if let Spot::AttachedTo(owner) = *spot {
            attached.push((place as u32, owner));
        }
    }
    let mut owners: Vec<u32> = attached.iter().map(|(_, owner)| *owner).collect();
    owners.sort_unstable();
    owners.dedup();
    owners.into_iter().for_each(|owner| widths[owner as usize] += ATTACHED_WIDTH);

    // The boxes of the layered part, with their numbers there.
    let mut boxes: Vec<i64> = (0..children.len() as i64).filter(|&place| spots[place as usize] == Spot::Layered).collect();
    let mut numbers = vec![u32::MAX; children.len() + 2];
    for (number, &place) in boxes.iter().enumerate() {
        numbers[place as usize + 2] = number as u32;
    }
    let is_shown = |end: i32| end < 0 || spots[end as usize] == Spot::Layered;
    // Waiting for the outside, or being waited for, says little about the scope, and such edges are many.
    let is_outer_control = |edge: &MetaEdge| edge.kind == EdgeKind::Control && (edge.src < 0 || edge.dst < 0);
    let is_drawn = |edge: &MetaEdge| is_shown(edge.src) && is_shown(edge.dst) && !is_outer_control(edge);
    let shown: Vec<usize> = (0..edges.len()).filter(|&e| is_drawn(&edges[e])).collect();
    for port in [INPUTS, OUTPUTS] {
        if shown.iter().any(|&e| edges[e].src == port || edges[e].dst == port) {
            numbers[(port + 2) as usize] = boxes.len() as u32;
            boxes.push(i64::from(port));
        }
    }
    let box_widths: Vec<f32> = boxes.iter().map(|&b| usize::try_from(b).map_or(PORT_WIDTH, |place| widths[place])).collect();
    let ends: Vec<(u32, u32)> =
        shown.iter().map(|&e| (numbers[(edges[e].src + 2) as usize], numbers[(edges[e].dst + 2) as usize])).collect();
    let is_back: Vec<bool> = shown.iter().map(|&e| edges[e].is_back).collect();
    let number_of = |port: i32| numbers.get((port + 2) as usize).copied().filter(|&number| number != u32::MAX);
    let Layout { style, rows, num_bends, points_up, .. } =
        layout::layout(&Boxes { widths: &box_widths, edges: &ends, is_back: &is_back, top: number_of(INPUTS), bottom: number_of(OUTPUTS) });
    let item = |item: &Item| match *item {
        Item::Box(number) => boxes[number as usize],
        Item::Bend(bend) => FIRST_BEND - i64::from(bend),
    };
    let mut routes = vec![(0, false); edges.len()];
    for (i, &e) in shown.iter().enumerate() {
        routes[e] = (num_bends[i], points_up[i]);
    }
    let mut arrangement = Arrangement {
        style,
        widths,
        rows: rows.iter().map(|row| row.items.iter().map(item).collect()).collect(),
        centres: rows.into_iter().map(|row| row.centres).collect(),
        hubs: (0..children.len() as u32).filter(|&place| spots[place as usize] == Spot::Hub).collect(),
        attached,
        routes,
    };
    arrangement.add_loose(&spots);
    arrangement
}

impl Arrangement {
    /// Adds rows of loose children below the others.
    fn add_loose(&mut self, spots: &[Spot]) {
        let widest = self.rows.iter().zip(&self.centres).filter_map(|(_, x)| Some(x.last()? - x.first()?)).fold(LOOSE_WIDTH, f32::max);
        let (mut row, mut centres, mut x): (Vec<i64>, Vec<f32>, f32) = (Vec::new(), Vec::new(), 0.0);
        let loose: Vec<usize> = (0..spots.len()).filter(|&place| spots[place] == Spot::Loose).collect();
        for (i, &place) in loose.iter().enumerate() {
            row.push(place as i64);
            centres.push(x + self.widths[place] / 2.0);
            x += self.widths[place] + GAP;
            let is_full = loose.get(i + 1).is_none_or(|&next| x + self.widths[next] > widest);
            if is_full {
                let middle = (x - GAP) / 2.0;
                self.rows.push(std::mem::take(&mut row));
                self.centres.push(std::mem::take(&mut centres).into_iter().map(|x| x - middle).collect());
                x = 0.0;
            }
        }
    }
}

/// Returns the width of a closed child.
fn width(flat: &FlatGraph<'_>, tree: &ScopeTree, totals: &[Totals], child: Child) -> f32 {
    match child {
        Child::Node(node) => {
            let is_slanted =
                matches!(flat.node(node).1.role(), Role::Placeholder | Role::PlaceholderWithDefault | Role::Arg | Role::Retval);
            let margin = if is_slanted { 32.0 } else { 22.0 };
            clamp(tree.label(flat, node).chars().count() as f32 * LETTER + margin, NODE_WIDTHS)
        }
        Child::Scope(scope) => {
            let name = tree.scopes[scope as usize].name.chars().count() as f32 * (LETTER + 0.6);
            let Totals { num_nodes, nanoseconds, .. } = totals[scope as usize];
            // The second line is the number of nodes and, if it was measured, the time, such as ` · 4.06 µs`.
            let numbers = num_nodes.to_string().len() + " nodes".len() + if nanoseconds > 0 { 11 } else { 0 };
            clamp(name.max(numbers as f32 * SMALL_LETTER) + 52.0, SCOPE_WIDTHS)
        }
    }
}

fn clamp(width: f32, (least, greatest): (f32, f32)) -> f32 {
    width.clamp(least, greatest).round()
}
