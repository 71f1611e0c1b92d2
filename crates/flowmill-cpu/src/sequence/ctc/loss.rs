//! `CTCLoss` and `CTCLossV2`: the negative logarithm of the probability of labels, and its gradient, by the forward-backward algorithm.

use crate::from_fn::from_fn;
use crate::number::Ordered;
use crate::parallel;
use flowmill_runtime::{KernelContext, KernelInit, KernelRegistry};
use flowmill_tensor::{Result, bail, for_dtype};
use num_traits::Float;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("CTCLoss", |init| {
        let options = Options::new(init, Blank::Last)?;
        for_dtype!(init.dtype("T")?, [f32, f64], T => from_fn(move |ctx| loss::<T>(ctx, options)), _ => init.unsupported())
    });
    registry.add("CTCLossV2", |init| {
        let options = Options::new(init, Blank::First)?;
        from_fn(move |ctx| loss::<f32>(ctx, options))
    });
}

/// The class that represents the blank.
#[derive(Clone, Copy, PartialEq)]
enum Blank {
    First,
    Last,
}

#[derive(Clone, Copy)]
struct Options {
    blank: Blank,
    /// If true, equal labels in a row are merged beforehand.
    collapses: bool,
    /// If true, equal classes in a row without a blank in between count as one label.
    merges: bool,
    /// If true, the loss of items with more labels than times is zero, instead of an error.
    ignores_longer: bool,
}

impl Options {
    fn new(init: &KernelInit<'_>, blank: Blank) -> Result<Options> {
        Ok(Options {
            blank,
            collapses: init.attrs.get_or("preprocess_collapse_repeated", false)?,
            merges: init.attrs.get_or("ctc_merge_repeated", true)?,
            ignores_longer: init.attrs.get_or("ignore_longer_outputs_than_inputs", false)?,
        })
    }
}

/// Computes the op. Inputs: `[time, batch, classes]`, the indices and values of the sparse labels `[batch, time]`, and the batch's lengths.
fn loss<T: Ordered + Float>(ctx: &mut KernelContext<'_>, options: Options) -> Result<()> {
    let inputs = ctx.input(0)?;
    let (lengths, labels) = (lengths(ctx)?, labels(ctx)?);
    let &[times, batch, classes] = inputs.shape().dims() else { bail!(InvalidArgument, "inputs is not a 3-Tensor") };
    if let Some(b) = lengths.iter().position(|&len| len > times as i64) {
        bail!(InvalidArgument, "sequence_length({b}) <= {times}");
    }
    if let Some(b) = lengths.iter().position(|&len| len < 0) {
        bail!(InvalidArgument, "seq_len({b}) < 0");
    }
    if classes == 0 {
        bail!(InvalidArgument, "num_classes cannot be 0");
    }
    let mut items = Vec::with_capacity(batch);
    for (b, (labels, &length)) in labels.iter().zip(&lengths).enumerate() {
        let path = path(labels, b, classes, length, options)?;
        let is_skipped = length == 0 || labels.len() as i64 > length;
        items.push(if is_skipped { None } else { Some((path, length as usize)) });
    }
    let work = |item: &Option<(Vec<usize>, usize)>| item.as_ref().map_or(0, |(path, length)| length.saturating_mul(path.len()));
    // Each item needs three tables of its path over time.
    let _reserved = ctx.allocator().reserve::<T>(items.iter().map(work).fold(0usize, usize::saturating_add).saturating_mul(3))?;
    let x = inputs.as_slice::<T>()?;
    let mut gradient = ctx.allocator().zeros(T::DTYPE, inputs.shape().clone())?;
    let mut found: Vec<T> = vec![<T as num_traits::Zero>::zero(); batch];
    let item = |b: usize| {
        let (path, length) = items[b].as_ref()?;
        Some(item(|t| &x[(t * batch + b) * classes..][..classes], *length, path, options))
    };
    // A logarithm and an exponential take about twenty nanoseconds each.
    let nanoseconds = items
        .iter()
        .map(work)
        .fold(0usize, usize::saturating_add)
        .saturating_mul(150)
        .saturating_add(inputs.num_elements().saturating_mul(10));
    let dx = gradient.as_mut_slice::<T>()?;
    for (b, result) in parallel::map(batch, nanoseconds / batch.max(1), item).into_iter().enumerate() {
        let Some((loss, rows)) = result else { continue };
        found[b] = loss;
        for (t, row) in rows.chunks_exact(classes).enumerate() {
            dx[(t * batch + b) * classes..][..classes].copy_from_slice(row);
        }
    }
    let losses = ctx.allocator().vector(&found)?;
    ctx.set_output(0, losses);
    ctx.set_output(1, gradient);
    Ok(())
}

