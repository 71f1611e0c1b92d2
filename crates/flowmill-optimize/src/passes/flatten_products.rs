//! Computes products of tensors by products of matrices.
//!
//! Before: `y = Einsum(x, w) {equation="abc,cde->abde"}`, or a `BatchMatMulV2` of a tensor and a matrix. After: `y = Reshape(MatMul(Reshape(x, [-1,c]), Reshape(w,
//! [c,d·e])), [a,b,d,e])`. An equation with labels that all three terms share, such as `bhqd,bhkd->bhqk`, becomes `BatchMatMulV2` with `adj_x` or `adj_y`.
//! An equation that sums over no label, such as `bhne,bhn->bhne`, becomes `Mul(x, ExpandDims(y, 3))`.
//!
//! Sound because both compute the same sums; their order differs. A product of two dimensions has packed weights, a bias and an activation, which an
//! `Einsum` does not have. Guards:
//! * floats, two operands, each label once per term and in two terms at least;
//! * labels are in groups in each term, so that no element moves. A constant operand may have them in any order: its transposition is folded. The
//!   `Einsum` kernel reads and writes all other orders in place, which is cheaper than transposing them;
//! * shared dimensions are sure to be equal: the op fails if they are not, and an ellipsis broadcasts;
//! * a `BatchMatMulV2` in a loop is left to `hoist_products`, which computes such products before the loop;
//! * no known size is 0, from which `Reshape` could not infer another size.
//!
//! `fold_constants` runs later, because it reshapes constant weights. `fuse_epilogues` runs later, too.

use crate::rewrite::{add_constant, constant_shape, is_of_type, node_def, replace};
use crate::{PassContext, Shapes, Target};
use flowmill_graph::{ControlFlow, EinsumEquation, EinsumLabel, EinsumProduct, FrameId, Graph, Node, NodeId, OutputId};
use flowmill_proto::attr_value::Value;
use flowmill_proto::{AttrValue, DataType};
use flowmill_tensor::{DType, Result, Tensor};

pub(crate) fn run(graph: &mut Graph, PassContext { target, shapes, limit }: PassContext<'_>) -> Result<usize> {
    let products: Vec<NodeId> = graph.op_nodes().filter(|n| n.is_op("Einsum") || n.is_op("BatchMatMulV2")).map(Node::id).collect();
    if products.is_empty() {
        return Ok(0);
    }
    let flow = if graph.op_nodes().any(Node::is_enter) { Some(ControlFlow::new(graph)?) } else { None };
    let mut count = 0;
    for id in products {
        if count == limit {
            break;
        }
        let is_in_loop = flow.as_ref().is_some_and(|flow| flow.frame_of(id) != FrameId::ROOT);
        if is_in_loop && graph.get(id).is_some_and(|node| node.is_op("BatchMatMulV2")) {
            continue;
        }
        let Some(found) = graph.get(id).and_then(|node| find(graph, node, shapes, target)) else { continue };
        // A constant in a loop starts anew in each iteration, when this operand is there.
        let starts: Vec<NodeId> = graph.input_node(id, 0).filter(|_| is_in_loop).into_iter().collect();
        let mut rewrite = Rewrite { graph, original: id, dtype: found.dtype, starts };
        let product = match &found.form {
            Form::Product { left, right, result } => rewrite.product(left, right, result)?,
            Form::Broadcast(factors) => rewrite.broadcast(factors)?,
        };
        shapes.set_same(product, id.output(0));
        count += 1;
    }
    Ok(count)
}

/// A dimension of an operand: its size, which is negative if it is unknown, and where it can be read.
#[derive(Clone, Copy)]
struct Dimension {
    size: i64,
    tensor: OutputId,
    axis: usize,
}

/// An operand of the product: its dimensions in groups, and the order in which the product takes them.
struct Operand {
    tensor: OutputId,
    /// The transposition before the reshape; `None` if no element moves.
    permutation: Option<Vec<i32>>,
    /// The dimensions for which there is one product each, those of rows or columns, and those that are summed over.
    groups: [Vec<Dimension>; 3],
    /// True if the dimensions that are summed over are where a product has its other dimension.
    adjoint: bool,
}

