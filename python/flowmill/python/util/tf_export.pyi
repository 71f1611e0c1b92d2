# Made by python/make_stubs from the code.

from typing import Any

__all__ = [
    "estimator_export",
    "keras_export",
    "tf_export",
]

class tf_export:
    def __init__(self, *args, **kwargs) -> None: ...
    def __call__(self, func) -> Any: ...
    def export_constant(self, module_name: str, name: str) -> None: ...
estimator_export = tf_export
keras_export = tf_export
