"""The forms in which a component of an element goes through a dataset: as a tensor, or boxed in a variant that can be batched."""

from __future__ import annotations

from typing import Any

from flowmill import nest
from flowmill._internal import array
from flowmill._internal.apply import call
from flowmill._internal.convert import constant, convert_to_tensor
from flowmill._internal.graph import get_default_graph
from flowmill._internal.sparse_tensor import SparseTensor
from flowmill._internal.tensor import Tensor
from flowmill._internal.tensor_array import TensorArray
from flowmill._internal.tensor_shape import TensorShape
from flowmill._internal.tensor_spec import TensorSpec
from flowmill._internal.tensor_util import constant_value_as_shape
from flowmill._internal.composite_specs import NoneTensorSpec, RaggedTensorSpec, SparseTensorSpec, TensorArraySpec
from flowmill._internal.type_spec import TypeSpec
from flowmill.dtypes import as_dtype
from flowmill.ragged import RaggedTensor

_VARIANT = as_dtype("variant")


def _after(batch_size: int | None, shape: TensorShape) -> TensorShape:
    return TensorShape([batch_size]).concatenate(shape)


class _TensorEncoding:
    """The encoding of a tensor: the tensor itself."""

    @staticmethod
    def specs(spec: TensorSpec) -> list[TensorSpec]:
        """Returns the specs of the tensors that represent a component."""
        return [spec]

    @staticmethod
    def encode(spec: TensorSpec, value) -> list[Tensor]:
        """Returns the tensors that represent a value.

        Raises:
            ValueError: if the value is not what the spec says.
        """
        try:
            tensor = convert_to_tensor(value, spec.dtype)
        except (TypeError, ValueError):
            tensor = None
        if tensor is None or not tensor.shape.is_compatible_with(spec.shape):
            raise ValueError(f"Value {value} is not convertible to a tensor with dtype {spec.dtype} and shape {spec.shape}.")
        return [tensor]

    encode_batch = encode

    @staticmethod
    def decode(spec: TensorSpec, tensors: list[Tensor]) -> Any:
        """Returns the value that tensors represent."""
        if spec.shape.rank is not None:
            tensors[0].set_shape(spec.shape)
        return tensors[0]

    @staticmethod
    def batch(spec: TensorSpec, size: int | None) -> TypeSpec:
        """Returns the spec of a batch of values."""
        return TensorSpec(_after(size, spec.shape), spec.dtype)

    @staticmethod
    def unbatch(spec: TensorSpec) -> TypeSpec:
        """Returns the spec of a value of a batch.

        Raises:
            ValueError: for a scalar.
        """
        if spec.shape.rank == 0:
            raise ValueError("Unbatching a tensor is only supported for rank >= 1")
        return TensorSpec(spec.shape[1:], spec.dtype)

    @staticmethod
    def legacy(spec: TensorSpec) -> tuple[Any, Any, Any]:
        """Returns the type, the shape and the class that version 1 of the API tells of a component."""
        return spec.dtype, spec.shape, Tensor


class _BoxedEncoding:
    """An encoding by one variant of unknown shape, which may represent a batch."""

    @staticmethod
    def specs(spec) -> list[TensorSpec]:
        return [TensorSpec(None, _VARIANT)]


