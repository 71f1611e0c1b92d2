"""`flowmill serve` in a process of its own, and a client of HTTP/1 that is quick enough to load it."""

import json
import os
import pathlib
import re
import socket
import subprocess
import sys
import time

from served_models import free_ports

LONG = os.environ.get("FLOWMILL_LONG") == "1"


class Connection:
    """A connection that is kept open. Requests are answered with a status and a body; errors of the connection are `OSError`."""

    def __init__(self, port, timeout=60):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.buffer = b""

    def read(self):
        part = self.socket.recv(1 << 16)
        if not part:
            raise ConnectionResetError("the server closed the connection")
        self.buffer += part

    def __call__(self, path, body=None, headers=""):
        verb, body = ("GET", b"") if body is None else ("POST", body)
        self.socket.sendall(f"{verb} {path} HTTP/1.1\r\nhost: t\r\n{headers}content-length: {len(body)}\r\n\r\n".encode() + body)
        while (end := self.buffer.find(b"\r\n\r\n")) < 0:
            self.read()
        length = int(re.search(rb"(?im)^content-length: (\d+)", self.buffer[:end])[1])
        while len(self.buffer) < end + 4 + length:
            self.read()
        status, answer = int(self.buffer[9:12]), self.buffer[end + 4 : end + 4 + length]
        self.buffer = self.buffer[end + 4 + length :]
        return status, answer

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()


class ServerProcess:
    """A server that is ready; it ends with the block. Other arguments are those of `subprocess.Popen`."""

    def __init__(self, *arguments, ports=None, **options):
        self.rest, self.grpc = ports or free_ports(2)
        self.rest_url = f"http://127.0.0.1:{self.rest}"
        command = [sys.executable, "-m", "flowmill", "serve", *map(str, arguments), f"--rest_api_port={self.rest}", f"--port={self.grpc}"]
        options = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL} | options
        start = time.monotonic()
        self.process = subprocess.Popen(command, **options)
        while not self.is_ready():
            assert self.process.poll() is None, "the server ended"
            assert time.monotonic() < start + 60
            time.sleep(0.005)
        self.seconds_to_ready = time.monotonic() - start

    def is_ready(self):
        try:
            with self.connect() as connection:
                return connection("/v2/health/ready")[0] == 200
        except OSError:
            return False

    def connect(self):
        return Connection(self.rest)

    def metric(self, name, connection=None):
        """Returns the value of a metric without labels, read over `connection` or a new one."""
        if connection is None:
            with self.connect() as connection:
                return self.metric(name, connection)
        text = connection("/metrics")[1].decode()
        return float(re.search(rf"^{name} (\S+)$", text, flags=re.MULTILINE)[1])

    def resident_bytes(self):
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", status)[1]) * 1024

    def kill(self):
        self.process.kill()
        self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()


def rows(*values):
    """Returns the JSON of a request to the model `linear`, with a row of three equal values per value, and its answer."""
    body = json.dumps({"instances": [[value] * 3 for value in values]}).encode()
    return body, {"predictions": [[3.0 * value] * 3 for value in values]}
