//! Datasets whose functions compute or select elements one by one: `MapDataset`, `ParallelMapDataset`, `FilterDataset`, `ScanDataset`, `TakeWhileDataset`.

use super::args::{Call, dataset_kernel};
use super::batch::{batch_arguments, num_batches, stack};
use super::context::{Function, FunctionAttr, IteratorContext};
use super::element::{Dataset, Element, Elements, UNKNOWN, check_room};
use super::parallel::{AUTOTUNE, Pipe, PipeOptions, Task};
use crate::parsing_io::example_parser::ExampleParser;
use flowmill_runtime::{Kernel, KernelInit, KernelRegistry};
use flowmill_tensor::{Code, DType, Result, bail, error};
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    for op in ["MapDataset", "ExperimentalMapDataset"] {
        registry.add(op, make_map);
    }
    for op in ["ParallelMapDataset", "ParallelMapDatasetV2"] {
        registry.add(op, make_parallel_map);
    }
    for op in ["MapAndBatchDataset", "ExperimentalMapAndBatchDataset"] {
        registry.add(op, make_map_and_batch);
    }
    for op in ["ParseExampleDataset", "ParseExampleDatasetV2", "ExperimentalParseExampleDataset"] {
        registry.add(op, make_parse_example);
    }
    registry.add("FilterDataset", |init| {
        let predicate = FunctionAttr::new(init, "predicate", "other_arguments")?;
        dataset_kernel(init, move |call| filter(call, &predicate))
    });
    registry.add("ParallelFilterDataset", |init| {
        let predicate = FunctionAttr::new(init, "predicate", "other_arguments")?;
        let ordered = is_ordered(init)?;
        dataset_kernel(init, move |call| parallel_filter(call, &predicate, ordered))
    });
    for op in ["TakeWhileDataset", "ExperimentalTakeWhileDataset"] {
        registry.add(op, |init| {
            let predicate = FunctionAttr::new(init, "predicate", "other_arguments")?;
            dataset_kernel(init, move |call| take_while(call, &predicate))
        });
    }
    for op in ["ScanDataset", "ExperimentalScanDataset"] {
        registry.add(op, |init| {
            let f = FunctionAttr::new(init, "f", "other_arguments")?;
            let preserve = init.attrs.get_or("preserve_cardinality", false)?;
            dataset_kernel(init, move |call| scan(call, &f, preserve))
        });
    }
}

/// Returns true if the attributes `deterministic` and `sloppy` require that results are in order.
pub(super) fn is_ordered(init: &KernelInit<'_>) -> Result<bool> {
    Ok(init.attrs.get_or("deterministic", "default")? != "false" && !init.attrs.get_or("sloppy", false)?)
}

/// Returns the number of calls that run at once, which is an argument of the op.
pub(super) fn num_parallel_calls(call: &Call<'_, '_>) -> Result<i64> {
    let tensor = call.args.tensor(call.ctx, "num_parallel_calls")?;
    if tensor.rank() != 0 {
        bail!(InvalidArgument, "num_parallel_calls must be a scalar");
    }
    let number = tensor.to_i64()?;
    if number <= 0 && number != AUTOTUNE {
        bail!(InvalidArgument, "num_parallel_calls must be greater than zero.");
    }
    Ok(number)
}

/// Calls a function. If it fails with `OutOfRange`, the result is `None`, which ends the sequence, unless the number of elements is to be preserved.
fn call_to_map(f: &Function, ctx: &IteratorContext, args: Element, preserve_cardinality: bool) -> Result<Option<Element>> {
    match f.call(ctx, args) {
        Err(e) if e.code() == Code::OutOfRange && preserve_cardinality => {
            Err(error!(InvalidArgument, "Function invocation produced OutOfRangeError: {}", e.message()))
        }
        Err(e) if e.code() == Code::OutOfRange => Ok(None),
        other => other.map(Some),
    }
}

fn mapped_cardinality(cardinality: i64, preserve_cardinality: bool) -> i64 {
    if preserve_cardinality { cardinality } else { UNKNOWN }
}

fn make_map(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let f = FunctionAttr::new(init, "f", "other_arguments")?;
    let preserve = init.attrs.get_or("preserve_cardinality", false)?;
    dataset_kernel(init, move |call| {
        let (input, f) = (call.input()?, f.capture(call.ctx)?);
        let source = input.clone();
        let dataset = Dataset::new(call.signature()?, mapped_cardinality(input.cardinality, preserve), move |ctx| {
            let (mut elements, f, ctx) = (source.elements(ctx)?, f.clone(), ctx.clone());
            Ok(Elements::new(move || match elements.next()? {
                Some(element) => call_to_map(&f, &ctx, element, preserve),
                None => Ok(None),
            }))
        });
        Ok(dataset.with_input(input))
    })
}

