//! The walk back through a graph, in steps, so that gradients that are not in the catalogue can be made in between.

use super::functions::{CallGradient, FunctionGraph};
use super::loops::LoopStates;
use super::reach::{find_between, reach};
use super::repeat::{LoopGradient, Substitutes, substitute_loop_gradients};
use super::rules::{differentiate, first_gradient, in_gradient_of};
use super::{Grad, GradientFn, GradientOptions, OpGradient, control_flow, functions, is_differentiable};
use crate::builder::{Scope, ScopedBuilder};
use crate::{NodeId, OutputId};
use flowmill_tensor::{DType, Result, bail};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The state in which a walk stopped.
#[derive(Debug)]
pub enum Step {
    /// The caller makes the gradients of `node`'s inputs and hands them to [`GradientWalk::resume`].
    Custom {
        /// The forward node.
        node: NodeId,
        /// The name that the caller listed in [`GradientOptions::custom`]: the node's `_gradient_op_type`, or its op.
        kind: String,
        /// Gradients of the node's outputs, as in [`Backward::grads`](super::Backward::grads).
        grads: Vec<Option<Grad>>,
        /// The scope of the new nodes: name, control-flow context and colocation.
        scope: Scope,
    },
    /// The gradients of the `xs`; `None` if the `ys` do not depend on one. The walk is over.
    Done(Vec<Option<Grad>>),
}

/// A walk from `ys` back to `xs` that adds the nodes of their gradients.
///
/// It borrows the builder for a step at a time: whoever shares the graph can let go of its lock while a custom gradient adds its nodes.
/// What is not custom takes no more than one step: [`add_gradients`](super::add_gradients).
#[derive(Debug)]
pub struct GradientWalk {
    options: GradientOptions,
    /// Inside of the name scope of all gradients.
    scope: Scope,
    xs: Vec<OutputId>,
    ys: Vec<NodeId>,
    /// The gradients that consumers have contributed to each output of a node.
    grads: FxHashMap<NodeId, Vec<Vec<Grad>>>,
    /// For nodes between the `xs` and the `ys`: consumers among them that were not visited yet.
    pending: FxHashMap<NodeId, i32>,
    /// Nodes that nothing is differentiated through.
    stops: FxHashSet<NodeId>,
    loops: LoopStates,
    substitutes: Substitutes,
    /// Set if the walk differentiates loops of frames.
    request: Option<Box<LoopGradient>>,
    queue: VecDeque<NodeId>,
    state: State,
    /// The number of walks around this one.
    depth: u32,
    /// The number of calls that the outermost walk and those inside of it have differentiated.
    num_bodies: Arc<AtomicUsize>,
}

#[derive(Debug)]
enum State {
    Ready,
    /// A custom gradient is being made.
    Waiting(NodeId),
    /// It was made.
    Resumed(NodeId, Vec<Option<Grad>>),
    /// The walks through the functions that a node runs.
    Calling(NodeId, Box<CallGradient>),
    Done,
}

/// The kind of gradient that a node has.
enum Rule {
    Function(GradientFn),
    ControlFlow,
    Custom(String),
    Call,
    None,
}

/// A reason to interrupt the gradient of a node.
enum Pause {
    Custom(Step),
    Call(Box<CallGradient>),
}

/// The depth to which functions that call functions are differentiated. Those that call themselves have no end.
const MAX_NESTING: u32 = 50;

/// The number of calls that are differentiated for one gradient: if functions each call the next one twice, every one doubles it.
const MAX_BODIES: usize = 1 << 13;

