//! Datasets that return elements of their inputs unchanged, some of them or several times: `TakeDataset`, `SkipDataset`, `RepeatDataset`,
//! `ShardDataset`, `ZipDataset`,
//! `ConcatenateDataset`, `UniqueDataset`, `FilterByLastComponentDataset`, `IgnoreErrorsDataset`, `AssertCardinalityDataset`.

use super::args::{Call, dataset_kernel};
use super::element::{Dataset, Elements, INFINITE, UNKNOWN, check_room};
use flowmill_runtime::KernelRegistry;
use flowmill_tensor::{DType, Result, Tensor, bail};
use std::collections::HashSet;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("TakeDataset", |init| dataset_kernel(init, take));
    registry.add("SkipDataset", |init| dataset_kernel(init, skip));
    registry.add("RepeatDataset", |init| dataset_kernel(init, repeat));
    registry.add("ShardDataset", |init| {
        let require_non_empty = init.attrs.get_or("require_non_empty", false)?;
        dataset_kernel(init, move |call| shard(call, require_non_empty))
    });
    registry.add("ZipDataset", |init| dataset_kernel(init, zip));
    registry.add("ConcatenateDataset", |init| dataset_kernel(init, concatenate));
    for op in ["UniqueDataset", "ExperimentalUniqueDataset"] {
        registry.add(op, |init| dataset_kernel(init, unique));
    }
    registry.add("FilterByLastComponentDataset", |init| dataset_kernel(init, filter_by_last_component));
    for op in ["IgnoreErrorsDataset", "ExperimentalIgnoreErrorsDataset"] {
        registry.add(op, |init| dataset_kernel(init, ignore_errors));
    }
    registry.add("AssertCardinalityDataset", |init| dataset_kernel(init, assert_cardinality));
}

fn take(call: &mut Call<'_, '_>) -> Result<Dataset> {
    let input = call.input()?;
    let count: i64 = call.scalar("count")?;
    let cardinality = match input.cardinality {
        other if count < 0 => other,
        INFINITE => count,
        UNKNOWN if count == 0 => 0,
        UNKNOWN => UNKNOWN,
        known => known.min(count),
    };
    Ok(Dataset::over(&input, call.signature_or(&input), cardinality, move |mut elements| {
        let mut left = u64::try_from(count).unwrap_or(u64::MAX);
        Ok(Elements::new(move || {
            if left == 0 {
                return Ok(None);
            }
            let element = elements.next()?;
            left -= 1;
            Ok(element)
        }))
    }))
}

fn skip(call: &mut Call<'_, '_>) -> Result<Dataset> {
    let input = call.input()?;
    let count: i64 = call.scalar("count")?;
    let cardinality = match input.cardinality {
        _ if count < 0 => 0,
        INFINITE => INFINITE,
        UNKNOWN => UNKNOWN,
        known => (known - count).max(0),
    };
    Ok(Dataset::over(&input, call.signature_or(&input), cardinality, move |mut elements| {
        let mut left = count;
        Ok(Elements::new(move || {
            if left < 0 {
                return Ok(None);
            }
            while left > 0 {
                if elements.next()?.is_none() {
                    return Ok(None);
                }
                left -= 1;
            }
            elements.next()
        }))
    }))
}

fn repeat(call: &mut Call<'_, '_>) -> Result<Dataset> {
    let input = call.input()?;
    let count: i64 = call.scalar("count")?;
    let cardinality = match input.cardinality {
        _ if count == 0 => 0,
        0 => 0,
        _ if count < 0 => INFINITE,
        known if known > 0 => known.saturating_mul(count),
        other => other,
    };
    let (source, signature) = (input.clone(), call.signature_or(&input));
    let dataset = Dataset::new(signature, cardinality, move |ctx| {
        let (source, ctx) = (source.clone(), ctx.clone());
        let mut left = u64::try_from(count).unwrap_or(u64::MAX);
        let (mut current, mut is_first) = (None, true);
        Ok(Elements::new(move || {
            while left > 0 {
                let elements = match &mut current {
                    Some(elements) => elements,
                    None => current.insert(source.elements(&ctx)?),
                };
                if let Some(element) = elements.next()? {
                    is_first = false;
                    return Ok(Some(element));
                }
                // Without this, repeating an empty input for ever would not end.
                if is_first && count < 0 {
                    return Ok(None);
                }
                (current, is_first) = (None, true);
                left -= u64::from(count >= 0);
            }
            Ok(None)
        }))
    });
    Ok(dataset.with_input(input))
}

