//! Sparse and ragged tensors.

use crate::gradient;
use crate::op::{Op, op};
use crate::shape;

/// Two sparse tensors become one.
const TWO_SPARSE: &str = "(a_indices: int64, a_values: T, a_shape: int64, b_indices: int64, b_values: T, b_shape: int64)
    -> (output_indices: int64, output_values: T)";

/// A sparse tensor with fewer dimensions.
const REDUCED_TO_SPARSE: &str = "(input_indices: int64, input_values: T, input_shape: int64, reduction_axes: int32)
    -> (output_indices: int64, output_values: T, output_shape: int64)";

const COUNTS: &str = "T: {int32, int64}; minlength: int >= -1 = -1; maxlength: int >= -1 = -1; binary_output: bool;
    output_type: {int32, int64, float, double}";

pub(crate) const OPS: &[Op] = &[
    op("SparseToDense", "(sparse_indices: Tindices, output_shape: Tindices, sparse_values: T, default_value: T) -> (dense: T)")
        .gradient(gradient::sparse_to_dense)
        .attrs("validate_indices: bool = true; T: type; Tindices: index")
        .shape(shape::sparse_to_dense),
    op("SparseReorder", "(input_indices: int64, input_values: T, input_shape: int64) -> (output_indices: int64, output_values: T)")
        .gradient(gradient::sparse_reorder)
        .attrs("T: type")
        .shape(shape::sparse_reorder),
    op("SparseReshape", "(input_indices: int64, input_shape: int64, new_shape: int64) -> (output_indices: int64, output_shape: int64)")
        .shape(shape::sparse_reshape),
    op(
        "SparseConcat",
        "(indices: N * int64, values: N * T, shapes: N * int64) -> (output_indices: int64, output_values: T, output_shape: int64)",
    )
    .not_differentiable()
    .attrs("concat_dim: int; N: int >= 2; T: type")
    .shape(shape::sparse_concat),
    op(
        "SparseSlice",
        "(indices: int64, values: T, shape: int64, start: int64, size: int64)
         -> (output_indices: int64, output_values: T, output_shape: int64)",
    )
    .gradient(gradient::sparse_slice)
    .attrs("T: type")
    .shape(shape::sparse_slice),
    op(
        "SparseSplit",
        "(split_dim: int64, indices: int64, values: T, shape: int64)
         -> (output_indices: num_split * int64, output_values: num_split * T, output_shape: num_split * int64)",
    )
    .attrs("num_split: int >= 1; T: type")
    .shape(shape::sparse_split),
    op("SparseTensorDenseMatMul", "(a_indices: Tindices, a_values: T, a_shape: int64, b: T) -> (product: T)").costly()
        .gradient(gradient::sparse_tensor_dense_mat_mul)
        .attrs("T: type; Tindices: index = int64; adjoint_a: bool = false; adjoint_b: bool = false")
        .shape(shape::sparse_tensor_dense_matmul),
    op("SparseTensorDenseAdd", "(a_indices: Tindices, a_values: T, a_shape: Tindices, b: T) -> (output: T)")
        .gradient(gradient::sparse_tensor_dense_add)
        .attrs("T: number; Tindices: index")
        .shape(shape::sparse_tensor_dense_add),
    op(
        "SparseFillEmptyRows",
        "(indices: int64, values: T, dense_shape: int64, default_value: T)
         -> (output_indices: int64, output_values: T, empty_row_indicator: bool, reverse_index_map: int64)",
    )
    .gradient(gradient::sparse_fill_empty_rows)
    .attrs("T: type")
    .shape(shape::sparse_fill_empty_rows),
    op("SparseFillEmptyRowsGrad", "(reverse_index_map: int64, grad_values: T) -> (d_values: T, d_default_value: T)")
        .attrs("T: type")
        .shape(shape::sparse_fill_empty_rows_grad),
    op(
        "RaggedFillEmptyRows",
        "(value_rowids: int64, values: T, nrows: int64, default_value: T)
         -> (output_value_rowids: int64, output_values: T, empty_row_indicator: bool, reverse_index_map: int64)",
    )
    .gradient(gradient::ragged_fill_empty_rows)
    .attrs("T: type")
    .shape(shape::ragged_fill_empty_rows),
    op("RaggedFillEmptyRowsGrad", "(reverse_index_map: int64, grad_values: T) -> (d_values: T, d_default_value: T)")
        .attrs("T: type")
        .shape(shape::sparse_fill_empty_rows_grad),
    op("SparseSegmentSum", "(data: T, indices: Tidx, segment_ids: Tsegmentids) -> (output: T)")
        .gradient(gradient::sparse_segment_sum)
        .attrs("T: real; Tidx: index = int32; Tsegmentids: index = int32; sparse_gradient: bool = false")
        .shape(shape::sparse_segment),
    op("SparseSegmentMean", "(data: T, indices: Tidx, segment_ids: Tsegmentids) -> (output: T)")
        .gradient(gradient::sparse_segment_mean)
        .attrs("T: {bfloat16, half, float, double}; Tidx: index = int32; Tsegmentids: index = int32; sparse_gradient: bool = false")
        .shape(shape::sparse_segment),
    op("SparseSegmentSqrtN", "(data: T, indices: Tidx, segment_ids: Tsegmentids) -> (output: T)")
        .gradient(gradient::sparse_segment_sqrt_n)
        .attrs("T: {bfloat16, half, float, double}; Tidx: index = int32; Tsegmentids: index = int32; sparse_gradient: bool = false")
        .shape(shape::sparse_segment),
    op("SparseSegmentSumWithNumSegments", "(data: T, indices: Tidx, segment_ids: Tsegmentids, num_segments: Tnumsegments) -> (output: T)")
        .gradient(gradient::sparse_segment_sum)
        .attrs("T: real; Tidx: index = int32; Tnumsegments: index = int32; Tsegmentids: index = int32; sparse_gradient: bool = false")
        .shape(shape::sparse_segment),
    op("SparseSegmentMeanWithNumSegments", "(data: T, indices: Tidx, segment_ids: Tsegmentids, num_segments: Tnumsegments) -> (output: T)")
        .gradient(gradient::sparse_segment_mean)
        .attrs(
            "T: {bfloat16, half, float, double}; Tidx: index = int32; Tnumsegments: index = int32; Tsegmentids: index = int32;
                sparse_gradient: bool = false",
        )
        .shape(shape::sparse_segment),
    op(
        "SparseSegmentSqrtNWithNumSegments",
        "(data: T, indices: Tidx, segment_ids: Tsegmentids, num_segments: Tnumsegments) -> (output: T)",
    )
    .gradient(gradient::sparse_segment_sqrt_n)
    .attrs(
        "T: {bfloat16, half, float, double}; Tidx: index = int32; Tnumsegments: index = int32; Tsegmentids: index = int32;
                sparse_gradient: bool = false",
    )
    .shape(shape::sparse_segment),
    op("SparseSegmentSumGrad", "(grad: T, indices: Tidx, segment_ids: Tsegmentids, output_dim0: int32) -> (output: T)")
        .attrs("T: {bfloat16, half, float, double}; Tidx: index = int32; Tsegmentids: index = int32")
        .shape(shape::sparse_segment),
    op("SparseSegmentMeanGrad", "(grad: T, indices: Tidx, segment_ids: Tsegmentids, output_dim0: int32) -> (output: T)")
        .attrs("T: {bfloat16, half, float, double}; Tidx: index = int32; Tsegmentids: index = int32")
        .shape(shape::sparse_segment),
    op("SparseSegmentSqrtNGrad", "(grad: T, indices: Tidx, segment_ids: Tsegmentids, output_dim0: int32) -> (output: T)")
        .attrs("T: {bfloat16, half, float, double}; Tidx: index = int32; Tsegmentids: index = int32")
        .shape(shape::sparse_segment),
    op("SparseReduceSum", "(input_indices: int64, input_values: T, input_shape: int64, reduction_axes: int32) -> (output: T)")
        .gradient(gradient::sparse_reduce_sum)
        .attrs("keep_dims: bool = false; T: number")
        .shape(shape::sparse_reduce),
    op("SparseReduceMax", "(input_indices: int64, input_values: T, input_shape: int64, reduction_axes: int32) -> (output: T)")
        .attrs("keep_dims: bool = false; T: real")
        .shape(shape::sparse_reduce),
    op("SparseSoftmax", "(sp_indices: int64, sp_values: T, sp_shape: int64) -> (output: T)")
        .gradient(gradient::sparse_softmax)
        .attrs("T: {half, float, double}")
        .shape(shape::sparse_values),
    op("SparseDenseCwiseMul", "(sp_indices: int64, sp_values: T, sp_shape: int64, dense: T) -> (output: T)")
        .gradient(gradient::sparse_dense_cwise_mul)
        .attrs("T: number")
        .shape(shape::sparse_dense_cwise),
    op("SparseDenseCwiseAdd", "(sp_indices: int64, sp_values: T, sp_shape: int64, dense: T) -> (output: T)")
        .gradient(gradient::sparse_dense_cwise_add)
        .attrs("T: number")
        .shape(shape::sparse_dense_cwise),
    op(
        "SparseCross",
        "(indices: N * int64, values: sparse_types, shapes: N * int64, dense_inputs: dense_types)
         -> (output_indices: int64, output_values: out_type, output_shape: int64)",
    )
    .attrs(
        "N: int >= 0; hashed_output: bool; num_buckets: int >= 0; hash_key: int; sparse_types: list({int64, string}) >= 0;
                dense_types: list({int64, string}) >= 0; out_type: {int64, string}; internal_type: {int64, string}",
    )
    .shape(shape::sparse_cross),
    op(
        "SparseCrossV2",
        "(indices: N * int64, values: sparse_types, shapes: N * int64, dense_inputs: dense_types, sep: string)
         -> (output_indices: int64, output_values: string, output_shape: int64)",
    )
    .attrs("N: int >= 0; sparse_types: list({int64, string}) >= 0; dense_types: list({int64, string}) >= 0")
    .shape(shape::sparse_cross),
    op(
        "RaggedCross",
        "(ragged_values: ragged_values_types, ragged_row_splits: ragged_splits_types, sparse_indices: Nsparse * int64,
          sparse_values: sparse_values_types, sparse_shape: Nsparse * int64, dense_inputs: dense_types)
         -> (output_values: out_values_type, output_row_splits: out_row_splits_type)",
    )
    .attrs(
        "Nsparse: int >= 0; input_order: string; hashed_output: bool; num_buckets: int >= 0; hash_key: int;
                ragged_values_types: list({int64, string}) >= 0; ragged_splits_types: list(index) >= 0;
                sparse_values_types: list({int64, string}) >= 0; dense_types: list({int64, string}) >= 0;
                out_values_type: {int64, string}; out_row_splits_type: index",
    )
    .shape(shape::ragged_cross),
    op("RaggedRange", "(starts: T, limits: T, deltas: T) -> (rt_nested_splits: Tsplits, rt_dense_values: T)")
        .not_differentiable()
        .attrs("T: {bfloat16, float, double, int32, int64} = int32; Tsplits: index = int64")
        .shape(shape::ragged_range),
    op(
        "RaggedGather",
        "(params_nested_splits: PARAMS_RAGGED_RANK * Tsplits, params_dense_values: Tvalues, indices: Tindices)
         -> (output_nested_splits: OUTPUT_RAGGED_RANK * Tsplits, output_dense_values: Tvalues)",
    )
    .gradient(gradient::ragged_gather)
    .attrs("Tvalues: type; Tindices: index; Tsplits: index = int64; PARAMS_RAGGED_RANK: int >= 1; OUTPUT_RAGGED_RANK: int >= 0")
    .shape(shape::ragged_gather),
    op(
        "RaggedTensorToTensor",
        "(shape: Tshape, values: T, default_value: T, row_partition_tensors: num_row_partition_tensors * Tindex)
         -> (result: T)",
    )
    .gradient(gradient::ragged_tensor_to_tensor)
    .attrs(
        "T: type; Tindex: {int64, int32}; Tshape: {int64, int32}; num_row_partition_tensors: int >= 1;
                row_partition_types: list(string)",
    )
    .shape(shape::ragged_to_tensor),
    op(
        "RaggedTensorToSparse",
        "(rt_nested_splits: RAGGED_RANK * Tsplits, rt_dense_values: T)
         -> (sparse_indices: int64, sparse_values: T, sparse_dense_shape: int64)",
    )
    .gradient(gradient::ragged_tensor_to_sparse)
    .attrs("RAGGED_RANK: int >= 1; T: type; Tsplits: index = int64")
    .shape(shape::ragged_to_sparse),
    op("RaggedTensorToVariant", "(rt_nested_splits: RAGGED_RANK * Tsplits, rt_dense_values: Tvalues) -> (encoded_ragged: variant)")
        .gradient(gradient::ragged_tensor_to_variant)
        .attrs("RAGGED_RANK: int >= 0; Tvalues: type; Tsplits: index = int64; batched_input: bool")
        .shape(shape::ragged_to_variant),
    op(
        "RaggedTensorFromVariant",
        "(encoded_ragged: variant) -> (output_nested_splits: output_ragged_rank * Tsplits, output_dense_values: Tvalues)",
    )
    .gradient(gradient::ragged_tensor_from_variant)
    .attrs("input_ragged_rank: int >= -1; output_ragged_rank: int >= 0; Tvalues: type; Tsplits: index = int64")
    .shape(shape::ragged_from_variant),
    op("SparseDenseCwiseDiv", "(sp_indices: int64, sp_values: T, sp_shape: int64, dense: T) -> (output: T)")
        .gradient(gradient::sparse_dense_cwise_div)
        .attrs("T: number")
        .shape(shape::sparse_dense_cwise),
    op(
        "SparseAdd",
        "(a_indices: int64, a_values: T, a_shape: int64, b_indices: int64, b_values: T, b_shape: int64, thresh: Treal)
         -> (sum_indices: int64, sum_values: T, sum_shape: int64)",
    )
    .gradient(gradient::sparse_add)
    .attrs("T: number; Treal: real")
    .shape(shape::sparse_add),
    op("SparseAddGrad", "(backprop_val_grad: T, a_indices: int64, b_indices: int64, sum_indices: int64) -> (a_val_grad: T, b_val_grad: T)")
        .not_differentiable()
        .attrs("T: number")
        .shape(shape::sparse_add_grad),
    op("SparseSparseMaximum", TWO_SPARSE).gradient(gradient::sparse_sparse).attrs("T: real").shape(shape::sparse_sparse),
    op("SparseSparseMinimum", TWO_SPARSE).gradient(gradient::sparse_sparse).attrs("T: number").shape(shape::sparse_sparse),
    op("SparseReduceSumSparse", REDUCED_TO_SPARSE).attrs("keep_dims: bool = false; T: number").shape(shape::unknown),
    op("SparseReduceMaxSparse", REDUCED_TO_SPARSE).attrs("keep_dims: bool = false; T: real").shape(shape::unknown),
    op("SparseSliceGrad", "(backprop_val_grad: T, input_indices: int64, input_start: int64, output_indices: int64) -> (val_grad: T)")
        .attrs("T: number")
        .shape(shape::sparse_slice_grad),
    op(
        "SparseCrossHashed",
        "(indices: N * int64, values: sparse_types, shapes: N * int64, dense_inputs: dense_types, num_buckets: int64,
          strong_hash: bool, salt: int64)
         -> (output_indices: int64, output_values: int64, output_shape: int64)",
    )
    .attrs("N: int >= 0; sparse_types: list({int64, string}) >= 0; dense_types: list({int64, string}) >= 0")
    .shape(shape::sparse_cross),
    op(
        "RaggedTensorToVariantGradient",
        "(encoded_ragged_grad: variant, row_splits: Tsplits, dense_values_shape: int32) -> (dense_values_grad: Tvalues)",
    )
    .attrs("Tvalues: type; Tsplits: index = int64")
    .shape(shape::ragged_to_variant_gradient),
    op("SetSize", "(set_indices: int64, set_values: T, set_shape: int64) -> (size: int32)")
        .not_differentiable()
        .attrs("validate_indices: bool = true; T: {int8, int16, int32, int64, uint8, uint16, string}")
        .shape(shape::unknown),
    op("DenseToDenseSetOperation", "(set1: T, set2: T) -> (result_indices: int64, result_values: T, result_shape: int64)")
        .not_differentiable()
        .attrs("set_operation: string; validate_indices: bool = true; T: {int8, int16, int32, int64, uint8, uint16, string}")
        .shape(shape::dense_to_dense_set),
    op(
        "DenseToSparseSetOperation",
        "(set1: T, set2_indices: int64, set2_values: T, set2_shape: int64) -> (result_indices: int64, result_values: T, result_shape: int64)",
    )
        .not_differentiable()
        .attrs("set_operation: string; validate_indices: bool = true; T: {int8, int16, int32, int64, uint8, uint16, string}")
        .shape(shape::dense_to_sparse_set),
    op(
        "SparseToSparseSetOperation",
        "(set1_indices: int64, set1_values: T, set1_shape: int64, set2_indices: int64, set2_values: T, set2_shape: int64) ->
         (result_indices: int64, result_values: T, result_shape: int64)",
    )
        .not_differentiable()
        .attrs("set_operation: string; validate_indices: bool = true; T: {int8, int16, int32, int64, uint8, uint16, string}")
        .shape(shape::sparse_to_sparse_set),
    op("SerializeSparse", "(sparse_indices: int64, sparse_values: T, sparse_shape: int64) -> (serialized_sparse: out_type)")
        .attrs("T: type; out_type: {string, variant} = string")
        .shape(shape::serialize_sparse),
    op("SerializeManySparse", "(sparse_indices: int64, sparse_values: T, sparse_shape: int64) -> (serialized_sparse: out_type)")
        .attrs("T: type; out_type: {string, variant} = string")
        .shape(shape::serialize_many_sparse),
    op(
        "DeserializeSparse",
        "(serialized_sparse: Tserialized) -> (sparse_indices: int64, sparse_values: dtype, sparse_shape: int64)",
    )
        .attrs("dtype: type; Tserialized: {string, variant} = string")
        .shape(shape::deserialize_sparse),
    op(
        "DeserializeManySparse",
        "(serialized_sparse: string) -> (sparse_indices: int64, sparse_values: dtype, sparse_shape: int64)",
    )
        .attrs("dtype: type")
        .shape(shape::deserialize_many_sparse),
    op(
        "EditDistance",
        "(hypothesis_indices: int64, hypothesis_values: T, hypothesis_shape: int64, truth_indices: int64, truth_values: T, truth_shape:
         int64) -> (output: float)",
    ).costly()
        .not_differentiable()
        .attrs("normalize: bool = true; T: type")
        .shape(shape::edit_distance),
    op("SparseSegmentSumGradV2", "(grad: T, indices: Tidx, segment_ids: Tsegmentids, dense_output_dim0: int32) -> (output: T, sorted_unique_indices: Tidx)")
        .attrs("T: {bfloat16, half, float, double}; Tidx: index = int32; Tsegmentids: index = int32")
        .shape(shape::sparse_segment_grad_v2),
    op("SparseSegmentMeanGradV2", "(grad: T, indices: Tidx, segment_ids: Tsegmentids, dense_output_dim0: int32) -> (output: T, sorted_unique_indices: Tidx)")
        .attrs("T: {bfloat16, half, float, double}; Tidx: index = int32; Tsegmentids: index = int32")
        .shape(shape::sparse_segment_grad_v2),
    op("SparseSegmentSqrtNGradV2", "(grad: T, indices: Tidx, segment_ids: Tsegmentids, dense_output_dim0: int32) -> (output: T, sorted_unique_indices: Tidx)")
        .attrs("T: {bfloat16, half, float, double}; Tidx: index = int32; Tsegmentids: index = int32")
        .shape(shape::sparse_segment_grad_v2),
    op("SparseBincount", "(indices: int64, values: Tidx, dense_shape: int64, size: Tidx, weights: T) -> (output: T)")
        .attrs("Tidx: {int32, int64}; T: {int32, int64, float, double}; binary_output: bool = false")
        .shape(shape::sparse_bincount),
    op("RaggedBincount", "(splits: int64, values: Tidx, size: Tidx, weights: T) -> (output: T)")
        .attrs("Tidx: {int32, int64}; T: {int32, int64, float, double}; binary_output: bool = false")
        .shape(shape::unknown),
    op(
        "DenseCountSparseOutput",
        "(values: T, weights: output_type)
         -> (output_indices: int64, output_values: output_type, output_dense_shape: int64)",
    )
    .attrs(COUNTS)
    .shape(shape::dense_count),
    op(
        "SparseCountSparseOutput",
        "(indices: int64, values: T, dense_shape: int64, weights: output_type)
         -> (output_indices: int64, output_values: output_type, output_dense_shape: int64)",
    )
    .attrs(COUNTS)
    .shape(shape::sparse_count),
    op(
        "RaggedCountSparseOutput",
        "(splits: int64, values: T, weights: output_type)
         -> (output_indices: int64, output_values: output_type, output_dense_shape: int64)",
    )
    .attrs(COUNTS)
    .shape(shape::ragged_count),
    op("AddSparseToTensorsMap", "(sparse_indices: int64, sparse_values: T, sparse_shape: int64) -> (sparse_handle: int64)")
        .attrs("T: type; container: string = ''; shared_name: string = ''")
        .stateful()
        .shape(shape::add_sparse_to_tensors_map),
    op("AddManySparseToTensorsMap", "(sparse_indices: int64, sparse_values: T, sparse_shape: int64) -> (sparse_handles: int64)")
        .attrs("T: type; container: string = ''; shared_name: string = ''")
        .stateful()
        .shape(shape::add_many_sparse_to_tensors_map),
    op(
        "TakeManySparseFromTensorsMap",
        "(sparse_handles: int64) -> (sparse_indices: int64, sparse_values: dtype, sparse_shape: int64)",
    )
    .attrs("dtype: type; container: string = ''; shared_name: string = ''")
    .stateful()
    .shape(shape::take_many_sparse_from_tensors_map),
];
