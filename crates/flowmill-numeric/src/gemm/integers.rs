//! Products of bytes with small integers: exact sums of 32 bits.

use super::dot::{Quad, WordPair};
use super::driver::{Job, Rows};
use super::narrow::StepMatrix;
use super::tile::{Finish, LDA, Operand};
use super::{MatrixRef, PackedB, check_matrix};
#[cfg(target_arch = "x86_64")]
use crate::simd::{Isa, isa};

/// A matrix B `[k, n]` of integers from -255 to 255, packed once for products with bytes, of which each means its distance from a zero point.
///
/// CPUs with AVX512-VNNI multiply bytes, if all elements of B fit in eight bits with a sign. Otherwise both factors are widened to 16 bits and multiplied in plain
/// Rust: CPUs with AVX2, whose instruction that multiplies bytes saturates, have the panels of `integer`.
#[derive(Clone, Debug)]
pub struct PackedIntegers {
    form: Form,
    /// The sum that each column starts with: minus the zero point times the sum of the column.
    start: Vec<i32>,
    zero: u8,
}

#[derive(Clone, Debug)]
enum Form {
    Bytes(PackedB<i8>),
    Words(PackedB<i16>),
}

impl PackedIntegers {
    /// Packs a dense matrix of `k` rows for products with bytes whose zero point is `zero`.
    ///
    /// # Panics
    /// If `b` is too short.
    pub fn pack(b: &[i16], k: usize, n: usize, zero: u8) -> Self {
        Self::pack_as(b, k, n, zero, Self::multiplies_as_bytes(b))
    }

    /// Returns true if this CPU has instructions that multiply bytes and add up exactly, and all elements of B fit in eight bits with a sign.
    pub fn multiplies_as_bytes(b: &[i16]) -> bool {
        multiplies_bytes() && b.iter().all(|&x| i8::try_from(x).is_ok())
    }

    fn pack_as(b: &[i16], k: usize, n: usize, zero: u8, as_bytes: bool) -> Self {
        let matrix = MatrixRef { data: b, ld: n, transposed: false };
        let form = if as_bytes {
            Form::Bytes(PackedB::pack_converted(matrix, k, 0..n, |x| x as i8))
        } else {
            Form::Words(PackedB::pack_converted(matrix, k, 0..n, |x| x))
        };
        let mut start = vec![0i32; n];
        for row in b.chunks_exact(n.max(1)).take(k) {
            start.iter_mut().zip(row).for_each(|(sum, &x)| *sum = sum.wrapping_sub(i32::from(zero) * i32::from(x)));
        }
        Self { form, start, zero }
    }

    /// Returns the byte that means zero.
    pub fn zero(&self) -> u8 {
        self.zero
    }

    /// Returns the number of rows of B.
    pub fn k(&self) -> usize {
        match &self.form {
            Form::Bytes(b) => b.k(),
            Form::Words(b) => b.k(),
        }
    }

    /// Returns the number of columns of B.
    pub fn n(&self) -> usize {
        self.start.len()
    }

    /// Computes `C[m, n] = (A[m, k] - zero) B[k, n]` with dense C; rows of A are `lda` apart. Sums of more than 32 bits wrap around.
    ///
    /// The function forks on the current rayon pool if the product takes longer than about 10 µs.
    ///
    /// # Panics
    /// If a slice is too short for its shape.
    pub fn multiply(&self, m: usize, a: &[u8], lda: usize, c: &mut [i32]) {
        let matrix = MatrixRef { data: a, ld: lda, transposed: false };
        matrix.check("A", m, self.k());
        check_matrix("C", c.len(), m, self.n(), self.n());
        if m == 0 || self.n() == 0 {
            return;
        }
        match &self.form {
            Form::Bytes(b) => self.run(m, b, &StepMatrix::<u8, Quad>::new(matrix, self.k()), c),
            Form::Words(b) => self.run(m, b, &WidenedBytes { data: a, ld: lda, columns: self.k() }, c),
        }
    }

