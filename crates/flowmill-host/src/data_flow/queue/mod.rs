//! Queues: `FIFOQueueV2`, `PaddingFIFOQueueV2`, `PriorityQueueV2`, `RandomShuffleQueueV2` and the ops on them.

mod waiting;

use crate::from_fn::from_fn;
use crate::state::resource_name;
use flowmill_kernels::philox::of_seeds;
use flowmill_runtime::{AsyncContext, AsyncKernel, Kernel, KernelContext, KernelInit, KernelRegistry, ResourceManager};
use flowmill_tensor::{DType, PartialShape, Result, Tensor, bail, check_memory};
use std::sync::Arc;
pub(super) use waiting::{Options, Order, Queue, Request};

/// Registers the kernels of this family. The ops of the first version, whose handles are references, have the same kernels.
pub(super) fn register(registry: &mut KernelRegistry) {
    for op in ["FIFOQueue", "FIFOQueueV2"] {
        registry.add(op, |init| make_queue(init, "FIFOQueue"));
    }
    for op in ["PaddingFIFOQueue", "PaddingFIFOQueueV2"] {
        registry.add(op, |init| make_queue(init, "PaddingFIFOQueue"));
    }
    for op in ["PriorityQueue", "PriorityQueueV2"] {
        registry.add(op, |init| make_queue(init, "PriorityQueue"));
    }
    for op in ["RandomShuffleQueue", "RandomShuffleQueueV2"] {
        registry.add(op, |init| make_queue(init, "RandomShuffleQueue"));
    }
    for op in ["QueueEnqueue", "QueueEnqueueV2"] {
        registry.add(op, |_| Ok(Arc::new(Waiting(enqueue))));
    }
    for op in ["QueueEnqueueMany", "QueueEnqueueManyV2"] {
        registry.add(op, |_| Ok(Arc::new(Waiting(enqueue_many))));
    }
    for op in ["QueueDequeue", "QueueDequeueV2"] {
        registry.add(op, |_| Ok(Arc::new(Waiting(dequeue))));
    }
    for op in ["QueueDequeueMany", "QueueDequeueManyV2"] {
        registry.add(op, |_| Ok(Arc::new(Waiting(dequeue_many))));
    }
    for op in ["QueueDequeueUpTo", "QueueDequeueUpToV2"] {
        registry.add(op, |_| Ok(Arc::new(Waiting(dequeue_up_to))));
    }
    for op in ["QueueClose", "QueueCloseV2"] {
        registry.add(op, make_close);
    }
    for op in ["QueueSize", "QueueSizeV2"] {
        registry.add(op, make_size);
    }
    for op in ["QueueIsClosed", "QueueIsClosedV2"] {
        registry.add(op, make_is_closed);
    }
}

/// Makes the kernel of a queue, whose output is the session's queue under the node's name.
fn make_queue(init: &KernelInit<'_>, kind: &'static str) -> Result<Arc<dyn Kernel>> {
    let attrs = init.attrs;
    let mut types = if attrs.contains("component_types") { attrs.list::<DType>("component_types")? } else { Vec::new() };
    let mut shapes = if attrs.contains("shapes") { attrs.list::<PartialShape>("shapes")? } else { Vec::new() };
    let by_priority = kind == "PriorityQueue";
    if shapes.len() != types.len() && (!shapes.is_empty() || by_priority || kind == "PaddingFIFOQueue") {
        bail!(InvalidArgument, "Component types and shapes have different lengths: {} vs. {}", types.len(), shapes.len());
    }
    if by_priority {
        types.insert(0, DType::I64);
        shapes.insert(0, PartialShape::scalar());
    }
    let known = match kind {
        "PaddingFIFOQueue" => shapes.iter().all(|shape| shape.rank().is_some()),
        _ => shapes.iter().all(|shape| shape.to_shape().is_some()),
    };
    let order = match kind {
        "PriorityQueue" => Order::Priority,
        "RandomShuffleQueue" => {
            let min_after_dequeue = usize::try_from(attrs.get_or("min_after_dequeue", 0i64)?).unwrap_or(0);
            let seeds = [attrs.get_or("seed", 0)?, attrs.get_or("seed2", 0)?];
            Order::Random { min_after_dequeue, seeds, generator: of_seeds(seeds[0], seeds[1]) }
        }
        _ => Order::FirstInFirstOut,
    };
    let options = Options {
        kind,
        types,
        shapes: (!shapes.is_empty() && known).then_some(shapes),
        order,
        capacity: usize::try_from(attrs.get_or("capacity", -1i64)?).unwrap_or(usize::MAX),
    };
    let (container, name) = (attrs.get_or("container", "")?, resource_name(init)?);
    let queue = init.resources.lookup_or_create(container, name, || Ok(Queue::new(name, options.clone())))?;
    check_options(name, queue.options(), &options)?;
    let handle = init.resources.handle(container, name, Some(queue), Vec::new());
    from_fn(move |ctx| {
        ctx.set_output(0, handle.clone());
        Ok(())
    })
}

