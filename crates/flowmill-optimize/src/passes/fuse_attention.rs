//! Makes one node of an attention, which never stores all scores.
//!
//! Before: `BatchMatMulV2(Softmax(AddV2(Mul(BatchMatMulV2(q, k) {adj_y=true}, s), mask)), v)`, or the same by `Einsum`. After: `_FusedAttention(q, k, v, s, mask)
//! {program=["Mul 0 1","Add 3 2"]}`. A `Transpose` that brings heads before rows, or back, goes: the kernel reads and writes either order. Softmax may be
//! written out as `exp(x - max) / sum`.
//!
//! Sound because the kernel computes the same; sums are added in another order. Guards: `float32`; softmax is over the keys; query, key and value are sure to have
//! the same leading dimensions; the functions between product and softmax are element-wise ones that the target's kernel has, and their other operand does
//! not widen the scores; scores and probabilities have no other consumers; no control edge orders the nodes that go; all on one device.
//!
//! `flatten_products` and `fold_constants` run earlier, because permutations may be computed. `sink_reshapes` and `fuse_reductions` run later, because
//! they would take functions of the scores.

use crate::linear::is_bias_add;
use crate::rewrite::{constant_input, has_no_control_inputs, integers, is_of_type, node_def, replace, sole_consumer};
use crate::{PassContext, Shapes, Target};
use flowmill_graph::{
    EinsumEquation, EinsumLabel, EinsumProduct, ElementwiseFunction, ElementwiseInstruction, Graph, Node, NodeId, OutputId,
    ReductionFunction,
};
use flowmill_proto::attr_value::{ListValue, Value};
use flowmill_tensor::{DType, Result};

/// The op that computes the whole attention.
const FUSED: &str = "_FusedAttention";
/// The largest number of functions between product and softmax.
const MAX_FUNCTIONS: usize = 8;

pub(crate) fn run(graph: &mut Graph, PassContext { target, shapes, limit }: PassContext<'_>) -> Result<usize> {
    if !target.supports(FUSED, DType::F32) {
        return Ok(0);
    }
    let mut count = 0;
    for id in graph.op_node_ids() {
        if count == limit {
            break;
        }
        let Some(found) = graph.get(id).and_then(|node| Search { graph, target, shapes, device: node.device() }.attention(node)) else {
            continue;
        };
        let fused = rewrite(graph, &found)?;
        shapes.set_same(fused.output(0), found.last.output(0));
        count += 1;
    }
    Ok(count)
}

/// An operand or a result of products of matrices.
#[derive(Clone, Copy)]
struct Matrices {
    tensor: OutputId,
    /// True if rows come before the last leading dimension.
    interleaved: bool,
    /// True if the last dimension is that of the product's rows or columns, and not the one that is summed over or that the result has.
    transposed: bool,
}

/// Products of matrices: `left right`, or `left rightᵀ` if the right one is stored as the columns of the product.
struct Product {
    left: Matrices,
    right: Matrices,
    /// True if the rows of the result come before the last leading dimension.
    interleaved: bool,
}

struct Found {
    /// The node that the attention replaces.
    last: NodeId,
    /// All nodes that go if nobody else consumes them, for the original names.
    members: Vec<NodeId>,
    query: Matrices,
    key: Matrices,
    value: Matrices,
    interleaved: bool,
    args: Vec<OutputId>,
    program: Vec<ElementwiseInstruction>,
}

struct Search<'a> {
    graph: &'a Graph,
    target: &'a dyn Target,
    shapes: &'a Shapes,
    device: &'a str,
}

