//! The memory of a step's tensors over time.

use crate::timeline::Timeline;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The bytes in use from a time on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemorySample {
    /// Nanoseconds since the start of the timeline.
    pub time: u64,
    /// The bytes of live tensors.
    pub bytes: u64,
}

/// The largest memory in use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemoryPeak {
    /// Nanoseconds since the start of the timeline.
    pub time: u64,
    /// The bytes of live tensors.
    pub bytes: u64,
    /// The names of the tensors, sorted.
    pub tensors: Vec<Arc<str>>,
}

/// The memory of one tensor, or of several that share it.
struct Buffer {
    start: u64,
    end: u64,
    bytes: u64,
    device: usize,
    allocator: Arc<str>,
    tensor: Arc<str>,
}

impl Timeline {
    /// Returns the bytes of live tensors over time, by device and allocator.
    ///
    /// A tensor lives from the start of its producer to the end of its last consumer. A tensor at the address of a live one shares its memory. Tensors
    /// that were there before the step, such as variables, count from when the step first reads them.
    pub fn memory(&self) -> BTreeMap<(usize, Arc<str>), Vec<MemorySample>> {
        let mut changes: BTreeMap<(usize, Arc<str>), BTreeMap<u64, i128>> = BTreeMap::new();
        for buffer in self.buffers() {
            let of_device = changes.entry((buffer.device, buffer.allocator)).or_default();
            *of_device.entry(buffer.start).or_default() += i128::from(buffer.bytes);
            *of_device.entry(buffer.end).or_default() -= i128::from(buffer.bytes);
        }
        changes.into_iter().map(|(key, changes)| (key, samples(changes))).collect()
    }

    /// Returns the largest memory in use, by allocator, over all devices that share it.
    pub fn memory_peaks(&self) -> BTreeMap<Arc<str>, MemoryPeak> {
        let buffers = self.buffers();
        let mut changes: BTreeMap<&Arc<str>, BTreeMap<u64, i128>> = BTreeMap::new();
        for buffer in &buffers {
            let of_allocator = changes.entry(&buffer.allocator).or_default();
            *of_allocator.entry(buffer.start).or_default() += i128::from(buffer.bytes);
            *of_allocator.entry(buffer.end).or_default() -= i128::from(buffer.bytes);
        }
        let mut peaks = BTreeMap::new();
        for (allocator, changes) in changes {
            let mut peak = MemoryPeak::default();
            for sample in samples(changes) {
                if sample.bytes > peak.bytes {
                    (peak.time, peak.bytes) = (sample.time, sample.bytes);
                }
            }
            let is_live = |buffer: &&Buffer| buffer.allocator == *allocator && buffer.start <= peak.time && peak.time < buffer.end;
            peak.tensors = buffers.iter().filter(is_live).map(|buffer| buffer.tensor.clone()).collect();
            peak.tensors.sort();
            peak.tensors.dedup();
            peaks.insert(allocator.clone(), peak);
        }
        peaks
    }

    fn buffers(&self) -> Vec<Buffer> {
        let last_uses = self.last_uses();
        let mut order: Vec<usize> = (0..self.events.len()).collect();
        order.sort_by_key(|&i| (self.events[i].start, i));
        let mut buffers: Vec<Buffer> = Vec::new();
        let mut at_address: FxHashMap<(usize, u64), usize> = FxHashMap::default();
        for i in order {
            let event = &self.events[i];
            for output in event.outputs.iter().filter(|output| output.bytes > 0) {
                let end = last_uses.get(&(i, output.slot)).copied().unwrap_or(0).max(event.end);
                // A kernel's output may be the memory of an input, which lives until the kernel has ended.
                let shared = at_address.get(&(event.device, output.address)).filter(|_| output.address != 0);
                if let Some(buffer) = shared.and_then(|&shared| buffers.get_mut(shared)).filter(|buffer| buffer.end >= event.end) {
                    (buffer.end, buffer.bytes) = (buffer.end.max(end), buffer.bytes.max(output.bytes));
                    continue;
                }
                at_address.insert((event.device, output.address), buffers.len());
                let tensor = if output.slot == 0 { event.name.clone() } else { format!("{}:{}", event.name, output.slot).into() };
                let allocator = output.allocator.clone();
                buffers.push(Buffer { start: event.start, end, bytes: output.bytes, device: event.device, allocator, tensor });
            }
        }
        buffers
    }

    /// Returns the end of the last consumer of each output, by the event and the number of the output.
    fn last_uses(&self) -> FxHashMap<(usize, u32), u64> {
        let mut uses: FxHashMap<(usize, u32), u64> = FxHashMap::default();
        for event in &self.events {
            for input in event.inputs.iter().filter(|input| input.is_data) {
                let Some(producer) = input.producer else { continue };
                let slot = input.name.rsplit_once(':').and_then(|(_, slot)| slot.parse().ok()).unwrap_or(0);
                let last = uses.entry((producer, slot)).or_default();
                *last = (*last).max(event.end);
            }
        }
        uses
    }
}

fn samples(changes: BTreeMap<u64, i128>) -> Vec<MemorySample> {
    let mut total = 0i128;
    let add = |(time, change): (u64, i128)| {
        total += change;
        MemorySample { time, bytes: u64::try_from(total.max(0)).unwrap_or(u64::MAX) }
    };
    changes.into_iter().map(add).collect()
}
