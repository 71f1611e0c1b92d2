"""The messages and stubs of tensorflow-serving-api, the health check and the reflection of gRPC."""

import importlib
import types

import grpc
import numpy as np
import pytest

from flowmill import serving

pytestmark = pytest.mark.usefixtures("client_packages")


@pytest.fixture(scope="module")
def apis(client_packages, tf1):
    """The modules of the messages."""
    names = (
        "classification_pb2", "get_model_metadata_pb2", "get_model_status_pb2", "inference_pb2", "model_management_pb2", "model_service_pb2_grpc",
        "predict_pb2", "prediction_service_pb2_grpc", "regression_pb2",
    )
    return types.SimpleNamespace(**{name: importlib.import_module(f"tensorflow_serving.apis.{name}") for name in names})


@pytest.fixture(scope="module")
def channel(server):
    with grpc.insecure_channel(server.grpc_address) as channel:
        yield channel


@pytest.fixture(scope="module")
def prediction(apis, channel):
    return apis.prediction_service_pb2_grpc.PredictionServiceStub(channel)


@pytest.fixture(scope="module")
def models(apis, channel):
    return apis.model_service_pb2_grpc.ModelServiceStub(channel)


def predict_request(apis, tf1, model="linear", signature="", version=None, **inputs):
    request = apis.predict_pb2.PredictRequest()
    request.model_spec.name, request.model_spec.signature_name = model, signature
    if version is not None:
        request.model_spec.version.value = version
    for name, value in inputs.items():
        request.inputs[name].CopyFrom(tf1.make_tensor_proto(value))
    return request


def examples(tf1, *rows):
    float_list = tf1.train.FloatList
    features = [{} if row is None else {"x": tf1.train.Feature(float_list=float_list(value=row))} for row in rows]
    return [tf1.train.Example(features=tf1.train.Features(feature=feature)) for feature in features]


def test_predict(apis, tf1, prediction):
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    packed = tf1.make_tensor_proto(x)
    listed = type(packed)(dtype=packed.dtype, tensor_shape=packed.tensor_shape, float_val=x.ravel().tolist())
    for content in (packed, listed):
        request = predict_request(apis, tf1)
        request.inputs["x"].CopyFrom(content)
        answer = prediction.Predict(request, timeout=60)
        np.testing.assert_array_equal(tf1.make_ndarray(answer.outputs["y"]), x * 3)
        spec = answer.model_spec
        assert (spec.name, spec.version.value, spec.signature_name) == ("linear", 1, "serving_default")


def test_types(apis, tf1, prediction):
    answer = prediction.Predict(predict_request(apis, tf1, signature="strings", t=[b"a", b"\xff\x00"]), timeout=60)
    assert tf1.make_ndarray(answer.outputs["s"]).tolist() == [b"a", b"\xff\x00"]
    answer = prediction.Predict(predict_request(apis, tf1, signature="halves", g=np.array([[1.5, -2]], np.float16)), timeout=60)
    assert tf1.make_ndarray(answer.outputs["h"]).tolist() == [[1.5, -2]]


@pytest.mark.parametrize("model, signature, version, inputs, outputs, code, text", [
    ("none", "", None, {"x": [[1.0, 2, 3]]}, [], grpc.StatusCode.NOT_FOUND, r"Servable not found for request: Latest\(none\)"),
    ("linear", "", 7, {"x": [[1.0, 2, 3]]}, [], grpc.StatusCode.NOT_FOUND, r"Servable not found for request: Specific\(linear, 7\)"),
    ("linear", "none", None, {"x": [[1.0, 2, 3]]}, [], grpc.StatusCode.FAILED_PRECONDITION, 'Serving signature key "none" not found'),
    ("linear", "", None, {}, [], grpc.StatusCode.INVALID_ARGUMENT, "Missing but required: {x}"),
    ("linear", "", None, {"x": [[1.0, 2, 3]], "z": 1}, [], grpc.StatusCode.INVALID_ARGUMENT, "Sent extra: {z}"),
    ("linear", "", None, {"x": [[1.0, 2]]}, [], grpc.StatusCode.INVALID_ARGUMENT, "x"),
    ("linear", "", None, {"x": [["a", "b", "c"]]}, [], grpc.StatusCode.INVALID_ARGUMENT, "x"),
    ("linear", "", None, {"x": [[1.0, 2, 3]]}, ["z"], grpc.StatusCode.INVALID_ARGUMENT, "z"),
])
def test_refused_requests(apis, tf1, prediction, model, signature, version, inputs, outputs, code, text):
    request = predict_request(apis, tf1, model, signature, version, **inputs)
    request.output_filter.extend(outputs)
    with pytest.raises(grpc.RpcError, match=text) as error:
        prediction.Predict(request, timeout=60)
    assert error.value.code() == code


