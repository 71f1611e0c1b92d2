//! Computes what depends on constants only.
//!
//! Before: `y = Mul(a, b) ^c` with constants `a`, `b`. After: `y = Const() {value=…} ^c`, which also waits for what `a` and `b` waited for.
//!
//! Sound for ops without state: the value is what the same kernel would give in each step. The new constant waits for everything that the
//! node waited for, directly or through its inputs; so it is dead when the node was, and in a loop's frame it is started in each iteration
//! as before. Left alone are:
//! * control flow, ops with state and ops that call functions;
//! * resources, variants and references, which have no value to write down;
//! * results that are larger than [`MAX_BYTES`], or whose size is not known beforehand;
//! * what fails: the step that gets there gives the error.
//!
//! `remove_identities` runs earlier only for speed: constants are seen through `Identity`.

use crate::Evaluator;
use crate::rewrite::{Constant, add_constant, calls_functions, constant_attrs, constant_input, node_def, replace};
use flowmill_graph::traverse::topological_order;
use flowmill_graph::{ARG, Graph, InferenceContext, Node, NodeId, OutputId, ValueInfo};
use flowmill_tensor::{DType, Result, Tensor};

/// The largest result of one node that is kept as a constant. TensorFlow's limit.
const MAX_BYTES: usize = 10 << 20;

pub(crate) fn run(graph: &mut Graph, evaluator: &dyn Evaluator) -> Result<usize> {
    let mut count = 0;
    for id in topological_order(graph)? {
        if let Some((outputs, controls)) = compute(graph, id, evaluator) {
            substitute(graph, id, &outputs, &controls)?;
            count += 1;
        }
    }
    Ok(count)
}

/// The outputs of a node whose inputs are constants, and what these and the node wait for.
fn compute(graph: &Graph, id: NodeId, evaluator: &dyn Evaluator) -> Option<(Vec<Tensor>, Vec<NodeId>)> {
    let node = graph.get(id).filter(|n| is_foldable(graph, n))?;
    let inputs: Vec<Constant> = (0..node.num_inputs()).map(|i| constant_input(graph, id, i)).collect::<Option<_>>()?;
    let values: Vec<Tensor> = inputs.iter().map(|c| c.value.clone()).collect();
    if !is_small(node, &values) {
        return None;
    }
    let outputs = evaluator.evaluate(graph, id, &values).ok()??;
    let has_type = |(value, expected): (&Tensor, &flowmill_graph::TensorType)| value.dtype() == expected.dtype;
    if outputs.len() != node.num_outputs() || !outputs.iter().zip(node.output_types()).all(has_type) {
        return None;
    }
    let mut controls: Vec<NodeId> = inputs.into_iter().flat_map(|c| c.controls).chain(graph.control_inputs(id)).collect();
    controls.sort_unstable();
    controls.dedup();
    Some((outputs, controls))
}

fn is_foldable(graph: &Graph, node: &Node) -> bool {
    let is_value = |t: &flowmill_graph::TensorType| !t.is_ref && !matches!(t.dtype, DType::Resource | DType::Variant);
    node.num_inputs() > 0
        && node.num_outputs() > 0
        && !node.op_def().is_stateful
        && !node.is_control_flow()
        && !node.is_op(ARG)
        && !node.op().starts_with("Placeholder")
        && node.input_types().iter().chain(node.output_types()).all(is_value)
        && !calls_functions(graph, node)
}

/// Whether the op's shape function says that the outputs fit into [`MAX_BYTES`].
fn is_small(node: &Node, inputs: &[Tensor]) -> bool {
    let Some(shape_fn) = node.op_def().shape_fn else { return false };
    let known = |t: &Tensor| ValueInfo { shape: t.shape().into(), constant: Some(t.clone()), ..ValueInfo::default() };
    let inputs: Vec<ValueInfo> = inputs.iter().map(known).collect();
    let mut context = InferenceContext::new(node.op_def(), node.attrs(), &inputs, node.num_outputs());
    if shape_fn(&mut context).is_err() {
        return false;
    }
    let sizes = context.into_outputs().into_iter().zip(node.output_types());
    let bytes = sizes.map(|(info, t)| Some(info.shape.num_elements()?.saturating_mul(t.dtype.size().unwrap_or(size_of::<usize>()))));
    bytes.sum::<Option<usize>>().is_some_and(|bytes| bytes <= MAX_BYTES)
}

fn substitute(graph: &mut Graph, id: NodeId, outputs: &[Tensor], controls: &[NodeId]) -> Result<()> {
    if let [value] = outputs {
        let mut def = node_def(graph, "Const", String::new(), &[id]);
        def.attr = constant_attrs(value)?;
        return replace(graph, id, def, &[], controls).map(|_| ());
    }
    let mut constants: Vec<Option<OutputId>> = vec![None; outputs.len()];
    for edge in graph.out_edges(id).collect::<Vec<_>>() {
        let slot = edge.source().map_or(0, |s| s.slot as usize);
        let (Some(place), Some(value)) = (constants.get_mut(slot), outputs.get(slot)) else { continue };
        let source = match *place {
            Some(source) => source,
            None => *place.insert(add_constant(graph, value, controls, id)?),
        };
        if edge.is_control() {
            graph.add_control_edge(source.node, edge.dst)?;
        } else {
            graph.update_edge(source, edge.dst, edge.dst_input as usize)?;
        }
    }
    graph.remove_node(id)
}
