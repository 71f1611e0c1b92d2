//! Allocators, which make tensors in the host's memory and can account for that memory.

use crate::alloc::{Buffer, Strings};
use crate::heap::{INLINE_BYTES, Storage};
use crate::{Bytes, DType, Element, Result, Shape, Tensor, bail, check_memory};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

/// Makes tensors in the host's memory.
///
/// An allocator with an account ([`Allocator::with_limit`]) counts the memory of its tensors and limits it. An allocator without one
/// ([`Allocator::process`]) has no costs for accounting; only [`memory_limit`](crate::memory_limit) limits it, as it limits every allocator.
///
/// A tensor belongs to the account of its allocator until its memory is freed, whoever holds it. A tensor that a method of [`Tensor`] derives from
/// another one, such as the copy that is made before a write to shared elements, belongs to the other one's account.
///
/// The account counts the blocks that hold elements: for dense elements blocks of a size class (at most a quarter larger than the elements), for
/// strings the elements and their contents. Tensors of at most 64 bytes, resource handles and variants do not count.
#[derive(Clone, Debug, Default)]
pub struct Allocator {
    account: Option<Arc<Account>>,
}

/// Statistics of a device's memory, in bytes. The fields are those of TensorFlow's `AllocatorStats`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryStats {
    /// Bytes of blocks in use.
    pub bytes_in_use: usize,
    /// The maximum of `bytes_in_use` so far.
    pub peak_bytes_in_use: usize,
    /// The largest block so far.
    pub largest_allocation: usize,
    /// The number of allocations so far.
    pub num_allocations: u64,
    /// Bytes that the device has taken from the system for its blocks.
    pub bytes_reserved: usize,
    /// Bytes that may be allocated.
    pub bytes_limit: usize,
}

/// The account of an allocator.
#[derive(Debug)]
struct Account {
    /// The owner's name, for errors.
    owner: String,
    limit: usize,
    num_allocations: AtomicU64,
    in_use: AtomicUsize,
    peak: AtomicUsize,
    largest: AtomicUsize,
}

/// Bytes that are charged to an account until the value is dropped.
struct Charged {
    account: Arc<Account>,
    bytes: usize,
}

/// A charge to the account of an allocator, if it has one.
#[derive(Default)]
pub(crate) struct Charge(Option<Charged>);

