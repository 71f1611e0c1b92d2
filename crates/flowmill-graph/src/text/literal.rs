//! Reads and writes types, numbers and strings in text form.

use flowmill_tensor::DType;
use std::fmt::{self, Write};

/// Rust's short name of a type: `f32`, `i64`, `string`.
pub(super) fn short_name(dtype: DType) -> String {
    format!("{:?}", ShortName(dtype))
}

struct ShortName(DType);

impl fmt::Debug for ShortName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            DType::F32 => "f32",
            DType::F64 => "f64",
            DType::F16 => "f16",
            DType::BF16 => "bf16",
            DType::I8 => "i8",
            DType::I16 => "i16",
            DType::I32 => "i32",
            DType::I64 => "i64",
            DType::U8 => "u8",
            DType::U16 => "u16",
            DType::U32 => "u32",
            DType::U64 => "u64",
            DType::C64 => "c64",
            DType::C128 => "c128",
            other => other.name(),
        })
    }
}

pub(super) fn type_from_name(name: &str) -> Option<DType> {
    DType::all().find(|&t| short_name(t) == name)
}

/// A float always has a point, an exponent or a name, which tells it from an integer.
pub(super) fn write_float(f: &mut dyn Write, value: f64, text: String) -> fmt::Result {
    if value.is_finite() && !text.contains(['.', 'e']) { write!(f, "{text}.0") } else { f.write_str(&text) }
}

pub(super) fn write_string(f: &mut dyn Write, bytes: &[u8]) -> fmt::Result {
    f.write_char('"')?;
    for &byte in bytes {
        match byte {
            b'"' | b'\\' => write!(f, "\\{}", byte as char)?,
            b'\n' => f.write_str("\\n")?,
            0x20..=0x7e => f.write_char(byte as char)?,
            _ => write!(f, "\\x{byte:02x}")?,
        }
    }
    f.write_char('"')
}
