//! Views of a tensor's elements: other shapes, slices, other types of the same size.

use super::{DEVICE, HEAP, Tensor};
use crate::heap::{INLINE_BYTES, Storage};
use crate::{DType, Result, Shape, bail};
use std::any::Any;
use std::num::NonZeroU64;
use std::sync::Arc;

impl Tensor {
    /// Returns a tensor with the same elements and another shape; dense data are shared, not copied.
    ///
    /// # Errors
    /// `InvalidArgument` if the number of elements differs.
    pub fn reshaped(mut self, shape: impl Into<Shape>) -> Result<Tensor> {
        let shape = shape.into();
        if shape.checked_num_elements()? != self.num_elements() {
            bail!(
                InvalidArgument,
                "Input to reshape is a tensor with {} values, but the requested shape has {}",
                self.num_elements(),
                shape.num_elements()
            );
        }
        if *self.shape() == shape {
            return Ok(self);
        }
        if shape.rank() == 0 && self.is_on_host() && self.dtype().size().is_some_and(|size| size <= 8) {
            return self.element(0);
        }
        if let Some(heap) = self.heap_mut() {
            heap.shape = shape;
            return Ok(self);
        }
        match self.heap().map(|h| &h.storage) {
            Some(Storage::Strings(v)) => self.allocator().from_strings(shape, v.to_vec()),
            Some(Storage::Resources(v)) => Tensor::from_resources(shape, v.clone()),
            Some(Storage::Variants(v)) => Tensor::from_variants(shape, v.clone()),
            Some(Storage::Device(memory)) => Tensor::on_device(self.dtype(), shape, memory.clone()),
            _ => self.view(0, shape),
        }
    }

    /// Returns the dense elements from `start` (counted in elements) with `shape`, sharing the data. Small views are copied, which is cheaper.
    ///
    /// # Errors
    /// `InvalidArgument` if the view leaves the tensor or the type is not dense.
    pub fn view(&self, start: usize, shape: impl Into<Shape>) -> Result<Tensor> {
        let shape = shape.into();
        let Some(size) = self.dtype().size() else { bail!(InvalidArgument, "a tensor of type {} has no views", self.dtype()) };
        let n = shape.checked_num_elements()?;
        if start.checked_add(n).is_none_or(|end| end > self.num_elements()) {
            bail!(InvalidArgument, "a view of {n} elements from {start} leaves a tensor of {}", self.num_elements());
        }
        let bytes = n * size;
        if bytes <= INLINE_BYTES {
            let mut tensor = Tensor::uninit(self.dtype(), shape)?;
            tensor.dense_mut()?.copy_from_slice(&self.as_bytes()?[start * size..start * size + bytes]);
            return Ok(tensor);
        }
        let ptr = self.as_bytes()?[start * size..].as_ptr();
        let owner: Arc<dyn Any + Send + Sync> = match self.heap().map(|h| &h.storage) {
            // A view of a view holds the memory itself, not the tensor in between.
            Some(Storage::Foreign { owner, .. }) => owner.clone(),
            _ => Arc::new(self.clone()),
        };
        Ok(Tensor::from_heap(self.dtype(), shape, Storage::Foreign { ptr, owner }))
    }

    /// Row `index` along the outermost dimension.
    ///
    /// # Errors
    /// `InvalidArgument` for a scalar or an index out of range.
    pub fn row(&self, index: usize) -> Result<Tensor> {
        let shape = self.shape();
        let (Some(&rows), inner) = (shape.first(), shape.get(1..).unwrap_or(&[])) else {
            bail!(InvalidArgument, "a scalar has no rows");
        };
        if index >= rows {
            bail!(InvalidArgument, "row {index} of a tensor with {rows}");
        }
        let inner = Shape::new(inner);
        let n = inner.num_elements();
        match self.heap().map(|h| &h.storage) {
            Some(Storage::Strings(v)) => self.allocator().from_strings(inner, v[index * n..(index + 1) * n].to_vec()),
            Some(Storage::Resources(v)) => Tensor::from_resources(inner, v[index * n..(index + 1) * n].to_vec()),
            Some(Storage::Variants(v)) => Tensor::from_variants(inner, v[index * n..(index + 1) * n].to_vec()),
            _ => self.view(index * n, inner),
        }
    }

    /// Element `index` in row-major order, as a scalar.
    ///
    /// # Errors
    /// `InvalidArgument` for an index out of range.
    pub fn element(&self, index: usize) -> Result<Tensor> {
        if index >= self.num_elements() {
            bail!(InvalidArgument, "element {index} of a tensor with {}", self.num_elements());
        }
        match self.heap().map(|h| &h.storage) {
            None => Ok(self.clone()),
            Some(Storage::Strings(v)) => Ok(Tensor::string(v[index].clone())),
            Some(Storage::Resources(v)) => Ok(Tensor::resource(v[index].clone())),
            Some(Storage::Variants(v)) => Ok(Tensor::variant(v[index].clone())),
            Some(_) => self.view(index, Shape::scalar()),
        }
    }

    /// Reinterprets the bits as another dense type of the same size, such as `qint8` as `int8`. Not to `bool`.
    ///
    /// # Errors
    /// `InvalidArgument` if the sizes differ, a type is not dense, or the target is `bool`.
    pub fn bitcast(mut self, dtype: DType) -> Result<Tensor> {
        if dtype.size().is_none() || dtype.size() != self.dtype().size() || (dtype == DType::Bool && self.dtype() != DType::Bool) {
            bail!(InvalidArgument, "Cannot bitcast from {} to {dtype}", self.dtype());
        }
        self.meta = NonZeroU64::MIN.saturating_add((dtype as u64 | (self.meta.get() & (HEAP | DEVICE))) - 1);
        Ok(self)
    }
}
