//! Kernels on strings, which are bytes: only the ops that say so interpret them as UTF-8.

#![forbid(unsafe_code)]

mod encode;
mod fingerprint;
mod format;
mod hash;
mod join;
mod ngrams;
mod number;
mod pattern;
mod scripts;
mod split;
mod text;
mod unicode;

pub(crate) use flowmill_kernels::farmhash::fingerprint64;
pub(crate) use hash::murmur;

use crate::from_fn::from_fn;
use flowmill_runtime::{Kernel, KernelInit, KernelRegistry};
use flowmill_tensor::{Bytes, Element, Result, Tensor, bail};
use std::sync::Arc;

/// Registers the kernels of the string ops.
pub(crate) fn register(registry: &mut KernelRegistry) {
    encode::register(registry);
    fingerprint::register(registry);
    format::register(registry);
    hash::register(registry);
    join::register(registry);
    ngrams::register(registry);
    number::register(registry);
    pattern::register(registry);
    split::register(registry);
    text::register(registry);
    unicode::register(registry);
}

/// Returns a kernel that maps each string of input 0 to a string.
fn map_strings(f: impl Fn(&Bytes) -> Result<Bytes> + Send + Sync + 'static) -> Result<Arc<dyn Kernel>> {
    from_fn(move |ctx| {
        let input = ctx.input(0)?;
        let values = input.as_strings()?.iter().map(&f).collect::<Result<Vec<_>>>()?;
        let output = ctx.allocator().from_strings(input.shape().clone(), values)?;
        ctx.set_output(0, output);
        Ok(())
    })
}

/// Returns a kernel that maps each string of input 0 to a number.
fn map_to_numbers<T: Element>(f: impl Fn(&[u8]) -> Result<T> + Send + Sync + 'static) -> Result<Arc<dyn Kernel>> {
    from_fn(move |ctx| {
        let input = ctx.input(0)?;
        let mut output = ctx.allocator().uninit(T::DTYPE, input.shape().clone())?;
        for (to, from) in output.as_mut_slice::<T>()?.iter_mut().zip(input.as_strings()?) {
            *to = f(from)?;
        }
        ctx.set_output(0, output);
        Ok(())
    })
}

/// Returns the only string of a scalar.
fn scalar_string<'a>(tensor: &'a Tensor, name: &str) -> Result<&'a Bytes> {
    match tensor.as_strings()? {
        [value] if tensor.rank() == 0 => Ok(value),
        _ => bail!(InvalidArgument, "{name} must be a scalar, got shape: {}", tensor.shape()),
    }
}

/// Returns true if the attribute `unit` selects characters rather than bytes.
fn counts_characters(init: &KernelInit<'_>) -> Result<bool> {
    match init.attrs.get_or("unit", "BYTE")? {
        "BYTE" => Ok(false),
        "UTF8_CHAR" => Ok(true),
        other => bail!(InvalidArgument, "unit must be BYTE or UTF8_CHAR, got {other}"),
    }
}
