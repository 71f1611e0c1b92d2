"""From the start of a process to the first result, and the size on disk."""
import os
import subprocess
import sys
import time

from measure import Row

HERE = os.path.dirname(os.path.abspath(__file__))
DIGITS = os.path.join(HERE, "..", "..", "examples", "digits")

FLOWMILL = """
import numpy as np, flowmill as tf
x = np.load(%(npz)r)["images"][:1]
print(tf.saved_model.load(%(model)r).signatures["serving_default"](images=x)["classes"])
"""
TENSORFLOW = """
import numpy as np, tensorflow.compat.v1 as tf
x = np.load(%(npz)r)["images"][:1]
with tf.Session(graph=tf.Graph()) as s:
    m = tf.saved_model.loader.load(s, ["serve"], %(model)r)
    d = m.signature_def["serving_default"]
    print(s.run(d.outputs["classes"].name, {d.inputs["images"].name: x}))
"""


def _process(script):
    paths = {"npz": os.path.join(DIGITS, "expected.npz"), "model": os.path.join(DIGITS, "1")}
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "-1"}
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", script % paths], check=True, capture_output=True, env=environment)
    return time.perf_counter() - start


def installed_bytes(package):
    import importlib.util
    root = os.path.dirname(importlib.util.find_spec(package).origin)
    return sum(os.path.getsize(os.path.join(d, f)) for d, _, files in os.walk(root) for f in files if not f.endswith(".pyc"))


def rows(turns=5):
    best = {"flowmill": float("inf"), "tensorflow": float("inf")}
    for _ in range(turns):
        for name, script in (("flowmill", FLOWMILL), ("tensorflow", TENSORFLOW)):
            best[name] = min(best[name], _process(script))
    yield Row("process start to first result of the digits model", best, 30, 60, "s")
    sizes = {name: float(installed_bytes(name)) for name in ("flowmill", "tensorflow", "onnxruntime")}
    yield Row("installed size (package alone)", sizes, 30, 80, "MB")
