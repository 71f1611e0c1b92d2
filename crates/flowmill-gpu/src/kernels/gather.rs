//! Gathering of slices by index: `Gather`, `GatherV2`, `GatherNd`, `ResourceGather`.
//!
//! A slice whose index is out of range is zeros, as on TensorFlow's GPUs: an error would have to wait for the GPU.

use super::types::{INDICES, MOVABLE, WORDS};
use crate::backend::Address;
use crate::compiled_kernel::{CompiledKernel, word};
use crate::device::{Argument, GpuDevice};
use crate::elementwise::MAX_RANK;
use crate::text::element_name;
use flowmill_kernels::array::args::{product, scalar_index};
use flowmill_kernels::from_fn::from_fn;
use flowmill_kernels::variable::Variable;
use flowmill_runtime::{Kernel, KernelContext, KernelDef, KernelInit, KernelRegistry};
use flowmill_tensor::{DType, Result, Shape, SmallVec, Tensor, bail, error};
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    let gather = |make| KernelDef::new(make).constrain("Tparams", MOVABLE).constrain("Tindices", INDICES);
    registry.register("Gather", gather(make_gather));
    registry.register("GatherV2", gather(make_gather).host_memory("axis"));
    registry.register("GatherNd", gather(make_gather_nd));
    let resource = KernelDef::new(make_resource_gather).constrain("dtype", MOVABLE).constrain("Tindices", INDICES);
    registry.register("ResourceGather", resource.host_memory("resource"));
}

/// The kernels that gather elements of one size, by the size of the runs that they copy.
pub(super) struct Gatherer {
    size: usize,
    programs: [CompiledKernel; 5],
}

impl Gatherer {
    /// Returns the kernels `name` for elements of a type, whose indices have the type `indices`.
    ///
    /// # Errors
    /// Returns `Internal` for types that GPUs do not have.
    pub(super) fn new(name: &'static str, dtype: DType, indices: DType) -> Result<Gatherer> {
        let size = dtype.size().filter(|size| size.is_power_of_two() && *size <= 16);
        let size = size.ok_or_else(|| error!(Internal, "GPU kernels have no elements of type {dtype}"))?;
        let index = element_name(indices).ok_or_else(|| error!(Internal, "GPU kernels have no indices of type {indices}"))?;
        let programs = std::array::from_fn(|i| CompiledKernel::new(include_str!("gather.cu"), name, &[("T", WORDS[i]), ("I", index)]));
        Ok(Gatherer { size, programs })
    }

    /// Returns how many adjacent elements are copied as one.
    fn run(&self, addresses: [Address; 2], inner: usize, strides: &[usize]) -> usize {
        let fits = |run: usize| {
            inner.is_multiple_of(run)
                && strides.iter().all(|stride| stride.is_multiple_of(run))
                && addresses.iter().all(|address| address.0.is_multiple_of((run * self.size) as u64))
        };
        let mut run = 1;
        while run * self.size < 16 && fits(run * 2) {
            run *= 2;
        }
        run
    }

    /// Enqueues a copy of the rows of `data`, which are `rows`, that `index` numbers.
    ///
    /// # Errors
    /// Returns the driver's errors, and `Unimplemented` for tensors that are too large.
    pub(super) fn gather_rows(&self, device: &GpuDevice, data: &Tensor, rows: usize, index: &Tensor, output: &Tensor) -> Result<()> {
        let count = index.num_elements();
        let inner = output.num_elements() / count.max(1);
        let addresses = [device.address(output)?, device.address(data)?, device.address(index)?];
        let run = self.run([addresses[0], addresses[1]], inner, &[]);
        let words = [1, word(rows)?, word(inner / run)?, word(count)?];
        self.launch(device, run, addresses, output.num_elements(), &words)
    }

