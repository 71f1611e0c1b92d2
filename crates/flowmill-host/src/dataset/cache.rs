//! `CacheDataset` in memory, which computes its elements once.

use super::args::{Call, dataset_kernel};
use super::cache_file::{TensorFiles, elements};
use super::element::{Dataset, Element, Elements, check_room};
use super::seeds::set_anonymous;
use crate::from_fn::from_fn;
use flowmill_runtime::KernelRegistry;
use flowmill_tensor::sync::Mutex;
use flowmill_tensor::{DType, Resource, Result};
use std::any::Any;
use std::sync::Arc;

/// Registers the ops of caches. A cache with a file name is stored in files of format `F`.
pub fn register_cache<F: TensorFiles>(registry: &mut KernelRegistry) {
    for op in ["CacheDataset", "CacheDatasetV2"] {
        registry.add(op, |init| dataset_kernel(init, cache::<F>));
    }
}

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("AnonymousMemoryCache", |_| {
        from_fn(|ctx| {
            set_anonymous(ctx, "MemoryCache", Arc::new(MemoryCache::default()));
            Ok(())
        })
    });
}

/// The elements of a dataset, available after one iteration has reached the end.
#[derive(Default)]
struct MemoryCache(Mutex<Option<Arc<Vec<Element>>>>);

impl Resource for MemoryCache {
    fn type_name(&self) -> &'static str {
        "tensorflow::data::MemoryCache"
    }
}

/// Returns the cache that the op's handle refers to, the session's cache under the file's name, or a new cache.
fn memory_cache(call: &Call<'_, '_>) -> Result<Arc<MemoryCache>> {
    let filename = call.args.string(call.ctx, "filename")?;
    if !filename.is_empty() {
        return call.ctx.resources().lookup_or_create(FILES, &filename, || Ok(MemoryCache::default()));
    }
    let handles = if call.args.has("cache") { call.args.tensor(call.ctx, "cache")?.as_resources()? } else { &[] };
    let object = handles.first().and_then(|handle| handle.object().cloned());
    let shared = object.and_then(|object| (object as Arc<dyn Any + Send + Sync>).downcast().ok());
    Ok(shared.unwrap_or_default())
}

/// The container of caches that are named by files.
const FILES: &str = "_dataset_caches";

fn cache<F: TensorFiles>(call: &mut Call<'_, '_>) -> Result<Dataset> {
    let (input, filename) = (call.input()?, call.args.string(call.ctx, "filename")?);
    // Variants have no file format that other programs could read.
    if !filename.is_empty() && !input.signature.types.contains(&DType::Variant) {
        let source = input.clone();
        let dataset = Dataset::new(call.signature_or(&input), input.cardinality, move |ctx| elements::<F>(&source, ctx, &filename));
        return Ok(dataset.with_input(input));
    }
    let cache = memory_cache(call)?;
    Ok(Dataset::new(call.signature_or(&input), input.cardinality, {
        let input = input.clone();
        move |ctx| {
            let (input, ctx, cache) = (input.clone(), ctx.clone(), cache.clone());
            let mut state = State::Unknown;
            Ok(Elements::new(move || {
                loop {
                    match &mut state {
                        State::Unknown => {
                            let cached = cache.0.lock().clone();
                            state = match cached {
                                Some(elements) => State::Reading(elements, 0),
                                None => State::Writing(input.elements(&ctx)?, Vec::new()),
                            };
                        }
                        State::Reading(elements, next) => {
                            *next += 1;
                            return Ok(elements.get(*next - 1).cloned());
                        }
                        State::Writing(elements, written) => {
                            check_room(written.len())?;
                            let element = elements.next()?;
                            match &element {
                                Some(element) => written.push(element.clone()),
                                None => *cache.0.lock() = Some(Arc::new(std::mem::take(written))),
                            }
                            return Ok(element);
                        }
                    }
                }
            }))
        }
    }))
}

enum State {
    /// No element was requested yet.
    Unknown,
    Reading(Arc<Vec<Element>>, usize),
    Writing(Elements, Vec<Element>),
}
