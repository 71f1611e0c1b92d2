"""Every way in which programs write an argument, for functions of both modules, and what functions make of it."""

import collections

import numpy as np
from tensorflow.core.framework import graph_pb2, tensor_pb2


class WithIndex:
    """An object that is an integer by `__index__` alone."""

    def __index__(self):
        return 2


class WithArray:
    """An object that becomes an array."""

    def __array__(self, dtype=None, copy=None):
        return np.array([2, 3], dtype or np.int64)


# One argument: shapes, sizes, axes, numbers, lists. Called with a module, in a new graph.
SPELLINGS = {
    "list": lambda tf: [2, 3],
    "tuple": lambda tf: (2, 3),
    "array": lambda tf: np.array([2, 3]),
    "array int32": lambda tf: np.array([2, 3], np.int32),
    "array uint8": lambda tf: np.array([2, 3], np.uint8),
    "array float": lambda tf: np.array([2.0, 3.0]),
    "array object": lambda tf: np.array([2, 3], object),
    "array strings": lambda tf: np.array(["2", "3"]),
    "array empty": lambda tf: np.array([]),
    "matrix": lambda tf: np.matrix([2, 3]),
    "NumPy scalars": lambda tf: [np.int32(2), np.int64(3)],
    "small NumPy scalars": lambda tf: [np.int16(2), np.uint8(3)],
    "int and NumPy scalar": lambda tf: [2, np.int64(3)],
    "0-d array in list": lambda tf: [np.array(2), 3],
    "1-d array in list": lambda tf: [np.array([2]), 3],
    "1-d arrays in list": lambda tf: [np.array([2]), np.array([3])],
    "dimensions": lambda tf: [tf.Dimension(2), tf.Dimension(3)],
    "dimension and int": lambda tf: [tf.Dimension(2), 3],
    "int and dimension": lambda tf: (2, tf.Dimension(3)),
    "dimension and NumPy scalar": lambda tf: [tf.Dimension(2), np.int64(3)],
    "unknown dimension": lambda tf: [tf.Dimension(None), 3],
    "nested dimensions": lambda tf: [[tf.Dimension(2)], [3]],
    "shape": lambda tf: tf.TensorShape([2, 3]),
    "shape in list": lambda tf: [tf.TensorShape([2, 3])],
    "partial shape": lambda tf: tf.TensorShape([None, 3]),
    "unknown shape": lambda tf: tf.TensorShape(None),
    "empty shape": lambda tf: tf.TensorShape([]),
    "shape message": lambda tf: tf.TensorShape([2, 3]).as_proto(),
    "tensor": lambda tf: tf.constant([2, 3], name="T"),
    "tensor int64": lambda tf: tf.constant([2, 3], tf.int64, name="T"),
    "tensor in list": lambda tf: [tf.constant(2, name="T"), 3],
    "int before tensor": lambda tf: [3, tf.constant(2, name="T")],
    "int64 tensor in list": lambda tf: [tf.constant(2, tf.int64, name="T"), 3],
    "tensor and dimension": lambda tf: (tf.constant(2, name="T"), tf.Dimension(3)),
    "tensor and NumPy scalar": lambda tf: [tf.constant(2, name="T"), np.int64(3)],
    "tensor and 0-d array": lambda tf: [tf.constant(2, name="T"), np.array(3)],
    "tensors": lambda tf: [tf.constant(2, name="T"), tf.constant(3, name="U")],
    "nested tensor": lambda tf: [[4, 5], [tf.constant(2, name="T"), 3]],
    "tensor and array": lambda tf: [np.array([2, 3]), tf.constant([4, 5], name="T")],
    "variable": lambda tf: tf.Variable([2, 3], name="V", trainable=False),
    "variable in list": lambda tf: [tf.Variable(2, name="V"), 3],
    "range": lambda tf: range(2, 4),
    "generator": lambda tf: (i for i in (2, 3)),
    "map": lambda tf: map(int, "23"),
    "dict values": lambda tf: {"a": 2, "b": 3}.values(),
    "dict keys": lambda tf: {2: 0, 3: 0}.keys(),
    "set": lambda tf: {2, 3},
    "deque": lambda tf: collections.deque([2, 3]),
    "named tuple": lambda tf: collections.namedtuple("Pair", "a b")(2, 3),
    "nested": lambda tf: [[2, 3]],
    "jagged": lambda tf: [[2], [3, 4]],
    "arrays in list": lambda tf: [np.array([2, 3]), np.array([4, 5])],
    "int": lambda tf: 2,
    "NumPy scalar": lambda tf: np.int32(2),
    "int64 NumPy scalar": lambda tf: np.int64(2),
    "0-d array": lambda tf: np.array(2),
    "dimension": lambda tf: tf.Dimension(2),
    "float": lambda tf: 2.0,
    "float NumPy scalar": lambda tf: np.float32(2),
    "floats": lambda tf: [2.0, 3.0],
    "bool": lambda tf: True,
    "bools": lambda tf: [True, 3],
    "NumPy bool": lambda tf: np.bool_(True),
    "strings": lambda tf: ["2", "3"],
    "string": lambda tf: "23",
    "complex": lambda tf: [1j],
    "None": lambda tf: None,
    "None in list": lambda tf: [None, 3],
    "empty list": lambda tf: [],
    "empty tuple": lambda tf: (),
    "index": lambda tf: WithIndex(),
    "index in list": lambda tf: [WithIndex(), 3],
    "array-like": lambda tf: WithArray(),
    "array-like in list": lambda tf: [WithArray()],
    "memory view": lambda tf: memoryview(np.array([2, 3])),
    "bytearray": lambda tf: bytearray(b"ab"),
    "object": lambda tf: object(),
    "dict": lambda tf: {"a": 2},
    "operation": lambda tf: tf.no_op(),
}


