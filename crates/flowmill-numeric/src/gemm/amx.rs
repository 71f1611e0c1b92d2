//! Tiles that the matrix registers of AMX multiply: `bfloat16` and bytes.
//!
//! A register holds 16 rows of 16 steps. One instruction adds the products of such a part of A and of B to 16 × 16 sums, as many as 256 instructions of
//! AVX-512 do. Products of bytes are exact. In products of `bfloat16`, the products of the first numbers of the 16 pairs are a chain of their own, and so are those
//! of the second numbers; the sum of both chains is added to the result.

use super::buffer::with_scratch;
use super::direct::{DirectTile, Segment, part};
use super::dot::{Dot, Pair, Quad, WidenedPairs};
use super::tile::{Finish, KC, LDA, Tile, finish_tile};
use crate::simd::vector::{Lanes, Vector};
use crate::simd::x86::{F32x16, I32x16};
use core::arch::asm;
use core::arch::x86_64::__cpuid_count;
use std::mem::MaybeUninit;
use std::ops::Range;
use std::sync::OnceLock;

/// The rows of A, the steps and the columns of B that a register holds.
pub(super) const SIDE: usize = 16;
/// The most rows of a tile: two registers of A, and two of B, have four registers of sums.
pub(super) const MAX_ROWS: usize = 2 * SIDE;
/// The bytes of a step, and of a sum.
const BYTES: usize = 4;

/// The extensions of AMX that this process may use.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Extensions {
    pub(super) bf16: bool,
    pub(super) int8: bool,
}

/// Returns the extensions that the CPU has, and that the system lets this process use. Asks the system once.
pub(super) fn extensions() -> Extensions {
    static FOUND: OnceLock<Extensions> = OnceLock::new();
    *FOUND.get_or_init(|| {
        if std::env::var("FLOWMILL_MAX_ISA").as_deref() == Ok("avx512") {
            return Extensions::default();
        }
        let features = __cpuid_count(7, 0).edx;
        let has = |bit: u32| features >> bit & 1 == 1;
        if has(24) && system_allows() { Extensions { bf16: has(22), int8: has(25) } } else { Extensions::default() }
    })
}

/// Asks the system for the matrix registers, whose contents it must keep for each thread.
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

/// The shapes of the registers: palette 1 of the instruction `ldtilecfg`.
#[repr(C, align(64))]
struct Shapes {
    palette: u8,
    start_row: u8,
    reserved: [u8; 14],
    row_bytes: [u16; 16],
    rows: [u8; 16],
}

impl Shapes {
    /// Returns the shapes for `rows` rows of A and `steps` steps of a group. Registers 0 to 3 hold sums (rows first), 4 and 5 hold A, 6 and 7 hold B.
    fn new(rows: usize, steps: usize) -> Self {
        let (first, second) = (rows.min(SIDE), rows.saturating_sub(SIDE));
        let mut shapes = Shapes { palette: 1, start_row: 0, reserved: [0; 14], row_bytes: [0; 16], rows: [0; 16] };
        let all =
            [(first, SIDE), (first, SIDE), (second, SIDE), (second, SIDE), (first, steps), (second, steps), (steps, SIDE), (steps, SIDE)];
        // A shape without rows must not have bytes either.
        for (register, (rows, columns)) in all.into_iter().enumerate().filter(|(_, (rows, _))| *rows > 0) {
            shapes.rows[register] = rows as u8;
            shapes.row_bytes[register] = (columns * BYTES) as u16;
        }
        shapes
    }
}

