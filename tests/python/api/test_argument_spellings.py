"""Arguments in every spelling: the same nodes as TensorFlow's, or an error of the same class."""

import inspect

import numpy as np
import pytest

import flowmill
from compare import compare
from spellings import SPELLINGS, difference, outcome


def _x(tf, *shape, dtype="float32", name="x"):
    return tf.placeholder(dtype, shape or (2, 3), name)


FUNCTIONS = {
    "convert_to_tensor": lambda tf, a: tf.convert_to_tensor(a),
    "convert_to_tensor int32": lambda tf, a: tf.convert_to_tensor(a, tf.int32),
    "convert_to_tensor int64": lambda tf, a: tf.convert_to_tensor(a, tf.int64),
    "convert_to_tensor float32": lambda tf, a: tf.convert_to_tensor(a, tf.float32),
    "convert_to_tensor string": lambda tf, a: tf.convert_to_tensor(a, tf.string),
    "convert_to_tensor bool": lambda tf, a: tf.convert_to_tensor(a, tf.bool),
    "convert_to_tensor complex64": lambda tf, a: tf.convert_to_tensor(a, tf.complex64),
    "convert_to_tensor uint8": lambda tf, a: tf.convert_to_tensor(a, tf.uint8),
    "convert_to_tensor hint": lambda tf, a: tf.convert_to_tensor(a, dtype_hint=tf.float32),
    "constant": lambda tf, a: tf.constant(a),
    "constant int64": lambda tf, a: tf.constant(a, tf.int64),
    "constant float32": lambda tf, a: tf.constant(a, tf.float32),
    "identity": lambda tf, a: tf.identity(a),
    "reshape": lambda tf, a: tf.reshape(_x(tf), a),
    "zeros": lambda tf, a: tf.zeros(a),
    "ones": lambda tf, a: tf.ones(a, tf.int32),
    "fill": lambda tf, a: tf.fill(a, 1.0),
    "fill's value": lambda tf, a: tf.fill([2], a),
    "random_normal": lambda tf, a: tf.random_normal(a, seed=1),
    "truncated_normal": lambda tf, a: tf.truncated_normal(a, seed=1),
    "random_uniform": lambda tf, a: tf.random_uniform(a, seed=1),
    "random_gamma": lambda tf, a: tf.random_gamma(a, 1.0, seed=1),
    "random_poisson": lambda tf, a: tf.random_poisson(1.0, a, seed=1),
    "stateless_normal": lambda tf, a: tf.random.stateless_normal(a, [1, 2]),
    "seed of stateless_uniform": lambda tf, a: tf.random.stateless_uniform([2], a),
    "placeholder": lambda tf, a: tf.placeholder("float32", a),
    "get_variable": lambda tf, a: tf.get_variable("w", a, use_resource=True),
    "Variable": lambda tf, a: tf.Variable(a),
    "broadcast_to": lambda tf, a: tf.broadcast_to(_x(tf), a),
    "TensorShape": lambda tf, a: tf.constant(tf.TensorShape(a).as_list()),
    "tile": lambda tf, a: tf.tile(_x(tf), a),
    "slice": lambda tf, a: tf.slice(_x(tf), [0, 0], a),
    "transpose": lambda tf, a: tf.transpose(_x(tf, 1, 2, 3, 4), a),
    "reduce_sum": lambda tf, a: tf.reduce_sum(_x(tf, 1, 2, 3, 4), a),
    "moments": lambda tf, a: tf.nn.moments(_x(tf, 1, 2, 3, 4), a),
    "squeeze": lambda tf, a: tf.squeeze(_x(tf, 4, 4, 1, 1), a),
    "expand_dims": lambda tf, a: tf.expand_dims(_x(tf, 1, 2, 3, 4), a),
    "axis of concat": lambda tf, a: tf.concat([_x(tf, 1, 2, 3, 4), _x(tf, 1, 2, 3, 4, name="y")], a),
    "axis of stack": lambda tf, a: tf.stack([_x(tf, 1, 2, 3, 4), _x(tf, 1, 2, 3, 4, name="y")], a),
    "axis of unstack": lambda tf, a: tf.unstack(_x(tf, 1, 2, 3, 4), axis=a),
    "gather": lambda tf, a: tf.gather(_x(tf, 5, 5), a),
    "softmax": lambda tf, a: tf.nn.softmax(_x(tf, 1, 2, 3, 4), axis=a),
    "cumsum": lambda tf, a: tf.cumsum(_x(tf, 1, 2, 3, 4), a),
    "reverse": lambda tf, a: tf.reverse(_x(tf, 1, 2, 3, 4), a),
    "l2_normalize": lambda tf, a: tf.nn.l2_normalize(_x(tf, 1, 2, 3, 4), a),
    "resize_images": lambda tf, a: tf.image.resize_images(_x(tf, 1, 2, 3, 4), a),
    "resize_bilinear": lambda tf, a: tf.image.resize_bilinear(_x(tf, 1, 2, 3, 4), a),
    "random_crop": lambda tf, a: tf.random_crop(_x(tf, 4, 4), a, seed=1),
    "conv2d": lambda tf, a: tf.nn.conv2d(_x(tf, 1, 5, 5, 1), _x(tf, 2, 2, 1, 1, name="f"), strides=a, padding="SAME"),
    "max_pool": lambda tf, a: tf.nn.max_pool(_x(tf, 1, 5, 5, 1), a, [1, 1, 1, 1], "SAME"),
    "conv2d_transpose": lambda tf, a: tf.nn.conv2d_transpose(_x(tf), _x(tf, name="f"), a, [1, 1, 1, 1]),
    "dropout": lambda tf, a: tf.nn.dropout(_x(tf), 0.5, noise_shape=a, seed=1),
    "keep_prob of dropout": lambda tf, a: tf.nn.dropout(_x(tf), keep_prob=a, seed=1),
    "add": lambda tf, a: tf.add(_x(tf), a),
    "operator": lambda tf, a: tf.placeholder("float32", None) + a,
    "maximum": lambda tf, a: tf.maximum(a, a),
    "matmul": lambda tf, a: tf.matmul(_x(tf), a),
    "scatter_nd": lambda tf, a: tf.scatter_nd([[0, 0]], [1.0], a),
    "SparseTensor": lambda tf, a: tf.SparseTensor([[0, 0]], [1.0], a),
    "cast": lambda tf, a: tf.cast(a, tf.float32),
    "to_float": lambda tf, a: tf.to_float(a),
    "shape": lambda tf, a: tf.shape(a),
    "size": lambda tf, a: tf.size(a),
    "rank": lambda tf, a: tf.rank(a),
    "zeros_like": lambda tf, a: tf.zeros_like(a),
    "sqrt": lambda tf, a: tf.sqrt(a),
    "reduce_max of it": lambda tf, a: tf.reduce_max(a),
    "where": lambda tf, a: tf.where(a),
    "sequence_mask": lambda tf, a: tf.sequence_mask(a),
    "maxlen of sequence_mask": lambda tf, a: tf.sequence_mask([1], a),
    "embedding_lookup": lambda tf, a: tf.nn.embedding_lookup(_x(tf, 5, 5), a),
    "boolean_mask": lambda tf, a: tf.boolean_mask(_x(tf), a),
    "clip_by_value": lambda tf, a: tf.clip_by_value(_x(tf), 0.0, a),
    "as_string": lambda tf, a: tf.as_string(a),
    "group": lambda tf, a: tf.group(a),
    "assign": lambda tf, a: tf.assign(tf.Variable([1, 2], name="W"), a),
    "scatter_update": lambda tf, a: tf.scatter_update(tf.Variable([1, 2, 3, 4, 5], name="W"), a, 1),
    "space_to_batch_nd": lambda tf, a: tf.space_to_batch_nd(_x(tf, 1, 4, 6, 1), a, [[0, 0], [0, 0]]),
    "unsorted_segment_sum": lambda tf, a: tf.unsorted_segment_sum([1.0, 2.0], [0, 1], a),
    "size of TensorArray": lambda tf, a: tf.TensorArray(tf.float32, a).flow,
    "capacity of FIFOQueue": lambda tf, a: tf.FIFOQueue(a, [tf.float32]).queue_ref,
    "raw Reshape": lambda tf, a: tf.raw_ops.Reshape(tensor=_x(tf), shape=a),
    "raw VarHandleOp": lambda tf, a: tf.raw_ops.VarHandleOp(dtype=tf.float32, shape=a, shared_name="a"),
    "raw MaxPool": lambda tf, a: tf.raw_ops.MaxPool(input=_x(tf, 1, 5, 5, 1), ksize=a, strides=a, padding="SAME"),
    "raw LeakyRelu": lambda tf, a: tf.raw_ops.LeakyRelu(features=_x(tf), alpha=a),
    "raw MatMul": lambda tf, a: tf.raw_ops.MatMul(a=_x(tf), b=_x(tf, name="y"), transpose_b=a),
    "raw QueueV2": lambda tf, a: tf.raw_ops.FIFOQueueV2(component_types=[tf.float32], shapes=a),
}

