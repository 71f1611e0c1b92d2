//! `LSTMBlockCellGrad`, `BlockLSTMGrad`, `BlockLSTMGradV2`: the gradients of the LSTM cells.

use super::block_cells::{expect, float_input, matrix, set_rounded};
use crate::from_fn::from_fn;
use crate::gemm::{Epilogue, MatrixRef, gemm};
use crate::linear_algebra::{Sizes, StableRhs};
use flowmill_runtime::{Kernel, KernelContext, KernelInit, KernelRegistry};
use flowmill_tensor::{DType, Result, Shape, Tensor, bail};
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("BlockLSTMGrad", |init| make_block(init, [0, 1, 2, 3]));
    registry.add("BlockLSTMGradV2", |init| make_block(init, [0, 2, 1, 3]));
    registry.add("LSTMBlockCellGrad", make_cell);
}

/// The results of one forward step: input gate, state, forget gate, output gate, new values, squashed state; each batch × cells.
struct Values<'a> {
    i: &'a [f32],
    cs: &'a [f32],
    f: &'a [f32],
    o: &'a [f32],
    ci: &'a [f32],
    co: &'a [f32],
}

/// The weights from the state to the input, forget and output gates, and the sums of their gradients.
struct Peepholes {
    weights: [Tensor; 3],
    sums: [Vec<f32>; 3],
}

impl Peepholes {
    /// Reads the inputs from `at` on. The weights are all zero if they are not used.
    fn new(ctx: &KernelContext<'_>, at: usize, cells: usize, used: bool) -> Result<(Option<Peepholes>, [Shape; 3])> {
        let shapes = [ctx.input(at)?, ctx.input(at + 1)?, ctx.input(at + 2)?].map(|t| t.shape().clone());
        if !used {
            return Ok((None, shapes));
        }
        for (i, name) in ["wci", "wcf", "wco"].into_iter().enumerate() {
            expect(ctx.input(at + i)?, name, &[cells])?;
        }
        let weights = [float_input(ctx, at)?, float_input(ctx, at + 1)?, float_input(ctx, at + 2)?];
        Ok((Some(Peepholes { weights, sums: std::array::from_fn(|_| vec![0.0; cells]) }), shapes))
    }
}

/// Computes the gradients of one step from those of its state and of its output: those of the gates, batch × 4 · cells, are written to `gates`, and those of the
/// previous state to `dcs`.
fn back(
    values: &Values<'_>,
    before: &[f32],
    cells: usize,
    order: [usize; 4],
    (dcs, dh): (&mut [f32], &[f32]),
    peepholes: &mut Option<Peepholes>,
    gates: &mut [f32],
) -> Result<()> {
    let (weights, mut sums) = match peepholes {
        Some(Peepholes { weights: [i, f, o], sums }) => (Some([i.as_slice::<f32>()?, f.as_slice()?, o.as_slice()?]), Some(sums)),
        None => (None, None),
    };
    for at in 0..before.len() {
        let (row, cell) = (at / cells, at % cells);
        let (i, cs, f, o, ci, co) = (values.i[at], values.cs[at], values.f[at], values.o[at], values.ci[at], values.co[at]);
        let d_o = o * (1.0 - o) * dh[at] * co;
        let mut d_cs = (1.0 - co * co) * dh[at] * o + dcs[at];
        if let Some(weights) = weights {
            d_cs += d_o * weights[2][cell];
        }
        let d_ci = (1.0 - ci * ci) * d_cs * i;
        let d_f = f * (1.0 - f) * d_cs * before[at];
        let d_i = i * (1.0 - i) * d_cs * ci;
        for (gate, value) in order.into_iter().zip([d_i, d_ci, d_f, d_o]) {
            gates[row * 4 * cells + gate * cells + cell] = value;
        }
        dcs[at] = d_cs * f;
        if let (Some(weights), Some(sums)) = (weights, &mut sums) {
            dcs[at] += d_i * weights[0][cell] + d_f * weights[1][cell];
            sums[0][cell] += d_i * before[at];
            sums[1][cell] += d_f * before[at];
            sums[2][cell] += d_o * cs;
        }
    }
    Ok(())
}

