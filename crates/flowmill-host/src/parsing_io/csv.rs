//! `DecodeCSV`, which parses CSV records.

use crate::from_fn::from_fn;
use flowmill_codecs::csv::{Columns, Record, Rules};
use flowmill_runtime::{Kernel, KernelInit, KernelRegistry};
use flowmill_tensor::{Allocator, Bytes, DType, Element, Result, Shape, Tensor, bail};
use std::str::FromStr;
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("DecodeCSV", make);
}

fn make(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let attrs = init.attrs;
    let types: Vec<DType> = attrs.list("OUT_TYPE")?;
    let delimiter = attrs.get_or("field_delim", ",")?;
    let columns: Vec<i64> = if attrs.contains("select_cols") { attrs.list("select_cols")? } else { Vec::new() };
    let decoder = RecordDecoder::new(
        &types,
        delimiter,
        attrs.get_or("use_quote_delim", true)?,
        attrs.get_or("na_value", "")?.as_bytes(),
        &columns,
        &[],
    )?;
    from_fn(move |ctx| {
        let defaults: Vec<Tensor> = ctx.inputs_from(1).cloned().collect();
        let columns = decoder.decode_all(ctx.allocator(), ctx.input(0)?, &defaults)?;
        columns.into_iter().enumerate().for_each(|(i, column)| ctx.set_output(i, column));
        Ok(())
    })
}

/// A decoder of records into tensors, one per selected column.
pub(crate) struct RecordDecoder {
    rules: Rules,
    /// The text of a missing field.
    na_value: Vec<u8>,
    types: Vec<DType>,
}

impl RecordDecoder {
    /// Returns a decoder of columns of these types. `selected` are the indices of the columns to return, `excluded` of those not to return, both in ascending
    /// order. All columns are returned if both are empty.
    ///
    /// # Errors
    /// Returns `InvalidArgument` for a delimiter of several characters and for columns whose number is not that of the types.
    pub(crate) fn new(
        types: &[DType],
        delimiter: &str,
        quotes: bool,
        na_value: &[u8],
        selected: &[i64],
        excluded: &[i64],
    ) -> Result<RecordDecoder> {
        let &[delimiter] = delimiter.as_bytes() else { bail!(InvalidArgument, "field_delim should be only 1 char") };
        if !selected.is_empty() && selected.len() != types.len() {
            bail!(InvalidArgument, "select_cols should match output size");
        }
        let indices = |name: &str, columns: &[i64]| -> Result<Vec<usize>> {
            if columns.windows(2).any(|pair| pair[0] >= pair[1]) {
                bail!(InvalidArgument, "{name} should be strictly increasing indices");
            }
            if columns.first().is_some_and(|&first| first < 0) {
                bail!(InvalidArgument, "{name} should be non-negative indices");
            }
            Ok(columns.iter().map(|&column| column as usize).collect())
        };
        let (selected, excluded) = (indices("select_cols", selected)?, indices("exclude_cols", excluded)?);
        let columns = match (selected.is_empty(), excluded.is_empty()) {
            (true, true) => Columns::All,
            (false, true) => Columns::Only(selected),
            (true, false) => Columns::Except(excluded),
            (false, false) => bail!(InvalidArgument, "Either select_cols or exclude_cols should be empty"),
        };
        Ok(RecordDecoder { rules: Rules { delimiter, quotes, columns }, na_value: na_value.to_vec(), types: types.to_vec() })
    }

    /// Returns the rules by which fields are found.
    pub(crate) fn rules(&self) -> &Rules {
        &self.rules
    }

    /// Checks the defaults of the columns, each of which is one value, or none if the column is required.
    ///
    /// # Errors
    /// Returns `InvalidArgument` if a default has several values.
    pub(crate) fn check_defaults(&self, defaults: &[Tensor]) -> Result<()> {
        if defaults.len() != self.types.len() {
            bail!(InvalidArgument, "{} defaults for {} columns", defaults.len(), self.types.len());
        }
        for (i, default) in defaults.iter().enumerate() {
            if default.num_elements() > 1 {
                bail!(InvalidArgument, "There should only be 1 default per field but field {i} has {}", default.num_elements());
            }
        }
        Ok(())
    }

