use std::fmt;

use bytes::Buf;
use prost::DecodeError;
use prost::encoding::{DecodeContext, WireType, encode_key, skip_field};

/// The fields of a message that this version does not know, in the order they were read.
///
/// They are encoded after the fields that are known. The default is empty and takes one word.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct UnknownFields(Option<Box<Encoded>>);

/// Fields with their keys, in wire format.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
struct Encoded(Vec<u8>);

impl UnknownFields {
    /// Returns true if there are no unknown fields.
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// Returns the fields with their keys, in wire format.
    pub fn as_bytes(&self) -> &[u8] {
        self.0.as_ref().map_or(&[], |encoded| &encoded.0)
    }

    /// Forgets all fields.
    pub fn clear(&mut self) {
        self.0 = None;
    }

    /// Reads the value that follows a key and appends the field.
    ///
    /// # Errors
    /// When the buffer ends early, nests groups beyond prost's limit or is not valid wire format.
    pub(crate) fn merge_field(&mut self, tag: u32, wire_type: WireType, buf: &mut impl Buf, ctx: DecodeContext) -> Result<(), DecodeError> {
        let Encoded(out) = &mut **self.0.get_or_insert_default();
        encode_key(tag, wire_type, out);
        skip_field(wire_type, tag, &mut Recorder { buf, out }, ctx)
    }
}

impl fmt::Debug for UnknownFields {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", self.as_bytes().len())
    }
}

/// Copies what is read from a buffer.
struct Recorder<'a, B> {
    buf: &'a mut B,
    out: &'a mut Vec<u8>,
}

impl<B: Buf> Buf for Recorder<'_, B> {
    fn remaining(&self) -> usize {
        self.buf.remaining()
    }

    fn chunk(&self) -> &[u8] {
        self.buf.chunk()
    }

    fn advance(&mut self, mut count: usize) {
        while count > 0 && self.buf.has_remaining() {
            let chunk = self.buf.chunk();
            let len = chunk.len().min(count);
            self.out.extend_from_slice(&chunk[..len]);
            self.buf.advance(len);
            count -= len;
        }
    }
}
