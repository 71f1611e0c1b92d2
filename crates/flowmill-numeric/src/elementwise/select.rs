//! Selection between elements by a condition. Which element is selected does not change the time: conditions are rarely predictable.

use num_complex::Complex;

/// An element that is selected by its bits.
pub trait Selectable: Copy {
    /// Returns `chosen` if `condition` is true, otherwise `rejected`.
    fn select(condition: bool, chosen: Self, rejected: Self) -> Self;
}

macro_rules! selectable {
    ($($t:ty)*) => {$(
        impl Selectable for $t {
            #[inline(always)]
            fn select(condition: bool, chosen: $t, rejected: $t) -> $t {
                let mask = <$t>::from(condition).wrapping_neg();
                (chosen & mask) | (rejected & !mask)
            }
        }
    )*};
}
selectable!(u8 u16 u32 u64);

impl Selectable for bool {
    #[inline(always)]
    fn select(condition: bool, chosen: bool, rejected: bool) -> bool {
        (condition & chosen) | (!condition & rejected)
    }
}

impl Selectable for Complex<f64> {
    #[inline(always)]
    fn select(condition: bool, chosen: Self, rejected: Self) -> Self {
        let part = |a: f64, b: f64| f64::from_bits(u64::select(condition, a.to_bits(), b.to_bits()));
        Complex::new(part(chosen.re, rejected.re), part(chosen.im, rejected.im))
    }
}

crate::dispatch! {
    /// Computes `to[i] = if conditions[i] { chosen[i] } else { rejected[i] }`.
    pub fn select<T>(conditions: &[bool], chosen: &[T], rejected: &[T], to: &mut [T]) where [T: Selectable] {
        for (((to, &c), &t), &e) in to.iter_mut().zip(conditions).zip(chosen).zip(rejected) {
            *to = T::select(c, t, e);
        }
    }

    /// Computes `to[i] = rejected[i]` for each `i` whose condition is false.
    pub fn replace_unless<T>(conditions: &[bool], rejected: &[T], to: &mut [T]) where [T: Selectable] {
        for ((to, &c), &e) in to.iter_mut().zip(conditions).zip(rejected) {
            *to = T::select(c, *to, e);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check<T: Selectable + PartialEq + std::fmt::Debug>(values: impl Fn(usize) -> T) {
        let n = 131;
        let conditions: Vec<bool> = (0..n).map(|i| i * i % 3 == 1).collect();
        let (chosen, rejected): (Vec<T>, Vec<T>) = (0..n).map(|i| (values(i), values(1000 + i))).unzip();
        let mut to = rejected.clone();
        to.reverse();
        select(&conditions, &chosen, &rejected, &mut to);
        for i in 0..n {
            assert_eq!(to[i], if conditions[i] { chosen[i] } else { rejected[i] });
        }
        let mut kept = chosen;
        replace_unless(&conditions, &rejected, &mut kept);
        assert_eq!(kept, to);
    }

    #[test]
    fn each_element_is_selected_by_its_condition() {
        check(|i| i as u8);
        check(|i| 40 * i as u16);
        check(|i| 1 << 31 | i as u32);
        check(|i| u64::MAX - i as u64);
        check(|i| i % 5 < 2);
        check(|i| Complex::new(i as f64, -0.5 * i as f64));
    }
}
