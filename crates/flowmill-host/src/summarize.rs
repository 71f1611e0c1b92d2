//! Formatting of tensors as TensorFlow formats them in messages: `Assert`, `Print`, `PrintV2`, `StringFormat`.

use flowmill_tensor::{DType, Shape, Tensor, bf16, f16};
use std::fmt::Write;

/// Returns the first `max_entries` elements (all if it is negative) on one line: `[1 2...][3 4]` without the outermost brackets.
pub(crate) fn summarize(tensor: &Tensor, max_entries: i64) -> String {
    let n = tensor.num_elements();
    let limit = usize::try_from(max_entries).unwrap_or(n).min(n);
    let mut out = String::new();
    if tensor.rank() == 0 {
        push_element(tensor, 0, false, &mut out);
        return out;
    }
    let mut next = 0;
    push_prefix(tensor, 0, limit, &mut next, &mut out);
    if n > limit {
        out.push_str("...");
    }
    out
}

/// Returns the first and last `max_entries` rows of every dimension (all if it is negative), in NumPy's layout; strings are quoted.
pub(crate) fn summarize_both_ends(tensor: &Tensor, max_entries: i64) -> String {
    let n = tensor.num_elements();
    let at_ends = usize::try_from(max_entries).unwrap_or(n).min(n);
    let mut out = String::new();
    push_both_ends(tensor, 0, at_ends, 0, &mut out);
    out
}

/// Appends the elements of dimension `dim` from `next` on, up to `limit` in all.
fn push_prefix(tensor: &Tensor, dim: usize, limit: usize, next: &mut usize, out: &mut String) {
    if *next >= limit {
        return;
    }
    let size = tensor.shape()[dim];
    let innermost = dim + 1 == tensor.rank();
    for i in 0..size {
        if *next >= limit {
            if innermost && dim != 0 {
                out.push_str("...");
            }
            return;
        }
        if innermost {
            if i > 0 {
                out.push(' ');
            }
            push_element(tensor, *next, false, out);
            *next += 1;
        } else {
            out.push('[');
            push_prefix(tensor, dim + 1, limit, next, out);
            out.push(']');
        }
    }
}

fn push_both_ends(tensor: &Tensor, dim: usize, at_ends: usize, start: usize, out: &mut String) {
    let shape = tensor.shape();
    let Some(&size) = shape.get(dim) else { return push_element(tensor, start, true, out) };
    let inner = Shape::new(&shape[dim + 1..]).num_elements();
    out.push('[');
    for i in 0..at_ends.min(size) {
        if i > 0 {
            push_spacing(dim, shape.rank(), out);
        }
        push_both_ends(tensor, dim + 1, at_ends, start + i * inner, out);
    }
    if size > at_ends.saturating_mul(2) {
        push_spacing(dim, shape.rank(), out);
        out.push_str("...");
    }
    for i in at_ends.max(size.saturating_sub(at_ends))..size {
        push_spacing(dim, shape.rank(), out);
        push_both_ends(tensor, dim + 1, at_ends, start + i * inner, out);
    }
    out.push(']');
}

/// Appends the separator between two entries of dimension `dim`.
fn push_spacing(dim: usize, rank: usize, out: &mut String) {
    if dim + 1 == rank {
        return out.push(' ');
    }
    (dim..rank - 1).for_each(|_| out.push('\n'));
    (0..=dim).for_each(|_| out.push(' '));
}

macro_rules! push_integer {
    ($tensor:expr, $i:expr, $out:expr, $($t:ty),*) => {
        $(if let Some(x) = $tensor.as_slice::<$t>().ok().and_then(|s| s.get($i)) {
            let _ = write!($out, "{x}");
            return;
        })*
    };
}

fn push_element(tensor: &Tensor, i: usize, quote: bool, out: &mut String) {
    fn at<T: flowmill_tensor::Element>(tensor: &Tensor, i: usize) -> T {
        tensor.as_slice::<T>().ok().and_then(|s| s.get(i)).copied().unwrap_or_default()
    }
    match tensor.dtype() {
        DType::F32 => out.push_str(&format_f32(at(tensor, i))),
        DType::F64 => out.push_str(&format_f64(at(tensor, i))),
        DType::F16 => out.push_str(&format_f32(at::<f16>(tensor, i).to_f32())),
        DType::BF16 => out.push_str(&format_f32(at::<bf16>(tensor, i).to_f32())),
        DType::Bool => out.push(if at::<bool>(tensor, i) { '1' } else { '0' }),
        DType::String => {
            let bytes = tensor.as_strings().ok().and_then(|s| s.get(i)).map_or(&b""[..], |s| s);
            let text = escape(bytes);
            if quote { out.extend(["\"", &text, "\""]) } else { out.push_str(&text) }
        }
        DType::Resource => {
            if let Some(handle) = tensor.as_resources().ok().and_then(|r| r.get(i)) {
                let _ = write!(out, "{handle:?}");
            }
        }
        DType::Variant => {
            if let Some(variant) = tensor.as_variants().ok().and_then(|v| v.get(i)) {
                let name = variant.value().type_name();
                let _ = write!(out, "<{}>", name.rsplit("::").next().unwrap_or(name));
            }
        }
        DType::QI8 | DType::QU8 | DType::QI16 | DType::QU16 | DType::QI32 => {
            if let Ok(plain) = tensor.clone().bitcast(tensor.dtype().stored()) {
                push_element(&plain, i, quote, out);
            }
        }
        _ => {
            push_integer!(tensor, i, out, i8, i16, i32, i64, u8, u16, u32, u64);
            out.push('?');
        }
    }
}

