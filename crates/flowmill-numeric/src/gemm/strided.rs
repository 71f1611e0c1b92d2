//! Many products of one shape, whose matrices lie anywhere in their operands.

use super::direct::{Ahead, DirectTile, Segment};
use super::finish::Destination;
use super::pack::Matrix;
use super::tile::{Element, Kernels};
use super::{MatrixRef, Places, product_rows};
use crate::parallel;
use crate::simd::isa;
use smallvec::SmallVec;

/// A dimension over which products are repeated: its size, and the distance between two successive matrices of each operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repeat {
    /// The number of products.
    pub size: usize,
    /// The distance in A; 0 if all products have the same A.
    pub a: usize,
    /// The distance in B; 0 if all products have the same B.
    pub b: usize,
    /// The distance in C.
    pub c: usize,
}

/// The number of multiply-adds from which products are split over the threads.
const PARALLEL_WORK: usize = 500_000;

/// The most multiply-adds of a product whose tiles read both operands in place. Larger ones are worth the plan that finds out what to pack.
const SMALL: usize = 1 << 13;

/// A pointer to C that tasks share. They write disjoint elements.
struct Target<T>(*mut T);

// SAFETY: the tasks of `gemm_strided` write disjoint elements of C, which it borrows exclusively.
unsafe impl<T: Send> Sync for Target<T> {}

impl<T> Target<T> {
    fn at(&self, offset: usize) -> *mut T {
        self.0.wrapping_add(offset)
    }
}

/// Computes `C = A B` for all indices of `repeats`, where the operands of index (0, …) are `a`, `b` and the first of `c`. Rows of each C are `ldc` apart;
/// other elements of `c` keep their values.
///
/// # Panics
/// If a slice is too short, or if two products have an element of C in common.
pub fn gemm_strided<T: Element>(
    repeats: &[Repeat],
    (m, k, n): (usize, usize, usize),
    a: MatrixRef<'_, T>,
    b: MatrixRef<'_, T>,
    c: &mut [T],
    ldc: usize,
) {
    let count: usize = repeats.iter().map(|r| r.size).product();
    if count == 0 || m == 0 || n == 0 {
        return;
    }
    let last = |of: fn(&Repeat) -> usize| repeats.iter().map(|r| (r.size - 1) * of(r)).sum::<usize>();
    // What holds for the last matrix of an operand holds for all others.
    a.from(last(|r| r.a)).check("A", m, k);
    b.from(last(|r| r.b)).check("B", k, n);
    super::check_matrix("C", c.len().saturating_sub(last(|r| r.c)), m, n, ldc);
    assert_distinct(repeats.iter().map(|r| (r.size, r.c)).chain([(m, ldc), (n, 1)]));

    let isa = isa();
    let target = Target(c.as_mut_ptr());
    let kernels = &T::kernels(isa).0;
    // A kernel reads whole vectors of B.
    let is_small = k > 0 && !b.transposed && n.is_multiple_of(kernels.lanes) && m.saturating_mul(n).saturating_mul(k) <= SMALL;
    let one = |index: usize| {
        let (mut rest, mut at) = (index, (0, 0, 0));
        for repeat in repeats.iter().rev() {
            let i = rest % repeat.size;
            rest /= repeat.size;
            at = (at.0 + i * repeat.a, at.1 + i * repeat.b, at.2 + i * repeat.c);
        }
        let a = a.from(at.0);
        if is_small {
            // SAFETY: as below; the columns of B are whole vectors.
            return unsafe { small_product(kernels, (m, k, n), a, b.from(at.1), target.at(at.2), ldc) };
        }
        let rows = Matrix { data: a.data, ld: a.ld, transposed: a.transposed, columns: k };
        // SAFETY: the last matrix of each operand was checked, and this one starts no later. No other product writes these elements of C.
        unsafe { product_rows(isa, &rows, m, k, n, b.from(at.1), target.at(at.2), ldc, false) };
    };
    let work = count.saturating_mul(m).saturating_mul(n).saturating_mul(k.max(1));
    let threads = parallel::threads();
    if threads == 1 || count < threads || work < PARALLEL_WORK {
        (0..count).for_each(one);
    } else {
        let pieces = count.min(4 * threads);
        parallel::run(pieces, |piece| parallel::piece(count, pieces, piece).for_each(one));
    }
}