    /// Returns the columns of a record of a file, as scalars.
    ///
    /// # Errors
    /// Returns `InvalidArgument` if the record is malformed.
    pub(crate) fn decode(&self, alloc: &Allocator, record: Record, defaults: &[Tensor]) -> Result<Vec<Tensor>> {
        let mut outputs = Vec::with_capacity(self.types.len());
        for field in record.fields {
            let Some(default) = defaults.get(outputs.len()) else {
                bail!(InvalidArgument, "Expect {} fields but have more in record", self.types.len());
            };
            let column = Column { number: outputs.len(), fields: &[field.into()], na_value: &self.na_value, default, is_numbered: false };
            outputs.push(column.decode(alloc, self.types[outputs.len()])?.reshaped(Shape::scalar())?);
        }
        match record.error {
            Some(error) => Err(error),
            None if outputs.len() == self.types.len() => Ok(outputs),
            None => bail!(InvalidArgument, "Expect {} fields but have {} in record", self.types.len(), outputs.len()),
        }
    }

    /// Returns the columns of records, in the shape of the records.
    fn decode_all(&self, alloc: &Allocator, records: &Tensor, defaults: &[Tensor]) -> Result<Vec<Tensor>> {
        let types = &self.types;
        self.check_defaults(defaults)?;
        let mut columns: Vec<Vec<Bytes>> = vec![Vec::with_capacity(records.num_elements()); types.len()];
        for (i, record) in records.as_strings()?.iter().enumerate() {
            let fields = self.rules.fields(record)?;
            if fields.len() != types.len() {
                bail!(InvalidArgument, "Expect {} fields but have {} in record {i}", types.len(), fields.len());
            }
            columns.iter_mut().zip(fields).for_each(|(column, field)| column.push(field.into()));
        }
        let shape = records.shape().clone();
        let mut outputs = Vec::with_capacity(types.len());
        for (f, (&dtype, column)) in types.iter().zip(&columns).enumerate() {
            let column = Column { number: f, fields: column, na_value: &self.na_value, default: &defaults[f], is_numbered: true };
            outputs.push(column.decode(alloc, dtype)?.reshaped(shape.clone())?);
        }
        Ok(outputs)
    }
}

struct Column<'a> {
    number: usize,
    fields: &'a [Bytes],
    na_value: &'a [u8],
    default: &'a Tensor,
    /// If true, error messages have the number of the record.
    is_numbered: bool,
}

impl Column<'_> {
    fn decode(&self, alloc: &Allocator, dtype: DType) -> Result<Tensor> {
        match dtype {
            DType::F32 => self.numbers::<f32>(alloc, "float"),
            DType::F64 => self.numbers::<f64>(alloc, "double"),
            DType::I32 => self.numbers::<i32>(alloc, "int32"),
            DType::I64 => self.numbers::<i64>(alloc, "int64"),
            DType::String => self.texts(alloc),
            other => bail!(InvalidArgument, "csv: data type {other} not supported in field {}", self.number),
        }
    }

    fn name_of_record(&self, record: usize) -> String {
        if self.is_numbered { format!("record {record}") } else { "record".to_owned() }
    }

    fn is_missing(&self, field: &[u8]) -> bool {
        field.is_empty() || field == self.na_value
    }

    fn required(&self, record: usize) -> flowmill_tensor::Error {
        flowmill_tensor::error!(InvalidArgument, "Field {} is required but missing in {}!", self.number, self.name_of_record(record))
    }

    fn numbers<T: Element + FromStr>(&self, alloc: &Allocator, name: &str) -> Result<Tensor> {
        let default = self.default.as_slice::<T>()?.first();
        let number = |(record, field): (usize, &Bytes)| -> Result<T> {
            if self.is_missing(field) {
                return default.copied().ok_or_else(|| self.required(record));
            }
            match std::str::from_utf8(field).ok().and_then(|text| text.trim().parse().ok()) {
                Some(value) => Ok(value),
                None => bail!(
                    InvalidArgument,
                    "Field {} in {} is not a valid {name}: {}",
                    self.number,
                    self.name_of_record(record),
                    String::from_utf8_lossy(field)
                ),
            }
        };
        alloc.vector(&self.fields.iter().enumerate().map(number).collect::<Result<Vec<T>>>()?)
    }

    fn texts(&self, alloc: &Allocator) -> Result<Tensor> {
        let default = self.default.as_strings()?.first();
        let text = |(record, field): (usize, &Bytes)| {
            if self.is_missing(field) { default.cloned().ok_or_else(|| self.required(record)) } else { Ok(field.clone()) }
        };
        let texts = self.fields.iter().enumerate().map(text).collect::<Result<Vec<_>>>()?;
        alloc.from_strings([texts.len()], texts)
    }
}