/// Returns the results of `f` on the elements, computed ahead. A result of `None` means that the function has ended the sequence.
fn mapped_ahead(
    ctx: &Arc<IteratorContext>,
    mut elements: Elements,
    f: &Arc<Function>,
    options: PipeOptions,
    preserve_cardinality: bool,
) -> Elements {
    let (f, their_ctx) = (f.clone(), ctx.clone());
    let mut pipe = Pipe::new(ctx, options, move || {
        let Some(element) = elements.next()? else { return Ok(None) };
        let (f, ctx) = (f.clone(), their_ctx.clone());
        Ok(Some(Box::new(move || call_to_map(&f, &ctx, element, preserve_cardinality)) as Task<_>))
    });
    Elements::new(move || pipe.next().map(Option::flatten))
}

fn make_parallel_map(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let f = FunctionAttr::new(init, "f", "other_arguments")?;
    let (preserve, ordered) = (init.attrs.get_or("preserve_cardinality", false)?, is_ordered(init)?);
    dataset_kernel(init, move |call| {
        let (input, f) = (call.input()?, f.capture(call.ctx)?);
        let options = PipeOptions::calls(num_parallel_calls(call)?, ordered);
        let source = input.clone();
        let dataset = Dataset::new(call.signature()?, mapped_cardinality(input.cardinality, preserve), move |ctx| {
            Ok(mapped_ahead(ctx, source.elements(ctx)?, &f, options, preserve))
        });
        Ok(dataset.with_input(input))
    })
}

fn make_map_and_batch(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let f = FunctionAttr::new(init, "f", "other_arguments")?;
    let preserve = init.attrs.get_or("preserve_cardinality", false)?;
    dataset_kernel(init, move |call| {
        let (input, f) = (call.input()?, f.capture(call.ctx)?);
        let (size, drop_remainder) = batch_arguments(call, "batch_size must be greater than zero.")?;
        let options = PipeOptions::calls(num_parallel_calls(call)?, true);
        let cardinality = num_batches(mapped_cardinality(input.cardinality, preserve), size, drop_remainder);
        let source = input.clone();
        let dataset = Dataset::new(call.signature()?, cardinality, move |ctx| {
            let mut elements = mapped_ahead(ctx, source.elements(ctx)?, &f, options, preserve);
            Ok(Elements::new(move || take_whole_batch(&mut elements, size, drop_remainder)?.map(|batch| stack(&batch)).transpose()))
        });
        Ok(dataset.with_input(input))
    })
}

/// Takes up to `size` elements, like [`take_batch`](super::batch::take_batch). If an element fails, its whole batch is dropped: the next batch
/// begins where it would without the error.
fn take_whole_batch(elements: &mut Elements, size: i64, drop_remainder: bool) -> Result<Option<Vec<Element>>> {
    let (mut taken, mut failed) = (Vec::new(), None);
    for _ in 0..size {
        check_room(taken.len())?;
        match elements.next() {
            Ok(Some(element)) => taken.push(element),
            Ok(None) => break,
            Err(e) if e.code() == Code::Cancelled => return Err(e),
            Err(e) => failed = failed.or(Some(e)),
        }
    }
    match failed {
        Some(e) => Err(e),
        None => Ok(Some(taken).filter(|taken| !taken.is_empty() && (taken.len() as i64 == size || !drop_remainder))),
    }
}

/// Makes the kernel of `ParseExampleDataset`: elements are vectors of serialised examples.
fn make_parse_example(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let parser = Arc::new(ExampleParser::new(init)?);
    let ordered = is_ordered(init)?;
    dataset_kernel(init, move |call| {
        let (input, parser) = (call.input()?, parser.clone());
        if input.signature.types != [DType::String] {
            bail!(InvalidArgument, "Input dataset should be a dataset of vectors of strings");
        }
        let defaults = Arc::new(call.args.tensors(call.ctx, "dense_defaults")?);
        let options = PipeOptions::calls(num_parallel_calls(call)?, ordered);
        let (source, cardinality) = (input.clone(), input.cardinality);
        let dataset = Dataset::new(call.signature()?, cardinality, move |ctx| {
            let (mut elements, parser, defaults) = (source.elements(ctx)?, parser.clone(), defaults.clone());
            let mut pipe = Pipe::new(ctx, options, move || {
                let Some(element) = elements.next()? else { return Ok(None) };
                let (parser, defaults) = (parser.clone(), defaults.clone());
                Ok(Some(Box::new(move || match &element[..] {
                    [messages] => parser.parse(&messages.allocator(), messages, &defaults),
                    _ => bail!(InvalidArgument, "an element has {} components, not 1", element.len()),
                }) as Task<Element>))
            });
            Ok(Elements::new(move || pipe.next()))
        });
        Ok(dataset.with_input(input))
    })
}

