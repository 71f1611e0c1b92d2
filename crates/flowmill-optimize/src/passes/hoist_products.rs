//! Computes matrix products that do not depend on earlier iterations before their loop.
//!
//! Before, in a loop that counts `i`: `y = MatMul(x[i], w)`. After: `xw = BatchMatMulV2(x, w)` before the loop, and `y = xw[i]` in it. The parts `x[i]`
//! may also be read from a TensorArray or a list into which `x` was unstacked before the loop; then `xw` is unstacked into another one. The matrix
//! that does not change may be on either side, or a constant in the loop, and both operands may be transposed. If neither operand changes, the product
//! itself is computed once.
//!
//! Before: `y = MatMul(ConcatV2(x[i], h, 1), w)`, as in a recurrent cell. After: `y = _FusedMatMul(h, w2, xw[i]) {fused_ops=["Accumulate"]}`, where `xw`
//! is the product of `x` and the first rows of `w`, and `w2` are the others. The fused kernel continues each sum from its start in `xw[i]`.
//!
//! A product of all parts is worth its memory only if parts have few rows: it is then bound by reading the matrix, once instead of once for each part.
//! A part of more than [`rows::MAX_ROWS`] rows, or [`rows::MAX_ROWS_OF_LARGE`] if the matrix is large, is multiplied in the loop. If the number of rows is not known before the graph runs, as that of a batch,
//! `_HoistedMatMul` returns either the products of all parts or the parts themselves, which have one axis more. `_PartMatMul` in the loop multiplies the
//! part if it is not yet a product, and so does a `_FusedMatMul` of a cell with the function `AccumulatePart`.
//!
//! Sound because an element of a product is one sum in a fixed order, which the row of one operand and the column of the other determine, so all bits
//! stay. What takes the product's place waits for what its unchanging operand waited for. The part is read by the same op at the same index as before,
//! from as many parts, so it is dead or out of range in the same cases. The new product is computed even if the loop ends early, which costs time and
//! has no effect, because it cannot fail. Guards:
//! * floats; the unchanging operand is a matrix; the sizes that are summed over are known and equal;
//! * the index is a counter: a product of a large tensor, of which a loop reads a few parts by chance, would be wasted;
//! * the new product has at most [`MAX_GROWTH`] times as many elements as the tensor of parts;
//! * nothing writes to the array in the loop, and no other read removes its elements;
//! * rows that are checked against a declared shape are sure to have it, because the check is no longer made;
//! * the part is read along an axis that is not multiplied;
//! * of parts side by side the one that is read comes first: another order of summation may overflow where this one does not. The weights are a
//!   constant, so that their two parts are constants as well, and the target's product has the function `Accumulate`;
//! * references are read in each iteration;
//! * all on one device.
//!
//! Loops of functions are not rewritten: the passes of `LOWERING` turn them into loops of frames. `fold_constants` runs earlier and makes weights
//! constant. `fuse_epilogues` runs later and adds bias, residual and activation to what is left of a product.

mod rows;

use crate::loop_reads::{LoopRead, Parts, enter};
use crate::loops::{identities, invariant_value};
use crate::rewrite::{add_constant, bypass, constant, constant_input, constant_shape, integers, node_def, replace};
use crate::{PassContext, Shapes, Target};
use flowmill_graph::{ElementwiseFunction, Graph, Node, NodeId, OutputId, Role};
use flowmill_proto::{AttrValue, NodeDef};
use flowmill_tensor::{Bytes, DType, PartialShape, Result, Tensor, bail, error};
use rows::Rows;
use std::ops::Range;

/// The largest ratio of the sizes of a product and of the tensor of parts that is multiplied.
const MAX_GROWTH: i64 = 32;
/// The largest number of bytes of weights of which parts are copied.
const MAX_SPLIT_BYTES: usize = 64 << 20;

/// The op of the product before the loop.
const PRODUCT: &str = "BatchMatMulV2";
/// The op before the loop if the rows of a part are counted when the graph runs.
const HOISTED: &str = "_HoistedMatMul";
/// Its counterpart in the loop.
const OF_PART: &str = "_PartMatMul";

pub(crate) fn run(graph: &mut Graph, PassContext { target, shapes, limit }: PassContext<'_>) -> Result<usize> {
    if !graph.op_nodes().any(Node::is_enter) {
        return Ok(0);
    }
    // Each round takes products out of one loop more.
    let mut count = 0;
    loop {
        let round = hoist_all(graph, target, shapes, limit - count)?;
        count += round;
        if round == 0 {
            return Ok(count);
        }
    }
}

