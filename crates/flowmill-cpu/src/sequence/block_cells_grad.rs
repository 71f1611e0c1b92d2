//! `LSTMBlockCellGrad`, `BlockLSTMGrad`, `BlockLSTMGradV2`: the gradients of the LSTM cells.

use super::block_cells::{expect, floats, matrix, rounded};
use crate::from_fn::from_fn;
use crate::gemm::{MatrixRef, gemm};
use flowmill_runtime::{Kernel, KernelContext, KernelInit, KernelRegistry};
use flowmill_tensor::{DType, Result, Shape, bail};
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

/// The gradients of a step's gates, batch × 4 · cells, and of the previous state.
struct Back {
    gates: Vec<f32>,
    state: Vec<f32>,
}

/// The weights from the state to the input, forget and output gates, and the sums of their gradients.
struct Peepholes {
    weights: [Vec<f32>; 3],
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
        let weights = [floats(ctx.input(at)?)?, floats(ctx.input(at + 1)?)?, floats(ctx.input(at + 2)?)?];
        Ok((Some(Peepholes { weights, sums: std::array::from_fn(|_| vec![0.0; cells]) }), shapes))
    }
}

/// Computes the gradients of one step from those of its state and of its output.
fn back(
    values: &Values<'_>,
    before: &[f32],
    cells: usize,
    order: [usize; 4],
    [dcs, dh]: [&[f32]; 2],
    peepholes: &mut Option<Peepholes>,
) -> Back {
    let mut back = Back { gates: vec![0.0; 4 * before.len()], state: vec![0.0; before.len()] };
    for at in 0..before.len() {
        let (row, cell) = (at / cells, at % cells);
        let (i, cs, f, o, ci, co) = (values.i[at], values.cs[at], values.f[at], values.o[at], values.ci[at], values.co[at]);
        let d_o = o * (1.0 - o) * dh[at] * co;
        let mut d_cs = (1.0 - co * co) * dh[at] * o + dcs[at];
        if let Some(p) = peepholes {
            d_cs += d_o * p.weights[2][cell];
        }
        let d_ci = (1.0 - ci * ci) * d_cs * i;
        let d_f = f * (1.0 - f) * d_cs * before[at];
        let d_i = i * (1.0 - i) * d_cs * ci;
        for (gate, value) in order.into_iter().zip([d_i, d_ci, d_f, d_o]) {
            back.gates[row * 4 * cells + gate * cells + cell] = value;
        }
        back.state[at] = d_cs * f;
        if let Some(p) = peepholes {
            back.state[at] += d_i * p.weights[0][cell] + d_f * p.weights[1][cell];
            p.sums[0][cell] += d_i * before[at];
            p.sums[1][cell] += d_f * before[at];
            p.sums[2][cell] += d_o * cs;
        }
    }
    back
}

/// Sets the outputs from `at` on to the peepholes' gradients, or to zero if there are none.
fn set_peepholes(ctx: &mut KernelContext<'_>, at: usize, dtype: DType, peepholes: Option<Peepholes>, shapes: &[Shape; 3]) -> Result<()> {
    for (i, shape) in shapes.iter().enumerate() {
        let sums = match &peepholes {
            Some(p) => rounded(ctx.allocator(), dtype, shape, &p.sums[i])?,
            None => ctx.allocator().zeros(dtype, shape.clone())?,
        };
        ctx.set_output(at + i, sums);
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
        let all = (8..16).map(|i| floats(ctx.input(i)?)).collect::<Result<Vec<_>>>()?;
        let values = Values { i: &all[0], cs: &all[1], f: &all[2], o: &all[3], ci: &all[4], co: &all[5] };
        let before = floats(ctx.input(1)?)?;
        let found = back(&values, &before, cells, [0, 1, 2, 3], [&all[6], &all[7]], &mut peepholes);
        let (state, gates) = (Shape::from([batch, cells]), Shape::from([batch, 4 * cells]));
        ctx.set_output(0, rounded(ctx.allocator(), dtype, &state, &found.state)?);
        ctx.set_output(1, rounded(ctx.allocator(), dtype, &gates, &found.gates)?);
        set_peepholes(ctx, 2, dtype, peepholes, &shapes)
    })
}

