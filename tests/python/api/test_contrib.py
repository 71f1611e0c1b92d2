"""What there is of `tf.contrib`, and what is said of the rest."""

import flowmill as tf
import numpy as np
import pytest


@pytest.mark.parametrize("name, instead", [
    ("slim.conv2d", "tf.layers"), ("layers.fully_connected", "tf.layers.dense"), ("seq2seq.BasicDecoder", "tf.while_loop"),
    ("rnn.LayerNormBasicLSTMCell", "tf.nn"),
    ("learn.Estimator", "training loop"), ("nobody", "ended with TensorFlow 1.15"), ("layers.embed_sequence", "embedding_lookup"),
])
def test_what_is_not_there_is_named(name, instead):
    found = tf.contrib
    with pytest.raises(AttributeError, match=f"flowmill has no tf.contrib.{name}") as error:
        for part in name.split("."):
            found = getattr(found, part)
    assert instead in str(error.value)


def test_small_names_are_there(tf1):
    for build in (
        lambda module, tf: tf.get_variable("v", [200, 30], initializer=module.layers.xavier_initializer(seed=1)) if module else
        tf.get_variable("v", [200, 30], initializer=tf.glorot_uniform_initializer(seed=1)),
        lambda module, tf: tf.get_variable("v", [200, 30], initializer=module.layers.variance_scaling_initializer(seed=1)) if module else
        tf.get_variable("v", [200, 30], initializer=tf.variance_scaling_initializer(2.0, "fan_in", "truncated_normal", seed=1)),
    ):
        values = []
        for engine, module in ((tf, tf.contrib), (tf1, None)):
            with engine.Graph().as_default(), engine.Session() as session:
                variable = build(module, engine)
                session.run(variable.initializer)
                values.append(session.run(variable))
        np.testing.assert_allclose(values[0], values[1], rtol=1e-5, atol=1e-6)


def test_regularizers():
    with tf.Graph().as_default(), tf.Session() as session:
        weights = tf.constant([[1.0, -2.0], [3.0, 0.0]])
        assert session.run(tf.contrib.layers.l2_regularizer(0.5)(weights)) == pytest.approx(3.5)
        assert session.run(tf.contrib.layers.l1_regularizer(0.5)(weights)) == pytest.approx(3.0)
        assert tf.contrib.layers.l2_regularizer(0.0)(weights) is None
        with pytest.raises(ValueError, match="scale"):
            tf.contrib.layers.l2_regularizer(-1.0)
        tf.layers.dense(weights, 3, kernel_regularizer=tf.contrib.layers.l2_regularizer(0.1))
        assert [t.name for t in tf.losses.get_regularization_losses()] == ["dense/kernel/Regularizer/l2_regularizer:0"]
