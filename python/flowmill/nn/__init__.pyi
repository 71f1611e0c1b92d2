# Made by python/make_stubs from the code.

from flowmill._internal.array import depth_to_space as depth_to_space
from flowmill._internal.array import space_to_batch as space_to_batch
from flowmill._internal.array import space_to_depth as space_to_depth
from flowmill._internal.rnn import bidirectional_dynamic_rnn as bidirectional_dynamic_rnn
from flowmill._internal.rnn import dynamic_rnn as dynamic_rnn
from flowmill._internal.rnn import raw_rnn as raw_rnn
from flowmill._internal.rnn import static_bidirectional_rnn as static_bidirectional_rnn
from flowmill._internal.rnn import static_rnn as static_rnn
from flowmill._internal.rnn import static_state_saving_rnn as static_state_saving_rnn
from flowmill.math import approx_max_k as approx_max_k
from flowmill.math import approx_min_k as approx_min_k
from flowmill.math import sigmoid as sigmoid
from flowmill.math import tanh as tanh
from flowmill.nn import experimental as experimental
from flowmill.nn import rnn_cell as rnn_cell
from flowmill.nn._activation import bias_add as bias_add
from flowmill.nn._activation import crelu as crelu
from flowmill.nn._activation import elu as elu
from flowmill.nn._activation import l2_loss as l2_loss
from flowmill.nn._activation import leaky_relu as leaky_relu
from flowmill.nn._activation import log_softmax as log_softmax
from flowmill.nn._activation import relu as relu
from flowmill.nn._activation import relu6 as relu6
from flowmill.nn._activation import relu_layer as relu_layer
from flowmill.nn._activation import selu as selu
from flowmill.nn._activation import swish as _silu
silu = _silu
from flowmill.nn._activation import softclip as softclip
from flowmill.nn._activation import softmax as softmax
from flowmill.nn._activation import softplus as softplus
from flowmill.nn._activation import softsign as softsign
from flowmill.nn._activation import swish as swish
from flowmill.nn._activation import xw_plus_b as xw_plus_b
from flowmill.nn._activation import zero_fraction as zero_fraction
from flowmill.nn._atrous import atrous_conv2d as atrous_conv2d
from flowmill.nn._atrous import atrous_conv2d_transpose as atrous_conv2d_transpose
from flowmill.nn._atrous import convolution as convolution
from flowmill.nn._atrous import depthwise_conv2d as depthwise_conv2d
from flowmill.nn._atrous import pool as pool
from flowmill.nn._atrous import separable_conv2d as separable_conv2d
from flowmill.nn._atrous import with_space_to_batch as with_space_to_batch
from flowmill.nn._convolution import conv1d as conv1d
from flowmill.nn._convolution import conv1d_transpose as conv1d_transpose
from flowmill.nn._convolution import conv2d as conv2d
from flowmill.nn._convolution import conv2d_backprop_filter as conv2d_backprop_filter
from flowmill.nn._convolution import conv2d_backprop_input as conv2d_backprop_input
from flowmill.nn._convolution import conv2d_transpose as conv2d_transpose
from flowmill.nn._convolution import conv3d as conv3d
from flowmill.nn._convolution import conv3d_backprop_filter as conv3d_backprop_filter
from flowmill.nn._convolution import conv3d_backprop_filter as _conv3d_backprop_filter_v2
conv3d_backprop_filter_v2 = _conv3d_backprop_filter_v2
from flowmill.nn._convolution import conv3d_transpose as conv3d_transpose
from flowmill.nn._convolution import conv_transpose as conv_transpose
from flowmill.nn._convolution import depthwise_conv2d_backprop_filter as depthwise_conv2d_backprop_filter
from flowmill.nn._convolution import depthwise_conv2d_backprop_input as depthwise_conv2d_backprop_input
from flowmill.nn._convolution import depthwise_conv2d_native as depthwise_conv2d_native
from flowmill.nn._convolution import depthwise_conv2d_backprop_filter as _depthwise_conv2d_native_backprop_filter
depthwise_conv2d_native_backprop_filter = _depthwise_conv2d_native_backprop_filter
from flowmill.nn._convolution import depthwise_conv2d_backprop_input as _depthwise_conv2d_native_backprop_input
depthwise_conv2d_native_backprop_input = _depthwise_conv2d_native_backprop_input
from flowmill.nn._cross_entropy import compute_average_loss as compute_average_loss
from flowmill.nn._cross_entropy import log_poisson_loss as log_poisson_loss
from flowmill.nn._cross_entropy import scale_regularization_loss as scale_regularization_loss
from flowmill.nn._cross_entropy import sigmoid_cross_entropy_with_logits as sigmoid_cross_entropy_with_logits
from flowmill.nn._cross_entropy import softmax_cross_entropy_with_logits as softmax_cross_entropy_with_logits
from flowmill.nn._cross_entropy import softmax_cross_entropy_with_logits_v2 as softmax_cross_entropy_with_logits_v2
from flowmill.nn._cross_entropy import sparse_softmax_cross_entropy_with_logits as sparse_softmax_cross_entropy_with_logits
from flowmill.nn._cross_entropy import weighted_cross_entropy_with_logits as weighted_cross_entropy_with_logits
from flowmill.nn._ctc import collapse_repeated as collapse_repeated
from flowmill.nn._ctc import ctc_beam_search_decoder as ctc_beam_search_decoder
from flowmill.nn._ctc import ctc_beam_search_decoder_v2 as ctc_beam_search_decoder_v2
from flowmill.nn._ctc import ctc_greedy_decoder as ctc_greedy_decoder
from flowmill.nn._ctc import ctc_loss as ctc_loss
from flowmill.nn._ctc import ctc_unique_labels as ctc_unique_labels
from flowmill.nn._ctc_dense import ctc_loss_v2 as ctc_loss_v2
from flowmill.nn._dropout import dropout as dropout
from flowmill.nn._embedding import embedding_lookup as embedding_lookup
from flowmill.nn._embedding import embedding_lookup_sparse as embedding_lookup_sparse
from flowmill.nn._embedding import safe_embedding_lookup_sparse as safe_embedding_lookup_sparse
from flowmill.nn._normalization import batch_norm_with_global_normalization as batch_norm_with_global_normalization
from flowmill.nn._normalization import batch_normalization as batch_normalization
from flowmill.nn._normalization import fused_batch_norm as fused_batch_norm
from flowmill.nn._normalization import l2_normalize as l2_normalize
from flowmill.nn._normalization import local_response_normalization as local_response_normalization
from flowmill.nn._normalization import local_response_normalization as _lrn
lrn = _lrn
from flowmill.nn._normalization import moments as moments
from flowmill.nn._normalization import normalize_moments as normalize_moments
from flowmill.nn._normalization import sufficient_statistics as sufficient_statistics
from flowmill.nn._normalization import weighted_moments as weighted_moments
from flowmill.nn._pooling import avg_pool as avg_pool
from flowmill.nn._pooling import avg_pool1d as avg_pool1d
from flowmill.nn._pooling import avg_pool2d as avg_pool2d
from flowmill.nn._pooling import avg_pool3d as avg_pool3d
from flowmill.nn._pooling import avg_pool_v2 as avg_pool_v2
from flowmill.nn._pooling import dilation2d as dilation2d
from flowmill.nn._pooling import erosion2d as erosion2d
from flowmill.nn._pooling import fractional_avg_pool as fractional_avg_pool
from flowmill.nn._pooling import fractional_max_pool as fractional_max_pool
from flowmill.nn._pooling import max_pool as max_pool
from flowmill.nn._pooling import max_pool1d as max_pool1d
from flowmill.nn._pooling import max_pool2d as max_pool2d
from flowmill.nn._pooling import max_pool3d as max_pool3d
from flowmill.nn._pooling import max_pool_v2 as max_pool_v2
from flowmill.nn._pooling import max_pool_with_argmax as max_pool_with_argmax
from flowmill.nn._quantized import quantized_avg_pool as quantized_avg_pool
from flowmill.nn._quantized import quantized_conv2d as quantized_conv2d
from flowmill.nn._quantized import quantized_max_pool as quantized_max_pool
from flowmill.nn._quantized import quantized_relu_x as quantized_relu_x
from flowmill.nn._sampling import all_candidate_sampler as all_candidate_sampler
from flowmill.nn._sampling import compute_accidental_hits as compute_accidental_hits
from flowmill.nn._sampling import fixed_unigram_candidate_sampler as fixed_unigram_candidate_sampler
from flowmill.nn._sampling import learned_unigram_candidate_sampler as learned_unigram_candidate_sampler
from flowmill.nn._sampling import log_uniform_candidate_sampler as log_uniform_candidate_sampler
from flowmill.nn._sampling import nce_loss as nce_loss
from flowmill.nn._sampling import sampled_softmax_loss as sampled_softmax_loss
from flowmill.nn._sampling import uniform_candidate_sampler as uniform_candidate_sampler
from flowmill.nn._top import in_top_k as in_top_k
from flowmill.nn._top import nth_element as nth_element
from flowmill.nn._top import top_k as top_k

