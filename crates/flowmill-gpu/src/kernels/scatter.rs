//! Scattering of slices by index: `ScatterNd`, the `TensorScatter` ops, and the unsorted segment reductions.
//!
//! Updates of one slice are made in order, as on the CPU. Updates whose indices are out of range are skipped, as on TensorFlow's GPUs: an error would
//! have to wait for the GPU.

use super::ordered::{Slices, Sorter, sorted_argument};
use super::training::forward_reference;
use super::types::{INDICES, NUMBERS};
use crate::compiled_kernel::{CompiledKernel, element_types};
use crate::device::{Argument, GpuDevice};
use crate::text::element_name;
use flowmill_kernels::array::args::{product, shape_argument};
use flowmill_kernels::from_fn::from_fn;
use flowmill_kernels::variable::Variable;
use flowmill_runtime::{Kernel, KernelContext, KernelDef, KernelInit, KernelRegistry, MakeKernel};
use flowmill_tensor::{DType, Result, Shape, Tensor, bail, error};
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    let scatter = |make| KernelDef::new(make).constrain("T", NUMBERS).constrain("Tindices", INDICES);
    registry.register("ScatterNd", scatter(make_scatter_nd).host_memory("shape"));
    for op in
        ["ScatterNdNonAliasingAdd", "TensorScatterAdd", "TensorScatterSub", "TensorScatterMax", "TensorScatterMin", "TensorScatterUpdate"]
    {
        registry.register(op, scatter(make_tensor_scatter));
    }
    for (_, ops) in VARIABLE_OPS {
        for &op in ops {
            let make: MakeKernel = if op.contains("Nd") { make_variable_scatter_nd } else { make_variable_scatter };
            let def = KernelDef::new(make).constrain("T", NUMBERS).constrain("dtype", NUMBERS).constrain("Tindices", INDICES);
            registry.register(op, ["resource", "ref", "output_ref"].iter().fold(def, |def, name| def.host_memory(name)));
        }
    }
    for op in ["UnsortedSegmentSum", "UnsortedSegmentProd", "UnsortedSegmentMax", "UnsortedSegmentMin"] {
        registry.register(op, scatter(make_unsorted_segment).host_memory("num_segments"));
    }
}

/// The operations that the kernel's text names, each with the ops that apply it to rows or slices of variables.
const VARIABLE_OPS: [(&str, &[&str]); 7] = [
    ("struct Add", &["ScatterAdd", "ResourceScatterAdd", "ScatterNdAdd", "ResourceScatterNdAdd"]),
    ("struct Div", &["ScatterDiv", "ResourceScatterDiv"]),
    ("struct Max", &["ScatterMax", "ResourceScatterMax", "ScatterNdMax", "ResourceScatterNdMax"]),
    ("struct Min", &["ScatterMin", "ResourceScatterMin", "ScatterNdMin", "ResourceScatterNdMin"]),
    ("struct Mul", &["ScatterMul", "ResourceScatterMul"]),
    ("struct Sub", &["ScatterSub", "ResourceScatterSub", "ScatterNdSub", "ResourceScatterNdSub"]),
    ("struct Update", &["ScatterUpdate", "ResourceScatterUpdate", "ScatterNdUpdate", "ResourceScatterNdUpdate"]),
];

/// The kernels that scatter elements of one type by one operation.
pub(super) struct Scatterer {
    scatter: CompiledKernel,
    start: CompiledKernel,
    sorter: Sorter,
}

/// The value of slices without updates.
#[derive(Clone, Copy)]
enum Start {
    Zero = 0,
    One = 1,
    Lowest = 2,
    Highest = 3,
}

impl Scatterer {
    /// Makes the kernels of an operation that the text names, such as `struct Add`.
    ///
    /// # Errors
    /// Returns `Internal` for a type that GPUs do not have.
    pub(super) fn new(operation: &'static str, dtype: DType, indices: DType) -> Result<Scatterer> {
        let [element, compute] = element_types(dtype)?;
        let index = element_name(indices).ok_or_else(|| error!(Internal, "GPU kernels have no indices of type {indices}"))?;
        let types = [element, compute, ("I", index), ("R", operation)];
        let text = concat!(include_str!("ordered.cu"), include_str!("scatter.cu"));
        let [scatter, start] = ["scatter", "start"].map(|name| CompiledKernel::new(text, name, &types));
        Ok(Scatterer { scatter, start, sorter: Sorter::new(indices)? })
    }

