"""Training steps that are measured beside TensorFlow: the networks of public scripts, with an optimiser each.

Every function returns a graph with variables, made by TensorFlow's own gradients. All engines start from the same variables.
"""
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from zoo import Input, Transformer, difference_normalized, tanh_gelu

tf1 = tf.compat.v1


class Training(NamedTuple):
    """A graph, its inputs by name of the tensor, and the names of the loss, the training step and the initialiser."""

    graph_def: Any
    inputs: dict[str, Input]
    loss: str
    step: str
    initializer: str


def training(build: Callable, inputs: list[Input], optimizer) -> Training:
    """`build` gets placeholders and returns the loss."""
    tf1.disable_control_flow_v2()
    tf1.disable_resource_variables()
    with tf1.Graph().as_default() as graph:
        tf1.set_random_seed(31)
        types = [tf.int32 if each.num_tokens else tf.float32 for each in inputs]
        placeholders = [tf1.placeholder(dtype, [None, *each.shape], f"x{i}") for i, (dtype, each) in enumerate(zip(types, inputs))]
        loss = build(*placeholders)
        step = optimizer().minimize(loss)
        initializer = tf1.global_variables_initializer()
    return Training(graph.as_graph_def(), {x.name: each for x, each in zip(placeholders, inputs)}, loss.name, step.name, initializer.name)


def gradient_descent():
    return tf1.train.GradientDescentOptimizer(1e-3)


def momentum():
    return tf1.train.MomentumOptimizer(1e-3, 0.9)


def adam():
    return tf1.train.AdamOptimizer(1e-4)


def variable(name: str, shape: tuple[int, ...], deviation: float = 0.05):
    return tf1.get_variable(name, shape, initializer=tf1.truncated_normal_initializer(stddev=deviation, seed=len(name) + sum(shape)))


def dense(x, units: int, name: str):
    with tf1.variable_scope(name):
        size = int(x.shape[-1])
        return tf1.nn.bias_add(tf1.matmul(x, variable("kernel", (size, units), np.sqrt(2 / size))), variable("bias", (units,)))


def convolution(x, filters: int, size: int, name: str, stride: int = 1, biased: bool = True):
    with tf1.variable_scope(name):
        inputs = int(x.shape[-1])
        kernel = variable("kernel", (size, size, inputs, filters), np.sqrt(2 / (size * size * inputs)))
        x = tf1.nn.conv2d(x, kernel, [1, stride, stride, 1], "SAME")
        return tf1.nn.bias_add(x, variable("bias", (filters,))) if biased else x


def normalized(x, name: str):
    """A batch norm in training."""
    with tf1.variable_scope(name):
        channels = int(x.shape[-1])
        scale = tf1.get_variable("scale", (channels,), initializer=tf1.ones_initializer())
        return tf1.nn.fused_batch_norm(x, scale, variable("offset", (channels,)), is_training=True)[0]


def pooled(x, size: int = 2):
    return tf1.nn.max_pool(x, [1, size, size, 1], [1, 2, 2, 1], "SAME")


def classified(logits, labels):
    return tf1.reduce_mean(tf1.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))


def flat(x):
    return tf1.reshape(x, [-1, int(np.prod([int(size) for size in x.shape[1:]]))])


def mnist() -> Training:
    """The tutorial's network: two convolutions of 5 × 5, pools, a dense layer of 1024."""

    def build(images, labels):
        x = pooled(tf1.nn.relu(convolution(images, 32, 5, "c1")))
        x = pooled(tf1.nn.relu(convolution(x, 64, 5, "c2")))
        return classified(dense(tf1.nn.relu(dense(flat(x), 1024, "d1")), 10, "d2"), labels)
    return training(build, [Input((28, 28, 1)), Input((), 10)], adam)


def perceptron() -> Training:
    def build(images, labels):
        x = tf1.nn.relu(dense(tf1.nn.relu(dense(images, 512, "d1")), 512, "d2"))
        return classified(dense(x, 10, "d3"), labels)
    return training(build, [Input((784,)), Input((), 10)], gradient_descent)


def vgg() -> Training:
    """Stacked convolutions of 3 × 3 for small images."""

    def build(images, labels):
        x = images
        for stage, filters in enumerate((64, 128, 256)):
            x = tf1.nn.relu(convolution(x, filters, 3, f"a{stage}"))
            x = pooled(tf1.nn.relu(convolution(x, filters, 3, f"b{stage}")))
        return classified(dense(tf1.nn.relu(dense(flat(x), 256, "d1")), 10, "d2"), labels)
    return training(build, [Input((32, 32, 3)), Input((), 10)], momentum)


def residual() -> Training:
    """ResNet-20 with batch norms, for small images."""

    def build(images, labels):
        x = tf1.nn.relu(normalized(convolution(images, 16, 3, "stem", biased=False), "stem"))
        for stage, filters in enumerate((16, 32, 64)):
            for block in range(3):
                name, stride = f"s{stage}b{block}", 2 if stage and not block else 1
                shortcut = convolution(x, filters, 1, name + "p", stride, biased=False) if stride == 2 else x
                y = tf1.nn.relu(normalized(convolution(x, filters, 3, name + "c1", stride, biased=False), name + "n1"))
                x = tf1.nn.relu(shortcut + normalized(convolution(y, filters, 3, name + "c2", biased=False), name + "n2"))
        return classified(dense(tf1.reduce_mean(x, [1, 2]), 10, "logits"), labels)
    return training(build, [Input((32, 32, 3)), Input((), 10)], momentum)


