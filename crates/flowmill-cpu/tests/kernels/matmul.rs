use crate::testing::{Call, strings, ty};
use flowmill_tensor::{Complex, DType, Element, Result, Tensor, bf16};

fn matrix<T: Element>(dims: [usize; 2], f: impl Fn(usize) -> T) -> Tensor {
    Tensor::from_slice(dims, &(0..dims[0] * dims[1]).map(f).collect::<Vec<_>>()).unwrap()
}

fn matmul(a: Tensor, b: Tensor, transpose: [bool; 2]) -> Result<Tensor> {
    Call::new("MatMul")
        .attr("T", ty(a.dtype()))
        .attr("transpose_a", transpose[0])
        .attr("transpose_b", transpose[1])
        .inputs(vec![a, b])
        .run1()
}

#[test]
fn every_transposition_and_type() {
    let expected = [7, 10, 15, 22];
    let (plain, swapped) = (|i: usize| i as i32 + 1, |i: usize| [1, 3, 2, 4][i]);
    for transpose in [[false, false], [true, false], [false, true], [true, true]] {
        let pick = |t: bool| if t { matrix([2, 2], swapped) } else { matrix([2, 2], plain) };
        let c = matmul(pick(transpose[0]), pick(transpose[1]), transpose).unwrap();
        assert_eq!(c.as_slice::<i32>().unwrap(), expected, "{transpose:?}");
        let float = |t: bool| matrix([2, 2], |i| if t { swapped(i) } else { plain(i) } as f32);
        let c = matmul(float(transpose[0]), float(transpose[1]), transpose).unwrap();
        assert_eq!(c.as_slice::<f32>().unwrap(), expected.map(|x| x as f32), "{transpose:?}");
    }
    let complex = matmul(matrix([1, 1], |_| Complex::new(1f64, 2.0)), matrix([1, 1], |_| Complex::new(3.0, 1.0)), [false; 2]).unwrap();
    assert_eq!(complex.as_slice::<Complex<f64>>().unwrap(), [Complex::new(1.0, 7.0)]);
    let half = matmul(matrix([1, 300], |_| bf16::from_f32(1.0)), matrix([300, 1], |_| bf16::from_f32(1.0)), [false; 2]).unwrap();
    assert_eq!(half.as_slice::<bf16>().unwrap(), [bf16::from_f32(300.0)]);
}

#[test]
fn sizes_are_checked() {
    let zeros = |dims: &[usize]| Tensor::zeros(DType::F32, dims).unwrap();
    let error = matmul(zeros(&[2, 3]), zeros(&[2, 3]), [false; 2]).unwrap_err();
    assert!(error.message().contains("Matrix size-incompatible: In[0]: [2,3], In[1]: [2,3]"), "{error}");
    assert!(matmul(zeros(&[2]), zeros(&[2, 3]), [false; 2]).unwrap_err().message().contains("In[0] ndims must be >= 2"));
    assert_eq!(matmul(zeros(&[2, 0]), zeros(&[0, 3]), [false; 2]).unwrap().as_slice::<f32>().unwrap(), [0.0; 6]);
    assert_eq!(matmul(zeros(&[0, 2]), zeros(&[2, 3]), [false; 2]).unwrap().shape().dims(), [0, 3]);
}

#[test]
fn a_right_hand_side_is_followed_when_it_changes() {
    let call = |b: &Tensor| Call::new("MatMul").attr("T", ty(DType::F32)).inputs(vec![matrix([2, 32], |i| i as f32), b.clone()]);
    let weights = [matrix([32, 32], |i| (i % 7) as f32), matrix([32, 32], |i| (i % 5) as f32)];
    let expected: Vec<Tensor> = weights.iter().map(|b| call(b).run1().unwrap()).collect();
    let kernel = call(&weights[0]).kernel().unwrap();
    for i in [0, 0, 0, 1, 1, 0, 1, 0, 1, 0, 1, 0, 0] {
        let c = call(&weights[i]).run_with(&kernel).unwrap()[0].take_slice();
        assert_eq!(c, expected[i].as_slice::<f32>().unwrap());
    }
}

trait TakeSlice {
    fn take_slice(&self) -> Vec<f32>;
}
impl TakeSlice for Option<Tensor> {
    fn take_slice(&self) -> Vec<f32> {
        self.as_ref().unwrap().as_slice::<f32>().unwrap().to_vec()
    }
}

