"""Object-based checkpoints: `Checkpoint` saves variables by the names of attributes, as version 2 does, and reads what it saved."""

from __future__ import annotations

import os
import time
from typing import Any

from flowmill._internal import protos as _protos
from flowmill._internal.apply import call
from flowmill._internal.graph import Graph, get_default_graph
from flowmill._internal.session import Session, get_default_session
from flowmill._internal.variables import Variable
from flowmill.errors import FailedPreconditionError
from flowmill.train._object_graph import OBJECT_GRAPH, ObjectGraph, is_table, is_trackable, matched, table_tensors
from flowmill.train._readers import CheckpointReader, get_checkpoint_state, latest_checkpoint
from flowmill.train.checkpoint_management import remove_checkpoint, write_state

__all__ = ["Checkpoint", "CheckpointManager", "CheckpointOptions", "LoadStatus"]


# How many objects an error lists.
_SHOWN = 10


class CheckpointOptions:
    """Hints for :class:`Checkpoint`, which change nothing in what is written.

    Args:
        experimental_io_device: not used.
        experimental_enable_async_checkpoint: not used.
        experimental_write_callbacks: functions that are called with the prefix of what was written.
        enable_async: not used.
        experimental_skip_slot_variables: leaves out what optimizers keep of variables when a checkpoint is restored.
        experimental_sharding_callback: not used.
    """

    def __init__(self, experimental_io_device=None, experimental_enable_async_checkpoint: bool = False, experimental_write_callbacks=None,
                 enable_async: bool = False, experimental_skip_slot_variables: bool = False, experimental_sharding_callback=None):
        self.experimental_io_device, self.experimental_write_callbacks = experimental_io_device, experimental_write_callbacks
        self.experimental_enable_async_checkpoint = self.enable_async = experimental_enable_async_checkpoint or enable_async
        self.experimental_skip_slot_variables = experimental_skip_slot_variables
        self.experimental_sharding_callback = experimental_sharding_callback


def _session(given) -> Session:
    session = given or get_default_session()
    if session is None:
        raise ValueError("No default session: pass one as `session`, or use `with session.as_default()`.")
    return session


class Checkpoint:
    """Objects whose variables are saved together: variables, tables that steps change, modules, layers, optimizers, other checkpoints, and lists and
    dictionaries of them.

    They are attributes, by the names of the arguments; more may be set later. A variable is saved by the names that lead to it, so it
    is found again however variables themselves are called.

    Raises:
        ValueError: for what is no such object.
    """

    def __init__(self, **kwargs) -> None:
        self._objects: dict[str, Any] = {}
        for name, value in sorted(kwargs.items()):
            if not is_trackable(value):
                raise ValueError(
                    f"`Checkpoint` was expecting a trackable object (an object derived from `Trackable`), got {value} as {name!r}. Values other than "
                    "variables and what owns them are not saved.")
            setattr(self, name, value)

    def __setattr__(self, name: str, value) -> None:
        object.__setattr__(self, name, value)
        if is_trackable(value) and name != "_objects":
            self._objects[name] = value

    def _owned_objects(self) -> list[tuple[str, Any]]:
        return list(self._objects.items())

    def _counter(self) -> Variable:
        if "save_counter" not in self._objects:
            with get_default_graph().device("/cpu:0"):
                self.save_counter = Variable(0, name="save_counter", dtype="int64", trainable=False, collections=["global_variables"],
                                             use_resource=True)
        return self._objects["save_counter"]

    def __getattr__(self, name: str):
        if name == "save_counter":
            return self._counter()
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def write(self, file_prefix, session=None, options=None) -> str:
        """Writes the variables' values of a session, the default one if none is given.

        Returns:
            The prefix of the files.
        """
        session, prefix = _session(session), os.fspath(file_prefix)
        with session.graph.as_default():
            objects = ObjectGraph(self)
            tensors = objects.tensors()
        values = session.run(tensors) if tensors else {}
        _write(prefix, {key: (values[key], tensor.dtype.base_dtype) for key, tensor in tensors.items()}, objects.message())
        for callback in getattr(options, "experimental_write_callbacks", None) or ():
            callback(prefix)
        return prefix

    def save(self, file_prefix, session=None, options=None) -> str:
        """Counts, writes a checkpoint with the count after its prefix, and makes it the newest of its directory.

        The variable `save_counter`, which counts, is made and initialized when it is first needed.

        Returns:
            The prefix with the count, ``{file_prefix}-{count}``.
        """
        session = _session(session)
        path = f"{os.fspath(file_prefix)}-{self._counted(session)}"
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        self.write(path, session, options)
        write_state(os.path.dirname(path) or ".", path, [path], relative=True)
        return path

    def sync(self) -> None:
        """Waits until what was saved is written, which it is when :meth:`save` returns."""

    def _counted(self, session: Session) -> int:
        with session.graph.as_default():
            counter = self._counter()
        try:
            count = int(session.run(counter)) + 1
        except FailedPreconditionError:
            count = 1
        counter.load(count, session)
        return count

    def read(self, save_path, options=None) -> LoadStatus:
        """Returns an object that restores a checkpoint of :meth:`write`. Objects are matched when that is asked to restore."""
        return LoadStatus(self, os.fspath(save_path), getattr(options, "experimental_skip_slot_variables", False))

    def restore(self, save_path, options=None) -> LoadStatus:
        """Like :meth:`read`, but initializes if the path is None."""
        if save_path is None:
            return LoadStatus(self, None)
        status = self.read(save_path, options)
        self._counter()
        return status


