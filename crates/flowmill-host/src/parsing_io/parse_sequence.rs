//! `ParseSequenceExample`, `ParseSequenceExampleV2`, `ParseSingleSequenceExample`, which parse serialised `SequenceExample` messages. Their context
//! is parsed like an `Example`; lists of features have one more dimension.

use super::column::Column;
use super::example::{FeatureList, Wanted, find_lists};
use super::parse_example::{Dense, Features, Input, features_of, give, keys, row_splits};
use crate::from_fn::from_fn;
use flowmill_runtime::{Kernel, KernelContext, KernelInit, KernelRegistry};
use flowmill_tensor::{Allocator, Bytes, DType, PartialShape, Result, Shape, Tensor, bail, error};
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("ParseSequenceExample", make_first);
    registry.add("ParseSequenceExampleV2", make_second);
    registry.add("ParseSingleSequenceExample", make_single);
}

/// The features that an op's attributes describe.
struct Sequence {
    context: Features,
    lists: Features,
}

/// The keys of one call, in the order of [`Features::types`].
struct Keys<'a> {
    context: Vec<&'a [u8]>,
    lists: Vec<&'a [u8]>,
    /// For each dense list, true if a message without it is treated like one with an empty list.
    may_lack: Vec<bool>,
}

impl Sequence {
    fn new(init: &KernelInit<'_>) -> Result<Sequence> {
        let of = |prefix: &str, dense: &str| {
            let name = |rest: &str| format!("{prefix}_{rest}");
            let names =
                [name("sparse_types"), dense.to_owned(), name("dense_shapes"), name("ragged_value_types"), name("ragged_split_types")];
            Features::of_attrs(init, names.each_ref().map(String::as_str))
        };
        let sequence = Sequence { context: of("context", "Tcontext_dense")?, lists: of("feature_list", "feature_list_dense_types")? };
        for (features, prefix) in [(&sequence.context, "context"), (&sequence.lists, "feature_list")] {
            if let Some(i) = features.dense.iter().position(|d| d.is_variable) {
                bail!(InvalidArgument, "{prefix}_dense_shapes[{i}] is not fully defined");
            }
            for (kind, count) in [("sparse", features.sparse.len()), ("dense", features.dense.len())] {
                let attr = format!("N{prefix}_{kind}");
                if init.attrs.contains(&attr) && init.attrs.get::<i64>(&attr)? != count as i64 {
                    bail!(InvalidArgument, "len({prefix}_{kind}_keys) != len({prefix}_{kind}_types)");
                }
            }
        }
        Ok(sequence)
    }

    /// Parses input 0. `names` are the names of the messages, or empty. The inputs with defaults of the context's dense features begin at `first_default`.
    fn parse(&self, ctx: &KernelContext<'_>, names: &[Bytes], keys: Keys<'_>, first_default: usize) -> Result<Outputs> {
        let serialized = ctx.input(0)?;
        let messages = serialized.as_strings()?;
        if !names.is_empty() && names.len() != messages.len() {
            bail!(InvalidArgument, "example_names must be empty or have the correct number of elements");
        }
        let mut defaults = Vec::with_capacity(self.context.dense.len());
        for (i, dense) in self.context.dense.iter().enumerate() {
            let given = ctx.input(first_default + i)?;
            if given.num_elements() > 0 && !dense.shape.is_compatible_with(given.shape()) {
                bail!(InvalidArgument, "default_value[{i}].shape() == {} != context_dense_shapes[{i}] == {}", given.shape(), dense.shape);
            }
            defaults.push(dense.default(i, given)?);
        }
        let input = Input { messages, names, keys: keys.context, defaults, is_single: serialized.rank() == 0 };
        let context = features_of(ctx.allocator(), &self.context, &input)?;
        lists_of(ctx.allocator(), &self.lists, &input, &keys.lists, &keys.may_lack, context)
    }
}

/// The output tensors of an op, in their order.
struct Outputs {
    context: Vec<Tensor>,
    sparse: Vec<Tensor>,
    dense: Vec<Tensor>,
    /// The numbers of steps of the dense lists.
    lengths: Vec<Tensor>,
    ragged: Vec<Tensor>,
}

