//! `ParseExample`, `ParseExampleV2`, `ParseSingleExample`, which parse serialised `Example` messages into dense, sparse and ragged tensors.
//!
//! First the requested features are found in every message, then each feature's values are read over the whole batch. Both phases read the
//! messages' bytes directly; no message object is built, and strings share memory with the messages.

use super::column::Column;
use super::example::{Feature, Wanted, find};
use crate::from_fn::from_fn;
use crate::parallel;
use flowmill_runtime::{Kernel, KernelContext, KernelInit, KernelRegistry};
use flowmill_tensor::{Allocator, Bytes, DType, Error, PartialShape, Result, Shape, Tensor, bail, error};
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("ParseExample", make_first);
    registry.add("ParseExampleV2", make_second);
    registry.add("ParseSingleExample", make_single);
}

/// The time to read a value of a message.
const NANOSECONDS_PER_VALUE: usize = 100;
/// Messages per parallel task.
const MESSAGES_A_PIECE: usize = 64;

/// The features that the attributes describe, in the order of the outputs.
pub(super) struct Features {
    pub(super) sparse: Vec<DType>,
    pub(super) dense: Vec<Dense>,
    /// The types of the values and of the row splits.
    pub(super) ragged: Vec<(DType, DType)>,
}

pub(super) struct Dense {
    pub(super) dtype: DType,
    pub(super) shape: PartialShape,
    /// True if the size of the first dimension varies from message to message.
    pub(super) is_variable: bool,
    /// The number of values of the feature, or per step along the first dimension if that is variable.
    pub(super) num_values: usize,
}

impl Features {
    fn new(init: &KernelInit<'_>) -> Result<Features> {
        Features::of_attrs(init, ["sparse_types", "Tdense", "dense_shapes", "ragged_value_types", "ragged_split_types"])
    }

    /// Reads the attributes of these names: types of sparse and of dense features, shapes of dense ones, types of ragged values and splits.
    pub(super) fn of_attrs(
        init: &KernelInit<'_>,
        [sparse, dense, dense_shapes, ragged_values, ragged_splits]: [&str; 5],
    ) -> Result<Features> {
        let attrs = init.attrs;
        let shapes = attrs.list::<PartialShape>(dense_shapes)?;
        let types = attrs.list::<DType>(dense)?;
        if shapes.len() != types.len() {
            bail!(InvalidArgument, "len(dense_keys) != len(dense_shapes): {} vs {}", types.len(), shapes.len());
        }
        let dense = types.into_iter().zip(shapes).enumerate().map(|(i, (dtype, shape))| Dense::new(i, dtype, shape));
        let list = |name| if attrs.contains(name) { attrs.list::<DType>(name) } else { Ok(Vec::new()) };
        let (values, splits) = (list(ragged_values)?, list(ragged_splits)?);
        if values.len() != splits.len() {
            bail!(InvalidArgument, "len(ragged_value_types) != len(ragged_split_types): {} vs {}", values.len(), splits.len());
        }
        let features = Features {
            sparse: attrs.list(sparse)?,
            dense: dense.collect::<Result<_>>()?,
            ragged: values.into_iter().zip(splits).collect(),
        };
        features.types().try_for_each(|t| Column::new(t).map(drop))?;
        Ok(features)
    }

    /// Returns the type of each feature: sparse ones, then dense, then ragged.
    pub(super) fn types(&self) -> impl Iterator<Item = DType> {
        self.sparse.iter().copied().chain(self.dense.iter().map(|d| d.dtype)).chain(self.ragged.iter().map(|r| r.0))
    }

    pub(super) fn len(&self) -> usize {
        self.sparse.len() + self.dense.len() + self.ragged.len()
    }

    /// Returns the index among the dense features of the one with index `feature` among all features, and that feature.
    fn dense_at(&self, feature: usize) -> Option<(usize, &Dense)> {
        let i = feature.checked_sub(self.sparse.len())?;
        Some((i, self.dense.get(i)?))
    }
}

