//! Searches and scans along one dimension: `ArgMax`, `ArgMin`, `TopKV2`, `Cumsum`, `Cumprod`.

use super::types::{INDICES, NUMBERS};
use crate::backend::Grid;
use crate::compiled_kernel::{CompiledKernel, element_types, word};
use crate::device::{Argument, GpuDevice};
use crate::text::element_name;
use flowmill_kernels::from_fn::from_fn;
use flowmill_runtime::{Device, Kernel, KernelDef, KernelInit, KernelRegistry};
use flowmill_tensor::{DType, Result, Shape, Tensor, bail, error};
use std::sync::Arc;

/// The number of threads of a block.
const THREADS: usize = 256;
/// If there are at least this many lines, or lines are short, each thread computes one of its own.
const MANY_LINES: usize = 1 << 14;
const SHORT_LINE: usize = 32;
/// More elements than this are found by a sort instead of a search for each.
const MOST_SELECTED: usize = 32;

pub(super) fn register(registry: &mut KernelRegistry) {
    for op in ["ArgMax", "ArgMin"] {
        let def = KernelDef::new(make_arg).constrain("T", NUMBERS).constrain("output_type", INDICES);
        registry.register(op, def.host_memory("dimension"));
    }
    for op in ["Cumsum", "Cumprod"] {
        registry.register(op, KernelDef::new(make_scan).constrain("T", NUMBERS).host_memory("axis"));
    }
    let top_k = |def: KernelDef| def.constrain("T", NUMBERS).constrain("index_type", INDICES);
    registry.register("TopK", top_k(KernelDef::new(make_top_k)));
    registry.register("TopKV2", top_k(KernelDef::new(make_top_k)).host_memory("k"));
}

fn program(name: &'static str, dtype: DType, indices: DType, kind: &'static str) -> Result<CompiledKernel> {
    let [element, compute] = element_types(dtype)?;
    let index = element_name(indices).ok_or_else(|| error!(Internal, "GPU kernels have no indices of type {indices}"))?;
    Ok(CompiledKernel::new(include_str!("lines.cu"), name, &[element, compute, ("I", index), ("F", kind)]))
}

/// The lines of a tensor along an axis.
struct Lines {
    words: [u32; 3],
    count: usize,
    /// True if each thread computes a line of its own.
    by_thread: bool,
}

impl Lines {
    fn new(shape: &Shape, axis: usize) -> Result<Lines> {
        let (outer, inner): (usize, usize) = (shape[..axis].iter().product(), shape[axis + 1..].iter().product());
        let count = outer * inner;
        let by_thread = shape[axis] <= SHORT_LINE || (inner > 1 && count >= MANY_LINES);
        word(shape.num_elements())?;
        Ok(Lines { words: [word(outer)?, word(shape[axis])?, word(inner)?], count, by_thread })
    }

    fn grid(&self) -> Result<Grid> {
        let blocks = if self.by_thread { self.count.div_ceil(THREADS) } else { self.count };
        Ok(Grid { blocks: [word(blocks)?, 1, 1], threads: [THREADS as u32, 1, 1] })
    }
}

/// Makes the kernel of `ArgMax` or `ArgMin`: the index of the first greatest or least element; NaN is ignored.
fn make_arg(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let dtype = init.dtype("T")?;
    let to = init.attrs.get_or("output_type", DType::I64)?;
    let kind = if init.op_def.name == "ArgMax" { "struct Greatest" } else { "struct Least" };
    let (by_block, by_thread) = (program("arg_lines", dtype, to, kind)?, program("arg_columns", dtype, to, kind)?);
    from_fn(move |ctx| {
        let (input, dimension) = (ctx.input(0)?.clone(), ctx.input(1)?);
        if dimension.rank() != 0 {
            bail!(InvalidArgument, "dim must be a scalar, but received tensor of shape: {}", dimension.shape());
        }
        let (rank, dimension) = (input.rank(), dimension.to_i64()?);
        let Some(axis) = input.shape().axis(dimension) else {
            bail!(InvalidArgument, "Expected dimension in the range [{}, {rank}), but got {dimension}", -(rank as i64));
        };
        let mut shape = input.shape().clone();
        if shape.remove(axis) == 0 {
            bail!(InvalidArgument, "Reduction axis {axis} is empty in shape {}", input.shape());
        }
        let output = ctx.allocate_output(0, to, &shape)?.clone();
        if output.num_elements() == 0 {
            return Ok(());
        }
        let device = GpuDevice::of(ctx.device())?;
        let lines = Lines::new(input.shape(), axis)?;
        let program = if lines.by_thread { &by_thread } else { &by_block };
        let [to, from] = [device.address(&output)?, device.address(&input)?].map(Argument::Address);
        program.launch(device, lines.grid()?, &[to, from, Argument::Words(&lines.words)])
    })
}

