//! Tensors that stay in a session between steps, under the name in a handle: `GetSessionHandle` and related ops.

use crate::from_fn::from_fn;
use flowmill_runtime::{Kernel, KernelContext, KernelInit, KernelRegistry};
use flowmill_tensor::{Resource, Result, Tensor, bail};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("GetSessionHandle", make_get_handle);
    registry.add("GetSessionHandleV2", make_get_handle);
    registry.add("GetSessionTensor", make_get_tensor);
    registry.add("DeleteSessionTensor", make_delete);
}

/// The container that holds a session's tensors.
const CONTAINER: &str = "_session_tensors";
static NEXT: AtomicU64 = AtomicU64::new(0);

struct SessionTensor(Tensor);

impl Resource for SessionTensor {
    fn type_name(&self) -> &'static str {
        "SessionTensor"
    }
}

/// Makes the kernel of `GetSessionHandle`, which outputs the handle's name as a string, and of `GetSessionHandleV2`, which outputs a `resource`.
fn make_get_handle(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let node = init.name.to_owned();
    let as_resource = init.op_def.name == "GetSessionHandleV2";
    from_fn(move |ctx| {
        let device = &ctx.device().attributes().name;
        let name = format!("{node};{};{device}", NEXT.fetch_add(1, Ordering::Relaxed));
        // Copy the value if it is an array of the caller, which may change after the step.
        let value = ctx.device().owned(ctx.take(0)?)?;
        ctx.resources().lookup_or_create(CONTAINER, &name, || Ok(SessionTensor(value)))?;
        let handle = if as_resource { ctx.resources().handle(CONTAINER, &name, None, Vec::new()) } else { ctx.allocator().string(name)? };
        ctx.set_output(0, handle);
        Ok(())
    })
}

fn name(ctx: &KernelContext<'_>) -> Result<String> {
    match ctx.input(0)?.as_strings()? {
        [name] => Ok(String::from_utf8_lossy(name).into_owned()),
        _ => bail!(InvalidArgument, "handle must be scalar"),
    }
}

fn not_found<T>(name: &str) -> Result<T> {
    bail!(InvalidArgument, "The tensor with handle '{name}' is not in the session store.")
}

fn make_get_tensor(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let dtype = init.dtype("dtype")?;
    from_fn(move |ctx| {
        let name = name(ctx)?;
        let Ok(stored) = ctx.resources().lookup::<SessionTensor>(CONTAINER, &name) else { return not_found(&name) };
        if stored.0.dtype() != dtype {
            bail!(InvalidArgument, "The tensor with handle '{name}' is of type {}, not {}", stored.0.dtype().cpp_name(), dtype.cpp_name());
        }
        ctx.set_output(0, stored.0.clone());
        Ok(())
    })
}

fn make_delete(_: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    from_fn(|ctx| {
        let name = name(ctx)?;
        if ctx.resources().remove(CONTAINER, &name) { Ok(()) } else { not_found(&name) }
    })
}
