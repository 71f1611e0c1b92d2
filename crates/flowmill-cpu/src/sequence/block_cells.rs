//! Recurrent cells as single ops: `LSTMBlockCell`, `BlockLSTM`, `BlockLSTMV2`, `GRUBlockCell`.

use crate::from_fn::from_fn;
use crate::gemm::{MatrixRef, gemm};
use flowmill_runtime::{Kernel, KernelContext, KernelInit, KernelRegistry};
use flowmill_tensor::{Allocator, DType, Result, Shape, Tensor, bail, f16};
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("BlockLSTM", make_block_lstm);
    registry.add("BlockLSTMV2", make_block_lstm);
    registry.add("GRUBlockCell", |_| from_fn(gru));
    registry.add("LSTMBlockCell", make_lstm_cell);
}

/// Returns a tensor's elements as `float32`, in which `float16` is computed, too.
pub(super) fn floats(tensor: &Tensor) -> Result<Vec<f32>> {
    Ok(match tensor.dtype() {
        DType::F16 => tensor.as_slice::<f16>()?.iter().map(|v| v.to_f32()).collect(),
        _ => tensor.as_slice::<f32>()?.to_vec(),
    })
}

pub(super) fn rounded(alloc: &Allocator, dtype: DType, shape: &Shape, values: &[f32]) -> Result<Tensor> {
    match dtype {
        DType::F16 => alloc.from_slice(shape.clone(), &values.iter().map(|&v| f16::from_f32(v)).collect::<Vec<_>>()),
        _ => alloc.from_slice(shape.clone(), values),
    }
}

