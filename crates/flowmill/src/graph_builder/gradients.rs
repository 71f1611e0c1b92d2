//! Derivatives of tensors of a builder.

use super::function::Graphs;
use super::{GraphBuilder, Output};
use crate::Result;
use crate::builder::gradients::{Grad, GradientOptions, add_stack_gradients};
use flowmill_tensor::bail;

/// The tensors to differentiate: one output or several.
pub trait Ys<'b> {
    /// Returns the tensors.
    fn ys(self) -> Vec<Output<'b>>;
}

impl<'b> Ys<'b> for Output<'b> {
    fn ys(self) -> Vec<Output<'b>> {
        vec![self]
    }
}

impl<'b> Ys<'b> for &[Output<'b>] {
    fn ys(self) -> Vec<Output<'b>> {
        self.to_vec()
    }
}

impl<'b, const N: usize> Ys<'b> for [Output<'b>; N] {
    fn ys(self) -> Vec<Output<'b>> {
        self.to_vec()
    }
}

impl GraphBuilder {
    /// Adds the derivatives of the sum of `ys` with respect to each of `xs`. A sparse gradient becomes a dense one.
    ///
    /// In the body of a function the `xs` may be tensors of the graphs around it, see [`GraphBuilder::function`].
    ///
    /// ```
    /// use flowmill::prelude::*;
    ///
    /// # fn main() -> flowmill::Result<()> {
    /// let b = GraphBuilder::new()?;
    /// let x = b.constant(3.0f32)?;
    /// let [slope] = b.gradients(x * x, [x])?;
    /// let session = b.session(SessionOptions::default())?;
    /// assert_eq!(session.runner().fetch(slope)?.to_scalar::<f32>()?, 6.0);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// `InvalidArgument` if the `ys` do not depend on one of the `xs`; `NotFound` for an op that has no gradient.
    pub fn gradients<'b, const N: usize>(&'b self, ys: impl Ys<'b>, xs: [Output<'b>; N]) -> Result<[Output<'b>; N]> {
        let grads = self.gradients_with(ys, &xs, &[], &GradientOptions::default())?;
        let mut dense = Vec::with_capacity(N);
        for (x, grad) in xs.iter().zip(grads) {
            match grad {
                Some(grad) => dense.push(self.scoped(|b| b.densify(&grad))?),
                None => bail!(InvalidArgument, "the tensors do not depend on '{}', so it has no gradient", x.name()?),
            }
        }
        self.array(dense)
    }

    /// Like [`GraphBuilder::gradients`], with weights and options, and with sparse gradients as they are; `None` for an x on which the `ys` do not
    /// depend.
    ///
    /// `grad_ys` are the weights of the `ys`, one for each or none at all; `None` means ones.
    ///
    /// # Errors
    /// `InvalidArgument` for weights that do not fit; `NotFound` for an op that has no gradient.
    pub fn gradients_with<'b>(
        &'b self,
        ys: impl Ys<'b>,
        xs: &[Output<'b>],
        grad_ys: &[Option<Output<'b>>],
        options: &GradientOptions,
    ) -> Result<Vec<Option<Grad>>> {
        let ys = self.ids(ys.ys())?;
        let xs = xs.iter().map(|&x| self.place(x)).collect::<Result<Vec<_>>>()?;
        let grad_ys = grad_ys.iter().map(|weight| weight.map(|w| self.resolve(w)).transpose()).collect::<Result<Vec<_>>>()?;
        add_stack_gradients(&mut Graphs(self), &self.scope(), &ys, &xs, &grad_ys, options)
    }
}
