//! Graphs by hand: small kernels on `i64` scalars, and names for edges.

use flowmill_graph::{OpTraits, Role};
use flowmill_runtime::executor::RunOptions;
use flowmill_runtime::plan::{FrameId, FrameInfo, NodeKind, OutputType, PlanEdge, PlanGraph, PlanNode, PlanNodeId};
use flowmill_runtime::{
    AsyncContext, AsyncKernel, Cost, DeviceStep, FunctionLibraryRuntime, Kernel, KernelContext, Plan, ResourceManager, Step,
};
use flowmill_tensor::{DType, Error, Result, Tensor};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// A kernel from a closure.
pub struct Fun<F>(pub F, pub Cost);

impl<F: Fn(&mut KernelContext<'_>) -> Result<()> + Send + Sync + 'static> Kernel for Fun<F> {
    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        (self.0)(ctx)
    }

    fn cost(&self) -> Option<Cost> {
        Some(self.1)
    }
}

/// An asynchronous kernel from a closure.
pub struct AsyncFun<F>(pub F);

impl<F: Fn(AsyncContext) + Send + Sync + 'static> AsyncKernel for AsyncFun<F> {
    fn start(&self, ctx: AsyncContext) {
        (self.0)(ctx);
    }
}

impl<F: Fn(AsyncContext) + Send + Sync + 'static> Kernel for AsyncFun<F> {
    fn compute(&self, _: &mut KernelContext<'_>) -> Result<()> {
        Err(Error::internal("not called"))
    }

    fn as_async(&self) -> Option<&dyn AsyncKernel> {
        Some(self)
    }
}

