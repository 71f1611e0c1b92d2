//! A model that a command runs: a SavedModel's signature, or a frozen graph with named tensors.

use crate::ModelArgs;
use flowmill::files::ModelPath;
use flowmill::{
    DType, Error, Graph, OptimizationReport, PartialShape, Result, RunOptions, SavedModel, Session, SessionOptions, Signature, Tensor,
    TensorSpec, graph_signature, load_graph_with, session,
};
use flowmill_session::{RunOutcome, SimulatedStep, StepGraphs};
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
        let bar = crate::progress::spinner("loading");
        let model = match ModelPath::detect(&args.path)? {
            ModelPath::SavedModel(path) => Model::saved_model(&path, args, options),
            ModelPath::Graph(path) => Model::frozen(load_graph_with(path, args.file_access())?, args, options),
            ModelPath::MetaGraph(path) | ModelPath::Checkpoint(path) => Err(Error::invalid_argument(format!(
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
        Ok(Model::of(model.session().clone(), function.signature()))
    }

    fn frozen(graph: Graph, args: &ModelArgs, options: SessionOptions) -> Result<Model> {
        let signature = graph_signature(&graph, &args.fetch)?;
        Ok(Model::of(session(graph, options)?, &signature))
    }

    fn of(session: Arc<Session>, signature: &Signature) -> Model {
        let ports = |specs: &BTreeMap<String, TensorSpec>| {
            let port = |(name, spec): (&String, &TensorSpec)| Port {
                name: name.clone(),
                tensor: spec.tensor.clone(),
                dtype: spec.dtype,
                shape: spec.shape.clone(),
            };
            specs.iter().map(port).collect()
        };
        Model { session, inputs: ports(&signature.inputs), outputs: ports(&signature.outputs) }
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
                return Err(Error::invalid_argument(format!("several inputs are the tensor '{tensor}' and have different values")));
            }
        }
        let feeds: Vec<(&str, Tensor)> = feeds.into_iter().collect();
        self.session.run_with(&feeds, &self.fetches(), &[], options)
    }

    /// Returns the shapes of the values of each feed of [`Model::step_graphs`], by the names of [`Model::run`].
    pub(crate) fn feed_shapes(&self, values: &BTreeMap<String, Tensor>) -> Result<Vec<Option<PartialShape>>> {
        let mut shapes: BTreeMap<&str, PartialShape> = BTreeMap::new();
        for (name, value) in values {
            shapes.insert(self.input_tensor(name)?, value.shape().into());
        }
        Ok(self.feeds().into_iter().map(|tensor| shapes.get(tensor).cloned()).collect())
    }

    /// Returns what the passes did to the graph that [`Model::run`] runs with these values.
    pub(crate) fn optimizations(&self, values: &BTreeMap<String, Tensor>) -> Result<Arc<OptimizationReport>> {
        let feeds = values.keys().map(|name| self.input_tensor(name)).collect::<Result<BTreeSet<_>>>()?;
        let feeds: Vec<&str> = feeds.into_iter().collect();
        self.session.optimizations(&feeds, &self.fetches(), &[])
    }

    /// Sets the sizes that the inputs' static shapes leave open to `size`, in the model's graph too.
    pub(crate) fn set_unknown_sizes(&mut self, size: u64) -> Result<()> {
        let size = i64::try_from(size).map_err(|_| Error::invalid_argument("--batch is too large"))?;
        let mut graph = self.session.graph().write();
        for port in &mut self.inputs {
            let Some(dims) = port.shape.dims() else { continue };
            port.shape = PartialShape::new(&dims.iter().map(|&d| if d < 0 { size } else { d }).collect::<Vec<_>>());
            let name = port.tensor.split(':').next().unwrap_or_default();
            if let Some(node) = graph.find_node(name).filter(|node| node.attrs().get::<PartialShape>("shape").is_ok()).map(|node| node.id())
            {
                graph.set_attr(node, "shape", port.shape.to_proto())?;
            }
        }
        Ok(())
    }

    /// Returns the graph of a step of the model before its nodes are placed on devices.
    pub(crate) fn graph_before_placement(&self) -> Result<Graph> {
        self.session.graph_before_placement(&self.feeds(), &self.fetches(), &[])
    }

    /// Simulates a step of the model on the session's devices, with measured costs of nodes if there are any and they are wanted.
    pub(crate) fn simulate_step(&self, with_measured_costs: bool) -> Result<SimulatedStep> {
        self.session.simulate_step(&self.feeds(), &self.fetches(), &[], with_measured_costs)
    }

    /// Returns the model's graph, locked for reading.
    pub(crate) fn graph(&self) -> impl std::ops::Deref<Target = Graph> + '_ {
        self.session.graph().read()
    }

    /// Returns the graphs of a step of the model before and after all passes.
    pub(crate) fn step_graphs(&self) -> Result<StepGraphs> {
        self.session.step_graphs(&self.feeds(), &self.fetches(), &[])
    }

    /// Replaces the inputs by these tensors.
    ///
    /// # Errors
    /// Returns `InvalidArgument` for a name that is not that of a tensor of the graph.
    pub(crate) fn set_feeds(&mut self, tensors: &[String]) -> Result<()> {
        let graph = self.session.graph().read();
        let port = |tensor: &String| {
            let name = flowmill::TensorName::parse(tensor).filter(|name| !name.is_control());
            let node = name.as_ref().and_then(|name| graph.find_node(name.node));
            let output = name.as_ref().and_then(|name| node?.output_types().get(usize::try_from(name.slot).ok()?));
            let Some((node, output)) = node.zip(output) else {
                return Err(Error::invalid_argument(format!("'{tensor}' is not a tensor of the graph")));
            };
            let shape = flowmill::placeholder_shape(&graph, node)?;
            Ok(Port { name: tensor.clone(), tensor: tensor.clone(), dtype: output.dtype, shape })
        };
        let inputs = tensors.iter().map(port).collect::<Result<_>>()?;
        drop(graph);
        self.inputs = inputs;
        Ok(())
    }

    fn feeds(&self) -> Vec<&str> {
        self.distinct_inputs().map(|port| port.tensor.as_str()).collect()
    }

    fn fetches(&self) -> Vec<&str> {
        self.outputs.iter().map(|p| p.tensor.as_str()).collect()
    }

    /// Returns the tensor of an input, by its name or that of its tensor.
    pub(crate) fn input_tensor(&self, name: &str) -> Result<&str> {
        match self.inputs.iter().find(|p| p.name == name || p.tensor == name) {
            Some(port) => Ok(&port.tensor),
            None => {
                let known: Vec<&str> = self.inputs.iter().map(|p| p.name.as_str()).collect();
                Err(Error::invalid_argument(format!("the model has no input '{name}'; it takes: {}", known.join(", "))))
            }
        }
    }
}

/// Reads types of devices with their numbers, such as `CPU:2`.
///
/// # Errors
/// `InvalidArgument` for another text, for no devices of a type, and for a type that is named twice.
pub(crate) fn device_types(devices: &[String]) -> Result<Vec<(String, usize)>> {
    let mut types: Vec<(String, usize)> = Vec::new();
    for text in devices {
        let parsed = text.split_once(':').and_then(|(name, n)| Some((name.to_uppercase(), n.parse().ok()?)));
        let Some((name, n)) = parsed.filter(|(name, n)| !name.is_empty() && *n > 0) else {
            return Err(Error::invalid_argument(format!("--devices: '{text}' is not a type of devices with their number, such as CPU:2")));
        };
        if types.iter().any(|(other, _)| *other == name) {
            return Err(Error::invalid_argument(format!("--devices: '{text}' names a type for the second time")));
        }
        types.push((name, n));
    }
    Ok(types)
}
