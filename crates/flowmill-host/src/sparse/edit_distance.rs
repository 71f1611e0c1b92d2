//! `EditDistance`: the Levenshtein distance between the rows of two sparse tensors.

use super::{Sparse, position};
use crate::from_fn::from_fn;
use flowmill_runtime::{Kernel, KernelContext, KernelInit, KernelRegistry};
use flowmill_tensor::{Bytes, DType, Result, Shape, Tensor, bail, bf16, f16, for_dtype};
use std::collections::BTreeMap;
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("EditDistance", make);
}

fn make(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let normalize = init.attrs.get_or("normalize", true)?;
    fn texts(tensor: &Tensor) -> Result<&[Bytes]> {
        tensor.as_strings()
    }
    if init.dtype("T")? == DType::String {
        return from_fn(move |ctx| distances(ctx, normalize, texts));
    }
    for_dtype!(init.dtype("T")?, [f16, bf16, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64, bool], T => {
        from_fn(move |ctx| distances(ctx, normalize, Tensor::as_slice::<T>))
    }, _ => init.unsupported())
}

/// Returns the values of each row, by the row's index.
fn rows<'a, V>(sparse: &Sparse<'_>, values: &'a [V]) -> BTreeMap<Vec<i64>, Vec<&'a V>> {
    let mut rows: BTreeMap<Vec<i64>, Vec<&V>> = BTreeMap::new();
    for (i, value) in values.iter().enumerate() {
        let place = sparse.row(i);
        rows.entry(place[..place.len() - 1].to_vec()).or_default().push(value);
    }
    rows
}

/// Outputs one distance per row of the larger shape, divided by the length of the truth if `normalize`. Inputs: hypothesis, truth.
fn distances<V: PartialEq>(ctx: &mut KernelContext<'_>, normalize: bool, values: fn(&Tensor) -> Result<&[V]>) -> Result<()> {
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
    let (h, t) = (rows(&hypothesis, values(hypothesis.values)?), rows(&truth, values(truth.values)?));
    let distances = out.as_mut_slice::<f32>()?;
    let none = Vec::new();
    for place in h.keys().chain(t.keys()) {
        let (a, b) = (h.get(place).unwrap_or(&none), t.get(place).unwrap_or(&none));
        let Some(distance) = position(place, &shape).and_then(|at| distances.get_mut(at)) else {
            bail!(InvalidArgument, "got out-of-bounds index {place:?} for shape {shape}");
        };
        *distance = levenshtein(a, b) as f32;
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

/// Returns the least number of insertions, deletions and replacements of elements that turn `a` into `b`.
fn levenshtein<V: PartialEq>(a: &[&V], b: &[&V]) -> usize {
    let mut previous: Vec<usize> = (0..=b.len()).collect();
    let mut current = vec![0; b.len() + 1];
    for (i, x) in a.iter().enumerate() {
        current[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            current[j + 1] = (previous[j] + usize::from(x != y)).min(previous[j + 1] + 1).min(current[j] + 1);
        }
        std::mem::swap(&mut previous, &mut current);
    }
    previous[b.len()]
}
