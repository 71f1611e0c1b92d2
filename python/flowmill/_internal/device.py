"""Names of devices."""

from __future__ import annotations

# Types of devices that may be written without the word "device" before them.
_SHORT_TYPES = ("CPU", "GPU", "TPU", "CUSTOM")


class DeviceSpec:
    """A device's name in parts, any of which may be left open: ``/job:worker/replica:0/task:1/device:CPU:0``."""

    __slots__ = ("job", "replica", "task", "device_type", "device_index")

    def __init__(self, job: str | None = None, replica: int | None = None, task: int | None = None, device_type: str | None = None,
                 device_index: int | None = None):
        self.job, self.replica, self.task = job, replica, task
        self.device_type = device_type.upper() if device_type in ("cpu", "gpu") else device_type
        self.device_index = device_index

    @staticmethod
    def from_string(spec: str) -> DeviceSpec:
        """Returns the parts of a name. Parts may be in any order; a short name such as ``gpu:0`` is a type of device.

        Raises:
            ValueError: if the name is malformed.
        """
        found = DeviceSpec()
        for part in (spec or "").split("/"):
            words = part.split(":")
            key, value = words[0], words[-1]
            is_short = key.upper() in _SHORT_TYPES and len(words) <= 2
            if is_short or key == "device" and len(words) == 3:
                if found.device_type is not None:
                    raise ValueError(f"Multiple device types are not allowed while parsing the device spec: {spec}.")
                found.device_type = key.upper() if is_short else DeviceSpec(device_type=words[1]).device_type
                found.device_index = _number(value) if len(words) > 1 else None
            elif key == "job" and len(words) == 2:
                found.job = value
            elif key in ("replica", "task") and len(words) == 2:
                setattr(found, key, int(value))
            elif key:
                raise ValueError(f"Unknown attribute '{key}' is encountered while parsing the device spec: '{spec}'.")
        return found

    def parse_from_string(self, spec: str) -> DeviceSpec:
        """Replaces the parts by those of a name; returns itself.

        Raises:
            ValueError: if it is malformed.
        """
        found = DeviceSpec.from_string(spec)
        for part in DeviceSpec.__slots__:
            setattr(self, part, getattr(found, part))
        return self

    def to_string(self) -> str:
        """The name, without the parts left open."""
        parts = [f"/{part}:{value}" for part, value in (("job", self.job), ("replica", self.replica), ("task", self.task)) if value is not None]
        if self.device_type is not None:
            parts.append(f"/device:{self.device_type}:{'*' if self.device_index is None else self.device_index}")
        return "".join(parts)

    def make_merged_spec(self, dev: DeviceSpec) -> DeviceSpec:
        """This, with the parts that `dev` has replaced by its."""
        values = (getattr(self, part) if getattr(dev, part) is None else getattr(dev, part) for part in DeviceSpec.__slots__)
        return DeviceSpec(*values)

    def merge_from(self, dev: DeviceSpec) -> None:
        """Replaces the parts that `dev` has by its."""
        for part in DeviceSpec.__slots__:
            if getattr(dev, part) is not None:
                setattr(self, part, getattr(dev, part))

    def replace(self, **kwargs) -> DeviceSpec:
        """One like this with other parts.

        Raises:
            TypeError: for what is no part of a name.
        """
        parts = {part: getattr(self, part) for part in DeviceSpec.__slots__}
        return DeviceSpec(**{**parts, **kwargs})

    def __eq__(self, other):
        return isinstance(other, DeviceSpec) and self.to_string() == other.to_string()

    def __hash__(self):
        return hash(self.to_string())

    def __repr__(self):
        return f"DeviceSpec({self.to_string()!r})"


def _number(text: str) -> int | None:
    return None if text == "*" else int(text)


def merge(outer: str, inner: str) -> str:
    """The name of a device within another's scope: what `inner` leaves open is as in `outer`."""
    return DeviceSpec.from_string(outer).make_merged_spec(DeviceSpec.from_string(inner)).to_string()
