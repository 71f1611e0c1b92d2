//! Reference variables of TensorFlow 1: the ops that make them, and those that assign through a reference.

use super::Variable;
use super::update::{Update, update_blocks};
use crate::from_fn::from_fn;
use flowmill_runtime::{Kernel, KernelInit, KernelRegistry, RefVariable};
use flowmill_tensor::{DType, PartialShape, Result, Shape, Tensor, bail};
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("Variable", make_variable);
    registry.add("VariableV2", make_variable);
    registry.add("TemporaryVariable", make_temporary_variable);
    registry.add("DestroyTemporaryVariable", make_destroy_temporary_variable);
    registry.add("IsVariableInitialized", make_is_initialized);
    registry.add("Assign", make_assign);
    registry.add("AssignAdd", |init| make_update(init, Update::Add));
    registry.add("AssignSub", |init| make_update(init, Update::Sub));
    registry.add("CountUpTo", make_count_up_to);
    registry.add("ResourceCountUpTo", make_count_up_to);
}

/// Makes the kernel of `VariableV2`: a variable named by the node's `shared_name`, or by the node, made once for the session.
fn make_variable(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let dtype = init.dtype("dtype")?;
    let shape: PartialShape = init.attrs.get("shape")?;
    let name = resource_name(init)?;
    let variable = init.resources.lookup_or_create(init.attrs.get_or("container", "")?, name, || Ok(RefVariable::new(dtype, shape)))?;
    if variable.dtype() != dtype {
        let (found, declared) = (variable.dtype().cpp_name(), dtype.cpp_name());
        bail!(
            Internal,
            "Output 0 of type {found}_ref does not match declared output type {declared}_ref for node {{{{node {}}}}}",
            init.name
        );
    }
    let edge = variable.to_edge(name);
    from_fn(move |ctx| {
        ctx.set_output(0, edge.clone());
        Ok(())
    })
}

/// Returns the name of a node's resource: its `shared_name`, or the node's own name.
pub(crate) fn resource_name<'a>(init: &'a KernelInit<'_>) -> Result<&'a str> {
    name_in(init, "shared_name")
}

/// Returns the value of `attr`, or the node's own name if it is empty.
fn name_in<'a>(init: &'a KernelInit<'_>, attr: &str) -> Result<&'a str> {
    match init.attrs.get_or(attr, "")? {
        "" => Ok(init.name),
        name => Ok(name),
    }
}

/// Makes the kernel of `TemporaryVariable`: a variable that lives as long as references to it exist, and starts with zeros.
fn make_temporary_variable(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let dtype = init.dtype("dtype")?;
    let partial: PartialShape = init.attrs.get("shape")?;
    let Some(shape) = partial.to_shape() else { bail!(InvalidArgument, "TemporaryVariable needs a fully defined shape, not {partial}") };
    let name = name_in(init, "var_name")?.to_owned();
    from_fn(move |ctx| {
        let variable = Arc::new(RefVariable::new(dtype, partial.clone()));
        *variable.lock() = Some(ctx.allocator().zeros(dtype, shape.clone())?);
        ctx.set_output(0, variable.to_edge(&name));
        Ok(())
    })
}

fn make_destroy_temporary_variable(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let name: String = init.attrs.get::<&str>("var_name")?.to_owned();
    from_fn(move |ctx| {
        let variable = Variable::from_input(ctx, 0)?;
        if variable.name() != name {
            bail!(NotFound, "Resource __per_step/{name}/TmpVar does not exist.");
        }
        let Some(value) = variable.lock().take() else { return Err(variable.uninitialized()) };
        ctx.set_output(0, value);
        Ok(())
    })
}

fn make_is_initialized(_: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    from_fn(|ctx| {
        let initialized = ctx.ref_input(0)?.lock().is_some();
        ctx.set_output(0, Tensor::scalar(initialized));
        Ok(())
    })
}

/// Makes the kernel of `Assign`. The variable shares the value's memory if that belongs to a tensor, otherwise it is copied. A later update copies
/// the value first if a tensor still shares it.
fn make_assign(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let validate_shape = init.attrs.get_or("validate_shape", true)?;
    from_fn(move |ctx| {
        // Copy the value if it is an array of the caller, which may change after the step.
        let value = ctx.device().owned(ctx.take(1)?)?;
        let variable = ctx.ref_input(0)?;
        if variable.dtype() != value.dtype() {
            bail!(
                InvalidArgument,
                "Trying to assign variable with wrong dtype. Expected {} got {}",
                variable.dtype().cpp_name(),
                value.dtype().cpp_name()
            );
        }
        let mut current = variable.lock();
        if validate_shape {
            let shape: Option<Shape> = current.as_ref().map(|t| t.shape().clone()).or_else(|| variable.shape().to_shape());
            if let Some(shape) = shape.filter(|shape| shape != value.shape()) {
                bail!(InvalidArgument, "Assign requires shapes of both tensors to match. lhs shape= {shape} rhs shape= {}", value.shape());
            }
        }
        let old = current.replace(value);
        drop(current);
        drop(old);
        ctx.forward(0, 0)
    })
}

fn make_update(init: &KernelInit<'_>, update: Update) -> Result<Arc<dyn Kernel>> {
    update.checked_dtype(init, "T")?;
    from_fn(move |ctx| {
        let value = ctx.input(1)?;
        Variable::from_input(ctx, 0)?.update(|current| {
            if current.shape() != value.shape() {
                bail!(InvalidArgument, "Parameters and update must be the same size");
            }
            let n = current.num_elements();
            update_blocks(update, current, &[0], n, value)
        })?;
        ctx.forward(0, 0)
    })
}

/// Makes the kernel of `CountUpTo`, `ResourceCountUpTo`, which outputs the variable's value and adds one to it, until it reaches `limit`.
fn make_count_up_to(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let limit: i64 = init.attrs.get("limit")?;
    match init.dtype("T")? {
        DType::I32 | DType::I64 => {}
        _ => return init.unsupported(),
    }
    from_fn(move |ctx| {
        let before = Variable::from_input(ctx, 0)?.update(|value| {
            if value.rank() != 0 {
                bail!(InvalidArgument, "input is not a scalar: {}", value.shape());
            }
            let count = value.to_i64()?;
            if count >= limit {
                bail!(OutOfRange, "Reached limit of {limit}");
            }
            let next = Tensor::index_scalar(value.dtype(), count + 1)?;
            Ok(std::mem::replace(value, next))
        })?;
        ctx.set_output(0, before);
        Ok(())
    })
}