/// Takes each product out of the innermost loop around it.
fn hoist_all(graph: &mut Graph, target: &dyn Target, shapes: &mut Shapes, limit: usize) -> Result<usize> {
    shapes.renew();
    let mut count = 0;
    for id in graph.op_node_ids() {
        if count == limit {
            break;
        }
        let Some(found) = graph.get(id).and_then(|node| find(graph, node, shapes, target)) else { continue };
        let new = match found {
            Found::Part(part) => part.rewrite(graph, id)?,
            Found::Whole(whole) => whole.rewrite(graph, id)?,
            Found::Beside(beside) => beside.rewrite(graph, id)?,
        };
        shapes.set_same(new, id.output(0));
        count += 1;
    }
    Ok(count)
}

/// An operand that has the same value in each iteration.
#[derive(Clone, Copy)]
enum Fixed {
    /// A tensor outside of the loop.
    Outside(OutputId),
    /// A constant in the loop.
    Constant(NodeId),
}

impl Fixed {
    fn of(graph: &Graph, operand: OutputId) -> Option<Fixed> {
        let found = invariant_value(graph, operand).map(|found| Fixed::Outside(found.outside));
        found.or_else(|| graph.get(operand.node).filter(|n| n.role() == Role::Const).map(|n| Fixed::Constant(n.id())))
    }

    /// Returns the tensor from which the value comes.
    fn source(self) -> OutputId {
        match self {
            Fixed::Outside(tensor) => tensor,
            Fixed::Constant(node) => node.output(0),
        }
    }

    /// Returns the nodes for which a copy of a constant waits that is used outside of the loop together with `other`.
    fn controls(self, graph: &Graph, other: OutputId) -> Vec<NodeId> {
        match self {
            Fixed::Outside(tensor) => constant(graph, tensor).map(|found| found.controls).unwrap_or_default(),
            Fixed::Constant(_) => vec![other.node],
        }
    }

    /// Returns the tensor outside of the loop, where it is used together with `other`.
    fn outside(self, graph: &mut Graph, other: OutputId) -> Result<OutputId> {
        let Fixed::Constant(id) = self else { return Ok(self.source()) };
        let controls = self.controls(graph, other);
        let prefix = graph.node(id)?.name().to_owned();
        let name = graph.new_name(&prefix);
        let def = NodeDef { attr: graph.node(id)?.attrs().to_map(), ..node_def(graph, "Const", name, &[id]) };
        Ok(graph.add_node_with_inputs(def, &[], &controls)?.output(0))
    }
}

enum Found {
    Part(Part),
    Whole(Whole),
    Beside(Beside),
}

/// A product of a part and an invariant.
struct Part {
    read: LoopRead,
    fixed: Fixed,
    /// True if the part is the left operand.
    is_left: bool,
    /// The size of the last axis of the product, or −1.
    columns: i64,
    /// True if the other axes of the product are those of the part.
    same_rows: bool,
    rows: Rows,
    /// The rank of the part.
    rank: usize,
}

/// A product whose operands do not change.
struct Whole {
    operands: [Fixed; 2],
    /// The `Enter` of an operand, and what enters.
    enter: NodeId,
    other: OutputId,
    /// The nodes for which the product and its operands wait in each iteration.
    controls: Vec<NodeId>,
}

/// A product of constant weights and of a part beside another matrix.
struct Beside {
    read: LoopRead,
    concat: NodeId,
    /// The weights: their value, the number of their first rows, which are for the part, and of all rows.
    weights: Tensor,
    first: usize,
    depth: usize,
    transposed: bool,
    fixed: Fixed,
    columns: i64,
    rows: Rows,
}

fn find(graph: &Graph, product: &Node, shapes: &Shapes, target: &dyn Target) -> Option<Found> {
    let operands = Operands::of(product)?;
    if !target.supports(PRODUCT, operands.dtype) {
        return None;
    }
    let (left, right) = (graph.input(product.id(), 0)?, graph.input(product.id(), 1)?);
    match (Fixed::of(graph, left), Fixed::of(graph, right)) {
        (None, Some(fixed)) => operands
            .part((graph, shapes, target), product, (left, fixed, true))
            .map(Found::Part)
            .or_else(|| beside(graph, product, shapes, target, fixed).map(Found::Beside)),
        (Some(fixed), None) => operands.part((graph, shapes, target), product, (right, fixed, false)).map(Found::Part),
        (Some(left), Some(right)) => operands.whole(graph, product, shapes, [left, right]).map(Found::Whole),
        (None, None) => None,
    }
}