fn shard(call: &mut Call<'_, '_>, require_non_empty: bool) -> Result<Dataset> {
    let input = call.input()?;
    let (num_shards, index): (i64, i64) = (call.scalar("num_shards")?, call.scalar("index")?);
    if num_shards <= 0 {
        bail!(InvalidArgument, "Number of shards must be greater than zero (currently num_shards = {num_shards}).");
    }
    if index < 0 || index >= num_shards {
        bail!(InvalidArgument, "Index must be between 0 and {} (currently index = {index}).", num_shards - 1);
    }
    let cardinality = match input.cardinality {
        known if known >= 0 => known / num_shards + i64::from(index < known % num_shards),
        other => other,
    };
    Ok(Dataset::over(&input, call.signature_or(&input), cardinality, move |mut elements| {
        let mut before = index;
        let mut checked = !require_non_empty;
        Ok(Elements::new(move || {
            while before > 0 {
                if elements.next()?.is_none() {
                    return Ok(None);
                }
                before -= 1;
            }
            let element = elements.next()?;
            before = num_shards - 1;
            if !checked && element.is_some() {
                checked = true;
                let rest = num_shards - 1 - index;
                let found = elements.skip(rest)?;
                if found < rest {
                    bail!(
                        InvalidArgument,
                        "Could not apply FILE based sharding: the dataset only has {} file(s), which is not enough for the required {num_shards} shards/workers.",
                        index + 1 + found
                    );
                }
                before = index;
            }
            Ok(element)
        }))
    }))
}

fn zip(call: &mut Call<'_, '_>) -> Result<Dataset> {
    let inputs = call.args.datasets(call.ctx, "input_datasets")?;
    let cardinality = inputs.iter().map(|input| input.cardinality).fold(INFINITE, |all, one| match (all, one) {
        (INFINITE, other) | (other, INFINITE) => other,
        (UNKNOWN, _) | (_, UNKNOWN) => UNKNOWN,
        (a, b) => a.min(b),
    });
    Ok(Dataset::new(call.signature()?, cardinality, move |ctx| {
        let mut parts = inputs.iter().map(|input| input.elements(ctx)).collect::<Result<Vec<_>>>()?;
        let mut is_over = false;
        Ok(Elements::new(move || {
            if is_over {
                return Ok(None);
            }
            let mut element = Vec::new();
            let mut failed = None;
            // All inputs advance together, also if one of them fails or ends, because a cache is complete only when its end was requested.
            for part in &mut parts {
                match part.next() {
                    Ok(Some(components)) => element.extend(components),
                    Ok(None) => is_over = true,
                    Err(e) if !is_over => failed = failed.or(Some(e)),
                    Err(_) => {}
                }
            }
            failed.map_or(Ok(Some(element).filter(|_| !is_over)), Err)
        }))
    }))
}

fn concatenate(call: &mut Call<'_, '_>) -> Result<Dataset> {
    let first = call.input()?;
    let second = call.args.dataset(call.ctx, "another_dataset")?;
    if first.signature.types != second.signature.types {
        bail!(
            InvalidArgument,
            "input dataset and dataset to be concatenated have different output_types {:?} and {:?}",
            first.signature.types,
            second.signature.types
        );
    }
    let cardinality = match (first.cardinality, second.cardinality) {
        (INFINITE, _) | (_, INFINITE) => INFINITE,
        (UNKNOWN, _) | (_, UNKNOWN) => UNKNOWN,
        (a, b) => a.saturating_add(b),
    };
    Ok(Dataset::new(call.signature_or(&first), cardinality, move |ctx| {
        let (mut current, second, ctx) = (first.elements(ctx)?, second.clone(), ctx.clone());
        let mut is_first = true;
        Ok(Elements::new(move || {
            loop {
                let element = current.next()?;
                if element.is_some() || !is_first {
                    return Ok(element);
                }
                (current, is_first) = (second.elements(&ctx)?, false);
            }
        }))
    }))
}

