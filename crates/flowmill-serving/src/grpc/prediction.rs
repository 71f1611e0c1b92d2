//! TensorFlow Serving's `PredictionService` and `ModelService`.

use super::{Services, status};
use crate::formats::raw;
use crate::inference::{self, DEFAULT_SIGNATURE, ExampleMethod, MultiInference};
use crate::metrics::{Api, Protocol};
use crate::proto::tfs::inference_result::Result as ExampleResult;
use crate::proto::tfs::model_service_server::ModelService;
use crate::proto::tfs::prediction_service_server::PredictionService;
use crate::proto::tfs::*;
use crate::repository::{ModelConfig, VersionChoice};
use crate::server::core::InFlight;
use flowmill::{Error, Result};
use prost::Message;
use std::collections::BTreeMap;
use std::time::Duration;
use tonic::{Request, Response, Status};

type Answer<T> = std::result::Result<Response<T>, Status>;

/// Returns the name, the version and the signature that a request asks for.
///
/// # Errors
/// `InvalidArgument` if it names no model.
fn wanted(spec: Option<ModelSpec>) -> Result<(String, VersionChoice, String)> {
    use model_spec::VersionChoice as Wanted;
    let spec = spec.filter(|spec| !spec.name.is_empty()).ok_or_else(|| Error::invalid_argument("Missing ModelSpec"))?;
    let choice = match spec.version_choice {
        None => VersionChoice::Preferred,
        Some(Wanted::Version(version)) => VersionChoice::Version(version),
        Some(Wanted::VersionLabel(label)) => VersionChoice::Label(label),
    };
    Ok((spec.name, choice, spec.signature_name))
}

/// Returns the model, version and signature that answered.
fn answered(name: &str, version: i64, signature: &str) -> Option<ModelSpec> {
    let signature_name = if signature.is_empty() { DEFAULT_SIGNATURE } else { signature }.to_owned();
    Some(ModelSpec { name: name.to_owned(), version_choice: Some(model_spec::VersionChoice::Version(version)), signature_name })
}

impl Services {
    /// Answers a request to run one signature on examples.
    async fn examples(
        &self,
        request: &mut InFlight<'_>,
        method: ExampleMethod,
        spec: Option<ModelSpec>,
        input: Option<&Input>,
        timeout: Option<Duration>,
    ) -> Result<(Option<ModelSpec>, ExampleResult)> {
        let (name, choice, signature_name) = wanted(spec)?;
        let model = request.model(&name, &choice)?;
        let signature = model.signature(&signature_name)?;
        request.set_signature(signature);
        let examples = inference::serialized_examples(input, &self.core.limits.tensors)?;
        request.decoded();
        let (result, outcome) = signature.call_examples(method, examples, request.call(Vec::new(), timeout, 0)).await?;
        request.computed(&outcome);
        Ok((answered(model.name(), model.version(), signature.name()), result))
    }
}

#[tonic::async_trait]
impl PredictionService for Services {
    async fn predict(&self, request: Request<PredictRequest>) -> Answer<PredictResponse> {
        self.infer(Protocol::TfsGrpc, Api::Predict, request, async |core, request, message, timeout| {
            let (name, choice, signature_name) = wanted(message.model_spec)?;
            let model = request.model(&name, &choice)?;
            let signature = model.signature(&signature_name)?;
            request.set_signature(signature);
            let inputs = raw::tensors_from_protos(message.inputs, &core.limits.tensors)?;
            request.decoded();
            let outcome = signature.call(inputs, request.call(message.output_filter, timeout, 0)).await?;
            request.computed(&outcome);
            let outputs = outcome.outputs.into_iter().map(|(name, value)| Ok((name, value.to_proto()?))).collect::<Result<_>>()?;
            Ok(PredictResponse { model_spec: answered(model.name(), model.version(), signature.name()), outputs })
        })
        .await
    }

    async fn classify(&self, request: Request<ClassificationRequest>) -> Answer<ClassificationResponse> {
        self.infer(Protocol::TfsGrpc, Api::Classify, request, async |_, request, message, timeout| {
            let method = ExampleMethod::Classify;
            match self.examples(request, method, message.model_spec, message.input.as_ref(), timeout).await? {
                (model_spec, ExampleResult::ClassificationResult(result)) => {
                    Ok(ClassificationResponse { model_spec, result: Some(result) })
                }
                _ => Err(Error::internal("a classification has other results")),
            }
        })
        .await
    }

