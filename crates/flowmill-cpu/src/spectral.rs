//! Fourier transforms along the last one, two or three dimensions, by `rustfft`.

use crate::from_fn::expensive_from_fn;
use flowmill_runtime::{Kernel, KernelContext, KernelInit, KernelRegistry};
use flowmill_tensor::{Complex, Element, Result, Shape, Tensor, bail, for_dtype};
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
    registry.add("IRFFT", make_irfft);
    registry.add("RFFT", make_rfft);
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
            // Each dimension is the last one in turn; a transform takes it to the front of those that are transformed.
            for &len in sizes.iter().rev() {
                plans.rows(values, len);
                if RANK > 1 {
                    let each = sizes.iter().product::<usize>();
                    for block in values.chunks_exact_mut(each.max(1)) {
                        let turned = transposed(block, each / len.max(1), len);
                        block.copy_from_slice(&turned);
                    }
                }
            }
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

/// The outer sizes of a tensor's rows, their length, and the length that the transform shall have; rows have to have what it `needs` of that.
fn lengths(ctx: &KernelContext<'_>, needs: fn(usize) -> usize) -> Result<(Shape, usize, usize)> {
    let input = ctx.input(0)?;
    let &[ref outer @ .., len] = input.shape().dims() else {
        bail!(InvalidArgument, "Input must have rank of at least 1 but got: {}", input.shape());
    };
    let wanted = ctx.input(1)?;
    if wanted.shape().dims() != [1] {
        bail!(InvalidArgument, "fft_length must have shape [1]");
    }
    let wanted = wanted.to_i64_vec()?[0];
    let Ok(fft_length) = usize::try_from(wanted) else { bail!(InvalidArgument, "fft_length[0] must >= 0, but got: {wanted}") };
    if len < needs(fft_length) {
        let (axis, least) = (outer.len(), needs(fft_length));
        bail!(InvalidArgument, "Input dimension {axis} must have length of at least {least} but got: {len}");
    }
    Ok((Shape::new(outer), len, fft_length))
}

fn make_rfft(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    fn make<R: Real>() -> Result<Arc<dyn Kernel>>
    where
        Complex<R>: Element,
    {
        let plans = Plans::<R>::new(false);
        expensive_from_fn(move |ctx| {
            let (mut shape, len, fft_length) = lengths(ctx, |n| n)?;
            let kept = if fft_length == 0 { 0 } else { fft_length / 2 + 1 };
            shape.push(kept);
            let mut out = Tensor::zeros(<Complex<R>>::DTYPE, shape)?;
            if out.num_elements() == 0 {
                ctx.set_output(0, out);
                return Ok(());
            }
            let mut row = vec![Complex::new(R::zero(), R::zero()); fft_length];
            let rows = ctx.input(0)?.as_slice::<R>()?.chunks_exact(len.max(1));
            for (target, source) in out.as_mut_slice::<Complex<R>>()?.chunks_exact_mut(kept.max(1)).zip(rows) {
                row.fill(Complex::new(R::zero(), R::zero()));
                row.iter_mut().zip(source).for_each(|(r, &s)| r.re = s);
                plans.rows(&mut row, fft_length);
                target.copy_from_slice(&row[..kept]);
            }
            ctx.set_output(0, out);
            Ok(())
        })
    }
    match_types(init, make::<f32>, make::<f64>)
}

fn make_irfft(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    fn make<R: Real>() -> Result<Arc<dyn Kernel>>
    where
        Complex<R>: Element,
    {
        let plans = Plans::<R>::new(true);
        expensive_from_fn(move |ctx| {
            let (mut shape, len, fft_length) = lengths(ctx, |n| if n == 0 { 0 } else { n / 2 + 1 })?;
            shape.push(fft_length);
            let mut out = Tensor::zeros(R::DTYPE, shape)?;
            if out.num_elements() == 0 {
                ctx.set_output(0, out);
                return Ok(());
            }
            let mut row = vec![Complex::new(R::zero(), R::zero()); fft_length];
            let rows = ctx.input(0)?.as_slice::<Complex<R>>()?.chunks_exact(len.max(1));
            for (target, source) in out.as_mut_slice::<R>()?.chunks_exact_mut(fft_length.max(1)).zip(rows) {
                row.fill(Complex::new(R::zero(), R::zero()));
                for (k, &value) in source.iter().enumerate().take(fft_length / 2 + 1) {
                    row[k] = value;
                    // The other half mirrors the first one; what is its own mirror image stays.
                    let mirrored = (fft_length - k) % fft_length;
                    if mirrored != k {
                        row[mirrored] = value.conj();
                    }
                }
                plans.rows(&mut row, fft_length);
                target.iter_mut().zip(&row).for_each(|(t, r)| *t = r.re);
            }
            ctx.set_output(0, out);
            Ok(())
        })
    }
    match_types(init, make::<f32>, make::<f64>)
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