fn check_rank(tensor: &Tensor, what: &str, rank: usize) -> Result<()> {
    if tensor.rank() != rank {
        bail!(InvalidArgument, "Expected {what} to be a {}, got shape: {}", ["scalar", "vector"][rank.min(1)], tensor.shape());
    }
    Ok(())
}

fn borrowed(keys: &[Bytes]) -> Vec<&[u8]> {
    keys.iter().map(|key| &key[..]).collect()
}

/// Makes the kernel of `ParseSequenceExample`, whose keys are attributes, and which names the lists that messages may lack.
fn make_first(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let sequence = Sequence::new(init)?;
    let list = |name: &str| Ok(init.attrs.list::<&Bytes>(name)?.into_iter().cloned().collect::<Vec<Bytes>>());
    let keys_of = |prefix: &str, features: &Features| -> Result<[Vec<Bytes>; 2]> {
        let (sparse, dense) = (list(&format!("{prefix}_sparse_keys"))?, list(&format!("{prefix}_dense_keys"))?);
        for (kind, keys, types) in [("sparse", sparse.len(), features.sparse.len()), ("dense", dense.len(), features.dense.len())] {
            if keys != types {
                bail!(InvalidArgument, "len({prefix}_{kind}_keys) != len({prefix}_{kind}_types)");
            }
        }
        Ok([sparse, dense])
    };
    let (context, lists) = (keys_of("context", &sequence.context)?, keys_of("feature_list", &sequence.lists)?);
    let may_lack = list("feature_list_dense_missing_assumed_empty")?;
    let may_lack: Vec<bool> = lists[1].iter().map(|key| may_lack.contains(key)).collect();
    let (context, lists) = (context.concat(), lists.concat());
    from_fn(move |ctx| {
        check_rank(ctx.input(0)?, "serialized", 1)?;
        let (context, lists) = (borrowed(&context), borrowed(&lists));
        let keys = Keys { context, lists, may_lack: may_lack.clone() };
        let out = sequence.parse(ctx, ctx.input(1)?.as_strings()?, keys, 2)?;
        give(ctx, [out.context, out.sparse, out.dense, out.lengths].concat())
    })
}

/// Makes the kernel of `ParseSequenceExampleV2`. Inputs: messages, their names, keys of the context (sparse, dense, ragged), keys of lists, flags
/// for the dense lists that messages may lack, defaults.
fn make_second(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let sequence = Sequence::new(init)?;
    from_fn(move |ctx| {
        if ctx.input(0)?.rank() > 1 {
            bail!(InvalidArgument, "Expected serialized to be a scalar or vector, got shape: {}", ctx.input(0)?.shape());
        }
        let (num_dense, may_lack) = (sequence.lists.dense.len(), ctx.input(8)?);
        if may_lack.rank() != 1 || may_lack.num_elements() != num_dense {
            bail!(
                InvalidArgument,
                "Expected feature_list_dense_missing_assumed_empty to be a vector of {num_dense}, got shape: {}",
                may_lack.shape()
            );
        }
        let keys = Keys {
            context: keys(ctx, 2, "context_", &sequence.context)?,
            lists: keys(ctx, 5, "feature_list_", &sequence.lists)?,
            may_lack: may_lack.as_slice::<bool>()?.to_vec(),
        };
        let out = sequence.parse(ctx, ctx.input(1)?.as_strings()?, keys, 9)?;
        give(ctx, [out.context, out.sparse, out.dense, out.lengths, out.ragged].concat())
    })
}

/// Makes the kernel of `ParseSingleSequenceExample`. Inputs: the message, the names of the lists that it may lack, a scalar for each key (sparse
/// and dense ones of the context, then of the lists), defaults, the message's name.
fn make_single(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let sequence = Sequence::new(init)?;
    let (num_context, num_lists) = (sequence.context.len(), sequence.lists.len());
    let first_default = 2 + num_context + num_lists;
    from_fn(move |ctx| {
        check_rank(ctx.input(0)?, "serialized", 0)?;
        let lackable = ctx.input(1)?;
        check_rank(lackable, "feature_list_dense_missing_assumed_empty", 1)?;
        let key = |i: usize| {
            check_rank(ctx.input(i)?, "the key of a feature", 0)?;
            ctx.input(i)?.as_strings()?.first().map(|key| &key[..]).ok_or_else(|| error!(Internal, "a scalar has no element"))
        };
        let context = (2..2 + num_context).map(key).collect::<Result<_>>()?;
        let lists: Vec<&[u8]> = (2 + num_context..first_default).map(key).collect::<Result<_>>()?;
        let lackable = lackable.as_strings()?;
        let may_lack = lists[sequence.lists.sparse.len()..].iter().map(|key| lackable.iter().any(|name| name == key)).collect();
        let name = ctx.input(first_default + sequence.context.dense.len())?;
        if name.num_elements() > 0 {
            check_rank(name, "debug_name", 0)?;
        }
        let out = sequence.parse(ctx, name.as_strings()?, Keys { context, lists, may_lack }, first_default)?;
        give(ctx, [out.context, out.sparse, out.dense].concat())
    })
}

