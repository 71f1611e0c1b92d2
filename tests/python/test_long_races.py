"""Threads that race: programs that look for crashes, hangs and wrong values for as long as they are given.

Each runs in a process of its own, so that a crash is a failed test: a few seconds by default, ten minutes with FLOWMILL_LONG=1. The seed is in the
output of a failure; `python test_long_races.py NAME SECONDS SEED` repeats it.
"""

import faulthandler
import os
import random
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import flowmill as tf
from flowmill import raw_ops as raw

LONG = os.environ.get("FLOWMILL_LONG") == "1"
SECONDS = 600 if LONG else 2
# A step that takes longer hangs.
PATIENCE = 60


def config(threads):
    return tf.ConfigProto(inter_op_parallelism_threads=threads, intra_op_parallelism_threads=threads)


def limit(milliseconds):
    return tf.RunOptions(timeout_in_ms=milliseconds)


def together(*works):
    """Calls each in a thread of its own; the first exception is raised here."""
    failed = []

    def guarded(work):
        try:
            work()
        except BaseException as e:
            failed.append(e)

    threads = [threading.Thread(target=guarded, args=(work,), daemon=True) for work in works]
    for t in threads:
        t.start()
    for t in threads:
        t.join(PATIENCE)
    assert not any(t.is_alive() for t in threads), "a thread hangs"
    if failed:
        raise failed[0]


def first(outputs):
    return outputs[0] if isinstance(outputs, (list, tuple)) else outputs


def rounds(seconds):
    """Counts rounds until the time is over, at least one."""
    end, i = time.monotonic() + seconds, 0
    while i == 0 or time.monotonic() < end:
        faulthandler.dump_traceback_later(2 * PATIENCE, exit=True)
        yield i
        i += 1
    faulthandler.cancel_dump_traceback_later()


def merges(seconds, seed):
    """A dead and a live Enter reach each of many Merges on two threads at once."""
    value = np.random.RandomState(seed).rand(120, 120).astype(np.float32)
    with tf.Graph().as_default():
        x, w = (tf.placeholder(tf.float32, [120, 120]) for _ in range(2))
        never = tf.placeholder(tf.bool, [])
        live = tf.matmul(w, x)
        dead = raw.Switch(data=tf.matmul(x, w), pred=never)[1]
        targets = []
        for _ in range(50):
            enters = [raw.Enter(data=t, frame_name="f", parallel_iterations=10) for t in (dead, live)]
            targets.append(raw.Exit(data=first(raw.Merge(inputs=enters))).op)
        sessions = [tf.Session(config=config(threads)) for threads in (2, 3)]
        for i in rounds(seconds):
            sessions[i % 2].run(targets, {x: value, w: value, never: False})


def random_graph(r):
    """A graph of nested conditionals, loops and Python functions, and its sums."""

    def expression(depth, x):
        kind = r.randint(0, 6) if depth else 0
        if kind == 0:
            return x * 0.5
        a = expression(depth - 1, x)
        if kind == 1:
            return tf.matmul(a, x) * 0.01
        if kind == 2:
            return a + expression(depth - 1, x)
        if kind == 3:
            return tf.cond(tf.reduce_sum(x) > r.choice([-1e9, 1e9]), lambda: tf.matmul(a, x) * 0.01, lambda: a + 1)
        if kind == 4:
            n, k = r.randint(0, 5), r.choice([1, 2, 3, 10])
            return tf.while_loop(lambda i, a: i < n, lambda i, a: (i + 1, tf.matmul(a, x) * 0.01), [0, a], parallel_iterations=k)[1]
        if kind == 5:
            n, k, inner_k = r.randint(0, 3), r.choice([1, 3]), r.choice([1, 4])

            def body(i, a):
                inner = tf.while_loop(lambda j, b: j < n, lambda j, b: (j + 1, tf.matmul(b, x) * 0.01 + 0.001), [0, a], parallel_iterations=inner_k)
                return i + 1, inner[1]

            return tf.while_loop(lambda i, a: i < 3, body, [0, a], parallel_iterations=k)[1]
        b = tf.py_func(lambda v: v + np.float32(0.25), [a], tf.float32)
        b.set_shape([40, 40])
        return b

    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [40, 40])
        return graph, x, [tf.reduce_sum(expression(5, x)) for _ in range(4)]


