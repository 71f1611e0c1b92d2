//! Packed operands: B in column panels, rows of A in blocks.

use std::sync::atomic::{AtomicBool, Ordering};

use super::buffer::Buffer;
use super::driver::{Panels, Rows};
use super::tile::{Element, Kernels, LDA};
use crate::parallel;
use crate::simd::transpose::transpose;
use crate::simd::{Isa, isa};

/// A matrix B `[k, n]` rearranged once so that products with it stream it from memory in order.
///
/// Columns are grouped into panels of two vectors; a panel holds its columns row after row. Packing costs about as much
/// as one product with a single row, so it pays for constants (weights) and for A of more than a few rows.
#[derive(Clone)]
pub struct PackedB<T: Element = f32> {
    data: Buffer<T>,
    k: usize,
    n: usize,
    isa: Isa,
    turn: Turn,
}

/// Whether the next product with a few rows walks through the panels from their end.
#[derive(Default)]
struct Turn(AtomicBool);

impl Clone for Turn {
    fn clone(&self) -> Self {
        Self::default()
    }
}

/// From this size on a matrix does not stay in a core's second cache from one product to the next.
const WIDE_BYTES: usize = 512 << 10;

impl<T: Element> PackedB<T> {
    /// Packs row-major B: `[k, n]`, or `[n, k]` if `transposed`.
    ///
    /// # Panics
    /// If `b` has fewer than `k * n` elements.
    pub fn pack(b: &[T], k: usize, n: usize, transposed: bool) -> Self {
        Self::pack_for(isa(), b, k, n, transposed)
    }

    /// Packs the columns `columns` of a row-major matrix of `k` rows that are `ldb` apart.
    ///
    /// # Panics
    /// If `b` is too short.
    pub fn pack_columns(b: &[T], k: usize, ldb: usize, columns: std::ops::Range<usize>) -> Self {
        super::check_matrix("B", b.len(), k, columns.end, ldb);
        let (isa, n) = (isa(), columns.len());
        let kernels = &T::kernels(isa).0;
        let mut data = Buffer::zeroed(packed_len(kernels, k, n));
        pack_panels(kernels, b, ldb, false, k, columns, data.as_mut_slice());
        Self { data, k, n, isa, turn: Turn::default() }
    }

    pub(crate) fn pack_for(isa: Isa, b: &[T], k: usize, n: usize, transposed: bool) -> Self {
        let ldb = if transposed { k } else { n };
        super::check_matrix("B", b.len(), k, n, n);
        let kernels = &T::kernels(isa).0;
        let mut data = Buffer::zeroed(packed_len(kernels, k, n));
        pack_panels(kernels, b, ldb, transposed, k, 0..n, data.as_mut_slice());
        Self { data, k, n, isa, turn: Turn::default() }
    }

    /// Rows of B.
    pub fn k(&self) -> usize {
        self.k
    }

    /// Columns of B.
    pub fn n(&self) -> usize {
        self.n
    }

    /// Memory held, in bytes.
    pub fn bytes(&self) -> usize {
        size_of_val(self.data.as_slice())
    }

    /// Whether a product of `m` rows should walk through the panels from their end: every other time, where it does little else than to read
    /// them. What the product before it read last is then still in the nearer caches. No result depends on it.
    pub(crate) fn is_walked_backwards(&self, m: usize) -> bool {
        m <= self.kernels().max_rows() && self.bytes() >= WIDE_BYTES && self.turn.0.fetch_xor(true, Ordering::Relaxed)
    }

    pub(crate) fn kernels(&self) -> &'static Kernels<T> {
        &T::kernels(self.isa).0
    }

    pub(crate) fn panels(&self) -> Panels<T> {
        packed_panels(self.kernels(), self.data.as_slice(), self.k, self.n)
    }
}

impl<T: Element> std::fmt::Debug for PackedB<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "PackedB[{}, {}] for {:?}", self.k, self.n, self.isa)
    }
}

/// The width of the last panel if it is not a full one: one vector or two.
pub(crate) fn tail_width<T>(kernels: &Kernels<T>, n: usize) -> usize {
    match n % kernels.panel_width() {
        0 => 0,
        rest if rest <= kernels.lanes => kernels.lanes,
        _ => kernels.panel_width(),
    }
}