#[test]
fn fusions() {
    let fused = |ops: &[&str], args: Vec<Tensor>| {
        let call = Call::new("_FusedMatMul").attr("T", ty(DType::F32)).attr("fused_ops", strings(ops));
        Ok::<_, flowmill_tensor::Error>(
            call.inputs(vec![matrix([2, 3], |i| i as f32 - 2.0), matrix([3, 2], |i| i as f32)])
                .inputs(args)
                .run1()?
                .as_slice::<f32>()?
                .to_vec(),
        )
    };
    // The product is [-2, -5; 16, 22].
    let bias = || Tensor::vector(&[1f32, 10.0]).unwrap();
    assert_eq!(fused(&["BiasAdd"], vec![bias()]).unwrap(), [-1.0, 5.0, 17.0, 32.0]);
    assert_eq!(fused(&["BiasAdd", "Relu6"], vec![bias()]).unwrap(), [0.0, 5.0, 6.0, 6.0]);
    assert_eq!(fused(&["BiasAdd", "Add", "Relu"], vec![bias(), matrix([2, 2], |_| 1f32)]).unwrap(), [0.0, 6.0, 18.0, 33.0]);
    let tanh = fused(&["BiasAdd", "Tanh"], vec![bias()]).unwrap();
    assert!((tanh[0] + 0.761_594_2).abs() < 1e-6);
    assert!(fused(&["BiasAdd"], vec![Tensor::vector(&[1f32]).unwrap()]).is_err());
    assert!(fused(&["Relu", "BiasAdd"], vec![bias()]).unwrap_err().message().contains("Fusion is not implemented"));
}

#[test]
fn a_product_that_accumulates_continues_each_sum() {
    let fused = |ops: &[&str], a: Tensor, b: Tensor, args: Vec<Tensor>, transposed: (bool, bool)| {
        let call = Call::new("_FusedMatMul").attr("T", ty(DType::F32)).attr("fused_ops", strings(ops));
        let call = call.attr("transpose_a", transposed.0).attr("transpose_b", transposed.1);
        call.inputs(vec![a, b]).inputs(args).run1()
    };
    let bits = |t: Tensor| t.as_slice::<f32>().unwrap().iter().map(|x| x.to_bits()).collect::<Vec<_>>();
    let value = |i: usize| ((i * 7919) % 1013) as f32 / 300.0 - 1.7;
    let (first, second, columns) = (37, 600, 70);
    for rows in [1, 3, 40] {
        // The rows of both parts side by side, and the parts alone.
        let whole = matrix([rows, first + second], value);
        let part =
            |from: usize, to: usize| matrix([rows, to - from], |i| value(i / (to - from) * (first + second) + from + i % (to - from)));
        let weights = |from: usize, to: usize| matrix([to - from, columns], |i| value(3 * (from * columns + i)));
        let bias = Tensor::from_slice([columns], &(0..columns).map(value).collect::<Vec<_>>()).unwrap();
        let expected = fused(&["BiasAdd"], whole, weights(0, first + second), vec![bias.clone()], (false, false)).unwrap();
        let start = fused(&[], part(0, first), weights(0, first), vec![], (false, false)).unwrap();
        let args = vec![start, bias];
        let found = fused(&["Accumulate", "BiasAdd"], part(first, first + second), weights(first, first + second), args, (false, false));
        assert_eq!(bits(found.unwrap()), bits(expected), "{rows} rows");
    }
    let (a, b, start) = (matrix([2, 2], |i| i as f32), matrix([2, 2], |i| i as f32 + 1.0), matrix([2, 2], |_| 10f32));
    // [0, 2; 1, 3] times [1, 3; 2, 4].
    let found = fused(&["Accumulate"], a.clone(), b.clone(), vec![start], (true, true)).unwrap();
    assert_eq!(found.as_slice::<f32>().unwrap(), [14.0, 18.0, 17.0, 25.0]);
    let message = |ops: &[&str], args| fused(ops, a.clone(), b.clone(), args, (false, false)).unwrap_err().message().to_owned();
    assert!(message(&["Accumulate"], vec![matrix([1, 2], |_| 0f32)]).contains("[2,2]"));
    assert!(message(&["Relu", "Accumulate"], vec![matrix([2, 2], |_| 0f32)]).contains("Fusion is not implemented"));
}

