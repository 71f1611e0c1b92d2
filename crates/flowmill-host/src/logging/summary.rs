//! Summaries: values with tags, serialised for event files. Summaries of images are in the module of image files.

use crate::from_fn::from_fn;
use flowmill_proto::summary::{Value, value};
use flowmill_proto::{HistogramProto, Message, Summary, SummaryMetadata};
use flowmill_runtime::{Kernel, KernelContext, KernelInit, KernelRegistry};
use flowmill_tensor::{Bytes, Element, Result, Tensor, bail, bf16, f16, for_dtype};
use num_traits::ToPrimitive;
use rustc_hash::FxHashSet;
use std::sync::{Arc, LazyLock};

/// Registers the summaries.
pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("HistogramSummary", make_histogram);
    registry.add("MergeSummary", make_merge);
    registry.add("ScalarSummary", make_scalar);
    registry.add("TensorSummary", make_first_tensor);
    registry.add("TensorSummaryV2", make_tensor);
}

/// Returns a tag as text; bytes that are not valid UTF-8 are replaced.
fn text(tag: &Bytes) -> String {
    String::from_utf8_lossy(tag).into_owned()
}

fn named(tag: &Bytes, value: value::Value) -> Value {
    Value { tag: text(tag), value: Some(value), ..Value::default() }
}

fn give(ctx: &mut KernelContext<'_>, value: Vec<Value>) -> Result<()> {
    let summary = Summary { value, ..Summary::default() };
    let out = ctx.allocator().from_strings([], vec![summary.encode_to_vec().into()])?;
    ctx.set_output(0, out);
    Ok(())
}

/// Returns the elements of a tensor of real numbers as `f64`.
fn numbers(tensor: &Tensor) -> Result<Vec<f64>> {
    fn all<T: Element + ToPrimitive>(tensor: &Tensor) -> Result<Vec<f64>> {
        Ok(tensor.as_slice::<T>()?.iter().map(|v| v.to_f64().unwrap_or(f64::NAN)).collect())
    }
    for_dtype!(tensor.dtype(), [f32, f64, f16, bf16, i8, u8, i16, u16, i32, u32, i64, u64], T => all::<T>(tensor),
        _ => bail!(InvalidArgument, "Summaries have no values of type {}", tensor.dtype()))
}

fn make_scalar(_: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    from_fn(|ctx| {
        let (tags, values) = (ctx.input(0)?, ctx.input(1)?);
        if tags.shape() != values.shape() {
            let first = tags.as_strings()?.first().map(|t| format!(" (tag '{}')", text(t))).unwrap_or_default();
            bail!(InvalidArgument, "tags and values are not the same shape: {} != {}{first}", tags.shape(), values.shape());
        }
        let values = numbers(values)?;
        let all = tags.as_strings()?.iter().zip(values).map(|(tag, v)| named(tag, value::Value::SimpleValue(v as f32))).collect();
        give(ctx, all)
    })
}

/// Returns the tag in input 0, which is a scalar.
fn tag(ctx: &KernelContext<'_>) -> Result<Bytes> {
    match (ctx.input(0)?.rank(), ctx.input(0)?.as_strings()?) {
        (0, [tag]) => Ok(tag.clone()),
        _ => bail!(InvalidArgument, "tag must be scalar, got shape {}", ctx.input(0)?.shape()),
    }
}

fn make_histogram(_: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    from_fn(|ctx| {
        let tag = tag(ctx)?;
        let values = numbers(ctx.input(1)?)?;
        for value in &values {
            if !value.is_finite() {
                let what = if value.is_nan() { "Nan" } else { "Infinity" };
                bail!(InvalidArgument, "{what} in summary histogram for: {}", text(&tag));
            }
        }
        let histogram = histogram(&values);
        give(ctx, vec![named(&tag, value::Value::Histo(histogram))])
    })
}

/// The upper limits of buckets: powers of 1.1 from 10⁻¹² to 10²⁰, their negatives, and the greatest number.
static LIMITS: LazyLock<Vec<f64>> = LazyLock::new(|| {
    let mut positive = Vec::new();
    let mut limit = 1.0e-12;
    while limit < 1.0e20 {
        positive.push(limit);
        limit *= 1.1;
    }
    positive.push(f64::MAX);
    let negative = positive.iter().rev().map(|l| -l);
    negative.chain([0.0]).chain(positive.iter().copied()).collect()
});

/// Returns the number of values in each bucket. Adjacent buckets without values are merged.
fn histogram(values: &[f64]) -> HistogramProto {
    let limits = &*LIMITS;
    let mut counts = vec![0.0f64; limits.len()];
    let mut found = HistogramProto { min: f64::MAX, max: -f64::MAX, ..HistogramProto::default() };
    for &value in values {
        counts[limits.partition_point(|&l| l <= value).min(limits.len() - 1)] += 1.0;
        found.min = found.min.min(value);
        found.max = found.max.max(value);
        found.num += 1.0;
        found.sum += value;
        found.sum_squares += value * value;
    }
    let mut previous_is_empty = false;
    for (&limit, &count) in limits.iter().zip(&counts) {
        if count <= 0.0 && previous_is_empty {
            if let Some(last) = found.bucket_limit.last_mut() {
                *last = limit;
            }
        } else {
            found.bucket_limit.push(limit);
            found.bucket.push(count);
        }
        previous_is_empty = count <= 0.0;
    }
    found
}

fn make_tensor(_: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    from_fn(|ctx| {
        let tag = tag(ctx)?;
        let tensor = ctx.input(1)?.to_proto()?;
        let [serialized] = ctx.input(2)?.as_strings()? else {
            bail!(InvalidArgument, "serialized_summary_metadata must be scalar, got shape {}", ctx.input(2)?.shape());
        };
        let Ok(metadata) = SummaryMetadata::decode(serialized.clone()) else {
            bail!(InvalidArgument, "serialized_summary_metadata is no SummaryMetadata");
        };
        give(ctx, vec![Value { metadata: Some(metadata), ..named(&tag, value::Value::Tensor(tensor)) }])
    })
}

fn make_merge(_: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    from_fn(|ctx| {
        let (mut all, mut tags) = (Vec::new(), FxHashSet::default());
        for input in ctx.inputs_from(0) {
            for serialized in input.as_strings()? {
                let Ok(summary) = Summary::decode(serialized.clone()) else {
                    bail!(InvalidArgument, "Could not parse one of the summary inputs");
                };
                for value in summary.value {
                    if !value.tag.is_empty() && !tags.insert(value.tag.clone()) {
                        bail!(InvalidArgument, "Duplicate tag {} found in summary inputs", value.tag);
                    }
                    all.push(value);
                }
            }
        }
        give(ctx, all)
    })
}

/// Makes the kernel of the first version, `TensorSummary`, which uses the node's name as the tag.
fn make_first_tensor(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let node_name = init.name.to_owned();
    from_fn(move |ctx| {
        let value = value::Value::Tensor(ctx.input(0)?.to_proto()?);
        give(ctx, vec![Value { node_name: node_name.clone(), value: Some(value), ..Value::default() }])
    })
}
