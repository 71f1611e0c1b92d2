//! Matrix products.
//!
//! [`gemm_packed`] multiplies with a B that was packed once (weights), as `f32` or rounded to `bfloat16` ([`PackedRhs`]); [`gemm`] and [`gemm_batch`]
//! take plain row-major operands of `f32` or `f64`, [`gemm_bf16`] of `bfloat16`; [`gemm_bytes`] multiplies quantised bytes; [`matmul_generic`] and its
//! relatives serve all other types. One driver computes all but the last: it is generic over the [`Operand`], whose tile kernels differ in how they
//! multiply (`dot`) alone. Products of `f32` with one vector have kernels of their own (`vector`).
//!
//! **Determinism.** Every element of an `f32` or `f64` product is one chain of multiply-adds in the order of `k`, fused if the CPU can fuse them.
//! So a result depends neither on the number of threads, nor on which other rows or columns are computed with it, nor on whether B was packed; AVX2
//! and AVX-512 agree too. Bias, residual and activation follow in this order, each rounded. In products of `bfloat16`, whose sums are `f32`, the chain takes
//! the elements of each pair in reverse order (1, 0, 3, 2, …), as the instructions of AVX512-BF16 do; all instruction sets but AMX agree, unless numbers are
//! denormal. AMX adds in another order: of each 32 elements of `k`, the even and the odd ones are each one chain from zero, and the sum of both chains is added
//! to the result. It always takes denormal numbers for zeros, and so must the threads that call it, as those of sessions do. Products of bytes are exact.

mod ahead;
#[cfg(target_arch = "x86_64")]
mod amx;
mod block;
mod buffer;
mod direct;
mod dot;
mod driver;
mod epilogue;
mod finish;
mod generic;
mod in_place;
mod narrow;
mod pack;
mod quantized;
mod rhs;
mod strided;
#[cfg(test)]
mod tests;
mod tile;
mod vector;

pub use epilogue::{Activation, Epilogue};
pub use generic::{Ring, matmul_complex, matmul_converted, matmul_generic};
pub use narrow::{gemm_bf16, gemm_bf16_packed, round_to_bf16};
pub use pack::PackedB;
pub use quantized::{PackedBytes, gemm_bytes};
pub use rhs::{PackedRhs, Precision};
pub use strided::{Repeat, gemm_strided};
pub use tile::{Element, Operand};

pub(crate) use buffer::Buffer;
pub use buffer::with_scratch;
pub(crate) use direct::{Ahead, DirectTile};
pub use direct::{Segment, Segments};
pub use driver::{NOWHERE, Places, Rows};
pub(crate) use finish::{Destination, Finish};
pub(crate) use pack::{copy_rows, copy_short, crowds_cache};
pub use tile::LDA;

use crate::simd::transpose::transpose;
use driver::{Job, Panels};
use narrow::Rounded;
use pack::{Beside, Matrix};

use crate::parallel;
use crate::simd::{Isa, isa};

/// Returns true if this process multiplies `bfloat16` in the tile registers of AMX.
pub(crate) fn has_amx_bf16() -> bool {
    #[cfg(target_arch = "x86_64")]
    return isa() == Isa::Avx512 && amx::extensions().bf16;
    #[cfg(not(target_arch = "x86_64"))]
    false
}

/// Asserts that `len` elements hold `rows` rows of `cols` elements that start `ld` apart.
fn check_matrix(name: &str, len: usize, rows: usize, cols: usize, ld: usize) {
    if rows == 0 || cols == 0 {
        return;
    }
    let needed = (rows - 1).checked_mul(ld).and_then(|x| x.checked_add(cols));
    assert!(
        (rows == 1 || ld >= cols) && needed.is_some_and(|needed| needed <= len),
        "{name}: {len} elements for {rows} rows of {cols} that are {ld} apart",
    );
}

/// Computes `C[m, n] = epilogue(A[m, k] B[k, n])` with packed B; rows of A are `lda` apart, rows of C `ldc`. A is rounded as B was.
///
/// The function forks on the current rayon pool if the product takes longer than about 10 µs.
///
/// # Panics
/// If a slice is too short for its shape.
pub fn gemm_packed(a: &[f32], lda: usize, m: usize, b: &PackedRhs, c: &mut [f32], ldc: usize, epilogue: &Epilogue<'_>) {
    check_matrix("A", a.len(), m, b.k(), lda);
    if let PackedRhs::F32(b) = b
        && b.n() == 1
        && ldc == 1
        && !epilogue.accumulate
        && vector::is_supported::<f32>(isa(), m, b.k())
    {
        let c = &mut c[..m];
        vector::with_vector(b.only_column(), true, b.k(), |x| vector::multiply(isa(), a, lda, x, c));
        return epilogue.apply(0, 1, c);
    }
    let a = Matrix { data: a, ld: lda, transposed: false, columns: b.k() };
    gemm_rows(&a, m, b, c, ldc, epilogue);
}

