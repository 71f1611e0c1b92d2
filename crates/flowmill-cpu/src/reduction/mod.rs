//! Reductions, searches, scans, segments and counts.

mod arg;
mod count;
mod reduce;
mod reducers;
mod scan;
mod segment;
mod top_k;

use crate::number::{Number, Ordered};
use flowmill_numeric::reduce as numeric;
use flowmill_runtime::KernelRegistry;
use flowmill_tensor::{Allocator, Complex, Result, Shape, Tensor, for_dtype};
pub(crate) use reduce::reduce;
use reduce::{narrow_reduction, reduction};
use reducers::{All, Any, EuclideanNorm, Prod};
pub(crate) use reducers::{Max, Mean, Min, Sum};

/// Returns the product of the sizes outside of `axis`, and of those inside.
fn outer_inner(shape: &Shape, axis: usize) -> (usize, usize) {
    (shape[..axis].iter().product(), shape[axis + 1..].iter().product())
}

/// Returns the sum over `axes`, which must be distinct axes of `x`.
pub(crate) fn sum_over<T: Number>(alloc: &Allocator, x: &Tensor, axes: &[i64]) -> Result<Tensor> {
    reduce::<T, Sum>(alloc, x, &alloc.vector(axes)?, false)
}

/// Returns the sum of the squares of all elements, in the accumulator's type.
pub(crate) fn sum_of_squares<T: reducers::Root>(x: &[T]) -> T::Acc {
    numeric::reduce_slice::<T, EuclideanNorm>(x)
}

/// Returns the sum of one row, on this thread.
pub(crate) fn row_sum<T: Number>(row: &[T]) -> T::Acc {
    numeric::fold_row::<T, Sum>(row)
}

/// Returns the greatest element of one row, on this thread, or NaN if the row has one.
pub(crate) fn row_max<T: Ordered>(row: &[T]) -> T {
    numeric::fold_row::<T, Max>(row)
}

/// Registers the kernels of this family.
pub(crate) fn register(registry: &mut KernelRegistry) {
    macro_rules! numbers {
        ($($name:literal $reducer:ty;)*) => {
            $(registry.add($name, |init| for_dtype!(init.dtype("T")?,
                [f32, f64, i8, i16, i32, i64, u8, u16, u32, u64, Complex<f32>, Complex<f64>],
                T => reduction::<T, $reducer>(init), _ => narrow_reduction::<$reducer>(init)));)*
        };
    }
    macro_rules! reals {
        ($($name:literal $reducer:ty;)*) => {
            $(registry.add($name, |init| for_dtype!(init.dtype("T")?,
                [f32, f64, i8, i16, i32, i64, u8, u16, u32, u64],
                T => reduction::<T, $reducer>(init), _ => narrow_reduction::<$reducer>(init)));)*
        };
    }
    numbers! {
        "EuclideanNorm" EuclideanNorm;
        "Mean" Mean;
        "Prod" Prod;
        "Sum" Sum;
    }
    reals! {
        "Max" Max;
        "Min" Min;
    }
    registry.add("All", reduction::<bool, All>);
    registry.add("Any", reduction::<bool, Any>);
    registry.add("ArgMax", arg::make_arg_max);
    registry.add("ArgMin", arg::make_arg_min);
    registry.add("Bincount", count::make_bincount);
    registry.add("Bucketize", count::make_bucketize);
    registry.add("Cumprod", scan::make_cumprod);
    registry.add("Cumsum", scan::make_cumsum);
    registry.add("CumulativeLogsumexp", scan::make_cumulative_logsumexp);
    registry.add("DenseBincount", count::make_dense_bincount);
    registry.add("HistogramFixedWidth", count::make_histogram_fixed_width);
    registry.add("ApproxTopK", top_k::make_approx_top_k);
    registry.add("InTopK", top_k::make_in_top_k);
    registry.add("InTopKV2", top_k::make_in_top_k);
    registry.add("NthElement", top_k::make_nth_element);
    registry.add("SegmentMax", segment::make_max);
    registry.add("SegmentMean", segment::make_mean);
    registry.add("SegmentMin", segment::make_min);
    registry.add("SegmentProd", segment::make_prod);
    registry.add("SegmentSum", segment::make_sum);
    registry.add("TopK", top_k::make_top_k);
    registry.add("TopKV2", top_k::make_top_k);
    for op in ["UnsortedSegmentMax", "SegmentMaxV2"] {
        registry.add(op, segment::make_unsorted_max);
    }
    for op in ["UnsortedSegmentMin", "SegmentMinV2"] {
        registry.add(op, segment::make_unsorted_min);
    }
    for op in ["UnsortedSegmentProd", "SegmentProdV2"] {
        registry.add(op, segment::make_unsorted_prod);
    }
    for op in ["UnsortedSegmentSum", "SegmentSumV2"] {
        registry.add(op, segment::make_unsorted_sum);
    }
}
