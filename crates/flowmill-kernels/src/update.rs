//! Arithmetic updates of a variable in place.

use crate::blocks::overwrite_blocks;
use crate::number::{Number, is_number};
use flowmill_runtime::KernelInit;
use flowmill_tensor::{Allocator, Complex, DType, Element, Result, Tensor, bail, bf16, error, f16, for_dtype};

/// The operation with which an update changes the current value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Update {
    /// Replaces the value.
    Assign,
    /// Adds to the value.
    Add,
    /// Subtracts from the value.
    Sub,
    /// Multiplies the value.
    Mul,
    /// Divides the value.
    Div,
    /// Replaces the value if the update is less.
    Min,
    /// Replaces the value if the update is greater.
    Max,
}

impl Update {
    /// Returns true if TensorFlow has a kernel for this update of values of this type.
    pub fn supports(self, dtype: DType) -> bool {
        match self {
            Update::Assign => true,
            Update::Min | Update::Max => !dtype.is_complex() && is_number(dtype),
            _ => is_number(dtype),
        }
    }

    /// Returns the type that attribute `name` of the node has, which is `T` for most ops, if this update supports that type.
    ///
    /// # Errors
    /// Returns `NotFound` if there is no kernel.
    pub fn checked_dtype(self, init: &KernelInit<'_>, name: &str) -> Result<DType> {
        let dtype = init.dtype(name)?;
        if self.supports(dtype) { Ok(dtype) } else { init.unsupported() }
    }
}

/// Updates the runs of `block` elements of `target` that begin at `starts` with the elements of `source`, one run after the other;
/// a `source` of one element is used for every element of every run. Runs may repeat: the updates then accumulate in order.
///
/// # Errors
/// Returns `Internal` if a run is not inside the target; `InvalidArgument` if an integer is divided by zero.
pub fn update_blocks(update: Update, target: &mut Tensor, starts: &[usize], block: usize, source: &Tensor) -> Result<()> {
    if update == Update::Assign {
        return overwrite_blocks(target, starts, block, source);
    }
    let (dtype, alloc) = (target.dtype(), target.allocator());
    if matches!(update, Update::Min | Update::Max) {
        return for_dtype!(
            dtype,
            [f32, f64, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64],
            T => for_each_run(&alloc, target.as_mut_slice::<T>()?, starts, block, source.as_slice()?, |run, source| pick(update, run, source)),
            _ => bail!(InvalidArgument, "{update:?} is not supported for values of type {dtype}")
        );
    }
    for_dtype!(
        dtype,
        [f32, f64, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64, Complex<f32>, Complex<f64>],
        T => for_each_run(&alloc, target.as_mut_slice::<T>()?, starts, block, source.as_slice()?, |run, source| combine(update, run, source)),
        _ => bail!(InvalidArgument, "{update:?} is not supported for values of type {dtype}")
    )
}

/// Calls `change(run, elements of source)` for every run; a source of one element is used for every element of every run.
fn for_each_run<T: Element>(
    alloc: &Allocator,
    target: &mut [T],
    starts: &[usize],
    block: usize,
    source: &[T],
    mut change: impl FnMut(&mut [T], &[T]) -> Result<()>,
) -> Result<()> {
    let leaves = || error!(Internal, "an update is not inside its variable");
    if starts.is_empty() {
        return Ok(());
    }
    let _reserved = alloc.reserve::<T>(block)?;
    let repeated = if source.len() == 1 && block != 1 { vec![source[0]; block] } else { Vec::new() };
    for (i, &start) in starts.iter().enumerate() {
        let run = start.checked_add(block).and_then(|end| target.get_mut(start..end)).ok_or_else(leaves)?;
        let elements = match source {
            [_] if block == 1 => source,
            [_] => &repeated,
            _ => source.get(i * block..(i + 1) * block).ok_or_else(leaves)?,
        };
        change(run, elements)?;
    }
    Ok(())
}

fn combine<T: Number>(update: Update, target: &mut [T], source: &[T]) -> Result<()> {
    if update == Update::Div && T::DTYPE.is_integer() && source.contains(&T::ZERO) {
        bail!(InvalidArgument, "Integer division by zero");
    }
    let pairs = target.iter_mut().zip(source.iter().copied());
    match update {
        Update::Add => pairs.for_each(|(a, b)| *a = a.plus(b)),
        Update::Sub => pairs.for_each(|(a, b)| *a = a.minus(b)),
        Update::Mul => pairs.for_each(|(a, b)| *a = a.times(b)),
        Update::Div => pairs.for_each(|(a, b)| *a = a.over(b)),
        Update::Assign | Update::Min | Update::Max => bail!(Internal, "{update:?} is not arithmetic"),
    }
    Ok(())
}

/// Stores the lesser or the greater of each pair of elements. The current value is kept if either is NaN, as in TensorFlow.
fn pick<T: Element + PartialOrd>(update: Update, target: &mut [T], source: &[T]) -> Result<()> {
    for (a, &b) in target.iter_mut().zip(source) {
        if if update == Update::Min { b < *a } else { b > *a } {
            *a = b;
        }
    }
    Ok(())
}
