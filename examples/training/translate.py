"""A sequence-to-sequence net with attention that learns to write sequences of symbols backwards; a beam search in a `while_loop` finds its answers.

    python examples/training/translate.py [--tensorflow]
"""

import numpy as np

SYMBOLS, START, END = 12, 0, 1
UNITS, BATCH, LENGTH, BEAM = 48, 32, 6, 4


class Model:
    """The net: an encoder, and a decoder that looks at all that the encoder gave."""

    def __init__(self, tf, seed=0):
        self.tf = tf
        dice = np.random.RandomState(seed)

        def uniform(shape, dtype=None, partition_info=None):
            return dice.uniform(-0.15, 0.15, shape).astype(np.float32)

        self.source = tf.placeholder(tf.int32, [None, LENGTH], "source")
        self.target = tf.placeholder(tf.int32, [None, LENGTH + 1], "target")
        with tf.variable_scope("translate", initializer=uniform):
            self.embedding = tf.get_variable("embedding", [SYMBOLS, 24])
            self.kernel, self.bias = tf.get_variable("kernel", [2 * UNITS, SYMBOLS]), tf.get_variable("bias", [SYMBOLS])
            self.query = tf.get_variable("query", [UNITS, UNITS])
            encoder = tf.nn.rnn_cell.GRUCell(UNITS, kernel_initializer=uniform)
            with tf.variable_scope("encoder"):
                self.memory, self.state = tf.nn.dynamic_rnn(encoder, tf.nn.embedding_lookup(self.embedding, self.source), dtype=tf.float32)
            self.cell = tf.nn.rnn_cell.GRUCell(UNITS, kernel_initializer=uniform)
            with tf.variable_scope("decoder"):
                logits = self.teach()
            self.loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=self.target, logits=logits))
            self.train = tf.train.RMSPropOptimizer(3e-3).minimize(self.loss)
            with tf.variable_scope("decoder", reuse=True):
                self.answers = self.search()

    def look(self, state, memory):
        """The odds' logits of the next symbol for decoder states [n, units], where memory is [n, length, units]."""
        tf = self.tf
        scores = tf.einsum("nu,nlu->nl", tf.matmul(state, self.query), memory)
        context = tf.einsum("nl,nlu->nu", tf.nn.softmax(scores), memory)
        return tf.matmul(tf.concat([state, context], 1), self.kernel) + self.bias

    def teach(self):
        """The logits of every place, where the decoder is given the right symbols before it."""
        tf = self.tf
        before = tf.concat([tf.fill([tf.shape(self.target)[0], 1], START), self.target[:, :-1]], 1)
        inputs = tf.TensorArray(tf.float32, LENGTH + 1).unstack(tf.transpose(tf.nn.embedding_lookup(self.embedding, before), [1, 0, 2]))
        logits = tf.TensorArray(tf.float32, LENGTH + 1, element_shape=[None, SYMBOLS])

        def step(i, state, logits):
            output, state = self.cell(inputs.read(i), state)
            return i + 1, state, logits.write(i, self.look(output, self.memory))

        _, _, logits = tf.while_loop(lambda i, *_: i < LENGTH + 1, step, [tf.constant(0), self.state, logits])
        return tf.transpose(logits.stack(), [1, 0, 2])

    def search(self):
        """The likeliest of `BEAM` sequences that are kept for each source: symbols of shape [n, LENGTH + 1]."""
        tf = self.tf
        count = tf.shape(self.source)[0]

        def beams(x):
            return tf.reshape(tf.tile(tf.expand_dims(x, 1), [1, BEAM] + [1] * (x.shape.ndims - 1)), tf.concat([[count * BEAM], tf.shape(x)[1:]], 0))

        memory = beams(self.memory)
        # All beams begin alike: only the first one counts.
        scores = tf.tile(tf.constant([[0.0] + [-1e9] * (BEAM - 1)]), [count, 1])

        def step(i, state, last, scores, symbols):
            output, state = self.cell(tf.nn.embedding_lookup(self.embedding, last), state)
            odds = tf.nn.log_softmax(self.look(output, memory))
            totals = tf.reshape(tf.expand_dims(tf.reshape(scores, [-1]), 1) + odds, [count, BEAM * SYMBOLS])
            scores, chosen = tf.nn.top_k(totals, BEAM)
            parents = tf.reshape(tf.range(count)[:, None] * BEAM + chosen // SYMBOLS, [-1])
            last = tf.reshape(chosen % SYMBOLS, [-1])
            symbols = tf.concat([tf.gather(symbols, parents), last[:, None]], 1)
            return i + 1, tf.gather(state, parents), last, scores, symbols

        start = [tf.constant(0), beams(self.state), tf.fill([count * BEAM], START), scores, tf.zeros([count * BEAM, 0], tf.int32)]
        shapes = [start[0].shape, tf.TensorShape([None, UNITS]), tf.TensorShape([None]), tf.TensorShape([None, BEAM]), tf.TensorShape([None, None])]
        found = tf.while_loop(lambda i, *_: i < LENGTH + 1, step, start, shape_invariants=shapes)
        return tf.reshape(found[4], [count, BEAM, LENGTH + 1])[:, 0]


def pairs(dice, count):
    """Sequences, and the same backwards with the end's symbol."""
    source = dice.randint(2, SYMBOLS, [count, LENGTH])
    return source, np.concatenate([source[:, ::-1], np.full([count, 1], END)], 1)


def run(tf, steps, report=lambda step, loss: None):
    """Trains; gives the losses and the share of new sequences that the beam search writes backwards without a mistake."""
    dice = np.random.RandomState(1)
    losses = []
    with tf.Graph().as_default():
        model = Model(tf)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            for step in range(steps):
                source, target = pairs(dice, BATCH)
                value, _ = session.run([model.loss, model.train], {model.source: source, model.target: target})
                losses.append(float(value))
                report(step, value)
            source, target = pairs(dice, 200)
            right = np.mean(np.all(session.run(model.answers, {model.source: source}) == target, 1))
    return losses, float(right)


if __name__ == "__main__":
    import which

    _, right = run(which.module(), 2500, lambda step, loss: step % 250 or print(f"step {step}: loss {loss:.4f}"))
    print(f"written backwards without a mistake: {100 * right:.1f} % of 200 new sequences")
