"""WebP files decoded, against TensorFlow: images and animations, whole and damaged."""

import numpy as np
import pytest

import flowmill as tf
from test_image_codecs import assert_equal, decoded
from webp_files import animation, lossless, riff, still

_BITS = np.random.RandomState(0).rand(9, 13) > 0.5
_DARK, _LIGHT = (10, 20, 30, 255), (200, 100, 50, 128)
_OPAQUE, _CLEAR = still(_BITS, _DARK, (*_LIGHT[:3], 255)), still(_BITS, _DARK, _LIGHT, has_alpha=True)
_WHOLE = lossless(np.ones((4, 6), bool), _DARK, (9, 8, 7, 255), False)
_PART, _HOLE = lossless(np.ones((2, 2), bool), _DARK, (100, 110, 120, 255), False), lossless(np.eye(2, dtype=bool), (1, 2, 3, 0), (5, 60, 7, 255), True)
# Frames that replace what is below; blended ones are rounded otherwise.
_MOVING = animation(4, 6, [(_WHOLE, 0, 0, 4, 6, 2), (_PART, 2, 2, 2, 2, 2), (_HOLE, 0, 0, 2, 2, 2)])
FILES = {"opaque": _OPAQUE, "clear": _CLEAR, "moving": _MOVING}


def _outcomes(tf1, file, channels):
    found = [assert_equal(tf1, op, file, channels=channels) for op in ("DecodeWebP", "DecodeImage")]
    return {*found, assert_equal(tf1, "DecodeImage", file, channels=channels, expand_animations=False)}


@pytest.mark.parametrize(("name", "channels"), [("opaque", 0), ("opaque", 3), ("clear", 0), ("clear", 4), ("moving", 0), ("moving", 4)])
def test_the_same_pixels(tf1, name, channels):
    assert _outcomes(tf1, FILES[name], channels) == {None}


@pytest.mark.parametrize(("name", "channels"), [("opaque", 1), ("opaque", 4), ("clear", 1), ("clear", 3), ("moving", 1), ("moving", 3)])
def test_other_numbers_of_channels_are_refused(tf1, name, channels):
    assert _outcomes(tf1, FILES[name], channels) == {"InvalidArgumentError"}


@pytest.mark.parametrize("channels", [0, 3])
def test_opaque_animations(channels):
    """TensorFlow refuses three channels, and without them it writes beyond the frames that it allocates."""
    file = animation(4, 6, [(_WHOLE, 0, 0, 4, 6, 2)], has_alpha=False)
    with tf.Graph().as_default(), tf.Session() as session:
        found = session.run(tf.io.decode_webp(file, channels=channels))
    assert found.shape == (1, 4, 6, 3) and set(map(tuple, found.reshape(-1, 3))) == {(9, 8, 7)}


def test_other_types_are_refused(tf1):
    for dtype in (np.uint16, np.float32):
        assert assert_equal(tf1, "DecodeImage", _OPAQUE, dtype=dtype) == "InvalidArgumentError"


@pytest.mark.parametrize("file", [_OPAQUE, _CLEAR], ids=["opaque", "clear"])
def test_damaged_files(tf1, file):
    """A file that ends early or has other bits is refused by both, or both decode it."""
    for end in range(0, len(file), 7):
        theirs, ours = decoded(tf1, "DecodeWebP", file[:end])
        assert isinstance(theirs, str) == isinstance(ours, str), end
    assert assert_equal(tf1, "DecodeWebP", file + b"more") is None
    assert assert_equal(tf1, "DecodeWebP", riff()) == "InvalidArgumentError"
    for at in range(20, len(file)):
        for bit in (1, 16):
            # A code that is incomplete there: TensorFlow decodes it.
            if file is not _OPAQUE or (at, bit) != (34, 1):
                other = bytearray(file)
                other[at] ^= bit
                assert_equal(tf1, "DecodeWebP", bytes(other))


def test_static_shapes(tf1):
    for module in (tf1, tf):
        with module.Graph().as_default():
            assert module.io.decode_webp(module.placeholder(module.string, [])).shape.as_list() == [None] * 4
            assert module.image.decode_webp(module.placeholder(module.string, []), channels=3, name="w").shape.as_list() == [None, None, None, 3]


@pytest.mark.parametrize(("file", "message"), [
    (b"", "Input is empty."), (b"RIFF", "Unknown image file format."), (_OPAQUE[:40], "Failed to decode WebP image."),
])
def test_errors(file, message):
    with tf.Graph().as_default(), tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError) as error:
        session.run(tf.io.decode_webp(file))
    assert message in error.value.message


def test_other_files_are_batches_of_one(tf1):
    """TensorFlow gives the image alone, against its static shape."""
    pixels = np.arange(24, dtype=np.uint8).reshape(2, 4, 3)
    with tf.Graph().as_default(), tf.Session() as session:
        found = session.run(tf.io.decode_webp(tf.io.encode_png(pixels)))
    np.testing.assert_array_equal(found, pixels[None])


def test_other_ops_refuse_it():
    with tf.Graph().as_default(), tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError, match="Use `decode_webp` or `decode_image`"):
        session.run(tf.io.decode_png(_OPAQUE))


def test_sizes_that_do_not_fit_into_memory():
    """The largest canvas of a header of a few bytes."""
    huge = animation(2 ** 24, 2 ** 24, [(_WHOLE, 0, 0, 4, 6, 0)])
    with tf.Graph().as_default(), tf.Session() as session, pytest.raises(tf.errors.OpError):
        session.run(tf.io.decode_webp(huge))
