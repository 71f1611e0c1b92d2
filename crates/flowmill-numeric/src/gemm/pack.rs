//! Packing of operands: B into column panels, rows of A into blocks.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use smallvec::{SmallVec, smallvec};

use super::MatrixRef;
use super::buffer::Buffer;
use super::direct::{Segment, Segments};
use super::driver::{Panels, Places, Rows};
use super::tile::{Element, Kernels, LDA, Operand, per_step};
use crate::parallel;
use crate::simd::transpose::transpose;
use crate::simd::{Isa, isa};

/// A matrix B `[k, n]` that is rearranged once so that products read it from memory in order.
///
/// Columns are grouped into panels of two vectors; a panel stores its columns row after row. For narrow types a row is one of steps: the elements of a
/// column that a tile multiplies at a time are adjacent. Packing costs about as much
/// as one product with a single row, so it pays for constants (weights) and for A of more than a few rows.
#[derive(Clone)]
pub struct PackedB<T: Operand = f32> {
    data: Buffer<T::Step>,
    k: usize,
    n: usize,
    kernels: &'static Kernels<T::Step, T::Sum>,
    direction: Direction,
}

/// The direction in which the next product of a few rows processes the panels: true for last to first.
#[derive(Default)]
struct Direction(AtomicBool);

impl Clone for Direction {
    fn clone(&self) -> Self {
        Self::default()
    }
}

/// The size in bytes from which a matrix does not stay in a core's L2 cache from one product to the next.
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
    pub fn pack_columns(b: &[T], k: usize, ldb: usize, columns: Range<usize>) -> Self {
        super::check_matrix("B", b.len(), k, columns.end, ldb);
        let (kernels, n) = (&T::kernels(isa()).0, columns.len());
        let mut data = Buffer::zeroed(packed_len(kernels, k, n));
        pack_panels(kernels, b, ldb, false, k, columns, data.as_mut_slice());
        Self { data, k, n, kernels, direction: Direction::default() }
    }

    /// Packs B whose stored rows are `ldb` apart: rows of B, or columns if `transposed`.
    ///
    /// # Panics
    /// If `b` is too short.
    pub fn pack_strided(b: &[T], ldb: usize, k: usize, n: usize, transposed: bool) -> Self {
        let (rows, columns) = if transposed { (n, k) } else { (k, n) };
        super::check_matrix("B", b.len(), rows, columns, ldb);
        let kernels = &T::kernels(isa()).0;
        let mut data = Buffer::zeroed(packed_len(kernels, k, n));
        pack_panels(kernels, b, ldb, transposed, k, 0..n, data.as_mut_slice());
        Self { data, k, n, kernels, direction: Direction::default() }
    }

    pub(crate) fn pack_for(isa: Isa, b: &[T], k: usize, n: usize, transposed: bool) -> Self {
        let ldb = if transposed { k } else { n };
        super::check_matrix("B", b.len(), k, n, n);
        let kernels = &T::kernels(isa).0;
        let mut data = Buffer::zeroed(packed_len(kernels, k, n));
        pack_panels(kernels, b, ldb, transposed, k, 0..n, data.as_mut_slice());
        Self { data, k, n, kernels, direction: Direction::default() }
    }

    /// Packs `count` matrices of `k` rows and `n` columns at once. `fill(row, columns, parts)` sets `parts[i]` to these columns of a row of matrix `i`;
    /// parts may be longer than the columns.
    pub(crate) fn pack_many(
        isa: Isa,
        count: usize,
        k: usize,
        n: usize,
        mut fill: impl FnMut(usize, Range<usize>, &mut [&mut [T]]),
    ) -> Vec<Self> {
        let kernels = &T::kernels(isa).0;
        let mut buffers: Vec<Buffer<T>> = (0..count).map(|_| Buffer::zeroed(packed_len(kernels, k, n))).collect();
        for first in (0..if k > 0 { n } else { 0 }).step_by(kernels.panel_width()) {
            let columns = first..n.min(first + kernels.panel_width());
            let width = if columns.len() == kernels.panel_width() { columns.len() } else { tail_width(kernels, n) };
            let mut panels: Vec<_> =
                buffers.iter_mut().map(|b| b.as_mut_slice()[first * k..][..k * width].chunks_exact_mut(width)).collect();
            for row in 0..k {
                let mut parts: SmallVec<[&mut [T]; 36]> = panels.iter_mut().filter_map(Iterator::next).collect();
                fill(row, columns.clone(), &mut parts);
            }
        }
        buffers.into_iter().map(|data| Self { data, k, n, kernels, direction: Direction::default() }).collect()
    }
}