#[test]
fn parts_of_few_rows_are_multiplied_at_once_and_others_one_by_one() {
    for dtype in [DType::F16, DType::BF16, DType::F32, DType::F64] {
        let cast = |t: Tensor| Call::new("Cast").attr("SrcT", ty(DType::F32)).attr("DstT", ty(dtype)).inputs(vec![t]).run1().unwrap();
        let run = |op: &str, inputs: Vec<Tensor>, attrs: &[(&str, i64)]| {
            let call = Call::new(op).attr("T", ty(dtype)).attr("transpose_b", true);
            attrs.iter().fold(call, |call, &(name, value)| call.attr(name, value)).inputs(inputs).run1()
        };
        let hoisted = |parts: &Tensor, weights: &Tensor, axis: i64| {
            run("_HoistedMatMul", vec![parts.clone(), weights.clone()], &[("axis", axis), ("max_rows", 4)])
        };
        let weights = cast(matrix([2, 3], |i| i as f32 - 2.0));
        let cases = [([7, 4, 3], 0, true), ([7, 5, 3], 0, false), ([4, 7, 3], 1, true), ([5, 7, 3], 1, false), ([0, 7, 3], 1, true)];
        for (shape, axis, are_products) in cases {
            let parts = cast(matrix([shape[0] * shape[1], 3], |i| (i % 5) as f32).reshaped(shape).unwrap());
            let call = Call::new("BatchMatMulV2").attr("T", ty(dtype)).attr("adj_x", false).attr("adj_y", true);
            let products = call.inputs(vec![parts.clone(), weights.clone()]).run1().unwrap();
            let found = hoisted(&parts, &weights, axis).unwrap();
            if are_products {
                assert_eq!(found, products);
            } else {
                assert_eq!(*found.shape().dims(), [shape[0], shape[1], 1, 3]);
                assert_eq!(found.clone().reshaped(shape).unwrap(), parts);
            }
            assert_eq!(run("_PartMatMul", vec![found, weights.clone()], &[("rank", 3)]).unwrap(), products);
        }
        let zeros = |shape: &[usize]| cast(matrix([shape.iter().product(), 1], |_| 0f32).reshaped(shape.to_vec()).unwrap());
        for (shape, axis) in [(&[1, 3][..], 0), (&[2, 3, 3], 2), (&[2, 3, 3], -1)] {
            assert!(hoisted(&zeros(shape), &weights, axis).unwrap_err().message().contains("have no rows"));
        }
        let message = |part: &[usize], matrix: &[usize]| {
            run("_PartMatMul", vec![zeros(part), zeros(matrix)], &[("rank", 2)]).unwrap_err().message().to_owned()
        };
        assert!(message(&[1, 1, 3], &[1, 2, 3]).contains("is not a matrix"));
        assert!(message(&[1, 1, 3], &[2, 4]).contains("Matrix size-incompatible"));
        assert!(message(&[3], &[2, 3]).contains("neither a product of rank 2"));
        assert!(message(&[1, 2, 3], &[2, 3]).contains("neither a product of rank 2"));
    }
}

#[test]
fn a_part_beside_the_operand_may_be_a_product_already() {
    let value = |i: usize| ((i * 7919) % 1013) as f32 / 300.0 - 1.7;
    for (rows, left, right, columns, transposed) in
        [(1, 37, 600, 70, false), (5, 3, 4, 2, true), (40, 100, 9, 33, false), (0, 3, 4, 2, false)]
    {
        let (part, a) = (matrix([rows, left], value), matrix([rows, right], |i| value(i + 5)));
        let (b, bt) = (
            matrix([left + right, columns], |i| value(3 * i)),
            matrix([columns, left + right], |i| value(3 * (i % (left + right) * columns + i / (left + right)))),
        );
        let fused = |start: Tensor, args: &[Tensor], a: &Tensor, b: &Tensor| {
            let call =
                Call::new("_FusedMatMul").attr("T", ty(DType::F32)).attr("fused_ops", strings(&["AccumulatePart", "BiasAdd", "Relu"]));
            call.attr("transpose_b", transposed).inputs(vec![a.clone(), b.clone(), start]).inputs(args.to_vec()).run1()
        };
        let bias = Tensor::from_slice([columns], &(0..columns).map(value).collect::<Vec<_>>()).unwrap();
        let joined = Call::new("ConcatV2").attr("T", ty(DType::F32)).attr("N", 2i64).attr("Tidx", ty(DType::I32));
        let joined = joined.inputs(vec![part.clone(), a.clone(), Tensor::scalar(1i32)]).run1().unwrap();
        let call = Call::new("_FusedMatMul").attr("T", ty(DType::F32)).attr("fused_ops", strings(&["BiasAdd", "Relu"]));
        let expected = call.inputs(vec![joined, b.clone(), bias.clone()]).run1().unwrap();
        let first = matrix([left, columns], |i| value(3 * i));
        let product = Call::new("MatMul").attr("T", ty(DType::F32)).inputs(vec![part.clone(), first]).run1().unwrap();
        let weights = if transposed { &bt } else { &b };
        let args = [bias];
        assert_eq!(fused(product, &args, &a, weights).unwrap(), expected, "{rows} rows of a product");
        assert_eq!(fused(part.reshaped([rows, 1, left]).unwrap(), &args, &a, weights).unwrap(), expected, "{rows} rows of a part");
        let message = |start: Tensor, b: &Tensor| fused(start, &args, &a, b).unwrap_err().message().to_owned();
        let zeros = |shape: &[usize]| matrix([shape.iter().product(), 1], |_| 0f32).reshaped(shape.to_vec()).unwrap();
        assert!(message(zeros(&[rows, columns + 1]), weights).contains("to add to"));
        assert!(message(zeros(&[rows, 1, left + 1]), weights).contains("needs a part of shape"));
        assert!(message(zeros(&[rows, 2, left]), weights).contains("needs a part of shape"));
        assert!(message(zeros(&[rows, 1, left]), &zeros(&[1, 1])).contains("Matrix size-incompatible"));
        assert!(message(zeros(&[rows, 1, left]), &zeros(&[1])).contains("needs matrices"));
    }
}
