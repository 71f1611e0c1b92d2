"""Writing SavedModels."""

from __future__ import annotations

import os
import shutil

from flowmill._internal import protos as _protos
from flowmill._internal.apply import call
from flowmill._internal.control_flow import group
from flowmill._internal.graph import get_default_graph
from flowmill._internal.graph_keys import GraphKeys
from flowmill._internal.tensor import Operation, Tensor
from flowmill._internal.variables import local_variables_initializer
from flowmill.saved_model import constants, signature_constants, tag_constants
from flowmill.saved_model.signature_def_utils import predict_signature_def
from flowmill.train.saver import Saver


class SavedModelBuilder:
    """Collects graphs with their tags and signatures, and writes them to a directory.

    Args:
        export_dir: the directory, which must not exist or be empty.

    Raises:
        AssertionError: if there is something in the directory.
    """

    def __init__(self, export_dir) -> None:
        self._export_dir = os.fspath(export_dir)
        self._saved_model = _protos.get("SavedModel")(saved_model_schema_version=constants.SAVED_MODEL_SCHEMA_VERSION)
        if os.path.isdir(self._export_dir) and os.listdir(self._export_dir):
            raise AssertionError(
                f"Export directory {self._export_dir} already exists, and isn't empty. Please choose a different export directory, or delete all the "
                "contents of the specified directory.")
        os.makedirs(self._export_dir, exist_ok=True)
        self._has_variables = False

    def add_meta_graph_and_variables(self, sess, tags, signature_def_map=None, assets_collection=None, legacy_init_op=None,
                                     clear_devices: bool = False, main_op=None, strip_default_attrs: bool = False, saver=None) -> None:
        """Adds the default graph, and writes the variables: what comes first.

        Args:
            sess: the session with the variables.
            tags: the tags that the graph is chosen by.
            signature_def_map: `SignatureDef` messages by name.
            assets_collection: tensors of names of files that the graph reads; the files go with the model.
            legacy_init_op: `main_op` by its old name.
            clear_devices: leaves out devices.
            main_op: an operation to run after variables are restored.
            strip_default_attrs: leaves out attributes with their default values.
            saver: a `Saver` to write variables with.

        Raises:
            AssertionError: if variables were written already.
        """
        if self._has_variables:
            raise AssertionError("Graph state including variables and assets has already been saved. Please invoke `add_meta_graph()` instead.")
        _check_signatures(signature_def_map)
        saver = self._prepare(assets_collection, legacy_init_op, main_op, saver)
        directory = os.path.join(self._export_dir, constants.VARIABLES_DIRECTORY)
        os.makedirs(directory, exist_ok=True)
        saver.save(sess, os.path.join(directory, constants.VARIABLES_FILENAME), write_meta_graph=False, write_state=False)
        self._add(saver, tags, signature_def_map, clear_devices, strip_default_attrs)
        self._has_variables = True

    def add_meta_graph(self, tags, signature_def_map=None, assets_collection=None, legacy_init_op=None, clear_devices: bool = False, main_op=None,
                       strip_default_attrs: bool = False, saver=None) -> None:
        """Adds the default graph, which uses variables that are written; arguments as of :meth:`add_meta_graph_and_variables`.

        Raises:
            AssertionError: if no variables were written.
        """
        if not self._has_variables:
            raise AssertionError("Graph state including variables and assets has not been saved yet. Please invoke `add_meta_graph_and_variables()` first.")
        _check_signatures(signature_def_map)
        saver = self._prepare(assets_collection, legacy_init_op, main_op, saver)
        self._add(saver, tags, signature_def_map, clear_devices, strip_default_attrs)

    def _prepare(self, assets_collection, legacy_init_op, main_op, saver):
        if main_op is not None and legacy_init_op is not None:
            raise ValueError("Only one of `main_op` and `legacy_init_op` can be given.")
        graph = get_default_graph()
        self._write_assets(assets_collection)
        op = main_op if main_op is not None else legacy_init_op
        if op is not None:
            if not isinstance(op, Operation):
                raise TypeError(f"main_op needs to be an Operation: {op!r}")
            key = constants.MAIN_OP_KEY if main_op is not None else constants.LEGACY_INIT_OP_KEY
            if graph.get_collection(key):
                raise ValueError(f"Graph already contains one or more main ops under the collection {key}.")
            graph.add_to_collection(key, op)
        if saver is None:
            saver = Saver(sharded=True, write_version=2, allow_empty=True)
        return saver

    def _write_assets(self, assets_collection) -> None:
        """Copies the files that tensors name, and notes in the graph which tensor is which file."""
        directory = os.path.join(self._export_dir, constants.ASSETS_DIRECTORY)
        graph, taken = get_default_graph(), {}
        for tensor in assets_collection or ():
            if not isinstance(tensor, Tensor) or tensor.op.type != "Const" or tensor.dtype.base_dtype.name != "string":
                raise ValueError(f"An asset tensor must be a constant of a file's name: {tensor}")
            path = _text(tensor)
            name = os.path.basename(path)
            number = 1
            while taken.get(name, path) != path:
                name, number = f"{os.path.basename(path)}_{number}", number + 1
            if name not in taken:
                os.makedirs(directory, exist_ok=True)
                shutil.copyfile(path, os.path.join(directory, name))
                taken[name] = path
            info = _protos.get("AssetFileDef")(filename=name, tensor_info={"name": tensor.name})
            graph.add_to_collection(constants.ASSETS_KEY, info)

    def _add(self, saver, tags, signature_def_map, clear_devices: bool, strip_default_attrs: bool) -> None:
        message = saver.export_meta_graph(clear_devices=clear_devices, strip_default_attrs=strip_default_attrs)
        for tag in [tags] if isinstance(tags, str) else tags:
            message.meta_info_def.tags.append(tag)
        for key, signature in (signature_def_map or {}).items():
            message.signature_def[key].ParseFromString(signature.SerializeToString())
        for value in message.collection_def[constants.ASSETS_KEY].any_list.value if constants.ASSETS_KEY in message.collection_def else ():
            message.asset_file_def.add().ParseFromString(value.value)
        self._saved_model.meta_graphs.add().CopyFrom(message)

    def save(self, as_text: bool = False, experimental_image_format: bool = False, experimental_image_writer_options=None) -> bytes:
        """Writes the graphs, and returns the path of the file.

        Args:
            as_text: writes text.
            experimental_image_format: not used.
            experimental_image_writer_options: not used.
        """
        if as_text:
            from google.protobuf import text_format  # start-up: protobuf is loaded when it is used

            path = os.path.join(self._export_dir, constants.SAVED_MODEL_FILENAME_PBTXT)
            with open(path, "w", encoding="utf-8") as file:
                file.write(text_format.MessageToString(self._saved_model))
        else:
            path = os.path.join(self._export_dir, constants.SAVED_MODEL_FILENAME_PB)
            with open(path, "wb") as file:
                file.write(self._saved_model.SerializeToString(deterministic=True))
        return path.encode()