impl<T: Operand> PackedB<T> {
    /// Packs the columns `columns` of B `[k, ..]`, each element converted.
    ///
    /// # Panics
    /// If `b` is too short.
    pub fn pack_converted<S: Copy + Sync>(b: MatrixRef<'_, S>, k: usize, columns: Range<usize>, convert: impl Fn(S) -> T + Sync) -> Self {
        Self::pack_converted_for(&T::kernels(isa()).0, b, k, columns, convert)
    }

    /// Like [`PackedB::pack_converted`], for these kernels.
    pub(crate) fn pack_converted_for<S: Copy + Sync>(
        kernels: &'static Kernels<T::Step, T::Sum>,
        b: MatrixRef<'_, S>,
        k: usize,
        columns: Range<usize>,
        convert: impl Fn(S) -> T + Sync,
    ) -> Self {
        b.check("B", k, columns.end);
        let (steps, n, width) = (k.div_ceil(per_step::<T>()), columns.len(), kernels.panel_width());
        let mut data = Buffer::zeroed(packed_len(kernels, steps, n));
        if k > 0 && n > 0 {
            let at_once = PACK_GRAIN.div_ceil(width * k);
            parallel::chunks(data.as_mut_slice(), at_once * width * steps, |i, dst| {
                for (panel, dst) in dst.chunks_mut(width * steps).enumerate() {
                    let first = (i * at_once + panel) * width;
                    let columns = columns.start + first..columns.end.min(columns.start + first + width);
                    pack_steps(b, k, columns, dst.len() / steps, bytemuck::cast_slice_mut(dst), per_step::<T>(), &convert);
                }
            });
        }
        Self { data, k, n, kernels, direction: Direction::default() }
    }

    /// Returns the number of rows of B.
    pub fn k(&self) -> usize {
        self.k
    }

    /// Returns the number of steps that a column consists of.
    pub(crate) fn steps(&self) -> usize {
        self.k.div_ceil(per_step::<T>())
    }

    /// Returns the number of columns of B.
    pub fn n(&self) -> usize {
        self.n
    }

    /// Returns the size of the packed matrix in bytes.
    pub fn bytes(&self) -> usize {
        size_of_val(self.data.as_slice())
    }

    /// Returns true if a product of `m` rows should process the panels from last to first. That is so for every other product of a few rows, whose
    /// time is mostly spent reading the panels: the panels that the previous product read last are then still in the L2 cache. No result depends on
    /// the direction.
    pub(crate) fn is_walked_backwards(&self, m: usize) -> bool {
        m <= self.kernels().max_rows() && self.bytes() >= WIDE_BYTES && self.direction.0.fetch_xor(true, Ordering::Relaxed)
    }

    pub(crate) fn kernels(&self) -> &'static Kernels<T::Step, T::Sum> {
        self.kernels
    }

    pub(crate) fn panels(&self) -> Panels<T::Step> {
        packed_panels(self.kernels, self.data.as_slice(), self.steps(), self.n)
    }

    /// Returns the panels without the first steps of B. `first` is at most the number of steps.
    pub(crate) fn panels_from(&self, first: usize) -> Panels<T::Step> {
        let all = self.panels();
        // Both stay within the buffer, or one past its end, and are not read if no row is left.
        Panels { data: all.data.wrapping_add(first * all.ldb), tail: all.tail.wrapping_add(first * all.tail_width), ..all }
    }
}

impl<T: Element> PackedB<T> {
    /// Returns the matrix of one column.
    pub(crate) fn only_column(&self) -> MatrixRef<'_, T> {
        MatrixRef { data: self.data.as_slice(), ld: self.panels().tail_width, transposed: false }
    }
}

impl<T: Operand> std::fmt::Debug for PackedB<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "PackedB<{}>[{}, {}]", std::any::type_name::<T>(), self.k, self.n)
    }
}

/// Returns the width of the last panel if it is not a full one: one or two vectors.
pub(crate) fn tail_width<S, C>(kernels: &Kernels<S, C>, n: usize) -> usize {
    match n % kernels.panel_width() {
        0 => 0,
        rest if rest <= kernels.lanes => kernels.lanes,
        _ => kernels.panel_width(),
    }
}

/// Returns the number of elements of packed B of `k` steps and `n` columns.
pub(crate) fn packed_len<S, C>(kernels: &Kernels<S, C>, k: usize, n: usize) -> usize {
    k * (n / kernels.panel_width() * kernels.panel_width() + tail_width(kernels, n))
}

