//! Tensor maps, which are immutable maps from tensors to tensors: `EmptyTensorMap` and related ops.

use crate::blocks::concat_blocks;
use crate::from_fn::from_fn;
use crate::summarize::summarize;
use flowmill_runtime::{KernelContext, KernelRegistry};
use flowmill_tensor::{DType, Error, Result, Tensor, TensorArithmetic, Variant, VariantValue, bail, error};
use std::collections::BTreeMap;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("EmptyTensorMap", |_| {
        from_fn(|ctx| {
            ctx.set_output(0, Tensor::variant(Variant::new(TensorMap::default())));
            Ok(())
        })
    });
    registry.add("TensorMapSize", |_| {
        from_fn(|ctx| {
            let len = map(ctx)?.entries.len();
            ctx.set_output(0, Tensor::scalar(i32::try_from(len).unwrap_or(i32::MAX)));
            Ok(())
        })
    });
    registry.add("TensorMapLookup", |_| from_fn(lookup));
    registry.add("TensorMapInsert", |_| from_fn(insert));
    registry.add("TensorMapErase", |_| from_fn(erase));
    registry.add("TensorMapHasKey", |_| {
        from_fn(|ctx| {
            let found = map(ctx)?.entries.contains_key(&encoded(ctx.input(1)?)?);
            ctx.set_output(0, Tensor::scalar(found));
            Ok(())
        })
    });
    registry.add("TensorMapStackKeys", |init| {
        let dtype = init.dtype("key_dtype")?;
        from_fn(move |ctx| stack_keys(ctx, dtype))
    });
}

/// A map with value semantics: a change does not affect other holders of the old map, and is made in place if there are none.
#[derive(Clone, Default)]
struct TensorMap {
    /// The keys and values, by the keys' bytes. The keys are in the host's memory, and their memory belongs to tensors.
    entries: BTreeMap<Vec<u8>, (Tensor, Tensor)>,
}

impl VariantValue for TensorMap {
    fn type_name(&self) -> &'static str {
        "tensorflow::TensorMap"
    }

    fn tensors(&self) -> Box<dyn Iterator<Item = &Tensor> + '_> {
        Box::new(self.entries.values().map(|(_, value)| value))
    }

    fn with_tensors(&self, tensors: Vec<Tensor>) -> Result<Variant> {
        let mut entries = self.entries.clone();
        if entries.len() != tensors.len() {
            bail!(Internal, "a map of {} entries is made of {} tensors", entries.len(), tensors.len());
        }
        entries.values_mut().zip(tensors).for_each(|((_, value), tensor)| *value = tensor);
        Ok(Variant::new(TensorMap { entries }))
    }

    fn zeros_like(&self, arithmetic: &dyn TensorArithmetic) -> Result<Variant> {
        let zeros = |(at, (key, value)): (&Vec<u8>, &(Tensor, Tensor))| Ok((at.clone(), (key.clone(), arithmetic.zeros_like(value)?)));
        Ok(Variant::new(TensorMap { entries: self.entries.iter().map(zeros).collect::<Result<_>>()? }))
    }

    fn add(&self, other: &Variant, arithmetic: &dyn TensorArithmetic) -> Result<Variant> {
        let Some(other) = other.get::<TensorMap>() else {
            bail!(Internal, "Trying to add a tensor map and a {}", other.value().type_name());
        };
        let mut entries = self.entries.clone();
        for (at, (key, value)) in &other.entries {
            match entries.get_mut(at) {
                Some((_, sum)) if sum.shape() != value.shape() => {
                    bail!(
                        InvalidArgument,
                        "Trying to add two tensors with incompatible element shapes. One is {} and the other is {}",
                        sum.shape(),
                        value.shape()
                    )
                }
                Some((_, sum)) => arithmetic.add_to(sum, value)?,
                None => drop(entries.insert(at.clone(), (key.clone(), value.clone()))),
            }
        }
        Ok(Variant::new(TensorMap { entries }))
    }
}

