//! Sorting by keys of one type. Every element type that is sorted costs several kilobytes of code.

/// A key of two numbers, and a third that breaks ties.
pub(crate) type Key = (u64, u64, usize);

/// Sorts keys in ascending order.
pub(crate) fn sort_keys(keys: &mut [Key]) {
    keys.sort_unstable();
}

/// Returns the numbers below `n` in the order of their keys. Of equal keys, the lower number comes first.
pub(crate) fn order_by(n: usize, key: impl Fn(usize) -> (u64, u64)) -> Vec<usize> {
    let mut keys: Vec<Key> = Vec::with_capacity(n);
    for i in 0..n {
        let (first, second) = key(i);
        keys.push((first, second, i));
    }
    sort_keys(&mut keys);
    keys.into_iter().map(|(.., i)| i).collect()
}
