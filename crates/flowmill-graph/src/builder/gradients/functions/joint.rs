//! A function's body with the gradient of its results added to it, and its division into a forward and a backward part.
//!
//! What the backward part needs of the forward one are the tensors on edges from this to that. They become further results of the forward
//! part and arguments of the backward one. Constants are in both, and shapes are taken in the forward part, so that they and not the tensors
//! are kept.

use super::frames::raise_loops;
use crate::builder::gradients::{Grad, GradientOptions, GradientWalk, Step, is_differentiable};
use crate::builder::{BuilderState, Scope, ScopedBuilder};
use crate::{ARG, FunctionArg, FunctionBody, FunctionPart, Graph, Node, NodeId, OpRegistry, OutputId, function_def};
use flowmill_proto::attr_value::Value;
use flowmill_proto::{AttrValue, FunctionDef};
use flowmill_tensor::{DType, PartialShape, Result, Tensor, bail};
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;

/// A function's body that a gradient is added to.
#[derive(Debug)]
pub struct FunctionGraph {
    /// The nodes.
    pub graph: Graph,
    /// The builder's data about them.
    pub state: BuilderState,
    /// The function's name.
    pub function: String,
}

impl FunctionGraph {
    /// Returns a graph without nodes, for while the real one is elsewhere.
    pub fn empty(registry: &Arc<OpRegistry>) -> FunctionGraph {
        FunctionGraph { graph: Graph::new(registry.clone()), state: BuilderState::default(), function: String::new() }
    }

