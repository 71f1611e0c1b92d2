//! Sizes of `Bincount` and `DenseBincount`, which count the occurrences of integers.

use flowmill_runtime::KernelContext;
use flowmill_tensor::{Result, Shape, bail};

/// The sizes of a call, whose inputs are the values, the number of bins and the weights.
#[derive(Clone, Debug)]
pub struct Bincount {
    /// The bins of a row.
    pub bins: usize,
    /// The values of a row.
    pub width: usize,
    /// The number of weights: as many as there are values, or none if all are 1.
    pub num_weights: usize,
    /// The shape of the result.
    pub shape: Shape,
}

impl Bincount {
    /// Returns the sizes of an op that counts all values together, or with `counts_rows` those of each row of a matrix.
    ///
    /// # Errors
    /// Returns `InvalidArgument` for a number of bins that is negative or no scalar, for rows of more than one dimension, and for another number of weights.
    pub fn new(ctx: &KernelContext<'_>, counts_rows: bool) -> Result<Bincount> {
        let (input, size, weights) = (ctx.input(0)?, ctx.input(1)?, ctx.input(2)?);
        if size.num_elements() != 1 {
            bail!(InvalidArgument, "Shape must be rank 0 but is rank {}", size.rank());
        }
        let size = size.to_i64()?;
        let Ok(bins) = usize::try_from(size) else { bail!(InvalidArgument, "size ({size}) must be non-negative") };
        if counts_rows && input.rank() > 2 {
            bail!(InvalidArgument, "Shape must be at most rank 2 but is rank {}", input.rank());
        }
        let (count, num_weights) = (input.num_elements(), weights.num_elements());
        if num_weights > 0 && num_weights != count {
            bail!(
                InvalidArgument,
                "`weights` must be the same shape as `arr` or a length-0 `Tensor`, in which case it acts as all weights equal to 1. Received {num_weights} values for {count}"
            );
        }
        let rows = (counts_rows && input.rank() == 2).then(|| input.shape()[0]);
        let shape = rows.map_or(Shape::new(&[bins]), |rows| Shape::new(&[rows, bins]));
        shape.checked_num_elements()?;
        let width = rows.map_or(count, |rows| count.checked_div(rows).unwrap_or(0));
        Ok(Bincount { bins, width, num_weights, shape })
    }
}
