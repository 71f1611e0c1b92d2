//! Every declared op is TensorFlow's, one of the optimizer's own, or in Flowmill's namespace: compared with the definitions read off TensorFlow's own registry (`data/tf_ops.jsonl`).
#![allow(clippy::unwrap_used, clippy::panic)]

use flowmill_graph::{ArgDef, ArgType, AttrDef, AttrType, Effects, ElementwiseFunction, OpDef, OpTraits};
use flowmill_proto::attr_value::{ListValue, Value as Attr};
use flowmill_proto::{AttrValue, Message, TensorProto, TensorShapeProto};
use flowmill_tensor::DType;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Ops of `tf.contrib`, which TensorFlow's registry has no more.
const OF_CONTRIB: [&str; 3] = ["BytesInUse", "BytesLimit", "MaxBytesInUse"];

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
        if op.name().starts_with(flowmill_ops::NAMESPACE) || OF_CONTRIB.contains(&op.name()) {
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

/// A test op of TensorFlow's, with the default of a kind that declarations cannot state.
const WITHOUT_SIGNATURE: &str = "DefaultAttrs";

#[test]
fn every_other_op_of_tensorflow_has_a_signature() {
    let declared: BTreeSet<&str> = flowmill_ops::declarations().map(|(_, op)| op.name()).collect();
    let ops = tensorflow_ops();
    let others: BTreeMap<&str, OpDef> = ops
        .iter()
        .map(|(name, json)| (name.as_str(), from_json(json)))
        .filter(|(name, _)| !declared.contains(name) && *name != WITHOUT_SIGNATURE)
        .collect();
    let expected: String = others.iter().map(|(name, def)| line(name, def)).collect();
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/signatures.txt");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, &expected).unwrap();
    }
    assert!(std::fs::read_to_string(&path).unwrap() == expected, "stale: run BLESS=1 cargo test -p flowmill-ops --test definitions");
    let registry = flowmill_ops::registry().unwrap();
    for (name, theirs) in &others {
        let Some(ours) = registry.get(name) else { panic!("{name} is not found: build again if its line was written just now") };
        assert_eq!(parts(ours), parts(theirs), "{name}");
        assert_eq!(ours.name, *name);
    }
    for unknown in ["", "A_", "AA", "ZzzNoOp", "no_such_op", "\n"] {
        assert!(registry.get(unknown).is_none(), "{unknown:?}");
    }
    assert_eq!(flowmill_ops::signatures_only().len(), others.len());
}

#[test]
fn each_elementwise_function_is_that_of_the_op_of_its_name() {
    use ElementwiseFunction::{Accumulate, AccumulatePart, BiasAdd, GeluApproximate, GeluExact, HardSigmoid, HardSwish, Mish, Silu};
    let declared: BTreeMap<&str, Option<ElementwiseFunction>> =
        flowmill_ops::declarations().map(|(_, op)| (op.name(), op.definition().unwrap().traits.elementwise)).collect();
    for &function in ElementwiseFunction::ALL {
        assert_eq!(function.name().parse::<ElementwiseFunction>().unwrap(), function);
        let is_fused_only = matches!(function, Accumulate | AccumulatePart | BiasAdd);
        let is_own = matches!(function, GeluApproximate | GeluExact | HardSigmoid | HardSwish | Mish | Silu);
        let op = if is_own { format!("_{function}") } else { function.name().to_owned() };
        assert_eq!(declared.get(&*op).copied().flatten(), (!is_fused_only).then_some(function), "{function}");
    }
    let error = "Nonsense".parse::<ElementwiseFunction>().unwrap_err();
    assert!(error.message().contains("'Nonsense' is not an element-wise function"), "{error}");
}

/// The line of `signatures.txt` for an op.
fn line(name: &str, def: &OpDef) -> String {
    let args = |args: &[ArgDef]| args.iter().map(arg_text).collect::<Vec<_>>().join(", ");
    let outputs = if def.outputs.is_empty() { String::new() } else { format!(" -> ({})", args(&def.outputs)) };
    let attrs: Vec<String> = def.attrs.iter().map(attr_text).collect();
    let flags = [
        (def.is_stateful(), "stateful"),
        (def.is_commutative, "commutative"),
        (def.is_aggregate, "aggregate"),
        (def.allows_uninitialized_input, "allows_uninitialized_input"),
    ];
    let mut flags: Vec<String> = flags.iter().filter(|(set, _)| *set).map(|(_, name)| (*name).to_owned()).collect();
    flags.extend(def.deprecation.as_ref().map(|d| format!("deprecated={}", d.version)));
    format!("{name}\t({}){outputs}\t{}\t{}\n", args(&def.inputs), attrs.join("; "), flags.join(" "))
}

