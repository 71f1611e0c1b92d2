"""`tf.image`: what TensorFlow builds and computes."""

import flowmill
import numpy as np
import pytest
from compare import _described, compare, same_error

RNG = np.random.RandomState(4)
FEEDS = {
    "im": RNG.rand(7, 8, 3).astype(np.float32), "batch": RNG.rand(2, 7, 8, 3).astype(np.float32), "gray": RNG.rand(2, 6, 5, 1).astype(np.float32),
    "u8": RNG.randint(0, 256, (6, 5, 3)).astype(np.uint8), "large": RNG.rand(2, 20, 23, 1).astype(np.float32),
    "huge": RNG.rand(1, 180, 177, 1).astype(np.float32),
}


class Inputs:
    def __init__(self, tf, unknown=False):
        self._tf, self._unknown, self.feeds = tf, unknown, {}

    def __getattr__(self, name):
        value = self.feeds[name] = FEEDS[name]
        shape = [*[None] * (value.ndim - 1), value.shape[-1]] if self._unknown else value.shape
        made = self._tf.placeholder(str(value.dtype), shape, name=name)
        setattr(self, name, made)
        return made


def evaluated(expression):
    return lambda tf, i: eval(expression, {"tf": tf, "i": i, "np": np, "I": tf.image})


def check(tf1, expression, unknown=False, **options):
    used = {}

    def build(tf):
        tf.set_random_seed(3)
        inputs = Inputs(tf, unknown)
        found = evaluated(expression)(tf, inputs)
        used.update(inputs.feeds)
        return found

    compare(tf1, build, used, rtol=1e-4, atol=1e-5, **options)


def cases(*expressions):
    return pytest.mark.parametrize("expression", expressions, ids=[e[:80] for e in expressions])


@cases(
    "I.flip_left_right(i.im)", "I.flip_up_down(i.batch)", "I.transpose(i.im)", "I.transpose_image(i.batch, name='t')",
    "I.central_crop(i.im, 0.5)", "I.central_crop(i.batch, 0.7)", "I.central_crop(i.im, 1.0)",
    "I.pad_to_bounding_box(i.im, 1, 2, 12, 13)", "I.pad_to_bounding_box(i.batch, 0, 0, 7, 9)", "I.crop_to_bounding_box(i.im, 1, 2, 3, 4)",
    "I.crop_to_bounding_box(i.batch, 0, 1, 7, 3)", "I.resize_image_with_crop_or_pad(i.im, 10, 4)", "I.resize_with_crop_or_pad(i.batch, 3, 11)",
    "I.resize_images(i.im, [5, 6])", "I.resize_images(i.batch, [14, 4], method=I.ResizeMethod.NEAREST_NEIGHBOR)",
    "I.resize_images(i.batch, [3, 3], align_corners=True, name='r')", "I.resize(i.im, [12, 12], preserve_aspect_ratio=True)",
    "I.resize_images(i.im, [7, 8])", "I.resize_images(i.im, tf.constant([4, 4]))", "I.resize_bilinear(i.batch, [5, 5], half_pixel_centers=True)",
    "I.resize_bilinear(i.batch, [5, 5], align_corners=True, name='b')", "I.resize_nearest_neighbor(i.batch, [5, 5])",
    "I.resize_image_with_pad(i.im, 10, 10)", "I.resize_image_with_pad(i.batch, 4, 9, method=I.ResizeMethod.NEAREST_NEIGHBOR)",
    "I.convert_image_dtype(i.u8, tf.float32)", "I.convert_image_dtype(i.im, tf.uint8)", "I.convert_image_dtype(i.im * 2.0, tf.uint8, saturate=True)",
    "I.convert_image_dtype(i.u8, tf.int16, name='c')", "I.convert_image_dtype(i.u8, tf.uint8)", "I.convert_image_dtype(i.im, tf.float64)",
    "I.adjust_brightness(i.im, 0.2)", "I.adjust_brightness(i.u8, -0.3)", "I.adjust_gamma(i.im, 2.0, 0.5)", "I.adjust_gamma(i.u8, 0.5)",
    "I.per_image_standardization(i.im)", "I.per_image_standardization(i.batch)", "I.per_image_standardization(i.u8)",
    "I.rgb_to_grayscale(i.batch)", "I.rgb_to_grayscale(i.u8, name='g')", "I.grayscale_to_rgb(i.gray)", "I.rgb_to_yiq(i.im)", "I.yiq_to_rgb(i.batch)",
    "I.rgb_to_yuv(i.im)", "I.yuv_to_rgb(i.batch)", "I.total_variation(i.im)", "I.total_variation(i.batch, name='v')",
    "I.crop_and_resize(i.batch, [[0.1, 0.2, 0.8, 0.9], [0.0, 0.0, 1.2, 1.0]], [1, 0], [3, 4])",
    "I.crop_and_resize(i.batch, [[0.1, 0.2, 0.8, 0.9]], box_indices=[1], crop_size=[3, 4], method='nearest', extrapolation_value=1, name='c')",
    "I.psnr(i.im, i.im * 0.9, 1.0)", "I.psnr(i.u8, i.u8 // 2, 255)", "I.sobel_edges(i.batch)", "I.image_gradients(i.batch)",
    "I.extract_image_patches(i.batch, [1, 3, 3, 1], [1, 2, 2, 1], [1, 1, 1, 1], 'VALID')",
    "I.extract_patches(i.batch, [1, 2, 2, 1], [1, 1, 1, 1], [1, 2, 2, 1], 'SAME')", "I.is_jpeg(tf.constant(b'\\xff\\xd8\\xff rest'))",
)
@pytest.mark.parametrize("unknown", [False, True], ids=["static", "dynamic"])
def test_images(tf1, expression, unknown):
    check(tf1, expression, unknown, ordered=False)