def _text(tensor: Tensor) -> str:
    value = tensor.op.get_attr("value").string_val
    return value[0].decode()


def _check_signatures(signature_def_map) -> None:
    for signature in (signature_def_map or {}).values():
        for info in [*signature.inputs.values(), *signature.outputs.values()]:
            if info.WhichOneof("encoding") is None:
                raise AssertionError(f"All TensorInfo protos used in the SignatureDefs must have one of the 'encoding' fields set: {info}")
            if not info.dtype:
                raise AssertionError(f"All TensorInfo protos used in the SignatureDefs must have the 'dtype' field set: {info}")


Builder = SavedModelBuilder


def simple_save(session, export_dir, inputs, outputs, legacy_init_op=None) -> None:
    """Writes the default graph with one signature for prediction.

    Args:
        session: the session with the variables.
        export_dir: the directory, which must not exist or be empty.
        inputs: tensors by name.
        outputs: tensors by name.
        legacy_init_op: an operation to run after variables are restored.
    """
    builder = SavedModelBuilder(export_dir)
    builder.add_meta_graph_and_variables(
        session, tags=[tag_constants.SERVING], assets_collection=get_default_graph().get_collection(GraphKeys.ASSET_FILEPATHS),
        signature_def_map={signature_constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY: predict_signature_def(inputs, outputs)},
        main_op=legacy_init_op, clear_devices=True)
    builder.save()


def main_op() -> Operation:
    """Returns an operation that initializes what a model needs besides its variables: local variables and tables."""
    tables = get_default_graph().get_collection(GraphKeys.TABLE_INITIALIZERS)
    init_local = local_variables_initializer()
    return group(init_local, group(*tables, name="init_all_tables") if tables else call("NoOp", "init_all_tables"))
