//! Conditionals and loops whose branches and bodies are closures.

use super::{GraphBuilder, Output};
use crate::builder::{Branch, CondBuilder, WhileBuilder, WhileOptions};
use crate::{OutputId, Result};
use flowmill_tensor::error;

impl GraphBuilder {
    /// Adds a conditional: the results of `then_fn` if `pred` is true when the graph runs, those of `else_fn` otherwise. Only the branch taken runs.
    ///
    /// ```
    /// use flowmill::prelude::*;
    ///
    /// # fn main() -> flowmill::Result<()> {
    /// let b = GraphBuilder::new()?;
    /// let x = b.node().name("x").placeholder(DType::F32, [])?;
    /// let [y] = b.cond(b.less(x, 0.0)?, || Ok([-x]), || Ok([x * x]))?;
    /// let session = b.session(SessionOptions::default())?;
    /// assert_eq!(session.runner().feed(x, Tensor::scalar(-2.0f32)).fetch(y)?.to_scalar::<f32>()?, 2.0);
    /// assert_eq!(session.runner().feed(x, Tensor::scalar(3.0f32)).fetch(y)?.to_scalar::<f32>()?, 9.0);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// `InvalidArgument` if `pred` is no boolean or the results of the branches differ in type; the errors of the closures.
    pub fn cond<'b, const N: usize>(
        &'b self,
        pred: Output<'b>,
        then_fn: impl FnOnce() -> Result<[Output<'b>; N]>,
        else_fn: impl FnOnce() -> Result<[Output<'b>; N]>,
    ) -> Result<[Output<'b>; N]> {
        let pred = self.resolve(pred)?;
        self.name_scope("cond", || {
            let mut cond = self.scoped(|b| CondBuilder::begin(b, pred))?;
            self.branch(&mut cond, Branch::True, then_fn)?;
            self.branch(&mut cond, Branch::False, else_fn)?;
            self.array(self.scoped(|b| cond.finish(b))?)
        })
    }

    fn branch<'b, const N: usize>(
        &'b self,
        cond: &mut CondBuilder,
        branch: Branch,
        f: impl FnOnce() -> Result<[Output<'b>; N]>,
    ) -> Result<()> {
        self.scoped(|b| cond.open(b, branch))?;
        let results = f().and_then(|results| self.ids(results));
        self.scoped(|b| cond.close(b, results))
    }

    /// Adds a loop: `body` runs on the variables as long as `cond` is true. Returns the variables' last values.
    ///
    /// ```
    /// use flowmill::prelude::*;
    ///
    /// # fn main() -> flowmill::Result<()> {
    /// let b = GraphBuilder::new()?;
    /// let n = b.node().name("n").placeholder(DType::I32, [])?;
    /// let start = [b.constant(0i32)?, b.constant(1i32)?];
    /// let [_, factorial] = b.while_loop(start, |[i, _]| b.less(i, n), |[i, product]| Ok([i + 1, product * (i + 1)]))?;
    /// let session = b.session(SessionOptions::default())?;
    /// assert_eq!(session.runner().feed(n, Tensor::scalar(5i32)).fetch(factorial)?.to_scalar::<i32>()?, 120);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// `InvalidArgument` if the condition is no boolean, or if the body changes a variable's type or shape; the errors of the closures.
    pub fn while_loop<'b, const N: usize>(
        &'b self,
        vars: [Output<'b>; N],
        cond: impl FnOnce([Output<'b>; N]) -> Result<Output<'b>>,
        body: impl FnOnce([Output<'b>; N]) -> Result<[Output<'b>; N]>,
    ) -> Result<[Output<'b>; N]> {
        self.while_loop_with(&WhileOptions::default(), vars, cond, body)
    }

    /// Like [`GraphBuilder::while_loop`], with options: shapes that may change, and how many iterations may overlap.
    ///
    /// # Errors
    /// The errors of [`GraphBuilder::while_loop`], and `InvalidArgument` for options that do not fit.
    pub fn while_loop_with<'b, const N: usize>(
        &'b self,
        options: &WhileOptions,
        vars: [Output<'b>; N],
        cond: impl FnOnce([Output<'b>; N]) -> Result<Output<'b>>,
        body: impl FnOnce([Output<'b>; N]) -> Result<[Output<'b>; N]>,
    ) -> Result<[Output<'b>; N]> {
        let vars = self.ids(vars)?;
        self.name_scope("while", || {
            let mut built = self.scoped(|b| WhileBuilder::begin(b, &vars, options))?;
            let exits = self.loop_of(&mut built, cond, body);
            self.scoped(|b| {
                built.leave(b);
                Ok(())
            })?;
            self.array(exits?)
        })
    }

    fn loop_of<'b, const N: usize>(
        &'b self,
        built: &mut WhileBuilder,
        cond: impl FnOnce([Output<'b>; N]) -> Result<Output<'b>>,
        body: impl FnOnce([Output<'b>; N]) -> Result<[Output<'b>; N]>,
    ) -> Result<Vec<OutputId>> {
        let go_on = self.resolve(cond(self.array(built.cond_vars().to_vec())?)?)?;
        let vars = self.scoped(|b| built.body_vars(b, go_on))?;
        let results = self.ids(body(self.array(vars)?)?)?;
        self.scoped(|b| built.finish(b, &results))
    }

    /// Returns handles of so many tensors.
    pub(super) fn array<const N: usize>(&self, ids: Vec<OutputId>) -> Result<[Output<'_>; N]> {
        let outputs: Vec<Output<'_>> = ids.into_iter().map(|id| self.output(id)).collect();
        outputs.try_into().map_err(|outputs: Vec<_>| error!(Internal, "{} tensors, not {N}", outputs.len()))
    }
}
