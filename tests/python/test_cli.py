"""The command line, as the wheel carries it."""

import json
import subprocess
import sys
from xml.etree import ElementTree

import numpy as np
import pytest

import flowmill as tf


def flowmill(*args, status=0):
    """Runs the command; gives what it printed."""
    done = subprocess.run([sys.executable, "-m", "flowmill", *map(str, args)], capture_output=True, text=True)
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout if status == 0 else done.stderr


@pytest.fixture
def digits(data):
    return data.parents[1] / "examples" / "digits"


def test_inspect(digits, data):
    text = flowmill("inspect", digits / "1", "--all")
    for word in ("serving_default", "images", "probabilities", "Conv2D", "NextIteration"):
        assert word in text
    graphs = json.loads(flowmill("inspect", digits / "1", "--json"))["graphs"]
    assert graphs[0]["signatures"]["serving_default"]["inputs"]["images"]["dtype"] == "float32"
    assert "MatMul" in flowmill("inspect", data / "models" / "mlp.pb")


def test_inspect_tells_why_nodes_are_not_on_a_gpu(tmp_path):
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [2, 2], name="x")
        with tf.device("/cpu:0"):
            tf.tanh(x, name="requested")
        tf.tanh(x, name="free")
        tf.as_string(x, name="text")
        tf.linalg.qr(x, name="factors")
        tf.tanh(tf.cast(x, tf.complex64), name="complex")
    (tmp_path / "graph.pb").write_bytes(graph.as_graph_def().SerializeToString())
    devices = json.loads(flowmill("inspect", tmp_path / "graph.pb", "--devices", "--json"))["graphs"][0]["devices"]
    reasons = {node: reason for reason, ops in devices["cpu"].items() for nodes in ops.values() for node in nodes}
    assert "free" not in reasons and devices["gpu"] >= 1
    assert reasons["requested"] == "requests /device:CPU:0"
    assert reasons["text"] == "strings are in the host's memory"
    assert reasons["factors"] == "no GPU kernel"
    assert reasons["complex"].startswith("GPU kernels of Tanh have T in ")
    text = flowmill("inspect", tmp_path / "graph.pb", "--devices")
    assert f"with a GPU: {devices['gpu']} nodes on GPU:0, {len(reasons)} on CPU:0" in text
    assert "CPU:0 Qr: no GPU kernel; 1 nodes: factors" in text
    assert "with a GPU" not in flowmill("inspect", tmp_path / "graph.pb")


def test_run_gives_the_models_outputs(digits, tmp_path):
    expected = np.load(digits / "expected.npz")
    np.savez(tmp_path / "x.npz", images=expected["images"])
    report = json.loads(flowmill("run", digits / "1", "--inputs", tmp_path / "x.npz", "--outputs", tmp_path / "y.npz", "--json"))
    assert report["outputs"]["probabilities"] == {"dtype": "float32", "shape": [297, 10]}
    got = np.load(tmp_path / "y.npz")
    np.testing.assert_array_equal(got["classes"], expected["classes"])
    np.testing.assert_allclose(got["probabilities"], expected["probabilities"], rtol=1e-4, atol=1e-5)


def test_bench(digits, tmp_path):
    report = json.loads(flowmill("bench", digits / "1", "--batch", "2", "--seconds", "0.2", "--trace", tmp_path / "trace.json", "--json"))
    assert report["runs"] > 0 and report["by_op"] and report["compared"] == []
    optimizations = report["optimizations"]
    assert 0 < optimizations["nodes_after"] < optimizations["nodes_before"]
    assert {p["name"]: p["changes"] for p in optimizations["passes"]}["fuse_epilogues"] > 0
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    assert {"X", "M", "C"} <= {event["ph"] for event in events}


