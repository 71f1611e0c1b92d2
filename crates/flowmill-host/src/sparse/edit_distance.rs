//! `EditDistance`: the Levenshtein distance between the rows of two sparse tensors.

use super::{Sparse, position};
use crate::from_fn::from_fn;
use flowmill_runtime::{Kernel, KernelContext, KernelInit, KernelRegistry};
use flowmill_tensor::{DType, Result, Shape, Tensor, bail, bf16, f16, for_dtype};
use std::collections::BTreeMap;
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("EditDistance", make);
}

fn make(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let normalize = init.attrs.get_or("normalize", true)?;
    let distance: Distance = if init.dtype("T")? == DType::String {
        |x, y, a, b| Ok(levenshtein(x.as_strings()?, y.as_strings()?, a, b))
    } else {
        for_dtype!(
            init.dtype("T")?,
            [f16, bf16, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64, bool],
            T => |x, y, a, b| Ok(levenshtein(x.as_slice::<T>()?, y.as_slice::<T>()?, a, b)),
            _ => return init.unsupported()
        )
    };
    from_fn(move |ctx| distances(ctx, normalize, distance))
}

/// A function that returns the distance between the elements of `x` at positions `a` and the elements of `y` at positions `b`.
type Distance = fn(x: &Tensor, y: &Tensor, a: &[usize], b: &[usize]) -> Result<usize>;

/// Returns the positions of the values of each row, by the row's index.
fn rows(sparse: &Sparse<'_>) -> BTreeMap<Vec<i64>, Vec<usize>> {
    let mut rows: BTreeMap<Vec<i64>, Vec<usize>> = BTreeMap::new();
    for i in 0..sparse.len() {
        let place = sparse.row(i);
        rows.entry(place[..place.len() - 1].to_vec()).or_default().push(i);
    }
    rows
}

/// Outputs one distance per row of the larger shape, divided by the length of the truth if `normalize`. Inputs: hypothesis, truth.
fn distances(ctx: &mut KernelContext<'_>, normalize: bool, distance_of: Distance) -> Result<()> {
    let (hypothesis, truth) = (Sparse::input(ctx, 0)?, Sparse::input(ctx, 3)?);
    if hypothesis.rank() != truth.rank() {
        bail!(
            InvalidArgument,
            "Expected hypothesis and truth to have matching ranks, but found hypothesis_shape is size {} and truth_shape is size {}",
            hypothesis.rank(),
            truth.rank()
        );
    }
    if truth.rank() == 0 {
        bail!(InvalidArgument, "EditDistance needs at least one dimension");
    }
    let sizes = hypothesis.dims.iter().zip(truth.dims).map(|(&a, &b)| a.max(b));
    let shape = Shape::from_i64(&sizes.take(truth.rank() - 1).collect::<Vec<_>>())?;
    let mut out = ctx.allocator().zeros(DType::F32, shape.clone())?;
    let (h, t) = (rows(&hypothesis), rows(&truth));
    let distances = out.as_mut_slice::<f32>()?;
    let none = Vec::new();
    for place in h.keys().chain(t.keys()) {
        let (a, b) = (h.get(place).unwrap_or(&none), t.get(place).unwrap_or(&none));
        let Some(distance) = position(place, &shape).and_then(|at| distances.get_mut(at)) else {
            bail!(InvalidArgument, "got out-of-bounds index {place:?} for shape {shape}");
        };
        *distance = distance_of(hypothesis.values, truth.values, a, b)? as f32;
        if normalize {
            *distance = match (a.len(), b.len()) {
                (0, 0) => 0.0,
                (_, 0) => f32::INFINITY,
                (_, n) => *distance / n as f32,
            };
        }
    }
    ctx.set_output(0, out);
    Ok(())
}

/// Returns the least number of insertions, deletions and replacements of elements that turn those of `x` at positions `a` into those of `y` at positions `b`.
fn levenshtein<V: PartialEq>(x: &[V], y: &[V], a: &[usize], b: &[usize]) -> usize {
    let mut previous: Vec<usize> = (0..=b.len()).collect();
    let mut current = vec![0; b.len() + 1];
    for (i, &from) in a.iter().enumerate() {
        current[0] = i + 1;
        for (j, &to) in b.iter().enumerate() {
            current[j + 1] = (previous[j] + usize::from(x[from] != y[to])).min(previous[j + 1] + 1).min(current[j] + 1);
        }
        std::mem::swap(&mut previous, &mut current);
    }
    previous[b.len()]
}
