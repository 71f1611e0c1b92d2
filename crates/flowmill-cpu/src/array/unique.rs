//! Search for equal elements: `Unique` and related ops, `ListDiff`.

use super::args::{indices, product};
use super::item::{Item, ItemClass};
use super::transpose::transposed;
use crate::from_fn::from_fn;
use flowmill_runtime::{Kernel, KernelContext, KernelInit, KernelRegistry};
use flowmill_tensor::{Allocator, Bytes, DType, Element, Result, Shape, Tensor, bail, bf16, f16};
use hashbrown::HashTable;
use rustc_hash::FxHasher;
use smallvec::SmallVec;
use std::hash::Hasher;
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("ListDiff", make_list_diff);
    registry.add("Unique", |init| make_unique(init, false));
    registry.add("UniqueV2", |init| make_unique(init, false));
    registry.add("UniqueWithCounts", |init| make_unique(init, true));
    registry.add("UniqueWithCountsV2", |init| make_unique(init, true));
}

/// An element that can be a key of a hash table. Floats are equal as numbers: both zeros are equal, and NaN equals nothing.
trait Key: Item {
    fn hash_into(&self, hasher: &mut FxHasher);
    fn same(&self, other: &Self) -> bool;
}

macro_rules! integer_key {
    ($($t:ty),*) => {$(
        impl Key for $t {
            fn hash_into(&self, hasher: &mut FxHasher) {
                hasher.write_u64(u64::from(*self));
            }
            fn same(&self, other: &Self) -> bool {
                self == other
            }
        }
    )*};
}

integer_key!(bool, u8, u16, u32, u64);

impl Key for Bytes {
    fn hash_into(&self, hasher: &mut FxHasher) {
        hasher.write(self);
    }
    fn same(&self, other: &Self) -> bool {
        self == other
    }
}

/// Returns the elements of a tensor in a form that can be compared bit by bit.
fn canonical(alloc: &Allocator, tensor: &Tensor) -> Result<Tensor> {
    fn map<T: Element>(alloc: &Allocator, tensor: &Tensor, f: impl Fn(T) -> T) -> Result<Tensor> {
        let mut copy = alloc.copy(tensor)?;
        copy.as_mut_slice::<T>()?.iter_mut().for_each(|x| *x = f(*x));
        Ok(copy)
    }
    // Adding a positive zero makes a negative zero positive and changes nothing else.
    match tensor.dtype() {
        DType::F16 => map::<f16>(alloc, tensor, |x| x + f16::ZERO),
        DType::BF16 => map::<bf16>(alloc, tensor, |x| x + bf16::ZERO),
        DType::F32 => map::<f32>(alloc, tensor, |x| x + 0.0),
        DType::F64 => map::<f64>(alloc, tensor, |x| x + 0.0),
        _ => Ok(tensor.clone()),
    }
}

/// Returns, for each element, true if it is NaN; `None` for a type without NaN.
fn nan_flags(tensor: &Tensor) -> Result<Option<Vec<bool>>> {
    Ok(match tensor.dtype() {
        DType::F16 => Some(tensor.as_slice::<f16>()?.iter().map(|x| x.is_nan()).collect()),
        DType::BF16 => Some(tensor.as_slice::<bf16>()?.iter().map(|x| x.is_nan()).collect()),
        DType::F32 => Some(tensor.as_slice::<f32>()?.iter().map(|x| x.is_nan()).collect()),
        DType::F64 => Some(tensor.as_slice::<f64>()?.iter().map(|x| x.is_nan()).collect()),
        _ => None,
    })
}

/// Rows of elements that can be compared.
struct Rows<'a, T> {
    items: &'a [T],
    nan: Option<Vec<bool>>,
    len: usize,
}

/// A hash table of distinct rows.
#[derive(Default)]
struct Table {
    /// The rows, in the order in which they were added.
    rows: Vec<usize>,
    /// The places of rows without NaN in `rows`.
    places: HashTable<usize>,
}

