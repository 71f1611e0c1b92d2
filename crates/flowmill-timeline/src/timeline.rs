//! The firings of a step, read from its statistics.

use crate::dataflow;
use crate::label::Label;
use crate::lanes;
use flowmill_proto::{NodeExecStats, StepStats};
use flowmill_tensor::{DType, PartialShape};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// The time that a node on a device with kernels of its own, such as a GPU, is shown for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OpTime {
    /// The time in which the node enqueues its kernels.
    #[default]
    Schedule,
    /// The time of its kernels, from the start of the first one to the end of the last one.
    Gpu,
    /// Both times.
    All,
}

/// The kind of an [`Event`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// A node computes.
    Compute,
    /// A node sends a tensor to another device.
    Send,
    /// A node waits for a tensor of another device, and receives it.
    Receive,
    /// A kernel runs on a stream of a device, as TensorFlow's tracer of GPUs reports.
    Kernel,
}

/// An input of an event.
#[derive(Clone, Debug)]
pub struct Input {
    /// The name of the tensor, or of the node for a control input.
    pub name: Arc<str>,
    /// True if the input is a tensor.
    pub is_data: bool,
    /// The event that produced it, if there is one.
    pub producer: Option<usize>,
}

/// An output of an event.
#[derive(Clone, Debug)]
pub struct OutputTensor {
    /// The number of the output.
    pub slot: u32,
    /// The element type, if the statistics have it.
    pub dtype: Option<DType>,
    /// The shape.
    pub shape: PartialShape,
    /// The number of bytes.
    pub bytes: u64,
    /// The address of the elements; 0 if it is unknown.
    pub address: u64,
    /// The allocator of the elements.
    pub allocator: Arc<str>,
}

/// One firing of a node. Times are nanoseconds since [`Timeline::start_nanos`]; `scheduled <= start <= end`.
#[derive(Clone, Debug)]
pub struct Event {
    /// The node's name.
    pub name: Arc<str>,
    /// Its op; empty if the statistics do not say it.
    pub op: Arc<str>,
    /// The kind.
    pub kind: EventKind,
    /// The device, by its number among [`Timeline::devices`].
    pub device: usize,
    /// The lane, by its number among the device's lanes.
    pub lane: usize,
    /// The number of events of its lane that it is within.
    pub depth: usize,
    /// The thread that it started on.
    pub thread: u32,
    /// The time when its last input arrived.
    pub scheduled: u64,
    /// The time when it started.
    pub start: u64,
    /// The time when it ended.
    pub end: u64,
    /// Its inputs, control inputs last.
    pub inputs: Vec<Input>,
    /// Its live outputs.
    pub outputs: Vec<OutputTensor>,
    /// For a receive, the event that sent the tensor.
    pub sender: Option<usize>,
    /// The frame of the innermost loop, and the iterations of the loops around it, outermost first, separated by commas.
    pub iteration: Option<(Arc<str>, Arc<str>)>,
    /// The tensor of a copy, with the devices that it goes from and to.
    pub copy: Option<Copied>,
    /// The bytes that it allocated, as the statistics say.
    pub bytes: u64,
}

/// The tensor of a copy.
#[derive(Clone, Debug)]
pub struct Copied {
    /// The name of the tensor.
    pub tensor: Arc<str>,
    /// The device that sends it.
    pub from: Arc<str>,
    /// The device that receives it.
    pub to: Arc<str>,
    /// The number of bytes; 0 if it is unknown.
    pub bytes: u64,
}

impl Event {
    /// Returns the nanoseconds from start to end.
    pub fn duration(&self) -> u64 {
        self.end.saturating_sub(self.start)
    }

    /// Returns the nanoseconds from when the last input arrived to the start.
    pub fn wait(&self) -> u64 {
        self.start.saturating_sub(self.scheduled)
    }
}

/// A row of events of which none overlap except by nesting.
#[derive(Clone, Debug)]
pub struct Lane {
    /// The name: `thread 1`, or `receives`.
    pub name: String,
}

/// A device with its lanes.
#[derive(Clone, Debug)]
pub struct Device {
    /// The full name.
    pub name: String,
    /// The lanes, threads first.
    pub lanes: Vec<Lane>,
}

