"""Random graphs with random device requests and colocations: every node has the device that TensorFlow's placer assigns, or both report the same error.

Thirty seeds by default, three hundred with FLOWMILL_LONG=1. A failure names its seed, which reproduces the graph.
"""

import ctypes
import os
import random
import re
import sys

import pytest

import flowmill

SEEDS = range(300) if os.environ.get("FLOWMILL_LONG") == "1" else range(30)


class Program:
    """A graph of scalar operations that is built at random."""

    def __init__(self, tf, choose: random.Random):
        self.tf, self.choose = tf, choose
        self.values = []
        steps = [self.constant, self.placeholder, self.arithmetic, self.arithmetic, self.arithmetic, self.identity, self.shape, self.split, self.reference,
                 self.variable, self.queue, self.array, self.loop, self.conditional, self.controls, self.lists, self.dataset, self.handles]
        self.constant()
        for _ in range(choose.randint(5, 40)):
            choose.choice(steps)()

    def value(self):
        return self.choose.choice(self.values)

    def constant(self):
        self.values.append(self.tf.constant(1.0))

    def placeholder(self):
        self.values.append(self.tf.placeholder(self.tf.float32, []))

    def arithmetic(self):
        self.values.append(self.choose.choice([self.tf.add, self.tf.multiply])(self.value(), self.value()))

    def identity(self):
        self.values.append(self.tf.identity(self.value()))

    def shape(self):
        kind = self.choose.choice(["Shape", "Size", "Rank", "ShapeN"])
        if kind == "ShapeN":
            self.tf.raw_ops.ShapeN(input=[self.value(), self.value()])
        else:
            getattr(self.tf.raw_ops, kind)(input=self.value())

    def split(self):
        self.values += [self.tf.reshape(part, []) for part in self.tf.split(self.tf.stack([self.value(), self.value()]), 2)]

    def reference(self):
        variable = self.tf.raw_ops.VariableV2(shape=[], dtype=self.tf.float32)
        for _ in range(self.choose.randint(0, 3)):
            self.tf.raw_ops.Assign(ref=variable, value=self.value())
        self.values.append(self.tf.raw_ops.Identity(input=variable))

    def variable(self):
        handle = self.tf.raw_ops.VarHandleOp(shape=[], dtype=self.tf.float32, shared_name=f"v{len(self.values)}")
        for _ in range(self.choose.randint(0, 3)):
            self.tf.raw_ops.AssignVariableOp(resource=handle, value=self.value())
        if self.choose.random() < 0.3:
            handle = self.tf.raw_ops.Identity(input=handle)
        self.values.append(self.tf.raw_ops.ReadVariableOp(resource=handle, dtype=self.tf.float32))

    def handles(self):
        first, second = (self.tf.raw_ops.VarHandleOp(shape=[], dtype=self.tf.float32, shared_name=f"{name}{len(self.values)}") for name in "pq")
        step = self.choose.choice(["both", "each"])
        if step == "both":
            self.tf.raw_ops.ResourceApplyMomentum(var=first, accum=second, lr=self.value(), grad=self.value(), momentum=self.value())
        else:
            for handle in self.tf.raw_ops.IdentityN(input=[first, second]):
                self.values.append(self.tf.raw_ops.ReadVariableOp(resource=handle, dtype=self.tf.float32))

    def queue(self):
        queue = self.tf.raw_ops.FIFOQueueV2(component_types=[self.tf.float32], shapes=[[]])
        self.tf.raw_ops.QueueEnqueueV2(handle=queue, components=[self.value()])
        self.values += [self.tf.reshape(part, []) for part in self.tf.raw_ops.QueueDequeueV2(handle=queue, component_types=[self.tf.float32])]

    def array(self):
        array = self.tf.TensorArray(self.tf.float32, 2)
        self.values.append(self.tf.reshape(array.write(0, self.value()).read(0), []))

    def loop(self):
        outside = self.value()
        shapes = [self.tf.TensorShape([]), self.tf.TensorShape(None)]
        results = self.tf.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x * outside), [0, self.value()], shape_invariants=shapes)
        self.values.append(results[1])

    def conditional(self):
        self.values.append(self.tf.cond(self.value() > 0.0, lambda: self.value() * 2.0, lambda: self.tf.identity(self.value())))

    def controls(self):
        with self.tf.control_dependencies([self.value(), self.value()]):
            self.choose.choice([self.tf.no_op, self.constant])()

    def lists(self):
        kind = self.choose.choice([self.tf.float32, self.tf.string])
        items = self.tf.raw_ops.EmptyTensorList(element_shape=self.tf.constant(-1), max_num_elements=self.tf.constant(3), element_dtype=kind)
        self.tf.raw_ops.TensorListLength(input_handle=self.tf.identity(items))

    def dataset(self):
        def number():
            return self.tf.constant(3, self.tf.int64)
        numbers = self.tf.raw_ops.RangeDataset(start=number(), stop=number(), step=number(), output_types=[self.tf.int64], output_shapes=[[]])
        taken = self.tf.raw_ops.TakeDataset(input_dataset=numbers, count=number(), output_types=[self.tf.int64], output_shapes=[[]])
        if self.choose.random() < 0.5:
            iterator = self.tf.raw_ops.IteratorV2(shared_name="", container="", output_types=[self.tf.int64], output_shapes=[[]])
            self.tf.raw_ops.MakeIterator(dataset=taken, iterator=iterator)


