//! The order of boxes and bends in their rows, by barycentres.

use super::adjacency::Adjacency;
use super::{Acyclic, Boxes, Item, MAX_BENDS};

/// The sweeps down and up.
const SWEEPS: usize = 12;
/// After this many sweeps without fewer crossings, the order is kept.
const PATIENCE: usize = 4;

/// The rows with their boxes and bends, which are the vertices here: boxes have the numbers below `num_boxes`, bends follow.
pub(super) struct Layers {
    pub(super) num_boxes: usize,
    /// The number of bends of each edge.
    pub(super) num_bends: Vec<u32>,
    pub(super) rows: Vec<Vec<u32>>,
    /// The neighbours in the row above, and in the row below.
    pub(super) above: Adjacency,
    pub(super) below: Adjacency,
    /// The place of each vertex in its row.
    places: Vec<u32>,
}

impl Layers {
    /// Adds bends to edges that cross rows, the shortest edges first, as long as there are few enough.
    pub(super) fn new(boxes: &Boxes<'_>, acyclic: &Acyclic, ranks: &[u32]) -> Layers {
        let n = boxes.widths.len();
        let span = |&(a, b): &(u32, u32)| ranks[b as usize].saturating_sub(ranks[a as usize]);
        let mut by_span: Vec<u32> = (0..acyclic.edges.len() as u32).collect();
        by_span.sort_by_key(|&e| (span(&acyclic.edges[e as usize]), e));
        let (mut left, mut num_bends) = (MAX_BENDS * (n + acyclic.edges.len()), vec![0u32; acyclic.edges.len()]);
        let mut is_routed = vec![false; acyclic.edges.len()];
        for e in by_span {
            let needed = span(&acyclic.edges[e as usize]).saturating_sub(1);
            if needed as usize > left {
                break;
            }
            left -= needed as usize;
            (num_bends[e as usize], is_routed[e as usize]) = (needed, true);
        }
        let mut ranks = ranks.to_vec();
        let mut links: Vec<(u32, u32)> = Vec::new();
        for (e, &(a, b)) in acyclic.edges.iter().enumerate().filter(|&(e, (a, b))| a != b && is_routed[e]) {
            let first = ranks.len() as u32;
            let bends: Vec<u32> = (first..first + num_bends[e]).collect();
            ranks.resize(ranks.len() + num_bends[e] as usize, 0);
            // Bends are numbered from the source of the edge, which is at the lower end if the edge was reversed.
            let downwards: Vec<u32> = if acyclic.is_reversed[e] { bends.into_iter().rev().collect() } else { bends };
            let first_rank = ranks[a as usize] + 1;
            for (i, &bend) in downwards.iter().enumerate() {
                ranks[bend as usize] = first_rank + i as u32;
            }
            let path: Vec<u32> = std::iter::once(a).chain(downwards).chain([b]).collect();
            links.extend(path.windows(2).map(|pair| (pair[0], pair[1])));
        }
        let total = ranks.len();
        let below = Adjacency::new(total, links.iter().map(|&(a, b)| (a, b, 0)));
        let above = Adjacency::new(total, links.iter().map(|&(a, b)| (b, a, 0)));
        let num_rows = ranks.iter().max().map_or(0, |&last| last as usize + 1);
        let mut rows = vec![Vec::new(); num_rows];
        for v in depth_first(total, &above, &below) {
            rows[ranks[v as usize] as usize].push(v);
        }
        let mut layers = Layers { num_boxes: n, num_bends, rows, above, below, places: vec![0; total] };
        layers.number();
        layers
    }

    /// Returns a vertex as an item of a row.
    pub(super) fn item(&self, vertex: u32) -> Item {
        match (vertex as usize).checked_sub(self.num_boxes) {
            None => Item::Box(vertex),
            Some(bend) => Item::Bend(bend as u32),
        }
    }

    fn number(&mut self) {
        for row in &self.rows {
            for (place, &v) in row.iter().enumerate() {
                self.places[v as usize] = place as u32;
            }
        }
    }

