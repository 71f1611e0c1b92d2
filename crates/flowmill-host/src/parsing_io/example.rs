//! The positions and values of the features in one serialised `Example`.

use flowmill_proto::wire::{Fields, Malformed, Value, take_varint};
use flowmill_tensor::{Bytes, DType};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// A feature: the serialised lists of its kind. There is one list, or more if the message was concatenated from several messages.
#[derive(Clone, Debug)]
pub(super) struct Feature<'a> {
    pub(super) dtype: DType,
    lists: SmallVec<[&'a [u8]; 1]>,
}

/// The requested features, by key, each with its index.
pub(super) type Wanted<'k> = FxHashMap<&'k [u8], usize>;

/// Finds the requested features of an `Example`. Of several entries with one key, the last one is used; a feature without a kind counts as missing.
pub(super) fn find<'a>(example: &'a [u8], wanted: &Wanted<'_>, found: &mut [Option<Feature<'a>>]) -> Result<(), Malformed> {
    for field in Fields::of(example) {
        if let (1, Value::Bytes(features)) = field? {
            find_in_features(features, wanted, found)?;
        }
    }
    Ok(())
}

fn find_in_features<'a>(features: &'a [u8], wanted: &Wanted<'_>, found: &mut [Option<Feature<'a>>]) -> Result<(), Malformed> {
    for field in Fields::of(features) {
        let (1, Value::Bytes(entry)) = field? else { continue };
        let (key, feature) = key_and_value(entry)?;
        if let Some(&place) = wanted.get(key) {
            found[place] = Feature::parse(feature)?;
        }
    }
    Ok(())
}

/// A list of features, some of which may hold nothing.
pub(super) type FeatureList<'a> = Vec<Option<Feature<'a>>>;

/// Finds the requested lists of features of a `SequenceExample`. Of several entries with one key, the last one is used.
pub(super) fn find_lists<'a>(example: &'a [u8], wanted: &Wanted<'_>, found: &mut [Option<FeatureList<'a>>]) -> Result<(), Malformed> {
    for field in Fields::of(example) {
        let (2, Value::Bytes(lists)) = field? else { continue };
        for field in Fields::of(lists) {
            let (1, Value::Bytes(entry)) = field? else { continue };
            let (key, list) = key_and_value(entry)?;
            if let Some(&place) = wanted.get(key) {
                let features = Fields::of(list).filter_map(|field| match field {
                    Ok((1, Value::Bytes(feature))) => Some(Feature::parse(feature)),
                    Ok(_) => None,
                    Err(e) => Some(Err(e)),
                });
                found[place] = Some(features.collect::<Result<_, _>>()?);
            }
        }
    }
    Ok(())
}

/// Returns the key and the value of a map's entry.
fn key_and_value(entry: &[u8]) -> Result<(&[u8], &[u8]), Malformed> {
    let (mut key, mut value) = (&[][..], &[][..]);
    for field in Fields::of(entry) {
        match field? {
            (1, Value::Bytes(bytes)) => key = bytes,
            (2, Value::Bytes(bytes)) => value = bytes,
            _ => {}
        }
    }
    Ok((key, value))
}

impl<'a> Feature<'a> {
    /// Returns the feature in a serialised `Feature`, or `None` if it has no kind.
    pub(super) fn parse(message: &'a [u8]) -> Result<Option<Feature<'a>>, Malformed> {
        let mut feature: Option<Feature<'a>> = None;
        for field in Fields::of(message) {
            let (dtype, list) = match field? {
                (1, Value::Bytes(list)) => (DType::String, list),
                (2, Value::Bytes(list)) => (DType::F32, list),
                (3, Value::Bytes(list)) => (DType::I64, list),
                _ => continue,
            };
            match &mut feature {
                Some(f) if f.dtype == dtype => f.lists.push(list),
                _ => feature = Some(Feature { dtype, lists: SmallVec::from_slice(&[list]) }),
            }
        }
        Ok(feature)
    }

    /// Returns the fields of the lists, which hold values.
    fn values(&self) -> impl Iterator<Item = Result<Value<'a>, Malformed>> + use<'_, 'a> {
        self.lists.iter().flat_map(|list| Fields::of(list)).filter_map(|field| match field {
            Ok((1, value)) => Some(Ok(value)),
            Ok(_) => None,
            Err(e) => Some(Err(e)),
        })
    }

    /// Appends the floats of a feature that holds floats.
    pub(super) fn floats(&self, out: &mut Vec<f32>) -> Result<(), Malformed> {
        for value in self.values() {
            match value? {
                Value::Fixed32(bits) => out.push(f32::from_bits(bits)),
                Value::Bytes(packed) if packed.len().is_multiple_of(4) => {
                    out.extend(packed.as_chunks::<4>().0.iter().map(|&b| f32::from_le_bytes(b)));
                }
                _ => return Err(Malformed),
            }
        }
        Ok(())
    }

    /// Appends the integers of a feature that holds integers.
    pub(super) fn integers(&self, out: &mut Vec<i64>) -> Result<(), Malformed> {
        for value in self.values() {
            match value? {
                Value::Varint(v) => out.push(v as i64),
                Value::Bytes(mut packed) => {
                    while !packed.is_empty() {
                        out.push(take_varint(&mut packed).ok_or(Malformed)? as i64);
                    }
                }
                _ => return Err(Malformed),
            }
        }
        Ok(())
    }

    /// Appends the strings of a feature that holds strings. They share memory with `message`, which contains the feature.
    pub(super) fn strings(&self, message: &Bytes, out: &mut Vec<Bytes>) -> Result<(), Malformed> {
        for value in self.values() {
            match value? {
                Value::Bytes(bytes) => out.push(message.slice_ref(bytes)),
                _ => return Err(Malformed),
            }
        }
        Ok(())
    }
}
