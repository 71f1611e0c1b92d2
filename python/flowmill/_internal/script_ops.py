"""Functions of Python as operations: `py_func`, `numpy_function`."""

from __future__ import annotations

import functools
import itertools
import threading
import traceback
import weakref

import numpy as np

from flowmill._internal.apply import call
from flowmill._internal.graph import Graph, get_default_graph
from flowmill.dtypes import as_dtype
from flowmill.errors import InternalError, OpError

# By token, for as long as a graph that calls them is there.
_functions: weakref.WeakValueDictionary[str, _Entry] = weakref.WeakValueDictionary()
_lock = threading.Lock()
_numbers = itertools.count()


class _Entry:
    """A function that operations call."""

    __slots__ = ("function", "of_tensors", "__weakref__")

    def __init__(self, function, of_tensors=None):
        self.function, self.of_tensors = function, of_tensors


def py_func(func, inp, Tout, stateful: bool = True, name: str | None = None):  # noqa: N803 - TensorFlow's name
    """Calls a function of Python with tensors' values when the graph runs, and returns its results.

    Such an operation runs in this process alone: a graph that is written to a file takes only its name along.

    Args:
        func: called with arrays; returns an array, or a list of them, of the types `Tout`. What it raises fails the step.
        inp: a list of tensors.
        Tout: the type of what it gives, or a list of types.
        stateful: whether it may give something else for the same values.
        name: the name of the operation.

    Returns:
        A tensor, a list of them if `Tout` is a list, the operation if that is empty and the function is stateful.

    Raises:
        ValueError: if `func` cannot be called.
    """
    return _added(func, inp, Tout, name, "PyFunc" if stateful else "PyFuncStateless")


def function_of(token: str):
    """Returns the function that is differentiated for the operations with a token; None if there is none in this process."""
    entry = _functions.get(token)
    return None if entry is None else entry.of_tensors


def _added(func, inp, Tout, name: str | None, op: str, of_tensors=None):  # noqa: N803 - TensorFlow's name
    """Returns the operation that calls a function, or what it gives."""
    if not callable(func):
        raise ValueError(f"Expected func to be callable. Received func={func} of type {type(func)}.")
    types = [as_dtype(t) for t in Tout] if isinstance(Tout, (list, tuple)) else [as_dtype(Tout)]
    entry = _Entry(func, of_tensors)
    with _lock:
        token = f"pyfunc_{next(_numbers)}"
        _functions[token] = entry
    _outermost(get_default_graph()).__dict__.setdefault("_py_funcs_used_in_graph", []).append(entry)
    found = call(op, name, list(inp), token=token, Tout=types)
    if not types and op == "PyFuncStateless":
        return []
    return found if isinstance(Tout, (list, tuple)) or not types else found[0]


def _outermost(graph: Graph) -> Graph:
    while graph.building_function:
        graph = graph.outer_graph
    return graph


class _Value(np.ndarray):
    """An array as functions of :func:`py_function` get it: with `numpy()`, which gives a scalar as one."""

    def numpy(self):
        """Returns the array itself, or the scalar."""
        array = self.view(np.ndarray)
        return array[()] if array.ndim == 0 else array


def py_function(func=None, inp=None, Tout=None, name: str | None = None):  # noqa: N803 - TensorFlow's name
    """Like :func:`py_func`, for a function that calls ``numpy()`` of its arguments, which eager tensors have.

    The function gets arrays, and composites such as ragged tensors as they are; functions of ``tf`` take both, and what these give is computed when the
    function returns. For a gradient the function is called once more, with tensors that have ``numpy()`` and Python's operators; what it computes by
    NumPy is a constant then. `Tout` may have specs in place of types. Without a
    function the result is a decorator.
    """
    decorator = _decorator(py_function, func, inp, Tout, name=name)
    if decorator is not None:
        return decorator
    from flowmill._internal import eager_functions  # cycle: eager_functions imports this module

    if not callable(func):
        return _added(func, inp, Tout, name, "EagerPyFunc")
    composites = eager_functions.Composites(func, inp, Tout)
    types = [t.as_numpy_dtype for t in composites.types]

    def called(*arrays):
        with Graph().as_default() as graph:
            made = composites.call(*(np.asarray(a).view(_Value) for a in arrays))
            made = eager_functions.evaluated(made, graph)
        return [np.asarray(value, dtype) for value, dtype in zip(made, types)] if len(made) == len(types) else made
    tensors = _added(called, composites.inputs, composites.types, name, "EagerPyFunc", composites.call)
    found = composites.results(tensors)
    return found if isinstance(Tout, (list, tuple)) or not types else found[0]


def numpy_function(func=None, inp=None, Tout=None, stateful: bool = True, name: str | None = None):  # noqa: N803 - TensorFlow's name
    """Like :func:`py_func`; without a function, a decorator that makes a function of tensors of one of arrays."""
    return _decorator(numpy_function, func, inp, Tout, stateful=stateful, name=name) or py_func(func, inp, Tout, stateful, name)


def _decorator(caller, func, inp, Tout, **options):  # noqa: N803 - TensorFlow's name
    """Returns a decorator that calls functions by `caller`, if there is no function yet; else None.

    Raises:
        TypeError: if `Tout` is missing, or one of a function and its arguments.
    """
    display = caller.__name__
    if Tout is None:
        raise TypeError(f"Missing required argument: 'Tout'\n  If using {display} as a decorator, set `Tout` **by name**: `@{display}(Tout=tout)`.")
    if func is None:
        if inp is not None:
            raise TypeError(f"Don't set the `inp` argument when using {display} as a decorator (`func=None`).")
        return lambda function: functools.wraps(function)(lambda *args: caller(function, args, Tout, **options))
    if inp is None:
        raise TypeError(f"Missing argument `inp`: the list of arguments of the function, unless `{display}` is used as a decorator (`func=None`).")
    return None


_CODES = ((StopIteration, 11), (NotImplementedError, 12), (MemoryError, 8), ((TypeError, ValueError), 3))
_UNKNOWN = 2


def _run(token: str, arguments: list) -> tuple[int, str, tuple]:
    """Calls a function for the native module: an error's code or 0, its text, the arrays."""
    entry = _functions.get(token)
    if entry is None:
        return 3, f"ValueError: callback {token} is not found", ()
    try:
        made = entry.function(*arguments)
        values = tuple(made) if isinstance(made, (list, tuple)) else () if made is None else (made,)
        return 0, "", tuple(_array(v) for v in values)
    except Exception as error:  # whatever the function raises fails the step
        if isinstance(error, OpError):
            return error.error_code, error.message, ()
        code = next((c for kinds, c in _CODES if isinstance(error, kinds)), _UNKNOWN)
        return code, f"{type(error).__name__}: {error}\n{traceback.format_exc()}", ()


def _array(value) -> np.ndarray:
    array = np.asarray(value, order="C")
    if array.dtype.type is np.void:
        raise InternalError(None, None, f"Unsupported numpy data type: {array.dtype}")
    if array.dtype.kind in "OSU":
        unsupported = next((v for v in array.reshape(-1) if not isinstance(v, (str, bytes))), None)
        if unsupported is not None:
            raise InternalError(None, None, f"Unsupported object type {type(unsupported).__name__}")
        return np.array([v if isinstance(v, bytes) else str(v).encode() for v in array.reshape(-1)], dtype=object).reshape(array.shape)
    return array


__all__ = ["numpy_function", "py_func", "py_function"]
