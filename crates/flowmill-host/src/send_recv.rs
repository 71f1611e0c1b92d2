//! `_Send` and `_Recv`: tensors that go from one part of a step to another by name.

use crate::from_fn::from_fn;
use flowmill_graph::Attrs;
use flowmill_runtime::{AsyncContext, AsyncKernel, Kernel, KernelContext, KernelInit, KernelRegistry, Registration};
use flowmill_tensor::sync::Mutex;
use flowmill_tensor::{Result, Tensor, bail};
use std::sync::Arc;

/// Registers the family.
pub(crate) fn register(registry: &mut KernelRegistry) {
    for op in ["_Send", "_HostSend"] {
        registry.add(op, make_send);
    }
    for op in ["_Recv", "_HostRecv"] {
        registry.add(op, |init| Ok(Arc::new(Recv { key: key(init.attrs)? })));
    }
}

/// The name under which a send and its receive meet: devices, incarnation and tensor.
///
/// # Errors
/// `InvalidArgument` where an attribute is missing.
pub(crate) fn key(attrs: &Attrs) -> Result<String> {
    let text = |name: &str| attrs.get::<&str>(name);
    let incarnation: i64 = attrs.get("send_device_incarnation")?;
    Ok(format!("{};{incarnation:016x};{};{}", text("send_device")?, text("recv_device")?, text("tensor_name")?))
}

fn make_send(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let key = key(init.attrs)?;
    from_fn(move |ctx| {
        // A dead input, control inputs among them, is sent as a dead tensor: the plan lets sends run with them.
        let is_live = (0..ctx.num_inputs()).all(|i| ctx.input(i).is_ok());
        let value: Option<Tensor> = if is_live { Some(ctx.take(0)?) } else { None };
        ctx.step().rendezvous.send(&key, value)
    })
}

struct Recv {
    key: String,
}

impl Kernel for Recv {
    fn compute(&self, _: &mut KernelContext<'_>) -> Result<()> {
        bail!(Internal, "_Recv is asynchronous")
    }

    fn as_async(&self) -> Option<&dyn AsyncKernel> {
        Some(self)
    }
}

/// A receive under way: whoever takes the call out first, the sender or the cancellation, ends it.
type Pending = Arc<Mutex<(Option<AsyncContext>, Option<Registration>)>>;

fn finish(pending: &Pending, result: Result<Vec<Option<Tensor>>>) {
    let (ctx, registration) = std::mem::take(&mut *pending.lock());
    drop(registration);
    if let Some(ctx) = ctx {
        ctx.done(result);
    }
}

impl AsyncKernel for Recv {
    fn start(&self, ctx: AsyncContext) {
        let step = ctx.step().clone();
        let pending: Pending = Arc::new(Mutex::new((Some(ctx), None)));
        let on_cancel = pending.clone();
        let registration = step.cancel.on_cancel(move |reason| finish(&on_cancel, Err(reason.clone().derived())));
        {
            let mut state = pending.lock();
            if state.0.is_some() {
                state.1 = registration;
            }
        }
        step.rendezvous.recv_async(&self.key, move |received| finish(&pending, received.map(|value| vec![value])));
    }
}
