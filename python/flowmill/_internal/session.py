"""Sessions: what runs a graph."""

from __future__ import annotations

import contextlib
import itertools
import threading
import weakref
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from flowmill import _core
from flowmill._internal.feeds import HandleFed, flatten
from flowmill._internal.fetches import Fetches
from flowmill._internal.graph import Graph, get_default_graph
from flowmill._internal.session_options import SessionOptions
from flowmill._internal.tensor import Operation, Tensor
from flowmill.errors import InvalidArgumentError, NotFoundError, OpError

if TYPE_CHECKING:
    from flowmill._internal.session_devices import DeviceAttributes

# Between fetches and feeds in the key of a step.
_FEEDS = object()
_partial_run_numbers = itertools.count()
# `RunOptions.trace_level` without a trace.
_NO_TRACE = 0


# Those that `Session.reset` closes.
_open_sessions: weakref.WeakSet[Session] = weakref.WeakSet()


class Session:
    """Runs a graph and holds its variables. As a context manager it becomes the thread's default session, with its graph as the default
    graph, and is closed at the end.

    Many threads may run steps at once. The graph may grow between steps.

    Args:
        target: an address to connect to; only that of this process, the empty one, is there.
        graph: the graph, the thread's default one if it is None.
        config: a `ConfigProto` or `SessionOptions`.

    Raises:
        errors.NotFoundError: for the address of another process.
    """

    def __init__(self, target: str = "", graph: Graph | None = None, config=None):
        if target is not None and not isinstance(target, (str, bytes)):
            hint = ' Did you do "Session(config)" instead of "Session(config=config)"?' if hasattr(target, "device_count") else ""
            raise TypeError(f"Argument `target` must be a string, but got {type(target).__name__!r}.{hint}")
        if graph is not None and not isinstance(graph, Graph):
            raise TypeError(f"Argument `graph` must be a tf.Graph, but got {type(graph).__name__!r}")
        if target:
            address = target.decode(errors="replace") if isinstance(target, bytes) else target
            raise NotFoundError(None, None, f'No session factory registered for the given session options: {{target: "{address}"}}: flowmill has no '
                                            "distributed runtime, its sessions run in this process.")
        self._target = target
        self._graph = get_default_graph() if graph is None else graph
        options = config if isinstance(config, SessionOptions) else SessionOptions(config)
        device_count = options._options.get("device_count", {})
        switches = options._options
        if device_count.get("GPU"):
            from flowmill._internal.cuda import library_paths  # start-up: few sessions have a GPU

            switches = {**switches, "cuda_paths": library_paths()}
        self._core = _core.Session(self._graph._core, **switches)
        self._closed = False
        _open_sessions.add(self)
        # What to call for fetches and feeds met before, and what makes the result of its result.
        self._steps: dict[tuple, tuple[Any, Any]] = {}
        self._graph._sessions.add(self)
        self._entered: contextlib.ExitStack | None = None
        # Steps begun by `partial_run_setup`, by their handles.
        self._partial_runs: dict[str, Any] = {}
        # Of tensors that stay in the session though nobody can get at them any more.
        self._dead_handles: list[str] = []

    @property
    def graph(self) -> Graph:
        """The graph it runs."""
        return self._graph

    @property
    def graph_def(self) -> Any:
        """The graph as a `GraphDef`."""
        return self._graph.as_graph_def()

    @staticmethod
    def reset(target: str, containers=None, config=None) -> None:
        """Closes all sessions of this process; their variables are gone.

        Args:
            target: an address; only that of this process, the empty one, is there.
            containers: which containers of variables to empty: all, as they go with their sessions.
            config: not used.

        Raises:
            TypeError: if `target` is no string.
            ValueError: for another address.
        """
        if not isinstance(target, (str, bytes)):
            raise TypeError(f"Argument `target` must be a string, but got {type(target).__name__!r}.")
        if target:
            raise ValueError(f"There is no other process to reset: {target!r}")
        for session in list(_open_sessions):
            session.close()

    @property
    def sess_str(self) -> str:
        """The address it was made with; empty for this process."""
        return self._target

    def run(self, fetches, feed_dict=None, options=None, run_metadata=None) -> Any:
        """Runs what `fetches` needs and returns its values in the same structure.

        Args:
            fetches: a tensor, an operation (its value is None), the name of one, or lists, tuples, named tuples, dictionaries and attrs classes of
                such.
            feed_dict: values for tensors, which are then not computed. Keys are tensors, their names, or tuples of those.
            options: a `RunOptions`: a timeout, a trace level, whether `run_metadata` gets the graph of each device.
            run_metadata: a `RunMetadata` to be filled.

        Raises:
            RuntimeError: if the session is closed or its graph empty.
            TypeError, ValueError: if fetches or feeds have the wrong type or shape, or do not exist.
            errors.OpError: if an operation fails.
        """
        if self._closed:
            raise RuntimeError("Attempted to use a closed Session.")
        cls = type(fetches)
        try:
            if cls is list or cls is tuple:
                key = (cls, *fetches, _FEEDS, *feed_dict) if feed_dict else (cls, *fetches)
            else:
                key = (fetches, *feed_dict) if feed_dict else (fetches,)
            step, rebuild = self._steps[key]
            values = feed_dict.values() if feed_dict else ()
        except (KeyError, TypeError):
            step, rebuild, values = self._prepare(fetches, feed_dict)
        try:
            if options is None and run_metadata is None:
                result = step(*values)
            else:
                result = _run_with(step, values, options, run_metadata)
        except OpError as error:
            self._locate(error)
            raise
        except HandleFed:
            from flowmill._internal.session_ops import fed  # start-up: most programs keep no tensors in sessions

            values = fed(values, self)
            result = step(*values) if options is None and run_metadata is None else _run_with(step, values, options, run_metadata)
        return result if rebuild is None else rebuild(result)

    def list_devices(self) -> list[DeviceAttributes]:
        """Its devices: name, type, bytes of memory, and a number that another session's have not."""
        from flowmill._internal.session_devices import devices  # start-up: few programs list the devices

        return devices(self._core)

    def placement_report(self, fetches, feed_list=(), top: int = 10) -> str:
        """Returns a text that compares the predicted times of a step's nodes with the mean of the measured ones (`GraphOptions.build_cost_model`), the
        largest differences first, with totals. The session must place nodes by the cost model. TensorFlow has no such method.

        Args:
            fetches: as for :meth:`run`.
            feed_list: the tensors that are fed, or their names.
            top: the number of nodes to list.

        Raises:
            errors.FailedPreconditionError: for a session with one device or another kind of placement.
        """
        found = Fetches(self._graph, fetches, self)
        feeds = [getattr(feed, "name", feed) for feed in feed_list]
        return self._core.placement_report(feeds, [t.name for t in found.tensors], [op.name for op in found.targets], top)

    def _repr_html_(self) -> str:
        from flowmill._internal.view import session_html  # start-up: few programs show their sessions

        return session_html(self)

    def partial_run_setup(self, fetches, feeds=None) -> str:
        """Begins a step that gets its feeds one after another, by :meth:`partial_run`. It adds operations to the graph.

        Args:
            fetches: everything that will be fetched, as for :meth:`run`.
            feeds: a list of the tensors that will be fed.

        Returns:
            A handle of the step.

        Raises:
            RuntimeError: if the session is closed or the graph finalized.
            TypeError, ValueError: as for :meth:`run`.
        """
        from flowmill._internal.partial_run import PartialRun  # start-up: few programs run a step in parts

        if self._closed:
            raise RuntimeError("Attempted to use a closed Session.")
        self._graph._check_not_finalized()
        handle = f"partial_run_{next(_partial_run_numbers)}"
        self._partial_runs[handle] = PartialRun(self, fetches, feeds)
        return handle

    def partial_run(self, handle: str, fetches, feed_dict=None):
        """Goes on with a step: feeds some of what :meth:`partial_run_setup` named, and gives some of the fetches. Each once.

        Raises:
            errors.InvalidArgumentError: if a fetch depends on tensors that are not fed yet, or the handle's step is done.
            As :meth:`run` otherwise.
        """
        if self._closed:
            raise RuntimeError("Attempted to use a closed Session.")
        step = self._partial_runs.get(handle)
        if step is None:
            raise InvalidArgumentError(None, None, "Must run 'setup' before performing partial runs!")
        try:
            return step.run(fetches, feed_dict)
        except OpError as error:
            self._locate(error)
            raise
        finally:
            if step.is_done:
                self._partial_runs.pop(handle, None)

    def _prepare(self, fetches, feed_dict):
        """Looks up fetches and feeds, and keeps what was found if the key tells steps apart."""
        if not self._graph.version:
            raise RuntimeError("The Session graph is empty. Add operations to the graph before calling run().")
        feeds = flatten(self._graph, feed_dict)
        found = Fetches(self._graph, fetches, self)
        cls = type(fetches)
        is_sequence = cls is list or cls is tuple
        leaves = fetches if is_sequence else (fetches,)
        is_flat = all(type(leaf) in _LEAVES for leaf in leaves) and not found.has_handles
        step = self._callable(list(feeds), found, single=is_flat and not is_sequence)
        rebuild = found.rebuild if not is_flat else tuple if cls is tuple else None
        if is_flat and all(type(k) in _LEAVES for k in feed_dict or ()):
            separated = (_FEEDS, *feed_dict) if feed_dict and is_sequence else tuple(feed_dict or ())
            # As many as the core keeps prepared.
            if len(self._steps) >= self._core.max_plans():
                self._steps.clear()
            self._steps[(cls, *leaves, *separated) if is_sequence else (*leaves, *separated)] = step, rebuild
        return step, rebuild, feeds.values()

    def _callable(self, feeds: list[Tensor], found: Fetches, single: bool):
        if not (found.tensors or found.targets):
            return _NOTHING
        names = [t.name for t in found.tensors]
        shapes = [t._graph._core.shape(*t._key) for t in feeds]
        layout = None if single else found.layout
        return self._core.make_callable([t.name for t in feeds], names, [op.name for op in found.targets], layout, shapes=shapes)

    def _locate(self, error: OpError) -> None:
        if error.op is None and error.node_name:
            error.op = self._graph._find(error.node_name)

    def make_callable(self, fetches, feed_list=None, accept_options: bool = False):
        """Returns a function that runs `fetches` with one argument for each tensor of `feed_list`: what to use for a step that runs many times.

        Args:
            fetches: as for :meth:`run`.
            feed_list: tensors or their names.
            accept_options: the function takes `options` and `run_metadata` too.
        """
        single = type(fetches) in _LEAVES
        step, found = self._step_of(fetches, feed_list, single)
        rebuild = found.rebuild if found.has_handles else None if single or type(fetches) is list and all(type(f) in _LEAVES for f in fetches) else found.rebuild
        if accept_options:
            def with_options(*values, options=None, run_metadata=None):
                result = _run_with(step, values, options, run_metadata)
                return result if rebuild is None else rebuild(result)
            return with_options
        return step if rebuild is None else lambda *values: rebuild(step(*values))

    def _step_of(self, fetches, feed_list, single: bool):
        if feed_list is not None and not isinstance(feed_list, (list, tuple)):
            raise TypeError(f"Argument `feed_list` must be a list or tuple. Received: feed_list={feed_list}")
        if self._closed:
            raise RuntimeError("Attempted to use a closed Session.")
        if not self._graph.version:
            raise RuntimeError("The Session graph is empty. Add operations to the graph before calling run().")
        feeds = [self._graph.as_graph_element(f, allow_operation=False) for f in feed_list or ()]
        found = Fetches(self._graph, fetches, self)
        return self._callable(feeds, found, single and not found.has_handles), found

    def optimizations(self, fetches, feed_list=None) -> dict[str, Any]:
        """Returns what the passes do to the graph that a step with these fetches and feeds runs. TensorFlow has no such method.

        Args:
            fetches: as for :meth:`run`.
            feed_list: tensors that will be fed, or their names.

        Returns:
            ``nodes_before`` and ``nodes_after``, and ``passes``: for each pass in the order they run its ``name`` (what
            `SessionOptions` takes in `disabled_passes`), the number of ``changes``, and the ``error`` for which these were thrown away, or None.
            Bodies of functions are not counted.

        Raises:
            As :meth:`make_callable`.
        """
        step, _ = self._step_of(fetches, feed_list, single=False)
        before, after, passes = step.optimizations()
        keys = ("name", "changes", "error")
        return {"nodes_before": before, "nodes_after": after, "passes": [dict(zip(keys, p)) for p in passes]}

    def _make_callable_from_options(self, callable_options):
        """Returns a function that takes the values to feed in order and returns a list of the fetched ones, as a `CallableOptions` message
        says, including tensors whose values are fed for others. Feeds that have a device in `feed_devices` may be objects in its memory (DLPack or
        `__cuda_array_interface__`), which are not copied; fetches that have one in `fetch_devices` stay there, and have these interfaces."""
        if self._closed:
            raise RuntimeError("Attempted to use a closed Session.")
        feeds, fetches = list(callable_options.feed), list(callable_options.fetch)
        connections = [(c.from_tensor, c.to_tensor) for c in callable_options.tensor_connection]
        step = self._core.make_callable(feeds, fetches, list(callable_options.target), list(range(len(fetches))), connections,
                                        feed_devices=_devices(callable_options, "feed_devices"), fetch_devices=_devices(callable_options, "fetch_devices"))
        options = callable_options.run_options
        return lambda *values, run_metadata=None: _run_with(step, values, options, run_metadata)

    def as_default(self) -> contextlib.AbstractContextManager[Session]:
        """Makes this the thread's default session within a ``with`` block; does not close it at the end."""
        return _as_default(self)

    def __enter__(self) -> Session:
        if self._entered is not None:
            raise RuntimeError("Session context managers are not re-entrant. Use `Session.as_default()` if you want to enter a session multiple times.")
        self._entered = contextlib.ExitStack()
        self._entered.enter_context(self._graph.as_default())
        self._entered.enter_context(self.as_default())
        return self

    def __exit__(self, *exc_info) -> None:
        entered, self._entered = self._entered, None
        try:
            if entered is not None:
                entered.__exit__(*exc_info)
        finally:
            self.close()

    def close(self) -> None:
        """Ends steps that are running with `CancelledError`; no step can run afterwards."""
        self._closed = True
        self._steps.clear()
        self._core.close()


