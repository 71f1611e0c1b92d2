//! Tensors: element types, shapes, buffers, strings, handles, and the error type.
