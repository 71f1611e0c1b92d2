//! Small slices, a few at a time: each instruction is applied to all elements of some slices before the next one.

use super::plan::{Block, Code, Operands, Place, Plan};
use crate::elementwise::PARALLEL_MIN;
use crate::gemm::with_scratch;
use crate::parallel;
use flowmill_numeric::reduce::Segment;
use flowmill_tensor::{Result, Tensor};
use smallvec::SmallVec;

/// The largest slice whose values stay in the cache all together.
pub(super) const MAX_SLICE: usize = 8192;
/// The number of elements that are computed at a time, unless a slice has more.
const CHUNK: usize = 2048;

/// Computes the result.
pub(super) fn compute(plan: &Plan, tensors: &[Tensor], out: &mut [f32]) -> Result<()> {
    let operands = plan.operands(tensors)?;
    let at_once = (CHUNK / plan.slice).clamp(1, plan.num_slices);
    let work = out.len().saturating_mul(plan.cost);
    if work < PARALLEL_MIN || parallel::threads() == 1 {
        return slices(plan, tensors, &operands, at_once, 0, out);
    }
    let num_pieces = (work / (PARALLEL_MIN / 4)).min(4 * parallel::threads()).max(1);
    let per_piece = plan.num_slices.div_ceil(num_pieces).next_multiple_of(at_once);
    parallel::try_chunks(out, per_piece * plan.slice, |piece, out| slices(plan, tensors, &operands, at_once, piece * per_piece, out))
}

/// Computes the slices from `first` on to `out`, `at_once` at a time.
fn slices(plan: &Plan, tensors: &[Tensor], operands: &Operands<'_>, at_once: usize, first: usize, out: &mut [f32]) -> Result<()> {
    let size = at_once * plan.slice;
    let mut values: Vec<Vec<f32>> = plan.per_slice.iter().map(|value| vec![0.0; at_once * value.len]).collect();
    let mut small_buffers = [Vec::new(), Vec::new()];
    with_scratch((plan.num_blocks + 2) * size, |scratch: &mut [f32]| {
        let (slots, buffers) = scratch.split_at_mut(plan.num_blocks * size);
        let mut slots: SmallVec<[&mut [f32]; 8]> = slots.chunks_exact_mut(size).collect();
        let (x, y) = buffers.split_at_mut(size);
        for (i, out) in out.chunks_mut(size).enumerate() {
            let (first, count) = (first + i * at_once, out.len() / plan.slice);
            let block = Block { plan, operands, start: first * plan.slice, slices: (first, count) };
            let mut segments: SmallVec<[Segment; 5]> = SmallVec::new();
            if count > 1 {
                segments.push(Segment { size: count, reduced: false });
            }
            segments.extend(plan.segments.iter().copied());
            for step in &plan.steps {
                match (&step.code, step.place) {
                    (Code::Reduce(function), Place::PerSlice(at)) => {
                        let target = &mut values[at][..count * plan.per_slice[at].len];
                        match step.operands[..] {
                            [Place::Block(slot)] => Plan::reduce(*function, &slots[slot][..out.len()], &segments, target),
                            [Place::Tensor(tensor)] => {
                                let elements = tensors[tensor].as_slice::<f32>()?;
                                Plan::reduce(*function, &elements[block.start..block.start + out.len()], &segments, target);
                            }
                            _ => {}
                        }
                        plan.finish(*function, target);
                    }
                    (Code::Function(_), Place::PerSlice(_)) => {
                        plan.small_step(step, tensors, (first, count), &mut values, &mut small_buffers)?;
                    }
                    _ => block.step(step, &mut slots, &values, [&mut *x, &mut *y], out)?,
                }
            }
        }
        Ok(())
    })
}
