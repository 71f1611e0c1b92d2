//! Kernels of sequences: recurrent cells as one op, and connectionist temporal classification.

mod block_cells;
mod block_cells_grad;
mod ctc;
mod gru_grad;

use flowmill_runtime::KernelRegistry;

/// Registers the family.
pub(crate) fn register(registry: &mut KernelRegistry) {
    block_cells::register(registry);
    block_cells_grad::register(registry);
    ctc::register(registry);
    gru_grad::register(registry);
}
