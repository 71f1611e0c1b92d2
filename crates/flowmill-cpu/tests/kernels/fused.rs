use crate::testing::{Call, ints, strings, ty};
use flowmill_tensor::{DType, Result, Shape, Tensor};

/// Returns values around zero with a long period.
fn tensor(dims: &[usize], seed: usize) -> Tensor {
    let len = Shape::new(dims).num_elements();
    let values: Vec<f32> = (0..len).map(|i| ((i * 7919 + seed * 104_729) % 2003) as f32 / 400.0 - 2.5).collect();
    Tensor::from_slice(Shape::new(dims), &values).unwrap()
}

fn fused(args: &[Tensor], pieces: &[i64], program: &[&str], outputs: &[i64]) -> Result<Vec<Tensor>> {
    let results = Call::new("_FusedElementwise")
        .attr("T", ty(DType::F32))
        .attr("pieces", ints(pieces))
        .attr("program", strings(program))
        .attr("outputs", ints(outputs))
        .inputs(args.to_vec())
        .outputs(outputs.len())
        .run()?;
    Ok(results.into_iter().flatten().collect())
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
