"""Loading a SavedModel into a session, as TensorFlow 1 does."""

from __future__ import annotations

import os

from flowmill import _core
from flowmill._internal import protos as _protos
from flowmill.errors import DataLossError, NotFoundError

# The kinds of collections that hold values rather than messages.
_VALUE_LISTS = ("int64_list", "float_list")


def maybe_saved_model_directory(export_dir) -> bool:
    """Returns true if there is a SavedModel in a directory."""
    return any(os.path.isfile(os.path.join(export_dir, name)) for name in ("saved_model.pb", "saved_model.pbtxt"))


class SavedModelNotFoundError(NotFoundError, OSError, RuntimeError, ValueError):
    """A part of a SavedModel is not there. TensorFlow raises an `OSError` for the file, a `RuntimeError` for the tags, a `ValueError` for variables."""


class SavedModelDataLossError(DataLossError, OSError):
    """A file is no SavedModel. TensorFlow raises an `OSError`."""


def open_model(path: str, tags: list[str] | None, map_file: bool) -> _core.SavedModel:
    """Returns a model on disk, or TensorFlow's errors."""
    try:
        return _core.SavedModel(path, tags, map_file=map_file)
    except NotFoundError as error:
        raise SavedModelNotFoundError(None, None, error.message) from None
    except DataLossError as error:
        raise SavedModelDataLossError(None, None, error.message) from None


def load(sess, tags, export_dir, import_scope=None, map_file: bool = False, **saver_kwargs) -> _protos.MetaGraphDef:
    """Adds the graph with exactly these tags to the session's graph, restores its variables and runs its initialisation op.

    Args:
        sess: the session.
        tags: a list of tags.
        export_dir: the model's directory.
        import_scope: the prefix of the names of all nodes, with a slash.
        map_file: maps the file of the graph, as `import_graph_def` does.
        saver_kwargs: for TensorFlow's saver; not used.

    Returns:
        The `MetaGraphDef`, whose `signature_def` names tensors as they are without `import_scope`.

    Raises:
        SavedModelNotFoundError: if there is no model, no graph with these tags, or no checkpoint of its variables.
        SavedModelDataLossError: if the file is no SavedModel.
        errors.NotFoundError: if an op is not known.
    """
    del saver_kwargs
    graph = sess.graph
    graph._check_not_finalized()
    model = open_model(os.fspath(export_dir), [tags] if isinstance(tags, str) else list(tags), map_file)
    scope = "" if not import_scope else import_scope.rstrip("/")
    model.import_into(graph._core, scope)
    model.prepare(sess._core, scope)
    meta_graph_def = _protos.get("MetaGraphDef").FromString(model.meta_graph_def())
    _fill_collections(graph, meta_graph_def, scope)
    return meta_graph_def


def _fill_collections(graph, meta_graph_def, scope: str) -> None:
    prefix = scope + "/" if scope else ""
    for name in sorted(meta_graph_def.collection_def):
        collection = meta_graph_def.collection_def[name]
        kind = collection.WhichOneof("kind")
        if kind == "node_list":
            for element in collection.node_list.value:
                graph.add_to_collection(name, graph.as_graph_element(prefix + element))
        elif kind in _VALUE_LISTS:
            for value in getattr(collection, kind).value:
                graph.add_to_collection(name, value)
