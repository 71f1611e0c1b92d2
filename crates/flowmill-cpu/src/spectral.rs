//! Fourier transforms along the last one, two or three dimensions or along any dimensions, computed by `rustfft`.

mod plans;

use crate::array::permuted;
use crate::from_fn::from_fn;
use crate::parallel;
use flowmill_runtime::{Kernel, KernelContext, KernelInit, KernelRegistry};
use flowmill_tensor::{Allocator, Complex, DType, Element, Result, Shape, Tensor, bail, for_dtype};
use plans::Plans;
use rustfft::FftNum;
use std::sync::Arc;

/// Registers the kernels of this family.
pub(crate) fn register(registry: &mut KernelRegistry) {
    for op in ["FFT", "BatchFFT"] {
        registry.add(op, make_complex::<1, false>);
    }
    for op in ["FFT2D", "BatchFFT2D"] {
        registry.add(op, make_complex::<2, false>);
    }
    for op in ["FFT3D", "BatchFFT3D"] {
        registry.add(op, make_complex::<3, false>);
    }
    registry.add("FFTND", make_complex_nd::<false>);
    for op in ["IFFT", "BatchIFFT"] {
        registry.add(op, make_complex::<1, true>);
    }
    for op in ["IFFT2D", "BatchIFFT2D"] {
        registry.add(op, make_complex::<2, true>);
    }
    for op in ["IFFT3D", "BatchIFFT3D"] {
        registry.add(op, make_complex::<3, true>);
    }
    registry.add("IFFTND", make_complex_nd::<true>);
    registry.add("IRFFT", |init| make_irfft(init, Axes::Last(1)));
    registry.add("IRFFT2D", |init| make_irfft(init, Axes::Last(2)));
    registry.add("IRFFT3D", |init| make_irfft(init, Axes::Last(3)));
    registry.add("IRFFTND", |init| make_irfft(init, Axes::Named));
    registry.add("RFFT", |init| make_rfft(init, Axes::Last(1)));
    registry.add("RFFT2D", |init| make_rfft(init, Axes::Last(2)));
    registry.add("RFFT3D", |init| make_rfft(init, Axes::Last(3)));
    registry.add("RFFTND", |init| make_rfft(init, Axes::Named));
}

/// A real type that can be the parts of a complex type.
trait Real: Element + FftNum {}

impl Real for f32 {}
impl Real for f64 {}

fn make_complex<const RANK: usize, const INVERSE: bool>(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    fn make<R: Real>(rank: usize, inverse: bool) -> Result<Arc<dyn Kernel>>
    where
        Complex<R>: Element,
    {
        let plans = Plans::<R>::new(inverse);
        from_fn(move |ctx| {
            let mut data = ctx.take_writable(0)?;
            let sizes = match data.shape().dims() {
                dims if dims.len() >= rank => dims[dims.len() - rank..].to_vec(),
                _ => bail!(InvalidArgument, "Input must have rank of at least {rank} but got: {}", data.shape()),
            };
            let values = data.as_mut_slice::<Complex<R>>()?;
            plans.last_dims(values, &sizes, 0);
            ctx.set_output(0, data);
            Ok(())
        })
    }
    // The first versions of these ops have only `complex64`.
    for_dtype!(init.attrs.get_or("Tcomplex", DType::C64)?, [Complex<f32>, Complex<f64>], T => make::<<T as Parts>::Real>(RANK, INVERSE), _ => init.unsupported())
}

