//! Keys of parts of tensors: byte strings that sort as the values in them do.

use crate::slice::TensorSlice;

/// Returns the key under which a part of the tensor `name` is stored.
pub(crate) fn slice_key(name: &[u8], slice: &TensorSlice) -> Vec<u8> {
    let mut key = Vec::new();
    put_unsigned(&mut key, 0);
    put_string(&mut key, name);
    put_unsigned(&mut key, slice.rank() as u64);
    for extent in slice.extents() {
        let (start, len) = extent.map_or((0, -1), |extent| (extent.start, extent.len));
        put_signed(&mut key, start);
        put_signed(&mut key, len);
    }
    key
}

/// Returns true if a key is one of [`slice_key`]: names of tensors do not begin with a zero byte.
pub(crate) fn is_slice_key(key: &[u8]) -> bool {
    key.first() == Some(&0)
}

/// The number of bytes, then the big-endian bytes without leading zeros.
fn put_unsigned(out: &mut Vec<u8>, value: u64) {
    let skip = value.leading_zeros() as usize / 8;
    out.push(8 - skip as u8);
    out.extend(&value.to_be_bytes()[skip..]);
}

/// The bytes with 0x00 and 0xff escaped, and a terminator.
fn put_string(out: &mut Vec<u8>, string: &[u8]) {
    for &byte in string {
        out.push(byte);
        match byte {
            0x00 => out.push(0xff),
            0xff => out.push(0x00),
            _ => {}
        }
    }
    out.extend([0x00, 0x01]);
}

/// Big-endian two's complement in the fewest bytes, whose leading bits tell their number: n ones and a zero for a
/// value that is not negative, the reverse for one that is. n bytes hold 7n - 1 bits beside the sign.
fn put_signed(out: &mut Vec<u8>, value: i64) {
    let magnitude_bits = 64 - (value ^ (value >> 63)).leading_zeros() as usize;
    let len = magnitude_bits / 7 + 1;
    let header: u128 = ((1 << len) - 1) << (7 * len);
    let word = i128::from(value) as u128 ^ header;
    out.extend(&word.to_be_bytes()[16 - len..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn signed(value: i64) -> Vec<u8> {
        let mut out = Vec::new();
        put_signed(&mut out, value);
        out
    }

    #[test]
    fn signed_numbers_sort_and_have_their_known_forms() {
        assert_eq!(signed(0), [0x80]);
        assert_eq!(signed(-1), [0x7f]);
        assert_eq!(signed(63), [0xbf]);
        assert_eq!(signed(64), [0xc0, 0x40]);
        assert_eq!(signed(-64), [0x40]);
        assert_eq!(signed(-65), [0x3f, 0xbf]);
        assert_eq!(signed(i64::MAX), [0xff, 0xc0, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]);
        assert_eq!(signed(i64::MIN), [0x00, 0x3f, 0x80, 0, 0, 0, 0, 0, 0, 0]);
        let values = [i64::MIN, -1 << 40, -70_000, -65, -1, 0, 63, 64, 8191, 8192, 1 << 55, 1 << 56, i64::MAX];
        assert!(values.map(signed).is_sorted());
    }

    #[test]
    fn other_parts_have_their_known_forms() {
        let mut out = Vec::new();
        put_unsigned(&mut out, 0);
        put_unsigned(&mut out, 0x1234);
        put_string(&mut out, b"a\x00\xff");
        assert_eq!(out, [0, 2, 0x12, 0x34, b'a', 0, 0xff, 0xff, 0, 0, 1]);
    }
}
