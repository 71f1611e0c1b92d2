"""Gradients in a function's body by tensors outside of it: on through what the body takes from the graphs around it."""

from __future__ import annotations

from flowmill._internal import gradients_impl
from flowmill._internal.apply import call
from flowmill._internal.convert import constant, convert_to_tensor
from flowmill._internal.graph import Graph
from flowmill._internal.importer import import_graph_def
from flowmill._internal.indexed_slices import IndexedSlices
from flowmill._internal.tensor import Tensor
from flowmill.graph_util import extract_sub_graph


def gradients_by_outside(graph, ys, xs: list[Tensor], grad_ys, options: dict) -> list:
    """Like :func:`flowmill.gradients`, in the body `graph`, with respect to tensors that may be of graphs around it.

    What lies between a captured tensor and an `x` outside is differentiated with the values that the graph outside computes: those are captured
    too, and nothing is computed twice.

    Returns:
        For each of `xs` a tensor or IndexedSlices of `graph`, or None.
    """
    found: list[list] = [[] for _ in xs]
    # What is known of gradients by tensors that have not been differentiated yet, by tensor.
    pending: dict[int, tuple[Tensor, list]] = {}
    own = [x for x in xs if x.graph is graph]
    captures = [(outside, inside) for outside, inside in graph.captures if _is_differentiable(outside)]
    grads = gradients_impl.gradients(ys, own + [inside for _, inside in captures], grad_ys, **options)
    _note(found, xs, own, grads[:len(own)])
    _pend(pending, [outside for outside, _ in captures], grads[len(own):])
    around = graph.outer_graph
    while around is not None and pending:
        here = [pending.pop(key) for key in [k for k, (t, _) in pending.items() if t.graph is around]]
        own = [x for x in xs if x.graph is around]
        captures = [c for c in getattr(around, "captures", ()) if _is_differentiable(c[0])]
        if here:
            grads = _continued(graph, around, here, own + [inside for _, inside in captures], options)
            _note(found, xs, own, grads[:len(own)])
            _pend(pending, [outside for outside, _ in captures], grads[len(own):])
        around = getattr(around, "outer_graph", None)
    return [_sum(parts) for parts in found]


def _is_differentiable(tensor: Tensor) -> bool:
    kind = tensor.dtype.base_dtype
    return kind.is_floating or kind.is_complex or kind.name in ("variant", "resource")


def _note(found: list[list], xs: list[Tensor], own: list[Tensor], grads: list) -> None:
    by_id = dict(zip(map(id, own), grads))
    for parts, x in zip(found, xs):
        if by_id.get(id(x)) is not None:
            parts.append(by_id[id(x)])


def _pend(pending: dict, tensors: list[Tensor], grads: list) -> None:
    for tensor, grad in zip(tensors, grads):
        if grad is not None:
            pending.setdefault(id(tensor), (tensor, []))[1].append(grad)


def _sum(parts: list):
    if len(parts) < 2:
        return parts[0] if parts else None
    return call("AddN", None, [convert_to_tensor(p) for p in parts])


