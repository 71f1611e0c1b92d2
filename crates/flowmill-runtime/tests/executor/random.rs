//! Random programs of nested conditionals and loops: the graph that TensorFlow would build of each gives what evaluating the program gives,
//! for every number of threads and of parallel iterations, as tokens and as programs.

use crate::support::*;
use flowmill_runtime::Plan;
use flowmill_runtime::plan::{FrameId, NodeKind, PlanEdge, PlanNodeId};
use flowmill_runtime::program::{FuseOptions, fuse};
use flowmill_runtime::{AsyncContext, Cost, Kernel, KernelContext};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A variable of a program; each is assigned once.
type Var = u32;

enum Statement {
    Const(Var, i64),
    Op {
        result: Var,
        function: u64,
        style: u64,
        inputs: Vec<Var>,
    },
    /// Runs one of the blocks; each result takes a variable of either.
    Cond {
        test: Var,
        blocks: [Vec<Statement>; 2],
        results: Vec<(Var, [Var; 2])>,
    },
    /// Runs the body `trips & 3` times; each variable is (before, inside, next, after).
    While {
        trips: Var,
        body: Vec<Statement>,
        variables: Vec<[Var; 4]>,
    },
}

/// SplitMix64.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % n
    }

    fn pick(&mut self, from: &[Var]) -> Var {
        from[self.below(from.len() as u64) as usize]
    }
}

struct Generator {
    random: Random,
    next: Var,
}

impl Generator {
    fn var(&mut self) -> Var {
        self.next += 1;
        self.next
    }

    /// A block that sees `scope`; its own variables are added to it.
    fn block(&mut self, depth: u32, scope: &mut Vec<Var>) -> Vec<Statement> {
        let length = 1 + self.random.below(if depth == 0 { 6 } else { 4 });
        (0..length).map(|_| self.statement(depth, scope)).collect()
    }

    fn statement(&mut self, depth: u32, scope: &mut Vec<Var>) -> Statement {
        match self.random.below(10) {
            0 => {
                let var = self.var();
                scope.push(var);
                Statement::Const(var, self.random.below(100) as i64 - 50)
            }
            1 | 2 if depth < 3 => {
                let test = self.random.pick(scope);
                let mut inner = [scope.clone(), scope.clone()];
                let blocks = [0, 1].map(|side: usize| self.block(depth + 1, &mut inner[side]));
                let count = 1 + self.random.below(3);
                let results: Vec<_> = (0..count).map(|_| (self.var(), [0, 1].map(|side: usize| self.random.pick(&inner[side])))).collect();
                scope.extend(results.iter().map(|r| r.0));
                Statement::Cond { test, blocks, results }
            }
            3 | 4 if depth < 3 => {
                let trips = self.random.pick(scope);
                let count = 1 + self.random.below(3);
                let mut variables: Vec<_> = (0..count).map(|_| [self.random.pick(scope), self.var(), 0, self.var()]).collect();
                let mut inner = scope.clone();
                inner.extend(variables.iter().map(|v| v[1]));
                let body = self.block(depth + 1, &mut inner);
                variables.iter_mut().for_each(|v| v[2] = self.random.pick(&inner));
                scope.extend(variables.iter().map(|v| v[3]));
                Statement::While { trips, body, variables }
            }
            _ => {
                let count = 1 + self.random.below(3);
                let inputs = (0..count).map(|_| self.random.pick(scope)).collect();
                let result = self.var();
                scope.push(result);
                Statement::Op { result, function: self.random.below(4), style: self.random.below(10), inputs }
            }
        }
    }
}

fn apply(function: u64, inputs: &[i64]) -> i64 {
    inputs.iter().fold(function as i64, |a, &x| match function {
        0 => a.wrapping_add(x),
        1 => a.wrapping_mul(3).wrapping_sub(x),
        2 => a.wrapping_mul(x).wrapping_add(1),
        _ => (a ^ x).rotate_left(7),
    })
}

