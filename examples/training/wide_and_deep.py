"""A wide and a deep model on sparse features: serialised examples are parsed, words are looked up in tables, embeddings are summed.

    python examples/training/wide_and_deep.py [--tensorflow]
"""

import numpy as np

CITIES = ["amsterdam", "berlin", "cairo", "delhi", "edinburgh", "florence"]
WORDS = [f"word{i}" for i in range(40)]
BATCH = 64


def make_examples(tf, count, seed):
    """Serialised examples and what is to be predicted: whether a person from a city, of an age, who uses some words, likes something."""
    dice = np.random.RandomState(seed)
    taste, charm = np.random.RandomState(7).normal(size=len(WORDS)), np.random.RandomState(8).normal(size=len(CITIES))
    serialized, labels = [], []
    for _ in range(count):
        used = dice.randint(0, len(WORDS), dice.randint(0, 6))
        city, age = dice.randint(0, len(CITIES)), dice.uniform(10, 90)
        labels.append(float(taste[used].sum() + charm[city] + (age - 50) / 30 > 0))
        feature = {
            "words": tf.train.Feature(bytes_list=tf.train.BytesList(value=[WORDS[i].encode() for i in used])),
            "city": tf.train.Feature(bytes_list=tf.train.BytesList(value=[CITIES[city].encode()])),
            "age": tf.train.Feature(float_list=tf.train.FloatList(value=[age])),
        }
        serialized.append(tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString())
    return np.array(serialized, dtype=object), np.array(labels, np.float32)


def build(tf, seed=0):
    """The graph: serialised examples and labels in; loss, training and probabilities out."""
    dice = np.random.RandomState(seed)

    def variable(name, shape, scale=0.1):
        return tf.get_variable(name, initializer=(scale * dice.normal(size=shape)).astype(np.float32))

    serialized = tf.placeholder(tf.string, [None], "serialized")
    labels = tf.placeholder(tf.float32, [None], "labels")
    parsed = tf.parse_example(serialized, {
        "words": tf.VarLenFeature(tf.string), "city": tf.FixedLenFeature([], tf.string, ""), "age": tf.FixedLenFeature([], tf.float32)})
    words_table = tf.lookup.StaticHashTable(
        tf.lookup.KeyValueTensorInitializer(tf.constant(WORDS), tf.range(len(WORDS), dtype=tf.int64)), default_value=0)
    city_table = tf.lookup.StaticHashTable(
        tf.lookup.KeyValueTensorInitializer(tf.constant(CITIES), tf.range(len(CITIES), dtype=tf.int64)), default_value=0)
    words = tf.SparseTensor(parsed["words"].indices, words_table.lookup(parsed["words"].values), parsed["words"].dense_shape)
    city = city_table.lookup(parsed["city"])
    age = tf.expand_dims((parsed["age"] - 50) / 30, 1)
    with tf.variable_scope("wide"):
        wide = tf.nn.embedding_lookup_sparse(variable("words", [len(WORDS), 1], 0.0), words, None, combiner="sum")
        # Rows without any word at the end are not in what was looked up.
        missing = tf.shape(age)[0] - tf.shape(wide)[0]
        wide = tf.pad(wide, [[0, missing], [0, 0]]) + tf.gather(variable("city", [len(CITIES), 1], 0.0), city)
    with tf.variable_scope("deep"):
        embedded = tf.nn.embedding_lookup_sparse(variable("words", [len(WORDS), 8]), words, None, combiner="mean")
        embedded = tf.pad(embedded, [[0, missing], [0, 0]])
        x = tf.concat([embedded, tf.nn.embedding_lookup(variable("city", [len(CITIES), 4]), city), age], 1)
        for i, units in enumerate((16, 8)):
            x = tf.nn.relu(tf.matmul(x, variable(f"kernel{i}", [int(x.shape[1] or 13), units], 0.3)) + variable(f"bias{i}", [units], 0.0))
        deep = tf.matmul(x, variable("kernel", [8, 1], 0.3))
    logits = tf.squeeze(wide + deep, 1)
    loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits))
    wide_variables, deep_variables = (tf.get_collection(tf.GraphKeys.TRAINABLE_VARIABLES, scope) for scope in ("wide", "deep"))
    train = tf.group(
        tf.train.FtrlOptimizer(0.2, l1_regularization_strength=1e-3).minimize(loss, var_list=wide_variables),
        tf.train.AdagradOptimizer(0.1).minimize(loss, var_list=deep_variables))
    return serialized, labels, loss, train, tf.sigmoid(logits)


def run(tf, steps, report=lambda step, loss: None):
    """Trains; gives the losses and the share of new examples that are predicted right."""
    examples, answers = make_examples(tf, 2000, 1)
    dice = np.random.RandomState(2)
    losses = []
    with tf.Graph().as_default():
        serialized, labels, loss, train, probabilities = build(tf)
        with tf.Session() as session:
            session.run([tf.global_variables_initializer(), tf.tables_initializer()])
            for step in range(steps):
                batch = dice.randint(0, len(examples), BATCH)
                value, _ = session.run([loss, train], {serialized: examples[batch], labels: answers[batch]})
                losses.append(float(value))
                report(step, value)
            tests, expected = make_examples(tf, 500, 3)
            right = np.mean((session.run(probabilities, {serialized: tests}) > 0.5) == (expected > 0.5))
    return losses, float(right)


if __name__ == "__main__":
    import which

    _, right = run(which.module(), 600, lambda step, loss: step % 100 or print(f"step {step}: loss {loss:.4f}"))
    print(f"predicted right: {100 * right:.1f} % of 500 new examples")
