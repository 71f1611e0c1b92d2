//! Adding nodes: scopes, attributes from Python values, conditionals, loops and gradients.

use crate::convert::from_python;
use crate::dtypes;
use crate::errors::to_py_err;
use crate::graph::PyGraph;
use flowmill::builder::{Branch, CondBuilder, ContextId, GraphBuilder, Scope, WhileBuilder, WhileOptions, check_scope_name};
use flowmill_graph::{ArgType, AttrDef, AttrType, NodeId, OpDef, OutputId};
use flowmill_proto::attr_value::{ListValue, Value};
use flowmill_proto::{AttrValue, Message, NameAttrList, TensorProto, TensorShapeProto};
use flowmill_tensor::{Bytes, PartialShape, Result, Tensor, bail};
use parking_lot::Mutex;
use pyo3::Borrowed;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyAny, PyBool, PyBytes, PyDict, PyString, PyTuple};

/// A node and one of its outputs.
pub type Output = (u32, u32);

pub fn output_id((node, slot): Output) -> OutputId {
    OutputId { node: NodeId(node), slot }
}

fn to_outputs(all: &[OutputId]) -> Vec<Output> {
    all.iter().map(|o| (o.node.0, o.slot)).collect()
}

/// Where nodes are made: name, device, control dependencies, colocation, control-flow context. A value that never changes.
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

    /// The nodes, outermost first, whose groups new ones join.
    #[getter]
    fn colocation(&self) -> Vec<u32> {
        self.0.colocation().iter().map(|node| node.0).collect()
    }

    /// Gives new nodes the device of the node called `name`, which need not be there yet.
    fn beside(&self, name: &str) -> PyScope {
        let group = Bytes::from(format!("loc:@{name}"));
        let value = Value::List(Box::new(ListValue { s: vec![group], ..ListValue::default() }));
        PyScope(self.0.with_attr("_class", Some(value.into())))
    }

    /// Gives new nodes an attribute, a serialised `AttrValue`; `None` takes it away.
    fn with_attr(&self, name: &str, value: Option<&[u8]>) -> PyResult<PyScope> {
        Ok(PyScope(self.0.with_attr(name, value.map(attr_value).transpose()?)))
    }
}

/// A serialised `AttrValue`.
pub fn attr_value(bytes: &[u8]) -> PyResult<AttrValue> {
    AttrValue::decode(bytes).map_err(|e| PyValueError::new_err(format!("an AttrValue that cannot be parsed: {e}")))
}

/// The names of the catalogue's ops, sorted.
#[pyfunction]
pub fn op_names() -> PyResult<Vec<String>> {
    Ok(flowmill::registry().map_err(to_py_err)?.names().into_iter().map(str::to_owned).collect())
}

/// What an op of the catalogue takes and gives; `None` where it is not known.
#[pyfunction]
pub fn op_signature(op: &str) -> PyResult<Option<Signature>> {
    Ok(flowmill::registry().map_err(to_py_err)?.get(op).map(|def| signature(def)))
}

/// What an op takes: `(name, attribute of its type or None, its type or None, attribute of its length or None, is a list, is a reference)`.
type ArgSpec = (String, Option<String>, Option<i32>, Option<String>, bool, bool);

