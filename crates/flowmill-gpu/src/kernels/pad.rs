//! Padding and filling: `Pad`, `PadV2`, `MirrorPad`, `MirrorPadGrad`, `Fill`, `ZerosLike`, `OnesLike`.

use super::types::{FLOATS, MOVABLE, NUMBERS, WORDS};
use crate::backend::Address;
use crate::compiled_kernel::{CompiledKernel, word};
use crate::device::{Argument, GpuDevice};
use crate::elementwise::MAX_RANK;
use flowmill_kernels::array::args::indices;
use flowmill_kernels::array::rearrange::{Mirror, padded, paddings};
use flowmill_kernels::from_fn::from_fn;
use flowmill_runtime::{Device, Kernel, KernelContext, KernelDef, KernelInit, KernelRegistry};
use flowmill_tensor::{DType, Result, Shape, SmallVec, Tensor, bail, error};
use std::sync::{Arc, OnceLock};

pub(super) fn register(registry: &mut KernelRegistry) {
    let padding = |make| KernelDef::new(make).constrain("T", MOVABLE).host_memory("paddings");
    registry.register("Pad", padding(make_pad));
    registry.register("PadV2", padding(make_pad));
    registry.register("MirrorPad", padding(make_mirror_pad));
    registry.register("MirrorPadGrad", KernelDef::new(make_mirror_pad_gradient).constrain("T", FLOATS).host_memory("paddings"));
    registry.register("Fill", KernelDef::new(make_fill).constrain("T", MOVABLE).host_memory("dims"));
    registry.register("ZerosLike", KernelDef::new(make_zeros_like).constrain("T", MOVABLE));
    registry.register("OnesLike", KernelDef::new(make_ones_like).constrain("T", NUMBERS));
}

/// The kernels that pad elements of one size, by the size of the words that they copy.
pub(super) struct Padder {
    size: usize,
    programs: [CompiledKernel; WORDS.len()],
}

impl Padder {
    /// Returns the kernels `name` for elements of a type.
    ///
    /// # Errors
    /// Returns `Internal` for a type that GPUs do not have.
    pub(super) fn new(name: &'static str, dtype: DType) -> Result<Padder> {
        let size = dtype.size().filter(|size| size.is_power_of_two() && *size <= 16);
        let size = size.ok_or_else(|| error!(Internal, "GPU kernels have no elements of type {dtype}"))?;
        Ok(Padder { size, programs: WORDS.map(|word| CompiledKernel::new(include_str!("pad.cu"), name, &[("T", word)])) })
    }

    /// Returns the kernel for words of `run` elements.
    fn of_run(&self, run: usize) -> &CompiledKernel {
        &self.programs[(run * self.size).ilog2() as usize]
    }
}

/// A dimension of a padded tensor: its size, the number of elements before the source's, and of the source's.
pub(super) type PaddedDim = (usize, usize, usize);

/// Enqueues the padding of a source. Dimensions without padding are merged with the one before them, if no mirror is in the way.
pub(super) fn pad(
    device: &GpuDevice,
    padder: &Padder,
    (to, from, value): (Address, Address, Address),
    dims: &[PaddedDim],
    mode: u32,
) -> Result<()> {
    let mut merged: SmallVec<[PaddedDim; 8]> = SmallVec::new();
    for &(dim, before, size) in dims {
        match merged.last_mut() {
            Some((all, first, own)) if dim == size && (mode == 0 || *all == *own) => {
                (*all, *first, *own) = (*all * dim, *first * dim, *own * dim);
            }
            _ => merged.push((dim, before, size)),
        }
    }
    // The innermost dimension is copied in wide words, unless a value has to be repeated or mirrored in them.
    let mut run = 1;
    if let Some((all, before, own)) = merged.last_mut()
        && (if mode == 0 { value.0 == 0 } else { all == own })
    {
        let fits = |run: &usize| {
            [*all, *before, *own].iter().all(|n| n.is_multiple_of(*run)) && (to.0 | from.0).is_multiple_of((run * padder.size) as u64)
        };
        run = [16, 8, 4, 2].into_iter().filter(|run| run * padder.size <= 16).find(fits).unwrap_or(1);
        (*all, *before, *own) = (*all / run, *before / run, *own / run);
    }
    let n: usize = merged.iter().map(|dim| dim.0).product();
    if merged.len() > MAX_RANK || n > i32::MAX as usize {
        bail!(Unimplemented, "GPU kernels pad tensors of at most {MAX_RANK} dimensions and {} elements", i32::MAX);
    }
    let mut words: SmallVec<[u32; 32]> = SmallVec::from_slice(&[merged.len() as u32, mode]);
    for part in [|dim: &PaddedDim| dim.0, |dim: &PaddedDim| dim.1, |dim: &PaddedDim| dim.2] {
        words.extend((0..MAX_RANK).map(|i| merged.get(i).map_or(1, part) as u32));
    }
    let arguments =
        [Argument::Address(to), Argument::Address(from), Argument::Address(value), Argument::U32(word(n)?), Argument::Words(&words)];
    padder.of_run(run).launch(device, device.linear_grid(n), &arguments)
}

