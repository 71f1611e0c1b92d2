//! Lists of neighbours in two arrays.

/// The neighbours of each vertex, with the numbers of the edges to them.
#[derive(Debug)]
pub(super) struct Adjacency {
    starts: Vec<u32>,
    ends: Vec<(u32, u32)>,
}

impl Adjacency {
    /// Returns the neighbours along `edges`, which are vertex, neighbour and edge. Those of a vertex are in the order of `edges`.
    pub(super) fn new(n: usize, edges: impl Iterator<Item = (u32, u32, u32)> + Clone) -> Adjacency {
        let mut starts = vec![0u32; n + 1];
        for (vertex, ..) in edges.clone() {
            starts[vertex as usize + 1] += 1;
        }
        for i in 0..n {
            starts[i + 1] += starts[i];
        }
        let (mut next, mut ends) = (starts.clone(), vec![(0, 0); starts[n] as usize]);
        for (vertex, neighbour, edge) in edges {
            let place = &mut next[vertex as usize];
            ends[*place as usize] = (neighbour, edge);
            *place += 1;
        }
        Adjacency { starts, ends }
    }

    /// Returns the neighbours of a vertex, each with the number of the edge.
    pub(super) fn of(&self, vertex: u32) -> &[(u32, u32)] {
        &self.ends[self.starts[vertex as usize] as usize..self.starts[vertex as usize + 1] as usize]
    }
}