def random_graph(tf1, seed: int):
    """Returns a graph of TensorFlow's, the number of CPUs to place it on, and whether to place softly."""
    choose = random.Random(seed)
    with tf1.Graph().as_default() as graph:
        Program(tf1, choose)
    message = graph.as_graph_def()
    cpus, share, is_soft = choose.randint(2, 4), choose.choice([0.1, 0.3, 0.6]), choose.random() < 0.6
    for node in message.node:
        if choose.random() < share:
            number = choose.randrange(cpus)
            requests = [f"/cpu:{number}", f"/device:CPU:{number}", f"/job:localhost/replica:0/task:0/device:CPU:{number}"] * 5
            requests += [f"/task:0/cpu:{number}", "/device:CPU:*", "/job:localhost", "/replica:0/task:0", f"/device:*:{number}", "/device:*:*"]
            if is_soft:
                requests += ["/device:GPU:0", "/cpu:17", "/job:localhost/device:TPU:1"]
            elif choose.random() < 0.02:
                requests = ["/device:GPU:0", "/cpu:17", "/job:worker"]
            node.device = choose.choice(requests)
        if choose.random() < share / 2 and "_class" not in node.attr:
            others = choose.sample(list(message.node), choose.choice([1, 1, 2]) if len(message.node) > 1 else 1)
            node.attr["_class"].list.s.extend(f"loc:@{other.name}".encode() for other in others)
    with tf1.Graph().as_default() as graph:
        tf1.import_graph_def(message, name="")
        tf1.no_op(name="begin")
    return graph, cpus, is_soft


class Output:
    """Collects what native code writes to the standard output and error meanwhile."""

    def __init__(self, path):
        self.path = path

    def __enter__(self):
        sys.stdout.flush()
        sys.stderr.flush()
        self.saved = [os.dup(1), os.dup(2)]
        file = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(file, 1)
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 2)
        os.close(file)
        os.close(null)
        return self

    def __exit__(self, *raised):
        ctypes.CDLL(None).fflush(None)
        for number, saved in enumerate(self.saved, 1):
            os.dup2(saved, number)
            os.close(saved)
        self.text = self.path.read_text()


def theirs(tf1, graph, cpus, is_soft, path):
    """Returns TensorFlow's devices of all nodes, from its log, or its error."""
    config = tf1.ConfigProto(device_count={"CPU": cpus}, allow_soft_placement=is_soft, log_device_placement=True)
    with Output(path) as output, tf1.Session(graph=graph, config=config) as session:
        try:
            session.run("begin")
        except tf1.errors.OpError as error:
            return error
    return dict(re.findall(r"^(.*): \(\w+\): (/job.*)$", output.text, re.MULTILINE))


