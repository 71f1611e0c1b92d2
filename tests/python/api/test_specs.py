"""What is known of values without a graph, names of devices, and switches that say nothing here."""

import numpy as np
import pytest
from compare import compare, same_error

import flowmill



SPECS = {
    "sparse": lambda tf: tf.SparseTensorSpec([None, 3], tf.int32), "sparse default": lambda tf: tf.SparseTensorSpec(),
    "slices": lambda tf: tf.IndexedSlicesSpec([2, None], tf.float64, tf.int32, tf.int64, [4]), "slices default": lambda tf: tf.IndexedSlicesSpec(),
    "array": lambda tf: tf.TensorArraySpec([2], tf.int32, True, False), "array default": lambda tf: tf.TensorArraySpec(),
    "tensor": lambda tf: tf.TensorSpec([1, None], tf.int32, "t"),
}


@pytest.mark.parametrize("name", SPECS)
def test_specs(tf1, name):
    theirs, ours = SPECS[name](tf1), SPECS[name](flowmill)
    assert isinstance(ours, flowmill.TypeSpec) and ours.value_type.__name__ in (theirs.value_type.__name__, "Tensor")
    assert repr(ours) == repr(theirs)
    assert [ours == SPECS[n](flowmill) for n in SPECS] == [theirs == SPECS[n](tf1) for n in SPECS]
    assert hash(ours) == hash(SPECS[name](flowmill)) and len({ours, SPECS[name](flowmill)}) == 1


VALUES = {
    "a tensor": lambda tf: tf.constant([[1, 2]], name="c"), "of unknown shape": lambda tf: tf.placeholder(tf.float32),
    "a number": lambda tf: 3.0, "a list": lambda tf: [[1, 2], [3, 4]], "an array": lambda tf: np.zeros((2, 3), np.float64), "a string": lambda tf: "s",
    "a sparse tensor": lambda tf: tf.SparseTensor([[0, 0]], [1.0], [2, 3]),
    "slices": lambda tf: tf.IndexedSlices(tf.constant([[1.0]]), tf.constant([2]), tf.constant([3, 1])),
    "slices of unknown shape": lambda tf: tf.IndexedSlices(tf.constant([[1.0]]), tf.constant([2])),
    "a variable": lambda tf: tf.get_variable("v", [3]), "None": lambda tf: None,
}


@pytest.mark.parametrize("value", VALUES)
def test_specs_of_values(tf1, value):
    if value == "a variable":  # TensorFlow has specs of variables, which nothing else here has
        with flowmill.Graph().as_default():
            assert flowmill.type_spec_from_value(VALUES[value](flowmill)) == flowmill.TensorSpec([3], flowmill.float32)
        return
    found = []
    for tf in (tf1, flowmill):
        with tf.Graph().as_default():
            spec = tf.type_spec_from_value(VALUES[value](tf))
            found.append((repr(spec), spec.is_compatible_with(SPECS["sparse default"](tf))))
            assert tf is tf1 or spec.is_compatible_with(VALUES[value](tf))
    assert found[0] == found[1]


def test_values_without_a_spec(tf1):
    same_error(tf1, lambda tf: tf.type_spec_from_value(object()), "Could not build a TypeSpec for")
    for tf in (tf1, flowmill):
        common = tf.SparseTensorSpec([2, 3], tf.int32).most_specific_compatible_type(tf.SparseTensorSpec([2, 4], tf.int32))
        assert common == tf.SparseTensorSpec([2, None], tf.int32)
        with pytest.raises(ValueError, match="No TypeSpec is compatible with both"):
            tf.SparseTensorSpec([2, 3], tf.int32).most_specific_compatible_type(tf.SparseTensorSpec([2, 3], tf.int64))


def test_specs_of_arrays(tf1):
    for tf in (tf1, flowmill):
        with tf.Graph().as_default():
            assert tf.type_spec_from_value(tf.TensorArray(tf.float32, 3, element_shape=[2])).is_compatible_with(tf.TensorArraySpec([2]))


