//! Large slices, in as many passes as there are reductions that depend on each other, and one for the result. A pass reads a slice block by block and
//! computes element-wise values again instead of storing them.

use super::plan::{Code, Place, Plan, PlannedStep, Source, read};
use crate::elementwise::{Function, Operand, PARALLEL_MIN};
use crate::gemm::with_scratch;
use crate::parallel;
use flowmill_graph::ReductionFunction;
use flowmill_numeric::reduce::Segment;
use flowmill_tensor::sync::Mutex;
use flowmill_tensor::{Result, Tensor};
use smallvec::SmallVec;
use std::ops::Range;

/// The number of elements of a block, unless a single row has more: a handful of temporaries and operands of this size stay in the L1 cache.
const BLOCK: usize = 512;
/// The greatest number of parts of a slice whose partial reductions are merged.
const MAX_PARTS: usize = 32;
/// The least number of elements of a part.
const MIN_PART: usize = 1 << 13;

/// Computes the result.
pub(super) fn compute(plan: &Plan, tensors: &[Tensor], out: &mut [f32]) -> Result<()> {
    let operands = plan.operands(tensors)?;
    let num_rows = plan.segments.first().map_or(1, |first| first.size);
    let row = plan.slice / num_rows;
    let num_parts = (plan.slice / MIN_PART).clamp(1, MAX_PARTS).min(num_rows);
    let slices = Slices {
        plan,
        tensors,
        operands: &operands,
        row,
        num_rows,
        rows_per_part: num_rows.div_ceil(num_parts),
        rows_per_block: (BLOCK / row).max(1),
    };
    let mut values: Vec<Vec<Vec<f32>>> =
        (0..plan.num_slices).map(|_| plan.per_slice.iter().map(|value| vec![0.0; value.len]).collect()).collect();
    let mut buffers = [Vec::new(), Vec::new()];
    for level in 1..=plan.steps.iter().map(|step| step.level).max().unwrap_or(0) {
        slices.reduce_level(level, &mut values)?;
        for (slice, values) in values.iter_mut().enumerate() {
            for step in plan.steps.iter().filter(|step| step.level == level && matches!(step.code, Code::Function(_))) {
                if let Place::PerSlice(_) = step.place {
                    plan.small_step(step, tensors, (slice, 1), values, &mut buffers)?;
                }
            }
        }
    }
    let steps = slices.needed_for(plan.steps.len().checked_sub(1).into_iter().collect());
    let parts: Vec<Mutex<&mut [f32]>> =
        out.chunks_mut(plan.slice).flat_map(|out| out.chunks_mut(slices.rows_per_part * row)).map(Mutex::new).collect();
    slices.for_each_part(|index, slice, rows| {
        slices.compute_rows(slice, rows, &steps, &values[slice], Some(&mut **parts[index].lock()), &mut [])
    })
}

/// The slices of a plan, each divided into parts along its first segment, which is reduced.
struct Slices<'a> {
    plan: &'a Plan,
    tensors: &'a [Tensor],
    operands: &'a [Option<Operand<'a, f32>>],
    /// The number of elements behind one index of the first segment.
    row: usize,
    num_rows: usize,
    rows_per_part: usize,
    rows_per_block: usize,
}

/// An element-wise step that is computed for one block after the other.
struct BlockStep<'a> {
    function: &'a Function,
    /// The operands, of which a function of one operand has the same twice.
    operands: [BlockOperand<'a>; 2],
    place: Place,
}

struct BlockOperand<'a> {
    source: Source<'a>,
    /// The elements of an operand that cannot be read in place; empty until a block needs it. A single element is repeated here before the first block.
    buffer: Vec<f32>,
}

impl BlockOperand<'_> {
    /// Returns the elements of a block that begins at `start` in the result, and at `offset` in its slice.
    fn read<'b>(&'b mut self, slots: &'b [&mut [f32]], start: usize, offset: usize, len: usize) -> Result<&'b [f32]> {
        if self.source.single().is_some() {
            return Ok(&self.buffer[..len]);
        }
        if self.buffer.len() < len && self.source.may_copy(len) {
            self.buffer.resize(len, 0.0);
        }
        read(&self.source, slots, start, offset, len, &mut self.buffer)
    }
}

