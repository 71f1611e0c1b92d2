"""Context managers."""

from contextlib import contextmanager

__all__ = ["contextmanager"]