def programs(seconds, seed):
    """Random programs give the same values on several threads as on one, beside steps that are cancelled at random moments."""
    value = np.random.RandomState(0).rand(40, 40).astype(np.float32)
    for i in rounds(seconds):
        r = random.Random(f"{seed} {i}")
        print("program", i, flush=True)
        graph, x, sums = random_graph(r)
        with tf.Session(graph=graph, config=config(1)) as alone:
            want = alone.run(sums, {x: value})
        shared = tf.Session(graph=graph, config=tf.ConfigProto(inter_op_parallelism_threads=r.choice([2, 3, 4]), intra_op_parallelism_threads=2))
        limits = [r.choice([1, 1, 2, 3]) for _ in range(6)]

        def check():
            for _ in range(6):
                np.testing.assert_array_equal(shared.run(sums, {x: value}), want)

        def cancel():
            for milliseconds in limits:
                try:
                    shared.run(sums, {x: value}, options=limit(milliseconds))
                except tf.errors.DeadlineExceededError:
                    pass

        together(check, check, check, cancel)
        shared.close()


class Soup:
    """Graphs that no builder would make: Switches, Merges and Enters wired at random, inside and outside of loops."""

    def __init__(self, r, has_enters):
        self.r, self.has_enters, self.frames = r, has_enters, 0

    def add(self, pool, predicates, count):
        r = self.r
        for _ in range(count):
            kind, a, b = r.randint(0, 9), r.choice(pool), r.choice(pool)
            with tf.control_dependencies([r.choice(pool).op] if r.random() < 0.15 else []):
                try:
                    if kind <= 2:
                        pool.append(raw.MatMul(a=a, b=b) * 0.01)
                    elif kind == 3:
                        pool.append(a + b)
                    elif kind <= 5:
                        pool.extend(raw.Switch(data=a, pred=r.choice(predicates))[:2])
                    elif kind <= 8:
                        inputs = [a, b, *([r.choice(pool)] if r.random() < 0.4 else [])]
                        enters = [t.op for t in inputs if t.op.type == "Enter"]
                        if not any(op.get_attr("is_constant") for op in enters) and (self.has_enters or len(enters) <= 1):
                            pool.append(first(raw.Merge(inputs=inputs)))
                    else:
                        pool.append(raw.Identity(input=a))
                except (ValueError, TypeError):
                    pass  # Tensors of different types.

    def loop(self, pool, predicates, depth):
        r = self.r
        self.frames += 1
        name, k, trips = f"f{self.frames}", r.choice([1, 2, 3, 10]), r.randint(1, 4)

        def enter(t, is_constant=False):
            return raw.Enter(data=t, frame_name=name, parallel_iterations=k, is_constant=is_constant)

        start = enter(tf.constant(0))
        number = first(raw.Merge(inputs=[start, start]))
        test = raw.LoopCond(input=number < enter(tf.constant(trips), True))
        switch = raw.Switch(data=number, pred=test)
        with tf.control_dependencies([switch[1].op]):
            one = tf.constant(1)
        number.op._update_input(1, raw.NextIteration(data=switch[1] + one))
        inner, exits, variables = [], [], []
        inner_predicates = [*(enter(p, True) for p in predicates[:2]), test, tf.equal(number % 2, 0)]
        for value in [r.choice(pool) for _ in range(r.randint(1, 3))]:
            entered = enter(value)
            merge = first(raw.Merge(inputs=[entered, entered]))
            switch = raw.Switch(data=merge, pred=test)
            inner.append(switch[1])
            exits.append(raw.Exit(data=switch[0]))
            variables.append((merge, switch))
        inner += [enter(r.choice(pool), True) for _ in range(r.randint(0, 2))]
        if self.has_enters:
            inner += [enter(r.choice(pool)) for _ in range(2)]
        self.add(inner, inner_predicates, r.randint(2, 10))
        if depth:
            inner += self.loop(inner, inner_predicates, depth - 1)
        for merge, switch in variables:
            value = r.choice(inner) if r.random() < 0.6 else switch[1] * 0.5
            merge.op._update_input(1, raw.NextIteration(data=value))
        return exits

    def build(self):
        r = self.r
        with tf.Graph().as_default() as graph:
            x = tf.placeholder(tf.float32, [60, 60])
            bits = tf.placeholder(tf.bool, [8])
            predicates = tf.unstack(bits)
            w = raw.MatMul(a=x, b=x) * 0.01
            pool = [x, w, raw.MatMul(a=x, b=w) * 0.01]
            self.add(pool, predicates, 6)
            for _ in range(r.randint(1, 2)):
                pool += self.loop(pool, predicates, r.randint(0, 1))
                self.add(pool, predicates, 3)
        return graph, x, bits, r.sample(pool, min(4, len(pool)))


