//! Writing.

use super::literal::{short_name, write_float, write_string};
use super::tensor::write_tensor;
use crate::traverse::topological_order;
use crate::{AttrType, CONTROL_SLOT, Graph, Node, NodeId, TensorName};
use flowmill_proto::attr_value::{ListValue, Value};
use flowmill_proto::{AttrValue, NameAttrList, TensorShapeProto};
use flowmill_tensor::DType;
use std::fmt::{self, Write};

/// An attribute's value as the text form of a graph has it, without what a declaration would tell.
pub struct AttrText<'a>(pub &'a AttrValue);

impl fmt::Display for AttrText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_value(f, self.0, Some(AttrType::String))
    }
}

impl fmt::Display for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A graph in the middle of a change may have a cycle: the order of ids will do then.
        let order = topological_order(self).unwrap_or_else(|_| self.op_node_ids());
        for id in order {
            write_node(f, self, &self[id])?;
            f.write_char('\n')?;
        }
        Ok(())
    }
}

impl fmt::Debug for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

fn write_node(f: &mut fmt::Formatter<'_>, graph: &Graph, node: &Node) -> fmt::Result {
    f.write_str(node.name())?;
    if node.num_outputs() != 1 {
        write!(f, ":{}", node.num_outputs())?;
    }
    write!(f, " = {}(", node.op())?;
    for i in 0..node.num_inputs() {
        if i > 0 {
            f.write_str(", ")?;
        }
        match graph.input(node.id(), i).and_then(|t| Some((graph.get(t.node)?, t.slot))) {
            Some((src, slot)) => write!(f, "{}", TensorName { node: src.name(), slot: i32::try_from(slot).unwrap_or(CONTROL_SLOT) })?,
            None => f.write_char('?')?,
        }
    }
    f.write_char(')')?;
    let declared = |name: &str| node.op_def().attr(name);
    let shown: Vec<_> =
        node.attrs().iter().filter(|(name, value)| declared(name).is_none_or(|a| a.default.as_ref() != Some(value))).collect();
    if !shown.is_empty() {
        f.write_str(" {")?;
        for (i, (name, value)) in shown.into_iter().enumerate() {
            let comma = if i > 0 { ", " } else { "" };
            write!(f, "{comma}{name}=")?;
            write_value(f, value, declared(name).map(|a| a.ty))?;
        }
        f.write_char('}')?;
    }
    if !node.device().is_empty() {
        write!(f, " @{}", node.device())?;
    }
    for src in graph.control_inputs(node.id()).filter(|src| *src > NodeId::SINK) {
        write!(f, " ^{}", graph[src].name())?;
    }
    Ok(())
}

fn write_type(f: &mut dyn Write, number: i32) -> fmt::Result {
    match DType::from_number(number) {
        Some(dtype) => f.write_str(&short_name(dtype)),
        None => write!(f, "type#{number}"),
    }
}

fn write_shape(f: &mut dyn Write, shape: &TensorShapeProto) -> fmt::Result {
    if shape.unknown_rank {
        return f.write_char('?');
    }
    write_list(f, &shape.dim, |f, d| if d.size < 0 { f.write_char('?') } else { write!(f, "{}", d.size) })
}

fn write_list<T>(f: &mut dyn Write, items: &[T], mut write_item: impl FnMut(&mut dyn Write, &T) -> fmt::Result) -> fmt::Result {
    f.write_char('[')?;
    for (i, item) in items.iter().enumerate() {
        if i > 0 {
            f.write_char(',')?;
        }
        write_item(f, item)?;
    }
    f.write_char(']')
}

fn write_func(f: &mut dyn Write, func: &NameAttrList) -> fmt::Result {
    write!(f, "@{}{{", func.name)?;
    for (i, (name, value)) in func.attr.iter().enumerate() {
        write!(f, "{}{name}=", if i > 0 { ", " } else { "" })?;
        write_value(f, value, None)?;
    }
    f.write_char('}')
}

/// Returns a value; without a declared type, in the form that tells its kind.
fn write_value(f: &mut dyn Write, value: &AttrValue, declared: Option<AttrType>) -> fmt::Result {
    match &value.value {
        None => f.write_str("none"),
        Some(Value::S(s)) => write_string(f, s),
        Some(Value::I(i)) => write!(f, "{i}"),
        Some(Value::F(x)) => write_float(f, f64::from(*x), x.to_string()),
        Some(Value::B(b)) => write!(f, "{b}"),
        Some(Value::Type(t)) => write_type(f, *t),
        Some(Value::Shape(shape)) => {
            if declared.is_none() {
                f.write_str("shape")?;
            }
            write_shape(f, shape)
        }
        Some(Value::Tensor(tensor)) => write_tensor(f, tensor),
        Some(Value::Func(func)) => write_func(f, func),
        Some(Value::Placeholder(name)) => write!(f, "${name}"),
        Some(Value::List(list)) => write_list_value(f, list, declared.is_none()),
    }
}

fn write_list_value(f: &mut dyn Write, list: &ListValue, tell_kind: bool) -> fmt::Result {
    if tell_kind {
        f.write_str(crate::check::list_kind(list))?;
    }
    if !list.s.is_empty() {
        write_list(f, &list.s, |f, s| write_string(f, s))
    } else if !list.f.is_empty() {
        write_list(f, &list.f, |f, x| write_float(f, f64::from(*x), x.to_string()))
    } else if !list.b.is_empty() {
        write_list(f, &list.b, |f, b| write!(f, "{b}"))
    } else if !list.r#type.is_empty() {
        write_list(f, &list.r#type, |f, t| write_type(f, *t))
    } else if !list.shape.is_empty() {
        write_list(f, &list.shape, write_shape)
    } else if !list.tensor.is_empty() {
        write_list(f, &list.tensor, write_tensor)
    } else if !list.func.is_empty() {
        write_list(f, &list.func, write_func)
    } else {
        write_list(f, &list.i, |f, i| write!(f, "{i}"))
    }
}
