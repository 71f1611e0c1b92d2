"""Staging areas: tuples of tensors that one step puts away for another, in order or under keys."""

from __future__ import annotations

import flowmill as tf
from flowmill._internal.apply import op_scope
from flowmill._internal.tensor_shape import TensorShape

__all__ = ["MapStagingArea", "StagingArea"]


class _BaseStagingArea:
    """A buffer of tuples of tensors in a session: the parts that both kinds have.

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

    def _components(self, values, places):
        """Returns the tensors of some components of a tuple, in order, and their places."""
        if isinstance(values, dict):
            if not self._names:
                raise ValueError("Staging areas must have names to enqueue a dictionary")
            if not set(values) <= set(self._names):
                raise ValueError(f"Keys in dictionary to put do not match names of staging area. Dictionary: {sorted(values)}Queue: {sorted(self._names)}")
            places = [i for i, name in enumerate(self._names) if name in values]
            values = [values[self._names[i]] for i in places]
        elif self._names:
            raise ValueError("You must enqueue a dictionary in a staging area with names")
        elif places is None:
            raise ValueError("Indices must be supplied when inserting a list of tensors")
        elif len(places) != len(values):
            raise ValueError(f"Number of indices {len(places)} doesn't match number of values {len(values)}")
        if len(values) > len(self._dtypes):
            raise ValueError(f"Unexpected number of inputs {len(values)} vs {len(self._dtypes)}")
        tensors = []
        for i, value in zip(places, values):
            if value.dtype != self._dtypes[i]:
                raise ValueError(f"Datatypes do not match. Received val.dtype {value.dtype} and dtype {self._dtypes[i]}")
            value.get_shape().assert_is_compatible_with(self._shapes[i])
            tensors.append(tf.convert_to_tensor(value, dtype=self._dtypes[i], name=f"component_{i}"))
        return tensors, places

    def _moved(self, tensors):
        """Returns tensors of the buffer's device on the current one."""
        return [tf.identity(t) for t in tensors] if tf.no_op().device != self._place.device else tensors

    def _found(self, tensors, places):
        """Returns components that were taken out, as a dictionary if they have names."""
        tensors = self._moved(tensors)
        for tensor, place in zip(tensors, places):
            tensor.set_shape(self._shapes[place])
        return {self._names[i]: tensor for tensor, i in zip(tensors, places)} if self._names else tensors


class StagingArea(_BaseStagingArea):
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
        super().__init__(dtypes, shapes, names, shared_name, capacity, memory_limit)

    def put(self, values, name=None):
        """Adds an operation that puts a tuple into the buffer, when there is room.

        Args:
            values: a tensor, a list of them, or a dictionary if components have names.
            name: the operation's name.

        Raises:
            ValueError: If number, names, types or shapes are not the buffer's.
        """
        with op_scope(name, f"{self._name}_put") as scope:
            values = values if isinstance(values, (list, tuple, dict)) else [values]
            tensors, _ = self._components(values, range(len(values)))
            with tf.colocate_with(self._place):
                return tf.raw_ops.Stage(values=tensors, name=scope, **self._attributes())

    def get(self, name=None):
        """Takes the first tuple out, when there is one: a list of tensors, or a dictionary if components have names."""
        with tf.colocate_with(self._place):
            tensors = tf.raw_ops.Unstage(dtypes=self._dtypes, name=name or f"{self._name}_get", **self._attributes())
        return self._found(tensors, range(len(self._dtypes)))

    def peek(self, index, name=None):
        """Returns the tuple at an index without taking it out, when there is one."""
        with tf.colocate_with(self._place):
            tensors = tf.raw_ops.StagePeek(index=index, dtypes=self._dtypes, name=name or f"{self._name}_peek", **self._attributes())
        return self._found(tensors, range(len(self._dtypes)))

    def size(self, name=None):
        """Returns the number of tuples, a scalar of type `int32`."""
        return tf.raw_ops.StageSize(dtypes=self._dtypes, name=name or f"{self._name}_size", **self._attributes())

    def clear(self, name=None):
        """Adds an operation that drops all tuples."""
        return tf.raw_ops.StageClear(dtypes=self._dtypes, name=name or f"{self._name}_clear", **self._attributes())


