//! Constants, placeholders, shapes, and everything that moves elements without computing on them.

use crate::gradient;
use crate::op::{Op, op};
use crate::shape;
use flowmill_graph::image_layout::ImageLayout;
use flowmill_graph::{ElementwiseFunction, Moves, Role, Work};

pub(crate) const OPS: &[Op] = &[
    op("Const", "() -> (output: dtype)").role(Role::Const).not_differentiable().attrs("value: tensor; dtype: type").shape(shape::constant),
    op("Placeholder", "() -> (output: dtype)").role(Role::Placeholder).attrs("dtype: type; shape: shape = unknown").shape(shape::placeholder),
    op("PlaceholderV2", "() -> (output: dtype)").role(Role::Placeholder)
        .attrs("dtype: type; shape: shape")
        .deprecated(23, "Placeholder behaves the same way")
        .shape(shape::shape_attr),
    op("PlaceholderWithDefault", "(input: dtype) -> (output: dtype)").passes_on().role(Role::PlaceholderWithDefault).gradient(gradient::identity).attrs("dtype: type; shape: shape").shape(shape::placeholder_with_default),
    op("Identity", "(input: T) -> (output: T)").passes_on().gradient(gradient::identity).attrs("T: type").shape(shape::identity),
    op("IdentityN", "(input: T) -> (output: T)").moves(Moves::Each).gradient(gradient::identity).attrs("T: list(type) >= 1").shape(shape::identity),
    op("RefIdentity", "(input: Ref(T)) -> (output: Ref(T))").passes_on().gradient(gradient::identity).attrs("T: type").allows_uninitialized_input().shape(shape::unchanged),
    op("Shape", "(input: T) -> (output: out_type)").reads_shape().not_differentiable().attrs("T: type; out_type: index = int32").shape(shape::shape),
    op("ShapeN", "(input: N * T) -> (output: N * out_type)").reads_shape().not_differentiable().attrs("N: int >= 1; T: type; out_type: index = int32").shape(shape::shape),
    op("Size", "(input: T) -> (output: out_type)").reads_shape().not_differentiable().attrs("T: type; out_type: index = int32").shape(shape::size),
    op("Rank", "(input: T) -> (output: int32)").reads_shape().not_differentiable().attrs("T: type").shape(shape::rank),
    op("Reshape", "(tensor: T, shape: Tshape) -> (output: T)").moves(Moves::InOrder).work(Work::Nothing).gradient(gradient::reshape).attrs("T: type; Tshape: index = int32").shape(shape::reshape),
    op("ExpandDims", "(input: T, dim: Tdim) -> (output: T)").moves(Moves::InOrder).work(Work::Nothing).gradient(gradient::reshape).attrs("T: type; Tdim: index = int32").shape(shape::expand_dims),
    op("Squeeze", "(input: T) -> (output: T)").moves(Moves::InOrder).work(Work::Nothing).gradient(gradient::reshape).attrs("T: type; squeeze_dims: list(int) >= 0 = []").shape(shape::squeeze),
    op("Transpose", "(x: T, perm: Tperm) -> (y: T)").gradient(gradient::transpose).attrs("T: type; Tperm: index = int32").shape(shape::transpose),
    op("ConjugateTranspose", "(x: T, perm: Tperm) -> (y: T)").gradient(gradient::conjugate_transpose).attrs("T: type; Tperm: index = int32").shape(shape::transpose),
    op("Concat", "(concat_dim: int32, values: N * T) -> (output: T)").gradient(gradient::concat).attrs("N: int >= 2; T: type").shape(shape::concat),
    op("ConcatV2", "(values: N * T, axis: Tidx) -> (output: T)").gradient(gradient::concat_v2).attrs("N: int >= 2; T: type; Tidx: index = int32").shape(shape::concat),
    op("ConcatOffset", "(concat_dim: int32, shape: N * shape_type) -> (offset: N * shape_type)").not_differentiable()
        .attrs("N: int >= 2; shape_type: index = int32")
        .shape(shape::concat_offset),
    op("Split", "(split_dim: int32, value: T) -> (output: num_split * T)").gradient(gradient::split).attrs("num_split: int >= 1; T: type").shape(shape::split),
    op("SplitV", "(value: T, size_splits: Tlen, split_dim: int32) -> (output: num_split * T)").gradient(gradient::split_v)
        .attrs("num_split: int >= 1; T: type; Tlen: {int8, int32, int64} = int64")
        .shape(shape::split_v),
    op("Pack", "(values: N * T) -> (output: T)").gradient(gradient::pack).attrs("N: int >= 1; T: type; axis: int = 0").shape(shape::pack),
    op("Unpack", "(value: T) -> (output: num * T)").gradient(gradient::unpack).attrs("num: int >= 0; T: type; axis: int = 0").shape(shape::unpack),
    op("Slice", "(input: T, begin: Index, size: Index) -> (output: T)").moves(Moves::IfSameShape).gradient(gradient::slice).attrs("T: type; Index: index").shape(shape::slice),
    op("StridedSlice", "(input: T, begin: Index, end: Index, strides: Index) -> (output: T)").gradient(gradient::strided_slice)
        .attrs("T: type; Index: {int16, int32, int64}; begin_mask: int = 0; end_mask: int = 0; ellipsis_mask: int = 0; new_axis_mask: int = 0;
                shrink_axis_mask: int = 0")
        .shape(shape::strided_slice),
    op("StridedSliceGrad", "(shape: Index, begin: Index, end: Index, strides: Index, dy: T) -> (output: T)").gradient(gradient::strided_slice_grad)
        .attrs("T: type; Index: index; begin_mask: int = 0; end_mask: int = 0; ellipsis_mask: int = 0; new_axis_mask: int = 0;
                shrink_axis_mask: int = 0")
        .shape(shape::shape_input::<0>),
    op("TensorStridedSliceUpdate", "(input: T, begin: Index, end: Index, strides: Index, value: T) -> (output: T)").gradient(gradient::tensor_strided_slice_update)
        .attrs("T: type; Index: index; begin_mask: int = 0; end_mask: int = 0; ellipsis_mask: int = 0; new_axis_mask: int = 0;
                shrink_axis_mask: int = 0")
        .shape(shape::unchanged),
    op("Gather", "(params: Tparams, indices: Tindices) -> (output: Tparams)").gradient(gradient::gather)
        .attrs("validate_indices: bool = true; Tparams: type; Tindices: index")
        .shape(shape::gather),
    op("GatherV2", "(params: Tparams, indices: Tindices, axis: Taxis) -> (output: Tparams)").gradient(gradient::gather_v2)
        .attrs("batch_dims: int = 0; Tparams: type; Tindices: {int16, int32, int64}; Taxis: index")
        .shape(shape::gather_v2),
    op("GatherNd", "(params: Tparams, indices: Tindices) -> (output: Tparams)").gradient(gradient::gather_nd)
        .attrs("Tparams: type; Tindices: {int16, int32, int64}; bad_indices_policy: string = ''")
        .shape(shape::gather_nd),
    op("ScatterNd", "(indices: Tindices, updates: T, shape: Tindices) -> (output: T)").gradient(gradient::scatter_nd)
        .attrs("T: type; Tindices: {int16, int32, int64}; bad_indices_policy: string = ''")
        .shape(shape::scatter_nd),
    op("TensorScatterUpdate", "(tensor: T, indices: Tindices, updates: T) -> (output: T)").gradient(gradient::tensor_scatter_update)
        .attrs("T: type; Tindices: {int16, int32, int64, uint16}; bad_indices_policy: string = ''")
        .shape(shape::scatter_nd_update),
    op("TensorScatterAdd", "(tensor: T, indices: Tindices, updates: T) -> (output: T)").gradient(gradient::tensor_scatter_add)
        .attrs("T: type; Tindices: index; bad_indices_policy: string = ''")
        .shape(shape::scatter_nd_update),
    op("TensorScatterSub", "(tensor: T, indices: Tindices, updates: T) -> (output: T)").gradient(gradient::tensor_scatter_sub)
        .attrs("T: type; Tindices: index; bad_indices_policy: string = ''")
        .shape(shape::scatter_nd_update),
    op("TensorScatterMax", "(tensor: T, indices: Tindices, updates: T) -> (output: T)").gradient(gradient::tensor_scatter_extreme)
        .attrs("T: type; Tindices: index; bad_indices_policy: string = ''")
        .shape(shape::scatter_nd_update),
    op("TensorScatterMin", "(tensor: T, indices: Tindices, updates: T) -> (output: T)").gradient(gradient::tensor_scatter_extreme)
        .attrs("T: type; Tindices: index; bad_indices_policy: string = ''")
        .shape(shape::scatter_nd_update),
    op("Tile", "(input: T, multiples: Tmultiples) -> (output: T)").moves(Moves::IfSameShape).gradient(gradient::tile).attrs("T: type; Tmultiples: index = int32").shape(shape::tile),
    op("Fill", "(dims: index_type, value: T) -> (output: T)").gradient(gradient::fill).attrs("T: type; index_type: index = int32").shape(shape::fill),
    op("ZerosLike", "(x: T) -> (y: T)").elementwise(ElementwiseFunction::ZerosLike).not_differentiable().attrs("T: type").shape(|c| shape::unchanged_of(c, |_| Some(0))),
    op("OnesLike", "(x: T) -> (y: T)").elementwise(ElementwiseFunction::OnesLike).not_differentiable()
        .attrs("T: {bfloat16, half, float, double, int8, uint8, int16, uint16, int32, uint32, int64, uint64, complex64, complex128, bool}")
        .shape(|c| shape::unchanged_of(c, |_| Some(1))),
    op("Range", "(start: Tidx, limit: Tidx, delta: Tidx) -> (output: Tidx)").not_differentiable()
        .attrs("Tidx: {bfloat16, half, float, double, int8, int16, int32, int64, uint16, uint32, uint64} = int32")
        .shape(shape::range),
    op("LinSpace", "(start: T, stop: T, num: Tidx) -> (output: T)").not_differentiable()
        .attrs("T: {bfloat16, half, float, double}; Tidx: index = int32")
        .shape(shape::lin_space),
    op("OneHot", "(indices: TI, depth: int32, on_value: T, off_value: T) -> (output: T)").not_differentiable()
        .attrs("axis: int = -1; T: type; TI: {uint8, int8, int32, int64} = int64")
        .shape(shape::one_hot),
    op("Pad", "(input: T, paddings: Tpaddings) -> (output: T)").moves(Moves::IfSameShape).gradient(gradient::pad).attrs("T: type; Tpaddings: index = int32").shape(shape::pad),
    op("PadV2", "(input: T, paddings: Tpaddings, constant_values: T) -> (output: T)").moves(Moves::IfSameShape).gradient(gradient::pad).attrs("T: type; Tpaddings: index = int32").shape(shape::pad),
    op("MirrorPad", "(input: T, paddings: Tpaddings) -> (output: T)").moves(Moves::IfSameShape).gradient(gradient::mirror_pad)
        .attrs("T: type; Tpaddings: index = int32; mode: {'REFLECT', 'SYMMETRIC'}")
        .shape(shape::pad),
    op("MirrorPadGrad", "(input: T, paddings: Tpaddings) -> (output: T)").gradient(gradient::mirror_pad_grad)
        .attrs("T: type; Tpaddings: index = int32; mode: {'REFLECT', 'SYMMETRIC'}")
        .shape(shape::pad),
    op("Reverse", "(tensor: T, dims: bool) -> (output: T)").gradient(gradient::reverse)
        .attrs("T: {uint8, int8, uint16, int16, uint32, int32, uint64, int64, bool, bfloat16, half, float, double, complex64, complex128,
                    string}")
        .shape(shape::reverse),
    op("ReverseV2", "(tensor: T, axis: Tidx) -> (output: T)").gradient(gradient::reverse_v2)
        .attrs("Tidx: index = int32;
                T: {uint8, int8, uint16, int16, int32, uint32, int64, uint64, bool, bfloat16, half, float, double, complex64, complex128,
                    string}")
        .shape(shape::reverse_v2),
    op("ReverseSequence", "(input: T, seq_lengths: Tlen) -> (output: T)").gradient(gradient::reverse_sequence)
        .attrs("seq_dim: int; batch_dim: int = 0; T: type; Tlen: index = int64")
        .shape(shape::reverse_sequence),
    op("Where", "(input: T) -> (index: int64)").not_differentiable()
        .attrs("T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, bfloat16, qint16, quint16, uint16,
                    complex128, half, uint32, uint64, bool} = bool")
        .shape(shape::where_),
    op("Unique", "(x: T) -> (y: T, idx: out_idx)").selects().not_differentiable().attrs("T: type; out_idx: index = int32").shape(shape::unique),
    op("UniqueV2", "(x: T, axis: Taxis) -> (y: T, idx: out_idx)").selects()
        .attrs("T: type; Taxis: index = int64; out_idx: index = int32")
        .shape(shape::unique_v2),
    op("UniqueWithCounts", "(x: T) -> (y: T, idx: out_idx, count: out_idx)").selects().not_differentiable().attrs("T: type; out_idx: index = int32").shape(shape::unique_with_counts),
    op("UniqueWithCountsV2", "(x: T, axis: Taxis) -> (y: T, idx: out_idx, count: out_idx)").selects()
        .attrs("T: type; Taxis: index = int64; out_idx: index = int32")
        .shape(shape::unique_v2),
    op("InvertPermutation", "(x: T) -> (y: T)").not_differentiable().attrs("T: index = int32").shape(shape::invert_permutation),
    op("ListDiff", "(x: T, y: T) -> (out: T, idx: out_idx)").selects().not_differentiable().attrs("T: type; out_idx: index = int32").shape(shape::vectors),
    op("BroadcastTo", "(input: T, shape: Tidx) -> (output: T)").moves(Moves::IfSameShape).gradient(gradient::broadcast_to).attrs("T: type; Tidx: index = int32").shape(shape::broadcast_to),
    op("BroadcastArgs", "(s0: T, s1: T) -> (r0: T)").not_differentiable().attrs("T: index = int32").shape(shape::broadcast_args),
    op("BroadcastGradientArgs", "(s0: T, s1: T) -> (r0: T, r1: T)").not_differentiable().attrs("T: index = int32").shape(shape::broadcast_gradient_args),
    op("StopGradient", "(input: T) -> (output: T)").passes_on().gradient(gradient::stop_gradient).attrs("T: type").shape(shape::identity),
    op("PreventGradient", "(input: T) -> (output: T)").passes_on().gradient(gradient::prevent_gradient).attrs("T: type; message: string = ''").shape(shape::identity),
    op("Bitcast", "(input: T) -> (output: type)").work(Work::Nothing)
        .attrs("T: {bfloat16, half, float, double, int64, int32, uint8, uint16, uint32, uint64, int8, int16, complex64, complex128, qint8,
                    quint8, qint16, quint16, qint32};
                type: {bfloat16, half, float, double, int64, int32, uint8, uint16, uint32, uint64, int8, int16, complex64, complex128, qint8,
                    quint8, qint16, quint16, qint32}")
        .shape(shape::bitcast),
    op("EnsureShape", "(input: T) -> (output: T)").moves(Moves::InOrder).checks_input().gradient(gradient::identity).attrs("shape: shape; T: type").shape(shape::ensure_shape),
    op("DeviceIndex", "() -> (index: int32)").attrs("device_names: list(string)").stateful().shape(shape::scalars),
    op("DebugIdentity", "(input: T) -> (output: T)")
        .attrs("T: type; device_name: string = ''; tensor_name: string = ''; debug_urls: list(string) = []; gated_grpc: bool = false")
        .allows_uninitialized_input()
        .shape(shape::unchanged),
    op("DebugIdentityV2", "(input: T) -> (output: T)")
        .attrs(
            "T: type; tfdbg_context_id: string = ''; op_name: string = ''; output_slot: int = -1; tensor_debug_mode: int = -1;
             debug_urls: list(string) = []; circular_buffer_size: int = 1000; tfdbg_run_id: string = ''",
        )
        .gradient(gradient::identity)
        .stateful()
        .shape(shape::unchanged),
    op("DebugGradientIdentity", "(input: T) -> (output: T)")
        .gradient(gradient::identity)
        .attrs("T: type")
        .allows_uninitialized_input()
        .shape(shape::unchanged),
    op("Snapshot", "(input: T) -> (output: T)").passes_on().gradient(gradient::identity).attrs("T: type").shape(shape::identity),
    op("CheckPinned", "(tensor: T) -> (output: T)").attrs("T: type").shape(shape::identity),
    op("InplaceUpdate", "(x: T, i: int32, v: T) -> (y: T)").not_differentiable().attrs("T: type").shape(shape::unchanged),
    op("InplaceAdd", "(x: T, i: int32, v: T) -> (y: T)").not_differentiable().attrs("T: type").shape(shape::unchanged),
    op("InplaceSub", "(x: T, i: int32, v: T) -> (y: T)").not_differentiable().attrs("T: type").shape(shape::unchanged),
    op("ParallelConcat", "(values: N * T) -> (output: T)").attrs("N: int >= 1; T: type; shape: shape").shape(shape::parallel_concat),
    op("DeepCopy", "(x: T) -> (y: T)").attrs("T: type").stateful().shape(shape::identity),
    op("Roll", "(input: T, shift: Tshift, axis: Taxis) -> (output: T)").gradient(gradient::roll).attrs("T: type; Tshift: index; Taxis: index").shape(shape::roll),
    op("UnravelIndex", "(indices: Tidx, dims: Tidx) -> (output: Tidx)").attrs("Tidx: index = int32").shape(shape::unravel_index),
    op("SpaceToBatch", "(input: T, paddings: Tpaddings) -> (output: T)").gradient(gradient::space_to_batch)
        .attrs("T: type; Tpaddings: index = int32; block_size: int >= 2")
        .shape(shape::space_to_batch),
    op("SpaceToBatchND", "(input: T, block_shape: Tblock_shape, paddings: Tpaddings) -> (output: T)").moves(Moves::IfSameShape).gradient(gradient::space_to_batch_nd)
        .attrs("T: type; Tblock_shape: index = int32; Tpaddings: index = int32")
        .shape(shape::space_to_batch),
    op("BatchToSpace", "(input: T, crops: Tidx) -> (output: T)").gradient(gradient::batch_to_space)
        .attrs("T: type; block_size: int >= 2; Tidx: index = int32")
        .shape(shape::batch_to_space),
    op("BatchToSpaceND", "(input: T, block_shape: Tblock_shape, crops: Tcrops) -> (output: T)").moves(Moves::IfSameShape).gradient(gradient::batch_to_space_nd)
        .attrs("T: type; Tblock_shape: index = int32; Tcrops: index = int32")
        .shape(shape::batch_to_space),
    op("SpaceToDepth", "(input: T) -> (output: T)").image_layout(&ImageLayout::new(&[0], &[], true)).gradient(gradient::space_to_depth)
        .attrs("T: type; block_size: int >= 2; data_format: {'NHWC', 'NCHW', 'NCHW_VECT_C'} = 'NHWC'")
        .shape(shape::space_to_depth),
    op("DepthToSpace", "(input: T) -> (output: T)").image_layout(&ImageLayout::new(&[0], &[], true)).gradient(gradient::depth_to_space)
        .attrs("T: type; block_size: int >= 2; data_format: {'NHWC', 'NCHW', 'NCHW_VECT_C'} = 'NHWC'")
        .shape(shape::depth_to_space),
    op("ExtractImagePatches", "(images: T) -> (patches: T)").gradient(gradient::extract_image_patches)
        .attrs("ksizes: list(int) >= 4; strides: list(int) >= 4; rates: list(int) >= 4;
                T: {bfloat16, half, float, double, int8, int16, int32, int64, uint8, uint16, uint32, uint64, complex64, complex128, bool};
                padding: {'SAME', 'VALID'}")
        .shape(shape::extract_image_patches),
    op("ExtractVolumePatches", "(input: T) -> (patches: T)").gradient(gradient::extract_volume_patches)
        .attrs("ksizes: list(int) >= 5; strides: list(int) >= 5;
                T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64}; padding: {'SAME', 'VALID'}")
        .shape(shape::extract_volume_patches),
    op("DynamicPartition", "(data: T, partitions: int32) -> (outputs: num_partitions * T)").gradient(gradient::dynamic_partition)
        .attrs("num_partitions: int >= 1; T: type")
        .shape(shape::dynamic_partition),
    op("DynamicStitch", "(indices: N * int32, data: N * T) -> (merged: T)").gradient(gradient::dynamic_stitch).attrs("N: int >= 1; T: type").shape(shape::dynamic_stitch),
    op("ParallelDynamicStitch", "(indices: N * int32, data: N * T) -> (merged: T)").gradient(gradient::dynamic_stitch).attrs("N: int >= 1; T: type").shape(shape::dynamic_stitch),
    op("CheckNumerics", "(tensor: T) -> (output: T)").gradient(gradient::identity).attrs("T: {bfloat16, half, float, double}; message: string").stateful().shape(shape::unchanged),
    op("CheckNumericsV2", "(tensor: T) -> (output: T)").gradient(gradient::identity)
        .attrs("T: {bfloat16, half, float, double}; message: string")
        .stateful()
        .shape(shape::unchanged),
    op("GuaranteeConst", "(input: T) -> (output: T)").passes_on().attrs("T: type").stateful().shape(shape::identity),
    op("Empty", "(shape: int32) -> (output: dtype)").attrs("dtype: type; init: bool = false").stateful().shape(shape::shape_input::<0>),
    op("ImmutableConst", "() -> (tensor: dtype)").attrs("dtype: type; shape: shape; memory_region_name: string").shape(shape::shape_attr),
    op("LowerBound", "(sorted_inputs: T, values: T) -> (output: out_type)").attrs("T: type; out_type: index = int32").shape(shape::search_sorted),
    op("UpperBound", "(sorted_inputs: T, values: T) -> (output: out_type)").attrs("T: type; out_type: index = int32").shape(shape::search_sorted),
    op("ScatterNdNonAliasingAdd", "(input: T, indices: Tindices, updates: T) -> (output: T)")
        .gradient(gradient::tensor_scatter_add)
        .attrs("T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64, bool}; Tindices: index; bad_indices_policy: string = ''")
        .shape(shape::scatter_nd_update),
];
