//! `LSTMBlockCell`, `BlockLSTM`, `BlockLSTMV2` and their gradients. The products with the inputs are computed for all steps at once.

use super::matmul::multiply;
use super::reduce::Reducer;
use crate::backend::{Address, Grid};
use crate::compiled_kernel::{CompiledKernel, word};
use crate::device::{Argument, GpuDevice};
use flowmill_kernels::from_fn::from_fn;
use flowmill_runtime::{Device, Kernel, KernelContext, KernelDef, KernelInit, KernelRegistry};
use flowmill_tensor::{DType, Result, Shape, SmallVec, Tensor, bail};
use std::sync::Arc;

/// The number of threads that sum the gradients of a cell's peepholes.
const THREADS: u32 = 256;

pub(super) fn register(registry: &mut KernelRegistry) {
    let cell = |make| KernelDef::new(make).constrain("T", &[DType::F16, DType::F32]);
    registry.register("BlockLSTM", cell(make_block).host_memory("seq_len_max"));
    registry.register("BlockLSTMV2", cell(make_block).host_memory("seq_len_max"));
    registry.register("BlockLSTMGrad", cell(make_block_gradient).host_memory("seq_len_max"));
    registry.register("BlockLSTMGradV2", cell(make_block_gradient).host_memory("seq_len_max"));
    registry.register("LSTMBlockCell", cell(make_cell));
    registry.register("LSTMBlockCellGrad", cell(make_cell_gradient));
}

/// The kernels and attributes of a node.
struct Lstm {
    dtype: DType,
    size: usize,
    has_peepholes: bool,
    forget_bias: f32,
    clip: f32,
    order: [u32; 4],
    step: CompiledKernel,
    step_gradient: CompiledKernel,
    peephole_gradients: CompiledKernel,
}

/// The shapes of a call.
#[derive(Clone, Copy)]
struct Sizes {
    steps: usize,
    time: usize,
    batch: usize,
    inputs: usize,
    cells: usize,
}

impl Sizes {
    /// Returns the number of elements of a state.
    fn each(&self) -> usize {
        self.batch * self.cells
    }

    fn width(&self) -> usize {
        4 * self.cells
    }
}

/// Returns the rows and columns of an input.
///
/// # Errors
/// Returns `InvalidArgument` for a tensor of another rank.
pub(super) fn matrix(tensor: &Tensor, name: &str) -> Result<[usize; 2]> {
    match *tensor.shape().dims() {
        [rows, columns] => Ok([rows, columns]),
        _ => bail!(InvalidArgument, "{name} must be rank 2 but is rank {}", tensor.rank()),
    }
}

/// Checks the shape of an input.
///
/// # Errors
/// Returns `InvalidArgument` for another shape.
pub(super) fn expect(tensor: &Tensor, name: &str, shape: &[usize]) -> Result<()> {
    if tensor.shape().dims() != shape {
        bail!(InvalidArgument, "{name} must have shape {}, but has {}", Shape::new(shape), tensor.shape());
    }
    Ok(())
}

/// Enqueues a product of matrices that may be empty.
///
/// # Errors
/// Returns the errors of the device.
pub(super) fn multiply_any(
    device: &GpuDevice,
    dtype: DType,
    sizes: (usize, usize, usize),
    transposed: [bool; 2],
    matrices: [Address; 3],
) -> Result<()> {
    match sizes {
        (0, ..) | (_, 0, _) => Ok(()),
        (m, n, 0) => device.gpu().fill(matrices[2], 0, m * n * dtype.size().unwrap_or(4)),
        _ => multiply(device, dtype, sizes, transposed, matrices),
    }
}

impl Lstm {
    fn new(init: &KernelInit<'_>) -> Result<Lstm> {
        let is_second = init.op_def.name.ends_with("V2");
        let dtype = init.dtype("T")?;
        let program = |name| CompiledKernel::of(include_str!("lstm.cu"), name, dtype);
        Ok(Lstm {
            dtype,
            size: dtype.size().unwrap_or(4),
            has_peepholes: init.attrs.get_or("use_peephole", false)?,
            forget_bias: if is_second { 0.0 } else { init.attrs.get_or("forget_bias", 1.0)? },
            clip: init.attrs.get_or("cell_clip", if is_second { 0.0 } else { 3.0 })?,
            order: if is_second { [0, 2, 1, 3] } else { [0, 1, 2, 3] },
            step: program("lstm_step")?,
            step_gradient: program("lstm_step_gradient")?,
            peephole_gradients: program("peephole_gradients")?,
        })
    }