def test_devices(tf1):
    found = []
    for tf in (tf1, flowmill):
        spec = tf.DeviceSpec(job="worker", task=1, device_type="gpu", device_index=0)
        merged = tf.DeviceSpec.from_string("/job:ps/device:CPU:*")
        merged.merge_from(spec)
        other = tf.DeviceSpec().parse_from_string("/replica:3/cpu:2")
        with tf.Graph().as_default(), tf.device(spec):
            where = tf.constant(1).device
        found.append([spec.to_string(), merged.to_string(), other.to_string(), spec.replace(task=2).to_string(), where, spec == tf.DeviceSpec.from_string(
            "/job:worker/task:1/device:GPU:0"), spec.make_merged_spec(other).to_string(), (other.replica, other.device_type, other.device_index)])
    assert found[0] == found[1]
    same_error(tf1, lambda tf: tf.DeviceSpec.from_string("/nothing:1"), "Unknown attribute")


@pytest.mark.parametrize("text", [
    "", None, "/", "/job:worker", "/job:*", "/job:0/task:7", "gpu", "GPU:3", "cpu:*", "/tpu:1", "/device:gpu:2", "/device:Gpu:2", "/device:*:2", "/device:NPU:*",
    "task:2/job:a/", "/job:a//cpu:1", "/custom:1", "/epu:0", "/cpu:0/gpu:1", "/device:CPU:0/cpu:1", "/device:CPU", "/nothing:1", "/task:x", "/cpu:x", "/job",
    "/device:CPU:0:0", ":1", "/job:a:b"])
def test_texts_of_devices(tf1, text):
    def parts(tf):
        try:
            spec = tf.DeviceSpec.from_string(text)
        except ValueError:
            return ValueError
        return spec.to_string(), spec.job, spec.replica, spec.task, spec.device_type, spec.device_index
    assert parts(flowmill) == parts(tf1)


def test_parts_of_devices_are_set(tf1):
    found = []
    for tf in (tf1, flowmill):
        spec = tf.DeviceSpec(job=3, replica="1", device_type="cpu", device_index="4")
        spec.task, spec.device_type, spec.device_index = 2, "gpu", None
        other = tf.DeviceSpec(device_index=5)
        found.append((spec.to_string(), other.to_string(), spec.make_merged_spec(other).to_string(), spec == tf.DeviceSpec.from_string(spec.to_string())))
    assert found[0] == found[1]
    for bad in ({"task": -1}, {"device_index": 1 << 40}):
        with pytest.raises(ValueError, match="must be at least 0"):
            flowmill.DeviceSpec(**bad)
    with pytest.raises(TypeError):
        flowmill.DeviceSpec().replace(kind="CPU")


def test_quantized_types(tf1):
    assert {t.name for t in flowmill.QUANTIZED_DTYPES} == {t.name for t in tf1.QUANTIZED_DTYPES}
    assert flowmill.dtypes.QUANTIZED_DTYPES is flowmill.QUANTIZED_DTYPES


def test_switches(tf1):
    for tf in (tf1, flowmill):
        tf.enable_tensor_equality()
        with tf.Graph().as_default():
            a, b = tf.constant(1), tf.constant(1)
            assert (a == b) is False and (a != b) is True and a in {a}
        tf.disable_tensor_equality()
        assert tf.debugging.is_traceback_filtering_enabled()
        tf.debugging.disable_traceback_filtering()
        assert not tf.debugging.is_traceback_filtering_enabled()
        tf.debugging.enable_traceback_filtering()
        tf.debugging.disable_check_numerics()
    flowmill.debugging.set_log_device_placement(True)
    assert flowmill.debugging.get_log_device_placement()
    flowmill.debugging.set_log_device_placement(False)


