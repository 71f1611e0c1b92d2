# Made by python/make_stubs from the code.

from flowmill._internal.init_ops import Constant as _constant
constant = _constant
from flowmill._internal.init_ops import GlorotNormal as _glorot_normal
glorot_normal = _glorot_normal
from flowmill._internal.init_ops import GlorotUniform as _glorot_uniform
glorot_uniform = _glorot_uniform
from flowmill._internal.init_ops import he_normal as he_normal
from flowmill._internal.init_ops import he_uniform as he_uniform
from flowmill._internal.init_ops import Identity as _identity
identity = _identity
from flowmill._internal.init_ops import lecun_normal as lecun_normal
from flowmill._internal.init_ops import lecun_uniform as lecun_uniform
from flowmill._internal.init_ops import Ones as _ones
ones = _ones
from flowmill._internal.init_ops import Orthogonal as _orthogonal
orthogonal = _orthogonal
from flowmill._internal.init_ops import RandomNormal as _random_normal
random_normal = _random_normal
from flowmill._internal.init_ops import RandomUniform as _random_uniform
random_uniform = _random_uniform
from flowmill._internal.init_ops import TruncatedNormal as _truncated_normal
truncated_normal = _truncated_normal
from flowmill._internal.init_ops import UniformUnitScaling as _uniform_unit_scaling
uniform_unit_scaling = _uniform_unit_scaling
from flowmill._internal.init_ops import VarianceScaling as _variance_scaling
variance_scaling = _variance_scaling
from flowmill._internal.init_ops import Zeros as _zeros
zeros = _zeros
from flowmill._internal.variables import global_variables_initializer as _global_variables
global_variables = _global_variables
from flowmill._internal.variables import local_variables_initializer as _local_variables
local_variables = _local_variables
from flowmill._internal.variables import variables_initializer as _variables
variables = _variables
from flowmill.lookup import tables_initializer as tables_initializer

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
