//! Features of sound: `AudioSpectrogram`, `Mfcc`.

#![forbid(unsafe_code)]

mod mfcc;
mod spectrogram;

use flowmill_runtime::KernelRegistry;

/// Registers the family.
pub(crate) fn register(registry: &mut KernelRegistry) {
    mfcc::register(registry);
    spectrogram::register(registry);
}
