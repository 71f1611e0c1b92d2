//! `EncodeProto`: messages made of their fields.

use super::wire::wire_type;
use super::{Field, fields, message_type};
use flowmill_kernels::from_fn::from_fn;
use flowmill_proto::encode_varint;
use flowmill_proto::wire::{END_GROUP, FIXED32, FIXED64, LENGTH_DELIMITED, START_GROUP, put_tag};
use flowmill_runtime::{Kernel, KernelContext, KernelInit, KernelRegistry};
use flowmill_tensor::{Bytes, DType, Result, Shape, Tensor, bail};
use prost_reflect::Kind;
use std::ops::Range;
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("EncodeProto", make);
}

/// A field that is written, and what its descriptor says of the wire.
struct Column {
    name: String,
    field: Field,
    number: u32,
    kind: Kind,
    wire_type: u8,
    is_packed: bool,
}

struct Encode {
    columns: Vec<Column>,
    /// The columns' places by their numbers.
    order: Vec<usize>,
}

impl Column {
    fn new(name: &str, field: Field) -> Column {
        let (number, kind, is_packed) = (field.number(), field.kind(), field.is_packed());
        let wire_type = wire_type(&kind, field.is_group());
        Column { name: name.to_owned(), field, number, kind, wire_type, is_packed }
    }

    /// Writes the elements of `values` that a range gives.
    fn put(&self, out: &mut Vec<u8>, values: &Tensor, range: Range<usize>) -> Result<()> {
        match values.dtype() {
            DType::String => self.put_texts(out, &values.as_strings()?[range]),
            DType::Bool => self.put_numbers(out, &values.as_slice::<bool>()?[range], u64::from),
            DType::F32 => self.put_numbers(out, &values.as_slice::<f32>()?[range], |x| u64::from(x.to_bits())),
            DType::F64 => self.put_numbers(out, &values.as_slice::<f64>()?[range], |x| match self.kind {
                Kind::Float => u64::from((x as f32).to_bits()),
                _ => x.to_bits(),
            }),
            DType::U32 => self.put_numbers(out, &values.as_slice::<u32>()?[range], u64::from),
            DType::U64 => self.put_numbers(out, &values.as_slice::<u64>()?[range], |x| match self.kind {
                Kind::Uint32 | Kind::Fixed32 => u64::from(x as u32),
                _ => x,
            }),
            DType::I32 => self.put_numbers(out, &values.as_slice::<i32>()?[range], |x| self.bits_of(i64::from(x))),
            _ => self.put_numbers(out, &values.as_slice::<i64>()?[range], |x| self.bits_of(x)),
        }
        Ok(())
    }

    /// Returns the bits that an integer with a sign has on the wire.
    fn bits_of(&self, x: i64) -> u64 {
        match self.kind {
            Kind::Int32 | Kind::Enum(_) => i64::from(x as i32) as u64,
            Kind::Sint32 => u64::from(((x as i32) << 1 ^ (x as i32) >> 31) as u32),
            Kind::Sint64 => (x << 1 ^ x >> 63) as u64,
            _ => x as u64,
        }
    }

    fn put_texts(&self, out: &mut Vec<u8>, texts: &[Bytes]) {
        for text in texts {
            put_tag(out, self.number, self.wire_type);
            if self.wire_type == LENGTH_DELIMITED {
                encode_varint(text.len() as u64, out);
            }
            out.extend_from_slice(text);
            if self.wire_type == START_GROUP {
                put_tag(out, self.number, END_GROUP);
            }
        }
    }

    fn put_numbers<T: Copy>(&self, out: &mut Vec<u8>, values: &[T], bits: impl Fn(T) -> u64) {
        if self.is_packed {
            let mut packed = Vec::new();
            values.iter().for_each(|&x| put_number(&mut packed, bits(x), self.wire_type));
            put_tag(out, self.number, LENGTH_DELIMITED);
            encode_varint(packed.len() as u64, out);
            out.append(&mut packed);
        } else {
            for &x in values {
                put_tag(out, self.number, self.wire_type);
                put_number(out, bits(x), self.wire_type);
            }
        }
    }
}