/// The attributes of a product.
#[derive(Clone, Copy)]
struct Operands {
    dtype: DType,
    /// True for each operand that is transposed.
    transposed: [bool; 2],
}

impl Operands {
    /// Returns the attributes of a product of floats, or `None` for any other node.
    fn of(node: &Node) -> Option<Operands> {
        let names = match node.op() {
            "MatMul" => ["transpose_a", "transpose_b"],
            "BatchMatMul" | PRODUCT => ["adj_x", "adj_y"],
            _ => return None,
        };
        let dtype = node.attrs().get::<DType>("T").ok().filter(|t| [DType::F16, DType::BF16, DType::F32, DType::F64].contains(t))?;
        let flag = |name: &str| node.attrs().get_or(name, false).ok();
        Some(Operands { dtype, transposed: [flag(names[0])?, flag(names[1])?] })
    }

    fn attrs(self) -> Vec<(&'static str, AttrValue)> {
        let dtype = flowmill_proto::attr_value::Value::Type(self.dtype.number()).into();
        vec![("T", dtype), ("adj_x", self.transposed[0].into()), ("adj_y", self.transposed[1].into())]
    }

    /// Returns the size that is summed over and the other size of operand `i`.
    fn sizes(self, i: usize, shape: &PartialShape) -> Option<(i64, i64)> {
        let [.., rows, columns] = *shape.dims()? else { return None };
        Some(if self.transposed[i] == (i == 0) { (rows, columns) } else { (columns, rows) })
    }

    /// Returns the other sizes of a left and a right operand, if they can be multiplied.
    fn product(self, shapes: [&PartialShape; 2]) -> Option<[i64; 2]> {
        let ((depth, rows), (same, columns)) = (self.sizes(0, shapes[0])?, self.sizes(1, shapes[1])?);
        (depth > 0 && depth == same).then_some([rows, columns])
    }

    fn part(
        self,
        (graph, shapes, target): (&Graph, &Shapes, &dyn Target),
        product: &Node,
        (part, fixed, is_left): (OutputId, Fixed, bool),
    ) -> Option<Part> {
        let read = LoopRead::find(graph, shapes, part).filter(|read| on_one_device(graph, product, [read.node]))?;
        let (whole, matrix) = (shapes.of(graph).shape(read.whole), shapes.of(graph).shape(fixed.source()));
        let rank = whole.rank().filter(|&rank| rank == 3 || (rank > 3 && !product.is_op("MatMul")))?;
        let by_rows = is_left && !self.transposed[0];
        // Rows can be multiplied wherever the parts lie, matrices if they lie one after the other.
        let is_admitted = if by_rows { read.axis + 1 < rank } else { read.axis + 2 < rank };
        if matrix.rank() != Some(2) || !is_admitted {
            return None;
        }
        let [rows, columns] = self.product(if is_left { [&whole, &matrix] } else { [&matrix, &whole] })?;
        let (depth, _) = self.sizes(usize::from(!is_left), &whole)?;
        let depth_axis = if self.transposed[usize::from(!is_left)] == is_left { rank - 2 } else { rank - 1 };
        let others = whole.dims()?.iter().enumerate().filter(|&(axis, _)| axis != read.axis && axis != depth_axis);
        let added = if is_left { columns } else { rows };
        let num_rows = Rows::of(others.map(|(_, &size)| size), depth.saturating_mul(added), self.dtype)
            .filter(|&rows| rows == Rows::Few || (by_rows && chooses(target, self.dtype)))?;
        if added < 0 || added > depth.saturating_mul(MAX_GROWTH) {
            return None;
        }
        Some(Part { read, fixed, is_left, columns: columns.max(-1), same_rows: by_rows, rows: num_rows, rank: rank - 1 })
    }

