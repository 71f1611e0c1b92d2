"""Every function that can be called with simple arguments adds TensorFlow's nodes: names, ops, inputs, attributes and values of constants."""

import pytest

import flowmill
from any_arguments import MODULES, calls, functions
from spellings import difference, outcome

# Ways of calling one function that are compared; the first ones that TensorFlow takes.
MOST = 2

# Function: why the nodes are others.
KNOWN = {
    "strings.bytes_split": "ragged tensors of fewer checks",
}


def _sorted(found):
    return found if isinstance(found, Exception) else sorted(found)


@pytest.mark.parametrize("module", MODULES)
def test_nodes(tf1, module):
    found, called = {}, 0
    for home, name in functions(tf1, flowmill):
        full = f"{home}.{name}" if home else name
        if home != module or full in KNOWN:
            continue
        taken = 0
        for call in calls(tf1, home, name):
            theirs = outcome(tf1, call, lambda tf: None)
            if isinstance(theirs, Exception):
                continue
            # Conditionals bring inputs in before what takes them.
            different = difference(_sorted(theirs), _sorted(outcome(flowmill, call, lambda tf: None)))
            if different:
                found[full] = different
            taken += 1
            if taken == MOST:
                break
        called += bool(taken)
    assert not found
    assert called