/// The events of a step.
#[derive(Clone, Debug, Default)]
pub struct Timeline {
    /// The devices, in the order of the statistics.
    pub devices: Vec<Device>,
    /// The events, by device, in the order of the statistics.
    pub events: Vec<Event>,
    /// The time of the first event, in nanoseconds since the Unix epoch.
    pub start_nanos: i64,
}

impl Timeline {
    /// Reads the statistics of a step. Times that do not fit together are shortened: no statistics make this fail.
    pub fn new(stats: &StepStats, op_time: OpTime) -> Timeline {
        let mut reader = Reader { origin: origin(stats), strings: FxHashMap::default(), events: Vec::new() };
        let kernels = KernelTimes::new(stats, op_time);
        for (device, dev_stats) in stats.dev_stats.iter().enumerate() {
            let is_stream = is_stream(&dev_stats.device);
            for node in &dev_stats.node_stats {
                let event = reader.event(node, device, is_stream);
                reader.events.push(event);
            }
        }
        if let Some(kernels) = kernels {
            kernels.apply(&mut reader.events, stats, reader.origin);
        }
        let devices = stats.dev_stats.iter().map(|d| Device { name: d.device.clone(), lanes: Vec::new() }).collect();
        let mut timeline = Timeline { devices, events: reader.events, start_nanos: reader.origin };
        dataflow::connect(&mut timeline.events);
        lanes::assign(&mut timeline);
        timeline
    }

    /// Returns the time from the first to the last event, in nanoseconds.
    pub fn duration(&self) -> u64 {
        self.events.iter().map(|event| event.end).max().unwrap_or(0)
    }
}

/// Returns true for the devices under which TensorFlow's tracer of GPUs reports kernels and copies.
fn is_stream(device: &str) -> bool {
    device.contains("/stream:") || device.contains("/memcpy")
}

fn start_of(node: &NodeExecStats) -> i64 {
    if node.all_start_nanos != 0 { node.all_start_nanos } else { node.all_start_micros.saturating_mul(1000) }
}

fn scheduled_of(node: &NodeExecStats) -> i64 {
    let scheduled = if node.scheduled_nanos != 0 { node.scheduled_nanos } else { node.scheduled_micros.saturating_mul(1000) };
    if scheduled == 0 { start_of(node) } else { scheduled.min(start_of(node)) }
}

fn duration_of(node: &NodeExecStats) -> u64 {
    let nanos = node.all_end_rel_nanos.max(node.op_end_rel_nanos);
    let micros = node.all_end_rel_micros.max(node.op_end_rel_micros).saturating_mul(1000);
    u64::try_from(if nanos > 0 { nanos } else { micros }).unwrap_or(0)
}

/// Returns the time when the first node was scheduled, in nanoseconds since the Unix epoch.
fn origin(stats: &StepStats) -> i64 {
    stats.dev_stats.iter().flat_map(|device| &device.node_stats).map(scheduled_of).min().unwrap_or(0)
}

struct Reader {
    origin: i64,
    strings: FxHashMap<String, Arc<str>>,
    events: Vec<Event>,
}

impl Reader {
    /// Returns the nanoseconds since the origin.
    fn relative(&self, nanos: i64) -> u64 {
        nanos.saturating_sub(self.origin).max(0) as u64
    }

    fn intern(&mut self, text: &str) -> Arc<str> {
        if let Some(found) = self.strings.get(text) {
            return found.clone();
        }
        let made: Arc<str> = text.into();
        self.strings.insert(text.to_owned(), made.clone());
        made
    }

