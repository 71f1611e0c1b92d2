//! The distributions over classes that samplers draw from.

use super::philox::Numbers;
use flowmill_kernels::files::read_file;
use flowmill_runtime::KernelInit;
use flowmill_tensor::sync::Mutex;
use flowmill_tensor::{Result, bail, check_memory, error};

/// The size in bytes of the largest file of weights that is read.
const MAX_FILE_BYTES: usize = 1 << 32;

/// A probability distribution over classes.
pub(super) enum Distribution {
    /// All classes, once each, in order.
    All,
    /// All classes are equally likely.
    Uniform {
        /// The number of classes.
        range: i64,
    },
    /// Small class numbers are more likely, like words that are sorted by frequency and follow Zipf's law.
    LogUniform {
        /// The number of classes.
        range: i64,
        /// The natural logarithm of one more than `range`.
        log_range: f64,
    },
    /// The probabilities follow given weights.
    Fixed(Weights),
    /// The probabilities follow the number of times that each class was a true class so far.
    Learned(Mutex<Counts>),
}

impl Distribution {
    /// Calls `f` with an object that draws classes and knows their probabilities. Learned counts do not change meanwhile.
    pub(super) fn with<R>(&self, f: impl FnOnce(&dyn Classes) -> R) -> R {
        match self {
            Distribution::All => f(&All),
            Distribution::Uniform { range } => f(&Uniform(*range)),
            Distribution::LogUniform { range, log_range } => f(&LogUniform(*range, *log_range)),
            Distribution::Fixed(weights) => f(weights),
            Distribution::Learned(counts) => f(&*counts.lock()),
        }
    }

    /// Counts true classes for a learned distribution.
    pub(super) fn learn(&self, classes: &[i64]) {
        if let Distribution::Learned(counts) = self {
            let mut counts = counts.lock();
            classes.iter().for_each(|&class| counts.add(class as usize));
        }
    }
}

/// A sampler of classes with known probabilities.
pub(super) trait Classes {
    fn draw(&self, numbers: &mut Numbers) -> i64;

    fn probability(&self, class: i64) -> f32;

    /// Returns the number of classes that can be drawn, if it may be less than that of all classes.
    fn num_possible(&self) -> Option<usize> {
        None
    }
}

struct All;

impl Classes for All {
    fn draw(&self, _: &mut Numbers) -> i64 {
        0
    }

    fn probability(&self, _: i64) -> f32 {
        1.0
    }
}

struct Uniform(i64);

impl Classes for Uniform {
    fn draw(&self, numbers: &mut Numbers) -> i64 {
        numbers.below_long(self.0 as u64) as i64
    }

    fn probability(&self, _: i64) -> f32 {
        1.0 / self.0 as f32
    }
}

struct LogUniform(i64, f64);

impl Classes for LogUniform {
    fn draw(&self, numbers: &mut Numbers) -> i64 {
        let (high, low) = (numbers.next(), numbers.next());
        let mantissa = u64::from(high & 0xf_ffff) << 32 | u64::from(low);
        let unit = f64::from_bits(1023 << 52 | mantissa) - 1.0;
        ((unit * self.1).exp() as i64 - 1).rem_euclid(self.0)
    }

    fn probability(&self, class: i64) -> f32 {
        (((class as f64 + 2.0) / (class as f64 + 1.0)).ln() / self.1) as f32
    }
}

/// The weights of classes with an alias table (Vose 1991): a class is drawn with one uniform number and one index.
pub(super) struct Weights {
    weights: Vec<f32>,
    sum: f32,
    /// For each index, the probability of its own class, and the alternative class.
    table: Vec<(f32, usize)>,
}

impl Weights {
    /// Reads the weights of `range` classes that the node's attributes specify.
    ///
    /// # Errors
    /// Returns `InvalidArgument` if their number is not `range`, or they are given twice or not at all; any error of reading their file.
    pub(super) fn from_attrs(init: &KernelInit<'_>, range: i64) -> Result<Weights> {
        let (file, given): (&str, Vec<f32>) = (init.attrs.get_or("vocab_file", "")?, init.attrs.list("unigrams")?);
        let given = match (file.is_empty(), given.is_empty()) {
            (true, true) => bail!(InvalidArgument, "Must provide either vocab_file or unigrams."),
            (false, false) => bail!(InvalidArgument, "Must only provide one of vocab_file and unigrams."),
            (true, false) => given,
            (false, true) => weights_in(file)?,
        };
        let distortion: f32 = init.attrs.get_or("distortion", 1.0)?;
        let num_reserved: i64 = init.attrs.get_or("num_reserved_ids", 0)?;
        let (num_shards, shard): (i64, i64) = (init.attrs.get_or("num_shards", 1)?, init.attrs.get_or("shard", 0)?);
        let is_here = |id: i64| id % num_shards.max(1) == shard;
        if num_reserved > range.saturating_mul(num_shards) {
            bail!(InvalidArgument, "num_reserved_ids must not be greater than the number of classes, got {num_reserved}");
        }
        let mut weights: Vec<f32> = (0..num_reserved).filter(|&id| is_here(id)).map(|_| 0.0).collect();
        let first = weights.len() as i64;
        weights.extend((first..).zip(given).filter(|&(id, _)| is_here(id)).map(|(_, weight)| weight.powf(distortion)));
        if weights.len() as i64 != range {
            bail!(InvalidArgument, "range is {range} must be equal to weights size  {}", weights.len());
        }
        let sum = weights.iter().sum();
        Ok(Weights { table: alias_table(&weights), weights, sum })
    }
}

