//! Adding nodes, in scopes.

use crate::attrs::{attr_from_python, attr_value};
use crate::convert::{from_python, quick_scalar};
use crate::dtypes;
use crate::errors::Raise;
use crate::graph::PyGraph;
use flowmill::builder::{ContextId, Scope, ScopedBuilder, check_scope_name};
use flowmill_graph::{ArgType, NodeId, OpDef, OutputId};
use flowmill_proto::AttrValue;
use flowmill_proto::attr_value::{ListValue, Value};
use flowmill_tensor::{Bytes, DType, Result, Tensor, bail};
use pyo3::Borrowed;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyAny, PyBytes, PyDict, PyInt, PyString, PyTuple};

/// A node and one of its outputs.
pub(crate) type Output = (u32, u32);

pub(crate) fn output_id((node, slot): Output) -> OutputId {
    OutputId { node: NodeId(node), slot }
}

pub(crate) fn to_outputs(all: &[OutputId]) -> Vec<Output> {
    all.iter().map(|o| (o.node.0, o.slot)).collect()
}

/// The surroundings of new nodes: name, device, control dependencies, colocation, control-flow context. A value that never changes.
#[pyclass(frozen, name = "Scope", module = "flowmill._core")]
pub struct PyScope(pub Scope);

fn nodes(ids: Vec<u32>) -> Vec<NodeId> {
    ids.into_iter().map(NodeId).collect()
}

#[pymethods]
impl PyScope {
    #[new]
    fn new() -> PyScope {
        PyScope(Scope::root())
    }

    #[getter]
    fn name(&self) -> &str {
        self.0.name()
    }

    #[getter]
    fn device(&self) -> &str {
        self.0.device()
    }

    #[getter]
    fn context(&self) -> Option<u32> {
        self.0.context().map(|c| c.0)
    }

    fn named(&self, name: &str) -> PyScope {
        PyScope(self.0.named(name))
    }

    fn on_device(&self, device: &str) -> PyScope {
        PyScope(self.0.on_device(device))
    }

    fn after(&self, ids: Vec<u32>) -> PyScope {
        PyScope(self.0.after(&nodes(ids)))
    }

    fn unconditional(&self) -> PyScope {
        PyScope(self.0.unconditional())
    }

    fn in_context(&self, context: Option<u32>) -> PyScope {
        PyScope(self.0.in_context(context.map(ContextId)))
    }

    fn colocated_with(&self, ids: Vec<u32>) -> PyScope {
        PyScope(self.0.colocated_with(&nodes(ids)))
    }

    /// Returns the nodes, outermost first, whose groups new ones join.
    #[getter]
    fn colocation(&self) -> Vec<u32> {
        self.0.colocation().iter().map(|node| node.0).collect()
    }

    /// Returns a scope whose nodes get the device of the node called `name`, which may be added later.
    fn beside(&self, name: &str) -> PyScope {
        let group = Bytes::from(format!("loc:@{name}"));
        let value = Value::List(Box::new(ListValue { s: vec![group], ..ListValue::default() }));
        PyScope(self.0.with_attr("_class", Some(value.into())))
    }

    /// Returns a scope whose nodes get an attribute, a serialised `AttrValue`; `None` removes it.
    fn with_attr(&self, name: &str, value: Option<&[u8]>) -> PyResult<PyScope> {
        Ok(PyScope(self.0.with_attr(name, value.map(attr_value).transpose()?)))
    }
}

/// The names of the catalogue's ops, sorted.
#[pyfunction]
pub(crate) fn op_names(py: Python<'_>) -> PyResult<Vec<String>> {
    Ok(flowmill::registry().raise(py)?.names().into_iter().map(str::to_owned).collect())
}

/// Returns the inputs, outputs and attributes of an op of the catalogue; `None` if it is not known.
#[pyfunction]
pub(crate) fn op_signature(py: Python<'_>, op: &str) -> PyResult<Option<Signature>> {
    Ok(flowmill::registry().raise(py)?.get(op).map(|def| signature(def)))
}

