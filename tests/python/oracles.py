"""Running what TensorFlow builds here and there."""

import re

import numpy as np

import flowmill as tf


def both(tf1, build, feeds=None):
    """The values of the tensors that `build(tf1)` gives, from TensorFlow and from here; the name of the error's class where a run fails."""
    with tf1.Graph().as_default() as g:
        names = [t.name for t in build(tf1)]
    with tf.Graph().as_default() as own:
        tf.import_graph_def(g.as_graph_def().SerializeToString(), name="")
    results = []
    for module, graph in ((tf1, g), (tf, own)):
        with module.Session(graph=graph) as sess:
            try:
                results.append(sess.run(names, feeds))
            except module.errors.OpError as error:
                results.append(type(error).__name__)
            except UnicodeDecodeError:  # TensorFlow's binding trips over the bytes in its own message
                results.append("InvalidArgumentError")
    return results


def assert_same(tf1, build, feeds=None, rtol=0.0, atol=0.0):
    """Asserts that values (of floats within the tolerance) or classes of errors are TensorFlow's; gives the class of error, None for values."""
    theirs, ours = both(tf1, build, feeds)
    if isinstance(theirs, str) or isinstance(ours, str):
        assert ours == theirs
        return theirs
    for i, (want, got) in enumerate(zip(theirs, ours)):
        if isinstance(want, bytes):
            assert got == want, i
            continue
        assert got.dtype == want.dtype and got.shape == want.shape, (i, want, got)
        if want.dtype.kind in "fc" and (rtol or atol):
            np.testing.assert_allclose(got, want, rtol, atol, err_msg=f"output {i}")
        else:
            np.testing.assert_array_equal(got, want, f"output {i}")
    return None


def fed(tf1, op, feeds, tolerance=1e-4, **attrs):
    """Asserts that `raw_ops.op` of fed arrays gives what it gives there; the class of error, or None."""
    def build(m):
        outputs = getattr(m.raw_ops, op)(**{name: m.placeholder(value.dtype, name=name) for name, value in feeds.items()}, **attrs)
        return list(outputs) if isinstance(outputs, tuple) else [outputs]
    return assert_same(tf1, build, {f"{name}:0": value for name, value in feeds.items()}, rtol=tolerance, atol=tolerance)


def feature(tf1, values):
    """A feature of an example with bytes, floats or integers, or of no kind without values."""
    if not values:
        return tf1.train.Feature()
    if isinstance(values[0], bytes):
        return tf1.train.Feature(bytes_list=tf1.train.BytesList(value=values))
    if isinstance(values[0], float):
        return tf1.train.Feature(float_list=tf1.train.FloatList(value=values))
    return tf1.train.Feature(int64_list=tf1.train.Int64List(value=values))


def example(tf1, **features):
    """A serialised example."""
    return tf1.train.Example(features=tf1.train.Features(feature={k: feature(tf1, v) for k, v in features.items()})).SerializeToString()


def words_of(error):
    """What an error says: its first line, without what TensorFlow puts before it about where that was."""
    message = getattr(error, "message", None) or str(error)
    words = re.sub(r"^Graph execution error:\s+(.*?^Node: '[^\n]*\n)?", "", message, flags=re.DOTALL | re.MULTILINE).split("\n")[0]
    assert words, message
    return words


def assert_same_op(tf1, op, tolerance=0.0, **arguments):
    """Asserts that `raw_ops.op` returns TensorFlow's values or class of error; returns that class, None for values.

    Arguments that are NumPy arrays become constants; all others are passed on.
    """
    def build(m):
        inputs = {k: m.constant(v) if isinstance(v, np.ndarray) else v for k, v in arguments.items()}
        made = getattr(m.raw_ops, op)(**inputs)
        outputs = list(made) if isinstance(made, (tuple, list)) else [made]
        return [t for part in outputs for t in (part if isinstance(part, (tuple, list)) else [part])]
    return assert_same(tf1, build, rtol=tolerance, atol=tolerance)


def strings(values):
    """Returns an array of strings of any length."""
    return np.array(values, dtype=object)
