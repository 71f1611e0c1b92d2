//! Tensors put together from parts.

use bytes::Bytes;
use flowmill_tensor::{DType, Result, Shape, Tensor, bail};

use crate::slice::for_each_shared_run;

/// A box of a tensor that is being put together from boxes that were saved.
pub(crate) struct Assembly {
    dtype: DType,
    shape: Shape,
    bounds: Vec<(usize, usize)>,
    elements: Elements,
    /// For each element, whether it has been filled.
    filled: Vec<bool>,
}

enum Elements {
    Dense { bytes: Vec<u8>, size: usize },
    Strings(Vec<Bytes>),
}

impl Assembly {
    /// Returns a box with the given start and length in each dimension. `data_len` is how many bytes of data its parts have,
    /// which bounds the memory that a damaged shape can ask for.
    ///
    /// # Errors
    /// `DataLoss` if the elements cannot be in that many bytes.
    pub(crate) fn new(dtype: DType, shape: Shape, bounds: &[(usize, usize)], data_len: usize) -> Result<Assembly> {
        let num_elements = shape.checked_num_elements()?;
        let size = dtype.size().unwrap_or(1);
        if num_elements.checked_mul(size).is_none_or(|len| len > data_len) {
            bail!(DataLoss, "its parts have {data_len} bytes for a tensor of type {dtype} and shape {shape}");
        }
        let elements = match dtype {
            DType::String => Elements::Strings(vec![Bytes::new(); num_elements]),
            _ => Elements::Dense { bytes: vec![0; num_elements * size], size },
        };
        Ok(Assembly { dtype, shape, bounds: bounds.to_vec(), elements, filled: vec![false; num_elements] })
    }

    /// Copies what `part`, the box `bounds` of the tensor, shares with the wanted box.
    ///
    /// # Errors
    /// `DataLoss` if the part has another type or shape than it should, or overlaps one before.
    pub(crate) fn add(&mut self, part: &Tensor, bounds: &[(usize, usize)]) -> Result<()> {
        if part.dtype() != self.dtype || !part.shape().iter().eq(bounds.iter().map(|(_, len)| len)) {
            bail!(DataLoss, "a part of type {} and shape {} in a tensor of type {}", part.dtype(), part.shape(), self.dtype);
        }
        let mut overlap = false;
        let mut fill = |to: usize, len: usize| {
            overlap |= self.filled[to..to + len].contains(&true);
            self.filled[to..to + len].fill(true);
        };
        match &mut self.elements {
            Elements::Dense { bytes, size } => {
                let part = part.as_bytes()?;
                for_each_shared_run(bounds, &self.bounds, |from, to, len| {
                    bytes[to * *size..(to + len) * *size].copy_from_slice(&part[from * *size..(from + len) * *size]);
                    fill(to, len);
                });
            }
            Elements::Strings(values) => {
                let part = part.as_strings()?;
                for_each_shared_run(bounds, &self.bounds, |from, to, len| {
                    values[to..to + len].clone_from_slice(&part[from..from + len]);
                    fill(to, len);
                });
            }
        }
        if overlap {
            bail!(DataLoss, "parts of the tensor overlap");
        }
        Ok(())
    }

    /// Returns the box as a tensor.
    ///
    /// # Errors
    /// `DataLoss` if the parts did not fill it.
    pub(crate) fn into_tensor(self) -> Result<Tensor> {
        let num_filled = self.filled.iter().filter(|filled| **filled).count();
        if num_filled != self.filled.len() {
            bail!(DataLoss, "its parts have {num_filled} of the {} elements of shape {}", self.filled.len(), self.shape);
        }
        match self.elements {
            Elements::Dense { bytes, .. } => Tensor::from_bytes(self.dtype, self.shape, bytes.into()),
            Elements::Strings(values) => Tensor::from_strings(self.shape, values),
        }
    }
}
