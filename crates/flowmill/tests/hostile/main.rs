//! Every op with a kernel answers whatever a graph holds: small, empty and scalar inputs of the types it allows, sizes and indices past everything
//! give a result of the inferred shape or an error; never a panic, the process's end, or memory past the limit. Its gradients do not panic either, whatever they give.
//!
//! A case is known by its op, the seed and its number. Cases that gave an answer not seen before are changed a little to make others.
//!
//! * `FLOWMILL_HOSTILE_ROUNDS` cases an op, 24 if nothing is said; `FLOWMILL_HOSTILE_SEED` for other cases.
//! * `FLOWMILL_HOSTILE_OPS` for some of the ops: names with commas between them; a panic is then shown where it happens.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod case;
mod run;
mod values;

use case::{Case, Cases};
use run::{Outcome, run};
use std::collections::HashSet;
use std::io::{BufRead, BufReader, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use values::Random;

/// Bytes that tensors may hold.
const MEMORY_LIMIT: usize = 256 << 20;
/// The limit of every fourth case: more than the process can have, so that what is allocated before it is checked ends it.
const NO_LIMIT: usize = 1 << 50;
/// Kilobytes of address space for the whole process: what a kernel holds besides tensors ends it there.
const ADDRESS_SPACE: usize = 3 << 20;
/// A case that takes more of the process's own time does not end: others may have the machine's.
const HANG: Duration = Duration::from_secs(10);
/// A case that takes longer waits for what never comes.
const STUCK: Duration = Duration::from_secs(100);

/// Set in the process that runs the cases.
const CHILD: &str = "FLOWMILL_HOSTILE_CHILD";

/// Not run: they wait for somebody outside of the graph.
const LEFT_OUT: [&str; 4] = ["_Recv", "_HostRecv", "Recv", "Abort"];

/// Ops that the executor runs itself, and ops that call functions of Python.
const NEED_NO_KERNEL: [&str; 16] = [
    "ControlTrigger",
    "EagerPyFunc",
    "Enter",
    "Exit",
    "LoopCond",
    "Merge",
    "NextIteration",
    "NoOp",
    "PyFunc",
    "PyFuncStateless",
    "RefEnter",
    "RefExit",
    "RefMerge",
    "RefNextIteration",
    "_Arg",
    "_Retval",
];
/// Ops of the catalogue that lack a kernel, and why.
const WITHOUT_KERNEL: [(&str, &str); 14] = [
    ("AnonymousMultiDeviceIterator", "feeds several devices"),
    ("AnonymousMultiDeviceIteratorV3", "as AnonymousMultiDeviceIterator"),
    ("DatasetToGraph", "needs datasets that know their graph"),
    ("DatasetToGraphV2", "as DatasetToGraph"),
    ("DeleteMultiDeviceIterator", "as AnonymousMultiDeviceIterator"),
    ("ExperimentalMatchingFilesDataset", "MatchingFiles gives the names"),
    ("ImmutableConst", "lies in a file that is mapped"),
    ("MatchingFilesDataset", "as ExperimentalMatchingFilesDataset"),
    ("MultiDeviceIterator", "as AnonymousMultiDeviceIterator"),
    ("MultiDeviceIteratorFromStringHandle", "as AnonymousMultiDeviceIterator"),
    ("MultiDeviceIteratorGetNextFromShard", "as AnonymousMultiDeviceIterator"),
    ("MultiDeviceIteratorInit", "as AnonymousMultiDeviceIterator"),
    ("MultiDeviceIteratorToStringHandle", "as AnonymousMultiDeviceIterator"),
    ("_FusedBatchNormEx", "made by TensorFlow's passes for GPUs"),
];

#[test]
fn what_has_no_kernel_is_listed_with_a_reason() {
    let (registry, kernels) = (flowmill::registry().unwrap(), flowmill::kernels());
    let is_missing = |op: &&str| !kernels.contains(op) && !NEED_NO_KERNEL.contains(op);
    let missing: Vec<&str> = registry.names().into_iter().filter(is_missing).collect();
    assert_eq!(missing, WITHOUT_KERNEL.map(|(op, _)| op), "without a kernel, and listed so");
}

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().map_or(default, |value| value.parse().expect(name))
}

#[test]
fn every_kernel_answers_with_a_result_or_an_error() {
    if let Ok(ops) = std::env::var(CHILD) {
        return child(&ops.split(',').collect::<Vec<_>>());
    }
    let ops = std::env::var("FLOWMILL_HOSTILE_OPS").unwrap_or_else(|_| {
        let (registry, kernels) = (flowmill::registry().unwrap(), flowmill::kernels());
        kernels.ops().into_iter().filter(|op| registry.get(op).is_some() && !LEFT_OUT.contains(op)).collect::<Vec<_>>().join(",")
    });
    let mut ops: Vec<&str> = ops.split(',').collect();
    let mut failures = Vec::new();
    while !ops.is_empty() {
        let (last, ended) = parent(&ops, &mut failures);
        if ended {
            break;
        }
        // The process has ended at a case: on with the op after it.
        failures.push(format!("{last}: the process ended"));
        match ops.iter().position(|op| last.split(' ').next() == Some(op)) {
            Some(at) => drop(ops.drain(..=at)),
            None => break,
        }
    }
    assert!(failures.is_empty(), "seed {}:\n{}", number("FLOWMILL_HOSTILE_SEED", 1), failures.join("\n"));
}