struct Found {
    dtype: DType,
    form: Form,
}

enum Form {
    Product {
        left: Operand,
        right: Operand,
        /// The dimensions of the result, in its order.
        result: Vec<Dimension>,
    },
    /// Elements are multiplied without sums.
    Broadcast([Factor; 2]),
}

/// An operand of a multiplication that broadcasts.
struct Factor {
    tensor: OutputId,
    /// The transposition to the order of the result; `None` if no element moves.
    permutation: Option<Vec<i32>>,
    /// The axes of size 1 that are inserted, in ascending order.
    inserted: Vec<i32>,
}

impl Factor {
    fn new((tensor, labels, _): &Term, output: &[EinsumLabel]) -> Factor {
        let order: Vec<usize> = output.iter().filter_map(|label| labels.iter().position(|own| own == label)).collect();
        let permutation = (!order.is_sorted()).then(|| order.iter().map(|&axis| axis as i32).collect());
        // Broadcasting adds axes in front.
        let missing = output.iter().skip_while(|label| !labels.contains(label)).collect::<Vec<_>>();
        let inserted = missing.iter().enumerate().filter(|(_, label)| !labels.contains(label)).map(|(axis, _)| axis as i32).collect();
        Factor { tensor: *tensor, permutation, inserted }
    }
}

/// An operand: the tensor, the labels of its dimensions, and their sizes.
type Term = (OutputId, Vec<EinsumLabel>, Vec<i64>);

/// The operands of a product and the labels of its result.
struct Equation {
    terms: [Term; 2],
    output: Vec<EinsumLabel>,
}

fn einsum(graph: &Graph, node: &Node, shapes: &Shapes) -> Option<Equation> {
    let equation = EinsumEquation::parse(node.attrs().get("equation").ok()?).ok()?;
    let term = |i: usize| -> Option<Term> {
        let tensor = graph.input(node.id(), i)?;
        let dims = shapes.of(graph).shape(tensor).dims()?.to_vec();
        Some((tensor, equation.input_labels(i, dims.len()).ok()?, dims))
    };
    let terms = [term(0)?, term(1)?];
    let covered = |term: &Term| term.1.iter().filter(|l| matches!(l, EinsumLabel::Ellipsis(_))).count();
    let output = equation.output_labels(covered(&terms[0]).max(covered(&terms[1])));
    Some(Equation { terms, output })
}

/// Returns the product of all rows of a tensor with one matrix as an equation.
fn rows_by_matrix(graph: &Graph, node: &Node, shapes: &Shapes) -> Option<Equation> {
    let flag = |name: &str| node.attrs().get_or(name, false).unwrap_or(false);
    let (x, matrix) = (graph.input(node.id(), 0)?, graph.input(node.id(), 1)?);
    let sizes = |tensor: OutputId| Some(shapes.of(graph).shape(tensor).dims()?.to_vec());
    let (sizes_of_x, sizes_of_matrix) = (sizes(x)?, sizes(matrix)?);
    if sizes_of_x.len() < 3 || sizes_of_matrix.len() != 2 || flag("adj_x") {
        return None;
    }
    let (inner, column) = (EinsumLabel::Named('k'), EinsumLabel::Named('n'));
    let rows: Vec<EinsumLabel> = (1..sizes_of_x.len()).rev().map(EinsumLabel::Ellipsis).collect();
    let of_matrix = if flag("adj_y") { vec![column, inner] } else { vec![inner, column] };
    let of_x = [&rows[..], &[inner]].concat();
    Some(Equation { terms: [(x, of_x, sizes_of_x), (matrix, of_matrix, sizes_of_matrix)], output: [&rows[..], &[column]].concat() })
}

