//! Quantised arithmetic. Expected values are TensorFlow's.

use super::testing::{Call, message, ty};
use flowmill_tensor::{DType, Element, Result, Tensor};

fn quantized<T: Element>(dtype: DType, shape: &[usize], values: &[T]) -> Tensor {
    Tensor::from_slice(shape, values).unwrap().bitcast(dtype).unwrap()
}

fn bytes(shape: &[usize], values: &[u8]) -> Tensor {
    quantized(DType::QU8, shape, values)
}

fn range(min: f32, max: f32) -> Vec<Tensor> {
    vec![Tensor::scalar(min), Tensor::scalar(max)]
}

/// Returns the integers of the first output.
fn integers<T: Element>(outputs: &[Option<Tensor>], plain: DType) -> Vec<T> {
    outputs[0].clone().unwrap().bitcast(plain).unwrap().as_slice::<T>().unwrap().to_vec()
}

fn floats(outputs: &[Option<Tensor>], at: usize) -> f32 {
    outputs[at].as_ref().unwrap().to_scalar().unwrap()
}

fn call(op: &str, inputs: impl IntoIterator<Item = Tensor>) -> Call {
    Call::new(op).inputs(inputs.into_iter().collect())
}

fn binary(op: &str, x: Tensor, y: Tensor) -> Call {
    call(op, [x, y].into_iter().chain(range(-1.0, 1.0)).chain(range(0.0, 2.0))).attr("T1", ty(DType::QU8)).attr("T2", ty(DType::QU8))
}

#[test]
fn products_subtract_what_stands_for_zero() {
    let out = binary("QuantizedMul", bytes(&[3], &[0, 128, 255]), bytes(&[], &[10])).run().unwrap();
    assert_eq!(integers::<i32>(&out, DType::I32), [-1280, 0, 1270]);
    let out = binary("QuantizedMatMul", bytes(&[1, 2], &[130, 120]), bytes(&[2, 2], &[1, 2, 3, 4])).run().unwrap();
    assert_eq!(integers::<i32>(&out, DType::I32), [2 - 3 * 8, 4 - 4 * 8]);
    assert!((floats(&out, 2) - 132_102.05).abs() < 1.0);
}

#[test]
fn sums_broadcast_and_wide_shapes_are_refused() {
    let out = binary("QuantizedAdd", bytes(&[2, 2], &[0, 77, 128, 255]), bytes(&[2], &[3, 200])).run().unwrap();
    assert_eq!(integers::<i32>(&out, DType::I32), [-63_737, 77_099, 2055, 168_591]);
    assert_eq!((floats(&out, 1), floats(&out, 2)), (-32_768.0, 32_768.0));
    // TensorFlow broadcasts only one operand, and reads past the end of these: the expected integers are those of operands of full size.
    let out = binary("QuantizedAdd", bytes(&[2, 1], &[0, 255]), bytes(&[1, 2], &[0, 255])).run().unwrap();
    assert_eq!(out[0].as_ref().unwrap().shape()[..], [2, 2]);
    assert_eq!(integers::<i32>(&out, DType::I32), [-65_279, 65_791, 65_791, 196_861]);
    let none = |shape: &[usize]| bytes(shape, &vec![0; shape.iter().product()]);
    let apart = binary("QuantizedAdd", none(&[1 << 20, 1]), none(&[1, 1 << 20])).run();
    assert!(apart.is_err());
}

#[test]
fn ranges_are_checked() {
    let swapped = |op: &str| {
        let inputs = [bytes(&[1, 1], &[0]), bytes(&[1, 1], &[0])].into_iter().chain(range(1.0, 0.0)).chain(range(0.0, 1.0));
        message(call(op, inputs).attr("T1", ty(DType::QU8)).attr("T2", ty(DType::QU8)).run1())
    };
    assert_eq!(swapped("QuantizedAdd"), "max_x must be larger than min_x.");
    assert_eq!(swapped("QuantizedMul"), "max_x must be larger than min_a.");
    assert_eq!(swapped("QuantizedMatMul"), "max_a must be larger than min_a.");
    let vector = [bytes(&[1], &[0]), Tensor::vector(&[0f32]).unwrap(), Tensor::scalar(1f32)];
    let relu = call("QuantizedRelu", vector).attr("Tinput", ty(DType::QU8)).attr("out_type", ty(DType::QU8));
    assert_eq!(message(relu.run1()), "min_input must be rank 0 but is rank 1");
}

