//! Transposition of matrices in memory.

use bytemuck::Pod;

use super::{Isa, isa};

/// Computes `dst[p * ld_dst + j] = src[j * ld_src + p]` for `j < rows`, `p < cols`.
///
/// Elements of four bytes are moved in blocks of 8 x 8 through vector registers if the CPU has AVX2.
///
/// # Panics
/// If a slice is too short, or the distance between rows is smaller than a row.
pub fn transpose<T: Pod>(src: &[T], ld_src: usize, rows: usize, cols: usize, dst: &mut [T], ld_dst: usize) {
    if rows == 0 || cols == 0 {
        return;
    }
    let fits = |len: usize, rows: usize, cols: usize, ld: usize| {
        (rows == 1 || cols <= ld) && (rows - 1).checked_mul(ld).is_some_and(|last| last + cols <= len)
    };
    assert!(fits(src.len(), rows, cols, ld_src), "{} elements for {rows} x {cols}", src.len());
    assert!(fits(dst.len(), cols, rows, ld_dst), "{} elements for {cols} x {rows}", dst.len());
    let mut done = (0, 0);
    #[cfg(target_arch = "x86_64")]
    if size_of::<T>() == 4 && isa() >= Isa::Avx2 {
        done = (rows / 8 * 8, cols / 8 * 8);
        let (src, dst) = (src.as_ptr().cast::<f32>(), dst.as_mut_ptr().cast::<f32>());
        // SAFETY: the CPU has AVX2; elements are plain data of four bytes, and both matrices lie inside their slices.
        unsafe { x86::blocks(src, ld_src, done.0, done.1, dst, ld_dst) };
    }
    // The blocks leave the last columns of all rows, then the last rows of the other columns.
    plain(src, ld_src, 0..rows, done.1..cols, dst, ld_dst);
    plain(src, ld_src, done.0..rows, 0..done.1, dst, ld_dst);
}

/// Transposes a part of the matrix, in blocks that keep both sides in the cache.
fn plain<T: Copy>(src: &[T], ld_src: usize, rows: std::ops::Range<usize>, cols: std::ops::Range<usize>, dst: &mut [T], ld_dst: usize) {
    const BLOCK: usize = 16;
    for p0 in cols.clone().step_by(BLOCK) {
        for j0 in rows.clone().step_by(BLOCK) {
            let j1 = rows.end.min(j0 + BLOCK);
            for p in p0..cols.end.min(p0 + BLOCK) {
                let mut from = j0 * ld_src + p;
                for to in &mut dst[p * ld_dst + j0..p * ld_dst + j1] {
                    *to = src[from];
                    from += ld_src;
                }
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
pub(crate) mod x86 {
    use core::arch::x86_64::*;

    /// The number of elements in a cache line.
    const LINE: usize = 16;

    /// Transposes blocks of 8 x 8; `rows` and `cols` are multiples of 8.
    ///
    /// Blocks that share cache lines, of either matrix, follow each other: with rows that are a multiple of 4 KiB apart, all lines of a column have
    /// the same place in the cache, which holds only few of them.
    ///
    /// # Safety
    /// The CPU has AVX2; the pointers are good for the matrices.
    #[target_feature(enable = "avx2")]
    pub(super) unsafe fn blocks(src: *const f32, ld_src: usize, rows: usize, cols: usize, dst: *mut f32, ld_dst: usize) {
        for line in (0..cols).step_by(LINE) {
            for tile in (0..rows).step_by(LINE) {
                for j in (tile..rows.min(tile + LINE)).step_by(8) {
                    for p in (line..cols.min(line + LINE)).step_by(8) {
                        // SAFETY: the block lies inside both matrices.
                        unsafe { block(src.add(j * ld_src + p), ld_src, dst.add(p * ld_dst + j), ld_dst) };
                    }
                }
            }
        }
    }

    /// Transposes one block of 8 x 8.
    ///
    /// # Safety
    /// The CPU has AVX2; 8 rows of 8 elements are readable at `src` and writable at `dst`.
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn block(src: *const f32, ld_src: usize, dst: *mut f32, ld_dst: usize) {
        // SAFETY: the caller guarantees it.
        unsafe {
            for (c, column) in columns(src, ld_src).into_iter().enumerate() {
                _mm256_storeu_ps(dst.add(c * ld_dst), column);
            }
        }
    }

    /// Returns the columns of a block of 8 x 8.
    ///
    /// # Safety
    /// The CPU has AVX2; 8 rows of 8 elements are readable at `src`.
    #[inline]
    #[target_feature(enable = "avx2")]
    pub(crate) unsafe fn columns(src: *const f32, ld: usize) -> [__m256; 8] {
        // SAFETY: the caller guarantees it.
        let r = |i: usize| unsafe { _mm256_loadu_ps(src.add(i * ld)) };
        // Interleave pairs of rows: (0, 1), (2, 3), ...
        let low = |i: usize| _mm256_unpacklo_ps(r(2 * i), r(2 * i + 1));
        let high = |i: usize| _mm256_unpackhi_ps(r(2 * i), r(2 * i + 1));
        let (l0, l1, l2, l3) = (low(0), low(1), low(2), low(3));
        let (h0, h1, h2, h3) = (high(0), high(1), high(2), high(3));
        // Columns c of rows 0..4 (low half) and c + 4 (high half); then the same of rows 4..8.
        let a = [
            _mm256_shuffle_ps::<0x44>(l0, l1),
            _mm256_shuffle_ps::<0xee>(l0, l1),
            _mm256_shuffle_ps::<0x44>(h0, h1),
            _mm256_shuffle_ps::<0xee>(h0, h1),
        ];
        let b = [
            _mm256_shuffle_ps::<0x44>(l2, l3),
            _mm256_shuffle_ps::<0xee>(l2, l3),
            _mm256_shuffle_ps::<0x44>(h2, h3),
            _mm256_shuffle_ps::<0xee>(h2, h3),
        ];
        let near = |c: usize| _mm256_permute2f128_ps::<0x20>(a[c], b[c]);
        let far = |c: usize| _mm256_permute2f128_ps::<0x31>(a[c], b[c]);
        [near(0), near(1), near(2), near(3), far(0), far(1), far(2), far(3)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check<T: Pod + PartialEq + std::fmt::Debug>(rows: usize, cols: usize, value: impl Fn(usize) -> T) {
        let (ld_src, ld_dst) = (cols + 3, rows + 2);
        let src: Vec<T> = (0..rows * ld_src).map(&value).collect();
        let untouched = value(usize::MAX);
        let mut dst = vec![untouched; cols * ld_dst];
        transpose(&src, ld_src, rows, cols, &mut dst, ld_dst);
        for (i, got) in dst.iter().enumerate() {
            let (p, j) = (i / ld_dst, i % ld_dst);
            assert_eq!(*got, if j < rows { src[j * ld_src + p] } else { untouched });
        }
    }

    #[test]
    fn every_element_moves() {
        for (rows, cols) in [(1, 1), (8, 8), (3, 40), (40, 3), (17, 23), (64, 32), (75, 90), (136, 40), (0, 5), (5, 0)] {
            check(rows, cols, |i| i as f32);
            check(rows, cols, |i| i as u32);
            check(rows, cols, |i| i as f64);
            check(rows, cols, |i| i as u8);
        }
    }
}