impl<T: Key> Rows<'_, T> {
    fn row(&self, i: usize) -> &[T] {
        &self.items[i * self.len..(i + 1) * self.len]
    }

    /// Returns true if the row has a NaN, which equals nothing.
    fn is_singular(&self, i: usize) -> bool {
        self.nan.as_ref().is_some_and(|nan| nan[i * self.len..(i + 1) * self.len].contains(&true))
    }

    fn hash(&self, i: usize) -> u64 {
        let mut hasher = FxHasher::default();
        self.row(i).iter().for_each(|item| item.hash_into(&mut hasher));
        hasher.finish()
    }

    fn equals(&self, i: usize, others: &Rows<'_, T>, j: usize) -> bool {
        self.row(i).iter().zip(others.row(j)).all(|(a, b)| a.same(b))
    }

    /// Returns true if a row of `table`, whose rows are those of `others`, equals row `i`.
    fn is_in(&self, i: usize, table: &Table, others: &Rows<'_, T>) -> bool {
        !self.is_singular(i) && table.places.find(self.hash(i), |&place| self.equals(i, others, table.rows[place])).is_some()
    }

    /// Returns the place in `table` of the row that equals row `i`, which is added if there is none.
    fn place(&self, i: usize, table: &mut Table) -> usize {
        let Table { rows, places } = table;
        let added = rows.len();
        let place = if self.is_singular(i) {
            added
        } else {
            let entry = places.entry(self.hash(i), |&place| self.equals(i, self, rows[place]), |&place| self.hash(rows[place]));
            *entry.or_insert(added).get()
        };
        if place == added {
            rows.push(i);
        }
        place
    }
}

fn index_type(init: &KernelInit<'_>) -> Result<DType> {
    match init.attrs.get_or("out_idx", DType::I32)? {
        t @ (DType::I32 | DType::I64) => Ok(t),
        _ => init.unsupported(),
    }
}

/// Evaluates an expression with `$T` bound to the [`Key`] type of a `DType`.
macro_rules! for_key {
    ($init:expr, $dtype:expr, $T:ident => $body:expr) => {
        for_key!($init, $dtype, $T => $body, [Bool: bool, Dense1: u8, Dense2: u16, Dense4: u32, Dense8: u64, String: Bytes])
    };
    ($init:expr, $dtype:expr, $T:ident => $body:expr, [$($class:ident: $t:ty),*]) => {
        match ItemClass::of($dtype) {
            _ if $dtype.is_complex() => $init.unsupported(),
            $(ItemClass::$class => {
                type $T = $t;
                $body
            })*
            _ => $init.unsupported(),
        }
    };
}

fn make_unique(init: &KernelInit<'_>, counts: bool) -> Result<Arc<dyn Kernel>> {
    let (dtype, index_type) = (init.dtype("T")?, index_type(init)?);
    for_key!(init, dtype, T => from_fn(move |ctx| unique::<T>(ctx, index_type, counts)))
}

/// Returns the axis along which slices are compared. The first versions of the ops have no such argument and take vectors.
fn unique_axis(ctx: &KernelContext<'_>) -> Result<usize> {
    let input = ctx.input(0)?;
    let axis = if ctx.num_inputs() > 1 { indices(ctx.input(1)?)? } else { SmallVec::new() };
    match axis[..] {
        [] if input.rank() == 1 => Ok(0),
        [] => bail!(InvalidArgument, "unique expects a 1D vector."),
        [axis] => match input.shape().axis(axis) {
            Some(axis) => Ok(axis),
            None => bail!(InvalidArgument, "axis has to be between [0, {})", input.rank()),
        },
        _ => bail!(InvalidArgument, "axis does not support input tensors larger than 1 elements"),
    }
}

