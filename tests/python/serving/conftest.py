"""Servers, models and clients for the tests of `flowmill.serving`."""

import os
import pathlib
import sys

import numpy as np
import pytest

from flowmill import serving
from served_models import DIGITS, Http, add_examples_version, add_version

# The virtual environment of the clients, which `make` fills.
CLIENTS = pathlib.Path(os.environ.get("FLOWMILL_SERVING_CLIENTS", pathlib.Path(sys.prefix) / "serving-clients"))


@pytest.fixture(scope="session")
def linear(tmp_path_factory):
    """The directory of a model with one version; see `add_version`."""
    return add_version(tmp_path_factory.mktemp("models") / "linear")


@pytest.fixture(scope="session")
def classified(tmp_path_factory, tf1):
    """The directory of a model with signatures for classification and regression; see `add_examples_version`."""
    return add_examples_version(tf1, tmp_path_factory.mktemp("models") / "classified")


@pytest.fixture(scope="session")
def digits_data():
    """Inputs of the digits model and what it computes for them."""
    return dict(np.load(DIGITS / "expected.npz"))


@pytest.fixture(scope="session")
def client_packages():
    """Makes the clients that any protobuf suits importable; those of the tests' own environment come first."""
    found = sorted(CLIENTS.glob("lib/python3*/site-packages"))
    if not found:
        pytest.skip(f"{CLIENTS} has no clients: run `make test-python`")
    sys.path.append(str(found[0]))
    yield
    sys.path.remove(str(found[0]))


@pytest.fixture(scope="session")
def clients_python():
    """The interpreter of the clients' environment."""
    path = CLIENTS / "bin" / "python"
    if not path.exists():
        pytest.skip(f"{CLIENTS} has no clients: run `make test-python`")
    return path


@pytest.fixture(scope="module")
def server(linear, classified):
    """A server of the models `classified`, `digits` and `linear`, all loaded."""
    with serving.Server({"classified": classified, "digits": DIGITS, "linear": linear}) as server:
        yield server.wait_until_ready(120)


@pytest.fixture(scope="module")
def http(server):
    """Sends requests to `server`."""
    return Http(server.rest_url)
