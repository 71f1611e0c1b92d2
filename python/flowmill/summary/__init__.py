"""Summaries: values of a graph as TensorBoard shows them, and the files it reads them from."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator

from flowmill._internal import lazy as _lazy, protos as _protos
from flowmill._internal.apply import call
from flowmill._internal.convert import convert_to_tensor
from flowmill._internal.graph import get_default_graph
from flowmill._internal.graph_keys import GraphKeys
from flowmill._internal.tensor import Tensor
from flowmill.summary.writer import FileWriter, FileWriterCache

_NAMES = _lazy.messages("Event SessionLog Summary SummaryDescription TaggedRunMetadata")

__all__ = [
    "FileWriter", "FileWriterCache", "all_v2_summary_ops", "audio", "get_summary_description", "histogram", "image", "merge", "merge_all",
    "scalar", "tensor_summary", "text", *sorted(_NAMES),
]

__getattr__, __dir__ = _lazy.attach(__name__, _NAMES)


# The collection of version 2's summaries.
_V2_OPS = "_SUMMARY_V2"


def _clean(name: str) -> str:
    """A name as tags have it: other characters than letters, digits and ``-_./`` become underscores."""
    return re.sub(r"[^-/\w\.]", "_", name).lstrip("/")


@contextlib.contextmanager
def _scope(name: str | None, family: str | None, default: str) -> Iterator[tuple[str, str]]:
    """Opens the scope of a summary's operations; returns its tag and the scope."""
    name = default if name is None else _clean(name)
    if family is not None:
        family = _clean(family)
        name = f"{family}/{name}"
    with get_default_graph().name_scope(name) as scope:
        tag = scope.rstrip("/")
        yield tag if family is None else f"{family}/{tag}", scope


def _collected(value: Tensor, collections) -> Tensor:
    get_default_graph().add_to_collections([GraphKeys.SUMMARIES] if collections is None else collections, value)
    return value


def scalar(name: str, tensor, collections=None, family: str | None = None) -> Tensor:
    """Returns a number as a serialised `Summary`.

    Args:
        name: its name; with the name scope, its tag.
        tensor: a scalar.
        collections: collections to add it to, `GraphKeys.SUMMARIES` if it is None.
        family: the prefix of the tag, so that TensorBoard groups by it.
    """
    with _scope(name, family, "ScalarSummary") as (tag, scope):
        value = call("ScalarSummary", scope, tag, tensor)
    return _collected(value, collections)


def histogram(name: str, values, collections=None, family: str | None = None) -> Tensor:
    """Summarises the distribution of numbers, as a serialised `Summary`; arguments as of :func:`scalar`, with a tensor of any shape."""
    with _scope(name, family, "HistogramSummary") as (tag, scope):
        value = call("HistogramSummary", scope, tag, values)
    return _collected(value, collections)


def image(name: str, tensor, max_outputs: int = 3, collections=None, family: str | None = None) -> Tensor:
    """Images as a serialised `Summary`; arguments otherwise as of :func:`scalar`.

    Args:
        name: their name; with the name scope and a number, their tags.
        tensor: of shape ``[batch, height, width, channels]``, `uint8`, or floating, which is scaled.
        max_outputs: the most images of the batch.
        collections: as of :func:`scalar`.
        family: as of :func:`scalar`.
    """
    with _scope(name, family, "ImageSummary") as (tag, scope):
        value = call("ImageSummary", scope, tag, tensor, max_images=max_outputs)
    return _collected(value, collections)


def audio(name: str, tensor, sample_rate, max_outputs: int = 3, collections=None, family: str | None = None) -> Tensor:
    """Sound as a serialised `Summary`; arguments otherwise as of :func:`scalar`.

    Args:
        name: its name.
        tensor: of shape ``[batch, frames, channels]`` or ``[batch, frames]``, numbers from -1 to 1.
        sample_rate: in hertz.
        max_outputs: the most sounds of the batch.
        collections: as of :func:`scalar`.
        family: as of :func:`scalar`.
    """
    with _scope(name, family, "AudioSummary") as (tag, scope):
        rate = convert_to_tensor(sample_rate, "float32", "sample_rate")
        value = call("AudioSummaryV2", scope, tag, tensor, rate, max_outputs=max_outputs)
    return _collected(value, collections)


def tensor_summary(name: str, tensor, summary_description=None, collections=None, summary_metadata=None, family: str | None = None,
                   display_name: str | None = None) -> Tensor:
    """Returns a tensor as a serialised `Summary`.

    Args:
        name: its name.
        tensor: any.
        summary_description: a text that describes it.
        collections: as of :func:`scalar`.
        summary_metadata: a `SummaryMetadata`, which says what shows it.
        family: as of :func:`scalar`.
        display_name: what it is called where it is shown.
    """
    metadata = _protos.get("SummaryMetadata")()
    if summary_metadata is not None:
        metadata.ParseFromString(summary_metadata.SerializeToString())
    if display_name is not None:
        metadata.display_name = display_name
    if summary_description is not None:
        metadata.summary_description = summary_description
    with _scope(name, family, "TensorSummary") as (tag, scope):
        value = call("TensorSummaryV2", scope, tag, tensor, metadata.SerializeToString())
    return _collected(value, collections)


def text(name: str, tensor, collections=None) -> Tensor:
    """Strings as a serialised `Summary`; arguments as of :func:`scalar`.

    Raises:
        ValueError: if the tensor is of another type.
    """
    tensor = convert_to_tensor(tensor)
    if tensor.dtype.base_dtype.name != "string":
        raise ValueError(f"Expected tensor {tensor.name} to have dtype string, got {tensor.dtype}")
    metadata = _protos.get("SummaryMetadata")(plugin_data={"plugin_name": "text"})
    return tensor_summary(name, tensor, collections=collections, summary_metadata=metadata)


def merge(inputs, collections=None, name: str | None = None) -> Tensor:
    """Summaries in one, a serialised `Summary`."""
    name = None if name is None else _clean(name)
    with get_default_graph().name_scope(name or "Merge"):
        value = call("MergeSummary", name, inputs)
    get_default_graph().add_to_collections(collections or (), value)
    return value


def merge_all(key=GraphKeys.SUMMARIES, scope: str | None = None, name: str | None = None) -> Tensor | None:
    """Returns all summaries of a collection in one; None if there are none."""
    found = get_default_graph().get_collection(key, scope)
    return merge(found, name=name) if found else None


def get_summary_description(node_def):
    """Returns the description in a `TensorSummary` node of how it is meant to be shown, as a `SummaryDescription`.

    Raises:
        ValueError: for a node of another op.
    """
    from google.protobuf import json_format  # start-up: protobuf is loaded when it is used

    if node_def.op != "TensorSummary":
        raise ValueError(f"Can't get_summary_description on {node_def.op}")
    return json_format.Parse(node_def.attr["description"].s, _protos.get("SummaryDescription")())


def all_v2_summary_ops() -> list:
    """Returns the operations of version 2's summaries in the default graph. None is made here; graphs that are imported may have some."""
    return get_default_graph().get_collection(_V2_OPS)
