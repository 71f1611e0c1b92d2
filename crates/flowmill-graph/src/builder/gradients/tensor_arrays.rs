//! TensorArrays of a function as tensor lists.
//!
//! The gradient of a TensorArray is another TensorArray that sums what is written to it, and that one has no gradient. Tensor lists are values, and
//! have gradients of any order. So a function that is to be differentiated twice gets lists: the flow of a TensorArray, which orders its
//! uses, becomes the list itself, and its handle goes away.

use flowmill_proto::attr_value::Value;
use flowmill_proto::{AttrValue, FunctionDef, NodeDef};
use flowmill_tensor::{DType, PartialShape, Result, Tensor, bail};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;

/// Replaces the TensorArrays that a function makes by tensor lists.
///
/// # Errors
/// `Unimplemented` for a TensorArray that is used by something else than its ops and control flow.
pub(super) fn as_lists(def: &mut FunctionDef) -> Result<()> {
    let arrays: Vec<Array> = def.node_def.iter().filter(|n| n.op == "TensorArrayV3").map(Array::new).collect();
    if arrays.is_empty() {
        return Ok(());
    }
    let uses = Uses::find(&def.node_def, &arrays)?;
    let nodes = std::mem::take(&mut def.node_def);
    let mut made = Vec::with_capacity(nodes.len() + arrays.len());
    let removed: FxHashSet<String> = nodes.iter().filter(|n| uses.only_moves_handle(n)).map(|n| n.name.clone()).collect();
    for node in nodes.into_iter().filter(|n| !removed.contains(&n.name)) {
        let first = made.len();
        uses.rewrite(node, &arrays, &mut made)?;
        for node in &mut made[first..] {
            node.input.retain(|input| !input.strip_prefix('^').is_some_and(|control| removed.contains(control)));
            node.input.iter_mut().for_each(|input| rename(input, &uses));
        }
    }
    def.node_def = made;
    def.ret.values_mut().for_each(|source| rename(source, &uses));
    Ok(())
}

fn rename(tensor: &mut String, uses: &Uses) {
    if let Some(new) = uses.renamed.get(tensor) {
        tensor.clone_from(new);
    }
}

struct Array {
    name: String,
    dtype: AttrValue,
    element: PartialShape,
    /// True if the array grows when an element past its end is written.
    grows: bool,
}

impl Array {
    fn new(node: &NodeDef) -> Array {
        let element = match node.attr.get("element_shape").and_then(|a| a.value.as_ref()) {
            Some(Value::Shape(shape)) => PartialShape::from_proto(shape),
            _ => PartialShape::unknown(),
        };
        let grows = matches!(node.attr.get("dynamic_size").and_then(|a| a.value.as_ref()), Some(Value::B(true)));
        let dtype = node.attr.get("dtype").cloned().unwrap_or_default();
        Array { name: node.name.clone(), dtype, element, grows }
    }

    /// Returns the shape of elements as ops of lists take it: -1 for what is unknown.
    fn element_shape(&self) -> Result<Tensor> {
        match self.element.dims() {
            Some(dims) => Tensor::vector(&dims.iter().map(|&d| i32::try_from(d).unwrap_or(-1)).collect::<Vec<i32>>()),
            None => Ok(Tensor::scalar(-1i32)),
        }
    }
}

/// Returns a constant that belongs to `node`, in the frame of the node's inputs.
fn constant_for(node: &NodeDef, kind: &str, value: &Tensor) -> Result<NodeDef> {
    let attr = [("dtype".to_owned(), type_of(value.dtype())), ("value".to_owned(), AttrValue::from(value.to_proto()?))];
    // The last input is the flow, or the size of a new array. An argument of the function is in no frame.
    let producer = node.input.iter().rfind(|input| !input.starts_with('^')).and_then(|input| input.split_once(':'));
    let input = producer.map(|(name, _)| format!("^{name}")).into_iter().collect();
    Ok(NodeDef { name: format!("{}/{kind}", node.name), op: "Const".into(), input, attr: attr.into(), ..NodeDef::default() })
}

fn type_of(dtype: DType) -> AttrValue {
    Value::Type(dtype.number()).into()
}

/// The tensors of a function that are handles or flows of TensorArrays, each with the array's place in the list of them.
#[derive(Default)]
struct Uses {
    handles: FxHashMap<String, usize>,
    flows: FxHashMap<String, usize>,
    /// New names of tensors.
    renamed: FxHashMap<String, String>,
}

impl Uses {
    fn find(nodes: &[NodeDef], arrays: &[Array]) -> Result<Uses> {
        let mut consumers: FxHashMap<&str, Vec<&NodeDef>> = FxHashMap::default();
        for node in nodes {
            node.input.iter().for_each(|input| consumers.entry(input).or_default().push(node));
        }
        let mut uses = Uses::default();
        let mut todo = Vec::new();
        for (i, array) in arrays.iter().enumerate() {
            todo.push((format!("{}:handle:0", array.name), i, true));
            todo.push((format!("{}:flow:0", array.name), i, false));
        }
        for node in nodes {
            if let Some(rule) = RULES.iter().find(|rule| rule.op == node.op) {
                uses.renamed.insert(format!("{}:{}:0", node.name, rule.output), format!("{}:{}:0", node.name, rule.list_output));
            }
        }
        while let Some((tensor, array, is_handle)) = todo.pop() {
            let known = if is_handle { &mut uses.handles } else { &mut uses.flows };
            if known.insert(tensor.clone(), array).is_some() {
                continue;
            }
            for node in consumers.get(tensor.as_str()).into_iter().flatten() {
                let outputs: &[&str] = match node.op.as_str() {
                    "TensorArrayWriteV3" | "TensorArrayScatterV3" | "TensorArraySplitV3" if !is_handle => &["flow_out"],
                    op if op.starts_with("TensorArray") => &[],
                    "Identity" | "Enter" | "Merge" | "Exit" | "NextIteration" => &["output"],
                    "Switch" => &["output_false", "output_true"],
                    op => bail!(
                        Unimplemented,
                        "Second-order gradient for while loops not supported for a TensorArray in '{}' ({op})",
                        node.name
                    ),
                };
                todo.extend(outputs.iter().map(|output| (format!("{}:{output}:0", node.name), array, is_handle)));
            }
        }
        Ok(uses)
    }

