"""Non-maximum suppression over all classes of a batch, against TensorFlow."""

import numpy as np
import pytest

from oracles import assert_same_op


@pytest.fixture
def dice():
    return np.random.RandomState(4)


def test_combined_boxes(tf1, dice):
    corners = dice.uniform(-0.2, 1.2, [2, 12, 3, 4]).astype(np.float32)
    scores = dice.permutation(2 * 12 * 3).reshape([2, 12, 3]).astype(np.float32) / 72
    for boxes in (corners, corners[:, :, :1]):
        for pad in (True, False):
            for clip in (True, False):
                for per_class, total in ((3, 7), (2, 50), (20, 4)):
                    assert assert_same_op(tf1, "CombinedNonMaxSuppression", boxes=boxes, scores=scores, max_output_size_per_class=np.array(per_class, np.int32),
                               max_total_size=np.array(total, np.int32), iou_threshold=np.float32([0.2])[0] + np.zeros([], np.float32),
                               score_threshold=np.array(0.3, np.float32), pad_per_class=pad, clip_boxes=clip) is None
