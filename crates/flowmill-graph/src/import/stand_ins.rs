//! Definitions of ops that nobody defines, made of the nodes that have them, so that a graph can be shown that cannot run.
//!
//! Such an op takes and returns a list of tensors, whose types its nodes get as attributes. The type of an output is the one that a known op expects there,
//! or else that of the node's only attribute that is a type, or else `float32`.

use crate::check::kind_of;
use crate::signature::{TypeList, resolve_types};
use crate::{Attrs, Graph, OpDef, TensorName};
use flowmill_proto::attr_value::{ListValue, Value};
use flowmill_proto::op_def::{ArgDef, AttrDef};
use flowmill_proto::{AttrValue, GraphDef, NodeDef};
use flowmill_tensor::DType;
use hashbrown::HashMap;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The attributes of the types of inputs and outputs.
const INPUTS: &str = "_input_types";
const OUTPUTS: &str = "_output_types";

/// The most outputs that an op without a definition is taken to have.
const MAX_OUTPUTS: i32 = 1 << 10;

/// Returns definitions of the ops of nodes that neither the graph, nor the message, nor its producer defines, and sets the attributes of these nodes.
pub(super) fn add(graph: &Graph, def: &mut GraphDef, producer_ops: &[flowmill_proto::OpDef]) -> Vec<flowmill_proto::OpDef> {
    let ops = known_ops(graph, def, producer_ops);
    let is_unknown = |node: &NodeDef| !ops.contains_key(&node.op);
    if !def.node.iter().any(is_unknown) {
        return Vec::new();
    }
    let places: HashMap<String, usize> = def.node.iter().enumerate().map(|(i, node)| (node.name.clone(), i)).collect();
    let source = |input: &str| {
        let name = TensorName::parse(input).filter(|name| !name.is_control())?;
        Some((*places.get(name.node)?, name.slot))
    };
    // The types of inputs and outputs of nodes of known ops.
    let types: Vec<Option<(TypeList, usize)>> = def.node.iter().map(|node| types_of(ops.get(&node.op)?, node)).collect();
    let mut expected: HashMap<(usize, i32), DType> = HashMap::new();
    let mut num_outputs = vec![1; def.node.len()];
    for (node, types) in def.node.iter().zip(&types) {
        for (i, input) in node.input.iter().enumerate() {
            let Some((place, slot)) = source(input).filter(|&(_, slot)| slot < MAX_OUTPUTS) else { continue };
            num_outputs[place] = num_outputs[place].max(slot + 1);
            if let Some((all, num_inputs)) = types
                && let Some(expects) = all[..*num_inputs].get(i)
            {
                expected.entry((place, slot)).or_insert(expects.dtype);
            }
        }
    }
    let output = |place: usize, slot: i32| match &types[place] {
        Some((all, num_inputs)) => all[*num_inputs..].get(slot as usize).map(|t| t.dtype),
        None => expected.get(&(place, slot)).copied().or_else(|| only_type(&def.node[place])),
    };
    let output = |place: usize, slot: i32| output(place, slot).unwrap_or(DType::F32);
    let lists = |place: usize, node: &NodeDef| {
        let inputs = node.input.iter().filter(|input| !input.starts_with('^'));
        let inputs = inputs.map(|input| source(input).map_or(DType::F32, |(place, slot)| output(place, slot)));
        (place, list_of(inputs), list_of((0..num_outputs[place]).map(|slot| output(place, slot))))
    };
    let unknown = def.node.iter().enumerate().filter(|(_, node)| is_unknown(node));
    let unknown: Vec<_> = unknown.map(|(place, node)| lists(place, node)).collect();
    let mut made: BTreeMap<String, flowmill_proto::OpDef> = BTreeMap::new();
    for (place, inputs, outputs) in unknown {
        let node = &mut def.node[place];
        node.attr.insert(INPUTS.to_owned(), inputs);
        node.attr.insert(OUTPUTS.to_owned(), outputs);
        let op = made.entry(node.op.clone()).or_insert_with(|| stand_in(&node.op));
        declare_attrs(op, node);
    }
    made.into_values().collect()
}

/// Returns the definitions of those ops of a message that are known, by name.
fn known_ops(graph: &Graph, def: &GraphDef, producer_ops: &[flowmill_proto::OpDef]) -> HashMap<String, Arc<OpDef>> {
    let functions = def.library.iter().flat_map(|library| &library.function).filter_map(|function| function.signature.as_ref());
    let foreign: HashMap<&str, &flowmill_proto::OpDef> = producer_ops.iter().chain(functions).map(|op| (op.name.as_str(), op)).collect();
    let mut known = HashMap::new();
    for node in &def.node {
        if known.contains_key(&node.op) {
            continue;
        }
        let found = graph.op_def(&node.op).ok().cloned();
        let found = found.or_else(|| OpDef::from_proto(foreign.get(node.op.as_str())?).ok().map(Arc::new));
        known.extend(found.map(|op| (node.op.clone(), op)));
    }
    known
}

/// Returns the types of a node's inputs and outputs, and the number of inputs. `None` if attributes are missing, which the import reports.
fn types_of(op: &OpDef, node: &NodeDef) -> Option<(TypeList, usize)> {
    // Values of constants can be large, and no type depends on them.
    let is_small = |value: &AttrValue| !matches!(value.value, Some(Value::Tensor(_)));
    let mut attrs: Attrs =
        node.attr.iter().filter(|(_, value)| is_small(value)).map(|(name, value)| (name.clone(), value.clone())).collect();
    for attr in &op.attrs {
        if let (false, Some(default)) = (attrs.contains(&attr.name), &attr.default) {
            attrs.set(attr.name.clone(), default.clone());
        }
    }
    let mut types = TypeList::new();
    let num_inputs = resolve_types(op, &attrs, &mut types).ok()?;
    Some((types, num_inputs))
}

/// Returns the type in a node's attributes, if there is one alone.
fn only_type(node: &NodeDef) -> Option<DType> {
    let mut types = node.attr.values().filter_map(|attr| match attr.value {
        Some(Value::Type(number)) => DType::from_number(number),
        _ => None,
    });
    types.next().filter(|_| types.next().is_none())
}

fn list_of(types: impl Iterator<Item = DType>) -> AttrValue {
    ListValue { r#type: types.map(|dtype| dtype.number()).collect(), ..ListValue::default() }.into()
}

/// Returns a definition without attributes but those of its types.
fn stand_in(name: &str) -> flowmill_proto::OpDef {
    let arg = |name: &str, attr: &str| ArgDef { name: name.to_owned(), type_list_attr: attr.to_owned(), ..ArgDef::default() };
    flowmill_proto::OpDef {
        name: name.to_owned(),
        input_arg: vec![arg("inputs", INPUTS)],
        output_arg: vec![arg("outputs", OUTPUTS)],
        is_stateful: true,
        ..flowmill_proto::OpDef::default()
    }
}

/// Declares the attributes of a node, with their values as defaults for nodes that lack them.
fn declare_attrs(op: &mut flowmill_proto::OpDef, node: &NodeDef) {
    for (name, value) in &node.attr {
        let Some(kind) = value.value.as_ref().map(kind_of) else { continue };
        let kind = if kind == "list" { "list(type)" } else { kind };
        if !op.attr.iter().any(|attr| attr.name == *name) {
            let default_value = Some(value.clone());
            op.attr.push(AttrDef { name: name.clone(), r#type: kind.to_owned(), default_value, ..AttrDef::default() });
        }
    }
}
