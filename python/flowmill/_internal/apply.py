"""Adding one operation: arguments become tensors, types are checked, names are given. What every function that adds to a graph goes through."""

from __future__ import annotations

import collections
from typing import Any, NamedTuple

from flowmill import _core
from flowmill._internal import protos
from flowmill._internal.convert import array_of, convert_to_tensor, is_plain
from flowmill._internal.graph import Graph, get_default_graph
from flowmill._internal.graph_stack import defaults
from flowmill._internal.tensor import Operation, Tensor
from flowmill._internal.tensor_shape import TensorShape
from flowmill.dtypes import DType, as_dtype

_REF = 100
# Of an attribute that must be given and whose None is a value: an unknown shape.
_ANY_SHAPE = ("shape", False)
# Of an attribute that the op does not declare.
_UNKNOWN = (None, False)


class Argument(NamedTuple):
    """An input of an op: its name, the attribute of its type or the number of its fixed type, the attribute of its length, and what it is."""

    name: str
    type_attr: str | None
    fixed: int | None
    number_attr: str | None
    is_list: bool
    is_ref: bool


class Signature:
    """The inputs, outputs and attributes of an op.

    Attributes:
        inputs: an :class:`Argument` for each input, in order.
        attrs: ``{name: (kind, has_default)}`` of the attributes.
        type_defaults: the numbers of the types that are attributes' defaults.
        allowed: the numbers of the types that attributes may have, for those that do not take all.
        outputs: ``(name, is_list)`` of the outputs.
        inferred: the attributes that follow from the inputs.
        is_stateful: whether equal nodes are not the same.
        num_lists: how many inputs are lists.
        takes_refs: whether an input is a reference, and none is a list.
    """

    __slots__ = ("name", "inputs", "attrs", "type_defaults", "allowed", "outputs", "inferred", "is_stateful", "num_lists", "takes_refs")

    def __init__(self, name: str, found: tuple):
        inputs, attrs, outputs, self.is_stateful = found
        self.name = name
        self.inputs = [Argument(*i) for i in inputs]
        self.attrs = {attr: (kind, has_default) for attr, kind, has_default, _, _ in attrs}
        self.type_defaults = {attr: default for attr, _, _, default, _ in attrs if default is not None}
        self.allowed = {attr: tuple(allowed) for attr, _, _, _, allowed in attrs if allowed}
        self.outputs = outputs
        self.num_lists = sum(i.is_list for i in self.inputs)
        self.takes_refs = any(i.is_ref for i in self.inputs) and not self.num_lists
        self.inferred = {a for i in self.inputs for a in (i.type_attr, i.number_attr) if a is not None}

    def check_type(self, attr: str, number: int, arg: str | None = None) -> None:
        """Checks that an attribute may be a type; `arg` is the input that has the type.

        Raises:
            TypeError: if it may not.
        """
        allowed = self.allowed.get(attr)
        if allowed is not None and number not in allowed:
            names = ", ".join(as_dtype(n).name for n in allowed)
            raise TypeError(f"Value passed to parameter '{arg or attr}' has DataType {as_dtype(number).name} not in list of allowed values: {names}")


_signatures: dict[str, Signature] = {}


def signature(op: str, graph: Graph | None = None) -> Signature:
    """Returns the signature of an op of the catalogue, or of a function of `graph`.

    Raises:
        ValueError: if there is no such op.
    """
    known = _signatures.get(op)
    if known is None:
        found = _core.op_signature(op)
        if found is not None:
            known = _signatures[op] = Signature(op, found)
        else:
            found = None if graph is None else graph._core.signature(op)
            if found is None:
                raise ValueError(f"Op type not registered '{op}'")
            known = Signature(op, found)
    return known


def graph_of(values) -> Graph:
    """The graph to add to: that of the tensors and operations among `values`, the default one if there are none.

    Raises:
        ValueError: if they are of several graphs.
    """
    default = get_default_graph()
    if default.building_function or _core.are_plain(values):
        return default
    found = None
    for value in values:
        kind = type(value)
        if kind is Tensor:
            graph = value._graph
        elif kind in _WITHOUT_GRAPH:
            continue
        elif kind is list or kind is tuple:
            graph = None
            for element in value:
                if isinstance(element, Tensor):
                    graph = element._graph
                    break
        else:
            graph = getattr(value, "graph", None)
        if graph is not found and isinstance(graph, Graph):
            if found is not None:
                raise ValueError(f"{value!r} must be from the same graph as the other inputs.")
            found = graph
    return found or default


