"""Conditionals with more than two branches."""

from __future__ import annotations

import collections
import functools

from flowmill._internal.apply import call, graph_of
from flowmill._internal.cond_v2 import indexed_case
from flowmill._internal.control_flow import Assert, cond
from flowmill._internal.convert import constant, convert_to_tensor
from flowmill._internal.graph import get_default_graph
from flowmill._internal.tensor import Tensor


def case(pred_fn_pairs, default=None, exclusive: bool = False, strict: bool = False, name: str | None = None):
    """Returns the result of the function that belongs to the first predicate that is true when the graph runs.

    Args:
        pred_fn_pairs: a list of pairs of a boolean scalar and a function without arguments; or a dictionary, which is gone through by the predicates'
            names unless it is an OrderedDict. All functions give the same structure of tensors.
        default: the function if none is true. Without, the step fails then.
        exclusive: lets the step fail if several are true.
        strict: returns lists of one element as lists, instead of the element.
        name: the name of the scope.

    Raises:
        TypeError: if there are no pairs of a tensor of booleans and a function.
    """
    predicates, functions = _pairs(pred_fn_pairs)
    graph = graph_of(predicates)
    with graph.as_default(), graph.name_scope(name or "case"):
        if default is None:
            default, predicates, functions = _last_as_default(predicates, functions)
        chosen = default
        for predicate, function in reversed(list(zip(predicates, functions))):
            chosen = functools.partial(cond, predicate, true_fn=function, false_fn=chosen, strict=strict)
        if not exclusive:
            return chosen()
        with graph.control_dependencies([_at_most(predicates, 1, "Input error: exclusive=True")]):
            return chosen()


def switch_case(branch_index, branch_fns, default=None, name: str | None = None):
    """Returns the result of the function whose number is `branch_index` when the graph runs. The branches are functions in any case.

    Args:
        branch_index: an integer scalar.
        branch_fns: functions without arguments: a list, or a dictionary or pairs with the numbers 0, 1, …
        default: the function for numbers that none has, the last one if it is None.
        name: the name of the scope.

    Raises:
        TypeError: if there are no such functions, or they give structures or types that differ.
        ValueError: if the numbers have gaps.
    """
    functions = _numbered(branch_index, branch_fns, default)
    graph = graph_of([branch_index])
    with graph.as_default(), graph.name_scope(name or "switch_case"):
        return indexed_case(graph, branch_index, functions)


def _numbered(branch_index, branch_fns, default) -> list:
    """Returns the functions in the order of their numbers."""
    if not isinstance(branch_index, Tensor):
        raise TypeError(f"'branch_index' must be a Tensor, got {type(branch_index)}")
    if not branch_index.dtype.is_integer:
        raise TypeError(f"'branch_index' must be an integer Tensor, got {branch_index.dtype!r}")
    if not branch_fns:
        raise ValueError("Must provide at least one item in 'branch_fns'")
    if not isinstance(branch_fns, (list, tuple, dict)):
        raise TypeError("'branch_fns' must be a list, tuple, or dict")
    pairs = list(branch_fns.items() if isinstance(branch_fns, dict) else branch_fns)
    if all(callable(fn) for fn in pairs):
        pairs = list(enumerate(pairs))
    for pair in pairs:
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise TypeError(f"Each entry in 'branch_fns' must be a 2-tuple. Received {pair}.")
        if not isinstance(pair[0], int):
            raise TypeError(f"key must be a Python `int`, got {type(pair[0])}")
        if not callable(pair[1]):
            raise TypeError(f"fn for key {pair[0]} must be callable.")
    keys = sorted(key for key, _ in pairs)
    if keys != list(range(len(keys))):
        raise ValueError(f"branch indices (keys) must form contiguous range of [0 to {len(keys)}) but found {{{','.join(map(str, keys))}}}")
    functions = [fn for _, fn in sorted(pairs, key=lambda pair: pair[0])]
    return functions if default is None else [*functions, default]


def _pairs(pred_fn_pairs) -> tuple[tuple, tuple]:
    if not isinstance(pred_fn_pairs, (list, tuple, dict)):
        raise TypeError(f"'pred_fn_pairs' must be a list, tuple, or dict. Received: {type(pred_fn_pairs)}")
    if isinstance(pred_fn_pairs, collections.OrderedDict):
        pred_fn_pairs = list(pred_fn_pairs.items())
    elif isinstance(pred_fn_pairs, dict):
        pred_fn_pairs = sorted(pred_fn_pairs.items(), key=lambda item: item[0].name)
    for pair in pred_fn_pairs:
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise TypeError(f"Each entry in 'pred_fn_pairs' must be a 2-tuple. Received {pair}.")
        predicate, function = pair
        if not isinstance(predicate, Tensor):
            raise TypeError(f"pred must be a Tensor, got: {predicate}")
        if predicate.dtype.base_dtype.name != "bool":
            raise TypeError(f"pred must be Tensor of type bool: {predicate.name}")
        if not callable(function):
            raise TypeError(f"fn for pred {predicate.name} must be callable.")
    return tuple(zip(*pred_fn_pairs))


def _at_most(predicates, n: int, message: str):
    """Returns an operation that fails if more than `n` of the predicates are true."""
    together = convert_to_tensor(list(predicates), name="preds_c")
    as_numbers = call("Cast", None, together, DstT="int32")
    count = call("Sum", "num_true_conds", as_numbers, constant([0], "int32"), keep_dims=False)
    is_fine = call("LessEqual", None, count, constant(n, name="n_true_conds"))
    names = ", ".join(getattr(p, "name", "?") for p in predicates)
    return Assert(is_fine, [f"{message}: more than {n} conditions ({names}) evaluated as True:", together], summarize=len(predicates))


def _last_as_default(predicates, functions):
    """Returns the last function as what is left, with a check that its predicate is true."""
    last = len(predicates) - 1

    def default():
        only_last = f"Implementation error: selected default action #{last} was called, but some of other predicates are True: "
        none = ("Input error: None of conditions evaluated as True:", convert_to_tensor(list(predicates), name="preds_c"))
        with get_default_graph().control_dependencies([_at_most(predicates[:last], 0, only_last), Assert(predicates[last], none)]):
            return functions[last]()

    return default, predicates[:last], functions[:last]


__all__ = ["case", "switch_case"]
