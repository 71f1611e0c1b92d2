//! Builds the graph of a case and runs it.

use crate::case::{Case, Source};
use flowmill::builder::gradients::{GradientOptions, add_gradients};
use flowmill::builder::{BuilderState, Scope, ScopedBuilder};
use flowmill::proto::DataType;
use flowmill::{DType, OutputId, PartialShape, Result, RunOptions, SessionOptions, Tensor};
use std::time::Duration;

/// Ops whose static shapes are TensorFlow's and do not hold for all values, and why.
const INFERRED_OTHERWISE: [(&str, &str); 7] = [
    ("Batch", "a call whose inputs are in another call's batch gives empty vectors"),
    ("MatrixDiagV3", "a number of rows or columns that is not known counts as not given"),
    ("PlaceholderWithDefault", "a default need not have the placeholder's shape"),
    ("RaggedCountSparseOutput", "values that are no vector count as if they were"),
    ("SoftmaxCrossEntropyWithLogits", "an input of unknown shape counts as one of the other's shape, without broadcasting"),
    ("TensorArrayGradWithShape", "a flow is handed on as it is"),
    ("TensorArrayWriteV3", "a flow is handed on as it is"),
];

/// For what waits: queues that are empty, barriers that are not complete.
const TIMEOUT: Duration = Duration::from_millis(20);

struct Built {
    feeds: Vec<(String, Tensor)>,
    /// Variables to set before anything else.
    initializers: Vec<String>,
}

/// The result of a run that did not panic.
pub enum Outcome {
    Values,
    /// A shape that is not the inferred one.
    Mismatch(String),
}

/// Runs the case; with `differentiate` then also its gradients.
pub fn run(case: &Case, optimize: bool, differentiate: bool) -> Result<Outcome> {
    let mut graph = flowmill::new_graph()?;
    let mut state = BuilderState::default();
    let mut b = ScopedBuilder::new(&mut graph, &mut state, Scope::root())?;
    let mut built = Built { feeds: Vec::new(), initializers: Vec::new() };
    let inputs: Vec<OutputId> = case.inputs.iter().map(|i| source(&mut b, &i.source, &mut built)).collect::<Result<_>>()?;
    let mut before = Vec::new();
    for (i, first) in case.before.iter().enumerate() {
        // One that does not fit is left out.
        let mut others: Vec<OutputId> = inputs.first().copied().into_iter().collect();
        let rest: Result<Vec<_>> = first.inputs.iter().skip(1).map(|i| source(&mut b, &i.source, &mut built)).collect();
        others.extend(rest?);
        let name = format!("before{i}");
        if add(&mut b, first, &others, &name).is_ok() {
            before.push(name);
        }
    }
    let node = add(&mut b, case, &inputs, "node")?;
    let outputs: Vec<OutputId> = (0..b.graph().node(node)?.num_outputs() as u32).map(|i| node.output(i)).collect();
    let shapes: Vec<PartialShape> = outputs.iter().map(|&o| b.shape(o)).collect();
    let names: Vec<String> = outputs.iter().map(|&o| b.graph().tensor_name(o)).collect();
    let slopes = if differentiate { slopes(&mut b, &outputs, &inputs).unwrap_or_default() } else { Vec::new() };
    graph.validate()?;

    let options = SessionOptions { optimize, inter_op_threads: 1, intra_op_threads: 1, ..SessionOptions::default() };
    let session = flowmill::session(graph, options)?;
    let feeds: Vec<(&str, Tensor)> = built.feeds.iter().map(|(name, value)| (name.as_str(), value.clone())).collect();
    let limit = RunOptions { timeout: Some(TIMEOUT), ..RunOptions::default() };
    for target in built.initializers.iter().chain(&before) {
        // Whether it works or not, the node itself gets its turn.
        drop(session.run_with(&feeds, &[], &[target], &limit));
    }
    let fetches: Vec<&str> = names.iter().map(String::as_str).collect();
    let answer = session.run_with(&feeds, &fetches, &["node"], &limit);
    // Whatever the node itself says. What is fed may contradict the static shapes that gradients share with what they are the gradients of.
    for name in slopes {
        drop(session.run_with(&feeds, &[&name], &[], &limit));
    }
    let values = answer?.values;
    for ((value, shape), name) in values.iter().zip(&shapes).zip(&names) {
        let is_inferred = !INFERRED_OTHERWISE.iter().any(|(op, _)| *op == case.op);
        // A variable gets any shape by an assignment that does not check it, and by an op that makes it under the same name with another shape.
        let is_assigned =
            case.before.iter().any(|first| first.op.starts_with("Assign") || first.inputs.iter().any(|i| i.ty.0 == DType::Resource));
        // Handles of the first kinds have TensorFlow's static shape, but not its tensors of two strings.
        let is_of_handles = case.inputs.iter().any(|input| input.ty.0 == DType::Resource) && case.op.starts_with("Shape");
        let is_checked = value.dtype() != DType::Resource && !is_of_handles && is_inferred && !is_assigned;
        if is_checked && !shape.is_compatible_with(value.shape()) {
            return Ok(Outcome::Mismatch(format!("{name} has the shape {}, {shape} was inferred", value.shape())));
        }
        let _ = format!("{value:?}");
    }
    Ok(Outcome::Values)
}

