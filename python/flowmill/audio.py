"""Sound as files: ``tf.audio``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flowmill._internal.apply import call
from flowmill._internal.tensor import Tensor

if TYPE_CHECKING:
    from flowmill.raw_ops import _DecodeWav


def decode_wav(contents, desired_channels: int = -1, desired_samples: int = -1, name: str | None = None) -> _DecodeWav:
    """Returns the samples of a file of 16-bit sound.

    Args:
        contents: the file, a string.
        desired_channels: how many channels to give: the last one again if there are not as many, the file's if it is -1.
        desired_samples: how many times to give, silence behind the end; the file's if it is -1.
        name: the name of the operation.

    Returns:
        A named tuple: `audio`, ``[times, channels]`` from -1 to 1, and `sample_rate`, how many times make a second.
    """
    return call("DecodeWav", name, contents, desired_channels=desired_channels, desired_samples=desired_samples)


def encode_wav(audio, sample_rate, name: str | None = None) -> Tensor:
    """Returns a file of 16-bit sound.

    Args:
        audio: ``[times, channels]``, from -1 to 1.
        sample_rate: how many times make a second.
        name: the name of the operation.
    """
    return call("EncodeWav", name, audio, sample_rate)


__all__ = ["decode_wav", "encode_wav"]
