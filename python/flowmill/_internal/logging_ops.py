"""Values shown while a graph runs."""

from __future__ import annotations

import sys

from flowmill._internal.apply import call
from flowmill._internal.array._creation import is_sparse
from flowmill._internal.dispatch import is_ragged
from flowmill._internal.tensor import Operation, Tensor


def Print(input_, data, message: str | None = None, first_n: int | None = None, summarize: int | None = None, name: str | None = None) -> Tensor:
    """Returns a tensor as it is; running it writes other tensors to the standard error output.

    Args:
        input_: the tensor.
        data: a list of the tensors to write.
        message: what to write before them.
        first_n: how many times to write; always if it is None.
        summarize: how many elements of each tensor to write; 3 if it is None.
        name: the name of the operation.
    """
    return call("Print", name, input_, data, message=message, first_n=first_n, summarize=summarize)


def timestamp(name: str | None = None) -> Tensor:
    """Returns the seconds since the beginning of 1970 when it runs, a `float64` scalar."""
    return call("Timestamp", name)


def print(*inputs, **kwargs) -> Operation:  # noqa: A001 - TensorFlow's name
    """Returns an operation that writes values when it runs.

    Args:
        inputs: what to write: tensors, other values, and nested structures of both.
        output_stream: ``sys.stderr``, ``sys.stdout``, or ``"file://"`` and a path.
        summarize: how many elements of each dimension of a tensor to write, at its beginning and at its end; -1 for all.
        sep: what to write between.
        end: what to write behind.
        name: the name of the operation.

    Raises:
        ValueError: for another stream or argument.
    """
    stream, summarize = kwargs.pop("output_stream", sys.stderr), kwargs.pop("summarize", 3)
    end, sep, name = kwargs.pop("end", "\n"), kwargs.pop("sep", " "), kwargs.pop("name", None)
    if kwargs:
        raise ValueError(f"Unrecognized keyword arguments for tf.print: {kwargs}")
    target = "stderr" if stream is sys.stderr else "stdout" if stream is sys.stdout else stream
    if not (stream is sys.stderr or stream is sys.stdout or isinstance(stream, str) and stream.startswith("file://")):
        raise ValueError(f"Unsupported output stream, logging level, or file.{stream}. Supported streams are sys.stdout, sys.stderr. "
                         f"File needs to be in the form of 'file://<filepath>'.")
    if len(inputs) == 1 and isinstance(inputs[0], Tensor) and inputs[0].dtype.base_dtype.name == "string" and inputs[0].shape.rank == 0:
        text = inputs[0]
    else:
        tensors: list[Tensor] = []
        parts = [_template(value, tensors, True) for value in inputs]
        placeholder = _unused(parts)
        template = sep.join("".join(placeholder if p is None else p for p in part) for part in parts)
        if any(map(is_ragged, tensors)):
            from flowmill.ragged._strings import format_string  # start-up: few programs print ragged tensors

            text = format_string(template, tensors, placeholder, summarize)
        else:
            text = call("StringFormat", f"{name}_format" if name else None, tensors, template=template, placeholder=placeholder, summarize=summarize)
    return call("PrintV2", name, text, output_stream=target, end=end)


def _unused(parts) -> str:
    """Returns a placeholder for a tensor: braces, with a number after them if the text itself has braces."""
    placeholder, number = "{}", 0
    text = "".join(p for part in parts for p in part if p is not None)
    while placeholder in text:
        placeholder, number = f"{{}}{number}", number + 1
    return placeholder


def _template(value, tensors: list, outermost: bool) -> list:
    """Returns a value as pieces of text, with None for each of its tensors."""
    if not isinstance(value, Tensor) and hasattr(value, "_as_tensor"):
        value = value._as_tensor()
    if isinstance(value, Tensor) or is_ragged(value):
        tensors.append(value)
        return [None]
    if isinstance(value, dict):
        items = [[f"{key!r}: ", *_template(value[key], tensors, False)] for key in sorted(value)]
        return ["{", *_joined(items), "}"]
    if isinstance(value, (list, tuple)):
        items = [_template(v, tensors, False) for v in value]
        opening, closing = ("[", "]") if isinstance(value, list) else ("(", ",)" if len(value) == 1 else ")")
        return [opening, *_joined(items), closing]
    if is_sparse(value):
        indices, values, shape = (_template(part, tensors, False) for part in value._components())
        return ["'SparseTensor(indices=", *indices, ", values=", *values, ", shape=", *shape, ")'"]
    if hasattr(value, "_components"):
        items = [_template(v, tensors, False) for v in value._components()]
        return [f"{type(value).__name__}(", *_joined(items), ")"]
    return [str(value) if outermost else repr(value)]


def _joined(items: list) -> list:
    return [piece for i, item in enumerate(items) for piece in ([", "] if i else []) + item]
