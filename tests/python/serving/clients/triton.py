"""Tests of every call of Triton's clients that a server without shared memory can answer. They run in the environment of the clients, against a running server."""

import asyncio
import queue

import numpy as np
import pytest
import tritonclient.grpc
import tritonclient.grpc.aio
import tritonclient.http
import tritonclient.http.aio
from tritonclient.utils import InferenceServerException

X = np.arange(6, dtype=np.float32).reshape(2, 3)
MODULES = {"http": tritonclient.http, "grpc": tritonclient.grpc}


@pytest.fixture(params=["http", "grpc"])
def kind(request):
    return request.param


@pytest.fixture
def api(kind):
    return MODULES[kind]


@pytest.fixture
def client(kind, api, addresses):
    client = api.InferenceServerClient(addresses[kind])
    yield client
    client.close()


def tensor(api, name, values, datatype, **options):
    given = api.InferInput(name, list(values.shape), datatype)
    given.set_data_from_numpy(values, **options)
    return given


def x_of(api, **options):
    return [tensor(api, "x", X, "FP32", **options)]


def test_health(client):
    assert client.is_server_live() and client.is_server_ready()
    assert client.is_model_ready("linear") and client.is_model_ready("linear", "1")
    assert not client.is_model_ready("none") and not client.is_model_ready("linear", "2")


def test_metadata(client, kind):
    options = {"as_json": True} if kind == "grpc" else {}
    server = client.get_server_metadata(**options)
    assert server["name"] == "flowmill" and "binary_tensor_data" in server["extensions"]
    model = client.get_model_metadata("linear", **options)
    assert model["name"] == "linear" and model["versions"] == ["1"] and model["platform"] == "tensorflow_savedmodel"
    sizes = [int(size) for size in model["inputs"][0]["shape"]]
    assert (model["inputs"][0]["name"], model["inputs"][0]["datatype"], sizes) == ("x", "FP32", [-1, 3])
    assert [output["name"] for output in model["outputs"]] == ["y"]


def test_configuration(client, kind):
    options = {"as_json": True} if kind == "grpc" else {}
    config = client.get_model_config("linear", **options)
    config = config.get("config", config)
    assert config["name"] == "linear" and config["input"][0]["data_type"] == "TYPE_FP32"


def test_index(client, kind):
    options = {"as_json": True} if kind == "grpc" else {}
    index = client.get_model_repository_index(**options)
    models = index["models"] if kind == "grpc" else index
    assert {model["name"]: model["state"] for model in models} == {"digits": "READY", "linear": "READY", "classified": "READY"}


def test_statistics(client, api, kind):
    options = {"as_json": True} if kind == "grpc" else {}
    def count():
        stats, = client.get_inference_statistics("linear", **options)["model_stats"]
        return stats["name"], int(stats["inference_count"]), int(stats["inference_stats"]["success"]["count"])
    client.infer("linear", x_of(api))
    name, rows, requests = count()
    client.infer("linear", x_of(api))
    assert count() == (name, rows + 2, requests + 1) and name == "linear"
    assert len(client.get_inference_statistics(**options)["model_stats"]) >= 2


def test_inference(client, api):
    answer = client.infer("linear", x_of(api), model_version="1", request_id="seven", priority=3, timeout=10_000_000)
    np.testing.assert_array_equal(answer.as_numpy("y"), X * 3)
    response = answer.get_response()
    found = (response["id"], response["model_version"]) if isinstance(response, dict) else (response.id, response.model_version)
    assert found == ("seven", "1")
    answer = client.infer("linear", x_of(api), outputs=[api.InferRequestedOutput("y")])
    np.testing.assert_array_equal(answer.as_numpy("y"), X * 3)


def test_classification(client, api):
    output = api.InferRequestedOutput("y", class_count=2)
    best = client.infer("linear", x_of(api), outputs=[output]).as_numpy("y")
    assert [[text.decode().split(":")[1] for text in row] for row in best] == [["2", "1"]] * 2
    assert float(best[1][0].decode().split(":")[0]) == 15.0


@pytest.mark.parametrize("binary_in", [False, True])
@pytest.mark.parametrize("binary_out", [False, True])
def test_json_and_binary_tensors(addresses, binary_in, binary_out):
    api = tritonclient.http
    client = api.InferenceServerClient(addresses["http"])
    output = api.InferRequestedOutput("y", binary_data=binary_out)
    np.testing.assert_array_equal(client.infer("linear", x_of(api, binary_data=binary_in), outputs=[output]).as_numpy("y"), X * 3)
    texts = np.array(["a", "", "ü"], object)
    given = tensor(api, "t", texts, "BYTES", binary_data=binary_in)
    output = api.InferRequestedOutput("s", binary_data=binary_out)
    answer = client.infer("linear", [given], outputs=[output], parameters={"signature_name": "strings"}).as_numpy("s")
    assert [text.decode() if isinstance(text, bytes) else text for text in answer] == ["a", "", "ü"]


def test_strings(client, api):
    texts = np.array([b"a", b"\xff\x00", b""], object)
    answer = client.infer("linear", [tensor(api, "t", texts, "BYTES")], parameters={"signature_name": "strings"})
    assert answer.as_numpy("s").tolist() == texts.tolist()


