"""The checksum of record files: CRC-32C (Castagnoli), and the form in which it is stored."""

from __future__ import annotations

import functools

import numpy as np

_POLYNOMIAL = 0x82F63B78
# Long data are cut into rows of so many bytes, whose checksums go on side by side.
_ROW = 128
_LONG = 64 * _ROW
# So many that they stay in the cache.
_ROWS_AT_A_TIME = 1024


@functools.lru_cache(maxsize=None)
def _table() -> list[int]:
    table = []
    for byte in range(256):
        crc = byte
        for _ in range(8):
            crc = crc >> 1 ^ _POLYNOMIAL if crc & 1 else crc >> 1
        table.append(crc)
    return table


@functools.lru_cache(maxsize=None)
def _table_array() -> np.ndarray:
    return np.array(_table(), np.uint32)


@functools.lru_cache(maxsize=None)
def _past_a_row() -> list[list[int]]:
    """For each byte of a register, what it becomes when a row of zeros follows. The checksum is linear, so the four may be added."""
    registers = np.array([value << shift for shift in (0, 8, 16, 24) for value in range(256)], np.uint32)
    table = _table_array()
    for _ in range(_ROW):
        registers = table[registers & 0xFF] ^ (registers >> 8)
    return registers.reshape(4, 256).tolist()


def _short(data: bytes, register: int) -> int:
    table = _table()
    for byte in data:
        register = table[(register ^ byte) & 0xFF] ^ register >> 8
    return register


def _of_rows(rows: np.ndarray) -> np.ndarray:
    """Returns the registers after each row by itself."""
    registers = np.zeros(len(rows), np.uint32)
    table = _table_array()
    for column in rows.T.astype(np.uint32):
        registers = table[(registers ^ column) & 0xFF] ^ (registers >> 8)
    return registers


def crc32c(data: bytes) -> int:
    """Returns the checksum of some bytes."""
    register = 0xFFFFFFFF
    if len(data) >= _LONG:
        odd = len(data) % _ROW
        register = _short(data[:odd], register)
        rows = np.frombuffer(data, np.uint8, offset=odd).reshape(-1, _ROW)
        a, b, c, d = _past_a_row()
        for at in range(0, len(rows), _ROWS_AT_A_TIME):
            for row in _of_rows(rows[at:at + _ROWS_AT_A_TIME]).tolist():
                register = a[register & 0xFF] ^ b[register >> 8 & 0xFF] ^ c[register >> 16 & 0xFF] ^ d[register >> 24] ^ row
    else:
        register = _short(data, register)
    return register ^ 0xFFFFFFFF


def masked_crc32c(data: bytes) -> int:
    """Returns the checksum as record files store it: turned and shifted, since files may hold checksums among their data."""
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF
