"""The signatures of functions."""

from inspect import (
    currentframe, getargvalues, getcallargs, getdoc, getfile, getfullargspec, getmembers, getmodule, getmro, getsource, getsourcefile, isbuiltin,
    isclass, isfunction, isgenerator, isgeneratorfunction, ismethod, ismodule, isroutine, signature, stack,
)

getargspec = getfullargspec

__all__ = [
    "currentframe", "getargspec", "getargvalues", "getcallargs", "getdoc", "getfile", "getfullargspec", "getmembers", "getmodule", "getmro", "getsource",
    "getsourcefile", "isbuiltin", "isclass", "isfunction", "isgenerator", "isgeneratorfunction", "ismethod", "ismodule", "isroutine", "signature", "stack",
]