impl GradientWalk {
    /// Prepares the walk in the builder's scope; [`GradientWalk::advance`] begins it.
    ///
    /// # Errors
    /// `InvalidArgument` for wrong `ys`, `xs` and `grad_ys`, see [`add_gradients`](super::add_gradients).
    pub fn new(
        b: &mut ScopedBuilder<'_>,
        ys: &[OutputId],
        xs: &[OutputId],
        grad_ys: &[Option<OutputId>],
        options: GradientOptions,
    ) -> Result<GradientWalk> {
        for &tensor in ys.iter().chain(xs) {
            b.graph().output_type(tensor)?;
        }
        let name = match options.name.as_deref().unwrap_or("gradients") {
            whole if whole.ends_with('/') => whole.trim_end_matches('/').to_owned(),
            name => b.unique_name(name, true),
        };
        let scope = b.scope().named(&name);
        b.within(scope, |b| {
            let substitutes = substitute_loop_gradients(b, ys, xs)?;
            let [ys, xs] = [ys, xs].map(|tensors| tensors.iter().map(|&t| substitutes.of(t)).collect::<Vec<OutputId>>());
            let mut walk = GradientWalk::prepare(b, &ys, xs, options, substitutes)?;
            walk.seed(b, &ys, grad_ys)?;
            if walk.loops.backward_loops().next().is_some() {
                walk.request = Some(Box::new(LoopGradient::requested(ys, grad_ys, &walk.xs, &walk.options)));
            }
            Ok(walk)
        })
    }

    fn prepare(
        b: &mut ScopedBuilder<'_>,
        ys: &[OutputId],
        xs: Vec<OutputId>,
        options: GradientOptions,
        substitutes: Substitutes,
    ) -> Result<GradientWalk> {
        let reached = reach(b, &xs, &substitutes);
        let mut between = find_between(b, ys, &reached, &substitutes);
        let loops = LoopStates::new(b, &mut between)?;
        let members: FxHashSet<NodeId> = between.iter().copied().collect();
        let mut pending: FxHashMap<NodeId, i32> = between.iter().map(|&n| (n, 0)).collect();
        for &node in &between {
            for input in substitutes.inputs(b, node) {
                if members.contains(&input.node) {
                    *pending.entry(input.node).or_default() += 1;
                }
            }
        }
        let mut stops: FxHashSet<NodeId> = options.stop_gradients.iter().map(|&s| substitutes.of(s).node).collect();
        // An x behind which there is no other x.
        for x in &xs {
            if !substitutes.inputs(b, x.node).any(|i| pending.get(&i.node).is_some_and(|&n| n > 0)) {
                stops.insert(x.node);
            }
        }
        let mut ends: Vec<NodeId> = ys.iter().map(|y| y.node).collect();
        ends.dedup();
        Ok(GradientWalk {
            options,
            scope: b.scope().clone(),
            xs,
            ys: ends,
            substitutes,
            request: None,
            grads: FxHashMap::default(),
            pending,
            stops,
            loops,
            queue: VecDeque::new(),
            state: State::Ready,
            depth: 0,
            num_bodies: Arc::default(),
        })
    }

    /// Sets the gradients of the `ys` and starts with the nodes that wait for no other consumer.
    fn seed(&mut self, b: &mut ScopedBuilder<'_>, ys: &[OutputId], grad_ys: &[Option<OutputId>]) -> Result<()> {
        if !grad_ys.is_empty() && grad_ys.len() != ys.len() {
            bail!(InvalidArgument, "Must specify a grad_y for each y in ys: {} for {}", grad_ys.len(), ys.len());
        }
        for (i, &y) in ys.iter().enumerate() {
            let given = grad_ys.get(i).copied().flatten();
            let scope = if self.options.colocate { self.scope.also_colocated_with(y.node) } else { self.scope.clone() };
            let grad = b.within(scope, |b| first_gradient(b, y, given, i))?;
            self.add(b, y, grad.into());
        }
        let mut queued = FxHashSet::default();
        for &y in &self.ys {
            if self.pending.get(&y) == Some(&0) && queued.insert(y) {
                self.queue.push_back(y);
            }
        }
        let exits = self.loops.unused_exits(b, &mut self.pending, &self.ys);
        for exit in exits {
            if is_differentiable(b.dtype(exit)) {
                let zeros = self.loops.zeros_for_exit(b, exit)?;
                self.add(b, exit, zeros.into());
            }
            self.queue.push_back(exit.node);
        }
        Ok(())
    }

