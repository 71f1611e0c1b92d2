//! Requests for an inference.

use super::parameters::{Parameter, Parameters, parse_parameters};
use crate::formats::Limits;
use crate::formats::json::Scanner;
use crate::formats::json::elements::{scan_flat, too_many};
use crate::formats::raw::{checked_shape, dtype_from_datatype, tensor_from_raw};
use flowmill::tensor::{SmallVec, bail, error};
use flowmill::{Bytes, DType, Error, Result, Tensor, TensorSpec};
use std::collections::{BTreeMap, BTreeSet};

/// A request for an inference.
#[derive(Clone, Debug, Default)]
pub struct InferRequest {
    /// The request's identifier, which the response repeats.
    pub id: Option<String>,
    /// The request's parameters other than `binary_data_output`.
    pub parameters: Parameters,
    /// The inputs in the request's order.
    pub inputs: Vec<(String, Tensor)>,
    /// The outputs that the response is to have; none means all.
    pub outputs: Vec<RequestedOutput>,
    /// True if outputs are binary unless they say otherwise.
    pub binary_data_output: bool,
}

impl InferRequest {
    /// Returns true if the response has the output `name` as binary data.
    pub fn is_binary(&self, name: &str) -> bool {
        let requested = self.outputs.iter().find(|output| output.name == name);
        requested.and_then(|output| output.binary).unwrap_or(self.binary_data_output)
    }
}

/// An output that a request asks for.
#[derive(Clone, Debug, Default)]
pub struct RequestedOutput {
    /// Its name.
    pub name: String,
    /// True for binary data, false for JSON; `None` for the request's default.
    pub binary: Option<bool>,
    /// The number of classes to return instead of the values; 0 for the values.
    pub classification: usize,
    /// The parameters other than `binary_data` and `classification`.
    pub parameters: Parameters,
}

impl RequestedOutput {
    /// Returns the output that a message of either protocol asks for.
    ///
    /// # Errors
    /// `InvalidArgument` for parameters of the wrong type, `Unimplemented` for shared memory.
    pub fn new(name: String, mut parameters: Parameters) -> Result<RequestedOutput> {
        refuse_shared_memory(&parameters).map_err(|error| error.context(format_args!("output '{name}'")))?;
        let binary = match parameters.remove("binary_data") {
            Some(Parameter::Bool(binary)) => Some(binary),
            Some(_) => bail!(InvalidArgument, "output '{name}': the parameter 'binary_data' is not a boolean"),
            None => None,
        };
        let classification = match parameters.remove("classification") {
            None => 0,
            Some(count) => match count.as_u64() {
                Some(count) => usize::try_from(count).unwrap_or(usize::MAX),
                None => bail!(InvalidArgument, "output '{name}': the parameter 'classification' is not a number of classes"),
            },
        };
        Ok(RequestedOutput { name, binary, classification, parameters })
    }
}

/// Checks that a tensor is not in memory that client and server share.
///
/// # Errors
/// `Unimplemented` for such a tensor.
pub fn refuse_shared_memory(parameters: &Parameters) -> Result<()> {
    if parameters.contains_key("shared_memory_region") {
        bail!(Unimplemented, "shared memory is not supported");
    }
    Ok(())
}

/// Parses the body of `infer`.
///
/// `json_len` is the value of the header `Inference-Header-Content-Length`: the length of the JSON text, which binary tensor data follow. Without it,
/// the body is JSON. If it is 0, the body is the elements of the only one of the model's `inputs`, as a batch of one, and all outputs are binary.
///
/// Elements in JSON may be in nested arrays or in one array. Tensors of binary data refer to `body` if they are aligned there.
///
/// # Errors
/// `InvalidArgument` for text that is not JSON, a member that is missing or of another type, an input that is not the model's or has another datatype, and
/// data that are not as many elements as the shape has; `Unimplemented` for shared memory; `ResourceExhausted` past a limit.
pub fn parse_infer(body: Bytes, json_len: Option<usize>, inputs: &BTreeMap<String, TensorSpec>, limits: &Limits) -> Result<InferRequest> {
    parse_infer_of(body, json_len, |_| Ok(inputs), limits)
}

