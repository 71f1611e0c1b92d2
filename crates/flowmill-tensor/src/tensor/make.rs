//! Functions that make tensors.

use super::{DEVICE, Tensor};
use crate::alloc::Strings;
use crate::heap::{INLINE_BYTES, Storage};
use crate::{Allocator, Bytes, DType, DeviceMemory, Element, ResourceHandle, Result, Shape, Variant, bail};
use std::any::Any;
use std::sync::Arc;

impl Tensor {
    /// Returns a scalar.
    pub fn scalar<T: Element>(value: T) -> Tensor {
        if size_of::<T>() <= 8 {
            let mut word = 0u64;
            // SAFETY: `T` has at most eight bytes and no padding.
            unsafe { std::ptr::copy_nonoverlapping((&raw const value).cast::<u8>(), (&raw mut word).cast::<u8>(), size_of::<T>()) };
            return Tensor::from_bits(T::DTYPE, word);
        }
        let mut words = [0u64; INLINE_BYTES / 8];
        // SAFETY: an element has at most 16 bytes, the array 64, and elements have no padding.
        unsafe { std::ptr::copy_nonoverlapping((&raw const value).cast::<u8>(), words.as_mut_ptr().cast::<u8>(), size_of::<T>()) };
        Tensor::from_heap(T::DTYPE, Shape::scalar(), Storage::Inline(words))
    }

    /// Returns a scalar string.
    pub fn string(value: impl Into<Bytes>) -> Tensor {
        Tensor::from_heap(DType::String, Shape::scalar(), Storage::Strings(Strings::one(value.into())))
    }

    /// Returns a scalar resource handle.
    pub fn resource(handle: ResourceHandle) -> Tensor {
        Tensor::from_heap(DType::Resource, Shape::scalar(), Storage::Resources(vec![handle]))
    }

    /// Returns a scalar variant.
    pub fn variant(value: Variant) -> Tensor {
        Tensor::from_heap(DType::Variant, Shape::scalar(), Storage::Variants(vec![value]))
    }

    /// Returns a tensor of zeros (empty strings for `string`). Resources and variants have no zero.
    ///
    /// # Errors
    /// `ResourceExhausted` past the memory limit, `InvalidArgument` for a type without a zero.
    pub fn zeros(dtype: DType, shape: impl Into<Shape>) -> Result<Tensor> {
        Allocator::process().zeros(dtype, shape)
    }

    /// Returns a tensor whose elements are initialised but unspecified (`false` for `bool`), to be overwritten.
    ///
    /// # Errors
    /// `ResourceExhausted` past the memory limit, `InvalidArgument` for a type without a zero.
    pub fn uninit(dtype: DType, shape: impl Into<Shape>) -> Result<Tensor> {
        Allocator::process().uninit(dtype, shape)
    }

    /// Returns a tensor with a copy of `values`.
    ///
    /// # Errors
    /// `InvalidArgument` if the number of values is not the shape's.
    pub fn from_slice<T: Element>(shape: impl Into<Shape>, values: &[T]) -> Result<Tensor> {
        Allocator::process().from_slice(shape, values)
    }

    /// Returns a vector with a copy of `values`.
    ///
    /// # Errors
    /// `ResourceExhausted` past the memory limit.
    pub fn vector<T: Element>(values: &[T]) -> Result<Tensor> {
        Tensor::from_slice([values.len()], values)
    }

    /// Returns a tensor of strings.
    ///
    /// # Errors
    /// `InvalidArgument` if the number of values is not the shape's; `ResourceExhausted` past the memory limit.
    pub fn from_strings(shape: impl Into<Shape>, values: Vec<Bytes>) -> Result<Tensor> {
        Allocator::process().from_strings(shape, values)
    }

    /// Returns a tensor of resource handles; errors as [`Tensor::from_strings`].
    pub fn from_resources(shape: impl Into<Shape>, values: Vec<ResourceHandle>) -> Result<Tensor> {
        let shape = shape.into();
        check_count(&shape, values.len())?;
        Ok(Tensor::from_heap(DType::Resource, shape, Storage::Resources(values)))
    }

    /// Returns a tensor of variants; errors as [`Tensor::from_strings`].
    pub fn from_variants(shape: impl Into<Shape>, values: Vec<Variant>) -> Result<Tensor> {
        let shape = shape.into();
        check_count(&shape, values.len())?;
        Ok(Tensor::from_heap(DType::Variant, shape, Storage::Variants(values)))
    }

