//! Op definitions on the wire, and how TensorFlow's messages print them.

use crate::builder::gradients::OpGradient;
use crate::op_traits::{Effects, OpTraits};
use crate::signature::type_name;
use crate::text::AttrText;
use crate::{ArgDef, ArgType, AttrDef, AttrType, Deprecation, OpDef};
use flowmill_proto::attr_value::{ListValue, Value};
use flowmill_proto::{self as proto, AttrValue, OpDeprecation};
use flowmill_tensor::{Bytes, DType, Result, bail};
use std::fmt;

impl OpDef {
    /// Converts an op's message, as functions' signatures come. Descriptions are left out.
    ///
    /// # Errors
    /// `InvalidArgument` for an argument without a type, or a type of attribute that does not exist.
    pub fn from_proto(op: &proto::OpDef) -> Result<OpDef> {
        let args = |args: &[proto::op_def::ArgDef]| args.iter().map(|a| arg_from_proto(a, &op.name)).collect::<Result<Vec<_>>>();
        Ok(OpDef {
            gradient: OpGradient::Undefined,
            traits: OpTraits { effects: if op.is_stateful { Effects::State } else { Effects::None }, ..OpTraits::default() },
            name: op.name.clone(),
            inputs: args(&op.input_arg)?,
            outputs: args(&op.output_arg)?,
            attrs: op.attr.iter().map(|a| attr_from_proto(a, &op.name)).collect::<Result<_>>()?,
            control_outputs: op.control_output.clone(),
            is_commutative: op.is_commutative,
            is_aggregate: op.is_aggregate,
            allows_uninitialized_input: op.allows_uninitialized_input,
            deprecation: op.deprecation.as_ref().map(|d| Deprecation { version: d.version, explanation: d.explanation.clone() }),
            shape_fn: None,
        })
    }

    /// Returns the wire form.
    pub fn to_proto(&self) -> proto::OpDef {
        proto::OpDef {
            name: self.name.clone(),
            input_arg: self.inputs.iter().map(arg_to_proto).collect(),
            output_arg: self.outputs.iter().map(arg_to_proto).collect(),
            control_output: self.control_outputs.clone(),
            attr: self.attrs.iter().map(attr_to_proto).collect(),
            deprecation: self.deprecation.as_ref().map(|d| OpDeprecation {
                version: d.version,
                explanation: d.explanation.clone(),
                ..Default::default()
            }),
            is_commutative: self.is_commutative,
            is_aggregate: self.is_aggregate,
            is_stateful: self.is_stateful(),
            allows_uninitialized_input: self.allows_uninitialized_input,
            ..Default::default()
        }
    }
}

fn arg_from_proto(arg: &proto::op_def::ArgDef, op: &str) -> Result<ArgDef> {
    // Old files write a reference argument as a reference type.
    let (number, ref_type) = if arg.r#type > 100 { (arg.r#type - 100, true) } else { (arg.r#type, false) };
    let ty = if !arg.type_list_attr.is_empty() {
        ArgType::ListAttr(arg.type_list_attr.clone())
    } else if !arg.type_attr.is_empty() {
        ArgType::Attr(arg.type_attr.clone())
    } else if let Some(dtype) = DType::from_number(number) {
        ArgType::Fixed(dtype)
    } else {
        bail!(InvalidArgument, "Missing type for argument '{}' of op '{op}'", arg.name);
    };
    let number_attr = (!arg.number_attr.is_empty()).then(|| arg.number_attr.clone());
    Ok(ArgDef { name: arg.name.clone(), ty, number_attr, is_ref: arg.is_ref || ref_type })
}

fn arg_to_proto(arg: &ArgDef) -> proto::op_def::ArgDef {
    let mut out = proto::op_def::ArgDef { name: arg.name.clone(), is_ref: arg.is_ref, ..Default::default() };
    match &arg.ty {
        ArgType::Fixed(dtype) => out.r#type = dtype.number(),
        ArgType::Attr(attr) => out.type_attr = attr.clone(),
        ArgType::ListAttr(attr) => out.type_list_attr = attr.clone(),
    }
    out.number_attr = arg.number_attr.clone().unwrap_or_default();
    out
}