def test_messages():
    histogram = flowmill.HistogramProto(min=1.0, bucket=[1.0, 2.0])
    assert flowmill.HistogramProto.FromString(histogram.SerializeToString()) == histogram
    assert flowmill.SessionLog(status=flowmill.SessionLog.START).status == 1 and flowmill.LogMessage(message="m").message == "m"
    assert flowmill.SummaryMetadata(display_name="d").display_name == "d"
    assert flowmill.get_logger() is flowmill.logging.get_logger() and flowmill.OpError is flowmill.errors.OpError


def test_sessions_are_reset(tf1):
    for tf in (tf1, flowmill):
        with tf.Graph().as_default():
            x = tf.constant(1)
            session = tf.Session()
            assert session.run(x) == 1
            tf.Session.reset("")
            with pytest.raises((RuntimeError, tf.errors.CancelledError), match="[Cc]losed"):
                session.run(x)
    with pytest.raises(TypeError, match="must be a string"):
        flowmill.Session.reset(None)


def test_options_of_pipelines(tf1):
    for tf in (tf1, flowmill):
        with tf.Graph().as_default():
            options = tf.data.Options()
            options.deterministic = False
            options.threading.private_threadpool_size = 3
            data = tf.data.Dataset.range(3).with_options(options).map(lambda x: x + 1)
            assert data.options().deterministic is False and data.options().threading.private_threadpool_size == 3
            assert tf.data.Dataset.range(3).options().threading.private_threadpool_size is None
            value = tf.data.make_one_shot_iterator(data).get_next()
            with tf.Session() as session:
                assert [session.run(value) for _ in range(3)] == [1, 2, 3]
            with pytest.raises(AttributeError, match="Cannot set the property nothing on Options."):
                options.nothing = 3
        assert (tf.data.INFINITE_CARDINALITY, tf.data.UNKNOWN_CARDINALITY) == (-1, -2)


def _optional_values(tf):
    value = tf.constant(1.0), {"a": tf.constant([1, 2])}
    there = tf.data.experimental.Optional.from_value(value)
    empty = tf.data.experimental.Optional.empty(tf.TensorSpec([2], tf.int32))
    return there.has_value(), there.get_value(), empty.has_value()


def test_elements_that_may_not_be_there(tf1):
    compare(tf1, _optional_values)
    with flowmill.Graph().as_default(), flowmill.Session() as session:
        empty = flowmill.data.experimental.Optional.empty(flowmill.TensorSpec([2], flowmill.int32))
        with pytest.raises(flowmill.errors.InvalidArgumentError, match="The given optional does not have a value."):
            session.run(empty.get_value())
        sparse = flowmill.SparseTensor([[1]], [2.0], [3])
        there = flowmill.data.experimental.Optional.from_value(sparse)
        assert there.element_spec == flowmill.SparseTensorSpec([3], flowmill.float32)
        np.testing.assert_array_equal(session.run(flowmill.sparse.to_dense(there.get_value())), [0.0, 2.0, 0.0])
    with pytest.raises(TypeError, match="Datasets do not support components of 3"):
        flowmill.data.experimental.Optional.empty(3)


def test_specs_of_datasets_and_optionals(tf1):
    found = []
    for tf in (tf1, flowmill):
        with tf.Graph().as_default():
            dataset = tf.data.Dataset.from_tensors((1.0, {"a": [1, 2]}))
            spec = tf.data.DatasetSpec(dataset.element_spec)
            other = tf.data.DatasetSpec((tf.TensorSpec([], tf.float32), {"a": tf.TensorSpec([None], tf.int32)}))
            optional = tf.data.experimental.Optional.from_value((tf.constant(1.0), {"a": tf.constant([1, 2])}))
            of = tf.OptionalSpec.from_value(optional)
            found.append((repr(spec), spec.is_compatible_with(dataset), spec == tf.data.DatasetSpec.from_value(dataset), spec == other,
                          other.is_compatible_with(spec), other.is_compatible_with(optional), tf.type_spec_from_value(dataset) == spec,
                          issubclass(spec.value_type, tf.data.Dataset), repr(spec.element_spec), of == tf.type_spec_from_value(optional),
                          repr(optional.element_spec), of.is_compatible_with(optional), of.is_compatible_with(dataset)))
    assert found[0] == found[1]


