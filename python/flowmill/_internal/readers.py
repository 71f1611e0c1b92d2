"""Readers: records of the files whose names a queue gives."""

from __future__ import annotations

from flowmill._internal.apply import apply_op, call
from flowmill._internal.tensor import Operation, Tensor
from flowmill.python_io import TFRecordOptions

__all__ = ["FixedLengthRecordReader", "IdentityReader", "ReaderBase", "TFRecordReader", "TextLineReader", "WholeFileReader"]


def _handle(queue) -> Tensor:
    return queue if isinstance(queue, Tensor) else queue.queue_ref


class ReaderBase:
    """The base class of readers.

    Args:
        reader_ref: the tensor that refers to the reader.
        supports_serialize: whether its state can be saved.
    """

    def __init__(self, reader_ref: Tensor, supports_serialize: bool = False):
        self._reader_ref, self._supports_serialize = reader_ref, supports_serialize

    @property
    def reader_ref(self) -> Tensor:
        """The tensor that refers to the reader."""
        return self._reader_ref

    @property
    def supports_serialize(self) -> bool:
        """True if its state can be saved."""
        return self._supports_serialize

    def read(self, queue, name: str | None = None):
        """Returns the next record's key and value, string scalars; takes a name from `queue` if a file has come to its end."""
        return call("ReaderReadV2", name, self._reader_ref, _handle(queue))

    def read_up_to(self, queue, num_records, name: str | None = None):
        """Keys and values of at least one and at most `num_records` records, string vectors."""
        return call("ReaderReadUpToV2", name, self._reader_ref, _handle(queue), num_records)

    def num_records_produced(self, name: str | None = None) -> Tensor:
        """Returns the number of records that it has produced, an int64 scalar."""
        return call("ReaderNumRecordsProducedV2", name, self._reader_ref)

    def num_work_units_completed(self, name: str | None = None) -> Tensor:
        """Returns the number of files that it has read to their end, an int64 scalar."""
        return call("ReaderNumWorkUnitsCompletedV2", name, self._reader_ref)

    def serialize_state(self, name: str | None = None) -> Tensor:
        """Its state, a string scalar that :meth:`restore_state` takes; not every kind of reader has one."""
        return call("ReaderSerializeStateV2", name, self._reader_ref)

    def restore_state(self, state, name: str | None = None) -> Operation:
        """Takes up the state that a reader of its kind gave."""
        return apply_op("ReaderRestoreStateV2", name, (self._reader_ref, state))

    def reset(self, name: str | None = None) -> Operation:
        """Goes back to the state of a new reader."""
        return apply_op("ReaderResetV2", name, (self._reader_ref,))


class WholeFileReader(ReaderBase):
    """Produces whole files: their names as keys, their contents as values."""

    def __init__(self, name: str | None = None):
        super().__init__(call("WholeFileReaderV2", name), supports_serialize=True)


class TextLineReader(ReaderBase):
    """Produces lines without their ends; keys are file names and numbers of lines.

    Args:
        skip_header_lines: how many lines of each file to leave out.
        name: the name of the operation.
    """

    def __init__(self, skip_header_lines: int | None = None, name: str | None = None):
        super().__init__(call("TextLineReaderV2", name, skip_header_lines=skip_header_lines))


class FixedLengthRecordReader(ReaderBase):
    """Produces records of one length; keys are file names and numbers of records.

    Args:
        record_bytes: the length.
        header_bytes: bytes before the first record.
        footer_bytes: bytes after the last one.
        hop_bytes: from one record's start to the next one's; `record_bytes` if it is 0 or None.
        name: the name of the operation.
        encoding: ``""``, or ``"ZLIB"`` for files that are compressed as a whole.
    """

    def __init__(self, record_bytes: int, header_bytes: int | None = None, footer_bytes: int | None = None, hop_bytes: int | None = None,
                 name: str | None = None, encoding: str | None = None):
        super().__init__(call("FixedLengthRecordReaderV2", name, record_bytes=record_bytes, header_bytes=header_bytes, footer_bytes=footer_bytes,
                              hop_bytes=hop_bytes, encoding=encoding))


class TFRecordReader(ReaderBase):
    """Produces the records of TFRecord files; keys are file names and offsets in them.

    Args:
        name: the name of the operation.
        options: a `TFRecordOptions` with the compression.
    """

    def __init__(self, name: str | None = None, options=None):
        super().__init__(call("TFRecordReaderV2", name, compression_type=TFRecordOptions.get_compression_type_string(options)))


class IdentityReader(ReaderBase):
    """Produces the elements of the queue, as key and as value."""

    def __init__(self, name: str | None = None):
        super().__init__(call("IdentityReaderV2", name), supports_serialize=True)
