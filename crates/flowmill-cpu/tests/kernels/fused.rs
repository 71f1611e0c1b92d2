use crate::testing::{Call, bools, ints, strings, ty};
use flowmill_tensor::{DType, Result, Shape, Tensor};

/// Returns values around zero with a long period.
fn tensor(dims: &[usize], seed: usize) -> Tensor {
    let len = Shape::new(dims).num_elements();
    let values: Vec<f32> = (0..len).map(|i| ((i * 7919 + seed * 104_729) % 2003) as f32 / 400.0 - 2.5).collect();
    Tensor::from_slice(Shape::new(dims), &values).unwrap()
}

fn fused_call(args: &[Tensor], pieces: &[i64], program: &[&str], outputs: &[i64]) -> Call {
    Call::new("_FusedElementwise")
        .attr("T", ty(DType::F32))
        .attr("pieces", ints(pieces))
        .attr("program", strings(program))
        .attr("outputs", ints(outputs))
        .inputs(args.to_vec())
        .outputs(outputs.len())
}

fn fused(args: &[Tensor], pieces: &[i64], program: &[&str], outputs: &[i64]) -> Result<Vec<Tensor>> {
    Ok(fused_call(args, pieces, program, outputs).run()?.into_iter().flatten().collect())
}

/// Returns the results of the same ops, run one at a time.
fn separate(args: &[Tensor], pieces: &[i64], program: &[&str], outputs: &[i64]) -> Result<Vec<Tensor>> {
    let mut values = Vec::new();
    for (arg, piece) in args.iter().zip(pieces.chunks(2)) {
        values.push(match *piece {
            [index, count] if count > 1 => {
                let axis = Tensor::scalar(-1i32);
                let split = Call::new("Split").attr("T", ty(DType::F32)).inputs(vec![axis, arg.clone()]).outputs(count as usize);
                split.run()?.remove(index as usize).unwrap()
            }
            _ => arg.clone(),
        });
    }
    for instr in program {
        let mut words = instr.split(' ');
        let op = words.next().unwrap();
        let operands = words.map(|w| values[w.parse::<usize>().unwrap()].clone()).collect();
        values.push(Call::new(op).attr("T", ty(DType::F32)).inputs(operands).run1()?);
    }
    Ok(outputs.iter().map(|&v| values[v as usize].clone()).collect())
}

/// Returns the shape and the bits of the elements. All NaNs have equal bits, because it is unspecified which NaN results from two.
fn bits(t: &Tensor) -> (Shape, Vec<u32>) {
    let bits = |x: &f32| if x.is_nan() { f32::NAN.to_bits() } else { x.to_bits() };
    (t.shape().clone(), t.as_slice::<f32>().unwrap().iter().map(bits).collect())
}

fn check(args: &[Tensor], pieces: &[i64], program: &[&str], outputs: &[i64]) {
    let expected: Vec<_> = separate(args, pieces, program, outputs).unwrap().iter().map(bits).collect();
    for threads in [1, 2, 3] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let actual = pool.install(|| fused(args, pieces, program, outputs)).unwrap();
        let actual: Vec<_> = actual.iter().map(bits).collect();
        assert!(actual == expected, "{program:?} of {args:?} on {threads} threads");
    }
}

const WHOLE: [i64; 2] = [0, 1];

fn whole(n: usize) -> Vec<i64> {
    WHOLE.repeat(n)
}

/// The gates of an LSTM cell compute c and h from the four parts of one product.
#[test]
fn gates_of_a_cell_have_the_bits_of_separate_nodes() {
    let program = ["Add 1 5", "Sigmoid 6", "Mul 4 7", "Sigmoid 0", "Tanh 2", "Mul 9 10", "Add 8 11", "Tanh 12", "Sigmoid 3", "Mul 13 14"];
    for (rows, width) in [(1, 1), (1, 256), (3, 17), (32, 256), (5, 600), (64, 1024)] {
        let gates = tensor(&[rows, 4 * width], 1);
        let args = vec![gates.clone(), gates.clone(), gates.clone(), gates, tensor(&[rows, width], 2), Tensor::scalar(1.0f32)];
        check(&args, &[0, 4, 2, 4, 1, 4, 3, 4, 0, 1, 0, 1], &program, &[15, 12]);
    }
}

