"""Lists the modules that define the names of the API's top level. A module is loaded at the first access to a name, so that importing the package
stays quick.

A line a module; a name that is called otherwise in its module is written ``top=inner``.
"""

from __future__ import annotations

from flowmill._internal import lazy

_BY_MODULE = {
    "_internal.behavior": "control_flow_v2_enabled disable_control_flow_v2 disable_eager_execution disable_resource_variables disable_tensor_equality "
                          "disable_v2_behavior disable_v2_tensorshape enable_control_flow_v2 enable_eager_execution enable_resource_variables "
                          "enable_tensor_equality enable_v2_behavior enable_v2_tensorshape executing_eagerly executing_eagerly_outside_functions resource_variables_enabled",
    "_internal.device": "DeviceSpec",
    "_internal.convert": "constant convert_to_tensor register_tensor_conversion_function convert_to_tensor_or_indexed_slices",
    "_internal.default_graph": "colocate_with container control_dependencies device name_scope op_scope",
    "_internal.batching": "nondifferentiable_batch_function",
    "_internal.cases": "case switch_case",
    "_internal.custom_gradients": "custom_gradient grad_pass_through recompute_grad",
    "_internal.script_ops": "numpy_function py_func py_function",
    "_internal.critical_section": "CriticalSection",
    "_internal.control_flow": "Assert cond group no_op tuple",
    "_internal.functional_ops": "foldl foldr map_fn scan",
    "_internal.loops": "while_loop",
    "_internal.tensor_array": "TensorArray",
    "_internal.gradients_impl": "AggregationMethod NoGradient NotDifferentiable RegisterGradient UnconnectedGradients gradients hessians no_gradient stop_gradient",
    "_internal.gradient_tape": "GradientTape",
    "_internal.graph_keys": "GraphKeys add_to_collection add_to_collections get_collection get_collection_ref",
    "_internal.array": (
        "argsort batch_gather batch_to_space batch_to_space_nd boolean_mask broadcast_dynamic_shape broadcast_static_shape "
        "broadcast_to concat depth_to_space dequantize dynamic_partition dynamic_stitch ensure_shape expand_dims extract_image_patches "
        "extract_volume_patches fake_quant_with_min_max_args_gradient fake_quant_with_min_max_vars_gradient "
        "fake_quant_with_min_max_vars_per_channel_gradient "
        "fake_quant_with_min_max_args fake_quant_with_min_max_vars fake_quant_with_min_max_vars_per_channel fill gather gather_nd "
        "check_pinned guarantee_const identity identity_n invert_permutation matrix_transpose meshgrid newaxis one_hot ones ones_like pad "
        "parallel_stack placeholder placeholder_with_default quantize quantize_v2 quantized_concat rank repeat required_space_to_batch_paddings reshape "
        "reverse reverse_sequence reverse_v2 roll scatter_nd searchsorted sequence_mask setdiff1d shape shape_n size slice sort "
        "space_to_batch space_to_batch_nd space_to_depth split squeeze stack strided_slice tensor_scatter_add tensor_scatter_nd_add "
        "tensor_scatter_nd_max tensor_scatter_nd_min tensor_scatter_nd_sub tensor_scatter_nd_update tensor_scatter_sub "
        "tensor_scatter_update tile transpose unique unique_with_counts unravel_index unstack where where_v2 zeros zeros_like"
    ),
    "math": (
        "abs accumulate_n acos acosh add add_n angle arg_max arg_min argmax argmin asin asinh atan atan2 atanh betainc bincount "
        "bitcast cast ceil complex confusion_matrix conj cos cosh count_nonzero cumprod cumsum digamma div div_no_nan divide einsum "
        "equal erf erfc exp expm1 floor floor_div floordiv floormod greater greater_equal histogram_fixed_width "
        "histogram_fixed_width_bins igamma igammac imag is_finite is_inf is_nan is_non_decreasing is_strictly_increasing lbeta less "
        "less_equal lgamma lin_space linspace log log1p log_sigmoid logical_and logical_not logical_or logical_xor matmul maximum "
        "minimum mod multiply negative not_equal polygamma pow range real realdiv reciprocal reduce_all reduce_any reduce_logsumexp "
        "reduce_max reduce_mean reduce_min reduce_prod reduce_sum rint round rsqrt saturate_cast scalar_mul segment_max segment_mean "
        "segment_min segment_prod segment_sum sigmoid sign sin sinh sparse_matmul sparse_segment_mean sparse_segment_sqrt_n "
        "sparse_segment_sum sqrt square squared_difference subtract tan tanh tensordot to_bfloat16 to_complex128 to_complex64 "
        "to_double to_float to_int32 to_int64 truediv truncatediv truncatemod unsorted_segment_max unsorted_segment_mean "
        "unsorted_segment_min unsorted_segment_prod unsorted_segment_sqrt_n unsorted_segment_sum zeta"
    ),
    "debugging": (
        "add_check_numerics_ops assert_equal assert_greater assert_greater_equal assert_integer assert_less assert_less_equal "
        "assert_near assert_negative assert_non_negative assert_non_positive assert_none_equal assert_positive assert_proper_iterable "
        "assert_rank assert_rank_at_least assert_rank_in assert_same_float_dtype assert_scalar assert_type check_numerics "
        "is_numeric_tensor verify_tensor_all_finite"
    ),
    "_internal.logging_ops": "Print timestamp print",
    "_internal.clip_ops": "clip_by_value clip_by_norm clip_by_average_norm global_norm clip_by_global_norm",
    "random": "multinomial random_crop random_gamma random_normal random_poisson random_shuffle random_uniform truncated_normal",
    "linalg": (
        "cholesky cholesky_solve cross eye norm qr svd trace matrix_band_part=band_part matrix_determinant=det matrix_diag=diag "
        "matrix_diag_part=diag_part matrix_inverse=inv matrix_set_diag=set_diag matrix_square_root=sqrtm matrix_solve=solve matrix_solve_ls=lstsq "
        "matrix_triangular_solve=triangular_solve diag=tensor_diag diag_part=tensor_diag_part self_adjoint_eig=eigh "
        "self_adjoint_eigvals=eigvalsh"
    ),
    "math._segments": "approx_top_k",
    "nn._convolution": "conv conv2d_backprop_filter_v2 conv2d_backprop_input_v2",
    "random._stateless": "random_index_shuffle",
    "signal._any_axes": "fftnd=fftnd_op ifftnd=ifftnd_op irfftnd=irfftnd_op rfftnd=rfftnd_op",
    "signal": "fft fft2d fft3d ifft ifft2d ifft3d",
    "_internal.tensor_util": "is_symbolic_tensor is_tensor make_ndarray make_tensor_proto get_static_value=constant_value",
    "_internal.init_ops": "constant_initializer glorot_normal_initializer glorot_uniform_initializer ones_initializer orthogonal_initializer "
                          "random_normal_initializer random_uniform_initializer truncated_normal_initializer uniform_unit_scaling_initializer "
                          "variance_scaling_initializer zeros_initializer",
    "_internal.partitioned_variables": "create_partitioned_variables fixed_size_partitioner min_max_variable_partitioner variable_axis_size_partitioner",
    "ragged": "RaggedTensor",
    "ragged._cross": "ragged_fill_empty_rows ragged_fill_empty_rows_grad",
    "_internal.random_seed": "get_seed set_random_seed",
    "_internal.state": "assign assign_add assign_sub batch_scatter_update count_up_to is_variable_initialized scatter_add scatter_div scatter_max scatter_min "
                       "scatter_mul scatter_nd_add scatter_nd_sub scatter_nd_update scatter_sub scatter_update",
    "_internal.template": "init_scope make_template",
    "_internal.variable_scopes": "AUTO_REUSE VariableScope get_local_variable get_variable get_variable_scope no_regularizer variable_creator_scope "
                                 "variable_op_scope variable_scope",
    "_internal.variables": "Variable VariableAggregation VariableSynchronization all_variables assert_variables_initialized global_variables "
                           "global_variables_initializer initialize_all_variables initialize_local_variables initialize_variables local_variables "
                           "local_variables_initializer model_variables moving_average_variables report_uninitialized_variables trainable_variables "
                           "variables_initializer",
    "_internal.indexed_slices": "IndexedSlices IndexedSlicesValue",
    "io": "FixedLenFeature FixedLenSequenceFeature SparseFeature VarLenFeature decode_base64 decode_compressed decode_csv decode_json_example decode_raw "
          "encode_base64 matching_files parse_example parse_single_example parse_single_sequence_example parse_tensor read_file serialize_tensor "
          "write_file",
    "_internal.accumulators": "ConditionalAccumulator ConditionalAccumulatorBase SparseConditionalAccumulator",
    "_internal.readers": "FixedLengthRecordReader IdentityReader ReaderBase TFRecordReader TextLineReader WholeFileReader",
    "lookup": "initialize_all_tables tables_initializer",
    "queue": "FIFOQueue PaddingFIFOQueue PriorityQueue QueueBase RandomShuffleQueue",
    "_internal.session_ops": "delete_session_tensor get_session_handle get_session_tensor",
    "sparse": "sparse_add=add sparse_concat=concat sparse_fill_empty_rows=fill_empty_rows sparse_mask=mask sparse_maximum=maximum sparse_merge=merge "
              "sparse_minimum=minimum sparse_placeholder=placeholder sparse_reduce_max=reduce_max sparse_reduce_max_sparse=reduce_max_sparse "
              "sparse_reduce_sum=reduce_sum sparse_reduce_sum_sparse=reduce_sum_sparse sparse_reorder=reorder sparse_reset_shape=reset_shape "
              "sparse_reshape=reshape sparse_retain=retain sparse_segment_mean=segment_mean sparse_segment_sqrt_n=segment_sqrt_n "
              "sparse_segment_sum=segment_sum sparse_slice=slice sparse_softmax=softmax sparse_split=split sparse_tensor_dense_matmul=matmul "
              "sparse_tensor_to_dense=to_dense sparse_to_dense sparse_to_indicator=to_indicator sparse_transpose=transpose "
              "deserialize_many_sparse edit_distance serialize_many_sparse serialize_sparse",
    "_internal.sparse_tensor": "SparseTensor SparseTensorValue convert_to_tensor_or_sparse_tensor",
    "strings": "as_string fingerprint reduce_join regex_replace string_join=join string_split string_strip=strip string_to_hash_bucket=to_hash_bucket "
               "string_to_hash_bucket_fast=to_hash_bucket_fast string_to_hash_bucket_strong=to_hash_bucket_strong string_to_number=to_number substr",
    "_internal.tensor_shape": "dimension_at_index",
    "_internal.tensor_spec": "TensorSpec",
    "data._specs": "OptionalSpec",
    "_internal.load_library": "load_file_system_library load_library load_op_library",
    "_internal.composite_specs": "IndexedSlicesSpec NoneTensorSpec RaggedTensorSpec SparseTensorSpec TensorArraySpec type_spec_from_value",
    "_internal.type_spec": "TypeSpec",
    "dtypes": "QUANTIZED_DTYPES",
    "errors": "OpError",
    "logging": "get_logger",
    "_internal.module": "Module",
    "_internal.polymorphic_function": "function wrap_function",
    "_internal.vectorized": "vectorized_map",
    "_internal.view": "view",
    "version": "COMPILER_VERSION CXX11_ABI_FLAG CXX_VERSION MONOLITHIC_BUILD GIT_VERSION GRAPH_DEF_VERSION GRAPH_DEF_VERSION_MIN_CONSUMER GRAPH_DEF_VERSION_MIN_PRODUCER VERSION",
}

# Modules of the API that are reached as ``tf.name``.
_MODULES = (
    "saved_model train raw_ops nest math debugging bitwise linalg quantization ragged random signal spectral manip graph_util initializers profiler summary "
    "app audio compat config data distributions experimental feature_column flags gfile io logging lookup python python_io queue serving sets sparse strings test version contrib image layers losses metrics nn"
)

# Module and name in it, by the name at the top level.
NAMES = lazy.table("flowmill", _BY_MODULE) | lazy.modules("flowmill", _MODULES)
