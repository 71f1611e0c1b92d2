"""Descriptions of a session's devices."""

from __future__ import annotations

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


def devices(core) -> list[DeviceAttributes]:
    """Returns the descriptions of the devices of a core's session, the CPUs first."""
    return [DeviceAttributes(name, kind, _CPU_MEMORY if kind == "CPU" else memory, number) for name, kind, memory, number, _ in core.devices()]
