"""Variables by name: ``tf.get_variable`` makes or finds them, ``tf.variable_scope`` says what their names begin with and what their arguments
are by default."""

from __future__ import annotations

import contextlib
import enum
import functools
from collections.abc import Callable, Iterator
from typing import Any

from flowmill._internal.apply import graph_of
from flowmill._internal.convert import convert_to_tensor
from flowmill._internal.graph import get_default_graph
from flowmill._internal.graph_keys import GraphKeys
from flowmill._internal.variable import Variable, variable_creator_scope
from flowmill._internal.variable_modes import VariableAggregation, VariableSynchronization
from flowmill._internal.variable_store import VariableStore, takes
from flowmill.dtypes import as_dtype

__all__ = [
    "AUTO_REUSE", "VariableScope", "get_local_variable", "get_variable", "get_variable_scope", "no_regularizer", "variable_creator_scope",
    "variable_op_scope", "variable_scope",
]


class _ReuseMode(enum.Enum):
    AUTO_REUSE = 1


#: Makes variables that do not exist, and finds those that do.
AUTO_REUSE = _ReuseMode.AUTO_REUSE

# The key of the collection that holds a graph's variables by name.
_STORE = ("__variable_store",)


class _Scopes:
    """A graph's variable scope, and how often each was opened."""

    def __init__(self):
        self.current = VariableScope(False)
        self.counts: dict[str, int] = {}

    def open(self, name: str) -> None:
        self.counts[name] = self.counts.get(name, 0) + 1

    def close_within(self, name: str) -> None:
        """Forgets the scopes inside of one, so that their names are given again when it is opened again."""
        inside = name + "/"
        self.counts = {scope: count for scope, count in self.counts.items() if name and not scope.startswith(inside)}

    def unique(self, prefix: str) -> str:
        whole = f"{self.current.name}/{prefix}" if self.current.name else prefix
        if not self.counts.get(whole):
            return prefix
        number = 1
        while self.counts.get(f"{whole}_{number}"):
            number += 1
        return f"{prefix}_{number}"


def _scopes() -> _Scopes:
    # A thread has its own scope, which lies with what it is otherwise in the middle of.
    here = get_default_graph()._thread.here
    found = getattr(here, "variable_scopes", None)
    if found is None:
        found = here.variable_scopes = _Scopes()
    return found


def _store() -> VariableStore:
    found = get_default_graph().get_collection_ref(_STORE)
    if not found:
        found.append(VariableStore())
    return found[0]


def get_variable_scope() -> VariableScope:
    """Returns the variable scope that is open."""
    return _scopes().current


def no_regularizer(_) -> None:
    """Returns a regularizer that regularizes nothing, in the place of a scope's."""
    return None


