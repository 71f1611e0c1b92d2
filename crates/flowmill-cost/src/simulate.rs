//! The simulator: runs tasks on devices and copies on links, in simulated time.

use crate::machine::Machine;
use crate::saturating::{add, total};
use crate::tasks::TaskGraph;
use flowmill_tensor::{Result, bail};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// One copy of a tensor between devices, or of the fact that a task has ended. Times are in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// The task that produced the tensor.
    pub task: usize,
    /// The device that sends.
    pub from: usize,
    /// The device that receives.
    pub to: usize,
    /// The bytes of the tensor; 0 for a control dependency.
    pub bytes: u64,
    /// The time when the link begins to transmit.
    pub start: u64,
    /// The time when the link is free again.
    pub end: u64,
    /// The time when consumers may start.
    pub arrival: u64,
    signal: usize,
    /// Consumers on the receiving device that have not ended.
    left: usize,
}

/// A simulated step. Times are nanoseconds from the start of the step.
#[derive(Clone, Debug, Default)]
pub struct Schedule {
    /// The device of each task.
    pub devices: Vec<usize>,
    /// The start of each task.
    pub start: Vec<u64>,
    /// The end of each task.
    pub end: Vec<u64>,
    /// All copies, in the order in which they were requested.
    pub transfers: Vec<Transfer>,
    /// The most bytes that each device held at once, resident ones included.
    pub peak_memory: Vec<u64>,
    /// The end of the last task.
    pub makespan: u64,
}

/// The value of a placement. Placements within the memory limits precede all others, and faster ones precede slower ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Objective {
    /// The bytes over the memory limits, summed over the devices.
    pub over_memory: u64,
    /// The simulated time of the step, in nanoseconds.
    pub makespan: u64,
}

impl Schedule {
    /// Returns the value of the schedule on a machine.
    pub fn objective(&self, machine: &Machine) -> Objective {
        let over = |(peak, device): (&u64, &crate::DeviceModel)| peak.saturating_sub(device.memory_bytes.unwrap_or(u64::MAX));
        Objective { over_memory: total(self.peak_memory.iter().zip(machine.devices()).map(over)), makespan: self.makespan }
    }

    /// Returns the time that each device computes.
    pub fn busy(&self, machine: &Machine) -> Vec<u64> {
        let mut busy = vec![0; machine.num_devices()];
        for ((&device, &start), &end) in self.devices.iter().zip(&self.start).zip(&self.end) {
            add(&mut busy[device], end - start);
        }
        busy
    }
}

/// Returns the priorities of list scheduling: the length of the longest path from the start of each task to the end of the step, with mean times over
/// the devices that can run a task and mean times of copies (the upward rank of HEFT; Topcuoglu, Hariri and Wu, 2002).
pub fn upward_ranks(tasks: &TaskGraph, machine: &Machine) -> Vec<u64> {
    let copies: Vec<u64> = tasks.signals().iter().map(|signal| machine.mean_copy_time(signal.bytes)).collect();
    let mut ranks = vec![0u64; tasks.len()];
    for &t in tasks.order().iter().rev() {
        let below = tasks.outputs(t).iter().flat_map(|&s| tasks.signals()[s].consumers.iter().map(move |&to| (s, to)));
        let longest = below.map(|(s, to)| copies[s].saturating_add(ranks[to])).max().unwrap_or(0);
        ranks[t] = longest.saturating_add(mean_time(tasks, t, machine.num_devices()));
    }
    ranks
}

/// Returns the mean time of a task over the devices that can run it.
fn mean_time(tasks: &TaskGraph, t: usize, num_devices: usize) -> u64 {
    let task = &tasks.tasks()[t];
    let (sum, n) = task.devices.iter(num_devices).fold((0u64, 0), |(sum, n), d| (sum.saturating_add(task.time(d)), n + 1));
    sum / n.max(1)
}

/// Simulates a step with each task on the device in `devices`.
///
/// A device runs one task at a time. Among the tasks that could run, it starts the one with the highest upward rank. A tensor is copied once to each
/// other device that needs it, when its producer has ended; the copies of a link are made one after the other, in the order of their producers' ends.
/// A tensor takes memory on its device from the start of its producer until its last consumer there has ended and its last copy has arrived, and on
/// another device from the request of the copy until its last consumer there has ended. The outputs of a task with resident bytes take no other memory.
///
/// # Errors
/// Returns `InvalidArgument` for a device that does not exist or cannot run its task, and for a machine of another number of devices than the tasks have
/// times for.
pub fn simulate(tasks: &TaskGraph, machine: &Machine, devices: &[usize]) -> Result<Schedule> {
    tasks.check_machine(machine)?;
    if devices.len() != tasks.len() {
        bail!(InvalidArgument, "{} devices for {} tasks", devices.len(), tasks.len());
    }
    for (task, &device) in tasks.tasks().iter().zip(devices) {
        if device >= machine.num_devices() || !task.devices.contains(device) {
            bail!(InvalidArgument, "task '{}' cannot run on device {device}", task.name);
        }
    }
    Ok(simulate_ranked(tasks, machine, devices, &upward_ranks(tasks, machine)))
}

