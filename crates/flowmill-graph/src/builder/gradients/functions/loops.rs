//! Gradients of loops: loops that run as often, over the iterations in reverse.
//!
//! The forward loop gets a counter of its iterations, unless it has one, and for each tensor of its body that the gradient needs a list that the
//! tensor of each iteration is appended to. The backward loop takes them off. Its variables are the counter, these lists, the gradients of the
//! forward loop's variables, and sums of the gradients of what is the same in all iterations. So it is a loop like another, which has a gradient.

use super::joint::{self, Joint, add_arg, arguments_behind, type_attr, zeros_for};
use super::{CallGradient, Kind, define, func, is_stateful, run_attrs, shape_list, type_list};
use crate::builder::gradients::{Grad, GradientOptions, is_differentiable};
use crate::builder::{Scope, ScopedBuilder};
use crate::{ElementwiseFunction, FunctionArg, FunctionBody, FunctionPart, NodeId, OutputId, function_def, name_by_content};
use flowmill_proto::function_def::ArgAttrs;
use flowmill_proto::op_def::ArgDef;
use flowmill_proto::{FunctionDef, NameAttrList};
use flowmill_tensor::{DType, PartialShape, Result, Tensor, bail};
use rustc_hash::{FxHashMap, FxHashSet};

/// A loop's variables by what its gradient does with them.
#[derive(Debug, Default)]
pub(super) struct Variables {
    /// Variables that have a gradient and change.
    pub(super) carried: Vec<usize>,
    /// Variables that stay as they are.
    pub(super) invariant: Vec<usize>,
    /// One that starts as 0 and grows by 1.
    counter: Option<usize>,
    num: usize,
}

impl Variables {
    /// `with_grad` says which of the loop's results have gradients.
    pub(super) fn new(
        b: &ScopedBuilder<'_>,
        node: NodeId,
        body: &FunctionBody,
        with_grad: &[bool],
        options: &GradientOptions,
    ) -> Result<Variables> {
        let num = body.args.len();
        let mut sources = Vec::with_capacity(num);
        for &retval in &body.retvals {
            let Some(source) = body.graph.input(retval, 0) else { bail!(Internal, "a result comes from nowhere") };
            sources.push(source);
        }
        if sources.len() != num {
            bail!(InvalidArgument, "The loop's body does not fit its {num} variables");
        }
        let is_same = |i: usize| {
            let mut at = sources[i].node;
            while body.graph[at].is_op("Identity")
                && let Some(before) = body.graph.input_node(at, 0)
            {
                at = before;
            }
            at == body.args[i]
        };
        let invariant: Vec<usize> = (0..num).filter(|&i| is_same(i)).collect();
        let dtypes: Vec<DType> = body.arg_types.clone();
        let mut is_carried: Vec<bool> = (0..num)
            .map(|i| {
                let is_number = is_differentiable(dtypes[i]) && !matches!(dtypes[i], DType::Resource | DType::Variant);
                !invariant.contains(&i) && dtypes[i] != DType::Resource && (is_number || with_grad[i])
            })
            .collect();
        // A list has a gradient where a variable that has one is made of it.
        let mut todo: Vec<usize> = (0..num).filter(|&i| is_carried[i]).collect();
        while let Some(i) = todo.pop() {
            let behind = arguments_behind(&body.graph, sources[i], options);
            for j in 0..num {
                if dtypes[j] == DType::Variant && !is_carried[j] && !invariant.contains(&j) && behind.contains(&body.args[j]) {
                    is_carried[j] = true;
                    todo.push(j);
                }
            }
        }
        let counter = (0..num).find(|&i| dtypes[i] == DType::I32 && counts(b, node, body, i, sources[i]));
        Ok(Variables { carried: (0..num).filter(|&i| is_carried[i]).collect(), invariant, counter, num })
    }

    /// Returns the variables that change.
    pub(super) fn changing(&self) -> impl Iterator<Item = usize> {
        (0..self.num).filter(|i| !self.invariant.contains(i))
    }
}

