"""Boxes: corners ``[y1, x1, y2, x2]``, mostly in parts of height and width."""

from __future__ import annotations

from typing import TYPE_CHECKING

import flowmill as tf
from flowmill._internal.apply import call
from flowmill._internal.arguments import one_of
from flowmill._internal.convert import convert_to_tensor
from flowmill._internal.tensor import Tensor
from flowmill.nn._scope import scope

if TYPE_CHECKING:
    from flowmill.raw_ops import _CombinedNonMaxSuppression, _GenerateBoundingBoxProposals, _SampleDistortedBoundingBoxV2

_NO_THRESHOLD = float("-inf")


def crop_and_resize(image, boxes, box_ind=None, crop_size=None, method: str = "bilinear", extrapolation_value: float = 0,
                    name: str | None = None, box_indices=None) -> Tensor:
    """Parts of images, all of one size.

    Args:
        image: a batch.
        boxes: `float32` ``[n, 4]``.
        box_ind: which image each box is of, `int32` ``[n]``.
        crop_size: height and width of the result, `int32`.
        method: ``"bilinear"`` or ``"nearest"``.
        extrapolation_value: the value outside of images.
        name: the name of the operation.
        box_indices: `box_ind` by its new name.

    Returns:
        `float32` ``[n, height, width, channels]``.
    """
    index = one_of("box_ind", box_ind, "box_indices", box_indices)
    return call("CropAndResize", name, image, boxes, index, crop_size, method=method, extrapolation_value=float(extrapolation_value))


def draw_bounding_boxes(images, boxes, name: str | None = None, colors=None) -> Tensor:
    """Images with frames drawn on.

    Args:
        images: a batch of floating-point numbers.
        boxes: `float32` ``[batch, n, 4]``.
        name: the name of the operation.
        colors: ``[colours, channels]``, taken in turn; None for those of the op.
    """
    if colors is None:
        return call("DrawBoundingBoxes", name, images, boxes)
    return call("DrawBoundingBoxesV2", name, images, boxes, colors)


def non_max_suppression(boxes, scores, max_output_size, iou_threshold=0.5, score_threshold=_NO_THRESHOLD, name: str | None = None) -> Tensor:
    """Returns the boxes with the best scores, without those that have too much in common with a better one.

    Args:
        boxes: `float32` ``[n, 4]``.
        scores: ``[n]``.
        max_output_size: how many at most, a scalar.
        iou_threshold: how much two may have in common, over what either covers.
        score_threshold: what scores are at least.
        name: the name of the scope.

    Returns:
        Indices of boxes, best first.
    """
    with scope(name, "non_max_suppression"):
        iou_threshold = convert_to_tensor(iou_threshold, name="iou_threshold")
        score_threshold = convert_to_tensor(score_threshold, name="score_threshold")
        return call("NonMaxSuppressionV3", None, boxes, scores, max_output_size, iou_threshold, score_threshold)


def non_max_suppression_with_scores(boxes, scores, max_output_size, iou_threshold=0.5, score_threshold=_NO_THRESHOLD, soft_nms_sigma=0.0,
                                    name: str | None = None) -> tuple[Tensor, Tensor]:
    """Like :func:`non_max_suppression`; with `soft_nms_sigma` above 0, overlaps reduce scores instead of removing boxes.

    Returns:
        Indices of boxes, and their scores.
    """
    with scope(name, "non_max_suppression_with_scores"):
        iou_threshold = convert_to_tensor(iou_threshold, name="iou_threshold")
        score_threshold = convert_to_tensor(score_threshold, name="score_threshold")
        soft_nms_sigma = convert_to_tensor(soft_nms_sigma, name="soft_nms_sigma")
        found = call("NonMaxSuppressionV5", None, boxes, scores, max_output_size, iou_threshold, score_threshold, soft_nms_sigma,
                     pad_to_max_output_size=False)
        return found[0], found[1]


def non_max_suppression_padded(boxes, scores, max_output_size, iou_threshold=0.5, score_threshold=_NO_THRESHOLD,
                               pad_to_max_output_size: bool = False, name: str | None = None, sorted_input: bool = False,
                               canonicalized_coordinates: bool = False, tile_size: int = 512) -> tuple[Tensor, Tensor]:
    """Like :func:`non_max_suppression`, for the boxes of one image.

    Args:
        boxes: `float32` ``[n, 4]``.
        scores: ``[n]``.
        max_output_size: how many at most, a scalar.
        iou_threshold: how much two may have in common.
        score_threshold: what scores are at least.
        pad_to_max_output_size: adds zeros at the end, so that there are `max_output_size`.
        name: the name of the scope.
        sorted_input: not needed: boxes may be in any order.
        canonicalized_coordinates: not needed: corners may be in any order.
        tile_size: not used.

    Returns:
        Indices of boxes, and how many of them count.

    Raises:
        ValueError: for a batch.
    """
    with scope(name, "non_max_suppression_padded"):
        boxes = convert_to_tensor(boxes, name="boxes")
        if boxes.shape.rank is not None and boxes.shape.rank > 2:
            raise ValueError("flowmill's non_max_suppression_padded takes the boxes of one image; call it for each of a batch.")
        iou_threshold = convert_to_tensor(iou_threshold, name="iou_threshold")
        score_threshold = convert_to_tensor(score_threshold, name="score_threshold")
        found = call("NonMaxSuppressionV4", None, boxes, scores, max_output_size, iou_threshold, score_threshold,
                     pad_to_max_output_size=pad_to_max_output_size)
        return found[0], found[1]


