"""The command ``flowmill``. It is no part of the package ``flowmill``, whose import would take more time and memory than a server that has started."""

import importlib.util
import os
import signal
import sys
from importlib.machinery import PathFinder


def _core():
    """Returns the native module of ``flowmill``, loaded without the package if that is not imported already."""
    if module := sys.modules.get("flowmill._core"):
        return module
    package = importlib.util.find_spec("flowmill")
    spec = PathFinder.find_spec("flowmill._core", package.submodule_search_locations)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def main() -> int:
    """Runs the command line and returns its exit status."""
    core = _core()
    # The interpreter with the engines that `bench --compare` measures.
    os.environ.setdefault("FLOWMILL_PYTHON", sys.executable)
    # No Python code runs until it ends: Ctrl-C ends the process.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return core.run_command_line(["flowmill", *sys.argv[1:]])
