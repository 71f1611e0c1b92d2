//! Protobuf messages in the JSON that TensorFlow Serving prints for them: names as in the `.proto` files, fields without a value printed, 64-bit integers as
//! strings, an indentation of one space.

use crate::proto::tfs::model_spec::VersionChoice;
use crate::proto::tfs::model_version_status::State;
use crate::proto::tfs::{GetModelStatusResponse, ModelSpec, ModelVersionStatus};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flowmill::proto::tensor_info::{CooSparse, Encoding};
use flowmill::proto::{DataType, SignatureDef, TensorInfo, TensorProto, TensorShapeProto, error};
use flowmill::{Result, Tensor, tensor};
use serde::Serialize;
use serde_json::ser::{PrettyFormatter, Serializer};
use std::collections::BTreeMap;

/// Adds a value and a line break.
fn print(value: &impl Serialize, out: &mut Vec<u8>) -> Result<()> {
    let mut serializer = Serializer::with_formatter(&mut *out, PrettyFormatter::with_indent(b" "));
    value.serialize(&mut serializer).map_err(|error| tensor::error!(Internal, "a message has no form in JSON: {error}"))?;
    out.push(b'\n');
    Ok(())
}

/// The name of a value of an enum, or the number of one that has no name.
#[derive(Serialize)]
#[serde(untagged)]
enum EnumValue {
    Name(&'static str),
    Number(i32),
}

impl EnumValue {
    fn of<T: TryFrom<i32>>(number: i32, name: fn(&T) -> &'static str) -> EnumValue {
        T::try_from(number).map_or(EnumValue::Number(number), |value| EnumValue::Name(name(&value)))
    }

    fn of_dtype(number: i32) -> EnumValue {
        EnumValue::of(number, DataType::as_str_name)
    }
}

#[derive(Serialize)]
struct ModelStatus<'a> {
    model_version_status: Vec<VersionStatus<'a>>,
}

#[derive(Serialize)]
struct VersionStatus<'a> {
    version: String,
    state: EnumValue,
    status: Status<'a>,
}

#[derive(Serialize)]
struct Status<'a> {
    error_code: EnumValue,
    error_message: &'a str,
}

impl<'a> From<&'a ModelVersionStatus> for VersionStatus<'a> {
    fn from(message: &'a ModelVersionStatus) -> VersionStatus<'a> {
        let (code, error_message) = message.status.as_ref().map_or((0, ""), |status| (status.error_code, &status.error_message));
        VersionStatus {
            version: message.version.to_string(),
            state: EnumValue::of(message.state, State::as_str_name),
            status: Status { error_code: EnumValue::of(code, error::Code::as_str_name), error_message },
        }
    }
}

/// Adds the response to a request for the states of a model's versions to `out`.
///
/// # Errors
/// None in practice.
pub fn print_model_status(response: &GetModelStatusResponse, out: &mut Vec<u8>) -> Result<()> {
    print(&ModelStatus { model_version_status: response.model_version_status.iter().map(VersionStatus::from).collect() }, out)
}

#[derive(Serialize)]
struct Spec<'a> {
    name: &'a str,
    signature_name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    version_label: Option<&'a str>,
}

impl<'a> From<&'a ModelSpec> for Spec<'a> {
    fn from(message: &'a ModelSpec) -> Spec<'a> {
        let (version, version_label) = match &message.version_choice {
            Some(VersionChoice::Version(version)) => (Some(version.to_string()), None),
            Some(VersionChoice::VersionLabel(label)) => (None, Some(label.as_str())),
            None => (None, None),
        };
        Spec { name: &message.name, signature_name: &message.signature_name, version, version_label }
    }
}

#[derive(Serialize)]
struct SignatureMap<'a> {
    signature_def: BTreeMap<&'a str, Signature<'a>>,
}

#[derive(Serialize)]
struct Signature<'a> {
    inputs: BTreeMap<&'a str, Info<'a>>,
    outputs: BTreeMap<&'a str, Info<'a>>,
    method_name: &'a str,
    defaults: BTreeMap<&'a str, Value>,
}

