"""Strings: ``tf.strings``, and the names that the functions have at the top level."""

from __future__ import annotations

from flowmill._internal import lazy as _lazy
from flowmill._internal.apply import call
from flowmill._internal.convert import convert_to_tensor
from flowmill._internal.dispatch import by_rows, elementwise
from flowmill._internal.graph import get_default_graph
from flowmill._internal.sparse_tensor import SparseTensor
from flowmill._internal.tensor import Tensor
from flowmill.dtypes import float32, int32, string
from flowmill.ragged import RaggedTensor, RaggedTensorValue
from flowmill.ragged._tensor import to_ragged

_RAGGED = "bytes_split ngrams unicode_decode unicode_decode_with_offsets unicode_encode unicode_split unicode_split_with_offsets"

__all__ = [
    *_RAGGED.split(), "as_string", "format", "join", "length", "lower", "reduce_join", "regex_full_match", "regex_replace", "split", "string_split", "strip", "substr",
    "to_hash_bucket", "to_hash_bucket_fast", "to_hash_bucket_strong", "to_number", "unicode_script", "unicode_transcode", "unsorted_segment_join", "upper",
]


@elementwise
def as_string(input, precision: int = -1, scientific: bool = False, shortest: bool = False, width: int = -1, fill: str = "", name=None) -> Tensor:
    """Numbers, or truth values, written out.

    Args:
        input: the numbers.
        precision: digits behind the point, if it is not negative.
        scientific: with an exponent.
        shortest: in whichever of both forms is shorter.
        width: the least number of characters, if it is not negative.
        fill: what to fill up with: ``""`` (spaces), ``" "``, ``"-"``, ``"0"``.
        name: the name of the operation.

    Returns:
        Strings in the shape of `input`.
    """
    return call("AsString", name, input, precision=precision, scientific=scientific, shortest=shortest, width=width, fill=fill)


@by_rows("_strings.join")
def join(inputs, separator: str = "", name=None) -> Tensor:
    """Strings of several tensors put together element by element.

    Args:
        inputs: tensors of the same shape; scalars go with every element.
        separator: what to put between them.
        name: the name of the operation.
    """
    return call("StringJoin", name, inputs, separator=separator)


def string_split(source, sep=None, skip_empty: bool = True, delimiter=None, result_type: str = "SparseTensor", name=None) -> SparseTensor | RaggedTensor:
    """Returns the parts of strings between any of some characters.

    Args:
        source: strings, a vector.
        sep: the characters, a space if it is None; single bytes for ``""``.
        skip_empty: leaves empty parts out.
        delimiter: as `sep`, its name of old.
        result_type: ``"SparseTensor"`` or ``"RaggedTensor"``.
        name: the name of the operations.

    Returns:
        A matrix with a row for each string.
    """
    _check(result_type)
    sep = _renamed(sep, "sep", delimiter, "delimiter")
    with get_default_graph().name_scope(name or "StringSplit"):
        sep = convert_to_tensor(" " if sep is None else sep, string)
        found = call("StringSplit", None, convert_to_tensor(source, string), sep, skip_empty=skip_empty)
        return _parts_of_strings(result_type, *found)


def split(input=None, sep=None, maxsplit: int = -1, result_type: str = "SparseTensor", source=None, name=None) -> SparseTensor | RaggedTensor:
    """Returns the parts of strings between separators, as Python's `str.split` has them.

    Args:
        input: strings, a tensor or a RaggedTensor. If its rank is not known it must be a vector; a scalar is a vector of one string.
        sep: the separator; white space if it is None or empty.
        maxsplit: how often to split at most, if it is not negative.
        result_type: ``"SparseTensor"`` or ``"RaggedTensor"``.
        source: as `input`, its name of old.
        name: the name of the operations.

    Returns:
        The parts, with one more dimension than the strings: those of each string are a row.
    """
    _check(result_type)
    source = _renamed(source, "source", input, "input")
    with get_default_graph().name_scope(name or "StringSplit"):
        if not isinstance(source, (RaggedTensor, RaggedTensorValue)):
            source = convert_to_tensor(source, string, "input")
        if source.shape.rank == 0:
            source = call("ExpandDims", None, source, 0)
        elif source.shape.rank not in (None, 1):
            parts = _split_rows(source, sep, maxsplit)
            return parts.to_sparse() if result_type == "SparseTensor" else parts
        sep = convert_to_tensor("" if sep is None else sep, string)
        return _parts_of_strings(result_type, *call("StringSplitV2", None, source, sep, maxsplit=maxsplit))