class VariableScope:
    """The defaults of `get_variable`: the prefix of names, and the arguments that are not given.

    Args:
        reuse: False to make variables, True to find those there are, :data:`AUTO_REUSE` for both.
        name: what names begin with.
        initializer, regularizer, caching_device, partitioner, custom_getter, dtype, use_resource, constraint: arguments of :func:`get_variable`
            by default.
        name_scope: the name scope that it was opened with.
    """

    def __init__(self, reuse, name: str = "", initializer=None, regularizer=None, caching_device=None, partitioner=None, custom_getter=None,
                 name_scope: str = "", dtype="float32", use_resource: bool | None = None, constraint=None):
        self._name, self._reuse, self._name_scope = name, reuse, name_scope
        self._initializer, self._regularizer, self._caching_device, self._partitioner = initializer, regularizer, caching_device, partitioner
        self._custom_getter, self._dtype, self._use_resource, self._constraint = custom_getter, as_dtype(dtype), use_resource, constraint

    @property
    def name(self) -> str:
        """The prefix of names."""
        return self._name

    @property
    def original_name_scope(self) -> str:
        """The name scope that it was opened with first, with a slash at its end."""
        return self._name_scope

    @property
    def reuse(self) -> Any:
        """True if existing variables are used."""
        return self._reuse

    @property
    def initializer(self) -> Any:
        """The initializer by default."""
        return self._initializer

    @property
    def dtype(self) -> Any:
        """The type by default."""
        return self._dtype

    @property
    def use_resource(self) -> bool | None:
        """True if variables are resource variables by default."""
        return self._use_resource

    @property
    def regularizer(self) -> Any:
        """The regularizer by default."""
        return self._regularizer

    @property
    def caching_device(self) -> Any:
        """The caching device by default."""
        return self._caching_device

    @property
    def partitioner(self) -> Any:
        """The partitioner by default."""
        return self._partitioner

    @property
    def custom_getter(self) -> Any:
        """The function that is called to make variables."""
        return self._custom_getter

    @property
    def constraint(self) -> Any:
        """The constraint by default."""
        return self._constraint

    def reuse_variables(self) -> None:
        """Makes `get_variable` use existing variables, and make no new ones."""
        self._reuse = True

    def set_initializer(self, initializer) -> None:
        """Sets the initializer by default."""
        self._initializer = initializer

    def set_dtype(self, dtype) -> None:
        """Sets the type by default."""
        self._dtype = as_dtype(dtype)

    def set_use_resource(self, use_resource: bool) -> None:
        """Sets whether variables are resource variables by default."""
        self._use_resource = use_resource

    def set_regularizer(self, regularizer) -> None:
        """Sets the regularizer by default."""
        self._regularizer = regularizer

    def set_caching_device(self, caching_device) -> None:
        """Sets the caching device by default."""
        self._caching_device = caching_device

    def set_partitioner(self, partitioner) -> None:
        """Sets the partitioner by default."""
        self._partitioner = partitioner

    def set_custom_getter(self, custom_getter) -> None:
        """Sets what is asked for variables."""
        self._custom_getter = custom_getter

    def get_collection(self, name) -> list:
        """Returns the items of a collection whose names begin with the scope's."""
        return get_default_graph().get_collection(name, self._name + "/" if self._name else self._name)

    def trainable_variables(self) -> list[Variable]:
        """Returns the trainable variables of the scope."""
        return self.get_collection(GraphKeys.TRAINABLE_VARIABLES)

    def global_variables(self) -> list[Variable]:
        """Returns the global variables of the scope."""
        return self.get_collection(GraphKeys.GLOBAL_VARIABLES)

    def local_variables(self) -> list[Variable]:
        """Returns the local variables of the scope."""
        return self.get_collection(GraphKeys.LOCAL_VARIABLES)

    def get_variable(self, var_store: VariableStore, name: str | None, shape=None, dtype=None, initializer=None, regularizer=None, reuse=None,
                     trainable=None, collections=None, caching_device=None, partitioner=None, validate_shape=True, use_resource=None,
                     custom_getter=None, constraint=None, synchronization=VariableSynchronization.AUTO, aggregation=VariableAggregation.NONE):
        """Like the function :func:`get_variable`, for a store of variables."""
        graph = get_default_graph()
        # A variable without a name has that of the scope.
        whole = self._name if name is None else f"{self._name}/{name}" if self._name else name
        with graph.name_scope(None):
            if dtype is not None and initializer is not None and not callable(initializer):
                found = convert_to_tensor(initializer).dtype.base_dtype
                if found != dtype:
                    raise ValueError(f"Initializer type '{found}' and explicit dtype '{as_dtype(dtype)}' don't match.")

            return var_store.get_variable(
                whole, shape=shape, trainable=trainable, collections=collections, validate_shape=validate_shape, synchronization=synchronization,
                aggregation=aggregation, dtype=self._dtype if dtype is None else dtype,
                initializer=self._initializer if initializer is None else initializer,
                regularizer=self._regularizer if regularizer is None else regularizer, reuse=self._reuse if reuse is None else reuse,
                caching_device=self._caching_device if caching_device is None else caching_device,
                partitioner=self._partitioner if partitioner is None else partitioner,
                use_resource=self._use_resource if use_resource is None else use_resource,
                custom_getter=self._custom_getter if custom_getter is None else custom_getter,
                constraint=self._constraint if constraint is None else constraint)

    def _copy(self, **changed) -> VariableScope:
        arguments = {
            "reuse": self._reuse, "name": self._name, "initializer": self._initializer, "regularizer": self._regularizer,
            "caching_device": self._caching_device, "partitioner": self._partitioner, "custom_getter": self._custom_getter,
            "name_scope": self._name_scope, "dtype": self._dtype, "use_resource": self._use_resource, "constraint": self._constraint}
        return VariableScope(**{**arguments, **changed})


