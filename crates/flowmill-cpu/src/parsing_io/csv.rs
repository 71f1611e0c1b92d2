//! `DecodeCSV`.

use crate::from_fn::from_fn;
use flowmill_runtime::{Kernel, KernelContext, KernelInit, KernelRegistry};
use flowmill_tensor::{Bytes, DType, Element, Result, Tensor, bail};
use std::str::FromStr;
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("DecodeCSV", make);
}

/// The rules of a file.
struct Format {
    delimiter: u8,
    quotes: bool,
    na_value: Vec<u8>,
    /// The columns that are wanted, rising; all where empty.
    columns: Vec<usize>,
}

fn make(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let attrs = init.attrs;
    let types: Vec<DType> = attrs.list("OUT_TYPE")?;
    let &[delimiter] = attrs.get_or("field_delim", ",")?.as_bytes() else {
        bail!(InvalidArgument, "field_delim should be only 1 char");
    };
    let columns: Vec<i64> = if attrs.contains("select_cols") { attrs.list("select_cols")? } else { Vec::new() };
    if !columns.is_empty() && columns.len() != types.len() {
        bail!(InvalidArgument, "select_cols should match output size");
    }
    if columns.windows(2).any(|pair| pair[0] >= pair[1]) {
        bail!(InvalidArgument, "select_cols should be strictly increasing indices");
    }
    if columns.first().is_some_and(|&first| first < 0) {
        bail!(InvalidArgument, "select_cols should be non-negative indices");
    }
    let format = Format {
        delimiter,
        quotes: attrs.get_or("use_quote_delim", true)?,
        na_value: attrs.get_or("na_value", "")?.as_bytes().to_vec(),
        columns: columns.into_iter().map(|c| c as usize).collect(),
    };
    from_fn(move |ctx| decode(ctx, &format, &types))
}

/// Inputs: records, then a default for each column: one value, or none where the column is required.
fn decode(ctx: &mut KernelContext<'_>, format: &Format, types: &[DType]) -> Result<()> {
    for i in 0..types.len() {
        let default = ctx.input(i + 1)?;
        if default.num_elements() > 1 {
            bail!(InvalidArgument, "There should only be 1 default per field but field {i} has {}", default.num_elements());
        }
    }
    let records = ctx.input(0)?;
    let mut columns: Vec<Vec<Bytes>> = vec![Vec::with_capacity(records.num_elements()); types.len()];
    for (i, record) in records.as_strings()?.iter().enumerate() {
        let fields = format.fields(record)?;
        if fields.len() != types.len() {
            bail!(InvalidArgument, "Expect {} fields but have {} in record {i}", types.len(), fields.len());
        }
        columns.iter_mut().zip(fields).for_each(|(column, field)| column.push(field.into()));
    }
    let shape = records.shape().clone();
    for (f, (&dtype, column)) in types.iter().zip(&columns).enumerate() {
        let column = Column { number: f, fields: column, na_value: &format.na_value, default: ctx.input(f + 1)? };
        let out = match dtype {
            DType::F32 => column.numbers::<f32>("float")?,
            DType::F64 => column.numbers::<f64>("double")?,
            DType::I32 => column.numbers::<i32>("int32")?,
            DType::I64 => column.numbers::<i64>("int64")?,
            DType::String => column.texts()?,
            other => bail!(InvalidArgument, "csv: data type {other} not supported in field {f}"),
        };
        ctx.set_output(f, out.reshaped(shape.clone())?);
    }
    Ok(())
}

struct Column<'a> {
    number: usize,
    fields: &'a [Bytes],
    na_value: &'a [u8],
    default: &'a Tensor,
}

impl Column<'_> {
    fn is_missing(&self, field: &[u8]) -> bool {
        field.is_empty() || field == self.na_value
    }

    fn required(&self, record: usize) -> flowmill_tensor::Error {
        flowmill_tensor::error!(InvalidArgument, "Field {} is required but missing in record {record}!", self.number)
    }

    fn numbers<T: Element + FromStr>(&self, name: &str) -> Result<Tensor> {
        let default = self.default.as_slice::<T>()?.first();
        let number = |(record, field): (usize, &Bytes)| -> Result<T> {
            if self.is_missing(field) {
                return default.copied().ok_or_else(|| self.required(record));
            }
            match std::str::from_utf8(field).ok().and_then(|text| text.trim().parse().ok()) {
                Some(value) => Ok(value),
                None => bail!(
                    InvalidArgument,
                    "Field {} in record {record} is not a valid {name}: {}",
                    self.number,
                    String::from_utf8_lossy(field)
                ),
            }
        };
        Tensor::vector(&self.fields.iter().enumerate().map(number).collect::<Result<Vec<T>>>()?)
    }

    fn texts(&self) -> Result<Tensor> {
        let default = self.default.as_strings()?.first();
        let text = |(record, field): (usize, &Bytes)| {
            if self.is_missing(field) { default.cloned().ok_or_else(|| self.required(record)) } else { Ok(field.clone()) }
        };
        let texts = self.fields.iter().enumerate().map(text).collect::<Result<Vec<_>>>()?;
        Tensor::from_strings([texts.len()], texts)
    }
}

impl Format {
    /// The wanted fields of a record.
    fn fields(&self, record: &[u8]) -> Result<Vec<Vec<u8>>> {
        let (mut fields, mut at, mut number) = (Vec::new(), 0, 0);
        let wanted = |fields: &[Vec<u8>], number: usize| self.columns.is_empty() || self.columns.get(fields.len()) == Some(&number);
        while at < record.len() {
            if matches!(record[at], b'\n' | b'\r') {
                at += 1;
                continue;
            }
            let field = if self.quotes && record[at] == b'"' { self.quoted(record, &mut at)? } else { self.plain(record, &mut at)? };
            if wanted(&fields, number) {
                fields.push(field);
                if fields.len() == self.columns.len() {
                    return Ok(fields);
                }
            }
            number += 1;
        }
        // A delimiter at the end stands before an empty field.
        if record.last() == Some(&self.delimiter) && wanted(&fields, number) {
            fields.push(Vec::new());
        }
        Ok(fields)
    }

    fn plain(&self, record: &[u8], at: &mut usize) -> Result<Vec<u8>> {
        let rest = &record[*at..];
        let field = &rest[..rest.iter().position(|&b| b == self.delimiter).unwrap_or(rest.len())];
        if field.iter().any(|&b| (self.quotes && b == b'"') || b == b'\n' || b == b'\r') {
            bail!(InvalidArgument, "Unquoted fields cannot have quotes/CRLFs inside");
        }
        *at += field.len() + 1;
        Ok(field.to_vec())
    }

    /// A field that begins at a quote; two quotes within it are one.
    fn quoted(&self, record: &[u8], at: &mut usize) -> Result<Vec<u8>> {
        let mut field = Vec::new();
        *at += 1;
        loop {
            match (record.get(*at), record.get(*at + 1)) {
                (Some(b'"'), None) => break,
                (Some(b'"'), Some(&next)) if next == self.delimiter => break,
                (Some(b'"'), Some(b'"')) => {
                    field.push(b'"');
                    *at += 2;
                }
                (Some(b'"'), Some(_)) => bail!(InvalidArgument, "Quote inside a string has to be escaped by another quote"),
                (Some(&byte), Some(_)) => {
                    field.push(byte);
                    *at += 1;
                }
                (_, None) => bail!(InvalidArgument, "Quoted field has to end with quote followed by delim or end"),
                (None, Some(_)) => bail!(Internal, "a byte follows the end"),
            }
        }
        *at += 2;
        Ok(field)
    }
}
