"""The memory of GPUs: statistics and errors."""

import pytest

import flowmill as tf

ON_GPU = {"device_count": {"GPU": 1}}
MEGABYTES = 1 << 20


def test_ops_and_statistics_count_the_bytes_in_use(num_gpus):
    with tf.Graph().as_default() as graph, tf.device("/gpu:0"):
        x = tf.placeholder(tf.float32, [None], name="x")
        y = tf.tanh(x, name="y")
        held = tf.Variable(tf.zeros([MEGABYTES // 4]), use_resource=True)
        stats = tf.contrib.memory_stats
        with tf.control_dependencies([y]):
            in_use, limit, peak = stats.BytesInUse(), stats.BytesLimit(), stats.MaxBytesInUse()
    with tf.Session(graph=graph, config=tf.SessionOptions(**ON_GPU)) as session:
        before = session.run(in_use, {x: [1.0]})
        session.run(held.initializer)
        after = session.run(in_use, {x: [1.0]})
        # A block of the feed or of y, of 256 bytes each, may be there still.
        assert MEGABYTES - 512 <= after - before < 2 * MEGABYTES
        metadata = tf.RunMetadata()
        used, most, allowed, _ = session.run([in_use, peak, limit, y], {x: [0.5] * MEGABYTES}, tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), metadata)
        # The elements of y are there while it is copied to the host, and at the latest then they are free.
        # `after` may count such a block, too.
        assert after - 512 <= used <= most <= allowed and after - 512 + 4 * MEGABYTES <= most
        assert most >= 9 * MEGABYTES, "the variable, the feed and the result are alive at once"
        assert session.list_devices()[1].memory_limit_bytes == allowed
        nodes = {node.node_name: node for device in metadata.step_stats.dev_stats if "GPU" in device.device for node in device.node_stats}
        assert nodes["y"].memory[0].total_bytes == 4 * MEGABYTES
        assert nodes["y"].memory[0].allocator_bytes_in_use >= 5 * MEGABYTES


def test_a_cpu_without_a_limit_does_not_count():
    with tf.Graph().as_default() as graph:
        in_use = tf.contrib.memory_stats.BytesInUse()
        with tf.Session(graph=graph) as session, pytest.raises(tf.errors.FailedPreconditionError, match="does not count"):
            session.run(in_use)


def test_a_full_memory_is_an_error_that_names_the_largest_holders(num_gpus):
    with tf.Graph().as_default() as graph, tf.device("/gpu:0"):
        x = tf.placeholder(tf.float32, [])
        limit = tf.contrib.memory_stats.BytesLimit()
        size = tf.placeholder(tf.int32, [1])
        with tf.name_scope("big"):
            filled = tf.fill(size, x, name="filled")
        y = filled
        for _ in range(4):
            y = tf.concat([y, y], 0)
        total = tf.reduce_sum(y)
    with tf.Session(graph=graph, config=tf.SessionOptions(**ON_GPU)) as session:
        n = int(session.run(limit)) // 4 // 20
        with pytest.raises(tf.errors.ResourceExhaustedError, match=r"OOM when allocating \d+ bytes on .*GPU:0") as error:
            session.run(total, {x: 1.0, size: [n]})
        message = str(error.value)
        assert "{{node concat" in message and "blocks of which the largest has" in message
        assert session.run(total, {x: 1.0, size: [10]}) == 160.0, "the memory was given back"
