//! The trait `Ops` has a method for every op of the catalogue: `BLESS=1 cargo test -p flowmill --test generated_ops` writes its file.
#![allow(clippy::unwrap_used)]

use flowmill::graph::text::AttrText;
use flowmill::graph::{ArgDef, ArgType, AttrDef, AttrType, OpDef};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// Ops without a generated method: those of the first two are written by hand, in `HEADER`; the builder's `variable` adds one that is a resource.
const HAND_WRITTEN: [&str; 3] = ["Const", "Placeholder", "Variable"];

/// Methods of `GraphBuilder` and `NodeBuilder`, which would hide those of ops.
const METHODS: &str = "after attr check colocated_with cond constant device finish gradients gradients_with graph graph_def input input_list lend name \
    name_scope new node op ops output output_lists outputs placeholder scope session shared_graph tensor variable while_loop while_loop_with \
    with_device with_graph within";

/// Rust's keywords among the names of ops, inputs and attributes get an underscore.
const KEYWORDS: &str = "as async await box break const continue crate do dyn else enum extern false fn for if impl in let loop match mod move mut pub \
    ref return self static struct super trait true try type unsafe use where while yield";

#[test]
fn every_op_of_the_catalogue_has_a_method() {
    let mut methods: BTreeMap<String, String> = BTreeMap::new();
    for (family, op) in flowmill_ops::declarations() {
        if family == flowmill_ops::OWN || op.name().starts_with('_') || HAND_WRITTEN.contains(&op.name()) {
            continue;
        }
        let name = snake_case(op.name().strip_prefix(flowmill_ops::NAMESPACE).unwrap_or(op.name()));
        assert!(!METHODS.split_whitespace().any(|m| m == name), "{name} hides a method of the builder");
        let before = methods.insert(name.clone(), method(&name, &op.definition().unwrap()));
        assert!(before.is_none(), "two ops are called {name}");
    }
    let mut expected = HEADER.to_owned();
    expected.extend(methods.into_values());
    expected.push_str("}\n");
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/graph_builder/generated.rs");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, &expected).unwrap();
    }
    assert!(std::fs::read_to_string(&path).unwrap() == expected, "stale: run BLESS=1 cargo test -p flowmill --test generated_ops");
}

#[test]
fn names_are_snake_case() {
    for (op, name) in [
        ("MatMul", "mat_mul"),
        ("Conv2DBackpropInputV2", "conv2d_backprop_input_v2"),
        ("TopKV2", "top_k_v2"),
        ("L2Loss", "l2_loss"),
        ("RGBToHSV", "rgb_to_hsv"),
        ("IFFT2D", "ifft2d"),
        ("Where", "where_"),
        ("If", "if_"),
    ] {
        assert_eq!(snake_case(op), name);
    }
}

const HEADER: &str = "\
//! Methods for the ops of the catalogue, made from their signatures by `tests/generated_ops.rs`.

use super::{Input, NodeBuilder, Output};
use crate::proto::NameAttrList;
use crate::{DType, NodeId, PartialShape, Result};

