"""Whole models, made by make_models.py with TensorFlow; batch 1 and 32, one and two threads."""
import os

import numpy as np

from measure import Row, minimum
from overhead import flowmill_session, tensorflow_session

# Goals against TensorFlow, as the least ratio and the one aimed at.
GOALS = {"mlp": (2, 5), "lstm": (2, 4), "bert": (0.8, 1.2), "resnet50": (0.8, 1.2), "mobilenetv2": (0.8, 1.2)}


def onnx_session(path, threads):
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = threads
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def inputs_of(path, batch):
    """The input's name, the output's name, and a batch made of the stored one."""
    stored = np.load(path)
    first = stored["x_b1"]
    return str(stored["input_name"]), str(stored["output_name"]), np.repeat(first, batch, axis=0)


def caller(engine, path, threads, batch):
    """A callable that runs the model at `path` (without its ending) and gives its output."""
    source, fetch, x = inputs_of(path + ".npz", batch)
    if engine == "onnxruntime":
        session = onnx_session(path + ".onnx", threads)
        feed = {session.get_inputs()[0].name: x}
        return lambda: session.run(None, feed)[0]
    with open(path + ".pb", "rb") as f:
        session = {"flowmill": flowmill_session, "tensorflow": tensorflow_session}[engine](f.read(), threads)
    return lambda: session.run(fetch, {source: x})


def rows(found, directory, names, seconds, batches=(1, 32), thread_counts=(1, 2)):
    for name in names:
        path = os.path.join(directory, name)
        present = {engine: process for engine, process in found.items() if engine != "onnxruntime" or os.path.exists(path + ".onnx")}
        for threads in thread_counts:
            for batch in batches:
                for engine, process in present.items():
                    process.make(caller, engine, path, threads, batch)
                np.testing.assert_allclose(present["flowmill"].call(), present["tensorflow"].call(), rtol=2e-4, atol=2e-5)
                work = "%s, batch %d, %d thread%s" % (name, batch, threads, "s" if threads > 1 else "")
                yield Row(work, minimum(present, seconds), *GOALS[name])
