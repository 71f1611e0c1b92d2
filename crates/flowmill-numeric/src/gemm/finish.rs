//! The end of a tile: the epilogue, and the stores.

use crate::simd::vector::{Lanes, Portable};
#[cfg(target_arch = "x86_64")]
use crate::simd::x86::{F32x8, F32x16, F64x4, F64x8, I32x8, I32x16};

/// The part of an epilogue that is applied in registers: `clamp(acc + bias + residual)`.
#[derive(Clone, Copy)]
pub(crate) struct Finish<T> {
    /// Null, or one value per column.
    pub bias: *const T,
    /// Null, or a matrix of the shape of C.
    pub residual: *const T,
    pub ld_residual: usize,
    pub low: Option<T>,
    pub high: Option<T>,
}

impl<T> Finish<T> {
    /// Returns the epilogue for the part of C that starts at (`row`, `column`).
    #[inline]
    pub(super) fn at(self, row: usize, column: usize) -> Self {
        let place = |p: *const T, at: usize| if p.is_null() { p } else { p.wrapping_add(at) };
        Self { bias: place(self.bias, column), residual: place(self.residual, row * self.ld_residual + column), ..self }
    }
}

/// The part of C that a tile writes.
#[derive(Clone, Copy)]
pub(crate) struct Destination<T> {
    pub c: *mut T,
    pub ldc: usize,
    /// Columns of C that exist, at most as many as the tile has.
    pub cols: usize,
    /// If true, the sums start from the values in C instead of zero.
    pub load: bool,
    /// The epilogue, applied after the last range of `k`.
    pub finish: Option<Finish<T>>,
}

/// Applies the epilogue to the sums of a tile and stores them.
///
/// # Safety
/// The CPU has V's instruction set; the pointers of `to` are good for `R` rows.
#[inline(always)]
#[allow(clippy::needless_range_loop)]
pub(super) unsafe fn finish_tile<V: FinishPart, const R: usize, const P: usize, const W: usize>(
    sums: [[[V; W]; P]; R],
    to: &Destination<V::Elem>,
) {
    // Copied vector by vector: a copy of the whole array would keep the sums in memory while they are computed.
    let copy = || sums.map(|row| row.map(|panel| panel.map(|v| v)));
    // SAFETY: everything below stays inside the memory that the caller guarantees; the sums of a tile are adjacent.
    unsafe {
        if to.cols < P * W * V::LANES {
            let stored = copy();
            return V::finish_part(stored.as_ptr().cast(), R, P * W * V::LANES, to);
        }
        let mut done = copy();
        if let Some(f) = &to.finish {
            for q in 0..P {
                for w in 0..W {
                    let column = (q * W + w) * V::LANES;
                    if !f.bias.is_null() {
                        let bias = V::load(f.bias.add(column));
                        for i in 0..R {
                            done[i][q][w] = done[i][q][w].add(bias);
                        }
                    }
                    if !f.residual.is_null() {
                        for i in 0..R {
                            done[i][q][w] = done[i][q][w].add(V::load(f.residual.add(i * f.ld_residual + column)));
                        }
                    }
                    if let Some(low) = f.low {
                        for i in 0..R {
                            done[i][q][w] = V::splat(low).max(done[i][q][w]);
                        }
                    }
                    if let Some(high) = f.high {
                        for i in 0..R {
                            done[i][q][w] = V::splat(high).min(done[i][q][w]);
                        }
                    }
                }
            }
        }
        for (i, row) in done.iter().enumerate() {
            for (q, panel) in row.iter().enumerate() {
                for (w, v) in panel.iter().enumerate() {
                    v.store(to.c.add(i * to.ldc + (q * W + w) * V::LANES));
                }
            }
        }
    }
}

/// Vectors of which [`finish_part`] is compiled once, because its copies in all tiles would be a third of their code.
///
/// # Safety
/// The requirements of [`Lanes`] hold.
pub(crate) unsafe trait FinishPart: Lanes {
    /// Like [`finish_tile`], for `rows` rows of `width` sums, of which some columns do not exist in C. The width is a multiple of the vector's lanes.
    unsafe fn finish_part(sums: *const Self::Elem, rows: usize, width: usize, to: &Destination<Self::Elem>);
}