    /// Checks a product whose operands do not change, which cannot fail before the loop if it cannot fail in it.
    fn whole(self, graph: &Graph, product: &Node, shapes: &Shapes, operands: [Fixed; 2]) -> Option<Whole> {
        let [left, right] = operands.map(|operand| shapes.of(graph).shape(operand.source()));
        self.product([&left, &right])?;
        // Batches of different sizes would not fit.
        let has_matrix = left.rank() == Some(2) || right.rank() == Some(2);
        let are_matrices = left.rank() == right.rank() || !product.is_op("MatMul");
        if !has_matrix || !are_matrices {
            return None;
        }
        let (mut entered, mut controls) = (None, controls_of(graph, &[product.id()]));
        for (i, operand) in operands.into_iter().enumerate() {
            let node = graph.get(graph.input(product.id(), i)?.node)?;
            match operand {
                // Without its `Switch`, a variable that no iteration changes would be live when the loop has ended.
                Fixed::Outside(tensor) if node.is_enter() => entered = Some((node.id(), tensor)),
                Fixed::Constant(_) => controls.extend(graph.control_inputs(node.id())),
                Fixed::Outside(_) => return None,
            }
        }
        let (enter, other) = entered.filter(|&(enter, _)| on_one_device(graph, product, [enter]))?;
        Some(Whole { operands, enter, other, controls })
    }
}

/// Finds a product of a part that is concatenated with another matrix.
fn beside(graph: &Graph, product: &Node, shapes: &Shapes, target: &dyn Target, fixed: Fixed) -> Option<Beside> {
    let operands = Operands::of(product)?;
    let is_admitted = product.is_op("MatMul") && operands.dtype == DType::F32 && !operands.transposed[0];
    if !is_admitted || !target.fuses("_FusedMatMul", ElementwiseFunction::Accumulate, DType::F32) {
        return None;
    }
    let concat = graph.get(graph.input(product.id(), 0)?.node).filter(|n| n.is_op("ConcatV2") && n.num_inputs() == 3)?;
    let axis = integers(&constant_input(graph, concat.id(), 2)?.value)?;
    if axis != [1] && axis != [-1] {
        return None;
    }
    let read = LoopRead::find(graph, shapes, graph.input(concat.id(), 0)?)?;
    let analysis = shapes.of(graph);
    let (whole, other) = (analysis.shape(read.whole), analysis.shape(graph.input(concat.id(), 1)?));
    let (&[outer, inner, first], &[_, second]) = (whole.dims()?, other.dims()?) else { return None };
    let can_choose = chooses(target, operands.dtype) && target.fuses("_FusedMatMul", ElementwiseFunction::AccumulatePart, DType::F32);
    let shape = constant_shape(graph, fixed.source())?;
    let &[rows, columns] = shape.dims() else { return None };
    let (depth, columns) = if operands.transposed[1] { (columns, rows) } else { (rows, columns) };
    let rows_of_part = Rows::of([if read.axis == 0 { inner } else { outer }], first.saturating_mul(columns as i64), operands.dtype);
    let num_rows = rows_of_part.filter(|&rows| rows == Rows::Few || can_choose)?;
    let is_whole = read.axis < 2 && first > 0 && second > 0 && first + second == depth as i64;
    let is_small = columns as i64 <= first.saturating_mul(MAX_GROWTH) && shape.num_elements() <= MAX_SPLIT_BYTES / size_of::<f32>();
    if !is_whole || !is_small || !on_one_device(graph, product, [read.node, concat.id()]) {
        return None;
    }
    let weights = constant(graph, fixed.source())?.value;
    let (first, transposed, columns) = (first as usize, operands.transposed[1], columns as i64);
    Some(Beside { read, concat: concat.id(), weights, first, depth, transposed, fixed, columns, rows: num_rows })
}

/// Returns some of the rows of a matrix, or of the columns of a transposed one.
fn rows_of(matrix: &Tensor, range: Range<usize>, transposed: bool) -> Result<Tensor> {
    let &[rows, columns] = matrix.shape().dims() else { bail!(Internal, "weights that are no matrix") };
    let values = matrix.as_slice::<f32>()?;
    if !transposed {
        return Tensor::from_slice([range.len(), columns], &values[range.start * columns..range.end * columns]);
    }
    let part: Vec<f32> = values.chunks_exact(columns.max(1)).flat_map(|row| &row[range.clone()]).copied().collect();
    Tensor::from_slice([rows, range.len()], &part)
}

/// Returns true if the target can choose between the product of all parts and those of each when the graph runs.
fn chooses(target: &dyn Target, dtype: DType) -> bool {
    target.supports(HOISTED, dtype) && target.supports(OF_PART, dtype)
}

