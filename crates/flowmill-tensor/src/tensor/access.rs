//! Reading and writing the elements.

use super::{Tensor, not_on_host, unreadable, wrong_type};
use crate::heap::Storage;
use crate::{Bytes, DType, Element, ResourceHandle, Result, Variant, bail};

impl Tensor {
    /// Returns the elements.
    ///
    /// # Errors
    /// `Internal` if `T` is not the tensor's type, or the elements are not in the host's memory.
    #[inline]
    pub fn as_slice<T: Element>(&self) -> Result<&[T]> {
        if !self.is_on_host_as(T::DTYPE) {
            return Err(unreadable(self, T::DTYPE));
        }
        // SAFETY: the data are `num_elements` initialised elements of `T`, aligned by every constructor; bool bytes are 0 or 1.
        Ok(unsafe { std::slice::from_raw_parts(self.data_ptr().cast::<T>(), self.num_elements()) })
    }

    /// Returns the elements for writing; shared or foreign data are copied first.
    ///
    /// # Errors
    /// `Internal` if `T` is not the tensor's type or the elements are not in the host's memory, `ResourceExhausted` if the copy finds no memory.
    #[inline]
    pub fn as_mut_slice<T: Element>(&mut self) -> Result<&mut [T]> {
        if !self.is_on_host_as(T::DTYPE) {
            return Err(unreadable(self, T::DTYPE));
        }
        let (ptr, n) = (self.make_unique()?, self.num_elements());
        // SAFETY: as in `as_slice`, and `make_unique` left `self` the only holder of writable memory.
        Ok(unsafe { std::slice::from_raw_parts_mut(ptr.cast::<T>(), n) })
    }

    /// Returns the single element of a tensor with one element.
    ///
    /// # Errors
    /// `InvalidArgument` for another type or number of elements.
    pub fn to_scalar<T: Element>(&self) -> Result<T> {
        match self.as_slice::<T>() {
            Ok(&[value]) => Ok(value),
            _ => bail!(
                InvalidArgument,
                "expected one element of type {}, got a tensor of type {} and shape {}",
                T::DTYPE,
                self.dtype(),
                self.shape()
            ),
        }
    }

    /// Returns the bytes of a dense tensor.
    ///
    /// # Errors
    /// `InvalidArgument` for strings, resources and variants; `Internal` for elements that are not in the host's memory.
    pub fn as_bytes(&self) -> Result<&[u8]> {
        let Some(size) = self.dtype().size() else { bail!(InvalidArgument, "a tensor of type {} is not dense bytes", self.dtype()) };
        if let Some(memory) = self.device_memory() {
            return Err(not_on_host(self, memory.device()));
        }
        // SAFETY: dense data are `num_elements * size` initialised bytes.
        Ok(unsafe { std::slice::from_raw_parts(self.data_ptr(), self.num_elements() * size) })
    }

    /// Returns the bytes for writing. Not for other modules: any byte may be written to a `bool` here.
    pub(crate) fn dense_mut(&mut self) -> Result<&mut [u8]> {
        let Some(size) = self.dtype().size() else { bail!(InvalidArgument, "a tensor of type {} is not dense bytes", self.dtype()) };
        if let Some(memory) = self.device_memory() {
            return Err(not_on_host(self, memory.device()));
        }
        let (ptr, n) = (self.make_unique()?, self.num_elements());
        // SAFETY: as in `as_bytes`, and `make_unique` left `self` the only holder.
        Ok(unsafe { std::slice::from_raw_parts_mut(ptr, n * size) })
    }

    /// Returns the strings.
    ///
    /// # Errors
    /// `Internal` for another type.
    #[inline]
    pub fn as_strings(&self) -> Result<&[Bytes]> {
        match self.heap().map(|h| &h.storage) {
            Some(Storage::Strings(v)) => Ok(v),
            _ => Err(wrong_type(DType::String, self.dtype())),
        }
    }

    /// Returns the handles; errors as [`Tensor::as_strings`].
    #[inline]
    pub fn as_resources(&self) -> Result<&[ResourceHandle]> {
        match self.heap().map(|h| &h.storage) {
            Some(Storage::Resources(v)) => Ok(v),
            _ => Err(wrong_type(DType::Resource, self.dtype())),
        }
    }

    /// Returns the variants; errors as [`Tensor::as_strings`].
    #[inline]
    pub fn as_variants(&self) -> Result<&[Variant]> {
        match self.heap().map(|h| &h.storage) {
            Some(Storage::Variants(v)) => Ok(v),
            _ => Err(wrong_type(DType::Variant, self.dtype())),
        }
    }

    /// Returns the variants for changing in place; shared ones are cloned first (each clone shares the value behind it).
    pub fn as_mut_variants(&mut self) -> Result<&mut [Variant]> {
        if self.heap_mut().is_none() {
            let copy = self.as_variants()?.to_vec();
            *self = Tensor::from_variants(self.shape().clone(), copy)?;
        }
        let dtype = self.dtype();
        match self.heap_mut().map(|h| &mut h.storage) {
            Some(Storage::Variants(v)) => Ok(v),
            _ => Err(wrong_type(DType::Variant, dtype)),
        }
    }
}