/// Like [`gemm_packed`], with rows of A from any source.
pub fn gemm_rows<A: Rows<f32>>(a: &A, m: usize, b: &PackedRhs, c: &mut [f32], ldc: usize, epilogue: &Epilogue<'_>) {
    match b {
        PackedRhs::F32(b) => multiply_packed(0, a, m, b, c, ldc, epilogue),
        PackedRhs::Bf16(b) => multiply_packed(0, &Rounded { rows: a, columns: b.k() }, m, b, c, ldc, epilogue),
    }
}

/// Computes `C[m, n] = epilogue([A1, A2] B[k, n])`, where the rows of A1 and A2 are adjacent and lie side by side. A1 has `k1` columns and A2 the
/// others. Without A1, B is used from row `k1` on. A product of `bfloat16` that starts from the sums of A1 has the bits of one product of both if `k1` is even, with
/// AMX if it is a multiple of 32.
///
/// # Panics
/// If a slice is too short for its shape, or if B has fewer than `k1` rows.
pub fn gemm_beside(a1: Option<&[f32]>, k1: usize, a2: &[f32], m: usize, b: &PackedRhs, c: &mut [f32], epilogue: &Epilogue<'_>) {
    assert!(k1 <= b.k(), "{k1} of {} rows", b.k());
    let k2 = b.k() - k1;
    check_matrix("A2", a2.len(), m, k2, k2);
    if let Some(a1) = a1 {
        check_matrix("A1", a1.len(), m, k1, k1);
        return gemm_rows(&Beside { left: a1, left_columns: k1, right: a2, right_columns: k2 }, m, b, c, b.n(), epilogue);
    }
    let right = Matrix { data: a2, ld: k2, transposed: false, columns: k2 };
    match b {
        PackedRhs::F32(b) => multiply_packed(k1, &right, m, b, c, b.n(), epilogue),
        PackedRhs::Bf16(b) if k1.is_multiple_of(2) => {
            multiply_packed(k1 / 2, &Rounded { rows: &right, columns: k2 }, m, b, c, b.n(), epilogue);
        }
        PackedRhs::Bf16(b) => {
            // The first step has a row of B that belongs to A1.
            let zeros = vec![0.0; m];
            let rows = Beside { left: &zeros, left_columns: 1, right: a2, right_columns: k2 };
            multiply_packed(k1 / 2, &Rounded { rows: &rows, columns: k2 + 1 }, m, b, c, b.n(), epilogue);
        }
    }
}

/// Computes the product of rows of steps with B from its step `first` on.
fn multiply_packed<T: Operand<Sum = f32>, A: Rows<T::Step>>(
    first: usize,
    a: &A,
    m: usize,
    b: &PackedB<T>,
    c: &mut [f32],
    ldc: usize,
    epilogue: &Epilogue<'_>,
) {
    check_matrix("C", c.len(), m, b.n(), ldc);
    let finish = epilogue.finish(m, b.n());
    if m == 0 || b.n() == 0 {
        return;
    }
    let activation = |x: &mut [f32]| epilogue.activation.apply(x);
    let job = Job::<T, A> {
        kernels: b.kernels(),
        a,
        m,
        k: b.steps() - first,
        n: b.n(),
        b: b.panels_from(first),
        c: c.as_mut_ptr(),
        ldc,
        load: epilogue.accumulate,
        finish,
        then: epilogue.activation.needs_pass().then_some(&activation),
        backwards: b.is_walked_backwards(m),
    };
    // SAFETY: `PackedB` holds the panels of a `[k, n]` matrix; `c` and the epilogue's operands were checked to cover
    // `m` rows of `n` columns, and `c` is borrowed exclusively.
    unsafe { job.run() };
}

/// A plain matrix operand: row-major `[rows, cols]`, or stored as its transpose.
#[derive(Debug)]
pub struct MatrixRef<'a, T> {
    /// The elements.
    pub data: &'a [T],
    /// The distance between two stored rows.
    pub ld: usize,
    /// If true, the stored rows are the operand's columns.
    pub transposed: bool,
}

