//! The object behind a lookup table's handle.

use super::buckets::{Buckets, DenseOptions};
use flowmill_tensor::sync::Mutex;
use flowmill_tensor::{Allocator, Bytes, DType, Resource, Result, Shape, Tensor, bail, check_memory, error};
use rustc_hash::FxHashMap;

/// A key or a value. Floating-point keys are equal if their bits are equal.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Item {
    /// A scalar of at most eight bytes.
    Bits(u64),
    /// A scalar string.
    Text(Bytes),
    /// Several elements, as bits or strings.
    Row(Vec<Item>),
}

/// The kind of a table.
#[derive(Clone, Debug)]
pub(super) enum Kind {
    /// A table that an initialiser fills once.
    Static,
    /// A mutable table.
    Mutable,
    /// A mutable table with two keys that may not be used, and an order that TensorFlow's checkpoints determine.
    Dense(DenseOptions),
}

/// A table with keys and values of fixed types and shapes.
pub(super) struct Table {
    pub(super) key_dtype: DType,
    pub(super) value_dtype: DType,
    pub(super) key_shape: Shape,
    pub(super) value_shape: Shape,
    entries: Mutex<Entries>,
}

enum Entries {
    /// The contents; `None` until the table is initialised.
    Static(Option<Pairs>),
    Mutable(Pairs),
    Dense(Buckets),
}

/// Keys and values in order of insertion. A removal moves the last pair into the gap.
#[derive(Default)]
struct Pairs {
    places: FxHashMap<Item, usize>,
    pairs: Vec<(Item, Item)>,
}

impl Resource for Table {
    fn type_name(&self) -> &'static str {
        "LookupTable"
    }
}

/// Returns the elements of a tensor in rows of shape `row`.
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
    check_memory::<Item>(tensor.num_elements())?;
    if row.rank() == 0 {
        return (0..tensor.num_elements()).map(scalar).collect();
    }
    let count = tensor.num_elements() / width.max(1);
    (0..count).map(|i| (i * width..(i + 1) * width).map(scalar).collect::<Result<_>>().map(Item::Row)).collect()
}

/// Returns the only item in a tensor of shape `row`.
pub(super) fn item(tensor: &Tensor, row: &Shape) -> Result<Item> {
    items(tensor, row)?.into_iter().next().ok_or_else(|| error!(InvalidArgument, "a key has no elements"))
}

/// Returns a tensor of shape `shape` with the elements of `items`, one after the other.
fn to_tensor<'a>(alloc: &Allocator, dtype: DType, shape: Shape, items: impl Iterator<Item = &'a Item>) -> Result<Tensor> {
    let mut scalars = items.flat_map(|item| match item {
        Item::Row(row) => &row[..],
        scalar => std::slice::from_ref(scalar),
    });
    if dtype == DType::String {
        check_memory::<Bytes>(shape.checked_num_elements()?)?;
        let texts = scalars.map(|item| if let Item::Text(text) = item { text.clone() } else { Bytes::new() });
        return alloc.from_strings(shape, texts.collect());
    }
    let Some(size) = dtype.size().filter(|&size| size <= size_of::<u64>()) else {
        bail!(Unimplemented, "tables do not hold elements of type {dtype}");
    };
    alloc.filled_by(dtype, shape, |bytes| {
        for (element, item) in bytes.chunks_exact_mut(size).zip(&mut scalars) {
            let Item::Bits(bits) = item else { bail!(Internal, "a table of {dtype} holds {item:?}") };
            element.copy_from_slice(&bits.to_le_bytes()[..size]);
        }
        Ok(())
    })
}

/// Returns the value that is exported for a bucket without one.
fn zero(dtype: DType, shape: &Shape) -> Item {
    let scalar = if dtype == DType::String { Item::Text(Bytes::new()) } else { Item::Bits(0) };
    if shape.rank() == 0 { scalar } else { Item::Row(vec![scalar; shape.num_elements()]) }
}

