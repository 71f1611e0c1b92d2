use crate::alloc::Buffer;
use crate::heap::{HeapTensor, INLINE_BYTES, Storage};
use crate::{Bytes, DType, Element, ResourceHandle, Result, Shape, Variant, bail};
use std::any::Any;
use std::fmt;
use std::mem::ManuallyDrop;
use std::num::NonZeroU64;
use std::sync::Arc;

/// An n-dimensional array of elements of one [`DType`], row-major.
///
/// Cloning is cheap and shares the data; writing to shared data copies it first. The value is two words: scalars of up to eight
/// bytes lie in them (written and read as whole words, which keeps store forwarding intact), everything else is behind a counter.
#[repr(C)]
pub struct Tensor {
    /// The `DType` number in the low byte; [`HEAP`] where `payload` is a pointer from `Arc::into_raw`.
    meta: NonZeroU64,
    /// A scalar's bits, widened with zeros, or the pointer.
    payload: u64,
}

const HEAP: u64 = 1 << 8;
static SCALAR: Shape = Shape::scalar();

// SAFETY: the payload is plain bits or an `Arc<HeapTensor>`, and `HeapTensor` is `Send + Sync`.
unsafe impl Send for Tensor {}
// SAFETY: as above; shared access only reads.
unsafe impl Sync for Tensor {}

fn fits_inline(dtype: DType) -> bool {
    dtype.size().is_some_and(|s| s <= 8)
}

impl Tensor {
    fn from_bits(dtype: DType, payload: u64) -> Tensor {
        // A `DType` number is never zero.
        Tensor { meta: NonZeroU64::MIN.saturating_add(dtype as u64 - 1), payload }
    }

