//! Properties of layouts.

use flowmill_view::layout::{Boxes, GAP, Item, Layout, MAX_LAYERED_BOXES, Style, layout, ranks};
use proptest::prelude::*;

/// Returns the row and the left and right ends of each box.
fn places(layout: &Layout, widths: &[f32]) -> Vec<(usize, f32, f32)> {
    let mut places = vec![None; widths.len()];
    for (r, row) in layout.rows.iter().enumerate() {
        assert_eq!(row.items.len(), row.centres.len());
        for (item, centre) in row.items.iter().zip(&row.centres) {
            if let Item::Box(b) = *item {
                let half = widths[b as usize] / 2.0;
                assert_eq!(places[b as usize].replace((r, centre - half, centre + half)), None, "box {b} is placed twice");
            }
        }
    }
    places.into_iter().map(|place| place.expect("each box is placed")).collect()
}

fn check(widths: &[f32], edges: &[(u32, u32)], is_back: &[bool]) -> Layout {
    let boxes = Boxes { widths, edges, is_back, ..Boxes::default() };
    let made = layout(&boxes);
    let places = places(&made, widths);
    for row in &made.rows {
        let ends: Vec<(f32, f32)> = row
            .items
            .iter()
            .filter_map(|item| match *item {
                Item::Box(b) => Some((places[b as usize].1, places[b as usize].2)),
                Item::Bend(_) => None,
            })
            .collect();
        for pair in ends.windows(2) {
            assert!(pair[1].0 - pair[0].1 > 0.5, "boxes overlap: {pair:?}");
        }
    }
    if made.style == Style::Layered {
        for (e, &(a, b)) in edges.iter().enumerate().filter(|(_, (a, b))| a != b) {
            let (from, to) = (places[a as usize].0, places[b as usize].0);
            let is_right = if made.points_up[e] { from > to } else { from < to };
            assert!(is_right, "edge {e} leads from row {from} to row {to}");
        }
        let half = |item: &Item| if let Item::Box(b) = *item { widths[b as usize] / 2.0 } else { 0.0 };
        let ends = made.rows.iter().flat_map(|row| row.items.iter().zip(&row.centres)).map(|(item, x)| (x - half(item), x + half(item)));
        let (left, right) = ends.fold((0f32, 0f32), |(left, right), (a, b)| (left.min(a), right.max(b)));
        assert!((left + right).abs() < 0.5, "the middle of {left} to {right} is not 0");
    }
    assert_eq!(made, layout(&boxes), "layouts depend on their input alone");
    made
}

/// Boxes and edges, in which the first edges point from smaller to greater numbers.
fn graphs() -> impl Strategy<Value = (Vec<f32>, Vec<(u32, u32)>, Vec<bool>)> {
    (1usize..60).prop_flat_map(|n| {
        let widths = proptest::collection::vec(8f32..250.0, n);
        let edges = proptest::collection::vec((0..n as u32, 0..n as u32), 0..150);
        (widths, edges).prop_flat_map(|(widths, edges)| {
            let m = edges.len();
            (Just(widths), Just(edges), proptest::collection::vec(any::<bool>(), m))
        })
    })
}

proptest! {
    #[test]
    fn boxes_do_not_overlap_and_edges_point_down((widths, edges, _) in graphs()) {
        check(&widths, &edges, &[]);
    }

    #[test]
    fn edges_that_close_loops_may_be_known((widths, edges, is_back) in graphs()) {
        check(&widths, &edges, &is_back);
    }

    #[test]
    fn acyclic_edges_are_never_reversed((widths, edges, _) in graphs()) {
        let forward: Vec<(u32, u32)> = edges.into_iter().filter(|(a, b)| a < b).collect();
        let made = check(&widths, &forward, &[]);
        prop_assert!(made.points_up.iter().all(|up| !up));
    }

    #[test]
    fn bends_are_in_the_rows_between_the_ends((widths, edges, is_back) in graphs()) {
        let made = check(&widths, &edges, &is_back);
        let places = places(&made, &widths);
        let mut rows_of_bends = vec![usize::MAX; made.num_bends.iter().sum::<u32>() as usize];
        for (r, row) in made.rows.iter().enumerate() {
            row.items.iter().for_each(|item| if let Item::Bend(bend) = *item { rows_of_bends[bend as usize] = r });
        }
        let mut first = 0;
        for (e, &(a, b)) in edges.iter().enumerate() {
            let bends = &rows_of_bends[first..first + made.num_bends[e] as usize];
            first += bends.len();
            if !bends.is_empty() {
                let (from, to) = (places[a as usize].0, places[b as usize].0);
                let between: Vec<usize> = if from < to { (from + 1..to).collect() } else { (to + 1..from).rev().collect() };
                prop_assert_eq!(bends, between);
            }
        }
    }
}

