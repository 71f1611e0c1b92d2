//! Fuses a GELU activation into the matrix product with a bias that it follows.
//!
//! Before: `y = _FusedMatMul(x, w, b) {fused_ops=["BiasAdd"]}`, then `y · 0.5 · (1 + erf(y / √2))`, or the approximation
//! `y · 0.5 · (1 + tanh(√(2/π) · (y + 0.044715 · y³)))`; factors and terms in any order, powers by `Pow`, `Square` or products, all maybe on a
//! `Reshape` of `y`. After: `_FusedMatMul(x, w, b) {fused_ops=["BiasAdd","GeluExact"]}` or `"GeluApproximate"`, and the `Reshape` of that.
//!
//! Sound because the activation works element by element, so that it commutes with a `Reshape`. Rounding differs.
//! Guards: `float32`; the constants are scalars; the product and the intermediate tensors have no other consumers; no control edge orders the nodes
//! that are removed; all nodes are on one device.
//!
//! `fuse_epilogues` runs earlier: it makes the product with a bias.

use crate::PassContext;
use crate::rewrite::{bypass, computes, constant, factors, is_of_type, sole_consumer};
use flowmill_graph::{ElementwiseFunction, Graph, Node, NodeId, OutputId};
use flowmill_tensor::{DType, Result};

/// The greatest difference between a constant and its value in the formula: models store √½ with few digits.
const TOLERANCE: f32 = 1e-5;

pub(crate) fn run(graph: &mut Graph, PassContext { target, limit, .. }: PassContext<'_>) -> Result<usize> {
    let mut count = 0;
    for id in graph.op_node_ids() {
        if count == limit {
            break;
        }
        let Some(found) = graph.get(id).and_then(|node| find(graph, node)) else { continue };
        if !target.fuses("_FusedMatMul", found.activation, DType::F32) {
            continue;
        }
        // What computed the factors is left to `prune`.
        let functions = ElementwiseFunction::attr_of(&[ElementwiseFunction::BiasAdd, found.activation]);
        graph.set_attr(found.product, "fused_ops", functions)?;
        bypass(graph, id, found.argument)?;
        count += 1;
    }
    Ok(count)
}

struct Gelu {
    product: NodeId,
    /// The tensor that the activation is of.
    argument: OutputId,
    activation: ElementwiseFunction,
}

/// The activation that ends in the multiplication `last`.
fn find(graph: &Graph, last: &Node) -> Option<Gelu> {
    let mut factors = factors(graph, last, last.device())?;
    let half = factors.iter().position(|&f| is_scalar(graph, f, 0.5))?;
    factors.swap_remove(half);
    let &[a, b] = &factors[..] else { return None };
    [(a, b), (b, a)].into_iter().find_map(|(argument, gate)| {
        let (activation, uses) = activation(graph, gate, argument, last.device())?;
        let product = product_behind(graph, argument, 1 + uses, last.device())?;
        Some(Gelu { product, argument, activation })
    })
}

/// Returns the producer of a tensor, if it computes `function` and its output has no other consumers.
fn inner<'a>(graph: &'a Graph, output: OutputId, function: ElementwiseFunction, device: &str) -> Option<&'a Node> {
    let node = graph.get(output.node).filter(|n| computes(graph, n, function, device))?;
    sole_consumer(graph, node.id()).map(|_| node)
}

/// The activation whose factor `1 + erf(x / √2)` or `1 + tanh(√(2/π) (x + 0.044715 x³))` the tensor `gate` is, and how often that takes `x`.
fn activation(graph: &Graph, gate: OutputId, x: OutputId, device: &str) -> Option<(ElementwiseFunction, usize)> {
    let sum = inner(graph, gate, ElementwiseFunction::Add, device)?;
    let curve = other_than(graph, sum, 1.0)?;
    if let Some(tanh) = inner(graph, curve, ElementwiseFunction::Tanh, device) {
        let argument = Polynomial::of(graph, graph.input(tanh.id(), 0)?, x, device, MAX_DEPTH)?;
        let scale = (2.0 * std::f32::consts::FRAC_1_PI).sqrt();
        return argument.is_close([0.0, scale, 0.0, scale * 0.044_715]).then_some((ElementwiseFunction::GeluApproximate, argument.uses));
    }
    let erf = inner(graph, curve, ElementwiseFunction::Erf, device)?;
    let scaled = graph.input(erf.id(), 0)?;
    let argument = match inner(graph, scaled, ElementwiseFunction::Mul, device) {
        Some(node) => other_than(graph, node, std::f32::consts::FRAC_1_SQRT_2)?,
        None => {
            let node = inner(graph, scaled, ElementwiseFunction::RealDiv, device)?;
            graph
                .input(node.id(), 0)
                .filter(|_| graph.input(node.id(), 1).is_some_and(|o| is_scalar(graph, o, std::f32::consts::SQRT_2)))?
        }
    };
    (argument == x).then_some((ElementwiseFunction::GeluExact, 1))
}

