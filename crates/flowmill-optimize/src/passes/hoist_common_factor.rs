//! Takes a factor that two addends have in common out of their sum.
//!
//! Before: `y = Add(Mul(a, x), Mul(z, a))`. After: `y = Mul(a, Add(x, z))`, one product less. A `Sub` is rewritten likewise.
//!
//! Sound for integers, whose sums and products wrap, and for floats up to rounding, because a finite sum stays finite. Guards:
//! * the factor of floats is a constant of finite values of 1 or more: the sum of x and z then overflows only where the sum of the products did, and
//!   zeros keep their signs;
//! * x and z are known to have equal shapes, so that their sum is no larger than a product;
//! * the products have no other consumers, and no control edge leads out of them; the new sum takes over their control inputs;
//! * all three nodes are on one device.
//!
//! `merge_duplicates` runs earlier, because it makes equal factors one tensor. `fuse_elementwise` runs later, because it would fuse the products.

use crate::rewrite::{constant, node_def, replace, sole_consumer};
use crate::{PassContext, Shapes};
use flowmill_graph::{ElementwiseFunction, Graph, Node, NodeId, OutputId};
use flowmill_proto::NodeDef;
use flowmill_tensor::{DType, Result, Tensor};

pub(crate) fn run(graph: &mut Graph, PassContext { shapes, limit, .. }: PassContext<'_>) -> Result<usize> {
    let mut count = 0;
    for id in graph.op_node_ids() {
        if count == limit {
            break;
        }
        let Some(found) = graph.get(id).and_then(|sum| find(graph, sum, shapes)) else { continue };
        let product = rewrite(graph, id, &found)?;
        shapes.set_same(product.output(0), id.output(0));
        count += 1;
    }
    Ok(count)
}

struct Found {
    products: [NodeId; 2],
    factor: OutputId,
    /// The other factor of each product.
    addends: [OutputId; 2],
}

fn find(graph: &Graph, sum: &Node, shapes: &Shapes) -> Option<Found> {
    if !matches!(sum.traits().elementwise, Some(ElementwiseFunction::Add | ElementwiseFunction::Sub)) {
        return None;
    }
    let dtype: DType = sum.attrs().get("T").ok()?;
    let product = |i: usize| {
        let node = graph.get(graph.input_node(sum.id(), i)?)?;
        let is_product = node.traits().elementwise == Some(ElementwiseFunction::Mul)
            && node.device() == sum.device()
            && sole_consumer(graph, node.id()).is_some();
        is_product.then_some((node.id(), [graph.input(node.id(), 0)?, graph.input(node.id(), 1)?]))
    };
    let ((first, a), (second, b)) = (product(0)?, product(1)?);
    let (factor, addends) = [(0, 0), (0, 1), (1, 0), (1, 1)].into_iter().find_map(|(i, j)| {
        let is_common = a[i] == b[j] && (dtype.is_integer() || is_constant_of_at_least_one(graph, a[i]));
        is_common.then_some((a[i], [a[1 - i], b[1 - j]]))
    })?;
    shapes.of(graph).are_equal(addends[0], addends[1]).then_some(Found { products: [first, second], factor, addends })
}

/// Returns true if a tensor is a constant of finite floats of 1 or more.
fn is_constant_of_at_least_one(graph: &Graph, output: OutputId) -> bool {
    fn all<T: Copy + Into<f64>>(values: Result<&[T]>) -> bool {
        values.is_ok_and(|values| values.iter().all(|&v| v.into().is_finite() && v.into() >= 1.0))
    }
    let is_admitted = |value: Tensor| match value.dtype() {
        DType::F32 => all(value.as_slice::<f32>()),
        DType::F64 => all(value.as_slice::<f64>()),
        _ => false,
    };
    constant(graph, output).is_some_and(|constant| is_admitted(constant.value))
}

fn rewrite(graph: &mut Graph, sum: NodeId, found: &Found) -> Result<NodeId> {
    let [first, second] = found.products;
    let nodes = [first, second, sum];
    let copy_of = |id: NodeId| -> Result<NodeDef> {
        let old = graph.node(id)?;
        Ok(NodeDef { attr: old.attrs().to_map(), ..node_def(graph, old.op(), String::new(), &nodes) })
    };
    let (mut inner, outer) = (copy_of(sum)?, copy_of(first)?);
    let name = graph.node(sum)?.name().to_owned();
    inner.name = graph.new_name(&name);
    let mut controls: Vec<NodeId> = nodes.iter().flat_map(|&n| graph.control_inputs(n)).collect();
    controls.sort_unstable();
    controls.dedup();
    let inner = graph.add_node_with_inputs(inner, &found.addends, &controls)?;
    let product = replace(graph, sum, outer, &[found.factor, inner.output(0)], &[])?;
    graph.remove_node(first)?;
    graph.remove_node(second)?;
    Ok(product)
}
