"""Tensors that stay in a GPU's memory: fetched there, fed from there, shared with other libraries."""

import ctypes
import gc
import types

import numpy as np
import pytest

import flowmill as tf

GPU = "/job:localhost/replica:0/task:0/device:GPU:0"
ON_GPU = {"device_count": {"CPU": 1, "GPU": 1}}


def _callable(session, feed=(), fetch=(), on_gpu=()):
    """A step whose feeds and fetches in `on_gpu` are in the GPU's memory."""
    devices = [{name: GPU for name in names if name in on_gpu} for names in (feed, fetch)]
    options = types.SimpleNamespace(feed=feed, fetch=fetch, target=(), tensor_connection=(), run_options=tf.RunOptions(), feed_devices=devices[0],
                                    fetch_devices=devices[1])
    return session._make_callable_from_options(options)


@pytest.fixture
def session(num_gpus):
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, 2], name="x")
        with tf.device("/gpu:0"):
            tf.multiply(x, 2.0, name="double")
        with tf.device("/cpu:0"):
            tf.negative(x, name="negative")
        with tf.device("/gpu:0"):
            v = tf.Variable(tf.zeros([1, 2]), name="v", use_resource=True)
            tf.identity(v.assign(x), name="assigned")
            tf.identity(v.read_value(), name="value")
            tf.identity(tf.assign_add(v, [[10.0, 10.0]]), name="grown")
        init = v.initializer
    with tf.Session(graph=graph, config=tf.SessionOptions(**ON_GPU)) as session:
        session.run(init)
        yield session


class _CudaArray:
    """Another library's array: memory that a device tensor owns, under `__cuda_array_interface__`."""

    def __init__(self, tensor, **changes):
        self._tensor = tensor
        self.__cuda_array_interface__ = {**tensor.__cuda_array_interface__, **changes}


class _Dlpack:
    """Another library's tensor: only DLPack's methods, which note their calls."""

    def __init__(self, tensor):
        self._tensor, self.streams = tensor, []

    def __dlpack_device__(self):
        return self._tensor.__dlpack_device__()

    def __dlpack__(self, *, stream=None):
        self.streams.append(stream)
        return self._tensor.__dlpack__()


VALUE = np.array([[1.0, -2.0], [3.5, 4.0]], np.float32)


def test_a_fetch_stays_on_the_gpu_and_is_fed_without_a_copy(session, stub):
    first = _callable(session, ["x:0"], ["double:0"], ["double:0"])
    second = _callable(session, ["x:0"], ["double:0"], ["x:0", "double:0"])
    [on_gpu] = first(VALUE)
    assert (on_gpu.shape, on_gpu.dtype, on_gpu.device) == ((2, 2), np.float32, GPU)
    before = stub.stub_cuda_copied_bytes(0) if stub else 0
    [again] = second(on_gpu)
    [more] = second(again)
    assert not stub or stub.stub_cuda_copied_bytes(0) == before, "nothing was copied"
    np.testing.assert_array_equal(np.asarray(more), VALUE * 8)
    np.testing.assert_array_equal(np.asarray(on_gpu), VALUE * 2)
    np.testing.assert_array_equal(session.run("double:0", {"x:0": again}), VALUE * 8)


def test_values_of_the_host_may_be_fed_for_a_device_and_fetched_to_it(session):
    [doubled, negative] = _callable(session, ["x:0"], ["double:0", "negative:0"], ["x:0", "negative:0"])(VALUE)
    np.testing.assert_array_equal(doubled, VALUE * 2)
    assert negative.device == GPU
    np.testing.assert_array_equal(np.asarray(negative), -VALUE)


def test_a_node_of_the_host_reads_a_tensor_that_is_fed_on_the_gpu(session):
    [on_gpu] = _callable(session, ["x:0"], ["double:0"], ["double:0"])(VALUE)
    [doubled, negative] = _callable(session, ["x:0"], ["double:0", "negative:0"], ["x:0"])(on_gpu)
    np.testing.assert_array_equal(doubled, VALUE * 4)
    np.testing.assert_array_equal(negative, VALUE * -2)


@pytest.mark.parametrize("wrap", [_CudaArray, _Dlpack, lambda tensor: _CudaArray(tensor, stream=1), lambda tensor: _CudaArray(tensor, strides=(8, 4))])
def test_tensors_of_other_libraries_are_fed_without_a_copy(session, stub, wrap):
    [on_gpu] = _callable(session, ["x:0"], ["double:0"], ["double:0"])(VALUE)
    other = wrap(on_gpu)
    step = _callable(session, ["x:0"], ["double:0"], ["x:0", "double:0"])
    before = stub.stub_cuda_copied_bytes(0) if stub else 0
    results = [step(other)[0] for _ in range(5)]
    assert not stub or stub.stub_cuda_copied_bytes(0) == before, "nothing was copied"
    del on_gpu, other
    gc.collect()
    for result in results:
        np.testing.assert_array_equal(np.asarray(result), VALUE * 4)


