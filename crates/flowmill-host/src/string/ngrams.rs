//! `StringNGrams`, which joins runs of adjacent strings in each row of a ragged tensor.

use crate::array::args::indices;
use crate::from_fn::from_fn;
use flowmill_runtime::{Kernel, KernelInit, KernelRegistry};
use flowmill_tensor::{Bytes, Result, bail};
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("StringNGrams", make_string_ngrams);
}

/// The greatest width of n-grams and padding. Greater values are an error, because each n-gram would take that many strings.
const MAX_WIDTH: i64 = 1 << 16;

struct NGrams {
    separator: Bytes,
    widths: Vec<usize>,
    left_pad: Bytes,
    right_pad: Bytes,
    /// The most pads on each side, or `None` for as many as the n-gram's width allows.
    pad_width: Option<usize>,
    preserve_short: bool,
}

fn make_string_ngrams(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let attrs = init.attrs;
    let mut widths = Vec::new();
    for width in attrs.list::<i64>("ngram_widths")? {
        match usize::try_from(width) {
            Ok(width) if width > 0 && width <= MAX_WIDTH as usize => widths.push(width),
            _ => bail!(InvalidArgument, "ngram_widths must contain positive values of at most {MAX_WIDTH}, got {width}"),
        }
    }
    let pad_width: i64 = attrs.get("pad_width")?;
    if pad_width > MAX_WIDTH {
        bail!(InvalidArgument, "pad_width must be at most {MAX_WIDTH}, got {pad_width}");
    }
    let ngrams = NGrams {
        separator: attrs.get::<&Bytes>("separator")?.clone(),
        widths,
        left_pad: attrs.get::<&Bytes>("left_pad")?.clone(),
        right_pad: attrs.get::<&Bytes>("right_pad")?.clone(),
        pad_width: usize::try_from(pad_width).ok(),
        preserve_short: attrs.get("preserve_short_sequences")?,
    };
    from_fn(move |ctx| {
        let (data, splits) = (ctx.input(0)?, ctx.input(1)?);
        let strings = data.as_strings()?;
        let bounds = check_splits(&indices(splits)?, strings.len())?;
        let (mut out, mut out_splits) = (Vec::new(), vec![0i64]);
        for row in bounds.windows(2) {
            ngrams.extend(&strings[row[0]..row[1]], &mut out)?;
            out_splits.push(out.len() as i64);
        }
        let out_splits = ctx.allocator().index_vector(splits.dtype(), if bounds.is_empty() { &[] } else { &out_splits })?;
        ctx.set_output(0, ctx.allocator().from_strings([out.len()], out)?);
        ctx.set_output(1, out_splits);
        Ok(())
    })
}

/// Checks that row splits ascend from 0 to the number of strings.
fn check_splits(splits: &[i64], len: usize) -> Result<Vec<usize>> {
    let mut bounds: Vec<usize> = Vec::with_capacity(splits.len());
    for &split in splits {
        let least = bounds.last().copied().unwrap_or(0);
        match usize::try_from(split) {
            Ok(_) if bounds.is_empty() && split != 0 => bail!(InvalidArgument, "First split value must be 0, got {split}"),
            Ok(at) if at >= least && at <= len => bounds.push(at),
            _ => bail!(InvalidArgument, "Invalid split value {split}, must be in [{least}, {len}]"),
        }
    }
    match bounds.last() {
        Some(&last) if last != len => bail!(InvalidArgument, "Last split value must be data size. Expected {len}, got {last}"),
        _ => Ok(bounds),
    }
}

impl NGrams {
    /// Appends the n-grams of one row.
    fn extend(&self, row: &[Bytes], out: &mut Vec<Bytes>) -> Result<()> {
        let before = out.len();
        for &width in &self.widths {
            let pads = self.pad_width.unwrap_or(width - 1).min(width - 1);
            let length = row.len() + 2 * pads;
            out.extend((0..(length + 1).saturating_sub(width)).map(|start| self.join(row, pads, start, width)));
        }
        if self.preserve_short && out.len() == before && !row.is_empty() {
            let Some(pads) = self.pad_width else {
                bail!(InvalidArgument, "Pad width should be >= 0 when preserve_short_sequences is True and ngram_widths are not provided");
            };
            out.push(self.join(row, pads, 0, row.len() + 2 * pads));
        }
        Ok(())
    }

    /// Returns the n-gram at `start` of the row between `pads` pads on each side.
    fn join(&self, row: &[Bytes], pads: usize, start: usize, width: usize) -> Bytes {
        let parts: Vec<&[u8]> = (start..start + width)
            .map(|i| match i.checked_sub(pads) {
                None => self.left_pad.as_ref(),
                Some(i) => row.get(i).unwrap_or(&self.right_pad).as_ref(),
            })
            .collect();
        parts.join(&self.separator[..]).into()
    }
}
