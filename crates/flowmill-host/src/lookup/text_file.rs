//! `InitializeTableFromTextFile`, which reads keys and values from the columns of a file's lines.

use super::table::Table;
use super::{one_text, table};
use crate::from_fn::blocking_from_fn;
use flowmill_runtime::{Kernel, KernelInit, KernelRegistry};
use flowmill_tensor::{Allocator, Bytes, DType, Element, Result, Tensor, bail, error};
use std::io::{BufRead, BufReader, ErrorKind};
use std::str::FromStr;
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("InitializeTableFromTextFile", make_initialize);
    registry.add("InitializeTableFromTextFileV2", make_initialize);
}

/// The column index with which TensorFlow selects the whole line as a key or value.
const WHOLE_LINE: i64 = -2;
const LINE_NUMBER: i64 = -1;

struct Format {
    delimiter: String,
    /// The number of lines that there must be and that are read, or `None` for all.
    vocab_size: Option<usize>,
    /// The number that is added to line numbers.
    offset: i64,
}

fn make_initialize(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let attrs = init.attrs;
    let (key_index, value_index) = (column(attrs.get("key_index")?, "Key")?, column(attrs.get("value_index")?, "Value")?);
    let format = Format {
        delimiter: attrs.get_or("delimiter", "\t")?.to_owned(),
        vocab_size: usize::try_from(attrs.get_or("vocab_size", -1i64)?).ok(),
        offset: attrs.get_or("offset", 0i64)?,
    };
    blocking_from_fn(move |ctx| {
        let path = one_text(ctx.input(1)?, "filename")?;
        let table = table(ctx)?;
        let (keys, values) = read(&path, table, key_index, value_index, &format)?;
        table.initialize(&keys, &values)
    })
}

fn column(index: i64, what: &str) -> Result<i64> {
    if index < WHOLE_LINE {
        bail!(InvalidArgument, "{what} index must be greater than -2, got {index}");
    }
    Ok(index)
}

fn read(path: &str, table: &Table, key_index: i64, value_index: i64, format: &Format) -> Result<(Tensor, Tensor)> {
    check_type(key_index, table.key_dtype, "Key", "key")?;
    check_type(value_index, table.value_dtype, "Value", "value")?;
    let lines = read_lines(path, format.vocab_size)?;
    let column =
        |index| lines.iter().enumerate().map(|(number, line)| field(path, line, number, index, format)).collect::<Result<Vec<_>>>();
    let (keys, values) = (column(key_index)?, column(value_index)?);
    Ok((parse(keys, table.key_dtype)?, parse(values, table.value_dtype)?))
}

/// Reads the lines of a file without their ends: all, or the first `count` ones, and then there must be at least so many. An empty line is an error.
pub(super) fn read_lines(path: &str, count: Option<usize>) -> Result<Vec<Bytes>> {
    let file = std::fs::File::open(path).map_err(|e| match e.kind() {
        ErrorKind::NotFound => error!(NotFound, "{path}; No such file or directory"),
        _ => error!(Unknown, "{path}; {e}"),
    })?;
    let (mut lines, mut position) = (Vec::new(), 0);
    for line in BufReader::new(file).split(b'\n').take(count.unwrap_or(usize::MAX)) {
        let mut line = line.map_err(|e| error!(DataLoss, "{path}; {e}"))?;
        position += line.len() + 1;
        if line.last() == Some(&b'\r') {
            line.pop();
        }
        if line.is_empty() {
            bail!(InvalidArgument, "Invalid content in {path}: empty line found at position {position}.");
        }
        lines.push(Bytes::from(line));
    }
    if let Some(expected) = count.filter(|&expected| expected != lines.len()) {
        bail!(InvalidArgument, "Invalid vocab_size in {path}: expected {expected} but got {}", lines.len());
    }
    Ok(lines)
}

fn check_type(index: i64, dtype: DType, what: &str, word: &str) -> Result<()> {
    match index {
        LINE_NUMBER if dtype != DType::I64 => {
            bail!(InvalidArgument, "{what} index for line number requires table {word} dtype of int64, got {}", dtype.cpp_name())
        }
        WHOLE_LINE if dtype != DType::String && !dtype.is_integer() => {
            bail!(InvalidArgument, "{what} index for whole line requires table {word} dtype of integer or string, got {}", dtype.cpp_name())
        }
        _ => Ok(()),
    }
}

/// Returns the text of one key or value.
fn field(path: &str, line: &Bytes, number: usize, index: i64, format: &Format) -> Result<Bytes> {
    match index {
        WHOLE_LINE => Ok(line.clone()),
        LINE_NUMBER => Ok((number as i64).wrapping_add(format.offset).to_string().into()),
        _ => {
            let delimiter = format.delimiter.as_bytes();
            let columns = split(line, delimiter);
            match usize::try_from(index).ok().and_then(|i| columns.get(i)) {
                Some(column) => Ok(line.slice_ref(column)),
                None => bail!(
                    InvalidArgument,
                    "Invalid number of columns in {path} line {number} ({}) : expected at least {} got {}",
                    String::from_utf8_lossy(line),
                    index + 1,
                    columns.len()
                ),
            }
        }
    }
}

fn split<'a>(line: &'a [u8], delimiter: &[u8]) -> Vec<&'a [u8]> {
    if delimiter.is_empty() {
        return vec![line];
    }
    let mut columns = Vec::new();
    let mut rest = line;
    while let Some(at) = rest.windows(delimiter.len()).position(|window| window == delimiter) {
        columns.push(&rest[..at]);
        rest = &rest[at + delimiter.len()..];
    }
    columns.push(rest);
    columns
}

fn parse(fields: Vec<Bytes>, dtype: DType) -> Result<Tensor> {
    match dtype {
        DType::String => Allocator::process().from_strings([fields.len()], fields),
        DType::I64 => parse_numbers::<i64>(&fields),
        DType::I32 => parse_numbers::<i32>(&fields),
        DType::F32 => parse_numbers::<f32>(&fields),
        DType::F64 => parse_numbers::<f64>(&fields),
        _ => bail!(InvalidArgument, "Data type {} not supported.", dtype.cpp_name()),
    }
}

fn parse_numbers<T: Element + FromStr>(fields: &[Bytes]) -> Result<Tensor> {
    let number = |(line, field): (usize, &Bytes)| match std::str::from_utf8(field).ok().and_then(|text| text.trim().parse().ok()) {
        Some(number) => Ok(number),
        None => bail!(InvalidArgument, "Field {} in line {line} is not a valid {}.", String::from_utf8_lossy(field), T::DTYPE.cpp_name()),
    };
    Allocator::process().vector(&fields.iter().enumerate().map(number).collect::<Result<Vec<T>>>()?)
}
