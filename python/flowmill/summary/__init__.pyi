# Made by python/make_stubs from the code.

from typing import Any
from flowmill._internal.tensor import Tensor
from flowmill._internal.protos import Event as Event
from flowmill._internal.protos import SessionLog as SessionLog
from flowmill._internal.protos import Summary as Summary
from flowmill._internal.protos import SummaryDescription as SummaryDescription
from flowmill._internal.protos import TaggedRunMetadata as TaggedRunMetadata
from flowmill.summary.writer import FileWriter as FileWriter
from flowmill.summary.writer import FileWriterCache as FileWriterCache

__all__ = [
    "Event",
    "FileWriter",
    "FileWriterCache",
    "SessionLog",
    "Summary",
    "SummaryDescription",
    "TaggedRunMetadata",
    "all_v2_summary_ops",
    "audio",
    "get_summary_description",
    "histogram",
    "image",
    "merge",
    "merge_all",
    "scalar",
    "tensor_summary",
    "text",
]

def scalar(name: str, tensor, collections=None, family: str | None = None) -> Tensor: ...
def histogram(name: str, values, collections=None, family: str | None = None) -> Tensor: ...
def image(name: str, tensor, max_outputs: int = 3, collections=None, family: str | None = None) -> Tensor: ...
def audio(name: str, tensor, sample_rate, max_outputs: int = 3, collections=None, family: str | None = None) -> Tensor: ...
def tensor_summary(
    name: str,
    tensor,
    summary_description=None,
    collections=None,
    summary_metadata=None,
    family: str | None = None,
    display_name: str | None = None,
) -> Tensor: ...
def text(name: str, tensor, collections=None) -> Tensor: ...
def merge(inputs, collections=None, name: str | None = None) -> Tensor: ...
def merge_all(key=..., scope: str | None = None, name: str | None = None) -> Tensor | None: ...
def get_summary_description(node_def) -> Any: ...
def all_v2_summary_ops() -> list: ...
