"""Messages of protocol buffers, made of tensors and taken apart."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flowmill._internal.apply import call
from flowmill._internal.tensor import Tensor

if TYPE_CHECKING:
    from flowmill.raw_ops import _DecodeProtoV2


def encode_proto(sizes, values, field_names, message_type: str, descriptor_source: str = "local://", name: str | None = None) -> Tensor:
    """Messages of the values of their fields.

    Args:
        sizes: how many values each field has, ``[..., fields]``.
        values: a tensor for each field, ``[..., values]``; those past the size are left out.
        field_names: the fields.
        message_type: the full name of the messages' type.
        descriptor_source: the type's description: ``local://`` for TensorFlow's own messages, the name of a file that has a ``FileDescriptorSet``,
            or ``bytes://`` and that set.
        name: the name of the operation.
    """
    return call("EncodeProto", name, sizes, values, field_names=field_names, message_type=message_type, descriptor_source=descriptor_source)


def decode_proto(bytes, message_type: str, field_names, output_types, descriptor_source: str = "local://",  # noqa: A002
                 message_format: str = "binary", sanitize: bool = False, name: str | None = None) -> _DecodeProtoV2:
    """Returns the values that fields have in messages, and how many there are: ``[..., fields]``, and for each field ``[..., values]`` with its default behind.

    Args:
        bytes: the messages.
        message_type: the full name of their type.
        field_names: the fields; those of extensions by their full names.
        output_types: the types of their values; messages in fields are strings.
        descriptor_source: as for :func:`encode_proto`.
        message_format: ``"binary"`` or ``"text"``.
        sanitize: whether messages are parsed as a whole first.
        name: the name of the operation.
    """
    return call("DecodeProtoV2", name, bytes, message_type=message_type, field_names=field_names, output_types=output_types,
                descriptor_source=descriptor_source, message_format=message_format, sanitize=sanitize)
