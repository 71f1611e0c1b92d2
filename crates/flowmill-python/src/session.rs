//! `flowmill._core.Session` and `Callable`: steps from Python values to Python values.

use crate::attrs::{partial_shape, shape_to_python};
use crate::convert::{from_python, to_numpy};
use crate::device_tensor::{self, PyDeviceTensor};
use crate::errors::invalid_argument;
use crate::gate::{self, PythonFunction};
use crate::graph::PyGraph;
use crate::locks::{self, Locked, Reading};
use crate::py_func;
use flowmill::gpu::cuda::CudaOptions;
use flowmill::gpu::{self, GpuOptions, MemoryOptions};
use flowmill_cost::Machine;
use flowmill_graph::{Graph, TensorName, placeholder_shape};
use flowmill_proto::Message;
use flowmill_runtime::program::FuseOptions;
use flowmill_runtime::{Device, DeviceAttributes};
use flowmill_session::{
    Callable, CallableOptions, CostPlacement, PlacementPolicy, RunOptions, RunOutcome, Session, SessionOptions, ThreadPoolOption,
};
use flowmill_tensor::{DType, PartialShape, Result, Tensor, error};
use flowmill_timeline::step_stats;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyTuple};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// The values of a run, its statistics, its graphs and its costs.
type RunParts<'py> = (Bound<'py, PyAny>, Option<Bound<'py, PyBytes>>, Vec<Bound<'py, PyBytes>>, Option<Bound<'py, PyBytes>>);

/// Returns the policy of this name. `machine` is the path of a machine's description. The other arguments override the defaults of [`CostPlacement`].
fn placement_policy(name: &str, machine: Option<PathBuf>, measured_steps: Option<u64>, min_gain: Option<f64>) -> Result<PlacementPolicy> {
    match name {
        "simple" => Ok(PlacementPolicy::Simple),
        "cost_model" => {
            let machine = machine.map(|path| Machine::read(&path).map(Arc::new)).transpose()?;
            let usual = CostPlacement::default();
            let min_gain = min_gain.unwrap_or(usual.min_gain);
            if !(0.0..1.0).contains(&min_gain) {
                return Err(error!(InvalidArgument, "placement_min_gain must be at least 0 and less than 1, not {min_gain}"));
            }
            let measured_steps = measured_steps.unwrap_or(usual.measured_steps);
            Ok(PlacementPolicy::CostModel(CostPlacement { machine, measured_steps, min_gain, ..usual }))
        }
        _ => Err(error!(InvalidArgument, "placement must be 'simple' or 'cost_model', not '{name}'")),
    }
}

/// A session.
#[pyclass(frozen, name = "Session", module = "flowmill._core")]
pub struct PySession(Arc<Session>);

