use crate::testing::{Call, ty};
use flowmill_tensor::{DType, Element, Result, Shape, Tensor};

fn numbers<T: Element>(dims: &[usize], f: impl Fn(usize) -> T) -> Tensor {
    let shape = Shape::new(dims);
    let values: Vec<T> = (0..shape.num_elements()).map(f).collect();
    Tensor::from_slice(shape, &values).unwrap()
}

/// The grid of 8 bits in the range from -0.1 to 10.
const SCALE: f32 = (10.0 + 0.1) / 255.0;
const ZERO: i64 = 3;

fn to_bytes(x: &Tensor, divides: bool) -> Result<Tensor> {
    Call::new("_ToBytes")
        .attr("min", -3.0 * SCALE)
        .attr("max", 252.0 * SCALE)
        .attr("scale", SCALE)
        .attr("inverse", 255.0f32 / (10.0 + 0.1))
        .attr("zero", ZERO)
        .attr("divides", divides)
        .inputs(vec![x.clone()])
        .run1()
}

#[test]
fn bytes_stand_for_the_values_of_fake_quantisation() {
    let x = numbers(&[50_000], |i| (i as f32 * 0.37).sin() * 12.0);
    let range = [-0.1f32, 10.0].map(Tensor::scalar);
    for divides in [true, false] {
        let want = match divides {
            true => Call::new("FakeQuantWithMinMaxVars").inputs(vec![x.clone(), range[0].clone(), range[1].clone()]).run1(),
            false => Call::new("FakeQuantWithMinMaxArgs").attr("min", -0.1f32).attr("max", 10.0f32).inputs(vec![x.clone()]).run1(),
        };
        let bytes = to_bytes(&x, divides).unwrap();
        let back = Call::new("_FromBytes").attr("scale", SCALE).attr("zero", ZERO).inputs(vec![bytes]).run1().unwrap();
        assert_eq!(back.as_slice::<f32>().unwrap(), want.unwrap().as_slice::<f32>().unwrap(), "divides: {divides}");
    }
}

fn layer(op: &str, result: DType, inputs: Vec<Tensor>) -> Result<Tensor> {
    let (low, high) = if result == DType::U8 { (5.0f32, 240.0f32) } else { (f32::NEG_INFINITY, f32::INFINITY) };
    let call = Call::new(op).attr("T", ty(result)).attr("zero", ZERO).attr("low", low).attr("high", high);
    let call = if op == "_IntegerMatMul" { call } else { call.attr("strides", vec![1i64; 4]).attr("padding", "SAME") };
    call.inputs(inputs).run1()
}

fn inputs(image: &[usize], filter: &[usize], channels: usize) -> Vec<Tensor> {
    vec![
        numbers(image, |i| (i * 7919 % 251) as u8),
        numbers(filter, |i| (i * 131 % 255) as i16 - 127),
        numbers(&[channels], |i| 0.001 * (i + 1) as f32),
        numbers(&[channels], |i| 100.5 + i as f32),
    ]
}

#[test]
fn layers_are_those_of_float_rounded() {
    for (op, float, image, filter, channels) in [
        ("_IntegerConv2D", "Conv2D", &[2, 6, 5, 8][..], &[3, 3, 8, 10][..], 10),
        ("_IntegerConv2D", "Conv2D", &[1, 4, 4, 20], &[1, 1, 20, 33], 33),
        ("_IntegerDepthwiseConv2d", "DepthwiseConv2dNative", &[2, 7, 5, 37], &[3, 3, 37, 1], 37),
        ("_IntegerMatMul", "MatMul", &[5, 40], &[40, 12], 12),
    ] {
        let inputs = inputs(image, filter, channels);
        let x = numbers(image, |i| f32::from(inputs[0].as_slice::<u8>().unwrap()[i]) - ZERO as f32);
        let w = numbers(filter, |i| f32::from(inputs[1].as_slice::<i16>().unwrap()[i]));
        let call = Call::new(float).attr("T", ty(DType::F32));
        let call = if float == "MatMul" { call } else { call.attr("strides", vec![1i64; 4]).attr("padding", "SAME") };
        let sums = call.inputs(vec![x, w]).run1().unwrap();
        let (factor, bias) = (inputs[2].as_slice::<f32>().unwrap(), inputs[3].as_slice::<f32>().unwrap());
        // The sums are integers below 2^24, which `float32` adds up exactly.
        let scaled = |(i, sum): (usize, &f32)| sum * factor[i % channels] + bias[i % channels];
        let want: Vec<f32> = sums.as_slice::<f32>().unwrap().iter().enumerate().map(scaled).collect();
        let floats = layer(op, DType::F32, inputs.clone()).unwrap();
        assert_eq!((floats.shape(), floats.as_slice::<f32>().unwrap()), (sums.shape(), &want[..]), "{op}");
        let bytes: Vec<u8> = want.iter().map(|x| x.clamp(5.0, 240.0) as u8).collect();
        assert_eq!(layer(op, DType::U8, inputs).unwrap().as_slice::<u8>().unwrap(), bytes, "{op}");
    }
}

#[test]
fn bytes_are_added_within_limits() {
    let add = |zeros: Vec<i64>, high: f32, b: &[usize]| {
        let call = Call::new("_AddBytes").attr("zeros", zeros).attr("factors", vec![0.5f32, 0.25]);
        let call = call.attr("bias", 10.5f32).attr("low", 0.0f32).attr("high", high);
        call.inputs(vec![numbers(&[3], |i| [3u8, 13, 255][i]), numbers(b, |i| [4u8, 0, 255][i % 3])]).run1()
    };
    assert_eq!(add(vec![3, 4], 200.0, &[3]).unwrap().as_slice::<u8>().unwrap(), [10, 14, 199]);
    assert!(add(vec![3, 4], 256.0, &[3]).is_err() && add(vec![3, 400], 200.0, &[3]).is_err());
    assert!(add(vec![3], 200.0, &[3]).is_err() && add(vec![3, 4], 200.0, &[4]).is_err());
}

#[test]
fn layers_refuse_what_does_not_fit() {
    let good = inputs(&[1, 4, 4, 8], &[3, 3, 8, 10], 10);
    assert!(layer("_IntegerConv2D", DType::U8, good.clone()).is_ok());
    for (i, bad) in [
        (0, numbers(&[1, 4, 4, 9], |_| 1u8)),
        (0, numbers(&[4, 4, 8], |_| 1u8)),
        (1, numbers(&[3, 3, 8, 10], |_| 256i16)),
        (2, numbers(&[9], |_| 1.0f32)),
        (3, numbers(&[1, 10], |_| 1.0f32)),
    ] {
        let mut inputs = good.clone();
        inputs[i] = bad;
        assert!(layer("_IntegerConv2D", DType::U8, inputs).is_err(), "input {i}");
    }
    assert!(layer("_IntegerDepthwiseConv2d", DType::U8, good).is_err());
    assert!(layer("_IntegerMatMul", DType::U8, inputs(&[2, 3], &[4, 5], 5)).is_err());
    assert!(to_bytes(&numbers(&[2], |_| 1u8), true).is_err());
}
