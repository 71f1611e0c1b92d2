//! Scanning of numbers, and their conversion to the types of tensors.

use super::scanner::Scanner;
use flowmill::Result;

/// The parts of a number in JSON text.
struct Number<'a> {
    text: &'a [u8],
    is_negative: bool,
    /// The digits without the point; wrong if there are more than [`MAX_DIGITS`].
    mantissa: u64,
    num_digits: usize,
    /// The power of ten of the mantissa's last digit.
    exponent: i64,
    /// True if the number has neither a fraction nor an exponent.
    is_integer: bool,
}

/// The most digits of which every number fits 64 bits.
const MAX_DIGITS: usize = 19;

/// The powers of ten that are exact in `f64`.
const POWERS: [f64; 23] =
    [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22];

impl Number<'_> {
    fn text(&self) -> &str {
        // Scanned text is ASCII.
        std::str::from_utf8(self.text).unwrap_or_default()
    }

    /// Returns the mantissa, rounded to `f64`, times its power of ten, or `None` if that power is not exact. The error is less than two units in
    /// the last place, and only rounded once if the mantissa is exact.
    #[inline]
    fn approximate(&self) -> Option<f64> {
        if self.num_digits > MAX_DIGITS {
            return None;
        }
        let value = self.mantissa as f64;
        let value = match self.exponent {
            0 => value,
            exponent @ 1..=22 => value * POWERS[exponent as usize],
            exponent @ -22..=-1 => value / POWERS[-exponent as usize],
            _ => return None,
        };
        Some(if self.is_negative { -value } else { value })
    }

    /// Returns the nearest `f64`, which is infinite if the number is out of range.
    #[inline]
    fn to_f64(&self) -> f64 {
        match self.approximate() {
            Some(value) if self.mantissa <= 1 << f64::MANTISSA_DIGITS => value,
            _ => self.text().parse().unwrap_or(f64::NAN),
        }
    }

    /// Returns the nearest `f32`, which is infinite if the number is out of range.
    #[inline]
    fn to_f32(&self) -> f32 {
        /// The bits that `f64` has more than `f32`.
        const EXTRA_BITS: u32 = f64::MANTISSA_DIGITS - f32::MANTISSA_DIGITS;
        /// More than the error of an approximation, in units in the last place.
        const MARGIN: u64 = 4;
        if let Some(value) = self.approximate() {
            // Rounding to `f32` finds the nearest one unless a value halfway between two is within the error.
            let extra = value.to_bits() & ((1 << EXTRA_BITS) - 1);
            let is_clear = extra.abs_diff(1 << (EXTRA_BITS - 1)) > MARGIN;
            if value == 0.0 || (is_clear && (f32::MIN_POSITIVE as f64..f32::MAX as f64).contains(&value.abs())) {
                return value as f32;
            }
        }
        self.text().parse().unwrap_or(f32::NAN)
    }

    /// Returns the value of a number that is an integer, within `i128`.
    #[inline]
    fn to_integer(&self) -> Option<i128> {
        if !self.is_integer {
            return None;
        }
        if self.num_digits > MAX_DIGITS {
            return self.text().parse().ok();
        }
        let value = i128::from(self.mantissa);
        Some(if self.is_negative { -value } else { value })
    }
}

/// A number of a JSON document whose type is not given.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum AnyNumber {
    /// An integer between `i64::MIN` and `u64::MAX`.
    Integer(i128),
    /// A number with a fraction or an exponent, or an integer out of range.
    Float(f64),
}

