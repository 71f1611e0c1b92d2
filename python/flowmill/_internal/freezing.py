"""Frozen graphs: variables as constants, in functions too."""

from __future__ import annotations

import itertools

from flowmill._internal import protos
from flowmill._internal.apply import call
from flowmill._internal.convert import constant
from flowmill._internal.graph import Graph
from flowmill.dtypes import as_dtype

_HOLDERS = frozenset(("Variable", "VariableV2", "AutoReloadVariable"))
_RESOURCE = 20
# Operations that hand a handle on, and what those of references are called without.
_PASS_ON = frozenset(("Identity", "Switch", "Merge", "Enter", "Exit", "NextIteration"))
_WITHOUT_REF = {
    "RefIdentity": "Identity", "RefSwitch": "Switch", "RefMerge": "Merge", "RefEnter": "Enter", "RefExit": "Exit", "RefNextIteration": "NextIteration"}
# Operations that call functions: the attribute with the types of what they pass on, and how many inputs come before those.
_CALLS = {
    "If": ("Tin", 1), "StatelessIf": ("Tin", 1), "Case": ("Tin", 1), "StatelessCase": ("Tin", 1), "While": ("T", 0), "StatelessWhile": ("T", 0),
    "PartitionedCall": ("Tin", 0), "StatefulPartitionedCall": ("Tin", 0),
}
# Numbers in the names of functions.
_numbers = itertools.count()


def _base(tensor_name: str) -> str:
    """Returns the node or parameter of an input, in a graph or a function: without its output and the mark of control."""
    return tensor_name.removeprefix("^").partition(":")[0]


def convert_variables_to_constants(sess, input_graph_def, output_node_names, variable_names_whitelist=None,
                                   variable_names_blacklist=None) -> protos.GraphDef:
    """Returns a frozen graph: the nodes that some nodes need, with the values of variables as constants.

    Functions that get variables get their values instead; those have names of their own.

    Args:
        sess: the session with the variables.
        input_graph_def: the graph.
        output_node_names: the names of the nodes.
        variable_names_whitelist: the variables to convert, all if it is None.
        variable_names_blacklist: the variables to leave as they are.

    Raises:
        AssertionError: if there is no such node.
        errors.FailedPreconditionError: if a variable has no value.
    """
    from flowmill.graph_util import extract_sub_graph  # cycle: graph_util imports this module

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
    converted = type(graph_def)(versions=graph_def.versions)
    library = _Library(graph_def.library, converted.library)
    types = _types_behind_handles(graph_def.node, {name: nodes[name].attr["dtype"].type for name in handles})
    for node in graph_def.node:
        if node.name in values:
            _add_constant(converted.node, node, values[node.name])
        else:
            _add_converted(converted.node, node, types, set(references), library, "")
    library.keep_others()
    return converted


class _Library:
    """The functions of a graph, and those of them that get values where there were handles."""

    def __init__(self, whole, converted):
        self._functions = {f.signature.name: f for f in whole.function}
        self._converted = converted
        self._converted.gradient.extend(whole.gradient)
        # Functions by the name they had and the types of the values that they get, by place.
        self._frozen: dict[tuple, str] = {}

    def __contains__(self, name: str) -> bool:
        return name in self._functions

    def frozen(self, name: str, types: dict[int, int]) -> str:
        """The name of a function as it is if some arguments are values of these types."""
        key = name, tuple(sorted(types.items()))
        if key not in self._frozen:
            new_name = self._frozen[key] = f"{name}_frozen_{next(_numbers)}"
            function = self._functions[name]
            new = type(function)()
            new.CopyFrom(function)
            new.signature.name = new_name
            del new.node_def[:]
            for place, dtype in types.items():
                new.signature.input_arg[place].type = dtype
            inside = {function.signature.input_arg[place].name: dtype for place, dtype in types.items()}
            inside = _types_behind_handles(function.node_def, inside)
            for node in function.node_def:
                _add_converted(new.node_def, node, inside, set(), self, ":output:0")
            read = {f"{node.name}:value:0" for node in function.node_def if node.op == "ReadVariableOp" and _base(node.input[0]) in inside}
            _rename_read(new, read)
            self._converted.function.append(new)
        return self._frozen[key]

    def keep_others(self) -> None:
        """Adds the functions that stay as they were."""
        replaced = {name for name, _ in self._frozen}
        for name, function in self._functions.items():
            if name not in replaced:
                self._converted.function.append(function)


