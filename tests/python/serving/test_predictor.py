"""`flowmill.serving.Predictor`: calls within the process, from threads and coroutines, with and without batches."""

import asyncio
import concurrent.futures
import pickle
import time

import numpy as np
import pytest

import flowmill as tf
from flowmill import serving
from served_models import DIGITS, add_version

BATCHED = serving.Batching(max_batch_size=64, batch_timeout_micros=20_000)


@pytest.fixture(params=[None, BATCHED], ids=["alone", "batched"], scope="module")
def predictor(request, linear):
    return serving.Predictor(linear, batching=request.param)


def rows(value, count=1):
    return np.full((count, 3), value, np.float32)


def test_digits(digits_data):
    predictor = serving.Predictor(DIGITS)
    found = predictor(images=digits_data["images"])
    np.testing.assert_array_equal(found["classes"], digits_data["classes"])
    np.testing.assert_allclose(found["probabilities"], digits_data["probabilities"], rtol=1e-4, atol=1e-5)
    assert predictor.inputs["images"].dtype is tf.float32 and predictor.inputs["images"].shape.as_list() == [None, 8, 8, 1]
    assert sorted(predictor.outputs) == ["classes", "probabilities"] and not predictor.is_batched


def test_calls(predictor):
    np.testing.assert_array_equal(predictor(x=rows(2))["y"], rows(6))
    np.testing.assert_array_equal(predictor(x=[[1, 2, 3]])["y"], [[3, 6, 9]])
    np.testing.assert_array_equal(predictor.predict({"x": rows(1)}, ["y"], timeout=60, priority=1)["y"], rows(3))
    assert predictor(x=np.zeros((0, 3)))["y"].shape == (0, 3)


@pytest.mark.parametrize("inputs, outputs, text", [
    ({}, [], "Missing but required: {x}"),
    ({"x": rows(1), "z": 1}, [], "Sent extra: {z}"),
    ({"x": "words"}, [], "input 'x'"),
    ({"x": [[1, 2]]}, [], "x"),
    ({"x": rows(1)}, ["z"], "z"),
    ({"x": rows(1)}, ["y", "y"], "duplicate"),
])
def test_wrong_calls(predictor, inputs, outputs, text):
    with pytest.raises(tf.errors.InvalidArgumentError, match=text):
        predictor.predict(inputs, outputs)
    with pytest.raises(tf.errors.InvalidArgumentError, match=text):
        asyncio.run(predictor.predict_async(inputs, outputs))


def test_a_late_call(predictor):
    with pytest.raises(tf.errors.DeadlineExceededError):
        predictor.predict({"x": rows(1)}, timeout=0)
    with pytest.raises(tf.errors.DeadlineExceededError):
        asyncio.run(predictor.predict_async({"x": rows(1)}, timeout=0))


def test_many_threads(predictor):
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        answers = [*pool.map(lambda i: predictor(x=rows(i))["y"][0, 0], range(500))]
    assert answers == [3.0 * i for i in range(500)]


def test_many_coroutines(predictor):
    async def ask():
        return await asyncio.gather(*(predictor.predict_async({"x": rows(i)}) for i in range(500)))
    assert [answer["y"][0, 0] for answer in asyncio.run(ask())] == [3.0 * i for i in range(500)]


def test_calls_of_coroutines_share_batches(linear):
    predictor = serving.Predictor(linear, batching=serving.Batching(max_batch_size=8, batch_timeout_micros=30_000_000))
    async def ask():
        return await asyncio.gather(*(predictor.predict_async({"x": rows(i)}) for i in range(8)))
    start = time.monotonic()
    assert len(asyncio.run(ask())) == 8
    # The eighth call fills the batch; otherwise they would wait for the timeout.
    assert time.monotonic() - start < 20


def test_the_loop_goes_on_and_a_call_is_cancelled(linear):
    predictor = serving.Predictor(linear, batching=serving.Batching(max_batch_size=8, batch_timeout_micros=30_000_000))
    async def ask():
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(predictor.predict_async({"x": rows(1)}), 0.05)
    start = time.monotonic()
    asyncio.run(ask())
    assert time.monotonic() - start < 20


def test_other_signatures(linear):
    strings = serving.Predictor(linear, "strings")(t=["a", b"\xff\x00", "ü"])["s"]
    assert strings.tolist() == [b"a", b"\xff\x00", "ü".encode()]
    halves = serving.Predictor(linear, "halves")(g=[[1, 2]])["h"]
    assert halves.dtype == np.float16 and halves.tolist() == [[1, 2]]
    with pytest.raises(tf.errors.FailedPreconditionError, match='"none" not found'):
        serving.Predictor(linear, "none")


def test_the_largest_version_is_taken(tmp_path):
    for version in (2, 10):
        add_version(tmp_path, version, offset=float(version))
    assert serving.Predictor(tmp_path)(x=rows(0))["y"].tolist() == [[10] * 3]
    assert serving.Predictor(tmp_path / "2")(x=rows(0))["y"].tolist() == [[2] * 3]
    with pytest.raises(tf.errors.NotFoundError):
        serving.Predictor(tmp_path / "none")


@pytest.mark.parametrize("batching", [None, BATCHED])
def test_a_loaded_model(linear, batching):
    model = tf.saved_model.load(linear / "1")
    predictor = serving.Predictor(model, batching=batching)
    np.testing.assert_array_equal(predictor(x=rows(2))["y"], rows(6))
    assert predictor.is_batched == (batching is not None)
    with pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(predictor)
    with pytest.raises(tf.errors.FailedPreconditionError):
        serving.Predictor(model, "none")


def test_pickling(predictor):
    copy = pickle.loads(pickle.dumps(predictor))
    np.testing.assert_array_equal(copy(x=rows(2))["y"], rows(6))
    assert copy.is_batched == predictor.is_batched


def test_answers_belong_to_the_caller(predictor):
    given = rows(1, 60)
    answer = predictor(x=given)["y"]
    answer += 1
    np.testing.assert_array_equal(given, rows(1, 60))
    np.testing.assert_array_equal(predictor(x=given)["y"], rows(3, 60))
