//! Sparse tensors that steps store under numbers for other steps: `AddSparseToTensorsMap`, `AddManySparseToTensorsMap`, `TakeManySparseFromTensorsMap`.
//!
//! A map belongs to the session, by container and name. Queues and batches hold the numbers instead of the sparse tensors.

use super::serialize::stacked;
use super::{Sparse, check_counts, describe, index_matrix, pick, position};
use crate::from_fn::from_fn;
use crate::state::resource_name;
use flowmill_runtime::{KernelContext, KernelInit, KernelRegistry};
use flowmill_tensor::sync::Mutex;
use flowmill_tensor::{DType, Resource, Result, Shape, Tensor, bail, check_memory, error};
use std::collections::BTreeMap;
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("AddSparseToTensorsMap", |init| {
        let map = map(init)?;
        from_fn(move |ctx| add(ctx, &map))
    });
    registry.add("AddManySparseToTensorsMap", |init| {
        let map = map(init)?;
        from_fn(move |ctx| add_many(ctx, &map))
    });
    registry.add("TakeManySparseFromTensorsMap", |init| {
        let (map, dtype) = (map(init)?, init.dtype("dtype")?);
        from_fn(move |ctx| take_many(ctx, &map, dtype))
    });
}

/// The map that all nodes of one name share.
struct SparseTensorsMap {
    name: String,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    next: i64,
    /// The indices, values and shapes, by number.
    tensors: BTreeMap<i64, [Tensor; 3]>,
}

impl Resource for SparseTensorsMap {
    fn type_name(&self) -> &'static str {
        "SparseTensorsMap"
    }
}

impl State {
    fn add(&mut self, parts: [Tensor; 3]) -> i64 {
        let number = self.next;
        self.next += 1;
        self.tensors.insert(number, parts);
        number
    }
}

/// Returns the session's map under the node's name.
fn map(init: &KernelInit<'_>) -> Result<Arc<SparseTensorsMap>> {
    let name = resource_name(init)?;
    init.resources.lookup_or_create(init.attrs.get_or("container", "")?, name, || {
        Ok(SparseTensorsMap { name: name.to_owned(), state: Mutex::default() })
    })
}

fn add(ctx: &mut KernelContext<'_>, map: &SparseTensorsMap) -> Result<()> {
    Sparse::input(ctx, 0)?.shape()?;
    let parts = [ctx.input(0)?.clone(), ctx.input(1)?.clone(), ctx.input(2)?.clone()];
    let number = map.state.lock().add(parts);
    ctx.set_output(0, Tensor::scalar(number));
    Ok(())
}

/// Adds one sparse tensor per index of the first dimension. Those without values get the last numbers.
fn add_many(ctx: &mut KernelContext<'_>, map: &SparseTensorsMap) -> Result<()> {
    check_counts(ctx.input(0)?, ctx.input(1)?, ctx.input(2)?)?;
    let sparse = Sparse::input(ctx, 0)?;
    if sparse.rank() < 2 {
        bail!(InvalidArgument, "Rank of input SparseTensor should be > 1, but saw rank: {}", sparse.rank());
    }
    let (shape, inner) = (sparse.shape()?, ctx.allocator().vector(&sparse.dims[1..])?);
    check_order(&sparse, &shape)?;
    let count = shape[0];
    check_memory::<[Tensor; 3]>(count)?;
    // Memory for the numbers is allocated before anything is added.
    let mut numbers = ctx.allocator().zeros(DType::I64, [count])?;
    let numbers_of = numbers.as_mut_slice::<i64>()?;
    let rows: Vec<usize> = (0..sparse.len()).collect();
    let mut added = Vec::new();
    for rows in rows.chunk_by(|&a, &b| sparse.row(a)[0] == sparse.row(b)[0]) {
        let indices: Vec<i64> = rows.iter().flat_map(|&i| sparse.row(i)[1..].iter().copied()).collect();
        let parts = [
            index_matrix(ctx.allocator(), &indices, sparse.rank() - 1, rows.len())?,
            pick(ctx.allocator(), sparse.values, rows)?,
            inner.clone(),
        ];
        added.push((sparse.row(rows[0])[0] as usize, parts));
    }
    let empty = [index_matrix(ctx.allocator(), &[], sparse.rank() - 1, 0)?, pick(ctx.allocator(), sparse.values, &[])?, inner];
    let mut state = map.state.lock();
    let mut filled = added.iter().map(|(row, _)| *row).collect::<Vec<_>>().into_iter().peekable();
    for (row, parts) in added {
        numbers_of[row] = state.add(parts);
    }
    for (row, number) in numbers_of.iter_mut().enumerate() {
        if filled.next_if_eq(&row).is_none() {
            *number = state.add(empty.clone());
        }
    }
    drop(state);
    ctx.set_output(0, numbers);
    Ok(())
}

