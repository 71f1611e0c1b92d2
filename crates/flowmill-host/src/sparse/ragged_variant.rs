//! Ragged tensors in variants: `RaggedTensorToVariant`, its gradient, and `RaggedTensorFromVariant`.

use super::{splits, splits_tensor};
use crate::blocks::{concat_blocks, rows};
use crate::from_fn::from_fn;
use flowmill_runtime::{Kernel, KernelContext, KernelInit, KernelRegistry};
use flowmill_tensor::{Allocator, DType, Result, Shape, Tensor, TensorArithmetic, Variant, VariantValue, bail, check_memory};
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("RaggedTensorFromVariant", make_from_variant);
    registry.add("RaggedTensorToVariant", make_to_variant);
    registry.add("RaggedTensorToVariantGradient", make_gradient);
}

/// A ragged tensor: row splits, outermost first, and values.
#[derive(Clone)]
struct Ragged {
    splits: Vec<Tensor>,
    values: Tensor,
}

impl VariantValue for Ragged {
    fn type_name(&self) -> &'static str {
        "RaggedTensorVariant"
    }

    fn tensors(&self) -> Box<dyn Iterator<Item = &Tensor> + '_> {
        // The splits stay in the host's memory, where sums compare them.
        Box::new(std::iter::once(&self.values))
    }

    fn with_tensors(&self, mut tensors: Vec<Tensor>) -> Result<Variant> {
        let Some(values) = tensors.pop() else { bail!(Internal, "a ragged tensor without values") };
        Ok(Variant::new(Ragged { splits: self.splits.clone(), values }))
    }

    fn zeros_like(&self, arithmetic: &dyn TensorArithmetic) -> Result<Variant> {
        let values = arithmetic.zeros_like(&self.values)?;
        Ok(Variant::new(Ragged { splits: self.splits.clone(), values }))
    }

    fn add(&self, other: &Variant, arithmetic: &dyn TensorArithmetic) -> Result<Variant> {
        let Some(other) = other.get::<Ragged>() else { bail!(InvalidArgument, "only ragged tensors can be added to a ragged tensor") };
        if self.splits != other.splits {
            bail!(InvalidArgument, "ragged tensors of different row splits cannot be added");
        }
        let mut values = self.values.clone();
        arithmetic.add_to(&mut values, &other.values)?;
        Ok(Variant::new(Ragged { splits: self.splits.clone(), values }))
    }
}

/// Returns a ragged tensor in one variant; `splits` are the row splits, outermost first.
pub(crate) fn as_variant(splits: Vec<Tensor>, values: Tensor) -> Tensor {
    Tensor::variant(Variant::new(Ragged { splits, values }))
}

fn make_to_variant(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let batched: bool = init.attrs.get("batched_input")?;
    from_fn(move |ctx| to_variant(ctx, batched))
}

/// Outputs one variant for the whole tensor, or one for each of its rows if `batched`.
fn to_variant(ctx: &mut KernelContext<'_>, batched: bool) -> Result<()> {
    let Some(ragged_rank) = ctx.num_inputs().checked_sub(1) else { bail!(InvalidArgument, "values are missing") };
    let values = ctx.input(ragged_rank)?;
    if !batched {
        // Splits in the caller's memory would change with it: only the values are made own later.
        let own = |splits: &Tensor| Ok(splits.owned()?.unwrap_or_else(|| splits.clone()));
        let splits = (0..ragged_rank).map(|i| ctx.input(i).and_then(own)).collect::<Result<Vec<_>>>()?;
        let variant = as_variant(splits, values.clone());
        ctx.set_output(0, variant);
        return Ok(());
    }
    let Some(&num_values) = values.shape().first() else {
        bail!(InvalidArgument, "Requires inputs[{ragged_rank}] to have rank at least 1 if batched_input=True");
    };
    let mut nested = Vec::with_capacity(ragged_rank);
    for i in 0..ragged_rank {
        let limit = if i + 1 == ragged_rank { num_values } else { ctx.input(i + 1)?.num_elements().saturating_sub(1) };
        nested.push(splits(ctx.input(i)?, Some(limit))?);
    }
    let count = nested.first().map_or(num_values, |rows| rows.len() - 1);
    check_memory::<Variant>(count)?;
    let mut variants = Vec::with_capacity(count);
    for row in 0..count {
        let (mut start, mut end) = (row, row + 1);
        let mut parts = Vec::new();
        for (depth, rows) in nested.iter().enumerate() {
            if depth > 0 {
                let part: Vec<usize> = rows[start..=end].iter().map(|split| split - rows[start]).collect();
                parts.push(splits_tensor(ctx.allocator(), ctx.input(depth)?.dtype(), &part)?);
            }
            (start, end) = (rows[start], rows[end]);
        }
        let values = rows(values, start, end - start)?;
        // Without splits, a row is a value, which has one dimension less.
        let values = if ragged_rank == 0 { values.clone().reshaped(Shape::new(&values.shape()[1..]))? } else { values };
        variants.push(Variant::new(Ragged { splits: parts, values }));
    }
    let out = Tensor::from_variants([count], variants)?;
    ctx.set_output(0, out);
    Ok(())
}

