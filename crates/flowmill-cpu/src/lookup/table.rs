//! The object behind a lookup table's handle.

use crate::blocks::concat_blocks;
use flowmill_tensor::sync::Mutex;
use flowmill_tensor::{Bytes, DType, Resource, Result, Shape, Tensor, bail, error};
use rustc_hash::FxHashMap;

/// A key or a value. Floating keys are equal where their bits are.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Item {
    /// A scalar of at most eight bytes.
    Bits(u64),
    /// A scalar string.
    Text(Bytes),
    /// Several elements, as bits or strings.
    Row(Vec<Item>),
}

/// What tells the kinds of tables apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Filled once by an initialiser.
    Static,
    /// Changed at any time.
    Mutable,
    /// The same with two keys that may not be used.
    Dense {
        /// Marks free places in TensorFlow's table.
        empty: Item,
        /// Marks removed ones.
        deleted: Item,
    },
}

/// Keys and values of fixed types and shapes, in order of insertion.
pub(super) struct Table {
    pub(super) kind: Kind,
    pub(super) key_dtype: DType,
    pub(super) value_dtype: DType,
    pub(super) key_shape: Shape,
    pub(super) value_shape: Shape,
    entries: Mutex<Entries>,
}

#[derive(Default)]
struct Entries {
    initialized: bool,
    places: FxHashMap<Item, usize>,
    pairs: Vec<(Item, Item)>,
}

impl Resource for Table {
    fn type_name(&self) -> &'static str {
        "LookupTable"
    }
}

/// The elements of a tensor in rows of shape `row`.
fn items(tensor: &Tensor, row: &Shape) -> Result<Vec<Item>> {
    let width = row.num_elements();
    let scalar = |i: usize| -> Result<Item> {
        match tensor.as_strings() {
            Ok(strings) => Ok(Item::Text(strings[i].clone())),
            Err(_) => match tensor.element(i)?.scalar_bits(tensor.dtype()) {
                Some(bits) => Ok(Item::Bits(bits)),
                None => bail!(Unimplemented, "tables do not hold elements of type {}", tensor.dtype()),
            },
        }
    };
    if row.rank() == 0 {
        return (0..tensor.num_elements()).map(scalar).collect();
    }
    let count = tensor.num_elements() / width.max(1);
    (0..count).map(|i| (i * width..(i + 1) * width).map(scalar).collect::<Result<_>>().map(Item::Row)).collect()
}

/// The one item in a tensor of shape `row`.
pub(super) fn item(tensor: &Tensor, row: &Shape) -> Result<Item> {
    items(tensor, row)?.into_iter().next().ok_or_else(|| error!(InvalidArgument, "a key has no elements"))
}

/// A tensor of shape `shape` with the elements of `items`, one after the other.
fn to_tensor<'a>(dtype: DType, shape: Shape, items: impl Iterator<Item = &'a Item>) -> Result<Tensor> {
    let mut scalars = Vec::with_capacity(shape.num_elements());
    for item in items {
        match item {
            Item::Row(row) => scalars.extend(row),
            scalar => scalars.push(scalar),
        }
    }
    if dtype == DType::String {
        let texts = scalars.into_iter().map(|item| if let Item::Text(text) = item { text.clone() } else { Bytes::new() });
        return Tensor::from_strings(shape, texts.collect());
    }
    let scalars = scalars.into_iter().map(|item| if let Item::Bits(bits) = item { Tensor::from_scalar_bits(dtype, *bits) } else { None });
    let scalars: Vec<Tensor> =
        scalars.collect::<Option<_>>().ok_or_else(|| error!(Unimplemented, "tables do not hold elements of type {dtype}"))?;
    concat_blocks(dtype, shape, scalars.iter().map(|scalar| (scalar, 0..1)))
}

impl Table {
    /// An empty table.
    pub(super) fn new(kind: Kind, key_dtype: DType, key_shape: Shape, value_dtype: DType, value_shape: Shape) -> Table {
        Table { kind, key_dtype, value_dtype, key_shape, value_shape, entries: Mutex::default() }
    }

