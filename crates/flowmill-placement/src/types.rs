//! Device types that can run a node, in order of preference.

use flowmill_graph::{DeviceName, Node};
use smallvec::SmallVec;
use std::cmp::Reverse;

/// The kernels of a session's devices, which the placer asks about.
pub trait Kernels {
    /// Returns the priority of the kernel of `node` on devices of this type, or `None` if there is none for its op and dtypes. The usual priority is 0.
    fn priority(&self, node: &Node, device_type: &str) -> Option<i32>;

    /// Returns the rank of a device type. Among kernels of equal priority, the type of the highest rank is used.
    fn rank(&self, device_type: &str) -> i32 {
        match device_type {
            "GPU" => 210,
            "CPU" => 70,
            _ => 50,
        }
    }

    /// Returns true if the memory of devices of this type is the host's, so that strings and resources can be on them.
    fn is_host(&self, device_type: &str) -> bool {
        device_type == "CPU"
    }

    /// Returns a description of each registered kernel of `op`, for error messages.
    fn registered(&self, op: &str) -> Vec<String>;
}

/// Device types with the priorities of a kernel on them, best first. A type is a number: see [`DeviceTypes`].
pub(crate) type TypeList = SmallVec<[(u16, i32); 2]>;

/// The types of a session's devices, numbered by descending rank.
pub(crate) struct DeviceTypes {
    names: Vec<String>,
}

impl DeviceTypes {
    pub(crate) fn new(devices: &[DeviceName], kernels: &dyn Kernels) -> DeviceTypes {
        let mut names: Vec<String> = devices.iter().filter_map(|device| device.device_type.clone()).collect();
        names.sort_unstable();
        names.dedup();
        // Stable, so that types of equal rank stay in the order of their names.
        names.sort_by_key(|name| Reverse(kernels.rank(name)));
        DeviceTypes { names }
    }

    pub(crate) fn names(&self) -> &[String] {
        &self.names
    }

    /// Returns the number of a device's type.
    pub(crate) fn of(&self, device: &DeviceName) -> Option<u16> {
        let name = device.device_type.as_ref()?;
        self.names.iter().position(|n| n == name).map(|i| i as u16)
    }

    /// Returns the names of a list, separated by blanks.
    pub(crate) fn describe(&self, types: &TypeList) -> String {
        types.iter().filter_map(|&(t, _)| self.names.get(usize::from(t)).map(String::as_str)).collect::<Vec<_>>().join(" ")
    }

    /// Returns the types that can run a node.
    pub(crate) fn supporting(&self, node: &Node, kernels: &dyn Kernels) -> TypeList {
        let names = self.names.iter().enumerate();
        let mut types: TypeList = names.filter_map(|(i, name)| Some((i as u16, kernels.priority(node, name)?))).collect();
        sort(&mut types);
        types
    }
}

/// Puts the highest priority first. Types of equal priority are sorted by rank, which their numbers follow.
fn sort(types: &mut TypeList) {
    types.sort_unstable_by_key(|&(t, priority)| (Reverse(priority), t));
}

/// Returns the types that are in both lists, or `None` if there are none. If one list has priorities, they decide the order; if both have and
/// disagree, no priorities are left.
pub(crate) fn intersection(a: &TypeList, b: &TypeList) -> Option<TypeList> {
    let in_both = |of: &TypeList, other: &TypeList| -> TypeList {
        let mut types: TypeList = of.iter().copied().filter(|(t, _)| other.iter().any(|(u, _)| t == u)).collect();
        sort(&mut types);
        types
    };
    let (mut ours, theirs) = (in_both(a, b), in_both(b, a));
    if ours.is_empty() {
        return None;
    }
    let has_priorities = |types: &TypeList| types.iter().any(|&(_, priority)| priority != 0);
    match (has_priorities(&ours), has_priorities(&theirs)) {
        (false, true) => Some(theirs),
        (true, true) if ours.iter().map(|t| t.0).ne(theirs.iter().map(|t| t.0)) => {
            ours.iter_mut().for_each(|(_, priority)| *priority = 0);
            sort(&mut ours);
            Some(ours)
        }
        _ => Some(ours),
    }
}
