"""Training that knows of quantisation: a graph is rewritten so that products and convolutions see numbers as they come back from few bits."""

from __future__ import annotations

import heapq

from flowmill import _core
from flowmill._internal import protos as _protos
from flowmill._internal.tensor_util import make_ndarray

__all__ = ["do_quantize_training_on_graphdef"]

# How much of the last range a new one keeps.
_DECAY = 0.999
# How many inputs may come from ops of which nothing is known.
_UNKNOWN_INPUTS = 2
_REWRITTEN = ("MatMul", "Conv2D")
_FLOAT, _INT32, _STRING = 1, 3, 7
# What is known of an op's results: whether there are negative ones, and their range if it is given.
_RESULTS = {
    "Const": (True, None), "Variable": (True, None), "VariableV2": (True, None), "Relu": (False, None), "Relu6": (False, (0.0, 6.0)),
    "Sigmoid": (False, (0.0, 1.0)), "Tanh": (True, (-1.0, 1.0)),
}
# Ops that give on what their first input is.
_GIVES_ON = frozenset(("Reshape", "ConcatV2", "Identity", "MaxPool", "AvgPool", "MaxPool3D", "AvgPool3D"))


def do_quantize_training_on_graphdef(input_graph, num_bits: int) -> _protos.GraphDef:
    """Returns a graph whose products of matrices and convolutions take their inputs quantised and dequantised.

    Ranges that do not follow from the op that makes an input are exponential moving averages, in variables that start with their first
    values; if the graph has a `Saver`, it saves them, too.

    Args:
        input_graph: a `GraphDef`.
        num_bits: of the quantised numbers.

    Raises:
        IndexError: for a number of bits that is not between 1 and 63.
        NotImplementedError: if more than two inputs come from ops of which nothing is known.
        ValueError: if the graph has several savers, or one without an operation that restores.
    """
    if not 1 <= num_bits <= 63:
        raise IndexError(f"num_bits should be in range [1, 63] but is: {num_bits}")
    graph = _protos.get("GraphDef").FromString(input_graph.SerializeToString())
    return _Rewriting(graph, num_bits).result()


def _source(tensor_name: str) -> str:
    """Returns the node of an input."""
    return tensor_name.removeprefix("^").partition(":")[0]


def _data_inputs(node) -> list[str]:
    return [name for name in node.input if not name.startswith("^")]


