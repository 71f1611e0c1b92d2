"""Layers of neural networks as functions of tensors: ``tf.nn``. Each is looked up in its module when it is first used."""

from __future__ import annotations

from flowmill._internal import lazy as _lazy

_BY_MODULE = {
    "_activation": "bias_add crelu elu l2_loss leaky_relu log_softmax relu relu6 relu_layer selu silu=swish softclip softmax softplus softsign swish "
                   "xw_plus_b zero_fraction",
    "_convolution": "conv1d conv1d_transpose conv2d conv2d_backprop_filter conv2d_backprop_input conv2d_transpose conv3d conv3d_backprop_filter "
                    "conv3d_backprop_filter_v2=conv3d_backprop_filter conv3d_transpose conv_transpose depthwise_conv2d_backprop_filter "
                    "depthwise_conv2d_backprop_input depthwise_conv2d_native "
                    "depthwise_conv2d_native_backprop_filter=depthwise_conv2d_backprop_filter "
                    "depthwise_conv2d_native_backprop_input=depthwise_conv2d_backprop_input",
    "_atrous": "atrous_conv2d atrous_conv2d_transpose convolution depthwise_conv2d pool separable_conv2d with_space_to_batch",
    "_cross_entropy": "log_poisson_loss sigmoid_cross_entropy_with_logits softmax_cross_entropy_with_logits "
                      "softmax_cross_entropy_with_logits_v2 sparse_softmax_cross_entropy_with_logits weighted_cross_entropy_with_logits "
                      "compute_average_loss scale_regularization_loss",
    "_ctc": "collapse_repeated ctc_beam_search_decoder ctc_beam_search_decoder_v2 ctc_greedy_decoder ctc_loss ctc_unique_labels",
    "_ctc_dense": "ctc_loss_v2",
    "_dropout": "dropout",
    "_embedding": "embedding_lookup embedding_lookup_sparse safe_embedding_lookup_sparse",
    "_normalization": "batch_norm_with_global_normalization batch_normalization fused_batch_norm l2_normalize local_response_normalization "
                      "lrn=local_response_normalization moments normalize_moments sufficient_statistics weighted_moments",
    "_pooling": "avg_pool avg_pool1d avg_pool2d avg_pool3d avg_pool_v2 dilation2d erosion2d fractional_avg_pool fractional_max_pool max_pool "
                "max_pool1d max_pool2d max_pool3d max_pool_v2 max_pool_with_argmax",
    "_quantized": "quantized_avg_pool quantized_conv2d quantized_max_pool quantized_relu_x",
    "_sampling": "all_candidate_sampler compute_accidental_hits fixed_unigram_candidate_sampler learned_unigram_candidate_sampler "
                 "log_uniform_candidate_sampler nce_loss sampled_softmax_loss uniform_candidate_sampler",
    "_top": "in_top_k nth_element top_k",
}

# Names of other modules that are also reached as ``tf.nn.name``.
_ELSEWHERE = {
    "_internal.rnn": "bidirectional_dynamic_rnn dynamic_rnn raw_rnn static_bidirectional_rnn static_rnn static_state_saving_rnn",
    "math": "approx_max_k approx_min_k sigmoid tanh",
    "_internal.array": "depth_to_space space_to_batch space_to_depth",
}


_NAMES = (
    _lazy.table(__name__, _BY_MODULE) | _lazy.table("flowmill", _ELSEWHERE) | _lazy.modules(__name__, "experimental rnn_cell")
)
__all__ = sorted(_NAMES)

__getattr__, __dir__ = _lazy.attach(__name__, _NAMES)