/// An argument of an op: `(name, attribute of its type or None, its type or None, attribute of its length or None, is a list, is a reference)`.
type ArgSpec = (String, Option<String>, Option<i32>, Option<String>, bool, bool);

/// An attribute: name, kind, whether it has a default, the type that is its default, the types that it may be if not all are.
type AttrSpec = (String, &'static str, bool, Option<i32>, Vec<i32>);

/// An op's inputs, attributes, its outputs as `(name, is a list)`, and whether it is stateful.
pub(crate) type Signature = (Vec<ArgSpec>, Vec<AttrSpec>, Vec<(String, bool)>, bool);

pub(crate) fn signature(op: &OpDef) -> Signature {
    let inputs = op.inputs.iter().map(|arg| {
        let (type_attr, fixed) = match &arg.ty {
            ArgType::Fixed(dtype) => (None, Some(dtype.number())),
            ArgType::Attr(name) | ArgType::ListAttr(name) => (Some(name.clone()), None),
        };
        let is_list = arg.number_attr.is_some() || matches!(arg.ty, ArgType::ListAttr(_));
        (arg.name.clone(), type_attr, fixed, arg.number_attr.clone(), is_list, arg.is_ref)
    });
    let attrs = op.attrs.iter().map(|attr| {
        let default = match attr.default.as_ref().and_then(|d| d.value.as_ref()) {
            Some(Value::Type(number)) => Some(*number),
            _ => None,
        };
        let allowed = attr.allowed_types.iter().map(|t| t.number()).collect();
        (attr.name.clone(), attr.ty.name(), attr.default.is_some(), default, allowed)
    });
    let outputs = op.outputs.iter().map(|arg| (arg.name.clone(), arg.number_attr.is_some() || matches!(arg.ty, ArgType::ListAttr(_))));
    (inputs.collect(), attrs.collect(), outputs.collect(), op.is_stateful)
}

/// Adds a node; returns its id and the numbers of its outputs' types.
#[allow(clippy::too_many_arguments, reason = "what a node is made of")]
pub(crate) fn add_op(
    py: Python<'_>,
    graph: &PyGraph,
    scope: &PyScope,
    op: &str,
    name: &str,
    inputs: Vec<Output>,
    attrs: Option<&Bound<'_, PyDict>>,
    control: Vec<u32>,
) -> PyResult<(u32, Vec<i32>)> {
    let attrs = attrs_from_python(graph, op, attrs)?;
    add_node(py, graph, scope, op, name, inputs, attrs, control)
}

/// Converts a Python dictionary to an op's attributes.
fn attrs_from_python(graph: &PyGraph, op: &str, attrs: Option<&Bound<'_, PyDict>>) -> PyResult<Vec<(String, AttrValue)>> {
    let Some(attrs) = attrs.filter(|attrs| !attrs.is_empty()) else { return Ok(Vec::new()) };
    let op_def = graph.definition(attrs.py(), op)?;
    let convert = |(key, value): (Bound<'_, PyAny>, Bound<'_, PyAny>)| {
        let key: String = key.extract()?;
        let value = match op_def.attr(&key) {
            Some(attr) => attr_from_python(&value, attr)?,
            // Not declared: kept as it is, such as `_class` or `_output_shapes`.
            None => {
                let bytes = value.cast::<PyBytes>().map_err(|_| PyTypeError::new_err(format!("{op} has no attribute '{key}'")))?;
                attr_value(bytes.as_bytes())?
            }
        };
        Ok((key, value))
    };
    attrs.iter().map(convert).collect()
}

/// Adds a node; returns its id and the numbers of its outputs' types.
#[allow(clippy::too_many_arguments, reason = "what a node is made of")]
pub(crate) fn add_node(
    py: Python<'_>,
    graph: &PyGraph,
    scope: &PyScope,
    op: &str,
    name: &str,
    inputs: Vec<Output>,
    attrs: Vec<(String, AttrValue)>,
    control: Vec<u32>,
) -> PyResult<(u32, Vec<i32>)> {
    graph.build(py, scope, |b| {
        let mut node = b.op(op).name(name);
        for input in inputs {
            node = node.input(output_id(input));
        }
        for (key, value) in attrs {
            node = node.attr(&key, value);
        }
        for c in control {
            node = node.after(NodeId(c));
        }
        let id = node.finish()?;
        Ok((id.0, output_types(b, id)?))
    })
}

/// Returns the numbers of the types of a node's outputs.
fn output_types(b: &ScopedBuilder<'_>, id: NodeId) -> Result<Vec<i32>> {
    Ok(b.graph().node(id)?.output_types().iter().map(|t| dtypes::number(t.dtype, t.is_ref)).collect())
}

/// An input of one of several nodes that are added together.
enum NewInput {
    Output(OutputId),
    /// The first output of a node among them, by its place.
    New(usize),
}

impl<'py> FromPyObject<'_, 'py> for NewInput {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, 'py, PyAny>) -> PyResult<NewInput> {
        match value.cast::<PyTuple>() {
            Ok(output) => Ok(NewInput::Output(output_id(output.extract()?))),
            Err(_) => value.extract().map(NewInput::New),
        }
    }
}

