//! Gradients of element-wise functions and of matrix products.

use super::formula::Formula;
use super::{Grads, all, first};
use flowmill_graph::OutputId;
use flowmill_graph::builder::ScopedBuilder;
use flowmill_graph::builder::gradients::Backward;
use flowmill_tensor::Result;

type B<'a> = ScopedBuilder<'a>;

/// The gradient of a function of one tensor: `dy` times what `derivative` gives for input and output, conjugated.
pub(super) fn chain(b: &mut B<'_>, op: &Backward, derivative: impl FnOnce(&mut B<'_>, OutputId, OutputId) -> Result<OutputId>) -> Grads {
    let dy = op.dy(b, 0)?;
    let derivative = derivative(b, op.inputs[0], op.output(0))?;
    let derivative = b.conj(derivative)?;
    first(b.mul(dy, derivative)?, 0)
}

/// The gradients of a function of two tensors that broadcast, from `dx` and `dy` in the shape of the result.
fn pair(b: &mut B<'_>, op: &Backward, dx: OutputId, dy: OutputId) -> Grads {
    all(b.unbroadcast(op.inputs[0], op.inputs[1], dx, dy)?)
}

pub(crate) fn add(b: &mut B<'_>, op: &Backward) -> Grads {
    let dz = op.dy(b, 0)?;
    pair(b, op, dz, dz)
}

pub(crate) fn sub(b: &mut B<'_>, op: &Backward) -> Grads {
    let dz = op.dy(b, 0)?;
    let minus = b.neg(dz)?;
    pair(b, op, dz, minus)
}

pub(crate) fn mul(b: &mut B<'_>, op: &Backward) -> Grads {
    let dz = op.dy(b, 0)?;
    let (x, y) = (b.conj(op.inputs[0])?, b.conj(op.inputs[1])?);
    let (dx, dy) = (b.mul(dz, y)?, b.mul(x, dz)?);
    pair(b, op, dx, dy)
}

/// `Div`, `RealDiv`: `1/y` and `-x/y²`.
pub(crate) fn div(b: &mut B<'_>, op: &Backward) -> Grads {
    let dz = op.dy(b, 0)?;
    let (x, y) = (b.conj(op.inputs[0])?, b.conj(op.inputs[1])?);
    let dx = b.div(dz, y)?;
    let minus = b.neg(x)?;
    let once = b.div(minus, y)?;
    let twice = b.div(once, y)?;
    let dy = b.mul(dz, twice)?;
    pair(b, op, dx, dy)
}

pub(crate) fn div_no_nan(b: &mut B<'_>, op: &Backward) -> Grads {
    let dz = op.dy(b, 0)?;
    let (x, y) = (b.conj(op.inputs[0])?, b.conj(op.inputs[1])?);
    let dx = b.call("DivNoNan", &[dz, y])?;
    let minus = b.neg(x)?;
    let once = b.call("DivNoNan", &[minus, y])?;
    let twice = b.call("DivNoNan", &[once, y])?;
    let dy = b.mul(dz, twice)?;
    pair(b, op, dx, dy)
}

/// `FloorMod(x, y) = x - floor(x / y) y`.
pub(crate) fn floor_mod(b: &mut B<'_>, op: &Backward) -> Grads {
    let dz = op.dy(b, 0)?;
    let floor = b.call("FloorDiv", &[op.inputs[0], op.inputs[1]])?;
    let minus = b.neg(floor)?;
    let dy = b.mul(dz, minus)?;
    pair(b, op, dz, dy)
}

/// The larger (or smaller) one gets the gradient; the first if both are equal.
fn extremum(b: &mut B<'_>, op: &Backward, comparison: &str) -> Grads {
    let dz = op.dy(b, 0)?;
    let is_first = b.call(comparison, &[op.inputs[0], op.inputs[1]])?;
    let zero = b.number(dz, 0.0)?;
    let (dx, dy) = (b.select(is_first, dz, zero)?, b.select(is_first, zero, dz)?);
    pair(b, op, dx, dy)
}