def get_variable(name: str | None, shape=None, dtype=None, initializer=None, regularizer=None, trainable=None, collections=None, caching_device=None,
                 partitioner=None, validate_shape=True, use_resource=None, custom_getter=None, constraint=None,
                 synchronization=VariableSynchronization.AUTO, aggregation=VariableAggregation.NONE):
    """The variable of this name in the variable scope that is open: a new one, or if the scope says so the one that there is.

    Args:
        name: its name, which the scope's name is put before; that of the scope if it is None.
        shape: its shape.
        dtype: its type; the scope's, which is `float32`.
        initializer: an initializer or its class, a function without arguments, or a value or tensor, which says the shape. By default uniform
            numbers for floating-point types (see `glorot_uniform_initializer`), zeros for others.
        regularizer: a function of the variable whose result is added to ``GraphKeys.REGULARIZATION_LOSSES``.
        trainable: whether optimizers change it by default.
        collections: names of collections to add it to; ``[GraphKeys.GLOBAL_VARIABLES]`` if it is None.
        caching_device: a device, or function that chooses one, to keep a copy for readers on.
        partitioner: a function of shape and type that gives the number of parts in each dimension.
        validate_shape: whether the shape of the initial value must be known.
        use_resource: whether it is a resource variable.
        custom_getter: a function that is asked instead, as ``f(getter, name, **arguments)``.
        constraint: a function of the value that optimizers apply after changing it.
        synchronization, aggregation: kept and saved.

    Returns:
        A `Variable`, or a `PartitionedVariable` if there is a partitioner.

    Raises:
        ValueError: if the scope says to make a variable that exists, or to find one that does not, or the shape or type is not the variable's.
    """
    return get_variable_scope().get_variable(
        _store(), name, shape=shape, dtype=dtype, initializer=initializer, regularizer=regularizer, trainable=trainable, collections=collections,
        caching_device=caching_device, partitioner=partitioner, validate_shape=validate_shape, use_resource=use_resource,
        custom_getter=custom_getter, constraint=constraint, synchronization=synchronization, aggregation=aggregation)


def get_local_variable(name: str, shape=None, dtype=None, initializer=None, regularizer=None, trainable=False, collections=None,
                       caching_device=None, partitioner=None, validate_shape=True, use_resource=None, custom_getter=None, constraint=None,
                       synchronization=VariableSynchronization.AUTO, aggregation=VariableAggregation.NONE):
    """Like :func:`get_variable`, for a local variable, which is neither trained nor saved."""
    collections = [*(collections or ()), GraphKeys.LOCAL_VARIABLES]
    return get_variable(
        name, shape=shape, dtype=dtype, initializer=initializer, regularizer=regularizer, trainable=False, collections=collections,
        caching_device=caching_device, partitioner=partitioner, validate_shape=validate_shape, use_resource=use_resource,
        custom_getter=custom_getter, constraint=constraint, synchronization=synchronization, aggregation=aggregation)


def _chained(custom_getter, old: Callable | None):
    """Returns a getter that asks another for what it asks for."""
    if old is None:
        return custom_getter

    def chained(getter, *args, **kwargs):
        return custom_getter(functools.partial(old, getter), *args, **kwargs)

    # Which of the optional arguments it can be given.
    chained._takes = functools.partial(takes, custom_getter)  # type: ignore[attr-defined]
    return chained


@contextlib.contextmanager
def _opened(name_or_scope, old_name_scope: str | None, reuse, defaults: dict) -> Iterator[VariableScope]:
    """Opens a variable scope, without a name scope."""
    scopes = _scopes()
    outer = scopes.current
    custom_getter = defaults.pop("custom_getter")
    given = {key: value for key, value in defaults.items() if value is not None}
    counts = None
    if isinstance(name_or_scope, VariableScope):
        base = name_or_scope
        given["reuse"] = base.reuse if not reuse else reuse
        given["name_scope"] = base._name_scope if old_name_scope is None else old_name_scope
        counts = dict(scopes.counts)
    else:
        base = outer
        given["name"] = f"{outer.name}/{name_or_scope}" if outer.name else name_or_scope
        given["reuse"] = reuse or outer.reuse
        given["name_scope"] = name_or_scope if old_name_scope is None else old_name_scope
    if custom_getter is not None:
        given["custom_getter"] = _chained(custom_getter, base.custom_getter)
    entered = base._copy(**given)
    scopes.open(entered.name)
    scopes.current = entered
    try:
        yield entered
    finally:
        scopes.close_within(entered.name)
        if counts is not None:
            scopes.counts = counts
        scopes.current = outer


def reserved(name: str | None, default_name: str, custom_getter=None) -> VariableScope:
    """Returns a variable scope to be opened later; no other gets its name. `default_name` is made unique if `name` is None."""
    defaults = dict.fromkeys(("initializer", "regularizer", "caching_device", "partitioner", "dtype", "use_resource", "constraint"))
    with _opened(name or _scopes().unique(default_name), None, False, {**defaults, "custom_getter": custom_getter}) as scope:
        return scope


