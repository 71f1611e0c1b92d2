//! Grouping of elements by keys: `GroupByWindowDataset`, `GroupByReducerDataset`.

use super::args::{Call, dataset_kernel};
use super::context::{Function, FunctionAttr, IteratorContext};
use super::element::{Dataset, Element, Elements, INFINITE, UNKNOWN, check_room, of_tensor, to_tensor};
use super::source::of_elements;
use flowmill_runtime::KernelRegistry;
use flowmill_tensor::{Result, Tensor, bail};
use std::collections::BTreeMap;
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    for op in ["GroupByWindowDataset", "ExperimentalGroupByWindowDataset"] {
        registry.add(op, |init| {
            let functions = [
                FunctionAttr::new(init, "key_func", "key_func_other_arguments")?,
                FunctionAttr::new(init, "reduce_func", "reduce_func_other_arguments")?,
                FunctionAttr::new(init, "window_size_func", "window_size_func_other_arguments")?,
            ];
            dataset_kernel(init, move |call| group_by_window(call, &functions))
        });
    }
    for op in ["GroupByReducerDataset", "ExperimentalGroupByReducerDataset"] {
        registry.add(op, |init| {
            let functions = [
                FunctionAttr::new(init, "key_func", "key_func_other_arguments")?,
                FunctionAttr::new(init, "init_func", "init_func_other_arguments")?,
                FunctionAttr::new(init, "reduce_func", "reduce_func_other_arguments")?,
                FunctionAttr::new(init, "finalize_func", "finalize_func_other_arguments")?,
            ];
            dataset_kernel(init, move |call| group_by_reducer(call, &functions))
        });
    }
}

const BAD_KEY: &str = "`key_func` must return a scalar int64.";

fn group_by_window(call: &mut Call<'_, '_>, functions: &[FunctionAttr; 3]) -> Result<Dataset> {
    let input = call.input()?;
    let [key, reduce, window_size] = functions;
    let functions = Arc::new([key.capture(call.ctx)?, reduce.capture(call.ctx)?, window_size.capture(call.ctx)?]);
    let source = input.clone();
    let cardinality = if input.cardinality == INFINITE { INFINITE } else { UNKNOWN };
    let dataset = Dataset::new(call.signature()?, cardinality, move |ctx| {
        let mut groups = Groups {
            elements: source.elements(ctx)?,
            input: source.clone(),
            ctx: ctx.clone(),
            functions: functions.clone(),
            sizes: BTreeMap::new(),
            groups: BTreeMap::new(),
            current: None,
        };
        Ok(Elements::new(move || groups.next()))
    });
    Ok(dataset.with_input(input))
}

struct Groups {
    elements: Elements,
    input: Arc<Dataset>,
    ctx: Arc<IteratorContext>,
    /// The functions for the key, the reduction, and the size of windows.
    functions: Arc<[Arc<Function>; 3]>,
    sizes: BTreeMap<i64, i64>,
    groups: BTreeMap<i64, Vec<Element>>,
    /// The result of reducing the last group.
    current: Option<Elements>,
}

impl Groups {
    fn next(&mut self) -> Result<Option<Element>> {
        loop {
            if let Some(current) = &mut self.current
                && let Some(element) = current.next()?
            {
                return Ok(Some(element));
            }
            self.current = None;
            let Some(key) = self.next_group()? else { return Ok(None) };
            self.current = Some(self.reduce(key)?);
        }
    }

    /// Adds elements to groups until one is complete. After the end of the input, the incomplete groups follow in the order of their keys. Returns
    /// the group's key.
    fn next_group(&mut self) -> Result<Option<i64>> {
        while let Some(element) = self.elements.next()? {
            let [key_of, _, size_of] = &*self.functions;
            let key = key_of.integer(&self.ctx, element.clone(), BAD_KEY)?;
            let size = match self.sizes.get(&key) {
                Some(&size) => size,
                None => {
                    let size = size_of.integer(&self.ctx, vec![Tensor::scalar(key)], "`window_size_func` must return a scalar int64.")?;
                    if size <= 0 {
                        bail!(InvalidArgument, "Window size must be greater than zero, but got {size}.");
                    }
                    check_room(self.sizes.len())?;
                    self.sizes.insert(key, size);
                    size
                }
            };
            let group = self.groups.entry(key).or_default();
            check_room(group.len())?;
            group.push(element);
            if group.len() as i64 == size {
                return Ok(Some(key));
            }
        }
        Ok(self.groups.first_key_value().map(|(&key, _)| key))
    }

    fn reduce(&mut self, key: i64) -> Result<Elements> {
        let group = self.groups.remove(&key).unwrap_or_default();
        let window = to_tensor(Arc::new(of_elements(self.input.signature.clone(), group)));
        match &self.functions[1].call(&self.ctx, vec![Tensor::scalar(key), window])?[..] {
            [dataset] => of_tensor(dataset)?.elements(&self.ctx),
            _ => bail!(InvalidArgument, "`reduce_func` must return a single scalar of dtype DT_VARIANT."),
        }
    }
}

/// Makes the dataset of `GroupByReducerDataset`: one element per key, in the order of the keys. It reads the whole input first.
fn group_by_reducer(call: &mut Call<'_, '_>, functions: &[FunctionAttr; 4]) -> Result<Dataset> {
    let input = call.input()?;
    let [key, init, reduce, finalize] = functions;
    let functions = [key.capture(call.ctx)?, init.capture(call.ctx)?, reduce.capture(call.ctx)?, finalize.capture(call.ctx)?];
    let source = input.clone();
    let dataset = Dataset::new(call.signature()?, UNKNOWN, move |ctx| {
        let (mut elements, ctx) = (source.elements(ctx)?, ctx.clone());
        let [key_of, init, reduce, finalize] = functions.clone();
        let mut states: BTreeMap<i64, Element> = BTreeMap::new();
        Ok(Elements::new(move || {
            while let Some(element) = elements.next()? {
                let key = key_of.integer(&ctx, element.clone(), BAD_KEY)?;
                let state = match states.remove(&key) {
                    Some(state) => state,
                    None => init.call(&ctx, vec![Tensor::scalar(key)])?,
                };
                states.insert(key, reduce.call(&ctx, state.into_iter().chain(element).collect())?);
            }
            states.pop_first().map(|(_, state)| finalize.call(&ctx, state)).transpose()
        }))
    });
    Ok(dataset.with_input(input))
}
