//! Shuffled datasets and datasets of random numbers: `ShuffleDataset`, `ShuffleAndRepeatDataset`, `RandomDataset`, `SamplingDataset`.
//!
//! Equal seeds produce the same order as in TensorFlow: every number is drawn from the same generator, at the same time.

use super::args::{Call, dataset_kernel};
use super::context::IteratorContext;
use super::element::{Dataset, DatasetRef, Element, Elements, INFINITE, Signature, UNKNOWN, check_room};
use super::seeds::SeedGenerator;
use flowmill_kernels::philox::Numbers;
use flowmill_runtime::KernelRegistry;
use flowmill_tensor::{DType, PartialShape, Result, Tensor, bail};
use std::collections::VecDeque;
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    for op in ["ShuffleDataset", "ShuffleDatasetV2", "ShuffleDatasetV3", "ShuffleAndRepeatDataset", "ShuffleAndRepeatDatasetV2"] {
        registry.add(op, |init| {
            let changes = init.attrs.get_or("reshuffle_each_iteration", true)?;
            dataset_kernel(init, move |call| shuffle(call, changes))
        });
    }
    for op in ["RandomDataset", "RandomDatasetV2", "ExperimentalRandomDataset"] {
        registry.add(op, |init| {
            let changes = init.attrs.get_or("rerandomize_each_iteration", false)?;
            dataset_kernel(init, move |call| random(call, changes))
        });
    }
    registry.add("SamplingDataset", |init| dataset_kernel(init, sample));
}

/// Returns the generator that the op's handle refers to, or one for the op's seeds.
fn generator(call: &Call<'_, '_>, changes: bool) -> Result<Arc<SeedGenerator>> {
    if call.args.has("seed_generator")
        && let Some(generator) = call.args.tensor(call.ctx, "seed_generator")?.as_resources()?.first().and_then(SeedGenerator::of_handle)
    {
        return Ok(generator);
    }
    match call.args.has("seed") {
        true => Ok(SeedGenerator::new(call.scalar("seed")?, call.scalar("seed2")?, changes)),
        false => Ok(SeedGenerator::new(0, 0, true)),
    }
}

fn shuffle(call: &mut Call<'_, '_>, changes: bool) -> Result<Dataset> {
    let input = call.input()?;
    let buffer_size: i64 = call.scalar("buffer_size")?;
    if buffer_size <= 0 && buffer_size != UNKNOWN {
        bail!(InvalidArgument, "buffer_size must be greater than zero or UNKNOWN_CARDINALITY");
    }
    let count = if call.args.has("count") { call.scalar("count")? } else { 1 };
    if count <= 0 && count != -1 {
        bail!(InvalidArgument, "count must be greater than zero or equal to -1.");
    }
    let cardinality = match input.cardinality {
        _ if count == -1 => INFINITE,
        known if known >= 0 => known.saturating_mul(count),
        other => other,
    };
    let (signature, generator) = (call.signature_or(&input), generator(call, changes)?);
    let source = input.clone();
    let dataset = Dataset::new(signature, cardinality, move |ctx| {
        let mut shuffle = Shuffle {
            input: source.clone(),
            ctx: ctx.clone(),
            generator: generator.clone(),
            numbers: ctx.seeds.draw(&generator),
            capacity: usize::try_from(buffer_size).ok(),
            count: u64::try_from(count).ok(),
            epoch: 0,
            current: None,
            slots: Vec::new(),
            num_elements: 0,
            slices: VecDeque::new(),
            produced: false,
        };
        Ok(Elements::new(move || shuffle.next()))
    });
    Ok(dataset.with_input(input))
}

/// A buffer that is filled in order and emptied in a random order. It may hold elements of several epochs, but an element is drawn from those of
/// its own epoch.
struct Shuffle {
    input: DatasetRef,
    ctx: Arc<IteratorContext>,
    generator: Arc<SeedGenerator>,
    numbers: Numbers,
    /// The size of the buffer, or `None` if it holds a whole epoch.
    capacity: Option<usize>,
    /// The number of epochs, or `None` for no end.
    count: Option<u64>,
    /// The number of epochs that have begun.
    epoch: u64,
    current: Option<Elements>,
    /// A ring buffer, whose slots are addressed modulo its size. It grows up to the capacity.
    slots: Vec<Option<Element>>,
    num_elements: usize,
    slices: VecDeque<Slice>,
    produced: bool,
}

