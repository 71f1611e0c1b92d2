//! `flowmill._core.Graph`: a graph shared with its sessions, its nodes named by numbers.

use crate::dtypes;
use crate::errors::to_py_err;
use crate::gate::detached;
use flowmill_graph::{Graph, ImportOptions, ImportResults, Node, NodeId, OutputId, ShapeRefiner, import_graph_def};
use flowmill_proto::attr_value::{ListValue, Value};
use flowmill_proto::{GraphDef, Message};
use flowmill_tensor::{Bytes, Error, PartialShape, Result};
use parking_lot::{Mutex, RwLock};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyList};
use std::path::PathBuf;
use std::sync::Arc;

/// A dataflow graph.
#[pyclass(frozen, name = "Graph", module = "flowmill._core")]
pub struct PyGraph {
    graph: Arc<RwLock<Graph>>,
    /// The static shapes of the graph when it had this change count.
    shapes: Mutex<Option<(u64, ShapeRefiner)>>,
}

impl PyGraph {
    /// What sessions run.
    pub fn shared(&self) -> &Arc<RwLock<Graph>> {
        &self.graph
    }

    /// Adds a message's nodes.
    fn import(&self, def: impl FnOnce() -> Result<GraphDef>, options: &ImportOptions) -> Result<ImportResults> {
        let def = def()?;
        import_graph_def(&mut self.graph.write(), def, options)
    }

    /// Answers a question about a node.
    fn with_node<T>(&self, id: u32, f: impl FnOnce(&Graph, &Node) -> Result<T>) -> PyResult<T> {
        let graph = self.graph.read();
        graph.node(NodeId(id)).and_then(|node| f(&graph, node)).map_err(to_py_err)
    }
}

#[pymethods]
impl PyGraph {
    #[new]
    fn new() -> PyResult<PyGraph> {
        let graph = flowmill::new_graph().map_err(to_py_err)?;
        Ok(PyGraph { graph: Arc::new(RwLock::new(graph)), shapes: Mutex::new(None) })
    }

    /// Adds the nodes of a serialised `GraphDef`, or of the one in a file. Gives a list of `(node, output)` for `return_tensors`, of nodes for
    /// `return_nodes`, and the keys of `input_map` that name nothing.
    #[pyo3(signature = (source, *, prefix, input_map=Vec::new(), return_tensors=Vec::new(), return_nodes=Vec::new(), control_dependencies=Vec::new(), validate_colocation=true))]
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
    ) -> PyResult<(Vec<(u32, u32)>, Vec<u32>, Vec<String>)> {
        let options = ImportOptions {
            prefix,
            input_map,
            return_tensors,
            return_nodes,
            control_dependencies,
            validate_colocation,
            ..ImportOptions::default()
        };
        let found = detached(py, || self.import(|| source.graph_def(), &options))?;
        Ok((
            found.return_tensors.iter().map(|t| (t.node.0, t.slot)).collect(),
            found.return_nodes.iter().map(|n| n.0).collect(),
            found.missing_unused_input_map_keys,
        ))
    }

    /// The graph as a serialised `GraphDef`.
    fn to_graph_def<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = detached(py, || Ok(self.graph.read().to_graph_def().encode_to_vec()))?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// `(producer, min_consumer)`.
    fn versions(&self) -> (i32, i32) {
        let versions = self.graph.read().versions();
        (versions.producer, versions.min_consumer)
    }

    /// The largest id given out so far, 0 for an empty graph.
    fn version(&self) -> usize {
        // Ids 0 and 1 are the source and the sink.
        self.graph.read().num_node_ids().saturating_sub(2)
    }

    /// The ids of all nodes, in the order in which they were added.
    fn node_ids(&self) -> Vec<u32> {
        self.graph.read().op_nodes().map(|n| n.id().0).collect()
    }

    /// The id of the node called `name`.
    fn find_node(&self, name: &str) -> Option<u32> {
        self.graph.read().find_node(name).filter(|n| !n.is_source_or_sink()).map(|n| n.id().0)
    }

    /// A node's name, op and number of outputs.
    fn node(&self, id: u32) -> PyResult<(String, String, usize)> {
        self.with_node(id, |_, n| Ok((n.name().to_owned(), n.op().to_owned(), n.num_outputs())))
    }

    fn device(&self, id: u32) -> PyResult<String> {
        self.with_node(id, |_, n| Ok(n.device().to_owned()))
    }

    /// A node as a serialised `NodeDef`.
    fn node_def<'py>(&self, py: Python<'py>, id: u32) -> PyResult<Bound<'py, PyBytes>> {
        self.with_node(id, |graph, n| Ok(PyBytes::new(py, &graph.node_def(n.id())?.encode_to_vec())))
    }

    /// The definition of a node's op as a serialised `OpDef`.
    fn op_def<'py>(&self, py: Python<'py>, id: u32) -> PyResult<Bound<'py, PyBytes>> {
        self.with_node(id, |_, n| Ok(PyBytes::new(py, &n.op_def().to_proto().encode_to_vec())))
    }

    /// The numbers of the types of a node's outputs.
    fn output_types(&self, id: u32) -> PyResult<Vec<i32>> {
        self.with_node(id, |_, n| Ok(n.output_types().iter().map(|t| dtypes::number(t.dtype, t.is_ref)).collect()))
    }

    /// A node's data inputs as `(node, output)`.
    fn inputs(&self, id: u32) -> PyResult<Vec<(u32, u32)>> {
        self.with_node(id, |graph, n| Ok(graph.inputs(n.id()).map(|t| (t.node.0, t.slot)).collect()))
    }

    /// The nodes that must have run before a node does.
    fn control_inputs(&self, id: u32) -> PyResult<Vec<u32>> {
        self.with_node(id, |graph, n| Ok(graph.control_inputs(n.id()).filter(|&c| c != NodeId::SOURCE).map(|c| c.0).collect()))
    }

    /// The nodes that take a tensor, once for each time they do.
    fn consumers(&self, id: u32, slot: u32) -> PyResult<Vec<u32>> {
        self.with_node(id, |graph, n| Ok(graph.consumers(n.id().output(slot)).map(|e| e.dst.0).collect()))
    }

    /// The static shape of a tensor: `None` where the rank is unknown, −1 for a size that is.
    fn shape(&self, id: u32, slot: u32) -> PyResult<Option<Vec<i64>>> {
        self.with_node(id, |graph, n| {
            let mut shapes = self.shapes.lock();
            let refiner = match &mut *shapes {
                Some((change_count, refiner)) if *change_count == graph.change_count() => refiner,
                stale => {
                    let mut refiner = ShapeRefiner::new();
                    // A node that contradicts its inputs fails when it runs; what comes after it has unknown shapes.
                    let _ = refiner.infer_graph(graph);
                    &mut stale.insert((graph.change_count(), refiner)).1
                }
            };
            Ok(shape_to_python(&refiner.shape(OutputId { node: n.id(), slot })))
        })
    }

    /// An attribute as `(kind, value)`; messages are serialised. `None` where the node has no such attribute.
    fn attr<'py>(&self, py: Python<'py>, id: u32, name: &str) -> PyResult<Option<(&'static str, Bound<'py, PyAny>)>> {
        let graph = self.graph.read();
        let node = graph.node(NodeId(id)).map_err(to_py_err)?;
        let Some(value) = node.attrs().value(name) else { return Ok(None) };
        attr_to_python(py, value).map(Some)
    }

    /// The names of the graph's functions, sorted.
    fn function_names(&self) -> Vec<String> {
        let mut names: Vec<String> = self.graph.read().library().iter().map(|f| f.name().to_owned()).collect();
        names.sort_unstable();
        names
    }
}

