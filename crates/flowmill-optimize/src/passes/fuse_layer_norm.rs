//! Makes one node of a layer normalisation that is written out.
//!
//! Before: `m = Mean(x)`, `d = x - m`, `v = Mean(d²)`, then `d · rsqrt(v + ε) · γ + β`, its factors multiplied in any order; or
//! `s = rsqrt(v + ε) · γ`, then `x · s + (β - m · s)`. After: `_FusedLayerNorm(x, γ, β) {epsilon=ε}`.
//!
//! Sound because the kernel computes the same formula; rounding differs. Guards: `float32`; both means are over the last dimension alone and
//! keep it; γ and β are constant vectors of one length, ε is a constant scalar that is not negative; nobody else sees what lies between; no
//! control edge orders the nodes that go; all on one device.
//!
//! `remove_identities` runs earlier, because `StopGradient` may come between m and the squares. `fuse_elementwise` runs later, because it would fuse
//! the nodes that this pass looks for.

use crate::rewrite::{computes, constant, constant_shape, factors, is_last_axis, is_plain, node_def, replace};
use crate::{PassContext, Shapes};
use flowmill_graph::{ElementwiseFunction, Graph, Node, NodeId, OutputId};
use flowmill_proto::AttrValue;
use flowmill_proto::attr_value::Value;
use flowmill_tensor::{DType, Result};

const FUSED: &str = "_FusedLayerNorm";

pub(crate) fn run(graph: &mut Graph, PassContext { target, shapes, limit }: PassContext<'_>) -> Result<usize> {
    if !target.supports(FUSED, DType::F32) {
        return Ok(0);
    }
    let mut count = 0;
    for id in graph.op_node_ids() {
        if count == limit {
            break;
        }
        let Some(norm) = graph.get(id).and_then(|last| find(graph, last, shapes)) else { continue };
        // What computed the moments is left to `prune`.
        let mut def = node_def(graph, FUSED, String::new(), &[id]);
        def.attr.insert("T".to_owned(), Value::Type(DType::F32.number()).into());
        def.attr.insert("epsilon".to_owned(), AttrValue::from(norm.epsilon));
        let fused = replace(graph, id, def, &[norm.x, norm.gamma, norm.beta], &[])?;
        shapes.set_same(fused.output(0), id.output(0));
        count += 1;
    }
    Ok(count)
}

struct Norm {
    x: OutputId,
    gamma: OutputId,
    beta: OutputId,
    epsilon: f32,
}

/// The normalisation that ends in the sum `last`.
fn find(graph: &Graph, last: &Node, shapes: &Shapes) -> Option<Norm> {
    let search = Search { graph, device: last.device(), shapes };
    let sum = search.plain(last.id(), ElementwiseFunction::Add)?;
    let (a, b) = (graph.input(sum, 0)?, graph.input(sum, 1)?);
    [(a, b), (b, a)].into_iter().find_map(|(a, b)| search.centred(sum, a, b).or_else(|| search.shifted(sum, a, b)))
}

struct Search<'a> {
    graph: &'a Graph,
    device: &'a str,
    shapes: &'a Shapes,
}

