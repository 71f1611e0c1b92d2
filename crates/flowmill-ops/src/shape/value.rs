//! Values known before anything runs: small integer constants, and vectors that are shapes with some sizes unknown.
//!
//! Shape functions call these after they have set the shapes. What is not known here is only unknown, never an error.

use super::dims;
use flowmill_graph::{ElementwiseFunction, InferenceContext as Context};
use flowmill_tensor::{DType, PartialShape, Result, Symbol, Tensor};

/// The most elements of a constant that static inference follows: enough for shapes, permutations, paddings and splits.
pub(crate) const MAX_ELEMENTS: usize = 1024;

/// Sets output `i` to a constant, if it is small.
pub(crate) fn set(c: &mut Context<'_>, i: usize, value: Option<Tensor>) {
    if let (Some(value), Some(output)) = (value.filter(|v| v.num_elements() <= MAX_ELEMENTS), c.output_mut(i)) {
        output.constant = Some(value);
    }
}

/// Sets output `i` to a scalar of an index type. The value may be a symbol; −1 means unknown.
pub(crate) fn set_scalar(c: &mut Context<'_>, i: usize, dtype: DType, value: i64) {
    if value >= 0 {
        set(c, i, Tensor::index_scalar(dtype, value).ok());
    } else if let (Some(_), Some(output)) = (Symbol::from_size(value), c.output_mut(i)) {
        output.as_shape = Some(PartialShape::new(&[value]));
    }
}

/// Returns true if a value is one size, which is a symbol.
pub(crate) fn is_symbol(sizes: &PartialShape) -> bool {
    matches!(sizes.dims(), Some(&[size]) if Symbol::from_size(size).is_some())
}

/// Sets output `i` to the sizes of `shape`, as far as they are known.
pub(crate) fn set_shape(c: &mut Context<'_>, i: usize, dtype: DType, shape: PartialShape) {
    let constant = shape.dims().filter(|_| shape.is_fully_defined()).and_then(|d| Tensor::index_vector(dtype, d).ok());
    match constant {
        Some(_) => set(c, i, constant),
        None => {
            if let Some(output) = c.output_mut(i).filter(|_| shape.rank().is_some()) {
                output.as_shape = Some(shape);
            }
        }
    }
}

/// The elements of input `i`, if they are known integers.
fn ints(c: &Context<'_>, i: usize) -> Option<Vec<i64>> {
    c.known(i)?.to_i64_vec().ok()
}

/// The elements of input `i`, a scalar or a vector, as sizes: −1 if unknown.
pub(crate) fn sizes(c: &Context<'_>, i: usize) -> Option<Vec<i64>> {
    let value = c.value(i)?;
    if let Some(t) = &value.constant {
        // A number that happens to be one that stands for a symbol is no size.
        let known = || t.to_i64_vec().ok().filter(|sizes| sizes.iter().all(|&n| Symbol::from_size(n).is_none()));
        return (t.rank() <= 1).then(known).flatten();
    }
    if let Some(shape) = &value.as_shape {
        return shape.dims().map(<[i64]>::to_vec);
    }
    match value.shape.dims()? {
        [] => Some(vec![dims::UNKNOWN]),
        &[n] if n >= 0 && n as usize <= MAX_ELEMENTS => Some(vec![dims::UNKNOWN; n as usize]),
        _ => None,
    }
}

/// Sets output 0, of type `dtype`, to `sizes`: a scalar or a vector, as the static shape says. Negative sizes are unknown.
pub(crate) fn set_sizes(c: &mut Context<'_>, dtype: DType, sizes: Option<Vec<i64>>) {
    let Some(sizes) = sizes else { return };
    let rank = c.output_mut(0).and_then(|o| o.shape.rank());
    match (rank, sizes.as_slice()) {
        (Some(0), &[n]) => set_scalar(c, 0, dtype, n),
        (Some(1), sizes) if sizes.iter().any(|&n| n >= 0 || Symbol::from_size(n).is_some()) || sizes.is_empty() => {
            set_shape(c, 0, dtype, PartialShape::new(sizes))
        }
        _ => {}
    }
}

