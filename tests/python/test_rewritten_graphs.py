"""Ops of graphs rewritten for inference, and others that programs name directly: values, gradients, static shapes and errors are TensorFlow's."""

import sys
import pathlib

import numpy as np
import pytest

import flowmill
from oracles import assert_same

sys.path.insert(0, str(pathlib.Path(__file__).parent / "api"))

from compare import compare  # noqa: E402

RANDOM = np.random.RandomState(3)


def raw(tf1, op, tolerance=1e-4, **arguments):
    """Asserts that an op of constants gives what it gives there. NumPy arrays are inputs, everything else attributes."""
    def build(m):
        made = getattr(m.raw_ops, op)(**{k: m.constant(v) if isinstance(v, np.ndarray) else v for k, v in arguments.items()})
        return list(made) if isinstance(made, (tuple, list)) else [made]
    error = assert_same(tf1, build, rtol=tolerance, atol=tolerance)
    if error is None:
        compare(tf1, build, rtol=tolerance, atol=tolerance)
    return error


PADDINGS = np.array([[0, 0], [1, 2], [2, 1], [0, 0]], np.int32)


@pytest.mark.parametrize("mode", ["REFLECT", "SYMMETRIC"])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_convolutions_of_padded_images(tf1, mode, dtype):
    image, weights = RANDOM.rand(1, 5, 6, 3).astype(dtype), RANDOM.rand(2, 3, 3, 4).astype(dtype)
    tolerance = 3e-2 if dtype == "float16" else 1e-4
    for padding in ("SAME", "VALID"):
        attrs = {"mode": mode, "strides": [1, 2, 1, 1], "padding": padding, "filter": weights, "paddings": PADDINGS, "input": image}
        assert raw(tf1, "FusedPadConv2D", tolerance, **attrs) is None
        for size, corners in (([7, 4], False), ([3, 9], True), ([5, 6], False)):
            assert raw(tf1, "FusedResizeAndPadConv2D", tolerance, size=np.array(size, np.int32), resize_align_corners=corners, **attrs) is None


def test_convolutions_of_several_padded_images():
    """Each image of a batch is convolved as it is alone. TensorFlow's kernel takes rows of the first image for the others."""
    images, weights = RANDOM.rand(3, 5, 6, 3).astype("f"), RANDOM.rand(2, 3, 3, 4).astype("f")
    with flowmill.Graph().as_default(), flowmill.Session() as session:
        found = flowmill.raw_ops.FusedPadConv2D(input=images, paddings=PADDINGS, filter=weights, mode="REFLECT", strides=[1, 2, 1, 1], padding="SAME")
        wanted = flowmill.nn.conv2d(flowmill.pad(images, PADDINGS, "REFLECT"), weights, [1, 2, 1, 1], "SAME")
        np.testing.assert_allclose(*session.run([found, wanted]), rtol=1e-5)


def test_bad_convolutions_of_padded_images(tf1):
    image, weights = RANDOM.rand(2, 5, 6, 3).astype("f"), RANDOM.rand(2, 3, 3, 4).astype("f")
    good = {"mode": "REFLECT", "strides": [1, 1, 1, 1], "padding": "SAME", "filter": weights, "paddings": PADDINGS, "input": image}
    for name, bad in (("paddings", PADDINGS * 5), ("paddings", np.array([[1, 0], [0, 0], [0, 0], [0, 0]], np.int32)), ("input", image[:0])):
        assert raw(tf1, "FusedPadConv2D", **{**good, name: bad}) == "InvalidArgumentError"


def test_second_gradients_at_given_places():
    """TensorFlow has a kernel for GPUs alone; the result is that of `MaxPoolGradGrad`."""
    image, grad = RANDOM.randn(2, 5, 6, 3).astype("f"), RANDOM.randn(2, 5, 6, 3).astype("f")
    for padding in ("SAME", "VALID"):
        for with_batch in (False, True):
            with flowmill.Graph().as_default() as graph, flowmill.Session(graph=graph) as session:
                window = {"ksize": [1, 2, 3, 1], "strides": [1, 2, 1, 1], "padding": padding}
                pooled, at = flowmill.nn.max_pool_with_argmax(image, include_batch_in_index=with_batch, **window)
                found = flowmill.raw_ops.MaxPoolGradGradWithArgmax(input=image, grad=grad, argmax=at, include_batch_in_index=with_batch, **window)
                wanted = flowmill.raw_ops.MaxPoolGradGrad(orig_input=image, orig_output=pooled, grad=grad, **window)
                assert found.shape == wanted.shape
                np.testing.assert_array_equal(*session.run([found, wanted]))
                bad = flowmill.raw_ops.MaxPoolGradGradWithArgmax(input=image, grad=grad, argmax=at + 1000, **window)
                with pytest.raises(flowmill.errors.InvalidArgumentError, match="Invalid argmax index"):
                    session.run(bad)


