//! Checks of one node against its op's definition: the name, the attributes, their constraints and defaults.

use crate::signature::type_name;
use crate::{AttrDef, AttrType, Attrs, OpDef};
use flowmill_proto::AttrValue;
use flowmill_proto::attr_value::{ListValue, Value};
use flowmill_tensor::{DType, Result, bail};

/// Returns true if TensorFlow accepts `name` for a node: letters, digits and `._-/>`, the first a letter, a digit or a dot.
pub fn is_valid_node_name(name: &str) -> bool {
    name.bytes().next().is_some_and(|b| b.is_ascii_alphanumeric() || b == b'.') && is_valid_internal_name(name)
}

/// Like [`is_valid_node_name`], but any of these characters may come first, as in `_SOURCE`: only the runtime makes such names.
pub(crate) fn is_valid_internal_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-' | b'/' | b'>'))
}

/// Returns TensorFlow's word for the kind of a value.
pub(crate) fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::S(_) => "string",
        Value::I(_) => "int",
        Value::F(_) => "float",
        Value::B(_) => "bool",
        Value::Type(_) => "type",
        Value::Shape(_) => "shape",
        Value::Tensor(_) => "tensor",
        Value::Func(_) => "func",
        Value::Placeholder(_) => "placeholder",
        Value::List(list) => list_kind(list),
    }
}

pub(crate) fn list_kind(list: &ListValue) -> &'static str {
    let kinds = [
        (list.s.is_empty(), "list(string)"),
        (list.i.is_empty(), "list(int)"),
        (list.f.is_empty(), "list(float)"),
        (list.b.is_empty(), "list(bool)"),
        (list.r#type.is_empty(), "list(type)"),
        (list.shape.is_empty(), "list(shape)"),
        (list.tensor.is_empty(), "list(tensor)"),
        (list.func.is_empty(), "list(func)"),
    ];
    let mut set = kinds.iter().filter(|(empty, _)| !empty);
    match (set.next(), set.next()) {
        (None, _) => "list",
        (Some((_, kind)), None) => kind,
        (Some(_), Some(_)) => "list of several kinds",
    }
}

fn list_len(list: &ListValue) -> usize {
    list.s.len() + list.i.len() + list.f.len() + list.b.len() + list.r#type.len() + list.shape.len() + list.tensor.len() + list.func.len()
}

fn check_kind(value: &Value, attr: &AttrDef) -> Result<()> {
    let (have, want) = (kind_of(value), attr.ty.name());
    let is_list = matches!(value, Value::List(_));
    if have == want || (is_list && have == "list" && want.starts_with("list(")) {
        return Ok(());
    }
    bail!(InvalidArgument, "AttrValue had value with type '{have}' when '{want}' expected\n\t for attr '{}'", attr.name)
}

fn check_type(number: i32, attr: &AttrDef) -> Result<()> {
    let Some(dtype) = DType::from_number(number) else {
        if (101..200).contains(&number) {
            let base = DType::from_number(number - 100).map_or("unknown", type_name);
            bail!(InvalidArgument, "AttrValue must not have reference type value of {base}_ref\n\t for attr '{}'", attr.name);
        }
        bail!(InvalidArgument, "AttrValue has invalid DataType enum value: {number}\n\t for attr '{}'", attr.name);
    };
    if attr.allowed_types.is_empty() || attr.allowed_types.contains(&dtype) {
        return Ok(());
    }
    let allowed: Vec<&str> = attr.allowed_types.iter().map(|&t| type_name(t)).collect();
    bail!(
        InvalidArgument,
        "Value for attr '{}' of {} is not in the list of allowed values: {}",
        attr.name,
        type_name(dtype),
        allowed.join(", ")
    )
}

fn check_string(value: &[u8], attr: &AttrDef) -> Result<()> {
    if attr.allowed_strings.is_empty() || attr.allowed_strings.iter().any(|s| s.as_bytes() == value) {
        return Ok(());
    }
    let allowed: Vec<String> = attr.allowed_strings.iter().map(|s| format!("\"{s}\"")).collect();
    let value = String::from_utf8_lossy(value);
    bail!(InvalidArgument, "Value for attr '{}' of \"{value}\" is not in the list of allowed values: {}", attr.name, allowed.join(", "))
}

/// Checks one value against what its op declares: kind, allowed values, minimum.
///
/// # Errors
/// `InvalidArgument` that says which of them is violated.
pub fn check_attr_value(value: &AttrValue, attr: &AttrDef) -> Result<()> {
    let Some(value) = &value.value else {
        bail!(InvalidArgument, "AttrValue missing value with expected type '{}'\n\t for attr '{}'", attr.ty.name(), attr.name);
    };
    check_kind(value, attr)?;
    match value {
        Value::I(i) => {
            if let Some(minimum) = attr.minimum
                && *i < minimum
            {
                bail!(InvalidArgument, "Value for attr '{}' of {i} must be at least minimum {minimum}", attr.name);
            }
        }
        Value::Type(number) => check_type(*number, attr)?,
        Value::S(s) if attr.ty == AttrType::String => check_string(s, attr)?,
        Value::List(list) => {
            let len = list_len(list) as i64;
            if let Some(minimum) = attr.minimum
                && len < minimum
            {
                bail!(InvalidArgument, "Length for attr '{}' of {len} must be at least minimum {minimum}", attr.name);
            }
            for &number in &list.r#type {
                check_type(number, attr)?;
            }
            for s in &list.s {
                check_string(s, attr)?;
            }
        }
        _ => {}
    }
    Ok(())
}

/// Checks a node's attributes and adds the defaults of those it does not give. Attributes that the op does not have are kept and
/// otherwise ignored, as TensorFlow does: a newer producer may have written them.
///
/// # Errors
/// `InvalidArgument` for a bad value, or a missing one without default.
pub fn complete_attrs(node: &str, op_def: &OpDef, attrs: &mut Attrs) -> Result<()> {
    let mut given = 0;
    for (name, value) in attrs.iter() {
        if let Some(attr) = op_def.attr(name) {
            given += 1;
            check_attr_value(value, attr).map_err(|e| e.append(format_args!("\n\t; NodeDef: {{{{node {node}}}}}; {op_def}")))?;
        }
    }
    if given == op_def.attrs.len() {
        return Ok(());
    }
    let mut missing = Vec::new();
    for attr in &op_def.attrs {
        if attrs.contains(&attr.name) {
            continue;
        }
        match &attr.default {
            Some(value) => attrs.set(attr.name.clone(), value.clone()),
            None => missing.push(format!("'{}'", attr.name)),
        }
    }
    if missing.is_empty() {
        return Ok(());
    }
    let plural = if missing.len() == 1 { "" } else { "s" };
    bail!(InvalidArgument, "NodeDef missing attr{plural} {} from {op_def}; NodeDef: {{{{node {node}}}}}", missing.join(", "))
}