impl Search<'_> {
    fn plain(&self, id: NodeId, function: ElementwiseFunction) -> Option<NodeId> {
        self.graph.get(id).filter(|n| computes(self.graph, n, function, self.device)).map(Node::id)
    }

    fn mean(&self, id: NodeId) -> Option<NodeId> {
        self.graph.get(id).filter(|n| n.is_op("Mean") && is_plain(self.graph, n, self.device)).map(Node::id)
    }

    fn input(&self, id: NodeId, i: usize) -> Option<OutputId> {
        self.graph.input(id, i)
    }

    /// Returns true if every consumer of `id` is in `consumers`, and no control edge leaves `id`.
    fn is_seen_by(&self, id: NodeId, consumers: &[NodeId]) -> bool {
        self.graph.out_edges(id).all(|e| !e.is_control() && consumers.contains(&e.dst))
    }

    /// `product + beta`, where the factors are `x - mean`, `rsqrt` and `gamma`.
    fn centred(&self, sum: NodeId, product: OutputId, beta: OutputId) -> Option<Norm> {
        let factors = factors(self.graph, self.graph.get(product.node)?, self.device)?;
        let &[_, _, _] = &factors[..] else { return None };
        let only = |found: Vec<OutputId>| if let [one] = found[..] { Some(one) } else { None };
        let with = |function| only(factors.iter().copied().filter(|f| self.plain(f.node, function).is_some()).collect());
        let (d, root) = (with(ElementwiseFunction::Sub)?, with(ElementwiseFunction::Rsqrt)?);
        let gamma = only(factors.iter().copied().filter(|&f| f != d && f != root).collect())?;
        let (x, mean) = (self.input(d.node, 0)?, self.input(d.node, 1)?);
        let variance = self.variance(root.node, x)?;
        let is_square_of_d = match self.squares(variance)? {
            Squares::Of(inner, _) => inner == d,
            Squares::Difference(a, b, _) => (a, b) == (x, mean) || (b, a) == (x, mean),
        };
        let squares = self.squares(variance)?.node();
        let users: Vec<NodeId> = self.graph.out_edges(d.node).map(|e| e.dst).filter(|&n| n != squares).collect();
        let is_private = self.is_seen_by(product.node, &[sum])
            && self.is_seen_by(mean.node, &[d.node, squares])
            && self.graph.out_edges(root.node).count() == 1
            && users.len() == 1
            && self.graph.out_edges(d.node).all(|e| !e.is_control());
        (is_square_of_d && is_private && self.is_mean_of(mean.node, x)).then_some(())?;
        self.norm(x, gamma, beta, variance, root)
    }

    /// `x · scale + (beta - mean · scale)`, where `scale` is `rsqrt · gamma`.
    fn shifted(&self, sum: NodeId, product: OutputId, shift: OutputId) -> Option<Norm> {
        let (product, shift) = (self.plain(product.node, ElementwiseFunction::Mul)?, self.plain(shift.node, ElementwiseFunction::Sub)?);
        let beta = self.input(shift, 0)?;
        let moved = self.plain(self.input(shift, 1)?.node, ElementwiseFunction::Mul)?;
        let pair = |id: NodeId| Some([(self.input(id, 0)?, self.input(id, 1)?), (self.input(id, 1)?, self.input(id, 0)?)]);
        for (x, scale) in pair(product)? {
            let Some((mean, _)) = pair(moved)?.into_iter().find(|&(_, s)| s == scale) else { continue };
            let Some(scaling) = self.plain(scale.node, ElementwiseFunction::Mul) else { continue };
            for (root, gamma) in pair(scaling)? {
                let Some(variance) = self.plain(root.node, ElementwiseFunction::Rsqrt).and_then(|r| self.variance(r, x)) else { continue };
                let Some(Squares::Difference(a, b, squares)) = self.squares(variance) else { continue };
                let is_private = self.is_seen_by(product, &[sum])
                    && self.is_seen_by(shift, &[sum])
                    && self.is_seen_by(moved, &[shift])
                    && self.is_seen_by(scaling, &[product, moved])
                    && self.is_seen_by(root.node, &[scaling])
                    && self.is_seen_by(mean.node, &[moved, squares]);
                if is_private && ((a, b) == (x, mean) || (b, a) == (x, mean)) && self.is_mean_of(mean.node, x) {
                    return self.norm(x, gamma, beta, variance, root);
                }
            }
        }
        None
    }

    fn norm(&self, x: OutputId, gamma: OutputId, beta: OutputId, variance: NodeId, root: OutputId) -> Option<Norm> {
        let shape = |o: OutputId| constant_shape(self.graph, o).filter(|s| s.rank() == 1);
        let sum = self.input(root.node, 0)?.node;
        let other = if self.input(sum, 0)?.node == variance { self.input(sum, 1)? } else { self.input(sum, 0)? };
        let epsilon = constant(self.graph, other).filter(|c| c.value.rank() == 0)?.value.to_scalar::<f32>().ok()?;
        (shape(gamma)? == shape(beta)? && epsilon >= 0.0).then_some(Norm { x, gamma, beta, epsilon })
    }

    /// Returns the `Mean` of squares that, plus a constant, `root` is the inverse square root of.
    fn variance(&self, root: NodeId, x: OutputId) -> Option<NodeId> {
        let sum = self.input(root, 0)?.node;
        let sum = self.plain(sum, ElementwiseFunction::Add)?;
        let mean = [0, 1].into_iter().find_map(|i| self.mean(self.input(sum, i)?.node))?;
        let squares = self.input(mean, 0)?;
        let is_private = self.is_seen_by(sum, &[root]) && self.is_seen_by(mean, &[sum]) && self.is_seen_by(squares.node, &[mean]);
        (is_private && self.is_mean_of_last(mean, x)).then_some(mean)
    }

    fn is_mean_of(&self, mean: NodeId, x: OutputId) -> bool {
        self.mean(mean).is_some_and(|m| self.input(m, 0) == Some(x) && self.is_mean_of_last(m, x))
    }

    /// Returns true if a `Mean` reduces only the last dimension of `x`, and keeps it.
    fn is_mean_of_last(&self, mean: NodeId, x: OutputId) -> bool {
        let keeps = self.graph.get(mean).is_some_and(|n| n.attrs().get_or("keep_dims", false).unwrap_or(false));
        keeps && is_last_axis(self.graph, self.shapes, mean, 1, x)
    }

    /// Returns the squares that a `Mean` averages.
    fn squares(&self, mean: NodeId) -> Option<Squares> {
        let node = self.input(mean, 0)?.node;
        if self.plain(node, ElementwiseFunction::Square).is_some() {
            return Some(Squares::Of(self.input(node, 0)?, node));
        }
        let (a, b) = (self.input(node, 0)?, self.input(node, 1)?);
        if self.plain(node, ElementwiseFunction::SquaredDifference).is_some() {
            return Some(Squares::Difference(a, b, node));
        }
        (self.plain(node, ElementwiseFunction::Mul).is_some() && a == b).then_some(Squares::Of(a, node))
    }
}

/// Squares of a tensor, or of the difference of two tensors, and the node that computes them.
enum Squares {
    Of(OutputId, NodeId),
    Difference(OutputId, OutputId, NodeId),
}

impl Squares {
    fn node(&self) -> NodeId {
        match *self {
            Squares::Of(_, node) | Squares::Difference(_, _, node) => node,
        }
    }
}