fn put_number(out: &mut Vec<u8>, bits: u64, wire_type: u8) {
    match wire_type {
        FIXED64 => out.extend(bits.to_le_bytes()),
        FIXED32 => out.extend((bits as u32).to_le_bytes()),
        _ => encode_varint(bits, out),
    }
}

impl Encode {
    /// Returns the shape that the values have in common, all but their last dimensions.
    fn prefix(&self, ctx: &KernelContext<'_>) -> Result<Shape> {
        let mut prefix: Option<Shape> = None;
        for (i, Column { name, field, .. }) in self.columns.iter().enumerate() {
            let values = ctx.input(i + 1)?;
            if !field.fits(values.dtype()) {
                let dtype = match values.dtype() {
                    DType::F32 => "float".to_owned(),
                    DType::F64 => "double".to_owned(),
                    other => other.to_string(),
                };
                let kind = field.type_name();
                bail!(InvalidArgument, "Incompatible type for field {name}.  Saw dtype: {dtype} but field type is: {kind}");
            }
            if values.rank() < 2 {
                bail!(InvalidArgument, "Invalid shape for field {name}.  Saw shape {} but it should be at least a matrix.", values.shape());
            }
            let own = Shape::new(&values.shape().dims()[..values.rank() - 1]);
            if prefix.as_ref().is_some_and(|prefix| *prefix != own) {
                bail!(InvalidArgument, "Values must match up to the last dimension");
            }
            prefix = Some(own);
        }
        Ok(prefix.unwrap_or_default())
    }

    fn run(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let count = self.columns.len();
        if ctx.num_inputs() != count + 1 {
            bail!(InvalidArgument, "Length of inputs list must match field_names");
        }
        let prefix = self.prefix(ctx)?;
        let sizes = ctx.input(0)?;
        let mut expected = prefix.clone();
        expected.push(count);
        if *sizes.shape() != expected {
            bail!(InvalidArgument, "sizes should be batch_size + [len(field_names)].  Saw: {} but expected: {expected}", sizes.shape());
        }
        let sizes = sizes.as_slice::<i32>()?;
        let messages = prefix.num_elements();
        for i in 0..count {
            let most = ctx.input(i + 1)?.shape().last().copied().unwrap_or(0);
            for (message, sizes) in sizes.chunks_exact(count).enumerate() {
                let size = sizes[i];
                if i64::from(size) > most as i64 {
                    bail!(
                        InvalidArgument,
                        "Size to write must not be larger than value tensor; but saw: {size} > {most} at message {message} field {i}"
                    );
                }
            }
        }
        let mut encoded = Vec::with_capacity(messages);
        for message in 0..messages {
            let mut out = Vec::new();
            for &i in &self.order {
                let size = sizes[message * count + i];
                if size == 0 {
                    continue;
                }
                let values = ctx.input(i + 1)?;
                let start = message * values.shape().last().copied().unwrap_or(0);
                self.columns[i].put(&mut out, values, start..start + usize::try_from(size).unwrap_or(0))?;
            }
            encoded.push(out.into());
        }
        let encoded = ctx.allocator().from_strings(prefix, encoded)?;
        ctx.set_output(0, encoded);
        Ok(())
    }
}

fn make(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let (_, message) = message_type(init.attrs)?;
    let names: Vec<&str> = init.attrs.list("field_names")?;
    let fields = fields(None, &message, &names)?;
    let columns: Vec<Column> = names.into_iter().zip(fields).map(|(name, field)| Column::new(name, field)).collect();
    let mut order: Vec<usize> = (0..columns.len()).collect();
    order.sort_by_key(|&i| columns[i].number);
    let encode = Encode { columns, order };
    from_fn(move |ctx| encode.run(ctx))
}
