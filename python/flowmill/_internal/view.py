"""Graphs as pages for the browser and for notebooks."""

from __future__ import annotations

import html
import os
import pathlib
import tempfile
import webbrowser
from typing import TYPE_CHECKING, Any

from flowmill import _core
from flowmill._internal.fetches import Fetches
from flowmill._internal.graph import Graph, get_default_graph
from flowmill._internal.session import Session

if TYPE_CHECKING:
    from flowmill._internal.tensor import Tensor

# Larger pages are not put into notebooks, which keep their outputs in the file.
MAX_NOTEBOOK_BYTES = 16 << 20
_FRAME = '<iframe srcdoc="{}" width="100%" height="{}" style="border:1px solid #8888" sandbox="allow-scripts" title="{}"></iframe>'


def frame(page: str, title: str, height: int) -> str:
    """Returns a page in a frame, for a notebook: its scripts reach nothing outside of the frame."""
    return _FRAME.format(html.escape(page), height, html.escape(title))


class GraphPage:
    """A self-contained HTML page of a graph: what :func:`view` returns.

    Attributes:
        html: the page.
        title: its title.
        height: the height in a notebook, in pixels.
    """

    def __init__(self, page: str, title: str, height: int = 640):
        self.html, self.title, self.height = page, title, height

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the page to a file."""
        pathlib.Path(path).write_text(self.html, encoding="utf-8")

    def show(self) -> str:
        """Writes the page to a temporary file, opens it in the browser, and returns its path."""
        with tempfile.NamedTemporaryFile("w", prefix="flowmill-view-", suffix=".html", delete=False, encoding="utf-8") as file:
            file.write(self.html)
        webbrowser.open(pathlib.Path(file.name).as_uri())
        return file.name

    def _repr_html_(self) -> str:
        if len(self.html) > MAX_NOTEBOOK_BYTES:
            return f"<p>The page of {html.escape(self.title)} has {len(self.html) >> 20} MiB, too many for a notebook: <code>.show()</code> opens it.</p>"
        return frame(self.html, self.title, self.height)

    def __repr__(self) -> str:
        return f"GraphPage({self.title!r}, {len(self.html)} bytes; .show() opens it, .save(path) writes it)"


def view(graph: Any = None, *, fetches: Any = None, feeds: Any = (), run_metadata: Any = None, title: str | None = None) -> GraphPage:
    """Returns a page that shows a graph: name scopes that open and close, search, paths, filters, colours by device, time and memory, shapes on edges.

    Args:
        graph: a `Graph`, a `Session`, a `GraphDef` or its bytes, or the path of a frozen graph; the thread's default graph if it is None. Ops of a `GraphDef`
            that nobody defines are shown, too.
        fetches: as for `Session.run`; if there are any, the page also has the step that computes them, before and after all passes, with what each pass did.
        feeds: the tensors that the step is fed, or their names.
        run_metadata: a `RunMetadata`, or its bytes, with the times and the memory of nodes.
        title: the page's title.

    Raises:
        TypeError: if `graph` is none of these.
        errors.DataLossError, errors.NotFoundError: for bytes that are no `RunMetadata` with step statistics.
    """
    session = graph if isinstance(graph, Session) else None
    shown = session.graph if session else _graph_of(graph)
    statistics = run_metadata.SerializeToString() if hasattr(run_metadata, "SerializeToString") else run_metadata
    name = title or (pathlib.Path(graph).name if isinstance(graph, (str, os.PathLike)) else "graph")
    if fetches is None:
        return GraphPage(_core.graph_page(shown._core, name, statistics), name)
    opened = session or Session(graph=shown)
    try:
        return GraphPage(_step_page(opened, name, fetches, feeds, statistics), name)
    finally:
        if session is None:
            opened.close()


def _step_page(session: Session, title: str, fetches: Any, feeds: Any, statistics: bytes | None) -> str:
    found = Fetches(session.graph, fetches, session)
    names = [getattr(feed, "name", feed) for feed in feeds]
    return _core.step_page(session._core, title, names, [t.name for t in found.tensors], [op.name for op in found.targets], statistics)


def _graph_of(graph: Any) -> Graph:
    if graph is None:
        return get_default_graph()
    if isinstance(graph, Graph):
        return graph
    loaded = Graph()
    if isinstance(graph, (str, os.PathLike, bytes)):
        source = graph if isinstance(graph, bytes) else pathlib.Path(graph)
    elif hasattr(graph, "SerializeToString"):
        source = graph.SerializeToString()
    else:
        raise TypeError(f"Argument `graph` must be a Graph, a Session, a GraphDef, its bytes or the path of a file, but got {type(graph).__name__!r}")
    loaded._core.import_graph_def(source, prefix="", stand_ins=True)
    return loaded


def summary(graph: Graph, max_depth: int, max_children: int, nodes: bool, run_metadata: Any) -> str:
    """Returns the tree of a graph's scopes as text: see `Graph.summary`."""
    statistics = run_metadata.SerializeToString() if hasattr(run_metadata, "SerializeToString") else run_metadata
    return _core.graph_tree(graph._core, max_depth, max_children, nodes, statistics)


def graph_html(graph: Graph) -> str:
    """Returns the tree of a graph's scopes for a notebook."""
    return _core.graph_tree_html(graph._core, f"flowmill.Graph of {len(graph._core.node_ids())} nodes")


def tensor_html(tensor: Tensor) -> str:
    """Returns a tensor's name, type, shape and operation for a notebook."""
    rows = {"name": tensor.name, "dtype": tensor.dtype.name, "shape": str(tensor.shape), "op": tensor.op.type, "device": tensor.device or ""}
    return _table("flowmill.Tensor", rows)


def session_html(session: Session) -> str:
    """Returns the facts about a session for a notebook: its graph, its devices, and the steps that it has prepared."""
    num_prepared, num_dropped = session._core.plan_counts()
    rows = {
        "nodes": len(session.graph._core.node_ids()),
        "devices": "closed" if session._closed else ", ".join(device.name for device in session.list_devices()),
        "prepared steps": f"{num_prepared} of at most {session._core.max_plans()}",
        "dropped steps": num_dropped or "",
    }
    return _table("flowmill.Session", rows)


def _table(title: str, rows: dict[str, Any]) -> str:
    cells = "".join(f"<tr><th style=\"text-align:left\">{html.escape(name)}</th><td>{html.escape(str(text))}</td></tr>" for name, text in rows.items() if text != "")
    return f"<table><caption style=\"text-align:left\"><strong>{html.escape(title)}</strong></caption>{cells}</table>"
