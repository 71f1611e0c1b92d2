"""Reading checkpoints."""

from __future__ import annotations

import glob
import os

from flowmill import _core
from flowmill._internal import protos
from flowmill._internal.lazy_numpy import np
from flowmill.dtypes import DType, as_dtype


def latest_checkpoint(checkpoint_dir, latest_filename: str | None = None) -> str | None:
    """Returns the prefix of the newest checkpoint of a directory, None if it has none."""
    return _core.latest_checkpoint(os.fspath(checkpoint_dir), latest_filename or "checkpoint")


def get_checkpoint_state(checkpoint_dir, latest_filename: str | None = None) -> protos.CheckpointState | None:
    """Returns the content of a directory's state file, as a `CheckpointState`; None if there is none."""
    state = _core.checkpoint_state(os.fspath(checkpoint_dir), latest_filename or "checkpoint")
    return None if state is None else protos.get("CheckpointState").FromString(state)


# The end of what version 1 calls a checkpoint of several files: `-?????-of-00002`.
_ANY_SHARD, _COUNT = "-?????", "-of-00002"
_SHARDS = _ANY_SHARD + _COUNT


def files_of(checkpoint_prefix) -> list[str]:
    """Returns the files that say a checkpoint is there: an index, or version 1's files, whose names the prefix may be a pattern of."""
    prefix = os.fspath(checkpoint_prefix)
    names = [prefix + ".index", prefix]
    if prefix[-len(_SHARDS):-len(_COUNT)] == _ANY_SHARD:
        names = sorted(glob.glob(glob.escape(prefix[:-len(_SHARDS)]) + prefix[-len(_SHARDS):]))
    return [name for name in names if os.path.isfile(name)]


def checkpoint_exists(checkpoint_prefix) -> bool:
    """Returns true if there is a checkpoint with this prefix."""
    return bool(files_of(checkpoint_prefix))


class CheckpointReader:
    """Reads the tensors of a checkpoint, one at a time."""

    def __init__(self, filename) -> None:
        """Opens the checkpoint with this prefix.

        Raises:
            errors.NotFoundError: if there is none.
            errors.DataLossError: if it is damaged.
        """
        self._core = _core.CheckpointReader(os.fspath(filename))

    def has_tensor(self, tensor_str: str) -> bool:
        """Returns true if the checkpoint has a tensor of this name."""
        return tensor_str in self._core

    def get_tensor(self, tensor_str: str) -> np.ndarray:
        """Returns a tensor's value.

        Raises:
            errors.NotFoundError: if there is no such tensor.
        """
        return self._core.read(tensor_str)

    def get_variable_to_shape_map(self) -> dict[str, list[int]]:
        """Returns the shape of each tensor, by name."""
        return {name: self._core.dtype_and_shape(name)[1] for name in self._core.names()}

    def get_variable_to_dtype_map(self) -> dict[str, DType]:
        """Returns the type of each tensor's elements, by name."""
        return {name: as_dtype(self._core.dtype_and_shape(name)[0]) for name in self._core.names()}

    def debug_string(self) -> bytes:
        """One line a tensor: its name, type and shape."""
        lines, names = [], protos.get("DataType")
        for name in self._core.names():
            dtype, shape = self._core.dtype_and_shape(name)
            lines.append(f"{name} ({names.Name(as_dtype(dtype).as_datatype_enum)}) [{','.join(map(str, shape))}]\n")
        return "".join(lines).encode()


NewCheckpointReader = CheckpointReader


def load_checkpoint(ckpt_dir_or_file) -> CheckpointReader:
    """Returns a reader of a checkpoint, or of the newest one of a directory.

    Raises:
        ValueError: if a directory has no checkpoint.
    """
    path = os.fspath(ckpt_dir_or_file)
    if os.path.isdir(path):
        latest = latest_checkpoint(path)
        if latest is None:
            raise ValueError(f"Couldn't find 'checkpoint' file or checkpoints in given directory {path}")
        path = latest
    return CheckpointReader(path)


def load_variable(ckpt_dir_or_file, name: str) -> np.ndarray:
    """Returns the value of one variable of a checkpoint."""
    return load_checkpoint(ckpt_dir_or_file).get_tensor(name.removesuffix(":0"))


def list_variables(ckpt_dir_or_file) -> list[tuple[str, list[int]]]:
    """Names and shapes of a checkpoint's variables, sorted."""
    return sorted(load_checkpoint(ckpt_dir_or_file).get_variable_to_shape_map().items())
