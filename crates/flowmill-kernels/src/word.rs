//! Element types of tensors that element-wise kernels compute with.

use flowmill_numeric::elementwise;
use flowmill_tensor::Element;

/// An element type of tensors that element-wise loops compute with.
pub trait Word: Element + elementwise::Word {}

impl<T: Element + elementwise::Word> Word for T {}