fn unique<T: Key>(ctx: &mut KernelContext<'_>, index_type: DType, with_counts: bool) -> Result<()> {
    let axis = unique_axis(ctx)?;
    let input = ctx.input(0)?;
    let order: SmallVec<[usize; 8]> = std::iter::once(axis).chain((0..input.rank()).filter(|&d| d != axis)).collect();
    let rows_first = if axis == 0 { input.clone() } else { transposed::<T>(ctx.allocator(), input, &order)? };
    let count = input.shape()[axis];
    // There may be so many empty rows that the results do not fit into memory.
    let _reserved = ctx.allocator().reserve::<[usize; 4]>(count)?;
    let comparable = canonical(ctx.allocator(), &rows_first)?;
    let rows = Rows { items: T::items(&comparable)?, nan: nan_flags(&rows_first)?, len: product(&rows_first.shape()[1..]) };
    let mut table = Table::default();
    // The place of each row's equal among the distinct rows, and the number of occurrences of each of those.
    let (mut places, mut counts) = (Vec::with_capacity(count), Vec::new());
    for i in 0..count {
        let place = rows.place(i, &mut table);
        if place == counts.len() {
            counts.push(0i64);
        }
        counts[place] += 1;
        places.push(place as i64);
    }
    let distinct = select_rows::<T>(ctx.allocator(), &rows_first, &table.rows)?;
    let output = if axis == 0 {
        distinct
    } else {
        let mut back: SmallVec<[usize; 8]> = (1..=axis).collect();
        back.push(0);
        back.extend(axis + 1..order.len());
        transposed::<T>(ctx.allocator(), &distinct, &back)?
    };
    ctx.set_output(0, output);
    ctx.set_output(1, ctx.allocator().index_vector(index_type, &places)?);
    if with_counts {
        ctx.set_output(2, ctx.allocator().index_vector(index_type, &counts)?);
    }
    Ok(())
}

/// Returns the given rows of a tensor, in the given order.
fn select_rows<T: Item>(alloc: &Allocator, tensor: &Tensor, rows: &[usize]) -> Result<Tensor> {
    let source = T::items(tensor)?;
    let mut shape: Shape = tensor.shape().clone();
    let len = product(&shape[1..]);
    shape[0] = rows.len();
    T::build(alloc, tensor.dtype(), shape, source, |out| {
        if len > 0 {
            out.chunks_exact_mut(len).zip(rows).for_each(|(to, &row)| to.clone_from_slice(&source[row * len..][..len]));
        }
        Ok(())
    })
}

fn make_list_diff(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let (dtype, index_type) = (init.dtype("T")?, index_type(init)?);
    for_key!(init, dtype, T => from_fn(move |ctx| list_diff::<T>(ctx, index_type)))
}

/// Outputs the elements of `x` that are not in `y`, including duplicates, and their indices.
fn list_diff<T: Key>(ctx: &mut KernelContext<'_>, index_type: DType) -> Result<()> {
    let (x, y) = (ctx.input(0)?, ctx.input(1)?);
    for (name, tensor) in [("x", x), ("y", y)] {
        if tensor.rank() != 1 {
            bail!(InvalidArgument, "{name} should be a 1D vector.");
        }
    }
    let (comparable_x, comparable_y) = (canonical(ctx.allocator(), x)?, canonical(ctx.allocator(), y)?);
    let rows = Rows { items: T::items(&comparable_x)?, nan: nan_flags(x)?, len: 1 };
    let others = Rows { items: T::items(&comparable_y)?, nan: nan_flags(y)?, len: 1 };
    let mut table = Table::default();
    for j in 0..y.num_elements() {
        others.place(j, &mut table);
    }
    let kept: Vec<usize> = (0..x.num_elements()).filter(|&i| !rows.is_in(i, &table, &others)).collect();
    let output = select_rows::<T>(ctx.allocator(), x, &kept)?;
    let positions = ctx.allocator().index_vector(index_type, &kept.iter().map(|&i| i as i64).collect::<Vec<_>>())?;
    ctx.set_output(0, output);
    ctx.set_output(1, positions);
    Ok(())
}
