"""Numbers with few bits: ``tf.quantization``."""

from __future__ import annotations

from flowmill._internal.array._blocks import (
    dequantize, fake_quant_with_min_max_args, fake_quant_with_min_max_args_gradient, fake_quant_with_min_max_vars,
    fake_quant_with_min_max_vars_gradient, fake_quant_with_min_max_vars_per_channel, fake_quant_with_min_max_vars_per_channel_gradient, quantize,
    quantize_and_dequantize, quantize_and_dequantize_v2, quantized_concat,
)

__all__ = [
    "dequantize", "fake_quant_with_min_max_args", "fake_quant_with_min_max_args_gradient", "fake_quant_with_min_max_vars_gradient",
    "fake_quant_with_min_max_vars_per_channel_gradient", "fake_quant_with_min_max_vars", "fake_quant_with_min_max_vars_per_channel", "quantize",
    "quantize_and_dequantize", "quantize_and_dequantize_v2", "quantized_concat",
]
