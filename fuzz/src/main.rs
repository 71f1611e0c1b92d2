//! Runs fuzz targets, each for a bounded time: `cargo run -p flowmill-fuzz -- [--seconds N] [--seed N] [TARGET…]`.
//!
//! Inputs are mutations of a seed corpus (the models and checkpoints of `tests/data`) by a generator of pseudo-random numbers, so that a
//! run is repeated by its seed. A panic, or a step that does not end, ends the program with the input's file in `fuzz/artifacts`;
//! `cargo run -p flowmill-fuzz -- --replay FILE TARGET` runs one input again.

mod grpc;
mod memory;
mod mutate;
mod programs;
mod requests;
mod strings;
mod targets;

use mutate::Random;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};
use targets::{TARGETS, Target};

struct Options {
    seconds: u64,
    seed: u64,
    replay: Option<PathBuf>,
    targets: Vec<&'static Target>,
}

fn options() -> Result<Options, String> {
    let mut options = Options { seconds: 15, seed: 1, replay: None, targets: Vec::new() };
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or(format!("{arg} needs a value"));
        match arg.as_str() {
            "--seconds" => options.seconds = value()?.parse().map_err(|e| format!("--seconds: {e}"))?,
            "--seed" => options.seed = value()?.parse().map_err(|e| format!("--seed: {e}"))?,
            "--replay" => options.replay = Some(value()?.into()),
            name => match TARGETS.iter().find(|t| t.name == name) {
                Some(target) => options.targets.push(target),
                None => {
                    return Err(format!("no target {name}; there are: {}", TARGETS.iter().map(|t| t.name).collect::<Vec<_>>().join(", ")));
                }
            },
        }
    }
    if options.targets.is_empty() {
        options.targets = TARGETS.iter().collect();
    }
    Ok(options)
}

fn main() -> ExitCode {
    let options = match options() {
        Ok(options) => options,
        Err(message) => {
            eprintln!("{message}");
            return ExitCode::from(2);
        }
    };
    // Inputs that ask for much memory are answered, not served.
    limit_memory();
    if let Some(path) = &options.replay {
        let input = std::fs::read(path).expect("the input to replay can be read");
        options.targets.iter().for_each(|t| (t.run)(&input));
        return ExitCode::SUCCESS;
    }
    let mut failed = 0;
    for target in &options.targets {
        failed += usize::from(!fuzz(target, &options));
    }
    println!("{} passed, {failed} failed", options.targets.len() - failed);
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn limit_memory() {
    flowmill::set_memory_limit(512 << 20);
}

/// Runs one target; false if an input made it panic.
fn fuzz(target: &Target, options: &Options) -> bool {
    let corpus = corpus(target);
    let mut random = Random::new(options.seed);
    let (start, mut runs) = (Instant::now(), 0u64);
    while start.elapsed() < Duration::from_secs(options.seconds) {
        let input = mutate::input(&corpus, &mut random);
        if catch_unwind(AssertUnwindSafe(|| (target.run)(&input))).is_err() {
            let path = root().join("fuzz/artifacts").join(format!("{}-{}-{runs}", target.name, options.seed));
            let _ = std::fs::create_dir_all(root().join("fuzz/artifacts"));
            let _ = std::fs::write(&path, &input);
            println!("{}: input {runs} of seed {} failed; it is in {}", target.name, options.seed, path.display());
            return false;
        }
        runs += 1;
    }
    println!("{}: {runs} inputs from {} seeds", target.name, corpus.len());
    true
}

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

/// The seed inputs of a target, smallest first.
fn corpus(target: &Target) -> Vec<Vec<u8>> {
    let mut files: Vec<Vec<u8>> = target.seeds.iter().filter_map(|path| std::fs::read(root().join(path)).ok()).collect();
    assert_eq!(files.len(), target.seeds.len(), "every seed of {} can be read", target.name);
    files.sort_by_key(Vec::len);
    files
}