/// The values of one list over the batch, with the number of steps of each message and the number of values of each step.
struct Lists {
    values: Column,
    steps: Vec<usize>,
    counts: Vec<usize>,
}

impl Lists {
    /// Reads the list of `key` in all messages, some of which may lack it.
    fn read(input: &Input<'_>, key: &[u8], dtype: DType, found: &[Option<&FeatureList<'_>>]) -> Result<Lists> {
        let mut lists = Lists { values: Column::new(dtype)?, steps: Vec::with_capacity(found.len()), counts: Vec::new() };
        for (m, list) in found.iter().enumerate() {
            let features = list.map_or(&[][..], |list| &list[..]);
            for (step, feature) in features.iter().enumerate() {
                let before = lists.values.len();
                if let Some(feature) = feature {
                    let blame = |text: std::fmt::Arguments<'_>| {
                        let (name, key) = (input.name(m), String::from_utf8_lossy(key));
                        error!(InvalidArgument, "Name: {name}, Feature list: {key}, Index: {step}.  {text}")
                    };
                    if feature.dtype != dtype {
                        return Err(blame(format_args!("Data types don't match. Expected type: {dtype}")));
                    }
                    let read = lists.values.read(feature, &input.messages[m]);
                    read.map_err(|_| blame(format_args!("Can't parse serialized Example.")))?;
                }
                lists.counts.push(lists.values.len() - before);
            }
            lists.steps.push(features.len());
        }
        Ok(lists)
    }

    fn longest(&self) -> usize {
        self.steps.iter().copied().max().unwrap_or(0)
    }

    /// Returns the indices of the values (message, step, position; without the message if there is a single one), and the dense shape.
    fn places(&self, alloc: &Allocator, is_single: bool) -> Result<(Tensor, Tensor)> {
        let mut places = Vec::with_capacity(self.values.len() * 3);
        let mut counts = self.counts.iter();
        for (m, &steps) in self.steps.iter().enumerate() {
            for (step, &count) in counts.by_ref().take(steps).enumerate() {
                for i in 0..count {
                    places.extend([m as i64, step as i64, i as i64].into_iter().skip(usize::from(is_single)));
                }
            }
        }
        let widest = self.counts.iter().copied().max().unwrap_or(0) as i64;
        let sizes = [self.steps.len() as i64, self.longest() as i64, widest];
        let sizes = &sizes[usize::from(is_single)..];
        Ok((alloc.from_slice([self.values.len(), sizes.len()], &places)?, alloc.vector(sizes)?))
    }

    /// Returns a tensor of all steps, padded with zeros or empty strings, and the numbers of steps.
    fn dense(self, alloc: &Allocator, dense: &Dense, input: &Input<'_>, key: &[u8]) -> Result<(Tensor, Tensor)> {
        let total: usize = self.counts.iter().sum();
        if dense.num_values > 0 && !total.is_multiple_of(dense.num_values) {
            let dims = dense.shape.dims().unwrap_or(&[]);
            bail!(
                InvalidArgument,
                "Feature list '{}' has an unexpected number of values.  Total values size: {total} is not consistent with output shape: {}",
                String::from_utf8_lossy(key),
                std::iter::once(-1).chain(dims.iter().copied()).collect::<PartialShape>()
            );
        }
        let mut counts = self.counts.iter();
        for (m, &steps) in self.steps.iter().enumerate() {
            if let Some((step, count)) = counts.by_ref().take(steps).enumerate().find(|&(_, &count)| count != dense.num_values) {
                bail!(
                    InvalidArgument,
                    "Name: {}, Key: {}, Index: {step}.  Number of values != expected.  values size: {count} but output shape: {}",
                    input.name(m),
                    String::from_utf8_lossy(key),
                    dense.shape
                );
            }
        }
        let longest = self.longest();
        let lengths: Vec<i64> = self.steps.iter().map(|&n| n as i64).collect();
        let sizes = dense.shape.dims().unwrap_or(&[]).iter().map(|&d| usize::try_from(d).unwrap_or(0));
        let mut shape = Shape::scalar();
        if !input.is_single {
            shape.push(lengths.len());
        }
        shape.push(longest);
        sizes.for_each(|size| shape.push(size));
        let each: Vec<usize> = self.steps.iter().map(|&n| n * dense.num_values).collect();
        let values = self.values.pad(&each, longest * dense.num_values, &Column::new(dense.dtype)?)?;
        let lengths = if input.is_single { Tensor::scalar(lengths[0]) } else { alloc.vector(&lengths)? };
        Ok((values.into_tensor(alloc, shape)?, lengths))
    }
}