pub(crate) fn maximum(b: &mut B<'_>, op: &Backward) -> Grads {
    extremum(b, op, "GreaterEqual")
}

pub(crate) fn minimum(b: &mut B<'_>, op: &Backward) -> Grads {
    extremum(b, op, "LessEqual")
}

/// `y x^(y-1)` and `x^y ln x`, the latter zero where `x` is not positive.
pub(crate) fn pow(b: &mut B<'_>, op: &Backward) -> Grads {
    let dz = op.dy(b, 0)?;
    let (x, y) = (b.conj(op.inputs[0])?, b.conj(op.inputs[1])?);
    let z = b.conj(op.output(0))?;
    let one = b.number(y, 1.0)?;
    let less = b.sub(y, one)?;
    let power = b.call("Pow", &[x, less])?;
    // In TensorFlow's order: where `dz` is zero, a product with `y` that overflows makes no NaN.
    let scaled = b.mul(dz, y)?;
    let dx = b.mul(scaled, power)?;
    let zero = b.number(x, 0.0)?;
    let is_complex = matches!(b.dtype(x), flowmill_tensor::DType::C64 | flowmill_tensor::DType::C128);
    let has_log = b.call(if is_complex { "NotEqual" } else { "Greater" }, &[x, zero])?;
    let one = b.number(x, 1.0)?;
    let safe = b.select(has_log, x, one)?;
    let log = b.call("Log", &[safe])?;
    let log = b.select(has_log, log, zero)?;
    let scaled = b.mul(dz, z)?;
    let dy = b.mul(scaled, log)?;
    pair(b, op, dx, dy)
}

pub(crate) fn squared_difference(b: &mut B<'_>, op: &Backward) -> Grads {
    let dz = op.dy(b, 0)?;
    let difference = b.sub(op.inputs[0], op.inputs[1])?;
    // Not conjugated: the op's value is the square of the absolute difference.
    let twice = b.times(difference, 2.0)?;
    let dx = b.mul(dz, twice)?;
    let dy = b.neg(dx)?;
    pair(b, op, dx, dy)
}

pub(crate) fn atan2(b: &mut B<'_>, op: &Backward) -> Grads {
    let dz = op.dy(b, 0)?;
    let (y, x) = (op.inputs[0], op.inputs[1]);
    let (xx, yy) = (b.square(x)?, b.square(y)?);
    let norm = b.add(xx, yy)?;
    let scaled = b.div(dz, norm)?;
    let dy = b.mul(x, scaled)?;
    let minus = b.neg(y)?;
    let dx = b.mul(minus, scaled)?;
    pair(b, op, dy, dx)
}

pub(crate) fn add_n(b: &mut B<'_>, op: &Backward) -> Grads {
    let dy = op.dy(b, 0)?;
    all(op.inputs.iter().map(|_| dy))
}

pub(crate) fn neg(b: &mut B<'_>, op: &Backward) -> Grads {
    let dy = op.dy(b, 0)?;
    first(b.neg(dy)?, 0)
}

pub(crate) fn abs(b: &mut B<'_>, op: &Backward) -> Grads {
    chain(b, op, |b, x, _| b.call("Sign", &[x]))
}

pub(crate) fn square(b: &mut B<'_>, op: &Backward) -> Grads {
    chain(b, op, |b, x, _| b.times(x, 2.0))
}

/// An op whose gradient is an op of its own, which takes output and gradient. The gradient's op conjugates the output, or takes it conjugated.
macro_rules! from_output {
    ($($name:ident => $op:literal $($conjugated:ident)?),* $(,)?) => {$(
        pub(crate) fn $name(b: &mut B<'_>, op: &Backward) -> Grads {
            let dy = op.dy(b, 0)?;
            let y = op.output(0);
            $(let y = b.$conjugated(y)?;)?
            first(b.call($op, &[y, dy])?, 0)
        }
    )*};
}

