//! `cargo xtask COMMAND`: what the project does to itself with code.

mod allocations;
mod dependencies;
mod layers;
mod metadata;
mod op_names;
mod prose;
mod proto;
mod sources;

use std::env;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const HELP: &str = "\
Usage: cargo xtask COMMAND

Commands:
  layers            check that every crate uses only the crates below it
  dependencies      check where all dependencies come from, their licences, and that none ships twice
  op-names          check that code asks ops' traits instead of listing their names
  allocations       check that kernels allocate tensors through their context
  prose             check that documentation consists of sentences a reader understands alone
  proto [--check]   regenerate the wire types from crates/flowmill-proto/proto (--check: fail if they are stale)
";

fn main() -> ExitCode {
    let args: Vec<String> = env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let result = match args.as_slice() {
        ["layers"] => layers::check(),
        ["dependencies"] => dependencies::check(),
        ["op-names"] => op_names::check(&repository()),
        ["allocations"] => allocations::check(&repository()),
        ["prose"] => prose::check(&repository()),
        ["proto"] => proto::generate(&repository(), false),
        ["proto", "--check"] => proto::generate(&repository(), true),
        [] | ["--help" | "help"] => {
            print!("{HELP}");
            Ok(())
        }
        _ => Err(format!("unknown command: {}\n{HELP}", args.join(" "))),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("xtask: {message}");
            ExitCode::FAILURE
        }
    }
}

/// The root of the repository: the directory above this package.
fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}