fn evaluate(block: &[Statement], values: &mut BTreeMap<Var, i64>) {
    for statement in block {
        match statement {
            Statement::Const(var, value) => values.extend([(*var, *value)]),
            Statement::Op { result, function, inputs, .. } => {
                let inputs: Vec<_> = inputs.iter().map(|v| values[v]).collect();
                values.insert(*result, apply(*function, &inputs));
            }
            Statement::Cond { test, blocks, results } => {
                let side = usize::from(values[test] & 1 != 0);
                let mut inner = values.clone();
                evaluate(&blocks[side], &mut inner);
                values.extend(results.iter().map(|(var, from)| (*var, inner[&from[side]])));
            }
            Statement::While { trips, body, variables } => {
                let mut inner = values.clone();
                inner.extend(variables.iter().map(|v| (v[1], values[&v[0]])));
                for _ in 0..values[trips] & 3 {
                    let mut after = inner.clone();
                    evaluate(body, &mut after);
                    inner.extend(variables.iter().map(|v| (v[1], after[&v[2]])));
                }
                values.extend(variables.iter().map(|v| (v[3], inner[&v[1]])));
            }
        }
    }
}

/// All variables that a block reads.
fn reads(block: &[Statement], read: &mut BTreeSet<Var>) {
    for statement in block {
        match statement {
            Statement::Const(..) => {}
            Statement::Op { inputs, .. } => read.extend(inputs),
            Statement::Cond { test, blocks, results } => {
                read.insert(*test);
                blocks.iter().for_each(|block| reads(block, read));
                read.extend(results.iter().flat_map(|r| r.1));
            }
            Statement::While { trips, body, variables } => {
                read.insert(*trips);
                reads(body, read);
                read.extend(variables.iter().flat_map(|v| [v[0], v[2]]));
            }
        }
    }
}

/// A variable in the graph. What depends on loop invariants alone needs the pivot's control edge, or it would be live after the last iteration.
#[derive(Clone, Copy)]
struct Value {
    edge: PlanEdge,
    varies: bool,
}

/// The position at which nodes are built: the frame, and a node that is live exactly when the block runs.
#[derive(Clone, Copy)]
struct Place {
    frame: FrameId,
    pivot: Option<PlanNodeId>,
}

type Scope = BTreeMap<Var, Value>;

struct Lowering {
    b: Builder,
    random: Random,
    /// Every kernel is a cheap one, so that the whole graph can become programs.
    cheap: bool,
}

impl Lowering {
    fn node(&mut self, place: Place, op: &str, inputs: &[Value], outputs: usize, kernel: Option<Arc<dyn Kernel>>) -> PlanNodeId {
        let edges: Vec<_> = inputs.iter().map(|v| v.edge).collect();
        let id = self.b.node(op, NodeKind::Op, place.frame, &edges, outputs, kernel);
        if !inputs.iter().any(|v| v.varies) || self.random.below(8) == 0 {
            self.b.node_mut(id).controls.extend(place.pivot.map(control));
        }
        id
    }

    fn constant(&mut self, place: Place, value: i64) -> Value {
        let node = self.b.node("Const", NodeKind::Const(int(value)), place.frame, &[], 1, None);
        // A constant may also wait for nothing: it is an invariant then.
        let waits = place.pivot.filter(|_| self.random.below(3) > 0);
        self.b.node_mut(node).controls.extend(waits.map(control));
        Value { edge: out(node), varies: waits.is_some() || place.pivot.is_none() }
    }

    /// The value as something that is dead when the block does not run.
    fn varying(&mut self, place: Place, value: Value) -> Value {
        if value.varies {
            return value;
        }
        Value { edge: out(self.node(place, "Identity", &[value], 1, None)), varies: true }
    }

