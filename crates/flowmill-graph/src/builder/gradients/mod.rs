//! Gradients of a graph, added to it as nodes.
//!
//! [`add_gradients`] walks back from the `ys`. A node is visited when all consumers between the `xs` and the `ys` have been; the gradients that
//! they gave for its outputs are summed, and its op's [`GradientFn`] makes those of its inputs from them. Conditionals and loops are part of that
//! walk: `Switch` and `Merge` are each other's gradients, and so are `Enter` and `Exit`; a loop gets a second loop that runs its iterations
//! backwards ([`loops`]). The nodes follow TensorFlow's `tf.gradients`.

mod aggregate;
mod control_flow;
mod counters;
mod history;
mod loops;
mod zeros;

pub(super) use loops::BackwardLoop;

use super::GraphBuilder;
use crate::{NodeId, OutputId};
use flowmill_tensor::{DType, Error, Result, bail};
use loops::LoopStates;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::VecDeque;

/// The gradient of a tensor.
#[derive(Clone, Debug, PartialEq)]
pub enum Grad {
    /// A tensor of the same shape.
    Dense(OutputId),
    /// Rows of a tensor that is zero elsewhere; TensorFlow's `IndexedSlices`.
    Slices(IndexedSlices),
}

/// Slices `values[i]` of a tensor at its rows `indices[i]`. A row that comes up more than once stands for the sum.
#[derive(Clone, Debug, PartialEq)]
pub struct IndexedSlices {
    /// One slice for each index.
    pub values: OutputId,
    /// A vector of rows.
    pub indices: OutputId,
    /// The shape of the whole tensor, where it is known.
    pub dense_shape: Option<OutputId>,
}

impl From<OutputId> for Grad {
    fn from(output: OutputId) -> Grad {
        Grad::Dense(output)
    }
}

/// What an op's gradient function gets: the node it is the gradient of, and the gradients of its outputs.
#[derive(Debug)]
pub struct Backward {
    /// The forward node.
    pub node: NodeId,
    /// Its data inputs.
    pub inputs: Vec<OutputId>,
    /// Gradients of its outputs; `None` where an output has none, which for floating outputs means that there is no zero of its type.
    pub grads: Vec<Option<Grad>>,
}

impl Backward {
    /// Output `slot` of the forward node.
    pub fn output(&self, slot: u32) -> OutputId {
        self.node.output(slot)
    }

    /// The gradient of output `i` as a tensor.
    ///
    /// # Errors
    /// `InvalidArgument` where there is none, and what adding nodes gives.
    pub fn dy(&self, b: &mut GraphBuilder<'_>, i: usize) -> Result<OutputId> {
        match self.grads.get(i) {
            Some(Some(grad)) => b.densify(grad),
            _ => bail!(InvalidArgument, "Output {i} of '{}' has no gradient", b.graph().node(self.node)?.name()),
        }
    }
}

/// Makes the gradients of a node's inputs, one for each, out of those of its outputs.
pub type GradientFn = fn(&mut GraphBuilder<'_>, &Backward) -> Result<Vec<Option<Grad>>>;

/// What is known of an op's gradient.
#[derive(Clone, Copy, Debug, Default)]
pub enum OpGradient {
    /// Nothing: differentiating through the op is an error.
    #[default]
    Undefined,
    /// The op has none: what comes before it does not matter to what comes after.
    NotDifferentiable,
    /// The function that makes it.
    Function(GradientFn),
}

/// How to differentiate.
#[derive(Clone, Debug, Default)]
pub struct GradientOptions {
    /// Taken as constants: nothing is differentiated through them.
    pub stop_gradients: Vec<OutputId>,
    /// Gives new nodes the devices of the forward nodes that they are for.
    pub colocate: bool,
    /// Lets all gradients of a node's inputs be there before one is used.
    pub gate: bool,
}

/// Whether gradients flow through tensors of this type.
pub fn is_differentiable(dtype: DType) -> bool {
    matches!(dtype, DType::F16 | DType::BF16 | DType::F32 | DType::F64 | DType::C64 | DType::C128 | DType::Resource | DType::Variant)
}

/// Adds nodes for the derivatives of the sum of `ys` with respect to each of `xs`; `None` where it does not depend on one.
///
/// `grad_ys` weights the `ys`: one for each, or none at all; `None` stands for ones.
///
/// # Errors
/// `InvalidArgument` for `ys` that have no gradient, for weights that do not fit, and for loops that are gradients themselves;
/// `NotFound` where an op on the way has no gradient function.
pub fn add_gradients(
    b: &mut GraphBuilder<'_>,
    ys: &[OutputId],
    xs: &[OutputId],
    grad_ys: &[Option<OutputId>],
    options: &GradientOptions,
) -> Result<Vec<Option<Grad>>> {
    b.within_name("gradients", |b| {
        let mut walk = Walk::new(b, ys, xs, options)?;
        walk.seed(ys, grad_ys)?;
        walk.run()?;
        xs.iter().map(|&x| walk.gradient_of(x)).collect()
    })
}

/// The walk back through the graph.
struct Walk<'a, 'b, 'g> {
    b: &'b mut GraphBuilder<'g>,
    options: &'a GradientOptions,
    /// What consumers gave for each output of a node.
    grads: FxHashMap<NodeId, Vec<Vec<Grad>>>,
    /// For nodes between the `xs` and the `ys`: consumers among them that were not visited yet.
    pending: FxHashMap<NodeId, i32>,
    /// Nodes that nothing is differentiated through.
    stops: FxHashSet<NodeId>,
    ys: Vec<NodeId>,
    loops: LoopStates,
    queue: VecDeque<NodeId>,
}

