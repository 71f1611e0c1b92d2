# Made by python/make_stubs from the code.

from typing import Any
from flowmill._internal.tensor import Tensor
from flowmill.linalg._linear_operator import LinearOperator

class LinearOperatorHouseholder(LinearOperator):
    def __init__(
        self,
        reflection_axis,
        is_non_singular=None,
        is_self_adjoint=None,
        is_positive_definite=None,
        is_square=None,
        name: str = 'LinearOperatorHouseholder',
    ) -> None: ...
    @property
    def reflection_axis(self) -> Tensor: ...
class LinearOperatorPermutation(LinearOperator):
    def __init__(
        self,
        perm,
        dtype=...,
        is_non_singular=None,
        is_self_adjoint=None,
        is_positive_definite=None,
        is_square=None,
        name: str = 'LinearOperatorPermutation',
    ) -> None: ...
    @property
    def perm(self) -> Tensor: ...
class LinearOperatorToeplitz(LinearOperator):
    def __init__(
        self,
        col,
        row,
        is_non_singular=None,
        is_self_adjoint=None,
        is_positive_definite=None,
        is_square=None,
        name: str = 'LinearOperatorToeplitz',
    ) -> None: ...
    @property
    def col(self) -> Tensor: ...
    @property
    def row(self) -> Tensor: ...
class LinearOperatorTridiag(LinearOperator):
    def __init__(
        self,
        diagonals,
        diagonals_format: str = 'compact',
        is_non_singular=None,
        is_self_adjoint=None,
        is_positive_definite=None,
        is_square=None,
        name: str = 'LinearOperatorTridiag',
    ) -> None: ...
    @property
    def diagonals(self) -> Any: ...
    @property
    def diagonals_format(self) -> str: ...
