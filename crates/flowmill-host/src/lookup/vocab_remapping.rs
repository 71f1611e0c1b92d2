//! `GenerateVocabRemapping`, which maps the words of a vocabulary to their indices in an earlier vocabulary.

use super::one_text;
use super::text_file::read_lines;
use crate::from_fn::blocking_from_fn;
use flowmill_runtime::{Kernel, KernelContext, KernelInit, KernelRegistry};
use flowmill_tensor::{Result, Tensor, bail};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("GenerateVocabRemapping", make_remapping);
}

fn make_remapping(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let size = |name: &str| -> Result<usize> { Ok(usize::try_from(init.attrs.get::<i64>(name)?).unwrap_or(0)) };
    let (offset, count) = (size("new_vocab_offset")?, size("num_new_vocab")?);
    let old_size = usize::try_from(init.attrs.get_or("old_vocab_size", -1i64)?).ok();
    blocking_from_fn(move |ctx| remapping(ctx, offset, count, old_size))
}

/// Outputs, for `count` words from line `offset` of the new file, their lines in the old file (-1 for words that it lacks), and the number of words
/// that it has. Only the first `old_size` lines of the old file are used, or all if it is `None`.
fn remapping(ctx: &mut KernelContext<'_>, offset: usize, count: usize, old_size: Option<usize>) -> Result<()> {
    for (i, name) in ["new_vocab_file", "old_vocab_file"].into_iter().enumerate() {
        let shape = ctx.input(i)?.shape();
        if shape.rank() != 0 {
            bail!(InvalidArgument, "{name} should be a single string, but got {shape}");
        }
    }
    let (new_file, old_file) = (one_text(ctx.input(0)?, "new_vocab_file")?, one_text(ctx.input(1)?, "old_vocab_file")?);
    if new_file.is_empty() || old_file.is_empty() {
        bail!(InvalidArgument, "new vocab filename cannot be empty.");
    }
    let new = read_lines(&new_file, None)?;
    let Some(words) = offset.checked_add(count).and_then(|end| new.get(offset..end)) else {
        bail!(InvalidArgument, "lookup table size must be larger than last new vocab entry's line");
    };
    let old = read_lines(&old_file, old_size)?;
    let mut lines = HashMap::with_capacity(old.len());
    for (line, word) in old.iter().enumerate() {
        match lines.entry(word) {
            Entry::Vacant(entry) => drop(entry.insert(line as i64)),
            Entry::Occupied(entry) => bail!(
                FailedPrecondition,
                "HashTable has different value for same key. Key {} has {} and trying to add value {line}",
                String::from_utf8_lossy(word),
                entry.get()
            ),
        }
    }
    let found: Vec<i64> = words.iter().map(|word| lines.get(word).copied().unwrap_or(-1)).collect();
    let present = found.iter().filter(|&&line| line >= 0).count();
    ctx.set_output(0, ctx.allocator().vector(&found)?);
    ctx.set_output(1, Tensor::scalar(i32::try_from(present).unwrap_or(i32::MAX)));
    Ok(())
}
