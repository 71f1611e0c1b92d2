//! `GRUBlockCellGrad`: the gradient of one step of gated recurrent units.

use super::block_cells::{expect, matrix};
use crate::from_fn::from_fn;
use crate::gemm::{MatrixRef, gemm};
use flowmill_runtime::{KernelContext, KernelRegistry};
use flowmill_tensor::{DType, Result, Tensor};

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("GRUBlockCellGrad", |_| from_fn(gru_grad));
}

/// Computes the op. Inputs: those of the cell, its reset gate, update gate and new values, and the gradient of its output. Outputs: the gradients
/// of `x`, of the previous output, of the new values before `tanh`, and of both gates before `sigmoid`.
fn gru_grad(ctx: &mut KernelContext<'_>) -> Result<()> {
    let [batch, inputs] = matrix(ctx.input(0)?, "x")?;
    let [_, cells] = matrix(ctx.input(1)?, "h_prev")?;
    expect(ctx.input(1)?, "h_prev", &[batch, cells])?;
    expect(ctx.input(2)?, "w_ru", &[inputs + cells, 2 * cells])?;
    expect(ctx.input(3)?, "w_c", &[inputs + cells, cells])?;
    expect(ctx.input(4)?, "b_ru", &[2 * cells])?;
    expect(ctx.input(5)?, "b_c", &[cells])?;
    for (i, name) in [(6, "r"), (7, "u"), (8, "c"), (9, "d_h")] {
        expect(ctx.input(i)?, name, &[batch, cells])?;
    }
    let values = |i: usize| ctx.input(i).and_then(|t| t.as_slice::<f32>());
    let (h, r, u, c, dh) = (values(1)?, values(6)?, values(7)?, values(8)?, values(9)?);
    let width = inputs + cells;
    // Computes the gradients of `[x, h]` from those of the sums of both gates, or of the new values.
    let through = |gradients: &[f32], k: usize, weights: &[f32]| -> Result<Tensor> {
        let mut out = ctx.allocator().zeros(DType::F32, [batch, width])?;
        let (a, b) = (MatrixRef { data: gradients, ld: k, transposed: false }, MatrixRef { data: weights, ld: k, transposed: true });
        if batch > 0 && width > 0 && k > 0 {
            gemm(batch, k, width, a, b, out.as_mut_slice()?, width, false);
        }
        Ok(out)
    };
    let dc: Vec<f32> = (0..batch * cells).map(|i| dh[i] * (1.0 - u[i]) * (1.0 - c[i] * c[i])).collect();
    let of_new_values = through(&dc, cells, values(3)?)?;
    let of_new_values = of_new_values.as_slice::<f32>()?;
    let reset = |i: usize| of_new_values[i / cells * width + inputs + i % cells];
    let mut gates = vec![0f32; 2 * batch * cells];
    for i in 0..batch * cells {
        let at = i / cells * 2 * cells + i % cells;
        gates[at] = reset(i) * h[i] * r[i] * (1.0 - r[i]);
        gates[at + cells] = dh[i] * (h[i] - c[i]) * u[i] * (1.0 - u[i]);
    }
    let of_gates = through(&gates, 2 * cells, values(2)?)?;
    let of_gates = of_gates.as_slice::<f32>()?;
    let mut dx = Vec::with_capacity(batch * inputs);
    for row in 0..batch {
        dx.extend((row * width..row * width + inputs).map(|at| of_gates[at] + of_new_values[at]));
    }
    let dh_prev: Vec<f32> =
        (0..batch * cells).map(|i| of_gates[i / cells * width + inputs + i % cells] + reset(i) * r[i] + dh[i] * u[i]).collect();
    let outputs = [
        ctx.allocator().from_slice([batch, inputs], &dx)?,
        ctx.allocator().from_slice([batch, cells], &dh_prev)?,
        ctx.allocator().from_slice([batch, cells], &dc)?,
        ctx.allocator().from_slice([batch, 2 * cells], &gates)?,
    ];
    for (i, output) in outputs.into_iter().enumerate() {
        ctx.set_output(i, output);
    }
    Ok(())
}
