//! Solutions of linear systems, inverses, determinants and Cholesky factors, compared with products of the results.
use crate::testing::{Call, message, ty};
use flowmill_tensor::{Complex, DType, Result, Tensor, f16};

type Wide = Complex<f64>;

const TYPES: [DType; 5] = [DType::F16, DType::F32, DType::F64, DType::C64, DType::C128];
/// Sizes on both sides of the lengths of the inner loops.
const SIZES: [usize; 9] = [1, 2, 7, 8, 9, 31, 32, 33, 70];

fn tensor(dtype: DType, dims: &[usize], values: &[Wide]) -> Tensor {
    let real = || values.iter().map(|v| v.re);
    match dtype {
        DType::F16 => Tensor::from_slice(dims, &real().map(|v| f16::from_f32(v as f32)).collect::<Vec<_>>()),
        DType::F32 => Tensor::from_slice(dims, &real().map(|v| v as f32).collect::<Vec<_>>()),
        DType::F64 => Tensor::from_slice(dims, &real().collect::<Vec<_>>()),
        DType::C64 => Tensor::from_slice(dims, &values.iter().map(|v| Complex::new(v.re as f32, v.im as f32)).collect::<Vec<_>>()),
        _ => Tensor::from_slice(dims, values),
    }
    .unwrap()
}

fn values(tensor: &Tensor) -> Vec<Wide> {
    match tensor.dtype() {
        DType::F16 => tensor.as_slice::<f16>().unwrap().iter().map(|v| Complex::new(v.to_f32().into(), 0.0)).collect(),
        DType::F32 => tensor.as_slice::<f32>().unwrap().iter().map(|&v| Complex::new(v.into(), 0.0)).collect(),
        DType::F64 => tensor.as_slice::<f64>().unwrap().iter().map(|&v| Complex::new(v, 0.0)).collect(),
        DType::C64 => tensor.as_slice::<Complex<f32>>().unwrap().iter().map(|v| Complex::new(v.re.into(), v.im.into())).collect(),
        _ => tensor.as_slice::<Wide>().unwrap().to_vec(),
    }
}

/// Returns random numbers with parts from -1 to 1.
fn random(dtype: DType, dims: &[usize]) -> Tensor {
    let mut state = dims.iter().fold(7u32, |state, &d| state.wrapping_mul(31).wrapping_add(d as u32));
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        f64::from(state >> 8) / f64::from(1 << 23) - 1.0
    };
    let values: Vec<Wide> = (0..dims.iter().product::<usize>()).map(|_| Complex::new(next(), next())).collect();
    tensor(dtype, dims, &values)
}

fn epsilon(dtype: DType) -> f64 {
    match dtype {
        DType::F16 => f64::powi(2.0, -10),
        DType::F32 | DType::C64 => f32::EPSILON.into(),
        _ => f64::EPSILON,
    }
}

/// Returns the element in row `i` and column `j` of a square matrix or of its adjoint.
fn element(matrix: &[Wide], n: usize, adjoint: bool, i: usize, j: usize) -> Wide {
    if adjoint { matrix[j * n + i].conj() } else { matrix[i * n + j] }
}

/// Checks that `a · x = b` as exactly as a solution that is stable against rounding.
fn check(dtype: DType, n: usize, columns: usize, a: impl Fn(usize, usize) -> Wide, x: &[Wide], b: &[Wide], name: &str) {
    for i in 0..n {
        for j in 0..columns {
            let (mut sum, mut size) = (Complex::new(0.0, 0.0), b[i * columns + j].norm());
            let mut largest = 0.0f64;
            for k in 0..n {
                sum += a(i, k) * x[k * columns + j];
                size += a(i, k).norm() * x[k * columns + j].norm();
                largest = largest.max(x[k * columns + j].norm());
            }
            let bound = epsilon(dtype) * (8.0 * size + n as f64 * largest);
            let error = (sum - b[i * columns + j]).norm();
            assert!(error <= bound, "{name} {dtype:?} {n} x {columns}: error {error} of {bound} in row {i}, column {j}");
        }
    }
}

fn solve(op: &str, dtype: DType, adjoint: bool, lower: bool, inputs: Vec<Tensor>) -> Result<Tensor> {
    Call::new(op).attr("T", ty(dtype)).attr("adjoint", adjoint).attr("lower", lower).inputs(inputs).run1()
}

#[test]
fn solutions_fulfil_the_equations() {
    for dtype in TYPES {
        for n in SIZES {
            for (columns, adjoint) in [(1, false), (5, true), (33, false), (70, true)] {
                let (a, b) = (random(dtype, &[2, n, n]), random(dtype, &[2, n, columns]));
                let x = solve("MatrixSolve", dtype, adjoint, false, vec![a.clone(), b.clone()]).unwrap();
                assert_eq!(x.shape().dims(), [2, n, columns]);
                let (a, b, x) = (values(&a), values(&b), values(&x));
                for ((a, b), x) in a.chunks(n * n).zip(b.chunks(n * columns)).zip(x.chunks(n * columns)) {
                    check(dtype, n, columns, |i, j| element(a, n, adjoint, i, j), x, b, "MatrixSolve");
                }
            }
        }
    }
}