/// Returns the panels of packed B of `k` steps and `n` columns.
pub(crate) fn packed_panels<S, C>(kernels: &Kernels<S, C>, data: &[S], k: usize, n: usize) -> Panels<S> {
    let width = kernels.panel_width();
    Panels {
        data: data.as_ptr(),
        ldb: width,
        panel_stride: k * width,
        tail: data[(n / width * width * k).min(data.len())..].as_ptr(),
        tail_width: tail_width(kernels, n),
    }
}

/// The least number of elements per packing task.
const PACK_GRAIN: usize = 1 << 16;

/// Packs the columns `columns` of B into `dst`, on several threads if there is much to pack.
pub(crate) fn pack_panels<T: Element>(
    kernels: &Kernels<T, T>,
    b: &[T],
    ldb: usize,
    transposed: bool,
    k: usize,
    columns: Range<usize>,
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

/// Packs `cols` columns from `first` into a panel of `width` columns; columns that B does not have become zero.
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

/// Packs `columns` into a panel of `width` zeros, converted; `per` elements of a column are adjacent.
fn pack_steps<S: Copy, T: Copy>(
    b: MatrixRef<'_, S>,
    k: usize,
    columns: Range<usize>,
    width: usize,
    dst: &mut [T],
    per: usize,
    convert: impl Fn(S) -> T,
) {
    let place = |row: usize, column: usize| (row / per * width + column) * per + row % per;
    if b.transposed {
        for (j, column) in columns.enumerate() {
            for (p, &x) in b.data[column * b.ld..][..k].iter().enumerate() {
                dst[place(p, j)] = convert(x);
            }
        }
    } else {
        for p in 0..k {
            for (j, &x) in b.data[p * b.ld..][columns.clone()].iter().enumerate() {
                dst[place(p, j)] = convert(x);
            }
        }
    }
}

/// The rows of a plain matrix, as a source of rows of A.
pub(crate) struct Matrix<'a, T> {
    pub data: &'a [T],
    /// The distance between two rows, or between two columns if `transposed`.
    pub ld: usize,
    /// If true, element (i, p) is at `p * ld + i`.
    pub transposed: bool,
    pub columns: usize,
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

    fn in_place(&self) -> Option<(&[T], Segments)> {
        (!self.transposed).then(|| (self.data, smallvec![Segment { a: 0, b: 0, len: self.columns }]))
    }

    fn crowds_cache(&self) -> bool {
        crowds_cache::<T>(self.ld)
    }

    fn add_places(&self, rows: Range<usize>, places: &mut Places) {
        places.extend(rows.map(|row| row * self.ld));
    }
}

/// Returns true if rows that begin `step` elements apart all compete for the same lines of a core's L1 cache, so that they are better packed. Rows
/// 1,024 or 2,048 bytes apart have a quarter or half of the lines of a tile each, which is enough.
pub(crate) fn crowds_cache<T>(step: usize) -> bool {
    (step * size_of::<T>()).is_multiple_of(4096)
}

/// Two matrices of adjacent rows, side by side.
pub(crate) struct Beside<'a, T> {
    pub left: &'a [T],
    pub left_columns: usize,
    pub right: &'a [T],
    pub right_columns: usize,
}

impl<T: Element> Rows<T> for Beside<'_, T> {
    fn pack(&self, row0: usize, rows: usize, k0: usize, kc: usize, dst: &mut [T]) {
        let from_left = self.left_columns.saturating_sub(k0).min(kc);
        if from_left > 0 {
            let left = Matrix { data: self.left, ld: self.left_columns, transposed: false, columns: self.left_columns };
            left.pack(row0, rows, k0, from_left, dst);
        }
        if from_left < kc {
            let right = Matrix { data: self.right, ld: self.right_columns, transposed: false, columns: self.right_columns };
            right.pack(row0, rows, (k0 + from_left) - self.left_columns, kc - from_left, &mut dst[from_left..]);
        }
    }
}

/// Copies `len` elements from the start of `src` to that of `dst`. Up to 7 more elements of `dst` are overwritten if both slices have them, so that few elements
/// are copied without their exact number.
#[inline(always)]
pub(crate) fn copy_short<T: Copy>(dst: &mut [T], src: &[T], len: usize) {
    const STEP: usize = 8;
    let rounded = len.next_multiple_of(STEP);
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

crate::dispatch! {
    /// Copies `len` elements of each of `rows` rows: row `i` from `src[i * step..]` to `dst[i * ld..]`, by [`copy_short`].
    pub(crate) fn copy_rows<T>(dst: &mut [T], ld: usize, src: &[T], step: usize, rows: usize, len: usize) where [T: Copy] {
        for i in 0..rows {
            copy_short(&mut dst[i * ld..], &src[i * step..], len);
        }
    }
}
