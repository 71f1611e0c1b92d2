"""Learning rates that follow from the number of steps."""

from __future__ import annotations

import math

from flowmill._internal.apply import call
from flowmill._internal.cases import case
from flowmill._internal.constants import is_tensor_like
from flowmill._internal.control_flow import cond
from flowmill._internal.convert import constant, convert_to_tensor
from flowmill._internal.graph import get_default_graph
from flowmill._internal.tensor import Tensor
from flowmill.random import random_normal


def _cast(value, dtype) -> Tensor:
    """Returns a tensor of the rate's type: numbers become tensors of their own type first."""
    if is_tensor_like(value):
        return value if value.dtype.base_dtype is dtype else call("Cast", None, value, DstT=dtype)
    with get_default_graph().name_scope("Cast") as scope:
        found = convert_to_tensor(value, name="x")
        return found if found.dtype is dtype else call("Cast", scope, found, DstT=dtype)


def _needs_step(global_step, what: str) -> None:
    if global_step is None:
        raise ValueError(f"global_step is required for {what}.")


def _periods(learning_rate, global_step, decay_steps, decay_rate, staircase: bool) -> tuple[Tensor, Tensor, Tensor]:
    """The rate to begin with, what it decays by, and how many times it did, whole ones for a staircase."""
    rate = convert_to_tensor(learning_rate, name="initial_learning_rate")
    dtype = rate.dtype.base_dtype
    steps = _cast(decay_steps, dtype)
    decay = _cast(decay_rate, dtype)
    periods = _cast(global_step, dtype) / steps
    return rate, decay, call("Floor", None, periods) if staircase else periods


def exponential_decay(learning_rate, global_step, decay_steps, decay_rate, staircase: bool = False, name: str | None = None) -> Tensor:
    """``learning_rate * decay_rate ** (global_step / decay_steps)``; `staircase` takes the whole part of the quotient."""
    _needs_step(global_step, "exponential_decay")
    with get_default_graph().name_scope(name or "ExponentialDecay") as scope:
        rate, decay, periods = _periods(learning_rate, global_step, decay_steps, decay_rate, staircase)
        return call("Mul", scope, rate, call("Pow", None, decay, periods))


def natural_exp_decay(learning_rate, global_step, decay_steps, decay_rate, staircase: bool = False, name: str | None = None) -> Tensor:
    """``learning_rate * exp(-decay_rate * global_step / decay_steps)``; `staircase` takes the whole part of the quotient."""
    _needs_step(global_step, "natural_exp_decay")
    decay = call("Exp", None, call("Neg", None, decay_rate))
    return exponential_decay(learning_rate, global_step, decay_steps, decay, staircase, name)


def inverse_time_decay(learning_rate, global_step, decay_steps, decay_rate, staircase: bool = False, name: str | None = None) -> Tensor:
    """``learning_rate / (1 + decay_rate * global_step / decay_steps)``; `staircase` takes the whole part of the quotient."""
    _needs_step(global_step, "inverse_time_decay")
    with get_default_graph().name_scope(name or "InverseTimeDecay") as scope:
        rate, decay, periods = _periods(learning_rate, global_step, decay_steps, decay_rate, staircase)
        one = _cast(constant(1), rate.dtype.base_dtype)
        return call("RealDiv", scope, rate, call("AddV2", "Add", one, call("Mul", None, decay, periods)))


def polynomial_decay(learning_rate, global_step, decay_steps, end_learning_rate=0.0001, power=1.0, cycle: bool = False,
                     name: str | None = None) -> Tensor:
    """Decays from `learning_rate` to `end_learning_rate` over `decay_steps` by a polynomial of degree `power`; `cycle` begins again with longer
    periods."""
    _needs_step(global_step, "polynomial_decay")
    with get_default_graph().name_scope(name or "PolynomialDecay") as scope:
        rate = convert_to_tensor(learning_rate, name="initial_learning_rate")
        dtype = rate.dtype.base_dtype
        end = _cast(end_learning_rate, dtype)
        power = _cast(power, dtype)
        step = _cast(global_step, dtype)
        steps = _cast(decay_steps, dtype)
        if cycle:
            # One period until the first is over, also at step 0.
            is_first = call("Equal", None, step, 0)
            periods = call("Ceil", None, step / decay_steps)
            steps = call("Mul", None, steps, call("SelectV2", None, is_first, 1.0, periods))
        else:
            step = call("Minimum", None, step, steps)
        fraction = step / steps
        return call("AddV2", scope, call("Mul", None, rate - end, call("Pow", None, 1 - fraction, power)), end)


def piecewise_constant(x, boundaries, values, name: str | None = None) -> Tensor:
    """``values[0]`` up to ``boundaries[0]``, ``values[1]`` up to ``boundaries[1]``, …, and the last of `values` beyond.

    Raises:
        ValueError: if there is not one value more than boundaries, or types do not fit.
    """
    if len(boundaries) != len(values) - 1:
        raise ValueError("The length of boundaries should be 1 less than the length of values")
    boundaries = [convert_to_tensor(b) for b in boundaries]
    values = [convert_to_tensor(v) for v in values]
    x_dtype = x.dtype.base_dtype if hasattr(x, "dtype") else convert_to_tensor(x).dtype
    for i, boundary in enumerate(boundaries):
        if boundary.dtype.base_dtype is not x_dtype:
            if boundary.dtype.base_dtype.name != "int32" or x_dtype.name != "int64":
                raise ValueError(f"Boundaries ({boundary.dtype.base_dtype}) must have the same dtype as x ({x_dtype}).")
            boundaries[i] = call("Cast", None, boundary, DstT=x_dtype)
    for value in values[1:]:
        if value.dtype.base_dtype is not values[0].dtype.base_dtype:
            raise ValueError(f"Values must have elements all with the same dtype ({values[0].dtype.base_dtype} vs {value.dtype.base_dtype}).")
    graph = get_default_graph()
    with graph.name_scope(name or "PiecewiseConstant"):
        if not boundaries:
            return call("Identity", None, values[0])
        pairs = [(x <= boundaries[0], lambda: values[0]), (x > boundaries[-1], lambda: values[-1])]
        for low, high, value in zip(boundaries[:-1], boundaries[1:], values[1:-1]):
            pairs.append(((x > low) & (x <= high), lambda value=value: value))
        return case(pairs, lambda: values[0], exclusive=True)


