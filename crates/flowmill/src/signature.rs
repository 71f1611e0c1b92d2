//! The signatures of SavedModels: tensors by names that callers use.

use crate::graph::{Node, ShapeAnalysis};
use crate::{DType, Graph, PartialShape, Result, Tensor, TensorName, placeholder_shape, proto};
use flowmill_tensor::bail;
use proto::tensor_info::Encoding;
use std::collections::BTreeMap;

/// A named way to call a model.
///
/// A sparse tensor `s` is listed by its parts `s.indices`, `s.values` and `s.dense_shape`, another composite one by `s.0`, `s.1` and so on.
#[derive(Clone, Debug, Default)]
pub struct Signature {
    /// The inputs by name.
    pub inputs: BTreeMap<String, TensorSpec>,
    /// The outputs by name.
    pub outputs: BTreeMap<String, TensorSpec>,
    /// TensorFlow's method name, such as `tensorflow/serving/predict`.
    pub method: String,
}

/// A tensor of a signature.
#[derive(Clone, Debug)]
pub struct TensorSpec {
    /// Its name in the graph.
    pub tensor: String,
    /// Its type; of a reference, the type of what it refers to.
    pub dtype: DType,
    /// Its static shape.
    pub shape: PartialShape,
    /// The name of the value that it is a part of.
    pub part_of: Option<String>,
}

impl Signature {
    /// The tensors to feed for inputs by name, each once. Of several inputs that are one tensor, one is enough.
    ///
    /// # Errors
    /// `InvalidArgument` for a missing or unknown input, and for different values of one tensor.
    pub fn feeds<'a>(&'a self, inputs: &[(&str, Tensor)]) -> Result<Vec<(&'a str, Tensor)>> {
        let takes = || self.inputs.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
        let mut feeds: BTreeMap<&str, (&str, &Tensor)> = BTreeMap::new();
        for (name, value) in inputs {
            let Some(spec) = self.inputs.get(*name) else { bail!(InvalidArgument, "has no input '{name}'; it takes: {}", takes()) };
            match feeds.insert(&spec.tensor, (name, value)) {
                Some((other, before)) if !is_same(before, value) => {
                    bail!(InvalidArgument, "inputs '{other}' and '{name}' are one tensor, '{}', and have different values", spec.tensor)
                }
                _ => {}
            }
        }
        if let Some((missing, _)) = self.inputs.iter().find(|(_, spec)| !feeds.contains_key(spec.tensor.as_str())) {
            bail!(InvalidArgument, "input '{missing}' is missing; it takes: {}", takes());
        }
        Ok(feeds.into_iter().map(|(tensor, (_, value))| (tensor, value.clone())).collect())
    }
}

/// Returns the signature of a graph that has none, such as a frozen one: its inputs are the placeholders that have no default, its outputs are the
/// outputs 0 of nodes that nothing consumes, or `fetches` if there are any. Names are those of the graph, without `:0`.
///
/// # Errors
/// `NotFound` for a fetch that is not a tensor of the graph.
pub fn graph_signature(graph: &Graph, fetches: &[String]) -> Result<Signature> {
    let shapes = ShapeAnalysis::new(graph);
    let spec_of = |node: &Node, slot: usize| {
        let dtype = node.output_types().get(slot)?.dtype;
        let shape = shapes.shape(node.id().output(u32::try_from(slot).ok()?)).without_symbols();
        Some(TensorSpec { tensor: format!("{}:{slot}", node.name()), dtype, shape, part_of: None })
    };
    let mut signature = Signature { method: "tensorflow/serving/predict".into(), ..Signature::default() };
    for node in graph.op_nodes() {
        let is_input = node.op().starts_with("Placeholder") && !node.op().ends_with("WithDefault");
        let is_output = graph.num_out_edges(node.id()) == 0 && node.num_outputs() > 0 && !node.is_op("Const");
        let Some(spec) = spec_of(node, 0) else { continue };
        if is_input {
            let shape = placeholder_shape(graph, node).unwrap_or_default();
            signature.inputs.insert(node.name().to_owned(), TensorSpec { shape, ..spec });
        } else if is_output && fetches.is_empty() {
            signature.outputs.insert(node.name().to_owned(), spec);
        }
    }
    for fetch in fetches {
        let name = TensorName::parse(fetch).filter(|name| !name.is_control());
        let found = name.and_then(|name| spec_of(graph.find_node(name.node)?, usize::try_from(name.slot).ok()?));
        let Some(spec) = found else { bail!(NotFound, "the graph has no tensor '{fetch}'") };
        signature.outputs.insert(fetch.strip_suffix(":0").unwrap_or(fetch).to_owned(), spec);
    }
    Ok(signature)
}

