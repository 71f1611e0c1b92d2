"""Static shapes by values that only kernels know, and by parts of them, as TensorFlow's shape refiner has them."""

import pytest

import flowmill

CASES = {
    "reverse": lambda tf, x, n: tf.reshape(x, tf.reverse([2, 3], [0])),
    "unique": lambda tf, x, n: tf.zeros(tf.unique([4, 4, 5])[0]),
    "float arithmetic": lambda tf, x, n: tf.zeros(tf.cast(tf.constant([1.0, 2.0]) * 3.5, tf.int32)),
    "cast and back": lambda tf, x, n: tf.reshape(x, tf.cast(tf.cast([2, 3], tf.float32), tf.int64)),
    "equal": lambda tf, x, n: tf.reshape(x, tf.where(tf.equal([1, 1], [1, 2]), [3, 2], [2, 2])),
    "ceil": lambda tf, x, n: tf.fill(tf.cast(tf.ceil([1.5, 2.2]), tf.int32), 1.0),
    "quotient": lambda tf, x, n: tf.fill(tf.cast(tf.constant([4.0, 2.5]) / 2.0, tf.int32), 1.0),
    "tile": lambda tf, x, n: tf.fill(tf.tile([2], [3]), 1.0),
    "broadcast": lambda tf, x, n: tf.fill(tf.broadcast_to([3], [2]), 1.0),
    "sorted": lambda tf, x, n: tf.zeros(tf.sort([3, 1, 2])),
    "where": lambda tf, x, n: tf.zeros(tf.where(tf.constant([1.5, 2.5]) < 2.0, [7, 7], [8, 8])),
    "logical": lambda tf, x, n: tf.zeros([tf.cast(tf.logical_and(True, tf.less(1.0, 2.0)), tf.int32), 2]),
    "matmul": lambda tf, x, n: tf.zeros(tf.reshape(tf.matmul([[1, 2]], [[3], [4]]), [1])),
    "cumsum": lambda tf, x, n: tf.zeros(tf.cumsum([1, 2, 3])),
    "of a static shape": lambda tf, x, n: tf.zeros(tf.reverse(tf.shape(x), [0])),
    "of an unknown shape": lambda tf, x, n: tf.zeros(tf.reverse(tf.shape(n), [0])),
    "axis": lambda tf, x, n: tf.reduce_sum(x, tf.reverse([0, 1], [0])[0]),
    "space to batch": lambda tf, x, n: tf.space_to_batch(tf.placeholder(tf.float32), tf.placeholder(tf.int32), block_size=4),
    "batch to space": lambda tf, x, n: tf.batch_to_space(tf.placeholder(tf.float32), tf.placeholder(tf.int32), block_size=4),
    "batch gather": lambda tf, x, n: tf.batch_gather(x, tf.placeholder(tf.int32, [None, None])),
    "set diagonal": lambda tf, x, n: tf.matrix_set_diag(tf.placeholder(tf.float32, [None, 2, 2]), tf.placeholder(tf.float32, [3, None])),
    "permutation": lambda tf, x, n: tf.transpose(x, tf.reverse([0, 1], [0])),
    "paddings": lambda tf, x, n: tf.pad(x, tf.reverse([[1, 2], [3, 4]], [0])),
    "repeats": lambda tf, x, n: tf.tile(x, tf.reverse([2, 3], [0])),
    "slice": lambda tf, x, n: tf.slice(x, tf.reverse([0, 1], [0]), [1, 1]),
    "strided slice": lambda tf, x, n: x[:, tf.reverse([0, 1], [0])[0]:],
    "range": lambda tf, x, n: tf.range(tf.cast(tf.sqrt(16.0), tf.int32)),
    "fill": lambda tf, x, n: tf.fill(tf.reverse([2, 3], [0]), 1.0),
    "one hot": lambda tf, x, n: tf.one_hot([1, 2], tf.cast(tf.floor(3.5), tf.int32)),
    "random": lambda tf, x, n: tf.zeros(tf.random_uniform([2], 1, 5, tf.int32)),
    "fed": lambda tf, x, n: tf.zeros(tf.reverse(tf.placeholder(tf.int32, [2]), [0])),
    "with a default": lambda tf, x, n: tf.zeros(tf.reverse(tf.placeholder_with_default([2, 3], [2]), [0])),
    "a part of a pack": lambda tf, x, n: tf.reshape(n, tf.stack([tf.shape(n)[0], tf.cast(tf.sqrt(9.0), tf.int32)])),
    "a part of a concatenation": lambda tf, x, n: tf.zeros(tf.concat([tf.shape(n)[:1], tf.reverse([2, 3], [0])], 0)),
    "a cast part": lambda tf, x, n: tf.zeros(tf.cast(tf.stack([tf.shape(n)[0], 3]), tf.int64)),
    "a slice of a shape": lambda tf, x, n: tf.zeros(tf.shape(n)[1:]),
    "a slice of a slice": lambda tf, x, n: tf.zeros(tf.concat([tf.shape(n)[1:], tf.shape(n)[:1], [4]], 0)[:2]),
    "joined shapes": lambda tf, x, n: tf.zeros(tf.concat([tf.shape(x), tf.shape(n)], 0)),
    "arithmetic with a size": lambda tf, x, n: tf.zeros(tf.stack([tf.shape(n)[0] * 2, tf.shape(n)[1] * 2])),
    "an identity of parts": lambda tf, x, n: tf.zeros(tf.identity(tf.stack([tf.shape(n)[0], 3]))),
    "a long chain": lambda tf, x, n: tf.zeros(_chain(tf, tf.constant([2.0, 3.0]), 200)),
    "behind a switch": lambda tf, x, n: tf.cond(tf.placeholder(tf.bool, []), lambda: tf.reshape(x, tf.reverse([2, 3], [0])), lambda: x),
    "in a loop": lambda tf, x, n: tf.while_loop(lambda v: tf.reduce_sum(v) < 0.0, lambda v: tf.reshape(v, tf.reverse([2, 3], [0])), [x]),
}


