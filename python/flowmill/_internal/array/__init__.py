"""Making, arranging and picking tensors: the functions of the API's top level for tensors as arrays."""

from __future__ import annotations

from flowmill._internal.array._blocks import (
    batch_to_space, batch_to_space_nd, depth_to_space, dequantize, extract_image_patches, extract_volume_patches, fake_quant_with_min_max_args,
    fake_quant_with_min_max_args_gradient, fake_quant_with_min_max_vars, fake_quant_with_min_max_vars_gradient,
    fake_quant_with_min_max_vars_per_channel, fake_quant_with_min_max_vars_per_channel_gradient, quantize, quantize_and_dequantize,
    quantize_and_dequantize_v2, quantize_v2, quantized_concat, required_space_to_batch_paddings, space_to_batch, space_to_batch_nd, space_to_depth,
)
from flowmill._internal.array._creation import (
    broadcast_dynamic_shape, broadcast_static_shape, broadcast_to, check_pinned, ensure_shape, fill, guarantee_const, identity, identity_n, ones,
    ones_like, placeholder, placeholder_with_default, rank, reshape, shape, shape_n, size, zeros, zeros_like,
)
from flowmill._internal.array._layout import (
    concat, expand_dims, matrix_transpose, meshgrid, pad, parallel_stack, repeat, reverse, reverse_sequence, roll, slice, split, squeeze, stack,
    strided_slice, tile, transpose, unstack,
)
from flowmill._internal.array._masks import (
    argsort, batch_gather, boolean_mask, dynamic_partition, dynamic_stitch, gather, gather_nd, invert_permutation, one_hot, parallel_dynamic_stitch,
    scatter_nd, searchsorted, sequence_mask, setdiff1d, sort, tensor_scatter_add, tensor_scatter_nd_add, tensor_scatter_nd_max,
    tensor_scatter_nd_min, tensor_scatter_nd_sub, tensor_scatter_nd_update, tensor_scatter_sub, tensor_scatter_update, unique, unique_with_counts,
    unravel_index, where, where_v2,
)

# The mark of a new dimension in an index in brackets.
newaxis = None
reverse_v2 = reverse

__all__ = [
    "argsort", "batch_gather", "batch_to_space", "batch_to_space_nd", "boolean_mask", "broadcast_dynamic_shape", "broadcast_static_shape",
    "broadcast_to", "check_pinned", "concat", "depth_to_space", "dequantize", "dynamic_partition", "dynamic_stitch", "ensure_shape", "expand_dims",
    "extract_image_patches", "extract_volume_patches", "fake_quant_with_min_max_args", "fake_quant_with_min_max_args_gradient",
    "fake_quant_with_min_max_vars_gradient", "fake_quant_with_min_max_vars_per_channel_gradient", "fake_quant_with_min_max_vars", "fake_quant_with_min_max_vars_per_channel", "fill",
    "gather", "gather_nd", "guarantee_const", "identity", "identity_n", "invert_permutation", "matrix_transpose", "meshgrid", "newaxis",
    "one_hot", "ones", "ones_like", "pad", "parallel_dynamic_stitch", "parallel_stack", "placeholder", "placeholder_with_default", "quantize",
    "quantize_and_dequantize", "quantize_and_dequantize_v2", "quantize_v2", "quantized_concat", "rank", "repeat",
    "required_space_to_batch_paddings", "reshape", "reverse", "reverse_sequence",
    "reverse_v2", "roll", "scatter_nd", "searchsorted", "sequence_mask", "setdiff1d", "shape", "shape_n", "size", "slice", "sort",
    "space_to_batch", "space_to_batch_nd", "space_to_depth", "split", "squeeze", "stack", "strided_slice", "tensor_scatter_add",
    "tensor_scatter_nd_add", "tensor_scatter_nd_max", "tensor_scatter_nd_min", "tensor_scatter_nd_sub", "tensor_scatter_nd_update",
    "tensor_scatter_sub", "tensor_scatter_update", "tile", "transpose", "unique", "unique_with_counts", "unravel_index", "unstack", "where",
    "where_v2", "zeros", "zeros_like",
]
