//! The random positions of the windows of fractional pooling (Graham: "Fractional max-pooling", 2014).

use super::philox::{Numbers, Philox, of_seeds};

/// The random generator of one call of a pool.
#[derive(Clone, Copy)]
pub(crate) struct WindowStarts(Philox);

impl WindowStarts {
    /// Returns a generator for these seeds, or one seeded from the operating system's entropy if both are zero.
    pub(crate) fn from_seeds(seed: i64, seed2: i64) -> WindowStarts {
        WindowStarts(of_seeds(seed, seed2))
    }

    /// Returns the starts of `count` windows that cover `0..len` side by side, followed by `len`. There are no more windows than elements, and
    /// sizes differ by at most one: they are shuffled, or if `pseudo_random`, they follow from steps of one length, rounded up, from a random
    /// start.
    pub(crate) fn next(&mut self, len: usize, count: usize, pseudo_random: bool) -> Vec<i64> {
        if pseudo_random { self.stepped(len, count) } else { self.shuffled(len, count) }
    }

    fn reserve(&mut self, numbers: usize) -> Numbers {
        Numbers::new(self.0.reserve(numbers.div_ceil(4) as u64))
    }

    fn shuffled(&mut self, len: usize, count: usize) -> Vec<i64> {
        let (size, longer) = (len / count.max(1), len % count.max(1));
        let mut starts: Vec<i64> = (0..=count).map(|i| (size + usize::from(i < longer)) as i64).collect();
        let mut numbers = self.reserve(count);
        for i in 0..count.saturating_sub(1) {
            starts.swap(i, i + numbers.next() as usize % (count - i));
        }
        let mut sum = 0;
        for start in &mut starts {
            sum += std::mem::replace(start, sum);
        }
        starts
    }

    fn stepped(&mut self, len: usize, count: usize) -> Vec<i64> {
        let (n, windows, size) = (len as f64, count as f64, (len / count.max(1)) as f64);
        let step = n / windows;
        // Beyond this, the size of the first or the last window would differ from the others.
        let end = ((size + 2.0) / step - 1.0).min((n + 1.0 - size) / step - (windows - 1.0));
        let from = self.reserve(2).uniform_double() * end;
        let inner = (1..count).map(|i| ((step * (i as f64 + from)).ceil() as i64 - 1).clamp(0, len as i64));
        std::iter::once(0).chain(inner).chain(std::iter::once(len as i64)).collect()
    }
}
