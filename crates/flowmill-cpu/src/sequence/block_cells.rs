//! Recurrent cells as single ops: `LSTMBlockCell`, `BlockLSTM`, `BlockLSTMV2`, `GRUBlockCell`.
//!
//! The products of the inputs with their weights do not depend on the state, so `BlockLSTM` computes those of many steps at once. A step multiplies the
//! output of the step before with the other weights, which are packed once.

use crate::cast::cast_tensor;
use crate::from_fn::from_fn;
use crate::gemm::{Activation, Epilogue};
use crate::linear_algebra::{Beside, Sizes, StableRhs};
use crate::simd::unary::{sigmoid_in_place, tanh};
use flowmill_runtime::{Kernel, KernelContext, KernelInit, KernelRegistry};
use flowmill_tensor::{DType, Result, Shape, Tensor, bail};
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("BlockLSTM", make_block_lstm);
    registry.add("BlockLSTMV2", make_block_lstm);
    registry.add("GRUBlockCell", make_gru_cell);
    registry.add("LSTMBlockCell", make_lstm_cell);
}

/// The most bytes of products of inputs and weights that are computed at once.
const PRODUCTS_BYTES: usize = 4 << 20;

/// Returns input `i` as `float32`, in which `float16` is computed, too.
pub(super) fn float_input(ctx: &KernelContext<'_>, i: usize) -> Result<Tensor> {
    cast_tensor(ctx.allocator(), ctx.input(i)?, DType::F32)
}

/// Sets output `i` to a tensor of `float32`, rounded to the type of the op.
pub(super) fn set_rounded(ctx: &mut KernelContext<'_>, i: usize, value: &Tensor, dtype: DType) -> Result<()> {
    let value = cast_tensor(ctx.allocator(), value, dtype)?;
    ctx.set_output(i, value);
    Ok(())
}

pub(super) fn matrix(tensor: &Tensor, name: &str) -> Result<[usize; 2]> {
    match *tensor.shape().dims() {
        [rows, columns] => Ok([rows, columns]),
        _ => bail!(InvalidArgument, "{name} must be rank 2 but is rank {}", tensor.rank()),
    }
}

pub(super) fn expect(tensor: &Tensor, name: &str, shape: &[usize]) -> Result<()> {
    if tensor.shape().dims() != shape {
        bail!(InvalidArgument, "{name} must have shape {}, but has {}", Shape::new(shape), tensor.shape());
    }
    Ok(())
}

/// The kernel of an LSTM: the attributes of its op, and its weights in packed form.
struct LstmKernel {
    attributes: Attributes,
    /// The weights of the inputs.
    of_inputs: StableRhs,
    /// The weights of the outputs of the step before.
    of_outputs: StableRhs,
}

impl LstmKernel {
    /// Makes the kernel of an op whose weights are input `weights`.
    fn new(init: &KernelInit<'_>, weights: usize) -> Result<LstmKernel> {
        let attributes = Attributes::new(init)?;
        Ok(LstmKernel { attributes, of_inputs: StableRhs::new(init, weights), of_outputs: StableRhs::new(init, weights) })
    }
}

/// The weights of an LSTM in one call, as `float32`.
struct Lstm<'a> {
    kernel: &'a LstmKernel,
    batch: usize,
    inputs: usize,
    cells: usize,
    /// The weights of the inputs, and those of the outputs of the step before.
    weights: [Tensor; 2],
    bias: Tensor,
    /// The weights from the state to the input, forget and output gates.
    peepholes: Option<[Tensor; 3]>,
}

/// The values of some steps, each a batch of cells: input gate, state, forget gate, output gate, new values, squashed state, output.
type Steps<'a> = [&'a mut [f32]; 7];

