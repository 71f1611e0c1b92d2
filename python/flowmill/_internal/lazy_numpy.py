"""NumPy, imported when something of it is first used: a program that reads, changes or writes graphs starts without it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
else:

    class _NumPy:
        """Stands for the module."""

        def __getattr__(self, name: str):
            import numpy  # start-up: NumPy is loaded when it is used

            found = getattr(numpy, name)
            setattr(self, name, found)
            return found

    np = _NumPy()

__all__ = ["np"]