def test_gradients_of_gated_units(tf1):
    batch, inputs, cells = 3, 4, 2
    shapes = {"x": [batch, inputs], "h_prev": [batch, cells], "w_ru": [inputs + cells, 2 * cells], "w_c": [inputs + cells, cells], "b_ru": [2 * cells],
              "b_c": [cells], "r": [batch, cells], "u": [batch, cells], "c": [batch, cells], "d_h": [batch, cells]}
    values = {name: RANDOM.rand(*shape).astype("f") for name, shape in shapes.items()}
    assert raw(tf1, "GRUBlockCellGrad", **values) is None
    assert raw(tf1, "GRUBlockCellGrad", **{**values, "u": values["u"][:2]}) == "InvalidArgumentError"


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_eigenvalues_of_any_matrix(tf1, dtype):
    matrices = RANDOM.randn(2, 4, 4)
    if dtype.startswith("complex"):
        matrices = matrices + 1j * RANDOM.randn(2, 4, 4)
    matrices = matrices.astype(dtype)
    tolerance = 1e-3 if dtype in ("float32", "complex64") else 1e-9
    results = []
    for tf in (tf1, flowmill):
        with tf.Graph().as_default(), tf.Session() as session:
            values, vectors = tf.linalg.eig(tf.constant(matrices)) if hasattr(tf.linalg, "eig") else tf.raw_ops.Eig(
                input=tf.constant(matrices), Tout=tf.complex64 if tolerance == 1e-3 else tf.complex128)
            alone = tf.raw_ops.Eig(input=tf.constant(matrices), Tout=values.dtype, compute_v=False)
            results.append((str(values.shape), str(vectors.shape), values.dtype.name, *session.run([values, vectors, alone.e])))
    theirs, ours = results
    assert ours[:3] == theirs[:3]
    for mine, other in zip(ours[3], theirs[3]):
        np.testing.assert_allclose(np.sort_complex(mine.round(4)), np.sort_complex(other.round(4)), atol=1e-3)
    # The eigenvalues of real matrices come in the order of an algorithm of their own there.
    if dtype.startswith("complex"):
        np.testing.assert_allclose(np.abs(ours[3]), np.abs(theirs[3]), rtol=tolerance)
    np.testing.assert_allclose(ours[3], ours[5], rtol=tolerance)
    np.testing.assert_allclose(matrices @ ours[4], ours[4] * ours[3][:, None, :], atol=10 * tolerance)
    np.testing.assert_allclose(np.linalg.norm(ours[4], axis=1), 1, rtol=1e-5)


@pytest.mark.parametrize("compute_v", [True, False])
def test_gradients_of_eigenvalues(tf1, compute_v):
    matrix = RANDOM.randn(3, 3) + 1j * RANDOM.randn(3, 3)
    weights = RANDOM.randn(3)

    def build(tf):
        x = tf.constant(matrix)
        e, v = tf.raw_ops.Eig(input=x, Tout=tf.complex128, compute_v=compute_v)
        # Neither the order of the values nor the phase of the vectors counts.
        y = tf.reduce_sum(tf.real(e) ** 3) + tf.reduce_sum(tf.imag(e) ** 2)
        if compute_v:
            y += tf.reduce_sum(tf.abs(v) ** 4 * weights[:, None])
        return tf.gradients(y, x)
    compare(tf1, build, nodes=False, rtol=1e-6, atol=1e-8)


KERNELS = ["lanczos1", "lanczos3", "LANCZOS5", "gaussian", "box", "triangle", "keyscubic", "mitchellcubic"]


@pytest.mark.parametrize("kernel", KERNELS)
def test_scaled_and_translated_images(tf1, kernel):
    image = (RANDOM.rand(2, 6, 7, 3) * 100).astype("f")
    for size, scale, move in (([12, 5], [2.0, 0.7], [0.0, 0.0]), ([4, 9], [0.5, 1.3], [1.5, -2.0]), ([3, 3], [0.2, 3.0], [10.0, 0.3])):
        for antialias in (True, False):
            arguments = {"size": np.array(size, np.int32), "scale": np.array(scale, "f"), "translation": np.array(move, "f")}
            assert raw(tf1, "ScaleAndTranslate", 1e-3, images=image, kernel_type=kernel, antialias=antialias, **arguments) is None

            def gradient(tf):
                x = tf.constant(image)
                y = tf.raw_ops.ScaleAndTranslate(images=x, kernel_type=kernel, antialias=antialias, **{k: tf.constant(v) for k, v in arguments.items()})
                return tf.gradients(y * y, x)
            compare(tf1, gradient, nodes=False, rtol=1e-3, atol=1e-1)


