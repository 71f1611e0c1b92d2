//! Datasets whose function maps each element to a dataset, which are read one after the other or in turn: `FlatMapDataset`, `InterleaveDataset`,
//! `ParallelInterleaveDataset`.

use super::any_order::any_order;
use super::args::{Args, Call, dataset_kernel};
use super::context::{Function, FunctionAttr, IteratorContext};
use super::element::{Dataset, DatasetRef, Element, Elements, UNKNOWN, of_tensor};
use super::map::{is_ordered, num_parallel_calls};
use super::parallel::{AUTOTUNE, Pipe, PipeOptions, Task, auto_threads};
use flowmill_runtime::{Kernel, KernelInit, KernelRegistry};
use flowmill_tensor::sync::{Condvar, Mutex};
use flowmill_tensor::{Result, bail};
use std::collections::VecDeque;
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("FlatMapDataset", |init| {
        let f = FunctionAttr::new(init, "f", "other_arguments")?;
        dataset_kernel(init, move |call| flat_map(call, &f))
    });
    registry.add("InterleaveDataset", |init| {
        let f = FunctionAttr::new(init, "f", "other_arguments")?;
        dataset_kernel(init, move |call| interleave(call, &f))
    });
    for op in [
        "ParallelInterleaveDataset",
        "ExperimentalParallelInterleaveDataset",
        "LegacyParallelInterleaveDatasetV2",
        "ParallelInterleaveDatasetV2",
        "ParallelInterleaveDatasetV3",
        "ParallelInterleaveDatasetV4",
    ] {
        registry.add(op, make_parallel_interleave);
    }
}

/// Returns the dataset to which `f` maps an element.
pub(super) fn dataset_of(f: &Function, ctx: &IteratorContext, element: Element) -> Result<DatasetRef> {
    match &f.call(ctx, element)?[..] {
        [dataset] => of_tensor(dataset),
        _ => bail!(InvalidArgument, "Function must return a single scalar of dtype DT_VARIANT."),
    }
}

fn flat_map(call: &mut Call<'_, '_>, f: &FunctionAttr) -> Result<Dataset> {
    let (input, f) = (call.input()?, f.capture(call.ctx)?);
    let source = input.clone();
    let dataset = Dataset::new(call.signature()?, UNKNOWN, move |ctx| {
        let (mut elements, f, ctx) = (source.elements(ctx)?, f.clone(), ctx.clone());
        let mut current: Option<Elements> = None;
        Ok(Elements::new(move || {
            loop {
                if let Some(inner) = &mut current
                    && let Some(element) = inner.next()?
                {
                    return Ok(Some(element));
                }
                current = None;
                let Some(element) = elements.next()? else { return Ok(None) };
                current = Some(dataset_of(&f, &ctx, element)?.elements(&ctx)?);
            }
        }))
    });
    Ok(dataset.with_input(input))
}

/// The open inner iterators, which are read in turn.
struct Cycle {
    slots: Vec<Option<Elements>>,
    at: usize,
    /// The number of elements that were taken from the current iterator in its turn.
    taken: i64,
    block_length: i64,
    input_ended: bool,
}

impl Cycle {
    fn new(length: usize, block_length: i64) -> Cycle {
        Cycle { slots: (0..length).map(|_| None).collect(), at: 0, taken: 0, block_length, input_ended: false }
    }

    fn advance(&mut self) {
        self.at = (self.at + 1) % self.slots.len();
        self.taken = 0;
    }

    /// Returns the next element; `open` opens the next inner iterator.
    fn next(&mut self, mut open: impl FnMut() -> Result<Option<Elements>>) -> Result<Option<Element>> {
        loop {
            if let Some(inner) = &mut self.slots[self.at] {
                // An error counts as an element.
                let element = inner.next();
                if let Ok(None) = element {
                    self.slots[self.at] = None;
                    self.advance();
                    continue;
                }
                self.taken += 1;
                if self.taken == self.block_length {
                    self.advance();
                }
                return element;
            }
            if !self.input_ended {
                match open()? {
                    Some(inner) => self.slots[self.at] = Some(inner),
                    None => self.input_ended = true,
                }
            } else if self.slots.iter().all(Option::is_none) {
                return Ok(None);
            } else {
                self.advance();
            }
        }
    }
}