def separable() -> Training:
    """Depthwise convolutions with batch norms, as in MobileNet."""

    def build(images, labels):
        x = tf1.nn.relu6(normalized(convolution(images, 32, 3, "stem", 2, biased=False), "stem"))
        for layer, (filters, stride) in enumerate(((64, 1), (128, 2), (128, 1), (256, 2))):
            channels = int(x.shape[-1])
            depthwise = variable(f"depthwise{layer}", (3, 3, channels, 1), 0.3)
            x = tf1.nn.depthwise_conv2d(x, depthwise, [1, stride, stride, 1], "SAME")
            x = tf1.nn.relu6(normalized(x, f"n{layer}a"))
            x = tf1.nn.relu6(normalized(convolution(x, filters, 1, f"c{layer}", biased=False), f"n{layer}b"))
        return classified(dense(tf1.reduce_mean(x, [1, 2]), 10, "logits"), labels)
    return training(build, [Input((64, 64, 3)), Input((), 10)], adam)


def autoencoder() -> Training:
    """Convolutions with strides and transposed convolutions back."""

    def build(images):
        x = tf1.nn.relu(convolution(images, 32, 3, "c1", 2))
        x = tf1.nn.relu(convolution(x, 64, 3, "c2", 2))
        for layer, (filters, size) in enumerate(((32, 32), (3, 64))):
            kernel = variable(f"t{layer}", (3, 3, filters, int(x.shape[-1])), 0.1)
            x = tf1.nn.conv2d_transpose(x, kernel, tf1.stack([tf1.shape(images)[0], size, size, filters]), [1, 2, 2, 1], "SAME")
            x = tf1.nn.relu(x) if layer == 0 else tf1.sigmoid(x)
        return tf1.reduce_mean(tf1.squared_difference(x, images))
    return training(build, [Input((64, 64, 3))], adam)


def discriminator() -> Training:
    """The half of a DCGAN that looks at images: wide kernels, strides, leaky rectifiers."""

    def build(images, labels):
        x = tf1.nn.leaky_relu(convolution(images, 64, 5, "c1", 2))
        x = tf1.nn.leaky_relu(normalized(convolution(x, 128, 5, "c2", 2), "n2"))
        return classified(dense(flat(x), 2, "logits"), labels)
    return training(build, [Input((28, 28, 1)), Input((), 2)], adam)


def lstm(steps: int = 50, width: int = 128) -> Training:
    """A language model over characters: an LSTM in a loop, its losses at each step."""

    def build(ids, targets):
        x = tf1.transpose(tf1.nn.embedding_lookup(variable("embedding", (80, width), 0.1), ids), [1, 0, 2])
        sequence = tf1.TensorArray(tf.float32, steps, element_shape=[None, width]).unstack(x)
        outputs = tf1.TensorArray(tf.float32, steps, element_shape=[None, width])
        kernel, bias = variable("kernel", (2 * width, 4 * width), 0.1), variable("bias", (4 * width,))
        zeros = tf1.zeros(tf1.stack([tf1.shape(ids)[0], width]))

        def step(i, cell, hidden, outputs):
            gates = tf1.nn.bias_add(tf1.matmul(tf1.concat([sequence.read(i), hidden], 1), kernel), bias)
            new, in_gate, forget_gate, out_gate = tf1.split(gates, 4, axis=1)
            cell = cell * tf1.sigmoid(forget_gate + 1.0) + tf1.sigmoid(in_gate) * tf1.tanh(new)
            hidden = tf1.tanh(cell) * tf1.sigmoid(out_gate)
            return i + 1, cell, hidden, outputs.write(i, hidden)

        state = tf.TensorShape([None, width])
        *_, outputs = tf1.while_loop(
            lambda i, *_: i < steps, step, [tf.constant(0), zeros, zeros, outputs],
            shape_invariants=[tf.TensorShape([]), state, state, tf.TensorShape(None)])
        logits = dense(tf1.reshape(outputs.stack(), [-1, width]), 80, "logits")
        return classified(logits, tf1.reshape(tf1.transpose(targets), [-1]))
    return training(build, [Input((steps,), 80), Input((steps,), 80)], adam)


def embeddings() -> Training:
    """Word2vec with sampled negatives: sparse gradients into large tables."""

    def build(words, contexts):
        table, output = variable("table", (50_000, 128)), variable("output", (50_000, 128))
        biases = tf1.get_variable("biases", (50_000,), initializer=tf1.zeros_initializer())
        return tf1.reduce_mean(tf1.nn.sampled_softmax_loss(
            output, biases, tf1.reshape(contexts, [-1, 1]), tf1.nn.embedding_lookup(table, words), 64, 50_000, seed=3))
    return training(build, [Input((), 50_000), Input((), 50_000)], gradient_descent)


def encoder() -> Training:
    """A small transformer whose weights are learnt."""

    class Weights:
        """Variables where the inference has constants."""

        def __init__(self):
            self._count = 0

        def normal(self, shape, scale: float):
            self._count += 1
            return variable(f"normal{self._count}", tuple(np.atleast_1d(shape)), scale)

        def uniform(self, shape, _low: float, _high: float):
            self._count += 1
            return tf1.get_variable(f"scale{self._count}", np.atleast_1d(shape), initializer=tf1.ones_initializer())

    def build(ids, labels):
        network = Transformer(difference_normalized, tanh_gelu, "matmul", depth=2, width=128, heads=4, length=64, inner=512)
        network.weights = Weights()
        return classified(dense(tf1.reduce_mean(network(ids), 1), 10, "logits"), labels)
    return training(build, [Input((64,), 1000), Input((), 10)], adam)


TRAININGS: dict[str, Callable[[], Training]] = {
    "Mnist": mnist,
    "Perceptron": perceptron,
    "Vgg": vgg,
    "Residual": residual,
    "Separable": separable,
    "Autoencoder": autoencoder,
    "Discriminator": discriminator,
    "Lstm": lstm,
    "Embeddings": embeddings,
    "Encoder": encoder,
}
