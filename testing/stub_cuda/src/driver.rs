//! The functions of the CUDA driver that Flowmill calls, on the host's memory.
//!
//! They check what a driver checks or what it leaves undefined: a current context, live handles of that context, ranges of copies, sizes of launches.

use crate::controls::{DEVICES, DeviceControls, Kind};
use crate::errors::*;
use crate::objects::{CONTROLS, CURRENT, Handle, block, current, device_of, find, objects, run, task};
use crate::streams::{Marker, Stream, Task, Work, forbid_in_capture};
use libloading::Library;
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

/// # Safety
/// `to` must be valid for a write, as for all functions that return a value by a pointer.
pub(crate) unsafe fn put<T>(to: *mut T, value: T) -> Code {
    // SAFETY: as the function requires.
    unsafe { to.write(value) };
    SUCCESS
}

/// Defines functions of the driver.
macro_rules! driver {
    ($($name:ident($($argument:ident: $type:ty),*) $body:block)*) => {$(
        /// # Safety
        /// The requirements are those of the driver's function: pointers must be valid for what is read and written.
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name($($argument: $type),*) -> Code {
            let call = || -> Result<(), Code> { $body };
            code(call())
        }
    )*};
}
pub(crate) use driver;

driver! {
    cuInit(_flags: c_uint) { Ok(()) }

    cuDriverGetVersion(version: *mut c_int) {
        // SAFETY: as the function requires.
        unsafe { put(version, 13_000) };
        Ok(())
    }

    cuDeviceGetCount(count: *mut c_int) {
        // SAFETY: as the function requires.
        unsafe { put(count, DEVICES as c_int) };
        Ok(())
    }

    cuDeviceGet(device: *mut c_int, ordinal: c_int) {
        device_of(ordinal)?;
        // SAFETY: as the function requires.
        unsafe { put(device, ordinal) };
        Ok(())
    }

    cuDeviceGetName(name: *mut c_char, len: c_int, device: c_int) {
        let text = format!("Stub {}\0", device_of(device)?);
        check(usize::try_from(len).is_ok_and(|len| len >= text.len()), INVALID_VALUE)?;
        // SAFETY: as the function requires, and the text fits.
        unsafe { ptr::copy_nonoverlapping(text.as_ptr().cast(), name, text.len()) };
        Ok(())
    }

    cuDeviceGetAttribute(value: *mut c_int, attribute: c_int, device: c_int) {
        let ordinal = device_of(device)? as c_int;
        let number = match attribute {
            1 => 1024,          // MAX_THREADS_PER_BLOCK
            8 => 48 << 10,      // MAX_SHARED_MEMORY_PER_BLOCK
            10 => 32,           // WARP_SIZE
            16 => 2,            // MULTIPROCESSOR_COUNT
            33 => ordinal + 1,  // PCI_BUS_ID
            39 => 2048,         // MAX_THREADS_PER_MULTIPROCESSOR
            75 => 9,            // COMPUTE_CAPABILITY_MAJOR
            _ => 0,
        };
        // SAFETY: as the function requires.
        unsafe { put(value, number) };
        Ok(())
    }

    cuDeviceCanAccessPeer(can: *mut c_int, device: c_int, peer: c_int) {
        let can_access = device_of(device)? != device_of(peer)? && !CONTROLS.has_no_peers.load(Ordering::SeqCst);
        // SAFETY: as the function requires.
        unsafe { put(can, can_access.into()) };
        Ok(())
    }

    cuCtxEnablePeerAccess(peer: Handle, _flags: c_uint) {
        let (device, _) = current()?;
        check(peer != device + 1 && (1..=DEVICES).contains(&peer), INVALID_CONTEXT)?;
        check(!CONTROLS.has_no_peers.load(Ordering::SeqCst), PEER_ACCESS_UNSUPPORTED)
    }

    cuDeviceTotalMem_v2(bytes: *mut usize, device: c_int) {
        let limit = CONTROLS.devices[device_of(device)?].memory_limit.load(Ordering::SeqCst);
        // SAFETY: as the function requires.
        unsafe { put(bytes, limit as usize) };
        Ok(())
    }

    cuDevicePrimaryCtxRetain(context: *mut Handle, device: c_int) {
        let device = device_of(device)?;
        objects().contexts[device] += 1;
        // SAFETY: as the function requires.
        unsafe { put(context, device + 1) };
        Ok(())
    }

    cuDevicePrimaryCtxRelease_v2(device: c_int) {
        let device = device_of(device)?;
        let mut objects = objects();
        check(objects.contexts[device] > 0, INVALID_CONTEXT)?;
        objects.contexts[device] -= 1;
        // What a failed device could not free is freed with its context. Otherwise it counts as leaked.
        if objects.contexts[device] == 0 && CONTROLS.devices[device].error.load(Ordering::SeqCst) != 0 {
            objects.forget(device);
        }
        Ok(())
    }

    cuCtxSetCurrent(context: Handle) {
        check(context <= DEVICES, INVALID_CONTEXT)?;
        check(context == 0 || objects().contexts[context - 1] > 0, INVALID_CONTEXT)?;
        CURRENT.set(context);
        Ok(())
    }

    cuCtxGetCurrent(context: *mut Handle) {
        // SAFETY: as the function requires.
        unsafe { put(context, CURRENT.get()) };
        Ok(())
    }

    cuCtxSynchronize() {
        forbid_in_capture()?;
        let (device, _) = current()?;
        let streams: Vec<_> = objects().streams.values().filter(|stream| stream.device == device).cloned().collect();
        streams.iter().for_each(|stream| stream.synchronize());
        current().map(drop)
    }

    cuMemGetInfo_v2(free: *mut usize, total: *mut usize) {
        let (_, controls) = current()?;
        let limit = controls.memory_limit.load(Ordering::SeqCst);
        // SAFETY: as the function requires.
        unsafe { (put(free, limit.saturating_sub(controls.live(Kind::Memory) as u64) as usize), put(total, limit as usize)) };
        Ok(())
    }

    cuMemAlloc_v2(address: *mut u64, bytes: usize) {
        forbid_in_capture()?;
        let (device, controls) = current()?;
        check(bytes > 0, INVALID_VALUE)?;
        let mut objects = objects();
        check(controls.live(Kind::Memory) as u64 + bytes as u64 <= controls.memory_limit.load(Ordering::SeqCst), OUT_OF_MEMORY)?;
        controls.count(Kind::Memory, bytes as i64);
        let start = block(&mut objects.memory, bytes, device);
        // SAFETY: as the function requires.
        unsafe { put(address, start) };
        Ok(())
    }

    cuMemFree_v2(address: u64) {
        forbid_in_capture()?;
        let (device, controls) = current()?;
        let (_memory, bytes, owner) = objects().memory.remove(&address).ok_or(INVALID_VALUE)?;
        controls.count(Kind::Memory, -(bytes as i64));
        check(owner == device, INVALID_CONTEXT)
    }

    cuMemHostAlloc(address: *mut u64, bytes: usize, _flags: c_uint) {
        forbid_in_capture()?;
        let (device, controls) = current()?;
        controls.count(Kind::Pinned, bytes as i64);
        let start = block(&mut objects().pinned, bytes, device);
        // SAFETY: as the function requires.
        unsafe { put(address, start) };
        Ok(())
    }

    cuMemFreeHost(address: u64) {
        forbid_in_capture()?;
        current()?;
        let (_memory, bytes, owner) = objects().pinned.remove(&address).ok_or(INVALID_VALUE)?;
        CONTROLS.devices[owner].count(Kind::Pinned, -(bytes as i64));
        Ok(())
    }

    cuMemcpyHtoDAsync_v2(to: u64, from: u64, bytes: usize, stream: Handle) {
        forbid_in_capture()?;
        let (device, controls) = current()?;
        let objects = objects();
        let stream = objects.stream(stream, device)?;
        check(objects.is_memory(to, bytes, device), INVALID_VALUE)?;
        let is_pinned = objects.is_pinned(from, bytes);
        drop(objects);
        controls.copied_bytes.fetch_add(bytes as u64, Ordering::SeqCst);
        // Other memory than pinned is read before the call returns.
        // SAFETY: as the function requires.
        let staged = (!is_pinned).then(|| unsafe { std::slice::from_raw_parts(from as *const u8, bytes) }.to_vec());
        let copied = run(controls, move || {
            let from = staged.as_ref().map_or(from as *const u8, Vec::as_ptr);
            // SAFETY: the range was checked, and the caller keeps both until an event.
            unsafe { ptr::copy(from, to as *mut u8, bytes) };
            Ok(())
        });
        stream.enqueue(copied)
    }

    cuMemcpyDtoHAsync_v2(to: u64, from: u64, bytes: usize, stream: Handle) {
        forbid_in_capture()?;
        let (device, controls) = current()?;
        let objects = objects();
        let stream = objects.stream(stream, device)?;
        check(objects.is_memory(from, bytes, device), INVALID_VALUE)?;
        let is_pinned = objects.is_pinned(to, bytes);
        drop(objects);
        controls.copied_bytes.fetch_add(bytes as u64, Ordering::SeqCst);
        copy(&stream, controls, to, from, bytes)?;
        if !is_pinned {
            stream.synchronize();
        }
        Ok(())
    }

    cuMemcpyDtoDAsync_v2(to: u64, from: u64, bytes: usize, stream: Handle) {
        let (device, controls) = current()?;
        let objects = objects();
        let stream = objects.stream(stream, device)?;
        check(objects.is_memory(from, bytes, device) && objects.is_memory(to, bytes, device), INVALID_VALUE)?;
        drop(objects);
        copy(&stream, controls, to, from, bytes)
    }

    cuMemcpyPeerAsync(to: u64, to_context: Handle, from: u64, from_context: Handle, bytes: usize, stream: Handle) {
        let (device, controls) = current()?;
        let objects = objects();
        let stream = objects.stream(stream, device)?;
        let (to_device, from_device) = (to_context.wrapping_sub(1), from_context.wrapping_sub(1));
        check(objects.is_memory(from, bytes, from_device) && objects.is_memory(to, bytes, to_device), INVALID_VALUE)?;
        check(objects.contexts[from_device] > 0 && objects.contexts[to_device] > 0, INVALID_CONTEXT)?;
        drop(objects);
        CONTROLS.peer_bytes.fetch_add(bytes as u64, Ordering::SeqCst);
        copy(&stream, controls, to, from, bytes)
    }

    cuMemsetD8Async(to: u64, value: u8, bytes: usize, stream: Handle) {
        let (device, controls) = current()?;
        let objects = objects();
        let stream = objects.stream(stream, device)?;
        check(objects.is_memory(to, bytes, device), INVALID_VALUE)?;
        drop(objects);
        stream.enqueue(run(controls, move || {
            // SAFETY: the range was checked.
            unsafe { ptr::write_bytes(to as *mut u8, value, bytes) };
            Ok(())
        }))
    }

    cuMemsetD32Async(to: u64, value: u32, count: usize, stream: Handle) {
        let (device, controls) = current()?;
        let objects = objects();
        let stream = objects.stream(stream, device)?;
        check(to.is_multiple_of(4) && objects.is_memory(to, 4 * count, device), INVALID_VALUE)?;
        drop(objects);
        stream.enqueue(run(controls, move || {
            // SAFETY: the range was checked.
            unsafe { std::slice::from_raw_parts_mut(to as *mut u32, count) }.fill(value);
            Ok(())
        }))
    }

    cuPointerGetAttribute(value: *mut c_int, attribute: c_int, address: u64) {
        const DEVICE_ORDINAL: c_int = 9;
        current()?;
        check(attribute == DEVICE_ORDINAL, INVALID_VALUE)?;
        let device = (0..DEVICES).find(|&device| objects().is_memory(address, 1, device)).ok_or(INVALID_VALUE)?;
        // SAFETY: as the function requires: this attribute is an integer.
        unsafe { put(value, device as c_int) };
        Ok(())
    }

    cuStreamCreate(stream: *mut Handle, _flags: c_uint) {
        let (device, controls) = current()?;
        let mut objects = objects();
        let handle = objects.handle();
        objects.streams.insert(handle, Arc::new(Stream::new(device, handle as u64, CONTROLS.seed.load(Ordering::SeqCst))));
        controls.count(Kind::Streams, 1);
        // SAFETY: as the function requires.
        unsafe { put(stream, handle) };
        Ok(())
    }

    cuStreamDestroy_v2(stream: Handle) {
        forbid_in_capture()?;
        let (device, controls) = current()?;
        let found = objects().stream(stream, device)?;
        found.close();
        objects().streams.remove(&stream);
        controls.count(Kind::Streams, -1);
        Ok(())
    }

    cuStreamSynchronize(stream: Handle) {
        forbid_in_capture()?;
        let (device, _) = current()?;
        let is_default = stream <= 2;
        let found = if is_default { None } else { Some(objects().stream(stream, device)?) };
        found.into_iter().for_each(|stream| stream.synchronize());
        current().map(drop)
    }

    cuStreamWaitEvent(stream: Handle, event: Handle, _flags: c_uint) {
        let (device, _) = current()?;
        let objects = objects();
        let stream = objects.stream(stream, device)?;
        let marker = objects.events.get(&event).ok_or(INVALID_HANDLE)?.1.clone();
        drop(objects);
        marker.map_or(Ok(()), |marker| stream.enqueue(Work::Wait(marker)))
    }

    cuEventCreate(event: *mut Handle, _flags: c_uint) {
        let (device, controls) = current()?;
        let mut objects = objects();
        let handle = objects.handle();
        objects.events.insert(handle, (device, None));
        controls.count(Kind::Events, 1);
        // SAFETY: as the function requires.
        unsafe { put(event, handle) };
        Ok(())
    }

    cuEventRecord(event: Handle, stream: Handle) {
        let (device, _) = current()?;
        let mut objects = objects();
        let stream = objects.stream(stream, device)?;
        let (owner, marker) = objects.events.get_mut(&event).ok_or(INVALID_HANDLE)?;
        check(*owner == device, INVALID_HANDLE)?;
        let recorded = marker.insert(Marker::default()).clone();
        drop(objects);
        stream.enqueue(Work::Reach(recorded))
    }

    cuEventQuery(event: Handle) {
        forbid_in_capture()?;
        current()?;
        let marker = objects().events.get(&event).ok_or(INVALID_HANDLE)?.1.clone();
        check(marker.is_none_or(|marker| marker.is_reached()), NOT_READY)?;
        current().map(drop)
    }

    cuEventSynchronize(event: Handle) {
        forbid_in_capture()?;
        current()?;
        let marker = objects().events.get(&event).ok_or(INVALID_HANDLE)?.1.clone();
        if let Some(marker) = marker {
            marker.wait();
        }
        current().map(drop)
    }

    cuEventDestroy_v2(event: Handle) {
        let mut objects = objects();
        let &(device, _) = objects.events.get(&event).ok_or(INVALID_HANDLE)?;
        check(objects.contexts[device] > 0, INVALID_CONTEXT)?;
        objects.events.remove(&event);
        CONTROLS.devices[device].count(Kind::Events, -1);
        Ok(())
    }

    cuModuleLoadData(module: *mut Handle, image: *const c_char) {
        forbid_in_capture()?;
        let (device, controls) = current()?;
        // SAFETY: as the function requires: the stub's images are strings.
        let image = unsafe { CStr::from_ptr(image) }.to_str().map_err(|_| INVALID_IMAGE)?;
        let (path, prefix) = image.rsplit_once(':').ok_or(INVALID_IMAGE)?;
        // SAFETY: the library was made from a kernel's text, which has no initialisers with conditions.
        let library = unsafe { Library::new(path) }.map_err(|_| INVALID_IMAGE)?;
        let mut objects = objects();
        let handle = objects.handle();
        objects.modules.insert(handle, (device, Arc::new(library), prefix.to_owned()));
        controls.count(Kind::Modules, 1);
        // SAFETY: as the function requires.
        unsafe { put(module, handle) };
        Ok(())
    }

    cuModuleUnload(module: Handle) {
        forbid_in_capture()?;
        let (_, controls) = current()?;
        objects().modules.remove(&module).ok_or(INVALID_HANDLE)?;
        controls.count(Kind::Modules, -1);
        Ok(())
    }

    cuModuleGetFunction(function: *mut Handle, module: Handle, name: *const c_char) {
        let (device, _) = current()?;
        let mut objects = objects();
        let (owner, library, prefix) = objects.modules.get(&module).ok_or(INVALID_HANDLE)?;
        check(*owner == device, INVALID_HANDLE)?;
        // SAFETY: as the function requires.
        let name = unsafe { CStr::from_ptr(name) }.to_str().map_err(|_| NOT_FOUND)?;
        let found = find(library, &format!("{prefix}_{name}")).ok_or(NOT_FOUND)?;
        let handle = objects.handle();
        objects.functions.insert(handle, (device, found));
        // SAFETY: as the function requires.
        unsafe { put(function, handle) };
        Ok(())
    }

    cuFuncSetAttribute(_function: Handle, _attribute: c_int, _value: c_int) { current().map(drop) }

    cuLaunchKernel(
        function: Handle, blocks_x: c_uint, blocks_y: c_uint, blocks_z: c_uint, threads_x: c_uint, threads_y: c_uint, threads_z: c_uint,
        shared: c_uint, stream: Handle, arguments: *const *const u8, _extra: *const c_void
    ) {
        let (device, controls) = current()?;
        let objects = objects();
        let stream = objects.stream(stream, device)?;
        let (owner, function) = objects.functions.get(&function).cloned().ok_or(INVALID_HANDLE)?;
        drop(objects);
        check(owner == device, INVALID_HANDLE)?;
        let (blocks, threads) = ([blocks_x, blocks_y, blocks_z], [threads_x, threads_y, threads_z]);
        let within = |sizes: [c_uint; 3], most: [c_uint; 3]| sizes.iter().zip(most).all(|(&n, most)| (1..=most).contains(&n));
        check(within(blocks, [i32::MAX as c_uint, 65_535, 65_535]) && within(threads, [1024, 1024, 64]), INVALID_VALUE)?;
        check(threads.iter().map(|&n| u64::from(n)).product::<u64>() <= 1024 && shared == 0, INVALID_VALUE)?;
        // SAFETY: as the function requires: each argument points to a value of its parameter's size.
        let values: Vec<Vec<u64>> = unsafe { (0..function.sizes.len()).map(|i| value(*arguments.add(i), function.sizes[i])).collect() };
        let launched = task(controls, move || {
            let mut values = values.clone();
            let mut pointers: Vec<*mut c_void> = values.iter_mut().map(|value| value.as_mut_ptr().cast()).collect();
            // SAFETY: the values have the sizes of the parameters, and the library is loaded as long as the function lives.
            check(unsafe { (function.call)(pointers.as_mut_ptr(), &blocks, &threads) } == 0, LAUNCH_FAILED)
        });
        if stream.record(&launched, true) {
            return Ok(());
        }
        enqueue_launch(&stream, controls, launched)
    }

    cuGetErrorName(error: Code, name: *mut *const c_char) {
        // SAFETY: as the function requires.
        unsafe { put(name, describe(error).as_ptr()) };
        Ok(())
    }

    cuGetErrorString(error: Code, text: *mut *const c_char) {
        // SAFETY: as the function requires.
        unsafe { put(text, describe(error).as_ptr()) };
        Ok(())
    }
}

