//! `Where`, and the numbering of elements that are set.

use super::sized::{Begun, sized};
use super::types::MOVABLE;
use crate::backend::Grid;
use crate::compiled_kernel::{CompiledKernel, element_types, word};
use crate::device::{Argument, GpuDevice};
use crate::elementwise::MAX_RANK;
use flowmill_runtime::{Device, Kernel, KernelDef, KernelInit, KernelRegistry};
use flowmill_tensor::{DType, Result, Shape, Tensor, bail};
use std::sync::Arc;

/// The threads of a block: `WIDTH` in `select.cu`.
const WIDTH: u32 = 256;
/// The elements that a block numbers: `TILE` in `select.cu`.
const TILE: usize = 1024;

pub(super) fn register(registry: &mut KernelRegistry) {
    let types = MOVABLE.split_at(MOVABLE.len() - 2).0;
    registry.register("Where", KernelDef::new(make_where).constrain("T", types));
}

/// The kernels that number the elements of one type that are not zero.
pub(super) struct Selector {
    count_tiles: CompiledKernel,
    sum_counts: CompiledKernel,
    coordinates: CompiledKernel,
    numbers: CompiledKernel,
}

/// The elements of a tensor that are set.
pub(super) struct Selection {
    of: Tensor,
    /// The number of them before each tile.
    counts: Tensor,
    /// The number of all, a scalar of `int32`.
    pub(super) total: Tensor,
}

impl Selector {
    /// # Errors
    /// Returns `Internal` for a type that GPUs do not have.
    pub(super) fn new(dtype: DType) -> Result<Selector> {
        let types = element_types(dtype)?;
        let kernel = |name| CompiledKernel::new(include_str!("select.cu"), name, &types);
        Ok(Selector {
            count_tiles: kernel("count_tiles"),
            sum_counts: kernel("sum_counts"),
            coordinates: kernel("coordinates"),
            numbers: kernel("numbers"),
        })
    }

    /// Enqueues the count of the elements that are set. The tensor must not be empty.
    ///
    /// # Errors
    /// Returns the errors of the device, and `Unimplemented` for more elements than kernels count.
    pub(super) fn select(&self, device: &GpuDevice, of: &Tensor) -> Result<Selection> {
        let n = of.num_elements();
        let tiles = n.div_ceil(TILE);
        let counts = device.allocate(DType::U32, &Shape::new(&[tiles]))?;
        let total = device.allocate(DType::I32, &Shape::scalar())?;
        let [at, from, to] = [device.address(&counts)?, device.address(of)?, device.address(&total)?].map(Argument::Address);
        self.count_tiles.launch(device, blocks(tiles)?, &[at, from, Argument::U32(word(n)?)])?;
        self.sum_counts.launch(device, blocks(1)?, &[at, to, Argument::U32(word(tiles)?)])?;
        Ok(Selection { of: of.clone(), counts, total })
    }

    /// Enqueues the coordinates of the elements that are set, of which there are `count`.
    ///
    /// # Errors
    /// Returns the errors of the device.
    fn coordinates(&self, device: &GpuDevice, selection: &Selection, count: usize) -> Result<Tensor> {
        let shape = selection.of.shape();
        let output = device.allocate(DType::I64, &Shape::new(&[count, shape.rank()]))?;
        if count == 0 {
            return Ok(output);
        }
        let mut words = vec![shape.rank() as u32];
        for i in 0..MAX_RANK {
            words.push(word(shape.get(i).copied().unwrap_or(1))?);
        }
        self.launch(device, &self.coordinates, selection, &output, &[Argument::Words(&words)])?;
        Ok(output)
    }

    /// Enqueues the number of each element that is set. The others' are undefined.
    ///
    /// # Errors
    /// Returns the errors of the device.
    pub(super) fn numbers(&self, device: &GpuDevice, selection: &Selection) -> Result<Tensor> {
        let output = device.allocate(DType::U32, selection.of.shape())?;
        self.launch(device, &self.numbers, selection, &output, &[])?;
        Ok(output)
    }

    fn launch(&self, device: &GpuDevice, kernel: &CompiledKernel, s: &Selection, output: &Tensor, more: &[Argument<'_>]) -> Result<()> {
        let addresses = [device.address(output)?, device.address(&s.counts)?, device.address(&s.of)?].map(Argument::Address);
        let n = s.of.num_elements();
        let arguments = [&addresses[..], &[Argument::U32(word(n)?)], more].concat();
        kernel.launch(device, blocks(n.div_ceil(TILE))?, &arguments)
    }
}

fn blocks(count: usize) -> Result<Grid> {
    Ok(Grid { blocks: [word(count)?, 1, 1], threads: [WIDTH, 1, 1] })
}

fn make_where(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let selector = Arc::new(Selector::new(init.attrs.get_or("T", DType::Bool)?)?);
    sized(move |device, inputs| {
        let [input] = inputs else { bail!(Internal, "Where has one input") };
        match input.rank() {
            0 => bail!(InvalidArgument, "WhereOp : Unhandled input dimensions: 0"),
            1..=MAX_RANK => {}
            rank => bail!(Unimplemented, "GPU kernels find elements of at most {MAX_RANK} dimensions, not {rank}"),
        }
        if input.num_elements() == 0 {
            return Ok(Begun::Whole(vec![device.allocate(DType::I64, &Shape::new(&[0, input.rank()]))?]));
        }
        let selection = selector.select(device, input)?;
        let selector = selector.clone();
        let numbers = selection.total.clone();
        Ok(Begun::Numbers(
            numbers,
            Box::new(move |device, count| Ok(vec![selector.coordinates(device, &selection, count.to_scalar::<i32>()? as u32 as usize)?])),
        ))
    })
}
