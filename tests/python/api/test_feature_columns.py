"""Feature columns: what layers of them compute, which variables they make, and what they parse, as in TensorFlow."""

import numpy as np
import pytest

import flowmill

_FEATURES = {
    "price": [[1.0], [5.0]], "size": [[1.0, 2.0], [3.0, 4.0]], "count": [[3], [8]],
    "word": ("sparse", [[0, 0], [1, 0], [1, 1]], ["omar", "stringer", "marlo"], [2, 2]), "dense_word": [["omar", ""], ["marlo", "new"]],
    "id": ("sparse", [[0, 0], [1, 0], [1, 1]], [2, 0, 1], [2, 2]), "weight": ("sparse", [[0, 0], [1, 0], [1, 1]], [0.5, 2.0, 0.25], [2, 2]),
    "far_id": ("sparse", [[0, 0], [1, 0], [1, 1]], [2, 70, -3], [2, 2]),
    "steps": ("sparse", [[0, 0], [0, 1], [1, 0]], [2, 0, 1], [2, 2]), "readings": ("sparse", [[0, 0], [0, 1], [1, 0], [1, 3]], [1.0, 2.0, 3.0, 4.0], [2, 4]),
}


def _features(tf):
    return {key: tf.SparseTensor(*value[1:]) if isinstance(value, tuple) else tf.constant(value) for key, value in _FEATURES.items()}


def _names(tf):
    fc = tf.feature_column
    price = fc.numeric_column("price")
    identity = fc.categorical_column_with_identity("id", 3)
    return {"tf": tf, "fc": fc, "np": np, "price": price, "size": fc.numeric_column("size", 2), "buckets": fc.bucketized_column(price, [0.0, 2.0, 4.0]),
            "words": fc.categorical_column_with_vocabulary_list("word", ["omar", "stringer"]), "id": identity, "ones": tf.ones_initializer(),
            "weighted": fc.weighted_categorical_column(identity, "weight"), "numbers": lambda *a, **k: tf.constant(np.arange(np.prod(a[0]), dtype=np.float32).reshape(a[0]))}


_DENSE = """
price | [price, size] | buckets | fc.numeric_column("count", dtype=tf.int64) | fc.numeric_column("price", normalizer_fn=lambda x: x - 3.0)
fc.bucketized_column(fc.numeric_column("size", 2), [1.5, 3.5]) | fc.indicator_column(id) | fc.indicator_column(words) | fc.indicator_column(weighted)
fc.indicator_column(fc.categorical_column_with_hash_bucket("word", 5)) | fc.indicator_column(fc.categorical_column_with_hash_bucket("id", 5, tf.int64))
fc.indicator_column(fc.categorical_column_with_vocabulary_list("dense_word", ["omar", "marlo"], num_oov_buckets=3))
fc.indicator_column(fc.categorical_column_with_vocabulary_list("id", [2, 1], default_value=1)) | fc.indicator_column(fc.categorical_column_with_identity("far_id", 4, 3))
fc.indicator_column(fc.crossed_column(["word", "dense_word"], 7)) | fc.indicator_column(fc.crossed_column([id, fc.crossed_column(["word", buckets], 5)], 11, hash_key=5))
fc.embedding_column(id, 2, initializer=numbers) | fc.embedding_column(id, 2, "sum", numbers) | fc.embedding_column(weighted, 2, "sqrtn", numbers)
fc.embedding_column(words, 2, initializer=numbers) | fc.embedding_column(id, 2, initializer=numbers, max_norm=1.0) | fc.embedding_column(id, 2, initializer=numbers, trainable=False)
fc.embedding_column(id, 2, initializer=numbers, use_safe_embedding_lookup=False) | iter([size, price])
fc.shared_embedding_columns([id, fc.categorical_column_with_identity("steps", 3)], 2, initializer=numbers)
fc.shared_embedding_columns([fc.categorical_column_with_identity("steps", 3), weighted], 2, initializer=numbers, shared_embedding_collection_name="both")
"""


def _cases(text):
    return [code.strip() for line in text.strip().splitlines() for code in line.split(" | ")]


