//! Containers of tensors: arrays, lists, stacks, queues, optionals, and what sessions keep between steps.

mod tensor_array;

use flowmill_runtime::KernelRegistry;

/// Registers the family.
pub fn register(registry: &mut KernelRegistry) {
    tensor_array::register(registry);
}
