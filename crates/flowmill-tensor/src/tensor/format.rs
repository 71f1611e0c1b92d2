//! Comparing and showing tensors.

use super::Tensor;
use crate::heap::Storage;
use crate::{DType, Element};
use std::fmt;
use std::sync::Arc;

impl PartialEq for Tensor {
    /// Returns true for equal types, shapes and elements; floats compare by bits, variants never.
    fn eq(&self, other: &Tensor) -> bool {
        if self.dtype() != other.dtype() || self.shape() != other.shape() {
            return false;
        }
        match (self.heap().map(|h| &h.storage), other.heap().map(|h| &h.storage)) {
            (Some(Storage::Strings(a)), Some(Storage::Strings(b))) => **a == **b,
            (Some(Storage::Resources(a)), Some(Storage::Resources(b))) => a == b,
            (Some(Storage::Variants(_)), _) => false,
            (Some(Storage::Device(a)), Some(Storage::Device(b))) => Arc::ptr_eq(a, b),
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