    fn from_heap(dtype: DType, shape: Shape, storage: Storage) -> Tensor {
        let pointer = Arc::into_raw(Arc::new(HeapTensor { shape, storage }));
        Tensor { meta: NonZeroU64::MIN.saturating_add((dtype as u64 | HEAP) - 1), payload: pointer as u64 }
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

    /// A scalar.
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

    /// A scalar string.
    pub fn string(value: impl Into<Bytes>) -> Tensor {
        Tensor::from_heap(DType::String, Shape::scalar(), Storage::Strings(vec![value.into()]))
    }

    /// A scalar resource handle.
    pub fn resource(handle: ResourceHandle) -> Tensor {
        Tensor::from_heap(DType::Resource, Shape::scalar(), Storage::Resources(vec![handle]))
    }

    /// A scalar variant.
    pub fn variant(value: Variant) -> Tensor {
        Tensor::from_heap(DType::Variant, Shape::scalar(), Storage::Variants(vec![value]))
    }

    /// A tensor of zeros (empty strings for `string`). Resources and variants have no zero.
    ///
    /// # Errors
    /// `ResourceExhausted` past the memory limit, `InvalidArgument` for a type without a zero.
    pub fn zeros(dtype: DType, shape: impl Into<Shape>) -> Result<Tensor> {
        Tensor::allocate(dtype, shape.into(), true)
    }

    /// A tensor whose elements are initialised but unspecified (`false` for `bool`), to be overwritten.
    ///
    /// # Errors
    /// As [`Tensor::zeros`].
    pub fn uninit(dtype: DType, shape: impl Into<Shape>) -> Result<Tensor> {
        Tensor::allocate(dtype, shape.into(), dtype == DType::Bool)
    }

    fn allocate(dtype: DType, shape: Shape, zeroed: bool) -> Result<Tensor> {
        let n = shape.checked_num_elements()?;
        let Some(size) = dtype.size() else {
            if dtype != DType::String {
                bail!(InvalidArgument, "a tensor of type {dtype} has no zero value");
            }
            if n > crate::memory_limit() / size_of::<Bytes>() {
                bail!(ResourceExhausted, "OOM when allocating tensor with shape{shape} and type {dtype}");
            }
            return Ok(Tensor::from_heap(dtype, shape, Storage::Strings(vec![Bytes::new(); n])));
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
            Storage::Owned(Buffer::new(bytes, zeroed).map_err(|e| e.append(format_args!(" (shape{shape} and type {dtype})")))?)
        };
        Ok(Tensor::from_heap(dtype, shape, storage))
    }

    /// A tensor with a copy of `values`.
    ///
    /// # Errors
    /// `InvalidArgument` where the number of values is not the shape's.
    pub fn from_slice<T: Element>(shape: impl Into<Shape>, values: &[T]) -> Result<Tensor> {
        let shape = shape.into();
        if shape.checked_num_elements()? != values.len() {
            bail!(InvalidArgument, "{} values for a tensor of shape {shape}", values.len());
        }
        let mut tensor = Tensor::uninit(T::DTYPE, shape)?;
        tensor.as_mut_slice::<T>()?.copy_from_slice(values);
        Ok(tensor)
    }

    /// A vector with a copy of `values`.
    ///
    /// # Errors
    /// `ResourceExhausted` past the memory limit.
    pub fn vector<T: Element>(values: &[T]) -> Result<Tensor> {
        Tensor::from_slice([values.len()], values)
    }

    /// A tensor of strings.
    ///
    /// # Errors
    /// `InvalidArgument` where the number of values is not the shape's.
    pub fn from_strings(shape: impl Into<Shape>, values: Vec<Bytes>) -> Result<Tensor> {
        let shape = shape.into();
        check_count(&shape, values.len())?;
        Ok(Tensor::from_heap(DType::String, shape, Storage::Strings(values)))
    }

    /// A tensor of resource handles; errors as [`Tensor::from_strings`].
    pub fn from_resources(shape: impl Into<Shape>, values: Vec<ResourceHandle>) -> Result<Tensor> {
        let shape = shape.into();
        check_count(&shape, values.len())?;
        Ok(Tensor::from_heap(DType::Resource, shape, Storage::Resources(values)))
    }

    /// A tensor of variants; errors as [`Tensor::from_strings`].
    pub fn from_variants(shape: impl Into<Shape>, values: Vec<Variant>) -> Result<Tensor> {
        let shape = shape.into();
        check_count(&shape, values.len())?;
        Ok(Tensor::from_heap(DType::Variant, shape, Storage::Variants(values)))
    }

    /// A tensor over little-endian `bytes` of a dense type, without a copy where the bytes are aligned for the type. `bool` bytes that are neither 0 nor 1 become 1.
    ///
    /// # Errors
    /// `InvalidArgument` where the number of bytes is not the shape's or the type is not dense.
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

    /// A tensor with a copy of little-endian `bytes` of a dense type; `bool` bytes as in [`Tensor::from_bytes`].
    ///
    /// # Errors
    /// As [`Tensor::from_bytes`], and `ResourceExhausted` past the memory limit.
    pub fn copy_from_bytes(dtype: DType, shape: impl Into<Shape>, bytes: &[u8]) -> Result<Tensor> {
        let mut tensor = Tensor::uninit(dtype, shape)?;
        let target = tensor.dense_mut()?;
        if target.len() != bytes.len() {
            bail!(InvalidArgument, "{} bytes for a tensor of type {dtype} that has {}", bytes.len(), target.len());
        }
        target.copy_from_slice(bytes);
        if dtype == DType::Bool {
            target.iter_mut().for_each(|b| *b = u8::from(*b != 0));
        }
        Ok(tensor)
    }

    /// The same value in memory that belongs to tensors: data over a mapped file or an array of the caller's are copied, others shared. What
    /// a variable keeps, so that nobody changes it from outside.
    ///
    /// # Errors
    /// `ResourceExhausted` past the memory limit.
    pub fn into_owned(self) -> Result<Tensor> {
        match self.heap().map(|h| &h.storage) {
            Some(Storage::Foreign { .. }) => Tensor::copy_from_bytes(self.dtype(), self.shape().clone(), self.as_bytes()?),
            _ => Ok(self),
        }
    }

    /// A tensor over memory that `owner` keeps alive, without a copy; it is never written through this tensor.
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

    /// The element type.
    #[inline]
    pub fn dtype(&self) -> DType {
        // SAFETY: the low byte is always a `DType` discriminant, set at construction.
        unsafe { std::mem::transmute::<u8, DType>(self.meta.get() as u8) }
    }

    /// The shape.
    #[inline]
    pub fn shape(&self) -> &Shape {
        self.heap().map_or(&SCALAR, |h| &h.shape)
    }

    /// The number of elements.
    #[inline]
    pub fn num_elements(&self) -> usize {
        self.heap().map_or(1, |h| h.shape.num_elements())
    }

    /// The number of dimensions.
    #[inline]
    pub fn rank(&self) -> usize {
        self.shape().rank()
    }

    /// The bits of an inline scalar of type `dtype`, or `None` for anything else.
    #[inline]
    pub fn scalar_bits(&self, dtype: DType) -> Option<u64> {
        (self.meta.get() == dtype as u64).then_some(self.payload)
    }

    /// An inline scalar from its bits, zero-extended; `None` for types wider than eight bytes or not dense. For `bool`, any odd word is true.
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

    /// The elements.
    ///
    /// # Errors
    /// `Internal` where `T` is not the tensor's type.
    #[inline]
    pub fn as_slice<T: Element>(&self) -> Result<&[T]> {
        if self.dtype() != T::DTYPE {
            return Err(wrong_type(T::DTYPE, self.dtype()));
        }
        // SAFETY: the data are `num_elements` initialised elements of `T`, aligned by every constructor; bool bytes are 0 or 1.
        Ok(unsafe { std::slice::from_raw_parts(self.data_ptr().cast::<T>(), self.num_elements()) })
    }

    /// The elements for writing; shared or foreign data are copied first.
    ///
    /// # Errors
    /// `Internal` where `T` is not the tensor's type, `ResourceExhausted` where the copy finds no memory.
    #[inline]
    pub fn as_mut_slice<T: Element>(&mut self) -> Result<&mut [T]> {
        if self.dtype() != T::DTYPE {
            return Err(wrong_type(T::DTYPE, self.dtype()));
        }
        let (ptr, n) = (self.make_unique()?, self.num_elements());
        // SAFETY: as in `as_slice`, and `make_unique` left `self` the only holder of writable memory.
        Ok(unsafe { std::slice::from_raw_parts_mut(ptr.cast::<T>(), n) })
    }

    /// The single element of a tensor with one element.
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

    /// The bytes of a dense tensor.
    ///
    /// # Errors
    /// `InvalidArgument` for strings, resources and variants.
    pub fn as_bytes(&self) -> Result<&[u8]> {
        let Some(size) = self.dtype().size() else { bail!(InvalidArgument, "a tensor of type {} is not dense bytes", self.dtype()) };
        // SAFETY: dense data are `num_elements * size` initialised bytes.
        Ok(unsafe { std::slice::from_raw_parts(self.data_ptr(), self.num_elements() * size) })
    }

    /// The bytes for writing. Private: any byte may be written to a `bool` here.
    fn dense_mut(&mut self) -> Result<&mut [u8]> {
        let Some(size) = self.dtype().size() else { bail!(InvalidArgument, "a tensor of type {} is not dense bytes", self.dtype()) };
        let (ptr, n) = (self.make_unique()?, self.num_elements());
        // SAFETY: as in `as_bytes`, and `make_unique` left `self` the only holder.
        Ok(unsafe { std::slice::from_raw_parts_mut(ptr, n * size) })
    }

    #[inline]
    fn data_ptr(&self) -> *const u8 {
        match self.heap() {
            None => (&raw const self.payload).cast(),
            // Strings, resources and variants have no dense data and are never asked for them; a dangling pointer keeps this total.
            Some(h) => h.data().unwrap_or(std::ptr::dangling()),
        }
    }

    /// Makes the dense data writable by this tensor alone, copying where needed.
    fn make_unique(&mut self) -> Result<*mut u8> {
        if !self.is_heap() {
            return Ok((&raw mut self.payload).cast());
        }
        if let Some(ptr) = self.heap_mut().and_then(HeapTensor::data_mut) {
            return Ok(ptr);
        }
        let mut copy = Tensor::uninit(self.dtype(), self.shape().clone())?;
        let from = self.as_bytes()?;
        if let Some(to) = copy.heap_mut().and_then(HeapTensor::data_mut) {
            // SAFETY: `copy` was just made with the same type and shape, so it has `from.len()` bytes of its own.
            unsafe { std::ptr::copy_nonoverlapping(from.as_ptr(), to, from.len()) };
        }
        *self = copy;
        match self.heap_mut().and_then(HeapTensor::data_mut) {
            Some(ptr) => Ok(ptr),
            None => Ok((&raw mut self.payload).cast()),
        }
    }

    /// Whether the dense data can be written in place, nobody else holding them. True for inline scalars.
    #[inline]
    pub fn is_unique(&mut self) -> bool {
        !self.is_heap() || self.heap_mut().is_some_and(|h| h.data_mut().is_some())
    }

    /// The strings.
    ///
    /// # Errors
    /// `Internal` for another type.
    pub fn as_strings(&self) -> Result<&[Bytes]> {
        match self.heap().map(|h| &h.storage) {
            Some(Storage::Strings(v)) => Ok(v),
            _ => Err(wrong_type(DType::String, self.dtype())),
        }
    }

    /// The handles; errors as [`Tensor::as_strings`].
    pub fn as_resources(&self) -> Result<&[ResourceHandle]> {
        match self.heap().map(|h| &h.storage) {
            Some(Storage::Resources(v)) => Ok(v),
            _ => Err(wrong_type(DType::Resource, self.dtype())),
        }
    }

    /// The variants; errors as [`Tensor::as_strings`].
    pub fn as_variants(&self) -> Result<&[Variant]> {
        match self.heap().map(|h| &h.storage) {
            Some(Storage::Variants(v)) => Ok(v),
            _ => Err(wrong_type(DType::Variant, self.dtype())),
        }
    }

    /// The variants for changing in place; shared ones are cloned first (each clone shares the value behind it).
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

    /// The same elements with another shape; dense data are shared, not copied.
    ///
    /// # Errors
    /// `InvalidArgument` where the number of elements differs.
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
        if shape.rank() == 0 && fits_inline(self.dtype()) {
            return self.element(0);
        }
        if let Some(heap) = self.heap_mut() {
            heap.shape = shape;
            return Ok(self);
        }
        match self.heap().map(|h| &h.storage) {
            Some(Storage::Strings(v)) => Tensor::from_strings(shape, v.clone()),
            Some(Storage::Resources(v)) => Tensor::from_resources(shape, v.clone()),
            Some(Storage::Variants(v)) => Tensor::from_variants(shape, v.clone()),
            _ => self.view(0, shape),
        }
    }

