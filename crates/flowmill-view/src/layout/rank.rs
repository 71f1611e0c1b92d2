//! Acyclic orientation of edges, and the rows of boxes.

use super::adjacency::Adjacency;
use super::{Acyclic, Boxes};

/// The state of a vertex in a depth-first search.
#[derive(Clone, Copy, PartialEq)]
enum State {
    New,
    Open,
    Done,
}

/// Reverses the edges that close cycles: those that are known to, and the back edges of a depth-first search that starts at the boxes without predecessors.
pub(super) fn orient(boxes: &Boxes<'_>) -> Acyclic {
    let n = boxes.widths.len();
    let mut is_reversed: Vec<bool> = (0..boxes.edges.len()).map(|e| boxes.is_back.get(e).copied().unwrap_or(false)).collect();
    let turned = |e: usize, is_reversed: &[bool]| {
        let (a, b) = boxes.edges[e];
        if is_reversed[e] { (b, a) } else { (a, b) }
    };
    let proper: Vec<u32> = (0..boxes.edges.len() as u32).filter(|&e| boxes.edges[e as usize].0 != boxes.edges[e as usize].1).collect();
    let adjacency = |is_reversed: &[bool], forward: bool| {
        let ends = |&e: &u32| {
            let (a, b) = turned(e as usize, is_reversed);
            if forward { (a, b, e) } else { (b, a, e) }
        };
        Adjacency::new(n, proper.iter().map(ends))
    };
    let (successors, predecessors) = (adjacency(&is_reversed, true), adjacency(&is_reversed, false));
    let starts = (0..n as u32).filter(|&v| predecessors.of(v).is_empty()).chain(0..n as u32);
    let (mut state, mut stack, mut num_steps) = (vec![State::New; n], Vec::new(), 0u64);
    for start in starts {
        if state[start as usize] != State::New {
            continue;
        }
        state[start as usize] = State::Open;
        stack.push((start, 0));
        while let Some((vertex, next)) = stack.pop() {
            num_steps += 1;
            let Some(&(target, edge)) = successors.of(vertex).get(next) else {
                state[vertex as usize] = State::Done;
                continue;
            };
            stack.push((vertex, next + 1));
            match state[target as usize] {
                State::New => {
                    state[target as usize] = State::Open;
                    stack.push((target, 0));
                }
                State::Open => is_reversed[edge as usize] ^= true,
                State::Done => {}
            }
        }
    }
    let (successors, predecessors) = (adjacency(&is_reversed, true), adjacency(&is_reversed, false));
    let edges = (0..boxes.edges.len()).map(|e| turned(e, &is_reversed)).collect();
    Acyclic { edges, is_reversed, successors, predecessors, num_steps }
}

/// Returns the row of each box: the longest path from a box without predecessors. Boxes with more consumers than producers are then moved down to their first consumer, so that edges are short.
pub(super) fn ranks(boxes: &Boxes<'_>, acyclic: &Acyclic) -> Vec<u32> {
    let n = boxes.widths.len();
    let mut ranks = vec![0u32; n];
    let order = topological_order(n, acyclic);
    for &v in &order {
        for &(target, _) in acyclic.successors.of(v) {
            ranks[target as usize] = ranks[target as usize].max(ranks[v as usize] + 1);
        }
    }
    for &v in order.iter().rev() {
        let (successors, predecessors) = (acyclic.successors.of(v), acyclic.predecessors.of(v));
        if successors.len() > predecessors.len()
            && let Some(first) = successors.iter().map(|&(target, _)| ranks[target as usize]).min()
        {
            ranks[v as usize] = first.saturating_sub(1);
        }
    }
    if let Some(top) = boxes.top.filter(|&top| acyclic.predecessors.of(top).is_empty()) {
        ranks[top as usize] = 0;
    }
    if let Some(bottom) = boxes.bottom.filter(|&bottom| acyclic.successors.of(bottom).is_empty()) {
        ranks[bottom as usize] = 0;
        ranks[bottom as usize] = ranks.iter().max().map_or(0, |last| last + 1);
    }
    ranks
}

/// Returns the boxes, each after its predecessors.
pub(super) fn topological_order(n: usize, acyclic: &Acyclic) -> Vec<u32> {
    let mut missing: Vec<u32> = (0..n as u32).map(|v| acyclic.predecessors.of(v).len() as u32).collect();
    let mut order: Vec<u32> = (0..n as u32).filter(|&v| missing[v as usize] == 0).collect();
    let mut next = 0;
    while let Some(&v) = order.get(next) {
        next += 1;
        for &(target, _) in acyclic.successors.of(v) {
            missing[target as usize] -= 1;
            if missing[target as usize] == 0 {
                order.push(target);
            }
        }
    }
    order
}