def _write(prefix: str, values: dict, message) -> None:
    with Graph().as_default() as graph:
        names = [OBJECT_GRAPH, *values]
        tensors = [call("Placeholder", None, dtype="string", shape=[])]
        tensors += [call("Placeholder", None, dtype=dtype, shape=None) for _, dtype in values.values()]
        written = call("SaveV2", "save", prefix, names, [""] * len(names), tensors)
        feeds = dict(zip(tensors, [message.SerializeToString(), *(value for value, _ in values.values())]))
        with Session(graph=graph) as session:
            session.run(written, feeds)


class LoadStatus:
    """Restores a checkpoint, and says whether everything was found. Nothing is restored before one of its methods is called.

    Args:
        root: the :class:`Checkpoint`.
        path: the prefix of the files; None initializes instead.
        skips_slots: whether to leave out what optimizers keep of variables.
    """

    def __init__(self, root: Checkpoint, path: str | None, skips_slots: bool = False):
        self._root, self._path, self._skips_slots, self._by_name = root, path, skips_slots, None
        if path is None:
            return
        self._reader = CheckpointReader(path)
        self._message = None
        if self._reader.has_tensor(OBJECT_GRAPH):
            self._message = _protos.get("TrackableObjectGraph").FromString(self._reader.get_tensor(OBJECT_GRAPH))

    def _matches(self) -> tuple[dict[int, Any], list[tuple[Variable, str]]]:
        """Objects by their places in the checkpoint, and variables with the keys of their values."""
        if self._path is None:
            return {}, []
        if self._message is not None:
            found, pairs = matched(self._message, self._root)
            if self._skips_slots:
                pairs = [(v, k) for v, k in pairs if "/.OPTIMIZER_SLOT/" not in k]
            return found, pairs
        variables = [v for _, v in ObjectGraph(self._root).variables()]
        return {}, [(v, v.op.name) for v in variables if self._reader.has_tensor(v.op.name)]

    def assert_consumed(self) -> LoadStatus:
        """Checks that every object of the checkpoint and every variable of the program has its counterpart.

        Raises:
            AssertionError: if one has none.
        """
        if self._path is None:
            raise AssertionError("No checkpoint specified (save_path=None); nothing is being restored.")
        found, pairs = self._matches()
        if self._message is not None:
            for place, node in enumerate(self._message.nodes):
                if place not in found and (node.attributes or node.children):
                    raise AssertionError(f"Unresolved object in checkpoint: {node}")
        return self.assert_existing_objects_matched()

    def assert_existing_objects_matched(self) -> LoadStatus:
        """Checks that every variable of the program is in the checkpoint.

        Raises:
            AssertionError: if one is not.
        """
        if self._path is None:
            raise AssertionError("No checkpoint specified (save_path=None); nothing is being restored.")
        found = {id(v) for v, _ in self._matches()[1]}
        missing = [v for _, v in ObjectGraph(self._root).variables() if id(v) not in found]
        if missing:
            shown = missing[:_SHOWN]
            raise AssertionError(
                f"Found {len(missing)} Python objects that were not bound to checkpointed values, likely due to changes in the Python program. "
                f"Showing {len(shown)} of {len(missing)} unmatched objects: {shown}")
        return self

    def assert_nontrivial_match(self) -> LoadStatus:
        """Checks that something of the checkpoint is there.

        Raises:
            AssertionError: if nothing is.
        """
        if len(self._matches()[0]) <= 1 and not self._matches()[1]:
            raise AssertionError(
                "Nothing except the root object matched a checkpointed value. Typically this means that the checkpoint does not match the Python "
                "program.")
        return self

    def expect_partial(self) -> LoadStatus:
        """Says that objects may be missing; nothing warns of that anyway."""
        return self

    def run_restore_ops(self, session=None) -> None:
        """Restores the values of the variables in a session, by default the default session.

        Raises:
            AssertionError: if there is no checkpoint.
        """
        if self._path is None:
            raise AssertionError("No checkpoint specified, so no restore ops are available (save_path=None to Saver.restore).")
        session = _session(session)
        with session.graph.as_default():
            pairs = self._matches()[1]
        self._load(session, pairs)

    def _load(self, session: Session, pairs: list[tuple[Any, str]]) -> None:
        """Loads the checkpoint's values into variables and tables."""
        tables = [(value, key) for value, key in pairs if is_table(value)]
        _load(session, {v: self._reader.get_tensor(key) for v, key in pairs if not is_table(v)})
        with session.graph.as_default():
            for table, key in tables:
                feeds, restored = table._saveable().fed_restore
                session.run(restored, {feed: self._reader.get_tensor(key + end) for feed, (end, _) in zip(feeds, table_tensors(table))})

    def initialize_or_restore(self, session=None) -> None:
        """Restores the values of the variables that are in the checkpoint, and initializes the others."""
        session = _session(session)
        with session.graph.as_default():
            variables = [v for _, v in ObjectGraph(self._root).variables()]
            pairs = self._matches()[1]
        found = {id(v) for v, _ in pairs}
        rest = [v.initializer for v in variables if id(v) not in found]
        if rest:
            session.run(rest)
        if self._path is not None:
            self._load(session, pairs)


