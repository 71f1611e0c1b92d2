//! Reductions of rows by sorted segment ids: `SegmentSum` and related ops, and the sparse ones, which select rows first.
//!
//! The sizes of results depend on the ids, which are in the host's memory for that reason. The host lists the rows of each segment.

use super::types::{FLOATS, INDICES, NUMBERS};
use crate::compiled_kernel::{CompiledKernel, element_types, word};
use crate::device::{Argument, GpuDevice};
use flowmill_kernels::from_fn::from_fn;
use flowmill_kernels::segments::rows_and_segments;
use flowmill_runtime::{Kernel, KernelContext, KernelDef, KernelInit, KernelRegistry};
use flowmill_tensor::{DType, Result, Shape, Tensor, bail, error};
use std::sync::Arc;

/// The divisor of the sum of a segment of `n` rows.
#[derive(Clone, Copy, PartialEq)]
enum Divide {
    One = 0,
    Count = 1,
    Root = 2,
}

const SORTED: [(&str, &str, Divide); 5] = [
    ("SegmentMax", "struct Max", Divide::One),
    ("SegmentMean", "struct Sum", Divide::Count),
    ("SegmentMin", "struct Min", Divide::One),
    ("SegmentProd", "struct Prod", Divide::One),
    ("SegmentSum", "struct Sum", Divide::One),
];

/// Ops on selected rows, and those with a given number of segments.
const SPARSE: [(&str, &str, Divide); 3] = [
    ("SparseSegmentMean", "SparseSegmentMeanWithNumSegments", Divide::Count),
    ("SparseSegmentSqrtN", "SparseSegmentSqrtNWithNumSegments", Divide::Root),
    ("SparseSegmentSum", "SparseSegmentSumWithNumSegments", Divide::One),
];

const GRADIENTS: [(&str, Divide); 3] =
    [("SparseSegmentMeanGrad", Divide::Count), ("SparseSegmentSqrtNGrad", Divide::Root), ("SparseSegmentSumGrad", Divide::One)];

pub(super) fn register(registry: &mut KernelRegistry) {
    let def = |make, types| {
        let host = ["indices", "num_segments", "output_dim0", "segment_ids"];
        let def = KernelDef::new(make).constrain("T", types).constrain("Tidx", INDICES).constrain("Tindices", INDICES);
        host.iter().fold(def, |def, name| def.host_memory(name)).copies_from_host()
    };
    for (op, _, _) in SORTED {
        registry.register(op, def(make_sorted, NUMBERS));
    }
    for (op, with_count, divide) in SPARSE {
        let types = if divide == Divide::One { NUMBERS } else { FLOATS };
        registry.register(op, def(make_sparse, types));
        registry.register(with_count, def(make_sparse, types));
    }
    for (op, _) in GRADIENTS {
        registry.register(op, def(make_gradient, FLOATS));
    }
}

/// The rows of each segment: the places of a segment's rows in the list begin at its entry in `starts`.
struct Segments {
    starts: Vec<u32>,
    /// The numbers of the rows; `None` for all rows in their order.
    rows: Option<Vec<u32>>,
    /// The factors of the rows, if they have any.
    weights: Option<Vec<f64>>,
}

struct Reducer {
    dtype: DType,
    program: CompiledKernel,
    divide: Divide,
}

impl Reducer {
    fn new(init: &KernelInit<'_>, operation: &'static str, divide: Divide) -> Result<Reducer> {
        let dtype = init.dtype("T")?;
        let [element, compute] = element_types(dtype)?;
        let program = CompiledKernel::new(include_str!("segment.cu"), "segments", &[element, compute, ("R", operation)]);
        Ok(Reducer { dtype, program, divide })
    }

