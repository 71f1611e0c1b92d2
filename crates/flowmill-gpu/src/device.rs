//! The device type `GPU`.

mod copies;

use crate::backend::{Address, Event, Function, Gpu, Grid, Stream};
use crate::kernels;
use crate::memory::{Accounted, Allocator, MemoryOptions, Staging};
use crate::replay::ReplayedStrand;
use flowmill_runtime::{CopyDone, Device, DeviceAttributes, DeviceLocality, Kernel, KernelRegistry, SyncDone};
use flowmill_tensor::{DType, DeviceMemory, Error, MemoryStats, Result, Shape, Tensor, error};
use smallvec::SmallVec;
use std::any::Any;
use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, LazyLock};

/// The options of a GPU device.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GpuOptions {
    /// The limits of the memory that is used.
    pub memory: MemoryOptions,
    /// True if products of `f32` matrices may round their operands to TensorFloat-32, as TensorFlow's do unless they are told otherwise.
    pub allow_tf32: bool,
    /// True if results must have the same bits in every run, also where a library is faster otherwise.
    pub is_deterministic: bool,
    /// True if the work of strands of nodes is recorded and replayed, as CUDA graphs, if the driver can do so.
    pub replay: bool,
    /// True if tensors are copied from this GPU to others over a link between them, if there is one. Otherwise they go through the host's memory.
    pub peer_copies: bool,
    /// The bytes that copies of the elements under a convolution's windows may take. Convolutions that no library computes, and that need more, are computed
    /// in parts.
    pub patch_bytes: usize,
}

/// The bytes that copies of the elements under a convolution's windows take by default.
const PATCH_BYTES: usize = 256 << 20;

impl Default for GpuOptions {
    fn default() -> GpuOptions {
        GpuOptions {
            memory: MemoryOptions::default(),
            allow_tf32: true,
            is_deterministic: false,
            replay: true,
            peer_copies: true,
            patch_bytes: PATCH_BYTES,
        }
    }
}

impl GpuOptions {
    /// Returns the default options, changed by the environment: no replays with `FLOWMILL_CUDA_GRAPHS=0`, no copies over a link between GPUs with
    /// `FLOWMILL_PEER_COPIES=0`, and deterministic results with TensorFlow's `TF_DETERMINISTIC_OPS` or `TF_CUDNN_DETERMINISTIC`.
    pub fn from_env() -> GpuOptions {
        let is_on = |name: &str| std::env::var_os(name).is_none_or(|value| value != "0");
        let is_set = |name| std::env::var(name).is_ok_and(|value| matches!(value.to_ascii_lowercase().as_str(), "1" | "true"));
        GpuOptions {
            replay: is_on("FLOWMILL_CUDA_GRAPHS"),
            peer_copies: is_on("FLOWMILL_PEER_COPIES"),
            is_deterministic: is_set("TF_DETERMINISTIC_OPS") || is_set("TF_CUDNN_DETERMINISTIC"),
            ..GpuOptions::default()
        }
    }
}

/// A GPU with its memory. Kernels enqueue work on its compute stream and return.
pub struct GpuDevice {
    attributes: DeviceAttributes,
    gpu: Arc<dyn Gpu>,
    options: GpuOptions,
    allocator: Arc<Allocator>,
    staging: Arc<Staging>,
    /// The copies to and from the host whose end a thread waits for.
    copies: Sender<Enqueued>,
    /// True until recording of work has failed.
    can_record: AtomicBool,
}

/// Work in a stream, and what happens when it has ended.
struct Enqueued {
    end: Arc<dyn Event>,
    then: Box<dyn FnOnce(Result<()>) + Send>,
}

/// The elements of a tensor in a GPU's memory.
#[derive(Clone)]
pub struct GpuMemory {
    /// A block of the device's allocator, a lease of recorded work, or memory of another library.
    owner: Arc<dyn Any + Send + Sync>,
    is_foreign: bool,
    start: Address,
    device: Arc<str>,
}

/// Memory of another library, which is given back when the work that was enqueued until then has ended.
struct Foreign {
    owner: Option<Box<dyn Any + Send + Sync>>,
    gpu: Arc<dyn Gpu>,
    copies: Sender<Enqueued>,
}

impl Drop for Foreign {
    fn drop(&mut self) {
        let owner = self.owner.take();
        if let Ok(end) = self.gpu.record(Stream::Compute) {
            // The thread lives as long as the device.
            let _ = self.copies.send(Enqueued { end, then: Box::new(move |_| drop(owner)) });
        }
    }
}

impl GpuMemory {
    /// Returns the memory of a tensor that is in a GPU's.
    pub fn of(tensor: &Tensor) -> Option<&GpuMemory> {
        let memory: &dyn Any = &**tensor.device_memory()?;
        memory.downcast_ref()
    }

