//! The catalogue's ops, and an evaluator that knows a little arithmetic.
#![allow(dead_code, clippy::unwrap_used)]

pub mod functions;

use flowmill_graph::{ElementwiseFunction, Graph, NodeId, OpRegistry, ShapeAnalysis};
use flowmill_optimize::{Evaluator, Target};
use flowmill_tensor::{DType, Result, Shape, Tensor};
use std::sync::{Arc, LazyLock};

static REGISTRY: LazyLock<Arc<OpRegistry>> = LazyLock::new(|| Arc::new(OpRegistry::new(flowmill_ops::catalogue()).unwrap()));

/// All ops of the catalogue.
pub fn registry() -> Arc<OpRegistry> {
    REGISTRY.clone()
}

/// Computes a few ops on `float32`, element by element: of two operands one is a scalar or both have the same shape.
pub struct Arithmetic;

impl Evaluator for Arithmetic {
    fn evaluate(&self, graph: &Graph, node: NodeId, inputs: &[Tensor]) -> Result<Option<Vec<Tensor>>> {
        let node = graph.node(node)?;
        let is_arithmetic = ["AddV2", "Sub", "Mul", "Less", "Rsqrt"].contains(&node.op());
        if is_arithmetic && inputs.iter().any(|input| input.dtype() != DType::F32) {
            return Ok(None);
        }
        let output = match (node.op(), inputs) {
            ("AddV2", [a, b]) => binary(a, b, |a, b| a + b)?,
            ("Sub", [a, b]) => binary(a, b, |a, b| a - b)?,
            ("Mul", [a, b]) => binary(a, b, |a, b| a * b)?,
            ("Less", [a, b]) => {
                let values = binary(a, b, |a, b| f32::from(u8::from(a < b)))?;
                Tensor::from_slice(values.shape().clone(), &values.as_slice::<f32>()?.iter().map(|&x| x == 1.0).collect::<Vec<bool>>())?
            }
            ("Rsqrt", [a]) => binary(a, a, |a, _| 1.0 / a.sqrt())?,
            ("Fill", [dims, value]) => {
                let shape = dims.to_shape()?;
                Tensor::from_slice(shape.clone(), &vec![value.to_scalar::<f32>()?; shape.checked_num_elements()?])?
            }
            ("Reshape", [a, shape]) => a.clone().reshaped(shape.to_shape()?)?,
            ("Squeeze", [a]) => a.clone().reshaped(a.shape().iter().copied().filter(|&d| d != 1).collect::<Vec<_>>())?,
            ("Split", [_, a]) => {
                return Ok(Some(vec![a.view(0, [a.num_elements() / 2])?, a.view(a.num_elements() / 2, [a.num_elements() / 2])?]));
            }
            ("Reciprocal", _) => flowmill_tensor::bail!(InvalidArgument, "this test's op that fails"),
            _ => return Ok(None),
        };
        Ok(Some(vec![output]))
    }
}

/// A target with a few fused kernels for `float32`.
impl Target for Arithmetic {
    fn supports(&self, op: &str, dtype: DType) -> bool {
        match op {
            "_FusedAttention" | "_FusedLayerNorm" | "_FusedReduction" | "_HoistedMatMul" | "_PartMatMul" => dtype == DType::F32,
            "_GeluApproximate" | "_GeluExact" | "_HardSigmoid" | "_HardSwish" | "_Mish" | "_Silu" => dtype == DType::F32,
            "_AddBytes" | "_FromBytes" | "_ToBytes" => dtype == DType::U8,
            "_IntegerConv2D" | "_IntegerDepthwiseConv2d" | "_IntegerMatMul" => dtype == DType::F32 || dtype == DType::U8,
            _ => !op.starts_with('_'),
        }
    }

    fn fuses(&self, fused: &str, function: ElementwiseFunction, dtype: DType) -> bool {
        use ElementwiseFunction::*;
        let activations = [Relu, Relu6, LeakyRelu, Elu, Tanh, Sigmoid, GeluExact, GeluApproximate, Silu, HardSwish];
        let elementwise = [Add, BiasAdd, Exp, Maximum, Mul, Neg, RealDiv, Reciprocal, Rsqrt, Sqrt, Square, SquaredDifference, Sub];
        let functions: &[ElementwiseFunction] = match fused {
            "_FusedAttention" if function == SelectV2 => &[SelectV2],
            "_FusedAttention" | "_FusedElementwise" | "_FusedReduction" => &[&activations[..], &elementwise].concat(),
            "_FusedConv2DElementwise" | "_FusedDepthwiseConv2dElementwise" | "_FusedMatMulElementwise" => {
                &[&activations[..], &elementwise, &[BiasAdd]].concat()
            }
            "_FusedDepthwiseConv2dNative" => &[&activations[..], &[BiasAdd]].concat(),
            "_FusedConv2D" | "_FusedConv3D" | "_FusedElementwiseProduct" | "_FusedSeparableConv2D" => {
                &[&activations[..], &[BiasAdd, Add]].concat()
            }
            "_FusedMatMul" => &[&activations[..], &[Accumulate, AccumulatePart, BiasAdd, Add]].concat(),
            _ => &[],
        };
        dtype == DType::F32 && functions.contains(&function)
    }

    fn wants_channels_last(&self, op: &str) -> bool {
        !matches!(op, "BiasAdd" | "BiasAddGrad" | "DepthToSpace" | "SpaceToDepth")
    }
}

/// Asserts that the shapes that passes hand on are those that a new analysis finds, as far as either knows them.
pub fn assert_shapes_hold(graph: &Graph, shapes: &ShapeAnalysis, what: &str) {
    let new = ShapeAnalysis::new(graph);
    for node in graph.op_nodes() {
        for slot in 0..node.num_outputs() as u32 {
            let tensor = node.id().output(slot);
            let (known, found) = (shapes.shape(tensor), new.shape(tensor));
            let merged = known.without_symbols().merge(&found.without_symbols());
            assert!(merged.is_ok(), "{what}: {} has the shape {found}, not {known}", node.name());
            assert!(known.rank().is_some() || found.rank().is_none(), "{what}: {} has the shape {found}, which is lost", node.name());
        }
    }
}

/// A target without fused kernels, whose kernels compute on images in any layout.
pub struct Plain;

impl Evaluator for Plain {
    fn evaluate(&self, graph: &Graph, node: NodeId, inputs: &[Tensor]) -> Result<Option<Vec<Tensor>>> {
        Arithmetic.evaluate(graph, node, inputs)
    }
}

impl Target for Plain {
    fn supports(&self, op: &str, _: DType) -> bool {
        !op.starts_with('_')
    }

    fn fuses(&self, _: &str, _: ElementwiseFunction, _: DType) -> bool {
        false
    }

    fn wants_channels_last(&self, _: &str) -> bool {
        false
    }
}

fn binary(a: &Tensor, b: &Tensor, f: impl Fn(f32, f32) -> f32) -> Result<Tensor> {
    assert_eq!(a.dtype(), DType::F32);
    let shape: &Shape = if a.num_elements() >= b.num_elements() { a.shape() } else { b.shape() };
    let (x, y) = (a.as_slice::<f32>()?, b.as_slice::<f32>()?);
    let values: Vec<f32> = (0..shape.checked_num_elements()?).map(|i| f(x[i % x.len()], y[i % y.len()])).collect();
    Tensor::from_slice(shape.clone(), &values)
}