impl Search<'_> {
    /// Returns the attention whose products with values are `node`.
    fn attention(&self, node: &Node) -> Option<Found> {
        let context = self.product(node)?;
        let (probabilities, value) = (context.left, context.right);
        // Rows of the probabilities are those of the scores; the values are summed over.
        if probabilities.interleaved || probabilities.transposed || value.transposed {
            return None;
        }
        let mut members = vec![node.id()];
        let argument = self.softmax(probabilities.tensor, node.id(), &mut members)?;
        let mut chain = Chain { args: Vec::new(), program: Vec::new() };
        let scores = self.scores(argument, *members.last()?, &mut members, &mut chain, MAX_FUNCTIONS)?;
        let scores_node = self.graph.get(scores.node)?;
        let product = self.product(scores_node)?;
        if product.interleaved || product.left.transposed {
            return None;
        }
        let (query, key) = (product.left, product.right);
        let leading = |matrices: &Matrices| self.leading(matrices);
        if leading(&query)? != leading(&key)? || leading(&query)? != leading(&value)? {
            return None;
        }
        members.push(scores.node);
        let (mut last, mut interleaved) = (node.id(), context.interleaved);
        if !interleaved
            && let Some(edge) = sole_consumer(self.graph, last)
            && let Some(transpose) = self.graph.get(edge.dst).filter(|n| self.is_plain(n) && edge.dst_input == 0)
            && self.permutation(transpose) == Some(Permutation::Heads)
        {
            (last, interleaved) = (transpose.id(), true);
            members.insert(0, last);
        }
        let (args, program) = chain.numbered();
        Some(Found { last, members, query, key, value, interleaved, args, program })
    }

    fn is_plain(&self, node: &Node) -> bool {
        is_of_type(node, DType::F32)
            && node.device() == self.device
            && has_no_control_inputs(self.graph, node.id())
            && !node.input_types().iter().any(|t| t.is_ref)
    }

    /// Returns true if only `consumer` consumes a node's tensor, and no control edge leaves the node.
    fn is_seen_by(&self, id: NodeId, consumers: &[NodeId]) -> bool {
        self.graph.out_edges(id).all(|e| !e.is_control() && consumers.contains(&e.dst))
    }

    /// Returns the sizes of the leading dimensions, if all are known or have a name.
    fn leading(&self, matrices: &Matrices) -> Option<Vec<i64>> {
        let shape = self.shapes.of(self.graph).shape(matrices.tensor);
        let mut sizes = shape.dims()?.to_vec();
        let rank = sizes.len();
        sizes.remove(if matrices.interleaved { rank.checked_sub(3)? } else { rank.checked_sub(2)? });
        sizes.pop();
        (!sizes.contains(&-1)).then_some(sizes)
    }

    /// Returns the argument of a softmax over the last dimension, which only `consumer` consumes. Adds its nodes to `members`.
    fn softmax(&self, tensor: OutputId, consumer: NodeId, members: &mut Vec<NodeId>) -> Option<OutputId> {
        let node = self.graph.get(tensor.node).filter(|n| self.is_plain(n) && self.is_seen_by(n.id(), &[consumer]))?;
        if node.is_op("Softmax") {
            members.push(node.id());
            return self.graph.input(node.id(), 0);
        }
        // exp(x - max(x)) / sum(exp(x - max(x)))
        let quotient = self.function(node, ElementwiseFunction::RealDiv)?;
        let (top, below) = (self.graph.input(quotient, 0)?, self.graph.input(quotient, 1)?);
        let exponential = self.function(self.graph.get(top.node)?, ElementwiseFunction::Exp)?;
        let sum = self.reduction(below, ReductionFunction::Sum, top)?;
        let difference = self.graph.input(exponential, 0)?;
        let shifted = self.function(self.graph.get(difference.node)?, ElementwiseFunction::Sub)?;
        let (x, max) = (self.graph.input(shifted, 0)?, self.graph.input(shifted, 1)?);
        let max = self.reduction(max, ReductionFunction::Max, x)?;
        let is_private = self.is_seen_by(sum, &[quotient])
            && self.is_seen_by(exponential, &[quotient, sum])
            && self.is_seen_by(shifted, &[exponential])
            && self.is_seen_by(max, &[shifted]);
        members.extend([quotient, sum, exponential, max, shifted]);
        is_private.then_some(x)
    }

    fn function(&self, node: &Node, function: ElementwiseFunction) -> Option<NodeId> {
        (node.traits().elementwise == Some(function) && self.is_plain(node)).then_some(node.id())
    }

    /// Returns the node that reduces the last dimension of `of` and keeps it, if `tensor` is its output.
    fn reduction(&self, tensor: OutputId, function: ReductionFunction, of: OutputId) -> Option<NodeId> {
        let node = self.graph.get(tensor.node).filter(|n| n.traits().reduces && self.is_plain(n))?;
        let keeps = node.attrs().get_or("keep_dims", false).ok()?;
        let is_last = crate::rewrite::is_last_axis(self.graph, self.shapes, node.id(), 1, of);
        (ReductionFunction::of_op(node.op()) == Some(function) && keeps && is_last && self.graph.input(node.id(), 0) == Some(of))
            .then_some(node.id())
    }

    /// Returns the product that `tensor` is, or that it is computed from by element-wise functions, which are added to `chain`. Only `consumer` and
    /// other members consume the tensor.
    fn scores(&self, tensor: OutputId, consumer: NodeId, members: &mut Vec<NodeId>, chain: &mut Chain, depth: usize) -> Option<OutputId> {
        let node = self.graph.get(tensor.node).filter(|n| self.is_plain(n))?;
        let consumers: Vec<NodeId> = members.iter().copied().chain([consumer]).collect();
        if !self.is_seen_by(node.id(), &consumers) {
            return None;
        }
        if self.product(node).is_some() {
            return Some(tensor);
        }
        let depth = depth.checked_sub(1)?;
        let function = node.traits().elementwise.filter(|_| !is_bias_add(node))?;
        let is_select = function == ElementwiseFunction::SelectV2;
        if !self.target.fuses(FUSED, function, DType::F32) || node.num_inputs() > 2 && !is_select {
            return None;
        }
        let shapes = self.shapes.of(self.graph);
        for i in usize::from(is_select)..node.num_inputs() {
            let operand = self.graph.input(node.id(), i)?;
            let (num_members, num_functions) = (members.len(), chain.program.len());
            if !shapes.are_equal(operand, tensor) {
                continue;
            }
            members.push(node.id());
            let operands: Vec<Option<OutputId>> =
                self.graph.inputs(node.id()).enumerate().map(|(j, other)| (i != j).then_some(other)).collect();
            if !operands.contains(&Some(operand))
                && let Some(scores) = self.scores(operand, node.id(), members, chain, depth)
            {
                chain.program.push((function, operands));
                return Some(scores);
            }
            members.truncate(num_members);
            chain.program.truncate(num_functions);
        }
        None
    }

    /// Returns the operands of a node that multiplies matrices.
    fn product(&self, node: &Node) -> Option<Product> {
        if !self.is_plain(node) || node.num_inputs() != 2 {
            return None;
        }
        if node.is_op("Einsum") { self.einsum(node) } else { self.batch_product(node) }
    }

    fn batch_product(&self, node: &Node) -> Option<Product> {
        if !node.is_op("BatchMatMulV2") && !node.is_op("BatchMatMul") {
            return None;
        }
        let flag = |name: &str| node.attrs().get_or(name, false).unwrap_or(false);
        let operand = |i: usize, adjoint: bool| {
            let tensor = self.graph.input(node.id(), i)?;
            let plain = Matrices { tensor, interleaved: false, transposed: adjoint };
            let Some(transpose) = self.graph.get(tensor.node).filter(|n| self.is_plain(n)) else { return Some(plain) };
            let source = || self.graph.input(transpose.id(), 0);
            Some(match self.permutation(transpose) {
                Some(Permutation::Heads) => Matrices { tensor: source()?, interleaved: true, ..plain },
                Some(Permutation::HeadsAndMatrix) => Matrices { tensor: source()?, interleaved: true, transposed: !adjoint },
                Some(Permutation::Matrix) => Matrices { tensor: source()?, interleaved: false, transposed: !adjoint },
                None => plain,
            })
        };
        Some(Product { left: operand(0, flag("adj_x"))?, right: operand(1, flag("adj_y"))?, interleaved: false })
    }

    fn permutation(&self, node: &Node) -> Option<Permutation> {
        if !node.is_op("Transpose") {
            return None;
        }
        let permutation = integers(&constant_input(self.graph, node.id(), 1).filter(|c| c.controls.is_empty())?.value)?;
        match permutation[..] {
            [0, 2, 1, 3] => Some(Permutation::Heads),
            [0, 2, 3, 1] => Some(Permutation::HeadsAndMatrix),
            [0, 1, 3, 2] => Some(Permutation::Matrix),
            _ => None,
        }
    }

    fn einsum(&self, node: &Node) -> Option<Product> {
        let equation = EinsumEquation::parse(node.attrs().get("equation").ok()?).ok()?;
        let term = |i: usize| {
            let tensor = self.graph.input(node.id(), i)?;
            let rank = self.shapes.of(self.graph).rank(tensor)?;
            Some((tensor, equation.input_labels(i, rank).ok()?))
        };
        let (a, b) = (term(0)?, term(1)?);
        let is_ellipsis = |labels: &[EinsumLabel]| labels.iter().any(|l| matches!(l, EinsumLabel::Ellipsis(_)));
        if is_ellipsis(&a.1) || is_ellipsis(&b.1) {
            return None;
        }
        let output = equation.output_labels(0);
        // The last dimension of the result is the right operand's.
        let direct = EinsumProduct::of(&a.1, &b.1, &output)?;
        let (product, left, right) =
            if direct.columns.last() == output.last() { (direct, &a, &b) } else { (EinsumProduct::of(&b.1, &a.1, &output)?, &b, &a) };
        let ([row], [column], [inner]) = (&product.rows[..], &product.columns[..], &product.inner[..]) else { return None };
        let matrices = |term: &(OutputId, Vec<EinsumLabel>), rows: EinsumLabel, columns: EinsumLabel, transposed: bool| {
            let interleaved = order(&term.1, &product.batch, rows, columns)?;
            Some(Matrices { tensor: term.0, interleaved, transposed })
        };
        Some(Product {
            left: matrices(left, *row, *inner, false).or_else(|| matrices(left, *inner, *row, true))?,
            right: matrices(right, *inner, *column, false).or_else(|| matrices(right, *column, *inner, true))?,
            interleaved: order(&output, &product.batch, *row, *column)?,
        })
    }
}

