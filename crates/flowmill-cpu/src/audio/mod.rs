//! Features of audio signals: `AudioSpectrogram`, `Mfcc`.

#![forbid(unsafe_code)]

mod mfcc;
mod spectrogram;

use flowmill_runtime::KernelRegistry;

/// Registers the kernels of this family.
pub(crate) fn register(registry: &mut KernelRegistry) {
    mfcc::register(registry);
    spectrogram::register(registry);
}