/// Like [`simulate`], of devices that can run their tasks, with known ranks.
pub(crate) fn simulate_ranked(tasks: &TaskGraph, machine: &Machine, devices: &[usize], ranks: &[u64]) -> Schedule {
    Simulation::new(tasks, machine, devices, ranks).run()
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    TaskEnd(usize),
    Arrival(usize),
}

struct Simulation<'a> {
    tasks: &'a TaskGraph,
    machine: &'a Machine,
    ranks: &'a [u64],
    events: BinaryHeap<Reverse<(u64, Event)>>,
    /// The signals that each task waits for.
    pending: Vec<usize>,
    /// Tasks that could run, by device: the highest rank first, then the lowest index.
    ready: Vec<BinaryHeap<(u64, Reverse<usize>)>>,
    is_idle: Vec<bool>,
    /// When the link is free again, by the pair of devices.
    link_free: Vec<u64>,
    /// Consumers and copies of each signal that keep its tensor on the producer's device.
    held: Vec<usize>,
    /// The first transfer of each signal and their number.
    transfers_of: Vec<(usize, usize)>,
    memory: Vec<u64>,
    schedule: Schedule,
}

impl<'a> Simulation<'a> {
    fn new(tasks: &'a TaskGraph, machine: &'a Machine, devices: &[usize], ranks: &'a [u64]) -> Simulation<'a> {
        let (n, num_devices) = (tasks.len(), machine.num_devices());
        let mut memory = vec![0; num_devices];
        for (task, &device) in tasks.tasks().iter().zip(devices) {
            add(&mut memory[device], task.resident);
        }
        let mut simulation = Simulation {
            tasks,
            machine,
            ranks,
            events: BinaryHeap::new(),
            pending: (0..n).map(|t| tasks.inputs(t).len()).collect(),
            ready: vec![BinaryHeap::new(); num_devices],
            is_idle: vec![true; num_devices],
            link_free: vec![0; num_devices * num_devices],
            held: vec![0; tasks.signals().len()],
            transfers_of: vec![(0, 0); tasks.signals().len()],
            schedule: Schedule {
                devices: devices.to_vec(),
                start: vec![0; n],
                end: vec![0; n],
                transfers: Vec::new(),
                peak_memory: memory.clone(),
                makespan: 0,
            },
            memory,
        };
        for t in (0..n).filter(|&t| tasks.inputs(t).is_empty()) {
            simulation.make_ready(t);
        }
        simulation
    }

    fn run(mut self) -> Schedule {
        self.start_tasks(0);
        while let Some(Reverse((now, event))) = self.events.pop() {
            self.handle(now, event);
            // All events of one time come before the next tasks start, so that these are chosen among all that are ready.
            while self.events.peek().is_some_and(|Reverse((time, _))| *time == now) {
                if let Some(Reverse((_, event))) = self.events.pop() {
                    self.handle(now, event);
                }
            }
            self.start_tasks(now);
        }
        self.schedule
    }

    fn handle(&mut self, now: u64, event: Event) {
        match event {
            Event::TaskEnd(task) => self.end_task(now, task),
            Event::Arrival(transfer) => self.arrive(transfer),
        }
    }

    fn make_ready(&mut self, task: usize) {
        self.ready[self.schedule.devices[task]].push((self.ranks[task], Reverse(task)));
    }

    fn start_tasks(&mut self, now: u64) {
        for device in 0..self.ready.len() {
            if !self.is_idle[device] {
                continue;
            }
            if let Some((_, Reverse(t))) = self.ready[device].pop() {
                let task = &self.tasks.tasks()[t];
                self.is_idle[device] = false;
                let end = now.saturating_add(task.time(device));
                (self.schedule.start[t], self.schedule.end[t]) = (now, end);
                self.events.push(Reverse((end, Event::TaskEnd(t))));
                self.allocate(device, self.own_outputs(t).saturating_add(task.temporary));
            }
        }
    }

    fn allocate(&mut self, device: usize, bytes: u64) {
        let now = &mut self.memory[device];
        *now = now.saturating_add(bytes);
        let peak = &mut self.schedule.peak_memory[device];
        *peak = (*peak).max(*now);
    }

    fn free(&mut self, device: usize, bytes: u64) {
        self.memory[device] = self.memory[device].saturating_sub(bytes);
    }

    /// Returns the bytes that a task allocates for its outputs. The outputs of a task with resident bytes are these bytes.
    fn own_outputs(&self, t: usize) -> u64 {
        let task = &self.tasks.tasks()[t];
        if task.resident > 0 { 0 } else { total(task.outputs.iter().copied()) }
    }

    fn end_task(&mut self, now: u64, t: usize) {
        let (tasks, device) = (self.tasks, self.schedule.devices[t]);
        self.is_idle[device] = true;
        self.schedule.makespan = self.schedule.makespan.max(now);
        let task = &tasks.tasks()[t];
        // Outputs that nothing reads have no signal, and end with the task.
        let read = total(tasks.outputs(t).iter().map(|&s| tasks.signals()[s].bytes));
        let unread = self.own_outputs(t).saturating_sub(read);
        self.free(device, task.temporary.saturating_add(unread));
        for &s in tasks.inputs(t) {
            self.consume(s, device);
        }
        for &s in tasks.outputs(t) {
            self.send(now, s, device);
        }
    }

    /// Hands a signal to its consumers, those on other devices by copies.
    fn send(&mut self, now: u64, s: usize, device: usize) {
        let signal = &self.tasks.signals()[s];
        // The consumers on each other device, in the order of the devices.
        let mut remote: Vec<(usize, usize)> = Vec::new();
        for &to in &signal.consumers {
            let to_device = self.schedule.devices[to];
            if to_device == device {
                self.held[s] += 1;
                self.pending[to] -= 1;
                if self.pending[to] == 0 {
                    self.make_ready(to);
                }
            } else {
                let i = remote.partition_point(|(device, _)| *device < to_device);
                match remote.get_mut(i).filter(|(device, _)| *device == to_device) {
                    Some((_, consumers)) => *consumers += 1,
                    None => remote.insert(i, (to_device, 1)),
                }
            }
        }
        self.held[s] += remote.len();
        self.transfers_of[s] = (self.schedule.transfers.len(), remote.len());
        for (to, left) in remote {
            let link = self.machine.link(device, to);
            let free = &mut self.link_free[device * self.machine.num_devices() + to];
            let start = now.max(*free);
            let end = start.saturating_add(link.occupancy(signal.bytes));
            *free = end;
            let arrival = end.saturating_add(link.latency());
            self.events.push(Reverse((arrival, Event::Arrival(self.schedule.transfers.len()))));
            let transfer = Transfer { task: signal.from, from: device, to, bytes: signal.bytes, start, end, arrival, signal: s, left };
            self.schedule.transfers.push(transfer);
            // A copy that waits for its link is counted from the time when it is requested.
            self.allocate(to, signal.bytes);
        }
    }

    fn arrive(&mut self, transfer: usize) {
        let Transfer { from, to, signal: s, .. } = self.schedule.transfers[transfer];
        self.release(s, from);
        for &consumer in &self.tasks.signals()[s].consumers {
            if self.schedule.devices[consumer] == to {
                self.pending[consumer] -= 1;
                if self.pending[consumer] == 0 {
                    self.make_ready(consumer);
                }
            }
        }
    }

    /// A task on `device` that reads the signal has ended.
    fn consume(&mut self, s: usize, device: usize) {
        if self.schedule.devices[self.tasks.signals()[s].from] == device {
            return self.release(s, device);
        }
        let (first, n) = self.transfers_of[s];
        let copies = self.schedule.transfers.get_mut(first..first + n).unwrap_or_default();
        let Some(copy) = copies.iter_mut().find(|copy| copy.to == device) else { return };
        copy.left -= 1;
        if copy.left == 0 {
            let bytes = copy.bytes;
            self.free(device, bytes);
        }
    }

    /// A consumer or a copy of the tensor on its producer's device has ended.
    fn release(&mut self, s: usize, device: usize) {
        self.held[s] -= 1;
        let signal = &self.tasks.signals()[s];
        if self.held[s] == 0 && self.tasks.tasks()[signal.from].resident == 0 {
            self.free(device, signal.bytes);
        }
    }
}