#[test]
fn operands_broadcast() {
    let full: [&[usize]; 4] = [&[2, 3, 700], &[5, 1, 64], &[4, 6, 3], &[1, 9]];
    for dims in full {
        let &[.., rows, width] = dims else { continue };
        let mut column = dims.to_vec();
        column[dims.len() - 1] = 1;
        for other in [vec![width], vec![1, width], vec![rows, width], vec![rows, 1], column, vec![1], vec![]] {
            let args = [tensor(dims, 1), tensor(&other, 2), tensor(dims, 3)];
            check(&args, &whole(3), &["Exp 1", "Mul 0 3", "Sub 4 2", "Maximum 5 1"], &[6]);
            check(&args, &whole(3), &["Sqrt 1", "Neg 3", "RealDiv 0 4"], &[5]);
        }
    }
}

/// In a normalisation, the variance is a column, and its root is computed once per row.
#[test]
fn small_values_are_computed_once_and_may_be_results() {
    let args = [tensor(&[7, 96], 1), tensor(&[7, 1], 2), tensor(&[7, 1], 3), tensor(&[96], 4), Tensor::scalar(3.0f32)];
    let program = ["Add 2 4", "Rsqrt 5", "Sub 0 1", "Mul 7 6", "Mul 8 3"];
    check(&args, &whole(5), &program, &[9]);
    check(&args, &whole(5), &program, &[9, 6, 8]);
}

#[test]
fn values_without_a_common_order_are_computed_one_by_one() {
    let args = [tensor(&[6, 4], 1), tensor(&[4, 6], 2), Tensor::scalar(0.5f32)];
    check(&args, &whole(3), &["Mul 0 2", "Mul 1 2", "Tanh 3", "Sigmoid 4"], &[5, 6]);
    // These are outer products of parts, which are narrower than the result.
    let args = [tensor(&[8], 1), tensor(&[3, 1], 2)];
    check(&args, &[1, 4, 0, 1], &["Mul 0 1", "Exp 2"], &[3]);
}

#[test]
fn empty_tensors_and_equal_operands() {
    check(&[tensor(&[0, 4], 1)], &[1, 2], &["Square 0", "Mul 1 1"], &[2]);
    check(&[tensor(&[3, 0], 1), tensor(&[1], 1)], &whole(2), &["Add 0 1", "Relu 2"], &[3]);
    check(&[tensor(&[1100], 1)], &whole(1), &["Mul 0 0", "Mul 1 1", "Add 2 2", "Relu6 3"], &[4]);
    check(&[tensor(&[5, 6], 1), tensor(&[6], 1)], &whole(2), &["BiasAdd 0 1", "Elu 2"], &[3]);
}

#[test]
fn special_values_pass() {
    let specials = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, -0.0, 0.0, f32::MIN_POSITIVE / 2.0, 88.8, -104.0];
    let args = [Tensor::vector(&specials).unwrap(), Tensor::vector(&[1.0f32, -0.0, f32::NAN, 0.0, -1.0, 2.0, 3.0, 4.0]).unwrap()];
    for op in [
        "Abs 0",
        "Ceil 0",
        "Cos 0",
        "Erf 0",
        "Exp 0",
        "Expm1 0",
        "Floor 0",
        "Log 0",
        "Log1p 0",
        "Neg 0",
        "Reciprocal 0",
        "Relu 0",
        "Relu6 0",
        "Rsqrt 0",
        "Selu 0",
        "Sigmoid 0",
        "Sin 0",
        "Softplus 0",
        "Softsign 0",
        "Sqrt 0",
        "Square 0",
        "Tanh 0",
        "Elu 0",
        "Add 0 1",
        "Add 0 1",
        "Div 0 1",
        "Maximum 0 1",
        "Minimum 0 1",
        "Mul 0 1",
        "RealDiv 0 1",
        "SquaredDifference 0 1",
        "Sub 0 1",
    ] {
        check(&args, &whole(2), &[op, "Neg 2"], &[2, 3]);
    }
}

