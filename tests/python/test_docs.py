"""The pages that are made from the code are true."""

import importlib.util
import pathlib

DOCS = pathlib.Path(__file__).parents[2] / "docs"


def test_the_api_page_lists_the_names_there_are():
    spec = importlib.util.spec_from_file_location("make_api_page", DOCS / "make_api_page.py")
    maker = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(maker)
    assert (DOCS / "api.md").read_text() == maker.page(), "run docs/make_api_page.py"


def test_names_that_are_not_there_say_so():
    import flowmill
    import pytest

    with pytest.raises(AttributeError, match="no_such_name"):
        flowmill.no_such_name  # noqa: B018 - the error is what is asked for


def test_ops_that_functions_name_are_in_the_catalogue():
    import re

    from flowmill import _core

    ops = set(_core.op_names())
    package = DOCS.parent / "python" / "flowmill"
    named = {}
    for path in package.rglob("*.py"):
        for op in re.findall(r'\b(?:call|apply_op|_add|add|last)\(\s*"([A-Z][\w>]+)"\s*[,)]', path.read_text()):
            named.setdefault(op, path.name)
    assert len(named) > 300
    assert {op: file for op, file in named.items() if op not in ops} == {}


def test_the_walkthroughs_of_contributing_are_what_the_files_say():
    import re
    import textwrap

    root = DOCS.parent
    text = (root / "CONTRIBUTING.md").read_text()
    numbers = {"four": 4, "six": 6}
    walkthroughs = re.split(r"^## ", text, flags=re.MULTILINE)
    for title, extra in [("Add an op", {"python/flowmill/nn/__init__.py"}), ("Add a pass", {"crates/flowmill-optimize/src/passes/mod.rs"})]:
        (walkthrough,) = [part for part in walkthroughs if part.startswith(title)]
        path, files = None, set(extra)
        for named, block in re.findall(r"^ *`([\w/.-]+\.\w+)`[^\n]*:$|^ *```\w+\n(.*?)^ *```$", walkthrough, flags=re.MULTILINE | re.DOTALL):
            if named:
                path = named
                files.add(path)
            else:
                code = textwrap.dedent(block).rstrip()
                assert code in textwrap.dedent((root / path).read_text()) or textwrap.indent(code, "    ") in (root / path).read_text(), (path, code)
        assert all((root / file).exists() for file in files)
        assert len(files) == numbers[re.search(r"was added by (\w+) files", walkthrough)[1]], sorted(files)
