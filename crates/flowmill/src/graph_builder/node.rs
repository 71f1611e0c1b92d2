//! One node being added by its op's method.

use super::input::{Kind, with_dtype};
use super::{GraphBuilder, Input, Ops, Output, ToAttr};
use crate::builder::ScopedBuilder;
use crate::graph::{ArgDef, ArgType, AttrDef, Attrs, OpDef, arg_ranges};
use crate::proto::AttrValue;
use crate::proto::attr_value::{ListValue, Value};
use crate::{DType, NodeId, OutputId, Result};
use flowmill_tensor::{Error, bail};
use std::borrow::Cow;

/// A node before it is in the graph: its name, device, attributes and inputs.
///
/// [`GraphBuilder::node`] begins one. An op's method ends it, such as `b.node().name("y").attr("transpose_b", true).mat_mul(x, w)?`; the methods of all
/// ops are those of the trait [`Ops`](super::Ops). A node of an op that has no method, such as a custom one, is
/// `b.op("Cube").input(x).output()?`.
///
/// Inputs are given one per declared argument: [`NodeBuilder::input`] for a tensor, [`NodeBuilder::input_list`] for a list of tensors.
#[derive(Debug)]
#[must_use = "a node is added by a method of its op, or by `finish`, `output`, `outputs` or `output_lists`"]
pub struct NodeBuilder<'b> {
    builder: &'b GraphBuilder,
    op: Cow<'static, str>,
    name: Option<String>,
    device: Option<String>,
    attrs: Attrs,
    inputs: Vec<Arg<'b>>,
    control: Vec<NodeId>,
    /// The first value that no attribute can have.
    failure: Option<Error>,
}

