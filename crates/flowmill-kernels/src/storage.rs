//! Operations on whole tensors, for kernels that only store, join and part tensors: these kernels are the same on all devices.

use crate::arithmetic;
use crate::blocks;
use flowmill_runtime::KernelContext;
use flowmill_tensor::{DType, Result, Shape, Tensor};

/// The memory of a kind of device, for tensors of one type.
pub trait Storage: Sized + Send + Sync + 'static {
    /// Returns the storage of tensors of type `dtype`.
    ///
    /// # Errors
    /// Returns `Internal` if the devices have no tensors of that type.
    fn new(dtype: DType) -> Result<Self>;

    /// Returns zeros.
    ///
    /// # Errors
    /// Returns `ResourceExhausted` if the memory is full.
    fn zeros(&self, ctx: &KernelContext<'_>, shape: Shape) -> Result<Tensor>;

    /// Adds `value` to `sum`, which has the same shape.
    ///
    /// # Errors
    /// Returns `InvalidArgument` for a type without a sum, and `ResourceExhausted` if the memory is full.
    fn add_to(&self, ctx: &KernelContext<'_>, sum: &mut Tensor, value: &Tensor) -> Result<()>;

    /// Returns a tensor with the elements of all blocks, one after the other.
    ///
    /// # Errors
    /// Returns `Internal` if the blocks have another number of elements than the result, and `ResourceExhausted` if the memory is full.
    fn concat<'a>(&self, ctx: &KernelContext<'_>, shape: Shape, blocks: impl Iterator<Item = &'a Tensor>) -> Result<Tensor>;

    /// Returns `count` rows along the outermost dimension from row `start` on.
    ///
    /// # Errors
    /// Returns `InvalidArgument` for a scalar, and `Internal` if the tensor does not have these rows.
    fn rows(&self, ctx: &KernelContext<'_>, tensor: &Tensor, start: usize, count: usize) -> Result<Tensor>;

    /// Returns row `i`, without the outermost dimension.
    ///
    /// # Errors
    /// Returns the errors of [`Storage::rows`].
    fn row(&self, ctx: &KernelContext<'_>, tensor: &Tensor, i: usize) -> Result<Tensor> {
        let shape = Shape::new(tensor.shape().get(1..).unwrap_or_default());
        self.rows(ctx, tensor, i, 1)?.reshaped(shape)
    }
}

/// The memory of the host.
pub struct HostStorage(DType);

impl Storage for HostStorage {
    fn new(dtype: DType) -> Result<HostStorage> {
        Ok(HostStorage(dtype))
    }

    fn zeros(&self, ctx: &KernelContext<'_>, shape: Shape) -> Result<Tensor> {
        ctx.allocator().zeros(self.0, shape)
    }

    fn add_to(&self, _: &KernelContext<'_>, sum: &mut Tensor, value: &Tensor) -> Result<()> {
        arithmetic::add_to(sum, value)
    }

    fn concat<'a>(&self, ctx: &KernelContext<'_>, shape: Shape, blocks: impl Iterator<Item = &'a Tensor>) -> Result<Tensor> {
        blocks::concat_blocks(ctx.allocator(), self.0, shape, blocks.map(|block| (block, 0..block.num_elements())))
    }

    fn rows(&self, _: &KernelContext<'_>, tensor: &Tensor, start: usize, count: usize) -> Result<Tensor> {
        blocks::rows(tensor, start, count)
    }

    fn row(&self, _: &KernelContext<'_>, tensor: &Tensor, i: usize) -> Result<Tensor> {
        tensor.row(i)
    }
}
