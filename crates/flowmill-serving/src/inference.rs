//! Requests of examples: classification, regression and several of both at once.
//!
//! They feed serialized `tf.Example` messages, and read classes, scores and values from the outputs. The checks are TensorFlow Serving's; REST, gRPC and
//! warm-up share them.

use crate::formats::Limits;
use crate::proto::tfs::inference_result::Result as Outcome;
use crate::proto::tfs::{self, input};
use flowmill::tensor::bail;
use flowmill::{DType, Result, Signature, Tensor, TensorSpec};
use prost::Message;

/// The signature of a request that names none.
pub const DEFAULT_SIGNATURE: &str = "serving_default";

/// The method name of signatures that take tensors.
pub const PREDICT_METHOD: &str = "tensorflow/serving/predict";

/// Returns the name of the signature that a request means: `serving_default` if it names none.
pub fn signature_name(spec: Option<&tfs::ModelSpec>) -> &str {
    match spec.map(|spec| spec.signature_name.as_str()) {
        None | Some("") => DEFAULT_SIGNATURE,
        Some(name) => name,
    }
}

/// Returns the serialized examples of an input, shape [number of examples]. A context is merged into each example, whose own features take precedence.
///
/// # Errors
/// `InvalidArgument` for an input without examples, `ResourceExhausted` past a limit.
pub fn serialized_examples(input: Option<&tfs::Input>, limits: &Limits) -> Result<Tensor> {
    let (context, examples) = match input.and_then(|input| input.kind.as_ref()) {
        Some(input::Kind::ExampleList(list)) => (Vec::new(), &list.examples),
        Some(input::Kind::ExampleListWithContext(list)) => {
            (list.context.as_ref().map(Message::encode_to_vec).unwrap_or_default(), &list.examples)
        }
        None => bail!(InvalidArgument, "Input is empty."),
    };
    if examples.is_empty() {
        bail!(InvalidArgument, "Input is empty.");
    }
    if examples.len() > limits.max_items {
        bail!(ResourceExhausted, "the request has {} examples, more than {}", examples.len(), limits.max_items);
    }
    // A large context with many examples would take memory out of proportion to the request.
    let lengths = examples.iter().map(|example| context.len().saturating_add(example.encoded_len()));
    if lengths.fold(0usize, usize::saturating_add) > limits.max_example_bytes {
        bail!(ResourceExhausted, "the examples with the context in each have more than {} bytes", limits.max_example_bytes);
    }
    // Messages in wire format are merged by writing one after the other: of entries of a map with one key, the last one counts.
    let serialized = examples.iter().map(|example| {
        let mut bytes = context.clone();
        bytes.extend(example.encode_to_vec());
        bytes.into()
    });
    Tensor::from_strings([examples.len()], serialized.collect())
}

/// A way to compute from examples.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ExampleMethod {
    /// Classes with scores.
    Classify,
    /// One number per example.
    Regress,
}

impl ExampleMethod {
    /// Returns the method name in signatures and requests, such as `tensorflow/serving/classify`.
    pub fn name(self) -> &'static str {
        match self {
            ExampleMethod::Classify => "tensorflow/serving/classify",
            ExampleMethod::Regress => "tensorflow/serving/regress",
        }
    }

    /// Returns the method of a name.
    ///
    /// # Errors
    /// `Unimplemented` for any other name.
    pub fn from_name(name: &str) -> Result<ExampleMethod> {
        match name {
            "tensorflow/serving/classify" => Ok(ExampleMethod::Classify),
            "tensorflow/serving/regress" => Ok(ExampleMethod::Regress),
            _ => bail!(Unimplemented, "Unsupported signature method_name: {name}"),
        }
    }

    fn noun(self) -> &'static str {
        match self {
            ExampleMethod::Classify => "classification",
            ExampleMethod::Regress => "regression",
        }
    }
}

/// The tensors to feed and to fetch for a request of examples to one signature.
#[derive(Clone, Debug)]
pub struct ExampleTask {
    /// The method.
    pub method: ExampleMethod,
    /// The name of the tensor that takes serialized examples.
    pub input: String,
    /// The names of the tensors to fetch.
    pub fetches: Vec<String>,
    /// True if the first fetch is the classes.
    has_classes: bool,
}

