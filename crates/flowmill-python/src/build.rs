//! Adding nodes, in scopes.

use crate::attrs::{attr_from_python, attr_value};
use crate::convert::{from_python, quick_scalar};
use crate::dtypes;
use crate::errors::Raise;
use crate::graph::PyGraph;
use flowmill::builder::{Colocation, ContextId, Scope, ScopedBuilder, check_scope_name};
use flowmill_graph::{ArgType, NodeId, OpDef, OutputId};
use flowmill_proto::AttrValue;
use flowmill_proto::attr_value::{ListValue, Value};
use flowmill_tensor::{Bytes, DType, Result, Tensor, bail};
use pyo3::Borrowed;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyAny, PyBytes, PyDict, PyInt, PyTuple};
use smallvec::SmallVec;

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

/// A [`Colocation`] as Python has it: a node's id, or the groups and the device of a node of another graph.
#[derive(FromPyObject, IntoPyObject)]
enum ColocationEntry {
    #[pyo3(transparent)]
    Node(u32),
    Outside(Vec<String>, String),
}

impl From<ColocationEntry> for Colocation {
    fn from(entry: ColocationEntry) -> Colocation {
        match entry {
            ColocationEntry::Node(id) => Colocation::Node(NodeId(id)),
            ColocationEntry::Outside(groups, device) => Colocation::Outside { groups: groups.into(), device: device.into() },
        }
    }
}

impl From<&Colocation> for ColocationEntry {
    fn from(entry: &Colocation) -> ColocationEntry {
        match entry {
            Colocation::Node(node) => ColocationEntry::Node(node.0),
            Colocation::Outside { groups, device } => ColocationEntry::Outside(groups.to_vec(), device.to_string()),
        }
    }
}

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

    fn colocated_with(&self, nodes: Vec<ColocationEntry>) -> PyScope {
        PyScope(self.0.colocated_with(nodes))
    }

    /// Returns the nodes, outermost first, whose groups new ones join: as ids, those of graphs around this one as their groups and device.
    #[getter]
    fn colocation(&self) -> Vec<ColocationEntry> {
        self.0.colocation().iter().map(ColocationEntry::from).collect()
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
    (inputs.collect(), attrs.collect(), outputs.collect(), op.is_stateful())
}

/// Converts a node's attributes: a dictionary of values, or pairs of a name and a serialised `AttrValue`.
fn attrs_from_python(graph: &PyGraph, op: &str, attrs: &Bound<'_, PyAny>) -> PyResult<Vec<(String, AttrValue)>> {
    if attrs.is_none() {
        return Ok(Vec::new());
    }
    let Ok(values) = attrs.cast::<PyDict>() else {
        let messages: Vec<(String, PyBackedBytes)> = attrs.extract()?;
        return messages.into_iter().map(|(key, value)| Ok((key, attr_value(&value)?))).collect();
    };
    if values.is_empty() {
        return Ok(Vec::new());
    }
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
    values.iter().map(convert).collect()
}

/// Returns the numbers of the types of a node's outputs.
fn output_types(b: &ScopedBuilder<'_>, id: NodeId) -> Result<SmallVec<[i32; 4]>> {
    Ok(b.graph().node(id)?.output_types().iter().map(|t| dtypes::number(t.dtype, t.is_ref)).collect())
}

/// An input of a node to be added.
enum NewInput {
    Output(OutputId),
    /// The first output of a node of the same batch, by its place there.
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

/// Reads a list or a tuple of inputs.
fn inputs_from_python(value: Borrowed<'_, '_, PyAny>) -> PyResult<SmallVec<[NewInput; 2]>> {
    let Ok(given) = value.cast::<PyTuple>() else {
        return value.extract().map(SmallVec::from_vec);
    };
    let mut inputs = SmallVec::with_capacity(given.len());
    for input in given.iter_borrowed() {
        inputs.push(NewInput::extract(input)?);
    }
    Ok(inputs)
}

/// A node to be added. Its strings are those of its description.
struct NewNode<'a> {
    name: &'a str,
    kind: NewNodeKind<'a>,
}

enum NewNodeKind<'a> {
    Constant(Tensor),
    Op {
        op: &'a str,
        inputs: SmallVec<[NewInput; 2]>,
        attrs: Vec<(String, AttrValue)>,
        /// The place in the batch of a node that this one has to share a device with.
        beside: Option<usize>,
    },
}

