//! Sets: `SetSize` and the set operations. Each row along the last dimension of a tensor, sparse or dense, is a set.

use super::{Sparse, describe, index_matrix, position};
use crate::from_fn::from_fn;
use flowmill_runtime::{Kernel, KernelContext, KernelInit, KernelRegistry};
use flowmill_tensor::{Allocator, Bytes, DType, Element, Result, Shape, Tensor, bail, for_dtype};
use num_traits::{NumCast, ToPrimitive};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("SetSize", make_size);
    for op in ["DenseToDenseSetOperation", "DenseToSparseSetOperation", "SparseToSparseSetOperation"] {
        registry.add(op, make_operation);
    }
}

/// An element of a set. Integers of all types are widened.
trait Member: Ord + Clone + Send + Sync + 'static {
    fn read(tensor: &Tensor) -> Result<Vec<Self>>;
    fn write(alloc: &Allocator, dtype: DType, values: Vec<Self>) -> Result<Tensor>;
}

impl Member for Bytes {
    fn read(tensor: &Tensor) -> Result<Vec<Bytes>> {
        Ok(tensor.as_strings()?.to_vec())
    }

    fn write(alloc: &Allocator, _: DType, values: Vec<Bytes>) -> Result<Tensor> {
        alloc.from_strings([values.len()], values)
    }
}

impl Member for i64 {
    fn read(tensor: &Tensor) -> Result<Vec<i64>> {
        fn widened<T: Element + ToPrimitive>(tensor: &Tensor) -> Result<Vec<i64>> {
            Ok(tensor.as_slice::<T>()?.iter().map(|v| v.to_i64().unwrap_or(0)).collect())
        }
        for_dtype!(tensor.dtype(), [i8, i16, i32, i64, u8, u16], T => widened::<T>(tensor),
            _ => bail!(InvalidArgument, "sets have no elements of type {}", tensor.dtype()))
    }

    fn write(alloc: &Allocator, dtype: DType, values: Vec<i64>) -> Result<Tensor> {
        fn narrowed<T: Element + NumCast + Default>(alloc: &Allocator, values: &[i64]) -> Result<Tensor> {
            alloc.vector(&values.iter().map(|&v| T::from(v).unwrap_or_default()).collect::<Vec<_>>())
        }
        for_dtype!(dtype, [i8, i16, i32, i64, u8, u16], T => narrowed::<T>(alloc, &values), _ => bail!(Internal, "no integer type {dtype}"))
    }
}

/// The sets of a tensor by their index, and the sizes of the dimensions before the last.
struct Sets<V> {
    sets: BTreeMap<Vec<i64>, BTreeSet<V>>,
    dims: Vec<i64>,
}

impl<V: Member> Sets<V> {
    fn sparse(tensor: &Sparse<'_>, validate: bool, name: &str) -> Result<Sets<V>> {
        let Some((_, dims)) = tensor.dims.split_last().filter(|(_, dims)| !dims.is_empty()) else {
            bail!(InvalidArgument, "{name} rank {} < 2.", tensor.rank());
        };
        let shape = tensor.shape()?;
        let mut sets: BTreeMap<Vec<i64>, BTreeSet<V>> = BTreeMap::new();
        for (i, value) in V::read(tensor.values)?.into_iter().enumerate() {
            let row = tensor.row(i);
            if position(row, &shape).is_none() {
                let sizes: Vec<String> = shape.iter().map(usize::to_string).collect();
                bail!(InvalidArgument, "Index out of range: {} is not in [0, [{}])", describe(i, row), sizes.join(","));
            }
            if validate && i > 0 && row <= tensor.row(i - 1) {
                if row == tensor.row(i - 1) {
                    bail!(InvalidArgument, "{} is repeated", describe(i, row));
                }
                bail!(
                    InvalidArgument,
                    "{} is out of order. Many sparse ops require sorted indices.\n    Use `tf.sparse.reorder` to create a correctly ordered copy.\n\n",
                    describe(i, row)
                );
            }
            sets.entry(row[..dims.len()].to_vec()).or_default().insert(value);
        }
        Ok(Sets { sets, dims: dims.to_vec() })
    }

    fn dense(tensor: &Tensor) -> Result<Sets<V>> {
        let Some((&width, dims)) = tensor.shape().split_last().filter(|(_, dims)| !dims.is_empty()) else {
            bail!(InvalidArgument, "Input set rank {} < 2.", tensor.rank());
        };
        let mut sets = BTreeMap::new();
        for (at, row) in V::read(tensor)?.chunks_exact(width.max(1)).enumerate() {
            sets.insert(index_at(at, dims), row.iter().cloned().collect());
        }
        Ok(Sets { sets, dims: dims.iter().map(|&d| d as i64).collect() })
    }

