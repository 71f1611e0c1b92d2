//! Sums that saturate. Static shapes of a graph may claim any size, so that bytes and times may be as large as any number.

/// Returns the sum of numbers.
pub(crate) fn total(numbers: impl IntoIterator<Item = u64>) -> u64 {
    numbers.into_iter().fold(0, u64::saturating_add)
}

/// Adds to a number.
pub(crate) fn add(sum: &mut u64, number: u64) {
    *sum = sum.saturating_add(number);
}
