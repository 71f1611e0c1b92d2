//! Variables, by reference and by resource handle.

mod ref_variable;
mod resource_variable;
pub(crate) mod update;
mod variable;

use flowmill_runtime::KernelRegistry;

pub(crate) use ref_variable::resource_name;
pub use variable::{ResourceVariable, Variable};

/// Registers the family.
pub fn register(registry: &mut KernelRegistry) {
    ref_variable::register(registry);
    resource_variable::register(registry);
}
