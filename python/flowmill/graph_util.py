"""Changing graphs as messages: parts of them, and variables as constants."""

from __future__ import annotations

from flowmill._internal import protos as _protos
from flowmill._internal.freezing import convert_variables_to_constants
from flowmill._internal.importer import import_graph_def

__all__ = [
    "convert_variables_to_constants", "extract_sub_graph", "import_graph_def", "must_run_on_cpu", "remove_training_nodes",
    "tensor_shape_from_node_def_name",
]

_HOLDERS = frozenset(("Variable", "VariableV2", "AutoReloadVariable"))


def _name_of(tensor_name: str) -> str:
    """Returns the node of an input: without its output and the mark of control."""
    name = tensor_name.removeprefix("^")
    return name.rpartition(":")[0] if ":" in name else name


def extract_sub_graph(graph_def, dest_nodes) -> _protos.GraphDef:
    """Returns the nodes that some nodes need, as a `GraphDef`.

    Args:
        graph_def: the graph.
        dest_nodes: a list of names.

    Raises:
        TypeError: if `dest_nodes` is no list, or `graph_def` no graph.
        AssertionError: if there is no such node.
    """
    if not hasattr(graph_def, "node"):
        raise TypeError(f"graph_def must be a graph_pb2.GraphDef proto, but got type {type(graph_def)}.")
    if isinstance(dest_nodes, (str, bytes)):
        raise TypeError(f"dest_nodes must be an iterable of strings, but got type {type(dest_nodes)}.")
    nodes = {node.name: node for node in graph_def.node}
    for name in dest_nodes:
        assert name in nodes, f"{name} is not in graph"
    kept, ahead = set(), list(dest_nodes)
    while ahead:
        name = ahead.pop()
        if name not in kept and name in nodes:
            kept.add(name)
            ahead.extend(_name_of(i) for i in nodes[name].input)
    found = _without_nodes(graph_def)
    found.node.extend(node for node in graph_def.node if node.name in kept)
    return found


def _without_nodes(graph_def):
    """Returns a graph without nodes, with all else that another one has."""
    found = type(graph_def)()
    for field in ("versions", "library"):
        if graph_def.HasField(field):
            getattr(found, field).CopyFrom(getattr(graph_def, field))
    return found


def remove_training_nodes(input_graph, protected_nodes=None) -> _protos.GraphDef:
    """Returns a graph without checks of numbers and identities that only training needs.

    Args:
        input_graph: a `GraphDef`.
        protected_nodes: the names of nodes to keep.
    """
    kept_names = set(protected_nodes or ())
    without_checks = _spliced(input_graph, lambda node: node.op == "CheckNumerics" and node.name not in kept_names)
    controlled = {_name_of(i) for node in without_checks.node for i in node.input if i.startswith("^")}

    def is_idle(node) -> bool:
        return (node.op == "Identity" and node.name not in kept_names and node.name not in controlled
                and not any(i.startswith("^") for i in node.input) and len(node.input) == 1)
    return _spliced(without_checks, is_idle)


def _spliced(graph_def, leave_out):
    """Returns a graph without some nodes; who takes them takes their first input."""
    instead = {node.name: node.input[0] for node in graph_def.node if leave_out(node)}

    def source(name: str) -> str:
        while not name.startswith("^") and _name_of(name) in instead:
            name = instead[_name_of(name)]
        return name

    found = _without_nodes(graph_def)
    for node in graph_def.node:
        if node.name not in instead:
            new = found.node.add()
            new.CopyFrom(node)
            del new.input[:]
            new.input.extend(i if i.startswith("^") and _name_of(i) not in instead else source(i) for i in node.input
                             if not (i.startswith("^") and _name_of(i) in instead))
    return found


def must_run_on_cpu(node, pin_variables_on_cpu: bool = False) -> bool:
    """Returns true if an operation or `NodeDef` has to be on a CPU: those of strings, and constants of 32-bit integers."""
    node_def = getattr(node, "node_def", node)
    if pin_variables_on_cpu and (node_def.op in _HOLDERS or node_def.op.startswith("Variable")):
        return True
    dtype = node_def.attr["dtype"].type if "dtype" in node_def.attr else 0
    if node_def.op == "Const" and dtype in (3, 7):
        return True
    if node_def.op in ("DynamicStitch", "ParallelDynamicStitch") and "T" in node_def.attr and node_def.attr["T"].type == 3:
        return True
    return node_def.op == "Cast" and "SrcT" in node_def.attr and node_def.attr["SrcT"].type == 3


def tensor_shape_from_node_def_name(graph, input_name: str):
    """The shape of a tensor by its name; the output may be left out."""
    return graph.get_tensor_by_name(input_name if ":" in input_name else input_name + ":0").get_shape()
