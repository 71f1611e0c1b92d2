//! Chrome's trace format, which Perfetto and `chrome://tracing` show.
//!
//! Processes are devices, threads are lanes. Besides nodes (`X`) there are arrows along data and copies (`s`, `t`), counters of memory and of nodes that
//! wait for a thread (`C`), and a process with the critical path (`b`, `e`). Events of one thread nest or do not overlap. The document is written as it is made.

use crate::shares::op_of;
use crate::timeline::{Event, EventKind, Lane, OutputTensor, Timeline};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::io::{self, Write};

/// Parts of a trace that may be left out.
#[derive(Clone, Copy, Debug)]
pub struct ChromeOptions {
    /// Arrows from producers to consumers in other lanes, and from sends to receives.
    pub dataflow: bool,
    /// Counters of the bytes of live tensors.
    pub memory: bool,
    /// An object per tensor, as TensorFlow writes them.
    pub tensors: bool,
    /// Counters of nodes that wait for a thread, and the process of the critical path.
    pub analysis: bool,
    /// Times since the Unix epoch instead of since the start of the step.
    pub absolute: bool,
    /// One event per line.
    pub lines: bool,
}

impl Default for ChromeOptions {
    fn default() -> ChromeOptions {
        ChromeOptions { dataflow: true, memory: true, tensors: false, analysis: true, absolute: false, lines: true }
    }
}

/// The process of the critical path.
const CRITICAL_PATH: usize = 0;

/// Returns the process of a device.
fn process_of(device: usize) -> usize {
    2 * device + 1
}

/// Returns the process of a device's tensors.
fn tensors_of(device: usize) -> usize {
    2 * device + 2
}

impl Timeline {
    /// Writes the trace as JSON.
    ///
    /// # Errors
    /// Returns the error of `out`.
    pub fn write_chrome(&self, out: impl Write, options: ChromeOptions) -> io::Result<()> {
        let base = if options.absolute { self.start_nanos } else { 0 };
        let mut writer = EventWriter { out, base, separator: if options.lines { ",\n" } else { "," }, is_first: true };
        writer.out.write_all(b"{\"displayTimeUnit\":\"ns\",\"traceEvents\":[")?;
        if options.lines {
            writer.out.write_all(b"\n")?;
        }
        self.write_names(&mut writer, options)?;
        let path = if options.analysis { self.critical_path().events } else { Vec::new() };
        let mut is_critical = vec![false; self.events.len()];
        path.iter().for_each(|&i| is_critical[i] = true);
        for (event, is_critical) in self.events.iter().zip(is_critical) {
            let mut args = self.args(event);
            if is_critical {
                args.insert("critical_path".into(), true.into());
            }
            writer.slice("Op", op_of(event), process_of(event.device), event.lane, event.start, event.duration(), args)?;
        }
        if options.dataflow {
            self.write_flows(&mut writer)?;
        }
        if options.memory {
            self.write_memory(&mut writer)?;
        }
        if options.tensors {
            self.write_tensors(&mut writer)?;
        }
        if options.analysis {
            self.write_waits(&mut writer)?;
            self.write_critical_path(&mut writer, &path)?;
        }
        writer.out.write_all(if options.lines { b"\n]}\n" } else { b"]}" })?;
        writer.out.flush()
    }

    fn write_names(&self, writer: &mut EventWriter<impl Write>, options: ChromeOptions) -> io::Result<()> {
        if options.analysis && !self.events.is_empty() {
            writer.name("process_name", CRITICAL_PATH, None, "Critical path")?;
        }
        for (i, device) in self.devices.iter().enumerate() {
            writer.name("process_name", process_of(i), None, &format!("{} Compute", device.name))?;
            if options.tensors {
                writer.name("process_name", tensors_of(i), None, &format!("{} Tensors", device.name))?;
            }
            for (lane, Lane { name }) in device.lanes.iter().enumerate() {
                writer.name("thread_name", process_of(i), Some(lane), name)?;
                let event =
                    json!({"name": "thread_sort_index", "ph": "M", "pid": process_of(i), "tid": lane, "args": {"sort_index": lane}});
                writer.event(event, None)?;
            }
        }
        Ok(())
    }