def test_datasets_as_arrays(tf1):
    dataset = flowmill.data.Dataset.from_tensor_slices(([1, 2, 3], {"a": ["x", "y", "z"]})).map(lambda x, y: (x * 2, y)).batch(2)
    elements = list(flowmill.data.NumpyIterator(dataset))
    assert [x.tolist() for x, _ in elements] == [[2, 4], [6]] and [y["a"].tolist() for _, y in elements] == [[b"x", b"y"], [b"z"]]
    assert list(flowmill.data.Dataset.range(3).as_numpy_iterator()) == [0, 1, 2]
    with flowmill.Graph().as_default():
        with pytest.raises(ValueError, match="Cannot capture a placeholder"):
            flowmill.data.Dataset.from_tensors(flowmill.placeholder(flowmill.float32)).as_numpy_iterator()
        sparse = flowmill.SparseTensor([[1]], [2.0], [3])
        assert [value.values.tolist() for value in flowmill.data.Dataset.from_tensors(sparse).as_numpy_iterator()] == [[2.0]]
        with pytest.raises(TypeError, match="Dataset"):
            flowmill.data.Dataset.range(3).window(2).as_numpy_iterator()


def test_libraries_of_machine_code(tf1, tmp_path):
    same_error(tf1, lambda tf: tf.load_op_library(str(tmp_path / "ops.so")), "cannot open shared object file")
    same_error(tf1, lambda tf: tf.load_library(str(tmp_path / "ops.so")), "The file or folder to load kernel libraries from does not exist.")
    (tmp_path / "ops.so").write_bytes(b"")
    for load in (flowmill.load_op_library, flowmill.load_library, flowmill.load_file_system_library):
        with pytest.raises(flowmill.errors.UnimplementedError, match="flowmill cannot load"):
            load(str(tmp_path / "ops.so"))
    assert {type(n) for n in (flowmill.CXX11_ABI_FLAG, flowmill.CXX_VERSION, flowmill.MONOLITHIC_BUILD)} == {int}


@pytest.mark.parametrize("name", ["cpu:0", "CPU", "/cpu:0", "/gpu:*", "job:w/task:1", "/job:a//device:CPU:1/", "/", "cpux", "cpu:x", "foo:1"])
def test_names_of_devices(tf1, name):
    found = []
    for tf in (tf1, flowmill):
        try:
            found.append(tf.DeviceSpec.from_string(name).to_string())
        except ValueError:
            found.append(ValueError)
    assert found[1] == found[0]


class Pair:
    """A value made of two tensors and a word."""

    def __init__(self, first, second, word):
        self.first, self.second, self.word = first, second, word


def _pair_spec(tf):
    class PairSpec(tf.TypeSpec):
        def __init__(self, first, second, word):
            self.first, self.second, self.word = first, second, word

        value_type = property(lambda self: Pair)
        _component_specs = property(lambda self: (self.first, self.second))

        def _to_components(self, value):
            return value.first, value.second

        def _from_components(self, components):
            return Pair(*components, self.word)

        def _serialize(self):
            return self.first, self.second, self.word

    return PairSpec


def test_specs_of_programs_own_values(tf1):
    found = []
    for tf in (tf1, flowmill):
        kind = _pair_spec(tf)
        small, large = tf.TensorSpec([2, 3], tf.int32), tf.TensorSpec([None, 3], tf.int32)
        a, b = kind(small, {"x": small, "y": [large]}, "red"), kind(large, {"x": large, "y": [small]}, "red")
        blue = kind(small, {"x": small, "y": [large]}, "blue")
        common = a.most_specific_compatible_type(b)
        found.append([
            a == b, a == kind(small, {"x": small, "y": [large]}, "red"), a != blue, a.is_compatible_with(b), a.is_compatible_with(blue), a.is_subtype_of(common),
            common.is_subtype_of(a), common == kind(large, {"x": large, "y": [large]}, "red"), a.most_specific_common_supertype([blue]) is None,
            hash(a) == hash(kind(small, {"x": small, "y": [large]}, "red")), a._from_components([1, 2]).word,
        ])
        with pytest.raises(ValueError):
            a.most_specific_compatible_type(blue)
    assert found[0] == found[1]