/// Checks that the node of a shared queue requests the options that the queue was made with.
fn check_options(name: &str, queue: &Options, requested: &Options) -> Result<()> {
    fn check<T: PartialEq>(name: &str, what: [&str; 2], show: impl Fn(&T) -> String, there: &T, requested: &T) -> Result<()> {
        if there != requested {
            let [has, was] = what;
            bail!(InvalidArgument, "Shared queue '{name}' has {has} {} but requested {has} {was} {}", show(there), show(requested));
        }
        Ok(())
    }
    let capacity = |&n: &usize| if n == usize::MAX { "unlimited".to_owned() } else { n.to_string() };
    check(name, ["type", "was"], |kind: &&str| (*kind).to_owned(), &queue.kind, &requested.kind)?;
    check(name, ["capacity", "was"], capacity, &queue.capacity, &requested.capacity)?;
    let types = |types: &Vec<DType>| types.iter().map(|t| t.cpp_name()).collect::<Vec<_>>().join(", ");
    check(name, ["component types", "were"], types, &queue.types, &requested.types)?;
    let shapes = |shapes: &Option<Vec<PartialShape>>| {
        let shapes: Vec<String> = shapes.iter().flatten().map(ToString::to_string).collect();
        format!("[{}]", shapes.join(", "))
    };
    check(name, ["component shapes", "were"], shapes, &queue.shapes, &requested.shapes)?;
    if let (
        Order::Random { min_after_dequeue: there, seeds, .. },
        Order::Random { min_after_dequeue: requested, seeds: requested_seeds, .. },
    ) = (&queue.order, &requested.order)
    {
        check(name, ["min_after_dequeue", "was"], usize::to_string, there, requested)?;
        // A node without seeds takes any queue.
        if *requested_seeds != [0, 0] {
            check(name, ["random seeds", "are"], |[seed, seed2]: &[i64; 2]| format!("({seed}, {seed2})"), seeds, requested_seeds)?;
        }
    }
    Ok(())
}

/// Requests one element, like `QueueDequeue`.
pub(super) fn dequeue_one(queue: &Arc<Queue>, ctx: AsyncContext) {
    queue.submit(Request::DequeueOne, ctx);
}

/// Returns the queue that a handle refers to.
pub(super) fn queue_of(tensor: Option<&Tensor>, resources: &ResourceManager) -> Result<Arc<Queue>> {
    super::object_of(tensor, resources, "a queue")
}

fn queue(ctx: &KernelContext<'_>) -> Result<Arc<Queue>> {
    queue_of(Some(ctx.input(0)?), ctx.resources())
}

/// A kernel that passes a request to the queue in input 0.
struct Waiting(fn(&Queue, &[Tensor]) -> Result<Request>);

impl Kernel for Waiting {
    fn compute(&self, _: &mut KernelContext<'_>) -> Result<()> {
        bail!(Internal, "queues are asynchronous")
    }

    fn as_async(&self) -> Option<&dyn AsyncKernel> {
        Some(self)
    }
}

impl AsyncKernel for Waiting {
    fn start(&self, ctx: AsyncContext) {
        let queue = queue_of(ctx.inputs().first(), ctx.resources());
        let request = queue.and_then(|queue| (self.0)(&queue, ctx.inputs().get(1..).unwrap_or(&[])).map(|request| (queue, request)));
        match request {
            Ok((queue, request)) => queue.submit(request, ctx),
            Err(e) => ctx.done(Err(e)),
        }
    }
}

fn check_components(queue: &Queue, components: &[Tensor]) -> Result<()> {
    let types = &queue.options().types;
    if !components.iter().map(Tensor::dtype).eq(types.iter().copied()) {
        let list = |types: &mut dyn Iterator<Item = DType>| types.map(|t| t.cpp_name()).collect::<Vec<_>>().join(", ");
        let (have, expected) = (list(&mut components.iter().map(Tensor::dtype)), list(&mut types.iter().copied()));
        bail!(InvalidArgument, "Signature mismatch, have: resource, {have}-> expected: resource, {expected}->");
    }
    Ok(())
}