/// Sets each output to its equal share of the vector in input `i`, if that is known: for ops that take a tensor apart.
pub(crate) fn set_elements(c: &mut Context<'_>, i: usize) {
    let (Some(1), Ok(dtype @ (DType::I32 | DType::I64))) = (c.input(i).rank(), c.attrs().get::<DType>("T")) else { return };
    let (Some(sizes), n) = (sizes(c, i), c.num_outputs()) else { return };
    let share = sizes.len() / n.max(1);
    let whole = c.known(i).is_some();
    for (output, part) in (0..n).zip(sizes.chunks_exact(share.max(1))) {
        match c.output_mut(output).and_then(|o| o.shape.rank()) {
            Some(1) if whole => set(c, output, Tensor::index_vector(dtype, part).ok()),
            Some(0) if whole => set(c, output, Tensor::index_scalar(dtype, part[0]).ok()),
            Some(1) => set_shape(c, output, dtype, PartialShape::new(part)),
            Some(0) => set_scalar(c, output, dtype, part[0]),
            _ => {}
        }
    }
}

/// Sets output 0, of the index type of input `like`, to known integers in the output's static shape.
pub(crate) fn set_ints(c: &mut Context<'_>, dtype: DType, values: Option<Vec<i64>>) {
    let shape = c.output_mut(0).and_then(|o| o.shape.to_shape());
    if let (Some(shape), Some(values)) = (shape, values) {
        let tensor = Tensor::index_vector(dtype, &values).and_then(|t| t.reshaped(shape)).ok();
        set(c, 0, tensor);
    }
}

/// The elements of constant input `i` as a cast to the index type `to` gives them; `None` if there is no such constant, or no such number.
pub(crate) fn whole_numbers(c: &Context<'_>, i: usize, to: DType) -> Option<Vec<i64>> {
    let tensor = c.known(i)?;
    let values: Vec<i64> = match tensor.dtype() {
        DType::F32 => tensor.as_slice::<f32>().ok()?.iter().map(|&x| whole(x.into())).collect::<Option<_>>()?,
        DType::F64 => tensor.as_slice::<f64>().ok()?.iter().map(|&x| whole(x)).collect::<Option<_>>()?,
        DType::Bool => tensor.as_slice::<bool>().ok()?.iter().map(|&x| x.into()).collect(),
        _ => tensor.to_i64_vec().ok()?,
    };
    Some(if to == DType::I32 { values.into_iter().map(|x| i64::from(x as i32)).collect() } else { values })
}

/// The whole part of a number that an `int32` holds: what larger ones become depends on the machine.
fn whole(x: f64) -> Option<i64> {
    let whole = x.trunc();
    (f64::from(i32::MIN)..=f64::from(i32::MAX)).contains(&whole).then_some(whole as i64)
}

/// Sets output 0 to the elements of input 1 where input 0 is true, and to those of input 2 elsewhere, where all are constants: each of one
/// element or of the output's shape.
pub(crate) fn select(c: &mut Context<'_>) {
    let (Some(dtype), Some(conditions)) = (index_type(c, 1), c.known(0).and_then(|t| t.as_slice::<bool>().ok())) else { return };
    let Some(shape) = c.output_mut(0).and_then(|o| o.shape.to_shape()) else { return };
    let whole = |i: usize| c.known(i).filter(|t| t.num_elements() == 1 || *t.shape() == shape).and_then(|t| t.to_i64_vec().ok());
    let (Some(then), Some(other)) = (whole(1), whole(2)) else { return };
    if conditions.len() != 1 && c.known(0).is_none_or(|t| *t.shape() != shape) {
        return;
    }
    let place = |len: usize, i: usize| if len == 1 { 0 } else { i };
    let pick = |i: usize| if conditions[place(conditions.len(), i)] { then[place(then.len(), i)] } else { other[place(other.len(), i)] };
    let values = (shape.num_elements() <= MAX_ELEMENTS).then(|| (0..shape.num_elements()).map(pick).collect());
    set_ints(c, dtype, values);
}

/// The index type of input `i`, if its value is a known integer tensor.
fn index_type(c: &Context<'_>, i: usize) -> Option<DType> {
    c.known(i).map(Tensor::dtype).filter(|t| matches!(t, DType::I32 | DType::I64))
}

