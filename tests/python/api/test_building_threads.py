"""Many threads add to one graph while a session runs it."""

import threading

import flowmill as tf

THREADS, OPS = 16, 625


def test_threads_add_to_one_graph():
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [], "x")
        y = x + 1.0
    before, done, sums, failures = len(graph.get_operations()), threading.Event(), [], []

    def add(number):
        try:
            with graph.as_default(), tf.name_scope("shared"):
                value = x
                for _ in range(OPS // 2):
                    value = value + 1.0
                sums.append(value)
        except Exception as error:  # shown by the assertion below
            failures.append(error)

    def run():
        try:
            with tf.Session(graph=graph) as session:
                while not done.is_set():
                    assert session.run(y, {x: 1.0}) == 2.0
        except Exception as error:  # the same
            failures.append(error)

    runner = threading.Thread(target=run)
    adders = [threading.Thread(target=add, args=(n,)) for n in range(THREADS)]
    for thread in (runner, *adders):
        thread.start()
    for thread in adders:
        thread.join()
    done.set()
    runner.join()
    assert not failures
    operations = graph.get_operations()
    # Each addition makes a constant and a sum.
    assert len(operations) - before == THREADS * (OPS // 2) * 2
    assert len({op.name for op in operations}) == len(operations)
    with tf.Session(graph=graph) as session:
        assert session.run(sums, {x: 0.5}) == [OPS // 2 + 0.5] * THREADS
