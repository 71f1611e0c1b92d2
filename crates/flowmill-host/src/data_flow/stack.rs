//! `StackV2` and related ops, with which the gradients of frame loops save values.

use crate::from_fn::from_fn;
use flowmill_runtime::{Kernel, KernelContext, KernelInit, KernelRegistry};
use flowmill_tensor::sync::Mutex;
use flowmill_tensor::{DType, Resource, Result, Tensor, bail};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

pub(super) fn register(registry: &mut KernelRegistry) {
    for op in ["Stack", "StackV2"] {
        registry.add(op, make_stack);
    }
    for op in ["StackPush", "StackPushV2"] {
        registry.add(op, make_push);
    }
    for op in ["StackPop", "StackPopV2"] {
        registry.add(op, make_pop);
    }
    for op in ["StackClose", "StackCloseV2"] {
        registry.add(op, make_close);
    }
}

/// A stack of tensors. It lives as long as handles to it exist, at most to the end of the step.
struct Stack {
    name: String,
    dtype: DType,
    max_size: Option<usize>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    values: Vec<Tensor>,
    closed: bool,
}

impl Resource for Stack {
    fn type_name(&self) -> &'static str {
        "Stack"
    }
}

/// A counter that makes the names of stacks unique within the process.
static NEXT: AtomicU64 = AtomicU64::new(0);

impl Stack {
    fn push(&self, value: Tensor) -> Result<()> {
        if value.dtype() != self.dtype {
            bail!(InvalidArgument, "Must have type {} but got {}", self.dtype.cpp_name(), value.dtype().cpp_name());
        }
        let mut state = self.state.lock();
        self.check_open(&state)?;
        if let Some(max) = self.max_size.filter(|&max| state.values.len() >= max) {
            bail!(InvalidArgument, "Stack[{}] overflowed its max_size ({max})", self.name);
        }
        state.values.push(value);
        Ok(())
    }

    fn pop(&self) -> Result<Tensor> {
        let mut state = self.state.lock();
        self.check_open(&state)?;
        match state.values.pop() {
            Some(value) => Ok(value),
            None => bail!(InvalidArgument, "Stack[{}] is empty when calling Pop().", self.name),
        }
    }

    fn close(&self) {
        let mut state = self.state.lock();
        state.closed = true;
        let values = std::mem::take(&mut state.values);
        drop(state);
        drop(values);
    }

    fn check_open(&self, state: &State) -> Result<()> {
        if state.closed {
            bail!(InvalidArgument, "Stack[{}] has already been closed.", self.name);
        }
        Ok(())
    }
}

fn stack<'a>(ctx: &'a KernelContext<'_>) -> Result<&'a Stack> {
    let handle = ctx.handle(0)?;
    match handle.get() {
        Some(stack) => Ok(stack),
        None => bail!(InvalidArgument, "Input 0 is not a stack: {handle:?}"),
    }
}

/// Makes the kernel of `StackV2`. Input: the most values that it holds at once; negative for no limit. `Stack` has no input and no limit.
fn make_stack(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let dtype = init.dtype("elem_type")?;
    let name = match init.attrs.get_or("stack_name", "")? {
        "" => init.name,
        name => name,
    }
    .to_owned();
    from_fn(move |ctx| {
        let size = match ctx.inputs_from(0).next().map(|size| (size.to_scalar::<i32>(), size)) {
            None => -1,
            Some((Ok(size), _)) => size,
            Some((Err(_), size)) => bail!(InvalidArgument, "Stack size must be a scalar, but had shape: {}", size.shape()),
        };
        let name = format!("{name}_{}", NEXT.fetch_add(1, Ordering::Relaxed));
        let stack = Stack { name: name.clone(), dtype, max_size: usize::try_from(size).ok(), state: Mutex::default() };
        ctx.set_output(0, ctx.resources().handle("_stacks", &name, Some(Arc::new(stack)), Vec::new()));
        Ok(())
    })
}

/// Makes the kernel of `StackPush`. Inputs: handle, value. Output: the value.
fn make_push(_: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    from_fn(|ctx| {
        stack(ctx)?.push(ctx.input(1)?.clone())?;
        ctx.forward(1, 0)
    })
}

fn make_pop(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let dtype = init.dtype("elem_type")?;
    from_fn(move |ctx| {
        let value = stack(ctx)?.pop()?;
        if value.dtype() != dtype {
            bail!(Internal, "Output 0 of type {} does not match declared output type {}", value.dtype().cpp_name(), dtype.cpp_name());
        }
        ctx.set_output(0, value);
        Ok(())
    })
}

fn make_close(_: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    from_fn(|ctx| {
        stack(ctx)?.close();
        Ok(())
    })
}
