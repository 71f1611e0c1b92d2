//! Values that kernels give before anything runs.

use crate::{ElementwiseFunction, Graph, InferenceContext, Node, NodeId, OutputId, Role, TensorType, ValueInfo, is_foldable};
use flowmill_tensor::{DType, Result, Tensor};
use rustc_hash::{FxHashMap, FxHashSet};

/// An evaluator of single nodes. Crates with kernels implement it for code without kernels: shape inference and the passes that rewrite graphs.
pub trait Evaluator {
    /// Returns the outputs of `node` for these inputs; `None` if it cannot be computed ahead of a step.
    ///
    /// # Errors
    /// Any error of the kernel. Callers treat it as `None`: a step that runs the node meets the error again.
    fn evaluate(&self, graph: &Graph, node: NodeId, inputs: &[Tensor]) -> Result<Option<Vec<Tensor>>>;
}

/// A device as the passes see it: the abilities of its kernels that an optimization depends on.
pub trait Target: Evaluator {
    /// Returns true if there is a kernel of `op` for elements of this type, which are those of the attribute `T`.
    fn supports(&self, op: &str, dtype: DType) -> bool;

    /// Returns true if the kernel of the fused op `fused` can apply `function` to elements of this type.
    fn fuses(&self, fused: &str, function: ElementwiseFunction, dtype: DType) -> bool;

    /// Returns true if the kernel of `op` computes only on images whose channels are in the last dimension, and transposes all others.
    fn wants_channels_last(&self, op: &str) -> bool;
}

/// Returns the outputs of a [foldable](is_foldable) node for these inputs; `None` if its shape function does not say beforehand that they take no more than
/// `max_bytes`, and if the kernel fails.
pub fn evaluate_node(evaluator: &dyn Evaluator, graph: &Graph, id: NodeId, inputs: &[Tensor], max_bytes: usize) -> Option<Vec<Tensor>> {
    let node = graph.get(id).filter(|n| is_foldable(graph, n) && is_small(n, graph.producer(), inputs, max_bytes))?;
    let outputs = evaluator.evaluate(graph, id, inputs).ok()??;
    let has_type = |(value, expected): (&Tensor, &TensorType)| value.dtype() == expected.dtype;
    (outputs.len() == node.num_outputs() && outputs.iter().zip(node.output_types()).all(has_type)).then_some(outputs)
}

/// Returns true if the op's shape function shows that the outputs take no more than `max_bytes`. If their size depends on values, as that of
/// `Unique`, it is enough that the inputs take no more and that the op's output has no more elements than they have.
fn is_small(node: &Node, producer: i32, inputs: &[Tensor], max_bytes: usize) -> bool {
    let Some(shape_fn) = node.op_def().shape_fn else { return false };
    let known = |t: &Tensor| ValueInfo { shape: t.shape().into(), constant: Some(t.clone()), ..ValueInfo::default() };
    let infos: Vec<ValueInfo> = inputs.iter().map(known).collect();
    let mut context = InferenceContext::new(node.op_def(), node.attrs(), &infos, node.num_outputs()).made_by(producer);
    if shape_fn(&mut context).is_err() {
        return false;
    }
    let most: usize = inputs.iter().map(Tensor::num_elements).fold(0, usize::saturating_add);
    let bytes_of = |(info, t): (ValueInfo, &TensorType)| {
        let elements = info.shape.num_elements().or_else(|| node.traits().selects.then_some(most))?;
        Some(elements.saturating_mul(t.dtype.size().unwrap_or(size_of::<usize>())))
    };
    let bytes = context.into_outputs().into_iter().zip(node.output_types()).map(bytes_of);
    bytes.sum::<Option<usize>>().is_some_and(|bytes| bytes <= max_bytes)
}

/// The largest value that static inference computes or reads. Shapes, axes and permutations have a few bytes; what they are made of has few more.
pub(crate) const MAX_STATIC_BYTES: usize = 1 << 20;

/// The number of nodes that static inference computes for one value.
const MAX_NODES: usize = 1 << 12;

/// Values computed for shape functions, and which nodes have none. What was found holds until the graph or a shape changes.
#[derive(Clone, Debug, Default)]
pub(crate) struct StaticValues {
    found: FxHashMap<OutputId, Tensor>,
    varying: FxHashSet<NodeId>,
}

impl StaticValues {
    /// Forgets everything.
    pub(crate) fn clear(&mut self) {
        if !self.found.is_empty() || !self.varying.is_empty() {
            *self = StaticValues::default();
        }
    }

    /// Returns the value of a tensor that depends on constants only. `known` are values that need no kernel.
    pub(crate) fn find(
        &mut self,
        graph: &Graph,
        evaluator: &dyn Evaluator,
        known: &dyn Fn(OutputId) -> Option<Tensor>,
        output: OutputId,
    ) -> Option<Tensor> {
        if let Some(value) = self.value(graph, known, output) {
            return Some(value);
        }
        for node in self.nodes_before(graph, known, output.node)? {
            let inputs: Option<Vec<Tensor>> = graph.inputs(node).map(|i| self.value(graph, known, i)).collect();
            let Some(outputs) = inputs.and_then(|inputs| evaluate_node(evaluator, graph, node, &inputs, MAX_STATIC_BYTES)) else {
                self.varying.insert(node);
                return None;
            };
            self.found.extend(outputs.into_iter().enumerate().map(|(slot, value)| (node.output(slot as u32), value)));
        }
        self.found.get(&output).cloned()
    }

    fn value(&self, graph: &Graph, known: &dyn Fn(OutputId) -> Option<Tensor>, output: OutputId) -> Option<Tensor> {
        if let Some(value) = known(output).or_else(|| self.found.get(&output).cloned()) {
            return Some(value);
        }
        let node = graph.get(output.node).filter(|n| n.role() == Role::Const)?;
        let proto: &flowmill_proto::TensorProto = node.attrs().get("value").ok()?;
        let shape =
            proto.tensor_shape.as_ref().map_or_else(flowmill_tensor::PartialShape::scalar, flowmill_tensor::PartialShape::from_proto);
        let bytes = shape.num_elements()?.saturating_mul(node.output_types().first()?.dtype.size().unwrap_or(size_of::<usize>()));
        if bytes > MAX_STATIC_BYTES { None } else { Tensor::from_proto(proto).ok() }
    }

    /// Returns the nodes to compute for a node, in order, itself last; `None` if something before it is not known.
    fn nodes_before(&mut self, graph: &Graph, known: &dyn Fn(OutputId) -> Option<Tensor>, node: NodeId) -> Option<Vec<NodeId>> {
        let (mut order, mut seen) = (Vec::new(), FxHashSet::from_iter([node]));
        let mut stack = vec![(node, 0)];
        while let Some(&(node, i)) = stack.last() {
            let there = graph.get(node)?;
            let is_known = i > 0 || (!self.varying.contains(&node) && seen.len() <= MAX_NODES && is_foldable(graph, there));
            if !is_known || (i < there.num_inputs() && graph.input(node, i).is_none()) {
                // Neither are those that depend on it.
                self.varying.extend(stack.iter().map(|&(node, _)| node));
                return None;
            }
            let Some(input) = graph.input(node, i) else {
                order.push(node);
                stack.pop();
                continue;
            };
            if let Some(top) = stack.last_mut() {
                top.1 += 1;
            }
            if self.value(graph, known, input).is_none() && seen.insert(input.node) {
                stack.push((input.node, 0));
            }
        }
        Some(order)
    }
}
