//! Tasks: a graph as schedulers see it, without ops.

use crate::machine::Machine;
use crate::order::{Key, sort_keys};
use flowmill_tensor::{Result, bail};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A set of devices, by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceSet(u64);

impl DeviceSet {
    /// All devices.
    pub const ALL: DeviceSet = DeviceSet(u64::MAX);

    /// Returns the set of one device; empty for a number that no device has.
    pub fn only(device: usize) -> DeviceSet {
        DeviceSet(u32::try_from(device).ok().and_then(|d| 1u64.checked_shl(d)).unwrap_or(0))
    }

    /// Returns true if the device is in the set.
    pub fn contains(self, device: usize) -> bool {
        self.0 & DeviceSet::only(device).0 != 0
    }

    /// Returns true if no device is in the set.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns the devices that are in both sets.
    #[must_use]
    pub fn and(self, other: DeviceSet) -> DeviceSet {
        DeviceSet(self.0 & other.0)
    }

    /// Returns the devices of a machine of `n` devices that are in the set, in ascending order.
    pub fn iter(self, n: usize) -> impl Iterator<Item = usize> {
        (0..n).filter(move |&d| self.contains(d))
    }
}

impl FromIterator<usize> for DeviceSet {
    fn from_iter<I: IntoIterator<Item = usize>>(devices: I) -> DeviceSet {
        DeviceSet(devices.into_iter().map(DeviceSet::only).fold(0, |set, d| set | d.0))
    }
}

/// One task: a node of a graph with its costs.
#[derive(Clone, Debug)]
pub struct Task {
    /// The node's name.
    pub name: Arc<str>,
    /// The node's op.
    pub op: Arc<str>,
    /// Nanoseconds on each device of the machine.
    pub times: Vec<u64>,
    /// Bytes of each output.
    pub outputs: Vec<u64>,
    /// Bytes that the task needs while it runs, besides its outputs.
    pub temporary: u64,
    /// Bytes that the task's device holds for the whole step: variables and constants.
    pub resident: u64,
    /// The devices that can run the task.
    pub devices: DeviceSet,
    /// Tasks with the same number are placed on the same device.
    pub group: usize,
}

impl Task {
    /// Returns the nanoseconds on a device; 0 for a device that the task has no time for.
    pub fn time(&self, device: usize) -> u64 {
        self.times.get(device).copied().unwrap_or(0)
    }
}

/// The task `to` runs after `from`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Dependency {
    /// The index of the task that produces.
    pub from: usize,
    /// The output that `to` reads; `None` if it only waits.
    pub output: Option<usize>,
    /// The index of the task that waits.
    pub to: usize,
}

/// One output of a task, or the fact that the task has ended.
#[derive(Clone, Debug)]
pub(crate) struct Signal {
    pub(crate) from: usize,
    pub(crate) bytes: u64,
    /// In ascending order, each once.
    pub(crate) consumers: Vec<usize>,
}

/// An acyclic graph of tasks.
#[derive(Clone, Debug)]
pub struct TaskGraph {
    tasks: Vec<Task>,
    signals: Vec<Signal>,
    /// The signals that each task waits for.
    inputs: Vec<Vec<usize>>,
    /// The signals of each task that others wait for.
    outputs: Vec<Vec<usize>>,
    /// The tasks, each after those that it waits for.
    order: Vec<usize>,
    /// The groups' tasks, in ascending order.
    groups: Vec<Vec<usize>>,
    /// The devices that can run all tasks of a group.
    group_devices: Vec<DeviceSet>,
    num_devices: usize,
}

