//! A GPU that computes nothing and notes the text of every kernel that it is asked to load.

use flowmill::Result;
use flowmill::device::Device;
use flowmill::gpu::backend::{Address, Event, Function, Gemm, Gpu, Grid, PinnedMemory, Properties, Stream};
use flowmill::gpu::{GpuDevice, GpuOptions};
use std::collections::BTreeSet;
use std::ffi::c_void;
use std::sync::{Arc, Mutex};

pub(crate) struct Recorder {
    properties: Properties,
    texts: Mutex<BTreeSet<String>>,
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
        let properties =
            Properties { name: "Recorder".to_owned(), architecture: "sm_75".to_owned(), memory: 1 << 30, multiprocessors: 2, bus_id: 1 };
        Arc::new(Recorder { properties, texts: Mutex::default(), memory: Mutex::default() })
    }

    pub(crate) fn device(self: &Arc<Recorder>) -> Arc<dyn Device> {
        GpuDevice::new(0, self.clone(), GpuOptions::default()).unwrap()
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