impl Lstm<'_> {
    /// Reads the inputs from `at` on: state, output, weights, three peepholes, bias.
    fn new<'a>(kernel: &'a LstmKernel, ctx: &KernelContext<'_>, at: usize, batch: usize, inputs: usize) -> Result<Lstm<'a>> {
        let [_, cells] = matrix(ctx.input(at)?, "cs_prev")?;
        let width = cells.saturating_mul(4);
        expect(ctx.input(at)?, "cs_prev", &[batch, cells])?;
        expect(ctx.input(at + 1)?, "h_prev", &[batch, cells])?;
        expect(ctx.input(at + 2)?, "w", &[inputs.saturating_add(cells), width])?;
        expect(ctx.input(at + 6)?, "b", &[width])?;
        let peephole = kernel.attributes.peephole;
        for (i, name) in ["wci", "wcf", "wco"].into_iter().enumerate() {
            if peephole || ctx.input(at + 3 + i)?.num_elements() != 0 {
                expect(ctx.input(at + 3 + i)?, name, &[cells])?;
            }
        }
        let peepholes =
            if peephole { Some([float_input(ctx, at + 3)?, float_input(ctx, at + 4)?, float_input(ctx, at + 5)?]) } else { None };
        let weights = float_input(ctx, at + 2)?;
        let weights = [weights.view(0, [inputs, width])?, weights.view(inputs * width, [cells, width])?];
        Ok(Lstm { kernel, batch, inputs, cells, weights, bias: float_input(ctx, at + 6)?, peepholes })
    }

    /// Computes the products of the inputs of some steps and their weights.
    fn multiply_inputs(&self, x: &[f32], gates: &mut [f32]) -> Result<()> {
        let n = 4 * self.cells;
        let size = Sizes { m: gates.len().checked_div(n).unwrap_or(0), k: self.inputs, n };
        self.kernel.of_inputs.multiply(size, x, &self.weights[0], false, gates, &Epilogue::default())
    }

    /// Computes one step. `gates` holds the products of its inputs; `state` and `output` are those of the step before.
    fn step(&self, gates: &mut [f32], state: &[f32], output: &[f32], to: Steps<'_>) -> Result<()> {
        let size = Sizes { m: self.batch, k: self.cells, n: 4 * self.cells };
        let epilogue = Epilogue { bias: Some(self.bias.as_slice()?), accumulate: true, ..Epilogue::default() };
        self.kernel.of_outputs.multiply(size, output, &self.weights[1], false, gates, &epilogue)?;
        let peepholes = match &self.peepholes {
            Some([i, f, o]) => Some([i.as_slice()?, f.as_slice()?, o.as_slice()?]),
            None => None,
        };
        let mut rest = to;
        for (gates, state) in gates.chunks_exact(size.n).zip(state.chunks_exact(self.cells)) {
            let row = rest.each_mut().map(|values| values.split_off_mut(..self.cells).unwrap_or_default());
            self.kernel.attributes.row(peepholes, gates, state, row);
        }
        Ok(())
    }
}

/// The attributes of the ops.
#[derive(Clone, Copy)]
struct Attributes {
    peephole: bool,
    forget_bias: f32,
    clip: Option<f32>,
    order: [usize; 4],
}

impl Attributes {
    fn new(init: &KernelInit<'_>) -> Result<Attributes> {
        let second = init.op_def.name == "BlockLSTMV2";
        let clip: f32 = init.attrs.get_or("cell_clip", if second { 0.0 } else { 3.0 })?;
        Ok(Attributes {
            peephole: init.attrs.get_or("use_peephole", false)?,
            forget_bias: if second { 0.0 } else { init.attrs.get_or("forget_bias", 1.0)? },
            clip: (clip > 0.0).then_some(clip),
            order: if second { [0, 2, 1, 3] } else { [0, 1, 2, 3] },
        })
    }
}

impl Attributes {
    /// Computes one row of a step from the sums of its gates and its state.
    fn row(&self, peepholes: Option<[&[f32]; 3]>, gates: &[f32], state: &[f32], [i, cs, f, o, ci, co, h]: Steps<'_>) {
        let cells = state.len();
        let gate = |position: usize| &gates[self.order[position] * cells..][..cells];
        // Adds the products of a peephole's weights and a state.
        let peep = |position: usize, gate: &mut [f32], state: &[f32]| {
            let Some(peepholes) = peepholes else { return };
            gate.iter_mut().zip(peepholes[position]).zip(state).for_each(|((gate, weight), state)| *gate += weight * state);
        };
        i.copy_from_slice(gate(0));
        peep(0, i, state);
        sigmoid_in_place(i);
        tanh(ci, gate(1));
        f.iter_mut().zip(gate(2)).for_each(|(f, gate)| *f = gate + self.forget_bias);
        peep(1, f, state);
        sigmoid_in_place(f);
        for (((cs, ci), (i, f)), state) in cs.iter_mut().zip(&*ci).zip(i.iter().zip(&*f)).zip(state) {
            *cs = ci * i + state * f;
        }
        if let Some(clip) = self.clip {
            cs.iter_mut().for_each(|cs| *cs = cs.clamp(-clip, clip));
        }
        o.copy_from_slice(gate(3));
        peep(2, o, cs);
        sigmoid_in_place(o);
        tanh(co, cs);
        h.iter_mut().zip(o.iter().zip(&*co)).for_each(|(h, (o, co))| *h = o * co);
    }
}