    /// Returns the arguments of an event.
    fn args(&self, event: &Event) -> Map<String, Value> {
        let mut args = Map::new();
        args.insert("name".into(), (*event.name).into());
        args.insert("op".into(), op_of(event).into());
        for (i, input) in event.inputs.iter().enumerate() {
            let control = if input.is_data { "" } else { "^" };
            args.insert(format!("input{i}"), format!("{control}{}", input.name).into());
        }
        for output in &event.outputs {
            args.insert(format!("output{}", output.slot), describe(output).into());
        }
        if let Some((frame, numbers)) = &event.iteration {
            args.insert("frame".into(), (**frame).into());
            args.insert("iteration".into(), (**numbers).into());
        }
        if let Some(copy) = &event.copy {
            args.insert("tensor".into(), (*copy.tensor).into());
            args.insert("from".into(), (*copy.from).into());
            args.insert("to".into(), (*copy.to).into());
            args.insert("bytes".into(), copy.bytes.into());
        }
        if event.wait() > 0 {
            args.insert("wait_us".into(), (event.wait() as f64 / 1e3).into());
        }
        args
    }

    fn write_flows(&self, writer: &mut EventWriter<impl Write>) -> io::Result<()> {
        let mut id = 0;
        for consumer in &self.events {
            if let Some(sender) = consumer.sender.and_then(|sender| self.events.get(sender)) {
                let name = consumer.copy.as_ref().map_or("", |copy| &copy.tensor);
                writer.flow("Copy", name, sender, consumer, last_instant(consumer), &mut id)?;
            }
            for input in &consumer.inputs {
                let Some(producer) = input.producer.and_then(|producer| self.events.get(producer)) else { continue };
                // Arrows within a lane would only hide it.
                if (producer.device, producer.lane) != (consumer.device, consumer.lane) {
                    writer.flow("DataFlow", &input.name, producer, consumer, consumer.start, &mut id)?;
                }
            }
        }
        Ok(())
    }

    fn write_memory(&self, writer: &mut EventWriter<impl Write>) -> io::Result<()> {
        for ((device, allocator), samples) in self.memory() {
            let name = if allocator.is_empty() { "memory".to_owned() } else { format!("memory ({allocator})") };
            for sample in samples {
                writer.counter("Memory", &name, process_of(device), sample.time, "bytes", sample.bytes)?;
            }
        }
        Ok(())
    }

    /// Writes how many nodes of each device have their inputs and wait for a thread.
    fn write_waits(&self, writer: &mut EventWriter<impl Write>) -> io::Result<()> {
        let mut changes: BTreeMap<(usize, u64), i64> = BTreeMap::new();
        for event in self.events.iter().filter(|event| event.wait() > 0 && event.kind != EventKind::Kernel) {
            *changes.entry((event.device, event.scheduled)).or_default() += 1;
            *changes.entry((event.device, event.start)).or_default() -= 1;
        }
        let (mut of, mut waiting) = (usize::MAX, 0i64);
        for ((device, time), change) in changes {
            waiting = if device == of { waiting + change } else { change };
            of = device;
            if change != 0 {
                writer.counter("Wait", "nodes that wait", process_of(device), time, "nodes", waiting.max(0) as u64)?;
            }
        }
        Ok(())
    }

    /// Writes the critical path as asynchronous events, so that programs that add up slices do not count its nodes twice.
    fn write_critical_path(&self, writer: &mut EventWriter<impl Write>, path: &[usize]) -> io::Result<()> {
        let mut until = None;
        for event in path.iter().filter_map(|&i| self.events.get(i)) {
            let start = event.start.max(until.unwrap_or(event.start));
            if let Some(until) = until.filter(|&until| until < start) {
                writer.asynchronous("Wait", "wait", until, start, Map::new())?;
            }
            let name = if event.kind == EventKind::Receive { "receive" } else { &event.name };
            writer.asynchronous("CriticalPath", name, start, event.end.max(start), self.args(event))?;
            until = Some(event.end);
        }
        Ok(())
    }

    fn write_tensors(&self, writer: &mut EventWriter<impl Write>) -> io::Result<()> {
        let mut id = 0;
        for event in &self.events {
            for output in &event.outputs {
                let name = if output.slot == 0 { event.name.to_string() } else { format!("{}:{}", event.name, output.slot) };
                let object = |ph: &str, args: Value| json!({"ph": ph, "cat": "Tensor", "name": name, "pid": tensors_of(event.device), "tid": event.lane, "id": id, "args": args});
                writer.event(object("N", json!({})), Some(event.start))?;
                let snapshot = json!({"snapshot": {"tensor_description": describe(output), "bytes": output.bytes}});
                writer.event(object("O", snapshot), Some(last_instant(event)))?;
                writer.event(object("D", json!({})), Some(event.end))?;
                id += 1;
            }
        }
        Ok(())
    }
}