fn find(graph: &Graph, node: &Node, shapes: &Shapes, target: &dyn Target) -> Option<Found> {
    let dtype = [DType::F32, DType::F64, DType::F16, DType::BF16].into_iter().find(|&t| is_of_type(node, t))?;
    if node.num_inputs() != 2 || node.input_types().iter().any(|t| t.is_ref) {
        return None;
    }
    let Equation { terms: [a, b], output } =
        if node.is_op("Einsum") { einsum(graph, node, shapes)? } else { rows_by_matrix(graph, node, shapes)? };
    let size = |term: &Term, label: &EinsumLabel| {
        let axis = term.1.iter().position(|l| l == label)?;
        Some(Dimension { size: term.2[axis], tensor: term.0, axis })
    };
    // What both operands have must be equal, and is read from the left one.
    let is_equal = |label: &EinsumLabel| match (size(&a, label), size(&b, label)) {
        (Some(x), Some(y)) => x.size == y.size && x.size != -1,
        _ => true,
    };
    let dimension = |label: &EinsumLabel| size(&a, label).or_else(|| size(&b, label));
    if !a.1.iter().all(is_equal) || a.2.iter().chain(&b.2).any(|&size| size == 0) {
        return None;
    }
    let direct = EinsumProduct::of(&a.1, &b.1, &output)?;
    if direct.inner.is_empty() && node.is_op("Einsum") {
        let form = Form::Broadcast([Factor::new(&a, &output), Factor::new(&b, &output)]);
        return target.supports("Mul", dtype).then_some(Found { dtype, form });
    }
    // The side whose labels come first in the result is the left one.
    let is_direct = output == [&direct.batch[..], &direct.rows, &direct.columns].concat();
    let (product, left, right) = if is_direct { (direct, &a, &b) } else { (EinsumProduct::of(&b.1, &a.1, &output)?, &b, &a) };
    if output != [&product.batch[..], &product.rows, &product.columns].concat() || product.inner.is_empty() {
        return None;
    }
    let op = if product.batch.is_empty() { "MatMul" } else { "BatchMatMulV2" };
    if !target.supports(op, dtype) {
        return None;
    }
    let is_constant = |term: &Term| constant_shape(graph, term.0).is_some();
    let operand = |term: &Term, own: &[EinsumLabel], inner: &[EinsumLabel], is_left: bool| {
        let own_first = [&product.batch[..], own, inner].concat();
        let inner_first = [&product.batch[..], inner, own].concat();
        let usual = if is_left { &own_first } else { &inner_first };
        let (order, adjoint) = if term.1 == own_first {
            (&own_first, !is_left)
        } else if term.1 == inner_first {
            (&inner_first, is_left)
        } else {
            (usual, false)
        };
        let permutation = if term.1 == *order {
            None
        } else {
            is_constant(term).then_some(())?;
            Some(order.iter().filter_map(|l| term.1.iter().position(|own| own == l)).map(|i| i as i32).collect())
        };
        let dims = |labels: &[EinsumLabel]| labels.iter().map(dimension).collect::<Option<Vec<_>>>();
        Some(Operand { tensor: term.0, permutation, groups: [dims(&product.batch)?, dims(own)?, dims(inner)?], adjoint })
    };
    // The inner labels are in the order of an operand that need not move.
    let own_inner = |term: &Term| -> Vec<EinsumLabel> { term.1.iter().copied().filter(|l| product.inner.contains(l)).collect() };
    let inner = if is_constant(left) { own_inner(right) } else { own_inner(left) };
    let left = operand(left, &product.rows, &inner, true)?;
    let right = operand(right, &product.columns, &inner, false)?;
    let result: Vec<Dimension> = output.iter().map(dimension).collect::<Option<_>>()?;
    // A reshape infers one size; the others must be known.
    let num_unknown = |operand: &Operand| operand.merged().iter().filter(|&&size| size < 0).count();
    let can_reshape = |operand: &Operand| !operand.is_merged() || num_unknown(operand) <= 1;
    (can_reshape(&left) && can_reshape(&right)).then_some(Found { dtype, form: Form::Product { left, right, result } })
}

