//! `BatchMatMul` and its later versions, whose batch dimensions broadcast.

use super::matmul::product_cost;
use super::product::{MatrixStack, Product, Sizes, StableRhs};
use crate::elementwise::broadcast_positions;
use crate::from_fn::{batched_from_fn, from_fn};
use crate::gemm::{Epilogue, MatrixRef};
use crate::number::Number;
use flowmill_runtime::{Kernel, KernelContext, KernelInit};
use flowmill_tensor::{Allocator, Complex, DType, Result, Shape, Tensor, bail, bf16, f16, for_dtype};
use std::sync::Arc;

/// The attributes of the ops.
#[derive(Clone, Copy)]
struct Options {
    adj_x: bool,
    adj_y: bool,
    broadcast: bool,
}

/// Makes the kernel of `BatchMatMul` (`broadcast` false) and `BatchMatMulV2`.
fn make(init: &KernelInit<'_>, dtype: DType, broadcast: bool) -> Result<Arc<dyn Kernel>> {
    let options = Options { adj_x: init.attrs.get_or("adj_x", false)?, adj_y: init.attrs.get_or("adj_y", false)?, broadcast };
    if matches!(dtype, DType::F32 | DType::BF16) {
        let (rhs, stack) = (StableRhs::new(init, 1), StableRhs::new(init, 1));
        let compute = move |ctx: &mut KernelContext<'_>| {
            let (x, y) = (ctx.input(0)?, ctx.input(1)?);
            let is_one_matrix = y.rank() >= 2 && y.shape()[..y.rank() - 2].iter().all(|&size| size == 1);
            let out = if is_one_matrix && !options.adj_x {
                multiply_rows(ctx.allocator(), x, y, options, &rhs)?
            } else if dtype == DType::BF16 {
                multiply::<bf16>(ctx.allocator(), x, y, options)?
            } else if let Some(out) = multiply_stack(ctx.allocator(), x, y, options, &stack)? {
                out
            } else {
                multiply::<f32>(ctx.allocator(), x, y, options)?
            };
            ctx.set_output(0, out);
            Ok(())
        };
        // The number of rows is unknown more often than not.
        let weights = init.input_shape(1);
        return batched_from_fn((weights.rank() == Some(2)).then(|| product_cost(&weights)), 0, compute);
    }
    for_dtype!(dtype, [f16, f64, i16, i32, i64, u8, u16, u32, u64, Complex<f32>, Complex<f64>], T => from_fn(move |ctx| {
        let out = multiply::<T>(ctx.allocator(), ctx.input(0)?, ctx.input(1)?, options)?;
        ctx.set_output(0, out);
        Ok(())
    }), _ => init.unsupported())
}

/// Makes the kernel of `BatchMatMul`.
pub(super) fn make_v1(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    make(init, init.dtype("T")?, false)
}

/// Makes the kernel of `BatchMatMulV2`.
pub(super) fn make_v2(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    make(init, init.dtype("T")?, true)
}

/// Makes the kernel of `BatchMatMulV3`, whose operands may be 8-bit integers, which are first widened to the result's type.
pub(super) fn make_v3(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let (ta, tb, out): (DType, DType, DType) = (init.dtype("Ta")?, init.dtype("Tb")?, init.dtype("Tout")?);
    if ta == out && tb == out {
        return make(init, out, true);
    }
    let options = Options { adj_x: init.attrs.get_or("adj_x", false)?, adj_y: init.attrs.get_or("adj_y", false)?, broadcast: true };
    let narrow = |t: DType| matches!(t, DType::I8 | DType::U8) || t == out;
    if !narrow(ta) || !narrow(tb) {
        return init.unsupported();
    }
    match out {
        DType::I32 => from_fn(move |ctx| widened(ctx, options, |x| x, |x| x as i32)),
        DType::BF16 => from_fn(move |ctx| widened(ctx, options, |x: bf16| x, |x| bf16::from_f32(x as f32))),
        _ => init.unsupported(),
    }
}

