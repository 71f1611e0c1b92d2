//! Reductions along any axes: `Sum`, `Mean`, `Max` and their like, `BiasAddGrad`, `L2Loss`.
//!
//! Partial results are merged in an order that depends on shapes and on the GPU's size alone, so that a result has the same bits in every run.

use super::types::{FLOATS, NUMBERS};
use crate::backend::{Address, Grid};
use crate::compiled_kernel::{CompiledKernel, element_types, word};
use crate::device::{Argument, GpuDevice};
use crate::elementwise::MAX_RANK;
use flowmill_kernels::axes::Plan;
use flowmill_kernels::from_fn::from_fn;
use flowmill_runtime::{Device, Kernel, KernelDef, KernelInit, KernelRegistry};
use flowmill_tensor::{DType, Result, Shape, SmallVec, Tensor, bail};
use std::sync::Arc;

/// The number of threads of a block.
const THREADS: usize = 256;
/// A block reduces at least this many adjacent elements to one before another block takes a part of them.
const LEAST_PART: usize = 2048;
/// The most parts of one result.
const MOST_PARTS: usize = 1024;

pub(super) fn register(registry: &mut KernelRegistry) {
    let reduction = |types| KernelDef::new(make).constrain("T", types).host_memory("reduction_indices");
    for op in ["Sum", "Mean", "Prod", "Max", "Min"] {
        registry.register(op, reduction(NUMBERS));
    }
    registry.register("EuclideanNorm", reduction(FLOATS));
    for op in ["All", "Any"] {
        registry.register(op, KernelDef::new(make).host_memory("reduction_indices"));
    }
    registry.register("BiasAddGrad", KernelDef::new(make_bias_add_grad).constrain("T", NUMBERS));
    registry.register("L2Loss", KernelDef::new(make_l2_loss).constrain("T", FLOATS));
}

/// The kernels that reduce elements of one type by one operation.
pub(super) struct Reducer {
    accumulator_size: usize,
    rows: CompiledKernel,
    columns: CompiledKernel,
    merge: CompiledKernel,
}

impl Reducer {
    /// Returns the kernels of an operation that the text names, such as `Sum`.
    ///
    /// # Errors
    /// Returns `Internal` for an operation or a type that there is not.
    pub(super) fn new(operation: &str, dtype: DType) -> Result<Reducer> {
        let operation = match operation {
            "Sum" => "struct Sum",
            "Mean" => "struct Mean",
            "Prod" => "struct Prod",
            "Max" => "struct Max",
            "Min" => "struct Min",
            "EuclideanNorm" => "struct EuclideanNorm",
            "L2Loss" => "struct L2Loss",
            "All" => "struct All",
            "Any" => "struct Any",
            _ => bail!(Internal, "GPUs have no reduction {operation}"),
        };
        let [element, compute] = element_types(dtype)?;
        // Integers are summed in 64 bits for a mean.
        let (accumulator, accumulator_size) = match dtype {
            DType::I8 | DType::I16 | DType::I32 if operation == "struct Mean" => ("long long", 8),
            DType::U8 | DType::U16 | DType::U32 if operation == "struct Mean" => ("unsigned long long", 8),
            _ => (compute.1, dtype.size().unwrap_or(8).max(4)),
        };
        let types = [element, compute, ("A", accumulator), ("R", operation)];
        let program = |name| CompiledKernel::new(include_str!("reduce.cu"), name, &types);
        Ok(Reducer { accumulator_size, rows: program("reduce_rows"), columns: program("reduce_columns"), merge: program("merge_parts") })
    }

    /// Enqueues the reduction of `input` to `output`, which has an element for each index of the kept dimensions.
    ///
    /// # Errors
    /// Returns the driver's errors, and `Unimplemented` for tensors with too many elements or alternations of kept and reduced dimensions.
    pub(super) fn reduce(&self, device: &GpuDevice, input: &Tensor, plan: &Plan, output: &Tensor) -> Result<()> {
        self.reduce_to(device, input, plan, device.address(output)?)
    }

    /// Enqueues the reduction of the rows of a matrix to one row.
    ///
    /// # Errors
    /// Returns the errors of [`Reducer::reduce`].
    pub(super) fn reduce_rows(&self, device: &GpuDevice, matrix: &Tensor, to: Address) -> Result<()> {
        let plan = Plan::new(matrix.shape(), &Tensor::vector(&[0i64])?, false)?;
        self.reduce_to(device, matrix, &plan, to)
    }