/// Runs the cases of `ops` in a process of their own; the last case that was begun, and whether all ended.
fn parent(ops: &[&str], failures: &mut Vec<String>) -> (String, bool) {
    let directory = tempfile::tempdir().expect("a directory for what ops write");
    let mut child = Command::new("sh")
        .args(["-c", &format!("ulimit -v {ADDRESS_SPACE}; exec \"$0\" --exact every_kernel_answers_with_a_result_or_an_error --nocapture")])
        .arg(std::env::current_exe().expect("the test's own program"))
        .env(CHILD, ops.join(","))
        .current_dir(&directory)
        .stdout(Stdio::piped())
        .spawn()
        .expect("a shell");
    let mut last = String::new();
    for line in BufReader::new(child.stdout.take().expect("it is piped")).lines().map_while(Result::ok) {
        match line.split_once(' ') {
            Some(("case", case)) => last = case.to_owned(),
            Some(("failure", failure)) => failures.push(failure.to_owned()),
            _ => {}
        }
    }
    (last, child.wait().is_ok_and(|status| status.success()))
}

/// The places and messages of the panics in all threads.
static PANICS: Mutex<Vec<String>> = Mutex::new(Vec::new());
/// Milliseconds since the start at which the case began that runs now.
static BEGUN: AtomicU64 = AtomicU64::new(0);
/// Milliseconds that the process had computed then.
static CPU_BEGUN: AtomicU64 = AtomicU64::new(0);

/// Milliseconds that the process has computed, in all its threads; 0 where the system does not tell.
fn cpu_millis() -> u64 {
    const MILLIS_PER_TICK: u64 = 10;
    let Ok(stat) = std::fs::read_to_string("/proc/self/stat") else { return 0 };
    // The fields after the program's name, which may hold spaces: user and system time are the 12th and 13th.
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace().skip(11).take(2);
    fields.filter_map(|ticks| ticks.parse::<u64>().ok()).sum::<u64>() * MILLIS_PER_TICK
}

fn child(ops: &[&str]) {
    assert!(flowmill_runtime::intra_op::forbid_global_pool(), "rayon's own pool has started");
    flowmill::set_memory_limit(MEMORY_LIMIT);
    let hook = std::panic::take_hook();
    let verbose = std::env::var_os("FLOWMILL_HOSTILE_OPS").is_some();
    std::panic::set_hook(Box::new(move |info| {
        let message = info.payload().downcast_ref::<&str>().map(|s| (*s).to_owned()).or(info.payload().downcast_ref::<String>().cloned());
        let place = info.location().map(ToString::to_string).unwrap_or_default();
        PANICS.lock().unwrap().push(format!("{place}: {}", message.unwrap_or_default().replace('\n', " ")));
        if verbose || place.contains("hostile") {
            hook(info);
        }
    }));
    let start = Instant::now();
    let millis = move || start.elapsed().as_millis() as u64;
    std::thread::spawn(move || {
        loop {
            std::thread::sleep(Duration::from_millis(100));
            let begun = (BEGUN.load(Ordering::Relaxed), CPU_BEGUN.load(Ordering::Relaxed));
            let taken =
                (Duration::from_millis(millis().saturating_sub(begun.0)), Duration::from_millis(cpu_millis().saturating_sub(begun.1)));
            if taken.0 > STUCK || (taken.0 > HANG && taken.1 > HANG) {
                eprintln!("the case does not end");
                std::process::abort();
            }
        }
    });
    let (seed, rounds) = (number("FLOWMILL_HOSTILE_SEED", 1), number("FLOWMILL_HOSTILE_ROUNDS", 24));
    let cases = Cases::new(flowmill::registry().unwrap(), &flowmill::kernels());
    let mut out = std::io::stdout();
    for op in ops {
        let def = cases.registry.get(op).expect("an op of the catalogue").clone();
        let mut random = Random::new(seed, op);
        let (mut corpus, mut answers, mut failed) = (Vec::<Case>::new(), HashSet::new(), HashSet::new());
        for round in 0..rounds {
            let case = cases.case(&def, &corpus, &mut random);
            flowmill::set_memory_limit(if round % 4 == 3 { NO_LIMIT } else { MEMORY_LIMIT });
            writeln!(out, "case {op} {round}").expect("somebody reads");
            CPU_BEGUN.store(cpu_millis(), Ordering::Relaxed);
            BEGUN.store(millis(), Ordering::Relaxed);
            let (optimize, differentiate) = (random.once_in(2), random.once_in(3));
            let result = catch_unwind(AssertUnwindSafe(|| run(&case, optimize, differentiate)));
            let mut failures = std::mem::take(&mut *PANICS.lock().unwrap());
            let answer = match result {
                Ok(Ok(Outcome::Values)) => "values".to_owned(),
                Ok(Ok(Outcome::Mismatch(message))) => {
                    failures.push(message.clone());
                    message
                }
                Ok(Err(error)) => format!("{:?} {}", error.code(), error.message()),
                Err(_) => "panic".to_owned(),
            };
            for failure in failures {
                if failed.insert(failure.split(": ").next().unwrap_or_default().to_owned()) {
                    writeln!(out, "failure {op} {round}: {failure}; {case:?}").expect("somebody reads");
                }
            }
            let answer: String = answer.chars().filter(|c| c.is_ascii_alphabetic()).collect();
            if answers.insert(answer) {
                corpus.push(case);
            }
        }
    }
}
