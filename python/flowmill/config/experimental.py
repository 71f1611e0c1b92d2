"""``tf.config.experimental``: names of :mod:`flowmill.config` of before they were stable, and what a device has."""

from flowmill.config._devices import (
    LogicalDeviceConfiguration as VirtualDeviceConfiguration, get_device_details, get_logical_device_configuration as get_virtual_device_configuration,
    get_memory_growth, get_visible_devices, list_logical_devices, list_physical_devices, set_logical_device_configuration as
    set_virtual_device_configuration, set_memory_growth, set_visible_devices,
)
from flowmill.config._switches import enable_tensor_float_32_execution, tensor_float_32_execution_enabled

__all__ = [
    "VirtualDeviceConfiguration", "enable_tensor_float_32_execution", "get_device_details", "get_memory_growth", "get_virtual_device_configuration",
    "get_visible_devices", "list_logical_devices", "list_physical_devices", "set_memory_growth", "set_virtual_device_configuration",
    "set_visible_devices", "tensor_float_32_execution_enabled",
]
