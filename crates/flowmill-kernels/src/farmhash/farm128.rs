//! FarmHash's `Fingerprint128` by Geoff Pike, which is CityHash128 of version 1.1.

use super::{K0, K1, mix, shift_mix, stir, up_to_16, word};

const MULTIPLIER: u64 = 0x9ddf_ea08_eb38_2d69;
/// Strings of at least this length are hashed in blocks of this many bytes.
const BLOCK: usize = 128;

/// Returns the fingerprint of a string: the low and the high word.
pub fn fingerprint128(s: &[u8]) -> [u64; 2] {
    match s.split_at_checked(16) {
        Some((head, rest)) => seeded(rest, s, [word(head, 0), word(head, 8).wrapping_add(K0)]),
        None => seeded(s, s, [K0, K1]),
    }
}

fn fold(x: u64, y: u64) -> u64 {
    mix(x, y, MULTIPLIER)
}

/// Returns the fingerprint of `s`, the end of the string `whole`, with a seed.
fn seeded(s: &[u8], whole: &[u8], seed: [u64; 2]) -> [u64; 2] {
    if s.len() < BLOCK { short(s, seed) } else { long(s, whole, seed) }
}

fn short(s: &[u8], [mut a, mut b]: [u64; 2]) -> [u64; 2] {
    let (mut c, mut d);
    if s.len() <= 16 {
        a = shift_mix(a.wrapping_mul(K1)).wrapping_mul(K1);
        c = b.wrapping_mul(K1).wrapping_add(up_to_16(s));
        d = shift_mix(a.wrapping_add(if s.len() >= 8 { word(s, 0) } else { c }));
    } else {
        c = fold(word(s, s.len() - 8).wrapping_add(K1), a);
        d = fold(b.wrapping_add(s.len() as u64), c.wrapping_add(word(s, s.len() - 16)));
        a = a.wrapping_add(d);
        for at in (0..s.len() - 16).step_by(16) {
            a = (a ^ shift_mix(word(s, at).wrapping_mul(K1)).wrapping_mul(K1)).wrapping_mul(K1);
            b ^= a;
            c = (c ^ shift_mix(word(s, at + 8).wrapping_mul(K1)).wrapping_mul(K1)).wrapping_mul(K1);
            d ^= c;
        }
    }
    let (a, b) = (fold(a, c), fold(d, b));
    [a ^ b, fold(b, a)]
}

fn long(s: &[u8], whole: &[u8], [mut x, mut y]: [u64; 2]) -> [u64; 2] {
    let mut z = (s.len() as u64).wrapping_mul(K1);
    let first = (y ^ K1).rotate_right(49).wrapping_mul(K1).wrapping_add(word(s, 0));
    let mut v = (first, first.rotate_right(42).wrapping_mul(K1).wrapping_add(word(s, 8)));
    let mut w = (
        y.wrapping_add(z).rotate_right(35).wrapping_mul(K1).wrapping_add(x),
        x.wrapping_add(word(s, 88)).rotate_right(53).wrapping_mul(K1),
    );
    let blocks = s.len() / BLOCK * BLOCK;
    for at in (0..blocks).step_by(BLOCK / 2) {
        let of = |offset| word(s, at + offset);
        x = x.wrapping_add(y).wrapping_add(v.0).wrapping_add(of(8)).rotate_right(37).wrapping_mul(K1) ^ w.1;
        y = y.wrapping_add(v.1).wrapping_add(of(48)).rotate_right(42).wrapping_mul(K1);
        y = y.wrapping_add(v.0).wrapping_add(of(40));
        z = z.wrapping_add(w.0).rotate_right(33).wrapping_mul(K1);
        v = stir(s, at, v.1.wrapping_mul(K1), x.wrapping_add(w.0));
        w = stir(s, at + 32, z.wrapping_add(w.1), y.wrapping_add(of(16)));
        (x, z) = (z, x);
    }
    x = x.wrapping_add(v.0.wrapping_add(z).rotate_right(49).wrapping_mul(K0));
    y = y.wrapping_mul(K0).wrapping_add(w.1.rotate_right(37));
    z = z.wrapping_mul(K0).wrapping_add(w.0.rotate_right(27));
    w.0 = w.0.wrapping_mul(9);
    v.0 = v.0.wrapping_mul(K0);
    // The remaining bytes are hashed from the end of the string, in steps of 32 bytes that may reach back before the remainder.
    for done in (32..s.len() - blocks + 32).step_by(32) {
        let at = whole.len() - done;
        y = x.wrapping_add(y).rotate_right(42).wrapping_mul(K0).wrapping_add(v.1);
        w.0 = w.0.wrapping_add(word(whole, at + 16));
        x = x.wrapping_mul(K0).wrapping_add(w.0);
        z = z.wrapping_add(w.1).wrapping_add(word(whole, at));
        w.1 = w.1.wrapping_add(v.0);
        v = stir(whole, at, v.0.wrapping_add(z), v.1);
        v.0 = v.0.wrapping_mul(K0);
    }
    let (x, y) = (fold(x, v.0), fold(y.wrapping_add(z), w.0));
    [fold(x.wrapping_add(v.1), w.1).wrapping_add(y), fold(x.wrapping_add(w.1), y.wrapping_add(v.1))]
}
