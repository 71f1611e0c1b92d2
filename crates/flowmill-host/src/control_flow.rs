//! Conditional outputs, references and assertions. The executor itself implements `Merge`, `Enter`, `Exit`, `NextIteration` and all ops that only
//! forward their input.

use crate::from_fn::from_fn;
use crate::summarize::summarize;
use flowmill_runtime::{Kernel, KernelContext, KernelDef, KernelInit, KernelRegistry};
use flowmill_tensor::{DType, Result, Tensor, bail};
use std::sync::Arc;

/// Registers the kernels of this family.
pub(crate) fn register(registry: &mut KernelRegistry) {
    for op in ["Switch", "RefSwitch"] {
        registry.register(op, KernelDef::new(make_switch).host_memory("pred"));
    }
    registry.register("_SwitchN", KernelDef::new(make_switch_n).host_memory("output_index"));
    registry.add("RefSelect", make_ref_select);
    registry.add("RefIdentity", make_ref_identity);
    registry.add("Abort", make_abort);
    registry.add("Assert", make_assert);
}

/// The kernel of `Switch`: the data go to output 1 if the predicate is true, otherwise to output 0; the other output is dead.
struct Switch;

impl Kernel for Switch {
    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let predicate = ctx.input(1)?;
        let port = match predicate.scalar_bits(DType::Bool) {
            Some(bits) => bits as usize & 1,
            None => bail!(InvalidArgument, "The second input must be a scalar, but it has shape {}", predicate.shape()),
        };
        ctx.forward(0, port)
    }
}

fn make_switch(_: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    Ok(Arc::new(Switch))
}

/// Makes the kernel of `_SwitchN`: the data go to the output of the given index, or to the last one if the index is out of range.
fn make_switch_n(_: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    from_fn(|ctx| {
        let index = scalar_index(ctx.input(1)?, "The second input")?;
        let last = ctx.num_outputs().saturating_sub(1);
        let port = usize::try_from(index).map_or(last, |i| i.min(last));
        ctx.forward(0, port)
    })
}

fn make_ref_select(_: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    from_fn(|ctx| {
        let index = scalar_index(ctx.input(0)?, "Index")?;
        let choices = ctx.num_inputs() - 1;
        match usize::try_from(index) {
            Ok(i) if i < choices => ctx.forward(i + 1, 0),
            _ => bail!(InvalidArgument, "Index must be in the range [0, {choices}) but got {index}"),
        }
    })
}

fn scalar_index(tensor: &Tensor, what: &str) -> Result<i32> {
    match tensor.scalar_bits(DType::I32) {
        Some(bits) => Ok(bits as u32 as i32),
        None => bail!(InvalidArgument, "{what} must be a scalar, but it has shape {}", tensor.shape()),
    }
}

fn make_ref_identity(_: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    from_fn(|ctx| ctx.forward(0, 0))
}

/// Makes the kernel of `Abort`, which ends the process in TensorFlow. Here it ends the step with `Aborted`, because a library does not end its caller.
fn make_abort(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let message = init.attrs.get_or::<&str>("error_msg", "")?.to_owned();
    from_fn(move |_| bail!(Aborted, "Abort_op intentional failure; {message}"))
}

fn make_assert(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let max_entries = init.attrs.get_or::<i64>("summarize", 3)?;
    from_fn(move |ctx| {
        let condition = ctx.input(0)?;
        match condition.scalar_bits(DType::Bool) {
            Some(bits) if bits & 1 == 1 => Ok(()),
            Some(_) => {
                let data: Vec<String> = ctx.inputs_from(1).map(|t| format!("[{}]", summarize(t, max_entries))).collect();
                bail!(InvalidArgument, "assertion failed: {}", data.join(" "))
            }
            None => bail!(InvalidArgument, "In[0] should be a scalar: {}", condition.shape()),
        }
    })
}