def _load(session: Session, values: dict[Variable, Any]) -> None:
    """Initializes variables with values. Those whose initial value is the same tensor are done one after another."""
    left = list(values.items())
    while left:
        feeds, steps, later = {}, [], []
        for variable, value in left:
            source = variable.initializer.inputs[1]
            if source in feeds:
                later.append((variable, value))
            else:
                feeds[source] = value
                steps.append(variable.initializer)
        session.run(steps, feeds)
        left = later


class CheckpointManager:
    """Keeps the newest checkpoints of a :class:`Checkpoint` in a directory, and removes older ones.

    Args:
        checkpoint: what to save.
        directory: where to.
        max_to_keep: how many to keep, all if it is None.
        keep_checkpoint_every_n_hours: keeps one of each such time for good.
        checkpoint_name: what files begin with.
        step_counter: a variable that says how far the program is.
        checkpoint_interval: how far it has to be since the last checkpoint to save another one.
        init_fn: called by :meth:`restore_or_initialize` if there is no checkpoint.
        last_checkpoint_step: where `step_counter` was when the last checkpoint was saved.

    Raises:
        ValueError: for a number of checkpoints that is not positive, and an interval without a counter.
    """

    def __init__(self, checkpoint: Checkpoint, directory, max_to_keep: int | None, keep_checkpoint_every_n_hours: float | None = None,
                 checkpoint_name: str = "ckpt", step_counter=None, checkpoint_interval: int | None = None, init_fn=None,
                 last_checkpoint_step: int | None = None):
        if max_to_keep is not None and max_to_keep <= 0:
            raise ValueError(f"Expected a positive integer or `None` for `max_to_keep`, got {max_to_keep}.")
        if checkpoint_interval is not None and step_counter is None:
            raise ValueError("`step_counter` should be passed if `checkpoint_interval` is not None.")
        self._checkpoint, self._directory, self._max, self._init = checkpoint, os.fspath(directory), max_to_keep, init_fn
        self._every, self._name = keep_checkpoint_every_n_hours, checkpoint_name
        self._step, self._interval, self._last_step = step_counter, checkpoint_interval, last_checkpoint_step
        state = get_checkpoint_state(self._directory)
        paths = list(state.all_model_checkpoint_paths) if state is not None else []
        times = list(state.all_model_checkpoint_timestamps) if state is not None else []
        if len(times) != len(paths):
            times = [time.time()] * len(paths)
        # Prefixes and times of what may be removed, oldest first.
        self._kept: dict[str, float] = dict(zip(paths, times))
        self._preserved = time.time() if state is None or not state.last_preserved_timestamp else state.last_preserved_timestamp

    @property
    def directory(self) -> str:
        """The directory of the checkpoints."""
        return self._directory

    @property
    def checkpoint(self) -> Checkpoint:
        """The checkpoint that is saved."""
        return self._checkpoint

    @property
    def checkpoint_interval(self) -> int | None:
        """The number of steps that must lie between two checkpoints."""
        return self._interval

    @property
    def latest_checkpoint(self) -> str | None:
        """The prefix of the newest checkpoint of the directory."""
        return latest_checkpoint(self._directory)

    @property
    def checkpoints(self) -> list[str]:
        """The prefixes of those that are kept, oldest first."""
        return list(self._kept)

    def save(self, checkpoint_number: int | None = None, check_interval: bool = True, options=None, session=None) -> str | None:
        """Writes a checkpoint, and removes those that are too old.

        Args:
            checkpoint_number: the number at the end of its prefix; the count of checkpoints if it is None.
            check_interval: whether to save only once the interval has passed.
            options: a :class:`CheckpointOptions`.
            session: whose values to save, those of the default session if it is None.

        Returns:
            The prefix; None if the interval has not passed.
        """
        session = _session(session)
        if self._interval is not None:
            step = int(session.run(self._step))
            if check_interval and self._last_step is not None and step < self._last_step + self._interval:
                return None
            self._last_step = step
        number = self._checkpoint._counted(session)
        if checkpoint_number is not None:
            number = int(session.run(checkpoint_number)) if hasattr(checkpoint_number, "op") else int(checkpoint_number)
        os.makedirs(self._directory, exist_ok=True)
        path = self._checkpoint.write(os.path.join(self._directory, f"{self._name}-{number}"), session, options)
        self._kept.pop(path, None)
        self._kept[path] = time.time()
        old = list(self._kept)[:-self._max] if self._max else []
        removed = []
        for prefix in old:
            at = self._kept.pop(prefix)
            if self._every is not None and at - self._preserved > self._every * 3600:
                self._preserved = at
            else:
                removed.append(prefix)
        write_state(self._directory, path, list(self._kept), times=list(self._kept.values()), last_preserved_timestamp=self._preserved, relative=True)
        for prefix in removed:
            remove_checkpoint(prefix)
        return path

    def restore_or_initialize(self, session=None) -> str | None:
        """Restores the newest checkpoint; without one calls the function that the manager was given. Returns the prefix or None."""
        path = self.latest_checkpoint
        if path is not None:
            self._checkpoint.restore(path).initialize_or_restore(_session(session))
        elif self._init is not None:
            self._init()
        return path