def test_components_of_specs(tf1):
    found = []
    for tf in (tf1, flowmill):
        specs = [tf.SparseTensorSpec([2, None], tf.float32), tf.RaggedTensorSpec([3, None, 2], tf.int32, 1), tf.RaggedTensorSpec([None, 2, None], tf.int32, 2, tf.int32),
                 tf.IndexedSlicesSpec([5, 2], tf.float32, tf.int32, tf.int64), tf.TensorSpec([2], tf.string, "a")]
        found.append([repr(tf.nest.flatten(list(s._component_specs) if not isinstance(s, tf.TensorSpec) else s._component_specs)) for s in specs]
                     + [repr(s._batch(4)) for s in specs[:3]] + [repr(s._unbatch()) for s in specs[:3]] + [repr(s._serialize()) for s in specs])
    assert [str(v) for v in found[0]] == [str(v) for v in found[1]]


def test_functions_of_ragged_and_sparse_arguments(tf1):
    found = []
    for tf in (tf1, flowmill):
        with tf.Graph().as_default(), tf.Session() as session:
            @tf.function(input_signature=[tf.RaggedTensorSpec([None, None], tf.int32), tf.SparseTensorSpec([None, None], tf.int32)])
            def total(rows, sparse):
                return tf.reduce_sum(rows, 1) * 10, tf.sparse.reduce_sum(sparse)
            made = total(tf.ragged.constant([[1, 2], [3]]), tf.SparseTensor([[0, 1]], [7], [1, 2]))
            found.append([v.tolist() for v in session.run(made)])
    assert found[0] == found[1]


def test_subtypes_and_supertypes_of_types(tf1):
    for tf in (tf1, flowmill):
        assert tf.string.is_subtype_of(tf.string) and not tf.string.is_subtype_of(tf.uint32)
        assert tf.string.most_specific_common_supertype([tf.string]) == tf.string
        assert tf.string.most_specific_common_supertype([tf.uint32]) is None


def test_structures_of_values_and_of_their_specs(tf1):
    for tf in (tf1, flowmill):
        with tf.Graph().as_default():
            value = {"a": tf.SparseTensor([[0]], [1.0], [2]), "b": [tf.ragged.constant([[1], []]), tf.constant(1)]}
            specs = {"a": tf.SparseTensorSpec([2]), "b": [tf.RaggedTensorSpec([2, None], tf.int32), tf.TensorSpec([], tf.int32)]}
            tf.nest.assert_same_structure(value, specs, expand_composites=True)
            with pytest.raises((TypeError, ValueError), match="nested structure"):
                tf.nest.assert_same_structure(value, {**specs, "a": tf.TensorSpec([2])}, expand_composites=True)


class _Pair:
    """A composite that only its spec knows how to take apart."""

    def __init__(self, parts, label):
        self.parts, self.label = parts, label

    @property
    def _type_spec(self):
        return _PairSpec(self.label)


class _PairSpec(flowmill.TypeSpec):
    value_type = _Pair

    def __init__(self, label):
        self.label = label

    def _to_components(self, value):
        return value.parts

    def _from_components(self, components):
        return _Pair(components, self.label)


def test_specs_take_composites_apart():
    structure = [{"a": _Pair((1, [2, 3]), "x")}, 4]
    assert flowmill.nest.flatten(structure, expand_composites=True) == [1, 2, 3, 4]
    assert flowmill.nest.flatten(structure)[1] == 4 and len(flowmill.nest.flatten(structure)) == 2
    made = flowmill.nest.pack_sequence_as(structure, "abcd", expand_composites=True)
    assert (made[0]["a"].parts, made[0]["a"].label, made[1]) == (("a", ["b", "c"]), "x", "d")
