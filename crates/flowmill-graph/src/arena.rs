//! Chunked slabs with typed keys.

use flowmill_tensor::{Result, bail};
use std::marker::PhantomData;

/// A key of an [`Arena`]: a number that is given out once.
pub(crate) trait Key: Copy {
    /// The name of the things that the keys denote, for messages.
    const WHAT: &'static str;
    fn from_index(index: u32) -> Self;
    fn index(self) -> u32;
}

/// Slots in a chunk. The first chunk grows to this size by doubling, so that a small graph takes little memory.
const CHUNK: usize = 1 << CHUNK_BITS;
const CHUNK_BITS: u32 = 10;
/// No slot, and the end of the free list.
const NONE: u32 = u32::MAX;

/// Values by key. Keys are numbered from 0 and never given out again; the memory of removed values is.
///
/// A table leads from keys to slots. Slots lie in chunks that are never moved once full, and freed ones form a list threaded
/// through themselves.
#[derive(Clone)]
pub(crate) struct Arena<K, T> {
    slots: Vec<u32>,
    chunks: Vec<Vec<Slot<T>>>,
    free: u32,
    live: usize,
    keys: PhantomData<K>,
}

#[derive(Clone)]
enum Slot<T> {
    Full(T),
    /// The next free slot.
    Free(u32),
}

impl<K: Key, T> Arena<K, T> {
    pub(crate) fn new() -> Arena<K, T> {
        Arena { slots: Vec::new(), chunks: Vec::new(), free: NONE, live: 0, keys: PhantomData }
    }

    /// Makes room for that many more keys.
    pub(crate) fn reserve(&mut self, additional: usize) {
        self.slots.reserve(additional);
    }

    /// The key the next insertion gets.
    pub(crate) fn next_key(&self) -> Result<K> {
        match u32::try_from(self.slots.len()) {
            Ok(index) if index < NONE => Ok(K::from_index(index)),
            _ => bail!(ResourceExhausted, "a graph has at most {NONE} {}s, removed ones included", K::WHAT),
        }
    }

    /// Checks that `additional` more keys are left.
    pub(crate) fn check_room(&self, additional: usize) -> Result<()> {
        if self.slots.len().saturating_add(additional) > NONE as usize {
            bail!(ResourceExhausted, "a graph has at most {NONE} {}s, removed ones included", K::WHAT);
        }
        Ok(())
    }

    pub(crate) fn insert(&mut self, value: T) -> Result<K> {
        let key = self.next_key()?;
        let slot = match self.slot_mut(self.free) {
            Some(slot @ Slot::Free(_)) => {
                let Slot::Free(next) = std::mem::replace(slot, Slot::Full(value)) else { return Ok(key) };
                std::mem::replace(&mut self.free, next)
            }
            _ => self.push(value),
        };
        self.slots.push(slot);
        self.live += 1;
        Ok(key)
    }

    fn push(&mut self, value: T) -> u32 {
        if self.chunks.last().is_none_or(|chunk| chunk.len() == CHUNK) {
            self.chunks.push(if self.chunks.is_empty() { Vec::new() } else { Vec::with_capacity(CHUNK) });
        }
        let before = (self.chunks.len() - 1) << CHUNK_BITS;
        let last = self.chunks.len() - 1;
        self.chunks[last].push(Slot::Full(value));
        (before + self.chunks[last].len() - 1) as u32
    }

    fn slot_mut(&mut self, slot: u32) -> Option<&mut Slot<T>> {
        self.chunks.get_mut((slot >> CHUNK_BITS) as usize)?.get_mut(slot as usize & (CHUNK - 1))
    }

    pub(crate) fn get(&self, key: K) -> Option<&T> {
        let slot = *self.slots.get(key.index() as usize)?;
        match self.chunks.get((slot >> CHUNK_BITS) as usize)?.get(slot as usize & (CHUNK - 1))? {
            Slot::Full(value) => Some(value),
            Slot::Free(_) => None,
        }
    }

    pub(crate) fn get_mut(&mut self, key: K) -> Option<&mut T> {
        let slot = *self.slots.get(key.index() as usize)?;
        match self.slot_mut(slot)? {
            Slot::Full(value) => Some(value),
            Slot::Free(_) => None,
        }
    }

    pub(crate) fn remove(&mut self, key: K) -> Option<T> {
        let slot = std::mem::replace(self.slots.get_mut(key.index() as usize)?, NONE);
        let next = self.free;
        let place = self.slot_mut(slot)?;
        match std::mem::replace(place, Slot::Free(next)) {
            Slot::Full(value) => {
                self.free = slot;
                self.live -= 1;
                Some(value)
            }
            Slot::Free(_) => None,
        }
    }

    /// Returns the values in the order of their keys.
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = (K, &T)> {
        (0..self.slots.len() as u32).filter_map(|index| {
            let key = K::from_index(index);
            Some((key, self.get(key)?))
        })
    }

