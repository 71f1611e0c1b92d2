//! `AudioSpectrogram`: the magnitude of each frequency in windows of an audio signal.

use crate::from_fn::from_fn;
use flowmill_runtime::{Kernel, KernelContext, KernelInit, KernelRegistry};
use flowmill_tensor::{Complex, DType, Result, bail};
use rustfft::{Fft, FftPlanner};
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("AudioSpectrogram", make);
}

/// The size of the largest window, so that its transform fits into memory.
const MAX_WINDOW: usize = 1 << 24;

struct Spectrogram {
    /// A periodic Hann window.
    window: Vec<f64>,
    stride: usize,
    is_squared: bool,
    transform: Arc<dyn Fft<f64>>,
}

fn make(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let (size, stride): (i64, i64) = (init.attrs.get("window_size")?, init.attrs.get("stride")?);
    let (Some(size), Some(stride)) =
        (usize::try_from(size).ok().filter(|&n| (2..=MAX_WINDOW).contains(&n)), usize::try_from(stride).ok().filter(|&n| n >= 1))
    else {
        bail!(InvalidArgument, "Spectrogram initialization failed for window size {size} and stride {stride}")
    };
    let spectrogram = Spectrogram {
        window: (0..size).map(|i| 0.5 - 0.5 * (2.0 * std::f64::consts::PI * i as f64 / size as f64).cos()).collect(),
        stride,
        is_squared: init.attrs.get_or("magnitude_squared", false)?,
        transform: FftPlanner::new().plan_fft_forward(size.next_power_of_two()),
    };
    from_fn(move |ctx| spectrogram.compute(ctx))
}

impl Spectrogram {
    /// Converts `[samples, channels]` to `[channels, windows, frequencies]`.
    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let input = ctx.input(0)?;
        let &[samples, channels] = input.shape().dims() else { bail!(InvalidArgument, "input must be 2-dimensional{}", input.shape()) };
        let windows = samples.checked_sub(self.window.len()).map_or(0, |rest| rest / self.stride + 1);
        let length = self.transform.len();
        let frequencies = length / 2 + 1;
        let sound = input.as_slice::<f32>()?;
        let _reserved = ctx.allocator().reserve::<Complex<f64>>(2 * length)?;
        let mut output = ctx.allocator().uninit(DType::F32, [channels, windows, frequencies])?;
        let mut frame = vec![Complex::new(0.0, 0.0); length];
        let mut scratch = vec![Complex::new(0.0, 0.0); self.transform.get_inplace_scratch_len()];
        for (row, out) in output.as_mut_slice::<f32>()?.chunks_exact_mut(frequencies).enumerate() {
            let (channel, first) = (row / windows, row % windows * self.stride);
            frame.fill(Complex::new(0.0, 0.0));
            for (i, (to, weight)) in frame.iter_mut().zip(&self.window).enumerate() {
                to.re = f64::from(sound[(first + i) * channels + channel]) * weight;
            }
            self.transform.process_with_scratch(&mut frame, &mut scratch);
            for (out, bin) in out.iter_mut().zip(&frame) {
                let power = bin.norm_sqr() as f32;
                *out = if self.is_squared { power } else { power.sqrt() };
            }
        }
        ctx.set_output(0, output);
        Ok(())
    }
}