def test_scaled_images_of_other_types(tf1):
    arguments = {"size": np.array([3, 9], np.int32), "scale": np.array([0.5, 1.5], "f"), "translation": np.zeros(2, "f")}
    image = RANDOM.randint(0, 100, [1, 6, 6, 2])
    for dtype in (np.int8, np.uint8, np.int16, np.uint16, np.int32, np.int64, np.float16, np.float64):
        assert raw(tf1, "ScaleAndTranslate", 1e-3, images=image.astype(dtype), **arguments) is None
    bad = {**arguments, "scale": np.array([0.0, 1.0], "f")}
    assert raw(tf1, "ScaleAndTranslate", images=image, **bad) == "InvalidArgumentError"
    assert raw(tf1, "ScaleAndTranslate", images=image, kernel_type="no such", **arguments) == "InvalidArgumentError"


@pytest.mark.parametrize("mode", ["CONSTANT", "REFLECT", "WRAP", "NEAREST"])
@pytest.mark.parametrize("interpolation", ["NEAREST", "BILINEAR"])
def test_projected_images(tf1, mode, interpolation):
    transforms = np.array([[0.9, 0.2, -1.3, -0.1, 1.1, 0.7, 0.01, 0.02], [2.0, 0, -9.2, 0, 2.0, -7.1, 0, 0]], "f")
    image = (RANDOM.rand(2, 5, 6, 3) * 100)
    size = np.array([7, 8], np.int32)
    for dtype in (np.uint8, np.int32, np.int64, np.float16, np.float32, np.float64):
        # Between two pixels, rounding to integers may go either way.
        tolerance = 1e-3 if np.dtype(dtype).kind == "f" else 0.0
        attrs = {"images": image.astype(dtype), "transforms": transforms, "output_shape": size, "interpolation": interpolation, "fill_mode": mode}
        assert raw(tf1, "ImageProjectiveTransformV2", tolerance, **attrs) is None
        assert raw(tf1, "ImageProjectiveTransformV3", tolerance, fill_value=np.array(3.5, "f"), **attrs) is None
    assert raw(tf1, "ImageProjectiveTransformV2", **{**attrs, "transforms": transforms[:, :7]}) == "InvalidArgumentError"

    def gradient(tf):
        x, t = tf.constant(image.astype("f")), tf.constant(transforms)
        second = tf.raw_ops.ImageProjectiveTransformV2(images=x, transforms=t, output_shape=size, interpolation=interpolation, fill_mode=mode)
        third = tf.raw_ops.ImageProjectiveTransformV3(images=x, transforms=t, output_shape=size, fill_value=1.0, interpolation=interpolation,
                                                      fill_mode=mode)
        return tf.gradients([second * second, third], x)
    compare(tf1, gradient, nodes=False, rtol=1e-2, atol=1.0)


def test_one_of_several_references(tf1):
    def build(tf):
        variables = [tf.Variable([v], use_resource=False) for v in (1.0, 2.0, 3.0)]
        chosen = tf.raw_ops.RefSelect(index=1, inputs=[v._ref() if hasattr(v, "_ref") else v for v in variables])
        return tf.identity(chosen)
    compare(tf1, build, nodes=False, initialize=True)


@pytest.mark.parametrize("kind", ["Min", "Max"])
def test_extremes_scattered_into_variables(tf1, kind):
    def build(tf):
        start = np.array([[5.0, 1.0], [2.0, 8.0], [4.0, 4.0]], "f")
        old = tf.Variable(start, use_resource=False)
        changed = getattr(tf.raw_ops, f"ScatterNd{kind}")(ref=old._ref() if hasattr(old, "_ref") else old, indices=[[0], [2], [0]],
                                                         updates=np.array([[3.0, 3.0], [9.0, 0.0], [4.0, 2.0]], "f"))
        return tf.identity(changed)
    compare(tf1, build, nodes=False, initialize=True)


@pytest.mark.parametrize("kind", ["Sub", "Min", "Max"])
def test_slices_scattered_into_resources(tf1, kind):
    def build(tf):
        variable = tf.Variable(np.array([5.0, 1.0, 2.0, 8.0], "f"), use_resource=True)
        with tf.control_dependencies([variable.initializer]):
            done = getattr(tf.raw_ops, f"ResourceScatterNd{kind}")(ref=variable.handle, indices=[[1], [3]], updates=np.array([4.0, 5.0], "f"))
        with tf.control_dependencies([done]):
            return variable.read_value()
    compare(tf1, build, nodes=False, initialize=True)