#[test]
fn a_known_loop_edge_points_up_and_the_others_down() {
    let made = check(&[80.0; 3], &[(0, 1), (1, 2), (2, 0)], &[false, false, true]);
    assert_eq!(made.points_up, [false, false, true]);
}

#[test]
fn nothing_is_an_empty_layout() {
    let made = check(&[], &[], &[]);
    assert!(made.rows.is_empty());
}

#[test]
fn a_chain_is_a_straight_column() {
    let made = check(&[100.0; 20], &(0..19).map(|i| (i, i + 1)).collect::<Vec<_>>(), &[]);
    assert_eq!(made.rows.len(), 20);
    assert!(made.rows.iter().all(|row| row.centres[0].abs() < 1.0));
}

#[test]
fn siblings_of_one_parent_are_beside_each_other() {
    let made = check(&[100.0; 4], &[(0, 1), (0, 2), (0, 3)], &[]);
    assert_eq!(made.rows.iter().map(|row| row.items.len()).collect::<Vec<_>>(), [1, 3]);
    let centres = &made.rows[1].centres;
    assert!((centres[1] - centres[0] - 100.0 - GAP).abs() < 0.5 && (centres[1] - made.rows[0].centres[0]).abs() < 0.5);
}

#[test]
fn large_graphs_are_grids_in_which_producers_precede_consumers() {
    let n = MAX_LAYERED_BOXES as u32 + 100;
    let edges: Vec<(u32, u32)> = (0..n - 1).map(|i| (i, i + 1)).collect();
    let made = check(&vec![90.0; n as usize], &edges, &[]);
    assert_eq!(made.style, Style::Grid);
    let order: Vec<u32> =
        made.rows.iter().flat_map(|row| &row.items).filter_map(|item| if let Item::Box(b) = item { Some(*b) } else { None }).collect();
    assert_eq!(order, (0..n).collect::<Vec<_>>());
    assert!(made.rows.len() > 10 && made.rows.len() < 100, "{} rows", made.rows.len());
}

/// Layers of `width` boxes, each with an edge to three of the next layer, and edges over many layers.
fn lattice(depth: u32, width: u32) -> (Vec<f32>, Vec<(u32, u32)>) {
    let mut edges = Vec::new();
    for layer in 0..depth - 1 {
        for i in 0..width {
            edges.extend([i, (i + 1) % width, (i * 7 + 3) % width].map(|j| (layer * width + i, (layer + 1) * width + j)));
        }
        edges.push((0, (layer + 1) * width));
    }
    (vec![80.0; (depth * width) as usize], edges)
}

#[test]
fn effort_grows_in_proportion_to_the_graph() {
    let steps = |depth, width| {
        let (widths, edges) = lattice(depth, width);
        let made = check(&widths, &edges, &[]);
        let num_bends = made.num_bends.iter().sum::<u32>() as usize;
        assert!(num_bends <= 6 * (widths.len() + edges.len()));
        made.num_steps as f64 / (widths.len() + edges.len() + num_bends) as f64
    };
    for (small, large) in [(steps(10, 5), steps(150, 5)), (steps(20, 40), steps(20, 4000))] {
        assert!(large < 2.5 * small, "{small} and {large} steps per box, edge and bend");
    }
}

#[test]
fn boxes_of_a_row_cannot_reach_each_other() {
    let edges = [(0, 1), (1, 2), (0, 3), (3, 2)];
    let rows = ranks(&Boxes { widths: &[50.0; 4], edges: &edges, is_back: &[], ..Boxes::default() });
    assert_eq!(rows[1], rows[3]);
    assert!(rows[0] < rows[1] && rows[1] < rows[2]);
}

#[test]
fn ports_are_in_the_first_and_the_last_row() {
    // 0 leads to 3 alone, and 4 is reached from 1 alone.
    let edges = [(1, 2), (2, 3), (0, 3), (1, 4)];
    let rows = ranks(&Boxes { widths: &[50.0; 5], edges: &edges, top: Some(0), bottom: Some(4), ..Boxes::default() });
    assert_eq!((rows[0], rows[4]), (0, 3));
    assert!(rows[..4].iter().all(|&row| row < 3));
}
