"""Programs with datasets: each is called with a module and a directory of files, and returns a dataset of the default graph."""

import collections

import numpy as np

Pair = collections.namedtuple("Pair", "a b")


def write_files(directory):
    """Writes the files that programs read."""
    (directory / "a.csv").write_text("x,y,z\n1,2.5,a\n3,4.5,b\n5,,\n")
    (directory / "a.txt").write_bytes(b"one\r\ntwo\nthree")
    (directory / "b.txt").write_bytes(b"four\n\nfive\n")
    (directory / "f.bin").write_bytes(b"HH" + bytes(range(6)) + b"F")


def numbers(tf, count=10):
    return tf.data.Dataset.range(count)


def sparse(tf):
    return tf.SparseTensor([[0, 0], [1, 2]], [1, 2], [4, 3])


def applied(transformation):
    """A program that applies what `transformation`, called with ``tf.data.experimental`` and the module, returns."""
    return lambda tf, _: numbers(tf).apply(transformation(tf.data.experimental, tf))


def lengths(tf):
    return numbers(tf).map(lambda x: tf.range(x))


def captured_table(tf, _):
    keys = tf.data.Dataset.from_tensor_slices(["b", "a", "c"])
    table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(["a", "b"], [1, 2]), -1)
    return keys.map(lambda s: table.lookup(s))


def captured_variable(use_resource):
    def build(tf, _):
        variable = tf.Variable(3.0, use_resource=use_resource)
        return numbers(tf).map(lambda x: tf.cast(x, tf.float32) + variable)
    return build


def with_options(tf, _):
    options = tf.data.Options()
    options.deterministic = False
    options.threading.private_threadpool_size = 3
    options.experimental_optimization.map_fusion = True
    options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.OFF
    options.dataset_name = "numbers"
    return numbers(tf).with_options(options)


def table_of_dataset(tf, _):
    words = tf.data.Dataset.from_tensor_slices(["b", "a"])
    table = tf.data.experimental.index_table_from_dataset(words, num_oov_buckets=2)
    return tf.data.Dataset.from_tensor_slices(["a", "b", "a"]).map(lambda s: table.lookup(s))


