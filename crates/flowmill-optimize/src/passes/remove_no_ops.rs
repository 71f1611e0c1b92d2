//! Removes nodes that return one of their inputs, and shortens chains of reshapes, transposes and casts.
//!
//! Before: `y = Reshape(x, s)` with the shape of `x`, `Transpose(Transpose(x, [1, 0]), [1, 0])`, `Mul(x, 1)`, `Neg(Neg(x))`, `Cast(Cast(x, f64), f32)` of a
//! `float32`, `StridedSlice` of everything, `Pad` by nothing, `Tile` by ones, `Sum` over no axes, `Maximum(x, x)`, `SelectV2(true, x, z)`. After: `x`.
//!
//! Before: `Reshape(Sum(g, r0), Shape(x))` with `r0, r1 = BroadcastGradientArgs(Shape(x), Shape(y))` and `g` of the shape of `x`: the other operand is
//! broadcast, or none is. After: `g`.
//!
//! Before: `Reshape(Reshape(x, s), t)`, `Transpose(Transpose(x, p), q)`, `Cast(Cast(x))`. After: one of them.
//!
//! Sound because the elements are the same, to the last bit: a zero keeps its sign, so `x + 0` of floats stays, and `x + -0` and `x - 0` go. Consumers wait
//! for the same nodes, and are dead in the same cases ([`Bypass`]). Guards:
//! * the shapes are known to be equal, symbols included: a neutral constant may widen the other operand;
//! * what goes cannot fail: the ranks that permutations need are known, and reshapes keep the number of elements in any case;
//! * arithmetic makes zeros of denormal floats: where it goes, its operand has none, or its consumers are arithmetic;
//! * a cast loses no value if another follows; floats that become integers stay, because values out of range depend on the type;
//! * starts of slices and values of paddings are constant.
//!
//! `remove_identities` runs earlier, so that chains are not interrupted. `fold_constants` runs earlier: permutations and axes may be computed.

use crate::bypass::{Bypass, Substitute};
use crate::linear::Linear;
use crate::rewrite::{Constant, add_constant, constant_input, integers};
use crate::splat::{Splat, splat};
use crate::{PassContext, Shapes};
use flowmill_graph::traverse::topological_order;
use flowmill_graph::{ElementwiseFunction, Graph, Moves, Node, NodeId, OutputId, is_pure};
use flowmill_proto::attr_value::Value;
use flowmill_tensor::{DType, PartialShape, Result, Tensor};

/// The largest number of reshapes that are followed to a tensor of the same shape.
const MAX_STEPS: usize = 16;

pub(crate) fn run(graph: &mut Graph, PassContext { shapes, limit, .. }: PassContext<'_>) -> Result<usize> {
    let (mut bypass, mut count) = (Bypass::default(), 0);
    for id in topological_order(graph)? {
        if count == limit {
            break;
        }
        let Some(node) = graph.get(id).filter(|n| n.num_outputs() == 1 && n.num_inputs() > 0 && is_pure(graph, n)) else { continue };
        let is_removed = match equal_tensor(graph, node, shapes) {
            Some(substitute) => bypass.try_remove(graph, id, substitute)?,
            None => false,
        };
        count += usize::from(is_removed || shorten(graph, &mut bypass, id, shapes)?);
    }
    Ok(count)
}

/// The tensors and nodes on the way from a node to a tensor.
struct Trace {
    controls: Vec<NodeId>,
    /// True if an input besides the first is not constant.
    drops_inputs: bool,
}

impl Trace {
    /// Returns the trace of one node, whose other inputs than input `kept` go.
    fn of(graph: &Graph, node: &Node, kept: usize) -> Trace {
        let mut trace = Trace { controls: Vec::new(), drops_inputs: false };
        trace.add(graph, node, kept);
        trace
    }

    fn add(&mut self, graph: &Graph, node: &Node, kept: usize) {
        self.controls.extend(graph.control_inputs(node.id()));
        for i in (0..node.num_inputs()).filter(|&i| i != kept) {
            match constant_input(graph, node.id(), i) {
                Some(Constant { controls, .. }) => self.controls.extend(controls),
                None => self.drops_inputs = true,
            }
        }
    }

