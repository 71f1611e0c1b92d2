"""Servers, models and clients for the tests of `flowmill.serving`."""

import os
import pathlib
import subprocess
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


@pytest.fixture(scope="session")
def run_clients(clients_python):
    """Runs a file of `clients` against a server in a process of its own, because the messages of different clients have the same names."""

    def run(file, server, *options):
        tests = pathlib.Path(__file__).parent / "clients" / file
        folder = ["--rootdir", tests.parent, "--confcutdir", tests.parent]
        command = [clients_python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:schemathesis", "-c", "/dev/null", *folder, "--rest",
                   server.rest_url.removeprefix("http://"), "--grpc", server.grpc_address, *options, tests]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stdout[-20_000:] + done.stderr
        assert " passed" in done.stdout and "skipped" not in done.stdout

    return run


@pytest.fixture(scope="module")
def server(linear, classified):
    """A server of the models `classified`, `digits` and `linear`, all loaded."""
    with serving.Server({"classified": classified, "digits": DIGITS, "linear": linear}) as server:
        yield server.wait_until_ready(120)


@pytest.fixture(scope="module")
def http(server):
    """Sends requests to `server`."""
    return Http(server.rest_url)
