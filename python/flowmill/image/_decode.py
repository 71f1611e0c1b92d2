"""Image files, as strings."""

from __future__ import annotations

import flowmill as tf
from flowmill._internal.apply import call
from flowmill._internal.convert import convert_to_tensor
from flowmill._internal.tensor import Tensor
from flowmill.dtypes import as_dtype, int32, uint8
from flowmill.image._color import convert_image_dtype
from flowmill.nn._scope import scope


def decode_jpeg(contents, channels: int = 0, ratio: int = 1, fancy_upscaling: bool = True, try_recover_truncated: bool = False,
                acceptable_fraction: float = 1, dct_method: str = "", name: str | None = None) -> Tensor:
    """Returns the image of a JPEG file.

    Args:
        contents: the file, a scalar string.
        channels: 0 for those of the file, 1 for grey, 3 for RGB.
        ratio: 1, 2, 4 or 8: by how much to make it smaller.
        fancy_upscaling: whether colours are interpolated.
        try_recover_truncated: whether a file that is cut off gives what there is.
        acceptable_fraction: how many lines that has to be, as a part.
        dct_method: how exact to be: ``"INTEGER_FAST"``, ``"INTEGER_ACCURATE"``.
        name: the name of the operation.

    Returns:
        `uint8` ``[height, width, channels]``.
    """
    return call("DecodeJpeg", name, contents, channels=channels, ratio=ratio, fancy_upscaling=fancy_upscaling,
                try_recover_truncated=try_recover_truncated, acceptable_fraction=float(acceptable_fraction), dct_method=dct_method)


def decode_and_crop_jpeg(contents, crop_window, channels: int = 0, ratio: int = 1, fancy_upscaling: bool = True,
                         try_recover_truncated: bool = False, acceptable_fraction: float = 1, dct_method: str = "",
                         name: str | None = None) -> Tensor:
    """Returns the part ``[y, x, height, width]`` of a JPEG file's image. Other arguments are as for :func:`decode_jpeg`."""
    return call("DecodeAndCropJpeg", name, contents, crop_window, channels=channels, ratio=ratio, fancy_upscaling=fancy_upscaling,
                try_recover_truncated=try_recover_truncated, acceptable_fraction=float(acceptable_fraction), dct_method=dct_method)


def decode_png(contents, channels: int = 0, dtype=uint8, name: str | None = None) -> Tensor:
    """Returns the image of a PNG file, `uint8` or `uint16`; `channels` are 0 for those of the file, 1, 2, 3 or 4."""
    return call("DecodePng", name, contents, channels=channels, dtype=dtype)


def decode_bmp(contents, channels: int = 0, name: str | None = None) -> Tensor:
    """Returns the image of a BMP file, `uint8`; `channels` are 0 for those of the file, 3 or 4."""
    return call("DecodeBmp", name, contents, channels=channels)


def decode_gif(contents, name: str | None = None) -> Tensor:
    """Returns the images of a GIF file, `uint8` ``[frames, height, width, 3]``."""
    return call("DecodeGif", name, contents)


def decode_webp(contents, channels: int = 0, dtype=uint8, name: str | None = None) -> Tensor:
    """Returns the images of a WebP file, `uint8` ``[frames, height, width, channels]``; `channels` are 0, or those that the file has: 3 or 4."""
    return call("DecodeWebP", name, contents, channels=channels, dtype=dtype)


def decode_image(contents, channels: int | None = None, dtype=uint8, name: str | None = None, expand_animations: bool = True) -> Tensor:
    """Returns the image of a BMP, GIF, JPEG, PNG or WebP file.

    Args:
        contents: the file, a scalar string.
        channels: how many, 0 or None for those of the file.
        dtype: the type; :func:`convert_image_dtype` makes it.
        name: the name of the scope.
        expand_animations: whether a GIF file gives four dimensions, all its frames; else its first frame.
    """
    with scope(name, "decode_image"):
        channels = channels or 0
        dtype = as_dtype(dtype)
        decoded = dtype if dtype in (tf.float32, tf.uint8, tf.uint16) else tf.uint16
        image = call("DecodeImage", None, contents, channels=channels, expand_animations=expand_animations, dtype=decoded)
        if decoded is not dtype:
            image = convert_image_dtype(image, dtype)
        if not expand_animations:
            image.set_shape([None, None, channels or None])
        return image


def is_jpeg(contents, name: str | None = None) -> Tensor:
    """Returns true if a string begins like a JPEG file."""
    with scope(name, "is_jpeg"):
        return tf.equal(tf.substr(contents, 0, 3), b"\xff\xd8\xff", name=name)


def extract_jpeg_shape(contents, output_type=int32, name: str | None = None) -> Tensor:
    """Height, width and channels of a JPEG file."""
    return call("ExtractJpegShape", name, contents, output_type=output_type)


def encode_png(image, compression: int = -1, name: str | None = None) -> Tensor:
    """Returns a PNG file of an image, `uint8` or `uint16` with one to four channels; `compression` is from 0 to 9, −1 for the default."""
    return call("EncodePng", name, convert_to_tensor(image), compression=compression)


def encode_jpeg(image, format: str = "", quality: int = 95, progressive: bool = False, optimize_size: bool = False,  # noqa: A002
                chroma_downsampling: bool = True, density_unit: str = "in", x_density: int = 300, y_density: int = 300, xmp_metadata: str = "",
                name: str | None = None) -> Tensor:
    """Returns a JPEG file of an image.

    Args:
        image: `uint8` ``[height, width, channels]``.
        format: ``"grayscale"`` or ``"rgb"``; empty for what the channels say.
        quality: from 0 to 100.
        progressive: whether it can be shown while it loads.
        optimize_size: spends time on a smaller file.
        chroma_downsampling: whether colours have half the resolution.
        density_unit: of the densities, ``"in"`` or ``"cm"``.
        x_density: pixels a unit.
        y_density: pixels a unit.
        xmp_metadata: what to add to the file's metadata.
        name: the name of the operation.
    """
    return call("EncodeJpeg", name, image, format=format, quality=quality, progressive=progressive, optimize_size=optimize_size,
                chroma_downsampling=chroma_downsampling, density_unit=density_unit, x_density=x_density, y_density=y_density,
                xmp_metadata=xmp_metadata)
