//! The Open Inference Protocol's metadata, statistics and control of models, which REST and gRPC share.

use crate::formats::kserve::{ModelMetadata, Parameter, Parameters, ServerMetadata, TensorMetadata};
use crate::metrics::{Durations, SignatureMetrics, Stage};
use crate::model::{ServedModel, ServedSignature};
use crate::proto::kserve::repository_index_response::ModelIndex;
use crate::proto::kserve::{
    DataType, InferBatchStatistics, InferStatistics, ModelConfig, ModelInput, ModelOutput, ModelStatistics, ModelStatisticsResponse,
    RepositoryIndexResponse, StatisticDuration,
};
use crate::repository::{Loaded, VersionChoice, VersionState};
use crate::server::core::Core;
use flowmill::{DType, Error, PartialShape, Result, TensorSpec};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// The server's name in its metadata.
const SERVER_NAME: &str = "flowmill";

/// The server's version in its metadata.
const SERVER_VERSION: &str = env!("CARGO_PKG_VERSION");

/// The protocol's extensions that the server has.
const EXTENSIONS: [&str; 7] =
    ["binary_tensor_data", "classification", "model_configuration", "model_repository", "parameters", "schedule_policy", "statistics"];

/// Describes the server.
pub(crate) fn server_metadata() -> ServerMetadata {
    ServerMetadata { name: SERVER_NAME.into(), version: SERVER_VERSION.into(), extensions: EXTENSIONS.map(str::to_owned).to_vec() }
}

/// The parameters of a request that its run depends on.
#[derive(Debug, Default)]
pub(crate) struct InferOptions {
    /// Smaller numbers go first, and 0 last.
    pub(crate) priority: u32,
    timeout: Option<Duration>,
    signature: Option<String>,
}

impl InferOptions {
    /// Reads `priority`, `timeout` (microseconds) and `signature_name`, an extension of ours; others mean nothing.
    ///
    /// # Errors
    /// `InvalidArgument` for a value of the wrong type.
    pub(crate) fn new(parameters: &Parameters) -> Result<InferOptions> {
        let number = |name: &str| match parameters.get(name) {
            None => Ok(None),
            Some(Parameter::String(text)) if text.parse::<u64>().is_ok() => Ok(text.parse().ok()),
            Some(value) => match value.as_u64() {
                Some(number) => Ok(Some(number)),
                None => Err(Error::invalid_argument(format!("parameter '{name}' must be an integer that is not negative"))),
            },
        };
        let priority = u32::try_from(number("priority")?.unwrap_or(0)).unwrap_or(u32::MAX);
        let timeout = number("timeout")?.filter(|micros| *micros > 0).map(Duration::from_micros);
        let signature = match parameters.get("signature_name") {
            None => None,
            Some(Parameter::String(name)) => Some(name.clone()),
            Some(_) => return Err(Error::invalid_argument("parameter 'signature_name' must be a string")),
        };
        Ok(InferOptions { priority, timeout, signature })
    }

    /// Returns the shorter one of the request's time and its connection's.
    pub(crate) fn timeout(&self, other: Option<Duration>) -> Option<Duration> {
        [self.timeout, other].into_iter().flatten().min()
    }

    /// Returns the signature to call.
    ///
    /// # Errors
    /// `FailedPrecondition` if the model has none of that name.
    pub(crate) fn signature<'m>(&self, model: &'m ServedModel) -> Result<&'m Arc<ServedSignature>> {
        match &self.signature {
            Some(name) => model.signature(name),
            None => model.default_signature(),
        }
    }
}

/// Returns the version that a request names; empty means the server's choice.
///
/// # Errors
/// `InvalidArgument` for a text that is no version.
pub(crate) fn version_choice(version: &str) -> Result<VersionChoice> {
    match version {
        "" => Ok(VersionChoice::Preferred),
        text => {
            let number =
                text.parse().map_err(|_| Error::invalid_argument(format!("'{}' is not the number of a version", text.escape_debug())));
            number.map(VersionChoice::Version)
        }
    }
}

fn loaded(core: &Core, name: &str, version: &str) -> Result<Arc<Loaded<ServedModel>>> {
    core.repository.get(name, &version_choice(version)?)
}

