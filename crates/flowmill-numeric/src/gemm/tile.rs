//! The register-tile kernels: a few rows of A times a few panels of B.
//!
//! Each element of C is one chain of multiply-adds in the order of `k`, started from zero or from the old value of C.
//! The choice of tile, panel, block or thread does not change that chain, so it does not change a bit of the result.

use super::direct::{DirectFn, DirectTile, direct_tile};
use crate::simd::Isa;
use crate::simd::vector::{Portable, Vector};

/// The longest range of `k` per tile call: a block of A (`MR x KC`) and of B (`KC x NR`) stay in L1/L2.
pub(crate) const KC: usize = 256;

/// The distance between two rows in a packed block of A. It is constant, so that a tile reaches all its rows from one pointer, and not a power of
/// two, so that rows do not compete for one set of the L1 cache.
pub const LDA: usize = KC + 16;

/// The operands of one tile call.
#[derive(Clone, Copy)]
pub(crate) struct Tile<T> {
    pub k: usize,
    /// The packed block of A; row `i` is at `a + i * LDA`.
    pub a: *const T,
    /// The first panel of B; row `p` is at `b + p * ldb`.
    pub b: *const T,
    pub ldb: usize,
    pub panel_stride: usize,
    pub c: *mut T,
    pub ldc: usize,
    /// Columns of C that exist, at most as many as the panels hold.
    pub cols: usize,
    /// If true, the sums start from the values in C instead of zero.
    pub load: bool,
    /// The epilogue, applied after the last range of `k`.
    pub finish: Option<Finish<T>>,
}

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

/// # Safety
/// The CPU has V's instruction set; the pointers of `t` are good for `R` rows, `t.cols` columns (of B: whole
/// panels) and `t.k` steps; `t.k <= KC`; `t.cols` reaches into the last of the `P` panels of `W` vectors.
#[inline(always)]
#[allow(clippy::needless_range_loop)]
unsafe fn tile<V: Vector, const R: usize, const P: usize, const W: usize>(t: &Tile<V::Elem>) {
    // SAFETY: everything below stays inside the memory that the caller guarantees.
    unsafe {
        let whole = t.cols == P * W * V::LANES;
        // The number of existing columns in vector `w` of panel `q`.
        let columns = |q: usize, w: usize| t.cols.saturating_sub((q * W + w) * V::LANES).min(V::LANES);

        let mut start = [[[V::zero(); W]; P]; R];
        if t.load {
            for (i, row) in start.iter_mut().enumerate() {
                for (q, panel) in row.iter_mut().enumerate() {
                    for (w, v) in panel.iter_mut().enumerate() {
                        let c = t.c.add(i * t.ldc + (q * W + w) * V::LANES);
                        *v = if whole { V::load(c) } else { V::load_part(c, columns(q, w)) };
                    }
                }
            }
        }
        // A separate variable that is indexed by constants only, so that the compiler keeps it in registers.
        let mut acc = start;

        let (mut a, mut b) = (t.a, t.b);
        for _ in 0..t.k {
            let mut bs = [[V::zero(); W]; P];
            for q in 0..P {
                for w in 0..W {
                    bs[q][w] = V::load(b.add(q * t.panel_stride + w * V::LANES));
                }
            }
            for i in 0..R {
                let x = V::splat(*a.add(i * LDA));
                for q in 0..P {
                    for w in 0..W {
                        acc[i][q][w] = x.mul_add(bs[q][w], acc[i][q][w]);
                    }
                }
            }
            a = a.add(1);
            b = b.add(t.ldb);
        }

        let mut done = acc;
        if let Some(f) = &t.finish {
            if !f.bias.is_null() {
                for q in 0..P {
                    for w in 0..W {
                        let p = f.bias.add((q * W + w) * V::LANES);
                        let bias = if whole { V::load(p) } else { V::load_part(p, columns(q, w)) };
                        for i in 0..R {
                            done[i][q][w] = done[i][q][w].add(bias);
                        }
                    }
                }
            }
            if !f.residual.is_null() {
                for i in 0..R {
                    for q in 0..P {
                        for w in 0..W {
                            let p = f.residual.add(i * f.ld_residual + (q * W + w) * V::LANES);
                            let old = if whole { V::load(p) } else { V::load_part(p, columns(q, w)) };
                            done[i][q][w] = done[i][q][w].add(old);
                        }
                    }
                }
            }
            if let Some(low) = f.low {
                let low = V::splat(low);
                for i in 0..R {
                    for q in 0..P {
                        for w in 0..W {
                            done[i][q][w] = low.max(done[i][q][w]);
                        }
                    }
                }
            }
            if let Some(high) = f.high {
                let high = V::splat(high);
                for i in 0..R {
                    for q in 0..P {
                        for w in 0..W {
                            done[i][q][w] = high.min(done[i][q][w]);
                        }
                    }
                }
            }
        }
        for (i, row) in done.iter().enumerate() {
            for (q, panel) in row.iter().enumerate() {
                for (w, v) in panel.iter().enumerate() {
                    let c = t.c.add(i * t.ldc + (q * W + w) * V::LANES);
                    if whole { v.store(c) } else { v.store_part(c, columns(q, w)) }
                }
            }
        }
    }
}

