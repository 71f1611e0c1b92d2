//! The update rules of the optimisers. Each kernel is that of the op on references and of the one on resources.

use super::step::{Block, Real, Rule, Signature, dense, sparse};
use crate::number::Number;
use flowmill_runtime::{Kernel, KernelInit};
use flowmill_tensor::{DType, Result};
use num_traits::Float;
use std::sync::Arc;

/// Evaluates an expression with `$T` bound to the type in which rules for the node's `T` are computed.
macro_rules! by_type {
    ($init:ident, $T:ident => $body:expr) => {
        match $init.dtype("T")? {
            DType::F16 | DType::BF16 | DType::F32 => {
                type $T = f32;
                $body
            }
            DType::F64 => {
                type $T = f64;
                $body
            }
            _ => $init.unsupported(),
        }
    };
}

/// Returns a kernel for whole gradients, or for gradients of rows, whose indices are the input after the gradient.
fn step<const ROWS: bool, A: Real, R, const V: usize, const S: usize>(
    init: &KernelInit<'_>,
    signature: Signature<V, S>,
    prepare: impl Fn([A; S]) -> R + Send + Sync + 'static,
) -> Result<Arc<dyn Kernel>>
where
    R: Fn([A; V], A) -> [A; V] + Sync,
{
    step_by::<ROWS, A, R, V, S>(init, signature, prepare)
}

/// Like [`step`], for a rule that is not a function of an element.
fn step_by<const ROWS: bool, A: Real, R: Rule<A, V>, const V: usize, const S: usize>(
    init: &KernelInit<'_>,
    signature: Signature<V, S>,
    prepare: impl Fn([A; S]) -> R + Send + Sync + 'static,
) -> Result<Arc<dyn Kernel>> {
    if ROWS { sparse(init, signature, prepare) } else { dense(init, signature, prepare) }
}

fn square<F: Float>(x: F) -> F {
    x * x
}

/// Makes the kernel of `ApplyGradientDescent`: `var -= alpha delta`.
pub(super) fn gradient_descent(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let signature = Signature { variables: ["var"], scalars: [(1, "alpha")], gradient: (2, "delta") };
    by_type!(init, T => step::<false, T, _, 1, 1>(init, signature, |[alpha]| move |[var], g| [var - alpha * g]))
}

/// Makes the kernel of `ApplyProximalGradientDescent`, `SparseApplyProximalGradientDescent`: a gradient step, then shrinkage towards zero by `l1` and `l2`.
pub(super) fn proximal_gradient_descent<const ROWS: bool>(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let signature = Signature { variables: ["var"], scalars: [(1, "alpha"), (2, "l1"), (3, "l2")], gradient: (4, "delta") };
    by_type!(init, T => step::<ROWS, T, _, 1, 3>(init, signature, |[alpha, l1, l2]| move |[var], g| {
        let (step, zero) = (var - alpha * g, <T as Number>::ZERO);
        let shrunk = if l1 > zero { Float::max(step.abs() - alpha * l1, zero).copysign(step) } else { step };
        [shrunk / (1.0 + alpha * l2)]
    }))
}

/// The variant of momentum.
#[derive(Clone, Copy)]
struct Momentum {
    nesterov: bool,
    /// If true, the accumulator holds steps (Keras) instead of gradients.
    keras: bool,
}

fn momentum_rule<F: Float>(kind: Momentum, [lr, momentum]: [F; 2]) -> impl Fn([F; 2], F) -> [F; 2] {
    move |[var, accum], g| {
        if kind.keras {
            let accum = accum * momentum - lr * g;
            return [if kind.nesterov { var + (accum * momentum - lr * g) } else { var + accum }, accum];
        }
        let accum = accum * momentum + g;
        [if kind.nesterov { var - (g * lr + accum * momentum * lr) } else { var - accum * lr }, accum]
    }
}

const MOMENTUM: Signature<2, 2> = Signature { variables: ["var", "accum"], scalars: [(2, "lr"), (4, "momentum")], gradient: (3, "grad") };

fn momentum_of(init: &KernelInit<'_>, keras: bool) -> Result<Momentum> {
    Ok(Momentum { nesterov: init.attrs.get_or("use_nesterov", false)?, keras })
}