fn copy(stream: &Stream, controls: &'static DeviceControls, to: u64, from: u64, bytes: usize) -> Result<(), Code> {
    stream.enqueue(run(controls, move || {
        // SAFETY: the caller's ranges were checked, and stay allocated until the copy is done.
        unsafe { ptr::copy(from as *const u8, to as *mut u8, bytes) };
        Ok(())
    }))
}

/// Enqueues a launch, unless a test has ordered that it is refused or faults.
pub(crate) fn enqueue_launch(stream: &Stream, controls: &'static DeviceControls, launched: Task) -> Result<(), Code> {
    controls.launches.fetch_add(1, Ordering::SeqCst);
    check(!is_due(&controls.launches_until_refusal), LAUNCH_OUT_OF_RESOURCES)?;
    if is_due(&controls.launches_until_fault) {
        return stream.enqueue(run(controls, || Err(ILLEGAL_ADDRESS)));
    }
    stream.enqueue(Work::Run(launched))
}

/// Counts down to an event. Returns true when it is due.
fn is_due(countdown: &AtomicI64) -> bool {
    countdown.load(Ordering::SeqCst) >= 0 && countdown.fetch_sub(1, Ordering::SeqCst) == 0
}

/// # Safety
/// `from` must be valid for a read of `size` bytes.
unsafe fn value(from: *const u8, size: usize) -> Vec<u64> {
    let mut words = vec![0u64; size.div_ceil(8)];
    // SAFETY: as the function requires, and the words have room.
    unsafe { ptr::copy_nonoverlapping(from, words.as_mut_ptr().cast(), size) };
    words
}
