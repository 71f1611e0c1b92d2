"""Graph functions: `Defun` makes one of a function of Python; each call is one operation."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable
from typing import Any

from flowmill._internal import protos
from flowmill._internal.apply import apply_op
from flowmill._internal.convert import convert_to_tensor
from flowmill._internal.func_graph import FuncGraph, Function, to_function
from flowmill._internal.graph import Graph, get_default_graph
from flowmill.dtypes import as_dtype


class Defun:
    """A decorator: the function of Python builds the body of a graph function, and calls of it become operations.

    The body is built when the function is first used. Tensors of graphs around it that it takes become inputs of each call.

    Args:
        input_types: the types of the arguments; those of the first call if there are none.
        func_name: what to call it in graphs; the Python function's name and a hash of the body if it is None.
        grad_func: the `Defun` that computes its gradient: takes its inputs and the gradients of its outputs, returns those of its inputs.
        python_grad_func: builds its gradient, as :class:`flowmill.RegisterGradient` takes it.
        out_names: what to call what it returns.
        shape_func: called with a calling operation for the static shapes of its outputs.
        attrs: attributes of the function, such as ``noinline=True``.

    Raises:
        ValueError: for what is no function of positional arguments, and for a wrong number of types.
    """

    def __init__(self, *input_types, func_name: str | None = None, grad_func=None, python_grad_func: Callable | None = None, out_names=None,
                 shape_func: Callable | None = None, **attrs):
        self._input_types = input_types
        self._options = {"func_name": func_name, "grad_func": grad_func, "python_grad_func": python_grad_func, "out_names": out_names,
                         "shape_func": shape_func, **attrs}

    def __call__(self, func: Callable):
        if not callable(func):
            raise ValueError(f"Function {func} must be a callable.")
        spec = inspect.getfullargspec(func)
        if spec.varkw or spec.defaults:
            raise ValueError(
                "Functions with argument defaults or keywords arguments are not supported. "
                f"{func} has defaults {spec.defaults} and keywords {spec.varkw}.")
        names = spec.args[1:] if inspect.ismethod(func) else spec.args
        least, most = len(names), 1000000 if spec.varargs else len(names)
        if self._input_types:
            if not least <= len(self._input_types) <= most:
                raise ValueError(
                    f"The number of tf.function input types is not compatible with the allowed arguments of {func}. The tf.function have "
                    f"{len(self._input_types)} input types, while the python function allows minimum {least} and maximum {most} arguments.")
            return DefinedFunction(func, names, self._input_types, **self._options)
        if least == 0 and most == 0:
            return DefinedFunction(func, [], [], **self._options)
        return OverloadedFunction(func, names, **self._options)


class DefinedFunction:
    """A graph function; see :class:`Defun`. Calling it adds an operation to the default graph."""

    def __init__(self, func: Callable, argnames, input_types, func_name=None, grad_func=None, python_grad_func=None, out_names=None, shape_func=None,
                 **attrs):
        self._func, self._func_name, self._out_names, self._shape_func, self._attrs = func, func_name, out_names, shape_func, attrs
        self._grad_func, self._python_grad_func = grad_func, python_grad_func
        self._types = [as_dtype(t) for t in input_types]
        self._names = [argnames[i] if i < len(argnames) else f"arg{i}" for i in range(len(input_types))]
        self._function: Function | None = None
        self._extra_inputs: list = []

    def _built(self) -> Function:
        if self._function is None:
            graph = FuncGraph(self._func_name or self._func.__name__, functional=False)
            with graph.as_default(), graph.variables_outside():
                graph.inputs.extend(graph.placeholder(t, None, n) for n, t in zip(self._names, self._types))
                outputs = self._func(*graph.inputs)
                outputs = [] if outputs is None else list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]
                if any(o is None for o in outputs):
                    raise ValueError(f"Function {graph.name} can not return None.")
                graph.outputs.extend(graph.capture(convert_to_tensor(o)) for o in outputs)
            attrs = {k if k.startswith("_") else "_" + k: _attr(v) for k, v in self._attrs.items()}
            function = to_function(graph, out_names=self._out_names, attrs=attrs)
            if self._func.__doc__:
                function.definition.signature.description = self._func.__doc__
            if not self._func_name:
                base = self._func.__name__.replace("<lambda>", "lambda") + (f"_{self._grad_func.name}" if self._grad_func else "")
                function.definition.signature.name = base
                digest = hashlib.sha1(function.definition.SerializeToString(deterministic=True)).hexdigest()
                function.name = function.definition.signature.name = f"{base}_{digest[:8]}"
            self._extra_inputs, self._function = graph.external_captures, function
        return self._function

    @property
    def name(self) -> str:
        """The function's name in graphs."""
        return self._built().name

    @property
    def definition(self) -> Any:
        """It as a `FunctionDef`."""
        return self._built().definition

    @property
    def declared_input_types(self) -> list:
        """The types of its arguments."""
        return self._types

    @property
    def captured_inputs(self) -> list:
        """The tensors around it that it takes."""
        self._built()
        return self._extra_inputs

    @property
    def grad_func_name(self) -> str | None:
        """The name of the function that computes its gradient."""
        return self._grad_func.name if self._grad_func else None

    @property
    def python_grad_func(self) -> Callable | None:
        """The function that builds its gradient."""
        return self._python_grad_func

    def set_grad_func(self, grad_func: DefinedFunction) -> None:
        """Says which function computes its gradient, once."""
        if self._grad_func is not None:
            raise ValueError(f"The function {self.name} has a gradient function already.")
        self._grad_func = grad_func

    def add_to_graph(self, graph: Graph) -> None:
        """Adds it to a graph's library; nothing happens if that has it."""
        function = self._built()
        function.add_to_graph(graph)
        if self._python_grad_func is not None:
            graph._python_gradients[function.name] = self._python_grad_func
        if self._grad_func is not None and graph._gradient_functions.get(function.name) != self._grad_func.name:
            graph._gradient_functions[function.name] = self._grad_func.name
            self._grad_func.add_to_graph(graph)
            graph._core.add_gradient_function(function.name, self._grad_func.name)

    def __call__(self, *args, **kwargs) -> Any:
        graph = get_default_graph()
        self.add_to_graph(graph)
        if len(args) != len(self._types):
            raise ValueError(f"Expected {len(self._types)} arguments, got {len(args)}.")
        name = kwargs.pop("name", None)
        attrs = {("_" + key): _attr(value).SerializeToString() for key, value in kwargs.items()}
        op = apply_op(self.name, name, [convert_to_tensor(a) for a in args] + self._extra_inputs, attrs, graph=graph)
        if self._shape_func is not None:
            shapes = self._shape_func(op)
            if len(shapes) != len(op._outputs):
                raise ValueError(f"shape_func {self._shape_func} produced {len(shapes)} shapes, which does not match {len(op._outputs)} outputs.")
            for tensor, shape in zip(op._outputs, shapes):
                tensor.set_shape(shape)
        outputs = op.outputs
        return op if not outputs else outputs[0] if len(outputs) == 1 else outputs