@cases("I.rot90(i.im)", "I.rot90(i.batch, k=2)", "I.rot90(i.im, k=7)", "I.rot90(i.batch, k=tf.constant(3), name='r')")
@pytest.mark.parametrize("unknown", [False, True], ids=["static", "dynamic"])
@pytest.mark.usefixtures("control_flow")
def test_turns(tf1, expression, unknown):
    # A branch that gives what it got from outside has a switch of its own for each level.
    check(tf1, expression, unknown, nodes=False)


@cases(
    "I.ssim(i.large, i.large * 0.8 + 0.1, 1.0)", "I.ssim(i.large, i.large * 0.8 + 0.1, 1.0, filter_size=5, return_index_map=True)",
    "I.ssim_multiscale(i.huge, i.huge * 0.7 + 0.1, 1.0)",
)
def test_similarity(tf1, expression):
    # The shape of the window is known here, so that its nodes are constants.
    check(tf1, expression, nodes=False)


@cases(
    "I.random_flip_left_right(i.im, seed=1)", "I.random_flip_up_down(i.batch, seed=2)", "I.random_flip_left_right(i.batch)",
    "I.random_brightness(i.im, 0.3, seed=1)", "I.random_brightness(i.u8, 0.3)", "tf.image.random_crop(i.im, [3, 3, 3], seed=4)",
)
@pytest.mark.usefixtures("control_flow")
def test_random_changes(tf1, expression):
    check(tf1, expression, ordered=False)


BOXES = "[[0.0, 0.0, 1.0, 1.0], [0.0, 0.1, 1.0, 1.1], [0.0, -0.1, 1.0, 0.9], [0.0, 10.0, 1.0, 11.0], [0.0, 10.1, 1.0, 11.1], [0.0, 99.0, 1.0, 100.0]]"
SCORES = "[0.9, 0.75, 0.6, 0.95, 0.5, 0.3]"


@cases(
    f"I.non_max_suppression({BOXES}, {SCORES}, 3)", f"I.non_max_suppression({BOXES}, {SCORES}, 6, iou_threshold=0.4, score_threshold=0.4, name='n')",
    f"I.non_max_suppression_with_scores({BOXES}, {SCORES}, 6, soft_nms_sigma=0.5)",
)
def test_boxes(tf1, expression):
    check(tf1, expression)


def test_padded_boxes(tf1):
    # TensorFlow has a loop of its own for batches.
    check(tf1, f"I.non_max_suppression_padded(tf.constant({BOXES}), tf.constant({SCORES}), 5, 0.4, 0.4, pad_to_max_output_size=True)[0]", nodes=False)