    /// Returns a tensor over little-endian `bytes` of a dense type, without a copy if the bytes are aligned for the type. `bool` bytes that are neither 0 nor 1 become 1.
    ///
    /// # Errors
    /// `InvalidArgument` if the number of bytes is not the shape's or the type is not dense.
    pub fn from_bytes(dtype: DType, shape: impl Into<Shape>, bytes: Bytes) -> Result<Tensor> {
        let shape = shape.into();
        let Some(size) = dtype.size() else { bail!(InvalidArgument, "a tensor of type {dtype} is not dense bytes") };
        if shape.checked_num_elements()?.checked_mul(size) != Some(bytes.len()) {
            bail!(InvalidArgument, "{} bytes for a tensor of type {dtype} and shape {shape}", bytes.len());
        }
        let aligned = (bytes.as_ptr() as usize).is_multiple_of(size.next_power_of_two().min(16));
        if !aligned || dtype == DType::Bool || bytes.len() <= INLINE_BYTES {
            return Tensor::copy_from_bytes(dtype, shape, &bytes);
        }
        let ptr = bytes.as_ptr();
        Ok(Tensor::from_heap(dtype, shape, Storage::Foreign { ptr, owner: Arc::new(bytes) }))
    }

    /// Returns a tensor with a copy of little-endian `bytes` of a dense type; `bool` bytes as in [`Tensor::from_bytes`].
    ///
    /// # Errors
    /// The errors of [`Tensor::from_bytes`], and `ResourceExhausted` past the memory limit.
    pub fn copy_from_bytes(dtype: DType, shape: impl Into<Shape>, bytes: &[u8]) -> Result<Tensor> {
        Allocator::process().copy_from_bytes(dtype, shape, bytes)
    }

    /// A tensor of a dense type whose little-endian bytes `fill` writes; `bool` bytes as in [`Tensor::from_bytes`].
    ///
    /// # Errors
    /// `InvalidArgument` if the type is not dense, `ResourceExhausted` past the memory limit, and those of `fill`.
    pub fn filled_by(dtype: DType, shape: impl Into<Shape>, fill: impl FnOnce(&mut [u8]) -> Result<()>) -> Result<Tensor> {
        Allocator::process().filled_by(dtype, shape, fill)
    }

    /// Returns an equal tensor whose memory belongs to tensors. Data over a mapped file or over a caller's array are copied, also inside of
    /// variants; other data are shared. A variable keeps its value in this form, so that nobody changes it from outside.
    ///
    /// # Errors
    /// `ResourceExhausted` past the memory limit.
    pub fn into_owned(self) -> Result<Tensor> {
        Ok(self.owned()?.unwrap_or(self))
    }

    /// Like [`Tensor::into_owned`]; `None` if nothing had to be copied.
    ///
    /// # Errors
    /// `ResourceExhausted` past the memory limit.
    pub fn owned(&self) -> Result<Option<Tensor>> {
        match self.heap().map(|h| &h.storage) {
            Some(Storage::Foreign { .. }) => self.allocator().copy(self).map(Some),
            Some(Storage::Variants(_)) => self.map_dense_parts(&mut Tensor::owned),
            _ => Ok(None),
        }
    }

    /// Returns a tensor over memory that `owner` keeps alive, without a copy; it is never written through this tensor.
    ///
    /// # Safety
    /// `ptr` is aligned for `T` and valid for reading `shape.num_elements()` initialised elements for as long as `owner` lives, and
    /// nobody writes to them while a tensor may be reading.
    pub unsafe fn from_foreign<T: Element>(ptr: *const T, shape: Shape, owner: Arc<dyn Any + Send + Sync>) -> Tensor {
        if shape.rank() == 0 && size_of::<T>() <= 8 {
            // SAFETY: the caller vouches for one element.
            return Tensor::scalar(unsafe { *ptr });
        }
        Tensor::from_heap(T::DTYPE, shape, Storage::Foreign { ptr: ptr.cast(), owner })
    }

    /// Returns a tensor whose elements are in the memory of a device other than the host.
    ///
    /// # Errors
    /// `InvalidArgument` for a type that is not dense.
    pub fn on_device(dtype: DType, shape: impl Into<Shape>, memory: Arc<dyn DeviceMemory>) -> Result<Tensor> {
        if dtype.size().is_none() {
            bail!(InvalidArgument, "a tensor of type {dtype} cannot be in the memory of {}", memory.device());
        }
        let shape = shape.into();
        shape.checked_num_elements()?;
        let mut tensor = Tensor::from_heap(dtype, shape, Storage::Device(memory));
        tensor.meta |= DEVICE;
        Ok(tensor)
    }

    /// Returns an inline scalar from its bits, zero-extended; `None` for types wider than eight bytes or not dense. For `bool`, any odd word is true.
    #[inline]
    pub fn from_scalar_bits(dtype: DType, bits: u64) -> Option<Tensor> {
        let mask = match dtype.size() {
            _ if dtype == DType::Bool => 1,
            Some(8) => u64::MAX,
            Some(n) if n < 8 => (1 << (8 * n)) - 1,
            _ => return None,
        };
        Some(Tensor::from_bits(dtype, bits & mask))
    }
}

fn check_count(shape: &Shape, n: usize) -> Result<()> {
    if shape.checked_num_elements()? != n {
        bail!(InvalidArgument, "{n} values for a tensor of shape {shape}");
    }
    Ok(())
}
