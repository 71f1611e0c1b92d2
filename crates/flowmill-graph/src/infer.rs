//! The input and output of shape functions.

use crate::node_summary::{summarize_elements, summarize_node};
use crate::symbols::SymbolTable;
use crate::versions::GRAPH_DEF_VERSION;
use crate::{Attrs, Graph, Node, OpDef};
use flowmill_tensor::{DType, Error, PartialShape, Result, Tensor, bail, error};
use smallvec::SmallVec;
use std::cell::{Cell, RefCell};

/// Infers the static shapes of one node's outputs. Registered with the op.
pub type ShapeFn = fn(&mut InferenceContext<'_>) -> Result<()>;

/// The facts about one tensor that are known before anything runs.
#[derive(Clone, Debug, Default)]
pub struct ValueInfo {
    /// The static shape.
    pub shape: PartialShape,
    /// The value, if it is a small constant.
    pub constant: Option<Tensor>,
    /// The value read as a shape, if parts of it are known, such as the value of `Pack([Shape(x)[0], 3])`.
    pub as_shape: Option<PartialShape>,
    /// For a resource or variant: the types and shapes of what it holds.
    pub elements: Option<Vec<(DType, PartialShape)>>,
}

/// One node as its shape function sees it.
#[derive(Debug)]
pub struct InferenceContext<'a> {
    op_def: &'a OpDef,
    attrs: &'a Attrs,
    inputs: SmallVec<[&'a ValueInfo; 4]>,
    outputs: Vec<ValueInfo>,
    requested: Cell<Asked>,
    /// True after an error that is reported as it is.
    is_complete: Cell<bool>,
    producer: i32,
    /// `None` if unknown sizes have no names.
    symbols: Option<&'a RefCell<SymbolTable>>,
}

/// The inputs that a shape function requested although they are not known, one bit each. Inputs after the 64th are not recorded, which only leaves
/// shapes unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Asked {
    /// For their values.
    pub(crate) values: u64,
    /// For the shapes that their values describe.
    pub(crate) shapes: u64,
}

