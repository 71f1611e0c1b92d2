"""The stub of `flowmill._internal.protos`: classes for the messages that the package offers, and for those that they hold."""

from __future__ import annotations

from flowmill._internal import lazy, protos
from make_stubs import layout

_HEAD = '''# Made by python/make_stubs from the code.

import typing
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping, MutableSequence

_T = typing.TypeVar("_T")
_M = typing.TypeVar("_M", bound="_Message")

def get(name: str) -> typing.Any: ...

class _Message:
    """The base class of messages: see the class Message of the package protobuf."""
    def ByteSize(self) -> int: ...
    def Clear(self) -> None: ...
    def ClearField(self, field_name: str) -> None: ...
    def CopyFrom(self: _M, other_msg: _M) -> None: ...
    @classmethod
    def FromString(cls: type[_M], s: bytes) -> _M: ...
    def HasField(self, field_name: str) -> bool: ...
    def IsInitialized(self) -> bool: ...
    def ListFields(self) -> list[tuple[typing.Any, typing.Any]]: ...
    def MergeFrom(self: _M, other_msg: _M) -> None: ...
    def MergeFromString(self, serialized: bytes) -> int: ...
    def ParseFromString(self, serialized: bytes) -> int: ...
    def SerializeToString(self, *, deterministic: bool = ...) -> bytes: ...
    def WhichOneof(self, oneof_group: str) -> str | None: ...

class _Messages(typing.Protocol[_T]):
    """A field that holds several messages."""
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[_T]: ...
    @typing.overload
    def __getitem__(self, index: int) -> _T: ...
    @typing.overload
    def __getitem__(self, index: slice) -> list[_T]: ...
    def __delitem__(self, index: int | slice) -> None: ...
    def add(self, **fields: typing.Any) -> _T: ...
    def append(self, value: _T) -> None: ...
    def extend(self, values: Iterable[_T]) -> None: ...
    def insert(self, index: int, value: _T) -> None: ...
    def pop(self, index: int = ...) -> _T: ...
    def remove(self, value: _T) -> None: ...
    def reverse(self) -> None: ...
    def sort(self, *, key: Callable[[_T], typing.Any] | None = ..., reverse: bool = ...) -> None: ...
    def MergeFrom(self, other: Iterable[_T]) -> None: ...

class _MessageMap(typing.Protocol[_T]):
    """A field that holds messages by name, which are made when they are asked for."""
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[str]: ...
    def __contains__(self, key: object) -> bool: ...
    def __getitem__(self, key: str) -> _T: ...
    def __delitem__(self, key: str) -> None: ...
    def get(self, key: str, default: typing.Any = ...) -> typing.Any: ...
    def get_or_create(self, key: str) -> _T: ...
    def keys(self) -> typing.KeysView[str]: ...
    def values(self) -> typing.ValuesView[_T]: ...
    def items(self) -> typing.ItemsView[str, _T]: ...
    def pop(self, key: str) -> _T: ...
    def clear(self) -> None: ...
    def MergeFrom(self, other: Mapping[str, _T]) -> None: ...
'''


def _offered() -> set[str]:
    return {inner for table in lazy.TABLES.values() for home, inner in table.values() if home == "flowmill._internal.protos"}


class _Messages:
    """Classes for messages and all that they hold."""

    def __init__(self):
        # Messages of the top level by full name, in the order in which they were met.
        self._met: dict[str, object] = {}

    def text(self) -> str:
        queue = [protos.get(name).DESCRIPTOR for name in sorted(_offered())]
        self._met = {d.full_name: d for d in queue}
        bodies = {}
        while queue:
            descriptor = queue.pop(0)
            before = set(self._met)
            bodies[descriptor.name] = self._class(descriptor, "")
            queue += [self._met[name] for name in self._met if name not in before]
        return _HEAD + "\n" + "\n".join("\n".join(bodies[name]) + "\n" for name in sorted(bodies))

    def _name(self, descriptor) -> str:
        """The name of a message's class, whose outermost message is noted."""
        parts = [descriptor.name]
        while descriptor.containing_type is not None:
            descriptor = descriptor.containing_type
            parts.insert(0, descriptor.name)
        self._met.setdefault(descriptor.full_name, descriptor)
        return ".".join(parts)

    def _class(self, descriptor, indent: str) -> list[str]:
        lines, inner = [f"{indent}class {descriptor.name}(_Message):"], indent + "    "
        for nested in descriptor.nested_types:
            if not nested.GetOptions().map_entry:
                lines += self._class(nested, inner)
        for enum in descriptor.enum_types:
            lines += [f"{inner}{value.name}: int" for value in enum.values]
        parameters = []
        for field in descriptor.fields:
            kind, settable = self._field(field)
            if settable:
                lines.append(f"{inner}{field.name}: {kind}")
            else:
                lines += [f"{inner}@property", f"{inner}def {field.name}(self) -> {kind}: ..."]
            parameters.append(f"{field.name}: {self._argument(field, kind)} = ...")
        return [*lines, *layout.function("__init__", ["self", *(["*"] if parameters else []), *parameters], "None", inner)]

    def _scalar(self, field) -> str:
        if field.message_type is not None:
            return self._name(field.message_type) if field.message_type.full_name.startswith("tensorflow.") else "typing.Any"
        return {field.CPPTYPE_BOOL: "bool", field.CPPTYPE_DOUBLE: "float", field.CPPTYPE_FLOAT: "float",
                field.CPPTYPE_STRING: "bytes" if field.type == field.TYPE_BYTES else "str"}.get(field.cpp_type, "int")

    def _field(self, field) -> tuple[str, bool]:
        """A field's type, and whether it can be assigned to."""
        if not _is_repeated(field):
            return self._scalar(field), field.message_type is None
        if field.message_type is None:
            return f"MutableSequence[{self._scalar(field)}]", False
        if field.message_type.GetOptions().map_entry:
            key, value = (field.message_type.fields_by_name[n] for n in ("key", "value"))
            if value.message_type is not None and self._scalar(key) == "str":
                return f"_MessageMap[{self._scalar(value)}]", False
            return f"MutableMapping[{self._scalar(key)}, {self._scalar(value)}]", False
        return f"_Messages[{self._scalar(field)}]", False

    def _argument(self, field, kind: str) -> str:
        if not _is_repeated(field):
            other = " | Mapping[str, typing.Any]" if field.message_type is not None else " | str" if field.enum_type else ""
            return f"{kind}{other} | None"
        if kind.startswith(("_MessageMap", "MutableMapping")):
            return "Mapping[" + kind.partition("[")[2] if kind.startswith("Mutable") else f"Mapping[str, {kind.partition('[')[2]}"
        inner = kind.partition("[")[2][:-1]
        return f"Iterable[{inner} | Mapping[str, typing.Any]]" if kind.startswith("_Messages") else f"Iterable[{inner}]"


def _is_repeated(field) -> bool:
    # protobuf before 6 has no `is_repeated`, after it no `label`.
    return field.is_repeated if hasattr(field, "is_repeated") else field.label == field.LABEL_REPEATED


def text() -> str:
    """The stub's text."""
    return _Messages().text()
