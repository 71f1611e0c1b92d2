"""Graphs that are bodies of functions, and their form in a graph's library."""

from __future__ import annotations

import contextlib
import itertools
import re
from collections.abc import Callable, Sequence

from flowmill import nest
from flowmill._internal import protos, variable_scopes
from flowmill._internal.apply import call, signature
from flowmill._internal.convert import convert_to_tensor
from flowmill._internal.graph import Graph, get_default_graph
from flowmill._internal.program_order import add_order
from flowmill._internal.tensor import Operation, Tensor, user_frames
from flowmill._internal.tensor_shape import TensorShape

# Numbers in the names of functions.
_numbers = itertools.count()


class FuncGraph(Graph):
    """The body of a function being built. What it takes from the graphs around it becomes a parameter.

    Args:
        name: the name of the function.
        outer: the graph that calls it, the default one if it is None.
        functional: whether control flow in it becomes functions, too.
        is_control_flow: whether it is a branch, or a part of a loop, and has the devices chosen around it. Other functions have the caller's device;
            they have devices chosen around them only if functions choose some.
        has_program_order: whether operations with effects in it run in the order of the program. Branches, and parts of loops, are as the graph around.

    Attributes:
        inputs: the parameters, those for captured tensors last.
        outputs: what it returns, flat.
        structured_outputs: what it returns as the Python function gave it.
        control_outputs: operations that run whenever it is called, whether or not what it returns needs them.
        is_control_flow_graph: whether it is a branch, or a part of a loop.
        label: what errors call it, such as ``"true_fn"``; its name if it is no branch.
    """

    building_function = True

    def __init__(self, name: str, outer: Graph | None = None, functional: bool = True, is_control_flow: bool = False,
                 has_program_order: bool = False):
        super().__init__()
        self.name = name
        self.outer_graph = get_default_graph() if outer is None else outer
        self._level = self.outer_graph._level + 1
        self.functional_control_flow = functional
        self.is_control_flow_graph, self.label = is_control_flow, name
        self._has_program_order = has_program_order or is_control_flow and getattr(self.outer_graph, "_has_program_order", False)
        self._collections = self.outer_graph._collections
        self._seed = self.outer_graph._seed
        self.inputs: list[Tensor] = []
        self.outputs: list[Tensor] = []
        self.structured_outputs = None
        self.control_outputs: list[Operation] = []
        # Outside tensor and parameter, by the outside tensor's identity.
        self._captures: dict[int, tuple[Tensor, Tensor]] = {}
        # Operations outside that operations in it wait for: the call waits for them.
        self.control_captures: list[Operation] = []
        here, around = self._thread.here, self.outer_graph._thread.here
        if around.scope.colocation:
            groups = [w if isinstance(w, tuple) else self._colocated(self.outer_graph._operation(w)) for w in around.scope.colocation]
            here.scope = here.scope.colocated_with(groups)
        if is_control_flow or around.device_functions:
            here.scope, here.device_functions = here.scope.on_device(around.scope.device), around.device_functions

    @property
    def captures(self) -> list[tuple[Tensor, Tensor]]:
        """Pairs of a tensor outside and the parameter that replaces it."""
        return list(self._captures.values())

    @property
    def external_captures(self) -> list[Tensor]:
        """The tensors outside that it takes."""
        return [outside for outside, _ in self._captures.values()]

    @property
    def internal_captures(self) -> list[Tensor]:
        """The parameters for them."""
        return [inside for _, inside in self._captures.values()]

    def placeholder(self, dtype, shape, name: str | None = None) -> Tensor:
        """Adds a node that a parameter will be."""
        shape = shape if isinstance(shape, TensorShape) else TensorShape(shape)
        with self.as_default(), self.control_dependencies(None):
            return call("Placeholder", name, dtype=dtype, shape=shape)

    def capture(self, tensor: Tensor, name: str | None = None) -> Tensor:
        """Returns the tensor of this graph that has the value of `tensor`: the tensor itself if it is of this graph, else a parameter.

        Raises:
            ValueError: for a tensor of a graph that is not around this one.
        """
        if tensor.graph is self:
            return tensor
        found = self._captures.get(id(tensor))
        if found is None:
            if self._around().get(tensor.graph._level) is not tensor.graph:
                if getattr(tensor.graph, "outer_graph", None) is self.outer_graph:
                    raise ValueError(f"Tensor {tensor.name} in {tensor.graph.label} is accessed from {self.label}.")
                raise ValueError(f"{tensor!r} must be from the same graph as the function '{self.name}' is called in, or from one around it.")
            # What a reference refers to is passed: functions cannot assign to it.
            self._core.capture(self._thread.here.scope, tensor.graph._level, tensor._key, tensor.graph._core, name)
            self._note_captures()
            found = self._captures[id(tensor)]
        return found[1]

    def _around(self) -> dict[int, Graph]:
        """Returns this graph and those around it, by their levels."""
        found: dict[int, Graph] = {}
        graph: Graph | None = self
        while graph is not None:
            found[graph._level] = graph
            graph = getattr(graph, "outer_graph", None)
        return found

    def _note_captures(self) -> None:
        """Adds parameters for what the core has captured since the last time."""
        new = self._core.captures(len(self._captures))
        graphs = self._around() if new else {}
        for level, outside, inside in new:
            tensor = graphs[level]._tensor(outside)
            self._frames[inside[0]] = self._thread.here.frames or user_frames(2)
            self._captures[id(tensor)] = tensor, self._tensor(inside)
            self.inputs.append(self._captures[id(tensor)][1])

    @contextlib.contextmanager
    def variables_outside(self, use_resource: bool = False):
        """Makes `get_variable` make variables in the outermost graph, with the variable scope of the graph around this one; resource variables
        unless told otherwise if `use_resource` is true."""
        outermost = self.outer_graph
        while outermost.building_function:
            outermost = outermost.outer_graph
        with self.outer_graph.as_default():
            self._thread.here.variable_scopes = variable_scopes._scopes()

        def getter(getter, *args, **kwargs):
            with outermost.as_default(), outermost.control_dependencies(None), outermost.name_scope(None):
                return getter(*args, **kwargs)

        with variable_scopes.variable_scope(variable_scopes.get_variable_scope(), custom_getter=getter, auxiliary_name_scope=False) as scope:
            if use_resource:
                scope.set_use_resource(True)
            yield

    def control_dependencies(self, control_inputs) -> contextlib.AbstractContextManager[None]:
        """Like in other graphs, but operations outside are waited for by the call."""
        if control_inputs is not None:
            operations = [self._controlling(c) for c in control_inputs]
            self.control_captures += [op for op in operations if op.graph is not self]
            control_inputs = [op for op in operations if op.graph is self]
        return super().control_dependencies(control_inputs)

    def _controlling(self, element) -> Operation:
        if hasattr(element, "_handle"):  # a variable is of the graph around, what has changed it may be of this one
            element = element.op
        graph = getattr(element, "graph", self)
        return super()._controlling(element) if graph is self else graph._controlling(element)

    def is_stateful(self) -> bool:
        """Returns true if an operation in it has effects or state."""
        for op in self.get_operations():
            if op.type != "Placeholder" and signature(op.type, self).is_stateful:
                return True
        return False


