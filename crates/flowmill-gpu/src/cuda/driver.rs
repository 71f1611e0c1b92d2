//! A GPU of the CUDA driver.

use super::blas::Blas;
use super::blas_lt::BlasLt;
use super::compiler::Compiler;
use super::dnn::Dnn;
use super::graph::{CaptureStream, CudaGraph};
use crate::backend::{Address, CapturedWork, Convolution, Epilogue, Event, Function, Gemm, Gpu, Grid, PinnedMemory, Properties, Stream};
use cudarc::driver::result::{self, DriverError};
use cudarc::driver::sys;
use flowmill_tensor::sync::Mutex;
use flowmill_tensor::{Error, Result, error};
use rustc_hash::FxHashMap;
use std::any::Any;
use std::ffi::{CString, c_void};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A waiting thread asks for an event this long before it sleeps.
const SPIN: Duration = Duration::from_micros(50);

/// A GPU, with its primary context and its streams.
pub(super) struct CudaGpu {
    properties: Properties,
    architecture: u32,
    context: Arc<Context>,
    streams: [sys::CUstream; 4],
    capture: CaptureStream,
    compiler: Arc<Compiler>,
    /// The modules by the hash of their text, so that kernels with one text share one.
    modules: Mutex<FxHashMap<Box<str>, Module>>,
    /// For each other GPU that was asked for, true if this one accesses its memory directly.
    peers: Mutex<FxHashMap<sys::CUdevice, bool>>,
    blas: Mutex<Blas>,
    blas_lt: Mutex<BlasLt>,
    dnn: Mutex<Dnn>,
}

/// A device's primary context, which is released when the GPU and all its events and pinned memory are gone.
pub(super) struct Context {
    handle: sys::CUcontext,
    device: sys::CUdevice,
}

// SAFETY: a context may be used from any thread.
unsafe impl Send for Context {}
// SAFETY: as above.
unsafe impl Sync for Context {}

impl Context {
    fn retain(device: sys::CUdevice) -> std::result::Result<Context, DriverError> {
        // SAFETY: the device is one that the driver has; the context is released when it is dropped.
        Ok(Context { handle: unsafe { result::primary_ctx::retain(device) }?, device })
    }

    /// Makes the context the current one of the thread, as the driver's functions need.
    pub(super) fn bind(&self) -> std::result::Result<(), DriverError> {
        // SAFETY: the context is retained as long as `self` lives.
        unsafe { result::ctx::set_current(self.handle) }
    }
}

impl Context {
    /// Makes work of this context, which is the current one of the thread, access the memory of another GPU directly. Returns false if it cannot.
    fn enable_access_to(&self, peer: &Context) -> bool {
        let mut can = 0i32;
        // SAFETY: the pointer is to an integer that lives through the call.
        let asked = unsafe { sys::cuDeviceCanAccessPeer(&mut can, self.device, peer.device) };
        if asked.result().is_err() || can == 0 {
            return false;
        }
        // SAFETY: both contexts are retained.
        let enabled = unsafe { sys::cuCtxEnablePeerAccess(peer.handle, 0) };
        matches!(enabled, sys::CUresult::CUDA_SUCCESS | sys::CUresult::CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED)
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: the context was retained once.
        let _ = unsafe { result::primary_ctx::release(self.device) };
    }
}

#[derive(Clone, Copy)]
struct Module(sys::CUmodule);

// SAFETY: the driver's handles may be used from any thread, as may the streams.
unsafe impl Send for CudaGpu {}
// SAFETY: as above; what the driver does not lock is behind a mutex.
unsafe impl Sync for CudaGpu {}

pub(super) fn failed(what: &str) -> impl Fn(DriverError) -> Error + '_ {
    move |e| error!(Internal, "CUDA failed to {what}: {e}")
}

