# Made by python/make_stubs from the code.


__all__ = [
    "MethodNameUpdater",
]

class MethodNameUpdater:
    def __init__(self, export_dir) -> None: ...
    def replace_method_name(self, signature_key: str, method_name: str, tags=None) -> None: ...
    def save(self, new_export_dir=None) -> None: ...
