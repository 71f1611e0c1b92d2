//! Layered layouts of boxes and edges (Sugiyama's method).
//!
//! The stages are files: `rank` makes the edges acyclic and assigns each box a row, `order` orders the rows by barycentres, `coordinates` places the boxes
//! of a row, and `grid` is the compact layout of graphs that are too large to be read as layers. Long edges get a *bend* in each row between their ends. All
//! stages take time proportional to the boxes, edges and bends, up to a logarithm, and the number of bends is bounded by a multiple of the boxes and edges.

mod adjacency;
mod coordinates;
mod grid;
mod order;
mod rank;

use adjacency::Adjacency;

/// The horizontal space between two boxes, in pixels.
pub const GAP: f32 = 24.0;

/// The horizontal space between a bend and its neighbours, in pixels.
pub const BEND_GAP: f32 = 10.0;

/// A graph with more boxes is laid out as a grid.
pub const MAX_LAYERED_BOXES: usize = 1500;

/// A graph with more edges is laid out as a grid.
pub const MAX_LAYERED_EDGES: usize = 6000;

/// The most bends per box and edge.
const MAX_BENDS: usize = 6;

/// The boxes and edges to lay out.
#[derive(Clone, Copy, Debug, Default)]
pub struct Boxes<'a> {
    /// The width of each box, in pixels.
    pub widths: &'a [f32],
    /// The edges, from box to box. Self-loops and repeated edges are allowed.
    pub edges: &'a [(u32, u32)],
    /// The edges that are known to close a loop, such as those from `NextIteration` to `Merge`. They point up.
    pub is_back: &'a [bool],
    /// A box without predecessors that is in the first row.
    pub top: Option<u32>,
    /// A box without successors that is alone in the last row.
    pub bottom: Option<u32>,
}

/// One place of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Item {
    /// A box, by its number.
    Box(u32),
    /// A bend of an edge. Bends are numbered in the order of the edges, from the source to the target of each.
    Bend(u32),
}

/// A row of boxes and bends from left to right, with the x coordinates of their centres in pixels.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Row {
    /// The boxes and bends.
    pub items: Vec<Item>,
    /// The centre of each item.
    pub centres: Vec<f32>,
}

/// The style of a layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// Edges point down, except those that close a loop.
    Layered,
    /// Boxes are in reading order: a producer precedes its consumers. There are no bends.
    Grid,
}

/// A layout: the boxes in rows from top to bottom.
#[derive(Clone, Debug, PartialEq)]
pub struct Layout {
    /// The style.
    pub style: Style,
    /// The rows.
    pub rows: Vec<Row>,
    /// The number of bends of each edge.
    pub num_bends: Vec<u32>,
    /// The edges that point up.
    pub points_up: Vec<bool>,
    /// The elementary steps that the layout took. Tests use it to check how the effort grows.
    pub num_steps: u64,
}

/// Lays out boxes and edges. The result depends on the input alone.
pub fn layout(boxes: &Boxes<'_>) -> Layout {
    let acyclic = rank::orient(boxes);
    let ranks = rank::ranks(boxes, &acyclic);
    if boxes.widths.len() > MAX_LAYERED_BOXES || boxes.edges.len() > MAX_LAYERED_EDGES {
        return grid::layout(boxes, &acyclic, &ranks);
    }
    let layers = order::Layers::new(boxes, &acyclic, &ranks);
    let (layers, ordering_steps) = order::order(layers);
    let (rows, placing_steps) = coordinates::place(&layers, boxes.widths);
    Layout {
        style: Style::Layered,
        rows,
        num_bends: layers.num_bends,
        points_up: acyclic.is_reversed,
        num_steps: acyclic.num_steps + ordering_steps + placing_steps,
    }
}

/// The edges of a graph after some were reversed, so that there is no cycle.
#[derive(Debug)]
struct Acyclic {
    /// The edges with their new directions. Self-loops are unchanged and belong to no stage.
    edges: Vec<(u32, u32)>,
    is_reversed: Vec<bool>,
    successors: Adjacency,
    predecessors: Adjacency,
    num_steps: u64,
}

/// Returns the row of each box in a layered layout. A box of a row cannot be reached from another box of it, except through edges that close a loop.
pub fn ranks(boxes: &Boxes<'_>) -> Vec<u32> {
    rank::ranks(boxes, &rank::orient(boxes))
}
