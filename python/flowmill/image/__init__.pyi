# Made by python/make_stubs from the code.

from flowmill.image._boxes import combined_non_max_suppression as combined_non_max_suppression
from flowmill.image._boxes import crop_and_resize as crop_and_resize
from flowmill.image._boxes import draw_bounding_boxes as draw_bounding_boxes
from flowmill.image._boxes import generate_bounding_box_proposals as generate_bounding_box_proposals
from flowmill.image._boxes import non_max_suppression as non_max_suppression
from flowmill.image._boxes import non_max_suppression_overlaps as non_max_suppression_overlaps
from flowmill.image._boxes import non_max_suppression_padded as non_max_suppression_padded
from flowmill.image._boxes import non_max_suppression_with_scores as non_max_suppression_with_scores
from flowmill.image._boxes import sample_distorted_bounding_box as sample_distorted_bounding_box
from flowmill.image._color import adjust_brightness as adjust_brightness
from flowmill.image._color import adjust_contrast as adjust_contrast
from flowmill.image._color import adjust_gamma as adjust_gamma
from flowmill.image._color import adjust_hue as adjust_hue
from flowmill.image._color import adjust_jpeg_quality as adjust_jpeg_quality
from flowmill.image._color import adjust_saturation as adjust_saturation
from flowmill.image._color import convert_image_dtype as convert_image_dtype
from flowmill.image._color import grayscale_to_rgb as grayscale_to_rgb
from flowmill.image._color import hsv_to_rgb as hsv_to_rgb
from flowmill.image._color import per_image_standardization as per_image_standardization
from flowmill.image._color import random_brightness as random_brightness
from flowmill.image._color import random_contrast as random_contrast
from flowmill.image._color import random_hue as random_hue
from flowmill.image._color import random_jpeg_quality as random_jpeg_quality
from flowmill.image._color import random_saturation as random_saturation
from flowmill.image._color import rgb_to_grayscale as rgb_to_grayscale
from flowmill.image._color import rgb_to_hsv as rgb_to_hsv
from flowmill.image._color import rgb_to_yiq as rgb_to_yiq
from flowmill.image._color import rgb_to_yuv as rgb_to_yuv
from flowmill.image._color import yiq_to_rgb as yiq_to_rgb
from flowmill.image._color import yuv_to_rgb as yuv_to_rgb
from flowmill.image._decode import decode_and_crop_jpeg as decode_and_crop_jpeg
from flowmill.image._decode import decode_bmp as decode_bmp
from flowmill.image._decode import decode_gif as decode_gif
from flowmill.image._decode import decode_image as decode_image
from flowmill.image._decode import decode_jpeg as decode_jpeg
from flowmill.image._decode import decode_png as decode_png
from flowmill.image._decode import decode_webp as decode_webp
from flowmill.image._decode import encode_jpeg as encode_jpeg
from flowmill.image._decode import encode_png as encode_png
from flowmill.image._decode import extract_jpeg_shape as extract_jpeg_shape
from flowmill.image._decode import is_jpeg as is_jpeg
from flowmill.image._geometry import central_crop as central_crop
from flowmill.image._geometry import crop_to_bounding_box as crop_to_bounding_box
from flowmill.image._geometry import extract_glimpse as extract_glimpse
from flowmill.image._geometry import extract_image_patches as extract_image_patches
from flowmill.image._geometry import extract_patches as extract_patches
from flowmill.image._geometry import flip_left_right as flip_left_right
from flowmill.image._geometry import flip_up_down as flip_up_down
from flowmill.image._geometry import pad_to_bounding_box as pad_to_bounding_box
from flowmill.image._geometry import random_flip_left_right as random_flip_left_right
from flowmill.image._geometry import random_flip_up_down as random_flip_up_down
from flowmill.image._geometry import resize_image_with_crop_or_pad as resize_image_with_crop_or_pad
from flowmill.image._geometry import resize_image_with_crop_or_pad as _resize_with_crop_or_pad
resize_with_crop_or_pad = _resize_with_crop_or_pad
from flowmill.image._geometry import rot90 as rot90
from flowmill.image._geometry import transpose as transpose
from flowmill.image._geometry import transpose as _transpose_image
transpose_image = _transpose_image
from flowmill.image._quality import image_gradients as image_gradients
from flowmill.image._quality import psnr as psnr
from flowmill.image._quality import sobel_edges as sobel_edges
from flowmill.image._quality import ssim as ssim
from flowmill.image._quality import ssim_multiscale as ssim_multiscale
from flowmill.image._quality import total_variation as total_variation
from flowmill.image._resize import ResizeMethod as ResizeMethod
from flowmill.image._resize import resize_images as _resize
resize = _resize
from flowmill.image._resize import resize_area as resize_area
from flowmill.image._resize import resize_bicubic as resize_bicubic
from flowmill.image._resize import resize_bilinear as resize_bilinear
from flowmill.image._resize import resize_image_with_pad as resize_image_with_pad
from flowmill.image._resize import resize_images as resize_images
from flowmill.image._resize import resize_nearest_neighbor as resize_nearest_neighbor
from flowmill.random import random_crop as random_crop

__all__ = [
    "ResizeMethod",
    "adjust_brightness",
    "adjust_contrast",
    "adjust_gamma",
    "adjust_hue",
    "adjust_jpeg_quality",
    "adjust_saturation",
    "central_crop",
    "combined_non_max_suppression",
    "convert_image_dtype",
    "crop_and_resize",
    "crop_to_bounding_box",
    "decode_and_crop_jpeg",
    "decode_bmp",
    "decode_gif",
    "decode_image",
    "decode_jpeg",
    "decode_png",
    "decode_webp",
    "draw_bounding_boxes",
    "encode_jpeg",
    "encode_png",
    "extract_glimpse",
    "extract_image_patches",
    "extract_jpeg_shape",
    "extract_patches",
    "flip_left_right",
    "flip_up_down",
    "generate_bounding_box_proposals",
    "grayscale_to_rgb",
    "hsv_to_rgb",
    "image_gradients",
    "is_jpeg",
    "non_max_suppression",
    "non_max_suppression_overlaps",
    "non_max_suppression_padded",
    "non_max_suppression_with_scores",
    "pad_to_bounding_box",
    "per_image_standardization",
    "psnr",
    "random_brightness",
    "random_contrast",
    "random_crop",
    "random_flip_left_right",
    "random_flip_up_down",
    "random_hue",
    "random_jpeg_quality",
    "random_saturation",
    "resize",
    "resize_area",
    "resize_bicubic",
    "resize_bilinear",
    "resize_image_with_crop_or_pad",
    "resize_image_with_pad",
    "resize_images",
    "resize_nearest_neighbor",
    "resize_with_crop_or_pad",
    "rgb_to_grayscale",
    "rgb_to_hsv",
    "rgb_to_yiq",
    "rgb_to_yuv",
    "rot90",
    "sample_distorted_bounding_box",
    "sobel_edges",
    "ssim",
    "ssim_multiscale",
    "total_variation",
    "transpose",
    "transpose_image",
    "yiq_to_rgb",
    "yuv_to_rgb",
]