    fn to(self, source: OutputId) -> Substitute {
        Substitute { source, controls: self.controls, drops_inputs: self.drops_inputs }
    }
}

/// Returns a tensor that is equal to the output of a node.
fn equal_tensor(graph: &Graph, node: &Node, shapes: &Shapes) -> Option<Substitute> {
    match node.traits().moves {
        Moves::InOrder => return reshaped_back(graph, node, shapes),
        Moves::IfSameShape => {
            let are_given = node.num_inputs() <= 2 || (1..node.num_inputs()).all(|i| constant_input(graph, node.id(), i).is_some());
            return (are_given && has_shape_of(graph, node, 0, shapes)).then(|| same_as(graph, node, 0)).flatten();
        }
        Moves::No | Moves::Each => {}
    }
    if let Some(function) = node.traits().elementwise {
        return equal_operand(graph, node, function, shapes);
    }
    let is_equal = match node.op() {
        "Transpose" => return transposed_back(graph, node, shapes),
        "StridedSlice" => has_shape_of(graph, node, 0, shapes) && goes_forward(graph, node),
        "ReverseV2" => {
            let sizes = shapes.of(graph).shape(node.id().output(0));
            axes(graph, node).is_some_and(|axes| axes.iter().all(|&axis| sizes.dim_from(axis) == Some(1)))
        }
        "Sum" if keeps_dims(node) && sums_single_elements(graph, node, shapes) => true,
        _ => node.traits().reduces && axes(graph, node).is_some_and(|axes| axes.is_empty()),
    };
    is_equal.then(|| same_as(graph, node, 0)).flatten()
}

fn same_as(graph: &Graph, node: &Node, input: usize) -> Option<Substitute> {
    Some(Trace::of(graph, node, input).to(graph.input(node.id(), input)?))
}

fn has_shape_of(graph: &Graph, node: &Node, input: usize, shapes: &Shapes) -> bool {
    graph.input(node.id(), input).is_some_and(|input| shapes.of(graph).are_equal(input, node.id().output(0)))
}

/// Returns the constant axes at input 1.
fn axes(graph: &Graph, node: &Node) -> Option<Vec<i64>> {
    integers(&constant_input(graph, node.id(), 1)?.value)
}

/// Returns true if a slice has constant bounds and no negative stride.
fn goes_forward(graph: &Graph, slice: &Node) -> bool {
    let has_begin = constant_input(graph, slice.id(), 1).is_some() && constant_input(graph, slice.id(), 2).is_some();
    let strides = constant_input(graph, slice.id(), 3).and_then(|strides| integers(&strides.value));
    has_begin && strides.is_some_and(|strides| strides.iter().all(|&stride| stride > 0))
}

/// Returns the constant permutation of a transpose, if its input is sure to have that rank.
fn permutation(graph: &Graph, node: &Node, shapes: &Shapes) -> Option<Vec<usize>> {
    let order = axes(graph, node).filter(|_| node.is_op("Transpose"))?;
    let rank = shapes.of(graph).rank(graph.input(node.id(), 0)?)?;
    let order: Vec<usize> = order.iter().map(|&axis| usize::try_from(axis).ok().filter(|&axis| axis < rank)).collect::<Option<_>>()?;
    let is_permutation = order.len() == rank && (0..rank).all(|axis| order.contains(&axis));
    is_permutation.then_some(order)
}

/// Returns the tensor that a transpose returns, or a transpose of a transpose.
fn transposed_back(graph: &Graph, node: &Node, shapes: &Shapes) -> Option<Substitute> {
    let is_identity = |order: Vec<usize>| order.iter().enumerate().all(|(i, &axis)| i == axis);
    if permutation(graph, node, shapes).is_some_and(is_identity) {
        return same_as(graph, node, 0);
    }
    composed(graph, node, shapes).filter(|order| is_identity(order.clone()))?;
    let inner = graph.get(graph.input(node.id(), 0)?.node).filter(|inner| is_pure(graph, inner))?;
    let mut trace = Trace::of(graph, node, 0);
    trace.add(graph, inner, 0);
    Some(trace.to(graph.input(inner.id(), 0)?))
}

