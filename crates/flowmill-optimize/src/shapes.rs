//! Which tensors have equal shapes, where the sizes themselves are not known before a step.
//!
//! Batch and image sizes are the caller's, so static shapes say nothing about them. Here each size is a term over sizes of tensors nobody
//! knows more about: a convolution of stride 2 with padding `SAME` gives ⌈size/2⌉ whatever its window. Equal terms are equal sizes, which
//! is how the two branches of a residual block are seen to fit. In a loop, terms hold within one iteration: what comes in through `Enter`,
//! `Merge` or `NextIteration` is a tensor nobody knows more about.

use crate::rewrite::{constant_input, constant_shape, is_channels_last, text};
use flowmill_graph::{Graph, Node, OutputId};
use flowmill_tensor::{DType, Tensor};
use rustc_hash::FxHashMap;

/// A size: two are equal where their terms are.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Size(u32);

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Term {
    Fixed(i64),
    /// A dimension of a tensor nobody knows more about.
    Of(OutputId, usize),
    Plus(Size, i64),
    /// Divided, rounding up.
    Divided(Size, i64),
}

/// The shapes of a graph's tensors, as far as they follow from each other.
#[derive(Default)]
pub(crate) struct Shapes {
    terms: Vec<Term>,
    sizes: FxHashMap<Term, Size>,
    /// By the tensor that [`Shapes::same_as`] leads to.
    shapes: FxHashMap<OutputId, Vec<Size>>,
    same_as: FxHashMap<OutputId, OutputId>,
}

/// Ops with one input whose output has its shape; more inputs do not matter.
const SHAPE_OF_FIRST: &[&str] = &[
    "Identity",
    "BiasAdd",
    "Relu",
    "Relu6",
    "Elu",
    "Selu",
    "LeakyRelu",
    "Tanh",
    "Sigmoid",
    "Softplus",
    "Softmax",
    "Erf",
    "Exp",
    "Neg",
    "Sqrt",
    "Rsqrt",
    "Square",
    "FusedBatchNorm",
    "FusedBatchNormV2",
    "FusedBatchNormV3",
];
const ELEMENTWISE: &[&str] = &["Add", "AddV2", "Sub", "Mul", "Maximum", "Minimum"];

impl Shapes {
    /// Works out the shapes of these nodes' outputs, which stand after their producers.
    pub(crate) fn of(graph: &Graph, order: &[flowmill_graph::NodeId]) -> Shapes {
        let mut shapes = Shapes::default();
        for node in order.iter().filter_map(|&id| graph.get(id)) {
            shapes.add(graph, node);
        }
        shapes
    }

    /// Whether two tensors are sure to have the same shape in each step.
    pub(crate) fn are_equal(&self, a: OutputId, b: OutputId) -> bool {
        let (a, b) = (self.root(a), self.root(b));
        let known = |o| self.shapes.get(&o);
        a == b || known(a).is_some_and(|a| known(b) == Some(a))
    }

    /// `new` stands in the place of `old`.
    pub(crate) fn set_same(&mut self, new: OutputId, old: OutputId) {
        let root = self.root(old);
        if root != new {
            self.same_as.insert(new, root);
        }
    }

    fn root(&self, output: OutputId) -> OutputId {
        self.same_as.get(&output).copied().unwrap_or(output)
    }

    fn term(&self, size: Size) -> Option<Term> {
        self.terms.get(size.0 as usize).copied()
    }

    fn size(&mut self, term: Term) -> Size {
        let next = Size(self.terms.len() as u32);
        let size = *self.sizes.entry(term).or_insert(next);
        if size == next {
            self.terms.push(term);
        }
        size
    }

    fn plus(&mut self, size: Size, addend: i64) -> Size {
        match self.term(size) {
            _ if addend == 0 => size,
            Some(Term::Fixed(n)) => self.size(Term::Fixed(n.saturating_add(addend))),
            Some(Term::Plus(inner, n)) => self.plus(inner, n.saturating_add(addend)),
            _ => self.size(Term::Plus(size, addend)),
        }
    }

    fn divided(&mut self, size: Size, divisor: i64) -> Size {
        match self.term(size) {
            _ if divisor <= 1 => size,
            Some(Term::Fixed(n)) => self.size(Term::Fixed(n.saturating_add(divisor - 1).div_euclid(divisor))),
            _ => self.size(Term::Divided(size, divisor)),
        }
    }

    /// The shape of a tensor that has to have this rank.
    fn of_rank(&mut self, output: OutputId, rank: usize) -> Option<Vec<Size>> {
        let root = self.root(output);
        if let Some(shape) = self.shapes.get(&root) {
            return Some(shape.clone()).filter(|s| s.len() == rank);
        }
        let shape: Vec<Size> = (0..rank).map(|axis| self.size(Term::Of(root, axis))).collect();
        self.shapes.insert(root, shape.clone());
        Some(shape)
    }

