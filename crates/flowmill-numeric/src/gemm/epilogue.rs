//! The epilogue of a product: bias, residual and activation, applied before the result is stored.

use super::finish::Finish;
use crate::simd::unary;

/// An element-wise function at the end of a product or convolution, as in TensorFlow's fused ops.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Activation {
    /// `x`.
    #[default]
    None,
    /// `max(x, 0)`; NaN stays NaN.
    Relu,
    /// `min(max(x, 0), 6)`; NaN stays NaN.
    Relu6,
    /// `x > 0 ? x : alpha * x`.
    LeakyRelu(f32),
    /// `x < 0 ? exp(x) - 1 : x`.
    Elu,
    /// `1 / (1 + exp(-x))`.
    Sigmoid,
    /// `tanh(x)`.
    Tanh,
    /// `x / 2 * (1 + erf(x / sqrt(2)))`.
    GeluExact,
    /// `x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3)))`.
    GeluApproximate,
    /// `x sigmoid(x)`.
    Silu,
    /// `min(max(x + 3, 0), 6) / 6`.
    HardSigmoid,
    /// `x min(max(x + 3, 0), 6) / 6`.
    HardSwish,
    /// `x tanh(ln(1 + e^x))`.
    Mish,
    /// `ln(1 + e^x)`.
    Softplus,
    /// `x < 0 ? scale alpha (e^x - 1) : scale x`.
    Selu,
}

impl Activation {
    /// Applies the function to every element of `x`. An element's result does not depend on the length of `x`.
    pub fn apply(self, x: &mut [f32]) {
        match self {
            Self::None => {}
            Self::Relu => unary::relu_in_place(x),
            Self::Relu6 => unary::relu6_in_place(x),
            Self::LeakyRelu(alpha) => unary::leaky_relu_in_place(x, alpha),
            Self::Elu => unary::elu_in_place(x),
            Self::Sigmoid => unary::sigmoid_in_place(x),
            Self::Tanh => unary::tanh_in_place(x),
            Self::GeluExact => unary::gelu_exact_in_place(x),
            Self::GeluApproximate => unary::gelu_approximate_in_place(x),
            Self::Silu => unary::silu_in_place(x),
            Self::HardSigmoid => unary::hard_sigmoid_in_place(x),
            Self::HardSwish => unary::hard_swish_in_place(x),
            Self::Mish => unary::mish_in_place(x),
            Self::Softplus => unary::softplus_in_place(x),
            Self::Selu => unary::selu_in_place(x),
        }
    }

    /// Returns the bounds of an activation that only clamps.
    pub(crate) fn clamp(self) -> (Option<f32>, Option<f32>) {
        match self {
            Self::Relu => (Some(0.0), None),
            Self::Relu6 => (Some(0.0), Some(6.0)),
            _ => (None, None),
        }
    }

    /// Returns true if the activation needs a pass of its own, because it is more than a clamp in registers.
    pub(crate) fn needs_pass(self) -> bool {
        !matches!(self, Self::None | Self::Relu | Self::Relu6)
    }
}

/// `C = activation(A B + bias + residual)`, or with `accumulate` `C = activation(C + A B + bias + residual)`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Epilogue<'a> {
    /// One value per column of C.
    pub bias: Option<&'a [f32]>,
    /// A matrix of the shape of C, and the distance between its rows.
    pub residual: Option<(&'a [f32], usize)>,
    /// The function applied last.
    pub activation: Activation,
    /// If true, the product is added to the contents of C instead of replacing them.
    pub accumulate: bool,
}

impl<'a> Epilogue<'a> {
    /// Returns an epilogue with only a bias and an activation.
    pub fn bias_activation(bias: Option<&'a [f32]>, activation: Activation) -> Self {
        Self { bias, activation, ..Self::default() }
    }

    /// Returns the epilogue of the rows of C from this one on.
    #[must_use]
    pub fn from_row(&self, first: usize) -> Self {
        Self { residual: self.residual.map(|(residual, ld)| (&residual[first * ld..], ld)), ..*self }
    }

    /// Applies the epilogue to sums that were computed without it: rows of `n` columns, from row `first` of the result on.
    ///
    /// # Panics
    /// If the bias or the residual is too short.
    pub fn apply(&self, first: usize, n: usize, c: &mut [f32]) {
        if n == 0 {
            return;
        }
        for (i, row) in c.chunks_exact_mut(n).enumerate() {
            if let Some(bias) = self.bias {
                row.iter_mut().zip(&bias[..n]).for_each(|(c, b)| *c += b);
            }
            if let Some((residual, ld)) = self.residual {
                row.iter_mut().zip(&residual[(first + i) * ld..][..n]).for_each(|(c, r)| *c += r);
            }
        }
        self.activation.apply(c);
    }

    /// Checks that the operands cover `m` rows of `n` columns, and returns the part that the tile kernels apply in registers.
    pub(crate) fn finish(&self, m: usize, n: usize) -> Option<Finish<f32>> {
        let (low, high) = self.activation.clamp();
        if let Some(bias) = self.bias {
            assert!(bias.len() >= n, "bias of {} values for {n} columns", bias.len());
        }
        if let Some((residual, ld)) = self.residual {
            super::check_matrix("residual", residual.len(), m, n, ld);
        }
        if self.bias.is_none() && self.residual.is_none() && low.is_none() {
            return None;
        }
        Some(Finish {
            bias: self.bias.map_or(std::ptr::null(), <[f32]>::as_ptr),
            residual: self.residual.map_or(std::ptr::null(), |(r, _)| r.as_ptr()),
            ld_residual: self.residual.map_or(0, |(_, ld)| ld),
            low,
            high,
        })
    }
}