fn on_one_device<const N: usize>(graph: &Graph, product: &Node, others: [NodeId; N]) -> bool {
    others.iter().all(|&id| graph.get(id).is_some_and(|n| n.device() == product.device()))
}

impl Part {
    fn rewrite(self, graph: &mut Graph, id: NodeId) -> Result<OutputId> {
        let waiting = waiting(graph, &[id, self.read.node], usize::from(self.is_left));
        let fixed = self.fixed.outside(graph, self.read.whole)?;
        if let (Rows::Unknown { most }, Some(matrix)) = (self.rows, graph.input(id, 1)) {
            let controls = controls_of(graph, &[id]);
            let part = chosen_part(graph, id, &self.read, fixed, most)?;
            let mut def = node_def(graph, OF_PART, String::new(), &[id]);
            def.attr.extend(attrs_of_part(graph.node(id)?));
            def.attr.insert("rank".to_owned(), (self.rank as i64).into());
            let new = replace(graph, id, def, &[part, matrix], &controls)?;
            remove_unused(graph, &[self.read.node])?;
            return Ok(new.output(0));
        }
        let operands = if self.is_left { [self.read.whole, fixed] } else { [fixed, self.read.whole] };
        let product = add_product(graph, id, operands)?;
        let (def, inputs) = self.read.of_other(graph, product, Parts::Of { columns: self.columns, same_rows: self.same_rows })?;
        let controls = controls_of(graph, &waiting);
        let new = replace(graph, id, def, &inputs, &controls)?;
        remove_unused(graph, &[self.read.node])?;
        Ok(new.output(0))
    }
}

impl Beside {
    fn rewrite(self, graph: &mut Graph, id: NodeId) -> Result<OutputId> {
        let (part, weights, function) = match self.rows {
            Rows::Unknown { most } => self.chosen(graph, id, most)?,
            Rows::Few => self.product(graph, id)?,
        };
        let Beside { read, concat, .. } = self;
        let mut def = node_def(graph, "_FusedMatMul", String::new(), &[concat, id]);
        let attrs = graph.node(id)?.attrs();
        def.attr.extend(["T", "transpose_b"].into_iter().filter_map(|name| Some((name.to_owned(), attrs.attr(name)?.clone()))));
        def.attr.insert("fused_ops".to_owned(), vec![Bytes::from_static(function.name().as_bytes())].into());
        def.attr.insert("num_args".to_owned(), 1i64.into());
        let inputs: Vec<OutputId> = graph.input(concat, 1).into_iter().chain([weights, part]).collect();
        let controls = controls_of(graph, &waiting(graph, &[id, concat], 1));
        let new = replace(graph, id, def, &inputs, &controls)?;
        remove_unused(graph, &[concat, read.node])?;
        Ok(new.output(0))
    }

    /// Adds the product of all parts and the first rows of the weights. Returns the product's part, the other rows, and the function of what is left.
    fn product(&self, graph: &mut Graph, id: NodeId) -> Result<(OutputId, OutputId, ElementwiseFunction)> {
        let [first, second] = [self.constant(graph, 0..self.first)?, self.constant(graph, self.first..self.depth)?];
        let product = add_product(graph, id, [self.read.whole, first])?;
        let (mut def, inputs) = self.read.of_other(graph, product, Parts::Of { columns: self.columns, same_rows: true })?;
        let name = graph.node(id)?.name().to_owned();
        def.name = graph.new_name(&name);
        let part = graph.add_node_with_inputs(def, &inputs, &controls_of(graph, &[self.read.node]))?;
        Ok((part.output(0), enter(graph, self.read.enter, second)?, ElementwiseFunction::Accumulate))
    }

    /// Like [`Beside::product`], for a choice that is made when the graph runs. All weights are needed.
    fn chosen(&self, graph: &mut Graph, id: NodeId, max_rows: i64) -> Result<(OutputId, OutputId, ElementwiseFunction)> {
        let first = self.constant(graph, 0..self.first)?;
        let part = chosen_part(graph, id, &self.read, first, max_rows)?;
        let weights = graph.input(id, 1).ok_or_else(|| error!(Internal, "a product needs two inputs"))?;
        Ok((part, weights, ElementwiseFunction::AccumulatePart))
    }

