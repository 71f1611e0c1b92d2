"""Measured costs of nodes, and device placement by the cost model."""

import json

import numpy as np
import pytest
import tensorflow.compat.v1 as tf

import flowmill as fm


def costs_of_steps(package, count, **graph_options):
    """Returns the cost graph of each of `count` steps that multiply two matrices."""
    with package.Graph().as_default():
        x = package.placeholder(package.float32, [None, 64], name="x")
        y = package.matmul(x, package.ones([64, 3], name="w"), name="y")
        config = package.ConfigProto(graph_options=package.GraphOptions(**graph_options))
        with package.Session(config=config) as session:
            found = []
            for _ in range(count):
                metadata = package.RunMetadata()
                session.run(y, {x: np.ones([5, 64], np.float32)}, package.RunOptions(), metadata)
                found.append(metadata.cost_graph)
            return found


@pytest.mark.parametrize("options", [{}, {"build_cost_model": 1}, {"build_cost_model": 3}, {"build_cost_model": 2, "build_cost_model_after": 3}])
def test_costs_are_measured_in_the_steps_in_which_tensorflow_does(options):
    ours, theirs = ([len(costs.node) > 0 for costs in costs_of_steps(package, 8, **options)] for package in (fm, tf))
    assert ours == theirs


def test_a_cost_graph_describes_nodes_as_tensorflows():
    def described(package):
        (costs,) = costs_of_steps(package, 1, build_cost_model=1)
        (product,) = [node for node in costs.node if node.name == "y"]
        by_id = {node.id: node for node in costs.node}
        assert len(by_id) == len(costs.node)
        assert all(info.preceding_node in by_id for node in costs.node for info in node.input_info)
        output = product.output_info[0]
        shape = [dim.size for dim in output.shape.dim]
        return output.size, output.dtype, shape, product.device, len(product.input_info), product.compute_cost > 0, product.is_final

    ours, theirs = described(fm), described(tf)
    assert ours == theirs
    assert ours[:3] == (60, fm.float32.as_datatype_enum, [5, 3])


def test_a_step_without_metadata_is_measured_too():
    with fm.Graph().as_default():
        y = fm.constant([1.0, 2.0]) * fm.random.normal([2])
        config = fm.ConfigProto(graph_options=fm.GraphOptions(build_cost_model=2))
        with fm.Session(config=config) as session:
            session.run(y)
            metadata = fm.RunMetadata()
            session.run(y, run_metadata=metadata)
            assert metadata.cost_graph.node and not metadata.step_stats.dev_stats


def by_cost(**options):
    return fm.SessionOptions(device_count={"CPU": 2}, placement="cost_model", **options)


def two_branches():
    """Returns an input and the sum of two independent chains of products."""
    x = fm.placeholder(fm.float32, [128, 128], name="x")
    branches = []
    for i in range(2):
        # Equal branches would be merged.
        y = (i + 1.0) * x
        for j in range(4):
            y = fm.tanh(fm.matmul(y, x, name=f"product{i}{j}"), name=f"tanh{i}{j}")
        branches.append(y)
    return x, fm.add(*branches, name="sum")


def devices_of(session, fetch, feeds):
    metadata = fm.RunMetadata()
    value = session.run(fetch, feeds, fm.RunOptions(output_partition_graphs=True), metadata)
    return value, {node.name: node.device[-5:] for graph in metadata.partition_graphs for node in graph.node}


def test_independent_branches_run_on_different_devices_with_equal_values():
    with fm.Graph().as_default():
        x, y = two_branches()
        value = np.random.default_rng(0).normal(size=[128, 128]).astype(np.float32) / 16
        with fm.Session() as session:
            expected = session.run(y, {x: value})
        with fm.Session(config=by_cost()) as session:
            actual, devices = devices_of(session, y, {x: value})
        np.testing.assert_array_equal(actual, expected)
        # The last product of one branch is fused with the sum, which waits for both branches.
        branches = [{devices[f"tanh{i}{j}"] for j in range(4) if f"tanh{i}{j}" in devices} for i in range(2)]
        assert sum(f"tanh{i}{j}" in devices for i in range(2) for j in range(4)) == 7
        assert sorted(map(sorted, branches)) == [["CPU:0"], ["CPU:1"]]


def test_requests_and_variables_stay_where_the_placer_put_them():
    with fm.Graph().as_default():
        x, y = two_branches()
        with fm.device("/cpu:1"):
            pinned = fm.negative(y, name="pinned")
            v = fm.Variable(fm.zeros([128, 128]), name="v", use_resource=True)
        updated = fm.add(v.assign_add(pinned), x, name="updated")
        with fm.Session(config=by_cost()) as session:
            session.run(v.initializer)
            value = np.eye(128, dtype=np.float32)
            first, devices = devices_of(session, updated, {x: value})
            assert devices["pinned"] == devices["v"] == "CPU:1"
            second = session.run(v)
            np.testing.assert_allclose(first, second + value)