class _Rewriting:
    """The nodes by their names, in their order; those that are added come last."""

    def __init__(self, graph, num_bits: int):
        self._graph, self._num_bits = graph, num_bits
        self._nodes = {node.name: node for node in _in_order(list(graph.node))}
        self._variables: list[str] = []
        self._names = 0
        for node in self._nodes.values():
            _add_defaults(node)

    def result(self):
        quantized: dict[str, str] = {}
        for node, i, source, known in self._edges():
            if source not in quantized:
                quantized[source] = self._quantize(source, node, *known)
            node.input[i] = quantized[source]
        self._save_variables()
        nodes = list(self._nodes.values())
        for node in nodes:
            data = _data_inputs(node)
            control = sorted(name for name in node.input if name.startswith("^"))
            node.input[:] = [name.removesuffix(":0") for name in data] + control
        del self._graph.node[:]
        self._graph.node.extend(nodes)
        return self._graph

    def _edges(self) -> list:
        """Returns the inputs to be quantised: the node, which of its inputs, what computes it, and what is known of that."""
        edges, unknown = [], 0
        for node in self._nodes.values():
            if node.op not in _REWRITTEN or node.name.startswith("gradients"):
                continue
            for i, name in enumerate(_data_inputs(node)):
                source = self._nodes[_source(name)]
                known = self._results_of(source)
                if known is None:
                    unknown += 1
                    if unknown > _UNKNOWN_INPUTS:
                        raise NotImplementedError(
                            f"Found an unknown op: {source.name} with type: {source.op}; Unknown ops are considered as model input "
                            f"for now and only {_UNKNOWN_INPUTS} inputs are supported currently.")
                edges.append((node, i, source.name, known or (True, None)))
        return edges

    def _results_of(self, node):
        """Returns the range of the results and whether they are signed; None if nothing is known."""
        passed_on = set()
        while node.op in _GIVES_ON and node.name not in passed_on:
            passed_on.add(node.name)
            inputs = _data_inputs(node)
            if not inputs:
                break
            node = self._nodes[_source(inputs[0])]
        known = _RESULTS.get(node.op)
        return (True, None) if known is None and passed_on else known

    def _add(self, name: str, op: str, inputs=(), **attrs) -> str:
        """Returns a node; attributes are messages, types as numbers, truth values, or whole numbers."""
        if name in self._nodes:
            raise ValueError(f"Node name '{name}' already exists in the graph")
        node = _protos.get("NodeDef")(name=name, op=op, input=inputs)
        for attr, value in attrs.items():
            if isinstance(value, bool):
                node.attr[attr].b = value
            elif attr in ("N", "num_bits"):
                node.attr[attr].i = value
            elif isinstance(value, int):
                node.attr[attr].type = value
            else:
                node.attr[attr].CopyFrom(value)
        _add_defaults(node)
        self._nodes[name] = node
        return name

    def _constant(self, name: str, dtype: int, values: list, is_scalar: bool = True) -> str:
        value = _protos.get("AttrValue")()
        _fill(value.tensor, dtype, values, is_scalar)
        return self._add(name, "Const", dtype=dtype, value=value)

    def _float(self, name: str, number: float) -> str:
        return self._constant(name, _FLOAT, [number])

    def _quantize(self, source: str, consumer, is_signed: bool, given) -> str:
        """Quantises and dequantises what `source` computes."""
        dtype = consumer.attr["T"].type
        if dtype != _FLOAT:
            theirs = _protos.get("DataType").Name(dtype)
            types, name = (f"{theirs} vs. DT_FLOAT", "QuantizeAndDequantizeV2") if given else (f"DT_FLOAT vs. {theirs}", "Min/EMA/ValueDiff")
            raise ValueError(f"Inconsistent values for attr 'T' {types} while building NodeDef '{source}/{name}'")
        if given:
            ends = [self._float(f"{source}/InputM{end}", value) for end, value in zip(("in", "ax"), given)]
        else:
            ends = self._averages(source)
        return self._add(f"{source}/QuantizeAndDequantizeV2", "QuantizeAndDequantizeV2", [source, *ends], T=_FLOAT, signed_input=is_signed,
                         num_bits=self._num_bits, range_given=True)

    def _averages(self, source: str) -> list[str]:
        """Returns the averages of the least and the greatest number, updated."""
        decay = self._float(f"{source}/Decay", _DECAY)
        axes = f"{source}/ReductionAxes"
        start = self._constant(f"{axes}/RangeStart", _INT32, [0])
        delta = self._constant(f"{axes}/RangeDelta", _INT32, [1])
        rank = self._add(f"{axes}/InputRank", "Rank", [source], T=_FLOAT)
        axes = self._add(f"{axes}/ReductionAxes", "Range", [start, rank, delta], Tidx=_INT32)
        ends = [self._add(f"{source}/{op}", op, [source, axes], T=_FLOAT, Tidx=_INT32) for op in ("Min", "Max")]
        return [self._average(end, decay) for end in ends]

    def _average(self, value: str, decay: str) -> str:
        """Returns a variable with the average of `value`, which it starts with."""
        shape = _protos.get("AttrValue")()
        shape.shape.SetInParent()
        variable = self._add(f"{value}/Variable", "VariableV2", shape=shape, dtype=_FLOAT)
        self._variables.append(variable)
        is_initialized = self._add(f"{value}/IsInitialized", "IsVariableInitialized", [variable], dtype=_FLOAT)
        switch = self._add(f"{value}/Switch", "Switch", [value, is_initialized], T=_FLOAT)
        one = self._float(f"{value}/EMA/OneConst", 1.0)
        rest = self._add(f"{value}/EMA/DecayComplement", "Sub", [one, decay], T=_FLOAT)
        difference = self._add(f"{value}/EMA/ValueDiff", "Sub", [variable, f"{switch}:1"], T=_FLOAT)
        update = self._add(f"{value}/EMA/UpdateValue", "Mul", [difference, rest], T=_FLOAT)
        average = self._add(f"{value}/EMA/EMAValue", "Sub", [variable, update], T=_FLOAT)
        merged = self._add(f"{value}/Merge", "Merge", [switch, average], T=_FLOAT, N=2)
        return self._add(f"{value}/AssignValue", "Assign", [variable, merged], T=_FLOAT)

    def _save_variables(self) -> None:
        """Saves and restores the added variables with those of the graph's saver."""
        savers = [node for node in self._nodes.values() if node.op == "SaveV2"]
        if not savers:
            return
        if len(savers) > 1:
            raise ValueError("Input graph has multiple SaveV2 ops.")
        save, = savers
        inputs = [_source(name) for name in _data_inputs(save)]
        if len(inputs) < 3 or any(self._nodes[name].op != "Const" for name in inputs[1:3]):
            raise ValueError(f"'{save.name}' does not name what it saves by constants")
        prefix = save.name.rpartition("/")[0] or save.name
        restore_all = self._nodes.get(f"{prefix}/restore_all")
        if restore_all is None:
            raise ValueError("graph has SaveOp, but no restore_all NoOp")
        for variable in self._variables:
            restore, assign = self._new_name(f"{prefix}/RestoreV2"), self._new_name(f"{prefix}/Assign")
            names = self._constant(f"{restore}/tensor_names", _STRING, [variable.encode()], False)
            slices = self._constant(f"{restore}/shape_and_slices", _STRING, [b""], False)
            dtypes = _protos.get("AttrValue")()
            dtypes.list.type.append(_FLOAT)
            self._add(restore, "RestoreV2", [inputs[0], names, slices], dtypes=dtypes)
            restore_all.input.append("^" + self._add(assign, "Assign", [variable, restore], T=_FLOAT))
        for name, added in zip(inputs[1:3], ([v.encode() for v in self._variables], [b""] * len(self._variables))):
            tensor = self._nodes[name].attr["value"].tensor
            strings = [*make_ndarray(tensor).reshape(-1).tolist(), *added]
            _fill(tensor, _STRING, [], False)
            tensor.tensor_shape.dim[0].size = len(strings)
            tensor.tensor_content = b"".join([*(_varint(len(text)) for text in strings), *strings])
        del self._nodes[save.name]
        dtypes = _protos.get("AttrValue")()
        dtypes.CopyFrom(save.attr["dtypes"])
        dtypes.list.type.extend([_FLOAT] * len(self._variables))
        self._add(save.name, "SaveV2", inputs + self._variables, dtypes=dtypes)
        for node in self._nodes.values():
            if node.op != "SaveV2" and any(_source(name) == save.name for name in node.input):
                node.input[:] = [name if _source(name) != save.name else f"^{save.name}" for name in node.input]

    def _new_name(self, prefix: str) -> str:
        name = f"{prefix}/_{self._names}_qt"
        self._names += 1
        return name


