//! Fourier transforms along the last one, two or three dimensions, by `rustfft`.

use crate::from_fn::expensive_from_fn;
use flowmill_runtime::{Kernel, KernelContext, KernelInit, KernelRegistry};
use flowmill_tensor::{Complex, DType, Element, Result, Shape, Tensor, bail, for_dtype};
use parking_lot::Mutex;
use rustfft::{Fft, FftNum, FftPlanner};
use std::sync::Arc;

/// Registers the family.
pub fn register(registry: &mut KernelRegistry) {
    registry.add("FFT", make_complex::<1, false>);
    registry.add("FFT2D", make_complex::<2, false>);
    registry.add("FFT3D", make_complex::<3, false>);
    registry.add("IFFT", make_complex::<1, true>);
    registry.add("IFFT2D", make_complex::<2, true>);
    registry.add("IFFT3D", make_complex::<3, true>);
    registry.add("IRFFT", make_irfft::<1>);
    registry.add("IRFFT2D", make_irfft::<2>);
    registry.add("IRFFT3D", make_irfft::<3>);
    registry.add("RFFT", make_rfft::<1>);
    registry.add("RFFT2D", make_rfft::<2>);
    registry.add("RFFT3D", make_rfft::<3>);
}

/// A real type, and the complex one with parts of it.
trait Real: Element + FftNum {}

impl Real for f32 {}
impl Real for f64 {}