/// The names of the gradients of the node's outputs by its inputs.
fn slopes(b: &mut ScopedBuilder<'_>, outputs: &[OutputId], inputs: &[OutputId]) -> Result<Vec<String>> {
    let is_number = |b: &ScopedBuilder<'_>, o: OutputId| matches!(b.graph().output_type(o), Ok(t) if t.dtype.is_floating() && !t.is_ref);
    let ys: Vec<OutputId> = outputs.iter().copied().filter(|&o| is_number(b, o)).collect();
    let xs: Vec<OutputId> = inputs.iter().copied().filter(|&o| is_number(b, o)).collect();
    if ys.is_empty() || xs.is_empty() {
        return Ok(Vec::new());
    }
    let grads = add_gradients(b, &ys, &xs, &[], &GradientOptions::default())?;
    let mut found = Vec::new();
    for grad in grads.into_iter().flatten() {
        let tensor = b.densify(&grad)?;
        found.push(b.graph().tensor_name(tensor));
    }
    Ok(found)
}

fn add(b: &mut ScopedBuilder<'_>, case: &Case, inputs: &[OutputId], name: &str) -> Result<flowmill::NodeId> {
    let op = b.op(&case.op).name(name).inputs(inputs);
    case.attrs.iter().fold(op, |op, (name, value)| op.attr(name, value.clone())).finish()
}

fn source(b: &mut ScopedBuilder<'_>, source: &Source, built: &mut Built) -> Result<OutputId> {
    match source {
        Source::Constant(value) => b.constant("constant", value),
        Source::Fed { value, known } => {
            let dtype = DataType::try_from(value.dtype().number()).unwrap_or_default();
            let shape = if *known { PartialShape::from(value.shape().clone()) } else { PartialShape::unknown() };
            let x = b.op("Placeholder").name("fed").attr("dtype", dtype).attr("shape", shape.to_proto()).output()?;
            built.feeds.push((b.graph().tensor_name(x), value.clone()));
            Ok(x)
        }
        Source::Node(case) => {
            let inputs: Vec<OutputId> = case.inputs.iter().map(|i| self::source(b, &i.source, built)).collect::<Result<_>>()?;
            let node = add(b, case, &inputs, "input")?;
            initialize(b, case, node.output(0), built)?;
            Ok(node.output(0))
        }
    }
}

/// Initialises a variable with a value of its type and shape.
fn initialize(b: &mut ScopedBuilder<'_>, case: &Case, variable: OutputId, built: &mut Built) -> Result<()> {
    let assign = match case.op.as_str() {
        "VarHandleOp" => "AssignVariableOp",
        "Variable" | "VariableV2" => "Assign",
        _ => return Ok(()),
    };
    let (dtype, shape): (DType, PartialShape) = (case.attrs.get("dtype")?, case.attrs.get("shape")?);
    let Some(shape) = shape.to_shape().filter(|s| s.checked_num_elements().is_ok_and(|n| n < 1000)) else { return Ok(()) };
    let Ok(value) = Tensor::zeros(dtype, shape) else { return Ok(()) };
    let value = b.constant("initial", &value)?;
    let assign = b.op(assign).name("assign").inputs(&[variable, value]).finish()?;
    built.initializers.push(b.graph().node(assign)?.name().to_owned());
    Ok(())
}
