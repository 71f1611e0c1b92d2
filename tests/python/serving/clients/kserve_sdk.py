"""Tests of KServe's own client, over REST by both versions of its protocol and over gRPC.

The package ``kserve`` also holds a server and a client of Kubernetes, whose dependencies take 350 MB. The modules of the inference client need few of
them, if the package's own ``__init__`` is left out.
"""

import asyncio
import importlib.util
import sys
import types

import grpc
import httpx
import numpy as np
import pytest

_package = types.ModuleType("kserve")
_package.__path__ = [*importlib.util.find_spec("kserve").submodule_search_locations]
sys.modules["kserve"] = _package
# Requests may be made of data frames; these tests make none.
sys.modules["pandas"] = types.SimpleNamespace(DataFrame=type("DataFrame", (), {}))

from kserve.inference_client import InferenceGRPCClient, InferenceRESTClient, RESTConfig  # noqa: E402
from kserve.protocol.infer_type import InferInput, InferRequest, RequestedOutput  # noqa: E402

X = np.arange(6, dtype=np.float32).reshape(2, 3)


def request(values, datatype, *, name="x", model="linear", binary=False, **options):
    given = InferInput(name=name, shape=[*values.shape], datatype=datatype)
    given.set_data_from_numpy(values, binary_data=binary)
    return InferRequest(model_name=model, infer_inputs=[given], **options)


@pytest.fixture
def url(addresses):
    return f"http://{addresses['http']}"


def over_rest(url, call, protocol="v2"):
    """Returns the result of `call`, a coroutine function of a client."""
    async def run():
        client = InferenceRESTClient(RESTConfig(protocol=protocol))
        try:
            return await call(client)
        finally:
            await client.close()

    return asyncio.run(run())


def over_grpc(addresses, call):
    async def run():
        async with InferenceGRPCClient(addresses["grpc"], retries=0) as client:
            return await call(client)

    return asyncio.run(run())


def test_health_over_rest(url):
    async def ask(client):
        return [await client.is_server_live(url), await client.is_server_ready(url), await client.is_model_ready(url, "linear"), await client.is_model_ready(url, "none")]

    assert over_rest(url, ask) == [True, True, True, False]


def test_health_over_grpc(addresses):
    async def ask(client):
        return [await client.is_server_live(), await client.is_server_ready(), await client.is_model_ready("linear"), await client.is_model_ready("none")]

    assert over_grpc(addresses, ask) == [True, True, True, False]


def test_version_1_of_the_protocol(url):
    assert over_rest(url, lambda client: client.infer(url, {"instances": X.tolist()}, "linear"), "v1") == {"predictions": (X * 3).tolist()}
    with pytest.raises(httpx.HTTPStatusError, match="Servable not found"):
        over_rest(url, lambda client: client.infer(url, {"instances": []}, "none"), "v1")


@pytest.mark.parametrize("binary_in", [False, True])
@pytest.mark.parametrize("binary_out", [False, True])
def test_inference_over_rest(url, binary_in, binary_out):
    outputs = [RequestedOutput("y", {"binary_data": binary_out})]
    asked = request(X, "FP32", binary=binary_in, request_id="seven", request_outputs=outputs)
    answer = over_rest(url, lambda client: client.infer(url, asked, "linear"))
    np.testing.assert_array_equal(answer.get_output_by_name("y").as_numpy(), X * 3)
    assert (answer.id, answer.model_name) == ("seven", "linear")


@pytest.mark.parametrize("binary", [False, True])
def test_inference_over_grpc(addresses, binary):
    answer = over_grpc(addresses, lambda client: client.infer(request(X, "FP32", binary=binary, request_id="seven")))
    np.testing.assert_array_equal(answer.outputs[0].as_numpy(), X * 3)
    assert (answer.id, answer.outputs[0].name) == ("seven", "y")


def test_strings_and_parameters(url, addresses):
    texts = np.array([b"a", b"", "ü".encode()], object)
    for binary in (False, True):
        asked = request(texts, "BYTES", name="t", binary=binary, parameters={"signature_name": "strings"})
        found = over_grpc(addresses, lambda client: client.infer(asked)).outputs[0].as_numpy()  # noqa: B023
        assert found.tolist() == texts.tolist()
    asked = request(texts, "BYTES", name="t", binary=True, parameters={"signature_name": "strings"})
    found = over_rest(url, lambda client: client.infer(url, asked, "linear")).outputs[0].as_numpy()
    assert [text.encode() if isinstance(text, str) else text for text in found] == texts.tolist()


def test_errors(url, addresses):
    wrong = request(X, "FP32", name="z")
    with pytest.raises(httpx.HTTPStatusError, match="the model has no input .z.; it takes: x"):
        over_rest(url, lambda client: client.infer(url, wrong, "linear"))
    with pytest.raises(grpc.RpcError) as error:
        over_grpc(addresses, lambda client: client.infer(wrong))
    assert error.value.code() == grpc.StatusCode.INVALID_ARGUMENT
    with pytest.raises(grpc.RpcError) as error:
        over_grpc(addresses, lambda client: client.infer(request(X, "FP32", model="none")))
    assert error.value.code() == grpc.StatusCode.NOT_FOUND
