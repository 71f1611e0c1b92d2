//! The command line as a program of its own; the Python wheel carries the same as a module.

use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: flowmill_allocator::Allocator = flowmill_allocator::Allocator;

fn main() -> ExitCode {
    ExitCode::from(flowmill_cli::run(std::env::args_os()))
}
