//! Datasets and iterators: the ops of `tf.data`.
//!
//! A dataset is an immutable value, a scalar of type `variant`. `element::Dataset` makes iterators, which are closures that return an element at
//! each call. An iterator that a session keeps is a resource (`iterator::IteratorResource`). `IteratorGetNext` waits for its next element without
//! occupying a thread of the session: elements are computed on the iterator's own threads (`threads::Threads`), one at a time, and a
//! `parallel::Pipe` does work ahead of the consumer. Functions run in steps of their own, which end when the iterator is closed.

mod any_order;
mod args;
mod batch;
mod cache;
mod cache_file;
mod choice;
mod context;
mod element;
mod files;
mod flat_map;
mod generator;
mod group;
mod iterator;
mod iterator_ops;
mod map;
mod once;
mod order;
mod padding;
mod parallel;
mod passing;
mod seeds;
mod source;
mod threads;
mod window;

pub use cache::register_cache;
pub use cache_file::{TensorFiles, TensorReader, TensorWriter};

use flowmill_runtime::KernelRegistry;

/// Registers the kernels of this family.
pub(crate) fn register(registry: &mut KernelRegistry) {
    batch::register(registry);
    cache::register(registry);
    choice::register(registry);
    files::register(registry);
    flat_map::register(registry);
    generator::register(registry);
    group::register(registry);
    iterator_ops::register(registry);
    map::register(registry);
    once::register(registry);
    order::register(registry);
    padding::register(registry);
    passing::register(registry);
    seeds::register(registry);
    source::register(registry);
    window::register(registry);
}
