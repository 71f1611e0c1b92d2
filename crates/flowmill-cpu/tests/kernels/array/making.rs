use super::*;
use crate::testing::run1;
use flowmill_proto::AttrValue;
use flowmill_tensor::{Complex, Shape, TensorArithmetic, Variant, VariantValue, bf16, f16};

#[test]
fn const_and_fill() {
    let value = iota([2, 2]);
    let attrs: [(&str, AttrValue); 2] = [("value", value.to_proto().unwrap().into()), ("dtype", ty(DType::I32))];
    assert_eq!(run1("Const", &attrs, vec![]).unwrap(), value);
    let fill = |dims: Tensor, value: Tensor| call("Fill", value.dtype()).inputs(vec![dims, value]).run1();
    assert_eq!(fill(v(&[2, 2]), Tensor::scalar(1.5f32)).unwrap(), t([2, 2], &[1.5f32; 4]));
    assert_eq!(fill(v(&[1]), Tensor::string("x")).unwrap().as_strings().unwrap(), ["x"]);
    assert_eq!(fill(v(&[]), s(3)).unwrap(), s(3));
    assert_eq!(fill(v(&[2]), v(&[1])).unwrap(), v(&[1, 1]));
    invalid(fill(v(&[-1]), s(1)), "Dimension -1 must be >= 0");
    invalid(fill(t([1, 1], &[2]), s(1)), "dims must represent a vector, got shape [1,1]");
    fails(fill(t([1], &[1i64 << 60]), s(1)), Code::ResourceExhausted, "OOM");
    fails(fill(t([1], &[1i64 << 60]), Tensor::string("x")), Code::ResourceExhausted, "OOM");
    let empty = Call::new("Empty").attr("dtype", ty(DType::F32)).input(v(&[2])).run1().unwrap();
    assert_eq!(empty, t([2], &[0.0f32; 2]));
}

#[derive(Clone)]
struct Counter(i32);

impl VariantValue for Counter {
    fn type_name(&self) -> &'static str {
        "Counter"
    }
    fn zeros_like(&self, _: &dyn TensorArithmetic) -> Result<Variant> {
        Ok(Variant::new(Counter(0)))
    }
    fn add(&self, _: &Variant, _: &dyn TensorArithmetic) -> Result<Variant> {
        Ok(Variant::new(self.clone()))
    }
}

#[test]
fn zeros_and_ones_of_every_type() {
    let zeros = |x: Tensor| call("ZerosLike", x.dtype()).input(x).run1().unwrap();
    assert_eq!(zeros(v(&[1, 2])), v(&[0, 0]));
    assert_eq!(zeros(Tensor::scalar(true)), Tensor::scalar(false));
    assert_eq!(zeros(Tensor::string("a")), Tensor::string(""));
    assert_eq!(zeros(iota([30, 30])), t([30, 30], &[0; 900]));
    let variant = zeros(Tensor::variant(Variant::new(Counter(5))));
    assert_eq!(variant.as_variants().unwrap()[0].get::<Counter>().unwrap().0, 0);
    let ones = |x: Tensor| call("OnesLike", x.dtype()).input(x).run1().unwrap();
    assert_eq!(ones(t([2], &[f16::ZERO; 2])), t([2], &[f16::ONE; 2]));
    assert_eq!(ones(t([1], &[Complex::<f64>::default()])), t([1], &[Complex::new(1.0, 0.0)]));
    assert_eq!(ones(t([1], &[false])), t([1], &[true]));
}

fn range<T: flowmill_tensor::Element>(start: T, limit: T, delta: T) -> Result<Tensor> {
    Call::new("Range").attr("Tidx", ty(T::DTYPE)).inputs([start, limit, delta].map(Tensor::scalar).to_vec()).run1()
}