def test_bench_shows_algorithms_and_limits(digits, monkeypatch):
    # The algorithm depends on the instruction set.
    monkeypatch.setenv("FLOWMILL_MAX_ISA", "portable")
    arguments = ("bench", digits / "1", "--batch", "3", "--seconds", "0.1", "--top", "100")
    roofline = json.loads(flowmill(*arguments, "--json"))["roofline"]
    assert roofline["flops_per_second"] > 1e6 and [level["capacity"] for level in roofline["memory"]] == [256 << 10, 4 << 20, 64 << 20]
    nodes = {node["name"]: node for node in roofline["nodes"]}
    convolution = nodes["cnn/Relu"]
    # Two for each of 3 images of 8 x 8 positions, 16 output channels and 3 x 3 taps; one for each bias and activation.
    assert convolution["operations"] == 3 * 64 * 16 * (2 * 9 + 2)
    assert convolution["bytes"] == 4 * (3 * 64 + 9 * 16 + 16 + 3 * 64 * 16)
    assert convolution["algorithm"] == "product of patches" and convolution["limited_by"] in ("arithmetic", "bytes")
    assert convolution["share_of_limit"] > 0
    assert nodes["rnn/while/add"]["calls"] == 8 and nodes["rnn/while/add"]["algorithm"].startswith("product")
    memory = json.loads(flowmill(*arguments, "--memory", "--json"))["memory"]
    assert 0 < memory["bytes"] <= memory["bytes_without_passes"]
    assert "cnn/Relu (_FusedConv2D)" in flowmill(*arguments) and "limits of this machine" in flowmill(*arguments)


def test_bench_measures_other_engines_beside(digits):
    arguments = ("bench", digits / "1", "--seconds", "0.1", "--json")
    own, other = json.loads(flowmill(*arguments, "--compare", "tensorflow"))["compared"]
    assert (own["engine"], other["engine"], other["error"]) == ("flowmill", "tensorflow", None)
    assert other["runs"] >= 8 and other["min_ms"] > 0 and other["difference"] < 1e-5
    rows = json.loads(flowmill(*arguments, "--compare", "tensorflow", "--python", "/no/python"))["compared"]
    assert rows[0]["error"] is None and "/no/python" in rows[1]["error"] and rows[1]["min_ms"] is None
    missing = json.loads(flowmill(*arguments, "--compare", "onnxruntime", "--onnx", "/no/model.onnx"))["compared"][1]
    assert missing["error"]
    assert "invalid value 'torch'" in flowmill(*arguments, "--compare", "torch", status=2)


def test_run_writes_a_page(digits, tmp_path):
    np.savez(tmp_path / "x.npz", images=np.load(digits / "expected.npz")["images"])
    flowmill("run", digits / "1", "--inputs", tmp_path / "x.npz", "--trace", tmp_path / "step.html")
    page = (tmp_path / "step.html").read_text()
    assert page.startswith("<!doctype html>") and "Conv2D" in page and "http" not in page.replace("http-equiv", "")
    assert "No such file" in flowmill("run", digits / "1", "--inputs", tmp_path / "x.npz", "--trace", tmp_path / "none" / "x.json", status=1)


def test_profile(digits, tmp_path):
    arguments = ["profile", digits / "1", "--batch", "2", "--steps", "2"]
    report = json.loads(flowmill(*arguments, "--trace", tmp_path / "trace.json", "--json"))
    assert report["step_us"] > 0 and report["critical_path"]["nodes"] and report["memory_peaks"]["cpu"]["bytes"] > 0
    assert report["by_op"][0]["us"] >= report["by_op"][-1]["us"] and report["by_scope"] and report["by_node"]
    assert json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    text = flowmill(*arguments, "--view", "op")
    assert "critical path:" in text and "node name | requested bytes | total execution time" in text
    assert "_TFProfRoot" in flowmill(*arguments, "--depth", "1")


def test_ops_and_the_types_of_their_kernels():
    assert flowmill("ops", "FusedBatchNormV3").startswith("Op<name=FusedBatchNormV3; signature=x:T, scale:U")
    lines = flowmill("ops", "--kernels", "AddN", "MatMul").splitlines()
    assert "MatMul CPU" in lines, "all types that the op allows"
    (sums,) = [line for line in lines if line.startswith("AddN ")]
    assert sums.startswith("AddN CPU T=float32,") and "string" not in sums
    kernels = json.loads(flowmill("ops", "--kernels", "--json", "Angle"))["Angle"]["kernels"]["CPU"]
    assert {"T": ["complex64"], "Tout": ["float32"]} in kernels


def test_a_reader_that_goes_away_is_no_failure():
    program = [sys.executable, "-m", "flowmill", "ops"]
    with subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == ""
    assert process.returncode == 0


