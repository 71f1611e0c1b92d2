"""Modes of sharing a variable among several devices. They are kept and saved, and have no effect."""

from __future__ import annotations

import enum


class VariableSynchronization(enum.Enum):
    """When a variable that several devices hold is made the same on all of them. There is one device; the value is kept and saved."""

    AUTO = 0
    NONE = 1
    ON_WRITE = 2
    ON_READ = 3


class VariableAggregation(enum.Enum):
    """The way in which the values of several devices become one value. There is one device; the mode is kept and saved."""

    NONE = 0
    SUM = 1
    MEAN = 2
    ONLY_FIRST_REPLICA = 3
    ONLY_FIRST_TOWER = 3

    def __hash__(self):
        return hash(self.value)


def check_modes(synchronization, aggregation, trainable: bool | None, name) -> tuple[VariableSynchronization, VariableAggregation, bool]:
    """Returns the three modes of a variable: None means the usual value, and variables that are synchronized when they are read do not train.

    Raises:
        ValueError: if they are of other types.
    """
    if aggregation is None:
        aggregation = VariableAggregation.NONE
    elif not isinstance(aggregation, VariableAggregation):
        raise ValueError(f"Invalid variable aggregation mode: {aggregation} for variable: {name}")
    if synchronization is None:
        synchronization = VariableSynchronization.AUTO
    elif not isinstance(synchronization, VariableSynchronization):
        raise ValueError(f"Invalid variable synchronization mode: {synchronization} for variable: {name}")
    if trainable is None:
        trainable = synchronization is not VariableSynchronization.ON_READ
    return synchronization, aggregation, trainable