impl<'a> Scanner<'a> {
    /// Reads a finite number.
    #[inline]
    fn number(&mut self) -> Result<Number<'a>> {
        let start = self.at;
        let is_negative = self.text.get(self.at) == Some(&b'-');
        self.at += usize::from(is_negative);
        let (mut mantissa, mut num_digits) = (0, 0);
        let first = self.text.get(self.at).copied();
        self.digits(&mut mantissa, &mut num_digits);
        if num_digits == 0 {
            self.at = start;
            return Err(self.unexpected("a number"));
        }
        if first == Some(b'0') && num_digits > 1 {
            self.at = start;
            return Err(self.error("a number with a leading zero"));
        }
        let (mut exponent, mut is_integer) = (0, true);
        if self.text.get(self.at) == Some(&b'.') {
            self.at += 1;
            is_integer = false;
            let before = num_digits;
            self.digits(&mut mantissa, &mut num_digits);
            exponent = before as i64 - num_digits as i64;
            if exponent == 0 {
                return Err(self.error("a number without digits after the point"));
            }
        }
        if let Some(b'e' | b'E') = self.text.get(self.at) {
            self.at += 1;
            is_integer = false;
            exponent = exponent.saturating_add(self.exponent()?);
        }
        // Leading zeros of a fraction do not count, so that 0.00012345678901234567 is short.
        if num_digits > MAX_DIGITS && mantissa_is_short(&self.text[start..self.at]) {
            num_digits = MAX_DIGITS;
        }
        Ok(Number { text: &self.text[start..self.at], is_negative, mantissa, num_digits, exponent, is_integer })
    }

    /// Reads digits.
    #[inline]
    fn digits(&mut self, mantissa: &mut u64, num_digits: &mut usize) {
        let start = self.at;
        while let Some(eight) = self.text[self.at..].first_chunk().and_then(|chunk| eight_digits(u64::from_le_bytes(*chunk))) {
            *mantissa = mantissa.wrapping_mul(100_000_000).wrapping_add(eight);
            self.at += 8;
        }
        while let Some(digit @ b'0'..=b'9') = self.text.get(self.at) {
            *mantissa = mantissa.wrapping_mul(10).wrapping_add(u64::from(digit - b'0'));
            self.at += 1;
        }
        *num_digits += self.at - start;
    }

    /// Reads the exponent of a number, which saturates.
    fn exponent(&mut self) -> Result<i64> {
        let is_negative = self.text.get(self.at) == Some(&b'-');
        if let Some(b'+' | b'-') = self.text.get(self.at) {
            self.at += 1;
        }
        let start = self.at;
        let mut exponent: i64 = 0;
        while let Some(digit @ b'0'..=b'9') = self.text.get(self.at) {
            exponent = exponent.saturating_mul(10).saturating_add(i64::from(digit - b'0'));
            self.at += 1;
        }
        if self.at == start {
            return Err(self.error("a number without digits in the exponent"));
        }
        Ok(if is_negative { -exponent } else { exponent })
    }

    /// Reads one of the numbers that are not finite, if one is here.
    #[inline]
    fn non_finite(&mut self) -> Option<f64> {
        let sign = usize::from(self.text.get(self.at) == Some(&b'-'));
        let Some(b'N' | b'I') = self.text.get(self.at + sign) else { return None };
        let mut ahead = *self;
        ahead.at += sign;
        let value = if ahead.take_literal("NaN") {
            f64::NAN
        } else if ahead.take_literal("Infinity") || ahead.take_literal("Inf") {
            f64::INFINITY
        } else {
            return None;
        };
        self.at = ahead.at;
        Some(if sign == 1 { -value } else { value })
    }

    /// Reads a number of type `float32`. Integers are accepted; a finite number beyond the type's range is not.
    #[inline]
    pub(crate) fn f32(&mut self) -> Result<f32> {
        if let Some(value) = self.non_finite() {
            return Ok(value as f32);
        }
        let value = self.number()?.to_f32();
        if value.is_finite() { Ok(value) } else { Err(self.error("a number out of the range of float32 ends")) }
    }

    /// Reads a number of type `float64`, as [`Scanner::f32`] does.
    #[inline]
    pub(crate) fn f64(&mut self) -> Result<f64> {
        if let Some(value) = self.non_finite() {
            return Ok(value);
        }
        let value = self.number()?.to_f64();
        if value.is_finite() { Ok(value) } else { Err(self.error("a number out of the range of float64 ends")) }
    }

    /// Reads a number without fraction and exponent that fits `T`, whose name is `name`.
    #[inline]
    pub(crate) fn integer<T: TryFrom<i128>>(&mut self, name: &str) -> Result<T> {
        let start = *self;
        match self.number() {
            Ok(number) => number.to_integer().and_then(|value| T::try_from(value).ok()).ok_or_else(|| start.not_a(name)),
            Err(error) if start.text.get(start.at).is_some_and(|byte| matches!(byte, b'-' | b'0'..=b'9')) => Err(error),
            Err(_) => Err(start.unexpected(format_args!("a number of type {name}"))),
        }
    }

    #[cold]
    fn not_a(&self, name: &str) -> flowmill::Error {
        self.error(format_args!("a number that is not of type {name}"))
    }

    /// Reads a number of any kind.
    pub(crate) fn any_number(&mut self) -> Result<AnyNumber> {
        if let Some(value) = self.non_finite() {
            return Ok(AnyNumber::Float(value));
        }
        let number = self.number()?;
        match number.to_integer() {
            Some(value) if (i128::from(i64::MIN)..=i128::from(u64::MAX)).contains(&value) => Ok(AnyNumber::Integer(value)),
            _ => {
                let value = number.to_f64();
                if value.is_finite() { Ok(AnyNumber::Float(value)) } else { Err(self.error("a number out of the range of float64 ends")) }
            }
        }
    }

    pub(super) fn skip_number(&mut self) -> Result<()> {
        self.any_number().map(drop)
    }
}

/// Returns true if a number has at most [`MAX_DIGITS`] digits from its first one that is not zero.
#[cold]
fn mantissa_is_short(text: &[u8]) -> bool {
    let mantissa = text.split(|byte| matches!(byte, b'e' | b'E')).next().unwrap_or_default();
    mantissa.iter().filter(|byte| byte.is_ascii_digit()).skip_while(|&&digit| digit == b'0').count() <= MAX_DIGITS
}

/// Returns the value of eight ASCII digits, the first in the lowest byte, or `None` if a byte is no digit.
#[inline]
fn eight_digits(bytes: u64) -> Option<u64> {
    const ZEROS: u64 = 0x3030_3030_3030_3030;
    const SIXES: u64 = 0x0606_0606_0606_0606;
    const HIGH: u64 = 0xf0f0_f0f0_f0f0_f0f0;
    // The high half of a byte of a digit is 3, also if 6 is added.
    if bytes & HIGH != ZEROS || bytes.wrapping_add(SIXES) & HIGH != ZEROS {
        return None;
    }
    let digits = bytes - ZEROS;
    // Pairs of digits, then fours, then all.
    let pairs = (digits.wrapping_mul(10) + (digits >> 8)) & 0x00ff_00ff_00ff_00ff;
    let fours = (pairs.wrapping_mul(100) + (pairs >> 16)) & 0x0000_ffff_0000_ffff;
    Some((fours.wrapping_mul(10_000) + (fours >> 32)) & 0xffff_ffff)
}