def test_the_command_imports_neither_the_package_nor_numpy():
    program = "import sys; sys.argv = ['flowmill', 'ops', 'MatMul']; from flowmill_command import main; main(); print({'flowmill', 'numpy'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "MatMul" in done.stdout and done.stdout.endswith("set()\n"), done.stdout + done.stderr


def test_failures_are_one_line(tmp_path):
    assert "flowmill:" in flowmill("inspect", tmp_path / "none", status=1)
    assert "Usage" in flowmill("fly", status=2)
    (tmp_path / "noise.pb").write_bytes(b"\xff" * 100)
    assert len(flowmill("inspect", tmp_path / "noise.pb", status=1).strip().splitlines()) == 1


def test_help():
    for command in ("inspect", "run", "bench", "ops"):
        assert "Example" in flowmill(command, "--help")


def test_place_draws_devices_as_lanes_and_compares_placements(digits, tmp_path):
    picture = tmp_path / "out.svg"
    args = ("place", digits / "1", "--devices", "cpu:3", "--batch", "64", "--effort", "20000", "--svg", picture)
    report = json.loads(flowmill(*args, "--json"))
    others = report["other_placements_us"]
    assert others["lower_bound"] <= report["predicted_us"] <= others["simple_placer"]
    assert [d["name"] for d in report["devices"]] == ["CPU:0", "CPU:1", "CPU:2"]
    assert report["nodes"][0]["predicted_us"] >= report["nodes"][-1]["predicted_us"] > 0
    lanes = ElementTree.parse(picture).getroot().itertext()
    assert {"CPU:0 simulated", "CPU:1 simulated", "CPU:2 simulated"} <= {text.strip() for text in lanes}
    text = flowmill(*args)
    assert "predicted" in text and "HEFT" in text
    assert "'cpu' is not a type" in flowmill("place", digits / "1", "--devices", "cpu", status=1)


def test_calibrate_writes_what_place_reads(digits, tmp_path):
    machine = tmp_path / "machine.json"
    flowmill("calibrate", "--devices", "3", "--seconds", "0.05", "--out", machine)
    devices = json.loads(machine.read_text())["devices"]
    assert [d["name"] for d in devices] == ["CPU:0", "CPU:1", "CPU:2"]
    assert all(d["flops_per_second"] > 1e6 and d["bytes_per_second"] > 1e6 and 0 < d["launch_seconds"] < 1e-2 for d in devices)
    rates = devices[0]["kernel_rates"]
    assert {"product", "thin_product", "convolution", "depthwise_convolution", "elementwise"} <= rates.keys()
    assert all(rate["operations_per_second"] > 1e5 and 0 <= rate["seconds_per_call"] < 1e-1 for rate in rates.values())
    args = ("place", digits / "1", "--machine", machine, "--effort", "5000")
    assert len(json.loads(flowmill(*args, "--json"))["devices"]) == 3
    assert len(json.loads(flowmill(*args, "--json", "--devices", "CPU:2"))["devices"]) == 2
    assert "3 devices of type CPU, not 4" in flowmill(*args, "--devices", "CPU:4", status=1)
    machine.write_text(machine.read_text().replace("link", "chain"))
    assert "machine.json" in flowmill(*args, status=1)


def test_place_compares_a_real_step_with_the_simulated_one(data, tmp_path):
    picture = tmp_path / "out.svg"
    args = ("place", data / "models" / "mlp.pb", "--devices", "CPU:2", "--batch", "4", "--effort", "5000", "--measure")
    report = json.loads(flowmill(*args, "--svg", picture, "--json"))
    # The nodes' own times make up nearly all of a step.
    assert 0.3 * report["measured_us"] < report["predicted_from_measured_us"] < 3 * report["measured_us"]
    assert any(node["measured_us"] for node in report["nodes"])
    assert {"CPU:0 simulated", "CPU:0 measured", "CPU:1 measured"} <= {text.strip() for text in ElementTree.parse(picture).getroot().itertext()}
    text = flowmill(*args)
    assert "measured, error" in text
    assert "CPU only" in flowmill("place", data / "models" / "mlp.pb", "--devices", "CPU:1,GPU:1", "--effort", "5000", "--measure", status=1)
