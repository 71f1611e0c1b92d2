"""Tests that need a GPU. `test_stub_gpus.py` runs them on the stub of the CUDA driver, `make test-gpu` on the GPUs of the machine."""

import ctypes
import os

import pytest

import flowmill as tf

# The library of the stub, if these tests run on it.
STUB = os.environ.get("FLOWMILL_STUB_CUDA")


def _num_gpus() -> int:
    with tf.Session(graph=tf.Graph(), config=tf.SessionOptions(device_count={"GPU": 8})) as session:
        return sum(device.device_type == "GPU" for device in session.list_devices())


@pytest.fixture(scope="session")
def num_gpus(stub) -> int:
    """The number of GPUs; without any, the test is skipped."""
    found = _num_gpus()
    if not found:
        pytest.skip("no GPU was found")
    return found


@pytest.fixture(scope="session")
def stub():
    """The stub's library with its controls, or None on a real GPU. With ``FLOWMILL_STUB_SEED``, work of streams is delayed and reordered."""
    if STUB is None:
        return None
    library = ctypes.CDLL(STUB)
    for name in ("launches", "copied_bytes"):
        function = getattr(library, f"stub_cuda_{name}")
        function.argtypes, function.restype = [ctypes.c_uint], ctypes.c_uint64
    library.stub_cuda_set_asynchronous.argtypes = [ctypes.c_uint64]
    library.stub_cuda_set_asynchronous.restype = None
    if seed := os.environ.get("FLOWMILL_STUB_SEED"):
        library.stub_cuda_set_asynchronous(int(seed))
    return library


@pytest.fixture
def control_flow():
    """Puts the module back to frames afterwards."""
    yield
    tf.disable_control_flow_v2()


@pytest.fixture(scope="session")
def tolerance(stub) -> dict:
    """The allowed differences from the CPU. Products on a real GPU round to TensorFloat-32."""
    return {"rtol": 1e-4, "atol": 1e-5} if stub else {"rtol": 2e-2, "atol": 2e-2}
