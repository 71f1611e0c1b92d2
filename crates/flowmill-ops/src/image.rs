//! Images: resizing, boxes, colours, and encoded formats.

use crate::gradient;
use crate::op::{Op, op};
use crate::shape;

pub(crate) const OPS: &[Op] = &[
    op("ResizeBilinear", "(images: T, size: int32) -> (resized_images: float)").costly().gradient(gradient::resize_bilinear)
        .attrs("T: {int8, uint8, int16, uint16, int32, int64, bfloat16, half, float, double, bfloat16}; align_corners: bool = false;
                half_pixel_centers: bool = false")
        .shape(shape::resize),
    op("ResizeBilinearGrad", "(grads: float, original_image: T) -> (output: T)").costly().not_differentiable()
        .attrs("T: {float, bfloat16, half, double}; align_corners: bool = false; half_pixel_centers: bool = false")
        .shape(shape::resize_bilinear_grad),
    op("ResizeNearestNeighbor", "(images: T, size: int32) -> (resized_images: T)").costly().gradient(gradient::resize_nearest_neighbor)
        .attrs("T: {int8, uint8, int16, uint16, int32, int64, half, float, double, bfloat16}; align_corners: bool = false;
                half_pixel_centers: bool = false")
        .shape(shape::resize),
    op("ResizeNearestNeighborGrad", "(grads: T, size: int32) -> (output: T)").costly()
        .attrs("T: {uint8, int8, int32, half, float, double, bfloat16}; align_corners: bool = false; half_pixel_centers: bool = false")
        .shape(shape::resize_nearest_grad),
    op("ResizeBicubic", "(images: T, size: int32) -> (resized_images: float)").costly().gradient(gradient::resize_bicubic)
        .attrs("T: {int8, uint8, int16, uint16, int32, int64, half, float, double, bfloat16}; align_corners: bool = false;
                half_pixel_centers: bool = false")
        .shape(shape::resize),
    op("ResizeArea", "(images: T, size: int32) -> (resized_images: float)").costly()
        .attrs("T: {int8, uint8, int16, uint16, int32, int64, half, float, double, bfloat16}; align_corners: bool = false")
        .shape(shape::resize),
    op("CropAndResize", "(image: T, boxes: float, box_ind: int32, crop_size: int32) -> (crops: float)").costly()
        .gradient(gradient::crop_and_resize)
        .attrs("T: {uint8, uint16, int8, int16, int32, int64, half, float, double}; method: {'bilinear', 'nearest'} = 'bilinear';
                extrapolation_value: float = 0.0")
        .shape(shape::crop_and_resize),
    op("NonMaxSuppression", "(boxes: float, scores: float, max_output_size: int32) -> (selected_indices: int32)").costly().not_differentiable()
        .attrs("iou_threshold: float = 0.5")
        .shape(shape::non_max_suppression),
    op("NonMaxSuppressionV2", "(boxes: T, scores: T, max_output_size: int32, iou_threshold: T_threshold) -> (selected_indices: int32)").costly().not_differentiable()
        .attrs("T: {half, float} = float; T_threshold: {half, float} = float")
        .shape(shape::non_max_suppression),
    op(
        "NonMaxSuppressionV3",
        "(boxes: T, scores: T, max_output_size: int32, iou_threshold: T_threshold, score_threshold: T_threshold)
         -> (selected_indices: int32)",
    ).costly()
    .attrs("T: {half, float} = float; T_threshold: {half, float} = float")
    .shape(shape::non_max_suppression),
    op(
        "NonMaxSuppressionV4",
        "(boxes: T, scores: T, max_output_size: int32, iou_threshold: T_threshold, score_threshold: T_threshold)
         -> (selected_indices: int32, valid_outputs: int32)",
    ).costly()
    .attrs("T: {half, float} = float; T_threshold: {half, float} = float; pad_to_max_output_size: bool = false")
    .shape(shape::non_max_suppression),
    op(
        "NonMaxSuppressionV5",
        "(boxes: T, scores: T, max_output_size: int32, iou_threshold: T, score_threshold: T, soft_nms_sigma: T)
         -> (selected_indices: int32, selected_scores: T, valid_outputs: int32)",
    ).costly()
    .attrs("T: {half, float} = float; pad_to_max_output_size: bool = false")
    .shape(shape::non_max_suppression),
    op(
        "NonMaxSuppressionWithOverlaps",
        "(overlaps: float, scores: float, max_output_size: int32, overlap_threshold: float, score_threshold: float)
         -> (selected_indices: int32)",
    ).costly()
    .not_differentiable()
    .shape(shape::non_max_suppression_with_overlaps),
    op(
        "CombinedNonMaxSuppression",
        "(boxes: float, scores: float, max_output_size_per_class: int32, max_total_size: int32, iou_threshold: float, score_threshold: float)
         -> (nmsed_boxes: float, nmsed_scores: float, nmsed_classes: float, valid_detections: int32)",
    ).costly()
    .attrs("pad_per_class: bool = false; clip_boxes: bool = true")
    .shape(shape::combined_non_max_suppression),
    op("SampleDistortedBoundingBox", "(image_size: T, bounding_boxes: float) -> (begin: T, size: T, bboxes: float)").costly()
        .not_differentiable()
        .attrs("T: {uint8, int8, int16, int32, int64}; seed: int = 0; seed2: int = 0; min_object_covered: float = 0.1;
                aspect_ratio_range: list(float) = [0.75, 1.33]; area_range: list(float) = [0.05, 1.0]; max_attempts: int = 100;
                use_image_if_no_bounding_boxes: bool = false")
        .stateful()
        .shape(shape::sampled_bounding_box),
    op(
        "SampleDistortedBoundingBoxV2",
        "(image_size: T, bounding_boxes: float, min_object_covered: float) -> (begin: T, size: T, bboxes: float)",
    ).costly()
    .not_differentiable()
    .attrs("T: {uint8, int8, int16, int32, int64}; seed: int = 0; seed2: int = 0; aspect_ratio_range: list(float) = [0.75, 1.33];
            area_range: list(float) = [0.05, 1.0]; max_attempts: int = 100; use_image_if_no_bounding_boxes: bool = false")
    .stateful()
    .shape(shape::sampled_bounding_box),
    op(
        "StatelessSampleDistortedBoundingBox",
        "(image_size: T, bounding_boxes: float, min_object_covered: float, seed: Tseed) -> (begin: T, size: T, bboxes: float)",
    ).costly()
    .attrs("T: {uint8, int8, int16, int32, int64}; Tseed: {int32, int64}; aspect_ratio_range: list(float) = [0.75, 1.33];
            area_range: list(float) = [0.05, 1.0]; max_attempts: int = 100; use_image_if_no_bounding_boxes: bool = false")
    .shape(shape::sampled_bounding_box),
    op("RandomCrop", "(image: T, size: int64) -> (output: T)")
        .not_differentiable()
        .attrs("T: {uint8, int8, int16, int32, int64, float, double}; seed: int = 0; seed2: int = 0")
        .stateful()
        .deprecated(8, "Random crop is now pure Python")
        .shape(shape::random_crop),
    op("DecodeJpeg", "(contents: string) -> (image: uint8)").costly()
        .attrs("channels: int = 0; ratio: int = 1; fancy_upscaling: bool = true; try_recover_truncated: bool = false;
                acceptable_fraction: float = 1.0; dct_method: string = ''")
        .shape(shape::decode_image),
    op("DecodePng", "(contents: string) -> (image: dtype)").costly().attrs("channels: int = 0; dtype: {uint8, uint16} = uint8").shape(shape::decode_image),
    op("DecodeImage", "(contents: string) -> (image: dtype)").costly()
        .attrs("channels: int = 0; dtype: {uint8, uint16, float} = uint8; expand_animations: bool = true")
        .shape(shape::unknown),
    op(
        "GenerateBoundingBoxProposals",
        "(scores: float, bbox_deltas: float, image_info: float, anchors: float, nms_threshold: float, pre_nms_topn: int32, min_size: float)
         -> (rois: float, roi_probabilities: float)",
    ).costly()
    .not_differentiable()
    .attrs("post_nms_topn: int = 300")
    .shape(shape::bounding_box_proposals),
    op("DecodeBmp", "(contents: string) -> (image: uint8)").costly().attrs("channels: int = 0").shape(shape::decode_image),
    op("DecodeWebP", "(contents: string) -> (image: dtype)").costly().attrs("channels: int = 0; dtype: {uint8} = uint8").shape(shape::decode_web_p),
    op("DecodeGif", "(contents: string) -> (image: uint8)").costly().shape(shape::decode_gif),
    op("EncodeJpeg", "(image: uint8) -> (contents: string)").costly()
        .attrs("format: {'', 'grayscale', 'rgb'} = ''; quality: int = 95; progressive: bool = false; optimize_size: bool = false;
                chroma_downsampling: bool = true; density_unit: {'in', 'cm'} = 'in'; x_density: int = 300; y_density: int = 300;
                xmp_metadata: string = ''")
        .shape(shape::scalars),
    op("EncodePng", "(image: T) -> (contents: string)").costly().attrs("compression: int = -1; T: {uint8, uint16} = uint8").shape(shape::encode_png),
    op("RGBToHSV", "(images: T) -> (output: T)").costly()
        .gradient(gradient::rgb_to_hsv)
        .attrs("T: {half, bfloat16, float, double} = float")
        .shape(shape::colorspace),
    op("HSVToRGB", "(images: T) -> (output: T)").costly().not_differentiable().attrs("T: {half, bfloat16, float, double} = float").shape(shape::colorspace),
    op("AdjustContrastv2", "(images: T, contrast_factor: float) -> (output: T)").costly()
        .attrs("T: {half, float} = float")
        .shape(shape::unchanged_with_rank_at_least::<3>),
    op("AdjustHue", "(images: T, delta: float) -> (output: T)").costly().attrs("T: {half, float} = float").shape(shape::unchanged_with_rank_at_least::<3>),
    op("AdjustSaturation", "(images: T, scale: float) -> (output: T)").costly()
        .attrs("T: {half, float} = float")
        .shape(shape::unchanged_with_rank_at_least::<3>),
    op("DrawBoundingBoxes", "(images: T, boxes: float) -> (output: T)").costly().not_differentiable()
        .attrs("T: {float, half} = float")
        .shape(shape::unchanged_with_rank_at_least::<3>),
    op("ExtractJpegShape", "(contents: string) -> (image_shape: output_type)").costly().attrs("output_type: index = int32").shape(shape::extract_jpeg_shape),
    op("DecodeAndCropJpeg", "(contents: string, crop_window: int32) -> (image: uint8)").costly()
        .attrs("channels: int = 0; ratio: int = 1; fancy_upscaling: bool = true; try_recover_truncated: bool = false;
                acceptable_fraction: float = 1.0; dct_method: string = ''")
        .shape(shape::decode_image),
    op("ResizeBicubicGrad", "(grads: float, original_image: T) -> (output: T)").costly()
        .attrs("T: {float, double}; align_corners: bool = false; half_pixel_centers: bool = false")
        .shape(shape::resize_bilinear_grad),
    op("CropAndResizeGradImage", "(grads: float, boxes: float, box_ind: int32, image_size: int32) -> (output: T)").costly()
        .attrs("T: {float, half, double}; method: {'bilinear', 'nearest'} = 'bilinear'")
        .shape(shape::crop_and_resize_grad_image),
    op("CropAndResizeGradBoxes", "(grads: float, image: T, boxes: float, box_ind: int32) -> (output: float)").costly()
        .attrs("T: {uint8, uint16, int8, int16, int32, int64, half, float, double}; method: {'bilinear'} = 'bilinear'")
        .shape(shape::crop_and_resize_grad_boxes),
    op("DrawBoundingBoxesV2", "(images: T, boxes: float, colors: float) -> (output: T)").costly()
        .attrs("T: {float, half} = float")
        .shape(shape::unchanged_with_rank_at_least::<3>),
    op("EncodeJpegVariableQuality", "(images: uint8, quality: int32) -> (contents: string)").costly()
        .shape(shape::encode_jpeg_variable_quality),
    op("ExtractGlimpse", "(input: float, size: int32, offsets: float) -> (glimpse: float)").costly()
        .not_differentiable()
        .attrs("centered: bool = true; normalized: bool = true; uniform_noise: bool = true; noise: string = 'uniform'")
        .shape(shape::extract_glimpse),
    op("ExtractGlimpseV2", "(input: float, size: int32, offsets: float) -> (glimpse: float)").costly()
        .attrs("centered: bool = true; normalized: bool = true; uniform_noise: bool = true; noise: string = 'uniform'")
        .shape(shape::extract_glimpse),
    op("ScaleAndTranslate", "(images: T, size: int32, scale: float, translation: float) -> (resized_images: float)").costly()
        .gradient(gradient::scale_and_translate)
        .attrs("T: {int8, uint8, int16, uint16, int32, int64, bfloat16, half, float, double}; kernel_type: string = 'lanczos3'; antialias: bool = true")
        .shape(shape::resize),
    op("ScaleAndTranslateGrad", "(grads: T, original_image: T, scale: float, translation: float) -> (output: T)").costly()
        .attrs("T: {float}; kernel_type: string = 'lanczos3'; antialias: bool = true")
        .shape(shape::resize_bilinear_grad),
    op("ImageProjectiveTransformV2", "(images: dtype, transforms: float, output_shape: int32) -> (transformed_images: dtype)").costly()
        .gradient(gradient::image_projective_transform)
        .attrs("dtype: {uint8, int32, int64, half, bfloat16, float, double}; interpolation: string; fill_mode: string = 'CONSTANT'")
        .shape(shape::image_projective_transform),
    op("ImageProjectiveTransformV3", "(images: dtype, transforms: float, output_shape: int32, fill_value: float) -> (transformed_images: dtype)").costly()
        .gradient(gradient::image_projective_transform)
        .attrs("dtype: {uint8, int32, int64, half, bfloat16, float, double}; interpolation: string; fill_mode: string = 'CONSTANT'")
        .shape(shape::image_projective_transform),
];