@pytest.mark.parametrize("with_context", [False, True])
def test_classify(apis, tf1, prediction, with_context):
    request = apis.classification_pb2.ClassificationRequest()
    request.model_spec.name, request.model_spec.signature_name = "classified", "classification"
    if with_context:
        request.input.example_list_with_context.examples.extend(examples(tf1, [1, 2], None))
        request.input.example_list_with_context.context.CopyFrom(examples(tf1, [3, 4])[0])
    else:
        request.input.example_list.examples.extend(examples(tf1, [1, 2], None))
    found = prediction.Classify(request, timeout=60).result.classifications
    last = [("small", 3.0), ("large", 8.0)] if with_context else [("small", 0.5), ("large", 1.0)]
    assert [[(c.label, c.score) for c in row.classes] for row in found] == [[("small", 1.0), ("large", 4.0)], last]


def test_regress(apis, tf1, prediction):
    request = apis.regression_pb2.RegressionRequest()
    request.model_spec.name, request.model_spec.signature_name = "classified", "regression"
    request.input.example_list.examples.extend(examples(tf1, [1, 2], None))
    assert [r.value for r in prediction.Regress(request, timeout=60).result.regressions] == [3.0, 1.0]
    request.model_spec.signature_name = "predict"
    with pytest.raises(grpc.RpcError) as error:
        prediction.Regress(request, timeout=60)
    assert error.value.code() == grpc.StatusCode.INVALID_ARGUMENT


def test_several_inferences(apis, tf1, prediction):
    request = apis.inference_pb2.MultiInferenceRequest()
    for kind, signature in (("classify", "classification"), ("regress", "regression")):
        task = request.tasks.add(method_name=f"tensorflow/serving/{kind}")
        task.model_spec.name, task.model_spec.signature_name = "classified", signature
    request.input.example_list.examples.extend(examples(tf1, [1, 2]))
    classes, numbers = prediction.MultiInference(request, timeout=60).results
    assert [c.score for c in classes.classification_result.classifications[0].classes] == [1.0, 4.0]
    assert [r.value for r in numbers.regression_result.regressions] == [3.0]
    assert numbers.model_spec.signature_name == "regression"


def test_metadata(apis, prediction):
    request = apis.get_model_metadata_pb2.GetModelMetadataRequest(metadata_field=["signature_def"])
    request.model_spec.name = "classified"
    answer = prediction.GetModelMetadata(request, timeout=60)
    found = apis.get_model_metadata_pb2.SignatureDefMap()
    assert answer.metadata["signature_def"].Unpack(found)
    assert sorted(found.signature_def) == ["classification", "predict", "regression", "serving_default"]
    assert found.signature_def["regression"].method_name == "tensorflow/serving/regress"


def test_status(apis, models):
    request = apis.get_model_status_pb2.GetModelStatusRequest()
    request.model_spec.name = "linear"
    status, = models.GetModelStatus(request, timeout=60).model_version_status
    assert (status.version, status.state, status.status.error_code) == (1, apis.get_model_status_pb2.ModelVersionStatus.AVAILABLE, 0)
    request.model_spec.name = "none"
    with pytest.raises(grpc.RpcError) as error:
        models.GetModelStatus(request, timeout=60)
    assert error.value.code() == grpc.StatusCode.NOT_FOUND


def test_reload(apis, tf1, linear, classified):
    with serving.Server({"linear": linear}) as server, grpc.insecure_channel(server.wait_until_ready().grpc_address) as channel:
        models = apis.model_service_pb2_grpc.ModelServiceStub(channel)
        prediction = apis.prediction_service_pb2_grpc.PredictionServiceStub(channel)
        request = apis.model_management_pb2.ReloadConfigRequest()
        config = request.config.model_config_list.config.add(name="other", base_path=str(linear), model_platform="tensorflow")
        config.version_labels["stable"] = 1
        assert models.HandleReloadConfigRequest(request, timeout=60).status.error_code == 0
        labelled = predict_request(apis, tf1, "other", x=[[1.0, 2, 3]])
        labelled.model_spec.version_label = "stable"
        answer = prediction.Predict(labelled, timeout=60)
        assert tf1.make_ndarray(answer.outputs["y"]).tolist() == [[3, 6, 9]]
        # The list replaces the one before.
        with pytest.raises(grpc.RpcError) as error:
            prediction.Predict(predict_request(apis, tf1, "linear", x=[[1.0, 2, 3]]), timeout=60)
        assert error.value.code() == grpc.StatusCode.NOT_FOUND


