//! The loss functions: the distance of a prediction from its label, and the best dual variable of an example while the others are fixed.
//!
//! `pull` is the squared norm of an example, divided by the regularisation, times its weight and the number of partitions.

use flowmill_tensor::{Result, bail};

/// The number of steps of Newton's method, which converges quadratically.
const NEWTON_STEPS: usize = 10;

/// A loss function.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Loss {
    Logistic,
    Squared,
    Hinge,
    /// The hinge loss, smoothed by a parabola of width 1 at its corner.
    SmoothHinge,
    Poisson,
}

use Loss::*;

impl Loss {
    /// Returns the loss of this name.
    pub(super) fn of(name: &str) -> Result<Loss> {
        Ok(match name {
            "logistic_loss" => Logistic,
            "squared_loss" => Squared,
            "hinge_loss" => Hinge,
            "smooth_hinge_loss" => SmoothHinge,
            "poisson_loss" => Poisson,
            other => bail!(InvalidArgument, "Unsupported loss type: {other}"),
        })
    }

    /// Returns the label in the range that the loss needs: classes 0 and 1 become −1 and 1.
    pub(super) fn label(self, label: f32) -> Result<f32> {
        match self {
            Squared => Ok(label),
            Poisson if label < 0.0 => {
                bail!(InvalidArgument, "Only non-negative labels can be used with the Poisson log loss. Found example with label: {label}")
            }
            Poisson => Ok(label),
            _ if label == 0.0 => Ok(-1.0),
            _ if label == 1.0 => Ok(1.0),
            _ => bail!(InvalidArgument, "Only labels of 0.0 or 1.0 are supported right now. Found example with label: {label}"),
        }
    }

    /// Returns the best dual variable while the others are fixed.
    pub(super) fn updated_dual(self, label: f64, dual: f64, sum: f64, pull: f64) -> f64 {
        match self {
            Logistic => {
                let mut x = 0f64;
                for _ in 0..NEWTON_STEPS {
                    let tanh = x.tanh();
                    let value = -2.0 * label * x - sum - pull * (0.5 * (1.0 + tanh) / label - dual);
                    let slope = -2.0 * label - pull * (1.0 - tanh * tanh) * 0.5 / label;
                    x -= value / slope;
                }
                0.5 * (1.0 + x.tanh()) / label
            }
            Squared => dual + (label - dual - sum) / (1.0 + pull),
            Hinge => clamped(dual + (label - sum) / pull, label),
            SmoothHinge => clamped(dual + (label - sum - dual) / (pull + 1.0), label),
            Poisson => {
                let rest = label - dual;
                let mut x = if rest > 0.0 { rest.ln() } else { 0.0 };
                for _ in 0..NEWTON_STEPS {
                    let exp = x.exp();
                    x -= (x - sum - pull * (label - dual - exp)) / (1.0 + pull * exp);
                }
                label - x.exp()
            }
        }
    }

    /// Returns the loss of a prediction.
    pub(super) fn primal(self, sum: f64, label: f64, weight: f64) -> f64 {
        let margin = label * sum;
        match self {
            Logistic if margin > 0.0 => (-margin).exp().ln_1p() * weight,
            Logistic => (margin.exp().ln_1p() - margin) * weight,
            Squared => (sum - label) * (sum - label) * weight * 0.5,
            Hinge => (1.0 - margin).max(0.0) * weight,
            SmoothHinge if margin >= 1.0 => 0.0,
            SmoothHinge if margin <= 0.0 => (0.5 - margin) * weight,
            SmoothHinge => (1.0 - margin) * (1.0 - margin) * weight * 0.5,
            Poisson => (sum.exp() - sum * label) * weight,
        }
    }

    /// Returns the convex conjugate of the loss.
    pub(super) fn dual(self, dual: f64, label: f64, weight: f64) -> f64 {
        let product = dual * label;
        match self {
            Logistic => {
                let ln = |x: f64| if x > 0.0 { x.ln() } else { 0.0 };
                (product * ln(product) + (1.0 - product) * ln(1.0 - product)) * weight
            }
            Squared => dual * (0.5 * dual - label) * weight,
            Hinge | SmoothHinge if !(0.0..=1.0).contains(&product) => f64::MAX,
            Hinge => -product * weight,
            SmoothHinge => (-product + 0.5 * dual * dual) * weight,
            Poisson => match label - dual {
                0.0 => 0.0,
                rest if rest < 0.0 => f64::MAX,
                rest => rest * (rest.ln() - 1.0) * weight,
            },
        }
    }

    /// Returns the slope of the loss at a prediction.
    pub(super) fn primal_derivative(self, sum: f64, label: f64) -> f64 {
        let margin = label * sum;
        match self {
            Logistic if margin > 0.0 => -label * (-margin).exp() / (1.0 + (-margin).exp()),
            Logistic => -label / (1.0 + margin.exp()),
            Squared => sum - label,
            Hinge if margin < 1.0 => -label,
            Hinge => 0.0,
            SmoothHinge if margin >= 1.0 => 0.0,
            SmoothHinge if margin <= 0.0 => -label,
            SmoothHinge => sum - label,
            Poisson => sum.exp() - label,
        }
    }

    /// Returns the inverse of the greatest rate of change of the slope, or 0 if the slope is not continuous.
    pub(super) fn smoothness(self) -> f64 {
        match self {
            Logistic => 4.0,
            Hinge => 0.0,
            Squared | SmoothHinge | Poisson => 1.0,
        }
    }
}

/// Returns the dual variable, clamped between 0 and the label.
fn clamped(dual: f64, label: f64) -> f64 {
    match label * dual {
        product if product < 0.0 => 0.0,
        product if product > 1.0 => label,
        _ => dual,
    }
}