/// The elements of one epoch that are in the buffer: `start` to `end`, modulo the buffer's size.
struct Slice {
    start: usize,
    end: usize,
    is_complete: bool,
}

/// The most epochs whose elements may be in the buffer, besides the current one.
const MAX_EPOCHS: usize = 3;

impl Shuffle {
    fn next(&mut self) -> Result<Option<Element>> {
        self.fill()?;
        if self.num_elements == 0 {
            return Ok(None);
        }
        while self.slices.front().is_some_and(|slice| slice.start == slice.end) {
            self.slices.pop_front();
            self.numbers = self.ctx.seeds.draw(&self.generator);
        }
        let size = self.size();
        let Some(slice) = self.slices.front_mut() else { return Ok(None) };
        let offset = self.numbers.next() as usize % (slice.end - slice.start);
        let (chosen, first) = ((slice.start + offset) % size, slice.start % size);
        slice.start += 1;
        self.num_elements -= 1;
        let element = self.slots.get_mut(chosen).and_then(Option::take);
        self.slots.swap(chosen, first);
        Ok(element)
    }

    /// Returns the size of the ring buffer, by which addresses are taken modulo.
    fn size(&self) -> usize {
        self.capacity.unwrap_or(self.slots.len()).max(1)
    }

    fn should_fill(&self) -> bool {
        if self.current.is_none() && self.count.is_some_and(|count| self.epoch >= count) {
            return false;
        }
        if self.slices.len() > MAX_EPOCHS && self.num_elements > 0 {
            return false;
        }
        let serving = self.slices.iter().find(|slice| slice.start != slice.end);
        match self.capacity {
            None if !serving.is_some_and(|slice| slice.is_complete) => true,
            capacity => self.num_elements < capacity.unwrap_or(self.slots.len()),
        }
    }

    fn fill(&mut self) -> Result<()> {
        while self.should_fill() {
            check_room(self.num_elements)?;
            if self.current.is_none() {
                let end = self.slices.back().map_or(0, |slice| slice.end);
                self.current = Some(self.input.elements(&self.ctx)?);
                self.slices.push_back(Slice { start: end, end, is_complete: false });
                self.epoch += 1;
            }
            let Some(current) = &mut self.current else { return Ok(()) };
            match current.next()? {
                Some(element) => self.add(element),
                None => {
                    self.current = None;
                    self.slices.back_mut().iter_mut().for_each(|slice| slice.is_complete = true);
                    // Without this, repeating an empty input for ever would not end.
                    if !self.produced && self.count.is_none() {
                        return Ok(());
                    }
                }
            }
        }
        Ok(())
    }

    fn add(&mut self, element: Element) {
        self.produced = true;
        let grows = self.capacity.is_none() && self.num_elements == self.slots.len();
        let size = self.size();
        let Some(slice) = self.slices.back_mut() else { return };
        let index = if grows { self.slots.len() } else { slice.end % size };
        if index >= self.slots.len() {
            self.slots.resize_with(index + 1, || None);
        }
        self.slots[index] = Some(element);
        self.num_elements += 1;
        slice.end += 1;
    }
}

fn random(call: &mut Call<'_, '_>, changes: bool) -> Result<Dataset> {
    let generator = generator(call, changes)?;
    let signature = Signature { types: vec![DType::I64], shapes: vec![PartialShape::scalar()] };
    Ok(Dataset::new(signature, INFINITE, move |ctx| {
        let mut numbers = ctx.seeds.draw(&generator);
        Ok(Elements::new(move || Ok(Some(vec![Tensor::scalar(i64::from(numbers.next()))]))))
    }))
}

fn sample(call: &mut Call<'_, '_>) -> Result<Dataset> {
    let input = call.input()?;
    let rate: f32 = call.scalar("rate")?;
    let seeds = [call.scalar("seed")?, call.scalar("seed2")?];
    let (source, signature) = (input.clone(), call.signature_or(&input));
    let dataset = Dataset::new(signature, UNKNOWN, move |ctx| {
        let mut elements = source.elements(ctx)?;
        let mut numbers = ctx.seeds.draw(&SeedGenerator::new(seeds[0], seeds[1], false));
        Ok(Elements::new(move || {
            while let Some(element) = elements.next()? {
                if numbers.uniform() < rate {
                    return Ok(Some(element));
                }
            }
            Ok(None)
        }))
    });
    Ok(dataset.with_input(input))
}
