//! The tensor: two words, and who owns what they point to. The modules below make tensors, read and write their elements, and view them.

mod access;
mod format;
mod make;
mod parts;
#[cfg(test)]
mod tests;
mod view;

use crate::heap::{HeapTensor, Storage};
use crate::{Allocator, Bytes, DType, DeviceMemory, Result, Shape};
use std::mem::ManuallyDrop;
use std::num::NonZeroU64;
use std::sync::Arc;

/// An n-dimensional array of elements of one [`DType`], row-major.
///
/// Cloning is cheap and shares the data; writing to shared data copies it first. The value is two words: scalars of up to eight
/// bytes lie in them (written and read as whole words, which keeps store forwarding intact), everything else is behind a counter.
#[repr(C)]
pub struct Tensor {
    /// The `DType` number in the low byte; [`HEAP`] if `payload` is a pointer from `Arc::into_raw`; [`DEVICE`] if the data are not in the
    /// host's memory.
    meta: NonZeroU64,
    /// A scalar's bits, widened with zeros, or the pointer.
    payload: u64,
}

const HEAP: u64 = 1 << 8;
/// Always with `HEAP`.
const DEVICE: u64 = 1 << 9;
static SCALAR: Shape = Shape::scalar();

// SAFETY: the payload is plain bits or an `Arc<HeapTensor>`, and `HeapTensor` is `Send + Sync`.
unsafe impl Send for Tensor {}
// SAFETY: as above; shared access only reads.
unsafe impl Sync for Tensor {}

impl Tensor {
    pub(crate) fn from_bits(dtype: DType, payload: u64) -> Tensor {
        // A `DType` number is never zero.
        Tensor { meta: NonZeroU64::MIN.saturating_add(dtype as u64 - 1), payload }
    }

    pub(crate) fn from_heap(dtype: DType, shape: Shape, storage: Storage) -> Tensor {
        let pointer = Arc::into_raw(Arc::new(HeapTensor { shape, storage }));
        Tensor { meta: NonZeroU64::MIN.saturating_add((dtype as u64 | HEAP) - 1), payload: pointer as u64 }
    }

    /// Returns true if the elements are of type `dtype` and in the host's memory.
    #[inline]
    fn is_on_host_as(&self, dtype: DType) -> bool {
        self.meta.get() & !HEAP == dtype as u64
    }

    fn is_heap(&self) -> bool {
        self.meta.get() & HEAP != 0
    }

    fn heap(&self) -> Option<&HeapTensor> {
        // SAFETY: with `HEAP` set the payload is a live pointer from `Arc::into_raw`.
        self.is_heap().then(|| unsafe { &*(self.payload as *const HeapTensor) })
    }

    fn heap_mut(&mut self) -> Option<&mut HeapTensor> {
        if !self.is_heap() {
            return None;
        }
        // SAFETY: as in `heap`; `ManuallyDrop` leaves the count alone.
        let mut arc = ManuallyDrop::new(unsafe { Arc::from_raw(self.payload as *const HeapTensor) });
        let inner: *mut HeapTensor = Arc::get_mut(&mut arc)?;
        // SAFETY: `get_mut` proved this tensor the only holder, and `&mut self` keeps it so.
        Some(unsafe { &mut *inner })
    }

    /// Returns the element type.
    #[inline]
    pub fn dtype(&self) -> DType {
        // SAFETY: the low byte is always a `DType` discriminant, set at construction.
        unsafe { std::mem::transmute::<u8, DType>(self.meta.get() as u8) }
    }

    /// Returns the shape.
    #[inline]
    pub fn shape(&self) -> &Shape {
        self.heap().map_or(&SCALAR, |h| &h.shape)
    }

    /// Returns the number of elements.
    #[inline]
    pub fn num_elements(&self) -> usize {
        self.heap().map_or(1, |h| h.shape.num_elements())
    }

    /// Returns the number of dimensions.
    #[inline]
    pub fn rank(&self) -> usize {
        self.shape().rank()
    }

    /// Returns the device's memory that holds the elements; `None` if they are in the host's memory.
    #[inline]
    pub fn device_memory(&self) -> Option<&Arc<dyn DeviceMemory>> {
        match self.heap().map(|h| &h.storage) {
            Some(Storage::Device(memory)) => Some(memory),
            _ => None,
        }
    }

    /// Returns the device's memory that holds the elements, if no other tensor holds this object.
    pub fn unshared_device_memory(&mut self) -> Option<&mut dyn DeviceMemory> {
        match self.heap_mut().map(|h| &mut h.storage) {
            Some(Storage::Device(memory)) => Arc::get_mut(memory),
            _ => None,
        }
    }

    /// Returns true if the elements are in the host's memory.
    #[inline]
    pub fn is_on_host(&self) -> bool {
        self.meta.get() & DEVICE == 0
    }