_WITHOUT_GRAPH = frozenset((int, float, bool, str, bytes, type(None)))


# What the core calls a tensor, or the place of a constant among the new nodes.
_Input = tuple[int, int] | int


class _Call:
    """The arguments of one operation on their way to become inputs."""

    __slots__ = ("graph", "signature", "name", "whole", "inputs", "constants", "added", "types", "attrs")

    def __init__(self, graph: Graph, of: Signature, name: str | None):
        self.graph, self.signature = graph, of
        self.attrs: dict[str, Any] = {}
        self.name = name or of.name
        # The operation's whole name, once something needs to be named after it.
        self.whole: str | None = None
        self.inputs: list[_Input] = []
        # Constants that are added together with the operation, and what the core calls those that had to be added before.
        self.constants: list[tuple] = []
        self.added: list[tuple[int, int]] | None = None
        # Types by attribute, as far as they are known, and the argument that said so.
        self.types: dict[str, tuple[int, str | None]] = {}

    def scope(self):
        """Returns the scope of what is made for the operation."""
        graph = self.graph
        scope = graph._thread.here.scope
        if self.whole is None:
            self.whole = self.name[:-1] if self.name.endswith("/") else graph._core.unique_name(scope, self.name, True)
        return scope.named(self.whole)

    def convert(self, value, dtype: int | None, arg: str, preferred: int | None = None) -> tuple[_Input, int]:
        """Returns a value that is no tensor of the graph as an input, and the number of its type."""
        of_type, hint = None if dtype is None else as_dtype(dtype), None if preferred is None else as_dtype(preferred)
        if is_plain(value) and self.added is None and not self.signature.takes_refs:
            return self._constant(value, of_type, arg, hint)
        graph = self.graph
        here = graph._thread.here
        outer, here.scope = here.scope, self.scope()
        defaults.graphs.append(graph)
        try:
            if self.added is None:  # operations are added in the order of the arguments
                self.added = [graph._add_constant(*constant[1:])._key for constant in self.constants]
            found = convert_to_tensor(value, of_type, arg, hint)
        finally:
            defaults.graphs.pop()
            here.scope = outer
        return found._key, found._type

    def _constant(self, value, dtype: DType | None, arg: str, hint: DType | None) -> tuple[int, int]:
        found = None
        if dtype is None and hint is not None:
            try:
                found = array_of(value, hint)
            except (TypeError, ValueError):
                pass
        array, number = found or array_of(value, dtype)
        self.constants.append(("Const", arg, array, number))
        return len(self.constants) - 1, number

    def input(self, arg: Argument, value) -> tuple[_Input, int]:
        """Returns a value as the input for an argument, and the number of its type."""
        signature, wanted = self.signature, arg.fixed
        attr = arg.type_attr
        if attr is not None:
            known = self.types.get(attr)
            wanted = None if known is None else known[0]
        if type(value) is Tensor and value._graph is self.graph:
            found, number = value._key, value._type
        elif arg.is_ref:
            stands_for = getattr(value, "_ref", None)
            ref = stands_for() if callable(stands_for) else value
            if not isinstance(ref, Tensor):
                raise TypeError(f"'{signature.name}' Op requires that input '{arg.name}' be a mutable tensor (e.g.: a tf.Variable)")
            if ref._graph is not self.graph:
                what = "gets the value of" if self.graph.building_function else "is not the graph of"
                raise TypeError(f"'{signature.name}' Op requires that input '{arg.name}' be a mutable tensor (e.g.: a tf.Variable) of the graph that it is added to, "
                                f"which {what} '{ref.name}'")
            found, number = ref._key, ref._type
        else:
            if isinstance(value, Tensor) and value.graph is not self.graph and not self.graph.building_function:
                raise ValueError(f"{value!r} must be from the same graph as the graph that the operation '{self.name}' is added to.")
            preferred = signature.type_defaults.get(attr) if wanted is None and attr is not None else None
            found, number = self._converted(arg, value, wanted, preferred)
        if arg.is_ref and number < _REF:
            raise TypeError(f"'{signature.name}' Op requires that input '{arg.name}' be a mutable tensor (e.g.: a tf.Variable)")
        base = number - _REF if number > _REF else number
        if wanted is None:
            if attr is not None:
                self.know(attr, base, arg.name)
        elif base != wanted:
            self._mismatch(arg, base, wanted)
        return found, base

    def _converted(self, arg: Argument, value, wanted: int | None, preferred: int | None) -> tuple[_Input, int]:
        try:
            if preferred is not None and not arg.is_list and arg.type_attr in self.signature.allowed:
                return self._of_allowed_type(arg, value, preferred)
            return self.convert(value, wanted, arg.name, preferred)
        except (TypeError, ValueError) as error:
            if wanted is None or isinstance(value, Tensor):
                if wanted is not None and isinstance(value, Tensor) and value._type % _REF != wanted:
                    self._mismatch(arg, value._type % _REF, wanted)
                raise
            try:
                _, natural = self.convert(value, None, arg.name)
            except (TypeError, ValueError):
                raise error from None
            if natural % _REF != wanted:
                self._mismatch(arg, natural % _REF, wanted, error)
            raise

    def _of_allowed_type(self, arg: Argument, value, preferred: int) -> tuple[_Input, int]:
        """Returns the input for a value whose own type may do: otherwise it is converted once more, to the attribute's default. The first constant
        stays in the graph, as in TensorFlow, and has the name."""
        try:
            found = self.convert(value, None, arg.name)
        except TypeError:  # such as a list of Dimensions, which has no type of its own
            found = None
        if found is not None and found[1] % _REF in self.signature.allowed[arg.type_attr]:
            return found
        return self.convert(value, None, arg.name, preferred)

    def _mismatch(self, arg: Argument, found: int, wanted: int | None, cause=None):
        of = f"Input '{arg.name}' of '{self.signature.name}' Op has type {as_dtype(found).name} that does not match"
        known = self.types.get(arg.type_attr) if arg.type_attr is not None else None
        if known is not None and known[1] is not None:
            raise TypeError(f"{of} type {as_dtype(known[0]).name} of argument '{known[1]}'.") from cause
        raise TypeError(f"{of} expected type of {as_dtype(wanted).name}.") from cause

    def know(self, attr: str, number: int, arg: str | None) -> None:
        """Notes the type that an attribute has."""
        self.signature.check_type(attr, number, arg)
        self.types[attr] = number, arg

    def list_of_inputs(self, arg: Argument, values) -> list[_Input]:
        """Returns a list as the inputs for an argument that takes one."""
        if not isinstance(values, (list, tuple)):
            raise TypeError(f"Expected list for '{arg.name}' argument to '{self.signature.name}' Op, not {values!r}.")
        if arg.number_attr is None:  # tensors of any types
            return self._inputs_of_types(arg, values)
        stated = self.attrs.get(arg.number_attr)
        if stated is not None and stated != len(values):
            raise ValueError(f"List argument '{arg.name}' to '{self.signature.name}' Op with length {len(values)} must have length {stated}.")
        if sum(i.number_attr == arg.number_attr for i in self.signature.inputs) > 1:
            self.attrs[arg.number_attr] = len(values)
        if arg.type_attr is not None and arg.type_attr not in self.types:
            # One tensor among the values says the type of all.
            first = next((v for v in values if hasattr(v, "dtype") and hasattr(v, "op")), None)
            if first is not None:
                self.know(arg.type_attr, as_dtype(first.dtype).base_dtype.as_datatype_enum, None)
        try:
            return [self.input(arg if arg.is_ref else arg._replace(name=f"{arg.name}_{i}"), v)[0] for i, v in enumerate(values)]
        except TypeError as error:
            types = [as_dtype(v._type).name if isinstance(v, Tensor) else type(v).__name__ for v in values]
            raise TypeError(
                f"Tensors in list passed to '{arg.name}' of '{self.signature.name}' Op have types [{', '.join(types)}] that don't all match.") from error

    def _inputs_of_types(self, arg: Argument, values: list) -> list[_Input]:
        stated = self.attrs.get(arg.type_attr)
        if stated is not None and len(stated) != len(values):
            raise ValueError(f"List argument '{arg.name}' to '{self.signature.name}' Op with length {len(values)} must have length {len(stated)}.")
        found = []
        for i, value in enumerate(values):
            wanted = None if stated is None else as_dtype(stated[i]).base_dtype.as_datatype_enum
            found.append(self.input(Argument(f"{arg.name}_{i}", None, wanted, None, False, False), value))
        if arg.type_attr not in self.attrs:
            self.attrs[arg.type_attr] = [number for _, number in found]
        return [i for i, _ in found]

    def state(self, attr: str, value) -> None:
        """Notes an attribute that the caller gives."""
        kind = self.signature.attrs.get(attr, _UNKNOWN)
        if value is None and kind != _ANY_SHAPE:
            if not kind[1] and kind[0] and attr not in self.signature.inferred:
                raise TypeError(f"Expected {kind[0]} for argument '{attr}' not None.")
            return
        if kind[0] == "type":
            value = as_dtype(value).base_dtype._number
            self.know(attr, value, None)
        elif kind is not _UNKNOWN:
            value = _plain(kind[0], value, attr)
        self.attrs[attr] = value

    def note_lists(self, args) -> None:
        """Notes what the inputs do not say if some of them are lists."""
        signature, attrs = self.signature, self.attrs
        for attr, number in signature.type_defaults.items():
            if attr in signature.inferred and attr not in self.types and attr not in attrs:
                attrs[attr] = number  # an empty list says nothing of its type
        if signature.num_lists > 1:  # nothing says where one list ends and the next begins
            for arg, value in zip(signature.inputs, args):
                if arg.number_attr is not None:
                    attrs.setdefault(arg.number_attr, len(value))
            for attr, (number, _) in self.types.items():
                attrs.setdefault(attr, number)


