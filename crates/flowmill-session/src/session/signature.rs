//! The signature of a run, which is the key of its plan: the names of its feeds, fetches and targets.

/// The names of feeds, fetches, targets and connections, in order.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Signature {
    /// `feeds`, `fetches`, `targets`, and both ends of each connection: a line for each name, a form feed between lists. One allocation, one hash.
    text: String,
}

impl Signature {
    /// Makes the signature of these names.
    pub(crate) fn new(feeds: &[&str], fetches: &[&str], targets: &[&str], connections: &[(&str, &str)]) -> Signature {
        // A newline occurs in no node name, a form feed neither.
        let ends: Vec<&str> = connections.iter().flat_map(|&(from, to)| [from, to]).collect();
        let lists = [feeds, fetches, targets, &ends];
        let length = lists.into_iter().flatten().map(|n| n.len() + 1).sum::<usize>() + 3;
        let mut text = String::with_capacity(length);
        for (i, names) in lists.into_iter().enumerate() {
            if i > 0 {
                text.push('\u{c}');
            }
            for name in names {
                text.push_str(name);
                text.push('\n');
            }
        }
        Signature { text }
    }

    /// Returns the feeds, fetches and targets.
    pub(crate) fn lists(&self) -> [Vec<&str>; 3] {
        let mut parts = self.parts();
        std::array::from_fn(|_| parts.next().unwrap_or_default())
    }

    /// Returns the connections.
    pub(crate) fn connections(&self) -> Vec<(&str, &str)> {
        let ends = self.parts().nth(3).unwrap_or_default();
        ends.as_chunks().0.iter().map(|&[from, to]| (from, to)).collect()
    }

    fn parts(&self) -> impl Iterator<Item = Vec<&str>> {
        self.text.splitn(4, '\u{c}').map(|part| part.split_terminator('\n').collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_come_back() {
        let s = Signature::new(&["x:0", "y"], &[], &["init"], &[]);
        assert_eq!(s.lists(), [vec!["x:0", "y"], vec![], vec!["init"]]);
        assert_ne!(s, Signature::new(&["x:0"], &["y"], &["init"], &[]));
        let s = Signature::new(&[], &["y"], &[], &[("a", "b"), ("c:1", "d")]);
        assert_eq!((s.lists(), s.connections()), ([vec![], vec!["y"], vec![]], vec![("a", "b"), ("c:1", "d")]));
    }
}