/// Like [`parse_infer`], for a model whose inputs depend on the request's parameters: they may name a signature.
///
/// # Errors
/// `InvalidArgument`, `Unimplemented` and `ResourceExhausted` as for [`parse_infer`], and the errors of `inputs`.
pub fn parse_infer_of<'s>(
    body: Bytes,
    json_len: Option<usize>,
    inputs: impl Fn(&Parameters) -> Result<&'s BTreeMap<String, TensorSpec>>,
    limits: &Limits,
) -> Result<InferRequest> {
    if json_len == Some(0) {
        return parse_raw(body, inputs(&Parameters::default())?, limits);
    }
    let json_len = json_len.unwrap_or(body.len());
    if json_len > body.len() {
        bail!(InvalidArgument, "the JSON text is to have {json_len} bytes, and the body has {}", body.len());
    }
    let mut binary = body.slice(json_len..);
    let mut scanner = Scanner::new(&body[..json_len], limits.max_depth);
    let mut request = InferRequest::default();
    let mut found_inputs: Option<Vec<InputTensor<'_>>> = None;
    scanner.object(|scanner, key| {
        match key {
            "id" => request.id = Some(scanner.string()?.into_owned()),
            "parameters" => request.parameters = parse_parameters(scanner, limits)?,
            "inputs" => found_inputs = Some(parse_inputs(scanner, limits)?),
            "outputs" => request.outputs = parse_outputs(scanner, limits)?,
            _ => scanner.skip_value()?,
        }
        Ok(())
    })?;
    if scanner.token().is_some() {
        return Err(scanner.error("text after the request"));
    }
    let Some(found_inputs) = found_inputs else { bail!(InvalidArgument, "the request has no 'inputs'") };
    request.binary_data_output = match request.parameters.remove("binary_data_output") {
        None => false,
        Some(Parameter::Bool(binary)) => binary,
        Some(_) => bail!(InvalidArgument, "the parameter 'binary_data_output' is not a boolean"),
    };
    // The parameters may follow the inputs in the text.
    let specs = inputs(&request.parameters)?;
    found_inputs.iter().try_for_each(|input| input.check(specs))?;
    request.inputs = found_inputs.into_iter().map(|input| input.finish(&mut binary, limits)).collect::<Result<_>>()?;
    if !binary.is_empty() {
        bail!(InvalidArgument, "{} bytes after the binary data of the last input", binary.len());
    }
    if request.inputs.iter().map(|(_, tensor)| tensor.num_elements()).sum::<usize>() > limits.max_elements {
        return Err(too_many(limits));
    }
    Ok(request)
}

/// Returns the request whose body is the elements of the model's only input.
fn parse_raw(body: Bytes, inputs: &BTreeMap<String, TensorSpec>, limits: &Limits) -> Result<InferRequest> {
    let mut specs = inputs.iter();
    let (Some((name, spec)), None) = (specs.next(), specs.next()) else {
        bail!(InvalidArgument, "a body without JSON is for models of one input, and this model has {}", inputs.len());
    };
    let shape = raw_shape(spec, &body).map_err(|error| error.context(format_args!("input '{name}'")))?;
    let tensor = if spec.dtype == DType::String && shape.iter().product::<i64>() == 1 {
        // A single string has no length before it.
        Tensor::from_strings(checked_shape(&shape, limits)?, vec![body])?
    } else {
        tensor_from_raw(spec.dtype, &shape, body, limits).map_err(|error| error.context(format_args!("input '{name}'")))?
    };
    Ok(InferRequest { inputs: vec![(name.clone(), tensor)], binary_data_output: true, ..InferRequest::default() })
}

