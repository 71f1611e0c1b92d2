"""Steps that get their feeds one after another, and give fetches in between.

One step runs in a thread of its own. Queues replace its feeds and receive its fetches: other steps put values into the former and take them out of
the latter. So the step computes each value once.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import flowmill as tf
from flowmill._internal.feeds import flatten
from flowmill._internal.fetches import Fetches
from flowmill._internal.tensor import Operation, Tensor
from flowmill.errors import InvalidArgumentError, OpError

if TYPE_CHECKING:
    from flowmill._internal.session import Session


def _invalid(message: str) -> InvalidArgumentError:
    return InvalidArgumentError(None, None, message)


class _Nodes:
    """The operations that a session adds for feeds and fetches: used again by later runs of the same."""

    def __init__(self, graph, feeds: list[Tensor], fetches: list[Tensor | Operation]):
        self.puts, self.takes, self.targets, self.closers, self.connections = {}, {}, [], [], []
        with graph.as_default(), graph.name_scope(None), graph.control_dependencies(None), graph.name_scope("partial_run"):
            for feed in feeds:
                queue = tf.FIFOQueue(1, [feed.dtype.base_dtype], name="feed")
                value = tf.placeholder(feed.dtype.base_dtype, feed.shape)
                self.puts[feed] = value, queue.enqueue([value])
                self.connections.append((queue.dequeue().name, feed.name))
            for fetch in fetches:
                is_tensor = isinstance(fetch, Tensor)
                queue = tf.FIFOQueue(1, [fetch.dtype.base_dtype if is_tensor else tf.bool], name="fetch")
                if is_tensor:
                    put = queue.enqueue([fetch])
                else:
                    with graph.control_dependencies([fetch]):
                        put = queue.enqueue([tf.constant(True)])
                self.targets.append(put.name)
                self.takes[fetch] = queue.dequeue()
                self.closers.append(queue.close(cancel_pending_enqueues=True).name)


class PartialRun:
    """One step, begun by :meth:`Session.partial_run_setup`."""

    def __init__(self, session: Session, fetches, feeds):
        self._session, self._graph = session, session.graph
        found = Fetches(self._graph, fetches, session)
        wanted = list(dict.fromkeys([*found.tensors, *found.targets]))
        if not wanted:
            raise _invalid("Must specify at least one target to fetch or execute.")
        fed = list(dict.fromkeys(self._graph.as_graph_element(f, allow_operation=False) for f in feeds or ()))
        for tensor in fed:
            if not self._graph.is_feedable(tensor):
                raise ValueError(f"Tensor {tensor.name} may not be fed.")
        key = (*fed, None, *wanted)
        free = session.__dict__.setdefault("_partial_run_nodes", {}).setdefault(key, [])
        self._free = free
        self._nodes = free.pop() if free else _Nodes(self._graph, fed, wanted)
        self._unfed, self._unfetched = set(fed), set(wanted)
        self._error: Exception | None = None
        step = session._core.make_callable([], [], self._nodes.targets, [], self._nodes.connections)
        self._thread = threading.Thread(target=self._work, args=(step,), daemon=True)
        self._thread.start()

    def _work(self, step) -> None:
        try:
            step()
        except Exception as error:  # whoever waits for a fetch gets it
            self._error = error
            try:
                self._session._core.make_callable([], [], self._nodes.closers, [])()
            except OpError:
                pass  # the session is closed: nobody waits

    def run(self, fetches, feed_dict) -> Any:
        """Puts in some feeds and takes out some fetches."""
        feeds = flatten(self._graph, feed_dict)
        found = Fetches(self._graph, fetches, self._session)
        wanted = [*found.tensors, *found.targets]
        for tensor in feeds:
            if tensor not in self._nodes.puts:
                raise _invalid(f"The feed {tensor.name} was not specified in partial_run_setup.")
            if tensor not in self._unfed:
                raise _invalid(f"The feed {tensor.name} has already been fed.")
        for fetch in wanted:
            if fetch not in self._nodes.takes:
                raise _invalid(f"The fetch {fetch.name} was not specified in partial_run_setup.")
            if fetch not in self._unfetched:
                raise _invalid(f"The fetch {fetch.name} has already been fetched.")
        missing = self._unfed - feeds.keys()
        for fetch in wanted:
            if _needs(fetch, missing, self._nodes.puts):
                raise _invalid(f"Fetch {fetch.name} can't be computed from the feeds that have been fed so far.")
        for tensor, value in feeds.items():
            placeholder, put = self._nodes.puts[tensor]
            self._session.run(put, {placeholder: value})
        self._unfed -= feeds.keys()
        taken = self._take(wanted)
        self._unfetched -= set(wanted)
        if self.is_done:
            self._thread.join()
            if self._error is None:
                self._free.append(self._nodes)
        return found.rebuild([None if place is None else taken[place] for place in found.layout])

    def _take(self, wanted: list) -> list:
        try:
            return self._session.run([self._nodes.takes[fetch] for fetch in wanted])
        except OpError:
            self._thread.join()
            if self._error is not None:
                raise self._error from None
            raise

    @property
    def is_done(self) -> bool:
        """Returns true if there is nothing left to feed or to fetch."""
        return not (self._unfed or self._unfetched) or self._error is not None


def _needs(fetch: Tensor | Operation, missing: set, fed) -> bool:
    """Returns true if a fetch depends on one of the tensors `missing`; fed tensors depend on nothing."""
    seen, ahead = set(), [fetch]
    while ahead:
        element = ahead.pop()
        if isinstance(element, Tensor):
            if element in missing:
                return True
            if element in fed:
                continue
            element = element.op
        if element not in seen:
            seen.add(element)
            ahead += [*element.inputs, *element.control_inputs]
    return False
