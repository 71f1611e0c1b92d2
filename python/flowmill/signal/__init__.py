"""Signals and their spectra: ``tf.signal``."""

from __future__ import annotations

from flowmill.signal._any_axes import fftnd, ifftnd, irfftnd, rfftnd
from flowmill.signal._fourier import dct, fft, fft2d, fft3d, fftshift, idct, ifft, ifft2d, ifft3d, ifftshift
from flowmill.signal._frames import frame, overlap_and_add
from flowmill.signal._real import irfft, irfft2d, irfft3d, rfft, rfft2d, rfft3d
from flowmill.signal._spectra import (
    inverse_mdct, inverse_stft, inverse_stft_window_fn, linear_to_mel_weight_matrix, mdct, mfccs_from_log_mel_spectrograms, stft,
)
from flowmill.signal._windows import hamming_window, hann_window, kaiser_bessel_derived_window, kaiser_window, vorbis_window

__all__ = [
    "dct", "fft", "fft2d", "fft3d", "fftnd", "fftshift", "frame", "hamming_window", "hann_window", "idct", "ifft", "ifft2d", "ifft3d", "ifftnd",
    "ifftshift", "inverse_mdct", "inverse_stft", "inverse_stft_window_fn", "irfft", "irfft2d", "irfft3d", "irfftnd", "kaiser_bessel_derived_window",
    "kaiser_window", "linear_to_mel_weight_matrix", "mdct", "mfccs_from_log_mel_spectrograms", "overlap_and_add", "rfft", "rfft2d", "rfft3d",
    "rfftnd", "stft", "vorbis_window",
]
