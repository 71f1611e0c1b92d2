"""Graphs that the tests and the benches of views draw."""

import flowmill as tf
from flowmill._internal import protos


def loop_graph() -> tf.Graph:
    """A loop of frames, a functional loop and branch, a variable, and a recursive function."""
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, 8], name="x")
        counter = tf.Variable(0.0, use_resource=False, name="counter")
        with tf.name_scope("update"):
            tf.assign_add(counter, 1.0, name="count")
        _, frames = tf.while_loop(lambda i, a: i < 5, lambda i, a: (i + 1, tf.nn.relu(a) * 0.5), [tf.constant(0), x], name="frames")
        chosen = tf.cond(tf.reduce_sum(frames) > 0.0, lambda: frames * 2.0, lambda: frames - 1.0, name="choice")
        tf.enable_control_flow_v2()
        try:
            _, functional = tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, tf.tanh(a)), [tf.constant(0), chosen], name="functional")
        finally:
            tf.disable_control_flow_v2()
        tf.identity(functional, name="y")
    return graph


def generated(num_nodes: int, fan_out: int = 10, leaves: int = 100):
    """Returns a `GraphDef` of blocks in nested scopes, `fan_out` per scope, with `leaves` nodes in each innermost one."""
    graph = protos.get("GraphDef")()
    graph.versions.producer = 1882
    dtype = protos.get("AttrValue")(type=1)

    def add(name: str, op: str, *inputs: str) -> None:
        node = graph.node.add(name=name, op=op, input=inputs)
        node.attr["dtype" if op == "Placeholder" else "T"].CopyFrom(dtype)

    add("x", "Placeholder")
    levels = 1
    while leaves * fan_out**levels < num_nodes:
        levels += 1
    before = skip = "x"
    block = 0
    while len(graph.node) < num_nodes:
        digits = [(block // fan_out**i) % fan_out for i in reversed(range(levels))]
        scope = "/".join(f"part_{digit}" for digit in digits)
        for i in range(min(leaves, num_nodes - len(graph.node))):
            name = f"{scope}/op_{i}"
            if i % 4 == 3:
                add(name, "AddV2", before, skip)
                skip = name
            else:
                add(name, ("Relu", "Tanh", "Sigmoid")[i % 3], before)
            before = name
        block += 1
    return graph
