"""`flowmill.serving.Server`: it starts, answers, reports and stops."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time

import pytest

import flowmill as tf
from flowmill import serving
from served_models import Http, add_version


def test_it_answers_both_protocols_over_rest(http):
    assert http.json("/v1/models/linear:predict", {"instances": [[1, 2, 3]]}) == (200, {"predictions": [[3.0, 6.0, 9.0]]})
    body = {"inputs": [{"name": "x", "shape": [1, 3], "datatype": "FP32", "data": [1, 2, 3]}]}
    status, answer = http.json("/v2/models/linear/infer", body)
    assert status == 200 and answer["outputs"] == [{"name": "y", "datatype": "FP32", "shape": [1, 3], "data": [3.0, 6.0, 9.0]}]


def test_it_says_where_it_listens(server):
    assert server.rest_url.startswith("http://127.0.0.1:") and server.grpc_address.startswith("127.0.0.1:") and server.management_url == ""
    assert server.rest_url in repr(server)
    assert {name: [(v.version, v.state, v.error) for v in versions] for name, versions in server.models().items()} == {
        "classified": [(1, "AVAILABLE", None)], "digits": [(1, "AVAILABLE", None)], "linear": [(1, "AVAILABLE", None)]}


def test_it_stops(linear):
    server = serving.Server(linear).wait_until_ready()
    http, port = Http(server.rest_url), int(server.rest_url.rpartition(":")[2])
    assert http("/v2/health/ready")[0] == 200
    server.stop()
    server.stop()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port), timeout=10)
    with pytest.raises(tf.errors.UnavailableError, match="shutting down"):
        server.wait_until_ready(1)


def test_ports_are_freed_and_taken_ones_refused(linear):
    with serving.Server(linear, grpc_port=None) as server:
        assert server.grpc_address == ""
        port = int(server.rest_url.rpartition(":")[2])
        with pytest.raises(tf.errors.UnavailableError, match="cannot listen"):
            serving.Server(linear, rest_port=port, grpc_port=None)
    serving.Server(linear, rest_port=port, grpc_port=None).stop()


@pytest.mark.parametrize("options, error, text", [
    ({"host": "nowhere"}, tf.errors.InvalidArgumentError, "host 'nowhere'"),
    ({"control": "sometimes"}, tf.errors.InvalidArgumentError, "'sometimes'"),
    ({"batching": serving.Batching(max_batch_size=0)}, tf.errors.InvalidArgumentError, "max_batch_size"),
    ({"tokens": {"secret": ["everything"]}}, tf.errors.InvalidArgumentError, "everything"),
    ({"request_timeout": -1}, tf.errors.InvalidArgumentError, "-1"),
    ({"model_config_file": "nothing"}, tf.errors.NotFoundError, "nothing"),
    ({"tls": serving.Tls("nothing", "nothing")}, FileNotFoundError, "nothing"),
])
def test_wrong_options(linear, options, error, text):
    with pytest.raises(error, match=text):
        serving.Server(linear, **options)


@pytest.fixture
def broken(tmp_path):
    """The directory of a model that cannot be loaded, and is tried again every minute."""
    (tmp_path / "broken" / "1").mkdir(parents=True)
    (tmp_path / "broken" / "1" / "saved_model.pb").write_bytes(b"nonsense")
    return tmp_path / "broken"


def test_a_model_that_cannot_be_loaded(broken):
    with serving.Server(broken) as server:
        with pytest.raises(tf.errors.DeadlineExceededError, match="broken"):
            server.wait_until_ready(0.5)
        version, = server.models()["broken"]
        assert version.version == 1 and isinstance(version.error, tf.errors.OpError)


def test_a_new_version_replaces_the_old_one(tmp_path):
    add_version(tmp_path / "model", 1)
    with serving.Server(tmp_path / "model", poll_seconds=0.05) as server:
        http = Http(server.wait_until_ready().rest_url)
        add_version(tmp_path / "other", 2, offset=1.0)
        os.rename(tmp_path / "other" / "2", tmp_path / "model" / "2")
        end = time.monotonic() + 60
        while http.json("/v1/models/model:predict", {"instances": [[0, 0, 0]]})[1] != {"predictions": [[1.0, 1.0, 1.0]]}:
            assert time.monotonic() < end
            time.sleep(0.02)


def test_explicit_control(linear):
    with serving.Server({"linear": linear}, control="explicit") as server:
        http, body = Http(server.rest_url), {"instances": [[1, 1, 1]]}
        assert http("/v1/models/linear:predict", body)[0] == 404
        server.load("linear")
        assert http("/v1/models/linear:predict", body)[0] == 200
        server.unload("linear")
        assert http("/v1/models/linear:predict", body)[0] == 404
        with pytest.raises(tf.errors.NotFoundError):
            server.load("none")


def test_tokens_and_the_management_port(linear):
    with serving.Server(linear, management_port=0, tokens={"reader": ["inference"], "admin": ["management"]}, control="explicit", load=["linear"]) as server:
        server.wait_until_ready()
        http, management = Http(server.rest_url), Http(server.management_url)
        body = {"instances": [[1, 1, 1]]}
        assert http("/v1/models/linear:predict", body)[0] == 401
        assert http("/v1/models/linear:predict", body, headers={"Authorization": "Bearer reader"})[0] == 200
        unload = "/v2/repository/models/linear/unload"
        assert http(unload, b"", headers={"Authorization": "Bearer admin"})[0] == 404
        assert management(unload, b"", headers={"Authorization": "Bearer reader"})[0] == 401
        assert management(unload, b"", headers={"Authorization": "Bearer admin"})[0] == 200


def test_batches(linear):
    batching = serving.Batching(max_batch_size=8, batch_timeout_micros=2_000_000, allowed_batch_sizes=[8])
    with serving.Server(linear, batching=batching) as server:
        http = Http(server.wait_until_ready().rest_url)
        answers = {}
        def ask(i):
            answers[i] = http.json("/v1/models/linear:predict", {"instances": [[i, i, i]]})
        threads = [threading.Thread(target=ask, args=(i,)) for i in range(8)]
        start = time.monotonic()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert answers == {i: (200, {"predictions": [[3.0 * i] * 3]}) for i in range(8)}
        # A full batch does not wait for the timeout.
        assert time.monotonic() - start < 2


def test_other_threads_run_while_one_waits(broken):
    """The thread that waits for a model does not hold the GIL."""
    with serving.Server(broken) as server:
        count, done = 0, threading.Event()
        def wait():
            with pytest.raises(tf.errors.DeadlineExceededError):
                server.wait_until_ready(0.5)
            done.set()
        threading.Thread(target=wait).start()
        while not done.is_set():
            count += 1
        assert count > 1000


INTERRUPTED = """
import signal, sys, threading
from flowmill import serving
signal.setitimer(signal.ITIMER_REAL, 0.3)
signal.signal(signal.SIGALRM, lambda *_: (_ for _ in ()).throw(KeyboardInterrupt()))
with serving.Server(sys.argv[1]) as server:
    try:
        server.wait_until_ready(60)
    except KeyboardInterrupt:
        print("interrupted")