impl ExampleTask {
    /// Returns the task of calling `signature` by `method`. The signature has the one input `inputs`; to classify it has the outputs `classes`, `scores`
    /// or both, to regress the one output `outputs`. With `check_method`, the signature must name the method.
    ///
    /// # Errors
    /// `InvalidArgument` for a signature of another form, or of another method.
    pub fn new(method: ExampleMethod, signature: &Signature, check_method: bool) -> Result<ExampleTask> {
        let (noun, wanted) = (method.noun(), method.name());
        if check_method && signature.method != wanted {
            bail!(InvalidArgument, "Expected {noun} signature method_name to be {wanted}. Was: {}", signature.method);
        }
        if signature.inputs.len() != 1 {
            bail!(InvalidArgument, "Expected one input Tensor, found {}", signature.inputs.len());
        }
        let Some(input) = signature.inputs.get("inputs") else {
            bail!(InvalidArgument, "the {noun} signature has no input 'inputs'; it has: {}", names(&signature.inputs));
        };
        let output = |name: &str| signature.outputs.get(name).map(|spec| spec.tensor.clone());
        let (classes, others) = match method {
            ExampleMethod::Classify => {
                if !(1..=2).contains(&signature.outputs.len()) {
                    bail!(InvalidArgument, "Expected one or two output Tensors, found {}", signature.outputs.len());
                }
                (output("classes"), output("scores"))
            }
            ExampleMethod::Regress => {
                if signature.outputs.len() != 1 {
                    bail!(InvalidArgument, "Expected one output Tensor, found {}", signature.outputs.len());
                }
                (None, output("outputs"))
            }
        };
        let has_classes = classes.is_some();
        let fetches: Vec<String> = classes.into_iter().chain(others).collect();
        if fetches.is_empty() {
            let wanted = if method == ExampleMethod::Classify { "'classes' or 'scores'" } else { "'outputs'" };
            bail!(InvalidArgument, "the {noun} signature has no output {wanted}; it has: {}", names(&signature.outputs));
        }
        Ok(ExampleTask { method, input: input.tensor.clone(), fetches, has_classes })
    }

    /// Returns the result for `num_examples` examples, from the values of [`ExampleTask::fetches`].
    ///
    /// # Errors
    /// `InvalidArgument` for a value of another type or shape than the method needs.
    pub fn result(&self, num_examples: usize, values: &[Tensor]) -> Result<Outcome> {
        match (self.method, values) {
            (ExampleMethod::Classify, [classes, scores]) => {
                classifications(num_examples, Some(classes), Some(scores)).map(Outcome::ClassificationResult)
            }
            (ExampleMethod::Classify, [classes]) if self.has_classes => {
                classifications(num_examples, Some(classes), None).map(Outcome::ClassificationResult)
            }
            (ExampleMethod::Classify, [scores]) => classifications(num_examples, None, Some(scores)).map(Outcome::ClassificationResult),
            (ExampleMethod::Regress, [values]) => regressions(num_examples, values).map(Outcome::RegressionResult),
            _ => bail!(Internal, "{} values for {} fetches", values.len(), self.fetches.len()),
        }
    }
}

fn names(specs: &std::collections::BTreeMap<String, TensorSpec>) -> String {
    specs.keys().map(String::as_str).collect::<Vec<_>>().join(", ")
}

/// Returns classes of shape [examples, classes] and their scores as a message; either may be missing.
fn classifications(num_examples: usize, classes: Option<&Tensor>, scores: Option<&Tensor>) -> Result<tfs::ClassificationResult> {
    let mut num_classes = None;
    for (name, tensor, dtype) in [("classes", classes, DType::String), ("scores", scores, DType::F32)] {
        let Some(tensor) = tensor else { continue };
        let &[rows, columns] = tensor.shape().dims() else {
            bail!(InvalidArgument, "Expected {name} Tensor of shape [batch_size num_classes], got {}", tensor.shape());
        };
        if tensor.dtype() != dtype {
            bail!(InvalidArgument, "Expected {name} Tensor of {dtype}. Got: {}", tensor.dtype());
        }
        if rows != num_examples {
            bail!(InvalidArgument, "Expected {name} output batch size of {num_examples}. Got: {rows}");
        }
        if num_classes.replace(columns).is_some_and(|other| other != columns) {
            bail!(InvalidArgument, "the classes and scores Tensors have different numbers of classes");
        }
    }
    let num_classes = num_classes.unwrap_or(0);
    let labels = classes.map(Tensor::as_strings).transpose()?;
    let scores = scores.map(Tensor::as_slice::<f32>).transpose()?;
    let class = |i: usize| tfs::Class {
        label: labels.map_or_else(String::new, |labels| String::from_utf8_lossy(&labels[i]).into_owned()),
        score: scores.map_or(0.0, |scores| scores[i]),
    };
    let row = |row: usize| tfs::Classifications { classes: (row * num_classes..(row + 1) * num_classes).map(class).collect() };
    Ok(tfs::ClassificationResult { classifications: (0..num_examples).map(row).collect() })
}

