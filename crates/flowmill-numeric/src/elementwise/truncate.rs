//! Floats as integers, rounded towards zero as x86 does it.

/// A float that is rounded towards zero. Values out of range, and NaN, become the most negative integer.
///
/// Loops over these functions are compiled to vector instructions, unlike those over `as`, which saturates.
pub trait Truncate: Copy {
    /// Returns the value as `i32`.
    fn truncate32(self) -> i32;
    /// Returns the value as `i64`.
    fn truncate64(self) -> i64;
    /// Returns the value as `u64`. Negative values wrap around.
    fn truncate_unsigned(self) -> u64;
}

impl Truncate for f64 {
    #[inline(always)]
    #[allow(unsafe_code)]
    fn truncate32(self) -> i32 {
        // SAFETY: values in this range are those of an `i32` after rounding towards zero.
        if self > -2_147_483_649.0 && self < 2_147_483_648.0 { unsafe { self.to_int_unchecked() } } else { i32::MIN }
    }

    #[inline(always)]
    #[allow(unsafe_code)]
    fn truncate64(self) -> i64 {
        let is_in_range = (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&self);
        // SAFETY: values in this range are those of an `i64` after rounding towards zero.
        if is_in_range { unsafe { self.to_int_unchecked() } } else { i64::MIN }
    }

    #[inline(always)]
    fn truncate_unsigned(self) -> u64 {
        // Both halves of the range are converted as signed numbers and combined without a branch, like compilers do it.
        let low = self.truncate64();
        let high = (self - 9_223_372_036_854_775_808.0).truncate64();
        (low | (high & (low >> 63))) as u64
    }
}

impl Truncate for f32 {
    #[inline(always)]
    #[allow(unsafe_code)]
    fn truncate32(self) -> i32 {
        // SAFETY: values in this range are those of an `i32` after rounding towards zero.
        if (-2_147_483_648.0..2_147_483_648.0).contains(&self) { unsafe { self.to_int_unchecked() } } else { i32::MIN }
    }

    #[inline(always)]
    fn truncate64(self) -> i64 {
        f64::from(self).truncate64()
    }

    #[inline(always)]
    fn truncate_unsigned(self) -> u64 {
        f64::from(self).truncate_unsigned()
    }
}
