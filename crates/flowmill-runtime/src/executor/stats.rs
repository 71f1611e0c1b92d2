//! Execution statistics: which nodes a step ran, when, and on which thread.

use crate::device::Device;
use crate::kernel::{IterationPath, TransferName};
use flowmill_tensor::sync::Mutex;
use flowmill_tensor::{DType, Shape, Tensor};
use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// One firing of a node. Times are nanoseconds since [`StatsCollector::start_time`]; `scheduled <= start <= end`.
#[derive(Clone, Debug)]
pub struct NodeStats {
    /// The node's name.
    pub name: Arc<str>,
    /// Its op.
    pub op: Arc<str>,
    /// True for a node of a function that the step called. Its name is unique in the function only.
    pub is_in_function: bool,
    /// The full name of the device that it ran on.
    pub device: Arc<str>,
    /// The number of the thread that it started on. Threads are numbered in the order in which they first record something.
    pub thread: u32,
    /// The time when its last input arrived, rounded to 64 ns.
    pub scheduled: u64,
    /// The time when its kernel started.
    pub start: u64,
    /// The time when its kernel ended.
    pub end: u64,
    /// The number of bytes of its live outputs.
    pub output_bytes: u64,
    /// The number of bytes of the device's memory that were in use after its kernel ended, if the device counts them.
    pub device_bytes: Option<u64>,
    /// The producers of its inputs, those of control inputs last. Constants and loop invariants are among them. Empty if the plan was not made by
    /// [`Plan::traced`](super::Plan::traced).
    pub inputs: Box<[InputStats]>,
    /// Its outputs; `None` for a dead one.
    pub outputs: Box<[Option<OutputStats>]>,
    /// The name of the innermost loop's frame, if it is in a loop.
    pub frame: Option<Arc<str>>,
    /// The iterations of the loops around it, outermost first.
    pub iteration: IterationPath,
    /// The tensor that it sends or receives, if it does.
    pub transfer: Option<TransferName>,
    /// The way in which its kernel computed, if the kernel chooses between several.
    pub algorithm: Option<&'static str>,
}

/// The producer of an input.
#[derive(Clone, Debug)]
pub struct InputStats {
    /// The name of the producing node.
    pub name: Arc<str>,
    /// The output of the producer; `None` for a control input.
    pub slot: Option<u32>,
}

/// One output of a firing.
#[derive(Clone, Debug)]
pub struct OutputStats {
    /// The element type.
    pub dtype: DType,
    /// The shape.
    pub shape: Shape,
    /// The number of bytes of the elements.
    pub bytes: u64,
    /// The address of the elements, or of the object that knows them in the memory of a device; 0 if they are in the tensor itself. Two tensors with one
    /// address that live at the same time share memory.
    pub address: u64,
}

impl OutputStats {
    /// Describes the outputs of a firing.
    pub(super) fn of(outputs: &[Option<Tensor>]) -> Box<[Option<OutputStats>]> {
        let of = |t: &Tensor| OutputStats {
            dtype: t.dtype(),
            shape: t.shape().clone(),
            bytes: t.num_bytes() as u64,
            address: t.address() as u64,
        };
        outputs.iter().map(|output| output.as_ref().map(of)).collect()
    }
}

/// Collects statistics of steps.
pub struct StatsCollector {
    origin: Instant,
    start_time: SystemTime,
    nodes: Mutex<Vec<NodeStats>>,
}

impl Default for StatsCollector {
    fn default() -> StatsCollector {
        StatsCollector { origin: Instant::now(), start_time: SystemTime::now(), nodes: Mutex::default() }
    }
}

static NEXT_THREAD: AtomicU32 = AtomicU32::new(0);

thread_local! {
    static THREAD: Cell<Option<u32>> = const { Cell::new(None) };
}

fn thread_number() -> u32 {
    THREAD.get().unwrap_or_else(|| {
        let number = NEXT_THREAD.fetch_add(1, Ordering::Relaxed);
        THREAD.set(Some(number));
        number
    })
}

impl StatsCollector {
    /// Makes an empty collector. Its clock starts now.
    pub fn new() -> StatsCollector {
        StatsCollector::default()
    }

    /// Returns the time when the clock started, in microseconds since the Unix epoch.
    pub fn start_time(&self) -> u64 {
        self.start_time.duration_since(UNIX_EPOCH).map_or(0, |d| u64::try_from(d.as_micros()).unwrap_or(u64::MAX))
    }

    /// Returns the records in the order in which nodes ended, and empties the collector.
    pub fn take(&self) -> Vec<NodeStats> {
        std::mem::take(&mut *self.nodes.lock())
    }

    /// Calls `f` with the records so far, in the order in which nodes ended.
    pub fn with<T>(&self, f: impl FnOnce(&[NodeStats]) -> T) -> T {
        f(&self.nodes.lock())
    }

    /// Returns the nanoseconds since the clock started.
    fn now(&self) -> u64 {
        u64::try_from(self.origin.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    /// Returns the collector with a device, for the nodes that run there.
    pub(super) fn on(self: &Arc<StatsCollector>, device: &Arc<dyn Device>, is_in_function: bool) -> DeviceStats {
        DeviceStats { collector: self.clone(), name: device.attributes().name.to_string().into(), device: device.clone(), is_in_function }
    }
}

/// The record of a firing, without what the collector adds.
pub(super) struct Firing<'a> {
    pub name: &'a Arc<str>,
    pub op: &'a Arc<str>,
    pub scheduled: u64,
    pub start: u64,
    pub end: u64,
    pub inputs: Box<[InputStats]>,
    pub outputs: Box<[Option<OutputStats>]>,
    pub frame: Option<Arc<str>>,
    pub iteration: IterationPath,
    pub transfer: Option<TransferName>,
    pub algorithm: Option<&'static str>,
}

/// A collector, with the device that runs the nodes.
pub(super) struct DeviceStats {
    collector: Arc<StatsCollector>,
    device: Arc<dyn Device>,
    name: Arc<str>,
    is_in_function: bool,
}

impl DeviceStats {
    /// Returns the nanoseconds since the clock started.
    pub(super) fn now(&self) -> u64 {
        self.collector.now()
    }

    /// Records a firing.
    pub(super) fn record(&self, firing: Firing<'_>) {
        let Firing { name, op, scheduled, start, end, inputs, outputs, frame, iteration, transfer, algorithm } = firing;
        let node = NodeStats {
            name: name.clone(),
            op: op.clone(),
            is_in_function: self.is_in_function,
            device: self.name.clone(),
            device_bytes: self.device.memory_stats().map(|stats| stats.bytes_in_use as u64),
            thread: thread_number(),
            scheduled: scheduled.min(start),
            start,
            end,
            output_bytes: outputs.iter().flatten().map(|output| output.bytes).sum(),
            inputs,
            outputs,
            frame,
            iteration,
            transfer,
            algorithm,
        };
        self.collector.nodes.lock().push(node);
    }
}