def _run(tf, layer, code, **options):
    with tf.Graph().as_default(), tf.Session() as session:
        variables = {}
        made = getattr(tf.feature_column, layer)(_features(tf), eval(code, _names(tf)), cols_to_vars=variables, weight_collections=["mine"], **options)
        session.run([tf.global_variables_initializer(), tf.tables_initializer()])
        if layer == "linear_model":
            for i, variable in enumerate(sorted(tf.global_variables(), key=lambda v: v.name)):
                shape = variable.shape.as_list()
                session.run(tf.assign(variable, np.arange(np.prod(shape), dtype=np.float32).reshape(shape) + i))
        known = sorted((v.name, v.shape.as_list(), v in tf.trainable_variables(), v in tf.model_variables(), v in tf.get_collection("mine")) for v in tf.global_variables())
        by_column = sorted((getattr(c, "name", c), sorted(v.name for v in vs)) for c, vs in variables.items())
        return session.run(made), known, by_column


@pytest.mark.parametrize("code", _cases(_DENSE))
def test_input_layers(tf1, code):
    (value, *facts), (expected, *expected_facts) = _run(flowmill, "input_layer", code), _run(tf1, "input_layer", code)
    np.testing.assert_allclose(value, expected, rtol=1e-6)
    assert facts == expected_facts


_LINEAR = """
price | [price, size] | buckets | id | words | weighted | [buckets, id, size] | fc.categorical_column_with_hash_bucket("word", 4) | fc.crossed_column(["word", "dense_word"], 5)
fc.embedding_column(id, 2, initializer=numbers) | fc.indicator_column(id)
"""


@pytest.mark.parametrize("combiner", ["sum", "mean"])
@pytest.mark.parametrize("code", _cases(_LINEAR))
def test_linear_models(tf1, code, combiner):
    found = [_run(tf, "linear_model", code, units=2, sparse_combiner=combiner) for tf in (tf1, flowmill)]
    np.testing.assert_allclose(found[1][0], found[0][0], rtol=1e-5)
    assert found[1][1:] == found[0][1:]


def test_columns_of_partitioned_variables(tf1):
    found = []
    for tf in (tf1, flowmill):
        with tf.Graph().as_default(), tf.Session() as session:
            with tf.variable_scope("model", partitioner=tf.fixed_size_partitioner(2, 0)):
                names = _names(tf)
                made = [tf.feature_column.input_layer(_features(tf), tf.feature_column.embedding_column(names["id"], 2, initializer=tf.ones_initializer())),
                        tf.feature_column.linear_model(_features(tf), [names["id"], names["size"]])]
            session.run(tf.global_variables_initializer())
            found.append((session.run(made)[0].tolist(), sorted(v.name for v in tf.global_variables())))
    assert found[0] == found[1]


_SPECS = "price | size | buckets | words | id | weighted | fc.crossed_column(['a', id], 5) | fc.embedding_column(id, 2) | fc.numeric_column('d', 2, [1, 2.5])"


@pytest.mark.parametrize("code", _cases(_SPECS))
def test_specs_and_descriptions(tf1, code):
    found = []
    for tf in (tf1, flowmill):
        with tf.Graph().as_default():
            column = eval(code, _names(tf))
            spec = tf.feature_column.make_parse_example_spec([column])
            found.append((column.name, {key: (type(value).__name__, value.dtype.name, *map(repr, value[:1] if hasattr(value, "shape") else ()),
                                              getattr(value, "default_value", None)) for key, value in spec.items()}, type(column).__name__))
    assert found[0] == found[1]


def test_examples_are_parsed(tf1):
    example = tf1.train.Example()
    example.features.feature["price"].float_list.value.append(3.5)
    example.features.feature["word"].bytes_list.value.extend([b"omar", b"x"])
    for tf in (tf1, flowmill):
        with tf.Graph().as_default(), tf.Session() as session:
            names = _names(tf)
            columns = [names["price"], tf.feature_column.indicator_column(names["words"])]
            features = tf.parse_example([example.SerializeToString()], tf.feature_column.make_parse_example_spec(columns))
            made = tf.feature_column.input_layer(features, columns)
            session.run(tf.tables_initializer())
            assert session.run(made).tolist() == [[3.5, 1.0, 0.0]]


