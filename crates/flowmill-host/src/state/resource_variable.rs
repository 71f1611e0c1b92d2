//! Kernels of variables behind `resource` handles.

use super::update::{Update, update_blocks};
use super::{ResourceVariable, Variable};
use crate::from_fn::from_fn;
use crate::state::ref_variable::resource_name;
use flowmill_runtime::{Kernel, KernelContext, KernelInit, KernelRegistry, container_name};
use flowmill_tensor::{Code, DType, PartialShape, Result, Tensor, bail, error};
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("VarHandleOp", make_var_handle);
    registry.add("_VarHandlesOp", make_var_handles);
    registry.add("ReadVariableOp", make_read);
    registry.add("_ReadVariablesOp", make_read_many);
    registry.add("AssignVariableOp", make_assign);
    registry.add("AssignAddVariableOp", |init| make_update(init, Update::Add));
    registry.add("AssignSubVariableOp", |init| make_update(init, Update::Sub));
    registry.add("VarIsInitializedOp", make_is_initialized);
    registry.add("VariableShape", make_shape);
    registry.add("DestroyResourceOp", make_destroy);
    registry.add("DisableCopyOnRead", |_| from_fn(|_| Ok(())));
}

/// The `shared_name` with which TensorFlow's eager mode requests an anonymous variable, which only its handle refers to.
const ANONYMOUS: &str = "cd2c89b7-88b7-44c8-ad83-06c2a9158347";

/// Makes the kernel of `VarHandleOp`: a handle of the variable named by the node's `shared_name`, or by the node, made once. If it is anonymous,
/// each call makes a new variable.
fn make_var_handle(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let (dtype, shape): (DType, PartialShape) = (init.dtype("dtype")?, init.attrs.get("shape")?);
    let name = resource_name(init)?;
    let container = init.attrs.get_or("container", "")?.to_owned();
    if name == ANONYMOUS {
        return from_fn(move |ctx| {
            let variable = Arc::new(ResourceVariable::new(dtype, shape.clone()));
            ctx.set_output(0, ctx.resources().handle(&container, ANONYMOUS, Some(variable), vec![(dtype, shape.clone())]));
            Ok(())
        });
    }
    let handle = named_handle(init, &container, name, dtype, shape)?;
    from_fn(move |ctx| {
        ctx.set_output(0, handle.clone());
        Ok(())
    })
}

fn named_handle(init: &KernelInit<'_>, container: &str, name: &str, dtype: DType, shape: PartialShape) -> Result<Tensor> {
    let variable = init.resources.lookup_or_create(container, name, || Ok(ResourceVariable::new(dtype, shape.clone())))?;
    Ok(init.resources.handle(container, name, Some(variable), vec![(dtype, shape)]))
}

fn make_var_handles(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let containers = init.attrs.list::<&str>("containers")?;
    let names = init.attrs.list::<&str>("shared_names")?;
    let dtypes = init.attrs.list::<DType>("dtypes")?;
    let shapes = init.attrs.list::<PartialShape>("shapes")?;
    if [containers.len(), dtypes.len(), shapes.len()] != [names.len(); 3] {
        bail!(InvalidArgument, "_VarHandlesOp needs as many containers, dtypes and shapes as names");
    }
    let named = containers.into_iter().zip(names).zip(dtypes.into_iter().zip(shapes));
    let handles =
        named.map(|((container, name), (dtype, shape))| named_handle(init, container, name, dtype, shape)).collect::<Result<Vec<_>>>()?;
    from_fn(move |ctx| {
        handles.iter().enumerate().for_each(|(i, handle)| ctx.set_output(i, handle.clone()));
        Ok(())
    })
}

/// Returns the value of the variable in input `i`, which must have type `dtype`.
fn read(ctx: &KernelContext<'_>, i: usize, dtype: DType) -> Result<Tensor> {
    let variable = Variable::from_input(ctx, i).and_then(|variable| variable.read());
    let value = match variable {
        Ok(value) => value,
        Err(e) if e.code() == Code::NotFound => {
            let handle = ctx.handle(i)?;
            let (name, container) = (handle.name(), container_name(handle.container()));
            return Err(error!(
                FailedPrecondition,
                "Error while reading resource variable {name} from Container: {container}. This could mean that the variable was uninitialized. \
                 Could not find variable {name}. This could mean that the variable has been deleted. In TF1, it can also mean the variable is uninitialized. \
                 Debug info: container={container}, status error message={}",
                e.message()
            ));
        }
        Err(e) => return Err(e),
    };
    if value.dtype() != dtype {
        bail!(InvalidArgument, "Trying to read variable with wrong dtype. Expected {} got {}", dtype.cpp_name(), value.dtype().cpp_name());
    }
    Ok(value)
}

