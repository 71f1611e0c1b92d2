//! Staging areas, which buffers (`Stage`) and maps (`MapStage`) are: tuples of tensors that are kept between the steps of a session.
//!
//! An area belongs to the session, by container and name. Calls wait, without a thread, for room or for a tuple; they end if their step is cancelled.

use super::wait_list::{Serve, WaitList};
use crate::from_fn::from_fn;
use crate::state::resource_name;
use flowmill_runtime::{AsyncContext, AsyncKernel, Kernel, KernelContext, KernelInit};
use flowmill_tensor::{Resource, Result, Tensor, bail};
use std::sync::Arc;

/// The limits of an area; `None` for no limit.
#[derive(Clone, Copy)]
pub(super) struct Limits {
    /// The number of tuples that fit.
    pub(super) capacity: Option<usize>,
    /// The number of bytes that fit.
    pub(super) memory: Option<usize>,
}

impl Limits {
    /// Returns true if tensors of `added` bytes fit beside those of `present` bytes.
    pub(super) fn have_room_for(&self, present: usize, added: &[Tensor]) -> bool {
        self.memory.is_none_or(|limit| present.saturating_add(num_bytes(added)) <= limit)
    }

    fn of(init: &KernelInit<'_>) -> Result<Limits> {
        let limit = |name: &str| -> Result<Option<usize>> { Ok(usize::try_from(init.attrs.get_or(name, 0i64)?).ok().filter(|&n| n > 0)) };
        Ok(Limits { capacity: limit("capacity")?, memory: limit("memory_limit")? })
    }
}

/// Returns the number of bytes of a tuple's elements; handles and variants count as none.
pub(super) fn num_bytes(tuple: &[Tensor]) -> usize {
    let of = |tensor: &Tensor| match tensor.as_strings() {
        Ok(strings) => strings.iter().map(|s| s.len() + size_of::<[usize; 3]>()).sum(),
        Err(_) => tensor.dtype().size().unwrap_or(0).saturating_mul(tensor.num_elements()),
    };
    tuple.iter().map(of).fold(0, usize::saturating_add)
}

/// The tuples of an area.
pub(super) trait Tuples: Serve {
    /// The name of the kind of area, for messages.
    const TYPE_NAME: &'static str;

    /// Returns an empty area.
    fn new(limits: Limits) -> Self;

    /// Returns the limits of the area.
    fn limits(&self) -> Limits;

    /// Returns the tensors that a request adds. Requests that take tuples add none.
    fn added_by(request: &Self::Request) -> &[Tensor];
}

/// The area that all nodes of one name share.
struct StagingArea<S: Tuples>(WaitList<S>);

impl<S: Tuples> Resource for StagingArea<S> {
    fn type_name(&self) -> &'static str {
        S::TYPE_NAME
    }
}

/// Returns the session's area under the node's name. It is made with the attributes of the first node of that name.
fn area<S: Tuples>(init: &KernelInit<'_>) -> Result<Arc<StagingArea<S>>> {
    let limits = Limits::of(init)?;
    let make = || Ok(StagingArea(WaitList::new(S::new(limits))));
    init.resources.lookup_or_create(init.attrs.get_or("container", "")?, resource_name(init)?, make)
}

/// A kernel whose calls wait for the area.
struct Waiting<S: Tuples, F> {
    area: Arc<StagingArea<S>>,
    request: F,
}

/// Returns a kernel whose calls wait until the area can serve them. `request` reads the request from the inputs.
pub(super) fn waiting<S: Tuples>(
    init: &KernelInit<'_>,
    request: impl Fn(&[Tensor]) -> Result<S::Request> + Send + Sync + 'static,
) -> Result<Arc<dyn Kernel>> {
    Ok(Arc::new(Waiting { area: area::<S>(init)?, request }))
}

impl<S: Tuples, F: Fn(&[Tensor]) -> Result<S::Request> + Send + Sync + 'static> Kernel for Waiting<S, F> {
    fn compute(&self, _: &mut KernelContext<'_>) -> Result<()> {
        bail!(Internal, "staging areas are asynchronous")
    }

    fn as_async(&self) -> Option<&dyn AsyncKernel> {
        Some(self)
    }
}

impl<S: Tuples, F: Fn(&[Tensor]) -> Result<S::Request> + Send + Sync> AsyncKernel for Waiting<S, F> {
    fn start(&self, ctx: AsyncContext) {
        let request = (self.request)(ctx.inputs()).and_then(|request| {
            let (bytes, limit) = (num_bytes(S::added_by(&request)), self.area.0.lock().state.limits().memory);
            match limit.filter(|&limit| bytes > limit) {
                None => Ok(request),
                Some(limit) => bail!(
                    ResourceExhausted,
                    "Attempted to insert tensors with combined size of '{bytes}' bytes into Staging Area with a memory limit of '{limit}'."
                ),
            }
        });
        match request {
            Ok(request) => self.area.0.wait(request, ctx),
            Err(e) => ctx.done(Err(e)),
        }
    }
}

/// Makes a kernel that returns a number of tuples.
pub(super) fn make_size<S: Tuples>(init: &KernelInit<'_>, size: fn(&S) -> usize) -> Result<Arc<dyn Kernel>> {
    let area = area::<S>(init)?;
    from_fn(move |ctx| {
        let len = size(&area.0.lock().state);
        ctx.set_output(0, Tensor::scalar(i32::try_from(len).unwrap_or(i32::MAX)));
        Ok(())
    })
}

/// Makes a kernel that removes all tuples.
pub(super) fn make_clear<S: Tuples>(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let area = area::<S>(init)?;
    from_fn(move |_| {
        let removed = {
            let state = &mut area.0.lock().state;
            let limits = state.limits();
            std::mem::replace(state, S::new(limits))
        };
        // Tensors may be the last owners of objects, which are dropped without the lock.
        drop(removed);
        area.0.progress();
        Ok(())
    })
}
