//! Gradients of optionals: an optional of the components' gradients, and what is in it.

use super::{Grads, all, first};
use flowmill_graph::OutputId;
use flowmill_graph::builder::ScopedBuilder;
use flowmill_graph::builder::gradients::Backward;
use flowmill_proto::attr_value::ListValue;
use flowmill_tensor::Result;

type B<'a> = ScopedBuilder<'a>;

pub(crate) fn optional_from_value(b: &mut B<'_>, op: &Backward) -> Grads {
    let dy = op.dy(b, 0)?;
    let types = ListValue { r#type: op.inputs.iter().map(|&x| b.dtype(x).number()).collect(), ..ListValue::default() };
    let shapes = ListValue { shape: op.inputs.iter().map(|&x| b.shape(x).to_proto()).collect(), ..ListValue::default() };
    let node = b.op("OptionalGetValue").input(dy).attr("output_types", types).attr("output_shapes", shapes).finish()?;
    all((0..op.inputs.len()).map(|i| node.output(i as u32)))
}

pub(crate) fn optional_get_value(b: &mut B<'_>, op: &Backward) -> Grads {
    let grads: Vec<OutputId> = (0..op.grads.len()).map(|i| op.dy(b, i)).collect::<Result<_>>()?;
    first(b.op("OptionalFromValue").inputs(&grads).output()?, 0)
}