fn widened<T: Product + Number>(ctx: &mut KernelContext<'_>, options: Options, same: fn(T) -> T, from_byte: fn(i16) -> T) -> Result<()> {
    let widen = |t: &Tensor| -> Result<Tensor> {
        let values: Vec<T> = match t.dtype() {
            DType::I8 => t.as_slice::<i8>()?.iter().map(|&x| from_byte(i16::from(x))).collect(),
            DType::U8 => t.as_slice::<u8>()?.iter().map(|&x| from_byte(i16::from(x))).collect(),
            _ => t.as_slice::<T>()?.iter().map(|&x| same(x)).collect(),
        };
        ctx.allocator().from_slice(t.shape().clone(), &values)
    };
    let out = multiply::<T>(ctx.allocator(), &widen(ctx.input(0)?)?, &widen(ctx.input(1)?)?, options)?;
    ctx.set_output(0, out);
    Ok(())
}

/// Returns the sizes of one product and the batch shapes of both operands.
fn check(x: &Tensor, y: &Tensor, options: Options) -> Result<(Sizes, Shape, Shape, Shape)> {
    for (i, t) in [x, y].iter().enumerate() {
        if t.rank() < 2 {
            bail!(InvalidArgument, "In[{i}] ndims must be >= 2: {}", t.rank());
        }
    }
    let split = |t: &Tensor| {
        let (batch, matrix) = t.shape().split_at(t.rank() - 2);
        (Shape::new(batch), matrix[0], matrix[1])
    };
    let ((x_batch, x_rows, x_columns), (y_batch, y_rows, y_columns)) = (split(x), split(y));
    if !options.broadcast {
        if x.rank() != y.rank() {
            bail!(InvalidArgument, "In[0] and In[1] has different ndims: {} vs. {}", x.shape(), y.shape());
        }
        if let Some(i) = (0..x_batch.rank()).find(|&i| x_batch[i] != y_batch[i]) {
            bail!(InvalidArgument, "In[0].dim({i}) and In[1].dim({i}) must be the same: {} vs {}", x.shape(), y.shape());
        }
    }
    let Some(batch) = Shape::broadcast(&x_batch, &y_batch) else {
        bail!(InvalidArgument, "In[0] and In[1] must have compatible batch dimensions: {} vs. {}", x.shape(), y.shape());
    };
    let (m, k) = if options.adj_x { (x_columns, x_rows) } else { (x_rows, x_columns) };
    let (rows, n) = if options.adj_y { (y_columns, y_rows) } else { (y_rows, y_columns) };
    if k != rows {
        bail!(InvalidArgument, "Matrix size-incompatible: In[0]: {}, In[1]: {}", x.shape(), y.shape());
    }
    Ok((Sizes { m, k, n }, batch, x_batch, y_batch))
}

fn out_shape(batch: &Shape, size: Sizes) -> Result<Shape> {
    let mut shape = batch.clone();
    shape.push(size.m);
    shape.push(size.n);
    shape.checked_num_elements()?;
    Ok(shape)
}

/// Multiplies with a right operand that is one matrix for the whole batch, as a single product over all rows.
fn multiply_rows(alloc: &Allocator, x: &Tensor, y: &Tensor, options: Options, rhs: &StableRhs) -> Result<Tensor> {
    let (size, batch, ..) = check(x, y, options)?;
    let mut out = alloc.uninit(x.dtype(), out_shape(&batch, size)?)?;
    let rows = Sizes { m: size.m * batch.num_elements(), ..size };
    if x.dtype() == DType::BF16 {
        let a = MatrixRef { data: x.as_slice()?, ld: size.k, transposed: false };
        rhs.multiply_bf16(rows, a, y, options.adj_y, out.as_mut_slice()?, &Epilogue::default())?;
    } else {
        rhs.multiply(rows, x.as_slice()?, y, options.adj_y, out.as_mut_slice()?, &Epilogue::default())?;
    }
    Ok(out)
}