fn unique(call: &mut Call<'_, '_>) -> Result<Dataset> {
    let input = call.input()?;
    if input.signature.types.len() != 1 {
        bail!(InvalidArgument, "UniqueDataset only supports inputs with a single component.");
    }
    Ok(Dataset::over(&input, call.signature_or(&input), UNKNOWN, |mut elements| {
        let mut seen = HashSet::new();
        Ok(Elements::new(move || {
            while let Some(element) = elements.next()? {
                let component = element.first().map(key).transpose()?;
                check_room(seen.len())?;
                if seen.insert(component) {
                    return Ok(Some(element));
                }
            }
            Ok(None)
        }))
    }))
}

/// Returns a key that is equal for equal tensors only: shape and elements.
fn key(tensor: &Tensor) -> Result<(Vec<usize>, Vec<u8>)> {
    let mut bytes = Vec::new();
    match tensor.dtype() {
        DType::String => tensor.as_strings()?.iter().for_each(|text| {
            bytes.extend((text.len() as u64).to_le_bytes());
            bytes.extend(text.iter());
        }),
        _ => bytes.extend(tensor.as_bytes()?),
    }
    Ok((tensor.shape().to_vec(), bytes))
}

fn filter_by_last_component(call: &mut Call<'_, '_>) -> Result<Dataset> {
    let input = call.input()?;
    Ok(Dataset::over(&input, call.signature()?, UNKNOWN, |mut elements| {
        Ok(Elements::new(move || {
            while let Some(mut element) = elements.next()? {
                let keep = match element.pop() {
                    Some(last) if last.dtype() == DType::Bool && last.rank() == 0 => last.to_scalar::<bool>()?,
                    _ => bail!(InvalidArgument, "Expected a scalar bool for the last component."),
                };
                if keep {
                    return Ok(Some(element));
                }
            }
            Ok(None)
        }))
    }))
}

fn ignore_errors(call: &mut Call<'_, '_>) -> Result<Dataset> {
    let input = call.input()?;
    let (source, signature) = (input.clone(), call.signature_or(&input));
    let dataset = Dataset::new(signature, UNKNOWN, move |ctx| {
        let (mut elements, ctx) = (source.elements(ctx)?, ctx.clone());
        Ok(Elements::new(move || {
            loop {
                match elements.next() {
                    Err(_) if !ctx.cancel.is_cancelled() => {}
                    other => return other,
                }
            }
        }))
    });
    Ok(dataset.with_input(input))
}

fn assert_cardinality(call: &mut Call<'_, '_>) -> Result<Dataset> {
    let input = call.input()?;
    let expected: i64 = call.scalar("cardinality")?;
    Ok(Dataset::over(&input, call.signature_or(&input), expected, move |mut elements| {
        let mut count = 0;
        Ok(Elements::new(move || {
            let element = elements.next()?;
            count += i64::from(element.is_some());
            let expected_text = describe(expected);
            match element {
                None if count != expected => {
                    bail!(
                        FailedPrecondition,
                        "Input dataset was expected to contain {expected_text} but contained only {}.",
                        describe(count)
                    )
                }
                Some(_) if expected != INFINITE && count > expected => {
                    bail!(
                        FailedPrecondition,
                        "Input dataset was expected to contain {expected_text} but contained at least {}.",
                        describe(count)
                    )
                }
                element => Ok(element),
            }
        }))
    }))
}

fn describe(count: i64) -> String {
    match count {
        UNKNOWN => "an unknown number of elements".to_owned(),
        INFINITE => "an infinite number of elements".to_owned(),
        1 => "1 element".to_owned(),
        n => format!("{n} elements"),
    }
}
