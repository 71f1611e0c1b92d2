"""Operations that few programs use: the same nodes, values and gradients as TensorFlow's."""

import numpy as np
import pytest

import flowmill
from compare import compare, run, same, same_error

RANDOM = np.random.RandomState(11)
VOLUME = RANDOM.rand(2, 4, 5, 6, 3)


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "uint8", "bfloat16", "uint64"])
def test_patches_of_volumes(tf1, padding, dtype):
    def build(tf):
        volume = tf.cast(tf.constant(VOLUME * 100), getattr(tf, dtype))
        return tf.cast(tf.extract_volume_patches(volume, [1, 2, 3, 2, 1], [1, 1, 2, 1, 1], padding, name="patches"), tf.float64)
    compare(tf1, build)


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
def test_gradients_of_patches_of_volumes(tf1, padding):
    def build(tf):
        volume = tf.constant(VOLUME)
        return tf.gradients(tf.extract_volume_patches(volume, [1, 2, 3, 2, 1], [1, 1, 2, 1, 1], padding) ** 2, volume)
    compare(tf1, build, nodes=False)


def test_shuffled_indices(tf1):
    for dtype in ("int32", "uint32", "int64", "uint64"):
        for seed, rounds in (([1, 2, 3], 4), ([[7, 8, 9]] * 5, 8), ([-1, 2**30, 5], 6)):
            for greatest in (4, 10_000, 2**31 - 1):
                compare(tf1, lambda tf, d=dtype, s=seed, r=rounds, m=greatest: tf.random_index_shuffle(
                    tf.constant([0, 1, 2, 3, 4], getattr(tf, d)), s, tf.constant(m, getattr(tf, d)), rounds=r))
    compare(tf1, lambda tf: tf.random_index_shuffle(3, tf.constant([1, 2, 3], tf.int64), 5, name="one"))
    compare(tf1, lambda tf: tf.random_index_shuffle(tf.constant(3, tf.int64), [1, 2, 3], tf.constant(2**62, tf.int64)))
    for tf in (tf1, flowmill):
        with pytest.raises(tf.errors.InvalidArgumentError, match="max_index must be >= index"):
            run(tf, lambda tf: tf.random_index_shuffle(30, [1, 2, 3], 9))
    with pytest.raises(flowmill.errors.InvalidArgumentError, match="rounds must be even"):
        run(flowmill, lambda tf: tf.random_index_shuffle(3, [1, 2, 3], 9, rounds=5))
    same_error(tf1, lambda tf: tf.random_index_shuffle(3, [1, 2], 9), "Seed must have shape [3] or [n, 3] but got [2].")


ALPHAS = [1e-3, 0.01, 0.1, 0.5, 1.0, 1.0, 2.0, 5.0, 10.0, 10.0, 100.0, 100.0, 1000.0, 5000.0]
SAMPLES = [1e-4, 0.001, 0.2, 0.4, 1.0, 4.0, 3.0, 2.0, 12.0, 9.0, 95.0, 110.0, 1010.0, 4900.0]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_slopes_of_gamma_variables(tf1, dtype):
    # In single precision TensorFlow loses digits where parameters are large.
    tolerance, count = (5e-4, -1) if dtype == "float32" else (1e-7, None)

    def build(tf):
        alphas, samples = tf.constant(ALPHAS[:count], getattr(tf, dtype)), tf.constant(SAMPLES[:count], getattr(tf, dtype))
        return tf.raw_ops.RandomGammaGrad(alpha=alphas, sample=samples), tf.raw_ops.IgammaGradA(a=alphas, x=samples)
    compare(tf1, build, rtol=tolerance, atol=1e-6)

    def gradients(tf):
        alphas, samples = tf.constant(ALPHAS[3:8], getattr(tf, dtype)), tf.constant([[0.3], [2.5]], getattr(tf, dtype))
        return [tf.gradients(f(alphas, samples), [alphas, samples]) for f in (tf.igamma, tf.igammac)]
    compare(tf1, gradients, nodes=False, rtol=10 * tolerance)


