//! The chain of events that decided when a step ended.

use crate::timeline::Timeline;

/// The critical path of a step: the event that ended last, before it the input of it that arrived last, and so on. Events follow each other in time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CriticalPath {
    /// The events, the first one first.
    pub events: Vec<usize>,
    /// The nanoseconds in which one of the events ran.
    pub running: u64,
    /// The nanoseconds between the events: the next one waited for a thread, or for its device.
    pub waiting: u64,
}

impl Timeline {
    /// Returns the critical path.
    pub fn critical_path(&self) -> CriticalPath {
        let mut path = CriticalPath::default();
        let mut next = (0..self.events.len()).max_by_key(|&i| (self.events[i].end, i));
        let mut until = self.duration();
        while let Some(i) = next {
            let event = &self.events[i];
            // A receive runs from when its tensor was sent.
            let sent = event.sender.map_or(0, |sender| self.events[sender].end);
            let start = event.start.max(sent.min(event.end));
            path.waiting += until.saturating_sub(event.end);
            path.running += event.end.min(until).saturating_sub(start);
            until = start.min(until);
            path.events.push(i);
            // Ends fall along the path, so that it is finite.
            let is_earlier =
                |&producer: &usize| self.events[producer].end <= start && (self.events[producer].end, producer) < (event.end, i);
            let producers = event.inputs.iter().filter_map(|input| input.producer).chain(event.sender);
            next = producers.filter(is_earlier).max_by_key(|&producer| (self.events[producer].end, producer));
        }
        path.events.reverse();
        path
    }
}