pub fn fun(f: impl Fn(&mut KernelContext<'_>) -> Result<()> + Send + Sync + 'static) -> Option<Arc<dyn Kernel>> {
    Some(Arc::new(Fun(f, Cost::Cheap)))
}

/// A pure function of all inputs.
pub fn pure(f: impl Fn(&[i64]) -> i64 + Send + Sync + 'static) -> Option<Arc<dyn Kernel>> {
    fun(move |ctx| {
        let args = (0..ctx.num_inputs()).map(|i| ctx.input(i)?.to_scalar::<i64>()).collect::<Result<Vec<_>>>()?;
        ctx.set_output(0, int(f(&args)));
        Ok(())
    })
}

/// `Switch`: input 0 goes to output 1 where input 1 is not zero, else to output 0.
pub fn switch() -> Option<Arc<dyn Kernel>> {
    fun(|ctx| {
        let side = usize::from(ctx.input(1)?.to_scalar::<i64>()? != 0);
        ctx.forward(0, side)
    })
}

pub fn int(value: i64) -> Tensor {
    Tensor::scalar(value)
}

pub const INT: OutputType = OutputType { dtype: DType::I64, is_ref: false };

#[derive(Clone)]
pub struct Builder {
    pub graph: PlanGraph,
}

pub fn edge(node: PlanNodeId, slot: u32) -> PlanEdge {
    PlanEdge { node, slot }
}

/// Output 0.
pub fn out(node: PlanNodeId) -> PlanEdge {
    edge(node, 0)
}

pub fn control(node: PlanNodeId) -> PlanEdge {
    edge(node, PlanEdge::CONTROL)
}

impl Builder {
    pub fn new() -> Builder {
        let root = FrameInfo { name: "".into(), parent: None, parallel_iterations: 1 };
        Builder { graph: PlanGraph { nodes: Vec::new(), frames: vec![root], args: Vec::new(), num_results: 0 } }
    }

    pub fn frame(&mut self, parent: FrameId, parallel_iterations: u32) -> FrameId {
        let id = FrameId(self.graph.frames.len() as u32);
        self.graph.frames.push(FrameInfo { name: format!("frame{}", id.0).into(), parent: Some(parent), parallel_iterations });
        id
    }

    pub fn node(
        &mut self,
        op: &str,
        kind: NodeKind,
        frame: FrameId,
        inputs: &[PlanEdge],
        num_outputs: usize,
        kernel: Option<Arc<dyn Kernel>>,
    ) -> PlanNodeId {
        let id = PlanNodeId(self.graph.nodes.len() as u32);
        let cost = kernel.as_ref().and_then(|k| k.cost()).unwrap_or(Cost::Cheap);
        self.graph.nodes.push(PlanNode {
            name: format!("{op}{}", id.0).into(),
            op: op.into(),
            traits: traits(op),
            kind,
            kernel,
            cost,
            frame,
            inputs: inputs.to_vec(),
            takes_ref: vec![false; inputs.len()],
            controls: Vec::new(),
            outputs: vec![INT; num_outputs],
            shapes: Vec::new(),
        });
        id
    }

    pub fn op(&mut self, frame: FrameId, inputs: &[PlanEdge], kernel: Option<Arc<dyn Kernel>>) -> PlanNodeId {
        self.node("Op", NodeKind::Op, frame, inputs, 1, kernel)
    }

    pub fn add(&mut self, frame: FrameId, a: PlanEdge, b: PlanEdge) -> PlanNodeId {
        self.node("Add", NodeKind::Op, frame, &[a, b], 1, pure(|x| x[0].wrapping_add(x[1])))
    }

    pub fn pass(&mut self, frame: FrameId, a: PlanEdge) -> PlanNodeId {
        self.node("Identity", NodeKind::Op, frame, &[a], 1, None)
    }

    pub fn switch(&mut self, frame: FrameId, value: PlanEdge, condition: PlanEdge) -> PlanNodeId {
        self.node("Switch", NodeKind::Op, frame, &[value, condition], 2, switch())
    }

    pub fn merge(&mut self, frame: FrameId, inputs: &[PlanEdge]) -> PlanNodeId {
        let id = self.node("Merge", NodeKind::Merge, frame, inputs, 2, None);
        self.node_mut(id).outputs[1].dtype = DType::I32;
        id
    }

    pub fn constant(&mut self, frame: FrameId, value: i64) -> PlanEdge {
        out(self.node("Const", NodeKind::Const(int(value)), frame, &[], 1, None))
    }

    pub fn arg(&mut self) -> PlanEdge {
        let i = self.graph.args.len();
        self.graph.args.push(DType::I64);
        out(self.node("_Arg", NodeKind::Arg(i), FrameId::ROOT, &[], 1, None))
    }

    pub fn ret(&mut self, value: PlanEdge) -> PlanNodeId {
        let i = self.graph.num_results;
        self.graph.num_results += 1;
        self.node("_Retval", NodeKind::Ret(i), FrameId::ROOT, &[value], 0, None)
    }

    pub fn enter(&mut self, frame: FrameId, child: FrameId, value: PlanEdge) -> PlanEdge {
        out(self.node("Enter", NodeKind::Enter { frame: child, is_constant: false }, frame, &[value], 1, None))
    }

    pub fn invariant(&mut self, frame: FrameId, child: FrameId, value: PlanEdge) -> PlanEdge {
        out(self.node("Enter", NodeKind::Enter { frame: child, is_constant: true }, frame, &[value], 1, None))
    }

    pub fn exit(&mut self, frame: FrameId, value: PlanEdge) -> PlanEdge {
        out(self.node("Exit", NodeKind::Exit, frame, &[value], 1, None))
    }

    pub fn next_iteration(&mut self, frame: FrameId, value: PlanEdge) -> PlanNodeId {
        self.node("NextIteration", NodeKind::NextIteration, frame, &[value], 1, None)
    }

    pub fn node_mut(&mut self, id: PlanNodeId) -> &mut PlanNode {
        &mut self.graph.nodes[id.0 as usize]
    }

    /// A `while_loop` as TensorFlow builds it. `condition` and `body` build into the child frame; `body` gets the variables behind their
    /// Switches, and gives their next values. Returns the Exits.
    pub fn while_loop(
        &mut self,
        parent: FrameId,
        parallel_iterations: u32,
        initial: &[PlanEdge],
        condition: impl FnOnce(&mut Builder, FrameId, &[PlanEdge]) -> PlanEdge,
        body: impl FnOnce(&mut Builder, FrameId, &[PlanEdge]) -> Vec<PlanEdge>,
    ) -> Vec<PlanEdge> {
        let frame = self.frame(parent, parallel_iterations);
        let enters: Vec<_> = initial.iter().map(|&v| self.enter(parent, frame, v)).collect();
        let merges: Vec<_> = enters.iter().map(|&v| self.merge(frame, &[v, v])).collect();
        let variables: Vec<_> = merges.iter().map(|&m| out(m)).collect();
        let test = condition(self, frame, &variables);
        let test = out(self.node("LoopCond", NodeKind::Op, frame, &[test], 1, None));
        let switches: Vec<_> = variables.iter().map(|&v| self.switch(frame, v, test)).collect();
        let exits = switches.iter().map(|&s| self.exit(frame, out(s))).collect();
        let inside: Vec<_> = switches.iter().map(|&s| edge(s, 1)).collect();
        for (value, merge) in body(self, frame, &inside).into_iter().zip(merges) {
            let next = self.next_iteration(frame, value);
            self.node_mut(merge).inputs[1] = out(next);
        }
        exits
    }

    pub fn plan(&self) -> Arc<Plan> {
        Arc::new(Plan::new(self.graph.clone()).unwrap())
    }
}

/// A step that nothing limits, on the host.
pub fn step() -> DeviceStep {
    step_of(Step::new())
}

/// `step` on the host.
pub fn step_of(step: Step) -> DeviceStep {
    let functions = FunctionLibraryRuntime::new(|name, _| Err(Error::not_found(name)));
    DeviceStep { step: Arc::new(step), ..DeviceStep::on_host(Arc::new(ResourceManager::new()), Arc::new(functions)) }
}

/// A pool of the project's with three threads.
pub fn pool() -> &'static Arc<rayon::ThreadPool> {
    static POOL: OnceLock<Arc<rayon::ThreadPool>> = OnceLock::new();
    POOL.get_or_init(|| flowmill_runtime::intra_op::pool(3).unwrap())
}