impl Operand {
    /// Returns true if the tensor has to be reshaped for the product.
    fn is_merged(&self) -> bool {
        self.groups[1].len() != 1 || self.groups[2].len() != 1
    }

    /// Returns the shape that the product takes, with −1 for unknown sizes.
    fn merged(&self) -> Vec<i64> {
        let product = |group: &[Dimension]| {
            group.iter().map(|d| d.size).try_fold(1i64, |p, size| p.checked_mul(size).filter(|_| size > 0)).unwrap_or(-1)
        };
        let [batch, own, inner] = &self.groups;
        let mut shape: Vec<i64> = batch.iter().map(|d| d.size.max(-1)).collect();
        shape.extend([product(own), product(inner)]);
        shape
    }
}

/// The rewrite of one product.
struct Rewrite<'a> {
    graph: &'a mut Graph,
    original: NodeId,
    dtype: DType,
    /// The nodes that new constants wait for.
    starts: Vec<NodeId>,
}

impl Rewrite<'_> {
    /// Replaces the node by a multiplication, and returns the tensor that takes the place of its output.
    fn broadcast(&mut self, factors: &[Factor; 2]) -> Result<OutputId> {
        let mut operands = Vec::new();
        for factor in factors {
            let mut tensor = self.transposed(factor.tensor, factor.permutation.as_deref())?;
            for &axis in &factor.inserted {
                let axis = self.constant(&Tensor::scalar(axis))?;
                tensor = self.add("ExpandDims", &[tensor, axis], &[], vec![("Tdim", DataType::DtInt32.into())])?;
            }
            operands.push(tensor);
        }
        let controls: Vec<NodeId> = self.graph.control_inputs(self.original).collect();
        let mut def = node_def(self.graph, "Mul", String::new(), &[self.original]);
        def.attr.insert("T".to_owned(), Value::Type(self.dtype.number()).into());
        Ok(replace(self.graph, self.original, def, &operands, &controls)?.output(0))
    }

    /// Replaces the node by a product, and returns the tensor that takes the place of its output.
    fn product(&mut self, left: &Operand, right: &Operand, result: &[Dimension]) -> Result<OutputId> {
        let is_batched = !left.groups[0].is_empty();
        let is_whole = left.groups[1].len() == 1 && right.groups[1].len() == 1;
        let adjoint = [left.adjoint, right.adjoint];
        let (left, right) = (self.operand(left, true)?, self.operand(right, false)?);
        let (op, [flag_of_left, flag_of_right]) =
            if is_batched { ("BatchMatMulV2", ["adj_x", "adj_y"]) } else { ("MatMul", ["transpose_a", "transpose_b"]) };
        let flags: Vec<(&str, AttrValue)> = [(flag_of_left, adjoint[0]), (flag_of_right, adjoint[1])]
            .into_iter()
            .filter(|flag| flag.1)
            .map(|(name, value)| (name, value.into()))
            .collect();
        let controls: Vec<NodeId> = self.graph.control_inputs(self.original).collect();
        if is_whole {
            let mut def = node_def(self.graph, op, String::new(), &[self.original]);
            def.attr.insert("T".to_owned(), Value::Type(self.dtype.number()).into());
            def.attr.extend(flags.into_iter().map(|(name, value)| (name.to_owned(), value)));
            return Ok(replace(self.graph, self.original, def, &[left, right], &controls)?.output(0));
        }
        let product = self.add(op, &[left, right], &controls, flags)?;
        let shape = self.shape(result)?;
        let mut def = node_def(self.graph, "Reshape", String::new(), &[self.original]);
        def.attr.insert("T".to_owned(), Value::Type(self.dtype.number()).into());
        def.attr.insert("Tshape".to_owned(), DataType::DtInt32.into());
        Ok(replace(self.graph, self.original, def, &[product, shape], &[])?.output(0))
    }

    fn transposed(&mut self, tensor: OutputId, permutation: Option<&[i32]>) -> Result<OutputId> {
        let Some(permutation) = permutation else { return Ok(tensor) };
        let permutation = self.constant(&Tensor::vector(permutation)?)?;
        self.add("Transpose", &[tensor, permutation], &[], vec![("Tperm", DataType::DtInt32.into())])
    }

    fn operand(&mut self, operand: &Operand, is_left: bool) -> Result<OutputId> {
        let mut tensor = self.transposed(operand.tensor, operand.permutation.as_deref())?;
        if operand.is_merged() {
            let mut shape = operand.merged();
            // The inner dimension is the last one of the left operand, and the last but one of the right.
            if operand.adjoint == is_left {
                let len = shape.len();
                shape.swap(len - 1, len - 2);
            }
            let shape: Vec<i32> = shape.into_iter().map(|size| i32::try_from(size).unwrap_or(-1)).collect();
            let shape = self.constant(&Tensor::vector(&shape)?)?;
            tensor = self.add("Reshape", &[tensor, shape], &[], vec![("Tshape", DataType::DtInt32.into())])?;
        }
        Ok(tensor)
    }

    /// Returns a vector with these sizes, in which one may be −1. Sizes that are not known beforehand are read from their tensors if there are several.
    fn shape(&mut self, dims: &[Dimension]) -> Result<OutputId> {
        if dims.iter().filter(|d| d.size < 0).count() <= 1 {
            let sizes: Vec<i32> = dims.iter().map(|d| i32::try_from(d.size).unwrap_or(-1).max(-1)).collect();
            return self.constant(&Tensor::vector(&sizes)?);
        }
        let mut sizes: Vec<OutputId> = Vec::new();
        let mut read: Vec<(OutputId, OutputId)> = Vec::new();
        for dim in dims {
            if let Ok(size) = i32::try_from(dim.size)
                && size >= 0
            {
                sizes.push(self.constant(&Tensor::scalar(size))?);
                continue;
            }
            let shape = match read.iter().find(|(tensor, _)| *tensor == dim.tensor) {
                Some(&(_, shape)) => shape,
                None => {
                    let shape = self.add("Shape", &[dim.tensor], &[], vec![("out_type", DataType::DtInt32.into())])?;
                    read.push((dim.tensor, shape));
                    shape
                }
            };
            let bound = |at: usize| Tensor::vector(&[at as i32]);
            let bounds = [self.constant(&bound(dim.axis)?)?, self.constant(&bound(dim.axis + 1)?)?, self.constant(&bound(1)?)?];
            let attrs = vec![("T", DataType::DtInt32.into()), ("Index", DataType::DtInt32.into()), ("shrink_axis_mask", 1i64.into())];
            sizes.push(self.add("StridedSlice", &[shape, bounds[0], bounds[1], bounds[2]], &[], attrs)?);
        }
        let attrs = vec![("T", DataType::DtInt32.into()), ("N", (sizes.len() as i64).into()), ("axis", 0i64.into())];
        self.add("Pack", &sizes, &[], attrs)
    }

    fn constant(&mut self, value: &Tensor) -> Result<OutputId> {
        let starts = self.starts.clone();
        add_constant(self.graph, value, &starts, self.original)
    }

    /// Adds a node of the operands' type, unless the attributes say another.
    fn add(&mut self, op: &str, inputs: &[OutputId], controls: &[NodeId], attrs: Vec<(&str, AttrValue)>) -> Result<OutputId> {
        let name = self.graph.node(self.original)?.name().to_owned();
        let name = self.graph.new_name(&name);
        let mut def = node_def(self.graph, op, name, &[self.original]);
        def.attr.insert("T".to_owned(), Value::Type(self.dtype.number()).into());
        def.attr.extend(attrs.into_iter().map(|(name, value)| (name.to_owned(), value)));
        Ok(self.graph.add_node_with_inputs(def, inputs, controls)?.output(0))
    }
}