    /// Adds to it.
    ///
    /// # Errors
    /// Returns the error of `f`.
    pub fn build<T>(&mut self, scope: Scope, f: impl FnOnce(&mut ScopedBuilder<'_>) -> Result<T>) -> Result<T> {
        let mut b = ScopedBuilder::new(&mut self.graph, &mut self.state, scope)?;
        f(&mut b)
    }
}

/// A body, the walk back through it, and then the gradients of its arguments.
#[derive(Debug)]
pub(super) struct Joint {
    pub(super) body: FunctionGraph,
    pub(super) args: Vec<OutputId>,
    pub(super) results: Vec<OutputId>,
    /// The gradients of some results, as arguments.
    pub(super) dys: Vec<OutputId>,
    pub(super) walk: GradientWalk,
    /// Gradients by the arguments that were requested; set at the end of the walk.
    pub(super) grads: Vec<Option<Grad>>,
    /// The function's own nodes.
    own: Vec<NodeId>,
    control_results: Vec<NodeId>,
}

/// The forward tensors that a backward part takes.
#[derive(Debug, Default)]
pub(super) struct Needs {
    /// Each once.
    pub(super) tensors: Vec<OutputId>,
    /// For tensors that are others by another name, these.
    pub(super) replaced: FxHashMap<OutputId, OutputId>,
}

impl Needs {
    /// Finds the forward tensors that `targets` depend on, without those before `stops`.
    pub(super) fn new(graph: &Graph, mut forward: FxHashSet<NodeId>, targets: &[OutputId], stops: &[OutputId]) -> Needs {
        let mut needs = Needs::default();
        let (mut met, mut seen) = (FxHashSet::default(), FxHashSet::default());
        let mut todo: Vec<OutputId> = targets.iter().rev().copied().collect();
        while let Some(tensor) = todo.pop() {
            if stops.contains(&tensor) {
                continue;
            }
            let node = &graph[tensor.node];
            if is_size(node) && graph.inputs(node.id()).all(|i| forward.contains(&i.node)) {
                forward.insert(node.id());
            }
            if !forward.contains(&tensor.node) {
                if seen.insert(tensor.node) {
                    let first = todo.len();
                    todo.extend(graph.inputs(tensor.node));
                    todo[first..].reverse();
                }
                continue;
            }
            let origin = origin(graph, tensor);
            if origin != tensor {
                needs.replaced.insert(tensor, origin);
            }
            if graph[origin.node].is_switch() {
                // The backward part has one of its own.
                if seen.insert(origin.node) {
                    todo.extend(graph.inputs(origin.node));
                }
                continue;
            }
            if !is_repeatable(&graph[origin.node]) && met.insert(origin) {
                needs.tensors.push(origin);
            }
        }
        needs
    }
}

/// Returns the forward part: nodes, and what is before them.
pub(super) fn forward_nodes(graph: &Graph, nodes: impl Iterator<Item = NodeId>) -> FxHashSet<NodeId> {
    let mut forward = FxHashSet::default();
    let mut todo: Vec<NodeId> = nodes.collect();
    while let Some(id) = todo.pop() {
        if forward.insert(id) {
            todo.extend(graph.inputs(id).map(|i| i.node));
        }
    }
    forward
}

/// Returns the tensor that `tensor` is an identity of.
pub(super) fn origin(graph: &Graph, mut tensor: OutputId) -> OutputId {
    while graph[tensor.node].is_op("Identity")
        && graph.control_inputs(tensor.node).all(|c| c == NodeId::SOURCE)
        && let Some(source) = graph.input(tensor.node, 0)
    {
        tensor = source;
    }
    tensor
}

/// Constants, and handles of variables that are named.
pub(in crate::builder::gradients) fn is_repeatable(node: &Node) -> bool {
    node.num_inputs() == 0 && matches!(node.op(), "Const" | "VarHandleOp")
}

/// Ops of small results that say how large something is.
fn is_size(node: &Node) -> bool {
    node.traits().reads_shape || matches!(node.op(), "TensorListLength" | "TensorListElementShape")
}

pub(super) fn type_attr(dtype: DType) -> AttrValue {
    Value::Type(dtype.number()).into()
}

impl Joint {
    /// Begins the walk from the results `ys` to the arguments `xs` of a function. Each result comes with the type and
    /// shape of its gradient if these are not the result's. `known` are the arguments as the caller knows them.
    pub(super) fn new(
        function: &str,
        mut body: FunctionBody,
        known: &[FunctionArg],
        ys: &[(usize, Option<(DType, PartialShape)>)],
        xs: &[usize],
        options: &GradientOptions,
    ) -> Result<Joint> {
        for (&arg, known) in body.args.iter().zip(known) {
            tell(&mut body.graph, arg, known)?;
        }
        raise_loops(&mut body.graph, function, &mut body.control_retvals)?;
        let args: Vec<OutputId> = body.args.iter().map(|a| a.output(0)).collect();
        let mut results = Vec::with_capacity(body.retvals.len());
        for &retval in &body.retvals {
            let Some(source) = body.graph.input(retval, 0) else { bail!(Internal, "a result comes from nowhere") };
            results.push(source);
        }
        for &retval in &body.retvals {
            body.graph.remove_node(retval)?;
        }
        let own = body.graph.op_nodes().filter(|n| !n.is_op(ARG)).map(Node::id).collect();
        let mut body_graph = FunctionGraph { graph: body.graph, state: BuilderState::default(), function: function.to_owned() };
        let (dys, walk) = body_graph.build(Scope::root(), |b| {
            let mut dys = Vec::with_capacity(ys.len());
            for (y, given) in ys {
                let (dtype, shape) = given.clone().unwrap_or_else(|| (b.dtype(results[*y]), b.shape(results[*y])));
                dys.push(add_arg(b, "dy", dtype, &shape)?);
            }
            let grad_ys: Vec<Option<OutputId>> = dys.iter().map(|&dy| Some(dy)).collect();
            let (ys, xs): (Vec<OutputId>, Vec<OutputId>) =
                (ys.iter().map(|(y, _)| results[*y]).collect(), xs.iter().map(|&x| args[x]).collect());
            let options = GradientOptions { name: None, stop_gradients: Vec::new(), ..options.clone() };
            Ok((dys, GradientWalk::new(b, &ys, &xs, &grad_ys, options)?))
        })?;
        Ok(Joint { body: body_graph, args, results, dys, walk, grads: Vec::new(), own, control_results: body.control_retvals })
    }

    /// Walks to the next custom gradient, or to the end: `None` then.
    pub(super) fn advance(&mut self) -> Result<Option<Step>> {
        let walk = &mut self.walk;
        match self.body.build(Scope::root(), |b| walk.advance(b))? {
            Step::Done(grads) => {
                self.grads = grads;
                Ok(None)
            }
            custom @ Step::Custom { .. } => Ok(Some(custom)),
        }
    }

