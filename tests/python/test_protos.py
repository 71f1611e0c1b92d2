"""The messages of ``flowmill._internal.protos`` against TensorFlow's."""

import importlib
import pathlib
import subprocess
import sys

import pytest
from google.protobuf import descriptor_pb2, descriptor_pool

from flowmill._internal import protos

DATA = pathlib.Path(__file__).parents[1] / "data"

# TensorFlow's modules that declare what `import tensorflow` alone does not load.
MODULES = [
    "tensorflow.core.example.example_pb2",
    "tensorflow.core.framework.device_attributes_pb2",
    "tensorflow.core.protobuf.control_flow_pb2",
    "tensorflow.core.protobuf.device_properties_pb2",
    "tensorflow.core.protobuf.fingerprint_pb2",
    "tensorflow.core.protobuf.named_tensor_pb2",
    "tensorflow.core.protobuf.queue_runner_pb2",
    "tensorflow.core.protobuf.saved_model_pb2",
    "tensorflow.core.protobuf.tensor_bundle_pb2",
    "tensorflow.core.protobuf.tensorflow_server_pb2",
    "tensorflow.core.profiler.tfprof_log_pb2",
    "tensorflow.core.profiler.tfprof_options_pb2",
    "tensorflow.core.profiler.tfprof_output_pb2",
    "tensorflow.core.util.event_pb2",
    "tensorflow.core.util.saved_tensor_slice_pb2",
    "tensorflow.python.training.checkpoint_state_pb2",
]
# TensorBoard's messages, which have packages of their own.
TENSORBOARD_MODULES = ["hparams.plugin_data_pb2", "pr_curve.plugin_data_pb2", "projector.projector_config_pb2"]
TENSORBOARD = "tensorflow.tensorboard"


def our_files():
    """The files of the descriptor set that are TensorFlow's or TensorBoard's, not protobuf's own."""
    path = pathlib.Path(protos.__file__).parent / "descriptors.binpb"
    files = descriptor_pb2.FileDescriptorSet.FromString(path.read_bytes()).file
    return [file for file in files if not file.package.startswith("google.")]


def flatten(prefix, messages, enums):
    """Every message and enum by full name, those nested in messages included."""
    for enum in enums:
        yield f"{prefix}.{enum.name}", enum
    for message in messages:
        yield f"{prefix}.{message.name}", message
        yield from flatten(f"{prefix}.{message.name}", message.nested_type, message.enum_type)


def described(message):
    """What two declarations of a message or an enum must agree in."""
    if isinstance(message, descriptor_pb2.EnumDescriptorProto):
        return {(value.name, value.number) for value in message.value}
    oneofs = [oneof.name for oneof in message.oneof_decl]
    return {
        (field.name, field.number, field.type, field.label, field.type_name, field.proto3_optional)
        + ((oneofs[field.oneof_index],) if field.HasField("oneof_index") else ())
        for field in message.field
    }


@pytest.fixture(scope="module")
def tensorflow():
    tf = importlib.import_module("tensorflow")
    for module in MODULES:
        importlib.import_module(module)
    return tf


def test_every_field_is_tensorflows(tensorflow):
    pool = descriptor_pool.Default()
    compared = 0
    for file in (file for file in our_files() if file.package != TENSORBOARD):
        for name, ours in flatten(file.package, file.message_type, file.enum_type):
            theirs = type(ours)()
            is_enum = isinstance(ours, descriptor_pb2.EnumDescriptorProto)
            find = pool.FindEnumTypeByName if is_enum else pool.FindMessageTypeByName
            find(name).CopyToProto(theirs)
            assert described(ours) == described(theirs), name
            compared += 1
    assert compared > 200


@pytest.mark.usefixtures("tensorflow")
def test_fields_of_plugins_are_tensorboards():
    theirs = {}
    for module in TENSORBOARD_MODULES:
        pool = importlib.import_module(f"tensorboard.plugins.{module}").DESCRIPTOR.pool
    for name in ("hparams/api", "hparams/plugin_data", "pr_curve/plugin_data", "projector/projector_config"):
        file = descriptor_pb2.FileDescriptorProto()
        pool.FindFileByName(f"tensorboard/plugins/{name}.proto").CopyToProto(file)
        theirs |= dict(flatten("", file.message_type, file.enum_type))

    def fields(message):
        # Names of types without their packages.
        return {(*row[:4], row[4].rsplit(".", 1)[-1]) if len(row) > 4 else row for row in described(message)}
    ours = {name: m for file in our_files() if file.package == TENSORBOARD for name, m in flatten("", file.message_type, file.enum_type)}
    assert len(ours) > 15
    for name, message in ours.items():
        assert fields(message) <= fields(theirs[name]), name


def test_bytes_pass_between_our_messages_and_tensorflows(tensorflow):
    graph_def = protos.get("GraphDef").FromString((DATA / "models" / "lstm_small.pb").read_bytes())
    theirs = tensorflow.compat.v1.GraphDef.FromString(graph_def.SerializeToString())
    assert type(graph_def) is not type(theirs)
    assert [node.name for node in graph_def.node] == [node.name for node in theirs.node]
    graph_def.node[0].attr["extra"].list.i.extend([1, 2])
    theirs.ParseFromString(graph_def.SerializeToString())
    assert list(theirs.node[0].attr["extra"].list.i) == [1, 2]


def test_names():
    assert protos.get("DataType").Value("DT_FLOAT") == 1
    assert protos.get("AttrValue.ListValue")(i=[3]).i == [3]
    assert protos.get("GraphDef") is protos.get("GraphDef")
    with pytest.raises(KeyError):
        protos.get("NoSuchMessage")


def test_protobuf_is_imported_on_demand():
    code = (
        "import sys, flowmill._internal.protos as protos\n"
        "assert 'google.protobuf' not in sys.modules\n"
        "protos.get('ConfigProto')(intra_op_parallelism_threads=2)\n"
        "assert 'google.protobuf' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
