//! Fourier transforms along the last one, two or three dimensions or along any dimensions, computed by `rustfft`.

use crate::array::permuted;
use crate::from_fn::from_fn;
use flowmill_runtime::{Kernel, KernelContext, KernelInit, KernelRegistry};
use flowmill_tensor::sync::Mutex;
use flowmill_tensor::{Allocator, Complex, DType, Element, Result, Shape, Tensor, bail, for_dtype};
use rustfft::{Fft, FftNum, FftPlanner};
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

/// Transforms by length. The plan of a length is made once.
struct Plans<R: FftNum> {
    planner: Mutex<FftPlanner<R>>,
    inverse: bool,
}

impl<R: FftNum> Plans<R> {
    fn new(inverse: bool) -> Plans<R> {
        Plans { planner: Mutex::new(FftPlanner::new()), inverse }
    }

    fn get(&self, len: usize) -> Arc<dyn Fft<R>> {
        let mut planner = self.planner.lock();
        if self.inverse { planner.plan_fft_inverse(len) } else { planner.plan_fft_forward(len) }
    }

    /// Transforms each row of `len` values in `data`. The inverse transform divides by the length.
    fn rows(&self, data: &mut [Complex<R>], len: usize) {
        if len > 1 && !data.is_empty() {
            self.of_len(len)(data);
        }
    }

    /// Returns [`Plans::rows`] for many calls with one length.
    fn of_len(&self, len: usize) -> impl FnMut(&mut [Complex<R>]) {
        let plan = self.get(len);
        let mut scratch = vec![Complex::new(R::zero(), R::zero()); plan.get_inplace_scratch_len()];
        let scale = if self.inverse { R::from_usize(len).map(|len| R::one() / len) } else { None };
        move |data| {
            plan.process_with_scratch(data, &mut scratch);
            if let Some(scale) = scale {
                data.iter_mut().for_each(|v| *v = *v * scale);
            }
        }
    }

    /// Transforms along the dimensions of the blocks of `sizes` in `data`, except for the last `skipped` ones.
    fn last_dims(&self, data: &mut [Complex<R>], sizes: &[usize], skipped: usize) {
        let each = sizes.iter().product::<usize>().max(1);
        // Rotate the dimensions so that each is the last one in turn; at the end they are in their original order.
        for (i, &len) in sizes.iter().rev().enumerate() {
            if i >= skipped {
                self.rows(data, len);
            }
            if sizes.len() > 1 {
                for block in data.chunks_exact_mut(each) {
                    let turned = transposed(block, each / len.max(1), len);
                    block.copy_from_slice(&turned);
                }
            }
        }
    }
}

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

fn transposed<T: Copy>(matrix: &[T], rows: usize, columns: usize) -> Vec<T> {
    (0..columns).flat_map(|j| (0..rows).map(move |i| matrix[i * columns + j])).collect()
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

    /// Returns block `i` of the input.
    fn block<T: Element>(&self, i: usize) -> Result<&[T]> {
        let each = self.sizes.iter().product::<usize>();
        Ok(&self.input.as_slice::<T>()?[i * each..][..each])
    }

    /// Calls `f` with each row of `to`, a block of `sizes`, and the row of `from`, a block of the input, at the same index. The row is empty if the
    /// input has none there.
    fn each_row<A, B>(&self, to: &mut [A], sizes: &[usize], from: &[B], mut f: impl FnMut(&mut [A], &[B])) {
        let (Some((&width, outer)), Some((&from_width, from_outer))) = (sizes.split_last(), self.sizes.split_last()) else {
            return f(to, from);
        };
        for (row, to) in to.chunks_exact_mut(width.max(1)).enumerate() {
            let (mut rest, mut start, mut stride, mut is_there) = (row, 0, 1, true);
            for (&size, &from_size) in outer.iter().zip(from_outer).rev() {
                is_there &= rest % size < from_size;
                start += rest % size * stride;
                rest /= size;
                stride *= from_size;
            }
            f(to, if is_there { &from[start * from_width..][..from_width] } else { &[] });
        }
    }

    /// Copies each block of the input to the front of a block of `to`, whose sizes are `sizes`.
    fn copy_blocks<T: Element>(&self, to: &mut [T], sizes: &[usize]) -> Result<()> {
        for (i, block) in to.chunks_exact_mut(sizes.iter().product()).enumerate() {
            self.each_row(block, sizes, self.block(i)?, copy_front);
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
            let zero = Complex::new(R::zero(), R::zero());
            let length = call.real.last().copied().unwrap_or(0);
            let (mut row, mut transform) = (vec![zero; length], plans.of_len(length));
            let values = out.as_mut_slice::<Complex<R>>()?;
            for (i, block) in values.chunks_exact_mut(call.complex.iter().product()).enumerate() {
                call.each_row(block, &call.complex, call.block::<R>(i)?, |target, source| {
                    row.iter_mut().zip(source).for_each(|(r, &s)| *r = Complex::new(s, R::zero()));
                    row[source.len().min(length)..].fill(zero);
                    transform(&mut row);
                    target.copy_from_slice(&row[..target.len()]);
                });
            }
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
            let zero = Complex::new(R::zero(), R::zero());
            let (mut row, mut transform) = (vec![zero; length], plans.of_len(length));
            let mut from_half = |target: &mut [R], half: &[Complex<R>]| {
                for k in 0..kept {
                    let value = half.get(k).copied().unwrap_or(zero);
                    row[k] = value;
                    // The second half mirrors the first one; elements that are their own mirror image are kept.
                    let mirrored = (length - k) % length;
                    if mirrored != k {
                        row[mirrored] = value.conj();
                    }
                }
                transform(&mut row);
                target.iter_mut().zip(&row).for_each(|(t, r)| *t = r.re);
            };
            let targets = out.as_mut_slice::<R>()?.chunks_exact_mut(length);
            if call.real.len() == 1 {
                for (i, target) in targets.enumerate() {
                    from_half(target, call.block(i)?);
                }
            } else {
                let mut halves = call.zeros(ctx.allocator(), <Complex<R>>::DTYPE, &call.complex)?;
                let values = halves.as_mut_slice::<Complex<R>>()?;
                call.copy_blocks(values, &call.complex)?;
                plans.last_dims(values, &call.complex, 1);
                targets.zip(values.chunks_exact(kept)).for_each(|(target, half)| from_half(target, half));
            }
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
