//! Writes element-wise functions in one form, so that later passes look for one.
//!
//! Before: `AddV2(c, x)` with a constant `c`. After: `AddV2(x, c)`, and likewise for all commutative functions of two operands.
//!
//! Before: `Sub(x, c)`, and `RealDiv(x, c)` with powers of two. After: `AddV2(x, -c)` and `Mul(x, 1/c)`.
//!
//! Before: `Div` of floats, `Add`, `Inv`, and `Select` with a condition that is a scalar or has the shape of the others. After: `RealDiv`, `AddV2`,
//! `Reciprocal` and `SelectV2`, the ops named after the functions.
//!
//! Sound because all bits stay: `x - c` is `x + (-c)` for all floats and integers, and a power of two has an exact reciprocal. Guards: `c` has at most
//! [`MAX_ELEMENTS`] elements; its reciprocal is a normal number; the target has the op for the type; `Select` fails for other shapes than equal ones, so
//! they are known to be equal.
//!
//! `fold_constants` runs earlier: operands become constant.

use crate::constant_math::{exact_reciprocals, negated};
use crate::rewrite::{Constant, add_constant, constant_input, constant_shape};
use crate::{PassContext, Shapes, Target};
use flowmill_graph::{ElementwiseFunction, Graph, Node, NodeId, is_pure};
use flowmill_tensor::{DType, Result, Tensor};

/// Larger constants are not copied.
const MAX_ELEMENTS: usize = 1 << 16;

pub(crate) fn run(graph: &mut Graph, PassContext { target, shapes, limit }: PassContext<'_>) -> Result<usize> {
    let mut count = 0;
    for id in graph.op_node_ids() {
        if count == limit {
            break;
        }
        let Some(change) = graph.get(id).filter(|n| is_pure(graph, n)).and_then(|node| find(graph, node, target, shapes)) else { continue };
        apply(graph, id, change)?;
        count += 1;
    }
    Ok(count)
}

enum Change {
    /// The operands change places.
    Swap,
    /// The node becomes one of another op.
    Op(&'static str),
    /// Likewise, and the constant becomes another one.
    OpAndConstant(&'static str, Constant),
}

fn find(graph: &Graph, node: &Node, target: &dyn Target, shapes: &Shapes) -> Option<Change> {
    let dtype: DType = node.attrs().get("T").ok()?;
    let function = node.traits().elementwise;
    let is_constant = |i: usize| graph.input(node.id(), i).and_then(|o| constant_shape(graph, o));
    if let Some(op) = newer_op(graph, node, function, dtype, shapes).filter(|op| node.op() != *op && target.supports(op, dtype)) {
        return Some(Change::Op(op));
    }
    let function = function.filter(|_| node.num_inputs() == 2)?;
    let (left, right) = (is_constant(0), is_constant(1));
    if node.op_def().is_commutative && left.is_some() && right.is_none() {
        return Some(Change::Swap);
    }
    // Two constants are left to `fold_constants`.
    right.filter(|shape| left.is_none() && shape.num_elements() <= MAX_ELEMENTS)?;
    let (op, rewritten): (_, fn(&Tensor) -> Option<Tensor>) = match function {
        ElementwiseFunction::Sub => ("AddV2", negated),
        ElementwiseFunction::RealDiv => ("Mul", exact_reciprocals),
        _ => return None,
    };
    let old = constant_input(graph, node.id(), 1).filter(|_| target.supports(op, dtype))?;
    Some(Change::OpAndConstant(op, Constant { value: rewritten(&old.value)?, ..old }))
}

/// Returns the op that other passes know the function by.
fn newer_op(graph: &Graph, node: &Node, function: Option<ElementwiseFunction>, dtype: DType, shapes: &Shapes) -> Option<&'static str> {
    match function {
        Some(ElementwiseFunction::Add) => (dtype != DType::String).then_some("AddV2"),
        Some(ElementwiseFunction::Div) => dtype.is_floating().then_some("RealDiv"),
        Some(ElementwiseFunction::Reciprocal) => Some("Reciprocal"),
        None if node.is_op("Select") => {
            let input = |i: usize| graph.input(node.id(), i);
            let (condition, then, otherwise) = (input(0)?, input(1)?, input(2)?);
            let shapes = shapes.of(graph);
            let is_admitted = shapes.rank(condition) == Some(0) || shapes.are_equal(condition, then);
            (is_admitted && shapes.are_equal(then, otherwise)).then_some("SelectV2")
        }
        _ => None,
    }
}

fn apply(graph: &mut Graph, id: NodeId, change: Change) -> Result<()> {
    let become_op = |graph: &mut Graph, op: &str| {
        let (def, attrs) = (graph.op_def(op)?.clone(), graph.node(id)?.attrs().clone());
        graph.change_op(id, def, attrs)
    };
    match change {
        Change::Swap => {
            let inputs: Vec<_> = graph.inputs(id).collect();
            for (i, &input) in inputs.iter().rev().enumerate() {
                graph.update_edge(input, id, i)?;
            }
            Ok(())
        }
        Change::Op(op) => become_op(graph, op),
        Change::OpAndConstant(op, constant) => {
            let new = add_constant(graph, &constant.value, &constant.controls, id)?;
            graph.update_edge(new, id, 1)?;
            become_op(graph, op)
        }
    }
}