    /// Enqueues a copy of rows of `width` elements of `data` to rows of `output`; `index` has the numbers of the target rows and of the source rows.
    ///
    /// # Errors
    /// Returns the driver's errors, and `Unimplemented` for tensors that are too large.
    pub(super) fn place_rows(&self, device: &GpuDevice, data: &Tensor, width: usize, index: [&Tensor; 2], output: &Tensor) -> Result<()> {
        let (to, from) = (device.address(output)?, device.address(data)?);
        let run = self.run([to, from], width, &[]);
        let n = index[0].num_elements() * width / run;
        let [targets, sources] = [device.address(index[0])?, device.address(index[1])?].map(Argument::Address);
        let arguments =
            [Argument::Address(to), Argument::Address(from), targets, sources, Argument::U64(n as u64), Argument::U32(word(width / run)?)];
        self.programs[(run * self.size).ilog2() as usize].launch(device, device.linear_grid(n), &arguments)
    }

    fn launch(&self, device: &GpuDevice, run: usize, addresses: [Address; 3], elements: usize, words: &[u32]) -> Result<()> {
        let n = elements / run;
        let [to, from, indices] = addresses.map(Argument::Address);
        let arguments = [to, from, indices, Argument::U64(n as u64), Argument::Words(words)];
        self.programs[(run * self.size).ilog2() as usize].launch(device, device.linear_grid(n), &arguments)
    }
}

/// Sets output 0 to the slices of `params` along `axis`, whose first dimensions up to `batch_dims` are those of the indices.
fn gather(ctx: &mut KernelContext<'_>, gatherer: &Gatherer, params: &Tensor, axis: usize, batch_dims: usize) -> Result<()> {
    let index = ctx.input(1)?.clone();
    let (before, after) = (&params.shape()[..axis], &params.shape()[axis + 1..]);
    let shape: Shape = before.iter().chain(&index.shape()[batch_dims..]).chain(after).copied().collect();
    shape.checked_num_elements()?;
    let output = ctx.allocate_output(0, params.dtype(), &shape)?.clone();
    let device = GpuDevice::of(ctx.device())?;
    if output.num_elements() == 0 {
        return Ok(());
    }
    let (rows, inner) = (params.shape()[axis], product(after));
    let (outer, count) = (product(&before[batch_dims..]), product(&index.shape()[batch_dims..]));
    let addresses = [device.address(&output)?, device.address(params)?, device.address(&index)?];
    let run = gatherer.run([addresses[0], addresses[1]], inner, &[]);
    let words = [word(outer)?, word(rows)?, word(inner / run)?, word(count)?];
    gatherer.launch(device, run, addresses, output.num_elements(), &words)
}

fn make_gather(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let batch_dims: i64 = init.attrs.get_or("batch_dims", 0)?;
    let gatherer = Gatherer::new("gather", init.dtype("Tparams")?, init.dtype("Tindices")?)?;
    from_fn(move |ctx| {
        let axis = if ctx.num_inputs() > 2 { scalar_index(ctx.input(2)?, "axis")? } else { 0 };
        let (params, index) = (ctx.input(0)?.clone(), ctx.input(1)?);
        let rank = params.rank() as i64;
        if rank == 0 {
            bail!(InvalidArgument, "params must be at least 1 dimensional");
        }
        let Some(axis) = params.shape().axis(axis) else {
            bail!(InvalidArgument, "Expected axis in the range [{}, {rank}), but got {axis}", -rank)
        };
        let batch_dims = checked_batch_dims(params.shape(), index.shape(), axis, batch_dims)?;
        gather(ctx, &gatherer, &params, axis, batch_dims)
    })
}

/// Returns the number of batch dimensions; a negative one counts from the rank of the indices.
fn checked_batch_dims(params: &Shape, index: &Shape, axis: usize, batch_dims: i64) -> Result<usize> {
    let index_rank = index.rank() as i64;
    if !(-index_rank..=index_rank).contains(&batch_dims) {
        bail!(InvalidArgument, "Expected batch_dims in the range [{}, {index_rank}], but got {batch_dims}", -index_rank);
    }
    let batch_dims = (if batch_dims < 0 { batch_dims + index_rank } else { batch_dims }) as usize;
    if batch_dims >= params.rank() {
        bail!(InvalidArgument, "batch_dims ({batch_dims}) must be less than rank(params) ({}).", params.rank());
    }
    if axis < batch_dims {
        bail!(InvalidArgument, "batch_dims ({batch_dims}) must be less than or equal to axis ({axis}).");
    }
    match (0..batch_dims).find(|&i| params[i] != index[i]) {
        Some(i) => bail!(InvalidArgument, "params.shape[{i}]: {} should be equal to indices.shape[{i}]: {}", params[i], index[i]),
        None => Ok(batch_dims),
    }
}

