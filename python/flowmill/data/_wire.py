"""The wire format of the two small messages that attributes of datasets hold: the metadata and the options."""

from __future__ import annotations

from collections.abc import Iterable


def _varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    found.append(value)
    return bytes(found)


def message(fields: Iterable[tuple[int, int | bytes]]) -> bytes:
    """Returns a message of fields, in the order of their numbers: an integer is a varint, bytes are a string or a message."""
    found = b""
    for number, value in sorted(fields, key=lambda field: field[0]):
        if isinstance(value, bytes):
            found += _varint(number << 3 | 2) + _varint(len(value)) + value
        else:
            found += _varint(number << 3) + _varint(int(value))
    return found


def metadata(name: str | None) -> bytes:
    """Returns the metadata of a dataset with a name.

    Raises:
        ValueError: for a name that is no identifier.
    """
    if not name:
        return b""
    if not name.isidentifier():
        raise ValueError("Invalid `name`. The argument `name` needs to be a valid identifier. Value is considered a valid identifier if it only "
                         "contains alphanumeric characters (a-z), (A-Z), and (0-9), or underscores (_). A valid identifier cannot start with a "
                         "number, or contain any spaces.")
    return message([(1, name.encode())])
