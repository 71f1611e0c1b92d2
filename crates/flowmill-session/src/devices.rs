//! The devices of a session.

use crate::compile::CallSite;
use flowmill_graph::{Graph, Node, TensorType};
use flowmill_runtime::plan::{NodeCache, runs_on};
use flowmill_runtime::{Device, DeviceStep, FunctionLibraryRuntime, ResourceManager, Step};
use flowmill_tensor::{DType, Result, Tensor, bail};
use std::sync::Arc;

/// A device, with the session's state on it.
pub(crate) struct SessionDevice {
    pub(crate) device: Arc<dyn Device>,
    pub(crate) resources: Arc<ResourceManager>,
    pub(crate) cache: NodeCache,
}

impl SessionDevice {
    /// Returns the view of a step on this device.
    pub(crate) fn step(&self, step: Arc<Step>, functions: &Arc<FunctionLibraryRuntime>) -> Arc<DeviceStep> {
        Arc::new(DeviceStep { step, device: self.device.clone(), resources: self.resources.clone(), functions: functions.clone() })
    }
}

/// The devices of a session; the first is the host.
pub(crate) struct Devices(Vec<SessionDevice>);

impl Devices {
    /// # Errors
    /// Returns `InvalidArgument` if the first device is not the host, or two devices have the same name.
    pub(crate) fn new(devices: Vec<Arc<dyn Device>>) -> Result<Devices> {
        if !devices.first().is_some_and(|device| device.is_host()) {
            bail!(InvalidArgument, "The first device of a session must be a CPU");
        }
        for (i, device) in devices.iter().enumerate() {
            let name = &device.attributes().name;
            if !name.is_full() || devices[..i].iter().any(|other| other.attributes().name == *name) {
                bail!(InvalidArgument, "'{name}' is not a full name of a device that no other device of the session has");
            }
        }
        let new = |device: Arc<dyn Device>| {
            let resources = Arc::new(ResourceManager::on(&device.attributes().name));
            SessionDevice { device, resources, cache: NodeCache::default() }
        };
        Ok(Devices(devices.into_iter().map(new).collect()))
    }

    /// Returns the host.
    pub(crate) fn host(&self) -> &SessionDevice {
        &self.0[0]
    }

    /// Returns device number `i`.
    pub(crate) fn get(&self, i: usize) -> Option<&SessionDevice> {
        self.0.get(i)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &SessionDevice> {
        self.0.iter()
    }

    /// Returns the number of the device that is called `name`.
    fn number_of(&self, name: &str) -> Option<usize> {
        self.iter().position(|device| device.resources.device().is_some_and(|own| **own == *name))
    }

    /// Returns the site of a call of a function with these arguments, from the device of `caller`.
    pub(crate) fn site(&self, args: &[Tensor], caller: &DeviceStep) -> CallSite {
        let device = self.iter().position(|own| Arc::ptr_eq(&own.device, &caller.device)).unwrap_or_default();
        let resource = |arg: &Tensor| self.number_of(arg.as_resources().ok()?.first()?.device()?).filter(|&number| number != device);
        // Another tensor's error would be made and dropped in each call.
        let handles = args.iter().enumerate().filter(|(_, arg)| arg.dtype() == DType::Resource);
        CallSite { device, resources: handles.filter_map(|(i, arg)| Some((i, resource(arg)?))).collect() }
    }

    /// Returns true if the engine can run a node of `graph` on `device`, which is one of these or of their types.
    pub(crate) fn can_run(&self, device: &Arc<dyn Device>, graph: &Graph, node: &Node) -> bool {
        // Nodes without a kernel run everywhere, but not every tensor can be there. Calls pass such tensors on in the host's memory.
        let is_of_host = |t: &TensorType| t.dtype == DType::String;
        let needs_host = || {
            !device.kernels().contains(node.op())
                && !graph.calls_functions(node)
                && node.input_types().iter().chain(node.output_types()).any(is_of_host)
        };
        (device.is_host() || !needs_host()) && runs_on(node, device, &self.host().device, graph.library())
    }

    /// Returns true if there is no device besides the host.
    pub(crate) fn is_host_alone(&self) -> bool {
        self.0.len() == 1
    }

    /// Drops the resources in these containers on all devices, or all resources if the list is empty.
    pub(crate) fn clear(&self, containers: &[String]) {
        self.iter().for_each(|device| device.resources.clear(containers));
    }
}
