//! The runtime: kernels' interface, plans, the executor of frames and iterations, sessions.
