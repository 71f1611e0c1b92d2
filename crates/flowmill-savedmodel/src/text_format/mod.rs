//! Protobuf's text form, as `.pbtxt` files and the file `checkpoint` hold it, turned into wire format.
//!
//! The parser follows the descriptors of `flowmill-proto`. It reads what protobuf's own parsers read: comments, `{}` and `<>`, lists, strings in
//! several parts, numbers in all bases, enum values by name and number, and `Any` messages by their type. A field that the message does not have
//! is an error.

mod lexer;

use std::sync::LazyLock;

use flowmill_proto::encode_varint;
use flowmill_proto::wire::{FIXED32, FIXED64, LENGTH_DELIMITED, VARINT, put_tag};
use flowmill_tensor::{Result, bail};
use prost_reflect::{DescriptorPool, FieldDescriptor, Kind, MessageDescriptor};

use lexer::{Lexer, Mistake};

/// The deepest nesting of messages, which is that of the wire format.
const MAX_DEPTH: usize = 100;

static POOL: LazyLock<Option<DescriptorPool>> = LazyLock::new(|| DescriptorPool::decode(flowmill_proto::DESCRIPTORS).ok());

/// Returns the wire format of a message of type `tensorflow.{name}` in text form.
///
/// # Errors
/// `DataLoss` with the line and column of the first mistake.
pub(crate) fn to_wire(name: &str, text: &[u8]) -> Result<Vec<u8>> {
    let Some((pool, message)) = POOL.as_ref().and_then(|pool| Some((pool, pool.get_message_by_name(&format!("tensorflow.{name}"))?)))
    else {
        bail!(Internal, "there is no message {name}");
    };
    let mut parser = Parser { lexer: Lexer::new(text), pool };
    let mut out = Vec::new();
    match parser.fields(&message, None, &mut out, 0) {
        Ok(()) => Ok(out),
        Err(Mistake { at, message }) => {
            let before = &text[..at.min(text.len())];
            let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
            let column = 1 + before.iter().rev().take_while(|byte| **byte != b'\n').count();
            bail!(DataLoss, "line {line}, column {column}: {message}")
        }
    }
}

/// Returns the name of the first field of a message in text form.
pub(crate) fn first_field(text: &[u8]) -> Option<&str> {
    Lexer::new(text).identifier().ok()
}

/// Returns true if `text` has no bytes that only wire format has. What is cut off in the middle of a character passes.
pub(crate) fn is_text(text: &[u8]) -> bool {
    let is_control = |byte: &u8| byte.is_ascii_control() && !matches!(byte, b'\n' | b'\r' | b'\t' | b'\x0c' | b'\x0b');
    let is_utf8 = std::str::from_utf8(text).map_or_else(|error| error.error_len().is_none(), |_| true);
    is_utf8 && !text.iter().any(is_control)
}

type Parsed<T> = std::result::Result<T, Mistake>;

struct Parser<'a> {
    lexer: Lexer<'a>,
    pool: &'a DescriptorPool,
}

