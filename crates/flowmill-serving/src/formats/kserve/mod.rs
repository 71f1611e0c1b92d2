//! The JSON and the binary tensor data of the Open Inference Protocol's REST API, with Triton's extensions.

mod messages;
mod parameters;
mod request;
mod response;

pub use messages::{
    BatchStatistics, ConfigTensor, Duration, ErrorBody, InferStatistics, Live, ModelConfig, ModelIndex, ModelMetadata, ModelReady,
    ModelStatistics, Ready, ServerMetadata, TensorMetadata, VersionStatistics,
};
pub use parameters::{Parameter, Parameters, parameters_from_proto};
pub use request::{InferRequest, RequestedOutput, parse_infer, parse_infer_of, refuse_shared_memory};
pub use response::{InferBody, classify, print_infer};