/// Describes a model by the signature that the protocol calls.
///
/// # Errors
/// `NotFound`; `Unimplemented` for a tensor of a type that the protocol does not have.
pub(crate) fn model_metadata(core: &Core, name: &str, version: &str) -> Result<ModelMetadata> {
    let model = loaded(core, name, version)?;
    let signature = model.default_signature()?;
    let statuses = core.repository.status(name, None)?;
    let available = statuses.iter().filter(|status| status.state == VersionState::Available);
    let mut versions: Vec<i64> = available.map(|status| status.version).collect();
    versions.sort_unstable();
    Ok(ModelMetadata {
        name: model.name().to_owned(),
        versions: versions.iter().map(i64::to_string).collect(),
        platform: model.platform().to_owned(),
        inputs: TensorMetadata::of_specs(&signature.spec().inputs)?,
        outputs: TensorMetadata::of_specs(&signature.spec().outputs)?,
        properties: BTreeMap::new(),
    })
}

/// Returns the sizes of a shape, -1 for those that vary; one such for a shape of unknown rank.
fn dims(shape: &PartialShape) -> &[i64] {
    shape.dims().unwrap_or(&[-1])
}

/// Returns the part of Triton's model configuration that the server knows.
///
/// # Errors
/// `NotFound`.
pub(crate) fn model_config(core: &Core, name: &str, version: &str) -> Result<ModelConfig> {
    let model = loaded(core, name, version)?;
    let signature = model.default_signature()?;
    // With batches, the first dimension is not among the dimensions.
    let inner = |spec: &TensorSpec| dims(&spec.shape).iter().copied().skip(usize::from(signature.is_batched())).collect::<Vec<_>>();
    let data_type = |spec: &TensorSpec| data_type(spec.dtype) as i32;
    let input = signature.spec().inputs.iter();
    let output = signature.spec().outputs.iter();
    Ok(ModelConfig {
        name: model.name().to_owned(),
        platform: model.platform().to_owned(),
        max_batch_size: signature.max_batch_size().map_or(0, |rows| i32::try_from(rows).unwrap_or(i32::MAX)),
        input: input.map(|(name, spec)| ModelInput { name: name.clone(), data_type: data_type(spec), dims: inner(spec) }).collect(),
        output: output.map(|(name, spec)| ModelOutput { name: name.clone(), data_type: data_type(spec), dims: inner(spec) }).collect(),
        backend: SERVER_NAME.to_owned(),
    })
}

fn data_type(dtype: DType) -> DataType {
    match dtype {
        DType::Bool => DataType::TypeBool,
        DType::U8 => DataType::TypeUint8,
        DType::U16 => DataType::TypeUint16,
        DType::U32 => DataType::TypeUint32,
        DType::U64 => DataType::TypeUint64,
        DType::I8 => DataType::TypeInt8,
        DType::I16 => DataType::TypeInt16,
        DType::I32 => DataType::TypeInt32,
        DType::I64 => DataType::TypeInt64,
        DType::F16 => DataType::TypeFp16,
        DType::F32 => DataType::TypeFp32,
        DType::F64 => DataType::TypeFp64,
        DType::BF16 => DataType::TypeBf16,
        DType::String => DataType::TypeString,
        _ => DataType::TypeInvalid,
    }
}

/// Returns the statistics of one model or, for an empty name, of all; of one version or of all that are served.
///
/// # Errors
/// `NotFound`.
pub(crate) fn statistics(core: &Core, name: &str, version: &str) -> Result<ModelStatisticsResponse> {
    let choice = version_choice(version)?;
    let names =
        if name.is_empty() { core.repository.models().into_iter().map(|model| model.name).collect() } else { vec![name.to_owned()] };
    let mut model_stats = Vec::new();
    for name in names {
        let choices: Vec<VersionChoice> = match &choice {
            VersionChoice::Preferred => {
                let statuses = core.repository.status(&name, None)?;
                statuses
                    .iter()
                    .filter(|status| status.state == VersionState::Available)
                    .map(|s| VersionChoice::Version(s.version))
                    .collect()
            }
            choice => vec![choice.clone()],
        };
        for choice in choices {
            match core.repository.get(&name, &choice) {
                Ok(model) => model_stats.push(model_statistics(&model)),
                // The version was unloaded a moment ago.
                Err(_) if version.is_empty() => {}
                Err(error) => return Err(error),
            }
        }
    }
    Ok(ModelStatisticsResponse { model_stats })
}

