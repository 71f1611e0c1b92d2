//! A hash table with open addressing whose buckets have the order of TensorFlow's dense tables: their checkpoints and exports contain the buckets
//! themselves.

use super::table::Item;
use crate::string::murmur;
use flowmill_tensor::{DType, Result, bail};
use rustc_hash::FxHashMap;

/// The arguments of a dense table.
#[derive(Clone, Debug)]
pub(super) struct DenseOptions {
    pub(super) key_dtype: DType,
    /// The key that marks buckets that never held a key.
    pub(super) empty: Item,
    /// The key that marks buckets whose key was removed.
    pub(super) deleted: Item,
    /// The initial number of buckets: a power of two, at least four.
    pub(super) num_buckets: usize,
    /// The fraction of the buckets that may hold keys before their number doubles, between 0 and 1.
    pub(super) max_load_factor: f32,
}

/// A table's buckets. Empty buckets take no memory.
#[derive(Debug)]
pub(super) struct Buckets {
    options: DenseOptions,
    num_buckets: usize,
    /// The keys and values of buckets that hold a key or the mark of a removed key, whose value is kept.
    used: FxHashMap<usize, (Item, Item)>,
    num_keys: usize,
}

/// The bucket of a key, or the bucket for inserting it.
enum Place {
    Found(usize),
    Free(usize),
    /// All buckets are used, which is possible only for imported buckets.
    Full,
}

impl DenseOptions {
    /// Checks the arguments.
    ///
    /// # Errors
    /// Returns `InvalidArgument` for a number of buckets or a load factor that TensorFlow refuses, and for equal marks.
    pub(super) fn check(&self) -> Result<()> {
        if !(self.max_load_factor > 0.0 && self.max_load_factor < 1.0) {
            bail!(InvalidArgument, "max_load_factor must be between 0 and 1, got: {}", self.max_load_factor);
        }
        if self.empty == self.deleted {
            bail!(InvalidArgument, "Empty and deleted keys cannot be equal");
        }
        check_num_buckets(self.num_buckets)
    }

    /// Returns a hash of the key, whose lowest bits are the index of the first bucket to probe.
    fn hash(&self, key: &Item) -> u64 {
        match key {
            Item::Bits(bits) if self.key_dtype == DType::I32 => i64::from(*bits as i32) as u64,
            Item::Bits(bits) => *bits,
            Item::Text(text) => murmur(text),
            Item::Row(row) => match &row[..] {
                [key] => self.hash(key),
                row => row.iter().fold(0, |hash, key| combine(hash, self.hash(key))),
            },
        }
    }
}

fn check_num_buckets(num_buckets: usize) -> Result<()> {
    if num_buckets < 4 || !num_buckets.is_power_of_two() {
        bail!(InvalidArgument, "Number of buckets must be at least 4 and a power of 2, got: {num_buckets}");
    }
    Ok(())
}

/// Combines two hashes with TensorFlow's `Hash64Combine`.
fn combine(a: u64, b: u64) -> u64 {
    a ^ b.wrapping_add(0x9e37_79b9_7f4a_7800).wrapping_add(a << 10).wrapping_add(a >> 4)
}

impl Buckets {
    /// Returns an empty table with as many buckets as the options specify.
    pub(super) fn new(options: DenseOptions) -> Buckets {
        Buckets { num_buckets: options.num_buckets, options, used: FxHashMap::default(), num_keys: 0 }
    }

    /// Checks that no key is a mark.
    ///
    /// # Errors
    /// Returns `InvalidArgument` if one of the keys is a mark.
    pub(super) fn check_keys(&self, keys: &[Item]) -> Result<()> {
        for (mark, name) in [(&self.options.empty, "empty_key"), (&self.options.deleted, "deleted_key")] {
            if keys.contains(mark) {
                bail!(InvalidArgument, "Using the {name} as a table key is not allowed");
            }
        }
        Ok(())
    }

