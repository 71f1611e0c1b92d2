//! Device placement by cost: the placement with the least simulated makespan that a local search finds, within the memory limits.

use crate::cluster::{Level, levels};
use crate::heft::heft_of_clusters;
use crate::machine::Machine;
use crate::order::{Key, order_by, sort_keys};
use crate::simulate::{Objective, Schedule, simulate_ranked, upward_ranks};
use crate::tasks::TaskGraph;
use flowmill_tensor::{Result, bail};
use std::time::{Duration, Instant};

/// Options of the local search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SearchOptions {
    /// The seed of the random moves.
    pub seed: u64,
    /// The number of tasks that all simulations together may simulate. At least the starting placements are simulated.
    pub max_simulated_tasks: usize,
    /// The time after which the search ends, with the best placement so far. Without it, equal arguments lead to equal placements on all machines.
    pub time_limit: Option<Duration>,
}

impl Default for SearchOptions {
    fn default() -> SearchOptions {
        SearchOptions { seed: 0, max_simulated_tasks: 4_000_000, time_limit: None }
    }
}

/// Returns the device of each task as the simple placer chooses it: the first device of another type than `CPU`, or else the first device, if it can
/// run the task's group, and otherwise the first device that can.
pub fn simple_placement(tasks: &TaskGraph, machine: &Machine) -> Vec<usize> {
    let preferred = machine.devices().iter().position(|d| d.device_type() != "CPU").unwrap_or(0);
    let device_of = |group| {
        let devices = tasks.group_devices(group);
        if devices.contains(preferred) { preferred } else { devices.iter(machine.num_devices()).next().unwrap_or(0) }
    };
    let of_groups: Vec<usize> = (0..tasks.num_groups()).map(device_of).collect();
    tasks.assignment(&of_groups)
}

/// Places tasks on devices so that the simulated makespan is small and no memory limit is exceeded. Returns the schedule.
///
/// The search starts from the best of several placements: that of [`simple_placement`], all that a single device can run on that device, and list
/// scheduling by earliest finish time of the groups and of clusters of groups of several sizes. It then moves clusters and single groups between
/// devices, with a preference for those that the critical path crosses a link for, and keeps moves that make the step faster (and for a while some
/// that make it a little slower). The result is never slower than the simple placement, unless that exceeds a memory limit.
///
/// # Errors
/// Returns `ResourceExhausted` if no placement within the memory limits was found, and `InvalidArgument` for a machine of another number of devices than
/// the tasks have times for.
pub fn place(tasks: &TaskGraph, machine: &Machine, options: &SearchOptions) -> Result<Schedule> {
    tasks.check_machine(machine)?;
    let mut search = Search::new(tasks, machine, options);
    search.start();
    search.improve();
    let schedule = search.simulate(&search.best.clone());
    if schedule.objective(machine).over_memory > 0 {
        let over = schedule.peak_memory.iter().zip(machine.devices()).find(|(peak, d)| d.memory_bytes.is_some_and(|limit| **peak > limit));
        if let Some((peak, device)) = over {
            bail!(
                ResourceExhausted,
                "no placement within the memory limits of the devices was found: the best one needs {peak} bytes on '{}', which has {}",
                device.name,
                device.memory_bytes.unwrap_or(0)
            );
        }
    }
    Ok(schedule)
}

struct Search<'a> {
    tasks: &'a TaskGraph,
    machine: &'a Machine,
    ranks: Vec<u64>,
    levels: Vec<Level>,
    random: Random,
    /// The devices of the groups in the best placement so far.
    best: Vec<usize>,
    best_value: Objective,
    simulations_left: usize,
    deadline: Option<Instant>,
}

