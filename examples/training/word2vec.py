"""Word vectors from a text, by noise-contrastive estimation: words that occur in the same places get vectors that are near each other.

    python examples/training/word2vec.py [--tensorflow]
"""

import collections

import numpy as np
from numbers_text import text

SIZE, BATCH, WINDOW, NOISE = 24, 64, 2, 16


def corpus():
    """The words of the text by their frequency, and the text as numbers of words."""
    tokens = text().replace(",", " ,").split()
    vocabulary = [word for word, _ in collections.Counter(tokens).most_common()]
    number = {word: i for i, word in enumerate(vocabulary)}
    return vocabulary, np.array([number[t] for t in tokens], np.int64)


def build(tf, size, seed=0):
    """The graph: words, their neighbours and noise in; loss, training and the vectors, of length one, out."""
    dice = np.random.RandomState(seed)
    centers = tf.placeholder(tf.int64, [BATCH], "centers")
    neighbours = tf.placeholder(tf.int64, [BATCH, 1], "neighbours")
    noise = tf.placeholder(tf.int64, [NOISE], "noise")
    odds_of_neighbours = tf.placeholder(tf.float32, [BATCH, 1], "odds_of_neighbours")
    odds_of_noise = tf.placeholder(tf.float32, [NOISE], "odds_of_noise")
    vectors = tf.get_variable("vectors", initializer=dice.uniform(-0.5, 0.5, [size, SIZE]).astype(np.float32))
    weights = tf.get_variable("weights", initializer=(dice.normal(size=[size, SIZE]) / np.sqrt(SIZE)).astype(np.float32))
    biases = tf.get_variable("biases", [size], initializer=tf.zeros_initializer())
    loss = tf.reduce_mean(tf.nn.nce_loss(
        weights, biases, neighbours, tf.nn.embedding_lookup(vectors, centers), NOISE, size,
        sampled_values=(noise, odds_of_neighbours, odds_of_noise), remove_accidental_hits=False))
    train = tf.train.GradientDescentOptimizer(0.3).minimize(loss)
    return (centers, neighbours, noise, odds_of_neighbours, odds_of_noise), loss, train, tf.nn.l2_normalize(vectors, 1)


def run(tf, steps, report=lambda step, loss: None):
    """Trains; gives the losses, the vocabulary and the vectors."""
    vocabulary, tokens = corpus()
    dice = np.random.RandomState(1)
    ranks = np.arange(len(vocabulary))
    odds = np.log((ranks + 2.0) / (ranks + 1.0)) / np.log(len(vocabulary) + 1.0)
    losses = []
    with tf.Graph().as_default():
        places, loss, train, vectors = build(tf, len(vocabulary))
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            for step in range(steps):
                at = dice.randint(WINDOW, len(tokens) - WINDOW, BATCH)
                near = tokens[at + dice.choice([-2, -1, 1, 2], BATCH)][:, None]
                noise = dice.choice(len(vocabulary), NOISE, p=odds / odds.sum())
                values = tokens[at], near, noise, NOISE * odds[near], NOISE * odds[noise]
                value, _ = session.run([loss, train], dict(zip(places, values)))
                losses.append(float(value))
                report(step, value)
            found = session.run(vectors)
    return losses, vocabulary, found


if __name__ == "__main__":
    import which

    _, vocabulary, vectors = run(which.module(), 4000, lambda step, loss: step % 500 or print(f"step {step}: loss {loss:.4f}"))
    for word in ("three", "forty", "hundred"):
        nearest = np.argsort(-(vectors @ vectors[vocabulary.index(word)]))[1:6]
        print(f"{word}: {', '.join(vocabulary[i] for i in nearest)}")
