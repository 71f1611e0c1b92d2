# Made by python/make_stubs from the code.

from flowmill import nest as nest
from flowmill.train import get_or_create_global_step as get_or_create_global_step
from flowmill.train import list_variables as list_variables
from flowmill.train import load_variable as load_variable

__all__ = [
    "get_or_create_global_step",
    "list_variables",
    "load_variable",
    "nest",
]