    /// Returns the words of the structure `Cells` of kernels.
    fn words(&self, sizes: &Sizes) -> Result<[u32; 9]> {
        let [a, b, c, d] = self.order;
        let numbers = [self.forget_bias.to_bits(), self.clip.to_bits()];
        Ok([word(sizes.batch)?, word(sizes.cells)?, a, b, c, d, numbers[0], numbers[1], self.has_peepholes.into()])
    }

    /// Reads the sizes of a call whose state, output, weights, peepholes and bias are the inputs from `at` on.
    fn sizes(&self, ctx: &KernelContext<'_>, at: usize, [steps, time, batch, inputs]: [usize; 4]) -> Result<Sizes> {
        let [_, cells] = matrix(ctx.input(at)?, "cs_prev")?;
        let width = cells.saturating_mul(4);
        expect(ctx.input(at)?, "cs_prev", &[batch, cells])?;
        expect(ctx.input(at + 1)?, "h_prev", &[batch, cells])?;
        expect(ctx.input(at + 2)?, "w", &[inputs.saturating_add(cells), width])?;
        expect(ctx.input(at + 6)?, "b", &[width])?;
        for (i, name) in ["wci", "wcf", "wco"].into_iter().enumerate() {
            if self.has_peepholes {
                expect(ctx.input(at + 3 + i)?, name, &[cells])?;
            }
        }
        Ok(Sizes { steps, time, batch, inputs, cells })
    }

    fn multiply(&self, device: &GpuDevice, sizes: (usize, usize, usize), transposed: [bool; 2], matrices: [Address; 3]) -> Result<()> {
        multiply_any(device, self.dtype, sizes, transposed, matrices)
    }

