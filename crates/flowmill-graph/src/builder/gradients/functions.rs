//! Gradients of calls, and of conditionals and loops whose branches and bodies are functions.
//!
//! The function's body is copied into the gradient, a conditional or loop as one of `Switch` and `Merge` ([`GraphBuilder::cond`],
//! [`GraphBuilder::while_loop`]); what was copied is differentiated. So the forward part runs again for the gradient, as with TensorFlow's
//! `SymbolicGradient`: a function that draws random numbers draws others. Resources, slices, custom gradients and functions in functions are what
//! they are elsewhere. A function that has a gradient function in the library is differentiated by a call of that one.

use super::{Grad, GradientOptions, GradientWalk, Step, add_gradients};
use crate::builder::{BuilderState, GraphBuilder, Scope, WhileOptions};
use crate::{ARG, Attrs, Function, FunctionBody, FunctionLibrary, Graph, Node, NodeId, OpRegistry, OutputId, RETVAL, instantiate_function};
use flowmill_proto::attr_value::{ListValue, Value};
use flowmill_proto::{AttrValue, NameAttrList};
use flowmill_tensor::{DType, PartialShape, Result, bail};
use std::sync::Arc;

/// Whether a node runs functions of the graph's library.
pub(super) fn is_call(graph: &Graph, node: &Node) -> bool {
    match node.op() {
        "PartitionedCall"
        | "StatefulPartitionedCall"
        | "If"
        | "StatelessIf"
        | "_If"
        | "Case"
        | "StatelessCase"
        | "While"
        | "StatelessWhile"
        | "_While" => true,
        op => graph.library().get(op).is_some(),
    }
}

/// The function that a node calls, where it does nothing else.
fn call_of(graph: &Graph, node: &Node) -> Option<NameAttrList> {
    match node.op() {
        "PartitionedCall" | "StatefulPartitionedCall" => node.attrs().get::<&NameAttrList>("f").ok().cloned(),
        op => {
            graph.library().get(op).map(|_| NameAttrList { name: op.to_owned(), attr: node.attrs().0.clone(), ..NameAttrList::default() })
        }
    }
}