_ERRORS = """
fc.numeric_column("a", [0]) | fc.numeric_column("a", [1.5]) | fc.numeric_column("a", default_value="x") | fc.numeric_column("a", 2, default_value=[1, 2, 3]) | fc.numeric_column(5)
fc.numeric_column("a", dtype=tf.string) | fc.numeric_column("a", normalizer_fn=3) | fc.bucketized_column(id, [1]) | fc.bucketized_column(price, []) | fc.bucketized_column(price, [2, 1])
fc.categorical_column_with_hash_bucket("a", 0) | fc.categorical_column_with_hash_bucket("a", 3, tf.float32) | fc.categorical_column_with_vocabulary_list("a", [])
fc.categorical_column_with_vocabulary_list("a", ["b", "b"]) | fc.categorical_column_with_vocabulary_list("a", ["b"], tf.int64) | fc.categorical_column_with_vocabulary_list("a", [1.5])
fc.categorical_column_with_vocabulary_file("a", "") | fc.categorical_column_with_vocabulary_file("a", "/nowhere") | fc.categorical_column_with_identity("a", 0)
fc.categorical_column_with_identity("a", 3, 3) | fc.weighted_categorical_column(id, "w", tf.string) | fc.crossed_column(["a"], 3) | fc.crossed_column(["a", price], 3)
fc.crossed_column(["a", fc.categorical_column_with_hash_bucket("b", 3)], 3) | fc.embedding_column(id, 0) | fc.embedding_column(id, 2, initializer=3)
fc.embedding_column(id, 2, ckpt_to_load_from="x") | fc.indicator_column(price) | fc.shared_embedding_columns([id, words], 2)
fc.input_layer({}, []) | fc.input_layer({}, {}) | fc.input_layer({}, [id]) | fc.input_layer({}, [price, price]) | fc.input_layer({"x": 1}, price) | fc.linear_model({}, ["a"])
fc.input_layer({"price": 1.0}, price) | fc.input_layer({"price": [[1.0], [2.0]], "size": [[1.0, 2.0]]}, [price, size]) | fc.make_parse_example_spec([5])
fc.make_parse_example_spec([price, fc.numeric_column("price", 2)]) | fc.input_layer({"steps": [1]}, fc.indicator_column(fc.sequence_categorical_column_with_identity("steps", 3)))
"""


@pytest.mark.parametrize("code", _cases(_ERRORS))
def test_errors(tf1, code):
    raised = []
    for tf in (tf1, flowmill):
        with tf.Graph().as_default(), pytest.raises(Exception) as caught:
            eval(code, _names(tf))
        raised.append(type(caught.value).__name__)
    assert raised[0] == raised[1]


def test_sequences(tf1):
    """Columns of sequences have no layer in version 1: their tensors are asked for."""
    found = []
    for tf in (tf1, flowmill):
        with tf.Graph().as_default(), tf.Session() as session:
            fc = tf.feature_column
            if tf is tf1:
                from tensorflow.python.feature_column.feature_column import _LazyBuilder as FeatureCache
                from tensorflow.python.feature_column.feature_column_v2 import FeatureTransformationCache
            else:
                from flowmill.feature_column._base import FeatureTransformationCache, FeatureTransformationCache as FeatureCache
            cache = FeatureTransformationCache(_features(tf))
            numeric = fc.sequence_numeric_column("readings", 2).get_sequence_dense_tensor(cache, None)
            counts = fc.indicator_column(fc.sequence_categorical_column_with_identity("steps", 3)).get_sequence_dense_tensor(cache, None)
            rows = fc.embedding_column(fc.sequence_categorical_column_with_identity("steps", 3), 2, initializer=_names(tf)["numbers"])
            dense, lengths = rows._get_sequence_dense_tensor(FeatureCache(_features(tf)))
            session.run(tf.global_variables_initializer())
            found.append([v.tolist() for v in session.run([*numeric, *counts, dense, lengths])])
    assert found[0] == found[1]
