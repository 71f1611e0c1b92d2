"""A model server in this process."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from flowmill import _core
from flowmill.errors import OpError, exception_type_from_error_code
from flowmill.serving._options import Batching, Tls, batching_text, tls_texts

_Path = str | os.PathLike[str]


class ModelVersion(NamedTuple):
    """A version of a model of a server."""

    version: int
    state: str
    """``START``, ``LOADING``, ``AVAILABLE``, ``UNLOADING`` or ``END``."""
    error: OpError | None
    """Why it could not be loaded, if so."""


class Server:
    """A model server that runs on threads of this process, until it is stopped.

    It starts at once and answers requests for a model as soon as the model is loaded::

        with serving.Server("models/digits") as server:
            server.wait_until_ready(60)
            httpx.post(f"{server.rest_url}/v1/models/digits:predict", json={"instances": images})

    The process that started a server is the one that it runs in: in a forked process its methods raise `FailedPreconditionError`, `stop` does nothing,
    and the listening sockets are inherited, so fork before a server is started or use the start method ``spawn``.
    """

    def __init__(
        self,
        models: _Path | Mapping[str, _Path] | None = None,
        *,
        repository: _Path | Iterable[_Path] = (),
        model_config_file: _Path | None = None,
        host: str = "127.0.0.1",
        rest_port: int | None = 0,
        grpc_port: int | None = 0,
        management_port: int | None = None,
        control: Literal["poll", "explicit", "none"] = "poll",
        load: Iterable[str] = (),
        poll_seconds: float = 1.0,
        warmup: bool = True,
        batching: Batching | bool | None = None,
        per_model_batching: bool = False,
        tags: Iterable[str] = ("serve",),
        threads: int = 0,
        io_threads: int = 0,
        tls: Tls | None = None,
        tokens: Mapping[str, Sequence[Literal["inference", "management", "observation"]]] | None = None,
        request_timeout: float = 30.0,
        drain_timeout: float = 30.0,
        max_request_bytes: int | None = None,
        max_requests_in_flight: int | None = None,
        max_bytes_in_flight: int | None = None,
        max_connections: int | None = None,
        metrics_path: str | None = None,
        cors: bool = False,
        otlp_endpoint: str | None = None,
        inference_precision: Literal["f32", "bf16"] = "f32",
    ) -> None:
        """Starts a server.

        Args:
            models: a model, whose name is that of its directory or file, or models by name. A model is a directory with a child for each version, a
                SavedModel, or a frozen graph.
            repository: directories of which each child is a model.
            model_config_file: a file with a `ModelServerConfig` in protobuf's text format.
            host: the address to listen on.
            rest_port: the port of the REST APIs; 0 takes a free one, None turns them off.
            grpc_port: the port of the gRPC services; 0 takes a free one, None turns them off.
            management_port: a port for the routes that load, unload and configure models; None serves them with all others.
            control: who decides which models are loaded: the file system, requests, or the start alone.
            load: the models to load at the start with ``control="explicit"``.
            poll_seconds: the time between two looks at the file system; 0 looks once.
            warmup: makes requests of a model before it is served.
            batching: runs requests that arrive close together as one step; True takes the defaults of `Batching`.
            per_model_batching: reads a version's own ``batching_params.pbtxt``.
            tags: the tags of a SavedModel's graph.
            threads: the threads of all models together; 0 is one per core.
            io_threads: the threads that read requests and write answers; 0 is one per core.
            tls: encrypts connections.
            tokens: the groups of routes that each token opens. Without tokens, everybody may call everything.
            request_timeout: the seconds in which a REST request is answered.
            drain_timeout: the seconds that requests may go on after `stop`.
            max_request_bytes: the largest body of a request.
            max_requests_in_flight: how many requests are answered at once.
            max_bytes_in_flight: the bytes of all requests that are being answered.
            max_connections: how many connections are open at once.
            metrics_path: a path of the metrics beside ``/metrics``.
            cors: answers browsers' requests of other origins.
            otlp_endpoint: the URL of a collector of OpenTelemetry, such as ``http://localhost:4318``, to which spans of requests are sent by OTLP over HTTP.
                OpenTelemetry's environment variables set the rest, such as ``OTEL_TRACES_SAMPLER``. None sends none.
            inference_precision: the least precision in which ``float32`` is multiplied by constant weights; see `Predictor`.

        Raises:
            errors.InvalidArgumentError: if options contradict each other.
            errors.UnavailableError: if an address is taken.
        """
        given: list[tuple[str | None, _Path]]
        if models is None:
            given = []
        elif isinstance(models, Mapping):
            given = [*models.items()]
        else:
            given = [(None, models)]
        directories = [repository] if isinstance(repository, (str, os.PathLike)) else [*repository]
        self._host, self._is_encrypted = host, tls is not None
        self._core = _core.Server(
            given, directories, model_config_file, host=host, rest_port=rest_port, grpc_port=grpc_port, management_port=management_port, control=control,
            startup_models=[*load], poll_seconds=poll_seconds, warm_up=warmup, batching=batching_text(batching), per_model_batching=per_model_batching,
            tags=[*tags], threads=threads, io_threads=io_threads, tls=tls_texts(tls), tokens=[(token, [*groups]) for token, groups in (tokens or {}).items()],
            request_timeout=request_timeout, drain_timeout=drain_timeout, max_request_bytes=max_request_bytes,
            max_requests_in_flight=max_requests_in_flight, max_bytes_in_flight=max_bytes_in_flight, max_connections=max_connections,
            metrics_path=metrics_path, cors=cors, otlp_endpoint=otlp_endpoint, inference_precision=inference_precision,
        )

    @property
    def rest_url(self) -> str:
        """The URL of the REST APIs, without a slash at its end; empty if they are off."""
        return self._url(self._core.ports()[0])

    @property
    def grpc_address(self) -> str:
        """The address of the gRPC services, ``host:port``; empty if they are off."""
        return self._address(self._core.ports()[1])

    @property
    def management_url(self) -> str:
        """The URL of the routes for management; empty if they have no port of their own."""
        return self._url(self._core.ports()[2])

    def _address(self, port: int | None) -> str:
        # A server that listens on all addresses is reached here by the loopback one.
        host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self._host, self._host)
        return "" if port is None else f"[{host}]:{port}" if ":" in host else f"{host}:{port}"

    def _url(self, port: int | None) -> str:
        return "" if port is None else f"http{'s' * self._is_encrypted}://{self._address(port)}"

    def wait_until_ready(self, timeout: float = 60.0) -> Server:
        """Waits until every model has a version that is served; returns the server.

        Raises:
            errors.DeadlineExceededError: after `timeout` seconds.
            errors.UnavailableError: if models cannot be loaded and are not tried again, or if the server has been stopped.
        """
        self._core.wait_until_ready(timeout)
        return self

    def models(self) -> dict[str, list[ModelVersion]]:
        """Returns the models by name, with their versions, the largest first."""
        def version(number: int, state: str, error: tuple[int, str] | None) -> ModelVersion:
            return ModelVersion(number, state, None if error is None else exception_type_from_error_code(error[0])(None, None, error[1]))
        return {name: [version(*entry) for entry in versions] for name, versions in self._core.models()}

    def load(self, model: str) -> None:
        """Loads a model and waits for it, with ``control="explicit"``.

        Raises:
            errors.OpError: of a model that does not exist or cannot be loaded.
        """
        self._core.load(model)

    def unload(self, model: str) -> None:
        """Unloads a model, with ``control="explicit"``.

        Raises:
            errors.OpError: of a model that is not served.
        """
        self._core.unload(model)

    def stop(self) -> None:
        """Ends the server: it takes no more connections, answers the requests that it has, and unloads its models. May be called again.

        Raises:
            errors.DeadlineExceededError: if requests did not end within the drain timeout. The server has ended nevertheless.
        """
        self._core.stop()

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *exc_info: Any) -> None:
        self.stop()

    def __repr__(self) -> str:
        return f"<flowmill.serving.Server rest={self.rest_url!r} grpc={self.grpc_address!r}>"
