//! Crossed features: `SparseCross`, `SparseCrossV2`, `SparseCrossHashed`.

use super::index_matrix;
use crate::from_fn::from_fn;
use crate::string::fingerprint64;
use flowmill_runtime::{Kernel, KernelContext, KernelInit, KernelRegistry};
use flowmill_tensor::{Allocator, Bytes, DType, Result, Tensor, bail, check_memory, error};
use siphasher::sip::SipHasher24;
use std::hash::Hasher;
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("SparseCross", make_cross);
    registry.add("SparseCrossHashed", make_hashed);
    registry.add("SparseCrossV2", make_cross_v2);
}

/// The order of the node's inputs: `sparse` index matrices, as many value vectors and shapes, then `dense` matrices.
#[derive(Clone, Copy)]
struct Layout {
    sparse: usize,
    dense: usize,
}

impl Layout {
    fn new(init: &KernelInit<'_>) -> Result<Layout> {
        let n: i64 = init.attrs.get("N")?;
        Ok(Layout { sparse: usize::try_from(n).unwrap_or(0), dense: init.attrs.list::<DType>("dense_types")?.len() })
    }

    /// Returns the index of the first input after the features.
    fn rest(&self) -> usize {
        3 * self.sparse + self.dense
    }
}

/// A feature of a batch: a number or a text.
#[derive(Clone, Copy)]
pub(super) enum Feature<'a> {
    Number(i64),
    Text(&'a [u8]),
}

impl Feature<'_> {
    fn text(self) -> Vec<u8> {
        match self {
            Feature::Number(n) => n.to_string().into_bytes(),
            Feature::Text(text) => text.to_vec(),
        }
    }

    /// Returns a number itself, or a text's fingerprint.
    fn hash(self) -> u64 {
        match self {
            Feature::Number(n) => n as u64,
            Feature::Text(text) => fingerprint64(text),
        }
    }
}

/// One input's features.
pub(super) struct Column<'a> {
    numbers: &'a [i64],
    texts: &'a [Bytes],
    /// The positions at which the features of each batch entry start, followed by the end of the last one's.
    starts: Vec<usize>,
    sparse: bool,
}

impl<'a> Column<'a> {
    pub(super) fn new(values: &'a Tensor, starts: Vec<usize>, sparse: bool) -> Result<Column<'a>> {
        let (numbers, texts): (&[i64], &[Bytes]) =
            if values.dtype() == DType::String { (&[], values.as_strings()?) } else { (values.as_slice()?, &[]) };
        Ok(Column { numbers, texts, starts, sparse })
    }

    fn count(&self, batch: usize) -> usize {
        self.starts[batch + 1] - self.starts[batch]
    }

    fn feature(&self, batch: usize, n: usize) -> Feature<'a> {
        let at = self.starts[batch] + n;
        match self.texts.get(at) {
            Some(text) => Feature::Text(text),
            None => Feature::Number(self.numbers[at]),
        }
    }
}

/// Returns the columns of a call and the number of batch entries. With `strings`, numbers are an error.
fn columns<'a>(ctx: &'a KernelContext<'_>, layout: Layout, strings: bool) -> Result<(Vec<Column<'a>>, usize)> {
    let n = layout.sparse;
    let mut batches = None;
    let mut check_batches = |size: i64, at: String| match batches {
        Some(batches) if batches != size => bail!(InvalidArgument, "Expected batch size {batches} got {size} at {at}"),
        _ => {
            batches = Some(size);
            Ok(())
        }
    };
    for i in 0..n {
        let (indices, values, shape) = (ctx.input(i)?, ctx.input(n + i)?, ctx.input(2 * n + i)?);
        let &[rows, width] = indices.shape().dims() else {
            bail!(InvalidArgument, "Input indices should be a matrix but received shape {} at position {i}", indices.shape());
        };
        if width != 2 {
            bail!(InvalidArgument, "Expected D2 of index to be 2 got {width} at position {i}");
        }
        if strings && values.dtype() == DType::I64 {
            bail!(InvalidArgument, "Input values should be of internal type string but received int64");
        }
        if values.rank() != 1 {
            bail!(InvalidArgument, "Input values should be a vector but received shape {} at position {i}", values.shape());
        }
        if values.num_elements() != rows {
            bail!(InvalidArgument, "Expected size of values to be {rows} got {} at position {i}", values.num_elements());
        }
        if shape.rank() != 1 {
            bail!(InvalidArgument, "Input shapes should be a vector but received shape {} at position {i}", shape.shape());
        }
        let &[size, _] = shape.as_slice::<i64>()? else {
            bail!(InvalidArgument, "shape should imply a 2D tensor, but got {} at position {i}", shape.shape());
        };
        check_batches(size, format!("position {i}"))?;
    }
    for i in 0..layout.dense {
        let dense = ctx.input(3 * n + i)?;
        if strings && dense.dtype() == DType::I64 {
            bail!(InvalidArgument, "Dense inputs should be of internal type string but received int64");
        }
        if dense.rank() != 2 {
            bail!(InvalidArgument, "Dense inputs should be a matrix but received shape {} at position {i}", dense.shape());
        }
        check_batches(dense.shape()[0] as i64, format!("dense tensor {i}"))?;
    }
    let Ok(batches) = usize::try_from(batches.unwrap_or(0)) else { bail!(InvalidArgument, "a batch of {batches:?} is negative") };
    // The start positions of each column's features must fit into memory.
    check_memory::<usize>(batches.saturating_add(1).saturating_mul(n + layout.dense))?;
    let mut columns = Vec::new();
    for i in 0..n {
        let rows = ctx.input(i)?.as_slice::<i64>()?.as_chunks::<2>().0;
        let starts = starts_of(rows, batches);
        columns.push(Column::new(ctx.input(n + i)?, starts, true)?);
    }
    for i in 0..layout.dense {
        let dense = ctx.input(3 * n + i)?;
        let width = dense.shape()[1];
        columns.push(Column::new(dense, (0..=batches).map(|batch| batch * width).collect(), false)?);
    }
    Ok((columns, batches))
}

