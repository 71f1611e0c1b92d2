"""Models that TensorFlow saves with datasets, iterators and tables in them."""

import numpy as np
import pytest

import flowmill as tf

tensorflow = pytest.importorskip("tensorflow")


def build(module, vocabulary):
    """An iterator whose elements are looked up in a table of a file and added to a variable; its initializer is among the tables'."""
    initializer = module.lookup.TextFileInitializer(vocabulary, module.string, module.lookup.TextFileIndex.WHOLE_LINE, module.int64,
                                                    module.lookup.TextFileIndex.LINE_NUMBER)
    table = module.lookup.StaticVocabularyTable(initializer, 2)
    variable = module.get_variable("v", initializer=module.constant(10, module.int64), use_resource=True)
    words = module.data.Dataset.from_tensor_slices(module.placeholder_with_default(["a", "c", "zz"], [None], name="words"))
    iterator = module.data.make_initializable_iterator(words.map(lambda word: (word, table.lookup(word) + variable)).batch(2))
    module.add_to_collection(module.GraphKeys.TABLE_INITIALIZERS, iterator.initializer)
    following = iterator.get_next()
    return following, module.identity(following[1] * 2, name="doubled")


def steps(module, session):
    found = [session.run(["IteratorGetNext:0", "doubled:0"]), session.run("doubled:0", {"IteratorGetNext:1": np.array([1, 2, 3])}),
             session.run(["IteratorGetNext:0", "doubled:0"])]
    with pytest.raises(module.errors.OutOfRangeError):
        session.run("doubled:0")
    return [[np.asarray(value).tolist() for value in step] for step in found]


EXPECTED = [[[b"a", b"c"], [20, 24]], [2, 4, 6], [[b"zz"], [26]]]


@pytest.fixture
def vocabulary(tmp_path):
    path = tmp_path / "vocabulary.txt"
    path.write_text("a\nb\nc\n")
    return str(path)


def test_a_meta_graph_with_an_iterator_and_a_table(tf1, tmp_path, vocabulary):
    prefix = str(tmp_path / "model")
    with tf1.Graph().as_default(), tf1.Session() as session:
        build(tf1, vocabulary)
        session.run([tf1.global_variables_initializer()])
        tf1.train.Saver().save(session, prefix)
    for module in (tf1, tf):
        with module.Graph().as_default(), module.Session() as session:
            module.train.import_meta_graph(prefix + ".meta").restore(session, prefix)
            session.run(module.tables_initializer())
            assert steps(module, session) == EXPECTED
            session.run(module.tables_initializer(), {"words:0": ["b"]})
            assert session.run("doubled:0").tolist() == [22]


def test_a_saved_model_with_an_iterator_and_a_table(tf1, tmp_path, vocabulary):
    where = str(tmp_path / "model")
    with tf1.Graph().as_default(), tf1.Session() as session:
        following, doubled = build(tf1, vocabulary)
        session.run([tf1.global_variables_initializer()])
        builder = tf1.saved_model.Builder(where)
        signature = tf1.saved_model.predict_signature_def({"words": following[0]}, {"doubled": doubled})
        builder.add_meta_graph_and_variables(session, ["serve"], {"serving_default": signature}, main_op=tf1.tables_initializer(),
                                             assets_collection=tf1.get_collection(tf1.GraphKeys.ASSET_FILEPATHS))
        builder.save()
    for module in (tf1, tf):
        with module.Graph().as_default(), module.Session() as session:
            module.saved_model.load(session, ["serve"], where)
            assert steps(module, session) == EXPECTED


def test_functions_that_go_over_datasets(tf1, tmp_path):
    where = str(tmp_path / "model")
    with tensorflow.__internal__.eager_context.eager_mode():
        class Model(tensorflow.Module):
            def __init__(self):
                super().__init__()
                self.table = tensorflow.lookup.StaticHashTable(tensorflow.lookup.KeyValueTensorInitializer(["a", "b"], [1, 2]), -1)
                self.weight = tensorflow.Variable(3)

            @tensorflow.function(input_signature=[tensorflow.TensorSpec([None], tensorflow.string)])
            def total(self, words):
                looked_up = tensorflow.data.Dataset.from_tensor_slices(words).map(lambda w: self.table.lookup(w) * self.weight, num_parallel_calls=2)
                total = tensorflow.constant(0)
                for batch in looked_up.batch(2):
                    total += tensorflow.reduce_sum(batch)
                largest = looked_up.shuffle(4).reduce(tensorflow.constant(-100), tensorflow.maximum)
                return {"total": total, "largest": largest}

        model = Model()
        tensorflow.saved_model.save(model, where, signatures=model.total)
    with tf.Graph().as_default(), tf.Session() as session:
        signature = tf.saved_model.load(session, ["serve"], where).signature_def["serving_default"]
        fetches = {name: info.name for name, info in signature.outputs.items()}
        for words, expected in ((["a", "b", "z"], {"total": 6, "largest": 6}), (["z"], {"total": -3, "largest": -3}), ([], {"total": 0, "largest": -100})):
            assert session.run(fetches, {signature.inputs["words"].name: np.array(words, object)}) == expected