/// Makes the kernel of `ApplyMomentum`.
pub(super) fn momentum(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let kind = momentum_of(init, false)?;
    by_type!(init, T => step::<false, T, _, 2, 2>(init, MOMENTUM, move |scalars| momentum_rule(kind, scalars)))
}

/// Makes the kernel of `ResourceApplyKerasMomentum`.
pub(super) fn keras_momentum(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let kind = momentum_of(init, true)?;
    by_type!(init, T => step::<false, T, _, 2, 2>(init, MOMENTUM, move |scalars| momentum_rule(kind, scalars)))
}

/// Makes the kernel of `SparseApplyMomentum`.
pub(super) fn sparse_momentum(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    sparse_momentum_of(init, false)
}

/// Makes the kernel of `ResourceSparseApplyKerasMomentum`.
pub(super) fn sparse_keras_momentum(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    sparse_momentum_of(init, true)
}

fn sparse_momentum_of(init: &KernelInit<'_>, keras: bool) -> Result<Arc<dyn Kernel>> {
    let kind = momentum_of(init, keras)?;
    let signature = Signature { scalars: [(2, "lr"), (5, "momentum")], ..MOMENTUM };
    by_type!(init, T => step::<true, T, _, 2, 2>(init, signature, move |scalars| momentum_rule(kind, scalars)))
}

fn adagrad_rule<F: Float>(update_slots: bool, lr: F, epsilon: F) -> impl Fn([F; 2], F) -> [F; 2] {
    move |[var, accum], g| {
        let accum = if update_slots { accum + square(g) } else { accum };
        [var - lr * g / (accum.sqrt() + epsilon), accum]
    }
}

const ADAGRAD: Signature<2, 1> = Signature { variables: ["var", "accum"], scalars: [(2, "lr")], gradient: (3, "grad") };
const ADAGRAD_V2: Signature<2, 2> = Signature { variables: ["var", "accum"], scalars: [(2, "lr"), (3, "epsilon")], gradient: (4, "grad") };

/// Makes the kernel of `ApplyAdagrad`.
pub(super) fn adagrad(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let slots = init.attrs.get_or("update_slots", true)?;
    by_type!(init, T => step::<false, T, _, 2, 1>(init, ADAGRAD, move |[lr]| adagrad_rule(slots, lr, Number::ZERO)))
}

/// Makes the kernel of `ApplyAdagradV2`.
pub(super) fn adagrad_v2(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let slots = init.attrs.get_or("update_slots", true)?;
    by_type!(init, T => step::<false, T, _, 2, 2>(init, ADAGRAD_V2, move |[lr, epsilon]| adagrad_rule(slots, lr, epsilon)))
}

/// Makes the kernel of `SparseApplyAdagrad`.
pub(super) fn sparse_adagrad(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let slots = init.attrs.get_or("update_slots", true)?;
    by_type!(init, T => step::<true, T, _, 2, 1>(init, ADAGRAD, move |[lr]| adagrad_rule(slots, lr, Number::ZERO)))
}

/// Makes the kernel of `SparseApplyAdagradV2`.
pub(super) fn sparse_adagrad_v2(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let slots = init.attrs.get_or("update_slots", true)?;
    by_type!(init, T => step::<true, T, _, 2, 2>(init, ADAGRAD_V2, move |[lr, epsilon]| adagrad_rule(slots, lr, epsilon)))
}

/// Makes the kernel of `ApplyProximalAdagrad`, `SparseApplyProximalAdagrad`: Adagrad's step, then shrinkage towards zero by `l1` and `l2`.
pub(super) fn proximal_adagrad<const ROWS: bool>(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let signature = Signature { variables: ["var", "accum"], scalars: [(2, "lr"), (3, "l1"), (4, "l2")], gradient: (5, "grad") };
    by_type!(init, T => step::<ROWS, T, _, 2, 3>(init, signature, |[lr, l1, l2]| move |[var, accum], g| {
        let accum = accum + square(g);
        let (rate, zero) = (lr / accum.sqrt(), <T as Number>::ZERO);
        let step = var - rate * g;
        let shrunk = if l1 > zero { Float::max(step.abs() - rate * l1, zero).copysign(step) } else { step };
        [shrunk / (1.0 + rate * l2), accum]
    }))
}

