//! Conditional outputs, references and assertions. The executor itself does `Merge`, `Enter`, `Exit`, `NextIteration` and everything that only passes its input on.

use crate::from_fn::from_fn;
use crate::summarize::summarize;
use flowmill_runtime::{Kernel, KernelContext, KernelInit, KernelRegistry};
use flowmill_tensor::{DType, Result, Tensor, bail};
use std::sync::Arc;

/// Registers the family.
pub fn register(registry: &mut KernelRegistry) {
    registry.add("Switch", make_switch);
    registry.add("RefSwitch", make_switch);
    registry.add("_SwitchN", make_switch_n);
    registry.add("RefSelect", make_ref_select);
    registry.add("RefIdentity", make_ref_identity);
    registry.add("Abort", make_abort);
    registry.add("Assert", make_assert);
}

/// `Switch`: the data go to output 1 where the predicate is true, else to output 0; the other output stays dead.
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

/// `_SwitchN`: the data go to the output of the given index, or to the last one where the index is out of range.
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

/// `Abort` ends the process in TensorFlow. Here it ends the step with `Aborted`: a library does not kill its caller.
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::testing::run;

    #[test]
    fn switch_sends_its_data_to_one_output() {
        for (predicate, live) in [(false, 0), (true, 1)] {
            let out = run("Switch", &[], vec![Tensor::scalar(7.5f32), Tensor::scalar(predicate)]).unwrap();
            assert_eq!(out[live].as_ref().unwrap().to_scalar::<f32>().unwrap(), 7.5);
            assert!(out[1 - live].is_none());
        }
        let e = run("Switch", &[], vec![Tensor::scalar(1i32), Tensor::vector(&[true]).unwrap()]).unwrap_err();
        assert_eq!(e.message(), "The second input must be a scalar, but it has shape [1]");
    }

    #[test]
    fn switch_n_gives_the_last_output_to_an_index_out_of_range() {
        for (index, live) in [(0, 0), (2, 2), (7, 7), (8, 7), (-1, 7)] {
            let out = run("_SwitchN", &[], vec![Tensor::scalar(1i64), Tensor::scalar(index)]).unwrap();
            let found: Vec<usize> = (0..8).filter(|&i| out[i].is_some()).collect();
            assert_eq!(found, [live], "index {index}");
        }
    }

    #[test]
    fn a_false_assertion_shows_its_data() {
        let data = vec![Tensor::scalar(false), Tensor::string("x is"), Tensor::vector(&[1.5f32, 2.0, 3.0, 4.0]).unwrap()];
        let e = run("Assert", &[], data.clone()).unwrap_err();
        assert_eq!(e.message(), "assertion failed: [x is] [1.5 2 3...]");
        let mut data = data;
        data[0] = Tensor::scalar(true);
        assert!(run("Assert", &[], data).is_ok());
    }
}