/// Returns true if variable `i` starts as 0 and each iteration adds 1.
fn counts(b: &ScopedBuilder<'_>, node: NodeId, body: &FunctionBody, i: usize, next: OutputId) -> bool {
    let is_int = |value: Option<&Tensor>, int: i32| value.and_then(|v| v.to_scalar::<i32>().ok()) == Some(int);
    let starts = b.graph().input(node, i).and_then(|start| b.constant_value(start));
    let graph = &body.graph;
    let step = || {
        let [first, second] = [graph.input(next.node, 0)?, graph.input(next.node, 1)?];
        let other = if first.node == body.args[i] { second } else { first };
        let both = first.node == body.args[i] || second.node == body.args[i];
        let one = graph.get(other.node).filter(|n| both && n.is_op("Const"))?;
        Tensor::from_proto(one.attrs().get("value").ok()?).ok()
    };
    is_int(starts, 0) && graph[next.node].traits().elementwise == Some(ElementwiseFunction::Add) && is_int(step().as_ref(), 1)
}

/// The sum of what is the same in all iterations: which variable it is of, the argument that holds it, its next value, where it starts.
struct Sum {
    variable: usize,
    arg: OutputId,
    next: OutputId,
    start: OutputId,
}

/// A list of a tensor's values in all iterations: which output of the forward loop it is, and the list before and after the backward loop takes
/// a value off.
struct List {
    output: usize,
    arg: OutputId,
    rest: OutputId,
}

/// Additions to the forward loop: arguments and results of its body, and their initial values.
#[derive(Default)]
struct Added {
    args: Vec<OutputId>,
    results: Vec<OutputId>,
    starts: Vec<OutputId>,
}

impl Added {
    fn push(&mut self, arg: OutputId, result: OutputId, start: OutputId) {
        self.args.push(arg);
        self.results.push(result);
        self.starts.push(start);
    }
}

/// The sources of the forward loop's values that the backward loop's body needs.
struct Kept {
    /// The output of the forward loop that counts its iterations.
    counter: usize,
    lists: Vec<List>,
    /// Variables that stay as they are.
    passed: Vec<usize>,
    /// The tensors of the backward body that replace tensors of the forward body.
    replaced: FxHashMap<OutputId, OutputId>,
}

impl CallGradient {
    /// Extends the loop by a counter and lists, and adds the one that runs backwards.
    pub(super) fn finish_loop(&mut self, b: &mut ScopedBuilder<'_>) -> Result<Vec<Option<Grad>>> {
        let CallGradient { node, kind: Kind::Loop(variables), joints, grads, inputs, xs, .. } = self else { bail!(Internal, "no loop") };
        let ([joint], node) = (&mut joints[..], *node) else { bail!(Internal, "a loop has one body") };
        let mut found = vec![None; inputs.len()];

        // The gradients that an iteration hands to the one before it.
        let mut handed = Vec::with_capacity(variables.carried.len());
        for (k, &i) in variables.carried.iter().enumerate() {
            let grad = joint.grads[k].clone();
            handed.push(joint.dense(grad.as_ref(), i, DType::F32)?);
        }
        let mut sums = Vec::new();
        for (k, &i) in xs.iter().enumerate().skip(variables.carried.len()) {
            match joint.grads[k].clone() {
                Some(grad) => sums.push(sum_over_iterations(b, joint, i, &grad, inputs[i], grads[i])?),
                // What nothing but the condition looks at, or what is handed through.
                None => found[i] = handed_through(b, inputs[i], grads[i])?,
            }
        }
        if handed.is_empty() && sums.is_empty() {
            return Ok(found);
        }
        let kept = keep(b, joint, node, variables, &handed, &sums)?;
        let mut starts = Vec::with_capacity(handed.len());
        for &i in &variables.carried {
            starts.push(match grads[i] {
                Some(grad) => grad,
                None => b.zeros_like(node.output(i as u32))?,
            });
        }
        starts.extend(sums.iter().map(|s| s.start));
        let made = add_backward_loop(b, joint, node, inputs, kept, &handed, &sums, &starts)?;
        for (i, grad) in variables.carried.iter().copied().chain(sums.iter().map(|s| s.variable)).zip(made) {
            found[i] = Some(grad.into());
        }
        Ok(found)
    }
}