/// The tensors that the caller passed for one declared input.
#[derive(Debug)]
enum Arg<'b> {
    One(Input<'b>),
    List(Vec<Input<'b>>),
}

impl<'b> Arg<'b> {
    fn values(&self) -> &[Input<'b>] {
        match self {
            Arg::One(input) => std::slice::from_ref(input),
            Arg::List(inputs) => inputs,
        }
    }
}

impl<'b> NodeBuilder<'b> {
    pub(super) fn new(builder: &'b GraphBuilder) -> NodeBuilder<'b> {
        NodeBuilder {
            builder,
            op: Cow::Borrowed(""),
            name: None,
            device: None,
            attrs: Attrs::default(),
            inputs: Vec::new(),
            control: Vec::new(),
            failure: None,
        }
    }

    pub(super) fn of(mut self, op: impl Into<Cow<'static, str>>) -> Self {
        self.op = op.into();
        self
    }

    /// Sets the node's name inside of the name scope; it is made unique. Without it the name is the op's.
    pub fn name(mut self, name: &str) -> Self {
        self.name = Some(name.to_owned());
        self
    }

    /// Sets an attribute. [`NodeBuilder::finish`] refuses one that the op does not have, unless its name begins with an underscore.
    pub fn attr(mut self, name: &str, value: impl ToAttr) -> Self {
        match value.to_attr() {
            Ok(value) => self.attrs.set(name, value),
            Err(error) => {
                self.failure.get_or_insert(error.context(format_args!("attribute '{name}'")));
            }
        }
        self
    }

    /// Sets the device, instead of the scope's.
    pub fn device(mut self, device: &str) -> Self {
        self.device = Some(device.to_owned());
        self
    }

    /// Adds a control input, besides those of the scope: the node runs after `node`.
    pub fn after(mut self, node: NodeId) -> Self {
        self.control.push(node);
        self
    }

    /// Adds the next input, a tensor or a value that becomes a constant.
    pub fn input(mut self, input: impl Into<Input<'b>>) -> Self {
        self.inputs.push(Arg::One(input.into()));
        self
    }

    /// Adds the next input, a list of tensors.
    pub fn input_list(mut self, inputs: &[Output<'b>]) -> Self {
        self.inputs.push(Arg::List(inputs.iter().map(|&i| i.into()).collect()));
        self
    }

    /// Adds the node.
    ///
    /// # Errors
    /// `NotFound` for an unknown op; `InvalidArgument` for a name, input, attribute or shape that does not fit, and for tensors of another builder;
    /// the error of the operator that should have made an input.
    pub fn finish(mut self) -> Result<NodeId> {
        let builder = self.builder;
        let op = self.op.clone();
        self.capture().and_then(|()| builder.scoped(|b| self.add_to(b))).map_err(|error| match error.node() {
            Some(_) => error,
            None => error.context(format_args!("op '{op}'")),
        })
    }

    /// Adds the node and returns its only output.
    ///
    /// # Errors
    /// The errors of [`NodeBuilder::finish`], and `InvalidArgument` if it has another number of outputs.
    pub fn output(self) -> Result<Output<'b>> {
        let [output] = self.outputs()?;
        Ok(output)
    }

    /// Adds the node and returns its outputs.
    ///
    /// # Errors
    /// `InvalidArgument` if the op has another number of outputs, and the errors of [`NodeBuilder::finish`].
    pub fn outputs<const N: usize>(self) -> Result<[Output<'b>; N]> {
        let (builder, op) = (self.builder, self.op.clone());
        let id = self.finish()?;
        let found = builder.scoped(|b| Ok(b.graph().node(id)?.num_outputs()))?;
        if found != N {
            bail!(InvalidArgument, "op '{op}' has {found} outputs, not {N}");
        }
        let graph = builder.current();
        Ok(std::array::from_fn(|slot| Output::of(builder, id.output(slot as u32), graph)))
    }

    /// Adds the node and returns its outputs, a list for each declared one.
    ///
    /// # Errors
    /// `InvalidArgument` if the op has another number of outputs, and the errors of [`NodeBuilder::finish`].
    pub fn output_lists<const N: usize>(self) -> Result<[Vec<Output<'b>>; N]> {
        let (builder, op) = (self.builder, self.op.clone());
        let id = self.finish()?;
        let ranges = builder.scoped(|b| {
            let node = b.graph().node(id)?;
            arg_ranges(&node.op_def().outputs, node.attrs())
        })?;
        let lists: Vec<Vec<Output<'b>>> =
            ranges.into_iter().map(|range| range.map(|slot| Output::new(builder, id.output(slot as u32))).collect()).collect();
        lists.try_into().map_err(|lists: Vec<_>| flowmill_tensor::error!(InvalidArgument, "op '{op}' has {} outputs, not {N}", lists.len()))
    }

    /// Replaces inputs that are tensors of graphs around the body that is being built by the body's parameters for them.
    fn capture(&mut self) -> Result<()> {
        let (builder, current) = (self.builder, self.builder.current());
        for (i, arg) in self.inputs.iter_mut().enumerate() {
            let inputs = match arg {
                Arg::One(input) => std::slice::from_mut(input),
                Arg::List(inputs) => inputs,
            };
            for input in inputs {
                let Kind::Output(output) = &input.0 else { continue };
                if output.graph_number() != current && std::ptr::eq(output.builder(), builder) {
                    let id = builder.resolve(*output).map_err(|error| error.context(format_args!("input {i}")))?;
                    input.0 = Kind::Id(id);
                }
            }
        }
        Ok(())
    }

    fn add_to(mut self, b: &mut ScopedBuilder<'_>) -> Result<NodeId> {
        if let Some(error) = self.failure {
            return Err(error);
        }
        let op_def = b.graph().op_def(&self.op)?.clone();
        check_attrs(&op_def, &self.attrs)?;
        let inputs = std::mem::take(&mut self.inputs);
        if inputs.len() != op_def.inputs.len() {
            let names: Vec<&str> = op_def.inputs.iter().map(|arg| arg.name.as_str()).collect();
            bail!(InvalidArgument, "{} inputs for {} ({})", inputs.len(), names.len(), names.join(", "));
        }
        for (arg, given) in op_def.inputs.iter().zip(&inputs) {
            check_arg(self.builder, arg, given)?;
            if let Some(number) = &arg.number_attr {
                set_default(&mut self.attrs, number, || (given.values().len() as i64).into());
            }
            if let ArgType::ListAttr(list) = &arg.ty {
                let types = given.values().iter().map(|input| dtype_of(b, input).number()).collect();
                set_default(&mut self.attrs, list, || ListValue { r#type: types, ..ListValue::default() }.into());
            }
        }
        for (arg, given) in op_def.inputs.iter().zip(&inputs) {
            if let ArgType::Attr(attr) = &arg.ty
                && let Some(input) = given.values().iter().find(|input| !matches!(input.0, Kind::Number(_)))
            {
                let dtype = dtype_of(b, input).number();
                set_default(&mut self.attrs, attr, || Value::Type(dtype).into());
            }
        }
        let name = self.name.as_deref().unwrap_or(&op_def.name);
        let mut node_inputs: Vec<OutputId> = Vec::new();
        for (arg, given) in op_def.inputs.iter().zip(inputs) {
            let dtype = match &arg.ty {
                ArgType::Fixed(dtype) => Some(*dtype),
                ArgType::Attr(attr) => self.attrs.get::<DType>(attr).ok(),
                ArgType::ListAttr(_) => None,
            };
            let given = match given {
                Arg::One(input) => vec![input],
                Arg::List(inputs) => inputs,
            };
            for input in given {
                let value = match input.0 {
                    Kind::Output(output) => {
                        node_inputs.push(output.id());
                        continue;
                    }
                    Kind::Id(id) => {
                        node_inputs.push(id);
                        continue;
                    }
                    Kind::Tensor(value) => value,
                    Kind::Number(value) => match dtype {
                        Some(dtype) => with_dtype(value, dtype).map_err(|error| error.context(format_args!("input '{}'", arg.name)))?,
                        None => value,
                    },
                    Kind::Failed(error) => return Err(error),
                };
                // A constant is named after the node and its input, as in `MatMul/b`.
                let name = b.unique_name(name, false);
                let scope = b.scope().named(&name);
                node_inputs.push(b.within(scope, |b| b.constant(&arg.name, &value))?);
            }
        }
        let mut node = b.op(&self.op).name(name).inputs(&node_inputs);
        for (name, value) in self.attrs.into_map() {
            node = node.attr(&name, value);
        }
        if let Some(device) = &self.device {
            node = node.device(device);
        }
        self.control.into_iter().fold(node, |node, control| node.after(control)).finish()
    }
}

impl<'b> Ops<'b> for NodeBuilder<'b> {
    fn op_node(self, op: &'static str) -> NodeBuilder<'b> {
        self.of(op)
    }
}

impl<'b> Ops<'b> for &'b GraphBuilder {
    fn op_node(self, op: &'static str) -> NodeBuilder<'b> {
        self.op(op)
    }
}

fn set_default(attrs: &mut Attrs, name: &str, value: impl FnOnce() -> AttrValue) {
    if !attrs.contains(name) {
        attrs.set(name, value());
    }
}

/// Every attribute is one of the op's, or of those with an underscore, which every op may have.
fn check_attrs(op_def: &OpDef, attrs: &Attrs) -> Result<()> {
    match attrs.iter().map(|(name, _)| name).find(|name| !name.starts_with('_') && op_def.attr(name).is_none()) {
        None => Ok(()),
        Some(unknown) => {
            let known: Vec<&str> = op_def.attrs.iter().map(|attr: &AttrDef| attr.name.as_str()).collect();
            bail!(InvalidArgument, "has no attribute '{unknown}'; it has: {}", known.join(", "))
        }
    }
}

/// Checks that a list was passed for a list argument, and that every tensor belongs to the builder.
fn check_arg(builder: &GraphBuilder, arg: &ArgDef, given: &Arg<'_>) -> Result<()> {
    let is_list = arg.number_attr.is_some() || matches!(arg.ty, ArgType::ListAttr(_));
    match (is_list, given) {
        (true, Arg::One(_)) => bail!(InvalidArgument, "input '{}' is a list of tensors", arg.name),
        (false, Arg::List(_)) => bail!(InvalidArgument, "input '{}' is one tensor, not a list", arg.name),
        _ => {}
    }
    for input in given.values() {
        match &input.0 {
            Kind::Output(output) if !std::ptr::eq(output.builder(), builder) => {
                bail!(InvalidArgument, "input '{}' is a tensor of another builder", arg.name)
            }
            Kind::Failed(error) => return Err(error.clone()),
            _ => {}
        }
    }
    Ok(())
}

fn dtype_of(b: &ScopedBuilder<'_>, input: &Input<'_>) -> DType {
    match &input.0 {
        Kind::Output(output) => b.dtype(output.id()),
        Kind::Id(id) => b.dtype(*id),
        Kind::Tensor(value) | Kind::Number(value) => value.dtype(),
        Kind::Failed(_) => DType::Resource,
    }
}