/// Elements of packed B `[k, n]`.
pub(crate) fn packed_len<T>(kernels: &Kernels<T>, k: usize, n: usize) -> usize {
    k * (n / kernels.panel_width() * kernels.panel_width() + tail_width(kernels, n))
}

/// Where the panels of packed B `[k, n]` lie.
pub(crate) fn packed_panels<T>(kernels: &Kernels<T>, data: &[T], k: usize, n: usize) -> Panels<T> {
    let width = kernels.panel_width();
    Panels {
        data: data.as_ptr(),
        ldb: width,
        panel_stride: k * width,
        tail: data[(n / width * width * k).min(data.len())..].as_ptr(),
        tail_width: tail_width(kernels, n),
    }
}

/// Elements that are packed by one piece of work at least.
const PACK_GRAIN: usize = 1 << 16;

/// Packs the columns `columns` of B into `dst`, on several threads if there is much to pack.
pub(crate) fn pack_panels<T: Element>(
    kernels: &Kernels<T>,
    b: &[T],
    ldb: usize,
    transposed: bool,
    k: usize,
    columns: std::ops::Range<usize>,
    dst: &mut [T],
) {
    let width = kernels.panel_width();
    let n = columns.len();
    if k == 0 || n == 0 {
        return;
    }
    let pack_one = |panel: usize, dst: &mut [T]| {
        let first = panel * width;
        let cols = (n - first).min(width);
        pack_panel(b, ldb, transposed, columns.start + first, cols, dst.len() / k, dst);
    };
    if k * n < 2 * PACK_GRAIN || parallel::threads() == 1 {
        for (panel, dst) in dst.chunks_mut(width * k).enumerate() {
            pack_one(panel, dst);
        }
    } else {
        let at_once = PACK_GRAIN.div_ceil(width * k);
        parallel::chunks(dst, at_once * width * k, |i, dst| {
            for (panel, dst) in dst.chunks_mut(width * k).enumerate() {
                pack_one(i * at_once + panel, dst);
            }
        });
    }
}

/// Packs `cols` columns from `first` into a panel of `width` columns; the columns that B lacks become zero.
fn pack_panel<T: Element>(b: &[T], ldb: usize, transposed: bool, first: usize, cols: usize, width: usize, dst: &mut [T]) {
    if transposed {
        transpose(&b[first * ldb..], ldb, cols, dst.len() / width, dst, width);
        for row in dst.chunks_exact_mut(width) {
            row[cols..].fill(T::zero());
        }
    } else {
        for (p, row) in dst.chunks_exact_mut(width).enumerate() {
            row[..cols].copy_from_slice(&b[p * ldb + first..][..cols]);
            row[cols..].fill(T::zero());
        }
    }
}

/// Rows of a matrix in memory.
pub(crate) struct Matrix<'a, T> {
    pub data: &'a [T],
    /// Distance of two rows, or of two columns if `transposed`.
    pub ld: usize,
    /// Element (i, p) is at `p * ld + i`.
    pub transposed: bool,
}

impl<T: Element> Rows<T> for Matrix<'_, T> {
    fn pack(&self, row0: usize, rows: usize, k0: usize, kc: usize, dst: &mut [T]) {
        if kc == 0 {
            return;
        }
        if self.transposed {
            transpose(&self.data[k0 * self.ld + row0..], self.ld, kc, rows, dst, LDA);
        } else {
            copy_rows(dst, LDA, &self.data[row0 * self.ld + k0..], self.ld, rows, kc);
        }
    }
}

crate::dispatch! {
    /// Copies `len` elements of each of `rows` rows: row `i` from `src[i * step..]` to `dst[i * ld..]`. May overwrite up to 7 more of a row
    /// in `dst` where both slices have them, which spares short rows their exact end.
    pub(crate) fn copy_rows<T>(dst: &mut [T], ld: usize, src: &[T], step: usize, rows: usize, len: usize) where [T: Copy] {
        const STEP: usize = 8;
        let rounded = len.next_multiple_of(STEP);
        for i in 0..rows {
            let (dst, src) = (&mut dst[i * ld..], &src[i * step..]);
            if rounded <= dst.len() && rounded <= src.len() {
                let (dst, _) = dst[..rounded].as_chunks_mut::<STEP>();
                let (src, _) = src[..rounded].as_chunks::<STEP>();
                for (d, s) in dst.iter_mut().zip(src) {
                    *d = *s;
                }
            } else {
                dst[..len].copy_from_slice(&src[..len]);
            }
        }
    }
}
