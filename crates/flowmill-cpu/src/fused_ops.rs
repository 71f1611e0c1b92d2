//! The attribute `fused_ops` of products and convolutions: the functions that the kernel applies before it stores its result.

use crate::gemm::{Activation, Epilogue};
use flowmill_graph::ElementwiseFunction;
use flowmill_runtime::{KernelContext, KernelInit};
use flowmill_tensor::{Result, Shape, Tensor, bail};

/// The start of each sum of products.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Start {
    #[default]
    Zero,
    /// An element of a tensor of the result's shape.
    Tensor,
    /// The sum of the products of a part of the row that lies to the left of A, which may be computed already.
    Part,
}

/// The functions of a fused node, in the order in which they are applied.
#[derive(Clone, Copy, Default)]
pub(crate) struct FusedOps {
    pub(crate) start: Start,
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
    /// Returns `Unimplemented` for another list, and for names of other functions.
    pub(crate) fn new(init: &KernelInit<'_>) -> Result<FusedOps> {
        FusedOps::of_list("fused_ops", init)
    }

    /// Like [`FusedOps::new`], for the attribute of this name.
    pub(crate) fn of_list(attr: &str, init: &KernelInit<'_>) -> Result<FusedOps> {
        FusedOps::of(&init.attrs.list(attr)?, init)
    }

    fn of(names: &[&str], init: &KernelInit<'_>) -> Result<FusedOps> {
        let mut fused = FusedOps::default();
        let functions = names.iter().map(|name| name.parse()).collect::<Result<Vec<ElementwiseFunction>>>()?;
        for (i, &function) in functions.iter().enumerate() {
            match (function, activation(function)) {
                (ElementwiseFunction::BiasAdd, _) if i == 0 => fused.bias = true,
                (ElementwiseFunction::Add, _) if !fused.residual => fused.residual = true,
                (_, Some(Activation::LeakyRelu(alpha))) if i + 1 == functions.len() => {
                    fused.activation = Activation::LeakyRelu(init.attrs.get_or("leakyrelu_alpha", alpha)?);
                }
                (_, Some(activation)) if i + 1 == functions.len() => fused.activation = activation,
                _ => bail!(Unimplemented, "Fusion is not implemented: [{}]", names.join(",")),
            }
        }
        Ok(fused)
    }

    /// Like [`FusedOps::new`], for a product, whose list may begin with `Accumulate` or `AccumulatePart`.
    pub(crate) fn of_product(init: &KernelInit<'_>) -> Result<FusedOps> {
        let names: Vec<&str> = init.attrs.list("fused_ops")?;
        let (start, names) = match &names[..] {
            [first, others @ ..] if *first == ElementwiseFunction::Accumulate.name() => (Start::Tensor, others),
            [first, others @ ..] if *first == ElementwiseFunction::AccumulatePart.name() => (Start::Part, others),
            names => (Start::Zero, names),
        };
        Ok(FusedOps { start, ..FusedOps::of(names, init)? })
    }

    /// Takes the bias and the residual of a convolution whose result has this shape; they follow the image and the filter.
    ///
    /// # Errors
    /// Returns `InvalidArgument` for another number of biases than channels, and for a residual of another shape.
    pub(crate) fn args(&self, ctx: &mut KernelContext<'_>, shape: &Shape) -> Result<EpilogueArgs> {
        let bias = if self.bias { Some(ctx.take(2)?) } else { None };
        let residual = if self.residual { Some(ctx.take(self.residual_input())?) } else { None };
        if let Some(bias) = bias.as_ref().filter(|bias| Some(&bias.num_elements()) != shape.last()) {
            bail!(InvalidArgument, "Must provide as many biases as the last dimension of the input tensor: {} vs. {shape}", bias.shape());
        }
        if let Some(residual) = residual.as_ref().filter(|residual| residual.shape() != shape) {
            bail!(InvalidArgument, "Incompatible shapes: {shape} vs. {}", residual.shape());
        }
        Ok(EpilogueArgs { bias, residual, activation: self.activation })
    }

    fn residual_input(&self) -> usize {
        2 + usize::from(self.bias)
    }

    /// Returns the inputs of a convolution that have a batch dimension, one bit each: the image and the residual.
    pub(crate) fn batched_inputs(&self) -> u32 {
        if self.residual { 1 | 1 << self.residual_input() } else { 1 }
    }

    /// Returns true if `function` can be an element of `fused_ops` of a product.
    pub(crate) fn can_be_of_product(function: ElementwiseFunction) -> bool {
        matches!(function, ElementwiseFunction::Accumulate | ElementwiseFunction::AccumulatePart) || Self::can_be(function)
    }

    /// Returns true if `function` can be an element of `fused_ops`.
    pub(crate) fn can_be(function: ElementwiseFunction) -> bool {
        function == ElementwiseFunction::Add || Self::can_be_without_residual(function)
    }

    /// Returns true if `function` can be an element of `fused_ops` of an op that takes no residual.
    pub(crate) fn can_be_without_residual(function: ElementwiseFunction) -> bool {
        function == ElementwiseFunction::BiasAdd || activation(function).is_some()
    }
}

/// The operands of the functions that a convolution applies to its sums.
pub(crate) struct EpilogueArgs {
    bias: Option<Tensor>,
    residual: Option<Tensor>,
    activation: Activation,
}

impl EpilogueArgs {
    /// Returns the epilogue for rows of `channels` elements.
    pub(crate) fn epilogue(&self, channels: usize) -> Result<Epilogue<'_>> {
        Ok(Epilogue {
            bias: self.bias.as_ref().map(|bias| bias.as_slice()).transpose()?,
            residual: self.residual.as_ref().map(|residual| Ok((residual.as_slice()?, channels))).transpose()?,
            activation: self.activation,
            accumulate: false,
        })
    }
}

/// Returns the activation that computes `function`. `LeakyRelu` has its default slope.
fn activation(function: ElementwiseFunction) -> Option<Activation> {
    Some(match function {
        ElementwiseFunction::Relu => Activation::Relu,
        ElementwiseFunction::Relu6 => Activation::Relu6,
        ElementwiseFunction::LeakyRelu => Activation::LeakyRelu(0.2),
        ElementwiseFunction::Elu => Activation::Elu,
        ElementwiseFunction::Tanh => Activation::Tanh,
        ElementwiseFunction::Sigmoid => Activation::Sigmoid,
        ElementwiseFunction::GeluExact => Activation::GeluExact,
        ElementwiseFunction::GeluApproximate => Activation::GeluApproximate,
        ElementwiseFunction::Silu => Activation::Silu,
        ElementwiseFunction::HardSigmoid => Activation::HardSigmoid,
        ElementwiseFunction::HardSwish => Activation::HardSwish,
        ElementwiseFunction::Mish => Activation::Mish,
        ElementwiseFunction::Softplus => Activation::Softplus,
        ElementwiseFunction::Selu => Activation::Selu,
        _ => return None,
    })
}