impl Dense {
    fn new(i: usize, dtype: DType, shape: PartialShape) -> Result<Dense> {
        let Some(dims) = shape.dims() else { bail!(InvalidArgument, "dense_shapes[{i}] has unknown rank") };
        let is_variable = dims.first() == Some(&-1);
        let fixed = if is_variable { &dims[1..] } else { dims };
        let sizes = fixed.iter().map(|&d| usize::try_from(d).ok());
        let num_values = sizes.map(|d| d.filter(|&d| d > 0 || !is_variable)).try_fold(1usize, |n, d| n.checked_mul(d?));
        match num_values {
            Some(num_values) => Ok(Dense { dtype, is_variable, num_values, shape }),
            None => bail!(InvalidArgument, "dense_shapes[{i}] has unknown rank or unknown inner dimensions: {shape}"),
        }
    }

    /// Returns the values for messages without the feature, or `None` if the feature is required.
    pub(super) fn default(&self, i: usize, tensor: &Tensor) -> Result<Option<Column>> {
        if tensor.dtype() != self.dtype {
            bail!(InvalidArgument, "dense_defaults[{i}].dtype() == {} != dense_types_[{i}] == {}", tensor.dtype(), self.dtype);
        }
        if self.is_variable {
            if tensor.num_elements() != 1 {
                bail!(
                    InvalidArgument,
                    "dense_shape[{i}] is a variable length shape: {}, therefore def_value[{i}] must contain a single element (the padding element). But its shape is: {}",
                    self.shape,
                    tensor.shape()
                );
            }
        } else if tensor.num_elements() == 0 {
            return Ok(None);
        } else if !self.shape.is_compatible_with(tensor.shape()) {
            bail!(
                InvalidArgument,
                "def_value[{i}].shape() == {} is not compatible with dense_shapes_[{i}] == {}",
                tensor.shape(),
                self.shape
            );
        }
        Column::of(tensor).map(Some)
    }

    /// Returns the tensor's sizes after the batch dimension. The first of them is `steps` if it is variable.
    fn sizes(&self, steps: usize) -> impl Iterator<Item = usize> {
        let dims = self.shape.dims().unwrap_or(&[]);
        dims.iter().map(move |&d| usize::try_from(d).unwrap_or(steps))
    }
}

/// One call's arguments.
pub(super) struct Input<'a> {
    pub(super) messages: &'a [Bytes],
    /// The names of the messages, for errors; may be empty.
    pub(super) names: &'a [Bytes],
    /// The keys of the features, in the order of [`Features::types`].
    pub(super) keys: Vec<&'a [u8]>,
    pub(super) defaults: Vec<Option<Column>>,
    /// True if the input is a single message, a scalar: then the outputs have no batch dimension.
    pub(super) is_single: bool,
}

/// The values of one feature over the batch.
struct Read {
    values: Column,
    counts: Vec<usize>,
}

fn make_first(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let features = Features::new(init)?;
    let (num_sparse, num_dense) = (features.sparse.len(), features.dense.len());
    let given: (i64, i64) = (init.attrs.get("Nsparse")?, init.attrs.get("Ndense")?);
    if given != (num_sparse as i64, num_dense as i64) {
        bail!(InvalidArgument, "{num_sparse} sparse_types and {num_dense} Tdense for Nsparse={} and Ndense={}", given.0, given.1);
    }
    from_fn(move |ctx| {
        let key = |i: usize| match ctx.input(2 + i)?.as_strings()? {
            [key] => Ok(&key[..]),
            _ => bail!(InvalidArgument, "Expected the key of feature {i} to be a scalar, got {}", ctx.input(2 + i)?.shape()),
        };
        let keys = (0..num_sparse + num_dense).map(key).collect::<Result<_>>()?;
        let messages = ctx.input(0)?;
        if messages.rank() != 1 {
            bail!(InvalidArgument, "Expected serialized to be a vector, got shape: {}", messages.shape());
        }
        let outputs = parse(ctx, &features, keys, 2 + num_sparse + num_dense)?;
        give(ctx, outputs)
    })
}

