"""Files, and strings that hold other values, in a graph."""

from __future__ import annotations

from flowmill._internal.apply import call
from flowmill._internal.dispatch import elementwise
from flowmill._internal.tensor import Operation, Tensor


def read_file(filename, name=None) -> Tensor:
    """Returns the contents of a file."""
    return call("ReadFile", name, filename)


def write_file(filename, contents, name=None) -> Operation:
    """Writes a file; makes its directory if that does not exist."""
    return call("WriteFile", name, filename, contents)


def matching_files(pattern, name=None) -> Tensor:
    """The names of files that match a pattern, or one of a vector of them, sorted."""
    return call("MatchingFiles", name, pattern)


def decode_raw(input_bytes=None, out_type=None, little_endian: bool = True, name=None, bytes=None) -> Tensor:
    """Returns the bytes of strings as numbers, along a new last dimension.

    Args:
        input_bytes: strings, all of the same length.
        out_type: the type of the numbers.
        little_endian: whether the least byte of a number comes first.
        name: the name of the operation.
        bytes: as `input_bytes`, its name of old.

    Raises:
        ValueError: if neither is given, or both are.
    """
    if input_bytes is not None and bytes is not None:
        raise ValueError("Cannot specify both 'bytes' and 'input_bytes'.")
    if input_bytes is None and bytes is None:
        raise ValueError("Argument `input_bytes` must be specified.")
    if out_type is None:
        raise ValueError("decode_raw_v1() missing 1 positional argument: 'out_type'")
    return call("DecodeRaw", name, bytes if input_bytes is None else input_bytes, out_type=out_type, little_endian=little_endian)


def decode_csv(records, record_defaults, field_delim: str = ",", use_quote_delim: bool = True, name=None, na_value: str = "",
               select_cols=None) -> list[Tensor]:
    """Returns the fields of comma separated lines: one tensor per column, in the shape of `records`.

    Args:
        records: the lines.
        record_defaults: for each column what an empty field means, a tensor of one element; of none if a field must not be empty.
        field_delim: the delimiter of fields.
        use_quote_delim: whether fields may be quoted.
        name: the name of the operation.
        na_value: another text for an empty field.
        select_cols: the columns to take, growing; all of them if it is None.

    Raises:
        ValueError: if `select_cols` does not grow, or there are more or fewer defaults than columns.
    """
    if select_cols is not None and any(a >= b for a, b in zip(select_cols, select_cols[1:])):
        raise ValueError("select_cols is not strictly increasing.")
    if select_cols is not None and select_cols[0] < 0:
        raise ValueError("select_cols contains negative values.")
    if select_cols is not None and len(select_cols) != len(record_defaults):
        raise ValueError("Length of select_cols and record_defaults do not match.")
    return call("DecodeCSV", name, records, record_defaults, field_delim=field_delim, use_quote_delim=use_quote_delim, na_value=na_value,
                select_cols=select_cols)


def decode_json_example(json_examples, name=None) -> Tensor:
    """Serialised `Example` messages of such in JSON."""
    return call("DecodeJSONExample", name, json_examples)


@elementwise
def decode_base64(input, name=None) -> Tensor:
    """Strings of such in base 64 as web addresses have it."""
    return call("DecodeBase64", name, input)


@elementwise
def encode_base64(input, pad: bool = False, name=None) -> Tensor:
    """Strings in base 64 as web addresses have it; with ``=`` at their ends if `pad` says so."""
    return call("EncodeBase64", name, input, pad=pad)


@elementwise
def decode_compressed(bytes, compression_type: str = "", name=None) -> Tensor:
    """Strings of compressed ones: ``""`` (not compressed), ``"ZLIB"`` or ``"GZIP"``."""
    return call("DecodeCompressed", name, bytes, compression_type=compression_type)


def serialize_tensor(tensor, name=None) -> Tensor:
    """Returns a tensor as a serialised `TensorProto`."""
    return call("SerializeTensor", name, tensor)


def parse_tensor(serialized, out_type, name=None) -> Tensor:
    """Returns the tensor of a serialised `TensorProto` with elements of type `out_type`."""
    return call("ParseTensor", name, serialized, out_type=out_type)
