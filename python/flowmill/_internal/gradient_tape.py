"""Gradients of what was computed in a block: `GradientTape`."""

from __future__ import annotations

import contextlib
from typing import Any

from flowmill import nest
from flowmill._internal.array import concat, ones_like, reshape, shape, zeros_like
from flowmill._internal.functional_ops import map_fn
from flowmill._internal.gradients_impl import UnconnectedGradients, gradients
from flowmill._internal.graph import get_default_graph
from flowmill._internal.tensor import Tensor
from flowmill._internal.variables import trainable_variables
from flowmill.math import range as numbers

__all__ = ["GradientTape"]


class GradientTape:
    """A context manager; gradients may be asked for by the variables and tensors that it watches.

    The graph records operations anyway, so gradients go through what was computed before the block as well.

    Args:
        persistent: whether gradients may be asked for more than once.
        watch_accessed_variables: whether all trainable variables are watched.
    """

    def __init__(self, persistent: bool = False, watch_accessed_variables: bool = True):
        self._persistent, self._watch_variables = persistent, watch_accessed_variables
        self._watched: list = []
        self._is_recording = self._is_used = False

    def __enter__(self) -> GradientTape:
        if self._is_recording:
            raise ValueError("Tape is still recording, This can happen if you try to re-enter an already-active tape.")
        self._is_recording = True
        return self

    def __exit__(self, *raised) -> None:
        self._is_recording = False

    def watch(self, tensor) -> None:
        """Records operations for gradients by a tensor, a variable, or a structure of those.

        Raises:
            ValueError: for what is neither.
        """
        for item in nest.flatten(tensor, expand_composites=True):
            if not isinstance(item, Tensor) and not hasattr(item, "_as_tensor"):
                raise ValueError(f"Passed in object {item} of type {type(item).__name__!r}, not tf.Tensor or tf.Variable or ExtensionType.")
            self._watched.append(item)

    def reset(self) -> None:
        """Forgets what is watched."""
        self._watched, self._is_used = [], False

    def watched_variables(self) -> list:
        """Returns the variables that it watches."""
        own = [w for w in self._watched if not isinstance(w, Tensor)]
        return own + [v for v in trainable_variables() if v not in own] if self._watch_variables else own

    def gradient(self, target, sources, output_gradients=None, unconnected_gradients=UnconnectedGradients.NONE) -> Any:
        """Returns the derivatives of the sum of `target` by each of `sources`, in their structure; None for what is not watched.

        Args:
            target: a tensor, or a structure of them.
            sources: tensors and variables, in any structure.
            output_gradients: for each of `target` what its gradient begins with.
            unconnected_gradients: what to give for a source that `target` does not depend on.

        Raises:
            RuntimeError: the second time, unless the tape is persistent.
        """
        if self._is_used and not self._persistent:
            raise RuntimeError("A non-persistent GradientTape can only be used to compute one set of gradients (or jacobians)")
        self._is_used = True
        targets, flat = nest.flatten(target), nest.flatten(sources)
        starts = [None] * len(targets) if output_gradients is None else nest.flatten(output_gradients)
        starts = [ones_like(t) if s is None and isinstance(t, Tensor) and t.dtype.is_complex else s for t, s in zip(targets, starts)]
        watched = {id(w) for w in (*self._watched, *self.watched_variables())}
        asked = [s for s in flat if watched.intersection(map(id, [s, *nest.flatten(s, expand_composites=True)]))]
        found = dict(zip(map(id, asked), gradients(targets, asked, starts, unconnected_gradients=unconnected_gradients))) if asked else {}
        if UnconnectedGradients(unconnected_gradients) is UnconnectedGradients.ZERO:
            found.update({id(s): zeros_like(s) for s in flat if id(s) not in found})
        return nest.pack_sequence_as(sources, [found.get(id(s)) for s in flat])

    def jacobian(self, target, sources, unconnected_gradients=UnconnectedGradients.NONE, parallel_iterations=None,
                 experimental_use_pfor: bool = True):
        """Returns the derivatives of each element of `target` by `sources`: of shape ``target.shape + source.shape``."""
        if self._is_used and not self._persistent:
            raise RuntimeError("A non-persistent GradientTape can only be used to compute one set of gradients (or jacobians)")
        self._is_used = True
        flat_target = reshape(target, [-1])
        made = []
        for source in nest.flatten(sources):
            if gradients(target, source)[0] is None:
                made.append(None)
                continue
            rows = map_fn(lambda i, source=source: gradients(flat_target[i], source)[0], numbers(shape(flat_target)[0]), dtype=flat_target.dtype)
            whole = reshape(rows, concat([shape(target), shape(source)], 0))
            whole.set_shape(target.shape.concatenate(source.shape))
            made.append(whole)
        return nest.pack_sequence_as(sources, made)

    def stop_recording(self) -> Any:
        """Returns a context manager: what is computed in it is recorded as everything else is, since graphs record."""
        if not self._is_recording:
            raise ValueError("Tape is not recording.")
        return contextlib.nullcontext(get_default_graph())