/// Returns the keys of sparse, dense and ragged features. Each kind has one input, the first of them at `first`: a vector of as many keys as there
/// are features.
pub(super) fn keys<'a>(ctx: &'a KernelContext<'_>, first: usize, prefix: &str, features: &Features) -> Result<Vec<&'a [u8]>> {
    let mut keys = Vec::with_capacity(features.len());
    let counts = [("sparse", features.sparse.len()), ("dense", features.dense.len()), ("ragged", features.ragged.len())];
    for (i, (kind, count)) in counts.into_iter().enumerate() {
        let input = ctx.input(first + i)?;
        if input.rank() != 1 || input.num_elements() != count {
            bail!(InvalidArgument, "Expected {prefix}{kind}_keys to be a vector of {count}, got shape: {}", input.shape());
        }
        keys.extend(input.as_strings()?.iter().map(|key| &key[..]));
    }
    Ok(keys)
}

fn make_second(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let features = Features::new(init)?;
    from_fn(move |ctx| {
        if ctx.input(0)?.rank() > 1 {
            bail!(InvalidArgument, "Expected serialized to be a scalar or vector, got shape: {}", ctx.input(0)?.shape());
        }
        let outputs = parse(ctx, &features, keys(ctx, 2, "", &features)?, 5)?;
        give(ctx, outputs)
    })
}

fn make_single(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let features = Features::new(init)?;
    let list = |name| Ok(init.attrs.list::<&Bytes>(name)?.into_iter().cloned().collect::<Vec<Bytes>>());
    let (sparse, dense): (Vec<Bytes>, Vec<Bytes>) = (list("sparse_keys")?, list("dense_keys")?);
    if (sparse.len(), dense.len()) != (features.sparse.len(), features.dense.len()) {
        bail!(InvalidArgument, "len(sparse_keys) != len(sparse_types) or len(dense_keys) != len(Tdense)");
    }
    let keys = [sparse, dense].concat();
    from_fn(move |ctx| {
        if ctx.input(0)?.rank() != 0 {
            bail!(InvalidArgument, "Expected serialized to be a scalar, got shape: {}", ctx.input(0)?.shape());
        }
        let outputs = parse(ctx, &features, keys.iter().map(|key| &key[..]).collect(), 1)?;
        give(ctx, outputs)
    })
}

pub(super) fn give(ctx: &mut KernelContext<'_>, outputs: Vec<Tensor>) -> Result<()> {
    outputs.into_iter().enumerate().for_each(|(i, tensor)| ctx.set_output(i, tensor));
    Ok(())
}

/// Parses input 0; the inputs with defaults begin at `first_default`.
fn parse(ctx: &KernelContext<'_>, features: &Features, keys: Vec<&[u8]>, first_default: usize) -> Result<Vec<Tensor>> {
    let serialized = ctx.input(0)?;
    let messages = serialized.as_strings()?;
    // The op for a single message has no names; its keys are attributes.
    let names = if first_default > 1 { ctx.input(1)?.as_strings()? } else { &[] };
    if !names.is_empty() && names.len() != messages.len() {
        bail!(InvalidArgument, "Expected len(names) == len(serialized), but got: {} vs. {}", names.len(), messages.len());
    }
    let defaults = features.dense.iter().enumerate().map(|(i, dense)| dense.default(i, ctx.input(first_default + i)?));
    let input = Input { messages, names, keys, defaults: defaults.collect::<Result<_>>()?, is_single: serialized.rank() == 0 };
    features_of(ctx.allocator(), features, &input)
}

/// Finds and reads all features, and returns their tensors, in the order of an op's outputs.
pub(super) fn features_of(alloc: &Allocator, features: &Features, input: &Input<'_>) -> Result<Vec<Tensor>> {
    outputs(alloc, features, input, read(features, input)?)
}

