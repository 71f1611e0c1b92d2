//! The order in which one thread fires nodes that share weights.

use super::support::*;
use flowmill_runtime::plan::{FrameId, NodeKind, PlanEdge};
use flowmill_runtime::program::{FuseOptions, fuse};
use flowmill_runtime::{Cost, KernelContext, Plan};
use flowmill_tensor::Tensor;
use std::sync::{Arc, Mutex};

const ROOT: FrameId = FrameId::ROOT;
const LAYERS: usize = 3;
const STEPS: usize = 5;

/// The layer and step of a cell.
type Cell = (usize, usize);

/// An unrolled recurrent network. Each cell has `in_cell` products, each with weights of `elements` elements, and a concatenation in front of each. The graph has
/// the cells in the order `cells`.
fn network(in_cell: usize, elements: usize, cells: &[Cell], log: &Arc<Mutex<Vec<Cell>>>) -> Builder {
    let mut b = Builder::new();
    let weights: Vec<PlanEdge> = (0..LAYERS * in_cell)
        .map(|i| {
            let value = Tensor::vector(&vec![i as i64; elements]).unwrap();
            out(b.node("Const", NodeKind::Const(value), ROOT, &[], 1, None))
        })
        .collect();
    let x = b.arg();
    let mut hidden = [[x; STEPS + 1]; LAYERS];
    for &(layer, step) in cells {
        let below = if layer > 0 { hidden[layer - 1][step + 1] } else { x };
        let mut state = hidden[layer][step];
        for &weights in &weights[layer * in_cell..][..in_cell] {
            // A constant of each cell, like the bounds of a slice.
            let zero = b.constant(ROOT, 0);
            let both = out(b.op(ROOT, &[below, state, zero], pure(|x| x[0].wrapping_add(x[1]).wrapping_add(x[2]))));
            let log = log.clone();
            let kernel = move |ctx: &mut KernelContext<'_>| {
                log.lock().unwrap().push((layer, step));
                ctx.forward(0, 0)
            };
            let product = out(b.op(ROOT, &[both, weights], Some(Arc::new(Fun(kernel, Cost::Expensive)))));
            state = out(b.op(ROOT, &[product], pure(|x| x[0].wrapping_add(1))));
        }
        hidden[layer][step + 1] = state;
    }
    b.ret(hidden[LAYERS - 1][STEPS]);
    b
}

/// Returns the cells in the order in which one thread runs them: in a plan of single nodes, in one whose cheap nodes are compiled, and in one that is a single program.
fn orders(in_cell: usize, elements: usize, cells: &[Cell]) -> [Vec<Cell>; 3] {
    let log = Arc::default();
    let b = network(in_cell, elements, cells, &log);
    let fused = |single_thread| {
        let fused = fuse(b.graph.clone(), FuseOptions { single_thread, ..FuseOptions::ALL }).unwrap();
        assert!(fused.nodes.iter().any(|n| &*n.op == "_Strand"), "nothing was fused");
        Arc::new(Plan::new(fused).unwrap())
    };
    [b.plan(), fused(false), fused(true)].map(|plan| {
        let [alone, ..] = all_options();
        run_with(&plan, &[1], alone).unwrap();
        let mut order = std::mem::take(&mut *log.lock().unwrap());
        order.dedup();
        order
    })
}

#[test]
fn the_steps_of_a_layer_that_share_large_weights_run_together() {
    const LARGE: usize = 1 << 16;
    const SMALL: usize = 16;
    let by_layers: Vec<Cell> = (0..LAYERS).flat_map(|layer| (0..STEPS).map(move |step| (layer, step))).collect();
    let by_steps: Vec<Cell> = (0..STEPS).flat_map(|step| (0..LAYERS).map(move |layer| (layer, step))).collect();
    for in_cell in [1, 2] {
        for cells in [&by_layers, &by_steps] {
            assert_eq!(orders(in_cell, LARGE, cells), [by_layers.clone(), by_layers.clone(), by_layers.clone()]);
        }
        // Small weights have no order of their own.
        assert!(orders(in_cell, SMALL, &by_steps).iter().all(|order| *order != by_layers));
    }
}
