# Made by python/make_stubs from the code.

from flowmill._internal.random_seed import get_seed as get_seed
from flowmill._internal.random_seed import set_random_seed as set_random_seed
from flowmill.nn import all_candidate_sampler as all_candidate_sampler
from flowmill.nn import fixed_unigram_candidate_sampler as fixed_unigram_candidate_sampler
from flowmill.nn import learned_unigram_candidate_sampler as learned_unigram_candidate_sampler
from flowmill.nn import log_uniform_candidate_sampler as log_uniform_candidate_sampler
from flowmill.nn import uniform_candidate_sampler as uniform_candidate_sampler
from flowmill.random import experimental as experimental
from flowmill.random._algorithm import Algorithm as Algorithm
from flowmill.random._generator import Generator as Generator
from flowmill.random._generator import create_rng_state as create_rng_state
from flowmill.random._generator import get_global_generator as get_global_generator
from flowmill.random._generator import set_global_generator as set_global_generator
from flowmill.random._stateful import categorical as categorical
from flowmill.random._stateful import gamma as gamma
from flowmill.random._stateful import multinomial as multinomial
from flowmill.random._stateful import normal as normal
from flowmill.random._stateful import poisson as poisson
from flowmill.random._stateful import random_crop as random_crop
from flowmill.random._stateful import random_poisson as random_poisson
from flowmill.random._stateful import shuffle as shuffle
from flowmill.random._stateful import truncated_normal as truncated_normal
from flowmill.random._stateful import uniform as uniform
from flowmill.random._stateless import fold_in as fold_in
from flowmill.random._stateless import split as split
from flowmill.random._stateless import stateless_binomial as stateless_binomial
from flowmill.random._stateless import stateless_categorical as stateless_categorical
from flowmill.random._stateless import stateless_gamma as stateless_gamma
from flowmill.random._stateless import stateless_multinomial as stateless_multinomial
from flowmill.random._stateless import stateless_normal as stateless_normal
from flowmill.random._stateless import stateless_parameterized_truncated_normal as stateless_parameterized_truncated_normal
from flowmill.random._stateless import stateless_poisson as stateless_poisson
from flowmill.random._stateless import stateless_truncated_normal as stateless_truncated_normal
from flowmill.random._stateless import stateless_uniform as stateless_uniform

__all__ = [
    "categorical",
    "fold_in",
    "gamma",
    "get_seed",
    "multinomial",
    "normal",
    "poisson",
    "random_crop",
    "random_gamma",
    "random_normal",
    "random_poisson",
    "random_shuffle",
    "random_uniform",
    "set_random_seed",
    "shuffle",
    "split",
    "stateless_binomial",
    "stateless_categorical",
    "stateless_gamma",
    "stateless_multinomial",
    "stateless_normal",
    "stateless_parameterized_truncated_normal",
    "stateless_poisson",
    "stateless_truncated_normal",
    "stateless_uniform",
    "truncated_normal",
    "uniform",
]

random_gamma = gamma
random_normal = normal
random_shuffle = shuffle
random_uniform = uniform
