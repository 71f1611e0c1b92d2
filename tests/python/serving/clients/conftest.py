"""The addresses of the server that the clients' tests call."""

import pytest


def pytest_addoption(parser):
    parser.addoption("--rest")
    parser.addoption("--grpc")
    parser.addoption("--collector", type=int)


@pytest.fixture(scope="session")
def addresses(request):
    """The addresses of REST and of gRPC, as ``host:port``, and the port of the collector that the server sends spans to."""
    return {"http": request.config.getoption("--rest"), "grpc": request.config.getoption("--grpc"), "collector": request.config.getoption("--collector")}