/// On the calling thread alone, with two threads of a pool, with three.
pub fn all_options() -> [RunOptions<'static>; 3] {
    [(1, None), (2, Some(pool())), (3, Some(pool()))].map(|(num_threads, pool)| RunOptions { num_threads, pool, stats: None })
}

pub fn run_with(plan: &Arc<Plan>, args: &[i64], options: RunOptions<'_>) -> Result<Vec<Option<i64>>> {
    let results = plan.run(&Arc::new(step()), args.iter().map(|&a| int(a)).collect(), options)?;
    results.into_iter().map(|r| r.map(|t| t.to_scalar()).transpose()).collect()
}

/// The results, the same for every number of threads.
pub fn run(builder: &Builder, args: &[i64]) -> Vec<Option<i64>> {
    let plan = builder.plan();
    let [inline, two, three] = all_options().map(|options| run_with(&plan, args, options).unwrap());
    assert_eq!(inline, two);
    assert_eq!(inline, three);
    inline
}

/// Runs with every number of threads, checks that all runs fail in the same way, and returns the error.
pub fn run_error(builder: &Builder, args: &[i64]) -> Error {
    let plan = builder.plan();
    let [inline, two, three] = all_options().map(|options| run_with(&plan, args, options).unwrap_err());
    assert_eq!((inline.code(), inline.node()), (two.code(), two.node()));
    assert_eq!((inline.code(), inline.node()), (three.code(), three.node()));
    inline
}

/// Waits until `condition` holds; a test fails rather than hangs.
pub fn eventually(condition: impl Fn() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < Duration::from_secs(20), "waited for too long");
        std::thread::yield_now();
    }
}

/// Returns the traits that the ops of these tests are declared with.
fn traits(op: &str) -> OpTraits {
    let role = match op {
        "Switch" | "RefSwitch" | "_SwitchN" => Role::Switch,
        "LoopCond" => Role::LoopCond,
        "_Recv" => Role::Recv,
        "_Send" => Role::Send,
        _ => Role::Kernel,
    };
    OpTraits { role, leaves_outputs_dead: matches!(role, Role::Switch | Role::Recv), ..OpTraits::default() }
}