class OverloadedFunction:
    """A :class:`Defun` without types: one graph function for each list of types that it is called with."""

    def __init__(self, func: Callable, argnames, func_name=None, **options):
        self._func, self._names, self._func_name, self._options = func, argnames, func_name, options
        self._by_types: dict[tuple, DefinedFunction] = {}

    def instantiate(self, input_types) -> DefinedFunction:
        """Returns the graph function for arguments of these types."""
        types = tuple(as_dtype(t).base_dtype for t in input_types)
        found = self._by_types.get(types)
        if found is None:
            name = self._func_name
            if name is not None:
                name = "_".join([name, *(t.name for t in types)])
            found = self._by_types[types] = DefinedFunction(self._func, self._names, types, func_name=name, **self._options)
        return found

    def __call__(self, *args, **kwargs) -> Any:
        tensors = [convert_to_tensor(a) for a in args]
        return self.instantiate([t.dtype for t in tensors])(*tensors, **kwargs)


def _attr(value):
    """Returns an attribute of a Python value."""
    message = protos.get("AttrValue")
    if isinstance(value, bool):
        return message(b=value)
    if isinstance(value, int):
        return message(i=value)
    if isinstance(value, float):
        return message(f=value)
    if isinstance(value, (str, bytes)):
        return message(s=value.encode() if isinstance(value, str) else value)
    raise ValueError(f"Attribute value {value!r} must be a bool, int, float, or string. Got {type(value)}.")


__all__ = ["DefinedFunction", "Defun", "OverloadedFunction"]
