"""Triton's clients, synchronous and asynchronous, over REST and gRPC."""

import pathlib
import subprocess

from flowmill import serving
from served_models import DIGITS

TESTS = pathlib.Path(__file__).parent / "clients" / "triton.py"


def test_every_call(clients_python, linear, classified):
    models = {"classified": classified, "digits": DIGITS, "linear": linear}
    with serving.Server(models, control="explicit", load=[*models]) as server:
        server.wait_until_ready(120)
        rest = server.rest_url.removeprefix("http://")
        command = [clients_python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", "/dev/null", "--rootdir", TESTS.parent, "--confcutdir", TESTS.parent,
                   "--rest", rest, "--grpc", server.grpc_address, TESTS]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout[-20_000:] + done.stderr
    assert " passed" in done.stdout and "skipped" not in done.stdout