/// Returns values of shape [examples] or [examples, 1] as a message.
fn regressions(num_examples: usize, values: &Tensor) -> Result<tfs::RegressionResult> {
    let rows = match *values.shape().dims() {
        [rows] | [rows, 1] => rows,
        _ => bail!(InvalidArgument, "Expected output Tensor of shape [batch_size] or [batch_size, 1], got {}", values.shape()),
    };
    if rows != num_examples {
        bail!(InvalidArgument, "Expected output batch size to be {num_examples}. Got: {rows}");
    }
    if values.dtype() != DType::F32 {
        bail!(InvalidArgument, "Expected output Tensor of {}. Got: {}", DType::F32, values.dtype());
    }
    let regression = |&value| tfs::Regression { value };
    Ok(tfs::RegressionResult { regressions: values.as_slice::<f32>()?.iter().map(regression).collect() })
}

/// Several tasks on one input, which are computed in one step.
#[derive(Clone, Debug)]
pub struct MultiInference {
    /// The name of the tensor that takes serialized examples.
    pub input: String,
    /// The names of the tensors to fetch, each once.
    pub fetches: Vec<String>,
    /// The signature of each task, the task, and where its fetches are among all.
    tasks: Vec<(String, ExampleTask, Vec<usize>)>,
}

impl MultiInference {
    /// Returns the tasks of a request. `signature` finds a signature by name.
    ///
    /// # Errors
    /// `InvalidArgument` for a request without tasks, tasks of different models or versions, one signature in two tasks, and tasks with different input tensors;
    /// `Unimplemented` for a method that is neither classification nor regression; the errors of `signature` and [`ExampleTask::new`].
    pub fn new<'a>(
        tasks: &[tfs::InferenceTask],
        check_method: bool,
        mut signature: impl FnMut(&str) -> Result<&'a Signature>,
    ) -> Result<MultiInference> {
        let mut all: Option<MultiInference> = None;
        let model = |task: &tfs::InferenceTask| task.model_spec.as_ref().map(|spec| (spec.name.clone(), spec.version_choice.clone()));
        for task in tasks {
            let name = signature_name(task.model_spec.as_ref());
            if model(task) != tasks.first().and_then(model) {
                bail!(InvalidArgument, "all tasks of a request must name one model and one version of it");
            }
            let method = ExampleMethod::from_name(&task.method_name)?;
            let part = ExampleTask::new(method, signature(name)?, check_method)?;
            let all = all.get_or_insert_with(|| MultiInference { input: part.input.clone(), fetches: Vec::new(), tasks: Vec::new() });
            if all.input != part.input {
                bail!(InvalidArgument, "Input tensor must be the same for all Signatures; '{name}' has {}, not {}", part.input, all.input);
            }
            if all.tasks.iter().any(|(other, ..)| other == name) {
                bail!(InvalidArgument, "Duplicate evaluation of signature: {name}");
            }
            let mut place = |fetch: &String| {
                all.fetches.iter().position(|other| other == fetch).unwrap_or_else(|| {
                    all.fetches.push(fetch.clone());
                    all.fetches.len() - 1
                })
            };
            let places = part.fetches.iter().map(&mut place).collect();
            all.tasks.push((name.to_owned(), part, places));
        }
        match all {
            Some(all) => Ok(all),
            None => bail!(InvalidArgument, "Inference request is empty: it has no tasks"),
        }
    }

    /// Returns the results of all tasks for `num_examples` examples, from the values of [`MultiInference::fetches`]. `spec` describes the model that
    /// answers; each result has it with the name of its signature.
    ///
    /// # Errors
    /// The errors of [`ExampleTask::result`], and `Internal` for another number of values than fetches.
    pub fn response(&self, num_examples: usize, values: &[Tensor], spec: &tfs::ModelSpec) -> Result<tfs::MultiInferenceResponse> {
        if values.len() != self.fetches.len() {
            bail!(Internal, "{} values for {} fetches", values.len(), self.fetches.len());
        }
        let result = |(name, task, places): &(String, ExampleTask, Vec<usize>)| {
            let values: Vec<Tensor> = places.iter().map(|&place| values[place].clone()).collect();
            let model_spec = Some(tfs::ModelSpec { signature_name: name.clone(), ..spec.clone() });
            Ok(tfs::InferenceResult { model_spec, result: Some(task.result(num_examples, &values)?) })
        };
        Ok(tfs::MultiInferenceResponse { results: self.tasks.iter().map(result).collect::<Result<_>>()? })
    }
}