/// Makes the kernel of `FFTND` and `IFFTND`.
fn make_complex_nd<const INVERSE: bool>(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    fn make<R: Real>(inverse: bool) -> Result<Arc<dyn Kernel>>
    where
        Complex<R>: Element,
    {
        let plans = Plans::<R>::new(inverse);
        from_fn(move |ctx| {
            let call = Call::of(ctx, Axes::Named, Kind::Complex)?;
            let mut out = call.zeros(ctx.allocator(), <Complex<R>>::DTYPE, &call.complex)?;
            if out.num_elements() > 0 {
                let values = out.as_mut_slice::<Complex<R>>()?;
                call.copy_blocks(values, &call.complex)?;
                plans.last_dims(values, &call.complex, 0);
            }
            call.finish(ctx, out)
        })
    }
    for_dtype!(init.dtype("Tcomplex")?, [Complex<f32>, Complex<f64>], T => make::<<T as Parts>::Real>(INVERSE), _ => init.unsupported())
}

/// The type of a complex number's parts.
trait Parts {
    type Real;
}

impl<R> Parts for Complex<R> {
    type Real = R;
}

/// Copies the elements of `from` to the front of `to`.
fn copy_front<T: Copy>(to: &mut [T], from: &[T]) {
    to.iter_mut().zip(from).for_each(|(to, &from)| *to = from);
}

/// The dimensions along which a kernel transforms.
#[derive(Clone, Copy)]
enum Axes {
    /// So many of the last dimensions, which must be at least as large as the lengths.
    Last(usize),
    /// The dimensions that the third input names. They are padded with zeros if they are smaller than the lengths.
    Named,
}

/// The types of numbers between which a transform maps.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Complex,
    RealToComplex,
    ComplexToReal,
}

/// The input and the requested lengths of a transform along the last dimensions of `input`.
struct Call {
    /// The kernel's input, whose transformed dimensions were moved behind the others.
    input: Tensor,
    /// The original positions of the dimensions of `input`, if they were permuted.
    order: Option<Vec<usize>>,
    outer: Shape,
    sizes: Vec<usize>,
    real: Vec<usize>,
    /// The lengths on the complex side. If the other side is real, the last length is half of the real one plus one.
    complex: Vec<usize>,
}

impl Call {
    fn of(ctx: &KernelContext<'_>, axes: Axes, kind: Kind) -> Result<Call> {
        let mut input = ctx.input(0)?.clone();
        let mut order = None;
        let rank = match axes {
            Axes::Last(rank) => rank,
            Axes::Named => {
                let axes = named_axes(&input, ctx.input(2)?)?;
                let mut moved: Vec<usize> = (0..input.rank()).filter(|axis| !axes.contains(axis)).collect();
                moved.extend(&axes);
                if !moved.is_sorted() {
                    input = permuted(ctx.allocator(), &input, &moved)?;
                    order = Some(moved);
                }
                axes.len()
            }
        };
        let Some(outer) = input.rank().checked_sub(rank) else {
            bail!(InvalidArgument, "Input must have rank of at least {rank} but got: {}", input.shape());
        };
        let real = lengths(ctx.input(1)?, rank)?;
        if rank == 0 && kind != Kind::Complex {
            bail!(InvalidArgument, "axes must name a dimension at least");
        }
        let mut complex = real.clone();
        if let Some(last) = complex.last_mut()
            && kind != Kind::Complex
            && *last > 0
        {
            *last = *last / 2 + 1;
        }
        let (outer, sizes) = input.shape().dims().split_at(outer);
        if let Axes::Last(_) = axes {
            for (i, (&len, &least)) in sizes.iter().zip(if kind == Kind::ComplexToReal { &complex } else { &real }).enumerate() {
                if len < least {
                    bail!(InvalidArgument, "Input dimension {} must have length of at least {least} but got: {len}", outer.len() + i);
                }
            }
        }
        let (outer, sizes) = (Shape::new(outer), sizes.to_vec());
        Ok(Call { input, order, outer, sizes, real, complex })
    }

    /// Returns a tensor of zeros with these last dimensions.
    fn zeros(&self, alloc: &Allocator, dtype: DType, sizes: &[usize]) -> Result<Tensor> {
        let mut shape = self.outer.clone();
        sizes.iter().for_each(|&size| shape.push(size));
        alloc.zeros(dtype, shape)
    }

