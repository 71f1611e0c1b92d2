"""Sessions with several CPU devices, compared with TensorFlow."""

import numpy as np
import pytest

import flowmill


def config(tf, num_cpus=4, **options):
    return tf.ConfigProto(device_count={"CPU": num_cpus}, **options)


def test_a_graph_runs_over_several_cpus(tf1):
    def program(tf):
        with tf.Graph().as_default(), tf.Session(config=config(tf)) as session:
            x = tf.placeholder(tf.float32, [3])
            y = x
            for i in range(8):
                with tf.device(f"/cpu:{i % 4}"):
                    y = y * 2.0 + float(i)
            with tf.control_dependencies([y]), tf.device("/cpu:3"):
                z = tf.constant("after")
            return session.run([y, z], {x: [1, 2, 3]})

    np.testing.assert_equal(program(flowmill), program(tf1))


@pytest.mark.parametrize("num_cpus", [1, 3])
def test_each_cpu_is_listed(tf1, num_cpus):
    def names(tf):
        with tf.Graph().as_default(), tf.Session(config=config(tf, num_cpus)) as session:
            return [(d.name, d.device_type) for d in session.list_devices()]

    assert names(flowmill) == names(tf1)
    assert len(names(flowmill)) == num_cpus
