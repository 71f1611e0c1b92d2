"""Datasets that cache their elements in files: the files are TensorFlow's, and so are the errors."""

import os

import numpy as np
import pytest
from compare import same

import flowmill


def drained(tf, dataset, most=50):
    with tf.Graph().as_default(), tf.Session() as session:
        following = tf.data.make_one_shot_iterator(dataset(tf)).get_next()
        found = []
        while len(found) < most:
            try:
                found.append(session.run(following))
            except tf.errors.OutOfRangeError:
                break
        return found


def eleven_components(tf):
    rows = np.arange(33).reshape(3, 11)
    return tf.data.Dataset.from_tensor_slices(tuple(rows[:, c] for c in range(11)))


DATASETS = {
    "numbers": lambda tf: tf.data.Dataset.range(12),
    "pairs": lambda tf: tf.data.Dataset.from_tensor_slices((np.arange(6.0).reshape(3, 2), ["a", "bb", ""])),
    "eleven": eleven_components,
    "booleans": lambda tf: tf.data.Dataset.from_tensors([True, False]),
}


@pytest.mark.parametrize("name", DATASETS)
def test_one_library_reads_what_the_other_has_cached(tf1, tmp_path, name):
    expected = drained(tf1, DATASETS[name])
    for k, (writer, reader) in enumerate([(flowmill, tf1), (tf1, flowmill), (flowmill, flowmill)]):
        prefix = str(tmp_path / f"cache{k}")
        same(tuple(drained(writer, lambda tf: DATASETS[name](tf).cache(prefix))), tuple(expected))
        assert sorted(os.listdir(tmp_path))[-2:] == [f"cache{k}.data-00000-of-00001", f"cache{k}.index"]
        # The dataset behind a cache that is there is not asked: it may be another one.
        same(tuple(drained(reader, lambda tf: DATASETS[name](tf).take(0).cache(prefix))), tuple(expected))


def test_an_iteration_that_does_not_end_leaves_no_files(tf1, tmp_path):
    for tf in (tf1, flowmill):
        where = tmp_path / tf.__name__
        where.mkdir()
        found = drained(tf, lambda tf: tf.data.Dataset.range(5).cache(str(where / "cache")).take(2).repeat(2))
        assert [int(v) for v in found] == [0, 1, 0, 1]
    assert os.listdir(tmp_path / "flowmill") == []


def test_one_iteration_at_a_time_writes(tf1, tmp_path):
    for tf in (tf1, flowmill):
        with tf.Graph().as_default(), tf.Session() as session:
            prefix = str(tmp_path / tf.__name__)
            dataset = tf.data.Dataset.range(3).cache(prefix)
            first, second = (tf.data.make_initializable_iterator(dataset) for _ in range(2))
            session.run([first.initializer, second.initializer])
            a, b = first.get_next(), second.get_next()
            assert session.run(a) == 0
            with pytest.raises(tf.errors.AlreadyExistsError, match="concurrent caching iterator running - cache lockfile already exists"):
                session.run(b)
            assert os.path.exists(prefix + "_0.lockfile")
            assert [int(session.run(a)) for _ in range(2)] == [1, 2]
            with pytest.raises(tf.errors.OutOfRangeError):
                session.run(a)
            assert not os.path.exists(prefix + "_0.lockfile")
            # The second one did not begin before the files were there, so it reads them when it begins again.
            session.run(second.initializer)
            assert [int(session.run(b)) for _ in range(3)] == [0, 1, 2]


def test_a_directory_that_is_not_there_is_an_error(tf1, tmp_path):
    for tf in (tf1, flowmill):
        with pytest.raises(tf.errors.NotFoundError):
            drained(tf, lambda tf: tf.data.Dataset.range(3).cache(str(tmp_path / "none" / "cache")))


def test_sparse_elements_are_cached(tmp_path):
    def dataset(tf):
        rows = tf.SparseTensor([[0, 0], [1, 2]], [5, 6], [2, 3])
        return tf.data.Dataset.from_tensor_slices(rows).cache(str(tmp_path / "cache")).repeat(2)

    assert [value.values.tolist() for value in drained(flowmill, dataset)] == [[5], [6], [5], [6]]


def test_caches_of_datasets_of_one_size_are_complete_when_they_are_zipped(tf1, tmp_path):
    for tf in (tf1, flowmill):
        prefixes = [str(tmp_path / f"{tf.__name__}{k}") for k in range(3)]
        found = [drained(tf, lambda tf: tf.data.Dataset.zip(tuple(tf.data.Dataset.range(20).shuffle(20).cache(prefix) for prefix in prefixes)))
                 for _ in range(2)]
        assert len(found[0]) == 20
        assert found[0] == found[1]
        assert all(os.path.exists(prefix + ".index") for prefix in prefixes)
