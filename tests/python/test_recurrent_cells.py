"""LSTM and GRU cells as single ops, against TensorFlow."""

import numpy as np
import pytest

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
