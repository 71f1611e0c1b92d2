//! `DecodeProtoV2`: fields taken out of messages.

use super::wire::wire_type;
use super::{Field, fields, message_type};
use flowmill_kernels::from_fn::from_fn;
use flowmill_proto::wire::{END_GROUP, LENGTH_DELIMITED, Reader, START_GROUP, VARINT, put_tag};
use flowmill_runtime::{Kernel, KernelContext, KernelInit, KernelRegistry};
use flowmill_tensor::{Allocator, Bytes, DType, Result, Shape, Tensor, bail, check_memory, error};
use prost_reflect::prost::Message;
use prost_reflect::{DynamicMessage, Kind, MessageDescriptor, Value};
use std::borrow::Cow;
use std::sync::Arc;

/// Texts are parsed by a function that calls itself for each message in another; deeper ones are refused.
const MAX_TEXT_DEPTH: usize = 100;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("DecodeProtoV2", make);
}

/// A value of a field.
#[derive(Clone)]
enum Element {
    Signed(i64),
    Unsigned(u64),
    Float(f64),
    Text(Bytes),
}

impl Element {
    /// Returns the value of the bits that a number has on the wire.
    fn of_bits(kind: &Kind, bits: u64) -> Element {
        match kind {
            Kind::Double => Element::Float(f64::from_bits(bits)),
            Kind::Float => Element::Float(f64::from(f32::from_bits(bits as u32))),
            Kind::Int32 | Kind::Sfixed32 | Kind::Enum(_) => Element::Signed(i64::from(bits as i32)),
            Kind::Int64 | Kind::Sfixed64 => Element::Signed(bits as i64),
            Kind::Sint32 => Element::Signed(i64::from((bits as u32 >> 1) as i32 ^ -((bits & 1) as i32))),
            Kind::Sint64 => Element::Signed((bits >> 1) as i64 ^ -((bits & 1) as i64)),
            Kind::Uint32 | Kind::Fixed32 => Element::Unsigned(u64::from(bits as u32)),
            Kind::Bool => Element::Unsigned(u64::from(bits != 0)),
            _ => Element::Unsigned(bits),
        }
    }

    /// Returns the value of a field that the message does not have.
    fn default_of(field: &Field) -> Element {
        match field.default_value() {
            Value::Bool(v) => Element::Unsigned(u64::from(v)),
            Value::I32(v) | Value::EnumNumber(v) => Element::Signed(i64::from(v)),
            Value::I64(v) => Element::Signed(v),
            Value::U32(v) => Element::Unsigned(u64::from(v)),
            Value::U64(v) => Element::Unsigned(v),
            Value::F32(v) => Element::Float(f64::from(v)),
            Value::F64(v) => Element::Float(v),
            Value::String(v) => Element::Text(v.into_bytes().into()),
            Value::Bytes(v) => Element::Text(v),
            // Of a list, whose elements have zero.
            // An enumeration's is the first.
            _ => match field.kind() {
                Kind::Enum(kind) => Element::Signed(i64::from(kind.default_value().number())),
                Kind::String | Kind::Bytes | Kind::Message(_) => Element::Text(Bytes::new()),
                Kind::Double | Kind::Float => Element::Float(0.0),
                kind => Element::of_bits(&kind, 0),
            },
        }
    }

    fn signed(&self) -> i64 {
        if let Element::Signed(v) = self { *v } else { 0 }
    }

    fn unsigned(&self) -> u64 {
        if let Element::Unsigned(v) = self { *v } else { 0 }
    }

    fn float(&self) -> f64 {
        if let Element::Float(v) = self { *v } else { 0.0 }
    }

    fn text(&self) -> Bytes {
        if let Element::Text(v) = self { v.clone() } else { Bytes::new() }
    }
}

/// A field that is wanted.
struct Wanted {
    number: u32,
    is_repeated: bool,
    kind: Kind,
    wire_type: u8,
    dtype: DType,
    default: Element,
}

/// The values that a message has for a field.
#[derive(Clone, Default)]
struct Found {
    count: usize,
    elements: Vec<Element>,
}

impl Wanted {
    fn new(field: Field, dtype: DType) -> Result<Wanted> {
        if !field.fits(dtype) {
            let number = dtype.number();
            let name = flowmill_proto::DataType::try_from(number).map_or("DT_INVALID", |dtype| dtype.as_str_name());
            bail!(InvalidArgument, "Unexpected output type for {}: {} to {name}", field.full_name(), field.cpp_type_name());
        }
        let kind = field.kind();
        let (wire_type, default) = (wire_type(&kind, field.is_group()), Element::default_of(&field));
        Ok(Wanted { number: field.number(), is_repeated: field.is_repeated(), kind, wire_type, dtype, default })
    }

