//! `MapStage`, `MapUnstage` and the ops on their map: tuples of tensors under integer keys.
//!
//! The components of a tuple may be added by several calls; the tuple is available when it has all of them. Components may also be removed one by
//! one.

use super::staging_area::{Limits, Tuples, make_clear, make_size, num_bytes, waiting};
use super::wait_list::{Calls, Ended, Outcome, Serve};
use flowmill_runtime::KernelRegistry;
use flowmill_tensor::{DType, Error, Result, Tensor, bail, error};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

pub(super) fn register(registry: &mut KernelRegistry) {
    for op in ["MapStage", "OrderedMapStage"] {
        registry.add(op, |init| {
            let num_components = init.attrs.list::<DType>("dtypes")?.len();
            waiting::<State>(init, move |inputs| put(inputs, num_components))
        });
    }
    for op in ["MapUnstage", "OrderedMapUnstage"] {
        registry.add(op, |init| {
            let num_outputs = init.output_types.len();
            waiting::<State>(init, move |inputs| take(inputs, num_outputs, Which::Take))
        });
    }
    for op in ["MapPeek", "OrderedMapPeek"] {
        registry.add(op, |init| {
            let num_outputs = init.output_types.len();
            waiting::<State>(init, move |inputs| take(inputs, num_outputs, Which::Peek))
        });
    }
    for op in ["MapUnstageNoKey", "OrderedMapUnstageNoKey"] {
        registry.add(op, |init| {
            // Without the key.
            let num_components = init.output_types.len().saturating_sub(1);
            waiting::<State>(init, move |inputs| take_any(inputs, num_components))
        });
    }
    for op in ["MapSize", "OrderedMapSize"] {
        registry.add(op, |init| make_size(init, |state: &State| state.complete.len()));
    }
    for op in ["MapIncompleteSize", "OrderedMapIncompleteSize"] {
        registry.add(op, |init| make_size(init, |state: &State| state.incomplete.len()));
    }
    for op in ["MapClear", "OrderedMapClear"] {
        registry.add(op, make_clear::<State>);
    }
}

/// A tuple, of which some components may be missing.
struct Tuple {
    /// The key as the call passed it: one element of any rank.
    key: Tensor,
    components: Vec<Option<Tensor>>,
}

/// The tuples of a map.
struct State {
    limits: Limits,
    complete: BTreeMap<i64, Tuple>,
    incomplete: BTreeMap<i64, Tuple>,
    bytes: usize,
}

impl Tuples for State {
    const TYPE_NAME: &'static str = "StagingMap";

    fn new(limits: Limits) -> State {
        State { limits, complete: BTreeMap::new(), incomplete: BTreeMap::new(), bytes: 0 }
    }

    fn limits(&self) -> Limits {
        self.limits
    }

    fn added_by(request: &Request) -> &[Tensor] {
        if let Request::Put { values, .. } = request { values } else { &[] }
    }
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
                let is_full = self.limits.capacity.is_some_and(|capacity| self.complete.len() >= capacity);
                self.limits.have_room_for(self.bytes, values) && (places.len() != *num_components || !is_full)
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
