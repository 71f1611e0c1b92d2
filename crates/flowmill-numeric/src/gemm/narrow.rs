//! Rows of A as steps of narrow numbers, and products of `bfloat16`.

use bytemuck::Pod;
use half::bf16;
use std::marker::PhantomData;

use super::dot::Pair;
use super::driver::Rows;
use super::tile::{KC, LDA};
use super::{Epilogue, MatrixRef, PackedB, check_matrix, multiply_packed, with_scratch};
use crate::parallel;

crate::dispatch! {
    /// Rounds numbers to the nearest `bfloat16`, ties to even; NaN stays NaN. The shorter slice determines their number.
    pub fn round_to_bf16(dst: &mut [bf16], src: &[f32]) {
        for (d, s) in dst.iter_mut().zip(src) {
            let bits = s.to_bits();
            let rounded = bits.wrapping_add(0x7fff + ((bits >> 16) & 1));
            // A NaN keeps its sign and its upper bits, and becomes quiet.
            let bits = if bits & 0x7fff_ffff > 0x7f80_0000 { bits | 0x40_0000 } else { rounded };
            *d = bf16::from_bits((bits >> 16) as u16);
        }
    }
}

/// Rows of `f32`, rounded to `bfloat16` while they are packed.
pub(crate) struct Rounded<'a, A> {
    pub rows: &'a A,
    /// The number of elements of a row.
    pub columns: usize,
}

impl<A: Rows<f32>> Rows<Pair> for Rounded<'_, A> {
    fn pack(&self, row0: usize, rows: usize, k0: usize, kc: usize, dst: &mut [Pair]) {
        with_scratch(rows * LDA, |wide: &mut [f32]| {
            // A block of rows has room for as many elements as a block of steps has steps.
            for first in (2 * k0..2 * (k0 + kc)).step_by(KC) {
                let steps = first / 2 - k0..kc.min((first + KC) / 2 - k0);
                let len = (2 * steps.len()).min(self.columns.saturating_sub(first));
                self.rows.pack(row0, rows, first, len, wide);
                for i in 0..rows {
                    let to: &mut [bf16] = bytemuck::cast_slice_mut(&mut dst[i * LDA..][steps.clone()]);
                    round_to_bf16(to, &wide[i * LDA..][..len]);
                    to[len..].fill(bf16::ZERO);
                }
            }
        });
    }
}

/// The rows of a plain matrix of `T`, of which `S` holds several.
pub(crate) struct StepMatrix<'a, T, S> {
    matrix: MatrixRef<'a, T>,
    columns: usize,
    steps: PhantomData<fn() -> S>,
}

impl<'a, T: Pod, S: Pod> StepMatrix<'a, T, S> {
    /// The number of elements of a step.
    const PER_STEP: usize = size_of::<S>() / size_of::<T>();

    /// Returns the rows of a matrix that was checked to have `columns` columns.
    pub(crate) fn new(matrix: MatrixRef<'a, T>, columns: usize) -> Self {
        Self { matrix, columns, steps: PhantomData }
    }
}

impl<T: Pod + Sync, S: Pod + Sync> Rows<S> for StepMatrix<'_, T, S> {
    fn pack(&self, row0: usize, rows: usize, k0: usize, kc: usize, dst: &mut [S]) {
        let first = k0 * Self::PER_STEP;
        let len = (kc * Self::PER_STEP).min(self.columns.saturating_sub(first));
        let MatrixRef { data, ld, transposed } = self.matrix;
        for i in 0..rows {
            let to: &mut [T] = bytemuck::cast_slice_mut(&mut dst[i * LDA..][..kc]);
            if transposed {
                to.iter_mut().zip(first..first + len).for_each(|(x, p)| *x = data[p * ld + row0 + i]);
            } else if len > 0 {
                to[..len].copy_from_slice(&data[(row0 + i) * ld + first..][..len]);
            }
            to[len..].fill(T::zeroed());
        }
    }
}

/// The least number of elements that are rounded per parallel task.
const ROUND_GRAIN: usize = 1 << 16;

