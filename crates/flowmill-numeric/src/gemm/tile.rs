//! The register-tile kernels: a few rows of A times a few panels of B.
//!
//! Each element of C is one chain of multiply-adds in the order of `k`, started from zero or from the old value of C. What one step of the chain is
//! depends on the operands ([`Dot`]). AMX adds groups of steps in an order of its own (`amx`).
//! The choice of tile, panel, block or thread does not change that chain, so it does not change a bit of the result.

#[cfg(target_arch = "x86_64")]
use super::amx;
use super::direct::{DirectFn, DirectTile, direct_tile};
use super::dot::{Dot, Pair, PortableQuads, Quad, WidenedPairs};
use super::finish::{Destination, finish_tile};
use crate::simd::Isa;
use crate::simd::vector::{Lanes, Portable};
use half::bf16;

/// The longest range of `k` per tile call: a block of A (`MR x KC`) and of B (`KC x NR`) stay in L1/L2.
pub(crate) const KC: usize = 256;

/// The distance between two rows in a packed block of A. It is constant, so that a tile reaches all its rows from one pointer, and not a power of
/// two, so that rows do not compete for one set of the L1 cache.
pub const LDA: usize = KC + 16;

/// The operands of one tile call.
#[derive(Clone, Copy)]
pub(crate) struct Tile<S, C> {
    /// The rows, as many as the kernel is for.
    #[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
    pub rows: usize,
    /// The number of steps.
    pub k: usize,
    /// The packed block of A; row `i` is at `a + i * LDA`.
    pub a: *const S,
    /// The first panel of B; row `p` is at `b + p * ldb`.
    pub b: *const S,
    pub ldb: usize,
    pub panel_stride: usize,
    pub to: Destination<C>,
}

/// The type of the sums of a tile.
pub(crate) type SumOf<D> = <<D as Dot>::Sums as Lanes>::Elem;

/// # Safety
/// The CPU has D's instruction set; the pointers of `t` are good for `R` rows, `t.to.cols` columns (of B: whole
/// panels) and `t.k` steps; `t.k <= KC`; `t.to.cols` reaches into the last of the `P` panels of `W` vectors.
#[inline(always)]
#[allow(clippy::needless_range_loop)]
unsafe fn tile<D: Dot, const R: usize, const P: usize, const W: usize>(t: &Tile<D::Step, SumOf<D>>) {
    // SAFETY: everything below stays inside the memory that the caller guarantees.
    unsafe {
        let whole = t.to.cols == P * W * D::Sums::LANES;
        // The number of existing columns in vector `w` of panel `q`.
        let columns = |q: usize, w: usize| t.to.cols.saturating_sub((q * W + w) * D::Sums::LANES).min(D::Sums::LANES);

        let mut start = [[[D::Sums::zero(); W]; P]; R];
        if t.to.load {
            for (i, row) in start.iter_mut().enumerate() {
                for (q, panel) in row.iter_mut().enumerate() {
                    for (w, v) in panel.iter_mut().enumerate() {
                        let c = t.to.c.add(i * t.to.ldc + (q * W + w) * D::Sums::LANES);
                        *v = if whole { D::Sums::load(c) } else { D::Sums::load_part(c, columns(q, w)) };
                    }
                }
            }
        }
        // A separate variable that is indexed by constants only, so that the compiler keeps it in registers.
        let mut acc = start;

        let (mut a, mut b) = (t.a, t.b);
        for _ in 0..t.k {
            let mut bs = [[D::zero(); W]; P];
            for q in 0..P {
                for w in 0..W {
                    bs[q][w] = D::load(b.add(q * t.panel_stride + w * D::Sums::LANES));
                }
            }
            for i in 0..R {
                let x = D::splat(*a.add(i * LDA));
                for q in 0..P {
                    for w in 0..W {
                        acc[i][q][w] = D::add_products(x, bs[q][w], acc[i][q][w]);
                    }
                }
            }
            a = a.add(1);
            b = b.add(t.ldb);
        }

        finish_tile::<D::Sums, R, P, W>(acc, &t.to);
    }
}

/// A kernel for tiles of one shape.
pub(crate) type TileFn<S, C> = unsafe fn(&Tile<S, C>);