/// Returns the type, the shape and the bytes of a tensor as text.
pub(crate) fn describe(output: &OutputTensor) -> String {
    let dtype = output.dtype.map_or("", |dtype| dtype.name());
    format!("{dtype} {}, {} bytes", output.shape, output.bytes)
}

/// Returns a time within an event, as near as possible to its end. An arrow at the end itself would belong to the event that follows.
fn last_instant(event: &Event) -> u64 {
    if event.end > event.start { event.end - 1 } else { event.end }
}

struct EventWriter<W> {
    out: W,
    /// The nanoseconds that are added to times.
    base: i64,
    separator: &'static str,
    is_first: bool,
}

impl<W: Write> EventWriter<W> {
    /// Writes an event at `time`, in nanoseconds.
    fn event(&mut self, mut event: Value, time: Option<u64>) -> io::Result<()> {
        if !std::mem::take(&mut self.is_first) {
            self.out.write_all(self.separator.as_bytes())?;
        }
        // Times are written as decimal fractions: a number of nanoseconds since the epoch has more digits than a float.
        let duration = event.as_object_mut().and_then(|fields| fields.remove("dur")).and_then(|dur| dur.as_u64());
        let text = event.to_string();
        self.out.write_all(text.strip_suffix('}').unwrap_or(&text).as_bytes())?;
        if let Some(time) = time {
            write!(self.out, ",\"ts\":{}", micros(i128::from(self.base) + i128::from(time)))?;
        }
        if let Some(duration) = duration {
            write!(self.out, ",\"dur\":{}", micros(i128::from(duration)))?;
        }
        self.out.write_all(b"}")
    }

    fn name(&mut self, kind: &str, process: usize, thread: Option<usize>, name: &str) -> io::Result<()> {
        let mut event = json!({"name": kind, "ph": "M", "pid": process, "args": {"name": name}});
        if let (Some(thread), Some(fields)) = (thread, event.as_object_mut()) {
            fields.insert("tid".into(), thread.into());
        }
        self.event(event, None)
    }

    #[allow(clippy::too_many_arguments, reason = "the fields of an event")]
    fn slice(
        &mut self,
        category: &str,
        name: &str,
        process: usize,
        thread: usize,
        start: u64,
        duration: u64,
        args: Map<String, Value>,
    ) -> io::Result<()> {
        let event = json!({"ph": "X", "cat": category, "name": name, "pid": process, "tid": thread, "dur": duration, "args": args});
        self.event(event, Some(start))
    }

    /// Writes an event of the process of the critical path.
    fn asynchronous(&mut self, category: &str, name: &str, start: u64, end: u64, args: Map<String, Value>) -> io::Result<()> {
        let event = |ph: &str, args: Map<String, Value>| json!({"ph": ph, "cat": category, "name": name, "id": 1, "pid": CRITICAL_PATH, "tid": 0, "args": args});
        self.event(event("b", args), Some(start))?;
        self.event(event("e", Map::new()), Some(end))
    }

    fn flow(&mut self, category: &str, name: &str, from: &Event, to: &Event, at: u64, id: &mut u64) -> io::Result<()> {
        let event = |ph: &str, of: &Event| json!({"ph": ph, "cat": category, "name": name, "id": *id, "pid": process_of(of.device), "tid": of.lane});
        self.event(event("s", from), Some(last_instant(from)))?;
        self.event(event("t", to), Some(at))?;
        *id += 1;
        Ok(())
    }

    fn counter(&mut self, category: &str, name: &str, process: usize, time: u64, unit: &str, value: u64) -> io::Result<()> {
        self.event(json!({"ph": "C", "cat": category, "name": name, "pid": process, "tid": 0, "args": {unit: value}}), Some(time))
    }
}

/// Returns nanoseconds as microseconds with three digits after the point.
fn micros(nanos: i128) -> String {
    let sign = if nanos < 0 { "-" } else { "" };
    let nanos = nanos.unsigned_abs();
    format!("{sign}{}.{:03}", nanos / 1000, nanos % 1000)
}
