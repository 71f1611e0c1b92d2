use crate::{Complex, DType, bf16, f16};

/// A Rust type that is the element of a dense tensor.
///
/// # Safety
/// The type has the size of `DTYPE` and no padding, is `Copy`, and an all-zero value is valid. All bit patterns are valid too,
/// but for `bool`, whose bytes are checked wherever they come from outside.
pub unsafe trait Element: Copy + Send + Sync + PartialEq + Default + std::fmt::Debug + 'static {
    /// The element type that corresponds to this Rust type.
    const DTYPE: DType;
}

macro_rules! element {
    ($($t:ty => $d:ident),* $(,)?) => {
        // SAFETY: each pair has the size that `DType::size` gives (checked by a test below), no padding, and zero is valid.
        $(unsafe impl Element for $t { const DTYPE: DType = DType::$d; })*
    };
}

element! {
    f32 => F32, f64 => F64, f16 => F16, bf16 => BF16,
    i8 => I8, i16 => I16, i32 => I32, i64 => I64,
    u8 => U8, u16 => U16, u32 => U32, u64 => U64,
    bool => Bool, Complex<f32> => C64, Complex<f64> => C128,
}

/// Calls a generic function or macro body with `$T` bound to the Rust type of a `DType`.
///
/// ```
/// use flowmill_tensor::{DType, Element, for_dtype};
/// fn bytes(t: DType) -> Option<usize> {
///     for_dtype!(t, [f32, i64, bool], T => Some(size_of::<T>()), _ => None)
/// }
/// assert_eq!(bytes(DType::I64), Some(8));
/// assert_eq!(bytes(DType::F64), None);
/// ```
#[macro_export]
macro_rules! for_dtype {
    ($dtype:expr, [$($t:ty),* $(,)?], $T:ident => $body:expr, _ => $other:expr $(,)?) => {{
        let dtype: $crate::DType = $dtype;
        $(if dtype == <$t as $crate::Element>::DTYPE { type $T = $t; $body } else)* { $other }
    }};
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rust_types_have_the_size_of_their_dtype() {
        fn check<T: Element>() {
            assert_eq!(Some(size_of::<T>()), T::DTYPE.size(), "{}", T::DTYPE);
        }
        check::<f32>();
        check::<f64>();
        check::<f16>();
        check::<bf16>();
        check::<i8>();
        check::<i16>();
        check::<i32>();
        check::<i64>();
        check::<u8>();
        check::<u16>();
        check::<u32>();
        check::<u64>();
        check::<bool>();
        check::<Complex<f32>>();
        check::<Complex<f64>>();
    }
}