fn make_resource_gather(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let dtype = init.dtype("dtype")?;
    let batch_dims: i64 = init.attrs.get_or("batch_dims", 0)?;
    let gatherer = Gatherer::new("gather", dtype, init.dtype("Tindices")?)?;
    from_fn(move |ctx| {
        let params = Variable::from_input(ctx, 0)?.read()?;
        if params.dtype() != dtype {
            bail!(
                InvalidArgument,
                "Trying to read variable with wrong dtype. Expected {} got {}",
                dtype.cpp_name(),
                params.dtype().cpp_name()
            );
        }
        let rank = ctx.input(1)?.rank();
        let axis = if batch_dims < 0 { batch_dims + rank as i64 } else { batch_dims };
        let Some(axis) = usize::try_from(axis).ok().filter(|&axis| axis <= rank) else {
            bail!(InvalidArgument, "batch_dims must be in [-{rank}, {rank}], got {batch_dims}");
        };
        if params.rank() <= axis {
            bail!(InvalidArgument, "params must be at least {} dimensional", axis + 1);
        }
        let indices = ctx.input(1)?.shape();
        if indices.get(..axis) != params.shape().get(..axis) {
            bail!(InvalidArgument, "The first {axis} dimensions of params ({}) and indices ({indices}) must be equal", params.shape());
        }
        gather(ctx, &gatherer, &params, axis, axis)
    })
}

fn make_gather_nd(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let dtype = init.dtype("Tparams")?;
    let gatherer = Gatherer::new("gather_slices", dtype, init.dtype("Tindices")?)?;
    from_fn(move |ctx| {
        let (params, index) = (ctx.input(0)?.clone(), ctx.input(1)?.clone());
        if params.rank() == 0 {
            bail!(InvalidArgument, "params must be at least a vector");
        }
        let Some((&depth, outer)) = index.shape().split_last() else { bail!(InvalidArgument, "indices must be at least a vector") };
        if depth > params.rank() {
            bail!(InvalidArgument, "index innermost dimension length must be <= params rank; saw: {depth} vs. {}", params.rank());
        }
        if depth > MAX_RANK {
            bail!(Unimplemented, "GPU kernels index at most {MAX_RANK} dimensions");
        }
        let shape: Shape = outer.iter().chain(&params.shape()[depth..]).copied().collect();
        if params.num_elements() == 0 && product(outer) > 0 {
            bail!(InvalidArgument, "Requested more than 0 entries, but params is empty.  Params shape: {}", params.shape());
        }
        let output = ctx.allocate_output(0, dtype, &shape)?.clone();
        let device = GpuDevice::of(ctx.device())?;
        if output.num_elements() == 0 {
            return Ok(());
        }
        let inner = product(&params.shape()[depth..]);
        let strides = params.shape().strides();
        let addresses = [device.address(&output)?, device.address(&params)?, device.address(&index)?];
        let run = gatherer.run([addresses[0], addresses[1]], inner, &strides[..depth]);
        let mut words: SmallVec<[u32; 20]> = SmallVec::from_slice(&[word(depth)?, word(inner / run)?]);
        words.extend((0..MAX_RANK).map(|i| params.shape()[..depth].get(i).map_or(0, |&dim| dim as u32)));
        words.extend((0..MAX_RANK).map(|i| strides[..depth].get(i).map_or(0, |&stride| (stride / run) as u32)));
        word(params.num_elements())?;
        gatherer.launch(device, run, addresses, output.num_elements(), &words)
    })
}
