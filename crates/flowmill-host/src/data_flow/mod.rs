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
mod tensor_array;
mod tensor_list;
mod tensor_map;
pub(crate) mod wait_list;

pub(crate) use flowmill_kernels::arithmetic;

use flowmill_runtime::KernelRegistry;
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

/// Returns the object that the handle in input 0 refers to; `what` names its kind in the error.
pub(crate) fn object_of<R: Resource>(handle: Option<&Tensor>, what: &str) -> Result<Arc<R>> {
    let object = handle.and_then(|tensor| tensor.as_resources().ok()?.first()?.object().cloned());
    let found = object.and_then(|object| (object as Arc<dyn Any + Send + Sync>).downcast().ok());
    found.ok_or_else(|| error!(InvalidArgument, "Input 0 is not the handle of {what}"))
}