    async fn regress(&self, request: Request<RegressionRequest>) -> Answer<RegressionResponse> {
        self.infer(Protocol::TfsGrpc, Api::Regress, request, async |_, request, message, timeout| {
            let method = ExampleMethod::Regress;
            match self.examples(request, method, message.model_spec, message.input.as_ref(), timeout).await? {
                (model_spec, ExampleResult::RegressionResult(result)) => Ok(RegressionResponse { model_spec, result: Some(result) }),
                _ => Err(Error::internal("a regression has other results")),
            }
        })
        .await
    }

    async fn multi_inference(&self, request: Request<MultiInferenceRequest>) -> Answer<MultiInferenceResponse> {
        self.infer(Protocol::TfsGrpc, Api::MultiInference, request, async |core, request, message, timeout| {
            let (name, choice, _) = wanted(message.tasks.first().and_then(|task| task.model_spec.clone()))?;
            let model = request.model(&name, &choice)?;
            MultiInference::new(&message.tasks, false, |name| model.signature(name).map(|signature| &**signature.spec()))?;
            let examples = inference::serialized_examples(message.input.as_ref(), &core.limits.tensors)?;
            request.decoded();
            let mut results = Vec::new();
            for task in message.tasks {
                let method = ExampleMethod::from_name(&task.method_name)?;
                let signature = model.signature(inference::signature_name(task.model_spec.as_ref()))?;
                request.set_signature(signature);
                let call = request.call(Vec::new(), timeout, 0);
                let (result, outcome) = signature.call_examples(method, examples.clone(), call).await?;
                request.computed(&outcome);
                results
                    .push(InferenceResult { model_spec: answered(model.name(), model.version(), signature.name()), result: Some(result) });
            }
            Ok(MultiInferenceResponse { results })
        })
        .await
    }

    async fn get_model_metadata(&self, request: Request<GetModelMetadataRequest>) -> Answer<GetModelMetadataResponse> {
        const SIGNATURES: &str = "signature_def";
        const TYPE: &str = "type.googleapis.com/tensorflow.serving.SignatureDefMap";
        let message = request.into_inner();
        let answer = || {
            let (name, choice, _) = wanted(message.model_spec)?;
            if message.metadata_field.is_empty() {
                return Err(Error::invalid_argument("GetModelMetadataRequest must specify at least one metadata_field"));
            }
            if let Some(other) = message.metadata_field.iter().find(|field| *field != SIGNATURES) {
                return Err(Error::invalid_argument(format!("Metadata field {other} is not supported")));
            }
            let model = self.core.repository.get(&name, &choice)?;
            let map = SignatureDefMap { signature_def: model.signature_defs().clone() };
            let any = prost_types::Any { type_url: TYPE.to_owned(), value: map.encode_to_vec() };
            let version_choice = Some(model_spec::VersionChoice::Version(model.version()));
            let model_spec = Some(ModelSpec { name, version_choice, signature_name: String::new() });
            Ok(GetModelMetadataResponse { model_spec, metadata: BTreeMap::from([(SIGNATURES.to_owned(), any)]) })
        };
        answer().map(Response::new).map_err(status)
    }
}

#[tonic::async_trait]
impl ModelService for Services {
    async fn get_model_status(&self, request: Request<GetModelStatusRequest>) -> Answer<GetModelStatusResponse> {
        let answer = || {
            let (name, choice, _) = wanted(request.into_inner().model_spec)?;
            self.core.model_status(&name, &choice)
        };
        answer().map(Response::new).map_err(status)
    }

    async fn handle_reload_config_request(&self, request: Request<ReloadConfigRequest>) -> Answer<ReloadConfigResponse> {
        let message = request.into_inner();
        let core = self.core.clone();
        let reload = move || {
            // A request without a list must not be taken for one with an empty list, which unloads all models.
            let config = message.config.filter(|config| config.config.is_some());
            let config = config.ok_or_else(|| Error::invalid_argument("the request's config has no model_config_list"))?;
            core.reload(ModelConfig::list_from_proto(&config)?)
        };
        let ended = |error| Error::internal(format!("the thread of the reload ended: {error}"));
        tokio::task::spawn_blocking(reload).await.map_err(ended).flatten().map_err(status)?;
        Ok(Response::new(ReloadConfigResponse { status: Some(StatusProto::default()), metric: Vec::new() }))
    }
}
