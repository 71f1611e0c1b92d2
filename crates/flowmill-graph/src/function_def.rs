//! Part of a graph as a function of a library.

use crate::{ARG, Attrs, Graph, Node, NodeId, OutputId, RETVAL, ShapeRefiner, arg_ranges};
use flowmill_proto::attr_value::{ListValue, Value};
use flowmill_proto::function_def::ArgAttrs;
use flowmill_proto::op_def::ArgDef;
use flowmill_proto::{AttrValue, FunctionDef, NodeDef, OpDef};
use flowmill_tensor::{DType, PartialShape, Result, bail};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeSet;

/// An argument of a function being made.
#[derive(Clone, Debug)]
pub struct FunctionArg {
    /// The graph's tensor that the argument replaces; `None` if the function does not use it.
    pub tensor: Option<OutputId>,
    /// Its type.
    pub dtype: DType,
    /// Its static shape.
    pub shape: PartialShape,
    /// For the handle of a variable, what that holds.
    pub elements: Vec<(DType, PartialShape)>,
}

impl FunctionArg {
    /// Returns an argument in the place of a tensor.
    ///
    /// # Errors
    /// `NotFound` and `OutOfRange` for a tensor that is not there.
    pub fn new(graph: &Graph, shapes: &ShapeRefiner, tensor: OutputId) -> Result<FunctionArg> {
        let dtype = graph.output_type(tensor)?.dtype;
        let elements = if dtype == DType::Resource { shapes.value(tensor).and_then(|v| v.elements.clone()) } else { None };
        Ok(FunctionArg { tensor: Some(tensor), dtype, shape: shapes.shape(tensor), elements: elements.unwrap_or_default() })
    }