# Objects that are their own key: equal only to itself, and no structure.
_LEAVES = {str, Tensor, Operation}


def register_fetch_type(cls: type) -> None:
    """Allows plans of steps to be kept that fetch or feed objects of a class. Each object is made of one tensor and equals only itself."""
    _LEAVES.add(cls)


class _Nothing:
    """The step of an empty structure of fetches."""

    def __call__(self, *values):
        return []

    def run(self, values, *, timeout=None, trace=False, inter_op_thread_pool=0, partition_graphs=False):
        return [], None, [], None

    def optimizations(self):
        return 0, 0, []


_NOTHING = _Nothing()


def _devices(callable_options, field: str) -> list[tuple[str, str]]:
    return sorted(dict(getattr(callable_options, field, {})).items())


def _run_with(step, values, options, run_metadata):
    timeout, trace, pool, partition_graphs = None, False, 0, False
    if options is not None:
        if options.timeout_in_ms > 0:
            timeout = options.timeout_in_ms / 1000
        trace, pool = options.trace_level != _NO_TRACE, options.inter_op_thread_pool
        partition_graphs = options.output_partition_graphs
    wanted = {} if run_metadata is None else {"trace": trace, "partition_graphs": partition_graphs}
    result, step_stats, graphs, costs = step.run(list(values), timeout=timeout, inter_op_thread_pool=pool, **wanted)
    if run_metadata is not None:
        run_metadata.Clear()
        if step_stats is not None:
            run_metadata.step_stats.ParseFromString(step_stats)
        for graph in graphs:
            run_metadata.partition_graphs.add().ParseFromString(graph)
        if costs is not None:
            run_metadata.cost_graph.ParseFromString(costs)
    return result


class InteractiveSession(Session):
    """A session that is the default one, with its graph, from its making until it is closed: for a shell."""

    def __init__(self, target: str = "", graph: Graph | None = None, config=None):
        super().__init__(target, graph, config)
        self._installed = contextlib.ExitStack()
        if graph is not None:
            self._installed.enter_context(graph.as_default())
        self._installed.enter_context(self.as_default())

    def close(self) -> None:
        """Like :meth:`Session.close`; also ends being the default session."""
        super().close()
        self._installed.close()


class _Defaults(threading.local):
    def __init__(self):
        self.sessions: list[Session] = []


_defaults = _Defaults()


@contextlib.contextmanager
def _as_default(session: Session) -> Iterator[Session]:
    _defaults.sessions.append(session)
    try:
        yield session
    finally:
        # Sessions for a shell may end in any order.
        for i in reversed(range(len(_defaults.sessions))):
            if _defaults.sessions[i] is session:
                del _defaults.sessions[i]
                break


def get_default_session() -> Session | None:
    """Returns the thread's innermost default session, None if it has none."""
    return _defaults.sessions[-1] if _defaults.sessions else None
