//! Nodes as TensorFlow's messages show them: `{{node add}} = AddV2[T=DT_FLOAT](x, y:1)`.

use crate::{Graph, Node, NodeId, OutputId};
use flowmill_proto::attr_value::{ListValue, Value};
use flowmill_proto::{AttrValue, DataType, NameAttrList, TensorProto, TensorShapeProto};
use flowmill_tensor::{DType, PartialShape, Tensor};
use std::fmt::Write as _;

/// Strings of this many bytes and more are cut in the middle.
const MAX_STRING_BYTES: usize = 80;
/// Lists of this many entries and more are cut in the middle.
const MAX_LIST_ENTRIES: usize = 30;

/// Returns a node with the attributes of its op, in the order of their names, and the names of its inputs. Its device and the attributes of scopes, whose
/// names begin with an underscore, are left out: TensorFlow runs shape functions of new nodes before it sets these.
pub(crate) fn summarize_node(graph: &Graph, node: &Node) -> String {
    let attrs = node.attrs().to_map();
    let own = attrs.iter().filter(|(name, _)| !name.starts_with('_'));
    let attrs: Vec<String> = own.map(|(name, value)| format!("{name}={}", summarize_attr(value))).collect();
    let data = |input: OutputId| match (graph.get(input.node).map_or("?", Node::name), input.slot) {
        (name, 0) => name.to_owned(),
        (name, slot) => format!("{name}:{slot}"),
    };
    let control = graph.control_inputs(node.id()).filter(|id| *id > NodeId::SINK).filter_map(|id| graph.get(id));
    let inputs: Vec<String> = graph.inputs(node.id()).map(data).chain(control.map(|n| format!("^{}", n.name()))).collect();
    format!("{{{{node {}}}}} = {}[{}]({})", node.name(), node.op(), attrs.join(", "), inputs.join(", "))
}

/// Returns the elements of a small tensor in one line, without the outermost brackets: `[1 2][3 4]` for a matrix. `None` for elements that are
/// neither integers nor floats.
pub(crate) fn summarize_elements(tensor: &Tensor) -> Option<String> {
    let elements: Vec<String> = match tensor.dtype() {
        DType::F32 => tensor.as_slice::<f32>().ok()?.iter().map(|&x| general(f64::from(x))).collect(),
        DType::F64 => tensor.as_slice::<f64>().ok()?.iter().map(|&x| general(x)).collect(),
        dtype if dtype.is_integer() => tensor.to_i64_vec().ok()?.iter().map(i64::to_string).collect(),
        _ => return None,
    };
    let mut out = String::new();
    push_elements(&mut out, tensor.shape(), &elements);
    Some(out)
}

fn push_elements(out: &mut String, sizes: &[usize], elements: &[String]) {
    match sizes {
        [] | [_] => out.push_str(&elements.join(" ")),
        [rows, ..] => {
            for part in elements.chunks((elements.len() / rows.max(&1)).max(1)) {
                out.push('[');
                push_elements(out, &sizes[1..], part);
                out.push(']');
            }
        }
    }
}

fn summarize_attr(attr: &AttrValue) -> String {
    match &attr.value {
        Some(Value::S(bytes)) => string(bytes),
        Some(Value::I(i)) => i.to_string(),
        Some(Value::F(x)) => general(f64::from(*x)),
        Some(Value::B(b)) => b.to_string(),
        Some(Value::Type(number)) => data_type(*number),
        Some(Value::Shape(proto)) => shape(proto),
        Some(Value::Tensor(proto)) => tensor(proto),
        Some(Value::List(entries)) => list(entries),
        Some(Value::Func(called)) => function(called),
        Some(Value::Placeholder(name)) => format!("${name}"),
        None => "<Unknown AttrValue type>".to_owned(),
    }
}