__all__ = [
    "all_candidate_sampler",
    "approx_max_k",
    "approx_min_k",
    "atrous_conv2d",
    "atrous_conv2d_transpose",
    "avg_pool",
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool3d",
    "avg_pool_v2",
    "batch_norm_with_global_normalization",
    "batch_normalization",
    "bias_add",
    "bidirectional_dynamic_rnn",
    "collapse_repeated",
    "compute_accidental_hits",
    "compute_average_loss",
    "conv1d",
    "conv1d_transpose",
    "conv2d",
    "conv2d_backprop_filter",
    "conv2d_backprop_input",
    "conv2d_transpose",
    "conv3d",
    "conv3d_backprop_filter",
    "conv3d_backprop_filter_v2",
    "conv3d_transpose",
    "conv_transpose",
    "convolution",
    "crelu",
    "ctc_beam_search_decoder",
    "ctc_beam_search_decoder_v2",
    "ctc_greedy_decoder",
    "ctc_loss",
    "ctc_loss_v2",
    "ctc_unique_labels",
    "depth_to_space",
    "depthwise_conv2d",
    "depthwise_conv2d_backprop_filter",
    "depthwise_conv2d_backprop_input",
    "depthwise_conv2d_native",
    "depthwise_conv2d_native_backprop_filter",
    "depthwise_conv2d_native_backprop_input",
    "dilation2d",
    "dropout",
    "dynamic_rnn",
    "elu",
    "embedding_lookup",
    "embedding_lookup_sparse",
    "erosion2d",
    "experimental",
    "fixed_unigram_candidate_sampler",
    "fractional_avg_pool",
    "fractional_max_pool",
    "fused_batch_norm",
    "in_top_k",
    "l2_loss",
    "l2_normalize",
    "leaky_relu",
    "learned_unigram_candidate_sampler",
    "local_response_normalization",
    "log_poisson_loss",
    "log_softmax",
    "log_uniform_candidate_sampler",
    "lrn",
    "max_pool",
    "max_pool1d",
    "max_pool2d",
    "max_pool3d",
    "max_pool_v2",
    "max_pool_with_argmax",
    "moments",
    "nce_loss",
    "normalize_moments",
    "nth_element",
    "pool",
    "quantized_avg_pool",
    "quantized_conv2d",
    "quantized_max_pool",
    "quantized_relu_x",
    "raw_rnn",
    "relu",
    "relu6",
    "relu_layer",
    "rnn_cell",
    "safe_embedding_lookup_sparse",
    "sampled_softmax_loss",
    "scale_regularization_loss",
    "selu",
    "separable_conv2d",
    "sigmoid",
    "sigmoid_cross_entropy_with_logits",
    "silu",
    "softclip",
    "softmax",
    "softmax_cross_entropy_with_logits",
    "softmax_cross_entropy_with_logits_v2",
    "softplus",
    "softsign",
    "space_to_batch",
    "space_to_depth",
    "sparse_softmax_cross_entropy_with_logits",
    "static_bidirectional_rnn",
    "static_rnn",
    "static_state_saving_rnn",
    "sufficient_statistics",
    "swish",
    "tanh",
    "top_k",
    "uniform_candidate_sampler",
    "weighted_cross_entropy_with_logits",
    "weighted_moments",
    "with_space_to_batch",
    "xw_plus_b",
    "zero_fraction",
]