/// A kernel for tiles of one shape.
pub(crate) type TileFn<T> = unsafe fn(&Tile<T>);

/// The tile kernels of one instruction set.
pub(crate) struct Kernels<T: 'static> {
    /// Elements per vector.
    pub lanes: usize,
    /// `by_panels[0]` is for half a panel (one vector), `[1]` for one panel (two vectors), `[2]` for two panels, `[3]` for four;
    /// entry `r - 1` is for `r` rows.
    by_panels: [&'static [TileFn<T>]; 4],
    /// The kernels that read A in place: for half a panel, and for one panel; entry `r - 1` is for `r` rows.
    direct: [&'static [DirectFn<T>]; 2],
}

impl<T> Kernels<T> {
    /// Returns the number of columns of a panel of packed B.
    pub(crate) fn panel_width(&self) -> usize {
        2 * self.lanes
    }

    /// Returns the number of rows of the tallest tile.
    pub(crate) fn max_rows(&self) -> usize {
        self.by_panels[1].len()
    }

    /// Returns the widest group of at most `panels` panels that has a tile of `rows` rows.
    pub(crate) fn widest(&self, rows: usize, panels: usize) -> usize {
        let fits = |(log, count): &(usize, usize)| panels >= *count && rows <= self.by_panels[*log].len();
        [(3, 4), (2, 2)].iter().find(|g| fits(g)).map_or(1, |g| g.1)
    }

    /// Returns the tile for `rows` rows and a group of panels that [`Kernels::widest`] chose for at least as many rows.
    pub(crate) fn exactly(&self, rows: usize, panels: usize) -> TileFn<T> {
        self.by_panels[1 + panels.ilog2() as usize][rows - 1]
    }

    /// Returns the tile that reads `rows` rows of A in place, for a panel of one or two vectors.
    pub(crate) fn direct(&self, rows: usize, vectors: usize) -> DirectFn<T> {
        self.direct[vectors - 1][rows - 1]
    }

    /// Returns the tile for a last panel of at most one vector.
    pub(crate) fn narrow(&self, rows: usize) -> TileFn<T> {
        self.by_panels[0][rows - 1]
    }
}

/// An element type with tile kernels.
pub trait Element: bytemuck::Pod + Send + Sync + num_traits::Float + sealed::Sealed {
    #[doc(hidden)]
    fn kernels(isa: Isa) -> &'static sealed::KernelsOf<Self>;
}

// The trait is sealed: other crates cannot implement it.
#[allow(unnameable_types)]
pub(crate) mod sealed {
    pub trait Sealed {}
    pub struct KernelsOf<T: 'static>(pub(crate) super::Kernels<T>);
}

macro_rules! kernel_table {
    ($table:ident, $t:ty, $v:ty, $features:literal, $one:tt $two:tt $four:tt $eight:tt) => {
        pub(super) static $table: sealed::KernelsOf<$t> = {
            #[target_feature(enable = $features)]
            unsafe fn kernel<const R: usize, const P: usize, const W: usize>(t: &Tile<$t>) {
                // SAFETY: the features are enabled here; the rest is the caller's duty.
                unsafe { tile::<$v, R, P, W>(t) }
            }
            #[target_feature(enable = $features)]
            unsafe fn direct<const R: usize, const W: usize>(t: &DirectTile<'_, $t>) {
                // SAFETY: as above.
                unsafe { direct_tile::<$v, R, W>(t) }
            }
            kernel_table!(@table $t, $v, $one $two $four $eight)
        };
    };
    ($table:ident, $t:ty, $v:ty, $one:tt $two:tt $four:tt $eight:tt) => {
        pub(super) static $table: sealed::KernelsOf<$t> = {
            unsafe fn kernel<const R: usize, const P: usize, const W: usize>(t: &Tile<$t>) {
                // SAFETY: the vector type is the baseline's; the rest is the caller's duty.
                unsafe { tile::<$v, R, P, W>(t) }
            }
            unsafe fn direct<const R: usize, const W: usize>(t: &DirectTile<'_, $t>) {
                // SAFETY: as above.
                unsafe { direct_tile::<$v, R, W>(t) }
            }
            kernel_table!(@table $t, $v, $one $two $four $eight)
        };
    };
    (@table $t:ty, $v:ty, [$($one:literal)*] [$($two:literal)*] [$($four:literal)*] [$($eight:literal)*]) => {
        sealed::KernelsOf(Kernels {
            lanes: <$v as Vector>::LANES,
            by_panels: [
                &[$(kernel::<$one, 1, 1>),*],
                &[$(kernel::<$two, 1, 2>),*],
                &[$(kernel::<$four, 2, 2>),*],
                &[$(kernel::<$eight, 4, 2>),*],
            ],
            direct: [&[$(direct::<$one, 1>),*], &[$(direct::<$two, 2>),*]],
        })
    };
}

#[cfg(target_arch = "x86_64")]
mod tables_x86 {
    use super::*;
    use crate::simd::x86::{F32x8, F32x16, F64x4, F64x8};

    // 32 registers: 14 rows x 2 vectors of C, 2 of B, 1 of A.
    kernel_table!(F32_AVX512, f32, F32x16, "avx512f,avx512bw,avx512cd,avx512dq,avx512vl",
        [1 2 3 4 5 6 7 8 9 10 11 12 13 14] [1 2 3 4 5 6 7 8 9 10 11 12 13 14] [1 2 3 4 5 6] [1 2]);
    kernel_table!(F64_AVX512, f64, F64x8, "avx512f,avx512bw,avx512cd,avx512dq,avx512vl",
        [1 2 3 4 5 6 7 8 9 10 11 12 13 14] [1 2 3 4 5 6 7 8 9 10 11 12 13 14] [1 2 3 4 5 6] [1 2]);
    // 16 registers: 6 rows x 2 vectors of C, 2 of B, 1 of A.
    kernel_table!(F32_AVX2, f32, F32x8, "avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt",
        [1 2 3 4 5 6] [1 2 3 4 5 6] [1 2] [1]);
    kernel_table!(F64_AVX2, f64, F64x4, "avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt",
        [1 2 3 4 5 6] [1 2 3 4 5 6] [1 2] [1]);
}
#[cfg(target_arch = "x86_64")]
use tables_x86::{F32_AVX2, F32_AVX512, F64_AVX2, F64_AVX512};

kernel_table!(F32_PORTABLE, f32, Portable<f32, 4>, [1 2 3 4] [1 2 3 4] [1] []);
kernel_table!(F64_PORTABLE, f64, Portable<f64, 2>, [1 2 3 4] [1 2 3 4] [1] []);

macro_rules! element {
    ($t:ty, $avx512:ident $avx2:ident $portable:ident) => {
        impl sealed::Sealed for $t {}
        impl Element for $t {
            fn kernels(isa: Isa) -> &'static sealed::KernelsOf<$t> {
                match isa {
                    #[cfg(target_arch = "x86_64")]
                    Isa::Avx512 => &$avx512,
                    #[cfg(target_arch = "x86_64")]
                    Isa::Avx2 => &$avx2,
                    _ => &$portable,
                }
            }
        }
    };
}
element!(f32, F32_AVX512 F32_AVX2 F32_PORTABLE);
element!(f64, F64_AVX512 F64_AVX2 F64_PORTABLE);
