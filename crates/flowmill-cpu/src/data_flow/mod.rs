//! Containers of tensors: arrays, lists, stacks, queues, optionals, and what sessions keep between steps; mutexes.

mod accumulator;
pub(crate) mod arithmetic;
mod barrier;
mod mutex;
mod optional;
mod queue;
mod reader;
mod session_handle;
mod stack;
mod tensor_array;
mod tensor_list;
mod wait_list;

use flowmill_runtime::KernelRegistry;

/// Registers the family.
pub fn register(registry: &mut KernelRegistry) {
    accumulator::register(registry);
    barrier::register(registry);
    mutex::register(registry);
    optional::register(registry);
    queue::register(registry);
    reader::register(registry);
    session_handle::register(registry);
    stack::register(registry);
    tensor_array::register(registry);
    tensor_list::register(registry);
}
