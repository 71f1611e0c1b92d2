//! `Fingerprint`, which computes a 64-bit fingerprint for each row of a tensor.

use super::fingerprint64;
use crate::from_fn::linear_from_fn;
use flowmill_runtime::{Kernel, KernelInit, KernelRegistry};
use flowmill_tensor::{DType, Result, bail};
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("Fingerprint", make);
}

/// Makes the kernel. Inputs: data, method. The fingerprint of a row of several strings is that of the strings' fingerprints.
fn make(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    linear_from_fn(init, |ctx| {
        let (data, method) = (ctx.input(0)?, ctx.input(1)?);
        match method.as_strings()? {
            [name] if method.rank() == 0 && name.as_ref() == b"farmhash64" => {}
            [name] if method.rank() == 0 => bail!(InvalidArgument, "Unsupported fingerprint method: {}", String::from_utf8_lossy(name)),
            _ => bail!(InvalidArgument, "`method` should be a scalar string: {}", method.shape()),
        }
        let Some((&rows, rest)) = data.shape().split_first() else {
            bail!(InvalidArgument, "`data` should have at least one dimension: {}", data.shape());
        };
        let width: usize = rest.iter().product();
        let mut out = ctx.allocator().zeros(DType::U8, [rows, 8])?;
        let prints: Vec<u64> = if data.dtype() == DType::String {
            let strings = data.as_strings()?;
            let row = |i: usize| match &strings[i * width..][..width] {
                [one] => fingerprint64(one),
                several => fingerprint64(&several.iter().flat_map(|s| fingerprint64(s).to_le_bytes()).collect::<Vec<u8>>()),
            };
            (0..rows).map(row).collect()
        } else {
            let size = width * data.dtype().size().unwrap_or(0);
            let bytes = data.as_bytes()?;
            (0..rows).map(|i| fingerprint64(&bytes[i * size..][..size])).collect()
        };
        for (to, print) in out.as_mut_slice::<u8>()?.chunks_exact_mut(8).zip(prints) {
            to.copy_from_slice(&print.to_le_bytes());
        }
        ctx.set_output(0, out);
        Ok(())
    })
}