    /// Returns the sets in the inputs from `at` on: one tensor, or the three of a sparse one.
    fn input(ctx: &KernelContext<'_>, at: usize, sparse: bool, validate: bool) -> Result<Sets<V>> {
        if sparse { Sets::sparse(&Sparse::input(ctx, at)?, validate, "Input set") } else { Sets::dense(ctx.input(at)?) }
    }
}

/// Returns the index of the element at row-major position `at`.
fn index_at(mut at: usize, dims: &[usize]) -> Vec<i64> {
    let mut index = vec![0; dims.len()];
    for (i, &dim) in index.iter_mut().zip(dims).rev() {
        (*i, at) = ((at % dim) as i64, at / dim);
    }
    index
}

fn make_size(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    fn size<V: Member>(ctx: &mut KernelContext<'_>, validate: bool) -> Result<()> {
        let sets: Sets<V> = Sets::sparse(&Sparse::input(ctx, 0)?, validate, "Shape")?;
        let shape = Shape::from_i64(&sets.dims)?;
        let mut sizes = ctx.allocator().zeros(DType::I32, shape.clone())?;
        let out = sizes.as_mut_slice::<i32>()?;
        for (place, set) in &sets.sets {
            if let Some(size) = position(place, &shape).and_then(|at| out.get_mut(at)) {
                *size = set.len() as i32;
            }
        }
        ctx.set_output(0, sizes);
        Ok(())
    }
    let validate = init.attrs.get_or("validate_indices", true)?;
    match init.dtype("T")? {
        DType::String => from_fn(move |ctx| size::<Bytes>(ctx, validate)),
        _ => from_fn(move |ctx| size::<i64>(ctx, validate)),
    }
}

#[derive(Clone, Copy)]
enum Operation {
    AMinusB,
    BMinusA,
    Intersection,
    Union,
}

impl Operation {
    fn apply<V: Member>(self, a: &BTreeSet<V>, b: &BTreeSet<V>) -> Vec<V> {
        match self {
            Operation::AMinusB => a.difference(b).cloned().collect(),
            Operation::BMinusA => b.difference(a).cloned().collect(),
            Operation::Intersection => a.intersection(b).cloned().collect(),
            Operation::Union => a.union(b).cloned().collect(),
        }
    }
}

fn make_operation(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let name: &str = init.attrs.get("set_operation")?;
    let operation = match name.to_lowercase().as_str() {
        "a-b" => Operation::AMinusB,
        "b-a" => Operation::BMinusA,
        "intersection" => Operation::Intersection,
        "union" => Operation::Union,
        _ => bail!(InvalidArgument, "Invalid set_operation {name}."),
    };
    let validate = init.attrs.get_or("validate_indices", true)?;
    let sparse = match init.op_def.name.as_str() {
        "DenseToDenseSetOperation" => [false, false],
        "DenseToSparseSetOperation" => [false, true],
        _ => [true, true],
    };
    match init.dtype("T")? {
        DType::String => from_fn(move |ctx| operate::<Bytes>(ctx, operation, sparse, validate)),
        _ => from_fn(move |ctx| operate::<i64>(ctx, operation, sparse, validate)),
    }
}

/// Outputs the results of all rows as a sparse tensor, whose last size is that of the largest set.
fn operate<V: Member>(ctx: &mut KernelContext<'_>, operation: Operation, sparse: [bool; 2], validate: bool) -> Result<()> {
    let a: Sets<V> = Sets::input(ctx, 0, sparse[0], validate)?;
    let b: Sets<V> = Sets::input(ctx, if sparse[0] { 3 } else { 1 }, sparse[1], validate)?;
    let dtype = ctx.input(if sparse[0] { 1 } else { 0 })?.dtype();
    if a.dims != b.dims {
        let show = |dims: &[i64]| dims.iter().map(i64::to_string).collect::<Vec<_>>().join(",");
        bail!(InvalidArgument, "Mismatched group shapes: [{}] vs [{}].", show(&a.dims), show(&b.dims));
    }
    let places: BTreeSet<&Vec<i64>> = a.sets.keys().chain(b.sets.keys()).collect();
    let (none, mut indices, mut values, mut widest) = (BTreeSet::new(), Vec::new(), Vec::new(), 0);
    for place in places {
        let result = operation.apply(a.sets.get(place).unwrap_or(&none), b.sets.get(place).unwrap_or(&none));
        for i in 0..result.len() {
            indices.extend(place.iter().copied().chain([i as i64]));
        }
        widest = widest.max(result.len());
        values.extend(result);
    }
    let mut dims = a.dims;
    dims.push(widest as i64);
    let indices = index_matrix(ctx.allocator(), &indices, dims.len(), values.len())?;
    ctx.set_output(0, indices);
    ctx.set_output(1, V::write(ctx.allocator(), dtype, values)?);
    ctx.set_output(2, ctx.allocator().vector(&dims)?);
    Ok(())
}
