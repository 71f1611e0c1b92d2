"""Runs the tests that need a GPU on the stub of the CUDA driver (`testing/stub_cuda`), once in the order of calls and once with asynchronous work
delayed and reordered. Each time is a process, since a process opens its GPUs once.
"""

import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[2]
# The names under which the process looks for the stub.
LIBRARIES = ["libcuda.so", "libnvrtc.so"]


@pytest.fixture(scope="module")
def libraries(tmp_path_factory):
    """A directory with the stub's libraries. A loaded library is known by the name that is in it, and the stub has one name only: the libraries need the
    stub and have nothing of their own."""
    stub = next((path for path in (ROOT / "target" / kind / "libstub_cuda.so" for kind in ("debug", "release")) if path.exists()), None)
    if stub is None:
        pytest.skip("target has no libstub_cuda.so, which `cargo build --workspace` makes")
    directory = tmp_path_factory.mktemp("stub_cuda")
    compiler = os.environ.get("CXX", "c++")
    for name in LIBRARIES:
        command = [compiler, "-shared", f"-Wl,-soname,{name}", "-Wl,--no-as-needed", stub, "-o", directory / name]
        try:
            subprocess.run(command, check=True)
        except FileNotFoundError:
            pytest.skip(f"no C++ compiler {compiler}, which compiles the kernels for the stub")
    return directory


@pytest.mark.parametrize("seed", [None, 1], ids=["in_order", "reordered"])
def test_everything_on_the_stub(libraries, tmp_path, seed):
    environment = {**os.environ, "FLOWMILL_CUDA_PATH": str(libraries), "FLOWMILL_CACHE": str(tmp_path), "FLOWMILL_STUB_CUDA": str(libraries / "libcuda.so")}
    if seed is not None:
        environment["FLOWMILL_STUB_SEED"] = str(seed)
    tests = pathlib.Path(__file__).parent / "gpu"
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", tests], env=environment, capture_output=True, text=True)
    assert done.returncode == 0 and "skipped" not in done.stdout, done.stdout + done.stderr