/// Multiplies with a right operand of as many matrices as there are products. Returns `None` if it is not kept in packed form.
fn multiply_stack(alloc: &Allocator, x: &Tensor, y: &Tensor, options: Options, rhs: &StableRhs<MatrixStack>) -> Result<Option<Tensor>> {
    let (size, batch, x_batch, y_batch) = check(x, y, options)?;
    let Some(x_stride) = stride(&x_batch, &batch, size.m * size.k) else { return Ok(None) };
    if options.adj_x || y_batch.num_elements() != batch.num_elements() {
        return Ok(None);
    }
    let Some(stack) = rhs.packed_stack(y, size, options.adj_y)? else { return Ok(None) };
    let mut out = alloc.uninit(DType::F32, out_shape(&batch, size)?)?;
    stack.multiply(size.m, (x.as_slice()?, x_stride), out.as_mut_slice()?);
    Ok(Some(out))
}

/// Returns the distance between the matrices of an operand for adjacent products, if it is the same for all of them.
fn stride(operand: &Shape, batch: &Shape, matrix_len: usize) -> Option<usize> {
    match operand.num_elements() {
        count if count == batch.num_elements() => Some(matrix_len),
        1 => Some(0),
        _ => None,
    }
}

/// Multiplies the rows of `x` with a matrix, or with its transpose. `rhs` remembers matrices of `float32` and `bfloat16`.
pub(super) fn multiply_by_matrix(alloc: &Allocator, x: &Tensor, matrix: &Tensor, transposed: bool, rhs: &StableRhs) -> Result<Tensor> {
    let options = Options { adj_x: false, adj_y: transposed, broadcast: true };
    for_dtype!(x.dtype(), [f16, f64], T => multiply::<T>(alloc, x, matrix, options), _ => multiply_rows(alloc, x, matrix, options, rhs))
}

fn multiply<T: Product + Number>(alloc: &Allocator, x: &Tensor, y: &Tensor, options: Options) -> Result<Tensor> {
    let (size, batch, x_batch, y_batch) = check(x, y, options)?;
    let mut out = alloc.uninit(T::DTYPE, out_shape(&batch, size)?)?;
    let (x, y) = (conjugated::<T>(alloc, x, options.adj_x)?, conjugated::<T>(alloc, y, options.adj_y)?);
    let a = MatrixRef { data: x.as_slice::<T>()?, ld: if options.adj_x { size.m } else { size.k }, transposed: options.adj_x };
    let b = MatrixRef { data: y.as_slice::<T>()?, ld: if options.adj_y { size.k } else { size.n }, transposed: options.adj_y };
    let (a_size, b_size) = (size.m * size.k, size.k * size.n);
    let c = out.as_mut_slice::<T>()?;
    if c.is_empty() {
        return Ok(out);
    }
    if let (Some(a_stride), Some(b_stride)) = (stride(&x_batch, &batch, a_size), stride(&y_batch, &batch, b_size)) {
        T::batch(size, (a, a_stride), (b, b_stride), c);
        return Ok(out);
    }
    let pairs = broadcast_positions(&x_batch, &batch).into_iter().zip(broadcast_positions(&y_batch, &batch));
    for (c, (i, j)) in c.chunks_exact_mut(size.m * size.n).zip(pairs) {
        T::product(size, MatrixRef { data: &a.data[i * a_size..], ..a }, MatrixRef { data: &b.data[j * b_size..], ..b }, c);
    }
    Ok(out)
}

/// Returns the complex conjugate of an operand if `adjoint`; real operands are unchanged.
fn conjugated<T: Number>(alloc: &Allocator, x: &Tensor, adjoint: bool) -> Result<Tensor> {
    if !(adjoint && T::DTYPE.is_complex()) {
        return Ok(x.clone());
    }
    let mut x = alloc.copy(x)?;
    x.as_mut_slice::<T>()?.iter_mut().for_each(|z| *z = z.conj());
    Ok(x)
}