/// The operands of a block of assembly, each with the bytes from one row to the next.
pub(super) struct Operands {
    shapes: *const Shapes,
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

/// Defines a function that multiplies groups of steps for a tile of `rows` rows and of one or two vectors of columns. Each shape has one block of assembly,
/// because the compiler does not know the registers. `ldtilecfg` sets all of them to zero.
macro_rules! multiply {
    ($(#[$meta:meta])* $name:ident, $product:literal) => {
        $(#[$meta])*
        unsafe fn $name(o: &Operands, rows: usize, vectors: usize) {
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
                "ldtilecfg [{shapes}]",
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
                shapes = in(reg) $o.shapes,
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

multiply!(
    /// # Safety
    /// The process may use AMX-BF16; the operands are good for the rows, vectors and groups.
    multiply_pairs, "tdpbf16ps"
);
multiply!(
    /// # Safety
    /// The process may use AMX-INT8; the operands are good for the rows, vectors and groups.
    multiply_quads, "tdpbusd"
);

/// A kind of operands that AMX multiplies.
///
/// # Safety
/// `multiply` may be called only in a process that may use the extension.
pub(super) unsafe trait Registers {
    /// The numbers of one lane, in memory: [`BYTES`] of them.
    type Step: bytemuck::Pod;
    /// A vector of sums.
    type Sums: Lanes;

    /// Multiplies groups of steps for a tile of `rows` rows and of one or two vectors of columns.
    ///
    /// # Safety
    /// The operands are good for the rows, vectors and groups.
    unsafe fn multiply(o: &Operands, rows: usize, vectors: usize);
}

/// Pairs of `bfloat16`.
pub(super) struct Pairs;

// SAFETY: the function has the same requirement.
unsafe impl Registers for Pairs {
    type Step = Pair;
    type Sums = F32x16;

    unsafe fn multiply(o: &Operands, rows: usize, vectors: usize) {
        // SAFETY: these are the function's requirements.
        unsafe { multiply_pairs(o, rows, vectors) }
    }
}

/// Quads of bytes: those of A are unsigned, those of B have signs.
pub(super) struct Quads;

// SAFETY: the function has the same requirement.
unsafe impl Registers for Quads {
    type Step = Quad;
    type Sums = I32x16;

    unsafe fn multiply(o: &Operands, rows: usize, vectors: usize) {
        // SAFETY: these are the function's requirements.
        unsafe { multiply_quads(o, rows, vectors) }
    }
}

/// The type of the sums of a tile.
pub(super) type SumOf<K> = <<K as Registers>::Sums as Lanes>::Elem;

/// The sums of a tile, row by row.
#[repr(C, align(64))]
struct Sums<V, const W: usize>([[MaybeUninit<V>; W]; MAX_ROWS]);

/// The tile of C that is computed.
struct Target<C> {
    rows: usize,
    c: *mut C,
    ldc: usize,
    cols: usize,
    load: bool,
    finish: Option<Finish<C>>,
}

/// A panel of B.
#[derive(Clone, Copy)]
struct Panel<S> {
    b: *const S,
    ldb: usize,
}

/// Rows of A, equally far apart.
#[derive(Clone, Copy)]
struct Lines<S> {
    a: *const S,
    lda: usize,
}

/// Computes a tile whose sums are stored in between by the function that is called with them, and finishes it. The sums of a tile that is whole and needs no
/// epilogue are those of C.
///
/// # Safety
/// The CPU has AVX-512, and the target is good for its rows and for columns that reach into the last of `W` vectors.
#[inline(always)]
unsafe fn with_sums<K: Registers, const W: usize>(target: &Target<SumOf<K>>, add_products: impl FnOnce(*mut SumOf<K>, usize, bool)) {
    if target.cols == W * SIDE && target.finish.is_none() {
        return add_products(target.c, target.ldc, target.load);
    }
    // SAFETY: all accesses lie inside of C and of the sums, whose rows are written before they are read.
    unsafe {
        let mut sums = Sums([[MaybeUninit::<K::Sums>::uninit(); W]; MAX_ROWS]);
        let first: *mut SumOf<K> = sums.0.as_mut_ptr().cast();
        if target.load {
            for i in 0..target.rows {
                for w in 0..W {
                    let count = target.cols.saturating_sub(w * SIDE).min(SIDE);
                    K::Sums::load_part(target.c.add(i * target.ldc + w * SIDE), count).store(first.add((i * W + w) * SIDE));
                }
            }
        }
        add_products(first, W * SIDE, target.load);
        for i in 0..target.rows {
            let mut row = [K::Sums::zero(); W];
            for (w, v) in row.iter_mut().enumerate() {
                *v = K::Sums::load(first.add((i * W + w) * SIDE));
            }
            let finish = target.finish.map(|f| f.at(i, 0));
            finish_tile::<K::Sums, 1, 1, W>([[row]], finish.as_ref(), target.c.add(i * target.ldc), target.ldc, target.cols);
        }
    }
}

/// Adds the products of `steps` steps to `rows` rows of sums of `W` vectors.
///
/// # Safety
/// The process may use the extension; A and the panel are readable for the rows and steps, and the sums, whose rows are `stride` apart, writable.
unsafe fn multiply_steps<K: Registers, const W: usize>(
    rows: usize,
    steps: usize,
    a: Lines<K::Step>,
    panel: Panel<K::Step>,
    (sums, stride, load): (*mut SumOf<K>, usize, bool),
) {
    let multiply = |first: usize, groups: usize, steps: usize| {
        let operands = Operands {
            shapes: &Shapes::new(rows, steps),
            a: a.a.wrapping_add(first).cast(),
            a_bytes: a.lda * BYTES,
            b: panel.b.wrapping_add(first * panel.ldb).cast(),
            b_bytes: panel.ldb * BYTES,
            groups,
            sums: sums.cast(),
            sums_bytes: stride * BYTES,
            load: load || first > 0,
        };
        // SAFETY: the caller guarantees it.
        unsafe { K::multiply(&operands, rows, W) };
    };
    let rest = steps % SIDE;
    if steps >= SIDE {
        multiply(0, steps / SIDE, SIDE);
    }
    if rest > 0 {
        multiply(steps - rest, 1, rest);
    }
    if steps == 0 && !load {
        for i in 0..rows {
            // SAFETY: as above.
            unsafe { (0..W).for_each(|w| K::Sums::zero().store(sums.add(i * stride + w * SIDE))) };
        }
    }
}

/// # Safety
/// The process may use the extension; the pointers of `t` are good for its rows and columns (of B: `W` vectors) and `t.k` steps.
#[target_feature(enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl")]
pub(super) unsafe fn tile<K: Registers, const W: usize>(t: &Tile<K::Step, SumOf<K>>) {
    let target = Target { rows: t.rows, c: t.c, ldc: t.ldc, cols: t.cols, load: t.load, finish: t.finish };
    let (a, panel) = (Lines { a: t.a, lda: LDA }, Panel { b: t.b, ldb: t.ldb });
    // SAFETY: these are the function's requirements.
    unsafe {
        with_sums::<K, W>(&target, |sums, stride, load| multiply_steps::<K, W>(t.rows, t.k, a, panel, (sums, stride, load)));
    }
}

/// Like [`tile`], for rows of A where they lie. Rows that are not equally far apart, or that consist of several segments, are copied first.
///
/// # Safety
/// The process may use the extension; all elements of the segments can be read from the places of `t.rows`, and the other pointers are good for as many rows
/// and for `t.cols` columns (of B: `W` vectors).
#[target_feature(enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl")]
pub(super) unsafe fn direct_tile<K: Registers, const W: usize>(t: &DirectTile<'_, K::Step, SumOf<K>>) {
    let rows = t.rows.len();
    let target = Target { rows, c: t.c, ldc: t.ldc, cols: t.cols, load: t.load, finish: t.finish };
    let first_row = t.segments.first().map_or(0, |segment| segment.b);
    let panel = |row: usize| Panel { b: t.b.wrapping_add(row * t.ldb), ldb: t.ldb };
    let one_line = match (t.segments, distance(t.rows)) {
        (&[Segment { a, len, .. }], Some(lda)) if t.step == 1 => Some((Lines { a: t.a.wrapping_add(t.rows[0] + a), lda }, len)),
        _ => None,
    };
    if let Some((a, steps)) = one_line {
        // SAFETY: these are the function's requirements.
        return unsafe {
            with_sums::<K, W>(&target, |sums, stride, load| multiply_steps::<K, W>(rows, steps, a, panel(first_row), (sums, stride, load)));
        };
    }
    let add_products = |sums, stride, load| {
        let multiply = |chunk: Chunk<'_, K::Step>| {
            let a = Lines { a: chunk.a.as_ptr(), lda: LDA };
            // SAFETY: these are the function's requirements.
            unsafe {
                multiply_steps::<K, W>(rows, chunk.steps.len(), a, panel(chunk.steps.start), (sums, stride, load || !chunk.is_first));
            }
        };
        // SAFETY: as above.
        unsafe { for_each_chunk(t, multiply) };
    };
    // SAFETY: as above.
    unsafe { with_sums::<K, W>(&target, add_products) };
}

/// Returns the distance of rows that are equally far apart.
fn distance(rows: &[usize]) -> Option<usize> {
    let distance = match rows {
        [] => return None,
        [_] => 0,
        [first, second, ..] => second.checked_sub(*first)?,
    };
    rows.windows(2).all(|pair| pair[1].checked_sub(pair[0]) == Some(distance)).then_some(distance)
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
/// The CPU has AVX-512; the pointers of `t` are good for `R` rows, for `t.k` steps, and for `t.cols` columns (of B: whole panels), which reach into the last of
/// the `P` panels of `W` vectors.
#[target_feature(enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl")]
#[allow(clippy::needless_range_loop)]
pub(super) unsafe fn few_rows<const R: usize, const P: usize, const W: usize>(t: &Tile<Pair, f32>) {
    type Widened = WidenedPairs<F32x16>;
    // SAFETY: everything below stays inside the memory that the caller guarantees.
    unsafe {
        let zero = <F32x16 as Lanes>::zero();
        let mut sums = [[[zero; W]; P]; R];
        if t.load {
            for (i, row) in sums.iter_mut().enumerate() {
                for (at, sum) in row.as_flattened_mut().iter_mut().enumerate() {
                    let count = t.cols.saturating_sub(at * SIDE).min(SIDE);
                    *sum = F32x16::load_part(t.c.wrapping_add(i * t.ldc + at * SIDE), count);
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
        finish_tile::<F32x16, R, P, W>(sums, t.finish.as_ref(), t.c, t.ldc, t.cols);
    }
}

/// Like [`few_rows`], for rows of A where they lie, and one panel.
///
/// # Safety
/// The CPU has AVX-512; all elements of the segments can be read from the `R` places of `t.rows`, and the other pointers are good for as many rows and for
/// `t.cols` columns (of B: `W` vectors).
#[target_feature(enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl")]
pub(super) unsafe fn few_direct_rows<const R: usize, const W: usize>(t: &DirectTile<'_, Pair, f32>) {
    let copy = |chunk: Chunk<'_, Pair>| {
        let tile = Tile {
            rows: R,
            k: chunk.steps.len(),
            a: chunk.a.as_ptr(),
            b: t.b.wrapping_add(chunk.steps.start * t.ldb),
            ldb: t.ldb,
            panel_stride: 0,
            c: t.c,
            ldc: t.ldc,
            cols: t.cols,
            load: t.load || !chunk.is_first,
            finish: t.finish.filter(|_| chunk.is_last),
        };
        // SAFETY: these are the function's requirements.
        unsafe { few_rows::<R, 1, W>(&tile) };
    };
    // SAFETY: as above.
    unsafe { for_each_chunk(t, copy) };
}

/// Rows of A that were copied, [`LDA`] apart, for some rows of B.
struct Chunk<'a, S> {
    a: &'a [S],
    /// The rows of B.
    steps: Range<usize>,
    is_first: bool,
    is_last: bool,
}

/// Copies the rows of a tile, as many steps at a time as a packed block has, and calls `f` with each chunk: at least one, which may be empty.
///
/// # Safety
/// All elements of the segments can be read from the places of `t.rows`.
unsafe fn for_each_chunk<S: bytemuck::Pod, C>(t: &DirectTile<'_, S, C>, mut f: impl FnMut(Chunk<'_, S>)) {
    let start = t.segments.first().map_or(0, |segment| segment.b);
    let end = t.segments.last().map_or(0, |segment| segment.b + segment.len);
    with_scratch(t.rows.len() * LDA, |copied: &mut [S]| {
        for first in (start..end.max(start + 1)).step_by(KC) {
            let steps = first..end.min(first + KC);
            for segment in part(t.segments, steps.start, steps.len()) {
                for (&place, row) in t.rows.iter().zip(copied.chunks_exact_mut(LDA)) {
                    for (p, element) in row[segment.b - first..][..segment.len].iter_mut().enumerate() {
                        // SAFETY: the caller guarantees it.
                        *element = unsafe { *t.a.add(place + segment.a + p * t.step) };
                    }
                }
            }
            f(Chunk { a: copied, is_first: first == start, is_last: steps.end == end, steps });
        }
    });
}