class variable_scope:  # noqa: N801 - TensorFlow's name
    """A context manager that opens a variable scope, and a name scope of the same name.

    Args:
        name_or_scope: a name, or a scope that is opened again.
        default_name: what to call it, made unique, if `name_or_scope` is None.
        values: tensors whose graph to use.
        initializer, regularizer, caching_device, partitioner, custom_getter, dtype, use_resource, constraint: arguments of :func:`get_variable`
            by default.
        reuse: True to find variables, :data:`AUTO_REUSE` to find or make them, None for what the surrounding scope says.
        auxiliary_name_scope: whether to open a name scope.
    """

    def __init__(self, name_or_scope, default_name: str | None = None, values=None, initializer=None, regularizer=None, caching_device=None,
                 partitioner=None, custom_getter=None, reuse=None, dtype=None, use_resource: bool | None = None, constraint=None,
                 auxiliary_name_scope: bool = True):
        if default_name is None and name_or_scope is None:
            raise TypeError("If default_name is None then name_or_scope is required")
        if reuse is False:
            reuse = None
        if reuse not in (None, True, AUTO_REUSE):
            raise ValueError("The reuse parameter must be True or False or None.")
        if not isinstance(auxiliary_name_scope, bool):
            raise TypeError(f"The auxiliary_name_scope must be `True` or `False`, while get {auxiliary_name_scope}")
        self._name_or_scope, self._default_name, self._reuse, self._named = name_or_scope, default_name, reuse, auxiliary_name_scope
        self._defaults = {
            "initializer": initializer, "regularizer": regularizer, "caching_device": caching_device, "partitioner": partitioner,
            "custom_getter": custom_getter, "dtype": dtype, "use_resource": use_resource, "constraint": constraint}
        self._graph = graph_of(values or ())
        self._entered: list[tuple[contextlib.ExitStack, VariableScope]] = []

    def __enter__(self) -> VariableScope:
        stack = contextlib.ExitStack()
        try:
            scope = self._enter(stack)
        except BaseException:
            stack.close()
            raise
        self._entered.append((stack, scope))
        return scope

    def __exit__(self, *exc_info) -> None:
        stack, scope = self._entered[-1]
        if _scopes().current is not scope:
            raise RuntimeError("Improper nesting of variable_scope.")
        self._entered.pop()
        stack.__exit__(*exc_info)

    def __call__(self, function) -> Any:
        """Wraps a function, as a decorator: opens the scope whenever the function is called."""
        @functools.wraps(function)
        def within(*args, **kwargs):
            with self:
                return function(*args, **kwargs)
        return within

    def _enter(self, stack: contextlib.ExitStack) -> VariableScope:
        if self._graph is not get_default_graph():
            stack.enter_context(self._graph.as_default())
        graph, chosen = self._graph, self._name_or_scope
        if not isinstance(chosen, (str, VariableScope, type(None))):
            raise TypeError("VariableScope: name_or_scope must be a string or VariableScope.")
        present = graph.get_name_scope() and graph.get_name_scope() + "/"
        if chosen is None:
            if self._reuse:
                raise ValueError("reuse=True cannot be used without a name_or_scope")
            names = stack.enter_context(graph.name_scope(self._default_name if self._named else present))
            return stack.enter_context(_opened(_scopes().unique(self._default_name), names, False, dict(self._defaults)))
        last = chosen if isinstance(chosen, str) else chosen.name.split("/")[-1]
        old = None
        if last or not self._named:
            names = stack.enter_context(graph.name_scope(last if self._named else present))
            old = names if isinstance(chosen, str) else chosen.original_name_scope
        return stack.enter_context(_opened(chosen, old, self._reuse, dict(self._defaults)))


@contextlib.contextmanager
def variable_op_scope(values, name_or_scope, default_name=None, initializer=None, regularizer=None, caching_device=None, partitioner=None,
                      custom_getter=None, reuse=None, dtype=None, use_resource=None, constraint=None) -> Iterator[VariableScope]:
    """Like :class:`variable_scope`, with the values first."""
    with variable_scope(name_or_scope, default_name=default_name, values=values, initializer=initializer, regularizer=regularizer,
                        caching_device=caching_device, partitioner=partitioner, custom_getter=custom_getter, reuse=reuse, dtype=dtype,
                        use_resource=use_resource, constraint=constraint) as scope:
        yield scope
