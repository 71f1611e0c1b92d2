//! Tiles that the tile registers of AMX multiply, of `bfloat16` and of bytes.
//!
//! A register holds 16 rows of 16 steps. One instruction adds the products of such a part of A and of B to 16 × 16 sums, as many as 256 instructions of
//! AVX-512 do. Products of bytes are exact. In products of `bfloat16`, the products of the first numbers of the 16 pairs are a chain of their own, and so are those
//! of the second numbers. The sum of both chains is added to the result.

use super::dot::{Dot, Pair, Quad, WidenedPairs};
use super::finish::{Destination, FinishPart, finish_tile};
use super::tile::{LDA, Tile};
use crate::simd::limit;
use crate::simd::vector::{Lanes, Vector};
use crate::simd::x86::{F32x16, I32x16};
use core::arch::asm;
use core::arch::x86_64::__cpuid_count;
use std::mem::MaybeUninit;
use std::sync::OnceLock;

/// The side of a register: 16 rows of A by 16 steps, or 16 steps by 16 columns of B.
pub(super) const SIDE: usize = 16;
/// The most rows of a tile, which has two registers of A, two of B and four of sums.
pub(super) const MAX_ROWS: usize = 2 * SIDE;
/// The bytes of a step, and of a sum.
const BYTES: usize = 4;

/// The extensions of AMX that this process may use.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Extensions {
    pub(super) bf16: bool,
    pub(super) int8: bool,
}

/// Returns the extensions that a CPU with AVX-512 has, and that the system lets this process use. Asks the system once.
pub(super) fn extensions() -> Extensions {
    static FOUND: OnceLock<Extensions> = OnceLock::new();
    *FOUND.get_or_init(|| {
        if limit().is_some() {
            return Extensions::default();
        }
        // SAFETY: CPUs with AVX-512 have the leaf. The call is safe since Rust 1.94.
        #[allow(unused_unsafe)]
        let features = unsafe { __cpuid_count(7, 0) }.edx;
        let has = |bit: u32| features >> bit & 1 == 1;
        if has(24) && system_allows() { Extensions { bf16: has(22), int8: has(25) } } else { Extensions::default() }
    })
}

/// Asks the system for the tile registers, whose contents it must keep for each thread. Thereafter `sigaltstack` refuses stacks that are too small for them, in the whole
/// process; if a thread has such a stack already, the answer is no.
fn system_allows() -> bool {
    #[cfg(target_os = "linux")]
    {
        const ARCH_REQ_XCOMP_PERM: libc::c_long = 0x1023;
        const XFEATURE_XTILEDATA: libc::c_long = 18;
        // SAFETY: the call reads its numbers alone, and changes what the process may use.
        unsafe { libc::syscall(libc::SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA) == 0 }
    }
    #[cfg(not(target_os = "linux"))]
    false
}

/// The shapes of the tile registers: palette 1 of the instruction `ldtilecfg`.
#[repr(C, align(64))]
struct TileConfig {
    palette: u8,
    start_row: u8,
    reserved: [u8; 14],
    row_bytes: [u16; 16],
    rows: [u8; 16],
}

impl TileConfig {
    /// Returns the configuration for `rows` rows of A and `steps` steps of a group. Registers 0 to 3 hold sums (rows first), 4 and 5 hold A, 6 and 7 hold B.
    fn new(rows: usize, steps: usize) -> Self {
        let (first, second) = (rows.min(SIDE), rows.saturating_sub(SIDE));
        let mut config = TileConfig { palette: 1, start_row: 0, reserved: [0; 14], row_bytes: [0; 16], rows: [0; 16] };
        let all =
            [(first, SIDE), (first, SIDE), (second, SIDE), (second, SIDE), (first, steps), (second, steps), (steps, SIDE), (steps, SIDE)];
        // A shape without rows must not have bytes either.
        for (register, (rows, columns)) in all.into_iter().enumerate().filter(|(_, (rows, _))| *rows > 0) {
            config.rows[register] = rows as u8;
            config.row_bytes[register] = (columns * BYTES) as u16;
        }
        config
    }
}