impl Table {
    /// Returns an empty table.
    pub(super) fn new(kind: Kind, key_dtype: DType, key_shape: Shape, value_dtype: DType, value_shape: Shape) -> Table {
        let entries = match kind {
            Kind::Static => Entries::Static(None),
            Kind::Mutable => Entries::Mutable(Pairs::default()),
            Kind::Dense(options) => Entries::Dense(Buckets::new(options)),
        };
        Table { key_dtype, value_dtype, key_shape, value_shape, entries: Mutex::new(entries) }
    }

    /// Checks that keys and values have the types that an op expects.
    ///
    /// # Errors
    /// Returns `InvalidArgument` if the table has other types.
    pub(super) fn check_dtypes(&self, keys: DType, values: DType) -> Result<()> {
        if (keys, values) != (self.key_dtype, self.value_dtype) {
            let [k, v, key, value] = [keys, values, self.key_dtype, self.value_dtype].map(DType::cpp_name);
            bail!(InvalidArgument, "Signature mismatch, have: resource, {k}, {v}-> expected: resource, {key}, {value}->");
        }
        Ok(())
    }

    /// Returns the shape of a batch of keys: the shape of `keys` without the dimensions of a single key.
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

    /// Returns the values of `keys`. A key that is not in the table gets the value in `default`, which is one value, or one for each key.
    ///
    /// # Errors
    /// Returns `FailedPrecondition` for a table that was not initialised, `InvalidArgument` for wrong shapes and forbidden keys.
    pub(super) fn find(&self, alloc: &Allocator, keys: &Tensor, default: &Tensor) -> Result<Tensor> {
        self.check_dtypes(keys.dtype(), default.dtype())?;
        let batch = self.batch(keys)?;
        let shape = self.values_shape(&batch);
        let one = default.num_elements() == self.value_shape.num_elements();
        if !one && *default.shape() != shape {
            bail!(InvalidArgument, "Expected shape {} or {shape} for default value, got {}", self.value_shape, default.shape());
        }
        let (keys, defaults) = (items(keys, &self.key_shape)?, items(default, &self.value_shape)?);
        let entries = self.entries.lock();
        entries.check_keys(&keys)?;
        let found = keys.iter().enumerate().map(|(i, key)| entries.get(key).or_else(|| defaults.get(if one { 0 } else { i })));
        let found: Vec<&Item> = found.collect::<Option<_>>().ok_or_else(|| error!(Internal, "a key has no default value"))?;
        to_tensor(alloc, self.value_dtype, shape, found.into_iter())
    }

    fn items_of(&self, keys: &Tensor, values: &Tensor) -> Result<(Vec<Item>, Vec<Item>)> {
        Ok((items(keys, &self.key_shape)?, items(values, &self.value_shape)?))
    }

    fn check_values(&self, values: &Tensor, expected: &Shape) -> Result<()> {
        if values.shape() != expected {
            bail!(InvalidArgument, "Expected shape {expected} for value, got {}", values.shape());
        }
        Ok(())
    }

    /// Sets values; for equal keys, the last one is kept.
    ///
    /// # Errors
    /// Returns `Unimplemented` for a table that is initialised once, `InvalidArgument` for wrong types and shapes and for forbidden keys.
    pub(super) fn insert(&self, keys: &Tensor, values: &Tensor) -> Result<()> {
        let mut entries = self.entries.lock();
        if matches!(*entries, Entries::Static(_)) {
            bail!(Unimplemented, "Insert not supported by InitializableLookupTable implementations");
        }
        self.check_dtypes(keys.dtype(), values.dtype())?;
        self.check_values(values, &self.values_shape(&self.batch(keys)?))?;
        let (keys, values) = self.items_of(keys, values)?;
        entries.check_keys(&keys)?;
        match &mut *entries {
            Entries::Dense(buckets) => buckets.insert(keys, values),
            Entries::Static(Some(pairs)) | Entries::Mutable(pairs) => pairs.insert(keys, values),
            Entries::Static(None) => {}
        }
        Ok(())
    }

