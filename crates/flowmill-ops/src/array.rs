//! Constants, placeholders, shapes, and everything that moves elements without computing on them.

use crate::op::{Op, op};

pub(crate) const OPS: &[Op] = &[
    op("Const", "() -> (output: dtype)").attrs("value: tensor; dtype: type"),
    op("Placeholder", "() -> (output: dtype)").attrs("dtype: type; shape: shape = unknown"),
    op("PlaceholderV2", "() -> (output: dtype)").attrs("dtype: type; shape: shape").deprecated(23, "Placeholder behaves the same way"),
    op("PlaceholderWithDefault", "(input: dtype) -> (output: dtype)").attrs("dtype: type; shape: shape"),
    op("Identity", "(input: T) -> (output: T)").attrs("T: type"),
    op("IdentityN", "(input: T) -> (output: T)").attrs("T: list(type) >= 1"),
    op("RefIdentity", "(input: Ref(T)) -> (output: Ref(T))").attrs("T: type").allows_uninitialized_input(),
    op("Shape", "(input: T) -> (output: out_type)").attrs("T: type; out_type: index = int32"),
    op("ShapeN", "(input: N * T) -> (output: N * out_type)").attrs("N: int >= 1; T: type; out_type: index = int32"),
    op("Size", "(input: T) -> (output: out_type)").attrs("T: type; out_type: index = int32"),
    op("Rank", "(input: T) -> (output: int32)").attrs("T: type"),
    op("Reshape", "(tensor: T, shape: Tshape) -> (output: T)").attrs("T: type; Tshape: index = int32"),
    op("ExpandDims", "(input: T, dim: Tdim) -> (output: T)").attrs("T: type; Tdim: index = int32"),
    op("Squeeze", "(input: T) -> (output: T)").attrs("T: type; squeeze_dims: list(int) >= 0 = []"),
    op("Transpose", "(x: T, perm: Tperm) -> (y: T)").attrs("T: type; Tperm: index = int32"),
    op("ConjugateTranspose", "(x: T, perm: Tperm) -> (y: T)").attrs("T: type; Tperm: index = int32"),
    op("Concat", "(concat_dim: int32, values: N * T) -> (output: T)").attrs("N: int >= 2; T: type"),
    op("ConcatV2", "(values: N * T, axis: Tidx) -> (output: T)").attrs("N: int >= 2; T: type; Tidx: index = int32"),
    op("ConcatOffset", "(concat_dim: int32, shape: N * shape_type) -> (offset: N * shape_type)").attrs("N: int >= 2; shape_type: index = int32"),
    op("Split", "(split_dim: int32, value: T) -> (output: num_split * T)").attrs("num_split: int >= 1; T: type"),
    op("SplitV", "(value: T, size_splits: Tlen, split_dim: int32) -> (output: num_split * T)")
        .attrs("num_split: int >= 1; T: type; Tlen: {int8, int32, int64} = int64"),
    op("Pack", "(values: N * T) -> (output: T)").attrs("N: int >= 1; T: type; axis: int = 0"),
    op("Unpack", "(value: T) -> (output: num * T)").attrs("num: int >= 0; T: type; axis: int = 0"),
    op("Slice", "(input: T, begin: Index, size: Index) -> (output: T)").attrs("T: type; Index: index"),
    op("StridedSlice", "(input: T, begin: Index, end: Index, strides: Index) -> (output: T)")
        .attrs("T: type; Index: {int16, int32, int64}; begin_mask: int = 0; end_mask: int = 0; ellipsis_mask: int = 0; new_axis_mask: int = 0;
                shrink_axis_mask: int = 0"),
    op("StridedSliceGrad", "(shape: Index, begin: Index, end: Index, strides: Index, dy: T) -> (output: T)")
        .attrs("T: type; Index: index; begin_mask: int = 0; end_mask: int = 0; ellipsis_mask: int = 0; new_axis_mask: int = 0;
                shrink_axis_mask: int = 0"),
    op("TensorStridedSliceUpdate", "(input: T, begin: Index, end: Index, strides: Index, value: T) -> (output: T)")
        .attrs("T: type; Index: index; begin_mask: int = 0; end_mask: int = 0; ellipsis_mask: int = 0; new_axis_mask: int = 0;
                shrink_axis_mask: int = 0"),
    op("Gather", "(params: Tparams, indices: Tindices) -> (output: Tparams)").attrs("validate_indices: bool = true; Tparams: type; Tindices: index"),
    op("GatherV2", "(params: Tparams, indices: Tindices, axis: Taxis) -> (output: Tparams)")
        .attrs("batch_dims: int = 0; Tparams: type; Tindices: {int16, int32, int64}; Taxis: index"),
    op("GatherNd", "(params: Tparams, indices: Tindices) -> (output: Tparams)")
        .attrs("Tparams: type; Tindices: {int16, int32, int64}; bad_indices_policy: string = ''"),
    op("ScatterNd", "(indices: Tindices, updates: T, shape: Tindices) -> (output: T)")
        .attrs("T: type; Tindices: {int16, int32, int64}; bad_indices_policy: string = ''"),
    op("TensorScatterUpdate", "(tensor: T, indices: Tindices, updates: T) -> (output: T)")
        .attrs("T: type; Tindices: {int16, int32, int64, uint16}; bad_indices_policy: string = ''"),
    op("TensorScatterAdd", "(tensor: T, indices: Tindices, updates: T) -> (output: T)")
        .attrs("T: type; Tindices: index; bad_indices_policy: string = ''"),
    op("TensorScatterSub", "(tensor: T, indices: Tindices, updates: T) -> (output: T)")
        .attrs("T: type; Tindices: index; bad_indices_policy: string = ''"),
    op("TensorScatterMax", "(tensor: T, indices: Tindices, updates: T) -> (output: T)")
        .attrs("T: type; Tindices: index; bad_indices_policy: string = ''"),
    op("TensorScatterMin", "(tensor: T, indices: Tindices, updates: T) -> (output: T)")
        .attrs("T: type; Tindices: index; bad_indices_policy: string = ''"),
    op("Tile", "(input: T, multiples: Tmultiples) -> (output: T)").attrs("T: type; Tmultiples: index = int32"),
    op("Fill", "(dims: index_type, value: T) -> (output: T)").attrs("T: type; index_type: index = int32"),
    op("ZerosLike", "(x: T) -> (y: T)").attrs("T: type"),
    op("OnesLike", "(x: T) -> (y: T)")
        .attrs("T: {bfloat16, half, float, double, int8, uint8, int16, uint16, int32, uint32, int64, uint64, complex64, complex128, bool}"),
    op("Range", "(start: Tidx, limit: Tidx, delta: Tidx) -> (output: Tidx)")
        .attrs("Tidx: {bfloat16, half, float, double, int8, int16, int32, int64, uint16, uint32, uint64} = int32"),
    op("LinSpace", "(start: T, stop: T, num: Tidx) -> (output: T)").attrs("T: {bfloat16, half, float, double}; Tidx: index = int32"),
    op("OneHot", "(indices: TI, depth: int32, on_value: T, off_value: T) -> (output: T)")
        .attrs("axis: int = -1; T: type; TI: {uint8, int8, int32, int64} = int64"),
    op("Pad", "(input: T, paddings: Tpaddings) -> (output: T)").attrs("T: type; Tpaddings: index = int32"),
    op("PadV2", "(input: T, paddings: Tpaddings, constant_values: T) -> (output: T)").attrs("T: type; Tpaddings: index = int32"),
    op("MirrorPad", "(input: T, paddings: Tpaddings) -> (output: T)").attrs("T: type; Tpaddings: index = int32; mode: {'REFLECT', 'SYMMETRIC'}"),
    op("MirrorPadGrad", "(input: T, paddings: Tpaddings) -> (output: T)").attrs("T: type; Tpaddings: index = int32; mode: {'REFLECT', 'SYMMETRIC'}"),
    op("Reverse", "(tensor: T, dims: bool) -> (output: T)")
        .attrs("T: {uint8, int8, uint16, int16, uint32, int32, uint64, int64, bool, bfloat16, half, float, double, complex64, complex128, string}"),
    op("ReverseV2", "(tensor: T, axis: Tidx) -> (output: T)")
        .attrs("Tidx: index = int32;
                T: {uint8, int8, uint16, int16, int32, uint32, int64, uint64, bool, bfloat16, half, float, double, complex64, complex128, string}"),
    op("ReverseSequence", "(input: T, seq_lengths: Tlen) -> (output: T)").attrs("seq_dim: int; batch_dim: int = 0; T: type; Tlen: index = int64"),
    op("Where", "(input: T) -> (index: int64)")
        .attrs("T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64, bool} = bool"),
    op("Unique", "(x: T) -> (y: T, idx: out_idx)").attrs("T: type; out_idx: index = int32"),
    op("UniqueV2", "(x: T, axis: Taxis) -> (y: T, idx: out_idx)").attrs("T: type; Taxis: index = int64; out_idx: index = int32"),
    op("UniqueWithCounts", "(x: T) -> (y: T, idx: out_idx, count: out_idx)").attrs("T: type; out_idx: index = int32"),
    op("UniqueWithCountsV2", "(x: T, axis: Taxis) -> (y: T, idx: out_idx, count: out_idx)")
        .attrs("T: type; Taxis: index = int64; out_idx: index = int32"),
    op("InvertPermutation", "(x: T) -> (y: T)").attrs("T: index = int32"),
    op("ListDiff", "(x: T, y: T) -> (out: T, idx: out_idx)").attrs("T: type; out_idx: index = int32"),
    op("BroadcastTo", "(input: T, shape: Tidx) -> (output: T)").attrs("T: type; Tidx: index = int32"),
    op("BroadcastArgs", "(s0: T, s1: T) -> (r0: T)").attrs("T: index = int32"),
    op("BroadcastGradientArgs", "(s0: T, s1: T) -> (r0: T, r1: T)").attrs("T: index = int32"),
    op("StopGradient", "(input: T) -> (output: T)").attrs("T: type"),
    op("PreventGradient", "(input: T) -> (output: T)").attrs("T: type; message: string = ''"),
    op("Bitcast", "(input: T) -> (output: type)")
        .attrs("T: {bfloat16, half, float, double, int64, int32, uint8, uint16, uint32, uint64, int8, int16, complex64, complex128, qint8, quint8, qint16, quint16, qint32};
                type: {bfloat16, half, float, double, int64, int32, uint8, uint16, uint32, uint64, int8, int16, complex64, complex128, qint8, quint8, qint16, quint16, qint32}"),
    op("EnsureShape", "(input: T) -> (output: T)").attrs("shape: shape; T: type"),
    op("Snapshot", "(input: T) -> (output: T)").attrs("T: type"),
    op("DeepCopy", "(x: T) -> (y: T)").attrs("T: type").stateful(),
    op("Roll", "(input: T, shift: Tshift, axis: Taxis) -> (output: T)").attrs("T: type; Tshift: index; Taxis: index"),
    op("UnravelIndex", "(indices: Tidx, dims: Tidx) -> (output: Tidx)").attrs("Tidx: index = int32"),
    op("SpaceToBatch", "(input: T, paddings: Tpaddings) -> (output: T)").attrs("T: type; Tpaddings: index = int32; block_size: int >= 2"),
    op("SpaceToBatchND", "(input: T, block_shape: Tblock_shape, paddings: Tpaddings) -> (output: T)")
        .attrs("T: type; Tblock_shape: index = int32; Tpaddings: index = int32"),
    op("BatchToSpace", "(input: T, crops: Tidx) -> (output: T)").attrs("T: type; block_size: int >= 2; Tidx: index = int32"),
    op("BatchToSpaceND", "(input: T, block_shape: Tblock_shape, crops: Tcrops) -> (output: T)")
        .attrs("T: type; Tblock_shape: index = int32; Tcrops: index = int32"),
    op("SpaceToDepth", "(input: T) -> (output: T)").attrs("T: type; block_size: int >= 2; data_format: {'NHWC', 'NCHW', 'NCHW_VECT_C'} = 'NHWC'"),
    op("DepthToSpace", "(input: T) -> (output: T)").attrs("T: type; block_size: int >= 2; data_format: {'NHWC', 'NCHW', 'NCHW_VECT_C'} = 'NHWC'"),
    op("ExtractImagePatches", "(images: T) -> (patches: T)")
        .attrs("ksizes: list(int) >= 4; strides: list(int) >= 4; rates: list(int) >= 4;
                T: {bfloat16, half, float, double, int8, int16, int32, int64, uint8, uint16, uint32, uint64, complex64, complex128, bool};
                padding: {'SAME', 'VALID'}"),
    op("DynamicPartition", "(data: T, partitions: int32) -> (outputs: num_partitions * T)").attrs("num_partitions: int >= 1; T: type"),
    op("DynamicStitch", "(indices: N * int32, data: N * T) -> (merged: T)").attrs("N: int >= 1; T: type"),
    op("ParallelDynamicStitch", "(indices: N * int32, data: N * T) -> (merged: T)").attrs("N: int >= 1; T: type"),
    op("CheckNumerics", "(tensor: T) -> (output: T)").attrs("T: {bfloat16, half, float, double}; message: string").stateful(),
    op("CheckNumericsV2", "(tensor: T) -> (output: T)").attrs("T: {bfloat16, half, float, double}; message: string").stateful(),
    op("GuaranteeConst", "(input: T) -> (output: T)").attrs("T: type").stateful(),
    op("Empty", "(shape: int32) -> (output: dtype)").attrs("dtype: type; init: bool = false").stateful(),
    op("ImmutableConst", "() -> (tensor: dtype)").attrs("dtype: type; shape: shape; memory_region_name: string"),
    op("LowerBound", "(sorted_inputs: T, values: T) -> (output: out_type)").attrs("T: type; out_type: index = int32"),
    op("UpperBound", "(sorted_inputs: T, values: T) -> (output: out_type)").attrs("T: type; out_type: index = int32"),
];
