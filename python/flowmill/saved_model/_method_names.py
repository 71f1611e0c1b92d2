"""Changing what signatures of a SavedModel on disk are called by servers: `MethodNameUpdater`."""

from __future__ import annotations

import os

from flowmill import gfile
from flowmill._internal import protos
from flowmill.saved_model import constants

__all__ = ["MethodNameUpdater"]


class MethodNameUpdater:
    """Replaces the method names of signatures of a SavedModel.

    Args:
        export_dir: the model's directory.

    Raises:
        IOError: if there is no model.
    """

    def __init__(self, export_dir):
        self._directory = os.fspath(export_dir)
        self._model = protos.get("SavedModel")()
        path = os.path.join(self._directory, constants.SAVED_MODEL_FILENAME_PB)
        text = os.path.join(self._directory, constants.SAVED_MODEL_FILENAME_PBTXT)
        if gfile.Exists(path):
            with gfile.GFile(path, "rb") as file:
                self._model.ParseFromString(file.read())
        elif gfile.Exists(text):
            from google.protobuf import text_format  # start-up: protobuf is loaded when it is used

            with gfile.GFile(text) as file:
                text_format.Parse(file.read(), self._model)
        else:
            raise OSError(f"SavedModel file does not exist at: {self._directory}{os.path.sep}{{{constants.SAVED_MODEL_FILENAME_PBTXT}|"
                          f"{constants.SAVED_MODEL_FILENAME_PB}}}")

    def replace_method_name(self, signature_key: str, method_name: str, tags=None) -> None:
        """Changes the method name of a signature.

        Args:
            signature_key: the signature.
            method_name: the name.
            tags: the tags of the graphs in which to replace it, all graphs if it is None.

        Raises:
            ValueError: if a name is missing, no graph has the tags, or one has no such signature.
        """
        if not signature_key:
            raise ValueError("`signature_key` must be defined.")
        if not method_name:
            raise ValueError("`method_name` must be defined.")
        if tags is not None and not isinstance(tags, list):
            tags = [tags]
        found = False
        for graph in self._model.meta_graphs:
            if tags is not None and set(tags) != set(graph.meta_info_def.tags):
                continue
            if signature_key not in graph.signature_def:
                raise ValueError(
                    f"MetaGraphDef associated with tags {tags} does not have a signature_def with key: '{signature_key}'. This means either you "
                    "specified the wrong signature key or forgot to put the signature_def with the corresponding key in your SavedModel.")
            graph.signature_def[signature_key].method_name = method_name
            found = True
        if not found:
            raise ValueError(
                f"MetaGraphDef associated with tags {tags} could not be found in SavedModel. This means either you specified invalid tags or your "
                "SavedModel does not have a MetaGraphDef with the specified tags.")

    def save(self, new_export_dir=None) -> None:
        """Writes the model's file back, or into another directory, which must not exist.

        Raises:
            RuntimeError: if that exists.
        """
        directory = os.fspath(new_export_dir) if new_export_dir else self._directory
        if new_export_dir:
            if gfile.Exists(directory):
                raise RuntimeError(f"Directory already exists: {directory}")
            gfile.MakeDirs(directory)
        with gfile.GFile(os.path.join(directory, constants.SAVED_MODEL_FILENAME_PB), "wb") as file:
            file.write(self._model.SerializeToString(deterministic=True))