def ours(graph, cpus, is_soft):
    """Returns the devices of all nodes of a graph of TensorFlow's, or the error."""
    with flowmill.Graph().as_default() as own:
        flowmill.import_graph_def(graph.as_graph_def().SerializeToString(), name="")
    return placed(own, cpus, is_soft)


def placed(own, cpus, is_soft):
    """Returns the devices of all nodes, or the error."""
    config = flowmill.ConfigProto(device_count={"CPU": cpus}, allow_soft_placement=is_soft)
    with flowmill.Session(graph=own, config=config) as session:
        try:
            session.run("begin")
        except flowmill.errors.OpError as error:
            return error
        return session._core.placement()


def reason(error) -> tuple:
    """Returns the kind of an error and the line of its message that says what cannot be placed.

    Left out are the list of all devices, which has another order there, numbers of devices without a type, which TensorFlow does not print, and the remark
    on CUDA, which depends on TensorFlow's build.
    """
    lines = [line for line in error.message.split("\n") if re.match("Cannot|Nodes were connected|No OpKernel|Malformed", line)]
    return type(error).__name__, re.sub(r"All available devices.*|/device:\*:\d+| The requested device appears.*", "", lines[0]).strip()


@pytest.mark.parametrize("seed", SEEDS)
def test_nodes_are_placed_where_tensorflow_places_them(tf1, tmp_path, seed):
    graph, cpus, is_soft = random_graph(tf1, seed)
    expected, found = theirs(tf1, graph, cpus, is_soft, tmp_path / "log"), ours(graph, cpus, is_soft)
    if isinstance(expected, Exception) or isinstance(found, Exception):
        assert isinstance(expected, Exception) and isinstance(found, Exception), f"seed {seed}: {expected}, {found}"
        assert reason(found) == reason(expected), f"seed {seed}"
        return
    assert found.keys() == expected.keys(), f"seed {seed}"
    wrong = {name: (device, expected[name]) for name, device in found.items() if device != expected[name]}
    assert not wrong, f"seed {seed}: placed here and by TensorFlow: {wrong}"


class FunctionalProgram(Program):
    """A program whose loops and branches are functions, on requested devices."""

    def __init__(self, tf, choose):
        self.cpus = choose.randint(2, 4)
        super().__init__(tf, choose)

    def requested(self):
        return self.tf.device(self.choose.choice([None, *(f"/cpu:{i}" for i in range(self.cpus))]))

    def value(self):
        value = super().value()
        with self.requested():
            return value if self.choose.random() < 0.7 else self.tf.tanh(value)

    def constant(self):
        with self.requested():
            super().constant()

    def placeholder(self):
        with self.requested():
            super().placeholder()

    def loop(self):
        with self.requested():
            super().loop()

    def conditional(self):
        a, b, predicate = self.value(), self.value(), self.value() > 0.0
        with self.requested():
            self.values.append(self.tf.cond(predicate, lambda: a * 2.0, lambda: self.tf.cond(b > 0.0, lambda: self.tf.identity(b), lambda: a + b)))

    def case(self):
        a, b, index = self.value(), self.value(), self.tf.cast(self.value(), self.tf.int32)
        with self.requested():
            self.values.append(self.tf.switch_case(index, [lambda: a * 2.0, lambda: self.tf.identity(b), lambda: a + b]))

    queue = array = lists = dataset = case
    variable = handles = reference = conditional
    controls = split = loop


