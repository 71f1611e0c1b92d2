"""``tf.random.experimental``: what is elsewhere in ``tf.random`` by other names, and random orders."""

from __future__ import annotations

from flowmill._internal.apply import call, op_scope
from flowmill._internal.array import pad
from flowmill._internal.convert import convert_to_tensor
from flowmill._internal.tensor import Tensor
from flowmill.random._algorithm import Algorithm, key_counter
from flowmill.random._generator import Generator, create_rng_state, get_global_generator, set_global_generator
from flowmill.random._stateless import fold_in as stateless_fold_in, random_index_shuffle, split as stateless_split

__all__ = [
    "Algorithm", "Generator", "create_rng_state", "get_global_generator", "index_shuffle", "set_global_generator", "stateless_fold_in",
    "stateless_shuffle", "stateless_split",
]

# Goes before the two numbers of a seed, where an operation takes three.
_FIRST_SEED = 498247692


def index_shuffle(index, seed, max_index) -> Tensor:
    """Returns the positions of indices in a random permutation, which is not materialised.

    Args:
        index: a number, or a list of numbers, from 0 to `max_index`.
        seed: two numbers, or as many rows of two.
        max_index: the greatest index, or a list.
    """
    seed = convert_to_tensor(seed)
    rank = seed.shape.rank
    seed = pad(seed, [[1, 0]] + [[0, 0]] * ((rank or 1) - 1), constant_values=_FIRST_SEED)
    return random_index_shuffle(index, seed, max_index, rounds=4)


def stateless_shuffle(value, seed, alg="auto_select", name: str | None = None) -> Tensor:
    """Returns a tensor with its parts along the first dimension in an order that follows from the seed, two integers."""
    with op_scope(name, "stateless_shuffle", value, seed):
        key, counter, number = key_counter(seed, alg)
        return call("StatelessShuffle", None, value, key, counter, number)
