"""Event files: what TensorBoard reads."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Iterator

from flowmill import logging
from flowmill._internal import protos as _protos
from flowmill._internal.graph import Graph, get_default_graph
from flowmill._internal.meta_graph import export_scoped_meta_graph
from flowmill.io._records import TFRecordWriter, tf_record_iterator


class FileWriter:
    """Writes events to a file in a directory. As a context manager it is closed at the end; many threads may use it.

    Args:
        logdir: the directory, made if there is none.
        graph: a graph to write first.
        max_queue: how many events may wait to be handed to the operating system.
        flush_secs: how many seconds they may wait.
        graph_def: a graph as a message, instead of `graph`.
        filename_suffix: goes behind the file's name.
        session: not used: files are written directly.
    """

    def __init__(self, logdir, graph=None, max_queue: int = 10, flush_secs: float = 120, graph_def=None, filename_suffix: str | None = None,
                 session=None):
        self._logdir = os.fspath(logdir)
        os.makedirs(self._logdir, exist_ok=True)
        self._max_queue, self._flush_secs, self._suffix = max_queue, flush_secs, filename_suffix or ""
        self._lock = threading.Lock()
        self._writer = None
        self._closed = False
        self._seen_tags: set[str] = set()
        self._run_tags: set[str] = set()
        self._open()
        if graph is not None or graph_def is not None:
            self.add_graph(graph, graph_def=graph_def)
            self._add_meta_graph_of(graph, graph_def)

    def _open(self) -> None:
        stem = os.path.join(self._logdir, f"events.out.tfevents.{int(time.time()):010d}.{socket.gethostname()}")
        path, number = stem + self._suffix, 0
        while os.path.exists(path):  # several writers may begin within a second
            number += 1
            path = f"{stem}.{number}{self._suffix}"
        self._writer = TFRecordWriter(path)
        self._waiting, self._flushed = 0, time.time()
        self._write(_protos.get("Event")(wall_time=time.time(), file_version="brain.Event:2"))
        self._writer.flush()

    def _write(self, event) -> None:
        self._writer.write(event.SerializeToString())
        self._waiting += 1
        if self._waiting > self._max_queue or time.time() - self._flushed > self._flush_secs:
            self._writer.flush()
            self._waiting, self._flushed = 0, time.time()

    def _add_meta_graph_of(self, graph, graph_def) -> None:
        message = graph_def if graph_def is not None else graph.as_graph_def(add_shapes=True) if isinstance(graph, Graph) else graph
        self.add_meta_graph(export_scoped_meta_graph(graph_def=message, collection_list=[])[0])

    def get_logdir(self) -> str:
        """Returns the directory."""
        return self._logdir

    def add_event(self, event) -> None:
        """Writes an `Event`; nothing happens if the writer is closed."""
        with self._lock:
            if self._closed:
                logging.warning("Attempting to use a closed FileWriter. The operation will be a noop unless the FileWriter is explicitly reopened.")
                return
            self._write(event)

    def _add(self, event, global_step) -> None:
        event.wall_time = time.time()
        if global_step is not None:
            event.step = int(global_step)
        self.add_event(event)

    def add_summary(self, summary, global_step=None) -> None:
        """Writes a summary.

        Args:
            summary: a `Summary`, or what an operation gave for one.
            global_step: the step that it is of.
        """
        data = summary if isinstance(summary, bytes) else summary.item() if hasattr(summary, "item") else summary.SerializeToString()
        event = _protos.get("Event")()
        event.summary.ParseFromString(data)
        for value in event.summary.value:
            if value.HasField("metadata"):
                # What shows a tag is said once.
                if value.tag in self._seen_tags:
                    value.ClearField("metadata")
                else:
                    self._seen_tags.add(value.tag)
        self._add(event, global_step)

    def add_graph(self, graph, global_step=None, graph_def=None) -> None:
        """Writes a graph.

        Raises:
            TypeError: if it is none.
            ValueError: if both are given.
        """
        if graph is not None and graph_def is not None:
            raise ValueError("Please pass only graph, or graph_def (deprecated), but not both.")
        if isinstance(graph, Graph):
            message = graph.as_graph_def(add_shapes=True)
        elif hasattr(graph, "SerializeToString") or hasattr(graph_def, "SerializeToString"):
            message = graph if graph is not None else graph_def
        else:
            raise TypeError("The passed graph must be an instance of `Graph` or the deprecated `GraphDef`")
        self._add(_protos.get("Event")(graph_def=message.SerializeToString()), global_step)

    def add_meta_graph(self, meta_graph_def, global_step=None) -> None:
        """Writes a `MetaGraphDef`.

        Raises:
            TypeError: if it is none.
        """
        if not hasattr(meta_graph_def, "meta_info_def"):
            raise TypeError(f"meta_graph_def must be type MetaGraphDef, saw type: {type(meta_graph_def)}")
        self._add(_protos.get("Event")(meta_graph_def=meta_graph_def.SerializeToString()), global_step)

    def add_run_metadata(self, run_metadata, tag: str, global_step=None) -> None:
        """Writes what a step took, under a tag of its own.

        Raises:
            ValueError: if the tag was used.
        """
        if tag in self._run_tags:
            raise ValueError("The provided tag was already used for this event type")
        self._run_tags.add(tag)
        event = _protos.get("Event")()
        event.tagged_run_metadata.tag, event.tagged_run_metadata.run_metadata = tag, run_metadata.SerializeToString()
        self._add(event, global_step)

    def add_session_log(self, session_log, global_step=None) -> None:
        """Writes a `SessionLog`."""
        event = _protos.get("Event")()
        event.session_log.ParseFromString(session_log.SerializeToString())
        self._add(event, global_step)

    def flush(self) -> None:
        """Hands what was written to the operating system."""
        with self._lock:
            if not self._closed:
                self._writer.flush()
                self._waiting, self._flushed = 0, time.time()

    def close(self) -> None:
        """Ends the file."""
        with self._lock:
            if not self._closed:
                self._closed = True
                self._writer.close()

    def reopen(self) -> None:
        """Begins another file, if the writer is closed."""
        with self._lock:
            if self._closed:
                self._closed = False
                self._open()

    def __enter__(self) -> FileWriter:
        return self

    def __exit__(self, *exc_info) -> None:
        self.close()


class FileWriterCache:
    """One writer for each directory."""

    _writers: dict[str, FileWriter] = {}
    _lock = threading.RLock()

    @staticmethod
    def clear() -> None:
        """Closes all writers and forgets them."""
        with FileWriterCache._lock:
            for writer in FileWriterCache._writers.values():
                writer.close()
            FileWriterCache._writers.clear()

    @staticmethod
    def get(logdir) -> FileWriter:
        """Returns the writer of a directory, a new one with the default graph if there is none."""
        logdir = os.fspath(logdir)
        with FileWriterCache._lock:
            found = FileWriterCache._writers.get(logdir)
            if found is None:
                graph = get_default_graph()
                found = FileWriterCache._writers[logdir] = FileWriter(logdir, graph=graph if graph.version else None)
            return found


def summary_iterator(path) -> Iterator[_protos.Event]:
    """The events of a file, one after another."""
    kind = _protos.get("Event")
    for record in tf_record_iterator(path):
        yield kind.FromString(record)