    /// Goes on to the next custom gradient or to the end.
    ///
    /// # Errors
    /// `NotFound` for an op on the way that has no gradient (a `LookupError` in Python), `Unimplemented` for the gradient of a loop that is a
    /// gradient itself, `FailedPrecondition` if a custom gradient is missing or the walk is over, and what the gradient functions give.
    pub fn advance(&mut self, b: &mut ScopedBuilder<'_>) -> Result<Step> {
        b.within(self.scope.clone(), |b| {
            loop {
                match std::mem::replace(&mut self.state, State::Ready) {
                    State::Ready => {
                        let Some(node) = self.queue.pop_front() else { break };
                        match self.visit(b, node)? {
                            None => self.release_inputs(b, node)?,
                            Some(Pause::Call(call)) => self.state = State::Calling(node, call),
                            Some(Pause::Custom(step)) => {
                                self.state = State::Waiting(node);
                                return Ok(step);
                            }
                        }
                    }
                    State::Calling(node, mut call) => match call.advance(b).map_err(|e| in_gradient_of(b, node, e))? {
                        Step::Done(grads) => self.state = State::Resumed(node, grads),
                        custom @ Step::Custom { .. } => {
                            self.state = State::Calling(node, call);
                            return Ok(custom);
                        }
                    },
                    State::Resumed(node, grads) => {
                        let (_, after) = self.scopes_for(b, node);
                        b.within(after, |b| self.hand_on(b, node, grads))?;
                        self.release_inputs(b, node)?;
                    }
                    State::Waiting(node) => {
                        self.state = State::Waiting(node);
                        bail!(FailedPrecondition, "The gradient of '{}' is missing", b.graph().node(node)?.name());
                    }
                    State::Done => {
                        self.state = State::Done;
                        bail!(FailedPrecondition, "All gradients were made");
                    }
                }
            }
            self.loops.finish(b)?;
            self.state = State::Done;
            let grads = self.xs.iter().map(|&x| self.gradient_of(b, x)).collect::<Result<Vec<_>>>()?;
            if let Some(request) = self.request.take() {
                let loops = self.loops.backward_loops().collect();
                b.state_mut().loop_gradients.push(LoopGradient { grads: grads.clone(), loops, ..*request });
            }
            Ok(Step::Done(grads))
        })
    }

    /// Takes the gradients, one for each data input, of the node that the last [`Step::Custom`] named.
    ///
    /// # Errors
    /// `FailedPrecondition` if none is asked for.
    pub fn resume(&mut self, grads: Vec<Option<Grad>>) -> Result<()> {
        match &mut self.state {
            State::Waiting(node) => self.state = State::Resumed(*node, grads),
            State::Calling(_, call) => match call.asking() {
                Some((walk, _)) => walk.resume(grads)?,
                None => bail!(FailedPrecondition, "The walk waits for no gradient"),
            },
            _ => bail!(FailedPrecondition, "The walk waits for no gradient"),
        }
        Ok(())
    }

    /// Returns the body of the function that the node is in that the last [`Step::Custom`] named; `None` if that is in the graph itself. What the custom
    /// gradient adds belongs there.
    pub fn body(&mut self) -> Option<&mut FunctionGraph> {
        let State::Calling(_, call) = &mut self.state else { return None };
        let (walk, body) = call.asking()?;
        if matches!(walk.state, State::Calling(..)) { walk.body() } else { Some(body) }
    }

    fn add(&mut self, b: &ScopedBuilder<'_>, tensor: OutputId, grad: Grad) {
        let num_outputs = b.graph()[tensor.node].num_outputs();
        let of_node = self.grads.entry(tensor.node).or_insert_with(|| vec![Vec::new(); num_outputs]);
        if let Some(of_output) = of_node.get_mut(tensor.slot as usize) {
            of_output.push(grad);
        }
    }

    /// Returns two scopes: that of the sums of the gradients of a node's outputs, and that of the gradients of its inputs.
    fn scopes_for(&self, b: &ScopedBuilder<'_>, node: NodeId) -> (Scope, Scope) {
        let scope = if self.options.colocate { self.scope.also_colocated_with(node) } else { self.scope.clone() };
        let context = |before| self.loops.backward_context(b, node, before).or(self.scope.context());
        (scope.in_context(context(true)), scope.in_context(context(false)))
    }

