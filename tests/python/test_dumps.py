"""`FLOWMILL_DUMP`: text of what each stage of a compilation leaves."""

import os
import subprocess
import sys

import pytest

STAGES = ["pruned", "lowered", "optimized", "partitioned", "planned", "fused"]

PROGRAM = """
import flowmill as tf
x = tf.placeholder(tf.float32, [], name="x")
loop = tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a * 2.0), [tf.constant(0), x])[1]

@tf.function
def cube(a):
    return a * a * a

recursive = tf.identity(tf.cond(x > 0.0, lambda: cube(x), lambda: loop), name="chosen")
with tf.Session() as sess:
    assert sess.run([recursive, loop], {x: 2.0}) == [8.0, 16.0]
"""


@pytest.fixture(scope="module")
def dumps(tmp_path_factory):
    """The files by their names without numbers."""
    folder = tmp_path_factory.mktemp("dumps")
    subprocess.run([sys.executable, "-c", PROGRAM], env={**os.environ, "FLOWMILL_DUMP": str(folder)}, check=True, timeout=60)
    files = sorted(folder.iterdir())
    assert [int(file.name[:4]) for file in files] == list(range(len(files)))
    return {file.name[5:]: file.read_text() for file in files}


def test_every_stage_writes_what_it_leaves(dumps):
    assert list(dumps) == [f"chosen-0.{stage}.txt" for stage in STAGES]


def test_graphs_and_plans_can_be_read(dumps):
    pruned, lowered, optimized, _, planned, fused = dumps.values()
    assert "= PartitionedCall(" in pruned and "= PartitionedCall(" not in lowered
    assert lowered.startswith("# inline_calls: 1 changes\n")
    assert optimized.startswith("# remove_identities: 3 changes\n")
    assert planned.startswith("frame 1: while/while_context in frame 0, 10 parallel iterations\n")
    assert "Enter while/Enter_1 = Enter(" in planned
    counter = next(line for line in planned.splitlines() if "Merge while/Merge = " in line)
    assert counter.endswith(" in frame 1: [], []")
    assert "Program" in fused and "Program" not in planned