impl CudaGpu {
    /// Opens GPU number `ordinal`.
    pub(super) fn open(ordinal: i32, compiler: Arc<Compiler>) -> Result<CudaGpu> {
        use sys::CUdevice_attribute as Attribute;
        let open = failed("open a GPU");
        let device = result::device::get(ordinal).map_err(&open)?;
        // SAFETY: the device is one that the driver has.
        let attribute = |which| unsafe { result::device::get_attribute(device, which) }.map_err(&open);
        let number = |which| Ok::<u32, Error>(u32::try_from(attribute(which)?).unwrap_or(0));
        let architecture = 10 * number(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?
            + number(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?;
        let properties = Properties {
            name: result::device::get_name(device).map_err(&open)?,
            architecture: format!("sm_{architecture}"),
            // SAFETY: as above.
            memory: unsafe { result::device::total_mem(device) }.map_err(&open)?,
            multiprocessors: number(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?,
            bus_id: attribute(Attribute::CU_DEVICE_ATTRIBUTE_PCI_BUS_ID)?,
        };
        let context = Arc::new(Context::retain(device).map_err(&open)?);
        context.bind().map_err(&open)?;
        let stream = || result::stream::create(result::stream::StreamKind::NonBlocking).map_err(&open);
        let streams = [stream()?, stream()?, stream()?, stream()?];
        let capture = CaptureStream::new(device, stream()?);
        let (blas, blas_lt, dnn) = (Mutex::new(Blas::new()), Mutex::new(BlasLt::new()), Mutex::new(Dnn::new()));
        let (modules, peers) = (Mutex::default(), Mutex::default());
        Ok(CudaGpu { properties, architecture, context, streams, capture, compiler, modules, peers, blas, blas_lt, dnn })
    }

    /// Returns the GPU behind the trait, if it is one of this driver.
    fn of(gpu: &Arc<dyn Gpu>) -> Option<&CudaGpu> {
        let any: &dyn Any = &**gpu;
        any.downcast_ref()
    }

    /// Makes the GPU's context the current one of the thread.
    fn bind(&self) -> Result<()> {
        self.context.bind().map_err(failed("select a GPU"))
    }

    /// Returns the stream that this thread enqueues on.
    fn stream(&self, stream: Stream) -> sys::CUstream {
        match self.capture.of_this_thread() {
            Some(capture) if stream == Stream::Compute => capture,
            _ => self.streams[stream as usize],
        }
    }

    /// Returns an error if this thread captures work, of which `what` cannot be a part.
    fn forbid_in_capture(&self, what: &str) -> Result<()> {
        match self.capture.of_this_thread() {
            Some(_) => Err(error!(FailedPrecondition, "a kernel's work that is captured cannot {what}")),
            None => Ok(()),
        }
    }

    fn module(&self, source: &str) -> Result<Module> {
        if let Some(&module) = self.modules.lock().get(source) {
            return Ok(module);
        }
        let load = |image: &[u8]| {
            // SAFETY: the image is a cubin with its size in its header, or text that ends in a zero.
            unsafe { result::module::load_data(image.as_ptr().cast()) }
        };
        self.forbid_in_capture("load a kernel")?;
        let image = self.compiler.compile(source, self.architecture)?;
        let loaded = match load(&image) {
            Err(_) if self.compiler.forget(source, self.architecture) => load(&self.compiler.compile(source, self.architecture)?),
            loaded => loaded,
        };
        let module = Module(loaded.map_err(failed("load a kernel"))?);
        let kept = *self.modules.lock().entry(source.into()).or_insert(module);
        if kept.0 != module.0 {
            // Another thread has loaded the text meanwhile.
            // SAFETY: nobody knows this module.
            let _ = unsafe { result::module::unload(module.0) };
        }
        Ok(kept)
    }
}

impl Drop for CudaGpu {
    fn drop(&mut self) {
        if self.bind().is_ok() {
            self.blas.get_mut().close();
            self.blas_lt.get_mut().close();
            self.dnn.get_mut().close();
            for stream in self.streams.into_iter().chain([self.capture.stream]) {
                // SAFETY: the stream was created with the GPU, and nobody uses it any more.
                let _ = unsafe { result::stream::synchronize(stream) };
                // SAFETY: as above.
                let _ = unsafe { result::stream::destroy(stream) };
            }
            for (_, module) in self.modules.get_mut().drain() {
                // SAFETY: functions of the module keep the GPU alive, so that there are none.
                let _ = unsafe { result::module::unload(module.0) };
            }
        }
    }
}

struct CudaEvent {
    event: sys::CUevent,
    context: Arc<Context>,
}

// SAFETY: the driver's events may be used from any thread.
unsafe impl Send for CudaEvent {}
// SAFETY: as above.
unsafe impl Sync for CudaEvent {}

impl CudaEvent {
    /// Makes the event's context the current one of the thread.
    fn bind(&self) -> Result<()> {
        self.context.bind().map_err(failed("select a GPU"))
    }

    fn query(&self) -> Result<bool> {
        // SAFETY: the event lives as long as `self`.
        match unsafe { result::event::query(self.event) } {
            Ok(()) => Ok(true),
            Err(DriverError(sys::CUresult::CUDA_ERROR_NOT_READY)) => Ok(false),
            Err(e) => Err(failed("run a kernel")(e)),
        }
    }
}

impl Event for CudaEvent {
    fn is_reached(&self) -> Result<bool> {
        self.bind()?;
        self.query()
    }

    fn wait(&self) -> Result<()> {
        self.bind()?;
        let start = Instant::now();
        while start.elapsed() < SPIN {
            if self.query()? {
                return Ok(());
            }
            std::hint::spin_loop();
        }
        // SAFETY: the event lives as long as `self`.
        unsafe { result::event::synchronize(self.event) }.map_err(failed("run a kernel"))
    }
}

impl Drop for CudaEvent {
    fn drop(&mut self) {
        // SAFETY: the event was created once and is destroyed once; the driver frees it when it has been reached.
        let _ = unsafe { result::event::destroy(self.event) };
    }
}

struct CudaFunction(sys::CUfunction);

// SAFETY: the driver's functions may be launched from any thread.
unsafe impl Send for CudaFunction {}
// SAFETY: as above.
unsafe impl Sync for CudaFunction {}

impl Function for CudaFunction {}

struct Pinned {
    start: *mut u8,
    len: usize,
    context: Arc<Context>,
}

// SAFETY: the memory is the owner's alone; users of `as_ptr` keep the rules of shared memory.
unsafe impl Send for Pinned {}
// SAFETY: as above.
unsafe impl Sync for Pinned {}

impl PinnedMemory for Pinned {
    fn as_ptr(&self) -> *mut u8 {
        self.start
    }

    fn len(&self) -> usize {
        self.len
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        // SAFETY: the memory was allocated once and is freed once.
        let _ = self.context.bind().and_then(|()| unsafe { result::free_host(self.start.cast()) });
    }
}

impl Gpu for CudaGpu {
    fn properties(&self) -> &Properties {
        &self.properties
    }

    fn free_memory(&self) -> Result<usize> {
        self.bind()?;
        Ok(result::mem_get_info().map_err(failed("ask for the free memory"))?.0)
    }

    fn allocate(&self, bytes: usize) -> Result<Option<Address>> {
        self.forbid_in_capture("allocate memory")?;
        self.bind()?;
        // SAFETY: the memory's contents are unspecified, which is what this method promises.
        match unsafe { result::malloc_sync(bytes) } {
            Ok(start) => Ok(Some(Address(start))),
            Err(DriverError(sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY)) => Ok(None),
            Err(e) => Err(failed("allocate memory")(e)),
        }
    }

    fn free(&self, region: Address) {
        if self.bind().is_ok() {
            // SAFETY: the region was allocated, and nothing uses it any more.
            let _ = unsafe { result::free_sync(region.0) };
        }
    }

    fn allocate_pinned(&self, bytes: usize) -> Result<Arc<dyn PinnedMemory>> {
        self.forbid_in_capture("allocate memory")?;
        self.bind()?;
        // SAFETY: the contents are unspecified until they are written.
        match unsafe { result::malloc_host(bytes, 0) } {
            Ok(start) => Ok(Arc::new(Pinned { start: start.cast(), len: bytes, context: self.context.clone() })),
            Err(e @ DriverError(sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY)) => {
                Err(error!(ResourceExhausted, "CUDA failed to allocate {bytes} bytes of page-locked memory: {e}"))
            }
            Err(e) => Err(failed("allocate page-locked memory")(e)),
        }
    }

    unsafe fn upload(&self, to: Address, from: *const u8, bytes: usize, stream: Stream) -> Result<()> {
        self.forbid_in_capture("copy from the host")?;
        self.bind()?;
        // SAFETY: the caller vouches for both regions.
        let enqueued = unsafe { sys::cuMemcpyHtoDAsync_v2(to.0, from.cast(), bytes, self.stream(stream)) };
        enqueued.result().map_err(failed("copy to the GPU"))
    }

    unsafe fn download(&self, to: *mut u8, from: Address, bytes: usize, stream: Stream) -> Result<()> {
        self.forbid_in_capture("copy to the host")?;
        self.bind()?;
        // SAFETY: the caller vouches for both regions.
        let enqueued = unsafe { sys::cuMemcpyDtoHAsync_v2(to.cast(), from.0, bytes, self.stream(stream)) };
        enqueued.result().map_err(failed("copy from the GPU"))
    }

    fn copy(&self, to: Address, from: Address, bytes: usize) -> Result<()> {
        self.bind()?;
        // SAFETY: a wrong address is an error of the GPU, which the driver reports.
        unsafe { result::memcpy_dtod_async(to.0, from.0, bytes, self.stream(Stream::Compute)) }.map_err(failed("copy within the GPU"))
    }

    fn can_copy_to(&self, peer: &Arc<dyn Gpu>) -> bool {
        let Some(peer) = CudaGpu::of(peer).filter(|peer| peer.context.device != self.context.device) else { return false };
        *self.peers.lock().entry(peer.context.device).or_insert_with(|| self.bind().is_ok() && self.context.enable_access_to(&peer.context))
    }

    fn copy_to_peer(&self, peer: &Arc<dyn Gpu>, to: Address, from: Address, bytes: usize) -> Result<()> {
        let Some(peer) = CudaGpu::of(peer) else { return Err(error!(Internal, "the other GPU is one of another driver")) };
        self.forbid_in_capture("copy to another GPU")?;
        self.bind()?;
        let (there, here) = (peer.context.handle, self.context.handle);
        // SAFETY: a wrong address is an error of the GPU, which the driver reports.
        let enqueued = unsafe { sys::cuMemcpyPeerAsync(to.0, there, from.0, here, bytes, self.stream(Stream::Peer)) };
        enqueued.result().map_err(failed("copy to another GPU"))
    }

    fn fill(&self, to: Address, value: u8, bytes: usize) -> Result<()> {
        if bytes == 0 {
            return Ok(());
        }
        self.bind()?;
        // SAFETY: as above.
        unsafe { result::memset_d8_async(to.0, value, bytes, self.stream(Stream::Compute)) }.map_err(failed("fill memory"))
    }

    fn record(&self, stream: Stream) -> Result<Arc<dyn Event>> {
        self.forbid_in_capture("record an event")?;
        self.bind()?;
        let flags = sys::CUevent_flags::CU_EVENT_DISABLE_TIMING as u32 | sys::CUevent_flags::CU_EVENT_BLOCKING_SYNC as u32;
        let mut event = std::ptr::null_mut();
        // SAFETY: the pointer is to a handle that lives through the call.
        unsafe { sys::cuEventCreate(&mut event, flags) }.result().map_err(failed("make an event"))?;
        let event = CudaEvent { event, context: self.context.clone() };
        // SAFETY: the event was just made.
        unsafe { result::event::record(event.event, self.stream(stream)) }.map_err(failed("record an event"))?;
        Ok(Arc::new(event))
    }

    fn wait_in(&self, stream: Stream, event: &Arc<dyn Event>) -> Result<()> {
        let any: &dyn Any = &**event;
        let Some(event) = any.downcast_ref::<CudaEvent>() else { return event.wait() };
        self.bind()?;
        let flags = sys::CUevent_wait_flags::CU_EVENT_WAIT_DEFAULT;
        // SAFETY: the event is alive; the driver keeps what it needs of it.
        unsafe { result::stream::wait_event(self.stream(stream), event.event, flags) }.map_err(failed("wait for an event"))
    }

    fn stream_handle(&self, stream: Stream) -> usize {
        self.stream(stream) as usize
    }

    fn wait_for_foreign(&self, stream: usize) -> Result<()> {
        self.bind()?;
        // SAFETY: the driver refuses what is no stream of the context; 1 and 2 are its default streams.
        unsafe { result::stream::synchronize(stream as sys::CUstream) }.map_err(failed("wait for a stream of another library"))
    }

    fn owns(&self, address: Address) -> bool {
        let mut ordinal = -1i32;
        let attribute = sys::CUpointer_attribute::CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL;
        // SAFETY: the attribute is an integer, which lives through the call.
        let found =
            self.bind().is_ok() && unsafe { sys::cuPointerGetAttribute((&raw mut ordinal).cast(), attribute, address.0) }.result().is_ok();
        found && ordinal == self.context.device
    }

    fn load(&self, source: &str, name: &str) -> Result<Arc<dyn Function>> {
        self.bind()?;
        let module = self.module(source)?;
        let name = CString::new(name).map_err(|_| error!(Internal, "the name of a kernel has a zero byte"))?;
        // SAFETY: modules stay loaded as long as the GPU is open.
        let function = unsafe { result::module::get_function(module.0, name) }.map_err(failed("find a kernel"))?;
        Ok(Arc::new(CudaFunction(function)))
    }

    unsafe fn launch(&self, function: &Arc<dyn Function>, grid: Grid, arguments: &mut [*mut c_void]) -> Result<()> {
        let any: &dyn Any = &**function;
        let Some(function) = any.downcast_ref::<CudaFunction>() else {
            return Err(error!(Internal, "the kernel was loaded by another driver"));
        };
        self.bind()?;
        let ([bx, by, bz], [tx, ty, tz]) = (grid.blocks, grid.threads);
        let stream = self.stream(Stream::Compute);
        // SAFETY: the caller vouches for the arguments.
        let launched = unsafe { result::launch_kernel(function.0, (bx, by, bz), (tx, ty, tz), 0, stream, arguments) };
        launched.map_err(failed("launch a kernel"))
    }

    fn gemm(&self, products: &Gemm) -> Result<bool> {
        self.bind()?;
        self.blas.lock().gemm(products, self.stream(Stream::Compute))
    }

    fn gemm_with_epilogue(&self, product: &Gemm, epilogue: Epilogue) -> Result<bool> {
        self.bind()?;
        Ok(self.blas_lt.lock().gemm(product, epilogue, self.stream(Stream::Compute)))
    }

    fn convolution_workspace(&self, convolution: &Convolution, limit: usize) -> Result<Option<usize>> {
        self.bind()?;
        Ok(self.dnn.lock().workspace(convolution, limit))
    }

    fn convolve(
        &self,
        convolution: &Convolution,
        addresses: [Address; 3],
        bias: Option<Address>,
        workspace: (Address, usize),
    ) -> Result<bool> {
        self.bind()?;
        Ok(self.dnn.lock().convolve(convolution, addresses, bias, workspace, self.stream(Stream::Compute)))
    }

    fn can_capture(&self) -> bool {
        true
    }

    fn capture(&self, enqueue: &mut dyn FnMut() -> Result<()>) -> Result<Arc<dyn CapturedWork>> {
        self.bind()?;
        Ok(Arc::new(self.capture.capture(self.context.clone(), enqueue)?))
    }

    fn replay(&self, work: &Arc<dyn CapturedWork>) -> Result<()> {
        let any: &dyn Any = &**work;
        let Some(graph) = any.downcast_ref::<CudaGraph>() else { return Err(error!(Internal, "the work was captured by another driver")) };
        self.forbid_in_capture("be captured before")?;
        self.bind()?;
        graph.launch(self.stream(Stream::Compute))
    }
}
