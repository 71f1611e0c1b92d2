"""What type checkers say of a program: read by test_typing.py, never run.

A comment ``# error: TEXT`` says what is wrong with its line, ``# type: TYPE`` what its `reveal_type` shows. Other lines are right.
"""

import numpy as np
from typing_extensions import reveal_type

import flowmill as tf
import flowmill.compat.v1 as tf1
from flowmill import layers

# Names of the top level come from many modules, some by other names.
x: tf.Tensor = tf.reshape(tf.constant([1.0, 2.0]), [2, 1])
y: tf.Tensor = tf.matrix_determinant(tf.eye(2))
reveal_type(tf.reshape)  # type: def (tensor: Any, shape: Any, name: str | None =) -> flowmill._internal.tensor.Tensor
reveal_type(tf1.reshape)  # type: def (tensor: Any, shape: Any, name: str | None =) -> flowmill._internal.tensor.Tensor
reveal_type(tf.float32)  # type: flowmill.dtypes.DType
reveal_type(tf.VERSION)  # type: str
reveal_type(tf.__version__)  # type: str
first, second = tf.import_graph_def(tf.GraphDef(), return_elements=["a:0", "b:0"])
tf.nothing  # error: Module has no attribute "nothing"
tf.nn.nothing  # error: Module has no attribute "nothing"
tf.train.nothing  # error: Module has no attribute "nothing"
tf.reshape(x)  # error: Missing positional argument "shape" in call to "reshape"
tf.reshape(x, [2], shapes=[2])  # error: Unexpected keyword argument "shapes" for "reshape"
tf.constant(1.0, name=1)  # error: Argument "name" to "constant" has incompatible type "int"; expected "str | None"

# Operators, also those that take numbers and variables.
reveal_type(x @ tf.transpose(x) + 1.0)  # type: flowmill._internal.tensor.Tensor
reveal_type(1 - x[0])  # type: flowmill._internal.tensor.Tensor
reveal_type(-x > 0)  # type: flowmill._internal.tensor.Tensor
v = tf.Variable(1.0, name="v", use_resource=True)
reveal_type(v)  # type: flowmill._internal.variable.Variable
reveal_type(2 * v)  # type: flowmill._internal.tensor.Tensor
v.assign_add(1.0)
tf.Variable(1.0, nam="v")  # error: Unexpected keyword argument "nam" for "Variable"
reveal_type(x.shape)  # type: flowmill._internal.tensor_shape.TensorShape
reveal_type(x.op.inputs)  # type: tuple[flowmill._internal.tensor.Tensor, ...]

# Functions that other functions make; those of sparse tensors give such.
reveal_type(tf.reduce_sum(x, axis=0))  # type: flowmill._internal.tensor.Tensor
reveal_type(tf.sqrt(x))  # type: flowmill._internal.tensor.Tensor
reveal_type(tf.sqrt(tf.SparseTensor([[0]], [4.0], [2])))  # type: flowmill._internal.sparse_tensor.SparseTensor
reveal_type(tf.assert_less(x, y, message="m"))  # type: flowmill._internal.tensor.Operation
tf.reduce_sum(x, axes=0)  # error: Unexpected keyword argument "axes" for "reduce_sum"

# Every op of the catalogue.
reveal_type(tf.raw_ops.MatMul(a=x, b=y, transpose_a=True))  # type: flowmill._internal.tensor.Tensor
reveal_type(tf.raw_ops.TopKV2(input=x, k=1).values)  # type: flowmill._internal.tensor.Tensor
reveal_type(tf.raw_ops.Split(axis=0, value=x, num_split=2))  # type: list[flowmill._internal.tensor.Tensor]
reveal_type(tf.raw_ops.NoOp())  # type: flowmill._internal.tensor.Operation
tf.raw_ops.MatMul(a=x)  # error: Missing named argument "b" for "MatMul"
tf.raw_ops.MatMul(x, y)  # error: Too many positional arguments for "MatMul"
tf.raw_ops.Cast(x=x, DstT=[])  # error: Argument "DstT" to "Cast" has incompatible type
tf.raw_ops.Nothing()  # error: Module has no attribute "Nothing"

# Layers, training, errors.
logits = layers.dense(tf.nn.relu(x), 10, activation=tf.nn.softmax)
reveal_type(logits)  # type: flowmill._internal.tensor.Tensor
reveal_type(tf.losses.mean_squared_error(y, logits))  # type: flowmill._internal.tensor.Tensor
reveal_type(tf.metrics.accuracy(y, logits))  # type: tuple[flowmill._internal.tensor.Tensor, flowmill._internal.tensor.Tensor]
reveal_type(tf.nn.top_k(logits, 3).indices)  # type: flowmill._internal.tensor.Tensor
reveal_type(tf.train.AdamOptimizer(1e-3).minimize(y))  # type: flowmill._internal.tensor.Operation
reveal_type(tf.contrib.layers.xavier_initializer())  # type: flowmill._internal.init_ops.Initializer

# Messages.
config = tf.ConfigProto(allow_soft_placement=True, gpu_options={"allow_growth": True}, device_count={"CPU": 2})
config.graph_options.optimizer_options.opt_level = -1
config.session_inter_op_thread_pool.add(num_threads=2)
reveal_type(config.graph_options)  # type: flowmill._internal.protos.GraphOptions
reveal_type(tf.GraphDef.FromString(b"").node[0].input)  # type: typing.MutableSequence[str]
reveal_type(tf.RunOptions.FULL_TRACE)  # type: int
tf.ConfigProto(nothing=1)  # error: Unexpected keyword argument "nothing" for "ConfigProto"
config.nothing = 1  # error: "ConfigProto" has no attribute "nothing"

graph = tf.Graph()
reveal_type(graph.get_tensor_by_name("x:0"))  # type: flowmill._internal.tensor.Tensor
with graph.as_default(), tf.Session(config=config) as sess:
    sess.run(tf.global_variables_initializer())
    value = sess.run({"x": x}, feed_dict={y: np.zeros([2])})
    sess.run(x, feeds={})  # error: Unexpected keyword argument "feeds" for "run"
    try:
        sess.run(tf.group(x, y))
    except (tf.errors.OutOfRangeError, tf.errors.NotFoundError) as error:
        reveal_type(error.message)  # type: Any