fn check_element(queue: &Queue, element: &[Tensor]) -> Result<()> {
    for (i, (component, shape)) in element.iter().zip(queue.options().shapes.iter().flatten()).enumerate() {
        if !shape.is_compatible_with(component.shape()) {
            bail!(InvalidArgument, "Shape mismatch in tuple component {i}. Expected {shape}, got {}", component.shape());
        }
    }
    Ok(())
}

fn check_open(queue: &Queue) -> Result<()> {
    if queue.is_closed() {
        bail!(Cancelled, "{} is closed.", queue.describe());
    }
    Ok(())
}

fn enqueue(queue: &Queue, components: &[Tensor]) -> Result<Request> {
    check_components(queue, components)?;
    check_element(queue, components)?;
    check_open(queue)?;
    // Copy components that are arrays of the caller, which may change after the step.
    let element = components.iter().map(|component| component.clone().into_owned()).collect::<Result<Vec<_>>>()?;
    Ok(Request::Enqueue([element].into()))
}

/// Returns a request to enqueue several elements. Each component has one row per element.
fn enqueue_many(queue: &Queue, components: &[Tensor]) -> Result<Request> {
    check_components(queue, components)?;
    let rows = |tensor: &Tensor| tensor.shape().first().copied();
    let Some(count) = components.first().and_then(rows) else {
        bail!(InvalidArgument, "The components of an EnqueueMany must be at least vectors");
    };
    if let Some((i, other)) = components.iter().enumerate().find(|(_, component)| rows(component) != Some(count)) {
        bail!(InvalidArgument, "Shape mismatch in tuple component {i}. Expected [{count},...], got {}", other.shape());
    }
    for (i, (component, shape)) in components.iter().zip(queue.options().shapes.iter().flatten()).enumerate() {
        let shape: PartialShape = std::iter::once(count as i64).chain(shape.dims().unwrap_or(&[]).iter().copied()).collect();
        if !shape.is_compatible_with(component.shape()) {
            bail!(InvalidArgument, "Shape mismatch in tuple component {i}. Expected {shape}, got {}", component.shape());
        }
    }
    let element = |i: usize| components.iter().map(|component| component.row(i)?.into_owned()).collect::<Result<Vec<_>>>();
    check_memory::<Vec<Tensor>>(count)?;
    let elements = (0..count).map(element).collect::<Result<_>>()?;
    check_open(queue)?;
    Ok(Request::Enqueue(elements))
}

fn dequeue(_: &Queue, _: &[Tensor]) -> Result<Request> {
    Ok(Request::DequeueOne)
}

fn dequeue_many(queue: &Queue, inputs: &[Tensor]) -> Result<Request> {
    batch_request(queue, inputs, false)
}

fn dequeue_up_to(queue: &Queue, inputs: &[Tensor]) -> Result<Request> {
    batch_request(queue, inputs, true)
}

fn batch_request(queue: &Queue, inputs: &[Tensor], up_to: bool) -> Result<Request> {
    let requested = inputs.first().map_or(Ok(0), Tensor::to_i64)?;
    let Ok(count) = usize::try_from(requested) else {
        bail!(InvalidArgument, "{} requested {requested} < 0 elements", if up_to { "DequeueUpToOp" } else { "DequeueManyOp" });
    };
    if queue.options().shapes.is_none() {
        bail!(InvalidArgument, "{}'s DequeueMany and DequeueUpTo require the components to have specified shapes.", queue.options().kind);
    }
    Ok(Request::DequeueMany { count, up_to, taken: Vec::new() })
}

fn make_close(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let cancel_pending_enqueues = init.attrs.get_or("cancel_pending_enqueues", false)?;
    from_fn(move |ctx| queue(ctx)?.close(cancel_pending_enqueues))
}

fn make_size(_: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    from_fn(|ctx| {
        let len = queue(ctx)?.len();
        ctx.set_output(0, Tensor::scalar(i32::try_from(len).unwrap_or(i32::MAX)));
        Ok(())
    })
}

fn make_is_closed(_: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    from_fn(|ctx| {
        let closed = queue(ctx)?.is_closed();
        ctx.set_output(0, Tensor::scalar(closed));
        Ok(())
    })
}