fn make_pad(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let dtype = init.dtype("T")?;
    let (padding, filling) = (Padder::new("pad", dtype)?, Padder::new("fill", dtype)?);
    from_fn(move |ctx| {
        let input = ctx.input(0)?.clone();
        let value = if ctx.num_inputs() > 2 { Some(ctx.input(2)?.clone()) } else { None };
        if let Some(value) = value.as_ref().filter(|value| value.rank() != 0) {
            bail!(InvalidArgument, "constant_values must be a scalar. Found: {}", value.shape());
        }
        let paddings = paddings(ctx.input(1)?, input.shape())?;
        let shape = padded(input.shape(), &paddings)?;
        if shape == *input.shape() {
            return ctx.forward(0, 0);
        }
        let output = ctx.allocate_output(0, dtype, &shape)?.clone();
        let device = GpuDevice::of(ctx.device())?;
        if output.num_elements() == 0 {
            return Ok(());
        }
        let to = device.address(&output)?;
        if input.num_elements() == 0 {
            return match &value {
                Some(value) => fill(device, &filling, value, &output),
                None => device.gpu().fill(to, 0, output.num_bytes()),
            };
        }
        let value = value.as_ref().map_or(Ok(Address(0)), |value| device.address(value))?;
        let dims = shape.iter().zip(&paddings).zip(input.shape().iter());
        let dims: SmallVec<[PaddedDim; 8]> = dims.map(|((&dim, &(before, _)), &size)| (dim, before, size)).collect();
        pad(device, &padding, (to, device.address(&input)?, value), &dims, 0)
    })
}

fn make_mirror_pad(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let mirror = Mirror::from_attrs(init.attrs)?;
    let dtype = init.dtype("T")?;
    let padder = Padder::new("pad", dtype)?;
    from_fn(move |ctx| {
        let input = ctx.input(0)?.clone();
        let paddings = paddings(ctx.input(1)?, input.shape())?;
        for (&border, &size) in paddings.iter().zip(input.shape().iter()) {
            mirror.check(border, size, "")?;
        }
        let shape = padded(input.shape(), &paddings)?;
        let output = ctx.allocate_output(0, dtype, &shape)?.clone();
        if output.num_elements() == 0 {
            return Ok(());
        }
        let device = GpuDevice::of(ctx.device())?;
        let dims = shape.iter().zip(&paddings).zip(input.shape().iter());
        let dims: SmallVec<[PaddedDim; 8]> = dims.map(|((&dim, &(before, _)), &size)| (dim, before, size)).collect();
        let addresses = (device.address(&output)?, device.address(&input)?, Address(0));
        pad(device, &padder, addresses, &dims, if mirror.offset == 1 { 1 } else { 2 })
    })
}

/// Makes the kernel that adds each border to the elements that it mirrors, one dimension after the other.
fn make_mirror_pad_gradient(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let mirror = Mirror::from_attrs(init.attrs)?;
    let dtype = init.dtype("T")?;
    let program = CompiledKernel::of(include_str!("mirror_pad_gradient.cu"), "fold", dtype)?;
    from_fn(move |ctx| {
        let input = ctx.input(0)?.clone();
        let paddings = paddings(ctx.input(1)?, input.shape())?;
        let mut sizes = Shape::scalar();
        for (&(before, after), &dim) in paddings.iter().zip(input.shape().iter()) {
            let total = before.saturating_add(after);
            let Some(size) = dim.checked_sub(total).filter(|&size| size > 0 || total == 0) else {
                bail!(InvalidArgument, "Total paddings must be less than the input dimension size: {total} was not less than {dim}");
            };
            mirror.check((before, after), size, "output ")?;
            sizes.push(size);
        }
        if sizes == *input.shape() {
            return ctx.forward(0, 0);
        }
        let output = ctx.allocate_output(0, dtype, &sizes)?.clone();
        if output.num_elements() == 0 {
            return Ok(());
        }
        let device = GpuDevice::of(ctx.device())?;
        let padded: SmallVec<[usize; 8]> = (0..sizes.len()).filter(|&axis| paddings[axis] != (0, 0)).collect();
        let mut from = input;
        for &axis in &padded {
            let mut shape = from.shape().clone();
            shape[axis] = sizes[axis];
            let to = if Some(&axis) == padded.last() { output.clone() } else { device.allocate(dtype, &shape)? };
            let (n, inner) = (to.num_elements(), shape[axis + 1..].iter().product::<usize>());
            let (before, after) = paddings[axis];
            let words = [word(sizes[axis])?, word(before)?, word(after)?, word(inner)?, u32::from(mirror.offset == 1)];
            let [target, source] = [device.address(&to)?, device.address(&from)?].map(Argument::Address);
            program.launch(device, device.linear_grid(n), &[target, source, Argument::U64(n as u64), Argument::Words(&words)])?;
            from = to;
        }
        Ok(())
    })
}

