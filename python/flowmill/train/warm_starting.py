"""Variables that begin with the values of another program's: `warm_start`."""

from __future__ import annotations

import collections
import os
import re

from flowmill import assign
from flowmill._internal.convert import convert_to_tensor
from flowmill._internal.graph import get_default_graph
from flowmill._internal.graph_keys import GraphKeys
from flowmill._internal.tensor import Operation
from flowmill._internal.variable_store import _PartitionInfo
from flowmill._internal.variables import PartitionedVariable, Variable
from flowmill.train._checkpoint_ops import load_and_remap_matrix_initializer
from flowmill.train._readers import latest_checkpoint
from flowmill.train.checkpoint_utils import init_from_checkpoint

__all__ = ["VocabInfo", "warm_start"]

_VocabInfo = collections.namedtuple(
    "VocabInfo", "new_vocab new_vocab_size num_oov_buckets old_vocab old_vocab_size backup_initializer axis")


class VocabInfo(_VocabInfo):
    """The words that the rows of a variable belong to, in the program and in the checkpoint.

    Args:
        new_vocab: the program's file with one word per line.
        new_vocab_size: how many of them the variable has rows for.
        num_oov_buckets: how many rows there are after those, for other words.
        old_vocab: the file of the checkpoint.
        old_vocab_size: how many of them it has rows for, -1 for all.
        backup_initializer: makes the rows of words that the checkpoint does not have; zeros if it is None.
        axis: 0 if words have rows, 1 if they have columns.
    """

    __slots__ = ()

    def __new__(cls, new_vocab, new_vocab_size, num_oov_buckets, old_vocab, old_vocab_size=-1, backup_initializer=None, axis=0):
        if axis not in (0, 1):
            raise ValueError("The only supported values for the axis argument are 0 and 1.  Provided axis: {}".format(axis))
        return super().__new__(cls, new_vocab, new_vocab_size, num_oov_buckets, old_vocab, old_vocab_size, backup_initializer, axis)


def warm_start(ckpt_to_initialize_from, vars_to_warm_start=".*", var_name_to_vocab_info=None, var_name_to_prev_var_name=None) -> None:
    """Makes the initializers of variables take values from a checkpoint.

    Args:
        ckpt_to_initialize_from: the checkpoint, or a directory, whose newest is taken.
        vars_to_warm_start: which variables: a regular expression for the beginning of trainable variables' names; a list of such expressions for the
            names of all variables, or of variables; None for those with a vocabulary alone.
        var_name_to_vocab_info: a :class:`VocabInfo` by the names of variables whose rows belong to words.
        var_name_to_prev_var_name: names in the checkpoint by the names of variables that are called otherwise there.

    Raises:
        ValueError: if a name that is given is not one of a variable that is started, or `vars_to_warm_start` is something else.
    """
    infos, previous = dict(var_name_to_vocab_info or {}), dict(var_name_to_prev_var_name or {})
    grouped = _grouped(vars_to_warm_start)
    for name in infos:
        if name not in grouped:
            grouped.update(_by_name([v for v in _all() if _whole_name(v) == name]))
    for given, what in ((previous, "previous variable name"), (infos, "vocabulary")):
        unknown = sorted(set(given) - set(grouped))
        if unknown:
            raise ValueError(f"You provided the following {what} mappings, which are not of variables that are started: {unknown}")
    whole: dict = {}
    for name, variables in grouped.items():
        source = previous.get(name, name)
        if name in infos:
            _start_by_words(ckpt_to_initialize_from, source, variables, infos[name])
            continue
        if source in whole:  # a tensor that two variables begin with
            init_from_checkpoint(ckpt_to_initialize_from, whole)
            whole = {}
        whole[source] = variables if len(variables) > 1 else variables[0]
    if whole:
        init_from_checkpoint(ckpt_to_initialize_from, whole)


def _all() -> list[Variable]:
    return get_default_graph().get_collection(GraphKeys.GLOBAL_VARIABLES)


def _whole_name(variable: Variable) -> str:
    info = variable._get_save_slice_info()
    return variable.op.name if info is None else info.full_name


def _by_name(variables) -> dict[str, list[Variable]]:
    found: dict[str, list[Variable]] = {}
    for variable in variables:
        found.setdefault(_whole_name(variable), []).append(variable)
    return found


def _grouped(wanted) -> dict[str, list[Variable]]:
    if wanted is None:
        return {}
    graph = get_default_graph()
    if isinstance(wanted, str):
        return _by_name(graph.get_collection(GraphKeys.TRAINABLE_VARIABLES, scope=wanted))
    if isinstance(wanted, list) and all(isinstance(w, str) for w in wanted):
        return _by_name([v for v in _all() if any(re.match(w, v.name) for w in wanted)])
    if isinstance(wanted, list):
        parts = [p for w in wanted for p in (list(w) if isinstance(w, PartitionedVariable) else [w])]
        if all(isinstance(p, Variable) for p in parts):
            return _by_name(parts)
        raise ValueError(
            f"If `vars_to_warm_start` is a list, it must be all `Variable` or all `str`.  Given types are {[type(w) for w in wanted]}")
    raise ValueError(f"`vars_to_warm_start must be a `list` or `str`.  Given type is {type(wanted)}")


def _start_by_words(checkpoint, source: str, variables: list[Variable], info: VocabInfo) -> None:
    """Initializes rows or columns with those of the same words in the checkpoint."""
    if not (info.new_vocab and info.new_vocab_size and checkpoint and info.old_vocab):
        raise ValueError("Invalid args: Must provide all of [current_vocab_path, current_vocab_size, prev_ckpt, prev_vocab_path}.")
    path = os.fspath(checkpoint)
    path = latest_checkpoint(path) if os.path.isdir(path) else path
    num_rows = sum(v.shape.as_list()[0] for v in variables)
    for variable in variables:
        shape, part = variable.shape.as_list(), variable._get_save_slice_info()
        place = None if part is None else _PartitionInfo(part.full_shape, part.var_offset)
        if info.axis == 0:
            initialize = load_and_remap_matrix_initializer(
                path, source, info.new_vocab_size, shape[1], info.old_vocab_size, info.old_vocab, info.new_vocab,
                num_row_oov_buckets=info.num_oov_buckets, initializer=info.backup_initializer)
        else:
            initialize = load_and_remap_matrix_initializer(
                path, source, num_rows, info.new_vocab_size, old_col_vocab_file=info.old_vocab, new_col_vocab_file=info.new_vocab,
                num_col_oov_buckets=info.num_oov_buckets, initializer=info.backup_initializer)
        value = convert_to_tensor(initialize(shape, partition_info=place))
        made = assign(variable, value)
        variable._initializer, variable._initial_value = made if isinstance(made, Operation) else made.op, value