fn conv(input: Tensor, filter: Tensor, of_input: (f32, f32), stride: i64, padding: &str) -> Result<Vec<Option<Tensor>>> {
    let inputs = [input, filter].into_iter().chain(range(of_input.0, of_input.1)).chain(range(0.0, 255.0));
    let strides = super::testing::ints(&[1, stride, stride, 1]);
    let types = [("Tinput", ty(DType::QU8)), ("Tfilter", ty(DType::QU8))];
    call("QuantizedConv2D", inputs).attrs(&types).attr("strides", strides).attr("padding", padding).run()
}

#[test]
fn convolutions_pad_with_the_integer_for_zero() {
    let image = || bytes(&[1, 2, 2, 1], &[1, 2, 3, 4]);
    let ones = || bytes(&[3, 3, 1, 1], &[1; 9]);
    let out = conv(image(), ones(), (0.0, 255.0), 1, "SAME").unwrap();
    assert_eq!(integers::<i32>(&out, DType::I32), [10; 4]);
    // Windows that do not cover the input are centred: here they begin at the second pixel.
    let row: Vec<u8> = (0..12).collect();
    let out = conv(bytes(&[1, 1, 12, 1], &row), bytes(&[1, 1, 1, 1], &[1]), (0.0, 255.0), 4, "VALID").unwrap();
    assert_eq!(integers::<i32>(&out, DType::I32), [1, 5, 9]);
    assert_eq!(
        message(conv(image(), bytes(&[3, 3, 2, 1], &[1; 18]), (0.0, 1.0), 1, "SAME").map(|_| Tensor::scalar(0f32))),
        "input and filter must have the same depth: 1 vs 2"
    );
    let none = conv(bytes(&[0, 2, 2, 1], &[]), ones(), (0.0, 255.0), 1, "SAME");
    assert_eq!(message(none.map(|_| Tensor::scalar(0f32))), "Invalid input: Shapes dimension cannot be 0.");
}

/// Returns a convolution with `SAME` padding, by its definition. The range of the input ends at integers, which have these bytes.
fn defined_conv(image: [usize; 3], filter: [usize; 4], stride: usize, x: &[u8], zero: i32, f: impl Fn(usize) -> i32) -> Vec<i32> {
    let ([height, width, depth], [rows, columns, _, count]) = (image, filter);
    let out = |size: usize| size.div_ceil(stride);
    let before = |size: usize, window: usize| (((out(size) - 1) * stride + window) as i64 - size as i64) / 2;
    // No byte represents the padding of a range above zero.
    let border = if zero < 0 { 0 } else { i32::from(zero as u8) - zero };
    let mut sums = Vec::new();
    for i in 0..out(height) * out(width) * count {
        let (y, x0, o) = (i / count / out(width) * stride, i / count % out(width) * stride, i % count);
        sums.push((0..rows * columns * depth).fold(0, |sum: i32, p| {
            let (dy, dx, c) = (p / depth / columns, p / depth % columns, p % depth);
            let (row, column) = ((y + dy) as i64 - before(height, rows), (x0 + dx) as i64 - before(width, columns));
            let is_inside = (0..height as i64).contains(&row) && (0..width as i64).contains(&column);
            let pixel = if is_inside { i32::from(x[(row as usize * width + column as usize) * depth + c]) - zero } else { border };
            sum.wrapping_add(pixel.wrapping_mul(f(p * count + o)))
        }));
    }
    sums
}

