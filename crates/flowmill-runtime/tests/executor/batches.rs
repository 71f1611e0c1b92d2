//! Kernels that work image by image, run on parts of a batch.

use super::support::{Builder, out, step};
use flowmill_runtime::executor::RunOptions;
use flowmill_runtime::plan::{FrameId, NodeKind, PlanEdge, PlanGraph, PlanNodeId};
use flowmill_runtime::program::{FuseOptions, fuse};
use flowmill_runtime::{Cost, Kernel, KernelContext, Plan, intra_op};
use flowmill_tensor::{DType, Result, Tensor, bail};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// `sum over inputs + addend`, element by element; notes the largest batch it saw. Refuses elements above `limit`.
struct Add {
    addend: f32,
    limit: f32,
    batched_inputs: u32,
    seen: Arc<AtomicUsize>,
}

impl Kernel for Add {
    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let first = ctx.take(0)?;
        self.seen.fetch_max(first.shape()[0], Ordering::Relaxed);
        let mut sums = first.as_slice::<f32>()?.to_vec();
        for i in 1..ctx.num_inputs() {
            let other = ctx.input(i)?;
            let values = other.as_slice::<f32>()?;
            sums.iter_mut().enumerate().for_each(|(i, sum)| *sum += values[i % values.len()]);
        }
        sums.iter_mut().for_each(|sum| *sum += self.addend);
        if sums.iter().any(|&sum| sum > self.limit) {
            bail!(OutOfRange, "too large: {}", first.shape());
        }
        ctx.set_output(0, Tensor::from_slice(first.shape().clone(), &sums)?);
        Ok(())
    }

    fn cost(&self) -> Option<Cost> {
        Some(Cost::Expensive)
    }

    fn batched_inputs(&self) -> u32 {
        self.batched_inputs
    }
}

struct Net {
    builder: Builder,
    seen: Arc<AtomicUsize>,
}

impl Net {
    fn new() -> Net {
        Net { builder: Builder::new(), seen: Arc::default() }
    }

    fn arg(&mut self) -> PlanEdge {
        let arg = self.builder.arg();
        *self.builder.graph.args.last_mut().unwrap() = DType::F32;
        self.f32(arg.node)
    }

    fn f32(&mut self, id: PlanNodeId) -> PlanEdge {
        self.builder.node_mut(id).outputs[0].dtype = DType::F32;
        out(id)
    }

    fn constant(&mut self, value: f32) -> PlanEdge {
        let value = Tensor::from_slice([2], &[value, -value]).unwrap();
        let id = self.builder.node("Const", NodeKind::Const(value), FrameId::ROOT, &[], 1, None);
        self.f32(id)
    }

    fn add(&mut self, inputs: &[PlanEdge], batched_inputs: u32, addend: f32) -> PlanEdge {
        let kernel = Add { addend, limit: 1e6, batched_inputs, seen: self.seen.clone() };
        let id = self.builder.op(FrameId::ROOT, inputs, Some(Arc::new(kernel)));
        self.f32(id)
    }

    /// The graph with its batch program, which has to be there, and without.
    fn graphs(&self) -> [PlanGraph; 2] {
        let graph = &self.builder.graph;
        let fused = fuse(graph.clone(), FuseOptions { batches: true, ..FuseOptions::NONE }).unwrap();
        assert!(fused.nodes.iter().any(|n| &*n.op == "_BatchProgram"));
        [fused, graph.clone()]
    }
}

/// A chain with a residual, a constant operand, a result from the middle, and a node behind that looks at all images.
fn net() -> Net {
    let mut net = Net::new();
    let x = net.arg();
    let c = net.constant(3.0);
    let a = net.add(&[x, c], 1, 1.0);
    let b = net.add(&[a], 1, 0.5);
    let sum = net.add(&[b, a], 0b11, 0.0);
    let last = net.add(&[sum, c], 1, 7.0);
    let whole = net.add(&[last], 0, 0.0);
    for edge in [b, last, whole] {
        net.builder.ret(edge);
    }
    net
}

fn images(batch: usize, elements: usize) -> Tensor {
    let values: Vec<f32> = (0..batch * elements).map(|i| (i % 101) as f32 * 0.25).collect();
    Tensor::from_slice([batch, elements / 2, 2], &values).unwrap()
}

