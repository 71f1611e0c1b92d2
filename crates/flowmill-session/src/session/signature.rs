//! The signature of a run, which is the key of its plan: the names of its feeds, fetches and targets.

use super::CallableOptions;

/// The number of lists of a signature.
const NUM_LISTS: usize = 6;

/// The names of feeds, fetches, targets and connections, and of the feeds and fetches that are in the memory of devices, in order.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Signature {
    /// `feeds`, `fetches`, `targets`, both ends of each connection, and feeds and fetches with their devices: a line for each name, a form feed between
    /// lists. One allocation, one hash.
    text: String,
}

impl Signature {
    /// Makes the signature of these names.
    pub(crate) fn new(options: &CallableOptions<'_>) -> Signature {
        // A newline occurs in no node name, a form feed neither.
        let CallableOptions { feeds, fetches, targets, .. } = *options;
        let pairs = [options.connections, options.feed_devices, options.fetch_devices];
        let [connections, feed_devices, fetch_devices] = pairs.map(|pairs| pairs.iter().flat_map(|&(a, b)| [a, b]).collect::<Vec<&str>>());
        let lists = [feeds, fetches, targets, &connections, &feed_devices, &fetch_devices];
        let length = lists.into_iter().flatten().map(|n| n.len() + 1).sum::<usize>() + NUM_LISTS - 1;
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
        self.pairs(3)
    }

    /// Returns the feeds that are in the memory of devices, with these devices.
    pub(crate) fn feed_devices(&self) -> Vec<(&str, &str)> {
        self.pairs(4)
    }

    /// Returns the fetches that stay in the memory of devices, with these devices.
    pub(crate) fn fetch_devices(&self) -> Vec<(&str, &str)> {
        self.pairs(5)
    }

    fn pairs(&self, list: usize) -> Vec<(&str, &str)> {
        let names = self.parts().nth(list).unwrap_or_default();
        names.as_chunks().0.iter().map(|&[a, b]| (a, b)).collect()
    }

    fn parts(&self) -> impl Iterator<Item = Vec<&str>> {
        self.text.splitn(NUM_LISTS, '\u{c}').map(|part| part.split_terminator('\n').collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_come_back() {
        let ends = CallableOptions { feeds: &["x:0", "y"], targets: &["init"], ..CallableOptions::default() };
        let s = Signature::new(&ends);
        assert_eq!(s.lists(), [vec!["x:0", "y"], vec![], vec!["init"]]);
        assert_ne!(s, Signature::new(&CallableOptions { feeds: &["x:0"], fetches: &["y"], ..ends }));
        let on_gpu = CallableOptions { fetches: &["y"], fetch_devices: &[("y", "/gpu:0")], ..ends };
        assert_ne!(Signature::new(&on_gpu), Signature::new(&CallableOptions { fetch_devices: &[], ..on_gpu }));
        let s = Signature::new(&CallableOptions { connections: &[("a", "b"), ("c:1", "d")], feed_devices: &[("y", "/gpu:1")], ..on_gpu });
        assert_eq!((s.lists(), s.connections()), ([vec!["x:0", "y"], vec!["y"], vec!["init"]], vec![("a", "b"), ("c:1", "d")]));
        assert_eq!((s.feed_devices(), s.fetch_devices()), (vec![("y", "/gpu:1")], vec![("y", "/gpu:0")]));
    }
}