/// Transforms by length; a length's plan is made once.
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

    /// Transforms each of the rows of `len` values that `data` consists of; the inverse divides by the length.
    fn rows(&self, data: &mut [Complex<R>], len: usize) {
        if len < 2 || data.is_empty() {
            return;
        }
        self.get(len).process(data);
        if self.inverse {
            let scale = R::one() / R::from_usize(len).unwrap_or_else(R::one);
            data.iter_mut().for_each(|v| *v = *v * scale);
        }
    }

    /// Transforms along the dimensions of the blocks of `sizes` that `data` consists of, but for the last `skipped` of them.
    fn last_dims(&self, data: &mut [Complex<R>], sizes: &[usize], skipped: usize) {
        let each = sizes.iter().product::<usize>().max(1);
        // Each dimension is the last one in turn; what takes it to the front has all of them in order at the end.
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
    fn make<R: Real, const RANK: usize, const INVERSE: bool>() -> Result<Arc<dyn Kernel>>
    where
        Complex<R>: Element,
    {
        let plans = Plans::<R>::new(INVERSE);
        expensive_from_fn(move |ctx| {
            let mut data = ctx.take(0)?;
            let sizes = match data.shape().dims() {
                dims if dims.len() >= RANK => dims[dims.len() - RANK..].to_vec(),
                _ => bail!(InvalidArgument, "Input must have rank of at least {RANK} but got: {}", data.shape()),
            };
            let values = data.as_mut_slice::<Complex<R>>()?;
            plans.last_dims(values, &sizes, 0);
            ctx.set_output(0, data);
            Ok(())
        })
    }
    for_dtype!(init.dtype("Tcomplex")?, [Complex<f32>, Complex<f64>], T => make::<<T as Parts>::Real, RANK, INVERSE>(), _ => init.unsupported())
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

/// What a transform of real numbers is about: `RANK` last dimensions of its input, and the lengths that they shall have.
struct Lengths<const RANK: usize> {
    outer: Shape,
    input: [usize; RANK],
    real: [usize; RANK],
    /// The same for the complex numbers, which are half of them in the last dimension.
    complex: [usize; RANK],
}

impl<const RANK: usize> Lengths<RANK> {
    fn of(ctx: &KernelContext<'_>, is_inverse: bool) -> Result<Lengths<RANK>> {
        let shape = ctx.input(0)?.shape();
        let Some((outer, input)) = shape.dims().split_last_chunk::<RANK>() else {
            bail!(InvalidArgument, "Input must have rank of at least {RANK} but got: {shape}");
        };
        let wanted = ctx.input(1)?;
        if wanted.shape().dims() != [RANK] {
            bail!(InvalidArgument, "fft_length must have shape [{RANK}]");
        }
        let mut real = [0; RANK];
        for (i, (length, wanted)) in real.iter_mut().zip(wanted.to_i64_vec()?).enumerate() {
            let Ok(wanted) = usize::try_from(wanted) else { bail!(InvalidArgument, "fft_length[{i}] must >= 0, but got: {wanted}") };
            *length = wanted;
        }
        let mut complex = real;
        if let Some(last) = complex.last_mut()
            && *last > 0
        {
            *last = *last / 2 + 1;
        }
        for (i, (&len, &least)) in input.iter().zip(if is_inverse { &complex } else { &real }).enumerate() {
            if len < least {
                bail!(InvalidArgument, "Input dimension {} must have length of at least {least} but got: {len}", outer.len() + i);
            }
        }
        Ok(Lengths { outer: Shape::new(outer), input: *input, real, complex })
    }

    /// A tensor of zeros with these last dimensions.
    fn zeros(&self, dtype: DType, sizes: &[usize; RANK]) -> Result<Tensor> {
        let mut shape = self.outer.clone();
        sizes.iter().for_each(|&size| shape.push(size));
        Tensor::zeros(dtype, shape)
    }

    /// Calls `f` with each row of `to`, a block of `sizes`, and the row of `from`, one of the input, that has its place.
    fn each_row<A, B>(&self, to: &mut [A], sizes: &[usize; RANK], from: &[B], mut f: impl FnMut(&mut [A], &[B])) {
        let (width, from_width) = (sizes[RANK - 1], self.input[RANK - 1]);
        for (row, to) in to.chunks_exact_mut(width.max(1)).enumerate() {
            let (mut rest, mut start, mut stride) = (row, 0, 1);
            for axis in (0..RANK - 1).rev() {
                start += rest % sizes[axis] * stride;
                rest /= sizes[axis];
                stride *= self.input[axis];
            }
            f(to, &from[start * from_width..][..from_width]);
        }
    }
}

fn make_rfft<const RANK: usize>(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    fn make<R: Real, const RANK: usize>() -> Result<Arc<dyn Kernel>>
    where
        Complex<R>: Element,
    {
        let plans = Plans::<R>::new(false);
        expensive_from_fn(move |ctx| {
            let lengths = Lengths::<RANK>::of(ctx, false)?;
            let mut out = lengths.zeros(<Complex<R>>::DTYPE, &lengths.complex)?;
            if out.num_elements() == 0 {
                ctx.set_output(0, out);
                return Ok(());
            }
            let (length, each) = (lengths.real[RANK - 1], lengths.complex.iter().product());
            let mut row = vec![Complex::new(R::zero(), R::zero()); length];
            let inputs = ctx.input(0)?.as_slice::<R>()?.chunks_exact(lengths.input.iter().product());
            for (block, input) in out.as_mut_slice::<Complex<R>>()?.chunks_exact_mut(each).zip(inputs) {
                lengths.each_row(block, &lengths.complex, input, |target, source| {
                    row.iter_mut().zip(source).for_each(|(r, &s)| *r = Complex::new(s, R::zero()));
                    plans.rows(&mut row, length);
                    target.copy_from_slice(&row[..target.len()]);
                });
                plans.last_dims(block, &lengths.complex, 1);
            }
            ctx.set_output(0, out);
            Ok(())
        })
    }
    match_types(init, make::<f32, RANK>, make::<f64, RANK>)
}

fn make_irfft<const RANK: usize>(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    fn make<R: Real, const RANK: usize>() -> Result<Arc<dyn Kernel>>
    where
        Complex<R>: Element,
    {
        let plans = Plans::<R>::new(true);
        expensive_from_fn(move |ctx| {
            let lengths = Lengths::<RANK>::of(ctx, true)?;
            let mut out = lengths.zeros(R::DTYPE, &lengths.real)?;
            if out.num_elements() == 0 {
                ctx.set_output(0, out);
                return Ok(());
            }
            let (length, kept) = (lengths.real[RANK - 1], lengths.complex[RANK - 1]);
            let mut row = vec![Complex::new(R::zero(), R::zero()); length];
            let mut half = vec![Complex::new(R::zero(), R::zero()); lengths.complex.iter().product()];
            let each = lengths.real.iter().product();
            let inputs = ctx.input(0)?.as_slice::<Complex<R>>()?.chunks_exact(lengths.input.iter().product());
            for (target, input) in out.as_mut_slice::<R>()?.chunks_exact_mut(each).zip(inputs) {
                lengths.each_row(&mut half, &lengths.complex, input, |half, source| half.copy_from_slice(&source[..half.len()]));
                plans.last_dims(&mut half, &lengths.complex, 1);
                for (target, half) in target.chunks_exact_mut(length).zip(half.chunks_exact(kept)) {
                    for (k, &value) in half.iter().enumerate() {
                        row[k] = value;
                        // The other half mirrors the first one; what is its own mirror image stays.
                        let mirrored = (length - k) % length;
                        if mirrored != k {
                            row[mirrored] = value.conj();
                        }
                    }
                    plans.rows(&mut row, length);
                    target.iter_mut().zip(&row).for_each(|(t, r)| *t = r.re);
                }
            }
            ctx.set_output(0, out);
            Ok(())
        })
    }
    match_types(init, make::<f32, RANK>, make::<f64, RANK>)
}

type Make = fn() -> Result<Arc<dyn Kernel>>;

/// The kernel for the real type; the complex one has to have parts of it.
fn match_types(init: &KernelInit<'_>, single: Make, double: Make) -> Result<Arc<dyn Kernel>> {
    use flowmill_tensor::DType::{C64, C128, F32, F64};
    match (init.dtype("Treal")?, init.dtype("Tcomplex")?) {
        (F32, C64) => single(),
        (F64, C128) => double(),
        _ => init.unsupported(),
    }
}