/// Makes the forward loop keep the values that the backward loop needs.
fn keep(
    b: &mut ScopedBuilder<'_>,
    joint: &mut Joint,
    node: NodeId,
    variables: &Variables,
    handed: &[OutputId],
    sums: &[Sum],
) -> Result<Kept> {
    let targets: Vec<OutputId> = handed.iter().copied().chain(sums.iter().map(|s| s.next)).collect();
    let stops: Vec<OutputId> = joint.dys.iter().copied().chain(sums.iter().map(|s| s.arg)).collect();
    let needs = joint.needs(&targets, &stops)?;
    let outside = b.scope().unconditional().in_context(b.context_of(node));
    let mut added = Added::default();
    let counter = match variables.counter {
        Some(counter) => counter,
        None => {
            let (arg, next) = joint.build(|b| {
                let arg = add_arg(b, "count", DType::I32, &PartialShape::scalar())?;
                let one = b.scalar(1i32)?;
                Ok((arg, b.call("AddV2", &[arg, one])?))
            })?;
            let zero = b.within(outside.clone(), |b| b.scalar(0i32))?;
            added.push(arg, next, zero);
            variables.num
        }
    };
    let mut kept = Kept { counter, lists: Vec::new(), passed: Vec::new(), replaced: needs.replaced };
    let mut taken: FxHashMap<OutputId, OutputId> = FxHashMap::default();
    for tensor in needs.tensors {
        if let Some(i) = variables.invariant.iter().copied().find(|&i| joint.args[i] == tensor) {
            kept.passed.push(i);
            continue;
        }
        let output = match existing_list(b, joint, node, tensor) {
            Some(output) => output,
            None => {
                let start = b.within(outside.clone(), |b| empty_list(b, joint, tensor))?;
                let (arg, next) = append(joint, tensor)?;
                added.push(arg, next, start);
                variables.num + added.args.len() - 1
            }
        };
        let (list, value) = take_off(joint, tensor, output)?;
        taken.insert(tensor, value);
        kept.lists.push(list);
    }
    for origin in kept.replaced.values_mut() {
        *origin = taken.get(origin).copied().unwrap_or(*origin);
    }
    kept.replaced.extend(taken);
    extend_loop(b, joint, node, &added)?;
    Ok(kept)
}

/// Adds the backward loop; returns the last values of what it hands from iteration to iteration and of its sums, which begin as `starts`.
#[allow(clippy::too_many_arguments, reason = "the parts of one loop")]
fn add_backward_loop(
    b: &mut ScopedBuilder<'_>,
    joint: &mut Joint,
    node: NodeId,
    inputs: &[OutputId],
    kept: Kept,
    handed: &[OutputId],
    sums: &[Sum],
    starts: &[OutputId],
) -> Result<Vec<OutputId>> {
    let (count, next_count) = joint.build(|b| {
        let arg = add_arg(b, "count", DType::I32, &PartialShape::scalar())?;
        let one = b.scalar(1i32)?;
        Ok((arg, b.call("Sub", &[arg, one])?))
    })?;
    let passed: Vec<OutputId> = kept.passed.iter().map(|&i| joint.args[i]).collect();
    let mut args = vec![count];
    args.extend(
        kept.lists.iter().map(|l| l.arg).chain(joint.dys.iter().copied()).chain(sums.iter().map(|s| s.arg)).chain(passed.iter().copied()),
    );
    let mut results = vec![next_count];
    results.extend(
        kept.lists.iter().map(|l| l.rest).chain(handed.iter().copied()).chain(sums.iter().map(|s| s.next)).chain(passed.iter().copied()),
    );
    let mut values = vec![node.output(kept.counter as u32)];
    values.extend(kept.lists.iter().map(|l| node.output(l.output as u32)));
    values.extend(starts.iter().copied().chain(kept.passed.iter().map(|&i| inputs[i])));

    let args = args.into_iter().map(|a| joint.arg(a)).collect::<Result<Vec<FunctionArg>>>()?;
    let body = joint.backward(&args, &results, kept.replaced)?;
    let condition = while_positive(b, joint.base(), &args)?;
    let op = if is_stateful(&body) { "While" } else { "StatelessWhile" };
    let (condition, body) = (func(define(b, condition)?), func(define(b, body)?));
    let attrs = run_attrs(b.graph().node(node)?.attrs());
    let mut made = b.op(op).inputs(&values).attr("output_shapes", shape_list(args.iter().map(|a| &a.shape)));
    made = made.attr("T", type_list(args.iter().map(|a| a.dtype))).attr("cond", condition).attr("body", body);
    for (name, value) in attrs {
        made = made.attr(&name, value);
    }
    let (made, first) = (made.finish()?, 1 + kept.lists.len());
    Ok((0..starts.len()).map(|k| made.output((first + k) as u32)).collect())
}