#[test]
fn operands_that_do_not_fit_are_refused_as_by_the_ops() {
    let message =
        |args: &[Tensor], pieces: &[i64], program: &[&str]| fused(args, pieces, program, &[args.len() as i64]).unwrap_err().to_string();
    let (a, b) = (tensor(&[2, 3], 1), tensor(&[4], 1));
    assert!(message(&[a.clone(), b.clone()], &whole(2), &["Mul 0 1"]).contains("Incompatible shapes: [2,3] vs. [4]"));
    assert!(message(&[a.clone(), b.clone()], &whole(2), &["BiasAdd 0 1"]).contains("Must provide as many biases"));
    assert!(message(&[b.clone(), b.clone()], &whole(2), &["BiasAdd 0 1"]).contains("at least 2D"));
    assert!(message(&[a.clone(), a.clone()], &whole(2), &["BiasAdd 0 1"]).contains("Biases must be 1D"));
    assert!(message(&[a], &[0, 2], &["Exp 0"]).contains("evenly divide"));
    assert!(message(&[Tensor::scalar(1.0f32)], &[0, 2], &["Exp 0"]).contains("split_dim"));
}

#[test]
fn malformed_programs_are_refused() {
    let x = [tensor(&[2], 1)];
    let cases: [(&[i64], &[&str], &[i64]); 10] = [
        (&[0, 1], &["Nonsense 0"], &[1]),
        (&[0, 1], &["Exp 1"], &[1]),
        (&[0, 1], &["Exp"], &[1]),
        (&[0, 1], &["Exp 0 0"], &[1]),
        (&[0, 1], &["Mul 0 x"], &[1]),
        (&[0, 1], &["Exp 0"], &[0]),
        (&[0, 1], &["Exp 0"], &[1, 1]),
        (&[0, 1], &["Exp 0"], &[]),
        (&[1, 1], &["Exp 0"], &[1]),
        (&[], &["Exp 0"], &[1]),
    ];
    for (pieces, program, outputs) in cases {
        assert!(fused(&x, pieces, program, outputs).is_err(), "{pieces:?} {program:?} {outputs:?}");
    }
}

#[test]
fn one_kernel_computes_groups_of_other_shapes_than_the_first() {
    // The third argument is smaller, the same size in another shape, or wider than the others; its half is a value of its own, or read in place.
    let (pieces, program, outputs) = ([0, 1, 0, 1, 1, 2], ["Exp 2", "Mul 0 3", "Add 1 4", "Tanh 5", "Sub 6 1"], [5, 7]);
    let args = |shapes: [&[usize]; 3]| -> Vec<Tensor> { shapes.iter().enumerate().map(|(i, shape)| tensor(shape, i)).collect() };
    let calls = [
        args([&[3, 5], &[3, 5], &[10]]),
        args([&[3, 5], &[3, 5], &[3, 10]]),
        args([&[3, 5], &[5], &[1, 10]]),
        args([&[2, 3, 5], &[1], &[3, 10]]),
        args([&[3, 5], &[3, 5], &[10]]),
        args([&[1], &[1, 1], &[4, 10]]),
    ];
    for first in &calls {
        let kernel = fused_call(first, &pieces, &program, &outputs).kernel().unwrap();
        for args in std::iter::once(first).chain(&calls) {
            let results = fused_call(args, &pieces, &program, &outputs).run_with(&kernel).unwrap();
            let expected = separate(args, &pieces, &program, &outputs).unwrap();
            assert!(results.iter().flatten().map(bits).eq(expected.iter().map(bits)), "{args:?} after {first:?}");
        }
        let unequal = args([&[3, 5], &[4, 5], &[10]]);
        assert!(fused_call(&unequal, &pieces, &program, &outputs).run_with(&kernel).is_err());
    }
}

