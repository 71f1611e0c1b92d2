//! The element types of kernels.

use flowmill_tensor::DType;

/// All types that GPUs compute with and copy, and the complex types, which they only copy.
pub(super) const MOVABLE: &[DType] = &[
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
    DType::Bool,
    DType::C64,
    DType::C128,
];

/// The types of reference variables on GPUs.
pub(super) const VALUES: &[DType] = &[
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

/// The types of indices.
pub(super) const INDICES: &[DType] = &[DType::I32, DType::I64];

/// The kernels' types of elements of 1, 2, 4, 8 and 16 bytes, of which only the size matters.
pub(super) const WORDS: [&str; 5] =
    ["unsigned char", "unsigned short", "unsigned int", "unsigned long long", "struct alignas(16) Wide { unsigned long long lo, hi; }"];
