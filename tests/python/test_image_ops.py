"""Colours, smooth resizing, gradients of resizing and drawing, against TensorFlow."""

import numpy as np
import pytest

from oracles import fed

FLOATS = [("float16", 1e-2), ("float32", 1e-5), ("float64", 1e-9)]


@pytest.fixture
def dice():
    return np.random.RandomState(6)


@pytest.mark.parametrize("dtype, tolerance", FLOATS)
def test_colour_spaces(tf1, dice, dtype, tolerance):
    colours = dice.uniform(0, 1, [2, 50, 3]).astype(dtype)
    colours[0, :5] = [[0, 0, 0], [1, 1, 1], [1, 0, 0], [0, 1, 0], [0.5, 0.5, 0.2]]
    for op in ("RGBToHSV", "HSVToRGB"):
        assert fed(tf1, op, {"images": colours}, tolerance) is None
        assert fed(tf1, op, {"images": colours[:0]}) is None
        assert fed(tf1, op, {"images": colours[..., :2]}) is not None
        assert fed(tf1, op, {"images": colours[0, 0, 0]}) is not None


def test_adjusted_colours(tf1, dice):
    images, tolerance = dice.uniform(0, 1, [2, 4, 5, 3]).astype(np.float32), 1e-5
    images[0, 0, :3] = [[0, 0, 0], [1, 1, 1], [0, 0.5, 0.5]]
    for by in (-1.3, -0.2, 0.0, 0.4, 2.5):
        assert fed(tf1, "AdjustHue", {"images": images, "delta": np.float32(by)}, tolerance) is None
        assert fed(tf1, "AdjustSaturation", {"images": images, "scale": np.float32(by)}, tolerance) is None
    for op, name in (("AdjustHue", "delta"), ("AdjustSaturation", "scale")):
        assert fed(tf1, op, {"images": images[..., :2], name: np.float32(1)}) is not None
        assert fed(tf1, op, {"images": images[0, 0], name: np.float32(1)}) is not None
        assert fed(tf1, op, {"images": images, name: np.float32([1])}) is not None


def test_contrast(tf1, dice):
    images = dice.uniform(0, 255, [2, 4, 5, 3]).astype(np.float32)
    for shape in ([2, 4, 5, 3], [4, 5, 2], [2, 1, 4, 5, 3], [0, 4, 5, 3]):
        value = dice.uniform(0, 255, shape).astype(np.float32)
        assert fed(tf1, "AdjustContrastv2", {"images": value, "contrast_factor": np.float32(1.7)}) is None
    assert fed(tf1, "AdjustContrastv2", {"images": images[0, 0], "contrast_factor": np.float32(1.7)}) is not None


SIZES = [(5, 7, [9, 4]), (1, 1, [3, 2]), (4, 4, [1, 1]), (3, 6, [3, 6]), (2, 5, [7, 1]), (9, 9, [4, 3])]


@pytest.mark.parametrize("dtype", ["uint8", "int16", "int64", "float16", "float32", "float64"])
@pytest.mark.parametrize("options", [{}, {"align_corners": True}, {"half_pixel_centers": True}])
def test_smooth_resizing(tf1, dice, dtype, options):
    for height, width, size in SIZES:
        images = dice.uniform(0, 100, [2, height, width, 3]).astype(dtype)
        assert fed(tf1, "ResizeBicubic", {"images": images, "size": np.int32(size)}, 1e-3, **options) is None
        if "half_pixel_centers" not in options:
            assert fed(tf1, "ResizeArea", {"images": images, "size": np.int32(size)}, 1e-3, **options) is None
    for op in ("ResizeBicubic", "ResizeArea"):
        assert fed(tf1, op, {"images": images, "size": np.int32([0, 2])}) is not None
        assert fed(tf1, op, {"images": images[0], "size": np.int32([2, 2])}) is not None


@pytest.mark.parametrize("dtype, tolerance", FLOATS)
@pytest.mark.parametrize("options", [{}, {"align_corners": True}, {"half_pixel_centers": True}])
def test_gradients_of_resizing(tf1, dice, dtype, tolerance, options):
    for height, width, size in SIZES:
        gradients = dice.uniform(-1, 1, [2, *size, 3])
        image = np.zeros([2, height, width, 3], dtype)
        assert fed(tf1, "ResizeBilinearGrad", {"grads": gradients.astype(np.float32), "original_image": image}, max(tolerance, 1e-5), **options) is None
        assert fed(tf1, "ResizeNearestNeighborGrad", {"grads": gradients.astype(dtype), "size": np.int32([height, width])}, max(tolerance, 1e-5), **options) is None
        if dtype != "float16":
            assert fed(tf1, "ResizeBicubicGrad", {"grads": gradients.astype(np.float32), "original_image": image}, 1e-4, **options) is None


@pytest.mark.parametrize("method", ["bilinear", "nearest"])
def test_gradients_of_boxes_cut_out(tf1, dice, method):
    boxes = np.float32([[0, 0, 1, 1], [0.2, 0.1, 0.8, 0.9], [0.8, 0.9, 0.2, 0.1], [-0.5, 0.5, 1.5, 0.6], [0.3, 0.3, 0.3, 0.3]])
    index = np.int32([0, 2, 1, 1, 0])
    for size in ([4, 5], [1, 1], [1, 3]):
        gradients = dice.uniform(-1, 1, [5, *size, 2]).astype(np.float32)
        common = {"grads": gradients, "boxes": boxes, "box_ind": index}
        for dtype in ("float32", "float64"):
            assert fed(tf1, "CropAndResizeGradImage", {**common, "image_size": np.int32([3, 6, 8, 2])}, T=dtype, method=method) is None
        assert fed(tf1, "CropAndResizeGradImage", {**common, "image_size": np.int32([2, 6, 8, 2])}, T="float32", method=method) is not None
        if method == "bilinear":
            image = dice.uniform(-1, 1, [3, 6, 8, 2]).astype(np.float32)
            assert fed(tf1, "CropAndResizeGradBoxes", {**common, "image": image}, 1e-3) is None
            assert fed(tf1, "CropAndResizeGradBoxes", {**common, "image": image[:2]}) is not None


@pytest.mark.parametrize("depth", [1, 3, 4])
def test_drawn_boxes(tf1, dice, depth):
    images = dice.uniform(0, 1, [2, 9, 12, depth]).astype(np.float32)
    boxes = np.float32([[[0.1, 0.1, 0.6, 0.7], [-0.2, 0.3, 0.5, 1.4], [0.9, 0.1, 0.2, 0.4]], [[0, 0, 1, 1], [0.5, 0.5, 0.5, 0.5], [1.2, 0, 1.5, 1]]])
    assert fed(tf1, "DrawBoundingBoxes", {"images": images, "boxes": boxes}) is None
    assert fed(tf1, "DrawBoundingBoxes", {"images": images.astype(np.float16), "boxes": boxes}) is None
    colors = dice.uniform(0, 1, [2, 4]).astype(np.float32)
    assert fed(tf1, "DrawBoundingBoxesV2", {"images": images, "boxes": boxes, "colors": colors}) is None
    assert fed(tf1, "DrawBoundingBoxes", {"images": images, "boxes": boxes[:1]}) is not None
    assert fed(tf1, "DrawBoundingBoxes", {"images": images, "boxes": boxes[..., :3]}) is not None
