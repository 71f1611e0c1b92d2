//! A lower bound of the makespan of all placements.

use crate::machine::Machine;
use crate::tasks::TaskGraph;

/// The number of steps in which the weights of the load bound are improved.
const WEIGHT_STEPS: usize = 200;

/// Returns a time in nanoseconds that no schedule of these tasks is shorter than: the larger of two bounds.
///
/// * Paths: a task cannot start on a device before each of its inputs could be there, if each producer could choose its device for this consumer alone.
/// * Load: the devices share the work. For any weights of the devices that sum to 1, the makespan is at least the sum over all groups of the least
///   weighted time of a device that can run the group (the dual of the linear program that splits the groups over the devices).
pub fn lower_bound(tasks: &TaskGraph, machine: &Machine) -> u64 {
    path_bound(tasks, machine).max(load_bound(tasks, machine))
}

fn path_bound(tasks: &TaskGraph, machine: &Machine) -> u64 {
    let n = machine.num_devices();
    let mut ends: Vec<Vec<u64>> = vec![Vec::new(); tasks.len()];
    let mut bound = 0;
    for &t in tasks.order() {
        let task = &tasks.tasks()[t];
        let devices = tasks.group_devices(task.group);
        let mut own = vec![u64::MAX; n];
        for device in devices.iter(n) {
            let mut start = 0;
            for &s in tasks.inputs(t) {
                let signal = &tasks.signals()[s];
                let producer = &ends[signal.from];
                let is_colocated = tasks.tasks()[signal.from].group == task.group;
                let arrival = |from: usize| producer[from].saturating_add(machine.copy_time(from, device, signal.bytes));
                let earliest = if is_colocated { producer[device] } else { (0..n).map(arrival).min().unwrap_or(0) };
                start = start.max(earliest);
            }
            own[device] = start.saturating_add(task.time(device));
        }
        bound = bound.max(own.iter().copied().min().unwrap_or(0));
        ends[t] = own;
    }
    bound
}

fn load_bound(tasks: &TaskGraph, machine: &Machine) -> u64 {
    let n = machine.num_devices();
    let group_times: Vec<Vec<u64>> = tasks
        .groups()
        .iter()
        .map(|members| (0..n).map(|d| members.iter().map(|&t| tasks.tasks()[t].time(d)).fold(0, u64::saturating_add)).collect())
        .collect();
    let (mut weights, mut best) = (vec![1.0 / n as f64; n], 0.0f64);
    for step in 0..WEIGHT_STEPS {
        // Each group goes to its cheapest device; then devices with more than their share of the load become more expensive.
        let (mut bound, mut load) = (0.0, vec![0.0; n]);
        for (group, times) in group_times.iter().enumerate() {
            let cheapest = tasks.group_devices(group).iter(n).map(|d| (weights[d] * times[d] as f64, d)).min_by(|a, b| a.0.total_cmp(&b.0));
            if let Some((weighted, d)) = cheapest {
                bound += weighted;
                load[d] += times[d] as f64;
            }
        }
        best = best.max(bound);
        let mean = load.iter().sum::<f64>() / n as f64;
        if mean <= 0.0 {
            break;
        }
        let rate = 0.5 / (1.0 + step as f64).sqrt();
        for (weight, load) in weights.iter_mut().zip(&load) {
            *weight *= (rate * (load / mean - 1.0)).clamp(-1.0, 1.0).exp();
        }
        let sum: f64 = weights.iter().sum();
        weights.iter_mut().for_each(|weight| *weight /= sum);
    }
    // Rounding of the sums must not lift the bound over an optimum that meets it.
    (best * (1.0 - 1e-9)) as u64
}