from_output! {
    sqrt => "SqrtGrad",
    rsqrt => "RsqrtGrad",
    tanh => "TanhGrad" conj,
    sigmoid => "SigmoidGrad" conj,
    reciprocal => "ReciprocalGrad",
}

/// The tensor that is conjugated besides `y` in the gradient of an op that computes a gradient.
#[derive(Clone, Copy, PartialEq)]
enum Conjugated {
    /// The incoming gradient, which is what a function of `conj(y)` asks for.
    Incoming,
    /// The other argument: `TanhGrad` and `SigmoidGrad` conjugate nothing.
    Argument,
}

/// The gradients of an op that is `g f'(y)`, or `g f'(conj(y))`, for the output `y` of another one, as `factor` returns `df'/dy` times `g`.
fn of_output_grad(
    b: &mut B<'_>,
    op: &Backward,
    kind: &str,
    conjugated: Conjugated,
    factor: impl FnOnce(&mut B<'_>, OutputId, OutputId) -> Result<OutputId>,
) -> Grads {
    let dz = op.dy(b, 0)?;
    let y = b.conj(op.inputs[0])?;
    let (incoming, g) = match conjugated {
        Conjugated::Incoming => (b.conj(dz)?, op.inputs[1]),
        Conjugated::Argument => (dz, b.conj(op.inputs[1])?),
    };
    let slope = factor(b, y, g)?;
    let dy = b.mul(incoming, slope)?;
    let dg = b.call(kind, &[y, dz])?;
    all([dy, dg])
}

/// `g (1 - y²)`.
pub(crate) fn tanh_grad(b: &mut B<'_>, op: &Backward) -> Grads {
    of_output_grad(b, op, "TanhGrad", Conjugated::Argument, |b, y, g| {
        let product = b.mul(g, y)?;
        b.times(product, -2.0)
    })
}

/// `g y (1 - y)`.
pub(crate) fn sigmoid_grad(b: &mut B<'_>, op: &Backward) -> Grads {
    of_output_grad(b, op, "SigmoidGrad", Conjugated::Argument, |b, y, g| {
        let twice = b.times(y, 2.0)?;
        let one = b.number(y, 1.0)?;
        let rest = b.sub(one, twice)?;
        b.mul(g, rest)
    })
}

/// `g / (2 y)`.
pub(crate) fn sqrt_grad(b: &mut B<'_>, op: &Backward) -> Grads {
    of_output_grad(b, op, "SqrtGrad", Conjugated::Incoming, |b, y, g| {
        let square = b.square(y)?;
        let half = b.div(g, square)?;
        b.times(half, -0.5)
    })
}

/// `-g y³ / 2`.
pub(crate) fn rsqrt_grad(b: &mut B<'_>, op: &Backward) -> Grads {
    of_output_grad(b, op, "RsqrtGrad", Conjugated::Incoming, |b, y, g| {
        let square = b.square(y)?;
        let product = b.mul(g, square)?;
        b.times(product, -1.5)
    })
}

/// `-g y²`.
pub(crate) fn reciprocal_grad(b: &mut B<'_>, op: &Backward) -> Grads {
    of_output_grad(b, op, "ReciprocalGrad", Conjugated::Incoming, |b, y, g| {
        let product = b.mul(g, y)?;
        b.times(product, -2.0)
    })
}

pub(crate) fn exp(b: &mut B<'_>, op: &Backward) -> Grads {
    chain(b, op, |_, _, y| Ok(y))
}

pub(crate) fn expm1(b: &mut B<'_>, op: &Backward) -> Grads {
    chain(b, op, |b, x, _| b.call("Exp", &[x]))
}

pub(crate) fn log(b: &mut B<'_>, op: &Backward) -> Grads {
    chain(b, op, |b, x, _| b.reciprocal(x))
}

pub(crate) fn log1p(b: &mut B<'_>, op: &Backward) -> Grads {
    chain(b, op, |b, x, _| {
        let one = b.number(x, 1.0)?;
        let sum = b.add(one, x)?;
        b.reciprocal(sum)
    })
}

pub(crate) fn sin(b: &mut B<'_>, op: &Backward) -> Grads {
    chain(b, op, |b, x, _| b.call("Cos", &[x]))
}

pub(crate) fn cos(b: &mut B<'_>, op: &Backward) -> Grads {
    chain(b, op, |b, x, _| {
        let sin = b.call("Sin", &[x])?;
        b.neg(sin)
    })
}

pub(crate) fn tan(b: &mut B<'_>, op: &Backward) -> Grads {
    chain(b, op, |b, x, _| {
        let cos = b.call("Cos", &[x])?;
        let secant = b.reciprocal(cos)?;
        b.square(secant)
    })
}

pub(crate) fn sinh(b: &mut B<'_>, op: &Backward) -> Grads {
    chain(b, op, |b, x, _| b.call("Cosh", &[x]))
}

pub(crate) fn cosh(b: &mut B<'_>, op: &Backward) -> Grads {
    chain(b, op, |b, x, _| b.call("Sinh", &[x]))
}

/// `1 / sqrt(a + b x²)`, the derivative of several inverse functions.
fn inverse_root(b: &mut B<'_>, x: OutputId, constant: f64, factor: f64) -> Result<OutputId> {
    let square = b.square(x)?;
    let scaled = b.times(square, factor)?;
    let constant = b.number(x, constant)?;
    let sum = b.add(constant, scaled)?;
    b.call("Rsqrt", &[sum])
}

pub(crate) fn asin(b: &mut B<'_>, op: &Backward) -> Grads {
    chain(b, op, |b, x, _| inverse_root(b, x, 1.0, -1.0))
}

pub(crate) fn acos(b: &mut B<'_>, op: &Backward) -> Grads {
    chain(b, op, |b, x, _| {
        let slope = inverse_root(b, x, 1.0, -1.0)?;
        b.neg(slope)
    })
}

pub(crate) fn asinh(b: &mut B<'_>, op: &Backward) -> Grads {
    chain(b, op, |b, _, y| {
        let cosh = b.call("Cosh", &[y])?;
        b.reciprocal(cosh)
    })
}

pub(crate) fn acosh(b: &mut B<'_>, op: &Backward) -> Grads {
    chain(b, op, |b, _, y| {
        let sinh = b.call("Sinh", &[y])?;
        b.reciprocal(sinh)
    })
}

/// `1 / (1 + s x²)`.
fn rational(b: &mut B<'_>, op: &Backward, sign: f64) -> Grads {
    chain(b, op, |b, x, _| {
        let square = b.square(x)?;
        let scaled = b.times(square, sign)?;
        let one = b.number(x, 1.0)?;
        let sum = b.add(one, scaled)?;
        b.reciprocal(sum)
    })
}

pub(crate) fn atan(b: &mut B<'_>, op: &Backward) -> Grads {
    rational(b, op, 1.0)
}

pub(crate) fn atanh(b: &mut B<'_>, op: &Backward) -> Grads {
    rational(b, op, -1.0)
}

/// `2/sqrt(pi) exp(-x²)`, times `sign`.
fn gaussian(b: &mut B<'_>, op: &Backward, sign: f64) -> Grads {
    chain(b, op, |b, x, _| {
        let square = b.square(x)?;
        let minus = b.neg(square)?;
        let exp = b.call("Exp", &[minus])?;
        b.times(exp, sign * std::f64::consts::FRAC_2_SQRT_PI)
    })
}

pub(crate) fn erf(b: &mut B<'_>, op: &Backward) -> Grads {
    gaussian(b, op, 1.0)
}

pub(crate) fn erfc(b: &mut B<'_>, op: &Backward) -> Grads {
    gaussian(b, op, -1.0)
}

pub(crate) fn lgamma(b: &mut B<'_>, op: &Backward) -> Grads {
    chain(b, op, |b, x, _| b.call("Digamma", &[x]))
}

/// Functions that are constant but for jumps.
pub(crate) fn steps(b: &mut B<'_>, op: &Backward) -> Grads {
    first(b.zeros_like(op.inputs[0])?, 0)
}

pub(crate) fn identity(_: &mut B<'_>, op: &Backward) -> Grads {
    Ok(op.grads.clone())
}

/// Real to real, or between real types; none if either is an integer.
pub(crate) fn cast(b: &mut B<'_>, op: &Backward) -> Grads {
    use flowmill_graph::builder::gradients::is_differentiable;
    let (from, to) = (b.dtype(op.inputs[0]), b.dtype(op.output(0)));
    if !is_differentiable(from) || !is_differentiable(to) {
        return Ok(vec![None]);
    }
    let dy = op.dy(b, 0)?;
    first(b.cast(dy, from)?, 0)
}

pub(crate) fn select(b: &mut B<'_>, op: &Backward) -> Grads {
    let dz = op.dy(b, 0)?;
    let zeros = b.zeros_like(dz)?;
    let cond = op.inputs[0];
    let dx = b.call("Select", &[cond, dz, zeros])?;
    let dy = b.call("Select", &[cond, zeros, dz])?;
    Ok(vec![None, Some(dx.into()), Some(dy.into())])
}

pub(crate) fn select_v2(b: &mut B<'_>, op: &Backward) -> Grads {
    let dz = op.dy(b, 0)?;
    let zero = b.number(dz, 0.0)?;
    let (cond, x, y) = (op.inputs[0], op.inputs[1], op.inputs[2]);
    let dx = b.select(cond, dz, zero)?;
    let dy = b.select(cond, zero, dz)?;
    // Each is in the shape of the result.
    let (like_x, like_y) = (b.unbroadcast(x, op.output(0), dx, dz)?[0], b.unbroadcast(y, op.output(0), dy, dz)?[0]);
    Ok(vec![None, Some(like_x.into()), Some(like_y.into())])
}

fn attr(b: &B<'_>, op: &Backward, name: &str) -> bool {
    b.graph().get(op.node).is_some_and(|n| n.attrs().get_or(name, false).unwrap_or(false))
}

fn product(b: &mut B<'_>, kind: &str, flags: [&str; 2], x: OutputId, y: OutputId, [fx, fy]: [bool; 2]) -> Result<OutputId> {
    b.op(kind).inputs(&[x, y]).attr(flags[0], fx).attr(flags[1], fy).output()
}

/// The four cases of a product whose factors may each be transposed (and, for `BatchMatMul`, conjugated).
fn matrix_product(b: &mut B<'_>, op: &Backward, kind: &str, flags: [&str; 2]) -> Result<[OutputId; 2]> {
    let dz = op.dy(b, 0)?;
    let (x, y) = (op.inputs[0], op.inputs[1]);
    let (tx, ty) = (attr(b, op, flags[0]), attr(b, op, flags[1]));
    Ok(match (tx, ty) {
        (false, false) => [product(b, kind, flags, dz, y, [false, true])?, product(b, kind, flags, x, dz, [true, false])?],
        (false, true) => [product(b, kind, flags, dz, y, [false, false])?, product(b, kind, flags, dz, x, [true, false])?],
        (true, false) => [product(b, kind, flags, y, dz, [false, true])?, product(b, kind, flags, x, dz, [false, false])?],
        (true, true) => [product(b, kind, flags, y, dz, [true, true])?, product(b, kind, flags, dz, x, [true, true])?],
    })
}

pub(crate) fn mat_mul(b: &mut B<'_>, op: &Backward) -> Grads {
    let conjugated = Backward { inputs: vec![b.conj(op.inputs[0])?, b.conj(op.inputs[1])?], grads: op.grads.clone(), node: op.node };
    all(matrix_product(b, &conjugated, "MatMul", ["transpose_a", "transpose_b"])?)
}

pub(crate) fn batch_mat_mul(b: &mut B<'_>, op: &Backward) -> Grads {
    all(matrix_product(b, op, "BatchMatMul", ["adj_x", "adj_y"])?)
}

/// The batch dimensions broadcast.
pub(crate) fn batch_mat_mul_v2(b: &mut B<'_>, op: &Backward) -> Grads {
    let [dx, dy] = matrix_product(b, op, "BatchMatMulV2", ["adj_x", "adj_y"])?;
    let (x, y) = (op.inputs[0], op.inputs[1]);
    let (shape_x, shape_y) = (b.shape(x), b.shape(y));
    let is_same = match (shape_x.dims(), shape_y.dims()) {
        (Some([batch_x @ .., _, _]), Some([batch_y @ .., _, _])) => batch_x == batch_y && batch_x.iter().all(|&d| d >= 0),
        _ => false,
    };
    if is_same {
        return all([dx, dy]);
    }
    let (sx, sy) = (b.dynamic_shape_of(x)?, b.dynamic_shape_of(y)?);
    all(summed_batches(b, [dx, dy], [sx, sy])?)
}

/// A shape without its last two dimensions.
pub(super) fn batch_of(b: &mut B<'_>, shape: OutputId) -> Result<OutputId> {
    let (begin, end, step) = (b.ints(&[0])?, b.ints(&[-2])?, b.ints(&[1])?);
    b.op("StridedSlice").inputs(&[shape, begin, end, step]).attr("begin_mask", 1i64).output()
}

/// Gradients of two batches of matrices, summed over what was broadcast of each: as large as the matrices were, by their shapes.
pub(super) fn summed_batches(b: &mut B<'_>, mut grads: [OutputId; 2], shapes: [OutputId; 2]) -> Result<[OutputId; 2]> {
    let batches = [batch_of(b, shapes[0])?, batch_of(b, shapes[1])?];
    let axes = b.op("BroadcastGradientArgs").inputs(&batches).finish()?;
    for (i, shape) in shapes.into_iter().enumerate() {
        let sum = b.call("Sum", &[grads[i], axes.output(i as u32)])?;
        grads[i] = b.reshape(sum, shape)?;
    }
    Ok(grads)
}

/// A product of two types into a third.
pub(crate) fn batch_mat_mul_v3(b: &mut B<'_>, op: &Backward) -> Grads {
    let (dtype, x, y) = (b.dtype(op.output(0)), op.inputs[0], op.inputs[1]);
    let cast = Backward { inputs: vec![b.cast(x, dtype)?, b.cast(y, dtype)?], grads: op.grads.clone(), node: op.node };
    let grads = batch_mat_mul_v2(b, &cast)?;
    let mut back = Vec::with_capacity(2);
    for (grad, input) in grads.into_iter().zip([x, y]) {
        let dtype = b.dtype(input);
        back.push(match grad {
            Some(grad) => {
                let grad = b.densify(&grad)?;
                Some(b.cast(grad, dtype)?.into())
            }
            None => None,
        });
    }
    Ok(back)
}

/// `SparseMatMul`, whose operands are `float` or `bfloat16` with many zeros.
pub(crate) fn sparse_mat_mul(b: &mut B<'_>, op: &Backward) -> Grads {
    use flowmill_tensor::DType;
    let (x, y) = (op.inputs[0], op.inputs[1]);
    let wide = Backward { inputs: vec![b.cast(x, DType::F32)?, b.cast(y, DType::F32)?], grads: op.grads.clone(), node: op.node };
    let [dx, dy] = matrix_product(b, &wide, "MatMul", ["transpose_a", "transpose_b"])?;
    let (of_x, of_y) = (b.dtype(x), b.dtype(y));
    all([b.cast(dx, of_x)?, b.cast(dy, of_y)?])
}