fn keeps_dims(node: &Node) -> bool {
    node.attrs().get_or("keep_dims", false).unwrap_or(false)
}

/// Returns true for a sum over the axes along which a broadcast repeated an operand, of a gradient that has the operand's shape: the axes, which are those
/// where the operand has one element, are known to the step alone, but each sum is of one element.
fn sums_single_elements(graph: &Graph, node: &Node, shapes: &Shapes) -> bool {
    let (Some(gradient), Some(axes)) = (graph.input(node.id(), 0), graph.input(node.id(), 1)) else { return false };
    let Some(args) = graph.get(axes.node).filter(|n| node.is_op("Sum") && n.is_op("BroadcastGradientArgs")) else { return false };
    let (Some(own), Some(other)) = (graph.input(args.id(), axes.slot as usize), graph.input(args.id(), 1 - axes.slot as usize)) else {
        return false;
    };
    let analysis = shapes.of(graph);
    if measured(graph, own).is_some_and(|operand| analysis.are_equal(operand, gradient)) {
        return true;
    }
    // The shapes may be those of batches of matrices, which are the first dimensions.
    let (gradient, own, other) = (analysis.shape(gradient), analysis.described(own), analysis.described(other));
    let (Some(sizes), Some(rank)) = (gradient.dims(), own.rank()) else { return false };
    let has_first_axes = sizes.len() == rank || other.rank().is_some_and(|other| other <= rank);
    has_first_axes && sizes.get(..rank).is_some_and(|sizes| PartialShape::from(sizes).is_same(&own))
}

/// Returns the tensor whose shape this is.
fn measured(graph: &Graph, shape: OutputId) -> Option<OutputId> {
    let node = graph.get(shape.node).filter(|n| n.is_op("Shape") || n.is_op("ShapeN"))?;
    graph.input(node.id(), shape.slot as usize)
}

/// Returns true for a node whose output has the elements of input 0 in order, and that cannot fail.
fn reshapes(graph: &Graph, node: &Node, shapes: &Shapes) -> bool {
    if sums_single_elements(graph, node, shapes) {
        return true;
    }
    let Some(input) = graph.input(node.id(), 0) else { return false };
    node.traits().moves == Moves::InOrder && is_pure(graph, node) && shapes.of(graph).are_equal_in_number(input, node.id().output(0))
}

/// Finds a tensor of the same shape that `node` is a reshape of a reshape of.
fn reshaped_back(graph: &Graph, node: &Node, shapes: &Shapes) -> Option<Substitute> {
    let mut trace = Trace::of(graph, node, 0);
    let mut tensor = graph.input(node.id(), 0)?;
    for _ in 0..MAX_STEPS {
        if shapes.of(graph).are_equal(tensor, node.id().output(0)) {
            return Some(trace.to(tensor));
        }
        let before = graph.get(tensor.node).filter(|n| n.device() == node.device() && reshapes(graph, n, shapes))?;
        trace.add(graph, before, 0);
        tensor = graph.input(before.id(), 0)?;
    }
    None
}

/// Returns the operand that an element-wise node returns.
fn equal_operand(graph: &Graph, node: &Node, function: ElementwiseFunction, shapes: &Shapes) -> Option<Substitute> {
    let operand = |i: usize| graph.input(node.id(), i);
    if function == ElementwiseFunction::Cast {
        return equal_cast(graph, node);
    }
    if function == ElementwiseFunction::SelectV2 {
        let chosen = match splat(graph, operand(0)?) {
            Some((Splat::Bool(condition), _)) => {
                if condition {
                    1
                } else {
                    2
                }
            }
            _ if operand(1)? == operand(2)? => 1,
            _ => return None,
        };
        return has_shape_of(graph, node, chosen, shapes).then(|| same_as(graph, node, chosen)).flatten();
    }
    match node.num_inputs() {
        1 if function == ElementwiseFunction::AddN => same_as(graph, node, 0),
        1 => {
            let inner = graph.get(operand(0)?.node).filter(|n| n.traits().elementwise == Some(function) && is_pure(graph, n))?;
            if function.is_idempotent() {
                return same_as(graph, node, 0);
            }
            if !function.is_involution() {
                return None;
            }
            let mut trace = Trace::of(graph, node, 0);
            trace.add(graph, inner, 0);
            Some(trace.to(graph.input(inner.id(), 0)?))
        }
        2 if operand(0)? == operand(1)? && function.keeps_equal_operands() => {
            Some(Substitute { source: operand(0)?, controls: graph.control_inputs(node.id()).collect(), drops_inputs: false })
        }
        2 => (0..2).find_map(|kept| {
            let (value, _) = splat(graph, operand(1 - kept)?)?;
            let is_same = is_neutral(function, value, kept) && has_shape_of(graph, node, kept, shapes);
            (is_same && flushes_in_vain(graph, node, operand(kept)?)).then(|| same_as(graph, node, kept))?
        }),
        _ => None,
    }
}