    /// Reads a value or several packed ones.
    fn read(&self, reader: &mut Reader<'_>, wire_type: u8, found: &mut Found) -> Result<()> {
        if wire_type == LENGTH_DELIMITED && self.wire_type != LENGTH_DELIMITED {
            return self.read_packed(reader, found);
        }
        let element = match self.wire_type {
            LENGTH_DELIMITED => reader.delimited().map(|bytes| Element::Text(Bytes::copy_from_slice(bytes))),
            START_GROUP => reader.group(self.number).map(|bytes| Element::Text(in_tags(self.number, bytes))),
            number => reader.number(number).map(|bits| Element::of_bits(&self.kind, bits)),
        };
        let Some(element) = element else { bail!(DataLoss, "ReadValue: Failed skipping field when counting") };
        if !self.is_repeated {
            // The last one counts.
            *found = Found::default();
        }
        found.count += 1;
        found.elements.push(element);
        Ok(())
    }

    fn read_packed(&self, reader: &mut Reader<'_>, found: &mut Found) -> Result<()> {
        let Some(len) = reader.varint() else { bail!(DataLoss, "CollectField: Failed reading packed size") };
        let Some(packed) = reader.bytes(len) else { bail!(DataLoss, "ReadPackedValues: Skipping packed field failed") };
        // Each byte may be one.
        check_memory::<Element>(packed.len())?;
        let mut values = Reader(packed);
        let mut elements = Vec::new();
        while !values.0.is_empty() {
            match values.number(self.wire_type) {
                Some(bits) => elements.push(Element::of_bits(&self.kind, bits)),
                None if self.wire_type == VARINT => bail!(DataLoss, "Corrupt packed varint"),
                None => bail!(DataLoss, "Illegal data length for packed fixed-size type: {}", packed.len()),
            }
        }
        if self.is_repeated {
            found.count += elements.len();
            found.elements.append(&mut elements);
        } else if !elements.is_empty() {
            // As in TensorFlow the field is there, with its default.
            *found = Found { count: 1, elements: Vec::new() };
        }
        Ok(())
    }

    /// Returns the tensor of the values of all messages, filled up to the longest.
    fn tensor(&self, alloc: &Allocator, found: &[Found], longest: usize, shape: Shape) -> Result<Tensor> {
        macro_rules! numbers {
            ($get:expr) => {{
                let mut values = Vec::with_capacity(shape.num_elements());
                for found in found {
                    let missing = std::iter::repeat_n(&self.default, longest - found.elements.len());
                    values.extend(found.elements.iter().chain(missing).map($get));
                }
                values
            }};
        }
        match self.dtype {
            DType::Bool => alloc.from_slice(shape.clone(), &numbers!(|v| v.unsigned() != 0)),
            DType::F32 => alloc.from_slice(shape.clone(), &numbers!(|v| v.float() as f32)),
            DType::F64 => alloc.from_slice(shape.clone(), &numbers!(Element::float)),
            DType::I32 => alloc.from_slice(shape.clone(), &numbers!(|v| v.signed() as i32)),
            DType::I64 => alloc.from_slice(shape.clone(), &numbers!(Element::signed)),
            DType::U32 => alloc.from_slice(shape.clone(), &numbers!(|v| v.unsigned() as u32)),
            DType::U64 => alloc.from_slice(shape.clone(), &numbers!(Element::unsigned)),
            _ => alloc.from_strings(shape.clone(), numbers!(Element::text)),
        }
    }
}

struct Decode {
    message: MessageDescriptor,
    wanted: Vec<Wanted>,
    is_text: bool,
    sanitize: bool,
}

