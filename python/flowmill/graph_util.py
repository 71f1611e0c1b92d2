"""Changing graphs as messages: parts of them, and variables as constants."""

from __future__ import annotations

from flowmill import _protos
from flowmill._convert import constant
from flowmill.dtypes import as_dtype
from flowmill.importer import import_graph_def

__all__ = [
    "convert_variables_to_constants", "extract_sub_graph", "import_graph_def", "must_run_on_cpu", "remove_training_nodes",
    "tensor_shape_from_node_def_name",
]

_HOLDERS = frozenset(("Variable", "VariableV2", "AutoReloadVariable"))
_RESOURCE = 20
# Operations that hand a handle on, and what those of references are called without.
_PASS_ON = frozenset(("Identity", "Switch", "Merge", "Enter", "Exit", "NextIteration"))
_WITHOUT_REF = {
    "RefIdentity": "Identity", "RefSwitch": "Switch", "RefMerge": "Merge", "RefEnter": "Enter", "RefExit": "Exit", "RefNextIteration": "NextIteration"}


def _name_of(tensor_name: str) -> str:
    """The node of an input: without its output and the mark of control."""
    name = tensor_name.removeprefix("^")
    return name.rpartition(":")[0] if ":" in name else name


def extract_sub_graph(graph_def, dest_nodes):
    """The nodes that some nodes need, as a `GraphDef`.

    Args:
        graph_def: the graph.
        dest_nodes: a list of names.

    Raises:
        TypeError: where `dest_nodes` is no list, or `graph_def` no graph.
        AssertionError: where there is no such node.
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
    found = type(graph_def)(versions=graph_def.versions)
    found.node.extend(node for node in graph_def.node if node.name in kept)
    found.library.CopyFrom(graph_def.library)
    return found


def convert_variables_to_constants(sess, input_graph_def, output_node_names, variable_names_whitelist=None, variable_names_blacklist=None):
    """What some nodes need, with the values of variables as constants: a frozen graph.

    Args:
        sess: the session with the variables.
        input_graph_def: the graph.
        output_node_names: the names of the nodes.
        variable_names_whitelist: the variables to convert, all where it is None.
        variable_names_blacklist: the variables to leave as they are.

    Raises:
        AssertionError: where there is no such node.
        errors.FailedPreconditionError: where a variable has no value.
    """
    graph_def = extract_sub_graph(input_graph_def, list(output_node_names))
    nodes = {node.name: node for node in graph_def.node}
    left = set(variable_names_blacklist or ())

    def chosen(name: str) -> bool:
        return (variable_names_whitelist is None or name in variable_names_whitelist) and name not in left

    references = [n.name for n in graph_def.node if n.op in _HOLDERS and chosen(n.name)]
    handles = [n.name for n in graph_def.node if n.op == "VarHandleOp" and chosen(n.name)]
    fetches = {name: name + ":0" for name in references}
    for name in handles:
        fetches[name] = _reader_of(sess.graph, name)
    values = sess.run(fetches) if fetches else {}
    types = _types_behind_handles(graph_def, nodes, {name: nodes[name].attr["dtype"].type for name in handles})
    converted = type(graph_def)(versions=graph_def.versions)
    converted.library.CopyFrom(graph_def.library)
    for node in graph_def.node:
        if node.name in values:
            _add_constant(converted, node, values[node.name])
        else:
            _add_converted(converted, node, types, set(references))
    return converted


def _reader_of(graph, name: str) -> str:
    """A tensor with the value of a resource variable."""
    for consumer in graph.get_operation_by_name(name).outputs[0].consumers():
        if consumer.type == "ReadVariableOp":
            return consumer.outputs[0].name
    with graph.as_default():
        from flowmill._apply import call

        handle = graph.get_tensor_by_name(name + ":0")
        return call("ReadVariableOp", None, handle, dtype=handle.op.get_attr("dtype")).name


def _types_behind_handles(graph_def, nodes: dict, types: dict[str, int]) -> dict[str, int]:
    """The types of the variables whose handles nodes give, by node; `types` says those of the variables that are converted."""
    found = dict(types)
    changed = True
    while changed:  # loops hand handles back
        changed = False
        for node in graph_def.node:
            if node.name not in found and (node.op in _PASS_ON) and node.attr["T"].type == _RESOURCE:
                source = next((found[_name_of(i)] for i in node.input if not i.startswith("^") and _name_of(i) in found), None)
                if source is not None:
                    found[node.name] = source
                    changed = True
    return found


def _add_constant(converted, node, value) -> None:
    from flowmill.graph import Graph

    dtype = as_dtype(node.attr["dtype"].type)
    with Graph().as_default() as graph:
        made = constant(value, dtype, name="value")
        new = converted.node.add()
        new.ParseFromString(graph._core.node_def(made.op._id))
    new.name, new.device = node.name, node.device
    new.input.extend(i for i in node.input if i.startswith("^"))


def _add_converted(converted, node, types: dict[str, int], references: set[str]) -> None:
    """A node as it is where variables are constants."""
    new = converted.node.add()
    new.CopyFrom(node)
    source = _name_of(node.input[0]) if node.input else None
    if node.op == "ReadVariableOp" and source in types:
        new.op = "Identity"
        new.attr.clear()
        new.attr["T"].type = types[source]
        if "_class" in node.attr:
            new.attr["_class"].CopyFrom(node.attr["_class"])
    elif node.op == "ResourceGather" and source in types:
        axis = converted.node.add(name=node.name + "/axis", op="Const")
        axis.attr["dtype"].type = as_dtype("int32").as_datatype_enum
        axis.attr["value"].tensor.CopyFrom(_protos.get("TensorProto")(dtype=3, tensor_shape={}, int_val=[0]))
        new.op = "GatherV2"
        del new.input[2:]
        new.input.extend([axis.name, *(i for i in node.input if i.startswith("^"))])
        new.attr.clear()
        new.attr["Tparams"].type, new.attr["Tindices"].type = types[source], node.attr["Tindices"].type
        new.attr["Taxis"].type, new.attr["batch_dims"].i = 3, node.attr["batch_dims"].i
    elif node.op == "ResourceGatherNd" and source in types:
        new.op = "GatherNd"
        new.attr.clear()
        new.attr["Tparams"].type, new.attr["Tindices"].type = types[source], node.attr["Tindices"].type
    elif node.name in types:
        new.attr["T"].type = types[node.name]
    elif node.op in _WITHOUT_REF and any(_name_of(i) in references for i in node.input):
        new.op = _WITHOUT_REF[node.op]


def remove_training_nodes(input_graph, protected_nodes=None):
    """A graph without checks of numbers and identities that only training needs.

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
    """A graph without some nodes; who takes them takes their first input."""
    instead = {node.name: node.input[0] for node in graph_def.node if leave_out(node)}

    def source(name: str) -> str:
        while not name.startswith("^") and _name_of(name) in instead:
            name = instead[_name_of(name)]
        return name

    found = type(graph_def)(versions=graph_def.versions)
    found.library.CopyFrom(graph_def.library)
    for node in graph_def.node:
        if node.name not in instead:
            new = found.node.add()
            new.CopyFrom(node)
            del new.input[:]
            new.input.extend(i if i.startswith("^") and _name_of(i) not in instead else source(i) for i in node.input
                             if not (i.startswith("^") and _name_of(i) in instead))
    return found


def must_run_on_cpu(node, pin_variables_on_cpu: bool = False) -> bool:
    """Whether an operation or `NodeDef` has to be on a CPU: those of strings, and constants of 32-bit integers."""
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
