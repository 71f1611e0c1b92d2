//! Fourier transforms along the last one, two or three dimensions.

use crate::backend::Address;
use crate::compiled_kernel::{CompiledKernel, word};
use crate::device::{Argument, GpuDevice};
use flowmill_kernels::from_fn::from_fn;
use flowmill_runtime::{Device, Kernel, KernelContext, KernelDef, KernelInit, KernelRegistry};
use flowmill_tensor::{DType, Result, Shape, Tensor, bail};
use std::sync::Arc;

const COMPLEX: &[DType] = &[DType::C64, DType::C128];

pub(super) fn register(registry: &mut KernelRegistry) {
    let complex = |make| KernelDef::new(make).constrain("Tcomplex", COMPLEX);
    let real = |make| KernelDef::new(make).constrain("Tcomplex", COMPLEX).host_memory("fft_length");
    registry.register("FFT", complex(|init| make(init, 1, false)));
    registry.register("FFT2D", complex(|init| make(init, 2, false)));
    registry.register("FFT3D", complex(|init| make(init, 3, false)));
    registry.register("IFFT", complex(|init| make(init, 1, true)));
    registry.register("IFFT2D", complex(|init| make(init, 2, true)));
    registry.register("IFFT3D", complex(|init| make(init, 3, true)));
    registry.register("RFFT", real(|init| make_of_real(init, 1)));
    registry.register("RFFT2D", real(|init| make_of_real(init, 2)));
    registry.register("RFFT3D", real(|init| make_of_real(init, 3)));
    registry.register("IRFFT", real(|init| make_to_real(init, 1)));
    registry.register("IRFFT2D", real(|init| make_to_real(init, 2)));
    registry.register("IRFFT3D", real(|init| make_to_real(init, 3)));
}

/// The kernels of transforms of one type.
struct Transformer {
    dtype: DType,
    real: DType,
    pass: CompiledKernel,
    chirp_in: CompiledKernel,
    chirp_filter: CompiledKernel,
    multiply: CompiledKernel,
    chirp_out: CompiledKernel,
    crop: CompiledKernel,
    crop_real: CompiledKernel,
    mirror: CompiledKernel,
    real_parts: CompiledKernel,
}

/// The numbers of lines outside of a dimension, of numbers along it, and of numbers inside of it.
#[derive(Clone, Copy)]
struct Lines {
    outer: usize,
    length: usize,
    inner: usize,
}

impl Lines {
    fn count(self) -> usize {
        self.outer * self.length * self.inner
    }
}

impl Transformer {
    fn new(init: &KernelInit<'_>) -> Result<Transformer> {
        let dtype = init.dtype("Tcomplex")?;
        let (real, name) = if dtype == DType::C128 { (DType::F64, "double") } else { (DType::F32, "float") };
        if init.attrs.contains("Treal") && init.dtype("Treal")? != real {
            return init.unsupported();
        }
        let program = |kernel| CompiledKernel::new(include_str!("fourier.cu"), kernel, &[("R", name)]);
        Ok(Transformer {
            dtype,
            real,
            pass: program("pass"),
            chirp_in: program("chirp_in"),
            chirp_filter: program("chirp_filter"),
            multiply: program("multiply"),
            chirp_out: program("chirp_out"),
            crop: program("crop"),
            crop_real: program("crop_real"),
            mirror: program("mirror"),
            real_parts: program("real_parts"),
        })
    }

    /// Transforms `tensor` along the given one of the dimensions that are transformed, and returns a tensor with the result.
    fn along(&self, device: &GpuDevice, tensor: Tensor, axis: usize, inverse: bool) -> Result<Tensor> {
        let dims = tensor.shape().dims();
        let lines = Lines { outer: dims[..axis].iter().product(), length: dims[axis], inner: dims[axis + 1..].iter().product() };
        match lines.length {
            0 | 1 => Ok(tensor),
            length if length.is_power_of_two() => self.by_passes(device, tensor, lines, inverse),
            _ => self.by_chirps(device, &tensor, lines, inverse),
        }
    }