/// Returns the gradient of what the loop gives as it got it: that of what it gives, or zeros, as TensorFlow has it.
fn handed_through(b: &mut ScopedBuilder<'_>, input: OutputId, grad: Option<OutputId>) -> Result<Option<Grad>> {
    match (grad, b.dtype(input)) {
        (Some(grad), _) => Ok(Some(grad.into())),
        (None, DType::Resource | DType::Variant) => Ok(None),
        (None, _) => b.zeros_like(input).map(|zeros| Some(zeros.into())),
    }
}

/// Returns the gradient of what is the same in all iterations, which starts as that of the loop's result.
fn sum_over_iterations(
    b: &mut ScopedBuilder<'_>,
    joint: &mut Joint,
    variable: usize,
    grad: &Grad,
    input: OutputId,
    start: Option<OutputId>,
) -> Result<Sum> {
    let grad = joint.dense(Some(grad), variable, DType::F32)?;
    let dtype = joint.dtype(grad);
    let start = match start {
        Some(start) => start,
        None => zeros_for(b, input, dtype)?,
    };
    let shape = b.shape(start);
    let (arg, next) = joint.build(|b| {
        let arg = add_arg(b, "sum", dtype, &shape)?;
        let next = b.call("AddN", &[arg, grad])?;
        Ok((arg, next))
    })?;
    Ok(Sum { variable, arg, next, start })
}

/// Returns the output of the loop that is a list of a tensor's values already: that of a gradient made before.
fn existing_list(b: &ScopedBuilder<'_>, joint: &Joint, node: NodeId, tensor: OutputId) -> Option<usize> {
    let graph = &joint.body.graph;
    (0..joint.args.len()).find(|&i| {
        let push = joint.results[i].node;
        let starts_empty = b.graph().input_node(node, i).is_some_and(|n| b.graph()[n].is_op("EmptyTensorList"));
        starts_empty
            && graph[push].is_op("TensorListPushBack")
            && graph.input(push, 0) == Some(joint.args[i])
            && graph.input(push, 1) == Some(tensor)
    })
}

/// Converts the static shape of a body's tensor to an input of ops that make lists.
fn element_shape(b: &mut ScopedBuilder<'_>, shape: &PartialShape) -> Result<OutputId> {
    match shape.dims() {
        Some(dims) => {
            let dims: Vec<i32> = dims.iter().map(|&d| i32::try_from(d).unwrap_or(-1)).collect();
            b.vector(&dims)
        }
        None => b.scalar(-1i32),
    }
}

/// Returns the static shape of a list's elements. Handles have the static shapes that TensorFlow gives them, not those of their tensors.
fn known_shape(joint: &Joint, tensor: OutputId) -> PartialShape {
    if joint.dtype(tensor) == DType::Resource { PartialShape::unknown() } else { joint.shape(tensor) }
}

fn empty_list(b: &mut ScopedBuilder<'_>, joint: &Joint, tensor: OutputId) -> Result<OutputId> {
    let shape = element_shape(b, &known_shape(joint, tensor))?;
    let unlimited = b.scalar(-1i32)?;
    let dtype = type_attr(joint.dtype(tensor));
    b.op("EmptyTensorList").name("accumulator").inputs(&[shape, unlimited]).attr("element_dtype", dtype).output()
}

/// Returns a list as an argument of the body, and with a tensor appended.
fn append(joint: &mut Joint, tensor: OutputId) -> Result<(OutputId, OutputId)> {
    let dtype = type_attr(joint.dtype(tensor));
    joint.build(|b| {
        let list = add_arg(b, "accumulator", DType::Variant, &PartialShape::scalar())?;
        Ok((list, b.op("TensorListPushBack").inputs(&[list, tensor]).attr("element_dtype", dtype).output()?))
    })
}

