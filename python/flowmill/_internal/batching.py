"""Functions whose calls in concurrent steps run as one."""

from __future__ import annotations

from collections.abc import Callable

from flowmill import nest
from flowmill._internal.apply import apply_op, op_scope
from flowmill._internal.polymorphic_function import PolymorphicFunction
from flowmill._internal.tensor import Tensor
from flowmill._internal.tensor_spec import TensorSpec


def nondifferentiable_batch_function(num_batch_threads: int, max_batch_size: int, batch_timeout_micros: int, allowed_batch_sizes: list[int] | None = None,
                                     max_enqueued_batches: int = 10, autograph: bool = True, enable_large_batch_splitting: bool = True) -> Callable:
    """Returns a decorator: concurrent steps that call the function run it once, with their arguments one after the other along the first dimension.

    Each step gets its own rows of the results. The function takes tensors and returns tensors with as many rows as its arguments have. It has no gradient.

    Args:
        num_batch_threads: how many batches may run at once.
        max_batch_size: the most rows in a batch and, if large batches are not split, in a call.
        batch_timeout_micros: how many microseconds a call waits for others until a batch that is not full runs.
        allowed_batch_sizes: sizes to which batches are padded with copies of their first row, in ascending order. The last one is `max_batch_size`,
            or less if large batches are split.
        max_enqueued_batches: how many batches may wait; a call that finds no room fails with `UnavailableError`.
        autograph: not used: Python's own control flow is not rewritten.
        enable_large_batch_splitting: whether a call with more rows than fit in a batch is divided among several.
    """
    def decorator(fn: Callable) -> Callable:
        def decorated(*args):
            traced = PolymorphicFunction(lambda *inner: fn(*inner))
            specs = [TensorSpec(dtype=x.dtype, shape=x.shape, name=f"batch_{i}") for i, x in enumerate(args)]
            computation = traced.get_concrete_function(*specs)
            with op_scope(None, "batch") as name:
                for a in args:
                    if not isinstance(a, Tensor):
                        raise ValueError(f"All arguments to functions decorated with `batch_function`  are supposed to be Tensors; found {a!r}.")
                made = apply_op("BatchFunction", None, [list(args), computation.captured_inputs], {
                    "f": computation._function, "num_batch_threads": num_batch_threads, "max_batch_size": max_batch_size,
                    "batch_timeout_micros": batch_timeout_micros, "max_enqueued_batches": max_enqueued_batches,
                    "allowed_batch_sizes": allowed_batch_sizes, "shared_name": name, "enable_large_batch_splitting": enable_large_batch_splitting,
                    "Tout": [t.dtype.base_dtype for t in computation.outputs]})
                return nest.pack_sequence_as(computation.structured_outputs, made._outputs, expand_composites=True)
        return decorated
    return decorator