/// Returns bytes that identify a key: its type, shape and elements.
///
/// # Errors
/// Returns `InvalidArgument` for a handle or a variant, which cannot be keys because they have no order.
fn encoded(key: &Tensor) -> Result<Vec<u8>> {
    let mut bytes = key.dtype().number().to_le_bytes().to_vec();
    for &size in key.shape().dims() {
        bytes.extend((size as u64).to_le_bytes());
    }
    match key.dtype() {
        DType::String => {
            for text in key.as_strings()? {
                bytes.extend((text.len() as u64).to_le_bytes());
                bytes.extend_from_slice(text);
            }
        }
        DType::Resource | DType::Variant => bail!(InvalidArgument, "a key of a map cannot have type {}", key.dtype().cpp_name()),
        _ => bytes.extend_from_slice(key.as_bytes()?),
    }
    Ok(bytes)
}

fn as_map(variant: &Variant) -> Result<&TensorMap> {
    match variant.get() {
        Some(map) => Ok(map),
        None => bail!(InvalidArgument, "Input handle is not a map. Saw: '{}'", variant.value().type_name()),
    }
}

/// Returns the map in input 0.
fn map<'a>(ctx: &'a KernelContext<'_>) -> Result<&'a TensorMap> {
    let tensor = ctx.input(0)?;
    match tensor.as_variants() {
        Ok([variant]) if tensor.rank() == 0 => as_map(variant),
        _ => bail!(InvalidArgument, "Input map must be a scalar. Saw: {}", tensor.shape()),
    }
}

/// Applies `change` to the map in input 0, in place if nothing else refers to the map, and outputs the new map.
fn changed(ctx: &mut KernelContext<'_>, change: impl FnOnce(&mut TensorMap)) -> Result<()> {
    map(ctx)?;
    let mut tensor = ctx.take(0)?;
    let [variant] = tensor.as_mut_variants()? else { bail!(Internal, "a tensor map's variant is not a scalar") };
    match variant.get_mut::<TensorMap>() {
        Some(map) => change(map),
        None => {
            let mut copy = as_map(variant)?.clone();
            change(&mut copy);
            *variant = Variant::new(copy);
        }
    }
    ctx.set_output(0, tensor);
    Ok(())
}

fn absent(what: &str, key: &Tensor) -> Error {
    error!(InvalidArgument, "Trying to {what}. Could not find key \"{}\".", summarize(key, 100))
}

fn lookup(ctx: &mut KernelContext<'_>) -> Result<()> {
    let key = ctx.input(1)?;
    let value = match map(ctx)?.entries.get(&encoded(key)?) {
        Some((_, value)) => value.clone(),
        None => return Err(absent("lookup non-existent key", key)),
    };
    ctx.set_output(0, value);
    Ok(())
}

fn insert(ctx: &mut KernelContext<'_>) -> Result<()> {
    let (key, value) = (ctx.input(1)?.clone().into_owned()?, ctx.input(2)?.clone());
    let at = encoded(&key)?;
    changed(ctx, |map| drop(map.entries.insert(at, (key, value))))
}

fn erase(ctx: &mut KernelContext<'_>) -> Result<()> {
    let key = ctx.input(1)?;
    let at = encoded(key)?;
    if !map(ctx)?.entries.contains_key(&at) {
        return Err(absent("erase non-existent item", key));
    }
    changed(ctx, |map| drop(map.entries.remove(&at)))
}

/// Outputs all keys, which must have one type and one shape, along a new first dimension, in the order of their bytes.
fn stack_keys(ctx: &mut KernelContext<'_>, dtype: DType) -> Result<()> {
    let entries = &map(ctx)?.entries;
    let Some((first, _)) = entries.values().next() else { bail!(InvalidArgument, "TensorMapStackKeys cannot be called on empty map.") };
    for (key, _) in entries.values() {
        if key.dtype() != dtype {
            bail!(InvalidArgument, "Key does not match requested dtype.");
        }
        if key.shape() != first.shape() {
            bail!(InvalidArgument, "Keys must all have the same shape.");
        }
    }
    let mut shape = first.shape().clone();
    shape.insert(0, entries.len());
    let keys = concat_blocks(ctx.allocator(), dtype, shape, entries.values().map(|(key, _)| (key, 0..key.num_elements())))?;
    ctx.set_output(0, keys);
    Ok(())
}
