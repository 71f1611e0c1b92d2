//! TensorArrays whose elements are in a GPU's memory. The kernels are those of the host, with another storage.

use super::types::{NUMBERS, VALUES};
use crate::device::GpuDevice;
use crate::elementwise::{ElementwiseKernel, Operation, Program};
use flowmill_kernels::storage::Storage;
use flowmill_runtime::{Device, KernelContext, KernelRegistry};
use flowmill_tensor::{DType, Result, Shape, Tensor, bail};

/// The inputs and outputs that are in the host's memory.
const IN_HOST_MEMORY: [&str; 7] = ["grad_handle", "handle", "index", "indices", "lengths", "shape_to_prepend", "size"];

pub(super) fn register(registry: &mut KernelRegistry) {
    let mut shared = KernelRegistry::new();
    flowmill_host::register_tensor_arrays_in::<GpuStorage>(&mut shared);
    for op in shared.ops() {
        for def in shared.defs(op) {
            // As in TensorFlow, arrays of `int32` are the host's.
            let def = def.clone().constrain("T", VALUES).constrain("dtype", VALUES);
            registry.register(op, IN_HOST_MEMORY.iter().fold(def, |def, name| def.host_memory(name)));
        }
    }
}

/// The memory of a GPU.
struct GpuStorage {
    dtype: DType,
    /// Adds two tensors, if the type has sums.
    add: Option<ElementwiseKernel>,
}

impl Storage for GpuStorage {
    fn new(dtype: DType) -> Result<GpuStorage> {
        let add = NUMBERS.contains(&dtype).then(|| ElementwiseKernel::new(Program::of(Operation::Sum, &[dtype; 2], dtype)));
        Ok(GpuStorage { dtype, add })
    }

    fn zeros(&self, ctx: &KernelContext<'_>, shape: Shape) -> Result<Tensor> {
        let device = GpuDevice::of(ctx.device())?;
        let zeros = device.allocate(self.dtype, &shape)?;
        if zeros.num_elements() > 0 {
            device.gpu().fill(device.address(&zeros)?, 0, zeros.num_bytes())?;
        }
        Ok(zeros)
    }

    fn add_to(&self, ctx: &KernelContext<'_>, sum: &mut Tensor, value: &Tensor) -> Result<()> {
        let Some(add) = &self.add else {
            bail!(InvalidArgument, "tensor_array::AddToTensor type not supported: {}", self.dtype.cpp_name())
        };
        let device = GpuDevice::of(ctx.device())?;
        // Other holders of the old sum may still read it.
        let total = device.allocate(self.dtype, sum.shape())?;
        add.apply(device, &[sum, value], &total)?;
        *sum = total;
        Ok(())
    }

    fn concat<'a>(&self, ctx: &KernelContext<'_>, shape: Shape, blocks: impl Iterator<Item = &'a Tensor>) -> Result<Tensor> {
        let device = GpuDevice::of(ctx.device())?;
        let joined = device.allocate(self.dtype, &shape)?;
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

    fn rows(&self, ctx: &KernelContext<'_>, tensor: &Tensor, start: usize, count: usize) -> Result<Tensor> {
        let Some(row) = tensor.shape().get(1..) else { bail!(InvalidArgument, "a scalar has no rows") };
        let shape: Shape = std::iter::once(count).chain(row.iter().copied()).collect();
        GpuDevice::of(ctx.device())?.view(tensor, start.saturating_mul(row.iter().product()), shape)
    }
}
