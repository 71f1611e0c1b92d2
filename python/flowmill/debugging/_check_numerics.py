"""Checks of every operation as it is added: `enable_check_numerics`."""

from __future__ import annotations

from flowmill._internal import graph as graphs
from flowmill._internal.indexed_slices import IndexedSlices
from flowmill._internal.tensor import Operation, Tensor, user_frames

# float16, float32, float64 and bfloat16, by their numbers.
_FLOATING = frozenset((19, 1, 2, 14))
# What is fed, constants, and ops that only move elements: whoever computes with what they give is checked. Then control flow, and calls, whose bodies are.
_UNCHECKED = frozenset((
    "Placeholder", "PlaceholderWithDefault", "PlaceholderV2", "Const", "CheckNumerics", "CheckNumericsV2",
    "Concat", "ConcatV2", "ExpandDims", "Fill", "Gather", "Maximum", "Minimum", "Reshape", "Slice", "Squeeze", "Pack", "Stack", "StridedSlice",
    "StridedSliceGrad", "TensorListConcatV2", "TensorListGather", "TensorListGetItem", "TensorListPopBack", "TensorListStack", "Transpose", "Unpack",
    "Enter", "Exit", "Identity", "IdentityN", "If", "StatelessIf", "Case", "StatelessCase", "LoopCond", "Merge", "NextIteration", "Switch", "While",
    "StatelessWhile", "PartitionedCall", "StatefulPartitionedCall", "SymbolicGradient",
))
# Means and variances of no rows are NaN.
_UNCHECKED_OUTPUTS = {"FusedBatchNorm": range(1, 5), "FusedBatchNormV2": range(1, 5), "FusedBatchNormV3": range(1, 6)}


class _Checks:
    """Adds checks behind operations.

    Args:
        stack_height_limit: how many lines of the program a message names.
        path_length_limit: how many characters of a file's path.
    """

    def __init__(self, stack_height_limit: int, path_length_limit: int):
        self._height, self._length = stack_height_limit, path_length_limit

    def added(self, op: Operation) -> Operation:
        """Returns an operation for those who asked for it: its outputs are what has been checked. The graph's own object has those that it has."""
        kind = op.type
        if kind in _UNCHECKED or not any(tensor._type in _FLOATING for tensor in op._outputs):
            return op
        unchecked = _UNCHECKED_OUTPUTS.get(kind, ())
        outputs = [self._checked(t) if t._type in _FLOATING and i not in unchecked else t for i, t in enumerate(op._outputs)]
        return Operation(op._graph, op._id, outputs)

    def gradient(self, grad):
        """Returns a gradient that has been checked: the operations that make it are the core's, which are not."""
        if isinstance(grad, IndexedSlices):
            return IndexedSlices(self.gradient(grad.values), grad.indices, grad.dense_shape)
        if grad is None or grad._type not in _FLOATING or grad.op.type in ("CheckNumerics", "CheckNumericsV2"):
            return grad
        # The core notes no lines of the program: it is where gradients are asked for.
        grad._graph._frames.setdefault(grad._key[0], user_frames())
        return self._checked(grad)

    def _checked(self, tensor: Tensor) -> Tensor:
        op, graph = tensor.op, tensor._graph
        frames = graph._frames.get(op._id)
        scope = graph._thread.here.scope
        (node,), types = graph._core.add_nodes(
            scope.named(op.name), (("CheckNumericsV2", "CheckNumericsV2", (tensor._key,), {"message": self._message(op, tensor)}),))
        if frames is not None:
            graph._frames[node] = frames
        return graph._object(node, types)._outputs[0]

    def _message(self, op: Operation, tensor: Tensor) -> str:
        inputs = op.inputs
        lines = [
            "", "", f"!!! Detected Infinity or NaN in output {tensor.value_index} of graph op \"{op.type}\" (# of outputs: {len(op._outputs)}) !!!",
            f"  dtype: {tensor.dtype}", f"  shape: {tensor.shape}", "",
        ]
        if len(inputs) == 1:
            lines += [f"  Input tensor: {inputs[0]}", ""]
        elif len(inputs) > 1:
            lines += [f"  Input tensors ({len(inputs)}):", *(f"         {i}: {t}" for i, t in enumerate(inputs)), ""]
        lines.append('  Stack trace of op\'s creation ("->": inferred user code):')
        for file, line, function, text in op.traceback[-self._height:]:
            path = file if len(file) <= self._length else "..." + file[3 - self._length:]
            lines += [f"    + {path} (L{line}) {function}", f" -> |   {text or ''}"]
        return "\n".join([*lines, "", ""])


def enable_check_numerics(stack_height_limit: int = 30, path_length_limit: int = 50) -> None:
    """Makes steps fail with `InvalidArgumentError` if an operation that is added from now on returns an infinite number or NaN. The message
    names the operation and the lines of the program that made it.

    What is fed, constants, and operations that only move elements are not checked, what computes with them is; of gradients the results are. A checked
    tensor is called by its operation's name with ``/CheckNumericsV2``.

    Args:
        stack_height_limit: how many lines of the program a message names.
        path_length_limit: how many characters of a file's path.
    """
    graphs.set_checks(_Checks(stack_height_limit, path_length_limit))


def disable_check_numerics() -> None:
    """Ends what :func:`enable_check_numerics` began: operations that are there stay checked."""
    graphs.set_checks(None)