class BodyGraph(FuncGraph):
    """The body of a function that is being differentiated, for gradients that functions of Python make.

    Args:
        core: its nodes.
        function: the function's name.
        outer: the graph that calls it.
    """

    def __init__(self, core, function: str, outer: Graph):
        super().__init__(function, outer)
        self._core = core
        self._source = _find(outer, function.partition("_forward_")[0])

    def capture(self, tensor: Tensor, name: str | None = None) -> Tensor:
        """Returns the body's own tensor for one of the graph that the function was traced in, or that this graph captured.

        Raises:
            ValueError: for another one.
        """
        if tensor.graph is self:
            return tensor
        if self._source is not None:
            traced = self._source.graph
            inside = traced._captures.get(id(tensor), (None, tensor))[1]
            if inside.graph is traced:
                return self._find(self._source.names[inside.op.name])._outputs[inside.value_index]
        raise ValueError(f"{tensor!r} is not available where function '{self.name}' is differentiated: pass it to the function as an argument.")


class CopyGraph(FuncGraph):
    """A copy of a graph that is being differentiated from the body of a function, for gradients that functions of Python make.

    Args:
        core: its nodes.
        graph: the graph.
    """

    def __init__(self, core, graph: Graph):
        super().__init__("copy", graph)
        self._core = core

    def capture(self, tensor: Tensor, name: str | None = None) -> Tensor:
        """Returns the copy of a tensor that the graph has or has captured.

        Raises:
            ValueError: for another one.
        """
        if tensor.graph is self:
            return tensor
        source = self.outer_graph
        inside = getattr(source, "_captures", {}).get(id(tensor), (None, tensor))[1]
        if inside.graph is source:
            return self._tensor(inside._key)
        raise ValueError(f"{tensor!r} is not available where its graph is differentiated from the body of a function: capture it there as well.")


