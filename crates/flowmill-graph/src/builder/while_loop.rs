//! Loops: `Enter`, `Merge`, `Switch`, `NextIteration` and `Exit` around a condition and a body.

use super::context::{Context, ContextKind, WhileContext};
use super::{ContextId, Scope, ScopedBuilder};
use crate::{NodeId, OutputId};
use flowmill_tensor::{DType, PartialShape, Result, bail};
use rustc_hash::{FxHashMap, FxHashSet};

/// The options of a loop.
#[derive(Clone, Debug)]
pub struct WhileOptions {
    /// The number of iterations that may run at once.
    pub parallel_iterations: i64,
    /// For each variable the shape that holds in all iterations; empty for the shapes the variables enter with.
    pub shape_invariants: Vec<PartialShape>,
    /// If false, no gradient flows through the loop, like through `StopGradient`.
    pub back_prop: bool,
    /// If true, the values that gradients need may be moved out of the device's memory. Has an effect in exported graphs only.
    pub swap_memory: bool,
    /// A bound on the number of iterations, for exported graphs; the condition has to test it.
    pub maximum_iterations: Option<OutputId>,
}

impl Default for WhileOptions {
    fn default() -> WhileOptions {
        WhileOptions {
            parallel_iterations: 10,
            shape_invariants: Vec::new(),
            back_prop: true,
            swap_memory: false,
            maximum_iterations: None,
        }
    }
}

/// A loop being built: first its condition, then its body. Whoever builds with closures uses [`ScopedBuilder::while_loop`].
#[derive(Debug)]
pub struct WhileBuilder {
    context: ContextId,
    outer: Scope,
    merges: Vec<OutputId>,
    switches: Vec<NodeId>,
}

impl ScopedBuilder<'_> {
    /// Runs `body` on the variables as long as `cond` gives true; returns the variables' last values.
    ///
    /// # Errors
    /// `InvalidArgument` if condition or body give something that does not fit, in TensorFlow's words; what the closures give.
    pub fn while_loop(
        &mut self,
        name: &str,
        vars: &[OutputId],
        options: &WhileOptions,
        cond: impl FnOnce(&mut Self, &[OutputId]) -> Result<OutputId>,
        body: impl FnOnce(&mut Self, &[OutputId]) -> Result<Vec<OutputId>>,
    ) -> Result<Vec<OutputId>> {
        self.within_name(name, |b| {
            let mut built = WhileBuilder::begin(b, vars, options)?;
            let exits = cond(b, built.cond_vars()).and_then(|go_on| {
                let vars = built.body_vars(b, go_on)?;
                let results = body(b, &vars)?;
                built.finish(b, &results)
            });
            built.leave(b);
            exits
        })
    }
}

impl WhileBuilder {
    /// Begins a loop in the current scope: what the builder adds from now on is in the loop, until [`WhileBuilder::leave`].
    ///
    /// # Errors
    /// `InvalidArgument` for a loop without variables, and if a variable does not enter with a shape that its invariant allows.
    pub fn begin(b: &mut ScopedBuilder<'_>, vars: &[OutputId], options: &WhileOptions) -> Result<WhileBuilder> {
        if vars.is_empty() {
            bail!(InvalidArgument, "'loop_vars' must be provided.");
        }
        if options.parallel_iterations < 1 {
            bail!(InvalidArgument, "'parallel_iterations' must be a positive integer: {}", options.parallel_iterations);
        }
        let outer = b.scope.clone();
        let name = b.unique_name("while_context", true);
        let looped = WhileContext {
            parallel_iterations: options.parallel_iterations,
            is_constant: !options.back_prop,
            swap_memory: options.swap_memory,
            maximum_iterations: options.maximum_iterations,
            ..WhileContext::default()
        };
        let context = b.add_context(Context {
            name,
            outer: outer.context(),
            kind: ContextKind::While(looped),
            known: FxHashSet::from_iter(vars.iter().copied()),
            stands_for: FxHashMap::default(),
        });
        b.set_scope(outer.in_context(Some(context)));
        let merges = match Self::enter(b, context, &outer, vars, &options.shape_invariants) {
            Ok(merges) => merges,
            Err(error) => {
                b.set_scope(outer);
                return Err(error);
            }
        };
        if let Some(looped) = b.while_context_mut(context) {
            looped.pivot_for_cond = merges.first().copied();
        }
        Ok(WhileBuilder { context, outer, merges, switches: Vec::new() })
    }

    fn enter(
        b: &mut ScopedBuilder<'_>,
        context: ContextId,
        outer: &Scope,
        vars: &[OutputId],
        invariants: &[PartialShape],
    ) -> Result<Vec<OutputId>> {
        let mut enters = Vec::with_capacity(vars.len());
        for (i, &var) in vars.iter().enumerate() {
            let real = match outer.context() {
                Some(outer) => b.bring_into(outer, var)?,
                None => var,
            };
            let entering = b.shape(real);
            let invariant = invariants.get(i).cloned().unwrap_or_else(|| entering.clone());
            if !is_covered(&entering, &invariant) {
                bail!(
                    InvalidArgument,
                    "The shape invariant specified for {} is not compatible with the initial shape of the loop variable. It enters the loop \
                     with shape {}, but the specified shape invariant is {}.",
                    b.graph.tensor_name(real),
                    as_tuple(&entering),
                    as_tuple(&invariant)
                );
            }
            let enter = b.enter_loop(context, real, false)?;
            b.state.shapes.set_shape(enter, invariant);
            enters.push(enter);
        }
        b.tie_to_outer_loop(outer.context(), &enters)?;
        b.context_mut(context).known = enters.iter().copied().collect();
        if let Some(looped) = b.while_context_mut(context) {
            looped.enters.clone_from(&enters);
        }
        enters
            .into_iter()
            .map(|enter| {
                let op = b.op_for(enter, "Merge", "RefMerge");
                b.op(op).name("Merge").inputs(&[enter, enter]).output()
            })
            .collect()
    }