/// Reads the lists of `keys`. Returns their tensors after those of the context.
fn lists_of(
    alloc: &Allocator,
    features: &Features,
    input: &Input<'_>,
    keys: &[&[u8]],
    may_lack: &[bool],
    context: Vec<Tensor>,
) -> Result<Outputs> {
    let (num_sparse, num_dense) = (features.sparse.len(), features.dense.len());
    let mut places = Wanted::default();
    for &key in keys {
        let next = places.len();
        places.entry(key).or_insert(next);
    }
    let mut found: Vec<Vec<Option<FeatureList<'_>>>> = Vec::with_capacity(input.messages.len());
    for (m, message) in input.messages.iter().enumerate() {
        let mut of_message = vec![None; places.len()];
        if !keys.is_empty() && find_lists(message, &places, &mut of_message).is_err() {
            bail!(InvalidArgument, "Name: {}, Index: {m}.  Can't parse serialized Example.", input.name(m));
        }
        found.push(of_message);
    }
    let of_key = |key: &[u8]| -> Vec<Option<&FeatureList<'_>>> { found.iter().map(|lists| lists[places[key]].as_ref()).collect() };

    for (key, _) in keys[num_sparse..].iter().zip(may_lack).filter(|&(_, may_lack)| !may_lack) {
        if let Some(m) = of_key(key).iter().position(Option::is_none) {
            bail!(
                InvalidArgument,
                "Name: {}, Feature list '{}' is required but could not be found.  \
                 Did you mean to include it in feature_list_dense_missing_assumed_empty or feature_list_dense_defaults?",
                input.name(m),
                String::from_utf8_lossy(key)
            );
        }
    }
    let mut lists = Vec::with_capacity(keys.len());
    for (&key, dtype) in keys.iter().zip(features.types()) {
        lists.push(Lists::read(input, key, dtype, &of_key(key))?);
    }
    let mut lists = lists.into_iter();

    let (mut indices, mut values, mut shapes) = (Vec::new(), Vec::new(), Vec::new());
    for list in lists.by_ref().take(num_sparse) {
        let (places, sizes) = list.places(alloc, input.is_single)?;
        indices.push(places);
        shapes.push(sizes);
        values.push(list.values.into_vector(alloc)?);
    }
    let (mut dense, mut lengths) = (Vec::new(), Vec::new());
    for ((list, spec), key) in lists.by_ref().take(num_dense).zip(&features.dense).zip(&keys[num_sparse..]) {
        let (tensor, length) = list.dense(alloc, spec, input, key)?;
        dense.push(tensor);
        lengths.push(length);
    }
    let (mut ragged, mut outer, mut inner) = (Vec::new(), Vec::new(), Vec::new());
    for (list, &(_, splits)) in lists.zip(&features.ragged) {
        outer.push(row_splits(alloc, &list.steps, splits, input.is_single)?);
        inner.push(row_splits(alloc, &list.counts, splits, false)?);
        ragged.push(list.values.into_vector(alloc)?);
    }
    Ok(Outputs { context, sparse: [indices, values, shapes].concat(), dense, lengths, ragged: [ragged, outer, inner].concat() })
}
