"""Graphs with what belongs to them, as `MetaGraphDef` messages: collections, the saver, the ops they use."""

from __future__ import annotations

import os
from typing import Any

from flowmill import _core, logging
from flowmill._core import VERSION
from flowmill._internal import protos
from flowmill._internal.control_flow_contexts import CondContext, WhileContext
from flowmill._internal.graph import get_default_graph
from flowmill._internal.graph_keys import GraphKeys, prepend_name_scope, strip_name_scope
from flowmill._internal.importer import import_graph_def
from flowmill._internal.tensor import Operation, Tensor
from flowmill._internal.variables import Variable
from flowmill.errors import DataLossError
from flowmill.train.queue_runner import QueueRunner
from flowmill.version import GIT_VERSION


def _kind_of(collection: str) -> tuple | None:
    """Returns the message and the maker of a collection's items; None for a collection of values."""
    if collection in GraphKeys._VARIABLE_COLLECTIONS:
        return protos.get("VariableDef"), Variable.from_proto
    if collection == GraphKeys.QUEUE_RUNNERS:
        return protos.get("QueueRunnerDef"), QueueRunner.from_proto
    if collection == GraphKeys.SAVERS:
        from flowmill.train.saver import Saver  # cycle: train.saver imports this module

        return protos.get("SaverDef"), Saver.from_proto
    if collection in (GraphKeys.COND_CONTEXT, GraphKeys.WHILE_CONTEXT):
        kind = CondContext if collection == GraphKeys.COND_CONTEXT else WhileContext
        return protos.get(kind.__name__ + "Def"), kind.from_proto
    return None


# Export

def export_scoped_meta_graph(filename=None, graph_def=None, graph=None, export_scope: str | None = None, as_text: bool = False, meta_info_def=None,
                             saver_def=None, collection_list=None, clear_devices: bool = False, clear_extraneous_savers: bool = False,
                             strip_default_attrs: bool = False):
    """Returns a graph as a `MetaGraphDef`, and its variables by their names without `export_scope`; arguments as of :func:`train.export_meta_graph`."""
    graph = graph or get_default_graph()
    scope = None if not export_scope else export_scope.rstrip("/")
    own = graph.as_graph_def(add_shapes=True) if graph_def is None else protos.get("GraphDef").FromString(graph_def.SerializeToString())
    kept = protos.get("GraphDef")(versions=own.versions)
    kept.library.CopyFrom(own.library)
    excluded = _other_savers(graph, saver_def) if clear_extraneous_savers else set()
    for node in own.node:
        if scope is not None and not node.name.startswith(scope + "/") or any(node.name.startswith(e) for e in excluded):
            continue
        copy = kept.node.add()
        copy.CopyFrom(node)
        if clear_devices:
            copy.device = ""
        if scope is not None:
            _strip(copy, scope)
    message = protos.get("MetaGraphDef")()
    if meta_info_def is not None:
        message.meta_info_def.ParseFromString(meta_info_def.SerializeToString())
    _describe(message, kept, strip_default_attrs)
    message.graph_def.CopyFrom(kept)
    if saver_def is not None:
        message.saver_def.ParseFromString(saver_def.SerializeToString())
    for name in graph.get_all_collection_keys() if collection_list is None else collection_list:
        if clear_extraneous_savers and name == GraphKeys.SAVERS:
            continue
        _add_collection(message, graph, name, scope)
    if filename is not None:
        _write(message, filename, as_text)
    variables = {}
    for variable in graph.get_collection(GraphKeys.GLOBAL_VARIABLES, scope=scope):
        variables[strip_name_scope(variable.name, scope)] = variable
    return message, variables