impl Parser<'_> {
    /// Reads fields up to `end`, or to the end of the text.
    fn fields(&mut self, message: &MessageDescriptor, end: Option<u8>, out: &mut Vec<u8>, depth: usize) -> Parsed<()> {
        if depth > MAX_DEPTH {
            return Err(self.lexer.mistake(format!("messages are nested deeper than {MAX_DEPTH}")));
        }
        let mut seen: Vec<FieldDescriptor> = Vec::new();
        loop {
            match (self.lexer.peek(), end) {
                (None, None) => return Ok(()),
                (Some(byte), Some(end)) if byte == end => {
                    self.lexer.eat(end);
                    return Ok(());
                }
                (None, Some(end)) => return Err(self.lexer.mistake(format!("'{}' expected before the end", char::from(end)))),
                (Some(b'['), _) => self.any(message, out, depth)?,
                _ => self.field(message, &mut seen, out, depth)?,
            }
            let _ = self.lexer.eat(b',') || self.lexer.eat(b';');
        }
    }

    fn field(&mut self, message: &MessageDescriptor, seen: &mut Vec<FieldDescriptor>, out: &mut Vec<u8>, depth: usize) -> Parsed<()> {
        let at = self.lexer.start();
        let name = self.lexer.identifier()?;
        let Some(field) = message.get_field_by_name(name) else {
            return Err(Mistake { at, message: format!("message '{}' has no field '{name}'", message.full_name()) });
        };
        if !field.is_list() && !field.is_map() {
            let clash =
                seen.iter().find(|other| **other == field || other.containing_oneof().is_some_and(|o| field.containing_oneof() == Some(o)));
            if let Some(other) = clash {
                let message = match *other == field {
                    true => format!("field '{name}' is given twice"),
                    false => format!("field '{name}' is given beside '{}', of which a message has one only", other.name()),
                };
                return Err(Mistake { at, message });
            }
            seen.push(field.clone());
        }
        let colon = self.lexer.eat(b':');
        if !colon && !matches!(field.kind(), Kind::Message(_)) {
            return Err(self.lexer.mistake(format!("':' expected after '{name}'")));
        }
        if (field.is_list() || field.is_map()) && self.lexer.eat(b'[') {
            if self.lexer.eat(b']') {
                return Ok(());
            }
            loop {
                self.value(&field, out, depth)?;
                if self.lexer.eat(b']') {
                    return Ok(());
                }
                self.lexer.expect(b',')?;
            }
        }
        self.value(&field, out, depth)
    }

    /// Returns an `Any` message by its type, as in `[type.googleapis.com/tensorflow.AssetFileDef] { filename: "words" }`.
    fn any(&mut self, message: &MessageDescriptor, out: &mut Vec<u8>, depth: usize) -> Parsed<()> {
        let at = self.lexer.start();
        self.lexer.expect(b'[')?;
        let url = self.lexer.type_url()?;
        self.lexer.expect(b']')?;
        let inner = url.rsplit_once('/').and_then(|(_, name)| self.pool.get_message_by_name(name));
        let (Some(inner), "google.protobuf.Any") = (inner, message.full_name()) else {
            return Err(Mistake { at, message: format!("message '{}' has no extension '{url}'", message.full_name()) });
        };
        self.lexer.eat(b':');
        let mut value = Vec::new();
        self.message(&inner, &mut value, depth)?;
        put_bytes(1, url.as_bytes(), out);
        put_bytes(2, &value, out);
        Ok(())
    }

    fn message(&mut self, message: &MessageDescriptor, out: &mut Vec<u8>, depth: usize) -> Parsed<()> {
        let end = if self.lexer.eat(b'<') {
            b'>'
        } else {
            self.lexer.expect(b'{')?;
            b'}'
        };
        self.fields(message, Some(end), out, depth + 1)
    }

    fn value(&mut self, field: &FieldDescriptor, out: &mut Vec<u8>, depth: usize) -> Parsed<()> {
        let number = field.number();
        match field.kind() {
            Kind::Message(message) => {
                let mut inner = Vec::new();
                self.message(&message, &mut inner, depth)?;
                put_bytes(number, &inner, out);
            }
            kind @ (Kind::String | Kind::Bytes) => {
                let at = self.lexer.start();
                let bytes = self.lexer.string()?;
                if kind == Kind::String && std::str::from_utf8(&bytes).is_err() {
                    return Err(Mistake { at, message: format!("the value of '{}' is not UTF-8", field.name()) });
                }
                put_bytes(number, &bytes, out);
            }
            Kind::Double => put_fixed(number, FIXED64, &self.lexer.float()?.to_le_bytes(), out),
            Kind::Float => put_fixed(number, FIXED32, &(self.lexer.float()? as f32).to_le_bytes(), out),
            Kind::Fixed64 => put_fixed(number, FIXED64, &self.integer(0, u64::MAX.into())?.to_le_bytes(), out),
            Kind::Sfixed64 => put_fixed(number, FIXED64, &self.integer(i64::MIN.into(), i64::MAX.into())?.to_le_bytes(), out),
            Kind::Fixed32 => put_fixed(number, FIXED32, &(self.integer(0, u32::MAX.into())? as u32).to_le_bytes(), out),
            Kind::Sfixed32 => put_fixed(number, FIXED32, &(self.integer(i32::MIN.into(), i32::MAX.into())? as u32).to_le_bytes(), out),
            Kind::Int32 => put_varint(number, self.integer(i32::MIN.into(), i32::MAX.into())?, out),
            Kind::Int64 => put_varint(number, self.integer(i64::MIN.into(), i64::MAX.into())?, out),
            Kind::Uint32 => put_varint(number, self.integer(0, u32::MAX.into())?, out),
            Kind::Uint64 => put_varint(number, self.integer(0, u64::MAX.into())?, out),
            Kind::Sint32 => put_varint(number, zigzag(self.integer(i32::MIN.into(), i32::MAX.into())?), out),
            Kind::Sint64 => put_varint(number, zigzag(self.integer(i64::MIN.into(), i64::MAX.into())?), out),
            Kind::Bool => put_varint(number, self.boolean()?.into(), out),
            Kind::Enum(names) => {
                let at = self.lexer.start();
                let value = if self.lexer.is_at_number() {
                    self.integer(i32::MIN.into(), i32::MAX.into())?
                } else {
                    let name = self.lexer.identifier()?;
                    match names.get_value_by_name(name) {
                        Some(value) => i64::from(value.number()) as u64,
                        None => return Err(Mistake { at, message: format!("enum '{}' has no value '{name}'", names.full_name()) }),
                    }
                };
                put_varint(number, value, out);
            }
        }
        Ok(())
    }

    /// Reads an integer between two limits; a negative one in two's complement.
    fn integer(&mut self, least: i128, most: i128) -> Parsed<u64> {
        let at = self.lexer.start();
        let value = self.lexer.integer()?;
        if (least..=most).contains(&value) {
            return Ok(value as u64);
        }
        Err(Mistake { at, message: format!("{value} is not between {least} and {most}") })
    }

    fn boolean(&mut self) -> Parsed<bool> {
        let at = self.lexer.start();
        if self.lexer.is_at_number() {
            return Ok(self.integer(0, 1)? == 1);
        }
        match self.lexer.identifier()? {
            "true" | "True" | "t" => Ok(true),
            "false" | "False" | "f" => Ok(false),
            other => Err(Mistake { at, message: format!("'true' or 'false' expected, not '{other}'") }),
        }
    }
}

fn put_varint(number: u32, value: u64, out: &mut Vec<u8>) {
    put_tag(out, number, VARINT);
    encode_varint(value, out);
}

fn put_fixed(number: u32, wire_type: u8, bytes: &[u8], out: &mut Vec<u8>) {
    put_tag(out, number, wire_type);
    out.extend(bytes);
}

fn put_bytes(number: u32, bytes: &[u8], out: &mut Vec<u8>) {
    put_tag(out, number, LENGTH_DELIMITED);
    encode_varint(bytes.len() as u64, out);
    out.extend(bytes);
}

fn zigzag(value: u64) -> u64 {
    (value << 1) ^ ((value as i64 >> 63) as u64)
}
