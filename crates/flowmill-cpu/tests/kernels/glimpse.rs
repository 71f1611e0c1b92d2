use crate::testing::{Call, floats, message};
use flowmill_tensor::{Code, Result, Tensor};

/// Returns two glimpses of images of 3×4 pixels, with values 1 to 12 and 101 to 112.
fn glimpses(op: &str, size: &[i32], offsets: [f32; 4], [centered, normalized]: [bool; 2], noise: &str) -> Result<Tensor> {
    let images: Vec<f32> = (1u8..13).chain(101..113).map(f32::from).collect();
    Call::new(op)
        .attr("centered", centered)
        .attr("normalized", normalized)
        .attr("uniform_noise", false)
        .attr("noise", noise)
        .inputs(vec![Tensor::from_slice([2, 3, 4, 1], &images)?, Tensor::vector(size)?, Tensor::from_slice([2, 2], &offsets)?])
        .run1()
}

#[test]
fn where_glimpses_lie() {
    let at = |op: &str, offsets, meaning| floats(glimpses(op, &[1, 2], offsets, meaning, "zero"));
    assert_eq!(at("ExtractGlimpse", [0.0, 0.0, -1.0, 1.0], [true, true]), [6.0, 7.0, 104.0, 0.0]);
    assert_eq!(at("ExtractGlimpseV2", [0.0, 0.0, -1.0, 1.0], [true, true]), [6.0, 7.0, 104.0, 0.0]);
    // In the first version, offsets always point to the centre of the window; if they count from the centre of the image, they are halved.
    assert_eq!(at("ExtractGlimpse", [2.5, 2.0, 0.0, 0.0], [false, false]), [10.0, 11.0, 0.0, 101.0]);
    assert_eq!(at("ExtractGlimpseV2", [2.5, 2.0, 0.0, -1.0], [false, false]), [11.0, 12.0, 0.0, 101.0]);
    assert_eq!(at("ExtractGlimpse", [2.0, 2.0, 0.0, 0.0], [true, false]), [11.0, 12.0, 106.0, 107.0]);
    assert_eq!(at("ExtractGlimpseV2", [1.0, 0.0, 0.0, 0.0], [true, false]), [11.0, 12.0, 107.0, 108.0]);
    for far in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 1e30, -1e30] {
        assert_eq!(at("ExtractGlimpseV2", [far, 0.0, 0.0, far], [true, true]), [0.0; 4]);
    }
}

#[test]
fn noise_lies_within_the_image() {
    for noise in ["uniform", "gaussian"] {
        let found = floats(glimpses("ExtractGlimpse", &[40, 50], [9.0; 4], [true, true], noise));
        for (noise, range) in found.chunks(2000).zip([1.0..=12.0, 101.0..=112.0]) {
            assert!(noise.iter().all(|x| range.contains(x)));
            let mean = noise.iter().sum::<f32>() / 2000.0;
            assert!((mean - (range.start() + range.end()) / 2.0).abs() < 0.5, "{mean}");
        }
        let again = floats(glimpses("ExtractGlimpse", &[40, 50], [9.0; 4], [true, true], noise));
        assert!(found != again);
    }
}

#[test]
fn what_is_refused() {
    let run = |size: &[i32]| glimpses("ExtractGlimpse", size, [0.0; 4], [true, true], "zero");
    assert_eq!(run(&[0, 2]).unwrap().shape().dims(), [2, 0, 2, 1]);
    assert_eq!(message(run(&[-1, 2])), "Expected a non-negative size, got -1");
    assert!(message(run(&[2])).starts_with("input must be a vector of size 2 (height, width)"));
    assert_eq!(run(&[1 << 25, 1 << 25]).unwrap_err().code(), Code::ResourceExhausted);
    assert!(run(&[i32::MAX, i32::MAX]).is_err());
    assert_eq!(
        message(glimpses("ExtractGlimpse", &[1, 1], [0.0; 4], [true, true], "salt")),
        "The noise could only be uniform, gaussian, or zero, got salt"
    );
}
