//! `LoadAndRemapMatrix`: a matrix of a checkpoint with its rows and columns in other places.

use super::text;
use flowmill_kernels::from_fn::blocking_from_fn;
use flowmill_runtime::{Kernel, KernelContext, KernelInit, KernelRegistry};
use flowmill_savedmodel::{CheckpointReader, TensorSlice};
use flowmill_tensor::{DType, Result, bail};
use std::collections::HashMap;
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("LoadAndRemapMatrix", make_load);
}

/// The attributes.
#[derive(Clone, Copy)]
struct Sizes {
    rows: usize,
    columns: usize,
    /// The number of rows of the checkpoint's matrix that are read at once; all if it is not positive.
    max_rows_in_memory: i64,
}

fn make_load(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let size = |name: &str| -> Result<usize> { Ok(usize::try_from(init.attrs.get::<i64>(name)?).unwrap_or(0)) };
    let max_rows_in_memory = init.attrs.get_or("max_rows_in_memory", -1i64)?;
    let sizes = Sizes { rows: size("num_rows")?, columns: size("num_cols")?, max_rows_in_memory };
    blocking_from_fn(move |ctx| load(ctx, sizes))
}

/// The places of the checkpoint's rows or columns in the result.
struct Remapping {
    new_of_old: HashMap<i64, usize>,
    /// For each row or column of the result, whether it comes from the checkpoint.
    is_present: Vec<bool>,
}

impl Remapping {
    /// Reads a vector of the old place of each new one, negative if it has none.
    fn new(old: &[i64]) -> Result<Remapping> {
        let mut new_of_old = HashMap::new();
        for (new, &old) in old.iter().enumerate().filter(|(_, old)| **old >= 0) {
            if let Some(other) = new_of_old.insert(old, new) {
                bail!(Unimplemented, "Old ID {old} is mapped to both new ID {other} and {new}, which is not supported.");
            }
        }
        Ok(Remapping { new_of_old, is_present: old.iter().map(|&old| old >= 0).collect() })
    }
}

fn load(ctx: &mut KernelContext<'_>, sizes: Sizes) -> Result<()> {
    let (rows, columns) = (ctx.input(2)?, ctx.input(3)?);
    if rows.rank() != 1 {
        bail!(InvalidArgument, "The `row_remapping` tensor must be 1-D, got a tensor of shape {}", rows.shape());
    }
    if rows.num_elements() != sizes.rows {
        bail!(InvalidArgument, "Size of row_remapping is {} instead of being equal to num_rows={}", rows.num_elements(), sizes.rows);
    }
    if columns.rank() != 1 {
        bail!(InvalidArgument, "The `col_remapping` tensor must be 1-D, got a tensor of shape {}", columns.shape());
    }
    let rows = Remapping::new(rows.as_slice()?)?;
    let columns = match columns.as_slice::<i64>()? {
        [] => None,
        old if old.len() == sizes.columns => Some(Remapping::new(old)?),
        old => {
            bail!(
                InvalidArgument,
                "Provided col_remapping, but its size is {} instead of being equal to num_cols={}",
                old.len(),
                sizes.columns
            )
        }
    };
    let path = ctx.input(0)?;
    if path.num_elements() != 1 {
        bail!(InvalidArgument, "The `ckpt_path` tensor must have exactly one element, got tensor of shape {}", path.shape());
    }
    let (path, name) = (text(ctx, 0, "ckpt_path")?, text(ctx, 1, "old_tensor_name")?);
    let reader = CheckpointReader::open(path)?;
    let width = check_matrix(&reader, &name, columns.is_none().then_some(sizes.columns))?;
    let mut out = ctx.allocator().zeros(DType::F32, [sizes.rows, sizes.columns])?;
    let cells = out.as_mut_slice::<f32>()?;
    copy(&reader, &name, width, &rows, columns.as_ref(), sizes, cells)?;
    fill(cells, &rows, columns.as_ref(), sizes.columns, ctx.input(4)?.as_slice()?)?;
    ctx.set_output(0, out);
    Ok(())
}

/// Checks that a tensor of the checkpoint is a matrix, with `expected` columns if that is known; returns how many it has.
fn check_matrix(reader: &CheckpointReader, name: &str, expected: Option<usize>) -> Result<usize> {
    let (dtype, shape) = reader.dtype_and_shape(name)?;
    if dtype != DType::F32 {
        bail!(InvalidArgument, "Tensor {name} has invalid type {} instead of expected type float", dtype.cpp_name());
    }
    let &[_, width] = shape.dims() else {
        bail!(InvalidArgument, "Tensor {name} has shape {shape} of invalid rank {} instead of expected shape of rank 2.", shape.rank());
    };
    if let Some(expected) = expected.filter(|&expected| expected != width) {
        bail!(
            InvalidArgument,
            "Tensor {name} has shape {shape}, where the size of its 2nd dimension is {width} instead of being equal to num_cols={expected}"
        );
    }
    Ok(width)
}

/// Copies the rows that are present, of which those between the first and the last one needed are read.
fn copy(
    reader: &CheckpointReader,
    name: &str,
    width: usize,
    rows: &Remapping,
    columns: Option<&Remapping>,
    sizes: Sizes,
    cells: &mut [f32],
) -> Result<()> {
    let (Some(&first), Some(&last)) = (rows.new_of_old.keys().min(), rows.new_of_old.keys().max()) else { return Ok(()) };
    let mut start = first;
    while start <= last {
        let left = last.saturating_sub(start).saturating_add(1);
        let count = if sizes.max_rows_in_memory > 0 { left.min(sizes.max_rows_in_memory) } else { left };
        let part = reader.read_slice(name, &TensorSlice::new([Some((start, count)), None])?)?;
        for (old, values) in (start..).zip(part.as_slice::<f32>()?.chunks_exact(width.max(1))) {
            let Some(to) = rows.new_of_old.get(&old).and_then(|&row| cells.chunks_exact_mut(sizes.columns.max(1)).nth(row)) else {
                continue;
            };
            match columns {
                None => to.copy_from_slice(values),
                Some(columns) => {
                    for (old, &value) in (0..).zip(values) {
                        if let Some(cell) = columns.new_of_old.get(&old).and_then(|&column| to.get_mut(column)) {
                            *cell = value;
                        }
                    }
                }
            }
        }
        start = start.saturating_add(count);
    }
    Ok(())
}

/// Fills the cells that do not come from the checkpoint, row by row.
fn fill(cells: &mut [f32], rows: &Remapping, columns: Option<&Remapping>, width: usize, values: &[f32]) -> Result<()> {
    let mut used = 0;
    for (cells, &has_row) in cells.chunks_exact_mut(width.max(1)).zip(&rows.is_present) {
        for (j, cell) in cells.iter_mut().enumerate() {
            if has_row && columns.is_none_or(|columns| columns.is_present[j]) {
                continue;
            }
            let Some(&value) = values.get(used) else {
                bail!(InvalidArgument, "initializing_values contained {} elements, but more missing values remain.", values.len());
            };
            (*cell, used) = (value, used + 1);
        }
    }
    if used != values.len() {
        bail!(
            InvalidArgument,
            "initializing_values contained {} elements, but only {used} elements were used to fill in missing values.",
            values.len()
        );
    }
    Ok(())
}
