"""A recurrent net that learns to write numbers in words, a character at a time.

    python examples/training/char_rnn.py [--tensorflow]
"""

import numpy as np
from numbers_text import text

UNITS, BATCH, LENGTH = 96, 16, 40
TEXT = text()
CHARACTERS = sorted(set(TEXT))


def build(tf, seed=0):
    """The graph: characters and the state before them in; loss, training, the next characters' odds and the state after them out."""
    dice = np.random.RandomState(seed)

    def uniform(shape, dtype=None, partition_info=None):
        return dice.uniform(-0.1, 0.1, shape).astype(np.float32)

    inputs = tf.placeholder(tf.int32, [None, None], "inputs")
    targets = tf.placeholder(tf.int32, [None, None], "targets")
    with tf.variable_scope("model", initializer=uniform):
        embedding = tf.get_variable("embedding", [len(CHARACTERS), 32])
        cell = tf.nn.rnn_cell.LSTMCell(UNITS, initializer=uniform)
        start = cell.zero_state(tf.shape(inputs)[0], tf.float32)
        outputs, state = tf.nn.dynamic_rnn(cell, tf.nn.embedding_lookup(embedding, inputs), initial_state=start)
        kernel, bias = tf.get_variable("kernel", [UNITS, len(CHARACTERS)]), tf.get_variable("bias", [len(CHARACTERS)])
        logits = tf.matmul(tf.reshape(outputs, [-1, UNITS]), kernel) + bias
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=tf.reshape(targets, [-1]), logits=logits))
    variables = tf.trainable_variables()
    gradients, _ = tf.clip_by_global_norm(tf.gradients(loss, variables), 5.0)
    train = tf.train.AdamOptimizer(5e-3).apply_gradients(zip(gradients, variables))
    return inputs, targets, loss, train, tf.nn.softmax(logits), start, state


def batches(steps):
    """Pieces of the text, each with the one that is a character later."""
    codes = np.array([CHARACTERS.index(c) for c in TEXT], np.int32)
    dice = np.random.RandomState(1)
    for _ in range(steps):
        places = dice.randint(0, len(codes) - LENGTH - 1, BATCH)
        yield np.stack([codes[p:p + LENGTH] for p in places]), np.stack([codes[p + 1:p + LENGTH + 1] for p in places])


def run(tf, steps, report=lambda step, loss: None, sample=0):
    """Trains; gives the losses and a text of `sample` characters that the net writes."""
    losses, written = [], ""
    with tf.Graph().as_default():
        inputs, targets, loss, train, odds, start, state = build(tf)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            for step, (x, y) in enumerate(batches(steps)):
                value, _ = session.run([loss, train], {inputs: x, targets: y})
                losses.append(float(value))
                report(step, value)
            held, code = None, CHARACTERS.index(",")
            for _ in range(sample):
                feeds = {inputs: [[code]]} if held is None else {inputs: [[code]], start: held}
                p, held = session.run([odds, state], feeds)
                code = int(np.argmax(p[-1]))
                written += CHARACTERS[code]
    return losses, written


if __name__ == "__main__":
    import which

    _, written = run(which.module(), 400, lambda step, loss: step % 50 or print(f"step {step}: loss {loss:.4f}"), sample=120)
    print("it writes:", written)