    fn block(&mut self, place: Place, block: &[Statement], scope: &mut Scope) {
        // A constant of this block that later ones may wait for: it is live exactly when the block runs.
        let mut earlier = None;
        for statement in block {
            match statement {
                Statement::Const(var, value) => {
                    let pivot = earlier.filter(|_| self.random.below(2) == 0).or(place.pivot);
                    let constant = self.constant(Place { pivot, ..place }, *value);
                    earlier = constant.varies.then_some(constant.edge.node).or(earlier);
                    scope.insert(*var, constant);
                }
                Statement::Op { result, function, style, inputs } => {
                    let inputs: Vec<_> = inputs.iter().map(|v| scope[v]).collect();
                    let node = self.node(place, "Op", &inputs, 1, Some(kernel(*function, if self.cheap { 3 } else { *style })));
                    scope.insert(*result, Value { edge: out(node), varies: true });
                }
                Statement::Cond { test, blocks, results } => self.cond(place, *test, blocks, results, scope),
                Statement::While { trips, body, variables } => self.while_loop(place, *trips, body, variables, scope),
            }
        }
    }

    fn cond(&mut self, place: Place, test: Var, blocks: &[Vec<Statement>; 2], results: &[(Var, [Var; 2])], scope: &mut Scope) {
        let odd = self.node(place, "Odd", &[scope[&test]], 1, pure(|x| x[0] & 1));
        let odd = Value { edge: out(odd), varies: true };
        let pivot = self.node(place, "Switch", &[odd, odd], 2, switch());
        let mut read = BTreeSet::new();
        blocks.iter().for_each(|block| reads(block, &mut read));
        read.extend(results.iter().flat_map(|r| r.1));
        let mut switched: BTreeMap<Var, PlanNodeId> = BTreeMap::new();
        for var in read {
            if let Some(&value) = scope.get(&var) {
                switched.insert(var, self.node(place, "Switch", &[value, odd], 2, switch()));
            }
        }
        let mut outputs: [Vec<PlanEdge>; 2] = Default::default();
        for side in 0..2 {
            let pivot = self.b.pass(place.frame, edge(pivot, side as u32));
            let inside = Place { frame: place.frame, pivot: Some(pivot) };
            let mut inner: Scope =
                switched.iter().map(|(&var, &node)| (var, Value { edge: edge(node, side as u32), varies: true })).collect();
            self.block(inside, &blocks[side], &mut inner);
            for (_, from) in results {
                let value = inner[&from[side]];
                outputs[side].push(self.varying(inside, value).edge);
            }
        }
        for (i, (var, _)) in results.iter().enumerate() {
            let merge = self.b.merge(place.frame, &[outputs[0][i], outputs[1][i]]);
            scope.insert(*var, Value { edge: out(merge), varies: true });
        }
    }

    fn while_loop(&mut self, place: Place, trips: Var, body: &[Statement], variables: &[[Var; 4]], scope: &mut Scope) {
        let trips = self.node(place, "Trips", &[scope[&trips]], 1, pure(|x| x[0] & 3));
        let zero = self.constant(place, 0);
        let mut initial = vec![self.varying(place, zero).edge];
        for v in variables {
            initial.push(self.varying(place, scope[&v[0]]).edge);
        }
        let mut read = BTreeSet::new();
        reads(body, &mut read);
        read.extend(variables.iter().map(|v| v[2]));
        let mut captured = Scope::new();
        for var in read {
            if let Some(&value) = scope.get(&var) {
                captured.insert(var, self.varying(place, value));
            }
        }
        let frame = self.b.frame(place.frame, 1);
        let mut merges = Vec::new();
        for value in initial {
            let enter = self.b.enter(place.frame, frame, value);
            merges.push(self.b.merge(frame, &[enter, enter]));
        }
        let limit = self.b.invariant(place.frame, frame, out(trips));
        let test = self.b.op(frame, &[out(merges[0]), limit], pure(|x| i64::from(x[0] < x[1])));
        let switches: Vec<_> = merges.iter().map(|&m| self.b.switch(frame, out(m), out(test))).collect();
        for (v, &s) in variables.iter().zip(&switches[1..]) {
            scope.insert(v[3], Value { edge: self.b.exit(frame, out(s)), varies: true });
        }
        let pivot = self.b.pass(frame, edge(switches[0], 1));
        let inside = Place { frame, pivot: Some(pivot) };
        let mut inner: Scope = Scope::new();
        for (var, value) in captured {
            inner.insert(var, Value { edge: self.b.invariant(place.frame, frame, value.edge), varies: false });
        }
        inner.extend(variables.iter().zip(&switches[1..]).map(|(v, &s)| (v[1], Value { edge: edge(s, 1), varies: true })));
        self.block(inside, body, &mut inner);
        let mut next = vec![out(self.b.op(frame, &[edge(switches[0], 1)], pure(|x| x[0] + 1)))];
        for v in variables {
            next.push(self.varying(inside, inner[&v[2]]).edge);
        }
        for (merge, value) in merges.into_iter().zip(next) {
            let next = self.b.next_iteration(frame, value);
            self.b.node_mut(merge).inputs[1] = out(next);
        }
    }
}

