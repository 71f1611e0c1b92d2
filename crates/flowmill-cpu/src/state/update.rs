//! Arithmetic that changes a variable in place.

use crate::blocks::overwrite_blocks;
use flowmill_runtime::KernelInit;
use flowmill_tensor::{Complex, DType, Element, Result, Tensor, bail, bf16, error, f16, for_dtype};

/// How an update combines with the value that is there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Update {
    Assign,
    Add,
    Sub,
    Mul,
    Div,
    Min,
    Max,
}

impl Update {
    /// Whether TensorFlow has a kernel that updates values of this type so.
    pub(crate) fn supports(self, dtype: DType) -> bool {
        match self {
            Update::Assign => true,
            Update::Min | Update::Max => dtype.size().is_some() && !dtype.is_complex() && is_number(dtype),
            _ => is_number(dtype),
        }
    }

    /// Gives the type attribute `T`-like `name` where this update supports it.
    ///
    /// # Errors
    /// `NotFound` where there is no kernel.
    pub(crate) fn checked_dtype(self, init: &KernelInit<'_>, name: &str) -> Result<DType> {
        let dtype = init.dtype(name)?;
        if self.supports(dtype) { Ok(dtype) } else { init.unsupported() }
    }
}

fn is_number(dtype: DType) -> bool {
    for_dtype!(dtype, [f32, f64, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64, Complex<f32>, Complex<f64>], _T => true, _ => false)
}

/// Updates the runs of `block` elements of `target` that begin at `starts` with the elements of `source`, one run after the other;
/// a `source` of one element goes into every element of every run. Runs may repeat: the updates then accumulate in order.
///
/// # Errors
/// `Internal` where a run leaves the target; `InvalidArgument` where an integer is divided by zero.
pub(crate) fn update_blocks(update: Update, target: &mut Tensor, starts: &[usize], block: usize, source: &Tensor) -> Result<()> {
    if update == Update::Assign {
        return overwrite_blocks(target, starts, block, source);
    }
    let dtype = target.dtype();
    for_dtype!(
        dtype,
        [f32, f64, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64, Complex<f32>, Complex<f64>],
        T => update_typed::<T>(update, target.as_mut_slice()?, starts, block, source.as_slice()?),
        _ => bail!(InvalidArgument, "{update:?} is not supported for values of type {dtype}")
    )
}

fn update_typed<T: Number>(update: Update, target: &mut [T], starts: &[usize], block: usize, source: &[T]) -> Result<()> {
    let leaves = || error!(Internal, "an update leaves its variable");
    for (i, &start) in starts.iter().enumerate() {
        let run = start.checked_add(block).and_then(|end| target.get_mut(start..end)).ok_or_else(leaves)?;
        match source {
            [one] => combine(update, run, std::iter::repeat(*one))?,
            _ => combine(update, run, source.get(i * block..(i + 1) * block).ok_or_else(leaves)?.iter().copied())?,
        }
    }
    Ok(())
}

fn combine<T: Number>(update: Update, target: &mut [T], source: impl Iterator<Item = T>) -> Result<()> {
    let pairs = target.iter_mut().zip(source);
    match update {
        Update::Assign => pairs.for_each(|(a, b)| *a = b),
        Update::Add => pairs.for_each(|(a, b)| *a = a.plus(b)),
        Update::Sub => pairs.for_each(|(a, b)| *a = a.minus(b)),
        Update::Mul => pairs.for_each(|(a, b)| *a = a.times(b)),
        Update::Div => {
            for (a, b) in pairs {
                match a.over(b) {
                    Some(quotient) => *a = quotient,
                    None => bail!(InvalidArgument, "Integer division by zero"),
                }
            }
        }
        Update::Min => pairs.for_each(|(a, b)| *a = a.lesser(b)),
        Update::Max => pairs.for_each(|(a, b)| *a = a.greater(b)),
    }
    Ok(())
}

/// The arithmetic of variables: integers wrap around and divide towards zero.
trait Number: Element {
    fn plus(self, other: Self) -> Self;
    fn minus(self, other: Self) -> Self;
    fn times(self, other: Self) -> Self;
    /// `None` where an integer is divided by zero.
    fn over(self, other: Self) -> Option<Self>;
    fn lesser(self, other: Self) -> Self;
    fn greater(self, other: Self) -> Self;
}

macro_rules! integers {
    ($($t:ty),*) => {
        $(impl Number for $t {
            fn plus(self, other: Self) -> Self { self.wrapping_add(other) }
            fn minus(self, other: Self) -> Self { self.wrapping_sub(other) }
            fn times(self, other: Self) -> Self { self.wrapping_mul(other) }
            fn over(self, other: Self) -> Option<Self> { (other != 0).then(|| self.wrapping_div(other)) }
            fn lesser(self, other: Self) -> Self { self.min(other) }
            fn greater(self, other: Self) -> Self { self.max(other) }
        })*
    };
}

macro_rules! floats {
    ($($t:ty),*) => {
        $(impl Number for $t {
            fn plus(self, other: Self) -> Self { self + other }
            fn minus(self, other: Self) -> Self { self - other }
            fn times(self, other: Self) -> Self { self * other }
            fn over(self, other: Self) -> Option<Self> { Some(self / other) }
            fn lesser(self, other: Self) -> Self { if other < self { other } else { self } }
            fn greater(self, other: Self) -> Self { if other > self { other } else { self } }
        })*
    };
}

macro_rules! complexes {
    ($($t:ty),*) => {
        $(impl Number for $t {
            fn plus(self, other: Self) -> Self { self + other }
            fn minus(self, other: Self) -> Self { self - other }
            fn times(self, other: Self) -> Self { self * other }
            fn over(self, other: Self) -> Option<Self> { Some(self / other) }
            // Complex numbers have no order; `Update::supports` keeps these from being asked for.
            fn lesser(self, _: Self) -> Self { self }
            fn greater(self, _: Self) -> Self { self }
        })*
    };
}

integers!(i8, i16, i32, i64, u8, u16, u32, u64);
floats!(f32, f64, f16, bf16);
complexes!(Complex<f32>, Complex<f64>);
