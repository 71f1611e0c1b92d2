"""Files of checkpoints: the state file of a directory, what belongs to a checkpoint, and removing it."""

from __future__ import annotations

import glob
import os
import re
import threading
import time

from flowmill._internal import protos as _protos
from flowmill.train._readers import checkpoint_exists, files_of, latest_checkpoint


def generate_checkpoint_state_proto(save_dir, model_checkpoint_path, all_model_checkpoint_paths=None, all_model_checkpoint_timestamps=None,
                                    last_preserved_timestamp=None) -> _protos.CheckpointState:
    """Returns a `CheckpointState`: the newest checkpoint of a directory and those that are kept, oldest first. Paths are as seen from the directory where
    that is not absolute."""
    save_dir, newest = os.fspath(save_dir), os.fspath(model_checkpoint_path)
    paths = [os.fspath(p) for p in all_model_checkpoint_paths or ()]
    if not paths or paths[-1] != newest:
        paths.append(newest)
    times = list(all_model_checkpoint_timestamps or ())
    if times and len(times) != len(paths):
        raise ValueError(f"Checkpoint timestamps, if provided, must match checkpoint paths: {len(paths)} paths and {len(times)} timestamps.")
    if not os.path.isabs(save_dir):
        paths = [p if os.path.isabs(p) else os.path.relpath(p, save_dir) for p in paths]
        newest = newest if os.path.isabs(newest) else os.path.relpath(newest, save_dir)
    state = _protos.get("CheckpointState")(model_checkpoint_path=newest, all_model_checkpoint_paths=paths, all_model_checkpoint_timestamps=times)
    if last_preserved_timestamp is not None:
        state.last_preserved_timestamp = last_preserved_timestamp
    return state


def update_checkpoint_state(save_dir, model_checkpoint_path, all_model_checkpoint_paths=None, latest_filename: str | None = None,
                            all_model_checkpoint_timestamps=None, last_preserved_timestamp=None) -> None:
    """Writes a directory's state file; arguments as of :func:`generate_checkpoint_state_proto`."""
    write_state(save_dir, model_checkpoint_path, all_model_checkpoint_paths, latest_filename, all_model_checkpoint_timestamps, last_preserved_timestamp)


def write_state(save_dir, model_checkpoint_path, all_model_checkpoint_paths=None, latest_filename: str | None = None, times=None,
                last_preserved_timestamp=None, relative: bool = False) -> None:
    """Writes a directory's state file; with `relative`, paths as seen from the directory.

    Raises:
        RuntimeError: if the checkpoint has the name of the state file.
    """
    from google.protobuf import text_format  # start-up: protobuf is loaded when it is used

    save_dir, newest = os.fspath(save_dir), os.fspath(model_checkpoint_path)
    paths = [os.fspath(p) for p in all_model_checkpoint_paths or ()]
    if relative:
        newest = os.path.relpath(newest, save_dir)
        paths = [os.path.relpath(p, save_dir) for p in paths]
        state = _protos.get("CheckpointState")(model_checkpoint_path=newest, all_model_checkpoint_paths=paths, all_model_checkpoint_timestamps=times or ())
        if not paths or paths[-1] != newest:
            state.all_model_checkpoint_paths.append(newest)
    else:
        state = generate_checkpoint_state_proto(save_dir, newest, paths, times, last_preserved_timestamp)
    file = os.path.join(save_dir, latest_filename or "checkpoint")
    if file == state.model_checkpoint_path:
        raise RuntimeError(
            f"Save path '{newest}' conflicts with path used for checkpoint state.  Please use a different save path.")
    # Several threads may save at once.
    partial = f"{file}.tmp{os.getpid()}_{threading.get_ident()}"
    with open(partial, "w", encoding="utf-8") as out:
        out.write(text_format.MessageToString(state))
    # Readers see the old state or the new one.
    os.replace(partial, file)


def meta_graph_filename(checkpoint_filename: str, meta_graph_suffix: str = "meta") -> str:
    """The name of the file with the graph of a checkpoint."""
    return re.sub(r"-[\d\?]+-of-\d+$", "", checkpoint_filename) + "." + meta_graph_suffix


def remove_checkpoint(checkpoint_prefix, checkpoint_format_version: int = 2, meta_graph_suffix: str = "meta") -> None:
    """Removes the files of a checkpoint; those that are not there are no error."""
    prefix = os.fspath(checkpoint_prefix)
    escaped = glob.escape(prefix)
    patterns = [glob.escape(meta_graph_filename(prefix, meta_graph_suffix))]
    patterns += [escaped + ".index", escaped + ".data-?????-of-?????"] if checkpoint_format_version == 2 else []
    files = [file for pattern in patterns for file in glob.glob(pattern)]
    for file in files if checkpoint_format_version == 2 else files + files_of(prefix):
        os.remove(file)


def get_checkpoint_mtimes(checkpoint_prefixes) -> list[float]:
    """When checkpoints were written, in seconds since 1970; those that do not exist are left out."""
    found = []
    for prefix in map(os.fspath, checkpoint_prefixes):
        files = files_of(prefix)
        if files:
            found.append(os.stat(files[0]).st_mtime)
    return found


def checkpoints_iterator(checkpoint_dir, min_interval_secs: float = 0, timeout: float | None = None, timeout_fn=None):
    """Yields the newest checkpoint of a directory whenever there is a new one.

    Args:
        checkpoint_dir: the directory.
        min_interval_secs: the least seconds between two.
        timeout: seconds to wait for one; without it, for ever.
        timeout_fn: called after that time; the iteration ends if it gives true, or is None.
    """
    newest = None
    while True:
        found = _wait_for_new(checkpoint_dir, newest, timeout)
        if found is None:
            if timeout_fn is None or timeout_fn():
                return
            continue
        began, newest = time.time(), found
        yield newest
        time.sleep(max(0.0, began + min_interval_secs - time.time()))


def _wait_for_new(directory, last: str | None, timeout: float | None) -> str | None:
    end = None if timeout is None else time.time() + timeout
    while True:
        found = latest_checkpoint(directory)
        if found is not None and found != last and checkpoint_exists(found):
            return found
        if end is not None and time.time() + 1.0 > end:
            return None
        time.sleep(1.0)