/// The operands of a block of assembly, each with the bytes from one row to the next.
pub(super) struct Operands {
    config: *const TileConfig,
    a: *const u8,
    a_bytes: usize,
    b: *const u8,
    b_bytes: usize,
    /// Groups of 16 steps, at least one.
    groups: usize,
    sums: *mut u8,
    sums_bytes: usize,
    /// If false, the sums start from zero.
    load: bool,
}

/// Defines [`AmxOperand::multiply`] by the instruction `$product`. Each shape of a tile has one block of assembly, because registers are named in its text and keep
/// their values within it alone. `ldtilecfg` sets all of them to zero.
macro_rules! multiply {
    ($product:literal) => {
        unsafe fn multiply(o: &Operands, rows: usize, vectors: usize) {
            match (rows > SIDE, vectors > 1) {
                (true, true) => multiply!(@block o,
                    ["tileloadd tmm0, [{c} + {c_bytes}*1]", "tileloadd tmm1, [{c} + {c_bytes}*1 + 64]",
                     "tileloadd tmm2, [{c2} + {c_bytes}*1]", "tileloadd tmm3, [{c2} + {c_bytes}*1 + 64]"],
                    ["tileloadd tmm6, [{b} + {b_bytes}*1]", "tileloadd tmm4, [{a} + {a_bytes}*1]", concat!($product, " tmm0, tmm4, tmm6"),
                     "tileloadd tmm7, [{b} + {b_bytes}*1 + 64]", concat!($product, " tmm1, tmm4, tmm7"),
                     "tileloadd tmm5, [{a2} + {a_bytes}*1]", concat!($product, " tmm2, tmm5, tmm6"), concat!($product, " tmm3, tmm5, tmm7")],
                    ["tilestored [{c} + {c_bytes}*1], tmm0", "tilestored [{c} + {c_bytes}*1 + 64], tmm1",
                     "tilestored [{c2} + {c_bytes}*1], tmm2", "tilestored [{c2} + {c_bytes}*1 + 64], tmm3"]),
                (true, false) => multiply!(@block o,
                    ["tileloadd tmm0, [{c} + {c_bytes}*1]", "tileloadd tmm2, [{c2} + {c_bytes}*1]"],
                    ["tileloadd tmm6, [{b} + {b_bytes}*1]", "tileloadd tmm4, [{a} + {a_bytes}*1]", concat!($product, " tmm0, tmm4, tmm6"),
                     "tileloadd tmm5, [{a2} + {a_bytes}*1]", concat!($product, " tmm2, tmm5, tmm6")],
                    ["tilestored [{c} + {c_bytes}*1], tmm0", "tilestored [{c2} + {c_bytes}*1], tmm2"]),
                (false, true) => multiply!(@block o,
                    ["tileloadd tmm0, [{c} + {c_bytes}*1]", "tileloadd tmm1, [{c} + {c_bytes}*1 + 64]"],
                    ["tileloadd tmm4, [{a} + {a_bytes}*1]", "tileloadd tmm6, [{b} + {b_bytes}*1]", concat!($product, " tmm0, tmm4, tmm6"),
                     "tileloadd tmm7, [{b} + {b_bytes}*1 + 64]", concat!($product, " tmm1, tmm4, tmm7")],
                    ["tilestored [{c} + {c_bytes}*1], tmm0", "tilestored [{c} + {c_bytes}*1 + 64], tmm1"]),
                (false, false) => multiply!(@block o,
                    ["tileloadd tmm0, [{c} + {c_bytes}*1]"],
                    ["tileloadd tmm4, [{a} + {a_bytes}*1]", "tileloadd tmm6, [{b} + {b_bytes}*1]", concat!($product, " tmm0, tmm4, tmm6")],
                    ["tilestored [{c} + {c_bytes}*1], tmm0"]),
            }
        }
    };
    // Not all blocks need the second rows of A and of the sums; the comment names them for the assembler.
    (@block $o:ident, [$($load:tt)*], [$($step:tt)*], [$($store:tt)*]) => {
        // SAFETY: the caller guarantees the CPU, and that the operands hold the rows of their shapes.
        unsafe {
            asm!(
                "ldtilecfg [{config}]",
                "test {load}, {load}",
                "jz 2f",
                $($load)*,
                "2:",
                $($step)*,
                "add {a}, 64",
                "add {a2}, 64",
                "add {b}, {b_step}",
                "dec {groups}",
                "jnz 2b",
                $($store)*,
                "tilerelease",
                "/* {c2} */",
                config = in(reg) $o.config,
                load = in(reg) usize::from($o.load),
                a = inout(reg) $o.a => _,
                a2 = inout(reg) $o.a.wrapping_add($o.a_bytes * SIDE) => _,
                a_bytes = in(reg) $o.a_bytes,
                b = inout(reg) $o.b => _,
                b_bytes = in(reg) $o.b_bytes,
                b_step = in(reg) $o.b_bytes * SIDE,
                groups = inout(reg) $o.groups => _,
                c = in(reg) $o.sums,
                c2 = in(reg) $o.sums.wrapping_add($o.sums_bytes * SIDE),
                c_bytes = in(reg) $o.sums_bytes,
                options(nostack),
            )
        }
    };
}

