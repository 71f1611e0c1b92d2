"""Files and directories of the local machine, by the names that they have in version 2."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

from flowmill.compat import path_to_str
from flowmill.errors import NotFoundError
from flowmill.gfile import (
    Copy as copy, DeleteRecursively as rmtree, Exists as exists, GFile, Glob as glob, IsDirectory as isdir, ListDirectory as listdir,
    MakeDirs as makedirs, MkDir as mkdir, Remove as remove, Rename as rename, Stat as stat, Walk,
)

__all__ = ["GFile", "copy", "exists", "get_registered_schemes", "glob", "isdir", "join", "listdir", "makedirs", "mkdir", "remove", "rename", "rmtree",
           "stat", "walk"]


def walk(top, topdown: bool = True, onerror: Callable | None = None) -> Iterator[tuple[str, list[str], list[str]]]:
    """Each directory below `top` with the names of its directories and of its files; those above first, or last.

    `onerror` is called with the `NotFoundError` if there is no such directory; without it there are none.
    """
    path = path_to_str(top)
    if onerror is not None and not isdir(path):
        onerror(NotFoundError(None, None, f"{path}; No such file or directory"))
    yield from Walk(path, topdown)


def join(path, *paths) -> str:
    """Parts of a path put together."""
    return os.path.join(path_to_str(path), *(path_to_str(p) for p in paths))


def get_registered_schemes() -> list[str]:
    """The file systems there are: the local one."""
    return ["", "file"]
