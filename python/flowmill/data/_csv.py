"""Datasets of tables in text files: columns separated by commas."""

from __future__ import annotations

import collections
import csv
import gzip
from collections.abc import Callable, Iterator

import numpy as np

from flowmill import gfile
from flowmill._internal.apply import call
from flowmill._internal.convert import constant, convert_to_tensor
from flowmill._internal.tensor import Tensor
from flowmill._internal.tensor_spec import TensorSpec
from flowmill._internal.tensor_util import constant_value
from flowmill.data import _structure
from flowmill.data._base import BOOL, INT64, STRING, optional
from flowmill.data._dataset import Dataset
from flowmill.data._examples import mapped, read_in_turn, shuffled_and_repeated
from flowmill.dtypes import DType, as_dtype

# The types of columns, from the narrowest to the widest.
_TYPES = [as_dtype(name) for name in ("int32", "int64", "float32", "float64", "string")]
# How many bytes are read at once.
_BUFFER_SIZE = 4 * 1024 * 1024


def _default(value) -> Tensor:
    """Returns a column's default: one without elements for a type."""
    if isinstance(value, Tensor):
        return value
    if isinstance(value, (DType, type, str)) and value != "":
        try:
            return constant([], as_dtype(value))
        except TypeError:
            pass
    return convert_to_tensor(value, name="record_defaults")


class CsvDataset(Dataset):
    """A dataset of the rows of tables: tuples of scalars.

    Args:
        filenames: the names of files.
        record_defaults: for each column its type, or a tensor with the value of empty fields.
        compression_type: "GZIP", "ZLIB", or nothing.
        buffer_size: how many bytes are read at once.
        header: whether files begin with a line of names.
        field_delim: what separates fields.
        use_quote_delim: whether quotation marks enclose fields.
        na_value: another text for an empty field.
        select_cols: the numbers of the columns to read, rising; all for None.
    """

    def __init__(self, filenames, record_defaults, compression_type=None, buffer_size=None, header=False, field_delim=",", use_quote_delim=True,
                 na_value="", select_cols=None):
        files = convert_to_tensor(filenames, STRING, "filenames")
        compression = optional(compression_type, "compression_type", "", STRING)
        defaults = [_default(value) for value in record_defaults]
        size = optional(buffer_size, "buffer_size", _BUFFER_SIZE)
        has_header = convert_to_tensor(header, BOOL, "header")
        delimiter = convert_to_tensor(field_delim, STRING, "field_delim")
        quotes = convert_to_tensor(use_quote_delim, BOOL, "use_quote_delim")
        missing = convert_to_tensor(na_value, STRING, "na_value")
        columns = optional(select_cols, "select_cols", [], INT64)
        excluded = optional(None, "exclude_cols", [], INT64)
        spec = tuple(TensorSpec([], default.dtype) for default in defaults)
        variant = call("CSVDatasetV2", None, files, compression, size, has_header, delimiter, quotes, missing, columns, defaults, excluded,
                       output_shapes=_structure.tensor_shapes(spec))
        super().__init__(variant, spec)


def _fits(text: str, dtype: DType) -> bool:
    """Returns true if a field can be of a type."""
    kind = dtype.as_numpy_dtype
    try:
        if dtype.is_integer:
            limits = np.iinfo(kind)
            return limits.min <= int(text) <= limits.max
        return dtype.name == "string" or bool(kind(text) < np.inf)
    except (ValueError, OverflowError):
        return False


def _wider(text: str, na_value: str, known: DType | None) -> DType | None:
    """Returns the narrowest type for a field and for those before it, which have a known one."""
    if text in ("", na_value):
        return known
    least = 0 if known is None else _TYPES.index(known)
    return next(dtype for dtype in _TYPES[least:] if _fits(text, dtype))