fn attr_from_proto(attr: &proto::op_def::AttrDef, op: &str) -> Result<AttrDef> {
    let Some(ty) = AttrType::from_name(&attr.r#type) else {
        bail!(InvalidArgument, "Unrecognized type '{}' of attr '{}' of op '{op}'", attr.r#type, attr.name);
    };
    let (mut allowed_types, mut allowed_strings) = (Vec::new(), Vec::new());
    if let Some(Value::List(list)) = attr.allowed_values.as_ref().and_then(|v| v.value.as_ref()) {
        // A type this version does not know cannot occur in a node it accepts.
        allowed_types = list.r#type.iter().filter_map(|&n| DType::from_number(n)).collect();
        allowed_strings = list.s.iter().map(|s| String::from_utf8_lossy(s).into_owned()).collect();
    }
    Ok(AttrDef {
        name: attr.name.clone(),
        ty,
        default: attr.default_value.clone(),
        allowed_types,
        allowed_strings,
        minimum: attr.has_minimum.then_some(attr.minimum),
    })
}

fn attr_to_proto(attr: &AttrDef) -> proto::op_def::AttrDef {
    let allowed = ListValue {
        r#type: attr.allowed_types.iter().map(|t| t.number()).collect(),
        s: attr.allowed_strings.iter().map(|s| Bytes::copy_from_slice(s.as_bytes())).collect(),
        ..Default::default()
    };
    proto::op_def::AttrDef {
        name: attr.name.clone(),
        r#type: attr.ty.name().to_owned(),
        default_value: attr.default.clone(),
        has_minimum: attr.minimum.is_some(),
        minimum: attr.minimum.unwrap_or_default(),
        allowed_values: (allowed != ListValue::default()).then(|| AttrValue::from(allowed)),
        ..Default::default()
    }
}

fn write_args(f: &mut fmt::Formatter<'_>, args: &[ArgDef]) -> fmt::Result {
    for (i, arg) in args.iter().enumerate() {
        if i > 0 {
            f.write_str(", ")?;
        }
        write!(f, "{}:", arg.name)?;
        if arg.is_ref {
            f.write_str("Ref(")?;
        }
        if let Some(n) = &arg.number_attr {
            write!(f, "{n}*")?;
        }
        match &arg.ty {
            ArgType::Fixed(dtype) => f.write_str(type_name(*dtype))?,
            ArgType::Attr(attr) | ArgType::ListAttr(attr) => f.write_str(attr)?,
        }
        if arg.is_ref {
            f.write_str(")")?;
        }
    }
    Ok(())
}

/// Prints the op like TensorFlow's messages: `Op<name=Neg; signature=x:T -> y:T; attr=T:type,allowed=[float, double]>`.
impl fmt::Display for OpDef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Op<name={}; signature=", self.name)?;
        write_args(f, &self.inputs)?;
        f.write_str(" -> ")?;
        write_args(f, &self.outputs)?;
        for attr in &self.attrs {
            write!(f, "; attr={}:{}", attr.name, attr.ty.name())?;
            if let Some(default) = &attr.default {
                write!(f, ",default={}", AttrText(default))?;
            }
            if let Some(minimum) = attr.minimum {
                write!(f, ",min={minimum}")?;
            }
            let types: Vec<&str> = attr.allowed_types.iter().map(|&t| type_name(t)).collect();
            let strings: Vec<String> = attr.allowed_strings.iter().map(|s| format!("\"{s}\"")).collect();
            if !types.is_empty() {
                write!(f, ",allowed=[{}]", types.join(", "))?;
            }
            if !strings.is_empty() {
                write!(f, ",allowed=[{}]", strings.join(", "))?;
            }
        }
        if self.is_stateful() {
            f.write_str("; is_stateful=true")?;
        }
        f.write_str(">")
    }
}