impl TaskGraph {
    /// Makes a graph for a machine with `num_devices` devices. Groups are numbered anew, in the order of their first tasks.
    ///
    /// # Errors
    /// Returns `InvalidArgument` for tasks or outputs that do not exist, for a cycle, for tasks without a time for each device, and for a group that no
    /// device can run.
    pub fn new(mut tasks: Vec<Task>, dependencies: &[Dependency], num_devices: usize) -> Result<TaskGraph> {
        for task in &tasks {
            if task.times.len() != num_devices {
                bail!(InvalidArgument, "task '{}' has times on {} devices instead of {num_devices}", task.name, task.times.len());
            }
        }
        // Outputs are numbered from 1; 0 is the end of the task.
        let key = |d: &Dependency| (d.from as u64, d.output.map_or(0, |slot| (slot as u64).saturating_add(1)), d.to);
        let mut sorted: Vec<Key> = dependencies.iter().map(key).collect();
        sort_keys(&mut sorted);
        sorted.dedup();
        let (mut inputs, mut outputs) = (vec![Vec::new(); tasks.len()], vec![Vec::new(); tasks.len()]);
        let mut signals: Vec<Signal> = Vec::new();
        let mut last = None;
        for (from, output, to) in sorted {
            let (from, output) = (from as usize, output.checked_sub(1).map(|slot| slot as usize));
            let bytes = tasks.get(from).and_then(|task| output.map_or(Some(0), |slot| task.outputs.get(slot).copied()));
            let (Some(bytes), Some(waits)) = (bytes, inputs.get_mut(to)) else {
                let dependency = Dependency { from, output, to };
                bail!(InvalidArgument, "{dependency:?} names a task or an output that does not exist");
            };
            if last != Some((from, output)) {
                last = Some((from, output));
                outputs[from].push(signals.len());
                signals.push(Signal { from, bytes, consumers: Vec::new() });
            }
            waits.push(signals.len() - 1);
            if let Some(signal) = signals.last_mut() {
                signal.consumers.push(to);
            }
        }
        let order = topological_order(&tasks, &signals, &inputs, &outputs)?;
        let groups = number_groups(&mut tasks);
        let mut group_devices = Vec::with_capacity(groups.len());
        for members in &groups {
            let devices = members.iter().fold(DeviceSet::ALL, |set, &t| set.and(tasks[t].devices));
            if devices.iter(num_devices).next().is_none() {
                let names: Vec<&str> = members.iter().take(5).map(|&t| &*tasks[t].name).collect();
                bail!(InvalidArgument, "no device can run all tasks that must be on one device: {}", names.join(", "));
            }
            group_devices.push(devices);
        }
        Ok(TaskGraph { tasks, signals, inputs, outputs, order, groups, group_devices, num_devices })
    }

    /// # Errors
    /// Returns `InvalidArgument` for a machine of another number of devices.
    pub(crate) fn check_machine(&self, machine: &Machine) -> Result<()> {
        let (own, found) = (self.num_devices, machine.num_devices());
        if own != found {
            bail!(InvalidArgument, "the tasks have times on {own} devices, and the machine has {found}");
        }
        Ok(())
    }

    /// Returns the tasks, by index.
    pub fn tasks(&self) -> &[Task] {
        &self.tasks
    }

    /// Returns the number of tasks.
    pub fn len(&self) -> usize {
        self.tasks.len()
    }

    /// Returns true if there are no tasks.
    pub fn is_empty(&self) -> bool {
        self.tasks.is_empty()
    }

    /// Returns the number of groups.
    pub fn num_groups(&self) -> usize {
        self.groups.len()
    }

    /// Returns the dependencies: tasks in pairs, with the bytes that go from the first to the second.
    pub fn dependencies(&self) -> impl Iterator<Item = (usize, usize, u64)> {
        self.signals.iter().flat_map(|signal| signal.consumers.iter().map(|&to| (signal.from, to, signal.bytes)))
    }

    pub(crate) fn signals(&self) -> &[Signal] {
        &self.signals
    }

    pub(crate) fn inputs(&self, task: usize) -> &[usize] {
        &self.inputs[task]
    }

    pub(crate) fn outputs(&self, task: usize) -> &[usize] {
        &self.outputs[task]
    }

    /// Returns the tasks, each after those that it waits for.
    pub(crate) fn order(&self) -> &[usize] {
        &self.order
    }

    pub(crate) fn groups(&self) -> &[Vec<usize>] {
        &self.groups
    }

    pub(crate) fn group_devices(&self, group: usize) -> DeviceSet {
        self.group_devices[group]
    }

    /// Returns the device of each task from that of each group.
    pub(crate) fn assignment(&self, of_groups: &[usize]) -> Vec<usize> {
        self.tasks.iter().map(|task| of_groups[task.group]).collect()
    }
}

fn topological_order(tasks: &[Task], signals: &[Signal], inputs: &[Vec<usize>], outputs: &[Vec<usize>]) -> Result<Vec<usize>> {
    let mut pending: Vec<usize> = inputs.iter().map(Vec::len).collect();
    let mut order: Vec<usize> = (0..tasks.len()).filter(|&t| pending[t] == 0).collect();
    let mut next = 0;
    while let Some(&task) = order.get(next) {
        next += 1;
        for &to in outputs[task].iter().flat_map(|&s| &signals[s].consumers) {
            pending[to] -= 1;
            if pending[to] == 0 {
                order.push(to);
            }
        }
    }
    match pending.iter().position(|&p| p > 0) {
        Some(task) => bail!(InvalidArgument, "the tasks have a cycle, which includes or precedes '{}'", tasks[task].name),
        None => Ok(order),
    }
}

/// Numbers the groups from 0 in the order of their first tasks. Returns their tasks.
fn number_groups(tasks: &mut [Task]) -> Vec<Vec<usize>> {
    let (mut numbers, mut groups) = (BTreeMap::new(), Vec::<Vec<usize>>::new());
    for (i, task) in tasks.iter_mut().enumerate() {
        let number = *numbers.entry(task.group).or_insert_with(|| {
            groups.push(Vec::new());
            groups.len() - 1
        });
        task.group = number;
        groups[number].push(i);
    }
    groups
}