    /// Returns the address of the first element.
    pub fn address(&self) -> Address {
        self.start
    }

    /// Returns the object that keeps the memory allocated.
    pub(crate) fn owner(&self) -> &Arc<dyn Any + Send + Sync> {
        &self.owner
    }

    /// Returns the memory `bytes` bytes behind this one, in the same block.
    pub(crate) fn offset(&self, bytes: usize) -> GpuMemory {
        GpuMemory { start: self.start.offset(bytes), ..self.clone() }
    }

    /// Returns true if the memory belongs to another library, which may write to it between steps.
    pub fn is_foreign(&self) -> bool {
        self.is_foreign
    }
}

impl DeviceMemory for GpuMemory {
    fn device(&self) -> &str {
        &self.device
    }
}

impl GpuDevice {
    /// Makes the device `GPU:number`.
    ///
    /// # Errors
    /// Returns the driver's error, and the errors of invalid options.
    pub fn new(number: u32, gpu: Arc<dyn Gpu>, options: GpuOptions) -> Result<Arc<GpuDevice>> {
        let mut attributes = DeviceAttributes::local("GPU", number, 0);
        let name = attributes.name.to_string();
        let allocator = Allocator::new(gpu.clone(), name.clone(), options.memory)?;
        let properties = gpu.properties();
        attributes.memory_limit = allocator.stats().bytes_limit;
        attributes.locality = DeviceLocality { bus_id: properties.bus_id, ..DeviceLocality::default() };
        attributes.description = format!("device: {number}, name: {}, architecture: {}", properties.name, properties.architecture);
        let (copies, queue) = channel::<Enqueued>();
        let thread = std::thread::Builder::new().name(format!("gpu-{number}-copies"));
        let spawned = thread.spawn(move || queue.into_iter().for_each(|work| (work.then)(work.end.wait())));
        spawned.map_err(|e| error!(ResourceExhausted, "No thread for {name}: {e}"))?;
        let staging = Staging::new(gpu.clone());
        let can_record = AtomicBool::new(options.replay && gpu.can_capture());
        Ok(Arc::new(GpuDevice { attributes, gpu, options, allocator, staging, copies, can_record }))
    }

    /// Returns the GPU.
    pub fn gpu(&self) -> &Arc<dyn Gpu> {
        &self.gpu
    }

    /// Returns the options.
    pub fn options(&self) -> &GpuOptions {
        &self.options
    }

    /// Returns the device behind the trait.
    ///
    /// # Errors
    /// Returns `Internal` if it is of another type.
    pub fn of(device: &Arc<dyn Device>) -> Result<&GpuDevice> {
        let any: &dyn Any = &**device;
        any.downcast_ref().ok_or_else(|| error!(Internal, "a kernel for GPUs runs on {}", device.attributes().name))
    }

    /// Returns the address of a tensor's first element.
    ///
    /// # Errors
    /// Returns `Internal` if the tensor is not in this device's memory.
    pub fn address(&self, tensor: &Tensor) -> Result<Address> {
        let memory = self.memory(tensor)?;
        Ok(memory.start)
    }