impl<'a> From<&'a SignatureDef> for Signature<'a> {
    fn from(message: &'a SignatureDef) -> Signature<'a> {
        fn map<'a, M, T: From<&'a M>>(messages: &'a BTreeMap<String, M>) -> BTreeMap<&'a str, T> {
            messages.iter().map(|(name, message)| (name.as_str(), T::from(message))).collect()
        }
        Signature {
            inputs: map(&message.inputs),
            outputs: map(&message.outputs),
            method_name: &message.method_name,
            defaults: map(&message.defaults),
        }
    }
}

/// A tensor of a signature. The type specification of a composite tensor is left out.
#[derive(Serialize)]
struct Info<'a> {
    dtype: EnumValue,
    #[serde(skip_serializing_if = "Option::is_none")]
    tensor_shape: Option<TensorShape<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    coo_sparse: Option<Sparse<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    composite_tensor: Option<Composite<'a>>,
}

#[derive(Serialize)]
struct Sparse<'a> {
    values_tensor_name: &'a str,
    indices_tensor_name: &'a str,
    dense_shape_tensor_name: &'a str,
}

impl<'a> From<&'a CooSparse> for Sparse<'a> {
    fn from(message: &'a CooSparse) -> Sparse<'a> {
        Sparse {
            values_tensor_name: &message.values_tensor_name,
            indices_tensor_name: &message.indices_tensor_name,
            dense_shape_tensor_name: &message.dense_shape_tensor_name,
        }
    }
}

#[derive(Serialize)]
struct Composite<'a> {
    components: Vec<Info<'a>>,
}

impl<'a> From<&'a TensorInfo> for Info<'a> {
    fn from(message: &'a TensorInfo) -> Info<'a> {
        let tensor_shape = message.tensor_shape.as_ref().map(TensorShape::from);
        let mut info =
            Info { dtype: EnumValue::of_dtype(message.dtype), tensor_shape, name: None, coo_sparse: None, composite_tensor: None };
        match &message.encoding {
            Some(Encoding::Name(name)) => info.name = Some(name),
            Some(Encoding::CooSparse(sparse)) => info.coo_sparse = Some(sparse.into()),
            Some(Encoding::CompositeTensor(composite)) => {
                info.composite_tensor = Some(Composite { components: composite.components.iter().map(Info::from).collect() });
            }
            None => {}
        }
        info
    }
}

#[derive(Serialize)]
struct TensorShape<'a> {
    dim: Vec<Dim<'a>>,
    unknown_rank: bool,
}

#[derive(Serialize)]
struct Dim<'a> {
    size: String,
    name: &'a str,
}

impl<'a> From<&'a TensorShapeProto> for TensorShape<'a> {
    fn from(message: &'a TensorShapeProto) -> TensorShape<'a> {
        let dim = message.dim.iter().map(|dim| Dim { size: dim.size.to_string(), name: &dim.name }).collect();
        TensorShape { dim, unknown_rank: message.unknown_rank }
    }
}

/// The default value of an input. Its elements are in one form for all types, that of `tensor_content`: base64 of the little-endian elements, and of strings
/// `string_val`.
#[derive(Serialize)]
struct Value {
    dtype: EnumValue,
    tensor_shape: TensorShape<'static>,
    tensor_content: String,
    string_val: Vec<String>,
}

impl From<&TensorProto> for Value {
    fn from(message: &TensorProto) -> Value {
        let value = Tensor::from_proto(message).ok();
        let shape = value.as_ref().map(|tensor| tensor.shape().to_i64()).unwrap_or_default();
        let dim = shape.iter().map(|size| Dim { size: size.to_string(), name: "" }).collect();
        let bytes = value.as_ref().and_then(|tensor| tensor.as_bytes().ok()).unwrap_or_default();
        let strings = value.as_ref().and_then(|tensor| tensor.as_strings().ok()).unwrap_or_default();
        Value {
            dtype: EnumValue::of_dtype(message.dtype),
            tensor_shape: TensorShape { dim, unknown_rank: false },
            tensor_content: STANDARD.encode(bytes),
            string_val: strings.iter().map(|string| STANDARD.encode(string)).collect(),
        }
    }
}

/// Adds the response to a request for a model's metadata to `out`. Its signatures are in a message of its own, so that `signature_def` is there twice.
///
/// # Errors
/// None in practice.
pub fn print_metadata(spec: &ModelSpec, signatures: &BTreeMap<String, SignatureDef>, out: &mut Vec<u8>) -> Result<()> {
    let signature_def = signatures.iter().map(|(name, signature)| (name.as_str(), Signature::from(signature))).collect();
    out.extend_from_slice(b"{\n\"model_spec\":");
    print(&Spec::from(spec), out)?;
    out.extend_from_slice(b",\n\"metadata\": {\"signature_def\": ");
    print(&SignatureMap { signature_def }, out)?;
    out.extend_from_slice(b"}\n}\n");
    Ok(())
}