/// Returns true if a term has rows before the last batch dimension, and false if it has them after all. `None` if it has another order.
fn order(term: &[EinsumLabel], batch: &[EinsumLabel], rows: EinsumLabel, columns: EinsumLabel) -> Option<bool> {
    if term == [batch, &[rows, columns]].concat() {
        return Some(false);
    }
    let (last, others) = batch.split_last()?;
    (term == [others, &[rows, *last, columns]].concat()).then_some(true)
}

/// A permutation of four dimensions.
#[derive(Clone, Copy, PartialEq)]
enum Permutation {
    /// `[0, 2, 1, 3]`: rows and heads change places.
    Heads,
    /// `[0, 2, 3, 1]`: that, and then the matrices are transposed.
    HeadsAndMatrix,
    /// `[0, 1, 3, 2]`: the matrices are transposed.
    Matrix,
}

/// The functions of scores, first to last, each with its operands, of which `None` are the scores.
struct Chain {
    args: Vec<OutputId>,
    program: Vec<(ElementwiseFunction, Vec<Option<OutputId>>)>,
}

impl Chain {
    /// Returns the arguments, each once, and the program with numbered values.
    fn numbered(mut self) -> (Vec<OutputId>, Vec<ElementwiseInstruction>) {
        for other in self.program.iter().flat_map(|(_, operands)| operands).filter_map(|operand| *operand) {
            if !self.args.contains(&other) {
                self.args.push(other);
            }
        }
        let number = |arg: OutputId| 1 + self.args.iter().position(|&a| a == arg).unwrap_or_default();
        let mut instructions = Vec::new();
        for (i, (function, operands)) in self.program.iter().enumerate() {
            let scores = if i == 0 { 0 } else { self.args.len() + i };
            let operands: Vec<usize> = operands.iter().map(|operand| operand.map_or(scores, number)).collect();
            instructions.push(ElementwiseInstruction { function: *function, operands: operands.into() });
        }
        (self.args, instructions)
    }
}