/// Adds up the statistics of a version's signatures.
fn model_statistics(model: &Loaded<ServedModel>) -> ModelStatistics {
    let all: Vec<&Arc<SignatureMetrics>> = model.signatures().values().map(|signature| signature.metrics()).collect();
    let sum = |stage: Stage| Some(added(all.iter().map(|metrics| metrics.durations(stage))));
    let mut batches = BTreeMap::<usize, Vec<_>>::new();
    for metrics in &all {
        metrics.batches().into_iter().for_each(|(rows, batch)| batches.entry(rows).or_default().push(batch));
    }
    let none = Some(StatisticDuration::default());
    let batch = |(rows, of_rows): (usize, Vec<Arc<crate::metrics::BatchDurations>>)| InferBatchStatistics {
        batch_size: rows as u64,
        compute_input: none,
        compute_infer: Some(added(of_rows.iter().map(|batch| &batch.compute))),
        compute_output: none,
    };
    let counts: Vec<(u64, u64, u64)> = all.iter().map(|metrics| metrics.counts()).collect();
    ModelStatistics {
        name: model.name().to_owned(),
        version: model.version().to_string(),
        last_inference: counts.iter().map(|counts| counts.2).max().unwrap_or(0),
        inference_count: counts.iter().map(|counts| counts.0).sum(),
        execution_count: counts.iter().map(|counts| counts.1).sum(),
        inference_stats: Some(InferStatistics {
            success: sum(Stage::Success),
            fail: sum(Stage::Fail),
            queue: sum(Stage::Queue),
            compute_input: sum(Stage::Input),
            compute_infer: sum(Stage::Infer),
            compute_output: sum(Stage::Output),
            cache_hit: none,
            cache_miss: none,
        }),
        batch_stats: batches.into_iter().map(batch).collect(),
    }
}

fn added<'a>(durations: impl Iterator<Item = &'a Durations>) -> StatisticDuration {
    durations
        .map(Durations::get)
        .fold(StatisticDuration::default(), |sum, (count, ns)| StatisticDuration { count: sum.count + count, ns: sum.ns + ns })
}

/// The name that requests may give the one repository; empty means it, too.
const REPOSITORY: &str = "flowmill";

fn check_repository(name: &str) -> Result<()> {
    match name {
        "" | REPOSITORY => Ok(()),
        other => Err(Error::not_found(format!("there is no repository '{}'", other.escape_debug()))),
    }
}

/// Lists the models and their versions.
///
/// # Errors
/// `NotFound` for another repository.
pub(crate) fn index(core: &Core, repository: &str, only_ready: bool) -> Result<RepositoryIndexResponse> {
    check_repository(repository)?;
    let mut models = Vec::new();
    for model in core.repository.models() {
        if model.versions.is_empty() && !only_ready {
            let reason = model.error.as_ref().map_or_else(String::new, |error| error.message().to_owned());
            models.push(ModelIndex { name: model.name.clone(), version: String::new(), state: "UNAVAILABLE".into(), reason });
        }
        for status in model.versions {
            let state = match status.state {
                VersionState::Available => "READY",
                VersionState::Start | VersionState::Loading => "LOADING",
                VersionState::Unloading => "UNLOADING",
                VersionState::End => "UNAVAILABLE",
            };
            if only_ready && state != "READY" {
                continue;
            }
            let reason = match &status.error {
                Some(error) => error.message().to_owned(),
                None if state == "UNAVAILABLE" => "unloaded".to_owned(),
                None => String::new(),
            };
            models.push(ModelIndex { name: model.name.clone(), version: status.version.to_string(), state: state.to_owned(), reason });
        }
    }
    Ok(RepositoryIndexResponse { models })
}

/// Loads a model, or loads it again.
///
/// # Errors
/// `NotFound` for an unknown model or repository, `Unimplemented` for parameters that replace files, and the error of loading.
pub(crate) async fn load(core: &Arc<Core>, repository: &str, name: &str, parameters: &[String]) -> Result<()> {
    check_repository(repository)?;
    if let Some(parameter) = parameters.iter().find(|parameter| *parameter == "config" || parameter.starts_with("file:")) {
        return Err(Error::unimplemented(format!("parameter '{}': models come from the repository only", parameter.escape_debug())));
    }
    let (core, name) = (core.clone(), name.to_owned());
    on_own_thread(move || core.repository.load(&name)).await
}

/// Unloads a model.
///
/// # Errors
/// `NotFound` for an unknown model or repository.
pub(crate) async fn unload(core: &Arc<Core>, repository: &str, name: &str) -> Result<()> {
    check_repository(repository)?;
    let (core, name) = (core.clone(), name.to_owned());
    on_own_thread(move || core.repository.unload(&name)).await
}

async fn on_own_thread(work: impl FnOnce() -> Result<()> + Send + 'static) -> Result<()> {
    tokio::task::spawn_blocking(work).await.map_err(|error| Error::internal(format!("the thread ended: {error}")))?
}
