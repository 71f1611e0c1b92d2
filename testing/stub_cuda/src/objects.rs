//! The objects of the driver: contexts, memory, streams, events, modules and functions, by their handles.

use crate::controls::{Controls, DEVICES, DeviceControls};
use crate::errors::{Code, INVALID_CONTEXT, INVALID_DEVICE, INVALID_HANDLE, check};
use crate::streams::{Marker, Recorded, Stream, Task, Work};
use libloading::Library;
use std::cell::Cell;
use std::collections::{BTreeMap, HashMap};
use std::ffi::{c_int, c_uint, c_void};
use std::sync::atomic::Ordering;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

/// A handle is a number that is never used again. It has the size of CUDA's pointers to opaque structures.
pub(crate) type Handle = usize;

/// The value of bytes that nobody has written: floats are NaN.
pub(crate) const UNWRITTEN: u8 = 0xff;

pub(crate) static CONTROLS: Controls = Controls::new();

/// Returns the state that tests share with the driver.
#[unsafe(no_mangle)]
extern "C" fn stub_cuda_controls() -> *const Controls {
    &raw const CONTROLS
}

thread_local! {
    /// The number of the current context's device, plus one.
    pub(crate) static CURRENT: Cell<usize> = const { Cell::new(0) };
}

#[derive(Default)]
pub(crate) struct Objects {
    pub(crate) last: Handle,
    pub(crate) contexts: [usize; DEVICES],
    /// Device memory and pinned memory, with their sizes and devices.
    pub(crate) memory: BTreeMap<u64, (Vec<u64>, usize, usize)>,
    pub(crate) pinned: BTreeMap<u64, (Vec<u64>, usize, usize)>,
    pub(crate) streams: HashMap<Handle, Arc<Stream>>,
    pub(crate) events: HashMap<Handle, (usize, Option<Marker>)>,
    pub(crate) modules: HashMap<Handle, (usize, Arc<Library>, String)>,
    pub(crate) functions: HashMap<Handle, (usize, Function)>,
    /// Captured graphs, and graphs that can be launched.
    pub(crate) graphs: HashMap<Handle, (usize, Arc<[Recorded]>)>,
    pub(crate) executables: HashMap<Handle, (usize, Arc<[Recorded]>)>,
}

pub(crate) type Call = unsafe extern "C" fn(*mut *mut c_void, *const [c_uint; 3], *const [c_uint; 3]) -> c_int;

/// A kernel, with the sizes of its parameters.
#[derive(Clone)]
pub(crate) struct Function {
    pub(crate) call: Call,
    pub(crate) sizes: Vec<usize>,
    pub(crate) _library: Arc<Library>,
}

pub(crate) fn objects() -> MutexGuard<'static, Objects> {
    static OBJECTS: LazyLock<Mutex<Objects>> = LazyLock::new(Mutex::default);
    OBJECTS.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Objects {
    pub(crate) fn handle(&mut self) -> Handle {
        self.last += 8;
        self.last
    }

    pub(crate) fn stream(&self, stream: Handle, device: usize) -> Result<Arc<Stream>, Code> {
        self.streams.get(&stream).filter(|stream| stream.device == device).cloned().ok_or(INVALID_HANDLE)
    }

    /// Returns true if the range is within one block of a device.
    pub(crate) fn is_memory(&self, start: u64, bytes: usize, device: usize) -> bool {
        let block = self.memory.range(..=start).next_back();
        block.is_some_and(|(&first, &(_, size, owner))| owner == device && start + bytes as u64 <= first + size as u64)
    }

    pub(crate) fn is_pinned(&self, start: u64, bytes: usize) -> bool {
        let block = self.pinned.range(..=start).next_back();
        block.is_some_and(|(&first, &(_, size, _))| start + bytes as u64 <= first + size as u64)
    }

    /// Forgets everything of a device, as the release of a context does.
    pub(crate) fn forget(&mut self, device: usize) {
        self.memory.retain(|_, &mut (_, _, owner)| owner != device);
        self.pinned.retain(|_, &mut (_, _, owner)| owner != device);
        self.streams.retain(|_, stream| stream.device != device);
        self.events.retain(|_, &mut (owner, _)| owner != device);
        self.modules.retain(|_, &mut (owner, _, _)| owner != device);
        self.functions.retain(|_, &mut (owner, _)| owner != device);
        self.graphs.retain(|_, &mut (owner, _)| owner != device);
        self.executables.retain(|_, &mut (owner, _)| owner != device);
        CONTROLS.devices[device].live.iter().for_each(|count| count.store(0, Ordering::SeqCst));
    }
}

/// Returns the current context's device, or the error of a device that is lost.
pub(crate) fn current() -> Result<(usize, &'static DeviceControls), Code> {
    let device = CURRENT.get().checked_sub(1).ok_or(INVALID_CONTEXT)?;
    check(objects().contexts[device] > 0, INVALID_CONTEXT)?;
    let controls = &CONTROLS.devices[device];
    match controls.error.load(Ordering::SeqCst) {
        0 => Ok((device, controls)),
        error => Err(error),
    }
}

pub(crate) fn device_of(ordinal: c_int) -> Result<usize, Code> {
    usize::try_from(ordinal).ok().filter(|&device| device < DEVICES).ok_or(INVALID_DEVICE)
}

/// Returns a task that is left out if the device has failed by then.
pub(crate) fn task(controls: &'static DeviceControls, work: impl Fn() -> Result<(), Code> + Send + Sync + 'static) -> Task {
    Arc::new(move || {
        if controls.error.load(Ordering::SeqCst) == 0
            && let Err(error) = work()
        {
            controls.error.store(error, Ordering::SeqCst);
        }
    })
}

/// Returns work that is left out if the device has failed by then.
pub(crate) fn run(controls: &'static DeviceControls, work: impl Fn() -> Result<(), Code> + Send + Sync + 'static) -> Work {
    Work::Run(task(controls, work))
}

/// Allocates bytes that nobody has written, at an address that is aligned as CUDA's.
pub(crate) fn block(blocks: &mut BTreeMap<u64, (Vec<u64>, usize, usize)>, bytes: usize, device: usize) -> u64 {
    const ALIGNMENT: u64 = 256;
    let mut memory = vec![u64::from_ne_bytes([UNWRITTEN; 8]); bytes.div_ceil(8) + ALIGNMENT as usize / 8];
    let start = (memory.as_mut_ptr() as u64).next_multiple_of(ALIGNMENT);
    blocks.insert(start, (memory, bytes, device));
    start
}

pub(crate) fn find(library: &Arc<Library>, name: &str) -> Option<Function> {
    // SAFETY: kernels are exported with this type (kernel.h).
    let call = unsafe { *library.get::<Call>(name.as_bytes()).ok()? };
    // SAFETY: the library exports a pointer to the number of parameters and their sizes.
    let sizes = unsafe {
        let sizes = **library.get::<*const *const c_uint>(format!("{name}_parameters").as_bytes()).ok()?;
        (1..=*sizes as usize).map(|i| *sizes.add(i) as usize).collect()
    };
    Some(Function { call, sizes, _library: library.clone() })
}
