"""Profiles of graphs, against TensorFlow's."""

import json

import numpy as np
import pytest

import flowmill


def model(tf):
    x = tf.placeholder(tf.float32, [4, 6], name="x")
    with tf.variable_scope("layer"):
        w = tf.get_variable("w", [6, 5], initializer=tf.zeros_initializer(), use_resource=False)
        b = tf.get_variable("b", [5], initializer=tf.zeros_initializer(), trainable=False, use_resource=False)
        y = tf.nn.bias_add(tf.matmul(x, w), b)
    tf.nn.conv2d(tf.ones([1, 6, 5, 3]), tf.ones([1, 1, 3, 3]), [1, 1, 1, 1], "SAME", name="unused")
    return x, tf.reduce_sum(tf.nn.relu(y), name="sum")


def run(tf, options, cmd="scope", step=True):
    """Profiles a step of the model and returns the message."""
    metadata = tf.RunMetadata()
    with tf.Graph().as_default() as graph:
        x, y = model(tf)
        with tf.Session(graph=graph) as session:
            session.run(tf.global_variables_initializer())
            session.run(y, {x: np.ones([4, 6])}, tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), metadata)
        return tf.profiler.profile(graph, metadata if step else None, cmd=cmd, options=options)


def rows(node):
    yield node
    for child in node.children:
        yield from rows(child)


def test_option_builders_are_tensorflows(tf1):
    builders = [tf.profiler.ProfileOptionBuilder for tf in (tf1, flowmill)]
    for name in ("trainable_variables_parameter", "float_operation", "time_and_memory"):
        theirs, ours = (getattr(builder, name)() for builder in builders)
        assert ours == theirs
    made = [builder().with_max_depth(3).with_min_memory(1, 2, 3, 4).with_min_execution_time(5, 6, 7).with_min_parameters(8).with_min_occurrence(9)
            .with_min_float_operations(10).with_accounted_types(["a"]).with_node_names(["b"], ["c"], ["d"], ["e"]).account_displayed_op_only(True)
            .with_empty_output().order_by("bytes").select(["bytes"]).with_step(2).build() for builder in builders]
    assert made[0] == made[1]
    assert [builder().with_file_output("f").build() for builder in builders][0] == flowmill.profiler.ProfileOptionBuilder().with_file_output("f").build()


def test_parameters_are_tensorflows(tf1):
    found = []
    for tf in (tf1, flowmill):
        options = tf.profiler.ProfileOptionBuilder(tf.profiler.ProfileOptionBuilder.trainable_variables_parameter()).with_empty_output().build()
        root = run(tf, options, step=False)
        found.append([(row.name, row.parameters, row.total_parameters) for row in rows(root)])
    assert found[0] == found[1] == [("_TFProfRoot", 0, 30), ("layer", 0, 30), ("layer/w", 30, 30)]


def test_operations_are_tensorflows(tf1):
    found = []
    for tf in (tf1, flowmill):
        options = tf.profiler.ProfileOptionBuilder(tf.profiler.ProfileOptionBuilder.float_operation()).with_empty_output().with_accounted_types(["MatMul", "Conv2D"])
        root = run(tf, options.build(), cmd="op", step=False)
        found.append([(row.name, row.float_ops, row.total_float_ops) for row in rows(root) if row.name != "_TFProfRoot"])
    assert found[0] == found[1] == [("Conv2D", 540, 780), ("MatMul", 240, 240)]


def test_times_and_bytes_by_scope_graph_and_op():
    builder = flowmill.profiler.ProfileOptionBuilder
    options = builder(builder.time_and_memory(min_micros=0, min_bytes=0)).with_empty_output().build()
    scope = run(flowmill, options)
    assert scope.name == "_TFProfRoot" and scope.total_requested_bytes > 0 and any(row.name == "layer" for row in scope.children)
    assert scope.total_exec_micros >= sum(child.total_exec_micros for child in scope.children)
    graph = run(flowmill, options, "graph")
    assert {row.name for row in rows(graph)} > {"sum", "layer/w"}
    op = run(flowmill, options, "op")
    assert {row.name for row in rows(op)} > {"VariableV2", "Placeholder"}
    with pytest.raises(flowmill.errors.InvalidArgumentError, match="unknown cmd"):
        run(flowmill, options, "other")


def test_lines_of_python():
    builder = flowmill.profiler.ProfileOptionBuilder
    options = builder(builder.time_and_memory(min_micros=0, min_bytes=0)).with_empty_output().with_node_names(show_name_regexes=[".*test_profiler.*"]).build()
    root = run(flowmill, options, "code")
    lines = {row.name.split(":", 1)[1].split(":", 1)[1]: row for row in rows(root) if ":" in row.name}
    line = next(row for name, row in lines.items() if name.startswith("model:y = tf.nn.bias_add"))
    assert {node.name for node in line.graph_nodes} >= {"layer/MatMul", "layer/BiasAdd"}
    caller = next(row for name, row in lines.items() if name.startswith("run:x, y = model(tf)"))
    assert line in list(rows(caller))


def test_a_profiler_of_steps(tmp_path, capsys):
    tf = flowmill
    builder = tf.profiler.ProfileOptionBuilder
    with tf.Graph().as_default() as graph:
        x, y = model(tf)
        profiler = tf.profiler.Profiler(graph)
        with tf.Session(graph=graph) as session:
            session.run(tf.global_variables_initializer())
            for step in (3, 5):
                metadata = tf.RunMetadata()
                session.run(y, {x: np.ones([4, 6])}, tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), metadata)
                profiler.add_step(step, metadata)
    shown = builder(builder.time_and_memory(0, 0))
    assert profiler.profile_name_scope(shown.build()).total_run_count > 0
    assert capsys.readouterr().out.startswith("node name | requested bytes | total execution time")
    profiler.profile_operations(shown.with_file_output(tmp_path / "ops.txt").build())
    assert "MatMul" in (tmp_path / "ops.txt").read_text()
    profiler.profile_graph(shown.with_step(5).with_timeline_output(tmp_path / "step").build())
    assert json.loads((tmp_path / "step_5").read_text())["traceEvents"]
    with pytest.raises(tf.errors.InvalidArgumentError, match="no statistics of step 4"):
        profiler.profile_graph(shown.with_step(4).build())
    assert profiler.profile_python(shown.with_step(3).with_empty_output().build()).children
    assert profiler.advise().checkers["ExpensiveOperationChecker"].reports
    assert tf.profiler.advise(graph, metadata).checkers["ExpensiveOperationChecker"].reports
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"'\('"):
        profiler.profile_name_scope(shown.with_empty_output().with_node_names(show_name_regexes=["("]).build())


def test_logs_of_operations(tmp_path, tf1):
    tf = flowmill
    with tf.Graph().as_default() as graph:
        model(tf)
    log = tf.profiler.OpLogProto()
    log.log_entries.add(name="sum", float_ops=1000, types=["mine"])
    options = tf.profiler.ProfileOptionBuilder(tf.profiler.ProfileOptionBuilder.float_operation()).with_accounted_types(["mine"]).with_empty_output().build()
    assert tf.profiler.profile(graph, op_log=log, options=options).total_float_ops == 1000
    tf.profiler.write_op_log(graph, tmp_path, log)
    read = tf1.profiler.OpLogProto.FromString((tmp_path / "tfprof_log").read_bytes())
    entries = {entry.name: entry for entry in read.log_entries}
    assert list(entries["layer/w"].types) == ["_trainable_variables"] and entries["sum"].float_ops == 1000
    assert any("model" == read.id_to_string[trace.function_id] for trace in entries["sum"].code_def.traces)
