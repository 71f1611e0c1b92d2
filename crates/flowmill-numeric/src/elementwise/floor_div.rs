//! Quotients of 64-bit integers, rounded down.

/// The elements that are divided at a time.
const BLOCK: usize = 256;
/// Integers of a lesser magnitude are converted to `f64` and back by additions, and the rounded quotient of two of them never exceeds an integer that the
/// exact one does not reach.
const LIMIT: i64 = 1 << 51;
/// A number whose lowest bits hold an integer below [`LIMIT`] that is added to it.
const ROUNDING: f64 = (3 * LIMIT) as f64;

/// Returns the quotient of two integers, rounded down; 0 for a zero divisor.
#[inline(always)]
pub fn floor_quotient(a: i64, b: i64) -> i64 {
    if b == 0 {
        return 0;
    }
    let (quotient, rest) = (a.wrapping_div(b), a.wrapping_rem(b));
    if rest != 0 && (rest < 0) != (b < 0) { quotient.wrapping_sub(1) } else { quotient }
}

/// Computes `dst[i] = floor_quotient(a[i], b[i])` for divisors other than zero; the results for zero divisors are any integers.
pub fn floor_quotients(a: &[i64], b: &[i64], dst: &mut [i64]) {
    for ((a, b), dst) in a.chunks(BLOCK).zip(b.chunks(BLOCK)).zip(dst.chunks_mut(BLOCK)) {
        if !small_quotients(a, b, dst) {
            dst.iter_mut().zip(a).zip(b).for_each(|((q, a), b)| *q = floor_quotient(*a, *b));
        }
    }
}

#[inline(always)]
fn to_float(x: i64) -> f64 {
    f64::from_bits((x as u64).wrapping_add(ROUNDING.to_bits())) - ROUNDING
}

crate::dispatch! {
    /// Computes the quotients in `f64` and returns true if all magnitudes are below [`LIMIT`].
    fn small_quotients(a: &[i64], b: &[i64], dst: &mut [i64]) -> bool {
        let mut outside = 0;
        for ((q, &a), &b) in dst.iter_mut().zip(a).zip(b) {
            outside |= (a.wrapping_add(LIMIT) | b.wrapping_add(LIMIT)) as u64 >> 52;
            let quotient = to_float(a) / to_float(b);
            let nearest = (quotient + ROUNDING) - ROUNDING;
            let floor = if nearest > quotient { nearest - 1.0 } else { nearest };
            *q = (floor + ROUNDING).to_bits().wrapping_sub(ROUNDING.to_bits()) as i64;
        }
        outside == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotients_are_exact() {
        let edges = [1, 2, 3, 7, 1000, (1 << 25) + 1, LIMIT - 2, LIMIT - 1, LIMIT, LIMIT + 1, i64::MAX, i64::MIN];
        let edges: Vec<i64> = edges.iter().flat_map(|&x| [x, x.wrapping_neg(), x.wrapping_sub(1), x / 3]).collect();
        for &b in edges.iter().filter(|b| **b != 0) {
            // Numbers next to the multiples of the divisor, and the edges.
            let multiples = (0..400).flat_map(|i| [-1, 0, 1].map(|d| (i - 200i64).wrapping_mul(b).wrapping_add(d)));
            let a: Vec<i64> = multiples.chain(edges.iter().copied()).collect();
            let mut found = vec![0; a.len()];
            floor_quotients(&a, &vec![b; a.len()], &mut found);
            for (a, found) in a.iter().zip(found) {
                let expected = i128::from(*a).div_euclid(i128::from(b)) - i128::from(b < 0 && a.wrapping_rem(b) != 0);
                assert_eq!(found, expected as i64, "{a} / {b}");
                assert_eq!(floor_quotient(*a, b), expected as i64, "{a} / {b}");
            }
        }
    }

    #[test]
    fn quotients_next_to_integers_are_not_rounded_up() {
        // Dividends just below multiples of divisors, close to the limit.
        for i in 1..20_000i64 {
            let b = i * 104_729 % 9_000_001 + 1;
            let n = (LIMIT - 1) / b;
            let a = [n * b - 1, n * b, (1 - n) * b - 1];
            let mut found = [0; 3];
            floor_quotients(&a, &[b; 3], &mut found);
            assert_eq!(found, [n - 1, n, -n], "{b}");
            floor_quotients(&a, &[-b; 3], &mut found);
            assert_eq!(found, a.map(|a| floor_quotient(a, -b)), "{b}");
        }
    }
}
