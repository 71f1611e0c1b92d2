//! Kernels that draw random numbers, with TensorFlow's generators: equal seeds give equal numbers.

#![forbid(unsafe_code)]

mod candidate;
mod categorical;
mod distribution;
mod gamma;
mod index_shuffle;
mod philox;
mod shuffle;
mod stateful;
mod stateless;

use flowmill_runtime::KernelRegistry;

/// Registers the kernels of the random ops.
pub fn register(registry: &mut KernelRegistry) {
    candidate::register(registry);
    categorical::register(registry);
    gamma::register(registry);
    index_shuffle::register(registry);
    shuffle::register(registry);
    stateful::register(registry);
    stateless::register(registry);
}
