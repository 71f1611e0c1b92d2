//! Gradients of reductions over segments.

use super::formula::Formula;
use super::{Grads, first};
use flowmill_graph::OutputId;
use flowmill_graph::builder::ScopedBuilder;
use flowmill_graph::builder::gradients::Backward;
use flowmill_tensor::{DType, Result};

type B<'a> = ScopedBuilder<'a>;

/// The rows of a segment op and the segments that they belong to.
struct Segments {
    ids: OutputId,
    /// For the unsorted ops: the number of segments. Rows of negative segments are in none.
    count: Option<OutputId>,
}

impl Segments {
    fn new(op: &Backward) -> Segments {
        Segments { ids: op.inputs[1], count: op.inputs.get(2).copied() }
    }

    /// The sums over the segments.
    fn reduce(&self, b: &mut B<'_>, kind: &str, data: OutputId) -> Result<OutputId> {
        match self.count {
            None => b.call(&format!("Segment{kind}"), &[data, self.ids]),
            Some(count) => b.call(&format!("UnsortedSegment{kind}"), &[data, self.ids, count]),
        }
    }

    /// For each row what its segment has; zero for rows in none.
    fn gather(&self, b: &mut B<'_>, values: OutputId) -> Result<OutputId> {
        if self.count.is_some() {
            return gather_kept(b, values, self.ids);
        }
        let axis = b.int(0)?;
        b.call("GatherV2", &[values, self.ids, axis])
    }
}

/// The rows `ids` of `values`; zeros for a negative id.
pub(super) fn gather_kept(b: &mut B<'_>, values: OutputId, ids: OutputId) -> Result<OutputId> {
    let axis = b.int(0)?;
    let zero = b.zeros_like(ids)?;
    let safe = b.call("Maximum", &[ids, zero])?;
    let gathered = b.call("GatherV2", &[values, safe, axis])?;
    let is_kept = b.call("GreaterEqual", &[ids, zero])?;
    // In front of as many ones as the rows have dimensions.
    let (rank, have) = (b.rank_of(gathered)?, b.rank_of(is_kept)?);
    let shape = b.dynamic_shape_of(is_kept)?;
    let missing = b.sub(rank, have)?;
    let (one, count) = (b.int(1)?, b.op("Pack").input(missing).output()?);
    let ones = b.call("Fill", &[count, one])?;
    let shape = b.call("ConcatV2", &[shape, ones, axis])?;
    let is_kept = b.reshape(is_kept, shape)?;
    let none = b.zeros_like(gathered)?;
    b.select(is_kept, gathered, none)
}

pub(crate) fn unsorted_segment_sum(b: &mut B<'_>, op: &Backward) -> Grads {
    let dy = op.dy(b, 0)?;
    first(gather_kept(b, dy, op.inputs[1])?, 2)
}

/// `Max` and `Min` over segments: shared evenly by the elements that are equal to the result.
pub(crate) fn segment_extreme(b: &mut B<'_>, op: &Backward) -> Grads {
    let dy = op.dy(b, 0)?;
    let (data, segments) = (op.inputs[0], Segments::new(op));
    let results = segments.gather(b, op.output(0))?;
    let is_extreme = b.call("Equal", &[data, results])?;
    let dtype = b.dtype(dy);
    let indicators = b.cast(is_extreme, dtype)?;
    let number = segments.reduce(b, "Sum", indicators)?;
    let share = b.call("DivNoNan", &[dy, number])?;
    let shares = segments.gather(b, share)?;
    let zero = b.zeros_like(shares)?;
    first(b.select(is_extreme, shares, zero)?, op.inputs.len() - 1)
}

/// The product of the segment's other elements. A single zero gets the product of the rest; if there are two, all others are zero.
pub(crate) fn segment_prod(b: &mut B<'_>, op: &Backward) -> Grads {
    let dy = op.dy(b, 0)?;
    let (data, segments) = (op.inputs[0], Segments::new(op));
    let zero = b.number(data, 0.0)?;
    let is_zero = b.call("Equal", &[data, zero])?;
    let zeros = b.cast(is_zero, DType::I32)?;
    let num_zeros = segments.reduce(b, "Sum", zeros)?;
    let one = b.int(1)?;
    let has_two = b.call("Greater", &[num_zeros, one])?;
    let none = b.number(dy, 0.0)?;
    let dy = b.select(has_two, none, dy)?;
    let one = b.number(data, 1.0)?;
    let others = b.select(is_zero, one, data)?;
    let rest = segments.reduce(b, "Prod", others)?;
    let rest = segments.gather(b, rest)?;
    let product = segments.gather(b, op.output(0))?;
    let divided = b.div(product, others)?;
    let partial = b.select(is_zero, rest, divided)?;
    let dy = segments.gather(b, dy)?;
    first(b.mul(dy, partial)?, op.inputs.len() - 1)
}