/// The number of iterators that are opened ahead for each iterator of the cycle.
const ITERATORS_AHEAD: u64 = 2;

/// Returns the number of iterators in the cycle, and the number of elements that are taken from each in its turn.
fn cycle_arguments(call: &Call<'_, '_>) -> Result<(usize, i64)> {
    let (length, block): (i64, i64) = (call.scalar("cycle_length")?, call.scalar("block_length")?);
    let parallel = if call.args.has("num_parallel_calls") { Some(num_parallel_calls(call)?) } else { None };
    let threads = auto_threads() as i64;
    let length = match parallel {
        _ if length != AUTOTUNE => length,
        // For each iterator in the cycle, `ITERATORS_AHEAD` iterators may be opened ahead.
        Some(AUTOTUNE) => (threads as u64).div_ceil(1 + ITERATORS_AHEAD) as i64,
        Some(parallel) => parallel.min(threads),
        None => threads,
    };
    let Ok(length @ 1..) = usize::try_from(length) else { bail!(InvalidArgument, "cycle_length must be greater than zero.") };
    if block <= 0 {
        bail!(InvalidArgument, "block_length must be greater than zero.");
    }
    Ok((length, block))
}

/// The most iterators in a cycle. The open iterators are kept in memory, so a larger `cycle_length` is an error.
const MAX_CYCLE: usize = 1 << 20;

fn interleave(call: &mut Call<'_, '_>, f: &FunctionAttr) -> Result<Dataset> {
    let (input, f) = (call.input()?, f.capture(call.ctx)?);
    let (length, block) = cycle_arguments(call)?;
    let source = input.clone();
    let dataset = Dataset::new(call.signature()?, UNKNOWN, move |ctx| {
        let (mut elements, f, ctx) = (source.elements(ctx)?, f.clone(), ctx.clone());
        let mut cycle = Cycle::new(checked(length)?, block);
        Ok(Elements::new(move || {
            cycle.next(|| match elements.next()? {
                Some(element) => dataset_of(&f, &ctx, element)?.elements(&ctx).map(Some),
                None => Ok(None),
            })
        }))
    });
    Ok(dataset.with_input(input))
}

fn checked(length: usize) -> Result<usize> {
    match length {
        0..=MAX_CYCLE => Ok(length),
        _ => bail!(ResourceExhausted, "cycle_length {length} is more than {MAX_CYCLE}"),
    }
}

/// A semaphore that limits the number of concurrent callers.
struct Gate {
    free: Mutex<usize>,
    changed: Condvar,
}

impl Gate {
    fn pass<R>(&self, f: impl FnOnce() -> R) -> R {
        struct Leave<'a>(&'a Gate);
        impl Drop for Leave<'_> {
            fn drop(&mut self) {
                *self.0.free.lock() += 1;
                self.0.changed.notify_one();
            }
        }
        let mut free = self.free.lock();
        while *free == 0 {
            free = self.changed.wait(free);
        }
        *free -= 1;
        drop(free);
        let _leave = Leave(self);
        f()
    }
}

fn make_parallel_interleave(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let f = FunctionAttr::new(init, "f", "other_arguments")?;
    let (args, ordered) = (Args::of(init)?, is_ordered(init)?);
    dataset_kernel(init, move |call| {
        let ordered = ordered && !(args.has("sloppy") && call.scalar("sloppy")?);
        parallel_interleave(call, &f, ordered)
    })
}