/// Returns true if `function` of an operand and of this value returns the operand, which is operand `kept`.
fn is_neutral(function: ElementwiseFunction, value: Splat, kept: usize) -> bool {
    use ElementwiseFunction::*;
    let is_integer = matches!(value, Splat::Integer(_));
    match function {
        Add => value.is_zero(true),
        Mul => value.is_number(1),
        MulNoNan | RealDiv | DivNoNan | Div if kept == 0 => value.is_number(1),
        FloorDiv | TruncateDiv if kept == 0 => is_integer && value.is_number(1),
        Pow if kept == 0 => value.is_number(1),
        Sub if kept == 0 => value.is_zero(false),
        LeftShift | RightShift if kept == 0 => value.is_zero(false),
        BitwiseOr | BitwiseXor => value.is_zero(false),
        BitwiseAnd => value.is_number(-1),
        LogicalAnd => value == Splat::Bool(true),
        LogicalOr => value == Splat::Bool(false),
        _ => false,
    }
}

/// Returns the types from and to which a node casts.
fn cast_types(node: &Node) -> Option<[DType; 2]> {
    let is_cast = node.traits().elementwise == Some(ElementwiseFunction::Cast);
    is_cast.then_some([node.input_types().first()?.dtype, node.output_types().first()?.dtype])
}

/// Returns the tensor that a cast returns, or a cast of a cast.
fn equal_cast(graph: &Graph, node: &Node) -> Option<Substitute> {
    let [from, to] = cast_types(node)?;
    if from == to {
        return same_as(graph, node, 0);
    }
    let inner = graph.get(graph.input(node.id(), 0)?.node).filter(|n| is_pure(graph, n))?;
    let [first, between] = cast_types(inner)?;
    let source = graph.input(inner.id(), 0)?;
    if first != to || !keeps_values(first, between) || !flushes_in_vain(graph, node, source) {
        return None;
    }
    let mut trace = Trace::of(graph, node, 0);
    trace.add(graph, inner, 0);
    Some(trace.to(source))
}

/// Returns true if it makes no difference that a node makes zeros of the denormal floats of `source`: there are none, or consumers do the same.
fn flushes_in_vain(graph: &Graph, node: &Node, source: OutputId) -> bool {
    let is_float = graph.output_type(source).is_ok_and(|t| t.dtype.is_floating());
    let mut consumers = graph.out_edges(node.id()).filter(|e| !e.is_control()).map(|e| graph.get(e.dst));
    !is_float || graph.get(source.node).is_some_and(flushes) || consumers.all(|consumer| consumer.is_some_and(flushes))
}

/// Returns true if a node computes with its floats, so that denormal operands and results are zeros.
fn flushes(node: &Node) -> bool {
    use ElementwiseFunction::*;
    let computes = |function| {
        matches!(function, Add | Exp | Mul | Reciprocal | RealDiv | Rsqrt | Sigmoid | Sqrt | Square | SquaredDifference | Sub | Tanh)
    };
    node.traits().elementwise.is_some_and(computes) || Linear::of(node).is_some()
}

