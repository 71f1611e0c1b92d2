//! `MapStage`, `MapUnstage` and the ops on their map: tuples of tensors under integer keys, kept between the steps of a session.
//!
//! A map belongs to the session, by container and name. The components of a tuple may be added by several calls; the tuple is available when it has
//! all of them. Components may also be removed one by one. Calls wait, without a thread, for room or for a key; they end if their step is
//! cancelled.

use super::staging::num_bytes;
use super::wait_list::{Calls, Ended, Inner, Outcome, Serve, WaitList};
use crate::from_fn::from_fn;
use crate::state::resource_name;
use flowmill_runtime::{AsyncContext, AsyncKernel, Kernel, KernelContext, KernelInit, KernelRegistry};
use flowmill_tensor::{DType, Error, Resource, Result, Tensor, bail, error};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    for op in ["MapStage", "OrderedMapStage"] {
        registry.add(op, |init| {
            let num_components = init.attrs.list::<DType>("dtypes")?.len();
            waiting(init, num_components, put)
        });
    }
    for op in ["MapUnstage", "OrderedMapUnstage"] {
        registry.add(op, |init| waiting(init, init.output_types.len(), |inputs, count| take(inputs, count, Which::Take)));
    }
    for op in ["MapPeek", "OrderedMapPeek"] {
        registry.add(op, |init| waiting(init, init.output_types.len(), |inputs, count| take(inputs, count, Which::Peek)));
    }
    for op in ["MapUnstageNoKey", "OrderedMapUnstageNoKey"] {
        registry.add(op, |init| waiting(init, init.output_types.len().saturating_sub(1), take_any));
    }
    for op in ["MapSize", "OrderedMapSize"] {
        registry.add(op, |init| make_size(init, |state| state.complete.len()));
    }
    for op in ["MapIncompleteSize", "OrderedMapIncompleteSize"] {
        registry.add(op, |init| make_size(init, |state| state.incomplete.len()));
    }
    for op in ["MapClear", "OrderedMapClear"] {
        registry.add(op, make_clear);
    }
}

/// The map that all nodes of one name share.
struct StagingMap(WaitList<State>);

impl Resource for StagingMap {
    fn type_name(&self) -> &'static str {
        "StagingMap"
    }
}

/// A tuple, of which some components may be missing.
struct Tuple {
    /// The key as the call passed it: one element of any rank.
    key: Tensor,
    components: Vec<Option<Tensor>>,
}

struct State {
    /// The number of complete tuples that fit, or `None` for no limit.
    capacity: Option<usize>,
    /// The number of bytes that fit, or `None` for no limit.
    memory_limit: Option<usize>,
    complete: BTreeMap<i64, Tuple>,
    incomplete: BTreeMap<i64, Tuple>,
    bytes: usize,
}

/// The tuple from which a call takes components.
#[derive(Clone, Copy)]
enum Which {
    /// The tuple under a key.
    Take,
    /// The tuple under a key, which keeps the components.
    Peek,
    /// The tuple with the least key.
    TakeFirst,
}

/// The operation that a call requests.
enum Request {
    /// Adds components to a tuple of `num_components`.
    Put { key: i64, given: Tensor, places: Vec<usize>, values: Vec<Tensor>, num_components: usize },
    /// Takes components of a tuple.
    Get { key: i64, places: Vec<usize>, which: Which },
}

impl State {
    fn can_go_on(&self, request: &Request) -> bool {
        match request {
            Request::Put { places, values, num_components, .. } => {
                let fits = self.memory_limit.is_none_or(|limit| self.bytes.saturating_add(num_bytes(values)) <= limit);
                let is_full = self.capacity.is_some_and(|capacity| self.complete.len() >= capacity);
                fits && (places.len() != *num_components || !is_full)
            }
            Request::Get { which: Which::TakeFirst, .. } => !self.complete.is_empty(),
            Request::Get { key, .. } => self.complete.contains_key(key),
        }
    }

    /// Executes a request that need not wait.
    fn serve(&mut self, request: &mut Request) -> Outcome {
        match request {
            Request::Put { key, given, places, values, num_components } => {
                self.put(*key, given, places, std::mem::take(values), *num_components)?;
                Ok(Vec::new())
            }
            Request::Get { key, places, which } => self.get(*key, places, *which),
        }
    }