    /// Enqueues the first values of the slices of `output`.
    fn start(&self, device: &GpuDevice, output: &Tensor, start: Start) -> Result<()> {
        let n = output.num_elements();
        if n == 0 {
            return Ok(());
        }
        let to = device.address(output)?;
        if matches!(start, Start::Zero) {
            return device.gpu().fill(to, 0, output.num_bytes());
        }
        let arguments = [Argument::Address(to), Argument::U64(n as u64), Argument::U32(start as u32)];
        self.start.launch(device, device.linear_grid(n), &arguments)
    }

    /// Enqueues the updates of slices of `output`. The slices are indexed by the first `depth` dimensions.
    ///
    /// # Errors
    /// Returns the errors of the device, and `Unimplemented` for more dimensions or slices than kernels count.
    pub(super) fn scatter(&self, device: &GpuDevice, output: &Tensor, depth: usize, index: &Tensor, updates: &Tensor) -> Result<()> {
        let inner = product(&output.shape()[depth..]);
        let count = match depth {
            0 => updates.num_elements().checked_div(inner).unwrap_or(0),
            depth => index.num_elements() / depth,
        };
        let is_scalar = updates.num_elements() != count.saturating_mul(inner);
        if count == 0 || inner == 0 || output.num_elements() == 0 {
            return Ok(());
        }
        let slices = Slices::new(output.shape(), depth, count, is_scalar)?;
        let keys = self.sorter.sort(device, &slices, index)?;
        let sorted = sorted_argument(device, keys.as_ref())?;
        let addresses = [device.address(output)?, device.address(updates)?, device.address(index)?].map(Argument::Address);
        let [to, from, indices] = addresses;
        self.scatter.launch(device, slices.grid(), &[to, from, indices, sorted, Argument::Words(&slices.words)])
    }
}

/// Checks the shapes of a scatter into a tensor of shape `shape`, and returns the number of indexed dimensions.
fn checked_depth(index: &Tensor, updates: &Tensor, shape: &Shape) -> Result<usize> {
    let Some((&depth, outer)) = index.shape().split_last() else {
        bail!(InvalidArgument, "Indices shape must have rank at least one. Found:{}", index.shape());
    };
    if shape.num_elements() == 0 && (index.num_elements() > 0 || updates.num_elements() > 0) {
        bail!(InvalidArgument, "Indices and updates specified for empty output.  indices shape: {}", index.shape());
    }
    if updates.shape().get(..outer.len()) != Some(outer) {
        bail!(
            InvalidArgument,
            "Outer dimensions of indices and update must match. Indices shape: {}, updates shape:{}",
            index.shape(),
            updates.shape()
        );
    }
    let inner = updates.shape().get(outer.len()..).unwrap_or(&[]);
    if shape.get(depth..) != Some(inner) {
        bail!(
            InvalidArgument,
            "Inner dimensions of output shape must match inner dimensions of updates shape. Output: {shape} updates: {}",
            updates.shape()
        );
    }
    Ok(depth)
}

fn make_scatter_nd(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let dtype = init.dtype("T")?;
    let scatterer = Scatterer::new("struct Add", dtype, init.dtype("Tindices")?)?;
    from_fn(move |ctx| {
        let (index, updates) = (ctx.input(0)?.clone(), ctx.input(1)?.clone());
        let shape = shape_argument(ctx.input(2)?, "shape")?;
        let depth = checked_depth(&index, &updates, &shape)?;
        let output = ctx.allocate_output(0, dtype, &shape)?.clone();
        let device = GpuDevice::of(ctx.device())?;
        scatterer.start(device, &output, Start::Zero)?;
        scatterer.scatter(device, &output, depth, &index, &updates)
    })
}

fn make_tensor_scatter(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let dtype = init.dtype("T")?;
    let operation = match init.op_def.name.as_str() {
        "ScatterNdNonAliasingAdd" | "TensorScatterAdd" => "struct Add",
        "TensorScatterSub" => "struct Sub",
        "TensorScatterMax" => "struct Max",
        "TensorScatterMin" => "struct Min",
        _ => "struct Update",
    };
    let scatterer = Scatterer::new(operation, dtype, init.dtype("Tindices")?)?;
    from_fn(move |ctx| {
        let (input, index, updates) = (ctx.input(0)?.clone(), ctx.input(1)?.clone(), ctx.input(2)?.clone());
        let depth = checked_depth(&index, &updates, input.shape())?;
        let output = ctx.allocate_output(0, dtype, input.shape())?.clone();
        let device = GpuDevice::of(ctx.device())?;
        if output.num_elements() > 0 {
            device.gpu().copy(device.address(&output)?, device.address(&input)?, output.num_bytes())?;
        }
        scatterer.scatter(device, &output, depth, &index, &updates)
    })
}

