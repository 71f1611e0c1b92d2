"""Commands and training loops show their progress on terminals, and are quiet elsewhere."""

import os
import pty
import re
import subprocess
import sys

import pytest

TRAINING = """
import flowmill as tf
step = tf.train.get_or_create_global_step()
more = tf.assign_add(step, 1)
hooks = [tf.train.StopAtStepHook(last_step=50), tf.train.ProgressHook(last_step=50, every_n_secs=0.0)]
with tf.train.MonitoredSession(hooks=hooks) as session:
    while not session.should_stop():
        session.run(more)
"""


def on_a_terminal(*command):
    """Runs a command with a terminal as its standard error. Returns what it wrote to its standard output, and to the terminal."""
    terminal, other_end = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100", "LINES": "30"}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=other_end, stdin=subprocess.DEVNULL, env=environment, text=True)
    os.close(other_end)
    written = b""
    # Linux answers with an error when the other end is closed.
    while True:
        try:
            part = os.read(terminal, 4096)
        except OSError:
            break
        if not part:
            break
        written += part
    out = process.stdout.read()
    os.close(terminal)
    assert process.wait() == 0, written.decode()
    return out, written.decode()


def elsewhere(*command):
    """Runs a command without a terminal."""
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


@pytest.fixture
def digits(data):
    return str(data.parents[1] / "examples" / "digits" / "1")


@pytest.mark.parametrize("arguments", [("bench", "--seconds", "1"), ("profile", "--steps", "20"), ("view", "--optimized", "-o", "/dev/null")], ids=lambda a: a[0])
def test_commands_show_progress_on_terminals_alone(digits, arguments):
    command = [sys.executable, "-m", "flowmill", arguments[0], digits, *arguments[1:]]
    out, written = on_a_terminal(*command)
    assert out and "loading" in written
    working = {"bench": r"measuring .* left", "profile": r"profiling .*\d+/20 .*left", "view": "laying out"}
    assert re.search(working[arguments[0]], written)
    # At the end the line is empty: nothing but control sequences follows its last start.
    assert re.fullmatch(r"(\x1b\[[?0-9]*[A-Za-z])*", written.rpartition("\r")[2])
    quiet, errors = elsewhere(*command)
    assert quiet and errors == ""


def test_training_shows_rates_on_terminals_alone():
    out, written = on_a_terminal(sys.executable, "-c", TRAINING)
    assert out == "" and "steps/s" in written and " left" in written
    assert written.rstrip().split("\r")[-1].startswith("step 50/50")
    assert elsewhere(sys.executable, "-c", TRAINING) == ("", "")