    /// Computes the gradients of a node's inputs, or returns the reason to pause before that.
    fn visit(&mut self, b: &mut ScopedBuilder<'_>, node: NodeId) -> Result<Option<Pause>> {
        let (before, after) = self.scopes_for(b, node);
        let grads = b.within(before, |b| self.sum_outputs(b, node))?;
        let is_reached = grads.iter().any(Option::is_some);
        if !is_reached || self.stops.contains(&node) {
            return Ok(None);
        }
        b.within(after, |b| {
            let rule = self.rule_for(b, node)?;
            if matches!(rule, Rule::None) {
                return Ok(None);
            }
            let scope = self.gradient_scope(b, node)?;
            let given = match rule {
                Rule::Custom(kind) => {
                    let grads = self.with_zeros(b, node, grads)?;
                    return Ok(Some(Pause::Custom(Step::Custom { node, kind, grads, scope })));
                }
                Rule::Call => match b.within(scope.clone(), |b| functions::call_gradient_function(b, node, &grads))? {
                    Some(given) => given,
                    None => return b.within(scope, |b| self.walk_call(b, node, &grads)).map(Some),
                },
                Rule::Function(f) => {
                    let grads = self.with_zeros(b, node, grads)?;
                    b.within(scope, |b| differentiate(b, node, grads, f))?
                }
                Rule::ControlFlow | Rule::None => {
                    let grads = self.with_zeros(b, node, grads)?;
                    b.within(scope, |b| differentiate(b, node, grads, control_flow::differentiate))?
                }
            };
            self.hand_on(b, node, given)?;
            Ok(None)
        })
    }

    /// The name scope for a node's gradient: `gradients/outer/name_grad`.
    fn gradient_scope(&self, b: &mut ScopedBuilder<'_>, node: NodeId) -> Result<Scope> {
        let name = format!("{}_grad", b.graph().node(node)?.name());
        let name = b.unique_name(&name, true);
        Ok(b.scope().named(&name))
    }

    /// Returns the walks through the functions that a node runs.
    fn walk_call(&self, b: &mut ScopedBuilder<'_>, node: NodeId, grads: &[Option<Grad>]) -> Result<Pause> {
        if self.depth >= MAX_NESTING {
            bail!(Unimplemented, "The gradient of functions that nest deeper than {MAX_NESTING}, as those do that call themselves");
        }
        if self.num_bodies.fetch_add(1, Ordering::Relaxed) >= MAX_BODIES {
            bail!(ResourceExhausted, "The gradients of nested function calls need more than {MAX_BODIES} functions");
        }
        let mut call = CallGradient::new(b, node, grads, &self.options).map_err(|e| in_gradient_of(b, node, e))?;
        call.set_place(self.depth + 1, &self.num_bodies);
        Ok(Pause::Call(Box::new(call)))
    }

    /// Says that this walk is inside of so many others, and what they count together.
    pub(super) fn set_place(&mut self, depth: u32, num_bodies: &Arc<AtomicUsize>) {
        self.depth = depth;
        self.num_bodies = num_bodies.clone();
    }

    /// Returns the sums of the gradients of a node's outputs.
    fn sum_outputs(&mut self, b: &mut ScopedBuilder<'_>, node: NodeId) -> Result<Vec<Option<Grad>>> {
        let num_outputs = b.graph()[node].num_outputs();
        // A loop's switch is visited twice: by its exit, then by its body.
        let is_loop_switch = self.loops.is_loop_switch(b, node);
        let Some(given) = self.grads.get_mut(&node) else { return Ok(vec![None; num_outputs]) };
        let given: Vec<Vec<Grad>> = if is_loop_switch { given.clone() } else { std::mem::take(given) };
        let mut sums = Vec::with_capacity(num_outputs);
        for grads in &given {
            sums.push(b.sum_gradients(grads, self.options.aggregation)?);
        }
        if !is_loop_switch {
            // Kept for an x that is this node.
            self.grads.insert(node, sums.iter().map(|s| s.iter().cloned().collect()).collect());
        }
        Ok(sums)
    }