    /// Transforms lines whose length is a power of two.
    fn by_passes(&self, device: &GpuDevice, tensor: Tensor, lines: Lines, inverse: bool) -> Result<Tensor> {
        let shape = tensor.shape().clone();
        let words = [word(lines.length)?, word(lines.inner)?, inverse.into()];
        let n = lines.count() / 2;
        let mut from = tensor;
        let mut free: Option<Tensor> = None;
        let (mut m, mut step) = (lines.length / 2, 1);
        while m > 0 {
            let to = free.take().map_or_else(|| device.allocate(self.dtype, &shape), Ok)?;
            let [target, source] = [device.address(&to)?, device.address(&from)?].map(Argument::Address);
            let sizes = [Argument::U64(n as u64), Argument::U32(word(m)?), Argument::U32(word(step)?), Argument::Words(&words)];
            self.pass.launch(device, device.linear_grid(n), &[target, source, sizes[0], sizes[1], sizes[2], sizes[3]])?;
            // The input of the first pass may be the kernel's.
            free = (step > 1).then_some(from);
            (from, m, step) = (to, m / 2, step * 2);
        }
        Ok(from)
    }

    /// Transforms lines of any length.
    fn by_chirps(&self, device: &GpuDevice, tensor: &Tensor, lines: Lines, inverse: bool) -> Result<Tensor> {
        let padded = (2 * lines.length - 1).next_power_of_two();
        let words = [word(lines.length)?, word(lines.inner)?, inverse.into()];
        let (line, size) = (Argument::Words(&words), Argument::U32(word(padded)?));
        let long = Lines { length: padded, ..lines };
        let n = long.count();
        let all = Argument::U64(n as u64);
        let at = |tensor: &Tensor| device.address(tensor).map(Argument::Address);
        let values = device.allocate(self.dtype, &Shape::from([n]))?;
        self.chirp_in.launch(device, device.linear_grid(n), &[at(&values)?, at(tensor)?, all, size, line])?;
        let filter = device.allocate(self.dtype, &Shape::from([padded]))?;
        self.chirp_filter.launch(device, device.linear_grid(padded), &[at(&filter)?, size, line])?;
        let filter = self.by_passes(device, filter, Lines { outer: 1, length: padded, inner: 1 }, false)?;
        let values = self.by_passes(device, values, long, false)?;
        self.multiply.launch(device, device.linear_grid(n), &[at(&values)?, at(&filter)?, all, size, line])?;
        let values = self.by_passes(device, values, long, true)?;
        let output = device.allocate(self.dtype, tensor.shape())?;
        let count = Argument::U64(lines.count() as u64);
        self.chirp_out.launch(device, device.linear_grid(lines.count()), &[at(&output)?, at(&values)?, count, size, line])?;
        Ok(output)
    }

    /// Returns the first elements of the last dimensions of a tensor of complex or real numbers, as complex numbers.
    fn cropped(&self, device: &GpuDevice, input: &Tensor, lengths: &[usize]) -> Result<Tensor> {
        let outer = input.rank() - lengths.len();
        let (outer, from) = input.shape().split_at(outer);
        let output = device.allocate(self.dtype, &Shape::new(&[outer, lengths].concat()))?;
        let n = output.num_elements();
        if n == 0 {
            return Ok(output);
        }
        let mut words = [1; 6];
        let first = 3 - lengths.len();
        for (i, (&to, &from)) in lengths.iter().zip(from).enumerate() {
            (words[first + i], words[3 + first + i]) = (word(to)?, word(from)?);
        }
        let program = if input.dtype() == self.dtype { &self.crop } else { &self.crop_real };
        let [to, from] = [device.address(&output)?, device.address(input)?].map(Argument::Address);
        program.launch(device, device.linear_grid(n), &[to, from, Argument::U64(n as u64), Argument::Words(&words)])?;
        Ok(output)
    }
}

/// Checks that a tensor has the dimensions that are transformed.
fn check_rank(input: &Tensor, rank: usize) -> Result<()> {
    if input.rank() < rank {
        bail!(InvalidArgument, "Input must have rank of at least {rank} but got: {}", input.shape());
    }
    Ok(())
}