def _continued(graph, around: Graph, here: list[tuple[Tensor, list]], xs: list[Tensor], options: dict) -> list:
    """Gradients by `xs` of `around`, made in `graph` of those by other tensors of `around`.

    They are built beside a copy of what computes those tensors; what was built then moves into `graph`, where tensors of `around` are captured.
    Where the gradient of a call lets that give more, the call in `around` does, too.
    """
    # Nothing is behind a tensor without inputs, such as a variable's handle: its gradient is what is known of it.
    by_id = {id(tensor): _sum(parts) for tensor, parts in here if not tensor.op.inputs}
    here = [(tensor, parts) for tensor, parts in here if tensor.op.inputs]
    if not here:
        return [by_id.get(id(x)) for x in xs]
    ys = [tensor for tensor, _ in here]
    starts = [convert_to_tensor(_sum(parts)) for _, parts in here]
    names = sorted({t.op.name for t in ys})
    with around.as_default():
        own = around.as_graph_def()
        forward = extract_sub_graph(own, names)
    contexts = _loops_of_frames(around, forward)
    if contexts:  # they name what else is in the graph
        forward = own
    there = {node.name for node in forward.node}
    known = [x for x in xs if x.op.name in there]
    beside = Graph()
    beside._python_gradients = dict(around._python_gradients)
    with beside.as_default():
        import_graph_def(forward, name="")
        loops = [beside._core.add_context_def(beside._thread.here.scope, c, "") for c in contexts]
        begin = [call("Placeholder", "captured_grad", dtype=s.dtype, shape=s.shape) for s in starts]
        copies = [beside.get_tensor_by_name(y.name) for y in ys]
        grads = gradients_impl.gradients(copies, [beside.get_tensor_by_name(x.name) for x in known], begin, **{**options, "name": "gradients"})
    whole = beside.as_graph_def()
    given = {b.name: s for b, s in zip(begin, starts)}
    begun = {b.op.name for b in begin}
    fed = _extended(around, beside, whole, there)
    if loops:
        fed |= _extended_loops(around, beside, whole, [n for n in whole.node if n.name not in there and n.name not in begun], loops)
    moved = _moved(graph, around, whole, there, given, fed, [p for g in grads for p in _parts(g)])
    for x, grad in zip(known, grads):
        parts = [g for g in (by_id.get(id(x)), _in(graph, grad, moved)) if g is not None]
        by_id[id(x)] = _sum(parts)
    return [by_id.get(id(x)) for x in xs]


def _parts(grad) -> list[Tensor]:
    if grad is None:
        return []
    return [p for p in (grad.values, grad.indices, grad.dense_shape) if p is not None] if isinstance(grad, IndexedSlices) else [grad]


def _in(graph, grad, moved: dict[str, Tensor]):
    """Returns a gradient in `graph`, with what is known of its shape beside."""
    for part in _parts(grad):
        moved[part.name].set_shape(part.shape)
    if not isinstance(grad, IndexedSlices):
        return None if grad is None else moved[grad.name]
    dense_shape = grad.dense_shape
    if dense_shape is not None:
        known = dense_shape.graph._core.constant_value(*dense_shape._key)
        dense_shape = moved[dense_shape.name] if known is None else constant(known)
    return IndexedSlices(moved[grad.values.name], moved[grad.indices.name], dense_shape)


def _contexts_around(graph: Graph, number: int | None) -> list[int]:
    """Returns a control-flow context and those around it, the outermost last."""
    found = []
    while number is not None:
        found.append(number)
        number = graph._core.outer_context(graph._thread.here.scope, number)
    return found


def _loops_of_frames(around: Graph, forward) -> list[bytes]:
    """Returns the contexts that loops of frames are in, if there are some among the nodes of `forward`: with what is inside of them, as messages."""
    types = {node.op for node in forward.node}
    # A loop with pops is the gradient of one: there are no second derivatives.
    if "NextIteration" not in types or "StackPopV2" in types:
        return []
    scope = around._thread.here.scope
    outermost = {}
    for node in forward.node:
        contexts = _contexts_around(around, around._core.context_of(scope, around.get_operation_by_name(node.name)._id))
        if contexts:
            outermost[contexts[-1]] = None
    return [around._core.context_def(scope, number) for number in outermost]


def _extended_loops(around: Graph, beside: Graph, whole, new: list, loops: list[int]) -> dict[str, Tensor]:
    """Adds to the loops of frames of `around` what gradients have added to those of its copy `beside`: counters, and stacks of values.

    Returns:
        The tensors of `around` that correspond to those of the `new` nodes that were added to it, by their names.
    """
    ops = {node.name: beside.get_operation_by_name(node.name) for node in new}
    scope = beside._thread.here.scope

    def is_forward(op) -> bool:
        return any(number in loops for number in _contexts_around(beside, beside._core.context_of(scope, op._id)))

    added: dict[str, None] = {}
    todo = [op for op in ops.values() if is_forward(op)]
    while todo:
        op = todo.pop()
        if op.name in ops and op.name not in added:
            added[op.name] = None
            todo.extend([t.op for t in op.inputs] + list(op.control_inputs))
            todo.extend(c for t in op._outputs for c in t.consumers() if c.type == "Exit")
    nodes = [node for node in new if node.name in added]
    for node in nodes:
        node.attr.pop("_class", None)
    inputs = {}
    for name in added:
        op = ops[name]
        inputs |= {t.name: around.get_tensor_by_name(t.name) for t in op.inputs if t.op.name not in added}
        inputs |= {"^" + c.name: around.get_operation_by_name(c.name) for c in op.control_inputs if c.name not in added}
    names = [t.name for name in added for t in ops[name]._outputs]
    # Under their own names, which are new in the copy, so that they are in the loops' frames.
    with around.as_default(), around.control_dependencies(None), around.name_scope(None):
        part = type(whole)(node=nodes, versions=whole.versions, library=whole.library)
        return dict(zip(names, import_graph_def(part, input_map=inputs, return_elements=names, name="")))


