"""The places of CUDA's libraries."""

from __future__ import annotations

import importlib.util
from pathlib import Path


def library_paths() -> list[str]:
    """Returns the directories with libraries of NVIDIA's Python packages, which ``pip install flowmill[cuda]`` installs."""
    spec = importlib.util.find_spec("nvidia")
    roots = [] if spec is None else list(spec.submodule_search_locations or [])
    return [str(path) for root in roots for path in sorted(Path(root).glob("*/lib")) if path.is_dir()]