    /// Returns the bits of an inline scalar of type `dtype`, or `None` for anything else.
    #[inline]
    pub fn scalar_bits(&self, dtype: DType) -> Option<u64> {
        (self.meta.get() == dtype as u64).then_some(self.payload)
    }

    /// Bytes the elements take; for strings, the sum of their lengths.
    pub fn num_bytes(&self) -> usize {
        match self.dtype().size() {
            Some(size) => self.num_elements() * size,
            None => self.as_strings().map_or(self.num_elements() * 16, |s| s.iter().map(Bytes::len).sum()),
        }
    }

    /// Returns the address of the elements, or of the object that holds them if they are strings or in the memory of another device; 0 for an inline
    /// scalar. It identifies the memory for as long as a tensor holds it.
    pub fn address(&self) -> usize {
        match self.heap() {
            None => 0,
            Some(heap) => match (&heap.storage, heap.data()) {
                (Storage::Device(memory), _) => Arc::as_ptr(memory).cast::<u8>().addr(),
                (_, Some(data)) => data.addr(),
                (_, None) => std::ptr::from_ref(heap).addr(),
            },
        }
    }

    /// Returns true if two tensors share the same block or are the same inline scalar.
    pub fn same_data(&self, other: &Tensor) -> bool {
        self.meta == other.meta && self.payload == other.payload
    }

    #[inline]
    fn data_ptr(&self) -> *const u8 {
        match self.heap() {
            None => (&raw const self.payload).cast(),
            // Strings, resources and variants have no dense data and are never asked for them; a dangling pointer keeps this total.
            Some(h) => h.data().unwrap_or(std::ptr::dangling()),
        }
    }

    /// Returns true if the elements are a view of memory that something else owns.
    pub(crate) fn is_foreign(&self) -> bool {
        matches!(self.heap().map(|h| &h.storage), Some(Storage::Foreign { .. }))
    }

    /// Returns an allocator on the account that the elements are charged to; one without an account if there is none.
    pub fn allocator(&self) -> Allocator {
        match self.heap().map(|h| &h.storage) {
            Some(Storage::Owned(buffer)) => buffer.charge().allocator(),
            Some(Storage::Strings(strings)) => strings.charge().allocator(),
            Some(Storage::Foreign { owner, .. }) => owner.downcast_ref::<Tensor>().map(Tensor::allocator).unwrap_or_default(),
            _ => Allocator::default(),
        }
    }

    /// Makes the dense data writable by this tensor alone, copying if needed.
    fn make_unique(&mut self) -> Result<*mut u8> {
        if !self.is_heap() {
            return Ok((&raw mut self.payload).cast());
        }
        if let Some(ptr) = self.heap_mut().and_then(HeapTensor::data_mut) {
            return Ok(ptr);
        }
        *self = self.allocator().copy(self)?;
        match self.heap_mut().and_then(HeapTensor::data_mut) {
            Some(ptr) => Ok(ptr),
            None => Ok((&raw mut self.payload).cast()),
        }
    }

    /// Returns true if the dense data can be written in place because no other tensor shares them. True for inline scalars.
    #[inline]
    pub fn is_unique(&mut self) -> bool {
        !self.is_heap() || self.heap_mut().is_some_and(|h| h.data_mut().is_some())
    }
}

/// The error for data that were asked for as elements of type `want` in the host's memory.
#[cold]
fn unreadable(tensor: &Tensor, want: DType) -> crate::Error {
    match tensor.device_memory() {
        Some(memory) => not_on_host(tensor, memory.device()),
        None => wrong_type(want, tensor.dtype()),
    }
}

#[cold]
fn not_on_host(tensor: &Tensor, device: &str) -> crate::Error {
    crate::error!(
        Internal,
        "a tensor of type {} and shape {} is in the memory of {device} and cannot be read by the host",
        tensor.dtype(),
        tensor.shape()
    )
}

#[cold]
fn wrong_type(want: DType, got: DType) -> crate::Error {
    crate::error!(Internal, "expected a tensor of type {want}, got {got}")
}

impl Clone for Tensor {
    #[inline]
    fn clone(&self) -> Tensor {
        if self.is_heap() {
            // SAFETY: the payload is a live pointer from `Arc::into_raw`; the new tensor owns the added count.
            unsafe { Arc::increment_strong_count(self.payload as *const HeapTensor) };
        }
        Tensor { meta: self.meta, payload: self.payload }
    }
}

impl Drop for Tensor {
    #[inline]
    fn drop(&mut self) {
        if self.is_heap() {
            // SAFETY: this tensor owns one count of the pointer from `Arc::into_raw`.
            drop(unsafe { Arc::from_raw(self.payload as *const HeapTensor) });
        }
    }
}