impl Input<'_> {
    pub(super) fn name(&self, message: usize) -> std::borrow::Cow<'_, str> {
        self.names.get(message).map_or("<unknown>".into(), |n| String::from_utf8_lossy(n))
    }

    fn blame(&self, message: usize, key: &[u8], text: impl std::fmt::Display) -> Error {
        let key = String::from_utf8_lossy(key);
        if self.is_anonymous() {
            return error!(InvalidArgument, "Key: {key}.  {text}");
        }
        error!(InvalidArgument, "Name: {}, Key: {key}, Index: {message}.  {text}", self.name(message))
    }

    /// Returns true if errors name no message, because there is one message and it has no name.
    fn is_anonymous(&self) -> bool {
        self.is_single && self.names.is_empty()
    }
}

/// Finds and reads all features.
fn read<'a>(features: &Features, input: &Input<'a>) -> Result<Vec<Read>> {
    let mut places = Wanted::default();
    let at: Vec<usize> = input
        .keys
        .iter()
        .map(|&key| {
            let next = places.len();
            *places.entry(key).or_insert(next)
        })
        .collect();
    let num_keys = places.len();
    let mut found: Vec<Option<Feature<'a>>> = vec![None; input.messages.len() * num_keys];
    if num_keys > 0 {
        parallel::try_chunks(&mut found, MESSAGES_A_PIECE * num_keys, |piece, found| {
            found.chunks_mut(num_keys).zip(piece * MESSAGES_A_PIECE..).try_for_each(|(found, message)| {
                let unreadable = |_| input.blame(message, b"", "Can't parse serialized Example.");
                find(&input.messages[message], &places, found).map_err(unreadable)
            })
        })?;
    }
    let types: Vec<DType> = features.types().collect();
    let columns = parallel::map(features.len(), input.messages.len().saturating_mul(NANOSECONDS_PER_VALUE), |i| {
        let of_message = |message: usize| found[message * num_keys + at[i]].as_ref();
        read_column(features, input, i, types[i], of_message)
    });
    columns.into_iter().collect()
}

/// Reads feature `i` of all messages.
fn read_column<'f, 'a: 'f>(
    features: &Features,
    input: &Input<'a>,
    i: usize,
    dtype: DType,
    of_message: impl Fn(usize) -> Option<&'f Feature<'a>>,
) -> Result<Read> {
    let (mut values, mut counts) = (Column::new(dtype)?, Vec::with_capacity(input.messages.len()));
    let (key, dense) = (input.keys[i], features.dense_at(i));
    for (m, message) in input.messages.iter().enumerate() {
        let before = values.len();
        match (of_message(m), dense) {
            (Some(feature), _) => {
                if feature.dtype != dtype {
                    let text = format!("Data types don't match. Data type: {} but expected type: {dtype}", feature.dtype);
                    return Err(input.blame(m, key, text));
                }
                values.read(feature, message).map_err(|_| input.blame(m, key, "Can't parse serialized Example."))?;
                check_count(input, m, key, dense, dtype, values.len() - before)?;
            }
            (None, Some((d, dense))) if !dense.is_variable => match &input.defaults[d] {
                Some(default) => values.append(default),
                None => {
                    let name = if input.is_anonymous() { String::new() } else { format!("Name: {}, ", input.name(m)) };
                    bail!(
                        InvalidArgument,
                        "{name}Feature: {} (data type: {}) is required but could not be found.",
                        String::from_utf8_lossy(key),
                        dtype.cpp_name()
                    );
                }
            },
            (None, _) => {}
        }
        counts.push(values.len() - before);
    }
    Ok(Read { values, counts })
}

fn check_count(input: &Input<'_>, m: usize, key: &[u8], dense: Option<(usize, &Dense)>, dtype: DType, count: usize) -> Result<()> {
    let Some((_, dense)) = dense else { return Ok(()) };
    let kind = if dtype == DType::String { "bytes" } else { dtype.cpp_name() };
    if dense.is_variable && !count.is_multiple_of(dense.num_values) {
        if input.is_anonymous() {
            bail!(
                InvalidArgument,
                "Error while parsing feature with key {}: number of elements should be divisible by {}, found {count} instead",
                String::from_utf8_lossy(key),
                dense.num_values
            );
        }
        let text =
            format!("Number of {kind} values is not a multiple of stride length. Saw {count} values but output shape is: {}", dense.shape);
        return Err(input.blame(m, key, text));
    }
    if !dense.is_variable && count != dense.num_values {
        let parse = if input.is_anonymous() { "Can't parse serialized Example: " } else { "" };
        let text = format!("{parse}Number of {kind} values != expected.  Values size: {count} but output shape: {}", dense.shape);
        return Err(input.blame(m, key, text));
    }
    Ok(())
}