def _strip(node, scope: str) -> None:
    """Takes the names of a node out of a scope.

    Raises:
        ValueError: if an input is of another one.
    """
    node.name = strip_name_scope(node.name, scope)
    for i, name in enumerate(node.input):
        if not name.lstrip("^").startswith(scope + "/"):
            raise ValueError(f"Exporting the scope {scope!r}: the input {name!r} of {node.name!r} is outside of it.")
        node.input[i] = strip_name_scope(name, scope)
    if "_class" in node.attr:
        groups = [strip_name_scope(g.decode(), scope).encode() for g in node.attr["_class"].list.s if g.decode().startswith(f"loc:@{scope}/")]
        del node.attr["_class"]
        if groups:
            node.attr["_class"].list.s.extend(groups)


def _other_savers(graph, saver_def) -> set[str]:
    names = {saver.saver_def.filename_tensor_name for saver in graph.get_collection(GraphKeys.SAVERS)}
    own = None if saver_def is None else saver_def.filename_tensor_name
    return {os.path.dirname(name) + "/" for name in names if name != own}


def _describe(message, graph_def, strip_default_attrs: bool) -> None:
    info = message.meta_info_def
    if not info.HasField("stripped_op_list"):
        bodies = (n for f in graph_def.library.function for n in f.node_def)
        ops = sorted({n.op for n in graph_def.node} | {n.op for n in bodies})
        for op in ops:
            definition = _core.op_def(op)
            if definition is not None:
                info.stripped_op_list.op.add().ParseFromString(definition)
    if not info.tensorflow_version:
        info.tensorflow_version = VERSION
    if not info.tensorflow_git_version:
        info.tensorflow_git_version = GIT_VERSION
    if strip_default_attrs:
        _strip_defaults(graph_def, {op.name: op for op in info.stripped_op_list.op})
        info.stripped_default_attrs = True


def _strip_defaults(graph_def, definitions: dict) -> None:
    for node in [*graph_def.node, *(n for f in graph_def.library.function for n in f.node_def)]:
        for attr in definitions[node.op].attr if node.op in definitions else ():
            if attr.HasField("default_value") and attr.name in node.attr:
                if node.attr[attr.name].SerializeToString(deterministic=True) == attr.default_value.SerializeToString(deterministic=True):
                    del node.attr[attr.name]


def _add_collection(message, graph, name, scope: str | None) -> None:
    if not isinstance(name, str):
        return
    items = graph.get_collection(name)
    found = protos.get("CollectionDef")()
    try:
        for item in items:
            _add_item(found, item, scope)
    except (TypeError, ValueError, AttributeError) as error:
        logging.warning("Error encountered when serializing %s. Type is unsupported, or the types of the items don't match field type in CollectionDef. "
                        "Note this is a warning and probably safe to ignore.\n%s", name, error)
        return
    if found.WhichOneof("kind") is not None or any(not hasattr(item, "name") for item in items):
        message.collection_def[name].CopyFrom(found)


def _add_item(found, item, scope: str | None) -> None:
    if hasattr(item, "to_proto"):
        proto = item.to_proto(export_scope=scope)
        if proto is not None:
            found.bytes_list.value.append(proto.SerializeToString())
    elif isinstance(item, (Tensor, Operation)):
        if scope is None or item.name.startswith(scope + "/"):
            found.node_list.value.append(strip_name_scope(item.name, scope))
    elif isinstance(item, (str, bytes)):
        found.bytes_list.value.append(item.encode() if isinstance(item, str) else item)
    elif isinstance(item, bool):
        raise TypeError(f"{item!r} is not an item of a CollectionDef")
    elif isinstance(item, int):
        found.int64_list.value.append(item)
    elif isinstance(item, float):
        found.float_list.value.append(item)
    elif hasattr(item, "SerializeToString"):
        any_value = found.any_list.value.add()
        any_value.type_url, any_value.value = f"type.googleapis.com/{item.DESCRIPTOR.full_name}", item.SerializeToString()
    else:
        found.node_list.value.append(strip_name_scope(item.name, scope))