@cases(
    "I.adjust_contrast(i.im, 1.5)", "I.adjust_contrast(i.u8, 0.5)", "I.adjust_hue(i.im, 0.2)", "I.adjust_saturation(i.u8, 0.5, name='s')",
    "I.rgb_to_hsv(i.batch)", "I.hsv_to_rgb(i.im, name='h')", "I.random_contrast(i.im, 0.2, 1.8, seed=1)", "I.random_hue(i.im, 0.2)",
    "I.random_saturation(i.im, 0.5, 1.5)", "I.resize_bicubic(i.batch, [5, 5])", "I.resize_area(i.batch, [5, 5])",
    "I.resize_images(i.im, [5, 5], method=I.ResizeMethod.BICUBIC)", "I.draw_bounding_boxes(i.batch, tf.zeros([2, 1, 4]))",
    "I.decode_jpeg('', channels=3)", "I.decode_png('', dtype=tf.uint16, name='p')", "I.decode_bmp('')", "I.decode_gif('')",
    "I.decode_image('', channels=1)", "I.decode_image('', dtype=tf.float64, expand_animations=False)", "I.decode_and_crop_jpeg('', [0, 0, 1, 1])",
    "I.encode_png(i.u8)", "I.encode_jpeg(i.u8, quality=80, name='j')", "I.extract_jpeg_shape('')",
    "I.combined_non_max_suppression(tf.zeros([1, 4, 1, 4]), tf.zeros([1, 4, 2]), 2, 3)",
)
def test_graphs_of_ops_that_are_not_run(tf1, expression):
    """Ops without a kernel, or that need a file: nodes and shapes alone."""
    found = []
    for tf in (tf1, flowmill):
        with tf.Graph().as_default() as graph:
            made = evaluated(expression)(tf, Inputs(tf))
            outputs = list(made) if isinstance(made, tuple) else [made]
            found.append((_described(graph), [(t.dtype.name, str(t.shape)) for t in outputs]))
    assert found[0] == found[1]


@cases(
    "I.flip_left_right(i.im[0])", "I.flip_left_right(tf.zeros([1, 2, 3, 4, 5]))", "I.central_crop(i.im, 0.0)", "I.central_crop(i.im, 1.5)",
    "I.pad_to_bounding_box(i.im, -1, 0, 10, 10)", "I.pad_to_bounding_box(i.im, 0, 0, 3, 10)", "I.crop_to_bounding_box(i.im, 5, 0, 5, 1)",
    "I.crop_to_bounding_box(i.im, 0, 0, 0, 1)", "I.resize_image_with_crop_or_pad(i.im, 0, 3)", "I.resize_images(i.im[0], [1, 1])",
    "I.resize_images(i.im, [1, 1, 1])", "I.resize_images(i.im, [1.5, 2.5])", "I.resize_images(i.im, [3, 3], method=9)",
    "I.convert_image_dtype(i.im, tf.complex64)", "I.random_brightness(i.im, -1.0)", "I.random_contrast(i.im, 2.0, 1.0)", "I.random_hue(i.im, 0.7)",
    "I.random_saturation(i.im, -1.0, 1.0)", "I.grayscale_to_rgb(i.im)", "I.adjust_gamma(i.im, -1.0)", "I.total_variation(i.im[0])",
    "I.psnr(i.im, i.batch[:, :3], 1.0)", "I.image_gradients(i.im)", "I.rot90(i.im[0])", "I.random_jpeg_quality(i.u8, 90, 80)",
    "I.resize_image_with_pad(i.im, 0, 1)",
)
def test_errors(tf1, expression):
    same_error(tf1, lambda tf: evaluated(expression)(tf, Inputs(tf)))


def test_sizes_are_checked_when_the_graph_runs():
    tf = flowmill
    with tf.Graph().as_default(), tf.Session() as session:
        image = tf.placeholder(tf.float32, [None, None, 3])
        cropped = tf.image.crop_to_bounding_box(image, 0, 0, 5, 5)
        assert session.run(cropped, {image: FEEDS["im"]}).shape == (5, 5, 3)
        with pytest.raises(tf.errors.InvalidArgumentError, match="width must be >= target"):
            session.run(cropped, {image: FEEDS["im"][:, :3]})


def test_every_name_is_there():
    import flowmill.image

    for name in flowmill.image._NAMES:
        assert getattr(flowmill.image, name), name
    with pytest.raises(AttributeError, match="flowmill has no tf.image.nothing"):
        flowmill.image.nothing