/// A kind of operands that AMX multiplies.
///
/// # Safety
/// `multiply` may be called only in a process that may use the extension.
pub(super) unsafe trait AmxOperand {
    /// The numbers of one lane, in memory: [`BYTES`] of them.
    type Step: bytemuck::Pod;
    /// A vector of sums.
    type Sums: FinishPart;

    /// Multiplies groups of steps for a tile of `rows` rows and of one or two vectors of columns.
    ///
    /// # Safety
    /// The operands are good for the rows, vectors and groups.
    unsafe fn multiply(o: &Operands, rows: usize, vectors: usize);
}

/// Pairs of `bfloat16`.
pub(super) struct AmxPairs;

// SAFETY: the instruction is one of AMX-BF16.
unsafe impl AmxOperand for AmxPairs {
    type Step = Pair;
    type Sums = F32x16;

    multiply!("tdpbf16ps");
}

/// Quads of bytes: those of A are unsigned, those of B have signs.
pub(super) struct AmxQuads;

// SAFETY: the instruction is one of AMX-INT8.
unsafe impl AmxOperand for AmxQuads {
    type Step = Quad;
    type Sums = I32x16;

    multiply!("tdpbusd");
}

/// The type of the sums of a tile.
pub(super) type SumOf<K> = <<K as AmxOperand>::Sums as Lanes>::Elem;

/// The sums of a tile, row by row.
#[repr(C, align(64))]
struct Sums<V, const W: usize>([[MaybeUninit<V>; W]; MAX_ROWS]);

/// Computes a tile of any height. The sums of a tile that is whole and needs no epilogue are those of C, others are stored in between.
///
/// # Safety
/// The process may use the extension; the pointers of `t` are good for its rows and columns (of B: `W` vectors) and `t.k` steps.
#[target_feature(enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl")]
pub(super) unsafe fn tile<K: AmxOperand, const W: usize>(t: &Tile<K::Step, SumOf<K>>) {
    // SAFETY: all accesses lie inside of C and of the sums, whose rows are written before they are read.
    unsafe {
        if t.to.cols == W * SIDE && t.to.finish.is_none() {
            return add_products::<K, W>(t, t.to.c, t.to.ldc);
        }
        let mut sums = Sums([[MaybeUninit::<K::Sums>::uninit(); W]; MAX_ROWS]);
        let first: *mut SumOf<K> = sums.0.as_mut_ptr().cast();
        if t.to.load {
            for i in 0..t.rows {
                for w in 0..W {
                    let count = t.to.cols.saturating_sub(w * SIDE).min(SIDE);
                    K::Sums::load_part(t.to.c.add(i * t.to.ldc + w * SIDE), count).store(first.add((i * W + w) * SIDE));
                }
            }
        }
        add_products::<K, W>(t, first, W * SIDE);
        for i in 0..t.rows {
            let mut row = [K::Sums::zero(); W];
            for (w, v) in row.iter_mut().enumerate() {
                *v = K::Sums::load(first.add((i * W + w) * SIDE));
            }
            let to = Destination { c: t.to.c.add(i * t.to.ldc), finish: t.to.finish.map(|f| f.at(i, 0)), ..t.to };
            finish_tile::<K::Sums, 1, 1, W>([[row]], &to);
        }
    }
}

