"""Loads a model server from this machine and prints a table: ``python benches/serving.py [--program flowmill] [--load PATH] [--write]``.

``--program`` is the command that serves (by default ``flowmill`` beside the interpreter, or else ``python -m flowmill``), ``--load`` the client, which
``cargo build --release -p flowmill-serving --example load`` makes. With ``--large PATH``, a model that is loaded and unloaded all the time beside another
one, the latencies of that one are measured too. Where ``wrk`` and ``h2load`` are installed (Debian: ``wrk``, ``nghttp2-client``), they send the same requests, in the same
minute. ``--write`` replaces the tables of ``benches/SERVING.md``. Client and server share the machine's cores.
"""

import argparse
import contextlib
import json
import math
import os
import pathlib
import re
import shlex
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
PAGE = HERE / "SERVING.md"
LOAD = ROOT / "target/release/examples/load"
MODELS = {
    "digits": (ROOT / "examples/digits", "images", "1,8,8,1"),
    "mlp": (ROOT / "tests/data/models/mlp.pb", "x", "1,784"),
}
CONNECTIONS = (1, 16, 64, 256)
KINDS = ("json", "binary", "grpc")
RESULT = re.compile(r"(\d+) requests/s, p50 ([\d.]+) ms, p90 [\d.]+, p99 ([\d.]+), p99.9 ([\d.]+), max [\d.]+, (\d+) failures")


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Server:
    """A server of one model; it ends with the block."""

    def __init__(self, program, model, *flags):
        self.rest, self.grpc = free_port(), free_port()
        command = [*program, "serve", *([str(model)] if model else []), f"--rest_api_port={self.rest}", f"--port={self.grpc}", "--log_level=warn", *flags]
        start = time.perf_counter()
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        while True:
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{self.rest}/v2/health/ready").close()
                break
            except OSError:
                if self.process.poll() is not None:
                    sys.exit("the server ended")
                time.sleep(0.001)
        self.seconds_to_ready = time.perf_counter() - start

    def resident_megabytes(self):
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", status)[1]) / 1024

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()