def _extended(around: Graph, beside: Graph, whole, forward: set[str]) -> dict[str, Tensor]:
    """Adds to calls of `around` the results that the calls of the same names in its copy `beside` got when gradients were made there.

    Returns:
        The tensors of `around` that correspond to those of nodes that were added for that, by their names.
    """
    calls = [op for op in (beside.get_operation_by_name(name) for name in sorted(forward))
             if len(op._outputs) > len(around.get_operation_by_name(op.name)._outputs)]
    if not calls:
        return {}
    # Lists that loops append to, and counters.
    feeding: dict[str, None] = {}
    todo = [t for op in calls for t in op.inputs]
    while todo:
        tensor = todo.pop()
        if tensor.op.name not in forward and tensor.op.name not in feeding:
            feeding[tensor.op.name] = None
            todo.extend(tensor.op.inputs)
    nodes = [n for n in whole.node if n.name in feeding]
    names = [t.name for name in feeding for t in beside.get_operation_by_name(name)._outputs]
    inputs = {t.name: around.get_tensor_by_name(t.name) for name in feeding for t in beside.get_operation_by_name(name).inputs
              if t.op.name in forward}
    with around.as_default(), around.control_dependencies(None):
        part = type(whole)(node=nodes, versions=whole.versions, library=whole.library)
        fed = dict(zip(names, import_graph_def(part, input_map=inputs, return_elements=names, name="gradients")))
    made = {n.name: n for n in whole.node}
    for call_ in calls:
        op = around.get_operation_by_name(call_.name)
        more = [fed[t.name] if t.name in fed else around.get_tensor_by_name(t.name) for t in call_.inputs[len(op.inputs):]]
        shapes = [None if t.shape.rank is None else [-1 if d is None else d for d in t.shape.as_list()] for t in call_._outputs[len(op._outputs):]]
        with around._lock:
            around._core.extend_node(around._thread.here.scope, op._id, made[op.name].SerializeToString(), [t._key for t in more], shapes)
        op._extend()
    return fed


def _moved(graph, around: Graph, whole, forward: set[str], given: dict[str, Tensor], fed: dict[str, Tensor],
           wanted: list[Tensor]) -> dict[str, Tensor]:
    """Adds the nodes that are neither `forward` nor `given` nor `fed` to `graph`; returns its tensors for the `wanted` ones, by their names."""
    outside: dict[str, Tensor] = {}
    forward = forward | {name.partition(":")[0] for name in fed}

    def is_new(tensor: str) -> bool:
        return tensor.partition(":")[0] not in forward and (tensor if ":" in tensor else tensor + ":0") not in given

    def stands_for(tensor: str) -> Tensor:
        name = tensor if ":" in tensor else tensor + ":0"
        if name not in outside:
            known = fed.get(name)
            outside[name] = given[name] if name in given else graph.capture(around.get_tensor_by_name(name) if known is None else known)
        return outside[name]

    nodes = [n for n in whole.node if n.name not in forward and f"{n.name}:0" not in given]
    inputs = {}
    for node in nodes:
        kept = [i for i in node.input if not i.startswith("^") or is_new(i[1:])]
        for source in kept:
            if not source.startswith("^") and not is_new(source):
                inputs[source] = stands_for(source)
        del node.input[:]
        node.input.extend(kept)
        node.attr.pop("_class", None)
    part = type(whole)(node=nodes, versions=whole.versions, library=whole.library)
    names = [t.name for t in wanted if is_new(t.name)]
    made = import_graph_def(part, input_map=inputs, return_elements=names, name="outside") if nodes else []
    return {**dict(zip(names, made)), **{t.name: stands_for(t.name) for t in wanted if not is_new(t.name)}}