class _Files:
    """Tables that are looked into while the graph is built."""

    def __init__(self, names: list[str], compression_type, delimiter: str, quotes: bool, encoding: str | None):
        kind = compression_type if compression_type is None or isinstance(compression_type, str) else _constant_text(compression_type)
        if kind not in (None, "", "GZIP"):
            raise ValueError(f"`compression_type` {kind} is not supported for probing columns.")
        self._names, self._encoding, self._is_gzip = names, encoding, kind == "GZIP"
        self._format = {"delimiter": delimiter, "quoting": csv.QUOTE_MINIMAL if quotes else csv.QUOTE_NONE}

    def _rows(self, name: str) -> Iterator[list[str]]:
        with gfile.GFile(name, "rb") as file:
            data = file.read()
        text = (gzip.decompress(data) if self._is_gzip else data).decode(self._encoding or "utf-8")
        return csv.reader(text.splitlines(), **self._format)

    def column_names(self) -> list[str]:
        """Returns the names in the first lines, which are the same in all files.

        Raises:
            ValueError: if they are not, and for an empty file.
        """
        names: list[str] | None = None
        for file in self._names:
            found = next(self._rows(file), None)
            if found is None:
                raise ValueError(f"Failed when reading the header line of {file}. Is it an empty file?")
            if names is not None and found != names:
                raise ValueError("All input CSV files should have the same column names in the header row. File "
                                 f"{file} has different column names.")
            names = found
        return names or []

    def defaults(self, num_columns: int, columns: list[int], na_value: str, header: bool, num_rows: int | None) -> list[Tensor]:
        """Returns zeros or empty strings of the types that the first rows have.

        Raises:
            ValueError: for a row with another number of fields.
        """
        types: list[DType | None] = [None] * len(columns)
        seen = 0
        for file in self._names:
            for number, row in enumerate(self._rows(file), 1):
                if header and number == 1:
                    continue
                if num_rows is not None and seen >= num_rows:
                    break
                if len(row) != num_columns:
                    raise ValueError(f"Problem inferring types: CSV row {number} has {len(row)} number of fields. Expected: {num_columns}.")
                types = [_wider(row[column], na_value, known) for column, known in zip(columns, types)]
                seen += 1
        chosen = [STRING if dtype is None else dtype for dtype in types]
        return [constant(["" if dtype.name == "string" else 0], dtype) for dtype in chosen]


def _constant_text(tensor) -> str:
    value = constant_value(tensor)
    if value is None:
        raise ValueError(f"Received unknown `compression_type` {tensor}. Expected: GZIP, ZLIB or \"\" (empty string).")
    return value.item().decode() if hasattr(value, "item") else value.decode()


def _file_names(pattern) -> list[str]:
    if isinstance(pattern, list) and not pattern:
        raise ValueError("Argument `file_pattern` should not be empty.")
    found = [name for each in (pattern if isinstance(pattern, list) else [pattern]) for name in gfile.Glob(each)]
    if not found:
        raise ValueError(f"No files match `file_pattern` {pattern}.")
    return sorted(found)


def _selected(columns, names: list[str]) -> list[int]:
    """Returns the numbers of columns, rising, of numbers and names."""
    found = []
    for column in columns:
        if isinstance(column, int):
            if not 0 <= column < len(names):
                raise ValueError(f"Column index {column} specified in `select_columns` should be > 0  and <= {len(names)}, which is the number of "
                                 "columns.")
            found.append(column)
        elif column not in names:
            raise ValueError(f"Column {column} specified in `select_columns` must be of one of the columns: {names}.")
        else:
            found.append(names.index(column))
    _check_distinct(found, "The `select_columns` argument contains duplicate columns")
    return sorted(found)


def _check_distinct(values: list, message: str) -> None:
    twice = {value for value, count in collections.Counter(values).items() if count > 1}
    if twice:
        raise ValueError(f"{message}: {twice}.")


