//! Functions of complex numbers by real formulas, without branches in the usual case.
//!
//! Roots and quotients of numbers with `f32` parts are computed in `f64`, whose exponents have so many bits that no square overflows or vanishes.

use crate::simd::unary;
use num_complex::Complex;

/// A complex number with functions whose loops are fast.
pub trait ComplexFunctions: Copy {
    /// Returns the principal square root, whose parts are within 0.51 ulp for `f32` and 2.5 ulp for `f64`. Infinities and zeros follow annex G of the C
    /// standard.
    fn root(self) -> Self;
    /// Returns the quotient by the usual formula. Both parts are NaN if the divisor is zero or infinite.
    fn usual_quotient(self, divisor: Self) -> Self;
    /// Computes `dst[i] = a[i].usual_quotient(b[i])`.
    fn usual_quotients(a: &[Self], b: &[Self], dst: &mut [Self]) {
        dst.iter_mut().zip(a).zip(b).for_each(|((q, a), b)| *q = a.usual_quotient(*b));
    }
}

impl ComplexFunctions for Complex<f32> {
    #[inline(always)]
    fn root(self) -> Self {
        narrowed(root_of_bounded(widened(self)))
    }

    #[inline(always)]
    fn usual_quotient(self, divisor: Self) -> Self {
        let (a, b) = (widened(self), widened(divisor));
        let scale = 1.0 / (b.re * b.re + b.im * b.im);
        narrowed(Complex::new((a.re * b.re + a.im * b.im) * scale, (a.im * b.re - a.re * b.im) * scale))
    }

    fn usual_quotients(a: &[Self], b: &[Self], dst: &mut [Self]) {
        quotients(a, b, dst);
    }
}

crate::dispatch! {
    /// Computes `dst[i] = src[i].root()`.
    pub fn roots(src: &[Complex<f32>], dst: &mut [Complex<f32>]) {
        for (w, z) in dst.iter_mut().zip(src) {
            *w = z.root();
        }
    }

    fn quotients(a: &[Complex<f32>], b: &[Complex<f32>], dst: &mut [Complex<f32>]) {
        for ((q, a), b) in dst.iter_mut().zip(a).zip(b) {
            *q = a.usual_quotient(*b);
        }
    }
}

impl ComplexFunctions for Complex<f64> {
    #[inline(always)]
    fn root(self) -> Self {
        // The larger part is brought between 2^-474 and 2^500 by an even power of two.
        let size = self.re.abs().max(self.im.abs());
        let (large, small) = (2f64.powi(300), 2f64.powi(-300));
        let (scale, back) = if size > 2f64.powi(500) {
            (small, large)
        } else if size < 2f64.powi(-400) {
            (large, small)
        } else {
            (1.0, 1.0)
        };
        root_of_bounded(self.scale(scale).scale(scale)).scale(back)
    }

    #[inline(always)]
    fn usual_quotient(self, divisor: Self) -> Self {
        let scale = divisor.re.abs().max(divisor.im.abs());
        let unit = divisor.unscale(scale);
        (self * unit.conj()).unscale(unit.norm_sqr()).unscale(scale)
    }
}

/// The elements that [`exp`] computes at a time.
const BLOCK: usize = 64;

/// Computes `dst[i] = e^src[i]` from the functions of [`unary`]: each part has the error of a product of two of them. The result of an element does not
/// depend on the length.
pub fn exp(src: &[Complex<f32>], dst: &mut [Complex<f32>]) {
    let (mut radii, mut cosines, mut sines) = ([0.0; BLOCK], [0.0; BLOCK], [0.0; BLOCK]);
    for (src, dst) in src.chunks(BLOCK).zip(dst.chunks_mut(BLOCK)) {
        let n = src.len();
        for (i, z) in src.iter().enumerate() {
            (radii[i], cosines[i], sines[i]) = (z.re, z.im, z.im);
        }
        unary::exp_in_place(&mut radii[..n]);
        unary::cos_in_place(&mut cosines[..n]);
        unary::sin_in_place(&mut sines[..n]);
        for (i, (w, z)) in dst.iter_mut().zip(src).enumerate() {
            *w = Complex::new(radii[i] * cosines[i], radii[i] * sines[i]);
            if w.re.is_nan() || w.im.is_nan() {
                // An infinity times zero: the library knows the cases.
                *w = z.exp();
            }
        }
    }
}

