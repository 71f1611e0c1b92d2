"""Fourier and cosine transforms by their older name: ``tf.spectral``."""

from __future__ import annotations

from flowmill.signal._fourier import dct, fft, fft2d, fft3d, idct, ifft, ifft2d, ifft3d
from flowmill.signal._real import irfft, irfft2d, irfft3d, rfft, rfft2d, rfft3d

__all__ = ["dct", "fft", "fft2d", "fft3d", "idct", "ifft", "ifft2d", "ifft3d", "irfft", "irfft2d", "irfft3d", "rfft", "rfft2d", "rfft3d"]
