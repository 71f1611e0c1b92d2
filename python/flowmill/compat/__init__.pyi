# Made by python/make_stubs from the code.

from typing import Any
from flowmill._internal.tensor_shape import Dimension
from flowmill._internal.tensor_shape import dimension_value as dimension_value
from flowmill.compat import v1 as v1

__all__ = [
    "as_bytes",
    "as_str",
    "as_str_any",
    "as_text",
    "bytes_or_text_types",
    "complex_types",
    "dimension_at_index",
    "dimension_value",
    "forward_compatibility_horizon",
    "forward_compatible",
    "integral_types",
    "path_to_str",
    "real_types",
    "v1",
]

integral_types: tuple[Any, ...]
real_types: tuple[Any, ...]
complex_types: tuple[Any, ...]
bytes_or_text_types: tuple[Any, ...]
def as_bytes(bytes_or_text, encoding: str = 'utf-8') -> bytes: ...
def as_text(bytes_or_text, encoding: str = 'utf-8') -> str: ...
def as_str(bytes_or_text, encoding: str = 'utf-8') -> str: ...
def as_str_any(value, encoding: str = 'utf-8') -> str: ...
def path_to_str(path) -> Any: ...
def dimension_at_index(shape, index: int) -> Dimension: ...
def forward_compatible(year: int, month: int, day: int) -> bool: ...
class forward_compatibility_horizon:
    def __init__(self, year: int, month: int, day: int) -> None: ...
    def __enter__(self) -> None: ...
    def __exit__(self, *exc_info) -> None: ...
