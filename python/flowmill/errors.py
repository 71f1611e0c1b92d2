"""Exceptions, one for each of TensorFlow's canonical codes.

Every exception is an `OpError` and tells the code (`error_code`), the message, and where the failure happened: the node's name
(`node_name`) and op (`op_type`) if they are known. `OutOfRangeError` is not an `IndexError`, `NotFoundError` no `KeyError`: as in TensorFlow.
"""

from __future__ import annotations

from typing import Any

__all__ = [
    "OpError", "CancelledError", "UnknownError", "InvalidArgumentError", "DeadlineExceededError", "NotFoundError",
    "AlreadyExistsError", "PermissionDeniedError", "UnauthenticatedError", "ResourceExhaustedError",
    "FailedPreconditionError", "AbortedError", "OutOfRangeError", "UnimplementedError", "InternalError",
    "UnavailableError", "DataLossError", "exception_type_from_error_code", "error_code_from_exception_type", "raise_exception_on_not_ok_status",
    "OK", "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND", "ALREADY_EXISTS",
    "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "ABORTED", "OUT_OF_RANGE", "UNIMPLEMENTED",
    "INTERNAL", "UNAVAILABLE", "DATA_LOSS", "UNAUTHENTICATED",
]

(OK, CANCELLED, UNKNOWN, INVALID_ARGUMENT, DEADLINE_EXCEEDED, NOT_FOUND, ALREADY_EXISTS, PERMISSION_DENIED,
 RESOURCE_EXHAUSTED, FAILED_PRECONDITION, ABORTED, OUT_OF_RANGE, UNIMPLEMENTED, INTERNAL, UNAVAILABLE, DATA_LOSS,
 UNAUTHENTICATED) = range(17)


class OpError(Exception):
    """A failure while a graph was built or run.

    Args:
        node_def: the node's definition, or None.
        op: the `Operation` the failure happened at, or None.
        message: what went wrong.
        error_code: one of this module's codes.
    """

    def __init__(self, node_def, op, message, error_code) -> None:
        super().__init__(node_def, op, message, error_code)
        self._node_def, self.op, self.message, self.error_code = node_def, op, message, error_code
        self.node_name = getattr(node_def, "name", None)
        self.op_type = getattr(node_def, "op", None)

    @property
    def node_def(self) -> Any:
        """The node's definition, if it is known."""
        return self._node_def if self._node_def is not None or self.op is None else self.op.node_def

    def __str__(self):
        if self.node_name:
            return "%s\n\t [[{{node %s}} = %s]]" % (self.message, self.node_name, self.op_type)
        return str(self.message)

    def __reduce__(self):
        args = (self.message,) if type(self) is not OpError else (self.message, self.error_code)
        return _restore, (type(self), args, self.node_name, self.op_type)


def _restore(cls, args, node_name, op_type):
    error = cls(None, None, *args)
    error.node_name, error.op_type = node_name, op_type
    return error


def _define(name, code, doc):
    def __init__(self, node_def, op, message) -> None:
        OpError.__init__(self, node_def, op, message, code)
    return type(name, (OpError,), {"__init__": __init__, "__doc__": doc, "__module__": __name__})


CancelledError = _define("CancelledError", CANCELLED, "The step was cancelled, by its caller or by the session being closed.")
UnknownError = _define("UnknownError", UNKNOWN, "Nothing better is known.")
InvalidArgumentError = _define("InvalidArgumentError", INVALID_ARGUMENT, "An op got an input it cannot take.")
DeadlineExceededError = _define("DeadlineExceededError", DEADLINE_EXCEEDED, "A timeout passed before the step ended.")
NotFoundError = _define("NotFoundError", NOT_FOUND, "A named thing does not exist.")
AlreadyExistsError = _define("AlreadyExistsError", ALREADY_EXISTS, "A named thing exists already.")
PermissionDeniedError = _define("PermissionDeniedError", PERMISSION_DENIED, "The caller may not do this.")
UnauthenticatedError = _define("UnauthenticatedError", UNAUTHENTICATED, "The caller did not say who it is.")
ResourceExhaustedError = _define("ResourceExhaustedError", RESOURCE_EXHAUSTED, "A limit of memory or of another resource was reached.")
FailedPreconditionError = _define("FailedPreconditionError", FAILED_PRECONDITION, "The system is not in the state the op needs, such as an uninitialised variable.")
AbortedError = _define("AbortedError", ABORTED, "The operation was given up.")
OutOfRangeError = _define("OutOfRangeError", OUT_OF_RANGE, "Past the end of a sequence, such as a closed and empty queue.")
UnimplementedError = _define("UnimplementedError", UNIMPLEMENTED, "Known but not supported.")
InternalError = _define("InternalError", INTERNAL, "An invariant does not hold: a defect of Flowmill or of a kernel.")
UnavailableError = _define("UnavailableError", UNAVAILABLE, "A service is away for now.")
DataLossError = _define("DataLossError", DATA_LOSS, "Data are lost or corrupted.")

_BY_CODE = {
    CANCELLED: CancelledError, UNKNOWN: UnknownError, INVALID_ARGUMENT: InvalidArgumentError, DEADLINE_EXCEEDED: DeadlineExceededError,
    NOT_FOUND: NotFoundError, ALREADY_EXISTS: AlreadyExistsError, PERMISSION_DENIED: PermissionDeniedError,
    RESOURCE_EXHAUSTED: ResourceExhaustedError, FAILED_PRECONDITION: FailedPreconditionError, ABORTED: AbortedError,
    OUT_OF_RANGE: OutOfRangeError, UNIMPLEMENTED: UnimplementedError, INTERNAL: InternalError, UNAVAILABLE: UnavailableError,
    DATA_LOSS: DataLossError, UNAUTHENTICATED: UnauthenticatedError,
}


def exception_type_from_error_code(error_code) -> type[OpError]:
    """Returns the exception class of a code; KeyError for one that does not exist."""
    return _BY_CODE[error_code]


def error_code_from_exception_type(cls) -> int:
    """Returns the code of an exception class; UNKNOWN for a class of somebody else's."""
    return next((code for code, known in _BY_CODE.items() if known is cls), UNKNOWN)


class Status:
    """The outcome of an operation: a code and, unless that is `OK`, a message."""

    def __init__(self) -> None:
        self.code, self.message = OK, ""

    def set(self, code: int, message: str) -> None:
        """Changes both."""
        self.code, self.message = code, message


class raise_exception_on_not_ok_status:  # noqa: N801 - TensorFlow's name
    """Provides a :class:`Status` to a block, and raises the exception of its code at the end, unless that is `OK`."""

    def __enter__(self) -> Status:
        self._status = Status()
        return self._status

    def __exit__(self, kind, value, traceback) -> bool:
        status = self._status
        if status.code != OK:
            raise _make(status.code, status.message, None, None)
        return False


def _make(code, message, node_name, op_type):
    """Makes the exception that the native part raises."""
    error = _BY_CODE.get(code, UnknownError)(None, None, message)
    error.node_name, error.op_type = node_name, op_type
    return error