#[test]
fn range_counts_like_tensorflow() {
    assert_eq!(range(0, 5, 2).unwrap(), v(&[0, 2, 4]));
    assert_eq!(range(5i64, 0, -2).unwrap(), t([3], &[5i64, 3, 1]));
    assert_eq!(range(3, 3, 1).unwrap(), v(&[]));
    assert_eq!(range(bf16::ZERO, bf16::from_f32(4.0), bf16::from_f32(1.5)).unwrap(), t([3], &[0.0, 1.5, 3.0].map(bf16::from_f32)));
    let half = range(f16::ZERO, f16::ONE, f16::from_f32(0.1)).unwrap();
    let want =
        [0.0, 0.0999755859375, 0.199951171875, 0.2998046875, 0.39990234375, 0.5, 0.599609375, 0.69970703125, 0.7998046875, 0.89990234375];
    assert_eq!(half, t([10], &want.map(f16::from_f64)));
    let want = [
        0.30000001192092896,
        0.4000000059604645,
        0.5,
        0.6000000238418579,
        0.7000000476837158,
        0.800000011920929,
        0.9000000357627869,
        1.0,
        1.100000023841858,
        1.2000000476837158,
        1.2999999523162842,
        1.4000000953674316,
        1.5,
        1.6000001430511475,
        1.7000000476837158,
        1.7999999523162842,
        1.9000000953674316,
        2.0,
        2.1000001430511475,
        2.200000047683716,
        2.299999952316284,
        2.4000000953674316f64,
    ];
    assert_eq!(range(0.3f32, 2.5, 0.1).unwrap(), t([22], &want.map(|x| x as f32)));
    let want = [
        1.7000000476837158,
        1.4000000953674316,
        1.100000023841858,
        0.800000011920929,
        0.5,
        0.20000004768371582,
        -0.10000002384185791,
        -0.40000009536743164,
        -0.7000000476837158,
        -1.0,
        -1.2999999523162842f64,
    ];
    assert_eq!(range(1.7f32, -1.5, -0.3).unwrap(), t([11], &want.map(|x| x as f32)));
}

#[test]
fn bad_ranges_are_refused() {
    invalid(range(0, 5, 0), "Requires delta != 0: 0");
    invalid(range(5, 0, 1), "Requires start <= limit when delta > 0: 5/0");
    invalid(range(0, 5, -1), "Requires start >= limit when delta < 0: 0/5");
    invalid(range(0.0f32, f32::INFINITY, 1.0), "Requires ((limit - start) / delta) <= 9223372036854775807");
    assert!(range(0.0f32, f32::NAN, 1.0).is_err());
    fails(range(0i64, 1 << 62, 1), Code::ResourceExhausted, "OOM");
    assert_eq!(range(i64::MIN, i64::MAX, i64::MAX).unwrap().num_elements(), 3);
    let vector = Call::new("Range").attr("Tidx", ty(DType::I32)).inputs(vec![v(&[0, 1]), s(2), s(1)]).run1();
    invalid(vector, "start must be a scalar, not shape [2]");
}

#[test]
fn lin_space_ends_exactly_at_stop() {
    let lin = |start: f32, stop: f32, num: i32| {
        call("LinSpace", DType::F32).inputs(vec![Tensor::scalar(start), Tensor::scalar(stop), s(num)]).run1()
    };
    let want = [
        0.10000000149011612,
        0.19999998807907104,
        0.29999998211860657,
        0.3999999761581421,
        0.4999999701976776,
        0.5999999642372131,
        0.699999988079071f64,
    ];
    assert_eq!(lin(0.1, 0.7, 7).unwrap(), t([7], &want.map(|x| x as f32)));
    assert_eq!(lin(5.0, 1.0, 1).unwrap(), t([1], &[5.0f32]));
    invalid(lin(5.0, 1.0, 0), "Requires num > 0: 0");
}

#[test]
fn one_hot_on_any_axis() {
    let one_hot = |indices: Tensor, depth: i32, axis: i64| {
        call("OneHot", DType::I32).attr("axis", axis).inputs(vec![indices, s(depth), s(7), s(-1)]).run1()
    };
    assert_eq!(one_hot(v(&[0, 5, -1]), 2, -1).unwrap(), t([3, 2], &[7, -1, -1, -1, -1, -1]));
    assert_eq!(one_hot(v(&[0, 1]), 3, 0).unwrap(), t([3, 2], &[7, -1, -1, 7, -1, -1]));
    assert_eq!(one_hot(t([], &[1u8]), 2, -1).unwrap(), v(&[-1, 7]));
    assert_eq!(one_hot(v(&[]), 2, -1).unwrap().shape(), &Shape::from([0, 2]));
    invalid(one_hot(v(&[0]), -1, -1), "depth must be non-negative, got: -1");
    invalid(one_hot(v(&[0]), 2, 2), "Expected axis to be -1 or between [0, 2).  But received: 2");
    let vector = call("OneHot", DType::I32).inputs(vec![v(&[0]), s(2), v(&[1]), s(0)]).run1();
    invalid(vector, "on_value must be a scalar, but got: [1]");
}

