"""Names of devices. The core parses, merges and prints them."""

from __future__ import annotations

from flowmill import _core

_PARTS = ("job", "replica", "task", "device_type", "device_index")


def _text(spec) -> str:
    if spec and not isinstance(spec, str):
        raise AttributeError(f"{type(spec).__name__!r} object has no attribute 'split'")
    return spec or ""


def merge(outer: str, inner: str) -> str:
    """Returns the name of a device within the scope of another: parts that `inner` leaves open are those of `outer`.

    Raises:
        ValueError: if a name is malformed.
    """
    return _core.merge_devices(outer, _text(inner))


def _part(name: str) -> property:
    def get(self: DeviceSpec):
        return getattr(self._name, name)

    def assign(self: DeviceSpec, value) -> None:
        self._name = self.replace(**{name: value})._name
    return property(get, assign, doc=f"The part `{name}`; None if it is open.")


class DeviceSpec:
    """A device's name in parts, any of which may be left open: ``/job:worker/replica:0/task:1/device:CPU:0``."""

    __slots__ = ("_name",)

    def __init__(self, job: str | None = None, replica: int | None = None, task: int | None = None, device_type: str | None = None,
                 device_index: int | None = None):
        def text(value):
            return None if value is None else str(value)

        def number(value):
            return None if value is None else int(value)
        self._name = _core.DeviceName(text(job), number(replica), number(task), text(device_type), number(device_index))

    job, replica, task, device_type, device_index = map(_part, _PARTS)

    @staticmethod
    def _of(name: _core.DeviceName) -> DeviceSpec:
        spec = DeviceSpec.__new__(DeviceSpec)
        spec._name = name
        return spec

    @staticmethod
    def from_string(spec: str) -> DeviceSpec:
        """Returns the parts of a name. Parts may be in any order; a short name such as ``gpu:0`` is a type of device.

        Raises:
            ValueError: if the name is malformed.
        """
        return DeviceSpec._of(_core.DeviceName.parse(_text(spec)))

    def parse_from_string(self, spec: str) -> DeviceSpec:
        """Replaces the parts by those of a name; returns itself.

        Raises:
            ValueError: if the name is malformed.
        """
        self._name = _core.DeviceName.parse(_text(spec))
        return self

    def to_string(self) -> str:
        """Returns the name, without the parts left open."""
        return str(self._name)

    def make_merged_spec(self, dev: DeviceSpec) -> DeviceSpec:
        """Returns this spec, with the parts that `dev` has in the place of its own."""
        return DeviceSpec._of(self._name.overridden_by(dev._name))

    def merge_from(self, dev: DeviceSpec) -> None:
        """Replaces the parts that `dev` has by those of `dev`."""
        self._name = self._name.overridden_by(dev._name)

    def replace(self, **kwargs) -> DeviceSpec:
        """Returns a spec with some parts replaced.

        Raises:
            TypeError: for a keyword that is no part of a name.
        """
        return DeviceSpec(**{**{part: getattr(self, part) for part in _PARTS}, **kwargs})

    def __eq__(self, other):
        return isinstance(other, DeviceSpec) and self.to_string() == other.to_string()

    def __hash__(self):
        return hash(self.to_string())

    def __repr__(self):
        return f"DeviceSpec({self.to_string()!r})"
