//! A GPU that computes nothing and notes the text of every kernel that it is asked to load.

use flowmill::Result;
use flowmill::device::Device;
use flowmill::gpu::backend::{Address, Event, Function, Gemm, Gpu, Grid, PinnedMemory, Properties, Stream};
use flowmill::gpu::{GpuDevice, GpuOptions};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ffi::c_void;
use std::sync::{Arc, Mutex};

thread_local! {
    /// The recorder of a thread that collects the texts of kernels instead of running them.
    static RECORDING: RefCell<Option<Recording>> = const { RefCell::new(None) };
}

/// A recorder, and the device that cases run on meanwhile.
#[derive(Clone)]
pub(crate) struct Recording {
    pub(crate) recorder: Arc<Recorder>,
    pub(crate) device: Arc<dyn Device>,
}

pub(crate) struct Recorder {
    properties: Properties,
    texts: Mutex<BTreeSet<String>>,
    /// The ops of the cases that were recorded.
    ops: Mutex<BTreeSet<&'static str>>,
    /// True if cases are recorded for all types that their kernels are registered for.
    pub(crate) has_all_types: bool,
    memory: Mutex<Vec<Pinned>>,
}

struct Pinned(Box<[std::cell::UnsafeCell<u8>]>);

// SAFETY: the bytes are accessed through raw pointers, by users who keep the rules of shared memory.
unsafe impl Send for Pinned {}
// SAFETY: as above.
unsafe impl Sync for Pinned {}

impl Pinned {
    fn new(bytes: usize) -> Pinned {
        Pinned((0..bytes).map(|_| std::cell::UnsafeCell::new(0)).collect())
    }
}

impl PinnedMemory for Pinned {
    fn as_ptr(&self) -> *mut u8 {
        self.0.as_ptr().cast_mut().cast()
    }

    fn len(&self) -> usize {
        self.0.len()
    }
}

struct Reached;

impl Event for Reached {
    fn is_reached(&self) -> Result<bool> {
        Ok(true)
    }

    fn wait(&self) -> Result<()> {
        Ok(())
    }
}

struct Unloaded;

impl Function for Unloaded {}

impl Recorder {
    pub(crate) fn new() -> Arc<Recorder> {
        Recorder::make(false)
    }

    /// Makes a recorder of cases for all types that their kernels are registered for.
    pub(crate) fn of_all_types() -> Arc<Recorder> {
        Recorder::make(true)
    }

    fn make(has_all_types: bool) -> Arc<Recorder> {
        let properties =
            Properties { name: "Recorder".to_owned(), architecture: "sm_75".to_owned(), memory: 1 << 30, multiprocessors: 2, bus_id: 1 };
        Arc::new(Recorder { properties, texts: Mutex::default(), ops: Mutex::default(), has_all_types, memory: Mutex::default() })
    }

    /// Runs cases of which this recorder only notes the kernels.
    pub(crate) fn record(self: &Arc<Recorder>, cases: impl FnOnce()) {
        RECORDING.set(Some(Recording { recorder: self.clone(), device: self.device() }));
        cases();
        RECORDING.set(None);
    }

    /// Returns the recording of this thread if cases do not run.
    pub(crate) fn recording() -> Option<Recording> {
        RECORDING.with_borrow(Clone::clone)
    }

    pub(crate) fn device(self: &Arc<Recorder>) -> Arc<dyn Device> {
        GpuDevice::new(0, self.clone(), GpuOptions::default()).unwrap()
    }

    /// Notes that there is a case of an op. Returns true if it is the op's first one.
    pub(crate) fn note(&self, op: &'static str) -> bool {
        self.ops.lock().unwrap().insert(op)
    }

    pub(crate) fn ops(&self) -> BTreeSet<&'static str> {
        self.ops.lock().unwrap().clone()
    }

    pub(crate) fn texts(&self) -> Vec<String> {
        self.texts.lock().unwrap().iter().cloned().collect()
    }
}

impl Gpu for Recorder {
    fn properties(&self) -> &Properties {
        &self.properties
    }

    fn free_memory(&self) -> Result<usize> {
        Ok(1 << 30)
    }

    fn allocate(&self, bytes: usize) -> Result<Option<Address>> {
        let memory = Pinned::new(bytes + 256);
        let start = (memory.as_ptr() as u64).next_multiple_of(256);
        self.memory.lock().unwrap().push(memory);
        Ok(Some(Address(start)))
    }

    fn free(&self, _: Address) {}

    fn allocate_pinned(&self, bytes: usize) -> Result<Arc<dyn PinnedMemory>> {
        Ok(Arc::new(Pinned::new(bytes)))
    }

    unsafe fn upload(&self, _: Address, _: *const u8, _: usize, _: Stream) -> Result<()> {
        Ok(())
    }

    unsafe fn download(&self, _: *mut u8, _: Address, _: usize, _: Stream) -> Result<()> {
        Ok(())
    }

    fn copy(&self, _: Address, _: Address, _: usize) -> Result<()> {
        Ok(())
    }

    fn fill(&self, _: Address, _: u8, _: usize) -> Result<()> {
        Ok(())
    }

    fn record(&self, _: Stream) -> Result<Arc<dyn Event>> {
        Ok(Arc::new(Reached))
    }

    fn wait_in(&self, _: Stream, _: &Arc<dyn Event>) -> Result<()> {
        Ok(())
    }

    fn stream_handle(&self, _: Stream) -> usize {
        0
    }

    fn wait_for_foreign(&self, _: usize) -> Result<()> {
        Ok(())
    }

    fn owns(&self, _: Address) -> bool {
        true
    }

    fn load(&self, source: &str, _: &str) -> Result<Arc<dyn Function>> {
        self.texts.lock().unwrap().insert(source.to_owned());
        Ok(Arc::new(Unloaded))
    }

    unsafe fn launch(&self, _: &Arc<dyn Function>, _: Grid, _: &mut [*mut c_void]) -> Result<()> {
        Ok(())
    }

    fn gemm(&self, _: &Gemm) -> Result<bool> {
        Ok(false)
    }
}
