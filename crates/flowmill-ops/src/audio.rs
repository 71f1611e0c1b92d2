//! Features of sound.

use crate::op::{Op, op};
use crate::shape;

pub(crate) const OPS: &[Op] = &[
    op("AudioSpectrogram", "(input: float) -> (spectrogram: float)")
        .costly()
        .not_differentiable()
        .attrs("window_size: int; stride: int; magnitude_squared: bool = false")
        .shape(shape::audio_spectrogram),
    op("Mfcc", "(spectrogram: float, sample_rate: int32) -> (output: float)")
        .costly()
        .not_differentiable()
        .attrs(
            "upper_frequency_limit: float = 4000.0; lower_frequency_limit: float = 20.0; filterbank_channel_count: int = 40;
                dct_coefficient_count: int = 13",
        )
        .shape(shape::mfcc),
];
