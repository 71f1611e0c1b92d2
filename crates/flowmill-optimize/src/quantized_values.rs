//! Values that lie on a grid: those of constant weights, and those that ops of fake quantisation round to.

use crate::rewrite::{constant_input, is_of_type, text};
use flowmill_graph::{Graph, Node};
use flowmill_tensor::{DType, Tensor};

/// The values that bytes mean: `(byte - zero) * scale`, for bytes up to `greatest`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ByteGrid {
    pub(crate) min: f32,
    pub(crate) max: f32,
    pub(crate) scale: f32,
    pub(crate) inverse: f32,
    pub(crate) zero: u8,
    pub(crate) greatest: u8,
}

/// The values that an op of fake quantisation rounds to, and how it computes them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rounding {
    pub(crate) grid: ByteGrid,
    /// True if the op divides by the scale, and false if it multiplies by the reciprocal. `None` if it rounds in another way, so that bytes are made of
    /// its result.
    pub(crate) divides: Option<bool>,
}

/// Returns the values to which a node rounds `float32`: of at most 256 values, in a constant range that is that of the whole tensor.
pub(crate) fn rounding(graph: &Graph, node: &Node) -> Option<Rounding> {
    let of_inputs = |first: usize| Some((scalar(graph, node, first)?, scalar(graph, node, first + 1)?));
    let attrs = node.attrs();
    match node.op() {
        "FakeQuantWithMinMaxVars" => Some(Rounding { grid: nudged(node, of_inputs(1)?)?, divides: Some(true) }),
        "FakeQuantWithMinMaxArgs" => {
            let range = (attrs.get_or("min", -6.0).ok()?, attrs.get_or("max", 6.0).ok()?);
            Some(Rounding { grid: nudged(node, range)?, divides: Some(false) })
        }
        "QuantizeAndDequantizeV2" | "QuantizeAndDequantizeV3" | "QuantizeAndDequantizeV4" => {
            let is_fixed = attrs.get_or("range_given", node.is_op("QuantizeAndDequantizeV3")).ok()?;
            let is_whole = attrs.get_or("axis", -1i64).ok()? == -1;
            if !is_of_type(node, DType::F32) || !is_fixed || !is_whole {
                return None;
            }
            let bits = if node.is_op("QuantizeAndDequantizeV3") {
                i64::from(constant_input(graph, node.id(), 3)?.value.to_scalar::<i32>().ok()?)
            } else {
                attrs.get_or("num_bits", 8).ok()?
            };
            Some(Rounding { grid: around_zero(node, bits, of_inputs(1)?)?, divides: None })
        }
        _ => None,
    }
}

/// Returns the constant scalar at input `i`.
fn scalar(graph: &Graph, node: &Node, i: usize) -> Option<f32> {
    let value = constant_input(graph, node.id(), i)?.value;
    value.as_slice::<f32>().ok().filter(|v| v.len() == 1)?.first().copied().filter(|v| v.is_finite())
}

/// The grid of `FakeQuantWithMinMax*`: the range is shifted so that zero is one of its values. The formulas are those of the kernels
/// (`flowmill_kernels::fake_quant::Levels`).
fn nudged(node: &Node, (min, max): (f32, f32)) -> Option<ByteGrid> {
    let bits: i64 = node.attrs().get_or("num_bits", 8).ok()?;
    let narrow: bool = node.attrs().get_or("narrow_range", false).ok()?;
    if !(2..=8).contains(&bits) || min >= max {
        return None;
    }
    let (least, greatest) = (f32::from(u8::from(narrow)), ((1i64 << bits) - 1) as f32);
    let scale = (max - min) / (greatest - least);
    let inverse = (greatest - least) / (max - min);
    let zero_point = match least - min / scale {
        z if z < least => least,
        z if z > greatest => greatest,
        z => z.round(),
    };
    let low = (least - zero_point) * scale;
    let grid = ByteGrid {
        min: low,
        max: (greatest - zero_point) * scale,
        scale,
        inverse,
        zero: (-low * inverse + 0.5).floor() as u8,
        greatest: (greatest - least) as u8,
    };
    (scale.is_normal() && inverse.is_finite()).then_some(grid)
}

/// The grid of `QuantizeAndDequantizeV2` and later versions, in which the end of the range that is farther from zero, compared with the integers, is a value.
fn around_zero(node: &Node, bits: i64, (min, max): (f32, f32)) -> Option<ByteGrid> {
    let signed: bool = node.attrs().get_or("signed_input", true).ok()?;
    let narrow: bool = node.attrs().get_or("narrow_range", false).ok()?;
    if !(2..=8).contains(&bits) || min > max {
        return None;
    }
    let most = if signed { (1 << (bits - 1)) - 1 } else { (1 << bits) - 1 };
    let least = match (signed, narrow) {
        (true, true) => -most,
        (true, false) => -most - 1,
        (false, _) => 0,
    };
    let steps = |integer: i32, end: f32| if integer as f32 * end > 0.0 { integer as f32 / end } else { f32::MAX };
    let (from_low, from_high) = (steps(least, min), steps(most, max));
    let (inverse, scale) = if from_low < from_high { (from_low, min / least as f32) } else { (from_high, max / most as f32) };
    let grid = ByteGrid {
        min: least as f32 * scale,
        max: most as f32 * scale,
        scale,
        inverse,
        zero: u8::try_from(-least).ok()?,
        greatest: u8::try_from(most - least).ok()?,
    };
    (scale.is_normal() && scale > 0.0 && inverse.is_normal()).then_some(grid)
}