fn reduction_call(args: &[Tensor], axes: &[i64], program: &[&str]) -> Call {
    Call::new("_FusedReduction").attr("T", ty(DType::F32)).attr("axes", ints(axes)).attr("program", strings(program)).inputs(args.to_vec())
}

/// Group norms of images, whose groups have runs of any number of channels; [images, places, groups, run].
#[test]
fn group_norms_of_short_and_long_runs() {
    let program = ["Mean 0", "SquaredDifference 0 4", "Mean 5", "Add 6 1", "Rsqrt 7", "Sub 0 4", "Mul 9 8", "Mul 10 2", "Add 11 3"];
    for dims in [
        [2usize, 6, 3, 2],
        [1, 1600, 6, 2],
        [2, 900, 4, 7],
        [1, 700, 32, 10],
        [3, 81, 5, 64],
        [1, 300, 4, 65],
        [2, 5000, 8, 1],
        [1, 40, 3, 700],
    ] {
        let [_, _, groups, run] = dims;
        let args = [tensor(&dims, 1), Tensor::scalar(1e-3f32), tensor(&[groups, run], 2), tensor(&[groups, run], 3)];
        check_reduction(&args, &[-3, -1], &program);
    }
}

fn fused_reduction(args: &[Tensor], axes: &[i64], program: &[&str]) -> Result<Tensor> {
    reduction_call(args, axes, program).run1()
}

#[test]
fn one_kernel_computes_reductions_of_other_shapes_than_the_first() {
    let program = ["Exp 1", "Add 0 2", "Mean 3", "Sub 3 4"];
    // The last two are not computed by slices: the sum of the arguments has another shape than the first one, and nothing is left to reduce.
    let shapes: [[&[usize]; 2]; 6] =
        [[&[4, 6], &[6]], [&[3, 4, 6], &[1]], [&[4, 6], &[4, 6]], [&[2, 9000], &[9000]], [&[6], &[4, 6]], [&[0, 6], &[6]]];
    let calls: Vec<Vec<Tensor>> = shapes.iter().map(|[a, b]| vec![tensor(a, 1), tensor(b, 2)]).collect();
    for first in &calls {
        let kernel = reduction_call(first, &[-1], &program).kernel().unwrap();
        for args in std::iter::once(first).chain(&calls) {
            let result = reduction_call(args, &[-1], &program).run_with(&kernel).unwrap().remove(0).unwrap();
            assert_eq!(bits(&result), bits(&fused_reduction(args, &[-1], &program).unwrap()), "{args:?} after {first:?}");
            let expected = separate_reductions(args, &[-1], &program).unwrap();
            assert_eq!(result.shape(), expected.shape());
            let pairs = result.as_slice::<f32>().unwrap().iter().zip(expected.as_slice::<f32>().unwrap());
            pairs.for_each(|(a, e)| assert!((a - e).abs() <= 1e-4 * (1.0 + e.abs()), "{a} is not {e}: {args:?} after {first:?}"));
        }
    }
}

/// Returns the result of the same ops, run one at a time.
fn separate_reductions(args: &[Tensor], axes: &[i64], program: &[&str]) -> Result<Tensor> {
    let mut values = args.to_vec();
    for instr in program {
        let mut words = instr.split(' ');
        let op = words.next().unwrap();
        let mut operands: Vec<Tensor> = words.map(|w| values[w.parse::<usize>().unwrap()].clone()).collect();
        let mut call = Call::new(op).attr("T", ty(DType::F32));
        if matches!(op, "Mean" | "Sum" | "Max" | "Min") {
            operands.push(Tensor::vector(&axes.iter().map(|&axis| axis as i32).collect::<Vec<_>>()).unwrap());
            call = call.attr("keep_dims", true);
        }
        values.push(call.inputs(operands).run1()?);
    }
    Ok(values.pop().unwrap())
}

