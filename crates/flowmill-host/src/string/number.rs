//! `StringToNumber`, which parses numbers.

use super::map_to_numbers;
use super::text::is_space;
use flowmill_runtime::{Kernel, KernelInit, KernelRegistry};
use flowmill_tensor::{DType, Element, Result, error};
use std::str::FromStr;
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("StringToNumber", make_string_to_number);
}

fn make_string_to_number(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    match init.attrs.get_or("out_type", DType::F32)? {
        DType::F32 => parse_with(|text| text.parse::<f32>().ok().or_else(|| hexadecimal(text).map(|x| x as f32))),
        DType::F64 => parse_with(|text| text.parse::<f64>().ok().or_else(|| hexadecimal(text))),
        DType::I32 => parse_with(integer::<i32>),
        DType::I64 => parse_with(integer::<i64>),
        DType::U32 => parse_with(integer::<u32>),
        DType::U64 => parse_with(integer::<u64>),
        _ => init.unsupported(),
    }
}

fn integer<T: FromStr>(text: &str) -> Option<T> {
    text.parse().ok()
}

/// Parses `0x` and hexadecimal digits, with an optional sign, which the floating-point types accept.
fn hexadecimal(text: &str) -> Option<f64> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(rest) => (-1.0, rest),
        None => (1.0, text.strip_prefix('+').unwrap_or(text)),
    };
    let digits = digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X"))?;
    let starts_right = digits.starts_with(|c: char| c.is_ascii_hexdigit());
    starts_right.then(|| u64::from_str_radix(digits, 16).ok()).flatten().map(|n| sign * n as f64)
}

/// Makes a kernel that parses numbers with `parse`, ignoring white space around them.
fn parse_with<T: Element>(parse: fn(&str) -> Option<T>) -> Result<Arc<dyn Kernel>> {
    map_to_numbers(move |s| {
        let trimmed = std::str::from_utf8(s).ok().map(|text| text.trim_matches(|c: char| u8::try_from(c).is_ok_and(is_space)));
        trimmed
            .and_then(parse)
            .ok_or_else(|| error!(InvalidArgument, "StringToNumberOp could not correctly convert string: {}", String::from_utf8_lossy(s)))
    })
}