    fn add(&mut self, graph: &Graph, node: &Node) {
        let output = node.id().output(0);
        if SHAPE_OF_FIRST.contains(&node.op()) {
            if let Some(input) = graph.input(node.id(), 0) {
                self.set_same(output, input);
            }
        } else if ELEMENTWISE.contains(&node.op()) {
            self.add_elementwise(graph, node);
        } else if let Some(shape) = self.infer(graph, node) {
            self.shapes.insert(output, shape);
        }
    }

    fn add_elementwise(&mut self, graph: &Graph, node: &Node) {
        let (Some(a), Some(b)) = (graph.input(node.id(), 0), graph.input(node.id(), 1)) else { return };
        if self.are_equal(a, b) || self.is_widened_by(graph, a, b) {
            self.set_same(node.id().output(0), a);
        } else if self.is_widened_by(graph, b, a) {
            self.set_same(node.id().output(0), b);
        }
    }

    /// Whether `small` is constant and takes the shape of `large` where the two meet.
    fn is_widened_by(&self, graph: &Graph, large: OutputId, small: OutputId) -> bool {
        let Some(constant) = constant_shape(graph, small) else { return false };
        if constant.rank() == 0 {
            return true;
        }
        let Some(shape) = self.shapes.get(&self.root(large)) else { return false };
        let fits = |(&dim, &size): (&usize, &Size)| dim == 1 || self.term(size) == Some(Term::Fixed(dim as i64));
        constant.rank() <= shape.len() && constant.iter().rev().zip(shape.iter().rev()).all(fits)
    }

    fn infer(&mut self, graph: &Graph, node: &Node) -> Option<Vec<Size>> {
        let input = |i| graph.input(node.id(), i);
        match node.op() {
            "Const" => {
                let shape = constant_shape(graph, node.id().output(0))?;
                Some(shape.iter().map(|&dim| self.size(Term::Fixed(dim as i64))).collect())
            }
            "Conv2D" | "DepthwiseConv2dNative" if is_channels_last(node) => {
                let channels = crate::linear::Linear::of(node)?.constant_channels(graph, node)?;
                let &[height, width, _, _] = constant_shape(graph, input(1)?)?.dims() else { return None };
                let shape = self.of_rank(input(0)?, 4)?;
                let mut shape = self.slide(node, shape, [height as i64, width as i64])?;
                *shape.last_mut()? = self.size(Term::Fixed(channels as i64));
                Some(shape)
            }
            "MaxPool" | "AvgPool" if is_channels_last(node) => {
                let &[1, height, width, 1] = &node.attrs().list::<i64>("ksize").ok()?[..] else { return None };
                let shape = self.of_rank(input(0)?, 4)?;
                self.slide(node, shape, [height, width])
            }
            "Pad" => {
                let paddings = integers(&constant_input(graph, node.id(), 1)?.value)?;
                let shape = self.of_rank(input(0)?, paddings.len() / 2)?;
                Some(shape.into_iter().zip(paddings.chunks(2)).map(|(size, pair)| self.plus(size, pair.iter().sum())).collect())
            }
            "MatMul" => {
                let op = crate::linear::Linear::of(node)?;
                let columns = op.constant_channels(graph, node)?;
                let shape = self.of_rank(input(0)?, 2)?;
                let is_transposed = node.attrs().get_or("transpose_a", false).ok()?;
                Some(vec![*shape.get(usize::from(is_transposed))?, self.size(Term::Fixed(columns as i64))])
            }
            _ => None,
        }
    }

    /// The shape of what a window gives that moves over an image: height and width change.
    fn slide(&mut self, node: &Node, mut shape: Vec<Size>, window: [i64; 2]) -> Option<Vec<Size>> {
        let strides: Vec<i64> = node.attrs().list("strides").ok()?;
        let dilations: Vec<i64> = if node.attrs().contains("dilations") { node.attrs().list("dilations").ok()? } else { vec![1; 4] };
        let paddings: Vec<i64> = match text(node, "padding") {
            "EXPLICIT" => node.attrs().list("explicit_paddings").ok()?,
            _ => vec![0; 8],
        };
        let is_same = text(node, "padding") == "SAME";
        for (i, window) in window.into_iter().enumerate() {
            let axis = i + 1;
            let padding: i64 = paddings.get(2 * axis..2 * axis + 2)?.iter().sum();
            let reach = (window - 1).checked_mul(*dilations.get(axis)?)?;
            let size = *shape.get(axis)?;
            let places = if is_same { size } else { self.plus(size, padding - reach) };
            *shape.get_mut(axis)? = self.divided(places, *strides.get(axis)?);
        }
        Some(shape)
    }
}

/// The values of a vector or matrix of integers.
pub(crate) fn integers(value: &Tensor) -> Option<Vec<i64>> {
    match value.dtype() {
        DType::I32 => Some(value.as_slice::<i32>().ok()?.iter().map(|&v| i64::from(v)).collect()),
        DType::I64 => Some(value.as_slice::<i64>().ok()?.to_vec()),
        _ => None,
    }
}