    /// The dense elements from `start` (counted in elements) with `shape`, sharing the data. Small views are copied, which is cheaper.
    ///
    /// # Errors
    /// `InvalidArgument` where the view leaves the tensor or the type is not dense.
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
            Some(Storage::Strings(v)) => Tensor::from_strings(inner, v[index * n..(index + 1) * n].to_vec()),
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

    /// The same bits read as another dense type of the same size, such as `qint8` as `int8`. Not to `bool`.
    ///
    /// # Errors
    /// `InvalidArgument` where the sizes differ, a type is not dense, or the target is `bool`.
    pub fn bitcast(mut self, dtype: DType) -> Result<Tensor> {
        if dtype.size().is_none() || dtype.size() != self.dtype().size() || (dtype == DType::Bool && self.dtype() != DType::Bool) {
            bail!(InvalidArgument, "Cannot bitcast from {} to {dtype}", self.dtype());
        }
        self.meta = NonZeroU64::MIN.saturating_add((dtype as u64 | (self.meta.get() & HEAP)) - 1);
        Ok(self)
    }

    /// Bytes the elements take; for strings, the sum of their lengths.
    pub fn num_bytes(&self) -> usize {
        match self.dtype().size() {
            Some(size) => self.num_elements() * size,
            None => self.as_strings().map_or(self.num_elements() * 16, |s| s.iter().map(Bytes::len).sum()),
        }
    }

