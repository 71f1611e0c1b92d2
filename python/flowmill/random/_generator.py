"""`Generator`: random numbers whose generator is a variable."""

from __future__ import annotations

from flowmill import nest
from flowmill._internal.apply import call, op_scope
from flowmill._internal.array import concat, reshape, shape as shape_of, stack, unstack, zeros, zeros_like
from flowmill._internal.convert import convert_to_tensor
from flowmill._internal.graph import get_default_graph
from flowmill._internal.template import init_scope
from flowmill._internal.tensor import Tensor
from flowmill._internal.variables import Variable
from flowmill.dtypes import as_dtype, float32, int32, int64, uint64
from flowmill.math import bitcast, cast, maximum, reduce_prod
from flowmill.random._algorithm import NUMBERS, PHILOX, THREEFRY, algorithm_number, unsupported
from flowmill.random._stateful import shape_argument

__all__ = ["Generator", "create_rng_state", "get_global_generator", "set_global_generator"]

_WORD_BITS = 64


def _counter_size(alg: int) -> int:
    """Returns the numbers of a counter; a state is one more, the key."""
    if alg not in NUMBERS:
        raise ValueError(unsupported(alg))
    return 1 if alg == THREEFRY else 2


def _state_size(alg: int) -> int:
    return _counter_size(alg) + 1


def _signed(number):
    """Returns an unsigned word as the signed one of the same bits; anything else as it is."""
    return number - 2**_WORD_BITS if isinstance(number, int) and number >= 2 ** (_WORD_BITS - 1) else number


def _state_tensor(state) -> Tensor:
    return cast(nest.map_structure(_signed, state), int64)


def create_rng_state(seed, alg) -> Tensor:
    """Returns the state of a generator, made of a seed.

    Args:
        seed: an integer of any size, or a vector of integers. What is too long is cut off at its end; zeros go before what is too short.
        alg: the algorithm, see :class:`Generator`.

    Returns:
        A vector of `int64`, a counter and then a key.
    """
    size = _state_size(algorithm_number(alg))
    if isinstance(seed, int):
        seed = [seed >> _WORD_BITS * i & 2**_WORD_BITS - 1 for i in range(size)]
    words = reshape(_state_tensor(seed), [-1])[0:size]
    given = words.shape[0]
    missing = maximum(size - (shape_of(words)[0] if given is None else given), 0)
    state = concat([zeros([missing], int64), words], 0)
    state.set_shape([size])
    return state


