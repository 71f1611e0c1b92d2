//! Fake quantisation: floats are rounded to the values that a quantised type represents.

/// The values `(i - zero) scale` between `min` and `max`, for integers `i`.
#[derive(Clone, Copy, Debug)]
pub struct QuantizedValues {
    /// The least value.
    pub min: f32,
    /// The greatest value.
    pub max: f32,
    /// The distance of two neighbouring values.
    pub scale: f32,
    /// The reciprocal of `scale`, rounded once.
    pub inverse: f32,
    /// The number of values below zero.
    pub zero: f32,
}

impl QuantizedValues {
    /// Returns true if `x` lies between the least and the greatest value.
    pub fn contain(&self, x: f32) -> bool {
        x >= self.min && x <= self.max
    }
}

/// Returns `x`, or the limit that it exceeds. NaN stays NaN.
#[inline(always)]
fn clamped(x: f32, min: f32, max: f32) -> f32 {
    let x = if x > max { max } else { x };
    if x < min { min } else { x }
}

crate::dispatch! {
    /// Rounds each element to the nearest value, halves up, after a multiplication by the reciprocal of the scale.
    pub fn round_to_values(data: &mut [f32], values: QuantizedValues) {
        let QuantizedValues { min, max, scale, inverse, zero } = values;
        for x in data {
            *x = ((clamped(*x, min, max) - min) * inverse - zero + 0.5).floor() * scale;
        }
    }

    /// Like [`round_to_values`], after a division by the scale, which may round another way.
    pub fn round_to_values_by_division(data: &mut [f32], values: QuantizedValues) {
        let QuantizedValues { min, max, scale, zero, .. } = values;
        for x in data {
            *x = ((clamped(*x, min, max) - min) / scale - zero + 0.5).floor() * scale;
        }
    }

    /// Like [`round_to_values`], for a row whose elements have values of their own. `None` has no values: the result is 0.
    pub fn round_row_to_values(row: &mut [f32], values: &[Option<QuantizedValues>]) {
        for (x, values) in row.iter_mut().zip(values) {
            *x = match values {
                Some(v) => ((clamped(*x, v.min, v.max) - v.min) * v.inverse - v.zero + 0.5).floor() * v.scale,
                None => 0.0,
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const VALUES: QuantizedValues = QuantizedValues { min: -1.0, max: 6.5, scale: 0.5, inverse: 2.0, zero: 2.0 };

    fn all_forms(x: &[f32]) -> [Vec<f32>; 3] {
        let mut found = [(); 3].map(|()| x.to_vec());
        round_to_values(&mut found[0], VALUES);
        round_to_values_by_division(&mut found[1], VALUES);
        round_row_to_values(&mut found[2], &vec![Some(VALUES); x.len()]);
        found
    }

    #[test]
    fn halves_are_rounded_up_and_limits_kept() {
        let x = [-7.0, -1.0, -0.76, -0.75, -0.25, 0.0, 0.2, 0.25, 1.3, 6.4, 6.5, 9.0, f32::INFINITY, f32::NEG_INFINITY].repeat(5);
        let want = [-1.0, -1.0, -1.0, -0.5, 0.0, 0.0, 0.0, 0.5, 1.5, 6.5, 6.5, 6.5, 6.5, -1.0].repeat(5);
        for found in all_forms(&x) {
            assert_eq!(found, want);
        }
    }

    #[test]
    fn nan_stays_nan() {
        for found in all_forms(&[1.0, f32::NAN, -3.0]) {
            assert!(found[0] == 1.0 && found[1].is_nan() && found[2] == -1.0, "{found:?}");
        }
    }

    #[test]
    fn channels_without_values_are_zero() {
        let mut row = [5.0, f32::NAN, 1.2];
        round_row_to_values(&mut row, &[Some(VALUES), None, Some(VALUES)]);
        assert_eq!(row, [5.0, 0.0, 1.0]);
    }
}
