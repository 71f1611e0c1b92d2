//! The protobuf wire format, read without building messages.

/// What a field holds. The groups of old messages are skipped whole.
pub(super) enum Value<'a> {
    Varint(u64),
    Fixed32(u32),
    Bytes(&'a [u8]),
    /// A kind that no field of interest has.
    Other,
}

/// How deep groups may nest.
const MAX_GROUPS: usize = 100;

/// The fields of a message, one after the other. Ends after the first malformed one, which it gives as `Err`.
pub(super) struct Fields<'a> {
    rest: &'a [u8],
}

/// The bytes are no message.
#[derive(Debug)]
pub(super) struct Malformed;

impl<'a> Fields<'a> {
    pub(super) fn of(message: &'a [u8]) -> Fields<'a> {
        Fields { rest: message }
    }

    fn field(&mut self) -> Option<(u64, Value<'a>)> {
        let tag = varint(&mut self.rest)?;
        let (number, kind) = (tag >> 3, tag & 7);
        if number == 0 {
            return None;
        }
        let value = match kind {
            3 => {
                self.skip_group(number)?;
                Value::Other
            }
            _ => self.value(kind)?,
        };
        Some((number, value))
    }

    fn value(&mut self, kind: u64) -> Option<Value<'a>> {
        Some(match kind {
            0 => Value::Varint(varint(&mut self.rest)?),
            1 => {
                take(&mut self.rest, 8)?;
                Value::Other
            }
            2 => {
                let len = usize::try_from(varint(&mut self.rest)?).ok()?;
                Value::Bytes(take(&mut self.rest, len)?)
            }
            5 => Value::Fixed32(u32::from_le_bytes(*take(&mut self.rest, 4)?.first_chunk()?)),
            _ => return None,
        })
    }

    fn skip_group(&mut self, number: u64) -> Option<()> {
        let mut open = vec![number];
        while let Some(&innermost) = open.last() {
            let tag = varint(&mut self.rest)?;
            match tag & 7 {
                3 if open.len() < MAX_GROUPS => open.push(tag >> 3),
                4 if tag >> 3 == innermost => drop(open.pop()),
                3 | 4 => return None,
                kind => {
                    self.value(kind)?;
                }
            }
        }
        Some(())
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<(u64, Value<'a>), Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let field = self.field().ok_or(Malformed);
        if field.is_err() {
            self.rest = &[];
        }
        Some(field)
    }
}

/// Takes a little-endian base-128 integer of at most ten bytes off the front.
pub(super) fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0u64;
    for (i, &byte) in bytes.iter().take(10).enumerate() {
        value |= u64::from(byte & 0x7f).checked_shl(7 * i as u32).unwrap_or(0);
        if byte < 0x80 {
            *bytes = &bytes[i + 1..];
            return Some(value);
        }
    }
    None
}

fn take<'a>(bytes: &mut &'a [u8], len: usize) -> Option<&'a [u8]> {
    let (head, tail) = bytes.split_at_checked(len)?;
    *bytes = tail;
    Some(head)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_every_kind_are_read_or_skipped() {
        // 1: varint 300; 2: "ab"; 3: fixed64; 4: fixed32 1; 5: group with a nested one.
        let message = [
            0x08, 0xac, 0x02, 0x12, 2, b'a', b'b', 0x19, 0, 0, 0, 0, 0, 0, 0, 0, 0x25, 1, 0, 0, 0, 0x2b, 0x33, 0x08, 1, 0x34, 0x2c, 0x08, 7,
        ];
        let seen: Vec<u64> = Fields::of(&message)
            .map(|field| match field.unwrap() {
                (1, Value::Varint(v)) => v,
                (2, Value::Bytes(b)) => b.len() as u64,
                (4, Value::Fixed32(v)) => u64::from(v),
                (number, Value::Other) => 100 + number,
                (number, _) => panic!("field {number}"),
            })
            .collect();
        assert_eq!(seen, [300, 2, 103, 1, 105, 7]);
    }

    #[test]
    fn what_is_cut_off_is_malformed_and_the_end() {
        for message in [&[0x12, 5, b'a'][..], &[0x08], &[0x2b, 0x08, 1], &[0x25, 1], &[0x0f], &[0x00, 1], &[0x2c], &[0xff; 12]] {
            let fields: Vec<_> = Fields::of(message).collect();
            assert!(matches!(fields[..], [Err(Malformed)]), "{message:?}");
        }
    }
}