    fn put(&mut self, key: i64, given: &Tensor, places: &[usize], values: Vec<Tensor>, num_components: usize) -> Result<()> {
        let bytes = num_bytes(&values);
        let new = || Tuple { key: given.clone(), components: vec![None; num_components] };
        let mut added = None;
        let tuple = match places.len() == num_components {
            true => added.insert(new()),
            false => self.incomplete.entry(key).or_insert_with(new),
        };
        let len = tuple.components.len();
        for &place in places {
            match tuple.components.get(place) {
                None => return Err(out_of_bounds(place, key, len)),
                Some(Some(_)) => {
                    bail!(InvalidArgument, "The tensor for index '{place}' for key '{key}' was already initialized '{len}'.")
                }
                Some(None) => {}
            }
        }
        for (&place, value) in places.iter().zip(values) {
            tuple.components[place] = Some(value);
        }
        if tuple.components.iter().all(Option::is_some) {
            added = added.or_else(|| self.incomplete.remove(&key));
        }
        self.bytes = self.bytes.saturating_add(bytes);
        match (added, self.complete.entry(key)) {
            (Some(tuple), Entry::Vacant(entry)) => drop(entry.insert(tuple)),
            // If the map has the key already, that tuple is kept.
            (Some(tuple), _) => {
                self.bytes = self.bytes.saturating_sub(num_bytes(&tuple.components.into_iter().flatten().collect::<Vec<_>>()))
            }
            (None, _) => {}
        }
        Ok(())
    }

    fn get(&mut self, key: i64, places: &[usize], which: Which) -> Outcome {
        let key = match which {
            Which::TakeFirst => self.complete.keys().next().copied().unwrap_or_default(),
            Which::Take | Which::Peek => key,
        };
        let Some(tuple) = self.complete.get_mut(&key) else { bail!(Internal, "the map has no key '{key}'") };
        let mut found = Vec::with_capacity(places.len());
        for &place in places {
            match tuple.components.get(place) {
                None => return Err(out_of_bounds(place, key, tuple.components.len())),
                Some(None) => bail!(InvalidArgument, "Tensor at index '{place}' for key '{key}' has already been removed."),
                Some(Some(tensor)) => found.push(tensor.clone()),
            }
        }
        let given = tuple.key.clone();
        if !matches!(which, Which::Peek) {
            places.iter().for_each(|&place| tuple.components[place] = None);
            if tuple.components.iter().all(Option::is_none) {
                self.complete.remove(&key);
            }
            self.bytes = self.bytes.saturating_sub(num_bytes(&found));
        }
        let key = matches!(which, Which::TakeFirst).then_some(given);
        Ok(key.into_iter().chain(found).map(Some).collect())
    }
}

fn out_of_bounds(place: usize, key: i64, len: usize) -> Error {
    error!(InvalidArgument, "Index '{place}' for key '{key}' was out of bounds '{len}'.")
}

impl Serve for State {
    type Request = Request;
    type Next = Outcome;

    fn next(&mut self, calls: &mut Calls<Request>) -> Option<(Ended<Request>, Outcome)> {
        let at = calls.position(|request| self.can_go_on(request))?;
        let outcome = self.serve(calls.get_mut(at)?);
        calls.remove(at).map(|call| (call, outcome))
    }

    fn go_on(call: Ended<Request>, outcome: Outcome) {
        call.end(outcome);
    }
}

/// Returns the session's map under the node's name. It is made with the attributes of the first node of that name.
fn map(init: &KernelInit<'_>) -> Result<Arc<StagingMap>> {
    let limit = |name: &str| -> Result<Option<usize>> { Ok(usize::try_from(init.attrs.get_or(name, 0i64)?).ok().filter(|&n| n > 0)) };
    let (capacity, memory_limit) = (limit("capacity")?, limit("memory_limit")?);
    init.resources.lookup_or_create(init.attrs.get_or("container", "")?, resource_name(init)?, || {
        let (complete, incomplete) = (BTreeMap::new(), BTreeMap::new());
        Ok(StagingMap(WaitList::new(State { capacity, memory_limit, complete, incomplete, bytes: 0 })))
    })
}

