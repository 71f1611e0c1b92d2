//! Gradients of calls, and of conditionals and loops whose branches and bodies are functions.
//!
//! The gradient is added to a copy of the function's body, which is then divided ([`joint`]). The node that runs the function runs the forward part
//! of it instead, which has more results: the tensors that the gradient needs. So nothing runs twice, and what drew random numbers or changed a
//! variable is differentiated as it was. The backward part is the function of another node: a call ([`calls`]), a conditional on the same
//! predicate ([`branches`]), or a loop that runs as often ([`loops`]). Functions in functions, and gradients of gradients, are what they are
//! elsewhere. Loops of frames in a body become loops by functions first ([`frames`]). A function that has a gradient function in the library is differentiated by a call of that one.

mod branches;
mod calls;
mod frames;
mod gates;
mod joint;
mod loops;

pub use joint::FunctionGraph;
pub(super) use joint::is_repeatable;

use super::{Grad, GradientOptions, GradientWalk, IndexedSlices, Step, add_gradients};
use crate::builder::{BuilderState, Scope, ScopedBuilder};
use crate::call_shapes;
use crate::{
    ARG, Attrs, Function, FunctionArg, FunctionBody, FunctionLibrary, Graph, Node, NodeId, OpDef, OpRegistry, OutputId, RETVAL, Role,
    call_of, instantiate_function,
};
use flowmill_proto::attr_value::{ListValue, Value};
use flowmill_proto::{AttrValue, FunctionDef, NameAttrList};
use flowmill_tensor::{DType, PartialShape, Result, bail};
use joint::Joint;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

/// Returns true if a node runs functions of the graph's library.
pub(super) fn is_call(graph: &Graph, node: &Node) -> bool {
    matches!(node.role(), Role::If | Role::Case | Role::While) || call_shapes::is_call(graph, node)
}

