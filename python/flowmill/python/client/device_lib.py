"""The devices of this process."""

from __future__ import annotations

from flowmill._internal import protos as _protos


def list_local_devices(session_config=None) -> list:
    """Returns the devices as `DeviceAttributes`: CPUs, as many as `session_config` (a `ConfigProto`) asks for."""
    count = 1 if session_config is None else dict(session_config.device_count).get("CPU", 1)
    message = _protos.get("DeviceAttributes")
    return [message(name=f"/device:CPU:{i}", device_type="CPU", memory_limit=256 << 20, incarnation=i + 1) for i in range(max(count, 1))]