class Generator:
    """A random generator whose state is a variable. What it makes moves the state on; checkpoints save it.

    Args:
        copy_from: another generator, whose state is copied; nothing else may be given then.
        state: its first state, a vector of `int64`: a counter and then a key. A variable becomes the state itself.
        alg: the algorithm: a member of :class:`Algorithm`, its number or its name.

    The variable has to be initialized, as others have.
    """

    def __init__(self, copy_from: Generator | None = None, state=None, alg=None) -> None:
        if copy_from is not None:
            assert (alg or state) is None
            self._state_var, self._alg = _new_state(copy_from.state), copy_from.algorithm
            return
        assert alg is not None and state is not None
        self._alg = algorithm_number(alg)
        is_variable = isinstance(state, Variable)
        if not is_variable:
            state = _state_tensor(state)
        if not isinstance(self._alg, Tensor):
            state.shape.assert_is_compatible_with([_state_size(self._alg)])
        self._state_var = state if is_variable else _new_state(state)

    @classmethod
    def from_state(cls, state, alg) -> Generator:
        """Returns a generator with this state, see :class:`Generator`."""
        return cls(alg=alg, state=state)

    @classmethod
    def from_seed(cls, seed, alg=None) -> Generator:
        """Returns a generator of a seed, an integer or a vector of integers; the algorithm is Philox if it is None."""
        number = PHILOX if alg is None else algorithm_number(alg)
        return cls(state=create_rng_state(seed, number), alg=number)

    @classmethod
    def from_non_deterministic_state(cls, alg=None) -> Generator:
        """Returns a generator that differs from run to run; the algorithm is Philox if it is None."""
        number = PHILOX if alg is None else algorithm_number(alg)
        state = call("NonDeterministicInts", None, [_state_size(number)], dtype=int64)
        return cls(state=state, alg=number)

    @classmethod
    def from_key_counter(cls, key, counter, alg) -> Generator:
        """Returns a generator of a key, which is one number, and a counter, a vector of as many as the algorithm has."""
        return cls(state=_joined(key, counter, algorithm_number(alg)), alg=alg)

    @property
    def state(self):
        """The variable."""
        return self._state_var

    @property
    def algorithm(self):
        """The number of the algorithm."""
        return self._alg

    @property
    def key(self) -> Tensor:
        """The last number of the state: streams of other keys have nothing in common with this one.

        Raises:
            ValueError: if the algorithm is not known.
        """
        self._expect_known()
        return self._state_var[-1]

    def reset(self, state) -> None:
        """Assigns a new state."""
        state = _state_tensor(state)
        state.shape.assert_is_compatible_with([_state_size(self.algorithm)])
        self._state_var.assign(state)

    def reset_from_seed(self, seed) -> None:
        """Assigns the state that a seed gives, see :meth:`from_seed`."""
        self._state_var.assign(create_rng_state(seed, self.algorithm))

    def reset_from_key_counter(self, key, counter) -> None:
        """Assigns the state of a key and a counter, see :meth:`from_key_counter`."""
        self._state_var.assign(_joined(key, counter, self.algorithm))

    def skip(self, delta) -> Tensor:
        """Moves the state on as if `delta` numbers were drawn.

        Returns:
            The state before, a vector of three `int64`.
        """
        return call("RngReadAndSkip", None, self.state.handle, cast(self.algorithm, int32), cast(delta, uint64))

    def normal(self, shape, mean=0.0, stddev=1.0, dtype=float32, name: str | None = None) -> Tensor:
        """Random numbers of a normal distribution.

        Args:
            shape: of the result.
            mean: the mean.
            stddev: the standard deviation.
            dtype: the type of the numbers, a floating one.
            name: the name of the scope.
        """
        return self._scaled("StatelessRandomNormalV2", "stateful_normal", shape, mean, stddev, dtype, name)

    def truncated_normal(self, shape, mean=0.0, stddev=1.0, dtype=float32, name: str | None = None) -> Tensor:
        """Like :meth:`normal`, without numbers that are more than two standard deviations from the mean."""
        return self._scaled("StatelessTruncatedNormalV2", "truncated_normal", shape, mean, stddev, dtype, name)

    def uniform(self, shape, minval=0, maxval=None, dtype=float32, name: str | None = None) -> Tensor:
        """Random numbers that are all equally likely, in [minval, maxval).

        Args:
            shape: of the result.
            minval: the least.
            maxval: the bound above; 1 for floating-point numbers. Both may be None for integers of the whole range of their type.
            dtype: the type of the numbers.
            name: the name of the scope.

        Raises:
            ValueError: for integers with one bound only.
        """
        dtype = as_dtype(dtype)
        if not dtype.is_integer:
            maxval = 1 if maxval is None else maxval
        elif (minval is None) != (maxval is None):
            raise ValueError(f"For integer dtype {dtype}, minval and maxval must be both `None` or both non-`None`; got minval={minval} and "
                             f"maxval={maxval}")
        with op_scope(name, "stateful_uniform", shape, minval, maxval) as scope:
            shape = shape_argument(shape, int64)
            if dtype.is_integer and minval is None:
                return self._draw("StatelessRandomUniformFullIntV2", shape, dtype, scope)
            minval, maxval = convert_to_tensor(minval, dtype, "min"), convert_to_tensor(maxval, dtype, "max")
            if dtype.is_integer:
                key, counter = self._key_counter(shape)
                return call("StatelessRandomUniformIntV2", scope, shape, key, counter, self.algorithm, minval, maxval)
            numbers = self._draw("StatelessRandomUniformV2", shape, dtype)
            return call("AddV2", scope, numbers * (maxval - minval), minval)

    def uniform_full_int(self, shape, dtype=uint64, name: str | None = None) -> Tensor:
        """Random integers of the whole range of their type."""
        dtype = as_dtype(dtype)
        with op_scope(name, "stateful_uniform_full_int", shape) as scope:
            return self._draw("StatelessRandomUniformFullIntV2", shape_argument(shape, int64), dtype, scope)

    def binomial(self, shape, counts, probs, dtype=int32, name: str | None = None) -> Tensor:
        """Random numbers of binomial distributions: how many of `counts` trials succeed.

        Args:
            shape: of the result; it ends with the shape of `counts` and `probs` broadcast together.
            counts: how many trials.
            probs: how likely each is to succeed, of the same type.
            dtype: the type of the numbers.
            name: the name of the operation.
        """
        with op_scope(name, "binomial", shape, counts, probs) as scope:
            counts, probs = convert_to_tensor(counts, name="counts"), convert_to_tensor(probs, name="probs")
            shape = shape_argument(shape, int64)
            return call("StatefulRandomBinomial", scope, self.state.handle, self.algorithm, shape, counts, probs, dtype=as_dtype(dtype))

    def make_seeds(self, count=1) -> Tensor:
        """Seeds for stateless operations, one a column: ``[2, count]``."""
        keys = self._new_keys(count)
        return stack([keys, zeros_like(keys)])

    def split(self, count: int = 1) -> list[Generator]:
        """New generators, whose numbers have nothing to do with those of this one or each other's. They are initialized after this one."""
        zeros = [0] * _counter_size(self.algorithm)
        return [Generator(state=[*zeros, key], alg=self.algorithm) for key in unstack(self._new_keys(count), num=count)]

    def _owned_objects(self) -> list:
        return [("_state_var", self._state_var)]

    def _expect_known(self) -> None:
        if self.algorithm not in NUMBERS:
            raise ValueError(unsupported(self.algorithm))

    def _new_keys(self, count) -> Tensor:
        self._expect_known()
        return self.uniform_full_int([count], int64)

    def _key_counter(self, shape: Tensor) -> tuple[Tensor, Tensor]:
        """The key and the counter for a call that makes a tensor of this shape."""
        state = self.skip(reduce_prod(shape))
        size = _counter_size(self.algorithm)
        counter = bitcast(state[:size], uint64)
        return bitcast(state[size:size + 1], uint64), counter

    def _draw(self, op: str, shape: Tensor, dtype, name: str | None = None) -> Tensor:
        key, counter = self._key_counter(shape)
        return call(op, name, shape, key, counter, self.algorithm, dtype=dtype)

    def _scaled(self, op: str, default: str, shape, mean, stddev, dtype, name: str | None) -> Tensor:
        dtype = as_dtype(dtype)
        with op_scope(name, default, shape, mean, stddev) as scope:
            shape = shape_argument(shape, int64)
            mean, stddev = convert_to_tensor(mean, dtype, "mean"), convert_to_tensor(stddev, dtype, "stddev")
            return call("AddV2", scope, self._draw(op, shape, dtype) * stddev, mean)


def _new_state(state):
    with get_default_graph().name_scope("random_generator"):
        return Variable(state, dtype=int64, trainable=False, name="StateVar", use_resource=True)


def _joined(key, counter, alg) -> Tensor:
    """Returns the state of a key and a counter."""
    counter, key = _state_tensor(counter), _state_tensor(key)
    counter.shape.assert_is_compatible_with([_counter_size(alg)])
    key.shape.assert_is_compatible_with([])
    return concat([counter, reshape(key, [1])], 0)


_global: Generator | None = None


def get_global_generator() -> Generator:
    """Returns the generator that all share: one of :meth:`Generator.from_non_deterministic_state`, made when it is first used, until there is another."""
    global _global
    if _global is None:
        with init_scope():
            _global = Generator.from_non_deterministic_state()
    return _global


def set_global_generator(generator: Generator) -> None:
    """Makes another generator the one that all share."""
    global _global
    _global = generator
