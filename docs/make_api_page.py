"""Writes docs/api.md: which names of TensorFlow 1's API are there. Run it when a name comes; a test holds the page to the code.

    python docs/make_api_page.py
"""

import itertools
import pathlib
import types

import flowmill

HERE = pathlib.Path(__file__).parent
# What `tensorflow.compat.v1` 2.21 offers, and the layers, cells, flags and log of version 1.
NAMES = HERE / "tensorflow_1_names.txt"
PAGE = HERE / "api.md"


def is_there(name):
    """Returns true if `flowmill` has a name with dots."""
    found = flowmill
    for part in name.split("."):
        try:
            found = getattr(found, part)
        except AttributeError:
            return False
    # A file of the package is no name of the API's.
    return not isinstance(found, types.ModuleType)


def page():
    """The page's text."""
    names = NAMES.read_text().split()
    there = {name: is_there(name) for name in names}
    ops = dir(flowmill.raw_ops)
    lines = [
        "# The names of TensorFlow 1", "",
        "Made by `docs/make_api_page.py` from the code. What is asked of a name that is not there is an `AttributeError` that says so.", "",
        f"**{sum(there.values())} of {len(names)}** names are there, and `raw_ops` has {len(ops)} ops.", "",
    ]
    for module, group in itertools.groupby(names, key=lambda n: n.rpartition(".")[0]):
        group = list(group)
        have, lack = ([n.rpartition(".")[2] for n in group if there[n] is state] for state in (True, False))
        lines += [f"## `tf{'.' + module if module else ''}`: {len(have)} of {len(group)}", ""]
        if have:
            lines += ["There: " + ", ".join(f"`{n}`" for n in have) + ".", ""]
        if lack:
            lines += ["Not there: " + ", ".join(f"`{n}`" for n in lack) + ".", ""]
    return "\n".join(lines)


if __name__ == "__main__":
    PAGE.write_text(page())
