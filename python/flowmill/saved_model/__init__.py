"""SavedModels: graphs on disk with their variables, tables, assets and signatures."""

from __future__ import annotations

import os
from typing import Any

from flowmill._internal import lazy as _lazy
from flowmill.saved_model import loader, signature_constants, tag_constants
from flowmill.saved_model._model import Model, Signature, TensorSpec
from flowmill.saved_model.loader import maybe_saved_model_directory
from flowmill.saved_model.loader import maybe_saved_model_directory as contains_saved_model
from flowmill.saved_model.signature_constants import (
    CLASSIFY_METHOD_NAME, DEFAULT_SERVING_SIGNATURE_DEF_KEY, PREDICT_METHOD_NAME, REGRESS_METHOD_NAME,
)
from flowmill.saved_model.tag_constants import GPU, SERVING, TPU, TRAINING

# Names that are for writing.
_NAMES = _lazy.table(__name__, {
    "builder": "Builder=SavedModelBuilder simple_save",
    "constants": "ASSETS_DIRECTORY ASSETS_KEY DEBUG_DIRECTORY DEBUG_INFO_FILENAME_PB LEGACY_INIT_OP_KEY MAIN_OP_KEY SAVED_MODEL_FILENAME_PB "
                 "SAVED_MODEL_FILENAME_PBTXT SAVED_MODEL_SCHEMA_VERSION VARIABLES_DIRECTORY VARIABLES_FILENAME",
    "signature_constants": "CLASSIFY_INPUTS CLASSIFY_OUTPUT_CLASSES CLASSIFY_OUTPUT_SCORES PREDICT_INPUTS PREDICT_OUTPUTS REGRESS_INPUTS "
                           "REGRESS_OUTPUTS",
    "signature_def_utils": "build_signature_def classification_signature_def is_valid_signature predict_signature_def regression_signature_def",
    "main_op": "main_op_with_restore",
    "utils": "build_tensor_info get_tensor_from_tensor_info",
}) | _lazy.modules(__name__, "builder constants main_op signature_def_utils utils")

__all__ = [
    "CLASSIFY_METHOD_NAME", "DEFAULT_SERVING_SIGNATURE_DEF_KEY", "GPU", "Model", "PREDICT_METHOD_NAME", "REGRESS_METHOD_NAME", "SERVING",
    "Signature", "TPU", "TRAINING", "TensorSpec", "contains_saved_model", "load", "loader", "maybe_saved_model_directory",
    "signature_constants", "tag_constants", *sorted(_NAMES),
]

__getattr__, __dir__ = _lazy.attach(__name__, _NAMES)


def load(sess, tags=None, export_dir=None, import_scope=None, *, config=None, map_file: bool = False) -> Any:
    """Loads a SavedModel, in one of two ways.

    ``load(path, tags=None)`` gives a :class:`Model`, whose signatures are called by name::

        model = tf.saved_model.load("digits/1")
        model.signatures["serving_default"](images=images)["classes"]

    ``load(sess, tags, export_dir, import_scope=None)`` is TensorFlow 1's: it adds the model to a session's graph and returns its `MetaGraphDef`.

    Args:
        sess: a session, or the directory of a model.
        tags: the tags of the graph to load. Without, a path must have one graph only, or one with the tag ``serve``.
        export_dir: the directory, if `sess` is a session.
        import_scope: the prefix of the names of all nodes.
        map_file: maps the file of the graph, as `import_graph_def` does: it must not be changed in place then. Variables are always read.
        config: for the session of a :class:`Model`: a `ConfigProto` or `SessionOptions`.
    """
    if isinstance(sess, (str, os.PathLike)):
        return Model(os.fspath(sess), tags, config=config, map_file=map_file)
    return loader.load(sess, tags, export_dir, import_scope, map_file=map_file)
