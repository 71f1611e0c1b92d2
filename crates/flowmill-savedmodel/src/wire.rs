//! Variable-length integers and masked checksums, as tables and bundles store them.

/// Takes a little-endian base-128 integer off the front; `None` if it does not end or passes 64 bits.
pub(crate) fn take_varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0u64;
    for (i, &byte) in bytes.iter().take(10).enumerate() {
        if i == 9 && byte > 1 {
            return None;
        }
        value |= u64::from(byte & 0x7f) << (7 * i);
        if byte < 0x80 {
            *bytes = &bytes[i + 1..];
            return Some(value);
        }
    }
    None
}

/// [`take_varint`] for a length in memory.
pub(crate) fn take_len(bytes: &mut &[u8]) -> Option<usize> {
    usize::try_from(take_varint(bytes)?).ok()
}

/// Takes `len` bytes off the front.
pub(crate) fn take<'a>(bytes: &mut &'a [u8], len: usize) -> Option<&'a [u8]> {
    let (head, tail) = bytes.split_at_checked(len)?;
    *bytes = tail;
    Some(head)
}

/// Takes a little-endian word off the front.
pub(crate) fn take_u32(bytes: &mut &[u8]) -> Option<u32> {
    let (head, tail) = bytes.split_first_chunk()?;
    *bytes = tail;
    Some(u32::from_le_bytes(*head))
}

/// Returns the form in which checksums are stored: a checksum of data that hold checksums is a poor one.
pub(crate) fn mask(crc: u32) -> u32 {
    crc.rotate_right(15).wrapping_add(0xa282_ead8)
}

#[cfg(test)]
mod tests {
    use super::*;
    use flowmill_proto::encode_varint;

    #[test]
    fn varints_round_trip_and_end() {
        for value in [0, 1, 127, 128, 300, u64::from(u32::MAX), u64::MAX] {
            let mut bytes = Vec::new();
            encode_varint(value, &mut bytes);
            let mut rest = bytes.as_slice();
            assert_eq!(take_varint(&mut rest), Some(value));
            assert!(rest.is_empty());
            assert_eq!(take_varint(&mut &bytes[..bytes.len() - 1]), None);
        }
        assert_eq!(take_varint(&mut [0xff; 11].as_slice()), None);
        assert_eq!(take_varint(&mut [[0xff; 9].as_slice(), &[2]].concat().as_slice()), None);
    }
}