impl<'a> InferenceContext<'a> {
    /// Returns a context whose outputs are all unknown.
    pub fn new(
        op_def: &'a OpDef,
        attrs: &'a Attrs,
        inputs: impl IntoIterator<Item = &'a ValueInfo>,
        num_outputs: usize,
    ) -> InferenceContext<'a> {
        InferenceContext {
            op_def,
            attrs,
            inputs: inputs.into_iter().collect(),
            outputs: vec![ValueInfo::default(); num_outputs],
            requested: Cell::default(),
            is_complete: Cell::default(),
            producer: GRAPH_DEF_VERSION,
            symbols: None,
        }
    }

    /// Sets the table of the symbols that unknown sizes are.
    pub(crate) fn with_symbols(mut self, symbols: Option<&'a RefCell<SymbolTable>>) -> InferenceContext<'a> {
        self.symbols = symbols;
        self
    }

    /// Sets the version of the graph format that the node's graph was made with.
    pub fn made_by(mut self, producer: i32) -> InferenceContext<'a> {
        self.producer = producer;
        self
    }

    /// Returns the version of the graph format that the node's graph was made with; the current one unless it was set.
    pub fn producer(&self) -> i32 {
        self.producer
    }

    /// Returns the op.
    pub fn op_def(&self) -> &'a OpDef {
        self.op_def
    }

    /// Returns the node's attributes.
    pub fn attrs(&self) -> &'a Attrs {
        self.attrs
    }

    /// Number of data inputs, lists counted one by one.
    pub fn num_inputs(&self) -> usize {
        self.inputs.len()
    }

    /// Number of outputs, lists counted one by one.
    pub fn num_outputs(&self) -> usize {
        self.outputs.len()
    }

    /// Everything known of input `i`; unknown if there is no such input.
    pub fn value(&self, i: usize) -> Option<&'a ValueInfo> {
        self.inputs.get(i).copied()
    }

    /// Returns the static shape of input `i`.
    pub fn input(&self, i: usize) -> PartialShape {
        self.inputs.get(i).map_or_else(PartialShape::unknown, |v| v.shape.clone())
    }

    /// Returns the constant value of input `i`. Where it is not known, whoever calls the shape function may compute it and call again: this is for what
    /// output shapes depend on.
    pub fn constant(&self, i: usize) -> Option<&'a Tensor> {
        if i < 64 {
            self.requested.update(|requested| Asked { values: requested.values | 1 << i, ..requested });
        }
        self.known(i)
    }

    /// Returns the constant value of input `i` if it is known already: for values of outputs.
    pub fn known(&self, i: usize) -> Option<&'a Tensor> {
        self.value(i)?.constant.as_ref()
    }

    /// Returns the inputs that were requested although they are not known.
    pub(crate) fn asked(&self) -> Asked {
        let Asked { values, shapes } = self.requested.get();
        let only = |bits: u64, is_unknown: &dyn Fn(usize) -> bool| {
            (0..self.num_inputs().min(64)).filter(|&i| bits & 1 << i != 0 && is_unknown(i)).fold(0, |bits, i| bits | 1 << i)
        };
        let has_unknown_shape =
            |value: &ValueInfo| value.constant.is_none() && value.as_shape.as_ref().is_none_or(|s| !s.is_fully_defined());
        Asked {
            values: only(values, &|i| self.known(i).is_none()),
            shapes: only(shapes, &|i| self.value(i).is_some_and(has_unknown_shape)),
        }
    }

    /// Returns the static shape that the *value* of input `i`, a vector, describes; −1 entries are unknown sizes.
    ///
    /// # Errors
    /// `InvalidArgument` if the value cannot be a shape.
    pub fn input_as_shape(&self, i: usize) -> Result<PartialShape> {
        let Some(value) = self.value(i) else { return Ok(PartialShape::unknown()) };
        if let Some(rank) = value.shape.rank().filter(|&rank| rank != 1) {
            bail!(InvalidArgument, "Shape must be rank 1 but is rank {rank}");
        }
        if i < 64 {
            self.requested.update(|requested| Asked { shapes: requested.shapes | 1 << i, ..requested });
        }
        if let Some(t) = &value.constant {
            let sizes = t.to_i64_vec()?;
            if let Some(size) = sizes.iter().find(|&&size| size < -1) {
                return Err(self.complete(error!(InvalidArgument, "Invalid value in tensor used for shape: {size}")));
            }
            return Ok(PartialShape::new(&sizes));
        }
        if let Some(shape) = &value.as_shape {
            return Ok(shape.clone());
        }
        Ok(value.shape.dim(0).filter(|&n| n <= 254).map_or_else(PartialShape::unknown, PartialShape::unknown_of_rank))
    }

    /// Returns an error that is reported as it is, because TensorFlow finds it before it calls the shape function: a value that is no
    /// shape.
    pub fn complete(&self, error: Error) -> Error {
        self.is_complete.set(true);
        error
    }

    /// Returns what TensorFlow adds to an error of a shape function: the node, the shapes of its inputs, and the values that the shape function
    /// requested. That is nothing for an error that is [complete](Self::complete).
    pub(crate) fn describe(&self, graph: &Graph, node: &Node) -> String {
        if self.is_complete.get() {
            return String::new();
        }
        let Asked { values, shapes } = self.requested.get();
        let (mut computed, mut partial) = (Vec::new(), Vec::new());
        for i in 0..self.num_inputs().min(64) {
            let shape = if shapes & 1 << i != 0 { self.input_as_shape(i).ok() } else { None };
            if let Some(shape) = shape.filter(|shape| shape.rank().is_some()) {
                partial.push(format!("input[{i}] = {shape}"));
            } else if values & 1 << i != 0 {
                computed.extend(self.known(i).and_then(summarize_elements).map(|elements| format!("input[{i}] = <{elements}>")));
            }
        }
        let inputs: Vec<String> = (0..self.num_inputs())
            .map(|i| if self.input(i).rank().is_some() { self.input(i).to_string() } else { "?".to_owned() })
            .collect();
        let mut out = format!(" for '{}' with input shapes: {}", summarize_node(graph, node), inputs.join(", "));
        if !computed.is_empty() {
            out += &format!(" and with computed input tensors: {}", computed.join(", "));
        }
        if !partial.is_empty() {
            out += &format!(" and with input tensors computed as partial shapes: {}", partial.join(","));
        }
        out + "."
    }

    /// Input `i`, which must have rank `rank`: what is known of it then.
    ///
    /// # Errors
    /// `InvalidArgument` if its rank is known and another.
    pub fn with_rank(&self, i: usize, rank: usize) -> Result<PartialShape> {
        let shape = self.input(i);
        match shape.of_rank(rank) {
            Some(shape) => Ok(shape),
            None => bail!(InvalidArgument, "Shape must be rank {rank} but is rank {}", shape.min_rank()),
        }
    }

    /// Input `i`, which must have at least rank `rank`.
    ///
    /// # Errors
    /// `InvalidArgument` if its rank is known and less.
    pub fn with_rank_at_least(&self, i: usize, rank: usize) -> Result<PartialShape> {
        let shape = self.input(i);
        match shape.rank() {
            Some(r) if r < rank => bail!(InvalidArgument, "Shape must be at least rank {rank} but is rank {r}"),
            _ => Ok(shape.of_rank_at_least(rank)),
        }
    }

    /// Returns true if unknown sizes are symbols: see [`ShapeAnalysis`](crate::ShapeAnalysis).
    pub fn has_symbols(&self) -> bool {
        self.symbols.is_some()
    }

    /// Returns the sum of two sizes, at least one of which is unknown: a symbol if both are known or symbols.
    pub fn symbolic_sum(&self, a: i64, b: i64) -> i64 {
        self.symbols.map_or(-1, |table| table.borrow_mut().sum(a, b))
    }

    /// Like [`symbolic_sum`](InferenceContext::symbolic_sum), of the difference.
    pub fn symbolic_difference(&self, a: i64, b: i64) -> i64 {
        self.symbols.map_or(-1, |table| table.borrow_mut().difference(a, b))
    }

    /// Returns an unknown size divided by a positive number, rounded up: a symbol if the size is one.
    pub fn symbolic_quotient(&self, size: i64, divisor: i64) -> i64 {
        self.symbols.map_or(-1, |table| table.borrow_mut().quotient(size, divisor))
    }

    /// Returns the product of `sizes` divided by that of `divisors`. It is −1 unless all of them are known or symbols and each divisor is found
    /// among the factors.
    pub fn symbolic_ratio(&self, sizes: &[i64], divisors: &[i64]) -> i64 {
        self.symbols.map_or(-1, |table| table.borrow_mut().ratio(sizes, divisors))
    }

    /// Says that output `i`, if its rank is unknown, has at least `rank` dimensions. Only a [`ShapeAnalysis`](crate::ShapeAnalysis) uses this.
    pub fn set_min_rank(&mut self, i: usize, rank: usize) {
        if let (Some(_), Some(output)) = (self.symbols, self.outputs.get_mut(i)) {
            output.shape = PartialShape::unknown_of_rank_at_least(rank).merge(&output.shape).unwrap_or_default();
        }
    }

    /// Sets the static shape of output `i`; nothing if there is no such output.
    pub fn set_output(&mut self, i: usize, shape: PartialShape) {
        if let Some(o) = self.outputs.get_mut(i) {
            o.shape = shape;
        }
    }

    /// Everything known of output `i`, for setting constants, shape values and element types.
    pub fn output_mut(&mut self, i: usize) -> Option<&mut ValueInfo> {
        self.outputs.get_mut(i)
    }

    /// Returns the outputs that were set.
    pub fn into_outputs(self) -> Vec<ValueInfo> {
        self.outputs
    }
}

/// Returns the static shape of a placeholder, which its own attributes and the version of its graph give; unknown for a node of another op.
///
/// # Errors
/// `InvalidArgument` for a shape that no tensor can have.
pub fn placeholder_shape(graph: &Graph, node: &Node) -> Result<PartialShape> {
    let Some(shape_fn) = node.op_def().shape_fn.filter(|_| node.op().starts_with("Placeholder")) else {
        return Ok(PartialShape::unknown());
    };
    let mut context = InferenceContext::new(node.op_def(), node.attrs(), [], node.num_outputs()).made_by(graph.producer());
    shape_fn(&mut context)?;
    Ok(context.into_outputs().into_iter().next().map_or_else(PartialShape::unknown, |output| output.shape))
}
