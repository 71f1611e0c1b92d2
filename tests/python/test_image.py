"""Image ops, against TensorFlow."""

import numpy as np
import pytest

from oracles import assert_same

TYPES = ["uint8", "int16", "int32", "int64", "float16", "float32", "float64"]


@pytest.fixture
def dice():
    return np.random.RandomState(5)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("options", [{}, {"align_corners": True}, {"half_pixel_centers": True}])
def test_resizing(tf1, dice, dtype, options):
    for height, width, size in [(5, 7, [9, 4]), (1, 1, [3, 2]), (4, 4, [1, 1]), (3, 6, [3, 6]), (2, 5, [7, 1])]:
        images = (dice.uniform(0, 100, [2, height, width, 3])).astype(dtype)

        def build(m):
            x = m.constant(images)
            return [m.raw_ops.ResizeBilinear(images=x, size=size, **options), m.raw_ops.ResizeNearestNeighbor(images=x, size=size, **options)]
        assert assert_same(tf1, build, rtol=1e-4) is None


@pytest.mark.parametrize("shape, size", [([2, 3, 3], [2, 2]), ([1, 0, 3, 1], [2, 2]), ([1, 2, 2, 1], [0, 3]), ([1, 2, 2, 1], [2]), ([0, 2, 2, 1], [3, 3])])
def test_sizes_that_do_not_fit(tf1, shape, size):
    def build(m):
        x, s = m.placeholder(m.float32, name="x"), m.placeholder(m.int32, name="s")
        return [m.raw_ops.ResizeBilinear(images=x, size=s), m.raw_ops.ResizeNearestNeighbor(images=x, size=s)]
    assert_same(tf1, build, {"x:0": np.ones(shape, np.float32), "s:0": np.int32(size)})


@pytest.mark.parametrize("method", ["bilinear", "nearest"])
def test_boxes_cut_out(tf1, dice, method):
    images = dice.uniform(-1, 1, [3, 6, 8, 2]).astype(np.float32)
    boxes = np.float32([[0, 0, 1, 1], [0.2, 0.1, 0.8, 0.9], [0.8, 0.9, 0.2, 0.1], [-0.5, 0.5, 1.5, 0.6], [0.3, 0.3, 0.3, 0.3]])
    index = np.int32([0, 2, 1, 1, 0])
    for size in ([4, 5], [1, 1], [1, 3]):
        for dtype in ("float32", "uint8", "float64"):
            crop = lambda m: [m.raw_ops.CropAndResize(
                image=m.constant((images * 100).astype(dtype)), boxes=boxes, box_ind=index, crop_size=size, method=method, extrapolation_value=-7.0)]
            assert assert_same(tf1, crop, rtol=1e-4, atol=1e-4) is None

    def build(m):
        return [m.raw_ops.CropAndResize(
            image=m.constant(images), boxes=m.placeholder(m.float32, name="b"), box_ind=m.placeholder(m.int32, name="i"), crop_size=m.placeholder(m.int32, name="s"))]
    for b, i, s in [(boxes, index + 3, [2, 2]), (boxes, index[:2], [2, 2]), (boxes[:, :3], index, [2, 2]), (boxes, index, [0, 2]), (boxes, index, [2, 2, 2])]:
        assert assert_same(tf1, build, {"b:0": b, "i:0": i, "s:0": np.int32(s)}) is not None
    assert assert_same(tf1, build, {"b:0": boxes[:0], "i:0": index[:0], "s:0": np.int32([2, 2])}) is None


def overlapping(dice, n):
    corners = dice.uniform(0, 1, [n, 2])
    boxes = np.concatenate([corners, corners + dice.uniform(0.05, 0.5, [n, 2])], 1).astype(np.float32)
    boxes[::3] = boxes[::3][:, [2, 3, 0, 1]]
    boxes[1] = boxes[0]
    scores = dice.uniform(0, 1, n).astype(np.float32)
    scores[5] = scores[4]
    return boxes, scores


def test_overlapping_boxes_left_out(tf1, dice):
    boxes, scores = overlapping(dice, 60)
    boxes[7] = 0

    def build(m):
        raw = m.raw_ops
        outputs = []
        for most in (0, 5, 100):
            outputs.append(raw.NonMaxSuppression(boxes=boxes, scores=scores, max_output_size=most, iou_threshold=0.3))
            outputs.append(raw.NonMaxSuppressionV2(boxes=boxes, scores=scores, max_output_size=most, iou_threshold=0.6))
            outputs.append(raw.NonMaxSuppressionV3(boxes=boxes, scores=scores, max_output_size=most, iou_threshold=0.5, score_threshold=0.4))
            for pad in (False, True):
                outputs += raw.NonMaxSuppressionV4(
                    boxes=boxes, scores=scores, max_output_size=most, iou_threshold=0.5, score_threshold=0.2, pad_to_max_output_size=pad)
                for sigma in (0.0, 0.5):
                    outputs += raw.NonMaxSuppressionV5(
                        boxes=boxes, scores=scores, max_output_size=most, iou_threshold=0.5, score_threshold=0.2, soft_nms_sigma=sigma, pad_to_max_output_size=pad)
        return outputs
    assert assert_same(tf1, build, rtol=1e-5) is None


@pytest.mark.parametrize("boxes, scores, most, iou", [
    ([4, 4], [3], 2, 0.5), ([4, 3], [4], 2, 0.5), ([4], [4], 2, 0.5), ([4, 4], [4], -1, 0.5), ([4, 4], [4], 2, 1.5), ([0, 4], [0], 2, 0.5),
])
def test_boxes_that_do_not_fit(tf1, boxes, scores, most, iou):
    def build(m):
        b, s = m.placeholder(m.float32, name="b"), m.placeholder(m.float32, name="s")
        most_, iou_ = m.placeholder(m.int32, name="most"), m.placeholder(m.float32, name="iou")
        return [m.raw_ops.NonMaxSuppressionV3(boxes=b, scores=s, max_output_size=most_, iou_threshold=iou_, score_threshold=0.0)]
    assert_same(tf1, build, {"b:0": np.ones(boxes, np.float32), "s:0": np.ones(scores, np.float32), "most:0": most, "iou:0": iou})
