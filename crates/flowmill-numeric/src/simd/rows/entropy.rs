//! Cross-entropies of rows of logits, with their gradients.

use super::super::math::exp_of_negative;
use super::super::vector::MathVector;
use super::super::{Isa, for_each_isa, isa};
use super::{fold_lanes, for_each_vector, greater_or_nan};

/// Overwrites `backprop` with the gradient of a row's cross-entropy against a distribution, `softmax(logits) - labels`, and returns the cross-entropy. A
/// label of zero adds nothing, also to an infinite logarithm.
///
/// # Panics
/// If the lengths differ.
pub fn cross_entropy(logits: &[f32], labels: &[f32], backprop: &mut [f32]) -> f32 {
    cross_entropy_for(isa(), logits, labels, backprop)
}

fn cross_entropy_for(isa: Isa, logits: &[f32], labels: &[f32], backprop: &mut [f32]) -> f32 {
    let n = logits.len();
    assert_eq!((labels.len(), backprop.len()), (n, n), "lengths of a row");
    // SAFETY: the CPU has `isa`; all slices have the same length.
    unsafe { entropy_of_row(isa, backprop.as_mut_ptr(), logits.as_ptr(), labels.as_ptr(), n) }.0
}

/// Like [`cross_entropy`], against a class.
///
/// # Panics
/// If the lengths differ or the class is beyond them.
pub fn sparse_cross_entropy(logits: &[f32], class: usize, backprop: &mut [f32]) -> f32 {
    let n = logits.len();
    assert!(backprop.len() == n && class < n, "class {class} of {n} logits, {} gradients", backprop.len());
    // SAFETY: the CPU has the instruction set; both slices have the same length.
    let (log, max) = unsafe { entropy_of_row(isa(), backprop.as_mut_ptr(), logits.as_ptr(), std::ptr::null(), n) };
    backprop[class] -= 1.0;
    log - (logits[class] - max)
}

for_each_isa! {
    unsafe fn entropy_of_row(backprop: *mut f32, logits: *const f32, labels: *const f32, n: usize) -> (f32, f32) = entropy_kernel::<f32>;
}

/// Writes the softmax less the labels, and returns the cross-entropy and the greatest logit. Without labels, it writes the softmax and returns the logarithm
/// of the sum of `exp(x - max)` instead of a cross-entropy.
///
/// # Safety
/// The CPU has V's instruction set; `backprop` and `logits` hold `n` elements and are disjoint; `labels` is null or holds as many.
#[inline(always)]
unsafe fn entropy_kernel<V: MathVector>(backprop: *mut f32, logits: *const f32, labels: *const f32, n: usize) -> (f32, f32) {
    // SAFETY: the caller guarantees it; partial loads and stores take as many lanes as the row has left.
    unsafe {
        let mut greatest = V::splat(f32::NEG_INFINITY);
        for_each_vector!(V, logits, n, f32::NEG_INFINITY, |x, _i, _lanes| {
            greatest = greatest.max(x);
        });
        let greatest = fold_lanes(greatest, greater_or_nan);
        let max = V::splat(greatest);
        let mut sum = V::zero();
        for_each_vector!(V, logits, n, f32::NEG_INFINITY, |x, i, lanes| {
            let e = exp_of_negative(x.sub(max));
            sum = sum.add(e);
            e.store_part(backprop.add(i), lanes);
        });
        let sum = sum.sum();
        let (log, scale) = (sum.ln(), V::splat(1.0 / sum));
        if labels.is_null() {
            for_each_vector!(V, backprop.cast_const(), n, 0.0, |e, i, lanes| {
                e.mul(scale).store_part(backprop.add(i), lanes);
            });
            return (log, greatest);
        }
        let (log, mut loss) = (V::splat(log), V::zero());
        for_each_vector!(V, logits, n, 0.0, |x, i, lanes| {
            let label = V::load_part(labels.add(i), lanes);
            let is_zero = V::int_eq(label.abs().bits(), V::int_splat(0));
            loss = loss.add(V::select(is_zero, V::zero(), label.mul(log.sub(x.sub(max)))));
            let e = V::load_part(backprop.cast_const().add(i), lanes);
            e.mul(scale).sub(label).store_part(backprop.add(i), lanes);
        });
        (loss.sum(), greatest)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{assert_close, values};
    use super::*;

    #[test]
    fn cross_entropies_of_rows_of_any_length() {
        for n in [1, 2, 7, 10, 16, 17, 31, 33, 1001] {
            let logits = values(n);
            let labels: Vec<f32> = (0..n).map(|i| (i % 3) as f32 / n as f32).collect();
            let max = logits.iter().fold(f32::MIN, |a, b| a.max(*b));
            let shifted: Vec<f64> = logits.iter().map(|x| f64::from(x - max)).collect();
            let sum: f64 = shifted.iter().map(|x| x.exp()).sum();
            let loss: f64 = shifted.iter().zip(&labels).map(|(x, label)| f64::from(*label) * (sum.ln() - x)).sum();
            let gradient: Vec<f64> = shifted.iter().zip(&labels).map(|(x, label)| x.exp() / sum - f64::from(*label)).collect();
            let mut got = vec![f32::NAN; n];
            for isa in Isa::available() {
                let entropy = cross_entropy_for(isa, &logits, &labels, &mut got);
                assert_close(&[entropy], &[loss], "cross-entropy");
                assert_close(&got, &gradient, "gradient");
            }
            let class = n / 2;
            let entropy = sparse_cross_entropy(&logits, class, &mut got);
            assert_close(&[entropy], &[sum.ln() - shifted[class]], "cross-entropy of a class");
            let gradient: Vec<f64> = (0..n).map(|i| shifted[i].exp() / sum - f64::from(u8::from(i == class))).collect();
            assert_close(&got, &gradient, "gradient of a class");
        }
    }

    #[test]
    fn labels_of_zero_add_nothing() {
        let mut backprop = [0.0; 3];
        let loss = cross_entropy(&[f32::NEG_INFINITY, 0.0, 0.0], &[-0.0, 1.0, 0.0], &mut backprop);
        assert_close(&[loss], &[2f64.ln()], "cross-entropy");
        assert_eq!(backprop, [0.0, -0.5, 0.5]);
        assert!(cross_entropy(&[f32::NAN, 0.0, 0.0], &[0.0, 1.0, 0.0], &mut backprop).is_nan());
        assert_eq!(cross_entropy(&[], &[], &mut []), 0.0);
    }
}
