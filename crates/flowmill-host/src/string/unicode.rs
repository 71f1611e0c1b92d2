//! Text encodings: `UnicodeDecode`, `UnicodeEncode`, `UnicodeTranscode`, `UnicodeScript`.
//!
//! The supported encodings are those of Unicode, US-ASCII and ISO-8859-1.

use super::scripts::RUNS;
use crate::from_fn::from_fn;
use flowmill_runtime::{Kernel, KernelContext, KernelInit, KernelRegistry};
use flowmill_tensor::{Bytes, DType, Result, bail};
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("UnicodeDecode", make_decode);
    registry.add("UnicodeDecodeWithOffsets", make_decode);
    registry.add("UnicodeEncode", make_encode);
    registry.add("UnicodeScript", |_| from_fn(script));
    registry.add("UnicodeTranscode", make_transcode);
}

/// The encoding of characters as bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Encoding {
    Utf8,
    /// 16 bits per unit; the byte order may depend on the first unit.
    Utf16(Order),
    /// 32 bits per character.
    Utf32(Order),
    /// One byte per character, for the first 128 or 256 characters.
    Bytes(u8),
}

/// The byte order of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    Big,
    Little,
    /// The order that a mark at the beginning declares; big-endian without one.
    Marked,
}

impl Encoding {
    /// Returns the encoding with one of ICU's names, in which case and punctuation do not matter.
    fn named(name: &str) -> Option<Encoding> {
        let plain: String = name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect();
        Some(match plain.as_str() {
            "utf8" => Encoding::Utf8,
            "utf16" => Encoding::Utf16(Order::Marked),
            "utf16be" => Encoding::Utf16(Order::Big),
            "utf16le" => Encoding::Utf16(Order::Little),
            "utf32" => Encoding::Utf32(Order::Marked),
            "utf32be" => Encoding::Utf32(Order::Big),
            "utf32le" => Encoding::Utf32(Order::Little),
            "usascii" | "ascii" => Encoding::Bytes(0x7f),
            "iso88591" | "latin1" => Encoding::Bytes(0xff),
            _ => return None,
        })
    }

    /// Calls `give` with each character and its number of bytes, and with `None` for bytes that are no character.
    fn characters(self, text: &[u8], mut give: impl FnMut(Option<u32>, usize)) {
        match self {
            Encoding::Utf8 => {
                for chunk in text.utf8_chunks() {
                    chunk.valid().chars().for_each(|c| give(Some(c.into()), c.len_utf8()));
                    if !chunk.invalid().is_empty() {
                        give(None, chunk.invalid().len());
                    }
                }
            }
            Encoding::Bytes(last) => text.iter().for_each(|&b| give((b <= last).then_some(b.into()), 1)),
            Encoding::Utf16(order) => {
                let (little, skipped) = order.resolve(&[0xff, 0xfe], &[0xfe, 0xff], text);
                let (units, rest) = text[skipped..].as_chunks::<2>();
                let units = units.iter().map(|&u| if little { u16::from_le_bytes(u) } else { u16::from_be_bytes(u) });
                let mut before = skipped;
                for c in char::decode_utf16(units) {
                    let (c, bytes) = c.map_or((None, 2), |c| (Some(c.into()), 2 * c.len_utf16()));
                    give(c, bytes + std::mem::take(&mut before));
                }
                if !rest.is_empty() {
                    give(None, rest.len());
                }
            }
            Encoding::Utf32(order) => {
                let (little, skipped) = order.resolve(&[0xff, 0xfe, 0, 0], &[0, 0, 0xfe, 0xff], text);
                let (units, rest) = text[skipped..].as_chunks::<4>();
                let mut before = skipped;
                for &u in units {
                    let c = if little { u32::from_le_bytes(u) } else { u32::from_be_bytes(u) };
                    give(char::from_u32(c).map(u32::from), 4 + std::mem::take(&mut before));
                }
                if !rest.is_empty() {
                    give(None, rest.len());
                }
            }
        }
    }

