"""Measures sessions on the first GPU, beside PyTorch and ONNX Runtime if they are installed and see the GPU.

    python benches/gpu.py            prints a table
    python benches/gpu.py --write    writes benches/GPU.md, with the name of the GPU
    python benches/gpu.py --small    tiny sizes, which show that the code runs; never written

Each figure is the least of many steps. Where a step has many nodes, the time of one is the difference of two steps of different lengths.
"""

import argparse
import importlib.util
import pathlib
import time

import numpy as np

import flowmill as tf

ROOT = pathlib.Path(__file__).parents[1]
PAGE = ROOT / "benches" / "GPU.md"
# Models of make_models.py, or else the small ones of the tests.
MODELS = [ROOT / "benches" / "peers" / "models", ROOT / "tests" / "data" / "models"]
CONFIG = {"device_count": {"GPU": 1}, "allow_soft_placement": True}


def minimum(call, seconds):
    """The least time of a call, which is repeated for this many seconds."""
    call()
    least, end = float("inf"), time.perf_counter() + seconds
    while True:
        start = time.perf_counter()
        call()
        now = time.perf_counter()
        least = min(least, now - start)
        if now > end:
            return least


def per_node(chain, lengths, seconds):
    """The time of one node, by the difference of chains of two lengths. `chain(length)` returns a function that runs a chain."""
    short, long = (minimum(chain(length), seconds) for length in lengths)
    return max(long - short, 0.0) / (lengths[1] - lengths[0])


def flowmill_chain(shape, dtype, node, length):
    graph = tf.Graph()
    with graph.as_default(), tf.device("/gpu:0"):
        start = tf.Variable(tf.fill(shape, tf.constant(0.5, dtype)), use_resource=True)
        x = y = start.read_value()
        for _ in range(length):
            x = node(x, y)
        end, init = tf.reduce_max(x), start.initializer
    # Passes would fold the chain.
    session = tf.Session(graph=graph, config=tf.SessionOptions(optimize=False, **CONFIG))
    session.run(init)
    return session.make_callable(end)


def torch_chain(torch, shape, dtype, node, length):
    y = torch.full(shape, 0.5, dtype=getattr(torch, dtype), device="cuda")

    def run():
        x = y
        for _ in range(length):
            x = node(x, y)
        return x.max().item()
    return run


def loop(length):
    with tf.Graph().as_default() as graph, tf.device("/gpu:0"):
        _, end = tf.while_loop(lambda i, x: i < length, lambda i, x: (i + 1, x * 0.5 + 1.0), [tf.constant(0), tf.zeros([16])])
    return tf.Session(graph=graph, config=tf.SessionOptions(**CONFIG)).make_callable(end)


def find_torch():
    if importlib.util.find_spec("torch") is None:
        return None
    import torch

    return torch if torch.cuda.is_available() else None


def onnx_step(path, x):
    """A step of ONNX Runtime on the GPU, or None if it is not installed or cannot use the GPU."""
    if importlib.util.find_spec("onnxruntime") is None or not path.exists():
        return None
    import onnxruntime

    if "CUDAExecutionProvider" not in onnxruntime.get_available_providers():
        return None
    session = onnxruntime.InferenceSession(path, providers=["CUDAExecutionProvider", "CPUExecutionProvider"])
    feed = {session.get_inputs()[0].name: x}
    return lambda: session.run(None, feed)[0]


def layers(seconds, small, torch):
    """Rows of single kernels and of the overhead: work, unit, Flowmill, PyTorch, ONNX Runtime."""
    lengths = (2, 6) if small else (10, 60)
    side = 16 if small else 4096
    for dtype in ("float32", "bfloat16"):
        figures = [per_node(lambda n: flowmill_chain([side, side], tf.as_dtype(dtype), tf.matmul, n), lengths, seconds)]
        figures.append(torch and per_node(lambda n: torch_chain(torch, [side, side], dtype, torch.matmul, n), lengths, seconds))
        yield f"product of {side}² {dtype}", "TFLOP/s", *[t and 2e-12 * side**3 / t for t in figures], None
    count = 1 << (8 if small else 28)
    for dtype, size in (("float32", 4), ("float16", 2)):
        figures = [per_node(lambda n: flowmill_chain([count], tf.as_dtype(dtype), tf.add, n), lengths, seconds)]
        figures.append(torch and per_node(lambda n: torch_chain(torch, [count], dtype, torch.add, n), lengths, seconds))
        yield f"sum of {count} {dtype}", "GB/s", *[t and 3e-9 * count * size / t for t in figures], None
    lengths = (10, 60) if small else (100, 1100)
    figures = [per_node(lambda n: flowmill_chain([16], tf.float32, tf.add, n), lengths, seconds)]
    figures.append(torch and per_node(lambda n: torch_chain(torch, [16], "float32", torch.add, n), lengths, seconds))
    yield "a small addition", "µs", *[t and 1e6 * t for t in figures], None
    yield "iteration of a while_loop with two small kernels", "µs", 1e6 * per_node(loop, lengths, seconds), None, None


def networks(seconds, small):
    directory = MODELS[1] if small or not any(MODELS[0].glob("*.pb")) else MODELS[0]
    for path in sorted(directory.glob("*.pb")):
        stored = np.load(path.with_suffix(".npz"))
        with tf.Graph().as_default() as graph:
            tf.import_graph_def(path, name="")
        for batch in (1,) if small else (1, 32):
            x = np.repeat(stored["x_b1"], batch, axis=0)
            with tf.Session(graph=graph, config=tf.SessionOptions(**CONFIG)) as session:
                step = session.make_callable(str(stored["output_name"]), [str(stored["input_name"])])
                ours = minimum(lambda: step(x), seconds)
            peer = onnx_step(path.with_suffix(".onnx"), x)
            yield f"{path.stem}, batch {batch}", "ms", 1e3 * ours, None, peer and 1e3 * minimum(peer, seconds)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--seconds", type=float, default=1.0, help="for each figure")
    options = parser.parse_args()
    with tf.Session(graph=tf.Graph(), config=tf.SessionOptions(**CONFIG)) as session:
        gpus = [device for device in session._core.devices() if device[1] == "GPU"]
    if not gpus:
        print("no GPU was found")
        return
    name = gpus[0][4]
    is_stub = "Stub" in name
    small = options.small or is_stub
    seconds = 0.0 if small else options.seconds
    torch = find_torch()
    lines = [name, "", "| work | unit | Flowmill | PyTorch | ONNX Runtime |", "|---|---|---|---|---|"]
    for work, unit, *figures in [*layers(seconds, small, torch), *networks(seconds, small)]:
        lines.append(f"| {work} | {unit} | " + " | ".join("" if figure is None else f"{figure:.3g}" for figure in figures) + " |")
    print("\n".join(lines))
    if options.write and not small:
        about = f"Written by `make bench-gpu`: {__doc__.splitlines()[-1]}"
        PAGE.write_text("# GPU\n\n" + about + "\n\n" + "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
