"""Graphs as Python holds them, and the default graph of each thread."""

from __future__ import annotations

import contextlib
import re
import threading
import weakref
from typing import Any

from flowmill import _core
from flowmill._internal import protos
from flowmill._internal.graph_stack import AsDefault, defaults, is_captured
from flowmill._internal.scopes import Scopes
from flowmill._internal.tensor import Operation, Tensor, user_frames
from flowmill.errors import InvalidArgumentError


class Graph(Scopes):
    """A dataflow graph. Its nodes live in Rust; :class:`Operation` and :class:`Tensor` objects are made when they are asked for.

    Many threads may use one graph.
    """

    # Whether it is the body of a function, which captures what it takes from outside.
    building_function = False
    # Whether its control flow becomes functions in any case.
    functional_control_flow = False
    # The number of graphs around it.
    _level = 0

    def __init__(self):
        super().__init__()
        self._core = _core.Graph()
        self._lock = threading.RLock()
        # Its sessions, whose steps know the shapes of feeds.
        self._sessions: weakref.WeakSet = weakref.WeakSet()
        # By id the object of an operation, or that of its only output as long as nobody has asked for the operation.
        self._objects: dict[int, Operation | Tensor] = {}
        # Where operations were made, by id, as `user_frames` gives it.
        self._frames: dict[int, tuple] = {}
        self._collections: dict[Any, list] = {}
        self._finalized = False
        self._seed: int | None = None
        # Functions of the library that Python made, by name.
        self._functions: dict[str, Any] = {}
        # What builds the gradients of calls of functions, and the functions that compute them, by the functions' names.
        self._python_gradients: dict[str, Any] = {}
        self._gradient_functions: dict[str, str] = {}

    @property
    def seed(self) -> int | None:
        """The seed that random operations without one of their own begin with."""
        return self._seed

    @seed.setter
    def seed(self, seed: int | None) -> None:
        self._seed = seed

    # Adding

    def _add(self, op: str, name: str, inputs: list[tuple[int, int]], attrs: dict[str, Any] | None = None) -> Operation:
        """Adds an operation with inputs as the core knows them."""
        ids, types = self._add_nodes(((op, name, inputs, attrs),))
        return self._added(ids[0], types)

    def _add_constant(self, name: str, value, number: int) -> Tensor:
        here = self._thread.here
        if here.device_functions:
            return self._add_for_output((("Const", name, value, number),))
        try:
            (node_id,), (number,) = self._core.add_nodes(here.scope, (("Const", name, value, number),))
        except InvalidArgumentError as error:
            raise ValueError(error.message) from None
        self._frames[node_id] = here.frames or user_frames(2)
        return self._first_output(node_id, number)

    def _add_all(self, name: str, nodes: tuple[tuple, ...]) -> Operation:
        """Adds operations as :meth:`_add_nodes` does, and returns the last one. The others have no objects until they are used."""
        ids, types = self._add_nodes(nodes, name)
        return self._added(ids[-1], types)

    def _add_for_output(self, nodes: tuple[tuple, ...], name: str | None = None) -> Tensor:
        """Adds operations as :meth:`_add_nodes` does, and returns the only output of the last one."""
        ids, types = self._add_nodes(nodes, name)
        return self._first_output(ids[-1], types[0])

    def _add_with_number(self, op: str, name: str, tensor: Tensor, number, at: int) -> Tensor | None:
        """Adds an operation of a tensor and a constant of its type, both in a name scope of their own, and returns its only output. What operators
        come to most often: one call of the core, with nothing to take apart.

        Args:
            op: the operation's op.
            name: the scope's name, made unique.
            tensor: the tensor.
            number: the constant's value, of type `float`, `int` or `bool`.
            at: the constant's place among the inputs, 0 or 1.

        Returns:
            None, with nothing added, if the number is none of the tensor's type, or the graph's surroundings take a closer look.
        """
        here = self._thread.here
        if self._finalized or here.gradient_overrides or here.container or here.device_functions or is_captured(self):
            return None
        try:
            added = self._core.add_with_number(here.scope, op, name, tensor._key, number, tensor._type, at)
        except InvalidArgumentError as error:
            raise ValueError(error.message) from None
        if added is None:
            return None
        constant, node_id, type_number = added
        frames = self._frames
        frames[constant] = frames[node_id] = here.frames or user_frames()
        return self._first_output(node_id, type_number)

    def _object(self, node_id: int, types) -> Operation:
        """Returns the object of an operation, if the types of its outputs are known."""
        made = self._objects.get(node_id)
        if made is None:
            made = self._objects.setdefault(node_id, Operation(self, node_id, [Tensor(self, (node_id, i), t) for i, t in enumerate(types)]))
        if type(made) is Tensor:
            with self._lock:
                made = self._objects[node_id]
                if type(made) is Tensor:
                    rest = [Tensor(self, (node_id, i), t) for i, t in enumerate(types) if i]
                    made = self._objects[node_id] = Operation(self, node_id, [made, *rest])
        return made  # type: ignore[return-value]

    def _added(self, node_id: int, types) -> Operation:
        """Returns the object of an operation that was just added, or its replacement by numeric checks."""
        made = self._object(node_id, types)
        return made if _checks is None else _checks.added(made)

    def _first_output(self, node_id: int, number: int) -> Tensor:
        """Returns the only output of an operation that was just added, and the number of its type. The operation has no object until it is used."""
        if _checks is not None:
            return self._added(node_id, (number,))._outputs[0]
        made = self._objects.setdefault(node_id, Tensor(self, (node_id, 0), number))
        return made if type(made) is Tensor else made._outputs[0]  # type: ignore[union-attr]

    def _add_nodes(self, nodes: tuple[tuple, ...], name: str | None = None) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Adds operations by one call of the core; returns what the core calls them, and the types of the last one's outputs. Where functions choose
        devices, they are asked.

        Args:
            nodes: each ``("Const", name, value, number of its type)`` or ``(op, name, inputs, attributes)``, where an input is what the core calls a
                tensor, or the index of another of the nodes, meaning its first output, and attributes are a dictionary, None, or a list of names
                and serialised `AttrValue` messages. A fifth item is the index of one that it is colocated with.
            name: that of a scope of their own, made unique; with a slash at its end the whole name. A node whose name is empty has the scope's.
        """
        here = self._thread.here
        if here.gradient_overrides or here.container:
            nodes = tuple([self._in_surroundings(node) for node in nodes])
        try:
            ids, types = self._core.add_nodes(here.scope, nodes, name)
        except InvalidArgumentError as error:
            raise ValueError(error.message) from None
        all_frames, frames = self._frames, here.frames or user_frames(2)
        for node_id in ids:
            all_frames[node_id] = frames
        if here.device_functions:
            for node_id, node in zip(ids, nodes):
                if len(node) > 4:
                    device = self._core.device(ids[node[4]])
                    if device:
                        self._core.set_device(node_id, device)
                else:
                    self._choose_device(self._operation(node_id))
        return ids, types

    def _in_surroundings(self, node: tuple) -> tuple:
        """Returns a node for :meth:`_add_nodes` with the attributes that its surroundings give it, unless it comes with messages as attributes."""
        op, name, inputs, attrs, *beside = node
        if op == "Const" or isinstance(attrs, list):
            return node
        return op, name, inputs, self._attrs_of_surroundings(op, attrs, lambda: "container" in _attrs_of(op)), *beside

    def create_op(self, op_type: str, inputs, dtypes=None, input_types=None, name: str | None = None, attrs=None, op_def=None,
                  compute_shapes: bool = True, compute_device: bool = True) -> Operation:
        """Adds an operation with tensors as inputs and attributes as `AttrValue` messages.

        Args:
            op_type: the op's name.
            inputs: its inputs, the tensors of lists one after another.
            dtypes: not used: the op's definition says the types of its outputs.
            input_types: not used.
            name: its name, the op's name if it is None.
            attrs: ``{name: AttrValue}``.
            op_def: not used.
            compute_shapes: not used: shapes always follow.
            compute_device: not used.

        Raises:
            TypeError: if an input is no tensor.
            ValueError: if an input is of another graph, or the operation is not valid.
        """
        self._check_not_finalized()
        for i, tensor in enumerate(inputs):
            if not isinstance(tensor, Tensor):
                raise TypeError(f"Input #{i} is not a tensor: {tensor}")
            if tensor.graph is not self:
                raise ValueError(f"{tensor!r} must be from the same graph as the operation.")
        messages = [(k, v.SerializeToString()) for k, v in (attrs or {}).items()]
        ids, types = self._add_nodes(((op_type, name or op_type, [t._key for t in inputs], messages),))
        return self._added(ids[0], types)

    # What it holds

    def _operation(self, node_id: int) -> Operation:
        found = self._objects.get(node_id)
        return found if type(found) is Operation else self._object(node_id, self._core.output_types(node_id))  # type: ignore[return-value]

    def _tensor(self, key: tuple[int, int]) -> Tensor:
        return self._operation(key[0])._outputs[key[1]]

    def _find(self, name: str) -> Operation | None:
        node_id = self._core.find_node(name)
        return None if node_id is None else self._operation(node_id)

    def get_operations(self) -> list[Operation]:
        """Returns all operations, in the order in which they were added."""
        return [self._operation(n) for n in self._core.node_ids()]

    def get_operation_by_name(self, name: str) -> Operation:
        """Returns the operation called `name`.

        Raises:
            KeyError: if there is none.
        """
        if not isinstance(name, str):
            raise TypeError(f"Operation names are strings (or similar), not {type(name).__name__}.")
        return self.as_graph_element(name, allow_tensor=False, allow_operation=True)

    def get_tensor_by_name(self, name: str) -> Tensor:
        """Returns the tensor called `name`, such as ``"x:0"``.

        Raises:
            KeyError: if there is none.
        """
        if not isinstance(name, str):
            raise TypeError(f"Tensor names are strings (or similar), not {type(name).__name__}.")
        return self.as_graph_element(name, allow_tensor=True, allow_operation=False)

    def as_graph_element(self, obj, allow_tensor: bool = True, allow_operation: bool = True) -> Tensor | Operation:
        """Returns the tensor or operation that `obj` is, names, or provides by a method ``_as_graph_element``.

        Raises:
            TypeError: if it can be neither.
            ValueError: if it is of another graph, or its name is malformed.
            KeyError: if the graph has nothing of that name.
        """
        if not (allow_tensor or allow_operation):
            raise ValueError("allow_tensor and allow_operation can't both be False.")
        stands_for = getattr(obj, "_as_graph_element", None)
        if stands_for is not None:
            obj = stands_for()
        kinds = " or ".join(kind for kind, allowed in (("Tensor", allow_tensor), ("Operation", allow_operation)) if allowed)
        if isinstance(obj, (str, bytes)):
            name = obj if isinstance(obj, str) else obj.decode()
            if ":" in name:
                if not allow_tensor:
                    raise ValueError(f"Name {name!r} appears to refer to a Tensor, not a {kinds}.")
                return self._tensor_called(name)
            if not allow_operation:
                what = "refers to an Operation" if self._core.find_node(name) is not None else "looks like an (invalid) Operation name"
                raise ValueError(f'The name {name!r} {what}, not a {kinds}. Tensor names must be of the form "<op_name>:<output_index>".')
            found = self._find(name)
            if found is None:
                raise KeyError(f"The name {name!r} refers to an Operation not in the graph.")
            return found
        if (isinstance(obj, Tensor) and allow_tensor) or (isinstance(obj, Operation) and allow_operation):
            if obj.graph is not self:
                raise ValueError(f"{f'Tensor {obj}' if isinstance(obj, Tensor) else f'Operation {obj.name}'} is not an element of this graph.")
            return obj
        raise TypeError(f"Can not convert a {type(obj).__name__} into a {kinds}.")

    def _tensor_called(self, name: str) -> Tensor:
        op_name, _, digits = name.rpartition(":")
        if not digits.isdecimal() or ":" in op_name:
            raise ValueError(f'The name {name!r} looks a like a Tensor name, but is not a valid one. Tensor names must be of the form "<op_name>:<output_index>".')
        op = self._find(op_name)
        if op is None:
            raise KeyError(f"The name {name!r} refers to a Tensor which does not exist. The operation, {op_name!r}, does not exist in the graph.")
        if int(digits) >= len(op._outputs):
            raise KeyError(f"The name {name!r} refers to a Tensor which does not exist. The operation, {op_name!r}, exists but only has {len(op._outputs)} outputs.")
        return op._outputs[int(digits)]

    @property
    def version(self) -> int:
        """Grows with every operation; 0 for an empty graph."""
        return self._core.version()

    @property
    def graph_def_versions(self):
        """The versions as a `VersionDef`."""
        producer, min_consumer = self._core.versions()
        return protos.get("VersionDef")(producer=producer, min_consumer=min_consumer)

    def as_graph_def(self, from_version: int | None = None, add_shapes: bool = False):
        """Returns the graph as a `GraphDef`.

        Args:
            from_version: leaves out the operations that the graph had when its version was this.
            add_shapes: adds an attribute ``_output_shapes`` to every node with outputs.
        """
        graph_def = protos.get("GraphDef").FromString(self._core.to_graph_def())
        if add_shapes:
            for node, op in zip(graph_def.node, self.get_operations()):
                if op._outputs:
                    node.attr["_output_shapes"].list.shape.extend(t.shape.as_proto() for t in op._outputs)
        if from_version is not None:
            known = sum(node_id < from_version + 2 for node_id in self._core.node_ids())
            del graph_def.node[:known]
        return graph_def

    # Pictures

    def summary(self, max_depth: int = 2, max_children: int = 20, nodes: bool = False, run_metadata=None) -> str:
        """Returns the tree of name scopes as text, with the number of nodes, the bytes of weights, the estimated operations and the most frequent ops of each.
        TensorFlow has no such method.

        Args:
            max_depth: the levels of scopes below the graph.
            max_children: the most lines per scope.
            nodes: lists operations, too.
            run_metadata: a `RunMetadata`, or its bytes, whose times are shown.
        """
        from flowmill._internal.view import summary  # start-up: few programs show their graph

        return summary(self, max_depth, max_children, nodes, run_metadata)

    def _repr_html_(self) -> str:
        from flowmill._internal.view import graph_html  # start-up: few programs show their graph

        return graph_html(self)

    # Names

    def unique_name(self, name: str, mark_as_used: bool = True) -> str:
        """`name` in the current name scope, or the first of ``name_1``, ``name_2``, … that neither an operation nor a scope has. Case does not
        distinguish names."""
        return self._core.unique_name(self._thread.here.scope, name, mark_as_used)

    # Collections

    def add_to_collection(self, name, value) -> None:
        """Appends a value to the collection called `name`, which any hashable may be.

        Raises:
            RuntimeError: if the graph is finalized.
        """
        self._check_not_finalized()
        with self._lock:
            self._collections.setdefault(name, []).append(value)

    def add_to_collections(self, names, value) -> None:
        """Appends a value to each of the collections `names`, once if one is named twice; a string is one name.

        Raises:
            RuntimeError: if the graph is finalized.
        """
        for name in dict.fromkeys((names,) if isinstance(names, str) else names):
            self.add_to_collection(name, value)

    def get_collection_ref(self, name) -> list:
        """Returns the list itself, to be changed."""
        with self._lock:
            return self._collections.setdefault(name, [])

    def get_collection(self, name, scope: str | None = None) -> list:
        """Returns a copy of a collection; with `scope`, of the items whose names begin with a match of that regular expression."""
        with self._lock:
            items = list(self._collections.get(name, ()))
        return items if scope is None else [i for i in items if re.match(scope, getattr(i, "name", ""))]

    def get_all_collection_keys(self) -> list:
        """The names of all collections that are strings."""
        with self._lock:
            return [key for key in self._collections if isinstance(key, str)]

    @property
    def collections(self) -> list:
        """Returns :meth:`get_all_collection_keys`."""
        return self.get_all_collection_keys()

    def clear_collection(self, name) -> None:
        """Removes a collection; nothing happens if there is none.

        Raises:
            RuntimeError: if the graph is finalized.
        """
        self._check_not_finalized()
        with self._lock:
            self._collections.pop(name, None)

    # What may be done with it

    def finalize(self) -> None:
        """Forbids changes from now on."""
        self._finalized = True

    @property
    def finalized(self) -> bool:
        """True if :meth:`finalize` was called."""
        return self._finalized

    def switch_to_thread_local(self) -> None:
        """Does nothing: scopes, devices, colocation and control dependencies always belong to the thread that entered them."""

    def _check_not_finalized(self) -> None:
        if self._finalized:
            raise RuntimeError("Graph is finalized and cannot be modified.")

    def prevent_feeding(self, tensor: Tensor) -> None:
        """Makes sessions refuse a value for `tensor`."""
        self._core.prevent_feeding(tensor._key[0])

    def is_feedable(self, tensor: Tensor) -> bool:
        """Returns true if sessions take a value for `tensor`: not if feeding was forbidden, nor inside of control flow."""
        return self._core.is_feedable(tensor._key[0])

    def prevent_fetching(self, op: Operation) -> None:
        """Makes sessions refuse to fetch `op`."""
        self._core.prevent_fetching(_op_of(op)._id)

    def is_fetchable(self, tensor_or_op: Tensor | Operation) -> bool:
        """Returns true if sessions fetch `tensor_or_op`: not if fetching was forbidden, nor inside of control flow."""
        return self._core.is_fetchable(_op_of(tensor_or_op)._id)

    def as_default(self) -> contextlib.AbstractContextManager[Graph]:
        """Makes this the thread's default graph within a ``with`` block."""
        return AsDefault(self)