/// Returns a list as an argument of the backward body, and the value that it takes off for a tensor.
fn take_off(joint: &mut Joint, tensor: OutputId, output: usize) -> Result<(List, OutputId)> {
    let (dtype, shape) = (type_attr(joint.dtype(tensor)), known_shape(joint, tensor));
    joint.build(|b| {
        let arg = add_arg(b, "accumulator", DType::Variant, &PartialShape::scalar())?;
        let elements = element_shape(b, &shape)?;
        let pop = b.op("TensorListPopBack").inputs(&[arg, elements]).attr("element_dtype", dtype).finish()?;
        b.merge_shape(pop.output(1), &shape)?;
        Ok((List { output, arg, rest: pop.output(0) }, pop.output(1)))
    })
}

/// Adds variables to a loop.
fn extend_loop(b: &mut ScopedBuilder<'_>, joint: &Joint, node: NodeId, added: &Added) -> Result<()> {
    if added.args.is_empty() {
        return Ok(());
    }
    let forward = b.graph().node(node)?;
    let mut attrs = forward.attrs().clone();
    let types: Vec<DType> = forward.input_types().iter().map(|t| t.dtype).chain(added.args.iter().map(|&a| joint.dtype(a))).collect();
    let first = forward.num_inputs();
    let scalars = vec![PartialShape::scalar(); added.args.len()];
    let mut shapes: Vec<PartialShape> = attrs.list("output_shapes")?;
    if !shapes.is_empty() {
        shapes.extend(scalars.iter().cloned());
        attrs.set("output_shapes", shape_list(&shapes));
    }
    let condition = attrs.get::<&NameAttrList>("cond")?.clone();
    let extended = extended_condition(b, &condition.name, &types[first..])?;
    let body = joint.forward(&added.args, &added.results)?;
    attrs.set("cond", NameAttrList { name: define(b, extended)?, ..condition });
    attrs.set("body", func(define(b, body)?));
    attrs.set("T", type_list(types));
    b.extend_call(node, None, attrs, &[])?;
    for (i, &start) in added.starts.iter().enumerate() {
        b.graph_mut().add_edge(start, node, first + i)?;
    }
    for (i, shape) in scalars.iter().enumerate() {
        b.merge_shape(node.output((first + i) as u32), shape)?;
    }
    Ok(())
}

/// Returns a loop's condition with arguments that it does not look at.
fn extended_condition(b: &ScopedBuilder<'_>, name: &str, types: &[DType]) -> Result<FunctionDef> {
    let Some(function) = b.graph().library().get(name) else { bail!(NotFound, "Function {name} is not defined.") };
    let mut def = function.def().clone();
    let nodes: FxHashSet<String> = def.node_def.iter().map(|n| n.name.clone()).collect();
    let Some(signature) = &mut def.signature else { bail!(Internal, "a function without a signature") };
    let mut number = 0;
    for &dtype in types {
        let name = loop {
            let name = format!("unused_{number}");
            number += 1;
            if !nodes.contains(&name) && signature.input_arg.iter().chain(&signature.output_arg).all(|a| a.name != name) {
                break name;
            }
        };
        let index = signature.input_arg.len() as u32;
        signature.input_arg.push(ArgDef { name, r#type: dtype.number(), ..ArgDef::default() });
        let arg = FunctionArg { tensor: None, dtype, shape: PartialShape::scalar(), elements: Vec::new() };
        def.arg_attr.insert(index, ArgAttrs { attr: arg.attrs().into_map(), ..ArgAttrs::default() });
    }
    let base = name.split_once("_forward_").map_or(name, |(base, _)| base);
    name_by_content(&mut def, &format!("{base}_forward"));
    Ok(def)
}

/// `args[0] > 0`
fn while_positive(b: &ScopedBuilder<'_>, base: &str, args: &[FunctionArg]) -> Result<FunctionDef> {
    let mut made = joint::FunctionGraph::empty(b.graph().registry());
    let (count, go_on) = made.build(Scope::root(), |b| {
        let count = add_arg(b, "count", DType::I32, &PartialShape::scalar())?;
        let zero = b.scalar(0i32)?;
        Ok((count, b.call("Greater", &[count, zero])?))
    })?;
    let mut args: Vec<FunctionArg> = args.iter().map(|a| FunctionArg { tensor: None, ..a.clone() }).collect();
    args[0].tensor = Some(count);
    function_def(&made.graph, &format!("{base}_backward_cond"), &FunctionPart { args: &args, results: &[go_on], ..FunctionPart::default() })
}