class MapStagingArea(_BaseStagingArea):
    """A buffer of tuples of tensors under integer keys in a session. `put` waits for room, `get` and `peek` wait for a key.

    Components of a tuple may be put in and taken out one by one; a tuple is there once it has all of them.

    Args:
        dtypes: the types of a tuple's components.
        shapes: their static shapes, None if they may differ.
        names: their names, if tuples are dictionaries.
        shared_name: the name of the buffer; staging areas with one name share it.
        ordered: whether `get` without a key takes the tuple of the least one; else it may take any.
        capacity: how many tuples fit; any number if 0.
        memory_limit: how many bytes fit; any number if 0.

    Raises:
        ValueError: If the lists differ in length, or the name is no string.
    """

    def __init__(self, dtypes, shapes=None, names=None, shared_name=None, ordered=False, capacity=0, memory_limit=0):
        super().__init__(dtypes, shapes, names, shared_name, capacity, memory_limit)
        self._ordered = ordered

    def _call(self, op, **arguments):
        return getattr(tf.raw_ops, f"Ordered{op}" if self._ordered else op)(**arguments, **self._attributes())

    def put(self, key, vals, indices=None, name=None):
        """Adds an operation that puts components of a tuple into the buffer, when there is room.

        Args:
            key: the tuple's key, a scalar of type `int64`.
            vals: a list of tensors, or a dictionary if components have names.
            indices: the places of a list's tensors in the tuple.
            name: the operation's name.

        Raises:
            ValueError: If number, names, types or shapes are not the buffer's.
        """
        with op_scope(name, f"{self._name}_put") as scope:
            tensors, places = self._components(vals, indices)
            with tf.colocate_with(self._place):
                return self._call("MapStage", key=key, indices=places, values=tensors, dtypes=self._dtypes, name=scope)

    def _places(self, indices):
        """Returns the places of components that are asked for, and their types."""
        if indices is None:
            indices = list(range(len(self._dtypes)))
        if not isinstance(indices, (tuple, list)):
            raise TypeError(f"Invalid indices type {type(indices)}")
        if not indices:
            raise ValueError("Empty indices")
        if all(isinstance(i, str) for i in indices):
            if self._names is None:
                raise ValueError(f"String indices provided {indices}, but this Staging Area was not created with names.")
            if not set(indices) <= set(self._names):
                raise ValueError(f"Named index not in Staging Area names {self._names}")
            indices = [self._names.index(name) for name in indices]
        elif not all(isinstance(i, int) for i in indices):
            raise TypeError(f"Mixed types in indices {indices}. May only be str or int")
        return indices, [self._dtypes[i] for i in indices]

    def peek(self, key, indices=None, name=None):
        """Returns components of the tuple under a key without taking them out, when it is there.

        Args:
            key: the tuple's key, a scalar of type `int64`.
            indices: the places or the names of the components; all if None.
            name: the operation's name.

        Raises:
            ValueError: If there are no indices, or one is no name of a component.
            TypeError: If they are neither all integers nor all strings.
        """
        places, dtypes = self._places(indices)
        with tf.colocate_with(self._place):
            tensors = self._call("MapPeek", key=key, indices=places, dtypes=dtypes, name=name or f"{self._name}_pop")
        return self._found(tensors, places)

    def get(self, key=None, indices=None, name=None):
        """Takes components of a tuple out, when it is there; the tuple goes with the last of them. Arguments and errors are those of :meth:`peek`.

        Returns:
            The key, and a list of tensors, or a dictionary if components have names.
        """
        default = f"{self._name}_get_nokey" if key is None else f"{self._name}_get"
        places, dtypes = self._places(indices)
        with tf.colocate_with(self._place):
            if key is None:
                found, tensors = self._call("MapUnstageNoKey", indices=places, dtypes=dtypes, name=name or default)
            else:
                found, tensors = None, self._call("MapUnstage", key=key, indices=places, dtypes=dtypes, name=name or default)
        if found is not None:
            (key,) = self._moved([found])
        return key, self._found(tensors, places)

    def size(self, name=None):
        """Returns the number of complete tuples, a scalar of type `int32`."""
        return self._call("MapSize", dtypes=self._dtypes, name=name or f"{self._name}_size")

    def incomplete_size(self, name=None):
        """Returns the number of tuples that lack components, a scalar of type `int32`."""
        return self._call("MapIncompleteSize", dtypes=self._dtypes, name=name or f"{self._name}_incomplete_size")

    def clear(self, name=None):
        """Adds an operation that drops all tuples."""
        return self._call("MapClear", dtypes=self._dtypes, name=name or f"{self._name}_clear")
