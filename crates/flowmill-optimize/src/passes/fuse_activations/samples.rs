//! Numbers at which groups of functions are compared with activations.

use crate::values::apply;
use flowmill_graph::ElementwiseFunction;
use std::sync::LazyLock;

/// Numbers at which functions are compared.
pub(super) struct Samples(Vec<f32>);

/// Numbers that are far from the scale of all activations: terms overflow or vanish there.
const FAR: [f32; 9] = [20.0, 50.0, 87.0, 89.0, 104.0, 1e3, 1e6, 1e12, 1e30];

impl Samples {
    /// Returns a few numbers, at which all activations differ.
    pub(super) fn few() -> Samples {
        Samples(vec![-3.7, -2.3, -1.0, -0.4, 0.0, 0.6, 1.7, 7.5])
    }

    /// Returns all numbers, among them some close to each constant and its inverse.
    pub(super) fn many(constants: &[f32]) -> Samples {
        let mut samples: Vec<f32> = (-240..=240).map(|i| i as f32 * 0.067).collect();
        samples.extend([f32::INFINITY, f32::NEG_INFINITY, f32::NAN, 0.0, -0.0]);
        samples.extend(FAR.iter().flat_map(|&x| [x, -x]));
        for constant in constants.iter().flat_map(|&c| [c, 1.0 / c]).filter(|c| c.is_finite() && c.abs() < 1e30) {
            samples.extend([0.5, 0.99, 1.0, 1.01, 2.0].into_iter().flat_map(|factor| [constant * factor, -constant * factor]));
        }
        Samples(samples)
    }

    pub(super) fn values(&self) -> &[f32] {
        &self.0
    }
}

/// The greatest difference between an activation and a group that computes it, relative to the greater one. Models store constants such as √½ with few
/// digits.
const TOLERANCE: f32 = 1e-5;
/// The greatest difference that comes from cancellation, relative to the number that the functions are of. At 0 there is none, so that a small addend or
/// bound, which keeps a quotient or a logarithm finite, is not taken for rounding.
const CANCELLATION: f32 = 3e-7;

/// An activation that an op computes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Activation {
    Function(ElementwiseFunction),
    /// `x > 0 ? x : alpha x`.
    LeakyRelu(f32),
}

impl Activation {
    /// Returns the op that computes the activation.
    pub(super) fn op(self) -> &'static str {
        match self {
            Activation::LeakyRelu(_) => ElementwiseFunction::LeakyRelu.name(),
            Activation::Function(ElementwiseFunction::GeluExact) => "_GeluExact",
            Activation::Function(ElementwiseFunction::GeluApproximate) => "_GeluApproximate",
            Activation::Function(ElementwiseFunction::Silu) => "_Silu",
            Activation::Function(ElementwiseFunction::HardSigmoid) => "_HardSigmoid",
            Activation::Function(ElementwiseFunction::HardSwish) => "_HardSwish",
            Activation::Function(ElementwiseFunction::Mish) => "_Mish",
            Activation::Function(function) => function.name(),
        }
    }

    /// Returns the activations that have these values at a [few](Samples::few) numbers.
    pub(super) fn likely(values: &[f32]) -> Vec<Activation> {
        use ElementwiseFunction::*;
        const ALL: [ElementwiseFunction; 13] =
            [GeluExact, GeluApproximate, Silu, HardSigmoid, HardSwish, Mish, Relu, Relu6, Elu, Selu, Softplus, Softsign, Sigmoid];
        // The values of each function at these numbers: most groups are compared with them and with nothing else.
        static FEW: LazyLock<(Samples, Vec<Option<Vec<f32>>>)> = LazyLock::new(|| {
            let few = Samples::few();
            let values = ALL.iter().map(|&function| apply(function, std::slice::from_ref(&few.0), None)).collect();
            (few, values)
        });
        let (few, table) = &*FEW;
        let is_like = |expected: &Option<Vec<f32>>| expected.as_ref().is_some_and(|expected| are_close(expected, values, few));
        let functions =
            ALL.into_iter().zip(table).filter(|(_, expected)| is_like(expected)).map(|(function, _)| Activation::Function(function));
        let slope = few.0.iter().position(|&x| x == -1.0).and_then(|i| values.get(i)).map(|&y| -y);
        let leaky = slope
            .filter(|&alpha| alpha > 0.0 && (alpha - 1.0).abs() > 1e-3)
            .map(Activation::LeakyRelu)
            .filter(|leaky| leaky.is_like(few, values));
        functions.chain(leaky).collect()
    }

    /// Returns true if the activation has these values.
    pub(super) fn is_like(self, samples: &Samples, values: &[f32]) -> bool {
        let expected = match self {
            Activation::Function(function) => apply(function, std::slice::from_ref(&samples.0), None),
            Activation::LeakyRelu(alpha) => apply(ElementwiseFunction::LeakyRelu, std::slice::from_ref(&samples.0), Some(alpha)),
        };
        expected.is_some_and(|expected| are_close(&expected, values, samples))
    }
}

/// Returns true if the values of two functions at these numbers differ by no more than the rounding of constants.
fn are_close(a: &[f32], b: &[f32], samples: &Samples) -> bool {
    a.iter().zip(b).zip(&samples.0).all(|((&a, &b), &x)| {
        let is_close = (a - b).abs() <= TOLERANCE * a.abs().max(b.abs()) + CANCELLATION * x.abs();
        a == b || a.is_nan() && b.is_nan() || a.is_finite() && b.is_finite() && is_close
    })
}