/// An elementwise function of one integer tensor.
pub(crate) fn unary(c: &mut Context<'_>, f: fn(i64) -> Option<i64>) -> Result<()> {
    if let Some(dtype) = index_type(c, 0) {
        let values = ints(c, 0).and_then(|v| v.into_iter().map(f).collect());
        set_ints(c, dtype, values);
    }
    Ok(())
}

/// An elementwise function of two integer tensors, with the broadcasting of a scalar.
///
/// Unknown sizes stay unknown, so that `Shape(x) * [1, 2]` is still known in part.
pub(crate) fn binary(c: &mut Context<'_>, f: fn(i64, i64) -> Option<i64>) -> Result<()> {
    let Ok(dtype) = c.attrs().get::<DType>("T") else { return Ok(()) };
    if !matches!(dtype, DType::I32 | DType::I64) {
        return Ok(());
    }
    if let (Some(x), Some(y)) = (ints(c, 0), ints(c, 1)) {
        let values = zip(&x, &y, f);
        set_ints(c, dtype, values);
    }
    Ok(())
}

/// Sets output 0 to a sum, difference or product of sizes, some of which are symbols: for an op whose element-wise function that is.
pub(crate) fn symbolic_binary(c: &mut Context<'_>) {
    let Ok(dtype @ (DType::I32 | DType::I64)) = c.attrs().get::<DType>("T") else { return };
    let function: fn(&Context<'_>, i64, i64) -> i64 = match c.op_def().traits.elementwise {
        Some(ElementwiseFunction::Add) => |c, x, y| c.symbolic_sum(x, y),
        Some(ElementwiseFunction::Sub) => |c, x, y| c.symbolic_difference(x, y),
        Some(ElementwiseFunction::Mul) => |c, x, y| c.symbolic_ratio(&[x, y], &[]),
        _ => return,
    };
    if !c.has_symbols() || c.output_mut(0).is_none_or(|output| output.constant.is_some()) {
        return;
    }
    if let (Some(x), Some(y)) = (sizes(c, 0), sizes(c, 1)) {
        let values = zip(&x, &y, |x, y| Some(function(c, x, y)));
        set_sizes(c, dtype, values);
    }
}

/// The function of corresponding elements; one element goes with all of the other side.
fn zip(x: &[i64], y: &[i64], f: impl Fn(i64, i64) -> Option<i64>) -> Option<Vec<i64>> {
    match (x, y) {
        (&[x], y) => y.iter().map(|&y| f(x, y)).collect(),
        (x, &[y]) => x.iter().map(|&x| f(x, y)).collect(),
        (x, y) if x.len() == y.len() => x.iter().zip(y).map(|(&x, &y)| f(x, y)).collect(),
        _ => None,
    }
}

/// A reduction of all elements of an integer tensor.
pub(crate) fn reduce(c: &mut Context<'_>, f: fn(&[i64]) -> Option<i64>) -> Result<()> {
    let (Some(dtype), Some(axes), Some(rank)) = (index_type(c, 0), ints(c, 1), c.input(0).rank()) else { return Ok(()) };
    let is_whole = (0..rank as i64).all(|axis| axes.contains(&axis) || axes.contains(&(axis - rank as i64)));
    if is_whole {
        let value = ints(c, 0).and_then(|v| f(&v)).map(|v| vec![v]);
        set_ints(c, dtype, value);
    }
    Ok(())
}

/// The product of all.
pub(crate) fn product(values: &[i64]) -> Option<i64> {
    values.iter().try_fold(1i64, |a, &b| a.checked_mul(b))
}

/// The sum of all.
pub(crate) fn sum(values: &[i64]) -> Option<i64> {
    values.iter().try_fold(0i64, |a, &b| a.checked_add(b))
}

/// The quotient rounded down.
pub(crate) fn floor_div(a: i64, b: i64) -> Option<i64> {
    let quotient = a.checked_div(b)?;
    Some(if a % b != 0 && (a < 0) != (b < 0) { quotient - 1 } else { quotient })
}

/// The remainder of [`floor_div`], with the sign of the divisor.
pub(crate) fn floor_mod(a: i64, b: i64) -> Option<i64> {
    let remainder = a.checked_rem(b)?;
    Some(if remainder != 0 && (remainder < 0) != (b < 0) { remainder + b } else { remainder })
}