/// Returns true if two tensors have the same bits.
fn is_same(a: &Tensor, b: &Tensor) -> bool {
    let bits = |t: &Tensor| t.as_bytes().map(<[u8]>::to_vec).ok();
    (a.dtype(), a.shape()) == (b.dtype(), b.shape()) && (bits(a).is_some_and(|bytes| bits(b) == Some(bytes)) || a == b)
}

/// Returns the signatures of a meta graph that are for calling, by name.
///
/// # Errors
/// `InvalidArgument` for a tensor without a name or of a type that does not exist, with the names of signature and tensor.
pub fn signatures(meta_graph: &proto::MetaGraphDef) -> Result<BTreeMap<String, Signature>> {
    // Signatures that only name an op, such as the one for initialisation, are not for calling.
    let callable = meta_graph.signature_def.iter().filter(|(name, _)| !name.starts_with("__saved_model"));
    let signature = |(name, def): (&String, &proto::SignatureDef)| {
        let specs = |infos| specs(infos).map_err(|error| error.context(format_args!("signature '{name}'")));
        Ok((name.clone(), Signature { inputs: specs(&def.inputs)?, outputs: specs(&def.outputs)?, method: def.method_name.clone() }))
    };
    callable.map(signature).collect()
}

fn specs(infos: &BTreeMap<String, proto::TensorInfo>) -> Result<BTreeMap<String, TensorSpec>> {
    let mut found = BTreeMap::new();
    for (name, info) in infos {
        let mut parts = Vec::new();
        add_parts(name, info, None, &mut parts)?;
        for (part, spec) in parts {
            if found.insert(part.clone(), spec).is_some() || (part != *name && infos.contains_key(&part)) {
                bail!(InvalidArgument, "tensor '{name}' has a part called '{part}', as another tensor is");
            }
        }
    }
    Ok(found)
}

/// The dense tensors that a message describes, by name.
fn add_parts(name: &str, info: &proto::TensorInfo, part_of: Option<&str>, found: &mut Vec<(String, TensorSpec)>) -> Result<()> {
    let shape = info.tensor_shape.as_ref().map_or_else(PartialShape::unknown, PartialShape::from_proto);
    let dtype = |number: i32| match dtype_of(number) {
        Some(dtype) => Ok(dtype),
        None => bail!(InvalidArgument, "tensor '{name}' has type number {number}, which does not exist"),
    };
    let spec = |tensor: &str, dtype, shape, part_of: Option<&str>| TensorSpec {
        tensor: tensor.to_owned(),
        dtype,
        shape,
        part_of: part_of.map(str::to_owned),
    };
    match &info.encoding {
        Some(Encoding::Name(tensor)) => found.push((name.to_owned(), spec(tensor, dtype(info.dtype)?, shape, part_of))),
        Some(Encoding::CooSparse(sparse)) => {
            let rank = shape.rank().map_or(-1, |rank| rank as i64);
            let whole = Some(part_of.unwrap_or(name));
            let mut add = |part: &str, tensor: &str, dtype, sizes: &[i64]| {
                found.push((format!("{name}.{part}"), spec(tensor, dtype, PartialShape::new(sizes), whole)));
            };
            add("indices", &sparse.indices_tensor_name, DType::I64, &[-1, rank]);
            add("values", &sparse.values_tensor_name, dtype(info.dtype)?, &[-1]);
            add("dense_shape", &sparse.dense_shape_tensor_name, DType::I64, &[rank]);
        }
        Some(Encoding::CompositeTensor(composite)) => {
            for (i, component) in composite.components.iter().enumerate() {
                add_parts(&format!("{name}.{i}"), component, Some(part_of.unwrap_or(name)), found)?;
            }
        }
        None => bail!(InvalidArgument, "tensor '{name}' does not say which tensor of the graph it is"),
    }
    Ok(())
}