def _attrs_of(op: str) -> frozenset[str]:
    """Returns the attributes of an op."""
    found = _core.op_signature(op)
    return frozenset(attr[0] for attr in found[1]) if found else frozenset()


def _op_of(element: Tensor | Operation) -> Operation:
    return element.op if isinstance(element, Tensor) else element


# What adds checks behind operations, where `debugging.enable_check_numerics` asked for it.
_checks: Any = None


def set_checks(checks) -> None:
    """Passes every operation that is added to `checks`, by its method ``added``, which returns it or its replacement, and every
    gradient, by ``gradient``; None ends that."""
    global _checks
    _checks = checks


_global_default: Graph | None = None
_global_lock = threading.Lock()


def get_default_graph() -> Graph:
    """Returns the innermost graph that ``with graph.as_default()`` made the thread's default; else one that all threads share."""
    global _global_default
    stack = defaults.graphs
    if stack:
        return stack[-1]
    with _global_lock:
        if _global_default is None:
            _global_default = Graph()
        return _global_default


def reset_default_graph() -> None:
    """Puts an empty graph in the place of the one that all threads share.

    Raises:
        AssertionError: within ``with graph.as_default()``.
    """
    global _global_default
    if defaults.graphs:
        raise AssertionError("Do not use tf.reset_default_graph() to clear nested graphs. If you need a cleared graph, exit the nesting and create a "
                             "new graph.")
    with _global_lock:
        _global_default = Graph()
