//! Bodies of the REST API other than those of inferences.

use super::Parameters;
use crate::formats::raw::datatype;
use crate::proto::kserve as proto;
use flowmill::{Error, Result, TensorSpec};
use serde::Serialize;
use std::collections::BTreeMap;

/// The body of a response to a request that failed.
#[derive(Clone, Debug, Serialize)]
pub struct ErrorBody {
    /// The message.
    pub error: String,
}

impl From<&Error> for ErrorBody {
    fn from(error: &Error) -> ErrorBody {
        ErrorBody { error: error.message().to_owned() }
    }
}

/// The body of `GET v2`.
#[derive(Clone, Debug, Serialize)]
pub struct ServerMetadata {
    /// The server's name.
    pub name: String,
    /// The server's version.
    pub version: String,
    /// The identifiers of the protocol's extensions that the server has.
    pub extensions: Vec<String>,
}

impl From<ServerMetadata> for proto::ServerMetadataResponse {
    fn from(body: ServerMetadata) -> proto::ServerMetadataResponse {
        proto::ServerMetadataResponse { name: body.name, version: body.version, extensions: body.extensions }
    }
}

/// The body of `GET v2/health/live`. It is empty in Triton, whose clients read the code alone; those of KServe read the body.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Live {
    /// True if the server answers.
    pub live: bool,
}

/// The body of `GET v2/health/ready`.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Ready {
    /// True if all models are ready.
    pub ready: bool,
}

/// The body of `GET v2/models/MODEL/ready`.
#[derive(Clone, Debug, Serialize)]
pub struct ModelReady {
    /// The model's name.
    pub name: String,
    /// True if the model is ready.
    pub ready: bool,
}

/// The body of `GET v2/models/MODEL`.
#[derive(Clone, Debug, Serialize)]
pub struct ModelMetadata {
    /// The model's name.
    pub name: String,
    /// The versions that are ready.
    pub versions: Vec<String>,
    /// The kind of model, such as `tensorflow_savedmodel`.
    pub platform: String,
    /// The inputs.
    pub inputs: Vec<TensorMetadata>,
    /// The outputs.
    pub outputs: Vec<TensorMetadata>,
    /// More facts by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub properties: BTreeMap<String, String>,
}

/// A tensor of [`ModelMetadata`].
#[derive(Clone, Debug, Serialize)]
pub struct TensorMetadata {
    /// Its name.
    pub name: String,
    /// Its type, in the protocol's names.
    pub datatype: String,
    /// Its sizes, -1 for those that vary.
    pub shape: Vec<i64>,
}

impl TensorMetadata {
    /// Returns the metadata of the tensors of a signature. A tensor of unknown rank has one size that varies.
    ///
    /// # Errors
    /// `Unimplemented` for a type that the protocol does not have.
    pub fn of_specs(specs: &BTreeMap<String, TensorSpec>) -> Result<Vec<TensorMetadata>> {
        let metadata = |(name, spec): (&String, &TensorSpec)| {
            let datatype = datatype(spec.dtype).map_err(|error| error.context(format_args!("tensor '{name}'")))?.to_owned();
            let shape = spec.shape.dims().map_or_else(|| vec![-1], |dims| dims.iter().map(|&size| size.max(-1)).collect());
            Ok(TensorMetadata { name: name.clone(), datatype, shape })
        };
        specs.iter().map(metadata).collect()
    }
}

impl From<ModelMetadata> for proto::ModelMetadataResponse {
    fn from(body: ModelMetadata) -> proto::ModelMetadataResponse {
        fn tensors(tensors: Vec<TensorMetadata>) -> Vec<proto::model_metadata_response::TensorMetadata> {
            let tensor =
                |t: TensorMetadata| proto::model_metadata_response::TensorMetadata { name: t.name, datatype: t.datatype, shape: t.shape };
            tensors.into_iter().map(tensor).collect()
        }
        proto::ModelMetadataResponse {
            name: body.name,
            versions: body.versions,
            platform: body.platform,
            inputs: tensors(body.inputs),
            outputs: tensors(body.outputs),
            properties: body.properties,
        }
    }
}

/// An item of the body of `POST v2/repository/index`, which is a list of them.
#[derive(Clone, Debug, Serialize)]
pub struct ModelIndex {
    /// The model's name.
    pub name: String,
    /// The version; left out for a model that is not loaded.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub version: String,
    /// `READY`, `LOADING`, `UNLOADING` or `UNAVAILABLE`; left out for a model that is not loaded.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub state: String,
    /// The reason for which the model is not ready; left out if it is ready.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
}

impl From<proto::repository_index_response::ModelIndex> for ModelIndex {
    fn from(message: proto::repository_index_response::ModelIndex) -> ModelIndex {
        ModelIndex { name: message.name, version: message.version, state: message.state, reason: message.reason }
    }
}

/// The body of `GET v2/models/MODEL/stats`.
#[derive(Clone, Debug, Serialize)]
pub struct ModelStatistics {
    /// The statistics of each version.
    pub model_stats: Vec<VersionStatistics>,
}

