"""Measures a model in another engine, for `flowmill bench --compare`.

Reads a job as a line of JSON: the engine, the model's file and its kind, the tensors of inputs and outputs by name, an .npz file of inputs and one for
outputs, and the number of threads. Answers with a line of JSON, and then with one for each number of seconds that it reads.
"""

import json
import os
import subprocess
import sys
import tempfile
import time

import numpy as np


def tensorflow(job, inputs):
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    os.environ["TF_ENABLE_ONEDNN_OPTS"] = os.environ.get("TF_ENABLE_ONEDNN_OPTS", "1")
    import tensorflow as tf

    v1 = tf.compat.v1
    graph = tf.Graph()
    threads = job["threads"]
    config = v1.ConfigProto(intra_op_parallelism_threads=threads, inter_op_parallelism_threads=threads)
    with graph.as_default():
        session = v1.Session(graph=graph, config=config)
        if job["kind"] == "saved_model":
            v1.saved_model.loader.load(session, job["tags"], job["model"])
        else:
            definition = v1.GraphDef()
            with open(job["model"], "rb") as file:
                definition.ParseFromString(file.read())
            tf.import_graph_def(definition, name="")
    fetches = list(job["outputs"].values())
    step = session.make_callable(fetches, feed_list=[job["inputs"][name] for name in inputs])
    return tf.__version__, lambda: step(*inputs.values())


def openvino(job, inputs):
    import openvino as ov

    core = ov.Core()
    model = core.read_model(job["model"])

    def port(ports, name, tensor):
        names = (tensor, tensor.split(":")[0], name)
        found = [port for port in ports if port.get_names() & set(names)]
        if not found and len(ports) == 1:
            found = ports
        if not found:
            raise LookupError(f"OpenVINO's model has no tensor '{tensor}'")
        return found[0]

    feeds = {port(model.inputs, name, job["inputs"][name]): value for name, value in inputs.items()}
    # Static shapes are what its compiler optimises for.
    model.reshape({source: list(value.shape) for source, value in feeds.items()})
    options = {"INFERENCE_PRECISION_HINT": "f32", "PERFORMANCE_HINT": "LATENCY"}
    if job["threads"]:
        options["INFERENCE_NUM_THREADS"] = job["threads"]
    compiled = core.compile_model(model, "CPU", options)
    request = compiled.create_infer_request()
    feeds = {source.get_any_name(): value for source, value in feeds.items()}
    targets = [port(compiled.outputs, name, tensor) for name, tensor in job["outputs"].items()]

    def step():
        results = request.infer(feeds, share_inputs=True, share_outputs=True)
        return [results[target] for target in targets]

    return ov.__version__.split("-")[0], step


def onnxruntime(job, inputs):
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.intra_op_num_threads = job["threads"] or os.cpu_count()
    options.log_severity_level = 3
    session = ort.InferenceSession(job["onnx"] or converted(job), options, providers=["CPUExecutionProvider"])

    def named(values, name, tensor):
        names = [value.name for value in values]
        for known in (tensor, tensor.split(":")[0], name):
            if known in names:
                return known
        if len(names) == 1:
            return names[0]
        raise LookupError(f"the ONNX model has no tensor '{tensor}'")

    feeds = {named(session.get_inputs(), name, job["inputs"][name]): value for name, value in inputs.items()}
    fetches = [named(session.get_outputs(), name, tensor) for name, tensor in job["outputs"].items()]
    return ort.__version__, lambda: session.run(fetches, feeds)


def converted(job):
    """Returns the path of the model in ONNX form, made by tf2onnx."""
    path = os.path.join(tempfile.mkdtemp(prefix="flowmill-"), "model.onnx")
    command = [sys.executable, "-m", "tf2onnx.convert", "--opset", "17", "--output", path]
    if job["kind"] == "saved_model":
        command += ["--saved-model", job["model"], "--signature_def", job["signature"], "--tag", ",".join(job["tags"])]
    else:
        command += ["--graphdef", job["model"], "--inputs", ",".join(job["inputs"].values()), "--outputs", ",".join(job["outputs"].values())]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"tf2onnx failed: {(done.stderr.strip().splitlines() or ['no message'])[-1]}")
    return path


def main():
    answers = os.fdopen(os.dup(1), "w")
    # What engines print does not mix with the answers.
    os.dup2(2, 1)

    def answer(**fields):
        print(json.dumps(fields), file=answers, flush=True)

    job = json.loads(sys.stdin.readline())
    try:
        inputs = dict(np.load(job["values"]))
        version, step = {"tensorflow": tensorflow, "openvino": openvino, "onnxruntime": onnxruntime}[job["engine"]](job, inputs)
        outputs = step()
        np.savez(job["results"], **{f"o{i}": np.asarray(output) for i, output in enumerate(outputs)})
        step()
    except Exception as error:  # Whatever an engine raises is its row of the table.
        answer(error=f"{type(error).__name__}: {error}".splitlines()[0], missing=isinstance(error, ModuleNotFoundError))
        return
    answer(version=version)
    for line in sys.stdin:
        end, times = time.perf_counter() + float(line), []
        while not times or time.perf_counter() < end:
            start = time.perf_counter()
            step()
            times.append(time.perf_counter() - start)
        answer(times=times)


main()
