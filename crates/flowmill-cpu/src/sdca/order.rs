//! The order in which examples are processed. In TensorFlow it differs from run to run; here it is determined by the number of steps.

use crate::random::philox::{Numbers, Philox};

/// A generator of random orders.
pub(super) struct Order {
    numbers: Numbers,
}

impl Order {
    pub(super) fn new(seed: u64) -> Order {
        Order { numbers: Numbers::new(Philox::from_seeds(seed, 0)) }
    }

    /// Returns a random permutation of `count` examples.
    pub(super) fn shuffled(&mut self, count: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..count).collect();
        for left in (2..=count).rev() {
            order.swap(left - 1, self.numbers.below_long(left as u64) as usize);
        }
        order
    }

    /// Returns as many examples as there are weights, heavy ones more often: when an example is chosen, it becomes a tenth as likely. If it takes
    /// too long to find more examples, those not chosen yet follow, heaviest first.
    pub(super) fn by_weights(&mut self, weights: &[f64]) -> Vec<usize> {
        let count = weights.len();
        let sums: Vec<f64> = weights
            .iter()
            .scan(0.0, |sum, &weight| {
                *sum += if weight.is_finite() { weight.max(0.0) } else { 0.0 };
                Some(*sum)
            })
            .collect();
        let total = sums.last().copied().unwrap_or(0.0);
        let mut order = Vec::with_capacity(count);
        let mut taken = vec![0i32; count];
        let mut retries = 0;
        while total > 0.0 && order.len() < count && retries < count {
            let at = self.numbers.uniform_double() * total;
            let picked = sums.partition_point(|&sum| sum <= at).min(count - 1);
            if self.numbers.uniform_double() > 0.1f64.powi(taken[picked]) {
                retries += 1;
                continue;
            }
            taken[picked] += 1;
            order.push(picked);
        }
        let mut others: Vec<usize> = (0..count).filter(|&i| taken[i] == 0).collect();
        others.sort_by(|&a, &b| weights[b].total_cmp(&weights[a]));
        let missing = count - order.len();
        order.extend(others.into_iter().take(missing));
        order
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shuffle_has_every_example_once() {
        let mut order = Order::new(3).shuffled(100);
        assert_ne!(order, (0..100).collect::<Vec<_>>());
        assert_ne!(order, Order::new(4).shuffled(100));
        order.sort_unstable();
        assert_eq!(order, (0..100).collect::<Vec<_>>());
    }

    #[test]
    fn heavy_examples_come_more_often() {
        let weights: Vec<f64> = (0..50).map(|i| if i == 7 { 1000.0 } else { 1.0 }).collect();
        let order = Order::new(1).by_weights(&weights);
        assert!(order.iter().filter(|&&i| i == 7).count() > 1 && order.len() <= 50);
        assert_eq!(Order::new(1).by_weights(&[0.0, f64::NAN, 0.0]).len(), 3);
        assert!(Order::new(1).by_weights(&[]).is_empty());
    }
}