    pub(crate) fn memory<'a>(&self, tensor: &'a Tensor) -> Result<&'a GpuMemory> {
        match GpuMemory::of(tensor) {
            Some(memory) if Arc::ptr_eq(&memory.device, self.allocator.device()) => Ok(memory),
            _ => Err(error!(
                Internal,
                "a tensor of shape {} is in the memory of {}, not of {}",
                tensor.shape(),
                tensor.device_memory().map_or("the host", |memory| memory.device()),
                self.attributes.name
            )),
        }
    }

    /// Returns a view of the elements of `tensor` from number `first` on, which shares its memory.
    ///
    /// # Errors
    /// Returns `Internal` if the tensor is not in this device's memory or the view leaves it.
    pub fn view(&self, tensor: &Tensor, first: usize, shape: Shape) -> Result<Tensor> {
        let memory = self.memory(tensor)?;
        if first.saturating_add(shape.checked_num_elements()?) > tensor.num_elements() {
            return Err(error!(Internal, "a view of shape {shape} from element {first} leaves a tensor of shape {}", tensor.shape()));
        }
        let bytes = first * tensor.dtype().size().unwrap_or(0);
        Tensor::on_device(tensor.dtype(), shape, Arc::new(memory.offset(bytes)))
    }

    /// Returns a tensor of memory on this GPU that belongs to another library. `owner` is dropped when the tensor is gone and the work that uses it has
    /// ended. Work that is enqueued after this call sees what is in the memory now: the caller has waited for the work that writes to it.
    ///
    /// # Errors
    /// Returns `InvalidArgument` for a type that is not dense.
    ///
    /// # Safety
    /// The memory must have the elements of the shape without gaps, and stay allocated until `owner` is dropped.
    pub unsafe fn import(&self, start: Address, dtype: DType, shape: Shape, owner: Box<dyn Any + Send + Sync>) -> Result<Tensor> {
        let foreign = Foreign { owner: Some(owner), gpu: self.gpu.clone(), copies: self.copies.clone() };
        let memory = GpuMemory { owner: Arc::new(foreign), is_foreign: true, start, device: self.allocator.device().clone() };
        Tensor::on_device(dtype, shape, Arc::new(memory))
    }

    /// Returns a copy of a tensor of this device, in memory of the device's allocator.
    ///
    /// # Errors
    /// Returns `ResourceExhausted` if the memory is full, and the driver's error.
    pub fn copy_of(&self, tensor: &Tensor) -> Result<Tensor> {
        let copy = self.allocate(tensor.dtype(), tensor.shape())?;
        if tensor.num_bytes() > 0 {
            self.gpu.copy(self.address(&copy)?, self.address(tensor)?, tensor.num_bytes())?;
        }
        Ok(copy)
    }

    /// Returns the memory that an update of a value writes to: the value's own if nobody else holds it, and new memory otherwise. Work that is enqueued
    /// already, and that reads the value, is done before the update.
    ///
    /// # Errors
    /// Returns `Internal` if the tensor is not in this device's memory, and `ResourceExhausted` if the memory is full.
    pub(crate) fn memory_of_update(&self, value: &mut Tensor) -> Result<Tensor> {
        self.memory(value)?;
        let is_own = value.unshared_device_memory().is_some_and(|memory| {
            let any: &dyn Any = memory;
            any.downcast_ref::<GpuMemory>().is_some_and(|memory| !memory.is_foreign() && Arc::strong_count(&memory.owner) == 1)
        });
        if is_own { Ok(value.clone()) } else { self.allocate(value.dtype(), value.shape()) }
    }

    /// Returns a kernel by the text that it is compiled from and its name.
    ///
    /// # Errors
    /// Returns the errors of the compiler and the driver.
    pub fn function(&self, source: &str, name: &str) -> Result<Arc<dyn Function>> {
        self.gpu.load(source, name)
    }

    /// Enqueues a kernel. The arguments must fit the kernel's parameters.
    ///
    /// # Errors
    /// Returns the driver's error.
    pub fn launch(&self, function: &Arc<dyn Function>, grid: Grid, arguments: &[Argument<'_>]) -> Result<()> {
        let mut pointers: SmallVec<[*mut c_void; 12]> = arguments.iter().map(Argument::pointer).collect();
        // SAFETY: kernels are the crate's own, and their callers pass what the parameters need: a test runs each. A wrong address is an error of the GPU
        // that the driver reports; it does not touch the host's memory.
        unsafe { self.gpu.launch(function, grid, &mut pointers) }
    }

    /// Returns a grid for a loop over `n` elements in which each thread begins with the element of its number and goes on by the number of threads.
    pub fn linear_grid(&self, n: usize) -> Grid {
        const THREADS: usize = 256;
        const BLOCKS_PER_MULTIPROCESSOR: usize = 16;
        let most = self.gpu.properties().multiprocessors as usize * BLOCKS_PER_MULTIPROCESSOR;
        Grid { blocks: [n.div_ceil(THREADS).clamp(1, most.max(1)) as u32, 1, 1], threads: [THREADS as u32, 1, 1] }
    }

    /// Returns the allocator of the device's memory.
    pub(crate) fn allocator(&self) -> &Arc<Allocator> {
        &self.allocator
    }

    /// Returns a tensor of memory that `owner` keeps allocated.
    pub(crate) fn tensor_of(&self, dtype: DType, shape: &Shape, start: Address, owner: Arc<dyn Any + Send + Sync>) -> Result<Tensor> {
        let memory = GpuMemory { owner, is_foreign: false, start, device: self.allocator.device().clone() };
        Tensor::on_device(dtype, shape.clone(), Arc::new(memory))
    }

    /// Returns true if the work of strands is recorded.
    pub(crate) fn can_record(&self) -> bool {
        self.can_record.load(Ordering::Relaxed)
    }

    /// Records no work any more, because it failed with `error`, and says so on standard error.
    pub(crate) fn stop_recording(&self, error: &Error) {
        if self.can_record.swap(false, Ordering::Relaxed) {
            eprintln!("flowmill: {} uses no CUDA graphs any more: {error}", self.attributes.name);
        }
    }

    /// Returns a function that drops an object when the work that is enqueued before its call has ended.
    pub(crate) fn deferred_drop<T: Send + 'static>(&self) -> impl Fn(T) + Send + Sync + use<T> {
        let (gpu, copies) = (self.gpu.clone(), self.copies.clone());
        move |object| {
            if let Ok(end) = gpu.record(Stream::Compute) {
                // The thread lives as long as the device.
                let _ = copies.send(Enqueued { end, then: Box::new(move |_| drop(object)) });
            }
        }
    }

    fn when_reached(&self, end: Arc<dyn Event>, then: impl FnOnce(Result<()>) + Send + 'static) {
        // The thread lives as long as the device.
        let _ = self.copies.send(Enqueued { end, then: Box::new(then) });
    }
}

