//! Reading small integer tensors that kernels and shape functions take as arguments.

use crate::{Allocator, DType, Result, Shape, Tensor, bail, check_memory};

impl Tensor {
    /// Returns the elements of an `int32` or `int64` tensor, widened.
    ///
    /// # Errors
    /// `InvalidArgument` for another type; `ResourceExhausted` past the memory limit.
    pub fn to_i64_vec(&self) -> Result<Vec<i64>> {
        check_memory::<i64>(self.num_elements())?;
        match self.dtype() {
            DType::I32 => Ok(self.as_slice::<i32>()?.iter().map(|&x| i64::from(x)).collect()),
            DType::I64 => Ok(self.as_slice::<i64>()?.to_vec()),
            DType::I16 => Ok(self.as_slice::<i16>()?.iter().map(|&x| i64::from(x)).collect()),
            DType::U8 => Ok(self.as_slice::<u8>()?.iter().map(|&x| i64::from(x)).collect()),
            t => bail!(InvalidArgument, "expected int32 or int64, got {t}"),
        }
    }

    /// Returns the one element of an `int32` or `int64` tensor, widened; errors as [`Tensor::to_i64_vec`], and if there is not exactly one.
    pub fn to_i64(&self) -> Result<i64> {
        match self.to_i64_vec()?[..] {
            [x] => Ok(x),
            ref v => bail!(InvalidArgument, "expected a scalar, got {} elements", v.len()),
        }
    }

    /// Returns the shape a tensor's elements describe: a vector of `int32` or `int64` sizes, none negative.
    ///
    /// # Errors
    /// `InvalidArgument` for another type or rank, or a negative size.
    pub fn to_shape(&self) -> Result<Shape> {
        if self.rank() > 1 {
            bail!(InvalidArgument, "shape must be a vector of {{int32,int64}}, got shape {}", self.shape());
        }
        Shape::from_i64(&self.to_i64_vec()?)
    }

    /// Returns a vector of `int32` or `int64` from sizes.
    ///
    /// # Errors
    /// `InvalidArgument` if a value does not fit `int32`, or for another type.
    pub fn index_vector(dtype: DType, values: &[i64]) -> Result<Tensor> {
        Allocator::process().index_vector(dtype, values)
    }

    /// Returns a scalar of `int32` or `int64`; errors as [`Tensor::index_vector`].
    pub fn index_scalar(dtype: DType, value: i64) -> Result<Tensor> {
        Tensor::index_vector(dtype, &[value])?.reshaped(Shape::scalar())
    }
}