class _SparseEncoding(_BoxedEncoding):
    """The encoding of a sparse tensor: a variant vector of its three parts."""

    @staticmethod
    def encode(spec: SparseTensorSpec, value) -> list[Tensor]:
        value = value if isinstance(value, SparseTensor) else SparseTensor.from_value(value)
        return [call("SerializeSparse", None, value.indices, value.values, value.dense_shape, out_type=_VARIANT)]

    @staticmethod
    def encode_batch(spec: SparseTensorSpec, value: SparseTensor) -> list[Tensor]:
        if spec.shape.merge_with(constant_value_as_shape(value.dense_shape)).rank == 0:
            raise ValueError(f"Unbatching a sparse tensor is only supported for rank >= 1. Obtained input: {value}.")
        return [call("SerializeManySparse", None, value.indices, value.values, value.dense_shape, out_type=_VARIANT)]

    @staticmethod
    def decode(spec: SparseTensorSpec, tensors: list[Tensor]) -> SparseTensor:
        indices, values, dense_shape = call("DeserializeSparse", None, tensors[0], dtype=spec.dtype)
        shape = spec.shape
        indices.set_shape([None, shape.rank])
        sizes = None if shape.rank is None else shape.as_list()
        if sizes is not None and None not in sizes:
            dense_shape = constant(sizes, as_dtype("int64"), name="shape")
        elif sizes is not None and any(size is not None for size in sizes):
            pieces = array.unstack(dense_shape, num=len(sizes))
            dense_shape = array.stack([piece if size is None else constant(size, as_dtype("int64")) for piece, size in zip(pieces, sizes)])
        else:
            dense_shape.set_shape([shape.rank])
        return SparseTensor(indices, values, dense_shape)

    @staticmethod
    def batch(spec: SparseTensorSpec, size: int | None) -> SparseTensorSpec:
        return SparseTensorSpec(_after(size, spec.shape), spec.dtype)

    @staticmethod
    def unbatch(spec: SparseTensorSpec) -> SparseTensorSpec:
        if spec.shape.rank == 0:
            raise ValueError("Unbatching a tensor is only supported for rank >= 1")
        return SparseTensorSpec(spec.shape[1:], spec.dtype)

    @staticmethod
    def legacy(spec: SparseTensorSpec) -> tuple[Any, Any, Any]:
        return spec.dtype, spec.shape, SparseTensor


class _RaggedEncoding(_BoxedEncoding):
    """The encoding of a ragged tensor: one variant, or a vector of them, one per row."""

    @staticmethod
    def encode(spec: RaggedTensorSpec, value) -> list[Tensor]:
        return [_ragged_variant(spec, value, False)]

    @staticmethod
    def encode_batch(spec: RaggedTensorSpec, value) -> list[Tensor]:
        return [_ragged_variant(spec, value, True)]

    @staticmethod
    def decode(spec: RaggedTensorSpec, tensors: list[Tensor]) -> Any:
        rank = spec.ragged_rank
        value = RaggedTensor._from_variant(tensors[0], spec.dtype, rank, row_splits_dtype=spec.row_splits_dtype)
        if rank <= 0:
            if spec.shape.rank is not None:
                value.set_shape(spec.shape)
            return value
        inner = spec.shape
        if inner.rank is not None:
            value.flat_values.set_shape(TensorShape([None]).concatenate(inner[rank + 1:]))
            rows = inner.as_list()[0]
            value.row_splits.set_shape([None if rows is None else rows + 1])
        return value

    @staticmethod
    def batch(spec: RaggedTensorSpec, size: int | None) -> RaggedTensorSpec:
        return RaggedTensorSpec(_after(size, spec.shape), spec.dtype, spec.ragged_rank + 1, spec.row_splits_dtype)

    @staticmethod
    def unbatch(spec: RaggedTensorSpec) -> RaggedTensorSpec:
        return RaggedTensorSpec(spec.shape[1:], spec.dtype, spec.ragged_rank - 1, spec.row_splits_dtype)

    @staticmethod
    def legacy(spec: RaggedTensorSpec) -> tuple[Any, Any, Any]:
        return spec.dtype, spec.shape, spec


def _ragged_variant(spec: RaggedTensorSpec, value, batched: bool) -> Tensor:
    if not isinstance(value, RaggedTensor):
        if spec.ragged_rank > 0:
            raise ValueError(f"Expected a RaggedTensor if ragged rank={spec.ragged_rank} but got {type(value).__name__}.")
        return call("RaggedTensorToVariant", None, [], value, Tsplits=spec.row_splits_dtype, batched_input=batched)
    if value.ragged_rank != spec.ragged_rank:
        raise ValueError(f"Ragged rank of value {value.ragged_rank} does not match ragged rank of type {spec.ragged_rank}.")
    return value._to_variant(batched)


class _NoneEncoding:
    """The encoding of None: no tensor."""

    @staticmethod
    def specs(spec) -> list[TensorSpec]:
        return []

    @staticmethod
    def encode(spec, value) -> list[Tensor]:
        return []

    encode_batch = encode

    @staticmethod
    def decode(spec, tensors) -> None:
        return None

    @staticmethod
    def batch(spec, size: int | None) -> NoneTensorSpec:
        return spec

    @staticmethod
    def unbatch(spec) -> NoneTensorSpec:
        return spec

    @staticmethod
    def legacy(spec) -> tuple[Any, Any, Any]:
        return spec, spec, spec


