//! Counters of values by size, with buckets that grow by a constant factor.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Counts of values in buckets, their number and their sum. Values are in the unit that the metric's name says.
#[derive(Debug)]
pub struct Histogram {
    bounds: &'static [f64],
    counts: Vec<AtomicU64>,
    /// In millionths, so that it is a whole number.
    sum: AtomicU64,
}

const MILLION: f64 = 1e6;

impl Histogram {
    /// Returns an empty histogram whose buckets end at `bounds`, which increase. Values beyond the last one are counted in a bucket without an end.
    pub fn new(bounds: &'static [f64]) -> Histogram {
        Histogram { bounds, counts: (0..=bounds.len()).map(|_| AtomicU64::new(0)).collect(), sum: AtomicU64::new(0) }
    }

    /// Counts a value, which is not negative.
    pub fn record(&self, value: f64) {
        let bucket = self.bounds.partition_point(|bound| *bound < value);
        self.counts[bucket].fetch_add(1, Relaxed);
        self.sum.fetch_add((value * MILLION) as u64, Relaxed);
    }

    /// Adds the values of a histogram with the same bounds.
    pub(super) fn add(&self, other: &Histogram) {
        for (count, more) in self.counts.iter().zip(&other.counts) {
            count.fetch_add(more.load(Relaxed), Relaxed);
        }
        self.sum.fetch_add(other.sum.load(Relaxed), Relaxed);
    }

    /// Returns the number of values.
    pub fn count(&self) -> u64 {
        self.counts.iter().map(|count| count.load(Relaxed)).sum()
    }

    /// Returns the sum of the values.
    pub fn sum(&self) -> f64 {
        self.sum.load(Relaxed) as f64 / MILLION
    }

    /// Returns the end of each bucket with the number of values that are not larger; the last end is infinite.
    pub fn cumulative(&self) -> impl Iterator<Item = (f64, u64)> {
        let ends = self.bounds.iter().copied().chain([f64::INFINITY]);
        let mut total = 0;
        ends.zip(&self.counts).map(move |(end, count)| {
            total += count.load(Relaxed);
            (end, total)
        })
    }

    /// Returns an estimate of the value that a share `q` of the values does not exceed: the end of its bucket, or the last bound beyond all buckets.
    pub fn quantile(&self, q: f64) -> f64 {
        let counts: Vec<(f64, u64)> = self.cumulative().collect();
        let rank = counts.last().map_or(0.0, |(_, all)| *all as f64 * q);
        let found = counts.iter().find(|(_, count)| *count as f64 >= rank && *count > 0);
        found.map_or(0.0, |(end, _)| if end.is_finite() { *end } else { self.bounds.last().copied().unwrap_or(0.0) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_counted_up_to_each_bound() {
        let histogram = Histogram::new(&[1.0, 2.0, 4.0]);
        for value in [0.5, 1.0, 1.5, 3.0, 100.0] {
            histogram.record(value);
        }
        let expected = [(1.0, 2), (2.0, 3), (4.0, 4), (f64::INFINITY, 5)];
        assert_eq!(histogram.cumulative().collect::<Vec<_>>(), expected);
        assert_eq!((histogram.count(), histogram.sum()), (5, 106.0));
        assert_eq!([0.4, 0.6, 0.8, 1.0].map(|q| histogram.quantile(q)), [1.0, 2.0, 4.0, 4.0]);
        assert_eq!(Histogram::new(&[1.0]).quantile(0.5), 0.0);
    }
}
