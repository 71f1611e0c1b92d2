//! TensorFlow's wire types, as plain Rust structs.
//!
//! The structs follow the `.proto` files in `proto/`, whose names and field numbers are TensorFlow's.
//! All messages are at the root of the crate; a nested message or a oneof is in the module named
//! after the message around it: [`attr_value::ListValue`], [`attr_value::Value`].
//!
//! * Every `bytes` field is a [`bytes::Bytes`]: a message decoded from a `Bytes` points into it, so the
//!   contents of tensors are not copied.
//! * Maps are [`BTreeMap`](std::collections::BTreeMap)s: encoding is deterministic, and byte for byte what
//!   protobuf writes in Python with `deterministic=True`.
//! * Every message keeps the fields it does not know: see [`UnknownFields`].
//! * Decoding answers bad input with an error and refuses nesting deeper than 100 messages.
//!
//! ```
//! use flowmill_proto::{AttrValue, DataType, Message, NodeDef};
//!
//! let node = NodeDef {
//!     name: "x".into(),
//!     op: "Placeholder".into(),
//!     attr: [("dtype".into(), AttrValue::from(DataType::DtFloat))].into(),
//!     ..Default::default()
//! };
//! assert_eq!(NodeDef::decode(node.encode_to_vec().as_slice())?, node);
//! # Ok::<(), flowmill_proto::DecodeError>(())
//! ```
#![deny(missing_docs, unreachable_pub, unnameable_types)]
#![forbid(unsafe_code)]

mod convert;
mod preserving;
mod unknown_fields;
pub mod wire;

#[allow(missing_docs, clippy::all)]
mod tensorflow {
    include!("gen/tensorflow.rs");

    /// Messages of the profiler.
    pub mod tfprof {
        include!("gen/tensorflow_tfprof.rs");
    }

    /// Messages of TensorBoard's plugins.
    pub mod tensorboard {
        include!("gen/tensorflow_tensorboard.rs");
    }

    /// Canonical status codes.
    pub mod error {
        include!("gen/tensorflow_error.rs");
    }
}

#[allow(clippy::manual_range_patterns)]
mod unknown_field_impls {
    include!("gen/unknown_fields.rs");
}

/// The descriptors of all messages, a `FileDescriptorSet`.
pub const DESCRIPTORS: &[u8] = include_bytes!("gen/descriptors.binpb");

pub use prost::encoding::encode_varint;
pub use prost::{DecodeError, Message};
pub use prost_types::Any;

pub use tensorflow::*;
pub use unknown_fields::UnknownFields;
