"""A signature of a model, called within the process."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from flowmill import _core
from flowmill._internal.tensor_shape import known_shape
from flowmill.dtypes import as_dtype
from flowmill.saved_model._model import Model, TensorSpec
from flowmill.serving._options import Batching, batching_text


class Predictor:
    """A signature of a model, ready to be called from any number of threads::

        predictor = serving.Predictor("models/digits")
        probabilities = predictor(images=images)["probabilities"]

    With `batching`, calls that arrive close together, from threads or from coroutines, run as one step.

    A predictor of a path may be pickled: the copy loads the model again. In a forked process it loads the model again at its first use. Arrays that are
    passed must not change before the call has returned.

    Attributes:
        signature: the name of the signature.
    """

    def __init__(
        self,
        path_or_model: str | os.PathLike[str] | Model,
        signature: str = "serving_default",
        *,
        batching: Batching | bool | None = None,
        tags: Sequence[str] = ("serve",),
        threads: int = 0,
        inference_precision: Literal["f32", "bf16"] = "f32",
    ) -> None:
        """Loads a model.

        Args:
            path_or_model: a SavedModel, a frozen graph, or a directory with a child for each version, of which the largest is taken; or a model that
                is loaded, whose session is used.
            signature: the signature to call.
            batching: runs calls that arrive close together as one step; True takes the defaults of `Batching`.
            tags: the tags of a SavedModel's graph.
            threads: the threads of the model; 0 is one per core.
            inference_precision: the least precision in which ``float32`` is multiplied by constant weights. With ``"bf16"`` both factors of such products
                and convolutions are rounded to ``bfloat16``, whose relative error is up to 0.4 %; sums and all else stay ``float32``. It is faster on
                CPUs with AVX512-BF16. The session of a model that is loaded already keeps its own.

        Raises:
            errors.NotFoundError: if there is no model at the path.
            errors.FailedPreconditionError: if the model has no such signature.
            errors.InvalidArgumentError: for another precision.
        """
        self.signature = signature
        self._model = path_or_model if isinstance(path_or_model, Model) else None
        self._path = None if isinstance(path_or_model, Model) else os.fspath(path_or_model)
        self._options: dict[str, Any] = {"batching": batching, "tags": tuple(tags), "threads": threads, "inference_precision": inference_precision}
        self._lock = threading.Lock()
        self._loaded = self._load()

    def _load(self) -> tuple[int, _core.Predictor]:
        batching = batching_text(self._options["batching"])
        if self._model is not None:
            core = _core.Predictor.of_model(self._model._core, self._model.session._core, self.signature, batching=batching)
        else:
            core = _core.Predictor(
                self._path, self.signature, tags=[*self._options["tags"]], batching=batching, threads=self._options["threads"],
                inference_precision=self._options["inference_precision"],
            )
        return os.getpid(), core

    def _here(self) -> _core.Predictor:
        """Returns the native predictor of this process."""
        process, core = self._loaded
        if process == os.getpid():
            return core
        with self._lock:
            if self._loaded[0] != os.getpid():
                self._loaded = self._load()
            return self._loaded[1]

    @property
    def inputs(self) -> dict[str, TensorSpec]:
        """The inputs by name."""
        return _specs(self._here().inputs())

    @property
    def outputs(self) -> dict[str, TensorSpec]:
        """The outputs by name."""
        return _specs(self._here().outputs())

    @property
    def is_batched(self) -> bool:
        """True if calls are batched. Signatures with an input or an output of a fixed first dimension are not."""
        return self._here().is_batched()

    def __call__(self, /, **inputs: Any) -> dict[str, np.ndarray]:
        """Returns the outputs for these inputs, like `predict`."""
        return self._here().predict(inputs)

    def predict(
        self, inputs: Mapping[str, Any], outputs: Sequence[str] = (), *, timeout: float | None = None, priority: int = 0,
    ) -> dict[str, np.ndarray]:
        """Returns the outputs by name for inputs by name.

        Args:
            inputs: arrays, or what can be made an array.
            outputs: the names of the outputs to return; none means all.
            timeout: seconds after which the call fails.
            priority: batched calls with smaller numbers go first; 0 goes last.

        Raises:
            errors.InvalidArgumentError: if an input is missing, not known, or of another type or shape.
            errors.DeadlineExceededError: after `timeout`.
            errors.ResourceExhaustedError: if too many calls wait.
        """
        return self._here().predict({**inputs}, [*outputs], timeout=timeout, priority=priority)

    async def predict_async(
        self, inputs: Mapping[str, Any], outputs: Sequence[str] = (), *, timeout: float | None = None, priority: int = 0,
    ) -> dict[str, np.ndarray]:
        """Like `predict`, for coroutines: the event loop goes on meanwhile, and no thread waits. If the coroutine is cancelled, the call is."""
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[dict[str, np.ndarray]] = loop.create_future()

        def resolve(found: dict[str, np.ndarray] | None, error: Exception | None) -> None:
            if not answer.done():
                answer.set_result(found) if error is None else answer.set_exception(error)

        def done(found: dict[str, np.ndarray] | None, error: Exception | None) -> None:
            try:
                loop.call_soon_threadsafe(resolve, found, error)
            except RuntimeError:  # the loop was closed, so that nobody waits
                pass

        cancel = self._here().submit({**inputs}, done, [*outputs], timeout=timeout, priority=priority)
        try:
            return await answer
        except asyncio.CancelledError:
            cancel()
            raise

    def __reduce__(self) -> tuple[Any, ...]:
        if self._path is None:
            raise TypeError("a predictor of a loaded model cannot be pickled: make it of the model's path")
        return _unpickled, (self._path, self.signature, self._options)

    def __repr__(self) -> str:
        return f"<flowmill.serving.Predictor {self._path or self._model!r} {self.signature!r}>"


def _unpickled(path: str, signature: str, options: dict[str, Any]) -> Predictor:
    return Predictor(path, signature, **options)


def _specs(specs: Sequence[tuple[str, int, list[int] | None]]) -> dict[str, TensorSpec]:
    return {name: TensorSpec(name, as_dtype(dtype), known_shape(shape)) for name, dtype, shape in specs}