#[pymethods]
impl PySession {
    #[new]
    #[pyo3(signature = (graph, *, intra_op_threads=0, inter_op_threads=0, device_count=BTreeMap::new(), allow_soft_placement=false, optimize=true,
        lower=true, disabled_passes=Vec::new(), strands=true, loops=true, parallel_iterations=None, timeout=None, place_pruned_graph=false,
        thread_pools=Vec::new(), gpu_fraction=None, gpu_growth=true, cuda_paths=Vec::new(), log_device_placement=false,
        placement="simple", machine=None, build_cost_model=0, build_cost_model_after=0, enable_recv_scheduling=false,
         placement_measured_steps=None, placement_min_gain=None, inference_precision="f32"))]
    #[allow(clippy::too_many_arguments, reason = "keywords in Python")]
    fn new(
        graph: &Bound<'_, PyGraph>,
        intra_op_threads: usize,
        inter_op_threads: usize,
        device_count: BTreeMap<String, usize>,
        allow_soft_placement: bool,
        optimize: bool,
        lower: bool,
        disabled_passes: Vec<String>,
        strands: bool,
        loops: bool,
        parallel_iterations: Option<u32>,
        timeout: Option<f64>,
        place_pruned_graph: bool,
        thread_pools: Vec<(usize, String)>,
        gpu_fraction: Option<f64>,
        gpu_growth: bool,
        cuda_paths: Vec<PathBuf>,
        log_device_placement: bool,
        placement: &str,
        machine: Option<PathBuf>,
        build_cost_model: u64,
        build_cost_model_after: u64,
        enable_recv_scheduling: bool,
        placement_measured_steps: Option<u64>,
        placement_min_gain: Option<f64>,
        inference_precision: &str,
    ) -> PyResult<PySession> {
        let num_gpus = device_count.get("GPU").copied().unwrap_or(0);
        let options = SessionOptions {
            intra_op_threads,
            inter_op_threads,
            device_count,
            allow_soft_placement,
            log_device_placement,
            placement: gate::detached(graph.py(), || placement_policy(placement, machine, placement_measured_steps, placement_min_gain))?,
            build_cost_model,
            build_cost_model_after,
            enable_recv_scheduling,
            place_pruned_graph,
            thread_pools: thread_pools
                .into_iter()
                .map(|(num_threads, global_name)| ThreadPoolOption { num_threads, global_name })
                .collect(),
            optimize,
            lower,
            disabled_passes,
            inference_precision: gate::detached(graph.py(), || inference_precision.parse())?,
            fuse: FuseOptions { strands, loops, ..FuseOptions::ALL },
            parallel_iterations,
            timeout: timeout.map(|t| seconds(graph.py(), t)).transpose()?,
            ..SessionOptions::default()
        };
        let shared = graph.get().shared().clone();
        let gpu_options =
            GpuOptions { memory: MemoryOptions { fraction: gpu_fraction, allow_growth: gpu_growth }, ..GpuOptions::from_env() };
        let session = gate::detached(graph.py(), || {
            let mut devices = options.cpus(&py_func::kernels())?;
            if num_gpus > 0 {
                let mut cuda = CudaOptions::from_env();
                cuda.library_paths.extend(cuda_paths);
                devices.extend(gpu::shared_devices(&cuda, gpu_options)?.into_iter().take(num_gpus));
            }
            Session::with_devices(shared, devices, options)
        })?;
        Ok(PySession(Arc::new(session)))
    }

    /// Prepares a step. Of each pair of `connections` the first tensor is fed for the second. `layout` has for each value to give its place among `fetches`, or `None` for a `None`; without a layout the one
    /// fetch is given by itself. `shapes` are what is known of the feeds' shapes beside what placeholders say. `feed_devices` and `fetch_devices` are pairs
    /// of tensors and devices: these feeds may be in the memory of the device, and these fetches stay there.
    #[pyo3(signature = (feeds, fetches, targets, layout, connections=Vec::new(), shapes=Vec::new(), feed_devices=Vec::new(),
        fetch_devices=Vec::new()))]
    #[allow(clippy::too_many_arguments, reason = "keywords in Python")]
    fn make_callable(
        &self,
        py: Python<'_>,
        feeds: Vec<String>,
        fetches: Vec<String>,
        targets: Vec<String>,
        layout: Option<Vec<Option<usize>>>,
        connections: Vec<(String, String)>,
        shapes: Vec<Option<Vec<i64>>>,
        feed_devices: Vec<(String, String)>,
        fetch_devices: Vec<(String, String)>,
    ) -> PyResult<PyCallable> {
        let layout = match layout {
            None => Layout::Single,
            Some(places) => Layout::List(places),
        };
        let names = Names { feeds, fetches, targets, connections, feed_devices, fetch_devices };
        let state = names.prepare(py, &self.0)?;
        let shapes = shapes.into_iter().map(partial_shape).collect();
        Ok(PyCallable { session: self.0.clone(), names, shapes, layout, state: Locked::new(Arc::new(state)) })
    }

    /// Returns the name, type, memory in bytes, incarnation and description of each device, the CPUs first.
    fn devices(&self) -> Vec<(String, String, usize, u64, String)> {
        let described =
            |d: &DeviceAttributes| (d.name.to_string(), d.device_type().to_owned(), d.memory_limit, d.incarnation, d.description.clone());
        self.0.devices().map(described).collect()
    }

    /// Returns the full name of the device of each node of the graph, by the node's name.
    fn placement(&self, py: Python<'_>) -> PyResult<std::collections::BTreeMap<String, String>> {
        gate::detached(py, || self.0.placement())
    }

    /// Compares the predicted times of a step's nodes with the measured ones, as text with the `top` largest differences.
    fn placement_report(
        &self,
        py: Python<'_>,
        feeds: Vec<String>,
        fetches: Vec<String>,
        targets: Vec<String>,
        top: usize,
    ) -> PyResult<String> {
        let [feeds, fetches, targets] = [&feeds, &fetches, &targets].map(|names| Names::all(names));
        gate::detached(py, || Ok(self.0.placement_report(&feeds, &fetches, &targets)?.text(top)))
    }

    /// Returns the number of steps that the session keeps prepared.
    fn max_plans(&self) -> usize {
        self.0.max_plans()
    }

    /// Returns the number of prepared steps, and of those that were dropped because there were more than [`PySession::max_plans`].
    fn plan_counts(&self) -> (usize, u64) {
        (self.0.num_plans(), self.0.num_evicted_plans())
    }

    /// Ends the preparing of steps.
    fn finalize(&self) {
        self.0.finalize();
    }

    fn close(&self, py: Python<'_>) {
        py.detach(|| self.0.close());
    }

    /// Drops the resources in these containers; all if the list is empty.
    fn reset(&self, py: Python<'_>, containers: Vec<String>) {
        py.detach(|| self.0.reset(&containers));
    }
}

