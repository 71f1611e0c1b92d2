//! Operations on whole tensors in a GPU's memory, for kernels that only store, join and add them.

use super::types::NUMBERS;
use crate::device::GpuDevice;
use crate::elementwise::{ElementwiseKernel, Operation, Program};
use flowmill_kernels::storage::{HostStorage, Storage};
use flowmill_runtime::{Device, KernelContext};
use flowmill_tensor::{DType, Result, Shape, Tensor, TensorArithmetic, bail};
use std::sync::OnceLock;

/// The kernels that add tensors, one for each type that has sums. Each is made when it is first used.
#[derive(Default)]
pub(super) struct Sums([OnceLock<ElementwiseKernel>; NUMBERS.len()]);

impl Sums {
    /// Adds `value` to `sum`, in new memory: other holders of the old sum may still read it.
    ///
    /// # Errors
    /// Returns `InvalidArgument` for a type without a sum, `ResourceExhausted` if the memory is full, and the driver's errors.
    fn add_to(&self, device: &GpuDevice, sum: &mut Tensor, value: &Tensor) -> Result<()> {
        let dtype = sum.dtype();
        let Some(i) = NUMBERS.iter().position(|number| *number == dtype) else {
            bail!(InvalidArgument, "tensor_array::AddToTensor type not supported: {}", dtype.cpp_name())
        };
        let add = self.0[i].get_or_init(|| ElementwiseKernel::new(Program::of(Operation::Sum, &[dtype; 2], dtype)));
        let total = device.allocate(dtype, sum.shape())?;
        add.apply(device, &[sum, value], &total)?;
        *sum = total;
        Ok(())
    }
}

/// Returns zeros in a GPU's memory.
fn zeros(device: &GpuDevice, dtype: DType, shape: &Shape) -> Result<Tensor> {
    let zeros = device.allocate(dtype, shape)?;
    if zeros.num_bytes() > 0 {
        device.gpu().fill(device.address(&zeros)?, 0, zeros.num_bytes())?;
    }
    Ok(zeros)
}

/// The arithmetic of tensors in a GPU's memory.
pub(super) struct GpuArithmetic<'a> {
    pub(super) device: &'a GpuDevice,
    pub(super) sums: &'a Sums,
}

impl TensorArithmetic for GpuArithmetic<'_> {
    fn dense_zeros_like(&self, tensor: &Tensor) -> Result<Tensor> {
        zeros(self.device, tensor.dtype(), tensor.shape())
    }

    fn add_to_dense(&self, sum: &mut Tensor, value: &Tensor) -> Result<()> {
        self.sums.add_to(self.device, sum, value)
    }
}

/// The memory of a GPU, for tensors of one type. Tensors of variants are objects of the host, whose tensors are in the GPU's memory.
pub(super) enum GpuStorage {
    Dense { dtype: DType, sums: Box<Sums> },
    Variants(HostStorage),
}

impl Storage for GpuStorage {
    fn new(dtype: DType) -> Result<GpuStorage> {
        match dtype {
            DType::Variant => Ok(GpuStorage::Variants(HostStorage::new(dtype)?)),
            _ => Ok(GpuStorage::Dense { dtype, sums: Box::default() }),
        }
    }

    fn zeros(&self, ctx: &KernelContext<'_>, shape: Shape) -> Result<Tensor> {
        match self {
            GpuStorage::Variants(storage) => storage.zeros(ctx, shape),
            GpuStorage::Dense { dtype, .. } => zeros(GpuDevice::of(ctx.device())?, *dtype, &shape),
        }
    }

    fn add_to(&self, ctx: &KernelContext<'_>, sum: &mut Tensor, value: &Tensor) -> Result<()> {
        match self {
            // TensorArrays add, and none of them holds variants on a GPU.
            GpuStorage::Variants(_) => bail!(Unimplemented, "sums of variants in arrays on a GPU"),
            GpuStorage::Dense { sums, .. } => sums.add_to(GpuDevice::of(ctx.device())?, sum, value),
        }
    }

    fn concat<'a>(&self, ctx: &KernelContext<'_>, shape: Shape, blocks: impl Iterator<Item = &'a Tensor>) -> Result<Tensor> {
        match self {
            GpuStorage::Variants(storage) => storage.concat(ctx, shape, blocks),
            GpuStorage::Dense { dtype, .. } => concat(GpuDevice::of(ctx.device())?, *dtype, shape, blocks),
        }
    }

    fn rows(&self, ctx: &KernelContext<'_>, tensor: &Tensor, start: usize, count: usize) -> Result<Tensor> {
        if let GpuStorage::Variants(storage) = self {
            return storage.rows(ctx, tensor, start, count);
        }
        let Some(row) = tensor.shape().get(1..) else { bail!(InvalidArgument, "a scalar has no rows") };
        let shape: Shape = std::iter::once(count).chain(row.iter().copied()).collect();
        GpuDevice::of(ctx.device())?.view(tensor, start.saturating_mul(row.iter().product()), shape)
    }
}

/// Returns a tensor with the elements of all blocks, one after the other.
fn concat<'a>(device: &GpuDevice, dtype: DType, shape: Shape, blocks: impl Iterator<Item = &'a Tensor>) -> Result<Tensor> {
    let joined = device.allocate(dtype, &shape)?;
    let (mut at, end) = (0, joined.num_bytes());
    for block in blocks {
        let bytes = block.num_bytes();
        if bytes > end - at {
            bail!(Internal, "blocks have more elements than a tensor of shape {shape}");
        }
        if bytes > 0 {
            device.gpu().copy(device.address(&joined)?.offset(at), device.address(block)?, bytes)?;
        }
        at += bytes;
    }
    if at != end {
        bail!(Internal, "blocks have fewer elements than a tensor of shape {shape}");
    }
    Ok(joined)
}
