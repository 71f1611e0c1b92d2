//! `Mfcc`: the mel-frequency cepstral coefficients of a spectrogram of squared magnitudes.

use crate::from_fn::from_fn;
use flowmill_runtime::{Kernel, KernelContext, KernelInit, KernelRegistry};
use flowmill_tensor::{DType, Result, bail};
use std::f64::consts::PI;
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("Mfcc", make);
}

/// The lower bound for the energy of a band, so that its logarithm is finite.
const FLOOR: f64 = 1e-12;

/// The attributes of the op.
struct Mfcc {
    upper: f64,
    lower: f64,
    bands: usize,
    coefficients: usize,
}

fn make(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let count = |name: &str, default: i64| -> Result<usize> {
        let value = init.attrs.get_or(name, default)?;
        match usize::try_from(value) {
            Ok(n) if n >= 1 && n < i32::MAX as usize => Ok(n),
            _ => bail!(InvalidArgument, "Mfcc initialization failed: {name} must be positive, got {value}"),
        }
    };
    let mfcc = Mfcc {
        upper: f64::from(init.attrs.get_or("upper_frequency_limit", 4000f32)?),
        lower: f64::from(init.attrs.get_or("lower_frequency_limit", 20f32)?),
        bands: count("filterbank_channel_count", 40)?,
        coefficients: count("dct_coefficient_count", 13)?,
    };
    if mfcc.coefficients > mfcc.bands {
        bail!(InvalidArgument, "Mfcc initialization failed: {} coefficients of {} bands", mfcc.coefficients, mfcc.bands);
    }
    if !(mfcc.lower >= 0.0 && mfcc.upper > mfcc.lower) {
        bail!(InvalidArgument, "Mfcc initialization failed: frequencies from {} to {}", mfcc.lower, mfcc.upper);
    }
    from_fn(move |ctx| mfcc.compute(ctx))
}

fn mel(frequency: f64) -> f64 {
    1127.0 * (frequency / 700.0).ln_1p()
}

/// Triangular bands of equal width on the mel scale. Each extends from the centre of the previous band to the centre of the next one.
struct Bands {
    /// For each frequency from `first` on: the band, counted from 1, on whose falling side it is, and its weight there. The remaining weight
    /// belongs to the next band.
    weights: Vec<(usize, f64)>,
    first: usize,
    count: usize,
}

impl Bands {
    /// Returns the bands of spectra with `length` frequencies. There are no weights if the limits exceed the end of the spectrum, because
    /// TensorFlow's energies are then zero.
    fn new(mfcc: &Mfcc, length: usize, sample_rate: f64) -> Bands {
        let (low, high) = (mel(mfcc.lower), mel(mfcc.upper));
        let spacing = (high - low) / (mfcc.bands + 1) as f64;
        let centre = |i: usize| low + spacing * (i + 1) as f64;
        let width = 0.5 * sample_rate / (length - 1) as f64;
        let (first, last) = ((1.5 + mfcc.lower / width) as usize, (mfcc.upper / width) as usize);
        let mut weights = Vec::new();
        let mut band = 0;
        if last < length {
            for i in first..=last {
                let at = mel(i as f64 * width);
                while band < mfcc.bands && centre(band) < at {
                    band += 1;
                }
                let before = if band == 0 { low } else { centre(band - 1) };
                weights.push((band, (centre(band) - at) / (centre(band) - before)));
            }
        }
        Bands { weights, first, count: mfcc.bands }
    }

    /// Computes the energy of each band of a spectrum.
    fn energies(&self, spectrum: &[f32], energies: &mut [f64]) {
        energies.fill(0.0);
        for (&(band, weight), &power) in self.weights.iter().zip(spectrum.get(self.first..).unwrap_or_default()) {
            let magnitude = f64::from(power).sqrt();
            let falling = magnitude * weight;
            if band > 0 {
                energies[band - 1] += falling;
            }
            if band < self.count {
                energies[band] += magnitude - falling;
            }
        }
    }
}

impl Mfcc {
    /// Converts `[channels, windows, frequencies]` to `[channels, windows, coefficients]`.
    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let (spectra, rate) = (ctx.input(0)?, ctx.input(1)?);
        let &[channels, windows, length] = spectra.shape().dims() else {
            bail!(InvalidArgument, "spectrogram must be 3-dimensional{}", spectra.shape());
        };
        if rate.rank() != 0 {
            bail!(InvalidArgument, "Input sample_rate should be a scalar tensor, got {} instead.", rate.shape());
        }
        let rate = rate.to_scalar::<i32>()?;
        if length < 2 || rate <= 0 {
            bail!(
                InvalidArgument,
                "Mfcc initialization failed for channel count {length}, sample rate {rate} and filterbank_channel_count {}",
                self.bands
            );
        }
        let mut output = ctx.allocator().uninit(DType::F32, [channels, windows, self.coefficients])?;
        if output.num_elements() > 0 {
            let _reserved = ctx.allocator().reserve::<f64>(self.bands.saturating_mul(self.coefficients))?;
            let bands = Bands::new(self, length, f64::from(rate));
            let (norm, step) = ((2.0 / self.bands as f64).sqrt(), PI / self.bands as f64);
            let cosines: Vec<f64> = (0..self.coefficients)
                .flat_map(|i| (0..self.bands).map(move |j| norm * (i as f64 * step * (j as f64 + 0.5)).cos()))
                .collect();
            let mut energies = vec![0.0; self.bands];
            let spectra = spectra.as_slice::<f32>()?.chunks_exact(length);
            for (out, spectrum) in output.as_mut_slice::<f32>()?.chunks_exact_mut(self.coefficients).zip(spectra) {
                bands.energies(spectrum, &mut energies);
                let has_energies = !bands.weights.is_empty();
                energies.iter_mut().for_each(|e| *e = if has_energies { e.max(FLOOR).ln() } else { 0.0 });
                for (out, cosines) in out.iter_mut().zip(cosines.chunks_exact(self.bands)) {
                    *out = cosines.iter().zip(&energies).map(|(c, e)| c * e).sum::<f64>() as f32;
                }
            }
        }
        ctx.set_output(0, output);
        Ok(())
    }
}
