//! Measured costs: moving averages over the statistics of steps, by node.

use flowmill_tensor::{DType, PartialShape};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// The number of steps that a moving average spans. Until then it is the mean of all steps.
const WINDOW: f64 = 32.0;

/// A moving average.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Average {
    mean: f64,
    count: u64,
}

impl Average {
    /// Adds a value.
    pub fn add(&mut self, value: f64) {
        self.count += 1;
        self.mean += (value - self.mean) / (self.count as f64).min(WINDOW);
    }

    /// Returns the average; `None` if no value was added.
    pub fn get(&self) -> Option<f64> {
        (self.count > 0).then_some(self.mean)
    }

    /// Returns the number of values that were added.
    pub fn count(&self) -> u64 {
        self.count
    }
}

/// One output of one execution of a node.
#[derive(Clone, Debug, PartialEq)]
pub struct OutputSample {
    /// The element type.
    pub dtype: DType,
    /// The shape.
    pub shape: PartialShape,
    /// The bytes of the elements.
    pub bytes: u64,
}

/// One execution of a node.
#[derive(Clone, Debug)]
pub struct Sample<'a> {
    /// The node's name.
    pub name: &'a str,
    /// The full name of the node's device.
    pub device: &'a str,
    /// Nanoseconds in the kernel.
    pub nanoseconds: u64,
    /// The outputs; `None` for one that is dead.
    pub outputs: Vec<Option<OutputSample>>,
    /// Bytes that the kernel allocated besides its outputs, at most at once.
    pub temporary: u64,
}

/// The measured costs of one output.
#[derive(Clone, Debug, Default)]
pub struct MeasuredOutput {
    /// Bytes per execution.
    pub bytes: Average,
    /// The largest tensor.
    pub largest: Option<OutputSample>,
}

/// The measured costs of one node.
#[derive(Clone, Debug, Default)]
pub struct MeasuredNode {
    /// The full name of the device of the last measured step. The averages of times are those on this device.
    pub device: Option<Arc<str>>,
    /// Nanoseconds per execution, of which each step counts with its mean.
    pub time: Average,
    /// Nanoseconds of all executions of a step.
    pub step_time: Average,
    /// The longest execution, in nanoseconds.
    pub max_time: u64,
    /// Executions per step: more than 1 in loops.
    pub executions: Average,
    /// The outputs.
    pub outputs: Vec<MeasuredOutput>,
    /// The most bytes that the kernel allocated besides its outputs.
    pub max_temporary: u64,
}

/// Measured costs of the nodes of one graph.
#[derive(Clone, Debug, Default)]
pub struct MeasuredCosts {
    nodes: FxHashMap<Arc<str>, MeasuredNode>,
    num_steps: u64,
}

impl MeasuredCosts {
    /// Returns costs without measurements.
    pub fn new() -> MeasuredCosts {
        MeasuredCosts::default()
    }

    /// Merges the executions of one step.
    pub fn add_step<'a>(&mut self, samples: impl IntoIterator<Item = Sample<'a>>) {
        self.num_steps += 1;
        // Each node's nanoseconds and executions. The order of the samples decides the averages' last bits, the map's order does not.
        let mut sums: FxHashMap<Arc<str>, (u64, u64)> = FxHashMap::default();
        for sample in samples {
            let name: Arc<str> = match self.nodes.get_key_value(sample.name) {
                Some((name, _)) => Arc::clone(name),
                None => sample.name.into(),
            };
            let node = self.nodes.entry(Arc::clone(&name)).or_default();
            node.add(&sample);
            let (time, count) = sums.entry(name).or_default();
            (*time, *count) = (time.saturating_add(sample.nanoseconds), *count + 1);
        }
        for (name, (time, count)) in sums {
            if let Some(node) = self.nodes.get_mut(&name) {
                node.executions.add(count as f64);
                node.step_time.add(time as f64);
                node.time.add(time as f64 / count.max(1) as f64);
            }
        }
    }

    /// Returns the number of steps that were merged.
    pub fn num_steps(&self) -> u64 {
        self.num_steps
    }

    /// Returns the costs of a node; `None` if no step has run it.
    pub fn get(&self, name: &str) -> Option<&MeasuredNode> {
        self.nodes.get(name)
    }
}

impl MeasuredNode {
    fn add(&mut self, sample: &Sample<'_>) {
        if self.device.as_deref() != Some(sample.device) {
            // Times on another device say nothing about this one.
            self.device = Some(sample.device.into());
            (self.time, self.step_time) = (Average::default(), Average::default());
        }
        self.max_time = self.max_time.max(sample.nanoseconds);
        self.max_temporary = self.max_temporary.max(sample.temporary);
        if self.outputs.len() < sample.outputs.len() {
            self.outputs.resize_with(sample.outputs.len(), MeasuredOutput::default);
        }
        for (output, sample) in self.outputs.iter_mut().zip(&sample.outputs) {
            let Some(sample) = sample else { continue };
            output.bytes.add(sample.bytes as f64);
            if output.largest.as_ref().is_none_or(|largest| largest.bytes < sample.bytes) {
                output.largest = Some(sample.clone());
            }
        }
    }

    /// Returns the nanoseconds per step.
    pub fn time_per_step(&self) -> Option<f64> {
        self.step_time.get()
    }
}