/// Enqueues a fill of a tensor with the first element of another one.
pub(super) fn fill(device: &GpuDevice, filling: &Padder, value: &Tensor, output: &Tensor) -> Result<()> {
    let n = output.num_elements();
    if n == 0 {
        return Ok(());
    }
    let arguments = [Argument::Address(device.address(output)?), Argument::Address(device.address(value)?), Argument::U64(n as u64)];
    filling.of_run(1).launch(device, device.linear_grid(n), &arguments)
}

fn make_fill(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let dtype = init.dtype("T")?;
    let filling = Padder::new("fill", dtype)?;
    from_fn(move |ctx| {
        let (dims, value) = (ctx.input(0)?, ctx.input(1)?.clone());
        if dims.rank() > 1 {
            bail!(InvalidArgument, "dims must represent a vector, got shape {}", dims.shape());
        }
        if value.num_elements() != 1 || value.rank() > 1 {
            bail!(InvalidArgument, "value must represent a scalar, got shape {}", value.shape());
        }
        let shape = Shape::from_i64(&indices(dims)?)?;
        let output = ctx.allocate_output(0, dtype, &shape)?.clone();
        fill(GpuDevice::of(ctx.device())?, &filling, &value, &output)
    })
}

fn make_zeros_like(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let dtype = init.dtype("T")?;
    from_fn(move |ctx| {
        let shape = ctx.input(0)?.shape().clone();
        zeros(ctx, dtype, &shape)
    })
}

/// Sets output 0 to zeros.
fn zeros(ctx: &mut KernelContext<'_>, dtype: DType, shape: &Shape) -> Result<()> {
    let output = ctx.allocate_output(0, dtype, shape)?.clone();
    if output.num_elements() == 0 {
        return Ok(());
    }
    let device = GpuDevice::of(ctx.device())?;
    device.gpu().fill(device.address(&output)?, 0, output.num_bytes())
}

fn make_ones_like(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let dtype = init.dtype("T")?;
    let filling = Padder::new("fill", dtype)?;
    let one = one(dtype)?;
    let on_device: OnceLock<Tensor> = OnceLock::new();
    from_fn(move |ctx| {
        let shape = ctx.input(0)?.shape().clone();
        let output = ctx.allocate_output(0, dtype, &shape)?.clone();
        let device = GpuDevice::of(ctx.device())?;
        let value = match on_device.get() {
            Some(value) => value,
            None => {
                let value = device.upload(&one)?;
                on_device.get_or_init(|| value)
            }
        };
        fill(device, &filling, value, &output)
    })
}

/// Returns the number one.
fn one(dtype: DType) -> Result<Tensor> {
    let bytes: &[u8] = match dtype {
        DType::F16 => &0x3c00u16.to_ne_bytes(),
        DType::BF16 => &0x3f80u16.to_ne_bytes(),
        DType::F32 => &1f32.to_ne_bytes(),
        DType::F64 => &1f64.to_ne_bytes(),
        DType::I8 | DType::U8 => &[1],
        DType::I16 | DType::U16 => &1u16.to_ne_bytes(),
        DType::I32 | DType::U32 => &1u32.to_ne_bytes(),
        DType::I64 | DType::U64 => &1u64.to_ne_bytes(),
        _ => bail!(Internal, "GPU kernels have no number one of type {dtype}"),
    };
    Tensor::copy_from_bytes(dtype, Shape::scalar(), bytes)
}