def _split_rows(source, sep, maxsplit: int) -> RaggedTensor:
    """Returns the parts of strings in two or more dimensions."""
    source = to_ragged(source) if isinstance(source, (RaggedTensor, RaggedTensorValue)) else RaggedTensor.from_tensor(source)
    flat = source.flat_values
    if flat.shape.rank not in (None, 1):
        return source.with_flat_values(_split_rows(flat, sep, maxsplit))
    return source.with_flat_values(split(flat, sep, maxsplit, "RaggedTensor"))


def _check(result_type: str) -> None:
    if result_type not in ("SparseTensor", "RaggedTensor"):
        raise ValueError("result_type must be 'RaggedTensor' or 'SparseTensor'.")


def _parts_of_strings(result_type: str, indices: Tensor, values: Tensor, dense_shape: Tensor) -> SparseTensor | RaggedTensor:
    indices.set_shape([None, 2])
    values.set_shape([None])
    dense_shape.set_shape([2])
    if result_type == "SparseTensor":
        return SparseTensor(indices, values, dense_shape)
    return RaggedTensor.from_value_rowids(values, indices[:, 0], dense_shape[0], validate=False)


def _renamed(new, new_name: str, old, old_name: str):
    """Returns the value of an argument that has two names."""
    if new is not None and old is not None:
        raise ValueError(f"Cannot specify both '{old_name}' and '{new_name}'.")
    return old if new is None else new


@elementwise
def to_number(string_tensor=None, out_type=float32, name=None, input=None) -> Tensor:
    """Returns the numbers that strings write out, as `out_type`: float32, float64, int32 or int64."""
    return call("StringToNumber", name, _renamed(input, "input", string_tensor, "string_tensor"), out_type=out_type)


@elementwise
def substr(input, pos, len, name=None, unit: str = "BYTE") -> Tensor:
    """Parts of strings.

    Args:
        input: the strings.
        pos: if the parts begin; counted from the end if negative.
        len: how long they are at most.
        name: the name of the operation.
        unit: what is counted: ``"BYTE"`` or ``"UTF8_CHAR"``.
    """
    return call("Substr", name, input, pos, len, unit=unit)


@elementwise
def length(input, name=None, unit: str = "BYTE") -> Tensor:
    """Returns the lengths of strings in bytes, or in characters if `unit` is ``"UTF8_CHAR"``."""
    return call("StringLength", name, input, unit=unit)


@elementwise
def lower(input, encoding: str = "", name=None) -> Tensor:
    """Strings in small letters: ASCII's alone, or all if `encoding` is ``"utf-8"``."""
    return call("StringLower", name, input, encoding=encoding)


@elementwise
def upper(input, encoding: str = "", name=None) -> Tensor:
    """Strings in capital letters: ASCII's alone, or all if `encoding` is ``"utf-8"``."""
    return call("StringUpper", name, input, encoding=encoding)


@elementwise
def strip(input, name=None) -> Tensor:
    """Strings without white space at both ends."""
    return call("StringStrip", name, input)


@elementwise
def regex_replace(input, pattern, rewrite, replace_global: bool = True, name=None) -> Tensor:
    r"""Strings with what a regular expression (RE2's syntax) finds replaced.

    Args:
        input: the strings.
        pattern: the expression.
        rewrite: what to put in its place; ``\1`` is what the first group found, ``\0`` all of it.
        replace_global: every place, otherwise the first.
        name: the name of the operation.
    """
    if isinstance(pattern, (str, bytes)) and isinstance(rewrite, (str, bytes)):
        return call("StaticRegexReplace", name, input, pattern=pattern, rewrite=rewrite, replace_global=replace_global)
    return call("RegexReplace", name, input, pattern, rewrite, replace_global=replace_global)


@elementwise
def regex_full_match(input, pattern, name=None) -> Tensor:
    """Returns true for each string if a regular expression (RE2's syntax) matches the whole of it."""
    if isinstance(pattern, (str, bytes)):
        return call("StaticRegexFullMatch", name, input, pattern=pattern)
    return call("RegexFullMatch", name, input, pattern)


@elementwise
def to_hash_bucket(string_tensor=None, num_buckets: int | None = None, name=None, input=None) -> Tensor:
    """Returns a number below `num_buckets` for each string. The hash may change with the version; :func:`to_hash_bucket_fast` stays."""
    return call("StringToHashBucket", name, _renamed(input, "input", string_tensor, "string_tensor"), num_buckets=num_buckets)


@elementwise
def to_hash_bucket_fast(input, num_buckets: int, name=None) -> Tensor:
    """Returns a number below `num_buckets` for each string, by a hash that is quick and can be foreseen."""
    return call("StringToHashBucketFast", name, input, num_buckets=num_buckets)


