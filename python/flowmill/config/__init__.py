"""``tf.config``: the devices that sessions have by default, and settings of eager execution, which are kept and returned."""

from flowmill._internal import lazy as _lazy
from flowmill.config._devices import (
    LogicalDevice, LogicalDeviceConfiguration, PhysicalDevice, get_logical_device_configuration, get_visible_devices, list_logical_devices,
    list_physical_devices, set_logical_device_configuration, set_visible_devices,
)
from flowmill.config._switches import functions_run_eagerly, get_soft_device_placement, run_functions_eagerly, set_soft_device_placement

__all__ = [
    "LogicalDevice", "LogicalDeviceConfiguration", "PhysicalDevice", "experimental_functions_run_eagerly", "experimental_run_functions_eagerly",
    "functions_run_eagerly", "get_logical_device_configuration", "get_soft_device_placement", "get_visible_devices", "list_logical_devices",
    "list_physical_devices", "run_functions_eagerly", "set_logical_device_configuration", "set_soft_device_placement", "set_visible_devices",
]

experimental_functions_run_eagerly, experimental_run_functions_eagerly = functions_run_eagerly, run_functions_eagerly

__getattr__, __dir__ = _lazy.attach(__name__, _lazy.modules(__name__, "experimental optimizer threading"))
