"""Facts about nodes that a graph does not have, as an `OpLogProto`."""

from __future__ import annotations

import os

from flowmill._internal import protos
from flowmill._internal.default_graph import get_default_graph
from flowmill._internal.graph_keys import GraphKeys
from flowmill.profiler.option_builder import TRAINABLE_VARIABLES


def op_log_of(graph, op_log=None, add_trace: bool = True):
    """Returns an `OpLogProto` with the trainable variables of a graph and the stacks that made its nodes, and what `op_log` says besides."""
    found = protos.get("OpLogProto")()
    if op_log is not None:
        found.CopyFrom(op_log)
    entries = {entry.name: entry for entry in found.log_entries}

    def entry(name: str):
        if name not in entries:
            entries[name] = found.log_entries.add(name=name)
        return entries[name]

    for variable in graph.get_collection(GraphKeys.TRAINABLE_VARIABLES):
        entry(variable.op.name).types.append(TRAINABLE_VARIABLES)
    if add_trace:
        numbers = {text: number for number, text in found.id_to_string.items()}

        def number_of(text: str) -> int:
            if text not in numbers:
                numbers[text] = len(numbers)
                found.id_to_string[numbers[text]] = text
            return numbers[text]

        for op in graph.get_operations():
            of_op = entry(op.name)
            if not of_op.code_def.traces:
                for file, line, function, text in op.traceback:
                    of_op.code_def.traces.add(file_id=number_of(file), lineno=line, function_id=number_of(function), line_id=number_of(text))
    return found


def write_op_log(graph, log_dir, op_log=None, run_meta=None, add_trace: bool = True) -> None:
    """Writes the `OpLogProto` of a graph to the file ``tfprof_log`` in a directory.

    Args:
        graph: the graph, the default graph if it is None.
        log_dir: the directory.
        op_log: an `OpLogProto` to begin with.
        run_meta: not used.
        add_trace: if true, with the stacks that made the nodes.
    """
    graph = get_default_graph() if graph is None else graph
    with open(os.path.join(log_dir, "tfprof_log"), "wb") as file:
        file.write(op_log_of(graph, op_log, add_trace).SerializeToString())