def _find(graph: Graph, name: str) -> Function | None:
    """Returns the function of that name that a graph calls, or that one of those calls."""
    todo = [graph]
    while isinstance(todo[-1], FuncGraph):
        todo.append(todo[-1].outer_graph)
    functions = [f for g in todo for f in g._functions.values()]
    seen = set()
    while functions:
        function = functions.pop()
        if function.name == name:
            return function
        if function.name not in seen:
            seen.add(function.name)
            functions.extend(getattr(function, "nested", {}).values())
    return None


def unique_function_name(scope: str, name: str) -> str:
    """A name for a function that belongs to a name scope: ``cond_true_12``."""
    return f"{scope}{name}_{next(_numbers)}".replace("/", "_")


def trace(graph: FuncGraph, function: Callable, parameters: Sequence, op_return_value: Tensor | None = None) -> FuncGraph:
    """Builds a function's body by calling `function`.

    Args:
        graph: the body.
        function: called with `parameters`, structures of which are arguments as they are; returns a structure of tensors, operations and None.
        parameters: its arguments.
        op_return_value: what operations that it gives are returned as, a tensor outside.

    Raises:
        TypeError: if it gives something else.
    """
    def convert(value):
        if value is None:
            return None
        if isinstance(value, Operation) and op_return_value is not None:
            with graph.control_dependencies([value]):
                return call("Identity", None, op_return_value)
        if isinstance(value, Tensor) or hasattr(value, "_components"):
            return value  # captured when all are there, after the tensors of operations
        try:
            return convert_to_tensor(value)
        except (TypeError, ValueError):
            raise TypeError(
                "To be compatible with tf.function, Python functions must return zero or more Tensors or ExtensionTypes or None values; in "
                f"compilation of {function}, found return value of type {type(value).__name__}, which is not a Tensor or ExtensionType.") from None

    with graph.as_default(), graph.variables_outside(use_resource=True):
        result = nest.map_structure(convert, function(*parameters))
        graph.structured_outputs = result
        flat = nest.flatten(result, expand_composites=True)
        graph.outputs.extend(graph.capture(convert_to_tensor(v)) for v in flat if v is not None)
        if graph._has_program_order:
            graph.control_outputs = add_order(graph)
    return graph


class Function:
    """A function as libraries of graphs hold it.

    Args:
        definition: the `FunctionDef`.
        nested: functions that it calls.
        graph: the body that it is made of.
        names: for the names of the body's operations those in the definition.
    """

    def __init__(self, definition, nested: dict[str, Function], graph: FuncGraph | None = None, names: dict[str, str] | None = None):
        self.definition, self.nested, self.graph, self.names = definition, nested, graph, names or {}
        self.name: str = definition.signature.name

    def add_to_graph(self, graph: Graph) -> None:
        """Adds it, and what it calls, to a graph's library; nothing happens if that has it."""
        if graph._functions.get(self.name) is self:
            return
        for function in self.nested.values():
            function.add_to_graph(graph)
        graph._functions[self.name] = self
        graph._core.add_function(self.definition.SerializeToString())


