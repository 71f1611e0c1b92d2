//! Element-wise kernels: an expression of the elements of some tensors, printed as CUDA C.

mod expression;
mod functions;
mod kernel;
mod layout;

pub(crate) use expression::Expression;
pub(crate) use functions::{FUNCTIONS, Function, Types};
pub(crate) use kernel::ElementwiseKernel;
pub(crate) use layout::{Layout, MAX_RANK};
