use crate::testing::{Call, ty};
use flowmill_tensor::{Code, Complex, DType, Element, Tensor, bf16, f16};

fn cast<S: Element, D: Element>(x: &[S], truncate: bool) -> Vec<D> {
    let call = || Call::new("Cast").attr("SrcT", ty(S::DTYPE)).attr("DstT", ty(D::DTYPE)).attr("Truncate", truncate);
    let out = call().input(Tensor::vector(x).unwrap()).run1().unwrap().as_slice::<D>().unwrap().to_vec();
    for (&x, y) in x.iter().zip(&out) {
        let scalar = call().input(Tensor::scalar(x)).run1().unwrap().to_scalar::<D>().unwrap();
        assert_eq!(format!("{scalar:?}"), format!("{y:?}"));
    }
    out
}

const ODD: [f32; 12] = [f32::NAN, f32::INFINITY, -f32::INFINITY, 1e10, -1e10, 300.7, -5.9, -0.5, 2147483648.0, 9.223372e18, 3e9, 70000.0];

#[test]
fn floats_to_integers_as_x86_does() {
    let low = i32::MIN;
    assert_eq!(cast::<f32, i32>(&ODD, false), [low, low, low, low, low, 300, -5, 0, low, low, low, 70000]);
    assert_eq!(cast::<f32, i8>(&ODD, false), [0, 0, 0, 0, 0, 44, -5, 0, 0, 0, 0, 112]);
    assert_eq!(cast::<f32, u16>(&ODD, false), [0, 0, 0, 0, 0, 300, 65531, 0, 0, 0, 0, 4464]);
    assert_eq!(cast::<f32, u32>(&ODD, false), [0, 0, 0, 1410065408, 2884901888, 300, 4294967291, 0, 2147483648, 0, 3000000000, 70000]);
    let low = i64::MIN;
    assert_eq!(cast::<f32, i64>(&ODD, false), [low, low, low, 10000000000, -10000000000, 300, -5, 0, 2147483648, low, 3000000000, 70000]);
    let half = 1u64 << 63;
    assert_eq!(
        cast::<f32, u64>(&ODD, false),
        [half, half, half, 10000000000, 18446744063709551616, 300, 18446744073709551611, 0, 2147483648, half, 3000000000, 70000]
    );
    assert_eq!(cast::<f64, i32>(&[-2147483648.9, 2147483647.9], false), [i32::MIN, i32::MAX]);
    assert_eq!(cast::<f32, bool>(&[f32::NAN, 0.0, -0.0, 0.1], false), [true, false, false, true]);
}

#[test]
fn integers_keep_their_low_bits() {
    assert_eq!(cast::<i32, u8>(&[300, -1, i32::MAX], false), [44, 255, 255]);
    assert_eq!(cast::<u64, f32>(&[(1 << 63) + 1025, (1 << 24) + 1], false), [9.223372e18, 16777216.0]);
    assert_eq!(cast::<i32, f16>(&[i32::MAX], false), [f16::INFINITY]);
    assert_eq!(cast::<bool, f64>(&[true, false], false), [1.0, 0.0]);
    assert_eq!(cast::<u32, i32>(&[u32::MAX], false), [-1]);
}

#[test]
fn complex_numbers_lose_their_imaginary_part() {
    let z = [Complex::new(1f32, 2.0), Complex::new(0.0, 1.0)];
    assert_eq!(cast::<_, f32>(&z, false), [1.0, 0.0]);
    assert_eq!(cast::<_, bool>(&z, false), [true, false]);
    assert_eq!(cast::<_, Complex<f64>>(&z, false), [Complex::new(1.0, 2.0), Complex::new(0.0, 1.0)]);
    assert_eq!(cast::<i32, Complex<f64>>(&[3], false), [Complex::new(3.0, 0.0)]);
}

#[test]
fn narrow_floats_round_to_even_or_truncate() {
    assert_eq!(cast::<f32, bf16>(&[1.00390625, 1.01171875], false), [1.0, 1.015625].map(bf16::from_f32));
    assert_eq!(cast::<f32, bf16>(&[1.01171875, 65520.0], true), [1.0078125, 65280.0].map(bf16::from_f32));
    assert_eq!(cast::<f64, f16>(&[65520.0], false), [f16::INFINITY]);
    assert_eq!(cast::<f32, f16>(&[65520.0, 1e30], true), [f16::from_f32(65504.0), f16::INFINITY]);
    assert_eq!(cast::<f64, f32>(&[1.1, 1e300], true), [1.0999999, f32::INFINITY]);
}

#[test]
fn every_pair_of_types_casts_one() {
    let all = [
        DType::F32,
        DType::F64,
        DType::F16,
        DType::BF16,
        DType::I8,
        DType::I16,
        DType::I32,
        DType::I64,
        DType::U8,
        DType::U16,
        DType::U32,
        DType::U64,
        DType::Bool,
        DType::C64,
        DType::C128,
    ];
    let convert = |x: Tensor, to: DType| Call::new("Cast").attr("SrcT", ty(x.dtype())).attr("DstT", ty(to)).input(x).run1().unwrap();
    for from in all {
        for to in all {
            let one = convert(Tensor::vector(&[1f32, 0.0]).unwrap(), from);
            let back = convert(convert(one, to), DType::F32);
            assert_eq!(back.as_slice::<f32>().unwrap(), [1.0, 0.0], "{from} to {to}");
        }
    }
}

#[test]
fn strings_cannot_be_cast() {
    let error =
        Call::new("Cast").attr("SrcT", ty(DType::String)).attr("DstT", ty(DType::I32)).input(Tensor::string("1")).run().unwrap_err();
    assert_eq!(error.code(), Code::Unimplemented);
    assert!(error.message().contains("Cast string to int32 is not supported"));
}
