//! The wire format, read and written without building messages.
//!
//! [`Fields`] are the fields of a message whose kinds matter little; a [`Reader`] takes a message apart value by value. Neither copies: what they
//! return points into the message.

use prost::encoding::encode_varint;

/// The wire type of a variable-length integer.
pub const VARINT: u8 = 0;
/// The wire type of eight bytes.
pub const FIXED64: u8 = 1;
/// The wire type of strings, bytes, messages and packed numbers.
pub const LENGTH_DELIMITED: u8 = 2;
/// The wire type of a tag that begins a group.
pub const START_GROUP: u8 = 3;
/// The wire type of a tag that ends a group.
pub const END_GROUP: u8 = 4;
/// The wire type of four bytes.
pub const FIXED32: u8 = 5;

/// The number of groups that may be open at once.
const MAX_GROUPS: usize = 100;

/// The bytes are no message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed;

/// Takes a little-endian base-128 integer of at most ten bytes off the front; `None` if it does not end. Bits past the 64th are dropped, as in
/// TensorFlow.
#[inline]
pub fn take_varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0u64;
    for (i, &byte) in bytes.iter().take(10).enumerate() {
        value |= u64::from(byte & 0x7f) << (7 * i);
        if byte < 0x80 {
            *bytes = &bytes[i + 1..];
            return Some(value);
        }
    }
    None
}

/// Takes `len` bytes off the front; `None` if there are fewer.
#[inline]
pub fn take<'a>(bytes: &mut &'a [u8], len: usize) -> Option<&'a [u8]> {
    let (head, tail) = bytes.split_at_checked(len)?;
    *bytes = tail;
    Some(head)
}

/// Takes a little-endian word off the front; `None` if there are fewer than four bytes.
#[inline]
pub fn take_u32(bytes: &mut &[u8]) -> Option<u32> {
    let (head, tail) = bytes.split_first_chunk()?;
    *bytes = tail;
    Some(u32::from_le_bytes(*head))
}

/// Appends the tag of a field.
pub fn put_tag(out: &mut Vec<u8>, number: u32, wire_type: u8) {
    encode_varint(u64::from(number) << 3 | u64::from(wire_type), out);
}

/// The rest of a message. Every method returns `None` if the rest does not begin with what is read; the reader is then of no more use.
#[derive(Clone, Copy, Debug)]
pub struct Reader<'a>(pub &'a [u8]);

impl<'a> Reader<'a> {
    /// Reads a variable-length integer.
    #[inline]
    pub fn varint(&mut self) -> Option<u64> {
        take_varint(&mut self.0)
    }

    /// Reads `len` bytes.
    #[inline]
    pub fn bytes(&mut self, len: u64) -> Option<&'a [u8]> {
        take(&mut self.0, usize::try_from(len).ok()?)
    }

    /// Reads bytes that follow their number.
    #[inline]
    pub fn delimited(&mut self) -> Option<&'a [u8]> {
        let len = self.varint()?;
        self.bytes(len)
    }

    /// Reads eight bytes as a little-endian word.
    fn fixed64(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(*take(&mut self.0, 8)?.first_chunk()?))
    }

    /// Reads the bits of a number of wire type [`FIXED64`], [`FIXED32`] or else [`VARINT`].
    pub fn number(&mut self, wire_type: u8) -> Option<u64> {
        match wire_type {
            FIXED64 => self.fixed64(),
            FIXED32 => take_u32(&mut self.0).map(u64::from),
            _ => self.varint(),
        }
    }

    /// Reads the number and the wire type of a field.
    #[inline]
    pub fn tag(&mut self) -> Option<(u32, u8)> {
        let tag = u32::try_from(self.varint()?).ok()?;
        Some((tag >> 3, (tag & 7) as u8))
    }

    /// Reads the contents and the end of group `number`, whose start has been read.
    pub fn group(&mut self, number: u32) -> Option<&'a [u8]> {
        let start = self.0;
        let mut open = vec![number];
        loop {
            let before = self.0;
            match (self.tag()?, open.last()) {
                ((0, _), _) => return None,
                ((field, START_GROUP), _) if open.len() < MAX_GROUPS => open.push(field),
                ((field, END_GROUP), Some(&innermost)) if field == innermost => {
                    open.pop();
                    if open.is_empty() {
                        return Some(&start[..start.len() - before.len()]);
                    }
                }
                ((_, START_GROUP | END_GROUP), _) => return None,
                ((field, wire_type), _) => {
                    self.value(field, wire_type)?;
                }
            }
        }
    }

    /// Reads the value of a field whose tag has been read.
    #[inline]
    pub fn value(&mut self, number: u32, wire_type: u8) -> Option<Value<'a>> {
        Some(match wire_type {
            _ if number == 0 => return None,
            VARINT => Value::Varint(self.varint()?),
            FIXED64 => Value::Fixed64(self.fixed64()?),
            LENGTH_DELIMITED => Value::Bytes(self.delimited()?),
            START_GROUP => Value::Group(self.group(number)?),
            FIXED32 => Value::Fixed32(take_u32(&mut self.0)?),
            _ => return None,
        })
    }
}