def test_halves(client, api):
    values = np.array([[1.5, -2]], np.float16)
    answer = client.infer("linear", [tensor(api, "g", values, "FP16")], parameters={"signature_name": "halves"}).as_numpy("h")
    assert answer.dtype == np.float16 and answer.tolist() == values.tolist()


@pytest.mark.parametrize("algorithm", ["gzip", "deflate"])
def test_compression(addresses, algorithm):
    client = tritonclient.http.InferenceServerClient(addresses["http"])
    answer = client.infer("linear", x_of(tritonclient.http), request_compression_algorithm=algorithm, response_compression_algorithm=algorithm)
    np.testing.assert_array_equal(answer.as_numpy("y"), X * 3)


@pytest.mark.parametrize("algorithm", ["gzip", "deflate"])
def test_compression_of_grpc(addresses, algorithm):
    client = tritonclient.grpc.InferenceServerClient(addresses["grpc"])
    answer = client.infer("linear", x_of(tritonclient.grpc), compression_algorithm=algorithm)
    np.testing.assert_array_equal(answer.as_numpy("y"), X * 3)


def test_errors(client, api):
    for model, version, inputs, text in [
        ("none", "", x_of(api), "none"),
        ("linear", "9", x_of(api), "9"),
        ("linear", "", [tensor(api, "z", X, "FP32")], "z"),
        ("linear", "", [tensor(api, "x", X.astype(np.int32), "INT32")], "x"),
    ]:
        with pytest.raises(InferenceServerException, match=text):
            client.infer(model, inputs, model_version=version)
    with pytest.raises(InferenceServerException):
        client.infer("linear", x_of(api), outputs=[api.InferRequestedOutput("z")])
    with pytest.raises(InferenceServerException, match="none"):
        client.get_model_metadata("none")


def test_asynchronous_requests(addresses):
    http = tritonclient.http.InferenceServerClient(addresses["http"], concurrency=4)
    for request in [http.async_infer("linear", x_of(tritonclient.http)) for _ in range(8)]:
        np.testing.assert_array_equal(request.get_result().as_numpy("y"), X * 3)
    grpc, answers = tritonclient.grpc.InferenceServerClient(addresses["grpc"]), queue.Queue()
    for _ in range(8):
        grpc.async_infer("linear", x_of(tritonclient.grpc), lambda result, error: answers.put((result, error)))
    for _ in range(8):
        result, error = answers.get(timeout=30)
        assert error is None
        np.testing.assert_array_equal(result.as_numpy("y"), X * 3)


def test_streams(addresses):
    client, answers = tritonclient.grpc.InferenceServerClient(addresses["grpc"]), queue.Queue()
    client.start_stream(lambda result, error: answers.put((result, error)))
    for i in range(5):
        client.async_stream_infer("linear", x_of(tritonclient.grpc), request_id=str(i))
    found = [answers.get(timeout=30) for _ in range(5)]
    assert [(result.get_response().id, error) for result, error in found] == [(str(i), None) for i in range(5)]
    np.testing.assert_array_equal(found[0][0].as_numpy("y"), X * 3)
    client.async_stream_infer("none", x_of(tritonclient.grpc))
    result, error = answers.get(timeout=30)
    assert result is None and "none" in error.message()
    # An error of one request does not end the stream.
    client.async_stream_infer("linear", x_of(tritonclient.grpc), request_id="last")
    assert answers.get(timeout=30)[0].get_response().id == "last"
    client.stop_stream()


def test_loading(client, api):
    client.unload_model("digits")
    assert not client.is_model_ready("digits")
    client.load_model("digits")
    assert client.is_model_ready("digits")
    with pytest.raises(InferenceServerException, match="none"):
        client.load_model("none")


def test_what_is_missing_says_so(client):
    with pytest.raises(InferenceServerException):
        client.register_system_shared_memory("region", "/key", 8)


def test_coroutines(addresses):
    async def ask(module, address):
        api = {tritonclient.http.aio: tritonclient.http, tritonclient.grpc.aio: tritonclient.grpc}[module]
        async with module.InferenceServerClient(address) as client:
            assert await client.is_server_live() and await client.is_server_ready() and await client.is_model_ready("linear")
            await client.get_server_metadata()
            await client.get_model_metadata("linear")
            await client.get_model_config("linear")
            await client.get_model_repository_index()
            await client.get_inference_statistics("linear")
            answers = await asyncio.gather(*(client.infer("linear", x_of(api)) for _ in range(8)))
            for answer in answers:
                np.testing.assert_array_equal(answer.as_numpy("y"), X * 3)
            with pytest.raises(InferenceServerException):
                await client.infer("none", x_of(api))

    asyncio.run(ask(tritonclient.http.aio, addresses["http"]))
    asyncio.run(ask(tritonclient.grpc.aio, addresses["grpc"]))


def test_streams_of_coroutines(addresses):
    async def ask():
        async with tritonclient.grpc.aio.InferenceServerClient(addresses["grpc"]) as client:
            async def requests():
                for i in range(3):
                    yield {"model_name": "linear", "inputs": x_of(tritonclient.grpc), "request_id": str(i)}
            return [(result.get_response().id, error) async for result, error in client.stream_infer(requests())]

    assert asyncio.run(ask()) == [(str(i), None) for i in range(3)]
