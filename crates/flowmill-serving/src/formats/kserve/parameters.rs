//! Parameters of requests, tensors and responses.

use crate::formats::Limits;
use crate::formats::json::Scanner;
use crate::formats::json::number::AnyNumber;
use crate::proto::kserve::InferParameter;
use crate::proto::kserve::infer_parameter::ParameterChoice;
use flowmill::tensor::{bail, error};
use flowmill::{Error, Result};
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;

/// Parameters by name.
pub type Parameters = BTreeMap<String, Parameter>;

/// The value of a parameter.
#[derive(Clone, Debug, PartialEq)]
pub enum Parameter {
    /// A boolean.
    Bool(bool),
    /// A signed integer.
    Int64(i64),
    /// An integer greater than `i64::MAX`, or one that a gRPC message declares as unsigned.
    Uint64(u64),
    /// A number with a fraction or an exponent.
    Double(f64),
    /// A string.
    String(String),
}

impl Parameter {
    /// Returns the value of an integer that is not negative.
    pub fn as_u64(&self) -> Option<u64> {
        match self {
            Parameter::Int64(value) => u64::try_from(*value).ok(),
            Parameter::Uint64(value) => Some(*value),
            _ => None,
        }
    }

    /// Returns the value of a boolean.
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Parameter::Bool(value) => Some(*value),
            _ => None,
        }
    }
}

impl Serialize for Parameter {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Parameter::Bool(value) => serializer.serialize_bool(*value),
            Parameter::Int64(value) => serializer.serialize_i64(*value),
            Parameter::Uint64(value) => serializer.serialize_u64(*value),
            Parameter::Double(value) => serializer.serialize_f64(*value),
            Parameter::String(value) => serializer.serialize_str(value),
        }
    }
}

impl From<Parameter> for InferParameter {
    fn from(parameter: Parameter) -> InferParameter {
        let choice = match parameter {
            Parameter::Bool(value) => ParameterChoice::BoolParam(value),
            Parameter::Int64(value) => ParameterChoice::Int64Param(value),
            Parameter::Uint64(value) => ParameterChoice::Uint64Param(value),
            Parameter::Double(value) => ParameterChoice::DoubleParam(value),
            Parameter::String(value) => ParameterChoice::StringParam(value),
        };
        InferParameter { parameter_choice: Some(choice) }
    }
}

/// # Errors
/// `InvalidArgument` for a message without a value.
impl TryFrom<InferParameter> for Parameter {
    type Error = Error;

    fn try_from(parameter: InferParameter) -> Result<Parameter> {
        Ok(match parameter.parameter_choice {
            Some(ParameterChoice::BoolParam(value)) => Parameter::Bool(value),
            Some(ParameterChoice::Int64Param(value)) => Parameter::Int64(value),
            Some(ParameterChoice::Uint64Param(value)) => Parameter::Uint64(value),
            Some(ParameterChoice::DoubleParam(value)) => Parameter::Double(value),
            Some(ParameterChoice::StringParam(value)) => Parameter::String(value),
            None => bail!(InvalidArgument, "a parameter has no value"),
        })
    }
}

/// Returns the parameters of a gRPC message.
///
/// # Errors
/// `InvalidArgument` for a parameter without a value, with its name.
pub fn parameters_from_proto(parameters: BTreeMap<String, InferParameter>) -> Result<Parameters> {
    let parameter = |(name, value): (String, InferParameter)| match Parameter::try_from(value) {
        Ok(value) => Ok((name, value)),
        Err(error) => Err(error.context(format_args!("parameter '{name}'"))),
    };
    parameters.into_iter().map(parameter).collect()
}

/// Reads an object of parameters. Of parameters of one name the first one counts.
pub(super) fn parse_parameters(scanner: &mut Scanner<'_>, limits: &Limits) -> Result<Parameters> {
    let mut parameters = Parameters::new();
    scanner.object(|scanner, name| {
        let value = match scanner.token() {
            Some(b'"') => Parameter::String(scanner.string()?.into_owned()),
            Some(b't' | b'f') => Parameter::Bool(scanner.boolean()?),
            Some(b'-' | b'0'..=b'9' | b'N' | b'I') => match scanner.any_number()? {
                AnyNumber::Float(value) => Parameter::Double(value),
                AnyNumber::Integer(value) => match i64::try_from(value) {
                    Ok(value) => Parameter::Int64(value),
                    Err(_) => Parameter::Uint64(value as u64),
                },
            },
            _ => return Err(scanner.unexpected(format_args!("a string, number or boolean for parameter '{name}'"))),
        };
        if parameters.len() == limits.max_items {
            return Err(error!(ResourceExhausted, "more than {} parameters", limits.max_items));
        }
        parameters.entry(name.to_owned()).or_insert(value);
        Ok(())
    })?;
    Ok(parameters)
}
