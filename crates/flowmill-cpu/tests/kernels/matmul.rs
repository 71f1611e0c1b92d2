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
        let hoisted = |op: &str, inputs: Vec<Tensor>, axis: i64| {
            let call = Call::new(op).attr("T", ty(dtype)).attr("transpose_b", true);
            if op == "_HoistedMatMul" { call.attr("axis", axis).attr("max_rows", 4i64) } else { call }
                .inputs(inputs)
                .run()
                .map(|found| found.into_iter().flatten().collect::<Vec<Tensor>>())
        };
        let weights = cast(matrix([2, 3], |i| i as f32 - 2.0));
        for (shape, axis, are_products) in
            [([7, 4, 3], 0, true), ([7, 5, 3], 0, false), ([4, 7, 3], 1, true), ([5, 7, 3], 1, false), ([0, 7, 3], 1, true)]
        {
            let parts = cast(matrix([shape[0] * shape[1], 3], |i| (i % 5) as f32).reshaped(shape).unwrap());
            let found = hoisted("_HoistedMatMul", vec![parts.clone(), weights.clone()], axis).unwrap();
            assert_eq!(found[1].to_scalar::<bool>().unwrap(), are_products);
            assert_eq!(found[0].same_data(&parts), !are_products && parts.num_elements() > 0);
            let products = hoisted("_PartMatMul", vec![found[0].clone(), weights.clone(), found[1].clone()], 0).unwrap();
            let call = Call::new("BatchMatMulV2").attr("T", ty(dtype)).attr("adj_x", false).attr("adj_y", true);
            assert_eq!(products[0], call.inputs(vec![parts, weights.clone()]).run1().unwrap());
        }
        let message = |op, inputs, axis| hoisted(op, inputs, axis).unwrap_err().message().to_owned();
        let (row, parts) = (cast(matrix([1, 3], |_| 0f32)), cast(matrix([6, 3], |_| 0f32).reshaped([2, 3, 3]).unwrap()));
        assert!(message("_HoistedMatMul", vec![row.clone(), weights.clone()], 0).contains("have no rows"));
        assert!(message("_HoistedMatMul", vec![parts.clone(), weights.clone()], 2).contains("have no rows"));
        let no_matrix = vec![row.clone(), parts.clone(), Tensor::scalar(false)];
        assert!(message("_PartMatMul", no_matrix, 0).contains("is not a matrix"));
        let wide = vec![row.clone(), cast(matrix([2, 4], |_| 0f32)), Tensor::scalar(false)];
        assert!(message("_PartMatMul", wide, 0).contains("Matrix size-incompatible"));
    }
}
