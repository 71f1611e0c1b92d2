//! The element types of kernels.

use flowmill_tensor::{DType, Result, error};

/// All types that GPUs compute with and copy, and the complex types, which they only copy. `int32` is the first.
pub(super) const MOVABLE: &[DType] = &[
    DType::I32,
    DType::F16,
    DType::BF16,
    DType::F32,
    DType::F64,
    DType::I8,
    DType::I16,
    DType::I64,
    DType::U8,
    DType::U16,
    DType::U32,
    DType::U64,
    DType::Bool,
    DType::C64,
    DType::C128,
];

/// The types of references and TensorArrays on GPUs: those of `int32` are the host's, as in TensorFlow.
pub(super) const VALUES: &[DType] = match MOVABLE.split_first() {
    Some((_, others)) => others,
    None => &[],
};

/// The types that GPUs compute with.
pub(super) const NUMBERS: &[DType] = &[
    DType::F16,
    DType::BF16,
    DType::F32,
    DType::F64,
    DType::I8,
    DType::I16,
    DType::I32,
    DType::I64,
    DType::U8,
    DType::U16,
    DType::U32,
    DType::U64,
];

/// The types of real numbers.
pub(super) const FLOATS: &[DType] = &[DType::F16, DType::BF16, DType::F32, DType::F64];

/// The types of real numbers of at most 32 bits.
pub(super) const NARROW_FLOATS: &[DType] = &[DType::F16, DType::BF16, DType::F32];

/// The types of indices.
pub(super) const INDICES: &[DType] = &[DType::I32, DType::I64];

/// The kernels' types of elements of 1, 2, 4, 8 and 16 bytes, of which only the size matters.
pub(super) const WORDS: [&str; 5] =
    ["unsigned char", "unsigned short", "unsigned int", "unsigned long long", "struct alignas(16) Wide { unsigned long long lo, hi; }"];

/// Returns the kernels' type of elements of a type of which only the size matters.
///
/// # Errors
/// Returns `Internal` for a type without elements of such a size.
pub(super) fn word_of(dtype: DType) -> Result<&'static str> {
    let size = dtype.size().filter(|size| size.is_power_of_two());
    let word = size.and_then(|size| WORDS.get(size.ilog2() as usize).copied());
    word.ok_or_else(|| error!(Internal, "GPU kernels have no elements of type {dtype}"))
}