/// Checks that indices are within the shape, in ascending order, without duplicates.
fn check_order(sparse: &Sparse<'_>, shape: &Shape) -> Result<()> {
    for i in 0..sparse.len() {
        let row = sparse.row(i);
        if position(row, shape).is_none() {
            let sizes: Vec<String> = shape.iter().map(usize::to_string).collect();
            bail!(InvalidArgument, "{} is out of bounds: need 0 <= index < [{}]", describe(i, row), sizes.join(","));
        }
        if i > 0 && row == sparse.row(i - 1) {
            bail!(InvalidArgument, "{} is repeated", describe(i, row));
        }
        if i > 0 && row < sparse.row(i - 1) {
            bail!(
                InvalidArgument,
                "{} is out of order. Many sparse ops require sorted indices.\n    Use `tf.sparse.reorder` to create a correctly ordered copy.\n\n",
                describe(i, row)
            );
        }
    }
    Ok(())
}

/// Removes the sparse tensors with the given numbers from the map, and outputs them stacked.
fn take_many(ctx: &mut KernelContext<'_>, map: &SparseTensorsMap, dtype: DType) -> Result<()> {
    let handles = ctx.input(0)?;
    if handles.rank() != 1 {
        bail!(InvalidArgument, "sparse_handles should be a vector but received shape {}", handles.shape());
    }
    if handles.num_elements() == 0 {
        bail!(InvalidArgument, "Must have at least 1 serialized SparseTensor, but input matrix has 0 rows");
    }
    let taken = {
        let mut state = map.state.lock();
        let take = |number: &i64| {
            let found = state.tensors.remove(number);
            found.ok_or_else(|| error!(InvalidArgument, "Unable to find SparseTensor: {number} in map: {}", map.name))
        };
        handles.as_slice::<i64>()?.iter().map(take).collect::<Result<Vec<_>>>()?
    };
    let tensors = taken.iter().map(|[indices, values, shape]| Sparse::new(indices, values, shape)).collect::<Result<Vec<_>>>()?;
    let rank = tensors.first().map_or(0, Sparse::rank);
    for (i, tensor) in tensors.iter().enumerate() {
        let found = tensor.values.dtype();
        if found != dtype {
            bail!(
                InvalidArgument,
                "Requested SparseTensor of type {} but SparseTensor[{i}].values.dtype() == {}",
                dtype.cpp_name(),
                found.cpp_name()
            );
        }
        if tensor.rank() != rank {
            bail!(
                InvalidArgument,
                "Inconsistent rank across SparseTensors: rank prior to SparseTensor[{i}] was: {} but rank of SparseTensor[{i}] is: {}",
                rank + 1,
                tensor.rank() + 1
            );
        }
    }
    let outputs = stacked(ctx.allocator(), &[tensors.len() as i64], &tensors, dtype)?;
    outputs.into_iter().enumerate().for_each(|(i, output)| ctx.set_output(i, output));
    Ok(())
}