def test_the_memory_of_another_library_is_kept_as_long_as_it_is_used(session):
    class Owner(_CudaArray):
        def __del__(self):
            dropped.append(True)

    dropped = []
    [on_gpu] = _callable(session, ["x:0"], ["double:0"], ["double:0"])(VALUE)
    step = _callable(session, ["x:0"], ["x:0"], ["x:0"])
    [same] = step(Owner(on_gpu))
    gc.collect()
    assert not dropped, "the fetch is the fed memory"
    assert same.__cuda_array_interface__["data"] == on_gpu.__cuda_array_interface__["data"]
    del same
    for _ in range(100):
        np.asarray(on_gpu)
        gc.collect()
        if dropped:
            break
    assert dropped


def test_a_variable_does_not_keep_the_memory_of_another_library(session):
    [on_gpu] = _callable(session, ["x:0"], ["double:0"], ["double:0"])(np.array([[1.0, 2.0]], np.float32))
    other = _CudaArray(on_gpu)
    _callable(session, ["x:0"], ["assigned:0"], ["x:0"])(other)
    [value] = _callable(session, [], ["value:0"], ["value:0"])()
    assert value.__cuda_array_interface__["data"][0] != on_gpu.__cuda_array_interface__["data"][0]
    session.run("grown:0")
    np.testing.assert_array_equal(np.asarray(value), [[2.0, 4.0]])
    np.testing.assert_array_equal(np.asarray(on_gpu), [[2.0, 4.0]])


def test_dlpack_capsules_own_their_tensor(session):
    class Tensor(ctypes.Structure):
        _fields_ = [("data", ctypes.c_void_p), ("device", ctypes.c_int * 2), ("rank", ctypes.c_int), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
                    ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
                    ("offset", ctypes.c_uint64)]

    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    [on_gpu] = _callable(session, ["x:0"], ["double:0"], ["double:0"])(VALUE)
    assert on_gpu.__dlpack_device__() == (2, 0)
    capsule = on_gpu.__dlpack__(stream=1, max_version=(1, 0))
    found = Tensor.from_address(pointer(capsule, b"dltensor"))
    address, _ = on_gpu.__cuda_array_interface__["data"]
    del on_gpu
    gc.collect()
    assert (found.data, list(found.device), found.rank, found.code, found.bits, found.lanes, found.offset) == (address, [2, 0], 2, 2, 32, 1, 0)
    assert (found.shape[:2], found.strides[:2]) == ([2, 2], [2, 1])
    [twice] = _callable(session, ["x:0"], ["double:0"], ["double:0"])(VALUE)
    assert twice.__cuda_array_interface__["data"][0] != address, "the capsule keeps the memory"
    with pytest.raises(BufferError, match="without a copy"):
        twice.__dlpack__(dl_device=(1, 0))


@pytest.mark.parametrize(("changes", "message"), [
    ({"typestr": "<f8"}, "of type <f8, not of type float32"),
    ({"strides": (4, 8)}, "not contiguous"),
    ({"data": (64, False)}, "in the memory of another device"),
    ({"shape": (4,)}, "Cannot feed value of shape"),
])
def test_values_that_do_not_fit_are_refused(session, changes, message):
    [on_gpu] = _callable(session, ["x:0"], ["double:0"], ["double:0"])(VALUE)
    with pytest.raises((tf.errors.InvalidArgumentError, ValueError), match=message):
        _callable(session, ["x:0"], ["double:0"], ["x:0"])(_CudaArray(on_gpu, **changes))


def test_devices_of_tensors_that_are_no_feeds_or_fetches_are_refused(session):
    options = types.SimpleNamespace(feed=["x:0"], fetch=["double:0"], target=(), tensor_connection=(), run_options=tf.RunOptions(), feed_devices={"v:0": GPU})
    with pytest.raises(tf.errors.InvalidArgumentError, match="'v:0' is given, which is not a feed of the step"):
        session._make_callable_from_options(options)
    options.feed_devices = {"x:0": "/device:GPU:7"}
    with pytest.raises(tf.errors.InvalidArgumentError, match="GPU:7"):
        session._make_callable_from_options(options)