/// The statistics of a version of a model.
#[derive(Clone, Debug, Serialize)]
pub struct VersionStatistics {
    /// The model's name.
    pub name: String,
    /// The version.
    pub version: String,
    /// The time of the last inference in milliseconds since the epoch.
    pub last_inference: u64,
    /// The number of rows.
    pub inference_count: u64,
    /// The number of steps.
    pub execution_count: u64,
    /// The durations of inferences.
    pub inference_stats: InferStatistics,
    /// The durations of steps by batch size.
    pub batch_stats: Vec<BatchStatistics>,
}

/// A number of events and the sum of their durations in nanoseconds.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Duration {
    /// The number of events.
    pub count: u64,
    /// The sum of their durations in nanoseconds.
    pub ns: u64,
}

/// The durations of inferences.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct InferStatistics {
    /// Requests that succeeded.
    pub success: Duration,
    /// Requests that failed.
    pub fail: Duration,
    /// Waiting in a queue.
    pub queue: Duration,
    /// Preparing inputs.
    pub compute_input: Duration,
    /// Running the model.
    pub compute_infer: Duration,
    /// Collecting outputs.
    pub compute_output: Duration,
    /// Responses from a cache.
    pub cache_hit: Duration,
    /// Requests that a cache did not have.
    pub cache_miss: Duration,
}

/// The durations of steps of one batch size.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct BatchStatistics {
    /// The batch size.
    pub batch_size: u64,
    /// Preparing inputs.
    pub compute_input: Duration,
    /// Running the model.
    pub compute_infer: Duration,
    /// Collecting outputs.
    pub compute_output: Duration,
}

impl From<Option<proto::StatisticDuration>> for Duration {
    fn from(message: Option<proto::StatisticDuration>) -> Duration {
        message.map_or_else(Duration::default, |message| Duration { count: message.count, ns: message.ns })
    }
}

impl From<proto::InferStatistics> for InferStatistics {
    fn from(message: proto::InferStatistics) -> InferStatistics {
        InferStatistics {
            success: message.success.into(),
            fail: message.fail.into(),
            queue: message.queue.into(),
            compute_input: message.compute_input.into(),
            compute_infer: message.compute_infer.into(),
            compute_output: message.compute_output.into(),
            cache_hit: message.cache_hit.into(),
            cache_miss: message.cache_miss.into(),
        }
    }
}

impl From<proto::InferBatchStatistics> for BatchStatistics {
    fn from(message: proto::InferBatchStatistics) -> BatchStatistics {
        BatchStatistics {
            batch_size: message.batch_size,
            compute_input: message.compute_input.into(),
            compute_infer: message.compute_infer.into(),
            compute_output: message.compute_output.into(),
        }
    }
}

impl From<proto::ModelStatisticsResponse> for ModelStatistics {
    fn from(message: proto::ModelStatisticsResponse) -> ModelStatistics {
        let version = |message: proto::ModelStatistics| VersionStatistics {
            name: message.name,
            version: message.version,
            last_inference: message.last_inference,
            inference_count: message.inference_count,
            execution_count: message.execution_count,
            inference_stats: message.inference_stats.unwrap_or_default().into(),
            batch_stats: message.batch_stats.into_iter().map(BatchStatistics::from).collect(),
        };
        ModelStatistics { model_stats: message.model_stats.into_iter().map(version).collect() }
    }
}

/// The body of `GET v2/models/MODEL/config`.
#[derive(Clone, Debug, Serialize)]
pub struct ModelConfig {
    /// The model's name.
    pub name: String,
    /// The kind of model.
    pub platform: String,
    /// The backend that runs the model.
    pub backend: String,
    /// The largest batch; 0 if the model has no batches.
    pub max_batch_size: i32,
    /// The inputs, without the dimension of the batch if there are batches.
    pub input: Vec<ConfigTensor>,
    /// The outputs, without the dimension of the batch if there are batches.
    pub output: Vec<ConfigTensor>,
    /// The model's other parameters.
    #[serde(skip_serializing_if = "Parameters::is_empty")]
    pub parameters: Parameters,
}

/// A tensor of [`ModelConfig`].
#[derive(Clone, Debug, Serialize)]
pub struct ConfigTensor {
    /// Its name.
    pub name: String,
    /// Its type, such as `TYPE_FP32`.
    pub data_type: &'static str,
    /// Its sizes, -1 for those that vary.
    pub dims: Vec<i64>,
}

impl From<proto::ModelConfig> for ModelConfig {
    fn from(message: proto::ModelConfig) -> ModelConfig {
        fn tensor(name: String, data_type: i32, dims: Vec<i64>) -> ConfigTensor {
            let data_type = proto::DataType::try_from(data_type).unwrap_or(proto::DataType::TypeInvalid).as_str_name();
            ConfigTensor { name, data_type, dims }
        }
        ModelConfig {
            name: message.name,
            platform: message.platform,
            backend: message.backend,
            max_batch_size: message.max_batch_size,
            input: message.input.into_iter().map(|input| tensor(input.name, input.data_type, input.dims)).collect(),
            output: message.output.into_iter().map(|output| tensor(output.name, output.data_type, output.dims)).collect(),
            parameters: Parameters::new(),
        }
    }
}
