//! Suppression of overlapping boxes, and random parts of images, compared with the results of TensorFlow 2.21.
use crate::testing::{Call, message};
use flowmill_proto::AttrValue;
use flowmill_tensor::{Code, Element, Result, Tensor};

const BOXES: [f32; 8] = [0.1, 0.2, 0.6, 0.7, 0.5, 0.5, 0.9, 0.95];

fn overlaps(n: usize, values: &[f32]) -> Tensor {
    Tensor::from_slice([n, n], values).unwrap()
}

fn select(overlaps: Tensor, scores: &[f32], most: i32, overlap: f32, score: f32) -> Result<Tensor> {
    let limits = [Tensor::scalar(most), Tensor::scalar(overlap), Tensor::scalar(score)];
    Call::new("NonMaxSuppressionWithOverlaps").input(overlaps).input(Tensor::vector(scores)?).inputs(limits.into()).run1()
}

#[test]
fn boxes_by_their_overlaps() {
    let few = [1.0, 0.6, 0.2, 0.6, 1.0, 0.4, 0.2, 0.4, 1.0];
    let (inf, nan) = (f32::INFINITY, f32::NAN);
    let pair = |x: f32| overlaps(3, &[1.0, x, 0.0, x, 1.0, 0.0, 0.0, 0.0, 1.0]);
    for (overlaps, scores, most, overlap, score, selected) in [
        (overlaps(3, &few), [1.0, 2.0, 3.0], 4, 0.5, -inf, &[2, 1][..]),
        (overlaps(3, &few), [1.0, 2.0, 3.0], 1, 0.5, -inf, &[2]),
        (overlaps(3, &few), [1.0, 2.0, 3.0], 0, 0.5, -inf, &[]),
        (overlaps(3, &few), [1.0, 2.0, 3.0], i32::MAX, 0.5, 2.0, &[2]),
        (overlaps(3, &few), [1.0, 2.0, 3.0], 3, 7.0, -inf, &[2, 1, 0]),
        (overlaps(3, &few), [1.0, 2.0, 3.0], 3, -7.0, -inf, &[2]),
        (overlaps(3, &few), [1.0, nan, 3.0], 4, 0.5, -inf, &[2, 0]),
        (overlaps(3, &few), [0.0, -0.0, 0.0], 4, 0.5, -inf, &[0, 2]),
        (overlaps(3, &few), [-0.0, 0.0, 0.0], 4, 0.5, -inf, &[0, 2]),
        (overlaps(3, &few), [inf, inf, -inf], 4, 0.5, -inf, &[0]),
        // A threshold that is NaN suppresses no box, but makes their scores NaN.
        (overlaps(3, &few), [1.0, 2.0, 3.0], 3, nan, -inf, &[2, 0, 1]),
        (overlaps(3, &few), [1.0, 2.0, 3.0], 3, nan, 0.0, &[2]),
        (overlaps(3, &few), [1.0, 2.0, 3.0], 3, 0.5, nan, &[]),
        (pair(nan), [3.0, 2.0, 1.0], 4, 0.5, -inf, &[0, 2, 1]),
        (pair(inf), [3.0, 2.0, 1.0], 4, 0.5, -inf, &[0, 2]),
        (pair(-inf), [3.0, 2.0, 1.0], 4, 0.5, -inf, &[0, 2]),
    ] {
        let what = format!("{scores:?} {most} {overlap} {score}");
        let found = select(overlaps, &scores, most, overlap, score).unwrap();
        assert_eq!(found.as_slice::<i32>().unwrap(), selected, "{what}");
    }
    assert_eq!(select(overlaps(0, &[]), &[], 2, 0.5, 0.0).unwrap().num_elements(), 0);
}