"""

LEFT = """
import sys
from flowmill import serving
server = serving.Server(sys.argv[1]).wait_until_ready()
predictor = serving.Predictor(sys.argv[1], batching=True)
predictor(x=[[1, 2, 3]])
print("last line")
sys.exit(7)
"""

FORKED = """
import os, sys
from flowmill import serving
import flowmill as tf
server = serving.Server(sys.argv[1]).wait_until_ready()
predictors = [serving.Predictor(sys.argv[1]), serving.Predictor(sys.argv[1], batching=True)]
for predictor in predictors:
    predictor(x=[[1, 2, 3]])
pid = os.fork()
if pid == 0:
    code = 1
    try:
        server.stop()
        try:
            server.models()
        except tf.errors.FailedPreconditionError:
            for predictor in predictors:
                assert predictor(x=[[1, 2, 3]])["y"].tolist() == [[3, 6, 9]]
            del server, predictors, predictor
            code = 0
    finally:
        os._exit(code)
status = os.waitpid(pid, 0)[1]
server.stop()
print(status)
"""


@pytest.mark.parametrize("program, output, status", [(LEFT, "last line\n", 7), (FORKED, "0\n", 0)])
def test_the_end_of_the_process(linear, program, output, status):
    done = subprocess.run([sys.executable, "-c", program, str(linear)], capture_output=True, text=True, timeout=120)
    assert (done.stdout, done.stderr, done.returncode) == (output, "", status)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs timers")
def test_a_wait_is_interrupted(broken):
    done = subprocess.run([sys.executable, "-c", INTERRUPTED, str(broken)], capture_output=True, text=True, timeout=120)
    assert (done.stdout, done.returncode) == ("interrupted\n", 0), done.stderr


def test_importing_the_package_loads_no_server():
    code = "import sys, flowmill; assert 'flowmill.serving' not in sys.modules; flowmill.serving.Server; assert 'flowmill.serving' in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
