//! Every declared op is TensorFlow's, or one of the optimizer's own: compared with the definitions read off TensorFlow's own registry (`data/tf_ops.jsonl`).
#![allow(clippy::unwrap_used, clippy::panic)]

use flowmill_graph::{ArgDef, ArgType, AttrDef, AttrType, OpDef};
use flowmill_proto::attr_value::{ListValue, Value as Attr};
use flowmill_proto::{AttrValue, Message, TensorProto, TensorShapeProto};
use flowmill_tensor::DType;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

#[test]
fn every_declaration_is_tensorflows() {
    let theirs = tensorflow_ops();
    let mut wrong = Vec::new();
    for (family, op) in flowmill_ops::declarations() {
        let ours = match op.definition() {
            Ok(def) => def,
            Err(e) => {
                wrong.push(format!("{family}: {e}"));
                continue;
            }
        };
        if family == flowmill_ops::OWN {
            assert!(op.name().starts_with('_') && !theirs.contains_key(op.name()), "{} is TensorFlow's, or looks like a user's", op.name());
            continue;
        }
        let Some(json) = theirs.get(op.name()) else {
            wrong.push(format!("{family}: TensorFlow has no op '{}'", op.name()));
            continue;
        };
        let (ours, theirs) = (parts(&ours), parts(&from_json(json)));
        for (o, t) in ours.iter().zip(&theirs).filter(|(o, t)| o != t) {
            wrong.push(format!("{family}, {}:\n  ours   {o}\n  theirs {t}", op.name()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn no_op_is_declared_twice() {
    let mut seen = BTreeSet::new();
    for (family, op) in flowmill_ops::declarations() {
        assert!(seen.insert(op.name()), "{family}: {}", op.name());
    }
    assert!(seen.len() >= 637);
}

#[test]
fn every_op_has_a_shape_function() {
    let without: Vec<_> = flowmill_ops::catalogue().into_iter().filter(|def| def.shape_fn.is_none()).map(|def| def.name).collect();
    assert!(without.is_empty(), "{without:?}");
}

fn tensorflow_ops() -> BTreeMap<String, Value> {
    // Python writes infinite numbers in a way that JSON does not know.
    let text = include_str!("data/tf_ops.jsonl").replace("-Infinity", "\"-inf\"").replace("Infinity", "\"inf\"");
    text.lines()
        .map(|line| {
            let op: Value = serde_json::from_str(line).unwrap();
            (op["name"].as_str().unwrap().to_owned(), op)
        })
        .collect()
}

/// What is compared, as text, so that a difference reads well.
fn parts(def: &OpDef) -> Vec<String> {
    vec![
        format!("inputs {:?}", def.inputs),
        format!("outputs {:?}", def.outputs),
        format!("attrs {:?}", def.attrs),
        format!("commutative {}", def.is_commutative),
        format!("aggregate {}", def.is_aggregate),
        format!("stateful {}", def.is_stateful),
        format!("allows uninitialized {}", def.allows_uninitialized_input),
        format!("deprecated {:?}", def.deprecation.as_ref().map(|d| d.version)),
    ]
}

fn from_json(op: &Value) -> OpDef {
    let flag = |name: &str| op[name].as_bool().unwrap_or(false);
    OpDef {
        inputs: array(&op["inputs"]).iter().map(arg).collect(),
        outputs: array(&op["outputs"]).iter().map(arg).collect(),
        attrs: array(&op["attrs"]).iter().map(attr).collect(),
        is_commutative: flag("is_commutative"),
        is_aggregate: flag("is_aggregate"),
        is_stateful: flag("is_stateful"),
        allows_uninitialized_input: flag("allows_uninitialized_input"),
        deprecation: op["deprecated_since"].as_i64().map(|v| flowmill_graph::Deprecation { version: v as i32, explanation: String::new() }),
        ..OpDef::default()
    }
}

fn array(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], |v| v.as_slice())
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

fn dtype(value: &Value) -> DType {
    DType::from_name(value.as_str().unwrap()).unwrap()
}

fn arg(arg: &Value) -> ArgDef {
    let ty = if let Some(name) = arg["type_attr"].as_str() {
        ArgType::Attr(name.into())
    } else if let Some(name) = arg["type_list_attr"].as_str() {
        ArgType::ListAttr(name.into())
    } else {
        ArgType::Fixed(dtype(&arg["type"]))
    };
    ArgDef {
        name: text(&arg["name"]),
        ty,
        number_attr: arg["number_attr"].as_str().map(Into::into),
        is_ref: arg["is_ref"].as_bool().unwrap_or(false),
    }
}

fn attr(attr: &Value) -> AttrDef {
    let ty = AttrType::from_name(attr["type"].as_str().unwrap()).unwrap();
    let allowed = array(&attr["allowed"]);
    let of_types = matches!(ty, AttrType::Type | AttrType::ListType);
    AttrDef {
        name: text(&attr["name"]),
        ty,
        default: attr.get("default").map(|d| default_value(ty, d)),
        allowed_types: if of_types { allowed.iter().map(dtype).collect() } else { Vec::new() },
        allowed_strings: if of_types { Vec::new() } else { allowed.iter().map(text).collect() },
        minimum: attr["minimum"].as_i64(),
    }
}

fn default_value(ty: AttrType, value: &Value) -> AttrValue {
    match ty {
        AttrType::String => text(&value["s"]).into(),
        AttrType::Int => value["i"].as_i64().unwrap().into(),
        AttrType::Float => float(&value["f"]).into(),
        AttrType::Bool => value["b"].as_bool().unwrap().into(),
        AttrType::Type => Attr::Type(dtype(&value["type"]).number()).into(),
        AttrType::Shape => shape(&value["shape"]).into(),
        AttrType::Tensor => TensorProto::decode(unhex(value["tensor"].as_str().unwrap()).as_slice()).unwrap().into(),
        AttrType::Func | AttrType::ListFunc | AttrType::ListTensor => panic!("no such default in TensorFlow"),
        _ => {
            let list = &value["list"];
            AttrValue::from(ListValue {
                s: array(&list["s"]).iter().map(|s| text(s).into()).collect(),
                i: array(&list["i"]).iter().map(|i| i.as_i64().unwrap()).collect(),
                f: array(&list["f"]).iter().map(float).collect(),
                b: array(&list["b"]).iter().map(|b| b.as_bool().unwrap()).collect(),
                r#type: array(&list["type"]).iter().map(|t| dtype(t).number()).collect(),
                shape: array(&list["shape"]).iter().map(shape).collect(),
                ..ListValue::default()
            })
        }
    }
}

fn float(value: &Value) -> f32 {
    match value.as_str() {
        Some(text) => text.parse().unwrap(),
        None => value.as_f64().unwrap() as f32,
    }
}

fn shape(value: &Value) -> TensorShapeProto {
    match value.as_array() {
        Some(sizes) => TensorShapeProto::of(sizes.iter().map(|s| s.as_i64().unwrap())),
        None => TensorShapeProto { unknown_rank: true, ..TensorShapeProto::default() },
    }
}

fn unhex(text: &str) -> Vec<u8> {
    (0..text.len() / 2).map(|i| u8::from_str_radix(&text[2 * i..2 * i + 2], 16).unwrap()).collect()
}