def soups(seconds, seed):
    """Graphs wired at random give a value or an error, whatever the number of threads."""
    value = np.random.RandomState(0).rand(60, 60).astype(np.float32)
    ends = {}
    for i in rounds(seconds):
        r = random.Random(f"{seed} {i}")
        print("soup", i, flush=True)
        try:
            graph, x, bits, fetches = Soup(r, has_enters=i % 2 == 0).build()
        except (ValueError, tf.errors.OpError) as e:
            ends[type(e).__name__] = ends.get(type(e).__name__, 0) + 1
            continue
        sessions = [tf.Session(graph=graph, config=config(threads)) for threads in (1, 2, 3)]
        for _ in range(3):
            feeds = {x: value, bits: [r.random() < 0.5 for _ in range(8)]}
            for fetch in fetches[:2]:
                for session in (*sessions, sessions[1]):
                    try:
                        session.run(fetch, feeds, options=limit(300))
                        end = "value"
                    except (ValueError, tf.errors.OpError) as e:
                        end = type(e).__name__
                    ends[end] = ends.get(end, 0) + 1
        for session in sessions:
            session.close()
    print(ends)
    assert ends.get("value", 0) > 0


def queues(seconds, seed):
    """Dequeues and enqueues of many threads wait for each other; time out; are cancelled without losing elements; end when the session closes."""
    r = random.Random(seed)
    value = np.ones((64, 64), np.float32)
    with tf.Graph().as_default() as graph:
        queue = tf.FIFOQueue(4, [tf.float32], shapes=[[64, 64]])
        x = tf.placeholder(tf.float32, [64, 64])
        enqueue = queue.enqueue([tf.matmul(x, x)])
        dequeue = tf.reduce_sum(tf.matmul(queue.dequeue(), tf.ones([64, 64])))
        dequeue_three, size = tf.reduce_sum(queue.dequeue_many(3)), queue.size()
    for _ in rounds(seconds):
        with tf.Session(graph=graph, config=config(2)) as session:

            def consume():
                for _ in range(15):
                    session.run(dequeue)

            def produce():
                for _ in range(15):
                    session.run(enqueue, {x: value})

            together(*[consume] * 4, *[produce] * 4)
            assert session.run(size) == 0

            def time_out():
                for _ in range(5):
                    with pytest.raises(tf.errors.DeadlineExceededError):
                        session.run(dequeue, options=limit(r.randint(1, 30)))

            together(*[time_out] * 6)
            for _ in range(5):
                session.run(enqueue, {x: value})
                session.run(enqueue, {x: value})
                with pytest.raises(tf.errors.DeadlineExceededError):
                    session.run(dequeue_three, options=limit(2))
                assert session.run(size) == 2, "a dequeue that was cancelled lost elements"
                session.run(dequeue)
                session.run(dequeue)
        session = tf.Session(graph=graph, config=config(2))
        running = threading.Barrier(6)

        def work(op, feeds):
            running.wait()
            with pytest.raises((tf.errors.CancelledError, RuntimeError)):
                while True:
                    session.run(op, feeds)

        def close():
            running.wait()
            session.run(enqueue, {x: value})
            session.close()

        ops = [(dequeue, None), (enqueue, {x: value}), (dequeue, None), (dequeue_three, None), (dequeue_three, None)]
        together(*[lambda op=op: work(*op) for op in ops], close)


def reentrant(seconds, _):
    """Python functions and signal handlers of a step run steps of the same session."""
    value = np.ones((100, 100), np.float32)
    for i in rounds(seconds):
        with tf.Graph().as_default():
            x = tf.placeholder(tf.float32, [100, 100])
            y = tf.reduce_sum(tf.matmul(x, x))
            session = tf.Session(config=config(1 + i % 2))
            nested = [y]
            for _ in range(6):
                nested.append(tf.py_func(lambda a, inner=nested[-1]: np.float32(session.run(inner, {x: a})), [x], tf.float32))
            assert session.run(nested[-1], {x: value}) == 1e6
            many = [tf.py_func(lambda a: np.float32(session.run(y, {x: a})), [x + float(k)], tf.float32) for k in range(8)]
            assert session.run(many, {x: value}) == [1e6 * (1 + k) ** 2 for k in range(8)]

            def in_threads(a):
                sums = []
                together(*[lambda: sums.append(session.run(y, {x: a}))] * 3)
                return np.float32(sum(sums))

            assert session.run(tf.py_func(in_threads, [x], tf.float32), {x: value}) == 3e6
            handled = threading.Event()

            def handle(*_):
                assert session.run(y, {x: value}) == 1e6
                handled.set()

            def interrupt(*_):
                raise KeyError("handler")

            # Waits for the handler, which runs on the main thread while that is in a step.
            waits = tf.py_func(lambda: np.bool_(handled.wait(PATIENCE)), [], tf.bool)
            before = signal.signal(signal.SIGALRM, handle)
            try:
                signal.setitimer(signal.ITIMER_REAL, 0.02)
                with tf.control_dependencies([tf.identity(y)]):
                    loop = tf.while_loop(lambda k: k < 20_000, lambda k: k + 1, [0])
                session.run(loop, {x: value})
                assert session.run(waits)
                signal.signal(signal.SIGALRM, interrupt)
                signal.setitimer(signal.ITIMER_REAL, 0.02)
                with pytest.raises(KeyError):
                    session.run(tf.while_loop(lambda k: k > -1, lambda k: k + 0, [0]))
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
                signal.signal(signal.SIGALRM, before)
            assert session.run(y, {x: value}) == 1e6
            session.close()