/// An attribute: name, kind, whether it has a default, the type that is its default, the types that it may be where not all are.
type AttrSpec = (String, &'static str, bool, Option<i32>, Vec<i32>);

/// An op's inputs, attributes, its outputs as `(name, is a list)`, and whether it is stateful.
pub type Signature = (Vec<ArgSpec>, Vec<AttrSpec>, Vec<(String, bool)>, bool);

pub fn signature(op: &OpDef) -> Signature {
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

/// A Python value as an attribute of the declared kind.
fn attr_from_python(value: &Bound<'_, PyAny>, attr: &AttrDef) -> PyResult<AttrValue> {
    let wrong = || PyTypeError::new_err(format!("Expected {} for argument '{}' not {value}.", attr.ty.name(), attr.name));
    let one = |kind| element(value, kind).map_err(|_| wrong());
    Ok(match attr.ty {
        AttrType::ListString => list(value, AttrType::String, wrong)?,
        AttrType::ListInt => list(value, AttrType::Int, wrong)?,
        AttrType::ListFloat => list(value, AttrType::Float, wrong)?,
        AttrType::ListBool => list(value, AttrType::Bool, wrong)?,
        AttrType::ListType => list(value, AttrType::Type, wrong)?,
        AttrType::ListShape => list(value, AttrType::Shape, wrong)?,
        AttrType::ListTensor => list(value, AttrType::Tensor, wrong)?,
        AttrType::ListFunc => list(value, AttrType::Func, wrong)?,
        kind => one(kind)?,
    }
    .into())
}

fn list(value: &Bound<'_, PyAny>, kind: AttrType, wrong: impl Fn() -> PyErr) -> PyResult<Value> {
    if value.is_instance_of::<PyString>() || value.is_instance_of::<PyBytes>() {
        return Err(wrong());
    }
    let mut all = ListValue::default();
    for item in value.try_iter().map_err(|_| wrong())? {
        match element(&item?, kind).map_err(|_| wrong())? {
            Value::S(v) => all.s.push(v),
            Value::I(v) => all.i.push(v),
            Value::F(v) => all.f.push(v),
            Value::B(v) => all.b.push(v),
            Value::Type(v) => all.r#type.push(v),
            Value::Shape(v) => all.shape.push(*v),
            Value::Tensor(v) => all.tensor.push(*v),
            Value::Func(v) => all.func.push(*v),
            Value::List(_) | Value::Placeholder(_) => return Err(wrong()),
        }
    }
    Ok(Value::List(Box::new(all)))
}

fn element(value: &Bound<'_, PyAny>, kind: AttrType) -> PyResult<Value> {
    let malformed = |_| PyValueError::new_err("a message that cannot be parsed");
    Ok(match kind {
        AttrType::String => match value.cast::<PyBytes>() {
            Ok(bytes) => Value::S(Bytes::copy_from_slice(bytes.as_bytes())),
            Err(_) => Value::S(Bytes::from(value.extract::<String>()?)),
        },
        AttrType::Int if !value.is_instance_of::<PyBool>() => Value::I(value.extract()?),
        AttrType::Float => Value::F(value.extract()?),
        AttrType::Bool => Value::B(value.is_truthy()?),
        AttrType::Type => Value::Type(value.extract()?),
        AttrType::Shape => Value::Shape(Box::new(shape_from_python(value)?)),
        AttrType::Tensor => Value::Tensor(Box::new(match value.cast::<PyBytes>() {
            Ok(bytes) => TensorProto::decode(bytes.as_bytes()).map_err(malformed)?,
            Err(_) => from_python(value, None)?.to_proto().map_err(to_py_err)?,
        })),
        AttrType::Func => Value::Func(Box::new(match value.cast::<PyBytes>() {
            Ok(bytes) => NameAttrList::decode(bytes.as_bytes()).map_err(malformed)?,
            Err(_) => NameAttrList { name: value.extract()?, ..NameAttrList::default() },
        })),
        _ => return Err(PyTypeError::new_err("not a value of this kind")),
    })
}

fn shape_from_python(value: &Bound<'_, PyAny>) -> PyResult<TensorShapeProto> {
    Ok(partial_shape(value.extract()?).to_proto())
}

/// `None` for an unknown rank, −1 for sizes that are not known.
pub fn partial_shape(dims: Option<Vec<i64>>) -> PartialShape {
    dims.map_or_else(PartialShape::unknown, |dims| PartialShape::new(&dims))
}

/// Adds a node; gives its id and the numbers of its outputs' types.
#[allow(clippy::too_many_arguments, reason = "what a node is made of")]
pub fn add_op(
    graph: &PyGraph,
    scope: &PyScope,
    op: &str,
    name: &str,
    inputs: Vec<Output>,
    attrs: Option<&Bound<'_, PyDict>>,
    control: Vec<u32>,
) -> PyResult<(u32, Vec<i32>)> {
    let attrs = attrs_from_python(graph, op, attrs)?;
    add_node(graph, scope, op, name, inputs, attrs, control)
}

/// What Python gives as an op's attributes.
fn attrs_from_python(graph: &PyGraph, op: &str, attrs: Option<&Bound<'_, PyDict>>) -> PyResult<Vec<(String, AttrValue)>> {
    let Some(attrs) = attrs.filter(|attrs| !attrs.is_empty()) else { return Ok(Vec::new()) };
    let op_def = graph.shared().read().op_def(op).map_err(to_py_err)?.clone();
    let convert = |(key, value): (Bound<'_, PyAny>, Bound<'_, PyAny>)| {
        let key: String = key.extract()?;
        let value = match op_def.attr(&key) {
            Some(attr) => attr_from_python(&value, attr)?,
            // Not declared: kept as it is, such as `_class` or `_output_shapes`.
            None => {
                let bytes = value.cast::<PyBytes>().map_err(|_| PyTypeError::new_err(format!("'{key}' is no attribute of {op}")))?;
                attr_value(bytes.as_bytes())?
            }
        };
        Ok((key, value))
    };
    attrs.iter().map(convert).collect()
}

/// Adds a node; gives its id and the numbers of its outputs' types.
pub fn add_node(
    graph: &PyGraph,
    scope: &PyScope,
    op: &str,
    name: &str,
    inputs: Vec<Output>,
    attrs: Vec<(String, AttrValue)>,
    control: Vec<u32>,
) -> PyResult<(u32, Vec<i32>)> {
    graph.build(scope, |b| {
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

/// The numbers of the types of a node's outputs.
fn output_types(b: &GraphBuilder<'_>, id: NodeId) -> Result<Vec<i32>> {
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
    /// `("Const", name, value, type)`, `(op, name, inputs, attributes)` or `(op, name, inputs, attributes, place)`; gives the name and the rest.
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

    fn add(self, b: &mut GraphBuilder<'_>, name: &str, earlier: &[NodeId]) -> Result<NodeId> {
        let (op, inputs, attrs, beside) = match self {
            NewNode::Constant(value) => return Ok(b.constant(name, &value)?.node),
            NewNode::Op(op, inputs, attrs, beside) => (op, inputs, attrs, beside),
        };
        let node_at = |place: usize| match earlier.get(place) {
            Some(&id) => Ok(id),
            None => bail!(InvalidArgument, "node {place} is not among those before '{name}'"),
        };
        let scope = match beside {
            // Devices chosen outside do not count.
            Some(place) => b.scope().on_device("").colocated_with(&[b.scope().colocation(), &[node_at(place)?]].concat()),
            None => b.scope().clone(),
        };
        b.within(scope, |b| {
            let mut node = b.op(&op).name(name);
            for input in inputs {
                node = node.input(match input {
                    NewInput::Output(output) => output,
                    NewInput::New(place) => node_at(place)?.output(0),
                });
            }
            for (key, value) in attrs {
                node = node.attr(&key, value);
            }
            node.finish()
        })
    }
}

/// The whole name of the scope that is opened as `name`: with a slash at its end it is that very scope.
pub fn scope_name(b: &mut GraphBuilder<'_>, name: &str) -> Result<String> {
    if let Some(whole) = name.strip_suffix('/') {
        return Ok(whole.to_owned());
    }
    check_scope_name(b.scope().name(), name)?;
    Ok(b.unique_name(name, true))
}

/// Adds several nodes in a name scope of their own; one without a name has the scope's. Gives their ids, and the numbers of the types of the last
/// one's outputs.
pub fn add_ops(graph: &PyGraph, scope: &PyScope, name: &str, nodes: &Bound<'_, PyAny>) -> PyResult<(Vec<u32>, Vec<i32>)> {
    let mut new = Vec::new();
    for node in nodes.try_iter()? {
        // Values are read before the graph is locked: doing so may run Python code.
        new.push(NewNode::from_python(graph, node?.cast()?)?);
    }
    graph.build(scope, |b| {
        let whole = scope_name(b, name)?;
        let inner = scope.0.named(&whole);
        let mut ids = Vec::with_capacity(new.len());
        for (name, node) in new {
            let id = if name.is_empty() {
                node.add(b, &format!("{whole}/"), &ids)?
            } else {
                b.within(inner.clone(), |b| node.add(b, &name, &ids))?
            };
            ids.push(id);
        }
        let types = ids.last().map(|&id| output_types(b, id)).transpose()?.unwrap_or_default();
        Ok((ids.into_iter().map(|id| id.0).collect(), types))
    })
}

/// Adds a constant with the value of a Python object; gives its node and the number of its type.
pub fn add_constant(graph: &PyGraph, scope: &PyScope, name: &str, value: &Bound<'_, PyAny>, dtype: Option<i32>) -> PyResult<(u32, i32)> {
    let dtype = dtype.map(dtypes::from_number).transpose()?;
    let tensor = from_python(value, dtype)?;
    let number = tensor.dtype().number();
    let node = graph.build(scope, |b| b.constant(name, &tensor))?;
    Ok((node.node.0, number))
}

/// A conditional being built.
#[pyclass(frozen, name = "Cond", module = "flowmill._core")]
pub struct PyCond {
    graph: Py<PyGraph>,
    outer: Scope,
    cond: Mutex<CondBuilder>,
}

impl PyCond {
    pub fn begin(graph: Bound<'_, PyGraph>, scope: &PyScope, pred: Output) -> PyResult<PyCond> {
        let cond = graph.get().build(scope, |b| CondBuilder::begin(b, output_id(pred)))?;
        Ok(PyCond { graph: graph.unbind(), outer: scope.0.clone(), cond: Mutex::new(cond) })
    }

    fn build<T>(&self, f: impl FnOnce(&mut GraphBuilder<'_>, &mut CondBuilder) -> Result<T>) -> PyResult<T> {
        let mut cond = self.cond.lock();
        self.graph.get().build(&PyScope(self.outer.clone()), |b| f(b, &mut cond))
    }
}

#[pymethods]
impl PyCond {
    /// What lets nodes run when a branch is taken.
    fn pivot(&self, branch: bool) -> Output {
        let pivot = self.cond.lock().pivot(if branch { Branch::True } else { Branch::False });
        (pivot.node.0, pivot.slot)
    }

    /// Begins a branch; gives the scope in it.
    fn open(&self, branch: bool) -> PyResult<PyScope> {
        let branch = if branch { Branch::True } else { Branch::False };
        self.build(|b, cond| cond.open(b, branch).map(|_| PyScope(b.scope().clone())))
    }

    /// Ends a branch with its results.
    fn close(&self, results: Vec<Output>) -> PyResult<()> {
        self.build(|b, cond| cond.close(b, Ok(results.into_iter().map(output_id).collect())))
    }

    /// Joins the branches.
    fn finish(&self) -> PyResult<Vec<Output>> {
        self.build(|b, cond| cond.finish(b).map(|merged| to_outputs(&merged)))
    }
}

/// A loop being built.
#[pyclass(frozen, name = "While", module = "flowmill._core")]
pub struct PyWhile {
    graph: Py<PyGraph>,
    inside: Scope,
    looped: Mutex<WhileBuilder>,
}

impl PyWhile {
    pub fn begin(graph: Bound<'_, PyGraph>, scope: &PyScope, vars: Vec<Output>, options: WhileOptions) -> PyResult<PyWhile> {
        let vars: Vec<OutputId> = vars.into_iter().map(output_id).collect();
        let (looped, inside) = graph.get().build(scope, |b| {
            let looped = WhileBuilder::begin(b, &vars, &options)?;
            Ok((looped, b.scope().clone()))
        })?;
        Ok(PyWhile { graph: graph.unbind(), inside, looped: Mutex::new(looped) })
    }

    fn build<T>(&self, f: impl FnOnce(&mut GraphBuilder<'_>, &mut WhileBuilder) -> Result<T>) -> PyResult<T> {
        let mut looped = self.looped.lock();
        self.graph.get().build(&PyScope(self.inside.clone()), |b| f(b, &mut looped))
    }
}

#[pymethods]
impl PyWhile {
    /// The scope in the loop.
    #[getter]
    fn scope(&self) -> PyScope {
        PyScope(self.inside.clone())
    }

    /// The variables as the condition sees them.
    fn cond_vars(&self) -> Vec<Output> {
        to_outputs(self.looped.lock().cond_vars())
    }

    /// Ends the condition; gives the variables as the body sees them.
    fn body_vars(&self, go_on: Output) -> PyResult<Vec<Output>> {
        self.build(|b, looped| looped.body_vars(b, output_id(go_on)).map(|vars| to_outputs(&vars)))
    }

    /// Ends the body; gives the variables' last values.
    fn finish(&self, results: Vec<Output>) -> PyResult<Vec<Output>> {
        let results: Vec<OutputId> = results.into_iter().map(output_id).collect();
        self.build(|b, looped| looped.finish(b, &results).map(|exits| to_outputs(&exits)))
    }
}
