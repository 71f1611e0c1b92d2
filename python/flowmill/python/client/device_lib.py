"""The devices of this process."""

from __future__ import annotations

from flowmill._internal import protos as _protos
from flowmill._internal.graph import Graph
from flowmill._internal.session import Session


def list_local_devices(session_config=None) -> list:
    """Returns the devices as `DeviceAttributes`: CPUs and GPUs, as many of each as `session_config` (a `ConfigProto`) asks for."""
    count = 1 if session_config is None else dict(session_config.device_count).get("CPU", 1)
    message = _protos.get("DeviceAttributes")
    cpus = [message(name=f"/device:CPU:{i}", device_type="CPU", memory_limit=256 << 20, incarnation=i + 1) for i in range(max(count, 1))]
    if session_config is None or not dict(session_config.device_count).get("GPU"):
        return cpus
    with Session(graph=Graph(), config=session_config) as session:
        gpus = [device for device in session._core.devices() if device[1] != "CPU"]
    return cpus + [message(name=f"/device:{name.rpartition('device:')[2]}", device_type=kind, memory_limit=memory, incarnation=number & (2**63 - 1),
                           physical_device_desc=description) for name, kind, memory, number, description in gpus]