/// The methods of ops, for [`GraphBuilder`](crate::GraphBuilder) and [`NodeBuilder`].
///
/// Each adds a node. Its inputs and the attributes that have no default are arguments; an optional attribute is set before:
/// `b.node().attr(\"transpose_b\", true).mat_mul(x, w)`. Attributes that follow from inputs, such as their types, need not be given. An input is a tensor
/// or a value that becomes a constant; a list of tensors is a slice. Names and meanings are TensorFlow's.
///
/// Every method returns the errors of [`NodeBuilder::finish`].
#[allow(clippy::too_many_arguments, clippy::wrong_self_convention)]
pub trait Ops<'b>: Sized {
    /// Begins a node of the op called `op`, whose inputs follow.
    fn op_node(self, op: &'static str) -> NodeBuilder<'b>;

    /// Adds a `Const` node: a number, an array of numbers, text, or a tensor.
    fn constant(self, value: impl Into<Input<'b>>) -> Result<Output<'b>> {
        let value = value.into().into_tensor()?;
        self.op_node(\"Const\").attr(\"value\", &value).attr(\"dtype\", value.dtype()).output()
    }

    /// Adds a `Placeholder` node: a tensor that is fed. A size of -1 is not known.
    fn placeholder(self, dtype: DType, shape: impl Into<PartialShape>) -> Result<Output<'b>> {
        self.op_node(\"Placeholder\").attr(\"dtype\", dtype).attr(\"shape\", shape.into()).output()
    }
";

fn method(name: &str, def: &OpDef) -> String {
    let from_inputs: BTreeSet<&str> = def.inputs.iter().flat_map(derived_attrs).collect();
    let (optional, required): (Vec<&AttrDef>, Vec<&AttrDef>) =
        def.attrs.iter().filter(|attr| !from_inputs.contains(attr.name.as_str())).partition(|attr| attr.default.is_some());
    let mut taken = BTreeSet::new();
    let mut unique = |name: &str| {
        let mut name = snake_case(name);
        while !taken.insert(name.clone()) {
            name.push_str("_attr");
        }
        name
    };
    let (mut params, mut calls) = (String::new(), String::new());
    for arg in &def.inputs {
        let param = unique(&arg.name);
        if is_list(arg) {
            write!(params, ", {param}: &[Output<'b>]").unwrap();
            write!(calls, ".input_list({param})").unwrap();
        } else {
            write!(params, ", {param}: impl Into<Input<'b>>").unwrap();
            write!(calls, ".input({param})").unwrap();
        }
    }
    for attr in &required {
        let param = unique(&attr.name);
        write!(params, ", {param}: {}", rust_type(attr.ty)).unwrap();
        let value = if attr.ty == AttrType::Shape { format!("{param}.into()") } else { param };
        write!(calls, ".attr(\"{}\", {value})", attr.name).unwrap();
    }
    let num_outputs = def.outputs.len();
    let (result, end) = match &def.outputs[..] {
        [] => ("NodeId".to_owned(), ".finish()".to_owned()),
        [one] if !is_list(one) => ("Output<'b>".to_owned(), ".output()".to_owned()),
        [_] => ("Vec<Output<'b>>".to_owned(), ".output_lists().map(|[list]| list)".to_owned()),
        many if many.iter().any(is_list) => (format!("[Vec<Output<'b>>; {num_outputs}]"), ".output_lists()".to_owned()),
        _ => (format!("[Output<'b>; {num_outputs}]"), ".outputs()".to_owned()),
    };
    let doc = doc(def, &required, &optional);
    format!(
        "\n    /// {doc}\n    fn {name}(self{params}) -> Result<{result}> {{\n        self.op_node(\"{}\"){calls}{end}\n    }}\n",
        def.name
    )
}

/// One sentence of what the node takes and returns, and one of its optional attributes.
fn doc(def: &OpDef, required: &[&AttrDef], optional: &[&AttrDef]) -> String {
    let args = |args: &[ArgDef]| args.iter().map(arg_text).collect::<Vec<_>>().join(", ");
    let attrs = |attrs: &[&AttrDef]| attrs.iter().map(|attr| attr_text(attr)).collect::<Vec<_>>().join(", ");
    let mut parts = Vec::new();
    if !def.inputs.is_empty() {
        parts.push(format!("input{} {}", plural(def.inputs.len()), args(&def.inputs)));
    }
    if !required.is_empty() {
        parts.push(format!("attribute{} {}", plural(required.len()), attrs(required)));
    }
    if !def.outputs.is_empty() {
        parts.push(format!("output{} {}", plural(def.outputs.len()), args(&def.outputs)));
    }
    let mut doc = format!("Adds {} `{}` node", article(&def.name), def.name);
    for (i, part) in parts.iter().enumerate() {
        doc += if i == 0 { " with " } else { "; " };
        doc += part;
    }
    doc.push('.');
    if !optional.is_empty() {
        doc += &format!(" Optional: {}.", attrs(optional));
    }
    doc
}

fn plural(count: usize) -> &'static str {
    if count == 1 { "" } else { "s" }
}

fn article(name: &str) -> &'static str {
    if name.starts_with(['A', 'E', 'I', 'O']) { "an" } else { "a" }
}

fn arg_text(arg: &ArgDef) -> String {
    let ty = match &arg.ty {
        ArgType::Fixed(dtype) => dtype.cpp_name().to_owned(),
        ArgType::Attr(attr) | ArgType::ListAttr(attr) => attr.clone(),
    };
    let ty = if arg.is_ref { format!("Ref({ty})") } else { ty };
    let number = arg.number_attr.as_ref().map_or(String::new(), |n| format!("{n} * "));
    format!("`{}: {number}{ty}`", arg.name)
}

fn attr_text(attr: &AttrDef) -> String {
    let default = attr.default.as_ref().map_or(String::new(), |default| format!(" = {}", AttrText(default)));
    format!("`{}: {}{default}`", attr.name, attr.ty.name())
}

fn is_list(arg: &ArgDef) -> bool {
    arg.number_attr.is_some() || matches!(arg.ty, ArgType::ListAttr(_))
}

/// The attributes that follow from an input.
fn derived_attrs(arg: &ArgDef) -> Vec<&str> {
    let ty = match &arg.ty {
        ArgType::Attr(attr) | ArgType::ListAttr(attr) => Some(attr.as_str()),
        ArgType::Fixed(_) => None,
    };
    ty.into_iter().chain(arg.number_attr.as_deref()).collect()
}

fn rust_type(ty: AttrType) -> &'static str {
    match ty {
        AttrType::String => "&str",
        AttrType::Int => "i64",
        AttrType::Float => "f32",
        AttrType::Bool => "bool",
        AttrType::Type => "DType",
        AttrType::Shape => "impl Into<PartialShape>",
        AttrType::Tensor => "&crate::Tensor",
        AttrType::Func => "&NameAttrList",
        AttrType::ListString => "&[&str]",
        AttrType::ListInt => "&[i64]",
        AttrType::ListFloat => "&[f32]",
        AttrType::ListBool => "&[bool]",
        AttrType::ListType => "&[DType]",
        AttrType::ListShape => "&[PartialShape]",
        AttrType::ListTensor => "&[crate::Tensor]",
        AttrType::ListFunc => "&[NameAttrList]",
    }
}

/// `TopKV2` as `top_k_v2`: a word begins at a capital behind a small letter, at the last capital of several before a small letter, and at a version.
fn snake_case(name: &str) -> String {
    let chars: Vec<char> = name.chars().collect();
    let mut snake = String::new();
    for (i, &c) in chars.iter().enumerate() {
        let is_version = c == 'V' && chars.len() > i + 1 && chars[i + 1..].iter().all(char::is_ascii_digit);
        let before_small = chars.get(i + 1).is_some_and(char::is_ascii_lowercase);
        if i > 0 && c.is_ascii_uppercase() && chars[i - 1] != '_' && (chars[i - 1].is_ascii_lowercase() || before_small || is_version) {
            snake.push('_');
        }
        snake.push(c.to_ascii_lowercase());
    }
    if KEYWORDS.split_whitespace().any(|k| k == snake) {
        snake.push('_');
    }
    snake
}
