//! Element-wise kernels: an expression of the elements of some tensors, printed as CUDA C.

mod program;
mod functions;
mod kernel;
mod layout;

pub(crate) use program::{Instruction, Operation, Program};
pub(crate) use functions::{FUNCTIONS, Function, Types};
pub(crate) use kernel::{ElementwiseKernel, Operand};
pub(crate) use layout::Layout;