    /// Returns the row of `from`, the input's elements, at the index of row `i` of a tensor whose blocks have these sizes. The row is empty if the input has none
    /// there.
    fn row<'a, T>(&self, from: &'a [T], sizes: &[usize], i: usize) -> &'a [T] {
        let outer = sizes.iter().zip(&self.sizes).rev().skip(1);
        let width = self.sizes.last().copied().unwrap_or(1);
        let (mut rest, mut start, mut stride, mut is_there) = (i, 0, 1, true);
        for (&size, &from_size) in outer {
            is_there &= rest % size < from_size;
            start += rest % size * stride;
            rest /= size;
            stride *= from_size;
        }
        start += rest * stride;
        if is_there { &from[start * width..][..width] } else { &[] }
    }

    /// Copies each block of the input to the front of a block of `to`, whose sizes are `sizes`.
    fn copy_blocks<T: Element>(&self, to: &mut [T], sizes: &[usize]) -> Result<()> {
        let from = self.input.as_slice::<T>()?;
        let width = sizes.last().copied().unwrap_or(1);
        for (i, row) in to.chunks_exact_mut(width).enumerate() {
            copy_front(row, self.row(from, sizes, i));
        }
        Ok(())
    }

    /// Sets the kernel's output, with the dimensions in their original order.
    fn finish(self, ctx: &mut KernelContext<'_>, out: Tensor) -> Result<()> {
        let out = match self.order {
            Some(order) => {
                let mut back = vec![0; order.len()];
                order.iter().enumerate().for_each(|(to, &from)| back[from] = to);
                permuted(ctx.allocator(), &out, &back)?
            }
            None => out,
        };
        ctx.set_output(0, out);
        Ok(())
    }
}

/// Returns the dimensions of `input` that a tensor names, which must be distinct.
fn named_axes(input: &Tensor, axes: &Tensor) -> Result<Vec<usize>> {
    if axes.rank() != 1 {
        bail!(InvalidArgument, "axes must be a vector, but got shape {}", axes.shape());
    }
    let rank = input.rank();
    if axes.num_elements() > rank {
        bail!(InvalidArgument, "Input must have rank of at least {} but got: {}", axes.num_elements(), input.shape());
    }
    let mut found = Vec::with_capacity(axes.num_elements());
    for axis in axes.to_i64_vec()? {
        match input.shape().axis(axis) {
            Some(axis) if found.contains(&axis) => bail!(InvalidArgument, "axes must be unique, but {axis} occurs twice"),
            Some(axis) => found.push(axis),
            None => bail!(InvalidArgument, "axes must be in the range [-{rank}, {rank}), but got: {axis}"),
        }
    }
    Ok(found)
}

/// Returns the lengths of `rank` dimensions in a tensor.
fn lengths(wanted: &Tensor, rank: usize) -> Result<Vec<usize>> {
    if wanted.shape().dims() != [rank] {
        bail!(InvalidArgument, "fft_length must have shape [{rank}]");
    }
    let mut lengths = Vec::with_capacity(rank);
    for (i, wanted) in wanted.to_i64_vec()?.into_iter().enumerate() {
        let Ok(wanted) = usize::try_from(wanted) else { bail!(InvalidArgument, "fft_length[{i}] must >= 0, but got: {wanted}") };
        lengths.push(wanted);
    }
    Ok(lengths)
}

