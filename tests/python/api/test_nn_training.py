"""Small networks of `tf.nn` and `tf.layers`, trained by TensorFlow and by Flowmill from the same initial values."""

import flowmill
import numpy as np
import pytest

RNG = np.random.RandomState(5)
IMAGES = RNG.rand(16, 8, 8, 1).astype(np.float32)
LABELS = RNG.randint(0, 4, 16)


def losses(tf, network, steps=5):
    with tf.Graph().as_default(), tf.Session() as session:
        tf.set_random_seed(11)
        images = tf.placeholder(tf.float32, [None, 8, 8, 1])
        labels = tf.placeholder(tf.int64, [None])
        loss = network(tf, images, labels)
        with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
            step = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
        session.run(tf.global_variables_initializer())
        # One value for both: random initial values depend on how many operations there are.
        values = np.random.RandomState(6)
        for variable in tf.trainable_variables():
            variable.load(values.randn(*variable.shape.as_list()).astype(np.float32) * 0.3, session)
        return [session.run([loss, step], {images: IMAGES, labels: LABELS})[0] for _ in range(steps)]


def layers_network(tf, images, labels):
    hidden = tf.layers.conv2d(images, 4, 3, padding="same", activation=tf.nn.relu)
    hidden = tf.layers.max_pooling2d(hidden, 2, 2)
    hidden = tf.layers.batch_normalization(hidden, training=True, fused=False)
    hidden = tf.layers.dropout(tf.layers.flatten(hidden), 0.3, training=True, seed=3)
    logits = tf.layers.dense(hidden, 4, kernel_regularizer=lambda w: 0.01 * tf.nn.l2_loss(w))
    tf.losses.sparse_softmax_cross_entropy(labels, logits)
    return tf.losses.get_total_loss()


def nn_network(tf, images, labels):
    kernel = tf.get_variable("kernel", [3, 3, 1, 4])
    weights = tf.get_variable("weights", [64, 4])
    hidden = tf.nn.swish(tf.nn.conv2d(images, kernel, [1, 2, 2, 1], "SAME"))
    hidden = tf.nn.l2_normalize(tf.reshape(hidden, [-1, 64]), 1)
    logits = tf.nn.xw_plus_b(hidden, weights, tf.get_variable("bias", [4], initializer=tf.zeros_initializer()))
    return tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(labels=tf.one_hot(labels, 4), logits=logits))


def embedding_network(tf, images, labels):
    table = tf.get_variable("table", [4, 6], partitioner=tf.fixed_size_partitioner(2))
    vectors = tf.nn.embedding_lookup(table, labels)
    logits = tf.layers.dense(tf.nn.leaky_relu(vectors), 3, activation=tf.nn.softsign)
    targets = tf.reshape(images, [-1, 64])[:, :3]
    return tf.losses.sigmoid_cross_entropy(targets, logits) + tf.losses.huber_loss(targets, tf.nn.sigmoid(logits))


@pytest.mark.parametrize("network", [layers_network, nn_network, embedding_network])
def test_losses_fall_as_tensorflows_do(tf1, network):
    ours = losses(flowmill, network)
    np.testing.assert_allclose(ours, losses(tf1, network), rtol=1e-4, atol=1e-5)
    assert ours[-1] < ours[0]


def test_batch_normalization_as_one_op_is_trained(tf1):
    def network(tf, images, labels):
        hidden = tf.layers.batch_normalization(tf.layers.conv2d(images, 3, 3), training=True, momentum=0.9)
        return tf.losses.sparse_softmax_cross_entropy(labels, tf.layers.dense(tf.layers.flatten(hidden), 4))

    np.testing.assert_allclose(losses(flowmill, network), losses(tf1, network), rtol=1e-4, atol=1e-5)