fn make_from_variant(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let (input_rank, output_rank): (i64, i64) = (init.attrs.get("input_ragged_rank")?, init.attrs.get("output_ragged_rank")?);
    let (values, splits) = (init.dtype("Tvalues")?, init.attrs.get_or("Tsplits", DType::I64)?);
    from_fn(move |ctx| from_variant(ctx, input_rank, output_rank, values, splits))
}

/// Outputs the ragged tensor in a scalar, or the stack of those in a batch, whose dimensions become splits.
fn from_variant(ctx: &mut KernelContext<'_>, input_rank: i64, output_rank: i64, values: DType, splits_type: DType) -> Result<()> {
    let encoded = ctx.input(0)?;
    let dims = encoded.rank() as i64;
    let input_rank = if input_rank == -1 { output_rank.saturating_sub(dims) } else { input_rank };
    if input_rank < 0 {
        bail!(
            InvalidArgument,
            "Inferred input_ragged_rank (output_ragged_rank - encoded_variant.dims()) must be >= 0, found output_ragged_rank: {output_rank}, encoded_variant.dims(): {dims}, inferred input_ragged_rank: {input_rank}"
        );
    }
    if dims.checked_add(input_rank) != Some(output_rank) {
        bail!(
            InvalidArgument,
            "output_ragged_rank must be equal to input_ragged_rank + encoded_ragged.dims(); output_ragged_rank: {output_rank}, input_ragged_rank: {input_rank}, encoded_variant.dims(): {dims}."
        );
    }
    let components = components(encoded, input_rank as usize, values, splits_type)?;
    let ragged = match (encoded.rank(), &components[..]) {
        (0, [one]) => (*one).clone(),
        _ => stack(ctx.allocator(), &components, encoded.shape(), input_rank as usize, values, splits_type)?,
    };
    let count = ragged.splits.len();
    ragged.splits.into_iter().enumerate().for_each(|(i, splits)| ctx.set_output(i, splits));
    ctx.set_output(count, ragged.values);
    Ok(())
}

/// Returns the ragged tensors in variants, each of the expected rank and types.
fn components(encoded: &Tensor, rank: usize, values: DType, splits_type: DType) -> Result<Vec<&Ragged>> {
    let mut out = Vec::new();
    for (i, variant) in encoded.as_variants()?.iter().enumerate() {
        let Some(ragged) = variant.get::<Ragged>() else {
            bail!(InvalidArgument, "Input Variant element at index {i} doesn't hold a RaggedTensorVariant: {variant:?}");
        };
        if ragged.splits.len() != rank {
            bail!(
                InvalidArgument,
                "Encoded input RaggedTensorVariant has ragged_rank={}.  Expected ragged_rank={rank}.",
                ragged.splits.len()
            );
        }
        if ragged.values.dtype() != values {
            bail!(InvalidArgument, "Expected values Tensor dtype: {values}, found: {}", ragged.values.dtype());
        }
        if ragged.values.rank() < 1 && encoded.rank() > 0 && rank > 0 {
            bail!(InvalidArgument, "Ragged values must have rank >= 1; encoded scalar element at index {i} has values of rank 0");
        }
        if let Some(splits) = ragged.splits.iter().find(|splits| splits.dtype() != splits_type) {
            bail!(InvalidArgument, "Expected row_splits Tensor dtype: {splits_type}, found: {}", splits.dtype());
        }
        if ragged.splits.iter().any(|splits| splits.rank() != 1 || splits.num_elements() == 0) {
            bail!(InvalidArgument, "Ragged splits must have rank 1; encoded scalar element at index {i} has others");
        }
        out.push(ragged);
    }
    Ok(out)
}