impl PySession {
    /// Returns the session.
    pub fn session(&self) -> &Arc<Session> {
        &self.0
    }

    /// Wraps a session.
    pub fn wrap(session: Arc<Session>) -> PySession {
        PySession(session)
    }
}

pub(crate) fn seconds(py: Python<'_>, seconds: f64) -> PyResult<Duration> {
    Duration::try_from_secs_f64(seconds).map_err(|e| invalid_argument(py, format!("a timeout of {seconds} s: {e}")))
}

/// A step with its feeds, fetches and targets looked up, called with one value per feed.
#[pyclass(frozen, name = "Callable", module = "flowmill._core")]
pub struct PyCallable {
    session: Arc<Session>,
    names: Names,
    shapes: Vec<PartialShape>,
    layout: Layout,
    state: Locked<Arc<State>>,
}

struct Names {
    feeds: Vec<String>,
    fetches: Vec<String>,
    targets: Vec<String>,
    connections: Vec<(String, String)>,
    feed_devices: Vec<(String, String)>,
    fetch_devices: Vec<(String, String)>,
}

enum Layout {
    Single,
    List(Vec<Option<usize>>),
}

/// The data that become invalid when the graph changes.
struct State {
    callable: Callable,
    feeds: Vec<Feed>,
    change_count: u64,
}

struct Feed {
    dtype: DType,
    shape: PartialShape,
    /// The device whose memory the value may be in.
    device: Option<Arc<dyn Device>>,
}

impl Names {
    fn all(names: &[String]) -> Vec<&str> {
        names.iter().map(String::as_str).collect()
    }

    fn pairs(pairs: &[(String, String)]) -> Vec<(&str, &str)> {
        pairs.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect()
    }

