//! Barriers: the op `Barrier` and the ops on its handle.
//!
//! A barrier collects the components of elements by the elements' keys. An element with all its components is ready. Ready elements wait in a
//! priority queue, in the order in which their keys were first inserted.

use super::queue::{Options, Order, Queue, Request};
use crate::from_fn::from_fn;
use crate::state::resource_name;
use flowmill_runtime::{AsyncContext, AsyncKernel, Kernel, KernelContext, KernelInit, KernelRegistry, ResourceManager};
use flowmill_tensor::sync::Mutex;
use flowmill_tensor::{Bytes, DType, PartialShape, Resource, Result, Shape, Tensor, bail, error};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Registers the kernels of this family.
pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("Barrier", make_barrier);
    registry.add("BarrierInsertMany", make_insert_many);
    registry.add("BarrierTakeMany", make_take_many);
    registry.add("BarrierClose", make_close);
    registry.add("BarrierReadySize", |_| make_size(|barrier| barrier.ready.len()));
    registry.add("BarrierIncompleteSize", |_| make_size(|barrier| barrier.state.lock().incomplete.len()));
}

struct Barrier {
    name: String,
    types: Vec<DType>,
    shapes: Vec<Shape>,
    /// The elements. This lock is taken before that of the queue.
    state: Mutex<State>,
    /// The ready elements, each with its index, key and components.
    ready: Queue,
}

struct State {
    /// The elements that lack components, by their keys.
    incomplete: BTreeMap<Bytes, Incomplete>,
    /// The index of the next insertion that has a new key.
    next_index: i64,
    closed: bool,
    cancelled: bool,
}

struct Incomplete {
    index: i64,
    components: Vec<Option<Tensor>>,
}

impl Resource for Barrier {
    fn type_name(&self) -> &'static str {
        "Barrier"
    }
}

/// Makes the kernel of `Barrier`, whose output is the session's barrier under the node's name.
fn make_barrier(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let attrs = init.attrs;
    let types: Vec<DType> = attrs.list("component_types")?;
    let declared: Vec<PartialShape> = if attrs.contains("shapes") { attrs.list("shapes")? } else { Vec::new() };
    if declared.len() != types.len() {
        bail!(InvalidArgument, "All of the component shapes must be specified");
    }
    if attrs.get_or("capacity", -1i64)? != -1 {
        bail!(
            InvalidArgument,
            "Barrier only accepts capacity=-1.  Feed the inputs to your Barrier through a queue to enforce a limited capacity."
        );
    }
    // A shape of unknown rank is treated as that of a scalar, as in TensorFlow.
    let shape = |declared: &PartialShape| match declared.rank() {
        None => Ok(Shape::default()),
        Some(_) => {
            declared.to_shape().ok_or_else(|| error!(InvalidArgument, "The shape {declared} of a barrier's component is not fully known"))
        }
    };
    let shapes = declared.iter().map(shape).collect::<Result<Vec<_>>>()?;
    let (container, name) = (attrs.get_or("container", "")?, resource_name(init)?);
    let barrier = init.resources.lookup_or_create(container, name, || Ok(Barrier::new(name, types.clone(), shapes.clone())))?;
    if barrier.types != types {
        let (found, wanted) = (list(&barrier.types, ", "), list(&types, ", "));
        bail!(InvalidArgument, "Shared barrier '{name}' has component types {found} but requested component types were {wanted}");
    }
    if barrier.shapes != shapes {
        let text = |shapes: &[Shape]| shapes.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        let (found, wanted) = (text(&barrier.shapes), text(&shapes));
        bail!(InvalidArgument, "Shared barrier '{name}' has component shapes [{found}] but requested component shapes were [{wanted}]");
    }
    let handle = init.resources.handle(container, name, Some(barrier), Vec::new());
    from_fn(move |ctx| {
        ctx.set_output(0, handle.clone());
        Ok(())
    })
}

/// Returns the names of types, for messages.
fn list(types: &[DType], separator: &str) -> String {
    types.iter().map(|t| t.cpp_name()).collect::<Vec<_>>().join(separator)
}

fn barrier_of(tensor: Option<&Tensor>, resources: &ResourceManager) -> Result<Arc<Barrier>> {
    super::object_of(tensor, resources, "a barrier")
}

fn barrier(ctx: &KernelContext<'_>) -> Result<Arc<Barrier>> {
    barrier_of(Some(ctx.input(0)?), ctx.resources())
}

