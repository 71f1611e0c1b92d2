//! Computes before a loop what is the same in each of its iterations.
//!
//! Before, in a loop: `y = Exp(e)`, where `e = Enter(x) {is_constant=true}`. After: `y' = Exp(x)` before the loop and `y = Enter(y') {is_constant=true}`.
//! If `y` or a constant operand waits for a node of the loop, `y` becomes an `Identity` of the `Enter`, which waits for that node.
//!
//! Sound because the node computes the same value each time, and is live in the same iterations. If the loop's body never runs, the node has run in vain,
//! and without an error. Guards:
//! * all data inputs are constant `Enter`s of the loop or constants, at least one of them the former, also behind `Identity` nodes;
//! * the node is pure and cannot fail: an element-wise function of operands that are known to fit, a reshape that keeps the number of elements, a
//!   transpose by a constant permutation of the right rank, or a node that reads shapes;
//! * constants have at most [`MAX_ELEMENTS`] elements;
//! * all on one device.
//!
//! `fold_constants` runs earlier. `hoist_products` runs later and finds weights that were computed in the loop.

use crate::loop_reads::enter;
use crate::rewrite::{constant_input, constant_shape, integers, node_def, replace};
use crate::{PassContext, Shapes};
use flowmill_graph::traverse::topological_order;
use flowmill_graph::{ElementwiseFunction, Graph, Moves, Node, NodeId, OutputId, Role, is_pure};
use flowmill_proto::NodeDef;
use flowmill_proto::attr_value::Value;
use flowmill_tensor::Result;

/// The largest number of `Identity` nodes that are followed from an operand to the `Enter`.
const MAX_STEPS: usize = 16;

/// Larger constants are not copied.
const MAX_ELEMENTS: usize = 1 << 16;

pub(crate) fn run(graph: &mut Graph, PassContext { shapes, limit, .. }: PassContext<'_>) -> Result<usize> {
    if !graph.op_nodes().any(Node::is_enter) {
        return Ok(0);
    }
    let mut count = 0;
    // Producers come first, so that a chain leaves the loop as a whole.
    for id in topological_order(graph)? {
        if count == limit {
            break;
        }
        let Some(found) = graph.get(id).and_then(|node| find(graph, node, shapes)) else { continue };
        let new = hoist(graph, id, found, shapes)?;
        shapes.set_same(new.output(0), id.output(0));
        count += 1;
    }
    Ok(count)
}

/// An operand that is the same in each iteration.
enum Fixed {
    /// A tensor outside of the loop that enters it.
    Outside(OutputId),
    /// A constant in the loop.
    Constant(NodeId),
}

struct Found {
    operands: Vec<Fixed>,
    /// An `Enter` of the loop.
    enter: NodeId,
    /// The nodes that the node and its constants wait for.
    controls: Vec<NodeId>,
}

fn find(graph: &Graph, node: &Node, shapes: &Shapes) -> Option<Found> {
    if node.num_outputs() != 1 || node.num_inputs() == 0 || !is_pure(graph, node) {
        return None;
    }
    let (mut operands, mut entered, mut controls) = (Vec::new(), None, graph.control_inputs(node.id()).collect::<Vec<_>>());
    for mut input in graph.inputs(node.id()) {
        let mut producer = graph.get(input.node).filter(|n| n.device() == node.device())?;
        for _ in 0..MAX_STEPS {
            if !producer.is_op("Identity") {
                break;
            }
            controls.extend(graph.control_inputs(producer.id()));
            input = graph.input(producer.id(), 0)?;
            producer = graph.get(input.node).filter(|n| n.device() == node.device())?;
        }
        if producer.is_enter() && producer.attrs().get("is_constant").unwrap_or(false) {
            let outside = graph.input(producer.id(), 0).filter(|&tensor| graph.output_type(tensor).is_ok_and(|t| !t.is_ref))?;
            // Variables are read in each iteration.
            let passed_on = graph.get(outside.node).filter(|n| n.traits().passes_on).and_then(|n| graph.input(n.id(), 0));
            if passed_on.is_some_and(|tensor| graph.output_type(tensor).is_ok_and(|t| t.is_ref)) {
                return None;
            }
            entered = Some(producer.id());
            operands.push(Fixed::Outside(outside));
        } else if producer.role() == Role::Const {
            constant_shape(graph, input).filter(|shape| shape.num_elements() <= MAX_ELEMENTS)?;
            controls.extend(graph.control_inputs(producer.id()));
            operands.push(Fixed::Constant(producer.id()));
        } else {
            return None;
        }
    }
    let enter = entered.filter(|_| cannot_fail(graph, node, shapes))?;
    controls.sort_unstable();
    controls.dedup();
    Some(Found { operands, enter, controls })
}

