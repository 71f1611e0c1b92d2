"""Objects that own variables, as checkpoints of version 2 list them: by the names that they refer to each other by."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flowmill._internal import protos
from flowmill._internal.graph import get_default_graph
from flowmill._internal.module import Module
from flowmill._internal.variables import Variable
from flowmill.layers._base import Layer
from flowmill.train.optimizer import Optimizer

# The key that the list of objects is saved by, and the ends of the keys of variables and tables.
OBJECT_GRAPH = "_CHECKPOINTABLE_OBJECT_GRAPH"
_VALUE = "VARIABLE_VALUE"
_TABLE = "table"


def is_trackable(value) -> bool:
    """Returns true if a value is a variable, a table that steps change, or may own some."""
    return isinstance(value, (Variable, Module, Layer, Optimizer, list, tuple, Mapping)) or hasattr(value, "_owned_objects") or is_table(value)


def is_table(value) -> bool:
    """Returns true for a table, whose keys and values are saved."""
    return hasattr(value, "_saveable")


def table_tensors(table) -> list[tuple[str, Any]]:
    """Returns the tensors that a table is saved by, each with the end of its key."""
    saveable = table._saveable()
    return [(spec.name.removeprefix(saveable.name), spec.tensor) for spec in saveable.specs]


def children(owner) -> list[tuple[str, Any]]:
    """Returns the objects that one owns, by name."""
    if isinstance(owner, Variable) or is_table(owner):
        return []
    if hasattr(owner, "_owned_objects"):
        return owner._owned_objects()
    if isinstance(owner, Optimizer):
        graph = get_default_graph()
        return sorted(((name, v) for (name, g), v in owner._non_slot_dict.items() if g is graph), key=lambda item: item[0])
    if isinstance(owner, Mapping):
        named = [(str(key), value) for key, value in owner.items()]
    elif isinstance(owner, (list, tuple)):
        named = [(str(i), value) for i, value in enumerate(owner)]
    else:
        named = list(vars(owner).items())
        if isinstance(owner, Layer):  # lists of its own are about the same variables
            weights = owner._named_weights
            listed = set(map(id, weights.values()))
            named = [(name, value) for name, value in named if isinstance(value, (Variable, Layer)) or not name.startswith("_")]
            named = [*weights.items(), *((name, value) for name, value in named if id(value) not in listed)]
    return [(name, value) for name, value in named if is_trackable(value) and (isinstance(value, Variable) or _has_objects(value))]


def _has_objects(value) -> bool:
    """Lists of numbers are no objects."""
    if not isinstance(value, (list, tuple, Mapping)):
        return True
    return any(is_trackable(v) for v in (value.values() if isinstance(value, Mapping) else value))


class ObjectGraph:
    """All objects that one reaches, nearest first, and the keys of their variables.

    Attributes:
        objects: the objects.
        paths: by which names each is reached from the first one.
        slots: for each slot variable of an optimizer: the optimizer, the slot's name, the variable it belongs to, itself; all by place.
    """

    def __init__(self, root) -> None:
        self.objects, self.paths = [root], [()]
        self.children: list[list[tuple[str, int]]] = []
        places = {id(root): 0}
        for owner in self.objects:  # grows meanwhile
            listed = []
            for name, child in children(owner):
                if id(child) not in places:
                    places[id(child)] = len(self.objects)
                    self.paths.append((*self.paths[len(self.children)], name))
                    self.objects.append(child)
                listed.append((name, places[id(child)]))
            self.children.append(listed)
        self.slots: list[tuple[int, str, int, int]] = []
        self._keys: dict[int, str] = {}
        for place, owner in enumerate(list(self.objects)):
            if not isinstance(owner, Optimizer):
                continue
            for name in owner.get_slot_names():
                for of, variable in enumerate(self.objects[:len(self.children)]):
                    slot = owner.get_slot(variable, name) if isinstance(variable, Variable) else None
                    if slot is None:
                        continue
                    if id(slot) not in places:
                        places[id(slot)] = len(self.objects)
                        self._keys[len(self.objects)] = "/".join(
                            [_joined(self.paths[of]), ".OPTIMIZER_SLOT", _joined(self.paths[place]), _escaped(name)])
                        self.objects.append(slot)
                        self.paths.append((*self.paths[of], name))
                    self.slots.append((place, name, of, places[id(slot)]))

    def key(self, place: int) -> str:
        """Returns the key that a variable is saved by, or the beginning of the keys of a table."""
        what = _TABLE if is_table(self.objects[place]) else _VALUE
        return f"{self._keys.get(place) or _joined(self.paths[place])}/.ATTRIBUTES/{what}"

    def variables(self) -> list[tuple[int, Variable]]:
        """Returns the variables, with their places."""
        return [(i, v) for i, v in enumerate(self.objects) if isinstance(v, Variable)]

    def tensors(self) -> dict[str, Any]:
        """Returns what is saved, by key: variables, and the tensors of tables."""
        found: dict[str, Any] = {self.key(i): v for i, v in self.variables()}
        for place, value in enumerate(self.objects):
            if is_table(value):
                found.update((self.key(place) + end, tensor) for end, tensor in table_tensors(value))
        return found

    def message(self) -> Any:
        """It as a `TrackableObjectGraph`."""
        message = protos.get("TrackableObjectGraph")()
        for place, value in enumerate(self.objects):
            node = message.nodes.add()
            for name, child in self.children[place] if place < len(self.children) else ():
                node.children.add(node_id=child, local_name=name)
            if isinstance(value, Variable):
                node.attributes.add(name=_VALUE, full_name=value.op.name, checkpoint_key=self.key(place))
            elif is_table(value):
                node.attributes.add(name=_TABLE, full_name=value.name, checkpoint_key=self.key(place))
            for owner, name, of, slot in self.slots:
                if owner == place:
                    node.slot_variables.add(original_variable_node_id=of, slot_name=name, slot_variable_node_id=slot)
            node.has_checkpoint_values.value = True
        return message


def _escaped(name: str) -> str:
    return name.replace(".", "..").replace("/", ".S")


def _joined(path: tuple[str, ...]) -> str:
    return "/".join(map(_escaped, path))


def matched(message, root) -> tuple[dict[int, Any], list[tuple[Any, str]]]:
    """Finds the objects that `root` reaches in a saved `TrackableObjectGraph`: objects by their places in it, and variables and tables with their keys."""
    found: dict[int, Any] = {0: root}
    ahead = [0]
    while ahead:
        place = ahead.pop(0)
        own = dict(children(found[place]))
        for child in message.nodes[place].children:
            if child.node_id not in found and child.local_name in own:
                found[child.node_id] = own[child.local_name]
                ahead.append(child.node_id)
    for place, owner in list(found.items()):
        for slot in message.nodes[place].slot_variables if isinstance(owner, Optimizer) else ():
            variable = found.get(slot.original_variable_node_id)
            value = owner.get_slot(variable, slot.slot_name) if isinstance(variable, Variable) else None
            if value is not None:
                found[slot.slot_variable_node_id] = value
    pairs = [(value, attribute.checkpoint_key) for place, value in sorted(found.items(), key=lambda item: item[0]) if isinstance(value, Variable) or is_table(value)
             for attribute in message.nodes[place].attributes if attribute.name in (_VALUE, _TABLE)]
    return found, pairs
