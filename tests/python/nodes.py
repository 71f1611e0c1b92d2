"""Small graphs for tests, one node per line."""

import numpy as np

import flowmill as tf


def node(name, op, *inputs, **attrs):
    """A `NodeDef`. Attributes are given as DTypes, TensorShapes, arrays, Python values, lists of them."""
    made = tf.NodeDef(name=name, op=op, input=inputs)
    for key, value in attrs.items():
        _set(made.attr[key], value)
    return made


def _set(attr, value):
    if isinstance(value, bool):
        attr.b = value
    elif isinstance(value, int):
        attr.i = value
    elif isinstance(value, float):
        attr.f = value
    elif isinstance(value, (str, bytes)):
        attr.s = value.encode() if isinstance(value, str) else value
    elif isinstance(value, tf.DType):
        attr.type = value.as_datatype_enum
    elif isinstance(value, tf.TensorShape):
        attr.shape.CopyFrom(value.as_proto())
    elif isinstance(value, (np.ndarray, np.generic)):
        attr.tensor.CopyFrom(tensor_proto(np.asarray(value)))
    else:
        assert isinstance(value, list), value
        for item in value:
            if isinstance(item, tf.DType):
                attr.list.type.append(item.as_datatype_enum)
            elif isinstance(item, tf.TensorShape):
                attr.list.shape.append(item.as_proto())
            elif isinstance(item, bool):
                attr.list.b.append(item)
            elif isinstance(item, float):
                attr.list.f.append(item)
            elif isinstance(item, (str, bytes)):
                attr.list.s.append(item.encode() if isinstance(item, str) else item)
            else:
                attr.list.i.append(item)


def tensor_proto(array):
    """A `TensorProto` with the contents of an array."""
    if array.dtype.kind in "SUO":
        strings = [s if isinstance(s, bytes) else s.encode() for s in array.ravel().tolist()]
        return tf.TensorProto(dtype=7, tensor_shape=tf.TensorShape(array.shape).as_proto(), string_val=strings)
    return tf.TensorProto(
        dtype=tf.as_dtype(array.dtype).as_datatype_enum, tensor_shape=tf.TensorShape(array.shape).as_proto(), tensor_content=array.tobytes())


def const(name, value, dtype=np.float32):
    array = np.asarray(value) if dtype is None else np.asarray(value, dtype)
    return node(name, "Const", dtype=tf.as_dtype(array.dtype), value=array)


def placeholder(name, dtype=tf.float32, shape=None):
    return node(name, "Placeholder", dtype=dtype, shape=tf.TensorShape(shape))


def binary(name, op, x, y, dtype=tf.float32, **attrs):
    return node(name, op, x, y, T=dtype, **attrs)


def graph_def(*nodes):
    made = tf.GraphDef(node=nodes)
    made.versions.producer = 2000
    return made


def graph(*nodes):
    """A graph of these nodes."""
    made = tf.Graph()
    with made.as_default():
        tf.import_graph_def(graph_def(*nodes), name="")
    return made


def counting_loop(start="start", limit="limit", name="loop", work=(), back="next"):
    """Nodes of `while i < limit: i += 1` in frames, int32; gives `{name}/exit`. `work` may add nodes that use `{name}/body`."""
    n = f"{name}/"
    i32 = tf.int32
    return [
        node(n + "enter", "Enter", start, T=i32, frame_name=name, is_constant=False, parallel_iterations=10),
        node(n + "limit", "Enter", limit, T=i32, frame_name=name, is_constant=True, parallel_iterations=10),
        node(n + "merge", "Merge", n + "enter", n + back, T=i32, N=2),
        node(n + "less", "Less", n + "merge", n + "limit", T=i32),
        node(n + "cond", "LoopCond", n + "less"),
        node(n + "switch", "Switch", n + "merge", n + "cond", T=i32),
        node(n + "exit", "Exit", n + "switch", T=i32),
        node(n + "body", "Identity", n + "switch:1", T=i32),
        node(n + "one", "Const", "^" + n + "body", dtype=i32, value=np.int32(1)),
        node(n + "add", "AddV2", n + "body", n + "one", T=i32),
        *work,
        node(n + "next", "NextIteration", n + "add", T=i32),
    ]
