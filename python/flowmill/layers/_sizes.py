"""Sizes of windows, and of what comes out."""

from __future__ import annotations


def sizes(value, n: int, name: str, allow_zero: bool = False) -> tuple[int, ...]:
    """Returns a size for each of `n` dimensions.

    Raises:
        ValueError: for another number of them, or those that are not positive.
    """
    wrong = f"The `{name}` argument must be a tuple of {n} integers. Received: {value}"
    if isinstance(value, int):
        found = (value,) * n
    else:
        try:
            found = tuple(int(v) for v in value)
        except (TypeError, ValueError):
            raise ValueError(wrong) from None
    if len(found) != n:
        raise ValueError(wrong)
    bad = {v for v in found if v < 0 or v == 0 and not allow_zero}
    if bad:
        raise ValueError(f"{wrong} including {bad} that does not satisfy the requirement `{'>=' if allow_zero else '>'} 0`.")
    return found


def padding_of(value: str) -> str:
    """``"valid"`` or ``"same"``.

    Raises:
        ValueError: for anything else.
    """
    found = value.lower()
    if found not in ("valid", "same", "causal"):
        raise ValueError(f'The `padding` argument must be a list/tuple or one of "valid", "same" (or "causal", only for `Conv1D). Received: {found}')
    return found


def data_format_of(value: str) -> str:
    """``"channels_first"`` or ``"channels_last"``.

    Raises:
        ValueError: for anything else.
    """
    found = value.lower()
    if found not in ("channels_first", "channels_last"):
        raise ValueError(f'The `data_format` argument must be one of "channels_first", "channels_last". Received: {value}')
    return found


def op_format(data_format: str, ndim: int) -> str:
    """Returns the format as ops call it."""
    spatial = {3: "W", 4: "HW", 5: "DHW"}[ndim]
    return f"N{spatial}C" if data_format == "channels_last" else f"NC{spatial}"


def window_length(length: int | None, window: int, padding: str, stride: int, dilation: int = 1) -> int | None:
    """Returns the number of positions of a window; None if the length is not known."""
    if length is None:
        return None
    reach = window + (window - 1) * (dilation - 1)
    found = length if padding in ("same", "causal") else length - reach + 1
    return (found + stride - 1) // stride


def transposed_length(length, window: int, padding: str, stride: int):
    """Returns the length that :func:`window_length` windows can come of, a number or a tensor; None if it is not known."""
    if length is None:
        return None
    return length * stride + max(window - stride, 0) if padding == "valid" else length * stride