def apply_op(op: str, name: str | None, args=(), attrs: dict[str, Any] | None = None, graph: Graph | None = None) -> Operation:
    """Adds an operation of an op of the catalogue.

    Args:
        op: the op, such as ``"MatMul"``.
        name: its name, the op's name if it is None; with a slash at its end the whole name.
        args: for each input of the op a tensor or a value that can be converted to one; a list of those for an input that is a list.
        attrs: attributes; those that can be inferred and those with defaults may be left out or None.
        graph: where to add it, the graph of the arguments if it is None.

    Raises:
        TypeError: if an argument's type does not fit, in TensorFlow's words.
        ValueError: for an unknown op, for a shape that does not fit, for arguments of several graphs.
    """
    if graph is None:
        graph = graph_of(args)
    graph._check_not_finalized()
    found = signature(op, graph)
    call = _Call(graph, found, name)
    if attrs:
        for attr, value in attrs.items():
            call.state(attr, value)
    inputs = call.inputs
    for arg, value in zip(found.inputs, args):
        if arg.is_list:
            inputs += call.list_of_inputs(arg, value)
        else:
            inputs.append(call.input(arg, value)[0])
    if found.num_lists:
        call.note_lists(args)
    whole = call.name if call.whole is None else call.whole + "/"
    if call.added:
        inputs = [call.added[i] if isinstance(i, int) else i for i in inputs]
    elif call.constants:
        return graph._add_all(whole, (*call.constants, (op, "", inputs, call.attrs)))
    if found.takes_refs:
        # What changes a variable has its device.
        refs = [key[0] for arg, key in zip(found.inputs, inputs) if arg.is_ref]
        with graph._colocated_with_refs(refs):
            return graph._add(op, whole, inputs, call.attrs)
    return graph._add(op, whole, inputs, call.attrs)