    /// Appends a character. Numbers that are no character are skipped.
    fn push(self, c: u32, out: &mut Vec<u8>) {
        let Some(c) = char::from_u32(c) else { return };
        match self {
            Encoding::Utf16(_) => out.extend(c.encode_utf16(&mut [0; 2]).iter().flat_map(|u| u.to_be_bytes())),
            Encoding::Utf32(_) => out.extend(u32::from(c).to_be_bytes()),
            _ => out.extend(c.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
}

impl Order {
    /// Returns true for little-endian, and the number of bytes of the mark.
    fn resolve(self, little: &[u8], big: &[u8], text: &[u8]) -> (bool, usize) {
        match self {
            Order::Big => (false, 0),
            Order::Little => (true, 0),
            Order::Marked if text.starts_with(little) => (true, little.len()),
            Order::Marked if text.starts_with(big) => (false, big.len()),
            Order::Marked => (false, 0),
        }
    }
}

/// The treatment of invalid characters.
#[derive(Clone, Copy)]
enum Policy {
    Fail,
    Skip,
    Replace,
}

/// The policy for invalid characters, and the character that replaces them.
#[derive(Clone, Copy)]
struct OnError {
    policy: Policy,
    replacement: u32,
}

impl OnError {
    fn new(init: &KernelInit<'_>) -> Result<OnError> {
        let replacement: i64 = init.attrs.get_or("replacement_char", 0xfffd)?;
        let Some(replacement) = u32::try_from(replacement).ok().filter(|&c| char::from_u32(c).is_some()) else {
            bail!(InvalidArgument, "replacement_char out of unicode codepoint range");
        };
        let policy = match init.attrs.get_or("errors", "replace")? {
            "strict" => Policy::Fail,
            "ignore" => Policy::Skip,
            "replace" => Policy::Replace,
            _ => bail!(InvalidArgument, "errors policy must be one of: 'strict', 'replace', or 'ignore'"),
        };
        Ok(OnError { policy, replacement })
    }

    /// Returns the character to use, or `None` to skip it.
    fn handle(self, found: Option<u32>, replace_controls: bool) -> Result<Option<u32>> {
        match (found, self.policy) {
            (Some(c), _) if !(replace_controls && c <= 0x1f) => Ok(Some(c)),
            (_, Policy::Fail) => bail!(InvalidArgument, "Invalid formatting on input string"),
            (_, Policy::Skip) => Ok(None),
            (_, Policy::Replace) => Ok(Some(self.replacement)),
        }
    }
}

fn input_encoding(init: &KernelInit<'_>) -> Result<Encoding> {
    let name: &str = init.attrs.get("input_encoding")?;
    match Encoding::named(name) {
        Some(encoding) => Ok(encoding),
        None => bail!(InvalidArgument, "Could not create converter for input encoding: {name}"),
    }
}

fn make_transcode(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let (from, to, on_error) = (input_encoding(init)?, output_encoding(init)?, OnError::new(init)?);
    let controls = init.attrs.get_or("replace_control_characters", false)?;
    super::map_strings(move |text| {
        let (mut out, mut fault) = (Vec::with_capacity(text.len()), Ok(()));
        from.characters(text, |c, _| match on_error.handle(c, controls) {
            Ok(Some(c)) => to.push(c, &mut out),
            Ok(None) => {}
            Err(e) => fault = Err(e),
        });
        fault.map(|()| out.into())
    })
}

fn output_encoding(init: &KernelInit<'_>) -> Result<Encoding> {
    Ok(match init.attrs.get("output_encoding")? {
        "UTF-8" => Encoding::Utf8,
        "UTF-16-BE" => Encoding::Utf16(Order::Big),
        "UTF-32-BE" => Encoding::Utf32(Order::Big),
        other => bail!(InvalidArgument, "output encoding must be one of UTF-8, UTF-16-BE, or UTF-32-BE, got {other}"),
    })
}

fn make_decode(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let (encoding, on_error) = (input_encoding(init)?, OnError::new(init)?);
    let controls = init.attrs.get_or("replace_control_characters", false)?;
    let splits_type = init.attrs.get_or("Tsplits", DType::I64)?;
    from_fn(move |ctx| {
        let texts = ctx.input(0)?.as_strings()?;
        let (mut values, mut offsets, mut splits) = (Vec::new(), Vec::new(), vec![0i64]);
        for text in texts {
            let (mut at, mut fault) = (0i64, Ok(()));
            encoding.characters(text, |c, bytes| {
                // Control characters are errors only when texts are transcoded.
                let is_control = controls && c.is_some_and(|c| c <= 0x1f);
                let strict = matches!(on_error.policy, Policy::Fail);
                match if is_control && strict { Ok(Some(on_error.replacement)) } else { on_error.handle(c, controls) } {
                    Ok(Some(c)) => {
                        values.push(c as i32);
                        offsets.push(at);
                    }
                    Ok(None) => {}
                    Err(e) => fault = Err(e),
                }
                at += bytes as i64;
            });
            fault?;
            splits.push(values.len() as i64);
        }
        ctx.set_output(0, ctx.allocator().index_vector(splits_type, &splits)?);
        ctx.set_output(1, ctx.allocator().vector(&values)?);
        ctx.set_output(2, ctx.allocator().vector(&offsets)?);
        Ok(())
    })
}

/// Makes the kernel of `UnicodeEncode`. Inputs: characters, row splits.
fn make_encode(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let (encoding, on_error) = (output_encoding(init)?, OnError::new(init)?);
    from_fn(move |ctx| {
        let characters = ctx.input(0)?.as_slice::<i32>()?;
        let splits = ctx.input(1)?.to_i64_vec()?;
        if splits.first() != Some(&0) {
            bail!(InvalidArgument, "First value in input_splits must be zero.");
        }
        if splits.last() != Some(&(characters.len() as i64)) {
            bail!(InvalidArgument, "Last value in input_splits must be equal to num chars");
        }
        if !splits.is_sorted() {
            bail!(InvalidArgument, "Values in input_splits must be equal or in ascending order.");
        }
        let text = |row: &[i64]| -> Result<Bytes> {
            let mut out = Vec::new();
            for &c in &characters[row[0] as usize..row[1] as usize] {
                match (u32::try_from(c).ok().filter(|&c| char::from_u32(c).is_some()), on_error.policy) {
                    (Some(c), _) => encoding.push(c, &mut out),
                    (None, Policy::Replace) => encoding.push(on_error.replacement, &mut out),
                    (None, Policy::Skip) => {}
                    (None, Policy::Fail) => bail!(InvalidArgument, "Code point is out of range for Unicode, or a noncharacter."),
                }
            }
            Ok(out.into())
        };
        let texts = splits.windows(2).map(text).collect::<Result<Vec<_>>>()?;
        ctx.set_output(0, ctx.allocator().from_strings([texts.len()], texts)?);
        Ok(())
    })
}

/// Outputs ICU's number of each character's script, or −1 if a number is no character.
fn script(ctx: &mut KernelContext<'_>) -> Result<()> {
    let input = ctx.input(0)?;
    let mut out = ctx.allocator().uninit(DType::I32, input.shape().clone())?;
    for (to, &c) in out.as_mut_slice::<i32>()?.iter_mut().zip(input.as_slice::<i32>()?) {
        *to = match u32::try_from(c) {
            Ok(c @ ..=0x10_ffff) => RUNS[..RUNS.partition_point(|&(start, _)| start <= c)].last().map_or(-1, |&(_, script)| script.into()),
            _ => -1,
        };
    }
    ctx.set_output(0, out);
    Ok(())
}
