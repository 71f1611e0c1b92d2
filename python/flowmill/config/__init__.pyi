# Made by python/make_stubs from the code.

from flowmill.config import experimental as experimental
from flowmill.config import optimizer as optimizer
from flowmill.config import threading as threading
from flowmill.config._devices import LogicalDevice as LogicalDevice
from flowmill.config._devices import LogicalDeviceConfiguration as LogicalDeviceConfiguration
from flowmill.config._devices import PhysicalDevice as PhysicalDevice
from flowmill.config._devices import get_logical_device_configuration as get_logical_device_configuration
from flowmill.config._devices import get_visible_devices as get_visible_devices
from flowmill.config._devices import list_logical_devices as list_logical_devices
from flowmill.config._devices import list_physical_devices as list_physical_devices
from flowmill.config._devices import set_logical_device_configuration as set_logical_device_configuration
from flowmill.config._devices import set_visible_devices as set_visible_devices
from flowmill.config._switches import functions_run_eagerly as functions_run_eagerly
from flowmill.config._switches import get_soft_device_placement as get_soft_device_placement
from flowmill.config._switches import run_functions_eagerly as run_functions_eagerly
from flowmill.config._switches import set_soft_device_placement as set_soft_device_placement

__all__ = [
    "LogicalDevice",
    "LogicalDeviceConfiguration",
    "PhysicalDevice",
    "experimental_functions_run_eagerly",
    "experimental_run_functions_eagerly",
    "functions_run_eagerly",
    "get_logical_device_configuration",
    "get_soft_device_placement",
    "get_visible_devices",
    "list_logical_devices",
    "list_physical_devices",
    "run_functions_eagerly",
    "set_logical_device_configuration",
    "set_soft_device_placement",
    "set_visible_devices",
]

experimental_functions_run_eagerly = functions_run_eagerly
experimental_run_functions_eagerly = run_functions_eagerly