/// The tile kernels of one instruction set, for steps `S` and sums `C`.
#[derive(Clone, Copy)]
pub(crate) struct Kernels<S: 'static, C: 'static> {
    /// Steps, and sums, per vector.
    pub lanes: usize,
    /// `by_panels[0]` is for half a panel (one vector), `[1]` for one panel (two vectors), `[2]` for two panels, `[3]` for four;
    /// entry `r - 1` is for `r` rows.
    by_panels: [&'static [TileFn<S, C>]; 4],
    /// The kernels that read A in place, if the operands have any: for half a panel, and for one panel; entry `r - 1` is for `r` rows.
    direct: [&'static [DirectFn<S, C>]; 2],
}

impl<S, C> Kernels<S, C> {
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
    pub(crate) fn exactly(&self, rows: usize, panels: usize) -> TileFn<S, C> {
        self.by_panels[1 + panels.ilog2() as usize][rows - 1]
    }

    /// Returns the tile that reads `rows` rows of A in place, for a panel of one or two vectors.
    pub(crate) fn direct(&self, rows: usize, vectors: usize) -> DirectFn<S, C> {
        self.direct[vectors - 1][rows - 1]
    }

    /// Returns the tile for a last panel of at most one vector.
    pub(crate) fn narrow(&self, rows: usize) -> TileFn<S, C> {
        self.by_panels[0][rows - 1]
    }
}

/// A type of the elements of B in a product that has tile kernels.
pub trait Operand: bytemuck::Pod + Send + Sync + sealed::Sealed {
    /// The numbers that one lane multiplies at a time: one, or a few of consecutive `k`.
    type Step: bytemuck::Pod + Send + Sync;
    /// The type of the product's elements.
    type Sum: bytemuck::Pod + Send + Sync;

    /// Returns the kernels that need no more than the instruction set.
    #[doc(hidden)]
    fn plain_kernels(isa: Isa) -> &'static sealed::KernelsOf<Self::Step, Self::Sum>;

    /// Returns the fastest kernels of vectors of this CPU, which may need more than the instruction set.
    #[doc(hidden)]
    fn vector_kernels(isa: Isa) -> &'static sealed::KernelsOf<Self::Step, Self::Sum> {
        Self::plain_kernels(isa)
    }

    /// Returns the fastest kernels of this CPU for large products.
    #[doc(hidden)]
    fn kernels(isa: Isa) -> &'static sealed::KernelsOf<Self::Step, Self::Sum> {
        Self::vector_kernels(isa)
    }
}

/// The number of elements of a step.
pub(crate) const fn per_step<T: Operand>() -> usize {
    size_of::<T::Step>() / size_of::<T>()
}

/// A type of floats whose products are of the same type.
pub trait Element: Operand<Step = Self, Sum = Self> + num_traits::Float {}

// The traits are sealed: other crates cannot implement them.
#[allow(unnameable_types)]
pub(crate) mod sealed {
    pub trait Sealed {}
    pub struct KernelsOf<S: 'static, C: 'static>(pub(crate) super::Kernels<S, C>);
}