/// Returns a text with control characters, quotes and backslashes escaped as in C. Other bytes are kept, and those that are not UTF-8 become U+FFFD.
fn escape(bytes: &[u8]) -> String {
    let mut out = String::new();
    for c in String::from_utf8_lossy(bytes).chars() {
        match c {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '"' | '\'' | '\\' => out.extend(['\\', c]),
            c if c.is_ascii_control() => {
                let _ = write!(out, "\\{:03o}", c as u32);
            }
            c => out.push(c),
        }
    }
    out
}

/// Returns six significant digits if they are enough to read the value back, otherwise nine.
pub(crate) fn format_f32(x: f32) -> String {
    let short = format_general(f64::from(x), 6);
    if x.is_nan() || short.parse() == Ok(x) { short } else { format_general(f64::from(x), 9) }
}

/// Returns fifteen significant digits if they are enough to read the value back, otherwise seventeen.
pub(crate) fn format_f64(x: f64) -> String {
    let short = format_general(x, 15);
    if x.is_nan() || short.parse() == Ok(x) { short } else { format_general(x, 17) }
}

/// Formats like C's `%.{precision}g`: `precision` significant digits without trailing zeros, with an exponent if it is below -4 or at least `precision`.
pub(crate) fn format_general(x: f64, precision: usize) -> String {
    if x.is_nan() {
        return "nan".to_owned();
    }
    if x.is_infinite() {
        return if x > 0.0 { "inf" } else { "-inf" }.to_owned();
    }
    let precision = precision.max(1);
    let scientific = format!("{x:.*e}", precision - 1);
    let Some((mantissa, exponent)) = scientific.split_once('e') else { return scientific };
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if exponent < -4 || exponent >= precision as i32 {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{}e{sign}{:02}", cut_zeros(mantissa), exponent.abs());
    }
    let decimals = (precision as i32 - 1 - exponent).max(0) as usize;
    cut_zeros(&format!("{x:.decimals$}")).to_owned()
}

fn cut_zeros(digits: &str) -> &str {
    if digits.contains('.') { digits.trim_end_matches('0').trim_end_matches('.') } else { digits }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_first_elements_stand_on_one_line() {
        let floats = Tensor::from_slice([2, 3], &[1.5f32, 2.0, 3e10, 1e-7, f32::NAN, f32::INFINITY]).unwrap();
        assert_eq!(summarize(&floats, -1), "[1.5 2 3e+10][1e-07 nan inf]");
        assert_eq!(summarize(&floats, 2), "[1.5 2...]...");
        assert_eq!(summarize(&floats, 3), "[1.5 2 3e+10]...");
        assert_eq!(summarize(&floats, 5), "[1.5 2 3e+10][1e-07 nan...]...");
        let cube = Tensor::from_slice([2, 2, 2], &[1i32, 2, 3, 4, 5, 6, 7, 8]).unwrap();
        assert_eq!(summarize(&cube, 2), "[[1 2]]...");
        assert_eq!(summarize(&cube, 3), "[[1 2][3...]]...");
        assert_eq!(summarize(&cube, 5), "[[1 2][3 4]][[5...]]...");
        assert_eq!(summarize(&Tensor::vector(&[1i64, 2, 3]).unwrap(), 2), "1 2...");
        assert_eq!(summarize(&Tensor::scalar(true), 3), "1");
        assert_eq!(summarize(&Tensor::zeros(DType::F32, [2, 0]).unwrap(), 3), "");
    }

    #[test]
    fn both_ends_are_laid_out_in_lines() {
        let cube = Tensor::from_slice([2, 2, 2], &[1i32, 2, 3, 4, 5, 6, 7, 8]).unwrap();
        assert_eq!(summarize_both_ends(&cube, 2), "[[[1 2]\n  [3 4]]\n\n [[5 6]\n  [7 8]]]");
        let line = Tensor::vector(&(0..20i64).collect::<Vec<_>>()).unwrap();
        assert_eq!(summarize_both_ends(&line, 3), "[0 1 2 ... 17 18 19]");
        let square = Tensor::from_slice([5, 2], &[0i64, 1, 2, 3, 4, 5, 6, 7, 8, 9]).unwrap();
        assert_eq!(summarize_both_ends(&square, 1), "[[0 1]\n ...\n [8 9]]");
        assert_eq!(summarize_both_ends(&Tensor::zeros(DType::F32, [2, 0]).unwrap(), 3), "[\n ...]");
        assert_eq!(summarize_both_ends(&Tensor::string("a\"b\n'\\\u{e9}"), 3), "\"a\\\"b\\n\\'\\\\\u{e9}\"");
    }

    #[test]
    fn floats_have_as_few_digits_as_read_back() {
        assert_eq!(format_f32(0.1), "0.1");
        assert_eq!(format_f32(1.001_358e-5), "1.00135803e-05");
        assert_eq!(format_f32(16_777_216.0), "16777216");
        assert_eq!(format_f64(1.0 / 3.0), "0.33333333333333331");
        assert_eq!(format_f64(1e100), "1e+100");
        assert_eq!(format_f64(-0.0), "-0");
        assert_eq!(format_f64(123_456_789.0), "123456789");
    }
}