/// Integers, and the factor of each channel with which they are weights.
pub(crate) struct IntegerWeights {
    pub(crate) integers: Vec<i16>,
    pub(crate) scales: Vec<f32>,
}

/// The largest integer that a weight may be.
const LARGEST: i32 = 255;
/// The largest distance of a weight from a multiple of its channel's scale, relative to the weight. It is some units in the last place: the weight may
/// have been multiplied by the factor of a batch norm.
const TOLERANCE: f64 = 6e-7;

/// Returns integers and scales of which constant weights are the products, if there are such: the weights of a channel are few multiples of one number. They
/// are, whatever op or expression has rounded them, and whatever factor per channel has been folded into them since.
///
/// The weights of channel `c` are elements `c`, `c + channels`, and so on.
pub(crate) fn integer_weights(weights: &Tensor, channels: usize) -> Option<IntegerWeights> {
    let values = weights.as_slice::<f32>().ok().filter(|v| channels > 0 && v.len().is_multiple_of(channels))?;
    let mut found = IntegerWeights { integers: vec![0; values.len()], scales: vec![1.0; channels] };
    let mut earlier = None;
    for channel in 0..channels {
        let of_channel = || values.iter().skip(channel).step_by(channels);
        let largest = of_channel().fold(0.0f32, |largest, w| if w.abs() > largest || w.is_nan() { w.abs() } else { largest });
        if !largest.is_finite() {
            return None;
        }
        if largest == 0.0 {
            continue;
        }
        // The scale of one range for all channels is most often that of the channel before.
        let same = earlier.filter(|&scale| is_multiple(largest, scale) && of_channel().all(|&w| is_multiple(w, scale)));
        let scale = same.or_else(|| {
            // The largest weight is a multiple of the scale, most likely a large one.
            let scales = (1..=LARGEST).map(|steps| f64::from(largest) / f64::from(steps));
            scales.into_iter().find(|&scale| of_channel().all(|&w| is_multiple(w, scale)))
        })?;
        earlier = Some(scale);
        found.scales[channel] = scale as f32;
        for (integer, &w) in found.integers.iter_mut().skip(channel).step_by(channels).zip(of_channel()) {
            *integer = (f64::from(w) / scale).round() as i16;
        }
    }
    found.scales.iter().all(|scale| scale.is_normal()).then_some(found)
}

/// Returns true if `w` is one of the multiples of `scale` that a weight may be.
fn is_multiple(w: f32, scale: f64) -> bool {
    let steps = f64::from(w) / scale;
    let nearest = steps.round();
    nearest.abs() <= f64::from(LARGEST) && (steps - nearest).abs() <= TOLERANCE * nearest.abs()
}

/// Returns true if a node pads with zeros, or with a constant that is zero.
pub(crate) fn pads_with_zeros(graph: &Graph, node: &Node) -> bool {
    node.is_op("Pad") || node.is_op("PadV2") && scalar(graph, node, 2) == Some(0.0)
}

/// Returns true if a node is a maximum over windows of images with channels last.
pub(crate) fn is_max_pool(node: &Node) -> bool {
    node.is_op("MaxPool") && matches!(text(node, "data_format"), "" | "NHWC")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn weights(values: &[f32]) -> Tensor {
        Tensor::vector(values).unwrap()
    }

    #[test]
    fn weights_are_multiples_of_a_scale_per_channel() {
        // Two channels, whose scales are 0.1 and 0.03.
        let integers: Vec<i16> = (0..64).map(|i| ((i * 37) % 255 - 127) as i16).collect();
        let values: Vec<f32> = integers.iter().enumerate().map(|(i, &n)| f32::from(n) * [0.1, 0.03][i % 2]).collect();
        let found = integer_weights(&weights(&values), 2).unwrap();
        for (i, &value) in values.iter().enumerate() {
            assert!((f32::from(found.integers[i]) * found.scales[i % 2] - value).abs() <= 1e-6 * value.abs());
        }
        // A factor that was folded into a channel changes its scale alone.
        let scaled: Vec<f32> = values.iter().enumerate().map(|(i, &w)| w * [0.7331, 1.9][i % 2]).collect();
        assert_eq!(integer_weights(&weights(&scaled), 2).unwrap().integers, found.integers);
        assert_eq!(integer_weights(&weights(&[0.0; 4]), 2).unwrap().integers, [0; 4]);
    }

    #[test]
    fn other_weights_have_no_integers() {
        let values: Vec<f32> = (1..50).map(|i| (i as f32).sqrt()).collect();
        assert!(integer_weights(&weights(&values), 1).is_none());
        assert!(integer_weights(&weights(&[1.0, f32::NAN]), 1).is_none());
        assert!(integer_weights(&weights(&[1.0, 256.0]), 1).is_none());
        assert!(integer_weights(&weights(&[1.0, f32::INFINITY]), 1).is_none());
        assert!(integer_weights(&weights(&[1.0, 2.0, 3.0]), 2).is_none());
    }
}
