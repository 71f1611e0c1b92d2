//! Constants all of whose elements are equal.

use crate::rewrite::{constant, constant_shape};
use flowmill_graph::{Graph, NodeId, OutputId};
use flowmill_tensor::{DType, Element, Tensor, bf16, f16};

/// Constants of more elements are not looked at.
const MAX_ELEMENTS: usize = 1 << 16;

/// The value of each element of a constant.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Splat {
    /// A float, which keeps the sign of a zero.
    Float(f64),
    /// An integer of any type but `uint64`.
    Integer(i64),
    Bool(bool),
}

impl Splat {
    /// Returns the value of a tensor with at least one element, if all elements are equal.
    fn of(value: &Tensor) -> Option<Splat> {
        fn all<T: Element + Copy>(value: &Tensor, bits: impl Fn(T) -> u64) -> Option<T> {
            let (first, rest) = value.as_slice::<T>().ok()?.split_first()?;
            rest.iter().all(|&x| bits(x) == bits(*first)).then_some(*first)
        }
        Some(match value.dtype() {
            DType::F16 => Splat::Float(all::<f16>(value, |x| x.to_bits().into())?.to_f64()),
            DType::BF16 => Splat::Float(all::<bf16>(value, |x| x.to_bits().into())?.to_f64()),
            DType::F32 => Splat::Float(all::<f32>(value, |x| x.to_bits().into())?.into()),
            DType::F64 => Splat::Float(all::<f64>(value, f64::to_bits)?),
            DType::Bool => Splat::Bool(all::<bool>(value, u64::from)?),
            dtype if dtype.is_integer() && !dtype.is_quantized() => {
                let values = value.to_i64_vec().ok()?;
                let (first, rest) = values.split_first()?;
                rest.iter().all(|x| x == first).then_some(Splat::Integer(*first))?
            }
            _ => return None,
        })
    }

    /// Returns true for a zero of integers, or for a zero of floats with this sign.
    pub(crate) fn is_zero(self, is_negative: bool) -> bool {
        match self {
            Splat::Float(x) => x == 0.0 && x.is_sign_negative() == is_negative,
            Splat::Integer(x) => x == 0,
            Splat::Bool(_) => false,
        }
    }

    /// Returns true for this number.
    pub(crate) fn is_number(self, number: i8) -> bool {
        match self {
            Splat::Float(x) => x == f64::from(number) && x != 0.0,
            Splat::Integer(x) => x == i64::from(number),
            Splat::Bool(_) => false,
        }
    }
}

/// Returns the value of each element of a tensor, if it is a constant of equal elements, and the nodes that the constant waits for.
pub(crate) fn splat(graph: &Graph, tensor: OutputId) -> Option<(Splat, Vec<NodeId>)> {
    constant_shape(graph, tensor).filter(|shape| shape.num_elements() <= MAX_ELEMENTS)?;
    let found = constant(graph, tensor)?;
    Some((Splat::of(&found.value)?, found.controls))
}