/// Adds the products of a tile to its sums, or writes them if the tile loads none.
///
/// # Safety
/// The requirements of [`tile`] hold, and the sums, whose rows of `W` vectors are `stride` apart, are writable.
unsafe fn add_products<K: AmxOperand, const W: usize>(t: &Tile<K::Step, SumOf<K>>, sums: *mut SumOf<K>, stride: usize) {
    let multiply = |first: usize, groups: usize, steps: usize| {
        let operands = Operands {
            config: &TileConfig::new(t.rows, steps),
            a: t.a.wrapping_add(first).cast(),
            a_bytes: LDA * BYTES,
            b: t.b.wrapping_add(first * t.ldb).cast(),
            b_bytes: t.ldb * BYTES,
            groups,
            sums: sums.cast(),
            sums_bytes: stride * BYTES,
            load: t.to.load || first > 0,
        };
        // SAFETY: the caller guarantees it.
        unsafe { K::multiply(&operands, t.rows, W) };
    };
    let rest = t.k % SIDE;
    if t.k >= SIDE {
        multiply(0, t.k / SIDE, SIDE);
    }
    if rest > 0 {
        multiply(t.k - rest, 1, rest);
    }
    if t.k == 0 && !t.to.load {
        for i in 0..t.rows {
            // SAFETY: the caller guarantees it.
            unsafe { (0..W).for_each(|w| K::Sums::zero().store(sums.add(i * stride + w * SIDE))) };
        }
    }
}

/// Returns the first `N` of `few`, followed by copies of `others`.
pub(super) const fn beginning_with<const N: usize, F: Copy>(few: &[F], others: F) -> [F; MAX_ROWS] {
    let mut all = [others; MAX_ROWS];
    let mut i = 0;
    while i < N {
        all[i] = few[i];
        i += 1;
    }
    all
}

/// Multiplies a few rows of pairs in vectors, and adds products in the order of the registers.
///
/// # Safety
/// The CPU has AVX-512; the pointers of `t` are good for `R` rows, for `t.k` steps, and for `t.to.cols` columns (of B: whole panels), which reach into the last of
/// the `P` panels of `W` vectors.
#[target_feature(enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl")]
#[allow(clippy::needless_range_loop)]
pub(super) unsafe fn few_rows<const R: usize, const P: usize, const W: usize>(t: &Tile<Pair, f32>) {
    type Widened = WidenedPairs<F32x16>;
    // SAFETY: everything below stays inside the memory that the caller guarantees.
    unsafe {
        let zero = <F32x16 as Lanes>::zero();
        let mut sums = [[[zero; W]; P]; R];
        if t.to.load {
            for (i, row) in sums.iter_mut().enumerate() {
                for (at, sum) in row.as_flattened_mut().iter_mut().enumerate() {
                    let count = t.to.cols.saturating_sub(at * SIDE).min(SIDE);
                    *sum = F32x16::load_part(t.to.c.wrapping_add(i * t.to.ldc + at * SIDE), count);
                }
            }
        }
        for first in (0..t.k).step_by(SIDE) {
            // The chains of first and of second numbers.
            let mut chains = [[[[zero; W]; P]; R]; 2];
            for p in first..t.k.min(first + SIDE) {
                let row = t.b.add(p * t.ldb);
                for q in 0..P {
                    for w in 0..W {
                        let b = Widened::load(row.add(q * t.panel_stride + w * SIDE));
                        for i in 0..R {
                            let a = Widened::splat(*t.a.add(i * LDA + p));
                            for number in 0..2 {
                                chains[number][i][q][w] = a[number].mul_add(b[number], chains[number][i][q][w]);
                            }
                        }
                    }
                }
            }
            for i in 0..R {
                for q in 0..P {
                    for w in 0..W {
                        sums[i][q][w] = sums[i][q][w].add(chains[0][i][q][w].add(chains[1][i][q][w]));
                    }
                }
            }
        }
        finish_tile::<F32x16, R, P, W>(sums, &t.to);
    }
}