fn make_scan(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let dtype = init.dtype("T")?;
    let kind = if init.op_def.name == "Cumprod" { "struct Greatest" } else { "struct Least" };
    let (by_block, by_thread) = (program("scan_lines", dtype, DType::I32, kind)?, program("scan_columns", dtype, DType::I32, kind)?);
    let (exclusive, reverse): (bool, bool) = (init.attrs.get_or("exclusive", false)?, init.attrs.get_or("reverse", false)?);
    from_fn(move |ctx| {
        let (input, axis) = (ctx.input(0)?.clone(), ctx.input(1)?);
        if axis.rank() != 0 {
            bail!(InvalidArgument, "ScanOp: axis must be a scalar, not {}", axis.shape());
        }
        let (rank, axis) = (input.rank(), axis.to_i64()?);
        let Some(axis) = input.shape().axis(axis) else {
            bail!(InvalidArgument, "ScanOp: Expected scan axis in the range [{}, {rank}), but got {axis}", -(rank as i64));
        };
        let output = ctx.allocate_output(0, dtype, input.shape())?.clone();
        if output.num_elements() == 0 {
            return Ok(());
        }
        let device = GpuDevice::of(ctx.device())?;
        let lines = Lines::new(input.shape(), axis)?;
        let program = if lines.by_thread { &by_thread } else { &by_block };
        let [to, from] = [device.address(&output)?, device.address(&input)?].map(Argument::Address);
        let direction = [exclusive.into(), reverse.into()];
        program.launch(device, lines.grid()?, &[to, from, Argument::Words(&lines.words), Argument::Words(&direction)])
    })
}

/// The kernels that sort rows.
struct Sorter {
    number: CompiledKernel,
    sort: CompiledKernel,
    first: CompiledKernel,
}

impl Sorter {
    /// Enqueues a sort of all rows of the input, of which the first `k` values and indices are kept.
    fn sort(&self, device: &GpuDevice, [values, indices, input]: [&Tensor; 3], columns: usize, k: usize) -> Result<()> {
        let (rows, places) = (input.num_elements() / columns, columns.next_power_of_two());
        let n = rows.saturating_mul(places);
        let order = device.allocate(DType::I32, &Shape::new(&[rows, places]))?;
        let (at, from) = (Argument::Address(device.address(&order)?), Argument::Address(device.address(input)?));
        let [places_word, columns_word, k_word] = [word(places)?, word(columns)?, word(k)?].map(Argument::U32);
        self.number.launch(device, device.linear_grid(n), &[at, Argument::U64(n as u64), places_word])?;
        let pairs = Argument::U64(n as u64 / 2);
        for run in (1..=places.ilog2()).map(|bits| 1u32 << bits) {
            for distance in (0..run.ilog2()).rev().map(|bits| 1u32 << bits) {
                let step = [at, from, pairs, places_word, columns_word, Argument::U32(run), Argument::U32(distance)];
                self.sort.launch(device, device.linear_grid(n / 2), &step)?;
            }
        }
        let [values, indices] = [device.address(values)?, device.address(indices)?].map(Argument::Address);
        let kept = Argument::U64((rows * k) as u64);
        self.first.launch(device, device.linear_grid(rows * k), &[values, indices, from, at, kept, places_word, columns_word, k_word])
    }
}

/// Makes the kernel of `TopK`, where `k` is an attribute, and `TopKV2`: values and indices. Equal values are sorted by index.
fn make_top_k(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let fixed: Option<i64> = if init.attrs.contains("k") { Some(init.attrs.get("k")?) } else { None };
    let dtype = init.dtype("T")?;
    let index_type = init.attrs.get_or("index_type", DType::I32)?;
    let program = |name| program(name, dtype, index_type, "struct Greatest");
    let select = program("top_k")?;
    let sorter = Sorter { number: program("number_columns")?, sort: program("sort_columns")?, first: program("first_columns")? };
    from_fn(move |ctx| {
        let k = match fixed {
            Some(k) => k,
            None if ctx.input(1)?.rank() != 0 => bail!(InvalidArgument, "k must be scalar, got shape {}", ctx.input(1)?.shape()),
            None => ctx.input(1)?.to_i64()?,
        };
        let Ok(k) = usize::try_from(k) else { bail!(InvalidArgument, "Need k >= 0, got {k}") };
        let input = ctx.input(0)?.clone();
        let Some(&columns) = input.shape().last() else { bail!(InvalidArgument, "input must be >= 1-D, got shape {}", input.shape()) };
        if columns < k {
            bail!(InvalidArgument, "input must have at least k columns. Had {columns}, needed {k}");
        }
        let mut shape = input.shape().clone();
        let last = shape.rank() - 1;
        shape[last] = k;
        let values = ctx.allocate_output(0, dtype, &shape)?.clone();
        let indices = ctx.allocate_output(1, index_type, &shape)?.clone();
        if values.num_elements() == 0 {
            return Ok(());
        }
        let device = GpuDevice::of(ctx.device())?;
        if k > MOST_SELECTED {
            return sorter.sort(device, [&values, &indices, &input], columns, k);
        }
        let addresses = [device.address(&values)?, device.address(&indices)?, device.address(&input)?].map(Argument::Address);
        let [values, indices, from] = addresses;
        let grid = Grid { blocks: [word(input.num_elements() / columns)?, 1, 1], threads: [THREADS as u32, 1, 1] };
        select.launch(device, grid, &[values, indices, from, Argument::U32(word(columns)?), Argument::U32(word(k)?)])
    })
}
