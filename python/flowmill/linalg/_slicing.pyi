# Made by python/make_stubs from the code.

from typing import Any

def sliced(operator, key) -> Any: ...