    /// Replaces the contents by the result of [`Table::export`]. TensorFlow 2 initialises a table in this way.
    ///
    /// # Errors
    /// Returns `InvalidArgument` for wrong types and shapes; for a table that is initialised once, also the errors of [`Table::initialize`].
    pub(super) fn import(&self, keys: &Tensor, values: &Tensor) -> Result<()> {
        let mut entries = self.entries.lock();
        if matches!(*entries, Entries::Static(_)) {
            drop(entries);
            return self.initialize(keys, values);
        }
        self.check_dtypes(keys.dtype(), values.dtype())?;
        if let Entries::Dense(buckets) = &mut *entries {
            let &[num_buckets, _] = keys.shape().dims() else {
                bail!(InvalidArgument, "Expected the keys of all buckets as a matrix, got shape {}", keys.shape());
            };
            let (key_shape, value_shape) = self.bucket_shapes(num_buckets);
            if *keys.shape() != key_shape {
                bail!(InvalidArgument, "Expected shape {key_shape} for keys, got {}", keys.shape());
            }
            self.check_values(values, &value_shape)?;
            let (keys, values) = self.items_of(keys, values)?;
            return buckets.import(keys, values);
        }
        self.check_values(values, &self.values_shape(&self.batch(keys)?))?;
        let (keys, values) = self.items_of(keys, values)?;
        let mut pairs = Pairs::default();
        pairs.insert(keys, values);
        *entries = Entries::Mutable(pairs);
        Ok(())
    }

    /// Returns the shapes of the keys and of the values of all buckets, which are matrices.
    fn bucket_shapes(&self, num_buckets: usize) -> (Shape, Shape) {
        let of = |row: &Shape| Shape::new(&[num_buckets, row.num_elements()]);
        (of(&self.key_shape), of(&self.value_shape))
    }

    /// Initialises a table that is initialised once. Does nothing if that was done before.
    ///
    /// # Errors
    /// Returns `FailedPrecondition` for two values of one key, `InvalidArgument` for wrong types and numbers of elements and for mutable tables.
    pub(super) fn initialize(&self, keys: &Tensor, values: &Tensor) -> Result<()> {
        self.check_dtypes(keys.dtype(), values.dtype())?;
        if keys.num_elements() != values.num_elements() {
            bail!(InvalidArgument, "Keys and values must have the same size {} vs {}", keys.num_elements(), values.num_elements());
        }
        if keys.num_elements() == 0 {
            bail!(InvalidArgument, "keys and values cannot be empty tensors.");
        }
        let (keys, values) = self.items_of(keys, values)?;
        let mut entries = self.entries.lock();
        let Entries::Static(contents) = &mut *entries else { bail!(InvalidArgument, "the table is not initializable") };
        if contents.is_some() {
            return Ok(());
        }
        let mut filled = Pairs::default();
        for (key, value) in keys.into_iter().zip(values) {
            if let Some(old) = filled.get(&key).filter(|old| **old != value) {
                let show = |dtype, item: &Item| {
                    to_tensor(&Allocator::default(), dtype, Shape::scalar(), std::iter::once(item))
                        .map(|t| crate::summarize::summarize(&t, 1))
                };
                let (key, old, new) = (show(self.key_dtype, &key)?, show(self.value_dtype, old)?, show(self.value_dtype, &value)?);
                bail!(FailedPrecondition, "HashTable has different value for same key. Key {key} has {old} and trying to add value {new}");
            }
            filled.set(key, value);
        }
        *contents = Some(filled);
        Ok(())
    }