/// # Safety
/// The requirements of [`finish_tile`] hold; `sums` holds `rows` rows of `width` elements, and `width` is a multiple of V's lanes.
#[inline(always)]
unsafe fn finish_part<V: Lanes>(sums: *const V::Elem, rows: usize, width: usize, to: &Destination<V::Elem>) {
    for column in (0..to.cols).step_by(V::LANES) {
        let n = V::LANES.min(to.cols - column);
        let sums = sums.wrapping_add(column);
        let to = Destination { c: to.c.wrapping_add(column), finish: to.finish.map(|f| f.at(0, column)), ..*to };
        // SAFETY: the rows and the `n` columns lie inside the memory that the caller guarantees.
        unsafe {
            if n == V::LANES {
                finish_column::<V>(sums, rows, width, &to, |p| V::load(p), |v, p| v.store(p));
            } else {
                finish_column::<V>(sums, rows, width, &to, |p| V::load_part(p, n), |v, p| v.store_part(p, n));
            }
        }
    }
}

/// Finishes one vector of columns, those at which `sums` and `to` begin. `load` reads the columns that exist, and `store` writes them.
///
/// # Safety
/// The requirements of [`finish_part`] hold for the vector's columns.
#[inline(always)]
unsafe fn finish_column<V: Lanes>(
    sums: *const V::Elem,
    rows: usize,
    width: usize,
    to: &Destination<V::Elem>,
    load: impl Fn(*const V::Elem) -> V,
    store: impl Fn(V, *mut V::Elem),
) {
    // SAFETY: the caller guarantees that all rows exist.
    unsafe {
        let finish = to.finish.as_ref();
        let bias = finish.filter(|f| !f.bias.is_null()).map(|f| load(f.bias));
        let residual = finish.filter(|f| !f.residual.is_null()).map(|f| (f.residual, f.ld_residual));
        let low = finish.and_then(|f| f.low).map(|low| V::splat(low));
        let high = finish.and_then(|f| f.high).map(|high| V::splat(high));
        for row in 0..rows {
            let mut v = V::load(sums.add(row * width));
            if let Some(bias) = bias {
                v = v.add(bias);
            }
            if let Some((residual, ld)) = residual {
                v = v.add(load(residual.add(row * ld)));
            }
            v = low.map_or(v, |low| low.max(v));
            v = high.map_or(v, |high| high.min(v));
            store(v, to.c.add(row * to.ldc));
        }
    }
}

/// Compiles [`finish_part`] for vectors, with the features of their instruction set.
macro_rules! finish_parts {
    ($($vector:ty: [$($features:literal)?])*) => {$(
        // SAFETY: the function has the features of the vector, which the CPU has as the caller guarantees.
        unsafe impl FinishPart for $vector {
            #[inline]
            unsafe fn finish_part(sums: *const Self::Elem, rows: usize, width: usize, to: &Destination<Self::Elem>) {
                type Elem = <$vector as Lanes>::Elem;
                $(#[target_feature(enable = $features)])?
                #[inline(never)]
                unsafe fn with_features(sums: *const Elem, rows: usize, width: usize, to: &Destination<Elem>) {
                    // SAFETY: the features are enabled here, or the baseline's; the rest is the caller's duty.
                    unsafe { finish_part::<$vector>(sums, rows, width, to) }
                }
                // SAFETY: this is the caller's duty.
                unsafe { with_features(sums, rows, width, to) }
            }
        }
    )*};
}

/// Baseline vectors finish the sums of these vectors, because products of elements other than `f32` are too few for code of their own.
#[cfg(target_arch = "x86_64")]
macro_rules! finish_parts_by_baseline {
    ($($vector:ty: $baseline:ty;)*) => {$(
        // SAFETY: every CPU of the target has the baseline.
        unsafe impl FinishPart for $vector {
            #[inline]
            unsafe fn finish_part(sums: *const Self::Elem, rows: usize, width: usize, to: &Destination<Self::Elem>) {
                // SAFETY: this is the caller's duty.
                unsafe { <$baseline>::finish_part(sums, rows, width, to) }
            }
        }
    )*};
}

finish_parts! { Portable<f32, 4>: [] Portable<f64, 2>: [] Portable<i32, 4>: [] }
#[cfg(target_arch = "x86_64")]
finish_parts! {
    F32x16: ["avx512f,avx512bw,avx512cd,avx512dq,avx512vl"]
    F32x8: ["avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt"]
}
#[cfg(target_arch = "x86_64")]
finish_parts_by_baseline! {
    F64x8: Portable<f64, 2>;
    F64x4: Portable<f64, 2>;
    I32x16: Portable<i32, 4>;
    I32x8: Portable<i32, 4>;
}