def _rename_read(function, read: set[str]) -> None:
    """Replaces the output of `ReadVariableOp` by that of `Identity` in the inputs that use it."""
    def renamed(source: str) -> str:
        return source.replace(":value:", ":output:") if source in read else source

    for node in function.node_def:
        node.input[:] = [renamed(i) for i in node.input]
    for name, source in list(function.ret.items()):
        function.ret[name] = renamed(source)


def _reader_of(graph, name: str) -> str:
    """Returns a tensor with the value of a resource variable."""
    for consumer in graph.get_operation_by_name(name).outputs[0].consumers():
        if consumer.type == "ReadVariableOp":
            return consumer.outputs[0].name
    with graph.as_default():
        handle = graph.get_tensor_by_name(name + ":0")
        return call("ReadVariableOp", None, handle, dtype=handle.op.get_attr("dtype")).name


def _types_behind_handles(nodes, types: dict[str, int]) -> dict[str, int]:
    """Returns the types of the variables whose handles nodes give, by node; `types` says those of the variables that are converted."""
    found = dict(types)
    changed = True
    while changed:  # loops hand handles back
        changed = False
        for node in nodes:
            if node.name not in found and (node.op in _PASS_ON) and node.attr["T"].type == _RESOURCE:
                source = next((found[_base(i)] for i in node.input if not i.startswith("^") and _base(i) in found), None)
                if source is not None:
                    found[node.name] = source
                    changed = True
    return found


def _add_constant(nodes, node, value) -> None:
    dtype = as_dtype(node.attr["dtype"].type)
    with Graph().as_default() as graph:
        made = constant(value, dtype, name="value")
        new = nodes.add()
        new.ParseFromString(graph._core.node_def(made.op._id))
    new.name, new.device = node.name, node.device
    new.input.extend(i for i in node.input if i.startswith("^"))


def _add_converted(nodes, node, types: dict[str, int], references: set[str], library: _Library, first_output: str) -> None:
    """Adds a node as it is where variables are constants; `first_output` is what names of constants have after them as inputs."""
    new = nodes.add()
    new.CopyFrom(node)
    if node.op in _CALLS or node.op in library:
        _convert_call(new, types, library)
        return
    source = _base(node.input[0]) if node.input else None
    if node.op == "ReadVariableOp" and source in types:
        new.op = "Identity"
        new.attr.clear()
        new.attr["T"].type = types[source]
        if "_class" in node.attr:
            new.attr["_class"].CopyFrom(node.attr["_class"])
    elif node.op == "ResourceGather" and source in types:
        axis = nodes.add(name=node.name + "/axis", op="Const")
        axis.attr["dtype"].type = as_dtype("int32").as_datatype_enum
        axis.attr["value"].tensor.CopyFrom(protos.get("TensorProto")(dtype=3, tensor_shape={}, int_val=[0]))
        new.op = "GatherV2"
        del new.input[2:]
        new.input.extend([axis.name + first_output, *(i for i in node.input if i.startswith("^"))])
        new.attr.clear()
        new.attr["Tparams"].type, new.attr["Tindices"].type = types[source], node.attr["Tindices"].type
        new.attr["Taxis"].type, new.attr["batch_dims"].i = 3, node.attr["batch_dims"].i
    elif node.op == "ResourceGatherNd" and source in types:
        new.op = "GatherNd"
        new.attr.clear()
        new.attr["Tparams"].type, new.attr["Tindices"].type = types[source], node.attr["Tindices"].type
    elif node.name in types:
        new.attr["T"].type = types[node.name]
    elif node.op in _WITHOUT_REF and any(_base(i) in references for i in node.input):
        new.op = _WITHOUT_REF[node.op]


def _convert_call(call, types: dict[str, int], library: _Library) -> None:
    """Changes a call that passed handles to pass values."""
    attr, before = _CALLS.get(call.op, (None, 0))
    passed = [i for i in call.input if not i.startswith("^")][before:]
    values = {place: types[_base(i)] for place, i in enumerate(passed) if _base(i) in types}
    if not values:
        return
    if attr is None:
        call.op = library.frozen(call.op, values)
        return
    for place, dtype in values.items():
        call.attr[attr].list.type[place] = dtype
    for value in call.attr.values():
        for function in ([value.func] if value.HasField("func") else value.list.func):
            if function.name in library:
                function.name = library.frozen(function.name, values)
