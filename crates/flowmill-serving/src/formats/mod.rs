//! Conversions between the bytes of requests and responses and named tensors, without I/O.
//!
//! * [`tfs`]: the JSON of TensorFlow Serving's REST API.
//! * [`kserve`]: the JSON and the binary tensor data of the Open Inference Protocol.
//! * [`raw`]: the little-endian elements and typed contents of the Open Inference Protocol's gRPC messages.
//!
//! Numbers are read by a scanner over the bytes straight into a buffer of the tensor's type; no tree of JSON values is built. Every parser takes
//! [`Limits`], returns errors that name the byte at which the input is wrong, and uses memory in proportion to the input.

pub(crate) mod json;
pub mod kserve;
mod openapi;
pub mod raw;
pub mod tfs;

pub use openapi::OPENAPI;

/// Bounds on a request, beside the bound on the body's size that the server keeps.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The most elements of all tensors of a request together. Default: 2^28.
    pub max_elements: usize,
    /// The most JSON arrays and objects within each other, which also bounds the rank of tensors in JSON. Default: 64.
    pub max_depth: usize,
    /// The most features and values that the examples of a request get from its context, which is copied to each. Default: 2^20.
    pub max_context_copies: usize,
    /// The most bytes of all serialized examples of a request, the context in each of them. Default: 2^30.
    pub max_example_bytes: usize,
    /// The most tensors, requested outputs, parameters or examples of a request. Default: 65,536.
    pub max_items: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { max_elements: 1 << 28, max_depth: 64, max_context_copies: 1 << 20, max_example_bytes: 1 << 30, max_items: 1 << 16 }
    }
}
