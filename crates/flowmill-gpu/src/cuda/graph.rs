//! CUDA graphs: work that is captured on a stream of its own, and launched as one.

use super::driver::{Context, failed};
use crate::backend::CapturedWork;
use cudarc::driver::result;
use cudarc::driver::sys;
use flowmill_tensor::Result;
use flowmill_tensor::sync::Mutex;
use std::cell::Cell;
use std::sync::Arc;

thread_local! {
    /// The device and the stream whose work this thread captures.
    static CAPTURING: Cell<Option<(sys::CUdevice, sys::CUstream)>> = const { Cell::new(None) };
}

/// The stream of a GPU on which work is captured, by one thread at a time. It never does any work.
pub(super) struct CaptureStream {
    device: sys::CUdevice,
    pub(super) stream: sys::CUstream,
    alone: Mutex<()>,
}

/// A capture of this thread, which ends when it is dropped, also after a panic.
struct Capture(sys::CUstream);

impl Drop for Capture {
    fn drop(&mut self) {
        CAPTURING.set(None);
        // SAFETY: the stream lives as long as the GPU. A capture that has ended is an error, which leaves nothing behind.
        if let Ok(graph) = unsafe { result::stream::end_capture(self.0) } {
            drop(Graph(graph));
        }
    }
}

impl Capture {
    /// Ends the capture.
    fn end(self) -> Result<Graph> {
        CAPTURING.set(None);
        // SAFETY: this thread has begun the capture of the stream.
        let ended = unsafe { result::stream::end_capture(self.0) }.map_err(failed("capture work"));
        std::mem::forget(self);
        ended.map(Graph)
    }
}

/// A graph that was captured.
struct Graph(sys::CUgraph);

impl Drop for Graph {
    fn drop(&mut self) {
        // SAFETY: the graph was made once and is destroyed once.
        let _ = unsafe { result::graph::destroy(self.0) };
    }
}

impl CaptureStream {
    pub(super) fn new(device: sys::CUdevice, stream: sys::CUstream) -> CaptureStream {
        CaptureStream { device, stream, alone: Mutex::new(()) }
    }

    /// Returns the stream if this thread captures its work.
    pub(super) fn of_this_thread(&self) -> Option<sys::CUstream> {
        CAPTURING.get().filter(|(device, _)| *device == self.device).map(|(_, stream)| stream)
    }

    /// Captures the work that `enqueue` enqueues on the stream. The context must be the current one.
    pub(super) fn capture(&self, context: Arc<Context>, enqueue: &mut dyn FnMut() -> Result<()>) -> Result<CudaGraph> {
        let _alone = self.alone.lock();
        // Calls of other threads are not restricted, and those of this thread that a graph cannot hold are errors.
        let mode = sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
        // SAFETY: the stream lives as long as the GPU.
        unsafe { result::stream::begin_capture(self.stream, mode) }.map_err(failed("capture work"))?;
        CAPTURING.set(Some((self.device, self.stream)));
        let capture = Capture(self.stream);
        enqueue()?;
        let graph = capture.end()?;
        // SAFETY: the graph is alive.
        let executable = unsafe { result::graph::instantiate(graph.0, sys::CUgraphInstantiate_flags(0)) };
        Ok(CudaGraph { executable: executable.map_err(failed("instantiate a graph"))?, context })
    }
}

/// A graph that can be launched.
pub(super) struct CudaGraph {
    executable: sys::CUgraphExec,
    context: Arc<Context>,
}

// SAFETY: the driver's handles may be used from any thread, by one at a time: launches are made by the holder of a lock.
unsafe impl Send for CudaGraph {}
// SAFETY: as above.
unsafe impl Sync for CudaGraph {}

impl CapturedWork for CudaGraph {}

impl CudaGraph {
    /// Enqueues the graph's work.
    pub(super) fn launch(&self, stream: sys::CUstream) -> Result<()> {
        // SAFETY: the graph is alive, and the caller keeps it and its memory until the work has ended.
        unsafe { result::graph::launch(self.executable, stream) }.map_err(failed("launch a graph"))
    }
}

impl Drop for CudaGraph {
    fn drop(&mut self) {
        // SAFETY: the graph was instantiated once and is destroyed once.
        let _ = self.context.bind().and_then(|()| unsafe { result::graph::exec_destroy(self.executable) });
    }
}