fn arg_text(arg: &ArgDef) -> String {
    let ty = match &arg.ty {
        ArgType::Fixed(dtype) => dtype.cpp_name().to_owned(),
        ArgType::Attr(attr) | ArgType::ListAttr(attr) => attr.clone(),
    };
    let ty = if arg.is_ref { format!("Ref({ty})") } else { ty };
    let number = arg.number_attr.as_ref().map_or(String::new(), |n| format!("{n} * "));
    format!("{}: {number}{ty}", arg.name)
}

fn attr_text(attr: &AttrDef) -> String {
    let name = attr.ty.name();
    let (list, scalar) = name.strip_prefix("list(").map_or((false, name), |n| (true, n.trim_end_matches(')')));
    let set = |items: Vec<String>| format!("{{{}}}", items.join(", "));
    let scalar = match (&attr.allowed_types[..], &attr.allowed_strings[..]) {
        ([], []) => scalar.to_owned(),
        (types, []) => set(types.iter().map(|t| t.cpp_name().to_owned()).collect()),
        (_, strings) => set(strings.iter().map(|s| quoted(s)).collect()),
    };
    let mut text = format!("{}: {}", attr.name, if list { format!("list({scalar})") } else { scalar });
    if let Some(minimum) = attr.minimum {
        text += &format!(" >= {minimum}");
    }
    if let Some(default) = &attr.default {
        text += &format!(" = {}", default_text(default));
    }
    text
}

fn quoted(text: &str) -> String {
    assert!(!text.contains(['\'', '\t', '\n']), "no declaration can state {text:?}");
    format!("'{text}'")
}

fn default_text(value: &AttrValue) -> String {
    let type_text = |number: i32| DType::from_number(number).unwrap().cpp_name().to_owned();
    let shape_text = |shape: &TensorShapeProto| match shape.unknown_rank {
        true => "unknown".to_owned(),
        false => format!("[{}]", shape.dim.iter().map(|d| d.size.to_string()).collect::<Vec<_>>().join(", ")),
    };
    let string = |s: &[u8]| quoted(std::str::from_utf8(s).unwrap());
    match value.value.as_ref().unwrap() {
        Attr::S(s) => string(s),
        Attr::I(i) => i.to_string(),
        Attr::F(f) => format!("{f:?}"),
        Attr::B(b) => b.to_string(),
        Attr::Type(t) => type_text(*t),
        Attr::Shape(s) => shape_text(s),
        Attr::List(list) => {
            let items = [
                list.s.iter().map(|s| string(s)).collect::<Vec<_>>(),
                list.i.iter().map(i64::to_string).collect(),
                list.f.iter().map(|f| format!("{f:?}")).collect(),
                list.b.iter().map(bool::to_string).collect(),
                list.r#type.iter().map(|&t| type_text(t)).collect(),
                list.shape.iter().map(shape_text).collect(),
            ];
            format!("[{}]", items.concat().join(", "))
        }
        other => panic!("no declaration can state {other:?}"),
    }
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

/// The parts of a definition that are compared, as text, so that a difference is easy to read.
fn parts(def: &OpDef) -> Vec<String> {
    vec![
        format!("inputs {:?}", def.inputs),
        format!("outputs {:?}", def.outputs),
        format!("attrs {:?}", def.attrs),
        format!("commutative {}", def.is_commutative),
        format!("aggregate {}", def.is_aggregate),
        format!("stateful {}", def.is_stateful()),
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
        allows_uninitialized_input: flag("allows_uninitialized_input"),
        traits: OpTraits { effects: if flag("is_stateful") { Effects::State } else { Effects::None }, ..OpTraits::default() },
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
        AttrType::Func => panic!("no such default in TensorFlow"),
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