@elementwise
def to_hash_bucket_strong(input, num_buckets: int, key, name=None) -> Tensor:
    """Returns a number below `num_buckets` for each string, by a hash (SipHash) that cannot be foreseen without `key`, two integers."""
    return call("StringToHashBucketStrong", name, input, num_buckets=num_buckets, key=key)


@by_rows("_strings.reduce_join")
def reduce_join(inputs, axis=None, keep_dims=None, separator: str = "", name=None, reduction_indices=None, keepdims=None) -> Tensor:
    """Strings along some dimensions put together.

    Args:
        inputs: the strings.
        axis: the dimensions, all of them if it is None.
        keep_dims: as `keepdims`, its name of old.
        separator: what to put between them.
        name: the name of the operations.
        reduction_indices: as `axis`, its name of old.
        keepdims: keeps the dimensions, with size 1.
    """
    keep = _renamed(keepdims, "keepdims", keep_dims, "keep_dims")
    axis = _renamed(axis, "axis", reduction_indices, "reduction_indices")
    with get_default_graph().name_scope("ReduceJoin"):
        inputs = convert_to_tensor(inputs, string)
        if axis is None:
            axis = _all_dimensions(inputs)
        return call("ReduceJoin", name, inputs, axis, keep_dims=bool(keep), separator=separator)


def _all_dimensions(inputs: Tensor) -> Tensor:
    """Returns the dimensions of a tensor, last first: so its strings are put together in their order."""
    rank = inputs.shape.rank
    if rank is not None:
        return convert_to_tensor(list(range(rank - 1, -1, -1)), int32)
    return call("Range", "range", call("Sub", "sub", call("Rank", None, inputs), 1), -1, -1)


@by_rows("_strings.format_string")
def format(template: str, inputs, placeholder: str = "{}", summarize: int = 3, name=None) -> Tensor:
    """Returns a string with tensors written into it.

    Args:
        template: the string.
        inputs: the tensors, or one.
        placeholder: the text that is replaced in the template by each of them.
        summarize: how many elements at either end of a dimension are written; all for -1.
        name: the name of the operation.

    Raises:
        ValueError: if there are more or fewer tensors than places for them.
    """
    inputs = list(inputs) if isinstance(inputs, (list, tuple)) else [inputs]
    places = template.count(placeholder)
    if places != len(inputs):
        raise ValueError(
            f"The template expects {places} tensors, but the inputs only has {len(inputs)}. Please ensure the number of placeholders in the template "
            "matches the number of inputs.")
    return call("StringFormat", name, inputs, template=template, placeholder=placeholder, summarize=summarize)


@elementwise
def unicode_transcode(input, input_encoding: str, output_encoding: str, errors: str = "replace", replacement_char: int = 65533,
                      replace_control_characters: bool = False, name=None) -> Tensor:
    """Strings in another encoding.

    Args:
        input: the strings.
        input_encoding: theirs, such as ``"UTF-8"``.
        output_encoding: ``"UTF-8"``, ``"UTF-16-BE"`` or ``"UTF-32-BE"``.
        errors: what to do about what cannot be read: ``"strict"``, ``"replace"`` or ``"ignore"``.
        replacement_char: what to put there, a code point.
        replace_control_characters: also in the place of control characters.
        name: the name of the operation.
    """
    return call("UnicodeTranscode", name, input, input_encoding=input_encoding, output_encoding=output_encoding, errors=errors,
                replacement_char=replacement_char, replace_control_characters=replace_control_characters)


@elementwise
def unicode_script(input, name=None) -> Tensor:
    """Returns the number of the script that each code point belongs to, as ICU counts them; -1 for what is no code point."""
    return call("UnicodeScript", name, input)


def unsorted_segment_join(inputs, segment_ids, num_segments, separator: str = "", name=None) -> Tensor:
    """Strings of the same segment put together.

    Args:
        inputs: the strings.
        segment_ids: the segment of each, in a shape that `inputs` begins with.
        num_segments: how many segments there are.
        separator: what to put between them.
        name: the name of the operation.
    """
    return call("UnsortedSegmentJoin", name, inputs, segment_ids, num_segments, separator=separator)


def fingerprint(data, method: str = "farmhash64", name: str | None = None) -> Tensor:
    """Returns a fingerprint of each row of a tensor: uint8 ``[rows, 8]`` by the one method there is."""
    return call("Fingerprint", name, data, method)


# What gives rows of different lengths.
__getattr__, __dir__ = _lazy.attach(__name__, _lazy.table("flowmill", {"ragged._strings": _RAGGED}))