    fn prepare(&self, py: Python<'_>, session: &Arc<Session>) -> PyResult<State> {
        let change_count = locks::with(py, Reading(session.graph()), |graph| graph.change_count());
        let [connections, feed_devices, fetch_devices] =
            [&self.connections, &self.feed_devices, &self.fetch_devices].map(|pairs| Names::pairs(pairs));
        let (feeds, fetches, targets) = (Names::all(&self.feeds), Names::all(&self.fetches), Names::all(&self.targets));
        let options = CallableOptions {
            feeds: &feeds,
            fetches: &fetches,
            targets: &targets,
            connections: &connections,
            feed_devices: &feed_devices,
            fetch_devices: &fetch_devices,
        };
        let callable = gate::detached(py, || session.make_callable_with(&options))?;
        let describe = |graph: &Graph, name: &&str| {
            let requested = feed_devices.iter().find(|(feed, _)| feed == name);
            let device = requested.and_then(|(_, device)| session.device(device)).filter(|device| !device.is_host());
            Feed { device: device.cloned(), ..describe(graph, name) }
        };
        let feeds = locks::with(py, Reading(session.graph()), |graph| feeds.iter().map(|name| describe(graph, name)).collect());
        Ok(State { callable, feeds, change_count })
    }
}

/// Returns the facts about a fed tensor that Python needs; its name was checked.
fn describe(graph: &Graph, name: &str) -> Feed {
    let unknown = || Feed { dtype: DType::F32, shape: PartialShape::unknown(), device: None };
    let Some(tensor) = TensorName::parse(name) else { return unknown() };
    let Some(node) = graph.find_node(tensor.node) else { return unknown() };
    let Some(output) = node.output_types().get(tensor.slot as usize) else { return unknown() };
    Feed { dtype: output.dtype, shape: placeholder_shape(graph, node).unwrap_or_default(), device: None }
}

impl PyCallable {
    /// Returns the state for the graph as it is now.
    fn state(&self, py: Python<'_>) -> PyResult<Arc<State>> {
        let (state, change_count) =
            locks::with(py, (&self.state, Reading(self.session.graph())), |(state, graph)| (Arc::clone(state), graph.change_count()));
        if change_count == state.change_count {
            return Ok(state);
        }
        let new = Arc::new(self.names.prepare(py, &self.session)?);
        let given = new.clone();
        drop(locks::with(py, &self.state, |state| std::mem::replace(&mut **state, new)));
        Ok(given)
    }

    fn execute<'py>(&self, py: Python<'py>, values: &[Bound<'py, PyAny>], options: RunOptions) -> PyResult<RunOutcome> {
        let state = self.state(py)?;
        if values.len() != state.feeds.len() {
            return Err(invalid_argument(py, format!("{} values for {} feeds", values.len(), state.feeds.len())));
        }
        let mut args = Vec::with_capacity(values.len());
        for (i, (value, feed)) in values.iter().zip(&state.feeds).enumerate() {
            args.push(self.feed(i, value, feed)?);
        }
        gate::step(py, |token, poll| state.callable.run_with(args, &RunOptions { cancel: Some(token), poll, ..options }))
    }

    /// Returns a value as the tensor to feed.
    fn feed(&self, i: usize, value: &Bound<'_, PyAny>, feed: &Feed) -> PyResult<Tensor> {
        let py = value.py();
        let known = self.shapes.get(i);
        let refused = |cause: Option<PyErr>| {
            let name = self.names.feeds.get(i).map_or("", String::as_str);
            let number = feed.dtype.number();
            static EXPLAIN: PythonFunction = PythonFunction::new("flowmill._internal.feeds", "refusal");
            let shape = known.and_then(|known| feed.shape.merge(known).ok()).unwrap_or_else(|| feed.shape.clone());
            PyResult::Ok(PyErr::from_value(EXPLAIN.call(py, (name, number, shape_to_python(&shape), value, cause))?))
        };
        let on_device = match &feed.device {
            Some(device) => device_tensor::from_python(value, device, feed.dtype)?,
            None => None,
        };
        match on_device.map_or_else(|| from_python(value, Some(feed.dtype)), Ok) {
            Ok(tensor) if feed.shape.is_compatible_with(tensor.shape()) && known.is_none_or(|s| s.is_compatible_with(tensor.shape())) => {
                Ok(tensor)
            }
            Ok(_) => Err(refused(None)?),
            Err(cause) => Err(refused(Some(cause))?),
        }
    }