#[test]
fn inverses_are_solutions_of_the_identity() {
    for dtype in TYPES {
        for n in SIZES {
            let identity: Vec<Wide> = (0..n * n).map(|at| Complex::new(f64::from(u8::from(at % n == at / n)), 0.0)).collect();
            for adjoint in [false, true] {
                let a = random(dtype, &[2, n, n]);
                let x = values(&solve("MatrixInverse", dtype, adjoint, false, vec![a.clone()]).unwrap());
                for (a, x) in values(&a).chunks(n * n).zip(x.chunks(n * n)) {
                    check(dtype, n, n, |i, j| element(a, n, adjoint, i, j), x, &identity, "MatrixInverse");
                }
            }
        }
    }
}

#[test]
fn triangles_are_solved_without_the_other_triangle() {
    for dtype in TYPES {
        for n in SIZES {
            for (columns, adjoint, lower) in [(1, false, true), (33, false, false), (5, true, true), (32, true, false), (70, false, true)] {
                let is_inside = |i: usize, j: usize| if lower { j <= i } else { j >= i };
                let mut a = values(&random(dtype, &[n, n]));
                for i in 0..n {
                    for j in 0..n {
                        a[i * n + j] = match is_inside(i, j) {
                            true if i == j => a[i * n + j] + 2.0,
                            true => a[i * n + j] / n as f64,
                            false => Complex::new(f64::NAN, f64::NAN),
                        };
                    }
                }
                // The matrix is broadcast to two right-hand sides.
                let (a, b) = (tensor(dtype, &[1, n, n], &a), random(dtype, &[2, n, columns]));
                let x = solve("MatrixTriangularSolve", dtype, adjoint, lower, vec![a.clone(), b.clone()]).unwrap();
                assert_eq!(x.shape().dims(), [2, n, columns]);
                let (a, b, x) = (values(&a), values(&b), values(&x));
                let zero = Complex::new(0.0, 0.0);
                let inside = |i: usize, j: usize| {
                    let (row, column) = if adjoint { (j, i) } else { (i, j) };
                    if is_inside(row, column) { element(&a, n, adjoint, i, j) } else { zero }
                };
                for (b, x) in b.chunks(n * columns).zip(x.chunks(n * columns)) {
                    check(dtype, n, columns, inside, x, b, "MatrixTriangularSolve");
                }
            }
        }
    }
}

#[test]
fn rows_are_exchanged() {
    let f64s = |dims: &[usize], values: &[f64]| Tensor::from_slice(dims, values).unwrap();
    let solve = |a: &[f64]| solve("MatrixSolve", DType::F64, false, false, vec![f64s(&[2, 2], a), f64s(&[2, 1], &[1.0, 3.0])]).unwrap();
    assert_eq!(solve(&[0.0, 1.0, 1.0, 0.0]).as_slice::<f64>().unwrap(), [3.0, 1.0]);
    // With the first pivot, all digits of the second equation would be lost.
    assert_eq!(solve(&[1e-30, 1.0, 1.0, 1.0]).as_slice::<f64>().unwrap(), [2.0, 1.0]);
}

#[test]
fn singular_matrices_are_errors() {
    let three = [1.0f32, 2.0, 3.0, 2.0, 4.0, 6.0, 0.0, 0.0, 1.0];
    let singular = [
        Tensor::zeros(DType::F32, [1, 1]).unwrap(),
        Tensor::from_slice([3, 3], &three).unwrap(),
        Tensor::zeros(DType::F32, [40, 40]).unwrap(),
        // The last matrix of a batch.
        Tensor::from_slice([2, 2, 2], &[1.0f32, 0.0, 0.0, 1.0, 1.0, 2.0, 2.0, 4.0]).unwrap(),
    ];
    for a in singular {
        assert_eq!(message(solve("MatrixInverse", DType::F32, false, false, vec![a.clone()])), "Input is not invertible.");
        assert_eq!(message(solve("MatrixSolve", DType::F32, true, false, vec![a.clone(), a.clone()])), "Input matrix is not invertible.");
        let zero = Call::new("MatrixDeterminant").attr("T", ty(DType::F32)).input(a).run1().unwrap();
        assert_eq!(zero.as_slice::<f32>().unwrap().last(), Some(&0.0));
    }
    // A zero on the diagonal of a triangle is divided by.
    let (a, b) = (Tensor::from_slice([2, 2], &[1.0f32, 0.0, 1.0, 0.0]).unwrap(), Tensor::from_slice([2, 1], &[1.0f32, 3.0]).unwrap());
    let x = solve("MatrixTriangularSolve", DType::F32, false, true, vec![a, b]).unwrap();
    assert_eq!(x.as_slice::<f32>().unwrap(), [1.0, f32::INFINITY]);
}

