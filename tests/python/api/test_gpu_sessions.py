"""Sessions that ask for a GPU, on machines with and without one."""

import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import flowmill as tf


def _config(**options):
    return tf.SessionOptions(device_count={"GPU": 1}, **options)


def _gpus():
    with tf.Session(graph=tf.Graph(), config=_config()) as session:
        return [device.name for device in session.list_devices() if device.device_type == "GPU"]


def _program(body):
    return f"import flowmill as tf\nwith tf.Graph().as_default():\n{textwrap.indent(body, '    ')}"


def _searched_libraries(body):
    """Returns what the dynamic linker says of the libraries that a program looks for."""
    environment = {**os.environ, "LD_DEBUG": "libs"}
    done = subprocess.run([sys.executable, "-c", _program(body)], env=environment, capture_output=True, text=True, timeout=120, check=True)
    return done.stderr


def test_a_session_without_a_gpu_does_not_look_for_cuda():
    run = "print(tf.Session({}).run(tf.constant(1.0) + 1.0))"
    assert "libcuda" not in _searched_libraries(run.format(""))
    assert "libcuda" in _searched_libraries(run.format("config=tf.SessionOptions(device_count={'GPU': 1})"))


def test_nodes_run_on_the_gpu_or_are_refused_by_name():
    gpus = _gpus()
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None])
        with tf.device("/gpu:0"):
            y = x * 2.0 + 1.0
        with tf.Session(graph=graph, config=_config(allow_soft_placement=True)) as session:
            np.testing.assert_allclose(session.run(y, {x: [1.0, 2.0]}), [3.0, 5.0])
        with tf.Session(graph=graph, config=_config()) as session:
            if gpus:
                np.testing.assert_allclose(session.run(y, {x: [1.0, 2.0]}), [3.0, 5.0])
            else:
                with pytest.raises(tf.errors.InvalidArgumentError, match=r"available devices are \[ /job:localhost/replica:0/task:0/device:CPU:0 \]"):
                    session.run(y, {x: [1.0]})


def test_the_options_of_a_config_reach_the_session():
    config = tf.ConfigProto(device_count={"GPU": 1})
    config.gpu_options.per_process_gpu_memory_fraction = 0.25
    config.gpu_options.allow_growth = True
    with tf.Session(graph=tf.Graph(), config=config) as session:
        assert [device.name for device in session.list_devices() if device.device_type == "GPU"] == _gpus()
        assert session.list_devices()[0].device_type == "CPU"
