//! `_Send` and `_Recv`, which pass tensors from one part of a step to another.
//!
//! The nodes that partitioning has added meet under the number in their attribute [`TRANSFER`], if the step has several parts. All others meet under a name,
//! through the host's memory.

use flowmill_graph::{Attrs, DeviceName, KEEP_MEMORY, TRANSFER};
use flowmill_runtime::{
    AsyncContext, AsyncKernel, CopyDone, Device, Kernel, KernelContext, KernelInit, KernelRegistry, Parcel, Received, Registration,
    RendezvousKey, Step, TransferName, Transfers,
};
use flowmill_tensor::sync::Mutex;
use flowmill_tensor::{Result, Tensor, bail};
use std::sync::Arc;

/// Registers the kernels of this family.
pub(crate) fn register(registry: &mut KernelRegistry) {
    registry.add("_Send", |init| Send::make(init, false));
    registry.add("_HostSend", |init| Send::make(init, true));
    registry.add("_Recv", |init| Recv::make(init, false));
    registry.add("_HostRecv", |init| Recv::make(init, true));
}

/// The attributes that a send and its receive have in common.
struct Endpoint {
    /// The name under which the two meet in a step of one part: devices, incarnation and tensor.
    name: Arc<str>,
    /// The number under which the two meet in a step of several parts.
    transfer: Option<u32>,
}

impl Endpoint {
    /// # Errors
    /// Returns `InvalidArgument` if an attribute is missing.
    fn new(init: &KernelInit<'_>) -> Result<Endpoint> {
        let transfer: i64 = init.attrs.get_or(TRANSFER, -1)?;
        Ok(Endpoint { name: key(init.attrs)?.into(), transfer: u32::try_from(transfer).ok() })
    }

    /// Returns the parts of the name, for statistics.
    fn transfer_name(&self, is_receive: bool) -> Option<TransferName> {
        // See `key`. The names of devices have no semicolons.
        let mut parts = self.name.splitn(4, ';');
        let (from, _incarnation, to, tensor) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        Some(TransferName { tensor: tensor.into(), from: from.into(), to: to.into(), is_receive })
    }

    /// Returns the transfers of the step and the number of this one, if partitioning has added it.
    #[inline]
    fn transfer<'a>(&self, step: &'a Step) -> Option<(&'a Transfers, u32)> {
        step.rendezvous.transfers().zip(self.transfer)
    }
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

/// Returns true if the device that receives is a CPU.
fn receiver_is_host(attrs: &Attrs) -> Result<bool> {
    let name = attrs.get::<&str>("recv_device")?.parse::<DeviceName>();
    Ok(name.is_ok_and(|name| name.device_type.as_deref().is_none_or(|device_type| device_type.eq_ignore_ascii_case("CPU"))))
}

struct Send {
    endpoint: Endpoint,
    /// If true, the tensor is received in the host's memory.
    to_host: bool,
}

impl Kernel for Send {
    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        // If an input is dead, a dead tensor is sent; control inputs count, too. The plan runs sends with dead inputs for that.
        let is_live = (0..ctx.num_inputs()).all(|i| ctx.input(i).is_ok());
        let value: Option<Tensor> = if is_live { Some(ctx.take(0)?) } else { None };
        match (value, self.endpoint.transfer(ctx.step())) {
            (Some(tensor), Some((_, number))) if self.to_host && !tensor.has_parts_on_host() => {
                let (step, iteration) = (ctx.device_step().step.clone(), ctx.iteration());
                let send = move |tensor| match step.rendezvous.transfers() {
                    Some(transfers) => transfers.send(number, &iteration, Some(Parcel { tensor, device: None })),
                    None => Ok(()),
                };
                self.copy_to_host(ctx, tensor, send)
            }
            (value, Some((transfers, number))) => {
                let device = || ctx.device().clone();
                let parcel = |tensor: Tensor| Parcel { device: (!tensor.has_parts_on_host()).then(device), tensor };
                transfers.send(number, &ctx.iteration(), value.map(parcel))
            }
            (Some(tensor), None) if !tensor.has_parts_on_host() => {
                let (step, key) = (ctx.device_step().step.clone(), self.key(ctx));
                self.copy_to_host(ctx, tensor, move |tensor| step.rendezvous.send(&key, Some(tensor)))
            }
            (value, None) => ctx.step().rendezvous.send(&self.key(ctx), value),
        }
    }

    fn depends_on_iteration(&self) -> bool {
        true
    }

    fn transfer(&self) -> Option<TransferName> {
        self.endpoint.transfer_name(false)
    }
}

