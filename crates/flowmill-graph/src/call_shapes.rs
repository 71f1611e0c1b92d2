//! Shapes of a call's results, inferred in the body of the called function from the shapes of the call's arguments. TensorFlow's shape refiner does
//! the same.

use crate::{Attrs, FunctionBody, Graph, Node, Role, ShapeRefiner, ValueInfo, instantiate_function};
use flowmill_proto::NameAttrList;
use flowmill_tensor::Result;

/// The largest number of nodes of bodies that are inferred for one call, those of calls in the body included. Results of a call with more nodes are as
/// its own shape function says.
pub const MAX_BODY_NODES: usize = 20_000;

/// The greatest depth of calls in bodies of calls that are inferred.
const MAX_DEPTH: usize = 32;

/// The bodies that are being inferred for a call, and what may still be.
#[derive(Clone, Debug)]
pub(crate) struct Budget {
    /// The number of nodes.
    nodes: usize,
    /// The names of the functions around the call, outermost first.
    around: Vec<String>,
}

impl Default for Budget {
    /// Returns the budget of a call that is not in a body.
    fn default() -> Budget {
        Budget { nodes: MAX_BODY_NODES, around: Vec::new() }
    }
}

/// The attribute of calls whose bodies are not looked at.
const DISABLED: &str = "_disable_call_shape_inference";

/// Returns the function that a node calls and that decides its outputs, or `None` for other nodes.
pub fn call_of(graph: &Graph, node: &Node) -> Option<NameAttrList> {
    if node.role() == Role::Call {
        return node.attrs().get::<&NameAttrList>("f").ok().cloned();
    }
    graph.library().get(node.op())?;
    Some(NameAttrList { name: node.op().to_owned(), attr: node.attrs().to_map(), ..NameAttrList::default() })
}

/// Returns true if a node calls one function, which decides its outputs.
pub(crate) fn is_call(graph: &Graph, node: &Node) -> bool {
    node.role() == Role::Call || graph.library().get(node.op()).is_some()
}

/// Adds to `outputs` of a call what the body of its function says of their shapes and of what handles hold. The nodes that are
/// inferred for it are taken from `budget`.
///
/// Recursive calls add nothing, nor does a body that cannot be instantiated or inferred: the step reports the error.
pub(crate) fn refine<'a>(
    graph: &Graph,
    node: &Node,
    inputs: impl Iterator<Item = Option<&'a ValueInfo>>,
    outputs: &mut [ValueInfo],
    budget: &mut Budget,
) {
    let is_known = |output: &ValueInfo| output.shape.is_fully_defined();
    if budget.nodes == 0 || outputs.iter().all(is_known) {
        return;
    }
    let Some(called) = call_of(graph, node) else { return };
    let is_recursive = budget.around.contains(&called.name);
    if is_recursive || budget.around.len() == MAX_DEPTH || node.attrs().get_or(DISABLED, false).unwrap_or(false) {
        return;
    }
    let Some(found) = results(graph, &called, inputs, budget) else { return };
    for (output, found) in outputs.iter_mut().zip(found) {
        if let Ok(shape) = output.shape.merge(&found.shape) {
            output.shape = shape;
        }
        output.elements = output.elements.take().or(found.elements);
    }
}

/// Returns the facts about the results of a function whose arguments are `inputs`.
fn results<'a>(
    graph: &Graph,
    called: &NameAttrList,
    inputs: impl Iterator<Item = Option<&'a ValueInfo>>,
    budget: &mut Budget,
) -> Option<Vec<ValueInfo>> {
    let function = graph.library().get(&called.name)?;
    if function.def().node_def.len() > budget.nodes {
        budget.nodes = 0;
        return None;
    }
    let body = instantiate_function(function, &Attrs::from(called.attr.clone()), graph.library(), graph.registry()).ok()?;
    budget.nodes = budget.nodes.saturating_sub(body.graph.num_nodes());
    budget.around.push(called.name.clone());
    let mut shapes = ShapeRefiner::of_body(std::mem::take(budget));
    let found = infer_body(&body, inputs, &mut shapes);
    *budget = shapes.into_budget();
    budget.around.pop();
    found.ok()
}

/// Infers a body and returns the facts about its results.
fn infer_body<'a>(
    body: &FunctionBody,
    inputs: impl Iterator<Item = Option<&'a ValueInfo>>,
    shapes: &mut ShapeRefiner,
) -> Result<Vec<ValueInfo>> {
    let graph = &body.graph;
    for (&arg, input) in body.args.iter().zip(inputs) {
        shapes.add_node(graph, arg)?;
        let Some(input) = input else { continue };
        // Symbols belong to the caller's analysis.
        shapes.merge_shape(arg.output(0), &input.shape.without_symbols())?;
        if let Some(elements) = &input.elements {
            let elements = elements.iter().map(|(dtype, shape)| (*dtype, shape.without_symbols())).collect();
            shapes.set_elements(arg.output(0), Some(elements));
        }
    }
    shapes.infer_unseen(graph)?;
    let result = |&retval| graph.input(retval, 0).and_then(|tensor| shapes.value(tensor)).cloned().unwrap_or_default();
    Ok(body.retvals.iter().map(result).collect())
}