pub(super) fn type_list(types: impl IntoIterator<Item = DType>) -> AttrValue {
    let r#type = types.into_iter().map(DType::number).collect();
    Value::List(Box::new(ListValue { r#type, ..ListValue::default() })).into()
}

fn shape_list<'a>(shapes: impl IntoIterator<Item = &'a PartialShape>) -> AttrValue {
    ListValue { shape: shapes.into_iter().map(PartialShape::to_proto).collect(), ..ListValue::default() }.into()
}

pub(super) fn func(name: String) -> NameAttrList {
    NameAttrList { name, ..NameAttrList::default() }
}

/// The gradients of a call's inputs by the gradient function that the library has for the one called: it takes the inputs and the gradients of all
/// outputs. `None` if there is none.
pub(super) fn call_gradient_function(b: &mut ScopedBuilder<'_>, node: NodeId, grads: &[Option<Grad>]) -> Result<Option<Vec<Option<Grad>>>> {
    let Some(function) = call_of(b.graph(), b.graph().node(node)?) else { return Ok(None) };
    let Some(gradient) = b.graph().library().gradient(&function.name).map(str::to_owned) else { return Ok(None) };
    let mut args: Vec<OutputId> = b.graph().inputs(node).collect();
    let num_inputs = args.len();
    for (slot, grad) in grads.iter().enumerate() {
        args.push(match grad {
            Some(grad) => b.densify(grad)?,
            None => b.zeros_like(node.output(slot as u32))?,
        });
    }
    let f = NameAttrList { name: gradient, attr: function.attr, ..NameAttrList::default() };
    let types: Vec<DType> = args.iter().map(|&a| b.dtype(a)).collect();
    let call = b.op("StatefulPartitionedCall").inputs(&args).attr("Tin", type_list(types.iter().copied()));
    let call = call.attr("Tout", type_list(types[..num_inputs].iter().copied())).attr("f", f).finish()?;
    Ok(Some((0..num_inputs as u32).map(|slot| Some(call.output(slot).into())).collect()))
}

/// The gradient of a node that runs functions, being made.
#[derive(Debug)]
pub(super) struct CallGradient {
    node: NodeId,
    kind: Kind,
    /// The functions that are differentiated: one, or one for each branch.
    joints: Vec<Joint>,
    /// The number of functions whose gradients are done.
    done: usize,
    /// The gradients of the node's outputs.
    grads: Vec<Option<OutputId>>,
    /// The inputs that the functions take, and whether the gradients of the node's outputs reach each.
    inputs: Vec<OutputId>,
    is_reached: Vec<bool>,
    /// For each of the walks' `xs`, which input it is.
    xs: Vec<usize>,
    /// The scope of the new nodes.
    scope: Scope,
}

#[derive(Debug)]
enum Kind {
    Call,
    /// `If` and `Case`: the branches by the number that chooses them.
    Branches,
    Loop(loops::Variables),
}

impl CallGradient {
    /// Begins, in the current scope.
    pub(super) fn new(b: &mut ScopedBuilder<'_>, node: NodeId, grads: &[Option<Grad>], options: &GradientOptions) -> Result<CallGradient> {
        let forward = b.graph().node(node)?;
        let (op, attrs) = (forward.op().to_owned(), forward.attrs().clone());
        let mut inputs: Vec<OutputId> = b.graph().inputs(node).collect();
        let (kind, functions) = match forward.role() {
            Role::If => {
                let branches = [attrs.get::<&NameAttrList>("else_branch")?.clone(), attrs.get::<&NameAttrList>("then_branch")?.clone()];
                (Kind::Branches, branches.to_vec())
            }
            Role::Case => (Kind::Branches, attrs.list::<&NameAttrList>("branches")?.into_iter().cloned().collect()),
            Role::While => {
                let body = attrs.get::<&NameAttrList>("body")?.clone();
                (Kind::Loop(loops::Variables::default()), vec![body])
            }
            _ => match call_of(b.graph(), b.graph().node(node)?) {
                Some(function) => (Kind::Call, vec![function]),
                None => bail!(Internal, "'{op}' calls no function"),
            },
        };
        if matches!(kind, Kind::Branches) {
            if inputs.is_empty() {
                bail!(Internal, "a conditional without inputs");
            }
            inputs.remove(0);
        }
        let mut dense = Vec::with_capacity(grads.len());
        for grad in grads {
            dense.push(grad.as_ref().map(|g| b.densify(g)).transpose()?);
        }
        let scope = b.scope().clone();
        let mut this =
            CallGradient { node, kind, joints: Vec::new(), done: 0, grads: dense, is_reached: Vec::new(), xs: Vec::new(), inputs, scope };
        let bodies = functions.iter().map(|f| b.function_body(f)).collect::<Result<Vec<_>>>()?;
        if bodies.iter().any(|body| body.args.len() != this.inputs.len()) {
            bail!(InvalidArgument, "A function of another number of arguments was called with {}", this.inputs.len());
        }
        this.begin(b, &functions, bodies, options)?;
        Ok(this)
    }

    fn begin(
        &mut self,
        b: &mut ScopedBuilder<'_>,
        functions: &[NameAttrList],
        bodies: Vec<FunctionBody>,
        options: &GradientOptions,
    ) -> Result<()> {
        let mut known = Vec::with_capacity(self.inputs.len());
        for &input in &self.inputs {
            known.push(FunctionArg::new(b.graph(), b.state().shapes(), input)?);
        }
        let is_differentiable = |b: &ScopedBuilder<'_>, i: usize| super::is_differentiable(b.dtype(self.inputs[i]));
        let ys: Vec<usize>;
        if let (Kind::Loop(variables), [body]) = (&mut self.kind, &bodies[..]) {
            let with_grad: Vec<bool> = self.grads.iter().map(Option::is_some).collect();
            *variables = loops::Variables::new(b, self.node, body, &with_grad, options)?;
            for i in variables.changing() {
                known[i].shape = b.shape(self.node.output(i as u32));
            }
            ys = variables.carried.clone();
            self.xs = ys.iter().copied().chain(variables.invariant.iter().copied().filter(|&i| is_differentiable(b, i))).collect();
        } else {
            ys = (0..self.grads.len()).filter(|&i| self.grads[i].is_some()).collect();
            self.xs = (0..self.inputs.len()).filter(|&i| is_differentiable(b, i)).collect();
            self.is_reached = vec![false; self.inputs.len()];
            for body in &bodies {
                for &retval in &body.retvals {
                    let Some(result) = body.graph.input(retval, 0) else { continue };
                    let behind = joint::arguments_behind(&body.graph, result, options);
                    for (i, arg) in body.args.iter().enumerate() {
                        self.is_reached[i] |= behind.contains(arg);
                    }
                }
            }
        }
        let mut dys = Vec::with_capacity(ys.len());
        for y in ys {
            // The gradient of a handle is that of what the variable holds.
            let of_handle = self.grads[y].filter(|_| b.dtype(self.node.output(y as u32)) == DType::Resource);
            dys.push((y, of_handle.map(|grad| (b.dtype(grad), b.shape(grad)))));
        }
        for (function, body) in functions.iter().zip(bodies) {
            self.joints.push(Joint::new(&function.name, body, &known, &dys, &self.xs, options)?);
        }
        Ok(())
    }

    /// Goes on to the next custom gradient or to the gradients of all the node's inputs.
    pub(super) fn advance(&mut self, b: &mut ScopedBuilder<'_>) -> Result<Step> {
        while let Some(joint) = self.joints.get_mut(self.done) {
            add_missing(&mut joint.body.graph, b.graph().library())?;
            if let Some(custom) = joint.advance()? {
                return Ok(custom);
            }
            add_missing(b.graph_mut(), joint.body.graph.library())?;
            self.done += 1;
        }
        let scope = self.scope.clone();
        let grads = b.within(scope, |b| match &self.kind {
            Kind::Call => self.finish_call(b),
            Kind::Branches => self.finish_branches(b),
            Kind::Loop(_) => self.finish_loop(b),
        })?;
        let mut all = vec![None; b.graph().node(self.node)?.num_inputs()];
        let first = usize::from(matches!(self.kind, Kind::Branches));
        for (i, grad) in grads.into_iter().enumerate() {
            all[first + i] = grad;
        }
        Ok(Step::Done(all))
    }

    /// Says how many walks those through the functions are inside of, and what they count together.
    pub(super) fn set_place(&mut self, depth: u32, num_bodies: &Arc<AtomicUsize>) {
        for joint in &mut self.joints {
            joint.walk.set_place(depth, num_bodies);
        }
    }

    /// Returns the walk that asks for a custom gradient, and the body that it goes through.
    pub(super) fn asking(&mut self) -> Option<(&mut GradientWalk, &mut FunctionGraph)> {
        self.joints.get_mut(self.done).map(|j| (&mut j.walk, &mut j.body))
    }

    /// Returns the gradient of an input that no function gives one for: zeros if it counts in results without gradients, as TensorFlow has it.
    fn unreached(&self, b: &mut ScopedBuilder<'_>, i: usize) -> Result<Option<Grad>> {
        let is_zero = self.is_reached[i] && !matches!(b.dtype(self.inputs[i]), DType::Resource | DType::Variant);
        if is_zero { b.zeros_like(self.inputs[i]).map(|zeros| Some(zeros.into())) } else { Ok(None) }
    }
}

/// Returns a gradient's tensors.
pub(super) fn tensors_of(grad: &Grad) -> Vec<OutputId> {
    match grad {
        Grad::Dense(tensor) => vec![*tensor],
        Grad::Slices(s) => [s.values, s.indices].into_iter().chain(s.dense_shape).collect(),
    }
}

/// Returns a gradient like another one, of other tensors.
fn with_tensors(grad: &Grad, tensors: &mut impl Iterator<Item = OutputId>) -> Option<Grad> {
    Some(match grad {
        Grad::Dense(_) => Grad::Dense(tensors.next()?),
        Grad::Slices(s) => Grad::Slices(IndexedSlices {
            values: tensors.next()?,
            indices: tensors.next()?,
            dense_shape: match s.dense_shape {
                Some(_) => Some(tensors.next()?),
                None => None,
            },
        }),
    })
}

/// Adds the functions of another graph's library.
fn add_missing(graph: &mut Graph, library: &Arc<FunctionLibrary>) -> Result<()> {
    if Arc::ptr_eq(graph.library(), library) {
        return Ok(());
    }
    let missing: Vec<FunctionDef> = library.iter().filter(|f| graph.library().get(f.name()).is_none()).map(|f| f.def().clone()).collect();
    for def in missing {
        graph.library_mut().add(def)?;
    }
    Ok(())
}

/// Adds the functions of another graph's library that nodes call, and those that these functions call.
pub(super) fn add_functions<'n>(graph: &mut Graph, library: &Arc<FunctionLibrary>, nodes: impl Iterator<Item = &'n Node>) -> Result<()> {
    if Arc::ptr_eq(graph.library(), library) {
        return Ok(());
    }
    for function in library.reachable(nodes.map(|n| (n.op(), n.attrs().values()))) {
        if graph.library().get(function.name()).is_none() {
            graph.library_mut().add(function.def().clone())?;
        }
    }
    Ok(())
}

fn name_of(def: &FunctionDef) -> String {
    def.signature.as_ref().map(|s| s.name.clone()).unwrap_or_default()
}

pub(super) fn is_stateful(def: &FunctionDef) -> bool {
    def.signature.as_ref().is_some_and(|s| s.is_stateful)
}

/// Adds a function to the library; returns its name.
pub(super) fn define(b: &mut ScopedBuilder<'_>, def: FunctionDef) -> Result<String> {
    let name = name_of(&def);
    b.graph_mut().library_mut().add(def)?;
    Ok(name)
}

/// Returns the attributes of a node that say how it is run; those of its gradient are the same.
fn run_attrs(attrs: &Attrs) -> Vec<(String, AttrValue)> {
    let names = ["_lower_using_switch_merge", "parallel_iterations", "config", "config_proto", "executor_type"];
    names.iter().filter_map(|&n| attrs.attr(n).map(|v| (n.to_owned(), v.clone()))).collect()
}

/// Returns the gradient of a function, as `SymbolicGradient` calls it: takes the function's arguments and the gradients of its results, returns those of its
/// arguments, zeros if the results do not depend on one. Its graph's library has what it calls.
///
/// # Errors
/// `InvalidArgument`, `NotFound` and the other errors of [`instantiate_function`] and [`add_gradients`].
pub fn gradient_body(
    function: &Function,
    attrs: &Attrs,
    library: &Arc<FunctionLibrary>,
    registry: &Arc<OpRegistry>,
) -> Result<FunctionBody> {
    let mut body = instantiate_function(function, attrs, library, registry)?;
    frames::raise_loops(&mut body.graph, function.name(), &mut body.control_retvals)?;
    let ys: Vec<OutputId> = body.retvals.iter().filter_map(|&r| body.graph.input(r, 0)).collect();
    let xs: Vec<OutputId> = body.args.iter().map(|&a| a.output(0)).collect();
    for &retval in &body.retvals {
        body.graph.remove_node(retval)?;
    }
    let mut state = BuilderState::default();
    let mut b = ScopedBuilder::new(&mut body.graph, &mut state, Scope::root())?;
    let place =
        |dtype: DType, index: usize| [("T", AttrValue::from(Value::Type(dtype.number()))), ("index", AttrValue::from(index as i64))];
    let (mut grad_ys, mut differentiable) = (Vec::new(), Vec::new());
    for (i, &y) in ys.iter().enumerate() {
        let dtype = b.dtype(y);
        let [t, index] = place(dtype, xs.len() + i);
        let arg = b.op(ARG).name("dy").attr(t.0, t.1).attr(index.0, index.1).output()?;
        body.args.push(arg.node);
        body.arg_types.push(dtype);
        if super::is_differentiable(dtype) {
            differentiable.push(y);
            grad_ys.push(Some(arg));
        }
    }
    let grads = add_gradients(&mut b, &differentiable, &xs, &grad_ys, &GradientOptions::default())?;
    body.retvals.clear();
    body.retval_types.clear();
    for (i, (grad, &x)) in grads.iter().zip(&xs).enumerate() {
        let grad = match grad {
            Some(grad) => b.densify(grad)?,
            None => b.zeros_like(x)?,
        };
        let dtype = b.dtype(grad);
        let [t, index] = place(dtype, i);
        body.retvals.push(b.op(RETVAL).name("dx").input(grad).attr(t.0, t.1).attr(index.0, index.1).finish()?);
        body.retval_types.push(dtype);
    }
    Ok(body)
}

impl ScopedBuilder<'_> {
    /// Extends a node as gradients have extended one like it in a copy of the graph: it becomes a node of `op` with these attributes, takes
    /// `more_inputs` besides those that it has, and its new outputs have `shapes`.
    ///
    /// # Errors
    /// `NotFound` for a node or an op that is not there, `InvalidArgument` for attributes and inputs that do not fit.
    pub fn extend_node(&mut self, node: NodeId, op: &str, attrs: Attrs, more_inputs: &[OutputId], shapes: &[PartialShape]) -> Result<()> {
        let (first, is_other) = (self.graph.node(node)?.num_inputs(), !self.graph.node(node)?.is_op(op));
        let op = if is_other { Some(self.graph.op_def(op)?.clone()) } else { None };
        self.extend_call(node, op, attrs, shapes)?;
        for (i, &input) in more_inputs.iter().enumerate() {
            self.graph.add_edge(input, node, first + i)?;
        }
        Ok(())
    }

    /// Makes a node run other functions, which have more results and arguments than those it ran before, maybe as another op. The new outputs have
    /// `shapes`; its new inputs are still to be connected.
    fn extend_call(&mut self, node: NodeId, op: Option<Arc<OpDef>>, attrs: Attrs, shapes: &[PartialShape]) -> Result<()> {
        let old: Vec<PartialShape> = (0..self.graph.node(node)?.num_outputs() as u32).map(|slot| self.shape(node.output(slot))).collect();
        match op {
            Some(op) => self.graph.change_op(node, op, attrs)?,
            None => self.graph.set_attrs(node, attrs)?,
        }
        self.state.shapes.add_node(self.graph, node)?;
        for (slot, shape) in old.iter().chain(shapes).enumerate() {
            self.merge_shape(node.output(slot as u32), shape)?;
        }
        self.state.extended.push(node);
        let context = self.context_of(node);
        self.make_known(context, node);
        Ok(())
    }
}