fn types(graph: &Graph, tensors: impl Iterator<Item = OutputId>) -> Result<AttrValue> {
    let r#type = tensors.map(|t| graph.output_type(t).map(|t| t.dtype.number())).collect::<Result<_>>()?;
    Ok(Value::List(Box::new(ListValue { r#type, ..ListValue::default() })).into())
}

/// The gradients of a call's inputs by the gradient function that the library has for the one called: it takes the inputs and the gradients of all
/// outputs. `None` where there is none.
pub(super) fn call_gradient_function(b: &mut GraphBuilder<'_>, node: NodeId, grads: &[Option<Grad>]) -> Result<Option<Vec<Option<Grad>>>> {
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
    let f = AttrValue::from(Value::Func(Box::new(NameAttrList { name: gradient, attr: function.attr, ..NameAttrList::default() })));
    let (tin, tout) = (types(b.graph(), args.iter().copied())?, types(b.graph(), args[..num_inputs].iter().copied())?);
    let call = b.op("StatefulPartitionedCall").inputs(&args).attr("Tin", tin).attr("Tout", tout).attr("f", f).finish()?;
    Ok(Some((0..num_inputs as u32).map(|slot| Some(call.output(slot).into())).collect()))
}

/// The walk back through a copy, in the present scope, of what a node runs. Its `xs` stand for the node's last inputs.
pub(super) fn walk_call(b: &mut GraphBuilder<'_>, node: NodeId, grads: &[Option<Grad>], options: &GradientOptions) -> Result<GradientWalk> {
    let forward = b.graph().node(node)?;
    let (op, attrs, num_inputs) = (forward.op().to_owned(), forward.attrs().clone(), forward.num_inputs());
    let mut inputs: Vec<OutputId> = Vec::with_capacity(num_inputs);
    for input in b.graph().inputs(node).collect::<Vec<_>>() {
        // What the node takes, where the gradient is made: in a backward loop the value of the iteration at hand.
        inputs.push(b.call("Identity", &[input])?);
    }
    let (xs, outputs) = match op.as_str() {
        "If" | "StatelessIf" | "_If" => {
            let Some((&pred, xs)) = inputs.split_first() else { bail!(Internal, "a conditional without inputs") };
            let branches = [body(b, &attrs, "else_branch")?, body(b, &attrs, "then_branch")?];
            let pred = truth(b, pred)?;
            (xs.to_vec(), b.cond("cond", pred, |b| b.copy_function(&branches[1], xs), |b| b.copy_function(&branches[0], xs))?)
        }
        "Case" | "StatelessCase" => {
            let Some((&index, xs)) = inputs.split_first() else { bail!(Internal, "a conditional without inputs") };
            let branches = attrs.list::<&NameAttrList>("branches")?.into_iter().map(|f| b.function_body(f)).collect::<Result<Vec<_>>>()?;
            (xs.to_vec(), case(b, index, &branches, 0, xs)?)
        }
        "While" | "StatelessWhile" | "_While" => {
            let shapes: Vec<PartialShape> = (0..num_inputs as u32).map(|slot| b.shape(node.output(slot))).collect();
            let outputs = repeat(b, &attrs, &inputs, &shapes)?;
            (inputs, outputs)
        }
        _ => {
            let Some(function) = call_of(b.graph(), b.graph().node(node)?) else { bail!(Internal, "'{op}' calls no function") };
            let body = b.function_body(&function)?;
            let outputs = b.copy_function(&body, &inputs)?;
            (inputs, outputs)
        }
    };
    let (mut ys, mut grad_ys) = (Vec::new(), Vec::new());
    for (&y, grad) in outputs.iter().zip(grads) {
        if let Some(grad) = grad {
            ys.push(y);
            grad_ys.push(Some(b.densify(grad)?));
        }
    }
    // No name that a tensor array would take for that of all gradients.
    let options = GradientOptions { name: Some("backward".to_owned()), stop_gradients: Vec::new(), ..options.clone() };
    GradientWalk::new(b, &ys, &xs, &grad_ys, options)
}

fn body(b: &GraphBuilder<'_>, attrs: &Attrs, name: &str) -> Result<FunctionBody> {
    b.function_body(attrs.get::<&NameAttrList>(name)?)
}

/// A condition as a boolean.
fn truth(b: &mut GraphBuilder<'_>, value: OutputId) -> Result<OutputId> {
    let is_scalar = b.shape(value).rank() == Some(0);
    if b.dtype(value) == DType::Bool && is_scalar { Ok(value) } else { b.call("ToBool", &[value]) }
}

/// `index == i ? branches[i] : …`; the last branch for any other index.
fn case(b: &mut GraphBuilder<'_>, index: OutputId, branches: &[FunctionBody], i: usize, args: &[OutputId]) -> Result<Vec<OutputId>> {
    let [branch, rest @ ..] = branches else { bail!(InvalidArgument, "Case needs at least one branch") };
    if rest.is_empty() {
        return b.copy_function(branch, args);
    }
    let number = b.scalar(i as i32)?;
    let is_taken = b.call("Equal", &[index, number])?;
    b.cond("case", is_taken, |b| b.copy_function(branch, args), |b| case(b, index, rest, i + 1, args))
}

/// A loop whose body is a function. What the body hands back as it got it, such as a variable's handle, enters once for all iterations.
fn repeat(b: &mut GraphBuilder<'_>, attrs: &Attrs, inputs: &[OutputId], shapes: &[PartialShape]) -> Result<Vec<OutputId>> {
    let (condition, step) = (body(b, attrs, "cond")?, body(b, attrs, "body")?);
    if step.retvals.len() != inputs.len() || step.args.len() != inputs.len() || condition.retvals.len() != 1 {
        bail!(InvalidArgument, "The loop's condition and body do not fit its {} variables", inputs.len());
    }
    let changes: Vec<usize> = (0..inputs.len()).filter(|&i| source_of(&step, i) != Some(step.args[i])).collect();
    if changes.is_empty() {
        return Ok(inputs.to_vec());
    }
    let invariant =
        |b: &GraphBuilder<'_>, i: usize| if b.shape(inputs[i]) == shapes[i] { shapes[i].clone() } else { PartialShape::unknown() };
    let options = WhileOptions {
        parallel_iterations: attrs.get_or("parallel_iterations", 10)?,
        shape_invariants: changes.iter().map(|&i| invariant(b, i)).collect(),
        ..WhileOptions::default()
    };
    let vars: Vec<OutputId> = changes.iter().map(|&i| inputs[i]).collect();
    let place = |vars: &[OutputId]| {
        let mut args = inputs.to_vec();
        for (&i, &var) in changes.iter().zip(vars) {
            args[i] = var;
        }
        args
    };
    let exits = b.while_loop(
        "while",
        &vars,
        &options,
        |b, vars| {
            let go_on = b.copy_function(&condition, &place(vars))?;
            truth(b, go_on[0])
        },
        |b, vars| {
            let results = b.copy_function(&step, &place(vars))?;
            for (&i, shape) in changes.iter().zip(&options.shape_invariants) {
                b.merge_shape(results[i], shape)?;
            }
            Ok(changes.iter().map(|&i| results[i]).collect())
        },
    )?;
    Ok(place(&exits))
}

/// The node whose value a function's result `i` is, through identities.
fn source_of(body: &FunctionBody, i: usize) -> Option<NodeId> {
    let mut source = body.graph.input_node(body.retvals[i], 0)?;
    while body.graph.get(source)?.is_op("Identity") {
        source = body.graph.input_node(source, 0)?;
    }
    Some(source)
}

/// The gradient of a function, as `SymbolicGradient` calls it: takes the function's arguments and the gradients of its results, gives those of its
/// arguments, zeros where the results do not depend on one.
///
/// # Errors
/// As [`instantiate_function`] and [`add_gradients`].
pub fn gradient_body(
    function: &Function,
    attrs: &Attrs,
    library: &Arc<FunctionLibrary>,
    registry: &Arc<OpRegistry>,
) -> Result<FunctionBody> {
    let mut body = instantiate_function(function, attrs, library, registry)?;
    let ys: Vec<OutputId> = body.retvals.iter().filter_map(|&r| body.graph.input(r, 0)).collect();
    let xs: Vec<OutputId> = body.args.iter().map(|&a| a.output(0)).collect();
    for &retval in &body.retvals {
        body.graph.remove_node(retval)?;
    }
    let mut state = BuilderState::default();
    let mut b = GraphBuilder::new(&mut body.graph, &mut state, Scope::root())?;
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

/// Goes on with the walk through what a node runs. Gives the gradients of all the node's inputs, or where it stopped.
pub(super) fn advance_call(b: &mut GraphBuilder<'_>, node: NodeId, walk: &mut GradientWalk) -> Result<Step> {
    Ok(match walk.advance(b)? {
        Step::Done(grads) => {
            // Those of the last inputs; a condition has none.
            let mut all = vec![None; b.graph().node(node)?.num_inputs().saturating_sub(grads.len())];
            all.extend(grads);
            Step::Done(all)
        }
        custom @ Step::Custom { .. } => custom,
    })
}