    /// Removes keys. Keys that are not in the table are ignored.
    ///
    /// # Errors
    /// Returns `Unimplemented` for a table that is initialised once, `InvalidArgument` for wrong types and shapes and for forbidden keys.
    pub(super) fn remove(&self, keys: &Tensor) -> Result<()> {
        let mut entries = self.entries.lock();
        if matches!(*entries, Entries::Static(_)) {
            bail!(Unimplemented, "Remove not supported by InitializableLookupTable implementations");
        }
        self.check_dtypes(keys.dtype(), self.value_dtype)?;
        self.batch(keys)?;
        let keys = items(keys, &self.key_shape)?;
        entries.check_keys(&keys)?;
        match &mut *entries {
            Entries::Dense(buckets) => keys.iter().for_each(|key| buckets.remove(key)),
            Entries::Static(Some(pairs)) | Entries::Mutable(pairs) => keys.iter().for_each(|key| pairs.remove(key)),
            Entries::Static(None) => {}
        }
        Ok(())
    }

    /// Returns the number of keys.
    pub(super) fn len(&self) -> usize {
        match &*self.entries.lock() {
            Entries::Dense(buckets) => buckets.len(),
            Entries::Static(Some(pairs)) | Entries::Mutable(pairs) => pairs.pairs.len(),
            Entries::Static(None) => 0,
        }
    }

    /// Returns all keys and values, or for a dense table all buckets as two matrices.
    ///
    /// # Errors
    /// Returns `ResourceExhausted` past the memory limit.
    pub(super) fn export(&self, alloc: &Allocator) -> Result<(Tensor, Tensor)> {
        let none = Pairs::default();
        let entries = self.entries.lock();
        let pairs = match &*entries {
            Entries::Dense(buckets) => {
                let (key_shape, value_shape) = self.bucket_shapes(buckets.num_buckets());
                let zero = zero(self.value_dtype, &self.value_shape);
                let keys = to_tensor(alloc, self.key_dtype, key_shape, buckets.iter().map(|(key, _)| key))?;
                let values = to_tensor(alloc, self.value_dtype, value_shape, buckets.iter().map(|(_, value)| value.unwrap_or(&zero)))?;
                return Ok((keys, values));
            }
            Entries::Static(Some(pairs)) | Entries::Mutable(pairs) => &pairs.pairs,
            Entries::Static(None) => &none.pairs,
        };
        let batch = Shape::new(&[pairs.len()]);
        let key_shape = batch.iter().chain(self.key_shape.iter()).copied().collect();
        let keys = to_tensor(alloc, self.key_dtype, key_shape, pairs.iter().map(|(key, _)| key))?;
        let values = to_tensor(alloc, self.value_dtype, self.values_shape(&batch), pairs.iter().map(|(_, value)| value))?;
        Ok((keys, values))
    }
}

impl Entries {
    /// Checks that keys may be used.
    ///
    /// # Errors
    /// Returns `InvalidArgument` for keys that the table cannot hold, `FailedPrecondition` if it must be initialised first.
    fn check_keys(&self, keys: &[Item]) -> Result<()> {
        match self {
            Entries::Static(None) => bail!(FailedPrecondition, "Table not initialized."),
            Entries::Dense(buckets) => buckets.check_keys(keys),
            Entries::Static(Some(_)) | Entries::Mutable(_) => Ok(()),
        }
    }

    fn get(&self, key: &Item) -> Option<&Item> {
        match self {
            Entries::Dense(buckets) => buckets.get(key),
            Entries::Static(Some(pairs)) | Entries::Mutable(pairs) => pairs.get(key),
            Entries::Static(None) => None,
        }
    }
}

impl Pairs {
    fn get(&self, key: &Item) -> Option<&Item> {
        self.places.get(key).and_then(|&place| self.pairs.get(place)).map(|(_, value)| value)
    }

    fn insert(&mut self, keys: Vec<Item>, values: Vec<Item>) {
        keys.into_iter().zip(values).for_each(|(key, value)| self.set(key, value));
    }

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
