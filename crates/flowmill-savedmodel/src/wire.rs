//! Lengths and masked checksums, as tables and bundles store them.

use flowmill_proto::wire::take_varint;

/// Takes a length in memory off the front; `None` if it does not end or is too large.
pub(crate) fn take_len(bytes: &mut &[u8]) -> Option<usize> {
    usize::try_from(take_varint(bytes)?).ok()
}

/// Returns the form in which checksums are stored: a checksum of data that hold checksums is a poor one.
pub(crate) fn mask(crc: u32) -> u32 {
    crc.rotate_right(15).wrapping_add(0xa282_ead8)
}
