//! SavedModels, ready to run.

use crate::{
    DType, ImportOptions, PartialShape, Result, Session, SessionOptions, Tensor, files, import_graph_def, new_graph, proto, session,
};
use flowmill_tensor::bail;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// A model with its variables restored and its tables filled.
pub struct SavedModel {
    session: Arc<Session>,
    signatures: BTreeMap<String, Signature>,
}

/// A named way to call a model.
#[derive(Clone, Debug)]
pub struct Signature {
    /// What it takes, by name.
    pub inputs: BTreeMap<String, TensorSpec>,
    /// What it gives, by name.
    pub outputs: BTreeMap<String, TensorSpec>,
    /// TensorFlow's method name, such as `tensorflow/serving/predict`.
    pub method: String,
}

/// A tensor of a signature.
#[derive(Clone, Debug)]
pub struct TensorSpec {
    /// Its name in the graph.
    pub tensor: String,
    /// Its type.
    pub dtype: DType,
    /// Its static shape.
    pub shape: PartialShape,
}

impl SavedModel {
    /// Loads the graph with exactly these tags (`["serve"]` for most models) from a directory, restores its variables and runs its
    /// initialisation op. Models of both versions of the format.
    ///
    /// # Errors
    /// `NotFound` for a missing model, tag set, file or variable; `DataLoss` for damaged files; `NotFound` listing all ops that Flowmill lacks.
    pub fn load(path: impl AsRef<Path>, tags: &[&str], options: SessionOptions) -> Result<SavedModel> {
        let mut loaded = files::SavedModel::open(path)?.load(tags)?;
        let graph_def = loaded.meta_graph.graph_def.take().unwrap_or_default();
        let mut graph = new_graph()?;
        import_graph_def(&mut graph, graph_def, &ImportOptions::default())?;
        let session = session(graph, options)?;
        prepare(&session, &loaded)?;
        Ok(SavedModel { session, signatures: signatures(&loaded.meta_graph)? })
    }

    /// The session the model runs in.
    pub fn session(&self) -> &Arc<Session> {
        &self.session
    }

    /// The signatures by name.
    pub fn signatures(&self) -> &BTreeMap<String, Signature> {
        &self.signatures
    }

    /// Calls a signature with inputs by name, and gives its outputs by name.
    ///
    /// # Errors
    /// `NotFound` for a signature that does not exist, `InvalidArgument` for a missing or unknown input; what the run gives.
    pub fn run(&self, signature: &str, inputs: &[(&str, Tensor)]) -> Result<BTreeMap<String, Tensor>> {
        let Some(found) = self.signatures.get(signature) else {
            let known: Vec<&str> = self.signatures.keys().map(String::as_str).collect();
            bail!(NotFound, "the model has no signature '{signature}'; it has: {}", known.join(", "));
        };
        let mut feeds = Vec::with_capacity(inputs.len());
        for (name, value) in inputs {
            match found.inputs.get(*name) {
                Some(spec) => feeds.push((spec.tensor.as_str(), value.clone())),
                None => bail!(InvalidArgument, "signature '{signature}' has no input '{name}'; it takes: {}", names(&found.inputs)),
            }
        }
        if let Some(missing) = found.inputs.keys().find(|k| !inputs.iter().any(|(name, _)| name == k)) {
            bail!(InvalidArgument, "input '{missing}' of signature '{signature}' is missing; it takes: {}", names(&found.inputs));
        }
        let fetches: Vec<&str> = found.outputs.values().map(|s| s.tensor.as_str()).collect();
        let values = self.session.run(&feeds, &fetches, &[])?;
        Ok(found.outputs.keys().cloned().zip(values).collect())
    }
}

fn names(specs: &BTreeMap<String, TensorSpec>) -> String {
    specs.keys().map(String::as_str).collect::<Vec<_>>().join(", ")
}

/// Restores variables and runs the initialisation op of a model whose graph `session` has.
///
/// # Errors
/// What the checkpoint and the ops give.
pub fn prepare(session: &Session, loaded: &files::LoadedModel) -> Result<()> {
    let path_text = |path: &Path| Tensor::string(path.to_string_lossy().into_owned().into_bytes());
    // An asset may be listed more than once.
    let assets: BTreeMap<&str, &Path> = loaded.assets.iter().map(|a| (a.tensor.as_str(), a.path.as_path())).collect();
    let mut feeds: Vec<(&str, Tensor)> = assets.into_iter().map(|(tensor, path)| (tensor, path_text(path))).collect();
    if let Some(restore) = &loaded.restore {
        feeds.push((&restore.path_tensor, path_text(&restore.path)));
        session.run(&feeds, &[], &[&restore.op])?;
        feeds.pop();
    }
    if let Some(op) = &loaded.init_op {
        session.run(&feeds, &[], &[op])?;
    }
    Ok(())
}

/// The signatures of a meta graph that are for calling, by name.
///
/// # Errors
/// `Unimplemented` for sparse and composite tensors, `InvalidArgument` for a type that does not exist.
pub fn signatures(meta_graph: &proto::MetaGraphDef) -> Result<BTreeMap<String, Signature>> {
    let spec = |info: &proto::TensorInfo| -> Result<TensorSpec> {
        let Some(proto::tensor_info::Encoding::Name(tensor)) = &info.encoding else {
            bail!(Unimplemented, "a signature's sparse or composite tensor");
        };
        let Some(dtype) = DType::from_number(info.dtype) else { bail!(InvalidArgument, "type number {} in a signature", info.dtype) };
        let shape = info.tensor_shape.as_ref().map_or_else(PartialShape::unknown, PartialShape::from_proto);
        Ok(TensorSpec { tensor: tensor.clone(), dtype, shape })
    };
    let specs = |infos: &std::collections::BTreeMap<String, proto::TensorInfo>| {
        infos.iter().map(|(k, v)| Ok((k.clone(), spec(v)?))).collect::<Result<_>>()
    };
    // Signatures that only name an op, such as the one for initialisation, are not for calling.
    let callable = |name: &str| !name.starts_with("__saved_model");
    let signature =
        |s: &proto::SignatureDef| Ok(Signature { inputs: specs(&s.inputs)?, outputs: specs(&s.outputs)?, method: s.method_name.clone() });
    meta_graph.signature_def.iter().filter(|(name, _)| callable(name)).map(|(name, s)| Ok((name.clone(), signature(s)?))).collect()
}