/// Defines the tile kernels of an instruction set from the numbers of rows for which there are tiles of one vector, one panel, two and four panels. Those of
/// `packed` operands do not read rows in place.
macro_rules! kernel_table {
    ($table:ident, $dot:ty, [$($features:literal)?] $one:tt $two:tt $four:tt $eight:tt) => {
        kernel_table!(@table $table, $dot, [$($features)?] {
            $(#[target_feature(enable = $features)])?
            unsafe fn direct<const R: usize, const W: usize>(t: &DirectTile<'_, <$dot as Dot>::Step, SumOf<$dot>>) {
                // SAFETY: the features are enabled here, or the baseline's; the rest is the caller's duty.
                unsafe { direct_tile::<$dot, R, W>(t) }
            }
            kernel_table!(@direct $one $two)
        } $one $two $four $eight);
    };
    ($table:ident, packed $dot:ty, [$($features:literal)?] $one:tt $two:tt $four:tt $eight:tt) => {
        kernel_table!(@table $table, $dot, [$($features)?] { [&[], &[]] } $one $two $four $eight);
    };
    (@direct [$($one:literal)*] [$($two:literal)*]) => {
        [&[$(direct::<$one, 1>),*], &[$(direct::<$two, 2>),*]]
    };
    (@table $table:ident, $dot:ty, [$($features:literal)?] $direct:block
        [$($one:literal)*] [$($two:literal)*] [$($four:literal)*] [$($eight:literal)*]) => {
        pub(super) static $table: sealed::KernelsOf<<$dot as Dot>::Step, SumOf<$dot>> = {
            $(#[target_feature(enable = $features)])?
            unsafe fn kernel<const R: usize, const P: usize, const W: usize>(t: &Tile<<$dot as Dot>::Step, SumOf<$dot>>) {
                // SAFETY: the features are enabled here, or the baseline's; the rest is the caller's duty.
                unsafe { tile::<$dot, R, P, W>(t) }
            }
            sealed::KernelsOf(Kernels {
                lanes: <<$dot as Dot>::Sums as Lanes>::LANES,
                by_panels: [
                    &[$(kernel::<$one, 1, 1>),*],
                    &[$(kernel::<$two, 1, 2>),*],
                    &[$(kernel::<$four, 2, 2>),*],
                    &[$(kernel::<$eight, 4, 2>),*],
                ],
                direct: $direct,
            })
        };
    };
}

/// Defines the kernels of an extension of AMX. Tiles of at most `$rows` rows have kernels of vectors, because registers cannot be filled as fast as vectors; all
/// taller tiles have one kernel.
#[cfg(target_arch = "x86_64")]
macro_rules! amx_table {
    ($table:ident, $operand:ty, $rows:literal, $vectors:expr) => {
        pub(super) static $table: sealed::KernelsOf<<$operand as amx::AmxOperand>::Step, amx::SumOf<$operand>> = {
            type Step = <$operand as amx::AmxOperand>::Step;
            type Sum = amx::SumOf<$operand>;
            static FEW: Kernels<Step, Sum> = $vectors;
            static VECTOR: [TileFn<Step, Sum>; MAX_ROWS] = amx::beginning_with::<$rows, _>(FEW.by_panels[0], amx::tile::<$operand, 1>);
            static PANEL: [TileFn<Step, Sum>; MAX_ROWS] = amx::beginning_with::<$rows, _>(FEW.by_panels[1], amx::tile::<$operand, 2>);
            sealed::KernelsOf(Kernels { by_panels: [&VECTOR, &PANEL, FEW.by_panels[2], FEW.by_panels[3]], ..FEW })
        };
    };
}

#[cfg(target_arch = "x86_64")]
mod tables_x86 {
    use super::super::amx::{self, MAX_ROWS};
    use super::super::dot::x86::{Bf16x32, Bytes64, WidenedBytes32, WidenedBytes64};
    use super::*;
    use crate::simd::x86::{F32x8, F32x16, F64x4, F64x8};

    // 32 registers: 14 rows x 2 vectors of C, 2 of B, 1 of A.
    kernel_table!(F32_AVX512, F32x16, ["avx512f,avx512bw,avx512cd,avx512dq,avx512vl"]
        [1 2 3 4 5 6 7 8 9 10 11 12 13 14] [1 2 3 4 5 6 7 8 9 10 11 12 13 14] [1 2 3 4 5 6] [1 2]);
    kernel_table!(F64_AVX512, F64x8, ["avx512f,avx512bw,avx512cd,avx512dq,avx512vl"]
        [1 2 3 4 5 6 7 8 9 10 11 12 13 14] [1 2 3 4 5 6 7 8 9 10 11 12 13 14] [1 2 3 4 5 6] [1 2]);
    kernel_table!(BF16_AVX512_BF16, packed Bf16x32, ["avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx512bf16"]
        [1 2 3 4 5 6 7 8 9 10 11 12 13 14] [1 2 3 4 5 6 7 8 9 10 11 12 13 14] [1 2 3 4 5 6] [1 2]);
    kernel_table!(I8_AVX512_VNNI, packed Bytes64, ["avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx512vnni"]
        [1 2 3 4 5 6 7 8 9 10 11 12 13 14] [1 2 3 4 5 6 7 8 9 10 11 12 13 14] [1 2 3 4 5 6] [1 2]);
    amx_table!(
        BF16_AMX,
        amx::AmxPairs,
        2,
        Kernels {
            lanes: amx::SIDE,
            by_panels: [
                &[amx::few_rows::<1, 1, 1>, amx::few_rows::<2, 1, 1>],
                &[amx::few_rows::<1, 1, 2>, amx::few_rows::<2, 1, 2>],
                &[amx::few_rows::<1, 2, 2>, amx::few_rows::<2, 2, 2>],
                &[amx::few_rows::<1, 4, 2>],
            ],
            direct: [&[], &[]],
        }
    );
    amx_table!(I8_AMX, amx::AmxQuads, 4, I8_AVX512_VNNI.0);
    // Widened operands take two registers each.
    kernel_table!(BF16_AVX512, packed WidenedPairs<F32x16>, ["avx512f,avx512bw,avx512cd,avx512dq,avx512vl"]
        [1 2 3 4 5 6 7 8 9 10 11 12] [1 2 3 4 5 6 7 8 9 10 11 12] [1 2 3 4] [1]);
    kernel_table!(I8_AVX512, packed WidenedBytes64, ["avx512f,avx512bw,avx512cd,avx512dq,avx512vl"]
        [1 2 3 4 5 6 7 8 9 10 11 12] [1 2 3 4 5 6 7 8 9 10 11 12] [1 2 3 4] [1]);
    // 16 registers: 6 rows x 2 vectors of C, 2 of B, 1 of A.
    kernel_table!(F32_AVX2, F32x8, ["avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt"]
        [1 2 3 4 5 6] [1 2 3 4 5 6] [1 2] [1]);
    kernel_table!(F64_AVX2, F64x4, ["avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt"]
        [1 2 3 4 5 6] [1 2 3 4 5 6] [1 2] [1]);
    kernel_table!(BF16_AVX2, packed WidenedPairs<F32x8>, ["avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt"]
        [1 2 3 4] [1 2 3 4] [1] []);
    kernel_table!(I8_AVX2, packed WidenedBytes32, ["avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt"]
        [1 2 3 4] [1 2 3 4] [1] []);
}
#[cfg(target_arch = "x86_64")]
use tables_x86::{
    BF16_AMX, BF16_AVX2, BF16_AVX512, BF16_AVX512_BF16, F32_AVX2, F32_AVX512, F64_AVX2, F64_AVX512, I8_AMX, I8_AVX2, I8_AVX512,
    I8_AVX512_VNNI,
};

kernel_table!(F32_PORTABLE, Portable<f32, 4>, [] [1 2 3 4] [1 2 3 4] [1] []);
kernel_table!(F64_PORTABLE, Portable<f64, 2>, [] [1 2 3 4] [1 2 3 4] [1] []);
kernel_table!(BF16_PORTABLE, packed WidenedPairs<Portable<f32, 4>>, [] [1 2 3 4] [1 2 3 4] [1] []);
kernel_table!(I8_PORTABLE, packed PortableQuads, [] [1 2 3 4] [1 2 3 4] [1] []);

macro_rules! operand {
    ($t:ty, $step:ty, $sum:ty, $avx512:ident $avx2:ident $portable:ident $(, $feature:tt $extended:ident, $amx_feature:ident $amx:ident)?) => {
        impl sealed::Sealed for $t {}
        impl Operand for $t {
            type Step = $step;
            type Sum = $sum;

            fn plain_kernels(isa: Isa) -> &'static sealed::KernelsOf<$step, $sum> {
                match isa {
                    #[cfg(target_arch = "x86_64")]
                    Isa::Avx512 => &$avx512,
                    #[cfg(target_arch = "x86_64")]
                    Isa::Avx2 => &$avx2,
                    _ => &$portable,
                }
            }
            $(
                #[cfg(target_arch = "x86_64")]
                fn vector_kernels(isa: Isa) -> &'static sealed::KernelsOf<$step, $sum> {
                    if isa == Isa::Avx512 && std::arch::is_x86_feature_detected!($feature) { &$extended } else { Self::plain_kernels(isa) }
                }
                #[cfg(target_arch = "x86_64")]
                fn kernels(isa: Isa) -> &'static sealed::KernelsOf<$step, $sum> {
                    if isa == Isa::Avx512 && amx::extensions().$amx_feature { &$amx } else { Self::vector_kernels(isa) }
                }
            )?
        }
    };
}
operand!(f32, f32, f32, F32_AVX512 F32_AVX2 F32_PORTABLE);
operand!(f64, f64, f64, F64_AVX512 F64_AVX2 F64_PORTABLE);
operand!(bf16, Pair, f32, BF16_AVX512 BF16_AVX2 BF16_PORTABLE, "avx512bf16" BF16_AVX512_BF16, bf16 BF16_AMX);
operand!(i8, Quad, i32, I8_AVX512 I8_AVX2 I8_PORTABLE, "avx512vnni" I8_AVX512_VNNI, int8 I8_AMX);
impl Element for f32 {}
impl Element for f64 {}