/// Returns true if all values of one type are values of another.
fn keeps_values(from: DType, to: DType) -> bool {
    use DType::*;
    /// The type's number of significant bits, and whether it has negative numbers.
    fn integer(dtype: DType) -> Option<(u32, bool)> {
        Some(match dtype {
            Bool => (1, false),
            I8 => (7, true),
            U8 => (8, false),
            I16 => (15, true),
            U16 => (16, false),
            I32 => (31, true),
            U32 => (32, false),
            I64 => (63, true),
            U64 => (64, false),
            _ => return None,
        })
    }
    match (integer(from), integer(to)) {
        (Some((bits, is_signed)), Some((room, has_sign))) => to != Bool && bits <= room && (!is_signed || has_sign),
        (Some((bits, _)), None) => match to {
            F32 => bits <= 24,
            F64 => bits <= 53,
            _ => false,
        },
        _ => matches!((from, to), (F16 | BF16, F32 | F64) | (F32, F64)) || (from == to && matches!(from, F16 | BF16 | F32 | F64)),
    }
}

/// Makes a node that reshapes, transposes or casts skip one before it that does likewise. Returns true if it does.
fn shorten(graph: &mut Graph, bypass: &mut Bypass, id: NodeId, shapes: &Shapes) -> Result<bool> {
    let Some((change, skipped)) = graph.get(id).and_then(|node| find_chain(graph, node, shapes)) else { return Ok(false) };
    let Some(inner) = graph.input(id, 0).map(|input| input.node) else { return Ok(false) };
    if !bypass.follows(graph, inner, &skipped)? {
        return Ok(false);
    }
    match change {
        Change::Input => {}
        Change::Order { dtype, order, controls } => {
            let order = add_constant(graph, &Tensor::index_vector(dtype, &order)?, &controls, id)?;
            graph.update_edge(order, id, 1)?;
        }
        Change::Type(from) => graph.set_attr(id, "SrcT", Value::Type(from.number()))?,
    }
    graph.update_edge(skipped.source, id, 0)?;
    for control in skipped.controls {
        graph.add_control_edge(control, id)?;
    }
    Ok(true)
}

/// The changes of a node that skips another, besides its input.
enum Change {
    Input,
    /// The permutation of a transpose, its type, and the nodes that the constant waits for.
    Order {
        dtype: DType,
        order: Vec<i64>,
        controls: Vec<NodeId>,
    },
    /// The type that a cast starts from.
    Type(DType),
}

/// Returns the change with which a node can take the input of the node before it, and that input.
fn find_chain(graph: &Graph, node: &Node, shapes: &Shapes) -> Option<(Change, Substitute)> {
    let inner = graph.get(graph.input(node.id(), 0)?.node)?;
    if inner.device() != node.device() || inner.num_outputs() != 1 || !is_pure(graph, inner) {
        return None;
    }
    let skipped = Trace::of(graph, inner, 0).to(graph.input(inner.id(), 0)?);
    if node.is_op("Reshape") && reshapes(graph, inner, shapes) {
        return Some((Change::Input, skipped));
    }
    if let Some(order) = composed(graph, node, shapes) {
        let dtype = graph.output_type(graph.input(node.id(), 1)?).ok()?.dtype;
        let controls = constant_input(graph, node.id(), 1)?.controls;
        return Some((Change::Order { dtype, order: order.iter().map(|&axis| axis as i64).collect(), controls }, skipped));
    }
    let ([from, between], [_, to]) = (cast_types(inner)?, cast_types(node)?);
    let is_rounding = from.is_floating() && !to.is_floating();
    let is_number = |dtype: DType| keeps_values(dtype, dtype);
    let is_equal = keeps_values(from, between) && is_number(to) && from != to && !is_rounding;
    is_equal.then_some((Change::Type(from), skipped))
}

/// Returns the permutation of a transpose and the transpose before it.
fn composed(graph: &Graph, node: &Node, shapes: &Shapes) -> Option<Vec<usize>> {
    let second = permutation(graph, node, shapes)?;
    let first = permutation(graph, graph.get(graph.input(node.id(), 0)?.node)?, shapes)?;
    second.iter().map(|&axis| first.get(axis).copied()).collect()
}
