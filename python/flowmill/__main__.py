"""The command ``flowmill``, which is ``python -m flowmill`` too."""

import signal
import sys

from flowmill import _core


def main() -> int:
    """Runs the command line and returns its exit status."""
    # No Python code runs until it ends: Ctrl-C ends the process.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return _core.run_command_line(["flowmill", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