def test_sums_at_indices(tf1):
    for dtype in (np.float32, np.int32, np.complex64):
        x, u = RANDOM.randint(0, 9, [4, 2]).astype(dtype), RANDOM.randint(0, 9, [3, 2]).astype(dtype)
        assert raw(tf1, "ScatterNdNonAliasingAdd", input=x, indices=np.array([[0], [3], [0]]), updates=u) is None
    assert raw(tf1, "ScatterNdNonAliasingAdd", input=x > 4, indices=np.array([[0], [3], [0]]), updates=u > 2) is None
    assert raw(tf1, "ScatterNdNonAliasingAdd", input=x, indices=np.array([[0], [9], [0]]), updates=u) == "InvalidArgumentError"

    def gradients(tf):
        x, u = tf.constant(np.ones((4, 2), "f")), tf.constant(np.ones((3, 2), "f"))
        y = tf.raw_ops.ScatterNdNonAliasingAdd(input=x, indices=tf.constant([[0], [3], [0]]), updates=u)
        return tf.gradients(y ** 3, [x, u])
    compare(tf1, gradients, nodes=False)


@pytest.mark.parametrize("kind", ["Sum", "Mean", "SqrtN"])
def test_gradients_of_the_rows_that_segments_have(tf1, kind):
    arguments = {"grad": RANDOM.randn(3, 2).astype("f"), "indices": np.array([4, 1, 4, 0], np.int32), "segment_ids": np.array([0, 0, 1, 2], np.int32)}
    for size, error in ((7, None), (3, "InvalidArgumentError"), (5, None)):
        assert raw(tf1, f"SparseSegment{kind}GradV2", **arguments, dense_output_dim0=np.array(size, np.int32)) == error


def test_segments_with_their_number():
    """TensorFlow has kernels for GPUs alone; its page of the ops says what they give."""
    data, ids = np.array([[1.0, 2.0], [3.0, -4.0], [5.0, 6.0]], "f"), [0, 0, 2]
    lowest = np.finfo("f").min
    wanted = {"Sum": [[4, -2], [0, 0], [5, 6], [0, 0]], "Prod": [[3, -8], [1, 1], [5, 6], [1, 1]],
              "Max": [[3, 2], [lowest] * 2, [5, 6], [lowest] * 2], "Min": [[1, -4], [-lowest] * 2, [5, 6], [-lowest] * 2]}
    with flowmill.Graph().as_default(), flowmill.Session() as session:
        for kind, value in wanted.items():
            found = getattr(flowmill.raw_ops, f"Segment{kind}V2")(data=data, segment_ids=ids, num_segments=4)
            assert found.shape.as_list() == [4, 2]
            assert session.run(found).tolist() == np.array(value, "f").tolist()


@pytest.mark.parametrize("nesterov", [False, True])
def test_sparse_momentum_of_keras(tf1, nesterov):
    def build(tf):
        variable, slot = (tf.Variable(np.full((4, 2), v, "f"), use_resource=True) for v in (1.0, 0.5))
        with tf.control_dependencies([variable.initializer, slot.initializer]):
            done = tf.raw_ops.ResourceSparseApplyKerasMomentum(var=variable.handle, accum=slot.handle, lr=0.1, grad=np.ones((2, 2), "f"),
                                                               indices=[3, 1], momentum=0.9, use_nesterov=nesterov)
        with tf.control_dependencies([done]):
            return variable.read_value(), slot.read_value()
    compare(tf1, build, nodes=False, initialize=True)


def test_lists_joined_and_pushed_in_batches(tf1):
    def build(tf):
        first, second = (tf.raw_ops.TensorListFromTensor(tensor=tf.constant(v), element_shape=tf.constant([], tf.int32)) for v in ([1.0, 2.0], [3.0]))
        joined = tf.raw_ops.TensorListConcatLists(input_a=first, input_b=second, element_dtype=tf.float32)
        batch = tf.raw_ops.TensorListPushBackBatch(input_handles=tf.stack([first, second]), tensor=[8.0, 9.0])
        lists = [joined, batch[0], batch[1]]
        return [batch.shape.as_list() and tf.constant(0)] + [
            tf.raw_ops.TensorListStack(input_handle=h, element_shape=tf.constant([], tf.int32), element_dtype=tf.float32) for h in lists]
    compare(tf1, build)

    def bad(tf):
        first = tf.raw_ops.TensorListFromTensor(tensor=tf.constant([1.0]), element_shape=tf.constant([], tf.int32))
        return tf.raw_ops.TensorListConcatLists(input_a=first, input_b=first, element_dtype=tf.int32)
    for tf in (tf1, flowmill):
        with tf.Graph().as_default(), pytest.raises(ValueError):
            bad(tf)
