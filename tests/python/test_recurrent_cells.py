"""LSTM and GRU cells as single ops, against TensorFlow."""

import numpy as np
import pytest

import flowmill
from oracles import assert_same, assert_same_op


@pytest.fixture
def dice():
    return np.random.RandomState(4)


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
@pytest.mark.parametrize("peephole", [False, True])
def test_lstm_cells(tf1, dice, dtype, peephole):
    batch, inputs, cells, time = 3, 4, 5, 6
    def draw(*shape):
        return (dice.randn(*shape) * 0.5).astype(dtype)
    weights = {"w": draw(inputs + cells, 4 * cells), "wci": draw(cells), "wcf": draw(cells), "wco": draw(cells), "b": draw(4 * cells)}
    state = {"cs_prev": draw(batch, cells), "h_prev": draw(batch, cells)}
    tolerance = 1e-2 if dtype == np.float16 else 1e-5
    for clip in (-1.0, 0.3):
        attrs = {"cell_clip": clip, "use_peephole": peephole, **weights, **state}
        assert assert_same_op(tf1, "LSTMBlockCell", tolerance, x=draw(batch, inputs), forget_bias=0.7, **attrs) is None
        for steps in (time, 4):
            more = {"seq_len_max": np.array(steps), "x": draw(time, batch, inputs), **attrs}
            for op, options in (("BlockLSTM", {"forget_bias": 0.7}), ("BlockLSTMV2", {})):
                def build(m, op=op, options=options, more=more):
                    made = getattr(m.raw_ops, op)(**{k: m.constant(v) if isinstance(v, np.ndarray) else v for k, v in more.items()}, **options)
                    # TensorFlow leaves most of what comes after the last step open.
                    return [made.cs, made.h, *(t[:steps] for t in made)]  # noqa: B023 - called at once
                assert assert_same(tf1, build, rtol=tolerance, atol=tolerance) is None


def test_gru_cells(tf1, dice):
    def draw(*shape):
        return dice.randn(*shape).astype(np.float32)
    assert assert_same_op(tf1, "GRUBlockCell", 1e-5, x=draw(3, 4), h_prev=draw(3, 5), w_ru=draw(9, 10), w_c=draw(9, 5), b_ru=draw(10), b_c=draw(5)) is None


@pytest.mark.parametrize("shape", [(3, 0, 4, 5), (3, 2, 0, 5), (3, 2, 4, 0), (0, 2, 4, 5)])
def test_empty_lstms(tf1, dice, shape):
    time, batch, inputs, cells = shape
    def draw(*shape):
        return dice.randn(*shape).astype(np.float32)
    peepholes = {name: draw(cells) for name in ("wci", "wcf", "wco")}
    state = {"cs_prev": draw(batch, cells), "h_prev": draw(batch, cells)}
    def build(m):
        inputs_of = {"seq_len_max": np.array(time), "x": draw(time, batch, inputs), "w": draw(inputs + cells, 4 * cells), "b": draw(4 * cells)}
        made = m.raw_ops.BlockLSTM(**{k: m.constant(v) for k, v in {**inputs_of, **peepholes, **state}.items()})
        return [m.shape(t) for t in made]
    assert assert_same(tf1, build) is None


def test_weights_of_cells_change_between_steps(tf1, dice):
    """Packed weights are those of the last assignment, of constants and of variables, in long sequences of large cells and in single cells."""
    batch, inputs, cells, time = 64, 4, 16, 300
    def draw(*shape):
        return (dice.randn(*shape) * 0.3).astype(np.float32)
    x, first, second = draw(time, batch, inputs), draw(inputs + cells, 4 * cells), draw(inputs + cells, 4 * cells)
    gates, values = draw(inputs + cells, 2 * cells), draw(inputs + cells, cells)
    bias, state = draw(4 * cells), draw(batch, cells)
    with flowmill.Graph().as_default():
        weights = flowmill.placeholder(flowmill.float32)
        kept = flowmill.Variable(first, use_resource=True)
        zeros = flowmill.zeros([cells])

        def outputs(weights):
            cell = {"w": weights, "wci": zeros, "wcf": zeros, "wco": zeros, "b": bias, "cell_clip": -1.0}
            block = flowmill.raw_ops.BlockLSTM(seq_len_max=np.int64(time - 20), x=x, cs_prev=state, h_prev=state, **cell)
            one = flowmill.raw_ops.LSTMBlockCell(x=x[0], cs_prev=state, h_prev=state, **cell)
            return [*block, *one]

        gru = flowmill.raw_ops.GRUBlockCell(x=x[0], h_prev=state, w_ru=kept[:, : 2 * cells], w_c=kept[:, :cells], b_ru=bias[: 2 * cells], b_c=bias[:cells])
        constant = flowmill.raw_ops.GRUBlockCell(x=x[0], h_prev=state, w_ru=gates, w_c=values, b_ru=bias[: 2 * cells], b_c=bias[:cells])
        fetches = [outputs(kept), outputs(flowmill.constant(second)), list(gru), list(constant)]
        assign = kept.assign(weights)
        fed = outputs(weights)
        with flowmill.Session() as session:
            session.run(kept.initializer)
            for now in (first, second):
                session.run(assign, {weights: now})
                for _ in range(2):
                    (of_kept, of_constant, *_), of_fed = session.run((fetches, fed), {weights: now})
                    for got, want in zip(of_kept, of_fed):
                        np.testing.assert_array_equal(got, want)
                    for got, want in zip(of_constant, session.run(fed, {weights: second})):
                        np.testing.assert_array_equal(got, want)
            r, u, c, h = session.run(constant)
            joined = np.concatenate([x[0], state], 1)
            want = 1 / (1 + np.exp(-(joined @ gates + bias[: 2 * cells])))
            np.testing.assert_allclose(np.concatenate([r, u], 1), want, rtol=1e-4, atol=1e-5)
            np.testing.assert_allclose(c, np.tanh(np.concatenate([x[0], r * state], 1) @ values + bias[:cells]), rtol=1e-4, atol=1e-5)
            np.testing.assert_allclose(h, u * state + (1 - u) * c, rtol=1e-5, atol=1e-6)
            block = session.run(fetches[1])[:7]
            assert all(not output[time - 20:].any() for output in block)
            assert_steps(block, x, state, second, bias)


def assert_steps(block, x, state, weights, bias):
    """Asserts that the outputs of `BlockLSTM` without peepholes, clipping and a forget bias other than 1 are those of its formulas, step by step."""
    i, cs, f, o, ci, co, h = block
    output = state
    for t in range(0, len(x) - 20):
        gates = np.split(np.concatenate([x[t], output], 1) @ weights + bias, 4, 1)
        def sigmoid(x):
            return 1 / (1 + np.exp(-x))
        for got, want in ((i, sigmoid(gates[0])), (ci, np.tanh(gates[1])), (f, sigmoid(gates[2] + 1)), (o, sigmoid(gates[3]))):
            np.testing.assert_allclose(got[t], want, rtol=1e-3, atol=1e-4)
        np.testing.assert_allclose(cs[t], ci[t] * i[t] + state * f[t], rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(co[t], np.tanh(cs[t]), rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(h[t], o[t] * co[t], rtol=1e-5, atol=1e-6)
        state, output = cs[t], h[t]
