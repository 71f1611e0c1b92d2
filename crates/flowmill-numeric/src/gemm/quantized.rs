//! Products of quantised bytes: exact sums of 32 bits.

use super::dot::Quad;
use super::driver::Job;
use super::finish::Finish;
use super::narrow::StepMatrix;
use super::tile::{Kernels, Operand};
use super::{MatrixRef, PackedB, check_matrix};
use crate::simd::isa;

/// A matrix B `[k, n]` of bytes, packed once for products with matrices of unsigned bytes.
#[derive(Clone, Debug)]
pub struct PackedBytes {
    matrix: PackedB<i8>,
    /// The number that products subtract from each element of B, and the one that they subtract from each packed element.
    zero_of_b: i32,
    zero: i32,
    /// The sum of each packed column.
    sums: Vec<i32>,
}

/// The least bytes of a column of B that are multiplied in the tile registers of AMX: shorter sums take longer to leave them than to be computed in vectors.
const LONG_SUM: usize = 320;

/// Returns the kernels for columns of `k` bytes. All return the same sums.
fn kernels_for(k: usize) -> &'static Kernels<Quad, i32> {
    if k < LONG_SUM { &i8::vector_kernels(isa()).0 } else { &i8::kernels(isa()).0 }
}

impl PackedBytes {
    /// Packs bytes with signs. Products subtract `zero` from each.
    ///
    /// # Panics
    /// If `b` is too short.
    pub fn pack_signed(b: MatrixRef<'_, i8>, k: usize, n: usize, zero: i32) -> Self {
        Self::new(kernels_for(k), b, k, n, (zero, zero), |x| x)
    }

    /// Packs unsigned bytes. Products subtract `zero` from each.
    ///
    /// # Panics
    /// If `b` is too short.
    pub fn pack_unsigned(b: MatrixRef<'_, u8>, k: usize, n: usize, zero: i32) -> Self {
        // CPUs multiply unsigned bytes by bytes with signs.
        let signed = |x: u8| (x ^ 0x80) as i8;
        Self::new(kernels_for(k), b, k, n, (zero, zero.wrapping_sub(0x80)), signed)
    }

    fn new<S: Copy + Sync>(
        kernels: &'static Kernels<Quad, i32>,
        b: MatrixRef<'_, S>,
        k: usize,
        n: usize,
        (zero_of_b, zero): (i32, i32),
        signed: impl Fn(S) -> i8 + Sync,
    ) -> Self {
        let matrix = PackedB::pack_converted_for(kernels, b, k, 0..n, &signed);
        let mut sums = vec![0i32; matrix.n()];
        if b.transposed {
            for (j, sum) in sums.iter_mut().enumerate() {
                *sum = b.data[j * b.ld..][..matrix.k()].iter().fold(0, |sum, &x| sum.wrapping_add(i32::from(signed(x))));
            }
        } else {
            for p in 0..matrix.k() {
                for (sum, &x) in sums.iter_mut().zip(&b.data[p * b.ld..]) {
                    *sum = sum.wrapping_add(i32::from(signed(x)));
                }
            }
        }
        Self { matrix, zero_of_b, zero, sums }
    }

    /// Returns true if this process multiplies columns of `k` bytes in the tile registers of AMX.
    pub(crate) fn uses_amx(k: usize) -> bool {
        kernels_for(k).max_rows() > i8::vector_kernels(isa()).0.max_rows()
    }

    /// Returns true if products subtract `zero` from each element of B.
    pub fn is_for(&self, zero: i32) -> bool {
        self.zero_of_b == zero
    }

    /// Returns the number of rows of B.
    pub fn k(&self) -> usize {
        self.matrix.k()
    }

    /// Returns the number of columns of B.
    pub fn n(&self) -> usize {
        self.matrix.n()
    }
}

crate::dispatch! {
    /// Returns the sum of bytes.
    fn sum_of_bytes(bytes: &[u8]) -> i32 {
        // As many as cannot overflow 32 bits.
        let part = |part: &[u8]| part.iter().map(|&x| u32::from(x)).sum::<u32>() as i32;
        bytes.chunks(1 << 16).fold(0, |sum, bytes| sum.wrapping_add(part(bytes)))
    }
}

