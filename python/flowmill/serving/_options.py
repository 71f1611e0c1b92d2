"""Options that servers and predictors share."""

from __future__ import annotations

import dataclasses
import os
import pathlib
from collections.abc import Sequence

_WRAPPED = (
    "max_batch_size", "batch_timeout_micros", "max_enqueued_batches", "num_batch_threads", "enable_large_batch_splitting", "max_execution_batch_size",
)


@dataclasses.dataclass(frozen=True)
class Batching:
    """When calls that arrive close together run as one step. The fields and defaults are those of TensorFlow Serving's file of batching parameters.

    Attributes:
        max_batch_size: the largest number of rows of a batch.
        batch_timeout_micros: how long the first call of a batch waits for others; with 0, a batch runs as soon as a thread is free.
        max_enqueued_batches: how many full batches may wait; a call that finds more rows waiting fails with `ResourceExhaustedError`.
        num_batch_threads: the threads that run batches; 0 is one per core.
        allowed_batch_sizes: the numbers of rows that are run, in increasing order; a batch is padded to the next of them. Empty allows any number.
        pad_variable_length_inputs: pads the inputs of a batch with zeros to one shape, instead of batching only calls of the same shape.
        enable_large_batch_splitting: splits calls with more rows than a batch has, instead of refusing them.
        max_execution_batch_size: the largest number of rows of a step if calls are split; 0 is `max_batch_size`.
    """

    max_batch_size: int = 1000
    batch_timeout_micros: int = 0
    max_enqueued_batches: int = 10
    num_batch_threads: int = 0
    allowed_batch_sizes: Sequence[int] = ()
    pad_variable_length_inputs: bool = False
    enable_large_batch_splitting: bool = False
    max_execution_batch_size: int = 0


@dataclasses.dataclass(frozen=True)
class Tls:
    """Files in PEM form that encrypt a server's connections.

    Attributes:
        certificate: the server's certificate, followed by those that sign it.
        key: its private key.
        client_authorities: the certificates that sign those of clients, or None.
        requires_client_certificate: refuses clients without a certificate.
    """

    certificate: str | os.PathLike[str]
    key: str | os.PathLike[str]
    client_authorities: str | os.PathLike[str] | None = None
    requires_client_certificate: bool = False


def batching_text(batching: Batching | bool | None) -> str | None:
    """Returns the parameters as a message in protobuf's text format, or None without batching."""
    if batching is None or batching is False:
        return None
    given = Batching() if batching is True else batching

    def number(value) -> str:
        return str(value).lower() if isinstance(value, bool) else str(int(value))

    lines = [f"{name} {{ value: {number(getattr(given, name))} }}" for name in _WRAPPED]
    lines += [f"allowed_batch_sizes: {int(size)}" for size in given.allowed_batch_sizes]
    return "\n".join([*lines, f"pad_variable_length_inputs: {number(given.pad_variable_length_inputs)}"])


def tls_texts(tls: Tls | None) -> tuple[str, str, str | None, bool] | None:
    """Reads the files.

    Raises:
        OSError: if one cannot be read.
    """
    if tls is None:
        return None
    authorities = None if tls.client_authorities is None else pathlib.Path(tls.client_authorities).read_text()
    return pathlib.Path(tls.certificate).read_text(), pathlib.Path(tls.key).read_text(), authorities, tls.requires_client_certificate
