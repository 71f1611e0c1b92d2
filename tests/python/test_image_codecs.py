"""Image files decoded and encoded, against TensorFlow: JPEG, PNG, GIF, BMP, whole and damaged."""

import io
import struct
import zlib

import numpy as np
import pytest

import flowmill as tf
from oracles import both


@pytest.fixture
def dice():
    return np.random.RandomState(9)


def picture(height, width, channels=3):
    """Smooth colours with edges and some noise."""
    y, x = np.mgrid[:height, :width].astype(np.float64)
    planes = [127 + 120 * np.sin(x / (3 + c) + y / (7 - c)) * np.cos(y / (5 + c)) for c in range(channels)]
    image = np.stack(planes, -1) + np.random.RandomState(height * width).uniform(-25, 25, [height, width, channels])
    image[height // 3: height // 2, width // 4: width // 2] = 255
    return np.clip(image, 0, 255).astype(np.uint8)


def jpeg(tf1, image, **options):
    with tf1.Graph().as_default(), tf1.Session() as session:
        return session.run(tf1.image.encode_jpeg(image, **options))


def decoded(tf1, op, contents, **attrs):
    """What both give for a file: values or classes of errors."""
    more = {"crop_window": attrs.pop("crop_window")} if "crop_window" in attrs else {}
    return both(tf1, lambda m: [getattr(m.raw_ops, op)(contents=m.placeholder(m.string, [], name="file"), **more, **attrs)], {"file:0": contents})


def assert_equal(tf1, op, contents, **attrs):
    theirs, ours = decoded(tf1, op, contents, **attrs)
    if isinstance(theirs, str) or isinstance(ours, str):
        assert ours == theirs, (op, attrs)
        return theirs
    assert ours[0].dtype == theirs[0].dtype and ours[0].shape == theirs[0].shape
    np.testing.assert_array_equal(ours[0], theirs[0])
    return None


SIZES = [(1, 1), (8, 8), (16, 16), (17, 33), (7, 50), (64, 3)]


def jpeg_with_codewords(lengths):
    """A grey image of eight by eight pixels, whose code for the lengths of differences has codewords of these lengths."""
    def segment(marker, body):
        return struct.pack(">BBH", 0xFF, marker, len(body) + 2) + body

    counts = bytes(lengths.count(length) for length in range(1, 17))
    parts = [
        segment(0xDB, b"\0" + bytes([1] * 64)), segment(0xC0, bytes([8, 0, 8, 0, 8, 1, 1, 0x11, 0])),
        segment(0xC4, b"\0" + counts + bytes(range(len(lengths)))), segment(0xC4, b"\x10\1" + bytes(16)), segment(0xDA, bytes([1, 1, 0, 0, 63, 0])),
    ]
    return b"\xff\xd8" + b"".join(parts) + b"\x3f\xff\xd9"


@pytest.mark.parametrize("lengths, is_valid", [([1], True), ([1, 2], True), ([1, 1], False), ([1, 2, 2], False), ([1, 2, 3, 3], False), ([1, 1, 1], False)])
def test_a_jpeg_code_has_no_codeword_of_ones_only(tf1, lengths, is_valid):
    error = assert_equal(tf1, "DecodeJpeg", jpeg_with_codewords(lengths))
    assert (error is None) is is_valid


@pytest.mark.parametrize("options", [
    {}, {"chroma_downsampling": False}, {"quality": 20}, {"quality": 100}, {"progressive": True}, {"progressive": True, "quality": 40},
    {"optimize_size": True},
], ids=str)
def test_jpeg_files_give_the_same_pixels(tf1, options):
    for size in SIZES:
        for channels in (1, 3):
            file = jpeg(tf1, picture(*size, channels), **options)
            for wanted in (0, 1, 3):
                assert assert_equal(tf1, "DecodeJpeg", file, channels=wanted) is None
            assert assert_equal(tf1, "DecodeJpeg", file, dct_method="INTEGER_ACCURATE") is None
            assert assert_equal(tf1, "DecodeJpeg", file, fancy_upscaling=False) is None


@pytest.mark.parametrize("ratio", [2, 4, 8])
@pytest.mark.parametrize("options", [{}, {"chroma_downsampling": False, "quality": 60}], ids=str)
def test_smaller_jpeg_images(tf1, ratio, options):
    for size in SIZES:
        file = jpeg(tf1, picture(*size), **options)
        assert assert_equal(tf1, "DecodeJpeg", file, ratio=ratio) is None
        assert assert_equal(tf1, "DecodeJpeg", file, ratio=ratio, channels=1, dct_method="INTEGER_ACCURATE") is None


def test_jpeg_files_of_other_programs(tf1):
    Image = pytest.importorskip("PIL.Image")
    for mode, subsampling, progressive in [("RGB", 0, False), ("RGB", 1, False), ("RGB", 1, True), ("RGB", 2, True), ("CMYK", 0, False), ("L", 0, True)]:
        image = Image.fromarray(picture(37, 45)).convert(mode)
        out = io.BytesIO()
        image.save(out, "JPEG", quality=80, subsampling=subsampling, progressive=progressive)
        for channels in (0, 3):
            assert assert_equal(tf1, "DecodeJpeg", out.getvalue(), channels=channels) is None, (mode, subsampling)
        assert assert_equal(tf1, "DecodeJpeg", out.getvalue(), ratio=2) is None
        decoded(tf1, "DecodeJpeg", out.getvalue(), channels=1)


def test_parts_of_jpeg_images(tf1):
    file = jpeg(tf1, picture(40, 60), chroma_downsampling=False)
    for window in ([0, 0, 40, 60], [3, 5, 10, 20], [39, 59, 1, 1], [0, 16, 8, 24]):
        assert assert_equal(tf1, "DecodeAndCropJpeg", file, crop_window=window) is None
    for window in ([0, 0, 41, 60], [-1, 0, 5, 5], [0, 0, 0, 5]):
        assert assert_equal(tf1, "DecodeAndCropJpeg", file, crop_window=window) == "InvalidArgumentError"


def test_shapes_of_jpeg_images(tf1):
    for channels in (1, 3):
        file = jpeg(tf1, picture(12, 34, channels))
        for dtype in (3, 9):
            assert assert_equal(tf1, "ExtractJpegShape", file, output_type=dtype) is None
    assert assert_equal(tf1, "ExtractJpegShape", b"\xff\xd8\xff") == "InvalidArgumentError"


@pytest.mark.parametrize("options", [{}, {"progressive": True}], ids=str)
def test_jpeg_files_that_end_too_early(tf1, options):
    whole = jpeg(tf1, picture(48, 40), **options)
    for part in (len(whole) - 1, len(whole) - 2, len(whole) - 3, len(whole) * 3 // 4, len(whole) // 2, len(whole) // 3, 200, 20, 3):
        file = whole[:part]
        assert assert_equal(tf1, "DecodeJpeg", file) == "InvalidArgumentError", part
        assert_equal(tf1, "DecodeJpeg", file, acceptable_fraction=0.3)
        with tf.Graph().as_default(), tf.Session() as session:
            # TensorFlow does not always come back from this.
            recovered = tf.image.decode_jpeg(file, try_recover_truncated=True)
            if part > 700:
                assert session.run(recovered).shape == (48, 40, 3)
            else:
                with pytest.raises(tf.errors.InvalidArgumentError):
                    session.run(recovered)


def test_damaged_jpeg_files(tf1, dice):
    """Nearly always the same files are refused; what is decoded from the others has the same shape, and mostly the same pixels."""
    whole = bytearray(jpeg(tf1, picture(33, 31)))
    equal = differ = 0
    for _ in range(60):
        file = bytearray(whole)
        for at in dice.randint(0, len(file), dice.randint(1, 4)):
            file[at] = dice.randint(256)
        theirs, ours = decoded(tf1, "DecodeJpeg", bytes(file))
        differ += isinstance(theirs, str) != isinstance(ours, str)
        if not isinstance(theirs, str) and not isinstance(ours, str):
            assert theirs[0].shape == ours[0].shape
            equal += np.array_equal(theirs[0], ours[0])
    assert equal > 20 and differ < 6


def png_file(tf1, image, **options):
    with tf1.Graph().as_default(), tf1.Session() as session:
        return session.run(tf1.image.encode_png(image, **options))


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def made_png(width, height, depth, color, rows, extra=b""):
    body = zlib.compress(b"".join(b"\0" + row for row in rows))
    header = struct.pack(">IIBBBBB", width, height, depth, color, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + extra + chunk(b"IDAT", body) + chunk(b"IEND", b"")


@pytest.mark.parametrize("channels", [1, 2, 3, 4])
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_png_files_give_the_same_pixels(tf1, dice, channels, dtype):
    image = dice.randint(0, np.iinfo(dtype).max + 1, [9, 14, channels]).astype(dtype)
    image[:4] = image[:4, :, :1]
    file = png_file(tf1, image)
    for wanted in (0, 1, 3, 4):
        for kind in (4, 17):
            assert assert_equal(tf1, "DecodePng", file, channels=wanted, dtype=kind) is None
        for kind in (1, 4, 17):
            assert assert_equal(tf1, "DecodeImage", file, channels=wanted, dtype=kind) is None
    assert assert_equal(tf1, "DecodeGif", file) is None


def test_png_files_with_palettes_and_few_bits(tf1, dice):
    rows = [bytes(dice.randint(0, 256, 3).tolist()) for _ in range(7)]
    palette = chunk(b"PLTE", bytes(dice.randint(0, 256, 48).tolist()))
    transparent = chunk(b"tRNS", bytes(range(0, 160, 10)))
    files = [made_png(6, 7, 4, 3, rows, palette), made_png(6, 7, 4, 3, rows, palette + transparent)]
    files += [made_png(24 // depth, 7, depth, 0, rows) for depth in (1, 2, 4, 8)]
    files += [made_png(6, 7, 4, 0, rows, chunk(b"tRNS", b"\0\3")), made_png(1, 7, 8, 2, rows, chunk(b"tRNS", b"\0\1\0\2\0\3"))]
    for i, file in enumerate(files):
        for channels in (0, 1, 3, 4):
            for kind in (4, 17):
                assert assert_equal(tf1, "DecodePng", file, channels=channels, dtype=kind) is None, i


def test_damaged_png_files(tf1, dice):
    whole = png_file(tf1, picture(20, 21))
    for part in (len(whole) - 1, len(whole) - 12, len(whole) // 2, 60, 33, 20, 8):
        assert assert_equal(tf1, "DecodePng", whole[:part]) == "InvalidArgumentError", part
    for _ in range(25):
        file = bytearray(whole)
        file[dice.randint(8, len(file))] ^= dice.randint(1, 256)
        theirs, ours = decoded(tf1, "DecodePng", bytes(file))
        assert isinstance(ours, str) or not isinstance(theirs, str)
    huge = made_png(1 << 20, 1 << 20, 8, 2, [b""])
    assert assert_equal(tf1, "DecodePng", huge) == "InvalidArgumentError"


def gif(frames, size, colors, loop=b""):
    """A GIF file of frames `(left, top, width, height, pixels, transparent, palette)`, with codes of nine bits that never grow."""
    out = b"GIF89a" + struct.pack("<HHBBB", *size, 0xf7, 0, 0) + bytes(colors) + loop
    for left, top, width, height, pixels, transparent, palette in frames:
        if transparent is not None:
            out += b"\x21\xf9\x04" + struct.pack("<BHBB", 1, 5, transparent, 0)
        out += b"\x2c" + struct.pack("<HHHHB", left, top, width, height, 0x87 if palette else 0) + bytes(palette or b"") + b"\x08"
        bits, n, data = 0, 0, bytearray()
        for i, code in enumerate([c for p in pixels for c in ([256] if True else []) + [p]] + [257]):
            bits |= code << n
            n += 9
            while n >= 8:
                data.append(bits & 255)
                bits, n = bits >> 8, n - 8
        if n:
            data.append(bits & 255)
        for at in range(0, len(data), 255):
            part = bytes(data[at:at + 255])
            out += bytes([len(part)]) + part
        out += b"\0"
    return out + b";"


def test_gif_files_give_the_same_pixels(tf1, dice):
    colors, other = dice.randint(0, 256, 768).tolist(), dice.randint(0, 256, 768).tolist()
    pixels = dice.randint(0, 256, 30).tolist()
    one = gif([(0, 0, 6, 5, pixels, None, None)], (6, 5), colors)
    animated = gif([(0, 0, 6, 5, pixels, None, None), (1, 2, 3, 2, pixels[:6], 7, other), (2, 0, 4, 5, pixels[:20], pixels[3], None)], (6, 5), colors)
    small_first = gif([(1, 1, 2, 2, pixels[:4], None, None), (0, 0, 6, 5, pixels, pixels[5], None)], (9, 9), colors)
    for file in (one, animated, small_first):
        assert assert_equal(tf1, "DecodeGif", file) is None
        for expand in (True, False):
            for kind in (1, 4, 17):
                assert assert_equal(tf1, "DecodeImage", file, expand_animations=expand, dtype=kind) is None
        assert assert_equal(tf1, "DecodeImage", file, channels=1) == "InvalidArgumentError"
    assert assert_equal(tf1, "DecodePng", one) is None
    assert assert_equal(tf1, "DecodeJpeg", animated) == "InvalidArgumentError"
    for file in (b"GIF89a", b"GIF8", one[:20], animated[:800]):
        assert assert_equal(tf1, "DecodeGif", file) == "InvalidArgumentError", len(file)


def bmp(width, height, bits, pixels, header=54):
    size = header + len(pixels)
    return b"BM" + struct.pack("<IHHI", size, 0, 0, header) + struct.pack("<IiiHHIIiiII", 40, width, height, 1, bits, 0, 0, 0, 0, 0, 0) + pixels


def test_bmp_files_give_the_same_pixels(tf1, dice):
    for bits in (8, 24, 32):
        for height in (3, -3):
            pixels = bytes(dice.randint(0, 256, (5 * bits // 8 + 3) // 4 * 4 * 3).tolist())
            file = bmp(5, height, bits, pixels)
            for channels in (0, 3, 4):
                assert assert_equal(tf1, "DecodeBmp", file, channels=channels) is None
                assert assert_equal(tf1, "DecodeImage", file, channels=channels) is None
            for broken in (file[:-1], file + b"x", file[:31], bmp(0, 3, bits, pixels), bmp(5, 0, bits, pixels), bmp(1 << 20, 1 << 20, bits, pixels)):
                assert assert_equal(tf1, "DecodeBmp", broken) == "InvalidArgumentError"
    assert assert_equal(tf1, "DecodeBmp", bmp(5, 3, 16, b"\0" * 36)) == "InvalidArgumentError"
    assert assert_equal(tf1, "DecodePng", bmp(1, 1, 24, b"\0" * 4)) == "InvalidArgumentError"


def test_files_of_other_kinds(tf1):
    files = {"jpeg": jpeg(tf1, picture(4, 4)), "png": png_file(tf1, picture(4, 4)), "none": b"what is this", "empty": b""}
    for file in files.values():
        for op in ("DecodeJpeg", "DecodePng", "DecodeGif", "DecodeBmp", "DecodeImage"):
            assert_equal(tf1, op, file)
        assert_equal(tf1, "DecodeAndCropJpeg", file, crop_window=[0, 0, 1, 1])
    assert assert_equal(tf1, "DecodeImage", files["jpeg"], channels=4) == "InvalidArgumentError"


@pytest.mark.parametrize("options", [
    {}, {"quality": 30}, {"quality": 100}, {"chroma_downsampling": False}, {"progressive": True}, {"optimize_size": True}, {"format": "rgb"},
], ids=str)
def test_encoded_jpeg_files_hold_the_image(tf1, options):
    """Both programs' files are decoded by TensorFlow: ours is as near to the image."""
    image = picture(40, 57)
    with tf1.Graph().as_default(), tf1.Session() as session:
        theirs = session.run(tf1.image.decode_jpeg(tf1.image.encode_jpeg(image, **options)))
    with tf.Session(graph=tf.Graph()) as session, session.graph.as_default():
        file = session.run(tf.image.encode_jpeg(image, **options))
    with tf1.Graph().as_default(), tf1.Session() as session:
        ours = session.run(tf1.image.decode_jpeg(file))
    errors = [np.abs(decoded.astype(int) - image).mean() for decoded in (theirs, ours)]
    assert errors[1] < 1.05 * errors[0] + 0.1


def test_encoding_refuses_what_is_no_image(tf1):
    for shape, attrs in [([4, 4, 2], {}), ([4, 4], {}), ([4, 4, 3], {"format": "grayscale"}), ([4, 4, 3], {"quality": 101}), ([0, 4, 3], {})]:
        theirs, ours = both(tf1, lambda m: [m.raw_ops.EncodeJpeg(image=m.placeholder(m.uint8, name="x"), **attrs)], {"x:0": np.zeros(shape, np.uint8)})
        assert ours == theirs and isinstance(ours, str), (shape, attrs)
    for shape, attrs in [([4, 4, 5], {}), ([4, 4], {}), ([0, 4, 3], {}), ([4, 4, 3], {"compression": 10})]:
        theirs, ours = both(tf1, lambda m: [m.raw_ops.EncodePng(image=m.placeholder(m.uint8, name="x"), **attrs)], {"x:0": np.zeros(shape, np.uint8)})
        assert isinstance(ours, str) and isinstance(theirs, str), (shape, attrs)


@pytest.mark.parametrize("channels", [1, 2, 3, 4])
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_encoded_png_files_hold_the_image(tf1, dice, channels, dtype):
    image = dice.randint(0, np.iinfo(dtype).max + 1, [6, 11, channels]).astype(dtype)
    for compression in (-1, 0, 9):
        with tf.Session(graph=tf.Graph()) as session, session.graph.as_default():
            file = session.run(tf.image.encode_png(image, compression=compression))
        with tf1.Graph().as_default(), tf1.Session() as session:
            np.testing.assert_array_equal(session.run(tf1.image.decode_png(file, dtype=dtype)), image)


@pytest.mark.parametrize("dtype", ["uint8", "float16", "float32", "float64"])
def test_image_summaries(tf1, dice, dtype):
    values = dice.uniform(-3, 7, [4, 5, 6, 3])
    values[0] = np.abs(values[0])
    values[2] = 0
    values = np.abs(values * 20).astype(dtype) if dtype == "uint8" else values.astype(dtype)
    if dtype != "uint8":
        values[1, 2, 3, 0] = np.nan
        values[1, 0, 0] = np.inf
    for count in (1, 3):
        theirs, ours = both(tf1, lambda m: [m.summary.image("pictures", m.constant(values), max_outputs=count)])
        parsed = [tf1.Summary.FromString(value[0]) for value in (theirs, ours)]
        assert [v.tag for v in parsed[0].value] == [v.tag for v in parsed[1].value]
        for want, got in zip(parsed[0].value, parsed[1].value):
            assert (want.image.height, want.image.width, want.image.colorspace) == (got.image.height, got.image.width, got.image.colorspace)
            theirs, ours = (decoded(tf1, "DecodePng", v.image.encoded_image_string)[0][0] for v in (want, got))
            np.testing.assert_array_equal(ours, theirs)