/// Returns the op's outputs, in their order.
fn outputs(alloc: &Allocator, features: &Features, input: &Input<'_>, columns: Vec<Read>) -> Result<Vec<Tensor>> {
    let mut columns = columns.into_iter();
    let sparse: Vec<Read> = columns.by_ref().take(features.sparse.len()).collect();
    let dense: Vec<Read> = columns.by_ref().take(features.dense.len()).collect();
    let ragged: Vec<Read> = columns.collect();
    let mut outputs = sparse.iter().map(|r| indices(alloc, &r.counts, input.is_single)).collect::<Result<Vec<_>>>()?;
    let shapes: Vec<Tensor> = sparse.iter().map(|r| sparse_shape(alloc, &r.counts, input.is_single)).collect::<Result<_>>()?;
    for read in sparse {
        outputs.push(read.values.into_vector(alloc)?);
    }
    outputs.extend(shapes);
    for (i, (read, spec)) in dense.into_iter().zip(&features.dense).enumerate() {
        outputs.push(dense_tensor(alloc, spec, read, input.defaults[i].as_ref(), input)?);
    }
    let splits: Vec<Tensor> = ragged
        .iter()
        .zip(&features.ragged)
        .map(|(r, spec)| row_splits(alloc, &r.counts, spec.1, input.is_single))
        .collect::<Result<_>>()?;
    for read in ragged {
        outputs.push(read.values.into_vector(alloc)?);
    }
    outputs.extend(splits);
    Ok(outputs)
}

fn dense_tensor(alloc: &Allocator, spec: &Dense, read: Read, default: Option<&Column>, input: &Input<'_>) -> Result<Tensor> {
    let longest = read.counts.iter().copied().max().unwrap_or(0);
    let mut shape = Shape::scalar();
    if !input.is_single {
        shape.push(input.messages.len());
    }
    spec.sizes(longest / spec.num_values.max(1)).for_each(|size| shape.push(size));
    let values = match default {
        Some(padding) if spec.is_variable => read.values.pad(&read.counts, longest, padding)?,
        _ => read.values,
    };
    values.into_tensor(alloc, shape)
}

fn indices(alloc: &Allocator, counts: &[usize], is_single: bool) -> Result<Tensor> {
    let total = counts.iter().sum::<usize>();
    let mut out = Vec::with_capacity(total * 2);
    for (row, &count) in counts.iter().enumerate() {
        for column in 0..count as i64 {
            if !is_single {
                out.push(row as i64);
            }
            out.push(column);
        }
    }
    alloc.from_slice([total, if is_single { 1 } else { 2 }], &out)
}

fn sparse_shape(alloc: &Allocator, counts: &[usize], is_single: bool) -> Result<Tensor> {
    let longest = counts.iter().copied().max().unwrap_or(0) as i64;
    if is_single { alloc.vector(&[longest]) } else { alloc.vector(&[counts.len() as i64, longest]) }
}

/// Returns the row splits of a ragged feature. A single message has none.
pub(super) fn row_splits(alloc: &Allocator, counts: &[usize], dtype: DType, is_single: bool) -> Result<Tensor> {
    let mut splits = vec![0i64];
    let mut end = 0;
    for &count in counts {
        end += count as i64;
        splits.push(end);
    }
    if is_single {
        splits.clear();
    }
    if dtype == DType::I64 {
        return alloc.vector(&splits);
    }
    let narrow = splits.into_iter().map(i32::try_from).collect::<Result<Vec<i32>, _>>();
    alloc.vector(
        &narrow.map_err(|_| error!(InvalidArgument, "a ragged feature has more values than its row splits of type int32 can count"))?,
    )
}