fn list(list: &ListValue) -> String {
    let mut entries: Vec<String> = list.s.iter().map(|bytes| string(bytes)).collect();
    entries.extend(list.i.iter().map(i64::to_string));
    entries.extend(list.f.iter().map(|&x| general(f64::from(x))));
    entries.extend(list.b.iter().map(bool::to_string));
    entries.extend(list.r#type.iter().map(|&number| data_type(number)));
    entries.extend(list.shape.iter().map(shape));
    entries.extend(list.tensor.iter().map(tensor));
    entries.extend(list.func.iter().map(function));
    if entries.len() >= MAX_LIST_ENTRIES {
        entries.splice(5..entries.len() - 5, ["...".to_owned()]);
    }
    format!("[{}]", entries.join(", "))
}

fn function(called: &NameAttrList) -> String {
    let attrs: Vec<String> = called.attr.iter().map(|(name, value)| format!("{name}={}", summarize_attr(value))).collect();
    format!("{}[{}]", called.name, attrs.join(", "))
}

fn data_type(number: i32) -> String {
    DataType::try_from(number).map_or_else(|_| number.to_string(), |t| t.as_str_name().to_owned())
}

fn shape(proto: &TensorShapeProto) -> String {
    PartialShape::from_proto(proto).to_string()
}

fn tensor(proto: &TensorProto) -> String {
    let Ok(tensor) = Tensor::from_proto(proto) else { return "<Invalid TensorProto>".to_owned() };
    format!("Tensor<type: {} shape: {}>", tensor.dtype().cpp_name(), tensor.shape())
}

/// Returns a string in quotes, with C's escapes.
fn string(bytes: &[u8]) -> String {
    let mut escaped = String::new();
    for &byte in bytes {
        match byte {
            b'\n' => escaped.push_str("\\n"),
            b'\r' => escaped.push_str("\\r"),
            b'\t' => escaped.push_str("\\t"),
            b'"' | b'\'' | b'\\' => escaped.extend(['\\', char::from(byte)]),
            0x20..=0x7e => escaped.push(char::from(byte)),
            _ => write!(escaped, "\\{byte:03o}").unwrap_or_default(),
        }
    }
    if escaped.len() >= MAX_STRING_BYTES {
        return format!("\"{}...{}\"", &escaped[..10], &escaped[escaped.len() - 10..]);
    }
    format!("\"{escaped}\"")
}

/// Returns a number with up to six significant digits, in the form of C's `%g`.
fn general(x: f64) -> String {
    if x == 0.0 || !x.is_finite() {
        return match x {
            x if x.is_nan() => "nan".to_owned(),
            x if x.is_infinite() => if x > 0.0 { "inf" } else { "-inf" }.to_owned(),
            _ => if x.is_sign_negative() { "-0" } else { "0" }.to_owned(),
        };
    }
    let scientific = format!("{x:.5e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let trimmed =
        |text: &str| if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text.to_owned() };
    if (-4..6).contains(&exponent) {
        return trimmed(&format!("{x:.*}", (5 - exponent).max(0) as usize));
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{}e{sign}{:02}", trimmed(digits), exponent.abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_six_digits() {
        let cases = [(0.1, "0.1"), (1.0, "1"), (123456.7, "123457"), (1e6, "1e+06"), (1.5e-5, "1.5e-05"), (-2.25, "-2.25"), (0.0, "0")];
        for (x, text) in cases {
            assert_eq!(general(x), text);
        }
        assert_eq!([f64::NAN, f64::INFINITY, f64::NEG_INFINITY].map(general), ["nan", "inf", "-inf"]);
    }

    #[test]
    fn long_strings_and_lists_are_cut() {
        assert_eq!(string(b"a\"b\n\xff"), r#""a\"b\n\377""#);
        assert_eq!(string(&[b'x'; 100]), "\"xxxxxxxxxx...xxxxxxxxxx\"");
        let numbers = ListValue { i: (0..40).collect(), ..ListValue::default() };
        assert_eq!(list(&numbers), "[0, 1, 2, 3, 4, ..., 35, 36, 37, 38, 39]");
    }

    #[test]
    fn matrices_have_brackets_inside() {
        let elements = |t: Tensor| summarize_elements(&t).unwrap();
        assert_eq!(elements(Tensor::scalar(5i32)), "5");
        assert_eq!(elements(Tensor::vector(&[2i64, 3]).unwrap()), "2 3");
        assert_eq!(elements(Tensor::vector(&[1.5f32, 2.0, 3.0, 4.0]).unwrap().reshaped([2, 2]).unwrap()), "[1.5 2][3 4]");
        assert_eq!(elements(Tensor::vector::<i32>(&[]).unwrap()), "");
        assert_eq!(summarize_elements(&Tensor::string("a")), None);
    }
}
