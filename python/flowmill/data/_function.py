"""Functions that datasets call: Python functions of elements, as graph functions of tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flowmill._internal import protos
from flowmill._internal.apply import call, signature
from flowmill._internal.func_graph import FuncGraph, to_function, unique_function_name
from flowmill._internal.graph import get_default_graph
from flowmill._internal.tensor import Tensor
from flowmill._internal.variables import Variable
from flowmill.data import _nest, _structure

# Parts of the names of stateful ops whose effects nobody sees: those of random numbers, and those that make datasets and handles.
_WITHOUT_EFFECTS = ("Random", "Multinomial", "TruncatedNormal", "Dataset", "Handle", "HashTable", "Placeholder")


class DatasetFunction:
    """A graph function of the tensors that represent an element.

    Args:
        func: called once with the components of an element, unpacked if it is a tuple; returns an element.
        transformation: the function of the API that takes it, for names and messages.
        input_spec: the spec of the element that it takes.
        add_to_graph: whether the default graph's library gets it.

    Attributes:
        output_spec: the spec of what it returns.
        captured: the tensors outside that it takes.

    Raises:
        TypeError: if `func` returns something that is no element.
    """

    def __init__(self, func: Callable, transformation: str, input_spec, add_to_graph: bool = True):
        self.output_spec: Any = None
        label = f"{transformation.replace('.', '_')[:-2]}_{_name_of(func)}"
        body = FuncGraph(unique_function_name("__inference_", label), get_default_graph())
        for i, spec in enumerate(_structure.tensor_specs(input_spec)):
            body.inputs.append(body.placeholder(spec.dtype, spec.shape, f"args_{i}"))
        with body.as_default(), body.variables_outside(use_resource=True):
            element = _structure.decode(input_spec, list(body.inputs))
            result = func(*element) if type(element) is tuple else func(element)
            result = _nest.map_structure(lambda v: v._as_tensor() if isinstance(v, Variable) else v, result)
            result = tuple(result) if isinstance(result, list) else result
            try:
                self.output_spec = _structure.spec_of(result)
            except (TypeError, ValueError):
                raise TypeError(f"Unsupported return value from function passed to {transformation}: {result}.") from None
            outputs = [body.capture(tensor) for tensor in _structure.encode(self.output_spec, result)]
            body.outputs.extend(_after_effects(body, outputs))
        message = protos.get("AttrValue")
        self._attrs = {"_tf_data_function": message(b=True)}
        self._function = to_function(body, attrs={**self._attrs, "_construction_context": message(s=b"kEagerRuntime")})
        self.captured: list[Tensor] = body.external_captures
        if add_to_graph:
            self.add_to_graph()

    def add_to_graph(self) -> None:
        """Adds the function to the default graph's library."""
        self._function.add_to_graph(get_default_graph())

    @property
    def attr(self) -> bytes:
        """The attribute of an op that calls it."""
        found = protos.get("NameAttrList")(name=self._function.name)
        for name, value in self._attrs.items():
            found.attr[name].CopyFrom(value)
        return found.SerializeToString()


def _name_of(func: Callable) -> str:
    """Returns the name of a function with what names of graph functions may hold."""
    name = getattr(func, "__name__", None) or getattr(getattr(func, "func", None), "__name__", None) or type(func).__name__
    return "".join(c for c in name if c not in "<>\\' ")


def _after_effects(body: FuncGraph, outputs: list[Tensor]) -> list[Tensor]:
    """Returns the outputs of a function as they are when all of its effects are done, which keep their order."""
    last: dict[Any, Any] = {}
    effects = []
    for op in body.get_operations():
        if not signature(op.type, body).is_stateful or any(part in op.type for part in _WITHOUT_EFFECTS):
            continue
        # Effects on different resources do not wait for each other; those outside of resources share one order.
        for key in [id(t) for t in op.inputs if t.dtype.name == "resource"] or [None]:
            if key in last:
                op._add_control_input(last[key])
            last[key] = op
        effects.append(op)
    if not effects:
        return [call("Identity", None, tensor) for tensor in outputs]
    with body.control_dependencies(effects):
        done = call("NoOp", None)
    with body.control_dependencies([done]):
        return [call("Identity", None, tensor) for tensor in outputs]
