"""Functions of strings that give rows of different lengths: characters, bytes, n-grams."""

from __future__ import annotations

from collections.abc import Callable

import flowmill as tf
from flowmill._internal.apply import call, op_scope
from flowmill._internal.arguments import one_of
from flowmill._internal.tensor import Tensor
from flowmill.ragged import _elementwise, _partition, _reductions
from flowmill.ragged._tensor import RaggedTensor, is_ragged, to_ragged

__all__ = [
    "bytes_split", "ngrams", "unicode_decode", "unicode_decode_with_offsets", "unicode_encode", "unicode_split", "unicode_split_with_offsets",
]


def _by_vectors(function: Callable, value) -> list:
    """Applies a function to strings of any rank: it takes vectors, and returns ragged tensors with a row for each string."""
    if isinstance(value, RaggedTensor):
        return [value.with_flat_values(made) for made in _by_vectors(function, value.flat_values)]
    rank = value.shape.rank
    if rank is None:
        raise ValueError("Rank of `input` must be statically known.")
    if rank == 0:
        return [made.values for made in function(tf.reshape(value, [1]))]
    if rank == 1:
        return function(value)
    rows = RaggedTensor.from_tensor(value, ragged_rank=rank - 1)
    return [rows.with_flat_values(made) for made in function(rows.flat_values)]


def bytes_split(input, name: str | None = None) -> Tensor | RaggedTensor:  # noqa: A002 - TensorFlow's name
    """Returns the bytes of strings: a row for each string.

    Args:
        input: strings of a known rank, ragged or not.
        name: the name of the scope of the operations.
    """
    def of_vector(vector):
        indices, values, shape = call("StringSplit", None, vector, "", skip_empty=False)
        return [RaggedTensor.from_value_rowids(values, indices[:, 0], shape[0], validate=False)]

    with op_scope(name, "StringsByteSplit"):
        return _by_vectors(of_vector, to_ragged(input, tf.string, "input"))[0]


def _decoded(value, encoding: str, errors: str, replacement_char: int, replace_control_characters: bool) -> list:
    """Code points, and where their bytes begin."""
    def of_vector(vector):
        splits, points, starts = call(
            "UnicodeDecodeWithOffsets", None, vector, input_encoding=encoding, errors=errors, replacement_char=replacement_char,
            replace_control_characters=replace_control_characters)
        return [RaggedTensor(points, splits), RaggedTensor(starts, splits)]
    return _by_vectors(of_vector, to_ragged(value, name="input"))


def unicode_decode(input, input_encoding: str, errors: str = "replace", replacement_char: int = 65533,  # noqa: A002 - TensorFlow's name
                   replace_control_characters: bool = False, name: str | None = None) -> Tensor | RaggedTensor:
    """Returns the code points of strings: a row for each string.

    Args:
        input: strings of a known rank, ragged or not.
        input_encoding: ``"UTF-8"``, ``"UTF-16-BE"``, ``"UTF-32-BE"``, or others.
        errors: what to do with what is not of the encoding: ``"replace"``, ``"ignore"``, ``"strict"``.
        replacement_char: the code point in its place.
        replace_control_characters: whether control characters are not of it either.
        name: the name of the scope of the operations.
    """
    with op_scope(name, "UnicodeDecode"):
        return _decoded(input, input_encoding, errors, replacement_char, replace_control_characters)[0]


def unicode_decode_with_offsets(input, input_encoding: str, errors: str = "replace", replacement_char: int = 65533,  # noqa: A002
                                replace_control_characters: bool = False, name: str | None = None) -> tuple:
    """Like :func:`unicode_decode`, but also returns where the bytes of each code point begin in its string."""
    with op_scope(name, "UnicodeDecodeWithOffsets"):
        return tuple(_decoded(input, input_encoding, errors, replacement_char, replace_control_characters))


def unicode_split(input, input_encoding: str, errors: str = "replace", replacement_char: int = 65533,  # noqa: A002
                  name: str | None = None) -> Tensor | RaggedTensor:
    """Returns the characters of strings: a row for each string. Arguments are as for :func:`unicode_decode`."""
    with op_scope(name, "UnicodeSplit"):
        return _characters(_decoded(input, input_encoding, errors, replacement_char, False)[0], input_encoding, errors, replacement_char)


def unicode_split_with_offsets(input, input_encoding: str, errors: str = "replace", replacement_char: int = 65533,  # noqa: A002
                               name: str | None = None) -> tuple:
    """Like :func:`unicode_split`, but also returns where the bytes of each character begin in its string."""
    with op_scope(name, "UnicodeSplitWithOffsets"):
        points, starts = _decoded(input, input_encoding, errors, replacement_char, False)
        return _characters(points, input_encoding, errors, replacement_char), starts


