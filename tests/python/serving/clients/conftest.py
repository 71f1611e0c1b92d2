"""The addresses of the server that the clients' tests call."""

import pytest


def pytest_addoption(parser):
    parser.addoption("--rest")
    parser.addoption("--grpc")


@pytest.fixture(scope="session")
def addresses(request):
    """The addresses of REST and of gRPC, as ``host:port``."""
    return {"http": request.config.getoption("--rest"), "grpc": request.config.getoption("--grpc")}