/// Where a message comes from.
#[derive(FromPyObject)]
enum Source {
    #[pyo3(transparent)]
    Message(PyBackedBytes),
    #[pyo3(transparent)]
    File(PathBuf),
}

impl Source {
    /// Parses the message; its tensors point into the bytes or the mapped file.
    fn graph_def(self) -> Result<GraphDef> {
        match self {
            Source::File(path) => Ok(flowmill_savedmodel::load_graph_def(path)?.0),
            Source::Message(bytes) => {
                let bytes = Bytes::from_owner(bytes);
                GraphDef::decode(bytes).map_err(|e| Error::data_loss(format!("Error parsing message with type 'tensorflow.GraphDef': {e}")))
            }
        }
    }
}

fn attr_to_python<'py>(py: Python<'py>, value: &Value) -> PyResult<(&'static str, Bound<'py, PyAny>)> {
    let message = |m: &dyn Fn() -> Vec<u8>| PyBytes::new(py, &m()).into_any();
    Ok(match value {
        Value::S(s) => ("string", PyBytes::new(py, s).into_any()),
        Value::I(i) => ("int", i.into_bound_py_any(py)?),
        Value::F(f) => ("float", f.into_bound_py_any(py)?),
        Value::B(b) => ("bool", b.into_bound_py_any(py)?),
        Value::Type(t) => ("type", t.into_bound_py_any(py)?),
        Value::Shape(s) => ("shape", message(&|| s.encode_to_vec())),
        Value::Tensor(t) => ("tensor", message(&|| t.encode_to_vec())),
        Value::Func(f) => ("func", message(&|| f.encode_to_vec())),
        Value::Placeholder(p) => ("placeholder", p.into_bound_py_any(py)?),
        Value::List(list) => return list_to_python(py, list),
    })
}

fn list_to_python<'py>(py: Python<'py>, list: &ListValue) -> PyResult<(&'static str, Bound<'py, PyAny>)> {
    fn messages<'py, M: Message>(py: Python<'py>, all: &[M]) -> PyResult<Bound<'py, PyAny>> {
        Ok(PyList::new(py, all.iter().map(|m| PyBytes::new(py, &m.encode_to_vec())))?.into_any())
    }
    Ok(if !list.s.is_empty() {
        ("string", PyList::new(py, list.s.iter().map(|s| PyBytes::new(py, s)))?.into_any())
    } else if !list.i.is_empty() {
        ("int", PyList::new(py, &list.i)?.into_any())
    } else if !list.f.is_empty() {
        ("float", PyList::new(py, &list.f)?.into_any())
    } else if !list.b.is_empty() {
        ("bool", PyList::new(py, &list.b)?.into_any())
    } else if !list.r#type.is_empty() {
        ("type", PyList::new(py, &list.r#type)?.into_any())
    } else if !list.shape.is_empty() {
        ("shape", messages(py, &list.shape)?)
    } else if !list.tensor.is_empty() {
        ("tensor", messages(py, &list.tensor)?)
    } else if !list.func.is_empty() {
        ("func", messages(py, &list.func)?)
    } else {
        ("list", PyList::empty(py).into_any())
    })
}

/// `None` for an unknown rank, −1 for unknown sizes.
pub fn shape_to_python(shape: &PartialShape) -> Option<Vec<i64>> {
    shape.dims().map(<[i64]>::to_vec)
}
