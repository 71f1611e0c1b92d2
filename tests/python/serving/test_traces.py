"""The server sends spans of requests to a collector of OpenTelemetry."""

import pytest

from flowmill import errors, serving
from served_models import free_ports


def test_spans_arrive_at_a_collector(run_clients, linear, monkeypatch):
    monkeypatch.setenv("OTEL_SERVICE_NAME", "tests")
    monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "50")
    port, = free_ports(1)
    with serving.Server({"linear": linear}, batching=True, warmup=False, otlp_endpoint=f"http://127.0.0.1:{port}") as server:
        run_clients("spans.py", server.wait_until_ready(120), "--collector", str(port))


def test_wrong_settings_are_refused_by_name(linear, monkeypatch):
    with pytest.raises(errors.InvalidArgumentError, match="collector"):
        serving.Server({"linear": linear}, otlp_endpoint="collector")
    monkeypatch.setenv("OTEL_TRACES_SAMPLER", "sometimes")
    with pytest.raises(errors.InvalidArgumentError, match="OTEL_TRACES_SAMPLER"):
        serving.Server({"linear": linear}, otlp_endpoint="http://127.0.0.1:4318")