/// Returns the element type of a signature's tensor, which may be a reference.
fn dtype_of(number: i32) -> Option<DType> {
    const FIRST_REFERENCE: i32 = 100;
    DType::from_number(if number > FIRST_REFERENCE { number - FIRST_REFERENCE } else { number })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use proto::tensor_info::{CompositeTensor, CooSparse};
    use proto::{MetaGraphDef, SignatureDef, TensorInfo, TensorShapeProto};

    fn info(dtype: i32, encoding: Option<Encoding>) -> TensorInfo {
        TensorInfo { dtype, encoding, tensor_shape: Some(TensorShapeProto::of([-1, 3])), ..TensorInfo::default() }
    }

    fn named(name: &str) -> Option<Encoding> {
        Some(Encoding::Name(name.to_owned()))
    }

    fn with_inputs(inputs: impl IntoIterator<Item = (&'static str, TensorInfo)>) -> Result<Signature> {
        let inputs = inputs.into_iter().map(|(name, info)| (name.to_owned(), info)).collect();
        let signature = SignatureDef { inputs, ..SignatureDef::default() };
        let meta_graph = MetaGraphDef { signature_def: [("f".to_owned(), signature)].into(), ..MetaGraphDef::default() };
        Ok(signatures(&meta_graph)?.remove("f").unwrap())
    }

    #[test]
    fn references_have_the_type_of_their_value() {
        let signature = with_inputs([("count", info(103, named("counter:0")))]).unwrap();
        assert_eq!(signature.inputs["count"].dtype, DType::I32);
        assert!(with_inputs([("count", info(199, named("counter:0")))]).unwrap_err().message().contains("type number 199"));
        assert!(with_inputs([("count", info(1, None))]).unwrap_err().message().contains("'count'"));
    }

    #[test]
    fn sparse_and_composite_tensors_are_listed_by_their_parts() {
        let sparse = CooSparse {
            values_tensor_name: "v:0".into(),
            indices_tensor_name: "i:0".into(),
            dense_shape_tensor_name: "d:0".into(),
            ..CooSparse::default()
        };
        let composite = CompositeTensor { components: vec![info(1, named("a:0")), info(9, named("b:0"))], ..CompositeTensor::default() };
        let inputs = [("s", info(1, Some(Encoding::CooSparse(sparse)))), ("r", info(0, Some(Encoding::CompositeTensor(composite))))];
        let signature = with_inputs(inputs.clone()).unwrap();
        let listed: Vec<_> = signature.inputs.iter().map(|(name, s)| (name.as_str(), s.tensor.as_str(), s.dtype)).collect();
        let expected = [
            ("r.0", "a:0", DType::F32),
            ("r.1", "b:0", DType::I64),
            ("s.dense_shape", "d:0", DType::I64),
            ("s.indices", "i:0", DType::I64),
            ("s.values", "v:0", DType::F32),
        ];
        assert_eq!(listed, expected);
        assert_eq!(signature.inputs["s.indices"].shape, PartialShape::new(&[-1, 2]));
        assert_eq!(signature.inputs["r.1"].part_of.as_deref(), Some("r"));
        assert!(with_inputs(inputs.into_iter().chain([("s.values", info(1, named("x:0")))])).is_err());
    }

    #[test]
    fn inputs_of_one_tensor_are_fed_once() {
        let signature = with_inputs([("a", info(1, named("x:0"))), ("b", info(1, named("x:0")))]).unwrap();
        let (one, nan) = (Tensor::scalar(1.0f32), Tensor::scalar(f32::NAN));
        for inputs in [vec![("a", one.clone())], vec![("b", one.clone())], vec![("a", nan.clone()), ("b", nan.clone())]] {
            let feeds = signature.feeds(&inputs).unwrap();
            assert_eq!(feeds.iter().map(|(tensor, _)| *tensor).collect::<Vec<_>>(), ["x:0"]);
        }
        let error = signature.feeds(&[("a", one), ("b", nan)]).unwrap_err();
        assert!(error.message().contains("different values"), "{error}");
        assert!(signature.feeds(&[]).unwrap_err().message().contains("'a' is missing"));
    }
}
