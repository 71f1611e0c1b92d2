//! The x coordinates of ordered rows: each item is placed near its neighbours, in sweeps down and up.

use super::order::Layers;
use super::{BEND_GAP, GAP, Row};

const SWEEPS: usize = 16;
/// The weight of a link between two bends, which keeps long edges straight.
const BEND_WEIGHT: f32 = 12.0;

/// Places the rows. Returns them and the number of steps.
pub(super) fn place(layers: &Layers, widths: &[f32]) -> (Vec<Row>, u64) {
    let width = |v: u32| widths.get(v as usize).copied().unwrap_or(0.0);
    let is_bend = |v: u32| v as usize >= layers.num_boxes;
    let gap = |a: u32, b: u32| if is_bend(a) || is_bend(b) { BEND_GAP } else { GAP };
    let mut centres = vec![0f32; layers.num_boxes + layers.num_bends.iter().sum::<u32>() as usize];
    let mut num_steps = 0;
    let mut place_row = |row: &[u32], centres: &mut [f32], wanted: &[(f32, f32)]| {
        let distances: Vec<f32> = row.windows(2).map(|pair| (width(pair[0]) + width(pair[1])) / 2.0 + gap(pair[0], pair[1])).collect();
        for (&v, x) in row.iter().zip(separate(wanted, &distances)) {
            centres[v as usize] = x;
        }
        num_steps += row.len() as u64;
    };
    for row in &layers.rows {
        place_row(row, &mut centres, &vec![(0.0, 1.0); row.len()]);
    }
    let n = layers.rows.len();
    for sweep in 0..SWEEPS {
        let is_down = sweep % 2 == 0;
        for i in 0..n {
            let row = &layers.rows[if is_down { i } else { n - 1 - i }];
            let uses_both = sweep + 2 >= SWEEPS;
            let wanted: Vec<(f32, f32)> = row
                .iter()
                .map(|&v| {
                    let (above, below) = (layers.above.of(v), layers.below.of(v));
                    let (mut sum, mut weights) = (0.0, 0.0);
                    let used = [(above, is_down || uses_both), (below, !is_down || uses_both)];
                    for &(u, _) in used.into_iter().filter(|(_, is_used)| *is_used).flat_map(|(neighbours, _)| neighbours) {
                        let weight = if is_bend(u) && is_bend(v) { BEND_WEIGHT } else { 1.0 };
                        (sum, weights) = (sum + weight * centres[u as usize], weights + weight);
                    }
                    if weights > 0.0 { (sum / weights, weights) } else { (centres[v as usize], 0.1) }
                })
                .collect();
            place_row(row, &mut centres, &wanted);
        }
    }
    // Sweeps can move all rows together. The middle of the picture is 0, by which callers align what they add.
    let (mut left, mut right) = (f32::INFINITY, f32::NEG_INFINITY);
    for &v in layers.rows.iter().flatten() {
        let (centre, half) = (centres[v as usize], width(v) / 2.0);
        (left, right) = (left.min(centre - half), right.max(centre + half));
    }
    let middle = if left < right { (left + right) / 2.0 } else { 0.0 };
    let rows = layers.rows.iter().map(|row| Row {
        items: row.iter().map(|&v| layers.item(v)).collect(),
        centres: row.iter().map(|&v| centres[v as usize] - middle).collect(),
    });
    (rows.collect(), num_steps)
}

/// Returns the positions of least weighted squared distance to the wanted ones, which are position and weight, such that each is at least so far from the one
/// before it. This is an isotonic regression, which pools neighbours that would come too close.
pub(super) fn separate(wanted: &[(f32, f32)], distances: &[f32]) -> Vec<f32> {
    /// Neighbours at their least distances: the weighted sum of positions, the sum of weights, the number of items.
    struct Pool {
        sum: f64,
        weight: f64,
        count: usize,
    }
    let (mut pools, mut offset, mut offsets): (Vec<Pool>, f64, Vec<f64>) = (Vec::new(), 0.0, Vec::with_capacity(wanted.len()));
    for (i, &(position, weight)) in wanted.iter().enumerate() {
        offset += if i > 0 { f64::from(distances[i - 1]) } else { 0.0 };
        offsets.push(offset);
        let weight = f64::from(weight).max(1e-3);
        pools.push(Pool { sum: (f64::from(position) - offset) * weight, weight, count: 1 });
        while let [.., before, last] = &pools[..] {
            if before.sum * last.weight <= last.sum * before.weight {
                break;
            }
            let Some(last) = pools.pop() else { break };
            if let Some(before) = pools.last_mut() {
                *before = Pool { sum: before.sum + last.sum, weight: before.weight + last.weight, count: before.count + last.count };
            }
        }
    }
    let starts = pools.iter().flat_map(|pool| std::iter::repeat_n(pool.sum / pool.weight, pool.count));
    starts.zip(offsets).map(|(start, offset)| (start + offset) as f32).collect()
}