class _TensorArrayEncoding:
    """The encoding of a TensorArray: the variant of a list of tensors."""

    @staticmethod
    def specs(spec) -> list[TensorSpec]:
        return [TensorSpec([], _VARIANT)]

    @staticmethod
    def encode(spec: TensorArraySpec, value) -> list[Tensor]:
        if value.flow.dtype.name == "variant":
            return [value.flow]
        with get_default_graph().name_scope("convert_tensor_array"):
            shape = value.element_shape
            sizes = constant(-1 if shape.rank is None else [-1 if n is None else n for n in shape.as_list()], as_dtype("int32"))
            return [call("TensorListFromTensor", None, value.stack(), sizes)]

    encode_batch = encode

    @staticmethod
    def decode(spec: TensorArraySpec, tensors: list[Tensor]) -> Any:
        shape, dtype, dynamic_size, infer_shape = spec._serialize()
        array = TensorArray(dtype, flow=tensors[0], dynamic_size=dynamic_size, infer_shape=infer_shape)
        array._element_shapes = [shape]
        return array

    @staticmethod
    def batch(spec, size: int | None) -> TensorArraySpec:
        raise NotImplementedError("Batches of TensorArrays are not supported.")

    unbatch = batch

    @staticmethod
    def legacy(spec: TensorArraySpec) -> tuple[Any, Any, Any]:
        shape, dtype, dynamic_size, infer_shape = spec._serialize()
        # The legacy shape has the two flags in front, as in TensorFlow.
        return dtype, TensorShape([int(dynamic_size), int(infer_shape)]).concatenate(shape), TensorArray


class _ComponentsEncoding:
    """The encoding of a program's own kind of value: the encodings of its components, one after another."""

    @staticmethod
    def specs(spec) -> list[TensorSpec]:
        return [flat for part in _flat_specs(spec) for flat in encoding_of(part).specs(part)]

    @staticmethod
    def encode(spec, value) -> list[Tensor]:
        parts = nest.flatten(spec._to_components(value))
        return [tensor for part, of in zip(parts, _flat_specs(spec)) for tensor in encoding_of(of).encode(of, part)]

    @staticmethod
    def encode_batch(spec, value) -> list[Tensor]:
        parts = nest.flatten(spec._to_components(value))
        return [tensor for part, of in zip(parts, _flat_specs(spec)) for tensor in encoding_of(of).encode_batch(of, part)]

    @staticmethod
    def decode(spec, tensors: list[Tensor]) -> Any:
        left, parts = iter(tensors), []
        for of in _flat_specs(spec):
            encoding = encoding_of(of)
            parts.append(encoding.decode(of, [next(left) for _ in encoding.specs(of)]))
        return spec._from_components(nest.pack_sequence_as(spec._component_specs, parts))

    @staticmethod
    def batch(spec, size: int | None) -> TypeSpec:
        raise NotImplementedError(f"{type(spec).__name__} has no batches.")

    @staticmethod
    def unbatch(spec) -> TypeSpec:
        raise NotImplementedError(f"{type(spec).__name__} has no batches.")

    @staticmethod
    def legacy(spec) -> tuple[Any, Any, Any]:
        return spec, spec, spec


def _flat_specs(spec) -> list[TypeSpec]:
    return nest.flatten(spec._component_specs)


# By the class of the spec. Classes of specs of this package add their own.
_encodings: dict[type, Any] = {
    TensorSpec: _TensorEncoding, SparseTensorSpec: _SparseEncoding, RaggedTensorSpec: _RaggedEncoding, NoneTensorSpec: _NoneEncoding,
    TensorArraySpec: _TensorArrayEncoding, TypeSpec: _ComponentsEncoding}


def register(spec: type, encoding) -> None:
    """Says how components of a kind of spec are encoded."""
    _encodings[spec] = encoding


def encoding_of(spec: TypeSpec) -> Any:
    """Returns the encoding of the components that a spec describes.

    Raises:
        TypeError: for a kind of spec that no dataset holds.
    """
    for kind in type(spec).__mro__:
        if kind in _encodings:
            return _encodings[kind]
    raise TypeError(f"Datasets do not support components of {spec!r}.")