    /// Checks the types an op works with.
    ///
    /// # Errors
    /// `InvalidArgument` where they are not the table's.
    pub(super) fn check_dtypes(&self, keys: DType, values: DType) -> Result<()> {
        if (keys, values) != (self.key_dtype, self.value_dtype) {
            let [k, v, key, value] = [keys, values, self.key_dtype, self.value_dtype].map(DType::cpp_name);
            bail!(InvalidArgument, "Signature mismatch, have: resource, {k}, {v}-> expected: resource, {key}, {value}->");
        }
        Ok(())
    }

    /// The shape of a batch of keys: that of `keys` without a key's own.
    fn batch(&self, keys: &Tensor) -> Result<Shape> {
        match keys.shape().strip_suffix(self.key_shape.dims()) {
            Some(batch) => Ok(batch.into()),
            None => bail!(
                InvalidArgument,
                "Input key shape must be a suffix of the keys' shape: expected {}, got {}",
                self.key_shape,
                keys.shape()
            ),
        }
    }

    fn values_shape(&self, batch: &Shape) -> Shape {
        batch.iter().chain(self.value_shape.iter()).copied().collect()
    }

    fn check_keys(&self, keys: &[Item]) -> Result<()> {
        if let Kind::Dense { empty, deleted } = &self.kind {
            for (marker, name) in [(empty, "empty_key"), (deleted, "deleted_key")] {
                if keys.contains(marker) {
                    bail!(InvalidArgument, "Using the {name} as a table key is not allowed");
                }
            }
        }
        Ok(())
    }

    /// The values of `keys`; `default`, one value or one for each key, for keys that are not there.
    ///
    /// # Errors
    /// `FailedPrecondition` for a table that is filled once and was not, `InvalidArgument` for wrong shapes and forbidden keys.
    pub(super) fn find(&self, keys: &Tensor, default: &Tensor) -> Result<Tensor> {
        self.check_dtypes(keys.dtype(), default.dtype())?;
        let batch = self.batch(keys)?;
        let shape = self.values_shape(&batch);
        let one = default.num_elements() == self.value_shape.num_elements();
        if !one && *default.shape() != shape {
            bail!(InvalidArgument, "Expected shape {} or {shape} for default value, got {}", self.value_shape, default.shape());
        }
        let keys = items(keys, &self.key_shape)?;
        self.check_keys(&keys)?;
        let defaults = items(default, &self.value_shape)?;
        let entries = self.entries.lock();
        if self.kind == Kind::Static && !entries.initialized {
            bail!(FailedPrecondition, "Table not initialized.");
        }
        let found = keys.iter().enumerate().map(|(i, key)| match entries.places.get(key) {
            Some(&place) => entries.pairs.get(place).map(|(_, value)| value),
            None => defaults.get(if one { 0 } else { i }),
        });
        let found: Vec<&Item> = found.collect::<Option<_>>().ok_or_else(|| error!(Internal, "a table's places and pairs disagree"))?;
        to_tensor(self.value_dtype, shape, found.into_iter())
    }

    fn pairs(&self, keys: &Tensor, values: &Tensor) -> Result<(Vec<Item>, Vec<Item>)> {
        self.check_dtypes(keys.dtype(), values.dtype())?;
        let expected = self.values_shape(&self.batch(keys)?);
        if *values.shape() != expected {
            bail!(InvalidArgument, "Expected shape {expected} for value, got {}", values.shape());
        }
        let keys = items(keys, &self.key_shape)?;
        self.check_keys(&keys)?;
        Ok((keys, items(values, &self.value_shape)?))
    }

    /// Sets values; later ones win. With `replace`, the table holds nothing else afterwards.
    ///
    /// # Errors
    /// `Unimplemented` for a table that is filled once, `InvalidArgument` for wrong types and shapes and forbidden keys.
    pub(super) fn insert(&self, keys: &Tensor, values: &Tensor, replace: bool) -> Result<()> {
        if self.kind == Kind::Static {
            // An import is how TensorFlow 2 fills a table that is filled once.
            if replace {
                return self.initialize(keys, values);
            }
            bail!(Unimplemented, "Insert not supported by InitializableLookupTable implementations");
        }
        let (keys, values) = self.pairs(keys, values)?;
        let mut entries = self.entries.lock();
        if replace {
            *entries = Entries::default();
        }
        keys.into_iter().zip(values).for_each(|(key, value)| entries.set(key, value));
        Ok(())
    }

