//! Printing of responses to predictions and of errors.

use super::Layout;
use crate::formats::json::print::{PrintElement, print_string};
use flowmill::tensor::{bail, for_dtype};
use flowmill::{DType, Error, Result, Tensor};

/// White space between the items of arrays.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    /// `[1, 2]`.
    OneLine,
    /// An item per line.
    Lines,
}

/// The text of bytes within an object, `{"b64": "..."}`.
struct Base64<'a>(&'a [u8]);

/// Begins a line within `level` arrays and objects.
pub(super) fn new_line(level: usize, out: &mut Vec<u8>) {
    const INDENT: usize = 4;
    out.push(b'\n');
    out.resize(out.len() + INDENT * level, b' ');
}

pub(super) fn print_key(key: &str, level: usize, out: &mut Vec<u8>) {
    new_line(level, out);
    print_string(key.as_bytes(), out);
    out.extend_from_slice(b": ");
}

/// An element of an output, within arrays and objects.
trait PrintOutput {
    fn print_at(&self, level: usize, out: &mut Vec<u8>);
}

impl<T: PrintElement> PrintOutput for T {
    #[inline]
    fn print_at(&self, _: usize, out: &mut Vec<u8>) {
        self.print(out);
    }
}

impl PrintOutput for Base64<'_> {
    fn print_at(&self, level: usize, out: &mut Vec<u8>) {
        use base64::Engine;
        out.push(b'{');
        print_key("b64", level + 1, out);
        print_string(base64::engine::general_purpose::STANDARD.encode(self.0).as_bytes(), out);
        new_line(level, out);
        out.push(b'}');
    }
}

/// Prints nested arrays of the sizes `dims`, within `level` arrays and objects.
fn print_nested<T: PrintOutput>(values: &[T], dims: &[usize], level: usize, style: Style, out: &mut Vec<u8>) {
    let [size, inner @ ..] = dims else {
        values.iter().for_each(|value| value.print_at(level, out));
        return;
    };
    out.push(b'[');
    let step: usize = inner.iter().product();
    for i in 0..*size {
        separate(i, level + 1, style, out);
        if inner.is_empty() {
            values[i].print_at(level + 1, out);
        } else {
            print_nested(&values[i * step..(i + 1) * step], inner, level + 1, style, out);
        }
    }
    if *size > 0 && style == Style::Lines {
        new_line(level, out);
    }
    out.push(b']');
}

/// Adds what is before item `i` of an array.
#[inline]
pub(super) fn separate(i: usize, level: usize, style: Style, out: &mut Vec<u8>) {
    if i > 0 {
        out.push(b',');
    }
    match style {
        Style::Lines => new_line(level, out),
        Style::OneLine if i > 0 => out.push(b' '),
        Style::OneLine => {}
    }
}

/// Prints a tensor, or one of its rows.
fn print_tensor(name: &str, tensor: &Tensor, row: Option<usize>, level: usize, style: Style, out: &mut Vec<u8>) -> Result<()> {
    let mut dims = tensor.shape().dims();
    if row.is_some() {
        dims = &dims[1..];
    }
    let size: usize = dims.iter().product();
    let range = row.map_or(0..size, |row| row * size..(row + 1) * size);
    if tensor.dtype() == DType::String {
        let strings = &tensor.as_strings()?[range];
        if name.ends_with("_bytes") {
            let strings: Vec<_> = strings.iter().map(|bytes| Base64(bytes)).collect();
            print_nested(&strings, dims, level, style, out);
        } else {
            print_nested(strings, dims, level, style, out);
        }
        return Ok(());
    }
    for_dtype!(tensor.dtype(), [f32, f64, i8, i16, i32, i64, u8, u32, u64, bool], T => {
        print_nested(&tensor.as_slice::<T>()?[range], dims, level, style, out);
        Ok(())
    }, _ => bail!(InvalidArgument, "output '{name}' has type {}, of which JSON has no values", tensor.dtype()))
}

/// Adds the response to `:predict` to `out`. Row format has objects and column format has an object if there is more than one output. Strings of
/// outputs whose name ends with `_bytes` are printed as `{"b64": "..."}`; bytes of other strings are printed as they are, UTF-8 or not.
///
/// # Errors
/// `InvalidArgument` if there is no output, for a type that TensorFlow Serving does not print, and in row format for a scalar and for different
/// numbers of rows. `out` may have a part of the response then.
pub fn print_predict(layout: Layout, outputs: &[(&str, &Tensor)], out: &mut Vec<u8>) -> Result<()> {
    if outputs.is_empty() {
        bail!(InvalidArgument, "the response has no outputs");
    }
    out.push(b'{');
    match layout {
        Layout::Row => print_rows(outputs, out)?,
        Layout::Column => print_columns(outputs, out)?,
    }
    out.extend_from_slice(b"\n}");
    Ok(())
}

fn print_rows(outputs: &[(&str, &Tensor)], out: &mut Vec<u8>) -> Result<()> {
    let mut num_rows = None;
    for (name, tensor) in outputs {
        let Some(&rows) = tensor.shape().dims().first() else {
            bail!(InvalidArgument, "output '{name}' is a scalar, which has no rows; ask for it with 'inputs' instead of 'instances'");
        };
        let expected = *num_rows.get_or_insert(rows);
        if rows != expected {
            bail!(InvalidArgument, "output '{name}' has {rows} rows, and other outputs have {expected}");
        }
    }
    print_key("predictions", 1, out);
    out.push(b'[');
    let num_rows = num_rows.unwrap_or(0);
    for row in 0..num_rows {
        if let [(name, tensor)] = outputs {
            separate(row, 2, Style::OneLine, out);
            print_tensor(name, tensor, Some(row), 2, Style::OneLine, out)?;
            continue;
        }
        separate(row, 2, Style::Lines, out);
        print_object(outputs, Some(row), 2, Style::OneLine, out)?;
    }
    if num_rows > 0 {
        new_line(1, out);
    }
    out.push(b']');
    Ok(())
}

/// Prints outputs, or a row of each, by their names.
fn print_object(outputs: &[(&str, &Tensor)], row: Option<usize>, level: usize, style: Style, out: &mut Vec<u8>) -> Result<()> {
    out.push(b'{');
    for (i, (name, tensor)) in outputs.iter().enumerate() {
        if i > 0 {
            out.push(b',');
        }
        print_key(name, level + 1, out);
        print_tensor(name, tensor, row, level + 1, style, out)?;
    }
    new_line(level, out);
    out.push(b'}');
    Ok(())
}

fn print_columns(outputs: &[(&str, &Tensor)], out: &mut Vec<u8>) -> Result<()> {
    print_key("outputs", 1, out);
    match outputs {
        [(name, tensor)] => print_tensor(name, tensor, None, 1, Style::Lines, out),
        _ => print_object(outputs, None, 1, Style::Lines, out),
    }
}

/// Returns the body of a response to a request that failed: `{"error": message}`.
pub fn print_error(error: &Error) -> Vec<u8> {
    let mut out = b"{".to_vec();
    print_key("error", 1, &mut out);
    print_string(error.message().as_bytes(), &mut out);
    out.extend_from_slice(b"\n}");
    out
}