impl<'a, 'b, 'g> Walk<'a, 'b, 'g> {
    fn new(b: &'b mut GraphBuilder<'g>, ys: &[OutputId], xs: &[OutputId], options: &'a GradientOptions) -> Result<Self> {
        for &tensor in ys.iter().chain(xs) {
            b.graph().output_type(tensor)?;
        }
        let reached = reach(b, xs);
        let mut between = find_between(b, ys, &reached);
        let loops = LoopStates::new(b, &mut between)?;
        let members: FxHashSet<NodeId> = between.iter().copied().collect();
        let mut pending: FxHashMap<NodeId, i32> = between.iter().map(|&n| (n, 0)).collect();
        for &node in &between {
            for input in b.graph().inputs(node) {
                if members.contains(&input.node) {
                    *pending.entry(input.node).or_default() += 1;
                }
            }
        }
        let mut stops: FxHashSet<NodeId> = options.stop_gradients.iter().map(|s| s.node).collect();
        // An x behind which there is no other x.
        for x in xs {
            if !b.graph().inputs(x.node).any(|i| pending.get(&i.node).is_some_and(|&n| n > 0)) {
                stops.insert(x.node);
            }
        }
        let mut ends: Vec<NodeId> = ys.iter().map(|y| y.node).collect();
        ends.dedup();
        Ok(Walk { b, options, grads: FxHashMap::default(), pending, stops, ys: ends, loops, queue: VecDeque::new() })
    }

    /// Gives the `ys` their gradients and begins with those that nothing else waits for.
    fn seed(&mut self, ys: &[OutputId], grad_ys: &[Option<OutputId>]) -> Result<()> {
        if !grad_ys.is_empty() && grad_ys.len() != ys.len() {
            bail!(InvalidArgument, "Must specify a grad_y for each y in ys: {} for {}", grad_ys.len(), ys.len());
        }
        for (i, &y) in ys.iter().enumerate() {
            let dtype = self.b.dtype(y);
            let name = self.b.graph().tensor_name(y);
            let grad = match grad_ys.get(i).copied().flatten() {
                Some(grad) => {
                    let given = self.b.graph().output_type(grad)?.dtype;
                    if given != dtype {
                        bail!(InvalidArgument, "Gradient type {given} generated for tensor {name} with type {dtype} does not match");
                    }
                    grad
                }
                None if matches!(dtype, DType::C64 | DType::C128) => {
                    bail!(InvalidArgument, "Gradients of complex tensors ({name}) must set grad_ys (y.dtype = {dtype})")
                }
                None if !is_differentiable(dtype) => {
                    bail!(InvalidArgument, "'{name}' is {dtype}, which has no gradient: ys must be floating point")
                }
                None => self.b.ones_like(y, &format!("grad_ys_{i}"))?,
            };
            self.add(y, grad.into());
        }
        let mut queued = FxHashSet::default();
        for &y in &self.ys {
            if self.pending.get(&y) == Some(&0) && queued.insert(y) {
                self.queue.push_back(y);
            }
        }
        let exits = self.loops.unused_exits(self.b, &mut self.pending, &self.ys);
        for exit in exits {
            if is_differentiable(self.b.dtype(exit)) {
                let zeros = self.loops.zeros_for_exit(self.b, exit)?;
                self.add(exit, zeros.into());
            }
            self.queue.push_back(exit.node);
        }
        Ok(())
    }

