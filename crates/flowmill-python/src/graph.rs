//! `flowmill._core.Graph`: a graph shared with its sessions, its nodes named by numbers.

use crate::attrs::{attr_to_python, attr_value, partial_shape, shape_to_python};
use crate::build::{self, PyScope};
use crate::control_flow::{PyCond, PyWhile};
use crate::convert::to_numpy;
use crate::dtypes;
use crate::errors::Raise;
use crate::gate::detached;
use crate::guarded_graph::GuardedGraph;
use flowmill::builder::{ContextId, OuterTensor, Scope, StackOutput, WhileOptions};
use flowmill_graph::{FunctionArg, ImportOptions, NodeId, OutputId};
use flowmill_proto::function_def::ArgAttrs;
use flowmill_proto::{ControlFlowContextDef, FunctionDef, GradientDef, GraphDef, Message, OpList};
use flowmill_savedmodel::FileAccess;
use flowmill_tensor::{Bytes, Result, Tensor};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::{PyBackedBytes, PyBackedStr};
use pyo3::types::{PyBytes, PyTuple};
use rustc_hash::FxHashSet;
use std::ops::Deref;
use std::path::PathBuf;

/// A dataflow graph.
#[pyclass(frozen, name = "Graph", module = "flowmill._core")]
pub struct PyGraph(pub GuardedGraph);

impl Deref for PyGraph {
    type Target = GuardedGraph;

    fn deref(&self) -> &GuardedGraph {
        &self.0
    }
}

#[pymethods]
impl PyGraph {
    #[new]
    fn new(py: Python<'_>) -> PyResult<PyGraph> {
        flowmill::new_graph().raise(py).map(|graph| PyGraph(GuardedGraph::new(graph)))
    }

    /// Adds the nodes of a serialised `GraphDef`, or of the one in a file. Returns a list of `(node, output)` for `return_tensors`, of nodes for
    /// `return_nodes`, and the keys of `input_map` that name nothing.
    #[pyo3(signature = (source, *, prefix, input_map=Vec::new(), return_tensors=Vec::new(), return_nodes=Vec::new(), control_dependencies=Vec::new(), validate_colocation=true, map_file=false, producer_ops=None, stand_ins=false))]
    #[allow(clippy::too_many_arguments, reason = "keywords in Python")]
    fn import_graph_def(
        &self,
        py: Python<'_>,
        source: Source,
        prefix: String,
        input_map: Vec<(String, String)>,
        return_tensors: Vec<String>,
        return_nodes: Vec<String>,
        control_dependencies: Vec<String>,
        validate_colocation: bool,
        map_file: bool,
        producer_ops: Option<&[u8]>,
        stand_ins: bool,
    ) -> PyResult<(Vec<(u32, u32)>, Vec<u32>, Vec<String>)> {
        let producer_ops = producer_ops.map(OpList::decode).transpose();
        let producer_ops = producer_ops.map_err(|error| PyValueError::new_err(format!("producer_op_list is not an OpList: {error}")))?;
        let options = ImportOptions {
            producer_ops: producer_ops.unwrap_or_default().op,
            stand_ins,
            prefix,
            input_map,
            return_tensors,
            return_nodes,
            control_dependencies,
            validate_colocation,
            uniquify_names: true,
            ..ImportOptions::default()
        };
        let def = detached(py, || source.graph_def(file_access(map_file)))?;
        let found = self.import(py, def, &options)?;
        Ok((
            found.return_tensors.iter().map(|t| (t.node.0, t.slot)).collect(),
            found.return_nodes.iter().map(|n| n.0).collect(),
            found.missing_unused_input_map_keys,
        ))
    }