def _plain(kind: str, value, attr: str):
    """Returns an attribute's value as the core takes it: numbers of types, lists of sizes, serialised messages."""
    if kind in _AS_THEY_ARE:
        return value
    if kind == "type":
        return as_dtype(value).base_dtype._number
    if kind == "shape":
        return _sizes(value, attr)
    if kind in ("tensor", "func"):
        return _message(kind, value)
    if not isinstance(value, (list, tuple)):
        raise TypeError(f"Expected list for '{attr}' argument, not {value!r}.")
    of = kind[5:-1]  # "list(of)"
    return list(value) if of in _AS_THEY_ARE else [_plain(of, v, attr) for v in value]


_AS_THEY_ARE = frozenset(("int", "float", "bool", "string"))


def _sizes(value, attr: str) -> list[int] | None:
    if hasattr(value, "unknown_rank"):  # a TensorShapeProto
        return None if value.unknown_rank else [d.size for d in value.dim]
    try:
        shape = value if isinstance(value, TensorShape) else TensorShape(value)
    except (TypeError, ValueError) as error:
        raise type(error)(f"Error converting {attr} to a TensorShape: {error}.") from None
    if shape._dims is None:
        return None
    if bool in map(type, shape._dims):
        raise TypeError(f"Error converting {value} (arg name = {attr}) to a TensorShape: Field tensorflow.TensorShapeProto.Dim.size: "
                        "Expected an int, got a boolean.")
    return [-1 if d is None else d for d in shape._dims]


