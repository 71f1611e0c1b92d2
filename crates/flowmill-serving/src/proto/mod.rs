//! Messages and services of TensorFlow Serving and of the Open Inference Protocol, and messages of OpenTelemetry, generated from `proto/` by `cargo xtask proto`.

/// `tensorflow.serving`: requests, the model repository's configuration, and files of warm-up requests.
#[allow(missing_docs, unreachable_pub, unnameable_types, clippy::all, clippy::unwrap_used)]
pub mod tfs {
    include!("gen/tensorflow_serving.rs");
}

/// `inference`: the Open Inference Protocol with Triton's extensions.
#[allow(missing_docs, unreachable_pub, unnameable_types, clippy::all, clippy::unwrap_used)]
pub mod kserve {
    include!("gen/inference.rs");
}

/// `opentelemetry`: the export of spans by OTLP.
#[allow(missing_docs, unreachable_pub, unnameable_types, clippy::all, clippy::unwrap_used)]
pub mod otlp {
    include!("gen/opentelemetry.rs");
}

/// All files of both protocols as a `FileDescriptorSet`, for reflection and for the text format.
pub(crate) const DESCRIPTORS: &[u8] = include_bytes!("gen/descriptors.binpb");