/// Makes the dataset of all versions of `ParallelInterleaveDataset`: each open iterator computes elements ahead, and so do a few that are opened
/// before it is their turn.
fn parallel_interleave(call: &mut Call<'_, '_>, f: &FunctionAttr, ordered: bool) -> Result<Dataset> {
    let (input, f) = (call.input()?, f.capture(call.ctx)?);
    let (length, block) = cycle_arguments(call)?;
    let calls = if call.args.has("num_parallel_calls") { num_parallel_calls(call)? } else { length as i64 };
    let calls = PipeOptions::calls(calls, ordered).workers;
    let buffer_size = to_size(buffer(call, "buffer_output_elements", 1)?.unwrap_or(block));
    let ahead = to_size(buffer(call, "prefetch_input_elements", 0)?.unwrap_or(0));
    let source = input.clone();
    let dataset = Dataset::new(call.signature()?, UNKNOWN, move |ctx| {
        let (mut elements, f, ctx) = (source.elements(ctx)?, f.clone(), ctx.clone());
        let gate = Arc::new(Gate { free: Mutex::new(calls), changed: Condvar::new() });
        let (mut cycle, mut waiting) = (Cycle::new(checked(length)?, block), VecDeque::new());
        if !ordered {
            let their_ctx = ctx.clone();
            return Ok(any_order(&ctx, length, calls, move || match elements.next()? {
                Some(element) => dataset_of(&f, &their_ctx, element)?.elements(&their_ctx).map(Some),
                None => Ok(None),
            }));
        }
        let (mut started, mut ended) = (false, false);
        Ok(Elements::new(move || {
            // The whole first cycle is opened at once, so that all its iterators compute ahead from the start.
            let wanted = if started { ahead } else { length.saturating_add(ahead) };
            cycle.next(|| {
                while !ended && waiting.len() < wanted.max(1) {
                    match open_ahead(&mut elements, &f, &ctx, &gate, buffer_size) {
                        Ok(None) => ended = true,
                        other => waiting.push_back(other),
                    }
                }
                started = true;
                waiting.pop_front().unwrap_or(Ok(None))
            })
        }))
    });
    Ok(dataset.with_input(input))
}

fn to_size(elements: i64) -> usize {
    usize::try_from(elements).unwrap_or(0)
}

/// Returns the number of elements to buffer, or `None` if it is not specified.
fn buffer(call: &Call<'_, '_>, name: &str, least: i64) -> Result<Option<i64>> {
    if !call.args.has(name) {
        return Ok(None);
    }
    let elements: i64 = call.scalar(name)?;
    if elements < least && elements != AUTOTUNE {
        let relation = if least > 0 { "> 0" } else { ">= 0" };
        bail!(InvalidArgument, "`{name}` must be `tf.data.AUTOTUNE` or {relation} but is {elements}");
    }
    Ok(Some(elements).filter(|&elements| elements != AUTOTUNE))
}

/// Opens the next inner iterator and starts to compute its elements ahead.
fn open_ahead(
    elements: &mut Elements,
    f: &Arc<Function>,
    ctx: &Arc<IteratorContext>,
    gate: &Arc<Gate>,
    capacity: usize,
) -> Result<Option<Elements>> {
    let element = match elements.next() {
        Ok(Some(element)) => element,
        Ok(None) => return Ok(None),
        Err(e) => {
            // An error of the input takes a place in the cycle, for one turn.
            let mut failed = Some(e);
            return Ok(Some(Elements::new(move || failed.take().map_or(Ok(None), Err))));
        }
    };
    let (f, their_ctx, gate) = (f.clone(), ctx.clone(), gate.clone());
    let (mut element, mut inner) = (Some(element), None);
    let mut pipe = Pipe::new(ctx, PipeOptions { workers: 1, capacity, ordered: true }, move || {
        gate.pass(|| {
            if let Some(element) = element.take() {
                inner = Some(dataset_of(&f, &their_ctx, element)?.elements(&their_ctx)?);
            }
            let Some(inner) = &mut inner else { return Ok(None) };
            Ok(inner.next()?.map(|element| Box::new(move || Ok(element)) as Task<_>))
        })
    });
    pipe.start()?;
    Ok(Some(Elements::new(move || pipe.next())))
}