/// Returns the kernels of devices of type `GPU`.
pub(crate) fn kernel_registry() -> &'static KernelRegistry {
    static KERNELS: LazyLock<KernelRegistry> = LazyLock::new(kernels::registry);
    &KERNELS
}

/// An argument of a kernel.
#[derive(Clone, Copy, Debug)]
pub enum Argument<'a> {
    /// An address.
    Address(Address),
    /// A 32-bit integer.
    U32(u32),
    /// A 64-bit integer.
    U64(u64),
    /// A float.
    F32(f32),
    /// A structure of 32-bit integers.
    Words(&'a [u32]),
}

impl Argument<'_> {
    fn pointer(&self) -> *mut c_void {
        match self {
            Argument::Address(Address(address)) => (&raw const *address).cast_mut().cast(),
            Argument::U32(value) => (&raw const *value).cast_mut().cast(),
            Argument::U64(value) => (&raw const *value).cast_mut().cast(),
            Argument::F32(value) => (&raw const *value).cast_mut().cast(),
            Argument::Words(words) => words.as_ptr().cast_mut().cast(),
        }
    }
}

impl Device for GpuDevice {
    fn attributes(&self) -> &DeviceAttributes {
        &self.attributes
    }

    fn kernels(&self) -> &KernelRegistry {
        kernel_registry()
    }

    fn allocate(&self, dtype: DType, shape: &Shape) -> Result<Tensor> {
        let bytes = dtype.size().and_then(|size| shape.checked_num_elements().ok()?.checked_mul(size));
        let Some(bytes) = bytes else {
            return Err(Error::invalid_argument(format!("A tensor of type {dtype} and shape {shape} cannot be in a GPU's memory")));
        };
        let block = self.allocator.allocate(bytes)?;
        self.tensor_of(dtype, shape, block.address(), block)
    }

    fn holds_dense(&self, tensor: &Tensor) -> bool {
        self.memory(tensor).is_ok()
    }

    fn copy_of_foreign(&self, tensor: &Tensor) -> Result<Option<Tensor>> {
        match GpuMemory::of(tensor) {
            Some(memory) if memory.is_foreign() => self.copy_of(tensor).map(Some),
            Some(_) => Ok(None),
            None => self.host_allocator().owned(tensor),
        }
    }

    fn adopt(&self, node: &str, kernel: Arc<dyn Kernel>) -> Arc<dyn Kernel> {
        Arc::new(Accounted::new(node, kernel))
    }

    fn replays_strands(&self) -> bool {
        self.can_record()
    }

    fn adopt_strand(&self, name: &str, strand: Arc<dyn Kernel>, reads_input: &[bool]) -> Arc<dyn Kernel> {
        let strand = ReplayedStrand::new(strand, reads_input);
        let weak = Arc::downgrade(&strand);
        self.allocator.reclaim_from(weak);
        Arc::new(Accounted::new(name, strand))
    }

    fn memory_stats(&self) -> Option<MemoryStats> {
        Some(self.allocator.stats())
    }

    fn copy_dense_to_host(&self, tensor: Tensor, done: CopyDone) {
        self.download(tensor, done);
    }

    fn copy_dense_from_host(&self, tensor: Tensor, done: CopyDone) {
        // Later work of the compute stream sees the elements: nobody has to wait for them.
        done(self.upload(&tensor));
    }

    fn copy_dense_to(&self, tensor: Tensor, other: &Arc<dyn Device>, done: CopyDone) {
        match GpuDevice::of(other) {
            Ok(other) => done(self.send(&tensor, other)),
            Err(_) => self.copy_through_host(tensor, other, done),
        }
    }

    fn sync(&self, done: SyncDone) {
        match self.gpu.record(Stream::Compute) {
            Ok(end) => match end.is_reached() {
                Ok(true) => done(Ok(())),
                Ok(false) => self.when_reached(end, done),
                Err(e) => done(Err(e)),
            },
            Err(e) => done(Err(e)),
        }
    }
}