def load(client, server, kind, name, connections, seconds, rate=None, model=None, prefix=()):
    _, tensor, shape = model or MODELS[name]
    url = f"127.0.0.1:{server.grpc if kind == 'grpc' else server.rest}"
    command = [*prefix, client, "--url", url, "--kind", kind, "--model", name, "--input", tensor, "--shape", shape]
    command += ["--connections", str(connections), "--seconds", str(seconds)]
    if rate is not None:
        command += ["--rate", str(rate)]
    found = RESULT.search(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    rate, p50, p99, p999, failures = found.groups()
    return int(rate), float(p50), float(p99), float(p999), int(failures)


def values_of(shape):
    return [0.5] * math.prod(map(int, shape.split(",")))


def json_body(name):
    """Returns the request that the client sends for ``--kind json``."""
    _, tensor, shape = MODELS[name]
    rows = values_of(shape)
    for size in reversed([int(dim) for dim in shape.split(",")]):
        rows = [rows[i : i + size] for i in range(0, len(rows), size)]
    return json.dumps({"inputs": {tensor: rows[0]}}, separators=(",", ":")).encode()


def grpc_body(name):
    """Returns the `PredictRequest` that the client sends for ``--kind grpc``, with gRPC's five bytes before it."""

    def varint(value):
        return bytes([value]) if value < 128 else bytes([value % 128 + 128]) + varint(value // 128)

    def field(number, content):
        return bytes([number << 3 | 2]) + varint(len(content)) + content

    _, tensor, shape = MODELS[name]
    dims = b"".join(field(2, b"\x08" + varint(int(dim))) for dim in shape.split(","))
    values = values_of(shape)
    value = b"\x08\x01" + field(2, dims) + field(4, struct.pack(f"<{len(values)}f", *values))
    message = field(1, field(1, name.encode())) + field(2, field(1, tensor.encode()) + field(2, value))
    return b"\0" + struct.pack(">I", len(message)) + message


def wrk(server, name, connections, seconds, directory):
    script = directory / "post.lua"
    script.write_text(f"wrk.method = 'POST'\nwrk.body = [==[{json_body(name).decode()}]==]\n")
    url = f"http://127.0.0.1:{server.rest}/v1/models/{name}:predict"
    command = ["wrk", "-t1", f"-c{connections}", f"-d{math.ceil(seconds)}s", "--latency", "-s", str(script), url]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    milliseconds = {"us": 1e-3, "ms": 1.0, "s": 1e3}
    percentile = lambda p: float((found := re.search(rf"^ +{p}% +([\d.]+)(us|ms|s)", text, flags=re.MULTILINE))[1]) * milliseconds[found[2]]
    failures = re.search(r"Non-2xx or 3xx responses: (\d+)", text)
    return float(re.search(r"Requests/sec: +([\d.]+)", text)[1]), percentile(50), percentile(99), int(failures[1]) if failures else 0


def h2load(server, kind, name, connections, seconds, directory):
    body, log = directory / "body", directory / "log"
    log.unlink(missing_ok=True)
    if kind == "grpc":
        body.write_bytes(grpc_body(name))
        options = ["-H", "content-type: application/grpc", "-H", "te: trailers", f"http://127.0.0.1:{server.grpc}/tensorflow.serving.PredictionService/Predict"]
    else:
        body.write_bytes(json_body(name))
        options = ["--h1", f"http://127.0.0.1:{server.rest}/v1/models/{name}:predict"]
    command = ["h2load", "-t1", f"-c{connections}", f"-D{math.ceil(seconds)}", f"--log-file={log}", "-d", str(body), *options]
    subprocess.run(command, check=True, capture_output=True)
    # A line per request: its start, its status, its microseconds.
    lines = [line.split() for line in log.read_text().splitlines()]
    times = sorted(int(micros) / 1e3 for _, status, micros in lines if status == "200")
    return len(times) / math.ceil(seconds), times[len(times) // 2], times[len(times) * 99 // 100], len(lines) - len(times)


def other_clients(args, program):
    """Returns rows of what other clients measure, beside this project's, for those that are installed."""
    rows = ["| client | requests | connections | requests/s | p50, ms | p99, ms | failures |", "|---|---|---|---|---|---|---|"]
    with Server(program, MODELS["mlp"][0]) as server, tempfile.TemporaryDirectory() as directory:
        directory = pathlib.Path(directory)
        for kind in ("json", "grpc"):
            for connections in (16, 64):
                rate, p50, p99, _, failures = load(args.load, server, kind, "mlp", connections, args.seconds)
                found = {"load": (rate, p50, p99, failures)}
                if shutil.which("wrk") and kind == "json":
                    found["wrk"] = wrk(server, "mlp", connections, args.seconds, directory)
                if shutil.which("h2load"):
                    found["h2load"] = h2load(server, kind, "mlp", connections, args.seconds, directory)
                for client, (rate, p50, p99, failures) in found.items():
                    rows.append(f"| {client} | {kind} | {connections} | {rate:,.0f} | {p50:.3f} | {p99:.3f} | {failures} |")
                    print(rows[-1], flush=True)
    return rows


def post(server, path):
    request = urllib.request.Request(f"http://127.0.0.1:{server.rest}{path}", data=b"", method="POST")
    urllib.request.urlopen(request).close()


@contextlib.contextmanager
def reloads(server, name, pause=0):
    """Loads and unloads a model while the block runs, with so many seconds between; a list of one number counts the loads."""
    ends, count = threading.Event(), [0]

    def reload():
        while not ends.is_set():
            post(server, f"/v2/repository/models/{name}/load")
            post(server, f"/v2/repository/models/{name}/unload")
            count[0] += 1
            ends.wait(pause)

    thread = threading.Thread(target=reload)
    thread.start()
    try:
        yield count
    finally:
        ends.set()
        thread.join()


@contextlib.contextmanager
def idle_priority_loop():
    """Keeps a core busy with a process that the system runs only when nothing else wants the core."""
    process = subprocess.Popen(["chrt", "--idle", "0", sys.executable, "-c", "while True: pass"])
    try:
        yield [0]
    finally:
        process.kill()
        process.wait()


def beside_a_large_model(args, program):
    """Returns rows of the latencies of the digits at a fixed rate: alone, while a large model is loaded and unloaded, while another server does that, and
    beside a loop of the lowest priority. The last two say what the sharing of cores costs, whoever shares them.
    """
    rows = ["| 500 requests/s on 16 connections | p50, ms | p99, ms | p99.9, ms | loads |", "|---|---|---|---|---|"]
    with tempfile.TemporaryDirectory() as directory:
        config = pathlib.Path(directory) / "models.config"
        models = {"digits": MODELS["digits"][0], "large": pathlib.Path(args.large).resolve()}
        config.write_text("model_config_list {" + "".join(f"config {{ name: '{n}' base_path: '{p}' }}" for n, p in models.items()) + "}")
        flags = [f"--model_config_file={config}", "--model_control_mode=explicit", "--load_model=digits"]
        with Server(program, None, *flags) as server, Server(program, None, *flags) as other:
            neighbours = {
                "alone": lambda: contextlib.nullcontext([0]),
                "beside loads": lambda: reloads(server, "large"),
                "beside loads of another process": lambda: reloads(other, "large"),
                "beside an idle-priority loop": lambda: idle_priority_loop(),
            }
            for label, neighbour in neighbours.items():
                with neighbour() as count:
                    _, p50, p99, p999, _ = load(args.load, server, "json", "digits", 16, 4 * args.seconds, 500)
                rows.append(f"| {label} | {p50:.3f} | {p99:.3f} | {p999:.3f} | {count[0]} |")
                print(rows[-1], flush=True)
            if hasattr(os, "sched_setaffinity") and shutil.which("taskset"):
                rows += ["", *on_cores_apart(args, server)]
    return rows


def on_cores_apart(args, server):
    """Returns rows of the same requests when threads that load, and what asks for loads, have a core of their own: the medians of several turns,
    and the least p99.
    """
    rows = ["| loads on a core of their own | p50, ms | p99, ms | p99.9, ms | least p99, ms |", "|---|---|---|---|---|"]
    for thread in pathlib.Path(f"/proc/{server.process.pid}/task").iterdir():
        is_loading = (thread / "comm").read_text().startswith(("model-load", "model-unload"))
        os.sched_setaffinity(int(thread.name), {int(is_loading)})
    os.sched_setaffinity(0, {1})
    found = {"no loads": [], "a load each second": [], "loads without a pause": []}
    for _ in range(14):
        for label, turns in found.items():
            neighbour = contextlib.nullcontext() if label == "no loads" else reloads(server, "large", 1 if "second" in label else 0)
            with neighbour:
                turns.append(load(args.load, server, "json", "digits", 16, args.seconds, 500, prefix=["taskset", "--cpu-list", "0"])[1:4])
    os.sched_setaffinity(0, range(os.cpu_count()))
    for label, turns in found.items():
        medians = [sorted(column)[len(column) // 2] for column in zip(*turns)]
        rows.append(f"| {label} | " + " | ".join(f"{time:.3f}" for time in (*medians, min(p99 for _, p99, _ in turns))) + " |")
        print(rows[-1], flush=True)
    return rows


def write_wide_model(path):
    """Writes a network of three dense layers of 2,048 units: 35 MB of weights that a step reads from memory, in more than 0.1 ms."""
    import flowmill as tf

    with tf.Graph().as_default() as graph:
        values = tf.placeholder(tf.float32, [None, 256], name="x")
        for layer, (inputs, units) in enumerate([(256, 2048), (2048, 2048), (2048, 2048), (2048, 10)]):
            weights = np.random.default_rng(layer).standard_normal((inputs, units), np.float32) / math.sqrt(inputs)
            values = tf.nn.relu(tf.matmul(values, weights))
        tf.nn.softmax(values, name="y")
        path.write_bytes(graph.as_graph_def().SerializeToString())


def batching(args, program):
    """Returns rows of the requests per second without and with batches."""
    rows = ["| model | connections | without batches | with batches | ratio |", "|---|---|---|---|---|"]
    with tempfile.TemporaryDirectory() as directory:
        wide = pathlib.Path(directory) / "wide.pb"
        write_wide_model(wide)
        for name, model in {**MODELS, "wide": (wide, "x", "1,256")}.items():
            for connections in (16, 64):
                rates = []
                for flags in ([], ["--enable_batching"]):
                    with Server(program, model[0], *flags) as server:
                        rates.append(load(args.load, server, "binary", name, connections, args.seconds, model=model)[0])
                rows.append(f"| {name} | {connections} | {rates[0]:,} | {rates[1]:,} | {rates[1] / rates[0]:.2f} |")
                print(rows[-1], flush=True)
    return rows


def main():
    parser = argparse.ArgumentParser()
    command = pathlib.Path(sys.executable).with_name("flowmill")
    parser.add_argument("--program", default=str(command) if command.exists() else f"{sys.executable} -m flowmill")
    parser.add_argument("--load", default=str(LOAD))
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--large")
    parser.add_argument("--write", action="store_true")
    args = parser.parse_args()
    program = shlex.split(args.program)
    lines = ["| model | requests | connections | requests/s | p50, ms | p99, ms | p99.9, ms | failures |", "|---|---|---|---|---|---|---|---|"]
    facts = ["| model | start to ready, ms | resident memory, MB | after 64 connections | after 256 connections |", "|---|---|---|---|---|"]
    for name, (path, _, _) in MODELS.items():
        with Server(program, path) as server:
            # Code that only the load ran is released after the load.
            time.sleep(0.5)
            resident, rows = [server.resident_megabytes()], {}
            for connections in CONNECTIONS:
                for kind in KINDS:
                    rate, p50, p99, p999, failures = load(args.load, server, kind, name, connections, args.seconds)
                    rows[kind, connections] = f"| {name} | {kind} | {connections} | {rate:,} | {p50:.3f} | {p99:.3f} | {p999:.3f} | {failures} |"
                    print(rows[kind, connections], flush=True)
                if connections in (64, 256):
                    resident.append(server.resident_megabytes())
            lines += [rows[kind, connections] for kind in KINDS for connections in CONNECTIONS]
            ready = server.seconds_to_ready
            facts.append(f"| {name} | {ready * 1e3:.0f} | " + " | ".join(f"{megabytes:.0f}" for megabytes in resident) + " |")
    batches = batching(args, program)
    others = ["", *other_clients(args, program)] if shutil.which("wrk") or shutil.which("h2load") else []
    large = ["", *beside_a_large_model(args, program)] if args.large else []
    text = "\n".join([*lines, "", *facts, "", *batches, *others, *large])
    print("\n" + text)
    if args.write:
        head = PAGE.read_text().split("<!-- measured -->")[0]
        PAGE.write_text(f"{head}<!-- measured -->\n\n{text}\n")


if __name__ == "__main__":
    main()
