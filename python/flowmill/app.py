"""Programs: flags are parsed, then the main function runs."""

from __future__ import annotations

import sys
from collections.abc import Callable

from flowmill import flags

__all__ = ["flags", "run"]


def run(main: Callable | None = None, argv=None) -> None:
    """Parses the flags, calls `main` with the program and the words that are no flags, and exits with what it returns.

    Args:
        main: the function, ``__main__.main`` if it is None.
        argv: the command line, ``sys.argv`` if it is None. Flags that are not defined stay in it.
    """
    main = main or sys.modules["__main__"].main
    command_line = sys.argv if argv is None else list(argv)
    try:
        rest = flags.FLAGS(command_line, known_only=True)
    except flags.Error as error:
        print(f"FATAL Flags parsing error:\n  {error}\nPass --helpfull to see help on flags.", file=sys.stderr)
        sys.exit(1)
    if any(word in ("--help", "-help", "--helpfull", "-h", "-?") for word in rest[1:]):
        flags.FLAGS._print_help()
    sys.exit(main(rest))