fn sigmoid(x: f32) -> f32 {
    1.0 / (1.0 + (-x).exp())
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

/// The weights and the state of an LSTM.
struct Lstm {
    inputs: usize,
    cells: usize,
    weights: Vec<f32>,
    bias: Vec<f32>,
    /// The weights from the state to the input, forget and output gates.
    peepholes: Option<[Vec<f32>; 3]>,
    forget_bias: f32,
    clip: Option<f32>,
    /// The positions among the weight columns of the input gate, the new values, the forget gate and the output gate.
    order: [usize; 4],
}

/// The values of one step, each batch × cells: input gate, state, forget gate, output gate, new values, squashed state, output.
type Step = [Vec<f32>; 7];

impl Lstm {
    /// Reads the inputs from `at` on: state, output, weights, three peepholes, bias.
    fn new(ctx: &KernelContext<'_>, at: usize, batch: usize, inputs: usize, init: &Attributes) -> Result<Lstm> {
        let [_, cells] = matrix(ctx.input(at)?, "cs_prev")?;
        expect(ctx.input(at)?, "cs_prev", &[batch, cells])?;
        expect(ctx.input(at + 1)?, "h_prev", &[batch, cells])?;
        expect(ctx.input(at + 2)?, "w", &[inputs + cells, 4 * cells])?;
        expect(ctx.input(at + 6)?, "b", &[4 * cells])?;
        for (i, name) in ["wci", "wcf", "wco"].into_iter().enumerate() {
            let is_read = init.peephole || ctx.input(at + 3 + i)?.num_elements() != 0;
            if is_read {
                expect(ctx.input(at + 3 + i)?, name, &[cells])?;
            }
        }
        let peepholes = if init.peephole {
            Some([floats(ctx.input(at + 3)?)?, floats(ctx.input(at + 4)?)?, floats(ctx.input(at + 5)?)?])
        } else {
            None
        };
        Ok(Lstm {
            inputs,
            cells,
            weights: floats(ctx.input(at + 2)?)?,
            bias: floats(ctx.input(at + 6)?)?,
            peepholes,
            forget_bias: init.forget_bias,
            clip: init.clip,
            order: init.order,
        })
    }

    fn step(&self, batch: usize, x: &[f32], state: &[f32], output: &[f32]) -> Step {
        let (cells, width) = (self.cells, 4 * self.cells);
        let mut gates = self.bias.repeat(batch);
        let product = |rows: &[f32], k: usize, weights: &[f32], gates: &mut [f32]| {
            let a = MatrixRef { data: rows, ld: k, transposed: false };
            gemm(batch, k, width, a, MatrixRef { data: weights, ld: width, transposed: false }, gates, width, true);
        };
        let (from_x, from_output) = self.weights.split_at(self.inputs * width);
        product(x, self.inputs, from_x, &mut gates);
        product(output, cells, from_output, &mut gates);
        let mut step: Step = std::array::from_fn(|_| vec![0.0; batch * cells]);
        for at in 0..batch * cells {
            let (row, cell) = (at / cells, at % cells);
            let [i, ci, f, o] = self.order.map(|gate| gates[row * width + gate * cells + cell]);
            let peep = |gate: usize, state: f32| self.peepholes.as_ref().map_or(0.0, |p| p[gate][cell] * state);
            let (i, ci) = (sigmoid(i + peep(0, state[at])), ci.tanh());
            let f = sigmoid(f + self.forget_bias + peep(1, state[at]));
            let mut cs = ci * i + state[at] * f;
            if let Some(clip) = self.clip {
                cs = cs.clamp(-clip, clip);
            }
            let o = sigmoid(o + peep(2, cs));
            let co = cs.tanh();
            let values = [i, cs, f, o, ci, co, o * co];
            step.iter_mut().zip(values).for_each(|(to, value)| to[at] = value);
        }
        step
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

/// Makes the kernel of `LSTMBlockCell`. Inputs: x, state, output, weights, peepholes, bias.
fn make_lstm_cell(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let attributes = Attributes::new(init)?;
    from_fn(move |ctx| {
        let [batch, inputs] = matrix(ctx.input(0)?, "x")?;
        let lstm = Lstm::new(ctx, 1, batch, inputs, &attributes)?;
        if batch == 0 || lstm.cells == 0 {
            bail!(InvalidArgument, "cs_prev_tensor is empty, has shape: ({batch},{}).", lstm.cells);
        }
        let (dtype, shape) = (ctx.input(0)?.dtype(), Shape::from([batch, lstm.cells]));
        let step = lstm.step(batch, &floats(ctx.input(0)?)?, &floats(ctx.input(1)?)?, &floats(ctx.input(2)?)?);
        for (i, values) in step.iter().enumerate() {
            ctx.set_output(i, rounded(ctx.allocator(), dtype, &shape, values)?);
        }
        Ok(())
    })
}

/// Makes the kernel of `BlockLSTM`. Inputs: number of steps, x, then those of a single cell. Outputs after that number of steps are zero.
fn make_block_lstm(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let attributes = Attributes::new(init)?;
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
        let lstm = Lstm::new(ctx, 2, batch, inputs, &attributes)?;
        let (dtype, shape) = (ctx.input(1)?.dtype(), Shape::from([time, batch, lstm.cells]));
        shape.checked_num_elements()?;
        ctx.allocator().uninit(DType::F32, shape.clone())?;
        let x = floats(ctx.input(1)?)?;
        let (mut state, mut output) = (floats(ctx.input(2)?)?, floats(ctx.input(3)?)?);
        let each = batch * lstm.cells;
        let mut all: Step = std::array::from_fn(|_| vec![0.0; time * each]);
        for t in 0..steps {
            let step = lstm.step(batch, &x[t * batch * inputs..][..batch * inputs], &state, &output);
            for (to, from) in all.iter_mut().zip(&step) {
                to[t * each..][..each].copy_from_slice(from);
            }
            let [_, cs, .., h] = step;
            (state, output) = (cs, h);
        }
        for (i, values) in all.iter().enumerate() {
            ctx.set_output(i, rounded(ctx.allocator(), dtype, &shape, values)?);
        }
        Ok(())
    })
}

/// Computes `GRUBlockCell`. Inputs: x, output, weights of the reset and update gates, weights of the new values, their biases.
fn gru(ctx: &mut KernelContext<'_>) -> Result<()> {
    let [batch, inputs] = matrix(ctx.input(0)?, "x")?;
    let [_, cells] = matrix(ctx.input(1)?, "h_prev")?;
    expect(ctx.input(1)?, "h_prev", &[batch, cells])?;
    expect(ctx.input(2)?, "w_ru", &[inputs + cells, 2 * cells])?;
    expect(ctx.input(3)?, "w_c", &[inputs + cells, cells])?;
    expect(ctx.input(4)?, "b_ru", &[2 * cells])?;
    expect(ctx.input(5)?, "b_c", &[cells])?;
    let (x, h) = (ctx.input(0)?.as_slice::<f32>()?, ctx.input(1)?.as_slice::<f32>()?);
    let affine = |rows: &[f32], weights: &[f32], bias: &[f32]| -> Vec<f32> {
        let width = bias.len();
        let mut out = bias.repeat(batch);
        let (from_x, from_h) = weights.split_at(inputs * width);
        for (rows, k, weights) in [(x, inputs, from_x), (rows, cells, from_h)] {
            let a = MatrixRef { data: rows, ld: k, transposed: false };
            gemm(batch, k, width, a, MatrixRef { data: weights, ld: width, transposed: false }, &mut out, width, true);
        }
        out
    };
    let gates = affine(h, ctx.input(2)?.as_slice()?, ctx.input(4)?.as_slice()?);
    let gate = |at: usize, second: bool| sigmoid(gates[at / cells * 2 * cells + at % cells + if second { cells } else { 0 }]);
    let r: Vec<f32> = (0..batch * cells).map(|at| gate(at, false)).collect();
    let u: Vec<f32> = (0..batch * cells).map(|at| gate(at, true)).collect();
    let reset: Vec<f32> = h.iter().zip(&r).map(|(h, r)| h * r).collect();
    let c: Vec<f32> = affine(&reset, ctx.input(3)?.as_slice()?, ctx.input(5)?.as_slice()?).into_iter().map(f32::tanh).collect();
    let out: Vec<f32> = (0..batch * cells).map(|at| u[at] * h[at] + (1.0 - u[at]) * c[at]).collect();
    for (i, values) in [r, u, c, out].iter().enumerate() {
        ctx.set_output(i, ctx.allocator().from_slice([batch, cells], values)?);
    }
    Ok(())
}
