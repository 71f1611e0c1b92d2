//! Encodings of strings: `EncodeBase64`, `DecodeBase64`, `DecodeRaw`, `DecodePaddedRaw`.

use super::map_strings;
use crate::array::args::scalar_index;
use crate::from_fn::from_fn;
use base64::Engine;
use base64::alphabet::URL_SAFE;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig, NO_PAD, PAD};
use flowmill_runtime::{Kernel, KernelInit, KernelRegistry};
use flowmill_tensor::{Bytes, DType, Result, Shape, Tensor, bail, error};
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("DecodeBase64", make_decode_base64);
    registry.add("DecodePaddedRaw", make_decode_padded_raw);
    registry.add("DecodeRaw", make_decode_raw);
    registry.add("EncodeBase64", make_encode_base64);
}

/// Makes the kernel of `EncodeBase64`, with the alphabet that is safe in URLs, and padding if `pad` is set.
fn make_encode_base64(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let engine = GeneralPurpose::new(&URL_SAFE, if init.attrs.get_or("pad", false)? { PAD } else { NO_PAD });
    map_strings(move |s| Ok(engine.encode(s).into()))
}

/// Makes the kernel of `DecodeBase64`, which accepts strings with all of their padding or none.
fn make_decode_base64(_: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let config = GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent).with_decode_allow_trailing_bits(true);
    let engine = GeneralPurpose::new(&URL_SAFE, config);
    map_strings(move |s| {
        if s.len() % 4 == 1 {
            bail!(InvalidArgument, "Base64 string length cannot be 1 modulo 4.");
        }
        let invalid = || error!(InvalidArgument, "Invalid character found in base64.");
        if s.ends_with(b"=") && s.len() % 4 != 0 {
            return Err(invalid());
        }
        engine.decode(s).map(Bytes::from).map_err(|_| invalid())
    })
}

/// The element type to which bytes are decoded, and its byte order.
#[derive(Clone, Copy)]
struct RawType {
    dtype: DType,
    size: usize,
    /// The number of bytes to reverse in each component, or 0 if the byte order is the machine's.
    swapped: usize,
}

fn raw_type(init: &KernelInit<'_>) -> Result<RawType> {
    let dtype = init.dtype("out_type")?;
    let Some(size) = dtype.size() else { return init.unsupported() };
    let component = if dtype.is_complex() { size / 2 } else { size };
    let swapped = if init.attrs.get_or("little_endian", true)? || component == 1 { 0 } else { component };
    Ok(RawType { dtype, size, swapped })
}

impl RawType {
    /// Returns a tensor with the contents `bytes`, whose last dimension, after those of `outer`, has `length` elements.
    fn tensor(self, outer: &Shape, length: usize, mut bytes: Vec<u8>) -> Result<Tensor> {
        if self.swapped > 0 {
            bytes.chunks_exact_mut(self.swapped).for_each(<[u8]>::reverse);
        }
        let mut shape = outer.clone();
        shape.push(length);
        Tensor::from_bytes(self.dtype, shape, bytes.into())
    }
}

fn make_decode_raw(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let raw = raw_type(init)?;
    from_fn(move |ctx| {
        let input = ctx.input(0)?;
        let strings = input.as_strings()?;
        let length = strings.first().map_or(0, Bytes::len);
        if let Some((i, other)) = strings.iter().enumerate().find(|(_, s)| s.len() != length) {
            bail!(
                InvalidArgument,
                "DecodeRaw requires input strings to all be the same size, but element {i} has size {length} != {}",
                other.len()
            );
        }
        if !length.is_multiple_of(raw.size) {
            bail!(
                InvalidArgument,
                "Input to DecodeRaw has length {length} that is not a multiple of {}, the size of {}",
                raw.size,
                raw.dtype
            );
        }
        let output = raw.tensor(input.shape(), length / raw.size, strings.concat())?;
        ctx.set_output(0, output);
        Ok(())
    })
}

/// Makes the kernel of `DecodePaddedRaw`. Shorter strings are padded with zeros, longer ones are truncated.
fn make_decode_padded_raw(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let raw = raw_type(init)?;
    from_fn(move |ctx| {
        let (input, length) = (ctx.input(0)?, ctx.input(1)?);
        if length.rank() != 0 {
            bail!(InvalidArgument, "k must be scalar, got shape {}", length.shape());
        }
        let length = scalar_index(length, "fixed_length")?;
        let Some(length) = usize::try_from(length).ok().filter(|&n| n > 0) else {
            bail!(InvalidArgument, "fixed_length ({length}) must be greater than 0");
        };
        if !length.is_multiple_of(raw.size) {
            bail!(InvalidArgument, "fixed_length ({length}) must be a multiple of the size of out_type ({})", raw.size);
        }
        let strings = input.as_strings()?;
        match strings.len().checked_mul(length) {
            Some(total) if total <= flowmill_tensor::memory_limit() => {}
            _ => bail!(ResourceExhausted, "OOM when allocating {} strings of {length} bytes", strings.len()),
        }
        let mut bytes = vec![0; strings.len() * length];
        for (to, from) in bytes.chunks_exact_mut(length).zip(strings) {
            let n = from.len().min(length);
            to[..n].copy_from_slice(&from[..n]);
        }
        let output = raw.tensor(input.shape(), length / raw.size, bytes)?;
        ctx.set_output(0, output);
        Ok(())
    })
}
