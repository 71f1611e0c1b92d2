//! Assigns events to lanes.

use crate::timeline::{EventKind, Lane, Timeline};
use std::cmp::Reverse;

/// Assigns a lane to each event. Events of a lane nest or do not overlap, as viewers of traces require: an event that overlaps another one of its
/// thread, because its kernel is asynchronous, goes to a further lane of the thread. Receives have lanes of their own, below those of threads.
pub(crate) fn assign(timeline: &mut Timeline) {
    let mut order: Vec<usize> = (0..timeline.events.len()).collect();
    let row = |i: usize| {
        let event = &timeline.events[i];
        let is_receive = event.kind == EventKind::Receive;
        (event.device, is_receive, if is_receive { 0 } else { event.thread })
    };
    order.sort_by_key(|&i| (row(i), timeline.events[i].start, Reverse(timeline.events[i].end)));
    for group in order.chunk_by(|&a, &b| row(a) == row(b)).map(<[usize]>::to_vec).collect::<Vec<_>>() {
        let Some(&first) = group.first() else { continue };
        let (device, is_receive, thread) = {
            let event = &timeline.events[first];
            (event.device, event.kind == EventKind::Receive, event.thread)
        };
        let Some(device) = timeline.devices.get_mut(device) else { continue };
        let base = device.lanes.len();
        // The ends of the events of each lane that have not ended, the innermost last.
        let mut open: Vec<Vec<u64>> = Vec::new();
        for i in group {
            let event = &mut timeline.events[i];
            let mut fits = |ends: &mut Vec<u64>| {
                while ends.last().is_some_and(|&end| end <= event.start) {
                    ends.pop();
                }
                ends.last().is_none_or(|&end| event.end <= end)
            };
            let lane = open.iter_mut().position(&mut fits).unwrap_or(open.len());
            if lane == open.len() {
                open.push(Vec::new());
            }
            if let Some(ends) = open.get_mut(lane) {
                event.depth = ends.len();
                ends.push(event.end);
            }
            event.lane = base + lane;
        }
        let name = if is_receive { "receives".to_owned() } else { format!("thread {thread}") };
        device.lanes.extend((0..open.len()).map(|n| Lane { name: if n == 0 { name.clone() } else { format!("{name} ({})", n + 1) } }));
    }
}
