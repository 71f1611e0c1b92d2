//! The devices that a group may be placed on.

use crate::colocate::Colocation;
use crate::types::TypeList;
use flowmill_graph::{DeviceName, Node, NodeId};
use flowmill_tensor::Result;
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::rc::Rc;

/// The devices of groups with the same requests and types, best first.
#[derive(Default)]
pub(crate) struct Candidates(FxHashMap<(u32, u32), Rc<[u32]>>);

impl Candidates {
    /// Returns the devices that the group of a node may be placed on, best first. There is at least one.
    ///
    /// # Errors
    /// Returns `InvalidArgument` if no device satisfies the group's requests and has kernels for all its nodes.
    pub(crate) fn of(&mut self, colocation: &mut Colocation<'_>, node: &Node) -> Result<Rc<[u32]>> {
        let root = colocation.groups.root(node.id());
        let key = colocation.groups.key(root);
        if let Some(devices) = self.0.get(&key) {
            return Ok(devices.clone());
        }
        let devices: Rc<[u32]> = find(colocation, node, root)?.into();
        self.0.insert(key, devices.clone());
        Ok(devices)
    }
}

fn find(colocation: &mut Colocation<'_>, node: &Node, root: NodeId) -> Result<Vec<u32>> {
    let types = colocation.groups.types(root).clone();
    let (requests, _) = colocation.groups.key(root);
    let requests = colocation.groups.requests.get(requests);
    let requested = requests.requested.clone();
    let mut devices = matching(colocation, &requested, &types);
    if devices.is_empty() && !requested.is_empty() && colocation.options.allow_soft_placement {
        // Resources are moved only if nothing else helps.
        let soft = [requests.soft(false), requests.soft(true)];
        devices = soft.iter().map(|name| matching(colocation, name, &types)).find(|devices| !devices.is_empty()).unwrap_or_default();
    }
    match devices.is_empty() {
        false => Ok(devices),
        true if requested.is_empty() => Err(colocation.no_device(node, root)),
        true => Err(colocation.unsatisfied(node, root)),
    }
}

/// Returns the devices of these types that `name` matches: the default device first, then by the priority of the kernel, the rank of the type and the
/// device's name.
fn matching(colocation: &Colocation<'_>, name: &DeviceName, types: &TypeList) -> Vec<u32> {
    let default = colocation.options.default_device;
    let mut found = Vec::new();
    for (i, device) in colocation.devices.iter().enumerate().filter(|(_, device)| name.matches(device)) {
        let Some(device_type) = colocation.types.of(device) else { continue };
        if let Some(&(_, priority)) = types.iter().find(|(t, _)| *t == device_type) {
            let rank = colocation.kernels.rank(device.device_type.as_deref().unwrap_or_default());
            found.push(((default != Some(i), Reverse(priority), Reverse(rank), device.to_string()), i as u32));
        }
    }
    found.sort();
    found.into_iter().map(|(_, device)| device).collect()
}