fn filter(call: &mut Call<'_, '_>, predicate: &FunctionAttr) -> Result<Dataset> {
    let (input, predicate) = (call.input()?, predicate.capture(call.ctx)?);
    let (source, signature) = (input.clone(), call.signature_or(&input));
    let dataset = Dataset::new(signature, UNKNOWN, move |ctx| {
        let (mut elements, predicate, ctx) = (source.elements(ctx)?, predicate.clone(), ctx.clone());
        Ok(Elements::new(move || {
            while let Some(element) = elements.next()? {
                if predicate.test(&ctx, element.clone(), "Filter predicate `f` must return a scalar bool.")? {
                    return Ok(Some(element));
                }
            }
            Ok(None)
        }))
    });
    Ok(dataset.with_input(input))
}

fn parallel_filter(call: &mut Call<'_, '_>, predicate: &FunctionAttr, ordered: bool) -> Result<Dataset> {
    let (input, predicate) = (call.input()?, predicate.capture(call.ctx)?);
    let options = PipeOptions::calls(num_parallel_calls(call)?, ordered);
    let (source, signature) = (input.clone(), call.signature_or(&input));
    let dataset = Dataset::new(signature, UNKNOWN, move |ctx| {
        let (mut elements, predicate, their_ctx) = (source.elements(ctx)?, predicate.clone(), ctx.clone());
        let mut pipe = Pipe::new(ctx, options, move || {
            let Some(element) = elements.next()? else { return Ok(None) };
            let (predicate, ctx) = (predicate.clone(), their_ctx.clone());
            Ok(Some(Box::new(move || {
                let keep = predicate.test(&ctx, element.clone(), "Filter predicate `predicate` must return a scalar bool.")?;
                Ok(keep.then_some(element))
            }) as Task<Option<Element>>))
        });
        Ok(Elements::new(move || {
            while let Some(result) = pipe.next()? {
                if result.is_some() {
                    return Ok(result);
                }
            }
            Ok(None)
        }))
    });
    Ok(dataset.with_input(input))
}

fn take_while(call: &mut Call<'_, '_>, predicate: &FunctionAttr) -> Result<Dataset> {
    let (input, predicate) = (call.input()?, predicate.capture(call.ctx)?);
    let (source, signature) = (input.clone(), call.signature_or(&input));
    let dataset = Dataset::new(signature, UNKNOWN, move |ctx| {
        let (mut elements, predicate, ctx) = (source.elements(ctx)?, predicate.clone(), ctx.clone());
        Ok(Elements::new(move || {
            let Some(element) = elements.next()? else { return Ok(None) };
            let goes_on = predicate.test(&ctx, element.clone(), "`predicate` must returns a scalar bool tensor.")?;
            Ok(goes_on.then_some(element))
        }))
    });
    Ok(dataset.with_input(input))
}

fn scan(call: &mut Call<'_, '_>, f: &FunctionAttr, preserve: bool) -> Result<Dataset> {
    let (input, f) = (call.input()?, f.capture(call.ctx)?);
    let initial = call.args.tensors(call.ctx, "initial_state")?;
    let (source, signature) = (input.clone(), call.signature()?);
    let outputs = signature.clone();
    let dataset = Dataset::new(signature, mapped_cardinality(input.cardinality, preserve), move |ctx| {
        let (mut elements, f, ctx) = (source.elements(ctx)?, f.clone(), ctx.clone());
        let (mut state, outputs) = (initial.clone(), outputs.clone());
        Ok(Elements::new(move || {
            let Some(element) = elements.next()? else { return Ok(None) };
            let args = state.iter().cloned().chain(element).collect();
            let Some(mut results) = call_to_map(&f, &ctx, args, preserve)? else { return Ok(None) };
            let expected = state.iter().map(|t| t.dtype()).chain(outputs.types.iter().copied());
            if let Some((i, (expected, found))) =
                expected.zip(&results).enumerate().find(|(_, (expected, found))| *expected != found.dtype())
            {
                bail!(
                    InvalidArgument,
                    "Got wrong type for scan_func return value {i} (expected {}, got {}).",
                    expected.cpp_name(),
                    found.dtype().cpp_name()
                );
            }
            if results.len() != state.len() + outputs.types.len() {
                bail!(InvalidArgument, "scan_func returned {} values. Expected: {}.", results.len(), state.len() + outputs.types.len());
            }
            let element = results.split_off(state.len());
            state = results;
            Ok(Some(element))
        }))
    });
    Ok(dataset.with_input(input))
}