/// Returns the last field of each line of a file.
fn weights_in(path: &str) -> Result<Vec<f32>> {
    let contents = read_file(path, MAX_FILE_BYTES)?;
    let text = String::from_utf8_lossy(&contents).replace('\r', "");
    let weight = |line: &str| {
        let last = line.rsplit(',').next().unwrap_or_default();
        last.trim().parse().map_err(|_| error!(InvalidArgument, "Wrong vocabulary format at line: {line}"))
    };
    text.lines().map(weight).collect()
}

fn alias_table(weights: &[f32]) -> Vec<(f32, usize)> {
    let sum: f64 = weights.iter().map(|&weight| f64::from(weight)).sum();
    // The product is computed in single precision, as in TensorFlow.
    let mut share: Vec<f64> = weights.iter().map(|&weight| f64::from(weight * weights.len() as f32) / sum).collect();
    let mut other: Vec<usize> = (0..weights.len()).collect();
    let (mut low, mut high): (Vec<usize>, Vec<usize>) = (0..weights.len()).partition(|&i| share[i] < 1.0);
    while let (Some(&l), Some(&h)) = (low.last(), high.last()) {
        low.pop();
        high.pop();
        other[l] = h;
        share[h] -= 1.0 - share[l];
        if share[h] < 1.0 { low.push(h) } else { high.push(h) }
    }
    // The remaining shares differ from 1 only by rounding.
    for i in low.into_iter().chain(high) {
        (share[i], other[i]) = (1.0, i);
    }
    share.into_iter().map(|share| share as f32).zip(other).collect()
}

impl Classes for Weights {
    fn draw(&self, numbers: &mut Numbers) -> i64 {
        let unit = numbers.uniform();
        let place = numbers.below(self.table.len() as u32) as usize;
        let class = self.table.get(place).map_or(place, |&(share, other)| if unit < share { place } else { other });
        class as i64
    }

    fn probability(&self, class: i64) -> f32 {
        usize::try_from(class).ok().and_then(|class| self.weights.get(class)).map_or(0.0, |weight| weight / self.sum)
    }

    fn num_possible(&self) -> Option<usize> {
        let can_come =
            |i: usize| self.table.iter().enumerate().any(|(place, &(share, other))| place == i && share > 0.0 || other == i && share < 1.0);
        let positive = self.weights.iter().filter(|&&weight| weight > 0.0).count();
        Some(if positive > 0 { positive } else { (0..self.weights.len()).filter(|&i| can_come(i)).count() })
    }
}

/// For each class, the number of times that it was a true class, plus one, as a tree of sums: the children of node `i` are `2 * i + 1` and `2 * i + 2`.
pub(super) struct Counts {
    tree: Vec<i32>,
    num_leaves: usize,
}

impl Counts {
    /// Returns a count of one for each of `range` classes.
    ///
    /// # Errors
    /// Returns `InvalidArgument` if there are more classes than a count can hold.
    pub(super) fn new(range: i64) -> Result<Counts> {
        let Some(range) = usize::try_from(range).ok().filter(|&range| range < i32::MAX as usize) else {
            bail!(InvalidArgument, "range_max must be less than {}, got {range}", i32::MAX);
        };
        let num_leaves = range.next_power_of_two();
        check_memory::<i32>(2 * num_leaves)?;
        let mut tree = vec![0; 2 * num_leaves - 1];
        tree.iter_mut().skip(num_leaves - 1).take(range).for_each(|leaf| *leaf = 1);
        for i in (0..num_leaves - 1).rev() {
            tree[i] = tree[2 * i + 1] + tree[2 * i + 2];
        }
        Ok(Counts { tree, num_leaves })
    }

    fn total(&self) -> i32 {
        self.tree.first().copied().unwrap_or(0)
    }

    fn add(&mut self, class: usize) {
        if self.total() == i32::MAX {
            return;
        }
        let mut at = self.num_leaves - 1 + class;
        loop {
            if let Some(sum) = self.tree.get_mut(at) {
                *sum += 1;
            }
            if at == 0 {
                return;
            }
            at = (at - 1) / 2;
        }
    }
}

impl Classes for Counts {
    fn draw(&self, numbers: &mut Numbers) -> i64 {
        let (mut position, mut at) = (numbers.below(self.total() as u32) as i32, 0);
        while at < self.num_leaves - 1 {
            let left = self.tree[2 * at + 1];
            let is_right = position >= left;
            position -= if is_right { left } else { 0 };
            at = 2 * at + 1 + usize::from(is_right);
        }
        (at + 1 - self.num_leaves) as i64
    }

    fn probability(&self, class: i64) -> f32 {
        let count = self.tree.get(self.num_leaves - 1 + class as usize).copied().unwrap_or(0);
        count as f32 / self.total() as f32
    }
}