def _write(message, filename, as_text: bool) -> None:
    path = os.fspath(filename)
    directory = os.path.dirname(path)
    if directory:
        os.makedirs(directory, exist_ok=True)
    if as_text:
        from google.protobuf import text_format  # start-up: protobuf is loaded when it is used

        with open(path, "w", encoding="utf-8") as out:
            out.write(text_format.MessageToString(message))
        return
    with open(path, "wb") as out:
        out.write(message.SerializeToString(deterministic=True))


# Import

def read_meta_graph_file(filename) -> Any:
    """Returns the `MetaGraphDef` in a file, binary or text.

    Raises:
        OSError: if there is none, or it holds something else.
    """
    path = os.fspath(filename)
    if not os.path.isfile(path):
        raise OSError(f"File {path} does not exist.")
    try:
        data = _core.meta_graph_of_file(path)
    except DataLossError as error:
        raise OSError(f"Cannot parse file {path}: {error.message}.") from None
    return protos.get("MetaGraphDef").FromString(data)


def import_scoped_meta_graph_with_return_elements(meta_graph_or_file, clear_devices: bool = False, graph=None, import_scope: str | None = None,
                                                  input_map=None, return_elements=None, restore_collections_predicate=lambda key: True):
    """Adds a `MetaGraphDef` to a graph.

    Args:
        meta_graph_or_file: the message, or the file's name.
        clear_devices: leaves out devices.
        graph: the graph, the default one if it is None.
        import_scope: the prefix of all names.
        input_map: as of `import_graph_def`.
        return_elements: as of `import_graph_def`.
        restore_collections_predicate: which collections to fill, by their names.

    Returns:
        The variables by their names without the scope, and what `return_elements` names.
    """
    message = meta_graph_or_file if hasattr(meta_graph_or_file, "graph_def") else read_meta_graph_file(meta_graph_or_file)
    if type(message) is not protos.get("MetaGraphDef"):
        message = protos.get("MetaGraphDef").FromString(message.SerializeToString())
    graph = graph or get_default_graph()
    graph_def = message.graph_def
    if clear_devices:
        graph_def = type(graph_def).FromString(graph_def.SerializeToString())
        for node in graph_def.node:
            node.device = ""
    producer_ops = message.meta_info_def.stripped_op_list if message.meta_info_def.HasField("stripped_op_list") else None
    with graph.as_default():
        scope = graph.unique_name(import_scope, mark_as_used=False) if import_scope else ""
        present = graph.get_name_scope()
        returned = import_graph_def(
            graph_def, name=import_scope or (present and present + "/"), input_map=input_map, return_elements=return_elements, producer_op_list=producer_ops)
        scope = scope or present
        for name in sorted(message.collection_def):
            if restore_collections_predicate(name):
                _fill_collection(graph, name, message.collection_def[name], scope)
    variables = {}
    for variable in graph.get_collection(GraphKeys.GLOBAL_VARIABLES, scope=scope or None):
        variables[strip_name_scope(variable.name, scope)] = variable
    return variables, returned


def import_scoped_meta_graph(meta_graph_or_file, **kwargs) -> dict:
    """Like :func:`import_scoped_meta_graph_with_return_elements`, but returns the variables alone."""
    return import_scoped_meta_graph_with_return_elements(meta_graph_or_file, **kwargs)[0]


def _fill_collection(graph, name: str, collection, scope: str) -> None:
    kind = collection.WhichOneof("kind")
    if kind is None:
        return
    values = getattr(collection, kind).value
    made = _kind_of(name)
    if made is not None and kind == "bytes_list":
        proto_type, from_proto = made
        for value in values:
            graph.add_to_collection(name, from_proto(proto_type.FromString(value), import_scope=scope))
    elif kind == "node_list":
        for value in values:
            graph.add_to_collection(name, graph.as_graph_element(prepend_name_scope(value, scope)))
    else:
        for value in values:
            graph.add_to_collection(name, value)
