"""TFRecord files: records of bytes, each with its length and checksums, the whole file compressed or not."""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Iterator

from flowmill import errors, gfile
from flowmill._internal.crc32c import masked_crc32c
from flowmill.compat import as_bytes, as_text

# Bytes of a compressed file read at a time.
_CHUNK = 1 << 18


class TFRecordCompressionType:
    """The compressions of record files."""

    NONE = 0
    ZLIB = 1
    GZIP = 2


class TFRecordOptions:
    """The options with which a record file is written and read.

    Args:
        compression_type: ``""``, ``"ZLIB"`` or ``"GZIP"``, or the number of it.
        flush_mode, input_buffer_size, output_buffer_size, compression_method: not used.
        window_bits, compression_level, mem_level, compression_strategy: zlib's, its defaults if they are None.
    """

    compression_type_map = {TFRecordCompressionType.ZLIB: "ZLIB", TFRecordCompressionType.GZIP: "GZIP", TFRecordCompressionType.NONE: ""}

    def __init__(self, compression_type=None, flush_mode=None, input_buffer_size=None, output_buffer_size=None, window_bits=None,
                 compression_level=None, compression_method=None, mem_level=None, compression_strategy=None) -> None:
        self.get_compression_type_string(compression_type)
        self.compression_type = compression_type
        self.flush_mode, self.input_buffer_size, self.output_buffer_size = flush_mode, input_buffer_size, output_buffer_size
        self.window_bits, self.compression_level, self.compression_method = window_bits, compression_level, compression_method
        self.mem_level, self.compression_strategy = mem_level, compression_strategy

    @classmethod
    def get_compression_type_string(cls, options) -> str:
        """The name of the compression that options, a number or a name say: ``""``, ``"ZLIB"`` or ``"GZIP"``.

        Raises:
            ValueError: for something else.
        """
        if not options:
            return ""
        if isinstance(options, TFRecordOptions):
            return cls.get_compression_type_string(options.compression_type)
        if options in cls.compression_type_map:
            return cls.compression_type_map[options]
        if options in cls.compression_type_map.values():
            return options
        raise ValueError(f'Not a valid compression_type: "{options}"')


def _window_bits(kind: str, options) -> int:
    bits = getattr(options, "window_bits", None) or zlib.MAX_WBITS
    return bits + 16 if kind == "GZIP" else bits


def _setting(options, name: str, default: int) -> int:
    value = getattr(options, name, None)
    return default if value is None else value


class TFRecordWriter:
    """Writes a record file. As a context manager it is closed at the end.

    Args:
        path: the file, which is written anew.
        options: `TFRecordOptions`, or the name or number of a compression.
    """

    def __init__(self, path, options=None) -> None:
        kind = TFRecordOptions.get_compression_type_string(options)
        self._file = gfile.GFile(as_text(os.fspath(path)), "wb")
        self._file._open()
        self._compressor = None
        if kind:
            self._compressor = zlib.compressobj(
                _setting(options, "compression_level", zlib.Z_DEFAULT_COMPRESSION), zlib.DEFLATED, _window_bits(kind, options),
                _setting(options, "mem_level", 9), _setting(options, "compression_strategy", zlib.Z_DEFAULT_STRATEGY))

    def write(self, record) -> None:
        """Adds a record of bytes, or of text as UTF-8.

        Raises:
            errors.FailedPreconditionError: if it is closed.
        """
        if self._file is None:
            raise errors.FailedPreconditionError(None, None, "Writer is closed.")
        data = as_bytes(record)
        length = struct.pack("<Q", len(data))
        framed = b"".join((length, struct.pack("<I", masked_crc32c(length)), data, struct.pack("<I", masked_crc32c(data))))
        self._file.write(framed if self._compressor is None else self._compressor.compress(framed))

    def flush(self) -> None:
        """Hands what was written to the operating system."""
        if self._file is None:
            raise errors.FailedPreconditionError(None, None, "Writer is closed.")
        if self._compressor is not None:
            self._file.write(self._compressor.flush(zlib.Z_SYNC_FLUSH))
        self._file.flush()

    def close(self) -> None:
        """Ends the file."""
        if self._file is None:
            return
        file, self._file = self._file, None
        if self._compressor is not None:
            file.write(self._compressor.flush())
        file.close()

    def __enter__(self) -> TFRecordWriter:
        return self

    def __exit__(self, *exc_info) -> None:
        self.close()


class _Compressed:
    """Reads what a compressed file holds."""

    def __init__(self, file, bits: int, path: str):
        self._file, self._bits, self._path = file, bits, path
        self._decompressor = zlib.decompressobj(bits)
        self._ready = bytearray()

    def read(self, size: int) -> bytes:
        while len(self._ready) < size:
            data = self._decompressor.unused_data if self._decompressor.eof else self._decompressor.unconsumed_tail
            if self._decompressor.eof:
                data = data or self._file.read(_CHUNK)
                if not data:
                    break
                self._decompressor = zlib.decompressobj(self._bits)  # files may be put behind each other
            else:
                data = data or self._file.read(_CHUNK)
                if not data:
                    break
            try:
                self._ready += self._decompressor.decompress(data, max(size - len(self._ready), _CHUNK))
            except zlib.error as error:
                raise errors.DataLossError(None, None, f"inflate() failed with error: {error} (file: {self._path})") from None
        found = bytes(self._ready[:size])
        del self._ready[:size]
        return found


def tf_record_iterator(path, options=None) -> Iterator[bytes]:
    """Returns the records of a file, one after another.

    Args:
        path: the file.
        options: `TFRecordOptions`, or the name or number of a compression.

    Raises:
        errors.NotFoundError: if there is no such file.
        errors.DataLossError: if a record is cut short or a checksum does not fit.
    """
    kind = TFRecordOptions.get_compression_type_string(options)
    file = gfile.GFile(as_text(os.fspath(path)), "rb")
    file._open()
    return _records(file, kind, options, str(path))


def _records(file, kind: str, options, path: str) -> Iterator[bytes]:
    with file:
        source = _Compressed(file, _window_bits(kind, options), path) if kind else file
        size = None if kind else file.size()
        offset = 0
        while True:
            header = source.read(12)
            if len(header) < 12:  # the file's end, or that of one which is being written
                return
            length, length_crc = struct.unpack("<QI", header)
            if masked_crc32c(header[:8]) != length_crc:
                raise errors.DataLossError(None, None, f"corrupted record at {offset}")
            if size is not None and offset + 16 + length > size:
                raise errors.DataLossError(None, None, f"truncated record at {offset}")
            data = source.read(length)
            footer = source.read(4)
            if len(data) < length or len(footer) < 4:
                raise errors.DataLossError(None, None, f"truncated record at {offset}")
            if masked_crc32c(data) != struct.unpack("<I", footer)[0]:
                raise errors.DataLossError(None, None, f"corrupted record at {offset}")
            yield data
            offset += 16 + length
