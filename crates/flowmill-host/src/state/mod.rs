//! Kernels of variables, by reference and by resource handle.

mod gather;
mod indices;
mod ref_variable;
mod resource_variable;
mod scatter;

use flowmill_kernels::update;
use flowmill_kernels::variable::{ResourceVariable, Variable, VariableKind};
use flowmill_runtime::KernelRegistry;

pub(crate) use ref_variable::resource_name;

/// Registers the kernels of this family.
pub(crate) fn register(registry: &mut KernelRegistry) {
    gather::register(registry);
    ref_variable::register(registry);
    resource_variable::register(registry);
    scatter::register(registry);
}
