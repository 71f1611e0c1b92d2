//! Plans of transforms by length, and transforms of the rows and the columns of a tensor, on several threads.

use crate::parallel;
use flowmill_tensor::Complex;
use flowmill_tensor::sync::Mutex;
use rustfft::{Fft, FftNum, FftPlanner};
use std::sync::Arc;

/// The number of adjacent columns that are copied and transformed together: a few cache lines of each row.
const COLUMNS: usize = 32;
/// The number of blocks from which on threads share blocks rather than the columns of each block.
const MANY_BLOCKS: usize = 16;
/// The time of a task that is long compared with a fork.
const TASK_NANOSECONDS: usize = 20_000;

/// Transforms by length. The plan of a length is made once.
pub(super) struct Plans<R: FftNum> {
    planner: Mutex<FftPlanner<R>>,
    inverse: bool,
}

impl<R: FftNum + Default> Plans<R> {
    pub(super) fn new(inverse: bool) -> Plans<R> {
        Plans { planner: Mutex::new(FftPlanner::new()), inverse }
    }

    /// Returns the transform of a length. The inverse transform divides by the length.
    pub(super) fn of_len(&self, len: usize) -> Transform<R> {
        let mut planner = self.planner.lock();
        if self.inverse {
            Transform { plan: planner.plan_fft_inverse(len), scale: R::from_usize(len).map(|len| R::one() / len) }
        } else {
            Transform { plan: planner.plan_fft_forward(len), scale: None }
        }
    }

    /// Transforms along the dimensions of the blocks of `sizes` in `data`, except for the last `skipped` ones.
    pub(super) fn last_dims(&self, data: &mut [Complex<R>], sizes: &[usize], skipped: usize) {
        let mut inner = 1;
        for (i, &len) in sizes.iter().rev().enumerate() {
            if i >= skipped && len > 1 && !data.is_empty() {
                self.of_len(len).along(data, inner);
            }
            inner *= len;
        }
    }
}

/// A transform of one length.
pub(super) struct Transform<R> {
    plan: Arc<dyn Fft<R>>,
    scale: Option<R>,
}

impl<R: FftNum + Default> Transform<R> {
    /// Returns memory for [`Transform::run`].
    pub(super) fn scratch(&self) -> Vec<Complex<R>> {
        vec![Complex::default(); self.plan.get_inplace_scratch_len()]
    }

    /// Transforms each row of `data`.
    pub(super) fn run(&self, data: &mut [Complex<R>], scratch: &mut [Complex<R>]) {
        self.plan.process_with_scratch(data, scratch);
        if let Some(scale) = self.scale {
            data.iter_mut().for_each(|v| *v = *v * scale);
        }
    }

    /// Estimates the time that one row takes.
    pub(super) fn nanoseconds(&self) -> usize {
        let len = self.plan.len().max(1);
        len.saturating_mul(len.ilog2() as usize + 1) / 4
    }

    /// Transforms along a dimension of which `inner` elements have the same index in a row.
    fn along(&self, data: &mut [Complex<R>], inner: usize) {
        if inner == 1 {
            return parallel::rows(data, self.plan.len(), self.nanoseconds(), || self.scratch(), |_, row, scratch| self.run(row, scratch));
        }
        let block = self.plan.len() * inner;
        let nanoseconds = self.nanoseconds().saturating_mul(2 * inner);
        if data.len() / block >= MANY_BLOCKS || nanoseconds < TASK_NANOSECONDS {
            parallel::rows(
                data,
                block,
                nanoseconds,
                || self.buffers(inner),
                |_, block, buffers| {
                    for start in (0..inner).step_by(COLUMNS) {
                        let end = inner.min(start + COLUMNS);
                        let mut columns: Vec<_> = block.chunks_exact_mut(inner).map(|row| &mut row[start..end]).collect();
                        self.columns(&mut columns, buffers);
                    }
                },
            );
        } else {
            for block in data.chunks_exact_mut(block) {
                let mut groups: Vec<_> = (0..inner.div_ceil(COLUMNS)).map(|_| Vec::with_capacity(self.plan.len())).collect();
                for row in block.chunks_exact_mut(inner) {
                    groups.iter_mut().zip(row.chunks_mut(COLUMNS)).for_each(|(group, part)| group.push(part));
                }
                let nanoseconds = self.nanoseconds().saturating_mul(2 * COLUMNS);
                parallel::rows(
                    &mut groups,
                    1,
                    nanoseconds,
                    || self.buffers(inner),
                    |_, groups, buffers| {
                        groups.iter_mut().for_each(|columns| self.columns(columns, buffers));
                    },
                );
            }
        }
    }

    /// Returns memory for [`Transform::columns`] of rows with `inner` elements: for the columns, and for their transforms.
    fn buffers(&self, inner: usize) -> [Vec<Complex<R>>; 2] {
        [vec![Complex::default(); self.plan.len() * COLUMNS.min(inner)], self.scratch()]
    }

    /// Transforms the columns of a matrix with few columns, whose rows are given.
    fn columns(&self, rows: &mut [&mut [Complex<R>]], [buffer, scratch]: &mut [Vec<Complex<R>>; 2]) {
        /// The rows that are copied together: a cache line of a column.
        const ROWS: usize = 8;
        let (len, width) = (rows.len(), rows.first().map_or(0, |row| row.len()));
        let buffer = &mut buffer[..len * width];
        for (i, rows) in rows.chunks(ROWS).enumerate() {
            for (j, column) in buffer.chunks_exact_mut(len).enumerate() {
                column[i * ROWS..].iter_mut().zip(rows).for_each(|(to, row)| *to = row[j]);
            }
        }
        self.run(buffer, scratch);
        for (i, rows) in rows.chunks_mut(ROWS).enumerate() {
            for (j, column) in buffer.chunks_exact(len).enumerate() {
                column[i * ROWS..].iter().zip(rows.iter_mut()).for_each(|(&from, row)| row[j] = from);
            }
        }
    }
}