#[track_caller]
fn check_reduction(args: &[Tensor], axes: &[i64], program: &[&str]) {
    let expected = separate_reductions(args, axes, program).unwrap();
    let mut first: Option<Vec<u32>> = None;
    for threads in [1, 2, 3] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let actual = pool.install(|| fused_reduction(args, axes, program)).unwrap();
        assert_eq!(actual.shape(), expected.shape());
        for (i, (a, e)) in actual.as_slice::<f32>().unwrap().iter().zip(expected.as_slice::<f32>().unwrap()).enumerate() {
            let is_close = (a - e).abs() <= 1e-5 + 1e-4 * e.abs() || a.is_nan() && e.is_nan();
            assert!(is_close, "{program:?} of {:?}: element {i} is {a}, not {e}", args[0].shape());
        }
        let bits: Vec<u32> = bits(&actual).1;
        assert!(first.get_or_insert_with(|| bits.clone()) == &bits, "{program:?}: other bits on {threads} threads");
    }
}

/// Rows of any length, in chunks and alone, and whole tensors.
#[test]
fn normalisations_of_rows() {
    let norm = ["Mean 0", "Sub 0 4", "Square 5", "Mean 6", "Add 7 1", "Rsqrt 8", "Mul 5 9", "Mul 10 2", "Add 11 3"];
    let shifted =
        ["Mean 0", "SquaredDifference 0 4", "Mean 5", "Add 6 1", "Rsqrt 7", "Mul 8 2", "Mul 4 9", "Sub 3 10", "Mul 0 9", "Add 12 11"];
    for dims in [&[1usize, 1][..], &[3, 7], &[5, 256], &[2, 3, 31], &[700, 33], &[3, 5000], &[2, 70_000], &[1, 8, 1, 16], &[8193]] {
        let width = *dims.last().unwrap();
        let args = [tensor(dims, 1), Tensor::scalar(0.001f32), tensor(&[width], 2), tensor(&[width], 3)];
        check_reduction(&args, &[-1], &norm);
        check_reduction(&args, &[-1], &shifted);
        check_reduction(&args[..1], &[-1], &["Max 0", "Sub 0 1", "Exp 2", "Sum 3", "RealDiv 3 4"]);
        check_reduction(&args[..2], &[-1], &["Mul 0 0", "Sum 2", "Maximum 3 1", "Rsqrt 4", "Mul 0 5"]);
    }
}

/// Groups of channels, whose elements do not lie side by side, of small and large images.
#[test]
fn normalisations_of_groups() {
    let program =
        ["Mean 0", "SquaredDifference 0 4", "Mean 5", "Add 6 1", "Rsqrt 7", "Mul 8 2", "Mul 4 9", "Sub 3 10", "Mul 0 9", "Add 12 11"];
    for dims in [[1usize, 1, 1, 1, 1], [2, 3, 5, 2, 3], [1, 40, 41, 4, 8], [3, 17, 9, 8, 5], [1, 3, 2, 3, 4000], [2, 1, 300, 3, 20]] {
        let [_, _, _, groups, size] = dims;
        let factors = [1, 1, 1, groups, size];
        let args = [tensor(&dims, 1), Tensor::scalar(0.001f32), tensor(&factors, 2), tensor(&factors[3..], 3)];
        check_reduction(&args, &[-4, -3, -1], &program);
        // An instance norm, and one over all but the first dimension.
        check_reduction(&args, &[-4, -3], &program);
        check_reduction(&args, &[-4, -3, -2, -1], &program);
        check_reduction(&args, &[-2], &program);
    }
}