/// Sets the outputs from `at` on to the peepholes' gradients, or to zero if there are none.
fn set_peepholes(ctx: &mut KernelContext<'_>, at: usize, dtype: DType, peepholes: Option<Peepholes>, shapes: &[Shape; 3]) -> Result<()> {
    for (i, shape) in shapes.iter().enumerate() {
        let sums = match &peepholes {
            Some(p) => ctx.allocator().from_slice(shape.clone(), &p.sums[i])?,
            None => ctx.allocator().zeros(DType::F32, shape.clone())?,
        };
        set_rounded(ctx, at + i, &sums, dtype)?;
    }
    Ok(())
}

/// Makes the kernel of `LSTMBlockCellGrad`. Inputs: x, state, output, weights, peepholes, bias, the cell's first six results, gradients of state
/// and output.
fn make_cell(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let peephole = init.attrs.get_or("use_peephole", false)?;
    from_fn(move |ctx| {
        let [batch, inputs] = matrix(ctx.input(0)?, "x")?;
        let [_, cells] = matrix(ctx.input(1)?, "cs_prev")?;
        let dtype = ctx.input(0)?.dtype();
        for (i, name) in [
            (1, "cs_prev"),
            (2, "h_prev"),
            (8, "i"),
            (9, "cs"),
            (10, "f"),
            (11, "o"),
            (12, "ci"),
            (13, "co"),
            (14, "cs_grad"),
            (15, "h_grad"),
        ] {
            expect(ctx.input(i)?, name, &[batch, cells])?;
        }
        expect(ctx.input(3)?, "w", &[inputs.saturating_add(cells), cells.saturating_mul(4)])?;
        expect(ctx.input(7)?, "b", &[cells.saturating_mul(4)])?;
        let (mut peepholes, shapes) = Peepholes::new(ctx, 4, cells, peephole)?;
        let all = (8..16).map(|i| float_input(ctx, i)).collect::<Result<Vec<_>>>()?;
        let part = |i: usize| all[i].as_slice::<f32>();
        let values = Values { i: part(0)?, cs: part(1)?, f: part(2)?, o: part(3)?, ci: part(4)?, co: part(5)? };
        let before = float_input(ctx, 1)?;
        let mut state = ctx.allocator().from_slice([batch, cells], part(6)?)?;
        let mut gates = ctx.allocator().uninit(DType::F32, [batch, 4 * cells])?;
        let gradients = (state.as_mut_slice()?, part(7)?);
        back(&values, before.as_slice()?, cells, [0, 1, 2, 3], gradients, &mut peepholes, gates.as_mut_slice()?)?;
        set_rounded(ctx, 0, &state, dtype)?;
        set_rounded(ctx, 1, &gates, dtype)?;
        set_peepholes(ctx, 2, dtype, peepholes, &shapes)
    })
}