/// One of several nodes that are added together.
enum NewNode {
    Constant(Tensor),
    /// The op, the inputs, the attributes, and the place of the node among them that it has to share a device with.
    Op(String, Vec<NewInput>, Vec<(String, AttrValue)>, Option<usize>),
}

impl NewNode {
    /// `("Const", name, value, type)`, `(op, name, inputs, attributes)` or `(op, name, inputs, attributes, place)`; returns the name and the rest.
    fn from_python(graph: &PyGraph, given: &Bound<'_, PyTuple>) -> PyResult<(String, NewNode)> {
        let op = given.get_item(0)?;
        let op = op.cast::<PyString>()?.to_str()?;
        let (name, value, rest) = (given.get_item(1)?.extract()?, given.get_item(2)?, given.get_item(3)?);
        if op == "Const" {
            return Ok((name, NewNode::Constant(from_python(&value, Some(dtypes::from_number(rest.extract()?)?))?)));
        }
        let attrs = attrs_from_python(graph, op, rest.extract::<Option<Bound<'_, PyDict>>>()?.as_ref())?;
        let beside = if given.len() > 4 { Some(given.get_item(4)?.extract()?) } else { None };
        Ok((name, NewNode::Op(op.to_owned(), value.extract()?, attrs, beside)))
    }

    fn add(&mut self, b: &mut ScopedBuilder<'_>, name: &str, earlier: &[NodeId]) -> Result<NodeId> {
        let (op, inputs, attrs, beside) = match self {
            NewNode::Constant(value) => return Ok(b.constant(name, value)?.node),
            NewNode::Op(op, inputs, attrs, beside) => (op, inputs, attrs, beside),
        };
        let node_at = |place: usize| match earlier.get(place) {
            Some(&id) => Ok(id),
            None => bail!(InvalidArgument, "node {place} is not among those before '{name}'"),
        };
        let scope = match *beside {
            // Devices chosen outside do not count.
            Some(place) => b.scope().on_device("").colocated_with(&[b.scope().colocation(), &[node_at(place)?]].concat()),
            None => b.scope().clone(),
        };
        b.within(scope, |b| {
            let mut node = b.op(op).name(name);
            for input in std::mem::take(inputs) {
                node = node.input(match input {
                    NewInput::Output(output) => output,
                    NewInput::New(place) => node_at(place)?.output(0),
                });
            }
            for (key, value) in std::mem::take(attrs) {
                node = node.attr(&key, value);
            }
            node.finish()
        })
    }
}

/// The whole name of the scope that is opened as `name`: with a slash at its end it is that very scope.
pub(crate) fn scope_name(b: &mut ScopedBuilder<'_>, name: &str) -> Result<String> {
    if let Some(whole) = name.strip_suffix('/') {
        return Ok(whole.to_owned());
    }
    check_scope_name(b.scope().name(), name)?;
    Ok(b.unique_name(name, true))
}

/// Adds several nodes in a name scope of their own; one without a name has the scope's. Returns their ids, and the numbers of the types of the last
/// one's outputs.
pub(crate) fn add_ops(graph: &PyGraph, scope: &PyScope, name: &str, nodes: &Bound<'_, PyAny>) -> PyResult<(Vec<u32>, Vec<i32>)> {
    let mut new = Vec::new();
    for node in nodes.try_iter()? {
        // Values are read before the graph is locked: doing so may run Python code.
        new.push(NewNode::from_python(graph, node?.cast()?)?);
    }
    // Constants may hold arrays, whose end may run Python code: they are dropped after the graph is unlocked.
    let new = &mut new;
    graph.build(nodes.py(), scope, |b| {
        let whole = scope_name(b, name)?;
        let inner = scope.0.named(&whole);
        let mut ids = Vec::with_capacity(new.len());
        for (name, node) in new {
            let id = if name.is_empty() {
                node.add(b, &format!("{whole}/"), &ids)?
            } else {
                b.within(inner.clone(), |b| node.add(b, name, &ids))?
            };
            ids.push(id);
        }
        let types = ids.last().map(|&id| output_types(b, id)).transpose()?.unwrap_or_default();
        Ok((ids.into_iter().map(|id| id.0).collect(), types))
    })
}

/// Returns a Python number as a constant of a type has it; `None` for other values, and for integers beyond `int32`, which take a closer look.
fn number(value: &Bound<'_, PyAny>, dtype: DType) -> PyResult<Option<Tensor>> {
    if value.is_exact_instance_of::<PyInt>() && value.extract::<i32>().is_err() {
        return Ok(None);
    }
    quick_scalar(value, Some(dtype))
}

/// Adds a node of a tensor and a number, a constant of a type, which is input `at`, both in a name scope of their own. Returns the constant, the
/// node, and the number of its first output's type; `None` if the number is none of that type.
#[allow(clippy::too_many_arguments, reason = "what two nodes are made of")]
pub(crate) fn add_with_number(
    graph: &PyGraph,
    scope: &PyScope,
    op: &str,
    name: &str,
    tensor: Output,
    number: &Bound<'_, PyAny>,
    dtype: i32,
    at: usize,
) -> PyResult<Option<(u32, u32, i32)>> {
    let Some(value) = self::number(number, dtypes::from_number(dtype)?)? else { return Ok(None) };
    graph.build(number.py(), scope, |b| {
        let mut whole = scope_name(b, name)?;
        let constant = b.within(scope.0.named(&whole), |b| b.constant(if at == 0 { "x" } else { "y" }, &value))?;
        whole.push('/');
        let mut inputs = [output_id(tensor); 2];
        inputs[at.min(1)] = constant;
        let result = b.op(op).name(&whole).inputs(&inputs).output()?;
        let made = b.graph().output_type(result)?;
        Ok(Some((constant.node.0, result.node.0, dtypes::number(made.dtype, made.is_ref))))
    })
}

/// Adds a constant with the value of a Python object; returns its node and the number of its type.
pub(crate) fn add_constant(
    graph: &PyGraph,
    scope: &PyScope,
    name: &str,
    value: &Bound<'_, PyAny>,
    dtype: Option<i32>,
) -> PyResult<(u32, i32)> {
    let dtype = dtype.map(dtypes::from_number).transpose()?;
    let tensor = from_python(value, dtype)?;
    let number = tensor.dtype().number();
    let node = graph.build(value.py(), scope, |b| b.constant(name, &tensor))?;
    Ok((node.node.0, number))
}