    /// Sets output 0 to the reductions of segments of the rows of `data`.
    fn reduce(&self, ctx: &mut KernelContext<'_>, data: &Tensor, segments: &Segments) -> Result<()> {
        let row = data.shape().get(1..).unwrap_or_default();
        let shape: Shape = std::iter::once(segments.starts.len() - 1).chain(row.iter().copied()).collect();
        shape.checked_num_elements()?;
        let output = ctx.allocate_output(0, self.dtype, &shape)?.clone();
        let n = output.num_elements();
        if n == 0 {
            return Ok(());
        }
        let device = GpuDevice::of(ctx.device())?;
        let alloc = ctx.allocator();
        let starts = device.upload(&alloc.vector(&segments.starts)?)?;
        let rows = segments.rows.as_ref().map(|rows| device.upload(&alloc.vector(rows)?)).transpose()?;
        let weights = match &segments.weights {
            None => None,
            Some(weights) if self.dtype == DType::F64 => Some(device.upload(&alloc.vector(weights)?)?),
            Some(weights) => Some(device.upload(&alloc.vector(&weights.iter().map(|&w| w as f32).collect::<Vec<_>>())?)?),
        };
        let address = |tensor: &Option<Tensor>| match tensor {
            Some(tensor) => device.address(tensor).map(Argument::Address),
            None => Ok(Argument::U64(0)),
        };
        let arguments = [
            Argument::Address(device.address(&output)?),
            Argument::Address(device.address(data)?),
            Argument::Address(device.address(&starts)?),
            address(&rows)?,
            address(&weights)?,
            Argument::U64(n as u64),
            Argument::U32(word(row.iter().product())?),
            Argument::U32(self.divide as u32),
        ];
        self.program.launch(device, device.linear_grid(n), &arguments)
    }
}

/// Returns the first row of each of `count` segments of ascending ids, and the number of rows.
fn starts(ids: &[i64], count: usize) -> Result<Vec<u32>> {
    let mut starts = vec![0u32; count + 1];
    let mut last = 0;
    for (i, &id) in ids.iter().enumerate() {
        if id < last {
            match id {
                ..0 => bail!(InvalidArgument, "segment ids must be >= 0"),
                _ => bail!(InvalidArgument, "segment ids are not increasing"),
            }
        }
        let Some(segment) = usize::try_from(id).ok().filter(|&segment| segment < count) else {
            bail!(InvalidArgument, "Segment id {id} out of range [0, {count}), possibly because 'segment_ids' input is not sorted.");
        };
        starts[segment + 1] = word(i + 1)?;
        last = id;
    }
    for segment in 1..=count {
        starts[segment] = starts[segment].max(starts[segment - 1]);
    }
    Ok(starts)
}

/// Returns the number of segments of ascending ids.
fn num_segments(ids: &[i64]) -> Result<usize> {
    match ids.last() {
        None => Ok(0),
        Some(&last) => match last.checked_add(1).and_then(|n| usize::try_from(n).ok()) {
            Some(n @ 1..) => Ok(n),
            _ => bail!(InvalidArgument, "segment ids must be >= 0"),
        },
    }
}

fn make_sorted(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let op = init.op_def.name.as_str();
    let Some(&(_, operation, divide)) = SORTED.iter().find(|(name, ..)| *name == op) else { bail!(Internal, "GPUs have no segments {op}") };
    let reducer = Reducer::new(init, operation, divide)?;
    from_fn(move |ctx| {
        let (data, ids) = (ctx.input(0)?.clone(), ctx.input(1)?);
        let Some(&rows) = data.shape().first() else { bail!(InvalidArgument, "input must be at least rank 1") };
        if ids.rank() != 1 {
            bail!(InvalidArgument, "segment_ids should be a vector.");
        }
        if ids.num_elements() != rows {
            bail!(InvalidArgument, "segment_ids should be the same size as dimension 0 of input.");
        }
        let ids = ids.to_i64_vec()?;
        let starts = starts(&ids, num_segments(&ids)?)?;
        reducer.reduce(ctx, &data, &Segments { starts, rows: None, weights: None })
    })
}