    /// Adds some rows of the weights as a constant.
    fn constant(&self, graph: &mut Graph, rows: Range<usize>) -> Result<OutputId> {
        let controls = self.fixed.controls(graph, self.read.whole);
        let rows = rows_of(&self.weights, rows, self.transposed)?;
        add_constant(graph, &rows, &controls, self.fixed.source().node)
    }
}

impl Whole {
    fn rewrite(self, graph: &mut Graph, id: NodeId) -> Result<OutputId> {
        let operands = [self.operands[0].outside(graph, self.other)?, self.operands[1].outside(graph, self.other)?];
        let product = add_product(graph, id, operands)?;
        let entered = enter(graph, self.enter, product)?;
        if self.controls.is_empty() {
            bypass(graph, id, entered)?;
            return Ok(entered);
        }
        let mut def = node_def(graph, "Identity", String::new(), &[id]);
        def.attr.extend(graph.node(id)?.attrs().attr("T").map(|dtype| ("T".to_owned(), dtype.clone())));
        Ok(replace(graph, id, def, &[entered], &self.controls)?.output(0))
    }
}

/// Adds a choice before the loop between all products of parts and a matrix, like the product `like`, and the parts, and reads what was chosen in the
/// loop. The products are chosen if a part has at most `max_rows` rows. Returns what is read.
fn chosen_part(graph: &mut Graph, like: NodeId, read: &LoopRead, matrix: OutputId, max_rows: i64) -> Result<OutputId> {
    let node = graph.node(like)?;
    let attrs = attrs_of_part(node);
    let prefix = node.name().to_owned();
    let name = graph.new_name(&prefix);
    let mut def = node_def(graph, HOISTED, name, &[like]);
    def.attr.extend(attrs);
    def.attr.extend([("axis".to_owned(), (read.axis as i64).into()), ("max_rows".to_owned(), max_rows.into())]);
    let hoisted = graph.add_node_with_inputs(def, &[read.whole, matrix], &[])?;
    let (mut def, inputs) = read.of_other(graph, hoisted.output(0), Parts::Any)?;
    def.name = graph.new_name(&prefix);
    Ok(graph.add_node_with_inputs(def, &inputs, &controls_of(graph, &[read.node]))?.output(0))
}

/// Returns the attributes that the ops of a chosen part have in common with the product.
fn attrs_of_part(product: &Node) -> Vec<(String, AttrValue)> {
    let transposed = Operands::of(product).is_some_and(|operands| operands.transposed[1]);
    let dtype = product.attrs().attr("T").map(|dtype| ("T".to_owned(), dtype.clone()));
    dtype.into_iter().chain([("transpose_b".to_owned(), transposed.into())]).collect()
}

/// Adds the product of two tensors outside of the loop with the attributes of the product `like`.
fn add_product(graph: &mut Graph, like: NodeId, operands: [OutputId; 2]) -> Result<OutputId> {
    let node = graph.node(like)?;
    let attrs = Operands::of(node).map(Operands::attrs).unwrap_or_default();
    let prefix = node.name().to_owned();
    let name = graph.new_name(&prefix);
    let mut def: NodeDef = node_def(graph, PRODUCT, name, &[like]);
    def.attr.extend(attrs.into_iter().map(|(name, value)| (name.to_owned(), value)));
    Ok(graph.add_node_with_inputs(def, &operands, &[])?.output(0))
}

/// Returns a product and other nodes that are replaced with it, and the `Identity` nodes of its unchanging operand, for which these wait as well.
fn waiting(graph: &Graph, nodes: &[NodeId; 2], operand: usize) -> Vec<NodeId> {
    let fixed = graph.input(nodes[0], operand).map_or(Vec::new(), |fixed| identities(graph, fixed));
    nodes.iter().copied().chain(fixed).collect()
}

/// Returns the nodes for which any of `nodes` waits, each once.
fn controls_of(graph: &Graph, nodes: &[NodeId]) -> Vec<NodeId> {
    let mut controls: Vec<NodeId> = nodes.iter().flat_map(|&n| graph.control_inputs(n)).collect();
    controls.sort_unstable();
    controls.dedup();
    controls
}

/// Removes those of `nodes` that no node uses, in order.
fn remove_unused(graph: &mut Graph, nodes: &[NodeId]) -> Result<()> {
    for &id in nodes {
        if graph.out_edges(id).next().is_none() {
            graph.remove_node(id)?;
        }
    }
    Ok(())
}