fn stack(alloc: &Allocator, parts: &[&Ragged], dims: &Shape, input_rank: usize, values: DType, splits_type: DType) -> Result<Ragged> {
    let mut outputs: Vec<Vec<usize>> = Vec::new();
    let mut outer = 1usize;
    for (&size, &length) in dims.iter().zip(dims.iter().skip(1)) {
        outer = outer.saturating_mul(size).min(parts.len());
        outputs.push((0..=outer).map(|i| i * length).collect());
    }
    // The number of rows of each part, or of values if it has no splits.
    let mut lengths = vec![0];
    for part in parts {
        let rows = part.splits.first().map_or(part.values.shape().first().copied().unwrap_or(0), |splits| splits.num_elements() - 1);
        lengths.push(lengths[lengths.len() - 1] + rows);
    }
    outputs.push(lengths);
    for depth in 0..input_rank {
        let mut joined = vec![0];
        for part in parts {
            let last = joined[joined.len() - 1];
            joined.extend(splits(&part.splits[depth], None)?.into_iter().skip(1).map(|split| split + last));
        }
        outputs.push(joined);
    }
    let mut shape = parts.first().map_or(Shape::from([0]), |part| part.values.shape().clone());
    if shape.rank() == 0 {
        bail!(InvalidArgument, "Ragged values must have rank >= 1");
    }
    let mut total = 0;
    for (i, part) in parts.iter().enumerate() {
        if part.values.rank() != shape.rank() || part.values.shape()[1..] != shape[1..] {
            bail!(
                InvalidArgument,
                "Rank of values must match for all components; values shape at index 0: {shape}, values shape at index {i}: {}",
                part.values.shape()
            );
        }
        total += part.values.shape()[0];
    }
    shape[0] = total;
    let values = concat_blocks(alloc, values, shape, parts.iter().map(|part| (&part.values, 0..part.values.num_elements())))?;
    let splits = outputs.iter().map(|splits| splits_tensor(alloc, splits_type, splits)).collect::<Result<Vec<_>>>()?;
    Ok(Ragged { splits, values })
}

fn make_gradient(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let dtype = init.dtype("Tvalues")?;
    from_fn(move |ctx| gradient(ctx, dtype))
}

/// Outputs the values of the variants' gradients, one row after the other.
fn gradient(ctx: &mut KernelContext<'_>, dtype: DType) -> Result<()> {
    let (encoded, splits_in, shape) = (ctx.input(0)?, ctx.input(1)?, ctx.input(2)?);
    let shape = shape.to_shape()?;
    let mut parts = Vec::new();
    for (i, variant) in encoded.as_variants()?.iter().enumerate() {
        match variant.get::<Ragged>() {
            Some(ragged) if ragged.values.dtype() == dtype => parts.push(&ragged.values),
            Some(ragged) => bail!(InvalidArgument, "Expected values Tensor dtype: {dtype}, found: {}", ragged.values.dtype()),
            None => bail!(InvalidArgument, "Input Variant element at index {i} doesn't hold a RaggedTensorVariant: {variant:?}"),
        }
    }
    if splits_in.num_elements() == 0 && parts.len() == 1 && encoded.rank() == 0 {
        if *parts[0].shape() != shape {
            bail!(InvalidArgument, "the gradient has the shape {}, but {shape} is expected", parts[0].shape());
        }
        let values = parts[0].clone();
        ctx.set_output(0, values);
        return Ok(());
    }
    let total: usize = parts.iter().map(|part| part.num_elements()).sum();
    if total != shape.num_elements() {
        bail!(InvalidArgument, "the gradients have {total} values for a tensor of shape {shape}");
    }
    let values = concat_blocks(ctx.allocator(), dtype, shape, parts.into_iter().map(|part| (part, 0..part.num_elements())))?;
    ctx.set_output(0, values);
    Ok(())
}
