//! Devices, which run kernels and have memory of their own.

use crate::copies::copy_parts;
use crate::kernel::Kernel;
use crate::registry::KernelRegistry;
use flowmill_graph::DeviceName;
use flowmill_tensor::{Allocator, DType, MemoryStats, Result, Shape, Tensor};
use std::any::Any;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};

/// A callback that receives a copy of a tensor.
pub type CopyDone = Box<dyn FnOnce(Result<Tensor>) + Send>;

/// A callback that receives the first error of a device's work.
pub type SyncDone = Box<dyn FnOnce(Result<()>) + Send>;

/// A device: it runs kernels and has memory of its own.
///
/// The inputs and outputs of a device's kernels are in the device's memory, except those that the kernel's registration places in the host's memory
/// ([`KernelDef::host_memory`](crate::KernelDef::host_memory)). The engine copies tensors between devices. A device's kernels find its type by `Any`.
pub trait Device: Any + Send + Sync {
    /// Returns the device's name and properties.
    fn attributes(&self) -> &DeviceAttributes;

    /// Returns true if the device's memory is the host's.
    fn is_host(&self) -> bool {
        false
    }

    /// Returns the kernels that run on devices of this type.
    fn kernels(&self) -> &KernelRegistry;

    /// Allocates a tensor in the device's memory. Its elements are initialised and unspecified.
    ///
    /// # Errors
    /// Returns `ResourceExhausted` if the device's memory is full.
    fn allocate(&self, dtype: DType, shape: &Shape) -> Result<Tensor>;

    /// Returns the allocator of the host's memory that the device's kernels use. On a device whose memory is the host's, it is the allocator of the
    /// device's memory. The default has no account.
    fn host_allocator(&self) -> &Allocator {
        Allocator::process()
    }

    /// Returns the use of the device's memory; `None` if the device does not count it. The default returns the counts of the allocator if the device's
    /// memory is the host's.
    fn memory_stats(&self) -> Option<MemoryStats> {
        if self.is_host() { self.host_allocator().stats() } else { None }
    }

    /// Returns true if a dense tensor is in this device's memory. [`holds`](#method.holds) is for tensors of any type.
    fn holds_dense(&self, tensor: &Tensor) -> bool {
        tensor.device_memory().map_or(self.is_host(), |memory| self.attributes().name.to_string() == memory.device())
    }

    /// Returns a copy of a dense tensor of this device if somebody outside of the engine may write to its memory, and otherwise `None`.
    ///
    /// # Errors
    /// Returns `ResourceExhausted` if the device's memory is full.
    fn copy_of_foreign(&self, tensor: &Tensor) -> Result<Option<Tensor>> {
        self.host_allocator().owned(tensor)
    }

    /// Returns the kernel that runs in place of one that was made for a node of this device. The default returns `kernel`; a device may wrap it, for
    /// example to attribute the memory that it allocates to the node.
    fn adopt(&self, _node: &str, kernel: Arc<dyn Kernel>) -> Arc<dyn Kernel> {
        kernel
    }

    /// Returns true if the device can record the work of strands of replayable kernels: see [`Device::adopt_strand`].
    fn replays_strands(&self) -> bool {
        false
    }

    /// Returns the kernel that runs in place of `strand`, which runs nodes of this device one after the other. The default returns `strand`. A device may
    /// record the work that the nodes enqueue and do it again in later steps. `reads_input` is false for inputs that the nodes only wait for.
    fn adopt_strand(&self, _name: &str, strand: Arc<dyn Kernel>, _reads_input: &[bool]) -> Arc<dyn Kernel> {
        strand
    }

    /// Copies a dense tensor of this device to the host's memory. [`copy_to_host`](#method.copy_to_host) is for tensors of any type.
    fn copy_dense_to_host(&self, tensor: Tensor, done: CopyDone);

    /// Copies a dense tensor in the host's memory to this device. [`copy_from_host`](#method.copy_from_host) is for tensors of any type.
    fn copy_dense_from_host(&self, tensor: Tensor, done: CopyDone);

    /// Copies a dense tensor of this device to another device. The default copies through the host's memory; a device may override it with a direct copy.
    /// [`copy_to`](#method.copy_to) is for tensors of any type.
    fn copy_dense_to(&self, tensor: Tensor, other: &Arc<dyn Device>, done: CopyDone) {
        self.copy_through_host(tensor, other, done);
    }

    /// Copies a dense tensor of this device to the host's memory and from there to another device.
    fn copy_through_host(&self, tensor: Tensor, other: &Arc<dyn Device>, done: CopyDone) {
        let other = other.clone();
        self.copy_dense_to_host(
            tensor,
            Box::new(move |copied| match copied {
                Ok(tensor) => other.copy_dense_from_host(tensor, done),
                Err(e) => done(Err(e)),
            }),
        );
    }

    /// Calls `done` when the work that kernels have enqueued so far has ended, with the first error of that work. A step ends after this call on each
    /// of its devices.
    fn sync(&self, done: SyncDone) {
        done(Ok(()));
    }
}

