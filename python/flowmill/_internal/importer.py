"""Adding a serialised graph to one in memory."""

from __future__ import annotations

import contextlib
import os
from typing import Any

from flowmill._internal.graph import Graph, get_default_graph
from flowmill._internal.tensor import Operation, Tensor
from flowmill.errors import InvalidArgumentError


class GraphImportError(InvalidArgumentError, ValueError):
    """The message is not a legal graph, or does not fit into this one. A `ValueError` too, which is what TensorFlow raises."""

    @classmethod
    def _of(cls, error: InvalidArgumentError) -> GraphImportError:
        raised = cls(None, None, error.message)
        raised.node_name, raised.op_type = error.node_name, error.op_type
        return raised


def import_graph_def(graph_def, input_map=None, return_elements=None, name=None, op_dict=None, producer_op_list=None, *,
                     map_file: bool = False) -> Any:
    """Adds the nodes of a graph to the default graph.

    Args:
        graph_def: a `GraphDef` (Flowmill's or TensorFlow's), its serialised bytes, its text form as bytes, or the path of a file with either.
            Bytes and files are read without protobuf.
        input_map: names of the message's tensors (``"x:0"``, ``"^x"`` for control) and the tensors to use in their place.
        return_elements: names of operations (``"x"``) and tensors (``"x:0"``) to return.
        name: the prefix of all names, with a slash; ``"import"`` if it is None, nothing if it is empty.
        op_dict: not used.
        producer_op_list: the `OpList` that the graph was made with: attributes with their default value that are not known here are left out, and
            ops that are not known here are taken from it.
        map_file: maps the file that `graph_def` names instead of reading it. Loading is faster and processes share the memory, but the file must
            not be changed in place as long as the graph, or a session of it, lives: a file that is cut short, as ``cp new.pb old.pb`` does, ends
            the process with ``SIGBUS``. Replace such a file by renaming another one over it.

    Returns:
        A list of what `return_elements` names; None if that is None.

    Raises:
        TypeError: if an argument has the wrong type.
        GraphImportError: (a ValueError) if the message is not a legal graph.
        NotFoundError: if ops are not known; the message lists all of them.
    """
    graph = get_default_graph()
    graph._check_not_finalized()
    source = _source(graph_def)
    if name == "" and isinstance(input_map, dict) and not all(isinstance(v, Tensor) for v in input_map.values()):
        raise ValueError("tf.import_graph_def() requires a non-empty `name` if `input_map` contains non-Tensor values. Try calling "
                         f"tf.convert_to_tensor() on `input_map` values before calling tf.import_graph_def(). Obtained: {list(input_map.values())}")
    mapped = _mapped(graph, input_map)
    wanted = _wanted(return_elements)
    return_tensors = [n for n in wanted if ":" in n]
    return_nodes = [n for n in wanted if ":" not in n]
    first = graph._core.version()
    with graph._lock:
        try:
            tensors, nodes, missing = graph._core.import_graph_def(
                source, prefix=_prefix(graph, name), input_map=mapped, return_tensors=return_tensors, return_nodes=return_nodes,
                map_file=map_file, producer_ops=None if producer_op_list is None else producer_op_list.SerializeToString())
        except InvalidArgumentError as error:
            raise GraphImportError._of(error) from None
    if missing:
        raise ValueError(f"Attempted to map inputs that were not found in graph_def: [{', '.join(missing)}]")
    if graph._thread.here.device_functions:
        _choose_devices(graph, [op for op in graph.get_operations() if op._id >= first + 2])
    if return_elements is None:
        return None
    found: dict[str, Tensor | Operation] = {n: graph._operation(node)._outputs[slot] for n, (node, slot) in zip(return_tensors, tensors)}
    found.update((n, graph._operation(node)) for n, node in zip(return_nodes, nodes))
    return [found[n] for n in wanted]


def _choose_devices(graph: Graph, operations: list[Operation]) -> None:
    """Places operations by the device functions around; those that are colocated with others go where these are."""
    colocated = []
    for op in operations:
        others = [group.decode().removeprefix("loc:@") for group in op.colocation_groups()]
        if op.name in others:
            with graph.device(op.device) if op.device else contextlib.nullcontext():
                graph._choose_device(op)
        else:
            colocated.append((op, others))
    for op, others in colocated:
        for device in filter(None, (graph.get_operation_by_name(name).device for name in others)):
            op._set_device(device)


def _source(graph_def) -> Any:
    """Bytes or a path."""
    if isinstance(graph_def, (bytes, bytearray, memoryview)):
        source = bytes(graph_def)
    elif isinstance(graph_def, os.PathLike) or isinstance(graph_def, str) and graph_def:
        source = os.fspath(graph_def)
    elif hasattr(graph_def, "SerializeToString") and hasattr(graph_def, "node"):
        source = graph_def.SerializeToString()
    else:
        raise TypeError(f"Argument `graph_def` must be a GraphDef proto, bytes or a path, not {type(graph_def).__name__}.")
    return source


def _mapped(graph: Graph, input_map) -> list[tuple[str, str]]:
    if not input_map:
        return []
    if not isinstance(input_map, dict):
        raise TypeError(f"Argument `input_map` must be a dictionary. Obtained {type(input_map).__name__}")
    if not all(isinstance(k, (str, bytes)) for k in input_map):
        raise TypeError(f"All keys for argument `input_map` must be strings. Obtained keys: {list(input_map)}")
    mapped = []
    for key, value in input_map.items():
        element = graph.as_graph_element(value)
        mapped.append((_text(key), element.name if isinstance(element, Tensor) else "^" + element.name))
    return mapped


def _wanted(return_elements) -> list[str]:
    if return_elements is None:
        return []
    if isinstance(return_elements, (str, bytes)) or not all(isinstance(n, (str, bytes)) for n in return_elements):
        raise TypeError(f"Argument `return_elements` must be a list of strings. Obtained {return_elements}.")
    names = [_text(n) for n in return_elements]
    for name in names:
        if ":" in name and not name.rpartition(":")[2].isdecimal() or name.count(":") > 1:
            raise ValueError(f"Cannot convert {name!r} to a tensor name.")
    return names


def _text(name: str | bytes) -> str:
    return name if isinstance(name, str) else name.decode()


def _prefix(graph: Graph, name: str | None) -> str:
    if name is None:
        name = "import"
    if name.endswith("/"):  # a scope that is entered again
        return name[:-1]
    return graph.unique_name(name) if name else ""
