"""A convolutional net that learns scikit-learn's handwritten digits (1,797 images of 8 × 8 pixels): 1,500 to learn from, 297 to test.

    python examples/training/digits.py [--tensorflow]
"""

import pathlib

import numpy as np

DATA = pathlib.Path(__file__).parent / "data" / "digits.npz"
TRAINING, BATCH = 1500, 50


def load():
    """Images in [0, 1] of shape [n, 8, 8, 1] and their labels, in an order that is always the same."""
    stored = np.load(DATA)
    order = np.random.RandomState(0).permutation(len(stored["labels"]))
    return stored["images"][order].astype(np.float32)[..., None] / 16, stored["labels"][order].astype(np.int32)


def build(tf, seed=0):
    """The graph: images and labels in, logits, loss and a step of training out."""
    dice = np.random.RandomState(seed)

    def weights(name, shape):
        fan_in = np.prod(shape[:-1])
        start = dice.normal(0, np.sqrt(2 / fan_in), shape).astype(np.float32)
        return tf.get_variable(name, initializer=start)

    def convolution(x, name, filters):
        with tf.variable_scope(name):
            kernel = weights("kernel", [3, 3, int(x.shape[3]), filters])
            bias = tf.get_variable("bias", [filters], initializer=tf.zeros_initializer())
            y = tf.nn.bias_add(tf.nn.conv2d(x, kernel, strides=[1, 1, 1, 1], padding="SAME"), bias)
            return tf.nn.max_pool(tf.nn.relu(y), ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="SAME")

    def dense(x, name, units):
        with tf.variable_scope(name):
            bias = tf.get_variable("bias", [units], initializer=tf.zeros_initializer())
            return tf.matmul(x, weights("kernel", [int(x.shape[1]), units])) + bias

    images = tf.placeholder(tf.float32, [None, 8, 8, 1], "images")
    labels = tf.placeholder(tf.int32, [None], "labels")
    x = convolution(convolution(images, "conv1", 16), "conv2", 32)
    x = tf.reshape(x, [-1, 2 * 2 * 32])
    logits = dense(tf.nn.relu(dense(x, "dense1", 64)), "dense2", 10)
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
    step = tf.train.get_or_create_global_step()
    rate = tf.train.exponential_decay(3e-3, step, 300, 0.5)
    train = tf.train.AdamOptimizer(rate).minimize(loss, global_step=step)
    correct = tf.reduce_mean(tf.cast(tf.equal(tf.argmax(logits, 1, output_type=tf.int32), labels), tf.float32))
    return images, labels, loss, train, correct


def run(tf, steps, report=lambda step, loss: None):
    """Trains; gives the losses and the accuracy on the images held back."""
    images, labels = load()
    dice = np.random.RandomState(1)
    losses = []
    with tf.Graph().as_default():
        x, y, loss, train, correct = build(tf)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            for step in range(steps):
                batch = dice.randint(0, TRAINING, BATCH)
                value, _ = session.run([loss, train], {x: images[batch], y: labels[batch]})
                losses.append(float(value))
                report(step, value)
            accuracy = session.run(correct, {x: images[TRAINING:], y: labels[TRAINING:]})
    return losses, float(accuracy)


if __name__ == "__main__":
    import which

    _, accuracy = run(which.module(), 900, lambda step, loss: step % 100 or print(f"step {step}: loss {loss:.4f}"))
    print(f"accuracy on 297 images held back: {100 * accuracy:.2f} %")
