//! The classes of elements that copying kernels are compiled for.
//!
//! An op that only moves elements does not depend on their meaning. Its code is compiled once for each size of dense element, once for `bool`
//! (whose bytes must stay 0 or 1), and once each for strings, resource handles and variants, which covers all types.

use bytemuck::Pod;
use flowmill_numeric::simd::transpose::transpose;
use flowmill_tensor::{Allocator, Bytes, Complex, DType, Element, ResourceHandle, Result, Shape, Tensor, Variant, bail, error};

/// The storage class of a type's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ItemClass {
    /// `bool`.
    Bool,
    /// Dense, one byte.
    Dense1,
    /// Dense, two bytes.
    Dense2,
    /// Dense, four bytes.
    Dense4,
    /// Dense, eight bytes.
    Dense8,
    /// Dense, sixteen bytes.
    Dense16,
    /// Strings.
    String,
    /// Resource handles.
    Resource,
    /// Variants.
    Variant,
}

impl ItemClass {
    /// Returns the class of a type's elements.
    pub fn of(dtype: DType) -> ItemClass {
        match (dtype, dtype.size()) {
            (DType::Bool, _) => ItemClass::Bool,
            (DType::String, _) => ItemClass::String,
            (DType::Resource, _) => ItemClass::Resource,
            (DType::Variant, _) => ItemClass::Variant,
            (_, Some(1)) => ItemClass::Dense1,
            (_, Some(2)) => ItemClass::Dense2,
            (_, Some(4)) => ItemClass::Dense4,
            (_, Some(8)) => ItemClass::Dense8,
            _ => ItemClass::Dense16,
        }
    }
}

/// A function that writes or changes the elements of a tensor.
pub type Change<'a, T> = &'a mut dyn FnMut(&mut [T]) -> Result<()>;

