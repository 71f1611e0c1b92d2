//! `GRUBlockCell` and its gradient.

use super::lstm::{expect, matrix, multiply_any};
use crate::backend::Address;
use crate::compiled_kernel::{CompiledKernel, word};
use crate::device::{Argument, GpuDevice};
use flowmill_kernels::from_fn::from_fn;
use flowmill_runtime::{Device, Kernel, KernelContext, KernelDef, KernelInit, KernelRegistry};
use flowmill_tensor::{DType, Result, Shape, Tensor};
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.register("GRUBlockCell", KernelDef::new(make_cell).constrain("T", &[DType::F32]));
    registry.register("GRUBlockCellGrad", KernelDef::new(make_gradient).constrain("T", &[DType::F32]));
}

/// The sizes of a call.
struct Sizes {
    batch: usize,
    inputs: usize,
    cells: usize,
}

impl Sizes {
    /// Checks the inputs that a cell and its gradient have in common.
    fn new(ctx: &KernelContext<'_>) -> Result<Sizes> {
        let [batch, inputs] = matrix(ctx.input(0)?, "x")?;
        let [_, cells] = matrix(ctx.input(1)?, "h_prev")?;
        let width = inputs.saturating_add(cells);
        expect(ctx.input(1)?, "h_prev", &[batch, cells])?;
        expect(ctx.input(2)?, "w_ru", &[width, cells.saturating_mul(2)])?;
        expect(ctx.input(3)?, "w_c", &[width, cells])?;
        expect(ctx.input(4)?, "b_ru", &[cells.saturating_mul(2)])?;
        expect(ctx.input(5)?, "b_c", &[cells])?;
        Ok(Sizes { batch, inputs, cells })
    }
}

fn program(name: &'static str) -> Result<CompiledKernel> {
    CompiledKernel::of(include_str!("gru.cu"), name, DType::F32)
}

/// Allocates a matrix of scratch memory.
fn scratch(device: &GpuDevice, rows: usize, columns: usize) -> Result<Tensor> {
    device.allocate(DType::F32, &Shape::from([rows, columns]))
}

fn make_cell(_: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let (gates, outputs) = (program("gates")?, program("outputs")?);
    from_fn(move |ctx| {
        let Sizes { batch, inputs, cells } = Sizes::new(ctx)?;
        let mut results = Vec::new();
        for i in 0..4 {
            results.push(ctx.allocate_output(i, DType::F32, &Shape::from([batch, cells]))?.clone());
        }
        let n = batch * cells;
        if n == 0 {
            return Ok(());
        }
        let device = GpuDevice::of(ctx.device())?;
        let address = |i: usize| device.address(ctx.input(i)?);
        let of = |tensor: &Tensor| device.address(tensor).map(Argument::Address);
        let multiply = |rows: Address, k: usize, weights: Address, width: usize| -> Result<Tensor> {
            let product = scratch(device, batch, width)?;
            multiply_any(device, DType::F32, (batch, width, k), [false; 2], [rows, weights, device.address(&product)?])?;
            Ok(product)
        };
        let (x, h, of_gates, of_values) = (address(0)?, address(1)?, address(2)?, address(3)?);
        let from_x = multiply(x, inputs, of_gates, 2 * cells)?;
        let from_h = multiply(h, cells, of_gates.offset(inputs * 2 * cells * 4), 2 * cells)?;
        let reset = scratch(device, batch, cells)?;
        let [r, u, c, out] = [of(&results[0])?, of(&results[1])?, of(&results[2])?, of(&results[3])?];
        let (bias, before) = (Argument::Address(address(4)?), Argument::Address(h));
        let numbers = [Argument::U32(word(n)?), Argument::U32(word(cells)?)];
        let arguments = [r, u, of(&reset)?, of(&from_x)?, of(&from_h)?, bias, before, numbers[0], numbers[1]];
        gates.launch(device, device.linear_grid(n), &arguments)?;
        let from_x = multiply(x, inputs, of_values, cells)?;
        let from_reset = multiply(device.address(&reset)?, cells, of_values.offset(inputs * cells * 4), cells)?;
        let bias = Argument::Address(address(5)?);
        let arguments = [c, out, of(&from_x)?, of(&from_reset)?, bias, u, before, numbers[0], numbers[1]];
        outputs.launch(device, device.linear_grid(n), &arguments)
    })
}

/// Makes the kernel of the gradient, whose outputs are those of `x`, of the output before, of the new values before `tanh`, and of both gates before
/// `sigmoid`.
fn make_gradient(_: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let [of_values, of_gates, of_inputs] = [program("new_values_gradient")?, program("gates_gradient")?, program("inputs_gradient")?];
    from_fn(move |ctx| {
        let Sizes { batch, inputs, cells } = Sizes::new(ctx)?;
        for (i, name) in [(6, "r"), (7, "u"), (8, "c"), (9, "d_h")] {
            expect(ctx.input(i)?, name, &[batch, cells])?;
        }
        let mut results = Vec::new();
        for (i, columns) in [inputs, cells, cells, 2 * cells].into_iter().enumerate() {
            results.push(ctx.allocate_output(i, DType::F32, &Shape::from([batch, columns]))?.clone());
        }
        let (n, width) = (batch * cells, inputs + cells);
        if batch * width == 0 {
            return Ok(());
        }
        let device = GpuDevice::of(ctx.device())?;
        let of = |tensor: &Tensor| device.address(tensor).map(Argument::Address);
        let input = |i: usize| of(ctx.input(i)?);
        // The gradients of `[x, h]` from those of sums by the weights that are an input.
        let through = |gradients: &Tensor, k: usize, weights: usize| -> Result<Tensor> {
            let product = scratch(device, batch, width)?;
            let addresses = [device.address(gradients)?, device.address(ctx.input(weights)?)?, device.address(&product)?];
            multiply_any(device, DType::F32, (batch, width, k), [false, true], addresses)?;
            Ok(product)
        };
        let [h, r, u, c, dh] = [input(1)?, input(6)?, input(7)?, input(8)?, input(9)?];
        let [count, num_cells, num_inputs] = [word(n)?, word(cells)?, word(inputs)?].map(Argument::U32);
        if n > 0 {
            of_values.launch(device, device.linear_grid(n), &[of(&results[2])?, u, c, dh, count])?;
        }
        let of_new_values = through(&results[2], cells, 3)?;
        if n > 0 {
            let arguments = [of(&results[3])?, of(&of_new_values)?, h, r, u, c, dh, count, num_cells, num_inputs];
            of_gates.launch(device, device.linear_grid(n), &arguments)?;
        }
        let of_both = through(&results[3], 2 * cells, 2)?;
        let elements = Argument::U32(word(batch * width)?);
        let arguments = [of(&results[0])?, of(&results[1])?, of(&of_both)?, of(&of_new_values)?, r, u, dh, elements, num_cells, num_inputs];
        of_inputs.launch(device, device.linear_grid(batch * width), &arguments)
    })
}
