"""Staging areas: tuples of tensors that one step puts away for another."""

from __future__ import annotations

import flowmill as tf
from flowmill._apply import op_scope
from flowmill.tensor_shape import TensorShape

__all__ = ["StagingArea"]


class StagingArea:
    """A buffer of tuples of tensors in a session. `put` waits for room, `get` and `peek` wait for a tuple.

    Args:
        dtypes: the types of a tuple's components.
        shapes: their static shapes, None if they may differ.
        names: their names, if tuples are dictionaries.
        shared_name: the name of the buffer; staging areas with one name share it.
        capacity: how many tuples fit; any number if 0.
        memory_limit: how many bytes fit; any number if 0.

    Raises:
        ValueError: If the lists differ in length, or the name is no string.
    """

    def __init__(self, dtypes, shapes=None, names=None, shared_name=None, capacity=0, memory_limit=0):
        if shared_name is not None and not isinstance(shared_name, str):
            raise ValueError(f"shared_name must be a string, got {shared_name}")
        for value, what in ((shapes, "shapes"), (names, "names")):
            if value is not None and len(value) != len(dtypes):
                raise ValueError(f"StagingArea {what} must be the same length as dtypes")
        self._name = tf.get_default_graph().unique_name(type(self).__name__) if shared_name is None else shared_name
        self._dtypes, self._names = dtypes, names
        self._shapes = [TensorShape(None) for _ in dtypes] if shapes is None else [TensorShape(s) for s in shapes]
        self._capacity, self._memory_limit = capacity, memory_limit
        with tf.name_scope(f"{self._name}_root"):
            self._place = tf.no_op()

    @property
    def name(self):
        """The name of the buffer."""
        return self._name

    @property
    def dtypes(self):
        """The types of a tuple's components."""
        return self._dtypes

    @property
    def shapes(self):
        """The static shapes of a tuple's components."""
        return self._shapes

    @property
    def names(self):
        """The names of a tuple's components, or None."""
        return self._names

    @property
    def capacity(self):
        """The number of tuples that fit, 0 for any number."""
        return self._capacity

    @property
    def memory_limit(self):
        """The number of bytes that fit, 0 for any number."""
        return self._memory_limit

    def _attributes(self):
        return {"shared_name": self._name, "capacity": self._capacity, "memory_limit": self._memory_limit}

    def _components(self, values):
        if isinstance(values, dict):
            if not self._names:
                raise ValueError("Staging areas must have names to enqueue a dictionary")
            if not set(values) <= set(self._names):
                raise ValueError(f"Keys in dictionary to put do not match names of staging area. Dictionary: {sorted(values)}Queue: {sorted(self._names)}")
            places = [i for i, name in enumerate(self._names) if name in values]
            values = [values[self._names[i]] for i in places]
        elif self._names:
            raise ValueError("You must enqueue a dictionary in a staging area with names")
        else:
            places = range(len(values))
        if len(values) > len(self._dtypes):
            raise ValueError(f"Unexpected number of inputs {len(values)} vs {len(self._dtypes)}")
        tensors = []
        for i, value in zip(places, values):
            if value.dtype != self._dtypes[i]:
                raise ValueError(f"Datatypes do not match. Received val.dtype {value.dtype} and dtype {self._dtypes[i]}")
            value.get_shape().assert_is_compatible_with(self._shapes[i])
            tensors.append(tf.convert_to_tensor(value, dtype=self._dtypes[i], name=f"component_{i}"))
        return tensors

    def put(self, values, name=None):
        """Adds an operation that puts a tuple into the buffer, when there is room.

        Args:
            values: a tensor, a list of them, or a dictionary if components have names.
            name: the operation's name.

        Raises:
            ValueError: If number, names, types or shapes are not the buffer's.
        """
        with op_scope(name, f"{self._name}_put") as scope:
            tensors = self._components(values if isinstance(values, (list, tuple, dict)) else [values])
            with tf.colocate_with(self._place):
                return tf.raw_ops.Stage(values=tensors, name=scope, **self._attributes())

    def _found(self, tensors):
        if tf.no_op().device != self._place.device:
            tensors = [tf.identity(t) for t in tensors]
        for tensor, shape in zip(tensors, self._shapes):
            tensor.set_shape(shape)
        return dict(zip(self._names, tensors)) if self._names else tensors

    def get(self, name=None):
        """Takes the first tuple out, when there is one: a list of tensors, or a dictionary if components have names."""
        with tf.colocate_with(self._place):
            tensors = tf.raw_ops.Unstage(dtypes=self._dtypes, name=name or f"{self._name}_get", **self._attributes())
        return self._found(tensors)

    def peek(self, index, name=None):
        """Returns the tuple at an index without taking it out, when there is one."""
        with tf.colocate_with(self._place):
            tensors = tf.raw_ops.StagePeek(index=index, dtypes=self._dtypes, name=name or f"{self._name}_peek", **self._attributes())
        return self._found(tensors)

    def size(self, name=None):
        """Returns the number of tuples, a scalar of type `int32`."""
        return tf.raw_ops.StageSize(dtypes=self._dtypes, name=name or f"{self._name}_size", **self._attributes())

    def clear(self, name=None):
        """Adds an operation that drops all tuples."""
        return tf.raw_ops.StageClear(dtypes=self._dtypes, name=name or f"{self._name}_clear", **self._attributes())