def to_function(graph: FuncGraph, name: str | None = None, out_names: Sequence[str] | None = None, attrs=None) -> Function:
    """Returns the function whose body a graph is.

    Args:
        graph: the body, with its inputs and outputs.
        name: its name, the graph's name if it is None.
        out_names: what to call what it returns.
        attrs: attributes of the function, ``{name: AttrValue}``.
    """
    definition = protos.get("FunctionDef")()
    signature = definition.signature
    signature.name = name or graph.name
    names = _Names()
    out_args = [names.argument(n) for n in (out_names or [t.op.name for t in graph.outputs])]
    sources: dict[tuple[str, int], str] = {}
    for i, parameter in enumerate(graph.inputs):
        arg = names.argument(parameter.op.name)
        signature.input_arg.add(name=arg, type=parameter.dtype.as_datatype_enum)
        sources[parameter.op.name, 0] = arg
        definition.arg_attr[i].ParseFromString(graph._core.arg_attrs(*parameter._key))
    parameters = {t.op.name for t in graph.inputs}
    body = graph.as_graph_def()
    nodes = [n for n in body.node if n.name not in parameters]
    renamed = {n.name: names.node(n.name) for n in nodes}
    for node, op in zip(nodes, (graph.get_operation_by_name(n.name) for n in nodes)):
        for slot, place in enumerate(_output_places(op)):
            sources[node.name, slot] = f"{renamed[node.name]}:{place}"
    for node in nodes:
        made = definition.node_def.add()
        made.CopyFrom(node)
        made.name = renamed[node.name]
        del made.input[:]
        for source in node.input:
            if source.startswith("^"):
                if source[1:] not in parameters:
                    made.input.append("^" + renamed[source[1:]])
                continue
            producer, _, slot = source.partition(":")
            made.input.append(sources[producer, int(slot or 0)])
        _rename_colocation(made, renamed)
    for arg, tensor in zip(out_args, graph.outputs):
        signature.output_arg.add(name=arg, type=tensor.dtype.base_dtype.as_datatype_enum)
        definition.ret[arg] = sources[tensor.op.name, tensor.value_index]
    for op in graph.control_outputs:
        definition.control_ret[renamed[op.name]] = renamed[op.name]
        signature.control_output.append(renamed[op.name])
    if graph.is_stateful():
        signature.is_stateful = True
    for attr, value in (attrs or {}).items():
        definition.attr[attr].CopyFrom(value)
    nested = dict(graph._functions)
    for made in graph._core.function_names():  # by gradients
        if made not in nested:
            nested[made] = Function(protos.get("FunctionDef").FromString(graph._core.function_def(made)), {})
    renamed.update((t.op.name, sources[t.op.name, 0]) for t in graph.inputs)
    return Function(definition, nested, graph, renamed)


def _rename_colocation(node, renamed: dict[str, str]) -> None:
    """Renames the groups of nodes of the function. Those of nodes outside stay: they hold where the function is inlined."""
    if "_class" not in node.attr:
        return
    groups = [b"loc:@" + renamed.get(g[5:].decode(), g[5:].decode()).encode() if g.startswith(b"loc:@") else g for g in node.attr["_class"].list.s]
    node.attr["_class"].list.s[:] = groups


def _output_places(op: Operation) -> list[str]:
    """For each output of an operation the name of what it is of and its place there, as inputs in functions name it: ``z:0``."""
    if len(op._outputs) == 1:
        args = [a.name for a in op.op_def.output_arg if not a.number_attr or op.get_attr(a.number_attr)]
        return [f"{next(a for a in args)}:0"] if len(args) == 1 else _places(op)
    return _places(op) if op._outputs else []


def _places(op: Operation) -> list[str]:
    found = []
    for arg in op.op_def.output_arg:
        count = 1
        if arg.number_attr:
            count = op.get_attr(arg.number_attr)
        elif arg.type_list_attr:
            count = len(op.get_attr(arg.type_list_attr))
        found.extend(f"{arg.name}:{i}" for i in range(count))
    return found


class _Names:
    """The names in a function: arguments have small letters, digits and underscores; nothing has two."""

    def __init__(self):
        self._used: dict[str, int] = {}

    def argument(self, name: str) -> str:
        return self.node(re.sub(r"[^a-z0-9]", "_", re.sub(r"^[^A-Za-z]+", "", name).lower()) or "unknown")

    def node(self, name: str) -> str:
        if name not in self._used:
            self._used[name] = 0
            return name
        while True:
            candidate = f"{name}_{self._used[name]}"
            self._used[name] += 1
            if candidate not in self._used:
                self._used[candidate] = 0
                return candidate


__all__ = ["FuncGraph", "Function", "to_function", "trace", "unique_function_name"]
