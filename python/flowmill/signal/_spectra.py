"""Spectra over time, and what is made of them."""

from __future__ import annotations

import numpy as np

from flowmill._internal.apply import op_scope
from flowmill._internal.array import concat, expand_dims, pad, rank, reshape, reverse, shape, split, tile, where, zeros, zeros_like
from flowmill._internal.convert import constant, convert_to_tensor
from flowmill._internal.tensor import Tensor
from flowmill.dtypes import as_dtype, float32, int32
from flowmill.math import cast, ceil, equal, linspace, log, maximum, minimum, pow as pow_, reduce_sum, rsqrt, square
from flowmill.signal._fourier import dct
from flowmill.signal._frames import frame, overlap_and_add, static
from flowmill.signal._real import irfft, rfft
from flowmill.signal._windows import hann_window, vorbis_window


def _scalar(value, name: str) -> Tensor:
    value = convert_to_tensor(value, name=name)
    value.shape.assert_has_rank(0)
    return value


def _enclosing_power_of_two(length):
    """Returns the least power of two that is not smaller."""
    known = static(length)
    if not isinstance(known, Tensor):
        return constant(int(2 ** np.ceil(np.log(known) / np.log(2.0))), length.dtype)
    return cast(pow_(2.0, ceil(log(cast(length, float32)) / log(2.0))), length.dtype)


def stft(signals, frame_length, frame_step, fft_length=None, window_fn=hann_window, pad_end: bool = False, name: str | None = None) -> Tensor:
    """Returns the spectra of the frames of signals.

    Args:
        signals: ``[..., samples]``.
        frame_length: how long a frame is.
        frame_step: the distance of their beginnings.
        fft_length: the length of the transform, the next power of two if it is None.
        window_fn: called as ``f(frame_length, dtype=…)`` for what frames are multiplied by; None for nothing.
        pad_end: makes a frame of what is left at the end, too.
        name: the name of the scope.

    Returns:
        Complex numbers, ``[..., frames, fft_length // 2 + 1]``.
    """
    with op_scope(name, "stft", signals, frame_length, frame_step):
        signals = convert_to_tensor(signals, name="signals")
        signals.shape.with_rank_at_least(1)
        length, step = _scalar(frame_length, "frame_length"), _scalar(frame_step, "frame_step")
        fft_length = _enclosing_power_of_two(length) if fft_length is None else convert_to_tensor(fft_length, name="fft_length")
        frames = frame(signals, length, step, pad_end=pad_end)
        if window_fn is not None:
            frames = frames * window_fn(length, dtype=frames.dtype)
        return rfft(frames, [fft_length])


def inverse_stft(stfts, frame_length, frame_step, fft_length=None, window_fn=hann_window, name: str | None = None) -> Tensor:
    """Signals of the spectra of their frames; the arguments are those of :func:`stft`, with a window from :func:`inverse_stft_window_fn`."""
    with op_scope(name, "inverse_stft", stfts):
        stfts = convert_to_tensor(stfts, name="stfts")
        stfts.shape.with_rank_at_least(2)
        length, step = _scalar(frame_length, "frame_length"), _scalar(frame_step, "frame_step")
        fft_length = _enclosing_power_of_two(length) if fft_length is None else _scalar(fft_length, "fft_length")
        frames = _resized(irfft(stfts, [fft_length]), length)
        if window_fn is not None:
            frames = frames * window_fn(length, dtype=stfts.dtype.real_dtype)
        return overlap_and_add(frames, step)


def _resized(frames: Tensor, length: Tensor) -> Tensor:
    """Returns frames cut, or filled up with zeros, to a length."""
    known, count = static(length), frames.shape.rank
    size = None if count is None else frames.shape[-1].value
    if isinstance(known, Tensor) or size is None:
        frames = frames[..., :length]
        outer = zeros([rank(frames) - 1, 2], length.dtype)
        frames = pad(frames, concat([outer, [[0, maximum(0, length - shape(frames)[-1])]]], 0))
    elif size > known:
        frames = frames[..., :known]
    elif size < known:
        frames = pad(frames, [[0, 0]] * (count - 1) + [[0, known - size]])
    if not isinstance(known, Tensor) and count is not None:
        frames.set_shape([None] * (count - 1) + [known])
    return frames


