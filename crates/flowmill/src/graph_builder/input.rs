//! The inputs of nodes: tensors of the graph, and values that become constants.

use super::Output;
use crate::{DType, Element, Error, OutputId, Result, Tensor};
use flowmill_tensor::{bail, bf16, f16, for_dtype};
use num_traits::NumCast;

/// An input of a node: a tensor of the graph, or a value that becomes a constant.
///
/// Numbers and arrays of numbers take the type that the op needs: in `b.mul(x, 2.0)` the constant has the type of `x`, and `b.reshape(x, [2, 3])` passes a
/// vector of integers. A [`Tensor`] keeps its type.
#[derive(Clone, Debug)]
pub struct Input<'b>(pub(super) Kind<'b>);

#[derive(Clone, Debug)]
pub(super) enum Kind<'b> {
    /// A tensor of a builder.
    Output(Output<'b>),
    /// A tensor of the graph that gets the input.
    Id(OutputId),
    /// A value whose type is fixed.
    Tensor(Tensor),
    /// A value written as a Rust number, whose type may change.
    Number(Tensor),
    /// A value that no tensor can hold, or an output that failed.
    Failed(Error),
}

impl Input<'_> {
    /// Returns the value of an input that is no tensor of a graph.
    ///
    /// # Errors
    /// `InvalidArgument` for a tensor of a graph and for a value that no tensor can hold.
    pub(super) fn into_tensor(self) -> Result<Tensor> {
        match self.0 {
            Kind::Tensor(value) | Kind::Number(value) => Ok(value),
            Kind::Failed(error) => Err(error),
            Kind::Output(_) | Kind::Id(_) => bail!(InvalidArgument, "a constant is made of a value, not of a tensor of the graph"),
        }
    }
}

impl<'b> From<Output<'b>> for Input<'b> {
    fn from(output: Output<'b>) -> Input<'b> {
        Input(match output.ok() {
            Ok(output) => Kind::Output(output),
            Err(error) => Kind::Failed(error),
        })
    }
}

impl<'b> From<&Output<'b>> for Input<'b> {
    fn from(output: &Output<'b>) -> Input<'b> {
        Input::from(*output)
    }
}

impl From<OutputId> for Input<'_> {
    fn from(id: OutputId) -> Self {
        Input(Kind::Id(id))
    }
}

impl From<Tensor> for Input<'_> {
    fn from(value: Tensor) -> Self {
        Input(Kind::Tensor(value))
    }
}

impl From<&Tensor> for Input<'_> {
    fn from(value: &Tensor) -> Self {
        Input::from(value.clone())
    }
}

impl From<&str> for Input<'_> {
    fn from(text: &str) -> Self {
        Input(Kind::Tensor(Tensor::string(text.to_owned())))
    }
}

fn number(value: Result<Tensor>) -> Input<'static> {
    Input(value.map_or_else(Kind::Failed, Kind::Number))
}

macro_rules! from_numbers {
    ($($number:ty),*) => {$(
        impl From<$number> for Input<'_> {
            fn from(value: $number) -> Self {
                number(Ok(Tensor::scalar(value)))
            }
        }

        impl<const N: usize> From<[$number; N]> for Input<'_> {
            fn from(values: [$number; N]) -> Self {
                number(Tensor::vector(&values))
            }
        }

        impl<const M: usize, const N: usize> From<[[$number; N]; M]> for Input<'_> {
            fn from(rows: [[$number; N]; M]) -> Self {
                number(Tensor::from_slice([M, N], rows.as_flattened()))
            }
        }

        impl<const N: usize> From<&[$number; N]> for Input<'_> {
            fn from(values: &[$number; N]) -> Self {
                number(Tensor::vector(values))
            }
        }

        impl From<&[$number]> for Input<'_> {
            fn from(values: &[$number]) -> Self {
                number(Tensor::vector(values))
            }
        }

        impl From<Vec<$number>> for Input<'_> {
            fn from(values: Vec<$number>) -> Self {
                number(Tensor::vector(&values))
            }
        }
    )*};
}

from_numbers!(f32, f64, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64, bool);

/// Returns a value written as Rust numbers with the element type that an op needs. What cannot become that type stays: the op says why it does not fit.
///
/// # Errors
/// `InvalidArgument` for an integer that the type cannot hold.
pub(super) fn with_dtype(value: Tensor, dtype: DType) -> Result<Tensor> {
    if value.dtype() == dtype {
        return Ok(value);
    }
    for_dtype!(value.dtype(), [i8, i16, i32, i64, u8, u16, u32, u64], From => {
        for_dtype!(dtype, [f16, bf16, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64], To => cast::<From, To>(&value), _ => Ok(value))
    }, _ => for_dtype!(value.dtype(), [f32, f64], From => {
        for_dtype!(dtype, [f16, bf16, f32, f64], To => cast::<From, To>(&value), _ => Ok(value))
    }, _ => Ok(value)))
}

fn cast<From: Element + NumCast, To: Element + NumCast>(value: &Tensor) -> Result<Tensor> {
    let mut cast = Vec::with_capacity(value.num_elements());
    for &from in value.as_slice::<From>()? {
        match NumCast::from(from) {
            Some(to) => cast.push(to),
            None => bail!(InvalidArgument, "the number {from:?} is out of range of {}", To::DTYPE),
        }
    }
    Tensor::from_slice::<To>(value.shape().clone(), &cast)
}
