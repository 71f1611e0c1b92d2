"""The value of a ragged tensor, as a session returns it."""

from __future__ import annotations

import numpy as np


class RaggedTensorValue:
    """Rows of different lengths, as arrays.

    Args:
        values: the elements of all rows, one after another: an array, or another such value.
        row_splits: where rows begin and end among them, one more number than there are rows.
    """

    def __init__(self, values, row_splits):
        if not (isinstance(row_splits, (np.ndarray, np.generic)) and row_splits.dtype in (np.int64, np.int32) and row_splits.ndim == 1):
            raise TypeError(f"row_splits must be a 1D int32 or int64 numpy array, got {row_splits!r}")
        if not isinstance(values, (np.ndarray, np.generic, RaggedTensorValue)):
            raise TypeError(f"values must be a numpy array or a RaggedTensorValue, got {values!r}")
        self._values, self._row_splits = values, row_splits

    @property
    def values(self) -> np.ndarray | RaggedTensorValue:
        """The elements of all rows."""
        return self._values

    @property
    def row_splits(self) -> np.ndarray:
        """The offsets at which rows begin and end."""
        return self._row_splits

    @property
    def flat_values(self) -> np.ndarray:
        """The elements of the innermost rows."""
        return self._values.flat_values if isinstance(self._values, RaggedTensorValue) else self._values

    @property
    def nested_row_splits(self) -> tuple[np.ndarray, ...]:
        """The offsets at which rows begin and end, from the outermost rows to the innermost."""
        return (self._row_splits, *(self._values.nested_row_splits if isinstance(self._values, RaggedTensorValue) else ()))

    @property
    def ragged_rank(self) -> int:
        """The number of dimensions that are made of splits."""
        return len(self.nested_row_splits)

    @property
    def dtype(self) -> np.dtype:
        """The type of the elements."""
        return self.flat_values.dtype

    @property
    def shape(self) -> tuple[int | None, ...]:
        """The number of rows, None for their length, and the shape of elements."""
        return (len(self._row_splits) - 1, None, *self._values.shape[1:])

    def to_list(self) -> list:
        """Returns the rows as nested lists."""
        values = self._values.to_list() if isinstance(self._values, RaggedTensorValue) else self._values.tolist()
        return [values[start:limit] for start, limit in zip(self._row_splits[:-1], self._row_splits[1:])]

    def __str__(self):
        return f"<tf.RaggedTensorValue {self.to_list()}>"

    def __repr__(self):
        return f"tf.RaggedTensorValue(values={self._values!r}, row_splits={self._row_splits!r})"