impl<T> Clone for MatrixRef<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for MatrixRef<'_, T> {}

impl<T> MatrixRef<'_, T> {
    /// Returns the operand that starts `offset` elements later.
    fn from(self, offset: usize) -> Self {
        Self { data: self.data.get(offset..).unwrap_or_default(), ..self }
    }

    fn check(&self, name: &str, rows: usize, cols: usize) {
        let (rows, cols) = if self.transposed { (cols, rows) } else { (rows, cols) };
        check_matrix(name, self.data.len(), rows, cols, self.ld);
    }
}

/// A product of at most this many rows reads a row-major B in place instead of packing it first, which took up to two thirds of the time.
const DIRECT_ROWS: usize = 64;
/// Like [`DIRECT_ROWS`], if the rows of B are longer than [`LONG_ROW`]: then packing was measured to take less time than to read far apart more than once.
const DIRECT_ROWS_IF_LONG: usize = 6;
/// The most elements between rows of B that are near each other.
const LONG_ROW: usize = 2048;
/// A product of so many rows with a transposed B is computed as the transpose of the product of B and the transposed A.
const SWAPPED_ROWS: std::ops::RangeInclusive<usize> = 8..=64;
/// The least columns of such a product.
const LEAST_SWAPPED_COLUMNS: usize = 128;
/// The most bytes of B that are packed at a time.
const PACK_BYTES: usize = 4 << 20;

/// Computes `C[m, n] = A[m, k] B[k, n]`, or `C += A B` with `accumulate`; rows of C are `ldc` apart.
///
/// The function forks on the current rayon pool if the product takes longer than about 10 µs.
///
/// # Panics
/// If a slice is too short for its shape.
#[allow(clippy::too_many_arguments)]
pub fn gemm<T: Element>(m: usize, k: usize, n: usize, a: MatrixRef<'_, T>, b: MatrixRef<'_, T>, c: &mut [T], ldc: usize, accumulate: bool) {
    gemm_for(isa(), m, k, n, a, b, c, ldc, accumulate);
}

#[allow(clippy::too_many_arguments)]
fn gemm_for<T: Element>(
    isa: Isa,
    m: usize,
    k: usize,
    n: usize,
    a: MatrixRef<'_, T>,
    b: MatrixRef<'_, T>,
    c: &mut [T],
    ldc: usize,
    accumulate: bool,
) {
    a.check("A", m, k);
    if n == 1 && ldc == 1 && !a.transposed && !accumulate && vector::is_supported::<T>(isa, m, k) {
        b.check("B", k, n);
        return vector::with_vector(b, true, k, |x| vector::multiply(isa, a.data, a.ld, x, &mut c[..m]));
    }
    if m == 1 && b.transposed && !accumulate && vector::is_supported::<T>(isa, n, k) {
        b.check("B", k, n);
        return vector::with_vector(a, false, k, |x| vector::multiply(isa, b.data, b.ld, x, &mut c[..n]));
    }
    if b.transposed && !accumulate && SWAPPED_ROWS.contains(&m) && n >= LEAST_SWAPPED_COLUMNS {
        b.check("B", k, n);
        check_matrix("C", c.len(), m, n, ldc);
        // Rows of the stored B are read in place, and A, which is small, is packed.
        let rows = Matrix { data: b.data, ld: b.ld, transposed: false, columns: k };
        let columns = MatrixRef { transposed: !a.transposed, ..a };
        return with_scratch(n * m, |swapped: &mut [T]| {
            multiply_rows_for(isa, &rows, n, k, m, columns, swapped, m, false);
            transpose(swapped, m, n, m, c, ldc);
        });
    }
    let rows = Matrix { data: a.data, ld: a.ld, transposed: a.transposed, columns: k };
    multiply_rows_for(isa, &rows, m, k, n, b, c, ldc, accumulate);
}

/// Computes `C = A B`, or `C += A B` with `accumulate`, with rows of A from any source and plain B; rows of C are `ldc` apart.
#[allow(clippy::too_many_arguments)]
pub(crate) fn multiply_rows<A: Rows<f32>>(
    a: &A,
    m: usize,
    k: usize,
    n: usize,
    b: MatrixRef<'_, f32>,
    c: &mut [f32],
    ldc: usize,
    accumulate: bool,
) {
    multiply_rows_for(isa(), a, m, k, n, b, c, ldc, accumulate);
}