#[test]
fn bitcasts_split_and_join_elements() {
    let bitcast = |x: Tensor, to: DType| call("Bitcast", x.dtype()).attr("type", ty(to)).input(x).run1();
    assert_eq!(bitcast(t([2], &[1.0f32, 2.0]), DType::U8).unwrap(), t([2, 4], &[0u8, 0, 128, 63, 0, 0, 0, 64]));
    assert_eq!(bitcast(t([2, 2], &[1, 0, 2, 0]), DType::I64).unwrap(), t([2], &[1i64, 2]));
    assert_eq!(bitcast(t([2], &[1.0f32, 2.0]), DType::I32).unwrap(), v(&[0x3f80_0000, 0x4000_0000]));
    invalid(bitcast(t([1, 3], &[1, 0, 1]), DType::I64), "Cannot bitcast from 3 to 9");
}

#[test]
fn quantize_and_dequantize_rounds_to_the_grid() {
    let q = |attrs: &[(&str, AttrValue)]| {
        let x = t([5], &[-1.0f32, -0.5, 0.3, 0.75, 2.0]);
        let out = call("QuantizeAndDequantizeV4", DType::F32)
            .attrs(attrs)
            .inputs(vec![x, Tensor::scalar(-1.0f32), Tensor::scalar(1.5f32)])
            .run1()?;
        Ok::<_, flowmill_tensor::Error>(out.as_slice::<f32>().unwrap().to_vec())
    };
    let near = |got: Vec<f32>, want: [f64; 5]| assert_eq!(got, want.map(|x| x as f32));
    near(q(&[]).unwrap(), [-1.0078740119934082, -0.5039370059967041, 0.29921260476112366, 0.7559055089950562, 2.0]);
    near(q(&[("num_bits", 4.into())]).unwrap(), [-1.1428571939468384, -0.5714285969734192, 0.2857142984867096, 0.8571429252624512, 2.0]);
    near(
        q(&[("signed_input", false.into())]).unwrap(),
        [-1.003921627998352, -0.501960813999176, 0.2980392277240753, 0.7529412508010864, 2.0],
    );
    near(
        q(&[("round_mode", "HALF_UP".into())]).unwrap(),
        [-0.9921259880065918, -0.5039370059967041, 0.29921260476112366, 0.7559055089950562, 2.0],
    );
    near(
        q(&[("range_given", true.into())]).unwrap(),
        [-1.003937005996704, -0.4960629940032959, 0.29527559876441956, 0.7559055089950562, 1.5],
    );
    invalid(q(&[("num_bits", 64.into())]), "num_bits is out of range: 64 with signed_input_ 1");
    let by_channel = call("QuantizeAndDequantizeV4", DType::F32)
        .attr("axis", 1)
        .inputs(vec![t([2, 2], &[-1.0f32, -0.5, 0.3, 0.75]), Tensor::scalar(0.0f32), Tensor::scalar(0.0f32)])
        .run1();
    assert_eq!(by_channel.unwrap(), t([2, 2], &[-1.0f32, -0.501_968_5, 0.296875, 0.75]));
}

#[test]
fn large_one_hot_tensors_are_filled_block_by_block() {
    let indices: Vec<i32> = (0..60 * 50).map(|i| i * 7919 % 43 - 1).collect();
    for axis in 0..3 {
        let input = Tensor::from_slice([60, 50], &indices).unwrap();
        let hot = call("OneHot", DType::I32).attr("axis", axis).inputs(vec![input, s(40), s(7), s(-1)]).run1().unwrap();
        let suffix = [3000, 50, 1][axis as usize];
        let hot = hot.as_slice::<i32>().unwrap();
        assert_eq!(hot.len(), 60 * 50 * 40);
        for (i, &found) in hot.iter().enumerate() {
            let (outer, depth, inner) = (i / suffix / 40, i / suffix % 40, i % suffix);
            let want = if indices[outer * suffix + inner] == depth as i32 { 7 } else { -1 };
            assert_eq!(found, want, "element {i} along axis {axis}");
        }
    }
}