/// Operations on tensors of any type. The tensors inside of variants are in the device's memory, but strings and handles are in the host's on every device.
impl dyn Device {
    /// Returns true if the tensor is in this device's memory.
    pub fn holds(&self, tensor: &Tensor) -> bool {
        match tensor.dtype() {
            DType::Variant => tensor.first_dense_part().is_none_or(|part| self.holds_dense(part)),
            _ => self.holds_dense(tensor),
        }
    }

    /// Returns a tensor of this device whose memory nobody outside of the engine writes to: the same one, or a copy. Kernels that keep a tensor after the
    /// step call it.
    ///
    /// # Errors
    /// Returns `ResourceExhausted` if the device's memory is full.
    pub fn owned(&self, tensor: Tensor) -> Result<Tensor> {
        Ok(tensor.map_dense_parts(&mut |part| self.copy_of_foreign(part))?.unwrap_or(tensor))
    }

    /// Copies a tensor of this device to the host's memory.
    pub fn copy_to_host(&self, tensor: Tensor, done: CopyDone) {
        copy_parts(tensor, |part, done| self.copy_dense_to_host(part, done), done);
    }

    /// Copies a tensor in the host's memory to this device.
    pub fn copy_from_host(&self, tensor: Tensor, done: CopyDone) {
        copy_parts(tensor, |part, done| self.copy_dense_from_host(part, done), done);
    }

    /// Copies a tensor of this device to another device.
    pub fn copy_to(&self, tensor: Tensor, other: &Arc<dyn Device>, done: CopyDone) {
        copy_parts(tensor, |part, done| self.copy_dense_to(part, other, done), done);
    }
}

/// The name and the properties of a device.
#[derive(Clone, Debug)]
pub struct DeviceAttributes {
    /// The full name.
    pub name: DeviceName,
    /// The number of bytes that tensors may occupy on the device.
    pub memory_limit: usize,
    /// The part of the machine that the device is attached to.
    pub locality: DeviceLocality,
    /// A number that distinguishes the device from all others of the same name, also in other processes.
    pub incarnation: u64,
    /// A description for people, such as the model of a GPU.
    pub description: String,
}

/// The position of a device in its machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeviceLocality {
    /// The number of the bus; 0 means no particular bus.
    pub bus_id: i32,
    /// The nearest NUMA node.
    pub numa_node: i32,
}

impl DeviceAttributes {
    /// Returns the attributes of device number `id` of a type, in this process.
    pub fn local(device_type: &str, id: u32, memory_limit: usize) -> DeviceAttributes {
        static SEED: LazyLock<RandomState> = LazyLock::new(RandomState::new);
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let name = DeviceName::local(device_type, id);
        // Another process has other numbers, a fork too.
        let incarnation = SEED.hash_one((&name, std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed))).max(1);
        DeviceAttributes { name, memory_limit, locality: DeviceLocality::default(), incarnation, description: String::new() }
    }

    /// Returns the type, such as `CPU`.
    pub fn device_type(&self) -> &str {
        self.name.device_type.as_deref().unwrap_or("CPU")
    }
}

/// A device whose memory is the host's.
pub struct HostDevice {
    attributes: DeviceAttributes,
    kernels: Arc<KernelRegistry>,
    allocator: Allocator,
}

impl HostDevice {
    /// Makes CPU number `id` of this process, with these kernels. Its memory is limited by the process's limit, and not counted.
    pub fn cpu(id: u32, kernels: Arc<KernelRegistry>) -> Arc<dyn Device> {
        let attributes = DeviceAttributes::local("CPU", id, flowmill_tensor::memory_limit());
        Arc::new(HostDevice { attributes, kernels, allocator: Allocator::default() })
    }

    /// Makes CPU number `id` of this process, with these kernels. The tensors that its kernels allocate may hold `memory_limit` bytes at once, and
    /// are counted ([`Device::memory_stats`]).
    pub fn cpu_with_limit(id: u32, kernels: Arc<KernelRegistry>, memory_limit: usize) -> Arc<dyn Device> {
        let attributes = DeviceAttributes::local("CPU", id, memory_limit);
        let allocator = Allocator::with_limit(&attributes.name, memory_limit);
        Arc::new(HostDevice { attributes, kernels, allocator })
    }
}

impl Device for HostDevice {
    fn attributes(&self) -> &DeviceAttributes {
        &self.attributes
    }

    fn is_host(&self) -> bool {
        true
    }

    fn kernels(&self) -> &KernelRegistry {
        &self.kernels
    }

    fn allocate(&self, dtype: DType, shape: &Shape) -> Result<Tensor> {
        self.allocator.uninit(dtype, shape.clone())
    }

    fn host_allocator(&self) -> &Allocator {
        &self.allocator
    }

    fn copy_dense_to_host(&self, tensor: Tensor, done: CopyDone) {
        done(Ok(tensor));
    }

    fn copy_dense_from_host(&self, tensor: Tensor, done: CopyDone) {
        done(Ok(tensor));
    }
}