    /// Sorts a row by the mean places of the neighbours in the row before. A vertex without neighbours keeps its place.
    fn sort_row(&mut self, row: usize, is_down: bool) -> u64 {
        let (mut keyed, mut num_steps) = (Vec::with_capacity(self.rows[row].len()), 0);
        for &v in &self.rows[row] {
            let neighbours = if is_down { self.above.of(v) } else { self.below.of(v) };
            num_steps += 1 + neighbours.len() as u64;
            let sum: f64 = neighbours.iter().map(|&(u, _)| f64::from(self.places[u as usize])).sum();
            let place = self.places[v as usize];
            keyed.push((if neighbours.is_empty() { f64::from(place) } else { sum / neighbours.len() as f64 }, place, v));
        }
        keyed.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        for (place, &(.., v)) in keyed.iter().enumerate() {
            self.places[v as usize] = place as u32;
        }
        self.rows[row] = keyed.into_iter().map(|(.., v)| v).collect();
        num_steps
    }

    /// Counts the crossings between all rows.
    fn crossings(&self) -> u64 {
        let mut count = 0;
        for (row, next) in self.rows.iter().zip(self.rows.iter().skip(1)) {
            let mut seen = Counts::new(next.len());
            for &v in row {
                let targets = self.below.of(v);
                count += targets.iter().map(|&(u, _)| seen.greater_than(self.places[u as usize] as usize)).sum::<u64>();
                targets.iter().for_each(|&(u, _)| seen.add(self.places[u as usize] as usize));
            }
        }
        count
    }
}

/// Returns all vertices in the order of a depth-first search, so that connected ones are near each other.
fn depth_first(n: usize, above: &Adjacency, below: &Adjacency) -> Vec<u32> {
    let (mut seen, mut order, mut stack) = (vec![false; n], Vec::with_capacity(n), Vec::new());
    for start in (0..n as u32).filter(|&v| above.of(v).is_empty()).chain(0..n as u32) {
        stack.push(start);
        while let Some(v) = stack.pop() {
            if std::mem::replace(&mut seen[v as usize], true) {
                continue;
            }
            order.push(v);
            stack.extend(below.of(v).iter().rev().map(|&(u, _)| u).filter(|&u| !seen[u as usize]));
        }
    }
    order
}

/// Orders the rows. Returns the layers and the number of steps.
pub(super) fn order(mut layers: Layers) -> (Layers, u64) {
    let (mut best, mut fewest) = (layers.rows.clone(), layers.crossings());
    let (mut num_steps, mut num_worse) = (0, 0);
    for sweep in 0..SWEEPS {
        if fewest == 0 || num_worse == PATIENCE {
            break;
        }
        let n = layers.rows.len();
        if sweep % 2 == 0 {
            (1..n).for_each(|row| num_steps += layers.sort_row(row, true));
        } else {
            (0..n.saturating_sub(1)).rev().for_each(|row| num_steps += layers.sort_row(row, false));
        }
        let crossings = layers.crossings();
        num_worse += 1;
        if crossings < fewest {
            (fewest, num_worse) = (crossings, 0);
            best.clone_from(&layers.rows);
        }
    }
    layers.rows = best;
    layers.number();
    (layers, num_steps)
}

/// Counts of values below `n`, in a tree (Fenwick's).
struct Counts {
    sums: Vec<u64>,
    total: u64,
}

impl Counts {
    fn new(n: usize) -> Counts {
        Counts { sums: vec![0; n + 1], total: 0 }
    }

    fn add(&mut self, value: usize) {
        let mut i = value + 1;
        while let Some(sum) = self.sums.get_mut(i) {
            *sum += 1;
            i += i & i.wrapping_neg();
        }
        self.total += 1;
    }

    fn greater_than(&self, value: usize) -> u64 {
        let (mut i, mut at_most) = (value + 1, 0);
        while i > 0 {
            at_most += self.sums[i];
            i &= i - 1;
        }
        self.total - at_most
    }
}