def _value(tensor):
    message = tensor_pb2.TensorProto.FromString(tensor.SerializeToString())
    from tensorflow import make_ndarray

    array = make_ndarray(message)
    return str(array.dtype), array.shape, array.tobytes() if array.dtype != object else tuple(array.ravel().tolist())


def nodes_of(graph):
    """A graph's nodes: names, ops, inputs, devices, attributes but those for TensorFlow's own use; values of constants, however they are encoded."""
    described = []
    for node in graph_pb2.GraphDef.FromString(graph.as_graph_def().SerializeToString()).node:
        attrs = {k: _value(v.tensor) if (node.op, k) == ("Const", "value") else v.SerializeToString(deterministic=True)
                 for k, v in node.attr.items() if not k.startswith("_")}
        described.append((node.name, node.op, tuple(node.input), node.device, tuple(sorted(attrs.items()))))
    return described


def outcome(tf, function, spelling):
    """What a function makes of an argument: its nodes, or the error."""
    graph = tf.Graph()
    with graph.as_default():
        argument = spelling(tf)
        try:
            function(tf, argument)
        except Exception as error:  # which one it is, is compared
            return error
        return nodes_of(graph)


def difference(theirs, ours):
    """What is different between two outcomes, in words; None where they are alike: the same nodes, or errors of one class."""
    failed = isinstance(theirs, Exception), isinstance(ours, Exception)
    if failed == (True, True):
        classes = [{c.__name__ for c in type(e).__mro__} - {"OpError", "Exception", "BaseException", "object"} for e in (theirs, ours)]
        return None if classes[0] & classes[1] else f"{theirs!r} and {ours!r}"
    if failed != (False, False):
        return f"{theirs!r:.200} and {ours!r:.200}"
    if theirs == ours:
        return None
    return next((f"{a} and {b}" for a, b in zip(theirs, ours) if a != b), f"{len(theirs)} and {len(ours)} nodes")
