//! FarmHash's `Fingerprint64` by Geoff Pike, whose values never change: the variant `farmhashna`.

mod farm128;

pub use farm128::fingerprint128;

const K0: u64 = 0xc3a5_c85c_97cb_3127;
const K1: u64 = 0xb492_b66f_be98_f273;
const K2: u64 = 0x9ae1_6a3b_2f90_404f;
/// Strings longer than this are hashed in blocks of this many bytes.
const BLOCK: usize = 64;

/// Returns the eight bytes at `at` as a little-endian word. Callers ensure that they lie inside the string.
fn word(s: &[u8], at: usize) -> u64 {
    s.get(at..).and_then(|rest| rest.first_chunk()).map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

/// Returns the four bytes at `at` as a little-endian word. Callers ensure that they lie inside the string.
fn half_word(s: &[u8], at: usize) -> u64 {
    s.get(at..).and_then(|rest| rest.first_chunk()).map_or(0, |bytes| u64::from(u32::from_le_bytes(*bytes)))
}

fn shift_mix(x: u64) -> u64 {
    x ^ x >> 47
}

fn mix(x: u64, y: u64, multiplier: u64) -> u64 {
    let a = shift_mix((x ^ y).wrapping_mul(multiplier));
    shift_mix((y ^ a).wrapping_mul(multiplier)).wrapping_mul(multiplier)
}

/// Returns the 64-bit fingerprint of a string.
pub fn fingerprint64(s: &[u8]) -> u64 {
    match s.len() {
        0..=16 => up_to_16(s),
        17..=32 => up_to_32(s),
        33..=BLOCK => up_to_64(s),
        _ => blocks(s),
    }
}

fn up_to_16(s: &[u8]) -> u64 {
    let n = s.len() as u64;
    let multiplier = K2.wrapping_add(n * 2);
    match s {
        [] => K2,
        [first, .., last] | [first @ last] if s.len() < 4 => {
            let y = u64::from(*first) + (u64::from(s[s.len() / 2]) << 8);
            let z = n + (u64::from(*last) << 2);
            shift_mix(y.wrapping_mul(K2) ^ z.wrapping_mul(K0)).wrapping_mul(K2)
        }
        _ if s.len() < 8 => mix(n + (half_word(s, 0) << 3), half_word(s, s.len() - 4), multiplier),
        _ => {
            let a = word(s, 0).wrapping_add(K2);
            let b = word(s, s.len() - 8);
            let c = b.rotate_right(37).wrapping_mul(multiplier).wrapping_add(a);
            let d = a.rotate_right(25).wrapping_add(b).wrapping_mul(multiplier);
            mix(c, d, multiplier)
        }
    }
}

/// Computes the first stage over four words, for strings of 17 to 64 bytes. Returns the two numbers to be mixed.
fn four_words(a: u64, b: u64, c: u64, d: u64) -> (u64, u64) {
    (
        a.wrapping_add(b).rotate_right(43).wrapping_add(c.rotate_right(30)).wrapping_add(d),
        a.wrapping_add(b.wrapping_add(K2).rotate_right(18)).wrapping_add(c),
    )
}

fn up_to_32(s: &[u8]) -> u64 {
    let multiplier = K2.wrapping_add(s.len() as u64 * 2);
    let (x, y) = four_words(
        word(s, 0).wrapping_mul(K1),
        word(s, 8),
        word(s, s.len() - 8).wrapping_mul(multiplier),
        word(s, s.len() - 16).wrapping_mul(K2),
    );
    mix(x, y, multiplier)
}

fn up_to_64(s: &[u8]) -> u64 {
    let n = s.len();
    let multiplier = K2.wrapping_add(n as u64 * 2);
    let a = word(s, 0).wrapping_mul(K2);
    let (y, rest) = four_words(a, word(s, 8), word(s, n - 8).wrapping_mul(multiplier), word(s, n - 16).wrapping_mul(K2));
    let z = mix(y, rest, multiplier);
    let e = word(s, 16).wrapping_mul(multiplier);
    let f = word(s, 24);
    let g = y.wrapping_add(word(s, n - 32)).wrapping_mul(multiplier);
    let h = z.wrapping_add(word(s, n - 24)).wrapping_mul(multiplier);
    mix(
        e.wrapping_add(f).rotate_right(43).wrapping_add(g.rotate_right(30)).wrapping_add(h),
        e.wrapping_add(f.wrapping_add(a).rotate_right(18)).wrapping_add(g),
        multiplier,
    )
}

/// The state after a block: three numbers and two pairs.
struct State {
    x: u64,
    y: u64,
    z: u64,
    v: (u64, u64),
    w: (u64, u64),
}

/// Mixes the 32 bytes at `at` into a pair.
fn stir(s: &[u8], at: usize, a: u64, b: u64) -> (u64, u64) {
    let last = word(s, at + 24);
    let first = a.wrapping_add(word(s, at));
    let b = b.wrapping_add(first).wrapping_add(last).rotate_right(21);
    let sum = first.wrapping_add(word(s, at + 8)).wrapping_add(word(s, at + 16));
    (sum.wrapping_add(last), b.wrapping_add(sum.rotate_right(44)).wrapping_add(first))
}

impl State {
    /// Mixes in the block at `at`; the last block has another multiplier and weight.
    fn block(&mut self, s: &[u8], at: usize, multiplier: u64, weight: u64) {
        let State { x, y, z, v, w } = self;
        *x = x.wrapping_add(*y).wrapping_add(v.0).wrapping_add(word(s, at + 8)).rotate_right(37).wrapping_mul(multiplier);
        *y = y.wrapping_add(v.1).wrapping_add(word(s, at + 48)).rotate_right(42).wrapping_mul(multiplier);
        *x ^= w.1.wrapping_mul(weight);
        *y = y.wrapping_add(v.0.wrapping_mul(weight)).wrapping_add(word(s, at + 40));
        *z = z.wrapping_add(w.0).rotate_right(33).wrapping_mul(multiplier);
        *v = stir(s, at, v.1.wrapping_mul(multiplier), x.wrapping_add(w.0));
        *w = stir(s, at + 32, z.wrapping_add(w.1), y.wrapping_add(word(s, at + 16)));
        std::mem::swap(z, x);
    }
}

/// Hashes whole blocks from the start, then the last 64 bytes.
fn blocks(s: &[u8]) -> u64 {
    const SEED: u64 = 81;
    let y = SEED.wrapping_mul(K1).wrapping_add(113);
    let z = shift_mix(y.wrapping_mul(K2).wrapping_add(113)).wrapping_mul(K2);
    let mut state = State { x: SEED.wrapping_mul(K2).wrapping_add(word(s, 0)), y, z, v: (0, 0), w: (0, 0) };
    let left = (s.len() - 1) % BLOCK;
    (0..s.len() - 1 - left).step_by(BLOCK).for_each(|at| state.block(s, at, K1, 1));
    let multiplier = K1.wrapping_add((state.z & 0xff) << 1);
    state.w.0 = state.w.0.wrapping_add(left as u64);
    state.v.0 = state.v.0.wrapping_add(state.w.0);
    state.w.0 = state.w.0.wrapping_add(state.v.0);
    state.block(s, s.len() - BLOCK, multiplier, 9);
    let State { x, y, z, v, w } = state;
    let first = mix(v.0, w.0, multiplier).wrapping_add(shift_mix(y).wrapping_mul(K0)).wrapping_add(z);
    mix(first, mix(v.1, w.1, multiplier).wrapping_add(x), multiplier)
}