    /// Returns the attributes that tell a function's body of it.
    pub fn attrs(&self) -> Attrs {
        let mut attrs = Attrs::default();
        let list = |shapes: &mut dyn Iterator<Item = &PartialShape>| ListValue {
            shape: shapes.map(PartialShape::to_proto).collect(),
            ..ListValue::default()
        };
        attrs.set("_output_shapes", AttrValue::from(list(&mut std::iter::once(&self.shape))));
        if !self.elements.is_empty() {
            let r#type = self.elements.iter().map(|(dtype, _)| dtype.number()).collect();
            attrs.set("_handle_dtypes", AttrValue::from(ListValue { r#type, ..ListValue::default() }));
            attrs.set("_handle_shapes", AttrValue::from(list(&mut self.elements.iter().map(|(_, shape)| shape))));
        }
        attrs
    }
}

/// The part of a graph that becomes a function.
#[derive(Debug, Default)]
pub struct FunctionPart<'a> {
    /// The function's arguments. What is before their tensors is not part of it.
    pub args: &'a [FunctionArg],
    /// Its results; what they need is part of it.
    pub results: &'a [OutputId],
    /// Nodes that are part of it whether its results need them or not.
    pub kept: &'a [NodeId],
    /// Nodes that a call has to run, in the order of the signature's control outputs.
    pub control_results: &'a [NodeId],
    /// The function's tensors that replace other tensors.
    pub replaced: FxHashMap<OutputId, OutputId>,
}

/// Makes a function of part of a graph.
///
/// Its nodes keep their names, and so do arguments in the place of those of the graph; others are called `arg`, `arg_1`, …, and results `result`,
/// `result_1`, …. The definition is called `base` and a number for what it says, so that two that differ have different names.
///
/// # Errors
/// `InvalidArgument` for a part that needs an argument of the graph's own that is not among `args`, `NotFound` for ids that are not there.
pub fn function_def(graph: &Graph, base: &str, part: &FunctionPart<'_>) -> Result<FunctionDef> {
    let nodes = nodes_of(graph, part)?;
    let mut names: FxHashSet<String> = FxHashSet::default();
    for &id in &nodes {
        names.insert(graph.node(id)?.name().to_owned());
    }
    let mut def = FunctionDef::default();
    let mut signature = OpDef::default();
    let mut sources: FxHashMap<OutputId, String> = FxHashMap::default();
    for (i, arg) in part.args.iter().enumerate() {
        let named = arg.tensor.and_then(|t| graph.get(t.node)).filter(|n| n.is_op(ARG));
        let name = unique(&mut names, named.map_or("arg", Node::name));
        if let Some(tensor) = arg.tensor {
            sources.entry(tensor).or_insert_with(|| name.clone());
        }
        signature.input_arg.push(ArgDef { name, r#type: arg.dtype.number(), ..ArgDef::default() });
        let attr = arg.attrs().into_map();
        def.arg_attr.insert(i as u32, ArgAttrs { attr, ..ArgAttrs::default() });
    }
    for &id in &nodes {
        let node = graph.node(id)?;
        for (arg, range) in node.op_def().outputs.iter().zip(arg_ranges(&node.op_def().outputs, node.attrs())?) {
            for (place, slot) in range.enumerate() {
                sources.entry(id.output(slot as u32)).or_insert_with(|| format!("{}:{}:{place}", node.name(), arg.name));
            }
        }
    }
    let source = |tensor: OutputId| -> Result<String> {
        match sources.get(part.replaced.get(&tensor).unwrap_or(&tensor)) {
            Some(source) => Ok(source.clone()),
            None => bail!(InvalidArgument, "'{}' is not part of function '{base}'", graph.tensor_name(tensor)),
        }
    };
    for &id in &nodes {
        let node = graph.node(id)?;
        signature.is_stateful |= node.op_def().is_stateful();
        let mut input = graph.inputs(id).map(source).collect::<Result<Vec<_>>>()?;
        for control in graph.control_inputs(id).filter(|c| nodes.contains(c)) {
            input.push(format!("^{}", graph.node(control)?.name()));
        }
        let mut made = NodeDef { input, ..graph.node_def(id)? };
        // Groups of nodes outside of the graph stay: they hold where the function is inlined.
        retain_colocations(&mut made, |name| names.contains(name) || graph.find_node(name).is_none());
        def.node_def.push(made);
    }
    for &result in part.results {
        let name = unique(&mut names, "result");
        let r#type = graph.output_type(result)?.dtype.number();
        def.ret.insert(name.clone(), source(result)?);
        signature.output_arg.push(ArgDef { name, r#type, ..ArgDef::default() });
    }
    for &control in part.control_results {
        let name = unique(&mut names, "done");
        def.control_ret.insert(name.clone(), graph.node(control)?.name().to_owned());
        signature.control_output.push(name);
    }
    def.signature = Some(signature);
    name_by_content(&mut def, base);
    Ok(def)
}

/// Calls a function `base` and what it says, so that two that differ have different names.
pub fn name_by_content(def: &mut FunctionDef, base: &str) {
    use flowmill_proto::Message;
    use std::hash::Hasher;
    if let Some(signature) = &mut def.signature {
        signature.name.clear();
    }
    let mut hasher = rustc_hash::FxHasher::default();
    hasher.write(&def.encode_to_vec());
    if let Some(signature) = &mut def.signature {
        signature.name = format!("{base}_{:016x}", hasher.finish());
    }
}

/// Returns the nodes that results need, up to the arguments, in the order of their ids.
fn nodes_of(graph: &Graph, part: &FunctionPart<'_>) -> Result<BTreeSet<NodeId>> {
    let args: FxHashSet<OutputId> = part.args.iter().filter_map(|a| a.tensor).collect();
    let resolve = |tensor: OutputId| Some(*part.replaced.get(&tensor).unwrap_or(&tensor)).filter(|t| !args.contains(t)).map(|t| t.node);
    let mut todo: Vec<NodeId> = part.results.iter().filter_map(|&r| resolve(r)).chain(part.kept.iter().copied()).collect();
    let mut nodes = BTreeSet::new();
    while let Some(id) = todo.pop() {
        if !nodes.insert(id) {
            continue;
        }
        let node = graph.node(id)?;
        if node.is_op(ARG) || node.is_op(RETVAL) {
            bail!(InvalidArgument, "'{}' is not an argument of the function being made", node.name());
        }
        todo.extend(graph.inputs(id).filter_map(resolve));
    }
    Ok(nodes)
}

/// Removes the colocations of a node with nodes for which `is_there` returns false.
pub fn retain_colocations(node: &mut NodeDef, is_there: impl Fn(&str) -> bool) {
    let Some(Value::List(list)) = node.attr.get_mut("_class").and_then(|v| v.value.as_mut()) else { return };
    list.s.retain(|group| match std::str::from_utf8(group).ok().and_then(|g| g.strip_prefix("loc:@")) {
        Some(name) => is_there(name),
        None => true,
    });
    if list.s.is_empty() {
        node.attr.remove("_class");
    }
}

fn unique(names: &mut FxHashSet<String>, base: &str) -> String {
    let mut name = base.to_owned();
    let mut number = 0;
    while !names.insert(name.clone()) {
        number += 1;
        name = format!("{base}_{number}");
    }
    name
}
