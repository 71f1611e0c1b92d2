//! TF-1 variables: the ops that make them, and those that assign through a reference.

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

/// The variable called by the node's `shared_name`, or by the node, made once for the session.
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

/// The name a node's resource has: its `shared_name`, or the node's own name.
pub(crate) fn resource_name<'a>(init: &'a KernelInit<'_>) -> Result<&'a str> {
    name_in(init, "shared_name")
}

/// What `attr` says, or the node's own name where it is empty.
fn name_in<'a>(init: &'a KernelInit<'_>, attr: &str) -> Result<&'a str> {
    match init.attrs.get_or(attr, "")? {
        "" => Ok(init.name),
        name => Ok(name),
    }
}

/// A variable that lives as long as references to it travel; it starts with zeros.
fn make_temporary_variable(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let dtype = init.dtype("dtype")?;
    let partial: PartialShape = init.attrs.get("shape")?;
    let Some(shape) = partial.to_shape() else { bail!(InvalidArgument, "TemporaryVariable needs a fully defined shape, not {partial}") };
    let name = name_in(init, "var_name")?.to_owned();
    from_fn(move |ctx| {
        let variable = Arc::new(RefVariable::new(dtype, partial.clone()));
        *variable.lock() = Some(Tensor::zeros(dtype, shape.clone())?);
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

/// `Assign`: the variable takes the value over, without a copy where it is a tensor's own memory; a later update copies where somebody still holds it.
fn make_assign(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let validate_shape = init.attrs.get_or("validate_shape", true)?;
    from_fn(move |ctx| {
        // An array of the caller's may change after the step.
        let value = ctx.take(1)?.into_owned()?;
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

/// `CountUpTo`, `ResourceCountUpTo`: gives the variable's value and adds one, until it reaches `limit`.
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use crate::testing::{Call, run, run1, shape, ty};
    use flowmill_runtime::ResourceManager;
    use flowmill_tensor::{Code, DType, Tensor};
    use std::sync::Arc;

    fn variable(dtype: DType, dims: &[i64]) -> Tensor {
        run1("VariableV2", &[("dtype", ty(dtype)), ("shape", shape(dims))], vec![]).unwrap()
    }

    fn value(variable: &Tensor) -> Tensor {
        variable.as_resources().unwrap()[0].get::<super::RefVariable>().unwrap().get().unwrap()
    }

    fn assign(variable: &Tensor, value: Tensor) {
        run("Assign", &[], vec![variable.clone(), value]).unwrap();
    }

    fn vector(values: &[f32]) -> Tensor {
        Tensor::vector(values).unwrap()
    }

    #[test]
    fn nodes_of_one_name_share_a_variable() {
        let resources = Arc::new(ResourceManager::new());
        let make = |name: &str, dtype| {
            let attrs = [("dtype", ty(dtype)), ("shape", shape(&[2])), ("shared_name", name.into())];
            Call::new("VariableV2").attrs(&attrs).resources(&resources).run1()
        };
        let (a, b, c) = (make("x", DType::F32).unwrap(), make("x", DType::F32).unwrap(), make("y", DType::F32).unwrap());
        assign(&a, vector(&[1.0, 2.0]));
        assert_eq!(value(&b).as_slice::<f32>().unwrap(), [1.0, 2.0]);
        assert!(!run1("IsVariableInitialized", &[], vec![c]).unwrap().to_scalar::<bool>().unwrap());
        assert!(run1("IsVariableInitialized", &[], vec![b]).unwrap().to_scalar::<bool>().unwrap());
        let e = make("x", DType::I32).unwrap_err();
        assert!(e.message().starts_with("Output 0 of type float_ref does not match declared output type int32_ref"), "{e}");
    }

    #[test]
    fn assignment_keeps_the_shape_unless_told_otherwise() {
        let v = variable(DType::F32, &[2]);
        let e = run("Assign", &[], vec![v.clone(), vector(&[1.0, 2.0, 3.0])]).unwrap_err();
        assert_eq!(e.message(), "Assign requires shapes of both tensors to match. lhs shape= [2] rhs shape= [3]");
        run("Assign", &[("validate_shape", false.into())], vec![v.clone(), vector(&[1.0, 2.0, 3.0])]).unwrap();
        assert_eq!(value(&v).as_slice::<f32>().unwrap(), [1.0, 2.0, 3.0]);
        let e = run("Assign", &[], vec![v.clone(), vector(&[1.0, 2.0])]).unwrap_err();
        assert_eq!(e.message(), "Assign requires shapes of both tensors to match. lhs shape= [3] rhs shape= [2]");
        assert_eq!(run("Assign", &[], vec![vector(&[1.0]), vector(&[1.0])]).unwrap_err().code(), Code::InvalidArgument);
    }

    #[test]
    fn updates_leave_values_read_before_alone() {
        let v = variable(DType::F32, &[2]);
        let attrs = [("T", ty(DType::F32))];
        let e = run("AssignAdd", &attrs, vec![v.clone(), vector(&[1.0, 1.0])]).unwrap_err();
        assert_eq!((e.code(), e.message()), (Code::FailedPrecondition, "Attempting to use uninitialized value n"));
        let initial = vector(&[1.0, 2.0]);
        assign(&v, initial.clone());
        run("AssignAdd", &attrs, vec![v.clone(), vector(&[10.0, 10.0])]).unwrap();
        let between = value(&v);
        run("AssignSub", &attrs, vec![v.clone(), vector(&[1.0, 2.0])]).unwrap();
        assert_eq!(initial.as_slice::<f32>().unwrap(), [1.0, 2.0]);
        assert_eq!(between.as_slice::<f32>().unwrap(), [11.0, 12.0]);
        assert_eq!(value(&v).as_slice::<f32>().unwrap(), [10.0, 10.0]);
        let e = run("AssignAdd", &attrs, vec![v, vector(&[1.0])]).unwrap_err();
        assert_eq!(e.message(), "Parameters and update must be the same size");
        let ints = variable(DType::I8, &[]);
        assign(&ints, Tensor::scalar(i8::MAX));
        run("AssignAdd", &[("T", ty(DType::I8))], vec![ints.clone(), Tensor::scalar(1i8)]).unwrap();
        assert_eq!(value(&ints).to_scalar::<i8>().unwrap(), i8::MIN);
    }

    #[test]
    fn counting_ends_at_the_limit() {
        let v = variable(DType::I32, &[]);
        assign(&v, Tensor::scalar(1i32));
        let count = || run1("CountUpTo", &[("T", ty(DType::I32)), ("limit", 3i64.into())], vec![v.clone()]);
        assert_eq!(count().unwrap().to_scalar::<i32>().unwrap(), 1);
        assert_eq!(count().unwrap().to_scalar::<i32>().unwrap(), 2);
        let e = count().unwrap_err();
        assert_eq!((e.code(), e.message()), (Code::OutOfRange, "Reached limit of 3"));
    }

    #[test]
    fn a_temporary_variable_gives_its_value_when_it_is_destroyed() {
        let v = run1("TemporaryVariable", &[("dtype", ty(DType::F32)), ("shape", shape(&[2])), ("var_name", "t".into())], vec![]).unwrap();
        assign(&v, vector(&[3.0, 4.0]));
        let destroy = |name: &str| run1("DestroyTemporaryVariable", &[("var_name", name.into())], vec![v.clone()]);
        assert_eq!(destroy("other").unwrap_err().code(), Code::NotFound);
        assert_eq!(destroy("t").unwrap().as_slice::<f32>().unwrap(), [3.0, 4.0]);
        assert_eq!(destroy("t").unwrap_err().code(), Code::FailedPrecondition);
    }
}