    fn run<T: Operand<Sum = i32>>(&self, m: usize, b: &PackedB<T>, rows: &impl Rows<T::Step>, c: &mut [i32]) {
        let n = self.n();
        let finish = Finish { bias: self.start.as_ptr(), residual: std::ptr::null(), ld_residual: 0, low: None, high: None };
        let job = Job::<T, _> {
            kernels: b.kernels(),
            a: rows,
            m,
            k: b.steps(),
            n,
            b: b.panels(),
            c: c.as_mut_ptr(),
            ldc: n,
            load: false,
            finish: Some(finish),
            then: None,
            backwards: b.is_walked_backwards(m),
        };
        // SAFETY: `PackedB` holds the panels of a `[k, n]` matrix; `multiply` has checked that `c`, which is borrowed exclusively, covers `m` rows of `n`
        // columns, and `start` has `n` elements.
        unsafe { job.run() };
    }
}

/// Returns true if this process has instructions that multiply bytes and add up exactly.
fn multiplies_bytes() -> bool {
    #[cfg(target_arch = "x86_64")]
    return isa() == Isa::Avx512 && std::arch::is_x86_feature_detected!("avx512vnni");
    #[cfg(not(target_arch = "x86_64"))]
    return false;
}

/// Rows of bytes that are widened to 16 bits while they are packed.
struct WidenedBytes<'a> {
    data: &'a [u8],
    ld: usize,
    columns: usize,
}

impl Rows<WordPair> for WidenedBytes<'_> {
    fn pack(&self, row0: usize, rows: usize, k0: usize, kc: usize, dst: &mut [WordPair]) {
        let len = (2 * kc).min(self.columns.saturating_sub(2 * k0));
        for i in 0..rows {
            let to: &mut [i16] = bytemuck::cast_slice_mut(&mut dst[i * LDA..][..kc]);
            let (to, rest) = to.split_at_mut(len);
            if len > 0 {
                widen(to, &self.data[(row0 + i) * self.ld + 2 * k0..][..len]);
            }
            rest.fill(0);
        }
    }
}

crate::dispatch! {
    /// Writes bytes as integers of 16 bits.
    fn widen(dst: &mut [i16], src: &[u8]) {
        for (d, s) in dst.iter_mut().zip(src) {
            *d = i16::from(*s);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::with_threads;
    use super::*;
    use proptest::prelude::*;

    fn check(m: usize, k: usize, n: usize, zero: u8, limit: i16, seed: u64) {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 40) as usize
        };
        let lda = k + 3;
        let a: Vec<u8> = (0..m * lda).map(|_| [0, 255, next() as u8][next() % 3]).collect();
        let b: Vec<i16> = (0..k * n).map(|_| [-limit, limit - 1, (next() % (2 * limit as usize)) as i16 - limit][next() % 3]).collect();
        let sum = |i: usize, j: usize| (0..k).map(|p| (i32::from(a[i * lda + p]) - i32::from(zero)) * i32::from(b[p * n + j])).sum::<i32>();
        let want: Vec<i32> = (0..m * n).map(|i| sum(i / n, i % n)).collect();
        for as_bytes in [false, limit <= 128] {
            let packed = PackedIntegers::pack_as(&b, k, n, zero, as_bytes);
            assert_eq!((packed.k(), packed.n(), packed.zero()), (k, n, zero));
            for threads in [1, 3] {
                let mut c = vec![-1; m * n];
                with_threads(threads, || packed.multiply(m, &a, lda, &mut c));
                assert_eq!(c, want, "{m} {k} {n}, zero {zero}, bytes: {as_bytes}, {threads} threads");
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn products_equal_plain_loops(
            (m, k, n) in (0usize..40, 0usize..90, 1usize..90),
            zero in any::<u8>(),
            limit in prop_oneof![Just(128i16), Just(255)],
            seed in any::<u64>(),
        ) {
            check(m, k, n, zero, limit, seed / 2);
        }
    }

    #[test]
    fn long_sums_are_exact() {
        for (m, k, n) in [(1, 2301, 70), (9, 3000, 33), (40, 1024, 64)] {
            check(m, k, n, 128, 255, 5);
            check(m, k, n, 0, 128, 6);
        }
    }
}
