"""Imports within the package's functions: each has a comment that says why it is not at the module's top."""

import ast
import re
from pathlib import Path

import pytest

import flowmill

PACKAGE = Path(flowmill.__file__).parent
REASON = re.compile(r"# (start-up|cycle): \w")


def without_reason(source: str) -> list[int]:
    """Returns the lines of imports in functions that do not end in a comment ``# start-up: reason`` or ``# cycle: reason``."""
    lines = source.splitlines()
    functions = [node for node in ast.walk(ast.parse(source)) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]
    imports = {node for function in functions for node in ast.walk(function) if isinstance(node, (ast.Import, ast.ImportFrom))}
    return sorted(node.lineno for node in imports if not REASON.search(lines[node.end_lineno - 1]))


def test_imports_in_functions_save_start_up_or_break_a_cycle():
    sources = {path: path.read_text() for path in sorted(PACKAGE.rglob("*.py"))}
    assert any("# cycle: " in source for source in sources.values())
    found = [f"{path.relative_to(PACKAGE)}:{line}" for path, source in sources.items() for line in without_reason(source)]
    assert not found, f"move to the module's top, or end the line with `# start-up: reason` or `# cycle: reason`: {found}"


@pytest.mark.parametrize("source, lines", [
    ("import json\n", []),
    ("def f():\n    import json\n", [2]),
    ("class C:\n    def f(self):\n        if self:\n            from flowmill import nest, raw_ops\n", [4]),
    ("def f():\n    import json  # used below\n", [2]),
    ("def f():\n    import json  # cycle:\n", [2]),
    ("def f():\n    import json  # start-up: rarely used\n    from flowmill import nest  # cycle: nest imports this module\n", []),
])
def test_an_import_without_a_reason_is_found(source, lines):
    assert without_reason(source) == lines
