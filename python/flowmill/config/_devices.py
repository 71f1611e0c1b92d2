"""The devices that sessions have when their configuration names none."""

from __future__ import annotations

from typing import NamedTuple


class PhysicalDevice(NamedTuple):
    """A device of this machine, such as ``/physical_device:CPU:0``."""

    name: str
    device_type: str


class LogicalDevice(NamedTuple):
    """A device as graphs name it, such as ``/device:CPU:0``."""

    name: str
    device_type: str


class LogicalDeviceConfiguration(NamedTuple):
    """The part of a physical device that a logical device has."""

    memory_limit: float | None = None
    experimental_priority: int | None = None
    experimental_device_ordinal: int | None = None


_CPU = PhysicalDevice("/physical_device:CPU:0", "CPU")
_visible: list[PhysicalDevice] = [_CPU]
_parts: dict[PhysicalDevice, list[LogicalDeviceConfiguration]] = {}


def list_physical_devices(device_type: str | None = None) -> list[PhysicalDevice]:
    """Returns the devices that a session has by default, perhaps of one type: the CPU, since a session has GPUs only if its configuration asks for them."""
    return [_CPU] if device_type in (None, "CPU") else []


def list_logical_devices(device_type: str | None = None) -> list[LogicalDevice]:
    """Returns the visible devices as graphs name them, perhaps those of one type."""
    count = sum(len(_parts.get(device) or (None,)) for device in get_visible_devices(device_type))
    return [LogicalDevice(f"/device:CPU:{i}", "CPU") for i in range(count)]


def get_visible_devices(device_type: str | None = None) -> list[PhysicalDevice]:
    """Returns the devices that :func:`set_visible_devices` has left visible, perhaps those of one type."""
    return [device for device in _visible if device_type in (None, device.device_type)]


def set_visible_devices(devices, device_type: str | None = None) -> None:
    """Says which devices are listed.

    Args:
        devices: a physical device, or a list of them.
        device_type: the type whose devices are replaced; all if it is None.

    Raises:
        ValueError: for a device that does not exist, or one of another type.
    """
    global _visible
    devices = list(devices) if isinstance(devices, list) else [devices]
    for device in devices:
        _checked(device)
        if device_type is not None and device.device_type != device_type:
            raise ValueError(f"Unrecognized device: {device!r}")
    _visible = devices + ([] if device_type is None else [d for d in _visible if d.device_type != device_type])


def get_logical_device_configuration(device: PhysicalDevice) -> list[LogicalDeviceConfiguration] | None:
    """Returns the parts of a device that :func:`set_logical_device_configuration` has made of it; None if it is whole.

    Raises:
        ValueError: for a device that does not exist.
    """
    return _parts.get(_checked(device))


def set_logical_device_configuration(device: PhysicalDevice, logical_devices: list[LogicalDeviceConfiguration]) -> None:
    """Lists a device as several ones. A session has as many CPUs as the `device_count` of its configuration says.

    Raises:
        ValueError: for a device that does not exist, or a limit of a CPU's memory.
    """
    _checked(device)
    if any(part.memory_limit is not None for part in logical_devices):
        raise ValueError("Setting memory limit on CPU virtual devices is currently not supported")
    if any(part.experimental_priority is not None for part in logical_devices):
        raise ValueError("Setting experimental_priority on CPU virtual devices is currently not supported")
    _parts[device] = list(logical_devices)


def get_device_details(device: PhysicalDevice) -> dict:
    """Returns what is known of a device: nothing of a CPU."""
    _checked(device)
    return {}


def get_memory_growth(device: PhysicalDevice) -> bool | None:
    """Raises ValueError: the memory of a CPU always grows.

    Raises:
        ValueError: for each device, since GPUs are configured by ``ConfigProto.gpu_options``.
    """
    _checked(device)
    raise ValueError("Cannot set memory growth on non-GPU and non-Pluggable devices")


def set_memory_growth(device: PhysicalDevice, enable: bool) -> None:  # noqa: ARG001 - TensorFlow's argument
    """Raises ValueError, as :func:`get_memory_growth` does."""
    get_memory_growth(device)


def _checked(device: PhysicalDevice) -> PhysicalDevice:
    if device not in list_physical_devices():
        raise ValueError(f"Unrecognized device: {device!r}")
    return device