    /// Adds nodes to the gradient.
    pub(super) fn build<T>(&mut self, f: impl FnOnce(&mut ScopedBuilder<'_>) -> Result<T>) -> Result<T> {
        self.body.build(Scope::root().named("gradients"), f)
    }

    /// Returns the gradient of argument `arg` as a tensor, zeros if there is none; `dtype` is that of a variable's.
    pub(super) fn dense(&mut self, grad: Option<&Grad>, arg: usize, dtype: DType) -> Result<OutputId> {
        let arg = self.args[arg];
        self.build(|b| match grad {
            Some(grad) => b.densify(grad),
            None => zeros_for(b, arg, dtype),
        })
    }

    /// Returns an argument of a part made of it.
    pub(super) fn arg(&self, tensor: OutputId) -> Result<FunctionArg> {
        FunctionArg::new(&self.body.graph, self.body.state.shapes(), tensor)
    }

    pub(super) fn dtype(&self, tensor: OutputId) -> DType {
        self.body.graph.output_type(tensor).map_or(DType::Resource, |t| t.dtype)
    }

    pub(super) fn shape(&self, tensor: OutputId) -> PartialShape {
        self.body.state.shapes().shape(tensor)
    }

    /// Finds the tensors of the function that the gradients `targets` depend on, without those before `stops`.
    pub(super) fn needs(&mut self, targets: &[OutputId], stops: &[OutputId]) -> Result<Needs> {
        let own = self.args.iter().map(|a| a.node).chain(self.own.iter().copied());
        let needs = Needs::new(&self.body.graph, forward_nodes(&self.body.graph, own), targets, stops);
        if self.own.iter().any(|&n| self.body.graph[n].is_switch()) { self.keep_alive(needs) } else { Ok(needs) }
    }

    /// Returns the function with further arguments and results.
    pub(super) fn forward(&self, more_args: &[OutputId], more_results: &[OutputId]) -> Result<FunctionDef> {
        let args = self.args.iter().chain(more_args).map(|&a| self.arg(a)).collect::<Result<Vec<_>>>()?;
        let results = [&self.results, more_results].concat();
        let part = FunctionPart {
            args: &args,
            results: &results,
            kept: &self.own,
            control_results: &self.control_results,
            ..FunctionPart::default()
        };
        function_def(&self.body.graph, &format!("{}_forward", self.base()), &part)
    }

    /// Returns the function of `results` of the gradient.
    pub(super) fn backward(
        &self,
        args: &[FunctionArg],
        results: &[OutputId],
        replaced: FxHashMap<OutputId, OutputId>,
    ) -> Result<FunctionDef> {
        let part = FunctionPart { args, results, replaced, ..FunctionPart::default() };
        function_def(&self.body.graph, &format!("{}_backward", self.base()), &part)
    }

    /// The function's name without what was appended to it for a gradient before.
    pub(super) fn base(&self) -> &str {
        let name = &self.body.function;
        name.split_once("_forward_").map_or(name.as_str(), |(base, _)| base)
    }
}

/// Adds what a caller knows of an argument to what its node says.
fn tell(graph: &mut Graph, arg: NodeId, known: &FunctionArg) -> Result<()> {
    let mut attrs = graph.node(arg)?.attrs().clone();
    let declared = attrs.list::<PartialShape>("_output_shapes").ok().and_then(|shapes| shapes.into_iter().next()).unwrap_or_default();
    let shape = declared.merge(&known.shape).unwrap_or(declared);
    for (name, value) in (FunctionArg { shape, ..known.clone() }).attrs().into_map() {
        attrs.set(name, value);
    }
    graph.set_attrs(arg, attrs)
}

/// Adds an argument to a body.
pub(super) fn add_arg(b: &mut ScopedBuilder<'_>, name: &str, dtype: DType, shape: &PartialShape) -> Result<OutputId> {
    let arg = b.op(ARG).name(name).attr("T", type_attr(dtype)).attr("index", 0i64).output()?;
    b.merge_shape(arg, shape)?;
    Ok(arg)
}

/// Zeros as the gradient of a tensor; for the handle of a variable, in the shape of what that holds.
pub(super) fn zeros_for(b: &mut ScopedBuilder<'_>, tensor: OutputId, dtype: DType) -> Result<OutputId> {
    if b.dtype(tensor) != DType::Resource {
        return b.zeros_like(tensor);
    }
    let shape = b.call("VariableShape", &[tensor])?;
    let zero = b.constant("Const", &Tensor::zeros(dtype, [])?)?;
    b.call("Fill", &[shape, zero])
}

/// Returns the arguments whose gradients the gradient of `result` may reach.
pub(super) fn arguments_behind(graph: &Graph, result: OutputId, options: &GradientOptions) -> FxHashSet<NodeId> {
    use crate::builder::gradients::OpGradient;
    let (mut seen, mut args) = (FxHashSet::default(), FxHashSet::default());
    let mut todo = vec![result];
    while let Some(tensor) = todo.pop() {
        let node = &graph[tensor.node];
        let is_passed = graph.output_type(tensor).is_ok_and(|t| is_differentiable(t.dtype));
        if !is_passed || !seen.insert(tensor.node) {
            continue;
        }
        if node.is_op(ARG) {
            args.insert(tensor.node);
        }
        let kind = node.attrs().get::<&str>("_gradient_op_type").unwrap_or(node.op());
        let stops = !options.custom.contains(kind)
            && (options.not_differentiable.contains(kind)
                || node.is_op("StopGradient")
                || matches!(node.op_def().gradient, OpGradient::NotDifferentiable));
        if !stops {
            todo.extend(graph.inputs(tensor.node));
        }
    }
    args
}
