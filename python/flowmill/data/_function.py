"""Functions given to datasets: traced into a graph of their own, which a session of its own runs for each element."""

from __future__ import annotations

import threading

from flowmill._apply import call
from flowmill._convert import convert_to_tensor
from flowmill.data._structure import Component, Structure, _leaves, rebuild
from flowmill.graph import Graph
from flowmill.graph_keys import GraphKeys
from flowmill.sparse_tensor import SparseTensor


class Function:
    """What a user's function makes of an element.

    Attributes:
        result: what it gave when it was traced.
        structure: the form of the elements that it gives, None where it gives a dataset.
    """

    def __init__(self, function, structure: Structure, seed: int | None):
        self.graph = Graph()
        self.graph.seed = seed
        with self.graph.as_default():
            self._inputs = [call("Placeholder", "args", dtype=dtype, shape=shape) for dtype, shape in structure.parts]
            element = structure.pack(self._inputs)
            result = function(*element) if isinstance(structure.template, tuple) else function(element)
            self.result, self._outputs, self.structure = result, [], None
            if not hasattr(result, "_elements"):
                self._take_apart(result)
            else:
                self._outputs = result._tensors()
        self._lock = threading.Lock()
        self._step = None

    def _take_apart(self, result) -> None:
        if isinstance(result, list):
            result = tuple(result)
        self.result = result
        components = []
        for leaf in _leaves(result):
            if isinstance(leaf, SparseTensor):
                components.append(Component(leaf.dtype, leaf.shape, True))
                self._outputs += leaf._components()
            else:
                tensor = convert_to_tensor(leaf)
                components.append(Component(tensor.dtype.base_dtype, tensor.shape))
                self._outputs.append(tensor)
        self.structure = Structure(rebuild(result, components))

    def __call__(self, arrays: list) -> list:
        """The values of what it gives for the parts of an element."""
        with self._lock:
            if self._step is None:
                self._step = self._prepare()
        return self._step(*arrays)

    def _prepare(self):
        from flowmill.session import Session, SessionOptions

        if not self._outputs:
            return lambda *arrays: []
        session = Session(graph=self.graph, config=SessionOptions(intra_op_threads=1, inter_op_threads=1))
        tables = self.graph.get_collection(GraphKeys.TABLE_INITIALIZERS)
        if tables:
            session.run(tables)
        return session.make_callable(self._outputs, self._inputs)