    fn event(&mut self, node: &NodeExecStats, device: usize, is_stream: bool) -> Event {
        let label = Label::parse(&node.timeline_label);
        let (name, op) = if is_stream { kernel_name(node) } else { (node.node_name.as_str(), label.op) };
        // TensorFlow names receives from other processes so, and gives them no op.
        let op = if op.is_empty() && label.copy.is_some() { node.node_name.as_str() } else { op };
        let start = self.relative(start_of(node));
        let outputs = node.output.iter().map(|output| self.output(output)).collect();
        let kind = match &label.copy {
            _ if is_stream => EventKind::Kernel,
            None => EventKind::Compute,
            Some(_) if label.inputs.iter().any(|input| !input.starts_with('^')) => EventKind::Send,
            Some(_) => EventKind::Receive,
        };
        let input = |reader: &mut Reader, input: &str| Input {
            name: reader.intern(input.trim_start_matches('^')),
            is_data: !input.starts_with('^'),
            producer: None,
        };
        Event {
            name: self.intern(name),
            op: self.intern(op),
            kind,
            device,
            lane: 0,
            depth: 0,
            thread: node.thread_id,
            scheduled: self.relative(scheduled_of(node)),
            start,
            end: start.saturating_add(duration_of(node)),
            inputs: label.inputs.iter().map(|name| input(self, name)).collect(),
            outputs,
            sender: None,
            iteration: label.iteration.map(|(frame, numbers)| (self.intern(frame), self.intern(numbers))),
            copy: label.copy.map(|copy| Copied {
                tensor: self.intern(copy.tensor),
                from: self.intern(copy.from),
                to: self.intern(copy.to),
                bytes: copy.bytes,
            }),
            bytes: node.memory.iter().map(|memory| memory.total_bytes.max(0) as u64).fold(0, u64::saturating_add),
        }
    }

    fn output(&mut self, output: &flowmill_proto::NodeOutput) -> OutputTensor {
        let description = output.tensor_description.as_ref();
        let allocation = description.and_then(|d| d.allocation_description.as_ref());
        OutputTensor {
            slot: u32::try_from(output.slot).unwrap_or(0),
            dtype: description.and_then(|d| DType::from_number(d.dtype)),
            shape: description.and_then(|d| d.shape.as_ref()).map_or_else(PartialShape::unknown, PartialShape::from_proto),
            bytes: allocation.map_or(0, |a| a.requested_bytes.max(0) as u64),
            address: allocation.map_or(0, |a| a.ptr),
            allocator: self.intern(allocation.map_or("", |a| &a.allocator_name)),
        }
    }
}

/// Returns the node's name and op of a kernel on a stream: `NODE:OP` in the name, or in the label between `@@` and `#`.
fn kernel_name(node: &NodeExecStats) -> (&str, &str) {
    let annotation = node.timeline_label.split_once("@@").and_then(|(_, rest)| rest.split_once('#')).map(|(name, _)| name);
    let name = annotation.filter(|name| !name.is_empty()).unwrap_or(&node.node_name);
    name.split_once(':').map_or((name, ""), |(name, op)| (name, op.split(':').next().unwrap_or(op)))
}

/// The times of nodes' kernels on streams, by the names of nodes.
struct KernelTimes<'a> {
    times: FxHashMap<&'a str, (i64, i64)>,
    op_time: OpTime,
}

impl<'a> KernelTimes<'a> {
    fn new(stats: &'a StepStats, op_time: OpTime) -> Option<KernelTimes<'a>> {
        if op_time == OpTime::Schedule {
            return None;
        }
        let mut times: FxHashMap<&str, (i64, i64)> = FxHashMap::default();
        for kernel in stats.dev_stats.iter().filter(|d| d.device.contains("/stream:all")).flat_map(|device| &device.node_stats) {
            let start = start_of(kernel);
            let end = start.saturating_add_unsigned(duration_of(kernel));
            let known = times.entry(kernel_name(kernel).0).or_insert((start, end));
            *known = (known.0.min(start), known.1.max(end));
        }
        Some(KernelTimes { times, op_time })
    }

    fn apply(&self, events: &mut [Event], stats: &StepStats, origin: i64) {
        let relative = |nanos: i64| nanos.saturating_sub(origin).max(0) as u64;
        let is_node =
            |event: &Event| event.kind != EventKind::Kernel && stats.dev_stats.get(event.device).is_some_and(|d| d.device.contains("/job"));
        for event in events.iter_mut().filter(|event| is_node(event)) {
            let Some(&(start, end)) = self.times.get(&*event.name) else { continue };
            event.end = event.end.max(relative(end));
            if self.op_time == OpTime::Gpu {
                event.start = relative(start).min(event.end);
                event.scheduled = event.scheduled.min(event.start);
            }
        }
    }
}
