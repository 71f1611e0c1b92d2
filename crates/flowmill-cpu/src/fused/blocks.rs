//! Execution of a program over blocks of elements.

use super::plan::{Plan, Source};
use super::program::Program;
use crate::elementwise::{Operand, PARALLEL_MIN};
use crate::gemm::with_scratch;
use crate::parallel;
use flowmill_tensor::sync::Mutex;
use flowmill_tensor::{Result, Tensor};
use smallvec::SmallVec;
use std::ops::Range;

/// The number of elements per block: a dozen temporaries of this size stay in the L1 cache.
const BLOCK: usize = 512;
/// The length of rows from which a block ends with its row, so that broadcast operands are read in place. For shorter rows, they are gathered: a step takes
/// longer to begin with a block than an operand to be copied.
const MIN_ROW: usize = BLOCK;

/// The part of a program that is computed in blocks, for one call's operands.
pub(super) struct Blocks<'a> {
    program: &'a Program,
    plan: &'a Plan,
    operands: SmallVec<[Operand<'a, f32>; 8]>,
    len: usize,
    /// The number of elements after which a block ends at the latest.
    row: usize,
}

impl<'a> Blocks<'a> {
    /// Returns the steps of a plan with their operands, which are those of [`Plan::operands`].
    pub(super) fn new(program: &'a Program, plan: &'a Plan, operands: SmallVec<[Operand<'a, f32>; 8]>) -> Blocks<'a> {
        let full = &plan.shapes[plan.widest];
        let last = full.last().copied().unwrap_or(1);
        let is_flat = operands.iter().all(|o| o.is_read_in_place() || o.single().is_some());
        let row = if is_flat || last < MIN_ROW { BLOCK } else { last };
        Blocks { program, plan, operands, len: full.num_elements(), row }
    }

    /// Fills the results, which nothing else refers to, or computes in place if they are an argument; `cost` is the cost per element, in simple operations.
    pub(super) fn run(&self, outputs: &mut [Tensor], cost: usize) -> Result<()> {
        let mut rest: SmallVec<[&mut [f32]; 2]> = SmallVec::new();
        for output in outputs {
            rest.push(output.as_mut_slice()?);
        }
        let num_blocks = self.num_blocks();
        let work = self.len.saturating_mul(cost);
        if work < PARALLEL_MIN || parallel::threads() == 1 {
            self.run_blocks(0..num_blocks, &mut rest);
            return Ok(());
        }
        let num_pieces = (work / (PARALLEL_MIN / 4)).min(4 * parallel::threads()).min(num_blocks);
        // Each lock is taken once, by the thread that computes the part.
        let mut pieces: Vec<Mutex<SmallVec<[&mut [f32]; 2]>>> = Vec::with_capacity(num_pieces);
        for i in 0..num_pieces {
            let blocks = parallel::piece(num_blocks, num_pieces, i);
            let size = self.start(blocks.end) - self.start(blocks.start);
            let mut part = SmallVec::new();
            for output in &mut rest {
                let (now, later) = std::mem::take(output).split_at_mut(size);
                part.push(now);
                *output = later;
            }
            pieces.push(Mutex::new(part));
        }
        parallel::run(num_pieces, |i| self.run_blocks(parallel::piece(num_blocks, num_pieces, i), &mut pieces[i].lock()));
        Ok(())
    }

    /// Computes the elements of a range into the one result, in place if it is an argument. In rows that end blocks, the range consists of whole rows.
    pub(super) fn fill(&self, elements: Range<usize>, output: &mut [f32]) {
        debug_assert!(self.row == BLOCK || elements.start.is_multiple_of(self.row), "{elements:?} of rows of {}", self.row);
        self.with_slots(|slots, gathered| {
            let mut start = elements.start;
            while start < elements.end {
                let end_of_row = if self.row == BLOCK { elements.end } else { (start / self.row + 1) * self.row };
                let end = (start + BLOCK).min(end_of_row).min(elements.end);
                self.run_block(start..end, start - elements.start, slots, gathered, &mut [&mut *output]);
                start = end;
            }
        });
    }

    fn num_blocks(&self) -> usize {
        self.len.div_ceil(self.row) * self.blocks_a_row()
    }

    fn blocks_a_row(&self) -> usize {
        self.row.div_ceil(BLOCK)
    }

    /// Returns the first element of a block.
    fn start(&self, block: usize) -> usize {
        let n = self.blocks_a_row();
        (block / n * self.row + parallel::piece(self.row, n, block % n).start).min(self.len)
    }

    /// Computes these blocks; `outputs` are the corresponding parts of the results.
    fn run_blocks(&self, blocks: Range<usize>, outputs: &mut [&mut [f32]]) {
        let first = self.start(blocks.start);
        self.with_slots(|slots, gathered| {
            for block in blocks {
                let (start, end) = (self.start(block), self.start(block + 1));
                self.run_block(start..end, start - first, slots, gathered, outputs);
            }
        });
    }

    /// Calls `f` with memory for temporaries and for operands that are not read in place. Those of a single element are filled in.
    fn with_slots(&self, f: impl FnOnce(&mut [&mut [f32]], &mut [f32])) {
        let num_slots = self.plan.num_slots;
        with_scratch((num_slots + self.operands.len()) * BLOCK, |scratch: &mut [f32]| {
            let (slots, gathered) = scratch.split_at_mut(num_slots * BLOCK);
            let mut slots: SmallVec<[&mut [f32]; 8]> = slots.chunks_exact_mut(BLOCK).collect();
            for (operand, buffer) in self.operands.iter().zip(gathered.chunks_exact_mut(BLOCK)) {
                if let Some(x) = operand.single() {
                    buffer.fill(x);
                }
            }
            f(&mut slots, gathered);
        });
    }

    fn run_block(&self, elements: Range<usize>, at: usize, slots: &mut [&mut [f32]], gathered: &mut [f32], outputs: &mut [&mut [f32]]) {
        let n = elements.len();
        let mut views: SmallVec<[&[f32]; 8]> = SmallVec::new();
        for (operand, buffer) in self.operands.iter().zip(gathered.chunks_exact_mut(BLOCK)) {
            views.push(read(operand, elements.start, n, buffer));
        }
        if let Some(slot) = self.plan.target_slot {
            slots[slot][..n].copy_from_slice(&outputs[0][at..at + n]);
        }
        for step in &self.plan.steps {
            let function = &self.program.instrs[step.instr].function;
            if let (Some(output), true) = (step.output, step.is_last_use) {
                let target = self.plan.target_slot.map_or(&[][..], |slot| &slots[slot][..n]);
                let (a, b) = (of(&views, slots, target, step.a, n), of(&views, slots, target, step.b, n));
                function.apply(a, b, &mut outputs[output][at..at + n]);
                continue;
            }
            let result = std::mem::take(&mut slots[step.slot]);
            let target = self.plan.target_slot.map_or_else(|| &outputs[0][at..at + n], |slot| &slots[slot][..n]);
            function.apply(of(&views, slots, target, step.a, n), of(&views, slots, target, step.b, n), &mut result[..n]);
            if let Some(output) = step.output {
                outputs[output][at..at + n].copy_from_slice(&result[..n]);
            }
            slots[step.slot] = result;
        }
    }
}

/// Returns the `n` elements of a block that a step reads.
fn of<'b>(views: &[&'b [f32]], slots: &'b [&mut [f32]], target: &'b [f32], source: Source, n: usize) -> &'b [f32] {
    match source {
        Source::Target => target,
        Source::Operand(i) => views[i],
        Source::Slot(i) => &slots[i][..n],
    }
}

/// Returns an operand's elements for one block. An operand of a single element is in `buffer` already.
fn read<'b>(operand: &'b Operand<'_, f32>, start: usize, n: usize, buffer: &'b mut [f32]) -> &'b [f32] {
    if operand.single().is_some() { &buffer[..n] } else { operand.read(start, n, buffer) }
}
