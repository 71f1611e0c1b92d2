//! Names that nothing in a graph has yet.

use rustc_hash::FxHashMap;

/// The names that operations and name scopes of a graph use. Case does not distinguish them, since names become files' names elsewhere.
#[derive(Clone, Debug, Default)]
pub(super) struct UniqueNames {
    /// By lower-case name, how often it was asked for.
    in_use: FxHashMap<String, u32>,
}

impl UniqueNames {
    /// Counts a name as used.
    pub(super) fn mark(&mut self, name: &str) {
        self.in_use.entry(name.to_lowercase()).or_insert(1);
    }

    /// `name`, or the first of `name_1`, `name_2`, … that is free.
    pub(super) fn unique(&mut self, name: &str, mark_as_used: bool) -> String {
        let key = name.to_lowercase();
        let times = self.in_use.get(&key).copied().unwrap_or(0);
        if mark_as_used {
            self.in_use.insert(key.clone(), times + 1);
        }
        if times == 0 {
            return name.to_owned();
        }
        let mut i = times;
        let mut candidate = format!("{key}_{i}");
        while self.in_use.contains_key(&candidate) {
            i += 1;
            candidate = format!("{key}_{i}");
        }
        if mark_as_used {
            self.in_use.insert(candidate, 1);
        }
        format!("{name}_{i}")
    }
}
