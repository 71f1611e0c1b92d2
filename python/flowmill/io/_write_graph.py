"""Graphs as files."""

from __future__ import annotations

import os

from flowmill import gfile
from flowmill._internal.graph import Graph


def write_graph(graph_or_graph_def, logdir, name: str, as_text: bool = True) -> str:
    """Writes a graph, or a `GraphDef`, to a file.

    Args:
        graph_or_graph_def: the graph.
        logdir: the directory, which is made if it does not exist.
        name: the file's name in it.
        as_text: whether to write text in place of bytes.

    Returns:
        The file's path.
    """
    graph_def = graph_or_graph_def.as_graph_def() if isinstance(graph_or_graph_def, Graph) else graph_or_graph_def
    gfile.MakeDirs(logdir)
    path = os.path.join(os.fspath(logdir), name)
    if as_text:
        from google.protobuf import text_format  # start-up: protobuf is loaded when it is used

        content = text_format.MessageToString(graph_def)
    else:
        content = graph_def.SerializeToString()
    with gfile.GFile(path, "wb") as file:
        file.write(content)
    return path
