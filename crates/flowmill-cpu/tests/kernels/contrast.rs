use crate::testing::{Call, ty};
use flowmill_tensor::{DType, Tensor};

/// Each channel's distance from its own mean is scaled, for images that are shorter and longer than what is computed together.
#[test]
fn contrast_is_scaled_around_the_means_of_channels() {
    for (images, pixels, channels) in [(2, 5, 3), (1, 33, 3), (2, 100, 3), (1, 7, 40), (2, 3, 200), (1, 64, 1)] {
        let values: Vec<f32> = (0..images * pixels * channels).map(|i| (i * 7919 % 101) as f32 / 8.0).collect();
        let input = Tensor::from_slice([images, 1, pixels, channels], &values).unwrap();
        let found = Call::new("AdjustContrastv2").attr("T", ty(DType::F32)).inputs(vec![input, Tensor::scalar(1.5f32)]).run1().unwrap();
        let mean = |at: usize| {
            let (image, channel) = (at / (pixels * channels), at % channels);
            (0..pixels).map(|i| f64::from(values[(image * pixels + i) * channels + channel])).sum::<f64>() / pixels as f64
        };
        for (at, &found) in found.as_slice::<f32>().unwrap().iter().enumerate() {
            let want = (f64::from(values[at]) - mean(at)) * 1.5 + mean(at);
            assert!(
                (f64::from(found) - want).abs() < 1e-5,
                "{images} images, {pixels} pixels, {channels} channels: {found} and {want} at {at}"
            );
        }
    }
}
