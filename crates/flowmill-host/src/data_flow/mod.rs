//! Containers of tensors: arrays, lists, stacks, queues, optionals, and the state that sessions keep between steps; mutexes.

mod accumulator;
mod barrier;
mod map_staging;
mod mutex;
pub(crate) mod optional;
mod queue;
pub(crate) mod reader;
mod session_handle;
mod stack;
mod staging;
mod staging_area;
pub(crate) mod tensor_array;
pub(crate) mod tensor_list;
mod tensor_map;
pub(crate) mod wait_list;

use flowmill_runtime::{KernelRegistry, ResourceManager};
use flowmill_tensor::{Resource, Result, Tensor, error};
use std::any::Any;
use std::sync::Arc;

/// Registers the kernels of this family.
pub(crate) fn register(registry: &mut KernelRegistry) {
    accumulator::register(registry);
    barrier::register(registry);
    map_staging::register(registry);
    mutex::register(registry);
    optional::register(registry);
    queue::register(registry);
    reader::register(registry);
    session_handle::register(registry);
    stack::register(registry);
    staging::register(registry);
    tensor_array::register(registry);
    tensor_list::register(registry);
    tensor_map::register(registry);
}

/// Returns the object that the handle in input 0 refers to; `what` names its kind in the error. `resources` are those of the kernel's device.
///
/// # Errors
/// Returns `InvalidArgument` if the handle refers to an object of another kind, or on another device.
pub(crate) fn object_of<R: Resource>(handle: Option<&Tensor>, resources: &ResourceManager, what: &str) -> Result<Arc<R>> {
    let handle = handle.and_then(|tensor| tensor.as_resources().ok()?.first());
    handle.map_or(Ok(()), |handle| resources.check_device(handle))?;
    let found =
        handle.and_then(|handle| handle.object().cloned()).and_then(|object| (object as Arc<dyn Any + Send + Sync>).downcast().ok());
    found.ok_or_else(|| error!(InvalidArgument, "Input 0 is not the handle of {what}"))
}
