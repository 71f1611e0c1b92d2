"""Elements that fail: what comes after them is TensorFlow's."""

import numpy as np
import pytest

import flowmill


def outcomes(tf, dataset, most=40):
    """Elements, and the names of the errors that come in their places."""
    with tf.Graph().as_default(), tf.Session() as session:
        following = tf.data.make_one_shot_iterator(dataset(tf)).get_next()
        found = []
        while len(found) < most:
            try:
                found.append(session.run(following).tolist())
            except tf.errors.OutOfRangeError:
                break
            except tf.errors.OpError as error:
                found.append(type(error).__name__)
        return found


def unless(tf, is_bad, value):
    """`value`, or an error."""
    return tf.debugging.check_numerics(tf.where(is_bad, np.float32(np.nan), 1.0), "bad") * tf.cast(value, tf.float32)


@pytest.mark.parametrize("threshold", [0, 5, 10, 13, 19])
@pytest.mark.parametrize("drop_remainder", [False, True])
@pytest.mark.filterwarnings("ignore")
def test_an_element_that_fails_costs_its_batch(tf1, threshold, drop_remainder):
    def dataset(tf):
        mapped = tf.data.experimental.map_and_batch(lambda x: unless(tf, x >= threshold, x), 5, drop_remainder=drop_remainder)
        return tf.data.Dataset.range(18).apply(mapped)

    assert outcomes(flowmill, dataset) == outcomes(tf1, dataset)


@pytest.mark.filterwarnings("ignore")
def test_an_input_that_fails_takes_a_turn(tf1):
    def dataset(tf):
        values = tf.data.Dataset.from_tensor_slices(np.array([4, 5, 6])).map(lambda x: tf.cast(unless(tf, tf.equal(x, 5), x), tf.int64)).repeat(2)
        return values.apply(tf.data.experimental.parallel_interleave(
            lambda x: tf.data.Dataset.from_tensors(x).repeat(x), cycle_length=2, buffer_output_elements=1, prefetch_input_elements=0))

    found = outcomes(flowmill, dataset)
    assert found == outcomes(tf1, dataset)
    assert found[:3] == [4, "InvalidArgumentError", 4]


@pytest.mark.parametrize("compression", ["", "ZLIB", "GZIP"])
def test_records_that_a_dataset_writes(tf1, tmp_path, compression):
    records = [b"a", b"", b"long " * 1000]

    def write(tf):
        path = str(tmp_path / tf.__name__)
        with tf.Graph().as_default(), tf.Session() as session:
            session.run(tf.data.experimental.TFRecordWriter(path, compression).write(tf.data.Dataset.from_tensor_slices(records)))
        return path

    for writer, reader in [(flowmill, tf1), (tf1, flowmill), (flowmill, flowmill)]:
        path = write(writer)
        with reader.Graph().as_default(), reader.Session() as session:
            following = reader.data.make_one_shot_iterator(reader.data.TFRecordDataset(path, compression).batch(9)).get_next()
            assert session.run(following).tolist() == records


def test_numbers_differ_in_repeated_epochs_only(tf1):
    def run(tf):
        with tf.Graph().as_default(), tf.Session() as session:
            with pytest.warns(UserWarning, match="In TF 1, the `rerandomize_each_iteration=True` option"):
                dataset = tf.data.Dataset.random(seed=42, rerandomize_each_iteration=True).take(3).repeat(2)
            iterator = tf.data.make_initializable_iterator(dataset)
            following = iterator.get_next()
            epochs = []
            for _ in range(2):
                session.run(iterator.initializer)
                epochs.append([int(session.run(following)) for _ in range(6)])
            return epochs

    found = run(flowmill)
    assert found == run(tf1)
    assert found[0] == found[1]
    assert found[0][:3] != found[0][3:]


@pytest.mark.parametrize("op", ["WrapDatasetVariant", "UnwrapDatasetVariant"])
def test_one_dataset_is_wrapped(tf1, op):
    for tf in (tf1, flowmill):
        with tf.Graph().as_default(), tf.Session() as sess:
            several = tf.reshape(tf.raw_ops.RangeDataset(start=0, stop=3, step=1, output_types=[tf.int64], output_shapes=[[]]), [1])
            wrapped = getattr(tf.raw_ops, op)(input_handle=several)
            with pytest.raises(tf.errors.InvalidArgumentError, match="Dataset tensor must be a scalar"):
                sess.run(wrapped.op)


# Contents of CSV files, of which some records are malformed.
TABLES = {
    "line ends": b"a,1\rb,2\r\nc,3\nd,4",
    "quotes": b'"a\r\n""x""",1\n"b,c",2\n',
    "empty lines": b"a,1\n\nb,2\n\r\n",
    "missing": b"a,\n,2\nNA,NA\n",
    "numbers of fields": b"a\nb,2,3\nc,3\n",
    "quotes in a field": b'a"b,1\nc,2\n',
    "quote that is not escaped": b'"a"b",1\nc,2\n',
    "open quote": b'a,1\n"b,2\n',
    "no number": b"a,x\nb,2\n",
    "empty": b"",
}


def message_of(error):
    """Returns the line of an error before that of its node."""
    return error.message.split("\n\t [[")[0].split("\n")[-1]


@pytest.mark.parametrize("header", [False, True])
@pytest.mark.parametrize("contents", TABLES.values(), ids=TABLES.keys())
@pytest.mark.filterwarnings("ignore")
def test_records_of_a_table(tf1, tmp_path, contents, header):
    (tmp_path / "table.csv").write_bytes(contents)

    def rows(tf):
        found = []
        with tf.Graph().as_default(), tf.Session() as session:
            defaults = [tf.constant(["none"]), tf.constant([], tf.int32)]
            made = tf.data.experimental.CsvDataset(str(tmp_path / "table.csv"), defaults, header=header, na_value="NA")
            following = tf.data.make_one_shot_iterator(made).get_next()
            while len(found) < 20:
                try:
                    found.append(session.run(following))
                except tf.errors.OutOfRangeError:
                    return found
                except tf.errors.OpError as error:
                    found.append((type(error).__name__, message_of(error)))
        return found

    found = rows(flowmill)
    assert found == rows(tf1)
    assert len(found) < 20