/// Makes the kernel of `ReadVariableOp`. The value is shared; a later update of the variable copies it first.
fn make_read(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let dtype = init.dtype("dtype")?;
    from_fn(move |ctx| {
        let value = read(ctx, 0, dtype)?;
        ctx.set_output(0, value);
        Ok(())
    })
}

fn make_read_many(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let dtypes = init.attrs.list::<DType>("dtypes")?;
    from_fn(move |ctx| {
        for (i, &dtype) in dtypes.iter().enumerate() {
            let value = read(ctx, i, dtype)?;
            ctx.set_output(i, value);
        }
        Ok(())
    })
}

fn make_assign(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let dtype = init.dtype("dtype")?;
    let validate_shape = init.attrs.get_or("validate_shape", false)?;
    from_fn(move |ctx| {
        // Copy the value if it is an array of the caller, which may change after the step.
        let value = ctx.take(1)?;
        let value = ctx.device().owned(value)?;
        let variable = Variable::from_input(ctx, 0)?;
        if value.dtype() != dtype || variable.dtype() != dtype {
            bail!(
                InvalidArgument,
                "Trying to assign variable with wrong dtype. Expected {} got {}",
                variable.dtype().cpp_name(),
                value.dtype().cpp_name()
            );
        }
        let mut current = variable.lock();
        if let Some(old) = current.as_ref().filter(|old| validate_shape && old.shape() != value.shape()) {
            bail!(
                InvalidArgument,
                "Trying to assign to variable with tensor with wrong shape. Expected {} got {}",
                old.shape(),
                value.shape()
            );
        }
        let old = current.replace(value);
        drop(current);
        drop(old);
        Ok(())
    })
}

fn make_update(init: &KernelInit<'_>, update: Update) -> Result<Arc<dyn Kernel>> {
    update.checked_dtype(init, "dtype")?;
    from_fn(move |ctx| {
        let value = ctx.input(1)?;
        Variable::from_input(ctx, 0)?.update(|current| {
            if current.dtype() != value.dtype() {
                bail!(
                    InvalidArgument,
                    "Trying to assign variable with wrong dtype. Expected {} got {}",
                    current.dtype().cpp_name(),
                    value.dtype().cpp_name()
                );
            }
            if current.shape() != value.shape() {
                bail!(
                    InvalidArgument,
                    "Cannot update variable with shape {} using a Tensor with shape {}, shapes must be equal.",
                    current.shape(),
                    value.shape()
                );
            }
            let n = current.num_elements();
            update_blocks(update, current, &[0], n, value)
        })
    })
}

fn make_is_initialized(_: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    from_fn(|ctx| {
        let initialized = match Variable::from_input(ctx, 0) {
            Ok(variable) => variable.lock().is_some(),
            Err(e) if e.code() == Code::NotFound => false,
            Err(e) => return Err(e),
        };
        ctx.set_output(0, Tensor::scalar(initialized));
        Ok(())
    })
}

fn make_shape(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let out_type = init.attrs.get_or("out_type", DType::I32)?;
    from_fn(move |ctx| {
        let shape = Variable::from_input(ctx, 0)?.update(|value| Ok(value.shape().to_i64()))?;
        ctx.set_output(0, ctx.allocator().index_vector(out_type, &shape)?);
        Ok(())
    })
}

/// Makes the kernel of `DestroyResourceOp`: a variable loses its value, any other resource its name.
fn make_destroy(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let ignore_lookup_error = init.attrs.get_or("ignore_lookup_error", true)?;
    from_fn(move |ctx| {
        let handle = ctx.handle(0)?;
        let existed = match handle.get::<ResourceVariable>() {
            Some(variable) => variable.lock().take().is_some(),
            None => ctx.resources().remove(handle.container(), handle.name()),
        };
        if !existed && !ignore_lookup_error {
            bail!(NotFound, "Resource {}/{} does not exist.", container_name(handle.container()), handle.name());
        }
        Ok(())
    })
}
