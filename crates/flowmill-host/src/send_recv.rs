//! `_Send` and `_Recv`, which pass tensors by name from one part of a step to another, through the host's memory.

use flowmill_graph::Attrs;
use flowmill_runtime::{AsyncContext, AsyncKernel, Kernel, KernelContext, KernelRegistry, Registration, RendezvousKey};
use flowmill_tensor::sync::Mutex;
use flowmill_tensor::{Result, Tensor, bail};
use std::sync::Arc;

/// Registers the kernels of this family.
pub(crate) fn register(registry: &mut KernelRegistry) {
    for op in ["_Send", "_HostSend"] {
        registry.add(op, |init| Ok(Arc::new(Send { name: key(init.attrs)?.into() })));
    }
    registry.add("_Recv", |init| Ok(Arc::new(Recv { name: key(init.attrs)?.into(), to_host: init.device.is_host() })));
    registry.add("_HostRecv", |init| Ok(Arc::new(Recv { name: key(init.attrs)?.into(), to_host: true })));
}

/// Returns the name under which a send and its receive meet: devices, incarnation and tensor.
///
/// # Errors
/// Returns `InvalidArgument` if an attribute is missing.
pub(crate) fn key(attrs: &Attrs) -> Result<String> {
    let text = |name: &str| attrs.get::<&str>(name);
    let incarnation: i64 = attrs.get("send_device_incarnation")?;
    Ok(format!("{};{incarnation:016x};{};{}", text("send_device")?, text("recv_device")?, text("tensor_name")?))
}

struct Send {
    name: Arc<str>,
}

impl Kernel for Send {
    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        // If an input is dead, a dead tensor is sent; control inputs count, too. The plan runs sends with dead inputs for that.
        let is_live = (0..ctx.num_inputs()).all(|i| ctx.input(i).is_ok());
        let value: Option<Tensor> = if is_live { Some(ctx.take(0)?) } else { None };
        let key = RendezvousKey { name: self.name.clone(), iteration: ctx.iteration() };
        match value {
            Some(tensor) if !tensor.is_on_host() => {
                let step = ctx.device_step().step.clone();
                let sent = move |copied: Result<Tensor>| {
                    if let Err(e) = copied.and_then(|tensor| step.rendezvous.send(&key, Some(tensor))) {
                        step.rendezvous.abort(e.clone());
                        step.cancel.cancel(e);
                    }
                };
                ctx.device().copy_to_host(tensor, Box::new(sent));
                Ok(())
            }
            value => ctx.step().rendezvous.send(&key, value),
        }
    }

    fn depends_on_iteration(&self) -> bool {
        true
    }
}

struct Recv {
    name: Arc<str>,
    /// If true, the tensor stays in the host's memory.
    to_host: bool,
}

impl Kernel for Recv {
    fn compute(&self, _: &mut KernelContext<'_>) -> Result<()> {
        bail!(Internal, "_Recv is asynchronous")
    }

    fn as_async(&self) -> Option<&dyn AsyncKernel> {
        Some(self)
    }
}

/// A receive in progress. The sender or the cancellation, whichever takes the call out first, ends it.
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
        let step = ctx.device_step().clone();
        let key = RendezvousKey { name: self.name.clone(), iteration: ctx.iteration().clone() };
        let pending: Pending = Arc::new(Mutex::new((Some(ctx), None)));
        let on_cancel = pending.clone();
        let registration = step.step.cancel.on_cancel(move |reason| finish(&on_cancel, Err(reason.clone().derived())));
        {
            let mut state = pending.lock();
            if state.0.is_some() {
                state.1 = registration;
            }
        }
        let device = (!self.to_host).then(|| step.device.clone());
        step.step.rendezvous.recv_async(&key, move |received| match (received, device) {
            (Ok(Some(tensor)), Some(device)) => {
                let arrived = move |copied: Result<Tensor>| finish(&pending, copied.map(|tensor| vec![Some(tensor)]));
                device.copy_from_host(tensor, Box::new(arrived));
            }
            (received, _) => finish(&pending, received.map(|value| vec![value])),
        });
    }
}