piecewise_constant_decay = piecewise_constant


def cosine_decay(learning_rate, global_step, decay_steps, alpha=0.0, name: str | None = None) -> Tensor:
    """Half a cosine from `learning_rate` to `alpha` of it over `decay_steps` (Loshchilov and Hutter 2016)."""
    _needs_step(global_step, "cosine_decay")
    with get_default_graph().name_scope(name or "CosineDecay"):
        rate = convert_to_tensor(learning_rate, name="initial_learning_rate")
        dtype = rate.dtype.base_dtype
        steps = _cast(decay_steps, dtype)
        step = call("Minimum", None, _cast(global_step, dtype), steps)
        decayed = 0.5 * (1.0 + _cosine(step / steps))
        return call("Mul", None, rate, (1 - alpha) * decayed + alpha)


def _cosine(fraction) -> Tensor:
    """Returns the cosine of `fraction` half turns."""
    return call("Cos", None, convert_to_tensor(math.pi, fraction.dtype.base_dtype) * fraction)


def cosine_decay_restarts(learning_rate, global_step, first_decay_steps, t_mul=2.0, m_mul=1.0, alpha=0.0, name: str | None = None) -> Tensor:
    """Half cosines one after another, each `t_mul` times as long as the one before and beginning at `m_mul` times its height (Loshchilov and
    Hutter 2016)."""
    _needs_step(global_step, "cosine decay restarts")
    with get_default_graph().name_scope(name or "SGDRDecay") as scope:
        rate, first_steps, alpha, t_mul, m_mul = _rate_and(learning_rate, first_decay_steps, alpha, t_mul, m_mul)
        fraction = _cast(global_step, rate.dtype.base_dtype) / first_steps

        def of_equal_lengths():
            restarts = call("Floor", None, fraction)
            return restarts, fraction - restarts

        def of_growing_lengths():
            restarts = call("Floor", None, call("Log", None, 1.0 - fraction * (1.0 - t_mul)) / call("Log", None, t_mul))
            before = (1.0 - t_mul ** restarts) / (1.0 - t_mul)
            return restarts, (fraction - before) / t_mul ** restarts

        restarts, fraction = cond(call("Equal", None, t_mul, 1.0), of_equal_lengths, of_growing_lengths)
        half_height = 0.5 * m_mul ** restarts
        decayed = half_height * (1.0 + _cosine(fraction))
        return call("Mul", scope, rate, (1 - alpha) * decayed + alpha)


def linear_cosine_decay(learning_rate, global_step, decay_steps, num_periods=0.5, alpha=0.0, beta=0.001, name: str | None = None) -> Tensor:
    """Returns a line to zero times a cosine with `num_periods` (Bello et al. 2017): ``(alpha + line) * cosine + beta`` of the rate."""
    _needs_step(global_step, "linear cosine decay")
    with get_default_graph().name_scope(name or "LinearCosineDecay") as scope:
        rate, steps, num_periods, alpha, beta = _rate_and(learning_rate, decay_steps, num_periods, alpha, beta)
        step = call("Minimum", None, _cast(global_step, rate.dtype.base_dtype), steps)
        return _cosine_of_line(scope, rate, step, steps, (steps - step) / steps, num_periods, alpha, beta)


def noisy_linear_cosine_decay(learning_rate, global_step, decay_steps, initial_variance=1.0, variance_decay=0.55, num_periods=0.5, alpha=0.0,
                              beta=0.001, name: str | None = None) -> Tensor:
    """Like :func:`linear_cosine_decay`, with normal noise on the line whose variance is ``initial_variance / (1 + step) ** variance_decay``."""
    _needs_step(global_step, "noisy linear cosine decay")
    with get_default_graph().name_scope(name or "NoisyLinearCosineDecay") as scope:
        rate, steps, variance, variance_decay, num_periods, alpha, beta = _rate_and(
            learning_rate, decay_steps, initial_variance, variance_decay, num_periods, alpha, beta)
        step = call("Minimum", None, _cast(global_step, rate.dtype.base_dtype), steps)
        line = (steps - step) / steps
        deviation = call("Sqrt", None, variance / call("Pow", None, 1.0 + step, variance_decay))
        line = line + random_normal(step.shape, stddev=deviation)
        return _cosine_of_line(scope, rate, step, steps, line, num_periods, alpha, beta)


def _rate_and(learning_rate, *values) -> list[Tensor]:
    """Returns the rate and `values` as tensors of the rate's type."""
    rate = convert_to_tensor(learning_rate, name="initial_learning_rate")
    return [rate] + [_cast(value, rate.dtype.base_dtype) for value in values]


def _cosine_of_line(scope, rate, step, steps, line, num_periods, alpha, beta) -> Tensor:
    completed = step / steps
    cosine = 0.5 * (1.0 + _cosine(2.0 * num_periods * completed))
    return call("Mul", scope, rate, (alpha + line) * cosine + beta)