    /// Like [`Reducer::reduce`], with the address of the results.
    pub(super) fn reduce_to(&self, device: &GpuDevice, input: &Tensor, plan: &Plan, to: Address) -> Result<()> {
        let outputs = plan.shape.num_elements();
        if outputs == 0 {
            return Ok(());
        }
        word(input.num_elements())?;
        let (kept, reduced) = (loop_over(plan, false)?, loop_over(plan, true)?);
        let by_rows = plan.segments.last().is_none_or(|segment| segment.reduced);
        let span = if by_rows { plan.count.next_power_of_two().min(THREADS) } else { outputs.next_power_of_two().min(32) };
        let (width, height) = (span, THREADS / span);
        // Threads in x share a result, or each has one.
        let blocks = outputs.div_ceil(if by_rows { height } else { width });
        // A thread reduces some tens of elements at least.
        let least = if by_rows { LEAST_PART } else { height * 32 };
        let parts = num_parts(device, blocks, plan.count / least);
        let part = plan.count.div_ceil(parts).max(1);
        let parts = plan.count.div_ceil(part).max(1);
        let mut words: SmallVec<[u32; 40]> = SmallVec::from_slice(&[word(outputs)?, word(plan.count)?, word(part)?]);
        words.extend(kept);
        words.extend(reduced);
        let scratch = match parts {
            1 => None,
            _ => Some(device.allocate(DType::U8, &Shape::new(&[parts * outputs * self.accumulator_size]))?),
        };
        let partial = scratch.as_ref().map_or(Ok(to), |scratch| device.address(scratch))?;
        let grid = Grid { blocks: [word(blocks)?, parts as u32, 1], threads: [width as u32, height as u32, 1] };
        let arguments =
            [Argument::Address(to), Argument::Address(partial), Argument::Address(device.address(input)?), Argument::Words(&words)];
        let program = if by_rows { &self.rows } else { &self.columns };
        program.launch(device, grid, &arguments)?;
        if parts == 1 {
            return Ok(());
        }
        let width = outputs.next_power_of_two().min(32);
        let grid = Grid { blocks: [word(outputs.div_ceil(width))?, 1, 1], threads: [width as u32, (THREADS / width) as u32, 1] };
        let numbers = [outputs, parts, plan.count];
        let [outputs, parts, count] = numbers.map(|n| Argument::U32(n as u32));
        self.merge.launch(device, grid, &[Argument::Address(to), Argument::Address(partial), outputs, parts, count])
    }
}

/// Returns the number of parts, of `most` that are worth it, that keeps the whole GPU busy.
fn num_parts(device: &GpuDevice, blocks: usize, most: usize) -> usize {
    let wanted = (device.gpu().properties().multiprocessors as usize * 4).div_ceil(blocks);
    wanted.min(most).clamp(1, MOST_PARTS)
}

/// Returns the words of the structure `Loop` for the kept or the reduced dimensions.
fn loop_over(plan: &Plan, reduced: bool) -> Result<SmallVec<[u32; 20]>> {
    let mut dims: SmallVec<[(usize, usize); 4]> = SmallVec::new();
    let mut stride = 1usize;
    for segment in plan.segments.iter().rev() {
        if segment.reduced == reduced {
            dims.insert(0, (segment.size, stride));
        }
        stride = stride.saturating_mul(segment.size);
    }
    if dims.len() > MAX_RANK {
        bail!(Unimplemented, "GPU kernels reduce at most {MAX_RANK} dimensions between kept ones");
    }
    let mut words = SmallVec::from_elem(dims.len() as u32, 1);
    words.extend((0..MAX_RANK).map(|i| dims.get(i).map_or(1, |dim| dim.0 as u32)));
    words.extend((0..MAX_RANK).map(|i| dims.get(i).map_or(0, |dim| dim.1 as u32)));
    Ok(words)
}

fn make(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let op = init.op_def.name.as_str();
    let dtype = if matches!(op, "All" | "Any") { DType::Bool } else { init.dtype("T")? };
    let reducer = Reducer::new(op, dtype)?;
    let keep_dims = init.attrs.get_or("keep_dims", false)?;
    from_fn(move |ctx| {
        let input = ctx.input(0)?.clone();
        let plan = Plan::new(input.shape(), ctx.input(1)?, keep_dims)?;
        let output = ctx.allocate_output(0, dtype, &plan.shape)?.clone();
        reducer.reduce(GpuDevice::of(ctx.device())?, &input, &plan, &output)
    })
}

fn make_bias_add_grad(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let channels_first = match init.attrs.get_or("data_format", "NHWC")? {
        "NHWC" => false,
        "NCHW" => true,
        _ => bail!(InvalidArgument, "Invalid data format"),
    };
    let dtype = init.dtype("T")?;
    let reducer = Reducer::new("Sum", dtype)?;
    from_fn(move |ctx| {
        let gradient = ctx.input(0)?.clone();
        if gradient.rank() < 2 {
            bail!(InvalidArgument, "Input tensor must be at least 2D: {}", gradient.shape());
        }
        let axis = if channels_first { 1 } else { gradient.rank() - 1 };
        let others: Vec<i64> = (0..gradient.rank()).filter(|&a| a != axis).map(|a| a as i64).collect();
        let plan = Plan::new(gradient.shape(), &Tensor::vector(&others)?, false)?;
        let output = ctx.allocate_output(0, dtype, &plan.shape)?.clone();
        reducer.reduce(GpuDevice::of(ctx.device())?, &gradient, &plan, &output)
    })
}

fn make_l2_loss(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let dtype = init.dtype("T")?;
    let reducer = Reducer::new("L2Loss", dtype)?;
    from_fn(move |ctx| {
        let input = ctx.input(0)?.clone();
        let n = input.num_elements();
        let input = input.reshaped(Shape::new(&[n]))?;
        let plan = Plan::new(input.shape(), &Tensor::vector(&[0i64])?, false)?;
        let output = ctx.allocate_output(0, dtype, &Shape::scalar())?.clone();
        reducer.reduce(GpuDevice::of(ctx.device())?, &input, &plan, &output)
    })
}
