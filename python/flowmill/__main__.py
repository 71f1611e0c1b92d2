"""The command ``flowmill`` as ``python -m flowmill``."""

import sys

from flowmill_command import main

if __name__ == "__main__":
    sys.exit(main())
