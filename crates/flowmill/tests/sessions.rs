//! Plans that sessions keep between steps: each signature is compiled once, and the least recently used are dropped.
#![allow(clippy::unwrap_used, clippy::panic)]

use flowmill::{Code, Graph, Result, Session, SessionOptions, Tensor, kernels_with};
use flowmill_graph::text::{ConstantTable, parse_graph};
use flowmill_runtime::{Kernel, KernelContext, KernelInit};
use flowmill_tensor::sync::RwLock;
use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

/// Returns its input.
struct Pass;

impl Kernel for Pass {
    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        ctx.forward(0, 0)
    }
}

fn graph(text: &str) -> Graph {
    parse_graph(text, &flowmill::registry().unwrap(), &ConstantTable::default()).unwrap()
}

/// A session whose `Softsign` nodes have kernels that `make` makes.
fn session(text: &str, options: SessionOptions, make: fn(&KernelInit<'_>) -> Result<Arc<dyn Kernel>>) -> Arc<Session> {
    let kernels = kernels_with(|kernels| kernels.add("Softsign", make));
    Arc::new(Session::new(Arc::new(RwLock::new(graph(text))), kernels, options).unwrap())
}

fn run(session: &Session, fetch: &str) -> Result<f32> {
    session.run(&[("x:0", Tensor::scalar(7.0f32))], &[fetch], &[])?[0].to_scalar()
}

const ONE: &str = "
x = Placeholder() {dtype=f32, shape=[]}
a = Softsign(x) {T=f32}
";

#[test]
fn threads_that_ask_for_one_signature_at_once_compile_it_once() {
    const THREADS: usize = 8;
    static RUNNING: AtomicUsize = AtomicUsize::new(0);
    static MADE: AtomicUsize = AtomicUsize::new(0);
    fn make(_: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
        MADE.fetch_add(1, Ordering::SeqCst);
        let begin = Instant::now();
        while RUNNING.load(Ordering::SeqCst) < THREADS && begin.elapsed() < Duration::from_secs(10) {
            thread::yield_now();
        }
        Ok(Arc::new(Pass))
    }
    let session = session(ONE, SessionOptions::default(), make);
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                RUNNING.fetch_add(1, Ordering::SeqCst);
                assert_eq!(run(&session, "a:0").unwrap(), 7.0);
            });
        }
    });
    assert_eq!(MADE.load(Ordering::SeqCst), 1);
}

#[test]
fn threads_that_need_what_the_other_compiles_do_not_wait_for_each_other() {
    static SESSION: OnceLock<Arc<Session>> = OnceLock::new();
    static BOTH_COMPILE: OnceLock<Barrier> = OnceLock::new();
    thread_local! {
        static IS_NESTED: Cell<bool> = const { Cell::new(false) };
    }
    fn make(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
        if !IS_NESTED.replace(true) {
            BOTH_COMPILE.get_or_init(|| Barrier::new(2)).wait();
            let other = if init.name == "a" { "b:0" } else { "a:0" };
            assert_eq!(run(SESSION.get().unwrap(), other)?, 7.0);
        }
        Ok(Arc::new(Pass))
    }
    let made = session(&format!("{ONE}b = Softsign(x) {{T=f32}}\n"), SessionOptions::default(), make);
    let session = SESSION.get_or_init(|| made);
    thread::scope(|scope| {
        for fetch in ["a:0", "b:0"] {
            scope.spawn(move || assert_eq!(run(session, fetch).unwrap(), 7.0));
        }
    });
}

#[test]
fn the_least_recently_used_plan_goes_first() {
    static MADE: AtomicUsize = AtomicUsize::new(0);
    fn make(_: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
        MADE.fetch_add(1, Ordering::SeqCst);
        Ok(Arc::new(Pass))
    }
    let text = format!("{ONE}b = Softsign(x) {{T=f32}}\nc = Softsign(x) {{T=f32}}\n");
    let session = session(&text, SessionOptions { max_plans: 2, ..SessionOptions::default() }, make);
    for (fetch, num_made, num_evicted) in [("a", 1, 0), ("b", 2, 0), ("a", 2, 0), ("c", 3, 1), ("a", 3, 1), ("b", 4, 2), ("a", 4, 2)] {
        assert_eq!(run(&session, fetch).unwrap(), 7.0);
        assert_eq!((MADE.load(Ordering::SeqCst), session.num_evicted_plans()), (num_made, num_evicted), "{fetch}");
    }
}