/// Returns the positions at which batch entries start in a sparse matrix with these indices, which are in order. Rows past `batches` are left out.
pub(super) fn starts_of(rows: &[[i64; 2]], batches: usize) -> Vec<usize> {
    let mut starts = Vec::with_capacity(batches + 1);
    let mut at = 0;
    for batch in 0..batches {
        starts.push(at);
        at += rows[at..].iter().take_while(|row| row[0] == batch as i64).count();
    }
    starts.push(at);
    starts
}

/// Calls `f` for every choice of one feature of each column, batch entry by batch entry; the last column's feature changes fastest. Returns the
/// number of choices per batch entry.
pub(super) fn each_cross<'a>(columns: &[Column<'a>], batches: usize, mut f: impl FnMut(&[(Feature<'a>, bool)])) -> Result<Vec<usize>> {
    let mut counts = Vec::with_capacity(batches);
    let mut total = 0usize;
    for batch in 0..batches {
        let count = columns.iter().try_fold(1usize, |n, column| n.checked_mul(column.count(batch)));
        let count = count.ok_or_else(|| error!(InvalidArgument, "too many crosses in batch {batch}"))?;
        total = total.saturating_add(count);
        counts.push(count);
    }
    check_memory::<[i64; 2]>(total)?;
    let mut features = vec![(Feature::Number(0), false); columns.len()];
    for (batch, &count) in counts.iter().enumerate() {
        for i in 0..count {
            let mut rest = i;
            for (feature, column) in features.iter_mut().zip(columns).rev() {
                let n = column.count(batch);
                *feature = (column.feature(batch, rest % n), column.sparse);
                rest /= n;
            }
            f(&features);
        }
    }
    Ok(counts)
}

/// Calls `f` like [`each_cross`]. Returns the indices and the shape of the crosses.
fn cross<'a>(alloc: &Allocator, columns: &[Column<'a>], batches: usize, f: impl FnMut(&[(Feature<'a>, bool)])) -> Result<(Tensor, Tensor)> {
    let counts = each_cross(columns, batches, f)?;
    let rows = counts.iter().enumerate().flat_map(|(batch, &count)| (0..count).map(move |i| [batch as i64, i as i64]));
    let mut indices = Vec::with_capacity(2 * counts.iter().sum::<usize>());
    rows.for_each(|row| indices.extend(row));
    let widest = counts.iter().copied().max().unwrap_or(0);
    Ok((index_matrix(alloc, &indices, 2, indices.len() / 2)?, alloc.vector(&[batches as i64, widest as i64])?))
}

/// Returns the texts of a cross's features, joined.
pub(super) fn joined(features: &[(Feature<'_>, bool)], separator: &[u8]) -> Bytes {
    let parts: Vec<Vec<u8>> = features.iter().map(|feature| feature.0.text()).collect();
    parts.join(separator).into()
}

/// Returns the features' hashes combined with a key, modulo `buckets` unless that is zero.
pub(super) fn hashed(features: &[(Feature<'_>, bool)], key: i64, buckets: i64) -> i64 {
    bucket(features.iter().fold(key as u64, |hash, &(feature, _)| combine(hash, feature.hash())), buckets)
}

fn bucket(hash: u64, buckets: i64) -> i64 {
    (hash % if buckets > 0 { buckets } else { i64::MAX } as u64) as i64
}

/// Outputs crosses as texts, joined by `separator`.
fn cross_texts(ctx: &mut KernelContext<'_>, layout: Layout, strings: bool, separator: &[u8]) -> Result<()> {
    let (columns, batches) = columns(ctx, layout, strings)?;
    let mut texts: Vec<Bytes> = Vec::new();
    let (indices, shape) = cross(ctx.allocator(), &columns, batches, |features| texts.push(joined(features, separator)))?;
    let texts = ctx.allocator().from_strings([texts.len()], texts)?;
    set_outputs(ctx, indices, texts, shape);
    Ok(())
}

/// Outputs crosses as buckets of combined hashes.
fn cross_hashes(ctx: &mut KernelContext<'_>, layout: Layout, strings: bool, hash: impl Fn(&[(Feature<'_>, bool)]) -> i64) -> Result<()> {
    let (columns, batches) = columns(ctx, layout, strings)?;
    let mut hashes = Vec::new();
    let (indices, shape) = cross(ctx.allocator(), &columns, batches, |features| hashes.push(hash(features)))?;
    let hashes = ctx.allocator().vector(&hashes)?;
    set_outputs(ctx, indices, hashes, shape);
    Ok(())
}

fn set_outputs(ctx: &mut KernelContext<'_>, indices: Tensor, values: Tensor, shape: Tensor) {
    ctx.set_output(0, indices);
    ctx.set_output(1, values);
    ctx.set_output(2, shape);
}

/// Combines two fingerprints with FarmHash's `FingerprintCat64`.
fn combine(a: u64, b: u64) -> u64 {
    const MULTIPLIER: u64 = 0xc6a4_a793_5bd1_e995;
    let mix = |x: u64| x ^ (x >> 47);
    let result = (a ^ MULTIPLIER) ^ mix(b.wrapping_mul(MULTIPLIER)).wrapping_mul(MULTIPLIER);
    mix(mix(result.wrapping_mul(MULTIPLIER)).wrapping_mul(MULTIPLIER))
}

fn make_cross(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let layout = Layout::new(init)?;
    let strings = init.dtype("internal_type")? == DType::String;
    if !init.attrs.get::<bool>("hashed_output")? {
        return from_fn(move |ctx| cross_texts(ctx, layout, strings, b"_X_"));
    }
    let (buckets, key): (i64, i64) = (init.attrs.get("num_buckets")?, init.attrs.get("hash_key")?);
    from_fn(move |ctx| cross_hashes(ctx, layout, strings, |features| hashed(features, key, buckets)))
}

fn make_cross_v2(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let layout = Layout::new(init)?;
    from_fn(move |ctx| {
        let separator = ctx.input(layout.rest())?;
        let [separator] = separator.as_strings()? else {
            bail!(InvalidArgument, "Input separator should be a scalar. Received: {}", separator.shape());
        };
        let separator = separator.clone();
        cross_texts(ctx, layout, false, &separator)
    })
}

fn make_hashed(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let layout = Layout::new(init)?;
    from_fn(move |ctx| {
        let (buckets, strong, salt) = (ctx.input(layout.rest())?, ctx.input(layout.rest() + 1)?, ctx.input(layout.rest() + 2)?);
        let (buckets, strong) = (buckets.to_i64()?, strong.to_scalar::<bool>()?);
        let &[first, second] = salt.as_slice::<i64>()? else {
            bail!(InvalidArgument, "Input \"salt\" must have length 2 but has length {}", salt.num_elements());
        };
        let strongly = |bytes: &[u8]| {
            let mut hasher = SipHasher24::new_with_keys(first as u64, second as u64);
            hasher.write(bytes);
            hasher.finish()
        };
        // TensorFlow hashes the low four bytes of a number. It uses a number of a dense input itself if the hash is not strong.
        let number = |(feature, sparse): (Feature<'_>, bool)| match feature {
            Feature::Number(n) if strong => strongly(&n.to_le_bytes()[..4]),
            Feature::Number(n) if sparse => fingerprint64(&n.to_le_bytes()[..4]),
            Feature::Number(n) => n as u64,
            Feature::Text(text) if strong => strongly(text),
            Feature::Text(text) => fingerprint64(text),
        };
        cross_hashes(ctx, layout, false, |features| {
            bucket(features.iter().map(|&feature| number(feature)).reduce(combine).unwrap_or(0), buckets)
        })
    })
}
