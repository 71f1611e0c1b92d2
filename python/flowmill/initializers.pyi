# Made by python/make_stubs from the code.

from flowmill.init_ops import Constant as constant
from flowmill.init_ops import GlorotNormal as glorot_normal
from flowmill.init_ops import GlorotUniform as glorot_uniform
from flowmill.init_ops import he_normal as he_normal
from flowmill.init_ops import he_uniform as he_uniform
from flowmill.init_ops import Identity as identity
from flowmill.init_ops import lecun_normal as lecun_normal
from flowmill.init_ops import lecun_uniform as lecun_uniform
from flowmill.init_ops import Ones as ones
from flowmill.init_ops import Orthogonal as orthogonal
from flowmill.init_ops import RandomNormal as random_normal
from flowmill.init_ops import RandomUniform as random_uniform
from flowmill.init_ops import TruncatedNormal as truncated_normal
from flowmill.init_ops import UniformUnitScaling as uniform_unit_scaling
from flowmill.init_ops import VarianceScaling as variance_scaling
from flowmill.init_ops import Zeros as zeros
from flowmill.lookup import tables_initializer as tables_initializer
from flowmill.variables import global_variables_initializer as global_variables
from flowmill.variables import local_variables_initializer as local_variables
from flowmill.variables import variables_initializer as variables

__all__ = [
    "constant",
    "global_variables",
    "glorot_normal",
    "glorot_uniform",
    "he_normal",
    "he_uniform",
    "identity",
    "lecun_normal",
    "lecun_uniform",
    "local_variables",
    "ones",
    "orthogonal",
    "random_normal",
    "random_uniform",
    "truncated_normal",
    "uniform_unit_scaling",
    "variables",
    "variance_scaling",
    "zeros",
]
