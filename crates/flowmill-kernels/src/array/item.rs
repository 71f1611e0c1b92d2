//! The classes of elements that copying kernels are compiled for.
//!
//! An op that only moves elements does not care what they mean. One copy of its code for each size of dense element, one for `bool`
//! (whose bytes must stay 0 or 1), and one each for strings, resource handles and variants serve all types.

use bytemuck::Pod;
use flowmill_tensor::{Bytes, Complex, DType, Element, ResourceHandle, Result, Shape, Tensor, Variant, bail, error};

/// How the elements of a type are stored.
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
    /// The class of a type's elements.
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

/// What writes the elements of a tensor.
pub type Change<'a, T> = &'a mut dyn FnMut(&mut [T]) -> Result<()>;

/// An element as copying kernels see it.
pub trait Item: Clone + Send + Sync + 'static {
    /// The elements of a tensor of this class.
    ///
    /// # Errors
    /// `Internal` or `InvalidArgument` where the tensor is of another class.
    fn items(tensor: &Tensor) -> Result<&[Self]>;

    /// A new tensor of type `dtype` that `fill` writes. Before that its elements are unspecified; those of resource handles and variants
    /// are clones of the first element of `like`, for they have no value of their own to start with.
    ///
    /// # Errors
    /// `ResourceExhausted` past the memory limit, what `fill` gives, `Internal` where elements are wanted and `like` is empty.
    fn build(dtype: DType, shape: Shape, like: &[Self], fill: impl FnOnce(&mut [Self]) -> Result<()>) -> Result<Tensor> {
        let mut fill = Some(fill);
        Self::build_by(dtype, shape, like, &mut |items| fill.take().map_or(Ok(()), |fill| fill(items)))
    }

    /// [`Item::build`] behind a pointer, so that it exists once for a class and not once for every kernel. Calls `fill` once.
    ///
    /// # Errors
    /// As there.
    fn build_by(dtype: DType, shape: Shape, like: &[Self], fill: Change<'_, Self>) -> Result<Tensor>;

    /// Changes the elements of `tensor`, in place where nobody else holds them.
    ///
    /// # Errors
    /// As [`Item::build`]; the tensor is then what `change` has left.
    fn update(tensor: &mut Tensor, change: impl FnOnce(&mut [Self]) -> Result<()>) -> Result<()> {
        let mut change = Some(change);
        Self::update_by(tensor, &mut |items| change.take().map_or(Ok(()), |change| change(items)))
    }

    /// [`Item::update`] behind a pointer. Calls `change` once.
    ///
    /// # Errors
    /// As there.
    fn update_by(tensor: &mut Tensor, change: Change<'_, Self>) -> Result<()>;

    /// The zero of the class: all bits zero, `false`, or the empty string.
    ///
    /// # Errors
    /// `Unimplemented` for resource handles and variants.
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
            fn build_by(dtype: DType, shape: Shape, _like: &[$t], fill: Change<'_, $t>) -> Result<Tensor> {
                let mut tensor = Tensor::uninit(<$t as Element>::DTYPE, shape)?;
                fill(tensor.as_mut_slice::<$t>()?)?;
                tensor.bitcast(dtype)
            }

            #[inline]
            fn update_by(tensor: &mut Tensor, change: Change<'_, $t>) -> Result<()> {
                let dtype = tensor.dtype();
                if dtype.size() != Some(size_of::<$t>()) {
                    bail!(Internal, "a tensor of type {dtype} where elements have {} bytes", size_of::<$t>());
                }
                let mut raw = std::mem::replace(tensor, Tensor::scalar(0u8)).bitcast(<$t as Element>::DTYPE)?;
                let result = raw.as_mut_slice::<$t>().and_then(change);
                *tensor = raw.bitcast(dtype)?;
                result
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

    fn build_by(_dtype: DType, shape: Shape, _like: &[bool], fill: Change<'_, bool>) -> Result<Tensor> {
        let mut tensor = Tensor::uninit(DType::Bool, shape)?;
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

/// Refuses more elements of type `T` than the memory limit allows.
fn check_memory<T>(shape: &Shape) -> Result<usize> {
    let n = shape.checked_num_elements()?;
    flowmill_tensor::check_memory::<T>(n)?;
    Ok(n)
}

macro_rules! boxed_item {
    ($($t:ty, $slice:ident, $from:ident, $start:expr, $zero:expr;)*) => {$(
        impl Item for $t {
            fn items(tensor: &Tensor) -> Result<&[$t]> {
                tensor.$slice()
            }

            fn build_by(_dtype: DType, shape: Shape, like: &[$t], fill: Change<'_, $t>) -> Result<Tensor> {
                let n = check_memory::<$t>(&shape)?;
                let start: fn(&[$t]) -> Result<$t> = $start;
                let mut values = if n == 0 { Vec::new() } else { vec![start(like)?; n] };
                fill(&mut values)?;
                Tensor::$from(shape, values)
            }

            fn update_by(tensor: &mut Tensor, change: Change<'_, $t>) -> Result<()> {
                let mut values = tensor.$slice()?.to_vec();
                change(&mut values)?;
                *tensor = Tensor::$from(tensor.shape().clone(), values)?;
                Ok(())
            }

            fn zero() -> Result<$t> {
                $zero
            }
        }
    )*};
}

boxed_item! {
    Bytes, as_strings, from_strings, |_| Ok(Bytes::new()), Ok(Bytes::new());
    ResourceHandle, as_resources, from_resources, first_of, bail!(Unimplemented, "resource handles have no zero value");
    Variant, as_variants, from_variants, first_of, bail!(Unimplemented, "variants have no zero value of their own");
}

fn first_of<T: Clone>(like: &[T]) -> Result<T> {
    match like.first() {
        Some(item) => Ok(item.clone()),
        None => bail!(Internal, "elements of a handle type made out of none"),
    }
}

/// Evaluates the expression with `$T` bound to the [`Item`] type of a `DType`.
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

/// Views of at least this many bytes share the tensor's memory; smaller ones are copied, which costs less than the two counters of a
/// view and leaves memory that the next kernel may write in place.
const VIEW_MIN_BYTES: usize = 1024;

/// The `shape.num_elements()` elements from `start` in row-major order, shared where that pays.
///
/// # Errors
/// `InvalidArgument` where they leave the tensor.
pub fn contiguous<T: Item>(tensor: &Tensor, start: usize, shape: Shape) -> Result<Tensor> {
    let n = shape.num_elements();
    if tensor.dtype().size().is_some_and(|size| n * size >= VIEW_MIN_BYTES) {
        return tensor.view(start, shape);
    }
    let source = T::items(tensor)?;
    match start.checked_add(n).and_then(|end| source.get(start..end)) {
        Some(part) => T::build(tensor.dtype(), shape, part, |out| {
            out.clone_from_slice(part);
            Ok(())
        }),
        None => bail!(InvalidArgument, "a part of {n} elements from {start} leaves a tensor of {}", source.len()),
    }
}
