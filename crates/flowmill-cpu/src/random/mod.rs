//! Kernels that draw random numbers, with TensorFlow's generators: equal seeds produce equal numbers. Sobol sequences, which are deterministic, are
//! here, too.

#![forbid(unsafe_code)]

mod binomial;
mod candidate;
mod categorical;
mod class_distribution;
mod distribution;
mod gamma;
mod generator;
mod index_shuffle;
mod noise;
mod shuffle;
mod sobol;
pub(crate) mod stateful;
pub(crate) mod stateless;
mod truncated;
mod window_starts;

pub(crate) use flowmill_kernels::philox;
pub(crate) use noise::{normal_noise, uniform_noise};
pub(crate) use window_starts::WindowStarts;

use flowmill_runtime::KernelRegistry;

/// Registers the kernels of the random ops.
pub(crate) fn register(registry: &mut KernelRegistry) {
    binomial::register(registry);
    candidate::register(registry);
    categorical::register(registry);
    gamma::register(registry);
    generator::register(registry);
    index_shuffle::register(registry);
    shuffle::register(registry);
    sobol::register(registry);
    stateful::register(registry);
    stateless::register(registry);
    truncated::register(registry);
}
