//! `DecodeJSONExample`, which converts JSON to `tensorflow.Example` messages.
//!
//! The kernel reads the JSON mapping of protocol buffers as loosely as TensorFlow's reader: field names in either case, keys without quotation
//! marks, strings in single quotes, commas after the last element, nested lists, and single values instead of lists. Each value is written as soon
//! as it is read, in the order of the text, so that the message is byte for byte TensorFlow's.

use crate::from_fn::from_fn;
use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};
use flowmill_codecs::json::{Parser, Scalar};
use flowmill_proto::encode_varint;
use flowmill_runtime::{Kernel, KernelInit, KernelRegistry};
use flowmill_tensor::{Bytes, Result, error};
use std::collections::HashSet;
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("DecodeJSONExample", make);
}

fn make(_: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    from_fn(|ctx| {
        let input = ctx.input(0)?;
        let decoded = input.as_strings()?.iter().map(|text| {
            let message = example(text).map_err(|message| error!(InvalidArgument, "Error while parsing JSON: {message}"))?;
            Ok(Bytes::from(message))
        });
        let output = ctx.allocator().from_strings(input.shape().clone(), decoded.collect::<Result<_>>()?)?;
        ctx.set_output(0, output);
        Ok(())
    })
}

type Parsed<T> = std::result::Result<T, String>;

/// Returns the tag of a length-delimited field, which holds bytes, a message or a string.
const fn delimited(number: u8) -> u8 {
    number << 3 | 2
}

fn put_bytes(out: &mut Vec<u8>, number: u8, contents: &[u8]) {
    out.push(delimited(number));
    encode_varint(contents.len() as u64, out);
    out.extend_from_slice(contents);
}

fn example(text: &[u8]) -> Parsed<Vec<u8>> {
    let mut parser = Parser::new(text, "tensorflow.Example");
    let mut out = Vec::new();
    parser.object(|parser, key| match key {
        "features" => parser.within(".features", "message tensorflow.Features", |parser| message(parser, 1, &mut out, features)),
        _ => Err(parser.no_such_field(key)),
    })?;
    parser.end()?;
    Ok(out)
}