def inverse_stft_window_fn(frame_step, forward_window_fn=hann_window, name: str | None = None):
    """Returns the window function for :func:`inverse_stft` that undoes the window of :func:`stft`.

    Args:
        frame_step: the distance of the frames' beginnings.
        forward_window_fn: the window function of :func:`stft`.
        name: the name of the scope.
    """
    def window_fn(frame_length, dtype):
        with op_scope(name, "inverse_stft_window_fn", forward_window_fn):
            step = _scalar(frame_step, "frame_step")
            length = _scalar(frame_length, "frame_length")
            window = forward_window_fn(length, dtype=dtype)
            squares = square(window)
            overlaps = -(-length // step)
            squares = pad(squares, [(0, overlaps * step - length)])
            sums = reduce_sum(reshape(squares, [overlaps, step]), 0, keepdims=True)
            sums = reshape(tile(sums, [overlaps, 1]), [overlaps * step])[:length]
            return where(equal(sums, 0.0), zeros_like(window), window / sums)
    return window_fn


def mdct(signals, frame_length, window_fn=vorbis_window, pad_end: bool = False, norm: str | None = None, name: str | None = None) -> Tensor:
    """Returns the modified discrete cosine transforms of frames that overlap by half.

    Args:
        signals: ``[..., samples]``.
        frame_length: how long a frame is, a multiple of 4.
        window_fn: called as ``f(frame_length, dtype=…)`` for what frames are multiplied by; None for a constant.
        pad_end: makes a frame of what is left at the end, too.
        norm: ``"ortho"`` or None.
        name: the name of the scope.

    Returns:
        ``[..., frames, frame_length // 2]``.

    Raises:
        ValueError: for another length.
    """
    with op_scope(name, "mdct", signals, frame_length):
        signals = convert_to_tensor(signals, name="signals")
        signals.shape.with_rank_at_least(1)
        length = _scalar(frame_length, "frame_length")
        known = static(length)
        if isinstance(known, Tensor):
            step = length // 2
        elif known % 4:
            raise ValueError("The frame length must be a multiple of 4.")
        else:
            step = convert_to_tensor(known // 2, length.dtype)
        frames = frame(signals, length, step, pad_end=pad_end)
        frames = frames * (window_fn(length, dtype=frames.dtype) if window_fn is not None else 1.0 / np.sqrt(2))
        a, b, c, d = split(frames, 4, axis=-1)
        first = -reverse(c, [-1]) - d
        folded = concat((first, a - reverse(b, [-1])), axis=-1)
        return dct(folded, type=4, norm=norm)


def inverse_mdct(mdcts, window_fn=vorbis_window, norm: str | None = None, name: str | None = None) -> Tensor:
    """Returns the signals that :func:`mdct` with the same arguments was made of, but for half a frame at either end."""
    with op_scope(name, "inverse_mdct", mdcts):
        mdcts = convert_to_tensor(mdcts, name="mdcts")
        mdcts.shape.with_rank_at_least(2)
        half = cast(mdcts.shape[-1].value, int32)
        if norm is None:
            count = cast(half, mdcts.dtype)
            folded = 0.5 / count * dct(mdcts, type=4)
        else:
            folded = dct(mdcts, type=4, norm=norm)
        first, second = split(folded, 2, axis=-1)
        frames = concat((second, -reverse(second, [-1]), -reverse(first, [-1]), -first), axis=-1)
        frames = frames * (window_fn(2 * half, dtype=mdcts.dtype) if window_fn is not None else 1.0 / np.sqrt(2))
        return overlap_and_add(frames, half)


def linear_to_mel_weight_matrix(num_mel_bins=20, num_spectrogram_bins=129, sample_rate=8000, lower_edge_hertz: float = 125.0,
                                upper_edge_hertz: float = 3800.0, dtype=float32, name: str | None = None) -> Tensor:
    """Makes the matrix that turns spectra into energies in bands of the mel scale.

    Args:
        num_mel_bins: how many bands there are.
        num_spectrogram_bins: how many numbers a spectrum has.
        sample_rate: samples a second.
        lower_edge_hertz: where the lowest band begins.
        upper_edge_hertz: where the highest one ends.
        dtype: the type of the numbers.
        name: the name of the scope.

    Returns:
        ``[num_spectrogram_bins, num_mel_bins]``.

    Raises:
        ValueError: for frequencies that are not in order.
    """
    dtype = as_dtype(dtype)
    with op_scope(name, "linear_to_mel_weight_matrix") as scope:
        sample_rate = static(sample_rate) if isinstance(sample_rate, Tensor) else sample_rate
        _check_bands(num_mel_bins, sample_rate, lower_edge_hertz, upper_edge_hertz, dtype)
        sample_rate = cast(sample_rate, dtype, name="sample_rate")
        lowest = convert_to_tensor(lower_edge_hertz, dtype, "lower_edge_hertz")
        highest = convert_to_tensor(upper_edge_hertz, dtype, "upper_edge_hertz")
        zero = convert_to_tensor(0.0, dtype)
        # The first number of a spectrum is no frequency.
        frequencies = linspace(zero, sample_rate / 2.0, num_spectrogram_bins)[1:]
        spectrum = expand_dims(_mel(frequencies), 1)
        edges = frame(linspace(_mel(lowest), _mel(highest), num_mel_bins + 2), frame_length=3, frame_step=1)
        lower, center, upper = (reshape(part, [1, num_mel_bins]) for part in split(edges, 3, axis=1))
        rising = (spectrum - lower) / (center - lower)
        falling = (upper - spectrum) / (upper - center)
        return pad(maximum(zero, minimum(rising, falling)), [[1, 0], [0, 0]], name=scope)


def _check_bands(num_mel_bins, sample_rate, lower_edge_hertz, upper_edge_hertz, dtype) -> None:
    if num_mel_bins <= 0:
        raise ValueError(f"num_mel_bins must be positive. Got: {num_mel_bins}")
    if lower_edge_hertz < 0.0:
        raise ValueError(f"lower_edge_hertz must be non-negative. Got: {lower_edge_hertz}")
    if lower_edge_hertz >= upper_edge_hertz:
        raise ValueError(f"lower_edge_hertz {lower_edge_hertz} >= upper_edge_hertz {upper_edge_hertz}")
    if not isinstance(sample_rate, Tensor):
        if sample_rate <= 0.0:
            raise ValueError(f"sample_rate must be positive. Got: {sample_rate}")
        if upper_edge_hertz > sample_rate / 2:
            raise ValueError(f"upper_edge_hertz must not be larger than the Nyquist frequency (sample_rate / 2). Got {upper_edge_hertz} for "
                             f"sample_rate: {sample_rate}")
    if not dtype.is_floating:
        raise ValueError(f"dtype must be a floating point type. Got: {dtype}")


def _mel(frequencies) -> Tensor:
    """Returns frequencies in hertz on the mel scale."""
    with op_scope(None, "hertz_to_mel", frequencies):
        return 1127.0 * log(1.0 + frequencies / 700.0)


def mfccs_from_log_mel_spectrograms(log_mel_spectrograms, name: str | None = None) -> Tensor:
    """Returns the cepstral coefficients of the logarithms of energies in mel bands, along the last dimension."""
    with op_scope(name, "mfccs_from_log_mel_spectrograms", log_mel_spectrograms):
        spectra = convert_to_tensor(log_mel_spectrograms)
        size = spectra.shape[-1].value if spectra.shape.rank else None
        if size == 0:
            raise ValueError(f"num_mel_bins must be positive. Got: {log_mel_spectrograms}")
        size = shape(spectra)[-1] if size is None else size
        coefficients = dct(spectra, type=2)
        return coefficients * rsqrt(cast(size, coefficients.dtype) * 2.0)