#[test]
fn convolutions_equal_their_definition() {
    let noise = |len: usize, seed: usize| (0..len).map(|i| ((i * 7919 + seed * 31) % 2003 % 256) as u8).collect::<Vec<u8>>();
    for (image, filter, stride) in
        [([7, 9, 5], [3, 3, 5, 18], 1), ([8, 8, 4], [3, 2, 4, 33], 2), ([6, 5, 19], [1, 1, 19, 7], 1), ([30, 31, 16], [5, 5, 16, 20], 1)]
    {
        let (x, f) = (noise(image.iter().product(), 1), noise(filter.iter().product(), 2));
        let pixels = bytes(&[&[1], &image[..]].concat(), &x);
        for (range_of_input, zero) in [((-1.0, 1.0), 128), ((0.0, 1.0), 0), ((1.0, 2.0), -255), ((-2.0, -1.0), 510)] {
            let strides = super::testing::ints(&[1, stride as i64, stride as i64, 1]);
            let run = |weights: Tensor, dtype: DType, of_filter: (f32, f32)| {
                let inputs = [pixels.clone(), weights]
                    .into_iter()
                    .chain(range(range_of_input.0, range_of_input.1))
                    .chain(range(of_filter.0, of_filter.1));
                let attrs = [("Tinput", ty(DType::QU8)), ("Tfilter", ty(dtype))];
                let out =
                    call("QuantizedConv2D", inputs).attrs(&attrs).attr("strides", strides.clone()).attr("padding", "SAME").run().unwrap();
                integers::<i32>(&out, DType::I32)
            };
            let unsigned = run(bytes(&filter, &f), DType::QU8, (-3.0, 0.4));
            assert_eq!(unsigned, defined_conv(image, filter, stride, &x, zero, |i| i32::from(f[i]) - 225), "{image:?} {filter:?} {zero}");
            let with_signs: Vec<i8> = f.iter().map(|&x| x as i8).collect();
            let signed = run(quantized(DType::QI8, &filter, &with_signs), DType::QI8, (-1.0, 1.0));
            assert_eq!(signed, defined_conv(image, filter, stride, &x, zero, |i| i32::from(with_signs[i])), "{image:?} {filter:?} {zero}");
        }
    }
}

#[test]
fn averages_are_cut_off() {
    let pool = |op: &str, input: Tensor, dtype: DType| {
        let attrs = [("T", ty(dtype)), ("ksize", super::testing::ints(&[1, 2, 2, 1])), ("strides", super::testing::ints(&[1, 2, 2, 1]))];
        call(op, [input].into_iter().chain(range(-1.0, 1.0))).attrs(&attrs).attr("padding", "VALID").run().unwrap()
    };
    let out = pool("QuantizedAvgPool", quantized(DType::QI8, &[1, 2, 2, 1], &[-1i8, -1, -1, 0]), DType::QI8);
    assert_eq!(integers::<i8>(&out, DType::I8), [0]);
    let out = pool("QuantizedMaxPool", bytes(&[1, 2, 2, 1], &[3, 200, 7, 0]), DType::QU8);
    assert_eq!(integers::<u8>(&out, DType::U8), [200]);
    assert_eq!((floats(&out, 1), floats(&out, 2)), (-1.0, 1.0));
}

#[test]
fn what_is_joined_gets_one_range() {
    let join = |second: (f32, f32)| {
        let inputs = [Tensor::scalar(0i32), bytes(&[2], &[0, 255]), bytes(&[1], &[255])];
        let ranges = [0.0, second.0, 1.0, second.1].map(Tensor::scalar);
        call("QuantizedConcat", inputs.into_iter().chain(ranges)).attr("T", ty(DType::QU8)).run().unwrap()
    };
    assert_eq!(integers::<u8>(&join((0.0, 1.0)), DType::U8), [0, 255, 255]);
    let out = join((0.0, 2.0));
    assert_eq!(integers::<u8>(&out, DType::U8), [0, 128, 255]);
    assert_eq!((floats(&out, 1), floats(&out, 2)), (0.0, 2.0));
}

#[test]
fn sums_become_bytes_of_the_range_they_use() {
    let sums = || quantized(DType::QI32, &[3], &[-(1i32 << 20), 0, 1 << 20]);
    let types = [("Tinput", ty(DType::QI32)), ("out_type", ty(DType::QU8))];
    let out = call("QuantizeDownAndShrinkRange", [sums()].into_iter().chain(range(-2048.0, 2048.0))).attrs(&types).run().unwrap();
    assert_eq!(integers::<u8>(&out, DType::U8), [0, 127, 255]);
    assert!((floats(&out, 2) - 1.0).abs() < 1e-3 && (floats(&out, 1) + 1.0).abs() < 1e-3);
    let asked = call("Requantize", [sums()].into_iter().chain(range(-2048.0, 2048.0)).chain(range(0.5, 1.0))).attrs(&types);
    assert_eq!(message(asked.run1()), "requested_output_min must be <= 0, but got 0.5");
}
