//! `DecodeCompressed`, which decompresses strings.

use crate::from_fn::from_fn;
use flate2::bufread::{GzDecoder, ZlibDecoder};
use flowmill_runtime::{Kernel, KernelInit, KernelRegistry};
use flowmill_tensor::{Bytes, Result, bail, error};
use std::io::Read;
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("DecodeCompressed", make);
}

fn make(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let kind = init.attrs.get_or("compression_type", "")?.to_owned();
    if !matches!(kind.as_str(), "" | "ZLIB" | "GZIP") {
        bail!(InvalidArgument, "Only ZLIB, GZIP or NONE are supported compressions");
    }
    from_fn(move |ctx| {
        let input = ctx.input(0)?;
        let output = input.as_strings()?.iter().map(|text| match kind.as_str() {
            "ZLIB" => inflated(ZlibDecoder::new(text.as_ref())),
            "GZIP" => inflated(GzDecoder::new(text.as_ref())),
            _ => Ok(text.clone()),
        });
        let output = ctx.allocator().from_strings(input.shape().clone(), output.collect::<Result<_>>()?)?;
        ctx.set_output(0, output);
        Ok(())
    })
}

/// Returns the decoder's output, which may not exceed the memory limit.
fn inflated(decoder: impl Read) -> Result<Bytes> {
    let limit = flowmill_tensor::memory_limit() as u64;
    let mut out = Vec::new();
    decoder.take(limit.saturating_add(1)).read_to_end(&mut out).map_err(|e| error!(DataLoss, "inflate() failed: {e}"))?;
    if out.len() as u64 > limit {
        bail!(ResourceExhausted, "OOM when decompressing a string to more than {limit} bytes");
    }
    Ok(out.into())
}