/// Reads the indices of components, which must ascend.
fn places(indices: &Tensor) -> Result<Vec<usize>> {
    let indices = indices.as_slice::<i32>()?;
    if indices.is_empty() {
        bail!(InvalidArgument, "Indices are empty");
    }
    if !indices.is_sorted_by(|a, b| a < b) {
        bail!(InvalidArgument, "Indices are not strictly ordered");
    }
    // A negative index becomes one that is out of bounds for every tuple.
    Ok(indices.iter().map(|&i| usize::try_from(i).unwrap_or(usize::MAX)).collect())
}

/// Reads a call's inputs. The number is that of the tuple's components, or of the node's outputs without the key.
type Read = fn(&[Tensor], usize) -> Result<Request>;

fn put(inputs: &[Tensor], num_components: usize) -> Result<Request> {
    let [key, indices, values @ ..] = inputs else { bail!(InvalidArgument, "a key and indices are needed") };
    if key.num_elements() == 0 {
        bail!(InvalidArgument, "key must not be empty");
    }
    if key.num_elements() != 1 {
        bail!(InvalidArgument, "key must be an int64 scalar, got tensor with shape: {}", key.shape());
    }
    let places = places(indices)?;
    if places.len() != values.len() {
        bail!(InvalidArgument, "indices/values size mismatch: {} vs. {}", places.len(), values.len());
    }
    Ok(Request::Put { key: key.to_i64()?, given: key.clone(), places, values: values.to_vec(), num_components })
}

fn take(inputs: &[Tensor], num_outputs: usize, which: Which) -> Result<Request> {
    let [key, indices] = inputs else { bail!(InvalidArgument, "a key and indices are needed") };
    if key.rank() != 0 {
        bail!(InvalidArgument, "key must be an int64 scalar: {}", key.shape());
    }
    Ok(Request::Get { key: key.to_i64()?, places: outputs_of(indices, num_outputs)?, which })
}

fn take_any(inputs: &[Tensor], num_outputs: usize) -> Result<Request> {
    let [indices] = inputs else { bail!(InvalidArgument, "indices are needed") };
    Ok(Request::Get { key: 0, places: outputs_of(indices, num_outputs)?, which: Which::TakeFirst })
}

fn outputs_of(indices: &Tensor, num_outputs: usize) -> Result<Vec<usize>> {
    let places = places(indices)?;
    if places.len() != num_outputs {
        bail!(InvalidArgument, "output/indices size mismatch: {num_outputs} vs. {}", places.len());
    }
    Ok(places)
}

/// A kernel whose calls wait for the map.
struct Waiting {
    map: Arc<StagingMap>,
    count: usize,
    read: Read,
}

fn waiting(init: &KernelInit<'_>, count: usize, read: Read) -> Result<Arc<dyn Kernel>> {
    Ok(Arc::new(Waiting { map: map(init)?, count, read }))
}

impl Kernel for Waiting {
    fn compute(&self, _: &mut KernelContext<'_>) -> Result<()> {
        bail!(Internal, "staging maps are asynchronous")
    }

    fn as_async(&self) -> Option<&dyn AsyncKernel> {
        Some(self)
    }
}

impl AsyncKernel for Waiting {
    fn start(&self, ctx: AsyncContext) {
        let request = (self.read)(ctx.inputs(), self.count).and_then(|request| {
            if let Request::Put { values, .. } = &request {
                let (bytes, limit) = (num_bytes(values), self.map.0.lock().state.memory_limit);
                if let Some(limit) = limit.filter(|&limit| bytes > limit) {
                    bail!(
                        ResourceExhausted,
                        "Attempted to insert tensors with combined size of '{bytes}' bytes into Staging Area with a memory limit of '{limit}'."
                    );
                }
            }
            Ok(request)
        });
        match request {
            Ok(request) => self.map.0.wait(request, ctx),
            Err(e) => ctx.done(Err(e)),
        }
    }
}

fn make_size(init: &KernelInit<'_>, size: fn(&State) -> usize) -> Result<Arc<dyn Kernel>> {
    let map = map(init)?;
    from_fn(move |ctx| {
        let len = size(&map.0.lock().state);
        ctx.set_output(0, Tensor::scalar(i32::try_from(len).unwrap_or(i32::MAX)));
        Ok(())
    })
}

fn make_clear(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let map = map(init)?;
    from_fn(move |_| {
        let dropped = {
            let Inner { state, .. } = &mut *map.0.lock();
            state.bytes = 0;
            (std::mem::take(&mut state.complete), std::mem::take(&mut state.incomplete))
        };
        drop(dropped);
        map.0.progress();
        Ok(())
    })
}