#[test]
fn kernels_are_told_the_static_shapes_of_their_inputs() {
    static SEEN: RwLock<Vec<(String, String)>> = RwLock::new(Vec::new());
    fn make(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
        let shape = init.input_shape(0);
        // A size is known or not: names of unknown sizes stay in the plan.
        assert!(shape.dims().unwrap_or_default().iter().all(|&size| size >= -1), "{shape:?}");
        SEEN.write().push((init.name.to_owned(), shape.to_string()));
        Ok(Arc::new(Pass))
    }
    let text = "
x = Placeholder() {dtype=f32}
to = Const() {value=i32[2]{-1,2}}
rows = Reshape(x, to)
a = Softsign(rows)
w = Const() {value=f32[2,3]{1.0,0.0,0.0,0.0,1.0,0.0}}
product = MatMul(a, w)
b = Softsign(product)
in = Enter(b) {frame_name=\"l\"}
m:2 = Merge(in, next) {N=2, T=f32}
off = Const() {value=bool[]{false}} ^m
cond = LoopCond(off)
s:2 = Switch(m, cond) {T=f32}
c = Softsign(s:1) {T=f32}
next = NextIteration(c) {T=f32}
out = Exit(s) {T=f32}
d = Softsign(x)
";
    let session = session(text, SessionOptions { optimize: false, ..SessionOptions::default() }, make);
    let x = Tensor::from_slice([1, 4], &[1.0f32, 2.0, 3.0, 4.0]).unwrap();
    let results = session.run(&[("x:0", x)], &["out:0", "d:0"], &[]).unwrap();
    assert_eq!(results[0].as_slice::<f32>().unwrap(), [1.0, 2.0, 0.0, 3.0, 4.0, 0.0]);
    let mut seen = SEEN.write();
    seen.sort();
    let expected = [("a", "[?,2]"), ("b", "[?,3]"), ("c", "[?,3]"), ("d", "<unknown>")];
    assert_eq!(*seen, expected.map(|(name, shape)| (name.to_owned(), shape.to_owned())));
}

#[test]
fn a_signature_that_failed_is_compiled_again() {
    static FAILS: AtomicUsize = AtomicUsize::new(1);
    fn make(_: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
        if FAILS.swap(0, Ordering::SeqCst) == 1 {
            return Err(flowmill_tensor::error!(Unavailable, "not yet"));
        }
        Ok(Arc::new(Pass))
    }
    let session = session(ONE, SessionOptions::default(), make);
    assert_eq!(run(&session, "a").unwrap_err().code(), Code::Unavailable);
    assert_eq!(run(&session, "a").unwrap(), 7.0);
}

#[test]
fn a_compilation_that_panics_leaves_no_thread_waiting() {
    static RUNNING: AtomicUsize = AtomicUsize::new(0);
    static PANICS: AtomicUsize = AtomicUsize::new(1);
    fn make(_: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
        if PANICS.swap(0, Ordering::SeqCst) == 1 {
            let begin = Instant::now();
            while RUNNING.load(Ordering::SeqCst) < 2 && begin.elapsed() < Duration::from_secs(10) {
                thread::yield_now();
            }
            panic!("a kernel cannot be made");
        }
        Ok(Arc::new(Pass))
    }
    let session = session(ONE, SessionOptions::default(), make);
    let results: Vec<bool> = thread::scope(|scope| {
        let threads = [(); 2].map(|()| {
            scope.spawn(|| {
                RUNNING.fetch_add(1, Ordering::SeqCst);
                run(&session, "a").is_ok_and(|value| value == 7.0)
            })
        });
        threads.map(|thread| thread.join().unwrap_or(false)).to_vec()
    });
    assert_eq!(results.iter().filter(|ok| **ok).count(), 1, "{results:?}");
    assert_eq!(run(&session, "a").unwrap(), 7.0);
}
