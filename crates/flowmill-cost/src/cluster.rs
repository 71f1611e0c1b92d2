//! Clusters: groups that are likely to belong on one device, because copies between them take longer than they save.

use crate::machine::Machine;
use crate::order::{Key, sort_keys};
use crate::saturating::total;
use crate::tasks::{DeviceSet, TaskGraph};

/// The factor between the numbers of clusters of two levels.
const SHRINK: usize = 4;

/// One level of clusters. Each cluster of a level is a union of clusters of the level before it.
#[derive(Clone, Debug)]
pub(crate) struct Level {
    /// The cluster of each group.
    pub(crate) cluster_of: Vec<usize>,
    /// The groups of each cluster.
    pub(crate) members: Vec<Vec<usize>>,
    /// The devices that can run all groups of a cluster.
    pub(crate) devices: Vec<DeviceSet>,
}

/// Returns levels of clusters, from the groups themselves to about two clusters per device. Groups are joined along the dependency with the most
/// expensive copy first, if one device can run both and the joined cluster takes no more than a device's share of all work.
pub(crate) fn levels(tasks: &TaskGraph, machine: &Machine) -> Vec<Level> {
    let n = machine.num_devices();
    let num_groups = tasks.num_groups();
    let mut set = Clusters {
        parent: (0..num_groups).collect(),
        devices: (0..num_groups).map(|g| tasks.group_devices(g)).collect(),
        work: tasks
            .groups()
            .iter()
            .map(|members| total(members.iter().map(|&t| tasks.tasks()[t].times.iter().copied().min().unwrap_or(0))))
            .collect(),
        num_clusters: num_groups,
        num_devices: n,
    };
    let share = total(set.work.iter().copied()) / n as u64;
    let mut edges: Vec<Key> = Vec::new();
    for (from, to, bytes) in tasks.dependencies() {
        let (a, b) = (tasks.tasks()[from].group, tasks.tasks()[to].group);
        if a != b {
            edges.push((u64::MAX - machine.mean_copy_time(bytes), a as u64, b));
        }
    }
    sort_keys(&mut edges);
    edges.dedup();
    let mut levels = vec![set.level()];
    let mut target = num_groups / SHRINK;
    for (_, a, b) in edges {
        if set.num_clusters <= 2 * n {
            break;
        }
        set.join(a as usize, b, share);
        if set.num_clusters <= target {
            levels.push(set.level());
            target /= SHRINK;
        }
    }
    if levels.last().is_some_and(|last| last.members.len() > set.num_clusters) {
        levels.push(set.level());
    }
    levels
}

/// A union-find structure over groups.
struct Clusters {
    parent: Vec<usize>,
    devices: Vec<DeviceSet>,
    work: Vec<u64>,
    num_clusters: usize,
    num_devices: usize,
}

impl Clusters {
    fn find(&mut self, mut group: usize) -> usize {
        while self.parent[group] != group {
            self.parent[group] = self.parent[self.parent[group]];
            group = self.parent[group];
        }
        group
    }

    fn join(&mut self, a: usize, b: usize, most_work: u64) {
        let (a, b) = (self.find(a), self.find(b));
        let devices = self.devices[a].and(self.devices[b]);
        let work = self.work[a].saturating_add(self.work[b]);
        if a == b || work > most_work || devices.iter(self.num_devices).next().is_none() {
            return;
        }
        let (root, child) = (a.min(b), a.max(b));
        self.parent[child] = root;
        (self.devices[root], self.work[root]) = (devices, work);
        self.num_clusters -= 1;
    }

    fn level(&mut self) -> Level {
        let mut number = vec![usize::MAX; self.parent.len()];
        let mut level = Level { cluster_of: Vec::with_capacity(self.parent.len()), members: Vec::new(), devices: Vec::new() };
        for group in 0..self.parent.len() {
            let root = self.find(group);
            if number[root] == usize::MAX {
                number[root] = level.members.len();
                level.members.push(Vec::new());
                level.devices.push(self.devices[root]);
            }
            level.cluster_of.push(number[root]);
            level.members[number[root]].push(group);
        }
        level
    }
}