    /// Returns the loop's context.
    pub fn context(&self) -> ContextId {
        self.context
    }

    /// Returns the variables as the condition sees them.
    pub fn cond_vars(&self) -> &[OutputId] {
        &self.merges
    }

    /// Ends the condition; returns the variables as the body sees them.
    ///
    /// # Errors
    /// `InvalidArgument` if the condition is no boolean scalar.
    pub fn body_vars(&mut self, b: &mut ScopedBuilder<'_>, go_on: OutputId) -> Result<Vec<OutputId>> {
        if b.dtype(go_on) != DType::Bool {
            bail!(InvalidArgument, "The loop's condition is a boolean, not {} as '{}'", b.dtype(go_on), b.graph.tensor_name(go_on));
        }
        let pivot = b.op("LoopCond").input(go_on).output()?;
        for &merge in &self.merges {
            self.switches.push(b.switch(merge, pivot)?);
        }
        let mut vars = Vec::with_capacity(self.switches.len());
        for switch in &self.switches {
            let value = switch.output(1);
            let op = b.op_for(value, "Identity", "RefIdentity");
            vars.push(b.op(op).name("Identity").input(value).output()?);
        }
        if let Some(looped) = b.while_context_mut(self.context) {
            looped.pivot = Some(pivot);
            looped.pivot_for_body = vars.first().copied();
        }
        Ok(vars)
    }

    /// Ends the body; returns the tensors that have the variables' last values outside of the loop.
    ///
    /// # Errors
    /// `InvalidArgument` if the body's results differ from the variables in number, types or shapes.
    pub fn finish(&self, b: &mut ScopedBuilder<'_>, results: &[OutputId]) -> Result<Vec<OutputId>> {
        if results.len() != self.merges.len() {
            bail!(
                InvalidArgument,
                "Number of inputs and outputs of 'body' must match 'loop_vars'. Got {} for the number of inputs/outputs, and {} for 'loop_vars'.",
                self.merges.len(),
                results.len()
            );
        }
        for (&merge, &result) in self.merges.iter().zip(results) {
            let op = b.op_for(result, "NextIteration", "RefNextIteration");
            let next = b.op(op).name("NextIteration").input(result).output()?;
            let (entering, leaving) = (b.shape(merge), b.shape(next));
            if !is_covered(&leaving, &entering) {
                let input = b.graph.input(merge.node, 0).and_then(|enter| b.graph.input(enter.node, 0)).unwrap_or(merge);
                bail!(
                    InvalidArgument,
                    "Input tensor '{}' enters the loop with shape {}, but has shape {} after one iteration. To allow the shape to vary \
                     across iterations, use the `shape_invariants` argument of tf.while_loop to specify a less-specific shape.",
                    b.graph.tensor_name(input),
                    as_tuple(&b.shape(input)),
                    as_tuple(&leaving)
                );
            }
            b.connect_back(next, merge.node, 1)?;
        }
        let mut exits = Vec::with_capacity(self.switches.len());
        for switch in &self.switches {
            let value = switch.output(0);
            let op = b.op_for(value, "Exit", "RefExit");
            exits.push(b.op(op).name("Exit").input(value).output()?);
        }
        if let Some(looped) = b.while_context_mut(self.context) {
            looped.exits.clone_from(&exits);
        }
        if let Some(outer) = self.outer.context() {
            b.context_mut(outer).known.extend(exits.iter().copied());
        }
        Ok(exits)
    }

    /// Leaves the loop: the scope is again the one around it.
    pub fn leave(&self, b: &mut ScopedBuilder<'_>) {
        b.set_scope(self.outer.clone());
    }
}

impl ScopedBuilder<'_> {
    /// Variables that enter from an outer loop's invariants wait for that loop's pivot, so that they enter in each of its iterations.
    fn tie_to_outer_loop(&mut self, mut outer: Option<ContextId>, enters: &[OutputId]) -> Result<()> {
        let mut pivot = None;
        while let Some(id) = outer
            && pivot.is_none()
        {
            pivot = self.context(id).pivot();
            outer = self.context(id).outer;
        }
        let Some(pivot) = pivot else { return Ok(()) };
        for enter in enters {
            let producer = self.graph.input_node(enter.node, 0);
            let is_invariant = producer
                .and_then(|p| self.graph.get(p))
                .is_some_and(|p| p.is_enter() && p.attrs().get_or("is_constant", false).unwrap_or(false));
            if is_invariant {
                self.graph.add_control_edge(pivot.node, enter.node)?;
            }
        }
        Ok(())
    }
}

/// Returns a shape as TensorFlow's Python code writes it: `(2, None)`.
fn as_tuple(shape: &PartialShape) -> String {
    let Some(dims) = shape.dims() else { return "<unknown>".to_owned() };
    let sizes: Vec<String> = dims.iter().map(|&d| if d < 0 { "None".to_owned() } else { d.to_string() }).collect();
    format!("({}{})", sizes.join(", "), if sizes.len() == 1 { "," } else { "" })
}

/// Returns true if every shape that `shape` allows is one that `bound` allows.
fn is_covered(shape: &PartialShape, bound: &PartialShape) -> bool {
    let Some(bound) = bound.dims() else { return true };
    let Some(shape) = shape.dims() else { return false };
    shape.len() == bound.len() && shape.iter().zip(bound).all(|(&s, &b)| b < 0 || s == b)
}