/// Makes the kernel of `BarrierInsertMany`. Inputs: handle, keys, one component for the element of each key.
fn make_insert_many(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let component: i64 = init.attrs.get("component_index")?;
    from_fn(move |ctx| {
        let (barrier, keys, values) = (barrier(ctx)?, ctx.input(1)?, ctx.input(2)?);
        let in_range = usize::try_from(component).ok().and_then(|i| Some((i, *barrier.types.get(i)?)));
        let Some((component, dtype)) = in_range else {
            bail!(InvalidArgument, "The component ID is out of range {component} > num_components (= {})", barrier.types.len());
        };
        if values.dtype() != dtype {
            let (have, expected) = (values.dtype().cpp_name(), dtype.cpp_name());
            bail!(InvalidArgument, "Signature mismatch, have: string_ref, string, {have}-> expected: string_ref, string, {expected}->");
        }
        barrier.insert_many(component, keys.as_strings()?, values)
    })
}

/// The kernel of `BarrierTakeMany`. Inputs: handle, number of elements.
struct TakeMany {
    types: Vec<DType>,
    allow_small_batch: bool,
}

fn make_take_many(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    if init.attrs.get_or("timeout_ms", -1i64)? != -1 {
        bail!(InvalidArgument, "Timeout not supported yet.");
    }
    let types = init.attrs.list("component_types")?;
    Ok(Arc::new(TakeMany { types, allow_small_batch: init.attrs.get_or("allow_small_batch", false)? }))
}

impl Kernel for TakeMany {
    fn compute(&self, _: &mut KernelContext<'_>) -> Result<()> {
        bail!(Internal, "barriers are asynchronous")
    }

    fn as_async(&self) -> Option<&dyn AsyncKernel> {
        Some(self)
    }
}

impl AsyncKernel for TakeMany {
    fn start(&self, ctx: AsyncContext) {
        match self.request(ctx.inputs(), ctx.resources()) {
            Ok((barrier, request)) => barrier.ready.submit(request, ctx),
            Err(e) => ctx.done(Err(e)),
        }
    }
}

impl TakeMany {
    fn request(&self, inputs: &[Tensor], resources: &ResourceManager) -> Result<(Arc<Barrier>, Request)> {
        let barrier = barrier_of(inputs.first(), resources)?;
        let count = match inputs.get(1) {
            Some(count) if count.rank() == 0 => count.to_i64()?,
            _ => bail!(InvalidArgument, "num_elements must be a scalar."),
        };
        if self.types != barrier.types {
            let (have, expected) = (list(&self.types, ", "), list(&barrier.types, ", "));
            let inputs = "string_ref, int32->int64, string";
            bail!(InvalidArgument, "Signature mismatch, have: {inputs}, {have} expected: {inputs}, {expected}");
        }
        let Ok(mut count) = usize::try_from(count) else {
            bail!(InvalidArgument, "num_elements must not be negative, got {count}");
        };
        let state = barrier.state.lock();
        if state.closed {
            let mut available = barrier.ready.len();
            if self.allow_small_batch {
                count = count.min(available);
            } else {
                available += state.incomplete.len();
            }
            if available < count.max(1) {
                bail!(
                    OutOfRange,
                    "Barrier '{}' is closed and has insufficient elements (requested {count}, total size {available})",
                    barrier.name
                );
            }
        }
        drop(state);
        Ok((barrier, Request::DequeueMany { count, up_to: self.allow_small_batch, taken: Vec::new() }))
    }
}

fn make_close(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let cancel_pending_enqueues = init.attrs.get_or("cancel_pending_enqueues", false)?;
    from_fn(move |ctx| barrier(ctx)?.close(cancel_pending_enqueues))
}

fn make_size(size: fn(&Barrier) -> usize) -> Result<Arc<dyn Kernel>> {
    from_fn(move |ctx| {
        let size = size(&*barrier(ctx)?);
        ctx.set_output(0, Tensor::scalar(i32::try_from(size).unwrap_or(i32::MAX)));
        Ok(())
    })
}

impl Barrier {
    fn new(name: &str, types: Vec<DType>, shapes: Vec<Shape>) -> Barrier {
        let options = Options {
            kind: "PriorityQueue",
            types: [DType::I64, DType::String].into_iter().chain(types.iter().copied()).collect(),
            shapes: Some([Shape::default(), Shape::default()].iter().chain(&shapes).map(PartialShape::from).collect()),
            order: Order::Priority,
            capacity: usize::MAX,
        };
        let state = State { incomplete: BTreeMap::new(), next_index: i64::MIN, closed: false, cancelled: false };
        let ready = Queue::new(&format!("{name}_queue"), options);
        Barrier { name: name.to_owned(), types, shapes, state: Mutex::new(state), ready }
    }