impl<'a> NewNode<'a> {
    /// Reads a description, a tuple as [`add_nodes`] takes it.
    fn from_python(graph: &PyGraph, given: &'a Bound<'_, PyTuple>) -> PyResult<NewNode<'a>> {
        let op = given.get_borrowed_item(0)?.extract()?;
        let name = given.get_borrowed_item(1)?.extract()?;
        let (value, rest) = (given.get_borrowed_item(2)?, given.get_borrowed_item(3)?);
        if op == "Const" && rest.is_instance_of::<PyInt>() {
            let value = from_python(&value, Some(dtypes::from_number(rest.extract()?)?))?;
            return Ok(NewNode { name, kind: NewNodeKind::Constant(value) });
        }
        let attrs = attrs_from_python(graph, op, &rest)?;
        let beside = if given.len() > 4 { Some(given.get_borrowed_item(4)?.extract()?) } else { None };
        Ok(NewNode { name, kind: NewNodeKind::Op { op, inputs: inputs_from_python(value)?, attrs, beside } })
    }
}

impl NewNodeKind<'_> {
    /// Adds the node as `name`, after the nodes of its batch that are `earlier`.
    fn add(&mut self, b: &mut ScopedBuilder<'_>, name: &str, earlier: &[NodeId]) -> Result<NodeId> {
        let NewNodeKind::Op { beside: Some(place), .. } = *self else { return self.add_here(b, name, earlier) };
        // Devices chosen outside do not count.
        let scope = b.scope().also_colocated_with(node_at(earlier, place, name)?);
        b.within(scope, |b| self.add_here(b, name, earlier))
    }

    fn add_here(&mut self, b: &mut ScopedBuilder<'_>, name: &str, earlier: &[NodeId]) -> Result<NodeId> {
        let (op, inputs, attrs) = match self {
            NewNodeKind::Constant(value) => return Ok(b.constant(name, value)?.node),
            NewNodeKind::Op { op, inputs, attrs, .. } => (op, inputs, attrs),
        };
        let mut node = b.op(op).name(name);
        for input in std::mem::take(inputs) {
            node = node.input(match input {
                NewInput::Output(output) => output,
                NewInput::New(place) => node_at(earlier, place, name)?.output(0),
            });
        }
        for (key, value) in std::mem::take(attrs) {
            node = node.attr(&key, value);
        }
        node.finish()
    }
}

/// Returns the node at a place in the batch that the node `name` is of.
fn node_at(earlier: &[NodeId], place: usize, name: &str) -> Result<NodeId> {
    match earlier.get(place) {
        Some(&id) => Ok(id),
        None => bail!(InvalidArgument, "node {place} is not among those before '{name}'"),
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

/// Adds a batch of nodes, in a name scope of their own if `name` is given; returns their ids, and the numbers of the types of the last one's outputs.
///
/// Each is described by a tuple: `(op, name, inputs, attributes)` or `("Const", name, value, number of its type)`. An input is `(node, output)`, or the place of
/// an earlier node of the batch and means its first output. Attributes are `None`, a dictionary, or pairs of a name and a serialised `AttrValue`. A
/// fifth item is the place of an earlier node to be colocated with. In a scope of their own, the node with an empty name has the scope's.
pub(crate) fn add_nodes<'py>(
    graph: &PyGraph,
    scope: &PyScope,
    nodes: &Bound<'py, PyTuple>,
    name: Option<&str>,
) -> PyResult<(Bound<'py, PyTuple>, Bound<'py, PyTuple>)> {
    let mut given: SmallVec<[Bound<'_, PyTuple>; 2]> = SmallVec::with_capacity(nodes.len());
    for node in nodes.iter() {
        given.push(node.cast_into()?);
    }
    // Values are read before the graph is locked: doing so may run Python code.
    let mut new: SmallVec<[NewNode<'_>; 2]> = SmallVec::with_capacity(given.len());
    for node in &given {
        new.push(NewNode::from_python(graph, node)?);
    }
    // Constants may hold arrays, whose end may run Python code: they are dropped after the graph is unlocked.
    let new = &mut new;
    let (ids, types) = graph.build(nodes.py(), scope, |b| {
        let whole = name.map(|name| scope_name(b, name)).transpose()?;
        let inner = whole.as_ref().map(|whole| scope.0.named(whole));
        let mut ids: SmallVec<[NodeId; 4]> = SmallVec::new();
        for NewNode { name, kind } in new {
            let id = match (&whole, &inner) {
                (Some(whole), _) if name.is_empty() => kind.add(b, &[whole, "/"].concat(), &ids)?,
                (_, Some(inner)) => b.within(inner.clone(), |b| kind.add(b, name, &ids))?,
                _ => kind.add(b, name, &ids)?,
            };
            ids.push(id);
        }
        let types = ids.last().map(|&id| output_types(b, id)).transpose()?.unwrap_or_default();
        Ok((ids, types))
    })?;
    Ok((PyTuple::new(nodes.py(), ids.iter().map(|id| id.0))?, PyTuple::new(nodes.py(), types)?))
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
///
/// This is [`add_nodes`] for two nodes. Python's operators call it most often: describing both nodes would take a tenth of their time, and one description
/// with the number among its inputs, which needs a tuple more and a loop over nodes, a twentieth.
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