impl<'a> Search<'a> {
    fn new(tasks: &'a TaskGraph, machine: &'a Machine, options: &SearchOptions) -> Search<'a> {
        Search {
            tasks,
            machine,
            ranks: upward_ranks(tasks, machine),
            levels: levels(tasks, machine),
            random: Random(options.seed),
            best: Vec::new(),
            best_value: Objective { over_memory: u64::MAX, makespan: u64::MAX },
            simulations_left: options.max_simulated_tasks / tasks.len().max(1),
            deadline: options.time_limit.and_then(|limit| Instant::now().checked_add(limit)),
        }
    }

    fn simulate(&self, of_groups: &[usize]) -> Schedule {
        simulate_ranked(self.tasks, self.machine, &self.tasks.assignment(of_groups), &self.ranks)
    }

    fn is_over(&self) -> bool {
        self.simulations_left == 0 || self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }

    /// Takes the best of the starting placements.
    fn start(&mut self) {
        let simple = simple_placement(self.tasks, self.machine);
        self.offer(self.tasks.groups().iter().map(|members| members.first().map_or(0, |&t| simple[t])).collect());
        for device in 0..self.machine.num_devices() {
            let on_device = |group: usize| {
                let devices = self.tasks.group_devices(group);
                if devices.contains(device) { device } else { devices.iter(self.machine.num_devices()).next().unwrap_or(0) }
            };
            self.offer((0..self.tasks.num_groups()).map(on_device).collect());
        }
        for level in 0..self.levels.len() {
            let Level { cluster_of, members, .. } = &self.levels[level];
            let devices = heft_of_clusters(self.tasks, self.machine, &self.ranks, cluster_of, members.len());
            self.offer(cluster_of.iter().map(|&cluster| devices[cluster]).collect());
        }
    }

    fn offer(&mut self, of_groups: Vec<usize>) {
        let value = self.simulate(&of_groups).objective(self.machine);
        if value < self.best_value || self.best.is_empty() {
            (self.best, self.best_value) = (of_groups, value);
        }
        self.simulations_left = self.simulations_left.saturating_sub(1);
    }

    /// Moves clusters between devices, by simulated annealing.
    fn improve(&mut self) {
        if self.machine.num_devices() == 1 || self.tasks.num_groups() == 0 {
            return;
        }
        let (mut current, mut value) = (self.best.clone(), self.best_value);
        let mut hot = self.hot_spots(&self.simulate(&current));
        let total = self.simulations_left.max(1);
        while !self.is_over() {
            self.simulations_left -= 1;
            let Some(changes) = self.propose(&current, &hot) else { continue };
            let before: Vec<(usize, usize)> = changes.iter().map(|&(group, _)| (group, current[group])).collect();
            changes.iter().for_each(|&(group, device)| current[group] = device);
            let schedule = self.simulate(&current);
            let new = schedule.objective(self.machine);
            // At first a step that is up to 2 % slower is accepted, later only a faster one.
            let slack = 0.02 * (self.simulations_left as f64 / total as f64 - 0.25).max(0.0) * self.random.fraction();
            let accepted = new.over_memory < value.over_memory
                || (new.over_memory == value.over_memory && new.makespan as f64 <= value.makespan as f64 * (1.0 + slack));
            if accepted {
                value = new;
                hot = self.hot_spots(&schedule);
                if new < self.best_value {
                    (self.best, self.best_value) = (current.clone(), new);
                }
            } else {
                before.into_iter().for_each(|(group, device)| current[group] = device);
            }
        }
    }

    /// Returns a move, as groups with their new devices; `None` if the cluster that was drawn cannot move.
    fn propose(&mut self, current: &[usize], hot: &[(usize, usize)]) -> Option<Vec<(usize, usize)>> {
        let drawn = if hot.is_empty() || self.random.below(4) == 0 { None } else { hot.get(self.random.below(hot.len())).copied() };
        let group = drawn.map_or_else(|| self.random.below(self.tasks.num_groups()), |(group, _)| group);
        let level = self.random.below(self.levels.len());
        let level = self.levels.get(level)?;
        let cluster = level.cluster_of[group];
        let choices: Vec<usize> = level.devices[cluster].iter(self.machine.num_devices()).filter(|&d| d != current[group]).collect();
        let device = match drawn {
            Some((_, to)) if choices.contains(&to) && self.random.below(2) == 0 => to,
            _ if choices.is_empty() => return None,
            _ => *choices.get(self.random.below(choices.len()))?,
        };
        let changes: Vec<(usize, usize)> = level.members[cluster].iter().filter(|&&g| current[g] != device).map(|&g| (g, device)).collect();
        (!changes.is_empty()).then_some(changes)
    }

    /// Returns the groups on the critical path, each with a device to which a move may shorten the path: the other end of a copy on the path.
    fn hot_spots(&self, schedule: &Schedule) -> Vec<(usize, usize)> {
        let group = |t: usize| self.tasks.tasks()[t].group;
        let path = critical_path(self.tasks, self.machine, schedule);
        let mut spots: Vec<Key> = Vec::new();
        let spot = |group: usize, device: usize| (group as u64, 0, device);
        for pair in path.windows(2) {
            let [earlier, later] = [pair[0], pair[1]];
            let (from, to) = (schedule.devices[earlier], schedule.devices[later]);
            spots.extend([spot(group(earlier), to), spot(group(later), from)]);
        }
        spots.extend(path.iter().map(|&t| spot(group(t), schedule.devices[t])));
        sort_keys(&mut spots);
        spots.dedup();
        spots.into_iter().map(|(group, _, device)| (group as usize, device)).collect()
    }
}

/// Returns tasks that determine the makespan, in the order of their starts: each one starts when the one before it has ended or its tensor has arrived.
pub fn critical_path(tasks: &TaskGraph, machine: &Machine, schedule: &Schedule) -> Vec<usize> {
    // The task that ran before each task on its device.
    // Of tasks that take no time, producers come first.
    let order = tasks.order();
    let by_start = order_by(order.len(), |i| (schedule.start[order[i]], schedule.end[order[i]]));
    let (mut last, mut previous) = (vec![None; machine.num_devices()], vec![None; tasks.len()]);
    for t in by_start.into_iter().map(|i| order[i]) {
        previous[t] = last[schedule.devices[t]].replace(t);
    }
    let Some(mut at) = (0..tasks.len()).max_by_key(|&t| schedule.end[t]) else { return Vec::new() };
    let mut path = vec![at];
    while schedule.start[at] > 0 && path.len() <= tasks.len() {
        let device = schedule.devices[at];
        let producers = tasks.inputs(at).iter().map(|&s| {
            let signal = &tasks.signals()[s];
            (schedule.end[signal.from].saturating_add(machine.copy_time(schedule.devices[signal.from], device, signal.bytes)), signal.from)
        });
        let on_device = previous[at].map(|t: usize| (schedule.end[t], t));
        let Some((_, next)) = producers.chain(on_device).max() else { break };
        path.push(next);
        at = next;
    }
    path.reverse();
    path
}

/// A generator of random numbers: SplitMix64 (Steele, Lea and Flood, 2014).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a number less than `n`, or 0 if `n` is 0.
    fn below(&mut self, n: usize) -> usize {
        (self.next() % (n.max(1) as u64)) as usize
    }

    /// Returns a number in [0, 1).
    fn fraction(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
}