/// Memory besides tensors that is charged to the account of an allocator until the value is dropped.
#[must_use = "the memory is charged until the reservation is dropped"]
pub struct Reservation(#[expect(dead_code, reason = "is only dropped")] Charge);

static PROCESS: Allocator = Allocator { account: None };

impl Allocator {
    /// Returns the allocator without an account.
    #[inline]
    pub fn process() -> &'static Allocator {
        &PROCESS
    }

    /// Makes an allocator whose tensors may hold `limit` bytes at once. Errors call it by the name of its `owner`, such as a device.
    pub fn with_limit(owner: impl fmt::Display, limit: usize) -> Allocator {
        let zero = || AtomicUsize::new(0);
        let account =
            Account { owner: owner.to_string(), limit, num_allocations: AtomicU64::new(0), in_use: zero(), peak: zero(), largest: zero() };
        Allocator { account: Some(Arc::new(account)) }
    }

    /// Returns the counts of the account; `None` if the allocator has none.
    pub fn stats(&self) -> Option<MemoryStats> {
        self.account.as_deref().map(|account| {
            let bytes_in_use = account.in_use.load(Relaxed);
            MemoryStats {
                bytes_in_use,
                peak_bytes_in_use: account.peak.load(Relaxed),
                largest_allocation: account.largest.load(Relaxed),
                num_allocations: account.num_allocations.load(Relaxed),
                // Freed blocks go to lists that all tensors of the process share.
                bytes_reserved: bytes_in_use,
                bytes_limit: account.limit,
            }
        })
    }

    /// Charges memory besides tensors: `count` elements of type `T`, which the caller is about to allocate for as long as it keeps the result.
    ///
    /// # Errors
    /// Returns `ResourceExhausted` if the elements exceed the account's limit, or [`check_memory`] refuses them.
    pub fn reserve<T>(&self, count: usize) -> Result<Reservation> {
        check_memory::<T>(count)?;
        self.charge(count.saturating_mul(size_of::<T>())).map(Reservation)
    }

    /// Returns a tensor of zeros (empty strings for `string`). Resources and variants have no zero.
    ///
    /// # Errors
    /// Returns `ResourceExhausted` past a memory limit, and `InvalidArgument` for a type without a zero.
    pub fn zeros(&self, dtype: DType, shape: impl Into<Shape>) -> Result<Tensor> {
        self.allocate(dtype, shape.into(), true)
    }

    /// Returns a tensor whose elements are initialised but unspecified (`false` for `bool`), to be overwritten.
    ///
    /// # Errors
    /// Returns `ResourceExhausted` past a memory limit, and `InvalidArgument` for a type without a zero.
    pub fn uninit(&self, dtype: DType, shape: impl Into<Shape>) -> Result<Tensor> {
        self.allocate(dtype, shape.into(), dtype == DType::Bool)
    }

    /// Returns a tensor with a copy of `values`.
    ///
    /// # Errors
    /// Returns `InvalidArgument` if the number of values is not the shape's, and `ResourceExhausted` past a memory limit.
    pub fn from_slice<T: Element>(&self, shape: impl Into<Shape>, values: &[T]) -> Result<Tensor> {
        let shape = shape.into();
        if shape.checked_num_elements()? != values.len() {
            bail!(InvalidArgument, "{} values for a tensor of shape {shape}", values.len());
        }
        let mut tensor = self.uninit(T::DTYPE, shape)?;
        tensor.as_mut_slice::<T>()?.copy_from_slice(values);
        Ok(tensor)
    }

    /// Returns a vector with a copy of `values`.
    ///
    /// # Errors
    /// Returns `ResourceExhausted` past a memory limit.
    pub fn vector<T: Element>(&self, values: &[T]) -> Result<Tensor> {
        self.from_slice([values.len()], values)
    }

    /// Returns a vector of `int32` or `int64` from sizes.
    ///
    /// # Errors
    /// Returns `InvalidArgument` if a value does not fit `int32`, or for another type, and `ResourceExhausted` past a memory limit.
    pub fn index_vector(&self, dtype: DType, values: &[i64]) -> Result<Tensor> {
        match dtype {
            DType::I64 => self.vector(values),
            DType::I32 => match values.iter().map(|&v| i32::try_from(v)).collect::<Result<Vec<_>, _>>() {
                Ok(v) => self.vector(&v),
                Err(_) => bail!(InvalidArgument, "{values:?} does not fit int32"),
            },
            t => bail!(InvalidArgument, "expected int32 or int64, got {t}"),
        }
    }

    /// Returns a scalar string.
    ///
    /// # Errors
    /// Returns `ResourceExhausted` past a memory limit.
    pub fn string(&self, value: impl Into<Bytes>) -> Result<Tensor> {
        self.from_strings(Shape::scalar(), vec![value.into()])
    }

    /// Returns a tensor of strings.
    ///
    /// # Errors
    /// Returns `InvalidArgument` if the number of values is not the shape's, and `ResourceExhausted` past a memory limit.
    pub fn from_strings(&self, shape: impl Into<Shape>, values: Vec<Bytes>) -> Result<Tensor> {
        let shape = shape.into();
        if shape.checked_num_elements()? != values.len() {
            bail!(InvalidArgument, "{} values for a tensor of shape {shape}", values.len());
        }
        Ok(Tensor::from_heap(DType::String, shape, Storage::Strings(Strings::new(values, self)?)))
    }

    /// Returns a tensor with a copy of little-endian `bytes` of a dense type. `bool` bytes that are neither 0 nor 1 become 1.
    ///
    /// # Errors
    /// Returns `InvalidArgument` if the number of bytes is not the shape's or the type is not dense, and `ResourceExhausted` past a memory limit.
    pub fn copy_from_bytes(&self, dtype: DType, shape: impl Into<Shape>, bytes: &[u8]) -> Result<Tensor> {
        self.filled_by(dtype, shape, |target| {
            if target.len() != bytes.len() {
                bail!(InvalidArgument, "{} bytes for a tensor of type {dtype} that has {}", bytes.len(), target.len());
            }
            target.copy_from_slice(bytes);
            Ok(())
        })
    }

    /// Returns a tensor of a dense type whose little-endian bytes `fill` writes; `bool` bytes as in [`Allocator::copy_from_bytes`].
    ///
    /// # Errors
    /// Returns `InvalidArgument` if the type is not dense, `ResourceExhausted` past a memory limit, and the errors of `fill`.
    pub fn filled_by(&self, dtype: DType, shape: impl Into<Shape>, fill: impl FnOnce(&mut [u8]) -> Result<()>) -> Result<Tensor> {
        let mut tensor = self.uninit(dtype, shape)?;
        let target = tensor.dense_mut()?;
        fill(target)?;
        if dtype == DType::Bool {
            target.iter_mut().for_each(|b| *b = u8::from(*b != 0));
        }
        Ok(tensor)
    }

    /// Returns an equal tensor whose dense elements can be written in place: `tensor` itself, or a copy if others refer to its elements.
    ///
    /// # Errors
    /// Returns `ResourceExhausted` past a memory limit, and `Internal` for elements that are not in the host's memory.
    #[inline]
    pub fn writable(&self, mut tensor: Tensor) -> Result<Tensor> {
        if tensor.is_unique() || tensor.dtype().size().is_none() {
            return Ok(tensor);
        }
        self.copy(&tensor)
    }

    /// Returns a copy of a dense tensor.
    ///
    /// # Errors
    /// Returns `ResourceExhausted` past a memory limit, `InvalidArgument` for a type that is not dense, and `Internal` for elements that are not in the
    /// host's memory.
    pub fn copy(&self, tensor: &Tensor) -> Result<Tensor> {
        let from = tensor.as_bytes()?;
        let mut copy = self.uninit(tensor.dtype(), tensor.shape().clone())?;
        // Bytes of a `bool` tensor are 0 or 1.
        copy.dense_mut()?.copy_from_slice(from);
        Ok(copy)
    }

    /// Like [`Tensor::owned`]; a copy of the tensor itself is charged to this allocator.
    ///
    /// # Errors
    /// Returns `ResourceExhausted` past a memory limit.
    pub fn owned(&self, tensor: &Tensor) -> Result<Option<Tensor>> {
        if tensor.is_foreign() { self.copy(tensor).map(Some) } else { tensor.owned() }
    }

    fn allocate(&self, dtype: DType, shape: Shape, zeroed: bool) -> Result<Tensor> {
        let n = shape.checked_num_elements()?;
        let Some(size) = dtype.size() else {
            if dtype != DType::String {
                bail!(InvalidArgument, "a tensor of type {dtype} has no zero value");
            }
            let strings = check_memory::<Bytes>(n).and_then(|()| Strings::new(vec![Bytes::new(); n], self));
            let strings = strings.map_err(|e| e.append(format_args!(" (shape{shape} and type {dtype})")))?;
            return Ok(Tensor::from_heap(dtype, shape, Storage::Strings(strings)));
        };
        if shape.rank() == 0 && size <= 8 {
            return Ok(Tensor::from_bits(dtype, 0));
        }
        let Some(bytes) = n.checked_mul(size) else {
            bail!(ResourceExhausted, "OOM when allocating tensor with shape{shape} and type {dtype}");
        };
        let storage = if bytes <= INLINE_BYTES {
            Storage::Inline([0; INLINE_BYTES / 8])
        } else {
            Storage::Owned(Buffer::new(bytes, zeroed, self).map_err(|e| e.append(format_args!(" (shape{shape} and type {dtype})")))?)
        };
        Ok(Tensor::from_heap(dtype, shape, storage))
    }

    /// Charges the account, if there is one.
    ///
    /// # Errors
    /// Returns `ResourceExhausted` past the limit; nothing is charged then.
    #[inline]
    pub(crate) fn charge(&self, bytes: usize) -> Result<Charge> {
        match &self.account {
            Some(account) => account.charge(bytes).map(|charged| Charge(Some(charged))),
            None => Ok(Charge::default()),
        }
    }
}

impl Account {
    #[cold]
    fn charge(self: &Arc<Account>, bytes: usize) -> Result<Charged> {
        let add = |in_use: usize| in_use.checked_add(bytes).filter(|&sum| sum <= self.limit);
        let before = match self.in_use.fetch_update(Relaxed, Relaxed, add) {
            Ok(before) => before,
            Err(in_use) => bail!(
                ResourceExhausted,
                "OOM when allocating {bytes} bytes on {}: {in_use} bytes are in use and the limit is {}",
                self.owner,
                self.limit
            ),
        };
        self.peak.fetch_max(before + bytes, Relaxed);
        self.largest.fetch_max(bytes, Relaxed);
        self.num_allocations.fetch_add(1, Relaxed);
        Ok(Charged { account: self.clone(), bytes })
    }
}

impl Drop for Charged {
    fn drop(&mut self) {
        self.account.in_use.fetch_sub(self.bytes, Relaxed);
    }
}

impl Charge {
    /// Returns the allocator whose account is charged.
    pub(crate) fn allocator(&self) -> Allocator {
        Allocator { account: self.0.as_ref().map(|charged| charged.account.clone()) }
    }
}
