//! Finds the events that produced the inputs of events.

use crate::timeline::{Event, EventKind};
use rustc_hash::FxHashMap;
use std::sync::Arc;

type Iteration = Option<(Arc<str>, Arc<str>)>;

/// Sets the producers of all inputs, and the senders of receives.
///
/// The statistics name the producer of an input and not its firing. In a loop it is the firing of the same iteration, or else the last one that had
/// ended when the consumer started.
pub(crate) fn connect(events: &mut [Event]) {
    let firings = Firings::new(events);
    let mut senders: FxHashMap<(Arc<str>, Arc<str>, Iteration), usize> = FxHashMap::default();
    for (i, event) in events.iter().enumerate() {
        if let (EventKind::Send, Some(copy)) = (event.kind, &event.copy) {
            senders.insert((copy.tensor.clone(), copy.to.clone(), event.iteration.clone()), i);
        }
    }
    for i in 0..events.len() {
        let event = &events[i];
        let producers: Vec<Option<usize>> = event.inputs.iter().map(|input| firings.producer(events, i, &input.name)).collect();
        let sender = match (event.kind, &event.copy) {
            (EventKind::Receive, Some(copy)) => senders.get(&(copy.tensor.clone(), copy.to.clone(), event.iteration.clone())).copied(),
            _ => None,
        };
        let event = &mut events[i];
        event.sender = sender;
        for (input, producer) in event.inputs.iter_mut().zip(producers) {
            input.producer = producer;
        }
    }
    // The bytes of a copy are known where it arrives.
    for i in 0..events.len() {
        let (Some(sender), Some(bytes)) = (events[i].sender, events[i].copy.as_ref().map(|copy| copy.bytes)) else { continue };
        if let Some(copy) = &mut events[sender].copy {
            copy.bytes = copy.bytes.max(bytes);
        }
    }
}

/// The firings of each node.
struct Firings {
    /// In the order in which they ended.
    by_name: FxHashMap<Arc<str>, Vec<usize>>,
    in_loops: FxHashMap<(Arc<str>, Iteration), usize>,
}

impl Firings {
    fn new(events: &[Event]) -> Firings {
        let mut firings = Firings { by_name: FxHashMap::default(), in_loops: FxHashMap::default() };
        for (i, event) in events.iter().enumerate().filter(|(_, event)| event.kind != EventKind::Kernel) {
            firings.by_name.entry(event.name.clone()).or_default().push(i);
            if event.iteration.is_some() {
                firings.in_loops.insert((event.name.clone(), event.iteration.clone()), i);
            }
        }
        for ids in firings.by_name.values_mut() {
            ids.sort_by_key(|&i| events[i].end);
        }
        firings
    }

    /// Returns the firing that produced the tensor `input` of event `consumer`.
    fn producer(&self, events: &[Event], consumer: usize, input: &str) -> Option<usize> {
        let node = match input.rsplit_once(':') {
            Some((node, slot)) if slot.bytes().all(|b| b.is_ascii_digit()) => node,
            _ => input,
        };
        // TensorFlow's partitioning names the receives of a tensor `NODE/_NUMBER`, and does not report them.
        let ids = self.by_name.get_key_value(node).or_else(|| self.by_name.get_key_value(node.rsplit_once("/_")?.0));
        let (name, ids) = ids?;
        let event = events.get(consumer)?;
        let has_ended = |i: usize| events[i].end <= event.start && i != consumer;
        if event.iteration.is_some()
            && let Some(&i) = self.in_loops.get(&(name.clone(), event.iteration.clone()))
            && has_ended(i)
        {
            return Some(i);
        }
        let num_ended = ids.partition_point(|&i| events[i].end <= event.start);
        ids.get(..num_ended)?.iter().rev().copied().find(|&i| i != consumer)
    }
}