fn make(init: &KernelInit<'_>, rank: usize, inverse: bool) -> Result<Arc<dyn Kernel>> {
    let transformer = Transformer::new(init)?;
    from_fn(move |ctx| {
        let mut data = ctx.input(0)?.clone();
        check_rank(&data, rank)?;
        let device = GpuDevice::of(ctx.device())?;
        let outer = data.rank() - rank;
        if data.num_elements() > 0 {
            for axis in (outer..outer + rank).rev() {
                data = transformer.along(device, data, axis, inverse)?;
            }
        }
        ctx.set_output(0, data);
        Ok(())
    })
}

/// Returns the lengths in input 1, and those on the complex side, whose last one is half of the real one plus one. The input must not be smaller.
fn lengths(ctx: &KernelContext<'_>, rank: usize, is_complex: bool) -> Result<(Vec<usize>, Vec<usize>)> {
    let (input, wanted) = (ctx.input(0)?, ctx.input(1)?);
    check_rank(input, rank)?;
    if wanted.shape().dims() != [rank] {
        bail!(InvalidArgument, "fft_length must have shape [{rank}]");
    }
    let mut real = Vec::with_capacity(rank);
    for (i, length) in wanted.to_i64_vec()?.into_iter().enumerate() {
        let Ok(length) = usize::try_from(length) else { bail!(InvalidArgument, "fft_length[{i}] must >= 0, but got: {length}") };
        real.push(length);
    }
    let mut complex = real.clone();
    if let Some(last) = complex.last_mut().filter(|last| **last > 0) {
        *last = *last / 2 + 1;
    }
    let outer = input.rank() - rank;
    for (i, (&length, &least)) in input.shape()[outer..].iter().zip(if is_complex { &complex } else { &real }).enumerate() {
        if length < least {
            bail!(InvalidArgument, "Input dimension {} must have length of at least {least} but got: {length}", outer + i);
        }
    }
    Ok((real, complex))
}

fn make_of_real(init: &KernelInit<'_>, rank: usize) -> Result<Arc<dyn Kernel>> {
    let transformer = Transformer::new(init)?;
    from_fn(move |ctx| {
        let (real, complex) = lengths(ctx, rank, false)?;
        let input = ctx.input(0)?.clone();
        let device = GpuDevice::of(ctx.device())?;
        let mut data = transformer.cropped(device, &input, &real)?;
        let outer = data.rank() - rank;
        if data.num_elements() > 0 {
            data = transformer.along(device, data, outer + rank - 1, false)?;
        }
        data = transformer.cropped(device, &data, &complex)?;
        if data.num_elements() > 0 {
            for axis in (outer..outer + rank - 1).rev() {
                data = transformer.along(device, data, axis, false)?;
            }
        }
        ctx.set_output(0, data);
        Ok(())
    })
}

fn make_to_real(init: &KernelInit<'_>, rank: usize) -> Result<Arc<dyn Kernel>> {
    let transformer = Transformer::new(init)?;
    from_fn(move |ctx| {
        let (real, complex) = lengths(ctx, rank, true)?;
        let input = ctx.input(0)?.clone();
        let outer = input.rank() - rank;
        let shape = Shape::new(&[&input.shape()[..outer], &real].concat());
        let output = ctx.allocate_output(0, transformer.real, &shape)?.clone();
        let n = output.num_elements();
        if n == 0 {
            return Ok(());
        }
        let device = GpuDevice::of(ctx.device())?;
        let mut data = transformer.cropped(device, &input, &complex)?;
        for axis in (outer..outer + rank - 1).rev() {
            data = transformer.along(device, data, axis, true)?;
        }
        let whole = device.allocate(transformer.dtype, &shape)?;
        let length = shape[shape.rank() - 1];
        let at =
            |tensor: &Tensor| -> Result<Argument<'static>> { device.address(tensor).map(|address: Address| Argument::Address(address)) };
        let (count, grid) = (Argument::U64(n as u64), device.linear_grid(n));
        transformer.mirror.launch(device, grid, &[at(&whole)?, at(&data)?, count, Argument::U32(word(length)?)])?;
        let data = transformer.along(device, whole, outer + rank - 1, true)?;
        transformer.real_parts.launch(device, grid, &[at(&output)?, at(&data)?, count])
    })
}
