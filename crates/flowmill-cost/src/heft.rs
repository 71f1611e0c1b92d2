//! HEFT: list scheduling by earliest finish time (Topcuoglu, Hariri and Wu, 2002), for groups of tasks.

use crate::machine::Machine;
use crate::order::order_by;
use crate::saturating::{add, total};
use crate::tasks::{DeviceSet, TaskGraph};

/// The idle intervals of a device that the search for the earliest finish looks at.
const MAX_GAPS: usize = 256;

/// Places each group on the device on which its first task would end earliest, and returns the device of each task.
///
/// Tasks are taken in the order of `ranks`, the highest first. A task may be inserted into an idle interval of a device; copies do not wait for each
/// other. Devices whose memory limit the resident bytes of a group would exceed are avoided if others remain.
pub fn heft(tasks: &TaskGraph, machine: &Machine, ranks: &[u64]) -> Vec<usize> {
    let clusters: Vec<usize> = (0..tasks.num_groups()).collect();
    let of_clusters = heft_of_clusters(tasks, machine, ranks, &clusters, tasks.num_groups());
    tasks.assignment(&of_clusters)
}

/// Like [`heft`], of clusters of groups: `cluster_of` has the cluster of each group. Returns the device of each cluster.
pub(crate) fn heft_of_clusters(
    tasks: &TaskGraph,
    machine: &Machine,
    ranks: &[u64],
    cluster_of: &[usize],
    num_clusters: usize,
) -> Vec<usize> {
    let n = machine.num_devices();
    let (mut allowed, mut resident) = (vec![DeviceSet::ALL; num_clusters], vec![0u64; num_clusters]);
    for (group, &cluster) in cluster_of.iter().enumerate() {
        allowed[cluster] = allowed[cluster].and(tasks.group_devices(group));
        add(&mut resident[cluster], total(tasks.groups()[group].iter().map(|&t| tasks.tasks()[t].resident)));
    }
    let mut place = vec![0; tasks.len()];
    for (i, &t) in tasks.order().iter().enumerate() {
        place[t] = i;
    }
    // The topological order breaks ties, such as of tasks that take no time.
    let order = order_by(tasks.len(), |t| (u64::MAX - ranks[t], place[t] as u64));

    let mut chosen: Vec<Option<usize>> = vec![None; num_clusters];
    let mut timelines = vec![Timeline::default(); n];
    let mut free: Vec<u64> = machine.devices().iter().map(|d| d.memory_bytes.unwrap_or(u64::MAX)).collect();
    let mut end = vec![0u64; tasks.len()];
    let mut device_of = vec![0usize; tasks.len()];
    for t in order {
        let task = &tasks.tasks()[t];
        let cluster = cluster_of[task.group];
        let finish = |d: usize, timelines: &[Timeline]| {
            let arrival = |&s: &usize| {
                let signal = &tasks.signals()[s];
                end[signal.from].saturating_add(machine.copy_time(device_of[signal.from], d, signal.bytes))
            };
            let ready = tasks.inputs(t).iter().map(arrival).max().unwrap_or(0);
            timelines[d].earliest(ready, task.time(d)).saturating_add(task.time(d))
        };
        let device = chosen[cluster].unwrap_or_else(|| {
            let best =
                |fits: &dyn Fn(usize) -> bool| allowed[cluster].iter(n).filter(|&d| fits(d)).min_by_key(|&d| (finish(d, &timelines), d));
            best(&|d| resident[cluster] <= free[d]).or_else(|| best(&|_| true)).unwrap_or(0)
        });
        if chosen[cluster].is_none() {
            chosen[cluster] = Some(device);
            free[device] = free[device].saturating_sub(resident[cluster]);
        }
        let finished = finish(device, &timelines);
        timelines[device].occupy(finished - task.time(device), finished);
        (end[t], device_of[t]) = (finished, device);
    }
    chosen.into_iter().map(|device| device.unwrap_or(0)).collect()
}

/// The times when a device is idle.
#[derive(Clone, Default)]
struct Timeline {
    /// Idle intervals before the last task, in order.
    gaps: Vec<(u64, u64)>,
    /// The end of the last task.
    free: u64,
}

impl Timeline {
    /// Returns the earliest start, not before `ready`, of a task that takes `time`.
    fn earliest(&self, ready: u64, time: u64) -> u64 {
        let first = self.gaps.partition_point(|&(_, end)| end <= ready);
        let fits = |&&(start, end): &&(u64, u64)| end - start.max(ready) >= time;
        match self.gaps[first..].iter().take(MAX_GAPS).find(fits) {
            Some(&(start, _)) => start.max(ready),
            None => self.free.max(ready),
        }
    }

    fn occupy(&mut self, start: u64, end: u64) {
        if start == end {
            // A task that takes no time divides no interval.
            return;
        }
        if start >= self.free {
            if start > self.free {
                self.gaps.push((self.free, start));
            }
            self.free = end;
            return;
        }
        let i = self.gaps.partition_point(|&(_, gap_end)| gap_end <= start);
        let Some(&(gap_start, gap_end)) = self.gaps.get(i) else { return };
        let rest = [(gap_start, start), (end, gap_end)].into_iter().filter(|(a, b)| a < b);
        self.gaps.splice(i..=i, rest);
    }
}
