"""Tensors as signatures describe them."""

from __future__ import annotations

from flowmill._internal import protos as _protos
from flowmill._internal.graph import get_default_graph
from flowmill._internal.graph_keys import prepend_name_scope
from flowmill.sparse import SparseTensor


def build_tensor_info(tensor) -> _protos.TensorInfo:
    """Returns a `TensorInfo`: name, type and shape of a tensor, or those of a sparse one's parts."""
    info = _protos.get("TensorInfo")(dtype=tensor.dtype.base_dtype.as_datatype_enum, tensor_shape=tensor.get_shape().as_proto())
    if hasattr(tensor, "indices") and hasattr(tensor, "dense_shape") and hasattr(tensor, "values"):
        info.coo_sparse.values_tensor_name = tensor.values.name
        info.coo_sparse.indices_tensor_name = tensor.indices.name
        info.coo_sparse.dense_shape_tensor_name = tensor.dense_shape.name
    else:
        info.name = tensor.name if ":" in tensor.name else tensor._as_tensor().name
    return info


def get_tensor_from_tensor_info(tensor_info, graph=None, import_scope: str | None = None):
    """Returns the tensor of a graph, the default one if it is None, that a `TensorInfo` describes.

    Raises:
        KeyError: if there is none.
        ValueError: if the message describes something else.
    """
    graph = graph or get_default_graph()

    def named(name: str):
        return graph.get_tensor_by_name(prepend_name_scope(name, import_scope))

    kind = tensor_info.WhichOneof("encoding")
    if kind == "name":
        return named(tensor_info.name)
    if kind == "coo_sparse":
        parts = tensor_info.coo_sparse
        return SparseTensor(named(parts.indices_tensor_name), named(parts.values_tensor_name), named(parts.dense_shape_tensor_name))
    raise ValueError(f"Invalid TensorInfo.encoding: {kind}")