#[test]
fn overlaps_that_do_not_fit() {
    let square = || overlaps(2, &[1.0; 4]);
    let flat = Tensor::vector(&[1.0f32; 2]).unwrap();
    let wide = Tensor::from_slice([1, 2], &[1.0f32; 2]).unwrap();
    for (overlaps, scores, most, phrase) in [
        (flat, 2, 1, "overlaps must be 2-D[2]"),
        (wide, 1, 1, "overlaps must be square[1,2]"),
        (square(), 3, 1, "scores has incompatible shape (Dimensions must be equal, but are 2 and 3)"),
        (square(), 2, -1, "output size must be non-negative"),
    ] {
        let found = message(select(overlaps, &vec![1.0; scores], most, 0.5, 0.0));
        assert!(found.contains(phrase), "{found}");
    }
    for (i, name) in [(2, "max_output_size"), (3, "overlap_threshold"), (4, "score_threshold")] {
        let scalars = [Tensor::scalar(1i32), Tensor::scalar(0.5f32), Tensor::scalar(0.0f32)];
        let mut inputs = vec![square(), Tensor::vector(&[1.0f32; 2]).unwrap()];
        inputs.extend(scalars);
        inputs[i] = if i == 2 { Tensor::vector(&[1i32]).unwrap() } else { Tensor::vector(&[1.0f32]).unwrap() };
        let found = message(Call::new("NonMaxSuppressionWithOverlaps").inputs(inputs).run1());
        assert!(found.contains(&format!("{name} must be 0-D, got shape [1]")), "{found}");
    }
}

/// Returns a call of the first version. The defaults of its attributes are not TensorFlow's.
fn sampler<T: Element>(size: &[T], boxes: &[f32]) -> Call {
    let boxes = Tensor::from_slice([1, boxes.len() / 4, 4], boxes).unwrap();
    Call::new("SampleDistortedBoundingBox")
        .attr("T", crate::testing::ty(T::DTYPE))
        .attr("seed", 3i64)
        .attr("seed2", 5i64)
        .attr("min_object_covered", 0.1f32)
        .attr("aspect_ratio_range", vec![0.75f32, 1.33])
        .attr("area_range", vec![0.05f32, 1.0])
        .attr("max_attempts", 100i64)
        .attr("use_image_if_no_bounding_boxes", false)
        .input(Tensor::vector(size).unwrap())
        .input(boxes)
        .outputs(3)
}

/// The results of a call: begin and size of height and width, and the box.
type Part<T> = ([T; 3], [T; 3], [f32; 4]);

/// Checks three calls of one node.
#[track_caller]
fn check<T: Element>(make: fn() -> Call, expected: [Part<T>; 3]) {
    let kernel = make().kernel().unwrap();
    for (begin, size, corners) in expected {
        let found: Vec<Tensor> = make().run_with(&kernel).unwrap().into_iter().flatten().collect();
        let expected = [Tensor::vector(&begin).unwrap(), Tensor::vector(&size).unwrap(), Tensor::from_slice([1, 1, 4], &corners).unwrap()];
        assert_eq!(found, expected);
    }
}

#[test]
#[rustfmt::skip]
fn random_parts_of_images() {
    check::<i32>(|| sampler(&[100i32, 80, 3], &BOXES), [
        ([10, 13, 0], [57, 56, -1], [0.10000000149011612, 0.16249999403953552, 0.6700000166893005, 0.862500011920929]),
        ([10, 12, 0], [31, 36, -1], [0.10000000149011612, 0.15000000596046448, 0.4099999964237213, 0.6000000238418579]),
        ([7, 1, 0], [61, 78, -1], [0.07000000029802322, 0.012500000186264515, 0.6800000071525574, 0.987500011920929]),
    ]);
    let few = || sampler(&[1000i64, 333, 3], &BOXES).attr("min_object_covered", 0.5f32).attr("aspect_ratio_range", vec![0.3f32, 4.0])
        .attr("area_range", vec![0.2f32, 0.8]).attr("max_attempts", 7i64);
    check::<i64>(few, [
        ([545, 23, 0], [419, 309, -1], [0.5450000166893005, 0.06906907260417938, 0.9639999866485596, 0.9969969987869263]),
        ([203, 56, 0], [471, 269, -1], [0.2029999941587448, 0.16816817224025726, 0.6740000247955322, 0.9759759902954102]),
        ([192, 108, 0], [490, 167, -1], [0.19200000166893005, 0.3243243098258972, 0.6819999814033508, 0.8258258104324341]),
    ]);
    check::<u8>(|| sampler(&[200u8, 250, 1], &BOXES).attr("min_object_covered", 1.0f32).attr("max_attempts", 3i64), [
        ([16, 45, 0], [180, 177, 255], [0.07999999821186066, 0.18000000715255737, 0.9800000190734863, 0.8880000114440918]),
        ([0, 44, 0], [197, 203, 255], [0.0, 0.17599999904632568, 0.9850000143051147, 0.9879999756813049]),
        ([0, 0, 0], [200, 250, 255], [0.0, 0.0, 1.0, 1.0]),
    ]);
    check::<i16>(|| sampler(&[60i16, 70, 1], &BOXES).attr("min_object_covered", 0.0f32).attr("aspect_ratio_range", vec![2.0f32, 0.5]), [
        ([7, 1, 0], [37, 52, -1], [0.11666666716337204, 0.014285714365541935, 0.7333333492279053, 0.7571428418159485]),
        ([14, 32, 0], [19, 18, -1], [0.23333333432674408, 0.4571428596973419, 0.550000011920929, 0.7142857313156128]),
        ([7, 45, 0], [32, 21, -1], [0.11666666716337204, 0.6428571343421936, 0.6499999761581421, 0.9428571462631226]),
    ]);
}

