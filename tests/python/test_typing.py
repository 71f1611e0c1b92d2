"""The stubs: made from the code as it is, true of what is there when the package runs, and of use to type checkers."""

import os
import pathlib
import re
import subprocess
import sys

import pytest

import flowmill

pytest.importorskip("mypy")

HERE = pathlib.Path(__file__).parent
PACKAGE = pathlib.Path(flowmill.__file__).parent
PROGRAM = HERE / "typed_program.py"
SAID = re.compile(r"typed_program\.py:(\d+): (error|note): (.*?)(?:  \[[a-z-]+\])?$")
REVEALED = re.compile(r'Revealed type is "(.*)"$')


@pytest.fixture(scope="module")
def mypy(tmp_path_factory):
    """Runs a module of mypy; gives its exit status and the lines it writes."""
    directory = tmp_path_factory.mktemp("mypy")
    # Of the package's own source nothing is asked.
    (directory / "mypy.ini").write_text("[mypy]\n[mypy-flowmill.*]\nignore_errors = True\n")
    environment = dict(os.environ)
    if "site-packages" not in PACKAGE.parts:  # it is found by itself only where it is installed
        environment["MYPYPATH"] = str(PACKAGE.parent)
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, (str(PACKAGE.parent), environment.get("PYTHONPATH"))))

    def run(module, *arguments):
        config = "--mypy-config-file" if module.endswith("stubtest") else "--config-file"
        command = [sys.executable, "-m", module, *arguments, config, str(directory / "mypy.ini")]
        done = subprocess.run(command, capture_output=True, text=True, cwd=directory, env=environment)
        return done.returncode, (done.stdout + done.stderr).splitlines()

    return run


def test_stubs_are_those_of_the_code():
    sys.path.append(str(HERE.parent.parent / "python"))
    try:
        from make_stubs import package
    finally:
        sys.path.pop()
    made = package.stubs()
    there = {str(p.relative_to(PACKAGE)) for p in PACKAGE.rglob("*.pyi")}
    assert there - {"_core.pyi"} == made.keys(), "run `python python/make_stubs`"
    for path, text in made.items():
        assert (PACKAGE / path).read_text() == text, f"{path}: run `python python/make_stubs`"


def test_a_program_is_checked(mypy):
    expected = {}
    for number, line in enumerate(PROGRAM.read_text().splitlines(), 1):
        comment = re.search(r"# (error|type): (.*)$", line)
        if comment and line[0] != "#" and "``" not in line:
            expected[number] = comment.groups()
    _, lines = mypy("mypy", "--strict", "--no-error-summary", str(PROGRAM))
    found = {}
    for line in lines:
        said = SAID.search(line)
        if said:
            number, kind, text = said.groups()
            revealed = REVEALED.match(text)
            if revealed or kind == "error":
                assert int(number) not in found, line
                found[int(number)] = ("type", revealed[1]) if revealed else ("error", text)
    assert found.keys() == expected.keys(), [found.get(n, expected.get(n)) for n in sorted(found.keys() ^ expected.keys())]
    for number, (kind, text) in expected.items():
        assert found[number][0] == kind and found[number][1].startswith(text), (number, found[number])


def test_stubs_and_runtime_have_the_same_names_and_signatures(mypy):
    status, lines = mypy("mypy.stubtest", "flowmill", "--concise", "--allowlist", str(HERE / "stubtest_allowlist.txt"))
    assert status == 0, "\n".join(lines)