fn rewrite(graph: &mut Graph, found: &Found) -> Result<NodeId> {
    let mut def = node_def(graph, FUSED, String::new(), &found.members);
    def.device = graph.node(found.last)?.device().to_owned();
    def.attr.insert("T".to_owned(), Value::Type(DType::F32.number()).into());
    def.attr.insert("N".to_owned(), (found.args.len() as i64).into());
    def.attr.insert("program".to_owned(), ElementwiseInstruction::attr_of(&found.program));
    let interleaved = vec![found.query.interleaved, found.key.interleaved, found.value.interleaved, found.interleaved];
    def.attr.insert("interleaved".to_owned(), Value::List(Box::new(ListValue { b: interleaved, ..ListValue::default() })).into());
    if !found.key.transposed {
        def.attr.insert("key_is_transposed".to_owned(), true.into());
    }
    let mut inputs: Vec<OutputId> = vec![found.query.tensor, found.key.tensor, found.value.tensor];
    for &arg in &found.args {
        // The condition of a choice is a number to the kernel.
        let is_condition = graph.output_type(arg)?.dtype == DType::Bool;
        inputs.push(if is_condition { as_number(graph, arg, found.last)? } else { arg });
    }
    // What computed the scores is left to `prune`.
    replace(graph, found.last, def, &inputs, &[])
}

/// Adds a node that converts a condition to 0 or 1.
fn as_number(graph: &mut Graph, condition: OutputId, for_node: NodeId) -> Result<OutputId> {
    let name = graph.node(for_node)?.name().to_owned();
    let name = graph.new_name(&name);
    let mut def = node_def(graph, "Cast", name, &[for_node]);
    def.attr.insert("SrcT".to_owned(), Value::Type(DType::Bool.number()).into());
    def.attr.insert("DstT".to_owned(), Value::Type(DType::F32.number()).into());
    Ok(graph.add_node_with_inputs(def, &[condition], &[])?.output(0))
}