    /// The rule by the name in the node's `_gradient_op_type`, or by its op.
    fn rule_for(&self, b: &ScopedBuilder<'_>, node: NodeId) -> Result<Rule> {
        let forward = b.graph().node(node)?;
        let kind = forward.attrs().get::<&str>("_gradient_op_type").unwrap_or(forward.op());
        if self.options.custom.contains(kind) {
            return Ok(Rule::Custom(kind.to_owned()));
        }
        if self.options.not_differentiable.contains(kind) {
            return Ok(Rule::None);
        }
        if kind == forward.op() && functions::is_call(b.graph(), forward) {
            return Ok(Rule::Call);
        }
        let gradient = match b.graph().op_def(kind) {
            Ok(op_def) => op_def.gradient,
            Err(_) => OpGradient::Undefined,
        };
        match gradient {
            OpGradient::Function(f) => Ok(Rule::Function(f)),
            OpGradient::NotDifferentiable => Ok(Rule::None),
            OpGradient::Undefined if kind == forward.op() && forward.is_control_flow() => Ok(Rule::ControlFlow),
            OpGradient::Undefined => {
                bail!(NotFound, "No gradient defined for operation '{}' (op type: {}).", forward.name(), forward.op())
            }
        }
    }

    /// Returns the gradients of a node's outputs with zeros where an output has none.
    fn with_zeros(&mut self, b: &mut ScopedBuilder<'_>, node: NodeId, mut grads: Vec<Option<Grad>>) -> Result<Vec<Option<Grad>>> {
        for (slot, grad) in grads.iter_mut().enumerate() {
            let output = node.output(slot as u32);
            if grad.is_none() && is_differentiable(b.dtype(output)) {
                *grad = self.loops.zeros_for_output(b, output)?.map(Grad::Dense);
            }
        }
        Ok(grads)
    }

    /// Passes the gradients of a node's inputs on to their producers.
    fn hand_on(&mut self, b: &mut ScopedBuilder<'_>, node: NodeId, grads: Vec<Option<Grad>>) -> Result<()> {
        let inputs: Vec<OutputId> = self.substitutes.inputs(b, node).collect();
        let name = b.graph()[node].name();
        if grads.len() != inputs.len() {
            bail!(InvalidArgument, "Num gradients {} generated for op {name} do not match num inputs {}", grads.len(), inputs.len());
        }
        let is_gated = self.options.gate && grads.iter().flatten().count() > 1;
        let grads = if is_gated { b.gate_gradients(grads)? } else { grads };
        for (i, (input, grad)) in inputs.into_iter().zip(grads).enumerate() {
            let Some(grad) = grad else { continue };
            if let Grad::Dense(tensor) = grad
                && b.dtype(input) != DType::Resource
            {
                let known = b.shape(input);
                if b.merge_shape(tensor, &known).is_err() {
                    bail!(
                        InvalidArgument,
                        "Incompatible shapes between op input and calculated input gradient. Forward operation: {}. Input index: {i}. \
                         Original input shape: {known}. Calculated input gradient shape: {}",
                        b.graph()[node].name(),
                        b.shape(tensor)
                    );
                }
            }
            self.add(b, input, grad);
        }
        Ok(())
    }

    /// Counts a node as visited, and queues producers that all consumers of have been.
    fn release_inputs(&mut self, b: &mut ScopedBuilder<'_>, node: NodeId) -> Result<()> {
        let inputs: Vec<OutputId> = self.substitutes.inputs(b, node).collect();
        for input in inputs {
            let producer = input.node;
            let Some(count) = self.pending.get_mut(&producer) else { continue };
            *count -= 1;
            let count = *count;
            let is_ready = count == 0 || (count > 0 && self.loops.is_loop_switch(b, producer));
            if !is_ready {
                continue;
            }
            if !b.graph()[producer].is_exit() {
                self.queue.push_back(producer);
                continue;
            }
            let has_grads = |exit: OutputId| self.grads.get(&exit.node).is_some_and(|g| g.iter().any(|g| !g.is_empty()));
            let Some(exits) = self.loops.defer_exit(b, input, has_grads) else { continue };
            for (exit, needs_zeros) in exits {
                if needs_zeros && is_differentiable(b.dtype(exit)) {
                    let zeros = self.loops.zeros_for_exit(b, exit)?;
                    self.add(b, exit, zeros.into());
                }
                self.queue.push_back(exit.node);
            }
        }
        Ok(())
    }

    fn gradient_of(&self, b: &mut ScopedBuilder<'_>, x: OutputId) -> Result<Option<Grad>> {
        match self.grads.get(&x.node).and_then(|g| g.get(x.slot as usize)) {
            Some(grads) => b.sum_gradients(grads, self.options.aggregation),
            None => Ok(None),
        }
    }
}
