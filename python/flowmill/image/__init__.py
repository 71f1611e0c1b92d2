"""Images: ``tf.image``.

Images are ``[height, width, channels]`` or ``[batch, height, width, channels]``; those of floating-point types go from 0 to 1.

Each function is looked up in its module when it is first used.
"""

from __future__ import annotations

from flowmill._internal import lazy as _lazy

_BY_MODULE = {
    "_boxes": "combined_non_max_suppression crop_and_resize draw_bounding_boxes generate_bounding_box_proposals non_max_suppression non_max_suppression_overlaps "
              "non_max_suppression_padded non_max_suppression_with_scores sample_distorted_bounding_box",
    "_color": "adjust_brightness adjust_contrast adjust_gamma adjust_hue adjust_jpeg_quality adjust_saturation convert_image_dtype grayscale_to_rgb "
              "hsv_to_rgb per_image_standardization random_brightness random_contrast random_hue random_jpeg_quality random_saturation "
              "rgb_to_grayscale rgb_to_hsv rgb_to_yiq rgb_to_yuv yiq_to_rgb yuv_to_rgb",
    "_decode": "decode_and_crop_jpeg decode_bmp decode_gif decode_image decode_jpeg decode_png decode_webp encode_jpeg encode_png extract_jpeg_shape is_jpeg",
    "_geometry": "central_crop crop_to_bounding_box flip_left_right flip_up_down pad_to_bounding_box random_flip_left_right "
                 "random_flip_up_down resize_image_with_crop_or_pad resize_with_crop_or_pad=resize_image_with_crop_or_pad rot90 transpose "
                 "transpose_image=transpose extract_glimpse extract_image_patches extract_patches",
    "_quality": "image_gradients psnr sobel_edges ssim ssim_multiscale total_variation",
    "_resize": "ResizeMethod resize=resize_images resize_area resize_bicubic resize_bilinear resize_image_with_pad resize_images "
               "resize_nearest_neighbor",
}

_NAMES = _lazy.table(__name__, _BY_MODULE) | _lazy.table("flowmill", {"random": "random_crop"})
__all__ = sorted(_NAMES)

__getattr__, __dir__ = _lazy.attach(__name__, _NAMES)
