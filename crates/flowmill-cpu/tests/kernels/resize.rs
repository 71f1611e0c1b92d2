use crate::testing::{run1, ty};
use flowmill_tensor::{DType, Tensor};

/// Returns, for each pixel of the output along one dimension, the two pixels of the input around it and its distance from the first.
fn between(input: usize, output: usize) -> Vec<(usize, usize, f32)> {
    let scale = input as f32 / output as f32;
    (0..output)
        .map(|i| {
            let at = i as f32 * scale;
            (at.floor() as usize, (at.ceil() as usize).min(input - 1), at - at.floor())
        })
        .collect()
}

#[test]
fn bilinear_pixels_of_any_depth() {
    for (from, to, channels) in [((3, 4), (7, 9), 1), ((5, 3), (4, 8), 3), ((4, 5), (9, 2), 8), ((2, 3), (5, 7), 13), ((3, 2), (3, 5), 40)]
    {
        let x: Vec<f32> = (0..2 * from.0 * from.1 * channels).map(|i| (i * 37 % 101) as f32 / 7.0).collect();
        let pixel = |image: usize, y: usize, x_at: usize, c: usize| x[((image * from.0 + y) * from.1 + x_at) * channels + c];
        let mut expected = Vec::new();
        for image in 0..2 {
            for (top, bottom, down) in between(from.0, to.0) {
                for (left, right, across) in between(from.1, to.1) {
                    for c in 0..channels {
                        let mix = |y: usize| pixel(image, y, left, c) + (pixel(image, y, right, c) - pixel(image, y, left, c)) * across;
                        expected.push(mix(top) + (mix(bottom) - mix(top)) * down);
                    }
                }
            }
        }
        let images = || Tensor::from_slice([2, from.0, from.1, channels], &x).unwrap();
        let size = || Tensor::vector(&[to.0 as i32, to.1 as i32]).unwrap();
        let found = run1("ResizeBilinear", &[("T", ty(DType::F32))], vec![images(), size()]).unwrap();
        assert_eq!(found.as_slice::<f32>().unwrap(), expected, "{from:?} to {to:?}, {channels} channels");
    }
}
