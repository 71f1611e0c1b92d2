"""Tensors that stay in a session between steps, and the handles by which steps get at them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flowmill._internal.apply import apply_op, call
from flowmill._internal.graph import Graph, get_default_graph
from flowmill._internal.tensor import Operation, Tensor
from flowmill.compat import as_str_any
from flowmill.dtypes import DType, as_dtype, string

if TYPE_CHECKING:
    from flowmill._internal.session import Session

__all__ = ["TensorHandle", "delete_session_tensor", "get_session_handle", "get_session_tensor"]


class TensorHandle:
    """A tensor that stays in a session: what a fetched :func:`get_session_handle` gives, and what may be fed in place of the value.

    The tensor goes when the handle does, some time after.
    """

    def __init__(self, handle, dtype: DType, session: Session):
        """For :class:`Session` alone."""
        self._handle, self._dtype, self._session = as_str_any(handle), dtype, session
        self._goes_with_handle = True

    @property
    def handle(self) -> str:
        """The handle as a string, to be fed to the placeholder of :func:`get_session_tensor`."""
        return self._handle

    @property
    def dtype(self) -> DType:
        """The type of the tensor."""
        return self._dtype

    def eval(self) -> Any:
        """Returns the tensor's value.

        Raises:
            TypeError: if it was deleted.
        """
        if not self._goes_with_handle:
            raise TypeError(f"Persistent tensor {self._handle} may have already been deleted.")
        return _value(self, self._session)

    def delete(self) -> None:
        """Removes the tensor from the session.

        Raises:
            TypeError: if it was deleted.
        """
        if not self._goes_with_handle:
            raise TypeError(f"Persistent tensor {self._handle} may have already been deleted.")
        self._goes_with_handle = False
        _delete(self._handle, self._session)

    def get_raw_handle(self) -> str:
        """Returns the handle as a string; the tensor stays though this object goes."""
        self._goes_with_handle = False
        return self._handle

    def __del__(self):
        if getattr(self, "_goes_with_handle", False):
            self._session._dead_handles.append(self._handle)

    def __str__(self):
        return self._handle


def get_session_handle(data, name: str | None = None) -> Tensor:
    """Keeps a tensor in the session: fetched, it is a :class:`TensorHandle`.

    Raises:
        TypeError: if `data` is no tensor.
    """
    if not isinstance(data, Tensor):
        raise TypeError("`data` must be of type Tensor.")
    with data.graph.colocate_with(data):
        return call("GetSessionHandle", name, data)


def get_session_tensor(handle, dtype, name: str | None = None) -> tuple[Tensor, Tensor]:
    """Returns a placeholder for a handle, and the tensor that the handle refers to.

    Args:
        handle: a handle as a string, which says the device.
        dtype: the tensor's type.
        name: the name of the operation.
    """
    with get_default_graph().device(_device_of(handle)):
        holder = call("Placeholder", None, dtype=string)
        return holder, call("GetSessionTensor", name, holder, dtype=dtype)


def delete_session_tensor(handle, name: str | None = None) -> tuple[Tensor, Operation]:
    """Returns a placeholder for a handle, and the operation that removes the tensor that the handle refers to."""
    with get_default_graph().device(_device_of(handle)):
        holder = call("Placeholder", None, dtype=string)
        return holder, apply_op("DeleteSessionTensor", name, (holder,))


def _device_of(handle) -> str:
    """Returns the device that a handle names."""
    return as_str_any(handle).split(";")[-1]


def _of_graph(graph: Graph, key: tuple, make) -> Any:
    """Returns the object that a graph has for a key; makes it if there is none."""
    with graph._lock:
        made = graph.__dict__.setdefault("_session_tensor_ops", {})
        if key not in made:
            with graph.as_default(), graph.control_dependencies(None):
                made[key] = make()
        return made[key]


def _value(handle: TensorHandle, session: Session):
    key = ("reader", _device_of(handle.handle), handle.dtype.name)
    holder, tensor = _of_graph(session.graph, key, lambda: get_session_tensor(handle.handle, handle.dtype))
    return session.run(tensor, {holder: handle.handle})


def _delete(handle: str, session: Session) -> None:
    holder, op = _of_graph(session.graph, ("deleter", _device_of(handle)), lambda: delete_session_tensor(handle))
    session.run(op, {holder: handle})


# How many tensors whose handles are gone a session keeps at most, before it makes another handle.
_MAX_DEAD = 10


def _new_handle(value, dtype: int, session: Session) -> TensorHandle:
    """Returns the handle of a value that a session has fetched."""
    dead = session._dead_handles
    if len(dead) >= _MAX_DEAD and not session.graph.finalized:
        while dead:
            _delete(dead.pop(), session)
    return TensorHandle(value, as_dtype(dtype), session)


def fed(values, session: Session) -> list:
    """Values to feed, those of handles looked up."""
    return [_value(v, session) if isinstance(v, TensorHandle) else v for v in values]
