"""Files and directories of the local machine, with TensorFlow's names and exceptions. Paths may begin with ``file://``."""

from __future__ import annotations

import collections
import contextlib
import errno
import fnmatch
import os
import re
import shutil
from collections.abc import Iterator
from typing import Any

from flowmill import errors
from flowmill.compat import as_bytes, as_text

__all__ = [
    "Copy", "DeleteRecursively", "Exists", "FastGFile", "GFile", "Glob", "IsDirectory", "ListDirectory", "MakeDirs", "MkDir", "Open", "Remove",
    "Rename", "Stat", "Walk",
]

_ERRORS = {
    errno.ENOENT: errors.NotFoundError, errno.EEXIST: errors.AlreadyExistsError, errno.EACCES: errors.PermissionDeniedError,
    errno.EPERM: errors.PermissionDeniedError, errno.EISDIR: errors.FailedPreconditionError, errno.ENOTDIR: errors.FailedPreconditionError,
    errno.ENOTEMPTY: errors.FailedPreconditionError, errno.EINVAL: errors.InvalidArgumentError, errno.ENOSPC: errors.ResourceExhaustedError,
    errno.EMFILE: errors.ResourceExhaustedError, errno.ENFILE: errors.ResourceExhaustedError, errno.EROFS: errors.FailedPreconditionError,
}


@contextlib.contextmanager
def _errors(path: str = "") -> Iterator[None]:
    """Raises the operating system's errors as exceptions of :mod:`flowmill.errors`."""
    try:
        yield
    except OSError as error:
        kind = _ERRORS.get(error.errno, errors.UnknownError)
        raise kind(None, None, f"{error.filename or path}; {error.strerror or error}") from error


def _local(path) -> str:
    """Returns a path as the operating system takes it.

    Raises:
        errors.UnimplementedError: for other file systems than the local one.
    """
    path = as_text(os.fspath(path))
    scheme = re.match(r"([A-Za-z][A-Za-z0-9.+-]*)://", path)
    if scheme is None:
        return path
    if scheme[1] == "file":
        return path[len("file://"):]
    raise errors.UnimplementedError(None, None, f"File system scheme '{scheme[1]}' not implemented (file: '{path}')")


class GFile:
    """A file. It is opened when it is first read or written.

    Args:
        name: its path.
        mode: ``r``, ``w``, ``a`` or ``r+``, with ``b`` for bytes in place of text.
    """

    def __init__(self, name, mode: str = "r"):
        if mode not in ("r", "w", "a", "r+", "w+", "a+", "rb", "wb", "ab", "r+b", "w+b", "a+b", "rb+", "wb+", "ab+"):
            raise errors.InvalidArgumentError(None, None, f"mode must be 'r', 'w', 'a', 'r+', 'w+' or 'a+', or one of these with 'b', not {mode!r}")
        self._name, self._mode = name, mode
        self._binary = "b" in mode
        self._readable = "r" in mode or "+" in mode
        self._writable = "r" not in mode or "+" in mode
        self._file = None

    @property
    def name(self) -> str:
        """The path it was made with."""
        return self._name

    @property
    def mode(self) -> str:
        """The mode it was made with."""
        return self._mode

    def _open(self):
        if self._file is None:
            with _errors(str(self._name)):
                self._file = open(_local(self._name), self._mode.replace("b", "") + "b")
        return self._file

    def _reading(self):
        if not self._readable:
            raise errors.PermissionDeniedError(None, None, "File isn't open for reading")
        return self._open()

    def _text(self, data: bytes):
        return data if self._binary else as_text(data)

    def size(self) -> int:
        """Returns the file's size in bytes."""
        if self._writable and self._file is not None:
            self.flush()
        return Stat(self._name).length

    def read(self, n: int = -1):
        """At most `n` bytes, all that is left for -1: text or bytes by the mode."""
        file = self._reading()
        with _errors(str(self._name)):
            return self._text(file.read(n))

    def readline(self) -> Any:
        """Returns a line with its end; empty at the end of the file."""
        file = self._reading()
        with _errors(str(self._name)):
            return self._text(file.readline())

    def readlines(self) -> list:
        """Returns the lines that are left, with their ends."""
        return list(self)

    def write(self, file_content) -> None:
        """Writes text or bytes, whichever the mode."""
        if not self._writable:
            raise errors.PermissionDeniedError(None, None, "File isn't open for writing")
        file = self._open()
        with _errors(str(self._name)):
            file.write(as_bytes(file_content))

    def seek(self, offset: int | None = None, whence: int = 0, position: int | None = None) -> None:
        """Goes to a place in the file: counted from its start, from here (`whence` 1), or from its end (2)."""
        if offset is None and position is None:
            raise TypeError("seek(): offset argument required")
        if whence not in (0, 1, 2):
            raise errors.InvalidArgumentError(None, None, f"Invalid whence argument: {whence}. Valid values are 0, 1, or 2.")
        file = self._reading()
        with _errors(str(self._name)):
            file.seek(offset if position is None else position, whence)

    def seekable(self) -> bool:
        """True."""
        return True

    def tell(self) -> int:
        """Returns the place in the file, in bytes from its start."""
        file = self._open()
        with _errors(str(self._name)):
            return file.tell()

    def flush(self) -> None:
        """Hands what was written to the operating system."""
        if self._file is not None and self._writable:
            with _errors(str(self._name)):
                self._file.flush()

    def close(self) -> None:
        """Closes the file; it opens again when it is used again."""
        file, self._file = self._file, None
        if file is not None:
            with _errors(str(self._name)):
                file.close()

    def __iter__(self) -> Any:
        return self

    def __next__(self) -> Any:
        """Returns the next line with its end."""
        line = self.readline()
        if not line:
            raise StopIteration
        return line

    next = __next__

    def __enter__(self) -> GFile:
        return self

    def __exit__(self, *exc_info) -> None:
        self.close()


