"""The names that the modules of ``flowmill.python`` offer, and the public objects that they are.

For each module: public modules, `""` for the top level, and the names taken from each. ``*`` means all of them,
``outer=inner`` for a name that is another one there.
"""

from __future__ import annotations

MODULES: dict[str, dict[str, str]] = {
    "client.session": {"": "InteractiveSession Session"},
    "data.ops.dataset_ops": {
        "data":
            "Dataset DatasetSpec DatasetV1=Dataset NumpyIterator get_legacy_output_classes=get_output_classes "
            "get_legacy_output_shapes=get_output_shapes get_legacy_output_types=get_output_types make_initializable_iterator make_one_shot_iterator",
    },
    "data.ops.iterator_ops": {"data": "Iterator"},
    "data.util.nest": {"nest": "*"},
    "eager.backprop": {"": "GradientTape UnconnectedGradients"},
    "eager.context": {
        "": "device executing_eagerly executing_eagerly_v1=executing_eagerly",
        "debugging": "get_log_device_placement set_log_device_placement",
    },
    "eager.def_function": {"": "function"},
    "eager.function": {"_internal.polymorphic_function": "ConcreteFunction"},
    "eager.wrap_function": {"": "wrap_function"},
    "framework.constant_op": {"": "constant constant_v1=constant"},
    "framework.convert_to_constants": {"graph_util": "convert_variables_to_constants"},
    "framework.device": {"": "DeviceSpec", "_internal.device": "merge_device=merge"},
    "framework.dtypes": {"dtypes": "*"},
    "framework.errors": {"errors": "*"},
    "framework.errors_impl": {"errors": "*"},
    "framework.function": {"_internal.defun": "Defun"},
    "framework.graph_io": {"train": "write_graph"},
    "framework.graph_util": {
        "graph_util": "convert_variables_to_constants extract_sub_graph must_run_on_cpu remove_training_nodes tensor_shape_from_node_def_name",
    },
    "framework.graph_util_impl": {
        "": "GraphDef",
        "graph_util": "convert_variables_to_constants extract_sub_graph must_run_on_cpu remove_training_nodes tensor_shape_from_node_def_name",
    },
    "framework.importer": {"": "import_graph_def"},
    "framework.indexed_slices": {"": "IndexedSlices IndexedSlicesSpec convert_to_tensor_or_indexed_slices"},
    "framework.load_library": {"": "load_file_system_library load_library load_op_library"},
    "framework.meta_graph": {
        "_internal.meta_graph": "export_scoped_meta_graph import_scoped_meta_graph import_scoped_meta_graph_with_return_elements read_meta_graph_file",
    },
    "framework.ops": {
        "":
            "Graph GraphKeys IndexedSlices NoGradient NotDifferentiable Operation RegisterGradient Tensor add_to_collection add_to_collections "
            "colocate_with container control_dependencies convert_to_tensor convert_to_tensor_or_indexed_slices device disable_eager_execution "
            "enable_eager_execution executing_eagerly_outside_functions get_collection get_collection_ref get_default_graph get_default_session "
            "init_scope is_symbolic_tensor name_scope name_scope_v1=name_scope no_gradient op_scope register_tensor_conversion_function "
            "reset_default_graph",
        "_internal.convert": "convert_n_to_tensor",
    },
    "framework.random_seed": {"": "get_seed set_random_seed"},
    "framework.smart_cond": {"layers._base": "smart_cond", "_internal.tensor_util": "smart_constant_value=constant_value"},
    "framework.sparse_tensor": {"": "SparseTensor SparseTensorSpec SparseTensorValue convert_to_tensor_or_sparse_tensor"},
    "framework.tensor": {"": "Tensor TensorSpec disable_tensor_equality enable_tensor_equality"},
    "framework.tensor_conversion": {"": "convert_to_tensor_v1_with_dispatch=convert_to_tensor"},
    "framework.tensor_shape": {"": "Dimension TensorShape dimension_at_index dimension_value disable_v2_tensorshape enable_v2_tensorshape"},
    "framework.tensor_spec": {"": "TensorSpec"},
    "framework.tensor_util": {"": "MakeNdarray=make_ndarray is_tensor is_tf_type=is_tensor make_tensor_proto", "_internal.tensor_util": "constant_value"},
    "framework.test_util": {"test": "TensorFlowTestCase=TestCase TestCase"},
    "framework.type_spec": {"": "TypeSpec type_spec_from_value"},
    "framework.versions": {"": "COMPILER_VERSION CXX_VERSION GIT_VERSION GRAPH_DEF_VERSION VERSION"},
    "layers.base": {"layers": "InputSpec Layer"},
    "layers.convolutional": {
        "layers":
            "Conv1D Conv2D Conv2DTranspose Conv3D Conv3DTranspose SeparableConv1D SeparableConv2D conv1d conv2d conv2d_transpose conv3d "
            "conv3d_transpose separable_conv1d separable_conv2d",
    },
    "layers.core": {"layers": "Dense Dropout Flatten dense dropout flatten"},
    "layers.layers": {"layers": "*"},
    "layers.normalization": {"layers": "BatchNormalization batch_normalization"},
    "layers.pooling": {
        "layers":
            "AveragePooling1D AveragePooling2D AveragePooling3D MaxPooling1D MaxPooling2D MaxPooling3D average_pooling1d average_pooling2d "
            "average_pooling3d max_pooling1d max_pooling2d max_pooling3d",
    },
    "layers.utils": {"layers._base": "smart_cond", "_internal.tensor_util": "constant_value"},
    "lib.io.file_io": {
        "gfile":
            "copy=Copy create_dir=MkDir delete_file=Remove delete_recursively=DeleteRecursively file_exists=Exists get_matching_files=Glob "
            "is_directory=IsDirectory list_directory=ListDirectory recursive_create_dir=MakeDirs rename=Rename stat=Stat walk=Walk",
        "io.gfile":
            "copy_v2=copy create_dir_v2=mkdir delete_file_v2=remove delete_recursively_v2=rmtree file_exists_v2=exists get_matching_files_v2=glob "
            "get_registered_schemes is_directory_v2=isdir join list_directory_v2=listdir recursive_create_dir_v2=makedirs rename_v2=rename "
            "stat_v2=stat walk_v2=walk",
    },
    "lib.io.python_io": {"python_io": "*"},
    "lib.io.tf_record": {"io": "TFRecordCompressionType TFRecordOptions TFRecordWriter tf_record_iterator"},
    "module.module": {"": "Module"},
    "ops.array_ops": {
        "":
            "batch_gather batch_to_space batch_to_space_nd bitcast boolean_mask broadcast_dynamic_shape broadcast_static_shape broadcast_to concat "
            "depth_to_space dequantize diag edit_distance expand_dims extract_image_patches extract_volume_patches fake_quant_with_min_max_args "
            "fake_quant_with_min_max_args_gradient fake_quant_with_min_max_vars fake_quant_with_min_max_vars_gradient "
            "fake_quant_with_min_max_vars_per_channel fake_quant_with_min_max_vars_per_channel_gradient fill fingerprint gather gather_nd "
            "guarantee_const identity identity_n invert_permutation matrix_band_part matrix_diag matrix_diag_part matrix_set_diag matrix_transpose "
            "meshgrid one_hot ones ones_like pad parallel_stack placeholder placeholder_with_default quantize quantize_v2 quantized_concat rank "
            "repeat required_space_to_batch_paddings reshape reverse reverse_sequence reverse_v2 scatter_nd searchsorted sequence_mask setdiff1d "
            "shape shape_n size slice space_to_batch space_to_batch_nd space_to_depth sparse_mask sparse_placeholder split squeeze stack "
            "stop_gradient strided_slice tensor_diag_part=diag_part tensor_scatter_add tensor_scatter_max=tensor_scatter_nd_max "
            "tensor_scatter_min=tensor_scatter_nd_min tensor_scatter_nd_update tensor_scatter_sub tile transpose unique unique_with_counts "
            "unravel_index unstack where where_v2 zeros zeros_like",
        "debugging": "check_numerics",
        "quantization": "quantize_and_dequantize quantize_and_dequantize_v2",
    },
    "ops.array_ops_stack": {"": "stack unstack"},
    "ops.batch_ops": {"": "batch_function=nondifferentiable_batch_function", "python.ops.gen_batch_ops": "batch unbatch unbatch_grad"},
    "ops.bitwise_ops": {"bitwise": "bitwise_and bitwise_or bitwise_xor invert left_shift right_shift"},
    "ops.candidate_sampling_ops": {
        "nn":
            "all_candidate_sampler compute_accidental_hits fixed_unigram_candidate_sampler learned_unigram_candidate_sampler "
            "log_uniform_candidate_sampler uniform_candidate_sampler",
    },
    "ops.check_ops": {
        "":
            "assert_equal assert_greater assert_greater_equal assert_integer assert_less assert_less_equal assert_near assert_negative "
            "assert_non_negative assert_non_positive assert_none_equal assert_positive assert_proper_iterable assert_rank assert_rank_at_least "
            "assert_rank_in assert_same_float_dtype assert_scalar assert_type ensure_shape is_non_decreasing is_numeric_tensor "
            "is_strictly_increasing",
        "debugging": "assert_shapes",
    },
    "ops.clip_ops": {"": "clip_by_average_norm clip_by_global_norm clip_by_norm clip_by_value global_norm"},
    "ops.cond": {"": "cond"},
    "ops.confusion_matrix": {"": "confusion_matrix confusion_matrix_v1=confusion_matrix"},
    "ops.control_flow_assert": {"": "Assert"},
    "ops.control_flow_case": {"": "case"},
    "ops.control_flow_ops": {"": "Assert case cond group no_op tuple while_loop", "_internal.control_flow": "with_dependencies"},
    "ops.ctc_ops": {
        "nn": "collapse_repeated ctc_beam_search_decoder ctc_beam_search_decoder_v2 ctc_greedy_decoder ctc_loss ctc_loss_v2 ctc_unique_labels",
    },
    "ops.custom_gradient": {"": "UnconnectedGradients custom_gradient grad_pass_through recompute_grad"},
    "ops.data_flow_ops": {
        "":
            "ConditionalAccumulator ConditionalAccumulatorBase FIFOQueue PaddingFIFOQueue PriorityQueue QueueBase RandomShuffleQueue "
            "SparseConditionalAccumulator dynamic_partition dynamic_stitch",
        "_internal.staging": "MapStagingArea StagingArea",
    },
    "ops.distributions.distribution": {"distributions": "Distribution FULLY_REPARAMETERIZED NOT_REPARAMETERIZED ReparameterizationType"},
    "ops.distributions.distributions": {"distributions": "*"},
    "ops.embedding_ops": {"nn": "embedding_lookup embedding_lookup_sparse safe_embedding_lookup_sparse"},
    "ops.functional_ops": {"": "foldl foldr scan"},
    "ops.gradient_checker": {"test": "compute_gradient compute_gradient_error"},
    "ops.gradients": {"": "AggregationMethod GradientTape UnconnectedGradients custom_gradient gradients hessians"},
    "ops.gradients_impl": {"": "UnconnectedGradients gradients hessians"},
    "ops.histogram_ops": {"": "histogram_fixed_width histogram_fixed_width_bins"},
    "ops.image_ops": {
        "image":
            "ResizeMethodV1=ResizeMethod adjust_contrast adjust_hue adjust_jpeg_quality adjust_saturation central_crop combined_non_max_suppression "
            "convert_image_dtype crop_and_resize_v1=crop_and_resize crop_to_bounding_box decode_and_crop_jpeg decode_bmp decode_gif decode_image "
            "decode_jpeg decode_png decode_webp draw_bounding_boxes encode_jpeg encode_png extract_glimpse extract_jpeg_shape flip_left_right "
            "flip_up_down generate_bounding_box_proposals grayscale_to_rgb hsv_to_rgb image_gradients is_jpeg non_max_suppression "
            "non_max_suppression_padded non_max_suppression_with_overlaps=non_max_suppression_overlaps non_max_suppression_with_scores "
            "pad_to_bounding_box per_image_standardization psnr random_contrast random_flip_left_right random_flip_up_down random_hue "
            "random_jpeg_quality random_saturation resize_area resize_bicubic resize_bilinear resize_image_with_crop_or_pad "
            "resize_image_with_pad_v1=resize_image_with_pad resize_images resize_nearest_neighbor rgb_to_grayscale rgb_to_hsv rgb_to_yiq rgb_to_yuv "
            "rot90 sample_distorted_bounding_box sobel_edges ssim ssim_multiscale total_variation transpose yiq_to_rgb yuv_to_rgb",
    },
    "ops.image_ops_impl": {
        "image":
            "ResizeMethod ResizeMethodV1=ResizeMethod adjust_brightness adjust_contrast adjust_gamma adjust_hue adjust_jpeg_quality "
            "adjust_saturation central_crop combined_non_max_suppression convert_image_dtype crop_and_resize_v1=crop_and_resize "
            "crop_to_bounding_box decode_and_crop_jpeg decode_bmp decode_gif decode_image decode_jpeg decode_png decode_webp draw_bounding_boxes "
            "encode_jpeg encode_png extract_glimpse extract_jpeg_shape flip_left_right flip_up_down generate_bounding_box_proposals "
            "grayscale_to_rgb image_gradients is_jpeg non_max_suppression non_max_suppression_padded "
            "non_max_suppression_with_overlaps=non_max_suppression_overlaps non_max_suppression_with_scores pad_to_bounding_box "
            "per_image_standardization psnr random_brightness random_contrast random_flip_left_right random_flip_up_down random_hue "
            "random_jpeg_quality random_saturation resize_area resize_bicubic resize_bilinear resize_image_with_crop_or_pad "
            "resize_image_with_pad_v1=resize_image_with_pad resize_images resize_nearest_neighbor rgb_to_grayscale rgb_to_yiq rgb_to_yuv rot90 "
            "sample_distorted_bounding_box sobel_edges ssim ssim_multiscale total_variation transpose yiq_to_rgb yuv_to_rgb",
    },
    "ops.init_ops": {
        "":
            "Constant=constant_initializer GlorotNormal=glorot_normal_initializer GlorotUniform=glorot_uniform_initializer Ones=ones_initializer "
            "Orthogonal=orthogonal_initializer RandomNormal=random_normal_initializer RandomUniform=random_uniform_initializer "
            "TruncatedNormal=truncated_normal_initializer UniformUnitScaling=uniform_unit_scaling_initializer "
            "VarianceScaling=variance_scaling_initializer Zeros=zeros_initializer constant_initializer glorot_normal_initializer "
            "glorot_uniform_initializer ones_initializer orthogonal_initializer random_normal_initializer random_uniform_initializer "
            "truncated_normal_initializer uniform_unit_scaling_initializer variance_scaling_initializer zeros_initializer",
        "initializers": "Identity=identity he_normal he_uniform identity_initializer=identity lecun_normal lecun_uniform",
    },
    "ops.io_ops": {
        "":
            "FixedLengthRecordReader IdentityReader ReaderBase TFRecordReader TextLineReader WholeFileReader matching_files read_file "
            "serialize_tensor write_file",
    },
    "ops.linalg.linalg": {"linalg": "*"},
    "ops.linalg_ops": {
        "":
            "cholesky cholesky_solve eye matrix_determinant matrix_inverse matrix_solve matrix_solve_ls matrix_square_root matrix_triangular_solve "
            "norm qr self_adjoint_eig self_adjoint_eigvals svd",
        "linalg": "log_matrix_determinant=slogdet lu matrix_logarithm=logm",
    },
    "ops.logging_ops": {"": "Print print_v2=print timestamp"},
    "ops.lookup_ops": {
        "": "initialize_all_tables tables_initializer",
        "lookup":
            "KeyValueTensorInitializer StaticHashTable StaticHashTableV1=StaticHashTable StaticVocabularyTable "
            "StaticVocabularyTableV1=StaticVocabularyTable TextFileIndex TextFileInitializer",
    },
    "ops.losses.losses": {"losses": "*"},
    "ops.losses.losses_impl": {
        "losses":
            "Reduction absolute_difference compute_weighted_loss cosine_distance hinge_loss huber_loss log_loss mean_pairwise_squared_error "
            "mean_squared_error sigmoid_cross_entropy softmax_cross_entropy sparse_softmax_cross_entropy",
    },
    "ops.losses.util": {"losses": "add_loss get_losses get_regularization_loss get_regularization_losses get_total_loss"},
    "ops.manip_ops": {"": "roll"},
    "ops.map_fn": {"": "map_fn"},
    "ops.map_ops": {"_internal.tensor_maps": "*"},
    "ops.math_ops": {
        "":
            "abs accumulate_n acos add add_n angle arg_max arg_min argmax argmin atan2 betainc cast ceil complex conj count_nonzero cross cumprod "
            "cumsum div div_no_nan divide equal exp floor floor_div floordiv floormod greater greater_equal igamma igammac imag is_finite is_inf "
            "is_nan less less_equal linspace linspace_nd=lin_space log_sigmoid logical_and logical_not logical_or logical_xor matmul mod multiply "
            "not_equal polygamma pow range real realdiv reduce_all reduce_all_v1=reduce_all reduce_any reduce_any_v1=reduce_any reduce_logsumexp "
            "reduce_logsumexp_v1=reduce_logsumexp reduce_max reduce_max_v1=reduce_max reduce_mean reduce_mean_v1=reduce_mean reduce_min "
            "reduce_min_v1=reduce_min reduce_prod reduce_prod_v1=reduce_prod reduce_sum reduce_sum_v1=reduce_sum round rsqrt saturate_cast "
            "scalar_mul segment_max segment_mean segment_min segment_prod segment_sum sigmoid sign sparse_matmul sparse_segment_mean "
            "sparse_segment_sqrt_n sparse_segment_sum sqrt squared_difference subtract tensordot to_bfloat16 to_complex128 to_complex64 to_double "
            "to_float to_int32 to_int64 trace truediv truncatediv truncatemod unsorted_segment_max unsorted_segment_mean unsorted_segment_min "
            "unsorted_segment_prod unsorted_segment_sqrt_n unsorted_segment_sum zeta",
        "linalg": "matvec",
        "math":
            "acosh asin asinh atan atanh cos cosh cumulative_logsumexp digamma erf erfc erfcinv erfinv expm1 floor_mod=floormod lgamma log log1p "
            "multiply_no_nan ndtri neg=negative negative next_after=nextafter nextafter polyval reciprocal reciprocal_no_nan reduce_euclidean_norm "
            "reduce_std reduce_variance rint sin sinh sobol_sample square tan xdivy xlog1py xlogy",
        "nn": "softplus tanh",
    },
    "ops.metrics": {"metrics": "*"},
    "ops.metrics_impl": {
        "metrics":
            "accuracy auc average_precision_at_k false_negatives false_negatives_at_thresholds false_positives false_positives_at_thresholds mean "
            "mean_absolute_error mean_cosine_distance mean_iou mean_per_class_accuracy mean_relative_error mean_squared_error mean_tensor "
            "percentage_below precision precision_at_k precision_at_thresholds precision_at_top_k recall recall_at_k recall_at_thresholds "
            "recall_at_top_k root_mean_squared_error sensitivity_at_specificity sparse_average_precision_at_k sparse_precision_at_k "
            "specificity_at_sensitivity true_negatives true_negatives_at_thresholds true_positives true_positives_at_thresholds",
    },
    "ops.nn": {"nn": "*"},
    "ops.nn_impl": {
        "linalg": "normalize",
        "nn":
            "batch_norm_with_global_normalization batch_normalization depthwise_conv2d fused_batch_norm l2_normalize log_poisson_loss moments "
            "nce_loss normalize_moments relu_layer sampled_softmax_loss separable_conv2d sigmoid_cross_entropy_with_logits sufficient_statistics "
            "swish weighted_cross_entropy_with_logits weighted_moments zero_fraction",
    },
    "ops.nn_ops": {
        "": "approx_top_k conv conv2d_backprop_filter_v2 conv2d_backprop_input_v2",
        "nn":
            "approx_max_k approx_min_k atrous_conv2d atrous_conv2d_transpose avg_pool avg_pool1d avg_pool2d avg_pool3d avg_pool_v2 bias_add conv1d "
            "conv1d_transpose conv2d conv2d_backprop_filter conv2d_backprop_input conv2d_transpose conv3d_backprop_filter_v2 conv3d_transpose "
            "conv3d_v1=conv3d conv_transpose convolution crelu depthwise_conv2d_native depthwise_conv2d_native_backprop_filter "
            "depthwise_conv2d_native_backprop_input dilation2d_v1=dilation2d dropout erosion2d fractional_avg_pool fractional_max_pool in_top_k "
            "l2_loss leaky_relu local_response_normalization log_softmax lrn max_pool max_pool1d max_pool2d max_pool3d max_pool_v2 "
            "max_pool_with_argmax_v1=max_pool_with_argmax pool quantized_avg_pool quantized_conv2d quantized_max_pool quantized_relu_x relu6 "
            "softmax softmax_cross_entropy_with_logits softmax_cross_entropy_with_logits_v2 "
            "softmax_cross_entropy_with_logits_v2_helper=softmax_cross_entropy_with_logits_v2 sparse_softmax_cross_entropy_with_logits top_k "
            "with_space_to_batch xw_plus_b",
    },
    "ops.parsing_ops": {
        "":
            "FixedLenFeature FixedLenSequenceFeature SparseFeature VarLenFeature decode_compressed decode_csv decode_json_example decode_raw "
            "decode_raw_v1=decode_raw parse_example parse_single_example parse_single_sequence_example parse_tensor",
        "io": "RaggedFeature parse_sequence_example",
    },
    "ops.partitioned_variables": {
        "": "create_partitioned_variables fixed_size_partitioner min_max_variable_partitioner variable_axis_size_partitioner",
    },
    "ops.ragged.ragged_factory_ops": {"ragged": "constant constant_value placeholder"},
    "ops.ragged.ragged_tensor": {"": "RaggedTensor RaggedTensorSpec"},
    "ops.random_ops": {
        "": "multinomial random_gamma random_normal random_poisson random_shuffle random_uniform truncated_normal",
        "random": "categorical", "random._stateful": "parameterized_truncated_normal",
    },
    "ops.ref_variable": {"_internal.ref_variable": "RefVariable"},
    "ops.resource_variable_ops": {"_internal.resource_variable": "ResourceVariable"},
    "ops.rnn": {"nn": "bidirectional_dynamic_rnn dynamic_rnn raw_rnn static_bidirectional_rnn static_rnn static_state_saving_rnn"},
    "ops.rnn_cell": {"nn.rnn_cell": "*"},
    "ops.rnn_cell_impl": {
        "_internal.rnn_base": "LayerRNNCell",
        "nn.rnn_cell": "BasicLSTMCell BasicRNNCell DeviceWrapper DropoutWrapper GRUCell LSTMCell LSTMStateTuple MultiRNNCell RNNCell ResidualWrapper",
    },
    "ops.script_ops": {"": "eager_py_func=py_function numpy_function py_func"},
    "ops.session_ops": {"": "delete_session_tensor get_session_handle get_session_tensor"},
    "ops.sets": {"sets": "set_difference set_intersection set_size set_union"},
    "ops.sets_impl": {"sets": "set_difference set_intersection set_size set_union"},
    "ops.signal.signal": {"signal": "*"},
    "ops.sort_ops": {"": "argsort sort"},
    "ops.sparse_ops": {
        "":
            "bincount deserialize_many_sparse serialize_many_sparse serialize_sparse sparse_add sparse_concat sparse_fill_empty_rows sparse_maximum "
            "sparse_merge sparse_minimum sparse_reduce_max sparse_reduce_max_sparse sparse_reduce_sum sparse_reduce_sum_sparse sparse_reorder "
            "sparse_reset_shape sparse_reshape sparse_retain sparse_slice sparse_softmax sparse_split sparse_tensor_dense_matmul "
            "sparse_tensor_to_dense sparse_to_dense sparse_to_indicator sparse_transpose",
        "math": "unary_op=bessel_i1e",
        "sparse":
            "from_dense sparse_bincount=bincount sparse_cross=cross sparse_cross_hashed=cross_hashed sparse_expand_dims=expand_dims sparse_eye=eye",
    },
    "ops.special_math_ops": {"": "einsum lbeta", "math": "bessel_i0 bessel_i0e bessel_i1 bessel_i1e"},
    "ops.state_ops": {
        "":
            "assign assign_add assign_sub batch_scatter_update count_up_to is_variable_initialized scatter_add scatter_div scatter_max scatter_min "
            "scatter_mul scatter_nd_add scatter_nd_sub scatter_nd_update scatter_sub scatter_update",
    },
    "ops.stateless_random_ops": {
        "random":
            "fold_in split stateless_categorical stateless_multinomial stateless_parameterized_truncated_normal "
            "stateless_random_binomial=stateless_binomial stateless_random_gamma=stateless_gamma stateless_random_normal=stateless_normal "
            "stateless_random_poisson=stateless_poisson stateless_random_uniform=stateless_uniform stateless_truncated_normal",
    },
    "ops.string_ops": {
        "":
            "as_string decode_base64 encode_base64 reduce_join regex_replace string_join string_split string_strip string_to_hash_bucket "
            "string_to_hash_bucket_fast string_to_hash_bucket_strong string_to_hash_bucket_v1=string_to_hash_bucket string_to_number "
            "string_to_number_v1=string_to_number substr_deprecated=substr",
        "strings":
            "regex_full_match string_format=format string_length=length string_lower=lower string_upper=upper substr unicode_script "
            "unicode_transcode unsorted_segment_join",
    },
    "ops.template": {"": "make_template"},
    "ops.tensor_array_ops": {"": "TensorArray TensorArraySpec"},
    "ops.variable_scope": {
        "":
            "AUTO_REUSE VariableAggregation VariableScope VariableSynchronization get_local_variable get_variable get_variable_scope no_regularizer "
            "variable_creator_scope variable_creator_scope_v1=variable_creator_scope variable_op_scope variable_scope",
    },
    "ops.variables": {
        "":
            "Variable VariableAggregation VariableSynchronization all_variables assert_variables_initialized global_variables "
            "global_variables_initializer initialize_all_variables initialize_local_variables initialize_variables local_variables "
            "local_variables_initializer model_variables moving_average_variables report_uninitialized_variables trainable_variables "
            "variables_initializer",
    },
    "ops.while_loop": {"": "while_loop"},
    "platform.app": {"app": "*"},
    "platform.flags": {"flags": "*"},
    "platform.gfile": {"gfile": "*"},
    "platform.googletest": {"test": "TestCase main"},
    "platform.test": {"test": "*"},
    "platform.tf_logging": {"logging": "*"},
    "profiler.model_analyzer": {"profiler": "Profiler advise profile"},
    "profiler.option_builder": {"profiler": "ProfileOptionBuilder"},
    "profiler.tfprof_logger": {"profiler": "write_op_log"},
    "pywrap_tensorflow": {"train": "NewCheckpointReader"},
    "saved_model.builder": {"saved_model.builder": "*"},
    "saved_model.builder_impl": {"saved_model.builder": "SavedModelBuilder"},
    "saved_model.constants": {"saved_model.constants": "*"},
    "saved_model.load": {"saved_model": "load"},
    "saved_model.loader": {"saved_model.loader": "*"},
    "saved_model.loader_impl": {"saved_model": "contains_saved_model load maybe_saved_model_directory"},
    "saved_model.main_op": {"saved_model.main_op": "*"},
    "saved_model.main_op_impl": {"saved_model": "main_op_with_restore", "saved_model.main_op": "main_op"},
    "saved_model.saved_model": {"saved_model": "*"},
    "saved_model.signature_constants": {"saved_model.signature_constants": "*", "saved_model": "DEFAULT_TRAIN_SIGNATURE_DEF_KEY=TRAINING"},
    "saved_model.signature_def_utils": {"saved_model.signature_def_utils": "*"},
    "saved_model.signature_def_utils_impl": {
        "saved_model": "build_signature_def classification_signature_def is_valid_signature predict_signature_def regression_signature_def",
    },
    "saved_model.simple_save": {"saved_model": "simple_save"},
    "saved_model.tag_constants": {"saved_model.tag_constants": "*"},
    "saved_model.utils": {"saved_model.utils": "*"},
    "saved_model.utils_impl": {"saved_model": "build_tensor_info get_tensor_from_tensor_info"},
    "summary.summary": {"summary": "*"},
    "summary.summary_iterator": {"train": "summary_iterator"},
    "summary.writer.writer": {"summary": "FileWriter"},
    "summary.writer.writer_cache": {"summary": "FileWriter FileWriterCache"},
    "training.adadelta": {"train": "AdadeltaOptimizer"},
    "training.adagrad": {"train": "AdagradOptimizer"},
    "training.adagrad_da": {"train": "AdagradDAOptimizer"},
    "training.adam": {"train": "AdamOptimizer"},
    "training.basic_loops": {"train": "basic_train_loop"},
    "training.basic_session_run_hooks": {
        "": "SessionLog Summary",
        "summary": "SummaryWriterCache=FileWriterCache",
        "train":
            "CheckpointSaverHook CheckpointSaverListener FeedFnHook FinalOpsHook GlobalStepWaiterHook LoggingTensorHook NanLossDuringTrainingError "
            "NanTensorHook ProfilerHook SecondOrStepTimer SessionRunArgs StepCounterHook StopAtStepHook SummarySaverHook",
    },
    "training.checkpoint_management": {
        "train":
            "checkpoint_exists generate_checkpoint_state_proto get_checkpoint_mtimes get_checkpoint_state latest_checkpoint remove_checkpoint "
            "update_checkpoint_state",
    },
    "training.checkpoint_ops": {
        "train._checkpoint_ops":
            "_load_and_remap_matrix=load_and_remap_matrix _load_and_remap_matrix_initializer=load_and_remap_matrix_initializer "
            "_load_embedding_initializer=load_embedding_initializer",
    },
    "training.checkpoint_utils": {"train": "checkpoints_iterator init_from_checkpoint list_variables load_checkpoint load_variable"},
    "training.coordinator": {"train": "Coordinator LooperThread"},
    "training.device_setter": {"train": "replica_device_setter"},
    "training.ftrl": {"train": "FtrlOptimizer"},
    "training.gradient_descent": {"train": "GradientDescentOptimizer"},
    "training.input": {
        "train":
            "batch batch_join input_producer limit_epochs match_filenames_once maybe_batch maybe_batch_join maybe_shuffle_batch "
            "maybe_shuffle_batch_join range_input_producer shuffle_batch shuffle_batch_join slice_input_producer string_input_producer",
    },
    "training.learning_rate_decay": {
        "train":
            "cosine_decay cosine_decay_restarts exponential_decay inverse_time_decay linear_cosine_decay natural_exp_decay "
            "noisy_linear_cosine_decay piecewise_constant polynomial_decay",
    },
    "training.momentum": {"train": "MomentumOptimizer"},
    "training.monitored_session": {
        "train": "ChiefSessionCreator MonitoredSession MonitoredTrainingSession Scaffold SessionCreator SingularMonitoredSession WorkerSessionCreator",
    },
    "training.moving_averages": {"train": "ExponentialMovingAverage", "train.moving_averages": "assign_moving_average"},
    "training.optimizer": {"train": "Optimizer"},
    "training.proximal_adagrad": {"train": "ProximalAdagradOptimizer"},
    "training.proximal_gradient_descent": {"train": "ProximalGradientDescentOptimizer"},
    "training.py_checkpoint_reader": {"train": "NewCheckpointReader"},
    "training.quantize_training": {"train": "do_quantize_training_on_graphdef"},
    "training.queue_runner": {"train": "QueueRunner add_queue_runner start_queue_runners"},
    "training.queue_runner_impl": {"train": "QueueRunner add_queue_runner start_queue_runners"},
    "training.rmsprop": {"train": "RMSPropOptimizer"},
    "training.saver": {
        "train":
            "Saver checkpoint_exists export_meta_graph generate_checkpoint_state_proto get_checkpoint_mtimes get_checkpoint_state import_meta_graph "
            "latest_checkpoint remove_checkpoint update_checkpoint_state",
    },
    "training.server_lib": {"train": "ClusterSpec"},
    "training.session_manager": {"train": "SessionManager"},
    "training.session_run_hook": {"train": "SessionRunArgs SessionRunContext SessionRunHook SessionRunValues"},
    "training.slot_creator": {"train.slot_creator": "create_slot create_slot_with_initializer create_zeros_slot"},
    "training.summary_io": {"summary": "SummaryWriterCache=FileWriterCache", "train": "summary_iterator"},
    "training.supervisor": {"": "SessionLog Summary", "train": "Supervisor"},
    "training.sync_replicas_optimizer": {"train": "SyncReplicasOptimizer"},
    "training.training": {"train": "*"},
    "training.training_util": {"train": "assert_global_step create_global_step get_global_step get_or_create_global_step global_step write_graph"},
    "training.warm_starting_util": {"train": "VocabInfo warm_start"},
    "util.compat": {"compat": "*"},
    "util.nest": {"nest": "*"},
}
