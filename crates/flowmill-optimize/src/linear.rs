//! Convolutions and matrix products, which passes treat alike: they are linear in the input, with the same weights at all positions.

use crate::Shapes;
use crate::rewrite::{constant_shape, is_channels_last, is_of_type, text};
use flowmill_graph::{ElementwiseFunction, Graph, Node};
use flowmill_tensor::{DType, Shape, Tensor};

/// An op that is linear in input 0, with weights in input 1 and channels in the last dimension of its output.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Linear {
    Conv2D,
    Conv3D,
    DepthwiseConv2d,
    MatMul,
}

impl Linear {
    /// Returns the linear op that `node` computes, or `None` for other ops, other types than `float32` and channels in another dimension than the
    /// last.
    pub(crate) fn of(node: &Node) -> Option<Linear> {
        let op = match node.op() {
            "Conv2D" => Linear::Conv2D,
            "Conv3D" => Linear::Conv3D,
            "DepthwiseConv2dNative" => Linear::DepthwiseConv2d,
            "MatMul" => Linear::MatMul,
            _ => return None,
        };
        (is_of_type(node, DType::F32) && is_channels_last(node)).then_some(op)
    }

    /// Returns the rank of the output.
    pub(crate) fn rank(self) -> usize {
        match self {
            Linear::MatMul => 2,
            Linear::Conv2D | Linear::DepthwiseConv2d => 4,
            Linear::Conv3D => 5,
        }
    }

    /// Returns the number of output channels, if the node's weights are constant and of the right rank.
    pub(crate) fn constant_channels(self, graph: &Graph, node: &Node) -> Option<usize> {
        self.channels(node, &constant_shape(graph, graph.input(node.id(), 1)?)?)
    }

    /// Returns the number of output channels for weights of this shape.
    fn channels(self, node: &Node, weights: &Shape) -> Option<usize> {
        match (self, weights.dims()) {
            (Linear::Conv2D, &[_, _, _, out]) | (Linear::Conv3D, &[_, _, _, _, out]) => Some(out),
            (Linear::DepthwiseConv2d, &[_, _, channels, multiplier]) => channels.checked_mul(multiplier),
            (Linear::MatMul, &[rows, columns]) => Some(if is_transposed(node) { rows } else { columns }),
            _ => None,
        }
    }

    /// Returns the weights with each output channel multiplied by its factor, or `None` if a product is not finite.
    pub(crate) fn scaled(self, node: &Node, weights: &Tensor, factors: &[f32]) -> Option<Tensor> {
        let old = weights.as_slice::<f32>().ok()?;
        let channels = factors.len().max(1);
        let new: Vec<f32> = if self == Linear::MatMul && is_transposed(node) {
            let depth = (old.len() / channels).max(1);
            old.chunks(depth).zip(factors).flat_map(|(row, &f)| row.iter().map(move |w| w * f)).collect()
        } else {
            old.chunks(channels).flat_map(|row| row.iter().zip(factors).map(|(w, f)| w * f)).collect()
        };
        let is_finite = new.iter().all(|w| w.is_finite());
        Tensor::from_slice(weights.shape().clone(), &new).ok().filter(|_| is_finite)
    }
}

fn is_transposed(node: &Node) -> bool {
    node.attrs().get_or("transpose_b", false).unwrap_or(false)
}

/// Returns one value per channel of a constant that has one value for each channel or one for all.
///
/// Returns `None` if adding the constant to a tensor of rank `rank` with `channels` in the last dimension would broadcast it in another way.
pub(crate) fn per_channel(value: &Tensor, channels: usize, rank: usize) -> Option<Vec<f32>> {
    let dims = value.shape().dims();
    let (last, others) = dims.split_last().map_or((1, &[][..]), |(&last, others)| (last, others));
    if dims.len() > rank || others.iter().any(|&d| d != 1) || (last != 1 && last != channels) {
        return None;
    }
    let values = value.as_slice::<f32>().ok()?;
    Some(if values.len() == channels { values.to_vec() } else { vec![*values.first()?; channels] })
}

/// Returns the functions of a fused node; none for a node that is not fused. `None` if one of them has an unknown name.
pub(crate) fn fused_functions(node: &Node) -> Option<Vec<ElementwiseFunction>> {
    let names: Vec<&str> = node.attrs().list("fused_ops").unwrap_or_default();
    names.iter().map(|name| name.parse().ok()).collect()
}

/// Returns the sizes of a convolution's filter, if all are known.
pub(crate) fn static_filter(graph: &Graph, node: &Node, shapes: &Shapes) -> Option<[i64; 4]> {
    let shape = shapes.of(graph).shape(graph.input(node.id(), 1)?);
    let sizes: [i64; 4] = shape.dims()?.try_into().ok()?;
    sizes.iter().all(|&size| size >= 0).then_some(sizes)
}

/// The most output channels for which kernels compute a convolution as dot products, which is faster than a product and rounds in another way.
const MAX_DOT_PRODUCTS: i64 = 8;

/// Returns the numbers of input and output channels of a convolution that is a product of the image's rows: of one position, with strides of one, without
/// groups and padding, and not of few output channels. `None` for any other node.
pub(crate) fn pointwise_channels(graph: &Graph, node: &Node, shapes: &Shapes) -> Option<(i64, i64)> {
    let is_convolution = node.is_op("Conv2D") || node.is_op("_FusedConv2D");
    let strides: Vec<i64> = node.attrs().list("strides").unwrap_or_default();
    if !is_convolution || !is_channels_last(node) || text(node, "padding") == "EXPLICIT" || strides.iter().any(|&stride| stride != 1) {
        return None;
    }
    let [1, 1, inputs, outputs] = static_filter(graph, node, shapes)? else { return None };
    let image = shapes.of(graph).shape(graph.input(node.id(), 0)?);
    let is_ungrouped = image.dims().is_some_and(|dims| dims.last() == Some(&inputs)) && inputs > 0;
    (is_ungrouped && outputs > MAX_DOT_PRODUCTS).then_some((inputs, outputs))
}

/// Returns true if `node` is a `BiasAdd` along the last dimension.
pub(crate) fn is_bias_add(node: &Node) -> bool {
    node.is_op("BiasAdd") && matches!(text(node, "data_format"), "" | "NHWC")
}