/// The value of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value<'a> {
    /// A variable-length integer.
    Varint(u64),
    /// Eight bytes, as a little-endian word.
    Fixed64(u64),
    /// A string, bytes, a message or packed numbers.
    Bytes(&'a [u8]),
    /// The contents of a group, without its tags.
    Group(&'a [u8]),
    /// Four bytes, as a little-endian word.
    Fixed32(u32),
}

/// The fields of a message, each as its number and its value, in their order. They end after the first malformed one, which is an error.
#[derive(Clone, Debug)]
pub struct Fields<'a>(Reader<'a>);

impl<'a> Fields<'a> {
    /// Returns the fields of `message`.
    pub fn of(message: &'a [u8]) -> Fields<'a> {
        Fields(Reader(message))
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<(u32, Value<'a>), Malformed>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.0.0.is_empty() {
            return None;
        }
        let field = self.0.tag().and_then(|(number, wire_type)| Some((number, self.0.value(number, wire_type)?)));
        if field.is_none() {
            self.0 = Reader(&[]);
        }
        Some(field.ok_or(Malformed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        // The bit of value 2^64.
        assert_eq!(take_varint(&mut [[0xff; 9].as_slice(), &[2]].concat().as_slice()), Some(u64::MAX >> 1));
    }

    #[test]
    fn groups_nest_up_to_a_limit() {
        let nested = |depth: usize| [vec![0x0b; depth], vec![0x0c; depth]].concat();
        assert_eq!(Fields::of(&nested(MAX_GROUPS)).next(), Some(Ok((1, Value::Group(&nested(MAX_GROUPS - 1))))));
        assert_eq!(Fields::of(&nested(MAX_GROUPS + 1)).next(), Some(Err(Malformed)));
    }

    #[test]
    fn fields_of_every_kind_are_read() {
        // 1: varint 300; 2: "ab"; 3: fixed64; 4: fixed32 1; 5: group with a nested one.
        let message = [
            0x08, 0xac, 0x02, 0x12, 2, b'a', b'b', 0x19, 0, 0, 0, 0, 0, 0, 0, 0, 0x25, 1, 0, 0, 0, 0x2b, 0x33, 0x08, 1, 0x34, 0x2c, 0x08, 7,
        ];
        let seen: Vec<(u32, Value<'_>)> = Fields::of(&message).collect::<Result<_, _>>().unwrap();
        let group = Value::Group(&[0x33, 0x08, 1, 0x34]);
        assert_eq!(
            seen,
            [
                (1, Value::Varint(300)),
                (2, Value::Bytes(b"ab")),
                (3, Value::Fixed64(0)),
                (4, Value::Fixed32(1)),
                (5, group),
                (1, Value::Varint(7))
            ]
        );
    }

    #[test]
    fn what_is_cut_off_is_malformed_and_the_end() {
        for message in [&[0x12, 5, b'a'][..], &[0x08], &[0x2b, 0x08, 1], &[0x25, 1], &[0x0f], &[0x00, 1], &[0x2c], &[0xff; 12]] {
            let fields: Vec<_> = Fields::of(message).collect();
            assert!(matches!(fields[..], [Err(Malformed)]), "{message:?}");
        }
    }
}
