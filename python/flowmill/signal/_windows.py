"""Windows, frames, spectra over time."""

from __future__ import annotations

import math

import numpy as np

from flowmill._apply import call, op_scope
from flowmill._convert import constant, convert_to_tensor
from flowmill.array import concat, expand_dims, gather, pad, reshape, shape
from flowmill.dtypes import as_dtype, bool as bool_, float32, int32
from flowmill.math import cast, cos, cumsum, maximum, minimum, pow as pow_, range as range_, reduce_sum, sin, sqrt, square
from flowmill.signal._fourier import dct
from flowmill.signal._real import irfft, rfft
from flowmill.tensor import Tensor
from flowmill.tensor_util import constant_value


def _raised_cosine(name: str | None, default: str, window_length, periodic, dtype, a: float, b: float) -> Tensor:
    dtype = as_dtype(dtype)
    if not dtype.is_floating:
        raise ValueError(f"dtype must be a floating point type. Found {dtype}")
    with op_scope(name, default, window_length, periodic):
        window_length = convert_to_tensor(window_length, int32, "window_length")
        if window_length.shape.rank not in (None, 0):
            raise ValueError(f"Shape {window_length.shape} must have rank 0")
        known = constant_value(window_length)
        if known is not None and known == 1:
            from flowmill.array import ones

            return ones([1], dtype)
        periodic = cast(convert_to_tensor(periodic, bool_, "periodic"), int32)
        even = 1 - window_length % 2
        count = cast(window_length + periodic * even - 1, dtype)
        places = cast(range_(window_length), dtype)
        angles = constant(2 * np.pi, dtype) * places / count
        return a - b * cos(angles)


def hann_window(window_length, periodic=True, dtype=float32, name: str | None = None) -> Tensor:
    """A window of the form of a raised cosine.

    Args:
        window_length: how many numbers, a scalar.
        periodic: leaves the last zero out where the length is even.
        dtype: the type of the numbers.
        name: of the scope.

    Raises:
        ValueError: for a type that is not a floating one.
    """
    return _raised_cosine(name, "hann_window", window_length, periodic, dtype, 0.5, 0.5)


def hamming_window(window_length, periodic=True, dtype=float32, name: str | None = None) -> Tensor:
    """As :func:`hann_window`, with 0.08 at its ends."""
    return _raised_cosine(name, "hamming_window", window_length, periodic, dtype, 0.54, 0.46)


def vorbis_window(window_length, dtype=float32, name: str | None = None) -> Tensor:
    """The window of Vorbis, whose square and that of its shifted self add up to 1."""
    with op_scope(name, "vorbis_window"):
        window_length = convert_to_tensor(window_length, int32, "window_length")
        places = cast(range_(window_length), dtype)
        count = cast(window_length, dtype)
        return sin(constant(np.pi / 2.0, dtype) * square(sin(constant(np.pi, dtype) / count * (places + 0.5))))


def kaiser_window(window_length, beta=12.0, dtype=float32, name: str | None = None) -> Tensor:
    """The window of Kaiser; `beta` trades the width of the middle for what is beside it."""
    from flowmill.math import bessel_i0

    with op_scope(name, "kaiser_window"):
        window_length = convert_to_tensor(window_length, int32, "window_length")
        length = cast(window_length, dtype)
        places = cast(range_(window_length), dtype) - 0.5 * (length - 1.0)
        beta = convert_to_tensor(beta, dtype, "beta")
        inside = 1.0 - square(2.0 * places / maximum(length - 1.0, 1.0))
        # Rounding must not make the ends negative.
        return bessel_i0(beta * sqrt(maximum(inside, 0.0))) / bessel_i0(beta)


def kaiser_bessel_derived_window(window_length, beta=12.0, dtype=float32, name: str | None = None) -> Tensor:
    """A window made of running sums of that of Kaiser, whose square and that of its shifted self add up to 1; of even length."""
    with op_scope(name, "kaiser_bessel_derived_window"):
        window_length = convert_to_tensor(window_length, int32, "window_length")
        half = window_length // 2
        sums = cumsum(kaiser_window(half + 1, beta, dtype=dtype))
        rising = sqrt(sums[:-1] / sums[-1])
        return concat([rising, call("ReverseV2", None, rising, [0])], axis=0)


