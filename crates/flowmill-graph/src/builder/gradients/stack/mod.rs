//! Gradients in the body of a function with respect to tensors of the graphs around it.
//!
//! A [`StackWalk`] begins with a walk in the innermost graph: to those of the `xs` that are there, and to the parameters for captured tensors. The
//! gradient of a captured tensor is where the walk through an outer graph begins, level by level. That walk goes through a copy of the outer graph
//! ([`copy`]), in which placeholders replace the gradients to begin with. Afterwards the nodes that it has added move into the innermost graph, which
//! captures the forward values that they need; so nothing is computed twice. What the walk has added to the forward part, such as further results of
//! a call and stacks in a loop, is added to the outer graph as well. An error leaves all outer graphs unchanged.

mod copy;
mod transfer;

use super::{Grad, GradientOptions, GradientWalk, Step, is_differentiable};
use crate::OutputId;
use crate::builder::{GraphStack, Scope, ScopedBuilder, StackOutput};
use copy::OuterCopy;
use flowmill_tensor::{Result, bail};

/// A walk from `ys` of the innermost graph of a stack back to `xs` of any of its graphs. It adds the nodes of their gradients to the innermost graph.
///
/// Like [`GradientWalk`], it stops at gradients that the caller makes.
#[derive(Debug)]
pub struct StackWalk {
    options: GradientOptions,
    xs: Vec<StackOutput>,
    stops: Vec<StackOutput>,
    /// The scope of the new nodes in the innermost graph, inside of the name scope of the gradients.
    scope: Scope,
    /// The gradients found for each of the `xs`; they are summed at the end.
    found: Vec<Vec<Grad>>,
    /// The gradients of outer tensors that have not been differentiated yet, as tensors of the innermost graph.
    pending: Vec<(StackOutput, Vec<Grad>)>,
    state: State,
}

#[derive(Debug)]
enum State {
    /// The walk through the innermost graph, and the tensors that it goes to.
    Inside(Box<GradientWalk>, Vec<Target>),
    /// The walk through the graph of level - 1 is next, or that of a level below.
    Below(usize),
    /// The walk through the copy of an outer graph.
    Around(Box<OuterCopy>),
    Done,
}

/// The meaning of a tensor that the walk through one graph goes to.
#[derive(Clone, Copy, Debug)]
enum Target {
    /// It is the `x` of this index.
    X(usize),
    /// It is the parameter for an outer tensor.
    Captured(StackOutput),
}

impl StackWalk {
    /// Prepares the walk in a scope of the innermost graph; [`StackWalk::advance`] begins it. `options.stop_gradients` are of the innermost graph,
    /// `stops` of any.
    ///
    /// # Errors
    /// `InvalidArgument` for wrong `ys`, `xs` and `grad_ys`, see [`add_gradients`](super::add_gradients).
    pub fn new(
        stack: &mut impl GraphStack,
        scope: &Scope,
        ys: &[OutputId],
        xs: &[StackOutput],
        grad_ys: &[Option<OutputId>],
        stops: &[StackOutput],
        mut options: GradientOptions,
    ) -> Result<StackWalk> {
        let top = stack.top();
        let name = options.name.clone().unwrap_or_else(|| "gradients".to_owned());
        options.stop_gradients.extend(outputs_at(stops, top));
        let mut whole = scope.clone();
        let (walk, targets) = stack.build(top, scope, |b| {
            // The walks through outer graphs name their nodes as this one does.
            let name = match name.strip_suffix('/') {
                Some(whole) => whole.to_owned(),
                None => b.unique_name(&name, true),
            };
            whole = b.scope().named(&name);
            options.name = Some(name + "/");
            let (tensors, targets) = targets(b, top, xs);
            Ok((GradientWalk::new(b, ys, &tensors, grad_ys, options.clone())?, targets))
        })?;
        let state = State::Inside(Box::new(walk), targets);
        let (xs, stops, found) = (xs.to_vec(), stops.to_vec(), vec![Vec::new(); xs.len()]);
        Ok(StackWalk { options, xs, stops, scope: whole, found, pending: Vec::new(), state })
    }

    /// Goes on to the next custom gradient or to the end. The gradients are tensors of the innermost graph.
    ///
    /// # Errors
    /// `NotFound` for an op on the way that has no gradient, and the other errors of [`GradientWalk::advance`].
    pub fn advance(&mut self, stack: &mut impl GraphStack) -> Result<Step> {
        let top = stack.top();
        loop {
            match std::mem::replace(&mut self.state, State::Done) {
                State::Inside(mut walk, targets) => match stack.build(top, &self.scope, |b| walk.advance(b))? {
                    Step::Done(grads) => {
                        self.take(&targets, grads);
                        self.state = State::Below(top);
                    }
                    custom @ Step::Custom { .. } => {
                        self.state = State::Inside(walk, targets);
                        return Ok(custom);
                    }
                },
                State::Below(0) => {
                    let (scope, found, aggregation) = (&self.scope, &self.found, self.options.aggregation);
                    let sums = stack.build(top, scope, |b| found.iter().map(|grads| b.sum_gradients(grads, aggregation)).collect())?;
                    return Ok(Step::Done(sums));
                }
                State::Below(level) => self.enter(stack, level - 1)?,
                State::Around(mut copy) => match stack.detached(|| copy.advance())? {
                    Step::Done(grads) => {
                        let grads = copy.finish(stack, &self.scope, grads)?;
                        self.take(&copy.targets, grads);
                        self.state = State::Below(copy.level);
                    }
                    custom @ Step::Custom { .. } => {
                        self.state = State::Around(copy);
                        return Ok(custom);
                    }
                },
                State::Done => bail!(FailedPrecondition, "All gradients were made"),
            }
        }
    }

