//! The wire format of messages.

use flowmill_proto::encode_varint;
use prost_reflect::Kind;

/// The deepest nesting of groups that is skipped.
const MAX_DEPTH: usize = 100;

pub(super) const VARINT: u8 = 0;
pub(super) const FIXED64: u8 = 1;
pub(super) const LENGTH_DELIMITED: u8 = 2;
pub(super) const START_GROUP: u8 = 3;
pub(super) const END_GROUP: u8 = 4;
pub(super) const FIXED32: u8 = 5;

/// Returns the wire type in which single values of a kind are written.
pub(super) fn wire_type(kind: &Kind, is_group: bool) -> u8 {
    match kind {
        Kind::Double | Kind::Fixed64 | Kind::Sfixed64 => FIXED64,
        Kind::Float | Kind::Fixed32 | Kind::Sfixed32 => FIXED32,
        Kind::Message(_) if is_group => START_GROUP,
        Kind::String | Kind::Bytes | Kind::Message(_) => LENGTH_DELIMITED,
        _ => VARINT,
    }
}

/// The rest of a message, which is read from its start.
#[derive(Clone, Copy)]
pub(super) struct Reader<'a>(pub(super) &'a [u8]);

impl<'a> Reader<'a> {
    pub(super) fn varint(&mut self) -> Option<u64> {
        let mut value = 0u64;
        for i in 0..10 {
            let (&byte, rest) = self.0.split_first()?;
            self.0 = rest;
            value |= u64::from(byte & 0x7f) << (7 * i);
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }

    pub(super) fn bytes(&mut self, len: u64) -> Option<&'a [u8]> {
        let (bytes, rest) = self.0.split_at_checked(usize::try_from(len).ok()?)?;
        self.0 = rest;
        Some(bytes)
    }

    /// Bytes after their number.
    pub(super) fn delimited(&mut self) -> Option<&'a [u8]> {
        let len = self.varint()?;
        self.bytes(len)
    }

    /// Returns a number, as its bits.
    pub(super) fn number(&mut self, wire_type: u8) -> Option<u64> {
        match wire_type {
            FIXED64 => Some(u64::from_le_bytes(self.bytes(8)?.try_into().ok()?)),
            FIXED32 => Some(u64::from(u32::from_le_bytes(self.bytes(4)?.try_into().ok()?))),
            _ => self.varint(),
        }
    }

    /// Returns a field's number and wire type.
    pub(super) fn tag(&mut self) -> Option<(u32, u8)> {
        let tag = u32::try_from(self.varint()?).ok()?;
        Some((tag >> 3, (tag & 7) as u8))
    }

    /// Returns the contents of a group whose start has been read, with the end read too.
    pub(super) fn group(&mut self, number: u32, depth: usize) -> Option<&'a [u8]> {
        let start = self.0;
        loop {
            let before = self.0;
            let (field, wire_type) = self.tag()?;
            if wire_type == END_GROUP {
                return (field == number).then(|| &start[..start.len() - before.len()]);
            }
            self.skip(field, wire_type, depth)?;
        }
    }

    /// Passes over a field whose tag has been read.
    pub(super) fn skip(&mut self, number: u32, wire_type: u8, depth: usize) -> Option<()> {
        match wire_type {
            _ if number == 0 => None,
            VARINT => self.varint().map(drop),
            FIXED64 => self.bytes(8).map(drop),
            LENGTH_DELIMITED => self.delimited().map(drop),
            START_GROUP if depth < MAX_DEPTH => self.group(number, depth + 1).map(drop),
            FIXED32 => self.bytes(4).map(drop),
            _ => None,
        }
    }
}

pub(super) fn put_tag(out: &mut Vec<u8>, number: u32, wire_type: u8) {
    encode_varint(u64::from(number) << 3 | u64::from(wire_type), out);
}