#[allow(clippy::too_many_arguments)]
fn multiply_rows_for<T: Element, A: Rows<T>>(
    isa: Isa,
    a: &A,
    m: usize,
    k: usize,
    n: usize,
    b: MatrixRef<'_, T>,
    c: &mut [T],
    ldc: usize,
    accumulate: bool,
) {
    b.check("B", k, n);
    check_matrix("C", c.len(), m, n, ldc);
    if m > 0 && n > 0 {
        // SAFETY: all operands were checked just now.
        unsafe { product_rows(isa, a, m, k, n, b, c.as_mut_ptr(), ldc, accumulate) };
    }
}

/// Computes the product with plain B, which is read in place if A has few rows, and is otherwise packed a few megabytes at a time.
///
/// # Safety
/// `b` was checked to be `[k, n]`; `c` is writable for `m >= 1` rows of `n >= 1` columns, which nothing else uses; the CPU has `isa`.
#[allow(clippy::too_many_arguments)]
unsafe fn product_rows<T: Element, A: Rows<T>>(
    isa: Isa,
    a: &A,
    m: usize,
    k: usize,
    n: usize,
    b: MatrixRef<'_, T>,
    c: *mut T,
    ldc: usize,
    accumulate: bool,
) {
    let kernels = &T::kernels(isa).0;
    let width = kernels.panel_width();
    let product = |columns: std::ops::Range<usize>, panels: Panels<T>| {
        let job = Job::<T, A> {
            kernels,
            a,
            m,
            k,
            n: columns.len(),
            b: panels,
            c: c.wrapping_add(columns.start),
            ldc,
            load: accumulate,
            finish: None,
            then: None,
            backwards: false,
        };
        // SAFETY: the panels hold `columns` of B for `k` rows; C was checked and is borrowed exclusively.
        unsafe { job.run() };
    };
    let mut first = 0;
    let direct_rows = if b.ld > LONG_ROW { DIRECT_ROWS_IF_LONG } else { DIRECT_ROWS };
    if !b.transposed && m <= direct_rows && k > 0 && n >= width {
        first = n / width * width;
        let panels = Panels { data: b.data.as_ptr(), ldb: b.ld, panel_stride: width, tail: std::ptr::null(), tail_width: 0 };
        product(0..first, panels);
    }
    let round = (PACK_BYTES / size_of::<T>() / k.max(1)).max(width) / width * width;
    while first < n {
        let columns = first..n.min(first + round);
        with_scratch(pack::packed_len(kernels, k, columns.len()), |packed: &mut [T]| {
            pack::pack_panels(kernels, b.data, b.ld, b.transposed, k, columns.clone(), packed);
            product(columns.clone(), pack::packed_panels(kernels, packed, k, columns.len()));
        });
        first = columns.end;
    }
}

/// Computes `batch` products `C[i] = A[i] B[i]` of one shape.
///
/// Matrix `i` of an operand `(first, stride)` starts `i * stride` elements after the first; with a stride of 0 all products use the same
/// matrix. The matrices of C are dense and adjacent.
/// Large batches are split over the threads, small ones split each product.
///
/// # Panics
/// If a slice is too short.
#[allow(clippy::too_many_arguments)]
pub fn gemm_batch<T: Element>(
    batch: usize,
    m: usize,
    k: usize,
    n: usize,
    a: (MatrixRef<'_, T>, usize),
    b: (MatrixRef<'_, T>, usize),
    c: &mut [T],
) {
    let size = m * n;
    assert!(batch.checked_mul(size).is_some_and(|len| len <= c.len()), "C: {} elements for {batch} of {m} x {n}", c.len());
    if size == 0 || batch == 0 {
        return;
    }
    let one = |i: usize, c: &mut [T]| {
        let (a, b) = (a.0.from(i * a.1), b.0.from(i * b.1));
        gemm(m, k, n, a, b, c, n, false);
    };
    let work = batch.saturating_mul(m).saturating_mul(n).saturating_mul(k.max(1));
    let pieces = parallel::threads().min(batch);
    if batch == 1 || pieces == 1 || work < 500_000 || batch < parallel::threads() {
        for (i, c) in c.chunks_exact_mut(size).take(batch).enumerate() {
            one(i, c);
        }
    } else {
        let at_once = batch.div_ceil(4 * pieces);
        parallel::chunks(&mut c[..batch * size], at_once * size, |i, c| {
            for (j, c) in c.chunks_exact_mut(size).enumerate() {
                one(i * at_once + j, c);
            }
        });
    }
}