    /// Returns true for control flow that a handle passes through.
    fn only_moves_handle(&self, node: &NodeDef) -> bool {
        !node.op.starts_with("TensorArray") && node.input.first().is_some_and(|input| self.handles.contains_key(input))
    }

    /// Adds the nodes that replace a node to `made`.
    fn rewrite(&self, node: NodeDef, arrays: &[Array], made: &mut Vec<NodeDef>) -> Result<()> {
        if !node.op.starts_with("TensorArray") {
            let carries_flow = node.input.first().is_some_and(|input| self.flows.contains_key(input));
            let mut node = node;
            if carries_flow {
                node.attr.insert("T".into(), type_of(DType::Variant));
            }
            made.push(node);
            return Ok(());
        }
        let of = node.input.first().and_then(|handle| self.handles.get(handle)).and_then(|&i| arrays.get(i));
        let array = of.or_else(|| arrays.iter().find(|a| a.name == node.name));
        let Some(array) = array else { bail!(Internal, "'{}' belongs to no TensorArray of the function", node.name) };
        let rule = rule_for(&node)?;
        let given: Vec<&str> = node.input.iter().map(String::as_str).filter(|input| !input.starts_with('^')).collect();
        let mut input = Vec::with_capacity(rule.inputs.len());
        for source in rule.inputs {
            match source {
                Source::Input(i) if *i < given.len() => input.push(given[*i].to_owned()),
                Source::Input(i) => bail!(InvalidArgument, "'{}' has no input {i}", node.name),
                Source::ElementShape | Source::NoSizes => {
                    let constant = match source {
                        Source::ElementShape => constant_for(&node, "element_shape", &array.element_shape()?)?,
                        _ => constant_for(&node, "no_sizes", &Tensor::vector::<i64>(&[])?)?,
                    };
                    input.push(format!("{}:output:0", constant.name));
                    made.push(constant);
                }
            }
        }
        input.extend(node.input.iter().filter(|input| input.starts_with('^')).cloned());
        let mut attr = BTreeMap::new();
        for &name in rule.attrs {
            let value = match name {
                "element_dtype" => array.dtype.clone(),
                "shape_type" => type_of(DType::I32),
                _ => array.grows.into(),
            };
            attr.insert(name.to_owned(), value);
        }
        made.push(NodeDef { name: node.name, op: rule.list_op.into(), input, device: node.device, attr, ..NodeDef::default() });
        Ok(())
    }
}

/// An input of a list's op.
enum Source {
    /// The TensorArray op's input of this number.
    Input(usize),
    ElementShape,
    /// A vector without elements.
    NoSizes,
}

/// The op of lists that replaces an op of TensorArrays. Both have their outputs in one order.
struct Rule {
    op: &'static str,
    output: &'static str,
    list_op: &'static str,
    list_output: &'static str,
    inputs: &'static [Source],
    attrs: &'static [&'static str],
}

const RULES: [Rule; 8] = {
    use Source::{ElementShape, Input, NoSizes};
    const fn rule(
        op: &'static str,
        output: &'static str,
        list_op: &'static str,
        list_output: &'static str,
        inputs: &'static [Source],
        attrs: &'static [&'static str],
    ) -> Rule {
        Rule { op, output, list_op, list_output, inputs, attrs }
    }
    const DTYPE: &[&str] = &["element_dtype"];
    const WITH_SHAPE: &[&str] = &["element_dtype", "shape_type"];
    const FLOW: &str = "flow_out";
    const LIST: &str = "output_handle";
    [
        rule("TensorArrayV3", "flow", "TensorListReserve", "handle", &[ElementShape, Input(0)], WITH_SHAPE),
        rule(
            "TensorArrayWriteV3",
            FLOW,
            "TensorListSetItem",
            LIST,
            &[Input(3), Input(1), Input(2)],
            &["element_dtype", "resize_if_index_out_of_bounds"],
        ),
        rule("TensorArrayReadV3", "value", "TensorListGetItem", "item", &[Input(2), Input(1), ElementShape], DTYPE),
        rule("TensorArrayGatherV3", "value", "TensorListGather", "values", &[Input(2), Input(1), ElementShape], DTYPE),
        rule("TensorArrayScatterV3", FLOW, "TensorListScatterIntoExistingList", LIST, &[Input(3), Input(2), Input(1)], DTYPE),
        rule("TensorArrayConcatV3", "value", "TensorListConcatV2", "tensor", &[Input(1), ElementShape, NoSizes], WITH_SHAPE),
        rule("TensorArraySplitV3", FLOW, "TensorListSplit", LIST, &[Input(1), ElementShape, Input(2)], WITH_SHAPE),
        rule("TensorArraySizeV3", "size", "TensorListLength", "length", &[Input(1)], &[]),
    ]
};

fn rule_for(node: &NodeDef) -> Result<&'static Rule> {
    match RULES.iter().find(|rule| rule.op == node.op) {
        Some(rule) => Ok(rule),
        None => bail!(Unimplemented, "Second-order gradient for while loops not supported for '{}' ({})", node.name, node.op),
    }
}