/// Returns the kernels of an op on a variable.
fn of_variable(init: &KernelInit<'_>) -> Result<Scatterer> {
    let op = init.op_def.name.as_str();
    let Some((operation, _)) = VARIABLE_OPS.iter().find(|(_, ops)| ops.contains(&op)) else { bail!(Internal, "GPUs have no scatter {op}") };
    let dtype = init.dtype(if init.attrs.contains("dtype") { "dtype" } else { "T" })?;
    Scatterer::new(operation, dtype, init.dtype("Tindices")?)
}

/// Scatters into the variable in input 0. If somebody else holds its value, the variable gets a new one, because work that reads the old one may be
/// enqueued later.
fn scatter_into_variable(
    ctx: &mut KernelContext<'_>,
    scatterer: &Scatterer,
    depth_of: impl Fn(&Tensor, &Tensor, &Shape) -> Result<usize>,
) -> Result<()> {
    let (index, updates) = (ctx.input(1)?, ctx.input(2)?);
    let device = GpuDevice::of(ctx.device())?;
    Variable::from_input(ctx, 0)?.update(|value| {
        if value.dtype() != updates.dtype() {
            bail!(
                InvalidArgument,
                "Trying to update variable with wrong dtype. Expected {} got {}",
                value.dtype().cpp_name(),
                updates.dtype().cpp_name()
            );
        }
        let depth = depth_of(index, updates, value.shape())?;
        if value.num_elements() == 0 {
            return Ok(());
        }
        let updated = device.memory_of_update(value)?;
        let [to, from] = [device.address(&updated)?, device.address(value)?];
        if to != from {
            device.gpu().copy(to, from, updated.num_bytes())?;
        }
        scatterer.scatter(device, &updated, depth, index, updates)?;
        *value = updated;
        Ok(())
    })?;
    forward_reference(ctx)
}

/// Makes the kernel of `ScatterAdd`, `ResourceScatterAdd` and related ops, whose indices are numbers of rows.
fn make_variable_scatter(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let scatterer = of_variable(init)?;
    from_fn(move |ctx| {
        scatter_into_variable(ctx, &scatterer, |index, updates, shape| {
            let Some((_, row)) = shape.split_first() else {
                bail!(InvalidArgument, "params must be at least 1-D, got shape {shape}");
            };
            let expected = index.shape().iter().chain(row).copied();
            if updates.rank() != 0 && !expected.eq(updates.shape().iter().copied()) {
                bail!(
                    InvalidArgument,
                    "Must have updates.shape = indices.shape + params.shape[1:] or updates.shape = [], got updates.shape {}, indices.shape {}, params.shape {shape}",
                    updates.shape(),
                    index.shape()
                );
            }
            Ok(1)
        })
    })
}

/// Makes the kernel of `ScatterNdAdd`, `ResourceScatterNdAdd` and related ops.
fn make_variable_scatter_nd(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let scatterer = of_variable(init)?;
    from_fn(move |ctx| scatter_into_variable(ctx, &scatterer, checked_depth))
}

fn make_unsorted_segment(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let dtype = init.dtype("T")?;
    let (operation, start) = match init.op_def.name.as_str() {
        "UnsortedSegmentProd" => ("struct Mul", Start::One),
        "UnsortedSegmentMax" => ("struct SegmentMax", Start::Lowest),
        "UnsortedSegmentMin" => ("struct SegmentMin", Start::Highest),
        _ => ("struct Add", Start::Zero),
    };
    let scatterer = Scatterer::new(operation, dtype, init.dtype("Tindices")?)?;
    from_fn(move |ctx| {
        let (data, ids, count) = (ctx.input(0)?.clone(), ctx.input(1)?.clone(), ctx.input(2)?);
        if count.rank() != 0 {
            bail!(InvalidArgument, "num_segments should be a scalar, not shape {}", count.shape());
        }
        if !data.shape().starts_with(ids.shape()) {
            bail!(InvalidArgument, "data.shape = {} does not start with segment_ids.shape = {}", data.shape(), ids.shape());
        }
        let count = count.to_i64()?;
        let Ok(segments) = usize::try_from(count) else { bail!(InvalidArgument, "Input num_segments == {count} must not be negative.") };
        let shape: Shape = std::iter::once(segments).chain(data.shape()[ids.rank()..].iter().copied()).collect();
        shape.checked_num_elements()?;
        let output = ctx.allocate_output(0, dtype, &shape)?.clone();
        let device = GpuDevice::of(ctx.device())?;
        scatterer.start(device, &output, start)?;
        scatterer.scatter(device, &output, 1, &ids, &data)
    })
}