/// Returns true if a node is known to succeed for all values of its operands, and takes little time.
fn cannot_fail(graph: &Graph, node: &Node, shapes: &Shapes) -> bool {
    let shapes = shapes.of(graph);
    let inputs: Vec<OutputId> = graph.inputs(node.id()).collect();
    let output = node.id().output(0);
    if let Some(function) = node.traits().elementwise {
        let fits = |input: &OutputId| shapes.are_equal(*input, output) || shapes.rank(*input) == Some(0);
        return function.is_total() && inputs.iter().all(fits) && function != ElementwiseFunction::Complex;
    }
    if node.traits().reads_shape {
        return true;
    }
    match (&inputs[..], node.traits().moves) {
        (&[input, ..], Moves::InOrder) => shapes.are_equal_in_number(input, output),
        (&[input, _], _) if node.is_op("Transpose") => {
            let order = constant_input(graph, node.id(), 1).and_then(|order| integers(&order.value));
            let rank = shapes.rank(input);
            order.zip(rank).is_some_and(|(order, rank)| order.len() == rank && (0..rank as i64).all(|axis| order.contains(&axis)))
        }
        _ => false,
    }
}

fn hoist(graph: &mut Graph, id: NodeId, found: Found, shapes: &mut Shapes) -> Result<NodeId> {
    let mut inputs = Vec::with_capacity(found.operands.len());
    let outside = found.operands.iter().find_map(|operand| match operand {
        Fixed::Outside(tensor) => Some(tensor.node),
        Fixed::Constant(_) => None,
    });
    for operand in found.operands {
        inputs.push(match operand {
            Fixed::Outside(tensor) => tensor,
            Fixed::Constant(constant) => {
                let name = new_name(graph, constant)?;
                let def = NodeDef { attr: graph.node(constant)?.attrs().to_map(), ..node_def(graph, "Const", name, &[constant]) };
                // In a loop around this one it runs in each iteration.
                let controls: Vec<NodeId> = outside.into_iter().collect();
                graph.add_node_with_inputs(def, &[], &controls)?.output(0)
            }
        });
    }
    let name = new_name(graph, id)?;
    let node = graph.node(id)?;
    let def = NodeDef { attr: node.attrs().to_map(), ..node_def(graph, node.op(), name, &[id]) };
    let dtype = node.output_types().first().map(|t| t.dtype.number()).unwrap_or_default();
    let computed = graph.add_node_with_inputs(def, &inputs, &[])?;
    shapes.set_same(computed.output(0), id.output(0));
    let entered = enter(graph, found.enter, computed.output(0))?;
    shapes.set_same(entered, id.output(0));
    let mut def = node_def(graph, "Identity", String::new(), &[id]);
    def.attr.insert("T".to_owned(), Value::Type(dtype).into());
    if !found.controls.is_empty() {
        return replace(graph, id, def, &[entered], &found.controls);
    }
    crate::rewrite::bypass(graph, id, entered)?;
    Ok(entered.node)
}

fn new_name(graph: &mut Graph, id: NodeId) -> Result<String> {
    let prefix = graph.node(id)?.name().to_owned();
    Ok(graph.new_name(&prefix))
}