def _characters(points, encoding: str, errors: str, replacement_char: int) -> Tensor | RaggedTensor:
    """Each code point as a string."""
    flat = points.flat_values if isinstance(points, RaggedTensor) else points
    splits = tf.range(tf.shape(flat, out_type=tf.int64)[0] + 1)
    made = call("UnicodeEncode", None, flat, splits, output_encoding=encoding, errors=errors, replacement_char=replacement_char)
    return points.with_flat_values(made) if isinstance(points, RaggedTensor) else made


def unicode_encode(input, output_encoding: str, errors: str = "replace", replacement_char: int = 65533,  # noqa: A002
                   name: str | None = None) -> Tensor | RaggedTensor:
    """Strings of code points: one for each of the innermost rows.

    Args:
        input: code points, int32 of rank 1 at least, ragged or not.
        output_encoding: ``"UTF-8"``, ``"UTF-16-BE"`` or ``"UTF-32-BE"``.
        errors: what to do with what is no code point: ``"replace"``, ``"ignore"``, ``"strict"``.
        replacement_char: the code point in its place.
        name: the name of the scope of the operations.

    Raises:
        ValueError: for a scalar, or an unknown rank.
    """
    with op_scope(name, "UnicodeEncode"):
        points = to_ragged(input, name="input")
        if points.shape.rank is None:
            raise ValueError("Rank of input_tensor must be statically known.")
        if points.shape.rank == 0:
            raise ValueError("input_tensor's rank must be at least 1.")
        return _encoded(points, {"output_encoding": output_encoding, "errors": errors, "replacement_char": replacement_char})


def _encoded(points, options: dict) -> Tensor | RaggedTensor:
    if isinstance(points, RaggedTensor):
        if isinstance(points.values, RaggedTensor) or points.values.shape.rank > 1:
            return points.with_values(_encoded(points.values, options))
        return call("UnicodeEncode", None, points.values, points.row_splits, **options)
    sizes = tf.shape(points, out_type=tf.int64)
    if points.shape.rank == 1:
        made = call("UnicodeEncode", None, points, tf.stack([tf.zeros([], tf.int64), sizes[0]]), **options)
        return tf.reshape(made, [])
    flat = tf.reshape(points, tf.stack([-1, sizes[-1]]))
    made = tf.reshape(_encoded(RaggedTensor.from_tensor(flat), options), sizes[:-1])
    made.set_shape(points.shape[:-1])
    return made


def ngrams(data, ngram_width, separator: str = " ", pad_values=None, padding_width: int | None = None, preserve_short_sequences: bool = False,
           name: str | None = None) -> Tensor | RaggedTensor:
    """Neighbouring strings of the innermost rows put together.

    Args:
        data: strings of rank 1 at least, ragged or not.
        ngram_width: how many are put together; a list or tuple of numbers for several.
        separator: what to put between them.
        pad_values: what to put before and after each row, a string or two; nothing if it is None.
        padding_width: how often to put it there at most; one time less than there are strings in an n-gram if it is None.
        preserve_short_sequences: gives a row as a whole if it is too short.
        name: the name of the scope of the operations.

    Raises:
        ValueError: if a width is not positive, or `data` is a scalar.
        TypeError: for other values to pad with.
    """
    with op_scope(name, "StringNGrams"):
        left, right = ("", "") if pad_values is None else (pad_values, pad_values) if isinstance(pad_values, (str, bytes)) else _two(pad_values)
        if padding_width is not None and padding_width < 1:
            raise ValueError(f"padding_width must be greater than 0. Got {padding_width}")
        widths = [int(w) for w in ngram_width] if isinstance(ngram_width, (list, tuple)) else [int(ngram_width)]
        if min(widths) < 1:
            raise ValueError(f"All ngram_widths must be greater than 0. Got {ngram_width}")
        options = {
            "separator": separator, "ngram_widths": widths, "left_pad": left, "right_pad": right, "preserve_short_sequences": preserve_short_sequences,
            "pad_width": 0 if pad_values is None else -1 if padding_width is None else padding_width}
        data = to_ragged(data, tf.string, "data")
        if data.shape.rank is None:
            raise ValueError("Rank of data must be known.")
        if data.shape.rank == 0:
            raise ValueError("Data must have rank>0")
        if isinstance(data, RaggedTensor):
            return _grams(data, options)
        if data.shape.rank == 1:
            return _grams(RaggedTensor.from_tensor(data[tf.newaxis]), options).flat_values
        return _grams(RaggedTensor.from_tensor(data, ragged_rank=data.shape.rank - 1), options).to_tensor("")


def _two(pad_values) -> tuple:
    if isinstance(pad_values, (list, tuple)) and len(pad_values) == 2 and all(isinstance(v, (str, bytes)) for v in pad_values):
        return tuple(pad_values)
    raise TypeError("pad_values must be a string, tuple of strings, or None.")