    fn add(&mut self, tensor: OutputId, grad: Grad) {
        let num_outputs = self.b.graph()[tensor.node].num_outputs();
        let of_node = self.grads.entry(tensor.node).or_insert_with(|| vec![Vec::new(); num_outputs]);
        if let Some(of_output) = of_node.get_mut(tensor.slot as usize) {
            of_output.push(grad);
        }
    }

    fn run(&mut self) -> Result<()> {
        while let Some(node) = self.queue.pop_front() {
            self.visit(node)?;
            self.release_inputs(node)?;
        }
        self.loops.finish(self.b)
    }

    /// Gives a node's inputs their gradients.
    fn visit(&mut self, node: NodeId) -> Result<()> {
        let outer = self.b.scope().clone();
        let scope = if self.options.colocate { outer.colocated_with(&[node]) } else { outer.clone() };
        let before = self.loops.backward_context(self.b, node, true).or(outer.context());
        self.b.set_scope(scope.in_context(before));
        let result = self.sum_outputs(node).and_then(|grads| {
            let after = self.loops.backward_context(self.b, node, false).or(outer.context());
            self.b.set_scope(scope.in_context(after));
            let is_reached = grads.iter().any(Option::is_some);
            if !is_reached || self.stops.contains(&node) {
                return Ok(());
            }
            let inputs = self.differentiate(node, grads)?;
            self.hand_on(node, inputs)
        });
        self.b.set_scope(outer);
        result
    }

    /// The sums of the gradients of a node's outputs.
    fn sum_outputs(&mut self, node: NodeId) -> Result<Vec<Option<Grad>>> {
        let num_outputs = self.b.graph()[node].num_outputs();
        // A loop's switch is visited twice: by its exit, then by its body.
        let is_loop_switch = self.loops.is_loop_switch(self.b, node);
        let Some(given) = self.grads.get_mut(&node) else { return Ok(vec![None; num_outputs]) };
        let given: Vec<Vec<Grad>> = if is_loop_switch { given.clone() } else { std::mem::take(given) };
        let mut sums = Vec::with_capacity(num_outputs);
        for grads in &given {
            sums.push(self.b.sum_gradients(grads)?);
        }
        if !is_loop_switch {
            // Kept for an x that is this node.
            self.grads.insert(node, sums.iter().map(|s| s.iter().cloned().collect()).collect());
        }
        Ok(sums)
    }

    /// The gradients of a node's inputs.
    fn differentiate(&mut self, node: NodeId, mut grads: Vec<Option<Grad>>) -> Result<Vec<Option<Grad>>> {
        let forward = &self.b.graph()[node];
        let (name, op_def) = (forward.name().to_owned(), forward.op_def().clone());
        let is_control_flow = forward.is_control_flow();
        let rule = match op_def.gradient {
            OpGradient::Function(f) => Some(f),
            OpGradient::NotDifferentiable => return Ok(vec![None; forward.num_inputs()]),
            OpGradient::Undefined if is_control_flow => None,
            OpGradient::Undefined => {
                bail!(NotFound, "No gradient defined for operation '{name}' (op type: {}).", op_def.name)
            }
        };
        for (slot, grad) in grads.iter_mut().enumerate() {
            let output = node.output(slot as u32);
            if grad.is_none() && is_differentiable(self.b.dtype(output)) {
                *grad = self.loops.zeros_for_output(self.b, output)?.map(Grad::Dense);
            }
        }
        let inputs: Vec<OutputId> = self.b.graph().inputs(node).collect();
        let num_inputs = inputs.len();
        let backward = Backward { node, inputs, grads };
        let scope_name = format!("{}_grad", name.rsplit('/').next().unwrap_or(&name));
        let outer = name.rsplit_once('/').map_or("", |(outer, _)| outer);
        let base = self.b.scope().name().to_owned();
        let parent = if outer.is_empty() { base.clone() } else { format!("{base}/{outer}") };
        let scope = self.b.scope().named(&parent);
        let result = self.b.within(scope, |b| {
            b.within_name(&scope_name, |b| match rule {
                Some(rule) => rule(b, &backward),
                None => control_flow::differentiate(b, &backward),
            })
        });
        let given = result.map_err(|e| e.append(format_args!("\n\t in the gradient of '{name}' (op type: {})", op_def.name)))?;
        if given.len() != num_inputs {
            return Err(Error::internal(format!(
                "Num gradients {} generated for op '{name}' do not match num inputs {num_inputs}",
                given.len()
            )));
        }
        if self.options.gate && given.iter().flatten().count() > 1 { self.b.gate_gradients(given) } else { Ok(given) }
    }

