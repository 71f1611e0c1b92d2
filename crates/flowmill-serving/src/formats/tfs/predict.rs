//! Requests for a prediction: named tensors by rows or by columns.

use super::DEFAULT_SIGNATURE;
use crate::formats::Limits;
use crate::formats::json::elements::too_many;
use crate::formats::json::{Elements, Scanner};
use flowmill::tensor::bail;
use flowmill::{Result, Signature, Tensor};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The format of a request's tensors, which the response has too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// A list of instances, each a value for every input: `instances` and `predictions`.
    Row,
    /// A value for every input that holds all instances: `inputs` and `outputs`.
    Column,
}

/// A request for a prediction.
#[derive(Clone, Debug)]
pub struct PredictRequest {
    /// The name of the signature, [`DEFAULT_SIGNATURE`] if the request names none or an empty one.
    pub signature_name: String,
    /// The format of the tensors.
    pub layout: Layout,
    /// The inputs in the order of their names.
    pub inputs: Vec<(String, Tensor)>,
}

/// The inputs of a request, as they are read with the types of a signature that a later member of the object may change.
struct Inputs<'s> {
    layout: Layout,
    signature_name: String,
    start: Scanner<'s>,
    inputs: Result<Vec<(String, Tensor)>>,
}

/// Parses the body of `:predict`. `signature` returns a signature by its name.
///
/// Text after the JSON object is ignored. Of members with the same key the first one counts; other keys are ignored.
///
/// # Errors
/// `InvalidArgument` for text that is not JSON, values of another type or shape than the others, missing inputs, and in row format unknown ones;
/// `Unimplemented` for inputs of a type that TensorFlow Serving does not read from JSON; `ResourceExhausted` past a limit; the errors of `signature`.
pub fn parse_predict(body: &[u8], signature: &dyn Fn(&str) -> Result<Arc<Signature>>, limits: &Limits) -> Result<PredictRequest> {
    let mut scanner = Scanner::new(body, limits.max_depth);
    let mut name: Option<String> = None;
    let mut found: Option<Inputs<'_>> = None;
    scanner.object(|scanner, key| {
        let layout = match key {
            "signature_name" if name.is_none() => {
                name = Some(scanner.string()?.into_owned());
                return Ok(());
            }
            "instances" => Layout::Row,
            "inputs" => Layout::Column,
            _ => return scanner.skip_value(),
        };
        match &found {
            Some(before) if before.layout == layout => return scanner.skip_value(),
            Some(_) => return Err(scanner.error("both 'instances' and 'inputs', of which there may be one")),
            None => {}
        }
        let start = *scanner;
        let signature_name = or_default(name.as_deref());
        let inputs = signature(&signature_name).and_then(|signature| parse_inputs(scanner, layout, &signature, limits));
        if inputs.is_err() {
            // Another signature may be named after this value, and decides then.
            *scanner = start;
            scanner.skip_value()?;
        }
        found = Some(Inputs { layout, signature_name, start, inputs });
        Ok(())
    })?;
    let Some(found) = found else { bail!(InvalidArgument, "JSON: neither 'inputs' nor 'instances' in the request") };
    let signature_name = or_default(name.as_deref());
    let inputs = if signature_name == found.signature_name {
        found.inputs?
    } else {
        parse_inputs(&mut found.start.clone(), found.layout, &*signature(&signature_name)?, limits)?
    };
    Ok(PredictRequest { signature_name, layout: found.layout, inputs })
}

/// Returns the name of the signature that a request means.
fn or_default(name: Option<&str>) -> String {
    name.filter(|name| !name.is_empty()).unwrap_or(DEFAULT_SIGNATURE).to_owned()
}

fn parse_inputs(scanner: &mut Scanner<'_>, layout: Layout, signature: &Signature, limits: &Limits) -> Result<Vec<(String, Tensor)>> {
    if signature.inputs.is_empty() {
        bail!(InvalidArgument, "the signature has no inputs");
    }
    match layout {
        Layout::Row => parse_rows(scanner, signature, limits),
        Layout::Column => parse_columns(scanner, signature, limits),
    }
}

/// Reads the value of the only input.
fn parse_only(scanner: &mut Scanner<'_>, signature: &Signature, limits: &Limits) -> Result<Vec<(String, Tensor)>> {
    let mut inputs = signature.inputs.iter();
    let (Some((name, spec)), None) = (inputs.next(), inputs.next()) else {
        return Err(scanner.unexpected(format_args!("objects with the inputs {}", names(signature))));
    };
    let mut elements = Elements::new(spec.dtype, scanner.num_remaining())?;
    elements.scan(scanner, limits)?;
    Ok(vec![(name.clone(), elements.into_tensor()?)])
}