/// An element of one storage class.
pub trait Item: Clone + Send + Sync + 'static {
    /// Returns the elements of a tensor of this class.
    ///
    /// # Errors
    /// Returns `Internal` or `InvalidArgument` if the tensor is of another class.
    fn items(tensor: &Tensor) -> Result<&[Self]>;

    /// Returns a new tensor of type `dtype`, made by `alloc`, whose elements `fill` writes. Before that, the elements are unspecified; resource handles and variants,
    /// which have no default value, are clones of the first element of `like`.
    ///
    /// # Errors
    /// Returns `ResourceExhausted` past the memory limit; any error of `fill`; `Internal` for a class without a default value if the tensor has elements
    /// and `like` is empty.
    fn build(alloc: &Allocator, dtype: DType, shape: Shape, like: &[Self], fill: impl FnOnce(&mut [Self]) -> Result<()>) -> Result<Tensor> {
        let mut fill = Some(fill);
        Self::build_by(alloc, dtype, shape, like, &mut |items| fill.take().map_or(Ok(()), |fill| fill(items)))
    }

    /// Like [`Item::build`], with `fill` behind a pointer, so that the code exists once per class and not once per kernel. Calls `fill` once.
    ///
    /// # Errors
    /// Returns `ResourceExhausted`, `Internal` or an error of `fill`, like [`Item::build`].
    fn build_by(alloc: &Allocator, dtype: DType, shape: Shape, like: &[Self], fill: Change<'_, Self>) -> Result<Tensor>;

    /// Changes the elements of `tensor`, in place if nothing else refers to its memory.
    ///
    /// # Errors
    /// Returns `ResourceExhausted`, `Internal` or an error of `change`, after which the tensor keeps the changes made so far.
    fn update(tensor: &mut Tensor, change: impl FnOnce(&mut [Self]) -> Result<()>) -> Result<()> {
        let mut change = Some(change);
        Self::update_by(tensor, &mut |items| change.take().map_or(Ok(()), |change| change(items)))
    }

    /// Like [`Item::update`], with `change` behind a pointer. Calls `change` once.
    ///
    /// # Errors
    /// Returns `ResourceExhausted`, `Internal` or an error of `change`, like [`Item::update`].
    fn update_by(tensor: &mut Tensor, change: Change<'_, Self>) -> Result<()>;

    /// Computes `out[r * out_step + c] = source[r + c * step]` for `rows` × `columns` elements, where `step` is at least `rows`.
    fn transpose(out: &mut [Self], out_step: usize, source: &[Self], step: usize, rows: usize, columns: usize) {
        super::nd::exchange(out, out_step, source, 0, step as isize, rows, columns);
    }

    /// Returns the zero of the class: all bits zero, `false`, or the empty string.
    ///
    /// # Errors
    /// Returns `Unimplemented` for resource handles and variants.
    fn zero() -> Result<Self>;
}

macro_rules! dense_item {
    ($($t:ty),*) => {$(
        impl Item for $t {
            #[inline]
            fn items(tensor: &Tensor) -> Result<&[$t]> {
                pod_slice(tensor.as_bytes()?)
            }

            #[inline]
            fn build_by(alloc: &Allocator, dtype: DType, shape: Shape, _like: &[$t], fill: Change<'_, $t>) -> Result<Tensor> {
                let mut tensor = alloc.uninit(<$t as Element>::DTYPE, shape)?;
                fill(tensor.as_mut_slice::<$t>()?)?;
                tensor.bitcast(dtype)
            }

            #[inline]
            fn update_by(tensor: &mut Tensor, change: Change<'_, $t>) -> Result<()> {
                let dtype = tensor.dtype();
                if dtype.size() != Some(size_of::<$t>()) {
                    bail!(Internal, "a tensor of type {dtype} cannot be read as elements of {} bytes", size_of::<$t>());
                }
                let mut raw = std::mem::replace(tensor, Tensor::scalar(0u8)).bitcast(<$t as Element>::DTYPE)?;
                let result = raw.as_mut_slice::<$t>().and_then(change);
                *tensor = raw.bitcast(dtype)?;
                result
            }

            fn transpose(out: &mut [$t], out_step: usize, source: &[$t], step: usize, rows: usize, columns: usize) {
                // Only elements of four bytes have a form in vector registers.
                if size_of::<$t>() == 4 {
                    transpose(source, step, columns, rows, out, out_step);
                } else {
                    super::nd::exchange(out, out_step, source, 0, step as isize, rows, columns);
                }
            }

            fn zero() -> Result<$t> {
                Ok(<$t>::default())
            }
        }
    )*};
}

dense_item!(u8, u16, u32, u64, Complex<f64>);

fn pod_slice<T: Pod>(bytes: &[u8]) -> Result<&[T]> {
    bytemuck::try_cast_slice(bytes).map_err(|e| error!(Internal, "elements of {} bytes: {e}", size_of::<T>()))
}

impl Item for bool {
    fn items(tensor: &Tensor) -> Result<&[bool]> {
        tensor.as_slice()
    }

    fn build_by(alloc: &Allocator, _dtype: DType, shape: Shape, _like: &[bool], fill: Change<'_, bool>) -> Result<Tensor> {
        let mut tensor = alloc.uninit(DType::Bool, shape)?;
        fill(tensor.as_mut_slice()?)?;
        Ok(tensor)
    }

    fn update_by(tensor: &mut Tensor, change: Change<'_, bool>) -> Result<()> {
        change(tensor.as_mut_slice()?)
    }

    fn zero() -> Result<bool> {
        Ok(false)
    }
}

/// Checks that memory for the elements of type `T` is within the memory limit, and returns their number.
fn check_memory<T>(shape: &Shape) -> Result<usize> {
    let n = shape.checked_num_elements()?;
    flowmill_tensor::check_memory::<T>(n)?;
    Ok(n)
}

macro_rules! boxed_item {
    ($($t:ty, $slice:ident, $make:expr, $start:expr, $zero:expr;)*) => {$(
        impl Item for $t {
            fn items(tensor: &Tensor) -> Result<&[$t]> {
                tensor.$slice()
            }

            fn build_by(alloc: &Allocator, _dtype: DType, shape: Shape, like: &[$t], fill: Change<'_, $t>) -> Result<Tensor> {
                let n = check_memory::<$t>(&shape)?;
                let start: fn(&[$t]) -> Result<$t> = $start;
                let mut values = if n == 0 { Vec::new() } else { vec![start(like)?; n] };
                fill(&mut values)?;
                let make: fn(&Allocator, Shape, Vec<$t>) -> Result<Tensor> = $make;
                make(alloc, shape, values)
            }

            fn update_by(tensor: &mut Tensor, change: Change<'_, $t>) -> Result<()> {
                let mut values = tensor.$slice()?.to_vec();
                change(&mut values)?;
                let make: fn(&Allocator, Shape, Vec<$t>) -> Result<Tensor> = $make;
                *tensor = make(&tensor.allocator(), tensor.shape().clone(), values)?;
                Ok(())
            }

            fn zero() -> Result<$t> {
                $zero
            }
        }
    )*};
}

boxed_item! {
    Bytes, as_strings, Allocator::from_strings, |_| Ok(Bytes::new()), Ok(Bytes::new());
    ResourceHandle, as_resources, |_, shape, values| Tensor::from_resources(shape, values), first_of, bail!(Unimplemented, "resource handles have no zero value");
    Variant, as_variants, |_, shape, values| Tensor::from_variants(shape, values), first_of, bail!(Unimplemented, "variants have no zero value of their own");
}

fn first_of<T: Clone>(like: &[T]) -> Result<T> {
    match like.first() {
        Some(item) => Ok(item.clone()),
        None => bail!(Internal, "elements of a handle type need an element to clone"),
    }
}

/// Evaluates an expression with `$T` bound to the [`Item`] type of a `DType`.
#[macro_export]
macro_rules! for_item {
    ($dtype:expr, $T:ident => $body:expr) => {
        $crate::array::item::for_item!($dtype, $T => $body, [
            Bool: bool,
            Dense1: u8,
            Dense2: u16,
            Dense4: u32,
            Dense8: u64,
            Dense16: ::flowmill_tensor::Complex<f64>,
            String: ::flowmill_tensor::Bytes,
            Resource: ::flowmill_tensor::ResourceHandle,
            Variant: ::flowmill_tensor::Variant,
        ])
    };
    ($dtype:expr, $T:ident => $body:expr, [$($class:ident: $t:ty,)*]) => {
        match $crate::array::item::ItemClass::of($dtype) {
            $($crate::array::item::ItemClass::$class => {
                type $T = $t;
                $body
            })*
        }
    };
}
pub use crate::for_item;

/// Views of at least this many bytes share the tensor's memory. Smaller ones are copied, which costs less than the two reference counts of a view
/// and returns memory that the next kernel may write in place.
const VIEW_MIN_BYTES: usize = 1024;

/// Returns the `shape.num_elements()` elements from `start` in row-major order. Memory is shared if that is cheaper than a copy by `alloc`.
///
/// # Errors
/// Returns `InvalidArgument` if the tensor does not have these elements.
pub fn contiguous<T: Item>(alloc: &Allocator, tensor: &Tensor, start: usize, shape: Shape) -> Result<Tensor> {
    let n = shape.num_elements();
    if tensor.dtype().size().is_some_and(|size| n * size >= VIEW_MIN_BYTES) {
        return tensor.view(start, shape);
    }
    let source = T::items(tensor)?;
    match start.checked_add(n).and_then(|end| source.get(start..end)) {
        Some(part) => T::build(alloc, tensor.dtype(), shape, part, |out| {
            out.clone_from_slice(part);
            Ok(())
        }),
        None => bail!(InvalidArgument, "a part of {n} elements from {start} is not inside a tensor of {} elements", source.len()),
    }
}

/// Copies a row. Rows of at most 128 bytes are copied without a call of `memcpy`, which takes longer than their loads and stores.
#[inline(always)]
pub fn copy_row<T: Item>(to: &mut [T], from: &[T]) {
    if std::mem::needs_drop::<T>() || size_of_val(from) > 128 {
        return to.clone_from_slice(from);
    }
    match from.len() {
        4..=8 => copy_ends::<T, 4>(to, from),
        9..=16 => copy_ends::<T, 8>(to, from),
        17..=32 => copy_ends::<T, 16>(to, from),
        33..=64 => copy_ends::<T, 32>(to, from),
        _ => to.clone_from_slice(from),
    }
}

/// Copies the first `N` and the last `N` elements, which are all elements of `N` to `2 * N`.
#[inline(always)]
fn copy_ends<T: Clone, const N: usize>(to: &mut [T], from: &[T]) {
    if let (Some(to), Some(from)) = (to.first_chunk_mut::<N>(), from.first_chunk::<N>()) {
        to.clone_from_slice(from);
    }
    if let (Some(to), Some(from)) = (to.last_chunk_mut::<N>(), from.last_chunk::<N>()) {
        to.clone_from_slice(from);
    }
}
