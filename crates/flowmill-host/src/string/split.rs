//! Splitting of strings: `StringSplit`, `StringSplitV2`. The parts are output as a sparse tensor.

use super::scalar_string;
use super::text::is_space;
use crate::from_fn::from_fn;
use flowmill_runtime::{Kernel, KernelContext, KernelInit, KernelRegistry};
use flowmill_tensor::{Bytes, Result, bail};
use std::ops::Range;
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("StringSplit", make_string_split);
    registry.add("StringSplitV2", make_string_split_v2);
}

/// Makes the kernel of `StringSplit`, which splits at every byte of the delimiter, or between all bytes if the delimiter is empty.
fn make_string_split(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let skip_empty = init.attrs.get_or("skip_empty", true)?;
    from_fn(move |ctx| {
        let delimiters = ctx.input(1)?;
        if delimiters.rank() != 0 {
            bail!(InvalidArgument, "delimiter must be a scalar, got shape: {}", delimiters.shape());
        }
        let delimiters = delimiters.as_strings()?[0].clone();
        split_all(ctx, |s| {
            if delimiters.is_empty() {
                return (0..s.len()).map(|i| i..i + 1).collect();
            }
            let mut pieces = split_where(s, |b| delimiters.contains(&b));
            pieces.retain(|piece| !piece.is_empty() || !skip_empty);
            // An empty string has no parts, even if empty parts are kept.
            if s.is_empty() { Vec::new() } else { pieces }
        })
    })
}

fn split_where(s: &[u8], is_delimiter: impl Fn(u8) -> bool) -> Vec<Range<usize>> {
    let mut pieces = Vec::new();
    let mut start = 0;
    for (i, _) in s.iter().enumerate().filter(|&(_, &b)| is_delimiter(b)) {
        pieces.push(start..i);
        start = i + 1;
    }
    pieces.push(start..s.len());
    pieces
}

/// Makes the kernel of `StringSplitV2`, which splits like Python: at a separator, or at runs of white space if it is empty, and at most `maxsplit`
/// times unless that is negative.
fn make_string_split_v2(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let max_split: i64 = init.attrs.get_or("maxsplit", -1)?;
    let max_split = usize::try_from(max_split).unwrap_or(usize::MAX);
    from_fn(move |ctx| {
        let separator = scalar_string(ctx.input(1)?, "sep")?.clone();
        split_all(ctx, |s| if separator.is_empty() { split_at_space(s, max_split) } else { split_at(s, &separator, max_split) })
    })
}

fn split_at_space(s: &[u8], max_split: usize) -> Vec<Range<usize>> {
    let mut pieces = Vec::new();
    let mut at = 0;
    loop {
        at += s[at..].iter().take_while(|&&b| is_space(b)).count();
        if at == s.len() {
            return pieces;
        }
        if pieces.len() == max_split {
            pieces.push(at..s.len());
            return pieces;
        }
        let end = at + s[at..].iter().take_while(|&&b| !is_space(b)).count();
        pieces.push(at..end);
        at = end;
    }
}

fn split_at(s: &[u8], separator: &[u8], max_split: usize) -> Vec<Range<usize>> {
    let mut pieces = Vec::new();
    let mut start = 0;
    while pieces.len() < max_split {
        let Some(found) = s[start..].windows(separator.len()).position(|window| window == separator) else { break };
        pieces.push(start..start + found);
        start += found + separator.len();
    }
    pieces.push(start..s.len());
    pieces
}

/// Splits the strings of a vector. Outputs: row and column of each part, the parts, and the dense shape.
fn split_all(ctx: &mut KernelContext<'_>, split: impl Fn(&[u8]) -> Vec<Range<usize>>) -> Result<()> {
    let input = ctx.input(0)?;
    if input.rank() != 1 {
        bail!(InvalidArgument, "input must be a vector, got shape: {}", input.shape());
    }
    let (mut places, mut pieces) = (Vec::new(), Vec::<Bytes>::new());
    let mut widest = 0;
    let rows = input.num_elements();
    for (row, s) in input.as_strings()?.iter().enumerate() {
        let ranges = split(s);
        widest = widest.max(ranges.len());
        for (column, range) in ranges.into_iter().enumerate() {
            places.extend([row as i64, column as i64]);
            pieces.push(s.slice(range));
        }
    }
    let n = pieces.len();
    ctx.set_output(0, ctx.allocator().from_slice([n, 2], &places)?);
    ctx.set_output(1, ctx.allocator().from_strings([n], pieces)?);
    ctx.set_output(2, ctx.allocator().vector(&[rows as i64, widest as i64])?);
    Ok(())
}
