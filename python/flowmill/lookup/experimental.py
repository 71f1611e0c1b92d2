"""Tables that steps change: ``tf.lookup.experimental``."""

from __future__ import annotations

import functools

from flowmill._internal.apply import call, op_scope
from flowmill._internal.convert import convert_to_tensor
from flowmill._internal.graph import get_default_graph
from flowmill._internal.graph_keys import GraphKeys
from flowmill._internal.tensor import Operation, Tensor
from flowmill.lookup._tables import Table
from flowmill.train._saveables import SaveableObject, SaveSpec

__all__ = ["DenseHashTable", "MutableHashTable"]


class _Saveable(SaveableObject):
    """The keys and values of a table in a checkpoint.

    Args:
        table: the table.
        name: what the checkpoint calls it.
    """

    def __init__(self, table: MutableHashTable, name: str):
        keys, values = table.export()
        super().__init__(table, [SaveSpec(keys, "", name + "-keys"), SaveSpec(values, "", name + "-values")], name)

    def restore(self, restored_tensors, restored_shapes) -> Operation:
        """Replaces the table's contents by these keys."""
        graph, (keys, values) = get_default_graph(), restored_tensors
        with graph.name_scope(f"{self.name}_table_restore"), graph.colocate_with(self.op.resource_handle):
            return call("LookupTableImportV2", None, self.op.resource_handle, keys, values)

    @functools.cached_property
    def fed_restore(self) -> tuple[list[Tensor], Operation]:
        """Placeholders for the tensors of the specs, and the operation that restores them. The first access adds them to the graph."""
        feeds = [call("Placeholder", None, dtype=spec.tensor.dtype, shape=None) for spec in self.specs]
        return feeds, self.restore(feeds, None)


class MutableHashTable(Table):
    """A table that steps change.

    Args:
        key_dtype: the keys' type.
        value_dtype: the values' type.
        default_value: the value of a key that it does not hold; its shape is that of all values.
        name: its name.
        checkpoint: whether a `Saver` writes what it holds to checkpoints, under `name`.
    """

    def __init__(self, key_dtype, value_dtype, default_value, name: str = "MutableHashTable", checkpoint: bool = True,
                 experimental_is_anonymous: bool = False):
        super().__init__(key_dtype, value_dtype)
        self._default_value = convert_to_tensor(default_value, self._value_dtype)
        shape = self._default_value.shape
        types = {"key_dtype": self._key_dtype, "value_dtype": self._value_dtype, "use_node_name_sharing": True}
        if shape.rank == 0:
            self._handle = call("MutableHashTableV2", name, **types)
        else:
            self._handle = call("MutableHashTableOfTensorsV2", name, value_shape=shape, **types)
        self._finish(name, checkpoint)

    def _finish(self, name: str, checkpoint: bool) -> None:
        self._name = self._handle.op.name.split("/")[-1]
        self._saveable_name = name
        self._saved: SaveableObject | None = None
        if checkpoint:
            get_default_graph().add_to_collection(GraphKeys.SAVEABLE_OBJECTS, self._saveable())

    def _saveable(self) -> SaveableObject:
        """Returns the object that a `Saver` saves it by. The first call adds its operations to the graph."""
        if self._saved is None:
            self._saved = _Saveable(self, self._saveable_name)
        return self._saved

    def _of(self, op: str, name: str | None, default: str, *args, **attrs):
        """Returns an operation on the table, on its device."""
        with op_scope(name, f"{self._name}_{default}"), get_default_graph().colocate_with(self._handle):
            return call(op, None, self._handle, *args, **attrs)

    def size(self, name: str | None = None) -> Tensor:
        """Returns the number of keys, int64."""
        return self._of("LookupTableSizeV2", name, "Size")

    def lookup(self, keys, dynamic_default_values=None, name: str | None = None) -> Tensor:
        """Returns the values of keys; `dynamic_default_values` are those of keys that it does not hold, if given.

        Raises:
            TypeError: if the keys are of another type.
        """
        with op_scope(name, f"{self._name}_lookup_table_find"):
            keys = self._checked(convert_to_tensor(keys, None if hasattr(keys, "dtype") else self._key_dtype, "keys"))
            with get_default_graph().colocate_with(self._handle):
                default = self._default_value if dynamic_default_values is None else dynamic_default_values
                return self._found(keys, default)

    def insert(self, keys, values, name: str | None = None) -> Operation:
        """Inserts keys with values, and replaces the values of keys that it holds.

        Raises:
            TypeError: if types differ.
        """
        with op_scope(name, f"{self._name}_lookup_table_insert"):
            keys = self._checked(convert_to_tensor(keys, self._key_dtype, "keys"))
            values = convert_to_tensor(values, self._value_dtype, "values")
            with get_default_graph().colocate_with(self._handle):
                return call("LookupTableInsertV2", None, self._handle, keys, values)

    def remove(self, keys, name: str | None = None) -> Operation:
        """Takes keys out; nothing happens for those that it does not hold.

        Raises:
            TypeError: if the keys are of another type.
        """
        keys = self._checked(convert_to_tensor(keys, None if hasattr(keys, "dtype") else self._key_dtype, "keys"))
        with op_scope(name, f"{self._name}_lookup_table_remove"):
            return call("LookupTableRemoveV2", None, self._handle, keys)

    def export(self, name: str | None = None):
        """Returns all keys and their values, in some order."""
        return self._of("LookupTableExportV2", name, "lookup_table_export_values", Tkeys=self._key_dtype, Tvalues=self._value_dtype)


class DenseHashTable(MutableHashTable):
    """A table that steps change, kept in one piece of memory: quicker, with two keys that it cannot hold.

    Args:
        key_dtype: the keys' type.
        value_dtype: the values' type.
        default_value: the value of a key that it does not hold.
        empty_key: a key that never occurs.
        deleted_key: another one.
        initial_num_buckets: how many places it begins with, a power of two.
        name: its name.
        checkpoint: whether a `Saver` writes what it holds to checkpoints, under `name`.
    """

    def __init__(self, key_dtype, value_dtype, default_value, empty_key, deleted_key, initial_num_buckets: int | None = None,
                 name: str = "MutableDenseHashTable", checkpoint: bool = True, experimental_is_anonymous: bool = False):
        Table.__init__(self, key_dtype, value_dtype)
        self._default_value = convert_to_tensor(default_value, self._value_dtype, "default_value")
        empty_key = convert_to_tensor(empty_key, self._key_dtype, "empty_key")
        self._key_rank = empty_key.shape.rank or 0
        deleted_key = convert_to_tensor(deleted_key, self._key_dtype, "deleted_key")
        self._handle = call("MutableDenseHashTableV2", name, empty_key, deleted_key, value_dtype=self._value_dtype,
                            value_shape=self._default_value.shape, use_node_name_sharing=True, initial_num_buckets=initial_num_buckets)
        self._finish(name, checkpoint)

    def insert_or_assign(self, keys, values, name: str | None = None) -> Operation:
        """Like :meth:`insert`."""
        return self.insert(keys, values, name)

    def erase(self, keys, name: str | None = None) -> Operation:
        """Like :meth:`remove`."""
        return self.remove(keys, name)