def frame(signal, frame_length, frame_step, pad_end: bool = False, pad_value=0, axis: int = -1, name: str | None = None) -> Tensor:
    """The frames of a signal: pieces of one length, at equal distances.

    Args:
        signal: the signal.
        frame_length: how long a frame is.
        frame_step: the distance of their beginnings.
        pad_end: makes a frame of what is left at the end, too, with `pad_value` behind it.
        pad_value: what to put there.
        axis: the dimension that the signal is along.
        name: of the scope.

    Returns:
        The signal with frames and the places in them instead of that dimension.
    """
    with op_scope(name, "frame", signal, frame_length, frame_step, pad_value):
        signal = convert_to_tensor(signal, name="signal")
        length = convert_to_tensor(frame_length, int32, "frame_length")
        step = convert_to_tensor(frame_step, int32, "frame_step")
        signal.shape.with_rank_at_least(1)
        count = signal.shape.rank
        if count is None:
            raise ValueError("The rank of the signal must be known.")
        axis = axis + count if axis < 0 else axis
        sizes = shape(signal)
        size = sizes[axis]
        if pad_end:
            frames = maximum(0, -(-size // step))
            missing = maximum(0, length + step * (frames - 1) - size)
            amounts = [[0, 0]] * axis + [[0, missing]] + [[0, 0]] * (count - axis - 1)
            signal = pad(signal, convert_to_tensor(amounts, int32), constant_values=pad_value)
        else:
            frames = maximum(0, 1 + (size - length) // step)
        places = expand_dims(range_(frames) * step, 1) + expand_dims(range_(length), 0)
        result = gather(signal, places, axis=axis)
        return _with_static_frames(result, axis, signal, frame_length, frame_step, pad_end)


def _with_static_frames(result: Tensor, axis: int, signal: Tensor, frame_length, frame_step, pad_end: bool) -> Tensor:
    """Notes what is known of the numbers of frames and of places."""
    known = [constant_value(v) if isinstance(v, Tensor) else v for v in (frame_length, frame_step)]
    sizes = [None] * result.shape.rank
    if known[0] is not None:
        sizes[axis + 1] = int(known[0])
    size = signal.shape[axis].value
    if size is not None and not pad_end and None not in known:
        sizes[axis] = max(0, 1 + (size - int(known[0])) // int(known[1]))
    result.set_shape(sizes)
    return result


def overlap_and_add(signal, frame_step, name: str | None = None) -> Tensor:
    """The signal of which overlapping frames are pieces that add up.

    Args:
        signal: ``[..., frames, frame_length]``.
        frame_step: the distance of the frames' beginnings.
        name: of the scope.

    Returns:
        ``[..., samples]``, where samples are ``(frames - 1) * frame_step + frame_length``.

    Raises:
        ValueError: where `frame_step` is no integer scalar.
    """
    with op_scope(name, "overlap_and_add", signal, frame_step):
        signal = convert_to_tensor(signal, name="signal")
        signal.shape.with_rank_at_least(2)
        step = convert_to_tensor(frame_step, name="frame_step")
        if not step.dtype.is_integer:
            raise ValueError(f"frame_step must be an integer. Got {step.dtype}")
        if step.shape.rank not in (None, 0):
            raise ValueError(f"frame_step must be a scalar. Got shape {step.shape}")
        sizes = shape(signal)
        frames, length = sizes[-2], sizes[-1]
        samples = (frames - 1) * step + length
        places = reshape(expand_dims(range_(frames) * step, 1) + expand_dims(range_(length), 0), [-1])
        flat = reshape(signal, [-1, frames * length])
        summed = call("UnsortedSegmentSum", None, call("Transpose", None, flat, [1, 0]), places, samples)
        result = reshape(call("Transpose", None, summed, [1, 0]), concat([sizes[:-2], [samples]], 0))
        known = signal.shape.as_list() if signal.shape.rank is not None else None
        static_step = constant_value(step)
        if known is not None:
            fixed = static_step is not None and None not in known[-2:]
            result.set_shape([*known[:-2], (known[-2] - 1) * int(static_step) + known[-1] if fixed else None])
        return result


def _enclosing_power_of_two(length):
    """The least power of two that is not smaller."""
    known = constant_value(length) if isinstance(length, Tensor) else length
    if known is not None:
        return convert_to_tensor(int(2 ** math.ceil(math.log(max(int(known), 1), 2))), int32)
    from flowmill.math import ceil, log

    return cast(pow_(2.0, ceil(log(cast(length, float32)) / math.log(2.0))), int32)


def stft(signals, frame_length, frame_step, fft_length=None, window_fn=hann_window, pad_end: bool = False, name: str | None = None) -> Tensor:
    """The spectra of the frames of signals.

    Args:
        signals: ``[..., samples]``.
        frame_length: how long a frame is.
        frame_step: the distance of their beginnings.
        fft_length: the length of the transform, the next power of two where it is None.
        window_fn: called as ``f(frame_length, dtype=…)`` for what frames are multiplied by; None for nothing.
        pad_end: makes a frame of what is left at the end, too.
        name: of the scope.

    Returns:
        Complex numbers, ``[..., frames, fft_length // 2 + 1]``.
    """
    with op_scope(name, "stft", signals, frame_length, frame_step):
        signals = convert_to_tensor(signals, name="signals")
        signals.shape.with_rank_at_least(1)
        frames = frame(signals, frame_length, frame_step, pad_end=pad_end)
        fft_length = _enclosing_power_of_two(frame_length) if fft_length is None else convert_to_tensor(fft_length, int32, "fft_length")
        if window_fn is not None:
            frames = frames * window_fn(frame_length, dtype=frames.dtype)
        return rfft(frames, [_static(fft_length)])


def _static(value):
    """A scalar's value where it is known, so that shapes are."""
    known = constant_value(value)
    return value if known is None else int(known)


def inverse_stft(stfts, frame_length, frame_step, fft_length=None, window_fn=hann_window, name: str | None = None) -> Tensor:
    """Signals of the spectra of their frames; the arguments are those of :func:`stft`, with a window from :func:`inverse_stft_window_fn`."""
    with op_scope(name, "inverse_stft", stfts):
        stfts = convert_to_tensor(stfts, name="stfts")
        stfts.shape.with_rank_at_least(2)
        length = convert_to_tensor(frame_length, int32, "frame_length")
        fft_length = _enclosing_power_of_two(length) if fft_length is None else convert_to_tensor(fft_length, int32, "fft_length")
        frames = irfft(stfts, [_static(fft_length)])
        known = _static(length)
        # A frame is what the transform gives, cut or filled up to its length.
        cut = frames[..., :known]
        missing = maximum(0, length - _static(fft_length))
        if isinstance(known, int) and isinstance(_static(fft_length), int):
            if known > _static(fft_length):
                cut = pad(cut, [[0, 0]] * (stfts.shape.rank - 1) + [[0, known - _static(fft_length)]])
        else:
            cut = pad(cut, convert_to_tensor([[0, 0]] * (stfts.shape.rank - 1) + [[0, missing]], int32))
        if window_fn is not None:
            cut = cut * window_fn(frame_length, dtype=stfts.dtype.real_dtype)
        return overlap_and_add(cut, frame_step)


def inverse_stft_window_fn(frame_step, forward_window_fn=hann_window, name: str | None = None):
    """The window function for :func:`inverse_stft` that undoes the window of :func:`stft`.

    Args:
        frame_step: the distance of the frames' beginnings.
        forward_window_fn: the window function of :func:`stft`.
        name: of the scope.
    """
    def window_fn(frame_length, dtype):
        with op_scope(name, "inverse_stft_window_fn", forward_window_fn):
            length = convert_to_tensor(frame_length, int32, "frame_length")
            step = convert_to_tensor(frame_step, int32, "frame_step")
            window = forward_window_fn(length, dtype=dtype)
            overlaps = -(-length // step)
            squares = pad(square(window), [[0, overlaps * step - length]])
            sums = reduce_sum(reshape(squares, [overlaps, step]), 0, keepdims=True)
            whole = reshape(call("Tile", None, sums, [overlaps, 1]), [overlaps * step])
            return window / whole[:length]
    return window_fn


def mdct(signals, frame_length, window_fn=vorbis_window, pad_end: bool = False, norm: str | None = None, name: str | None = None) -> Tensor:
    """The modified discrete cosine transforms of frames that overlap by half.

    Args:
        signals: ``[..., samples]``.
        frame_length: how long a frame is, a multiple of 4.
        window_fn: called as ``f(frame_length, dtype=…)`` for what frames are multiplied by; None for a constant.
        pad_end: makes a frame of what is left at the end, too.
        norm: ``"ortho"`` or None.
        name: of the scope.

    Returns:
        ``[..., frames, frame_length // 2]``.

    Raises:
        ValueError: for another length.
    """
    with op_scope(name, "mdct", signals, frame_length):
        signals = convert_to_tensor(signals, name="signals")
        length = _static(convert_to_tensor(frame_length, int32, "frame_length"))
        if isinstance(length, int) and length % 4:
            raise ValueError("The frame length must be a multiple of 4.")
        half, quarter = length // 2, length // 4
        frames = frame(signals, length, half, pad_end=pad_end)
        window = window_fn(length, dtype=frames.dtype) if window_fn is not None else constant(math.sqrt(0.5), frames.dtype)
        frames = frames * window
        a, b, c, d = (frames[..., i * quarter:(i + 1) * quarter] for i in range(4))
        folded = concat([-_reversed(c) - d, a - _reversed(b)], axis=-1)
        return dct(folded, type=4, norm=norm)


def _reversed(values: Tensor) -> Tensor:
    return call("ReverseV2", None, values, [-1])


def inverse_mdct(mdcts, window_fn=vorbis_window, norm: str | None = None, name: str | None = None) -> Tensor:
    """The signals that :func:`mdct` with the same arguments was made of, but for half a frame at either end."""
    with op_scope(name, "inverse_mdct", mdcts):
        mdcts = convert_to_tensor(mdcts, name="mdcts")
        half = _static(shape(mdcts)[-1])
        folded = dct(mdcts, type=4, norm=norm)
        if norm is None:
            folded = folded * (0.5 / cast(half, mdcts.dtype))
        first, second = folded[..., :half // 2], folded[..., half // 2:]
        frames = concat([second, -_reversed(second), -_reversed(first), -first], axis=-1)
        window = window_fn(2 * half, dtype=mdcts.dtype) if window_fn is not None else constant(math.sqrt(0.5), mdcts.dtype)
        return overlap_and_add(frames * window, half)


def linear_to_mel_weight_matrix(num_mel_bins=20, num_spectrogram_bins=129, sample_rate=8000, lower_edge_hertz: float = 125.0,
                                upper_edge_hertz: float = 3800.0, dtype=float32, name: str | None = None) -> Tensor:
    """What spectra are multiplied by for the energies in bands of the mel scale.

    Args:
        num_mel_bins: how many bands there are.
        num_spectrogram_bins: how many numbers a spectrum has.
        sample_rate: samples a second.
        lower_edge_hertz: where the lowest band begins.
        upper_edge_hertz: where the highest one ends.
        dtype: the type of the numbers.
        name: of the scope.

    Returns:
        ``[num_spectrogram_bins, num_mel_bins]``.

    Raises:
        ValueError: for frequencies that are not in order.
    """
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
    from flowmill.math import linspace

    dtype = as_dtype(dtype)
    with op_scope(name, "linear_to_mel_weight_matrix"):
        nyquist = cast(sample_rate, dtype) / 2.0
        # The first number of a spectrum is no frequency.
        linear = linspace(constant(0.0, dtype), nyquist, num_spectrogram_bins)[1:]
        spectrum = expand_dims(_mel(linear), 1)
        edges = linspace(_mel(constant(lower_edge_hertz, dtype)), _mel(constant(upper_edge_hertz, dtype)), num_mel_bins + 2)
        lower, center, upper = (reshape(edges[i:i + num_mel_bins], [1, num_mel_bins]) for i in range(3))
        rising, falling = (spectrum - lower) / (center - lower), (upper - spectrum) / (upper - center)
        return pad(maximum(constant(0.0, dtype), minimum(rising, falling)), [[1, 0], [0, 0]])


def _mel(frequencies: Tensor) -> Tensor:
    from flowmill.math import log

    return 1127.0 * log(1.0 + frequencies / 700.0)


def mfccs_from_log_mel_spectrograms(log_mel_spectrograms, name: str | None = None) -> Tensor:
    """The cepstral coefficients of the logarithms of energies in mel bands, along the last dimension."""
    with op_scope(name, "mfccs_from_log_mel_spectrograms", log_mel_spectrograms):
        spectra = convert_to_tensor(log_mel_spectrograms)
        size = spectra.shape[-1].value if spectra.shape.rank else None
        if size == 0:
            raise ValueError("num_mel_bins must be positive. Got: 0")
        count = cast(shape(spectra)[-1] if size is None else size, spectra.dtype)
        return dct(spectra, type=2) * call("Rsqrt", None, count * 2.0)
