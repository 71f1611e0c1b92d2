//! Kernels of sequences: recurrent cells as single ops, and connectionist temporal classification.

mod block_cells;
mod block_cells_grad;
mod ctc;
mod gru_grad;

use flowmill_runtime::KernelRegistry;

/// Registers the kernels of this family.
pub(crate) fn register(registry: &mut KernelRegistry) {
    block_cells::register(registry);
    block_cells_grad::register(registry);
    ctc::register(registry);
    gru_grad::register(registry);
}
