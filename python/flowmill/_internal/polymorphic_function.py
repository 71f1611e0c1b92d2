"""Functions of Python as graph functions, one for each kind of arguments: `function`, `wrap_function`."""

from __future__ import annotations

import functools
import inspect
import numpy as np
from typing import Any

from flowmill import nest
from flowmill._internal.apply import apply_op
from flowmill._internal.convert import convert_to_tensor
from flowmill._internal.func_graph import FuncGraph, to_function, trace, unique_function_name
from flowmill._internal.graph import get_default_graph
from flowmill._internal.graph_keys import GraphKeys
from flowmill._internal.program_order import note_read_only_inputs
from flowmill._internal.tensor import Tensor
from flowmill._internal.tensor_shape import TensorShape
from flowmill._internal.tensor_spec import TensorSpec
from flowmill._internal.composite_specs import RaggedTensorSpec
from flowmill._internal.type_spec import TypeSpec
from flowmill.ragged._tensor import to_ragged

__all__ = ["ConcreteFunction", "PolymorphicFunction", "function", "wrap_function"]


class ConcreteFunction:
    """A graph function for arguments of certain types and shapes. Calling it adds one operation.

    Args:
        body: the traced graph.
        structured_signature: the arguments, with specs for tensors.
    """

    def __init__(self, body: FuncGraph, structured_signature):
        self.graph = body
        self.structured_input_signature = structured_signature
        self._function = to_function(body)
        self._outer = get_default_graph()

    @property
    def name(self) -> str:
        """The function's name in graphs."""
        return self._function.name

    @property
    def function_def(self) -> Any:
        """It as a `FunctionDef`."""
        return self._function.definition

    @property
    def inputs(self) -> list[Tensor]:
        """The parameters, in the graph of the body; those for captured tensors last."""
        return self.graph.inputs

    @property
    def outputs(self) -> list[Tensor]:
        """The results, in the graph of the body."""
        return self.graph.outputs

    @property
    def captured_inputs(self) -> list[Tensor]:
        """The tensors around it that it takes."""
        return self.graph.external_captures

    @property
    def structured_outputs(self) -> Any:
        """The results, in the structure of the Python function."""
        return self.graph.structured_outputs

    @property
    def output_shapes(self) -> Any:
        """The static shapes of what it returns."""
        return nest.map_structure(lambda v: getattr(v, "shape", TensorShape(None)), self.structured_outputs)

    @property
    def output_dtypes(self) -> Any:
        """The types of what it returns."""
        return nest.map_structure(lambda v: getattr(v, "dtype", None), self.structured_outputs)

    @property
    def variables(self) -> tuple:
        """The resource variables that it takes from the graph around it."""
        captured = {id(t) for t in self.captured_inputs}
        known = (v for v in self._outer.get_collection(GraphKeys.GLOBAL_VARIABLES) if id(getattr(v, "handle", None)) in captured)
        return tuple(dict.fromkeys(known))

    @property
    def trainable_variables(self) -> tuple:
        """The variables of :attr:`variables` that optimizers change."""
        return tuple(v for v in self.variables if v.trainable)

    def add_to_graph(self, g=None) -> None:
        """Adds it to a graph's library, the default one's if none is given."""
        self._function.add_to_graph(get_default_graph() if g is None else g)

    def __call__(self, *args, **kwargs) -> Any:
        tensors = nest.flatten((args, kwargs), expand_composites=True)
        return self._called([convert_to_tensor(t) for t in tensors if t is not None])

    def _called(self, tensors: list[Tensor]):
        graph = get_default_graph()
        with graph.control_dependencies(self.graph.control_captures):
            stateful = self.graph.is_stateful()
            made = apply_op("StatefulPartitionedCall" if stateful else "PartitionedCall", None, [tensors + self.captured_inputs], {
                "f": self._function, "Tout": [t.dtype.base_dtype for t in self.outputs]}, graph=graph)
            if stateful:
                note_read_only_inputs(made, [self.graph])
        for given, inside in zip(made._outputs, self.outputs):
            given.set_shape(inside.shape)
        values = iter(made._outputs)
        structure = self.structured_outputs
        flat = [None if v is None else next(values) for v in nest.flatten(structure, expand_composites=True)]
        return made if not flat else nest.pack_sequence_as(structure, flat, expand_composites=True)


