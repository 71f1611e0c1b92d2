//! `DecodeWav` and `EncodeWav`, for sound files of 16-bit samples (RIFF, WAVE, PCM).

use crate::from_fn::from_fn;
use flowmill_codecs::wav::{self, SCALE, Sound};
use flowmill_runtime::{Kernel, KernelContext, KernelInit, KernelRegistry};
use flowmill_tensor::{DType, Result, Tensor, bail};
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("DecodeWav", make_decode);
    registry.add("EncodeWav", |_| from_fn(encode));
}

/// Returns a desired number, or `None` for -1, which means the number that the file has.
fn desired(init: &KernelInit<'_>, name: &str) -> Result<Option<usize>> {
    match init.attrs.get_or(name, -1i64)? {
        -1 => Ok(None),
        n => match usize::try_from(n) {
            Ok(n) => Ok(Some(n)),
            Err(_) => bail!(InvalidArgument, "{name} must be >= -1, got {n}"),
        },
    }
}

/// Makes the kernel of `DecodeWav`. Outputs: samples between -1 and 1, `[times, channels]`, and the sample rate in Hz. Samples after the end are
/// zero, and channels that the file does not have are copies of its last one.
fn make_decode(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let (channels, times) = (desired(init, "desired_channels")?, desired(init, "desired_samples")?);
    from_fn(move |ctx| {
        let [file] = ctx.input(0)?.as_strings()? else {
            bail!(InvalidArgument, "contents must be scalar, got shape {}", ctx.input(0)?.shape());
        };
        if ctx.input(0)?.rank() != 0 {
            bail!(InvalidArgument, "contents must be scalar, got shape {}", ctx.input(0)?.shape());
        }
        let sound = Sound::read(file)?;
        let (channels, times) = (channels.unwrap_or(sound.channels), times.unwrap_or(sound.samples.len() / 2 / sound.channels));
        let mut out = ctx.allocator().zeros(DType::F32, [times, channels])?;
        if channels > 0 {
            let rows = out.as_mut_slice::<f32>()?.chunks_exact_mut(channels);
            for (row, time) in rows.zip(sound.samples.chunks_exact(2 * sound.channels)) {
                for (channel, value) in row.iter_mut().enumerate() {
                    let at = 2 * channel.min(sound.channels - 1);
                    *value = f32::from(i16::from_le_bytes([time[at], time[at + 1]])) / SCALE;
                }
            }
        }
        let rate = Tensor::scalar(sound.rate as i32);
        ctx.set_output(0, out);
        ctx.set_output(1, rate);
        Ok(())
    })
}

/// Computes `EncodeWav`. Inputs: samples `[times, channels]`, and the sample rate in Hz.
fn encode(ctx: &mut KernelContext<'_>) -> Result<()> {
    let (audio, rate) = (ctx.input(0)?, ctx.input(1)?);
    let &[times, channels] = audio.shape().dims() else { bail!(InvalidArgument, "audio must be 2-dimensional{}", audio.shape()) };
    if rate.rank() != 0 {
        bail!(InvalidArgument, "Input sample_rate should be a scalar tensor, got {} instead.", rate.shape());
    }
    let file = wav::encode(audio.as_slice()?, times, channels, rate.to_i64()?)?;
    ctx.set_output(0, ctx.allocator().string(file)?);
    Ok(())
}