/// Makes the kernel of `ApplyAdadelta`, `SparseApplyAdadelta`.
pub(super) fn adadelta<const ROWS: bool>(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let signature =
        Signature { variables: ["var", "accum", "accum_update"], scalars: [(3, "lr"), (4, "rho"), (5, "epsilon")], gradient: (6, "grad") };
    by_type!(init, T => step::<ROWS, T, _, 3, 3>(init, signature, |[lr, rho, epsilon]| move |[var, accum, accum_update], g| {
        let accum = accum * rho + square(g) * (1.0 - rho);
        let update = (accum_update + epsilon).sqrt() / (accum + epsilon).sqrt() * g;
        [var - lr * update, accum, accum_update * rho + square(update) * (1.0 - rho)]
    }))
}

/// Makes the kernel of `ApplyAdam`.
pub(super) fn adam(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let nesterov = init.attrs.get_or("use_nesterov", false)?;
    let signature = Signature {
        variables: ["var", "m", "v"],
        scalars: [(3, "beta1_power"), (4, "beta2_power"), (5, "lr"), (6, "beta1"), (7, "beta2"), (8, "epsilon")],
        gradient: (9, "grad"),
    };
    by_type!(init, T => step::<false, T, _, 3, 6>(init, signature, move |[beta1_power, beta2_power, lr, beta1, beta2, epsilon]| {
        let alpha = lr * (1.0 - beta2_power).sqrt() / (1.0 - beta1_power);
        move |[var, m, v], g| {
            let (m, v) = (m + (g - m) * (1.0 - beta1), v + (square(g) - v) * (1.0 - beta2));
            let direction = if nesterov { g * (1.0 - beta1) + beta1 * m } else { m };
            [var - alpha * direction / (v.sqrt() + epsilon), m, v]
        }
    }))
}

/// Makes the kernel of `ResourceApplyAdamWithAmsgrad`: Adam with the greatest second moment so far.
pub(super) fn amsgrad(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let signature = Signature {
        variables: ["var", "m", "v", "vhat"],
        scalars: [(4, "beta1_power"), (5, "beta2_power"), (6, "lr"), (7, "beta1"), (8, "beta2"), (9, "epsilon")],
        gradient: (10, "grad"),
    };
    by_type!(init, T => step::<false, T, _, 4, 6>(init, signature, |[beta1_power, beta2_power, lr, beta1, beta2, epsilon]| {
        let alpha = lr * (1.0 - beta2_power).sqrt() / (1.0 - beta1_power);
        move |[var, m, v, greatest], g| {
            let (m, v) = (m + (g - m) * (1.0 - beta1), v + (square(g) - v) * (1.0 - beta2));
            let greatest = Float::max(greatest, v);
            [var - alpha * m / (greatest.sqrt() + epsilon), m, v, greatest]
        }
    }))
}

/// Makes the kernel of `ApplyAdaMax`.
pub(super) fn adamax(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let signature = Signature {
        variables: ["var", "m", "v"],
        scalars: [(3, "beta1_power"), (4, "lr"), (5, "beta1"), (6, "beta2"), (7, "epsilon")],
        gradient: (8, "grad"),
    };
    by_type!(init, T => step::<false, T, _, 3, 5>(init, signature, |[beta1_power, lr, beta1, beta2, epsilon]| move |[var, m, v], g| {
        let (m, v) = (m + (g - m) * (1.0 - beta1), Float::max(beta2 * v, g.abs()));
        [var - lr / (1.0 - beta1_power) * (m / (v + epsilon)), m, v]
    }))
}

/// Makes the kernel of `ApplyRMSProp`, `SparseApplyRMSProp`.
pub(super) fn rms_prop<const ROWS: bool>(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let signature = Signature {
        variables: ["var", "ms", "mom"],
        scalars: [(3, "lr"), (4, "rho"), (5, "momentum"), (6, "epsilon")],
        gradient: (7, "grad"),
    };
    by_type!(init, T => step::<ROWS, T, _, 3, 4>(init, signature, |[lr, rho, momentum, epsilon]| move |[var, ms, mom], g| {
        let ms = ms + (square(g) - ms) * (1.0 - rho);
        let mom = mom * momentum + lr * g / (ms + epsilon).sqrt();
        [var - mom, ms, mom]
    }))
}

