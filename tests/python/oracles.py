"""Running what TensorFlow builds here and there."""

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
