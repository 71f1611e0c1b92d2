"""Runs recorded from TensorFlow: the same results, or the same class of error. Those over several devices are recorded by `oracle/record_devices.py`, all
others from TensorFlow's own unit tests, by `oracle/record.py` or before that was written.
"""

import collections
import re

import pytest
import replay

import flowmill as tf

# The least number of runs of each file that must equal TensorFlow's. What is missing is counted by op below, or known:
# * datasets: the cardinality of `flat_map` (3), which TensorFlow finds by running the function.
# * queues_and_tables: tables of int32 keys, which TensorFlow does not have (2). TensorFlow leaves open the order of exported keys (6), of elements of one
#   priority (2) and of dequeues in one step (1).
# * strings: the encoding Shift-JIS (4).
EXPECTED = {
    "array_ops_test": 291,
    "control_flow_ops_py_test": 256,
    "conv_ops_test": 300,
    "datasets": 1439,
    "feature_columns": 669,
    "framework": 153,
    "gradients_test": 64,
    "queues_and_tables": 2901,
    "ragged": 599,
    "random_ops": 1742,
    "reduction_ops_test": 280,
    "session_test": 129,
    "several_devices": 37,
    "sparse_ops": 1017,
    "strings": 1054,
    "tensor_array_ops_test": 341,
    "training": 3045,
    "variables_test": 148,
}

# Of the runs in these files at least this share, whatever the numbers above say.
LEAST_SHARE = {"control_flow_ops_py_test": 0.6, "gradients_test": 0.6, "session_test": 0.6, "tensor_array_ops_test": 0.6}

MISSING = re.compile(r"Op type not registered '(\w+)'|No OpKernel was registered to support Op '(\w+)'")


@pytest.mark.parametrize("name", EXPECTED)
def test_runs_equal_tensorflows(data, name):
    outcomes, missing, other = collections.Counter(), collections.Counter(), collections.Counter()
    for run, kind, detail in replay.outcomes(tf, data / "tf_runs" / f"{name}.zip"):
        outcomes[kind] += 1
        if kind not in ("same", "same error", "skipped"):
            ops = [op for pair in MISSING.findall(detail) for op in pair if op]
            missing.update(ops)
            if not ops:
                other[f"{kind}: {run['test']}: {detail}"] += 1
    counted = sum(outcomes.values()) - outcomes["skipped"]
    good = outcomes["same"] + outcomes["same error"]
    report = "\n".join([
        f"{good} of {counted} runs of {name}: {dict(outcomes)}", "missing ops: " + ", ".join(f"{op} ({n})" for op, n in sorted(missing.items())),
        *(f"{n} x {what}" for what, n in other.most_common())])
    print(report)
    assert good >= EXPECTED[name], report
    assert good >= LEAST_SHARE.get(name, 0) * counted, report


def test_nodes_are_placed_as_in_recorded_runs(data):
    graphs, _, runs = replay.load(data / "tf_runs" / "several_devices.zip")
    devices, num_nodes = set(), 0
    # Of nodes that share a device and request several, soft placement chooses one: not always the one that TensorFlow chooses.
    for run in (run for run in runs if "devices" in run and not run["config"]["allow_soft_placement"]):
        with tf.Graph().as_default() as graph:
            graph_def = tf.GraphDef()
            graph_def.ParseFromString(graphs[run["graph"]])
            tf.import_graph_def(graph_def, name="")
        with replay.session(tf, graph, run) as session:
            placement = session._core.placement()
        ours = {name: int(re.search(r"CPU:(\d+)$", placement[name])[1]) for name in run["devices"]}
        assert ours == run["devices"], run["test"]
        devices.update(ours.values())
        num_nodes += len(ours)
    assert devices == {0, 1, 2, 3} and num_nodes > 300