/// Makes the kernel of `BlockLSTMGrad`. Inputs: number of steps, x, state, output, weights, peepholes, bias, all results of the forward op,
/// gradients of states and outputs. Gradients after that number of steps are ignored.
fn make_block(init: &KernelInit<'_>, order: [usize; 4]) -> Result<Arc<dyn Kernel>> {
    let peephole = init.attrs.get_or("use_peephole", false)?;
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
        let (x, weights) = (floats(ctx.input(1)?)?, floats(ctx.input(4)?)?);
        let (first_state, first_output) = (floats(ctx.input(2)?)?, floats(ctx.input(3)?)?);
        let all = (9..18).map(|i| floats(ctx.input(i)?)).collect::<Result<Vec<_>>>()?;
        let each = batch * cells;
        let at = |values: &'_ [f32], t: usize| -> std::ops::Range<usize> { t * each..((t + 1) * each).min(values.len()) };
        let (mut dx, mut dw, mut db) = (vec![0.0; x.len()], vec![0.0; weights.len()], vec![0.0; width]);
        let (mut d_state, mut d_output) = (vec![0.0; each], vec![0.0; each]);
        for t in (0..steps).rev() {
            let part = |i: usize| &all[i][at(&all[i], t)];
            let values = Values { i: part(0), cs: part(1), f: part(2), o: part(3), ci: part(4), co: part(5) };
            d_state.iter_mut().zip(part(7)).for_each(|(d, &more)| *d += more);
            d_output.iter_mut().zip(part(8)).for_each(|(d, &more)| *d += more);
            let before = if t == 0 { &first_state[..] } else { &all[1][at(&all[1], t - 1)] };
            let output_before = if t == 0 { &first_output[..] } else { &all[6][at(&all[6], t - 1)] };
            let found = back(&values, before, cells, order, [&d_state, &d_output], &mut peepholes);
            d_state = found.state;
            let gates = MatrixRef { data: &found.gates, ld: width, transposed: false };
            let (of_x, of_output) = weights.split_at(inputs * width);
            let (dw_x, dw_output) = dw.split_at_mut(inputs * width);
            let row = &x[t * batch * inputs..][..batch * inputs];
            let dx = &mut dx[t * batch * inputs..][..batch * inputs];
            gemm(batch, width, inputs, gates, MatrixRef { data: of_x, ld: width, transposed: true }, dx, inputs, false);
            gemm(batch, width, cells, gates, MatrixRef { data: of_output, ld: width, transposed: true }, &mut d_output, cells, false);
            gemm(inputs, batch, width, MatrixRef { data: row, ld: inputs, transposed: true }, gates, dw_x, width, true);
            gemm(cells, batch, width, MatrixRef { data: output_before, ld: cells, transposed: true }, gates, dw_output, width, true);
            for row in found.gates.chunks_exact(width.max(1)) {
                db.iter_mut().zip(row).for_each(|(d, &more)| *d += more);
            }
        }
        let state = Shape::from([batch, cells]);
        let outputs = [
            (0, rounded(ctx.allocator(), dtype, ctx.input(1)?.shape(), &dx)?),
            (1, rounded(ctx.allocator(), dtype, &state, &d_state)?),
            (2, rounded(ctx.allocator(), dtype, &state, &d_output)?),
            (3, rounded(ctx.allocator(), dtype, ctx.input(4)?.shape(), &dw)?),
            (7, rounded(ctx.allocator(), dtype, ctx.input(8)?.shape(), &db)?),
        ];
        outputs.into_iter().for_each(|(i, output)| ctx.set_output(i, output));
        set_peepholes(ctx, 4, dtype, peepholes, &shapes)
    })
}