def in_child(work):
    """Whether `work` ends without an exception in a forked process."""
    child = os.fork()
    if child == 0:
        try:
            work()
            os._exit(0)
        except BaseException as e:
            print("child:", type(e).__name__, e, flush=True)
            os._exit(1)
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return status == 0
        time.sleep(0.01)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    print("child: hangs", flush=True)
    return False


def forks(seconds, _):
    """A forked process runs steps of its own sessions and of its parent's. A process that is forked while other threads run steps uses sessions
    of its own alone: one of those threads may have held a lock of the parent's session."""
    value = np.ones((100, 100), np.float32)
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [100, 100])
        y = tf.reduce_sum(tf.matmul(x, x))
        called = tf.py_func(lambda a: a.sum(), [x], tf.float32)
        variable = tf.get_variable("v", [100, 100], initializer=tf.ones_initializer(), use_resource=True)
        train = variable.assign_add(tf.matmul(x, variable) * 1e-6)
        queue = tf.FIFOQueue(10, [tf.float32], shapes=[[]])
        dequeue, enqueue = queue.dequeue(), queue.enqueue(1.0)
        loop = tf.while_loop(lambda i, a: i < 10, lambda i, a: (i + 1, tf.matmul(a, a) * 1e-3), [0, x])[1]
        many = tf.add_n([tf.matmul(x, x * float(k)) for k in range(6)])
        in_function = tf.py_func(lambda a: np.bool_(in_child(lambda: session.run(y, {x: a}))), [x], tf.bool)
        initialize = tf.global_variables_initializer()
    session = tf.Session(graph=graph)

    def run(session, *fetches):
        for fetch in fetches:
            session.run(fetch, {x: value})

    def times_out():
        with pytest.raises(tf.errors.DeadlineExceededError):
            session.run(dequeue, options=limit(50))

    def crosses_threads():
        waiting = threading.Thread(target=lambda: session.run(dequeue), daemon=True)
        waiting.start()
        session.run(enqueue)
        waiting.join(PATIENCE)
        assert not waiting.is_alive(), "a dequeue misses its element"

    def fresh():
        with tf.Graph().as_default(), tf.Session() as own:
            a = tf.placeholder(tf.float32, [100, 100])
            assert own.run(tf.reduce_sum(tf.matmul(a, a)), {a: value}) == 1e6

    run(session, initialize, y, called, train, loop, many)
    for _ in rounds(seconds):
        assert in_child(lambda: run(session, y, called, train, loop, many))
        assert in_child(lambda: run(tf.Session(graph=graph), y, called, loop, many))
        assert in_child(lambda: session.run(y, {x: value}, options=limit(1000 * PATIENCE)))
        assert in_child(times_out)
        crosses_threads()
        assert in_child(crosses_threads)
        stop = threading.Event()

        def busy():
            while not stop.is_set():
                run(session, y, loop, many)

        def fork_meanwhile():
            try:
                for _ in range(3):
                    assert in_child(fresh)
            finally:
                stop.set()

        together(busy, busy, busy, fork_meanwhile)
        assert session.run(in_function, {x: value})


PROGRAMS = [merges, programs, soups, queues, reentrant, forks]


@pytest.mark.parametrize("name", [program.__name__ for program in PROGRAMS])
def test_races(name):
    seed = str(random.randrange(10**9) if LONG else 1)
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", __file__, name, str(SECONDS), seed],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=SECONDS + 10 * PATIENCE)
    assert done.returncode == 0, f"{name}, seed {seed}, ended with {done.returncode}:\n{done.stdout[-4000:]}"


if __name__ == "__main__":
    wanted, duration, chosen = sys.argv[1:]
    next(program for program in PROGRAMS if program.__name__ == wanted)(float(duration), int(chosen))
    # Threads that still wait for something do not keep the process.
    sys.stdout.flush()
    os._exit(0)