/// Returns the shape of a batch of one whose elements take `body`: its first unknown size is 1, and another one follows from the number of bytes.
fn raw_shape(spec: &TensorSpec, body: &Bytes) -> Result<SmallVec<[i64; 8]>> {
    let Some(dims) = spec.shape.dims() else {
        bail!(InvalidArgument, "the model does not say its rank, so that a body without JSON has no shape")
    };
    let mut shape: SmallVec<[i64; 8]> = SmallVec::from_slice(dims);
    if let Some(batch) = shape.first_mut().filter(|size| **size < 0) {
        *batch = 1;
    }
    let known = shape.iter().filter(|size| **size > 0).try_fold(1i64, |n, &size| n.checked_mul(size)).unwrap_or(i64::MAX);
    let mut unknown = shape.iter_mut().filter(|size| **size < 0);
    match (unknown.next(), unknown.next(), spec.dtype.size()) {
        (None, ..) => {}
        (Some(size), None, Some(bytes)) => *size = body.len() as i64 / known.saturating_mul(bytes as i64),
        _ => bail!(InvalidArgument, "the model leaves sizes of shape {} open, which a body without JSON does not say", spec.shape),
    }
    Ok(shape)
}

/// An input, whose data may follow the JSON text.
struct InputTensor<'a> {
    name: String,
    dtype: DType,
    shape: SmallVec<[i64; 8]>,
    data: Data<'a>,
}

enum Data<'a> {
    /// The elements were read.
    Tensor(Tensor),
    /// The elements are in JSON here, before the shape or the datatype.
    Json(Scanner<'a>),
    /// The elements are so many bytes after the JSON text.
    Binary(usize),
}

impl InputTensor<'_> {
    /// Returns an error if the input is not one of `specs`.
    fn check(&self, specs: &BTreeMap<String, TensorSpec>) -> Result<()> {
        let name = &self.name;
        match specs.get(name) {
            None => {
                let takes = specs.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
                bail!(InvalidArgument, "the model has no input '{name}'; it takes: {takes}")
            }
            Some(spec) if spec.dtype != self.dtype => {
                bail!(InvalidArgument, "input '{name}' has type {}, and the model takes {}", self.dtype, spec.dtype)
            }
            Some(_) => Ok(()),
        }
    }

    /// Takes binary data from the front of `binary`.
    fn finish(self, binary: &mut Bytes, limits: &Limits) -> Result<(String, Tensor)> {
        let tensor = match self.data {
            Data::Tensor(tensor) => Ok(tensor),
            Data::Json(mut scanner) => scan_data(&mut scanner, self.dtype, &self.shape, limits),
            Data::Binary(length) if length > binary.len() => {
                Err(error!(InvalidArgument, "'binary_data_size' is {length}, and {} bytes are left of the body", binary.len()))
            }
            Data::Binary(length) => tensor_from_raw(self.dtype, &self.shape, binary.split_to(length), limits),
        };
        match tensor {
            Ok(tensor) => Ok((self.name, tensor)),
            Err(error) => Err(error.context(format_args!("input '{}'", self.name))),
        }
    }
}

fn parse_inputs<'a>(scanner: &mut Scanner<'a>, limits: &Limits) -> Result<Vec<InputTensor<'a>>> {
    let mut inputs: Vec<InputTensor<'a>> = Vec::new();
    let mut names = BTreeSet::new();
    let mut num_elements = 0;
    scanner.array(|scanner| {
        if inputs.len() == limits.max_items {
            bail!(ResourceExhausted, "more than {} inputs", limits.max_items);
        }
        let input = parse_input(scanner, limits)?;
        if !names.insert(input.name.clone()) {
            bail!(InvalidArgument, "input '{}' is there twice", input.name);
        }
        if let Data::Tensor(tensor) = &input.data {
            num_elements += tensor.num_elements();
        }
        if num_elements > limits.max_elements {
            return Err(too_many(limits));
        }
        inputs.push(input);
        Ok(())
    })?;
    Ok(inputs)
}

