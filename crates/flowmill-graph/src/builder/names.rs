//! Names that nothing in a graph has yet.

use rustc_hash::FxHashMap;
use std::borrow::Cow;

/// The names that operations and name scopes of a graph use. Case does not distinguish them, since names become files' names elsewhere.
#[derive(Clone, Debug, Default)]
pub(super) struct UniqueNames {
    /// The number of requests for a name, by lower-case name.
    in_use: FxHashMap<String, u32>,
}

impl UniqueNames {
    /// Counts a name as used.
    pub(super) fn mark(&mut self, name: &str) {
        let key = lower(name);
        if !self.in_use.contains_key(&*key) {
            self.in_use.insert(key.into_owned(), 1);
        }
    }

    /// Counts the names that another graph uses as used.
    pub(super) fn mark_all(&mut self, others: &UniqueNames) {
        for (key, &times) in &others.in_use {
            let count = self.in_use.entry(key.clone()).or_default();
            *count = times.max(*count);
        }
    }

    /// `name`, or the first of `name_1`, `name_2`, … that is free.
    pub(super) fn unique(&mut self, name: &str, mark_as_used: bool) -> String {
        let key = lower(name);
        let times = match self.in_use.get_mut(&*key) {
            Some(times) => {
                let before = *times;
                *times += u32::from(mark_as_used);
                before
            }
            None => {
                if mark_as_used {
                    self.in_use.insert(key.into_owned(), 1);
                }
                return name.to_owned();
            }
        };
        let mut i = times;
        let mut candidate = numbered(&key, i);
        while self.in_use.contains_key(&candidate) {
            i += 1;
            candidate = numbered(&key, i);
        }
        let found = if *key == *name { candidate.clone() } else { numbered(name, i) };
        if mark_as_used {
            self.in_use.insert(candidate, 1);
        }
        found
    }
}

/// `name_i`.
fn numbered(name: &str, i: u32) -> String {
    [name, "_", &i.to_string()].concat()
}

/// A name in lower case, the name itself if it is.
fn lower(name: &str) -> Cow<'_, str> {
    let is_lower = name.bytes().all(|b| b.is_ascii() && !b.is_ascii_uppercase());
    if is_lower { Cow::Borrowed(name) } else { Cow::Owned(name.to_lowercase()) }
}
