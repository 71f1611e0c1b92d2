//! Products agree with plain loops on every instruction set, with any number of threads.

#![allow(clippy::unwrap_used)]

use num_complex::Complex;
use proptest::prelude::*;

use super::*;

/// Returns values with few bits: their products, and sums of up to some thousand products, are exact.
fn small_values(seed: u64, len: usize) -> Vec<f32> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    (0..len)
        .map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            ((state >> 33) % 17) as f32 - 8.0
        })
        .collect()
}

fn naive(m: usize, k: usize, n: usize, a: &[f32], b: &[f32]) -> Vec<f32> {
    let mut c = vec![0.0; m * n];
    for i in 0..m {
        for j in 0..n {
            c[i * n + j] = (0..k).map(|p| a[i * k + p] * b[p * n + j]).sum();
        }
    }
    c
}

fn transpose(x: &[f32], rows: usize, cols: usize) -> Vec<f32> {
    (0..rows * cols).map(|i| x[i % rows * cols + i / rows]).collect()
}

fn plain<T>(data: &[T], ld: usize) -> MatrixRef<'_, T> {
    MatrixRef { data, ld, transposed: false }
}

fn check_shape(m: usize, k: usize, n: usize, seed: u64) {
    let a = small_values(seed, m * k);
    let b = small_values(seed + 1, k * n);
    let want = naive(m, k, n, &a, &b);
    let (at, bt) = (transpose(&a, m, k), transpose(&b, k, n));
    let bias = small_values(seed + 2, n);
    let residual = small_values(seed + 3, m * n);
    for isa in Isa::available() {
        for transposed in [false, true] {
            let packed = PackedRhs::F32(PackedB::pack_for(isa, if transposed { &bt } else { &b }, k, n, transposed));
            let mut c = vec![f32::NAN; m * n];
            gemm_packed(&a, k, m, &packed, &mut c, n, &Epilogue::default());
            assert_eq!(c, want, "packed {isa:?} {m} {k} {n} {transposed}");
            let mut c = residual.clone();
            let epilogue = Epilogue { bias: Some(&bias), residual: Some((&residual, n)), activation: Activation::Relu6, accumulate: true };
            gemm_packed(&a, k, m, &packed, &mut c, n, &epilogue);
            for i in 0..m * n {
                let x = 2.0 * residual[i] + want[i] + bias[i % n];
                assert_eq!(c[i], x.clamp(0.0, 6.0), "epilogue {isa:?} {m} {k} {n} at {i}");
            }
            for transposed_a in [false, true] {
                let a =
                    MatrixRef { data: if transposed_a { &at } else { &a }, ld: if transposed_a { m } else { k }, transposed: transposed_a };
                let b = MatrixRef { data: if transposed { &bt } else { &b }, ld: if transposed { k } else { n }, transposed };
                let mut c = vec![f32::NAN; m * n];
                gemm_for(isa, m, k, n, a, b, &mut c, n, false);
                assert_eq!(c, want, "plain {isa:?} {m} {k} {n} {transposed_a} {transposed}");
            }
        }
        let double = |x: &[f32]| x.iter().map(|x| f64::from(*x)).collect::<Vec<_>>();
        let (a, b, mut c) = (double(&a), double(&b), double(&residual));
        gemm_for(isa, m, k, n, plain(&a, k), plain(&b, n), &mut c, n, true);
        for i in 0..m * n {
            assert_eq!(c[i], f64::from(want[i] + residual[i]), "f64 {isa:?} {m} {k} {n}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn products_equal_plain_loops(m in 0usize..40, k in 0usize..70, n in 0usize..150, seed in 0u64..1000) {
        check_shape(m, k, n, seed);
    }
}

#[test]
fn long_sums_and_wide_rows_equal_plain_loops() {
    for (m, k, n) in [(1, 600, 300), (2, 257, 131), (3, 2400, 33), (17, 2500, 65), (30, 512, 16), (100, 300, 1), (9, 20, 129), (64, 7, 300)]
    {
        check_shape(m, k, n, 7);
    }
}

/// Returns values whose sums depend on the order of addition.
pub(super) fn rough_values(seed: u64, len: usize) -> Vec<f32> {
    let fine = small_values(seed, len);
    let coarse = small_values(seed + 100, len);
    fine.iter().zip(coarse).map(|(f, c)| (f / 7.0 + 0.1) * (c / 3.0).exp2()).collect()
}

pub(super) fn with_threads<R: Send>(threads: usize, f: impl FnOnce() -> R + Send) -> R {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(f)
}

#[test]
fn bits_do_not_depend_on_threads_rows_or_packing() {
    let shapes = [(1, 1000, 2000), (33, 700, 500), (200, 300, 90), (61, 3000, 100), (8, 90, 2100), (64, 300, 128), (65, 60, 140)];
    // Weights that are read in the order of memory, and rows that compete for lines of the cache.
    let large = [(9, 1500, 1000), (40, 1100, 1000), (8, 1024, 150), (33, 1024, 200), (50, 2048, 130)];
    // Results larger than a share of the L2 cache, of which all panels are computed in turn, and some.
    let in_turn = [(400, 90, 500), (200, 300, 1000), (180, 600, 1100)];
    for (m, k, n) in shapes.into_iter().chain(large).chain(in_turn) {
        let (a, b) = (rough_values(1, m * k), rough_values(2, k * n));
        let transposed_b = transpose(&b, k, n);
        let bias = rough_values(3, n);
        let packed = PackedRhs::pack(Precision::F32, &b, k, n, false);
        let epilogue = Epilogue::bias_activation(Some(&bias), Activation::GeluExact);
        let run = |threads| {
            with_threads(threads, || {
                let mut c = vec![0.0; m * n];
                gemm_packed(&a, k, m, &packed, &mut c, n, &epilogue);
                let mut plain_c = vec![0.0; m * n];
                gemm(m, k, n, plain(&a, k), plain(&b, n), &mut plain_c, n, false);
                let mut transposed_c = vec![0.0; m * n];
                gemm(m, k, n, plain(&a, k), MatrixRef { transposed: true, ..plain(&transposed_b, k) }, &mut transposed_c, n, false);
                assert!(transposed_c == plain_c, "plain and transposed B, {m} {k} {n}");
                (c, plain_c)
            })
        };
        let one = run(1);
        for threads in [2, 3, 5] {
            assert!(run(threads) == one, "{threads} threads, {m} {k} {n}");
        }
        let mut unfused = vec![0.0; m * n];
        gemm_packed(&a, k, m, &packed, &mut unfused, n, &Epilogue::default());
        assert!(unfused == one.1, "packed and plain B, {m} {k} {n}");
        let mut row = vec![0.0; n];
        for i in [0, m / 2, m - 1] {
            gemm_packed(&a[i * k..][..k], k, 1, &packed, &mut row, n, &epilogue);
            assert!(row == one.0[i * n..][..n], "row {i} alone, {m} {k} {n}");
        }
    }
}

#[test]
fn wide_instruction_sets_agree() {
    let (m, k, n) = (9, 500, 77);
    let (a, b) = (rough_values(1, m * k), rough_values(2, k * n));
    let results: Vec<Vec<f32>> = Isa::available()
        .filter(|isa| *isa != Isa::Portable)
        .map(|isa| {
            let mut c = vec![0.0; m * n];
            let packed = PackedRhs::F32(PackedB::pack_for(isa, &b, k, n, false));
            gemm_packed(&a, k, m, &packed, &mut c, n, &Epilogue::default());
            c
        })
        .collect();
    assert!(results.windows(2).all(|w| w[0] == w[1]));
}

#[test]
fn strides_leave_gaps_alone() {
    let (m, k, n) = (5, 7, 40);
    let (a, b) = (small_values(1, m * 10), small_values(2, k * n));
    let packed = PackedRhs::pack(Precision::F32, &b, k, n, false);
    let mut c = vec![-1.0; m * 50];
    gemm_packed(&a, 10, m, &packed, &mut c, 50, &Epilogue::default());
    let dense: Vec<f32> = (0..m * k).map(|i| a[i / k * 10 + i % k]).collect();
    let want = naive(m, k, n, &dense, &b);
    for i in 0..m {
        assert_eq!(c[i * 50..][..n], want[i * n..][..n]);
        assert!(c[i * 50 + n..][..10].iter().all(|x| *x == -1.0));
    }
}

#[test]
fn batches_multiply_each_pair() {
    let (batch, m, k, n) = (6, 5, 33, 40);
    let (a, b) = (small_values(1, batch * m * k), small_values(2, k * n));
    for threads in [1, 3] {
        let mut c = vec![0.0; batch * m * n];
        with_threads(threads, || gemm_batch(batch, m, k, n, (plain(&a, k), m * k), (plain(&b, n), 0), &mut c));
        for i in 0..batch {
            assert_eq!(c[i * m * n..][..m * n], naive(m, k, n, &a[i * m * k..], &b));
        }
    }
}

#[test]
fn infinities_and_nans_reach_only_their_row_and_column() {
    let (m, k, n) = (20, 40, 50);
    let (mut a, b) = (small_values(1, m * k), vec![1.0; k * n]);
    a[3 * k + 5] = f32::NAN;
    a[7 * k] = f32::INFINITY;
    let mut c = vec![0.0; m * n];
    gemm(m, k, n, plain(&a, k), plain(&b, n), &mut c, n, false);
    for (i, row) in c.chunks(n).enumerate() {
        match i {
            3 => assert!(row.iter().all(|x| x.is_nan())),
            7 => assert!(row.iter().all(|x| *x == f32::INFINITY)),
            _ => assert!(row.iter().all(|x| x.is_finite())),
        }
    }
    let packed = PackedRhs::pack(Precision::F32, &b, k, n, false);
    gemm_packed(&a, k, m, &packed, &mut c, n, &Epilogue::bias_activation(None, Activation::Relu));
    assert!(c[3 * n..][..n].iter().all(|x| x.is_nan()), "Relu keeps NaN");
}

#[test]
fn other_types_multiply() {
    let (m, k, n) = (3, 5, 4);
    let (a, b) = (small_values(1, m * k), small_values(2, k * n));
    let want = naive(m, k, n, &a, &b);
    let bt = transpose(&b, k, n);

    let ints = |x: &[f32]| x.iter().map(|x| *x as i32).collect::<Vec<_>>();
    let mut c = vec![0i32; m * n];
    matmul_generic(m, k, n, plain(&ints(&a), k), plain(&ints(&b), n), &mut c);
    assert_eq!(c, ints(&want));
    let mut c = vec![0i8; 1];
    matmul_generic(1, 2, 1, plain(&[100i8, 100], 2), plain(&[1i8, 1], 1), &mut c);
    assert_eq!(c, [-56], "integers wrap");

    let turned = |x: &[f32]| x.iter().map(|x| Complex::new(0.0, *x)).collect::<Vec<_>>();
    let b_transposed = MatrixRef { data: &turned(&bt)[..], ld: k, transposed: true };
    let mut c = vec![Complex::new(0.0f32, 0.0); m * n];
    matmul_generic(m, k, n, plain(&turned(&a), k), b_transposed, &mut c);
    assert!(c.iter().zip(&want).all(|(c, w)| *c == Complex::new(-w, 0.0)));

    let numbers = |seed, len| small_values(seed, 2 * len).chunks_exact(2).map(|x| Complex::new(x[0], x[1])).collect::<Vec<_>>();
    for (m, k, n) in [(1, 3, 5), (8, 1, 3), (9, 33, 20), (40, 7, 1)] {
        let (a, b) = (numbers(3, m * k), numbers(4, k * n));
        let flipped = |x: &[Complex<f32>], rows: usize, columns: usize| {
            (0..rows * columns).map(|i| x[i % rows * columns + i / rows]).collect::<Vec<_>>()
        };
        let (at, bt) = (flipped(&a, m, k), flipped(&b, k, n));
        let turned = |data, ld| MatrixRef { data, ld, transposed: true };
        let want: Vec<Complex<f32>> = (0..m * n).map(|i| (0..k).map(|p| a[i / n * k + p] * b[p * n + i % n]).sum()).collect();
        for a in [plain(&a, k), turned(&at[..], m)] {
            for b in [plain(&b, n), turned(&bt[..], k)] {
                let mut c = vec![Complex::new(f32::NAN, f32::NAN); m * n];
                matmul_complex(m, k, n, a, b, &mut c);
                let error = c.iter().zip(&want).map(|(c, want)| (c - want).norm()).fold(0.0, f32::max);
                assert!(error < 1e-4, "{m} x {k} x {n}: {error}");
            }
        }
    }

    let halves = |x: &[f32]| x.iter().map(|x| half::f16::from_f32(*x)).collect::<Vec<_>>();
    let mut c = vec![half::f16::ZERO; m * n];
    matmul_converted(m, k, n, plain(&halves(&a), k), plain(&halves(&b), n), &mut c);
    assert_eq!(c, halves(&want));
}

#[test]
#[should_panic(expected = "A: 5 elements")]
fn short_operands_are_refused() {
    let packed = PackedRhs::pack(Precision::F32, &[0.0; 12], 3, 4, false);
    gemm_packed(&[0.0; 5], 3, 2, &packed, &mut [0.0; 8], 4, &Epilogue::default());
}

#[test]
fn matrices_beside_each_other_are_multiplied_like_one() {
    for (m, k1, k2, n) in [(1, 64, 256, 100), (5, 3, 300, 33), (40, 700, 20, 65), (3, 0, 7, 20), (3, 9, 0, 20), (0, 4, 4, 4)] {
        let (a1, a2, b) = (rough_values(1, m * k1), rough_values(2, m * k2), rough_values(3, (k1 + k2) * n));
        let bias = rough_values(4, n);
        let joined: Vec<f32> = (0..m).flat_map(|i| [&a1[i * k1..][..k1], &a2[i * k2..][..k2]].concat()).collect();
        let packed = PackedRhs::pack(Precision::F32, &b, k1 + k2, n, false);
        let epilogue = Epilogue::bias_activation(Some(&bias), Activation::Tanh);
        let mut want = vec![0.0; m * n];
        gemm_packed(&joined, k1 + k2, m, &packed, &mut want, n, &epilogue);
        for threads in [1, 2] {
            let mut c = vec![0.0; m * n];
            with_threads(threads, || gemm_beside(Some(&a1), k1, &a2, m, &packed, &mut c, &epilogue));
            assert_eq!(c, want, "{m} {k1} {k2} {n}");
            gemm(m, k1, n, plain(&a1, k1), plain(&b, n), &mut c, n, false);
            with_threads(threads, || gemm_beside(None, k1, &a2, m, &packed, &mut c, &Epilogue { accumulate: true, ..epilogue }));
            assert_eq!(c, want, "{m} {k1} {k2} {n} from the product of the first rows");
        }
    }
}
