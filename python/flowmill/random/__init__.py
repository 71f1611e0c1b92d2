"""Random numbers: ``tf.random``.

The operations of one graph with seeds give the same numbers in every session; without seeds the numbers differ.
"""

from __future__ import annotations

from flowmill._internal import lazy as _lazy
from flowmill._internal.random_seed import get_seed, set_random_seed
from flowmill.random._stateful import (
    categorical, gamma, multinomial, normal, poisson, random_crop, random_poisson, shuffle, truncated_normal, uniform,
)
from flowmill.random._stateless import (
    fold_in, split, stateless_binomial, stateless_categorical, stateless_gamma, stateless_multinomial, stateless_normal,
    stateless_parameterized_truncated_normal, stateless_poisson, stateless_truncated_normal, stateless_uniform,
)

random_gamma, random_normal, random_shuffle, random_uniform = gamma, normal, shuffle, uniform

__all__ = [
    "categorical", "fold_in", "gamma", "get_seed", "multinomial", "normal", "poisson", "random_crop", "random_gamma", "random_normal",
    "random_poisson", "random_shuffle", "random_uniform", "set_random_seed", "shuffle", "split", "stateless_binomial", "stateless_categorical",
    "stateless_gamma", "stateless_multinomial", "stateless_normal", "stateless_parameterized_truncated_normal", "stateless_poisson",
    "stateless_truncated_normal", "stateless_uniform", "truncated_normal", "uniform",
]

# Samplers of candidates that are tf.nn's, too; and generators, which are variables.
__getattr__, __dir__ = _lazy.attach(__name__, _lazy.table("flowmill", {
    "nn": "all_candidate_sampler fixed_unigram_candidate_sampler learned_unigram_candidate_sampler log_uniform_candidate_sampler "
          "uniform_candidate_sampler",
    "random._algorithm": "Algorithm",
    "random._generator": "Generator create_rng_state get_global_generator set_global_generator",
}) | _lazy.modules("flowmill.random", "experimental"))