#[test]
fn nothing_is_computed_of_nothing() {
    for (matrix, rhs) in [([0, 3, 3], [0, 3, 2]), ([2, 0, 0], [2, 0, 4]), ([2, 3, 3], [2, 3, 0])] {
        let (a, b) = (random(DType::F32, &matrix), random(DType::F32, &rhs));
        for op in ["MatrixSolve", "MatrixTriangularSolve"] {
            let x = solve(op, DType::F32, false, true, vec![a.clone(), b.clone()]).unwrap();
            assert_eq!(x.shape().dims(), rhs, "{op}");
        }
        for op in ["MatrixInverse", "Cholesky"] {
            assert_eq!(solve(op, DType::F32, false, true, vec![a.clone()]).unwrap().shape().dims(), matrix, "{op}");
        }
    }
    let empty = Call::new("MatrixDeterminant").attr("T", ty(DType::F32)).input(random(DType::F32, &[2, 0, 0])).run1().unwrap();
    assert_eq!(empty.as_slice::<f32>().unwrap(), [1.0, 1.0]);
}

/// Computes a determinant by elimination with the first pivot that is not 0.
fn determinant(mut a: Vec<Wide>, n: usize) -> Wide {
    let mut product = Complex::new(1.0, 0.0);
    for k in 0..n {
        let pivot = (k..n).find(|&i| a[i * n + k].norm() > 1e-3).unwrap();
        if pivot != k {
            (0..n).for_each(|j| a.swap(k * n + j, pivot * n + j));
            product = -product;
        }
        product *= a[k * n + k];
        for i in k + 1..n {
            let factor = a[i * n + k] / a[k * n + k];
            for j in k..n {
                let times = factor * a[k * n + j];
                a[i * n + j] -= times;
            }
        }
    }
    product
}

#[test]
fn determinants_have_signs() {
    for dtype in [DType::F64, DType::C128] {
        for n in SIZES {
            let a = random(dtype, &[n, n]);
            let expected = determinant(values(&a), n);
            let call = |op: &str| Call::new(op).attr("T", ty(dtype)).input(a.clone()).run().unwrap();
            let found = values(call("MatrixDeterminant")[0].as_ref().unwrap())[0];
            assert!((found - expected).norm() < 1e-9 * expected.norm(), "{dtype:?} {n}: {found} for {expected}");
            let parts: Vec<Wide> = call("LogMatrixDeterminant").iter().flatten().map(|part| values(part)[0]).collect();
            assert!((parts[0] - expected / expected.norm()).norm() < 1e-9, "{dtype:?} {n}: the sign {}", parts[0]);
            assert!((parts[1].re - expected.norm().ln()).abs() < 1e-9, "{dtype:?} {n}: the logarithm {}", parts[1]);
        }
    }
}

#[test]
fn cholesky_factors_are_of_the_lower_triangle() {
    for dtype in TYPES {
        for n in SIZES {
            let b = values(&random(dtype, &[n, n]));
            let product = |b: &[Wide], i: usize, j: usize| (0..n).map(|k| b[i * n + k] * b[j * n + k].conj()).sum::<Wide>();
            let nan = Complex::new(f64::NAN, f64::NAN);
            let lower = |at: usize| match (at / n, at % n) {
                (i, j) if i == j => product(&b, i, i) + 1.0,
                (i, j) if j < i => product(&b, i, j),
                _ => nan,
            };
            let a = tensor(dtype, &[n, n], &(0..n * n).map(lower).collect::<Vec<_>>());
            let l = values(&solve("Cholesky", dtype, false, false, vec![a.clone()]).unwrap());
            let a = values(&a);
            for i in 0..n {
                for j in 0..n {
                    if j > i {
                        assert_eq!(l[i * n + j], Complex::new(0.0, 0.0));
                    } else {
                        let bound = 8.0 * epsilon(dtype) * (a[i * n + i].norm() * a[j * n + j].norm()).sqrt();
                        let error = (product(&l, i, j) - a[i * n + j]).norm();
                        assert!(error <= bound, "{dtype:?} {n}: error {error} of {bound} in row {i}, column {j}");
                    }
                }
            }
        }
    }
}

#[test]
fn cholesky_factors_of_other_matrices_are_nan() {
    for dtype in TYPES {
        // The first matrix of the batch is positive definite; the others have a negative number, and a zero, at the end of their diagonals.
        let diagonals = [[1.0, 4.0, 9.0], [1.0, 1.0, -4.0], [1.0, 1.0, 0.0]];
        let all: Vec<Wide> =
            diagonals.iter().flat_map(|d| (0..9).map(|at| Complex::new(if at % 4 == 0 { d[at / 4] } else { 0.0 }, 0.0))).collect();
        let found = values(&solve("Cholesky", dtype, false, false, vec![tensor(dtype, &[3, 3, 3], &all)]).unwrap());
        assert_eq!([0, 4, 8].map(|at| found[at].re), [1.0, 2.0, 3.0]);
        for matrix in found[9..].chunks(9) {
            for (at, value) in matrix.iter().enumerate() {
                assert_eq!(value.is_nan(), at % 3 <= at / 3, "{dtype:?}: {value} at {at}");
            }
        }
    }
}
