//! Graphs: work of a stream that is captured once and launched many times.

use crate::controls::Kind;
use crate::driver::{driver, enqueue_launch, put};
use crate::errors::*;
use crate::objects::{Handle, current, objects};
use crate::streams::{Work, forbid_in_capture};
use std::ffi::c_uint;
use std::sync::atomic::Ordering;

/// `CU_STREAM_CAPTURE_MODE_THREAD_LOCAL`.
const THREAD_LOCAL: c_uint = 1;

driver! {
    cuStreamBeginCapture_v2(stream: Handle, mode: c_uint) {
        let (device, controls) = current()?;
        // Other modes forbid calls of other threads, or allow what the stub is to find.
        check(mode == THREAD_LOCAL, INVALID_VALUE)?;
        let stream = objects().stream(stream, device)?;
        controls.captures.fetch_add(1, Ordering::SeqCst);
        stream.begin_capture()
    }

    cuStreamEndCapture(stream: Handle, graph: *mut Handle) {
        let (device, controls) = current()?;
        let stream = objects().stream(stream, device)?;
        let recorded = stream.end_capture()?;
        check(!controls.fails_captures.load(Ordering::SeqCst), STREAM_CAPTURE_INVALIDATED)?;
        let mut objects = objects();
        let handle = objects.handle();
        objects.graphs.insert(handle, (device, recorded.into()));
        controls.count(Kind::Graphs, 1);
        // SAFETY: as the function requires.
        unsafe { put(graph, handle) };
        Ok(())
    }

    cuGraphInstantiateWithFlags(executable: *mut Handle, graph: Handle, _flags: u64) {
        forbid_in_capture()?;
        let (device, controls) = current()?;
        let mut objects = objects();
        let (owner, recorded) = objects.graphs.get(&graph).cloned().ok_or(INVALID_HANDLE)?;
        check(owner == device, INVALID_HANDLE)?;
        let handle = objects.handle();
        objects.executables.insert(handle, (device, recorded));
        controls.count(Kind::Graphs, 1);
        // SAFETY: as the function requires.
        unsafe { put(executable, handle) };
        Ok(())
    }

    cuGraphLaunch(executable: Handle, stream: Handle) {
        let (device, controls) = current()?;
        let objects = objects();
        let stream = objects.stream(stream, device)?;
        let (owner, recorded) = objects.executables.get(&executable).cloned().ok_or(INVALID_HANDLE)?;
        drop(objects);
        check(owner == device && !stream.is_capturing(), INVALID_HANDLE)?;
        controls.graph_launches.fetch_add(1, Ordering::SeqCst);
        for node in recorded.iter() {
            match node.is_launch {
                true => enqueue_launch(&stream, controls, node.task.clone())?,
                false => stream.enqueue(Work::Run(node.task.clone()))?,
            }
        }
        Ok(())
    }

    cuGraphExecDestroy(executable: Handle) {
        let (_, controls) = current()?;
        objects().executables.remove(&executable).ok_or(INVALID_HANDLE)?;
        controls.count(Kind::Graphs, -1);
        Ok(())
    }

    cuGraphDestroy(graph: Handle) {
        let (_, controls) = current()?;
        objects().graphs.remove(&graph).ok_or(INVALID_HANDLE)?;
        controls.count(Kind::Graphs, -1);
        Ok(())
    }
}
