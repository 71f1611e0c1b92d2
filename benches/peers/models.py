"""Whole models, made by make_models.py with TensorFlow; batch 1 and 32, one and two threads."""
import os

import numpy as np

from measure import Row, minimum
from overhead import flowmill_session, tensorflow_session

# Goals against TensorFlow, as the least ratio and the one aimed at.
GOALS = {"mlp": (2, 5), "lstm": (2, 4), "bert": (0.8, 1.2), "resnet50": (0.8, 1.2), "mobilenetv2": (0.8, 1.2)}


def onnx_session(path, threads):
    if not os.path.exists(path):
        return None
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = threads
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def inputs_of(path, batch):
    """The input's name, the output's name, and a batch made of the stored one."""
    stored = np.load(path)
    first = stored["x_b1"]
    return str(stored["input_name"]), str(stored["output_name"]), np.repeat(first, batch, axis=0)


def rows(directory, names, seconds, batches=(1, 32), thread_counts=(1, 2)):
    for name in names:
        with open(os.path.join(directory, name + ".pb"), "rb") as f:
            graph_def = f.read()
        for threads in thread_counts:
            flow, tensorflow = flowmill_session(graph_def, threads), tensorflow_session(graph_def, threads)
            onnx = onnx_session(os.path.join(directory, name + ".onnx"), threads)
            for batch in batches:
                source, fetch, x = inputs_of(os.path.join(directory, name + ".npz"), batch)
                calls = {"flowmill": lambda: flow.run(fetch, {source: x}), "tensorflow": lambda: tensorflow.run(fetch, {source: x})}
                if onnx is not None:
                    onnx_input = onnx.get_inputs()[0].name
                    calls["onnxruntime"] = lambda: onnx.run(None, {onnx_input: x})
                np.testing.assert_allclose(calls["flowmill"](), calls["tensorflow"](), rtol=2e-4, atol=2e-5)
                work = "%s, batch %d, %d thread%s" % (name, batch, threads, "s" if threads > 1 else "")
                yield Row(work, minimum(calls, seconds), *GOALS[name])
