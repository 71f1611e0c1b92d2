//! Interning: a table that gives equal values the same small number.

use rustc_hash::FxHashMap;
use std::hash::Hash;

/// A table of distinct values. Node-sized data refers to them by number.
pub(crate) struct Interner<T> {
    values: Vec<T>,
    numbers: FxHashMap<T, u32>,
}

impl<T: Clone + Eq + Hash> Interner<T> {
    /// Makes a table whose number 0 is `first`.
    pub(crate) fn new(first: T) -> Interner<T> {
        let mut table = Interner { values: Vec::new(), numbers: FxHashMap::default() };
        table.intern(first);
        table
    }

    /// Returns the number of a value.
    pub(crate) fn intern(&mut self, value: T) -> u32 {
        if let Some(&number) = self.numbers.get(&value) {
            return number;
        }
        let number = self.values.len() as u32;
        self.values.push(value.clone());
        self.numbers.insert(value, number);
        number
    }

    /// Returns the value with this number, which [`Interner::intern`] returned.
    pub(crate) fn get(&self, number: u32) -> &T {
        &self.values[number as usize]
    }
}