def make_csv_dataset(file_pattern, batch_size, column_names=None, column_defaults=None, label_name: str | None = None, select_columns=None,
                     field_delim: str = ",", use_quote_delim: bool = True, na_value: str = "", header: bool = True, num_epochs=None,
                     shuffle: bool = True, shuffle_buffer_size=10000, shuffle_seed=None, prefetch_buffer_size=None, num_parallel_reads=None,
                     sloppy: bool = False, num_rows_for_inference: int | None = 100, compression_type=None, ignore_errors: bool = False,
                     encoding: str | None = "utf-8") -> Dataset:
    """Returns a dataset of batches of the rows of tables in files: dictionaries by the names of columns.

    Args:
        file_pattern: a pattern of the names of files, or several.
        batch_size: how many rows a batch has.
        column_names: the names of columns; those of the first lines for None.
        column_defaults: as `record_defaults` of :class:`CsvDataset`; what the first rows look like for None.
        label_name: a column that comes apart, as the second of a pair.
        select_columns: the numbers or names of the columns to read; all for None.
        field_delim: what separates fields.
        use_quote_delim: whether quotation marks enclose fields.
        na_value: another text for an empty field.
        header: whether files begin with a line of names.
        num_epochs: how often the rows come, without end for None.
        shuffle: whether to shuffle files and rows.
        shuffle_buffer_size: from how many rows one is drawn.
        shuffle_seed: the seed of the order.
        prefetch_buffer_size: how many batches to make ahead.
        num_parallel_reads: how many files to read in turn.
        sloppy: whether rows may come in another order if that is faster.
        num_rows_for_inference: how many rows to look at for types, all for None.
        compression_type: "GZIP", "ZLIB", or nothing.
        ignore_errors: whether to leave out rows that cannot be read.
        encoding: the encoding of the files, for names.

    Raises:
        ValueError: if no file matches, and for columns that do not exist or are named twice.
    """
    filenames = _file_names(file_pattern)
    files = Dataset.from_tensor_slices(filenames)
    if shuffle:
        files = files.shuffle(len(filenames), shuffle_seed)
    names = column_names
    looked_into = None
    if names is None or column_defaults is None:
        looked_into = _Files(filenames, compression_type, field_delim, use_quote_delim, encoding)
    if names is None:
        if not header:
            raise ValueError("Expected `column_names` or `header` arguments. Neither is provided.")
        names = looked_into.column_names()  # type: ignore[union-attr]
    _check_distinct(list(names), "Either `column_names` argument or CSV header row contains duplicate column names")
    columns = None if select_columns is None else _selected(select_columns, list(names))
    if column_defaults is None:
        numbers = list(range(len(names))) if columns is None else columns
        defaults = looked_into.defaults(len(names), numbers, na_value, header, num_rows_for_inference)  # type: ignore[union-attr]
    else:
        defaults = [_default(value) for value in column_defaults]
    if columns is not None and len(defaults) != len(columns):
        raise ValueError("If specified, `column_defaults` and `select_columns` must have the same length: `column_defaults` has length "
                         f"{len(defaults)}, `select_columns` has length {len(columns)}.")
    if columns is not None and len(names) > len(columns):
        names = [names[i] for i in columns]
    if label_name is not None and label_name not in names:
        raise ValueError(f"`label_name` provided must be one of the columns: {names}. Received: {label_name}.")

    def filename_to_dataset(filename):
        rows = CsvDataset(filename, defaults, compression_type, None, header, field_delim, use_quote_delim, na_value, columns)
        return rows.ignore_errors() if ignore_errors else rows

    made = read_in_turn(files, filename_to_dataset, 1 if num_parallel_reads is None else num_parallel_reads, sloppy)
    made = shuffled_and_repeated(made, num_epochs, shuffle, shuffle_buffer_size, shuffle_seed).batch(batch_size, drop_remainder=num_epochs is None)
    made = mapped(made, _by_name(list(names), label_name)).prefetch(-1 if prefetch_buffer_size is None else prefetch_buffer_size)
    made._is_v2 = False
    return made


def _by_name(names: list[str], label_name: str | None) -> Callable:
    def map_fn(*columns):
        features = collections.OrderedDict(zip(names, columns))
        return features if label_name is None else (features, features.pop(label_name))

    return map_fn
