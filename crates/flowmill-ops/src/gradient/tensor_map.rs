//! Gradients of ops on tensor maps: a map's gradient is a map of the gradients of its values.

use super::Grads;
use flowmill_graph::OutputId;
use flowmill_graph::builder::ScopedBuilder;
use flowmill_graph::builder::gradients::Backward;
use flowmill_proto::AttrValue;
use flowmill_proto::attr_value::Value;
use flowmill_tensor::{DType, Result};

type B<'a> = ScopedBuilder<'a>;

/// (map, key).
pub(crate) fn tensor_map_lookup(b: &mut B<'_>, op: &Backward) -> Grads {
    let dy = op.dy(b, 0)?;
    let empty = b.call("EmptyTensorMap", &[])?;
    let dmap = b.call("TensorMapInsert", &[empty, op.inputs[1], dy])?;
    Ok(vec![Some(dmap.into()), None])
}

/// (map, key, value): the key's gradient, if there is one, is the value's and does not reach the map.
pub(crate) fn tensor_map_insert(b: &mut B<'_>, op: &Backward) -> Grads {
    let dy = op.dy(b, 0)?;
    let (key, value) = (op.inputs[1], op.inputs[2]);
    let dtype: DType = b.graph().node(op.node)?.attrs().get("value_dtype")?;
    let dtype = AttrValue::from(Value::Type(dtype.number()));
    let of_key =
        |b: &mut B<'_>, kind: &str| -> Result<OutputId> { b.op(kind).inputs(&[dy, key]).attr("value_dtype", dtype.clone()).output() };
    let has_key = b.call("TensorMapHasKey", &[dy, key])?;
    let dmap = b.cond("cond", has_key, |b| Ok(vec![of_key(b, "TensorMapErase")?]), |_| Ok(vec![dy]))?;
    let dvalue = b.cond("cond", has_key, |b| Ok(vec![of_key(b, "TensorMapLookup")?]), |b| Ok(vec![b.call("ZerosLike", &[value])?]))?;
    Ok(vec![dmap.first().map(|&grad| grad.into()), None, dvalue.first().map(|&grad| grad.into())])
}

/// (map, key).
pub(crate) fn tensor_map_erase(b: &mut B<'_>, op: &Backward) -> Grads {
    Ok(vec![Some(op.dy(b, 0)?.into()), None])
}