/// Returns a kernel for the function: cheap, expensive or asynchronous, depending on `style`.
fn kernel(function: u64, style: u64) -> Arc<dyn Kernel> {
    let compute = move |ctx: &mut KernelContext<'_>| {
        let inputs = (0..ctx.num_inputs()).map(|i| ctx.input(i)?.to_scalar::<i64>()).collect::<flowmill_tensor::Result<Vec<_>>>()?;
        ctx.set_output(0, int(apply(function, &inputs)));
        Ok(())
    };
    match style {
        0 | 1 => Arc::new(Fun(
            move |ctx: &mut KernelContext<'_>| {
                // Long enough to stay expensive once it was measured.
                let start = std::time::Instant::now();
                while start.elapsed() < std::time::Duration::from_micros(9) {
                    std::hint::spin_loop();
                }
                compute(ctx)
            },
            Cost::Expensive,
        )),
        2 => Arc::new(AsyncFun(move |ctx: AsyncContext| {
            let inputs = ctx.inputs().iter().map(|t| t.to_scalar::<i64>()).collect::<flowmill_tensor::Result<Vec<_>>>();
            ctx.done(inputs.map(|inputs| vec![Some(int(apply(function, &inputs)))]));
        })),
        _ => Arc::new(Fun(compute, Cost::Cheap)),
    }
}

fn check(seed: u64) {
    let mut generator = Generator { random: Random(seed), next: 2 };
    let mut vars = vec![1, 2];
    let program = generator.block(0, &mut vars);
    let mut lowering = Lowering { b: Builder::new(), random: Random(!seed), cheap: seed.is_multiple_of(3) };
    let mut scope: Scope = [1, 2].map(|var| (var, Value { edge: lowering.b.arg(), varies: true })).into();
    lowering.block(Place { frame: FrameId::ROOT, pivot: None }, &program, &mut scope);
    for var in &vars {
        let edge = scope[var].edge;
        lowering.b.ret(edge);
    }
    let args = [generator.random.below(100) as i64, generator.random.below(100) as i64];
    let mut values = BTreeMap::from([(1, args[0]), (2, args[1])]);
    evaluate(&program, &mut values);
    let want: Vec<_> = vars.iter().map(|v| Some(values[v])).collect();
    let k = [1, 2, 3, 10, 32][generator.random.below(5) as usize];
    for frame in &mut lowering.b.graph.frames {
        frame.parallel_iterations = k;
    }
    let loops_only = FuseOptions { strands: false, ..FuseOptions::ALL };
    let serial = FuseOptions { single_thread: true, ..FuseOptions::ALL };
    for fused in [FuseOptions::NONE, loops_only, FuseOptions::ALL, serial] {
        let plan = Arc::new(Plan::new(fuse(lowering.b.graph.clone(), fused).unwrap()).unwrap());
        for options in all_options() {
            let case = || format!("seed {seed}, k={k}, {} threads, {fused:?}", options.num_threads);
            let got = run_with(&plan, &args, options).unwrap_or_else(|e| panic!("{}: {e}", case()));
            assert_eq!(got, want, "{}", case());
        }
    }
}

#[test]
fn random_programs_mean_the_same_on_the_executor() {
    for seed in 0..1000 {
        check(seed);
    }
}
