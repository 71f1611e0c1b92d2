"""Twenty minutes of load with FLOWMILL_LONG=1, or FLOWMILL_SOAK_SECONDS of it: memory and latency must stay flat."""

import itertools
import json
import os
import random
import statistics
import struct
import threading
import time

import pytest

from server_process import LONG, Connection, ServerProcess, rows
from served_models import add_version

SECONDS = float(os.environ.get("FLOWMILL_SOAK_SECONDS", 1200 if LONG else 0))
SAMPLES = 60


def growth(values):
    """Returns how much a straight line through the values grows from the first to the last; outliers do not move it (Theil and Sen's estimate)."""
    slopes = [(b - a) / (j - i) for (i, a), (j, b) in itertools.combinations(enumerate(values), 2)]
    return statistics.median(slopes) * (len(values) - 1)


def predict(connection, value):
    body, expected = rows(value)
    status, answer = connection("/v1/models/linear:predict", body)
    assert (status, json.loads(answer)) == (200, expected)


def infer(connection, value):
    head = b'{"inputs":[{"name":"x","shape":[1,3],"datatype":"FP32","parameters":{"binary_data_size":12}}],"parameters":{"binary_data_output":true}}'
    length = f"Inference-Header-Content-Length: {len(head)}\r\n"
    status, answer = connection("/v2/models/linear/infer", head + struct.pack("<3f", *[value] * 3), length)
    assert status == 200 and struct.unpack("<3f", answer[-12:]) == (3.0 * value,) * 3


def fail(connection, _):
    assert connection("/v1/models/linear:predict", b'{"instances": [[1, 2]')[0] == 400
    assert connection("/v1/models/none:predict", b"{}")[0] == 404


class Clients:
    """Threads that send requests of all kinds until the block ends."""

    def __init__(self, server):
        self.server, self.ends, self.errors, self.times = server, threading.Event(), [], []
        works = [self.send, self.send, self.leave, self.reload]
        self.threads = [threading.Thread(target=self.guarded, args=(work, i)) for i, work in enumerate(works)]

    def guarded(self, work, seed):
        try:
            work(random.Random(seed))
        except Exception as error:
            self.errors.append(error)

    def send(self, source):
        while not self.ends.is_set():
            with self.server.connect() as connection:
                for _ in range(source.randrange(1000)):
                    kind = source.choices([predict, infer, fail], [10, 10, 1])[0]
                    start = time.perf_counter()
                    kind(connection, source.randrange(1000))
                    if kind is predict:
                        self.times.append(time.perf_counter() - start)

    def leave(self, source):
        """Sends parts of requests, and does not wait for answers."""
        body = rows(1)[0]
        request = f"POST /v1/models/linear:predict HTTP/1.1\r\nhost: t\r\ncontent-length: {len(body)}\r\n\r\n".encode() + body
        while not self.ends.wait(0.01):
            with Connection(self.server.rest) as connection:
                connection.socket.sendall(request[: source.randrange(len(request) + 1)])

    def reload(self, _):
        while not self.ends.wait(1):
            with self.server.connect() as connection:
                for verb in ("load", "unload"):
                    status, answer = connection(f"/v2/repository/models/other/{verb}", b"")
                    assert status == 200, answer

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.ends.set()
        for thread in self.threads:
            thread.join()


@pytest.mark.skipif(SECONDS == 0, reason="runs for FLOWMILL_SOAK_SECONDS, or with FLOWMILL_LONG=1")
@pytest.mark.timeout(0)
def test_memory_and_latency_stay_flat(linear, tmp_path):
    other = add_version(tmp_path / "other", offset=1.0)
    config = tmp_path / "models.config"
    models = {"linear": linear, "other": other}
    config.write_text("model_config_list {" + "".join(f"config {{ name: '{name}' base_path: '{path}' }}" for name, path in models.items()) + "}")
    memory, latency = [], []
    flags = [f"--model_config_file={config}", "--model_control_mode=explicit", "--load_model=linear", "--enable_batching"]
    with ServerProcess(*flags) as server, Clients(server) as clients:
        for _ in range(SAMPLES):
            time.sleep(SECONDS / SAMPLES)
            assert not clients.errors, clients.errors
            times, clients.times = clients.times, []
            memory.append(server.resident_bytes() / 1e6)
            latency.append(statistics.median(times) * 1e3)
    # Caches and pools fill up at first.
    memory, latency = memory[SAMPLES // 4 :], latency[SAMPLES // 4 :]
    print(f"memory {memory[0]:.1f} to {memory[-1]:.1f} MB, growth {growth(memory):.2f} MB")
    print(f"p50 {latency[0]:.3f} to {latency[-1]:.3f} ms, growth {growth(latency):.3f} ms")
    assert growth(memory) < 0.03 * memory[0], memory
    assert growth(latency) < 0.25 * statistics.median(latency), latency