/// Makes the kernel of `ApplyCenteredRMSProp`, `SparseApplyCenteredRMSProp`.
pub(super) fn centered_rms_prop<const ROWS: bool>(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let signature = Signature {
        variables: ["var", "mg", "ms", "mom"],
        scalars: [(4, "lr"), (5, "rho"), (6, "momentum"), (7, "epsilon")],
        gradient: (8, "grad"),
    };
    by_type!(init, T => step::<ROWS, T, _, 4, 4>(init, signature, |[lr, rho, momentum, epsilon]| move |[var, mg, ms, mom], g| {
        let (ms, mg) = (ms + (square(g) - ms) * (1.0 - rho), mg + (g - mg) * (1.0 - rho));
        let mom = mom * momentum + lr * g / (ms - square(mg) + epsilon).sqrt();
        [var - mom, mg, ms, mom]
    }))
}

/// The hyperparameters of follow-the-regularised-leader.
struct Ftrl<F> {
    lr: F,
    l1: F,
    l2: F,
    shrinkage: F,
    lr_power: F,
    /// If true, `linear` is stored multiplied by the learning rate.
    multiply_linear_by_lr: bool,
}

impl<F: Real> Rule<F, 3> for Ftrl<F> {
    fn update_block(&self, block: &mut Block<F, 3>, n: usize) {
        // The usual power, apart from the others because a call of `powf` keeps the loop around it from being vectorised.
        if self.lr_power == -F::one() / (F::one() + F::one()) {
            block.update(n, &|values, g| self.update(values, g, F::sqrt));
        } else {
            block.update(n, &|values, g| self.update(values, g, |accum| accum.powf(-self.lr_power)));
        }
    }
}

impl<F: Float> Ftrl<F> {
    /// Updates the elements of the variable, of the accumulator and of `linear`. `power` returns `accum` to the power of `-lr_power`.
    #[inline(always)]
    fn update(&self, [var, accum, linear]: [F; 3], g: F, power: impl Fn(F) -> F) -> [F; 3] {
        let two = F::one() + F::one();
        let shrunk = g + two * self.shrinkage * var;
        let new_accum = accum + square(g);
        let new_power = power(new_accum);
        let sigma = new_power - power(accum);
        let (linear, l1, quadratic) = if self.multiply_linear_by_lr {
            (linear + shrunk * self.lr - sigma * var, self.l1 * self.lr, new_power + two * self.l2 * self.lr)
        } else {
            (linear + shrunk - sigma / self.lr * var, self.l1, new_power / self.lr + two * self.l2)
        };
        let moved = (l1.copysign(linear) - linear) / quadratic;
        let var = if linear.abs() > l1 { moved } else { F::zero() };
        [var, new_accum, linear]
    }
}

/// Makes the kernel of `ApplyFtrl`, `SparseApplyFtrl`.
pub(super) fn ftrl<const ROWS: bool>(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let multiply_linear_by_lr = init.attrs.get_or("multiply_linear_by_lr", false)?;
    // The input with the row indices precedes these inputs.
    let first = 4 + usize::from(ROWS);
    let signature = Signature {
        variables: ["var", "accum", "linear"],
        scalars: [(first, "lr"), (first + 1, "l1"), (first + 2, "l2"), (first + 3, "lr_power")],
        gradient: (3, "grad"),
    };
    by_type!(init, T => step_by::<ROWS, T, _, 3, 4>(init, signature, move |[lr, l1, l2, lr_power]| {
        Ftrl { lr, l1, l2, shrinkage: Number::ZERO, lr_power, multiply_linear_by_lr }
    }))
}

/// Makes the kernel of `ApplyFtrlV2`, `SparseApplyFtrlV2`, with shrinkage.
pub(super) fn ftrl_v2<const ROWS: bool>(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let multiply_linear_by_lr = init.attrs.get_or("multiply_linear_by_lr", false)?;
    // The input with the row indices precedes these inputs.
    let first = 4 + usize::from(ROWS);
    let signature = Signature {
        variables: ["var", "accum", "linear"],
        scalars: [(first, "lr"), (first + 1, "l1"), (first + 2, "l2"), (first + 3, "l2_shrinkage"), (first + 4, "lr_power")],
        gradient: (3, "grad"),
    };
    by_type!(init, T => step_by::<ROWS, T, _, 3, 5>(init, signature, move |[lr, l1, l2, shrinkage, lr_power]| {
        Ftrl { lr, l1, l2, shrinkage, lr_power, multiply_linear_by_lr }
    }))
}