class PolymorphicFunction:
    """The object that :func:`function` returns: a graph function for each kind of arguments that it is called with.

    Tensors count by type and shape; everything else by value.
    """

    def __init__(self, python_function, input_signature=None, has_program_order: bool = True) -> None:
        self._has_program_order = has_program_order
        functools.update_wrapper(self, python_function)
        self.python_function = python_function
        self.input_signature = None if input_signature is None else tuple(input_signature)
        self._name = getattr(python_function, "__name__", "function")
        self._count = 0

    def __set_name__(self, owner, name):
        self._name = name

    def __get__(self, instance, owner=None):
        if instance is None:
            return self
        # A method is a function of its own for each object, which keeps it.
        bound = functools.partial(self.python_function, instance)
        bound.__name__ = self._name
        made = instance.__dict__[self._name] = PolymorphicFunction(bound, self.input_signature, self._has_program_order)
        return made

    def get_concrete_function(self, *args, **kwargs) -> ConcreteFunction:
        """Returns the graph function for arguments, in which specs replace tensors. Without arguments it is that of the input signature."""
        if not args and not kwargs and self.input_signature is not None:
            args = self.input_signature
        return self._concrete(*self._canonical(args, kwargs))[0]

    def __call__(self, *args, **kwargs) -> Any:
        args, kwargs = self._canonical(args, kwargs)
        concrete, tensors = self._concrete(args, kwargs)
        return concrete._called(tensors)

    def experimental_get_tracing_count(self) -> int:
        """Returns how often the Python function was traced."""
        return self._count

    def _canonical(self, args, kwargs):
        """Arguments in the order of the parameters, tensors where the signature says so."""
        try:
            bound = inspect.signature(self.python_function).bind(*args, **kwargs)
        except ValueError:  # a function that does not say what it takes
            return args, kwargs
        bound.apply_defaults()
        args, kwargs = bound.args, bound.kwargs
        if self.input_signature is not None:
            if len(args) != len(self.input_signature) or kwargs:
                raise TypeError(f"Structure of Python function inputs does not match input_signature: inputs ({args}), input_signature "
                                f"({self.input_signature})")
            args = tuple(nest.map_structure_up_to(spec, _as_specified, spec, arg) for spec, arg in zip(self.input_signature, args))
        return args, kwargs

    def _concrete(self, args, kwargs) -> tuple[ConcreteFunction, list[Tensor]]:
        whole = (list(args), dict(kwargs))
        leaves = nest.flatten(whole)
        stated = leaves if self.input_signature is None else nest.flatten([list(self.input_signature), {}])
        leaves = [_Argument(value, kind) for value, kind in zip(leaves, stated)]
        key = self, repr(nest.map_structure(lambda _: 0, whole)), tuple(leaf.key() for leaf in leaves)
        # The graph keeps what is traced for it.
        made = get_default_graph().__dict__.setdefault("_traced_functions", {})
        if key not in made:
            made[key] = self._traced(whole, leaves)
        return made[key], [tensor for leaf in leaves for tensor in leaf.tensors]

    def _traced(self, whole, leaves: list[_Argument]) -> ConcreteFunction:
        name = getattr(self.python_function, "__name__", "function").replace("<lambda>", "lambda")
        self._count += 1
        body = FuncGraph(unique_function_name("__inference_", name), get_default_graph(), has_program_order=self._has_program_order)
        parameters, count = [], 0
        for leaf in leaves:
            made = [body.placeholder(spec.dtype, spec.shape, spec.name or f"arg_{count + i}") for i, spec in enumerate(leaf.specs)]
            body.inputs += made
            count += len(made) or 1
            parameters.append((leaf, made))
        with body.as_default():
            args, kwargs = nest.pack_sequence_as(whole, [leaf.make(made) for leaf, made in parameters])
        trace(body, lambda: self.python_function(*args, **kwargs), ())
        if any(leaf.is_composite for leaf in leaves):
            return ConcreteFunction(body, [spec for leaf in leaves for spec in leaf.specs])
        return ConcreteFunction(body, nest.pack_sequence_as(nest.map_structure(lambda v: v, whole), [leaf.specs[0] if leaf.specs else leaf.value for leaf in leaves]))

    def __repr__(self):
        return f"<flowmill.function {getattr(self.python_function, '__name__', self.python_function)!r}>"