/// Returns the absolute value; infinite if a part is infinite.
#[inline(always)]
pub fn modulus(z: Complex<f32>) -> f32 {
    let w = widened(z);
    let size = (w.re * w.re + w.im * w.im).sqrt() as f32;
    if z.re.is_infinite() || z.im.is_infinite() { f32::INFINITY } else { size }
}

#[inline(always)]
fn widened(z: Complex<f32>) -> Complex<f64> {
    Complex::new(f64::from(z.re), f64::from(z.im))
}

#[inline(always)]
fn narrowed(z: Complex<f64>) -> Complex<f32> {
    Complex::new(z.re as f32, z.im as f32)
}

/// Returns the square root of a number whose norm neither overflows nor vanishes.
#[inline(always)]
fn root_of_bounded(z: Complex<f64>) -> Complex<f64> {
    let (a, b) = (z.re.abs(), z.im.abs());
    let modulus = (a * a + b * b).sqrt();
    let modulus = if a == f64::INFINITY { a } else { modulus };
    let larger = ((a + modulus) * 0.5).sqrt();
    let smaller = b * 0.5 / larger;
    let smaller = if larger == 0.0 { 0.0 } else { smaller };
    let (re, im) = if z.re < 0.0 { (smaller, larger) } else { (larger, smaller) };
    let (re, im) = if b == f64::INFINITY { (b, b) } else { (re, im) };
    Complex::new(re, im.copysign(z.im))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPECIALS: [f32; 9] = [0.0, -0.0, 1.0, -2.5, f32::MAX, f32::MIN_POSITIVE, f32::INFINITY, f32::NEG_INFINITY, f32::NAN];

    fn pairs() -> impl Iterator<Item = Complex<f32>> {
        SPECIALS.iter().flat_map(|&re| SPECIALS.iter().map(move |&im| Complex::new(re, im)))
    }

    /// Returns numbers of many sizes in all quadrants.
    fn numbers() -> Vec<Complex<f64>> {
        let size = |i: i32, step: f64, turn: f64| 2f64.powf((f64::from(i) * step).sin() * 60.0) * (f64::from(i) * turn).cos().signum();
        (0..20_000).map(|i| Complex::new(size(i, 0.37, 1.3), size(i, 0.61, 2.9))).collect()
    }

    /// Returns the distance in units of the last place of the expected value.
    fn distance(found: f32, expected: f64) -> f64 {
        let unit = (expected as f32).abs().max(f32::MIN_POSITIVE);
        let step = f64::from(f32::from_bits(unit.to_bits() + 1)) - f64::from(unit);
        (f64::from(found) - expected).abs() / step
    }

    #[track_caller]
    fn same(z: Complex<f32>, found: Complex<f32>, expected: Complex<f32>) {
        for (found, expected) in [(found.re, expected.re), (found.im, expected.im)] {
            let equal = found == expected && found.is_sign_negative() == expected.is_sign_negative();
            assert!(equal || found.is_nan() && expected.is_nan(), "{z}: {found} and {expected}");
        }
    }

    #[test]
    fn squares_of_roots_are_the_numbers() {
        for z in numbers() {
            for z in [z, z.scale(1e280), z.scale(1e-270)] {
                let w = z.root();
                assert!(w.re >= 0.0 && (w.im < 0.0) == (z.im < 0.0), "{z:e}: {w:e}");
                let scale = if z.norm() > 1.0 { 1e-150 } else { 1e150 };
                let (square, z) = (w.scale(scale) * w.scale(scale), z.scale(scale).scale(scale));
                assert!((square - z).norm() <= 1e-15 * z.norm(), "{z:e}: {w:e}");
            }
            let z = Complex::new(z.re as f32, z.im as f32);
            let (w, exact) = (z.root(), widened(z).root());
            assert!(distance(w.re, exact.re) <= 0.51 && distance(w.im, exact.im) <= 0.51, "{z:e}: {w:e}");
        }
    }

    #[test]
    fn parts_of_roots_are_accurate() {
        // The root of (p + iq)² for integers, whose squares are exact.
        for p in 1..400i32 {
            for q in 1..400i32 {
                let (p, q) = (f64::from(p * 797), f64::from(q * q * 31));
                let w = Complex::new(p * p - q * q, 2.0 * p * q).root();
                for (found, exact) in [(w.re, p), (w.im, q)] {
                    assert!((found - exact).abs() <= 2.5 * (f64::from_bits(exact.to_bits() + 1) - exact), "{p} {q}: {found} and {exact}");
                }
            }
        }
    }

    #[test]
    fn roots_of_infinities_and_zeros_are_those_of_the_c_standard() {
        let (inf, nan) = (f32::INFINITY, f32::NAN);
        for (re, im, expected) in [
            (0.0, 0.0, Complex::new(0.0, 0.0)),
            (-0.0, -0.0, Complex::new(0.0, -0.0)),
            (1.0, inf, Complex::new(inf, inf)),
            (nan, -inf, Complex::new(inf, -inf)),
            (-inf, -inf, Complex::new(inf, -inf)),
            (inf, 2.0, Complex::new(inf, 0.0)),
            (inf, nan, Complex::new(inf, nan)),
            (-inf, 2.0, Complex::new(0.0, inf)),
            (-inf, -2.0, Complex::new(0.0, -inf)),
            (-4.0, -0.0, Complex::new(0.0, -2.0)),
            (-4.0, 0.0, Complex::new(0.0, 2.0)),
            (nan, 1.0, Complex::new(nan, nan)),
            (1.0, nan, Complex::new(nan, nan)),
        ] {
            let z = Complex::new(re, im);
            same(z, z.root(), expected);
            let w = widened(z).root();
            same(z, narrowed(w), expected);
        }
    }

    #[test]
    fn quotients_are_accurate() {
        let numbers = numbers();
        for (a, b) in numbers.iter().zip(numbers.iter().rev()) {
            let exact = a.usual_quotient(*b);
            assert!((exact * b - a).norm() <= 2e-15 * a.norm(), "{a} / {b}: {exact}");
            let [a, b] = [a, b].map(|z| Complex::new(z.re as f32, z.im as f32));
            let (found, exact) = (a.usual_quotient(b), widened(a) / widened(b));
            let limit = exact.norm() * 6e-8 + f64::from(f32::MIN_POSITIVE);
            assert!((widened(found) - exact).norm() <= limit || exact.norm() > f32::MAX.into(), "{a} / {b}: {found} and {exact}");
        }
    }

    #[test]
    fn exponentials_do_not_depend_on_the_length() {
        let mut z: Vec<_> = (0..1000).map(|i| Complex::new((i as f32 * 0.37).sin() * 80.0, (i as f32 * 0.11).tan())).collect();
        z.extend(pairs());
        let mut w = z.clone();
        exp(&z, &mut w);
        for (z, w) in z.iter().zip(w) {
            let mut one = [Complex::default()];
            exp(&[*z], &mut one);
            same(*z, one[0], w);
            let exact = widened(*z).exp();
            if exact.is_finite() && exact.norm() < 1e38 {
                assert!((widened(w) - exact).norm() <= 4e-7 * exact.norm() + 1e-38, "{z}: {w} and {exact}");
            }
        }
    }

    #[test]
    fn moduli_are_those_of_the_standard_library() {
        for z in pairs() {
            let expected = z.re.hypot(z.im);
            let found = modulus(z);
            assert!(
                (found - expected).abs() <= expected * 6e-8 || found == expected || found.is_nan() && expected.is_nan(),
                "{z}: {found}"
            );
        }
    }
}