fn parse_columns(scanner: &mut Scanner<'_>, signature: &Signature, limits: &Limits) -> Result<Vec<(String, Tensor)>> {
    if !scanner.is_object() {
        return parse_only(scanner, signature, limits);
    }
    let mut found: BTreeMap<&str, Tensor> = BTreeMap::new();
    let mut num_elements = 0;
    scanner.object(|scanner, key| {
        let Some((name, spec)) = signature.inputs.get_key_value(key) else { return scanner.skip_value() };
        if found.contains_key(key) {
            return scanner.skip_value();
        }
        let mut elements = Elements::new(spec.dtype, scanner.num_remaining()).map_err(|error| at_input(error, name))?;
        elements.scan(scanner, limits).map_err(|error| at_input(error, name))?;
        let tensor = elements.into_tensor()?;
        num_elements += tensor.num_elements();
        if num_elements > limits.max_elements {
            return Err(too_many(limits));
        }
        found.insert(name, tensor);
        Ok(())
    })?;
    if let Some(missing) = signature.inputs.keys().find(|name| !found.contains_key(name.as_str())) {
        bail!(InvalidArgument, "input '{missing}' is missing in 'inputs'; the signature takes: {}", names(signature));
    }
    Ok(found.into_iter().map(|(name, tensor)| (name.to_owned(), tensor)).collect())
}

fn parse_rows(scanner: &mut Scanner<'_>, signature: &Signature, limits: &Limits) -> Result<Vec<(String, Tensor)>> {
    let mut ahead = *scanner;
    if !ahead.take(b'[') {
        return Err(scanner.unexpected("an array of instances"));
    }
    if ahead.token() == Some(b']') {
        return Err(ahead.error("no values in 'instances'"));
    }
    if !ahead.is_object() {
        return parse_only(scanner, signature, limits);
    }
    parse_row_objects(scanner, signature, limits)
}

/// Reads an array of objects with all inputs.
fn parse_row_objects(scanner: &mut Scanner<'_>, signature: &Signature, limits: &Limits) -> Result<Vec<(String, Tensor)>> {
    let num_bytes = scanner.num_remaining() / signature.inputs.len().max(1);
    let columns = signature.inputs.iter().map(|(name, spec)| Ok((name.as_str(), Elements::new(spec.dtype, num_bytes)?)));
    let mut columns = columns.collect::<Result<Vec<_>>>()?;
    let mut num_instances = 0;
    scanner.array(|scanner| {
        if !scanner.is_object() {
            return Err(scanner.unexpected("an object with the inputs of an instance, as before"));
        }
        let start = *scanner;
        // Instances usually have their inputs in one order.
        let mut next = 0;
        let mut num_inputs = 0;
        scanner.object(|scanner, key| {
            let at = (next..columns.len()).chain(0..next).find(|&i| columns[i].0 == key);
            let Some((name, elements)) = at.map(|i| &mut columns[i]) else {
                return Err(scanner.error(format_args!("unknown input '{key}' in instance {num_instances}")));
            };
            if elements.num_values() > num_instances {
                return Err(scanner.error(format_args!("input '{name}' twice in instance {num_instances}")));
            }
            next = at.map_or(0, |i| i + 1);
            num_inputs += 1;
            elements.scan(scanner, limits).map_err(|error| at_input(error, name).append(format_args!(", in instance {num_instances}")))
        })?;
        if num_inputs < columns.len() {
            return Err(start.error(format_args!("instance {num_instances} lacks one of the inputs {}", names(signature))));
        }
        num_instances += 1;
        Ok(())
    })?;
    let inputs = columns.into_iter().map(|(name, elements)| Ok((name.to_owned(), elements.into_batch()?))).collect::<Result<Vec<_>>>()?;
    if inputs.iter().map(|(_, tensor)| tensor.num_elements()).sum::<usize>() > limits.max_elements {
        return Err(too_many(limits));
    }
    Ok(inputs)
}

fn at_input(error: flowmill::Error, name: &str) -> flowmill::Error {
    error.context(format_args!("input '{name}'"))
}

fn names(signature: &Signature) -> String {
    signature.inputs.keys().map(String::as_str).collect::<Vec<_>>().join(", ")
}