/// Reads a field that is another message. `null` means no field.
fn message(
    parser: &mut Parser<'_>,
    number: u8,
    out: &mut Vec<u8>,
    fill: impl FnOnce(&mut Parser<'_>, &mut Vec<u8>) -> Parsed<()>,
) -> Parsed<()> {
    if parser.null()? {
        return Ok(());
    }
    let mut contents = Vec::new();
    fill(parser, &mut contents)?;
    put_bytes(out, number, &contents);
    Ok(())
}

fn features(parser: &mut Parser<'_>, out: &mut Vec<u8>) -> Parsed<()> {
    parser.object(|parser, key| match key {
        "feature" => parser.within(".feature", "message tensorflow.Features.FeatureEntry", |parser| entries(parser, out)),
        _ => Err(parser.no_such_field(key)),
    })
}

/// Reads the features by their names.
fn entries(parser: &mut Parser<'_>, out: &mut Vec<u8>) -> Parsed<()> {
    if parser.null()? {
        return Ok(());
    }
    let mut names = HashSet::new();
    parser.object(|parser, name| {
        parser.within(&format!("[{}]", names.len()), "message tensorflow.Features.FeatureEntry", |parser| {
            if !names.insert(name.to_owned()) {
                return Err(parser.error(format_args!("got unexpectedly-repeated repeated map key: '{name}'")));
            }
            let mut entry = Vec::new();
            put_bytes(&mut entry, 1, name.as_bytes());
            message(parser, 2, &mut entry, feature)?;
            put_bytes(out, 1, &entry);
            Ok(())
        })
    })
}

/// A function that writes one value of a list.
type Write = fn(&Parser<'_>, Scalar, &mut Vec<u8>) -> Parsed<()>;

fn feature(parser: &mut Parser<'_>, out: &mut Vec<u8>) -> Parsed<()> {
    let mut is_set = false;
    parser.object(|parser, key| {
        let (number, kind, element, write): (u8, _, _, Write) = match key {
            "bytesList" | "bytes_list" => (1, "message tensorflow.BytesList", "bytes", put_text),
            "floatList" | "float_list" => (2, "message tensorflow.FloatList", "float", put_float),
            "int64List" | "int64_list" => (3, "message tensorflow.Int64List", "int64", put_int),
            _ => return Err(parser.no_such_field(key)),
        };
        parser.within(&format!(".{key}"), kind, |parser| {
            if parser.null()? {
                return Ok(());
            }
            if std::mem::replace(&mut is_set, true) {
                return Err(parser.error(format_args!("'{key}' has already been set (either directly or as part of a oneof)")));
            }
            message(parser, number, out, |parser, out| list(parser, element, write, out))
        })
    })
}

fn list(parser: &mut Parser<'_>, element: &'static str, write: Write, out: &mut Vec<u8>) -> Parsed<()> {
    parser.object(|parser, key| match key {
        "value" => parser.within(".value", element, |parser| {
            if parser.null()? { Ok(()) } else { parser.elements(&mut 0, &mut |parser, value| write(parser, value, out)) }
        }),
        _ => Err(parser.no_such_field(key)),
    })
}

fn put_text(parser: &Parser<'_>, value: Scalar, out: &mut Vec<u8>) -> Parsed<()> {
    let text = match value {
        Scalar::Null => String::new(),
        Scalar::Text(text) => text,
        Scalar::Number(_) | Scalar::Other => return Err(parser.unexpected("\"")),
    };
    // Accept both base64 alphabets, even in one string, with or without padding.
    let padding = if text.contains('=') { DecodePaddingMode::RequireCanonical } else { DecodePaddingMode::RequireNone };
    let config = GeneralPurposeConfig::new().with_decode_padding_mode(padding).with_decode_allow_trailing_bits(true);
    let text = text.replace('-', "+").replace('_', "/");
    let bytes = GeneralPurpose::new(&STANDARD, config).decode(text).map_err(|_| parser.error(format_args!("corrupt base64")))?;
    put_bytes(out, 1, &bytes);
    Ok(())
}

fn put_float(parser: &Parser<'_>, value: Scalar, out: &mut Vec<u8>) -> Parsed<()> {
    let value: f64 = match &value {
        Scalar::Null => 0.0,
        Scalar::Number(digits) => finite(parser, digits)?,
        Scalar::Text(text) => {
            text.trim_ascii().parse().map_err(|_| parser.error(format_args!("non-number characters in quoted number")))?
        }
        Scalar::Other => return Err(parser.no_number()),
    };
    let narrow = value as f32;
    if narrow.is_infinite() && value.is_finite() {
        return Err(parser.error(format_args!("float out of range")));
    }
    out.push(1 << 3 | 5);
    out.extend_from_slice(&narrow.to_le_bytes());
    Ok(())
}

/// Every integer up to this one is exactly representable as a `double`.
const LARGEST_EXACT: f64 = 9_007_199_254_740_992.0;

fn put_int(parser: &Parser<'_>, value: Scalar, out: &mut Vec<u8>) -> Parsed<()> {
    let digits = match &value {
        Scalar::Null => "0",
        Scalar::Number(digits) => digits,
        Scalar::Text(text) if text.trim_ascii().len() < text.len() => {
            return Err(parser.error(format_args!("non-number characters in quoted number")));
        }
        Scalar::Text(text) => text,
        Scalar::Other => return Err(parser.no_number()),
    };
    let value = match digits.parse::<i64>() {
        Ok(value) => value,
        Err(_) => {
            let value = finite(parser, digits)?;
            if value.abs() > LARGEST_EXACT {
                return Err(parser.error(format_args!("JSON number out of range for int")));
            }
            if value.fract() != 0.0 {
                return Err(parser.error(format_args!("expected integer, but JSON number had fractional part")));
            }
            value as i64
        }
    };
    out.push(1 << 3);
    encode_varint(value as u64, out);
    Ok(())
}

fn finite(parser: &Parser<'_>, digits: &str) -> Parsed<f64> {
    match digits.parse::<f64>() {
        Ok(value) if value.is_finite() => Ok(value),
        _ => Err(parser.error(format_args!("invalid number: '{digits}'"))),
    }
}