    /// Returns the values, in the order of their slots.
    pub(crate) fn values_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.chunks.iter_mut().flatten().filter_map(|slot| match slot {
            Slot::Full(value) => Some(value),
            Slot::Free(_) => None,
        })
    }

    /// Returns a copy of the values that `keep` accepts, under their keys; the others are as if they had been removed.
    pub(crate) fn part(&self, keep: impl Fn(K, &T) -> bool) -> Arena<K, T>
    where
        T: Clone,
    {
        let mut part = Arena { slots: vec![NONE; self.slots.len()], ..Arena::new() };
        for (key, value) in self.iter().filter(|&(key, value)| keep(key, value)) {
            part.restore(key, value.clone());
        }
        part
    }

    /// Moves each value into one of `num_parts` arenas, under its key. Returns the arenas, and the values for which `part_of` returns `None`.
    pub(crate) fn into_parts(self, num_parts: usize, part_of: impl Fn(K, &T) -> Option<usize>) -> (Vec<Arena<K, T>>, Vec<(K, T)>) {
        let mut keys = vec![NONE; self.chunks.iter().map(Vec::len).sum()];
        for (key, &slot) in self.slots.iter().enumerate().filter(|(_, slot)| **slot != NONE) {
            keys[slot as usize] = key as u32;
        }
        let mut parts: Vec<Arena<K, T>> = (0..num_parts).map(|_| Arena { slots: vec![NONE; self.slots.len()], ..Arena::new() }).collect();
        let mut others = Vec::new();
        for (slot, key) in self.chunks.into_iter().flatten().zip(keys) {
            let Slot::Full(value) = slot else { continue };
            match part_of(K::from_index(key), &value).and_then(|part| parts.get_mut(part)) {
                Some(part) => part.restore(K::from_index(key), value),
                None => others.push((K::from_index(key), value)),
            }
        }
        (parts, others)
    }

    /// Inserts a value under a key that was given out before and has no value.
    pub(crate) fn restore(&mut self, key: K, value: T) {
        self.slots[key.index() as usize] = self.push(value);
        self.live += 1;
    }

    /// Number of keys ever given out.
    pub(crate) fn num_keys(&self) -> usize {
        self.slots.len()
    }

    /// Number of values.
    pub(crate) fn len(&self) -> usize {
        self.live
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    impl Key for u32 {
        const WHAT: &'static str = "number";
        fn from_index(index: u32) -> u32 {
            index
        }
        fn index(self) -> u32 {
            self
        }
    }

    #[test]
    fn keys_are_new_and_slots_are_used_again() {
        let mut arena = Arena::<u32, String>::new();
        for i in 0..5000 {
            assert_eq!(arena.insert(i.to_string()).unwrap(), i);
        }
        for i in (0..5000).step_by(2) {
            assert_eq!(arena.remove(i), Some(i.to_string()));
            assert_eq!(arena.remove(i), None);
        }
        let chunks = arena.chunks.len();
        for i in 5000..7500 {
            assert_eq!(arena.insert(i.to_string()).unwrap(), i);
        }
        assert_eq!((arena.chunks.len(), arena.len(), arena.num_keys()), (chunks, 5000, 7500));
        assert!(arena.iter().all(|(k, v)| *v == k.to_string()));
        assert_eq!(arena.iter().count(), 5000);
        assert_eq!(arena.get(0), None);
        assert_eq!(arena.get(9999), None);
    }

    #[test]
    fn a_part_keeps_keys_and_grows_on() {
        let mut arena = Arena::<u32, String>::new();
        for i in 0..3000 {
            arena.insert(i.to_string()).unwrap();
        }
        arena.remove(7);
        let mut part = arena.part(|key, _| key % 7 == 0);
        assert_eq!((part.len(), part.num_keys()), (428, 3000));
        assert!(part.iter().all(|(key, value)| key % 7 == 0 && *value == key.to_string()));
        assert_eq!(part.remove(8), None);
        assert_eq!(part.get(7), None);
        assert_eq!(part.remove(14).as_deref(), Some("14"));
        assert_eq!(part.insert("new".into()).unwrap(), 3000);
        assert_eq!(part.get(3000).map(String::as_str), Some("new"));
        assert_eq!(part.get(21).map(String::as_str), Some("21"));
    }

    #[test]
    fn parts_share_out_the_values_and_keep_keys() {
        let mut arena = Arena::<u32, String>::new();
        for i in 0..3000 {
            arena.insert(i.to_string()).unwrap();
        }
        // The slot of a removed value is used again, so that slots and keys differ.
        arena.remove(7);
        arena.insert("3000".into()).unwrap();
        arena.remove(8);
        let (mut parts, others) = arena.into_parts(2, |key, _| (key % 3 < 2).then_some(key as usize % 3));
        assert!(parts.iter().all(|part| part.num_keys() == 3001));
        assert_eq!((parts[0].len(), parts[1].len(), others.len()), (1001, 999, 999));
        for (i, part) in parts.iter().enumerate() {
            assert!(part.iter().all(|(key, value)| key as usize % 3 == i && *value == key.to_string()));
        }
        assert!(others.iter().all(|(key, value)| key % 3 == 2 && *value == key.to_string()));
        assert_eq!(parts[1].insert("new".into()).unwrap(), 3001);
        assert_eq!(parts[1].remove(1).as_deref(), Some("1"));
    }
}