fn lengths(ctx: &KernelContext<'_>) -> Result<Vec<i64>> {
    let (inputs, indices, values, lengths) = (ctx.input(0)?, ctx.input(1)?, ctx.input(2)?, ctx.input(3)?);
    let &[_, batch, classes] = inputs.shape().dims() else { bail!(InvalidArgument, "inputs is not a 3-Tensor") };
    if lengths.rank() != 1 {
        bail!(InvalidArgument, "sequence_length is not a vector");
    }
    let &[rows, columns] = indices.shape().dims() else { bail!(InvalidArgument, "labels_indices is not a matrix") };
    if columns < 2 {
        bail!(InvalidArgument, "labels_indices second dimension must be >= 1. Received {columns}");
    }
    if columns > 2 {
        bail!(InvalidArgument, "labels_indices must have two columns, but has {columns}");
    }
    if values.rank() != 1 {
        bail!(InvalidArgument, "labels_values is not a vector");
    }
    if classes >= i32::MAX as usize {
        bail!(InvalidArgument, "num_classes cannot exceed max int");
    }
    if lengths.num_elements() != batch {
        let given = lengths.num_elements();
        bail!(InvalidArgument, "len(sequence_length) != batch_size.  len(sequence_length):  {given} batch_size: {batch}");
    }
    if rows != values.num_elements() {
        bail!(
            InvalidArgument,
            "labels_indices and labels_values must contain the same number of rows, but saw shapes: {} vs. {}",
            indices.shape(),
            values.shape()
        );
    }
    if batch == 0 {
        bail!(InvalidArgument, "batch_size must not be 0");
    }
    lengths.to_i64_vec()
}

/// Returns the labels of each item, in order. The shapes were checked by [`lengths`].
fn labels(ctx: &KernelContext<'_>) -> Result<Vec<Vec<i32>>> {
    let batch = ctx.input(3)?.num_elements();
    let (indices, values) = (ctx.input(1)?.as_slice::<i64>()?, ctx.input(2)?.as_slice::<i32>()?);
    let rows: Vec<&[i64]> = indices.chunks_exact(2).collect();
    let longest = rows.iter().map(|row| row[1].saturating_add(1)).fold(0, i64::max);
    let mut labels = vec![Vec::new(); batch];
    for (i, row) in rows.iter().enumerate() {
        let described = || format!("label SparseTensor is not valid: indices[{i}] = [{},{}]", row[0], row[1]);
        let b = match usize::try_from(row[0]) {
            Ok(b) if b < batch && row[1] >= 0 => b,
            _ => bail!(InvalidArgument, "{} is out of bounds: need 0 <= index < [{batch},{longest}]", described()),
        };
        match i.checked_sub(1).map(|before| rows[before].cmp(row)) {
            Some(std::cmp::Ordering::Equal) => bail!(InvalidArgument, "{} is repeated", described()),
            Some(std::cmp::Ordering::Greater) => bail!(
                InvalidArgument,
                "{} is out of order. Many sparse ops require sorted indices.\n    Use `tf.sparse.reorder` to create a correctly ordered copy.\n\n",
                described()
            ),
            _ => labels[b].push(values[i]),
        }
    }
    Ok(labels)
}

fn joined(labels: &[i32]) -> String {
    labels.iter().map(i32::to_string).collect::<Vec<_>>().join(",")
}

/// Returns the classes that a path through time visits: a blank, a label, a blank, … a blank.
fn path(labels: &[i32], b: usize, classes: usize, length: i64, options: Options) -> Result<Vec<usize>> {
    if labels.is_empty() {
        bail!(InvalidArgument, "Labels length is zero in batch {b}");
    }
    let mut kept: Vec<i32> = Vec::with_capacity(labels.len());
    let mut is_over = false;
    for (i, &label) in labels.iter().enumerate() {
        if options.collapses && i > 0 && label == labels[i - 1] {
            continue;
        }
        // After the labels there may be blanks as padding.
        if options.blank == Blank::Last && i64::from(label) >= classes as i64 - 1 || options.blank == Blank::First && label == 0 {
            is_over = true;
        } else if is_over {
            bail!(
                InvalidArgument,
                "Saw a non-null label (index >= num_classes - 1) following a null label, batch: {b} num_classes: {classes} labels: {} labels seen so far: {}",
                joined(labels),
                joined(&kept)
            );
        } else {
            kept.push(label);
        }
    }
    if kept.iter().any(|&label| label < 0) {
        bail!(InvalidArgument, "All labels must be nonnegative integers, batch: {b} labels: {}", joined(&kept));
    }
    if kept.iter().any(|&label| label as usize >= classes) {
        bail!(InvalidArgument, "No label may be greater than num_classes. num_classes: {classes}, batch: {b} labels: {}", joined(&kept));
    }
    if !options.ignores_longer && labels.len() as i64 > length {
        bail!(
            InvalidArgument,
            "Not enough time for target transition sequence (required: {}, available: {length}){b}You can turn this error into a warning by using the flag ignore_longer_outputs_than_inputs",
            labels.len()
        );
    }
    let blank = if options.blank == Blank::First { 0 } else { classes - 1 };
    let mut path = vec![blank; 2 * kept.len() + 1];
    for (i, &label) in kept.iter().enumerate() {
        path[2 * i + 1] = label as usize;
    }
    Ok(path)
}

