//! Lengths, cases, and substrings: `StringLength`, `StringLower`, `StringUpper`, `StringStrip`, `Substr`.

use super::{counts_characters, map_strings, map_to_numbers};
use crate::array::args::indices;
use crate::from_fn::from_fn;
use flowmill_runtime::{Kernel, KernelContext, KernelInit, KernelRegistry};
use flowmill_tensor::{Bytes, Result, Shape, Tensor, bail, check_memory, error};
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("StringLength", make_string_length);
    registry.add("StringLower", |init| make_case(init, <[u8]>::to_ascii_lowercase, str::to_lowercase));
    registry.add("StringStrip", |_| map_strings(|s| Ok(strip(s))));
    registry.add("StringUpper", |init| make_case(init, <[u8]>::to_ascii_uppercase, str::to_uppercase));
    registry.add("Substr", make_substr);
}

/// Returns true if a byte starts a character, that is, if it is not a continuation byte of UTF-8.
fn starts_character(byte: u8) -> bool {
    byte & 0xc0 != 0x80
}

fn make_string_length(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let by_character = counts_characters(init)?;
    map_to_numbers(move |s| {
        let n = if by_character { s.iter().filter(|&&b| starts_character(b)).count() } else { s.len() };
        i32::try_from(n).map_err(|_| error!(InvalidArgument, "a string of {n} bytes is too long for int32"))
    })
}

/// Makes a kernel that changes the case of ASCII letters, or with `encoding` of all letters of UTF-8; bytes that are not UTF-8 then become
/// replacement characters.
fn make_case(init: &KernelInit<'_>, ascii: fn(&[u8]) -> Vec<u8>, unicode: fn(&str) -> String) -> Result<Arc<dyn Kernel>> {
    match init.attrs.get_or("encoding", "")? {
        "" => map_strings(move |s| Ok(ascii(s).into())),
        "utf-8" => map_strings(move |s| Ok(unicode(&String::from_utf8_lossy(s)).into())),
        other => bail!(InvalidArgument, "only utf-8 or '' (no encoding) is supported, received {other}"),
    }
}

/// Returns the string without white space (ASCII, including the vertical tab) at either end.
pub(super) fn strip(s: &Bytes) -> Bytes {
    let inside = |&b: &u8| !is_space(b);
    match (s.iter().position(inside), s.iter().rposition(inside)) {
        (Some(first), Some(last)) => s.slice(first..=last),
        _ => Bytes::new(),
    }
}

pub(super) fn is_space(byte: u8) -> bool {
    byte.is_ascii_whitespace() || byte == 0x0b
}

fn make_substr(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let by_character = counts_characters(init)?;
    from_fn(move |ctx| {
        let output = substr(ctx, by_character)?;
        ctx.set_output(0, output);
        Ok(())
    })
}

/// Returns substrings. Positions and lengths are broadcast with the strings.
fn substr(ctx: &KernelContext<'_>, by_character: bool) -> Result<Tensor> {
    let (input, pos, len) = (ctx.input(0)?, ctx.input(1)?, ctx.input(2)?);
    if pos.shape() != len.shape() {
        bail!(InvalidArgument, "pos and len should have the same shape, got: {} vs. {}", pos.shape(), len.shape());
    }
    let Some(shape) = Shape::broadcast(input.shape(), pos.shape()) else {
        bail!(InvalidArgument, "Incompatible shapes: {} vs. {}", input.shape(), pos.shape());
    };
    let n = shape.checked_num_elements()?;
    check_memory::<Bytes>(n)?;
    let (strings, positions, lengths) = (input.as_strings()?, indices(pos)?, indices(len)?);
    let from_strings = broadcast_positions(input.shape(), &shape);
    let from_positions = broadcast_positions(pos.shape(), &shape);
    let mut values = Vec::with_capacity(n);
    for (i, (string_at, position_at)) in from_strings.zip(from_positions).enumerate() {
        let (s, pos, len) = (&strings[string_at], positions[position_at], lengths[position_at]);
        match part(s, pos, len, by_character) {
            Some(part) => values.push(part),
            None if by_character => bail!(InvalidArgument, "pos {pos} out of range for string at index {i}"),
            None => bail!(InvalidArgument, "pos {pos} out of range for string b'{}' at index {i}", s.escape_ascii()),
        }
    }
    ctx.allocator().from_strings(shape, values)
}

/// Returns, for each element of shape `to` in order, the position of the element of shape `from` that is broadcast to it.
fn broadcast_positions(from: &Shape, to: &Shape) -> impl Iterator<Item = usize> {
    let added = to.rank() - from.rank();
    let to_strides = to.strides();
    let strides: Vec<usize> = from.strides().iter().zip(from.iter()).map(|(&stride, &dim)| if dim == 1 { 0 } else { stride }).collect();
    let dims = to.to_vec();
    (0..to.num_elements())
        .map(move |i| strides.iter().enumerate().map(|(d, &stride)| i / to_strides[added + d] % dims[added + d] * stride).sum())
}

/// Returns `len` units from `pos` on (all that follow if it is negative). A negative `pos` counts from the end. Returns `None` if `pos` is out of range.
fn part(s: &Bytes, pos: i64, len: i64, by_character: bool) -> Option<Bytes> {
    let bounds: Vec<usize> = if by_character { (0..s.len()).filter(|&i| starts_character(s[i])).collect() } else { Vec::new() };
    let units = if by_character { bounds.len() } else { s.len() };
    let start = usize::try_from(if pos < 0 { pos.checked_add(units as i64)? } else { pos }).ok().filter(|&start| start <= units)?;
    let count = usize::try_from(len).unwrap_or(usize::MAX).min(units - start);
    let byte = |unit: usize| if by_character { bounds.get(unit).copied().unwrap_or(s.len()) } else { unit };
    Some(s.slice(byte(start)..byte(start + count)))
}
