//! `ReadFile`, `WriteFile`, `MatchingFiles`.

use super::{text, texts};
use flowmill_kernels::files::{file_error, read_file};
use flowmill_kernels::from_fn::blocking_from_fn;
use flowmill_runtime::{Kernel, KernelInit, KernelRegistry};
use flowmill_tensor::{Bytes, Result, bail};
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("ReadFile", make_read);
    registry.add("WriteFile", make_write);
    registry.add("MatchingFiles", make_matching);
}

fn make_read(_: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    blocking_from_fn(|ctx| {
        let path = text(ctx, 0, "filename")?;
        let contents = read_file(&path, flowmill_tensor::memory_limit())?;
        ctx.set_output(0, ctx.allocator().string(contents)?);
        Ok(())
    })
}

/// Inputs: file name, contents. Missing directories are made.
fn make_write(_: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    blocking_from_fn(|ctx| {
        let path = text(ctx, 0, "filename")?;
        let contents = match ctx.input(1)?.as_strings()? {
            [contents] => contents,
            _ => bail!(InvalidArgument, "Contents tensor must be scalar, but had shape: {}", ctx.input(1)?.shape()),
        };
        let directory = Path::new(&path).parent().unwrap_or(Path::new(""));
        std::fs::create_dir_all(directory).and_then(|()| std::fs::write(&path, contents)).map_err(|e| file_error(&path, &e))
    })
}

/// Returns all files that match any of the patterns, sorted. `*` and `?` match characters other than `/`, `[a-z]` one of several.
fn make_matching(_: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    blocking_from_fn(|ctx| {
        let mut found: Vec<Bytes> = Vec::new();
        for pattern in texts(ctx, 0)? {
            let paths = matching(&pattern);
            found.extend(paths.iter().filter_map(|path| path.to_str()).map(|path| Bytes::copy_from_slice(path.as_bytes())));
        }
        found.sort_unstable();
        ctx.set_output(0, ctx.allocator().from_strings([found.len()], found)?);
        Ok(())
    })
}

/// Returns the files that match one pattern.
fn matching(pattern: &str) -> Vec<PathBuf> {
    let root = if pattern.starts_with('/') { PathBuf::from("/") } else { PathBuf::new() };
    pattern.split('/').filter(|component| !component.is_empty()).fold(vec![root], |directories, component| {
        let matches = directories.into_iter().flat_map(|directory| entries_matching(&directory, component));
        matches.collect()
    })
}

fn entries_matching(directory: &Path, component: &str) -> Vec<PathBuf> {
    if !component.contains(['*', '?', '[', '\\']) {
        let path = directory.join(component);
        return if path.exists() { vec![path] } else { Vec::new() };
    }
    let listed = if directory.as_os_str().is_empty() { Path::new(".") } else { directory };
    let Ok(entries) = std::fs::read_dir(listed) else { return Vec::new() };
    let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    names.filter(|name| glob(component.as_bytes(), name.as_bytes())).map(|name| directory.join(name)).collect()
}

/// Returns true if `name`, which has no `/`, matches `pattern`. Takes time proportional to the product of their lengths: only the last `*` is tried
/// again.
fn glob(pattern: &[u8], name: &[u8]) -> bool {
    let (mut p, mut n) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    loop {
        let step = match pattern.get(p) {
            None if n == name.len() => return true,
            Some(b'*') => {
                retry = Some((p + 1, n));
                p += 1;
                continue;
            }
            _ => name.get(n).and_then(|&byte| match_one(&pattern[p..], byte)),
        };
        match (step, retry) {
            (Some(len), _) => (p, n) = (p + len, n + 1),
            (None, Some((after, from))) if from < name.len() => {
                (p, n) = (after, from + 1);
                retry = Some((after, from + 1));
            }
            _ => return false,
        }
    }
}

/// Returns the length of the first item of `pattern` if it matches `byte`.
fn match_one(pattern: &[u8], byte: u8) -> Option<usize> {
    match pattern {
        [b'?', ..] => Some(1),
        [b'\\', escaped, ..] => (*escaped == byte).then_some(2),
        [b'[', rest @ ..] => {
            let (negated, rest, skipped) = match rest {
                [b'^' | b'!', rest @ ..] => (true, rest, 2),
                _ => (false, rest, 1),
            };
            // A `]` that comes first matches itself.
            let end = rest.iter().skip(1).position(|&b| b == b']')? + 1;
            let set = &rest[..end];
            let ranges = (0..set.len()).any(|i| match set.get(i..i + 3) {
                Some(&[low, b'-', high]) => (low..=high).contains(&byte),
                _ => set[i] == byte,
            });
            (ranges != negated).then_some(skipped + end + 1)
        }
        [first, ..] => (*first == byte).then_some(1),
        [] => None,
    }
}

#[cfg(test)]
mod tests {
    use super::glob;

    #[test]
    fn patterns_match_names() {
        let matches = |pattern: &str, name: &str| glob(pattern.as_bytes(), name.as_bytes());
        assert!(matches("*.index", "x.index") && matches("*", "") && matches("a*b*c", "aXbYbZc"));
        assert!(!matches("*.index", "x.indexes") && !matches("a*b*c", "aXbYbZ"));
        assert!(matches("?.pb", "m.pb") && !matches("?.pb", ".pb"));
        assert!(matches("[x-z]1", "y1") && !matches("[x-z]1", "w1") && matches("[^x]", "y") && matches("[]]", "]"));
        assert!(matches("\\*", "*") && !matches("\\*", "x") && !matches("[x", "x"));
    }
}