def test_gradients_of_gamma_variables(tf1):
    def build(tf):
        alphas = tf.constant([[0.3, 1.0], [4.0, 30.0]])
        samples = tf.random_gamma([3], alphas, beta=tf.constant([2.0, 0.5]), seed=4)
        return samples, tf.gradients(tf.square(samples), alphas)[0]
    compare(tf1, build, nodes=False, rtol=1e-4)


CELLS, INPUTS, BATCH, TIME = 4, 3, 2, 5


def lstm_arguments(tf, dtype):
    shapes = {"cs_prev": [BATCH, CELLS], "h_prev": [BATCH, CELLS], "w": [INPUTS + CELLS, 4 * CELLS], "wci": [CELLS], "wcf": [CELLS], "wco": [CELLS],
              "b": [4 * CELLS]}
    random = np.random.RandomState(2)
    return {name: tf.constant(random.uniform(-1, 1, shape), getattr(tf, dtype)) for name, shape in shapes.items()}


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("peephole", [False, True])
@pytest.mark.parametrize("steps", [TIME, 3])
@pytest.mark.parametrize("op", ["BlockLSTM", "BlockLSTMV2"])
def test_gradients_of_an_lstm_over_time(tf1, dtype, peephole, steps, op):
    """Of the second version TensorFlow's gradient takes the op of the first, whose gates stand in another order."""
    def build(tf):
        arguments = lstm_arguments(tf, dtype)
        x = tf.constant(np.random.RandomState(3).uniform(-1, 1, (TIME, BATCH, INPUTS)), getattr(tf, dtype))
        arguments = {"seq_len_max": tf.constant(steps, tf.int64), "x": x, "use_peephole": peephole, **arguments}
        outputs = getattr(tf.raw_ops, op)(**arguments)
        names = ["x", "cs_prev", "h_prev", "w", *(["wci", "wcf", "wco"] if peephole else []), "b"]
        if op == "BlockLSTM" or tf is flowmill:
            grads = tf.gradients(tf.square(outputs.h[:steps]) + outputs.cs[:steps], [arguments[name] for name in names])
        else:
            is_within = tf.cast(tf.range(TIME) < steps, x.dtype)[:, None, None]
            outputs = {name: getattr(outputs, name) for name in ("i", "cs", "f", "o", "ci", "co", "h")}
            found = tf.raw_ops.BlockLSTMGradV2(cs_grad=is_within + tf.zeros_like(outputs["cs"]), h_grad=2 * is_within * outputs["h"], **arguments, **outputs)
            grads = [getattr(found, f"{name}_grad") for name in names]
        return [tf.cast(g, tf.float32) for g in grads]
    tolerance = 1e-5 if dtype == "float32" else 3e-2
    compare(tf1, build, nodes=False, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("peephole", [False, True])
def test_a_step_of_an_lstm_backwards(tf1, peephole):
    def build(tf):
        arguments = lstm_arguments(tf, "float32")
        x = tf.constant(np.random.RandomState(3).uniform(-1, 1, (BATCH, INPUTS)), tf.float32)
        outputs = tf.raw_ops.LSTMBlockCell(x=x, use_peephole=peephole, **arguments)
        more = {name: getattr(outputs, name) for name in ("i", "cs", "f", "o", "ci", "co")}
        found = tf.raw_ops.LSTMBlockCellGrad(x=x, use_peephole=peephole, cs_grad=tf.ones([BATCH, CELLS]), h_grad=outputs.h, **arguments, **more)
        return list(found if peephole else found[:2])
    compare(tf1, build)


def test_fake_quantization_backwards(tf1):
    x, dy = RANDOM.uniform(-8, 8, (2, 3)).astype("f"), RANDOM.rand(2, 3).astype("f")
    compare(tf1, lambda tf: tf.fake_quant_with_min_max_args_gradient(dy, x, min=-4, max=3.5, num_bits=4, name="g"))
    compare(tf1, lambda tf: tf.fake_quant_with_min_max_args_gradient(dy, x))
    compare(tf1, lambda tf: tf.fake_quant_with_min_max_vars_gradient(dy, x, -4.0, 3.5, narrow_range=True))
    compare(tf1, lambda tf: tf.quantization.fake_quant_with_min_max_vars_per_channel_gradient(dy, x, [-4.0, -1.0, 0.0], [1.0, 3.5, 8.0]))


def test_a_convolution_by_its_general_op(tf1):
    x, w = RANDOM.rand(1, 4, 4, 2).astype("f"), RANDOM.rand(2, 2, 2, 3).astype("f")
    compare(tf1, lambda tf: tf.conv(x, w, [1, 1, 1, 1], "SAME", name="c"))
    compare(tf1, lambda tf: tf.conv(VOLUME.astype("f"), np.ones((2, 2, 2, 3, 4), "f"), [1, 1, 2, 1, 1], "VALID"), rtol=1e-4)
    same(run(flowmill, lambda tf: tf.conv(x, w, [1, 2, 2, 1], "EXPLICIT", [0, 0, 1, 0, 0, 1, 0, 0]))[2][0].shape, (1, 2, 2, 3))


COLOURS = np.concatenate([RANDOM.rand(20, 3), [[0, 0, 0], [1, 1, 1], [.3, .3, .3], [.5, .5, .2], [.2, .5, .5], [.5, .2, .5], [0, .4, 1], [1, 0, 0], [0, 1, 0],
                                               [0, 0, 1], [0, 0, .5]]])


@pytest.mark.parametrize("dtype, tolerance", [("float32", 1e-4), ("float64", 1e-12)])
def test_gradients_of_hues(tf1, dtype, tolerance):
    weights = np.random.RandomState(3).randn(*COLOURS.shape).astype(dtype)

    def build(tf):
        colours = tf.constant(COLOURS, getattr(tf, dtype))
        return tf.gradients(tf.image.rgb_to_hsv(colours) * weights, colours)
    compare(tf1, build, nodes=False, rtol=tolerance, atol=tolerance)


def test_second_gradients_of_windows_that_are_inputs(tf1):
    def build(tf):
        image = tf.constant(VOLUME[:, 0], tf.float32)
        y = tf.raw_ops.MaxPoolV2(input=image, ksize=[1, 2, 2, 1], strides=[1, 2, 1, 1], padding="SAME")
        grad = tf.gradients(tf.exp(y) * y, image)[0]
        return grad, tf.gradients(tf.sin(grad), image)[0]
    compare(tf1, build, nodes=False, rtol=1e-4)


def test_gradients_of_optionals(tf1):
    def build(tf):
        x, y = tf.constant([[0.5, -1.0]]), tf.constant([1.0, 2.0, 3.0])
        optional = tf.raw_ops.OptionalFromValue(components=[x * x, tf.sin(y)])
        first, second = tf.raw_ops.OptionalGetValue(optional=optional, output_types=[tf.float32, tf.float32], output_shapes=[[1, 2], [None]])
        return tf.gradients([first * first, tf.exp(second)], [x, y]), tf.gradients(first * 3.0, [x, y])
    compare(tf1, build, nodes=False)


@pytest.mark.parametrize("batched", [False, True])
def test_gradients_of_ragged_tensors_in_variants(tf1, batched):
    def build(tf):
        values, splits = tf.constant(VOLUME[0, 0, :, :2], tf.float32), tf.constant([0, 2, 2, 5], tf.int64)
        variant = tf.raw_ops.RaggedTensorToVariant(rt_nested_splits=[splits], rt_dense_values=values * values, batched_input=batched)
        rank = 0 if batched else 1
        found = tf.raw_ops.RaggedTensorFromVariant(encoded_ragged=variant, input_ragged_rank=rank, output_ragged_rank=1, Tvalues=tf.float32)
        return found[-1], tf.gradients(tf.sin(found[-1]), values)
    compare(tf1, build, nodes=False)