# Programs whose elements are always the same.
PROGRAMS = {
    "tensors": lambda tf, _: tf.data.Dataset.from_tensors((tf.constant([1.0, 2.0]), 3)),
    "slices": lambda tf, _: tf.data.Dataset.from_tensor_slices(({"b": [1.0, 2.0], "a": ["x", "y"]}, np.arange(4).reshape(2, 2))),
    "named_tuples": lambda tf, _: tf.data.Dataset.from_tensor_slices(Pair(np.arange(3), {"c": ["x", "y", "z"]})).map(lambda p: Pair(p.a + 1, p.b)),
    "character_array": lambda tf, _: tf.data.Dataset.from_tensor_slices(np.char.array(["ab", "c"])),
    "range": lambda tf, _: tf.data.Dataset.range(2, 11, 3, output_type=tf.int32),
    "names": lambda tf, _: numbers(tf).take(7, name="first").shard(2, 1).skip(1),
    "batch": lambda tf, _: numbers(tf).batch(3),
    "batch_in_parallel": lambda tf, _: numbers(tf).batch(3, drop_remainder=True, num_parallel_calls=2),
    "unbatch": lambda tf, _: numbers(tf).batch(3).unbatch(),
    "rebatch": lambda tf, _: numbers(tf).batch(4).rebatch(3),
    "padded_batch": lambda tf, _: lengths(tf).padded_batch(4),
    "padded_batch_of_structure": lambda tf, _: tf.data.Dataset.from_tensor_slices(({"a": [[1, 2], [3, 4]]}, ["x", "y"])).padded_batch(
        2, ({"a": [3]}, []), ({"a": 7}, "q"), drop_remainder=True),
    "padded_batch_by_tensor": lambda tf, _: lengths(tf).padded_batch(2, tf.constant([-1], tf.int64)),
    "map_in_parallel": lambda tf, _: numbers(tf).map(lambda x: x + 1, num_parallel_calls=2).prefetch(2),
    "map_autotuned": lambda tf, _: numbers(tf).map(lambda x: {"s": tf.as_string(x)}, num_parallel_calls=tf.data.AUTOTUNE).prefetch(tf.data.AUTOTUNE),
    "map_to_none": lambda tf, _: numbers(tf).map(lambda x: (x, None)).batch(2),
    "filter": lambda tf, _: numbers(tf).filter(lambda x: tf.equal(x % 3, 1)),
    "flat_map": lambda tf, _: numbers(tf, 4).flat_map(lambda x: tf.data.Dataset.from_tensors(x * 10).repeat(x)),
    "dataset_of_datasets": lambda tf, _: tf.data.Dataset.from_tensors(numbers(tf, 3)).flat_map(lambda d: d),
    "interleave": lambda tf, _: numbers(tf, 4).interleave(lambda x: tf.data.Dataset.range(x).map(lambda y: y + 10 * x), cycle_length=2, block_length=2),
    "interleave_in_parallel": lambda tf, _: numbers(tf, 4).interleave(lambda x: tf.data.Dataset.range(x), cycle_length=2, num_parallel_calls=2),
    "zip": lambda tf, _: tf.data.Dataset.zip((numbers(tf, 3), {"x": numbers(tf)})),
    "concatenate": lambda tf, _: tf.data.Dataset.from_tensors([1]).concatenate(tf.data.Dataset.from_tensors([1, 2])),
    "enumerate": lambda tf, _: numbers(tf, 4).enumerate(start=5),
    "cache": lambda tf, _: numbers(tf, 3).cache().repeat(2),
    "window": lambda tf, _: numbers(tf).window(3, 2, 2, True).flat_map(lambda w: w.batch(3)),
    "window_of_tuples": lambda tf, _: tf.data.Dataset.zip((numbers(tf), numbers(tf))).window(3).flat_map(
        lambda a, b: tf.data.Dataset.zip((a.map(lambda x: x + 1).batch(2), b.take(1)))),
    "sparse": lambda tf, _: tf.data.Dataset.from_tensors(sparse(tf)).map(lambda s: s * tf.constant([1, 2, 3])),
    "sparse_slices": lambda tf, _: tf.data.Dataset.from_tensor_slices(sparse(tf)),
    "sparse_in_batches": lambda tf, _: numbers(tf).map(lambda x: tf.SparseTensor([[0, 0]], [x], tf.stack([x + 1, 2]))).batch(3).unbatch().batch(2),
    "sparse_values_of_tensors": lambda tf, _: numbers(tf, 4).map(lambda x: tf.SparseTensorValue([[0]], x * [1], [3])).batch(2),
    "tensor_array": lambda tf, _: numbers(tf, 3).map(lambda x: tf.TensorArray(tf.int64, 2, element_shape=[]).unstack([x, x + 1])).map(
        lambda array: array.stack()),
    "list_of_datasets": lambda tf, _: tf.data.Dataset.from_tensor_slices([numbers(tf, 2), numbers(tf, 3)]).flat_map(lambda d: d),
    "rows_of_sparse": lambda tf, _: tf.data.Dataset.from_sparse_tensor_slices(sparse(tf)),
    "ragged": lambda tf, _: tf.data.Dataset.from_tensor_slices(tf.ragged.constant([[1, 2], [3], []])).batch(2),
    "optional": lambda tf, _: numbers(tf).map(tf.data.experimental.Optional.from_value).map(lambda o: o.get_value()),
    "conditional": lambda tf, _: numbers(tf).map(lambda x: tf.cond(x > 2, lambda: x, lambda: -x)),
    "captured_table": captured_table,
    "captured_variable": captured_variable(False),
    "captured_resource": captured_variable(True),
    "table_of_dataset": table_of_dataset,
    "options": with_options,
    "files": lambda tf, files: tf.data.Dataset.list_files([str(files / "*.txt"), str(files / "*.bin")], shuffle=False),
    "lines": lambda tf, files: tf.data.TextLineDataset([str(files / "a.txt"), str(files / "b.txt")]),
    "lines_of_files_in_turn": lambda tf, files: tf.data.TextLineDataset([str(files / "a.txt"), str(files / "b.txt")], num_parallel_reads=2),
    "records_of_fixed_length": lambda tf, files: tf.data.FixedLengthRecordDataset(str(files / "f.bin"), 2, 2, 1),
    "rows_of_table": lambda tf, files: tf.data.experimental.CsvDataset(
        str(files / "a.csv"), [tf.int32, tf.constant([1.5]), tf.constant([""])], header=True, select_cols=[0, 1, 2]),
    "table": lambda tf, files: tf.data.experimental.make_csv_dataset(
        str(files / "*.csv"), 2, label_name="z", num_epochs=1, shuffle=False, ignore_errors=True),
    "scan": applied(lambda e, tf: e.scan(np.int64(0), lambda state, x: (state + x, (state, x)))),
    "scan_of_growing_state": applied(lambda e, tf: e.scan([0], lambda state, x: (tf.concat([state, [1]], 0), state))),
    "take_while": applied(lambda e, tf: e.take_while(lambda x: x < 3)),
    "unique": lambda tf, _: numbers(tf).map(lambda x: x // 3).apply(tf.data.experimental.unique()),
    "counter": lambda tf, _: tf.data.experimental.Counter(2, 3).take(4),
    "ignore_errors": lambda tf, _: numbers(tf, 4).map(lambda x: tf.check_numerics(1.0 / tf.cast(x, tf.float32), "zero")).apply(
        tf.data.experimental.ignore_errors()),
    "group_by_window": applied(lambda e, tf: e.group_by_window(lambda x: x % 2, lambda key, d: d.batch(2), window_size=2)),
    "group_by_reducer": applied(lambda e, tf: e.group_by_reducer(
        lambda x: x % 3, e.Reducer(lambda key: np.int64(0), lambda state, x: state + x, lambda state: state))),
    "sparse_batch": lambda tf, _: lengths(tf).apply(tf.data.experimental.dense_to_sparse_batch(2, [10])),
    "ragged_batch": lambda tf, _: lengths(tf).apply(tf.data.experimental.dense_to_ragged_batch(2)),
    "ragged_batch_of_empty_tensors": lambda tf, _: numbers(tf, 4).map(lambda x: tf.fill([2, x, 3, 2 * x, 4], x)).apply(
        tf.data.experimental.dense_to_ragged_batch(2)),
    "cardinality": applied(lambda e, tf: e.assert_cardinality(10)),
    "map_and_batch": applied(lambda e, tf: e.map_and_batch(lambda x: x + 1, 3, drop_remainder=True)),
    "choose": lambda tf, _: tf.data.experimental.choose_from_datasets([numbers(tf), numbers(tf, 3)], numbers(tf, 2).repeat(4)),
    "seeded_choice": lambda tf, _: tf.data.experimental.sample_from_datasets([numbers(tf), numbers(tf)], [0.5, 0.5], seed=3),
    "seeded_numbers": lambda tf, _: tf.data.experimental.RandomDataset(3).take(4),
    "seeded_shuffle": lambda tf, _: numbers(tf).shuffle(4, 5, reshuffle_each_iteration=False).repeat(2),
    "seeded_shuffle_and_repeat": applied(lambda e, tf: e.shuffle_and_repeat(3, 2, seed=7)),
    "parse_examples": lambda tf, _: tf.data.Dataset.from_tensor_slices(["", ""]).batch(2).apply(tf.data.experimental.parse_example_dataset(
        {"a": tf.FixedLenFeature([], tf.float32, 1.5), "b": tf.VarLenFeature(tf.int64), "c": tf.io.RaggedFeature(tf.string)})),
    "padded_to_cardinality": lambda tf, _: numbers(tf, 3).map(lambda x: {"x": x}).apply(tf.data.experimental.pad_to_cardinality(5)),
    "list": lambda tf, _: tf.data.experimental.from_list([(1, "a"), (2, "b")]),
}

# Programs whose elements, or their order, are random, depend on threads, or need files of other kinds.
RANDOM_PROGRAMS = {
    "shuffle": lambda tf, _: numbers(tf).shuffle(3),
    "random_numbers": lambda tf, _: tf.data.experimental.RandomDataset().take(3),
    "any_order": lambda tf, _: numbers(tf).map(lambda x: x + 1, num_parallel_calls=2, deterministic=False),
    "parallel_interleave": applied(lambda e, tf: e.parallel_interleave(lambda x: numbers(tf), 2, sloppy=True)),
    "sample": lambda tf, _: tf.data.experimental.sample_from_datasets([numbers(tf), numbers(tf)]),
    "sample_by_dataset": lambda tf, _: tf.data.experimental.sample_from_datasets(
        [numbers(tf), numbers(tf)], tf.data.Dataset.from_tensors([0.1, 0.9]).repeat()),
    "resample": applied(lambda e, tf: e.rejection_resample(lambda x: tf.cast(x % 2, tf.int32), [0.5, 0.5], [0.3, 0.7], seed=3)),
    "resample_estimated": applied(lambda e, tf: e.rejection_resample(lambda x: tf.cast(x % 2, tf.int32), [0.5, 0.5])),
    "generator": lambda tf, _: tf.data.Dataset.from_generator(
        lambda n: iter([]), output_signature=(tf.TensorSpec([2], tf.int32), tf.TensorSpec([], tf.string)), args=[tf.constant(3)]),
    "shuffled_table": lambda tf, files: tf.data.experimental.make_csv_dataset(str(files / "*.csv"), 2, select_columns=["z", 0]),
    "placeholders": lambda tf, _: tf.data.Dataset.from_tensor_slices(tf.placeholder(tf.float32, [None, 3])).batch(
        tf.placeholder(tf.int64, []), drop_remainder=True),
    "shuffled_files": lambda tf, files: tf.data.Dataset.list_files(str(files / "*.txt"), seed=3),
    "cache_in_file": lambda tf, files: numbers(tf).cache(str(files / "cache")),
    "records": lambda tf, files: tf.data.TFRecordDataset([str(files / "records")], compression_type="GZIP", num_parallel_reads=tf.data.AUTOTUNE),
}

# Programs of which nodes are not compared: TensorFlow adds some for the rows of ragged tensors that are all of one length.
OTHER_NODES = {"ragged_batch_of_empty_tensors"}

# Programs that need kernels which there are not, yet: TensorFlow alone runs them.
WITHOUT_KERNELS = {"rows_of_table", "table", "table_of_dataset"}