/// Reads an input.
fn parse_input<'a>(scanner: &mut Scanner<'a>, limits: &Limits) -> Result<InputTensor<'a>> {
    let start = *scanner;
    let (mut name, mut dtype, mut shape, mut data) = (None, None, None, None);
    let mut num_data = 0;
    scanner.object(|scanner, key| {
        match key {
            "name" => name = Some(scanner.string()?.into_owned()),
            "datatype" => dtype = Some(dtype_from_datatype(&scanner.string()?)?),
            "shape" => shape = Some(parse_shape(scanner)?),
            "parameters" => {
                let parameters = parse_parameters(scanner, limits)?;
                refuse_shared_memory(&parameters)?;
                if let Some(length) = parameters.get("binary_data_size") {
                    let length = length.as_u64().and_then(|length| usize::try_from(length).ok());
                    let Some(length) = length else { return Err(scanner.error("a 'binary_data_size' that is no number of bytes ends")) };
                    data = Some(Data::Binary(length));
                    num_data += 1;
                }
            }
            "data" => {
                num_data += 1;
                data = Some(match (dtype, &shape) {
                    (Some(dtype), Some(shape)) => {
                        let tensor = scan_data(scanner, dtype, shape, limits);
                        Data::Tensor(tensor.map_err(|error| with_name(error, name.as_deref()))?)
                    }
                    _ => {
                        let start = *scanner;
                        scanner.skip_value()?;
                        Data::Json(start)
                    }
                });
            }
            _ => scanner.skip_value()?,
        }
        if num_data > 1 {
            return Err(scanner.error("an input with more than one 'data' or 'binary_data_size'"));
        }
        Ok(())
    })?;
    let Some(name) = name else { return Err(start.error("an input without 'name'")) };
    let (Some(dtype), Some(shape), Some(data)) = (dtype, shape, data) else {
        bail!(InvalidArgument, "input '{name}' needs 'datatype', 'shape', and 'data' or the parameter 'binary_data_size'");
    };
    Ok(InputTensor { name, dtype, shape, data })
}

fn with_name(error: Error, name: Option<&str>) -> Error {
    match name {
        Some(name) => error.context(format_args!("input '{name}'")),
        None => error,
    }
}

fn parse_shape(scanner: &mut Scanner<'_>) -> Result<SmallVec<[i64; 8]>> {
    let mut shape = SmallVec::new();
    scanner.array(|scanner| {
        if shape.len() == flowmill::Shape::MAX_RANK {
            return Err(scanner.error(format_args!("a shape of more than {} sizes", flowmill::Shape::MAX_RANK)));
        }
        shape.push(scanner.integer("int64")?);
        Ok(())
    })?;
    Ok(shape)
}

/// Reads the elements of a tensor.
fn scan_data(scanner: &mut Scanner<'_>, dtype: DType, shape: &[i64], limits: &Limits) -> Result<Tensor> {
    scan_flat(scanner, dtype, checked_shape(shape, limits)?)
}

fn parse_outputs(scanner: &mut Scanner<'_>, limits: &Limits) -> Result<Vec<RequestedOutput>> {
    let mut outputs = Vec::new();
    scanner.array(|scanner| {
        if outputs.len() == limits.max_items {
            bail!(ResourceExhausted, "more than {} outputs", limits.max_items);
        }
        let start = *scanner;
        let (mut name, mut parameters) = (None, Parameters::new());
        scanner.object(|scanner, key| {
            match key {
                "name" => name = Some(scanner.string()?.into_owned()),
                "parameters" => parameters = parse_parameters(scanner, limits)?,
                _ => scanner.skip_value()?,
            }
            Ok(())
        })?;
        let Some(name) = name else { return Err(start.error("an output without 'name'")) };
        outputs.push(RequestedOutput::new(name, parameters)?);
        Ok(())
    })?;
    Ok(outputs)
}
