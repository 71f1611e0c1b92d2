"""Gradients compared with differences: whether an op's gradient is right."""

from __future__ import annotations

import numpy as np

import flowmill as tf
from flowmill._internal.session import get_default_session

__all__ = ["compute_gradient", "compute_gradient_error"]


def compute_gradient(x, x_shape, y, y_shape, x_init_value=None, delta: float = 1e-3, init_targets=None, extra_feed_dict=None):
    """Returns the derivatives of `y` by `x` in two ways, in the default session.

    Args:
        x: a tensor, or a list of them.
        x_shape: its shape, or theirs.
        y: a tensor that depends on it.
        y_shape: its shape.
        x_init_value: the place, or places; random numbers if it is None.
        delta: how far to go for differences.
        init_targets: operations to run first.
        extra_feed_dict: what else to feed.

    Returns:
        Two matrices with a row for each element of `x` and a column for each of `y`: by gradients and by differences. Complex numbers count as two
        elements. For a list it returns a list of such pairs.

    Raises:
        ValueError: if `y` has a type without gradients, or is no tensor of the shape.
    """
    is_list = isinstance(x, list)
    xs, shapes = (x, x_shape) if is_list else ([x], [x_shape])
    values = x_init_value if is_list and x_init_value is not None else [x_init_value] * len(xs)
    session = get_default_session()
    if init_targets is not None:
        for target in init_targets if isinstance(init_targets, (list, tuple)) else [init_targets]:
            session.run(target)
    for tensor in [*xs, y]:
        if not (tensor.dtype.is_floating or tensor.dtype.is_complex):
            raise ValueError(f"Type {tensor.dtype.name} has no gradients.")
    feeds = dict(extra_feed_dict or {})
    for tensor, shape, value in zip(xs, shapes, values):
        kind = tensor.dtype.base_dtype.as_numpy_dtype
        if value is None:
            value = np.random.random_sample(tuple(shape))
            if tensor.dtype.is_complex:
                value = value + 1j * np.random.random_sample(tuple(shape))
        feeds[tensor] = np.array(value, dtype=kind)
    found = []
    grads = _gradients(xs, y, y_shape, feeds, session)
    for tensor, grad in zip(xs, grads):
        found.append((grad, _differences(tensor, y, y_shape, feeds, delta, session)))
    return found if is_list else found[0]


def compute_gradient_error(x, x_shape, y, y_shape, x_init_value=None, delta: float = 1e-3, init_targets=None, extra_feed_dict=None) -> float:
    """Returns the largest difference between what :func:`compute_gradient` gives in both ways; its arguments are the same."""
    found = compute_gradient(x, x_shape, y, y_shape, x_init_value, delta, init_targets, extra_feed_dict)
    pairs = found if isinstance(found, list) else [found]
    return max((float(np.abs(a - b).max()) if a.size else 0.0 for a, b in pairs), default=0.0)


def _reals(array: np.ndarray) -> np.ndarray:
    """Returns the elements in a row, parts of complex ones beside each other."""
    flat = np.ascontiguousarray(array).reshape(-1)
    return flat.view(flat.real.dtype) if flat.dtype.kind == "c" else flat


def _gradients(xs: list, y, y_shape, feeds: dict, session) -> list[np.ndarray]:
    """Returns the derivatives by gradients: one step for each element of `y`."""
    dy = tf.placeholder(y.dtype.base_dtype, y_shape)
    dxs = tf.gradients(y, xs, grad_ys=dy)
    direction = np.zeros(tuple(y_shape), y.dtype.base_dtype.as_numpy_dtype)
    columns = _reals(direction)
    found = [np.zeros((_reals(feeds[x]).size, columns.size), _reals(feeds[x]).dtype) for x in xs]
    for i in range(columns.size):
        columns[i] = 1
        values = iter(session.run([dx for dx in dxs if dx is not None], {**feeds, dy: direction}))
        for matrix, x, dx in zip(found, xs, dxs):
            if dx is not None:
                matrix[:, i] = _reals(_dense(next(values), feeds[x]))
        columns[i] = 0
    return found


def _dense(grad, like: np.ndarray) -> np.ndarray:
    """Returns a gradient as an array, also one that is kept as slices."""
    if not hasattr(grad, "indices"):
        return np.asarray(grad)
    whole = np.zeros_like(like)
    np.add.at(whole, grad.indices, grad.values)
    return whole


def _differences(x, y, y_shape, feeds: dict, delta: float, session) -> np.ndarray:
    """Returns the derivatives by differences: two steps for each element of `x`."""
    place = feeds[x].copy()
    moved = _reals(place)
    rows = []
    for i in range(moved.size):
        kept = moved[i]
        ends = []
        for step in (delta, -delta):
            moved[i] = kept + step
            ends.append(_reals(np.asarray(session.run(y, {**feeds, x: place}))))
        moved[i] = kept
        rows.append((ends[0] - ends[1]) / (2 * delta))
    count = _reals(np.zeros(tuple(y_shape), y.dtype.base_dtype.as_numpy_dtype)).size
    return np.array(rows, dtype=moved.dtype).reshape(moved.size, count)
