//! `CTCBeamSearchDecoder`: the most likely sequences of labels, found among the `beam_width` best prefixes at each time (Graves, figure 7.5).

use super::{decoder_sizes, loss::log_sum, sparse};
use crate::from_fn::from_fn;
use crate::number::Ordered;
use flowmill_runtime::{Kernel, KernelContext, KernelInit, KernelRegistry};
use flowmill_tensor::{Allocator, Result, bail, for_dtype};
use num_traits::Float;
use std::collections::HashMap;
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("CTCBeamSearchDecoder", make);
}

fn make(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let (width, count): (i64, i64) = (init.attrs.get("beam_width")?, init.attrs.get("top_paths")?);
    let merge = init.attrs.get_or("merge_repeated", true)?;
    let (Ok(width @ 1..), Ok(count @ 1..)) = (usize::try_from(width), usize::try_from(count)) else {
        bail!(InvalidArgument, "beam_width and top_paths must be positive, got {width} and {count}");
    };
    for_dtype!(init.dtype("T")?, [f32, f64], T => from_fn(move |ctx| decode::<T>(ctx, width, count, merge)), _ => init.unsupported())
}

/// Computes the op. Inputs: logits, `[time, batch, classes]`, and the batch's lengths. Outputs: the indices of all paths, the values of all, the
/// shapes of all, then the logarithms `[batch, paths]`.
fn decode<T: Ordered + Float>(ctx: &mut KernelContext<'_>, width: usize, count: usize, merge: bool) -> Result<()> {
    if ctx.input(0)?.rank() == 3 && ctx.input(0)?.num_elements() == 0 {
        bail!(InvalidArgument, "inputs must not be empty");
    }
    let ([_, batch, classes], lengths) = decoder_sizes(ctx)?;
    if count > width {
        bail!(InvalidArgument, "requested more paths than the beam width.");
    }
    let _reserved = ctx.allocator().reserve::<Vec<Vec<i64>>>(count.saturating_mul(batch))?;
    let x = ctx.input(0)?.as_slice::<T>()?;
    let mut paths = vec![Vec::with_capacity(batch); count];
    let mut scores = Vec::with_capacity(batch * count);
    for (b, &length) in lengths.iter().enumerate() {
        let mut beam = Beam::new(width);
        for t in 0..usize::try_from(length).unwrap_or(0) {
            ctx.step().cancel.check()?;
            beam.step(ctx.allocator(), &x[(t * batch + b) * classes..][..classes])?;
        }
        if count > beam.leaves.len() {
            bail!(InvalidArgument, "Less leaves in the beam search than requested.");
        }
        for (path, &leaf) in paths.iter_mut().zip(&beam.leaves) {
            path.push(beam.labels(leaf, merge));
            scores.push(beam.nodes[leaf].now.total);
        }
    }
    let scores = ctx.allocator().from_slice([batch, count], &scores)?;
    for (i, sequences) in paths.iter().enumerate() {
        sparse(ctx.allocator(), sequences)?.into_iter().enumerate().for_each(|(kind, output)| ctx.set_output(kind * count + i, output));
    }
    ctx.set_output(3 * count, scores);
    Ok(())
}

/// The logarithms of the probabilities of a prefix: in total, ending in a blank, ending in its last label.
#[derive(Clone, Copy)]
struct Probability<T> {
    total: T,
    blank: T,
    label: T,
}

impl<T: Float> Probability<T> {
    fn none() -> Probability<T> {
        Probability { total: T::neg_infinity(), blank: T::neg_infinity(), label: T::neg_infinity() }
    }

    fn is_possible(&self) -> bool {
        self.total != T::neg_infinity()
    }
}

/// A prefix, which consists of a shorter prefix and a label.
struct Node<T> {
    parent: Option<usize>,
    label: usize,
    before: Probability<T>,
    now: Probability<T>,
}

/// The label of the empty prefix, which differs from all classes.
const NO_LABEL: usize = usize::MAX;

/// The prefixes. The current ones are `leaves`, from the most to the least likely; equally likely ones are in the order in which they were added.
struct Beam<T> {
    width: usize,
    nodes: Vec<Node<T>>,
    children: HashMap<(usize, usize), usize>,
    leaves: Vec<usize>,
}