impl Decode {
    /// Returns the message on the wire.
    fn binary<'a>(&self, given: &'a [u8]) -> Result<Cow<'a, [u8]>> {
        if self.is_text {
            let text = std::str::from_utf8(given).ok().filter(|text| depth_of(text) <= MAX_TEXT_DEPTH);
            let message = text.and_then(|text| DynamicMessage::parse_text_format(self.message.clone(), text).ok());
            let message = message.ok_or_else(|| error!(DataLoss, "Unable to parse text protobuf"))?;
            return Ok(message.encode_to_vec().into());
        }
        if self.sanitize {
            let message =
                DynamicMessage::decode(self.message.clone(), given).map_err(|_| error!(DataLoss, "Unable to parse binary protobuf"))?;
            return Ok(message.encode_to_vec().into());
        }
        Ok(given.into())
    }

    /// Reads the values of the fields from a message; `held` counts the elements of all messages.
    fn fields_of(&self, message: &[u8], held: &mut usize) -> Result<Vec<Found>> {
        let mut found = vec![Found::default(); self.wanted.len()];
        let mut reader = Reader(message);
        while !reader.0.is_empty() {
            let (number, wire_type) = match reader.tag() {
                None | Some((0, 0)) | Some((_, END_GROUP)) => bail!(DataLoss, "CountFields: Failed to consume entire buffer"),
                Some(tag) => tag,
            };
            let start = reader;
            let mut is_wanted = false;
            for (wanted, found) in self.wanted.iter().zip(&mut found).filter(|(wanted, _)| wanted.number == number) {
                if wire_type == wanted.wire_type || wire_type == LENGTH_DELIMITED {
                    reader = start;
                    let before = found.elements.len();
                    wanted.read(&mut reader, wire_type, found)?;
                    *held = (*held + found.elements.len()).saturating_sub(before);
                    check_memory::<Element>(*held)?;
                    is_wanted = true;
                }
            }
            if !is_wanted {
                reader.value(number, wire_type).ok_or_else(|| error!(DataLoss, "Failed skipping unrequested field"))?;
            }
        }
        Ok(found)
    }

    fn run(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let input = ctx.input(0)?;
        if input.num_elements() == 0 {
            bail!(InvalidArgument, "Bufs argument must contain at least one value");
        }
        check_memory::<Found>(input.num_elements().saturating_mul(self.wanted.len()))?;
        let mut held = 0;
        let mut by_field: Vec<Vec<Found>> = vec![Vec::with_capacity(input.num_elements()); self.wanted.len()];
        for given in input.as_strings()? {
            let found = self.fields_of(&self.binary(given)?, &mut held)?;
            by_field.iter_mut().zip(found).for_each(|(all, found)| all.push(found));
        }
        let with_last = |size: usize| {
            let mut shape = input.shape().clone();
            shape.push(size);
            shape
        };
        let messages = 0..input.num_elements();
        let sizes: Vec<i32> = messages.flat_map(|i| by_field.iter().map(move |all| all[i].count as i32)).collect();
        let mut outputs = vec![ctx.allocator().from_slice(with_last(self.wanted.len()), &sizes)?];
        for (wanted, found) in self.wanted.iter().zip(&by_field) {
            let longest = found.iter().map(|found| found.count).max().unwrap_or(0).max(1);
            let count = longest.saturating_mul(found.len());
            if wanted.dtype == DType::String {
                check_memory::<Bytes>(count)?
            } else {
                check_memory::<u64>(count)?
            }
            outputs.push(wanted.tensor(ctx.allocator(), found, longest, with_last(longest))?);
        }
        outputs.into_iter().enumerate().for_each(|(i, output)| ctx.set_output(i, output));
        Ok(())
    }
}

/// Returns a group's contents between its tags.
fn in_tags(number: u32, contents: &[u8]) -> Bytes {
    let mut whole = Vec::with_capacity(contents.len() + 10);
    put_tag(&mut whole, number, START_GROUP);
    whole.extend_from_slice(contents);
    put_tag(&mut whole, number, END_GROUP);
    whole.into()
}

/// Returns the greatest number of brackets that are open at once, without those in comments and strings.
fn depth_of(text: &str) -> usize {
    let (mut depth, mut most) = (0usize, 0);
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b'#' => drop(bytes.find(|&b| b == b'\n')),
            b'"' | b'\'' => skip_string(&mut bytes, byte),
            b'{' | b'<' | b'[' => depth += 1,
            b'}' | b'>' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        most = most.max(depth);
    }
    most
}

/// Passes over a string that `quote` has begun, and over the quote that ends it.
fn skip_string(bytes: &mut impl Iterator<Item = u8>, quote: u8) {
    while let Some(byte) = bytes.next() {
        match byte {
            b'\\' => drop(bytes.next()),
            byte if byte == quote => return,
            _ => {}
        }
    }
}

fn make(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let (pool, message) = message_type(init.attrs)?;
    let names: Vec<&str> = init.attrs.list("field_names")?;
    let dtypes: Vec<DType> = init.attrs.list("output_types")?;
    if names.len() != dtypes.len() {
        bail!(InvalidArgument, "field_names and output_types attributes must have the same length");
    }
    let found = fields(Some(&pool), &message, &names)?;
    let wanted = found.into_iter().zip(dtypes).map(|(field, dtype)| Wanted::new(field, dtype)).collect::<Result<Vec<_>>>()?;
    let is_text = match init.attrs.get("message_format")? {
        "text" => true,
        "binary" => false,
        _ => bail!(InvalidArgument, "format must be one of binary or text"),
    };
    let decode = Decode { message, wanted, is_text, sanitize: init.attrs.get("sanitize")? };
    from_fn(move |ctx| decode.run(ctx))
}

#[cfg(test)]
mod tests {
    use super::depth_of;

    #[test]
    fn brackets_in_comments_and_strings_do_not_count() {
        for (text, depth) in [
            ("a { b < c: [1, 2] > } d {}", 3),
            ("}}}} a {", 1),
            ("a { # }\n b { # }\n", 2),
            ("a: '}' b { c: \"}\" d {", 2),
            ("a: \"{{{\\\"{\" b: '{\"\\\\' c {", 1),
            ("a: \"#\" b { c {", 2),
            ("# ' {\na {", 1),
            ("a: '{{", 0),
            ("# {", 0),
        ] {
            assert_eq!(depth_of(text), depth, "{text}");
        }
    }
}
