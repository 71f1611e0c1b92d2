//! The numbers of rows for which the product of all parts is worth its memory.

use flowmill_tensor::DType;

/// The most rows of a part, or columns if it is a right operand, whose product is computed before the loop. Without the pass, LSTMs of 64 to 512 inputs
/// and 64 to 256 units take 1.14 to 1.54 times as long at one row, 1.03 to 1.13 times at two, 0.97 to 1.02 times at three and 0.96 to 1.01 times at four.
pub(super) const MAX_ROWS: i64 = 3;
/// Like [`MAX_ROWS`], if the matrix has at least [`LARGE_BYTES`]. With AVX-512, two LSTMs of 512 inputs and 256 units behind two of 64 inputs take 1.69 times as
/// long without the pass at four rows, 1.30 times at eight, 1.17 times at 16, and the same time at 32.
pub(super) const MAX_ROWS_OF_LARGE: i64 = 16;
/// The size of a matrix that leaves no room for the other weights of a loop in a core's L2 cache, so that each iteration reads all of them from memory.
const LARGE_BYTES: i64 = 1 << 20;

/// The number of rows of a part, as far as it is known.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Rows {
    Few,
    /// The product of all parts is worth its memory if there are at most so many.
    Unknown {
        most: i64,
    },
}

impl Rows {
    /// Returns what the sizes of a part say besides the one that is summed over, or `None` for too many rows. The matrix has `weights` elements of type `dtype`.
    pub(super) fn of(sizes: impl IntoIterator<Item = i64>, weights: i64, dtype: DType) -> Option<Rows> {
        let bytes = weights.saturating_mul(dtype.size().map_or(0, |size| size as i64));
        let most = if bytes < LARGE_BYTES { MAX_ROWS } else { MAX_ROWS_OF_LARGE };
        let rows = sizes.into_iter().try_fold(1i64, |rows, size| (size >= 0).then(|| rows.saturating_mul(size)));
        match rows {
            None => Some(Rows::Unknown { most }),
            Some(rows) => (rows <= most).then_some(Rows::Few),
        }
    }
}