    /// Fills a table that is filled once; does nothing where it is already.
    ///
    /// # Errors
    /// `FailedPrecondition` for two values of one key, `InvalidArgument` for wrong types and numbers of elements.
    pub(super) fn initialize(&self, keys: &Tensor, values: &Tensor) -> Result<()> {
        self.check_dtypes(keys.dtype(), values.dtype())?;
        if keys.num_elements() != values.num_elements() {
            bail!(InvalidArgument, "Keys and values must have the same size {} vs {}", keys.num_elements(), values.num_elements());
        }
        let (keys, values) = (items(keys, &self.key_shape)?, items(values, &self.value_shape)?);
        let mut entries = self.entries.lock();
        if entries.initialized {
            return Ok(());
        }
        let mut filled = Entries { initialized: true, ..Entries::default() };
        for (key, value) in keys.into_iter().zip(values) {
            if let Some((_, old)) = filled.places.get(&key).and_then(|&place| filled.pairs.get(place)).filter(|(_, old)| *old != value) {
                let show = |dtype, item: &Item| {
                    to_tensor(dtype, Shape::scalar(), std::iter::once(item)).map(|t| crate::summarize::summarize(&t, 1))
                };
                let (key, old, new) = (show(self.key_dtype, &key)?, show(self.value_dtype, old)?, show(self.value_dtype, &value)?);
                bail!(FailedPrecondition, "HashTable has different value for same key. Key {key} has {old} and trying to add value {new}");
            }
            filled.set(key, value);
        }
        *entries = filled;
        Ok(())
    }

    /// Removes keys; those that are not there are passed over.
    ///
    /// # Errors
    /// As [`Table::insert`].
    pub(super) fn remove(&self, keys: &Tensor) -> Result<()> {
        if self.kind == Kind::Static {
            bail!(Unimplemented, "Remove not supported by InitializableLookupTable implementations");
        }
        self.check_dtypes(keys.dtype(), self.value_dtype)?;
        self.batch(keys)?;
        let keys = items(keys, &self.key_shape)?;
        self.check_keys(&keys)?;
        let mut entries = self.entries.lock();
        keys.iter().for_each(|key| entries.remove(key));
        Ok(())
    }

    /// The number of keys.
    pub(super) fn len(&self) -> usize {
        self.entries.lock().pairs.len()
    }

    /// All keys and values, in order of insertion (a removal moves the last one into the gap).
    ///
    /// # Errors
    /// `ResourceExhausted` past the memory limit.
    pub(super) fn export(&self) -> Result<(Tensor, Tensor)> {
        let entries = self.entries.lock();
        let batch = Shape::new(&[entries.pairs.len()]);
        let key_shape = batch.iter().chain(self.key_shape.iter()).copied().collect();
        let keys = to_tensor(self.key_dtype, key_shape, entries.pairs.iter().map(|(key, _)| key))?;
        let values = to_tensor(self.value_dtype, self.values_shape(&batch), entries.pairs.iter().map(|(_, value)| value))?;
        Ok((keys, values))
    }
}

impl Entries {
    fn set(&mut self, key: Item, value: Item) {
        match self.places.get(&key).and_then(|&place| self.pairs.get_mut(place)) {
            Some(pair) => pair.1 = value,
            None => {
                self.places.insert(key.clone(), self.pairs.len());
                self.pairs.push((key, value));
            }
        }
    }

    fn remove(&mut self, key: &Item) {
        let Some(place) = self.places.remove(key) else { return };
        self.pairs.swap_remove(place);
        if let Some((moved, _)) = self.pairs.get(place) {
            self.places.insert(moved.clone(), place);
        }
    }
}