/// The longest path that is searched from a result of the formula back to its argument, in nodes.
const MAX_DEPTH: usize = 8;

/// A polynomial of degree 3 in some tensor.
#[derive(Clone, Copy)]
struct Polynomial {
    /// The coefficients of the powers 0 to 3.
    coefficients: [f32; 4],
    /// The number of edges from the tensor into the computation.
    uses: usize,
}

impl Polynomial {
    /// Returns the polynomial of `x` that `output` computes. `None` if it is none, or if other nodes consume intermediate tensors.
    fn of(graph: &Graph, output: OutputId, x: OutputId, device: &str, depth: usize) -> Option<Polynomial> {
        if output == x {
            return Some(Polynomial { coefficients: [0.0, 1.0, 0.0, 0.0], uses: 1 });
        }
        if let Some(value) = scalar(graph, output) {
            return Some(Polynomial { coefficients: [value, 0.0, 0.0, 0.0], uses: 0 });
        }
        let depth = depth.checked_sub(1)?;
        let function = graph.get(output.node)?.traits().elementwise?;
        let node = inner(graph, output, function, device)?;
        let argument = |i: usize| Polynomial::of(graph, graph.input(node.id(), i)?, x, device, depth);
        match function {
            ElementwiseFunction::Add => Some(argument(0)?.plus(argument(1)?)),
            ElementwiseFunction::Mul => argument(0)?.times(argument(1)?),
            ElementwiseFunction::Square => {
                let base = argument(0)?;
                Some(Polynomial { uses: base.uses, ..base.times(base)? })
            }
            ElementwiseFunction::Pow => {
                let (base, power) = (argument(0)?, scalar(graph, graph.input(node.id(), 1)?)?);
                let power = [1.0, 2.0, 3.0].iter().position(|&p| p == power)?;
                let raised = (0..power).try_fold(base, |product, _| product.times(base))?;
                Some(Polynomial { uses: base.uses, ..raised })
            }
            _ => None,
        }
    }

    fn plus(self, other: Polynomial) -> Polynomial {
        let coefficients = std::array::from_fn(|i| self.coefficients[i] + other.coefficients[i]);
        Polynomial { coefficients, uses: self.uses + other.uses }
    }

    /// Returns the product, or `None` if its degree is higher than 3.
    fn times(self, other: Polynomial) -> Option<Polynomial> {
        let mut coefficients = [0.0; 4];
        for (i, a) in self.coefficients.into_iter().enumerate().filter(|(_, a)| *a != 0.0) {
            for (j, b) in other.coefficients.into_iter().enumerate().filter(|(_, b)| *b != 0.0) {
                *coefficients.get_mut(i + j)? += a * b;
            }
        }
        Some(Polynomial { coefficients, uses: self.uses + other.uses })
    }

    fn is_close(self, coefficients: [f32; 4]) -> bool {
        self.coefficients.iter().zip(coefficients).all(|(a, b)| (a - b).abs() <= TOLERANCE)
    }
}

/// The input of a node with two that is not the scalar `value`; the other is.
fn other_than(graph: &Graph, node: &Node, value: f32) -> Option<OutputId> {
    let (a, b) = (graph.input(node.id(), 0)?, graph.input(node.id(), 1)?);
    if is_scalar(graph, a, value) { Some(b) } else { is_scalar(graph, b, value).then_some(a) }
}

/// Returns the product with a bias that a tensor is, directly or through a `Reshape`, if its only consumer is the activation, through `uses` edges.
fn product_behind(graph: &Graph, argument: OutputId, uses: usize, device: &str) -> Option<NodeId> {
    let node = graph.get(argument.node)?;
    if graph.out_edges(node.id()).count() != uses {
        return None;
    }
    let product = if node.is_op("Reshape") && node.device() == device {
        let product = graph.get(graph.input_node(node.id(), 0)?)?;
        sole_consumer(graph, product.id()).filter(|e| e.dst_input == 0).map(|_| product)?
    } else {
        node
    };
    let is_fusable = product.is_op("_FusedMatMul") && is_of_type(product, DType::F32) && product.device() == device;
    (is_fusable && product.attrs().list::<&str>("fused_ops").ok()? == [ElementwiseFunction::BiasAdd.name()]).then_some(product.id())
}

fn is_scalar(graph: &Graph, output: OutputId, value: f32) -> bool {
    scalar(graph, output).is_some_and(|v| (v - value).abs() <= TOLERANCE)
}

/// The value of a constant scalar.
fn scalar(graph: &Graph, output: OutputId) -> Option<f32> {
    constant(graph, output).filter(|c| c.value.rank() == 0)?.value.to_scalar::<f32>().ok()
}