/// Returns memory for the values of steps.
fn uninit_steps(ctx: &KernelContext<'_>, shape: &Shape) -> Result<[Tensor; 7]> {
    let new = || ctx.allocator().uninit(DType::F32, shape.clone());
    Ok([new()?, new()?, new()?, new()?, new()?, new()?, new()?])
}

/// Returns the elements of the values of steps.
fn elements([i, cs, f, o, ci, co, h]: &mut [Tensor; 7]) -> Result<Steps<'_>> {
    Ok([
        i.as_mut_slice()?,
        cs.as_mut_slice()?,
        f.as_mut_slice()?,
        o.as_mut_slice()?,
        ci.as_mut_slice()?,
        co.as_mut_slice()?,
        h.as_mut_slice()?,
    ])
}

/// Makes the kernel of `LSTMBlockCell`. Inputs: x, state, output, weights, peepholes, bias.
fn make_lstm_cell(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let kernel = LstmKernel::new(init, 3)?;
    from_fn(move |ctx| {
        let [batch, inputs] = matrix(ctx.input(0)?, "x")?;
        let lstm = Lstm::new(&kernel, ctx, 1, batch, inputs)?;
        if batch == 0 || lstm.cells == 0 {
            bail!(InvalidArgument, "cs_prev_tensor is empty, has shape: ({batch},{}).", lstm.cells);
        }
        let dtype = ctx.input(0)?.dtype();
        let [x, state, output] = [float_input(ctx, 0)?, float_input(ctx, 1)?, float_input(ctx, 2)?];
        let mut gates = vec![0.0; batch * 4 * lstm.cells];
        lstm.multiply_inputs(x.as_slice()?, &mut gates)?;
        let mut values = uninit_steps(ctx, state.shape())?;
        lstm.step(&mut gates, state.as_slice()?, output.as_slice()?, elements(&mut values)?)?;
        values.iter().enumerate().try_for_each(|(i, value)| set_rounded(ctx, i, value, dtype))
    })
}

/// Makes the kernel of `BlockLSTM`. Inputs: number of steps, x, then those of a single cell. Outputs after that number of steps are zero.
fn make_block_lstm(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let kernel = LstmKernel::new(init, 4)?;
    from_fn(move |ctx| {
        let steps = ctx.input(0)?;
        if steps.rank() != 0 {
            bail!(InvalidArgument, "seq_len_max must be rank 0 but is rank {}", steps.rank());
        }
        let &[time, batch, inputs] = ctx.input(1)?.shape().dims() else {
            bail!(InvalidArgument, "x must be rank 3 but is rank {}", ctx.input(1)?.rank());
        };
        let Some(steps) = usize::try_from(steps.to_i64()?).ok().filter(|&n| n <= time) else {
            bail!(InvalidArgument, "seq_len_max must be between 0 and the number of steps, {time}");
        };
        let lstm = Lstm::new(&kernel, ctx, 2, batch, inputs)?;
        let (dtype, shape) = (ctx.input(1)?.dtype(), Shape::from([time, batch, lstm.cells]));
        let mut values = uninit_steps(ctx, &shape)?;
        let [x, state, output] = [float_input(ctx, 1)?, float_input(ctx, 2)?, float_input(ctx, 3)?];
        compute_steps(&lstm, steps, x.as_slice()?, [state.as_slice()?, output.as_slice()?], elements(&mut values)?)?;
        values.iter().enumerate().try_for_each(|(i, value)| set_rounded(ctx, i, value, dtype))
    })
}

