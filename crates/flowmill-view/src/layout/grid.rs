//! The compact layout of large graphs: rows of equal widths, in an order in which a producer precedes its consumers.

use super::rank::topological_order;
use super::{Acyclic, Boxes, GAP, Item, Layout, Row, Style};

/// The height of a row, by which the picture becomes about as high as wide.
const ROW_HEIGHT: f32 = 60.0;

/// Lays boxes out in rows.
pub(super) fn layout(boxes: &Boxes<'_>, acyclic: &Acyclic, ranks: &[u32]) -> Layout {
    let n = boxes.widths.len();
    let mut order = topological_order(n, acyclic);
    // The order is topological already, and sorting by row keeps that.
    order.sort_by_key(|&v| ranks[v as usize]);
    let area: f32 = boxes.widths.iter().map(|w| (w + GAP) * ROW_HEIGHT).sum();
    let row_width = (area * 1.6).sqrt();
    let (mut rows, mut row, mut x) = (Vec::new(), Row::default(), 0.0);
    for v in order {
        let width = boxes.widths[v as usize];
        if x + width > row_width && !row.items.is_empty() {
            rows.push(aligned(std::mem::take(&mut row), row_width));
            x = 0.0;
        }
        row.items.push(Item::Box(v));
        row.centres.push(x + width / 2.0);
        x += width + GAP;
    }
    if !row.items.is_empty() {
        rows.push(aligned(row, row_width));
    }
    Layout {
        style: Style::Grid,
        rows,
        num_bends: vec![0; boxes.edges.len()],
        points_up: acyclic.is_reversed.clone(),
        num_steps: acyclic.num_steps + n as u64,
    }
}

/// Moves a row that begins at 0 so that rows of this width have their middle at 0.
fn aligned(row: Row, width: f32) -> Row {
    Row { centres: row.centres.iter().map(|x| x - width / 2.0).collect(), ..row }
}