    /// Gives the gradients of a node's inputs to their producers.
    fn hand_on(&mut self, node: NodeId, grads: Vec<Option<Grad>>) -> Result<()> {
        let inputs: Vec<OutputId> = self.b.graph().inputs(node).collect();
        for (input, grad) in inputs.into_iter().zip(grads) {
            let Some(grad) = grad else { continue };
            if let Grad::Dense(tensor) = grad
                && self.b.dtype(input) != DType::Resource
            {
                let known = self.b.shape(input);
                if let Err(e) = self.b.merge_shape(tensor, &known) {
                    bail!(
                        InvalidArgument,
                        "Incompatible shapes between op input and calculated input gradient. Forward operation: {}. {e}",
                        self.b.graph()[node].name()
                    );
                }
            }
            self.add(input, grad);
        }
        Ok(())
    }

    /// Counts a node as visited, and queues producers that all consumers of have been.
    fn release_inputs(&mut self, node: NodeId) -> Result<()> {
        let inputs: Vec<OutputId> = self.b.graph().inputs(node).collect();
        for input in inputs {
            let producer = input.node;
            let Some(count) = self.pending.get_mut(&producer) else { continue };
            *count -= 1;
            let count = *count;
            let is_ready = count == 0 || (count > 0 && self.loops.is_loop_switch(self.b, producer));
            if !is_ready {
                continue;
            }
            if !self.b.graph()[producer].is_exit() {
                self.queue.push_back(producer);
                continue;
            }
            let has_grads = |exit: OutputId| self.grads.get(&exit.node).is_some_and(|g| g.iter().any(|g| !g.is_empty()));
            let Some(exits) = self.loops.defer_exit(self.b, input, has_grads) else { continue };
            for (exit, needs_zeros) in exits {
                if needs_zeros && is_differentiable(self.b.dtype(exit)) {
                    let zeros = self.loops.zeros_for_exit(self.b, exit)?;
                    self.add(exit, zeros.into());
                }
                self.queue.push_back(exit.node);
            }
        }
        Ok(())
    }

    fn gradient_of(&mut self, x: OutputId) -> Result<Option<Grad>> {
        match self.grads.get(&x.node).and_then(|g| g.get(x.slot as usize)).cloned() {
            Some(grads) => self.b.sum_gradients(&grads),
            None => Ok(None),
        }
    }
}

/// The nodes that depend on the `xs` through tensors that have gradients.
fn reach(b: &GraphBuilder<'_>, xs: &[OutputId]) -> FxHashSet<NodeId> {
    let mut reached = FxHashSet::default();
    let mut queue: VecDeque<NodeId> = xs.iter().map(|x| x.node).collect();
    while let Some(node) = queue.pop_front() {
        if !reached.insert(node) {
            continue;
        }
        let types = b.graph()[node].output_types();
        let edges = b.graph().out_edges(node).filter(|e| !e.is_control());
        queue.extend(edges.filter(|e| types.get(e.src_output as usize).is_some_and(|t| is_differentiable(t.dtype))).map(|e| e.dst));
    }
    reached
}

/// The reached nodes that the `ys` depend on, nearest to the `ys` first: an outer loop's exits come before an inner one's.
fn find_between(b: &GraphBuilder<'_>, ys: &[OutputId], reached: &FxHashSet<NodeId>) -> Vec<NodeId> {
    let mut between = Vec::new();
    let mut seen = FxHashSet::default();
    let mut queue: VecDeque<NodeId> = ys.iter().map(|y| y.node).collect();
    while let Some(node) = queue.pop_front() {
        if reached.contains(&node) && seen.insert(node) {
            between.push(node);
            queue.extend(b.graph().inputs(node).map(|i| i.node));
        }
    }
    between
}
