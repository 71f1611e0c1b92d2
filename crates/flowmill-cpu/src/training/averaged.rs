//! Update rules with averages and signs of gradients: `ApplyAdagradDA`, `ApplyAddSign`, `ApplyPowerSign`.

use super::step::{Real, Signature, dense, sparse};
use flowmill_runtime::{Kernel, KernelInit};
use flowmill_tensor::{DType, Result};
use std::sync::Arc;

/// Makes the kernel of `ApplyAdagradDA`, `SparseApplyAdagradDA`: the variable is determined by the sums of gradients and of their squares alone.
pub(super) fn adagrad_da<const ROWS: bool>(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    fn typed<A: Real>(init: &KernelInit<'_>, rows: bool) -> Result<Arc<dyn Kernel>> {
        let first = if rows { 5 } else { 4 };
        let signature = Signature {
            variables: ["var", "gradient_accumulator", "gradient_squared_accumulator"],
            scalars: [(first, "lr"), (first + 1, "l1"), (first + 2, "l2"), (first + 3, "global_step")],
            gradient: (3, "grad"),
        };
        let rule = |[lr, l1, l2, step]: [A; 4]| {
            move |[_, sum, squares]: [A; 3], g: A| {
                let (sum, squares) = (sum + g, squares + g * g);
                let zero = <A as num_traits::Zero>::zero();
                let kept = if l1 > zero { num_traits::Float::max(sum.abs() - l1 * step, zero) * sign(sum) } else { sum };
                [-lr * kept / (l2 * step * lr + squares.sqrt()), sum, squares]
            }
        };
        if rows { sparse(init, signature, rule) } else { dense(init, signature, rule) }
    }
    match init.dtype("T")? {
        DType::F64 => typed::<f64>(init, ROWS),
        DType::F16 | DType::BF16 | DType::F32 => typed::<f32>(init, ROWS),
        _ => init.unsupported(),
    }
}

/// Returns −1, 0 or 1, the sign of `x`.
fn sign<A: Real>(x: A) -> A {
    if x == <A as num_traits::Zero>::zero() { x } else { x.signum() }
}

/// Makes the kernel of `ApplyAddSign`, `ApplyPowerSign`: steps are larger if the gradient has the same sign as its moving average.
pub(super) fn sign_rule<const POWER: bool>(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    fn typed<A: Real>(init: &KernelInit<'_>, power: bool) -> Result<Arc<dyn Kernel>> {
        let signature = Signature {
            variables: ["var", "m"],
            scalars: [(2, "lr"), (3, if power { "logbase" } else { "alpha" }), (4, "sign_decay"), (5, "beta")],
            gradient: (6, "grad"),
        };
        dense(init, signature, move |[lr, base, decay, beta]: [A; 4]| {
            move |[var, m]: [A; 2], g: A| {
                let m = m * beta + g * (<A as num_traits::One>::one() - beta);
                let agreement = decay * (sign(g) * sign(m));
                let scale = if power { (base * agreement).exp() } else { base + agreement };
                [var - lr * scale * g, m]
            }
        })
    }
    match init.dtype("T")? {
        DType::F64 => typed::<f64>(init, POWER),
        DType::F16 | DType::BF16 | DType::F32 => typed::<f32>(init, POWER),
        _ => init.unsupported(),
    }
}
