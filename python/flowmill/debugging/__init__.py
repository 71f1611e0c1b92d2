"""Conditions that are checked while a graph is built, where their values are known, and while it runs: ``tf.debugging``."""

from __future__ import annotations

from flowmill._internal.control_flow import Assert
from flowmill.debugging._check_numerics import disable_check_numerics, enable_check_numerics
from flowmill.debugging._properties import (
    assert_integer, assert_proper_iterable, assert_rank, assert_rank_at_least, assert_rank_in, assert_same_float_dtype, assert_scalar, assert_shapes,
    assert_type, is_numeric_tensor,
)
from flowmill.debugging._switches import (
    disable_traceback_filtering, enable_traceback_filtering, get_log_device_placement,
    is_traceback_filtering_enabled, set_log_device_placement,
)
from flowmill.debugging._values import (
    add_check_numerics_ops, assert_all_finite, assert_equal, assert_greater, assert_greater_equal, assert_less, assert_less_equal, assert_near,
    assert_negative, assert_non_negative, assert_non_positive, assert_none_equal, assert_positive, check_numerics, verify_tensor_all_finite,
)
from flowmill.math import is_finite, is_inf, is_nan, is_non_decreasing, is_strictly_increasing

__all__ = [
    "Assert", "add_check_numerics_ops", "assert_all_finite", "assert_equal", "assert_greater", "assert_greater_equal", "assert_integer",
    "assert_less", "assert_less_equal", "assert_near", "assert_negative", "assert_non_negative", "assert_non_positive", "assert_none_equal",
    "assert_positive", "assert_proper_iterable", "assert_rank", "assert_rank_at_least", "assert_rank_in", "assert_same_float_dtype",
    "assert_scalar", "assert_shapes", "assert_type", "check_numerics", "disable_check_numerics", "disable_traceback_filtering",
    "enable_check_numerics", "enable_traceback_filtering", "get_log_device_placement", "is_finite", "is_inf", "is_nan", "is_non_decreasing",
    "is_numeric_tensor", "is_strictly_increasing", "is_traceback_filtering_enabled", "set_log_device_placement", "verify_tensor_all_finite",
]