#[test]
fn reductions_of_empty_tensors_and_special_values() {
    let program = ["Max 0", "Sub 0 1", "Exp 2", "Sum 3", "RealDiv 3 4"];
    check_reduction(&[tensor(&[0, 4], 1)], &[-1], &program);
    check_reduction(&[tensor(&[4, 0], 1)], &[-1], &program);
    let special = Tensor::from_slice([3, 2], &[f32::NAN, 1.0, f32::INFINITY, 0.0, f32::NEG_INFINITY, 3.0]).unwrap();
    check_reduction(&[special], &[-1], &program);
    // What is reduced has fewer elements than the result.
    check_reduction(&[tensor(&[3, 1, 4], 1), tensor(&[5, 4], 2)], &[-1], &["Mean 0", "Sub 0 2", "Add 3 1"]);
}

#[test]
fn programs_of_reductions_are_checked() {
    let x = [tensor(&[2, 3], 1)];
    for (axes, program, message) in [
        (&[-1i64][..], &["Mean 1"][..], "is no instruction"),
        (&[-1], &["Mean"], "is not an element-wise function"),
        (&[-1], &["Prod 0"], "is not an element-wise function"),
        (&[1], &["Mean 0"], "no axis from the end"),
        (&[-1, -1], &["Mean 0"], "no axis from the end"),
        (&[-3], &["Mean 0", "Sub 0 1"], "Invalid reduction dimension"),
        (&[], &["Mean 0"], "neither instructions nor axes"),
        (&[-1], &["Mean 0", "Sub 0"], "operands"),
    ] {
        let error = fused_reduction(&x, axes, program).unwrap_err();
        assert!(error.message().contains(message), "{error}");
    }
}

/// The operands of an attention, in the order [batch, heads, rows, size].
struct Heads {
    batch: usize,
    heads: usize,
    rows: usize,
    keys: usize,
    size: usize,
    columns: usize,
}

fn permuted(tensor: &Tensor, permutation: [i32; 4]) -> Tensor {
    let permutation = Tensor::vector(&permutation).unwrap();
    Call::new("Transpose").attr("T", ty(DType::F32)).attr("Tperm", ty(DType::I32)).inputs(vec![tensor.clone(), permutation]).run1().unwrap()
}

