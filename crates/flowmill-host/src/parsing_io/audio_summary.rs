//! `AudioSummary`, which encodes sounds as WAV files for event files.

use crate::from_fn::from_fn;
use flowmill_codecs::wav;
use flowmill_proto::summary::{Audio, Value, value};
use flowmill_proto::{Message, Summary};
use flowmill_runtime::{Kernel, KernelInit, KernelRegistry};
use flowmill_tensor::{Result, bail};
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("AudioSummary", |init| make(init, Some(init.attrs.get("sample_rate")?)));
    registry.add("AudioSummaryV2", |init| make(init, None));
}

/// Makes the kernel. Inputs: tag, sounds `[batch, times]` or `[batch, times, channels]`, and the sample rate in Hz unless it is `given`.
fn make(init: &KernelInit<'_>, given: Option<f32>) -> Result<Arc<dyn Kernel>> {
    let max_outputs: i64 = init.attrs.get_or("max_outputs", 3)?;
    from_fn(move |ctx| {
        let (tag, sounds) = (ctx.input(0)?, ctx.input(1)?);
        let (0, [tag]) = (tag.rank(), tag.as_strings()?) else { bail!(InvalidArgument, "Tag must be a scalar") };
        let tag = String::from_utf8_lossy(tag);
        let (batch, times, channels) = match *sounds.shape().dims() {
            [batch, times] => (batch, times, 1),
            [batch, times, channels] => (batch, times, channels),
            _ => bail!(InvalidArgument, "Tensor must be 3-D or 2-D, got: {}", sounds.shape()),
        };
        let sample_rate = match given {
            Some(rate) => rate,
            None if ctx.input(2)?.rank() == 0 => ctx.input(2)?.to_scalar::<f32>()?,
            None => bail!(InvalidArgument, "sample_rate must be rank-0, got: {}", ctx.input(2)?.shape()),
        };
        if sample_rate.is_nan() || sample_rate <= 0.0 {
            bail!(InvalidArgument, "sample_rate must be > 0");
        }
        let samples = sounds.as_slice::<f32>()?;
        let mut summary = Summary::default();
        for i in 0..batch.min(usize::try_from(max_outputs).unwrap_or(0)) {
            let each = times * channels;
            let file = wav::encode(&samples[i * each..][..each], times, channels, (sample_rate.round_ties_even() as i64).max(1))?;
            let audio = Audio {
                sample_rate,
                num_channels: channels as i64,
                length_frames: times as i64,
                encoded_audio_string: file,
                content_type: "audio/wav".to_owned(),
                ..Audio::default()
            };
            let tag = if max_outputs > 1 { format!("{tag}/audio/{i}") } else { format!("{tag}/audio") };
            summary.value.push(Value { tag, value: Some(value::Value::Audio(audio)), ..Value::default() });
        }
        ctx.set_output(0, ctx.allocator().string(summary.encode_to_vec())?);
        Ok(())
    })
}