def test_health(channel):
    from grpc_health.v1 import health_pb2, health_pb2_grpc

    stub = health_pb2_grpc.HealthStub(channel)
    # The server looks at its models at times.
    stream = stub.Watch(health_pb2.HealthCheckRequest(service=""), timeout=60)
    assert any(answer.status == health_pb2.HealthCheckResponse.SERVING for answer in stream)
    for service in ("", "tensorflow.serving.PredictionService", "inference.GRPCInferenceService"):
        assert stub.Check(health_pb2.HealthCheckRequest(service=service), timeout=60).status == health_pb2.HealthCheckResponse.SERVING
    with pytest.raises(grpc.RpcError) as error:
        stub.Check(health_pb2.HealthCheckRequest(service="none"), timeout=60)
    assert error.value.code() == grpc.StatusCode.NOT_FOUND


def test_reflection(channel):
    from google.protobuf.descriptor_pool import DescriptorPool
    from grpc_reflection.v1alpha.proto_reflection_descriptor_database import ProtoReflectionDescriptorDatabase

    database = ProtoReflectionDescriptorDatabase(channel)
    services = {"tensorflow.serving.PredictionService", "tensorflow.serving.ModelService", "inference.GRPCInferenceService", "grpc.health.v1.Health"}
    assert services <= {*database.get_services()}
    pool = DescriptorPool(database)
    assert "ModelStreamInfer" in pool.FindServiceByName("inference.GRPCInferenceService").methods_by_name
    assert pool.FindMessageTypeByName("tensorflow.serving.PredictRequest").fields_by_name["inputs"].number == 2


def test_metrics(apis, tf1, prediction, http):
    from prometheus_client.parser import text_string_to_metric_families

    def samples():
        families = {}
        for path in ("/metrics", "/monitoring/prometheus/metrics"):
            status, text = http(path)
            assert status == 200
            families = {family.name: family for family in text_string_to_metric_families(text.decode())}
        return families

    def count(families):
        found = [s.value for family in families.values() for s in family.samples
                 if s.name.startswith(":tensorflow:serving:request_count") and s.labels == {"model_name": "linear", "status": "OK"}]
        return sum(found)

    before = count(samples())
    for _ in range(3):
        prediction.Predict(predict_request(apis, tf1, x=[[1.0, 2, 3]]), timeout=60)
    after = samples()
    assert count(after) == before + 3
    for family in after.values():
        assert family.name.startswith((":tensorflow:", "flowmill_", "process_")), family.name
        # The buckets of a histogram count what is at most their bound: they grow up to the count.
        series = {}
        for s in family.samples if family.type == "histogram" else ():
            labels = tuple(sorted(item for item in s.labels.items() if item[0] != "le"))
            series.setdefault(labels, {})[s.labels.get("le", s.name.rpartition("_")[2])] = s.value
        for found in series.values():
            buckets = [value for key, value in found.items() if key not in ("count", "sum")]
            assert buckets == sorted(buckets) and buckets[-1] == found["count"], family.name


def test_httpx(server):
    import httpx

    with httpx.Client(base_url=server.rest_url) as client:
        answer = client.post("/v1/models/classified:classify", json={"signature_name": "classification", "examples": [{"x": [1.0, 2.0]}, {}]})
        assert answer.json() == {"results": [[["small", 1.0], ["large", 4.0]], [["small", 0.5], ["large", 1.0]]]}
        answer = client.post("/v1/models/classified:regress", json={"signature_name": "regression", "context": {"x": [3.0, 4.0]}, "examples": [{"x": [1.0, 2.0]}, {}]})
        assert answer.json() == {"results": [3.0, 7.0]}
        assert client.get("/v1/models/linear").json() == {"model_version_status": [
            {"version": "1", "state": "AVAILABLE", "status": {"error_code": "OK", "error_message": ""}}]}
        assert client.get("/v1/models/none").status_code == 404
        assert sorted(client.get("/v1/models/linear/metadata").json()["metadata"]["signature_def"]["signature_def"]) == ["halves", "serving_default", "strings"]

