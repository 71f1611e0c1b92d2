//! `_HoistedMatMul` and `_PartMatMul`: the products of the parts of a tensor with one matrix, before or in the loop that reads the parts.

use super::batch_matmul::multiply_by_matrix;
use super::product::StableRhs;
use crate::from_fn::from_fn;
use flowmill_runtime::{Kernel, KernelContext, KernelInit};
use flowmill_tensor::{DType, Result, Shape, Tensor, bail};
use std::sync::Arc;

/// Makes the kernel of `_HoistedMatMul`: it returns all products if parts have few rows, and otherwise the parts themselves with an axis of size 1
/// before the last.
pub(super) fn make_hoisted(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let axis = usize::try_from(init.attrs.get::<i64>("axis")?).unwrap_or(usize::MAX);
    let max_rows = usize::try_from(init.attrs.get::<i64>("max_rows")?).unwrap_or(0);
    with_products(init, move |ctx, multiply| {
        let parts = ctx.input(0)?;
        let rank = parts.rank();
        if rank < 3 || axis >= rank - 1 {
            bail!(InvalidArgument, "parts of the shape {} along axis {axis} have no rows", parts.shape());
        }
        let num_rows: usize = (0..rank - 1).filter(|&i| i != axis).map(|i| parts.shape()[i]).product();
        let result = if num_rows <= max_rows {
            multiply(ctx)?
        } else {
            let (rows, columns) = parts.shape().split_at(rank - 1);
            let shape = Shape::new(&[rows, &[1], columns].concat());
            ctx.take(0)?.reshaped(shape)?
        };
        ctx.set_output(0, result);
        Ok(())
    })
}

/// Makes the kernel of `_PartMatMul`: it multiplies a part, or returns it if it is a product already, and so has one axis less.
pub(super) fn make_of_part(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let rank = usize::try_from(init.attrs.get::<i64>("rank")?).unwrap_or(usize::MAX);
    with_products(init, move |ctx, multiply| {
        let part = ctx.input(0)?.shape();
        if part.rank() == rank {
            return ctx.forward(0, 0);
        }
        if part.rank() != rank.saturating_add(1) || part[rank - 1] != 1 {
            bail!(InvalidArgument, "a part of the shape {part} is neither a product of rank {rank} nor what is multiplied");
        }
        let product = multiply(ctx)?;
        let (rows, columns) = product.shape().split_at(rank - 1);
        let shape = Shape::new(&[rows, &columns[1..]].concat());
        ctx.set_output(0, product.reshaped(shape)?);
        Ok(())
    })
}

/// Multiplies the rows of input 0 with the matrix that is input 1.
type Multiply<'a> = &'a dyn Fn(&KernelContext<'_>) -> Result<Tensor>;

/// Makes a kernel that gets the product of its inputs where it needs it.
fn with_products(
    init: &KernelInit<'_>,
    compute: impl Fn(&mut KernelContext<'_>, Multiply<'_>) -> Result<()> + Send + Sync + 'static,
) -> Result<Arc<dyn Kernel>> {
    let dtype = init.dtype("T")?;
    if !matches!(dtype, DType::F16 | DType::BF16 | DType::F32 | DType::F64) {
        return init.unsupported();
    }
    let transposed = init.attrs.get_or("transpose_b", false)?;
    let rhs = StableRhs::new(init, 1);
    from_fn(move |ctx| {
        compute(ctx, &|ctx| {
            let (rows, matrix) = (ctx.input(0)?, ctx.input(1)?);
            if matrix.rank() != 2 {
                bail!(InvalidArgument, "In[1] is not a matrix. Instead it has shape {}", matrix.shape());
            }
            multiply_by_matrix(ctx.allocator(), rows, matrix, transposed, &rhs)
        })
    })
}
