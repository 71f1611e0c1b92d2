//! libjpeg's integer inverse transforms, from coefficients to samples, at full and at reduced size.

use super::frame::Component;
use super::{Dct, Plane};

/// Returns all samples of a component.
pub(super) fn plane(c: &Component, dct: Dct) -> Plane {
    let quant = c.quant.unwrap_or([1; 64]);
    let stride = c.stride * c.scale;
    let mut samples = vec![0; stride * c.rows * c.scale];
    let fast = fast_multipliers(&quant);
    for (row, blocks) in samples.chunks_exact_mut(stride * c.scale).zip(c.coefficients.chunks_exact(c.stride * 64)) {
        for (i, block) in blocks.chunks_exact(64).enumerate() {
            let mut out = Out { samples: &mut row[i * c.scale..], stride };
            match (c.scale, dct) {
                (8, Dct::Accurate) => accurate(block, &quant, &mut out),
                (8, Dct::Fast) => fast_transform(block, &fast, &mut out),
                (4, _) => half(block, &quant, &mut out),
                (2, _) => quarter(block, &quant, &mut out),
                _ => out.set(0, 0, descale(dequantized(block, &quant, 0), 3)),
            }
        }
    }
    Plane { samples, stride, width: c.width, height: c.height }
}

struct Out<'a> {
    samples: &'a mut [u8],
    stride: usize,
}

impl Out<'_> {
    /// Sets a sample to `value`, whose range is centred at zero.
    fn set(&mut self, y: usize, x: usize, value: i32) {
        self.samples[y * self.stride + x] = (value.wrapping_add(128)).clamp(0, 255) as u8;
    }
}

fn descale(x: i32, bits: u32) -> i32 {
    x.wrapping_add(1 << (bits - 1)) >> bits
}

fn dequantized(block: &[i16], quant: &[u16; 64], i: usize) -> i32 {
    i32::from(block[i]) * i32::from(quant[i])
}

/// Adds products with wrapping arithmetic, because coefficients of a malicious file may overflow.
macro_rules! sum {
    ($($x:expr => $c:expr),+) => { 0i32$(.wrapping_add(($x).wrapping_mul($c)))+ };
}

const CONST_BITS: u32 = 13;
const PASS1_BITS: u32 = 2;

/// Applies one dimension of the accurate transform. The result has 13 fractional bits.
fn accurate_1d(v: [i32; 8]) -> [i32; 8] {
    let z1 = sum!(v[2] => 4433, v[6] => 4433);
    let (t2, t3) = (z1.wrapping_add(sum!(v[6] => -15137)), z1.wrapping_add(sum!(v[2] => 6270)));
    let (t0, t1) = (sum!(v[0] => 8192, v[4] => 8192), sum!(v[0] => 8192, v[4] => -8192));
    let even = [t0.wrapping_add(t3), t1.wrapping_add(t2), t1.wrapping_sub(t2), t0.wrapping_sub(t3)];
    let z5 = sum!(v[7] => 9633, v[3] => 9633, v[5] => 9633, v[1] => 9633);
    let (z1, z2) = (sum!(v[7] => -7373, v[1] => -7373), sum!(v[5] => -20995, v[3] => -20995));
    let z3 = sum!(v[7] => -16069, v[3] => -16069).wrapping_add(z5);
    let z4 = sum!(v[5] => -3196, v[1] => -3196).wrapping_add(z5);
    let odd = [
        sum!(v[1] => 12299, z1 => 1, z4 => 1),
        sum!(v[3] => 25172, z2 => 1, z3 => 1),
        sum!(v[5] => 16819, z2 => 1, z4 => 1),
        sum!(v[7] => 2446, z1 => 1, z3 => 1),
    ];
    std::array::from_fn(|i| if i < 4 { even[i].wrapping_add(odd[i]) } else { even[7 - i].wrapping_sub(odd[7 - i]) })
}

fn accurate(block: &[i16], quant: &[u16; 64], out: &mut Out<'_>) {
    let mut work = [0i32; 64];
    for x in 0..8 {
        let column = accurate_1d(std::array::from_fn(|y| dequantized(block, quant, y * 8 + x)));
        column.iter().enumerate().for_each(|(y, &v)| work[y * 8 + x] = descale(v, CONST_BITS - PASS1_BITS));
    }
    for (y, row) in work.as_chunks::<8>().0.iter().enumerate() {
        for (x, &v) in accurate_1d(*row).iter().enumerate() {
            out.set(y, x, descale(v, CONST_BITS + PASS1_BITS + 3));
        }
    }
}

/// Returns the quantisation steps multiplied by the factors that the fast transform leaves out, with two fractional bits.
fn fast_multipliers(quant: &[u16; 64]) -> [i32; 64] {
    // 2^14 times the products of cos(k·π/16)·√2, and 1 for k = 0, as libjpeg rounds them.
    const SCALES: [[i64; 8]; 8] = [
        [16384, 22725, 21407, 19266, 16384, 12873, 8867, 4520],
        [22725, 31521, 29692, 26722, 22725, 17855, 12299, 6270],
        [21407, 29692, 27969, 25172, 21407, 16819, 11585, 5906],
        [19266, 26722, 25172, 22654, 19266, 15137, 10426, 5315],
        [16384, 22725, 21407, 19266, 16384, 12873, 8867, 4520],
        [12873, 17855, 16819, 15137, 12873, 10114, 6967, 3552],
        [8867, 12299, 11585, 10426, 8867, 6967, 4799, 2446],
        [4520, 6270, 5906, 5315, 4520, 3552, 2446, 1247],
    ];
    std::array::from_fn(|i| ((i64::from(quant[i]) * SCALES[i / 8][i % 8] + 2048) >> 12) as i32)
}