    /// Returns a fetched value: an array, or a tensor that has stayed in the memory of a device.
    fn to_python<'py>(&self, py: Python<'py>, value: Tensor) -> PyResult<Bound<'py, PyAny>> {
        let device = value.device_memory().and_then(|memory| self.session.device(memory.device()));
        match device {
            Some(device) => Ok(Bound::new(py, PyDeviceTensor::new(value, device.clone()))?.into_any()),
            None => to_numpy(py, value),
        }
    }

    fn lay_out<'py>(&self, py: Python<'py>, values: Vec<Tensor>) -> PyResult<Bound<'py, PyAny>> {
        match &self.layout {
            Layout::Single => match values.into_iter().next() {
                Some(value) => self.to_python(py, value),
                None => Ok(py.None().into_bound(py)),
            },
            Layout::List(places) => {
                let values = values.into_iter().map(|v| self.to_python(py, v)).collect::<PyResult<Vec<_>>>()?;
                let none = py.None().into_bound(py);
                Ok(PyList::new(py, places.iter().map(|place| place.and_then(|i| values.get(i)).unwrap_or(&none)))?.into_any())
            }
        }
    }
}

#[pymethods]
impl PyCallable {
    /// Runs the step with one value for each feed.
    #[pyo3(signature = (*values))]
    fn __call__<'py>(&self, py: Python<'py>, values: &Bound<'py, PyTuple>) -> PyResult<Bound<'py, PyAny>> {
        let values: Vec<Bound<'py, PyAny>> = values.iter().collect();
        let outcome = self.execute(py, &values, RunOptions::default())?;
        self.lay_out(py, outcome.values)
    }

    /// Returns what the passes did to the graph that the step runs: the numbers of nodes before and after, and for each pass its name, the number of
    /// its changes and the error that undid them, if any.
    fn optimizations(&self, py: Python<'_>) -> PyResult<(usize, usize, Vec<(&'static str, usize, Option<String>)>)> {
        let state = self.state(py)?;
        let report = state.callable.optimizations();
        let passes = report.passes.iter().map(|p| (p.name, p.num_changes, p.error.as_ref().map(ToString::to_string))).collect();
        Ok((report.num_nodes_before, report.num_nodes_after, passes))
    }

    /// Like [`PySession::run_simple`], with options: `timeout` is in seconds; `trace` returns statistics, as a serialised `StepStats`; `pool` is the
    /// number of one of the session's pools, -1 is the caller's thread; `partition_graphs` returns the graph of each device, as serialised `GraphDef`s. The last
    /// result is a serialised `CostGraphDef`, if the step updated the costs of its signature.
    #[pyo3(signature = (values, *, timeout=None, trace=false, inter_op_thread_pool=0, partition_graphs=false))]
    fn run<'py>(
        &self,
        py: Python<'py>,
        values: Vec<Bound<'py, PyAny>>,
        timeout: Option<f64>,
        trace: bool,
        inter_op_thread_pool: i32,
        partition_graphs: bool,
    ) -> PyResult<RunParts<'py>> {
        let timeout = timeout.map(|t| seconds(py, t)).transpose()?;
        let options =
            RunOptions { timeout, trace, inter_op_thread_pool, output_partition_graphs: partition_graphs, ..RunOptions::default() };
        let outcome = self.execute(py, &values, options)?;
        let stats = outcome.stats.as_ref().map(|s| PyBytes::new(py, &step_stats(s).encode_to_vec()));
        let graphs = outcome.partition_graphs.iter().map(|graph| PyBytes::new(py, &graph.encode_to_vec())).collect();
        let costs = outcome.cost_graph.as_ref().map(|costs| PyBytes::new(py, &costs.encode_to_vec()));
        Ok((self.lay_out(py, outcome.values)?, stats, graphs, costs))
    }
}
