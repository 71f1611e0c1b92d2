//! Values as JSON text.

use super::scanner::first_special;
use flowmill::Bytes;
use std::io::Write;

/// A type of elements that have a form in JSON.
pub(crate) trait PrintElement {
    /// Adds the value to `out`.
    fn print(&self, out: &mut Vec<u8>);
}

macro_rules! integers {
    ($($t:ty),*) => {
        $(impl PrintElement for $t {
            #[inline]
            fn print(&self, out: &mut Vec<u8>) {
                out.extend_from_slice(itoa::Buffer::new().format(*self).as_bytes());
            }
        })*
    };
}

integers!(i8, i16, i32, i64, u8, u16, u32, u64, usize);

impl PrintElement for bool {
    fn print(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(if *self { b"true" } else { b"false" });
    }
}

macro_rules! floats {
    ($($t:ty, $precision:literal);*) => {
        $(
            /// The form of C's `%g` with the fewest digits that are read back as the same number, and `.0` after whole numbers: the digits may be
            /// fewer than those of TensorFlow Serving, which prints 6 or all.
            impl PrintElement for $t {
                #[inline]
                fn print(&self, out: &mut Vec<u8>) {
                    if (1e-4..1e6).contains(&self.abs()) {
                        out.extend_from_slice(zmij::Buffer::new().format_finite(*self).as_bytes());
                    } else if self.is_finite() {
                        print_general(zmij::Buffer::new().format_finite(*self), $precision, out);
                    } else {
                        print_non_finite(self.is_nan(), *self > 0.0, out);
                    }
                }
            }
        )*
    };
}

floats!(f32, 9; f64, 17);

fn print_non_finite(is_nan: bool, is_positive: bool, out: &mut Vec<u8>) {
    let text: &[u8] = match (is_nan, is_positive) {
        (true, _) => b"NaN",
        (false, true) => b"Infinity",
        (false, false) => b"-Infinity",
    };
    out.extend_from_slice(text);
}

/// Prints a number whose shortest digits are in `shortest`: in scientific notation if its power of ten is less than -4 or at least the number of digits
/// that C's `%g` would be called with, which are 6 if they suffice.
fn print_general(shortest: &str, precision: i32, out: &mut Vec<u8>) {
    /// The digits that are tried first.
    const FEW: i32 = 6;
    let unsigned = shortest.strip_prefix('-').unwrap_or(shortest);
    if unsigned.len() < shortest.len() {
        out.push(b'-');
    }
    let (mantissa, exponent) = unsigned.split_once('e').unwrap_or((unsigned, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    // The number is 0.DIGITS times a power of ten.
    let all: Vec<u8> = whole.bytes().chain(fraction.bytes()).collect();
    let num_zeros = all.iter().take_while(|&&digit| digit == b'0').count();
    let end = all.iter().rposition(|&digit| digit != b'0').map_or(num_zeros, |last| last + 1);
    let digits = &all[num_zeros..end];
    let [first, rest @ ..] = digits else {
        out.extend_from_slice(b"0.0");
        return;
    };
    let power = exponent.parse::<i32>().unwrap_or_default() + whole.len() as i32 - num_zeros as i32 - 1;
    let precision = if digits.len() as i32 <= FEW { FEW } else { precision };
    if power >= -4 && power < precision {
        // Only whole numbers and numbers with a whole part come here: others are printed as they are.
        let point = (power + 1).max(0) as usize;
        out.extend((0..point.max(digits.len())).map(|i| digits.get(i).copied().unwrap_or(b'0')).take(point));
        out.push(b'.');
        out.extend_from_slice(digits.get(point..).filter(|fraction| !fraction.is_empty()).unwrap_or(b"0"));
        return;
    }
    out.push(*first);
    if !rest.is_empty() {
        out.push(b'.');
        out.extend_from_slice(rest);
    }
    let sign = if power < 0 { '-' } else { '+' };
    // Writing to a vector does not fail.
    let _ = write!(out, "e{sign}{:02}", power.abs());
}

/// A string, printed by [`print_string`].
impl PrintElement for Bytes {
    fn print(&self, out: &mut Vec<u8>) {
        print_string(self, out);
    }
}

/// Adds a string in quotes. Bytes that are not UTF-8 are added as they are, as TensorFlow Serving does.
pub(crate) fn print_string(text: &[u8], out: &mut Vec<u8>) {
    out.push(b'"');
    let mut rest = text;
    while let Some(length) = first_special(rest) {
        out.extend_from_slice(&rest[..length]);
        match rest[length] {
            b'"' => out.extend_from_slice(b"\\\""),
            b'\\' => out.extend_from_slice(b"\\\\"),
            0x8 => out.extend_from_slice(b"\\b"),
            0xc => out.extend_from_slice(b"\\f"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            // Writing to a vector does not fail.
            byte => drop(write!(out, "\\u{byte:04X}")),
        }
        rest = &rest[length + 1..];
    }
    out.extend_from_slice(rest);
    out.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(value: impl PrintElement) -> String {
        let mut out = Vec::new();
        value.print(&mut out);
        String::from_utf8(out).unwrap_or_default()
    }

    #[test]
    fn floats_are_printed_as_by_percent_g_with_the_fewest_digits() {
        let cases: [(f32, &str); 18] = [
            (0.0, "0.0"),
            (-0.0, "-0.0"),
            (1.0, "1.0"),
            (0.1, "0.1"),
            (-2.5, "-2.5"),
            (999_999.0, "999999.0"),
            (1e6, "1e+06"),
            (9_000_000.0, "9e+06"),
            (1_234_567.0, "1234567.0"),
            (123_456_790.0, "123456790.0"),
            (1_876_543_200.0, "1.8765432e+09"),
            (1e-4, "0.0001"),
            (1e-5, "1e-05"),
            (1.5e-7, "1.5e-07"),
            (0.123_456_79, "0.12345679"),
            (f32::MAX, "3.4028235e+38"),
            (f32::INFINITY, "Infinity"),
            (f32::NEG_INFINITY, "-Infinity"),
        ];
        for (value, text) in cases {
            assert_eq!(printed(value), text);
        }
        assert_eq!(printed(f32::NAN), "NaN");
        assert_eq!(printed(1e-300), "1e-300");
        assert_eq!(printed(1e22), "1e+22");
        assert_eq!(printed(1234567890123456.0), "1234567890123456.0");
        assert_eq!(printed(2f64.powi(60)), "1.152921504606847e+18");
        assert_eq!(printed(f64::MIN_POSITIVE), "2.2250738585072014e-308");
    }

    #[test]
    fn strings_are_escaped() {
        assert_eq!(printed(Bytes::from_static("a\"\\\n\u{1}\u{1f}é/".as_bytes())), "\"a\\\"\\\\\\n\\u0001\\u001Fé/\"");
    }
}
