"""A SavedModel with a session of its own."""

from __future__ import annotations

import numpy as np
from collections.abc import Mapping
from typing import Any, NamedTuple

from flowmill._internal import protos
from flowmill._internal.graph import Graph
from flowmill._internal.session import Session
from flowmill._internal.session_options import SessionOptions
from flowmill._internal.sparse_tensor import SparseTensorValue
from flowmill._internal.tensor_shape import TensorShape, known_shape
from flowmill.dtypes import DType, as_dtype
from flowmill.saved_model.loader import open_model


class TensorSpec(NamedTuple):
    """A tensor of a signature."""

    tensor: str
    """Its name in the graph."""
    dtype: DType
    shape: TensorShape


class Signature:
    """A function of a model. Called with its inputs by keyword, it gives its outputs by name.

    A sparse tensor is a `SparseTensorValue` or what has its fields, another composite one a list of its parts; `inputs` and `outputs` list the parts of
    both, as ``name.indices``, ``name.values`` and ``name.dense_shape``, or ``name.0`` and so on. Of several inputs that are one tensor, one is enough.

    Attributes:
        name: what the model calls it.
        method_name: what kind of function it is, such as ``"tensorflow/serving/predict"``.
        inputs: what it takes, by name.
        outputs: what it gives, by name.
    """

    def __init__(self, session: Session, name: str, inputs, outputs, method_name: str):
        self.name, self.method_name = name, method_name
        self.inputs: dict[str, TensorSpec] = {k: _spec(v) for k, v in inputs.items()}
        self.outputs: dict[str, TensorSpec] = {k: _spec(v) for k, v in outputs.items()}
        self._whole_inputs, self._whole_outputs = _wholes(inputs), _wholes(outputs)
        self._tensors = list(dict.fromkeys(v.tensor for v in self.inputs.values()))
        self._step = session.make_callable({k: v.tensor for k, v in self.outputs.items()}, self._tensors) if outputs else None

    def __call__(self, **inputs) -> dict[str, Any]:
        """Its outputs for these inputs.

        Raises:
            TypeError: if an input is missing or not known.
            ValueError: if inputs that are one tensor have different values.
        """
        given: dict[str, tuple[str, Any]] = {}
        for name, value in self._parts(inputs):
            if name not in self.inputs:
                raise TypeError(f"signature {self.name!r} has no input {name!r}; it takes {_names(self._whole_inputs)}")
            tensor = self.inputs[name].tensor
            if tensor in given and not _is_same(given[tensor][1], value):
                raise ValueError(f"The inputs {given[tensor][0]!r} and {name!r} of signature {self.name!r} are one tensor, {tensor!r}, and have "
                                 "different values")
            given[tensor] = name, value
        if len(given) != len(self._tensors):
            missing = next(name for name, spec in self.inputs.items() if spec.tensor not in given)
            raise TypeError(f"signature {self.name!r} needs the input {missing!r}; it takes {_names(self._whole_inputs)}")
        if self._step is None:
            return {}
        found = self._step(*(given[tensor][1] for tensor in self._tensors))
        return found if len(self._whole_outputs) == len(found) else {k: _whole(k, parts, found) for k, parts in self._whole_outputs.items()}

    def _parts(self, inputs):
        """The inputs with composite ones as their parts."""
        for name, value in inputs.items():
            parts = self._whole_inputs.get(name, [name])
            if parts == [name]:
                yield name, value
            elif parts == _sparse_parts(name):
                yield from ((part, getattr(value, part.rpartition(".")[2])) for part in parts)
            else:
                values = list(value)
                if len(values) != len(parts):
                    raise TypeError(f"The input {name!r} of signature {self.name!r} has {len(parts)} parts; {len(values)} were given")
                yield from zip(parts, values)

    def __repr__(self):
        return f"<Signature {self.name!r} ({_names(self._whole_inputs)}) -> ({_names(self._whole_outputs)})>"


def _spec(parts) -> TensorSpec:
    tensor, dtype, shape, _ = parts
    return TensorSpec(tensor, as_dtype(dtype), known_shape(shape))


def _sparse_parts(name: str) -> list[str]:
    return [f"{name}.indices", f"{name}.values", f"{name}.dense_shape"]


def _wholes(specs) -> dict[str, list[str]]:
    """Returns the values that a caller knows, each with the names of its parts, or its own if it has none."""
    found: dict[str, list[str]] = {}
    for name, (_, _, _, whole) in specs.items():
        found.setdefault(whole or name, []).append(name)
    for name, parts in found.items():
        if set(parts) == set(_sparse_parts(name)):
            found[name] = _sparse_parts(name)
        elif len(parts) > 1:
            parts.sort(key=_place)
    return found


def _place(part: str) -> list:
    """Sorts ``x.10`` behind ``x.9``."""
    return [(int(word), "") if word.isdigit() else (0, word) for word in part.split(".")]


def _whole(name: str, parts: list[str], values) -> Any:
    if parts == [name]:
        return values[name]
    if parts == _sparse_parts(name):
        return SparseTensorValue(*(values[part] for part in parts))
    return [values[part] for part in parts]


def _is_same(a, b) -> bool:
    if a is b:
        return True
    a, b = np.asarray(a), np.asarray(b)
    return a.dtype == b.dtype and a.shape == b.shape and (a.tolist() == b.tolist() if a.dtype == object else a.tobytes() == b.tobytes())


def _names(specs) -> str:
    return ", ".join(specs)


class _Signatures(Mapping):
    """The signatures of a model by name, looked up in its graph when they are asked for."""

    def __init__(self, session: Session, found):
        self._session, self._found = session, found
        self._made: dict[str, Signature] = {}

    def __getitem__(self, name: str) -> Signature:
        if name not in self._made:
            self._made[name] = Signature(self._session, name, *self._found[name])
        return self._made[name]

    def __iter__(self):
        return iter(self._found)

    def __len__(self):
        return len(self._found)

    def __repr__(self):
        return f"<signatures {list(self._found)}>"


class Model:
    """A SavedModel, loaded and ready to be called.

    Attributes:
        graph: its graph.
        session: the session it lives in.
        signatures: its functions by name.
    """

    def __init__(self, path: str, tags=None, *, config=None, map_file: bool = False):
        """Loads the graph with these tags from a directory."""
        tags = None if tags is None else [tags] if isinstance(tags, str) else list(tags)
        self._core = open_model(path, tags, map_file)
        self.graph = Graph()
        self._core.import_into(self.graph._core, "")
        # A model is run wherever it was made.
        self.session = Session(graph=self.graph, config=SessionOptions(allow_soft_placement=True) if config is None else config)
        self._core.prepare(self.session._core, "")
        self.signatures: Mapping[str, Signature] = _Signatures(self.session, self._core.signatures())

    @property
    def meta_graph_def(self) -> Any:
        """The model's `MetaGraphDef`."""
        return protos.get("MetaGraphDef").FromString(self._core.meta_graph_def())