impl<T: Ordered + Float> Beam<T> {
    fn new(width: usize) -> Beam<T> {
        let zero = <T as num_traits::Zero>::zero();
        let now = Probability { total: zero, blank: zero, label: T::neg_infinity() };
        let root = Node { parent: None, label: NO_LABEL, before: Probability::none(), now };
        Beam { width, nodes: vec![root], children: HashMap::new(), leaves: vec![0] }
    }

    /// Inserts a leaf at its position, and removes the last one if there are too many.
    fn push(&mut self, leaf: usize) {
        let total = self.nodes[leaf].now.total;
        let at = self.leaves.partition_point(|&other| self.nodes[other].now.total >= total);
        self.leaves.insert(at, leaf);
        if self.leaves.len() > self.width
            && let Some(last) = self.leaves.pop()
        {
            self.nodes[last].now = Probability::none();
        }
    }

    /// Returns true if a prefix of this probability would be among the leaves.
    fn is_candidate(&self, total: T) -> bool {
        let is_better = |&last: &usize| total > self.nodes[last].now.total;
        total > T::neg_infinity() && (self.leaves.len() < self.width || self.leaves.last().is_some_and(is_better))
    }

    /// Advances by one time. The last class is the blank.
    fn step(&mut self, alloc: &Allocator, input: &[T]) -> Result<()> {
        let Some((&blank, labels)) = input.split_last() else { return Ok(()) };
        let _reserved =
            alloc.reserve::<Node<T>>(self.nodes.len().saturating_add(self.width.min(self.leaves.len().saturating_mul(labels.len()))))?;
        let greatest = input.iter().fold(T::neg_infinity(), |m, &v| if v > m { v } else { m });
        let sum = input.iter().fold(<T as num_traits::Zero>::zero(), |sum, &v| sum + (v - greatest).exp());
        // Subtracting this turns logits into logarithms of probabilities.
        let offset = greatest + sum.ln();
        let branches = std::mem::take(&mut self.leaves);
        for &node in &branches {
            self.nodes[node].before = self.nodes[node].now;
        }
        for &at in &branches {
            let node = &self.nodes[at];
            let mut now = node.now;
            if let Some(parent) = node.parent.map(|parent| &self.nodes[parent]) {
                if parent.now.is_possible() {
                    let previous = if node.label == parent.label { parent.before.blank } else { parent.before.total };
                    now.label = log_sum(now.label, previous);
                }
                now.label = now.label + (labels[node.label] - offset);
            }
            now.blank = node.before.total + (blank - offset);
            now.total = log_sum(now.blank, now.label);
            self.nodes[at].now = now;
            self.push(at);
        }
        for &parent in &branches {
            let Node { before, label: last, .. } = self.nodes[parent];
            if !self.is_candidate(before.total) {
                continue;
            }
            for (label, &logit) in labels.iter().enumerate() {
                let known = self.children.get(&(parent, label)).copied();
                if known.is_some_and(|child| self.nodes[child].now.is_possible()) {
                    continue;
                }
                let total = logit - offset + if label == last { before.blank } else { before.total };
                if !self.is_candidate(total) {
                    continue;
                }
                let now = Probability { total, blank: T::neg_infinity(), label: total };
                let child = match known {
                    Some(child) => {
                        self.nodes[child].now = now;
                        child
                    }
                    None => {
                        self.nodes.push(Node { parent: Some(parent), label, before: Probability::none(), now });
                        self.children.insert((parent, label), self.nodes.len() - 1);
                        self.nodes.len() - 1
                    }
                };
                self.push(child);
            }
        }
        Ok(())
    }

    /// Returns the labels of a prefix. If `merge`, repeated labels are merged.
    fn labels(&self, leaf: usize, merge: bool) -> Vec<i64> {
        let (mut labels, mut previous) = (Vec::new(), NO_LABEL);
        let mut node = &self.nodes[leaf];
        while let Some(parent) = node.parent {
            if !merge || node.label != previous {
                labels.push(node.label as i64);
            }
            previous = node.label;
            node = &self.nodes[parent];
        }
        labels.reverse();
        labels
    }
}
