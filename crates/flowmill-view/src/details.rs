//! The details of one node: attributes, tensors, and a summary of a constant's value.

use crate::flat::FlatGraph;
use flowmill_graph::text::AttrText;
use flowmill_graph::{Node, NodeId, Role};
use flowmill_proto::AttrValue;
use flowmill_proto::attr_value::Value;
use flowmill_tensor::{DType, Tensor, bf16, f16, for_dtype};
use serde::Serialize;

/// Values of attributes are cut after this many letters.
pub const MAX_ATTRIBUTE_LETTERS: usize = 1024;

/// Lists of a node's tensors are cut after this many entries.
pub const MAX_TENSORS: usize = 200;

/// The details of a node as the page gets them.
#[derive(Serialize)]
pub(crate) struct Details {
    /// Attributes and their values as text.
    #[serde(rename = "a", skip_serializing_if = "Vec::is_empty")]
    attrs: Vec<(String, String)>,
    /// The names of the input tensors, `x:0`, and of control inputs, `^x`.
    #[serde(rename = "i", skip_serializing_if = "Vec::is_empty")]
    inputs: Vec<String>,
    /// The types and shapes of the outputs.
    #[serde(rename = "o", skip_serializing_if = "Vec::is_empty")]
    outputs: Vec<String>,
    /// The functions that the node calls.
    #[serde(rename = "f", skip_serializing_if = "Vec::is_empty")]
    functions: Vec<String>,
    /// The names of the nodes that this one was made from.
    #[serde(rename = "m", skip_serializing_if = "<[String]>::is_empty")]
    made_from: Vec<String>,
}

impl Details {
    pub(crate) fn new(flat: &FlatGraph<'_>, number: u32) -> Details {
        let (part, node) = flat.node(number);
        let name = |id: NodeId| part.graph.get(id).map_or("?", Node::name);
        let data = part.graph.inputs(node.id()).map(|tensor| format!("{}:{}", name(tensor.node), tensor.slot));
        let control = part.graph.control_inputs(node.id()).filter(|src| *src > NodeId::SINK).map(|src| format!("^{}", name(src)));
        let is_function = |op: &&str| part.graph.library().get(op).is_some();
        let functions = std::iter::once(node.op()).filter(is_function).map(str::to_owned);
        let named = node.attrs().values().flat_map(AttrValue::functions).map(|function| function.name.clone());
        Details {
            attrs: node.attrs().iter().map(|(name, value)| (name.to_owned(), attr_text(node, name, value))).collect(),
            inputs: data.chain(control).take(MAX_TENSORS).collect(),
            outputs: (0..node.num_outputs().min(MAX_TENSORS) as u32).map(|slot| flat.tensor_text(number, slot)).collect(),
            functions: functions.chain(named).collect(),
            made_from: node.original_names().iter().take(MAX_TENSORS).cloned().collect(),
        }
    }
}

fn attr_text(node: &Node, name: &str, value: &AttrValue) -> String {
    if let (Role::Const, "value", Some(Value::Tensor(proto))) = (node.role(), name, &value.value)
        && let Ok(tensor) = Tensor::from_proto(proto)
    {
        return tensor_summary(&tensor);
    }
    // The text form of graphs has short names of types. Everything else on the page has TensorFlow's.
    let of_type = |t: i32| DType::from_number(t).map(|dtype| dtype.name().to_owned());
    let types = match &value.value {
        Some(Value::Type(t)) => of_type(*t),
        Some(Value::List(list)) if !list.r#type.is_empty() => {
            list.r#type.iter().map(|&t| of_type(t)).collect::<Option<Vec<_>>>().map(|names| format!("[{}]", names.join(", ")))
        }
        _ => None,
    };
    shortened(types.unwrap_or_else(|| AttrText(value).to_string()))
}

fn shortened(text: String) -> String {
    match text.char_indices().nth(MAX_ATTRIBUTE_LETTERS) {
        Some((end, _)) => format!("{}… ({} bytes in all)", &text[..end], text.len()),
        None => text,
    }
}

/// The least, the greatest and the mean element, and the number of elements that are not finite.
#[derive(Clone, Copy)]
struct Statistics {
    min: f64,
    max: f64,
    sum: f64,
    count: u64,
    others: u64,
}

impl Statistics {
    fn of(values: impl Iterator<Item = f64>) -> Statistics {
        let mut found = Statistics { min: f64::INFINITY, max: f64::NEG_INFINITY, sum: 0.0, count: 0, others: 0 };
        for value in values {
            if value.is_finite() {
                (found.min, found.max) = (found.min.min(value), found.max.max(value));
                (found.sum, found.count) = (found.sum + value, found.count + 1);
            } else {
                found.others += 1;
            }
        }
        found
    }
}

/// An element that is a number.
trait Number {
    /// Returns the nearest `f64`.
    fn number(&self) -> f64;
}

macro_rules! numbers {
    ($($t:ty)*, $value:ident => $number:expr) => {$(impl Number for $t {
        fn number(&self) -> f64 {
            let $value = *self;
            $number
        }
    })*};
}

numbers!(f64, value => value);
numbers!(f32 i8 i16 i32 u8 u16 u32, value => f64::from(value));
numbers!(i64 u64, value => value as f64);
numbers!(f16 bf16, value => value.to_f64());

/// Elements whose values are in the summary.
const SHOWN_ELEMENTS: usize = 8;

/// Returns the type, the shape and the size of a tensor, the first elements, and the range and the mean of numbers.
fn tensor_summary(tensor: &Tensor) -> String {
    let (shape, n) = (tensor.shape(), tensor.num_elements());
    let mut text = format!("{}{shape}, {n} elements, {} bytes", tensor.dtype().name(), tensor.num_bytes());
    let numbers: Option<(Vec<String>, Statistics)> = for_dtype!(
        tensor.dtype(), [f32, f64, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64], T => tensor.as_slice::<T>().ok().map(|values| {
            let shown = values.iter().take(SHOWN_ELEMENTS).map(ToString::to_string).collect();
            (shown, Statistics::of(values.iter().map(|value| value.number())))
        }),
        _ => None
    );
    let mut add_values = |values: Vec<String>| {
        if !values.is_empty() {
            let more = if n > values.len() { ", …" } else { "" };
            text.push_str(&format!("; values {}{more}", values.join(", ")));
        }
    };
    match numbers {
        Some((values, statistics)) => {
            add_values(values);
            if n > 1 && statistics.count > 0 {
                let mean = statistics.sum / statistics.count as f64;
                text.push_str(&format!("; min {}, max {}, mean {mean:.4}", statistics.min, statistics.max));
            }
            if statistics.others > 0 {
                text.push_str(&format!("; {} not finite", statistics.others));
            }
        }
        None if tensor.dtype() == DType::Bool => {
            add_values(tensor.as_slice::<bool>().unwrap_or_default().iter().take(SHOWN_ELEMENTS).map(ToString::to_string).collect());
        }
        None => {}
    }
    text
}
