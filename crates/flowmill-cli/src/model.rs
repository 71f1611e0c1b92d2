//! A model that a command runs: a SavedModel's signature, or a frozen graph with named tensors.

use crate::ModelArgs;
use flowmill::files::ModelPath;
use flowmill::{
    DType, Graph, OptimizationReport, PartialShape, Result, RunOptions, SavedModel, Session, SessionOptions, Tensor, load_graph_with,
    placeholder_shape, session,
};
use flowmill_session::RunOutcome;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A model with its inputs and outputs by the names that a user knows.
pub(crate) struct Model {
    session: Arc<Session>,
    /// Name, tensor, type, shape.
    pub(crate) inputs: Vec<Port>,
    pub(crate) outputs: Vec<Port>,
}

/// One input or output.
#[derive(Clone)]
pub(crate) struct Port {
    pub(crate) name: String,
    pub(crate) tensor: String,
    pub(crate) dtype: DType,
    pub(crate) shape: PartialShape,
}

impl Model {
    pub(crate) fn load(args: &ModelArgs) -> Result<Model> {
        Model::load_with(args, args.session_options())
    }

    /// Like [`Model::load`], with other options of the session.
    pub(crate) fn load_with(args: &ModelArgs, options: SessionOptions) -> Result<Model> {
        let bar = crate::spinner("loading");
        let model = match ModelPath::detect(&args.path)? {
            ModelPath::SavedModel(path) => Model::saved_model(&path, args, options),
            ModelPath::Graph(path) => Model::frozen(load_graph_with(path, args.file_access())?, args, options),
            ModelPath::MetaGraph(path) | ModelPath::Checkpoint(path) => Err(flowmill::Error::invalid_argument(format!(
                "{}: a model without weights or weights without a model cannot be run",
                path.display()
            ))),
        };
        bar.finish_and_clear();
        model
    }

    fn saved_model(path: &std::path::Path, args: &ModelArgs, options: SessionOptions) -> Result<Model> {
        let tags: Vec<&str> = args.tags.iter().map(String::as_str).collect();
        let model = SavedModel::load_with(path, &tags, options, args.file_access())?;
        let function = model.signature(&args.signature)?;
        let signature = function.signature();
        let ports = |specs: &BTreeMap<String, flowmill::TensorSpec>| {
            let port = |(name, s): (&String, &flowmill::TensorSpec)| Port {
                name: name.clone(),
                tensor: s.tensor.clone(),
                dtype: s.dtype,
                shape: s.shape.clone(),
            };
            specs.iter().map(port).collect()
        };
        Ok(Model { session: model.session().clone(), inputs: ports(&signature.inputs), outputs: ports(&signature.outputs) })
    }

    fn frozen(graph: Graph, args: &ModelArgs, options: SessionOptions) -> Result<Model> {
        let inputs = graph.op_nodes().filter(|n| n.op().starts_with("Placeholder") && !n.op().ends_with("WithDefault")).map(|n| Port {
            name: n.name().to_owned(),
            tensor: format!("{}:0", n.name()),
            dtype: n.output_types().first().map_or(DType::F32, |t| t.dtype),
            shape: placeholder_shape(&graph, n).unwrap_or_default(),
        });
        let inputs = inputs.collect();
        let named: Vec<String> = if args.fetch.is_empty() {
            let is_output = |id| graph.num_out_edges(id) == 0;
            graph
                .op_nodes()
                .filter(|n| is_output(n.id()) && n.num_outputs() > 0 && !n.is_op("Const"))
                .map(|n| format!("{}:0", n.name()))
                .collect()
        } else {
            args.fetch.clone()
        };
        let outputs = named.into_iter().map(|tensor| Port {
            name: tensor.trim_end_matches(":0").to_owned(),
            tensor,
            dtype: DType::F32,
            shape: PartialShape::unknown(),
        });
        let outputs = outputs.collect();
        Ok(Model { session: session(graph, options)?, inputs, outputs })
    }

    /// Returns the inputs without those that are the tensor of one before.
    pub(crate) fn distinct_inputs(&self) -> impl Iterator<Item = &Port> {
        let mut seen = BTreeSet::new();
        self.inputs.iter().filter(move |port| seen.insert(&port.tensor))
    }

    /// Runs with one value for each of `inputs`, by name; a name may be an input's or its tensor's.
    pub(crate) fn run(&self, values: &BTreeMap<String, Tensor>, options: &RunOptions) -> Result<RunOutcome> {
        let mut feeds: BTreeMap<&str, Tensor> = BTreeMap::new();
        for (name, value) in values {
            let tensor = self.input_tensor(name)?;
            let before = feeds.insert(tensor, value.clone());
            if before.is_some_and(|before| before != *value) {
                return Err(flowmill::Error::invalid_argument(format!(
                    "several inputs are the tensor '{tensor}' and have different values"
                )));
            }
        }
        let feeds: Vec<(&str, Tensor)> = feeds.into_iter().collect();
        self.session.run_with(&feeds, &self.fetches(), &[], options)
    }

    /// Returns what the passes did to the graph that [`Model::run`] runs with these values.
    pub(crate) fn optimizations(&self, values: &BTreeMap<String, Tensor>) -> Result<Arc<OptimizationReport>> {
        let feeds = values.keys().map(|name| self.input_tensor(name)).collect::<Result<BTreeSet<_>>>()?;
        let feeds: Vec<&str> = feeds.into_iter().collect();
        self.session.optimizations(&feeds, &self.fetches(), &[])
    }

    /// Returns the graph whose nodes a step of the model places on devices. Argument `i` is input `i` of [`Model::distinct_inputs`].
    pub(crate) fn graph_before_placement(&self) -> Result<Graph> {
        let feeds: Vec<&str> = self.distinct_inputs().map(|port| port.tensor.as_str()).collect();
        self.session.graph_before_placement(&feeds, &self.fetches(), &[])
    }

    fn fetches(&self) -> Vec<&str> {
        self.outputs.iter().map(|p| p.tensor.as_str()).collect()
    }

    fn input_tensor(&self, name: &str) -> Result<&str> {
        match self.inputs.iter().find(|p| p.name == name || p.tensor == name) {
            Some(port) => Ok(&port.tensor),
            None => {
                let known: Vec<&str> = self.inputs.iter().map(|p| p.name.as_str()).collect();
                Err(flowmill::Error::invalid_argument(format!("the model has no input '{name}'; it takes: {}", known.join(", "))))
            }
        }
    }
}
