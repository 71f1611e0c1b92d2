//! Records of what a loop of frames computed, for a second run of the same loop.
//!
//! A random op returns other numbers in each of its runs. So that a loop can run again with the numbers of its first run, the loop gets one more
//! variable, a tensor list to which each iteration appends what the op returned. In the function that runs the loop again, the op becomes a read of the list.

use super::OpGradient;
use crate::builder::context::ContextKind;
use crate::builder::{ContextId, ScopedBuilder};
use crate::{Node, NodeId, OutputId};
use flowmill_proto::attr_value::Value;
use flowmill_proto::{AttrValue, FunctionDef, NodeDef};
use flowmill_tensor::{DType, PartialShape, Result, Tensor, bail};

/// Returns true for a node that no gradient flows through.
pub(super) fn stops_gradients(node: &Node) -> bool {
    matches!(node.op_def().gradient, OpGradient::NotDifferentiable)
}

/// Returns true for a node with one output, through which no gradient flows, in a loop that is in no other loop and no conditional.
pub(super) fn can_record(b: &ScopedBuilder<'_>, node: &Node) -> bool {
    let context = b.context_of(node.id());
    let is_in_outer_loop = context.is_some_and(|c| matches!(b.context(c).kind, ContextKind::While(_)) && b.context(c).outer.is_none());
    is_in_outer_loop && stops_gradients(node) && node.op_def().outputs.len() == 1 && node.op_def().outputs[0].number_attr.is_none()
}

/// The results of one node of a loop, an element per iteration.
pub(super) struct Record {
    node: NodeId,
    context: ContextId,
    list: OutputId,
}

impl Record {
    /// Adds the list to the loop that the node is in.
    pub(super) fn in_loop(b: &mut ScopedBuilder<'_>, node: NodeId) -> Result<Record> {
        let pivot = b.context_of(node).and_then(|c| Some((c, b.while_context(c)?.pivot?)));
        let Some((context, pivot)) = pivot else { bail!(Internal, "the loop has no condition") };
        let value = node.output(0);
        let dtype = type_of(b.dtype(value));
        let unknown = b.constant("record/element_shape", &Tensor::scalar(-1i32))?;
        let none = b.constant("record/max_num_elements", &Tensor::scalar(-1i32))?;
        let empty = b.op("EmptyTensorList").name("record").inputs(&[unknown, none]).attr("element_dtype", dtype.clone()).output()?;
        let inside = b.scope().unconditional().in_context(Some(context));
        let list = b.within(inside, |b| {
            b.context_mut(context).known.insert(empty);
            let enter = b.enter_named(context, empty, "record")?;
            let merge = b.call("Merge", &[enter, enter])?;
            let switch = b.switch(merge, pivot)?;
            let longer = b.op("TensorListPushBack").inputs(&[switch.output(1), value]).attr("element_dtype", dtype).output()?;
            let next = b.call("NextIteration", &[longer])?;
            b.connect_back(next, merge.node, 1)?;
            b.op("Exit").name("record").input(switch.output(0)).output()
        })?;
        Ok(Record { node, context, list })
    }

    /// Returns the list of what the node returned.
    pub(super) fn list(&self) -> OutputId {
        self.list
    }
}

/// Replaces the recorded node in a function by a read of the list, the argument `list`.
pub(super) fn read_in(b: &ScopedBuilder<'_>, def: &mut FunctionDef, record: &Record, list: &str) -> Result<()> {
    let node = b.graph().node(record.node)?;
    let (name, output) = (node.name().to_owned(), node.op_def().outputs[0].name.to_string());
    let pivot = b.while_context(record.context).and_then(|l| l.pivot);
    let Some(pivot) = pivot else { bail!(Internal, "the loop has no condition") };
    let pivot = format!("{}:output:0", b.graph().node(pivot.node)?.name());
    let frame = [
        ("frame_name".to_owned(), AttrValue::from(b.context_name(record.context))),
        ("parallel_iterations".to_owned(), AttrValue::from(b.while_context(record.context).map_or(1, |l| l.parallel_iterations))),
    ];
    let value = record.node.output(0);
    let made = |kind: &str, op: &str, inputs: &[String], attrs: &[(&str, AttrValue)]| NodeDef {
        name: format!("{name}/{kind}"),
        op: op.to_owned(),
        input: inputs.to_vec(),
        attr: attrs.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect(),
        ..NodeDef::default()
    };
    let constant = |kind: &str, value: &Tensor, inputs: &[String]| -> Result<NodeDef> {
        Ok(made(kind, "Const", inputs, &[("dtype", type_of(value.dtype())), ("value", AttrValue::from(value.to_proto()?))]))
    };
    let of = |kind: &str, output: &str| format!("{name}/{kind}:{output}:0");
    let int = type_of(DType::I32);
    let mut enters = [("start", int.clone(), of("zero", "output"), false), ("list", type_of(DType::Variant), list.to_owned(), true)].map(
        |(kind, dtype, input, is_constant)| made(kind, "Enter", &[input], &[("T", dtype), ("is_constant", Value::B(is_constant).into())]),
    );
    enters.iter_mut().for_each(|enter| enter.attr.extend(frame.iter().cloned()));
    let body = [format!("^{name}/index")];
    def.node_def.extend(enters);
    def.node_def.extend([
        constant("zero", &Tensor::scalar(0i32), &[])?,
        made("merge", "Merge", &[of("start", "output"), of("next", "output")], &[("T", int.clone()), ("N", AttrValue::from(2i64))]),
        made("switch", "Switch", &[of("merge", "output"), pivot], &[("T", int.clone())]),
        made("index", "Identity", &[of("switch", "output_true")], &[("T", int.clone())]),
        constant("one", &Tensor::scalar(1i32), &body)?,
        made("add", "AddV2", &[of("index", "output"), of("one", "output")], &[("T", int.clone())]),
        made("next", "NextIteration", &[of("add", "z")], &[("T", int)]),
        constant("element_shape", &element_shape(&b.shape(value))?, &body)?,
    ]);
    let read = [of("list", "output"), of("index", "output"), of("element_shape", "output")];
    let (old, new) = (format!("{name}:{output}:0"), format!("{name}:item:0"));
    for node in &mut def.node_def {
        if node.name == name {
            let dtype = type_of(b.dtype(value));
            let attr = [("element_dtype".to_owned(), dtype)].into();
            *node = NodeDef { op: "TensorListGetItem".to_owned(), input: read.to_vec(), attr, ..node.clone() };
        }
        node.input.iter_mut().filter(|input| **input == old).for_each(|input| input.clone_from(&new));
    }
    def.ret.values_mut().filter(|source| **source == old).for_each(|source| source.clone_from(&new));
    Ok(())
}

/// Returns a shape as ops of lists take it: -1 for what is unknown.
fn element_shape(shape: &PartialShape) -> Result<Tensor> {
    match shape.dims() {
        Some(dims) => Tensor::vector(&dims.iter().map(|&d| i32::try_from(d).unwrap_or(-1)).collect::<Vec<i32>>()),
        None => Ok(Tensor::scalar(-1i32)),
    }
}

fn type_of(dtype: DType) -> AttrValue {
    Value::Type(dtype.number()).into()
}