# (function, spelling): why the outcome is another one.
_REF = "a variable is read where TensorFlow adds a second Identity, or compares it"
_BOOL = "an attribute takes no bool as a size, the initial value's shape does"
KNOWN = {
    ("zeros", "index in list"): "an index is a number here", ("ones", "index in list"): "an index is a number here",
    ("get_variable", "bools"): _BOOL, ("dropout", "unknown shape"): "TensorFlow takes the length of what has none",
    ("Variable", "variable"): _REF, ("Variable", "variable in list"): _REF, ("dropout", "variable"): _REF,
    ("zeros", "variable"): _REF, ("zeros", "variable in list"): _REF, ("ones", "variable"): _REF, ("ones", "variable in list"): _REF,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_spellings(tf1, name):
    function = FUNCTIONS[name]
    found = {}
    for spelling, make in SPELLINGS.items():
        if (name, spelling) not in KNOWN:
            found[spelling] = difference(outcome(tf1, function, make), outcome(flowmill, function, make))
    assert not {k: v for k, v in found.items() if v is not None}


def _variables(tf):
    return {name: tf.get_variable(name, [2], initializer=tf.zeros_initializer()) for name in "ab"}


WITH_VIEWS = {
    "group": lambda tf: tf.group(_variables(tf).values()),
    "tuple": lambda tf: tf.tuple(_variables(tf).values()),
    "add_n": lambda tf: tf.add_n(list(_variables(tf).values())),
    "control_dependencies": lambda tf: _after(tf, _variables(tf).values()),
    "variables_initializer": lambda tf: tf.variables_initializer(_variables(tf).values()),
    "Saver": lambda tf: tf.train.Saver(_variables(tf)).as_saver_def() and tf.no_op(),
}


def _after(tf, controls):
    with tf.control_dependencies(controls):
        return tf.no_op()


@pytest.mark.parametrize("build", WITH_VIEWS.values(), ids=WITH_VIEWS)
def test_views_of_dictionaries(tf1, build):
    compare(tf1, build, initialize=True)


@pytest.mark.parametrize("spelled", [dict.values, lambda d: list(d.values()), lambda d: tuple(d.values())])
def test_variables_to_minimize(tf1, spelled):
    def build(tf):
        variables = _variables(tf)
        loss = tf.reduce_sum(tf.square(variables["a"] + variables["b"] - 1.0))
        with tf.control_dependencies([tf.train.GradientDescentOptimizer(0.25).minimize(loss, var_list=spelled(variables))]):
            return [tf.identity(v.read_value()) for v in variables.values()]
    compare(tf1, build, initialize=True, nodes=False)


def _named(module, prefix):
    for name in sorted(set(dir(module))):
        function = getattr(module, name, None)
        if not name.startswith("_") and callable(function) and not inspect.isclass(function):
            yield f"{prefix}{name}", function


def test_no_name_is_the_default_name():
    """A function whose name has a default takes None for it."""
    arguments = {
        "constant": [1.0], "range": [3], "concat": [[[1.0], [2.0]], 0], "split": [[1.0, 2.0], 2], "stack": [[1.0, 2.0]], "unstack": [[1.0, 2.0]],
        "transpose": [[[1.0]]], "matrix_transpose": [[[1.0]]], "boolean_mask": [[1.0], [True]], "meshgrid": [[1.0], [2.0]],
        "parallel_stack": [[1.0, 2.0]], "logical_xor": [True, False], "matrix_diag": [[1.0]], "matrix_diag_part": [[[1.0]]],
        "matrix_set_diag": [[[1.0]], [1.0]], "to_bfloat16": [1.0], "to_complex64": [1.0], "to_complex128": [1.0], "to_double": [1.0],
        "to_float": [1], "to_int32": [1.0], "to_int64": [1.0], "variables_initializer": [[]], "tables_initializer": [],
        "report_uninitialized_variables": [], "initialize_all_tables": [], "initialize_variables": [[]],
    }
    tried = set()
    for name, function in _named(flowmill, ""):
        parameter = inspect.signature(function).parameters.get("name") if name in arguments else None
        if parameter is not None and isinstance(parameter.default, str):
            with flowmill.Graph().as_default():
                function(*arguments[name], name=None)
            tried.add(name)
    assert tried == set(arguments)


DEVICES = [
    "cpu:0", "CPU", "gpu", "gpu:0", "GPU:1", "//cpu:0", "/cpu:0", "/CPU:0", "/device:cpu:0", "/device:GPU", "device:GPU:0", "/job:ps", "job:ps/task:1",
    "/job:worker/replica:0/task:1/device:CPU:0", "/job:worker/replica:0/task:1/cpu:0", "", None, "TPU:0", "/device:TPU:0", "/device:CPU:*", "/cpu:*",
    "/foo:1", "foo", "/job:ps/cpu:0/gpu:0", "/task:x", "//", "/cpu:a", "/", "/job:a-b", "/job:a/job:b", "/cpu:0/", " /cpu:0", 3,
]
DEVICE_MAKERS = {str(d): (lambda tf, d=d: d) for d in DEVICES} | {
    "DeviceSpec": lambda tf: tf.DeviceSpec(job="ps", task=1, device_type="GPU", device_index=0),
    "DeviceSpec of a type": lambda tf: tf.DeviceSpec(device_type="cpu"),
    "function of a name": lambda tf: lambda op: "/cpu:0",
    "function of a short name": lambda tf: lambda op: "gpu:0",
    "function of a DeviceSpec": lambda tf: lambda op: tf.DeviceSpec(job="w"),
    "function of nothing": lambda tf: lambda op: "",
    "replica_device_setter": lambda tf: tf.train.replica_device_setter(2),
}


def _on_device(tf, device):
    with tf.device(device):
        tf.constant(1)
        tf.get_variable("v", [2])


def _between_devices(tf, device):
    with tf.device("/job:w/task:3"), tf.device(device):
        with tf.device("GPU:1"):
            tf.constant(2)
        tf.constant(1)


@pytest.mark.parametrize("use", [_on_device, _between_devices])
@pytest.mark.parametrize("device", DEVICE_MAKERS)
def test_devices(tf1, use, device):
    assert difference(*(outcome(tf, use, DEVICE_MAKERS[device]) for tf in (tf1, flowmill))) is None


@pytest.mark.parametrize("value", [np.matrix([[1.0, 2.0]])[np.newaxis], np.matrix([[1.0, 2.0], [3.0, 4.0]])[np.newaxis], np.float64(2), 2, [[1, 2]]])
def test_feeds(tf1, value):
    found = []
    for tf in (tf1, flowmill):
        with tf.Graph().as_default(), tf.Session() as session:
            fed = tf.placeholder(tf.float32, None)
            found.append(session.run(fed * 2.0, {fed: value}))
    assert type(found[0]) is type(found[1])
    np.testing.assert_array_equal(*found)
