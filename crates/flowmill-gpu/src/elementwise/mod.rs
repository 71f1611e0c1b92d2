//! Element-wise kernels: an expression of the elements of some tensors, printed as CUDA C.

mod functions;
mod kernel;
mod layout;
mod program;

pub(crate) use functions::{FUNCTIONS, Function, PRIVATE_OPS, Types};
pub(crate) use kernel::{ElementwiseKernel, Operand};
pub(crate) use layout::{Layout, MAX_RANK, broadcast_strides};
pub(crate) use program::{Instruction, Operation, Program};
