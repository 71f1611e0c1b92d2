//! The requests of a group: which devices its nodes name, and how binding that is.

use crate::intern::Interner;
use flowmill_graph::DeviceName;
use flowmill_tensor::Result;
use rustc_hash::FxHashMap;

/// The merged requests of the nodes of a group. Each of the first two is a part of `requested`, which is the sum of all wishes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Requests {
    /// The devices of nodes that have been placed. They are never overridden.
    pub(crate) assigned: DeviceName,
    /// The requests of nodes that make a resource or a variable. Requests of other nodes do not override them.
    pub(crate) resource: DeviceName,
    /// All requests.
    pub(crate) requested: DeviceName,
}

impl Requests {
    /// Returns the requests of a node that has been placed on `device`.
    pub(crate) fn assigned_to(device: &DeviceName) -> Requests {
        Requests { assigned: device.clone(), resource: DeviceName::default(), requested: device.clone() }
    }

    /// Returns the requests of a group after one of its nodes was placed on `device`.
    fn after_assignment(&self, device: &DeviceName) -> Result<Requests> {
        Ok(Requests {
            assigned: self.assigned.merged(device)?,
            resource: self.resource.overridden_by(device),
            requested: self.requested.overridden_by(device),
        })
    }

    fn merged(&self, other: &Requests, is_soft: bool) -> Result<Requests> {
        let assigned = self.assigned.merged(&other.assigned)?;
        let resource = self.resource.merged(&other.resource)?;
        let requested = if is_soft { self.requested.merged_softly(&other.requested)? } else { self.requested.merged(&other.requested)? };
        let requested = requested.overridden_by(&assigned).overridden_by(&resource);
        Ok(Requests { assigned, resource, requested })
    }

    /// Returns these requests for the consumer of a resource whose group has the requests `source`, which win where the two contradict.
    pub(crate) fn yielding_to(&self, source: &Requests) -> Requests {
        let requested = source.requested.overridden_by(&self.assigned).overridden_by(&self.resource);
        Requests { requested, ..self.clone() }
    }

    /// Returns the request to try if no device satisfies all of it: the type and the number are kept only if they are binding.
    pub(crate) fn soft(&self, may_move_resources: bool) -> DeviceName {
        let is_free = |part: fn(&DeviceName) -> bool| !part(&self.assigned) && (may_move_resources || !part(&self.resource));
        let mut name = self.requested.clone();
        if is_free(|name| name.device_type.is_some()) {
            name.device_type = None;
        }
        if is_free(|name| name.device_id.is_some()) {
            name.device_id = None;
        }
        name
    }
}

/// All distinct requests of a graph, by number. Number 0 is no request. Graphs have few, so merging two is mostly a look-up.
pub(crate) struct RequestTable {
    table: Interner<Requests>,
    merged: FxHashMap<(u32, u32), u32>,
    assigned: FxHashMap<(u32, u32), u32>,
    is_soft: bool,
}

impl RequestTable {
    pub(crate) fn new(is_soft: bool) -> RequestTable {
        RequestTable { table: Interner::new(Requests::default()), merged: FxHashMap::default(), assigned: FxHashMap::default(), is_soft }
    }

    pub(crate) fn get(&self, number: u32) -> &Requests {
        self.table.get(number)
    }

    pub(crate) fn intern(&mut self, requests: Requests) -> u32 {
        self.table.intern(requests)
    }

    /// Returns the merged requests of two groups.
    ///
    /// # Errors
    /// Returns `InvalidArgument` if they contradict each other.
    pub(crate) fn merge(&mut self, a: u32, b: u32) -> Result<u32> {
        match (a, b) {
            (a, b) if a == b || b == 0 => return Ok(a),
            (0, b) => return Ok(b),
            _ => {}
        }
        if let Some(&merged) = self.merged.get(&(a, b)) {
            return Ok(merged);
        }
        let merged = self.get(a).merged(self.get(b), self.is_soft)?;
        let merged = self.intern(merged);
        self.merged.insert((a, b), merged);
        Ok(merged)
    }

    /// Returns the requests of a group after one of its nodes was placed on device number `device`, called `name`.
    ///
    /// # Errors
    /// Returns `InvalidArgument` if another node of the group is on another device.
    pub(crate) fn assign(&mut self, requests: u32, device: u32, name: &DeviceName) -> Result<u32> {
        if let Some(&assigned) = self.assigned.get(&(requests, device)) {
            return Ok(assigned);
        }
        let assigned = self.get(requests).after_assignment(name)?;
        let assigned = self.intern(assigned);
        self.assigned.insert((requests, device), assigned);
        Ok(assigned)
    }
}