    /// Probes the buckets of a key, at distances that grow by one.
    ///
    /// TensorFlow inserts a key into the first removed bucket even if a later bucket has the key, so that the table holds it twice. Here, the later
    /// one is found.
    fn place(&self, key: &Item) -> Place {
        let mask = self.num_buckets - 1;
        let mut bucket = self.options.hash(key) as usize & mask;
        let mut removed = None;
        for probe in 1..=self.num_buckets {
            match self.used.get(&bucket) {
                None => return Place::Free(removed.unwrap_or(bucket)),
                Some((found, _)) if found == key => return Place::Found(bucket),
                Some((found, _)) if *found == self.options.deleted => removed = removed.or(Some(bucket)),
                Some(_) => {}
            }
            bucket = (bucket + probe) & mask;
        }
        removed.map_or(Place::Full, Place::Free)
    }

    pub(super) fn get(&self, key: &Item) -> Option<&Item> {
        match self.place(key) {
            Place::Found(bucket) => self.used.get(&bucket).map(|(_, value)| value),
            Place::Free(_) | Place::Full => None,
        }
    }

    /// Makes room for `more` keys as if the table held none of them, which is how TensorFlow counts.
    fn reserve(&mut self, more: usize) {
        let pending = (self.num_keys + more) as f32;
        let holds = |num_buckets: usize| num_buckets as f32 * self.options.max_load_factor >= pending;
        let mut num_buckets = self.num_buckets;
        while !holds(num_buckets) && num_buckets < 1 << (usize::BITS - 2) {
            num_buckets <<= 1;
        }
        if num_buckets > self.num_buckets {
            let mut old: Vec<_> = std::mem::take(&mut self.used).into_iter().collect();
            old.sort_unstable_by_key(|&(bucket, _)| bucket);
            (self.num_buckets, self.num_keys) = (num_buckets, 0);
            for (_, (key, value)) in old {
                if key != self.options.deleted {
                    self.put(key, value);
                }
            }
        }
    }

    fn put(&mut self, key: Item, value: Item) {
        match self.place(&key) {
            Place::Found(bucket) => drop(self.used.insert(bucket, (key, value))),
            Place::Free(bucket) => {
                self.num_keys += 1;
                self.used.insert(bucket, (key, value));
            }
            Place::Full => {}
        }
    }

    /// Sets values; for equal keys, the last one is kept. The keys were checked.
    pub(super) fn insert(&mut self, keys: Vec<Item>, values: Vec<Item>) {
        self.reserve(keys.len());
        keys.into_iter().zip(values).for_each(|(key, value)| self.put(key, value));
    }

    /// Marks a key's bucket as removed. Does nothing if the key is not in the table.
    pub(super) fn remove(&mut self, key: &Item) {
        if let Place::Found(bucket) = self.place(key)
            && let Some((key, _)) = self.used.get_mut(&bucket)
        {
            *key = self.options.deleted.clone();
            self.num_keys -= 1;
        }
    }

    pub(super) fn len(&self) -> usize {
        self.num_keys
    }

    pub(super) fn num_buckets(&self) -> usize {
        self.num_buckets
    }

    /// Returns the key of each bucket, and its value if it ever had one.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&Item, Option<&Item>)> {
        (0..self.num_buckets).map(|bucket| match self.used.get(&bucket) {
            Some((key, value)) => (key, Some(value)),
            None => (&self.options.empty, None),
        })
    }

    /// Replaces the contents by buckets in the order of [`Buckets::iter`].
    ///
    /// # Errors
    /// Returns `InvalidArgument` if their number is not a power of two of at least four.
    pub(super) fn import(&mut self, keys: Vec<Item>, values: Vec<Item>) -> Result<()> {
        check_num_buckets(keys.len())?;
        self.num_buckets = keys.len();
        let buckets = keys.into_iter().zip(values).enumerate();
        self.used = buckets.filter(|(_, (key, _))| *key != self.options.empty).collect();
        self.num_keys = self.used.values().filter(|(key, _)| *key != self.options.deleted).count();
        Ok(())
    }
}
