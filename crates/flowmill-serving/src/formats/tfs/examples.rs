//! Requests for classification and regression: examples with features by name.

use super::DEFAULT_SIGNATURE;
use crate::formats::Limits;
use crate::formats::json::Scanner;
use crate::formats::json::elements::too_many;
use crate::formats::json::number::AnyNumber;
use flowmill::proto::feature::Kind;
use flowmill::proto::{BytesList, Example, Feature, Features, FloatList, Int64List};
use flowmill::tensor::bail;
use flowmill::{Bytes, Result};
use std::collections::BTreeMap;

/// A request for classification or regression.
#[derive(Clone, Debug)]
pub struct ExamplesRequest {
    /// The name of the signature, [`DEFAULT_SIGNATURE`] if the request names none or an empty one.
    pub signature_name: String,
    /// The examples, each with the features of the request's context that it does not have itself.
    pub examples: Vec<Example>,
}

/// Parses the body of `:classify` or `:regress`.
///
/// The type of a feature is that of its values: strings and `{"b64": ...}` are bytes, numbers with a fraction or an exponent `float32`, integers and
/// booleans `int64`. A feature without values has no type. Text after the JSON object is ignored, and so are unknown keys.
///
/// # Errors
/// `InvalidArgument` for text that is not JSON, a request without examples, and values of a feature that are of different types or of none;
/// `ResourceExhausted` past a limit.
pub fn parse_examples(body: &[u8], limits: &Limits) -> Result<ExamplesRequest> {
    let mut scanner = Scanner::new(body, limits.max_depth);
    let (mut name, mut context, mut examples) = (None, None, None);
    let mut num_values = 0;
    scanner.object(|scanner, key| {
        match key {
            "signature_name" if name.is_none() => name = Some(scanner.string()?.into_owned()),
            "context" if context.is_none() => context = Some(parse_features(scanner, &mut num_values, limits)?),
            "examples" if examples.is_none() => examples = Some(parse_list(scanner, &mut num_values, limits)?),
            _ => scanner.skip_value()?,
        }
        Ok(())
    })?;
    let Some(mut examples) = examples else { bail!(InvalidArgument, "JSON: no 'examples' in the request") };
    if examples.is_empty() {
        bail!(InvalidArgument, "JSON: no values in 'examples'");
    }
    if let Some(context) = context {
        merge(&context, &mut examples, limits)?;
    }
    let signature_name = name.filter(|name: &String| !name.is_empty()).unwrap_or_else(|| DEFAULT_SIGNATURE.to_owned());
    let example = |feature| Example { features: Some(Features { feature, ..Features::default() }), ..Example::default() };
    Ok(ExamplesRequest { signature_name, examples: examples.into_iter().map(example).collect() })
}

type FeatureMap = BTreeMap<String, Feature>;

/// Adds the features of `context` to every example that lacks them.
fn merge(context: &FeatureMap, examples: &mut [FeatureMap], limits: &Limits) -> Result<()> {
    // A large context with many examples would take memory out of proportion to the request.
    let num_values: usize = context.values().map(num_values_of).sum();
    let num_items = num_values.saturating_add(context.len()).saturating_mul(examples.len());
    if num_items > limits.max_context_copies {
        bail!(ResourceExhausted, "the context is copied to examples as more than {} features and values", limits.max_context_copies);
    }
    for example in examples {
        for (name, feature) in context {
            if !example.contains_key(name) {
                example.insert(name.clone(), feature.clone());
            }
        }
    }
    Ok(())
}

fn num_values_of(feature: &Feature) -> usize {
    match &feature.kind {
        Some(Kind::BytesList(list)) => list.value.len(),
        Some(Kind::FloatList(list)) => list.value.len(),
        Some(Kind::Int64List(list)) => list.value.len(),
        None => 0,
    }
}

fn parse_list(scanner: &mut Scanner<'_>, num_values: &mut usize, limits: &Limits) -> Result<Vec<FeatureMap>> {
    let mut examples = Vec::new();
    scanner.array(|scanner| {
        if examples.len() == limits.max_items {
            bail!(ResourceExhausted, "more than {} examples", limits.max_items);
        }
        examples.push(parse_features(scanner, num_values, limits)?);
        Ok(())
    })?;
    Ok(examples)
}

/// Reads an object of features. Of features of one name the last one counts.
fn parse_features(scanner: &mut Scanner<'_>, num_values: &mut usize, limits: &Limits) -> Result<FeatureMap> {
    let mut features = FeatureMap::new();
    scanner.object(|scanner, name| {
        let mut feature = Feature::default();
        let mut add = |scanner: &mut Scanner<'_>| {
            if *num_values == limits.max_elements {
                return Err(too_many(limits));
            }
            *num_values += 1;
            parse_value(scanner, &mut feature).map_err(|error| error.context(format_args!("feature '{name}'")))
        };
        if scanner.token() == Some(b'[') {
            scanner.array(add)?
        } else {
            add(scanner)?
        }
        features.insert(name.to_owned(), feature);
        Ok(())
    })?;
    Ok(features)
}

/// Reads one value of a feature.
fn parse_value(scanner: &mut Scanner<'_>, feature: &mut Feature) -> Result<()> {
    let start = *scanner;
    match scanner.token() {
        Some(b'"') => add_bytes(scanner.string()?.into_owned().into(), feature, &start),
        Some(b'{') => match scanner.base64_object()? {
            Some(bytes) => add_bytes(bytes, feature, &start),
            None => Err(scanner.unexpected("a string, number, boolean or {\"b64\": a string}")),
        },
        Some(b't' | b'f') => add_integer(i64::from(scanner.boolean()?), feature, &start),
        Some(b'-' | b'0'..=b'9' | b'N' | b'I') => {
            let mut ahead = start;
            match scanner.any_number()? {
                AnyNumber::Integer(value) => match i64::try_from(value) {
                    Ok(value) => add_integer(value, feature, &start),
                    Err(_) => Err(start.error("an integer that is not of type int64")),
                },
                // The number is rounded once, to the type of the feature.
                AnyNumber::Float(_) => add_float(ahead.f32()?, feature, &start),
            }
        }
        _ => Err(scanner.unexpected("a string, number, boolean or {\"b64\": a string}")),
    }
}

macro_rules! add {
    ($($name:ident($t:ty) => $list:ident, $wanted:literal);* $(;)?) => {
        $(fn $name(value: $t, feature: &mut Feature, start: &Scanner<'_>) -> Result<()> {
            match feature.kind.get_or_insert_with(|| Kind::$list($list::default())) {
                Kind::$list(list) => list.value.push(value),
                _ => return Err(start.error(concat!($wanted, " after values of another type"))),
            }
            Ok(())
        })*
    };
}

add! {
    add_bytes(Bytes) => BytesList, "a string";
    add_float(f32) => FloatList, "a number with a fraction or an exponent";
    add_integer(i64) => Int64List, "an integer";
}
