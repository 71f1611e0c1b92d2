//! A packed right-hand side of `f32`, in the precision in which it is multiplied.

use half::bf16;
use std::ops::Range;

use super::{MatrixRef, PackedB};

/// The precision in which factors of `f32` are multiplied. Sums are `f32` in both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Precision {
    /// The factors keep their precision.
    #[default]
    F32,
    /// Both factors are rounded to `bfloat16`, which has 8 significant bits.
    Bf16,
}

/// A matrix B `[k, n]` of `f32` that is packed once, as [`PackedB`] says, and rounded if its precision is less.
#[derive(Clone, Debug)]
pub enum PackedRhs {
    /// The elements as they are.
    F32(PackedB<f32>),
    /// The elements rounded to `bfloat16`. Products round the elements of A, too.
    Bf16(PackedB<bf16>),
}

impl PackedRhs {
    /// Packs row-major B: `[k, n]`, or `[n, k]` if `transposed`.
    ///
    /// # Panics
    /// If `b` has fewer than `k * n` elements.
    pub fn pack(precision: Precision, b: &[f32], k: usize, n: usize, transposed: bool) -> Self {
        Self::pack_strided(precision, b, if transposed { k } else { n }, k, n, transposed)
    }

    /// Packs the columns `columns` of a row-major matrix of `k` rows that are `ldb` apart.
    ///
    /// # Panics
    /// If `b` is too short.
    pub fn pack_columns(precision: Precision, b: &[f32], k: usize, ldb: usize, columns: Range<usize>) -> Self {
        match precision {
            Precision::F32 => Self::F32(PackedB::pack_columns(b, k, ldb, columns)),
            Precision::Bf16 => {
                let b = MatrixRef { data: b, ld: ldb, transposed: false };
                Self::Bf16(PackedB::pack_converted(b, k, columns, bf16::from_f32))
            }
        }
    }

    /// Packs B whose stored rows are `ldb` apart: rows of B, or columns if `transposed`.
    ///
    /// # Panics
    /// If `b` is too short.
    pub fn pack_strided(precision: Precision, b: &[f32], ldb: usize, k: usize, n: usize, transposed: bool) -> Self {
        match precision {
            Precision::F32 => Self::F32(PackedB::pack_strided(b, ldb, k, n, transposed)),
            Precision::Bf16 => {
                let b = MatrixRef { data: b, ld: ldb, transposed };
                Self::Bf16(PackedB::pack_converted(b, k, 0..n, bf16::from_f32))
            }
        }
    }

    /// Returns the number of rows of B.
    pub fn k(&self) -> usize {
        match self {
            Self::F32(b) => b.k(),
            Self::Bf16(b) => b.k(),
        }
    }

    /// Returns the number of columns of B.
    pub fn n(&self) -> usize {
        match self {
            Self::F32(b) => b.n(),
            Self::Bf16(b) => b.n(),
        }
    }

    /// Returns the size of the packed matrix in bytes.
    pub fn bytes(&self) -> usize {
        match self {
            Self::F32(b) => b.bytes(),
            Self::Bf16(b) => b.bytes(),
        }
    }

    /// Returns the precision of products with the matrix.
    pub fn precision(&self) -> Precision {
        match self {
            Self::F32(_) => Precision::F32,
            Self::Bf16(_) => Precision::Bf16,
        }
    }
}