class FastGFile(GFile):
    """Like :class:`GFile`."""


Open = GFile


def Exists(filename) -> bool:
    """Returns true if there is a file or directory of this name."""
    return os.path.exists(_local(filename))


def IsDirectory(dirname) -> bool:
    """Returns true if this is a directory."""
    return os.path.isdir(_local(dirname))


def MkDir(dirname) -> None:
    """Makes a directory, whose parent exists; nothing happens if it exists.

    Raises:
        errors.NotFoundError: if its parent does not exist.
    """
    if not IsDirectory(dirname):
        with _errors(str(dirname)):
            os.mkdir(_local(dirname))


def MakeDirs(dirname) -> None:
    """Makes a directory and its parents; nothing happens if it exists."""
    with _errors(str(dirname)):
        os.makedirs(_local(dirname), exist_ok=True)


def ListDirectory(dirname) -> list[str]:
    """The names of what is in a directory, sorted.

    Raises:
        errors.NotFoundError: if there is no such directory.
    """
    if not IsDirectory(dirname):
        raise errors.NotFoundError(None, None, f"Could not find directory {as_text(os.fspath(dirname))}")
    with _errors(str(dirname)):
        return sorted(os.listdir(_local(dirname)))


def Glob(filename) -> list[str]:
    """Returns the files and directories that match a pattern, or one of a list of patterns, sorted. ``*``, ``?`` and ``[...]`` match within names, also those
    that begin with a dot."""
    patterns = filename if isinstance(filename, (list, tuple)) else [filename]
    return [found for pattern in patterns for found in _glob(_local(pattern))]


_MAGIC = re.compile(r"[*?\[\\]")


def _glob(pattern: str) -> list[str]:
    if not _MAGIC.search(pattern):
        return [pattern] if os.path.exists(pattern) else []
    head, tail = os.path.split(pattern)
    if not tail:
        return [os.path.join(d, "") for d in _glob(head) if os.path.isdir(d)]
    directories = _glob(head) if _MAGIC.search(head) else [head]
    found = []
    for directory in directories:
        try:
            names = os.listdir(directory or ".")
        except OSError:
            continue
        match = re.compile(fnmatch.translate(tail)).match
        found += [os.path.join(directory, n) for n in names if match(n)]
    return sorted(found)


def Remove(filename) -> None:
    """Removes a file.

    Raises:
        errors.NotFoundError, errors.FailedPreconditionError: if it does not exist or is a directory.
    """
    with _errors(str(filename)):
        os.remove(_local(filename))


def DeleteRecursively(dirname) -> None:
    """Removes a directory and all that is in it.

    Raises:
        errors.NotFoundError: if it does not exist.
    """
    path = _local(dirname)
    with _errors(str(dirname)):
        if os.path.isdir(path) and not os.path.islink(path):
            shutil.rmtree(path)
        else:
            os.remove(path)


def _check_free(path: str, overwrite: bool) -> None:
    if not overwrite and os.path.exists(path):
        raise errors.AlreadyExistsError(None, None, f"file already exists: {path}")


def Copy(oldpath, newpath, overwrite: bool = False) -> None:
    """Copies a file.

    Raises:
        errors.AlreadyExistsError: if the new one exists and may not be overwritten.
    """
    target = _local(newpath)
    with _errors(str(oldpath)):
        _check_free(target, overwrite)
        shutil.copyfile(_local(oldpath), target)


def Rename(oldname, newname, overwrite: bool = False) -> None:
    """Renames a file or directory.

    Raises:
        errors.AlreadyExistsError: if the new one exists and may not be overwritten.
    """
    target = _local(newname)
    with _errors(str(oldname)):
        _check_free(target, overwrite)
        os.replace(_local(oldname), target)


# Size in bytes, time of the last change in nanoseconds since 1970, and what it is.
FileStatistics = collections.namedtuple("FileStatistics", "length mtime_nsec is_directory")


def Stat(filename) -> FileStatistics:
    """Returns the size and age of a file or directory.

    Raises:
        errors.NotFoundError: if it does not exist.
    """
    path = _local(filename)
    with _errors(str(filename)):
        found = os.stat(path)
    return FileStatistics(found.st_size, found.st_mtime_ns, os.path.isdir(path))


def Walk(top, in_order: bool = True) -> Iterator[tuple[str, list[str], list[str]]]:
    """Each directory below `top` with the names of its directories and of its files; those above first, or last."""
    path = _local(top)
    if not os.path.isdir(path):
        return
    names = ListDirectory(path)
    directories = [n for n in names if os.path.isdir(os.path.join(path, n))]
    files = [n for n in names if n not in set(directories)]
    if in_order:
        yield path, directories, files
    for name in directories:
        yield from Walk(os.path.join(path, name), in_order)
    if not in_order:
        yield path, directories, files
