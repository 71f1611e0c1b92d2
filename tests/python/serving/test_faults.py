"""A server survives slow clients by the thousand, being killed, and a full disk. FLOWMILL_LONG=1 repeats more of each."""

import collections
import json
import os
import re
import resource
import signal
import socket
import statistics
import subprocess
import threading
import time

import pytest

from served_models import free_ports
from server_process import LONG, Connection, ServerProcess, rows

PREDICT = "/v1/models/linear:predict"


@pytest.fixture
def many_files():
    """Raises this process's limit of open files to the hard limit, which the fixture returns."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    yield hard
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def latencies(connection, count):
    """Returns the seconds that each of `count` requests takes, one after the other."""
    found = []
    for i in range(count):
        body, expected = rows(i)
        start = time.perf_counter()
        status, answer = connection(PREDICT, body)
        found.append(time.perf_counter() - start)
        assert (status, json.loads(answer)) == (200, expected)
    return found


class SlowClients:
    """Opens connections: a third of them sends nothing, a third sends a byte of a header per second, and a third sends a byte of a body per second."""

    STARTS = (b"", b"GET / HTTP/1.1\r\nx: ", f"POST {PREDICT} HTTP/1.1\r\nhost: t\r\ncontent-length: 100000\r\n\r\n".encode())

    def __init__(self, port, count):
        self.sockets = []
        for i in range(count):
            s = socket.create_connection(("127.0.0.1", port), 10)
            s.sendall(self.STARTS[i % 3])
            s.setblocking(False)
            self.sockets.append(s)
        self.ends = threading.Event()
        self.thread = threading.Thread(target=self.trickle)
        self.thread.start()

    def trickle(self):
        while not self.ends.wait(1):
            for i, s in enumerate(self.sockets):
                if i % 3:
                    try:
                        s.send(b"1")
                    except OSError:
                        # The server has closed the connection.
                        pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.ends.set()
        self.thread.join()
        for s in self.sockets:
            s.close()


def test_slow_connections_cost_nothing(linear, many_files):
    """The server closes connections that do not send a whole header within 10 s, or a whole body within 60 s."""
    count = 10_000 if LONG else 1_500
    assert many_files > count + 100
    # The server raises the limit of open files by itself.
    fewer = lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (256, many_files))
    with ServerProcess(linear, preexec_fn=fewer) as server:
        with server.connect() as connection:
            latencies(connection, 500)
            memory, before = server.resident_bytes(), statistics.median(latencies(connection, 1000))
        with SlowClients(server.rest, count), server.connect() as connection:
            num_open = server.metric("flowmill_connections", connection)
            # The connections that send nothing may have been closed already.
            assert num_open > count * 0.6
            during = statistics.median(latencies(connection, 1000))
            memory_of_one = (server.resident_bytes() - memory) / num_open
            print(f"{num_open:.0f} connections: p50 {before * 1e3:.3f} -> {during * 1e3:.3f} ms, {memory_of_one:.0f} bytes each")
            assert during < 2 * before + 0.001
            assert memory_of_one < 32 << 10
            end = time.monotonic() + (120 if LONG else 25)
            # Without FLOWMILL_LONG, the test does not wait until the connections with a body are closed.
            most = 5 if LONG else count // 3 + 5
            while server.metric("flowmill_connections", connection) > most:
                latencies(connection, 10)
                assert time.monotonic() < end
                time.sleep(0.25)


def test_a_server_without_files_accepts_again_later(linear):
    with ServerProcess(linear) as server, server.connect() as connection:
        used = max(int(name) for name in os.listdir(f"/proc/{server.process.pid}/fd")) + 1
        _, hard = resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE)
        resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, (used + 3, hard))
        others = [server.connect() for _ in range(20)]
        answered = []
        for other in others:
            other.socket.settimeout(0.2)
            try:
                answered.append(other("/v2/health/ready")[0])
            except TimeoutError:
                pass
        # The others wait in the system's queue.
        assert 0 < len(answered) <= 4
        latencies(connection, 100)
        for other in others[:-1]:
            other.socket.close()
        with others[-1] as last:
            last.socket.settimeout(20)
            last.buffer = b""
            assert last("/v2/health/ready")[0] == 200


class Load:
    """Clients that send requests until the block ends, also while there is no server. `wrong` holds the answers that are not right."""

    def __init__(self, port, num_clients=4):
        self.port, self.ends, self.wrong, self.outcomes = port, threading.Event(), [], collections.Counter()
        self.threads = [threading.Thread(target=self.send, args=(i,)) for i in range(num_clients)]

    def send(self, client):
        value = client
        while not self.ends.is_set():
            try:
                with Connection(self.port) as connection:
                    while not self.ends.is_set():
                        value += 1
                        body, expected = rows(value, -value)
                        status, answer = connection(PREDICT, body)
                        if status == 200 and json.loads(answer) == expected:
                            self.outcomes["right"] += 1
                        elif status in (404, 503):
                            # The server runs again, and its model is not loaded yet.
                            self.outcomes["not ready"] += 1
                        else:
                            self.wrong.append((status, answer))
            except OSError:
                self.outcomes["disconnected"] += 1
                time.sleep(0.002)

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.ends.set()
        for thread in self.threads:
            thread.join()


def test_a_killed_server_starts_again(linear):
    """Clients see errors of their connections and no wrong answer, and the next server starts on the same ports."""
    ports = free_ports(2)
    server = ServerProcess(linear, ports=ports)
    try:
        with Load(ports[0]) as load:
            for _ in range(20 if LONG else 4):
                before = load.outcomes["right"]
                end = time.monotonic() + 30
                while load.outcomes["right"] < before + 200:
                    assert time.monotonic() < end and not load.wrong, (load.outcomes, load.wrong[:3])
                    time.sleep(0.01)
                server.kill()
                first, server = server, ServerProcess(linear, ports=ports)
                assert server.seconds_to_ready < 3 * first.seconds_to_ready + 1
        assert not load.wrong and load.outcomes["disconnected"] > 0, (load.outcomes, load.wrong[:3])
    finally:
        server.kill()


def test_a_full_disk_under_the_log(linear):
    """The server counts the lines that it could not log, and answers requests as before."""
    with open("/dev/full", "w") as full, ServerProcess(linear, "--log_level=trace", stdout=full, stderr=full) as server, server.connect() as connection:
        latencies(connection, 100)
        assert connection(PREDICT, b"{")[0] == 400
        assert server.metric("flowmill_lost_log_lines_total") > 0
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(timeout=60) == 0


def test_the_log_goes_to_standard_error(linear):
    with ServerProcess(linear, "--log_format=json", stderr=subprocess.PIPE, text=True) as server:
        assert server.metric("flowmill_lost_log_lines_total") == 0
        server.process.send_signal(signal.SIGTERM)
        lines = [json.loads(line) for line in server.process.communicate(timeout=60)[1].splitlines()]
    assert any("open files" in line["fields"]["message"] and line["fields"]["files"] > 0 for line in lines), lines
    assert any(re.search("shutting down", line["fields"]["message"]) for line in lines)