/// Returns `ln(eˣ + eʸ)`.
pub(super) fn log_sum<T: Float>(x: T, y: T) -> T {
    let (more, less) = if x > y { (x, y) } else { (y, x) };
    if less == T::neg_infinity() { more } else { more + (less - more).exp().ln_1p() }
}

/// Returns true if a path may continue from position `u` to `u + 2`, skipping the blank in between.
fn may_skip(path: &[usize], u: usize, merges: bool) -> bool {
    let blank = path[0];
    path[u] != blank && path[u + 2] != blank && !(merges && path[u] == path[u + 2])
}

/// Returns the loss of one item, and the gradients of its inputs, `[length, classes]`.
fn item<'a, T: Ordered + Float>(input: impl Fn(usize) -> &'a [T], length: usize, path: &[usize], options: Options) -> (T, Vec<T>) {
    let (nothing, places, classes) = (T::neg_infinity(), path.len(), input(0).len());
    let mut y = Vec::with_capacity(length * classes);
    for t in 0..length {
        let row = input(t);
        let greatest = row.iter().fold(nothing, |m, &v| if v > m { v } else { m });
        let start = y.len();
        y.extend(row.iter().map(|&v| (v - greatest).exp()));
        let sum = y[start..].iter().fold(<T as num_traits::Zero>::zero(), |sum, &v| sum + v);
        y[start..].iter_mut().for_each(|v| *v = *v / sum);
    }
    // The logarithm of the probability of each position of the path at each time.
    let logs: Vec<T> = (0..length * places).map(|i| y[i / places * classes + path[i % places]].ln()).collect();
    // The positions that can be reached from the beginning, and from which the end can be reached.
    let reach = |t: usize| places.saturating_sub(2 * (length - t))..places.min(2 * (t + 1));
    let stays = |u: usize| options.merges || path[u] == path[0];

    let mut alpha = vec![nothing; length * places];
    alpha[..places.min(2)].copy_from_slice(&logs[..places.min(2)]);
    for t in 1..length {
        let (before, now) = alpha.split_at_mut(t * places);
        let before = &before[(t - 1) * places..];
        for u in reach(t) {
            let mut sum = if stays(u) { before[u] } else { nothing };
            if u > 0 {
                sum = log_sum(sum, before[u - 1]);
            }
            if u > 1 && may_skip(path, u - 2, options.merges) {
                sum = log_sum(sum, before[u - 2]);
            }
            now[u] = logs[t * places + u] + sum;
        }
    }
    let mut beta = vec![nothing; length * places];
    for u in places.saturating_sub(2)..places {
        beta[(length - 1) * places + u] = <T as num_traits::Zero>::zero();
    }
    for t in (0..length - 1).rev() {
        let (now, after) = beta.split_at_mut((t + 1) * places);
        let now = &mut now[t * places..];
        let next = |u: usize| after[u] + logs[(t + 1) * places + u];
        for u in reach(t) {
            let mut sum = if stays(u) { next(u) } else { nothing };
            if u + 1 < places {
                sum = log_sum(sum, next(u + 1));
            }
            if u + 2 < places && may_skip(path, u, options.merges) {
                sum = log_sum(sum, next(u + 2));
            }
            now[u] = sum;
        }
    }
    let both = |t: usize, u: usize| alpha[t * places + u] + beta[t * places + u];
    let log_probability = (0..places).fold(nothing, |sum, u| log_sum(sum, both(0, u)));
    // If no path is possible, the gradient is that of the softmax.
    if log_probability != nothing {
        let mut sums = vec![nothing; classes];
        for (t, y) in y.chunks_exact_mut(classes).enumerate() {
            sums.fill(nothing);
            for (u, &class) in path.iter().enumerate() {
                sums[class] = log_sum(sums[class], both(t, u));
            }
            for (y, &sum) in y.iter_mut().zip(&sums) {
                *y = *y - (sum - log_probability).exp();
            }
        }
    }
    (-log_probability, y)
}