/// Computes `C[m, n] = A[m, k] B[k, n]` with dense C: products are summed in `f32`, and each sum is rounded once.
///
/// The function forks on the current rayon pool if the product takes longer than about 10 µs.
///
/// # Panics
/// If a slice is too short for its shape.
pub fn gemm_bf16(m: usize, k: usize, n: usize, a: MatrixRef<'_, bf16>, b: MatrixRef<'_, bf16>, c: &mut [bf16]) {
    let b = PackedB::pack_converted(b, k, 0..n, |x| x);
    gemm_bf16_packed(m, a, &b, c, &Epilogue::default());
}

/// Like [`gemm_bf16`], with packed B and an epilogue in `f32`, which is applied before sums are rounded. An epilogue that accumulates adds to C.
///
/// # Panics
/// If a slice is too short for its shape.
pub fn gemm_bf16_packed(m: usize, a: MatrixRef<'_, bf16>, b: &PackedB<bf16>, c: &mut [bf16], epilogue: &Epilogue<'_>) {
    let n = b.n();
    a.check("A", m, b.k());
    check_matrix("C", c.len(), m, n, n);
    with_scratch(m * n, |sums: &mut [f32]| {
        if epilogue.accumulate {
            sums.iter_mut().zip(c.iter()).for_each(|(s, c)| *s = c.to_f32());
        }
        multiply_packed(0, &StepMatrix::new(a, b.k()), m, b, sums, n, epilogue);
        let sums = &*sums;
        parallel::chunks(&mut c[..m * n], ROUND_GRAIN, |i, c| round_to_bf16(c, &sums[i * ROUND_GRAIN..]));
    });
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::super::tests::{rough_values, with_threads};
    use super::super::tile::{Kernels, Operand};
    use super::super::{Activation, PackedRhs, Precision, gemm_beside, gemm_packed, gemm_rows};
    use super::*;
    use crate::gemm::pack::Matrix;
    use crate::simd::{Isa, isa};
    use proptest::prelude::*;

    /// The kernels of this CPU, each with the order in which it adds products.
    fn all_kernels() -> Vec<(&'static Kernels<Pair, f32>, Sum)> {
        let kernels: Vec<_> =
            Isa::available().flat_map(|isa| [bf16::plain_kernels(isa), bf16::vector_kernels(isa), bf16::kernels(isa)]).collect();
        kernels.into_iter().map(|kernels| (&kernels.0, if kernels.0.max_rows() > 16 { in_groups as Sum } else { chains })).collect()
    }

    /// Returns the order in which products add on this CPU.
    fn order_in_use() -> Sum {
        if bf16::kernels(isa()).0.max_rows() > 16 { in_groups } else { chains }
    }

    /// Sums of products `[m, k] x [k, n]` that start from given numbers.
    type Sum = fn(usize, usize, &[bf16], &[bf16], &[f32]) -> Vec<f32>;

    /// Returns the sums as AMX adds them: groups of 16 pairs, each of which is a chain of the products of first numbers and one of the products of second numbers.
    fn in_groups(k: usize, n: usize, a: &[bf16], b: &[bf16], start: &[f32]) -> Vec<f32> {
        let element = |(i, start): (usize, &f32)| {
            let product = |p: usize, sum: f32| if p < k { a[i / n * k + p].to_f32().mul_add(b[p * n + i % n].to_f32(), sum) } else { sum };
            (0..k).step_by(32).fold(*start, |sum, first| {
                let chain = |from: usize| (from..first + 32).step_by(2).fold(0.0, |sum, p| product(p, sum));
                sum + (chain(first) + chain(first + 1))
            })
        };
        start.iter().enumerate().map(element).collect()
    }

    fn rounded(x: &[f32]) -> Vec<bf16> {
        x.iter().map(|x| bf16::from_f32(*x)).collect()
    }

    fn transposed<T: Copy>(x: &[T], rows: usize, columns: usize) -> Vec<T> {
        (0..rows * columns).map(|i| x[i % rows * columns + i / rows]).collect()
    }

    fn plain<T>(data: &[T], ld: usize) -> MatrixRef<'_, T> {
        MatrixRef { data, ld, transposed: false }
    }

    /// Returns the sums by their definition: one chain of fused multiply-adds, which takes the elements of each pair in reverse order.
    fn chains(k: usize, n: usize, a: &[bf16], b: &[bf16], start: &[f32]) -> Vec<f32> {
        let element = |(i, start): (usize, &f32)| {
            let step = |sum: f32, p: usize| if p < k { a[i / n * k + p].to_f32().mul_add(b[p * n + i % n].to_f32(), sum) } else { sum };
            (0..k).step_by(2).fold(*start, |sum, p| step(step(sum, p + 1), p))
        };
        start.iter().enumerate().map(element).collect()
    }

    fn check_shape(m: usize, k: usize, n: usize, seed: u64) {
        let (a, b, start, bias) =
            (rough_values(seed, m * k), rough_values(seed + 1, k * n), rough_values(seed + 2, m * n), rough_values(seed + 3, n));
        let (narrow_a, narrow_b) = (rounded(&a), rounded(&b));
        let epilogue = Epilogue { bias: Some(&bias), residual: Some((&start, n)), activation: Activation::Relu, accumulate: true };
        let (columns_of_a, columns_of_b) = (transposed(&narrow_a, m, k), transposed(&b, k, n));
        for (kernels, sum) in all_kernels() {
            let sums = sum(k, n, &narrow_a, &narrow_b, &vec![0.0; m * n]);
            let from_start = sum(k, n, &narrow_a, &narrow_b, &start);
            let finished: Vec<f32> = from_start.iter().enumerate().map(|(i, sum)| (sum + bias[i % n] + start[i]).max(0.0)).collect();
            let packed = PackedRhs::Bf16(PackedB::pack_converted_for(kernels, plain(&b, n), k, 0..n, bf16::from_f32));
            let of_columns = MatrixRef { data: &columns_of_b[..], ld: k, transposed: true };
            let also_packed = PackedB::pack_converted_for(kernels, of_columns, k, 0..n, bf16::from_f32);
            for threads in [1, 3] {
                let what = format!("{m} {k} {n}, {} lanes, {threads} threads", kernels.lanes);
                let mut c = vec![f32::NAN; m * n];
                with_threads(threads, || gemm_packed(&a, k, m, &packed, &mut c, n, &Epilogue::default()));
                assert_eq!(c, sums, "{what}");
                c.copy_from_slice(&start);
                with_threads(threads, || gemm_packed(&a, k, m, &packed, &mut c, n, &epilogue));
                assert_eq!(c, finished, "epilogue {what}");
                for a in [plain(&narrow_a, k), MatrixRef { data: &columns_of_a[..], ld: m, transposed: true }] {
                    let mut c = vec![bf16::NAN; m * n];
                    with_threads(threads, || gemm_bf16_packed(m, a, &also_packed, &mut c, &Epilogue::default()));
                    assert_eq!(c, rounded(&sums), "bfloat16 {what}");
                }
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        #[test]
        fn products_equal_chains(m in 0usize..40, k in 0usize..90, n in 1usize..90, seed in 0u64..1000) {
            check_shape(m, k, n, seed);
        }

        #[test]
        fn numbers_round_to_the_nearest(bits in prop::collection::vec(any::<u32>(), 0..50)) {
            let x: Vec<f32> = bits.iter().map(|bits| f32::from_bits(*bits)).collect();
            let mut y = vec![bf16::ZERO; x.len()];
            round_to_bf16(&mut y, &x);
            for (x, y) in x.iter().zip(y) {
                prop_assert_eq!(y.to_bits(), bf16::from_f32(*x).to_bits());
            }
        }
    }

    #[test]
    fn long_sums_and_wide_rows_equal_chains() {
        for (m, k, n) in [
            (1, 601, 300),
            (2, 1025, 131),
            (3, 5001, 33),
            (17, 2500, 65),
            (30, 512, 16),
            (1, 5001, 70),
            (2, 9300, 131),
            (100, 300, 1),
            (64, 7, 300),
        ] {
            check_shape(m, k, n, 7);
        }
    }

    #[test]
    fn matrices_beside_each_other_are_multiplied_like_one() {
        let sums = order_in_use();
        for (m, k1, k2, n) in [(1, 64, 256, 100), (40, 700, 20, 65), (5, 3, 301, 33), (3, 0, 7, 20), (3, 9, 0, 20)] {
            let (a1, a2, b) = (rough_values(1, m * k1), rough_values(2, m * k2), rough_values(3, (k1 + k2) * n));
            let joined: Vec<f32> = (0..m).flat_map(|i| [&a1[i * k1..][..k1], &a2[i * k2..][..k2]].concat()).collect();
            let packed = PackedRhs::pack(Precision::Bf16, &b, k1 + k2, n, false);
            let (mut want, mut c) = (vec![0.0; m * n], vec![0.0; m * n]);
            gemm_packed(&joined, k1 + k2, m, &packed, &mut want, n, &Epilogue::default());
            gemm_beside(Some(&a1), k1, &a2, m, &packed, &mut c, &Epilogue::default());
            assert_eq!(c, want, "{m} {k1} {k2} {n}");
            // The sums of the first rows, and then those of the others.
            let narrow: (Vec<bf16>, Vec<bf16>) = (rounded(&a1), rounded(&b[..k1 * n]));
            let mut c = sums(k1, n, &narrow.0, &narrow.1, &vec![0.0; m * n]);
            let want = if k1 % 2 == 0 {
                sums(k2, n, &rounded(&a2), &rounded(&b[k1 * n..]), &c)
            } else {
                // A step holds the last of the first rows, which is not multiplied again.
                let shifted: Vec<f32> = a2.chunks(k2.max(1)).flat_map(|row| [&[0.0], row].concat()).collect();
                sums(k2 + 1, n, &if k2 > 0 { rounded(&shifted) } else { vec![bf16::ZERO; m] }, &rounded(&b[(k1 - 1) * n..]), &c)
            };
            gemm_beside(None, k1, &a2, m, &packed, &mut c, &Epilogue { accumulate: true, ..Epilogue::default() });
            assert_eq!(c, want, "{m} {k1} {k2} {n} from the product of the first rows");
        }
    }

    #[test]
    fn infinities_and_nans_reach_only_their_row() {
        let (m, k, n) = (20, 41, 50);
        let mut a = rough_values(1, m * k);
        a[3 * k + 5] = f32::NAN;
        a[7 * k] = f32::INFINITY;
        // Rounds to infinity.
        a[9 * k + 1] = f32::MAX;
        let packed = PackedRhs::pack(Precision::Bf16, &vec![1.0; k * n], k, n, false);
        let mut c = vec![0.0; m * n];
        gemm_rows(&Matrix { data: &a, ld: k, transposed: false, columns: k }, m, &packed, &mut c, n, &Epilogue::default());
        for (i, row) in c.chunks(n).enumerate() {
            match i {
                3 => assert!(row.iter().all(|x| x.is_nan())),
                7 | 9 => assert!(row.iter().all(|x| *x == f32::INFINITY)),
                _ => assert!(row.iter().all(|x| x.is_finite())),
            }
        }
    }

    #[test]
    fn a_packed_matrix_says_its_size_and_precision() {
        let packed = PackedRhs::pack(Precision::Bf16, &[0.5; 15], 3, 5, false);
        assert_eq!((packed.k(), packed.n(), packed.precision()), (3, 5, Precision::Bf16));
        let wide = PackedRhs::pack(Precision::F32, &[0.5; 4 * 64], 4, 64, false);
        assert_eq!(wide.bytes(), 2 * PackedRhs::pack(Precision::Bf16, &[0.5; 4 * 64], 4, 64, false).bytes());
    }
}