/// Returns an index below `limit`; `at` is its place among the indices.
fn checked_index(at: usize, index: i64, limit: usize) -> Result<u32> {
    match usize::try_from(index).ok().filter(|&index| index < limit) {
        Some(index) => word(index),
        None => Err(error!(InvalidArgument, "Bad: indices[{at}] == {index} out of range [0, {limit})")),
    }
}

fn make_sparse(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let op = init.op_def.name.as_str();
    let Some(&(.., divide)) = SPARSE.iter().find(|(plain, with_count, _)| *plain == op || *with_count == op) else {
        bail!(Internal, "GPUs have no segments {op}")
    };
    let reducer = Reducer::new(init, "struct Sum", divide)?;
    from_fn(move |ctx| {
        let (indices, ids) = rows_and_segments(ctx)?;
        let data = ctx.input(0)?.clone();
        let Some(&rows) = data.shape().first() else { bail!(InvalidArgument, "input must be at least rank 1") };
        let last = num_segments(&ids)?;
        let count = if ctx.num_inputs() > 3 {
            let count = ctx.input(3)?;
            if count.rank() != 0 {
                bail!(InvalidArgument, "num_segments should be a scalar, not shape {}", count.shape());
            }
            let Some(count) = usize::try_from(count.to_i64()?).ok().filter(|&count| count >= last) else {
                bail!(InvalidArgument, "segment ids must be < num_segments");
            };
            count
        } else {
            last
        };
        let starts = starts(&ids, count)?;
        let rows = indices.iter().enumerate().map(|(at, &index)| checked_index(at, index, rows)).collect::<Result<Vec<u32>>>()?;
        reducer.reduce(ctx, &data, &Segments { starts, rows: Some(rows), weights: None })
    })
}

/// Makes the kernel of the gradients of the sparse ops: row `indices[i]` of the result gets the gradient of segment `segment_ids[i]`.
fn make_gradient(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let op = init.op_def.name.as_str();
    let Some(&(_, divide)) = GRADIENTS.iter().find(|(name, _)| *name == op) else { bail!(Internal, "GPUs have no segments {op}") };
    let reducer = Reducer::new(init, "struct Sum", Divide::One)?;
    from_fn(move |ctx| {
        let (indices, ids) = rows_and_segments(ctx)?;
        let (gradient, count) = (ctx.input(0)?.clone(), ctx.input(3)?);
        if count.rank() != 0 {
            bail!(InvalidArgument, "output_dim0 should be a scalar.");
        }
        let Some(&segments) = gradient.shape().first() else { bail!(InvalidArgument, "input must be at least rank 1") };
        let Ok(count) = usize::try_from(count.to_i64()?) else { bail!(InvalidArgument, "output_dim0 must be >= 0") };
        let mut sizes = vec![0usize; segments];
        for &id in &ids {
            match usize::try_from(id).ok().and_then(|id| sizes.get_mut(id)) {
                Some(size) => *size += 1,
                None => bail!(InvalidArgument, "Segment id {id} out of range [0, {segments})."),
            }
        }
        // The entries of each row of the result, in their order.
        let mut entries = Vec::with_capacity(indices.len());
        for (at, &index) in indices.iter().enumerate() {
            match usize::try_from(index).ok().filter(|&index| index < count) {
                Some(index) => entries.push((index, at)),
                None => bail!(InvalidArgument, "Index {index} out of range [0, {count})."),
            }
        }
        entries.sort_unstable();
        let targets: Vec<i64> = entries.iter().map(|&(index, _)| index as i64).collect();
        let rows = entries.iter().map(|&(_, at)| word(ids[at] as usize)).collect::<Result<Vec<u32>>>()?;
        let weight = |&(_, at): &(usize, usize)| {
            let size = sizes[ids[at] as usize].max(1) as f64;
            1.0 / if divide == Divide::Root { size.sqrt() } else { size }
        };
        let weights = (divide != Divide::One).then(|| entries.iter().map(weight).collect());
        reducer.reduce(ctx, &gradient, &Segments { starts: starts(&targets, count)?, rows: Some(rows), weights })
    })
}