def _message(kind: str, value):
    if hasattr(value, "SerializeToString"):
        return value.SerializeToString()
    if kind == "tensor" or isinstance(value, (str, bytes)):
        return value
    name = getattr(value, "name", None)  # a function
    if not isinstance(name, str):
        raise TypeError(f"Expected func, got {type(value).__name__}.")
    value.add_to_graph(get_default_graph())
    return protos.get("NameAttrList")(name=name).SerializeToString()


def outputs_of(operation: Operation):
    """Returns the value of an op's function: the operation itself for an op without outputs, a tensor, a list, or a named tuple of tensors."""
    return _outputs_of(operation, signature(operation.type, operation.graph))


def _outputs_of(operation: Operation, of: Signature):
    outputs, tensors = of.outputs, operation._outputs
    if not tensors:
        return operation
    if len(outputs) == 1:
        return list(tensors) if outputs[0][1] else tensors[0]
    lists = sum(is_list for _, is_list in outputs)
    if lists > 1:
        sizes = [_size_of(operation, output) for output in operation.op_def.output_arg]
    else:  # what the other outputs leave
        sizes = [len(tensors) - len(outputs) + 1 if is_list else 1 for _, is_list in outputs]
    return _named_outputs(of.name, outputs, tensors, sizes)


def _size_of(operation: Operation, output) -> int:
    """Returns the number of tensors of an output, an `ArgDef`."""
    if output.number_attr:
        return operation.get_attr(output.number_attr)
    return len(operation.get_attr(output.type_list_attr)) if output.type_list_attr else 1


def _named_outputs(op: str, outputs, tensors: list[Tensor], sizes: list[int]):
    made, at = [], 0
    for (_, is_list), size in zip(outputs, sizes):
        made.append(list(tensors[at:at + size]) if is_list else tensors[at])
        at += size
    kind = _tuples.get(op)
    if kind is None:
        kind = _tuples[op] = collections.namedtuple(op.lstrip("_"), [name for name, _ in outputs], rename=True)
    return kind(*made)


_tuples: dict[str, type] = {}


def call(op: str, name: str | None, *args, **attrs):
    """Like :func:`apply_op`, but returns the value of the op's function."""
    made = apply_op(op, name, args, attrs)
    return _outputs_of(made, signature(op, made._graph))


class op_scope:  # noqa: N801 - used like a function
    """The scope of what a function makes, in the graph of `values`: called `name`, or `default` if that is None. Returns the name with a slash at
    its end, which names an operation when it is given as its name."""

    __slots__ = ("_name", "_default", "_values", "_here", "_outer")

    def __init__(self, name: str | None, default: str, *values):
        self._name, self._default, self._values = name, default, values

    def __enter__(self) -> str:
        graph = graph_of(self._values)
        here = self._here = graph._thread.here
        scope = self._outer = here.scope
        here.scope, whole = graph._named(scope, self._default if self._name is None else self._name)
        defaults.graphs.append(graph)
        return whole and whole + "/"

    def __exit__(self, *raised) -> None:
        defaults.graphs.pop()
        self._here.scope = self._outer


def dims(tensor: Tensor) -> list[int] | None:
    """Returns the static shape, with -1 for sizes that are not known; None for an unknown rank."""
    return tensor._graph._core.shape(*tensor._key)


__all__ = ["Argument", "Signature", "apply_op", "call", "dims", "graph_of", "op_scope", "outputs_of", "signature", "DType"]