    /// Takes the gradients, one for each data input, of the node that the last [`Step::Custom`] named.
    ///
    /// # Errors
    /// `FailedPrecondition` if none is asked for.
    pub fn resume(&mut self, grads: Vec<Option<Grad>>) -> Result<()> {
        match &mut self.state {
            State::Inside(walk, _) => walk.resume(grads),
            State::Around(copy) => copy.walk.resume(grads),
            State::Below(_) | State::Done => bail!(FailedPrecondition, "The walk waits for no gradient"),
        }
    }

    /// Returns the graph of the node that the last [`Step::Custom`] named, if it is not the innermost graph itself: the body of a function that the
    /// node is in, or the copy of an outer graph, whose ids are those of the outer graph. What the custom gradient adds belongs there.
    pub fn body(&mut self) -> Option<&mut super::FunctionGraph> {
        match &mut self.state {
            State::Inside(walk, _) => walk.body(),
            State::Around(copy) => copy.body(),
            State::Below(_) | State::Done => None,
        }
    }

    /// Returns the level of the graph that the walk is going through.
    pub fn level(&self, stack: &impl GraphStack) -> usize {
        match &self.state {
            State::Around(copy) => copy.level,
            _ => stack.top(),
        }
    }

    /// Notes the gradients of the tensors that a walk went to.
    fn take(&mut self, targets: &[Target], grads: Vec<Option<Grad>>) {
        for (target, grad) in targets.iter().zip(grads) {
            let Some(grad) = grad else { continue };
            match *target {
                Target::X(i) => self.found[i].push(grad),
                Target::Captured(outside) => match self.pending.iter_mut().find(|(known, _)| *known == outside) {
                    Some((_, grads)) => grads.push(grad),
                    None => self.pending.push((outside, vec![grad])),
                },
            }
        }
    }

    /// Begins the walk through the graph of a level, if tensors of it have gradients.
    fn enter(&mut self, stack: &mut impl GraphStack, level: usize) -> Result<()> {
        let (here, others) = std::mem::take(&mut self.pending).into_iter().partition::<Vec<_>, _>(|(t, _)| t.level == level);
        (self.pending, self.state) = (others, State::Below(level));
        if here.is_empty() {
            return Ok(());
        }
        let xs = &self.xs;
        let (tensors, targets, is_leaf) = stack.build(level, &Scope::root(), |b| {
            let (tensors, targets) = targets(b, level, xs);
            let is_leaf = here.iter().map(|(t, _)| Ok(b.graph().node(t.output.node)?.num_inputs() == 0));
            Ok((tensors, targets, is_leaf.collect::<Result<Vec<bool>>>()?))
        })?;
        let (mut ys, mut starts) = (Vec::new(), Vec::new());
        for ((y, grads), is_leaf) in here.into_iter().zip(is_leaf) {
            if is_leaf {
                // No tensor is before one without inputs, such as a variable's handle.
                for (&target, _) in targets.iter().zip(&tensors).filter(|(_, t)| **t == y.output) {
                    grads.iter().for_each(|grad| self.take(&[target], vec![Some(grad.clone())]));
                }
                continue;
            }
            let (scope, aggregation) = (&self.scope, self.options.aggregation);
            let start = stack.build(stack.top(), scope, |b| {
                let sum = b.sum_gradients(&grads, aggregation)?;
                sum.map(|sum| b.densify(&sum)).transpose()
            })?;
            ys.push(y.output);
            starts.extend(start);
        }
        if !ys.is_empty() && !tensors.is_empty() {
            let options = GradientOptions { stop_gradients: outputs_at(&self.stops, level).collect(), ..self.options.clone() };
            let copy = OuterCopy::new(stack, &self.scope, level, &ys, &starts, (&tensors, targets), options)?;
            self.state = State::Around(Box::new(copy));
        }
        Ok(())
    }
}

/// Returns the tensors that the walk through the graph of a level goes to, and what they mean: the `xs` of that level and, if other `xs` are in graphs
/// around it, the parameters for captured tensors.
fn targets(b: &ScopedBuilder<'_>, level: usize, xs: &[StackOutput]) -> (Vec<OutputId>, Vec<Target>) {
    let own = xs.iter().enumerate().filter(|(_, x)| x.level == level).map(|(i, x)| (x.output, Target::X(i)));
    let goes_on = xs.iter().any(|x| x.level < level);
    let captures = b.state().captures().iter().filter(|c| goes_on && is_differentiable(b.dtype(c.inside)));
    own.chain(captures.map(|c| (c.inside, Target::Captured(c.outside)))).unzip()
}

fn outputs_at(tensors: &[StackOutput], level: usize) -> impl Iterator<Item = OutputId> {
    tensors.iter().filter(move |t| t.level == level).map(|t| t.output)
}

/// Like [`add_gradients`](super::add_gradients), in the innermost graph of a stack and with respect to tensors of any of its graphs.
///
/// # Errors
/// `InvalidArgument`, `NotFound` and `FailedPrecondition`, see [`add_gradients`](super::add_gradients).
pub fn add_stack_gradients(
    stack: &mut impl GraphStack,
    scope: &Scope,
    ys: &[OutputId],
    xs: &[StackOutput],
    grad_ys: &[Option<OutputId>],
    options: &GradientOptions,
) -> Result<Vec<Option<Grad>>> {
    match StackWalk::new(stack, scope, ys, xs, grad_ys, &[], options.clone())?.advance(stack)? {
        Step::Done(grads) => Ok(grads),
        Step::Custom { kind, .. } => bail!(FailedPrecondition, "The gradient of '{kind}' is one that the caller makes"),
    }
}