class _Argument:
    """An argument of a call: a tensor or an object made of tensors, which become parameters of the graph function, or any other value.

    Args:
        value: the argument, or a spec in its place.
        kind: the spec of the input signature; the value itself if there is none.
    """

    def __init__(self, value, kind) -> None:
        self.value = value
        spec = kind if isinstance(kind, TypeSpec) else None
        self.is_composite = spec is not None and not isinstance(spec, TensorSpec) or hasattr(value, "_components") and not isinstance(value, Tensor)
        if not self.is_composite:
            spec = spec if spec is not None else TensorSpec._of_value(value) if isinstance(value, (Tensor, np.ndarray)) else None
            self.specs = [] if spec is None else [TensorSpec(spec.shape, spec.dtype, spec.name)]
            self.tensors, self._make = ([value] if self.specs else []), lambda parts: parts[0] if parts else value
        elif spec is not None:
            self.specs = nest.flatten(spec._component_specs)
            self.tensors = [value] if isinstance(value, TypeSpec) else nest.flatten(spec._to_components(value))
            self._make = lambda parts: spec._from_components(nest.pack_sequence_as(spec._component_specs, parts))
        else:
            self.tensors = value._components()
            self.specs, self._make = [TensorSpec._of_value(tensor) for tensor in self.tensors], value._with_components

    def make(self, parts: list[Tensor]):
        """Returns the argument with parameters in the place of its tensors."""
        return self._make(parts)

    def key(self):
        """Returns what distinguishes arguments that need graph functions of their own."""
        if not self.specs:
            return _hashable(self.value)
        return type(self.value).__name__ if self.is_composite else "", tuple(
            (spec.dtype, None if spec.shape.rank is None else tuple(spec.shape.as_list())) for spec in self.specs)


def _as_specified(spec, value):
    if isinstance(value, TypeSpec):
        return value
    if not isinstance(spec, TensorSpec):
        value = to_ragged(value) if isinstance(spec, RaggedTensorSpec) else value
        if not spec.is_compatible_with(value):
            raise TypeError(f"Can not cast {value!r} to {spec!r}: the specs are not compatible.")
        return value
    try:
        tensor = convert_to_tensor(value, spec.dtype)
    except ValueError as error:
        raise TypeError(f"Can not cast {value!r} to {spec!r}: {error}") from None
    if not spec.shape.is_compatible_with(tensor.shape):
        raise TypeError(f"Can not cast {tensor!r} to {spec!r}: the shapes are not compatible.")
    return tensor


def _hashable(value):
    try:
        hash(value)
        return type(value), value
    except TypeError:
        return type(value), id(value)


def function(func=None, input_signature=None, autograph: bool = True, jit_compile=None, reduce_retracing: bool = False, experimental_implements=None,
             experimental_autograph_options=None, experimental_attributes=None, experimental_relax_shapes=None, experimental_compile=None,
             experimental_follow_type_hints=None):
    """Returns a decorator: calls of a Python function become calls of graph functions, one for each kind of arguments.

    The function is traced when it is first called with arguments of a kind. Operations with effects run in the order of the program. Tensors and arrays are arguments of the graph function, other values
    are built in. Python's `if` and `while` are done while it is traced: on tensors, use :func:`flowmill.cond` and :func:`flowmill.while_loop`.

    Args:
        func: the function.
        input_signature: a list of TensorSpecs, one for each argument: then there is one graph function.
        autograph: not used: Python's own control flow is not rewritten.
        jit_compile: not used.
        reduce_retracing: not used.
        experimental_implements: not used.
        experimental_autograph_options: not used.
        experimental_attributes: not used.
        experimental_relax_shapes: not used.
        experimental_compile: not used.
        experimental_follow_type_hints: not used.
    """
    def decorated(python_function):
        return PolymorphicFunction(python_function, input_signature)
    return decorated if func is None else decorated(func)


def wrap_function(fn, signature, name: str | None = None) -> ConcreteFunction:
    """Returns the graph function of a Python function for arguments as `signature` says: a list of TensorSpecs.

    Unlike in a :func:`function`, operations run in the order of the graph's edges alone.
    """
    wrapped = fn if name is None else functools.wraps(fn)(lambda *args: fn(*args))
    if name is not None:
        wrapped.__name__ = name
    return PolymorphicFunction(wrapped, has_program_order=False).get_concrete_function(*signature)