/// Applies one dimension of the fast transform, whose products lose their last eight bits.
fn fast_1d(v: [i32; 8]) -> [i32; 8] {
    let product = |x: i32, c: i32| x.wrapping_mul(c) >> 8;
    let (t10, t11, t13) = (v[0].wrapping_add(v[4]), v[0].wrapping_sub(v[4]), v[2].wrapping_add(v[6]));
    let t12 = product(v[2].wrapping_sub(v[6]), 362).wrapping_sub(t13);
    let (t0, t3, t1, t2) = (t10.wrapping_add(t13), t10.wrapping_sub(t13), t11.wrapping_add(t12), t11.wrapping_sub(t12));
    let (z13, z10, z11, z12) = (v[5].wrapping_add(v[3]), v[5].wrapping_sub(v[3]), v[1].wrapping_add(v[7]), v[1].wrapping_sub(v[7]));
    let t7 = z11.wrapping_add(z13);
    let z5 = product(z10.wrapping_add(z12), 473);
    let t6 = product(z10, -669).wrapping_add(z5).wrapping_sub(t7);
    let t5 = product(z11.wrapping_sub(z13), 362).wrapping_sub(t6);
    let t4 = product(z12, 277).wrapping_sub(z5).wrapping_add(t5);
    [
        t0.wrapping_add(t7),
        t1.wrapping_add(t6),
        t2.wrapping_add(t5),
        t3.wrapping_sub(t4),
        t3.wrapping_add(t4),
        t2.wrapping_sub(t5),
        t1.wrapping_sub(t6),
        t0.wrapping_sub(t7),
    ]
}

fn fast_transform(block: &[i16], multipliers: &[i32; 64], out: &mut Out<'_>) {
    let mut work = [0i32; 64];
    for x in 0..8 {
        let column = fast_1d(std::array::from_fn(|y| i32::from(block[y * 8 + x]) * multipliers[y * 8 + x]));
        column.iter().enumerate().for_each(|(y, &v)| work[y * 8 + x] = v);
    }
    for (y, row) in work.as_chunks::<8>().0.iter().enumerate() {
        for (x, &v) in fast_1d(*row).iter().enumerate() {
            out.set(y, x, v >> (PASS1_BITS + 3));
        }
    }
}

/// Applies one dimension of the transform to four samples. The result has 14 fractional bits.
fn half_1d(v: [i32; 8]) -> [i32; 4] {
    let t0 = v[0] << (CONST_BITS + 1);
    let t2 = sum!(v[2] => 15137, v[6] => -6270);
    let (t10, t12) = (t0.wrapping_add(t2), t0.wrapping_sub(t2));
    let odd0 = sum!(v[7] => -1730, v[5] => 11893, v[3] => -17799, v[1] => 8697);
    let odd2 = sum!(v[7] => -4176, v[5] => -4926, v[3] => 7373, v[1] => 20995);
    [t10.wrapping_add(odd2), t12.wrapping_add(odd0), t12.wrapping_sub(odd0), t10.wrapping_sub(odd2)]
}

/// Transforms a block to 4 × 4 samples.
fn half(block: &[i16], quant: &[u16; 64], out: &mut Out<'_>) {
    let mut work = [[0i32; 8]; 4];
    for x in (0..8).filter(|&x| x != 4) {
        let column = half_1d(std::array::from_fn(|y| dequantized(block, quant, y * 8 + x)));
        column.iter().enumerate().for_each(|(y, &v)| work[y][x] = descale(v, CONST_BITS - PASS1_BITS + 1));
    }
    for (y, &row) in work.iter().enumerate() {
        for (x, &v) in half_1d(row).iter().enumerate() {
            out.set(y, x, descale(v, CONST_BITS + PASS1_BITS + 4));
        }
    }
}

/// Applies one dimension of the transform to two samples. The result has 15 fractional bits.
fn quarter_1d(v: [i32; 8]) -> [i32; 2] {
    let even = v[0] << (CONST_BITS + 2);
    let odd = sum!(v[7] => -5906, v[5] => 6967, v[3] => -10426, v[1] => 29692);
    [even.wrapping_add(odd), even.wrapping_sub(odd)]
}

/// Transforms a block to 2 × 2 samples.
fn quarter(block: &[i16], quant: &[u16; 64], out: &mut Out<'_>) {
    let mut work = [[0i32; 8]; 2];
    for x in [0, 1, 3, 5, 7] {
        let column = quarter_1d(std::array::from_fn(|y| dequantized(block, quant, y * 8 + x)));
        column.iter().enumerate().for_each(|(y, &v)| work[y][x] = descale(v, CONST_BITS - PASS1_BITS + 2));
    }
    for (y, &row) in work.iter().enumerate() {
        for (x, &v) in quarter_1d(row).iter().enumerate() {
            out.set(y, x, descale(v, CONST_BITS + PASS1_BITS + 5));
        }
    }
}
