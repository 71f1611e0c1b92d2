//! The attribute `fused_ops` of products and convolutions: the functions that the kernel applies before it stores its result.

use crate::gemm::Activation;
use flowmill_runtime::KernelInit;
use flowmill_tensor::{Result, bail};

/// The functions of a fused node, in the order in which they are applied.
#[derive(Clone, Copy, Default)]
pub(crate) struct FusedOps {
    /// A vector is added along the last dimension.
    pub(crate) bias: bool,
    /// A tensor of the result's shape is added.
    pub(crate) residual: bool,
    pub(crate) activation: Activation,
}

impl FusedOps {
    /// Reads `fused_ops`, where `BiasAdd` comes first, `Add` of a residual is second, and an activation is last. Each is optional.
    ///
    /// # Errors
    /// Returns `Unimplemented` for another list.
    pub(crate) fn new(init: &KernelInit<'_>) -> Result<FusedOps> {
        let mut fused = FusedOps::default();
        let ops: Vec<&str> = init.attrs.list("fused_ops")?;
        for (i, op) in ops.iter().enumerate() {
            match *op {
                "BiasAdd" if i == 0 => fused.bias = true,
                "Add" if !fused.residual => fused.residual = true,
                name if i + 1 == ops.len() => match activation(name) {
                    Some(Activation::LeakyRelu(alpha)) => {
                        fused.activation = Activation::LeakyRelu(init.attrs.get_or("leakyrelu_alpha", alpha)?);
                    }
                    Some(activation) => fused.activation = activation,
                    None => bail!(Unimplemented, "Fusion is not implemented: [{}]", ops.join(",")),
                },
                _ => bail!(Unimplemented, "Fusion is not implemented: [{}]", ops.join(",")),
            }
        }
        Ok(fused)
    }

    /// Returns true if `function` can be an element of `fused_ops`.
    pub(crate) fn can_be(function: &str) -> bool {
        function == "Add" || Self::can_be_without_residual(function)
    }

    /// Returns true if `function` can be an element of `fused_ops` of an op that takes no residual.
    pub(crate) fn can_be_without_residual(function: &str) -> bool {
        function == "BiasAdd" || activation(function).is_some()
    }
}

/// Returns the activation of this name. `LeakyRelu` has its default slope.
fn activation(name: &str) -> Option<Activation> {
    Some(match name {
        "Relu" => Activation::Relu,
        "Relu6" => Activation::Relu6,
        "LeakyRelu" => Activation::LeakyRelu(0.2),
        "Elu" => Activation::Elu,
        "Tanh" => Activation::Tanh,
        "Sigmoid" => Activation::Sigmoid,
        "GeluExact" => Activation::GeluExact,
        "GeluApproximate" => Activation::GeluApproximate,
        _ => return None,
    })
}