/// The reduction of a part of a slice, or of its columns where these are reduced before runs.
struct Partial {
    step: usize,
    function: ReductionFunction,
    /// Empty before the first rows.
    values: Vec<f32>,
}

impl Partial {
    fn merge(&mut self, others: &[f32]) {
        let pairs = self.values.iter_mut().zip(others);
        // A loop for each function is computed in vectors.
        match self.function {
            ReductionFunction::Max => {
                pairs.for_each(|(value, &other)| *value = if *value > other || value.is_nan() { *value } else { other })
            }
            ReductionFunction::Min => {
                pairs.for_each(|(value, &other)| *value = if *value < other || value.is_nan() { *value } else { other })
            }
            ReductionFunction::Mean | ReductionFunction::Sum => pairs.for_each(|(value, &other)| *value += other),
        }
    }
}

impl Slices<'_> {
    /// Calls `f` with the number of a part, its slice and its rows, for all parts of all slices, on several threads if there is much to do.
    fn for_each_part(&self, f: impl Fn(usize, usize, Range<usize>) -> Result<()> + Sync) -> Result<()> {
        let parts_per_slice = self.num_rows.div_ceil(self.rows_per_part);
        let one = |index: usize| {
            let first = index % parts_per_slice * self.rows_per_part;
            f(index, index / parts_per_slice, first..self.num_rows.min(first + self.rows_per_part))
        };
        let num_parts = self.plan.num_slices * parts_per_slice;
        let work = self.plan.full.num_elements().saturating_mul(self.plan.cost);
        if work < PARALLEL_MIN || parallel::threads() == 1 { (0..num_parts).try_for_each(one) } else { parallel::try_run(num_parts, one) }
    }

    /// Returns the element-wise steps that compute the operands of these steps in blocks, and those of `last` that are element-wise themselves, in order.
    fn needed_for(&self, last: Vec<usize>) -> Vec<usize> {
        let steps = &self.plan.steps;
        let mut needed = last;
        let mut at = 0;
        while let Some(&step) = needed.get(at) {
            at += 1;
            for operand in steps[step].operands.iter().filter(|operand| matches!(operand, Place::Block(_))) {
                let producer = steps[..step].iter().rposition(|earlier| earlier.place == *operand);
                needed.extend(producer.filter(|producer| !needed.contains(producer)));
            }
        }
        needed.retain(|&step| matches!(steps[step].code, Code::Function(_)));
        needed.sort_unstable();
        needed
    }

    /// Computes the reductions that depend on `level - 1` others, one after the other.
    fn reduce_level(&self, level: usize, values: &mut [Vec<Vec<f32>>]) -> Result<()> {
        let steps = &self.plan.steps;
        let reductions: Vec<(usize, ReductionFunction)> = (0..steps.len())
            .filter(|&i| steps[i].level == level)
            .filter_map(|i| if let Code::Reduce(function) = steps[i].code { Some((i, function)) } else { None })
            .collect();
        let needed = self.needed_for(reductions.iter().map(|r| r.0).collect());
        let parts_per_slice = self.num_rows.div_ceil(self.rows_per_part);
        let new = || reductions.iter().map(|&(step, function)| Partial { step, function, values: Vec::new() }).collect::<Vec<_>>();
        let parts: Vec<Mutex<Vec<Partial>>> = (0..values.len() * parts_per_slice).map(|_| Mutex::new(new())).collect();
        let known = &*values;
        self.for_each_part(|index, slice, rows| self.compute_rows(slice, rows, &needed, &known[slice], None, &mut parts[index].lock()))?;
        let mut parts = parts.into_iter().map(Mutex::into_inner);
        for values in values {
            let Some(mut merged) = parts.next() else { break };
            for other in parts.by_ref().take(parts_per_slice - 1) {
                merged.iter_mut().zip(&other).for_each(|(partial, other)| partial.merge(&other.values));
            }
            for mut partial in merged {
                let Place::PerSlice(at) = steps[partial.step].place else { continue };
                if let Some(run) = self.plan.run() {
                    let kept = Segment { size: partial.values.len() / run, reduced: false };
                    let columns = std::mem::replace(&mut partial.values, vec![0.0; kept.size]);
                    Plan::reduce(partial.function, &columns, &[kept, Segment { size: run, reduced: true }], &mut partial.values);
                }
                self.plan.finish(partial.function, &mut partial.values);
                values[at] = partial.values;
            }
        }
        Ok(())
    }

    /// Returns a step with operands for blocks of at most `size` elements, unless it is a reduction; `values` holds the values of the slice.
    fn block_step<'b>(&'b self, step: &'b PlannedStep, values: &'b [Vec<f32>], size: usize) -> Result<Option<BlockStep<'b>>> {
        let (Code::Function(function), [a, .., b] | [a @ b]) = (&step.code, &step.operands[..]) else { return Ok(None) };
        let operand = |place: Place| {
            let source = self.plan.source(self.operands, place, values, 1)?;
            let buffer = source.single().map_or_else(Vec::new, |x| vec![x; size]);
            Ok(BlockOperand { source, buffer })
        };
        Ok(Some(BlockStep { function, operands: [operand(*a)?, operand(*b)?], place: step.place }))
    }

    /// Computes steps for some rows of a slice, block by block; `values` holds the values per slice. The result goes to `out`, and blocks are reduced to `partials`.
    fn compute_rows(
        &self,
        slice: usize,
        rows: Range<usize>,
        steps: &[usize],
        values: &[Vec<f32>],
        mut out: Option<&mut [f32]>,
        partials: &mut [Partial],
    ) -> Result<()> {
        let plan = self.plan;
        let size = self.rows_per_block.min(rows.len()) * self.row;
        let mut block_steps = Vec::with_capacity(steps.len());
        for &step in steps {
            block_steps.extend(self.block_step(&plan.steps[step], values, size)?);
        }
        for partial in &mut *partials {
            if let [Place::Tensor(tensor)] = plan.steps[partial.step].operands[..] {
                let start = slice * plan.slice + rows.start * self.row;
                let elements = &self.tensors[tensor].as_slice::<f32>()?[start..start + rows.len() * self.row];
                self.merge_rows(partial, elements, rows.len());
            }
        }
        with_scratch(plan.num_blocks * size, |scratch: &mut [f32]| {
            let mut slots: SmallVec<[&mut [f32]; 8]> = scratch.chunks_exact_mut(size).collect();
            for first in rows.clone().step_by(self.rows_per_block) {
                let num_rows = self.rows_per_block.min(rows.end - first);
                let len = num_rows * self.row;
                let (offset, start) = (first * self.row, slice * plan.slice + first * self.row);
                for step in &mut block_steps {
                    let taken = if let Place::Block(slot) = step.place { std::mem::take(&mut slots[slot]) } else { &mut [] };
                    let target = match (step.place, &mut out) {
                        (Place::Output, Some(out)) => &mut out[(first - rows.start) * self.row..][..len],
                        _ => &mut taken[..len],
                    };
                    let [a, b] = &mut step.operands;
                    step.function.apply(a.read(&slots, start, offset, len)?, b.read(&slots, start, offset, len)?, target);
                    if let Place::Block(slot) = step.place {
                        slots[slot] = taken;
                    }
                }
                for partial in &mut *partials {
                    if let [Place::Block(slot)] = plan.steps[partial.step].operands[..] {
                        self.merge_rows(partial, &slots[slot][..len], num_rows);
                    }
                }
            }
            Ok(())
        })
    }

    /// Merges the reduction of some rows into that of a part.
    fn merge_rows(&self, partial: &mut Partial, elements: &[f32], num_rows: usize) {
        let plan = self.plan;
        let Place::PerSlice(at) = plan.steps[partial.step].place else { return };
        let mut segments: SmallVec<[Segment; 4]> = SmallVec::from_slice(&plan.segments);
        if plan.run().is_some() {
            segments = SmallVec::from_slice(&[plan.segments[0], Segment { size: self.row, reduced: false }]);
        }
        match segments.first_mut() {
            Some(first) if num_rows > 1 => first.size = num_rows,
            _ => drop(segments.drain(..1)),
        }
        let len = plan.per_slice[at].len * plan.run().unwrap_or(1);
        if partial.values.is_empty() {
            partial.values.resize(len, 0.0);
            return Plan::reduce(partial.function, elements, &segments, &mut partial.values);
        }
        let mut reduced: SmallVec<[f32; 128]> = SmallVec::from_elem(0.0, len);
        Plan::reduce(partial.function, elements, &segments, &mut reduced);
        partial.merge(&reduced);
    }
}