fn make_rfft(init: &KernelInit<'_>, axes: Axes) -> Result<Arc<dyn Kernel>> {
    fn make<R: Real>(axes: Axes) -> Result<Arc<dyn Kernel>>
    where
        Complex<R>: Element,
    {
        let plans = Plans::<R>::new(false);
        from_fn(move |ctx| {
            let call = Call::of(ctx, axes, Kind::RealToComplex)?;
            let mut out = call.zeros(ctx.allocator(), <Complex<R>>::DTYPE, &call.complex)?;
            if out.num_elements() == 0 {
                return call.finish(ctx, out);
            }
            let (length, kept) = (call.real.last().copied().unwrap_or(0), call.complex.last().copied().unwrap_or(1));
            let (input, transform) = (call.input.as_slice::<R>()?, plans.of_len(length));
            let values = out.as_mut_slice::<Complex<R>>()?;
            let state = || (vec![Complex::default(); length], transform.scratch());
            parallel::rows(values, kept, transform.nanoseconds(), state, |i, target, (row, scratch)| {
                let source = call.row(input, &call.complex, i);
                row.iter_mut().zip(source).for_each(|(r, &s)| *r = Complex::new(s, R::zero()));
                row[source.len().min(length)..].fill(Complex::default());
                transform.run(row, scratch);
                target.copy_from_slice(&row[..kept]);
            });
            plans.last_dims(values, &call.complex, 1);
            call.finish(ctx, out)
        })
    }
    match_types(init, axes, make::<f32>, make::<f64>)
}

fn make_irfft(init: &KernelInit<'_>, axes: Axes) -> Result<Arc<dyn Kernel>> {
    fn make<R: Real>(axes: Axes) -> Result<Arc<dyn Kernel>>
    where
        Complex<R>: Element,
    {
        let plans = Plans::<R>::new(true);
        from_fn(move |ctx| {
            let call = Call::of(ctx, axes, Kind::ComplexToReal)?;
            let mut out = call.zeros(ctx.allocator(), R::DTYPE, &call.real)?;
            let (Some(&length), Some(&kept)) = (call.real.last(), call.complex.last()) else { return call.finish(ctx, out) };
            if out.num_elements() == 0 {
                return call.finish(ctx, out);
            }
            let mut halves = None;
            if call.real.len() > 1 {
                let mut padded = call.zeros(ctx.allocator(), <Complex<R>>::DTYPE, &call.complex)?;
                let values = padded.as_mut_slice::<Complex<R>>()?;
                call.copy_blocks(values, &call.complex)?;
                plans.last_dims(values, &call.complex, 1);
                halves = Some(padded);
            }
            // Without other dimensions, the rows of the input may be longer or shorter than those of the transform.
            let stride = if halves.is_some() { kept } else { call.sizes.last().copied().unwrap_or(kept) };
            let halves = halves.as_ref().unwrap_or(&call.input).as_slice::<Complex<R>>()?;
            let transform = plans.of_len(length);
            let state = || (vec![Complex::default(); length], transform.scratch());
            parallel::rows(out.as_mut_slice::<R>()?, length, transform.nanoseconds(), state, |i, target, (row, scratch)| {
                let half = &halves[i * stride..][..stride];
                let (first, second) = row.split_at_mut(kept);
                first[half.len().min(kept)..].fill(Complex::default());
                copy_front(first, half);
                // The second half mirrors the first one, whose elements that are their own mirror images are kept.
                second.iter_mut().rev().zip(&first[1..]).for_each(|(mirrored, value)| *mirrored = value.conj());
                transform.run(row, scratch);
                target.iter_mut().zip(row).for_each(|(t, r)| *t = r.re);
            });
            call.finish(ctx, out)
        })
    }
    match_types(init, axes, make::<f32>, make::<f64>)
}

type Make = fn(Axes) -> Result<Arc<dyn Kernel>>;

/// Makes the kernel for the real type. The complex type must consist of parts of that type.
fn match_types(init: &KernelInit<'_>, axes: Axes, single: Make, double: Make) -> Result<Arc<dyn Kernel>> {
    use flowmill_tensor::DType::{C64, C128, F32, F64};
    match (init.dtype("Treal")?, init.dtype("Tcomplex")?) {
        (F32, C64) => single(axes),
        (F64, C128) => double(axes),
        _ => init.unsupported(),
    }
}