def _chain(tf, x, length):
    for _ in range(length):
        x = x + 0.0
    return tf.cast(x, tf.int32)


@pytest.mark.parametrize("name", CASES)
def test_static_shapes(tf1, name):
    found = []
    for tf in (tf1, flowmill):
        with tf.Graph().as_default():
            x, n = tf.placeholder(tf.float32, [3, 2]), tf.placeholder(tf.float32, [None, 5])
            y = CASES[name](tf, x, n)
            found.append(y.shape.as_list() if y.shape.rank is not None else None)
    assert found[1] == found[0]


def test_what_is_learnt_later_counts(tf1):
    for tf in (tf1, flowmill):
        with tf.Graph().as_default():
            x = tf.placeholder(tf.float32)
            sizes = tf.reverse(tf.shape(x), [0])
            assert tf.zeros(sizes).shape.rank is None
            x.set_shape([2, 3])
            assert tf.zeros(tf.reverse(tf.shape(x), [0])).shape.as_list() == [3, 2]


@pytest.mark.parametrize("shape", [[2, 3], [None, 3]])
def test_captured_variables_have_their_shapes(tf1, shape):
    """What a function takes from outside of it is known in it."""
    found = []
    for tf in (tf1, flowmill):
        with tf.Graph().as_default():
            handle = tf.raw_ops.VarHandleOp(dtype="float32", shape=tf.TensorShape(shape))
            seen = []

            @tf.function
            def f():
                y = tf.raw_ops.ReadVariableOp(resource=handle, dtype="float32") * 2.0
                seen.append(y.shape.as_list())
                return y

            found.append((seen, f().shape.as_list()))
    assert found[1] == found[0] == ([shape], shape)


def test_a_size_below_zero_is_an_error(tf1):
    for tf in (tf1, flowmill):
        with tf.Graph().as_default(), pytest.raises(ValueError, match="Fill dimensions must be >= 0"):
            tf.fill(tf.stack([-1, 2]), 1.0)


def test_shape_functions_see_captured_constants(tf1):
    """A constant outside of a function, of which the function makes a shape, has its value there."""
    found = []
    for tf in (tf1, flowmill):
        with tf.Graph().as_default():
            sizes, seen = tf.constant([3, 4]), []

            @tf.function
            def f(x):
                shape = tf.concat([[5], sizes], 0)
                seen.extend(t.shape.as_list() for t in (tf.reshape(x, shape), tf.zeros(shape), tf.random.uniform(shape)))
                return tf.reshape(x, shape)

            f(tf.zeros([60]))
            found.append(seen)
    assert found[1] == found[0] == [[5, 3, 4]] * 3


def test_sizes_that_do_not_broadcast_are_reported_from_the_first_dimension_on(tf1):
    for tf in (tf1, flowmill):
        with tf.Graph().as_default(), pytest.raises(ValueError, match="are 2 and 5"):
            tf.raw_ops.AddV2(x=tf.ones([1, 2, 3]), y=tf.ones([4, 5, 6]))


ERRORS = {
    "broadcast": lambda tf, x: tf.raw_ops.AddV2(x=x, y=tf.ones([4, 5, 6]), name="total"),
    "product": lambda tf, x: tf.matmul(tf.zeros([2, 3]), tf.placeholder("float32", [4, 5], "other"), transpose_b=True),
    "value as shape": lambda tf, x: tf.reshape(x, [7]),
    "parts of a shape": lambda tf, x: tf.reshape(x, tf.stack([tf.placeholder("int32", [], "n"), 4, 5])),
    "computed value": lambda tf, x: tf.raw_ops.ConcatV2(values=[x, tf.ones([4, 5, 6])], axis=tf.constant(7) - 7),
    "padding": lambda tf, x: tf.pad(x, [[1, 1]]),
    "second output": lambda tf, x: tf.raw_ops.BiasAdd(value=tf.split(x, 3, 2)[1], bias=tf.zeros([2, 2])),
    "strings and lists": lambda tf, x: tf.raw_ops.Conv2D(input=x, filter=tf.zeros([1, 1, 1, 1]), strides=[1, 1, 1, 1], padding="SAME"),
    "floats": lambda tf, x: tf.raw_ops.FusedBatchNormV3(x=x, scale=[1.0], offset=[1.0], mean=[1.0], variance=[1.0], epsilon=0.001),
}


@pytest.mark.parametrize("build", ERRORS.values(), ids=ERRORS)
def test_errors_of_shape_functions_end_as_in_tensorflow(tf1, build):
    """With the node, its attributes and inputs, the shapes of these and the values that matter."""
    found = []
    for tf in (tf1, flowmill):
        with tf.Graph().as_default(), pytest.raises(ValueError) as raised:
            build(tf, tf.placeholder("float32", [1, 2, 3], "x"))
        found.append(str(raised.value).partition(" for '")[2])
    assert found[1] == found[0] != ""


def test_errors_of_shape_functions_of_placed_nodes(tf1):
    found = []
    for tf in (tf1, flowmill):
        with tf.Graph().as_default():
            first = tf.no_op("first")
            with pytest.raises(ValueError) as raised, tf.device("/cpu:0"), tf.control_dependencies([first]):
                tf.raw_ops.AddV2(x=tf.ones([2]), y=tf.ones([3]), name="total")
        found.append(str(raised.value))
    assert found[1] == found[0]