/// Layouts of all operands and the result, masks of several shapes, with blocks of all rows and of some.
#[test]
fn attention_is_that_of_separate_nodes() {
    let all = [
        Heads { batch: 1, heads: 1, rows: 1, keys: 1, size: 1, columns: 1 },
        Heads { batch: 2, heads: 3, rows: 5, keys: 7, size: 4, columns: 6 },
        Heads { batch: 1, heads: 2, rows: 70, keys: 300, size: 33, columns: 17 },
        Heads { batch: 8, heads: 4, rows: 33, keys: 33, size: 32, columns: 32 },
        Heads { batch: 1, heads: 1, rows: 40, keys: 5000, size: 8, columns: 8 },
        Heads { batch: 2, heads: 4, rows: 1, keys: 300, size: 64, columns: 32 },
        Heads { batch: 3, heads: 2, rows: 7, keys: 61, size: 33, columns: 17 },
        Heads { batch: 0, heads: 2, rows: 3, keys: 4, size: 5, columns: 6 },
        Heads { batch: 2, heads: 2, rows: 0, keys: 4, size: 5, columns: 6 },
    ];
    for Heads { batch, heads, rows, keys, size, columns } in all {
        let (q, k, v) =
            (tensor(&[batch, heads, rows, size], 1), tensor(&[batch, heads, keys, size], 2), tensor(&[batch, heads, keys, columns], 3));
        let masks = [tensor(&[batch, 1, 1, keys], 4), tensor(&[rows, keys], 5)];
        let f32_op = |op: &str| Call::new(op).attr("T", ty(DType::F32));
        let mut scores = f32_op("BatchMatMulV2").attr("adj_y", true).inputs(vec![q.clone(), k.clone()]).run1().unwrap();
        for (op, other) in [("Mul", Tensor::scalar(0.25f32)), ("AddV2", masks[0].clone()), ("Sub", masks[1].clone())] {
            scores = f32_op(op).inputs(vec![scores, other]).run1().unwrap();
        }
        let numbers: Vec<f32> = (0..keys).map(|i| f32::from(u8::from(i % 3 != 1))).collect();
        let visible = Tensor::from_slice([keys], &numbers.iter().map(|&x| x != 0.0).collect::<Vec<bool>>()).unwrap();
        scores = f32_op("SelectV2").inputs(vec![visible, scores, Tensor::scalar(-1e9f32)]).run1().unwrap();
        let probabilities = f32_op("Softmax").inputs(vec![scores]).run1().unwrap();
        let expected = f32_op("BatchMatMulV2").inputs(vec![probabilities, v.clone()]).run1().unwrap();
        for (interleaved, key_is_transposed) in
            [([false; 4], false), ([true; 4], false), ([false, true, false, true], false), ([true, false, false, false], true)]
        {
            let swapped = |tensor: &Tensor, is_swapped: bool| if is_swapped { permuted(tensor, [0, 2, 1, 3]) } else { tensor.clone() };
            let key = if key_is_transposed { permuted(&k, [0, 1, 3, 2]) } else { swapped(&k, interleaved[1]) };
            let mut inputs = vec![swapped(&q, interleaved[0]), key, swapped(&v, interleaved[2]), Tensor::scalar(0.25f32)];
            inputs.extend(masks.clone());
            inputs.extend([Tensor::vector(&numbers).unwrap(), Tensor::scalar(-1e9f32)]);
            let expected = swapped(&expected, interleaved[3]);
            let mut first: Option<Vec<u32>> = None;
            for threads in [1, 2, 3] {
                let call = f32_op("_FusedAttention")
                    .attr("program", strings(&["Mul 0 1", "Add 6 2", "Sub 7 3", "SelectV2 4 8 5"]))
                    .attr("interleaved", bools(&interleaved))
                    .attr("key_is_transposed", key_is_transposed)
                    .inputs(inputs.clone());
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                let actual = pool.install(|| call.run1()).unwrap();
                assert_eq!(actual.shape(), expected.shape());
                for (i, (a, e)) in actual.as_slice::<f32>().unwrap().iter().zip(expected.as_slice::<f32>().unwrap()).enumerate() {
                    assert!((a - e).abs() <= 1e-5 + 1e-4 * e.abs(), "{interleaved:?} of {rows} x {keys}: element {i} is {a}, not {e}");
                }
                let bits = bits(&actual).1;
                assert!(first.get_or_insert_with(|| bits.clone()) == &bits, "other bits on {threads} threads");
            }
        }
    }
}

#[test]
fn operands_of_attention_are_checked() {
    let call = |q: &[usize], k: &[usize], v: &[usize], mask: &[usize]| {
        Call::new("_FusedAttention")
            .attr("T", ty(DType::F32))
            .attr("program", strings(&["Add 0 1"]))
            .attr("interleaved", bools(&[false; 4]))
            .inputs(vec![tensor(q, 1), tensor(k, 1), tensor(v, 1), tensor(mask, 1)])
            .run1()
    };
    assert!(call(&[2, 3, 4], &[2, 5, 4], &[2, 5, 6], &[3, 5]).is_ok());
    assert!(call(&[2, 3, 4], &[2, 0, 4], &[2, 0, 6], &[3, 1]).is_ok());
    for (q, k, v, mask) in [
        (&[2usize, 3, 4][..], &[3usize, 5, 4][..], &[2usize, 5, 6][..], &[1usize][..]),
        (&[2, 3, 4], &[2, 5, 3], &[2, 5, 6], &[1]),
        (&[2, 3, 4], &[2, 5, 4], &[2, 4, 6], &[1]),
        (&[2, 3, 4], &[2, 5, 4], &[2, 5, 6], &[7, 2, 3, 5]),
        (&[4], &[4], &[4], &[1]),
    ] {
        let error = call(q, k, v, mask).unwrap_err();
        assert_eq!(error.code(), flowmill_tensor::Code::InvalidArgument, "{error}");
    }
}