@pytest.mark.parametrize("seed", SEEDS[:len(SEEDS) // 3])
def test_functional_control_flow_is_lowered_before_it_is_placed(tf1, tmp_path, seed):
    tf1.enable_control_flow_v2()
    try:
        with tf1.Graph().as_default() as graph:
            program = FunctionalProgram(tf1, random.Random(seed))
            tf1.no_op(name="begin")
    finally:
        tf1.disable_control_flow_v2()
    expected, found = theirs(tf1, graph, program.cpus, False, tmp_path / "log"), ours(graph, program.cpus, False)
    names = {op.name for op in graph.get_operations()}
    assert names <= expected.keys() and names <= found.keys(), f"seed {seed}"
    wrong = {name: (found[name], expected[name]) for name in names if found[name] != expected[name]}
    assert not wrong, f"seed {seed}: placed here and by TensorFlow: {wrong}"


def returned_by_functions(tf):
    handles = []
    for number in (1, 2):
        with tf.device(f"/cpu:{number}"):
            handles.append(tf.raw_ops.VarHandleOp(shape=[], dtype=tf.float32, shared_name=f"v{number}"))

    @tf.function(autograph=False)
    def swapped(x, y):
        return tf.identity(y), tf.identity(x)

    @tf.function(autograph=False)
    def swapped_twice(x, y):
        return swapped(*swapped(x, y))

    @tf.function(autograph=False)
    def made():
        with tf.device("/cpu:3"):
            return tf.raw_ops.VarHandleOp(shape=[], dtype=tf.float32, shared_name="made")
    for i, handle in enumerate([*swapped(*handles), *swapped_twice(*handles), made()]):
        tf.raw_ops.ReadVariableOp(resource=handle, dtype=tf.float32, name=f"read{i}")


def test_users_of_resources_that_functions_return_are_where_the_resources_are(tf1, tmp_path):
    with tf1.Graph().as_default() as graph:
        returned_by_functions(tf1)
        tf1.no_op(name="begin")
    expected, found = theirs(tf1, graph, 4, False, tmp_path / "log"), ours(graph, 4, False)
    devices = {f"read{i}": f"/job:localhost/replica:0/task:0/device:CPU:{device}" for i, device in enumerate([2, 1, 1, 2, 3])}
    assert {name: expected[name] for name in devices} == devices == {name: found[name] for name in devices}


def test_a_user_of_returned_resources_on_two_devices_is_refused(tf1, tmp_path):
    with tf1.Graph().as_default() as graph:
        returned_by_functions(tf1)
        first, second = (graph.get_operation_by_name(f"read{i}").inputs[0] for i in (0, 1))
        value = tf1.constant(1.0)
        tf1.raw_ops.ResourceApplyMomentum(var=first, accum=second, lr=value, grad=value, momentum=value)
        tf1.no_op(name="begin")
    for error in (theirs(tf1, graph, 4, True, tmp_path / "log"), ours(graph, 4, True)):
        assert reason(error)[1].startswith("Cannot place the graph because a reference or resource edge connects colocation groups with incompatible resource")


def test_stateful_nodes_stay_when_the_graph_grows():
    with flowmill.Graph().as_default() as graph:
        handle = flowmill.raw_ops.VarHandleOp(shape=[], dtype=flowmill.float32, shared_name="v", name="v")
        begin = flowmill.no_op()
        with flowmill.Session(config=flowmill.ConfigProto(device_count={"CPU": 2})) as session:
            session.run(begin)
            assert session._core.placement()["v"].endswith("CPU:0")
            with graph.device("/cpu:1"):
                flowmill.raw_ops.ReadVariableOp(resource=handle, dtype=flowmill.float32, name="read")
            assert {device[-5:] for device in session._core.placement().values()} == {"CPU:0"}
        with flowmill.Session(config=flowmill.ConfigProto(device_count={"CPU": 2})) as session:
            assert session._core.placement()["v"].endswith("CPU:1")


def test_functions_that_call_each_other_twice_are_looked_into_once():
    with flowmill.Graph().as_default():
        with flowmill.device("/cpu:1"):
            handle = flowmill.raw_ops.VarHandleOp(shape=[], dtype=flowmill.float32, shared_name="v")

        def twice(inner):
            @flowmill.function(autograph=False)
            def outer(x):
                return inner(inner(x))
            return outer
        function = flowmill.identity
        for _ in range(25):
            function = twice(function)
        flowmill.raw_ops.ReadVariableOp(resource=function(handle), dtype=flowmill.float32, name="read")
        with flowmill.Session(config=flowmill.ConfigProto(device_count={"CPU": 2})) as session:
            assert session._core.placement()["read"].endswith("CPU:1")