def _fill(tensor, dtype: int, values: list, is_scalar: bool) -> None:
    """Changes the message of a tensor to a scalar or a vector of these values."""
    tensor.Clear()
    tensor.dtype = dtype
    tensor.tensor_shape.SetInParent()
    if not is_scalar:
        tensor.tensor_shape.dim.add(size=len(values))
    getattr(tensor, {_FLOAT: "float_val", _INT32: "int_val", _STRING: "string_val"}[dtype]).extend(values)


def _varint(number: int) -> bytes:
    """Returns a number as messages have it: seven bits a byte, the lowest first."""
    digits = []
    while number > 127:
        digits.append(number & 127 | 128)
        number >>= 7
    return bytes([*digits, number])


def _add_defaults(node) -> None:
    """Adds the attributes that a node leaves out, with their defaults."""
    definition = _core.op_def(node.op)
    if definition is None:
        return
    for attr in _protos.get("OpDef").FromString(definition).attr:
        if attr.HasField("default_value") and attr.name not in node.attr:
            node.attr[attr.name].CopyFrom(attr.default_value)


def _in_order(nodes: list) -> list:
    """Nodes behind those that they need, else in the order they have; a loop's `Merge` comes before what goes round."""
    places = {node.name: i for i, node in enumerate(nodes)}
    loops = {node.name for node in nodes if node.op in ("NextIteration", "RefNextIteration")}
    missing = []
    users: list[list[int]] = [[] for _ in nodes]
    for i, node in enumerate(nodes):
        if places[node.name] != i:
            raise ValueError(f"Node '{node.name}' is not unique")
        sources = [_source(name) for name in node.input]
        absent = [name for name in sources if name not in places]
        if absent:
            raise ValueError(f"Node '{node.name}': Unknown input node '{absent[0]}'")
        needed = [name for name in sources if not (node.op in ("Merge", "RefMerge") and name in loops)]
        missing.append(len(needed))
        for name in needed:
            users[places[name]].append(i)
    ready = [i for i, count in enumerate(missing) if count == 0]
    order = []
    while ready:
        i = heapq.heappop(ready)
        order.append(nodes[i])
        for user in users[i]:
            missing[user] -= 1
            if missing[user] == 0:
                heapq.heappush(ready, user)
    if len(order) < len(nodes):
        raise ValueError("The graph couldn't be sorted in topological order.")
    return order