    /// Returns the graph as a serialised `GraphDef`.
    fn to_graph_def<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.0.to_graph_def(py))
    }

    /// `(producer, min_consumer)`.
    fn versions(&self, py: Python<'_>) -> (i32, i32) {
        self.read(py, |graph| (graph.versions().producer, graph.versions().min_consumer))
    }

    /// Returns the largest id given out so far, 0 for an empty graph.
    fn version(&self, py: Python<'_>) -> usize {
        // Ids 0 and 1 are the source and the sink.
        self.read(py, |graph| graph.num_node_ids().saturating_sub(2))
    }

    /// Returns the ids of all nodes, in the order in which they were added.
    fn node_ids(&self, py: Python<'_>) -> Vec<u32> {
        self.read(py, |graph| graph.op_nodes().map(|n| n.id().0).collect())
    }

    /// Returns the id of the node called `name`.
    fn find_node(&self, py: Python<'_>, name: &str) -> Option<u32> {
        self.read(py, |graph| graph.find_node(name).filter(|n| !n.is_source_or_sink()).map(|n| n.id().0))
    }

    /// A node's name, op and number of outputs.
    fn node(&self, py: Python<'_>, id: u32) -> PyResult<(String, String, usize)> {
        self.with_node(py, id, |_, n| Ok((n.name().to_owned(), n.op().to_owned(), n.num_outputs())))
    }

    fn device(&self, py: Python<'_>, id: u32) -> PyResult<String> {
        self.with_node(py, id, |_, n| Ok(n.device().to_owned()))
    }

    /// Returns a node as a serialised `NodeDef`.
    fn node_def<'py>(&self, py: Python<'py>, id: u32) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = self.with_node(py, id, |graph, n| Ok(graph.node_def(n.id())?.encode_to_vec()))?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// Returns the definition of a node's op as a serialised `OpDef`.
    fn op_def<'py>(&self, py: Python<'py>, id: u32) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = self.with_node(py, id, |_, n| Ok(n.op_def().to_proto().encode_to_vec()))?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// Returns the numbers of the types of a node's outputs.
    fn output_types(&self, py: Python<'_>, id: u32) -> PyResult<Vec<i32>> {
        self.with_node(py, id, |_, n| Ok(n.output_types().iter().map(|t| dtypes::number(t.dtype, t.is_ref)).collect()))
    }

    /// Returns a node's data inputs as `(node, output)`.
    fn inputs(&self, py: Python<'_>, id: u32) -> PyResult<Vec<(u32, u32)>> {
        self.with_node(py, id, |graph, n| Ok(graph.inputs(n.id()).map(|t| (t.node.0, t.slot)).collect()))
    }

    /// Returns the nodes that must have run before a node does.
    fn control_inputs(&self, py: Python<'_>, id: u32) -> PyResult<Vec<u32>> {
        self.with_node(py, id, |graph, n| Ok(graph.control_inputs(n.id()).filter(|&c| c != NodeId::SOURCE).map(|c| c.0).collect()))
    }

    /// Returns true if a node's op is in `ops`, or if it depends on such a node by a path without nodes of the ops `but`.
    fn depends_on_ops(&self, py: Python<'_>, id: u32, ops: Vec<PyBackedStr>, but: Vec<PyBackedStr>) -> bool {
        let (ops, but) = (&ops, &but);
        self.read(py, |graph| {
            let mut seen = FxHashSet::default();
            let mut stack = vec![NodeId(id)];
            while let Some(id) = stack.pop() {
                let Some(node) = graph.get(id).filter(|_| seen.insert(id)) else { continue };
                if ops.iter().any(|op| **op == *node.op()) {
                    return true;
                }
                if !but.iter().any(|op| **op == *node.op()) {
                    stack.extend(graph.inputs(id).map(|t| t.node));
                }
            }
            false
        })
    }

    /// Returns the nodes that take a tensor, once for each time they do.
    fn consumers(&self, py: Python<'_>, id: u32, slot: u32) -> PyResult<Vec<u32>> {
        self.with_node(py, id, |graph, n| Ok(graph.consumers(n.id().output(slot)).map(|e| e.dst.0).collect()))
    }

    /// Returns the static shape of a tensor: `None` if the rank is unknown, −1 for a size that is.
    fn shape(&self, py: Python<'_>, id: u32, slot: u32) -> PyResult<Option<Vec<i64>>> {
        self.with_state(py, id, |state, _, n| Ok(shape_to_python(&state.shapes().shape(n.id().output(slot)))))
    }

    /// Adds what is known of a tensor's static shape.
    fn merge_shape(&self, py: Python<'_>, id: u32, slot: u32, dims: Option<Vec<i64>>) -> PyResult<()> {
        self.with_state(py, id, |state, _, n| state.merge_shape(n.id().output(slot), &partial_shape(dims)))
    }

    /// Returns the attributes of a function's argument made from a tensor: a serialised `FunctionDef.ArgAttrs`.
    fn arg_attrs<'py>(&self, py: Python<'py>, id: u32, slot: u32) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = self.with_state(py, id, |state, graph, n| {
            let arg = FunctionArg::new(graph, state.shapes(), n.id().output(slot))?;
            Ok(ArgAttrs { attr: arg.attrs().into_map(), ..ArgAttrs::default() }.encode_to_vec())
        })?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// Returns this graph's parameter for a tensor of the graph `other`, which is `level`th of the graphs around this one; adds it for the first use,
    /// called `name` or like the tensor's node.
    fn capture(
        &self,
        py: Python<'_>,
        scope: &PyScope,
        level: usize,
        tensor: build::Output,
        other: &PyGraph,
        name: Option<&str>,
    ) -> PyResult<build::Output> {
        let output = build::output_id(tensor);
        let outer = other.build(py, &PyScope(Scope::root()), |b| OuterTensor::new(b, output))?;
        let outer = match name {
            Some(name) => outer.named(name),
            None => outer,
        };
        let inside = self.build(py, scope, |b| b.capture(StackOutput { level, output }, &outer))?;
        Ok((inside.node.0, inside.slot))
    }

    /// Returns the nodes that gradients have given further outputs since this was last asked.
    fn take_extended(&self, py: Python<'_>) -> Vec<u32> {
        self.0.take_extended(py)
    }

    /// Returns the captured tensors after the first `start`: the level of the graph around, the tensor in it, and the parameter.
    fn captures(&self, py: Python<'_>, start: usize) -> Vec<(usize, build::Output, build::Output)> {
        let key = |output: OutputId| (output.node.0, output.slot);
        self.state(py, |state| {
            state.captures().iter().skip(start).map(|c| (c.outside.level, key(c.outside.output), key(c.inside))).collect()
        })
    }

    /// Returns a tensor's value if it is known before anything runs.
    fn constant_value<'py>(&self, py: Python<'py>, id: u32, slot: u32) -> PyResult<Option<Bound<'py, PyAny>>> {
        let value = self.read_state(py, |state, graph| {
            let output = NodeId(id).output(slot);
            match state.shapes().value(output).and_then(|v| v.constant.clone()) {
                Some(value) => Ok(Some(value)),
                // Too large for shape functions.
                None => {
                    graph.get(output.node).filter(|n| n.is_op("Const")).map(|n| Tensor::from_proto(n.attrs().get("value")?)).transpose()
                }
            }
        });
        value.raise(py)?.map(|v| to_numpy(py, v)).transpose()
    }

    /// A name in a scope that nothing else has.
    fn unique_name(&self, py: Python<'_>, scope: &PyScope, name: &str, mark_as_used: bool) -> PyResult<String> {
        self.build(py, scope, |b| Ok(b.unique_name(name, mark_as_used)))
    }

    /// Returns the scope called `name` inside of another, made unique if there is no slash at its end, and its whole name.
    fn name_scope(&self, py: Python<'_>, scope: &PyScope, name: &str) -> PyResult<(PyScope, String)> {
        let whole = self.build(py, scope, |b| build::scope_name(b, name))?;
        Ok((PyScope(scope.0.named(&whole)), whole))
    }

    /// Adds a batch of nodes; returns their ids and the types of the last one's outputs. See [`build::add_nodes`] for their descriptions.
    #[pyo3(signature = (scope, nodes, name=None))]
    fn add_nodes<'py>(
        &self,
        scope: &PyScope,
        nodes: &Bound<'py, PyTuple>,
        name: Option<&str>,
    ) -> PyResult<(Bound<'py, PyTuple>, Bound<'py, PyTuple>)> {
        build::add_nodes(self, scope, nodes, name)
    }

    /// Adds a node of a tensor and a number, which is a constant of a type and input `at`, in a name scope of their own. Returns the constant, the node,
    /// and the number of its first output's type; `None` if the number is none of that type.
    #[allow(clippy::too_many_arguments, reason = "what two nodes are made of")]
    fn add_with_number(
        &self,
        scope: &PyScope,
        op: &str,
        name: &str,
        tensor: (u32, u32),
        number: &Bound<'_, PyAny>,
        dtype: i32,
        at: usize,
    ) -> PyResult<Option<(u32, u32, i32)>> {
        build::add_with_number(self, scope, op, name, tensor, number, dtype, at)
    }

    /// Returns the inputs, outputs and attributes of an op; `None` if it is not known.
    fn signature(&self, py: Python<'_>, op: &str) -> Option<build::Signature> {
        self.read(py, |graph| graph.op_def(op).ok().map(|def| build::signature(def)))
    }

    fn set_device(&self, py: Python<'_>, id: u32, device: &str) -> PyResult<()> {
        self.write(py, |graph| graph.set_device(NodeId(id), device))
    }

    /// Sets an attribute of a node, a serialised `AttrValue`.
    fn set_attr(&self, py: Python<'_>, id: u32, name: &str, value: &[u8]) -> PyResult<()> {
        let value = attr_value(value)?;
        self.write(py, |graph| graph.set_attr(NodeId(id), name, value))
    }

    /// Replaces an input of a node by another tensor.
    fn update_input(&self, py: Python<'_>, id: u32, index: usize, tensor: (u32, u32)) -> PyResult<()> {
        self.write(py, |graph| graph.update_edge(build::output_id(tensor), NodeId(id), index).map(drop))
    }

    /// Returns the control-flow context that a node is in, and the one around a context.
    fn context_of(&self, py: Python<'_>, scope: &PyScope, id: u32) -> PyResult<Option<u32>> {
        self.build(py, scope, |b| Ok(b.context_of(NodeId(id)).map(|c| c.0)))
    }

    /// Adds a serialised `FunctionDef`; the same one again is no error.
    fn add_function(&self, py: Python<'_>, definition: &[u8]) -> PyResult<()> {
        let def =
            FunctionDef::decode(definition).map_err(|e| PyValueError::new_err(format!("a FunctionDef that cannot be parsed: {e}")))?;
        self.write(py, |graph| graph.library_mut().add(def))
    }

    /// Says which function is the gradient of another.
    fn add_gradient_function(&self, py: Python<'_>, function_name: &str, gradient_func: &str) -> PyResult<()> {
        let def =
            GradientDef { function_name: function_name.to_owned(), gradient_func: gradient_func.to_owned(), ..GradientDef::default() };
        self.write(py, |graph| graph.library_mut().add_gradient(def))
    }

    /// Returns a function of the library as a serialised `FunctionDef`; `None` if there is none of that name.
    fn function_def<'py>(&self, py: Python<'py>, name: &str) -> Option<Bound<'py, PyBytes>> {
        let bytes = self.read(py, |graph| graph.library().get(name).map(|f| f.def().encode_to_vec()))?;
        Some(PyBytes::new(py, &bytes))
    }

    fn add_control_input(&self, py: Python<'_>, id: u32, control: u32) -> PyResult<()> {
        self.write(py, |graph| graph.add_control_edge(NodeId(control), NodeId(id)).map(drop))
    }

    fn is_feedable(&self, py: Python<'_>, id: u32) -> bool {
        self.state(py, |state| state.is_feedable(NodeId(id)))
    }

    fn is_fetchable(&self, py: Python<'_>, id: u32) -> bool {
        self.state(py, |state| state.is_fetchable(NodeId(id)))
    }

    fn prevent_feeding(&self, py: Python<'_>, id: u32) {
        self.state(py, |state| state.prevent_feeding(NodeId(id)));
    }

    fn prevent_fetching(&self, py: Python<'_>, id: u32) {
        self.state(py, |state| state.prevent_fetching(NodeId(id)));
    }

    /// Begins a conditional.
    fn begin_cond(slf: Bound<'_, Self>, scope: &PyScope, pred: (u32, u32)) -> PyResult<PyCond> {
        PyCond::begin(slf, scope, pred)
    }

    /// Begins a loop.
    #[pyo3(signature = (scope, vars, shape_invariants, parallel_iterations, back_prop=true, swap_memory=false, maximum_iterations=None))]
    #[allow(clippy::too_many_arguments, reason = "keywords in Python")]
    fn begin_while(
        slf: Bound<'_, Self>,
        scope: &PyScope,
        vars: Vec<(u32, u32)>,
        shape_invariants: Vec<Option<Vec<i64>>>,
        parallel_iterations: i64,
        back_prop: bool,
        swap_memory: bool,
        maximum_iterations: Option<(u32, u32)>,
    ) -> PyResult<PyWhile> {
        let options = WhileOptions {
            parallel_iterations,
            shape_invariants: shape_invariants.into_iter().map(partial_shape).collect(),
            back_prop,
            swap_memory,
            maximum_iterations: maximum_iterations.map(build::output_id),
        };
        PyWhile::begin(slf, scope, vars, options)
    }

    /// Returns the context around a control-flow context.
    fn outer_context(&self, py: Python<'_>, scope: &PyScope, context: u32) -> PyResult<Option<u32>> {
        self.build(py, scope, |b| Ok(b.outer_context(ContextId(context)).map(|c| c.0)))
    }

    /// Returns a control-flow context as a serialised `ControlFlowContextDef`.
    fn context_def<'py>(&self, py: Python<'py>, scope: &PyScope, context: u32) -> PyResult<Bound<'py, PyBytes>> {
        let def = self.build(py, scope, |b| b.context_def(ContextId(context)))?;
        Ok(PyBytes::new(py, &def.encode_to_vec()))
    }

    /// Makes a control-flow context of a serialised `ControlFlowContextDef` whose nodes are in the graph, their names behind `prefix/`.
    fn add_context_def(&self, py: Python<'_>, scope: &PyScope, definition: &[u8], prefix: &str) -> PyResult<u32> {
        let def = ControlFlowContextDef::decode(definition)
            .map_err(|e| PyValueError::new_err(format!("a ControlFlowContextDef that cannot be parsed: {e}")))?;
        self.build(py, scope, |b| b.add_context_def(&def, prefix).map(|c| c.0))
    }

    /// Returns an attribute as `(kind, value)`; messages are serialised. `None` if the node has no such attribute.
    fn attr<'py>(&self, py: Python<'py>, id: u32, name: &str) -> PyResult<Option<(&'static str, Bound<'py, PyAny>)>> {
        let value = self.with_node(py, id, |_, n| Ok(n.attrs().value(name).cloned()))?;
        value.map(|value| attr_to_python(py, &value)).transpose()
    }

    /// The names of the graph's functions, sorted.
    fn function_names(&self, py: Python<'_>) -> Vec<String> {
        let mut names: Vec<String> = self.read(py, |graph| graph.library().iter().map(|f| f.name().to_owned()).collect());
        names.sort_unstable();
        names
    }
}

/// Returns the way of reading files that the argument `map_file` of Python's functions selects.
pub(crate) fn file_access(map_file: bool) -> FileAccess {
    if map_file { FileAccess::Map } else { FileAccess::Read }
}

/// The origin of a message.
#[derive(FromPyObject)]
enum Source {
    #[pyo3(transparent)]
    Message(PyBackedBytes),
    #[pyo3(transparent)]
    File(PathBuf),
}

impl Source {
    /// Parses the message; its tensors point into the bytes.
    fn graph_def(self, access: FileAccess) -> Result<GraphDef> {
        match self {
            Source::File(path) => Ok(flowmill_savedmodel::load_graph_def_with(path, access)?.0),
            Source::Message(bytes) => flowmill_savedmodel::parse_graph_def(Bytes::from_owner(bytes)),
        }
    }
}