def non_max_suppression_overlaps(overlaps, scores, max_output_size, overlap_threshold=0.5, score_threshold=_NO_THRESHOLD,
                                 name: str | None = None) -> Tensor:
    """Like :func:`non_max_suppression`, with overlaps that are given, ``[n, n]``."""
    with scope(name, "non_max_suppression_overlaps"):
        overlap_threshold = convert_to_tensor(overlap_threshold, name="overlap_threshold")
        return call("NonMaxSuppressionWithOverlaps", None, overlaps, scores, max_output_size, overlap_threshold, score_threshold)


def combined_non_max_suppression(boxes, scores, max_output_size_per_class, max_total_size, iou_threshold=0.5,
                                 score_threshold=_NO_THRESHOLD, pad_per_class: bool = False, clip_boxes: bool = True,
                                 name: str | None = None) -> _CombinedNonMaxSuppression:
    """:func:`non_max_suppression` of each class of each image of a batch.

    Args:
        boxes: ``[batch, n, classes or 1, 4]``.
        scores: ``[batch, n, classes]``.
        max_output_size_per_class: how many of each class at most.
        max_total_size: how many of each image at most.
        iou_threshold: how much two may have in common.
        score_threshold: what scores are at least.
        pad_per_class: whether results are no longer than ``max_output_size_per_class * classes``.
        clip_boxes: whether corners are cut to ``[0, 1]``.
        name: the name of the scope.

    Returns:
        A named tuple of boxes, scores, classes, and how many count of each image.
    """
    with scope(name, "combined_non_max_suppression"):
        iou_threshold = convert_to_tensor(iou_threshold, dtype=tf.float32, name="iou_threshold")
        score_threshold = convert_to_tensor(score_threshold, dtype=tf.float32, name="score_threshold")
        max_total_size = convert_to_tensor(max_total_size)
        return call("CombinedNonMaxSuppression", None, boxes, scores, max_output_size_per_class, max_total_size, iou_threshold, score_threshold,
                    pad_per_class=pad_per_class, clip_boxes=clip_boxes)


def sample_distorted_bounding_box(image_size, bounding_boxes, seed: int | None = None, seed2: int | None = None, min_object_covered=0.1,
                                  aspect_ratio_range=None, area_range=None, max_attempts: int | None = None,
                                  use_image_if_no_bounding_boxes: bool | None = None, name: str | None = None) -> _SampleDistortedBoundingBoxV2:
    """Returns a random part of an image that has enough of one of the boxes.

    Args:
        image_size: height, width and channels.
        bounding_boxes: `float32` ``[1, n, 4]``.
        seed: of the random numbers.
        seed2: a second one.
        min_object_covered: how much of a box it has.
        aspect_ratio_range: the least and the largest width over height.
        area_range: the least and the largest part of the image.
        max_attempts: how often to try before the whole image is given.
        use_image_if_no_bounding_boxes: whether the whole image counts as a box if there are none.
        name: the name of the scope.

    Returns:
        A named tuple of `begin` and `size` for ``tf.slice``, and the box ``[1, 1, 4]``.
    """
    with scope(name, "sample_distorted_bounding_box") as whole:
        return call("SampleDistortedBoundingBoxV2", name and whole, image_size, bounding_boxes, min_object_covered, seed=seed, seed2=seed2,
                    aspect_ratio_range=aspect_ratio_range, area_range=area_range, max_attempts=max_attempts,
                    use_image_if_no_bounding_boxes=use_image_if_no_bounding_boxes)


def generate_bounding_box_proposals(scores, bbox_deltas, image_info, anchors, nms_threshold=0.7, pre_nms_topn=6000, min_size=16,
                                    post_nms_topn: int = 300, name: str | None = None) -> _GenerateBoundingBoxProposals:
    """Returns the boxes that deltas make of anchors, best first, without those that overlap: boxes ``[images, post_nms_topn, 4]`` and their scores.

    Args:
        scores: ``[images, height, width, anchors]``.
        bbox_deltas: how each anchor is moved and stretched, ``[images, height, width, 4 * anchors]``: dy, dx, dh, dw.
        image_info: height, width and scale of each image, and two more numbers.
        anchors: ``[height, width, 4 * anchors]``: y1, x1, y2, x2.
        nms_threshold: of boxes that share more of their area than this, the best one is left.
        pre_nms_topn: how many boxes are looked at.
        min_size: the least height and width of a box, in pixels of an image of scale 1.
        post_nms_topn: the greatest number of boxes; the rest is filled with zeros.
        name: the name of the operation.
    """
    return call("GenerateBoundingBoxProposals", name, scores, bbox_deltas, image_info, anchors, nms_threshold, pre_nms_topn, min_size,
                post_nms_topn=post_nms_topn)