/// Makes the kernel of `BlockLSTMGrad`. Inputs: number of steps, x, state, output, weights, peepholes, bias, all results of the forward op,
/// gradients of states and outputs. Gradients after that number of steps are ignored.
///
/// The gradients of inputs and weights are products of the gradients of all steps' gates; only those of the outputs are computed step by step.
fn make_block(init: &KernelInit<'_>, order: [usize; 4]) -> Result<Arc<dyn Kernel>> {
    let peephole = init.attrs.get_or("use_peephole", false)?;
    let through_outputs = StableRhs::new(init, 4);
    from_fn(move |ctx| {
        if ctx.input(0)?.rank() != 0 {
            bail!(InvalidArgument, "seq_len_max must be rank 0 but is rank {}", ctx.input(0)?.rank());
        }
        let &[time, batch, inputs] = ctx.input(1)?.shape().dims() else {
            bail!(InvalidArgument, "x must be rank 3 but is rank {}", ctx.input(1)?.rank());
        };
        let Some(steps) = usize::try_from(ctx.input(0)?.to_i64()?).ok().filter(|&n| n <= time) else {
            bail!(InvalidArgument, "seq_len_max must be between 0 and the number of steps, {time}");
        };
        let [_, cells] = matrix(ctx.input(2)?, "cs_prev")?;
        let width = cells.saturating_mul(4);
        expect(ctx.input(2)?, "cs_prev", &[batch, cells])?;
        expect(ctx.input(3)?, "h_prev", &[batch, cells])?;
        expect(ctx.input(4)?, "w", &[inputs.saturating_add(cells), width])?;
        expect(ctx.input(8)?, "b", &[width])?;
        for (i, name) in ["i", "cs", "f", "o", "ci", "co", "h", "cs_grad", "h_grad"].into_iter().enumerate() {
            expect(ctx.input(9 + i)?, name, &[time, batch, cells])?;
        }
        let (mut peepholes, shapes) = Peepholes::new(ctx, 5, cells, peephole)?;
        let dtype = ctx.input(1)?.dtype();
        let weights = float_input(ctx, 4)?;
        let of_outputs = weights.view(inputs * width, [cells, width])?;
        let (x, first_state, first_output) = (float_input(ctx, 1)?, float_input(ctx, 2)?, float_input(ctx, 3)?);
        let (x, first_output) = (x.as_slice::<f32>()?, first_output.as_slice::<f32>()?);
        let all = (9..18).map(|i| float_input(ctx, i)).collect::<Result<Vec<_>>>()?;
        let all = all.iter().map(Tensor::as_slice::<f32>).collect::<Result<Vec<_>>>()?;
        let each = batch * cells;
        let mut gates = ctx.allocator().uninit(DType::F32, [steps, batch, width])?;
        let gates = gates.as_mut_slice::<f32>()?;
        let new = |shape: &Shape| ctx.allocator().zeros(DType::F32, shape.clone());
        let [mut dx, mut dw, mut db] = [new(ctx.input(1)?.shape())?, new(weights.shape())?, new(ctx.input(8)?.shape())?];
        let [mut d_state, mut d_output] = [new(ctx.input(2)?.shape())?, new(ctx.input(3)?.shape())?];
        if each > 0 {
            let (d_state, d_output) = (d_state.as_mut_slice::<f32>()?, d_output.as_mut_slice::<f32>()?);
            for (t, gates) in gates.chunks_exact_mut(batch * width).enumerate().rev() {
                let part = |i: usize| &all[i][t * each..][..each];
                let values = Values { i: part(0), cs: part(1), f: part(2), o: part(3), ci: part(4), co: part(5) };
                d_state.iter_mut().zip(part(7)).for_each(|(d, &more)| *d += more);
                d_output.iter_mut().zip(part(8)).for_each(|(d, &more)| *d += more);
                let before = if t == 0 { first_state.as_slice()? } else { &all[1][(t - 1) * each..][..each] };
                back(&values, before, cells, order, (d_state, d_output), &mut peepholes, gates)?;
                let size = Sizes { m: batch, k: width, n: cells };
                through_outputs.multiply(size, gates, &of_outputs, true, d_output, &Epilogue::default())?;
            }
            let (dx, dw, db) = (dx.as_mut_slice::<f32>()?, dw.as_mut_slice::<f32>()?, db.as_mut_slice::<f32>()?);
            let rows = steps * batch;
            let plain = |data, ld| MatrixRef { data, ld, transposed: false };
            let transposed = |data, ld| MatrixRef { data, ld, transposed: true };
            gemm(rows, width, inputs, plain(gates, width), transposed(weights.as_slice()?, width), dx, inputs, false);
            let (dw_x, dw_output) = dw.split_at_mut(inputs * width);
            gemm(inputs, rows, width, transposed(x, inputs), plain(gates, width), dw_x, width, false);
            // The output before the first step comes from outside.
            let (first, others) = gates.split_at(gates.len().min(batch * width));
            let outputs = &all[6][..rows.saturating_sub(batch) * cells];
            gemm(cells, first.len() / width, width, transposed(first_output, cells), plain(first, width), dw_output, width, false);
            gemm(cells, others.len() / width, width, transposed(outputs, cells), plain(others, width), dw_output, width, true);
            for row in gates.chunks_exact(width) {
                db.iter_mut().zip(row).for_each(|(d, &more)| *d += more);
            }
        }
        for (i, output) in [(0, &dx), (1, &d_state), (2, &d_output), (3, &dw), (7, &db)] {
            set_rounded(ctx, i, output, dtype)?;
        }
        set_peepholes(ctx, 4, dtype, peepholes, &shapes)
    })
}