impl Send {
    fn make(init: &KernelInit<'_>, to_host: bool) -> Result<Arc<dyn Kernel>> {
        let keeps_memory = init.attrs.get_or(KEEP_MEMORY, false)?;
        let to_host = !keeps_memory && (to_host || receiver_is_host(init.attrs)?);
        Ok(Arc::new(Send { endpoint: Endpoint::new(init)?, to_host }))
    }

    fn key(&self, ctx: &KernelContext<'_>) -> RendezvousKey {
        RendezvousKey { name: self.endpoint.name.clone(), iteration: ctx.iteration() }
    }

    /// Copies a tensor to the host's memory, then sends it.
    fn copy_to_host(
        &self,
        ctx: &KernelContext<'_>,
        tensor: Tensor,
        send: impl FnOnce(Tensor) -> Result<()> + std::marker::Send + 'static,
    ) -> Result<()> {
        let step = ctx.device_step().step.clone();
        let sent = move |copied: Result<Tensor>| {
            if let Err(e) = copied.and_then(send) {
                step.rendezvous.abort(e.clone());
                step.cancel.cancel(e);
            }
        };
        ctx.device().copy_to_host(tensor, Box::new(sent));
        Ok(())
    }
}

struct Recv {
    endpoint: Endpoint,
    /// If true, the tensor stays in the host's memory.
    to_host: bool,
}

impl Kernel for Recv {
    fn compute(&self, _: &mut KernelContext<'_>) -> Result<()> {
        bail!(Internal, "_Recv is asynchronous")
    }

    fn depends_on_iteration(&self) -> bool {
        true
    }

    fn transfer(&self) -> Option<TransferName> {
        self.endpoint.transfer_name(true)
    }

    fn as_async(&self) -> Option<&dyn AsyncKernel> {
        Some(self)
    }
}

impl Recv {
    fn make(init: &KernelInit<'_>, to_host: bool) -> Result<Arc<dyn Kernel>> {
        Ok(Arc::new(Recv { endpoint: Endpoint::new(init)?, to_host: to_host || init.device.is_host() }))
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
    fn try_finish(&self, ctx: &mut KernelContext<'_>) -> Option<Result<()>> {
        if !self.to_host {
            return None;
        }
        let (transfers, number) = self.endpoint.transfer(ctx.step())?;
        if let Some(parcel) = transfers.try_receive(number, &ctx.iteration())? {
            ctx.set_output(0, parcel.tensor);
        }
        Some(Ok(()))
    }

    fn start(&self, ctx: AsyncContext) {
        let step = ctx.device_step().clone();
        if let Some((transfers, number)) = self.endpoint.transfer(&step.step) {
            let (to_host, iteration) = (self.to_host, ctx.iteration().clone());
            return transfers.receive(number, &iteration, move |received| receive(ctx, received, to_host));
        }
        let key = RendezvousKey { name: self.endpoint.name.clone(), iteration: ctx.iteration().clone() };
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

/// Ends a receive with what has come, which is copied as its device and the receiver's require.
fn receive(ctx: AsyncContext, received: Received, to_host: bool) {
    let parcel = match received {
        Ok(Some(parcel)) if !to_host => parcel,
        received => return ctx.done(received.map(|parcel| vec![parcel.map(|parcel| parcel.tensor)])),
    };
    let to: Arc<dyn Device> = ctx.device_step().device.clone();
    let done: CopyDone = Box::new(move |copied| ctx.done(copied.map(|tensor| vec![Some(tensor)])));
    match parcel.device {
        // A fed tensor may be in the receiver's memory already, though the host sends it.
        _ if to.holds(&parcel.tensor) => done(Ok(parcel.tensor)),
        None => to.copy_from_host(parcel.tensor, done),
        Some(from) => from.copy_to(parcel.tensor, &to, done),
    }
}