    /// Enqueues all steps, whose results are `outputs`: the input gate, the state, the forget gate, the output gate, the new values, the squashed state and
    /// the output. The state and what follows it are the inputs from `at` on.
    fn forward(&self, ctx: &KernelContext<'_>, at: usize, sizes: &Sizes, outputs: &[Tensor]) -> Result<()> {
        let device = GpuDevice::of(ctx.device())?;
        let address = |i: usize| device.address(ctx.input(i)?);
        let (each, width, rows) = (sizes.each(), sizes.width(), sizes.steps * sizes.batch);
        let mut to: SmallVec<[Address; 7]> = SmallVec::new();
        for output in outputs {
            let start = device.address(output)?;
            let rest = (sizes.time - sizes.steps) * each * self.size;
            if rest > 0 {
                device.gpu().fill(start.offset(sizes.steps * each * self.size), 0, rest)?;
            }
            to.push(start);
        }
        if each == 0 || sizes.steps == 0 {
            return Ok(());
        }
        let (x, weights) = (address(at - 1)?, address(at + 2)?);
        let from_x = device.allocate(self.dtype, &Shape::from([rows, width]))?;
        let from_h = device.allocate(self.dtype, &Shape::from([sizes.batch, width]))?;
        let [gates_of_x, gates_of_h] = [device.address(&from_x)?, device.address(&from_h)?];
        self.multiply(device, (rows, width, sizes.inputs), [false, false], [x, weights, gates_of_x])?;
        let weights = weights.offset(sizes.inputs * width * self.size);
        let words = self.words(sizes)?;
        let others = [address(at + 6)?, address(at + 3)?, address(at + 4)?, address(at + 5)?].map(Argument::Address);
        let [bias, wci, wcf, wco] = others;
        let (mut state, mut output) = (address(at)?, address(at + 1)?);
        for t in 0..sizes.steps {
            self.multiply(device, (sizes.batch, width, sizes.cells), [false, false], [output, weights, gates_of_h])?;
            let step = t * each * self.size;
            let mut arguments: SmallVec<[Argument<'_>; 15]> = to.iter().map(|start| Argument::Address(start.offset(step))).collect();
            let from_x = gates_of_x.offset(t * sizes.batch * width * self.size);
            arguments.extend([Argument::Address(from_x), Argument::Address(gates_of_h), bias, Argument::Address(state), wci, wcf, wco]);
            arguments.push(Argument::Words(&words));
            self.step.launch(device, device.linear_grid(each), &arguments)?;
            (state, output) = (to[1].offset(step), to[6].offset(step));
        }
        Ok(())
    }

    /// Enqueues the gradients of the peepholes, or zeros, as the outputs from `at` on. The weights are the inputs from `weights` on.
    fn finish_peepholes(
        &self,
        ctx: &mut KernelContext<'_>,
        [at, weights]: [usize; 2],
        sizes: &Sizes,
        [gates, first, states]: [Address; 3],
    ) -> Result<()> {
        let mut outputs: SmallVec<[Tensor; 3]> = SmallVec::new();
        for i in 0..3 {
            let shape = ctx.input(weights + i)?.shape().clone();
            outputs.push(ctx.allocate_output(at + i, self.dtype, &shape)?.clone());
        }
        let device = GpuDevice::of(ctx.device())?;
        if !self.has_peepholes || sizes.each() * sizes.steps == 0 {
            return outputs.iter().try_for_each(|output| device.gpu().fill(device.address(output)?, 0, output.num_bytes()));
        }
        let words = self.words(sizes)?;
        let mut arguments: SmallVec<[Argument<'_>; 8]> = SmallVec::new();
        for output in &outputs {
            arguments.push(Argument::Address(device.address(output)?));
        }
        arguments.extend([gates, first, states].map(Argument::Address));
        arguments.extend([Argument::U32(word(sizes.steps)?), Argument::Words(&words)]);
        let grid = Grid { blocks: [word(sizes.cells)?, 1, 1], threads: [THREADS, 1, 1] };
        self.peephole_gradients.launch(device, grid, &arguments)
    }
}

fn make_cell(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let lstm = Lstm::new(init)?;
    from_fn(move |ctx| {
        let [batch, inputs] = matrix(ctx.input(0)?, "x")?;
        let sizes = lstm.sizes(ctx, 1, [1, 1, batch, inputs])?;
        if sizes.each() == 0 {
            bail!(InvalidArgument, "cs_prev_tensor is empty, has shape: ({batch},{}).", sizes.cells);
        }
        let outputs = results(ctx, lstm.dtype, &Shape::from([batch, sizes.cells]))?;
        lstm.forward(ctx, 1, &sizes, &outputs)
    })
}

/// Allocates the seven results of an LSTM.
fn results(ctx: &mut KernelContext<'_>, dtype: DType, shape: &Shape) -> Result<Vec<Tensor>> {
    (0..7).map(|i| Ok(ctx.allocate_output(i, dtype, shape)?.clone())).collect()
}

/// Returns the number of steps to compute, and those, the sequences and the inputs of `x`.
fn steps(ctx: &KernelContext<'_>) -> Result<[usize; 4]> {
    let steps = ctx.input(0)?;
    if steps.rank() != 0 {
        bail!(InvalidArgument, "seq_len_max must be rank 0 but is rank {}", steps.rank());
    }
    let &[time, batch, inputs] = ctx.input(1)?.shape().dims() else {
        bail!(InvalidArgument, "x must be rank 3 but is rank {}", ctx.input(1)?.rank());
    };
    match usize::try_from(steps.to_i64()?) {
        Ok(steps) if steps <= time => Ok([steps, time, batch, inputs]),
        _ => bail!(InvalidArgument, "seq_len_max must be between 0 and the number of steps, {time}"),
    }
}

fn make_block(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let lstm = Lstm::new(init)?;
    from_fn(move |ctx| {
        let sizes = lstm.sizes(ctx, 2, steps(ctx)?)?;
        let outputs = results(ctx, lstm.dtype, &Shape::from([sizes.time, sizes.batch, sizes.cells]))?;
        lstm.forward(ctx, 2, &sizes, &outputs)
    })
}

/// Makes the kernel of `LSTMBlockCellGrad`. The inputs are those of the cell, its first six results, and the gradients of the state and the output.
fn make_cell_gradient(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let lstm = Lstm::new(init)?;
    from_fn(move |ctx| {
        let [batch, inputs] = matrix(ctx.input(0)?, "x")?;
        let sizes = lstm.sizes(ctx, 1, [1, 1, batch, inputs])?;
        for (i, name) in ["i", "cs", "f", "o", "ci", "co", "cs_grad", "h_grad"].into_iter().enumerate() {
            expect(ctx.input(8 + i)?, name, &[batch, sizes.cells])?;
        }
        let state = ctx.allocate_output(0, lstm.dtype, &Shape::from([batch, sizes.cells]))?.clone();
        let gates = ctx.allocate_output(1, lstm.dtype, &Shape::from([batch, sizes.width()]))?.clone();
        let device = GpuDevice::of(ctx.device())?;
        let address = |i: usize| device.address(ctx.input(i)?);
        let (to_gates, to_state) = (device.address(&gates)?, device.address(&state)?);
        let (before, states) = (address(1)?, address(9)?);
        if sizes.each() > 0 {
            let words = lstm.words(&sizes)?;
            let mut arguments: SmallVec<[Argument<'_>; 17]> = SmallVec::from_iter([to_gates, to_state, before].map(Argument::Address));
            for i in 8..14 {
                arguments.push(Argument::Address(address(i)?));
            }
            for i in [14, 15] {
                arguments.extend([Argument::Address(address(i)?), Argument::Address(Address(0))]);
            }
            for i in 4..7 {
                arguments.push(Argument::Address(address(i)?));
            }
            arguments.push(Argument::Words(&words));
            lstm.step_gradient.launch(device, device.linear_grid(sizes.each()), &arguments)?;
        }
        lstm.finish_peepholes(ctx, [2, 4], &sizes, [to_gates, before, states])
    })
}

/// Makes the kernel of `BlockLSTMGrad` and its second version. The inputs are those of the op, its results, and the gradients of states and outputs.
/// Gradients after the number of steps are ignored.
fn make_block_gradient(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let lstm = Lstm::new(init)?;
    let sum = Reducer::new("Sum", lstm.dtype)?;
    from_fn(move |ctx| {
        let sizes = lstm.sizes(ctx, 2, steps(ctx)?)?;
        let Sizes { steps, time, batch, inputs, cells } = sizes;
        for (i, name) in ["i", "cs", "f", "o", "ci", "co", "h", "cs_grad", "h_grad"].into_iter().enumerate() {
            expect(ctx.input(9 + i)?, name, &[time, batch, cells])?;
        }
        let mut gradients: SmallVec<[Tensor; 5]> = SmallVec::new();
        for (output, input) in [(0, 1), (1, 2), (2, 3), (3, 4), (7, 8)] {
            let shape = ctx.input(input)?.shape().clone();
            gradients.push(ctx.allocate_output(output, lstm.dtype, &shape)?.clone());
        }
        let device = GpuDevice::of(ctx.device())?;
        let address = |i: usize| device.address(ctx.input(i)?);
        let (size, each, width, rows) = (lstm.size, sizes.each(), sizes.width(), steps * batch);
        let gates = device.allocate(lstm.dtype, &Shape::from([rows, width]))?;
        let to_gates = device.address(&gates)?;
        let (first, states) = (address(2)?, address(10)?);
        if each * steps == 0 {
            for gradient in &gradients {
                device.gpu().fill(device.address(gradient)?, 0, gradient.num_bytes())?;
            }
            return lstm.finish_peepholes(ctx, [4, 5], &sizes, [to_gates, first, states]);
        }
        let [dx, d_state, d_output, dw] = [0, 1, 2, 3].map(|i| device.address(&gradients[i]));
        let (dx, d_state, d_output, dw) = (dx?, d_state?, d_output?, dw?);
        let (x, weights, outputs) = (address(1)?, address(4)?, address(15)?);
        let of_output = inputs * width * size;
        let words = lstm.words(&sizes)?;
        for t in (0..steps).rev() {
            let at = |start: Address| start.offset(t * each * size);
            let before = if t == 0 { first } else { states.offset((t - 1) * each * size) };
            let own_gates = to_gates.offset(t * batch * width * size);
            let mut arguments: SmallVec<[Argument<'_>; 17]> = SmallVec::from_iter([own_gates, d_state, before].map(Argument::Address));
            for i in 9..15 {
                arguments.push(Argument::Address(at(address(i)?)));
            }
            let is_last = t + 1 == steps;
            for (i, later) in [(16, d_state), (17, d_output)] {
                let later = if is_last { Address(0) } else { later };
                arguments.extend([Argument::Address(at(address(i)?)), Argument::Address(later)]);
            }
            for i in 5..8 {
                arguments.push(Argument::Address(address(i)?));
            }
            arguments.push(Argument::Words(&words));
            lstm.step_gradient.launch(device, device.linear_grid(each), &arguments)?;
            lstm.multiply(device, (batch, cells, width), [false, true], [own_gates, weights.offset(of_output), d_output])?;
        }
        lstm.multiply(device, (rows, inputs, width), [false, true], [to_gates, weights, dx])?;
        let rest = (time - steps) * batch * inputs * size;
        if rest > 0 {
            device.gpu().fill(dx.offset(rows * inputs * size), 0, rest)?;
        }
        lstm.multiply(device, (inputs, width, rows), [true, false], [x, to_gates, dw])?;
        // The outputs before each step.
        let before = device.allocate(lstm.dtype, &Shape::from([rows, cells]))?;
        let start = device.address(&before)?;
        device.gpu().copy(start, address(3)?, each * size)?;
        if steps > 1 {
            device.gpu().copy(start.offset(each * size), outputs, (steps - 1) * each * size)?;
        }
        lstm.multiply(device, (cells, width, rows), [true, false], [start, to_gates, dw.offset(of_output)])?;
        sum.reduce_rows(device, &gates, device.address(&gradients[4])?)?;
        lstm.finish_peepholes(ctx, [4, 5], &sizes, [to_gates, first, states])
    })
}