def _grams(rows: RaggedTensor, options: dict) -> RaggedTensor:
    if isinstance(rows.values, RaggedTensor):
        return rows.with_values(_grams(rows.values, options))
    if rows.values.shape.rank != 1:
        return rows.with_values(_grams(RaggedTensor.from_tensor(rows.values, ragged_rank=rows.values.shape.rank - 1), options))
    made, splits = call("StringNGrams", None, rows.values, rows.row_splits, **options)
    splits.set_shape(rows.row_splits.shape)
    return RaggedTensor(made, splits)


def join(inputs, separator: str = "", name: str | None = None) -> RaggedTensor:
    """Returns the strings of several tensors, all of which have the same rows, put together element by element."""
    with op_scope(name, "RaggedStringJoin"):
        return _elementwise.map_values(tf.strings.join, (inputs,), {"separator": separator})


def reduce_join(inputs, axis=None, keep_dims=None, separator: str = "", name: str | None = None, reduction_indices=None, keepdims=None):
    """Returns the strings along some dimensions put together."""
    axis, keep = one_of("reduction_indices", reduction_indices, "axis", axis), one_of("keep_dims", keep_dims, "keepdims", keepdims)

    def of_tensors(values, axis=None, keepdims=False):
        return tf.strings.reduce_join(values, axis, keepdims=keepdims, separator=separator)

    def of_segments(values, ids, count):
        return tf.strings.unsorted_segment_join(values, ids, count, separator)
    return _reductions.reduced_by(of_tensors, of_segments, to_ragged(inputs), axis, bool(keep), name or "RaggedSegmentJoin")


def format_string(template: str, inputs, placeholder: str = "{}", summarize: int = 3, name: str | None = None) -> Tensor:
    """Returns a string with tensors, some of them ragged, written into it.

    Raises:
        ValueError: if there are more or fewer tensors than places for them.
    """
    inputs = list(inputs) if isinstance(inputs, (list, tuple)) else [inputs]
    first, *texts = template.split(placeholder)
    if len(inputs) != len(texts):
        raise ValueError(f"num placeholders in template and num inputs must match: {len(texts)} vs {len(inputs)}")
    with op_scope(name, "StringFormat"):
        parts = [tf.constant(first)]
        for value, text in zip(inputs, texts):
            parts += [written(value, summarize) if is_ragged(value) else tf.strings.format("{}", [value], summarize=summarize), tf.constant(text)]
        return tf.strings.reduce_join(parts) if len(parts) > 1 else parts[0]


def written(value, summarize: int | None = None) -> Tensor:
    """Returns a ragged tensor as one string of nested lists.

    Args:
        value: the ragged tensor.
        summarize: how many elements at either end of a row are written; all for -1 and None.

    Raises:
        ValueError: for another number of elements, or a rank that is not known.
    """
    if summarize is not None and summarize != -1 and not (isinstance(summarize, int) and summarize > 0):
        raise ValueError(f"Expected summarize to be -1 or a positive int, got {summarize!r}")
    with op_scope(None, "AsString"):
        value = to_ragged(value)
        if value.shape.rank is None:
            raise ValueError("RaggedTensor to_string requires that rt.shape.rank is not None.")
        rows = value.flat_values
        text = "'" + tf.regex_replace(rows, r"(['\\])", r"\\\1") + "'" if value.dtype.base_dtype is tf.string else tf.as_string(rows)
        rows = value.with_flat_values(text if rows.shape.rank == 1 else RaggedTensor.from_tensor(text, ragged_rank=rows.shape.rank - 1))
        count = -1 if summarize is None else summarize
        while isinstance(rows, RaggedTensor):
            rows = _with_innermost(rows, count)
        return _row_texts(RaggedTensor.from_row_lengths(rows, tf.shape(rows), validate=False), count)[0]


def _with_innermost(rows: RaggedTensor, summarize: int) -> Tensor | RaggedTensor:
    """Returns rows of strings with each of the innermost rows as one string."""
    return rows.with_values(_with_innermost(rows.values, summarize)) if isinstance(rows.values, RaggedTensor) else _row_texts(rows, summarize)


def _row_texts(rows: RaggedTensor, summarize: int) -> Tensor:
    """Returns the strings of each row between brackets."""
    texts, rowids = rows.values, rows.value_rowids()
    if summarize > 0:
        place, lengths = _partition.positions_in(rows.row_splits), tf.gather(rows.row_lengths(), rowids)
        is_long = lengths > 2 * summarize
        texts = tf.where(is_long & tf.equal(place, summarize), tf.fill(tf.shape(texts), "..."), texts)
        kept = tf.logical_not(is_long) | (place <= summarize) | (place >= lengths - summarize)
        texts, rowids = tf.boolean_mask(texts, kept), tf.boolean_mask(rowids, kept)
    return "[" + tf.strings.unsorted_segment_join(texts, rowids, rows.nrows(), ", ") + "]"