/// Computes one product, tile by tile, without packing.
///
/// # Safety
/// The CPU has the kernels' instruction set. A and B hold matrices of these sizes, of which B is not transposed and `n` is a multiple of the kernels' lanes;
/// C is writable for `m` rows of `n` columns `ldc` apart.
unsafe fn small_product<T: Element>(
    kernels: &Kernels<T, T>,
    (m, k, n): (usize, usize, usize),
    a: MatrixRef<'_, T>,
    b: MatrixRef<'_, T>,
    c: *mut T,
    ldc: usize,
) {
    let (row, step) = if a.transposed { (1, a.ld) } else { (a.ld, 1) };
    for first in (0..m).step_by(kernels.max_rows()) {
        let height = kernels.max_rows().min(m - first);
        let places: Places = (first..first + height).map(|i| i * row).collect();
        for column in (0..n).step_by(kernels.panel_width()) {
            let cols = kernels.panel_width().min(n - column);
            let tile = DirectTile {
                segments: &[Segment { a: 0, b: 0, len: k }],
                a: a.data.as_ptr(),
                rows: &places,
                step,
                // SAFETY: the caller guarantees both.
                b: unsafe { b.data.as_ptr().add(column) },
                ldb: b.ld,
                // SAFETY: as above.
                to: Destination { c: unsafe { c.add(first * ldc + column) }, ldc, cols, load: false, finish: None },
                ahead: Ahead::none(b.data.as_ptr()),
            };
            // SAFETY: the caller guarantees the memory of the tile.
            unsafe { kernels.direct(height, cols / kernels.lanes)(&tile) };
        }
    }
}

/// Asserts that different indices of these dimensions, each a size and a stride, are different elements.
fn assert_distinct(dims: impl Iterator<Item = (usize, usize)>) {
    let mut dims: SmallVec<[(usize, usize); 8]> = dims.filter(|&(size, _)| size > 1).collect();
    dims.sort_unstable_by_key(|&(_, stride)| stride);
    let mut extent = 1;
    for (size, stride) in dims {
        assert!(stride >= extent, "a stride of {stride} over {extent} elements of C");
        extent += (size - 1) * stride;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(len: usize, seed: usize) -> Vec<f32> {
        (0..len).map(|i| ((i * 7919 + seed * 31) % 101) as f32 - 50.0).collect()
    }

    /// Products of heads: matrices `[length, size]` that lie side by side in rows of `heads * size` elements, times the transposes of others.
    #[test]
    fn interleaved_matrices() {
        for (batch, heads, length, size) in [(1, 1, 1, 1), (2, 3, 5, 7), (3, 2, 33, 16), (2, 4, 70, 64)] {
            let (x, y) = (values(batch * length * heads * size, 1), values(batch * length * heads * size, 2));
            let row = heads * size;
            let repeats = [
                Repeat { size: batch, a: length * row, b: length * row, c: heads * length * length },
                Repeat { size: heads, a: size, b: size, c: length * length },
            ];
            let at = |x: &[f32], image, position, head, i| x[((image * length + position) * heads + head) * size + i];
            for threads in [1, 2] {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                let mut c = vec![f32::NAN; batch * heads * length * length];
                let a = MatrixRef { data: &x, ld: row, transposed: false };
                let b = MatrixRef { data: &y, ld: row, transposed: true };
                pool.install(|| gemm_strided(&repeats, (length, size, length), a, b, &mut c, length));
                for (i, &c) in c.iter().enumerate() {
                    let (column, rest) = (i % length, i / length);
                    let (line, head, image) = (rest % length, rest / length % heads, rest / length / heads);
                    let want: f32 = (0..size).map(|p| at(&x, image, line, head, p) * at(&y, image, column, head, p)).sum();
                    assert_eq!(c, want, "element {i} of {batch} x {heads} x {length} x {size}");
                }
            }
        }
    }

    /// Small products of both forms of A, whose results lie far from each other, as in a sum over the dimensions of capsules.
    #[test]
    fn small_products() {
        for (count, m, k, n, transposed) in
            [(3, 1, 8, 16, false), (5, 8, 8, 16, false), (4, 17, 3, 32, true), (2, 5, 0, 48, false), (3, 30, 2, 80, true)]
        {
            let (x, y) = (values(count * m * k, 1), values(count * k * n, 2));
            let repeats = [Repeat { size: count, a: m * k, b: k * n, c: n }];
            let a = MatrixRef { data: &x, ld: if transposed { m } else { k }, transposed };
            let mut c = vec![f32::NAN; m * count * n];
            gemm_strided(&repeats, (m, k, n), a, MatrixRef { data: &y, ld: n, transposed: false }, &mut c, count * n);
            for (i, &c) in c.iter().enumerate() {
                let (row, product, column) = (i / n / count, i / n % count, i % n);
                let at = |p: usize| x[product * m * k + if transposed { p * m + row } else { row * k + p }];
                let want: f32 = (0..k).map(|p| at(p) * y[product * k * n + p * n + column]).sum();
                assert_eq!(c, want, "element {i} of {count} x {m} x {k} x {n}");
            }
        }
    }

    #[test]
    #[should_panic(expected = "elements of C")]
    fn products_may_not_overlap() {
        let data = [1.0f32; 16];
        let operand = MatrixRef { data: &data, ld: 2, transposed: false };
        gemm_strided(&[Repeat { size: 2, a: 0, b: 0, c: 1 }], (2, 2, 2), operand, operand, &mut [0.0; 16], 2);
    }
}