    /// Whether two tensors share the same block or are the same inline scalar.
    pub fn same_data(&self, other: &Tensor) -> bool {
        self.meta == other.meta && self.payload == other.payload
    }
}

fn check_count(shape: &Shape, n: usize) -> Result<()> {
    if shape.checked_num_elements()? != n {
        bail!(InvalidArgument, "{n} values for a tensor of shape {shape}");
    }
    Ok(())
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

impl PartialEq for Tensor {
    /// Same type, shape and elements; floats compare by bits, variants never.
    fn eq(&self, other: &Tensor) -> bool {
        if self.dtype() != other.dtype() || self.shape() != other.shape() {
            return false;
        }
        match (self.heap().map(|h| &h.storage), other.heap().map(|h| &h.storage)) {
            (Some(Storage::Strings(a)), Some(Storage::Strings(b))) => a == b,
            (Some(Storage::Resources(a)), Some(Storage::Resources(b))) => a == b,
            (Some(Storage::Variants(_)), _) => false,
            _ => matches!((self.as_bytes(), other.as_bytes()), (Ok(a), Ok(b)) if a == b),
        }
    }
}

/// Type, shape and the first elements.
impl fmt::Debug for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 8;
        write!(f, "{}{}", self.dtype(), self.shape())?;
        macro_rules! show {
            ($($t:ty),*) => {
                match self.dtype() {
                    $(d if d == <$t>::DTYPE => f.debug_list().entries(self.as_slice::<$t>().unwrap_or(&[]).iter().take(SHOWN)).finish(),)*
                    DType::String => f.debug_list().entries(self.as_strings().unwrap_or(&[]).iter().take(SHOWN)).finish(),
                    DType::Resource => f.debug_list().entries(self.as_resources().unwrap_or(&[]).iter().take(SHOWN)).finish(),
                    DType::Variant => f.debug_list().entries(self.as_variants().unwrap_or(&[]).iter().take(SHOWN)).finish(),
                    _ => f.debug_list().entries(self.as_bytes().unwrap_or(&[]).iter().take(SHOWN)).finish(),
                }?
            };
        }
        show!(f32, f64, i8, i16, i32, i64, u8, u16, u32, u64, bool, crate::f16, crate::bf16, crate::Complex<f32>, crate::Complex<f64>);
        if self.num_elements() > SHOWN { f.write_str("…") } else { Ok(()) }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::{Code, Complex};

    #[test]
    fn a_tensor_is_two_words() {
        assert_eq!(size_of::<Tensor>(), 16);
        assert_eq!(size_of::<Option<Tensor>>(), 16);
    }

    #[test]
    fn scalars_of_every_width_come_back() {
        assert!(Tensor::scalar(true).to_scalar::<bool>().unwrap());
        assert_eq!(Tensor::scalar(-7i8).to_scalar::<i8>().unwrap(), -7);
        assert_eq!(Tensor::scalar(1.5f32).scalar_bits(DType::F32), Some(u64::from(1.5f32.to_bits())));
        let z = Complex::new(1.0f64, -2.0);
        assert_eq!(Tensor::scalar(z).to_scalar::<Complex<f64>>().unwrap(), z);
        assert_eq!(Tensor::scalar(1i32).to_scalar::<f32>().unwrap_err().code(), Code::InvalidArgument);
    }

    #[test]
    fn writing_shared_data_copies_them_first() {
        let mut a = Tensor::vector(&[1i64; 100]).unwrap();
        let b = a.clone();
        assert!(!a.is_unique());
        a.as_mut_slice::<i64>().unwrap()[0] = 5;
        assert_eq!((a.as_slice::<i64>().unwrap()[0], b.as_slice::<i64>().unwrap()[0]), (5, 1));
        assert!(a.is_unique());
    }

    #[test]
    fn views_share_and_stay_in_range() {
        let a = Tensor::from_slice([10, 20], &(0..200).collect::<Vec<i32>>()).unwrap();
        let row = a.row(3).unwrap();
        assert_eq!(row.as_slice::<i32>().unwrap()[..2], [60, 61]);
        assert_eq!(row.shape().dims(), [20]);
        assert!(a.row(10).is_err() && a.view(190, [11]).is_err());
        assert_eq!(a.element(199).unwrap().to_scalar::<i32>().unwrap(), 199);
    }

    #[test]
    fn bytes_are_shared_where_aligned_and_checked() {
        let bytes = Bytes::from(vec![2u8; 80]);
        assert!(Tensor::from_bytes(DType::F32, [21], bytes.clone()).is_err());
        let flags = Tensor::from_bytes(DType::Bool, [80], bytes.clone()).unwrap();
        assert!(flags.as_slice::<bool>().unwrap().iter().all(|&b| b));
        let odd = Tensor::from_bytes(DType::I16, [39], bytes.slice(1..79)).unwrap();
        assert_eq!(odd.as_slice::<i16>().unwrap()[38], 0x0202);
    }

    #[test]
    fn a_reshape_keeps_the_elements() {
        let a = Tensor::vector(&[1f32, 2.0, 3.0, 4.0]).unwrap();
        let b = a.clone().reshaped([2, 2]).unwrap();
        assert_eq!(b.as_slice::<f32>().unwrap(), a.as_slice::<f32>().unwrap());
        assert!(b.reshaped([3]).is_err());
        let s = Tensor::vector(&[7i32]).unwrap().reshaped(Shape::scalar()).unwrap();
        assert_eq!(s.scalar_bits(DType::I32), Some(7));
    }
}