/// Computes `C[m, n] = (A[m, k] - zero) (B[k, n] - zero of B)` with dense C. Sums of more than 32 bits wrap around.
///
/// The function forks on the current rayon pool if the product takes longer than about 10 µs.
///
/// # Panics
/// If a slice is too short for its shape.
pub fn gemm_bytes(m: usize, a: MatrixRef<'_, u8>, zero: i32, b: &PackedBytes, c: &mut [i32]) {
    let (k, n) = (b.k(), b.n());
    a.check("A", m, k);
    check_matrix("C", c.len(), m, n, n);
    if m == 0 || n == 0 {
        return;
    }
    // Σ (a - z) (b - y) = Σ a b - y Σ a - z (Σ b - k y): the second term starts the sums of a row, the third is added to a column as a bias.
    for (i, row) in c.chunks_exact_mut(n).take(m).enumerate() {
        let sum = match (b.zero, a.transposed) {
            (0, _) => 0,
            (_, false) => sum_of_bytes(&a.data[i * a.ld..][..k]),
            (_, true) => (0..k).fold(0i32, |sum, p| sum.wrapping_add(i32::from(a.data[p * a.ld + i]))),
        };
        row.fill(b.zero.wrapping_mul(sum).wrapping_neg());
    }
    let zeros = (k as i32).wrapping_mul(b.zero);
    let bias: Vec<i32> = b.sums.iter().map(|sum| zeros.wrapping_sub(*sum).wrapping_mul(zero)).collect();
    let rows = StepMatrix::new(a, k);
    let job = Job::<i8, _> {
        kernels: b.matrix.kernels(),
        a: &rows,
        m,
        k: b.matrix.steps(),
        n,
        b: b.matrix.panels(),
        c: c.as_mut_ptr(),
        ldc: n,
        load: true,
        finish: Some(Finish { bias: bias.as_ptr(), residual: std::ptr::null(), ld_residual: 0, low: None, high: None }),
        then: None,
        backwards: b.matrix.is_walked_backwards(m),
    };
    // SAFETY: `PackedB` holds the panels of a `[k, n]` matrix; `c`, which is borrowed exclusively, and the bias cover `m` rows of `n` columns.
    unsafe { job.run() };
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::super::tests::with_threads;
    use super::*;
    use crate::simd::Isa;
    use proptest::prelude::*;

    /// Returns bytes, many of which are the least or the greatest.
    fn bytes(seed: u64, len: usize) -> Vec<u8> {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 40) as u8
        };
        (0..len).map(|_| [0, 0x80, 0xff, next()][usize::from(next() & 3)]).collect()
    }

    fn all_kernels() -> Vec<&'static Kernels<Quad, i32>> {
        Isa::available().flat_map(|isa| [&i8::plain_kernels(isa).0, &i8::vector_kernels(isa).0, &i8::kernels(isa).0]).collect()
    }

    /// Returns the product by its definition, with wrapping sums of 32 bits.
    fn expected(m: usize, k: usize, n: usize, a: impl Fn(usize, usize) -> i32, b: impl Fn(usize, usize) -> i32) -> Vec<i32> {
        let element = |i: usize| (0..k).fold(0i32, |sum, p| sum.wrapping_add(a(i / n, p).wrapping_mul(b(p, i % n))));
        (0..m * n).map(element).collect()
    }

    fn check_shape(m: usize, k: usize, n: usize, zeros: [i32; 2], transposed: [bool; 2], seed: u64) {
        let (a, b) = (bytes(seed, m * k), bytes(seed + 1, k * n));
        let at = |i: usize, p: usize| i32::from(a[if transposed[0] { p * m + i } else { i * k + p }]).wrapping_sub(zeros[0]);
        let place = |p: usize, j: usize| if transposed[1] { j * k + p } else { p * n + j };
        let unsigned = expected(m, k, n, at, |p, j| i32::from(b[place(p, j)]).wrapping_sub(zeros[1]));
        let signed = expected(m, k, n, at, |p, j| i32::from(b[place(p, j)] as i8).wrapping_sub(zeros[1]));
        let operand = MatrixRef { data: &a[..], ld: if transposed[0] { m } else { k }, transposed: transposed[0] };
        let (ld, transposed) = (if transposed[1] { k } else { n }, transposed[1]);
        for kernels in all_kernels() {
            for (want, packed) in [
                (
                    &unsigned,
                    PackedBytes::new(
                        kernels,
                        MatrixRef { data: &b[..], ld, transposed },
                        k,
                        n,
                        (zeros[1], zeros[1].wrapping_sub(0x80)),
                        |x| (x ^ 0x80) as i8,
                    ),
                ),
                (
                    &signed,
                    PackedBytes::new(
                        kernels,
                        MatrixRef { data: bytemuck::cast_slice(&b), ld, transposed },
                        k,
                        n,
                        (zeros[1], zeros[1]),
                        |x: i8| x,
                    ),
                ),
            ] {
                for threads in [1, 3] {
                    let mut c = vec![-1; m * n];
                    with_threads(threads, || gemm_bytes(m, operand, zeros[0], &packed, &mut c));
                    assert_eq!(&c, want, "{m} {k} {n}, zeros {zeros:?}, {} lanes, {threads} threads", kernels.lanes);
                }
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        #[test]
        fn products_of_bytes_equal_plain_loops(
            (m, k, n) in (0usize..40, 0usize..90, 1usize..90),
            zeros in [prop_oneof![0i32..256, any::<i32>()], prop_oneof![-128i32..256, any::<i32>()]],
            transposed in any::<[bool; 2]>(),
            seed in any::<u64>(),
        ) {
            check_shape(m, k, n, zeros, transposed, seed / 2);
        }
    }

    #[test]
    fn long_sums_of_bytes_are_exact() {
        for (m, k, n) in [(1, 2301, 70), (9, 3000, 33), (40, 1024, 64)] {
            check_shape(m, k, n, [128, 3], [false, true], 5);
        }
        let (a, b) = ([255u8; 4000], [-128i8; 4000]);
        let mut c = [0];
        let column = MatrixRef { data: &b[..], ld: 1, transposed: false };
        gemm_bytes(1, MatrixRef { data: &a[..], ld: 4000, transposed: false }, 0, &PackedBytes::pack_signed(column, 4000, 1, 0), &mut c);
        assert_eq!(c, [255 * -128 * 4000]);
    }

    #[test]
    fn packed_bytes_say_their_sizes() {
        let packed = PackedBytes::pack_unsigned(MatrixRef { data: &[1, 2, 3, 4, 5, 6], ld: 3, transposed: true }, 3, 2, 1);
        assert_eq!((packed.k(), packed.n()), (3, 2));
        let mut c = [0; 2];
        gemm_bytes(1, MatrixRef { data: &[1, 2, 4], ld: 3, transposed: false }, 1, &packed, &mut c);
        assert_eq!(c, [1 + 3 * 2, 4 + 3 * 5]);
    }
}
