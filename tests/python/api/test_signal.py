"""Signals and their spectra: the same nodes, shapes and values as TensorFlow's."""

import numpy as np
import pytest

from compare import compare, same_error
from inputs import FEEDS, taking_inputs

CASES = {
    "fft": lambda tf, v: tf.signal.fft(v.z),
    "ifft": lambda tf, v: tf.signal.ifft(v.z),
    "fft2d": lambda tf, v: tf.signal.fft2d(v.z),
    "ifft2d": lambda tf, v: tf.signal.ifft2d(v.z),
    "rfft": lambda tf, v: tf.signal.rfft(v.x),
    "rfft 2": lambda tf, v: tf.signal.rfft(v.x, [4]),
    "rfft 3": lambda tf, v: tf.signal.rfft(v.x, [2]),
    "irfft": lambda tf, v: tf.signal.irfft(v.z),
    "irfft 2": lambda tf, v: tf.signal.irfft(v.z, [4]),
    "irfft 3": lambda tf, v: tf.signal.irfft(v.z, [6]),
    "rfft2d": lambda tf, v: tf.signal.rfft2d(v.x),
    "rfft2d 2": lambda tf, v: tf.signal.rfft2d(v.t4, [3, 6]),
    "rfft2d 3": lambda tf, v: tf.signal.rfft2d(tf.cast(v.x, tf.float64), [1, 3]),
    "irfft2d": lambda tf, v: tf.signal.irfft2d(v.z),
    "irfft2d 2": lambda tf, v: tf.signal.irfft2d(v.z, [4, 5]),
    "irfft2d 3": lambda tf, v: tf.signal.irfft2d(tf.signal.rfft2d(v.t4)),
    "rfft3d": lambda tf, v: tf.signal.rfft3d(tf.cast(v.t4, tf.float64)),
    "rfft3d 2": lambda tf, v: tf.signal.rfft3d(v.t4, [3, 6, 5], name="r"),
    "rfft3d 3": lambda tf, v: tf.spectral.rfft3d(tf.cast(v.t4, tf.float64), [1, 2, 3]),
    "irfft3d": lambda tf, v: tf.signal.irfft3d(tf.signal.rfft3d(v.t4)),
    "irfft3d 2": lambda tf, v: tf.spectral.irfft3d(tf.complex(v.t4, v.t4 * v.t4), [5, 4, 8], name="r"),
    "irfft3d 3": lambda tf, v: tf.signal.irfft3d(tf.complex(v.t4, v.t4 * v.t4), [2, 3, 3]),
    "hann_window": lambda tf, v: tf.signal.hann_window(4),
    "hann_window 2": lambda tf, v: tf.signal.hann_window(5, periodic=False),
    "hann_window 3": lambda tf, v: tf.signal.hann_window(1),
    "hamming_window": lambda tf, v: tf.signal.hamming_window(4),
    "fftshift": lambda tf, v: tf.signal.fftshift(v.x),
    "ifftshift": lambda tf, v: tf.signal.ifftshift(v.x, 1),
    "fft 2": lambda tf, v: tf.fft(v.z),
    "rfft 4": lambda tf, v: tf.spectral.rfft(v.x),
    "roll": lambda tf, v: tf.manip.roll(v.x, 1, 0),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_the_same_nodes(tf1, case):
    compare(tf1, taking_inputs(case), FEEDS)


# Their conditionals bring inputs in before what takes them.
COMPOSED = {
    "rfft": lambda tf, v: tf.signal.rfft(v.x, v.i[1:] + 3),
    "rfft 2": lambda tf, v: tf.signal.rfft(v.u, [5])[:1],
    "irfft": lambda tf, v: tf.signal.irfft(v.z, v.i[1:] + 3),
    "fftshift": lambda tf, v: tf.signal.fftshift(v.p),
    "ifftshift": lambda tf, v: tf.signal.ifftshift(v.p, [0, 1]),
    "rfft2d": lambda tf, v: tf.signal.rfft2d(v.p, v.i + 3),
    "rfft2d 2": lambda tf, v: tf.signal.rfft2d(v.u, [5, 2]),
    "irfft2d": lambda tf, v: tf.signal.irfft2d(v.z, v.i + 2),
    "irfft2d 2": lambda tf, v: tf.signal.irfft2d(tf.cast(v.p, tf.complex64)),
    "rfft3d": lambda tf, v: tf.signal.rfft3d(v.t4, tf.concat([v.i, [4]], 0) + 1),
    "irfft3d": lambda tf, v: tf.signal.irfft3d(tf.cast(tf.reshape(v.t4, [-1, 4, 2, v.i[1] + 1]), tf.complex64)),
    "frame": lambda tf, v: tf.signal.frame(v.x, 2, 1),
    "frame 2": lambda tf, v: tf.signal.frame(v.x, 2, 2, pad_end=True, pad_value=7),
    "frame 3": lambda tf, v: tf.signal.frame(v.t4, 2, 1, axis=1),
    "frame 4": lambda tf, v: tf.signal.frame(v.p, 2, 1, axis=0, pad_end=True),
    "frame 5": lambda tf, v: tf.signal.frame(v.x, v.i[1] + 1, 1),
    "frame 6": lambda tf, v: tf.signal.frame(v.u, 2, 1),
    "overlap_and_add 3": lambda tf, v: tf.signal.overlap_and_add(v.p, 1),
    "overlap_and_add 4": lambda tf, v: tf.signal.overlap_and_add(v.x, v.i[1]),
    "overlap_and_add 5": lambda tf, v: tf.signal.overlap_and_add(v.x, 3),
    "overlap_and_add": lambda tf, v: tf.signal.overlap_and_add(v.x, 1),
    "overlap_and_add 2": lambda tf, v: tf.signal.overlap_and_add(v.t4, 2),
    "stft": lambda tf, v: tf.signal.stft(v.x, 2, 1),
    "stft 2": lambda tf, v: tf.signal.stft(v.t4, 3, 1, 8, pad_end=True),
    "stft 3": lambda tf, v: tf.signal.stft(v.x, 2, 1, window_fn=None),
    "inverse_stft": lambda tf, v: tf.signal.inverse_stft(v.z, 4, 2),
    "inverse_stft 2": lambda tf, v: tf.signal.inverse_stft(v.z, 6, 2, fft_length=4),
    "inverse_stft 3": lambda tf, v: tf.signal.inverse_stft(v.z, 4, 2, window_fn=tf.signal.inverse_stft_window_fn(2)),
    "inverse_stft_window_fn": lambda tf, v: tf.signal.inverse_stft_window_fn(3)(8, tf.float32),
    "hann_window": lambda tf, v: tf.signal.hann_window(v.i[1] + 3),
    "dct 10": lambda tf, v: tf.signal.dct(v.p, n=5, norm="ortho"),
    "dct": lambda tf, v: tf.signal.dct(v.x),
    "dct 2": lambda tf, v: tf.signal.dct(v.x, norm="ortho"),
    "dct 3": lambda tf, v: tf.signal.dct(v.x, type=1),
    "dct 4": lambda tf, v: tf.signal.dct(v.x, type=3),
    "dct 5": lambda tf, v: tf.signal.dct(v.x, type=3, norm="ortho"),
    "dct 6": lambda tf, v: tf.signal.dct(v.x, type=4),
    "dct 7": lambda tf, v: tf.signal.dct(v.x, type=4, norm="ortho"),
    "dct 8": lambda tf, v: tf.signal.dct(v.x, n=2),
    "dct 9": lambda tf, v: tf.signal.dct(v.x, n=5),
    "idct": lambda tf, v: tf.signal.idct(v.x),
    "idct 2": lambda tf, v: tf.signal.idct(v.x, norm="ortho"),
    "idct 3": lambda tf, v: tf.signal.idct(v.x, type=3, norm="ortho"),
    "mdct": lambda tf, v: tf.signal.mdct(v.t4, 4),
    "mdct 2": lambda tf, v: tf.signal.mdct(v.t4, 4, norm="ortho", window_fn=None),
    "inverse_mdct": lambda tf, v: tf.signal.inverse_mdct(v.t4),
    "inverse_mdct 2": lambda tf, v: tf.signal.inverse_mdct(v.t4, norm="ortho", window_fn=None),
    "linear_to_mel_weight_matrix": lambda tf, v: tf.signal.linear_to_mel_weight_matrix(),
    "linear_to_mel_weight_matrix 2": lambda tf, v: tf.signal.linear_to_mel_weight_matrix(5, 17, 16000, 20.0, 7000.0),
    "mfccs_from_log_mel_spectrograms": lambda tf, v: tf.signal.mfccs_from_log_mel_spectrograms(v.x),
    "kaiser_window": lambda tf, v: tf.signal.kaiser_window(4),
    "kaiser_window 2": lambda tf, v: tf.signal.kaiser_window(7, 3.0),
    "kaiser_bessel_derived_window": lambda tf, v: tf.signal.kaiser_bessel_derived_window(8),
    "vorbis_window": lambda tf, v: tf.signal.vorbis_window(4),
}


@pytest.mark.parametrize("case", COMPOSED.values(), ids=COMPOSED.keys())
def test_functions_of_several_operations(tf1, case):
    compare(tf1, taking_inputs(case), FEEDS, ordered=False, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("width", [4, 5])
def test_gradients_of_planes(tf1, width):
    """Where the transform takes the whole plane; TensorFlow's gradients know no other ones."""
    def build(tf):
        x = tf.reshape(tf.sin(tf.range(3.0 * width * 2)), [2, 3, width])
        z = tf.signal.rfft2d(x)
        y = tf.signal.irfft2d(z * z, [3, width])
        return tf.gradients(tf.real(z) * 0.3 + tf.imag(z) * tf.real(z), x)[0], tf.gradients(tf.sin(y), x)[0], tf.gradients(y * y, z)[0]
    compare(tf1, build, nodes=False, rtol=1e-4, atol=1e-4)


# Calls that fail, and what both modules say.
ERRORS = {
    "hann_window": (lambda tf, v: tf.signal.hann_window(4, dtype=tf.int32), "dtype must be a floating point type."),
    "dct": (lambda tf, v: tf.signal.dct(v.x, type=5), "DCT are supported"),
    "dct norm": (lambda tf, v: tf.signal.dct(v.x, type=1, norm="ortho"), "Normalization is not supported for the Type-I DCT."),
    "dct size": (lambda tf, v: tf.signal.dct(v.x[..., :1], type=1), "Type-I DCT requires the dimension to be greater than one."),
    "dct n": (lambda tf, v: tf.signal.dct(v.x, n=0), "n should be a positive integer or None"),
    "overlap_and_add": (lambda tf, v: tf.signal.overlap_and_add(v.x, 1.5), "frame_step must be an integer"),
    "linear_to_mel": (lambda tf, v: tf.signal.linear_to_mel_weight_matrix(0), "num_mel_bins must be positive. Got: 0"),
    "linear_to_mel edges": (lambda tf, v: tf.signal.linear_to_mel_weight_matrix(lower_edge_hertz=9.0, upper_edge_hertz=8.0), ">= upper"),
    "rfft3d": (lambda tf, v: tf.signal.rfft3d(v.x), "must have rank at least 3"),
    "rfft3d lengths": (lambda tf, v: tf.signal.rfft3d(v.t4, [4, 4]), "Dimension must be 3 but is 2"),
    "linear_to_mel rate": (lambda tf, v: tf.signal.linear_to_mel_weight_matrix(sample_rate=100), "must not be larger than the Nyquist"),
}


@pytest.mark.parametrize("case, message", ERRORS.values(), ids=ERRORS.keys())
def test_the_same_errors(tf1, case, message):
    same_error(tf1, taking_inputs(case), message)


@pytest.mark.parametrize("kind", [1, 2, 3, 4])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_cosine_transforms_of_arrays(tf1, kind, dtype):
    values = np.random.RandomState(1).normal(size=(2, 32)).astype(dtype)
    compare(tf1, lambda tf: [tf.signal.dct(values, kind), tf.signal.idct(values, kind)], nodes=False, rtol=1e-12 if dtype == "float64" else 1e-4)


def test_arguments_keep_the_types_of_arrays(tf1):
    waves, numbers = np.ones((2, 4), np.complex128), np.ones((1, 4, 4, 1))
    compare(tf1, lambda tf: [tf.signal.fft(waves), tf.signal.ifft2d([[1j, 2j]]), tf.raw_ops.LeakyRelu(features=numbers)])
    compare(tf1, lambda tf: [tf.raw_ops.OneHot(indices=indices, depth=3, on_value=1.0, off_value=0.0)
                             for indices in ([1, 2], np.int64([1]), np.uint8(2), 1)])