def test_a_config_chooses_the_cost_model_and_its_machine(tmp_path):
    # Copies take so long that one device is faster.
    machine = tmp_path / "machine.json"
    device = '{{"name": "CPU:{}", "flops_per_second": 1e10, "bytes_per_second": 1e10, "launch_seconds": 1e-7}}'
    link = '"link": {"bytes_per_second": 1e3, "latency_seconds": 1}'
    machine.write_text(f'{{"devices": [{device.format(0)}, {device.format(1)}], {link}}}')
    config = fm.ConfigProto(device_count={"CPU": 2})
    optimizer = config.graph_options.rewrite_options.custom_optimizers.add(name="cost_model_placement")
    feeds = np.ones([128, 128], np.float32)
    with fm.Graph().as_default():
        x, y = two_branches()
        with fm.Session(config=config) as session:
            assert set(devices_of(session, y, {x: feeds})[1].values()) == {"CPU:0", "CPU:1"}
        optimizer.parameter_map["machine"].s = str(machine).encode()
        with fm.Session(config=config) as session:
            assert set(devices_of(session, y, {x: feeds})[1].values()) == {"CPU:0"}
        config.device_count["CPU"] = 3
        with fm.Session(config=config) as session, pytest.raises(fm.errors.InvalidArgumentError, match="CPU:0, CPU:1, but the session has"):
            session.run(y, {x: feeds})
    with pytest.raises(fm.errors.NotFoundError, match="absent.json"):
        fm.Session(config=by_cost(machine=str(tmp_path / "absent.json")))
    with pytest.raises(fm.errors.InvalidArgumentError, match="placement must be"):
        fm.Session(config=fm.SessionOptions(placement="random"))


def test_loops_and_branches_give_the_values_of_one_device():
    def program():
        x = fm.placeholder(fm.float32, [64, 64], name="x")
        _, looped = fm.while_loop(lambda i, y: i < 5, lambda i, y: (i + 1, fm.tanh(fm.matmul(y, x))), [0, x])
        chosen = fm.cond(fm.reduce_sum(x) > 0, lambda: fm.matmul(x, x), lambda: -x)
        return x, fm.concat([looped, chosen, fm.gradients(looped, x)[0]], 0)

    with fm.Graph().as_default():
        x, y = program()
        value = np.random.default_rng(1).normal(size=[64, 64]).astype(np.float32) / 8
        for feed in (value, -value):
            values = []
            for config in (None, by_cost()):
                with fm.Session(config=config) as session:
                    values.append(session.run(y, {x: feed}))
            np.testing.assert_allclose(*values, rtol=1e-5, atol=1e-6)


def measured_config(machine, measured_steps, min_gain):
    """Returns a `ConfigProto` that measures every step and places nodes again by measured costs."""
    config = fm.ConfigProto(device_count={"CPU": 2}, graph_options=fm.GraphOptions(build_cost_model=1))
    parameters = config.graph_options.rewrite_options.custom_optimizers.add(name="cost_model_placement").parameter_map
    parameters["machine"].s = str(machine).encode()
    parameters["measured_steps"].i = measured_steps
    if min_gain is not None:
        parameters["min_gain"].f = min_gain
    return config


@pytest.mark.parametrize(("measured_steps", "min_gain", "expected"), [(2, None, 2), (0, None, 1), (2, 0.9, 1)])
def test_measured_costs_place_a_running_session_again(measured_steps, min_gain, expected, tmp_path):
    # A copy takes longer than a product that seems free.
    device = {"flops_per_second": 5e10, "bytes_per_second": 1e10, "launch_seconds": 2e-7}
    link = {"bytes_per_second": 1e12, "latency_seconds": 2e-6}
    machine = tmp_path / "machine.json"
    machine.write_text(json.dumps({"devices": [{"name": f"CPU:{i}", **device} for i in range(2)], "link": link}))
    # The sizes of the input are assumed to be 1, so that all products seem free.
    with fm.Graph().as_default():
        x = fm.placeholder(fm.float32, [None, None], name="x")
        y = fm.add(*(fm.matmul(fm.matmul(fm.matmul(factor * x, x), x), x) for factor in (2.0, 3.0)), name="y")
        value = np.random.default_rng(0).normal(size=[96, 96]).astype(np.float32) / 10
        with fm.Session(config=measured_config(machine, measured_steps, min_gain)) as session:
            first, devices = devices_of(session, y, {x: value})
            assert set(devices.values()) == {"CPU:0"}
            for _ in range(2):
                session.run(y, {x: value})
            last, devices = devices_of(session, y, {x: value})
            assert len(set(devices.values())) == expected
            np.testing.assert_array_equal(first, last)
            report = session.placement_report(y, [x], top=3)
            assert report.startswith("step: ") and "in all measured nodes" in report and "(MatMul)" in report


def test_wrong_settings_of_placement_by_cost_are_refused():
    with pytest.raises(fm.errors.InvalidArgumentError, match="placement_min_gain"):
        fm.Session(config=by_cost(placement_min_gain=1.5))
    with fm.Graph().as_default():
        y = fm.constant(1.0)
        with fm.Session() as session, pytest.raises(fm.errors.FailedPreconditionError, match="cost model"):
            session.placement_report(y)