    /// Adds row `i` of `values` as a component to the element of `keys[i]`, for each `i`. If a key is invalid, the keys before it stay inserted.
    fn insert_many(&self, component: usize, keys: &[Bytes], values: &Tensor) -> Result<()> {
        if !keys.is_empty() && values.num_elements() == 0 {
            bail!(InvalidArgument, "Tensors with no elements are not supported {}: received shape {}", self.name, values.shape());
        }
        let rows = values.shape().first().copied().unwrap_or(0);
        if !keys.is_empty() && rows != keys.len() {
            bail!(InvalidArgument, "Dimensions must be equal, but are {} and {rows}: keys and values of a barrier", keys.len());
        }
        let mut state = self.state.lock();
        if state.closed && (state.cancelled || (!keys.is_empty() && state.incomplete.is_empty())) {
            bail!(
                Cancelled,
                "Barrier {} is closed.  Pending enqueues cancelled: {}.  Number of new insertions: {}.  Number of incomplete keys: {}.",
                self.name,
                i32::from(state.cancelled),
                keys.len(),
                state.incomplete.len()
            );
        }
        let (index, mut ready) = (state.next_index, Vec::new());
        let inserted = keys.iter().enumerate().try_for_each(|(i, key)| {
            ready.extend(self.insert(&mut state, index, component, (i, key), values)?);
            Ok(())
        });
        self.ready.put(ready, state.closed && state.incomplete.is_empty());
        drop(state);
        self.ready.progress();
        inserted
    }

    /// Adds row `i` of `values` to the element of `key`. Returns the element if it is complete now.
    fn insert(
        &self,
        state: &mut State,
        index: i64,
        component: usize,
        (i, key): (usize, &Bytes),
        values: &Tensor,
    ) -> Result<Option<Vec<Tensor>>> {
        let is_new = !state.incomplete.contains_key(key);
        if state.closed && is_new {
            bail!(
                Cancelled,
                "Barrier {} is closed, but attempted to insert a brand new key: {}.  Pending enqueues cancelled: {}.  Insertion index: {i}.  \
                 Number of incomplete keys: {}.",
                self.name,
                String::from_utf8_lossy(key),
                i32::from(state.cancelled),
                state.incomplete.len()
            );
        }
        let row = values.row(i)?.into_owned()?;
        if is_new {
            // All new keys of one insertion have the same index. The addition does not wrap around in practice: that takes 2⁶⁴ insertions.
            state.next_index = index.wrapping_add(1);
        }
        let new = || Incomplete { index, components: vec![None; self.types.len()] };
        let element = state.incomplete.entry(key.clone()).or_insert_with(new);
        let Some(place) = element.components.get_mut(component) else { return Ok(None) };
        if place.is_some() {
            let key = String::from_utf8_lossy(key);
            bail!(InvalidArgument, "Key {key} already has a value for component {component} in barrier {}", self.name);
        }
        *place = Some(row);
        if element.components.iter().any(Option::is_none) {
            return Ok(None);
        }
        let Some(Incomplete { index, components }) = state.incomplete.remove(key) else { return Ok(None) };
        let components: Vec<Tensor> = components.into_iter().flatten().collect();
        for (i, (component, shape)) in components.iter().zip(&self.shapes).enumerate() {
            if component.shape() != shape {
                bail!(InvalidArgument, "Shape mismatch in tuple component {}. Expected {shape}, got {}", i + 2, component.shape());
            }
        }
        Ok(Some([Tensor::scalar(index), Tensor::string(key.clone())].into_iter().chain(components).collect()))
    }

    /// Closes the barrier for new keys. With `cancel_pending_enqueues`, elements that lack components are dropped.
    ///
    /// # Errors
    /// Returns `Cancelled` if the barrier is closed already, unless this is the first close that cancels.
    fn close(&self, cancel_pending_enqueues: bool) -> Result<()> {
        let mut state = self.state.lock();
        if state.closed && (state.cancelled || !cancel_pending_enqueues) {
            bail!(Cancelled, "Barrier '{}' is already closed.", self.name);
        }
        (state.closed, state.cancelled) = (true, cancel_pending_enqueues);
        if cancel_pending_enqueues {
            state.incomplete.clear();
        }
        self.ready.put(Vec::new(), state.incomplete.is_empty());
        drop(state);
        self.ready.progress();
        Ok(())
    }
}
