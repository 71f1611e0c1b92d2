//! `SparseTensorDenseMatMul`, and `SparseMatMul`, whose operands are dense but mostly zero.

use crate::from_fn::from_fn;
use crate::gemm::{MatrixRef, gemm};
use crate::number::Number;
use crate::parallel;
use flowmill_kernels::sparse_product::SparseProduct;
use flowmill_runtime::{Kernel, KernelContext, KernelInit, KernelRegistry};
use flowmill_tensor::{Complex, DType, Result, Tensor, bail, bf16, f16, for_dtype};
use std::borrow::Cow;
use std::sync::Arc;

/// The number of multiply-adds per task.
const GRAIN: usize = 1 << 15;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("SparseMatMul", make_sparse_matmul);
    registry.add("SparseTensorDenseMatMul", make_tensor_dense);
}

fn make_tensor_dense(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let (adjoint_a, adjoint_b) = (init.attrs.get_or("adjoint_a", false)?, init.attrs.get_or("adjoint_b", false)?);
    for_dtype!(init.dtype("T")?, [f16, bf16, f32, f64, i32, Complex<f32>, Complex<f64>], T => {
        from_fn(move |ctx| tensor_dense::<T>(ctx, adjoint_a, adjoint_b))
    }, _ => init.unsupported())
}

fn tensor_dense<T: Number>(ctx: &mut KernelContext<'_>, adjoint_a: bool, adjoint_b: bool) -> Result<()> {
    let (indices, values, b) = (ctx.input(0)?, ctx.input(1)?, ctx.input(3)?);
    let SparseProduct { count, b_rows, b_columns, outer, inner, b_outer, .. } = SparseProduct::new(ctx, adjoint_a, adjoint_b)?;
    let mut out = ctx.allocator().zeros(T::DTYPE, [outer, b_outer])?;
    // Indices are not checked if the result is empty, as in TensorFlow.
    if b_outer > 0 && outer > 0 {
        let a = Rows::<T>::new(&indices.to_i64_vec()?, values.as_slice()?, outer, inner, adjoint_a)?;
        let b = rows_of_b(b.as_slice::<T>()?, b_rows, b_columns, adjoint_b);
        let work = (count / outer + 1).saturating_mul(b_outer);
        let each = (GRAIN / work).max(1);
        parallel::chunks(out.as_mut_slice::<T>()?, each * b_outer, |chunk, out| {
            let mut sums = vec![T::ZERO.widen(); b_outer];
            for (i, out) in out.chunks_exact_mut(b_outer).enumerate() {
                sums.fill(T::ZERO.widen());
                for &(k, value) in a.row(chunk * each + i) {
                    let value = value.widen();
                    let row = &b[k * b_outer..][..b_outer];
                    sums.iter_mut().zip(row).for_each(|(sum, b)| *sum = sum.plus(value.times(b.widen())));
                }
                out.iter_mut().zip(&sums).for_each(|(out, &sum)| *out = T::narrow(sum));
            }
        });
    }
    ctx.set_output(0, out);
    Ok(())
}

/// The elements of the left operand, row by row, and within a row in their order.
struct Rows<T> {
    starts: Vec<usize>,
    items: Vec<(usize, T)>,
}

impl<T: Number> Rows<T> {
    /// Groups elements by row; `indices` are pairs. With `adjoint`, the second number is the row, and values are conjugated.
    fn new(indices: &[i64], values: &[T], rows: usize, columns: usize, adjoint: bool) -> Result<Rows<T>> {
        let mut starts = vec![0usize; rows + 1];
        let (row_at, column_at) = if adjoint { (1, 0) } else { (0, 1) };
        for (i, pair) in indices.as_chunks::<2>().0.iter().enumerate() {
            let (m, k) = (pair[row_at], pair[column_at]);
            if k < 0 || k as u64 >= columns as u64 {
                bail!(InvalidArgument, "k ({k}) from index[{i},{column_at}] out of bounds (>={columns})");
            }
            if m < 0 || m as u64 >= rows as u64 {
                bail!(InvalidArgument, "m ({m}) from index[{i},{row_at}] out of bounds (>={rows})");
            }
            starts[m as usize + 1] += 1;
        }
        (0..rows).for_each(|row| starts[row + 1] += starts[row]);
        let mut next = starts.clone();
        let mut items = vec![(0, T::ZERO); values.len()];
        for (pair, &value) in indices.as_chunks::<2>().0.iter().zip(values) {
            let at = &mut next[pair[row_at] as usize];
            items[*at] = (pair[column_at] as usize, if adjoint { value.conj() } else { value });
            *at += 1;
        }
        Ok(Rows { starts, items })
    }

    fn row(&self, row: usize) -> &[(usize, T)] {
        &self.items[self.starts[row]..self.starts[row + 1]]
    }
}

/// Returns the right operand in row-major order, or its adjoint.
fn rows_of_b<T: Number>(b: &[T], rows: usize, columns: usize, adjoint: bool) -> Cow<'_, [T]> {
    if !adjoint {
        return Cow::Borrowed(b);
    }
    let mut out = Vec::with_capacity(b.len());
    (0..columns).for_each(|column| out.extend((0..rows).map(|row| b[row * columns + column].conj())));
    Cow::Owned(out)
}

fn make_sparse_matmul(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let (transpose_a, transpose_b) = (init.attrs.get_or("transpose_a", false)?, init.attrs.get_or("transpose_b", false)?);
    from_fn(move |ctx| sparse_matmul(ctx, transpose_a, transpose_b))
}

/// Computes the product of `float32` and `bfloat16` matrices in `float32`. It does not exploit that most elements are zero.
fn sparse_matmul(ctx: &mut KernelContext<'_>, transpose_a: bool, transpose_b: bool) -> Result<()> {
    let (a, b) = (ctx.input(0)?, ctx.input(1)?);
    let &[a_rows, a_columns] = a.shape().dims() else { bail!(InvalidArgument, "a is not a matrix") };
    let &[b_rows, b_columns] = b.shape().dims() else { bail!(InvalidArgument, "b is not a matrix") };
    let (m, k) = if transpose_a { (a_columns, a_rows) } else { (a_rows, a_columns) };
    let (b_k, n) = if transpose_b { (b_columns, b_rows) } else { (b_rows, b_columns) };
    if k != b_k {
        bail!(InvalidArgument, "Matrix size incompatible: a: {}, b: {}", a.shape(), b.shape());
    }
    let mut out = ctx.allocator().zeros(DType::F32, [m, n])?;
    if out.num_elements() > 0 && k > 0 {
        let (a, b) = (floats(a)?, floats(b)?);
        let a = MatrixRef { data: &a, ld: a_columns, transposed: transpose_a };
        let b = MatrixRef { data: &b, ld: b_columns, transposed: transpose_b };
        gemm::<f32>(m, k, n, a, b, out.as_mut_slice()?, n, false);
    }
    ctx.set_output(0, out);
    Ok(())
}

fn floats(tensor: &Tensor) -> Result<Cow<'_, [f32]>> {
    Ok(match tensor.dtype() {
        DType::BF16 => tensor.as_slice::<bf16>()?.iter().map(|x| x.to_f32()).collect(),
        _ => Cow::Borrowed(tensor.as_slice()?),
    })
}