/// Computes the first `steps` steps from the state and the output before them, and sets the values of all others to zero.
fn compute_steps(lstm: &Lstm<'_>, steps: usize, x: &[f32], [mut state, mut output]: [&[f32]; 2], to: Steps<'_>) -> Result<()> {
    let (of_inputs, each, width) = (lstm.batch * lstm.inputs, lstm.batch * lstm.cells, lstm.batch * 4 * lstm.cells);
    if each == 0 {
        return Ok(());
    }
    let at_once = (PRODUCTS_BYTES / size_of::<f32>() / width).clamp(1, steps.max(1));
    let mut gates = vec![0.0; at_once * width];
    let mut rest = to;
    for first in (0..steps).step_by(at_once) {
        let last = steps.min(first + at_once);
        let gates = &mut gates[..(last - first) * width];
        lstm.multiply_inputs(&x[first * of_inputs..last * of_inputs], gates)?;
        for gates in gates.chunks_exact_mut(width) {
            let mut step = rest.each_mut().map(|values| values.split_off_mut(..each).unwrap_or_default());
            lstm.step(gates, state, output, step.each_mut().map(|values| &mut **values))?;
            let [_, new_state, .., new_output] = step;
            (state, output) = (new_state, new_output);
        }
    }
    rest.into_iter().for_each(|values| values.fill(0.0));
    Ok(())
}

/// Makes the kernel of `GRUBlockCell`. Inputs: x, output, weights of the reset and update gates, weights of the new values, their biases.
fn make_gru_cell(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let (of_gates, of_values) = (StableRhs::new(init, 2), StableRhs::new(init, 3));
    from_fn(move |ctx| {
        let [batch, inputs] = matrix(ctx.input(0)?, "x")?;
        let [_, cells] = matrix(ctx.input(1)?, "h_prev")?;
        let (k, width) = (inputs.saturating_add(cells), cells.saturating_mul(2));
        expect(ctx.input(1)?, "h_prev", &[batch, cells])?;
        expect(ctx.input(2)?, "w_ru", &[k, width])?;
        expect(ctx.input(3)?, "w_c", &[k, cells])?;
        expect(ctx.input(4)?, "b_ru", &[width])?;
        expect(ctx.input(5)?, "b_c", &[cells])?;
        let new = || ctx.allocator().uninit(DType::F32, [batch, cells]);
        let mut outputs = [new()?, new()?, new()?, new()?];
        if batch > 0 && cells > 0 {
            let (x, h) = (ctx.input(0)?.as_slice::<f32>()?, ctx.input(1)?.as_slice::<f32>()?);
            let [r, u, c, out] = &mut outputs;
            let (r, u, c, out) = (r.as_mut_slice::<f32>()?, u.as_mut_slice()?, c.as_mut_slice()?, out.as_mut_slice()?);
            let affine = |rhs: &StableRhs, rows: &[f32], [weights, bias]: [&Tensor; 2], activation, to: &mut [f32]| {
                let size = Sizes { m: batch, k, n: bias.num_elements() };
                let rows = Beside { left: Some(x), left_columns: inputs, right: rows };
                rhs.multiply_beside(size, rows, weights, false, to, &Epilogue::bias_activation(Some(bias.as_slice()?), activation))
            };
            let mut gates = vec![0.0; batch * width];
            affine(&of_gates, h, [ctx.input(2)?, ctx.input(4)?], Activation::Sigmoid, &mut gates)?;
            for ((gates, r), u) in gates.chunks_exact(width).zip(r.chunks_exact_mut(cells)).zip(u.chunks_exact_mut(cells)) {
                r.copy_from_slice(&gates[..cells]);
                u.copy_from_slice(&gates[cells..]);
            }
            let reset: Vec<f32> = h.iter().zip(&*r).map(|(h, r)| h * r).collect();
            affine(&of_values, &reset, [ctx.input(3)?, ctx.input(5)?], Activation::Tanh, c)?;
            for ((out, c), (u, h)) in out.iter_mut().zip(&*c).zip(u.iter().zip(h)) {
                *out = u * h + (1.0 - u) * c;
            }
        }
        outputs.into_iter().enumerate().for_each(|(i, output)| ctx.set_output(i, output));
        Ok(())
    })
}