fn run(graph: &PlanGraph, x: &Tensor) -> Result<Vec<Tensor>> {
    let plan = Arc::new(Plan::new(graph.clone())?);
    let results = plan.run(&Arc::new(step()), vec![x.clone()], RunOptions { num_threads: 1, ..RunOptions::default() })?;
    Ok(results.into_iter().flatten().collect())
}

fn bits(tensors: &[Tensor]) -> Vec<(Vec<usize>, Vec<u32>)> {
    let bits = |t: &Tensor| t.as_slice::<f32>().unwrap().iter().map(|x| x.to_bits()).collect();
    tensors.iter().map(|t| (t.shape().dims().to_vec(), bits(t))).collect()
}

#[test]
fn a_batch_in_parts_gives_what_the_whole_gives() {
    let [fused, plain] = net().graphs();
    for threads in 1..4 {
        let pool = intra_op::pool(threads).unwrap();
        // Small images, and for one and two threads ones of which a tile has few.
        let large = (threads <= 2).then_some((7, 1 << 17));
        for (batch, elements) in (0..9).map(|b| (b, 2)).chain(large) {
            let x = images(batch, elements);
            let expected = bits(&run(&plain, &x).unwrap());
            pool.install(|| assert_eq!(bits(&run(&fused, &x).unwrap()), expected, "{batch} images of {elements}, {threads} threads"));
        }
    }
}

/// Like [`net`], but the node behind the chain does not note the batch that it sees.
fn net_that_notes_the_chain() -> Net {
    let mut net = net();
    let whole = net.builder.graph.nodes.iter().position(|n| n.kernel.as_ref().is_some_and(|k| k.batched_inputs() == 0)).unwrap();
    let unseen = Add { addend: 0.0, limit: 1e6, batched_inputs: 0, seen: Arc::default() };
    net.builder.graph.nodes[whole].kernel = Some(Arc::new(unseen));
    net
}

#[test]
fn one_thread_runs_a_batch_of_small_images_at_once_and_two_share_it() {
    for (threads, largest) in [(1, 8), (2, 2)] {
        let net = net_that_notes_the_chain();
        let [fused, _] = net.graphs();
        intra_op::pool(threads).unwrap().install(|| run(&fused, &images(8, 2)).unwrap());
        assert_eq!(net.seen.load(Ordering::Relaxed), largest, "{threads} threads");
    }
}

#[test]
fn large_images_go_one_by_one() {
    let net = net_that_notes_the_chain();
    let [fused, plain] = net.graphs();
    let x = images(4, 1 << 20);
    run(&fused, &x).unwrap();
    assert_eq!(net.seen.load(Ordering::Relaxed), 1);
    run(&plain, &x).unwrap();
    assert_eq!(net.seen.load(Ordering::Relaxed), 4);
}

#[test]
fn an_error_speaks_of_the_whole_batch() {
    let mut net = Net::new();
    let x = net.arg();
    let a = net.add(&[x], 1, 1.0);
    let b = net.add(&[a], 1, 2e6);
    net.builder.ret(b);
    let [fused, plain] = net.graphs();
    let [fused, plain] = [fused, plain].map(|graph| run(&graph, &images(4, 6)).unwrap_err());
    assert!(fused.message().contains("[4,3,2]"), "{fused}");
    assert_eq!((fused.code(), fused.message(), fused.node()), (plain.code(), plain.message(), plain.node()));
}

#[test]
fn what_depends_on_other_tensors_is_left_alone() {
    let mut net = Net::new();
    let (x, y) = (net.arg(), net.arg());
    let a = net.add(&[x, y], 1, 1.0);
    let b = net.add(&[a, y], 0b11, 1.0);
    let c = net.add(&[b], 0, 1.0);
    let d = net.add(&[c, x], 0b11, 1.0);
    net.builder.ret(d);
    let fused = fuse(net.builder.graph.clone(), FuseOptions { batches: true, ..FuseOptions::NONE }).unwrap();
    assert!(fused.nodes.iter().all(|n| &*n.op != "_BatchProgram"));
}

#[test]
fn a_constant_batch_may_be_read_as_a_whole_too() {
    let mut net = Net::new();
    net.arg();
    let x = net.constant(3.0);
    let a = net.add(&[x], 1, 1.0);
    let b = net.add(&[a], 1, 0.5);
    let c = net.add(&[b, x], 1, 7.0);
    net.builder.ret(c);
    let [fused, plain] = net.graphs();
    assert_eq!(bits(&run(&fused, &images(2, 2)).unwrap()), bits(&run(&plain, &images(2, 2)).unwrap()));
}
