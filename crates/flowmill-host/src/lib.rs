//! The kernels that sessions on any device need: control flow, functions, containers, variables, datasets, strings, messages, image
//! files.
//!
//! They manage state, move elements and wait; none of them would be faster on another device than the host. Kernels that compute with numbers are
//! in the devices' crates.
#![deny(missing_docs, unreachable_pub, unnameable_types)]
// Macros generate code for many types, with conversions and clones that some of the types do not need.
#![allow(clippy::clone_on_copy, clippy::manual_range_contains, clippy::unnecessary_cast, clippy::useless_conversion)]

mod batching;
mod control_flow;
mod data_flow;
pub mod dataset;
mod functional;
mod image;
mod logging;
mod lookup;
mod parsing_io;
mod send_recv;
mod sparse;
mod state;
mod string;
mod summarize;

pub use data_flow::reader::TfRecords;
pub use data_flow::tensor_array::register_in as register_tensor_arrays_in;
pub use data_flow::tensor_list::register_in as register_tensor_lists_in;

// The families refer to these as modules of this crate.
use flowmill_kernels::{array, blocks, files, from_fn, number};
use flowmill_parallel as parallel;
use flowmill_runtime::KernelRegistry;

/// Registers every kernel of the crate, one line per family.
pub fn register_all(registry: &mut KernelRegistry) {
    batching::register(registry);
    control_flow::register(registry);
    data_flow::register(registry);
    dataset::register(registry);
    functional::register(registry);
    image::register(registry);
    logging::register(registry);
    lookup::register(registry);
    parsing_io::register(registry);
    send_recv::register(registry);
    sparse::register(registry);
    state::register(registry);
    string::register(registry);
}
