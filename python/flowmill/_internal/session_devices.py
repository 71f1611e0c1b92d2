"""Descriptions of a session's devices."""

from __future__ import annotations

import random
from typing import NamedTuple

# What TensorFlow says of a CPU.
_CPU_MEMORY = 256 << 20


class DeviceAttributes(NamedTuple):
    """A device: its full name, its type, the bytes that it has, and a number that is another one in each session."""

    name: str
    device_type: str
    memory_limit_bytes: int
    incarnation: int

    def __repr__(self) -> str:
        return f"_DeviceAttributes({self.name}, {self.device_type}, {self.memory_limit_bytes}, {self.incarnation})"


def cpus(count: int) -> list[DeviceAttributes]:
    """Returns the descriptions of `count` CPUs."""
    names = (f"/job:localhost/replica:0/task:0/device:CPU:{i}" for i in range(count))
    numbers = random.SystemRandom()
    return [DeviceAttributes(name, "CPU", _CPU_MEMORY, numbers.getrandbits(63)) for name in names]


def accelerators(core) -> list[DeviceAttributes]:
    """Returns the descriptions of the devices of a core's session that are no CPUs."""
    return [DeviceAttributes(name, kind, memory, number) for name, kind, memory, number, _ in core.accelerators()]