#[test]
fn images_of_no_pixels_and_of_too_many() {
    let sizes = |size: [i32; 3]| sampler(&size, &BOXES).run().unwrap()[1].clone().unwrap();
    assert_eq!(sizes([0, 0, 3]), Tensor::vector(&[0, 0, -1]).unwrap());
    assert_eq!(sizes([1, 1, 3]), Tensor::vector(&[1, 1, -1]).unwrap());
    assert_eq!(sizes([i32::MAX - 1, i32::MAX - 1, 3]), Tensor::vector(&[i32::MAX - 1, i32::MAX - 1, -1]).unwrap());
    assert_eq!(sizes([60000, 70000, 3]), Tensor::vector(&[37862, 37129, -1]).unwrap());
}

#[test]
fn samplers_that_are_refused() {
    let floats = |values: &[f32]| AttrValue::from(values.to_vec());
    let nan = f32::NAN;
    for (attr, value, phrase) in [
        ("min_object_covered", AttrValue::from(-1.0f32), "Min object covered must be non-negative: -1"),
        ("min_object_covered", AttrValue::from(nan), "Min object covered must be non-negative: "),
        ("aspect_ratio_range", floats(&[]), "Aspect ratio range field must specify 2 dimensions"),
        ("aspect_ratio_range", floats(&[nan, 1.0]), "Aspect ratio range must be non-negative: ["),
        ("area_range", floats(&[0.5]), "Area range field must specify 2 dimensions"),
        ("area_range", floats(&[0.0, 1.0]), "Area range must be non-negative: [0, 1]"),
        ("area_range", floats(&[0.5, 1.5]), "Area range must be less then or equal to 1.0: [0.5, 1.5]"),
        ("max_attempts", AttrValue::from(0i64), "Max attempts must be non-negative: 0"),
        ("max_attempts", AttrValue::from(3_000_000_000i64), "Attr max_attempts has value 3000000000 out of range for an int32"),
    ] {
        let error = sampler(&[9i32, 9, 3], &BOXES).attr(attr, value).kernel().err().unwrap();
        assert_eq!(error.code(), Code::InvalidArgument);
        assert!(error.to_string().contains(phrase), "{error}");
    }
    for (call, phrase) in [
        (sampler(&[9i32, 9], &BOXES), "image_size must contain 3 elements[2]"),
        (sampler(&[-1i32, 9, 3], &BOXES), "image height cannot be >= int32 max"),
        (sampler(&[9i64, 1 << 40, 3], &BOXES), "image width cannot be >= int32 max"),
        (sampler(&[9i32, 9, 3], &[0.0, 0.0, nan, 1.0]), "All bounding box coordinates must be in [0.0, 1.0]: "),
        (sampler(&[9i32, 9, 3], &[0.0, 0.0, 1.5, 1.0]), "All bounding box coordinates must be in [0.0, 1.0]: 1.5"),
        (sampler(&[9i32, 9, 3], &[]), "No bounding boxes provided as input."),
    ] {
        let found = message(call.run1());
        assert!(found.contains(phrase), "{found}");
    }
}
