//! What a run asks for, as the key of its plan.

/// Feeds, fetches and targets by name, in their order.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Signature {
    /// Names with lengths: `feeds`, `fetches`, `targets`, each preceded by its number of names. One allocation, one hash.
    text: String,
}

impl Signature {
    /// The key of these names.
    pub fn new(feeds: &[&str], fetches: &[&str], targets: &[&str]) -> Signature {
        // A newline occurs in no node name, a form feed neither.
        let length = feeds.iter().chain(fetches).chain(targets).map(|n| n.len() + 1).sum::<usize>() + 2;
        let mut text = String::with_capacity(length);
        for (i, names) in [feeds, fetches, targets].into_iter().enumerate() {
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

    /// The three lists.
    pub fn lists(&self) -> [Vec<&str>; 3] {
        let mut parts = self.text.splitn(3, '\u{c}').map(|part| part.split_terminator('\n').collect());
        std::array::from_fn(|_| parts.next().unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_come_back() {
        let s = Signature::new(&["x:0", "y"], &[], &["init"]);
        assert_eq!(s.lists(), [vec!["x:0", "y"], vec![], vec!["init"]]);
        assert_ne!(s, Signature::new(&["x:0"], &["y"], &["init"]));
    }
}
