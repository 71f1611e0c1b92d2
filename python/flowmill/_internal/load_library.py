"""Libraries of ops for TensorFlow: files of machine code that use TensorFlow's own C++, which is not here."""

from __future__ import annotations

import errno
import os
from typing import NoReturn

from flowmill.errors import NotFoundError, UnimplementedError

__all__ = ["load_file_system_library", "load_library", "load_op_library"]


def _refused(path: str) -> UnimplementedError:
    return UnimplementedError(
        None, None, f"{path} is a library of machine code for TensorFlow, which flowmill cannot load: its ops and kernels are written in Rust, and "
        "the C++ functions of TensorFlow that such a library calls do not exist. `tf.py_func` and `tf.RegisterGradient` add operations from Python.")


def load_op_library(library_filename: str) -> NoReturn:
    """Refuses a library of ops.

    Raises:
        NotFoundError: if there is no such file.
        UnimplementedError: if there is one.
    """
    if not os.path.exists(library_filename):
        raise NotFoundError(None, None, f"{library_filename}: cannot open shared object file: No such file or directory")
    raise _refused(library_filename)


def load_file_system_library(library_filename: str) -> NoReturn:
    """Refuses a library of a file system, as :func:`load_op_library`."""
    load_op_library(library_filename)


def load_library(library_location: str) -> NoReturn:
    """Refuses a library, or a directory of them.

    Raises:
        OSError: if there is nothing of that name.
        UnimplementedError: if there is.
    """
    if not os.path.exists(library_location):
        raise OSError(errno.ENOENT, "The file or folder to load kernel libraries from does not exist.", library_location)
    raise _refused(library_location)
